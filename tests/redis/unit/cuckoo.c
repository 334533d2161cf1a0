/* RedisBloom's cuckoo layout against files that RedisBloom wrote, hostile headers and failing allocations. */
#define _GNU_SOURCE
#include "redisbloom_cuckoo.h"

#include "fixture.h"
#include "unit/memory.h"

static const char *const KEYS[] = {"cf-default",   "cf-bucket1", "cf-bucket2", "cf-bucket4",
                                   "cf-compacted", "cf-holes",   "cf-full",    "cf-empty"};
#define KEY_COUNT (sizeof KEYS / sizeof *KEYS)
#define MAX_EXPANSIONS 32

/* ---- Making filters
 * ----------------------------------------------------------------------------------------------- */

/* Runs a line of KEY.operations. */
static void operate(void *context, char **words, size_t count) {
    redisbloom_cuckoo **f = context;
    const char *name = words[0], *item = count > 2 ? words[2] : NULL;
    if (strcmp(name, "CF.RESERVE") == 0) {
        CHECK_OK(redisbloom_cuckoo_create(strtoull(words[2], NULL, 10), (uint32_t)strtoul(words[4], NULL, 10),
                                          (uint32_t)strtoul(words[6], NULL, 10), (uint32_t)strtoul(words[8], NULL, 10),
                                          UINT64_MAX, NULL, f));
    } else if (strcmp(name, "CF.INSERT") == 0) {
        if (*f == NULL) /* the defaults of RedisBloom */
            CHECK_OK(redisbloom_cuckoo_create(1024, 2, 20, 1, UINT64_MAX, NULL, f));
        for (size_t i = 3; i < count; i++) {
            kith_status status = redisbloom_cuckoo_add(*f, words[i], strlen(words[i]), MAX_EXPANSIONS, UINT64_MAX);
            CHECK(status == KITH_OK || (status == KITH_E_FULL && redisbloom_cuckoo_get_info(*f).expansion == 0));
        }
    } else if (strcmp(name, "CF.ADD") == 0) {
        CHECK_OK(redisbloom_cuckoo_add(*f, item, strlen(item), MAX_EXPANSIONS, UINT64_MAX));
    } else if (strcmp(name, "CF.ADDNX") == 0) {
        bool was_new = true;
        CHECK_OK(redisbloom_cuckoo_add_new(*f, item, strlen(item), MAX_EXPANSIONS, UINT64_MAX, &was_new));
        CHECK(!was_new);
    } else if (strcmp(name, "CF.DEL") == 0) {
        redisbloom_cuckoo_remove(*f, item, strlen(item));
    } else if (strcmp(name, "CF.COMPACT") == 0) {
        redisbloom_cuckoo_compact(*f);
    } else {
        CHECK_FAIL("unknown operation %s", name);
    }
}

static redisbloom_cuckoo *by_operations(const char *key) {
    redisbloom_cuckoo *f = NULL;
    fixture_lines(key, "operations", operate, &f);
    return f;
}

static redisbloom_cuckoo_fields read_fields(struct fields *from) {
    redisbloom_cuckoo_fields fields;
    fields.filters = field_u64(from);
    fields.buckets = field_u64(from);
    fields.items = field_u64(from);
    fields.deletes = field_u64(from);
    fields.bucket_size = field_u64(from);
    fields.max_iterations = field_u64(from);
    fields.expansion = field_u64(from);
    return fields;
}

/* level.slots points into the fixture. */
static redisbloom_cuckoo_level read_level(struct fields *from) {
    redisbloom_cuckoo_level level;
    level.buckets = field_u64(from);
    level.slots = (unsigned char *)field_string(from, &level.byte_count);
    return level;
}

/* KITH_OK, or the status of the step that failed; everything is freed then. */
static kith_status load_fields(const char *key, const kith_allocator *allocator, redisbloom_cuckoo **filter) {
    struct fields from = fixture_fields(key);
    redisbloom_cuckoo_fields fields = read_fields(&from);
    kith_status status = redisbloom_cuckoo_load_begin(&fields, UINT64_MAX, allocator, filter);
    if (status != KITH_OK) {
        free(from.content);
        return status;
    }
    for (uint64_t i = 0; i < fields.filters && status == KITH_OK; i++) {
        redisbloom_cuckoo_level level = read_level(&from);
        unsigned char *slots = allocator->allocate(allocator->context, (size_t)level.byte_count, 16);
        if (slots == NULL) {
            status = KITH_E_MEMORY;
            break;
        }
        memcpy(slots, level.slots, (size_t)level.byte_count);
        level.slots = slots;
        status = redisbloom_cuckoo_load_append(*filter, &level, UINT64_MAX);
        if (status != KITH_OK)
            allocator->release(allocator->context, slots, (size_t)level.byte_count);
    }
    if (status == KITH_OK) {
        fields_end(&from);
        status = redisbloom_cuckoo_load_end(*filter);
    } else {
        free(from.content);
    }
    if (status != KITH_OK)
        redisbloom_levels_free(*filter);
    return status;
}

/* ---- Comparing filters
 * -------------------------------------------------------------------------------------------- */

/* SCANDUMP has no chunks of an empty filter; its slots are compared by check_fields(). */
static void check_chunks(const redisbloom_cuckoo *f, const char *key) {
    struct chunks chunks = fixture_chunks(key);
    unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES];
    redisbloom_cuckoo_header(f, header);
    if (chunks.count > 0)
        CHECK(memcmp(header, chunks.chunk[0].bytes, sizeof header) == 0);
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
    if (chunks.count > 0)
        CHECK_EQ_U64(redisbloom_levels_chunk(&f->list, cursor, &none, &none_bytes), 0);
    free(chunks.content);
}

static void check_fields(const redisbloom_cuckoo *f, const char *key) {
    struct fields from = fixture_fields(key);
    redisbloom_cuckoo_fields want = read_fields(&from), got = redisbloom_cuckoo_get_fields(f);
    CHECK(memcmp(&got, &want, sizeof got) == 0);
    for (uint64_t i = 0; i < want.filters; i++) {
        redisbloom_cuckoo_level level = read_level(&from), mine = redisbloom_cuckoo_get_level(f, i);
        CHECK_EQ_U64(mine.buckets, level.buckets);
        CHECK_EQ_U64(mine.byte_count, level.byte_count);
        CHECK(memcmp(mine.slots, level.slots, (size_t)level.byte_count) == 0);
    }
    fields_end(&from);
}

static void check_info(const redisbloom_cuckoo *f, char **words, size_t count) {
    redisbloom_cuckoo_info info = redisbloom_cuckoo_get_info(f);
    const struct {
        const char *first, *last;
        uint64_t value;
    } fields[] = {{"Size", "Size", info.size},           {"Number", "buckets", info.buckets},
                  {"Number", "filters", info.filters},   {"Number", "inserted", info.items},
                  {"Number", "deleted", info.deletes},   {"Bucket", "size", info.bucket_size},
                  {"Expansion", "rate", info.expansion}, {"Max", "iterations", info.max_iterations}};
    char *value = strchr(words[count - 1], '=');
    *value++ = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(words[1], fields[i].first) == 0 && strcmp(words[count - 1], fields[i].last) == 0) {
            if (strtoull(value, NULL, 10) != fields[i].value)
                CHECK_FAIL("%s %s is %" PRIu64 ", not %s", words[1], words[count - 1], fields[i].value, value);
            return;
        }
    CHECK_FAIL("unknown field of INFO: %s", words[1]);
}

/* A line of KEY.items. */
static void check_item(void *context, char **words, size_t count) {
    const redisbloom_cuckoo *f = context;
    if (strcmp(words[0], "info") == 0) {
        check_info(f, words, count);
    } else if (strcmp(words[0], "copies") == 0) {
        CHECK_EQ_U64(redisbloom_cuckoo_count(f, words[2], strlen(words[2])), strtoull(words[1], NULL, 10));
    } else {
        bool want = strcmp(words[0], "absent") != 0;
        if (redisbloom_cuckoo_has(f, words[1], strlen(words[1])) != want)
            CHECK_FAIL("%s: has() should be %d", words[1], want);
    }
}

static void check_all(redisbloom_cuckoo *f, const char *key) {
    check_chunks(f, key);
    check_fields(f, key);
    fixture_lines(key, "items", check_item, f);
}

TEST(the_same_operations_give_the_same_bytes_as_redisbloom) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        redisbloom_cuckoo *f = by_operations(KEYS[i]);
        check_all(f, KEYS[i]);
        redisbloom_levels_free(f);
    }
}

TEST(chunks_of_redisbloom_load_and_are_dumped_again) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct chunks c = fixture_chunks(KEYS[i]);
        redisbloom_cuckoo *f = NULL;
        if (c.count > 0) {
            CHECK_OK(redisbloom_cuckoo_load_header(c.chunk[0].bytes, c.chunk[0].byte_count, UINT64_MAX, NULL, &f));
            for (size_t j = 1; j < c.count; j++) {
                CHECK(!redisbloom_levels_is_complete(&f->list));
                CHECK_OK(
                    redisbloom_levels_load_chunk(&f->list, c.chunk[j].cursor, c.chunk[j].bytes, c.chunk[j].byte_count));
            }
            CHECK(redisbloom_levels_is_complete(&f->list));
            check_all(f, KEYS[i]);
        }
        redisbloom_levels_free(f);
        free(c.content);
    }
}

TEST(fields_of_redisbloom_load_and_are_saved_again) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        redisbloom_cuckoo *f = NULL;
        CHECK_OK(load_fields(KEYS[i], &allocator, &f));
        check_all(f, KEYS[i]);
        CHECK_EQ_U64(redisbloom_levels_memory(&f->list), memory.live_bytes);
        redisbloom_levels_free(f);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}

/* ---- The rest of use
 * ---------------------------------------------------------------------------------------------- */

/* Every slot of a filter, after its header. To be freed. */
static unsigned char *snapshot(const redisbloom_cuckoo *f, size_t *bytes) {
    unsigned char *all = malloc(REDISBLOOM_CUCKOO_HEADER_BYTES + (size_t)redisbloom_cuckoo_get_info(f).size);
    redisbloom_cuckoo_header(f, all);
    *bytes = REDISBLOOM_CUCKOO_HEADER_BYTES;
    for (uint64_t i = 0; i < redisbloom_cuckoo_get_info(f).filters; i++) {
        redisbloom_cuckoo_level level = redisbloom_cuckoo_get_level(f, i);
        memcpy(all + *bytes, level.slots, (size_t)level.byte_count);
        *bytes += (size_t)level.byte_count;
    }
    return all;
}

/* Failed kicks are undone: a filter that can't take an item keeps every byte. */
static void check_refusals(redisbloom_cuckoo *f, uint64_t max_expansions, uint64_t most_bytes, kith_status want) {
    size_t bytes, bytes_after;
    unsigned char *before = snapshot(f, &bytes);
    unsigned refused = 0;
    for (int i = 0; i < 2000; i++) {
        redisbloom_cuckoo *copy = NULL;
        copy = redisbloom_levels_clone(&f->list, NULL);
        CHECK(copy != NULL);
        kith_status status = redisbloom_cuckoo_add(copy, &i, sizeof i, max_expansions, most_bytes);
        if (status != KITH_OK) {
            CHECK_STATUS(status, want);
            unsigned char *after = snapshot(copy, &bytes_after);
            CHECK(bytes == bytes_after && memcmp(before, after, bytes) == 0);
            free(after);
            refused++;
        }
        redisbloom_levels_free(copy);
    }
    CHECK(refused > 100);
    free(before);
}

TEST(a_refused_item_changes_nothing) {
    redisbloom_cuckoo *f = by_operations("cf-full");
    bool was_new = true;
    CHECK_OK(redisbloom_cuckoo_add_new(f, "i1", 2, MAX_EXPANSIONS, UINT64_MAX, &was_new));
    CHECK(!was_new);
    check_refusals(f, MAX_EXPANSIONS, UINT64_MAX, KITH_E_FULL);
    redisbloom_levels_free(f);
    f = NULL;
    CHECK_OK(redisbloom_cuckoo_create(64, 2, 7, 2, UINT64_MAX, NULL, &f));
    for (int i = 10000; redisbloom_cuckoo_add(f, &i, sizeof i, 2, UINT64_MAX) == KITH_OK; i++)
        ;
    CHECK_EQ_U64(redisbloom_cuckoo_get_info(f).filters, 2);
    check_refusals(f, 2, UINT64_MAX, KITH_E_FULL);
    check_refusals(f, 3, redisbloom_levels_memory(&f->list), KITH_E_TOO_LARGE);
    redisbloom_levels_free(f);
}

TEST(arguments_out_of_range_are_refused) {
    redisbloom_cuckoo *f = NULL;
    CHECK_STATUS(redisbloom_cuckoo_create(0, 1, 20, 1, UINT64_MAX, NULL, &f), KITH_E_CAPACITY);
    CHECK_STATUS(redisbloom_cuckoo_create(1000, 0, 20, 1, UINT64_MAX, NULL, &f), KITH_E_OPTION_VALUE);
    CHECK_STATUS(redisbloom_cuckoo_create(1000, 256, 20, 1, UINT64_MAX, NULL, &f), KITH_E_OPTION_VALUE);
    CHECK_STATUS(redisbloom_cuckoo_create(1000, 2, 0, 1, UINT64_MAX, NULL, &f), KITH_E_OPTION_VALUE);
    CHECK_STATUS(redisbloom_cuckoo_create(1000, 2, 65536, 1, UINT64_MAX, NULL, &f), KITH_E_OPTION_VALUE);
    CHECK_STATUS(redisbloom_cuckoo_create(1000, 2, 20, 32769, UINT64_MAX, NULL, &f), KITH_E_OPTION_VALUE);
    CHECK_STATUS(redisbloom_cuckoo_create(UINT64_MAX, 2, 20, 1, UINT64_MAX, NULL, &f), KITH_E_TOO_LARGE);
    CHECK_STATUS(redisbloom_cuckoo_create(UINT64_C(1) << 62, 1, 20, 1, UINT64_MAX, NULL, &f), KITH_E_TOO_LARGE);
    CHECK_STATUS(redisbloom_cuckoo_create(1 << 20, 2, 20, 1, 1 << 20, NULL, &f), KITH_E_TOO_LARGE);
    CHECK(f == NULL);
    /* A capacity below one bucket still makes one. */
    CHECK_OK(redisbloom_cuckoo_create(1, 255, 20, 1, UINT64_MAX, NULL, &f));
    CHECK_EQ_U64(redisbloom_cuckoo_get_info(f).buckets, 1);
    redisbloom_levels_free(f);
    /* Growth whose size can't be expressed. */
    CHECK_OK(redisbloom_cuckoo_create(2, 1, 1, 32768, UINT64_MAX, NULL, &f));
    kith_status status = KITH_OK;
    for (int i = 0; status == KITH_OK; i++)
        status = redisbloom_cuckoo_add(f, "same", 4, UINT64_MAX, 1 << 20);
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

TEST(parts_are_header_and_slots) {
    static struct sink sink;
    redisbloom_cuckoo *f = by_operations("cf-bucket4");
    redisbloom_cuckoo_parts(f, collect, &sink);
    size_t bytes;
    unsigned char *all = snapshot(f, &bytes);
    CHECK(sink.byte_count == bytes && memcmp(sink.bytes, all, bytes) == 0);
    free(all);
    redisbloom_levels_free(f);
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
        redisbloom_cuckoo *f = by_operations("cf-bucket4");
        uint64_t calls = first;
        f = redisbloom_levels_relocate(&f->list, move_every_second, &calls);
        CHECK_EQ_U64(calls - first, 5); /* the handle, the list of sub-filters, three sub-filters */
        check_all(f, "cf-bucket4");
        redisbloom_levels_free(f);
    }
}

/* Removing everything leaves one empty sub-filter and no memory of the others. */
TEST(removals_free_sub_filters) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    redisbloom_cuckoo *f = NULL;
    CHECK_OK(redisbloom_cuckoo_create(64, 2, 20, 1, UINT64_MAX, &allocator, &f));
    uint64_t bytes = redisbloom_cuckoo_get_info(f).size;
    for (int i = 0; i < 1000; i++)
        CHECK_OK(redisbloom_cuckoo_add(f, &i, sizeof i, MAX_EXPANSIONS, UINT64_MAX));
    CHECK(redisbloom_cuckoo_get_info(f).filters > 10);
    for (int i = 0; i < 1000; i++)
        CHECK(redisbloom_cuckoo_remove(f, &i, sizeof i));
    CHECK(!redisbloom_cuckoo_remove(f, &bytes, sizeof bytes));
    redisbloom_cuckoo_info info = redisbloom_cuckoo_get_info(f);
    CHECK_EQ_U64(info.items, 0);
    CHECK_EQ_U64(info.filters, 1);
    CHECK_EQ_U64(info.size, bytes);
    CHECK_EQ_U64(redisbloom_levels_memory(&f->list), memory.live_bytes);
    redisbloom_levels_free(f);
    CHECK_EQ_U64(memory.live_blocks, 0);
}

/* ---- Loading bad data
 * --------------------------------------------------------------------------------------------- */

TEST(chunks_must_be_in_order_and_fit) {
    struct chunks c = fixture_chunks("cf-bucket2");
    redisbloom_cuckoo *f = NULL, *copy = NULL;
    const struct chunk *head = &c.chunk[0], *first = &c.chunk[1], *second = &c.chunk[2];
    for (size_t i = 0; i < head->byte_count; i++)
        CHECK_STATUS(redisbloom_cuckoo_load_header(head->bytes, i, UINT64_MAX, NULL, &f), KITH_E_TRUNCATED);
    CHECK_STATUS(redisbloom_cuckoo_load_header(head->bytes, 39, UINT64_MAX, NULL, &f), KITH_E_TRAILING);
    CHECK_OK(redisbloom_cuckoo_load_header(head->bytes, head->byte_count, UINT64_MAX, NULL, &f));
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
    check_all(copy, "cf-bucket2");
    redisbloom_levels_free(copy);
    free(c.content);
}

/* Loads a header. If that succeeds, fills all slots and uses the filter: nothing may go wrong then. */
static kith_status load_and_use(const unsigned char *header) {
    struct memory memory = {.most_bytes = 1 << 20};
    kith_allocator allocator = memory_allocator(&memory);
    redisbloom_cuckoo *f = NULL;
    kith_status status = redisbloom_cuckoo_load_header(header, REDISBLOOM_CUCKOO_HEADER_BYTES, 1 << 20, &allocator, &f);
    if (status == KITH_OK) {
        static unsigned char slots[1 << 20];
        for (size_t i = 0; i < sizeof slots; i++)
            slots[i] = (unsigned char)(i * 7);
        const void *chunk;
        size_t chunk_bytes;
        for (uint64_t cursor = 1, next; (next = redisbloom_levels_chunk(&f->list, cursor, &chunk, &chunk_bytes)) != 0;
             cursor = next)
            CHECK_OK(redisbloom_levels_load_chunk(&f->list, next, slots, chunk_bytes));
        for (int i = 0; i < 50; i++) {
            (void)!redisbloom_cuckoo_add(f, &i, sizeof i, MAX_EXPANSIONS, 1 << 20);
            redisbloom_cuckoo_count(f, &i, sizeof i);
            redisbloom_cuckoo_remove(f, &i, sizeof i);
        }
        redisbloom_cuckoo_compact(f);
        redisbloom_levels_free(f);
    }
    CHECK_EQ_U64(memory.live_blocks, 0);
    return status;
}

static void put(unsigned char *to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

TEST(extreme_values_in_a_header_are_refused) {
    struct chunks c = fixture_chunks("cf-bucket2");
    static const uint64_t extremes[] = {0,
                                        UINT64_MAX,
                                        UINT64_MAX - 1,
                                        UINT64_C(1) << 63,
                                        3,
                                        UINT64_C(1) << 62,
                                        UINT64_C(1) << 32,
                                        (UINT64_C(1) << 32) - 1,
                                        32768,
                                        65535,
                                        1};
    enum { COUNT = sizeof extremes / sizeof *extremes };
    /* For each field: its place, and which of the extremes may be loaded. */
    static const struct {
        size_t at;
        unsigned size;
        const char *loads;
    } fields[] = {
        {0, 8, "10001000001"},  /* items: up to the number of slots */
        {8, 8, "00000000100"},  /* buckets: a power of two, slots for the items, not too much memory */
        {16, 8, "10001111111"}, /* deletes: below 2^63 */
        {24, 8, "00001000000"}, /* filters: there are 3 */
        {32, 2, "00001000000"}, /* bucket size; 0, too many, or too few slots for the items */
        {34, 2, "01101001111"}, /* iterations: not 0 */
        {36, 2, "00000000000"}, /* expansion: a power of two, with memory for all and slots for the items */
    };
    unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES];
    CHECK_OK(load_and_use(c.chunk[0].bytes));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t j = 0; j < COUNT; j++) {
            memcpy(header, c.chunk[0].bytes, sizeof header);
            put(header + fields[i].at, extremes[j], fields[i].size);
            if ((load_and_use(header) == KITH_OK) != (fields[i].loads[j] == '1'))
                CHECK_FAIL("field at %zu with %" PRIx64 " should %sload", fields[i].at, extremes[j],
                           fields[i].loads[j] == '1' ? "" : "not ");
        }
    /* One sub-filter that does not grow is fine with expansion 0; several are not. */
    memcpy(header, c.chunk[0].bytes, sizeof header);
    put(header + 36, 0, 2);
    CHECK_STATUS(load_and_use(header), KITH_E_CORRUPT);
    put(header, 100, 8);
    put(header + 24, 1, 8);
    CHECK_OK(load_and_use(header));
    free(c.content);
}

TEST(fields_that_contradict_each_other_are_refused) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    struct fields from = fixture_fields("cf-bucket1");
    const redisbloom_cuckoo_fields fields = read_fields(&from);
    redisbloom_cuckoo_level level = read_level(&from);
    redisbloom_cuckoo_fields bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = fields;
    bad[0].filters = 0;
    bad[1].filters = 65536;
    bad[2].buckets = 255;
    bad[3].buckets = UINT64_C(1) << 63;
    bad[4].bucket_size = 256;
    bad[5].max_iterations = 65536;
    bad[6].expansion = 65536;
    bad[7].expansion = 3;
    redisbloom_cuckoo *f = NULL;
    for (size_t i = 0; i < 8; i++)
        CHECK_STATUS(redisbloom_cuckoo_load_begin(&bad[i], UINT64_MAX, &allocator, &f), KITH_E_CORRUPT);
    redisbloom_cuckoo_fields one = fields;
    one.filters = 1;
    CHECK_OK(redisbloom_cuckoo_load_begin(&one, UINT64_MAX, &allocator, &f));
    CHECK_STATUS(redisbloom_cuckoo_load_end(f), KITH_E_TRUNCATED);
    unsigned char *slots = memory_allocate(&memory, (size_t)level.byte_count, 16);
    level.slots = slots;
    level.buckets *= 2;
    CHECK_STATUS(redisbloom_cuckoo_load_append(f, &level, UINT64_MAX), KITH_E_CORRUPT);
    level.buckets /= 2;
    level.byte_count--;
    CHECK_STATUS(redisbloom_cuckoo_load_append(f, &level, UINT64_MAX), KITH_E_CORRUPT);
    level.byte_count++;
    CHECK_STATUS(redisbloom_cuckoo_load_append(f, &level, 200), KITH_E_TOO_LARGE);
    CHECK_OK(redisbloom_cuckoo_load_append(f, &level, UINT64_MAX));
    CHECK_STATUS(redisbloom_cuckoo_load_append(f, &level, UINT64_MAX), KITH_E_CORRUPT);
    CHECK_STATUS(redisbloom_cuckoo_load_end(f), KITH_E_CORRUPT); /* 1500 items in 256 slots */
    redisbloom_levels_free(f);
    CHECK_EQ_U64(memory.live_blocks, 0);
    free(from.content);
}

/* ---- Allocation failures
 * ------------------------------------------------------------------------------------------ */

static kith_status clone(const redisbloom_cuckoo *original, const kith_allocator *allocator, redisbloom_cuckoo **copy) {
    *copy = redisbloom_levels_clone(&original->list, allocator);
    return *copy != NULL ? KITH_OK : KITH_E_MEMORY;
}

TEST(failed_allocations_change_nothing) {
    struct chunks c = fixture_chunks("cf-bucket2");
    for (int call = 0; call < 4; call++) {
        kith_status status = KITH_E_MEMORY;
        for (uint64_t fail_at = 1; status == KITH_E_MEMORY; fail_at++) {
            struct memory memory = {.fail_at = fail_at};
            kith_allocator allocator = memory_allocator(&memory);
            redisbloom_cuckoo *f = NULL, *original = by_operations("cf-bucket2");
            if (call == 0)
                status = redisbloom_cuckoo_create(100, 2, 20, 2, UINT64_MAX, &allocator, &f);
            else if (call == 1)
                status =
                    redisbloom_cuckoo_load_header(c.chunk[0].bytes, c.chunk[0].byte_count, UINT64_MAX, &allocator, &f);
            else if (call == 2)
                status = clone(original, &allocator, &f);
            else
                status = load_fields("cf-bucket2", &allocator, &f);
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
    redisbloom_cuckoo *f = NULL;
    CHECK_OK(redisbloom_cuckoo_create(16, 2, 20, 2, UINT64_MAX, &allocator, &f));
    unsigned failures = 0;
    for (int i = 0; i < 500; i++) {
        kith_status status = KITH_E_MEMORY;
        for (uint64_t fail = 1; status == KITH_E_MEMORY; fail++) {
            size_t bytes, bytes_after;
            unsigned char *before = snapshot(f, &bytes);
            uint64_t live_bytes = memory.live_bytes;
            memory.fail_at = memory.calls + fail;
            status = redisbloom_cuckoo_add(f, &i, sizeof i, MAX_EXPANSIONS, UINT64_MAX);
            if (status == KITH_E_MEMORY) {
                failures++;
                unsigned char *after = snapshot(f, &bytes_after);
                CHECK(bytes == bytes_after && memcmp(before, after, bytes) == 0);
                CHECK_EQ_U64(memory.live_bytes, live_bytes);
                free(after);
            }
            free(before);
        }
        CHECK_OK(status);
    }
    CHECK(failures >= 7); /* four growths, three of them with a longer list of sub-filters */
    CHECK_EQ_U64(redisbloom_levels_memory(&f->list), memory.live_bytes);
    redisbloom_levels_free(f);
    CHECK_EQ_U64(memory.live_blocks, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
