/* Builds a filter of a static kind: the digests of each region are collected, and the kind's build() runs for one region
 * after the other, on several threads.
 *
 *     digests  ->  plan  ->  sort by part  ->  build each region
 *                                  ->  if two are equal: drop repeats in each part, plan for the rest, build again
 *
 * Most lists have no repeats, and a build that succeeds has shown that (kind.h). So repeats are dropped only if a build
 * finds two equal digests, or if there are more digests than the capacity.
 *
 * Parts and regions are both ranges of digests of equal length. If the number of regions divides the number of parts,
 * each region is a run of whole parts. Otherwise the digests in each part are sorted, which makes regions contiguous,
 * too.
 *
 * A build that fails with KITH_E_FULL is planned again with more space (kithi_plan_again). That does not happen for
 * digests that are hashes, except with a very small probability. */
#include "build/static.h"

#include <string.h>

#include "core/bits.h"
#include "core/parallel.h"
#include "core/sort.h"
#include "build/partition.h"
#include "build/repeats.h"
#include "handle.h"
#include "registry.h"
#include "plan/planner.h"

#define PART_DIGESTS 32768 /* with what finding repeats needs, a part fits in a core's cache */
#define ATTEMPTS_MAX 8

typedef struct build_job {
    const kith_allocator *allocator;
    uint64_t *sorted;        /* the digests, by part; not used if there is only one region */
    const uint64_t *digests; /* in the order of the regions: `sorted`, or the caller's */
    size_t *starts;          /* of the parts */
    size_t *kept;            /* number of distinct digests in each part */
    unsigned parts;          /* a power of two */
    atomic_uint next;        /* the first part that no thread has taken yet */
    atomic_int status;       /* the first failure */

    kith_filter *filter;
    uint64_t regions;
    _Atomic uint64_t next_region;
    size_t count;
} build_job;

static void fail(build_job *job, kith_status status) {
    int none = KITH_OK;
    (void)atomic_compare_exchange_strong(&job->status, &none, (int)status);
}

static void drop_repeats_in_parts(void *context, unsigned thread) {
    (void)thread;
    build_job *job = context;
    for (unsigned p; (p = atomic_fetch_add(&job->next, 1)) < job->parts && job->status == KITH_OK;) {
        uint64_t *digests = job->sorted + job->starts[p], *copy = NULL;
        size_t n = job->starts[p + 1] - job->starts[p];
        job->kept[p] = 0;
        if (n == 0)
            continue;
        if (!kithi_drop_repeats(job->allocator, digests, n, NULL, &copy, &job->kept[p])) {
            fail(job, KITH_E_MEMORY);
            return;
        }
        if (copy != NULL)
            memcpy(digests, copy, job->kept[p] * sizeof *digests);
        kithi_release(job->allocator, copy, (uint64_t)n * sizeof *copy);
    }
}

static void sort_parts(void *context, unsigned thread) {
    (void)thread;
    build_job *job = context;
    for (unsigned p; (p = atomic_fetch_add(&job->next, 1)) < job->parts;)
        kithi_sort(job->sorted + job->starts[p], job->starts[p + 1] - job->starts[p]);
}

/* Closes the gaps that the repeats have left. */
static void join_parts(build_job *job) {
    size_t at = 0;
    for (unsigned p = 0; p < job->parts; p++) {
        if (at != job->starts[p])
            memmove(job->sorted + at, job->sorted + job->starts[p], job->kept[p] * sizeof *job->sorted);
        job->starts[p] = at;
        at += job->kept[p];
    }
    job->starts[job->parts] = at;
    job->count = at;
}

/* Returns the position of the first digest that belongs to region `region` or a later one. */
static size_t region_start(const build_job *job, uint64_t region) {
    if (job->regions == 1)
        return region == 0 ? 0 : job->count;
    if (job->parts % job->regions == 0)
        return job->starts[job->parts / job->regions * region];
    size_t low = 0, high = job->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kithi_mulhi(job->digests[middle], job->regions) < region)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void build_regions(void *context, unsigned thread) {
    (void)thread;
    build_job *job = context;
    for (uint64_t r; (r = atomic_fetch_add(&job->next_region, 1)) < job->regions && job->status == KITH_OK;) {
        size_t from = region_start(job, r), to = region_start(job, r + 1);
        kith_status status =
            from == to ? KITH_OK : job->filter->kind->build(job->filter, r, job->digests + from, to - from);
        if (status != KITH_OK)
            fail(job, status);
    }
}

/* Sorts the digests by part, and within each part if the parts are not enough to tell the regions apart. */
static kith_status sort_by_region(build_job *job, size_t n, unsigned threads) {
    if (job->digests == job->sorted) /* a second build: still sorted by part */
        return KITH_OK;
    if (!kithi_partition(job->allocator, job->digests, n, kithi_parts_of(job->parts, job->parts), threads, job->sorted,
                         job->starts))
        return KITH_E_MEMORY;
    job->digests = job->sorted;
    return KITH_OK;
}

static kith_status build_attempt(build_job *job, const kith_filter_spec *spec, const kithi_head *head,
                                 unsigned threads) {
    job->regions = kithi_kind_by_id(head->kind_id)->regions(head);
    kith_status status = job->regions > 1 ? sort_by_region(job, job->count, threads) : KITH_OK;
    if (status == KITH_OK && job->regions > 1 && job->parts % job->regions != 0) {
        atomic_store(&job->next, 0);
        kithi_parallel(threads, sort_parts, job);
    }
    if (status == KITH_OK)
        status = kithi_filter_create(spec, head, &job->filter);
    if (status != KITH_OK)
        return status;
    atomic_store(&job->next_region, 0);
    atomic_store(&job->status, KITH_OK);
    kithi_parallel(threads, build_regions, job);
    status = (kith_status)job->status;
    if (status != KITH_OK)
        kith_filter_free(job->filter);
    else
        job->filter->head.count = job->count;
    return status;
}

/* Builds the filter from job->count digests, which are distinct or not. */
static kith_status build_planned(build_job *job, const kith_filter_spec *given, unsigned threads,
                                 kith_filter **filter) {
    kith_filter_spec spec = *given;
    if (spec.capacity == 0 && (spec.bytes == 0 || spec.rate == 0))
        spec.capacity = job->count;
    kithi_head first, head;
    kith_status status = kithi_plan_spec(&spec, &first);
    if (status != KITH_OK)
        return status;
    if (job->count > first.capacity)
        return KITH_E_COPIES;
    first.hash = spec.hash;
    head = first;
    status = build_attempt(job, &spec, &head, threads);
    for (unsigned attempt = 1; status == KITH_E_FULL && attempt < ATTEMPTS_MAX; attempt++) {
        status = kithi_plan_again(&spec, &first, attempt, &head);
        if (status == KITH_OK)
            status = build_attempt(job, &spec, &head, threads);
    }
    if (status == KITH_OK)
        *filter = job->filter;
    return status;
}

static kith_status drop_repeats(build_job *job, unsigned threads) {
    kith_status status = sort_by_region(job, job->count, threads);
    if (status != KITH_OK)
        return status;
    atomic_store(&job->next, 0);
    atomic_store(&job->status, KITH_OK);
    kithi_parallel(threads, drop_repeats_in_parts, job);
    status = (kith_status)job->status;
    if (status == KITH_OK)
        join_parts(job);
    return status;
}

kith_status kithi_build_static(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned threads,
                               kith_filter **filter) {
    kith_allocator allocator = kithi_allocator_or_default(spec->allocator);
    unsigned parts = 1;
    while (parts < KITHI_PARTS_MAX && n / parts > PART_DIGESTS)
        parts *= 2;
    uint64_t sorted_bytes = (uint64_t)(n + 1) * sizeof *digests, starts_bytes = (parts + 1) * sizeof(size_t);
    uint64_t kept_bytes = parts * sizeof(size_t);
    build_job job = {
        .allocator = &allocator,
        .digests = digests,
        .sorted = kithi_allocate(&allocator, sorted_bytes),
        .starts = kithi_allocate(&allocator, starts_bytes),
        .kept = kithi_allocate(&allocator, kept_bytes),
        .parts = parts,
        .count = n,
    };
    kith_status status = KITH_E_MEMORY;
    if (job.sorted != NULL && job.starts != NULL && job.kept != NULL)
        status = build_planned(&job, spec, threads, filter);
    if (status == KITH_E_COPIES) {
        status = drop_repeats(&job, threads);
        if (status == KITH_OK)
            status = build_planned(&job, spec, threads, filter);
        if (status == KITH_E_COPIES) /* all are distinct now, and there are more than the capacity */
            status = KITH_E_FULL;
    }
    kithi_release(&allocator, job.kept, kept_bytes);
    kithi_release(&allocator, job.starts, starts_bytes);
    kithi_release(&allocator, job.sorted, sorted_bytes);
    return status;
}
