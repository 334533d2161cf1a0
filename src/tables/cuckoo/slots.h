/* tables/cuckoo/slots.h: the memory layout of a cuckoo table, and the buckets of a key.
 *
 *     records   | bucket 0: b records of 16 or 24 bytes | bucket 1 | …       four of 16 bytes are one cache line
 *     tags      | bucket 0: b tag bytes                 | bucket 1 | …       | at least 8 zeros |
 *
 *     tag byte  | bit 7: overflow bit | bits 6 … 0: tag of the key in this slot, from its hash; 0 if it is free |
 *
 * Both arrays are in the body of one block (format/head.h), so a table whose keys have a fixed size can be saved and
 * mapped as it is. The zeros are there because tags are loaded 8 bytes at a time.
 *
 * An overflow bit tells lookups that the first bucket is not enough. Keys are divided into b classes by their hash, and
 * each bucket has one overflow bit per class. The bit of class i is in byte i of the bucket; it has nothing to do with
 * the key in slot i. It is set if some key of class i whose first bucket is this one is stored in another of its
 * buckets. If it is not set, a lookup of a key of class i ends in the first bucket, as most lookups of absent keys do.
 *
 * The bit is set when a key is stored outside its first bucket. It is not cleared when the key is removed or moved
 * back, so a set bit may be stale (no key needs it), but no bit that is needed is missing. When too many may be stale,
 * all overflow bits are recomputed.
 *
 *     layout=one   every function maps to all buckets
 *     layout=two   function i maps to part i of d equal parts (two halves for d = 2)
 *
 * With xxh3 and siphash the d buckets, the tag and the class come from one hash value:
 *
 *     bits   63 … 37 first bucket | 36 … 10 second bucket | 9 … 7 class | 6 … 0 tag
 *     buckets i = 2 and 3 of d > 2 functions: from kithi_mixed_word(hash, i)
 *
 * With more than 2^27 buckets these bit ranges overlap, and tags distinguish fewer keys. Results stay right, because
 * the keys in the records are compared. For each of the other families d functions are drawn, because the theorems
 * about these families assume independent functions. */
#ifndef KITHI_TABLES_CUCKOO_SLOTS_H
#define KITHI_TABLES_CUCKOO_SLOTS_H

#include "core/function.h"
#include "core/mix.h"
#include "tables/shared/record.h"

#define KITHI_CUCKOO_TABLE_D_MAX 4
#define KITHI_CUCKOO_TABLE_B_MAX 8

/* The defaults, for which there is faster code. */
#define KITHI_CUCKOO_TABLE_D_DEFAULT 2
#define KITHI_CUCKOO_TABLE_B_DEFAULT 8

/* Indices of the table's options, and then the values of those that are names. OPTION_WALK_MAX is the option `max`, the
 * most steps of a random walk (cuckoo_insert.c). LAYOUT_PARTS is layout=two. */
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

/* In a search for a free slot: a bucket that it has reached. In a random walk: a slot on its path. */
typedef struct kithi_cuckoo_table_step {
    uint64_t bucket;
    uint32_t parent; /* search: queue index of the bucket from which this one was reached; not used by a walk */
    uint8_t slot;    /* search: the slot of the parent's bucket whose entry can move to this bucket; walk: the
                     slot of `bucket` whose entry was displaced */
} kithi_cuckoo_table_step;

typedef struct kithi_cuckoo_table {
    uint64_t buckets; /* a multiple of d */
    uint8_t *records;
    uint8_t *tags;
    uint64_t flip;                /* with xxh3: functions[0]->flip, which kithi_xxh3_word() XORs with a key */
    uint64_t keys_max;            /* the table grows when it has more keys */
    uint64_t stale_overflow_bits; /* estimate: removals of keys outside their first bucket since bits were recomputed */
    uint64_t stale_max;           /* overflow bits are recomputed when more may be stale */
    unsigned d, b;
    bool partitioned;   /* layout=two */
    bool default_shape; /* default d, b and layout, one_hash, and records of 24 bytes: see cuckoo_find.c */
    bool one_hash;      /* all buckets come from one hash value, that of functions[0]; functions[1 …] are NULL */
    kith_function *functions[KITHI_CUCKOO_TABLE_D_MAX];
    uint64_t seed; /* of the functions */
    uint8_t *block;
    uint64_t block_bytes;
    kithi_cuckoo_table_step *queue; /* queue_limit elements; a walk stores its path here */
    uint64_t *visited;     /* hash set of the buckets in the queue, 2 * search_limit slots: bucket + 1, or 0 if empty */
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

/* Returns the hash value of a record's key by the first function. A record of 16 bytes has a key of 4 or 8 bytes, as a
 * word. xxh3 and siphash hash such a key as this word, so the checks of kithi_function_key() can be skipped. */
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

/* The lowest and the highest bit of each byte of a word. */
#define KITHI_CUCKOO_TABLE_ONES UINT64_C(0x0101010101010101)
#define KITHI_CUCKOO_TABLE_TOP_BITS (KITHI_CUCKOO_TABLE_ONES << 7)

/* Loads the tag bytes of a bucket, and possibly more after them. Four tags are loaded as four bytes: a load of eight
 * would cross a cache line in one of sixteen buckets. */
static inline uint64_t kithi_cuckoo_table_load_tags(const kithi_cuckoo_table *c, uint64_t bucket, unsigned b) {
    const uint8_t *tags = c->tags + bucket * b;
    return b == 4 ? kithi_load32(tags) : kithi_load64(tags);
}

/* Returns a word in which the top bit of byte i < b is set if tag i equals `tag`; all other bits are 0. With tag = 0
 * these are the free slots. The result is exact. Every byte of `differ` is at least 128, and it is 128 only if the tags
 * are equal. So subtracting 1 from each byte never borrows from the next byte, and only a byte of 128 falls below 128.
 * For b <= 4 the words have 32 bits, which takes fewer instructions. */
static inline uint64_t kithi_cuckoo_table_equal_tags(uint64_t tags, unsigned b, uint32_t tag) {
    if (b <= 4) {
        uint32_t ones = (uint32_t)KITHI_CUCKOO_TABLE_ONES, top_bits = (uint32_t)KITHI_CUCKOO_TABLE_TOP_BITS;
        uint32_t differ = ((uint32_t)tags ^ tag * ones) | top_bits;
        return ~(differ - ones) & (top_bits >> (32 - 8 * b));
    }
    uint64_t differ = (tags ^ tag * KITHI_CUCKOO_TABLE_ONES) | KITHI_CUCKOO_TABLE_TOP_BITS;
    return ~(differ - KITHI_CUCKOO_TABLE_ONES) & (KITHI_CUCKOO_TABLE_TOP_BITS >> (64 - 8 * b));
}

/* Returns the first slot in the result of kithi_cuckoo_table_equal_tags() or kithi_cuckoo_table_free_slots(). */
static inline unsigned kithi_cuckoo_table_first_slot(uint64_t equal) {
    return (unsigned)__builtin_ctzll(equal) / 8;
}

/* Returns the free slots of a bucket, in the form of kithi_cuckoo_table_equal_tags(). */
static inline uint64_t kithi_cuckoo_table_free_slots(const kithi_cuckoo_table *c, uint64_t bucket) {
    return kithi_cuckoo_table_equal_tags(kithi_cuckoo_table_load_tags(c, bucket, c->b), c->b, 0);
}

/* Returns whether the overflow bit of a key's class is set. `tags` are the tag bytes of the key's first bucket. */
static inline bool kithi_cuckoo_table_overflowed(uint64_t tags, uint64_t tag_bits, unsigned b) {
    return (tags >> (8 * kithi_cuckoo_table_class(tag_bits, b) + 7) & 1) != 0;
}

static inline void kithi_cuckoo_table_set_tag(const kithi_cuckoo_table *c, uint64_t bucket, unsigned slot,
                                              uint64_t tag_bits) {
    uint8_t *tag = c->tags + bucket * c->b + slot;
    *tag = (uint8_t)((*tag & 0x80) | kithi_cuckoo_table_tag(tag_bits));
}

/* For a key that is stored in `bucket`: sets the overflow bit of its class in its first bucket, unless `bucket` is its
 * first bucket. */
static inline void kithi_cuckoo_table_set_overflow_bit(const kithi_cuckoo_table *c, uint64_t bucket, uint64_t hash) {
    uint64_t first = kithi_cuckoo_table_bucket_of_hash(c, 0, hash);
    if (bucket != first)
        c->tags[first * c->b + kithi_cuckoo_table_class(kithi_cuckoo_table_tag_bits(c, hash), c->b)] |= 0x80;
}

/* Stores a record and its tag in a slot, and sets the overflow bit if the key needs it. `hash` is the hash value of the
 * record's key. */
static inline void kithi_cuckoo_table_store(const kith_table *t, const kithi_cuckoo_table *c, uint64_t bucket,
                                            unsigned slot, uint64_t hash, const uint8_t *record) {
    kithi_cuckoo_table_set_tag(c, bucket, slot, kithi_cuckoo_table_tag_bits(c, hash));
    kithi_record_copy(t, kithi_cuckoo_table_record(t, c, bucket, slot), record);
    kithi_cuckoo_table_set_overflow_bit(c, bucket, hash);
}

#endif
