/* kith/plan.h: what a filter will cost and promise, before a byte of it is allocated.
 *
 * Three quantities determine each other: the capacity n, the rate of false positives at that capacity, and the bytes.
 * Give any two in a kith_filter_spec, and kith_filter_plan() computes the third and everything else worth knowing.
 * create() and build() take the same spec and make exactly what the plan says: file_bytes is the exact size of the
 * saved file and of the block in memory (of a new filter, for one that grows).
 *
 *     kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
 *     spec.kind = "overlap";
 *     spec.capacity = 1000000;
 *     spec.rate = 0.001;
 *     kith_plan plan = KITH_PLAN_INIT;
 *     kith_status status = kith_filter_plan(&spec, &plan);
 */
#ifndef KITH_PLAN_H
#define KITH_PLAN_H

#include <kith/hash.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a filter supports. A call that it does not support returns KITH_E_UNSUPPORTED. */
typedef enum kith_capability {
    KITH_CAN_REMOVE = 1 << 0,    /* remove, remove_many */
    KITH_CAN_COPIES = 1 << 1,    /* a key may be added several times; copies() counts, remove() removes one */
    KITH_CAN_MERGE = 1 << 2,     /* merge */
    KITH_CAN_INTERSECT = 1 << 3, /* intersect */
    KITH_CAN_SUBSET = 1 << 4,    /* subset */
    KITH_CAN_SHARE = 1 << 5,     /* adders: adds from many threads at once */
    KITH_CAN_GROW = 1 << 6,      /* accepts keys beyond its first capacity and keeps its rate */
    KITH_CAN_ANY_ORDER = 1 << 7, /* the body does not depend on the order of the adds that went in */
    KITH_CAN_ADD = 1 << 8,       /* create, create_like, clear, add, add_many. A kind without it is static: a filter can
                                    only be built from a complete list of keys, by kith_filter_build() */
} kith_capability;

/* A note about a filter: two strings that the library stores in the file and never interprets. */
typedef struct kith_note {
    const char *name;  /* not empty */
    const char *value; /* any text */
} kith_note;

/* What is wanted. Initialise with KITH_FILTER_SPEC_INIT. A field that is 0 is not given. A smaller struct_bytes, of a
 * program compiled against an older header, is accepted: the missing fields are 0. */
typedef struct kith_filter_spec {
    size_t struct_bytes; /* sizeof(kith_filter_spec): set by KITH_FILTER_SPEC_INIT */
    const char *kind;   /* a name of kith_filter_kind_at(); NULL: the best kind that can do all of `needs`, see below */
    uint32_t needs;     /* kith_capability bits that the filter must have */
    uint64_t capacity;  /* n: how many distinct keys must fit */
    double rate;        /* 0 < rate < 1: probability of a false positive at full capacity; see plan.rate */
    uint64_t bytes;     /* size of the whole file or block, at most */
    uint64_t max_bytes; /* limit for the block, and for growth as kith_filter_limit() says: for input that you do not
                            trust; 0: none */
    const char *options;             /* "name=value name=value" as the kind lists them, or NULL */
    kith_hash hash;                  /* all 0: XXH3, seed 0 */
    const kith_allocator *allocator; /* NULL: the C library's */
    uint64_t recipe;        /* below 2^48: how your program turns its input into keys; see kith_filter_recipe() */
    const kith_note *notes; /* note_count of them, at most 64 with at most 65,536 bytes; see kith_filter_note() */
    size_t note_count;
    bool
        final; /* nothing will be added later: with kind NULL, static kinds (without KITH_CAN_ADD) are considered, too */
} kith_filter_spec;

#define KITH_FILTER_SPEC_INIT                                                                                          \
    { sizeof(kith_filter_spec), 0, 0, 0, 0, 0, 0, 0, {KITH_HASH_XXH3, 0, {0}}, 0, 0, 0, 0, 0 }

/* What the filter will be like. */
typedef struct kith_plan {
    size_t struct_bytes; /* sizeof(kith_plan): set by KITH_PLAN_INIT */
    const char *kind;
    uint32_t capabilities; /* kith_capability bits of this filter (they may depend on options) */
    uint64_t capacity;     /* how many keys fit */
    double rate; /* promised: the rate asked for, or the one of n keys in these bytes. At capacity at least 199 in
                                  200 filters of a Bloom kind, and all of other kinds, have at most this rate */
    double expected_rate;      /* the mean over all filters with `capacity` keys, exactly; at most `rate` */
    uint64_t file_bytes;       /* header, body, checksums and notes: of the block in memory and of the file */
    double bits_per_key;       /* file_bytes * 8 / capacity */
    uint64_t cells;            /* bits, counters or slots */
    unsigned cell_bits;        /* bits in each of them */
    unsigned hashes;           /* bits or counters that a key sets; 0 for cuckoo kinds and fuse */
    unsigned fingerprint_bits; /* 0 for Bloom kinds */
    unsigned lines;            /* most memory accesses of a lookup: one cache line each, sometimes two, where a bucket
                                  or window crosses the end of a line; for layers those of one layer */
    unsigned max_copies;       /* most copies of one key; 1 where KITH_CAN_COPIES is not set */
    double failure;            /* probability that `capacity` distinct keys do not all fit */
    const char *inner;         /* the kind of the layers (option inner=…); NULL for a kind without an inner kind */
} kith_plan;

#define KITH_PLAN_INIT                                                                                                 \
    { sizeof(kith_plan), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills in `plan` from any two of spec->capacity, spec->rate and spec->bytes. Allocates nothing. Takes less than a
 * millisecond, or some milliseconds per kind that is tried if bytes are given.
 *
 *   capacity, rate     finds the fewest bytes that keep the rate
 *   capacity, bytes    finds the lowest rate that those bytes keep
 *   rate, bytes        finds the most keys that fit into those bytes at that rate
 *
 * Without a kind, every kind with its default options is planned, and the one with the fewest bytes, the lowest rate or
 * the most keys is chosen. If none supports all of spec->needs, layers is planned with every inner kind and the best is
 * chosen: the smallest filter that grows and supports removal is of kind "layers", and plan->inner is the kind inside.
 * The same happens if spec->kind does not support spec->needs and no options are given: a kind that must grow but cannot
 * becomes the inner kind of layers, and for "layers" the inner kind is chosen. A kind that suffices alone is never
 * looked inside. create() and build() make the same choice for the same spec, and kith_filter_options() names the inner
 * kind of the filter.
 *
 * Returns
 *   KITH_E_ARGUMENT     all three are given, or bytes alone; or the spec is malformed (struct_bytes, a recipe of more than
 *                       48 bits, a note without a name, two notes of one name)
 *   KITH_E_KIND         unknown kind, or the kind does not support all of spec->needs, not even inside layers. With
 *                       kind NULL: no kind supports them with its default options, and layers of no kind does
 *   KITH_E_UNSUPPORTED  spec->needs has KITH_CAN_ADD and the kind is static, or layers were given a static inner kind
 *   KITH_E_OPTION       an option that the kind does not have, a value out of range, or options that exclude each other
 *   KITH_E_CAPACITY     neither capacity nor bytes are given
 *   KITH_E_RATE         capacity alone is given, or the rate is NaN, infinite, negative or at least 1
 *   KITH_E_TOO_LARGE    larger than spec->max_bytes or than the address space; or too many notes
 *   KITH_E_TOO_SMALL    spec->bytes is too small for one key (or for `capacity` keys at a rate below 1)
 *   KITH_E_DIGEST_BITS  log2(slots) + fingerprint bits > 60, or capacity/2^64 is not small compared with the rate
 *
 * The failure probability is at most 10^-9 for lack of free slots, and at most 10^-8 for more equal fingerprints than
 * a bucket can hold, for keys that are distinct and not chosen against the filter. Options that fix a width or a
 * bucket size are taken as they are, and `failure` is then an estimate of what they cost. For fingerprints of a few
 * bits it is too low by a factor of about two. */
KITH_API KITH_MUST_USE kith_status kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan);

/* An option of a kind, given in spec.options as "name=value". Several are separated by blanks or commas. */
typedef struct kith_option {
    const char *name;
    const char *values;   /* "4..32": a whole number; "halves|simple": one of these words; "kind": a filter kind */
    const char *fallback; /* its default value */
    const char *meaning;  /* a phrase for a table */
} kith_option;

/* The register of kinds, for tools that list them. */
typedef struct kith_kind_info {
    const char *name;
    const char *summary;        /* a phrase for a table */
    uint32_t capabilities;      /* with default options */
    const kith_option *options; /* option_count of them */
    size_t option_count;
} kith_kind_info;

/* Indices 0 … kith_filter_kind_count() - 1. */
KITH_API size_t kith_filter_kind_count(void);

/* Returns NULL for an index past the end. The result is constant and valid as long as the library is loaded. */
KITH_API const kith_kind_info *kith_filter_kind_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
