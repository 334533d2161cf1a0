/* kind.h: the contract between a filter kind and the rest of the library.
 *
 * A kind is a folder in kinds/: <kind>.c, which ends with one const kithi_kind, and lookup.h with its lookup. It has
 * one line in kinds.def. The rest of the library (public functions, file format, planner) knows a kind only through
 * this record. A kind knows only its parameters, its body and 64-bit digests.
 *
 * There are two sorts of kinds. Most accept keys one after the other: they have the kernel `add` and KITH_CAN_ADD. A
 * static kind is built from a complete list of keys: it has `build` instead, and its filters never change. `layers` is
 * neither: its record has only `info`, `lookup` and `plan`, and what its filters do is in layers/.
 *
 * A kind does not hash keys, write files or verify checksums. It need not check whether the handle is writable or
 * whether two filters are compatible (filter.c). When a call fails, body, count and fill (kithi_head) must be as before
 * the call; a batch keeps what it did before the digest that failed. A kind must treat the body as hostile, because a
 * lazily opened file may contain anything: no index may be taken from the body unchecked. */
#ifndef KITHI_KIND_H
#define KITHI_KIND_H

#include <limits.h>
#include <stdatomic.h>

#include <kith/inspect.h>

#include "core/alloc.h"
#include "core/cpu.h"
#include "plan/options.h"
#include "format/format.h"
#include "kinds/crowding_state.h"
#include "kinds/lookup.h"

/* Attempts at a build, each with other parameters, before it ends with KITH_E_FULL: 0 to this one. */
#define KITHI_LAST_ATTEMPT 3

/* What the planner wants from a kind. */
typedef struct kithi_request {
    uint64_t capacity;
    double rate;
    const uint64_t *options; /* one value per option of the kind; for `layers`, then one per option of the kind of its
                                layers: see kithi_kind_options_read() in registry.h */
    unsigned attempt;        /* 0, or the number of the attempt at a build if those before it have failed with
                                KITH_E_FULL */
    uint64_t largest;        /* in later attempts: the digests of the largest region in the one before, or UINT64_MAX
                                if they were not counted */
    bool is_public;          /* the hash has no secret key, so others can choose keys that crowd parts of the filter */
} kithi_request;

/* What is known about a page of a body. A page is the 64 KiB that one checksum covers; the last one may be shorter. */
typedef enum kithi_page_state {
    KITHI_PAGE_GOOD = 0,   /* it matches its checksum */
    KITHI_PAGE_UNSURE = 1, /* its checksum is lost */
    KITHI_PAGE_BAD = 2,    /* it does not match its checksum, or the file ends before the end of the page */
} kithi_page_state;

/* The damage to a body that a repair works on (salvage.h). */
typedef struct kithi_damage {
    const uint8_t *page_states; /* a kithi_page_state for each page */
    uint64_t pages;
    uint64_t keys_at_risk;       /* result: at most this many keys may no longer be found. UINT64_MAX: not known */
    struct kithi_salvage *whole; /* the repair of the whole block, whose budget all layers of a filter share
                                    (salvage.h) */
} kithi_damage;

/* What is expected of a filter with n keys. */
typedef struct kithi_expectation {
    double rate;           /* false positive rate */
    double failure;        /* probability that the n (distinct) keys do not all fit */
    uint64_t search_slots; /* the most slots that one add visits in search of a free one; 0: the kind does not search */
} kithi_expectation;

/* What the planner calls. All functions but choose() get the header of a filter, whose parameters are valid. */
typedef struct kithi_planning {
    /* Chooses head->params for a request; the caller has checked capacity and rate and copied them to *head. A kind
     * whose build can fail must choose other parameters for each attempt, with which the build is likely to succeed:
     * more space, or fewer regions. Fails with KITH_E_OPTION_VALUE, KITH_E_OPTION_FIT, KITH_E_ADDRESS,
     * KITH_E_FINGERPRINT, KITH_E_DIGEST_BITS or KITH_E_UNSUPPORTED; for a later attempt also with KITH_E_TOO_LARGE if a
     * region cannot be so large, or with KITH_E_FULL if such a filter has no attempt of this number. */
    kith_status (*choose)(const kithi_request *request, kithi_head *head);
    /* The value of option `index`, encoded as by kithi_kind_options_read(). */
    uint64_t (*option)(const kithi_head *head, unsigned index);
    kithi_expectation (*expect)(const kithi_head *head, uint64_t n);
} kithi_planning;

/* Memory that a kind may allocate for adds, as `state` of a handle. It begins with its size, and holds nothing that
 * must be kept: an add allocates it again if `state` is NULL. A build on several threads gives each thread a copy of
 * the handle without it. */
typedef struct kithi_scratch {
    uint64_t bytes;
} kithi_scratch;

/* The kernels of a kind are the functions that exist once per instruction set: those for one key, and the batches,
 * which do what a loop over has, add and remove would do. A kind has their code once, in <kind>/kernels.h, and
 * kernels/each_set.h compiles it for each set; where vectors are faster, it calls functions of kernels/. `has` is
 * required, and so is each of add, remove and copies that the kind supports. handle/one_block.c has defaults for the
 * batches.
 *
 * When a handle is bound, it gets a copy of the record for the instruction set in use, with all defaults filled in. So
 * an operation on one key takes only one indirect jump. */
typedef struct kithi_kernels {
    /* Returns the number of digests that may be in the set. Sets bit i of the bitmap `maybe` to whether digest i is one
     * of them. `maybe` may be NULL; otherwise each of its words is written. */
    size_t (*has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe);
    /* These two stop at the first digest that fails. *done must be 0 before the call. Afterwards it is the number of
     * digests before the one that failed, or n. `was_new` may be NULL; its bits are 0 before the call. */
    kith_status (*add_many)(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done);
    kith_status (*remove_many)(kith_filter *f, const uint64_t *digests, size_t n, size_t *done);
    bool (*has)(const kith_filter *f, uint64_t digest);
    kith_status (*add)(kith_filter *f, uint64_t digest, bool *was_new); /* was_new may be NULL */
    kith_status (*remove)(kith_filter *f, uint64_t digest);
    uint64_t (*copies)(const kith_filter *f, uint64_t digest);
} kithi_kernels;

/* The build of a static kind. */
typedef struct kithi_static_build {
    /* Builds region `region` of an empty filter from all the digests that belong to it. `attempt` is the one of the
     * request that the filter was planned for. The result must not depend on the order of the digests. Runs on several
     * threads at once, for different regions of one filter, so it must not change anything outside the bytes of the
     * region. (The caller sets head.count.)
     *
     * Returns KITH_OK only if the digests are distinct, or
     *   KITH_E_COPIES  two of the digests are equal, and only then. The caller drops repeats and builds every region
     *                  again
     *   KITH_E_FULL    these digests do not fit into these parameters. The caller plans the next attempt and
     *                  builds every region again
     *   KITH_E_MEMORY */
    kith_status (*region)(kith_filter *f, unsigned attempt, uint64_t region, const uint64_t *digests, size_t n);
    /* How many bytes region() allocates while it builds a region of n digests. More digests never need less. The
     * builder uses as many threads as its memory limit allows. */
    uint64_t (*bytes)(const kithi_geometry *g, size_t n);
} kithi_static_build;

#define KITHI_SHARED_REFUSED UINT_MAX

typedef enum kithi_shared_step {
    KITHI_SHARED_LOOK,  /* changes nothing; returns how many bits adding this digest would set */
    KITHI_SHARED_CHECK, /* called before capacity is reserved for this digest and others: returns KITHI_SHARED_REFUSED
                           if the filter is crowded, otherwise 0 */
    KITHI_SHARED_SET,   /* sets the bits with atomic ORs, and returns how many; or returns KITHI_SHARED_REFUSED, because
                           the filter would be crowded, and changes nothing */
} kithi_shared_step;

/* Adds by several threads at once: KITH_CAN_SHARE. */
typedef struct kithi_shared_adds {
    unsigned (*add)(kith_filter *f, uint64_t digest, kithi_shared_step step);
    void (*prefetch)(const void *f, uint64_t digest); /* prefetches what add() uses */
} kithi_shared_adds;

/* The repair of a damaged body.
 *
 * salvage  changes a body with damaged pages so that its invariants hold and as few keys as possible are lost. The
 *          handle has no `state`. If no key is lost, count and fill stay those of the undamaged filter, so that no
 *          later add is refused because of the repair. Returns KITH_E_CORRUPT if nothing can be saved
 * recount  after salvage and the adds that followed: sets the fill to what the body says. Sets the count, too, if the
 *          body says how many keys there are; otherwise changes it only if it contradicts the body */
typedef struct kithi_repair {
    kith_status (*salvage)(kith_filter *f, kithi_damage *damage);
    void (*recount)(kith_filter *f);
} kithi_repair;

#define KITHI_BODY_PARTS_MAX 64 /* the most pieces of memory that a body may consist of */

/* A group (build, shared, repair) is filled in as a whole or not at all. */
typedef struct kithi_kind {
    kith_kind_info info;
    const kithi_lookup *lookup; /* id, parameters, sizes and has(): the part that kith/reader.h has, too */
    kithi_planning plan;

    const kithi_kernels *kernels[KITHI_CPU_COUNT];
    /* Faster kernels for the usual parameters, which are constants in them. They are used instead of `kernels` if
     * is_usual() returns true. `is_usual` is NULL if there are none. */
    bool (*is_usual)(const kithi_geometry *g);
    const kithi_kernels *usual[KITHI_CPU_COUNT];

    /* The caller has set the fields that do not depend on the kind. The kind sets rate_now and may change others. The
     * caller then computes `load`. */
    void (*stats)(const kith_filter *f, kith_filter_stats *stats);
    /* Returns NULL, or the first broken invariant of the body as a sentence. */
    const char *(*check)(const kith_filter *f);
    bool (*look)(const kith_filter *f, uint64_t digest, kith_look report,
                 void *context); /* like has, but reports each cell that it reads: see kith_filter_look */
    uint64_t (*cell)(const kith_filter *f, uint64_t cell); /* the value of a cell; cell < shape.cells */

    /* ---- All others may be NULL. That means that the kind does not support the operation. ---- */

    kithi_static_build build;
    kithi_shared_adds shared;
    kithi_repair repair; /* without it, damaged pages stay as they are */

    /* For kinds without regions. Adds the digests, but changes only the cells `from` … `to` - 1 (`from` is a multiple
     * of 512). Changes neither count nor fill; returns how many of these cells were 0 and no longer are.
     *
     * Kinds whose cells are bits accept a digest if at least one of its cells was 0. Kinds whose cells are counters
     * accept it if at least one of its cells was below the maximum number of copies. If the call finds such a cell of
     * digest i in its range, it sets bit i of `accepted`. (All bits are 0 before.) The caller combines the bitmaps of
     * all ranges by OR. Calls for different ranges may run on different threads. The order of the digests does not
     * matter for the final values of the cells, but it determines which digests are accepted, so they must be in input
     * order. */
    uint64_t (*add_cells)(kith_filter *f, uint64_t from, uint64_t to, const uint64_t *digests, size_t n,
                          uint64_t *accepted);
    /* For kinds that watch how keys spread over the body, because keys can be chosen to crowd parts of it
     * (kinds/shared/crowding.h). A fill is a series of adds without that watch: by several threads, or to be judged as
     * a whole.
     *
     * before_fill  if `by_adders`, keys will be added by kithi_shared_adds, which watch them. Otherwise adds to this
     *              handle stop watching until after_fill()
     * after_fill   forgets what the handle knows about the body, which may have changed in any way. If `judge` is true,
     *              returns whether the body is crowded, after a pass over it; otherwise returns false */
    void (*before_fill)(kith_filter *f, bool by_adders);
    bool (*after_fill)(kith_filter *f, bool judge);
    /* The caller has checked that both filters are compatible: same kind, parameters, hash, recipe, capacity, rate. */
    kith_status (*merge)(kith_filter *into, const kith_filter *from);
    kith_status (*intersect)(kith_filter *into, const kith_filter *from);
    bool (*subset)(const kith_filter *part, const kith_filter *whole);
    bool (*disjoint)(const kith_filter *a, const kith_filter *b); /* if there is a subset() */
} kithi_kind;

/* Where the block of a handle is. */
typedef enum kithi_backing {
    KITHI_BACKING_HEAP,  /* memory of the handle's allocator, freed with the handle */
    KITHI_BACKING_MAP,   /* a file, read-only */
    KITHI_BACKING_VIEW,  /* the caller's memory; read-only, except for the snapshot of a store */
    KITHI_BACKING_INNER, /* owned by the filter that this one is a layer of */
} kithi_backing;

struct kith_filter {
    const kithi_kind *kind;
    const struct kithi_operations *operations; /* handle/verbs.h */
    kithi_kernels verbs;                       /* the kernels in use; call them through the functions of verbs.h */
    kithi_head head;
    kithi_geometry geometry; /* decode(&head) */
    kithi_shape shape;
    uint8_t *body;
    uint8_t *block; /* header, body, checksums, notes; if the body has several parts, only its first */
    uint64_t block_bytes;
    kithi_backing backing;
    bool writable;
    bool sealed;   /* header and checksums in the block are up to date */
    bool verified; /* the body matches its checksums, or was created in this process, or the store will check it */
    /* True only if keys can be added and removed without checking or setting anything else first: the filter is
     * writable, verified and not sealed, and no adder is open. The first add or removal sets it; sealing the filter and
     * opening an adder clear it. Atomic because one thread may open an adder while another calls kith_filter_add(). */
    atomic_bool changing;
    kith_allocator allocator;
    uint64_t max_bytes;      /* kith_filter_set_limit; 0: none */
    kithi_crowding crowding; /* of the blocked kinds; nobody else reads it */
    void *state;             /* a kithi_scratch, or the filters inside (layers/blocks.h) */
    kith_walk_trace trace;   /* kith_filter_set_trace; NULL: none */
    void *trace_context;
    /* Shared adds: see adder.c. `adders` is the lock bit and, above it, the number of open adders. */
    atomic_uint adders;
    _Atomic uint64_t shared_count;
    _Atomic uint64_t shared_fill;
};

/* Returns whether `more` bytes in addition to `held` bytes are within the limit of kith_filter_set_limit(). */
static inline bool kithi_filter_limit_allows(const kith_filter *f, uint64_t held, uint64_t more) {
    return f->max_bytes == 0 || (held <= f->max_bytes && more <= f->max_bytes - held);
}

#endif
