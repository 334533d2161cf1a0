/* state.c: checks the options of `kith uniq --state` against the state file; see state.h. */
#include "state.h"

#include <string.h>

#include "filters.h"
#include "report.h"
#include "values.h"

static void check_capacity(const arguments *a, const kith_filter *state) {
    uint64_t capacity = kith_filter_capacity(state);
    value_text made, given;
    if (a->capacity == 0)
        return;
    text_of_count_exact(a->capacity, given);
    if (kith_filter_capabilities(state) & KITH_CAN_GROW)
        fail("%s: it was created without -n, and grows; omit -n %s, or use another file", a->state, given);
    if (capacity == a->capacity)
        return;
    text_of_count_exact(capacity, made);
    fail("%s: it was created with -n %s, not -n %s; use -n %s or omit it, or use another file", a->state, made, given,
         made);
}

static void check_rate(const arguments *a, const kith_filter *state) {
    kith_plan plan = KITH_PLAN_INIT;
    kith_status status = kith_filter_plan_of(state, &plan);
    if (status != KITH_OK)
        fail_status(a->state, status);
    value_text has, wanted;
    if (a->rate != 0 && plan.rate > a->rate * (1 + 1e-9))
        fail("%s: it was created with a rate of %s, not %s; use another file for a lower rate", a->state,
             text_of_rate(plan.rate, has), text_of_rate(a->rate, wanted));
}

/* The secret key of a filter cannot be read. But two keys that give equal digests of two texts (128 bits in all) are
 * equal. */
static bool has_key(const kith_filter *state, const kith_hash *hash) {
    static const char *const texts[] = {"kith", "state"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t bytes = strlen(texts[i]);
        if (kith_filter_digest(state, texts[i], bytes) != kith_digest(hash, texts[i], bytes))
            return false;
    }
    return true;
}

static void check_hash(const arguments *a, const kith_filter *state) {
    kith_hash hash = kith_filter_hash(state);
    bool keyed = hash.id == KITH_HASH_SIPHASH;
    if (a->seed_given && keyed)
        fail("%s: it was created with a secret key, not with --seed %llu; omit --seed", a->state,
             (unsigned long long)a->seed);
    if (a->seed_given && hash.seed != a->seed)
        fail("%s: it was created with --seed %llu, not --seed %llu", a->state, (unsigned long long)hash.seed,
             (unsigned long long)a->seed);
    if (a->key_file != NULL) {
        kith_hash given = hash_asked(a);
        if (!keyed)
            fail("%s: it was created without a secret key, not with that of %s; omit --key-file, or use another file",
                 a->state, a->key_file);
        if (!has_key(state, &given))
            fail("%s: it was created with another secret key than that of %s", a->state, a->key_file);
    }
    if (a->untrusted && !keyed)
        fail("%s: it was created without --untrusted; omit it, or use another file", a->state);
}

void state_check(const arguments *a, const kith_filter *state) {
    check_capacity(a, state);
    check_rate(a, state);
    check_hash(a, state);
}
