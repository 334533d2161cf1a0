/* choose.c: chooses a kind of filter; see choose.h. It uses only what the library says about each kind, so no kind is
 * named here. */
#include "choose.h"

#include <stdio.h>
#include <string.h>

#include "filters.h"
#include "report.h"
#include "values.h"

static const kith_kind_info *kind_named(const char *name) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++)
        if (strcmp(kith_filter_kind_at(i)->name, name) == 0)
            return kith_filter_kind_at(i);
    return NULL;
}

const kith_kind_info *kind_must(const char *name) {
    const kith_kind_info *kind = kind_named(name);
    if (kind != NULL)
        return kind;
    const char *names[64];
    size_t count = 0;
    for (; count < kith_filter_kind_count() && count < sizeof names / sizeof *names; count++)
        names[count] = kith_filter_kind_at(count)->name;
    fail_unknown("kind of filter", "", name, names, count, "kith kinds");
}

void choose_begin(const arguments *a, uint32_t needs, choice *c) {
    c->spec = (kith_filter_spec)KITH_FILTER_SPEC_INIT;
    c->spec.kind = a->kind;
    c->spec.needs = needs;
    c->spec.final = a->final;
    c->options[0] = '\0';
    if (a->kind != NULL)
        (void)kind_must(a->kind);
    if (a->kind_options == NULL)
        return;
    if (a->kind == NULL)
        fail("--option %s is an option of a kind: give -k KIND as well", a->kind_options);
    if (strlen(a->kind_options) >= sizeof c->options / 2)
        fail("--option: the options are too long, at most %zu bytes", sizeof c->options / 2 - 1);
    (void)snprintf(c->options, sizeof c->options, "%s", a->kind_options);
    c->spec.options = c->options;
}

/* The option that names the inner kind of a kind such as layers, or NULL. */
static const kith_option *inner_option(const kith_kind_info *kind) {
    for (size_t i = 0; i < kind->option_count; i++)
        if (strcmp(kind->options[i].values, "kind") == 0)
            return &kind->options[i];
    return NULL;
}

/* Plans `outer` with `inner` as its inner kind, and stores it in *best if it is smaller than the best so far. */
static void try_around(const choice *asked, const kith_kind_info *outer, const kith_kind_info *inner, choice *best,
                       kith_plan *best_plan) {
    choice tried = *asked;
    tried.spec.kind = outer->name;
    (void)snprintf(tried.options, sizeof tried.options, "%s=%s", inner_option(outer)->name, inner->name);
    tried.spec.options = tried.options;
    kith_plan plan = KITH_PLAN_INIT;
    if (kith_filter_plan(&tried.spec, &plan) != KITH_OK)
        return;
    bool better = best_plan->kind == NULL || plan.file_bytes < best_plan->file_bytes ||
                  (plan.file_bytes == best_plan->file_bytes && plan.capacity > best_plan->capacity);
    if (better) {
        *best = tried;
        *best_plan = plan;
    }
}

bool choose_faster(const kith_plan *smallest, const kith_plan *other, uint32_t needs) {
    if ((other->capabilities & needs) != needs || (other->capabilities & ~needs & KITH_CAN_GROW) != 0)
        return false;
    return other->lines == 1 && smallest->lines > 1 &&
           other->bits_per_key <= smallest->bits_per_key * CHOOSE_FASTER_BITS;
}

/* Whoever gives --final wants the smallest file, so a kind that can only be built is not exchanged for a faster one. */
static void take_faster(const kith_filter_spec *spec, kith_plan *plan) {
    for (size_t i = 0; (plan->capabilities & KITH_CAN_ADD) != 0 && i < kith_filter_kind_count(); i++) {
        kith_filter_spec tried = *spec;
        tried.kind = kith_filter_kind_at(i)->name;
        tried.needs |= KITH_CAN_ADD;
        kith_plan other = KITH_PLAN_INIT;
        if (kith_filter_plan(&tried, &other) == KITH_OK && choose_faster(plan, &other, spec->needs))
            *plan = other;
    }
}

kith_status choose_plan(choice *c, kith_plan *plan) {
    *plan = (kith_plan)KITH_PLAN_INIT;
    kith_status status = kith_filter_plan(&c->spec, plan);
    if (status == KITH_OK) {
        if (c->spec.kind == NULL && c->spec.rate != 0)
            take_faster(&c->spec, plan);
        c->spec.kind = plan->kind;
    }
    if (status != KITH_E_KIND || c->spec.options != NULL)
        return status;
    choice best;
    kith_plan best_plan = KITH_PLAN_INIT;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *outer = kith_filter_kind_at(i);
        if (inner_option(outer) == NULL || (outer->capabilities & KITH_CAN_GROW & c->spec.needs) == 0)
            continue;
        for (size_t j = 0; j < kith_filter_kind_count(); j++) {
            const kith_kind_info *inner = kith_filter_kind_at(j);
            if (c->spec.kind == NULL || strcmp(c->spec.kind, inner->name) == 0 ||
                strcmp(c->spec.kind, outer->name) == 0)
                try_around(c, outer, inner, &best, &best_plan);
        }
    }
    if (best_plan.kind == NULL)
        return status;
    *c = best;
    c->spec.options = c->options;
    *plan = best_plan;
    return KITH_OK;
}

void choose_fail(const arguments *a, const choice *c, kith_status status) {
    capability_text needs;
    value_text size;
    switch (status) {
    case KITH_E_KIND:
        if (a->kind != NULL)
            fail("-k %s: this kind does not support all of: %s (kith kinds lists what each kind supports)", a->kind,
                 text_of_capabilities(c->spec.needs, ", ", needs));
        fail("no kind supports all of: %s", text_of_capabilities(c->spec.needs, ", ", needs));
    case KITH_E_OPTION: {
        const kith_kind_info *kind = c->spec.kind != NULL ? kind_named(c->spec.kind) : NULL;
        char known[512] = "";
        size_t used = 0;
        for (size_t i = 0; kind != NULL && i < kind->option_count && used < sizeof known; i++)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s=%s", i > 0 ? ", " : "",
                                     kind->options[i].name, kind->options[i].values);
        fail("--option %s: the options of kind %s are %s (kith kinds %s explains them)",
             a->kind_options != NULL ? a->kind_options : "", c->spec.kind, used > 0 ? known : "none", c->spec.kind);
    }
    case KITH_E_TOO_LARGE:
        if (c->spec.max_bytes != 0)
            fail("no filter with this capacity and rate fits into --bytes %s", text_of_size(c->spec.max_bytes, size));
        break;
    case KITH_E_UNSUPPORTED: {
        bool outer = c->spec.kind != NULL && (kind_must(c->spec.kind)->capabilities & KITH_CAN_ADD) != 0;
        fail("%s %s: filters of this kind can only be built from a complete list of keys; use another kind to add keys "
             "later",
             outer ? "--option" : "-k", outer ? c->spec.options : c->spec.kind);
    }
    case KITH_E_TOO_SMALL:
        fail("--bytes %s is too small for a filter with this capacity", text_of_size(c->spec.bytes, size));
    default:
        break;
    }
    fail("%s", kith_status_text(status));
}
