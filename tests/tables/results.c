/* Checks the results of put, get, has, remove, clear and next against a model, and that invalid arguments are
 * refused. */
#include "tables/tables.h"
#include "option_errors.h"

enum {
    OPERATIONS = 1000000,        /* per kind with default options, over all its key sizes */
    SOAK_OPERATIONS = 100000000, /* in soak: per kind and key size */
    FEWER_SINGLES = 40,
    FEWER_PAIRS = 200,
    FEWER_SCANS = 20,
    KEYS = 20000, /* with default options */
    FEWER_KEYS = 5000,
    SCANNED_KEYS = 150,
    PHASES = 10,
};

/* Alternates phases of mostly puts and mostly removals, so that the table fills and empties. After each phase
 * everything is compared. */
static void agree(const subject *s, uint64_t operations, uint64_t keys, uint64_t seed) {
    uint64_t n = keys_of(s, s->scans ? SCANNED_KEYS : keys), state = seed;
    kith_table_spec spec = spec_for(s, s->fixed ? n * 2 / 3 + 1 : n);
    if (spec.capacity > n)
        spec.capacity = n;
    kith_table *t = made(&spec);
    model m = model_new(s, n);
    note_seed(seed);
    for (unsigned phase = 0; phase < PHASES; phase++) {
        unsigned puts = phase % 2 == 0 ? 60 : phase % 4 == 1 ? 10 : 30;
        for (uint64_t i = 0; i < operations / PHASES; i++)
            model_step(&m, t, &state, puts);
        model_compare(&m, t);
        for (uint64_t i = 0; i < m.n; i += 1 + m.n / 1000)
            CHECK(has_index(t, s, i) == m.in[i]);
        if (phase == PHASES / 2) {
            CHECK_OK(kith_table_clear(t));
            memset(m.in, 0, (size_t)m.n * sizeof *m.in);
            m.count = 0;
        }
    }
    model_free(&m);
    kith_table_free(t);
}

static void agree_all(variety which, uint64_t operations, uint64_t keys) {
    EACH_SUBJECT(s, which) agree(&s, operations / (s.scans && !check_soak() ? FEWER_SCANS : 1), keys, 61);
}

static void agree_in_soak(void) {
    EACH_SUBJECT(s, DEFAULTS) {
        agree(&s, SOAK_OPERATIONS, KEYS, 61);
        printf("shows: table %s, keys of %u bytes (0: any): %d operations agree with an exact dictionary\n", s.v->kind,
               s.key_bytes, SOAK_OPERATIONS);
    }
}

void operations_agree_with_a_model(void) {
    uint64_t operations = scaled(OPERATIONS);
    if (check_soak())
        agree_in_soak();
    else
        agree_all(DEFAULTS, operations / 4 + 1, KEYS); /* four key sizes */
    agree_all(SINGLES, operations / FEWER_SINGLES, FEWER_KEYS);
    agree_all(PAIRS, operations / FEWER_PAIRS, FEWER_KEYS);
}

void results_tell_whether_the_key_was_present(void) {
    EACH_SUBJECT(s, SINGLES) {
        enum { FEW = 50 };
        uint64_t n = keys_of(&s, FEW);
        kith_table_spec spec = spec_for(&s, n);
        kith_table *t = made(&spec);
        for (uint64_t i = 0; i < n; i++) {
            test_key k;
            key_of(&s, i, &k);
            bool was_new = false;
            uint64_t value = 77;
            CHECK(!kith_table_get(t, k.bytes, k.n, &value));
            CHECK_EQ_U64(value, 77);
            CHECK_STATUS(kith_table_remove(t, k.bytes, k.n, &value), KITH_E_ABSENT);
            CHECK_EQ_U64(value, 77);
            CHECK_OK(kith_table_put(t, k.bytes, k.n, value_of(&s, i, 1), &was_new));
            CHECK(was_new);
            CHECK_OK(kith_table_put(t, k.bytes, k.n, value_of(&s, i, 2), &was_new));
            CHECK(!was_new);
            CHECK(kith_table_get(t, k.bytes, k.n, &value));
            CHECK_EQ_U64(value, value_of(&s, i, 2));
            value = 77;
            CHECK_OK(kith_table_remove(t, k.bytes, k.n, &value));
            CHECK_EQ_U64(value, value_of(&s, i, 2));
            CHECK(!kith_table_has(t, k.bytes, k.n));
            /* the pointers to results may be NULL */
            CHECK_OK(kith_table_put(t, k.bytes, k.n, value_of(&s, i, 3), NULL));
            CHECK(kith_table_get(t, k.bytes, k.n, NULL));
            CHECK_OK(kith_table_remove(t, k.bytes, k.n, NULL));
            CHECK_OK(kith_table_put(t, k.bytes, k.n, s.values ? UINT64_MAX : 0, &was_new));
            CHECK(was_new);
            CHECK(kith_table_get(t, k.bytes, k.n, &value));
            CHECK_EQ_U64(value, s.values ? UINT64_MAX : 0);
        }
        CHECK_EQ_U64(kith_table_count(t), n);
        CHECK(strcmp(kith_table_kind_name(t), s.v->kind) == 0);
        kith_table_free(t);
    }
    kith_table_free(NULL);
}

void clear_removes_all_keys_and_keeps_the_slots(void) {
    EACH_SUBJECT(s, SINGLES) {
        enum { SOME = 300 };
        uint64_t n = keys_of(&s, SOME);
        kith_table_spec spec = spec_for(&s, n);
        kith_table *t = made(&spec);
        model m = model_new(&s, n);
        for (unsigned round = 0; round < 3; round++) {
            fill(t, &s, 0, n);
            uint64_t slots = table_stats(t).slots, growths = table_stats(t).growths;
            CHECK_OK(kith_table_clear(t));
            for (uint64_t i = 0; i < n; i++)
                CHECK(!has_index(t, &s, i));
            model_compare(&m, t);
            CHECK_EQ_U64(table_stats(t).slots, slots);
            fill(t, &s, 0, n);
            CHECK_EQ_U64(table_stats(t).growths, growths);
            CHECK_OK(kith_table_clear(t));
        }
        model_free(&m);
        kith_table_free(t);
    }
}

void every_key_is_visited_once_in_a_stable_order(void) {
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = keys_of(&s, s.scans ? 200 : scaled(5000)), state = 67;
        kith_table_spec spec = spec_for(&s, n);
        kith_table *t = made(&spec);
        model m = model_new(&s, n);
        model_compare(&m, t); /* iterating over an empty table ends, too */
        for (uint64_t i = 0; i < 4 * n; i++)
            model_step(&m, t, &state, 50);
        model_compare(&m, t);
        uint64_t print = print_of(t);
        for (uint64_t i = 0; i < n; i++)
            CHECK(has_index(t, &s, i) == m.in[i]);
        CHECK_EQ_U64(print_of(t), print);
        /* the pointers to results may be NULL, and after the end next keeps returning false */
        kith_cursor cursor = {{0}};
        uint64_t met = 0;
        while (kith_table_next(t, &cursor, NULL, NULL, NULL))
            met++;
        CHECK_EQ_U64(met, m.count);
        CHECK(!kith_table_next(t, &cursor, NULL, NULL, NULL));
        model_free(&m);
        kith_table_free(t);
    }
}

/* ---- what is refused ---- */

static void refused(const kith_table_spec *spec, kith_status want) {
    kith_table *t = NULL;
    contract_note("%s, options \"%s\", keys of %u bytes, family %d, k = %u", spec->kind, spec->options, spec->key_bytes,
                  (int)spec->family, spec->independence);
    CHECK_STATUS(kith_table_create(spec, &t), want);
    CHECK(t == NULL);
}

static void refused_with(kith_table_spec spec, const char *options) {
    kith_table *t;
    spec.options = options;
    kith_status status = kith_table_create(&spec, &t);
    CHECK(is_option_error(status));
    refused(&spec, status);
}

static void refuse_options(const kith_table_spec *spec, const kith_kind_info *info) {
    char text[256];
    refused_with(*spec, "no_such_option=1");
    refused_with(*spec, "=");
    refused_with(*spec, "x");
    for (size_t i = 0; i < info->option_count; i++) {
        const kith_option *option = &info->options[i];
        const char *dots = strstr(option->values, "..");
        static const char *const BAD[] = {"", "nonsense", "-1", "99999999999999999999999"};
        (void)snprintf(text, sizeof text, "%s=%s,%s=%s", option->name, option->fallback, option->name,
                       option->fallback);
        refused_with(*spec, text);
        (void)snprintf(text, sizeof text, "%s", option->name);
        refused_with(*spec, text);
        for (size_t j = 0; j < sizeof BAD / sizeof *BAD; j++) {
            (void)snprintf(text, sizeof text, "%s=%s", option->name, BAD[j]);
            refused_with(*spec, text);
        }
        if (dots == NULL)
            continue;
        uint64_t low = strtoull(option->values, NULL, 10), high = strtoull(dots + 2, NULL, 10);
        (void)snprintf(text, sizeof text, "%s=%" PRIu64, option->name, high + 1);
        refused_with(*spec, text);
        (void)snprintf(text, sizeof text, "%s=%" PRIu64, option->name, low - 1); /* 2^64 - 1 for 0 */
        refused_with(*spec, text);
    }
}

void wrong_specs_are_named_errors(void) {
    kith_table_spec nowhere = KITH_TABLE_SPEC_INIT;
    nowhere.kind = "no_such_kind";
    refused(&nowhere, KITH_E_KIND);
    EACH_SUBJECT(s, DEFAULTS) {
        kith_table_spec good = spec_for(&s, 10), bad = good;
        for (unsigned key_bytes = 0; key_bytes < 40; key_bytes++) {
            bad.key_bytes = key_bytes;
            if (key_bytes != 0 && key_bytes != 4 && key_bytes != 8 && key_bytes != 16)
                refused(&bad, KITH_E_KEY);
        }
        bad = good;
        bad.struct_bytes++;
        refused(&bad, KITH_E_STRUCT);
        bad = good;
        bad.family = (kith_family_id)KITH_FAMILY_COUNT;
        refused(&bad, KITH_E_HASH);
        bad.family = KITH_FAMILY_POLYNOMIAL;
        bad.independence = 65;
        refused(&bad, KITH_E_HASH);
        bad.independence = 1;
        refused(&bad, KITH_E_HASH);
        bad = good;
        bad.capacity = UINT64_MAX;
        refused(&bad, s.bound != 0 ? KITH_E_UNIVERSE : KITH_E_ADDRESS);
        kith_table *t = made(&good);
        kith_table_stats stats = KITH_TABLE_STATS_INIT;
        stats.struct_bytes++;
        CHECK_STATUS(kith_table_stats_of(t, &stats), KITH_E_STRUCT);
        kith_table_free(t);
        for (size_t i = 0; i < kith_table_kind_count(); i++)
            if (strcmp(kith_table_kind_at(i)->name, s.v->kind) == 0)
                refuse_options(&good, kith_table_kind_at(i));
    }
    CHECK(kith_table_kind_at(kith_table_kind_count()) == NULL);
}

static void refuse_key(kith_table *t, const void *k, size_t key_bytes) {
    uint64_t print = print_of(t);
    bool was_new = true;
    uint64_t value = 77, found = 0, put_value = 0;
    size_t done = 77;
    kith_key one = {k, key_bytes};
    kith_keys many = {&one, NULL, 1};
    CHECK_STATUS(kith_table_put(t, k, key_bytes, 0, &was_new), KITH_E_KEY);
    CHECK_STATUS(kith_table_put_many(t, &many, &put_value, &done), KITH_E_KEY);
    CHECK_EQ_U64(done, 0);
    CHECK(!kith_table_get(t, k, key_bytes, &value));
    CHECK(!kith_table_has(t, k, key_bytes));
    CHECK_EQ_U64(kith_table_get_many(t, &many, &value, &found), 0);
    CHECK_EQ_U64(kith_table_has_many(t, &many, &found), 0);
    CHECK_EQ_U64(found, 0);
    CHECK_STATUS(kith_table_remove(t, k, key_bytes, &value), KITH_E_ABSENT);
    CHECK_EQ_U64(value, 77);
    CHECK(was_new);
    CHECK_EQ_U64(print_of(t), print);
}

void wrong_keys_are_named_errors(void) {
    guarded byte = guarded_room(1); /* only one byte is readable: the length alone must suffice to refuse the key */
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = keys_of(&s, 20);
        kith_table_spec spec = spec_for(&s, n);
        kith_table *t = made(&spec);
        fill(t, &s, 0, n);
        uint8_t k[32] = {0};
        for (size_t size = 0; s.key_bytes != 0 && size <= sizeof k; size++)
            if (size != s.key_bytes)
                refuse_key(t, size != 0 ? k : NULL, size);
#if SIZE_MAX > UINT32_MAX
        refuse_key(t, byte.at_end, ((size_t)1 << 32) + 1);
        refuse_key(t, byte.at_end, SIZE_MAX);
#endif
        if (s.bound != 0 && s.bound < 1 << 24) {
            test_key outside;
            key_of(&s, s.bound, &outside);
            refuse_key(t, outside.bytes, outside.n);
            memset(k, 0xff, sizeof k);
            refuse_key(t, k, s.key_bytes);
        }
        if (!s.values) {
            test_key inside;
            key_of(&s, 0, &inside);
            CHECK_STATUS(kith_table_put(t, inside.bytes, inside.n, 1, NULL), KITH_E_KEY);
        }
        kith_table_free(t);
    }
    guarded_free(&byte);
}
