/* info.c: `kith info` and `kith verify`. The secret key of a filter is nowhere asked for, so that it can't be shown. */
#include <errno.h>
#include <stdio.h>

#include <kith/filter.h>

#include "commands.h"
#include "filters.h"
#include "json.h"
#include "report.h"
#include "values.h"

typedef struct facts {
    const char *path;
    kith_plan plan;
    kith_filter_stats stats;
    kith_hash hash;
} facts;

static void put_json(const facts *f) {
    const kith_plan *plan = &f->plan;
    const kith_filter_stats *stats = &f->stats;
    json_open(NULL, '{');
    json_text("file", f->path);
    json_text("kind", plan->kind);
    json_integer("capacity", stats->capacity);
    json_integer("count", stats->count);
    json_number("keys_now", stats->keys_now);
    json_number("rate", stats->rate);
    json_number("rate_now", stats->rate_now);
    json_number("expected_rate", plan->expected_rate);
    json_integer("file_bytes", stats->file_bytes);
    json_number("bits_per_key", plan->bits_per_key);
    json_integer("cells", stats->cells);
    json_integer("cells_used", stats->cells_used);
    json_integer("cell_bits", plan->cell_bits);
    json_number("load", stats->load);
    json_integer("hashes", plan->hashes);
    json_integer("fingerprint_bits", plan->fingerprint_bits);
    json_integer("lines", plan->lines);
    json_integer("max_copies", plan->max_copies);
    json_integer("stuck", stats->stuck);
    json_integer("layers", stats->layers);
    json_text("hash", f->hash.id == KITH_HASH_SIPHASH ? "siphash" : "xxh3");
    if (f->hash.id == KITH_HASH_XXH3)
        json_integer("seed", f->hash.seed);
    capability_text can;
    json_text("can", text_of_capabilities(plan->capabilities, " ", can));
    json_close('}');
    json_end();
}

static void line(const char *name, const char *value) {
    out_text(out_is_coloured() ? "\033[1m%-14s\033[0m %s\n" : "%-14s %s\n", name, value);
}

static void put_text(const facts *f) {
    const kith_plan *plan = &f->plan;
    const kith_filter_stats *stats = &f->stats;
    value_text one, two;
    char text[160];
    line("file", f->path);
    line("kind", plan->kind);
    (void)snprintf(text, sizeof text, "%s of %s", text_of_integer(stats->count, one),
                   text_of_integer(stats->capacity, two));
    line("keys", text);
    line("estimated", text_of_integer((uint64_t)(stats->keys_now + 0.5), one));
    (void)snprintf(text, sizeof text, "%s promised, %s now", text_of_rate(stats->rate, one),
                   text_of_rate(stats->rate_now, two));
    line("rate", text);
    (void)snprintf(text, sizeof text, "%s (%s bytes), %.2f bits a key", text_of_size(stats->file_bytes, one),
                   text_of_integer(stats->file_bytes, two), plan->bits_per_key);
    line("size", text);
    (void)snprintf(text, sizeof text, "%s of %u bit%s, %.2f%% in use", text_of_integer(stats->cells, one),
                   plan->cell_bits, plan->cell_bits > 1 ? "s" : "", stats->load * 100);
    line("cells", text);
    if (plan->hashes > 0)
        (void)snprintf(text, sizeof text, "%u cell%s", plan->hashes, plan->hashes > 1 ? "s" : "");
    else
        (void)snprintf(text, sizeof text, "a fingerprint of %u bit%s", plan->fingerprint_bits,
                       plan->fingerprint_bits > 1 ? "s" : "");
    line("a key is", text);
    (void)snprintf(text, sizeof text, "%u", plan->max_copies);
    line("copies at most", text);
    if (stats->stuck > 0)
        line("stuck", text_of_integer(stats->stuck, one));
    if (stats->layers > 1)
        line("layers", text_of_integer(stats->layers, one));
    (void)snprintf(text, sizeof text, "xxh3, seed %llu", (unsigned long long)f->hash.seed);
    line("hash", f->hash.id == KITH_HASH_SIPHASH ? "siphash, with a secret key" : text);
    capability_text can;
    line("can", text_of_capabilities(plan->capabilities, " ", can));
}

int command_info(const arguments *a) {
    facts f = {.path = a->operands[0], .plan = KITH_PLAN_INIT, .stats = KITH_FILTER_STATS_INIT};
    kith_filter *filter = filter_open(f.path, KITH_OPEN_DEFAULT, a);
    kith_status status = kith_filter_plan_of(filter, &f.plan);
    if (status == KITH_OK)
        status = kith_filter_stats_of(filter, &f.stats);
    if (status != KITH_OK)
        fail_status(f.path, status);
    f.hash = kith_filter_hash(filter);
    if (a->json)
        put_json(&f);
    else
        put_text(&f);
    kith_filter_free(filter);
    return EXIT_FOUND;
}

/* ---- verify ---- */

static int put_verdict(const arguments *a, const char *path, kith_status status, const char *reason) {
    if (a->json) {
        json_open(NULL, '{');
        json_text("file", path);
        json_bool("sound", status == KITH_OK);
        json_text("status", kith_status_name(status));
        json_text("reason", reason);
        json_close('}');
        json_end();
    }
    if (status != KITH_OK)
        fail("%s: %s", path, reason);
    if (!a->json)
        out_text("%s: sound\n", path);
    return EXIT_FOUND;
}

int command_verify(const arguments *a) {
    const char *path = a->operands[0];
    kith_filter *filter = NULL;
    const char *reason = NULL;
    filter_check_input(path);
    errno = 0;
    kith_status status = kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &filter);
    if (status == KITH_E_IO && errno != 0)
        fail_errno(path);
    if (status == KITH_OK)
        status = kith_filter_check(filter, &reason);
    if (status != KITH_OK && reason == NULL)
        reason = kith_status_text(status);
    int verdict = put_verdict(a, path, status, status == KITH_OK ? NULL : reason);
    kith_filter_free(filter);
    return verdict;
}
