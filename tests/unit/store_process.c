/* Stores that several processes use: kill -9 at random moments, a second writer, readers beside a writer. */
#define _GNU_SOURCE

#include "check.h"
#include "store_calls.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <kith/kith.h>

#include "folder.h"
#include "splitmix.h"

/* For tests/coverage.c: a writer must not be killed while it writes its counts. */
bool coverage_begin(void);
bool coverage_begin(void) {
    return false;
}

/* What the processes share. */
struct shared {
    _Atomic uint64_t acknowledged; /* keys 0 … acknowledged - 1 are durable */
    _Atomic uint64_t may_write;    /* the writer waits before it adds this key; UINT64_MAX: it never waits */
    _Atomic bool is_ready, stop;
};

static struct shared *share(void) {
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(s != MAP_FAILED);
    atomic_store(&s->may_write, UINT64_MAX);
    return s;
}

static void pause_us(uint64_t us) {
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
    while (nanosleep(&t, &t) != 0) {
    }
}

static const char *adding_kind(uint64_t i) {
    for (;; i++) {
        const kith_kind_info *kind = kith_filter_kind_at((size_t)(i % kith_filter_kind_count()));
        if (kind->capabilities & KITH_CAN_ADD)
            return kind->name;
    }
}

static void create(const char *path, const char *kind, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    kithi_store *store;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = .001;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kithi_store_create(path, filter, NULL, &store));
    CHECK_OK(kithi_store_close(store));
    kith_filter_free(filter);
}

/* A writer process: adds keys one by one or in batches until it is killed. */
static int write_keys(const char *path, struct shared *shared, uint64_t seed, uint64_t most) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    kithi_store *store;
    options.checkpoint_bytes = 2000; /* many checkpoints, so that kills hit them, too */
    if (kithi_store_open(path, KITHI_STORE_WRITE, &options, &store) != KITH_OK)
        return 1;
    atomic_store(&shared->is_ready, true);
    uint64_t random = seed, key = atomic_load(&shared->acknowledged);
    while (key < most && !atomic_load(&shared->stop)) {
        while (key >= atomic_load(&shared->may_write))
            pause_us(20);
        uint64_t n = splitmix_next(&random) % 3 == 0 ? 1 + splitmix_next(&random) % 9 : 1, digests[16];
        kith_status status;
        if (n == 1) {
            status = kithi_store_add(store, &key, sizeof key, NULL);
        } else {
            for (uint64_t i = 0; i < n; i++) {
                uint64_t k = key + i;
                digests[i] = kith_filter_digest(kithi_store_filter(store), &k, sizeof k);
            }
            status = kithi_store_add_many(store, digests, (size_t)n, NULL, NULL);
        }
        if (status != KITH_OK)
            return 2;
        key += n;
        atomic_store(&shared->acknowledged, key);
    }
    return kithi_store_close(store) == KITH_OK ? 0 : 3;
}

enum { KILL_KEYS = 4000 };

/* Opens the store after a kill, and checks that every acknowledged key is there, and at most one call more. Returns how
 * many keys were acknowledged. */
static uint64_t check_after_kill(const char *path, struct shared *shared, uint64_t cycle) {
    kithi_store *store;
    kith_status status = kithi_store_open(path, cycle % 2 ? KITHI_STORE_READ : KITHI_STORE_WRITE, NULL, &store);
    if (status != KITH_OK)
        CHECK_FAIL("cycle %" PRIu64 ": the store is refused: %s", cycle, kith_status_name(status));
    uint64_t acknowledged = atomic_load(&shared->acknowledged);
    for (uint64_t key = 0; key < acknowledged; key++)
        if (!kithi_store_has(store, &key, sizeof key))
            CHECK_FAIL("cycle %" PRIu64 ": key %" PRIu64 " of %" PRIu64 " is lost", cycle, key, acknowledged);
    /* The last call may have been written without being acknowledged. The next writer must not add its keys again, so
     * it continues after the last key that is found. (A false positive among them is skipped: it stays one.) */
    CHECK(kith_filter_count(kithi_store_filter(store)) <= acknowledged + 10);
    uint64_t next = acknowledged;
    while (next < acknowledged + 10 && kithi_store_has(store, &next, sizeof next))
        next++;
    atomic_store(&shared->acknowledged, next);
    CHECK_OK(kithi_store_verify(store));
    CHECK_OK(kithi_store_close(store));
    return acknowledged;
}

/* Starts a writer and kills it. In a quarter of the cases this is after a random time, which may be while it opens the
 * store. Otherwise it is a random time after up to three more keys are acknowledged, so that slow writers (valgrind)
 * get that far, too. Returns false if the writer had done all its work before. */
static bool kill_a_writer(const char *path, struct shared *shared, uint64_t cycle, uint64_t *random) {
    atomic_store(&shared->is_ready, false);
    uint64_t before = atomic_load(&shared->acknowledged);
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(write_keys(path, shared, cycle, KILL_KEYS));
    bool waits = splitmix_next(random) % 4 != 0;
    uint64_t enough = before + splitmix_next(random) % 4;
    enough = enough < KILL_KEYS ? enough : KILL_KEYS;
    siginfo_t ended = {0};
    while (waits && (!atomic_load(&shared->is_ready) || atomic_load(&shared->acknowledged) < enough) &&
           waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0)
        pause_us(20);
    pause_us(splitmix_next(random) % (splitmix_next(random) % 8 == 0 ? 4000 : 400));
    int status;
    (void)kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        CHECK_FAIL("cycle %" PRIu64 ": the writer failed at step %d", cycle, WEXITSTATUS(status));
    return WIFSIGNALED(status);
}

/* KITH_KILLS=N kills N writers. In the soak tier it is 100,000. */
TEST(kill_9_loses_nothing_that_was_acknowledged) {
    const char *asked = getenv("KITH_KILLS");
    uint64_t cycles = asked != NULL ? strtoull(asked, NULL, 10) : check_soak() ? 100000 : 60;
    uint64_t keys = 0, random = 1, stores = 0, kills_of_store = 0;
    struct folder f = fresh_folder();
    struct shared *shared = share();
    const char *path = in(&f, "x");
    for (uint64_t kills = 0; kills < cycles;) {
        if (stores == 0 || kills_of_store == 20 || atomic_load(&shared->acknowledged) >= KILL_KEYS) {
            create(path, adding_kind(stores++), KILL_KEYS + 16);
            atomic_store(&shared->acknowledged, 0);
            kills_of_store = 0;
        }
        bool killed = kill_a_writer(path, shared, kills, &random);
        keys += check_after_kill(path, shared, kills);
        kills += killed;
        kills_of_store += killed;
    }
    printf("shows: kill -9: %" PRIu64 " cycles, %" PRIu64 " lookups of acknowledged keys: 0 lost, 0 refused opens\n",
           cycles, keys);
    CHECK(keys > cycles); /* the writers were not all killed before they had written anything */
    (void)munmap(shared, sizeof *shared);
    remove_folder(&f);
}

TEST(the_lock_of_a_killed_writer_is_free) {
    struct folder f = fresh_folder();
    struct shared *shared = share();
    const char *path = in(&f, "x");
    create(path, adding_kind(0), UINT64_C(10000000));
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(write_keys(path, shared, 1, UINT64_MAX));
    while (!atomic_load(&shared->is_ready))
        pause_us(100);
    kithi_store *store = NULL;
    CHECK_STATUS(kithi_store_open(path, KITHI_STORE_WRITE, NULL, &store), KITH_E_LOCKED);
    CHECK_OK(kithi_store_open(path, KITHI_STORE_READ, NULL, &store));
    CHECK_OK(kithi_store_close(store));
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    CHECK_OK(kithi_store_open(path, KITHI_STORE_WRITE, NULL, &store));
    CHECK_OK(kithi_store_close(store));
    (void)munmap(shared, sizeof *shared);
    remove_folder(&f);
}

TEST(readers_beside_a_writer_see_whole_states) {
    struct folder f = fresh_folder();
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        if ((kith_filter_kind_at(i)->capabilities & KITH_CAN_ADD) == 0)
            continue;
        uint64_t most = check_soak() ? 50000 : 300, refreshes = 0, seen = 0;
        struct shared *shared = share();
        const char *path = in(&f, kith_filter_kind_at(i)->name);
        create(path, kith_filter_kind_at(i)->name, most + 16);
        atomic_store(&shared->may_write, most / 4);
        (void)fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(write_keys(path, shared, i, most));
        kithi_store *reader;
        CHECK_OK(kithi_store_open(path, KITHI_STORE_READ, NULL, &reader));
        do {
            bool changed;
            uint64_t acknowledged = atomic_load(&shared->acknowledged);
            CHECK_OK(kithi_store_refresh(reader, &changed));
            refreshes += changed;
            for (uint64_t key = seen; key < acknowledged; key++)
                CHECK(kithi_store_has(reader, &key, sizeof key));
            seen = acknowledged;
            if (seen >= atomic_load(&shared->may_write)) /* so that there are at least four states to see */
                atomic_fetch_add(&shared->may_write, most / 4);
            /* a new reader sees the same */
            kithi_store *second;
            CHECK_OK(kithi_store_open(path, KITHI_STORE_READ, NULL, &second));
            for (uint64_t key = 0; key < acknowledged; key++)
                CHECK(kithi_store_has(second, &key, sizeof key));
            CHECK_OK(kithi_store_close(second));
        } while (seen < most);
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(refreshes > 1);
        CHECK_OK(kithi_store_verify(reader));
        CHECK_OK(kithi_store_close(reader));
        (void)munmap(shared, sizeof *shared);
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
