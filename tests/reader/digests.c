/* digests.c: a program for a small device. It includes kith/reader.h without hash functions (KITH_READER_NO_HASH), so
 * it gets digests instead of keys: decimal numbers, one per line of standard input, for each of which it prints "maybe"
 * or "no". The exit status tells why a file was not opened. compile.sh builds it, also with KITH_READER_LAYERS=1.
 *
 *     digests FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KITH_READER_NO_HASH
#include <kith/reader.h>

#ifdef KITHI_CORE_XXH3_H
#error "XXH3 is included"
#endif

enum { EXIT_OTHER = 2, EXIT_LAYERS = 3, FILE_BYTES_MAX = 1 << 20 };

int main(int argc, char **argv) {
    static unsigned char bytes[FILE_BYTES_MAX];
    static kith_reader reader, before;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL)
        return EXIT_OTHER;
    size_t byte_count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    memset(&reader, 0xa5, sizeof reader);
    before = reader;
    kith_status status = kith_reader_open(bytes, byte_count, &reader);
    if (status != KITH_OK) {
        if (memcmp(&reader, &before, sizeof reader) != 0)
            return EXIT_OTHER;
        return status == KITH_E_TOO_LARGE ? EXIT_LAYERS : EXIT_OTHER;
    }
    /* What the header says about the size of a reader. */
    if (KITH_READER_LAYERS == 1 && sizeof reader > 350)
        return EXIT_OTHER;
    char line[32];
    while (fgets(line, sizeof line, stdin) != NULL)
        puts(kith_reader_has(&reader, strtoull(line, NULL, 10)) ? "maybe" : "no");
    return 0;
}
