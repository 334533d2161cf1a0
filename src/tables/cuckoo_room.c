/* Making room: a new key goes to its first bucket, so that look-ups end there; or to the emptiest of its others. When all
 * are full, entries move:
 *
 *     insert=search   breadth-first for the shortest chain of moves to a free slot, over KITHI_CUCKOO_SEARCH_MAX buckets
 *                     at most; nothing moves until it is found
 *     insert=walk     the key takes a slot, its entry goes to another bucket of its own and takes a slot there, … for
 *                     Max steps at most: Pagh and Rodler's procedure. Max = 6 log(slots) / log(1 + delta/2), delta = 0.1;
 *                     if it ends without a free slot all moves are undone
 *
 * The default is the walk for d = 2 and b = 1, where it was proved, and the search for all others. */
#include "tables/cuckoo_room.h"

#include <math.h>

enum { AUTO, SEARCH, WALK };

#define WALK_DELTA 0.1
#define NO_PARENT UINT32_MAX
#define OUTSIDE UINT64_MAX

typedef kithi_cuckoo_step step;

static uint64_t hash_of(const kith_table *t, const kithi_cuckoo *c, const uint8_t *record) {
    kithi_key key = kithi_record_key(t, record);
    return kithi_cuckoo_hash(c, &key);
}

static void move(const kith_table *t, const kithi_cuckoo *c, uint64_t from, unsigned from_slot, uint64_t to,
                 unsigned to_slot) {
    kithi_trace(t, KITH_STEP_MOVE, from * c->b + from_slot, to * c->b + to_slot);
    const uint8_t *record = kithi_cuckoo_record(t, c, from, from_slot);
    kithi_cuckoo_set(t, c, to, to_slot, hash_of(t, c, record), record);
}

/* ---- the search ---- */

static uint64_t visited_size(const kithi_cuckoo *c) {
    return 2 * (uint64_t)c->search_limit;
}

/* True the first time, unless the queue is full. */
static bool visit(const kithi_cuckoo *c, uint32_t *tail, uint64_t bucket, uint32_t parent, unsigned slot) {
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

static void forget(const kithi_cuckoo *c, uint32_t tail) {
    uint64_t size = visited_size(c);
    if (tail > c->search_limit / 8) {
        memset(c->visited, 0, size * sizeof *c->visited);
        return;
    }
    /* Each bucket lies at or behind its place, in a run without a gap; clearing such runs clears them all. */
    for (uint32_t i = 0; i < tail; i++) {
        uint64_t at = kithi_mulhi(kithi_mix(c->queue[i].bucket + 1), size);
        while (c->visited[at] != 0) {
            c->visited[at] = 0;
            at = at + 1 < size ? at + 1 : 0;
        }
    }
}

/* The queue's place of a bucket with a free slot, or NO_PARENT. */
static uint32_t reach_free(const kith_table *t, const kithi_cuckoo *c, uint32_t *tail) {
    for (uint32_t at = 0; at < *tail; at++) {
        uint64_t from = c->queue[at].bucket;
        kithi_trace(t, KITH_STEP_LOOK, from * c->b, 0);
        for (unsigned i = 0; i < c->b; i++) {
            kithi_key key = kithi_record_key(t, kithi_cuckoo_record(t, c, from, i));
            uint64_t value = kithi_cuckoo_hash(c, &key);
            for (unsigned j = 0; j < c->d; j++) {
                uint64_t to = kithi_cuckoo_bucket(c, j, &key, value);
                if (visit(c, tail, to, at, i) && kithi_cuckoo_free(c, to) != 0)
                    return *tail - 1;
            }
        }
    }
    return NO_PARENT;
}

/* Moves entries so that a slot of one of the key's buckets is free, and says which; nothing moves when there is no way. */
static bool search(const kith_table *t, const kithi_cuckoo *c, const uint64_t *buckets, uint64_t *bucket,
                   unsigned *slot) {
    uint32_t tail = 0;
    for (unsigned i = 0; i < c->d; i++)
        visit(c, &tail, buckets[i], NO_PARENT, 0);
    uint32_t found = reach_free(t, c, &tail);
    if (found != NO_PARENT) {
        const step *to = &c->queue[found];
        unsigned to_slot = kithi_cuckoo_slot(kithi_cuckoo_free(c, to->bucket));
        while (to->parent != NO_PARENT) {
            const step *from = &c->queue[to->parent];
            move(t, c, from->bucket, to->slot, to->bucket, to_slot);
            to_slot = to->slot;
            to = from;
        }
        *bucket = to->bucket;
        *slot = to_slot;
    }
    forget(c, tail);
    return found != NO_PARENT;
}

/* ---- the walk ---- */

static uint32_t walk_max(const kithi_cuckoo *c) {
    double steps = 6 * log((double)(c->buckets * c->b)) / log1p(WALK_DELTA / 2);
    return steps < c->search_limit ? (uint32_t)steps : c->search_limit;
}

/* Another bucket of the key than this one, drawn when there are several. */
static uint64_t elsewhere(kith_table *t, const kithi_cuckoo *c, const kithi_key *key, uint64_t value, uint64_t bucket) {
    unsigned i = 0;
    while (i + 1 < c->d && kithi_cuckoo_bucket(c, i, key, value) != bucket)
        i++;
    i = (i + 1 + (c->d == 2 ? 0 : (unsigned)kithi_prng_below(&t->prng, c->d - 1))) % c->d;
    return kithi_cuckoo_bucket(c, i, key, value);
}

/* Exchanges the homeless record, which came from the slot `from`, with that of a slot. */
static void swap_in(const kith_table *t, const kithi_cuckoo *c, uint64_t bucket, unsigned slot, uint8_t *homeless,
                    uint64_t from) {
    uint8_t other[KITHI_RECORD_MAX];
    if (from != OUTSIDE)
        kithi_trace(t, KITH_STEP_MOVE, from, bucket * c->b + slot);
    kithi_record_copy(t, other, kithi_cuckoo_record(t, c, bucket, slot));
    kithi_cuckoo_set(t, c, bucket, slot, hash_of(t, c, homeless), homeless);
    kithi_record_copy(t, homeless, other);
}

/* Puts the record in by displacement. On failure every entry is where it was: the path is walked back. */
static bool walk(kith_table *t, const kithi_cuckoo *c, uint64_t bucket, const uint8_t *record) {
    uint8_t homeless[KITHI_RECORD_MAX];
    kithi_record_copy(t, homeless, record);
    uint64_t from = OUTSIDE;
    uint32_t max = walk_max(c), steps = 0;
    for (; steps < max; steps++) {
        uint64_t free = kithi_cuckoo_free(c, bucket);
        kithi_trace(t, KITH_STEP_LOOK, bucket * c->b, 0);
        if (free != 0) {
            swap_in(t, c, bucket, kithi_cuckoo_slot(free), homeless, from);
            return true;
        }
        unsigned slot = c->b == 1 ? 0 : (unsigned)kithi_prng_below(&t->prng, c->b);
        c->queue[steps] = (step){bucket, NO_PARENT, (uint8_t)slot};
        swap_in(t, c, bucket, slot, homeless, from);
        from = bucket * c->b + slot;
        kithi_key key = kithi_record_key(t, homeless);
        bucket = elsewhere(t, c, &key, kithi_cuckoo_hash(c, &key), bucket);
    }
    /* Entry i of the path holds what came from entry i - 1, and the last one's own record has no home. */
    from = OUTSIDE;
    while (steps-- > 0) {
        swap_in(t, c, c->queue[steps].bucket, c->queue[steps].slot, homeless, from);
        from = c->queue[steps].bucket * c->b + c->queue[steps].slot;
    }
    return false;
}

/* ---- one more key ---- */

static bool walks(const kith_table *t, const kithi_cuckoo *c) {
    uint64_t how = t->options[KITHI_CUCKOO_INSERT];
    return how == WALK || (how == AUTO && c->d == 2 && c->b == 1);
}

bool kithi_cuckoo_insert(kith_table *t, const kithi_cuckoo *c, const uint8_t *record, uint64_t value) {
    kithi_key key = kithi_record_key(t, record);
    uint64_t buckets[KITHI_CUCKOO_D_MAX] = {kithi_cuckoo_range(c, 0, value)};
    uint64_t bucket = buckets[0], free = kithi_cuckoo_free(c, bucket);
    unsigned most_free = 0;
    for (unsigned i = 1; i < c->d && free == 0; i++) {
        buckets[i] = kithi_cuckoo_bucket(c, i, &key, value);
        uint64_t its_free = kithi_cuckoo_free(c, buckets[i]);
        if (kithi_popcount(its_free) > most_free) {
            most_free = kithi_popcount(its_free);
            bucket = buckets[i];
        }
    }
    unsigned slot = 0;
    if (free != 0 || most_free != 0)
        slot = kithi_cuckoo_slot(kithi_cuckoo_free(c, bucket));
    else if (walks(t, c))
        return walk(t, c, buckets[0], record);
    else if (!search(t, c, buckets, &bucket, &slot))
        return false;
    kithi_cuckoo_set(t, c, bucket, slot, value, record);
    return true;
}
