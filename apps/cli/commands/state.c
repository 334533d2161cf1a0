/* state.c: the state file of `kith uniq --state`; see state.h. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/commands/state.h"

#include <string.h>

#include "cli/files/filters.h"
#include "cli/input/recipe.h"
#include "cli/output/report.h"
#include "cli/values.h"

/* ---- the options of this run and of the first one ---- */

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
    kith_plan plan = plan_must(a->state, state);
    value_text has, wanted;
    if (a->rate != 0 && plan.rate > a->rate * (1 + 1e-9))
        fail("%s: it was created with a rate of %s, not %s; use another file for a lower rate", a->state,
             text_of_rate(plan.rate, has), text_of_rate(a->rate, wanted));
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
        if (!kith_filter_has_hash(state, &given))
            fail("%s: it was created with another secret key than that of %s", a->state, a->key_file);
    }
    if (a->untrusted && !keyed)
        fail("%s: it was created without --untrusted; omit it, or use another file", a->state);
}

static void check(const arguments *a, const kith_filter *state) {
    check_capacity(a, state);
    check_rate(a, state);
    check_hash(a, state);
}

/* ---- the file ---- */

/* Ends the tool if the keys come from another place than in earlier runs; with --field-changed, notes it. */
static void check_place(const filter_file *f) {
    kith_filter *edited;
    if (recipe_same_place(f->path, filter_of(f), f->a))
        return;
    filter_file_must(f, kith_file_edit(f->file, &edited));
    recipe_update_place(f->path, edited, f->a);
}

filter_file state_open(arguments *a) {
    filter_file f;
    reason_text reason;
    if (strcmp(a->state, "-") == 0)
        fail("--state -: the state must be a file, not standard output");
    kith_file_mode mode = a->rate == 0 ? KITH_FILE_CHANGE : KITH_FILE_CHANGE_OR_CREATE;
    kith_status status = filter_file_try(&f, a->state, mode, KITH_FILE_LOCK_DEFAULT, a, reason);
    if (status != KITH_OK)
        fail("%s: %s%s", a->state, reason,
             status == KITH_E_NO_FILE && a->rate == 0 ? "; give -p RATE to create it" : "");
    const kith_filter *filter = filter_of(&f);
    if (filter == NULL)
        return f;
    filter_check_adds(a->state, filter);
    recipe_apply(a->state, filter, a);
    check_place(&f);
    check(a, filter);
    return f;
}

void state_begin(const filter_file *state, kith_filter *filter) {
    filter_file_must(state, kith_file_replace(state->file, filter));
    if (!state->a->no_lock)
        filter_file_must(state, kith_file_set_journal(state->file, true));
}
