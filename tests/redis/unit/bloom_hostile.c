/* RedisBloom's Bloom layout with hostile headers and fields, and with failing allocations. */
#define _GNU_SOURCE
#include "redisbloom_bloom.h"

#include <math.h>

#include "bloom_fixture.h"
#include "unit/memory.h"

#define HEAD_BYTES 20
#define LEVEL_BYTES 53

TEST(headers_of_the_wrong_length_are_refused) {
    struct chunks c = fixture_chunks("bf-expansion2");
    redisbloom_bloom *f = NULL;
    unsigned char longer[300] = {0};
    size_t bytes = c.chunk[0].byte_count;
    memcpy(longer, c.chunk[0].bytes, bytes);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char *shorter = malloc(i + 1); /* so that a sanitizer sees a read past the end */
        memcpy(shorter, longer, i);
        unsigned char *exact = realloc(shorter, i == 0 ? 1 : i);
        CHECK_STATUS(redisbloom_bloom_load_header(exact, i, UINT64_MAX, NULL, &f), KITH_E_TRUNCATED);
        CHECK(!redisbloom_bloom_is_header(exact, i));
        free(exact);
    }
    for (size_t i = bytes + 1; i < sizeof longer; i++)
        CHECK_STATUS(redisbloom_bloom_load_header(longer, i, UINT64_MAX, NULL, &f), KITH_E_TRAILING);
    free(c.content);
}

static void put(unsigned char *to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Loads a header. If that succeeds, loads bytes of 0xff and uses the filter: nothing may go wrong then. */
static kith_status load_and_use(const unsigned char *header, size_t bytes) {
    struct memory memory = {.most_bytes = 1 << 20};
    kith_allocator allocator = memory_allocator(&memory);
    redisbloom_bloom *f = NULL;
    kith_status status = redisbloom_bloom_load_header(header, bytes, 1 << 20, &allocator, &f);
    if (status == KITH_OK) {
        static unsigned char ones[1 << 20];
        memset(ones, 0xff, sizeof ones);
        const void *chunk;
        size_t chunk_bytes;
        for (uint64_t cursor = 1, next; (next = redisbloom_levels_chunk(&f->list, cursor, &chunk, &chunk_bytes)) != 0;
             cursor = next)
            CHECK_OK(redisbloom_levels_load_chunk(&f->list, next, ones, chunk_bytes));
        CHECK(redisbloom_bloom_has(f, "any", 3));
        redisbloom_levels_free(f);
        CHECK_OK(redisbloom_bloom_load_header(header, bytes, 1 << 20, &allocator, &f));
        for (uint64_t cursor = 1, next; (next = redisbloom_levels_chunk(&f->list, cursor, &chunk, &chunk_bytes)) != 0;
             cursor = next) {
            memset(ones, 0, chunk_bytes);
            CHECK_OK(redisbloom_levels_load_chunk(&f->list, next, ones, chunk_bytes));
        }
        for (int i = 0; i < 1000; i++) {
            bool was_new;
            (void)!redisbloom_bloom_add(f, &i, sizeof i, 1 << 20, &was_new);
        }
        redisbloom_levels_free(f);
    }
    CHECK_EQ_U64(memory.live_blocks, 0);
    return status;
}

/* Fields: offset and size in the header, and the values that must be refused. */
TEST(extreme_values_in_a_header_are_refused) {
    struct chunks c = fixture_chunks("bf-expansion2");
    const size_t bytes = c.chunk[0].byte_count;
    unsigned char header[300];
    const struct {
        size_t at;
        unsigned size;
    } fields[] = {{0, 8},  {8, 4},  {12, 4},  {16, 4},  {20, 8},  {28, 8},  {36, 8},  {44, 8},  {52, 8},  {60, 4},
                  {64, 8}, {72, 1}, {179, 8}, {187, 8}, {195, 8}, {203, 8}, {211, 8}, {219, 4}, {223, 8}, {231, 1}};
    const uint64_t extremes[] = {0,
                                 UINT64_MAX,
                                 UINT64_MAX - 1,
                                 UINT64_C(1) << 63,
                                 (UINT64_C(1) << 63) - 1,
                                 UINT64_C(1) << 61,
                                 UINT64_C(1) << 32,
                                 (UINT64_C(1) << 32) - 1,
                                 UINT64_C(1) << 31,
                                 (UINT64_C(1) << 61) - 7,
                                 bits_of(NAN),
                                 bits_of(INFINITY),
                                 bits_of(-1),
                                 bits_of(1),
                                 bits_of(1e308),
                                 bits_of(5e-324)};
    CHECK_OK(load_and_use(c.chunk[0].bytes, bytes));
    unsigned refused = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t j = 0; j < sizeof extremes / sizeof *extremes; j++) {
            memcpy(header, c.chunk[0].bytes, bytes);
            put(header + fields[i].at, extremes[j], fields[i].size);
            kith_status status = load_and_use(header, bytes);
            refused += status != KITH_OK;
            /* The growth and log2_bits 0 can be extreme and be loaded. */
            bool lenient = fields[i].at == 16 || (fields[i].at - HEAD_BYTES) % LEVEL_BYTES == 52;
            bool same = memcmp(header, c.chunk[0].bytes, bytes) == 0;
            if (status == KITH_OK && !lenient && !same && !(fields[i].at == 12))
                CHECK_FAIL("field at %zu with %" PRIx64 " was loaded", fields[i].at, extremes[j]);
        }
    CHECK(refused > 200);
    free(c.content);
}

/* A level without bits, and one whose bits don't fit its bytes, would be read past the end. */
TEST(bits_must_fit_bytes) {
    struct chunks c = fixture_chunks("bf-default");
    unsigned char header[HEAD_BYTES + LEVEL_BYTES];
    static const struct {
        uint64_t bytes, bits;
        unsigned char log2_bits;
        kith_status status;
    } cases[] = {{144, 1152, 0, KITH_OK},         {144, 1153, 0, KITH_E_CORRUPT},
                 {144, 1151, 0, KITH_E_CORRUPT},  {144, 1144, 0, KITH_E_CORRUPT},
                 {0, 0, 0, KITH_E_CORRUPT},       {256, 2048, 11, KITH_OK},
                 {128, 1024, 0, KITH_E_CORRUPT}, /* too few for the capacity */
                 {128, 1024, 11, KITH_E_CORRUPT}, {128, 1024, 9, KITH_E_CORRUPT},
                 {128, 1024, 64, KITH_E_CORRUPT}, {UINT64_C(1) << 61, 0, 0, KITH_E_CORRUPT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(header, c.chunk[0].bytes, sizeof header);
        put(header + 20, cases[i].bytes, 8);
        put(header + 28, cases[i].bits, 8);
        header[72] = cases[i].log2_bits;
        CHECK_STATUS(load_and_use(header, sizeof header), cases[i].status);
    }
    free(c.content);
}

/* As many items as the filter has, but more than the level can have. */
TEST(a_level_has_no_more_items_than_its_capacity) {
    struct chunks c = fixture_chunks("bf-default");
    unsigned char header[HEAD_BYTES + LEVEL_BYTES];
    memcpy(header, c.chunk[0].bytes, sizeof header);
    for (uint64_t items = 100; items <= 101; items++) {
        put(header, items, 8);
        put(header + 36, items, 8);
        CHECK_STATUS(load_and_use(header, sizeof header), items == 100 ? KITH_OK : KITH_E_CORRUPT);
    }
    free(c.content);
}

/* Many levels whose sizes add up to more than 2^64 bytes. */
TEST(sums_of_sizes_do_not_overflow) {
    struct chunks c = fixture_chunks("bf-default");
    enum { LEVELS = 100 };
    unsigned char header[HEAD_BYTES + LEVELS * LEVEL_BYTES];
    memcpy(header, c.chunk[0].bytes, HEAD_BYTES + LEVEL_BYTES);
    put(header, 0, 8);
    put(header + 8, LEVELS, 4);
    put(header + 36, 0, 8);
    put(header + 20, UINT64_C(1) << 58, 8);
    put(header + 28, UINT64_C(1) << 61, 8);
    for (size_t i = 1; i < LEVELS; i++)
        memcpy(header + HEAD_BYTES + i * LEVEL_BYTES, header + HEAD_BYTES, LEVEL_BYTES);
    redisbloom_bloom *f = NULL;
    CHECK_STATUS(redisbloom_bloom_load_header(header, sizeof header, UINT64_MAX, NULL, &f), KITH_E_TOO_LARGE);
    put(header + 8, 1, 4);
    CHECK_STATUS(redisbloom_bloom_load_header(header, HEAD_BYTES + LEVEL_BYTES, UINT64_C(1) << 40, NULL, &f),
                 KITH_E_TOO_LARGE);
    free(c.content);
}

TEST(fields_that_do_not_add_up_are_refused) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    struct fields from = fixture_fields("bf-default");
    const redisbloom_bloom_fields fields = read_fields(&from);
    const redisbloom_bloom_level level = read_level(&from);
    redisbloom_bloom_fields bad[] = {fields, fields, fields, fields};
    bad[0].levels = 0;
    bad[1].options = UINT64_C(1) << 32 | 5;
    bad[2].growth = UINT64_C(1) << 32;
    bad[3].growth = 0;
    redisbloom_bloom *f = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STATUS(redisbloom_bloom_load_begin(&bad[i], UINT64_MAX, &allocator, &f), KITH_E_CORRUPT);

    /* levels that are missing, that are too many, and whose items are not as many as the filter's */
    redisbloom_bloom_fields many = fields;
    many.levels = UINT64_MAX;
    CHECK_OK(redisbloom_bloom_load_begin(&many, UINT64_MAX, &allocator, &f));
    CHECK_STATUS(redisbloom_bloom_load_end(f), KITH_E_TRUNCATED);
    redisbloom_levels_free(f);
    redisbloom_bloom_fields other = fields;
    other.items++;
    CHECK_OK(redisbloom_bloom_load_begin(&other, UINT64_MAX, &allocator, &f));
    redisbloom_bloom_level copy = level;
    copy.bytes = memory_allocate(&memory, (size_t)level.byte_count, 16);
    redisbloom_bloom_level damaged = copy;
    damaged.hashes = UINT64_C(1) << 32 | damaged.hashes;
    CHECK_STATUS(redisbloom_bloom_load_append(f, &damaged, UINT64_MAX), KITH_E_CORRUPT);
    CHECK_STATUS(redisbloom_bloom_load_append(f, &copy, 200), KITH_E_TOO_LARGE);
    CHECK_OK(redisbloom_bloom_load_append(f, &copy, UINT64_MAX));
    CHECK_STATUS(redisbloom_bloom_load_append(f, &copy, UINT64_MAX), KITH_E_CORRUPT);
    CHECK_STATUS(redisbloom_bloom_load_end(f), KITH_E_CORRUPT);
    CHECK(!redisbloom_levels_is_complete(&f->list));
    redisbloom_levels_free(f);
    CHECK_EQ_U64(memory.live_blocks, 0);
    free(from.content);
}

/* ---- Allocation failures
 * ------------------------------------------------------------------------------------------ */

static kith_status clone(const redisbloom_bloom *original, const kith_allocator *allocator, redisbloom_bloom **copy) {
    *copy = redisbloom_levels_clone(&original->list, allocator);
    return *copy != NULL ? KITH_OK : KITH_E_MEMORY;
}

TEST(failed_allocations_change_nothing) {
    struct chunks c = fixture_chunks("bf-expansion2");
    for (int call = 0; call < 4; call++) {
        kith_status status = KITH_E_MEMORY;
        for (uint64_t fail_at = 1; status == KITH_E_MEMORY; fail_at++) {
            struct memory memory = {.fail_at = fail_at};
            kith_allocator allocator = memory_allocator(&memory);
            redisbloom_bloom *f = NULL, *original = by_operations("bf-expansion2");
            if (call == 0)
                status = redisbloom_bloom_create(0.01, 100, 2, true, UINT64_MAX, &allocator, &f);
            else if (call == 1)
                status =
                    redisbloom_bloom_load_header(c.chunk[0].bytes, c.chunk[0].byte_count, UINT64_MAX, &allocator, &f);
            else if (call == 2)
                status = clone(original, &allocator, &f);
            else
                status = load_fields("bf-expansion2", &allocator, &f);
            if (status == KITH_OK) {
                CHECK(fail_at > 2);
                redisbloom_levels_free(f);
            }
            CHECK_EQ_U64(memory.live_blocks, 0);
            redisbloom_levels_free(original);
        }
        CHECK_OK(status);
    }
    free(c.content);
}

TEST(growth_without_memory_changes_nothing) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    redisbloom_bloom *f = NULL;
    CHECK_OK(redisbloom_bloom_create(0.01, 10, 2, true, UINT64_MAX, &allocator, &f));
    unsigned failures = 0;
    for (int i = 0; i < 500; i++) {
        kith_status status = KITH_E_MEMORY;
        for (uint64_t fail = 1; status == KITH_E_MEMORY; fail++) {
            unsigned char before[1000], after[1000];
            uint64_t bytes_before = memory.live_bytes;
            bool was_new = true;
            redisbloom_bloom_header(f, before);
            memory.fail_at = memory.calls + fail;
            status = redisbloom_bloom_add(f, &i, sizeof i, UINT64_MAX, &was_new);
            if (status == KITH_E_MEMORY) {
                failures++;
                redisbloom_bloom_header(f, after);
                CHECK(memcmp(before, after, redisbloom_bloom_header_bytes(f)) == 0);
                CHECK_EQ_U64(memory.live_bytes, bytes_before);
                CHECK(!redisbloom_bloom_has(f, &i, sizeof i));
            }
        }
        CHECK_OK(status);
    }
    CHECK(failures >= 8); /* five growths, three of them with a longer list of levels */
    CHECK_EQ_U64(redisbloom_levels_memory(&f->list), memory.live_bytes);
    redisbloom_levels_free(f);
    CHECK_EQ_U64(memory.live_blocks, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
