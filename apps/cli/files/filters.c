/* filters.c: hashes, memory and filters of the commands; see filters.h. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/files/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/recipe.h"
#include "cli/output/report.h"
#include "cli/uninterrupted.h"
#include "cli/values.h"

/* ---- the hash ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool key_of_hex(const char *digits, uint8_t *key) {
    for (size_t i = 0; i < KITH_HASH_KEY_BYTES; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

size_t read_start(const char *path, char *bytes, size_t byte_count) {
    int fd = open_fully(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        fail_errno(path);
    size_t used = 0;
    for (ssize_t got = 1; used < byte_count && got != 0;) {
        got = read(fd, bytes + used, byte_count - used);
        if (got < 0 && errno != EINTR)
            fail_errno(path);
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    return used;
}

static void key_read(const char *path, uint8_t *key) {
    char bytes[2 * KITH_HASH_KEY_BYTES + 3]; /* hex digits, CR LF, and one more to detect a longer file */
    size_t used = read_start(path, bytes, sizeof bytes);
    if (used == KITH_HASH_KEY_BYTES) {
        memcpy(key, bytes, KITH_HASH_KEY_BYTES);
        return;
    }
    while (used > 0 && (bytes[used - 1] == '\n' || bytes[used - 1] == '\r'))
        used--;
    if (used != (size_t)2 * KITH_HASH_KEY_BYTES || !key_of_hex(bytes, key))
        fail("%s: not a secret key, which has 16 bytes or 32 hex digits", path);
}

kith_hash hash_asked(const arguments *a) {
    kith_hash hash = {.id = KITH_HASH_XXH3, .seed = a->seed};
    if (!a->untrusted && a->key_file == NULL)
        return hash;
    if (a->seed_given)
        fail("--seed cannot be combined with --untrusted or --key-file: the keyed hash has a secret key instead of a "
             "seed");
    if (a->key_file != NULL) {
        hash.id = KITH_HASH_SIPHASH;
        key_read(a->key_file, hash.key);
        return hash;
    }
    kith_status status = kith_hash_untrusted(&hash);
    if (status != KITH_OK)
        fail_status("--untrusted", status);
    return hash;
}

/* ---- memory ---- */

bool memory_suffices(const arguments *a, uint64_t needed, reason_text reason) {
    value_text need, limit;
    if (needed <= a->memory)
        return true;
    (void)snprintf(reason, sizeof(reason_text), "needs %s of memory; the limit is %s (%s)", text_of_size(needed, need),
                   text_of_size(a->memory, limit),
                   a->memory_given ? "--memory" : "half of the machine's memory; --memory changes it");
    return false;
}

void memory_check(const arguments *a, uint64_t needed, const char *what_for) {
    reason_text reason;
    if (!memory_suffices(a, needed, reason))
        fail("%s %s", what_for, reason);
}

void filter_limit(kith_filter *filter, const arguments *a, uint64_t held) {
    kith_filter_set_limit(filter, held < a->memory ? a->memory - held : 1); /* 0 would mean no limit */
}

noreturn void fail_growth(const arguments *a, const char *name) {
    value_text limit;
    fail("%s: it has to grow to hold more keys, but the limit is %s of memory%s; raise --memory", name,
         text_of_size(a->memory, limit), a->memory_given ? "" : ", half of the machine's memory");
}

/* ---- two filters ---- */

static const char *hash_name(kith_hash_id id) {
    return id == KITH_HASH_SIPHASH ? "keyed (siphash)" : "xxh3";
}

kith_plan plan_must(const char *path, const kith_filter *filter) {
    kith_plan plan = KITH_PLAN_INIT;
    kith_status status = kith_filter_plan_of(filter, &plan);
    if (status != KITH_OK)
        fail_status(path, status);
    return plan;
}

void filters_check_alike(const char *verb, uint32_t capability, const char *path_a, const kith_filter *a,
                         const char *path_b, const kith_filter *b) {
    const char *paths[] = {path_a, path_b};
    const kith_filter *both[] = {a, b};
    for (int i = 0; i < 2; i++)
        if ((kith_filter_capabilities(both[i]) & capability) == 0)
            fail("%s: filters of kind %s do not support %s (kith kinds lists what each kind supports)", paths[i],
                 kith_filter_kind_name(both[i]), verb);
    if (strcmp(kith_filter_kind_name(a), kith_filter_kind_name(b)) != 0)
        fail("cannot %s %s and %s: their kinds are %s and %s", verb, path_a, path_b, kith_filter_kind_name(a),
             kith_filter_kind_name(b));
    uint64_t recipe_a = kith_filter_recipe(a), recipe_b = kith_filter_recipe(b);
    recipe_text made_a, made_b;
    if (recipe_a != recipe_b)
        fail("cannot %s %s and %s: their keys were made with different options, %s and %s", verb, path_a, path_b,
             text_of_recipe(recipe_a, made_a), text_of_recipe(recipe_b, made_b));
    kith_hash hash_a = kith_filter_hash(a), hash_b = kith_filter_hash(b);
    if (hash_a.id != hash_b.id)
        fail("cannot %s %s and %s: their hashes are %s and %s", verb, path_a, path_b, hash_name(hash_a.id),
             hash_name(hash_b.id));
    if (hash_a.seed != hash_b.seed)
        fail("cannot %s %s and %s: their seeds are %llu and %llu", verb, path_a, path_b,
             (unsigned long long)hash_a.seed, (unsigned long long)hash_b.seed);
    kith_plan plan_a = plan_must(path_a, a), plan_b = plan_must(path_b, b);
    value_text text_a, text_b;
    if (plan_a.capacity != plan_b.capacity)
        fail("cannot %s %s and %s: their capacities are %s and %s keys (kith build --like makes them equal)", verb,
             path_a, path_b, text_of_integer(plan_a.capacity, text_a), text_of_integer(plan_b.capacity, text_b));
    if (plan_a.rate != plan_b.rate)
        fail("cannot %s %s and %s: their rates are %s and %s", verb, path_a, path_b, text_of_rate(plan_a.rate, text_a),
             text_of_rate(plan_b.rate, text_b));
}

/* ---- words ---- */

const char *text_of_capabilities(uint32_t capabilities, const char *between, capability_text text) {
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
        {KITH_CAN_ADD, "add"},     {KITH_CAN_REMOVE, "remove"},       {KITH_CAN_COPIES, "copies"},
        {KITH_CAN_MERGE, "merge"}, {KITH_CAN_INTERSECT, "intersect"}, {KITH_CAN_SUBSET, "compare"},
        {KITH_CAN_GROW, "grow"},
    };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (capabilities & words[i].bit)
            used += (size_t)snprintf(text + used, sizeof(capability_text) - used, "%s%s", used > 0 ? between : "",
                                     words[i].word);
    return text;
}

const char *text_of_abilities(uint32_t capabilities, capability_text text) {
    text_of_capabilities(capabilities, " ", text);
    return text[0] != '\0' ? text : "static";
}

void filter_check_adds(const char *path, const kith_filter *filter) {
    if ((kith_filter_capabilities(filter) & KITH_CAN_ADD) == 0)
        fail("%s: filters of kind %s can only be built from a complete list of keys; build it again from all keys, or "
             "with another kind",
             path, kith_filter_kind_name(filter));
}
