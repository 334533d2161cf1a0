/* The cost of durable changes: bench_store KITH FOLDER [ADDS [BYTES]]
 *
 * Durable adds, with a sync every 1000 adds, beside a loop that only appends the same number of bytes to a file and
 * syncs it with fdatasync as often. The two alternate. "speed" is the time of the bare loop divided by that of the
 * store.
 *
 *     one by one   a call and a write for each add
 *     add_many     a call and a write for 1000 adds
 *
 * `KITH add` of one key to a store of BYTES, from the start of the process to its end, with journals of 0, 1000 and
 * 100,000 records. The files are in the page cache.
 *
 * FOLDER should be on a disk: where a sync costs nothing, the comparison says nothing. The files in it are removed.
 *
 * With at least 200,000 adds and 10^9 bytes, the defaults, it exits with 1 if the median speed of any of the four
 * comparisons is below 0.8, or if the median of one add takes more than 50 ms with at most 1000 records. Smaller runs
 * test only that it works. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kith/kith.h>

#include "splitmix.h"

enum { SYNC_EVERY = 1000, ROUNDS = 7, PATH_ROOM = 4096 };

#define FULL_ADDS 2e5
#define FULL_BYTES 1e9
#define SPEED_MIN 0.8
#define ADD_MS_MAX 50.0
#define ADD_RECORDS_MAX 1000 /* the promise for one add holds up to this many records */

static bool is_full_size, too_slow;

static char store_path[PATH_ROOM], journal_path[PATH_ROOM + 16], lock_path[PATH_ROOM + 16], bare_path[PATH_ROOM],
    key_path[PATH_ROOM];

static void remove_files(void) {
    (void)unlink(store_path);
    (void)unlink(journal_path);
    (void)unlink(lock_path);
    (void)unlink(bare_path);
    (void)unlink(key_path);
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench_store: %s: %s\n", what, why);
    remove_files();
    exit(1);
}

static void must(kith_status status, const char *what) {
    if (status != KITH_OK)
        die(what, kith_status_text(status));
}

/* Reports a median that misses what is promised, unless this is a small run. */
static void expect(bool kept, const char *what, const char *which, double got, double limit) {
    if (kept || !is_full_size)
        return;
    fprintf(stderr, "bench_store: %s (%s): %.2f, promised is %.2f\n", what, which, got, limit);
    too_slow = true;
}

static double now(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        die("clock_gettime", "failed");
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread {
    double least, median, most;
} spread;

static spread spread_of(double *values) {
    qsort(values, ROUNDS, sizeof *values, by_size);
    return (spread){values[0], values[ROUNDS / 2], values[ROUNDS - 1]};
}

/* ---- stores ---- */

static kith_file *create_store(const kith_filter_spec *spec, const kith_file_options *options) {
    kith_filter *filter;
    kith_file *store;
    must(kith_filter_create(spec, &filter), "create");
    must(kith_file_open(store_path, KITH_FILE_REPLACE, options, &store), store_path);
    must(kith_file_replace(store, filter), store_path);
    must(kith_file_set_journal(store, true), store_path);
    must(kith_file_commit(store), store_path);
    return store;
}

static uint64_t journal_bytes(const kith_file *store) {
    kith_file_info info = KITH_FILE_INFO_INIT;
    must(kith_file_info_of(store, &info), "info");
    return info.journal_bytes;
}

/* ---- durable adds ---- */

/* Adds `adds` digests, `per_call` at a time. *bytes is set to what they take in the journal. Returns the seconds. */
static double add_durably(const kith_filter_spec *spec, uint64_t adds, size_t per_call, uint64_t *bytes) {
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.sync = per_call == 1 ? KITH_SYNC_OPERATIONS : KITH_SYNC_CALL;
    options.sync_operations = SYNC_EVERY;
    options.checkpoint_bytes = options.close_bytes = KITH_FILE_NEVER;
    kith_file *store = create_store(spec, &options);
    uint64_t before = journal_bytes(store), state = 1, digests[SYNC_EVERY];
    double start = now();
    for (uint64_t i = 0; i < adds; i += per_call) {
        for (size_t j = 0; j < per_call; j++)
            digests[j] = splitmix_next(&state);
        must(per_call == 1 ? kith_file_add_digest(store, digests[0], NULL)
                           : kith_file_add_many(store, digests, per_call, NULL, NULL),
             "add");
    }
    must(kith_file_commit(store), "sync");
    double took = now() - start;
    *bytes = journal_bytes(store) - before;
    if (!kith_file_durable(store))
        die("durable adds", "not all adds are durable");
    must(kith_file_close(store), "close");
    return took;
}

/* Appends `bytes` in equal pieces, one for each call of add_durably(), and syncs as often. Returns the seconds. */
static double append_durably(uint64_t adds, size_t per_call, uint64_t bytes) {
    uint64_t calls = adds / per_call, syncs = SYNC_EVERY / per_call;
    size_t piece = (size_t)(bytes / calls);
    char *buffer = calloc(1, piece);
    int file = open(bare_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (buffer == NULL || file < 0 || fsync(file) != 0)
        die(bare_path, "cannot be written");
    double start = now();
    for (uint64_t i = 1; i <= calls; i++) {
        if (write(file, buffer, piece) != (ssize_t)piece || (i % syncs == 0 && fdatasync(file) != 0))
            die(bare_path, "cannot be written");
    }
    double took = now() - start;
    (void)close(file);
    (void)unlink(bare_path);
    free(buffer);
    return took;
}

static void compare_adds(const char *kind, const char *name, uint64_t adds, size_t per_call) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = adds;
    spec.rate = .001;
    double store[ROUNDS], bare[ROUNDS], speed[ROUNDS];
    uint64_t bytes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        store[i] = add_durably(&spec, adds, per_call, &bytes);
        bare[i] = append_durably(adds, per_call, bytes);
        speed[i] = bare[i] / store[i];
    }
    spread s = spread_of(speed);
    printf("%-9s %-11s %9.1f %9.2f %9.2f   %.2f (%.2f-%.2f)\n", kind, name, (double)bytes / (double)adds,
           spread_of(store).median / (double)adds * 1e6, spread_of(bare).median / (double)adds * 1e6, s.median, s.least,
           s.most);
    (void)fflush(stdout);
    char which[64];
    (void)snprintf(which, sizeof which, "%s, %s", kind, name);
    expect(s.median >= SPEED_MIN, "durable adds are slow: their speed as a part of the bare loop's", which, s.median,
           SPEED_MIN);
}

/* ---- one kith add ---- */

static double run_add(const char *tool) {
    char *const words[] = {(char *)tool, "add", store_path, key_path, NULL};
    char *const none[] = {NULL};
    pid_t child;
    int status;
    double start = now();
    if (posix_spawn(&child, tool, NULL, NULL, words, none) != 0 || waitpid(child, &status, 0) != child || status != 0)
        die(tool, "add failed");
    return now() - start;
}

/* Reads a file, so that it is in the page cache. */
static void warm(const char *path) {
    static char buffer[1 << 20];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        die(path, "cannot be read");
    while (read(file, buffer, sizeof buffer) > 0)
        continue;
    (void)close(file);
}

static void time_single_adds(const char *tool, uint64_t bytes) {
    static const uint64_t RECORDS[] = {0, 1000, 100000};
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "blocked";
    spec.rate = .001;
    spec.bytes = bytes;
    for (size_t i = 0; i < sizeof RECORDS / sizeof *RECORDS; i++) {
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        options.sync = KITH_SYNC_OPERATIONS;
        options.checkpoint_bytes = options.close_bytes = KITH_FILE_NEVER;
        kith_file *store = create_store(&spec, &options);
        uint64_t state = 1;
        for (uint64_t j = 0; j < RECORDS[i]; j++)
            must(kith_file_add_digest(store, splitmix_next(&state), NULL), "add");
        must(kith_file_close(store), "close");
        warm(store_path);
        double times[ROUNDS];
        for (int j = 0; j < ROUNDS; j++)
            times[j] = run_add(tool);
        spread s = spread_of(times);
        printf("%9llu records: %.1f ms (%.1f-%.1f)\n", (unsigned long long)RECORDS[i], s.median * 1e3, s.least * 1e3,
               s.most * 1e3);
        (void)fflush(stdout);
        char which[64];
        (void)snprintf(which, sizeof which, "%llu records", (unsigned long long)RECORDS[i]);
        expect(s.median * 1e3 <= ADD_MS_MAX || RECORDS[i] > ADD_RECORDS_MAX, "one kith add is slow: its ms", which,
               s.median * 1e3, ADD_MS_MAX);
    }
}

int main(int argc, char **argv) {
    double adds = argc > 3 ? strtod(argv[3], NULL) : FULL_ADDS, bytes = argc > 4 ? strtod(argv[4], NULL) : FULL_BYTES;
    if (argc < 3 || argc > 5 || !(adds >= SYNC_EVERY && adds <= 1e9) || !(bytes >= 1e6 && bytes <= 1e12)) {
        fprintf(stderr, "usage: %s KITH FOLDER [ADDS [BYTES]]: at least 1000 adds, a store of at least 10^6 bytes\n",
                argv[0]);
        return 2;
    }
    (void)snprintf(store_path, sizeof store_path, "%s/bench.kith", argv[2]);
    (void)snprintf(journal_path, sizeof journal_path, "%s-journal", store_path);
    (void)snprintf(lock_path, sizeof lock_path, "%s-lock", store_path);
    (void)snprintf(bare_path, sizeof bare_path, "%s/bench.bare", argv[2]);
    (void)snprintf(key_path, sizeof key_path, "%s/bench.key", argv[2]);
    FILE *key = fopen(key_path, "we");
    if (key == NULL || fputs("a key\n", key) < 0 || fclose(key) != 0)
        die(key_path, "cannot be written");

    is_full_size = adds >= FULL_ADDS && bytes >= FULL_BYTES;
    uint64_t n = (uint64_t)adds / SYNC_EVERY * SYNC_EVERY;
    printf("%llu durable adds, synced every %d; us per add; medians of %d alternating rounds\n", (unsigned long long)n,
           SYNC_EVERY, ROUNDS);
    printf("%-9s %-11s %9s %9s %9s   %s\n", "kind", "calls", "bytes", "store", "bare", "speed");
    for (int i = 0; i < 2; i++) {
        const char *kind = i == 0 ? "blocked" : "cuckoo";
        compare_adds(kind, "one by one", n, 1);
        compare_adds(kind, "add_many", n, SYNC_EVERY);
    }
    printf("kith add of one key to a store of %.0f bytes, its journal before the first of %d runs:\n", bytes, ROUNDS);
    time_single_adds(argv[1], (uint64_t)bytes);
    remove_files();
    return too_slow;
}
