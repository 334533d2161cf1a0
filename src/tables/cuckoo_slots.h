/* tables/cuckoo_slots.h: the memory layout of a cuckoo table, and the buckets of a key.
 *
 *     records   | bucket 0: b records of 16 or 24 bytes | bucket 1 | …       four of 16 bytes are one cache line
 *     tags      | bucket 0: b bytes                     | bucket 1 | …       | 8 spare | zeros to a multiple of 64 |
 *
 *     tag byte  | 7 mark | 6 … 0 tag of the key in this slot, from its hash; 0: free |
 *
 * Both arrays are in the body of one block (format/format.h), so a table whose keys have a fixed size can be saved and
 * mapped as it is.
 *
 * A mark means that some key whose first bucket is this one is stored in another of its buckets. Keys are divided into
 * b classes by their hash, and each class has its own mark, so that most lookups of absent keys end in the first
 * bucket. The mark in byte i of a bucket is that of class i; it has nothing to do with the key in slot i. A mark is set
 * when a key is stored outside its first bucket. It is not cleared when the key is removed or moved back, so a mark may
 * be stale but is never missing. When too many may be stale, all marks are recomputed.
 *
 *     layout=one   every function maps to all buckets
 *     layout=two   function i maps to part i of d equal parts (two halves for d = 2)
 *
 * With xxh3 and siphash the d buckets, the tag and the class come from one hash value:
 *
 *     bits   63 … 37 first bucket | 36 … 10 second bucket | 9 … 7 class | 6 … 0 tag
 *     more buckets: kithi_mixed_word(hash, i)
 *
 * With more than 2^27 buckets these bit ranges overlap, and tags distinguish fewer keys. Results stay right, because
 * the keys in the records are compared. For the other families, d functions are drawn, because their theorems require
 * it. */
#ifndef KITHI_TABLES_CUCKOO_SLOTS_H
#define KITHI_TABLES_CUCKOO_SLOTS_H

#include "core/function.h"
#include "core/mix.h"
#include "tables/common/record.h"

#define KITHI_CUCKOO_TABLE_D_MAX 4
#define KITHI_CUCKOO_TABLE_B_MAX 8

/* The defaults, for which there is faster code. */
#define KITHI_CUCKOO_TABLE_D_DEFAULT 2
#define KITHI_CUCKOO_TABLE_B_DEFAULT 8

/* Indices of the table's options. OPTION_WALK_MAX is the option `max`, the number of steps of a walk. */
enum {
    KITHI_CUCKOO_TABLE_OPTION_LAYOUT,
    KITHI_CUCKOO_TABLE_OPTION_D,
    KITHI_CUCKOO_TABLE_OPTION_B,
    KITHI_CUCKOO_TABLE_OPTION_INSERT,
    KITHI_CUCKOO_TABLE_OPTION_LOAD,
    KITHI_CUCKOO_TABLE_OPTION_WALK_MAX,
    KITHI_CUCKOO_TABLE_OPTION_START,
    KITHI_CUCKOO_TABLE_OPTION_EVICT
};
enum { KITHI_CUCKOO_TABLE_LAYOUT_ONE, KITHI_CUCKOO_TABLE_LAYOUT_PARTS };
enum { KITHI_CUCKOO_TABLE_INSERT_AUTO, KITHI_CUCKOO_TABLE_INSERT_SEARCH, KITHI_CUCKOO_TABLE_INSERT_WALK };
enum { KITHI_CUCKOO_TABLE_WALK_MAX_DEFAULT, KITHI_CUCKOO_TABLE_WALK_MAX_AUTO };
enum { KITHI_CUCKOO_TABLE_START_FIRST, KITHI_CUCKOO_TABLE_START_SECOND, KITHI_CUCKOO_TABLE_START_RANDOM };
enum { KITHI_CUCKOO_TABLE_EVICT_LAST, KITHI_CUCKOO_TABLE_EVICT_FIRST };

/* A bucket that the search for a free slot has reached, or a slot on the path of a walk. */
typedef struct kithi_cuckoo_table_step {
    uint64_t bucket;
    uint32_t parent; /* queue index of the bucket from which it was reached; not used by a walk */
    uint8_t slot;    /* search: the slot of the parent's bucket whose entry can move to this bucket; walk: the
                     slot of `bucket` whose entry was displaced */
} kithi_cuckoo_table_step;

typedef struct kithi_cuckoo_table {
    uint64_t buckets; /* a multiple of d */
    uint8_t *records;
    uint8_t *tags;
    uint64_t flip;        /* with xxh3: functions[0]->flip, which kithi_xxh3_word() XORs with a key */
    uint64_t keys_max;    /* the table grows when it has more keys */
    uint64_t stale_marks; /* estimate: removals from other than the first bucket since marks were recomputed */
    uint64_t stale_max;   /* marks are recomputed when more may be stale */
    unsigned d, b;
    bool partitioned; /* layout=two */
    bool plain;       /* default d, b and layout, one_hash, and keys of 16 bytes or byte strings: see cuckoo_find.c */
    bool one_hash;    /* all buckets come from one hash value, that of functions[0]; the others are NULL */
    kith_function *functions[KITHI_CUCKOO_TABLE_D_MAX];
    uint64_t seed; /* of the functions */
    uint8_t *block;
    uint64_t block_bytes;
    kithi_cuckoo_table_step *queue; /* queue_limit elements; a walk stores its path here */
    uint64_t *visited;     /* hash set of the buckets in the queue, 2 * search_limit slots: bucket + 1; 0: empty */
    uint32_t search_limit; /* the most buckets that a search may visit; 0 for a read-only table */
    uint32_t queue_limit;  /* search_limit, or more if walks may be longer */
} kithi_cuckoo_table;

static inline uint64_t kithi_cuckoo_table_slots(const kithi_cuckoo_table *c) {
    return c->buckets * c->b;
}

/* ---- the buckets of a key ---- */

/* Returns the key's hash value by the first function. */
static inline uint64_t kithi_cuckoo_table_hash(const kithi_cuckoo_table *c, const kithi_key *key) {
    return kithi_function_key(c->functions[0], key->bytes, key->byte_count);
}

/* Returns the hash value of a record's key. With xxh3 and siphash, keys of 4 and 8 bytes, which a record of 16 bytes
 * stores as a word, are hashed as words. With xxh3 that takes half the instructions of kithi_cuckoo_table_hash(). */
static inline uint64_t kithi_cuckoo_table_record_hash(const kith_table *t, const kithi_cuckoo_table *c,
                                                      const uint8_t *record) {
    if (__builtin_expect(t->record_bytes == 16 && c->one_hash, 1))
        return kithi_function_word(c->functions[0], kithi_load64(record));
    kithi_key key = kithi_record_key(t, record);
    return kithi_cuckoo_table_hash(c, &key);
}

/* Returns the bucket that this hash value of function i selects. */
static inline uint64_t kithi_cuckoo_table_bucket_of_hash(const kithi_cuckoo_table *c, unsigned i, uint64_t hash) {
    if (!c->partitioned)
        return kithi_mulhi(hash, c->buckets);
    uint64_t part = c->buckets / c->d;
    return i * part + kithi_mulhi(hash, part);
}

/* Returns the hash value that gives the second bucket, if all buckets come from one hash value. */
static inline uint64_t kithi_cuckoo_table_second_hash(uint64_t hash) {
    return kithi_rotate_left(hash, 27);
}

/* Returns bucket i of a key; `hash` is kithi_cuckoo_table_hash(c, key). */
static inline uint64_t kithi_cuckoo_table_bucket(const kithi_cuckoo_table *c, unsigned i, const kithi_key *key,
                                                 uint64_t hash) {
    if (i != 0)
        hash = !c->one_hash ? kithi_function_key(c->functions[i], key->bytes, key->byte_count)
               : i == 1     ? kithi_cuckoo_table_second_hash(hash)
                            : kithi_mixed_word(hash, i);
    return kithi_cuckoo_table_bucket_of_hash(c, i, hash);
}

/* Returns the bits that the tag and the class are taken from. Hash values of families other than xxh3 and siphash need
 * not have random low bits, so they are mixed. */
static inline uint64_t kithi_cuckoo_table_tag_bits(const kithi_cuckoo_table *c, uint64_t hash) {
    return c->one_hash ? hash : kithi_mix(hash);
}

static inline uint32_t kithi_cuckoo_table_tag(uint64_t tag_bits) {
    uint32_t tag = (uint32_t)tag_bits & 0x7f;
    return tag + (tag == 0);
}

static inline unsigned kithi_cuckoo_table_class(uint64_t tag_bits, unsigned b) {
    return (unsigned)(tag_bits >> 7 & 7) * b >> 3;
}

/* ---- slots ---- */

static inline uint8_t *kithi_cuckoo_table_record(const kith_table *t, const kithi_cuckoo_table *c, uint64_t bucket,
                                                 unsigned slot) {
    return c->records + (bucket * c->b + slot) * t->record_bytes;
}

#define KITHI_CUCKOO_TABLE_ONES UINT64_C(0x0101010101010101)
#define KITHI_CUCKOO_TABLE_MARKS (KITHI_CUCKOO_TABLE_ONES << 7)

/* Loads the tag bytes of a bucket, and possibly more after them. Four tags are loaded as four bytes: a load of eight
 * would cross a cache line in one of sixteen buckets. */
static inline uint64_t kithi_cuckoo_table_tags(const kithi_cuckoo_table *c, uint64_t bucket, unsigned b) {
    const uint8_t *tags = c->tags + bucket * b;
    return b == 4 ? kithi_load32(tags) : kithi_load64(tags);
}

/* Returns a word in which the top bit of byte i < b is set if tag i equals `tag`; all other bits are 0. This is exact:
 * every byte of `differ` is at least 128, and 128 if the tags are equal. So the subtraction of 1 from each byte never
 * borrows from the next byte, and only a byte of 128 falls below 128. For b <= 4 it uses 32 bits, which takes fewer
 * instructions. */
static inline uint64_t kithi_cuckoo_table_equal(uint64_t tags, unsigned b, uint32_t tag) {
    if (b <= 4) {
        uint32_t ones = (uint32_t)KITHI_CUCKOO_TABLE_ONES, marks = (uint32_t)KITHI_CUCKOO_TABLE_MARKS;
        uint32_t differ = ((uint32_t)tags ^ tag * ones) | marks;
        return ~(differ - ones) & (marks >> (32 - 8 * b));
    }
    uint64_t differ = (tags ^ tag * KITHI_CUCKOO_TABLE_ONES) | KITHI_CUCKOO_TABLE_MARKS;
    return ~(differ - KITHI_CUCKOO_TABLE_ONES) & (KITHI_CUCKOO_TABLE_MARKS >> (64 - 8 * b));
}

/* Returns the first slot in the result of kithi_cuckoo_table_equal() or kithi_cuckoo_table_free_slots(). */
static inline unsigned kithi_cuckoo_table_slot(uint64_t equal) {
    return (unsigned)__builtin_ctzll(equal) / 8;
}

/* Returns the free slots of a bucket, in the form of kithi_cuckoo_table_equal(). */
static inline uint64_t kithi_cuckoo_table_free_slots(const kithi_cuckoo_table *c, uint64_t bucket) {
    return kithi_cuckoo_table_equal(kithi_cuckoo_table_tags(c, bucket, c->b), c->b, 0);
}

/* Returns whether the mark of a key's class is set. `tags` are those of the key's first bucket. */
static inline bool kithi_cuckoo_table_marked(uint64_t tags, uint64_t tag_bits, unsigned b) {
    return (tags >> (8 * kithi_cuckoo_table_class(tag_bits, b) + 7) & 1) != 0;
}

static inline void kithi_cuckoo_table_set_tag(const kithi_cuckoo_table *c, uint64_t bucket, unsigned slot,
                                              uint64_t tag_bits) {
    uint8_t *tag = c->tags + bucket * c->b + slot;
    *tag = (uint8_t)((*tag & 0x80) | kithi_cuckoo_table_tag(tag_bits));
}

/* Sets the mark in the first bucket of a key that is stored in `bucket`, unless that is its first bucket. */
static inline void kithi_cuckoo_table_mark(const kithi_cuckoo_table *c, uint64_t bucket, uint64_t hash) {
    uint64_t first = kithi_cuckoo_table_bucket_of_hash(c, 0, hash);
    if (bucket != first)
        c->tags[first * c->b + kithi_cuckoo_table_class(kithi_cuckoo_table_tag_bits(c, hash), c->b)] |= 0x80;
}

/* Stores a record, whose key has this hash value, in a slot, with its tag and, if needed, its mark. */
static inline void kithi_cuckoo_table_set(const kith_table *t, const kithi_cuckoo_table *c, uint64_t bucket,
                                          unsigned slot, uint64_t hash, const uint8_t *record) {
    kithi_cuckoo_table_set_tag(c, bucket, slot, kithi_cuckoo_table_tag_bits(c, hash));
    kithi_record_copy(t, kithi_cuckoo_table_record(t, c, bucket, slot), record);
    kithi_cuckoo_table_mark(c, bucket, hash);
}

#endif
