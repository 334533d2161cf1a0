/* Inserts a key into a cuckoo table. A new key goes to its first bucket if there is a free slot, because lookups read
 * that bucket first; otherwise to the emptiest of its other buckets. If all its buckets are full, entries have to move:
 *
 *     insert=search   A breadth-first search finds the shortest sequence of moves that ends in a free slot. It reads at
 *                     most KITHI_CUCKOO_TABLE_SEARCH_MAX buckets. Nothing moves until the sequence is found.
 *     insert=walk     The procedure of Pagh and Rodler. The key takes the slot of another entry. That entry goes to
 *                     another of its buckets and may displace a third entry there, and so on, for at most `max` steps.
 *                     If there is no free slot by then, all moves are undone. Slots are chosen at random if b > 1, and
 *                     buckets if d > 2.
 *
 * insert=auto is the walk for d = 2 and b = 1, for which it was analysed, and whenever an option of walks (max, start,
 * evict) does not have its default; otherwise it is the search.
 *
 * The literature describes several variants of the walk. Options select them:
 *
 *     max=default     6 log(slots) / log(1 + delta/2) steps with delta = 0.1, at most KITHI_CUCKOO_TABLE_SEARCH_MAX and
 *                     at most the number of buckets
 *     max=auto        the same formula, rounded up and without these limits. delta is that of the table: slots =
 *                     (2 + delta) * keys. This has a meaning only for d = 2 and b = 1, and below a load of 1/2
 *     max=N           N steps
 *     start=first     the walk starts in the key's first bucket
 *     start=second    in its second bucket
 *     start=random    in a random one of its buckets
 *     evict=last      a walk begins only if all buckets of the key are full
 *     evict=first     the walk begins at once: it evicts an entry as soon as the bucket in which it starts is full,
 *                     even if other buckets of the key are not */
#include "tables/cuckoo/insert.h"

#include <assert.h>
#include <math.h>

#define WALK_DELTA 0.1
#define NO_INDEX UINT32_MAX /* in place of an index in the queue: none */
#define OUTSIDE UINT64_MAX  /* in place of a slot: the record was in no slot */

typedef kithi_cuckoo_table_step step;

static void move(const kith_table *t, const kithi_cuckoo_table *c, uint64_t from, unsigned from_slot, uint64_t to,
                 unsigned to_slot) {
    kithi_trace(t, KITH_STEP_MOVE, from * c->b + from_slot, to * c->b + to_slot);
    const uint8_t *record = kithi_cuckoo_table_record(t, c, from, from_slot);
    kithi_cuckoo_table_store(t, c, to, to_slot, kithi_cuckoo_table_record_hash(t, c, record), record);
}

/* ---- the search ---- */

static uint64_t visited_size(const kithi_cuckoo_table *c) {
    return 2 * (uint64_t)c->search_limit;
}

/* Adds a bucket to the queue, which has *tail elements. Returns false if the bucket is in the queue already, or if the
 * queue is full. `parent` and `slot` are as in kithi_cuckoo_table_step; the buckets of the new key have no parent. */
static bool visit(const kithi_cuckoo_table *c, uint32_t *tail, uint64_t bucket, uint32_t parent, unsigned slot) {
    uint64_t size = visited_size(c), at = kithi_mulhi(kithi_mix(bucket + 1), size);
    while (c->visited[at] != 0) {
        if (c->visited[at] == bucket + 1)
            return false;
        at = at + 1 < size ? at + 1 : 0;
    }
    if (*tail == c->search_limit)
        return false;
    c->visited[at] = bucket + 1;
    c->queue[(*tail)++] = (step){bucket, parent, (uint8_t)slot};
    return true;
}

/* Empties the hash set of visited buckets, all of which are in the queue. */
static void clear_visited(const kithi_cuckoo_table *c, uint32_t tail) {
    uint64_t size = visited_size(c);
    if (tail > c->search_limit / 8) {
        memset(c->visited, 0, (size_t)size * sizeof *c->visited);
        return;
    }
    /* The set uses linear probing. Each bucket is in the run of used slots that starts where its hash points, so
     * clearing these runs clears the set. */
    for (uint32_t i = 0; i < tail; i++) {
        uint64_t at = kithi_mulhi(kithi_mix(c->queue[i].bucket + 1), size);
        while (c->visited[at] != 0) {
            c->visited[at] = 0;
            at = at + 1 < size ? at + 1 : 0;
        }
    }
}

/* Searches on from the buckets in the queue, which are all full. Returns the index in the queue of a bucket with a free
 * slot, or NO_INDEX if the search fails. */
static uint32_t reach_free(const kith_table *t, const kithi_cuckoo_table *c, uint32_t *tail) {
    for (uint32_t at = 0; at < *tail; at++) {
        uint64_t from = c->queue[at].bucket;
        kithi_trace(t, KITH_STEP_LOOK, from * c->b, 0);
        for (unsigned i = 0; i < c->b; i++) {
            const uint8_t *record = kithi_cuckoo_table_record(t, c, from, i);
            kithi_key key = kithi_record_key(t, record);
            uint64_t hash = kithi_cuckoo_table_record_hash(t, c, record);
            for (unsigned j = 0; j < c->d; j++) {
                uint64_t to = kithi_cuckoo_table_bucket(c, j, &key, hash);
                if (visit(c, tail, to, at, i) && kithi_cuckoo_table_free_slots(c, to) != 0)
                    return *tail - 1;
            }
        }
    }
    return NO_INDEX;
}

/* Moves entries to free a slot in one of the key's buckets, and sets *bucket and *slot to it. The caller then stores a
 * record there. Returns false, and moves nothing, if the search fails. */
static bool search(const kith_table *t, const kithi_cuckoo_table *c, const uint64_t *buckets, uint64_t *bucket,
                   unsigned *slot) {
    uint32_t tail = 0;
    for (unsigned i = 0; i < c->d; i++)
        visit(c, &tail, buckets[i], NO_INDEX, 0);
    uint32_t found = reach_free(t, c, &tail);
    if (found != NO_INDEX) {
        const step *to = &c->queue[found];
        unsigned to_slot = kithi_cuckoo_table_first_slot(kithi_cuckoo_table_free_slots(c, to->bucket));
        while (to->parent != NO_INDEX) {
            const step *from = &c->queue[to->parent];
            move(t, c, from->bucket, to->slot, to->bucket, to_slot);
            to_slot = to->slot;
            to = from;
        }
        *bucket = to->bucket;
        *slot = to_slot;
    }
    clear_visited(c, tail);
    return found != NO_INDEX;
}

/* ---- the walk ---- */

uint64_t kithi_cuckoo_table_walk_max(const kith_table *t, const kithi_cuckoo_table *c, uint64_t keys) {
    uint64_t max = t->options[KITHI_CUCKOO_TABLE_OPTION_WALK_MAX];
    double slots = (double)(c->buckets * c->b);
    if (max == KITHI_CUCKOO_TABLE_WALK_MAX_DEFAULT) {
        double steps = 6 * log(slots) / log1p(WALK_DELTA / 2);
        return steps < c->search_limit ? (uint64_t)steps : c->search_limit;
    }
    if (max != KITHI_CUCKOO_TABLE_WALK_MAX_AUTO)
        return max;
    /* The formula requires keys < slots / 2. Only small tables may have more. */
    double fewer_than_half = floor((slots - 1) / 2);
    double delta = slots / fmin((double)keys, fewer_than_half) - 2;
    return (uint64_t)ceil(6 * log(slots) / log1p(delta / 2));
}

/* One of the d functions selects `bucket` for the key. Chooses another of the functions, at random if d > 2, and
 * returns the bucket that it selects for the key. That may be the same bucket. */
static uint64_t other_bucket(kith_table *t, const kithi_cuckoo_table *c, const kithi_key *key, uint64_t hash,
                             uint64_t bucket) {
    unsigned i = 0;
    while (i + 1 < c->d && kithi_cuckoo_table_bucket(c, i, key, hash) != bucket)
        i++;
    i = (i + 1 + (c->d == 2 ? 0 : (unsigned)kithi_prng_below(&t->prng, c->d - 1))) % c->d;
    return kithi_cuckoo_table_bucket(c, i, key, hash);
}

/* Swaps the displaced record with the record of a slot. The displaced record came from slot `from` (or OUTSIDE), and
 * `hash` is the hash value of its key. */
static void swap_in(const kith_table *t, const kithi_cuckoo_table *c, uint64_t bucket, unsigned slot,
                    uint8_t *displaced, uint64_t hash, uint64_t from) {
    uint8_t other[KITHI_TABLE_RECORD_BYTES_MAX];
    if (from != OUTSIDE)
        kithi_trace(t, KITH_STEP_MOVE, from, bucket * c->b + slot);
    kithi_record_copy(t, other, kithi_cuckoo_table_record(t, c, bucket, slot));
    kithi_cuckoo_table_store(t, c, bucket, slot, hash, displaced);
    kithi_record_copy(t, displaced, other);
}

/* Inserts a record by a walk that starts in `bucket`. `hash` is the hash value of the record's key. Returns false if
 * the walk finds no free slot; every entry is then back in its old slot. */
static bool walk(kith_table *t, const kithi_cuckoo_table *c, uint64_t bucket, const uint8_t *record, uint64_t hash) {
    uint8_t displaced[KITHI_TABLE_RECORD_BYTES_MAX];
    kithi_record_copy(t, displaced, record);
    uint64_t from = OUTSIDE;
    uint64_t max = kithi_cuckoo_table_walk_max(t, c, t->count + 1), steps = 0;
    assert(max <= c->queue_limit);
    for (; steps < max; steps++) {
        uint64_t free = kithi_cuckoo_table_free_slots(c, bucket);
        kithi_trace(t, KITH_STEP_LOOK, bucket * c->b, 0);
        if (free != 0) {
            swap_in(t, c, bucket, kithi_cuckoo_table_first_slot(free), displaced, hash, from);
            return true;
        }
        unsigned slot = c->b == 1 ? 0 : (unsigned)kithi_prng_below(&t->prng, c->b);
        c->queue[steps] = (step){bucket, NO_INDEX, (uint8_t)slot};
        swap_in(t, c, bucket, slot, displaced, hash, from);
        from = bucket * c->b + slot;
        kithi_key key = kithi_record_key(t, displaced);
        hash = kithi_cuckoo_table_record_hash(t, c, displaced);
        bucket = other_bucket(t, c, &key, hash, bucket);
    }
    /* Undo: slot i of the path now has the record that was in slot i - 1 (slot 0: the new record), and the record that
     * was in the last slot is the displaced one. */
    from = OUTSIDE;
    while (steps-- > 0) {
        swap_in(t, c, c->queue[steps].bucket, c->queue[steps].slot, displaced, hash, from);
        from = c->queue[steps].bucket * c->b + c->queue[steps].slot;
        if (steps != 0) /* otherwise the displaced record is the new one again */
            hash = kithi_cuckoo_table_record_hash(t, c, displaced);
    }
    return false;
}

/* ---- insertion ---- */

static bool uses_walk(const kith_table *t, const kithi_cuckoo_table *c) {
    uint64_t how = t->options[KITHI_CUCKOO_TABLE_OPTION_INSERT];
    bool has_walk_option = t->options[KITHI_CUCKOO_TABLE_OPTION_WALK_MAX] != KITHI_CUCKOO_TABLE_WALK_MAX_DEFAULT ||
                           t->options[KITHI_CUCKOO_TABLE_OPTION_START] != KITHI_CUCKOO_TABLE_START_FIRST ||
                           t->options[KITHI_CUCKOO_TABLE_OPTION_EVICT] != KITHI_CUCKOO_TABLE_EVICT_LAST;
    return how == KITHI_CUCKOO_TABLE_INSERT_WALK ||
           (how == KITHI_CUCKOO_TABLE_INSERT_AUTO && (has_walk_option || (c->d == 2 && c->b == 1)));
}

/* Returns the bucket of the key where a walk starts. */
static uint64_t start_of(kith_table *t, const kithi_cuckoo_table *c, const kithi_key *key, uint64_t hash) {
    uint64_t i = t->options[KITHI_CUCKOO_TABLE_OPTION_START];
    if (i == KITHI_CUCKOO_TABLE_START_RANDOM)
        i = kithi_prng_below(&t->prng, c->d);
    return kithi_cuckoo_table_bucket(c, (unsigned)i, key, hash);
}

bool kithi_cuckoo_table_insert(kith_table *t, const kithi_cuckoo_table *c, const uint8_t *record, uint64_t hash) {
    kithi_key key = kithi_record_key(t, record);
    if (t->options[KITHI_CUCKOO_TABLE_OPTION_EVICT] == KITHI_CUCKOO_TABLE_EVICT_FIRST)
        return walk(t, c, start_of(t, c, &key, hash), record, hash);
    uint64_t buckets[KITHI_CUCKOO_TABLE_D_MAX] = {kithi_cuckoo_table_bucket_of_hash(c, 0, hash)};
    uint64_t bucket = buckets[0], free = kithi_cuckoo_table_free_slots(c, bucket);
    unsigned most_free = 0;
    for (unsigned i = 1; i < c->d && free == 0; i++) {
        buckets[i] = kithi_cuckoo_table_bucket(c, i, &key, hash);
        uint64_t free_here = kithi_cuckoo_table_free_slots(c, buckets[i]);
        if (kithi_popcount(free_here) > most_free) {
            most_free = kithi_popcount(free_here);
            bucket = buckets[i];
        }
    }
    unsigned slot = 0;
    if (free != 0 || most_free != 0)
        slot = kithi_cuckoo_table_first_slot(kithi_cuckoo_table_free_slots(c, bucket));
    else if (uses_walk(t, c))
        return walk(t, c, start_of(t, c, &key, hash), record, hash);
    else if (!search(t, c, buckets, &bucket, &slot))
        return false;
    kithi_cuckoo_table_store(t, c, bucket, slot, hash, record);
    return true;
}
