/* Cuckoo tables whose keys are words: 4 or 8 bytes, with xxh3 or siphash and the default d, b, layout and evict. These
 * are the most common tables. The code does the same as that of cuckoo_find.c and cuckoo.c, with constants for what all
 * these tables have in common. The results, and the bytes in the table, are the same.
 *
 * While a processor waits for memory, it executes a limited number of further instructions (256 or more), its window.
 * The speed of consecutive lookups depends on how many of them fit into the window, so a lookup should have few
 * instructions. The two cache lines of records of the first bucket are prefetched before its tags are read, so that a
 * lookup waits once and not twice. With a million keys this prefetch saves a sixth to a quarter of the time for present
 * keys, and adds up to a sixth for absent ones.
 *
 * A branch that is predicted wrongly ends the window. So few keys should be in their second bucket, and few tags should
 * match by chance. At a load of 80%, 8% of the keys are in their second bucket; with b = 4 it would be 16%. With b = 16
 * twice as many tags would match by chance.
 *
 * A key of 4 bytes is stored with zeros up to 8 bytes, so both sizes are compared as 8 bytes. With xxh3 and siphash the
 * bits for tag and class are the hash value itself, so functions of cuckoo_slots.h get it as `tag_bits`.
 *
 * Each function has one body, which takes the family as a constant and is inlined into one function per family. */
#include "tables/cuckoo/words.h"

#include "tables/cuckoo/rebuild.h"

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

enum { B = KITHI_CUCKOO_TABLE_B_DEFAULT, RECORD_BYTES = 16, LINE_BYTES = 64 };

/* ---- lookup ---- */

INLINE uint64_t hash_word(const kithi_cuckoo_table *c, uint64_t word, kith_family_id family) {
    return family == KITH_FAMILY_XXH3 ? kithi_xxh3_word(c->flip, word) : kithi_function_word(c->functions[0], word);
}

INLINE uint64_t first_bucket(const kithi_cuckoo_table *c, uint64_t hash) {
    return kithi_mulhi(hash, c->buckets);
}

INLINE uint64_t second_bucket(const kithi_cuckoo_table *c, uint64_t hash) {
    return kithi_mulhi(kithi_cuckoo_table_second_hash(hash), c->buckets);
}

INLINE void prefetch_records(const kithi_cuckoo_table *c, uint64_t bucket) {
    for (size_t at = 0; at < B * RECORD_BYTES; at += LINE_BYTES)
        __builtin_prefetch(c->records + bucket * B * RECORD_BYTES + at);
}

/* Returns the record of the first slot in `equal`, a result of kithi_cuckoo_table_equal_tags(): bit 8 s + 7 means slot
 * s. */
INLINE uint8_t *record_of(const kithi_cuckoo_table *c, uint64_t bucket, uint64_t equal) {
    unsigned bit = (unsigned)__builtin_ctzll(equal);
    return c->records + (bucket * B * RECORD_BYTES + bit * (RECORD_BYTES / 8) - 7 * (RECORD_BYTES / 8));
}

/* Returns the record of the word in this bucket, or NULL if it is not there. `tags` are the tag bytes of the bucket. */
INLINE uint8_t *find_in(const kithi_cuckoo_table *c, uint64_t bucket, uint64_t tags, uint64_t word, uint64_t hash) {
    for (uint64_t equal = kithi_cuckoo_table_equal_tags(tags, B, kithi_cuckoo_table_tag(hash)); equal != 0;
         equal &= equal - 1) {
        uint8_t *record = record_of(c, bucket, equal);
        if (kithi_load64(record) == word)
            return record;
    }
    return NULL;
}

NOINLINE uint8_t *find_second(const kithi_cuckoo_table *c, uint64_t word, uint64_t hash) {
    uint64_t bucket = second_bucket(c, hash);
    return find_in(c, bucket, kithi_cuckoo_table_load_tags(c, bucket, B), word, hash);
}

/* Returns the record of the word in either bucket, or NULL. */
NOINLINE uint8_t *find_any(const kithi_cuckoo_table *c, uint64_t word, uint64_t hash) {
    uint64_t bucket = first_bucket(c, hash), tags = kithi_cuckoo_table_load_tags(c, bucket, B);
    uint8_t *record = find_in(c, bucket, tags, word, hash);
    return record == NULL && kithi_cuckoo_table_overflowed(tags, hash, B) ? find_second(c, word, hash) : record;
}

/* In get, put and remove the most common path is inlined and needs no stack frame. All other cases are in separate
 * functions. For get these cases are: the first tag that matches belongs to another key, or no tag matches but the
 * overflow bit of the key's class is set. For put they are also: the bucket is full, the table must grow, or too many
 * overflow bits may be stale. For remove: the key is not at the first tag that matches. */

NOINLINE bool get_second(const kithi_cuckoo_table *c, uint64_t word, uint64_t hash, uint64_t *value) {
    const uint8_t *record = find_second(c, word, hash);
    if (record != NULL && value != NULL)
        *value = kithi_load64(record + 8);
    return record != NULL;
}

NOINLINE bool get_any(const kithi_cuckoo_table *c, uint64_t word, uint64_t hash, uint64_t *value) {
    const uint8_t *record = find_any(c, word, hash);
    if (record != NULL && value != NULL)
        *value = kithi_load64(record + 8);
    return record != NULL;
}

INLINE bool get_of_family(const kith_table *t, uint64_t word, uint64_t *value, kith_family_id family) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hash = hash_word(c, word, family), bucket = first_bucket(c, hash);
    prefetch_records(c, bucket);
    uint64_t tags = kithi_cuckoo_table_load_tags(c, bucket, B),
             equal = kithi_cuckoo_table_equal_tags(tags, B, kithi_cuckoo_table_tag(hash));
    if (equal == 0)
        return kithi_cuckoo_table_overflowed(tags, hash, B) && get_second(c, word, hash, value);
    const uint8_t *record = record_of(c, bucket, equal);
    if (__builtin_expect(kithi_load64(record) != word, 0))
        return get_any(c, word, hash, value);
    if (value != NULL)
        *value = kithi_load64(record + 8);
    return true;
}

static bool get_xxh3(const kith_table *t, uint64_t word, uint64_t *value) {
    return get_of_family(t, word, value, KITH_FAMILY_XXH3);
}

static bool get_siphash(const kith_table *t, uint64_t word, uint64_t *value) {
    return get_of_family(t, word, value, KITH_FAMILY_SIPHASH);
}

/* ---- changes ---- */

static void make_record(uint8_t *record, uint64_t word, uint64_t value) {
    kithi_store64(record, word);
    kithi_store64(record + 8, value);
}

NOINLINE kith_status put_any(kith_table *t, uint64_t word, uint64_t hash, uint64_t value, bool *was_new) {
    uint8_t *record = find_any(t->state, word, hash);
    if (record != NULL) {
        kithi_store64(record + 8, value);
        if (was_new != NULL)
            *was_new = false;
        return KITH_OK;
    }
    uint8_t fresh[RECORD_BYTES];
    make_record(fresh, word, value);
    kith_status status = kithi_cuckoo_table_put_absent(t, fresh, hash);
    if (status == KITH_OK && was_new != NULL)
        *was_new = true;
    return status;
}

INLINE kith_status put_hashed(kith_table *t, uint64_t word, uint64_t hash, uint64_t value, bool *was_new) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t bucket = first_bucket(c, hash);
    prefetch_records(c, bucket);
    uint64_t tags = kithi_cuckoo_table_load_tags(c, bucket, B),
             equal = kithi_cuckoo_table_equal_tags(tags, B, kithi_cuckoo_table_tag(hash));
    if (equal != 0) {
        uint8_t *record = record_of(c, bucket, equal);
        if (__builtin_expect(kithi_load64(record) != word, 0))
            return put_any(t, word, hash, value, was_new);
        kithi_store64(record + 8, value);
        if (was_new != NULL)
            *was_new = false;
        return KITH_OK;
    }
    uint64_t free = kithi_cuckoo_table_equal_tags(tags, B, 0);
    if (free == 0 || kithi_cuckoo_table_overflowed(tags, hash, B) || t->count >= c->keys_max ||
        c->stale_overflow_bits > c->stale_max)
        return put_any(t, word, hash, value, was_new);
    make_record(record_of(c, bucket, free), word, value);
    kithi_cuckoo_table_set_tag(c, bucket, kithi_cuckoo_table_first_slot(free), hash);
    t->count++;
    if (was_new != NULL)
        *was_new = true;
    return KITH_OK;
}

INLINE void clear_record(kith_table *t, const kithi_cuckoo_table *c, uint8_t *record, uint64_t *value) {
    if (value != NULL)
        *value = kithi_load64(record + 8);
    make_record(record, 0, 0);
    c->tags[(size_t)(record - c->records) / RECORD_BYTES] &= 0x80;
    t->count--;
}

NOINLINE kith_status remove_any(kith_table *t, uint64_t word, uint64_t hash, uint64_t *value) {
    kithi_cuckoo_table *c = t->state;
    uint8_t *record = find_any(c, word, hash);
    if (record == NULL)
        return KITH_E_ABSENT;
    c->stale_overflow_bits += (size_t)(record - c->records) / (B * RECORD_BYTES) != first_bucket(c, hash);
    clear_record(t, c, record, value);
    return KITH_OK;
}

INLINE kith_status remove_of_family(kith_table *t, uint64_t word, uint64_t *value, kith_family_id family) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hash = hash_word(c, word, family), bucket = first_bucket(c, hash);
    prefetch_records(c, bucket);
    uint64_t tags = kithi_cuckoo_table_load_tags(c, bucket, B),
             equal = kithi_cuckoo_table_equal_tags(tags, B, kithi_cuckoo_table_tag(hash));
    if (equal != 0) {
        uint8_t *record = record_of(c, bucket, equal);
        if (__builtin_expect(kithi_load64(record) == word, 1)) {
            clear_record(t, c, record, value);
            return KITH_OK;
        }
    }
    return remove_any(t, word, hash, value);
}

static kith_status put_xxh3(kith_table *t, uint64_t word, uint64_t value, bool *was_new) {
    return put_hashed(t, word, hash_word(t->state, word, KITH_FAMILY_XXH3), value, was_new);
}

static kith_status put_siphash(kith_table *t, uint64_t word, uint64_t value, bool *was_new) {
    return put_hashed(t, word, hash_word(t->state, word, KITH_FAMILY_SIPHASH), value, was_new);
}

static kith_status remove_xxh3(kith_table *t, uint64_t word, uint64_t *value) {
    return remove_of_family(t, word, value, KITH_FAMILY_XXH3);
}

static kith_status remove_siphash(kith_table *t, uint64_t word, uint64_t *value) {
    return remove_of_family(t, word, value, KITH_FAMILY_SIPHASH);
}

/* ---- batches ---- */

/* Works in passes over the group, so that many lookups wait for memory at the same time. The first pass prefetches the
 * tags of the first bucket. The second one prefetches the first record whose tag matches or, if no tag matches but the
 * overflow bit of the key's class is set, the tags of the second bucket. The third pass prefetches the matching records
 * in second buckets. The last one compares the keys. */
INLINE uint64_t get_group_of_family(const kith_table *t, const uint64_t *words, size_t n, uint64_t *values,
                                    kith_family_id family) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hashes[KITHI_GROUP_KEYS], found = 0;
    const uint8_t *records[KITHI_GROUP_KEYS]; /* of the first slot whose tag matches, or NULL: the key is absent */
    uint8_t later[KITHI_GROUP_KEYS];          /* indices of the keys whose second bucket is read */
    size_t later_count = 0;
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_word(c, words[i], family);
        __builtin_prefetch(c->tags + first_bucket(c, hashes[i]) * B);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bucket = first_bucket(c, hashes[i]), tags = kithi_cuckoo_table_load_tags(c, bucket, B);
        uint64_t equal = kithi_cuckoo_table_equal_tags(tags, B, kithi_cuckoo_table_tag(hashes[i]));
        records[i] = NULL;
        if (equal != 0) {
            records[i] = record_of(c, bucket, equal);
            __builtin_prefetch(records[i]);
        } else if (kithi_cuckoo_table_overflowed(tags, hashes[i], B)) {
            later[later_count++] = (uint8_t)i;
            __builtin_prefetch(c->tags + second_bucket(c, hashes[i]) * B);
        }
    }
    for (size_t j = 0; j < later_count; j++) {
        /* cppcheck-suppress uninitvar ; the loop above set the first later_count elements */
        size_t i = later[j];
        uint64_t bucket = second_bucket(c, hashes[i]);
        uint64_t equal = kithi_cuckoo_table_equal_tags(kithi_cuckoo_table_load_tags(c, bucket, B), B,
                                                       kithi_cuckoo_table_tag(hashes[i]));
        if (equal != 0) {
            records[i] = record_of(c, bucket, equal);
            __builtin_prefetch(records[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *record = records[i];
        if (record == NULL)
            continue;
        if (__builtin_expect(kithi_load64(record) != words[i], 0)) {
            record = find_any(c, words[i], hashes[i]);
            if (record == NULL)
                continue;
        }
        found |= UINT64_C(1) << i;
        if (values != NULL)
            values[i] = kithi_load64(record + 8);
    }
    return found;
}

static uint64_t get_group_xxh3(const kith_table *t, const uint64_t *words, size_t n, uint64_t *values) {
    return get_group_of_family(t, words, n, values, KITH_FAMILY_XXH3);
}

static uint64_t get_group_siphash(const kith_table *t, const uint64_t *words, size_t n, uint64_t *values) {
    return get_group_of_family(t, words, n, values, KITH_FAMILY_SIPHASH);
}

/* Hashes the whole group and prefetches its buckets, then puts one key after the other. A put that draws another
 * function makes the hash values of the keys after it useless, so they are computed again. */
INLINE kith_status put_group_of_family(kith_table *t, const uint64_t *words, const uint64_t *values, size_t n,
                                       size_t *done, kith_family_id family) {
    const kithi_cuckoo_table *c = t->state;
    uint64_t hashes[KITHI_GROUP_KEYS], seed = c->seed;
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_word(c, words[i], family);
        uint64_t bucket = first_bucket(c, hashes[i]);
        __builtin_prefetch(c->tags + bucket * B);
        prefetch_records(c, bucket);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = seed == c->seed ? hashes[i] : hash_word(c, words[i], family);
        kith_status status = put_hashed(t, words[i], hash, values != NULL ? values[i] : 0, NULL);
        if (status != KITH_OK) {
            *done = i;
            return status;
        }
    }
    *done = n;
    return KITH_OK;
}

static kith_status put_group_xxh3(kith_table *t, const uint64_t *words, const uint64_t *values, size_t n,
                                  size_t *done) {
    return put_group_of_family(t, words, values, n, done, KITH_FAMILY_XXH3);
}

static kith_status put_group_siphash(kith_table *t, const uint64_t *words, const uint64_t *values, size_t n,
                                     size_t *done) {
    return put_group_of_family(t, words, values, n, done, KITH_FAMILY_SIPHASH);
}

static const kithi_table_words XXH3 = {
    .get = get_xxh3,
    .put = put_xxh3,
    .remove = remove_xxh3,
    .get_group = get_group_xxh3,
    .put_group = put_group_xxh3,
};

static const kithi_table_words SIPHASH = {
    .get = get_siphash,
    .put = put_siphash,
    .remove = remove_siphash,
    .get_group = get_group_siphash,
    .put_group = put_group_siphash,
};

const kithi_table_words *kithi_cuckoo_table_words(const kith_table *t) {
    const kithi_cuckoo_table *c = t->state;
    if ((t->key_bytes != 4 && t->key_bytes != 8) || c->d != KITHI_CUCKOO_TABLE_D_DEFAULT || c->b != B ||
        c->partitioned || !c->one_hash || t->options[KITHI_CUCKOO_TABLE_OPTION_EVICT] != KITHI_CUCKOO_TABLE_EVICT_LAST)
        return NULL;
    return t->family == KITH_FAMILY_XXH3 ? &XXH3 : &SIPHASH;
}
