/* Lookups in a cuckoo table. A lookup reads the tags of the first bucket and the records whose tag matches. If the
 * bucket has a mark for the key's class, it then does the same in the other buckets.
 *
 * While a processor waits for memory, it executes a limited number of further instructions (256 or more). The speed of
 * consecutive lookups depends on how many of them fit into that window, so lookups should have few instructions. The
 * most common tables (8-byte keys, xxh3, default options) therefore have a fast path, called plain here. An alternative
 * without tags, which compares all eight keys of both buckets, took 0.8 of the time for present keys but more than
 * twice the time for absent ones.
 *
 * Batches work in passes over a group of keys, so that many lookups wait for memory at the same time: the first pass
 * prefetches one cache line of tags per key, the next ones the records whose tag matches. */
#include "tables/cuckoo_find.h"

/* There is one body for lookups, inlined twice: with the shape of plain tables as constants, and with any other
 * shape. */
#define INLINE static inline __attribute__((always_inline))

typedef struct shape {
    unsigned d, b, record_bytes;
    bool plain; /* 8-byte keys, xxh3, layout=one */
} shape;

static const shape PLAIN = {KITHI_CUCKOO_PLAIN_D, KITHI_CUCKOO_PLAIN_B, 16, true};

static inline shape shape_of(const kith_table *t) {
    const kithi_cuckoo *c = t->state;
    return (shape){c->d, c->b, t->record_bytes, false};
}

/* ---- lookup ---- */

INLINE uint64_t hash_key(const kithi_cuckoo *c, const kithi_key *key, shape s) {
    return s.plain ? kithi_xxh3_word(c->flip, kithi_load64(key->bytes)) : kithi_cuckoo_hash(c, key);
}

INLINE uint64_t tag_bits_of(const kithi_cuckoo *c, uint64_t hash, shape s) {
    return s.plain ? hash : kithi_cuckoo_tag_bits(c, hash);
}

INLINE uint64_t bucket_of(const kithi_cuckoo *c, unsigned i, const kithi_key *key, uint64_t hash, shape s) {
    if (s.plain)
        return kithi_mulhi(i == 0 ? hash : kithi_cuckoo_second(hash), c->buckets);
    return kithi_cuckoo_bucket(c, i, key, hash);
}

INLINE bool slot_has(const kith_table *t, const kithi_cuckoo *c, uint64_t slot, const kithi_key *key, shape s) {
    const uint8_t *record = c->records + slot * s.record_bytes;
    return s.plain ? memcmp(record, key->bytes, 8) == 0 : kithi_record_is(t, record, key);
}

/* Returns the key's slot, or KITHI_CUCKOO_NO_SLOT. */
INLINE uint64_t find_in(const kith_table *t, const kithi_key *key, uint64_t hash, shape s) {
    const kithi_cuckoo *c = t->state;
    uint64_t tag_bits = tag_bits_of(c, hash, s);
    for (unsigned i = 0; i < s.d; i++) {
        uint64_t bucket = bucket_of(c, i, key, hash, s);
        uint64_t tags = kithi_cuckoo_tags(c, bucket, s.b);
        kithi_trace(t, KITH_STEP_LOOK, bucket * s.b, 0);
        for (uint64_t equal = kithi_cuckoo_equal(tags, s.b, kithi_cuckoo_tag(tag_bits)); equal != 0;
             equal &= equal - 1) {
            uint64_t slot = bucket * s.b + kithi_cuckoo_slot(equal);
            if (slot_has(t, c, slot, key, s))
                return slot;
        }
        if (i == 0 && !kithi_cuckoo_marked(tags, tag_bits, s.b))
            break;
    }
    return KITHI_CUCKOO_NO_SLOT;
}

uint64_t kithi_cuckoo_find(const kith_table *t, const kithi_key *key, uint64_t *hash) {
    const kithi_cuckoo *c = t->state;
    if (c->plain) {
        *hash = hash_key(c, key, PLAIN);
        return find_in(t, key, *hash, PLAIN);
    }
    *hash = kithi_cuckoo_hash(c, key);
    return find_in(t, key, *hash, shape_of(t));
}

bool kithi_cuckoo_get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_find(t, key, &hash);
    if (slot == KITHI_CUCKOO_NO_SLOT)
        return false;
    *value = kithi_record_value(t, c->records + slot * t->record_bytes);
    return true;
}

/* The slow path of get_word: the first matching tag belongs to another key, or no tag matches but the bucket is
 * marked. */
__attribute__((noinline)) static bool get_rest(const kith_table *t, uint64_t word, uint64_t hash, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    uint8_t bytes[8];
    kithi_store64(bytes, word);
    kithi_key key = {bytes, sizeof bytes};
    uint64_t slot = find_in(t, &key, hash, PLAIN);
    if (slot != KITHI_CUCKOO_NO_SLOT && value != NULL)
        *value = kithi_load64(c->records + slot * PLAIN.record_bytes + 8);
    return slot != KITHI_CUCKOO_NO_SLOT;
}

bool kithi_cuckoo_get_word(const kith_table *t, uint64_t word, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    uint64_t hash = kithi_xxh3_word(c->flip, word), bucket = kithi_mulhi(hash, c->buckets);
    uint64_t tags = kithi_cuckoo_tags(c, bucket, PLAIN.b);
    uint64_t equal = kithi_cuckoo_equal(tags, PLAIN.b, kithi_cuckoo_tag(hash));
    if (equal == 0)
        return kithi_cuckoo_marked(tags, hash, PLAIN.b) && get_rest(t, word, hash, value);
    const uint8_t *record = c->records + (bucket * PLAIN.b + kithi_cuckoo_slot(equal)) * PLAIN.record_bytes;
    if (__builtin_expect(kithi_load64(record) != word, 0))
        return get_rest(t, word, hash, value);
    if (value != NULL)
        *value = kithi_load64(record + 8);
    return true;
}

/* ---- batches ---- */

/* What a batch knows about a key, as one number: the key is not in the table (ABSENT); no tag matches yet, but there
 * are more buckets to look in (LOOK); or the tag of slot s matches (SLOT_0 + s). */
enum { ABSENT, LOOK, SLOT_0 };

/* Looks for a slot of a bucket whose tag matches, and prefetches its record. `more` says whether there are more buckets
 * to look in. */
INLINE uint64_t candidate(const kithi_cuckoo *c, uint64_t bucket, uint64_t tags, uint64_t tag_bits, bool more,
                          shape s) {
    uint64_t equal = kithi_cuckoo_equal(tags, s.b, kithi_cuckoo_tag(tag_bits));
    if (equal == 0)
        return more ? LOOK : ABSENT;
    uint64_t slot = bucket * s.b + kithi_cuckoo_slot(equal);
    __builtin_prefetch(c->records + slot * s.record_bytes);
    return SLOT_0 + slot;
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
        uint64_t bucket = bucket_of(c, 0, &keys[i], hashes[i], s), tag_bits = tag_bits_of(c, hashes[i], s);
        uint64_t tags = kithi_cuckoo_tags(c, bucket, s.b);
        candidates[i] = candidate(c, bucket, tags, tag_bits, kithi_cuckoo_marked(tags, tag_bits, s.b), s);
        if (candidates[i] == LOOK) {
            later[later_count++] = i;
            __builtin_prefetch(c->tags + bucket_of(c, 1, &keys[i], hashes[i], s) * s.b);
        }
    }
    for (size_t j = 0; j < later_count; j++) {
        size_t i = later[j];
        uint64_t bucket = bucket_of(c, 1, &keys[i], hashes[i], s);
        candidates[i] =
            candidate(c, bucket, kithi_cuckoo_tags(c, bucket, s.b), tag_bits_of(c, hashes[i], s), s.d > 2, s);
    }
    for (size_t i = 0; i < n; i++) {
        if (candidates[i] == ABSENT)
            continue;
        uint64_t slot = candidates[i] - SLOT_0;
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
    return c->plain ? get_group_in(t, keys, n, values, PLAIN) : get_group_in(t, keys, n, values, shape_of(t));
}

void kithi_cuckoo_prefetch(const kith_table *t, const kithi_key *key) {
    const kithi_cuckoo *c = t->state;
    uint64_t bucket = kithi_cuckoo_bucket_at(c, 0, kithi_cuckoo_hash(c, key));
    __builtin_prefetch(c->tags + bucket * c->b);
    __builtin_prefetch(kithi_cuckoo_record(t, c, bucket, 0));
}
