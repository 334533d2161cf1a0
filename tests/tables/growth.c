/* Checks growth, reserve, tables of fixed size, and memory use when keys are added and removed all the time. */
#include "tables/tables.h"

enum {
    MILLION = 1000000,
    SCANNED = 2000,
};

void tables_grow_from_nothing_to_a_million_keys(void) {
    EACH_SUBJECT(s, DEFAULTS) {
        uint64_t n = keys_of(&s, s.scans ? SCANNED : s.key_bytes == 8 ? scaled(MILLION) : scaled(MILLION / 10));
        kith_table_spec spec = spec_for(&s, 0);
        kith_table *t = made(&spec);
        for (uint64_t i = 0; i < n; i++) {
            CHECK_OK(put_index(t, &s, i, 9));
            if ((i & (i - 1)) == 0)
                CHECK(has_index(t, &s, i / 2) && has_index(t, &s, i));
        }
        CHECK_EQ_U64(kith_table_count(t), n);
        if (s.bound == 0)
            CHECK(table_stats(t).growths > 0);
        for (uint64_t i = 0; i < n; i++)
            CHECK(has_index(t, &s, i));
        for (uint64_t i = n; s.bound == 0 && i < 2 * n; i++)
            CHECK(!has_index(t, &s, i));
        CHECK_OK(kith_table_check(t, NULL));
        for (uint64_t i = 0; i < n; i++)
            CHECK_OK(remove_index(t, &s, i));
        CHECK_EQ_U64(kith_table_count(t), 0);
        CHECK_OK(kith_table_check(t, NULL));
        kith_table_free(t);
    }
}

/* Returns whether the table must not grow. With non-default options, `load` may be higher than a cuckoo table with two
 * functions can reach; it may then grow early. */
static bool growth_is_excluded(const subject *s, const kith_table *t, uint64_t n) {
    return s->v->options[0] == '\0' || (double)n <= 0.97 * (double)table_stats(t).slots;
}

void reserve_prevents_growth(void) {
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = keys_of(&s, s.scans ? 200 : scaled(20000)), some = n / 8;
        kith_table_spec spec = spec_for(&s, n);
        kith_table *t = made(&spec);
        model m = model_new(&s, n);
        fill(t, &s, 0, some);
        uint64_t growths = table_stats(t).growths;
        CHECK_OK(kith_table_reserve(t, n));
        CHECK(table_stats(t).growths >= growths);
        growths = table_stats(t).growths;
        bool excluded = growth_is_excluded(&s, t, n);
        fill(t, &s, some, n - some);
        if (excluded)
            CHECK_EQ_U64(table_stats(t).growths, growths);
        uint64_t print = print_of(t);
        CHECK_OK(kith_table_reserve(t, 0));
        CHECK_OK(kith_table_reserve(t, n));
        CHECK_EQ_U64(print_of(t), print);
        kith_status status = kith_table_reserve(t, UINT64_MAX);
        if (status != KITH_OK || s.v->options[0] == '\0') /* a fixed number of chains can hold any number of keys */
            CHECK_STATUS(status, s.fixed || s.bound != 0 ? KITH_E_FULL : KITH_E_ADDRESS);
        CHECK_EQ_U64(print_of(t), print);
        for (uint64_t i = 0; i < n; i++) {
            m.in[i] = true;
            m.values[i] = value_of(&s, i, 0);
        }
        m.count = n;
        model_compare(&m, t);
        model_free(&m);
        kith_table_free(t);

        /* a capacity at creation has the same effect */
        spec.capacity = n;
        t = made(&spec);
        excluded = growth_is_excluded(&s, t, n);
        fill(t, &s, 0, n);
        if (excluded)
            CHECK_EQ_U64(table_stats(t).growths, 0);
        kith_table_free(t);
    }
}

/* Fills a table of fixed size to its last slot and then runs operations on it. */
static void fill_every_slot(const subject *s, uint64_t capacity) {
    kith_table_spec spec = spec_for(s, capacity);
    kith_table *t = made(&spec);
    uint64_t slots = table_stats(t).slots, n = slots + slots / 2 + 5, state = 73;
    CHECK(slots >= capacity);
    model m = model_new(s, n);
    for (uint64_t i = 0; i < n; i++) {
        kith_status status = put_index(t, s, i, 0);
        CHECK_STATUS(status, i < slots ? KITH_OK : KITH_E_FULL);
        m.in[i] = i < slots;
        m.values[i] = value_of(s, i, 0);
    }
    m.count = slots;
    model_compare(&m, t);
    CHECK_EQ_U64(table_stats(t).slots, slots);
    CHECK_STATUS(kith_table_reserve(t, slots + 1), KITH_E_FULL);
    for (uint64_t i = 0; i < n; i++)
        CHECK(has_index(t, s, i) == (i < slots));
    for (uint64_t i = 0; i < 20 * slots; i++)
        model_step(&m, t, &state, 60); /* checks that a put is refused only if every slot is used */
    model_compare(&m, t);
    CHECK_EQ_U64(table_stats(t).slots, slots);
    CHECK_EQ_U64(table_stats(t).growths, 0);
    model_free(&m);
    kith_table_free(t);
}

void full_means_that_every_slot_is_used(void) {
    static const uint64_t CAPACITIES[] = {0, 1, 8, 10, 64, 100, 500};
    for (variety which = SINGLES; which <= PAIRS; which++)
        EACH_SUBJECT(s, which)
    for (size_t i = 0; s.fixed && s.bound == 0 && i < 7; i++)
        fill_every_slot(&s, CAPACITIES[i]);
}

void churn_does_not_increase_memory(void) {
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = s.scans ? 100 : 1000, turns = 16 * n + scaled(s.scans ? 2500 : 50000);
        if (keys_of(&s, n * 8) != n * 8)
            continue;
        kith_table_spec spec = spec_for(&s, 2 * n);
        kith_table *t = made(&spec);
        /* store every key once, so that memory for strings of every size has been allocated */
        for (uint64_t i = 0; i < 8 * n; i++) {
            CHECK_OK(put_index(t, &s, i, 0));
            if (i >= n)
                CHECK_OK(remove_index(t, &s, i - n));
        }
        kith_table_stats before = table_stats(t);
        for (uint64_t i = 8 * n; i < 8 * n + turns; i++) {
            CHECK_OK(remove_index(t, &s, (i - n) % (8 * n)));
            CHECK_OK(put_index(t, &s, i % (8 * n), 0));
        }
        kith_table_stats after = table_stats(t);
        CHECK_EQ_U64(after.count, n);
        CHECK(after.slots <= 2 * before.slots);
        CHECK(after.bytes <= 2 * before.bytes + 4096);
        CHECK_OK(kith_table_check(t, NULL));
        kith_table_free(t);
    }
}
