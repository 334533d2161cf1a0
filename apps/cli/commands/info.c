/* info.c: `kith info`. Text and JSON use the same names. The secret key of a filter is never read here, so it cannot be
 * shown. */
#include <stdio.h>

#include <kith/filter.h>

#include "cli/commands.h"
#include "cli/files/opened.h"
#include "cli/output/json.h"
#include "cli/input/recipe.h"
#include "cli/server/dump.h"
#include "cli/output/report.h"
#include "cli/values.h"

typedef struct facts {
    const char *path;
    kith_plan plan;
    kith_filter_stats stats;
    kith_hash hash;
    const filter_file *file;
    const kith_filter *filter;
} facts;

typedef char options_text[128];

static const char *text_of_options(const kith_filter *filter, options_text text) {
    (void)kith_filter_options(filter, text, sizeof(options_text));
    return text;
}

static bool store_info(const facts *f, kith_file_info *info) {
    *info = filter_file_info(f->file);
    return info->has_journal;
}

static void put_store_json(const facts *f) {
    kith_file_info info;
    if (!store_info(f, &info))
        return;
    json_open("store", '{');
    json_integer("sequence", info.sequence);
    json_integer("snapshot_sequence", info.snapshot_sequence);
    json_integer("generation", info.generation);
    json_integer("snapshot_bytes", info.file_bytes);
    json_integer("journal_bytes", info.journal_bytes);
    json_integer("incomplete_bytes", info.cut_bytes);
    json_close('}');
}

static void put_json(const facts *f) {
    const kith_plan *plan = &f->plan;
    const kith_filter_stats *stats = &f->stats;
    json_open(NULL, '{');
    json_text("file", f->path);
    json_text("kind", plan->kind);
    options_text options;
    json_text("options", text_of_options(f->filter, options));
    json_integer("capacity", stats->capacity);
    json_integer("keys", stats->count);
    json_number("estimated_keys", stats->keys_now);
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
    json_integer("lookup_cells", plan->lookup_cells);
    json_integer("max_copies", plan->max_copies);
    json_integer("search_slots", plan->search_slots);
    json_integer("stuck", stats->stuck);
    json_integer("layers", stats->layers);
    json_text("hash", f->hash.id == KITH_HASH_SIPHASH ? "siphash" : "xxh3");
    if (f->hash.id == KITH_HASH_XXH3)
        json_integer("seed", f->hash.seed);
    capability_text can;
    json_text("can", text_of_abilities(plan->capabilities, can));
    recipe_text recipe;
    json_text("recipe", text_of_recipe(kith_filter_recipe(f->filter), recipe));
    json_integer("recipe_bits", kith_filter_recipe(f->filter));
    json_open("notes", '{');
    for (size_t i = 0; i < kith_filter_note_count(f->filter); i++)
        json_text(kith_filter_note_at(f->filter, i).name, kith_filter_note_at(f->filter, i).value);
    json_close('}');
    put_store_json(f);
    json_close('}');
    json_end();
}

static void line(const char *name, const char *value) {
    out_text("%s", out_is_coloured() ? "\033[1m" : "");
    out_plain("%-16s", name);
    out_text("%s ", out_is_coloured() ? "\033[0m" : "");
    out_plain("%s", value);
    out_text("\n");
}

/* Prints both numbers of keys, and why they differ. */
static void put_keys(const facts *f) {
    const kith_filter_stats *stats = &f->stats;
    value_text one;
    bool bits = f->plan.hashes > 0, copies = (f->plan.capabilities & KITH_CAN_COPIES) != 0;
    line("capacity", text_of_integer(stats->capacity, one));
    line("keys", text_of_integer(stats->count, one));
    if (copies) {
        line("", "adds minus removals; a key that was added twice counts twice");
    } else if (bits) {
        line("", "adds that set a new bit; a new key that was a false positive");
        line("", "when it was added is not counted");
    }
    line("estimated keys", text_of_integer((uint64_t)(stats->keys_now + 0.5), one));
    line("", bits && copies ? "distinct keys, from the number of counters in use"
             : bits         ? "from the number of set bits; includes keys not counted above"
                            : "no estimate needed: keys are counted exactly");
}

static void put_store_text(const facts *f) {
    kith_file_info info;
    value_text one, two;
    char text[160];
    if (!store_info(f, &info))
        return;
    (void)snprintf(text, sizeof text, "journal of %s bytes with %s record%s", text_of_integer(info.journal_bytes, one),
                   text_of_integer(info.sequence - info.snapshot_sequence, two),
                   info.sequence - info.snapshot_sequence == 1 ? "" : "s");
    line("store", text);
    if (info.cut_bytes > 0) {
        (void)snprintf(text, sizeof text, "and %s bytes of an interrupted or running change, which do not count",
                       text_of_integer(info.cut_bytes, one));
        line("", text);
    }
}

static void put_text(const facts *f) {
    const kith_plan *plan = &f->plan;
    const kith_filter_stats *stats = &f->stats;
    value_text one, two;
    char text[160];
    line("file", f->path);
    line("kind", plan->kind);
    options_text options;
    line("options", text_of_options(f->filter, options));
    put_keys(f);
    (void)snprintf(text, sizeof text, "%s at most", text_of_rate(stats->rate, one));
    line("rate", text);
    line("rate now", text_of_rate(stats->rate_now, one));
    (void)snprintf(text, sizeof text, "%s (%s)", text_of_integer(stats->file_bytes, one),
                   text_of_size(stats->file_bytes, two));
    line("file bytes", text);
    (void)snprintf(text, sizeof text, "%.2f", plan->bits_per_key);
    line("bits per key", text);
    (void)snprintf(text, sizeof text, "%s of %u bit%s each", text_of_integer(stats->cells, one), plan->cell_bits,
                   plan->cell_bits > 1 ? "s" : "");
    line("cells", text);
    (void)snprintf(text, sizeof text, "%.2f%% of the cells in use", stats->load * 100);
    line("load", text);
    (void)snprintf(text, sizeof text, "%u per key", plan->hashes > 0 ? plan->hashes : plan->fingerprint_bits);
    line(plan->hashes > 0 ? "hashes" : "fingerprint bits", text);
    (void)snprintf(text, sizeof text, "%u cache line%s per lookup", plan->lines, plan->lines == 1 ? "" : "s");
    line("lines", text);
    (void)snprintf(text, sizeof text, "%s%u of one key",
                   plan->fingerprint_bits != 0 && plan->max_copies > 1 ? "at least " : "", plan->max_copies);
    line("max copies", text);
    if (plan->search_slots > 0) {
        (void)snprintf(text, sizeof text, "at most %s visited by an add", text_of_integer(plan->search_slots, one));
        line("search slots", text);
    }
    if (stats->stuck > 0)
        (void)snprintf(text, sizeof text, "%s counters at their maximum, which removals do not decrease",
                       text_of_integer(stats->stuck, one));
    if (stats->stuck > 0)
        line("stuck", text);
    if (stats->layers > 1)
        line("layers", text_of_integer(stats->layers, one));
    bool keyed = f->hash.id == KITH_HASH_SIPHASH;
    line("hash", keyed ? "siphash, with a secret key" : "xxh3");
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)f->hash.seed);
    if (!keyed)
        line("seed", text);
    capability_text can;
    line("can", text_of_abilities(plan->capabilities, can));
    put_store_text(f);
    recipe_text recipe;
    line("recipe", text_of_recipe(kith_filter_recipe(f->filter), recipe));
    for (size_t i = 0; i < kith_filter_note_count(f->filter); i++)
        line(kith_filter_note_at(f->filter, i).name, kith_filter_note_at(f->filter, i).value);
}

/* ---- dumps of RedisBloom's filters ---- */

static void put_dump_json(const char *path, const redis_dump *dump, const redis_dump_facts *numbers) {
    json_open(NULL, '{');
    json_text("file", path);
    json_text("dump", dump->type == REDIS_DUMP_BLOOM ? "MBbloom--" : "MBbloomCF");
    json_integer("items", numbers->items);
    if (dump->type == REDIS_DUMP_CUCKOO)
        json_integer("deleted", numbers->deleted);
    json_integer("filters", numbers->filters);
    json_integer("data_bytes", numbers->data_bytes);
    json_integer("chunks", dump->chunk_count);
    json_integer("file_bytes", dump->byte_count);
    json_close('}');
    json_end();
}

static void put_dump_text(const char *path, const redis_dump *dump, const redis_dump_facts *numbers) {
    value_text one;
    char text[160];
    line("file", path);
    (void)snprintf(text, sizeof text, "%s of RedisBloom, type %s", redis_dump_name(dump),
                   dump->type == REDIS_DUMP_BLOOM ? "MBbloom--" : "MBbloomCF");
    line("dump", text);
    line("", "kith push loads it into a server; kith cannot look keys up in it");
    line("items", text_of_integer(numbers->items, one));
    if (dump->type == REDIS_DUMP_CUCKOO)
        line("deleted", text_of_integer(numbers->deleted, one));
    line("filters", text_of_integer(numbers->filters, one));
    line("data bytes", text_of_integer(numbers->data_bytes, one));
    line("chunks", text_of_integer(dump->chunk_count, one));
    line("file bytes", text_of_integer(dump->byte_count, one));
}

static bool put_dump(const arguments *a, const char *path, bool first) {
    redis_dump dump;
    reason_text reason;
    if (!redis_dump_try_open(path, a, &dump, reason)) {
        note("%s: %s", path, reason);
        return false;
    }
    redis_dump_facts numbers = redis_dump_facts_of(&dump);
    if (a->json) {
        put_dump_json(path, &dump, &numbers);
    } else {
        if (!first)
            out("\n", 1);
        put_dump_text(path, &dump, &numbers);
    }
    redis_dump_free(&dump);
    return true;
}

/* Returns false, after a message on stderr, if the file cannot be read. */
static bool put_file(const arguments *a, const char *path, bool first) {
    facts f = {.path = path, .plan = KITH_PLAN_INIT, .stats = KITH_FILTER_STATS_INIT};
    reason_text reason;
    filter_file file;
    if (redis_dump_is(path))
        return put_dump(a, path, first);
    if (filter_file_try(&file, path, KITH_FILE_READ, KITH_FILE_LOCK_DEFAULT, a, reason) != KITH_OK) {
        note("%s: %s", path, reason);
        return false;
    }
    const kith_filter *filter = filter_of(&file);
    kith_status status = kith_filter_plan_of(filter, &f.plan);
    if (status == KITH_OK)
        status = kith_filter_stats_of(filter, &f.stats);
    if (status != KITH_OK)
        fail_status(path, status);
    f.hash = kith_filter_hash(filter);
    f.file = &file;
    f.filter = filter;
    if (a->json) {
        put_json(&f);
    } else {
        if (!first)
            out("\n", 1);
        put_text(&f);
    }
    filter_file_close(&file);
    return true;
}

int command_info(const arguments *a) {
    size_t shown = 0;
    for (size_t i = 0; i < a->operand_count; i++)
        shown += put_file(a, a->operands[i], shown == 0);
    return shown == a->operand_count ? EXIT_FOUND : EXIT_ERROR;
}
