/* Lookups in a cuckoo table. A lookup reads the tags of the first bucket and the records whose tag matches. If the
 * bucket has a mark for the key's class, it then does the same in the other buckets. The most common tables use
 * cuckoo_words.c instead.
 *
 * Batches work in passes over a group of keys, so that many lookups wait for memory at the same time: the first pass
 * prefetches one cache line of tags per key, the next ones the records whose tag matches. */
#include "tables/cuckoo_find.h"

/* ---- one key ---- */

static uint64_t find_hashed(const kith_table *t, const kithi_key *key, uint64_t hash) {
    const kithi_cuckoo *c = t->state;
    uint64_t tag_bits = kithi_cuckoo_tag_bits(c, hash);
    for (unsigned i = 0; i < c->d; i++) {
        uint64_t bucket = kithi_cuckoo_bucket(c, i, key, hash);
        uint64_t tags = kithi_cuckoo_tags(c, bucket, c->b);
        kithi_trace(t, KITH_STEP_LOOK, bucket * c->b, 0);
        for (uint64_t equal = kithi_cuckoo_equal(tags, c->b, kithi_cuckoo_tag(tag_bits)); equal != 0;
             equal &= equal - 1) {
            uint64_t slot = bucket * c->b + kithi_cuckoo_slot(equal);
            if (kithi_record_is(t, c->records + slot * t->record_bytes, key))
                return slot;
        }
        if (i == 0 && !kithi_cuckoo_marked(tags, tag_bits, c->b))
            break;
    }
    return KITHI_CUCKOO_NO_SLOT;
}

uint64_t kithi_cuckoo_find(const kith_table *t, const kithi_key *key, uint64_t *hash) {
    *hash = kithi_cuckoo_hash(t->state, key);
    return find_hashed(t, key, *hash);
}

bool kithi_cuckoo_get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const kithi_cuckoo *c = t->state;
    uint64_t hash, slot = kithi_cuckoo_find(t, key, &hash);
    if (slot == KITHI_CUCKOO_NO_SLOT)
        return false;
    *value = kithi_record_value(t, c->records + slot * t->record_bytes);
    return true;
}

/* ---- batches ---- */

/* What a batch knows about a key, as one number: the key is not in the table (ABSENT); no tag matches yet, but there
 * are more buckets to look in (LOOK); or the tag of slot s matches (SLOT_0 + s). */
enum { ABSENT, LOOK, SLOT_0 };

/* Looks for a slot of a bucket whose tag matches, and prefetches its record. `more` says whether there are more buckets
 * to look in. */
static inline uint64_t candidate(const kith_table *t, const kithi_cuckoo *c, uint64_t bucket, uint64_t tags,
                                 uint64_t tag_bits, bool more) {
    uint64_t equal = kithi_cuckoo_equal(tags, c->b, kithi_cuckoo_tag(tag_bits));
    if (equal == 0)
        return more ? LOOK : ABSENT;
    uint64_t slot = bucket * c->b + kithi_cuckoo_slot(equal);
    __builtin_prefetch(c->records + slot * t->record_bytes);
    return SLOT_0 + slot;
}

uint64_t kithi_cuckoo_get_group(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values) {
    const kithi_cuckoo *c = t->state;
    uint64_t hashes[KITHI_GROUP], candidates[KITHI_GROUP], found = 0;
    size_t later[KITHI_GROUP], later_count = 0;
    for (size_t i = 0; i < n; i++) {
        hashes[i] = kithi_cuckoo_hash(c, &keys[i]);
        __builtin_prefetch(c->tags + kithi_cuckoo_bucket_at(c, 0, hashes[i]) * c->b);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bucket = kithi_cuckoo_bucket_at(c, 0, hashes[i]), tag_bits = kithi_cuckoo_tag_bits(c, hashes[i]);
        uint64_t tags = kithi_cuckoo_tags(c, bucket, c->b);
        candidates[i] = candidate(t, c, bucket, tags, tag_bits, kithi_cuckoo_marked(tags, tag_bits, c->b));
        if (candidates[i] == LOOK) {
            later[later_count++] = i;
            __builtin_prefetch(c->tags + kithi_cuckoo_bucket(c, 1, &keys[i], hashes[i]) * c->b);
        }
    }
    for (size_t j = 0; j < later_count; j++) {
        size_t i = later[j];
        uint64_t bucket = kithi_cuckoo_bucket(c, 1, &keys[i], hashes[i]);
        candidates[i] =
            candidate(t, c, bucket, kithi_cuckoo_tags(c, bucket, c->b), kithi_cuckoo_tag_bits(c, hashes[i]), c->d > 2);
    }
    for (size_t i = 0; i < n; i++) {
        if (candidates[i] == ABSENT)
            continue;
        uint64_t slot = candidates[i] - SLOT_0;
        if (candidates[i] == LOOK || !kithi_record_is(t, c->records + slot * t->record_bytes, &keys[i])) {
            slot = find_hashed(t, &keys[i], hashes[i]);
            if (slot == KITHI_CUCKOO_NO_SLOT)
                continue;
        }
        found |= UINT64_C(1) << i;
        if (values != NULL)
            values[i] = kithi_record_value(t, c->records + slot * t->record_bytes);
    }
    return found;
}

void kithi_cuckoo_prefetch(const kith_table *t, const kithi_key *key) {
    const kithi_cuckoo *c = t->state;
    uint64_t bucket = kithi_cuckoo_bucket_at(c, 0, kithi_cuckoo_hash(c, key));
    __builtin_prefetch(c->tags + bucket * c->b);
    __builtin_prefetch(kithi_cuckoo_record(t, c, bucket, 0));
}
