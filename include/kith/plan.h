/* kith/plan.h: what a filter will cost and promise, before a byte of it is allocated.
 *
 * Three quantities determine each other: the capacity n, the rate of false positives at that capacity, and the number
 * of bytes. Give any two in a kith_filter_spec, and kith_filter_plan() computes the third and describes the filter.
 * kith_filter_create() and kith_filter_build() take the same spec and make what the plan says: file_bytes is the exact
 * size of the saved file and of the block in memory. There are two exceptions. A filter that grows starts with this
 * size. A static filter may have another size if it is built, against the rules, from numbers that are not hashes
 * (see kith_filter_build).
 *
 * Words that the headers of filters use:
 *     kind         a sort of filter: kith/filter.h lists them
 *     Bloom kind   bloom, blocked, counting, blocked_counting; the last two are the counting kinds, and the second and
 *                  the last are the blocked kinds
 *     fingerprint  a few bits of a key's hash, by which cuckoo and static kinds recognise the key
 *     cuckoo kind  cuckoo and overlap. The fingerprint of a key is in a slot of one of two buckets. In overlap the
 *                  buckets have two slots and overlap: slots 0 and 1 are one, slots 1 and 2 the next, and so on
 *                  (docs/format.md has the details). These buckets are called windows
 *     stash        in cuckoo kinds, a short list. More keys may have the same fingerprint and the same two buckets than
 *                  these buckets have slots; those that do not fit are stored in the list
 *     static kind  fuse and ribbon: built from a complete list of keys, and not changed after that
 *     layers       a scalable filter (Almeida et al. 2007): a list of filters of one other kind, the inner kind. It
 *                  grows by appending a larger one
 *     cell         a bit (bloom, blocked), a counter (counting kinds), a slot (cuckoo kinds) or, in static kinds, one
 *                  of the numbers whose XOR is the fingerprint of a key
 *     block, body  a filter is one block of bytes: header, body (the cells), checksums and notes (docs/format.md)
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
    KITH_CAN_SUBSET = 1 << 4,    /* subset, disjoint */
    KITH_CAN_SHARE = 1 << 5,     /* adders: adds from many threads at once */
    KITH_CAN_GROW = 1 << 6,      /* accepts keys beyond its first capacity and keeps its rate */
    KITH_CAN_ANY_ORDER = 1 << 7, /* the order of the adds makes no difference to the body, if all of them succeed */
    KITH_CAN_ADD = 1 << 8,       /* create, create_like, clear, add, add_many. A kind without it is static: a filter can
                                    only be built from a complete list of keys, by kith_filter_build() */
} kith_capability;

/* Which of several kinds the planner chooses. */
typedef enum kith_preference {
    KITH_PREFER_SMALLEST = 0, /* the one with the fewest bytes (or the lowest rate, or the most keys) */
    KITH_PREFER_FASTER = 1,   /* a faster one instead, if it takes at most 1.3 times the bits per key. Among kinds to
                                 which keys can be added, the faster one reads one cache line per lookup: it is several
                                 times faster if the filter does not fit in the cache. Among static kinds it is the one
                                 that reads fewer cells per lookup */
} kith_preference;

/* A note about a filter: two strings that the library stores in the file and never interprets. */
typedef struct kith_note {
    const char *name;  /* not empty */
    const char *value; /* any text */
} kith_note;

/* Describes the filter to create. Initialise with KITH_FILTER_SPEC_INIT. A field that is 0 is not given. A program that
 * was compiled with an older header has a smaller struct_bytes; it is accepted, and the missing fields are 0. */
typedef struct kith_filter_spec {
    size_t struct_bytes; /* sizeof(kith_filter_spec): set by KITH_FILTER_SPEC_INIT */
    const char *kind;    /* a name from kith_filter_kind_at(); NULL: the best kind that has all of `needs`, see below */
    uint32_t needs;      /* kith_capability bits that the filter must have; see also `excludes` */
    uint64_t capacity;   /* n: how many distinct keys must fit */
    double rate;         /* 0 < rate < 1: probability of a false positive at full capacity; see kith_plan.rate */
    uint64_t bytes;      /* the filter has at most this size; the planner uses as much of it as it can */
    uint64_t max_bytes;  /* a larger filter is refused with KITH_E_TOO_LARGE, also if it grows (kith_filter_set_limit).
                            For capacities and rates that you do not trust; 0: no limit */
    const char *options; /* "name=value name=value", see kith_option; NULL: the defaults */
    kith_hash hash;      /* all 0: XXH3, seed 0. Without a secret key, small filters of the blocked kinds with low rates
                            are larger, so that keys chosen against the hash can be refused (docs/security.md) */
    const kith_allocator *allocator; /* NULL: the C library's */
    uint64_t recipe;        /* below 2^48: how your program turns its input into keys; see kith_filter_recipe() */
    const kith_note *notes; /* note_count of them, at most 64, in at most 65,536 bytes; see kith_filter_note() */
    size_t note_count;
    bool final;             /* nothing will be added later; if kind is NULL, static kinds are considered, too */
    uint32_t excludes;      /* kith_capability bits that the filter must not have, such as KITH_CAN_COPIES for a filter
                               that ignores a key that is added twice */
    kith_preference prefer; /* which kind is best, if kind is NULL and the rate is given */
} kith_filter_spec;

#define KITH_FILTER_SPEC_INIT                                                                                          \
    { sizeof(kith_filter_spec), 0, 0, 0, 0, 0, 0, 0, {KITH_HASH_XXH3, 0, {0}}, 0, 0, 0, 0, 0, 0, KITH_PREFER_SMALLEST }

/* Describes the filter that kith_filter_create() or kith_filter_build() would make. Initialise with KITH_PLAN_INIT. A
 * program that was compiled with an older header has a smaller struct_bytes; it is accepted, and only its fields are
 * written. */
typedef struct kith_plan {
    size_t struct_bytes; /* sizeof(kith_plan): set by KITH_PLAN_INIT */
    const char *kind;
    uint32_t capabilities; /* kith_capability bits of this filter (they may depend on options) */
    uint64_t capacity;     /* how many keys fit */
    double rate; /* the promise: spec.rate, or the lowest rate for `capacity` keys in spec.bytes. At capacity, at
                                  least 199 in 200 filters of a Bloom kind, and all filters of cuckoo and static kinds,
                                  have at most this rate */
    double expected_rate;      /* the mean rate of all filters with `capacity` keys, computed exactly; at most `rate` */
    uint64_t file_bytes;       /* size of the file and of the block in memory: header, body, checksums and notes */
    double bits_per_key;       /* file_bytes * 8 / capacity */
    uint64_t cells;            /* number of bits, counters or slots */
    unsigned cell_bits;        /* bits per cell */
    unsigned hashes;           /* k: bits or counters per key; 0 for cuckoo and static kinds */
    unsigned fingerprint_bits; /* 0 for Bloom kinds */
    unsigned lines;            /* about how many cache lines a lookup reads (layers: per layer). One more is read if a
                                  bucket, window or cell crosses the end of a line (for ribbon this is included). What
                                  usually stays in cache, such as a small table of ribbon, is not counted */
    unsigned max_copies;       /* how often one key can be stored; 1 without KITH_CAN_COPIES. Cuckoo kinds store a few
                                  copies more, until a stash is full; docs/kinds.md, also for layers */
    double failure;            /* probability that `capacity` distinct keys do not all fit */
    const char *inner;         /* the kind of the layers (option inner=…); NULL for a kind without an inner kind */
    uint64_t search_slots;     /* the most slots that one add visits when it has to move entries to free a slot,
                                  whatever the keys are (docs/kinds.md); 0 for kinds that do not search */
    unsigned lookup_cells;     /* how many cells a lookup reads at most (layers: per layer): the bits or counters of the
                                  key, its candidate slots (cuckoo kinds), or the cells whose XOR is compared with the
                                  fingerprint (static kinds). ribbon: 64, of which about half are XORed. Of two static
                                  kinds that fit in cache, the one with the smaller value is faster */
} kith_plan;

#define KITH_PLAN_INIT                                                                                                 \
    { sizeof(kith_plan), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills in `plan` from any two of spec->capacity, spec->rate and spec->bytes. Allocates nothing. Takes at most a few
 * milliseconds or, if spec->bytes is given, up to about 0.1 s for each kind that is tried.
 *
 *   capacity, rate     finds the fewest bytes that keep the rate
 *   capacity, bytes    finds the lowest rate that those bytes keep
 *   rate, bytes        finds the most keys that fit into those bytes at that rate
 *
 * If spec->kind is NULL, every kind is planned with its default options (static kinds only if spec->final is set), and
 * the one with the fewest bytes, the lowest rate or the most keys is chosen, or a faster one (spec->prefer). Kinds with
 * a capability of spec->excludes are not considered. If none has all of spec->needs, "layers"
 * is planned with every inner kind, and the best is chosen. For example, a filter that must grow and support removal is
 * of kind "layers", and plan->inner names the inner kind.
 *
 * If spec->kind is given without options and does not have all of spec->needs (for example growth), layers of
 * spec->kind are planned. If spec->kind is "layers" itself, its default inner kind is replaced by the best one with
 * which it has all of spec->needs.
 *
 * kith_filter_create() and kith_filter_build() make the same choice for the same spec, and kith_filter_options()
 * returns the inner kind of a filter.
 *
 * Returns
 *   KITH_E_GIVEN        all three are given, or only bytes
 *   KITH_E_STRUCT, KITH_E_RECIPE, KITH_E_NOTE, KITH_E_NOTES   a malformed struct, recipe or note: see kith/status.h
 *   KITH_E_ARGUMENT     unknown preference
 *   KITH_E_KIND         unknown kind; or spec->kind does not have all of spec->needs, and neither have layers of it.
 *                       (If options are given, layers are not tried: ask for kind "layers" with inner=….) Or kind is
 *                       NULL, and no kind with its default options, and no layers of a kind, has all of spec->needs
 *   KITH_E_UNSUPPORTED  spec->kind is static, and spec->needs has KITH_CAN_ADD; or it is static, no options are given,
 *                       and spec->needs has KITH_CAN_GROW; or the option inner=… names a static kind
 *   KITH_E_OPTION       an option that the kind does not have
 *   KITH_E_OPTION_TWICE, KITH_E_OPTION_VALUE   an option that is given twice; a value that is missing or out of range
 *   KITH_E_OPTION_KIND  options without a kind
 *   KITH_E_OPTION_FIT   options that exclude each other, or (static kinds) fewer fingerprint bits than the rate needs
 *   KITH_E_CAPACITY     neither capacity nor bytes are given
 *   KITH_E_RATE         only the capacity is given, or the rate is NaN, infinite, negative or at least 1
 *   KITH_E_TOO_LARGE    larger than spec->max_bytes
 *   KITH_E_ADDRESS      larger than the address space
 *   KITH_E_FINGERPRINT  (static kinds) a rate below 2^-32
 *   KITH_E_TOO_SMALL    spec->bytes is too small for one key (or for `capacity` keys at a rate below 1)
 *   KITH_E_DIGEST_BITS  64-bit digests are too short: the bits that select a slot and those of the fingerprint are more
 *                       than 60 together, or capacity / 2^64 is more than a hundredth of the rate
 *
 * plan->failure is at most 10^-9 (cuckoo kinds: 1.1 * 10^-8), unless an option fixes what the planner would choose; see
 * docs/kinds.md. */
KITH_API KITH_MUST_USE kith_status kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan);

/* An option of a kind, given in spec.options as "name=value". Several are separated by blanks or commas. */
typedef struct kith_option {
    const char *name;
    const char *values;   /* "4..32": a whole number; "halves|simple": one of these words;
                             "auto|2..32": a word or a number; "kind": a filter kind */
    const char *fallback; /* its default value */
    const char *meaning;  /* a short description */
} kith_option;

/* Says why kith_filter_plan() refuses the options of this spec (KITH_E_OPTION, KITH_E_OPTION_…): writes a sentence that
 * begins with the option that is wrong, such as "b=9: the values of b are 1|2|4|8". Works like snprintf(): writes at
 * most text_bytes bytes with the terminating zero, and returns the length of the whole sentence; 0 if no option is
 * wrong. Costs a few plans. */
KITH_API size_t kith_option_error(const kith_filter_spec *spec, char *text, size_t text_bytes);

/* Describes a kind, for tools that list them. */
typedef struct kith_kind_info {
    const char *name;
    const char *summary;        /* a short description */
    uint32_t capabilities;      /* with default options */
    const kith_option *options; /* option_count of them */
    size_t option_count;
} kith_kind_info;

/* Returns the number of filter kinds. */
KITH_API size_t kith_filter_kind_count(void);

/* Returns the kind with this index, 0 … kith_filter_kind_count() - 1, or NULL for a larger index. The result is
 * constant and valid as long as the library is loaded. */
KITH_API const kith_kind_info *kith_filter_kind_at(size_t index);

/* Returns the kind of this name in the same way, or NULL if there is none. */
KITH_API const kith_kind_info *kith_filter_kind_named(const char *name);

#ifdef __cplusplus
}
#endif
#endif
