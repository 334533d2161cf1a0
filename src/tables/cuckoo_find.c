/* Looking up in a cuckoo table: the tags of the first bucket, and, where they are marked, those of the others.
 *
 * Direct tables. Tables of 8-byte keys with the default options and xxh3 are looked up without tags: the eight keys of the
 * two buckets, two cache lines that come together, are compared as they are. Of all orders this keeps a processor's
 * window of instructions least: tag and record one after the other would be two waits for memory, and a branch between
 * them that a second bucket makes hard to predict. A free slot must then hold a key that nobody finds there: 0, or, in
 * the two buckets of the key 0, the first number that does not belong to the bucket.
 *
 * Batches go by tags, in waves, so that many look-ups wait for memory at once: a line of tags a key, and records only
 * where a tag fits. */
#include "tables/cuckoo_find.h"

/* Look-ups are one body, inlined twice: with the shape that most tables have, as constants, and with any other. */
#define INLINE static inline __attribute__((always_inline))

typedef struct shape {
    unsigned d, b, record_bytes;
    bool direct;
} shape;

static const shape DIRECT = {KITHI_CUCKOO_DIRECT_D, KITHI_CUCKOO_DIRECT_B, 16, true};

static inline shape shape_of(const kith_table *t) {
    const kithi_cuckoo *c = t->state;
    return (shape){c->d, c->b, t->record_bytes, false};
}

/* ---- look-up ---- */

INLINE uint64_t hash_key(const kithi_cuckoo *c, const kithi_key *key, shape s) {
    return s.direct ? kithi_xxh3_word(c->flip, kithi_load64(key->bytes)) : kithi_cuckoo_hash(c, key);
}

INLINE uint64_t low_of(const kithi_cuckoo *c, uint64_t value, shape s) {
    return s.direct ? value : kithi_cuckoo_low(c, value);
}

INLINE uint64_t bucket_of(const kithi_cuckoo *c, unsigned i, const kithi_key *key, uint64_t value, shape s) {
    if (s.direct)
        return kithi_mulhi(i == 0 ? value : kithi_cuckoo_second(value), c->buckets);
    return kithi_cuckoo_bucket(c, i, key, value);
}

INLINE bool slot_has(const kith_table *t, const kithi_cuckoo *c, uint64_t slot, const kithi_key *key, shape s) {
    const uint8_t *record = c->records + slot * s.record_bytes;
    return s.direct ? memcmp(record, key->bytes, 8) == 0 : kithi_record_is(t, record, key);
}

/* The key's slot, or KITHI_CUCKOO_NO_SLOT. */
INLINE uint64_t find_in(const kith_table *t, const kithi_key *key, uint64_t value, shape s) {
    const kithi_cuckoo *c = t->state;
    uint64_t low = low_of(c, value, s);
    for (unsigned i = 0; i < s.d; i++) {
        uint64_t bucket = bucket_of(c, i, key, value, s);
        uint64_t tags = kithi_cuckoo_tags(c, bucket, s.b);
        kithi_trace(t, KITH_STEP_LOOK, bucket, 0);
        for (uint64_t equal = kithi_cuckoo_equal(tags, s.b, kithi_cuckoo_tag(low)); equal != 0; equal &= equal - 1) {
            uint64_t slot = bucket * s.b + kithi_cuckoo_slot(equal);
            if (slot_has(t, c, slot, key, s))
                return slot;
        }
        if (i == 0 && !kithi_cuckoo_marked(tags, low, s.b))
            break;
    }
    return KITHI_CUCKOO_NO_SLOT;
}

uint64_t kithi_cuckoo_find(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    if (c->direct) {
        *value = hash_key(c, key, DIRECT);
        return find_in(t, key, *value, DIRECT);
    }
    *value = kithi_cuckoo_hash(c, key);
    return find_in(t, key, *value, shape_of(t));
}

bool kithi_cuckoo_get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_find(t, key, &hash);
    if (slot == KITHI_CUCKOO_NO_SLOT)
        return false;
    *value = kithi_record_value(t, c->records + slot * t->record_bytes);
    return true;
}

/* The record of a bucket of a direct table that holds the word, or `found`. No branch: which slot it is can't be
 * predicted. */
INLINE const uint8_t *word_in(const uint8_t *bucket, uint64_t word, const uint8_t *found) {
    for (unsigned i = 0; i < DIRECT.b; i++) {
        const uint8_t *record = bucket + i * DIRECT.record_bytes;
        found = kithi_load64(record) == word ? record : found;
    }
    return found;
}

bool kithi_cuckoo_get_word(const kith_table *t, uint64_t word, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    enum { BUCKET_BYTES = 64 };
    uint64_t hash = kithi_xxh3_word(c->flip, word);
    const uint8_t *first = c->records + kithi_mulhi(hash, c->buckets) * BUCKET_BYTES;
    const uint8_t *second = c->records + kithi_mulhi(kithi_cuckoo_second(hash), c->buckets) * BUCKET_BYTES;
    const uint8_t *found = word_in(first, word, word_in(second, word, NULL));
    __asm__("" : "+r"(found)); /* or the compiler makes branches of the last comparisons */
    if (found == NULL)
        return false;
    if (value != NULL)
        *value = kithi_load64(found + 8);
    return true;
}

/* ---- batches ---- */

enum { ABSENT = 0, LOOK = 1 }; /* besides these, a candidate is a slot plus CANDIDATES */
#define CANDIDATES 2

/* The first slot of a bucket whose tag fits; else LOOK or ABSENT, as `more` says. Its record is on its way then. */
INLINE uint64_t candidate(const kithi_cuckoo *c, uint64_t bucket, uint64_t tags, uint64_t low, bool more, shape s) {
    uint64_t equal = kithi_cuckoo_equal(tags, s.b, kithi_cuckoo_tag(low));
    if (equal == 0)
        return more ? LOOK : ABSENT;
    uint64_t slot = bucket * s.b + kithi_cuckoo_slot(equal);
    __builtin_prefetch(c->records + slot * s.record_bytes);
    return slot + CANDIDATES;
}

INLINE uint64_t get_group_in(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values, shape s) {
    const kithi_cuckoo *c = t->state;
    uint64_t hashes[KITHI_GROUP], candidates[KITHI_GROUP], found = 0;
    size_t later[KITHI_GROUP], later_count = 0;
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_key(c, &keys[i], s);
        __builtin_prefetch(c->tags + bucket_of(c, 0, &keys[i], hashes[i], s) * s.b);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bucket = bucket_of(c, 0, &keys[i], hashes[i], s), low = low_of(c, hashes[i], s);
        uint64_t tags = kithi_cuckoo_tags(c, bucket, s.b);
        candidates[i] = candidate(c, bucket, tags, low, kithi_cuckoo_marked(tags, low, s.b), s);
        if (candidates[i] == LOOK) {
            later[later_count++] = i;
            __builtin_prefetch(c->tags + bucket_of(c, 1, &keys[i], hashes[i], s) * s.b);
        }
    }
    for (size_t j = 0; j < later_count; j++) {
        size_t i = later[j];
        uint64_t bucket = bucket_of(c, 1, &keys[i], hashes[i], s);
        candidates[i] = candidate(c, bucket, kithi_cuckoo_tags(c, bucket, s.b), low_of(c, hashes[i], s), s.d > 2, s);
    }
    for (size_t i = 0; i < n; i++) {
        if (candidates[i] == ABSENT)
            continue;
        uint64_t slot = candidates[i] - CANDIDATES;
        if (candidates[i] == LOOK || !slot_has(t, c, slot, &keys[i], s)) {
            slot = find_in(t, &keys[i], hashes[i], s);
            if (slot == KITHI_CUCKOO_NO_SLOT)
                continue;
        }
        found |= UINT64_C(1) << i;
        if (values != NULL)
            values[i] = kithi_record_value(t, c->records + slot * s.record_bytes);
    }
    return found;
}

uint64_t kithi_cuckoo_get_group(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values) {
    const kithi_cuckoo *c = t->state;
    return c->direct ? get_group_in(t, keys, n, values, DIRECT) : get_group_in(t, keys, n, values, shape_of(t));
}

void kithi_cuckoo_prefetch(const kith_table *t, const kithi_key *key) {
    const kithi_cuckoo *c = t->state;
    uint64_t bucket = kithi_cuckoo_range(c, 0, kithi_cuckoo_hash(c, key));
    __builtin_prefetch(c->tags + bucket * c->b);
    __builtin_prefetch(kithi_cuckoo_record(t, c, bucket, 0));
}
