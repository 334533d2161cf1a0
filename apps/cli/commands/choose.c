/* choose.c: chooses a kind of filter; see choose.h. It uses only what the library says about each kind, so no kind is
 * named here. */
#include "cli/commands/choose.h"

#include <stdio.h>
#include <string.h>

#include "cli/files/filters.h"
#include "cli/output/report.h"
#include "cli/values.h"

const kith_kind_info *kind_must(const char *name) {
    const kith_kind_info *kind = kith_filter_kind_named(name);
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
    c->spec.prefer = a->smallest ? KITH_PREFER_SMALLEST : KITH_PREFER_FASTER;
    if (a->kind != NULL)
        (void)kind_must(a->kind);
    if (a->kind_options == NULL)
        return;
    if (a->kind == NULL)
        fail("--option %s is an option of a kind: give -k KIND as well", a->kind_options);
    c->spec.options = a->kind_options;
}

const char *choose_faster_why(const kith_plan *plan) {
    bool is_static = (plan->capabilities & KITH_CAN_ADD) == 0;
    return is_static ? "reads fewer cells per lookup and is at most 30% larger than the smallest"
                     : "needs one memory access per lookup and is at most 30% larger than the smallest";
}

kith_status choose_plan(const choice *c, kith_plan *plan) {
    *plan = (kith_plan)KITH_PLAN_INIT;
    return kith_filter_plan(&c->spec, plan);
}

/* Copies `options` without the one that has `length` characters at `skip`. */
static void copy_without(const char *options, const char *skip, size_t length, char *text, size_t size) {
    (void)snprintf(text, size, "%.*s%s", (int)(skip - options), options, skip + length);
}

static bool is_worse(const kith_filter_spec *spec, const kith_plan *with, const kith_plan *without) {
    if (spec->capacity == 0)
        return with->capacity < without->capacity;
    if (spec->rate == 0)
        return with->rate > without->rate;
    return with->file_bytes > without->file_bytes;
}

static bool is_power_of_two(uint64_t x) {
    return (x & (x - 1)) == 0;
}

size_t choose_costs(const choice *c, const kith_plan *plan, option_cost *costs, size_t most) {
    size_t count = 0;
    const char *options = c->spec.options != NULL ? c->spec.options : "";
    for (const char *at = options + strspn(options, " ,"); *at != '\0' && count < most;) {
        size_t length = strcspn(at, " ,");
        char rest[1024];
        option_cost *cost = &costs[count];
        *cost = (option_cost){.with = *plan, .without = KITH_PLAN_INIT};
        (void)snprintf(cost->option, sizeof cost->option, "%.*s", (int)length, at);
        copy_without(options, at, length, rest, sizeof rest);
        kith_filter_spec spec = c->spec;
        spec.options = rest;
        if (strlen(options) < sizeof rest && kith_filter_plan(&spec, &cost->without) == KITH_OK &&
            is_worse(&spec, plan, &cost->without)) {
            cost->rounds = is_power_of_two(plan->cells) && !is_power_of_two(cost->without.cells);
            count++;
        }
        at += length;
        at += strspn(at, " ,");
    }
    return count;
}

const char *text_of_cost(const choice *c, const option_cost *cost, cost_text text) {
    value_text with, without;
    char rounded[64] = "";
    unsigned log2_cells = 0;
    while (cost->with.cells >> log2_cells > 1)
        log2_cells++;
    if (cost->rounds)
        (void)snprintf(rounded, sizeof rounded, " rounds %s to 2^%u slots",
                       cost->with.cells > cost->without.cells ? "up" : "down", log2_cells);
    if (c->spec.capacity == 0)
        (void)snprintf(text, sizeof(cost_text), "%s%s: a capacity of %s instead of %s", cost->option, rounded,
                       text_of_count(cost->with.capacity, with), text_of_count(cost->without.capacity, without));
    else if (c->spec.rate == 0)
        (void)snprintf(text, sizeof(cost_text), "%s%s: a rate of %s instead of %s", cost->option, rounded,
                       text_of_rate(cost->with.rate, with), text_of_rate(cost->without.rate, without));
    else
        (void)snprintf(text, sizeof(cost_text), "%s%s: %.2f bits per key instead of %.2f", cost->option, rounded,
                       cost->with.bits_per_key, cost->without.bits_per_key);
    return text;
}

void choose_fail(const arguments *a, const choice *c, kith_status status) {
    capability_text needs;
    uint32_t asked = c->spec.needs & ~(uint32_t)KITH_CAN_ADD; /* what the user has asked for */
    value_text size;
    char wrong[1024];
    if (kith_option_error(&c->spec, wrong, sizeof wrong) > 0)
        fail("--option %s (kith kinds %s explains the options)", wrong, c->spec.kind);
    switch (status) {
    case KITH_E_KIND:
        if (a->kind != NULL)
            fail("-k %s: this kind does not support all of: %s (kith kinds lists what each kind supports)", a->kind,
                 text_of_capabilities(asked, ", ", needs));
        fail("no kind supports all of: %s", text_of_capabilities(asked, ", ", needs));
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
