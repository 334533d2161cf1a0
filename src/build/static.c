/* Builds a filter of a static kind: the digests are sorted by region, and the kind's build() is called for each region.
 * Each thread builds one region after the other.
 *
 *     digests  ->  plan  ->  sort by part  ->  build each region
 *     if the build finds two equal digests:  drop repeats in each part  ->  plan again  ->  build again
 *
 * Most lists have no repeats, and a build succeeds only if there are none (kind.h). So repeats in memory are dropped
 * only if a build finds two equal digests, or if there are more digests than the capacity.
 *
 * Both parts and regions divide the 64-bit digests into ranges of equal size, in increasing order. If the number of
 * regions divides the number of parts, each region consists of whole parts. Otherwise the digests within each part are
 * sorted, too, so that those of a region are contiguous. A single region needs no sorting.
 *
 * If a build fails with KITH_E_FULL, the filter is planned again, with other parameters (kithi_plan_again), and all
 * regions are built again. If the digests are hashes, the probability of such a failure is very small. An attempt that
 * cannot be planned is left out.
 *
 * Digests on disk (build/spill.h) are in 256 parts. They are read without their repeats. If the number of regions
 * divides 256, each thread reads the parts of one region and builds this region. If the number of regions is a multiple
 * of 256, each thread reads one part and builds its regions. Otherwise one thread reads all parts and builds all
 * regions.
 *
 * Memory. A thread that builds a region needs memory (kithi_static_build.bytes) and, if the digests are on disk,
 * space for all digests that it reads at once. The number of threads is lowered until all of this fits in the memory
 * limit, but one thread is always used, even if it exceeds the limit. If one thread exceeds the limit while all digests
 * are in memory, they may be moved to disk first (fits_in_memory). */
#include "build/static.h"

#include <string.h>

#include "core/bits.h"
#include "core/parallel.h"
#include "core/sort.h"
#include "build/partition.h"
#include "build/repeats.h"
#include "handle/handle.h"
#include "kinds/registry.h"
#include "plan/planner.h"

#define PART_DIGESTS 32768 /* the most per part, if possible: they fit in cache while their repeats are found */
#define PARTS_MIN 64       /* the fewest parts if memory is limited: finding the repeats of a small part needs little */

typedef struct build_job {
    const kith_allocator *allocator;
    /* In memory: a copy of the digests, sorted by part. NULL until it is needed, because there are several regions or
     * because repeats must be dropped. */
    uint64_t *sorted;
    uint64_t sorted_bytes;   /* size of `sorted` */
    const uint64_t *digests; /* `sorted`, or the collected digests until they are sorted */
    size_t *starts;          /* index in `sorted` of the first digest of each part, and of the end */
    size_t *kept;            /* number of distinct digests in each part */
    unsigned parts;          /* number of parts, a power of two */
    atomic_uint next_part;   /* the first part that no thread has taken yet */
    atomic_int status;       /* the first failure */

    kith_filter *filter;
    unsigned attempt;        /* kithi_request.attempt of its plan */
    kithi_geometry geometry; /* of the filter */
    uint64_t regions;
    uint64_t largest;             /* number of digests of the largest region; UINT64_MAX if they were not counted */
    _Atomic uint64_t next_region; /* the first region that no thread has taken yet */
    _Atomic uint64_t done;        /* in memory: digests of the regions that are built */
    size_t count;                 /* number of digests; of distinct ones after repeats were dropped */

    kithi_collection *c;
    /* In memory: the build would exceed the memory limit, and it would need less memory if the digests were moved to
     * disk first. */
    bool must_spill;
    /* On disk: thread t builds unit first_unit + t. A unit is what one thread reads at once: see unit_count(). */
    uint64_t first_unit;
} build_job;

static void fail(build_job *job, kith_status status) {
    int none = KITH_OK;
    (void)atomic_compare_exchange_strong(&job->status, &none, (int)status);
}

/* Returns how many threads fit in the memory limit if `held` bytes are allocated already, and each thread allocates
 * `each` bytes more. */
static uint64_t threads_that_fit(const kithi_collection *c, uint64_t held, uint64_t each) {
    return c->memory_bytes > held ? (c->memory_bytes - held) / each : 0;
}

/* The same, but at least 1 and at most the number of threads that may be used. */
static unsigned threads_within_limit(const kithi_collection *c, uint64_t held, uint64_t each) {
    uint64_t fitting = threads_that_fit(c, held, each);
    return fitting < 1 ? 1 : fitting < c->threads ? (unsigned)fitting : c->threads;
}

/* ---- in memory ---- */

static void sort_parts(void *context, unsigned thread) {
    (void)thread;
    build_job *job = context;
    for (unsigned p; (p = atomic_fetch_add(&job->next_part, 1)) < job->parts;)
        kithi_sort(job->sorted + job->starts[p], job->starts[p + 1] - job->starts[p]);
}

/* Returns the index in job->digests of the first digest that belongs to region `region` or a later one. */
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

/* Reports progress. Returns false if the build is cancelled. */
static bool report(const build_job *job, uint64_t done) {
    return kithi_report_progress(job->c, KITH_BUILD_FILLING, done, job->count);
}

/* Only thread 0, which is the caller's, reports progress: after each of its regions, unless all digests are done by
 * then. build_attempt() reports the end. */
static void build_regions(void *context, unsigned thread) {
    build_job *job = context;
    for (uint64_t r; (r = atomic_fetch_add(&job->next_region, 1)) < job->regions && job->status == KITH_OK;) {
        size_t from = region_start(job, r), to = region_start(job, r + 1);
        kith_status status =
            from == to ? KITH_OK
                       : job->filter->kind->build.region(job->filter, job->attempt, r, job->digests + from, to - from);
        uint64_t done = atomic_fetch_add(&job->done, to - from) + (to - from);
        if (status == KITH_OK && thread == 0 && done < job->count && !report(job, done))
            status = KITH_E_CANCELLED;
        if (status != KITH_OK)
            fail(job, status);
    }
}

/* Sorts the digests by part, unless they already are. */
static kith_status sort_by_part(build_job *job) {
    if (job->digests == job->sorted) /* sorted for an earlier attempt, or to drop repeats */
        return KITH_OK;
    if (job->sorted == NULL) {
        job->sorted_bytes = (uint64_t)(job->count + 1) * sizeof *job->sorted;
        job->sorted = kithi_allocate(job->allocator, job->sorted_bytes);
    }
    if (job->sorted == NULL ||
        !kithi_partition(job->allocator, job->digests, job->count, kithi_part_map_of(job->parts, job->parts),
                         job->c->threads, job->sorted, job->starts))
        return KITH_E_MEMORY;
    job->digests = job->sorted;
    return KITH_OK;
}

/* Sorts the digests such that those of a region are contiguous: by part, and within each part if needed. */
static kith_status sort_by_region(build_job *job) {
    kith_status status = job->regions > 1 ? sort_by_part(job) : KITH_OK;
    if (status == KITH_OK && job->regions > 1 && job->parts % job->regions != 0) {
        atomic_store(&job->next_part, 0);
        kithi_parallel(job->c->threads, sort_parts, job);
    }
    return status;
}

/* Returns how many bytes the digests in memory and their sorted copy take. */
static uint64_t held_bytes(const build_job *job) {
    return (uint64_t)job->c->allocated * sizeof *job->c->digests + (job->sorted != NULL ? job->sorted_bytes : 0);
}

/* Trims the array of digests if otherwise the memory limit would not allow all threads to build. This assumes that each
 * region has the same number of digests. Called before the digests are sorted: later, three arrays would be in memory
 * at the same time, the old one, the trimmed one and the sorted one. */
static void trim_if_needed(build_job *job, const kithi_kind *kind, uint64_t capacity) {
    uint64_t sorted_bytes = job->regions > 1 ? ((uint64_t)job->count + 1) * sizeof *job->sorted : 0;
    uint64_t keys = job->regions > 1 ? capacity / job->regions + 1 : job->count;
    uint64_t each = kind->build.bytes(&job->geometry, (size_t)keys);
    if (threads_that_fit(job->c, held_bytes(job) + sorted_bytes, each) < job->c->threads) {
        kithi_collection_trim(job->c);
        job->digests = job->c->digests;
    }
}

static uint64_t largest_region(const build_job *job) {
    size_t largest = 0;
    for (uint64_t r = 0; r < job->regions; r++) {
        size_t n = region_start(job, r + 1) - region_start(job, r);
        largest = n > largest ? n : largest;
    }
    return largest;
}

/* Sets *threads to the number of threads that may build regions. Returns false if the digests should be moved to disk
 * first. That is the case if all of this is true: one thread would exceed the memory limit, the digests are not
 * borrowed, and a build from disk would hold fewer digests in memory. Such a build is assumed to hold the digests of
 * one region: as many as the largest region has, or capacity / regions if that is more. A build from memory holds as
 * many digests as the collected array and its sorted copy have space for. */
static bool fits_in_memory(const build_job *job, const kithi_kind *kind, uint64_t capacity, unsigned *threads) {
    uint64_t largest = job->largest, held = held_bytes(job), each = kind->build.bytes(&job->geometry, (size_t)largest);
    *threads = threads_within_limit(job->c, held, each);
    bool exceeds = each > job->c->memory_bytes || held > job->c->memory_bytes - each;
    uint64_t one_region = capacity / job->regions > largest ? capacity / job->regions : largest;
    return !exceeds || job->c->borrowed || held / sizeof *job->digests <= one_region;
}

/* ---- on disk ---- */

/* Builds `region_count` regions from first_region on. `digests` are all digests of these regions, in any order. */
static kith_status build_region_range(build_job *job, uint64_t first_region, uint64_t region_count, uint64_t *digests,
                                      size_t n) {
    if (region_count > 1)
        kithi_sort(digests, n);
    kith_status status = KITH_OK;
    for (uint64_t r = first_region; r < first_region + region_count && status == KITH_OK; r++) {
        size_t count = 0;
        if (region_count == 1)
            count = n;
        while (count < n && kithi_mulhi(digests[count], job->regions) == r)
            count++;
        if (count > 0)
            status = job->filter->kind->build.region(job->filter, job->attempt, r, digests, count);
        digests += count;
        n -= count;
    }
    return status;
}

/* Returns the number of units. A unit is a region or a part, whichever is larger. If neither the number of regions nor
 * that of parts divides the other, all digests are one unit. */
static uint64_t unit_count(const build_job *job) {
    if (job->regions % KITHI_SPILL_PARTS == 0)
        return KITHI_SPILL_PARTS;
    return KITHI_SPILL_PARTS % job->regions == 0 ? job->regions : 1;
}

/* The parts of a unit, and the memory for them. */
typedef struct unit_parts {
    unsigned first, count;
    size_t keys;    /* distinct digests */
    uint64_t bytes; /* size of the array that the parts are read into. Each part is read with its repeats, behind the
                       distinct digests of the parts before it; then its repeats are dropped */
} unit_parts;

static unit_parts parts_of_unit(const build_job *job, uint64_t unit) {
    unsigned count = (unsigned)(KITHI_SPILL_PARTS / unit_count(job));
    unit_parts u = {(unsigned)unit * count, count, 0, sizeof(uint64_t)};
    for (unsigned p = u.first; p < u.first + count; p++) {
        uint64_t bytes = (u.keys + kithi_spill_part_total(&job->c->spill, p)) * sizeof(uint64_t);
        u.bytes = bytes > u.bytes ? bytes : u.bytes;
        u.keys += (size_t)kithi_collection_part_keys(job->c, p);
    }
    return u;
}

static void build_unit(void *context, unsigned thread) {
    build_job *job = context;
    uint64_t unit = job->first_unit + thread, regions = job->regions / unit_count(job);
    unit_parts u = parts_of_unit(job, unit);
    uint64_t *digests = kithi_allocate(job->allocator, u.bytes);
    kith_status status = digests != NULL ? KITH_OK : KITH_E_MEMORY;
    size_t n = 0, read;
    for (unsigned p = u.first; p < u.first + u.count && status == KITH_OK; p++) {
        status = kithi_collection_read_part(job->c, p, digests + n, &read);
        n += read;
    }
    if (status == KITH_OK)
        status = build_region_range(job, unit * regions, regions, digests, n);
    kithi_release(job->allocator, digests, u.bytes);
    if (status != KITH_OK)
        fail(job, status);
}

/* Returns how many units can be built at the same time within the memory limit. Sets job->largest. */
static unsigned threads_on_disk(build_job *job, const kithi_kind *kind) {
    uint64_t most = 1, largest = 0;
    for (uint64_t unit = 0; unit < unit_count(job); unit++) {
        unit_parts u = parts_of_unit(job, unit);
        uint64_t bytes = u.bytes + kind->build.bytes(&job->geometry, u.keys);
        most = bytes > most ? bytes : most;
        largest = u.keys > largest ? u.keys : largest;
    }
    job->largest = unit_count(job) == job->regions ? largest : UINT64_MAX;
    return threads_within_limit(job->c, 0, most);
}

static void build_from_disk(build_job *job, unsigned threads) {
    uint64_t units = unit_count(job);
    for (uint64_t unit = 0; unit < units && job->status == KITH_OK; unit += threads) {
        job->first_unit = unit;
        if (unit == 0 || report(job, job->count / units * unit))
            kithi_parallel(units - unit < threads ? (unsigned)(units - unit) : threads, build_unit, job);
        else
            fail(job, KITH_E_CANCELLED);
    }
}

/* ---- from memory or from disk ---- */

/* Builds the filter of one plan. Sets job->filter on success. */
static kith_status build_attempt(build_job *job, const kith_filter_spec *spec, const kithi_head *head) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    unsigned threads = 1;
    kithi_shape shape;
    kith_status status = kithi_kind_shape(kind, head, &shape);
    if (status != KITH_OK)
        return status;
    job->regions = shape.regions;
    job->geometry = kind->lookup->decode(head);
    if (!report(job, 0))
        return KITH_E_CANCELLED;
    if (job->c->spilled) {
        threads = threads_on_disk(job, kind);
    } else {
        if (job->sorted == NULL)
            trim_if_needed(job, kind, head->capacity);
        status = sort_by_region(job);
        job->largest = status == KITH_OK ? largest_region(job) : UINT64_MAX;
        job->must_spill = status == KITH_OK && !fits_in_memory(job, kind, head->capacity, &threads);
    }
    if (job->must_spill)
        return KITH_E_MEMORY;
    if (status == KITH_OK)
        status = kithi_filter_create_planned(spec, head, &job->filter);
    if (status != KITH_OK)
        return status;
    atomic_store(&job->next_region, 0);
    atomic_store(&job->done, 0);
    atomic_store(&job->status, KITH_OK);
    if (job->c->spilled)
        build_from_disk(job, threads);
    else
        kithi_parallel(threads, build_regions, job);
    status = (kith_status)job->status;
    if (status == KITH_OK && !report(job, job->count))
        status = KITH_E_CANCELLED;
    if (status != KITH_OK)
        kith_filter_free(job->filter);
    else
        job->filter->head.count = job->count;
    return status;
}

/* Plans a filter for job->count digests and builds it, in several attempts if necessary. Returns KITH_E_COPIES if two
 * of the digests are equal, or if there are more of them than the capacity. */
static kith_status plan_and_build(build_job *job, const kith_filter_spec *given, kith_filter **filter) {
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
    job->attempt = 0;
    status = build_attempt(job, &spec, &first);
    bool too_large = false;
    while (status == KITH_E_FULL && ++job->attempt <= KITHI_LAST_ATTEMPT) {
        kith_status planned = kithi_plan_again(&spec, &first, job->attempt, job->largest, &head);
        too_large |= planned == KITH_E_TOO_LARGE || planned == KITH_E_ADDRESS;
        if (planned == KITH_OK)
            status = build_attempt(job, &spec, &head);
    }
    if (status == KITH_E_FULL && too_large)
        status = KITH_E_TOO_LARGE;
    if (status == KITH_OK)
        *filter = job->filter;
    return status;
}

/* Drops the repeats in memory, and sets job->count to the number of distinct digests. */
static kith_status drop_repeats(build_job *job) {
    kith_status status = sort_by_part(job);
    if (status != KITH_OK)
        return status;
    size_t largest = 1;
    for (unsigned p = 0; p < job->parts; p++) {
        size_t n = job->starts[p + 1] - job->starts[p];
        largest = n > largest ? n : largest;
    }
    /* 42 bytes per digest: 8 for a copy and 34 to find repeats (build/repeats.h) */
    unsigned threads = threads_within_limit(job->c, held_bytes(job), 42 * (uint64_t)largest);
    if (!kithi_drop_repeats_in_parts(job->allocator, job->sorted, job->starts, job->parts, threads, job->kept,
                                     &job->count))
        return KITH_E_MEMORY;
    kithi_join_parts(job->sorted, job->starts, job->parts, job->kept);
    return KITH_OK;
}

/* Sets *must_spill to whether the digests must be moved to disk first; see build_job. If so, returns KITH_E_MEMORY. */
static kith_status build_in_memory(const kith_filter_spec *spec, kithi_collection *c, kith_filter **filter,
                                   bool *must_spill) {
    size_t n = c->count;
    unsigned parts = c->memory_bytes == UINT64_MAX ? 1 : PARTS_MIN;
    while (parts < KITHI_PARTS_MAX && n / parts > PART_DIGESTS)
        parts *= 2;
    uint64_t starts_bytes = (parts + 1) * sizeof(size_t), kept_bytes = parts * sizeof(size_t);
    build_job job = {
        .allocator = &c->allocator,
        .c = c,
        .digests = c->digests,
        .starts = kithi_allocate(&c->allocator, starts_bytes),
        .kept = kithi_allocate(&c->allocator, kept_bytes),
        .parts = parts,
        .count = n,
    };
    kith_status status = KITH_E_MEMORY;
    if (job.starts != NULL && job.kept != NULL)
        status = plan_and_build(&job, spec, filter);
    if (status == KITH_E_COPIES) {
        status = drop_repeats(&job);
        if (status == KITH_OK)
            status = plan_and_build(&job, spec, filter);
    }
    *must_spill = job.must_spill;
    kithi_release(&c->allocator, job.kept, kept_bytes);
    kithi_release(&c->allocator, job.starts, starts_bytes);
    kithi_release(&c->allocator, job.sorted, job.sorted_bytes);
    return status;
}

kith_status kithi_build_static(const kith_filter_spec *spec, kithi_collection *c, kith_filter **filter) {
    kith_status status = KITH_OK;
    bool must_spill = false;
    if (!c->spilled) {
        status = build_in_memory(spec, c, filter, &must_spill);
        if (must_spill)
            status = kithi_collection_spill(c);
    } else {
        status = kithi_collection_count(c);
    }
    if (c->spilled && status == KITH_OK) {
        build_job job = {.allocator = &c->allocator, .c = c, .count = (size_t)c->keys};
        status = plan_and_build(&job, spec, filter);
    }
    /* Repeats were dropped, so KITH_E_COPIES means that there are more keys than the capacity. */
    return status == KITH_E_COPIES ? KITH_E_FULL : status;
}
