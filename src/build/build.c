/* Builds a filter from an array of digests: the whole filter or nothing.
 *
 *     digests  ->  count without repeats  ->  sort by part  ->  add part by part, without repeats
 *
 * Repeats. Equal digests are one key (unless the caller asks for a multiset), and kinds whose bytes depend on the order
 * of the adds must see each key where it first occurs (build/repeats.h). The filter itself finds most new keys cheaply:
 * if an add reports that the key was not there before, the digest is not a repeat. So all digests are added, and only
 * the few that the filter reports as present already are examined. If there are no repeats among them, as in most
 * inputs, the work is done. If there are, the affected range is cleared and filled again without them. Kinds that store
 * no copies ignore a repeat. For them only the number of distinct keys must be known, if the spec does not give it.
 *
 * Parts. A kind with regions (kind.h) can be filled region by region. The parts of build/partition.h fit in cache,
 * equal digests are in the same part, and threads take one part after the other. Each thread has its own handle on the
 * filter's body; the counts and fills of the handles are added up at the end. If everything succeeds, the result is the
 * same as that of adds in order. If anything fails, the filter is cleared and filled by adds in order, which determines
 * the status code.
 *
 * Chunks. The digests of a chunk are copied once. A chunk has as many bytes as the filter, but at most 128 MiB: enough
 * to use each cache line of the filter several times while it is in cache, and a small share of the memory that a build
 * needs. If repeats must be found, there is only one chunk. */
#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "core/parallel.h"
#include "build/partition.h"
#include "build/repeats.h"
#include "build/static.h"
#include "handle.h"
#include "kind.h"
#include "registry.h"
#include "verbs.h"
#include "plan/planner.h"

/* ---- parts ---- */

#define CHUNK_MIN ((size_t)1 << 20) /* digests: 8 MiB are enough for one pass over the parts */
#define CHUNK_MAX ((size_t)1 << 24)
#define PARTS_MIN_DIGESTS ((size_t)1 << 17) /* fewer are added faster than they are sorted */
#define PARTS_MIN_BODY ((uint64_t)2 << 20)  /* bytes; a smaller body fits in cache completely or nearly so */
#define PART_BYTES ((uint64_t)128 << 10)    /* with its digests half of an L2 cache; 64 and 256 KiB are equally fast */

typedef struct fill_job {
    const kithi_kernels *kernels;
    kith_filter *handles; /* one per thread */
    kith_status *statuses;
    bool drop_repeats;
    size_t chunk;      /* digests */
    uint64_t *by_part; /* the digests of a chunk, sorted by part */
    size_t *starts;
    kithi_parts parts;
    atomic_uint next; /* the first part that no thread has taken yet */
} fill_job;

/* The range of the body that some digests are added to: `bytes` bytes at `at`, or the whole filter if `bytes` is 0. It
 * is empty, and no other digests are added to it. */
typedef struct byte_range {
    uint8_t *at;
    uint64_t bytes;
} byte_range;

#define BATCH 4096                /* digests between checks whether there are too many possible repeats */
#define SUSPECTS_MAX (BATCH / 16) /* more than the false positives of any useful filter */

/* Adds all digests, in the hope that there are no repeats. Sets the bits in `firsts` of those that were not in the
 * filter before. On any code but KITH_OK not all of them were added; KITH_E_COPIES can also mean that too many of
 * them may be repeats. */
static kith_status add_assuming_no_repeats(const kithi_kernels *kernels, kith_filter *f, const uint64_t *digests,
                                           size_t n, uint64_t *firsts) {
    for (size_t at = 0; at < n; at += BATCH) {
        size_t count = n - at < BATCH ? n - at : BATCH, done = 0;
        kith_status status = kithi_add_many(kernels, f, digests + at, count, firsts + at / 64, &done);
        size_t suspects = count;
        for (size_t i = 0; i < (count + 63) / 64; i++)
            suspects -= kithi_popcount(firsts[at / 64 + i]);
        if (status != KITH_OK || suspects > SUSPECTS_MAX)
            return status != KITH_OK ? status : KITH_E_COPIES;
    }
    return KITH_OK;
}

static kith_status clear(kith_filter *f, byte_range range) {
    if (range.bytes == 0)
        return kith_filter_clear(f);
    memset(range.at, 0, range.bytes);
    return KITH_OK;
}

static kith_status add_without_repeats(const kithi_kernels *kernels, kith_filter *f, byte_range range,
                                       const uint64_t *digests, size_t n) {
    if (n == 0)
        return KITH_OK;
    uint64_t count = f->head.count, fill = f->head.fill, firsts_bytes = ((uint64_t)n + 63) / 64 * 8;
    uint64_t *firsts = kithi_allocate(&f->allocator, firsts_bytes), *copy = NULL;
    size_t kept = 0, done = 0;
    kith_status added = firsts != NULL ? add_assuming_no_repeats(kernels, f, digests, n, firsts) : KITH_E_MEMORY;
    bool all_added = added == KITH_OK;
    bool fits = added != KITH_E_MEMORY &&
                kithi_drop_repeats(&f->allocator, digests, n, all_added ? firsts : NULL, &copy, &kept);
    kithi_release(&f->allocator, firsts, firsts_bytes);
    if (!fits || (all_added && copy == NULL))
        return fits ? KITH_OK : KITH_E_MEMORY;
    kith_status status = clear(f, range);
    if (status == KITH_OK) {
        f->head.count = count;
        f->head.fill = fill;
        f->sealed = false;
        status = kithi_add_many(kernels, f, copy != NULL ? copy : digests, kept, NULL, &done);
    }
    kithi_release(&f->allocator, copy, (uint64_t)n * sizeof *copy); /* cannot overflow: as large as `digests` */
    return status;
}

static byte_range range_of(const fill_job *w, const kith_filter *f, unsigned part) {
    uint64_t region_bytes = f->head.body_bytes / w->parts.regions, first = kithi_first_region(w->parts, part);
    return (byte_range){f->body + first * region_bytes,
                        (kithi_first_region(w->parts, part + 1) - first) * region_bytes};
}

static void fill_parts(void *context, unsigned thread) {
    fill_job *w = context;
    kith_filter *mine = &w->handles[thread];
    for (unsigned p; (p = atomic_fetch_add(&w->next, 1)) < w->parts.count && w->statuses[thread] == KITH_OK;) {
        const uint64_t *digests = w->by_part + w->starts[p];
        size_t n = w->starts[p + 1] - w->starts[p], done = 0;
        if (w->drop_repeats)
            w->statuses[thread] = add_without_repeats(w->kernels, mine, range_of(w, mine, p), digests, n);
        else
            w->statuses[thread] = kithi_add_many(w->kernels, mine, digests, n, NULL, &done);
    }
}

static kith_status fill_chunks(fill_job *w, const kith_allocator *allocator, const uint64_t *digests, size_t n,
                               unsigned threads) {
    for (size_t at = 0; at < n; at += w->chunk) {
        size_t count = n - at < w->chunk ? n - at : w->chunk;
        if (!kithi_partition(allocator, digests + at, count, w->parts, threads, w->by_part, w->starts))
            return KITH_E_MEMORY;
        atomic_store(&w->next, 0);
        kithi_parallel(threads, fill_parts, w);
        for (unsigned t = 0; t < threads; t++)
            if (w->statuses[t] != KITH_OK)
                return w->statuses[t];
    }
    return KITH_OK;
}

/* Adds up the counts and fills of the threads' handles. KITH_E_FULL if they exceed what the filter accepts. */
static kith_status sum_handles(kith_filter *f, fill_job *w, unsigned threads) {
    for (unsigned t = 0; t < threads; t++) {
        f->head.count += w->handles[t].head.count;
        f->head.fill += w->handles[t].head.fill;
        if (f->kind->detach != NULL)
            f->kind->detach(&w->handles[t]);
    }
    bool too_full = f->kind->full != NULL && f->kind->full(f, f->head.fill);
    return f->head.count > f->head.capacity || too_full ? KITH_E_FULL : KITH_OK;
}

static size_t chunk_of(const kith_filter *f, size_t n, bool drop_repeats) {
    if (drop_repeats)
        return n;
    uint64_t chunk = f->head.body_bytes / sizeof(uint64_t);
    chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk < CHUNK_MAX ? chunk : CHUNK_MAX;
    return n < chunk ? n : (size_t)chunk;
}

/* On any code but KITH_OK the content of the filter is unspecified, and the code may differ from that of adds in
 * order. */
static kith_status fill_by_parts(kith_filter *f, const uint64_t *digests, size_t n, bool drop_repeats, uint64_t regions,
                                 unsigned threads) {
    const kith_allocator *allocator = &f->allocator;
    uint64_t part_count = f->head.body_bytes / PART_BYTES;
    part_count =
        part_count < 8 * threads ? 8 * threads : part_count; /* so that no thread is idle for long at the end */
    part_count = part_count < KITHI_PARTS_MAX ? part_count : KITHI_PARTS_MAX;
    kithi_parts parts = kithi_parts_of(regions, (unsigned)(part_count < regions ? part_count : regions));
    size_t chunk = chunk_of(f, n, drop_repeats);
    uint64_t by_part_bytes = chunk * sizeof *digests, starts_bytes = (parts.count + 1) * sizeof(size_t);
    uint64_t handles_bytes = threads * sizeof(kith_filter), statuses_bytes = threads * sizeof(kith_status);
    fill_job w = {
        .kernels = kithi_kernels_of(f),
        .handles = kithi_allocate(allocator, handles_bytes),
        .statuses = kithi_allocate(allocator, statuses_bytes),
        .drop_repeats = drop_repeats,
        .chunk = chunk,
        .by_part = kithi_allocate(allocator, by_part_bytes),
        .starts = kithi_allocate(allocator, starts_bytes),
        .parts = parts,
    };
    kith_status status = KITH_E_MEMORY;
    if (w.handles != NULL && w.statuses != NULL && w.by_part != NULL && w.starts != NULL) {
        for (unsigned t = 0; t < threads; t++)
            w.handles[t] = *f;
        status = fill_chunks(&w, allocator, digests, n, threads);
        kith_status sum = sum_handles(f, &w, threads);
        status = status == KITH_OK ? sum : status;
    }
    kithi_release(allocator, w.starts, starts_bytes);
    kithi_release(allocator, w.by_part, by_part_bytes);
    kithi_release(allocator, w.statuses, statuses_bytes);
    kithi_release(allocator, w.handles, handles_bytes);
    return status;
}

/* Returns whether parts are faster even on one thread. Sorting a digest and adding it in cache costs about as much as
 * one prefetched cache line from memory. A kind that touches one line per key therefore gains nothing. Kinds that
 * search for a free slot save half of their time, and so does the search for repeats. */
static bool parts_are_faster(const kith_filter *f, bool drop_repeats) {
    return f->head.body_bytes >= PARTS_MIN_BODY && (drop_repeats || f->shape.lines > 1);
}

static kith_status fill(kith_filter *f, const uint64_t *digests, size_t n, bool drop_repeats, unsigned threads) {
    uint64_t regions = f->kind->regions != NULL ? f->kind->regions(&f->head) : 1;
    bool by_parts = n >= PARTS_MIN_DIGESTS && regions > 1 && (threads > 1 || parts_are_faster(f, drop_repeats));
    if (by_parts && fill_by_parts(f, digests, n, drop_repeats, regions, threads) == KITH_OK)
        return KITH_OK;
    kith_status status = by_parts ? kith_filter_clear(f) : KITH_OK;
    if (status != KITH_OK)
        return status;
    f->sealed = false;
    size_t done = 0;
    return drop_repeats ? add_without_repeats(kithi_kernels_of(f), f, (byte_range){NULL, 0}, digests, n)
                        : kithi_add_many(kithi_kernels_of(f), f, digests, n, NULL, &done);
}

/* ---- the number of keys ---- */

typedef struct count_job {
    const kith_allocator *allocator;
    uint64_t *by_part;
    size_t *starts;
    unsigned part_count;
    atomic_uint next;
    _Atomic size_t keys;
    atomic_bool no_memory;
} count_job;

static void count_parts(void *context, unsigned thread) {
    (void)thread;
    count_job *c = context;
    for (unsigned p; (p = atomic_fetch_add(&c->next, 1)) < c->part_count && !c->no_memory;) {
        uint64_t *copy;
        size_t n = c->starts[p + 1] - c->starts[p], kept = 0;
        if (n != 0 && !kithi_drop_repeats(c->allocator, c->by_part + c->starts[p], n, NULL, &copy, &kept))
            c->no_memory = true;
        else if (n != 0)
            kithi_release(c->allocator, copy, (uint64_t)n * sizeof *copy);
        c->keys += kept;
    }
}

/* Counts the distinct digests, in parts that fit in cache. Returns false if there is no memory. */
static bool count_keys(const kith_allocator *allocator, const uint64_t *digests, size_t n, unsigned threads,
                       size_t *keys) {
    enum { PART_DIGESTS = 32768 };
    size_t part_count = n / PART_DIGESTS + 1 < KITHI_PARTS_MAX ? n / PART_DIGESTS + 1 : KITHI_PARTS_MAX;
    uint64_t by_part_bytes = (uint64_t)n * sizeof *digests, starts_bytes = (part_count + 1) * sizeof(size_t);
    count_job c = {
        .allocator = allocator,
        .by_part = kithi_allocate(allocator, by_part_bytes),
        .starts = kithi_allocate(allocator, starts_bytes),
        .part_count = (unsigned)part_count,
    };
    kithi_parts parts = kithi_parts_of(KITHI_PARTS_MAX, c.part_count);
    bool fits = c.by_part != NULL && c.starts != NULL &&
                kithi_partition(allocator, digests, n, parts, threads, c.by_part, c.starts);
    if (fits)
        kithi_parallel(threads, count_parts, &c);
    kithi_release(allocator, c.starts, starts_bytes);
    kithi_release(allocator, c.by_part, by_part_bytes);
    *keys = c.keys;
    return fits && !c.no_memory;
}

/* ---- building ---- */

static bool capacity_is_unknown(const kith_filter_spec *spec) {
    return spec->capacity == 0 && (spec->bytes == 0 || spec->rate == 0);
}

/* Rejects a spec that no number of keys could make valid, before anything is allocated. */
static kith_status check_spec(const kith_filter_spec *spec) {
    kith_filter_spec smallest = *spec;
    kithi_head head;
    if (capacity_is_unknown(spec))
        smallest.capacity = 1;
    return kithi_plan_spec(&smallest, &head);
}

/* Returns whether the spec, which is valid, describes a filter of a static kind. */
static bool is_static(const kith_filter_spec *spec) {
    kithi_head head;
    return kithi_plan_spec(spec, &head) == KITH_OK && !kithi_kind_adds(kithi_kind_by_id(head.kind_id));
}

kith_status kith_filter_build(const kith_filter_spec *given, const uint64_t *digests, size_t n, unsigned flags,
                              unsigned threads, kith_filter **filter) {
    assert(given != NULL && filter != NULL && (digests != NULL || n == 0));
    kith_filter_spec sized;
    kith_status status = kithi_spec_read(given, &sized);
    if (status != KITH_OK || (flags & ~(unsigned)KITH_BUILD_MULTISET) != 0)
        return KITH_E_ARGUMENT;
    bool multiset = (flags & KITH_BUILD_MULTISET) != 0;
    threads = threads < 1 ? 1 : threads < KITHI_THREADS_MAX ? threads : KITHI_THREADS_MAX;
    sized.needs |= multiset ? KITH_CAN_COPIES : 0;
    status = n == 0 ? KITH_OK : check_spec(&sized);
    if (status != KITH_OK)
        return status;
    if (!kithi_hash_valid(&sized.hash))
        return KITH_E_ARGUMENT;
    if (sized.kind != NULL && capacity_is_unknown(&sized)) {
        kith_filter_spec smallest = sized;
        smallest.capacity = 1;
        if (n != 0 && is_static(&smallest))
            return kithi_build_static(&sized, digests, n, threads, filter);
    }
    bool repeats_are_possible = !multiset;
    if (capacity_is_unknown(&sized)) {
        kith_allocator allocator = kithi_allocator_or_default(sized.allocator);
        size_t keys = n;
        if (n != 0 && !multiset && !count_keys(&allocator, digests, n, threads, &keys))
            return KITH_E_MEMORY;
        sized.capacity = keys;
        repeats_are_possible = keys < n;
    }
    if (is_static(&sized))
        return kithi_build_static(&sized, digests, n, threads, filter);
    kith_filter *f;
    status = kith_filter_create(&sized, &f);
    if (status != KITH_OK)
        return status;
    /* A filter that stores copies would store a repeat as a second copy. (The kind may depend on the number of
     * keys.) */
    bool drop_repeats = repeats_are_possible && (f->shape.capabilities & KITH_CAN_COPIES) != 0;
    status = fill(f, digests, n, drop_repeats, threads);
    if (status != KITH_OK)
        kith_filter_free(f);
    else
        *filter = f;
    return status;
}
