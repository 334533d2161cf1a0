/* Checks memory: every allocation can fail, once or from then on, and nothing leaks. Also checks stats and check. */
#include "tables/tables.h"

#include "tables/table_kind.h"

enum { KEYS = 120 };

typedef struct attempt {
    const subject *s;
    kith_table *t;
    uint64_t number; /* the argument: index of a key, or number of keys */
} attempt;

typedef kith_status (*operation)(attempt *a);

static kith_status do_put(attempt *a) {
    return put_index(a->t, a->s, a->number, 1);
}

static kith_status do_reserve(attempt *a) {
    return kith_table_reserve(a->t, a->number);
}

/* Runs an operation with its first allocation failing, then its second, and so on, until it succeeds. */
static void fail_each_allocation(attempt *a, test_memory *memory, operation run, bool keep_failing) {
    uint64_t print = print_of(a->t);
    for (uint64_t fail_at = 1;; fail_at++) {
        note_seed(fail_at);
        memory_arm(memory, fail_at, keep_failing);
        kith_status status = run(a);
        memory_disarm(memory);
        CHECK_EQ_U64(table_stats(a->t).bytes, memory->live_bytes);
        if (status == KITH_OK)
            return;
        CHECK_STATUS(status, KITH_E_MEMORY);
        CHECK(memory->failures != 0);
        CHECK_EQ_U64(print_of(a->t), print);
        CHECK_OK(kith_table_check(a->t, NULL));
    }
}

static void fail_creation(const kith_table_spec *spec, test_memory *memory, bool keep_failing) {
    for (uint64_t fail_at = 1;; fail_at++) {
        kith_table *t = NULL;
        memory_arm(memory, fail_at, keep_failing);
        kith_status status = kith_table_create(spec, &t);
        memory_disarm(memory);
        if (memory->failures == 0) {
            CHECK_OK(status);
            kith_table_free(t);
            return;
        }
        CHECK_STATUS(status, KITH_E_MEMORY);
        CHECK(t == NULL);
        CHECK_EQ_U64(memory->live_blocks, 0);
    }
}

static void fail_everything(const subject *s, uint64_t first, bool keep_failing, kith_family_id family) {
    test_memory memory;
    uint64_t n = keys_of(s, KEYS);
    kith_table_spec spec = spec_for(s, n);
    memory_init(&memory);
    spec.allocator = &memory.allocator;
    spec.family = family;
    fail_creation(&spec, &memory, keep_failing);
    attempt a = {.s = s, .t = made(&spec)};
    for (a.number = first; a.number < first + n; a.number++)
        fail_each_allocation(&a, &memory, do_put, keep_failing);
    for (a.number = first; a.number < first + n; a.number += 3) {
        memory_arm(&memory, 1, true);
        CHECK_OK(remove_index(a.t, s, a.number));
        memory_disarm(&memory);
    }
    for (a.number = first; a.number < first + n; a.number++)
        CHECK(has_index(a.t, s, a.number) == ((a.number - first) % 3 != 0));
    for (a.number = first; a.number < first + n; a.number++)
        fail_each_allocation(&a, &memory, do_put, keep_failing);
    a.number = s->fixed || s->bound != 0 ? n : 1000;
    fail_each_allocation(&a, &memory, do_reserve, keep_failing);
    memory_arm(&memory, 1, true);
    CHECK_OK(kith_table_clear(a.t));
    memory_disarm(&memory);
    CHECK_EQ_U64(table_stats(a.t).bytes, memory.live_bytes);
    kith_table_free(a.t);
    CHECK_EQ_U64(memory.live_blocks, 0);
    CHECK_EQ_U64(memory.live_bytes, 0);
}

void every_allocation_failure_leaves_the_table_unchanged_and_leaks_nothing(void) {
    EACH_SUBJECT(s, SINGLES) for (unsigned keep_failing = 0; keep_failing < 2; keep_failing++) {
        /* The ninth key from key 58 on is long and needs its own allocation. It is put when 8 slots are full. */
        uint64_t first = s.bound != 0 ? 0 : 58;
        fail_everything(&s, 0, keep_failing, KITH_FAMILY_XXH3);
        fail_everything(&s, first, keep_failing, KITH_FAMILY_XXH3);
        fail_everything(&s, first, keep_failing, KITH_FAMILY_TABULATION);
    }
}

void lookups_and_removals_allocate_nothing(void) {
    EACH_SUBJECT(s, SINGLES) {
        test_memory memory;
        uint64_t n = keys_of(&s, s.scans ? 200 : 2000);
        kith_table_spec spec = spec_for(&s, n);
        memory_init(&memory);
        spec.allocator = &memory.allocator;
        kith_table *t = made(&spec);
        fill(t, &s, 0, n);
        memory_arm(&memory, 1, true);
        for (uint64_t i = 0; i < n; i++) {
            CHECK(has_index(t, &s, i));
            test_key k;
            key_of(&s, i, &k);
            kith_key one = {k.bytes, k.n};
            kith_keys many = {&one, NULL, 1};
            CHECK_EQ_U64(kith_table_get_many(t, &many, NULL, NULL), 1);
        }
        (void)print_of(t);
        CHECK_OK(kith_table_check(t, NULL));
        for (uint64_t i = 0; i < n; i++)
            CHECK_OK(remove_index(t, &s, i));
        CHECK_EQ_U64(memory.calls, 0);
        memory_disarm(&memory);
        kith_table_free(t);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}

void stats_are_correct(void) {
    EACH_SUBJECT(s, SINGLES) {
        test_memory memory;
        uint64_t n = keys_of(&s, s.scans ? 200 : 3000), state = 71;
        kith_table_spec spec = spec_for(&s, n);
        memory_init(&memory);
        spec.allocator = &memory.allocator;
        kith_table *t = made(&spec);
        CHECK_EQ_U64(table_stats(t).longest, 0);
        model m = model_new(&s, n);
        for (uint64_t i = 0; i < 4 * n; i++) {
            model_step(&m, t, &state, i < 2 * n ? 60 : 20);
            kith_table_stats stats = table_stats(t);
            CHECK((stats.longest == 0) == (stats.count == 0));
            CHECK_EQ_U64(stats.count, m.count);
            CHECK_EQ_U64(stats.bytes, memory.live_bytes);
            CHECK(stats.slots != 0);
            double load = (double)stats.count / (double)stats.slots;
            CHECK(stats.load >= load * 0.999999 && stats.load <= load * 1.000001);
        }
        model_free(&m);
        kith_table_free(t);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}

static void must_be_broken(const kith_table *t) {
    const char *reason = NULL;
    CHECK_STATUS(kith_table_check(t, &reason), KITH_E_CORRUPT);
    CHECK(reason != NULL && reason[0] != '\0');
    CHECK_STATUS(kith_table_check(t, NULL), KITH_E_CORRUPT);
}

/* Breaks two invariants: a wrong count (which a list cannot detect, because the count defines its length), and a key
 * that is overwritten with another one. */
void check_names_a_broken_invariant(void) {
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = keys_of(&s, 100);
        kith_table_spec spec = spec_for(&s, n);
        kith_table *t = made(&spec);
        fill(t, &s, 0, n);
        t->count--;
        if (!s.scans)
            must_be_broken(t);
        t->count++;
        CHECK_OK(kith_table_check(t, NULL));
        if (s.bound == 0 && s.key_bytes != 0) {
            kith_cursor cursor = {{0}};
            const void *first, *second;
            uint8_t kept[16];
            CHECK(kith_table_next(t, &cursor, &first, NULL, NULL) && kith_table_next(t, &cursor, &second, NULL, NULL));
            memcpy(kept, first, s.key_bytes);
            memcpy((void *)(uintptr_t)first, second, s.key_bytes);
            must_be_broken(t);
            memcpy((void *)(uintptr_t)first, kept, s.key_bytes);
            CHECK_OK(kith_table_check(t, NULL));
        }
        kith_table_free(t);
    }
}
