/* plan.c: `kith plan`: every kind of the register with the same question, and the one to take, as build would.
 *
 * What is asked decides what is best: with keys and rate given the fewest bytes, with bytes and rate the most keys,
 * with keys and bytes the lowest rate. Among kinds that can do what is needed the best one is marked. */
#include <stdio.h>
#include <string.h>

#include <kith/filter.h>

#include "choose.h"
#include "commands.h"
#include "filters.h"
#include "help.h"
#include "json.h"
#include "report.h"
#include "values.h"

enum { ROWS_MAX = 64 };

typedef struct row {
    const char *kind;
    char options[256]; /* "" : those of the kind by default */
    kith_status status;
    kith_plan plan;
} row;

typedef struct table {
    const arguments *a;
    uint32_t needs;
    row rows[ROWS_MAX];
    size_t count;
    const row *best; /* NULL: no kind can do it */
    const char *why;
} table;

static bool better(const arguments *a, const kith_plan *one, const kith_plan *other) {
    if (a->capacity == 0)
        return one->capacity > other->capacity;
    if (a->rate == 0)
        return one->rate < other->rate;
    return one->file_bytes < other->file_bytes;
}

static const char *why(const arguments *a) {
    if (a->capacity == 0)
        return "takes the most keys";
    if (a->rate == 0)
        return "has the lowest rate";
    return "is the smallest";
}

static void ask(const arguments *a, kith_filter_spec *spec) {
    spec->capacity = a->capacity;
    spec->rate = a->rate;
    spec->bytes = a->bytes;
}

static void fill(table *t) {
    for (size_t i = 0; i < kith_filter_kind_count() && t->count + 1 < ROWS_MAX; i++) {
        row *r = &t->rows[t->count++];
        r->kind = kith_filter_kind_at(i)->name;
        r->options[0] = '\0';
        r->plan = (kith_plan)KITH_PLAN_INIT;
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = r->kind;
        ask(t->a, &spec);
        r->status = kith_filter_plan(&spec, &r->plan);
        bool able = r->status == KITH_OK && (r->plan.capabilities & t->needs) == t->needs;
        if (able && (t->best == NULL || better(t->a, &r->plan, &t->best->plan)))
            t->best = r;
    }
    t->why = why(t->a);
    for (size_t i = 0; t->best != NULL && t->a->rate != 0 && i < t->count; i++)
        if (t->rows[i].status == KITH_OK && choose_faster(&t->best->plan, &t->rows[i].plan, t->needs)) {
            t->best = &t->rows[i];
            t->why = "needs one memory access per lookup and is at most 25% larger than the smallest";
        }
    if (t->best != NULL)
        return;
    /* None by itself: one inside another, perhaps. */
    choice c = {.spec = KITH_FILTER_SPEC_INIT};
    c.spec.needs = t->needs;
    ask(t->a, &c.spec);
    kith_plan plan;
    if (choose_plan(&c, &plan) != KITH_OK)
        return;
    row *r = &t->rows[t->count++];
    *r = (row){.kind = plan.kind, .status = KITH_OK, .plan = plan};
    (void)snprintf(r->options, sizeof r->options, "%s", c.options);
    t->best = r;
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
    out_text("%s%s %-*s%s %5s %7s %8.2f %9s %9s %5u\n", on, mark, name_width, name, off,
             text_of_count(p->capacity, keys), text_of_size(p->file_bytes, size), p->bits_per_key,
             text_of_rate(p->expected_rate, rate), parts, p->lines);
}

/* Kinds that can do the same, in one line. */
static void put_capabilities(const table *t) {
    enum { NAMES_COLUMN = 28 };
    bool told[ROWS_MAX] = {false};
    out_text("\n  %-*s%s\n", NAMES_COLUMN - 2, "can", "kinds");
    for (size_t i = 0; i < t->count; i++) {
        if (told[i] || t->rows[i].status != KITH_OK)
            continue;
        capability_text can, other;
        text_of_capabilities(t->rows[i].plan.capabilities, " ", can);
        char names[1024] = "";
        size_t used = 0;
        for (size_t j = i; j < t->count && used < sizeof names; j++) {
            if (t->rows[j].status != KITH_OK ||
                strcmp(text_of_capabilities(t->rows[j].plan.capabilities, " ", other), can) != 0)
                continue;
            char name[300];
            name_of(&t->rows[j], name, sizeof name);
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? " " : "", name);
            told[j] = true;
        }
        out_text("  %s", can);
        size_t at = strlen(can) + 2;
        put_wrapped_80(names, at + 2 > NAMES_COLUMN ? NAMES_COLUMN + 1 : at, NAMES_COLUMN);
    }
}

static void put_advice(const table *t) {
    const row *r = t->best;
    capability_text needs;
    char text[1024];
    out("\n", 1);
    if (r == NULL) {
        (void)snprintf(text, sizeof text, "No kind can do all of: %s.", text_of_capabilities(t->needs, " and ", needs));
        put_wrapped_80(text, 0, 0);
        return;
    }
    char name[300];
    name_of(r, name, sizeof name);
    if (t->needs != 0)
        (void)snprintf(text, sizeof text, "* Take %s: of the kinds that can %s it %s.", name,
                       text_of_capabilities(t->needs, " and ", needs), t->why);
    else
        (void)snprintf(text, sizeof text, "* Take %s: it %s.", name, t->why);
    put_wrapped_80(text, 0, 0);
    value_text size, digests;
    (void)snprintf(text, sizeof text,
                   "Memory: %s for the filter; building without -n takes 8 bytes per key in addition, %s.",
                   text_of_size(r->plan.file_bytes, size), text_of_size(r->plan.capacity * 8, digests));
    put_wrapped_80(text, 0, 0);
}

static void put_text(const table *t) {
    int width = 4;
    for (size_t i = 0; i < t->count; i++) {
        char name[300];
        name_of(&t->rows[i], name, sizeof name);
        if ((int)strlen(name) > width)
            width = (int)strlen(name);
    }
    out_text("  %-*s %5s %7s %8s %9s %9s %5s\n", width, "kind", "keys", "size", "bits/key", "rate", "per key", "lines");
    for (size_t i = 0; i < t->count; i++)
        put_row(t, &t->rows[i], width);
    put_capabilities(t);
    put_advice(t);
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
            json_integer("max_copies", r->plan.max_copies);
            json_number("failure", r->plan.failure);
            json_text("can", text_of_capabilities(r->plan.capabilities, " ", can));
        }
        json_close('}');
    }
    json_close(']');
    json_text("recommended", t->best != NULL ? t->best->kind : NULL);
    json_text("reason", t->best != NULL ? t->why : NULL);
    json_close('}');
    json_end();
}

int command_plan(const arguments *a) {
    int given = (a->capacity != 0) + (a->rate != 0) + (a->bytes != 0);
    if (given != 2)
        fail("%s: any two of -n COUNT, -p RATE and --bytes SIZE give the third",
             given < 2 ? "too little is given" : "all three are given");
    static table t;
    t = (table){.a = a};
    t.needs =
        (a->grow ? KITH_CAN_GROW : 0u) | (a->can_remove ? KITH_CAN_REMOVE : 0u) | (a->can_merge ? KITH_CAN_MERGE : 0u);
    fill(&t);
    kith_status first = KITH_OK;
    size_t possible = 0;
    for (size_t i = 0; i < t.count; i++) {
        possible += t.rows[i].status == KITH_OK;
        if (first == KITH_OK)
            first = t.rows[i].status;
    }
    if (possible == 0)
        fail("no kind can do that: %s", kith_status_text(first));
    if (a->json)
        put_json(&t);
    else
        put_text(&t);
    return EXIT_FOUND;
}
