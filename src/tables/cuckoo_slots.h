/* tables/cuckoo_slots.h: the memory of a cuckoo table, and where in it a key may lie.
 *
 *     records   | bucket 0: b records of 16 or 24 bytes | bucket 1 | …       four of 16 bytes are one cache line
 *     tags      | bucket 0: b bytes                     | bucket 1 | …       | 8 spare | zeros to a multiple of 64 |
 *
 *     tag byte  | 7 mark | 6 … 0 tag of the key in this slot, from its hash; 0: free |
 *
 * The two are the body of a block (format/format.h): for keys that are stored in place, a table is its bytes.
 *
 * A mark says that a key which would have its first place in this bucket lies in another of its buckets. There is one mark
 * for each of b classes of keys, so that most look-ups of absent keys end in the first bucket. Marks are set when a key
 * goes elsewhere and stay when it leaves, until so many may be stale that all are set anew: they may say too much, never
 * too little.
 *
 *     layout=one   every function maps to all buckets
 *     layout=two   function i maps to the i-th of d equal parts (two halves for d = 2)
 *
 * With xxh3 and siphash the d buckets, the tag and the class come from one hash value v; the other families, whose
 * theorems need it, draw d functions:
 *
 *     v   63 … 37 first bucket | 36 … 10 second bucket | 9 … 0 tag, class
 *
 * (From 2^27 buckets on the parts begin to overlap, and a tag says less; records decide in any case.) */
#ifndef KITHI_TABLES_CUCKOO_SLOTS_H
#define KITHI_TABLES_CUCKOO_SLOTS_H

#include "core/function.h"
#include "core/mix.h"
#include "tables/common/record.h"

#define KITHI_CUCKOO_D_MAX 4
#define KITHI_CUCKOO_B_MAX 8

/* The table's options, in this order. */
enum { KITHI_CUCKOO_LAYOUT, KITHI_CUCKOO_D, KITHI_CUCKOO_B, KITHI_CUCKOO_INSERT, KITHI_CUCKOO_LOAD };
enum { KITHI_CUCKOO_ONE, KITHI_CUCKOO_TWO };

/* A bucket that the search for room has reached. */
typedef struct kithi_cuckoo_step {
    uint64_t bucket;
    uint32_t parent; /* place in the queue */
    uint8_t slot;    /* of the parent's bucket: the entry that can move here */
} kithi_cuckoo_step;

typedef struct kithi_cuckoo {
    uint64_t buckets; /* a multiple of d */
    uint8_t *records;
    uint8_t *tags;
    uint64_t flip;        /* of the first function, when it is an xxh3 */
    uint64_t keys_max;    /* before it grows */
    uint64_t stale_marks; /* at most: keys removed from another than their first bucket since marks were set anew */
    unsigned d, b;
    bool parted;    /* layout=two */
    bool one_value; /* all buckets from one hash value */
    bool plain;     /* look-ups have a short way: see cuckoo_find.c */
    kith_function *functions[KITHI_CUCKOO_D_MAX];
    uint64_t seed; /* that they were drawn from */
    uint8_t *block;
    uint64_t block_bytes;
    kithi_cuckoo_step *queue; /* search_limit of them; a walk keeps its path here */
    uint64_t *visited;        /* 2 * search_limit: buckets in the queue, plus one */
    uint32_t search_limit;    /* 0 for a table that is only read */
} kithi_cuckoo;

/* ---- where a key may lie ---- */

static inline uint64_t kithi_cuckoo_hash(const kithi_cuckoo *c, const kithi_key *key) {
    return kithi_function_key(c->functions[0], key->bytes, key->byte_count);
}

static inline uint64_t kithi_cuckoo_range(const kithi_cuckoo *c, unsigned i, uint64_t value) {
    if (!c->parted)
        return kithi_mulhi(value, c->buckets);
    uint64_t part = c->buckets / c->d;
    return i * part + kithi_mulhi(value, part);
}

static inline uint64_t kithi_cuckoo_second(uint64_t value) {
    return kithi_rotate(value, 27);
}

/* Bucket i of a key whose hash value is known. */
static inline uint64_t kithi_cuckoo_bucket(const kithi_cuckoo *c, unsigned i, const kithi_key *key, uint64_t value) {
    if (i != 0)
        value = !c->one_value ? kithi_function_key(c->functions[i], key->bytes, key->byte_count)
                : i == 1      ? kithi_cuckoo_second(value)
                              : kithi_word(value, i);
    return kithi_cuckoo_range(c, i, value);
}

/* What the tag and the class are taken from: the low bits of a family with theorems need not be random. */
static inline uint64_t kithi_cuckoo_low(const kithi_cuckoo *c, uint64_t value) {
    return c->one_value ? value : kithi_mix(value);
}

static inline uint8_t kithi_cuckoo_tag(uint64_t low) {
    return (uint8_t)((low & 0x7f) + ((low & 0x7f) == 0));
}

static inline unsigned kithi_cuckoo_class(uint64_t low, unsigned b) {
    return (unsigned)(low >> 7 & 7) * b >> 3;
}

/* ---- slots ---- */

static inline uint8_t *kithi_cuckoo_record(const kith_table *t, const kithi_cuckoo *c, uint64_t bucket, unsigned slot) {
    return c->records + (bucket * c->b + slot) * t->record_bytes;
}

#define KITHI_CUCKOO_ONES UINT64_C(0x0101010101010101)
#define KITHI_CUCKOO_MARKS (KITHI_CUCKOO_ONES << 7)

/* The tag bytes of a bucket, and more behind them. Four are loaded as four: eight would reach into the next cache line
 * once in sixteen buckets. */
static inline uint64_t kithi_cuckoo_tags(const kithi_cuckoo *c, uint64_t bucket, unsigned b) {
    const uint8_t *tags = c->tags + bucket * b;
    return b == 4 ? kithi_load32(tags) : kithi_load64(tags);
}

/* The top bit of each of the first b bytes whose tag is this one: exact, because no byte of the difference reaches 128 and
 * so none borrows from the next. In 32 bits where they suffice: a look-up is short of instructions. */
static inline uint64_t kithi_cuckoo_equal(uint64_t tags, unsigned b, uint8_t tag) {
    if (b <= 4) {
        uint32_t marks = (uint32_t)KITHI_CUCKOO_MARKS, differ = ((uint32_t)tags & ~marks) ^ tag * (marks >> 7);
        return (marks - differ) & (marks >> (32 - 8 * b));
    }
    uint64_t differ = (tags & ~KITHI_CUCKOO_MARKS) ^ (tag * KITHI_CUCKOO_ONES);
    return (KITHI_CUCKOO_MARKS - differ) & (KITHI_CUCKOO_MARKS >> (64 - 8 * b));
}

static inline unsigned kithi_cuckoo_slot(uint64_t equal) {
    return (unsigned)__builtin_ctzll(equal) / 8;
}

static inline uint64_t kithi_cuckoo_free(const kithi_cuckoo *c, uint64_t bucket) {
    return kithi_cuckoo_equal(kithi_cuckoo_tags(c, bucket, c->b), c->b, 0);
}

static inline bool kithi_cuckoo_marked(uint64_t tags, uint64_t low, unsigned b) {
    return (tags >> (8 * kithi_cuckoo_class(low, b) + 7) & 1) != 0;
}

static inline void kithi_cuckoo_set_tag(const kithi_cuckoo *c, uint64_t bucket, unsigned slot, uint64_t low) {
    uint8_t *tag = c->tags + bucket * c->b + slot;
    *tag = (uint8_t)((*tag & 0x80) | kithi_cuckoo_tag(low));
}

/* Marks a key in its first bucket, unless it lies there. */
static inline void kithi_cuckoo_mark(const kithi_cuckoo *c, uint64_t bucket, uint64_t value) {
    uint64_t first = kithi_cuckoo_range(c, 0, value);
    if (bucket != first)
        c->tags[first * c->b + kithi_cuckoo_class(kithi_cuckoo_low(c, value), c->b)] |= 0x80;
}

/* Puts a record, whose key has this hash value, into a slot; when that is not in its first bucket, marks it there. */
static inline void kithi_cuckoo_set(const kith_table *t, const kithi_cuckoo *c, uint64_t bucket, unsigned slot,
                                    uint64_t value, const uint8_t *record) {
    kithi_cuckoo_set_tag(c, bucket, slot, kithi_cuckoo_low(c, value));
    kithi_record_copy(t, kithi_cuckoo_record(t, c, bucket, slot), record);
    kithi_cuckoo_mark(c, bucket, value);
}

#endif
