/* file_lookup: looks up keys in a filter file without the library: kith/reader.h is all that it includes of kith.
 *
 * Prints "maybe" or "no" for each key given, or for each line of standard input if there is none. It compiles as C11
 * and as C++17:
 *
 *     kith build -o words.kith words.txt
 *     cc -O3 -march=native file_lookup.c -o file_lookup
 *     ./file_lookup words.kith apple pear
 *
 *     file_lookup FILE [KEY…]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/reader.h>

static int fail(const char *file, const char *reason) {
    fprintf(stderr, "file_lookup: %s: %s\n", file, reason);
    return 2;
}

/* Reads a whole file into memory. A program for larger systems would map it instead. */
static unsigned char *read_whole(const char *path, size_t *byte_count) {
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = (unsigned char *)malloc((size_t)size + 1);
    if (bytes != NULL && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL)
        fclose(file);
    *byte_count = size >= 0 ? (size_t)size : 0;
    return bytes;
}

static void look_up(const kith_reader *reader, const char *key, size_t key_bytes) {
    uint64_t digest = kith_reader_digest(reader, key, key_bytes);
    printf("%s\n", kith_reader_has(reader, digest) ? "maybe" : "no");
}

int main(int argc, char **argv) {
    static kith_reader reader;
    if (argc < 2)
        return fail("usage", "file_lookup FILE [KEY...]");
    size_t byte_count;
    unsigned char *bytes = read_whole(argv[1], &byte_count);
    if (bytes == NULL)
        return fail(argv[1], "cannot be read");
    kith_status status = kith_reader_open(bytes, byte_count, &reader);
    if (status == KITH_OK)
        status = kith_reader_verify(&reader);
    if (status != KITH_OK) {
        free(bytes);
        return fail(argv[1], status == KITH_E_NOT_KITH || status == KITH_E_EMPTY ? "is not a kith file"
                             : status == KITH_E_KIND || status == KITH_E_VERSION ? "is of a kind that cannot be read"
                             : status == KITH_E_JOURNAL                          ? "is a store; look up keys with kith"
                                                                                 : "is damaged");
    }
    for (int i = 2; i < argc; i++)
        look_up(&reader, argv[i], strlen(argv[i]));
    char line[4096];
    while (argc == 2 && fgets(line, sizeof line, stdin) != NULL)
        look_up(&reader, line, strcspn(line, "\n"));
    free(bytes);
    return 0;
}
