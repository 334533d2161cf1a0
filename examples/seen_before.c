/* seen_before: prints the words that it has never been given before, and remembers them in a file.
 *
 * Any number of these programs may use the file at the same time: the file is locked from opening to closing, and who
 * comes second waits. Whatever happens to the process, the file has the words of complete runs only. With a journal
 * (kith_file_set_journal), a run appends a few bytes to the journal instead of writing the whole file.
 *
 *     seen_before [FILE [WORD…]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#define FILE_NAME "seen_before.kith"

static const char *const OWN_WORDS[] = {"a", "rose", "is", "a", "rose"};

static void must(kith_status status, const kith_file_error *error) {
    if (status == KITH_OK)
        return;
    fprintf(stderr, "seen_before: %s: %s\n", error->name, error->text);
    exit(1);
}

/* After a call for an open file. */
static void must_file(kith_status status, const kith_file *file) {
    kith_file_error error = KITH_FILE_ERROR_INIT;
    if (status != KITH_OK && kith_file_error_of(file, &error) == KITH_OK)
        must(status, &error);
}

static bool say_waiting(void *context, const char *lock_name, uint64_t waited_ms) {
    const char *path = context;
    if (waited_ms == 0)
        fprintf(stderr, "seen_before: waiting for another program that changes %s (%s)\n", path, lock_name);
    return true; /* go on waiting */
}

/* The first run creates the content of the file, with a journal. */
static void begin_file(kith_file *file) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "layers"; /* it grows beyond its first capacity */
    spec.capacity = 1000;
    spec.rate = 0.0001;
    kith_status status = kith_filter_create(&spec, &filter);
    if (status != KITH_OK) {
        fprintf(stderr, "seen_before: %s\n", kith_status_text(status));
        exit(1);
    }
    must_file(kith_file_replace(file, filter), file);
    must_file(kith_file_set_journal(file, true), file);
    must_file(kith_file_commit(file), file);
}

int main(int argc, char **argv) {
    char *path = argc > 1 ? argv[1] : (char[]){FILE_NAME};
    kith_file *file;
    kith_file_error error = KITH_FILE_ERROR_INIT;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.wait_ms = KITH_FILE_WAIT;
    options.waiting = say_waiting;
    options.context = path;
    options.sync = KITH_SYNC_COMMIT; /* the words of one run are one batch */
    options.error = &error;
    must(kith_file_open(path, KITH_FILE_CHANGE_OR_CREATE, &options, &file), &error);
    if (kith_file_filter(file) == NULL)
        begin_file(file);

    const char *const *words = argc > 2 ? (const char *const *)(argv + 2) : OWN_WORDS;
    size_t count = argc > 2 ? (size_t)argc - 2 : sizeof OWN_WORDS / sizeof *OWN_WORDS;
    for (size_t i = 0; i < count; i++) {
        bool is_new;
        must_file(kith_file_add(file, words[i], strlen(words[i]), &is_new), file);
        if (is_new)
            printf("%s\n", words[i]);
    }
    if (fflush(stdout) != 0) { /* nobody has read the words, so they stay new */
        perror("seen_before");
        return 1;
    }
    must_file(kith_file_commit(file), file);
    printf("%" PRIu64 " words in all\n", kith_filter_count(kith_file_filter(file)));
    return kith_file_close(file) == KITH_OK ? 0 : 1;
}
