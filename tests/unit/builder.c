/* Tests of kith/builder.h: digests beyond the memory limit, and every failure of the temporary file, of the memory and
 * of the caller.
 *
 * The calls that read and write the temporary file go to functions of this file, which make the n-th of them fail. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Both the plain and the 64-bit names are defined below, so the headers must not redirect one to the other. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <kith/builder.h>

#include "check.h"
#include "core/mix.h"
#include "folder.h"
#include "sanitizer.h"
#include "unit/memory.h"

enum {
    SPILLS = 52428,  /* digests that fit into the smallest memory limit */
    KEYS = 80000,    /* two spills and a rest in memory */
    PARTS = 400000,  /* with the limit below: two spills and a rest, filled by parts on several threads */
    LIMIT = 3500000, /* bytes */
};

static struct {
    unsigned calls, fail_at;
    int error;
} fault;

static bool fails(void) {
    return ++fault.calls == fault.fail_at;
}

/* preadv64 and pwritev64 are not replaced, and take 64-bit offsets on every processor. */
typedef ssize_t transfer(int fd, const struct iovec *parts, int count, off64_t at);

static ssize_t forward(transfer *system, int fd, void *memory, size_t bytes, off64_t at) {
    if (fails()) {
        errno = fault.error;
        return -1;
    }
    struct iovec part = {memory, bytes};
    return system(fd, &part, 1, at);
}

ssize_t pwrite(int fd, const void *memory, size_t bytes, off_t at) {
    return forward(pwritev64, fd, (void *)(uintptr_t)memory, bytes, at);
}

ssize_t pwrite64(int fd, const void *memory, size_t bytes, off64_t at) {
    return forward(pwritev64, fd, (void *)(uintptr_t)memory, bytes, at);
}

ssize_t pread(int fd, void *memory, size_t bytes, off_t at) {
    return forward(preadv64, fd, memory, bytes, at);
}

ssize_t pread64(int fd, void *memory, size_t bytes, off64_t at) {
    return forward(preadv64, fd, memory, bytes, at);
}

/* ---- digests with repeats, near and far ---- */

static uint64_t digests[2 * PARTS];

static size_t make_digests(size_t keys) {
    size_t n = 0;
    for (size_t i = 0; i < keys; i++) {
        digests[n++] = kithi_mix(i + 1);
        if (i % 3 == 0)
            digests[n++] = kithi_mix(i / 2 + 1);
    }
    return n;
}

static kith_filter_spec spec_of(const char *kind, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = 0.01;
    return spec;
}

static kith_build_limits small_limits(void) {
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = 1;
    limits.folder = "/tmp";
    return limits;
}

static kith_status add_in_chunks(kith_builder *b, size_t n) {
    kith_status status = KITH_OK;
    for (size_t at = 0, chunk = 1; at < n && status == KITH_OK; at += chunk, chunk = chunk * 3 % 70001 + 1) {
        chunk = n - at < chunk ? n - at : chunk;
        status = kith_builder_add_many(b, digests + at, chunk, NULL);
    }
    return status;
}

/* A whole build. */
static kith_status build(const kith_filter_spec *spec, const kith_build_limits *limits, size_t n, kith_filter **f) {
    kith_builder *b = NULL;
    kith_status status = kith_builder_open(spec, KITH_BUILD_SET, limits, &b);
    if (status == KITH_OK)
        status = add_in_chunks(b, n);
    if (status == KITH_OK)
        status = kith_builder_finish(b, f);
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

/* Adds in order, without the repeats; a static kind is built from them. */
static kith_filter *added(const kith_filter_spec *spec, size_t keys) {
    kith_filter *f = NULL;
    kith_status status = kith_filter_create(spec, &f);
    if (status == KITH_E_UNSUPPORTED) {
        static uint64_t distinct[PARTS];
        for (size_t i = 0; i < keys; i++)
            distinct[i] = kithi_mix(i + 1);
        CHECK_OK(kith_filter_build(spec, distinct, keys, KITH_BUILD_SET, 1, &f));
        return f;
    }
    CHECK_OK(status);
    for (size_t i = 0; i < keys; i++)
        CHECK_OK(kith_filter_add_digest(f, kithi_mix(i + 1), NULL));
    return f;
}

TEST(the_bytes_depend_neither_on_the_memory_limit_nor_on_the_threads) {
    size_t n = make_digests(PARTS);
    for (size_t k = 0; k < kith_filter_kind_count(); k++) {
        kith_filter_spec spec = spec_of(kith_filter_kind_at(k)->name, PARTS), open_ended = spec;
        open_ended.capacity = 0;
        kith_filter *wanted = added(&spec, PARTS);
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            for (int limited = 0; limited < 2; limited++) {
                if (UNDER_SANITIZER && (threads == 1 || !limited))
                    continue;
                kith_build_limits limits = small_limits();
                limits.threads = threads;
                limits.memory_bytes = limited ? LIMIT : 0;
                for (int given = 0; given < 2; given++) {
                    kith_filter *f = NULL;
                    CHECK_OK(build(given ? &spec : &open_ended, &limits, n, &f));
                    check_equal(wanted, f);
                    kith_filter_free(f);
                }
            }
        }
        kith_filter_free(wanted);
    }
}

TEST(a_multiset_keeps_every_copy) {
    kith_filter_spec spec = spec_of("counting", 0);
    kith_build_limits limits = small_limits();
    size_t n = make_digests(KEYS);
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    uint64_t keys;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_MULTISET, &limits, &b));
    CHECK_OK(add_in_chunks(b, n));
    CHECK_OK(kith_builder_end_input(b, &keys));
    CHECK_EQ_U64(keys, n);
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_count(f), n);
    kith_builder_free(b);
    kith_filter_free(f);
}

TEST(copies_beyond_the_maximum_are_left_out_if_asked) {
    static const char *const KINDS[] = {"cuckoo", "counting"};
    static const uint64_t MOST[] = {8, 14};
    for (size_t k = 0; k < 2; k++) {
        kith_filter_spec spec = spec_of(KINDS[k], 1000);
        kith_builder *b = NULL;
        kith_filter *f = NULL;
        size_t n = make_digests(100);
        for (int i = 0; i < 20; i++)
            digests[n++] = kithi_mix(12345);
        CHECK_OK(kith_builder_open(&spec, KITH_BUILD_MULTISET, NULL, &b));
        CHECK_OK(add_in_chunks(b, n));
        CHECK_STATUS(kith_builder_finish(b, &f), KITH_E_COPIES);
        kith_builder_free(b);
        CHECK_OK(kith_builder_open(&spec, KITH_BUILD_MULTISET | KITH_BUILD_LEAVE_OUT, NULL, &b));
        CHECK_OK(add_in_chunks(b, n));
        CHECK_OK(kith_builder_finish(b, &f));
        CHECK_EQ_U64(kith_builder_left_out(b), 20 - MOST[k]);
        CHECK_EQ_U64(kith_filter_count(f), n - 20 + MOST[k]);
        kith_builder_free(b);
        kith_filter_free(f);
    }
}

/* Most digests are repeats, so memory is enough for the distinct ones, and no file is needed. */
TEST(repeats_do_not_fill_the_memory) {
    kith_filter_spec spec = spec_of("cuckoo", 0);
    kith_build_limits limits = small_limits();
    limits.folder = "/nowhere";
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
    for (int round = 0; round < 10; round++)
        for (size_t i = 0; i < SPILLS / 2; i++)
            CHECK_OK(kith_builder_add_many(b, &(uint64_t){kithi_mix(i + 1)}, 1, NULL));
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_count(f), SPILLS / 2);
    kith_builder_free(b);
    kith_filter_free(f);
}

TEST(a_streaming_builder_keeps_its_memory_limit_when_it_gets_many_digests_at_once) {
    enum { COUNT = 2000000 };
    uint64_t *many = malloc(COUNT * sizeof *many);
    CHECK(many != NULL);
    for (size_t i = 0; i < COUNT; i++)
        many[i] = kithi_mix(i + 1);
    for (unsigned threads = 1; threads <= 2; threads++) {
        for (uint64_t limit = (uint64_t)1 << 20; limit <= (uint64_t)8 << 20; limit *= 8) {
            struct memory memory = {0};
            kith_allocator allocator = memory_allocator(&memory);
            kith_filter_spec spec = spec_of("blocked", COUNT);
            kith_build_limits limits = small_limits();
            spec.allocator = &allocator;
            limits.memory_bytes = limit;
            limits.threads = threads;
            kith_builder *b = NULL;
            kith_filter *f = NULL;
            CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
            CHECK_OK(kith_builder_add_many(b, many, COUNT, NULL));
            CHECK_OK(kith_builder_finish(b, &f));
            kith_builder_free(b);
            CHECK(memory.peak_bytes <= kith_filter_memory(f) + limit);
            kith_filter_free(f);
        }
    }
    free(many);
}

/* If most digests are repeats, finding them takes more memory than keeping the digests: at most twice the limit. */
TEST(finding_many_repeats_takes_at_most_twice_the_memory_limit) {
    enum { MEMORY = 2 << 20 };
    for (size_t k = 0; k < kith_filter_kind_count(); k++)
        for (size_t bytes = 18; bytes <= 30; bytes++) {
            size_t n = MEMORY / bytes; /* with some of these, all digests are in memory, but no more would be */
            struct memory memory = {0};
            kith_allocator allocator = memory_allocator(&memory);
            kith_filter_spec spec = spec_of(kith_filter_kind_at(k)->name, 0);
            kith_build_limits limits = small_limits();
            spec.allocator = &allocator;
            limits.memory_bytes = MEMORY;
            kith_builder *b = NULL;
            kith_filter *f = NULL;
            CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
            for (size_t i = 0; i < n; i++)
                CHECK_OK(kith_builder_add_many(b, &(uint64_t){kithi_mix(i % 64 + 1)}, 1, NULL));
            CHECK_OK(kith_builder_finish(b, &f));
            kith_builder_free(b);
            uint64_t most = kith_filter_memory(f) + 2 * MEMORY + n / 4 + (64 << 10);
            if (memory.peak_bytes > most)
                CHECK_FAIL("%s, %zu digests: %" PRIu64 " bytes, at most %" PRIu64 " are promised", spec.kind, n,
                           memory.peak_bytes, most);
            kith_filter_free(f);
        }
}

static kith_status append(void *context, const uint64_t *piece, size_t n) {
    size_t *at = context;
    for (size_t i = 0; i < n; i++, ++*at)
        CHECK_EQ_U64(piece[i], kithi_mix(*at + 1));
    return KITH_OK;
}

static kith_status refuse(void *context, const uint64_t *piece, size_t n) {
    (void)context, (void)piece, (void)n;
    return KITH_E_BUSY;
}

TEST(each_returns_the_distinct_digests_in_order) {
    for (int spilled = 0; spilled < 2; spilled++) {
        kith_filter_spec spec = spec_of("cuckoo", 0);
        kith_build_limits limits = small_limits();
        limits.memory_bytes = spilled ? 1 : 0;
        size_t n = make_digests(KEYS), at = 0;
        kith_builder *b = NULL;
        kith_filter *f = NULL;
        CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
        CHECK_OK(add_in_chunks(b, n));
        CHECK_OK(kith_builder_each(b, append, &at));
        CHECK_EQ_U64(at, KEYS);
        CHECK_STATUS(kith_builder_each(b, refuse, NULL), KITH_E_BUSY);
        CHECK_STATUS(kith_builder_add_many(b, digests, 1, NULL), KITH_E_ENDED);
        CHECK_OK(kith_builder_finish(b, &f));
        CHECK_EQ_U64(kith_filter_count(f), KEYS);
        CHECK_STATUS(kith_builder_finish(b, &f), KITH_E_ENDED);
        kith_builder_free(b);
        kith_filter_free(f);
    }
}

TEST(a_builder_that_failed_can_be_given_another_spec) {
    kith_filter_spec spec = spec_of("cuckoo", KEYS / 2), larger = spec_of("overlap", 0), other_hash = spec;
    kith_build_limits limits = small_limits();
    size_t n = make_digests(KEYS), left_count;
    const uint64_t *left;
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    uint64_t keys;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
    CHECK_OK(add_in_chunks(b, n));
    CHECK(kith_builder_partial(b, &left, &left_count) == NULL);
    CHECK_STATUS(kith_builder_finish(b, &f), KITH_E_FULL);
    CHECK_EQ_U64(kith_filter_count(kith_builder_partial(b, &left, &left_count)), KEYS / 2);
    CHECK_OK(kith_builder_end_input(b, &keys));
    CHECK_EQ_U64(keys, KEYS);
    other_hash.hash.seed = 1;
    CHECK_STATUS(kith_builder_respec(b, &other_hash), KITH_E_MISMATCH);
    CHECK_OK(kith_builder_respec(b, &larger));
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_capacity(f), KEYS);
    kith_builder_free(b);
    kith_filter_free(f);
}

TEST(a_stream_reports_what_it_could_not_add) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        kith_filter_spec spec = spec_of("blocked", KEYS / 2);
        kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
        limits.threads = threads;
        size_t n = make_digests(KEYS), left_count, done = 0;
        const uint64_t *left;
        kith_builder *b = NULL;
        kith_filter *f = NULL;
        uint64_t keys;
        CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b));
        kith_status status = kith_builder_add_many(b, digests, n, &done);
        if (status == KITH_OK)
            status = kith_builder_finish(b, &f);
        CHECK_STATUS(status, KITH_E_FULL);
        const kith_filter *partial = kith_builder_partial(b, &left, &left_count);
        CHECK_EQ_U64(kith_filter_count(partial), KEYS / 2);
        done -= left_count;
        CHECK_EQ_U64(kith_filter_has_many(partial, digests, done, NULL), done);
        CHECK(!kith_filter_has_digest(partial, digests[done]));
        if (left_count > 0)
            CHECK_EQ_U64(left[0], digests[done]);
        CHECK_STATUS(kith_builder_end_input(b, &keys), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_builder_respec(b, &spec), KITH_E_UNSUPPORTED);
        kith_builder_free(b);
    }
}

TEST(keys_are_hashed_with_the_hash_of_the_spec) {
    kith_filter_spec spec = spec_of("bloom", 0);
    spec.hash.seed = 7;
    kith_key keys[] = {{"one", 3}, {"two", 3}, {"one", 3}, {"three", 5}};
    kith_builder *b = NULL;
    kith_filter *f = NULL, *like = NULL;
    size_t done;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, NULL, &b));
    CHECK_OK(kith_builder_add_keys(b, keys, 4, &done));
    CHECK_EQ_U64(done, 4);
    CHECK_OK(kith_builder_finish(b, &f));
    kith_builder_free(b);
    CHECK_EQ_U64(kith_filter_count(f), 3);
    CHECK(kith_filter_has(f, "three", 5));
    CHECK_OK(kith_builder_open_like(f, KITH_BUILD_SET, NULL, &b));
    CHECK_OK(kith_builder_add_keys(b, keys, 4, NULL));
    CHECK_OK(kith_builder_finish(b, &like));
    kith_builder_free(b);
    check_equal(f, like);
    CHECK_STATUS(kith_builder_open_like(f, KITH_BUILD_MULTISET, NULL, &b), KITH_E_KIND);
    kith_filter_free(like);
    kith_filter_free(f);
}

/* ---- failures ---- */

TEST(invalid_arguments_are_refused_before_anything_is_read) {
    kith_filter_spec spec = spec_of("cuckoo", 0), no_rate = spec, bad_hash = spec;
    kith_build_limits limits = small_limits();
    kith_builder *b = NULL;
    no_rate.rate = 0;
    bad_hash.hash.key[0] = 1;
    CHECK_STATUS(kith_builder_open(&no_rate, KITH_BUILD_SET, NULL, &b), KITH_E_RATE);
    CHECK_STATUS(kith_builder_open(&bad_hash, KITH_BUILD_SET, NULL, &b), KITH_E_HASH);
    CHECK_STATUS(kith_builder_open(&spec, 1u << 9, NULL, &b), KITH_E_ARGUMENT);
    limits.folder = NULL;
    CHECK_STATUS(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b), KITH_E_FOLDER);
    limits.struct_bytes = 1000;
    CHECK_STATUS(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &b), KITH_E_STRUCT);
    spec.kind = "bloom";
    CHECK_STATUS(kith_builder_open(&spec, KITH_BUILD_MULTISET, NULL, &b), KITH_E_KIND);
    CHECK(b == NULL);
}

/* The kinds that builder.h names. */
TEST(a_builder_streams_for_the_kinds_that_the_header_names) {
    static const struct {
        const char *kind, *options;
        bool streams;
    } CASES[] = {
        {"bloom", NULL, true},
        {"blocked", NULL, true},
        {"layers", "inner=bloom", true},
        {"layers", "inner=blocked", true},
        {"counting", NULL, false},
        {"blocked_counting", NULL, false},
        {"cuckoo", NULL, false},
        {"overlap", NULL, false},
        {"layers", "inner=counting", false},
        {"layers", "inner=blocked_counting", false},
        {"layers", "inner=cuckoo", false},
        {"layers", "inner=overlap", false},
        {"fuse", NULL, false},
        {"ribbon", NULL, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (uint64_t capacity = 0; capacity <= 1000; capacity += 1000) {
            kith_filter_spec spec = spec_of(CASES[i].kind, capacity);
            const uint64_t *left;
            size_t left_count;
            kith_builder *b = NULL;
            spec.options = CASES[i].options;
            CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, NULL, &b));
            bool streams = kith_builder_partial(b, &left, &left_count) != NULL;
            if (streams != (CASES[i].streams && capacity != 0))
                CHECK_FAIL("%s %s with capacity %u: it %s", CASES[i].kind,
                           CASES[i].options != NULL ? CASES[i].options : "", (unsigned)capacity,
                           streams ? "streams" : "collects");
            kith_builder_free(b);
        }
    }
}

TEST(a_folder_that_cannot_be_used_is_named_by_the_status) {
    struct folder folder = fresh_folder();
    char path[sizeof folder.path + 16];
    kith_filter_spec spec = spec_of("cuckoo", 0);
    kith_build_limits limits = small_limits();
    size_t n = make_digests(KEYS);
    kith_filter *f = NULL;
    limits.folder = path;
    (void)snprintf(path, sizeof path, "%s/none", folder.path);
    CHECK_STATUS(build(&spec, &limits, n, &f), KITH_E_NO_FILE);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK_STATUS(build(&spec, &limits, n, &f), KITH_E_NO_FILE);
    limits.folder = "/proc";
    CHECK(build(&spec, &limits, n, &f) != KITH_OK);
    CHECK(f == NULL);
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

static unsigned files_in(const char *path) {
    DIR *folder = opendir(path);
    unsigned count = 0;
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* The failure to try after number i of `all`: the first ones, the last ones, and in between one in `step`. */
static uint64_t next_try(uint64_t i, uint64_t all, uint64_t ends, uint64_t step) {
    if (i < ends || all - i < ends)
        return i + 1;
    return all - i < ends + step ? all - ends + 1 : i + step;
}

/* Every write and every read of the temporary file fails in turn. */
TEST(a_temporary_file_that_fails_leaves_nothing_behind) {
    struct folder folder = fresh_folder();
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    kith_filter_spec spec = spec_of("cuckoo", 0);
    kith_build_limits limits = small_limits();
    limits.folder = folder.path;
    spec.allocator = &allocator;
    size_t n = make_digests(KEYS);
    unsigned empty = files_in(folder.path);
    fault.fail_at = 0;
    fault.calls = 0;
    kith_filter *f = NULL;
    CHECK_OK(build(&spec, &limits, n, &f));
    kith_filter_free(f);
    unsigned calls = fault.calls;
    CHECK(calls > 500);
    for (uint64_t i = 1; i <= calls; i = next_try(i, calls, 12, 61)) {
        fault.calls = 0;
        fault.fail_at = (unsigned)i;
        fault.error = i % 2 == 0 ? ENOSPC : EIO;
        f = NULL;
        kith_status status = build(&spec, &limits, n, &f);
        CHECK(status == KITH_E_IO || (status == KITH_E_NO_SPACE && fault.error == ENOSPC));
        CHECK(f == NULL);
        CHECK_EQ_U64(memory.live_blocks, 0);
        CHECK_EQ_U64(files_in(folder.path), empty);
    }
    fault.fail_at = 0;
    remove_folder(&folder);
}

TEST(an_interrupted_call_is_repeated) {
    kith_filter_spec spec = spec_of("cuckoo", 0);
    kith_build_limits limits = small_limits();
    size_t n = make_digests(KEYS);
    for (unsigned i = 1; i < 4; i++) {
        kith_filter *f = NULL;
        fault.calls = 0;
        fault.fail_at = i;
        fault.error = EINTR;
        CHECK_OK(build(&spec, &limits, n, &f));
        CHECK_EQ_U64(kith_filter_count(f), KEYS);
        kith_filter_free(f);
    }
    fault.fail_at = 0;
}

TEST(every_allocation_may_fail) {
    static const char *const KINDS[] = {"cuckoo", "blocked", "counting", "layers", "fuse", "ribbon"};
    uint64_t step = UNDER_SANITIZER ? 499 : 199;
    size_t n = make_digests(KEYS);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        for (int given = 0; given < 2; given++) {
            struct memory memory = {0};
            kith_allocator allocator = memory_allocator(&memory);
            kith_filter_spec spec = spec_of(KINDS[k], given ? KEYS : 0);
            kith_build_limits limits = small_limits();
            spec.allocator = &allocator;
            kith_filter *f = NULL;
            CHECK_OK(build(&spec, &limits, n, &f));
            kith_filter_free(f);
            uint64_t calls = memory.calls;
            for (uint64_t i = 1; i <= calls; i = next_try(i, calls, 12, step)) {
                memory.calls = 0;
                memory.fail_at = i;
                f = NULL;
                kith_status status = build(&spec, &limits, n, &f);
                if (status == KITH_OK)
                    kith_filter_free(f); /* memory to fill by parts was missing: filled in order */
                else
                    CHECK_STATUS(status, KITH_E_MEMORY);
                CHECK_EQ_U64(memory.live_blocks, 0);
            }
        }
    }
}

/* ---- progress ---- */

typedef struct watch {
    unsigned steps, cancel_at;
    uint64_t last;
    kith_build_step step;
} watch;

static bool count_steps(void *context, kith_build_step step, uint64_t done, uint64_t total) {
    watch *w = context;
    CHECK(step == KITH_BUILD_READING || done <= total);
    if (step == w->step && w->steps > 0)
        CHECK(done >= w->last);
    CHECK(step >= w->step);
    w->step = step;
    w->last = done;
    return ++w->steps != w->cancel_at;
}

TEST(a_build_can_be_cancelled_at_every_step) {
    static const char *const KINDS[] = {"cuckoo", "bloom", "fuse", "ribbon"};
    size_t n = make_digests(KEYS);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        for (int given = 0; given < 2; given++) {
            struct memory memory = {0};
            kith_allocator allocator = memory_allocator(&memory);
            kith_filter_spec spec = spec_of(KINDS[k], given ? KEYS : 0);
            kith_build_limits limits = small_limits();
            watch all = {0};
            spec.allocator = &allocator;
            limits.progress = count_steps;
            limits.context = &all;
            kith_filter *f = NULL;
            CHECK_OK(build(&spec, &limits, n, &f));
            kith_filter_free(f);
            CHECK(all.steps > 0);
            for (uint64_t i = 1; i <= all.steps; i = next_try(i, all.steps, 4, 80)) {
                watch one = {.cancel_at = (unsigned)i};
                limits.context = &one;
                f = NULL;
                CHECK_STATUS(build(&spec, &limits, n, &f), KITH_E_CANCELLED);
                CHECK(f == NULL);
                CHECK_EQ_U64(memory.live_blocks, 0);
            }
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
