/* plan.c: `kith plan`, which plans the same filter with every kind and recommends the kind that build would choose.
 *
 * Which kind is best depends on what is given. Given capacity and rate, it is the kind with the fewest bytes; given
 * bytes and rate, the one with the largest capacity; given capacity and bytes, the one with the lowest rate. Only kinds
 * that support what the options ask for are considered. With -k only one kind is planned; with --option it is planned
 * with these options and with its defaults, and what each option costs is printed. */
#include <stdio.h>
#include <string.h>

#include <kith/filter.h>

#include "cli/commands/choose.h"
#include "cli/commands.h"
#include "cli/files/filters.h"
#include "cli/commands/help.h"
#include "cli/output/json.h"
#include "cli/output/report.h"
#include "cli/values.h"

enum { ROWS_MAX = 64, COSTS_MAX = 16 };
enum { NAME_WIDTH_MAX = 23 }; /* a longer name has its own line, so that rows fit 80 columns */

typedef struct row {
    const char *kind;
    char options[256]; /* "": the default options */
    kith_status status;
    kith_plan plan;
} row;

typedef struct table {
    const arguments *a;
    uint32_t needs;
    row rows[ROWS_MAX];
    size_t count;
    const row *best; /* NULL: no kind supports what is needed */
    const char *why;
    choice asked; /* with -k: what was asked for */
    option_cost costs[COSTS_MAX];
    size_t cost_count;
} table;

static const char *why(const arguments *a) {
    if (a->capacity == 0)
        return "has the largest capacity";
    if (a->rate == 0)
        return "has the lowest rate";
    return "is the smallest";
}

static void set_spec(const arguments *a, kith_filter_spec *spec) {
    spec->capacity = a->capacity;
    spec->rate = a->rate;
    spec->bytes = a->bytes;
    if (a->untrusted)
        spec->hash.id = KITH_HASH_SIPHASH; /* no size depends on the secret key */
}

/* With -k: plans this kind, with --option and without. */
static void fill_kind(table *t) {
    choice *c = &t->asked;
    choose_begin(t->a, t->needs, c);
    set_spec(t->a, &c->spec);
    row *r = &t->rows[t->count++];
    r->status = choose_plan(c, &r->plan);
    if (r->status != KITH_OK)
        choose_fail(t->a, c, r->status);
    r->kind = r->plan.kind; /* layers of the kind, if these are needed */
    if (c->spec.options != NULL)
        (void)snprintf(r->options, sizeof r->options, "%s", c->spec.options);
    else if (r->plan.inner != NULL)
        (void)snprintf(r->options, sizeof r->options, "inner=%s", r->plan.inner);
    t->best = r;
    t->why = "is the kind that -k names";
    if (c->spec.options == NULL)
        return;
    t->cost_count = choose_costs(c, &r->plan, t->costs, COSTS_MAX);
    row *plain = &t->rows[t->count++];
    *plain = (row){.kind = t->a->kind, .plan = KITH_PLAN_INIT};
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = t->a->kind;
    set_spec(t->a, &spec);
    plain->status = kith_filter_plan(&spec, &plain->plan);
}

/* Returns the row of the kind that the planner chooses. Adds one if that is layers of another kind than the default. */
static const row *row_of(table *t, const kith_plan *plan) {
    for (size_t i = 0; i < t->count; i++) {
        const kith_plan *p = &t->rows[i].plan;
        if (t->rows[i].status == KITH_OK && strcmp(p->kind, plan->kind) == 0 &&
            (plan->inner == NULL || strcmp(p->inner, plan->inner) == 0))
            return &t->rows[i];
    }
    row *r = &t->rows[t->count++];
    *r = (row){.kind = plan->kind, .status = KITH_OK, .plan = *plan};
    (void)snprintf(r->options, sizeof r->options, "inner=%s", plan->inner);
    return r;
}

static void fill(table *t) {
    for (size_t i = 0; i < kith_filter_kind_count() && t->count + 1 < ROWS_MAX; i++) {
        row *r = &t->rows[t->count++];
        *r = (row){.kind = kith_filter_kind_at(i)->name, .plan = KITH_PLAN_INIT};
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = r->kind;
        set_spec(t->a, &spec);
        r->status = kith_filter_plan(&spec, &r->plan);
    }
    choice c;
    kith_plan plan, smallest;
    choose_begin(t->a, t->needs, &c);
    set_spec(t->a, &c.spec);
    if (choose_plan(&c, &plan) != KITH_OK)
        return;
    t->best = row_of(t, &plan);
    c.spec.prefer = KITH_PREFER_SMALLEST;
    bool is_smallest = choose_plan(&c, &smallest) == KITH_OK && strcmp(smallest.kind, plan.kind) == 0;
    t->why = is_smallest ? why(t->a) : choose_faster_why(&plan);
}

static void name_of(const row *r, char *text, size_t size) {
    (void)snprintf(text, size, "%s%s%s", r->kind, r->options[0] != '\0' ? " " : "", r->options);
}

static void put_row(const table *t, const row *r, int name_width) {
    const kith_plan *p = &r->plan;
    char name[300], parts[32];
    name_of(r, name, sizeof name);
    const char *mark = r == t->best ? "*" : " ";
    const char *on = r == t->best && out_is_coloured() ? "\033[1;32m" : "", *off = *on != '\0' ? "\033[0m" : "";
    if (r->status != KITH_OK) {
        out_text("%s %-*s  ", mark, name_width, name);
        put_wrapped_80(kith_status_text(r->status), (size_t)name_width + 4, (size_t)name_width + 4);
        return;
    }
    if (p->hashes > 0)
        (void)snprintf(parts, sizeof parts, "%u hash%s", p->hashes, p->hashes > 1 ? "es" : "");
    else
        (void)snprintf(parts, sizeof parts, "%u bits", p->fingerprint_bits);
    value_text keys, size, rate;
    if ((int)strlen(name) > name_width)
        out_text("%s%s %s%s\n  %-*s", on, mark, name, off, name_width, "");
    else
        out_text("%s%s %-*s%s", on, mark, name_width, name, off);
    out_text(" %8s %10s %8.2f %9s %9s %5u\n", text_of_count(p->capacity, keys), text_of_size(p->file_bytes, size),
             p->bits_per_key, text_of_rate(p->expected_rate, rate), parts, p->lines);
}

/* Prints one line for all kinds that support the same operations. */
static void put_capabilities(const table *t) {
    enum { NAMES_COLUMN = 32 };
    bool printed[ROWS_MAX] = {false};
    out_text("\n  %-*s%s\n", NAMES_COLUMN - 2, "can", "kinds");
    for (size_t i = 0; i < t->count; i++) {
        if (printed[i] || t->rows[i].status != KITH_OK)
            continue;
        capability_text can, other;
        const char *able = text_of_abilities(t->rows[i].plan.capabilities, can);
        char names[1024] = "";
        size_t used = 0;
        for (size_t j = i; j < t->count && used < sizeof names; j++) {
            if (t->rows[j].status != KITH_OK ||
                strcmp(text_of_abilities(t->rows[j].plan.capabilities, other), able) != 0)
                continue;
            char name[300];
            name_of(&t->rows[j], name, sizeof name);
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? " " : "", name);
            printed[j] = true;
        }
        out_text("  %s", able);
        size_t at = strlen(able) + 2;
        put_wrapped_80(names, at + 2 > NAMES_COLUMN ? NAMES_COLUMN + 1 : at, NAMES_COLUMN);
    }
}

static void put_advice(const table *t) {
    const row *r = t->best;
    capability_text needs;
    char text[1024];
    out("\n", 1);
    if (r == NULL) {
        (void)snprintf(text, sizeof text, "No kind supports all of: %s.",
                       text_of_capabilities(t->needs, " and ", needs));
        put_wrapped_80(text, 0, 0);
        return;
    }
    char name[300];
    name_of(r, name, sizeof name);
    if (t->needs != 0)
        (void)snprintf(text, sizeof text, "* Use %s: of the kinds that support %s, it %s.", name,
                       text_of_capabilities(t->needs, " and ", needs), t->why);
    else
        (void)snprintf(text, sizeof text, "* Use %s: it %s.", name, t->why);
    put_wrapped_80(text, 0, 0);
    value_text size, digests;
    /* kith_builder_open() says which kinds stream. */
    bool streams = (r->plan.capabilities & (KITH_CAN_ADD | KITH_CAN_COPIES)) == KITH_CAN_ADD;
    (void)snprintf(
        text, sizeof text,
        "Memory: %s for the filter. Building %sneeds 25 bytes per key in addition, %s, or else space for a temporary "
        "file.",
        text_of_size(r->plan.file_bytes, size), streams ? "without -n " : "",
        text_of_size(r->plan.capacity * 25, digests));
    put_wrapped_80(text, 0, 0);
    if (r->plan.failure > 0) {
        value_text keys;
        (void)snprintf(text, sizeof text, "The probability that not all %s distinct keys fit is %.2g.",
                       text_of_count(r->plan.capacity, keys), r->plan.failure);
        put_wrapped_80(text, 0, 0);
    }
    if (r->plan.search_slots == 0)
        return;
    value_text slots;
    (void)snprintf(text, sizeof text, "An add that has to move entries to free a slot visits at most %s slots.",
                   text_of_integer(r->plan.search_slots, slots));
    put_wrapped_80(text, 0, 0);
}

static void put_costs(const table *t) {
    if (t->cost_count > 0)
        out("\n", 1);
    for (size_t i = 0; i < t->cost_count; i++) {
        cost_text cost;
        char text[sizeof cost + 2];
        (void)snprintf(text, sizeof text, "%s.", text_of_cost(&t->asked, &t->costs[i], cost));
        put_wrapped_80(text, 0, 0);
    }
}

static void put_text(const table *t) {
    int width = 4;
    for (size_t i = 0; i < t->count; i++) {
        char name[300];
        name_of(&t->rows[i], name, sizeof name);
        int length = (int)strlen(name);
        if (length > width && length <= NAME_WIDTH_MAX)
            width = length;
    }
    out_text("  %-*s %8s %10s %8s %9s %9s %5s\n", width, "kind", "capacity", "file bytes", "bits/key", "exp. rate",
             "per key", "lines");
    for (size_t i = 0; i < t->count; i++)
        put_row(t, &t->rows[i], width);
    put_capabilities(t);
    put_costs(t);
    put_advice(t);
}

static void put_json_costs(const table *t) {
    json_open("costs", '[');
    for (size_t i = 0; i < t->cost_count; i++) {
        const option_cost *c = &t->costs[i];
        json_open(NULL, '{');
        json_text("option", c->option);
        json_bool("rounded_up", c->rounds && c->with.cells > c->without.cells);
        json_bool("rounded_down", c->rounds && c->with.cells < c->without.cells);
        json_integer("cells", c->with.cells);
        json_integer("cells_without", c->without.cells);
        json_number("bits_per_key", c->with.bits_per_key);
        json_number("bits_per_key_without", c->without.bits_per_key);
        json_number("rate", c->with.rate);
        json_number("rate_without", c->without.rate);
        json_integer("capacity", c->with.capacity);
        json_integer("capacity_without", c->without.capacity);
        json_close('}');
    }
    json_close(']');
}

static void put_json(const table *t) {
    capability_text can;
    json_open(NULL, '{');
    json_text("needs", text_of_capabilities(t->needs, " ", can));
    json_open("kinds", '[');
    for (size_t i = 0; i < t->count; i++) {
        const row *r = &t->rows[i];
        json_open(NULL, '{');
        json_text("kind", r->kind);
        json_text("options", r->options);
        json_bool("recommended", r == t->best);
        json_text("status", kith_status_name(r->status));
        if (r->status == KITH_OK) {
            json_integer("capacity", r->plan.capacity);
            json_number("rate", r->plan.rate);
            json_number("expected_rate", r->plan.expected_rate);
            json_integer("file_bytes", r->plan.file_bytes);
            json_number("bits_per_key", r->plan.bits_per_key);
            json_integer("hashes", r->plan.hashes);
            json_integer("fingerprint_bits", r->plan.fingerprint_bits);
            json_integer("lines", r->plan.lines);
            json_integer("lookup_cells", r->plan.lookup_cells);
            json_integer("max_copies", r->plan.max_copies);
            json_number("failure", r->plan.failure);
            json_integer("search_slots", r->plan.search_slots);
            json_text("can", text_of_abilities(r->plan.capabilities, can));
        }
        json_close('}');
    }
    json_close(']');
    put_json_costs(t);
    json_text("recommended", t->best != NULL ? t->best->kind : NULL);
    json_text("reason", t->best != NULL ? t->why : NULL);
    json_close('}');
    json_end();
}

int command_plan(const arguments *a) {
    int given = (a->capacity != 0) + (a->rate != 0) + (a->bytes != 0);
    if (given != 2)
        fail("%s: give exactly two of -n COUNT, -p RATE and --bytes SIZE, and kith computes the third",
             given < 2 ? "too few options" : "too many options");
    static table t;
    t = (table){.a = a};
    t.needs =
        (a->grow ? KITH_CAN_GROW : 0u) | (a->can_remove ? KITH_CAN_REMOVE : 0u) | (a->can_merge ? KITH_CAN_MERGE : 0u);
    if (a->kind != NULL || a->kind_options != NULL)
        fill_kind(&t);
    else
        fill(&t);
    kith_status first = KITH_OK;
    size_t possible = 0;
    for (size_t i = 0; i < t.count; i++) {
        possible += t.rows[i].status == KITH_OK;
        if (first == KITH_OK)
            first = t.rows[i].status;
    }
    if (possible == 0)
        fail("no kind fits: %s", kith_status_text(first));
    if (a->json)
        put_json(&t);
    else
        put_text(&t);
    return EXIT_FOUND;
}
