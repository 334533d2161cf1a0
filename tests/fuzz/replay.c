/* The main of a fuzz target without libFuzzer: for any compiler, and for the tests.
 *
 *     NAME FOLDER [MUTANTS]     runs the target on each file of the folder, in the order of their names, and then on
 *                               MUTANTS inputs that are made from these files by a few random changes each; they are
 *                               the same in every run
 *     NAME FILE                 runs the target on one file: to look at a finding
 *
 * The target runs in a separate process, so that any way to end is noticed: a signal, or the exit of a sanitizer.
 * Then the input that it was running is written to the file `finding` in the working folder, and the exit status is 1.
 *
 *     NAME --fault FAULT FOLDER [MUTANTS]   exits with 0 if there is a finding when this fault is planted
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/faults/faults.h"
#include "fuzz/target.h"
#include "splitmix.h"

enum { FILES_MAX = 1000, INPUT_BYTES_MAX = 1 << 16, CHANGES_MAX = 6 };

typedef struct input {
    uint8_t *bytes;
    size_t n;
} input;

const char *fuzz_fault = "";

static input inputs[FILES_MAX];
static size_t input_count;

typedef struct shared_input {
    size_t n;
    uint8_t bytes[INPUT_BYTES_MAX];
} shared_input;

static shared_input *latest; /* the input that is being run, in memory that both processes share */

static void die(const char *what, const char *name) {
    fprintf(stderr, "%s: %s\n", name, what);
    exit(1);
}

static input read_input(const char *path) {
    static uint8_t bytes[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die("cannot be read", path);
    input in = {NULL, fread(bytes, 1, sizeof bytes, file)};
    if (ferror(file) != 0 || in.n == sizeof bytes)
        die("cannot be read, or is longer than 64 KiB", path);
    (void)fclose(file);
    in.bytes = malloc(in.n + 1);
    if (in.bytes == NULL)
        die("not enough memory", path);
    memcpy(in.bytes, bytes, in.n);
    return in;
}

/* In memory of exactly its size, so that a sanitizer sees what is read outside of it. */
static void run(const uint8_t *bytes, size_t n) {
    uint8_t *copy = malloc(n + (n == 0));
    if (copy == NULL)
        die("not enough memory", "replay");
    if (n > 0) {
        memcpy(copy, bytes, n);
        memcpy(latest->bytes, bytes, n);
    }
    latest->n = n;
    (void)LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static void run_file(const char *path) {
    if (input_count == FILES_MAX)
        die("is one file too many: there may be 1000", path);
    inputs[input_count] = read_input(path);
    run(inputs[input_count].bytes, inputs[input_count].n);
    input_count++;
}

static void run_files(const char *folder) {
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    if (count < 0)
        die("is not a folder", folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct stat about;
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (stat(path, &about) == 0 && S_ISREG(about.st_mode))
            run_file(path);
        free(names[i]);
    }
    free(names);
    if (input_count == 0)
        die("has no files", folder);
}

/* Changes one place of the input. Returns the new length. */
static size_t change(uint8_t *bytes, size_t n, uint64_t *state) {
    uint64_t random = splitmix_next(state), value = splitmix_next(state);
    size_t at = n == 0 ? 0 : (size_t)(random >> 8) % n;
    const input *other = &inputs[value % input_count];
    size_t from = other->n == 0 ? 0 : (size_t)(value >> 32) % other->n, length = (random >> 40) % 32;
    switch (random % 8) {
    case 0:
        if (n > 0)
            bytes[at] ^= (uint8_t)(1u << (value & 7));
        return n;
    case 1:
    case 2:
        if (n > 0)
            bytes[at] = (uint8_t)value;
        return n;
    case 3:
        if (n > 0)
            bytes[at] = (uint8_t)(bytes[at] + (value % 9) - 4);
        return n;
    case 4: /* insert */
        if (n == INPUT_BYTES_MAX)
            return n;
        memmove(bytes + at + 1, bytes + at, n - at);
        bytes[at] = (uint8_t)value;
        return n + 1;
    case 5: /* delete */
        length = length < n - at ? length : n - at;
        memmove(bytes + at, bytes + at + length, n - at - length);
        return n - length;
    case 6: /* a part of another input */
        length = length < other->n - from ? length : other->n - from;
        length = length < n - at ? length : n - at;
        memcpy(bytes + at, other->bytes + from, length);
        return n;
    default: /* the end of another input instead of the end of this one */
        length = other->n - from < INPUT_BYTES_MAX - at ? other->n - from : INPUT_BYTES_MAX - at;
        memcpy(bytes + at, other->bytes + from, length);
        return at + length;
    }
}

static void run_mutants(unsigned long count) {
    static uint8_t bytes[INPUT_BYTES_MAX];
    uint64_t state = 1;
    for (unsigned long i = 0; i < count; i++) {
        const input *in = &inputs[splitmix_next(&state) % input_count];
        size_t n = in->n;
        memcpy(bytes, in->bytes, n);
        for (uint64_t changes = 1 + splitmix_next(&state) % CHANGES_MAX; changes > 0; changes--)
            n = change(bytes, n, &state);
        run(bytes, n);
    }
}

/* ---- the process that runs the target ---- */

static bool run_all(const char *path, unsigned long mutants) {
    struct stat about;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        die("cannot start a process", "replay");
    if (child == 0) {
        if (stat(path, &about) == 0 && S_ISREG(about.st_mode))
            run_file(path);
        else
            run_files(path);
        run_mutants(mutants);
        printf("%zu files, %lu mutants, 0 findings\n", input_count, mutants);
        exit(0); /* not _exit: a leak checker runs here */
    }
    int status;
    if (waitpid(child, &status, 0) != child)
        die("cannot wait for the process", "replay");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void save_finding(void) {
    FILE *file = fopen("finding", "wb");
    if (file == NULL || fwrite(latest->bytes, 1, latest->n, file) != latest->n || fclose(file) != 0)
        die("cannot be written", "finding");
    fprintf(stderr, "a finding: the input is in the file `finding`\n");
}

int main(int argc, char **argv) {
    latest = mmap(NULL, sizeof *latest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (latest == MAP_FAILED)
        die("not enough memory", "replay");
    if (argc > 3 && strcmp(argv[1], "--fault") == 0) {
        fuzz_fault = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: replay [--fault FAULT] FOLDER|FILE [MUTANTS]\n");
        return 2;
    }
    bool good = run_all(argv[1], argc == 3 ? strtoul(argv[2], NULL, 10) : 0);
    if (*fuzz_fault != '\0') {
        printf("fault %s: %s\n", fuzz_fault, good ? "NOT FOUND" : "found");
        return good;
    }
    if (!good)
        save_finding();
    return !good;
}
