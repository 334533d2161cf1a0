/* Building: a filter from an array of digests, all or nothing.
 *
 *     digests  ->  without repeats  ->  a chunk at a time, sorted by parts  ->  part by part into the filter
 *
 * Repeats. Equal digests are one key (unless a multiset is asked for), and the kinds whose bytes depend on the order of
 * adds must see each key where it first occurs (core/repeats.h). Kinds that keep no copies take a repeat for what it is;
 * for them repeats are dropped only where the number of keys is not known otherwise.
 *
 * Parts. A kind with regions (kind.h) can be filled region by region: the parts of core/partition.h stay in cache, and
 * threads take one after the other. Each thread has a handle of its own on the filter's body, whose count and fill are
 * added up at the end. The result is that of adds in order, or so it is when all goes well; when anything fails, the plain
 * way finds out what adds in order would have said.
 *
 * Chunks. The digests of a chunk are copied once. A chunk of as many bytes as the filter, but not more than 128 MiB, meets
 * each line of the filter several times while it is in cache, and is no large part of what a build takes. */
#include <assert.h>

#include "core/hash.h"
#include "core/parallel.h"
#include "core/partition.h"
#include "core/repeats.h"
#include "kind.h"

/* ---- parts ---- */

#define CHUNK_MIN ((size_t)1 << 20) /* digests */
#define CHUNK_MAX ((size_t)1 << 24)
#define PARTED_FROM ((size_t)1 << 17) /* digests: fewer are in the filter sooner than they are sorted */
#define PART_BYTES ((uint64_t)512 << 10)
#define PARTS_MAX 512 /* so many lines of 64 bytes stay in the first-level cache */

typedef struct filling {
    const kithi_kernels *kernels;
    kith_filter *handles; /* one a thread */
    kith_status *statuses;
    size_t chunk;     /* digests */
    uint64_t *parted; /* those of a chunk */
    size_t *starts;
    unsigned parts;
    atomic_uint next; /* the first part that no thread has taken */
} filling;

static void fill_parts(void *context, unsigned thread) {
    filling *w = context;
    kith_filter *mine = &w->handles[thread];
    for (unsigned p; (p = atomic_fetch_add(&w->next, 1)) < w->parts && w->statuses[thread] == KITH_OK;) {
        size_t from = w->starts[p], n = w->starts[p + 1] - from, done = 0;
        w->statuses[thread] = w->kernels->add_many(mine, w->parted + from, n, NULL, &done);
    }
}

static kith_status fill_chunks(filling *w, const kith_allocator *allocator, const uint64_t *digests, size_t n,
                               kithi_cut cut, unsigned threads) {
    for (size_t at = 0; at < n; at += w->chunk) {
        size_t count = n - at < w->chunk ? n - at : w->chunk;
        if (!kithi_partition(allocator, digests + at, count, cut, threads, w->parted, w->starts))
            return KITH_E_MEMORY;
        atomic_store(&w->next, 0);
        kithi_parallel(threads, fill_parts, w);
        for (unsigned t = 0; t < threads; t++)
            if (w->statuses[t] != KITH_OK)
                return w->statuses[t];
    }
    return KITH_OK;
}

/* Adds up what the threads' handles hold. More than the filter takes is KITH_E_FULL. */
static kith_status gather(kith_filter *f, filling *w, unsigned threads) {
    for (unsigned t = 0; t < threads; t++) {
        f->head.count += w->handles[t].head.count;
        f->head.fill += w->handles[t].head.fill;
        if (f->kind->detach != NULL)
            f->kind->detach(&w->handles[t]);
    }
    bool too_full = f->kind->full != NULL && f->kind->full(f, f->head.fill);
    return f->head.count > f->head.capacity || too_full ? KITH_E_FULL : KITH_OK;
}

static size_t chunk_of(const kith_filter *f, size_t n) {
    uint64_t chunk = f->head.body_bytes / sizeof(uint64_t);
    chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk < CHUNK_MAX ? chunk : CHUNK_MAX;
    return n < chunk ? n : (size_t)chunk;
}

/* KITH_OK, or any other code: the filter is spoiled, and what adds in order would say is not known. */
static kith_status fill_by_parts(kith_filter *f, const uint64_t *digests, size_t n, uint64_t regions,
                                 unsigned threads) {
    const kith_allocator *allocator = &f->allocator;
    uint64_t parts = f->head.body_bytes / PART_BYTES;
    parts = parts < 8 * threads ? 8 * threads : parts < PARTS_MAX ? parts : PARTS_MAX;
    kithi_cut cut = kithi_cut_of(regions, (unsigned)(parts < regions ? parts : regions));
    size_t chunk = chunk_of(f, n);
    uint64_t parted_bytes = chunk * sizeof *digests, starts_bytes = (cut.parts + 1) * sizeof(size_t);
    uint64_t handles_bytes = threads * sizeof(kith_filter), statuses_bytes = threads * sizeof(kith_status);
    filling w = {
        .kernels = kithi_kernels_of(f),
        .handles = kithi_allocate(allocator, handles_bytes),
        .statuses = kithi_allocate(allocator, statuses_bytes),
        .chunk = chunk,
        .parted = kithi_allocate(allocator, parted_bytes),
        .starts = kithi_allocate(allocator, starts_bytes),
        .parts = cut.parts,
    };
    kith_status status = KITH_E_MEMORY;
    if (w.handles != NULL && w.statuses != NULL && w.parted != NULL && w.starts != NULL) {
        for (unsigned t = 0; t < threads; t++)
            w.handles[t] = *f;
        status = fill_chunks(&w, allocator, digests, n, cut, threads);
        kith_status sum = gather(f, &w, threads);
        status = status == KITH_OK ? sum : status;
    }
    kithi_release(allocator, w.starts, starts_bytes);
    kithi_release(allocator, w.parted, parted_bytes);
    kithi_release(allocator, w.statuses, statuses_bytes);
    kithi_release(allocator, w.handles, handles_bytes);
    return status;
}

static kith_status fill(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads) {
    uint64_t regions = f->kind->regions != NULL ? f->kind->regions(&f->head) : 1;
    bool worth_it = n >= PARTED_FROM && regions > 1 && (threads > 1 || f->head.body_bytes > 2 * PART_BYTES);
    if (worth_it && fill_by_parts(f, digests, n, regions, threads) == KITH_OK)
        return KITH_OK;
    kith_status status = worth_it ? kith_filter_clear(f) : KITH_OK;
    return status == KITH_OK ? kith_filter_add_many(f, digests, n, NULL, NULL) : status;
}

/* ---- all together ---- */

static bool capacity_is_open(const kith_filter_spec *spec) {
    return spec->capacity == 0 && (spec->bytes == 0 || spec->rate == 0);
}

static kith_status create_and_fill(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned threads,
                                   kith_filter **filter) {
    kith_filter_spec sized = *spec;
    if (capacity_is_open(spec))
        sized.capacity = n;
    kith_filter *f;
    kith_status status = kith_filter_create(&sized, &f);
    if (status != KITH_OK)
        return status;
    status = fill(f, digests, n, threads);
    if (status != KITH_OK)
        kith_filter_free(f);
    else
        *filter = f;
    return status;
}

/* Of the kind that the spec asks for: whether its filters tell a repeat from another key by themselves. What no number of
 * keys can make right is refused here, before anything is allocated. */
static kith_status ignores_repeats(const kith_filter_spec *spec, bool *ignores) {
    kith_filter_spec smallest = *spec;
    kithi_head head;
    if (capacity_is_open(spec))
        smallest.capacity = 1;
    kith_status status = kithi_plan_spec(&smallest, &head);
    if (status != KITH_OK)
        return status;
    kithi_shape shape;
    status = kithi_kind_by_id(head.kind_id)->shape(&head, &shape);
    *ignores = status == KITH_OK && (shape.capabilities & KITH_CAN_COPIES) == 0;
    return status;
}

kith_status kith_filter_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned flags,
                              unsigned threads, kith_filter **filter) {
    assert(spec != NULL && filter != NULL && (digests != NULL || n == 0));
    if (spec->struct_bytes != sizeof *spec || (flags & ~(unsigned)KITH_BUILD_MULTISET) != 0)
        return KITH_E_ARGUMENT;
    threads = threads < 1 ? 1 : threads < KITHI_THREADS_MAX ? threads : KITHI_THREADS_MAX;
    if ((flags & KITH_BUILD_MULTISET) != 0) {
        kith_filter_spec multiset = *spec;
        multiset.needs |= KITH_CAN_COPIES;
        return create_and_fill(&multiset, digests, n, threads, filter);
    }
    if (n == 0)
        return create_and_fill(spec, digests, n, threads, filter);
    bool ignores;
    kith_status status = ignores_repeats(spec, &ignores);
    if (status != KITH_OK)
        return status;
    if (!kithi_hash_valid(&spec->hash))
        return KITH_E_ARGUMENT;
    if (ignores && !capacity_is_open(spec))
        return create_and_fill(spec, digests, n, threads, filter);
    kith_allocator allocator = kithi_allocator_or_default(spec->allocator);
    uint64_t *distinct;
    size_t kept;
    if (!kithi_drop_repeats(&allocator, digests, n, &distinct, &kept))
        return KITH_E_MEMORY;
    status = create_and_fill(spec, distinct != NULL ? distinct : digests, kept, threads, filter);
    kithi_release(&allocator, distinct, (uint64_t)n * sizeof *digests); /* no overflow: the caller's is that large */
    return status;
}
