/* Creates and rebuilds cuckoo tables.
 *
 * A table is rebuilt 1.5 times as large when one more key would make its load exceed the option `load`, or the default
 * below. With xxh3 and siphash the new table has the same function. The number of a bucket is the high half of
 * hash * buckets, so it increases with the hash value. Entries that are in their first bucket therefore keep their
 * order, and the new table is filled almost in order, from its first to its last cache line. With another function,
 * each entry would go to a random cache line. The other families draw new functions, because the theorems about them
 * assume that functions are drawn independently of the keys.
 *
 * Entries are hashed again even if the function is kept. The new bucket depends on hash bits below those that selected
 * the old one, and the table does not store these bits. A slot stores only the lowest 7 bits of the hash, as its tag.
 * It does not even store whether its bucket is the first or the second one of its key. Storing the whole hash would
 * take 8 more bytes per slot, 25 instead of 17 for keys of 8 bytes. With xxh3 it would save at most 8% of the
 * instructions of puts into a growing table, because such a key is hashed in 22 instructions. With siphash it would
 * save at most 28%.
 *
 * If an insertion fails, the table is rebuilt with newly drawn functions: first up to REHASHES_MAX times at the same
 * size, then up to GROWTHS_MAX times, each time 1.5 times as large as before. The old memory is freed when all keys are
 * in the new one. If all rebuilds fail, put returns KITH_E_FULL and the table is unchanged. That is very unlikely: each
 * growth reduces the load by a third, and at low loads the probability that new functions fail is of order 1/count.
 *
 * There is a threshold of the load, which depends on d and b: in a large table, insertions nearly always succeed below
 * it and fail above it. The default loads stay below the thresholds (in brackets):
 *
 *     45%   d = 2, b = 1 (0.5)
 *     85%   d = 2, b = 2 (0.897); d > 2, b = 1 (0.918 and more)
 *     95%   all others (0.959 and more)
 *
 * If the number of keys is known in advance (capacity, reserve), slots are allocated such that their load will be at
 * most RESERVED_LOAD, unless the option `load` is given. Filling the slots up to 95% would take many moves, and fewer
 * keys would be in their first bucket. */
#include "tables/cuckoo/rebuild.h"

#include <assert.h>
#include <math.h>

#include "format/format.h"
#include "tables/cuckoo/insert.h"

#define REHASHES_MAX 3
#define GROWTHS_MAX 8
#define BUCKETS_MAX (UINT64_C(1) << 56)
#define RESERVED_LOAD 0.80
#define STALE_SHARE 4 /* overflow bits are recomputed when more than one per 4 slots may be stale */
/* An image with at most this many keys is accepted even if it has more than keys_max. Small tables with a low `load`
 * may have more: with load=1 (1%), tables of up to 13 keys do. */
#define FEW_KEYS 64

/* ---- sizes ---- */

static uint64_t load_percent(const kith_table *t) {
    uint64_t d = t->options[KITHI_CUCKOO_TABLE_OPTION_D], b = t->options[KITHI_CUCKOO_TABLE_OPTION_B];
    if (t->options[KITHI_CUCKOO_TABLE_OPTION_LOAD] != 0)
        return t->options[KITHI_CUCKOO_TABLE_OPTION_LOAD];
    if (b == 1)
        return d == 2 ? 45 : 85;
    return d == 2 && b == 2 ? 85 : 95;
}

double kithi_cuckoo_table_load_max(const kith_table *t) {
    return (double)load_percent(t) / 100;
}

/* Returns the most keys that an image may have. It is computed with integers, so that every reader gets the same. */
static uint64_t image_keys_max(const kith_table *t, const kithi_cuckoo_table *c) {
    uint64_t slots = kithi_cuckoo_table_slots(c), percent = load_percent(t);
    uint64_t keys_max = slots / 100 * percent + slots % 100 * percent / 100;
    return keys_max > FEW_KEYS ? keys_max : FEW_KEYS;
}

uint64_t kithi_cuckoo_table_buckets_for(const kith_table *t, uint64_t keys) {
    double load = kithi_cuckoo_table_load_max(t);
    if (t->options[KITHI_CUCKOO_TABLE_OPTION_LOAD] == 0 && load > RESERVED_LOAD)
        load = RESERVED_LOAD;
    /* One more, in case the quotient was rounded down. */
    double buckets = ceil((double)keys / load / (double)t->options[KITHI_CUCKOO_TABLE_OPTION_B]) + 1;
    return buckets < KITHI_CUCKOO_TABLE_BUCKETS_MIN ? KITHI_CUCKOO_TABLE_BUCKETS_MIN
           : buckets > (double)BUCKETS_MAX          ? 2 * BUCKETS_MAX
                                                    : (uint64_t)buckets;
}

/* Computes the size of the body: records, tags, and at least 8 zeros (cuckoo_slots.h). Returns false on overflow. */
static bool body_bytes_of(uint64_t buckets, unsigned b, unsigned record_bytes, uint64_t *bytes) {
    uint64_t slots;
    if (!kithi_checked_mul(buckets, b, &slots) || !kithi_checked_mul(slots, record_bytes + 1, bytes) ||
        !kithi_checked_add(*bytes, 8 + KITHI_BODY_ALIGNMENT - 1, bytes))
        return false;
    *bytes -= *bytes % KITHI_BODY_ALIGNMENT;
    return true;
}

uint64_t kithi_cuckoo_table_body_bytes(const kith_table *t, const kithi_cuckoo_table *c) {
    uint64_t bytes = 0;
    bool fits = body_bytes_of(c->buckets, c->b, t->record_bytes, &bytes);
    assert(fits);
    (void)fits;
    return bytes;
}

/* ---- creating ---- */

static void release_functions(kithi_cuckoo_table *c) {
    for (unsigned i = 0; i < KITHI_CUCKOO_TABLE_D_MAX; i++) {
        kith_function_free(c->functions[i]);
        c->functions[i] = NULL;
    }
}

void kithi_cuckoo_table_release(const kith_table *t, kithi_cuckoo_table *c) {
    release_functions(c);
    if (!t->readonly)
        kithi_release(&t->allocator, c->block, c->block_bytes);
    kithi_release(&t->allocator, c->queue, c->queue_limit * sizeof *c->queue);
    kithi_release(&t->allocator, c->visited, 2 * c->search_limit * sizeof *c->visited);
}

static kith_status draw_functions(const kith_table *t, uint64_t seed, kithi_cuckoo_table *c) {
    c->seed = seed;
    for (unsigned i = 0; i < (c->one_hash ? 1 : c->d); i++) {
        kith_status status =
            kith_function_draw(t->family, t->independence, kithi_mixed_word(seed, i), &t->allocator, &c->functions[i]);
        if (status != KITH_OK) {
            release_functions(c);
            return status;
        }
    }
    c->flip = c->functions[0]->flip;
    return KITH_OK;
}

/* Sets the fields of *c that follow from the options and the number of buckets, and computes the size of the body. */
static kith_status lay_out(const kith_table *t, uint64_t buckets, kithi_cuckoo_table *c, uint64_t *body_bytes) {
    *c = (kithi_cuckoo_table){
        .buckets = buckets,
        .d = (unsigned)t->options[KITHI_CUCKOO_TABLE_OPTION_D],
        .b = (unsigned)t->options[KITHI_CUCKOO_TABLE_OPTION_B],
        .partitioned = t->options[KITHI_CUCKOO_TABLE_OPTION_LAYOUT] == KITHI_CUCKOO_TABLE_LAYOUT_PARTS,
        .one_hash = t->family == KITH_FAMILY_XXH3 || t->family == KITH_FAMILY_SIPHASH,
    };
    c->default_shape = c->d == KITHI_CUCKOO_TABLE_D_DEFAULT && c->b == KITHI_CUCKOO_TABLE_B_DEFAULT &&
                       !c->partitioned && c->one_hash && t->record_bytes == KITHI_TABLE_RECORD_BYTES_MAX;
    if (buckets > BUCKETS_MAX || !body_bytes_of(buckets, c->b, t->record_bytes, body_bytes) ||
        !kithi_block_bytes(*body_bytes, &c->block_bytes))
        return KITH_E_ADDRESS;
    c->keys_max = (uint64_t)((double)kithi_cuckoo_table_slots(c) * kithi_cuckoo_table_load_max(t));
    c->stale_max = kithi_cuckoo_table_slots(c) / STALE_SHARE;
    return KITH_OK;
}

static void set_block(const kith_table *t, kithi_cuckoo_table *c, uint8_t *block) {
    c->block = block;
    c->records = block + KITHI_HEADER_BYTES;
    c->tags = c->records + kithi_cuckoo_table_slots(c) * t->record_bytes;
}

/* Allocates the queue and the hash set that insertions need. */
static kith_status allocate_scratch(const kith_table *t, kithi_cuckoo_table *c) {
    c->search_limit =
        (uint32_t)(c->buckets < KITHI_CUCKOO_TABLE_SEARCH_MAX ? c->buckets : KITHI_CUCKOO_TABLE_SEARCH_MAX);
    /* The queue must hold the longest walk. With max=auto the limit increases with the number of keys, so it is
     * computed for the most keys that the table may have: keys_max, or those that it has now. (A small table with a low
     * `load` may have more than keys_max even after it has grown by half.) */
    uint64_t most_keys = (t->count > c->keys_max ? t->count : c->keys_max) + 1;
    uint64_t walk_max = kithi_cuckoo_table_walk_max(t, c, most_keys);
    c->queue_limit = walk_max > c->search_limit ? (uint32_t)walk_max : c->search_limit;
    c->queue = kithi_allocate(&t->allocator, c->queue_limit * sizeof *c->queue);
    c->visited = kithi_allocate(&t->allocator, 2 * c->search_limit * sizeof *c->visited);
    return c->queue != NULL && c->visited != NULL ? KITH_OK : KITH_E_MEMORY;
}

/* Returns `status`. If that is KITH_OK, the table uses the block; otherwise what *c has is released. */
static kith_status finish(const kith_table *t, kithi_cuckoo_table *c, uint8_t *block, kith_status status) {
    if (status == KITH_OK)
        set_block(t, c, block);
    else
        kithi_cuckoo_table_release(t, c);
    return status;
}

kith_status kithi_cuckoo_table_make(const kith_table *t, uint64_t buckets, uint64_t seed, kithi_cuckoo_table *c) {
    unsigned d = (unsigned)t->options[KITHI_CUCKOO_TABLE_OPTION_D];
    uint64_t body_bytes;
    kith_status status = lay_out(t, (buckets + d - 1) / d * d, c, &body_bytes);
    if (status == KITH_OK)
        status = draw_functions(t, seed, c);
    if (status != KITH_OK)
        return status;
    uint8_t *block = kithi_allocate(&t->allocator, c->block_bytes);
    status = block != NULL ? allocate_scratch(t, c) : KITH_E_MEMORY;
    c->block = block;
    return finish(t, c, block, status);
}

/* The numbers of buckets and keys may come from an attacker. So this checks that the body has the size that follows
 * from the buckets, and that the table does not have more keys than a put allows. */
kith_status kithi_cuckoo_table_make_on_block(const kith_table *t, uint64_t buckets, uint64_t seed,
                                             const kithi_head *head, uint8_t *block, kithi_cuckoo_table *c) {
    uint64_t body_bytes;
    if (buckets < KITHI_CUCKOO_TABLE_BUCKETS_MIN || buckets % t->options[KITHI_CUCKOO_TABLE_OPTION_D] != 0 ||
        lay_out(t, buckets, c, &body_bytes) != KITH_OK || body_bytes != head->body_bytes ||
        head->count > kithi_cuckoo_table_slots(c) || head->count > image_keys_max(t, c))
        return KITH_E_CORRUPT;
    kith_status status = draw_functions(t, seed, c);
    if (status == KITH_OK && !t->readonly)
        status = allocate_scratch(t, c);
    return finish(t, c, block, status);
}

/* ---- rebuilding ---- */

/* Stores a record in the first bucket of its key. Returns false if this bucket is full. With the default b that is rare
 * unless the table is almost full. Also returns false with evict=first: kithi_cuckoo_table_insert() then chooses the
 * bucket. */
static inline bool insert_in_first_bucket(const kith_table *t, const kithi_cuckoo_table *c, const uint8_t *record,
                                          uint64_t hash) {
    uint64_t bucket = kithi_cuckoo_table_bucket_of_hash(c, 0, hash), free = kithi_cuckoo_table_free_slots(c, bucket);
    if (free == 0 || t->options[KITHI_CUCKOO_TABLE_OPTION_EVICT] != KITHI_CUCKOO_TABLE_EVICT_LAST)
        return false;
    unsigned slot = kithi_cuckoo_table_first_slot(free);
    kithi_cuckoo_table_set_tag(c, bucket, slot, kithi_cuckoo_table_tag_bits(c, hash));
    kithi_record_copy(t, kithi_cuckoo_table_record(t, c, bucket, slot), record);
    return true;
}

/* Inserts all records of one table into another. Returns false if one cannot be inserted. Works on groups of GROUP
 * records: the first buckets of the whole group are prefetched before its first record is inserted. */
static bool insert_all(kith_table *t, const kithi_cuckoo_table *from, const kithi_cuckoo_table *to) {
    enum { GROUP = 16 };
    uint64_t hashes[GROUP], next = 0, end = kithi_cuckoo_table_slots(from);
    const uint8_t *records[GROUP];
    for (;;) {
        unsigned n = 0;
        for (; n < GROUP && next < end; next++) {
            if ((from->tags[next] & 0x7f) == 0)
                continue;
            records[n] = from->records + next * t->record_bytes;
            hashes[n] = kithi_cuckoo_table_record_hash(t, to, records[n]);
            uint64_t bucket = kithi_cuckoo_table_bucket_of_hash(to, 0, hashes[n++]);
            __builtin_prefetch(to->tags + bucket * to->b, 1);
            __builtin_prefetch(kithi_cuckoo_table_record(t, to, bucket, 0), 1);
        }
        if (n == 0)
            return true;
        for (unsigned i = 0; i < n; i++)
            if (!insert_in_first_bucket(t, to, records[i], hashes[i]) &&
                !kithi_cuckoo_table_insert(t, to, records[i], hashes[i]))
                return false;
    }
}

kith_status kithi_cuckoo_table_rebuild(kith_table *t, uint64_t buckets, const uint8_t *extra, uint64_t extra_hash) {
    kithi_cuckoo_table *old = t->state;
    uint64_t rehashes = t->rehashes, growths = t->growths, slots_before = kithi_cuckoo_table_slots(old);
    for (unsigned attempt = 0; attempt < REHASHES_MAX + GROWTHS_MAX; attempt++) {
        if (attempt >= REHASHES_MAX)
            buckets += buckets / 2;
        bool keeps_function = attempt == 0 && buckets > old->buckets && old->one_hash;
        kithi_cuckoo_table fresh;
        kith_status status =
            kithi_cuckoo_table_make(t, buckets, keeps_function ? old->seed : kithi_prng_next(&t->prng), &fresh);
        if (status != KITH_OK) {
            t->rehashes = rehashes;
            t->growths = growths;
            return status;
        }
        bool larger = fresh.buckets > old->buckets && (attempt == 0 || attempt >= REHASHES_MAX);
        if (larger) {
            /* slots_before is that of the old table or, if an earlier attempt was larger already, of that attempt. */
            kithi_table_grown(t, slots_before, kithi_cuckoo_table_slots(&fresh));
            slots_before = kithi_cuckoo_table_slots(&fresh);
        } else {
            kithi_trace(t, KITH_STEP_REHASH, 0, 0);
            t->rehashes++;
        }
        if (extra != NULL && !keeps_function)
            extra_hash = kithi_cuckoo_table_record_hash(t, &fresh, extra);
        if (insert_all(t, old, &fresh) && (extra == NULL || kithi_cuckoo_table_insert(t, &fresh, extra, extra_hash))) {
            kithi_cuckoo_table_release(t, old);
            *old = fresh;
            return KITH_OK;
        }
        kithi_cuckoo_table_release(t, &fresh);
    }
    t->rehashes = rehashes;
    t->growths = growths;
    return KITH_E_FULL;
}

/* ---- storing ---- */

/* Clears all overflow bits and sets those that are needed. Stale bits, which removed keys have left, make lookups
 * slower. So a put calls this if more bits may be stale than a quarter of the number of slots. */
static void refresh_overflow_bits(const kith_table *t, kithi_cuckoo_table *c) {
    for (uint64_t slot = 0; slot < kithi_cuckoo_table_slots(c); slot++)
        c->tags[slot] &= 0x7f;
    for (uint64_t slot = 0; slot < kithi_cuckoo_table_slots(c); slot++) {
        if ((c->tags[slot] & 0x7f) == 0)
            continue;
        kithi_cuckoo_table_set_overflow_bit(c, slot / c->b,
                                            kithi_cuckoo_table_record_hash(t, c, c->records + slot * t->record_bytes));
    }
    c->stale_overflow_bits = 0;
}

kith_status kithi_cuckoo_table_put_absent(kith_table *t, const uint8_t *record, uint64_t hash) {
    kithi_cuckoo_table *c = t->state;
    kith_status status = KITH_OK;
    if (t->count >= c->keys_max) {
        status = kithi_cuckoo_table_rebuild(t, c->buckets + c->buckets / 2, record, hash);
    } else {
        if (c->stale_overflow_bits > c->stale_max)
            refresh_overflow_bits(t, c);
        if (!insert_in_first_bucket(t, c, record, hash) && !kithi_cuckoo_table_insert(t, c, record, hash))
            status = kithi_cuckoo_table_rebuild(t, c->buckets, record, hash);
    }
    t->count += status == KITH_OK;
    return status;
}
