/* Tests processes that map a filter file while another process replaces it: every file that they open is one whole
 * generation, and a file that was opened before a replacement stays as it was.
 *
 * Generation g of the file is a filter whose hash has the seed g. It has a known number of keys, which also depends on
 * g, so that the sizes of the files differ. The same readers must notice a file that is written in place. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include <kith/kith.h>

#include "check.h"
#include "folder.h"

enum { READERS = 8, KEYS_MIN = 300, KEYS_STEP = 700, OPENS_MIN = 20, READER_PAUSE_US = 500 };
enum { IN_PLACE_MAX = 100000 }; /* a reader notices the first few of these */

/* In memory that all processes share. */
typedef struct shared_state {
    atomic_bool stop;
    _Atomic uint64_t opens[READERS];       /* files that the reader has opened and verified */
    _Atomic uint64_t generations[READERS]; /* how often the generation had changed since its last open */
} shared_state;

static shared_state *shared;
static unsigned reader; /* the number of this reader */

static size_t keys_of(uint64_t generation) {
    return (size_t)(KEYS_MIN + KEYS_STEP * (generation % 5));
}

static kith_filter *generation_filter(uint64_t generation) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter = NULL;
    spec.kind = "blocked";
    spec.capacity = keys_of(generation);
    spec.rate = 0.01;
    spec.hash = (kith_hash){.id = KITH_HASH_XXH3, .seed = generation};
    CHECK_OK(kith_filter_create(&spec, &filter));
    for (uint64_t i = 0; i < keys_of(generation); i++)
        CHECK_OK(kith_filter_add(filter, &i, sizeof i, NULL));
    return filter;
}

/* Returns whether all keys of the generation that the filter names are found, and nothing in it is damaged. */
static bool is_whole(const kith_filter *filter) {
    size_t n = keys_of(kith_filter_hash(filter).seed);
    if (kith_filter_capacity(filter) != n || kith_filter_check(filter, NULL) != KITH_OK)
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!kith_filter_has(filter, &i, sizeof i))
            return false;
    return true;
}

/* Opens the file again and again. The file opened before stays mapped meanwhile, and must not change. */
static int read_until_stopped(const struct folder *f) {
    kith_filter *before = NULL, *now = NULL;
    (void)signal(SIGBUS, SIG_DFL); /* no report of a sanitizer where a test expects this signal */
    while (!atomic_load(&shared->stop)) {
        if (kith_filter_open(in(f, "x.kith"), KITH_OPEN_DEFAULT, NULL, &now) != KITH_OK)
            return 1;
        if (!is_whole(now))
            return 2;
        if (before != NULL && !is_whole(before))
            return 3;
        bool changed = before != NULL && kith_filter_hash(now).seed != kith_filter_hash(before).seed;
        atomic_fetch_add(&shared->generations[reader], changed);
        atomic_fetch_add(&shared->opens[reader], 1);
        kith_filter_free(before);
        before = now;
        (void)usleep(READER_PAUSE_US);
    }
    kith_filter_free(before);
    return 0;
}

static bool every_reader_opened(uint64_t opens) {
    for (unsigned i = 0; i < READERS; i++)
        if (atomic_load(&shared->opens[i]) < opens || atomic_load(&shared->generations[i]) == 0)
            return false;
    return true;
}

/* Writes into the file that the readers have mapped. */
static bool write_in_place(const char *path, kith_filter *filter) {
    const void *bytes;
    size_t byte_count;
    FILE *file = fopen(path, "wb");
    if (file == NULL || kith_filter_bytes(filter, &bytes, &byte_count) != KITH_OK)
        return false;
    bool written = fwrite(bytes, 1, byte_count, file) == byte_count;
    return (fclose(file) == 0) & written;
}

/* Replaces the file while the readers run, `replacements` times at least, and until each of them has seen it change; or
 * until a reader ends. Returns how many readers had ended with an error or by a signal. */
static unsigned run_readers(uint64_t replacements, bool in_place, uint64_t *made) {
    struct folder f = fresh_folder();
    pid_t children[READERS];
    unsigned failures = 0;
    kith_filter *filter = generation_filter(0);
    CHECK_OK(kith_filter_save(filter, in(&f, "x.kith")));
    kith_filter_free(filter);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    (void)fflush(NULL);
    for (reader = 0; reader < READERS; reader++) {
        children[reader] = fork();
        CHECK(children[reader] >= 0);
        if (children[reader] == 0)
            _exit(read_until_stopped(&f));
    }
    bool ended = false;
    for (*made = 0; !ended && (*made < replacements || !every_reader_opened(OPENS_MIN)); ++*made) {
        filter = generation_filter(*made + 1);
        if (in_place)
            CHECK(write_in_place(in(&f, "x.kith"), filter));
        else
            CHECK_OK(kith_filter_save(filter, in(&f, "x.kith")));
        kith_filter_free(filter);
        siginfo_t info = {.si_pid = 0};
        ended = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    }
    atomic_store(&shared->stop, true);
    for (unsigned i = 0; i < READERS; i++) {
        int status = 0;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        if (status == 0)
            continue;
        failures++;
        if (!in_place)
            fprintf(stderr, "reader %u: %s %d\n", i, WIFSIGNALED(status) ? "signal" : "error",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    remove_folder(&f);
    return failures;
}

TEST(readers_of_a_file_that_is_replaced_find_one_whole_generation) {
    uint64_t made = 0, opens = 0, generations = 0;
    CHECK_EQ_U64(run_readers(check_soak() ? 10000 : 200, false, &made), 0);
    for (unsigned i = 0; i < READERS; i++) {
        opens += atomic_load(&shared->opens[i]);
        generations += atomic_load(&shared->generations[i]);
    }
    printf("shows: %d readers mapped a file %" PRIu64 " times while it was replaced %" PRIu64
           " times; they saw it change %" PRIu64 " times, 0 errors, 0 signals\n",
           READERS, opens, made, generations);
    (void)munmap(shared, sizeof *shared);
}

TEST(readers_of_a_file_that_is_written_in_place_notice_it) {
    uint64_t made = 0;
    CHECK(run_readers(IN_PLACE_MAX, true, &made) > 0);
    CHECK(made < IN_PLACE_MAX);
    (void)munmap(shared, sizeof *shared);
}

/* What docs/security.md says of truncated files. Without a map, such a file is an error (unit.no_map). */
static int look_up_after_truncation(const struct folder *f) {
    kith_filter *filter = NULL;
    (void)signal(SIGBUS, SIG_DFL);
    if (kith_filter_open(in(f, "x.kith"), KITH_OPEN_DEFAULT, NULL, &filter) != KITH_OK ||
        truncate(in(f, "x.kith"), 0) != 0)
        return 1;
    return is_whole(filter) ? 2 : 3;
}

TEST(a_lookup_in_a_map_of_a_truncated_file_raises_sigbus) {
    struct folder f = fresh_folder();
    kith_filter *filter = generation_filter(4);
    CHECK_OK(kith_filter_save(filter, in(&f, "x.kith")));
    kith_filter_free(filter);
    CHECK_EQ_U64(in_child(look_up_after_truncation, &f), 256 + SIGBUS);
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
