/* Lookups in a cuckoo table. A lookup reads the tags of the first bucket and the records whose tag matches. If it has
 * not found the key, and the overflow bit of the key's class is set (cuckoo_slots.h), it does the same in the other
 * buckets. Most tables whose keys have 4 or 8 bytes use cuckoo_words.c instead.
 *
 * Batches work in passes over a group of keys, so that many lookups wait for memory at the same time. The first pass
 * prefetches the tags of each key's first bucket. The second one prefetches the first record whose tag matches or, if
 * none does and the overflow bit is set, the tags of the second bucket. The third pass prefetches the matching records
 * in second buckets. The last one compares the keys. */
#include "tables/cuckoo/find.h"

/* There is one body for lookups, which takes the shape of the table as an argument. It is inlined twice: with the
 * constant DEFAULT_SHAPE, for tables that have it (default_shape in kithi_cuckoo_table), and with a variable shape, for
 * all others. */
#define INLINE static inline __attribute__((always_inline))

typedef struct shape {
    unsigned d, b, record_bytes;
    bool is_default; /* this is DEFAULT_SHAPE */
} shape;

static const shape DEFAULT_SHAPE = {KITHI_CUCKOO_TABLE_D_DEFAULT, KITHI_CUCKOO_TABLE_B_DEFAULT,
                                    KITHI_TABLE_RECORD_BYTES_MAX, true};

static inline shape shape_of(const kith_table *t) {
    const kithi_cuckoo_table *c = t->state;
    return (shape){c->d, c->b, t->record_bytes, false};
}

/* ---- one key ---- */

INLINE uint64_t bucket_of(const kithi_cuckoo_table *c, unsigned i, const kithi_key *key, uint64_t hash, shape s) {
    if (s.is_default)
        return kithi_mulhi(i == 0 ? hash : kithi_cuckoo_table_second_hash(hash), c->buckets);
    return kithi_cuckoo_table_bucket(c, i, key, hash);
}

INLINE uint64_t tag_bits_of(const kithi_cuckoo_table *c, uint64_t hash, shape s) {
    return s.is_default ? hash : kithi_cuckoo_table_tag_bits(c, hash);
}

INLINE bool slot_has(const kith_table *t, const kithi_cuckoo_table *c, uint64_t slot, const kithi_key *key, shape s) {
    return kithi_record_has_key(t, c->records + slot * s.record_bytes, key);
}

INLINE uint64_t find_with_shape(const kith_table *t, const kithi_key *key, uint64_t hash, shape s) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t tag_bits = tag_bits_of(c, hash, s);
    for (unsigned i = 0; i < s.d; i++) {
        uint64_t bucket = bucket_of(c, i, key, hash, s);
        uint64_t tags = kithi_cuckoo_table_load_tags(c, bucket, s.b);
        kithi_trace(t, KITH_STEP_LOOK, bucket * s.b, 0);
        for (uint64_t equal = kithi_cuckoo_table_equal_tags(tags, s.b, kithi_cuckoo_table_tag(tag_bits)); equal != 0;
             equal &= equal - 1) {
            uint64_t slot = bucket * s.b + kithi_cuckoo_table_first_slot(equal);
            if (slot_has(t, c, slot, key, s))
                return slot;
        }
        if (i == 0 && !kithi_cuckoo_table_overflowed(tags, tag_bits, s.b))
            break;
    }
    return KITHI_CUCKOO_TABLE_NO_SLOT;
}

uint64_t kithi_cuckoo_table_find(const kith_table *t, const kithi_key *key, uint64_t *hash) {
    const kithi_cuckoo_table *c = t->state;
    *hash = kithi_cuckoo_table_hash(c, key);
    return c->default_shape ? find_with_shape(t, key, *hash, DEFAULT_SHAPE)
                            : find_with_shape(t, key, *hash, shape_of(t));
}

bool kithi_cuckoo_table_get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_table_find(t, key, &hash);
    if (slot == KITHI_CUCKOO_TABLE_NO_SLOT)
        return false;
    *value = kithi_record_value(t, c->records + slot * t->record_bytes);
    return true;
}

/* ---- batches ---- */

/* What a batch knows about a key, as one number:
 *
 *     ABSENT       the key is not in the table
 *     LOOK         no tag matches so far, but there are more buckets to look in
 *     SLOT_0 + s   the tag of slot s matches; slots are numbered through the whole table */
enum { ABSENT, LOOK, SLOT_0 };

/* Looks for a slot of a bucket whose tag matches, and prefetches its record. `more_buckets` says whether there are more
 * buckets to look in. */
INLINE uint64_t candidate(const kithi_cuckoo_table *c, uint64_t bucket, uint64_t tags, uint64_t tag_bits,
                          bool more_buckets, shape s) {
    uint64_t equal = kithi_cuckoo_table_equal_tags(tags, s.b, kithi_cuckoo_table_tag(tag_bits));
    if (equal == 0)
        return more_buckets ? LOOK : ABSENT;
    uint64_t slot = bucket * s.b + kithi_cuckoo_table_first_slot(equal);
    __builtin_prefetch(c->records + slot * s.record_bytes);
    return SLOT_0 + slot;
}

INLINE uint64_t get_group_with_shape(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values, shape s) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hashes[KITHI_GROUP_KEYS], candidates[KITHI_GROUP_KEYS], found = 0;
    size_t later[KITHI_GROUP_KEYS], later_count = 0; /* indices of the keys whose second bucket is read */
    for (size_t i = 0; i < n; i++) {
        hashes[i] = kithi_cuckoo_table_hash(c, &keys[i]);
        __builtin_prefetch(c->tags + bucket_of(c, 0, &keys[i], hashes[i], s) * s.b);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bucket = bucket_of(c, 0, &keys[i], hashes[i], s), tag_bits = tag_bits_of(c, hashes[i], s);
        uint64_t tags = kithi_cuckoo_table_load_tags(c, bucket, s.b);
        candidates[i] = candidate(c, bucket, tags, tag_bits, kithi_cuckoo_table_overflowed(tags, tag_bits, s.b), s);
        if (candidates[i] == LOOK) {
            later[later_count++] = i;
            __builtin_prefetch(c->tags + bucket_of(c, 1, &keys[i], hashes[i], s) * s.b);
        }
    }
    for (size_t j = 0; j < later_count; j++) {
        /* cppcheck-suppress uninitvar ; the loop above set the first later_count elements */
        size_t i = later[j];
        uint64_t bucket = bucket_of(c, 1, &keys[i], hashes[i], s);
        candidates[i] = candidate(c, bucket, kithi_cuckoo_table_load_tags(c, bucket, s.b), tag_bits_of(c, hashes[i], s),
                                  s.d > 2, s);
    }
    for (size_t i = 0; i < n; i++) {
        if (candidates[i] == ABSENT)
            continue;
        uint64_t slot = candidates[i] - SLOT_0;
        /* If there is no candidate yet, or it has another key, read all buckets of the key. */
        if (candidates[i] == LOOK || !slot_has(t, c, slot, &keys[i], s)) {
            slot = find_with_shape(t, &keys[i], hashes[i], s);
            if (slot == KITHI_CUCKOO_TABLE_NO_SLOT)
                continue;
        }
        found |= UINT64_C(1) << i;
        if (values != NULL)
            values[i] = kithi_record_value(t, c->records + slot * s.record_bytes);
    }
    return found;
}

uint64_t kithi_cuckoo_table_get_group(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values) {
    const kithi_cuckoo_table *c = t->state;
    return c->default_shape ? get_group_with_shape(t, keys, n, values, DEFAULT_SHAPE)
                            : get_group_with_shape(t, keys, n, values, shape_of(t));
}

void kithi_cuckoo_table_prefetch(const kith_table *t, const kithi_key *key) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t bucket = kithi_cuckoo_table_bucket_of_hash(c, 0, kithi_cuckoo_table_hash(c, key));
    __builtin_prefetch(c->tags + bucket * c->b);
    __builtin_prefetch(kithi_cuckoo_table_record(t, c, bucket, 0));
}
