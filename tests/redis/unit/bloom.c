/* RedisBloom's Bloom layout against files that RedisBloom wrote. bloom_hostile.c has what can go wrong. */
#define _GNU_SOURCE
#include "redisbloom_bloom.h"

#include <math.h>

#include "bloom_fixture.h"
#include "unit/memory.h"

static const char *const KEYS[] = {"bf-default",    "bf-expansion1", "bf-expansion2", "bf-expansion4",
                                   "bf-nonscaling", "bf-old",        "bf-empty"};
#define KEY_COUNT (sizeof KEYS / sizeof *KEYS)

static redisbloom_bloom *by_chunks(const char *key, const kith_allocator *allocator) {
    struct chunks chunks = fixture_chunks(key);
    redisbloom_bloom *f = NULL;
    CHECK(redisbloom_bloom_is_header(chunks.chunk[0].bytes, chunks.chunk[0].byte_count));
    CHECK_OK(
        redisbloom_bloom_load_header(chunks.chunk[0].bytes, chunks.chunk[0].byte_count, UINT64_MAX, allocator, &f));
    for (size_t i = 1; i < chunks.count; i++) {
        CHECK(!redisbloom_levels_is_complete(&f->list));
        CHECK_OK(redisbloom_levels_load_chunk(&f->list, chunks.chunk[i].cursor, chunks.chunk[i].bytes,
                                              chunks.chunk[i].byte_count));
    }
    CHECK(redisbloom_levels_is_complete(&f->list));
    free(chunks.content);
    return f;
}

/* ---- Comparing filters
 * -------------------------------------------------------------------------------------------- */

static void check_chunks(const redisbloom_bloom *f, const char *key) {
    struct chunks chunks = fixture_chunks(key);
    unsigned char header[1000];
    CHECK_EQ_U64(redisbloom_bloom_header_bytes(f), chunks.chunk[0].byte_count);
    redisbloom_bloom_header(f, header);
    CHECK(memcmp(header, chunks.chunk[0].bytes, chunks.chunk[0].byte_count) == 0);
    uint64_t cursor = 1;
    for (size_t i = 1; i < chunks.count; i++) {
        const void *bytes;
        size_t byte_count;
        cursor = redisbloom_levels_chunk(&f->list, cursor, &bytes, &byte_count);
        CHECK_EQ_U64(cursor, chunks.chunk[i].cursor);
        CHECK_EQ_U64(byte_count, chunks.chunk[i].byte_count);
        CHECK(memcmp(bytes, chunks.chunk[i].bytes, byte_count) == 0);
    }
    const void *none;
    size_t none_bytes;
    CHECK_EQ_U64(redisbloom_levels_chunk(&f->list, cursor, &none, &none_bytes), 0);
    free(chunks.content);
}

static void check_fields(const redisbloom_bloom *f, const char *key) {
    struct fields from = fixture_fields(key);
    redisbloom_bloom_fields want = read_fields(&from), got = redisbloom_bloom_get_fields(f);
    CHECK(memcmp(&got, &want, sizeof got) == 0);
    for (uint64_t i = 0; i < want.levels; i++) {
        redisbloom_bloom_level level = read_level(&from), mine = redisbloom_bloom_get_level(f, i);
        CHECK_EQ_U64(mine.capacity, level.capacity);
        CHECK(mine.rate == level.rate);
        CHECK_EQ_U64(mine.hashes, level.hashes);
        CHECK(mine.bits_per_entry == level.bits_per_entry);
        CHECK_EQ_U64(mine.bits, level.bits);
        CHECK_EQ_U64(mine.log2_bits, level.log2_bits);
        CHECK_EQ_U64(mine.byte_count, level.byte_count);
        CHECK_EQ_U64(mine.items, level.items);
        CHECK(memcmp(mine.bytes, level.bytes, (size_t)level.byte_count) == 0);
    }
    fields_end(&from);
}

/* A line of KEY.items. */
static void check_item(void *context, char **words, size_t count) {
    const redisbloom_bloom *f = context;
    if (strcmp(words[0], "info") != 0) {
        bool want = strcmp(words[0], "absent") != 0;
        if (redisbloom_bloom_has(f, words[1], strlen(words[1])) != want)
            CHECK_FAIL("%s: has() should be %d", words[1], want);
        return;
    }
    redisbloom_bloom_info info = redisbloom_bloom_get_info(f);
    const char *value = strchr(words[count - 1], '=') + 1;
    uint64_t number = strtoull(value, NULL, 10);
    if (strncmp(words[1], "Capacity", 8) == 0)
        CHECK_EQ_U64(info.capacity, number);
    else if (strncmp(words[1], "Size", 4) == 0)
        CHECK_EQ_U64(info.size, number);
    else if (strncmp(words[1], "Expansion", 9) == 0)
        CHECK(info.scaling ? info.expansion == number : strcmp(value, "None") == 0);
    else if (strncmp(words[3], "filters", 7) == 0)
        CHECK_EQ_U64(info.levels, number);
    else if (strcmp(words[3], "items") == 0)
        CHECK_EQ_U64(info.items, number);
    else
        CHECK_FAIL("unknown field of INFO: %s", words[1]);
}

static void check_all(redisbloom_bloom *f, const char *key) {
    check_chunks(f, key);
    check_fields(f, key);
    fixture_lines(key, "items", check_item, f);
}

TEST(the_same_operations_give_the_same_bytes_as_redisbloom) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        redisbloom_bloom *f = by_operations(KEYS[i]);
        check_all(f, KEYS[i]);
        redisbloom_levels_free(f);
    }
}

TEST(chunks_of_redisbloom_load_and_are_dumped_again) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        redisbloom_bloom *f = by_chunks(KEYS[i], NULL);
        check_all(f, KEYS[i]);
        redisbloom_levels_free(f);
    }
}

TEST(fields_of_redisbloom_load_and_are_saved_again) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        redisbloom_bloom *f = NULL;
        CHECK_OK(load_fields(KEYS[i], &allocator, &f));
        check_all(f, KEYS[i]);
        CHECK_EQ_U64(redisbloom_levels_memory(&f->list), memory.live_bytes);
        redisbloom_levels_free(f);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}

/* Loaded filters go on growing as the original would. */
TEST(loaded_filters_grow_like_created_ones) {
    redisbloom_bloom *made = by_operations("bf-expansion2"), *loaded = by_chunks("bf-expansion2", NULL);
    for (int i = 0; i < 3000; i++) {
        char item[20];
        int bytes = snprintf(item, sizeof item, "more%d", i);
        bool new_to_made = false, new_to_loaded = true;
        CHECK_OK(redisbloom_bloom_add(made, item, (size_t)bytes, UINT64_MAX, &new_to_made));
        CHECK_OK(redisbloom_bloom_add(loaded, item, (size_t)bytes, UINT64_MAX, &new_to_loaded));
        CHECK(new_to_made == new_to_loaded);
    }
    redisbloom_bloom_info info = redisbloom_bloom_get_info(made);
    CHECK_EQ_U64(info.levels, 5);
    unsigned char headers[2][1000];
    redisbloom_bloom_header(made, headers[0]);
    redisbloom_bloom_header(loaded, headers[1]);
    CHECK(memcmp(headers[0], headers[1], redisbloom_bloom_header_bytes(made)) == 0);
    redisbloom_levels_free(made);
    redisbloom_levels_free(loaded);
}

/* ---- The rest of use
 * ---------------------------------------------------------------------------------------------- */

TEST(a_full_filter_that_does_not_scale_still_knows_its_items) {
    redisbloom_bloom *f = by_operations("bf-nonscaling");
    bool was_new = true;
    CHECK_OK(redisbloom_bloom_add(f, "i1", 2, UINT64_MAX, &was_new));
    CHECK(!was_new);
    size_t refused = 0;
    for (int i = 0; i < 100; i++) {
        char item[20];
        int bytes = snprintf(item, sizeof item, "more%d", i);
        kith_status status = redisbloom_bloom_add(f, item, (size_t)bytes, UINT64_MAX, &was_new);
        CHECK(status == KITH_E_FULL || (status == KITH_OK && !was_new));
        refused += status == KITH_E_FULL;
    }
    CHECK(refused > 80);
    check_chunks(f, "bf-nonscaling");
    redisbloom_levels_free(f);
}

TEST(arguments_out_of_range_are_refused) {
    redisbloom_bloom *f = NULL;
    const double rates[] = {0, 1, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        CHECK_STATUS(redisbloom_bloom_create(rates[i], 100, 2, true, UINT64_MAX, NULL, &f), KITH_E_RATE);
    CHECK_STATUS(redisbloom_bloom_create(0.1, 0, 2, true, UINT64_MAX, NULL, &f), KITH_E_CAPACITY);
    CHECK_STATUS(redisbloom_bloom_create(0.1, 1, 0, true, UINT64_MAX, NULL, &f), KITH_E_OPTION_VALUE);
    const uint64_t capacities[] = {UINT64_MAX, UINT64_MAX / 2, UINT64_C(1) << 62, UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++)
        CHECK_STATUS(redisbloom_bloom_create(0.1, capacities[i], 2, true, UINT64_C(1) << 30, NULL, &f),
                     KITH_E_TOO_LARGE);
    CHECK_STATUS(redisbloom_bloom_create(0.1, UINT64_MAX, 2, true, UINT64_MAX, NULL, &f), KITH_E_TOO_LARGE);
    CHECK(f == NULL);
}

/* Growth stops at the limit of bytes, and at rates that no double can express, without a change. */
TEST(growth_has_limits) {
    redisbloom_bloom *f = NULL;
    CHECK_OK(redisbloom_bloom_create(0.01, 100, 2, true, 1000, NULL, &f));
    kith_status status = KITH_OK;
    uint64_t items = 0;
    char item[20];
    bool was_new;
    for (int i = 0; status == KITH_OK; i++) {
        int bytes = snprintf(item, sizeof item, "%d", i);
        status = redisbloom_bloom_add(f, item, (size_t)bytes, 1000, &was_new);
        items += status == KITH_OK && was_new;
    }
    CHECK_STATUS(status, KITH_E_TOO_LARGE);
    CHECK(redisbloom_levels_memory(&f->list) <= 1000);
    CHECK_EQ_U64(redisbloom_bloom_get_info(f).items, items);
    CHECK_EQ_U64(redisbloom_bloom_get_info(f).capacity, items);
    CHECK_OK(redisbloom_bloom_add(f, item, strlen(item), UINT64_MAX, &was_new));
    redisbloom_levels_free(f);

    CHECK_OK(redisbloom_bloom_create(1e-300, 1, 1, true, UINT64_MAX, NULL, &f));
    status = KITH_OK;
    for (int i = 0; status == KITH_OK && i < 1000; i++) {
        int bytes = snprintf(item, sizeof item, "%d", i);
        status = redisbloom_bloom_add(f, item, (size_t)bytes, UINT64_MAX, &was_new);
    }
    CHECK_STATUS(status, KITH_E_TOO_LARGE);
    redisbloom_levels_free(f);
}

struct sink {
    unsigned char bytes[20000];
    size_t byte_count;
};

static void collect(void *context, const void *bytes, size_t byte_count) {
    struct sink *sink = context;
    memcpy(sink->bytes + sink->byte_count, bytes, byte_count);
    sink->byte_count += byte_count;
}

TEST(parts_are_header_and_bits) {
    static struct sink sink;
    redisbloom_bloom *f = by_operations("bf-expansion4");
    redisbloom_bloom_parts(f, collect, &sink);
    struct chunks chunks = fixture_chunks("bf-expansion4");
    size_t at = 0;
    for (size_t i = 0; i < chunks.count; at += chunks.chunk[i++].byte_count)
        CHECK(memcmp(sink.bytes + at, chunks.chunk[i].bytes, chunks.chunk[i].byte_count) == 0);
    CHECK_EQ_U64(sink.byte_count, at);
    free(chunks.content);
    redisbloom_levels_free(f);
}

TEST(a_clone_is_equal_and_independent) {
    redisbloom_bloom *f = by_operations("bf-expansion2"), *copy = NULL;
    copy = redisbloom_levels_clone(&f->list, NULL);
    CHECK(copy != NULL);
    for (int i = 0; i < 2000; i++) {
        char item[20];
        bool was_new;
        int bytes = snprintf(item, sizeof item, "more%d", i);
        CHECK_OK(redisbloom_bloom_add(f, item, (size_t)bytes, UINT64_MAX, &was_new));
    }
    redisbloom_levels_free(f);
    check_all(copy, "bf-expansion2");
    redisbloom_levels_free(copy);
}

static void *move_every_second(void *context, void *memory, size_t bytes) {
    uint64_t *calls = context;
    if ((*calls)++ % 2 == 0)
        return NULL;
    void *moved = malloc(bytes);
    memcpy(moved, memory, bytes);
    free(memory);
    return moved;
}

TEST(relocation_moves_every_piece) {
    for (uint64_t first = 0; first < 2; first++) {
        redisbloom_bloom *f = by_operations("bf-expansion2");
        uint64_t calls = first;
        f = redisbloom_levels_relocate(&f->list, move_every_second, &calls);
        CHECK_EQ_U64(calls - first, 6); /* the handle, the list of levels, four levels */
        check_all(f, "bf-expansion2");
        redisbloom_levels_free(f);
    }
}

TEST(chunks_must_be_in_order_and_fit) {
    struct chunks c = fixture_chunks("bf-expansion2");
    redisbloom_bloom *f = NULL, *copy = NULL;
    const struct chunk *head = &c.chunk[0], *first = &c.chunk[1], *second = &c.chunk[2];
    CHECK_OK(redisbloom_bloom_load_header(head->bytes, head->byte_count, UINT64_MAX, NULL, &f));
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, second->cursor, second->bytes, second->byte_count),
                 KITH_E_ARGUMENT);
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, first->cursor, first->bytes, 0), KITH_E_ARGUMENT);
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, 0, first->bytes, first->byte_count), KITH_E_ARGUMENT);
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, 5, first->bytes, first->byte_count), KITH_E_ARGUMENT);
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, UINT64_MAX, first->bytes, first->byte_count), KITH_E_TRAILING);
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, first->cursor + 9, first->bytes, first->byte_count + 9),
                 KITH_E_TRAILING);
    CHECK_EQ_U64(f->list.loaded_bytes, 0);
    CHECK_OK(redisbloom_levels_load_chunk(&f->list, 11, first->bytes, 10));
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, 11 + first->byte_count, first->bytes, first->byte_count),
                 KITH_E_TRAILING);
    CHECK_OK(redisbloom_levels_load_chunk(&f->list, first->cursor, first->bytes + 10, first->byte_count - 10));
    CHECK_STATUS(redisbloom_levels_load_chunk(&f->list, first->cursor, first->bytes, first->byte_count),
                 KITH_E_ARGUMENT);
    CHECK_EQ_U64(f->list.loaded_bytes, first->byte_count);

    /* A filter that is loading can be copied, and goes on loading. */
    copy = redisbloom_levels_clone(&f->list, NULL);
    CHECK(copy != NULL);
    redisbloom_levels_free(f);
    CHECK(!redisbloom_levels_is_complete(&copy->list));
    for (size_t i = 2; i < c.count; i++)
        CHECK_OK(redisbloom_levels_load_chunk(&copy->list, c.chunk[i].cursor, c.chunk[i].bytes, c.chunk[i].byte_count));
    CHECK_STATUS(redisbloom_levels_load_chunk(&copy->list, first->cursor, first->bytes, first->byte_count),
                 KITH_E_ARGUMENT);
    check_all(copy, "bf-expansion2");
    redisbloom_levels_free(copy);
    free(c.content);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
