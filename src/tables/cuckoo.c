/* cuckoo: cuckoo hashing (Pagh, Rodler, "Cuckoo Hashing", 2001; d functions: Fotakis, Pagh, Sanders, Spirakis, 2003; b
 * slots a bucket: Dietzfelbinger, Weidling, 2005).
 *
 * A key lies in one of b slots of one of d buckets, or it is not in: look-up and removal look at d * b slots at most,
 * always. Beside the records each slot has a tag, a byte of the key's hash (0: empty), and the tags of a bucket are
 * compared together, so that records are hardly ever looked at in vain.
 *
 *     tags      | bucket 0: b bytes | bucket 1 | …            | 8 spare |
 *     records   | bucket 0: b records of 16 or 24 bytes, 64-aligned | bucket 1 | …
 *
 *     layout=one   every function maps to all buckets
 *     layout=two   function i maps to the i-th of d equal parts (two halves for d = 2)
 *
 * With xxh3 and siphash the d buckets come from one hash value (core/mix.h); the other families, whose theorems need it,
 * draw d functions.
 *
 * A new key goes to the emptiest of its buckets. When all are full, entries move:
 *
 *     insert=search   breadth-first for the shortest chain of moves to a free slot, over SEARCH_MAX buckets at most;
 *                     nothing moves until it is found (the default for b > 1)
 *     insert=walk     the key takes a slot, its entry goes to another bucket of its own and takes a slot there, … for
 *                     Max steps at most: Pagh and Rodler's procedure. Max = 6 log(slots) / log(1 + delta/2), delta = 0.1;
 *                     if it ends without a free slot all moves are undone (the default for b = 1)
 *
 * When that fails, the table is rebuilt in new memory with newly drawn functions, REHASHES_MAX times, then a half larger,
 * GROWTHS_MAX times; the old one goes when all keys are in the new one. So the worst case of a put is SEARCH_MAX buckets
 * looked at for each of the keys of a rebuild, and REHASHES_MAX + GROWTHS_MAX rebuilds; without a rebuild it is SEARCH_MAX
 * buckets. KITH_E_FULL after that many in a row, the table as it was: each growth takes a third off the load,
 * and well under the threshold new functions fail with a probability of order 1/count.
 *
 * A table is rebuilt a half larger, too, when its load passes `load` percent: by default 45 for d = 2 and b = 1, where the
 * threshold is 1/2, 85 for d = 2 and b = 2 (0.897) and for d > 2 and b = 1 (0.918 and more), 95 for the others (0.980 and
 * more). */
#include <assert.h>
#include <math.h>

#include "core/function.h"
#include "core/mix.h"
#include "family/record.h"

enum { LAYOUT, D, B, INSERT, LOAD };
enum { ONE, TWO };
enum { AUTO, SEARCH, WALK };

#define D_MAX 4
#define B_MAX 8
#define SEARCH_MAX 16384
#define WALK_DELTA 0.1
#define REHASHES_MAX 3
#define GROWTHS_MAX 8
#define BUCKETS_MIN 4
#define NO_PARENT UINT32_MAX

static const kith_option OPTIONS[] = {
    {"layout", "one|two", "one", "one table, or a part for each function"},
    {"d", "2..4", "2", "functions, buckets that a key may lie in"},
    {"b", "1..8", "4", "slots in a bucket"},
    {"insert", "auto|search|walk", "auto", "how a place is made; auto: walk for b = 1, search for more"},
    {"load", "0..100", "0", "percent of the slots in use at which the table grows; 0: as d and b allow"},
};

typedef struct step {
    uint64_t bucket;
    uint32_t parent; /* place in the queue */
    uint8_t slot;    /* of the parent's bucket: the entry that can move here */
} step;

typedef struct cuckoo {
    uint64_t buckets; /* a multiple of d for layout=two */
    uint8_t *tags;
    uint8_t *records;
    uint64_t tag_bytes, record_bytes; /* of the two allocations */
    kith_function *functions[D_MAX];
    step *queue;     /* search_limit of them; a walk keeps its path here */
    uint64_t *marks; /* 2 * search_limit: buckets in the queue, plus one */
    uint32_t search_limit;
    bool common; /* of the shape that look-ups are compiled for */
} cuckoo;

static inline unsigned d_of(const kith_table *t) {
    return (unsigned)t->options[D];
}

static inline unsigned b_of(const kith_table *t) {
    return (unsigned)t->options[B];
}

/* Look-ups are one body, inlined twice: with the shape that most tables have, as constants, and with any other. A
 * processor runs ahead by a fixed number of instructions, and a short look-up lets it reach the next ones while this one
 * waits for memory. */
#define INLINE static inline __attribute__((always_inline))

typedef struct shape {
    unsigned d, b, record_bytes;
    bool words; /* keys of 8 bytes under xxh3, layout=one */
} shape;

static const shape COMMON = {2, 4, 16, true};

static inline bool one_value(const kith_table *t) {
    return t->family == KITH_FAMILY_XXH3 || t->family == KITH_FAMILY_SIPHASH;
}

/* ---- where a key may lie ---- */

typedef struct places {
    uint64_t bucket[D_MAX];
    uint8_t tag;
} places;

static inline uint8_t tag_of(uint64_t mixed) {
    return (uint8_t)(mixed | ((mixed & 0xff) == 0));
}

static inline uint64_t bucket_for(const kith_table *t, const cuckoo *c, unsigned i, uint64_t value) {
    if (t->options[LAYOUT] == ONE)
        return kithi_mulhi(value, c->buckets);
    uint64_t part = c->buckets / d_of(t);
    return i * part + kithi_mulhi(value, part);
}

static inline places places_of(const kith_table *t, const cuckoo *c, const kithi_key *key) {
    places p;
    uint64_t value = kithi_function_key(c->functions[0], key->bytes, key->byte_count);
    uint64_t mixed = kithi_mix(value);
    p.tag = tag_of(mixed);
    p.bucket[0] = bucket_for(t, c, 0, value);
    for (unsigned i = 1; i < d_of(t); i++) {
        value = one_value(t) ? (i == 1 ? mixed : kithi_word(mixed, i))
                             : kithi_function_key(c->functions[i], key->bytes, key->byte_count);
        p.bucket[i] = bucket_for(t, c, i, value);
    }
    return p;
}

/* ---- slots ---- */

static inline uint8_t *tag_at(const kith_table *t, const cuckoo *c, uint64_t bucket, unsigned slot) {
    return c->tags + bucket * b_of(t) + slot;
}

static inline uint8_t *record_at(const kith_table *t, const cuckoo *c, uint64_t bucket, unsigned slot) {
    return c->records + (bucket * b_of(t) + slot) * t->record_bytes;
}

/* A bit at the top of each of the first b bytes that equals `tag`: exact for the lowest one that is set, which may be
 * followed by a byte that differs by one; records decide. */
INLINE uint64_t tags_equal(const uint8_t *tags, unsigned b, uint8_t tag) {
    uint64_t x = kithi_load64(tags) ^ (tag * UINT64_C(0x0101010101010101));
    uint64_t zero = (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
    return b == 8 ? zero : zero & ((UINT64_C(1) << (8 * b)) - 1);
}

static inline uint64_t slots_with(const kith_table *t, const cuckoo *c, uint64_t bucket, uint8_t tag) {
    return tags_equal(tag_at(t, c, bucket, 0), b_of(t), tag);
}

static inline unsigned slot_of(uint64_t bits) {
    return (unsigned)__builtin_ctzll(bits) / 8;
}

static inline unsigned free_slots(const kith_table *t, const cuckoo *c, uint64_t bucket) {
    unsigned count = 0;
    for (unsigned i = 0; i < b_of(t); i++)
        count += *tag_at(t, c, bucket, i) == 0;
    return count;
}

static inline unsigned first_free(const kith_table *t, const cuckoo *c, uint64_t bucket) {
    return slot_of(slots_with(t, c, bucket, 0));
}

INLINE uint8_t *find_in(const kith_table *t, const kithi_key *key, shape s, uint8_t **tag) {
    const cuckoo *c = t->state;
    places p;
    if (s.words) {
        uint64_t value = kithi_function_xxh3(c->functions[0], kithi_load64(key->bytes));
        uint64_t mixed = kithi_mix(value);
        p = (places){{kithi_mulhi(value, c->buckets), kithi_mulhi(mixed, c->buckets)}, tag_of(mixed)};
    } else {
        p = places_of(t, c, key);
    }
    /* The tags of all buckets first: their lines come together, and which bucket it is can't be predicted. */
    uint64_t hits_in[D_MAX];
    for (unsigned i = 0; i < s.d; i++) {
        kithi_trace(t, KITH_STEP_LOOK, p.bucket[i], 0);
        hits_in[i] = tags_equal(c->tags + p.bucket[i] * s.b, s.b, p.tag);
    }
    for (;;) {
        /* The first bucket with a hit, chosen by masks: a branch would be a coin's toss. */
        uint64_t hits = 0, bucket = 0, which = 0;
        for (unsigned i = s.d; i-- > 0;) {
            uint64_t mask = -(uint64_t)(hits_in[i] != 0);
            hits = (hits & ~mask) | (hits_in[i] & mask);
            bucket = (bucket & ~mask) | (p.bucket[i] & mask);
            which = (which & ~mask) | (i & mask);
        }
        if (hits == 0)
            return NULL;
        uint64_t slot = bucket * s.b + slot_of(hits);
        uint8_t *record = c->records + slot * s.record_bytes;
        *tag = c->tags + slot;
        /* The tag first: a slot that is free keeps what a removed key left, bytes that may be gone among them. */
        if (**tag == p.tag && (s.words ? memcmp(record, key->bytes, 8) == 0 : kithi_record_is(t, record, key)))
            return record;
        hits_in[which] = hits & (hits - 1);
    }
}

static uint8_t *find(const kith_table *t, const kithi_key *key, uint8_t **tag) {
    const cuckoo *c = t->state;
    if (c->common)
        return find_in(t, key, COMMON, tag);
    return find_in(t, key, (shape){d_of(t), b_of(t), t->record_bytes, false}, tag);
}

/* ---- making room ---- */

static void set_slot(const kith_table *t, const cuckoo *c, uint64_t bucket, unsigned slot, uint8_t tag,
                     const uint8_t *record) {
    *tag_at(t, c, bucket, slot) = tag;
    memcpy(record_at(t, c, bucket, slot), record, t->record_bytes);
}

static void move_slot(const kith_table *t, const cuckoo *c, uint64_t from, unsigned from_slot, uint64_t to,
                      unsigned to_slot) {
    kithi_trace(t, KITH_STEP_MOVE, from * b_of(t) + from_slot, to * b_of(t) + to_slot);
    set_slot(t, c, to, to_slot, *tag_at(t, c, from, from_slot), record_at(t, c, from, from_slot));
}

/* True the first time, unless the queue is full. */
static bool visit(const cuckoo *c, uint32_t *tail, uint64_t bucket, uint32_t parent, unsigned slot) {
    uint64_t size = 2 * (uint64_t)c->search_limit, at = kithi_mulhi(kithi_mix(bucket + 1), size);
    while (c->marks[at] != 0) {
        if (c->marks[at] == bucket + 1)
            return false;
        at = at + 1 < size ? at + 1 : 0;
    }
    if (*tail == c->search_limit)
        return false;
    c->marks[at] = bucket + 1;
    c->queue[(*tail)++] = (step){bucket, parent, (uint8_t)slot};
    return true;
}

static void forget(const cuckoo *c, uint32_t tail) {
    uint64_t size = 2 * (uint64_t)c->search_limit;
    if (tail > c->search_limit / 8) {
        memset(c->marks, 0, size * sizeof *c->marks);
        return;
    }
    /* Each mark lies at or behind its place, in a run without a gap; clearing such runs clears them all. */
    for (uint32_t i = 0; i < tail; i++) {
        uint64_t at = kithi_mulhi(kithi_mix(c->queue[i].bucket + 1), size);
        while (c->marks[at] != 0) {
            c->marks[at] = 0;
            at = at + 1 < size ? at + 1 : 0;
        }
    }
}

/* Moves entries so that a slot of one of the key's buckets is free, and says which; nothing moves when there is no way. */
static bool search_room(const kith_table *t, const cuckoo *c, const places *p, uint64_t *bucket, unsigned *slot) {
    uint32_t tail = 0, found = NO_PARENT;
    for (unsigned i = 0; i < d_of(t); i++)
        visit(c, &tail, p->bucket[i], NO_PARENT, 0);
    for (uint32_t at = 0; at < tail && found == NO_PARENT; at++) {
        uint64_t from = c->queue[at].bucket;
        kithi_trace(t, KITH_STEP_LOOK, from, 0);
        for (unsigned i = 0; i < b_of(t) && found == NO_PARENT; i++) {
            kithi_key key = kithi_record_key(t, record_at(t, c, from, i));
            places others = places_of(t, c, &key);
            for (unsigned j = 0; j < d_of(t); j++) {
                if (visit(c, &tail, others.bucket[j], at, i) && slots_with(t, c, others.bucket[j], 0) != 0) {
                    found = tail - 1;
                    break;
                }
            }
        }
    }
    if (found != NO_PARENT) {
        const step *to = &c->queue[found];
        unsigned to_slot = first_free(t, c, to->bucket);
        while (to->parent != NO_PARENT) {
            const step *from = &c->queue[to->parent];
            move_slot(t, c, from->bucket, to->slot, to->bucket, to_slot);
            to_slot = to->slot;
            to = from;
        }
        *bucket = to->bucket;
        *slot = to_slot;
    }
    forget(c, tail);
    return found != NO_PARENT;
}

static uint32_t walk_max(const kith_table *t, const cuckoo *c) {
    double steps = 6 * log((double)(c->buckets * b_of(t))) / log1p(WALK_DELTA / 2);
    return steps < c->search_limit ? (uint32_t)steps : c->search_limit;
}

/* Puts the record in by displacement. On failure everything is as it was: the path is walked back. */
static bool walk_in(kith_table *t, const cuckoo *c, uint64_t bucket, uint8_t tag, const uint8_t *record) {
    uint8_t homeless[KITHI_RECORD_MAX], other[KITHI_RECORD_MAX];
    memcpy(homeless, record, t->record_bytes);
    uint32_t max = walk_max(t, c), steps = 0;
    for (; steps < max; steps++) {
        uint64_t free = slots_with(t, c, bucket, 0);
        kithi_trace(t, KITH_STEP_LOOK, bucket, 0);
        if (free != 0) {
            set_slot(t, c, bucket, slot_of(free), tag, homeless);
            return true;
        }
        unsigned slot = b_of(t) == 1 ? 0 : (unsigned)kithi_prng_below(&t->prng, b_of(t));
        c->queue[steps] = (step){bucket, NO_PARENT, (uint8_t)slot};
        uint8_t other_tag = *tag_at(t, c, bucket, slot);
        memcpy(other, record_at(t, c, bucket, slot), t->record_bytes);
        set_slot(t, c, bucket, slot, tag, homeless);
        memcpy(homeless, other, t->record_bytes);
        tag = other_tag;
        kithi_key key = kithi_record_key(t, homeless);
        places p = places_of(t, c, &key);
        unsigned i = 0;
        while (i + 1 < d_of(t) && p.bucket[i] != bucket)
            i++;
        i = (i + 1 + (d_of(t) == 2 ? 0 : (unsigned)kithi_prng_below(&t->prng, d_of(t) - 1))) % d_of(t);
        kithi_trace(t, KITH_STEP_MOVE, bucket * b_of(t) + slot, p.bucket[i] * b_of(t));
        bucket = p.bucket[i];
    }
    while (steps-- > 0) {
        const step *s = &c->queue[steps];
        uint8_t *place = record_at(t, c, s->bucket, s->slot);
        uint8_t own_tag = *tag_at(t, c, s->bucket, s->slot);
        memcpy(other, place, t->record_bytes);
        set_slot(t, c, s->bucket, s->slot, tag, homeless);
        memcpy(homeless, other, t->record_bytes);
        tag = own_tag;
    }
    return false;
}

static bool walks(const kith_table *t) {
    return t->options[INSERT] == WALK || (t->options[INSERT] == AUTO && b_of(t) == 1);
}

/* Puts a record whose key is not in. False: no room found, nothing changed. */
static bool insert(kith_table *t, const cuckoo *c, const uint8_t *record) {
    kithi_key key = kithi_record_key(t, record);
    places p = places_of(t, c, &key);
    unsigned best = 0, most_free = 0;
    for (unsigned i = 0; i < d_of(t); i++) {
        unsigned free = free_slots(t, c, p.bucket[i]);
        if (free > most_free) {
            most_free = free;
            best = i;
        }
    }
    uint64_t bucket = p.bucket[best];
    unsigned slot = 0;
    if (most_free != 0)
        slot = first_free(t, c, bucket);
    else if (walks(t))
        return walk_in(t, c, p.bucket[0], p.tag, record);
    else if (!search_room(t, c, &p, &bucket, &slot))
        return false;
    set_slot(t, c, bucket, slot, p.tag, record);
    return true;
}

/* ---- sizes and rebuilding ---- */

static double load_max(const kith_table *t) {
    if (t->options[LOAD] != 0)
        return (double)t->options[LOAD] / 100;
    if (b_of(t) == 1)
        return d_of(t) == 2 ? 0.45 : 0.85;
    return d_of(t) == 2 && b_of(t) == 2 ? 0.85 : 0.95;
}

static uint64_t buckets_for(const kith_table *t, uint64_t keys) {
    double buckets = ceil((double)keys / load_max(t) / b_of(t)) + 1;
    return buckets < BUCKETS_MIN ? BUCKETS_MIN : buckets > 0x1p60 ? UINT64_C(1) << 60 : (uint64_t)buckets;
}

static uint64_t keys_max(const kith_table *t, const cuckoo *c) {
    return (uint64_t)((double)(c->buckets * b_of(t)) * load_max(t));
}

static void release_arrays(const kith_table *t, cuckoo *c) {
    for (unsigned i = 0; i < D_MAX; i++)
        kith_function_free(c->functions[i]);
    kithi_release(&t->allocator, c->tags, c->tag_bytes);
    kithi_release(&t->allocator, c->records, c->record_bytes);
    kithi_release(&t->allocator, c->queue, c->search_limit * sizeof *c->queue);
    kithi_release(&t->allocator, c->marks, 2 * c->search_limit * sizeof *c->marks);
}

static kith_status draw_functions(kith_table *t, cuckoo *c) {
    for (unsigned i = 0; i < (one_value(t) ? 1 : d_of(t)); i++) {
        unsigned k = t->family != KITH_FAMILY_POLYNOMIAL ? 0 : t->independence != 0 ? t->independence : 2;
        kith_status status =
            kith_function_draw(t->family, k, kithi_prng_next(&t->prng), &t->allocator, &c->functions[i]);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

/* An empty table; on failure nothing is held. */
static kith_status make(kith_table *t, uint64_t buckets, cuckoo *c) {
    buckets = (buckets + d_of(t) - 1) / d_of(t) * d_of(t);
    uint64_t slots;
    *c = (cuckoo){.buckets = buckets, .search_limit = (uint32_t)(buckets < SEARCH_MAX ? buckets : SEARCH_MAX)};
    if (!kithi_mul(buckets, b_of(t), &slots) || !kithi_add(slots, 8, &c->tag_bytes) ||
        !kithi_mul(slots, t->record_bytes, &c->record_bytes))
        return KITH_E_TOO_LARGE;
    c->common = d_of(t) == COMMON.d && b_of(t) == COMMON.b && t->key_bytes == 8 && t->family == KITH_FAMILY_XXH3 &&
                t->options[LAYOUT] == ONE;
    kith_status status = draw_functions(t, c);
    if (status == KITH_OK) {
        c->tags = kithi_allocate(&t->allocator, c->tag_bytes);
        c->records = kithi_allocate(&t->allocator, c->record_bytes);
        c->queue = kithi_allocate(&t->allocator, c->search_limit * sizeof *c->queue);
        c->marks = kithi_allocate(&t->allocator, 2 * c->search_limit * sizeof *c->marks);
        if (c->tags == NULL || c->records == NULL || c->queue == NULL || c->marks == NULL)
            status = KITH_E_MEMORY;
    }
    if (status != KITH_OK)
        release_arrays(t, c);
    return status;
}

static bool insert_all(kith_table *t, const cuckoo *from, const cuckoo *to) {
    for (uint64_t i = 0; i < from->buckets * b_of(t); i++)
        if (from->tags[i] != 0 && !insert(t, to, from->records + i * t->record_bytes))
            return false;
    return true;
}

/* All keys, and `extra` when it is not NULL, into a new table of at least so many buckets. */
static kith_status rebuild(kith_table *t, uint64_t buckets, const uint8_t *extra) {
    cuckoo *old = t->state;
    uint64_t rehashes = t->rehashes, growths = t->growths;
    for (unsigned attempt = 0; attempt < REHASHES_MAX + GROWTHS_MAX; attempt++) {
        if (attempt >= REHASHES_MAX)
            buckets += buckets / 2;
        cuckoo fresh;
        kith_status status = make(t, buckets, &fresh);
        if (status != KITH_OK) {
            t->rehashes = rehashes;
            t->growths = growths;
            return status;
        }
        bool larger = fresh.buckets > old->buckets && (attempt == 0 || attempt >= REHASHES_MAX);
        if (larger) {
            kithi_trace(t, KITH_STEP_GROW, old->buckets * b_of(t), fresh.buckets * b_of(t));
            t->growths++;
        } else {
            kithi_trace(t, KITH_STEP_REHASH, 0, 0);
            t->rehashes++;
        }
        if (insert_all(t, old, &fresh) && (extra == NULL || insert(t, &fresh, extra))) {
            release_arrays(t, old);
            *old = fresh;
            return KITH_OK;
        }
        release_arrays(t, &fresh);
    }
    t->rehashes = rehashes;
    t->growths = growths;
    return KITH_E_FULL;
}

/* ---- verbs ---- */

static kith_status create(kith_table *t, uint64_t capacity) {
    cuckoo *c = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    kith_status status = make(t, buckets_for(t, capacity), c);
    if (status != KITH_OK)
        kithi_release(&t->allocator, c, sizeof *c);
    else
        t->state = c;
    return status;
}

static void destroy(kith_table *t) {
    release_arrays(t, t->state);
    kithi_release(&t->allocator, t->state, sizeof(cuckoo));
}

static void clear(kith_table *t) {
    cuckoo *c = t->state;
    memset(c->tags, 0, (size_t)c->tag_bytes);
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    const cuckoo *c = t->state;
    return keys > keys_max(t, c) ? rebuild(t, buckets_for(t, keys), NULL) : KITH_OK;
}

static bool get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    uint8_t *tag;
    const uint8_t *record = find(t, key, &tag);
    if (record == NULL)
        return false;
    *value = kithi_record_value(t, record);
    return true;
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    uint8_t *tag, *there = find(t, key, &tag);
    *was_new = there == NULL;
    if (!*was_new) {
        kithi_record_set_value(t, there, value);
        return KITH_OK;
    }
    const cuckoo *c = t->state;
    uint8_t record[KITHI_RECORD_MAX];
    if (!kithi_record_make(t, key, value, record))
        return KITH_E_MEMORY;
    kith_status status = KITH_OK;
    if (t->count >= keys_max(t, c))
        status = rebuild(t, c->buckets + c->buckets / 2, record);
    else if (!insert(t, c, record))
        status = rebuild(t, c->buckets, record);
    if (status == KITH_OK)
        t->count++;
    else
        kithi_record_drop(t, record);
    return status;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    uint8_t *tag, *record = find(t, key, &tag);
    if (record == NULL)
        return KITH_E_ABSENT;
    *value = kithi_record_value(t, record);
    kithi_record_drop(t, record);
    *tag = 0;
    t->count--;
    return KITH_OK;
}

static void prefetch(const kith_table *t, const kithi_key *key) {
    const cuckoo *c = t->state;
    places p = places_of(t, c, key);
    for (unsigned i = 0; i < d_of(t); i++) {
        __builtin_prefetch(tag_at(t, c, p.bucket[i], 0));
        __builtin_prefetch(record_at(t, c, p.bucket[i], 0));
    }
}

static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const cuckoo *c = t->state;
    uint64_t slots = c->buckets * b_of(t);
    while (cursor->at[0] < slots && c->tags[cursor->at[0]] == 0)
        cursor->at[0]++;
    if (cursor->at[0] >= slots)
        return false;
    const uint8_t *record = c->records + cursor->at[0]++ * t->record_bytes;
    *key = kithi_record_key(t, record);
    *value = kithi_record_value(t, record);
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    const cuckoo *c = t->state;
    stats->slots = c->buckets * b_of(t);
    stats->bytes +=
        sizeof *c + c->tag_bytes + c->record_bytes + c->search_limit * (sizeof(step) + 2 * sizeof *c->marks);
    for (unsigned i = 0; i < D_MAX; i++)
        stats->bytes += c->functions[i] != NULL ? kithi_function_bytes(c->functions[i]) : 0;
    stats->longest = (uint64_t)d_of(t) * b_of(t);
}

static const char *check(const kith_table *t) {
    const cuckoo *c = t->state;
    uint64_t count = 0;
    for (uint64_t i = 0; i < c->buckets * b_of(t); i++) {
        if (c->tags[i] == 0)
            continue;
        count++;
        kithi_key key = kithi_record_key(t, c->records + i * t->record_bytes);
        uint8_t *tag;
        if (find(t, &key, &tag) != c->records + i * t->record_bytes)
            return "a key is not where look-up finds it, or is in twice";
        places p = places_of(t, c, &key);
        if (p.tag != c->tags[i])
            return "a tag is not that of its key";
    }
    for (uint64_t i = c->buckets * b_of(t); i < c->tag_bytes; i++)
        if (c->tags[i] != 0)
            return "a tag past the last slot is set";
    return count == t->count ? NULL : "the number of tags set is not the count of keys";
}

const kithi_table_kind kithi_table_cuckoo = {
    .info =
        {
            .name = "cuckoo",
            .summary = "two buckets a look-up, always; small",
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .takes_strings = true,
    .takes_values = true,
    .create = create,
    .destroy = destroy,
    .clear = clear,
    .reserve = reserve,
    .get = get,
    .put = put,
    .remove = remove_one,
    .prefetch = prefetch,
    .next = next,
    .stats = stats,
    .check = check,
};
