/* cuckoo: a hash table with cuckoo hashing (Pagh, Rodler, "Cuckoo Hashing", 2001; with d functions: Fotakis, Pagh,
 * Sanders, Spirakis, 2003; with b slots per bucket: Dietzfelbinger, Weidling, 2005).
 *
 * A key is in one of the b slots of one of its d buckets, or it is not in the table. So lookup and removal always read
 * at most d * b slots.
 *
 *     cuckoo_slots.h     the memory: records, and one byte per slot with the key's tag and an overflow bit, which says
 *                        whether a lookup has to read more than the first bucket
 *     cuckoo_find.c      lookups
 *     cuckoo_insert.c    inserts a new key, and moves others to free a slot for it
 *     cuckoo_rebuild.c   grows the table, and draws new functions if an insertion fails
 *     cuckoo_words.c     get, put and remove for the most common tables: keys of 4 or 8 bytes, and default options
 *     cuckoo.c           options, images, and the other functions of table_kind.h; put and remove for all other tables
 *
 * To free a slot, a put searches at most KITHI_CUCKOO_TABLE_SEARCH_MAX buckets or, with a random walk
 * (cuckoo_insert.c), makes at most `max` steps. If that frees no slot, the steps of the walk are undone, and the table
 * is rebuilt. Each attempt of a rebuild does at most the same work for each key. A put may also make a pass over the
 * table to recompute the overflow bits, but only after more removals than a quarter of the number of slots. */
#include "format/format.h"
#include "tables/cuckoo/find.h"
#include "tables/cuckoo/rebuild.h"
#include "tables/cuckoo/words.h"

static const kith_option OPTIONS[] = {
    [KITHI_CUCKOO_TABLE_OPTION_LAYOUT] = {"layout", "one|two", "one",
                                          "one table for all functions, or one part for each"},
    [KITHI_CUCKOO_TABLE_OPTION_D] = {"d", "2..4", "2", "number of hash functions: buckets that a key may be in"},
    [KITHI_CUCKOO_TABLE_OPTION_B] = {"b", "1..8", "8", "slots per bucket"},
    [KITHI_CUCKOO_TABLE_OPTION_INSERT] =
        {"insert", "auto|search|walk", "auto",
         "how a slot is freed for a new key; auto: walk for d = 2 and b = 1, or if max, start or evict is not the "
         "default, else search"},
    [KITHI_CUCKOO_TABLE_OPTION_LOAD] =
        {"load", "0..100", "0", "grow when this percentage of slots is used; 0: a default that depends on d and b"},
    [KITHI_CUCKOO_TABLE_OPTION_WALK_MAX] =
        {"max", "default|auto|50..65535", "default",
         "steps of a walk; auto: 6 log(slots) / log(1 + delta/2) with slots = (2 + delta) keys, for "
         "d = 2, b = 1 and a load below 50"},
    [KITHI_CUCKOO_TABLE_OPTION_START] = {"start", "first|second|random", "first",
                                         "bucket of the new key in which a walk starts"},
    [KITHI_CUCKOO_TABLE_OPTION_EVICT] =
        {"evict", "last|first", "last",
         "last: evicts an entry only if all buckets of the new key are full; first: evicts one as "
         "soon as the bucket in which the walk starts is full"},
};
static_assert(sizeof OPTIONS / sizeof *OPTIONS <= KITHI_OPTIONS_MAX, "options");

/* Options of a walk contradict insert=search. The formula of max=auto has no meaning for d > 2, b > 1 or a load of 1/2
 * and more. */
static bool options_agree(const kith_table *t) {
    const uint64_t *o = t->options;
    bool has_walk_option = o[KITHI_CUCKOO_TABLE_OPTION_WALK_MAX] != KITHI_CUCKOO_TABLE_WALK_MAX_DEFAULT ||
                           o[KITHI_CUCKOO_TABLE_OPTION_START] != KITHI_CUCKOO_TABLE_START_FIRST ||
                           o[KITHI_CUCKOO_TABLE_OPTION_EVICT] != KITHI_CUCKOO_TABLE_EVICT_LAST;
    if (has_walk_option && o[KITHI_CUCKOO_TABLE_OPTION_INSERT] == KITHI_CUCKOO_TABLE_INSERT_SEARCH)
        return false;
    return o[KITHI_CUCKOO_TABLE_OPTION_WALK_MAX] != KITHI_CUCKOO_TABLE_WALK_MAX_AUTO ||
           (o[KITHI_CUCKOO_TABLE_OPTION_D] == 2 && o[KITHI_CUCKOO_TABLE_OPTION_B] == 1 &&
            kithi_cuckoo_table_load_max(t) < 0.5);
}

/* ---- operations ---- */

/* Returns `status`. If that is KITH_OK, c becomes the state of the table; otherwise it is released. */
static kith_status take_state(kith_table *t, kithi_cuckoo_table *c, kith_status status) {
    if (status != KITH_OK) {
        kithi_release(&t->allocator, c, sizeof *c);
        return status;
    }
    t->state = c;
    kithi_table_use_words(t, kithi_cuckoo_table_words(t));
    return KITH_OK;
}

static kith_status create(kith_table *t, uint64_t capacity) {
    if (!options_agree(t))
        return KITH_E_OPTION_FIT;
    kithi_cuckoo_table *c = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    return take_state(
        t, c, kithi_cuckoo_table_make(t, kithi_cuckoo_table_buckets_for(t, capacity), kithi_prng_next(&t->prng), c));
}

static void destroy(kith_table *t) {
    kithi_cuckoo_table_release(t, t->state);
    kithi_release(&t->allocator, t->state, sizeof(kithi_cuckoo_table));
}

static void clear(kith_table *t) {
    kithi_cuckoo_table *c = t->state;
    memset(c->records, 0, (size_t)(kithi_cuckoo_table_slots(c) * (t->record_bytes + 1))); /* and the tags after them */
    c->stale_overflow_bits = 0;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    const kithi_cuckoo_table *c = t->state;
    return keys > c->keys_max ? kithi_cuckoo_table_rebuild(t, kithi_cuckoo_table_buckets_for(t, keys), NULL, 0)
                              : KITH_OK;
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_table_find(t, key, &hash);
    *was_new = slot == KITHI_CUCKOO_TABLE_NO_SLOT;
    if (!*was_new) {
        kithi_record_set_value(t, c->records + slot * t->record_bytes, value);
        return KITH_OK;
    }
    uint8_t record[KITHI_TABLE_RECORD_BYTES_MAX];
    if (!kithi_record_make(t, key, value, record))
        return KITH_E_MEMORY;
    kith_status status = kithi_cuckoo_table_put_absent(t, record, hash);
    if (status != KITH_OK)
        kithi_record_drop(t, record);
    return status;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    kithi_cuckoo_table *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_table_find(t, key, &hash);
    if (slot == KITHI_CUCKOO_TABLE_NO_SLOT)
        return KITH_E_ABSENT;
    uint8_t *record = c->records + slot * t->record_bytes;
    *value = kithi_record_value(t, record);
    kithi_record_drop(t, record);
    c->tags[slot] &= 0x80;
    c->stale_overflow_bits += slot / c->b != kithi_cuckoo_table_bucket_of_hash(c, 0, hash);
    memset(record, 0, t->record_bytes);
    t->count--;
    return KITH_OK;
}

static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const kithi_cuckoo_table *c = t->state;
    while (cursor->at[0] < kithi_cuckoo_table_slots(c) && (c->tags[cursor->at[0]] & 0x7f) == 0)
        cursor->at[0]++;
    if (cursor->at[0] >= kithi_cuckoo_table_slots(c))
        return false;
    const uint8_t *record = c->records + cursor->at[0]++ * t->record_bytes;
    *key = kithi_record_key(t, record);
    *value = kithi_record_value(t, record);
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    const kithi_cuckoo_table *c = t->state;
    stats->slots = kithi_cuckoo_table_slots(c);
    stats->bytes +=
        sizeof *c + c->block_bytes + c->queue_limit * sizeof *c->queue + 2 * c->search_limit * sizeof *c->visited;
    for (unsigned i = 0; i < KITHI_CUCKOO_TABLE_D_MAX; i++)
        stats->bytes += c->functions[i] != NULL ? kithi_function_bytes(c->functions[i]) : 0;
    stats->longest = (uint64_t)c->d * c->b;
}

static bool is_zero(const kith_table *t, const kithi_cuckoo_table *c, uint64_t slot) {
    const uint8_t *record = c->records + slot * t->record_bytes;
    uint64_t any = 0;
    for (unsigned i = 0; i < t->record_bytes; i += 8)
        any |= kithi_load64(record + i);
    return any == 0;
}

static const char *check(const kith_table *t) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t count = 0;
    for (uint64_t slot = 0; slot < kithi_cuckoo_table_slots(c); slot++) {
        uint8_t tag = c->tags[slot] & 0x7f;
        if (tag == 0) {
            if (!is_zero(t, c, slot))
                return "a free slot is not zero";
            continue;
        }
        count++;
        const uint8_t *record = c->records + slot * t->record_bytes;
        if (t->key_bytes == 4 && kithi_load64(record) >> 32 != 0)
            return "a byte between a key and its value is not zero";
        kithi_key key = kithi_record_key(t, record);
        uint64_t hash;
        if (kithi_cuckoo_table_find(t, &key, &hash) != slot)
            return "a key is stored where a lookup does not find it, or is stored twice";
    }
    for (const uint8_t *at = c->tags + kithi_cuckoo_table_slots(c);
         at < c->records + kithi_cuckoo_table_body_bytes(t, c); at++)
        if (*at != 0)
            return "a byte after the last tag is not zero";
    return count == t->count ? NULL : "the number of used slots differs from the number of keys";
}

/* ---- images: tables as one block of bytes (table_kind.h) ---- */

enum { PARAM_BUCKETS = KITHI_PARAM_TABLE_FIRST_FREE, PARAM_OPTIONS, PARAM_SEED };
static_assert(PARAM_SEED < KITHI_PARAM_COUNT, "the parameters fit into a header");

/* The options in a word, from its lowest byte on: a byte each for layout, d, b, insert and load, four bits each for
 * start and evict, and 16 bits for max. */
enum { START_BIT = 40, EVICT_BIT = 44, MAX_BIT = 48 };

static uint64_t pack_options(const uint64_t *options) {
    uint64_t word = options[KITHI_CUCKOO_TABLE_OPTION_START] << START_BIT |
                    options[KITHI_CUCKOO_TABLE_OPTION_EVICT] << EVICT_BIT |
                    options[KITHI_CUCKOO_TABLE_OPTION_WALK_MAX] << MAX_BIT;
    for (unsigned i = KITHI_CUCKOO_TABLE_OPTION_LAYOUT; i <= KITHI_CUCKOO_TABLE_OPTION_LOAD; i++)
        word |= options[i] << (8 * i);
    return word;
}

static void unpack_options(uint64_t word, uint64_t *options) {
    for (unsigned i = KITHI_CUCKOO_TABLE_OPTION_LAYOUT; i <= KITHI_CUCKOO_TABLE_OPTION_LOAD; i++)
        options[i] = word >> (8 * i) & 0xff;
    options[KITHI_CUCKOO_TABLE_OPTION_START] = word >> START_BIT & 0xf;
    options[KITHI_CUCKOO_TABLE_OPTION_EVICT] = word >> EVICT_BIT & 0xf;
    options[KITHI_CUCKOO_TABLE_OPTION_WALK_MAX] = word >> MAX_BIT;
}

static uint8_t *image(kith_table *t, kithi_head *head) {
    const kithi_cuckoo_table *c = t->state;
    head->params[PARAM_BUCKETS] = c->buckets;
    head->params[PARAM_OPTIONS] = pack_options(t->options);
    head->params[PARAM_SEED] = c->seed;
    head->body_bytes = kithi_cuckoo_table_body_bytes(t, c);
    return c->block;
}

static kith_status attach(kith_table *t, const kithi_head *head, uint8_t *block) {
    enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };
    unpack_options(head->params[PARAM_OPTIONS], t->options);
    if (!kithi_options_valid(OPTIONS, OPTION_COUNT, t->options) || !options_agree(t))
        return KITH_E_CORRUPT;
    kithi_cuckoo_table *c = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    return take_state(
        t, c,
        kithi_cuckoo_table_make_on_block(t, head->params[PARAM_BUCKETS], head->params[PARAM_SEED], head, block, c));
}

const kithi_table_kind kithi_table_cuckoo = {
    .id = 1,
    .info =
        {
            .name = "cuckoo",
            .summary = "cuckoo hashing: at most d buckets per lookup (2 by default); small",
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .takes_strings = true,
    .takes_values = true,
    .create = create,
    .destroy = destroy,
    .clear = clear,
    .reserve = reserve,
    .get = kithi_cuckoo_table_get,
    .get_group = kithi_cuckoo_table_get_group,
    .put = put,
    .remove = remove_one,
    .prefetch = kithi_cuckoo_table_prefetch,
    .next = next,
    .stats = stats,
    .check = check,
    .image = image,
    .attach = attach,
};
