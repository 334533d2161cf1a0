/* cuckoo: a hash table with cuckoo hashing (Pagh, Rodler, "Cuckoo Hashing", 2001; with d functions: Fotakis, Pagh,
 * Sanders, Spirakis, 2003; with b slots per bucket: Dietzfelbinger, Weidling, 2005).
 *
 * A key is in one of the b slots of one of its d buckets, or it is not in the table. So lookup and removal always read
 * at most d * b slots. cuckoo_slots.h describes the memory: records, and one byte per slot with the key's tag and a
 * mark that says whether a lookup has to read more than the first bucket. cuckoo_find.c has the lookups.
 * cuckoo_insert.c inserts a new key and moves others to free a slot for it.
 *
 * If an insertion fails, the table is rebuilt in new memory with newly drawn functions: first up to REHASHES_MAX times
 * at the same size, then up to GROWTHS_MAX times, each time 1.5 times as large as before. The old memory is freed when
 * all keys are in the new one. If all rebuilds fail, put returns KITH_E_FULL and the table is unchanged. That is very
 * unlikely: each growth reduces the load by a third, and well below the threshold the probability that new functions
 * fail is of order 1/count.
 *
 * The worst case of a put without a rebuild is KITHI_CUCKOO_SEARCH_MAX buckets read (for a walk: `max` steps, and as
 * many to undo them). At most once per `slots / STALE_SHARE` removals, it also makes a pass over the table to refresh
 * the marks. The worst case of a put with rebuilds is KITHI_CUCKOO_SEARCH_MAX buckets read per key and rebuild, and
 * REHASHES_MAX + GROWTHS_MAX rebuilds.
 *
 * The table is also rebuilt 1.5 times as large when its load exceeds the option `load`. The defaults stay below the
 * thresholds at which insertion fails (in brackets):
 *
 *     45%   d = 2, b = 1 (0.5)
 *     85%   d = 2, b = 2 (0.897); d > 2, b = 1 (0.918 and more)
 *     95%   all others (0.980 and more)
 *
 * Unless the option `load` is given, slots for a capacity that is known in advance (capacity, reserve) are allocated
 * for a load of at most RESERVED_LOAD: the last keys up to 95% cost many moves, and fewer keys would be in their first
 * bucket. */
#include <assert.h>
#include <math.h>

#include "format/format.h"
#include "tables/cuckoo_find.h"
#include "tables/cuckoo_insert.h"

#define REHASHES_MAX 3
#define GROWTHS_MAX 8
#define BUCKETS_MIN 4
#define BUCKETS_MAX (UINT64_C(1) << 56)
#define RESERVED_LOAD 0.85
#define STALE_SHARE 4

static const kith_option OPTIONS[] = {
    [KITHI_CUCKOO_OPTION_LAYOUT] = {"layout", "one|two", "one", "one table for all functions, or one part for each"},
    [KITHI_CUCKOO_OPTION_D] = {"d", "2..4", "2", "number of hash functions: buckets that a key may be in"},
    [KITHI_CUCKOO_OPTION_B] = {"b", "1..8", "4", "slots per bucket"},
    [KITHI_CUCKOO_OPTION_INSERT] = {"insert", "auto|search|walk", "auto",
                                    "how a slot is freed for a new key; auto: walk for d = 2 and b = 1, else search"},
    [KITHI_CUCKOO_OPTION_LOAD] = {"load", "0..100", "0",
                                  "grow when this percentage of slots is used; 0: a default that depends on d and b"},
    [KITHI_CUCKOO_OPTION_MAX] =
        {"max", "default|auto|50..65535", "default",
         "steps of a walk; auto: 6 log(slots) / log(1 + delta/2) with slots = (2 + delta) keys, for "
         "d = 2, b = 1 and a load below 50"},
    [KITHI_CUCKOO_OPTION_START] = {"start", "first|second|random", "first",
                                   "bucket of the new key in which a walk starts"},
    [KITHI_CUCKOO_OPTION_EVICT] = {"evict", "last|first", "last",
                                   "last: a walk evicts an entry only if all buckets of the new key are full; first: "
                                   "if the one where it starts is"},
};
static_assert(sizeof OPTIONS / sizeof *OPTIONS <= KITHI_OPTIONS_MAX, "options");

/* ---- sizes ---- */

static double load_max(const kith_table *t) {
    uint64_t d = t->options[KITHI_CUCKOO_OPTION_D], b = t->options[KITHI_CUCKOO_OPTION_B];
    if (t->options[KITHI_CUCKOO_OPTION_LOAD] != 0)
        return (double)t->options[KITHI_CUCKOO_OPTION_LOAD] / 100;
    if (b == 1)
        return d == 2 ? 0.45 : 0.85;
    return d == 2 && b == 2 ? 0.85 : 0.95;
}

/* Options of a walk contradict insert=search. The formula of max=auto has no meaning for d > 2, b > 1 or a load of 1/2
 * and more. */
static bool options_agree(const kith_table *t) {
    const uint64_t *o = t->options;
    bool of_walk = o[KITHI_CUCKOO_OPTION_MAX] != KITHI_CUCKOO_MAX_DEFAULT ||
                   o[KITHI_CUCKOO_OPTION_START] != KITHI_CUCKOO_START_FIRST ||
                   o[KITHI_CUCKOO_OPTION_EVICT] != KITHI_CUCKOO_EVICT_LAST;
    if (of_walk && o[KITHI_CUCKOO_OPTION_INSERT] == KITHI_CUCKOO_INSERT_SEARCH)
        return false;
    return o[KITHI_CUCKOO_OPTION_MAX] != KITHI_CUCKOO_MAX_AUTO ||
           (o[KITHI_CUCKOO_OPTION_D] == 2 && o[KITHI_CUCKOO_OPTION_B] == 1 && load_max(t) < 0.5);
}

static uint64_t buckets_for(const kith_table *t, uint64_t keys) {
    double load = load_max(t);
    if (t->options[KITHI_CUCKOO_OPTION_LOAD] == 0 && load > RESERVED_LOAD)
        load = RESERVED_LOAD;
    double buckets = ceil((double)keys / load / (double)t->options[KITHI_CUCKOO_OPTION_B]) + 1;
    return buckets < BUCKETS_MIN ? BUCKETS_MIN : buckets > (double)BUCKETS_MAX ? 2 * BUCKETS_MAX : (uint64_t)buckets;
}

static uint64_t slots_of(const kithi_cuckoo *c) {
    return c->buckets * c->b;
}

/* Computes the size of the body: records, tags, and at least 8 more bytes, because tags are loaded eight at a time.
 * Returns false on overflow. */
static bool body_bytes_of(uint64_t buckets, unsigned b, unsigned record_bytes, uint64_t *bytes) {
    uint64_t slots;
    if (!kithi_mul(buckets, b, &slots) || !kithi_mul(slots, record_bytes + 1, bytes) ||
        !kithi_add(*bytes, 8 + KITHI_BODY_ALIGNMENT - 1, bytes))
        return false;
    *bytes -= *bytes % KITHI_BODY_ALIGNMENT;
    return true;
}

static uint64_t body_size(const kith_table *t, const kithi_cuckoo *c) {
    uint64_t bytes = 0;
    bool fits = body_bytes_of(c->buckets, c->b, t->record_bytes, &bytes);
    assert(fits);
    (void)fits;
    return bytes;
}

/* ---- creating and rebuilding ---- */

static void release_functions(kithi_cuckoo *c) {
    for (unsigned i = 0; i < KITHI_CUCKOO_D_MAX; i++) {
        kith_function_free(c->functions[i]);
        c->functions[i] = NULL;
    }
}

static void release_parts(const kith_table *t, kithi_cuckoo *c) {
    release_functions(c);
    if (!t->readonly)
        kithi_release(&t->allocator, c->block, c->block_bytes);
    kithi_release(&t->allocator, c->queue, c->queue_limit * sizeof *c->queue);
    kithi_release(&t->allocator, c->visited, 2 * c->search_limit * sizeof *c->visited);
}

static kith_status draw_functions(const kith_table *t, uint64_t seed, kithi_cuckoo *c) {
    c->seed = seed;
    for (unsigned i = 0; i < (c->one_hash ? 1 : c->d); i++) {
        kith_status status =
            kith_function_draw(t->family, t->independence, kithi_word(seed, i), &t->allocator, &c->functions[i]);
        if (status != KITH_OK) {
            release_functions(c);
            return status;
        }
    }
    c->flip = c->functions[0]->flip;
    return KITH_OK;
}

/* Sets the fields of *c that do not need memory. */
static kith_status lay_out(const kith_table *t, uint64_t buckets, kithi_cuckoo *c, uint64_t *body_bytes) {
    unsigned d = (unsigned)t->options[KITHI_CUCKOO_OPTION_D], b = (unsigned)t->options[KITHI_CUCKOO_OPTION_B];
    bool partitioned = t->options[KITHI_CUCKOO_OPTION_LAYOUT] == KITHI_CUCKOO_LAYOUT_PARTS;
    *c = (kithi_cuckoo){
        .buckets = buckets,
        .d = d,
        .b = b,
        .partitioned = partitioned,
        .one_hash = t->family == KITH_FAMILY_XXH3 || t->family == KITH_FAMILY_SIPHASH,
        .plain = d == KITHI_CUCKOO_PLAIN_D && b == KITHI_CUCKOO_PLAIN_B && !partitioned && t->key_bytes == 8 &&
                 t->family == KITH_FAMILY_XXH3,
    };
    if (buckets > BUCKETS_MAX || !body_bytes_of(buckets, b, t->record_bytes, body_bytes) ||
        !kithi_block_bytes(*body_bytes, &c->block_bytes))
        return KITH_E_TOO_LARGE;
    c->keys_max = (uint64_t)((double)slots_of(c) * load_max(t));
    return KITH_OK;
}

static void set_block(const kith_table *t, kithi_cuckoo *c, uint8_t *block) {
    c->block = block;
    c->records = block + KITHI_HEADER_BYTES;
    c->tags = c->records + slots_of(c) * t->record_bytes;
}

static kith_status allocate_scratch(const kith_table *t, kithi_cuckoo *c) {
    c->search_limit = (uint32_t)(c->buckets < KITHI_CUCKOO_SEARCH_MAX ? c->buckets : KITHI_CUCKOO_SEARCH_MAX);
    /* The longest walk: max=auto increases with the number of keys. */
    uint64_t keys = c->keys_max + 1 < slots_of(c) / 2 ? c->keys_max + 1 : (slots_of(c) - 1) / 2;
    uint64_t walk_max = kithi_cuckoo_walk_max(t, c, keys);
    c->queue_limit = walk_max > c->search_limit ? (uint32_t)walk_max : c->search_limit;
    c->queue = kithi_allocate(&t->allocator, c->queue_limit * sizeof *c->queue);
    c->visited = kithi_allocate(&t->allocator, 2 * c->search_limit * sizeof *c->visited);
    return c->queue != NULL && c->visited != NULL ? KITH_OK : KITH_E_MEMORY;
}

/* Creates an empty table in *c. On failure nothing stays allocated. */
static kith_status make(kith_table *t, uint64_t buckets, kithi_cuckoo *c) {
    unsigned d = (unsigned)t->options[KITHI_CUCKOO_OPTION_D];
    uint64_t body_bytes;
    kith_status status = lay_out(t, (buckets + d - 1) / d * d, c, &body_bytes);
    if (status == KITH_OK)
        status = draw_functions(t, kithi_prng_next(&t->prng), c);
    if (status != KITH_OK)
        return status;
    uint8_t *block = kithi_allocate(&t->allocator, c->block_bytes);
    status = block != NULL ? allocate_scratch(t, c) : KITH_E_MEMORY;
    c->block = block;
    if (status != KITH_OK) {
        release_parts(t, c);
        return status;
    }
    set_block(t, c, block);
    return KITH_OK;
}

/* Inserts all records of one table into another. Works on groups of GROUP records, so that the buckets of the whole
 * group are prefetched before the first record is inserted. */
static bool insert_all(kith_table *t, const kithi_cuckoo *from, const kithi_cuckoo *to) {
    enum { GROUP = 16 };
    uint64_t slots[GROUP], hashes[GROUP], next = 0;
    for (;;) {
        unsigned n = 0;
        for (; n < GROUP && next < slots_of(from); next++) {
            if ((from->tags[next] & 0x7f) == 0)
                continue;
            kithi_key key = kithi_record_key(t, from->records + next * t->record_bytes);
            slots[n] = next;
            hashes[n] = kithi_cuckoo_hash(to, &key);
            uint64_t bucket = kithi_cuckoo_bucket_at(to, 0, hashes[n++]);
            __builtin_prefetch(to->tags + bucket * to->b);
            __builtin_prefetch(kithi_cuckoo_record(t, to, bucket, 0), 1);
        }
        if (n == 0)
            return true;
        for (unsigned i = 0; i < n; i++)
            if (!kithi_cuckoo_insert(t, to, from->records + slots[i] * t->record_bytes, hashes[i]))
                return false;
    }
}

static bool insert_extra(kith_table *t, const kithi_cuckoo *c, const uint8_t *record) {
    kithi_key key = kithi_record_key(t, record);
    return kithi_cuckoo_insert(t, c, record, kithi_cuckoo_hash(c, &key));
}

/* Moves all keys, and `extra` unless it is NULL, into a new table of at least `buckets` buckets. */
static kith_status rebuild(kith_table *t, uint64_t buckets, const uint8_t *extra) {
    kithi_cuckoo *old = t->state;
    uint64_t rehashes = t->rehashes, growths = t->growths, slots = slots_of(old);
    for (unsigned attempt = 0; attempt < REHASHES_MAX + GROWTHS_MAX; attempt++) {
        if (attempt >= REHASHES_MAX)
            buckets += buckets / 2;
        kithi_cuckoo fresh;
        kith_status status = make(t, buckets, &fresh);
        if (status != KITH_OK) {
            t->rehashes = rehashes;
            t->growths = growths;
            return status;
        }
        bool larger = fresh.buckets > old->buckets && (attempt == 0 || attempt >= REHASHES_MAX);
        if (larger) {
            kithi_table_grown(t, slots, slots_of(&fresh)); /* `slots`: of the attempt before, or of the old table */
            slots = slots_of(&fresh);
        } else {
            kithi_trace(t, KITH_STEP_REHASH, 0, 0);
            t->rehashes++;
        }
        if (insert_all(t, old, &fresh) && (extra == NULL || insert_extra(t, &fresh, extra))) {
            release_parts(t, old);
            *old = fresh;
            return KITH_OK;
        }
        release_parts(t, &fresh);
    }
    t->rehashes = rehashes;
    t->growths = growths;
    return KITH_E_FULL;
}

/* ---- operations ---- */

static kith_status create(kith_table *t, uint64_t capacity) {
    if (!options_agree(t))
        return KITH_E_OPTION;
    kithi_cuckoo *c = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    kith_status status = make(t, buckets_for(t, capacity), c);
    if (status != KITH_OK) {
        kithi_release(&t->allocator, c, sizeof *c);
        return status;
    }
    t->state = c;
    t->has_words = c->plain;
    return KITH_OK;
}

static void destroy(kith_table *t) {
    release_parts(t, t->state);
    kithi_release(&t->allocator, t->state, sizeof(kithi_cuckoo));
}

static void clear(kith_table *t) {
    kithi_cuckoo *c = t->state;
    memset(c->records, 0, (size_t)(slots_of(c) * (t->record_bytes + 1)));
    c->stale_marks = 0;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    const kithi_cuckoo *c = t->state;
    return keys > c->keys_max ? rebuild(t, buckets_for(t, keys), NULL) : KITH_OK;
}

/* The fast path of put: uses a free slot of the first bucket. Returns false, without a change, if there is none or the
 * table has to grow. */
static bool put_first(kith_table *t, const kithi_cuckoo *c, const kithi_key *key, uint64_t hash, uint64_t value,
                      kith_status *status) {
    uint64_t bucket = kithi_cuckoo_bucket_at(c, 0, hash), free = kithi_cuckoo_free_slots(c, bucket);
    if (free == 0 || t->count >= c->keys_max)
        return false;
    unsigned slot = kithi_cuckoo_slot(free);
    *status = KITH_E_MEMORY;
    if (kithi_record_make(t, key, value, kithi_cuckoo_record(t, c, bucket, slot))) {
        kithi_cuckoo_set_tag(c, bucket, slot, kithi_cuckoo_tag_bits(c, hash));
        t->count++;
        *status = KITH_OK;
    }
    return true;
}

/* Clears all marks and sets those that are needed. Marks of removed keys make lookups slower, so put calls this as soon
 * as more than a quarter of the slots may have stale marks. */
static void refresh_marks(const kith_table *t, kithi_cuckoo *c) {
    for (uint64_t slot = 0; slot < slots_of(c); slot++)
        c->tags[slot] &= 0x7f;
    for (uint64_t slot = 0; slot < slots_of(c); slot++) {
        if ((c->tags[slot] & 0x7f) == 0)
            continue;
        kithi_key key = kithi_record_key(t, c->records + slot * t->record_bytes);
        kithi_cuckoo_mark(c, slot / c->b, kithi_cuckoo_hash(c, &key));
    }
    c->stale_marks = 0;
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    kithi_cuckoo *c = t->state;
    if (c->stale_marks > slots_of(c) / STALE_SHARE)
        refresh_marks(t, c);
    uint64_t hash, slot = kithi_cuckoo_find(t, key, &hash);
    *was_new = slot == KITHI_CUCKOO_NO_SLOT;
    if (!*was_new) {
        kithi_record_set_value(t, c->records + slot * t->record_bytes, value);
        return KITH_OK;
    }
    kith_status status = KITH_OK;
    if (t->options[KITHI_CUCKOO_OPTION_EVICT] == KITHI_CUCKOO_EVICT_LAST && put_first(t, c, key, hash, value, &status))
        return status;
    uint8_t record[KITHI_RECORD_MAX];
    if (!kithi_record_make(t, key, value, record))
        return KITH_E_MEMORY;
    if (t->count >= c->keys_max)
        status = rebuild(t, c->buckets + c->buckets / 2, record);
    else if (!kithi_cuckoo_insert(t, c, record, hash))
        status = rebuild(t, c->buckets, record);
    if (status == KITH_OK)
        t->count++;
    else
        kithi_record_drop(t, record);
    return status;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    kithi_cuckoo *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_find(t, key, &hash);
    if (slot == KITHI_CUCKOO_NO_SLOT)
        return KITH_E_ABSENT;
    uint8_t *record = c->records + slot * t->record_bytes;
    *value = kithi_record_value(t, record);
    kithi_record_drop(t, record);
    c->tags[slot] &= 0x80;
    c->stale_marks += slot / c->b != kithi_cuckoo_bucket_at(c, 0, hash);
    memset(record, 0, t->record_bytes);
    t->count--;
    return KITH_OK;
}

static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    while (cursor->at[0] < slots_of(c) && (c->tags[cursor->at[0]] & 0x7f) == 0)
        cursor->at[0]++;
    if (cursor->at[0] >= slots_of(c))
        return false;
    const uint8_t *record = c->records + cursor->at[0]++ * t->record_bytes;
    *key = kithi_record_key(t, record);
    *value = kithi_record_value(t, record);
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    const kithi_cuckoo *c = t->state;
    stats->slots = slots_of(c);
    stats->bytes +=
        sizeof *c + c->block_bytes + c->queue_limit * sizeof *c->queue + 2 * c->search_limit * sizeof *c->visited;
    for (unsigned i = 0; i < KITHI_CUCKOO_D_MAX; i++)
        stats->bytes += c->functions[i] != NULL ? kithi_function_bytes(c->functions[i]) : 0;
    stats->longest = (uint64_t)c->d * c->b;
}

static bool is_zero(const kith_table *t, const kithi_cuckoo *c, uint64_t slot) {
    const uint8_t *record = c->records + slot * t->record_bytes;
    uint64_t any = 0;
    for (unsigned i = 0; i < t->record_bytes; i += 8)
        any |= kithi_load64(record + i);
    return any == 0;
}

static const char *check(const kith_table *t) {
    const kithi_cuckoo *c = t->state;
    uint64_t count = 0;
    for (uint64_t slot = 0; slot < slots_of(c); slot++) {
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
        if (kithi_cuckoo_find(t, &key, &hash) != slot)
            return "a key is stored where a lookup does not find it, or is stored twice";
    }
    for (const uint8_t *at = c->tags + slots_of(c); at < c->records + body_size(t, c); at++)
        if (*at != 0)
            return "a byte after the last tag is not zero";
    return count == t->count ? NULL : "the number of used slots differs from the number of keys";
}

/* ---- images ---- */

enum { PARAM_BUCKETS = KITHI_TABLE_PARAMS, PARAM_OPTIONS, PARAM_SEED };
static_assert(PARAM_SEED < KITHI_PARAMS, "the parameters fit into a header");

/* The options in a word: a byte each for layout, d, b, insert and load, four bits each for start and evict, and 16 bits
 * for max. The last three are 0 by default. */
enum { START_BIT = 40, EVICT_BIT = 44, MAX_BIT = 48 };

static uint64_t pack_options(const uint64_t *options) {
    uint64_t word = options[KITHI_CUCKOO_OPTION_START] << START_BIT | options[KITHI_CUCKOO_OPTION_EVICT] << EVICT_BIT |
                    options[KITHI_CUCKOO_OPTION_MAX] << MAX_BIT;
    for (unsigned i = KITHI_CUCKOO_OPTION_LAYOUT; i <= KITHI_CUCKOO_OPTION_LOAD; i++)
        word |= options[i] << (8 * i);
    return word;
}

static void unpack_options(uint64_t word, uint64_t *options) {
    for (unsigned i = KITHI_CUCKOO_OPTION_LAYOUT; i <= KITHI_CUCKOO_OPTION_LOAD; i++)
        options[i] = word >> (8 * i) & 0xff;
    options[KITHI_CUCKOO_OPTION_START] = word >> START_BIT & 0xf;
    options[KITHI_CUCKOO_OPTION_EVICT] = word >> EVICT_BIT & 0xf;
    options[KITHI_CUCKOO_OPTION_MAX] = word >> MAX_BIT;
}

static uint8_t *image(kith_table *t, kithi_head *head) {
    const kithi_cuckoo *c = t->state;
    head->params[PARAM_BUCKETS] = c->buckets;
    head->params[PARAM_OPTIONS] = pack_options(t->options);
    head->params[PARAM_SEED] = c->seed;
    head->body_bytes = body_size(t, c);
    return c->block;
}

/* The parameters may have any value, so the size that follows from them must be that of the body. */
static kith_status attach(kith_table *t, const kithi_head *head, uint8_t *block) {
    enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };
    unpack_options(head->params[PARAM_OPTIONS], t->options);
    uint64_t buckets = head->params[PARAM_BUCKETS], body_bytes;
    if (!kithi_options_valid(OPTIONS, OPTION_COUNT, t->options) || !options_agree(t) || buckets < BUCKETS_MIN ||
        buckets % t->options[KITHI_CUCKOO_OPTION_D] != 0)
        return KITH_E_CORRUPT;
    kithi_cuckoo *c = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    kith_status status = lay_out(t, buckets, c, &body_bytes);
    if (status == KITH_OK && (body_bytes != head->body_bytes || head->count > slots_of(c)))
        status = KITH_E_CORRUPT;
    if (status == KITH_OK)
        status = draw_functions(t, head->params[PARAM_SEED], c);
    if (status == KITH_OK && !t->readonly)
        status = allocate_scratch(t, c);
    if (status != KITH_OK) {
        release_parts(t, c);
        kithi_release(&t->allocator, c, sizeof *c);
        return status == KITH_E_TOO_LARGE ? KITH_E_CORRUPT : status;
    }
    set_block(t, c, block);
    t->state = c;
    t->has_words = c->plain;
    return KITH_OK;
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
    .get = kithi_cuckoo_get,
    .get_word = kithi_cuckoo_get_word,
    .get_group = kithi_cuckoo_get_group,
    .put = put,
    .remove = remove_one,
    .prefetch = kithi_cuckoo_prefetch,
    .next = next,
    .stats = stats,
    .check = check,
    .image = image,
    .attach = attach,
};
