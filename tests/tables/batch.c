/* Checks that has_many, get_many and put_many give the same results as calls with one key. */
#include "tables/tables.h"

enum { BATCH_MAX = 1000 };

/* Keys with consecutive indices: as references in `each` and, if keys have a fixed size, also in `packed`. */
typedef struct batch {
    test_key *keys;
    kith_key *each;
    uint8_t *packed;
    uint64_t *values;
} batch;

static batch batch_of(const subject *s, uint64_t from, size_t n, uint64_t salt) {
    batch b = {
        .keys = malloc((n + 1) * sizeof *b.keys),
        .each = malloc((n + 1) * sizeof *b.each),
        .packed = malloc(16 * (n + 1)),
        .values = malloc((n + 1) * sizeof *b.values),
    };
    CHECK(b.keys != NULL && b.each != NULL && b.packed != NULL && b.values != NULL);
    for (size_t i = 0; i < n; i++) {
        key_of(s, from + i, &b.keys[i]);
        b.each[i] = (kith_key){b.keys[i].n != 0 ? b.keys[i].bytes : NULL, b.keys[i].n};
        if (s->key_bytes != 0)
            memcpy(b.packed + i * s->key_bytes, b.keys[i].bytes, s->key_bytes);
        b.values[i] = value_of(s, from + i, salt);
    }
    return b;
}

static void batch_free(batch *b) {
    free(b->keys);
    free(b->each);
    free(b->packed);
    free(b->values);
}

static void compare_batch(const kith_table *t, const kith_keys *keys, const batch *b) {
    uint64_t values[BATCH_MAX], found[BATCH_MAX / 64 + 1], has[BATCH_MAX / 64 + 1];
    memset(found, 0xff, sizeof found);
    memset(has, 0xff, sizeof has);
    for (size_t i = 0; i < keys->n; i++)
        values[i] = ~UINT64_C(0);
    size_t hits = kith_table_get_many(t, keys, values, found), expected = 0;
    CHECK_EQ_U64(kith_table_has_many(t, keys, has), hits);
    CHECK_EQ_U64(kith_table_has_many(t, keys, NULL), hits);
    CHECK_EQ_U64(kith_table_get_many(t, keys, NULL, NULL), hits);
    for (size_t i = 0; i < keys->n; i++) {
        uint64_t value = ~UINT64_C(0);
        bool is_in = kith_table_get(t, b->keys[i].bytes, b->keys[i].n, &value);
        CHECK_EQ_U64(values[i], value);
        CHECK((found[i / 64] >> i % 64 & 1) == is_in && (has[i / 64] >> i % 64 & 1) == is_in);
        expected += is_in;
    }
    for (size_t i = keys->n; i % 64 != 0; i++)
        CHECK((found[i / 64] >> i % 64 & 1) == 0);
    CHECK_EQ_U64(hits, expected);
}

void batch_equals_one_by_one(void) {
    EACH_SUBJECT(s, SINGLES) {
        static const size_t SIZES[] = {0, 1, 7, 8, 9, 63, 64, 65, 129, BATCH_MAX};
        uint64_t n = keys_of(&s, 2 * BATCH_MAX);
        kith_table_spec spec = spec_for(&s, n);
        for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
            size_t size = SIZES[i] <= n / 2 ? SIZES[i] : (size_t)(n / 2);
            kith_table *one = made(&spec), *many = made(&spec), *packed = made(&spec);
            batch in = batch_of(&s, 0, size, 3), half = batch_of(&s, size / 2, size, 4);
            kith_keys each = {in.each, NULL, size}, packed_keys = {NULL, in.packed, size};
            size_t done = 77;
            for (size_t j = 0; j < size; j++)
                CHECK_OK(kith_table_put(one, in.keys[j].bytes, in.keys[j].n, in.values[j], NULL));
            CHECK_OK(kith_table_put_many(many, &each, s.values ? in.values : NULL, &done));
            CHECK_EQ_U64(done, size);
            CHECK_EQ_U64(print_of(many), print_of(one));
            kith_keys half_each = {half.each, NULL, size}, half_packed_keys = {NULL, half.packed, size};
            compare_batch(one, &half_each, &half);
            if (s.key_bytes != 0) {
                CHECK_OK(kith_table_put_many(packed, &packed_keys, s.values ? in.values : NULL, NULL));
                CHECK_EQ_U64(print_of(packed), print_of(one));
                compare_batch(one, &half_packed_keys, &half);
            }
            batch_free(&in);
            batch_free(&half);
            kith_table_free(one);
            kith_table_free(many);
            kith_table_free(packed);
        }
    }
}

void failed_put_many_reports_how_many_were_put(void) {
    EACH_SUBJECT(s, SINGLES) {
        enum { GOOD = 20, ALL = 30 };
        if (keys_of(&s, ALL) < ALL)
            continue;
        /* one of the keys has an invalid size */
        kith_table_spec spec = spec_for(&s, ALL);
        kith_table *t = made(&spec);
        batch b = batch_of(&s, 0, ALL, 5);
        kith_keys keys = {b.each, NULL, ALL};
        size_t done = 77;
        if (s.key_bytes != 0 || SIZE_MAX > UINT32_MAX) {
            b.each[GOOD].byte_count = s.key_bytes != 0 ? s.key_bytes + 1 : SIZE_MAX;
            CHECK_STATUS(kith_table_put_many(t, &keys, b.values, &done), KITH_E_KEY);
            CHECK_EQ_U64(done, GOOD);
            CHECK_EQ_U64(kith_table_count(t), GOOD);
            for (uint64_t i = 0; i < ALL; i++)
                CHECK(has_index(t, &s, i) == (i < GOOD));
        }
        kith_table_free(t);
        batch_free(&b);

        /* memory runs out */
        test_memory memory;
        memory_init(&memory);
        spec.allocator = &memory.allocator;
        uint64_t n = keys_of(&s, BATCH_MAX);
        spec.capacity = s.fixed ? n : spec.capacity;
        t = made(&spec);
        b = batch_of(&s, 0, (size_t)n, 6);
        keys = (kith_keys){b.each, NULL, (size_t)n};
        memory_arm(&memory, 2, true);
        kith_status status = kith_table_put_many(t, &keys, b.values, &done);
        memory_disarm(&memory);
        CHECK_STATUS(status, memory.failures == 0 ? KITH_OK : KITH_E_MEMORY);
        CHECK(memory.failures == 0 ? done == n : done < n);
        CHECK_EQ_U64(kith_table_count(t), done);
        for (uint64_t i = 0; i < n; i++)
            CHECK(has_index(t, &s, i) == (i < done));
        kith_table_free(t);
        batch_free(&b);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}
