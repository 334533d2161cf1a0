/* plan/geometry.h: the parameters of a filter, with names.
 *
 * A file stores them as params[0 … 7]; each kind's head comment says which is which. The kind's decode() turns them
 * into one of these structs, for its shape() and for the handle. shape() decodes them before it checks them, so every
 * field that holds a parameter has 64 bits, as in the file. Fields that follow from the parameters may be smaller. */
#ifndef KITHI_PLAN_GEOMETRY_H
#define KITHI_PLAN_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

/* How the cells of bloom and counting are laid out: see plan/sizing.h. */
typedef enum kithi_cells_layout { KITHI_SLICES, KITHI_WHOLE } kithi_cells_layout;

#define KITHI_BLOOM_K_MAX 64 /* the most cells per key: see kithi_bloom_choose() in plan/sizing.h */

/* bloom and counting: k slices of `slice` cells, or one array of `slice` cells for all k hashes. */
typedef struct kithi_slices_geometry {
    uint64_t k, slice;
    uint64_t stride; /* cells from one slice to the next; 0 for one array */
    uint64_t layout; /* a kithi_cells_layout */
    uint64_t width;  /* bits in a counter; only counting sets it */
} kithi_slices_geometry;

#define KITHI_BLOCKS_MAX (UINT64_C(1) << 53) /* the largest number of blocks; exact in a double */

/* blocked and blocked_counting: a key has one cell in each lane of one block. */
typedef struct kithi_lanes_geometry {
    uint64_t lanes, blocks;
} kithi_lanes_geometry;

/* How the slots of a place are loaded. A place is a bucket or, in overlap, a window: two neighbouring slots. Code that
 * handles several slots of a place at once loads them as words. A place of at most 64 bits is one word. A larger one is
 * halved until each part has at most 64 bits, and each part is a word. Slot i of a word has slot_bits bits and begins
 * at bit i * slot_bits. A word can begin in the middle of a byte. If it then extends over nine bytes, one load of 8
 * bytes is not enough, and the word is called long. */
typedef enum kithi_cf_form {
    KITHI_ONE_WORD,       /* a place is one word, which is never long */
    KITHI_TWO_WORDS,      /* a place is two words, which are never long */
    KITHI_TWO_LONG_WORDS, /* a place is two words, which may be long */
    KITHI_ANY_WORDS,      /* all other cases: any number of words, which may be long */
} kithi_cf_form;

#define KITHI_FIT_STASH_MAX 64 /* the most entries of a stash: few, because it is searched from its beginning */

/* The most slots that the search for a free slot visits: see kinds/shared/cuckoo_search.h, and docs/loads.md for why
 * this is enough. It is a multiple of every possible number of slots in a bucket. */
#define KITHI_FIT_SEARCH_SLOTS 16384

/* cuckoo and overlap (cf: cuckoo filter). */
typedef struct kithi_cf_geometry {
    uint64_t slot_bits;
    uint64_t half; /* half the number of places in a region: this many have an even number, and as many an odd one */
    uint64_t regions;
    uint64_t bucket_slots; /* slots per bucket. This, the next two and `start`: cuckoo only */
    uint64_t alternate;    /* how the other bucket is computed, see kinds/cuckoo/cuckoo.c */
    uint64_t kicks;        /* how many entries a random walk may move; 0: breadth-first search */
    uint64_t stash;        /* entries that the stash of a region has space for */
    uint64_t start;        /* 1 if a random walk starts in the first bucket of the key, 0 if in a random one */
    /* These follow from the parameters. */
    uint64_t places;          /* number of places in a region */
    uint64_t bucket_shift;    /* log2 of bucket_slots; 0 for windows */
    uint64_t stride;          /* bytes from one region to the next */
    uint64_t stash_at;        /* offset of the stash in its region, in bytes */
    uint64_t fingerprint_max; /* fingerprints are 1 … fingerprint_max */
    uint64_t rest_shift;      /* kithi_rest_shift(regions, places): see core/mix.h */
    uint64_t place_bits;      /* bits from one bucket to the next; 0 for windows */
    uint32_t words;           /* number of words in a place: see kithi_cf_form */
    uint32_t word_bits;       /* bits from one word to the next */
    uint32_t last_byte;       /* the last byte that a place may reach, if the byte in which it begins is byte 0 */
    uint32_t last_shift;      /* number of the lowest bit of the last slot of a word */
    kithi_cf_form form;
    bool common_case;     /* `form` is KITHI_ONE_WORD, kithi_partner() computes the other place, and rest_shift is 0 */
    bool byte_aligned;    /* common_case is true, and places are buckets that begin at a byte: nothing is shifted */
    uint32_t place_bytes; /* bytes from one place to the next, if byte_aligned */
    uint64_t low_bits;    /* a mask: the lowest bit of each slot of a word */
    uint64_t high_bits;   /* a mask: the highest bit of each slot of a word */
    /* A word with one field of slot_bits bits per slot. Field i (bits i * slot_bits … (i + 1) * slot_bits - 1) is the
     * difference between a key's code (core/batch.h) in slot i of a place and its code in slot 0. That is i in overlap
     * and 0 in cuckoo. */
    uint64_t code_steps;
} kithi_cf_geometry;

/* fuse. */
typedef struct kithi_fuse_geometry {
    uint64_t cell_bits;
    uint64_t arity;         /* cells per key: 3 or 4 */
    uint64_t segment_cells; /* cells in a segment, a power of two */
    uint64_t segments;      /* number of segments that can hold the first cell of a key; arity - 1 more follow */
    uint64_t shards;
    uint64_t starts;      /* number of cells that can be the first cell of a key: segments * segment_cells */
    uint64_t shard_bytes; /* the seed, the cells and the padding */
} kithi_fuse_geometry;

/* ribbon. A shard has up to three levels, 0 … 2. In each level a key has a ribbon, which is 64 consecutive slots. The
 * key is stored in the first level in which it fits or, if there is none, in the stash. The marks of a level say which
 * keys are not stored in it (kinds/ribbon/ribbon.c). */
typedef struct kithi_ribbon_geometry {
    uint64_t bits;     /* f: bits of a fingerprint and of a slot */
    uint64_t slots[3]; /* number of slots of each level of a shard, a multiple of 64; 0: there is no such level */
    uint64_t stash;    /* digests that a shard has space for beyond its levels */
    uint64_t shards;
    uint64_t starts[3];   /* number of slots in which the ribbon of a key can begin, per level */
    uint64_t marks_at[3]; /* offset of the marks of a level in its shard, in bytes; level 2 has none */
    uint64_t slots_at[3]; /* offset of its slots */
    uint64_t shard_bytes;
} kithi_ribbon_geometry;

/* layers. */
typedef struct kithi_layers_geometry {
    uint64_t inner;          /* id of the kind that every layer has */
    uint64_t growth;         /* capacity of a new layer, as a multiple of the previous one */
    uint64_t count;          /* number of layers */
    uint64_t first_capacity; /* capacity of layer 0 */
    /* The options of the inner kind that hold for every layer, 16 bits each, option 0 in the lowest bits: value + 1, or
     * 0 if the option was not given. */
    uint64_t inner_options[2];
} kithi_layers_geometry;

typedef struct kithi_geometry {
    /* Bloom and counting kinds: the filter is full when more cells than this are in use. Other kinds: UINT64_MAX. */
    uint64_t fill_limit;
    union {
        kithi_slices_geometry slices;
        kithi_lanes_geometry lanes;
        kithi_cf_geometry cf;
        kithi_fuse_geometry fuse;
        kithi_ribbon_geometry ribbon;
        kithi_layers_geometry layers;
    };
} kithi_geometry;

#endif
