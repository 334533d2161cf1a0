/* Checks families of hash functions, seeds and traces. */
#include "tables/tables.h"

/* Polynomials are evaluated modulo 2^61 - 1, and nine 64-bit words are 0 modulo that prime. They would all have the
 * same value if functions did not hash such keys first. */
static void keys_that_are_equal_modulo_the_prime_can_be_stored(void) {
    EACH_SUBJECT(s, SINGLES) {
        if (s.bound != 0 || s.key_bytes != 8)
            continue;
        kith_table_spec spec = spec_for(&s, 16);
        spec.family = KITH_FAMILY_POLYNOMIAL;
        kith_table *t = made(&spec);
        for (uint64_t i = 0; i <= 8; i++) {
            uint64_t word = i * ((UINT64_C(1) << 61) - 1);
            CHECK_OK(kith_table_put(t, &word, sizeof word, i, NULL));
        }
        for (uint64_t i = 0; i <= 8; i++) {
            uint64_t word = i * ((UINT64_C(1) << 61) - 1), value = 77;
            CHECK(kith_table_get(t, &word, sizeof word, &value));
            CHECK_EQ_U64(value, i);
        }
        kith_table_free(t);
    }
}

void every_family_works_with_every_kind(void) {
    EACH_SUBJECT(s, DEFAULTS) for (unsigned family = 0; family < KITH_FAMILY_COUNT; family++) {
        uint64_t n = keys_of(&s, s.scans ? 100 : 5000), state = 79, operations = scaled(s.scans ? 4000 : 40000);
        for (unsigned independence = 0; independence <= 5; independence += 5) {
            kith_table_spec spec = spec_for(&s, n);
            spec.family = (kith_family_id)family;
            spec.independence = family == KITH_FAMILY_POLYNOMIAL ? independence : 0;
            contract_note("%s, keys of %u bytes, %s, k = %u", s.v->kind, s.key_bytes, kith_family_name(spec.family),
                          spec.independence);
            kith_table *t = made(&spec);
            model m = model_new(&s, n);
            for (uint64_t i = 0; i < operations; i++)
                model_step(&m, t, &state, i < operations / 2 ? 60 : 30);
            model_compare(&m, t);
            model_free(&m);
            kith_table_free(t);
        }
    }
    keys_that_are_equal_modulo_the_prime_can_be_stored();
    CHECK(kith_family_name((kith_family_id)KITH_FAMILY_COUNT) == NULL);
}

/* ---- traces ---- */

typedef struct tracer {
    uint64_t steps[KITH_STEP_GROW + 1];
    uint64_t slots; /* after the last growth */
    uint64_t print; /* a hash of all steps */
} tracer;

static void note_step(void *context, kith_step step, uint64_t place, uint64_t to) {
    tracer *r = context;
    CHECK((unsigned)step <= KITH_STEP_GROW);
    r->steps[step]++;
    r->print = (r->print ^ (unsigned)step ^ place << 3 ^ to << 31) * UINT64_C(0x9e3779b97f4a7c15);
    if (step == KITH_STEP_GROW) {
        CHECK(to > place);
        CHECK(r->slots == 0 || r->slots == place);
        r->slots = to;
    }
}

/* Runs some operations and returns the fingerprint of the table at the end. */
static uint64_t run_of(const subject *s, uint64_t seed, uint64_t n, tracer *r) {
    kith_table_spec spec = spec_for(s, n);
    uint64_t state = 83;
    spec.seed = seed;
    kith_table *t = made(&spec);
    if (r != NULL) {
        *r = (tracer){.print = 1};
        kith_table_set_trace(t, note_step, r);
    }
    model m = model_new(s, n);
    for (uint64_t i = 0; i < 4 * n; i++)
        model_step(&m, t, &state, 50);
    uint64_t print = print_of(t);
    if (r != NULL) {
        kith_table_stats stats = table_stats(t);
        CHECK_EQ_U64(r->steps[KITH_STEP_GROW], stats.growths);
        CHECK_EQ_U64(r->steps[KITH_STEP_REHASH], stats.rehashes);
        for (uint64_t i = 0; i < n; i++) {
            tracer before = *r;
            CHECK(has_index(t, s, i) == m.in[i]);
            uint64_t looks = r->steps[KITH_STEP_LOOK] - before.steps[KITH_STEP_LOOK];
            CHECK(looks > 0 || m.count == 0 || !m.in[i]);
            if (m.in[i] && stats.longest != 0)
                CHECK(looks <= stats.longest);
            CHECK_EQ_U64(r->steps[KITH_STEP_MOVE], before.steps[KITH_STEP_MOVE]);
        }
        CHECK_EQ_U64(r->steps[KITH_STEP_GROW], stats.growths);
    }
    model_free(&m);
    kith_table_free(t);
    return print;
}

void equal_seeds_give_equal_tables(void) {
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = keys_of(&s, s.scans ? 100 : 2000);
        tracer a, b, c;
        uint64_t print = run_of(&s, 5, n, &a);
        CHECK_EQ_U64(run_of(&s, 5, n, &b), print);
        CHECK_EQ_U64(a.print, b.print);
        uint64_t other = run_of(&s, 6, n, &c);
        if (s.bound == 0 && !s.scans)
            CHECK(other != print && c.print != a.print);
        (void)run_of(&s, 0, n, NULL); /* a random seed from the system */
    }
}

void traces_report_growths_and_change_nothing(void) {
    EACH_SUBJECT(s, SINGLES) {
        uint64_t n = keys_of(&s, s.scans ? 100 : 2000);
        tracer r;
        uint64_t traced = run_of(&s, 7, n, &r);
        CHECK_EQ_U64(run_of(&s, 7, n, NULL), traced);
        if (s.bound == 0 && s.v->options[0] == '\0')
            CHECK(r.steps[KITH_STEP_GROW] > 0);
    }
}
