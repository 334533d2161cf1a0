/* Tests of kith/builder.h: builds that are divided between threads or into parts, when memory is missing or the caller
 * cancels, and digests that are not spread evenly. tests/unit/builder.c tests the temporary file. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Both openat and openat64 are defined below, so the headers must not redirect one to the other. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kith/builder.h>

#include "build/fill.h"
#include "check.h"
#include "core/mix.h"
#include "folder.h"
#include "sanitizer.h"
#include "unit/memory.h"

enum {
    COUNT = KITHI_FILL_SPLIT_MIN + 5000, /* digests: enough that filling them is divided */
    SPILLS = 52428,                      /* digests that fit into the smallest memory limit */
};

static uint64_t digests[COUNT];

/* `repeats` digests at the end are equal to earlier ones. */
static void make_digests(size_t repeats) {
    for (size_t i = 0; i < COUNT; i++)
        digests[i] = kithi_mix(i < COUNT - repeats ? i + 1 : i / 2 + 1);
}

static kith_filter_spec spec_of(const char *kind, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = 0.01;
    return spec;
}

/* An allocator as in memory.h that several threads may use. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locked_allocate(void *context, size_t bytes, size_t alignment) {
    (void)pthread_mutex_lock(&lock);
    void *block = memory_allocate(context, bytes, alignment);
    (void)pthread_mutex_unlock(&lock);
    return block;
}

static void locked_release(void *context, void *block, size_t bytes) {
    (void)pthread_mutex_lock(&lock);
    memory_release(context, block, bytes);
    (void)pthread_mutex_unlock(&lock);
}

static kith_status build(const kith_filter_spec *spec, unsigned flags, const kith_build_limits *limits, size_t n,
                         uint64_t *left_out, kith_filter **f) {
    kith_builder *b = NULL;
    kith_status status = kith_builder_open(spec, flags, limits, &b);
    size_t first = n < 1000 ? n : 1000; /* so few are kept in the builder first */
    if (status == KITH_OK)
        status = kith_builder_add_many(b, digests, first, NULL);
    if (status == KITH_OK)
        status = kith_builder_add_many(b, digests + first, n - first, NULL);
    if (status == KITH_OK)
        status = kith_builder_finish(b, f);
    if (b != NULL && left_out != NULL)
        *left_out = kith_builder_left_out(b);
    kith_builder_free(b);
    return status;
}

static void check_equal(kith_filter *a, kith_filter *b) {
    const void *one, *other;
    size_t one_bytes, other_bytes;
    CHECK_OK(kith_filter_bytes(a, &one, &one_bytes));
    CHECK_OK(kith_filter_bytes(b, &other, &other_bytes));
    CHECK(one_bytes == other_bytes && memcmp(one, other, one_bytes) == 0);
}

/* Where memory to divide the work is missing, it may be done in order instead, with the same bytes. */
static void try_allocations(const kith_filter_spec *given, unsigned flags, bool stays) {
    struct memory memory = {.stays = stays};
    kith_allocator allocator = {locked_allocate, locked_release, &memory};
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    kith_filter_spec spec = *given;
    spec.allocator = &allocator;
    limits.threads = 2;
    kith_filter *wanted = NULL, *f;
    CHECK_OK(build(given, flags, NULL, COUNT, NULL, &wanted));
    CHECK_OK(build(&spec, flags, &limits, COUNT, NULL, &f));
    check_equal(wanted, f);
    kith_filter_free(f);
    uint64_t calls = memory.calls;
    CHECK(calls >= 4);
    for (uint64_t i = 1; i <= calls; i += i >= 12 ? 41 : UNDER_SANITIZER ? 5 : 1) {
        memory.calls = 0;
        memory.fail_at = i;
        kith_status status = build(&spec, flags, &limits, COUNT, NULL, &f);
        if (status == KITH_OK) {
            check_equal(wanted, f);
            kith_filter_free(f);
        } else {
            CHECK_STATUS(status, KITH_E_MEMORY);
        }
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
    kith_filter_free(wanted);
}

TEST(every_allocation_of_a_build_on_threads_may_fail) {
    static const char *const KINDS[] = {"cuckoo", "counting", "blocked", "bloom", "fuse"};
    make_digests(100);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        kith_filter_spec spec = spec_of(KINDS[k], COUNT);
        try_allocations(&spec, KITH_BUILD_SET, k % 2 == 0);
    }
    kith_filter_spec spec = spec_of("blocked_counting", COUNT), open_ended = spec_of("cuckoo", 0);
    try_allocations(&spec, KITH_BUILD_MULTISET, false);
    try_allocations(&open_ended, KITH_BUILD_SET, false);
}

/* More copies than a counter counts: threads that fill ranges of the cells cannot tell which copy is one too many. */
TEST(copies_are_refused_and_left_out_as_without_threads) {
    static const char *const KINDS[] = {"counting", "cuckoo"};
    make_digests(0);
    for (size_t i = 0; i < 20; i++)
        digests[COUNT - 1 - 1000 * i] = digests[0];
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        kith_filter_spec spec = spec_of(KINDS[k], COUNT);
        kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
        kith_filter *f[2] = {NULL};
        uint64_t left_out[2];
        for (unsigned threads = 1; threads <= 2; threads++) {
            limits.threads = threads;
            unsigned flags = KITH_BUILD_MULTISET;
            CHECK_STATUS(build(&spec, flags, &limits, COUNT, NULL, &f[0]), KITH_E_COPIES);
            flags |= KITH_BUILD_LEAVE_OUT;
            CHECK_OK(build(&spec, flags, &limits, COUNT, &left_out[threads - 1], &f[threads - 1]));
        }
        CHECK(left_out[0] > 0 && left_out[0] < 21);
        CHECK_EQ_U64(left_out[1], left_out[0]);
        check_equal(f[0], f[1]);
        kith_filter_free(f[0]);
        kith_filter_free(f[1]);
    }
}

/* Bodies of 2 MiB and more are filled by parts even on one thread, if that is faster. */
TEST(a_large_body_has_the_same_bytes_on_one_thread_and_on_two) {
    static const char *const KINDS[] = {"cuckoo", "blocked_counting"};
    make_digests(0);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        kith_filter_spec spec = spec_of(KINDS[k], 2000000);
        kith_build_limits two = KITH_BUILD_LIMITS_INIT;
        two.threads = 2;
        kith_filter *added = NULL, *one = NULL, *other = NULL;
        CHECK_OK(kith_filter_create(&spec, &added));
        CHECK(kith_filter_memory(added) > 2 << 20);
        CHECK_OK(kith_filter_add_many(added, digests, COUNT, NULL, NULL));
        CHECK_OK(build(&spec, KITH_BUILD_MULTISET, NULL, COUNT, NULL, &one));
        CHECK_OK(build(&spec, KITH_BUILD_MULTISET, &two, COUNT, NULL, &other));
        check_equal(added, one);
        check_equal(added, other);
        kith_filter_free(added);
        kith_filter_free(one);
        kith_filter_free(other);
    }
}

/* The capacity is that of 8 shards, but so few digests are sorted as one part, which has digests of all shards. */
TEST(a_static_filter_of_many_shards_has_the_same_bytes_in_any_order_and_on_any_number_of_threads) {
    enum { FEW = 20000 };
    make_digests(0);
    kith_filter_spec spec = spec_of("fuse", 5000000);
    spec.rate = 0.1;
    kith_build_limits two = KITH_BUILD_LIMITS_INIT;
    two.threads = 2;
    kith_filter *one = NULL, *other = NULL;
    CHECK_OK(build(&spec, KITH_BUILD_SET, NULL, FEW, NULL, &one));
    for (size_t i = 0; i < FEW / 2; i++) {
        uint64_t digest = digests[i];
        digests[i] = digests[FEW - 1 - i];
        digests[FEW - 1 - i] = digest;
    }
    CHECK_OK(build(&spec, KITH_BUILD_SET, &two, FEW, NULL, &other));
    CHECK_EQ_U64(kith_filter_has_many(one, digests, FEW, NULL), FEW);
    check_equal(one, other);
    kith_filter_free(one);
    kith_filter_free(other);
}

TEST(a_final_spec_without_a_kind_gives_a_static_filter_or_the_smallest) {
    make_digests(0);
    for (size_t n = 1; n <= COUNT; n *= 10) {
        kith_filter_spec spec = spec_of(NULL, 0);
        spec.final = true;
        kith_filter *f = NULL, *built = NULL;
        CHECK_OK(build(&spec, KITH_BUILD_SET, NULL, n, NULL, &f));
        CHECK_EQ_U64(kith_filter_has_many(f, digests, n, NULL), n);
        kith_plan plan = KITH_PLAN_INIT, made = KITH_PLAN_INIT;
        spec.capacity = n;
        CHECK_OK(kith_filter_plan(&spec, &plan));
        CHECK_OK(kith_filter_plan_of(f, &made));
        CHECK(strcmp(made.kind, plan.kind) == 0);
        CHECK_OK(kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 1, &built));
        check_equal(f, built);
        kith_filter_free(built);
        kith_filter_free(f);
    }
}

/* ---- digests on disk ---- */

/* The high bits of all digests are 0, so 8 of the 256 parts of the temporary file, or a single one, have all of them.
 * With 8, memory allows to search fewer parts at a time than there are threads; a single part exceeds the limit. */
TEST(digests_that_are_not_spread_evenly_are_counted_and_built) {
    static const char *const KINDS[] = {"counting", "fuse"};
    size_t n = 2 * SPILLS;
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        for (unsigned shift = 5; shift <= 12; shift += 7) {
            for (size_t i = 0; i < n; i++)
                digests[i] = kithi_mix(i / 2 + i % 2 * SPILLS / 2 + 1) >> shift;
            kith_filter_spec spec = spec_of(KINDS[k], 0);
            kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
            kith_filter *wanted = NULL, *f = NULL;
            CHECK_OK(build(&spec, KITH_BUILD_SET, NULL, n, NULL, &wanted));
            CHECK_EQ_U64(kith_filter_count(wanted), SPILLS + SPILLS / 2);
            limits.threads = 3;
            limits.memory_bytes = 1;
            limits.folder = "/tmp";
            CHECK_OK(build(&spec, KITH_BUILD_SET, &limits, n, NULL, &f));
            check_equal(wanted, f);
            kith_filter_free(wanted);
            kith_filter_free(f);
        }
    }
}

TEST(more_than_16_spills_are_read_again) {
    enum { ROUNDS = 17 };
    kith_filter_spec spec = spec_of("counting", 0);
    spec.rate = 0.5;
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = 1;
    limits.folder = "/tmp";
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    uint64_t keys;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < SPILLS; i++)
            digests[i] = kithi_mix(round * SPILLS / 2 + i + 1);
        CHECK_OK(kith_builder_add_many(b, digests, SPILLS, NULL));
    }
    CHECK_OK(kith_builder_end_input(b, &keys));
    CHECK_EQ_U64(keys, (ROUNDS + 1) * SPILLS / 2);
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_count(f), keys);
    CHECK_EQ_U64(kith_filter_has_many(f, digests, SPILLS, NULL), SPILLS);
    kith_builder_free(b);
    kith_filter_free(f);
}

/* Some file systems (NFS, FUSE) have no files without a name. */
static bool all_named;

static int open_as_chosen(int folder, const char *path, int flags, va_list rest) {
    if ((flags & O_TMPFILE) == O_TMPFILE && all_named) {
        errno = EOPNOTSUPP;
        return -1;
    }
    mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
    return (int)syscall(SYS_openat, folder, path, flags | O_LARGEFILE, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = open_as_chosen(folder, path, flags, rest);
    va_end(rest);
    return fd;
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = open_as_chosen(folder, path, flags, rest);
    va_end(rest);
    return fd;
}

TEST(a_temporary_file_with_a_name_loses_it_at_once) {
    struct folder folder = fresh_folder();
    static char long_path[5000];
    kith_filter_spec spec = spec_of("cuckoo", 0);
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    kith_builder *b = NULL;
    kith_filter *wanted = NULL, *f = NULL;
    make_digests(0);
    CHECK_OK(build(&spec, KITH_BUILD_SET, NULL, COUNT, NULL, &wanted));
    limits.memory_bytes = 1;
    limits.folder = folder.path;
    all_named = true;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
    CHECK_OK(kith_builder_add_many(b, digests, COUNT, NULL)); /* two spills are in the file now */
    CHECK(rmdir(folder.path) == 0);                           /* so the folder is empty */
    CHECK_STATUS(build(&spec, KITH_BUILD_SET, &limits, COUNT, NULL, &f), KITH_E_NO_FILE);
    CHECK_OK(kith_builder_finish(b, &f));
    check_equal(wanted, f);
    kith_filter_free(f);
    kith_builder_free(b);
    memset(long_path, '/', sizeof long_path - 1); /* the root, but the name of a file in it would be too long */
    limits.folder = long_path;
    f = NULL;
    CHECK_STATUS(build(&spec, KITH_BUILD_SET, &limits, COUNT, NULL, &f), KITH_E_NO_FILE);
    CHECK(f == NULL);
    all_named = false;
    kith_filter_free(wanted);
}

/* ---- the memory limit of static kinds ---- */

/* What builder.h promises: the limit, or the working memory of one shard on one thread, and a little for each digest in
 * the temporary file. */
static uint64_t promised(uint64_t limit, uint64_t shard_keys, uint64_t n) {
    uint64_t floor = 34 * shard_keys;
    return (limit > floor ? limit : floor) + n / 4 + (64 << 10);
}

static void check_static_memory(const kith_filter_spec *given, uint64_t shard_keys, uint64_t limit, unsigned threads,
                                kith_filter *wanted) {
    struct memory memory = {0};
    kith_allocator allocator = {locked_allocate, locked_release, &memory};
    kith_filter_spec spec = *given;
    spec.allocator = &allocator;
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = limit;
    limits.folder = "/tmp";
    limits.threads = threads;
    kith_filter *f = NULL;
    CHECK_OK(build(&spec, KITH_BUILD_SET, &limits, COUNT, NULL, &f));
    check_equal(wanted, f);
    uint64_t most = kith_filter_memory(f) + promised(limit, shard_keys, COUNT);
    if (memory.peak_bytes > most)
        CHECK_FAIL("%s, capacity %llu, limit %llu, %u threads: %llu bytes, at most %llu are promised", spec.kind,
                   (unsigned long long)spec.capacity, (unsigned long long)limit, threads,
                   (unsigned long long)memory.peak_bytes, (unsigned long long)most);
    kith_filter_free(f);
    CHECK_EQ_U64(memory.live_blocks, 0);
}

/* With a capacity of 6 million there are 8 shards of 750,000 keys, and each needs most of its working memory even if it
 * has few keys. */
TEST(a_static_build_keeps_the_memory_limit_on_any_number_of_threads) {
    static const struct {
        uint64_t capacity, shard_keys;
        size_t repeats;
        uint64_t limit;
    } ROWS[] = {
        {0, COUNT, 0, 1 << 20},                        /* all digests are on disk */
        {0, COUNT, 0, 36 * COUNT},                     /* they fit in memory, but only if the array is trimmed */
        {0, COUNT - COUNT / 4, COUNT / 4, 33 * COUNT}, /* they do not fit, because there is a second array */
        {6000000, 755000, COUNT / 4, 1 << 20},         /* not even one shard fits */
        {6000000, 755000, 0, 30000000},                /* two or three shards fit */
        {6000000, 755000, 0, 80000000},                /* six or seven fit */
    };
    static const char *const KINDS[] = {"fuse", "ribbon"};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
            make_digests(ROWS[i].repeats);
            kith_filter_spec spec = spec_of(KINDS[k], ROWS[i].capacity);
            kith_filter *wanted = NULL;
            CHECK_OK(build(&spec, KITH_BUILD_SET, NULL, COUNT, NULL, &wanted));
            for (unsigned threads = 1; threads <= 8; threads = threads == 1 ? 2 : 4 * threads)
                if (!UNDER_SANITIZER || threads == 2)
                    check_static_memory(&spec, ROWS[i].shard_keys, ROWS[i].limit, threads, wanted);
            kith_filter_free(wanted);
        }
    }
}

/* Nearly as many digests as the limit allows in memory, and more than one shard: the array of digests is larger than
 * needed, and there is a sorted copy of it. */
TEST(a_static_build_keeps_the_memory_limit_while_it_sorts_its_digests) {
    enum { MANY = 1640000, LIMIT = 20 * 1650000 };
    if (UNDER_SANITIZER)
        SKIP("takes too long under a sanitizer");
    static const char *const KINDS[] = {"fuse", "ribbon"};
    uint64_t *many = malloc(MANY * sizeof *many);
    CHECK(many != NULL);
    for (size_t i = 0; i < MANY; i++)
        many[i] = kithi_mix(i + 1);
    for (size_t k = 0; k < 2; k++)
        for (unsigned threads = 1; threads <= 4; threads *= 4) {
            struct memory memory = {0};
            kith_allocator allocator = {locked_allocate, locked_release, &memory};
            kith_filter_spec spec = spec_of(KINDS[k], 0);
            spec.allocator = &allocator;
            kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
            limits.memory_bytes = LIMIT;
            limits.folder = "/tmp";
            limits.threads = threads;
            kith_builder *b = NULL;
            kith_filter *f = NULL;
            CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
            for (size_t i = 0; i < MANY; i += 1000)
                CHECK_OK(kith_builder_add_many(b, many + i, 1000, NULL));
            CHECK_OK(kith_builder_finish(b, &f));
            kith_builder_free(b);
            uint64_t most = kith_filter_memory(f) + promised(LIMIT, MANY / 2, MANY);
            if (memory.peak_bytes > most)
                CHECK_FAIL("%s, %u threads: %llu bytes, at most %llu are promised", KINDS[k], threads,
                           (unsigned long long)memory.peak_bytes, (unsigned long long)most);
            CHECK_EQ_U64(kith_filter_has_many(f, many, MANY, NULL), MANY);
            kith_filter_free(f);
            CHECK_EQ_U64(memory.live_blocks, 0);
        }
    free(many);
}

/* There are repeats, so the build needs a second array of digests. The limit is not enough for both. */
TEST(a_static_build_that_cannot_move_its_digests_to_disk_keeps_them) {
    make_digests(COUNT / 4);
    kith_filter_spec fuse = spec_of("fuse", 0), cuckoo = spec_of("cuckoo", 0);
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = 33 * COUNT;
    limits.folder = "/nowhere";
    kith_filter *wanted = NULL;
    CHECK_OK(build(&cuckoo, KITH_BUILD_SET, NULL, COUNT, NULL, &wanted));
    for (int counted = 0; counted < 2; counted++) {
        kith_builder *b = NULL;
        kith_filter *f = NULL;
        uint64_t keys = 0;
        CHECK_OK(kith_builder_open(&fuse, KITH_BUILD_SET, &limits, &b));
        CHECK_OK(kith_builder_add_many(b, digests, COUNT, NULL));
        if (counted)
            CHECK_OK(kith_builder_end_input(b, &keys));
        for (int again = 0; again < 2; again++)
            CHECK_STATUS(kith_builder_finish(b, &f), KITH_E_NO_FILE);
        CHECK_OK(kith_builder_end_input(b, &keys));
        CHECK_EQ_U64(keys, COUNT - COUNT / 4);
        CHECK_OK(kith_builder_respec(b, &cuckoo));
        CHECK_OK(kith_builder_finish(b, &f));
        check_equal(wanted, f);
        kith_filter_free(f);
        kith_builder_free(b);
    }
    kith_filter_free(wanted);
}

static bool count_rounds(void *context, kith_build_step step, uint64_t done, uint64_t total) {
    *(unsigned *)context += step == KITH_BUILD_FILLING && done < total;
    return true;
}

/* 8 shards on disk. The limit is enough to build two of them at a time, so there are 4 rounds, not 8 and not 1. */
TEST(a_static_build_uses_as_many_threads_as_the_memory_limit_allows) {
    enum { CHUNKS = 16, CHUNK = 100000 };
    unsigned rounds = 0;
    kith_filter_spec spec = spec_of("fuse", 6000000);
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = 30000000;
    limits.folder = "/tmp";
    limits.threads = 8;
    limits.progress = count_rounds;
    limits.context = &rounds;
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
    for (uint64_t at = 0; at < CHUNKS * CHUNK; at += CHUNK) {
        for (size_t i = 0; i < CHUNK; i++)
            digests[i] = kithi_mix(at + i + 1);
        CHECK_OK(kith_builder_add_many(b, digests, CHUNK, NULL));
    }
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_count(f), CHUNKS * CHUNK);
    CHECK_EQ_U64(kith_filter_has_many(f, digests, CHUNK, NULL), CHUNK);
    CHECK_EQ_U64(rounds, 4);
    kith_builder_free(b);
    kith_filter_free(f);
}

/* ---- cancelled, and tried again ---- */

struct patience {
    unsigned calls, cancel_at;
};

static bool be_patient(void *context, kith_build_step step, uint64_t done, uint64_t total) {
    (void)step, (void)done, (void)total;
    struct patience *p = context;
    return ++p->calls != p->cancel_at;
}

TEST(a_count_that_was_cancelled_can_be_repeated) {
    make_digests(COUNT / 4);
    struct patience patience = {.cancel_at = 10}; /* spilling has ended, and counting has begun */
    kith_filter_spec spec = spec_of("cuckoo", 0);
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = 1;
    limits.folder = "/tmp";
    limits.progress = be_patient;
    limits.context = &patience;
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    uint64_t keys = 0;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
    CHECK_OK(kith_builder_add_many(b, digests, COUNT, NULL));
    CHECK_STATUS(kith_builder_end_input(b, &keys), KITH_E_CANCELLED);
    CHECK_OK(kith_builder_end_input(b, &keys));
    CHECK_EQ_U64(keys, COUNT - COUNT / 4);
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_count(f), keys);
    CHECK_STATUS(kith_builder_end_input(b, &keys), KITH_E_ENDED);
    kith_builder_free(b);
    kith_filter_free(f);
}

TEST(a_build_in_memory_can_be_cancelled_at_every_step_and_finished_later) {
    static const char *const KINDS[] = {"cuckoo", "fuse", "counting", "blocked"};
    make_digests(0);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        kith_filter_spec spec = spec_of(KINDS[k], COUNT);
        kith_filter *wanted = NULL;
        CHECK_OK(build(&spec, KITH_BUILD_SET, NULL, COUNT, NULL, &wanted));
        for (unsigned at = 1;; at++) {
            struct patience patience = {.cancel_at = at};
            kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
            limits.threads = 2;
            limits.progress = be_patient;
            limits.context = &patience;
            /* Nothing is spilled. But blocked streams, and gathers fewer digests than there are. */
            limits.memory_bytes = (strcmp(KINDS[k], "blocked") == 0 ? 20 : 25) * COUNT;
            limits.folder = "/nowhere";
            kith_builder *b = NULL;
            kith_filter *f = NULL;
            CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
            size_t done, taken = 0;
            kith_status status = KITH_OK;
            for (size_t chunk = 1000; taken < COUNT; taken += done) {
                chunk = COUNT - taken < chunk ? COUNT - taken : chunk;
                status = kith_builder_add_many(b, digests + taken, chunk, &done);
                CHECK(status == KITH_OK || status == KITH_E_CANCELLED);
            }
            status = kith_builder_finish(b, &f);
            if (status == KITH_E_CANCELLED)
                status = kith_builder_finish(b, &f);
            CHECK_OK(status);
            check_equal(wanted, f);
            kith_builder_free(b);
            kith_filter_free(f);
            if (patience.calls < at)
                break;
        }
        kith_filter_free(wanted);
    }
}

/* ---- wrong calls ---- */

TEST(wrong_calls_change_nothing) {
    make_digests(0);
    kith_filter_spec spec = spec_of("cuckoo", 1000), no_rate = spec, fuse = spec_of("fuse", 0);
    no_rate.rate = 0;
    kith_filter *cuckoo = NULL, *fixed = NULL, *f = NULL;
    kith_builder *b = NULL;
    CHECK_OK(kith_filter_build(&spec, digests, 100, KITH_BUILD_SET, 1, &cuckoo));
    CHECK_OK(kith_filter_build(&fuse, digests, 100, KITH_BUILD_SET, 1, &fixed));
    CHECK_STATUS(kith_builder_open_like(cuckoo, 1u << 9, NULL, &b), KITH_E_ARGUMENT);
    CHECK_STATUS(kith_builder_open_like(fixed, KITH_BUILD_SET, NULL, &b), KITH_E_UNSUPPORTED);
    CHECK(b == NULL);
    CHECK_OK(kith_builder_open_like(cuckoo, KITH_BUILD_MULTISET, NULL, &b));
    CHECK_STATUS(kith_builder_respec(b, &spec), KITH_E_UNSUPPORTED);
    CHECK_OK(kith_builder_add_many(b, digests, 100, NULL));
    CHECK_OK(kith_builder_finish(b, &f));
    check_equal(cuckoo, f);
    kith_builder_free(b);
    kith_filter_free(f);
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, NULL, &b));
    CHECK_STATUS(kith_builder_respec(b, &no_rate), KITH_E_RATE);
    CHECK_OK(kith_builder_add_many(b, digests, 100, NULL));
    CHECK_OK(kith_builder_finish(b, &f));
    check_equal(cuckoo, f);
    kith_builder_free(b);
    kith_filter_free(f);
    kith_filter_free(cuckoo);
    kith_filter_free(fixed);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
