/* Tests of invalid files: each gives a specific error, none crashes, and none makes the library allocate more memory
 * than the size of the file justifies. (For valid files see good_files.c.)
 *
 * "Resealed" files are those of an attacker: every checksum is right, but the header contains arbitrary values. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <math.h>
#include <sys/resource.h>
#include <time.h>

#include <kith/kith.h>

#include "check.h"
#include "core/bits.h"
#include "core/hash.h"
#include "core/prng.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "folder.h"
#include "unit/memory.h"
#include "unit/small_filter.h"

/* Offsets in the header: see docs/format.md. */
enum {
    AT_VERSION = 8,
    AT_KIND = 10,
    AT_HEADER_BYTES = 12,
    AT_FLAGS = 14,
    AT_STORE_ID = 16,
    AT_HASH = 32,
    AT_RECIPE = 34,
    AT_SEED = 40,
    AT_KEY = 48,
    AT_CAPACITY = 64,
    AT_RATE = 72,
    AT_COUNT = 80,
    AT_FILL = 88,
    AT_BODY_BYTES = 96,
    AT_PARAMS = 104,
    AT_RESERVED = 168,
    AT_CHECKSUM = 184,
};

enum { BLOCK_MAX = 1 << 16 };

/* A sanitizer ends the process when an allocation is too large, unless this option makes it return NULL like the C
 * library. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static uint8_t block[BLOCK_MAX]; /* the file under test */
static size_t block_bytes;

static void make_block(const char *kind, const char *options) {
    kith_filter *filter = new_filter(kind, options);
    const void *bytes;
    CHECK_OK(kith_filter_bytes(filter, &bytes, &block_bytes));
    CHECK(block_bytes <= sizeof block);
    memcpy(block, bytes, block_bytes);
    kith_filter_free(filter);
}

static void reseal_header(void) {
    kithi_store64(block + AT_CHECKSUM, kithi_checksum(block, AT_CHECKSUM));
}

static kith_status view(unsigned flags) {
    kith_filter *const untouched = (kith_filter *)(uintptr_t)block;
    kith_filter *filter = untouched;
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    /* In a heap block of exactly that size, so that a sanitizer detects reads past its end. */
    uint8_t *exact = malloc(block_bytes != 0 ? block_bytes : 1);
    CHECK(exact != NULL);
    memcpy(exact, block, block_bytes);
    kith_status status = kith_filter_view(exact, block_bytes, flags, &allocator, &filter);
    if (status == KITH_OK)
        kith_filter_free(filter);
    else
        CHECK(filter == untouched);
    CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    free(exact);
    return status;
}

static const unsigned FLAGS[] = {KITH_OPEN_DEFAULT, KITH_OPEN_LAZY, KITH_OPEN_COPY, KITH_OPEN_LAZY | KITH_OPEN_COPY};

#define CHECK_ALL_FLAGS(want)                                                                                          \
    for (size_t flag_ = 0; flag_ < LENGTH(FLAGS); flag_++)                                                             \
    CHECK_STATUS(view(FLAGS[flag_]), want)

static void write_file(const char *path, const void *bytes, size_t byte_count) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(byte_count == 0 || fwrite(bytes, byte_count, 1, file) == 1);
    CHECK(fclose(file) == 0);
}

static void open_refuses(const char *path, kith_status want) {
    for (size_t i = 0; i < LENGTH(FLAGS); i++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *filter = NULL;
        int descriptor = lowest_free_descriptor();
        CHECK_STATUS(kith_filter_open(path, FLAGS[i], &allocator, &filter), want);
        CHECK(filter == NULL && memory.live_blocks == 0 && lowest_free_descriptor() == descriptor);
    }
}

TEST(a_file_of_another_format_is_not_kith) {
    static const char TEXT[] = "dear kith, this is a shopping list: bread, butter, milk\n";
    struct folder f = fresh_folder();
    write_file(in(&f, "text"), TEXT, sizeof TEXT - 1);
    open_refuses(in(&f, "text"), KITH_E_NOT_KITH);
    write_file(in(&f, "letter"), "x", 1);
    open_refuses(in(&f, "letter"), KITH_E_NOT_KITH);
    write_file(in(&f, "empty"), "", 0);
    open_refuses(in(&f, "empty"), KITH_E_EMPTY);
    open_refuses(in(&f, "missing"), KITH_E_NO_FILE);
    open_refuses(in(&f, "missing/x"), KITH_E_NO_FILE);
    open_refuses(in(&f, "text/x"), KITH_E_NO_FILE);
    open_refuses("", KITH_E_NO_FILE);
    errno = 0;
    open_refuses(f.path, KITH_E_IO);
    CHECK(errno == EISDIR);

    make_block("bloom", NULL);
    uint8_t first = block[0];
    block[0] = first & 0x7f; /* the eighth bit was lost in the transfer */
    write_file(in(&f, "seven bits"), block, block_bytes);
    open_refuses(in(&f, "seven bits"), KITH_E_NOT_KITH);
    block[0] = first;
    memmove(block + 5, block + 6, block_bytes - 6); /* \r\n became \n */
    write_file(in(&f, "text mode"), block, block_bytes - 1);
    open_refuses(in(&f, "text mode"), KITH_E_NOT_KITH);
    remove_folder(&f);
}

TEST(unknown_flags_are_refused) {
    kith_filter *filter = NULL;
    make_block("bloom", NULL);
    CHECK_STATUS(kith_filter_view(block, block_bytes, 8, NULL, &filter), KITH_E_ARGUMENT);
    CHECK_STATUS(kith_filter_open("/dev/null", 0x80000000u, NULL, &filter), KITH_E_ARGUMENT);
    CHECK_STATUS(kith_filter_view(NULL, 0, 0, NULL, &filter), KITH_E_EMPTY);
    CHECK(filter == NULL);
}

TEST(a_file_truncated_to_any_length_is_refused_as_truncated) {
    struct folder f = fresh_folder();
    EACH_KIND(kind) {
        make_block(kind, NULL);
        size_t whole = block_bytes;
        for (size_t length = 1; length < whole; length++) {
            block_bytes = length;
            for (size_t i = 0; i < LENGTH(FLAGS); i++)
                if (view(FLAGS[i]) != KITH_E_TRUNCATED)
                    CHECK_FAIL("%s cut from %zu to %zu bytes, flags %u: %s", kind, whole, length, FLAGS[i],
                               kith_status_name(view(FLAGS[i])));
            if (length % 97 == 1) {
                write_file(in(&f, "cut"), block, length);
                open_refuses(in(&f, "cut"), KITH_E_TRUNCATED);
            }
        }
        block_bytes = 0;
        CHECK_ALL_FLAGS(KITH_E_EMPTY);
    }
    remove_folder(&f);
}

TEST(extra_bytes_after_a_file_are_refused_as_trailing) {
    struct folder f = fresh_folder();
    EACH_KIND(kind) {
        static const size_t MORE[] = {1, 8, 63, 64, 4096};
        make_block(kind, NULL);
        size_t whole = block_bytes;
        for (size_t i = 0; i < LENGTH(MORE); i++) {
            memset(block + whole, 0, MORE[i]);
            block_bytes = whole + MORE[i];
            CHECK_ALL_FLAGS(KITH_E_TRAILING);
        }
        write_file(in(&f, "longer"), block, block_bytes);
        open_refuses(in(&f, "longer"), KITH_E_TRAILING);
    }
    remove_folder(&f);
}

TEST(a_file_of_another_version_is_refused_as_such_whatever_its_content) {
    static const uint16_t VERSIONS[] = {0, 2, 3, 256, 0xffff};
    EACH_KIND(kind) {
        make_block(kind, NULL);
        for (size_t i = 0; i < LENGTH(VERSIONS); i++) {
            kithi_store16(block + AT_VERSION, VERSIONS[i]);
            CHECK_ALL_FLAGS(KITH_E_VERSION); /* its checksum may be elsewhere */
            reseal_header();
            CHECK_ALL_FLAGS(KITH_E_VERSION);
        }
        block_bytes = 10; /* the least that is needed to read the version */
        CHECK_ALL_FLAGS(KITH_E_VERSION);
    }
}

TEST(a_file_of_an_unknown_kind_is_refused_as_such) {
    static const uint16_t KINDS[] = {0, 8, 99, 0xffff};
    EACH_KIND(kind) {
        make_block(kind, NULL);
        for (size_t i = 0; i < LENGTH(KINDS); i++) {
            if (kithi_kind_by_id(KINDS[i]) != NULL)
                continue;
            kithi_store16(block + AT_KIND, KINDS[i]);
            CHECK_ALL_FLAGS(KITH_E_CORRUPT); /* the header's checksum */
            reseal_header();
            CHECK_ALL_FLAGS(KITH_E_KIND);
        }
    }
}

TEST(reserved_bytes_that_are_set_are_refused_even_when_resealed) {
    static const size_t RANGES[][2] = {{AT_FLAGS, AT_HASH}, {AT_RESERVED, AT_RESERVED + 8}};
    make_block("overlap", NULL);
    for (size_t r = 0; r < LENGTH(RANGES); r++) {
        for (size_t at = RANGES[r][0]; at < RANGES[r][1]; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                bool notes_flag = at == AT_FLAGS && bit == 0; /* the notes that the flag announces are missing */
                block[at] = (uint8_t)(1u << bit);
                reseal_header();
                CHECK_ALL_FLAGS(notes_flag ? KITH_E_TRUNCATED : KITH_E_CORRUPT);
            }
            block[at] = 0;
        }
    }
    kithi_store16(block + AT_HEADER_BYTES, 256);
    reseal_header();
    CHECK_ALL_FLAGS(KITH_E_CORRUPT);
    kithi_store16(block + AT_HEADER_BYTES, KITHI_HEADER_BYTES);
    reseal_header();
    CHECK_ALL_FLAGS(KITH_OK);
}

TEST(an_invalid_hash_is_refused_even_when_resealed) {
    static const uint16_t IDS[] = {2, 3, 255, 256, 0xffff};
    make_block("bloom", NULL);
    for (size_t i = 0; i < LENGTH(IDS); i++) {
        kithi_store16(block + AT_HASH, IDS[i]);
        reseal_header();
        CHECK_ALL_FLAGS(KITH_E_CORRUPT);
    }
    kithi_store16(block + AT_HASH, KITH_HASH_SIPHASH);
    reseal_header();
    CHECK_ALL_FLAGS(KITH_OK); /* a key of zeros is valid */
    kithi_store64(block + AT_SEED, 1);
    reseal_header();
    CHECK_ALL_FLAGS(KITH_E_CORRUPT);
    kithi_store16(block + AT_HASH, KITH_HASH_XXH3);
    reseal_header();
    CHECK_ALL_FLAGS(KITH_OK);
    block[AT_KEY + 15] = 1;
    reseal_header();
    CHECK_ALL_FLAGS(KITH_E_CORRUPT);
}

TEST(a_capacity_of_0_or_an_invalid_rate_is_refused_even_when_resealed) {
    static const double RATES[] = {0, 1, 2, -1, -0.0, NAN, INFINITY, -INFINITY};
    EACH_KIND(kind) {
        make_block(kind, NULL);
        for (size_t i = 0; i < LENGTH(RATES); i++) {
            uint64_t bits;
            memcpy(&bits, &RATES[i], sizeof bits);
            kithi_store64(block + AT_RATE, bits);
            reseal_header();
            CHECK_ALL_FLAGS(KITH_E_CORRUPT);
        }
        make_block(kind, NULL);
        kithi_store64(block + AT_CAPACITY, 0);
        reseal_header();
        CHECK_ALL_FLAGS(KITH_E_CORRUPT);
    }
}

/* ---- an attacker's sizes ---- */

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What the library may allocate: the size of the file, and a little for handles and searches. */
#define MEMORY_MAX (8 * (uint64_t)BLOCK_MAX)

/* Calls every function on whatever was opened. Results do not matter, memory does. */
static void use(kith_filter *filter, const kith_allocator *allocator) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter *clone = NULL, *like = NULL;
    kith_adder *adder = NULL;
    uint64_t digests[16], maybe[1], seen = 0;
    const void *bytes;
    size_t byte_count;
    bool subset;
    kithi_prng prng = {77};
    for (size_t i = 0; i < LENGTH(digests); i++)
        digests[i] = kithi_prng_next(&prng);
    digests[0] = 0;
    digests[1] = UINT64_MAX;
    seen += kith_filter_has_many(filter, digests, LENGTH(digests), maybe);
    seen += kith_filter_copies(filter, "x", 1);
    seen += (uint64_t)kith_filter_stats_of(filter, &stats);
    seen += (uint64_t)kith_filter_plan_of(filter, &plan);
    seen += (uint64_t)kith_filter_check(filter, NULL);
    if (kith_filter_clone(filter, allocator, &clone) == KITH_OK) {
        for (size_t i = 0; i < LENGTH(digests); i++) {
            seen += (uint64_t)kith_filter_add_many(clone, &digests[i], 1, maybe, NULL);
            seen += (uint64_t)kith_filter_remove_many(clone, &digests[i / 2], 1, NULL);
        }
        seen += (uint64_t)kith_filter_merge(clone, filter);
        seen += (uint64_t)kith_filter_intersect(clone, filter);
        seen += (uint64_t)kith_filter_subset(clone, filter, &subset);
        if (kith_adder_open(clone, &adder) == KITH_OK) {
            seen += (uint64_t)kith_adder_add_many(adder, digests, LENGTH(digests), maybe, NULL);
            kith_adder_close(adder);
        }
        seen += (uint64_t)kith_filter_bytes(clone, &bytes, &byte_count);
        seen += (uint64_t)kith_filter_clear(clone);
        kith_filter_free(clone);
    }
    if (kith_filter_create_like(filter, allocator, &like) == KITH_OK) {
        seen += (uint64_t)kith_filter_add_many(like, digests, LENGTH(digests), NULL, NULL);
        kith_filter_free(like);
    }
    for (size_t i = 0; i < LENGTH(digests); i++)
        seen += (uint64_t)kith_filter_add_many(filter, &digests[i], 1, maybe, NULL);
    seen += (uint64_t)kith_filter_clear(filter);
    if (seen == UINT64_MAX) /* keeps the results from being optimised away */
        puts("?");
}

static uint64_t refused, opened;

/* Opens the resealed block with every flag, and calls all functions if that succeeds. */
static void try_block(const char *what, size_t where, uint64_t value) {
    for (size_t i = 0; i < LENGTH(FLAGS); i++) {
        struct memory memory = {.most_bytes = MEMORY_MAX};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *filter = NULL;
        double from = seconds();
        uint8_t *exact = malloc(block_bytes);
        CHECK(exact != NULL);
        memcpy(exact, block, block_bytes);
        kith_status status = kith_filter_view(exact, block_bytes, FLAGS[i], &allocator, &filter);
        if (memory.peak_bytes > 2 * block_bytes + 64 * 1024)
            CHECK_FAIL("%s, field %zu = %" PRIu64 ": opening %zu bytes took %" PRIu64, what, where, value, block_bytes,
                       memory.peak_bytes);
        if (status == KITH_OK) {
            use(filter, &allocator);
            kith_filter_free(filter);
            opened++;
        } else {
            if (status != KITH_E_CORRUPT && status != KITH_E_TRUNCATED && status != KITH_E_TRAILING &&
                status != KITH_E_KIND)
                CHECK_FAIL("%s, field %zu = %" PRIu64 ": %s", what, where, value, kith_status_name(status));
            refused++;
        }
        free(exact);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
        double took = seconds() - from;
        if (took > (UNDER_SANITIZER ? 20 : 2))
            CHECK_FAIL("%s, field %zu = %" PRIu64 ", flags %u: %g seconds", what, where, value, FLAGS[i], took);
    }
}

static const uint64_t HOSTILE[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   63,
                                   64,
                                   65,
                                   UINT64_C(1) << 31,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(1) << 53) - 1,
                                   UINT64_C(1) << 61,
                                   UINT64_C(1) << 62,
                                   UINT64_C(1) << 63,
                                   UINT64_MAX - 1,
                                   UINT64_MAX};

static const struct {
    const char *kind, *options;
} FILES[] = {{"bloom", NULL},
             {"blocked", NULL},
             {"counting", NULL},
             {"blocked_counting", NULL},
             {"cuckoo", NULL},
             {"cuckoo", "b=1"},
             {"bloom", "layout=whole"},
             {"counting", "layout=whole width=3"},
             {"cuckoo", "alternate=simple"},
             {"cuckoo", "alternate=xor insert=walk"},
             {"overlap", NULL},
             {"layers", NULL},
             {"layers", "inner=overlap"},
             {"layers", "inner=cuckoo growth=1"}};

TEST(resealed_sizes_of_any_kind_are_refused_or_harmless) {
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        make_block(FILES[k].kind, FILES[k].options);
        uint8_t good[KITHI_HEADER_BYTES];
        memcpy(good, block, sizeof good);
        refused = opened = 0;
        for (size_t field = AT_CAPACITY; field < AT_RESERVED; field += 8) {
            if (field == AT_RATE)
                continue;
            for (size_t v = 0; v < LENGTH(HOSTILE); v++) {
                memcpy(block, good, sizeof good);
                kithi_store64(block + field, HOSTILE[v]);
                reseal_header();
                try_block(FILES[k].kind, field, HOSTILE[v]);
            }
        }
        CHECK(refused > 50 && opened > 10);
        /* Two fields together: a wrong size that agrees with another wrong field. */
        kithi_prng prng = {k};
        for (unsigned round = 0; round < (check_soak() ? 20000u : UNDER_SANITIZER ? 100u : 500u); round++) {
            memcpy(block, good, sizeof good);
            for (unsigned changes = 2 + (unsigned)kithi_prng_below(&prng, 3); changes > 0; changes--) {
                size_t field = AT_CAPACITY + 8 * (size_t)kithi_prng_below(&prng, (AT_RESERVED - AT_CAPACITY) / 8);
                uint64_t value = HOSTILE[kithi_prng_below(&prng, LENGTH(HOSTILE))];
                if (kithi_prng_below(&prng, 2) == 0) /* close to the real value */
                    value = kithi_load64(good + field) + kithi_prng_below(&prng, 9) - 4;
                if (field != AT_RATE)
                    kithi_store64(block + field, value);
            }
            reseal_header();
            try_block(FILES[k].kind, 1000 + round, 0);
        }
    }
}

TEST(resealed_rates_and_bodies_of_any_kind_are_refused_or_harmless) {
    static const double RATES[] = {0x1p-1074, 1e-300, 1e-18, 1 - 0x1p-53};
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        make_block(FILES[k].kind, FILES[k].options);
        kithi_head head;
        CHECK_OK(kithi_header_read(block, block_bytes, &head));
        for (size_t i = 0; i < LENGTH(RATES); i++) {
            kithi_head hostile = head;
            hostile.rate = RATES[i];
            kithi_block_seal(block, &hostile);
            try_block(FILES[k].kind, AT_RATE, i);
        }
        kithi_prng prng = {k};
        for (unsigned round = 0; round < (UNDER_SANITIZER ? 40u : 200u); round++) {
            uint8_t *body = block + KITHI_HEADER_BYTES;
            if (round < 3)
                memset(body, round == 0 ? 0xff : round == 1 ? 0x11 : 0x80, (size_t)head.body_bytes);
            else
                for (unsigned n = 1 + round % 8; n > 0; n--)
                    body[kithi_prng_below(&prng, head.body_bytes)] = (uint8_t)kithi_prng_next(&prng);
            kithi_block_seal(block, &head);
            try_block(FILES[k].kind, 2000 + round, 0);
        }
    }
}

/* A layers file whose layer is a layers file, and so on: 20,000 levels in 60 MB. The levels are built from the inside
 * out. Only headers are sealed, because layers are opened lazily. */
enum { DEPTH = 20000, DIRECTORY_BYTES = 512, FRONT_BYTES = KITHI_HEADER_BYTES + DIRECTORY_BYTES };

static uint64_t padded(uint64_t bytes) {
    return (bytes + 63) & ~UINT64_C(63);
}

static uint64_t around(uint64_t inner_bytes, uint64_t *body_bytes) {
    uint64_t outer_bytes = 0;
    *body_bytes = DIRECTORY_BYTES + padded(inner_bytes);
    CHECK(kithi_block_bytes(*body_bytes, &outer_bytes));
    return outer_bytes;
}

static int open_nested(const struct folder *f) {
    (void)f;
    kithi_head head;
    uint64_t bytes, body_bytes;
    make_block("layers", NULL);
    CHECK_OK(kithi_header_read(block, block_bytes, &head));
    bytes = block_bytes;
    for (unsigned level = 0; level < DEPTH; level++)
        bytes = around(bytes, &body_bytes);
    uint8_t *nested = calloc(1, (size_t)bytes);
    if (nested == NULL)
        return CHILD_SKIPPED;
    uint8_t *begin = nested + (size_t)DEPTH * FRONT_BYTES;
    memcpy(begin, block, block_bytes);
    bytes = block_bytes;
    while (begin > nested) {
        begin -= FRONT_BYTES;
        kithi_store64(begin + KITHI_HEADER_BYTES, bytes); /* the directory */
        memcpy(begin, block, KITHI_HEADER_BYTES);
        bytes = around(bytes, &body_bytes);
        kithi_store64(begin + AT_BODY_BYTES, body_bytes);
        kithi_store64(begin + AT_CHECKSUM, kithi_checksum(begin, AT_CHECKSUM));
    }
    struct rlimit little = {1 << 20, 1 << 20}; /* a thread may have a stack this small or smaller */
    if (setrlimit(RLIMIT_STACK, &little) != 0)
        return CHILD_SKIPPED;
    kith_filter *filter = NULL;
    kith_status status = kith_filter_view(nested, (size_t)bytes, KITH_OPEN_LAZY, NULL, &filter);
    if (status == KITH_OK)
        kith_filter_free(filter);
    free(nested);
    return status == KITH_E_CORRUPT ? 0 : 2;
}

TEST(deeply_nested_layers_are_refused_before_the_stack_overflows) {
    struct folder f = fresh_folder();
    unsigned result = in_child(open_nested, &f);
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("no memory for a file this deep");
    CHECK_EQ_U64(result, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
