/* Fills filters. The result has the same bytes as if the digests had been added one by one, in order ("adds in order").
 *
 * Parts. A kind with regions (lookup.h) can be filled region by region. The regions are divided into parts that usually
 * fit in cache (build/partition.h). Equal digests are in the same part, and threads take one part after the other. Each
 * thread has its own handle on the filter's body. At the end, the numbers of keys (head.count) of all handles are added
 * up, and so are the numbers of cells in use or, in cuckoo kinds, of stash entries (head.fill).
 *
 *     digests  ->  sort by part  ->  add part by part, without repeats
 *
 * Ranges. In bloom and counting a key has cells all over the body, so there are no parts. Instead, each thread has a
 * range of the cells. It processes all digests, in order, but changes only the cells in its range (kind.h, add_cells).
 * So whenever a digest comes to a cell, the cell has the same value as in adds in order. The count must also be that of
 * adds in order. They accept and count a digest if at least one of its cells allows that: a bit that is 0, or a counter
 * below the maximum number of copies. Each thread sets a bitmap, `accepted`, of the digests that have such a cell in
 * its range. A digest is counted if its bit is set in the bitmap of any thread.
 *
 * Layers. As long as a filter of kind layers has only one layer, the digests are added directly to that layer.
 *
 * Failures. If everything succeeds, the result is the same as that of adds in order. If anything fails, or if keys were
 * chosen to crowd some blocks (kithi_fill_judge), the filter is filled again by adds in order, which determine the
 * status code. A builder that streams (builder.c) no longer has the digests that it added before, so it cannot fill the
 * filter again. It therefore gives the threads so few digests at a time that none can be refused: count and fill stay
 * within their limits even if every digest is a new key and changes all its cells.
 *
 * Repeats. Equal digests are one key, unless the caller asks for a multiset. In some kinds the bytes depend on the
 * order of the adds, so each key must be added where it first occurs. Kinds that store no copies ignore a repeat. For
 * other kinds, repeats are dropped (build/repeats.h). The filter itself finds most new keys cheaply: if an add reports
 * that the key was not there before, the digest is not a repeat. So all digests are added, and only the few that the
 * filter reports as present already are examined. If there are no repeats among them, as in most inputs, the work is
 * done. If there are, the affected part (or the whole filter) is cleared and filled again without them. When a filter
 * is filled by ranges, repeats are dropped first instead.
 *
 * Chunks. Sorting by part copies the digests, so it works on one chunk of them at a time. The digests of a chunk have
 * as many bytes as the filter, but at least 8 and at most 128 MiB. In filters of up to 128 MiB, that is at least one
 * digest for every 8 bytes, so each cache line of a part is used several times while it is in cache. A chunk is also
 * small compared with the memory that a build needs. If repeats must be dropped, there is only one chunk. */
#include "build/fill.h"

#include <assert.h>
#include <string.h>

#include "core/parallel.h"
#include "build/partition.h"
#include "build/repeats.h"
#include "handle/handle.h"
#include "handle/verbs.h"

#define CHUNK_MIN ((size_t)1 << 20)        /* digests (8 MiB): 2,048 per part if there are KITHI_PARTS_MAX parts */
#define CHUNK_MAX ((size_t)1 << 24)        /* digests (128 MiB) */
#define PARTS_MIN_BODY ((uint64_t)2 << 20) /* bytes; a smaller body fits in cache completely or nearly so */
#define PART_BYTES ((uint64_t)128 << 10)   /* a part and its digests fit in an L2 cache; 64 and 256 KiB are as fast */
#define RANGE_DIGESTS ((size_t)1 << 18)    /* per round of fill_by_ranges, so that the bitmaps stay in cache */
#define RANGE_CELLS 512                    /* ranges begin at multiples of this, so no two share a cache line */

/* ---- adds in order ---- */

/* Adds digests one by one. If `left_out` is not NULL, skips copies beyond the kind's maximum and counts them in it.
 * Sets *done to the number of digests that were added or skipped. */
static kith_status add_in_order(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *left_out, size_t *done) {
    *done = 0;
    for (;;) {
        size_t added = 0;
        kith_status status = kithi_add_many(f, digests + *done, n - *done, NULL, &added);
        *done += added;
        if (status != KITH_E_COPIES || left_out == NULL)
            return status;
        /* A cuckoo kind returns KITH_E_COPIES also for fewer copies than its maximum, if other keys have taken the
         * slots. Such copies are not left out, because a larger filter could store them. */
        if (kithi_copies(f, digests[*done]) < f->shape.max_copies)
            return KITH_E_FULL;
        ++*left_out;
        ++*done;
    }
}

kith_status kithi_fill_in_order(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                                size_t *done) {
    f->sealed = false;
    return add_in_order(f, digests, n, options->leave_out ? options->left_out : NULL, done);
}

/* ---- without repeats ---- */

/* The memory to which a list of digests is added: `bytes` bytes of the body at `at`, or the whole filter if `bytes` is
 * 0. It is empty before, and no other digests are added to it, so it can be cleared and filled again. */
typedef struct part_memory {
    uint8_t *at;
    uint64_t bytes;
} part_memory;

#define BATCH 4096 /* digests; after each batch, give up if too many may be repeats */
/* Give up if the filter reports more than this many digests of a batch as present. A filter with a rate above
 * SUSPECTS_MAX / BATCH may do so even without repeats, so it is not used to find repeats. */
#define SUSPECTS_MAX (BATCH / 16)

/* Adds all digests, in the hope that there are no repeats. Sets bit i of `firsts` if digest i was not in the filter
 * before. If an add fails, stops and returns its code. If too many digests may be repeats, stops and returns
 * KITH_E_COPIES. */
static kith_status add_assuming_no_repeats(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *firsts) {
    for (size_t at = 0; at < n; at += BATCH) {
        size_t count = n - at < BATCH ? n - at : BATCH, done = 0;
        kith_status status = kithi_add_many(f, digests + at, count, firsts + at / 64, &done);
        size_t suspects = count;
        for (size_t i = 0; i < (count + 63) / 64; i++)
            suspects -= kithi_popcount(firsts[at / 64 + i]);
        if (status != KITH_OK || suspects > SUSPECTS_MAX)
            return status != KITH_OK ? status : KITH_E_COPIES;
    }
    return KITH_OK;
}

static kith_status clear_part(kith_filter *f, part_memory part) {
    if (part.bytes == 0)
        return kith_filter_clear(f);
    memset(part.at, 0, (size_t)part.bytes);
    kithi_before_fill(f, false);
    return KITH_OK;
}

/* Adds each distinct digest to an empty part, in the order of their first occurrences. Begins with
 * add_assuming_no_repeats(). If that fails, or if there are repeats, clears the part and adds the distinct digests in
 * order. After KITH_E_MEMORY the part may hold anything. */
static kith_status add_without_repeats(kith_filter *f, part_memory part, const uint64_t *digests, size_t n,
                                       uint64_t *left_out) {
    if (n == 0)
        return KITH_OK;
    uint64_t count = f->head.count, fill = f->head.fill, firsts_bytes = ((uint64_t)n + 63) / 64 * 8;
    uint64_t *firsts = kithi_allocate(&f->allocator, firsts_bytes), *copy = NULL;
    size_t kept = 0, done = 0;
    kith_status added = KITH_E_MEMORY;
    if (firsts != NULL)
        /* NOLINTNEXTLINE(bugprone-integer-division): SUSPECTS_MAX is a whole number */
        added = f->head.rate <= (double)SUSPECTS_MAX / BATCH ? add_assuming_no_repeats(f, digests, n, firsts)
                                                             : KITH_E_COPIES;
    bool all_added = added == KITH_OK;
    bool enough_memory = added != KITH_E_MEMORY &&
                         kithi_drop_repeats(&f->allocator, digests, n, all_added ? firsts : NULL, &copy, &kept);
    kithi_release(&f->allocator, firsts, firsts_bytes);
    if (!enough_memory)
        return KITH_E_MEMORY;
    if (all_added && copy == NULL)
        return KITH_OK;
    kith_status status = clear_part(f, part);
    if (status == KITH_OK) {
        f->head.count = count;
        f->head.fill = fill;
        f->sealed = false;
        status = add_in_order(f, copy != NULL ? copy : digests, kept, left_out, &done);
    }
    kithi_release(&f->allocator, copy, (uint64_t)n * sizeof *copy); /* cannot overflow: as large as `digests` */
    return status;
}

/* ---- parts ---- */

typedef struct part_job {
    kith_filter *handles; /* one per thread */
    kith_status *statuses;
    uint64_t *left_out; /* one per thread; NULL: copies are not left out */
    bool drop_repeats;
    size_t chunk;      /* number of digests in a chunk */
    uint64_t *by_part; /* the digests of a chunk, sorted by part */
    size_t *starts;    /* index in by_part of the first digest of each part, and of the end */
    kithi_part_map parts;
    atomic_uint next_part; /* the first part that no thread has taken yet */
} part_job;

static part_memory memory_of_part(const part_job *w, const kith_filter *f, unsigned part) {
    uint64_t region_bytes = f->head.body_bytes / w->parts.regions, first = kithi_first_region(w->parts, part);
    return (part_memory){f->body + first * region_bytes,
                         (kithi_first_region(w->parts, part + 1) - first) * region_bytes};
}

static void fill_parts(void *context, unsigned thread) {
    part_job *w = context;
    kith_filter *mine = &w->handles[thread];
    for (unsigned p; (p = atomic_fetch_add(&w->next_part, 1)) < w->parts.count && w->statuses[thread] == KITH_OK;) {
        const uint64_t *digests = w->by_part + w->starts[p];
        size_t n = w->starts[p + 1] - w->starts[p], done = 0;
        uint64_t *left_out = w->left_out != NULL ? &w->left_out[thread] : NULL;
        if (w->drop_repeats)
            w->statuses[thread] = add_without_repeats(mine, memory_of_part(w, mine, p), digests, n, left_out);
        else
            w->statuses[thread] = add_in_order(mine, digests, n, left_out, &done);
    }
}

static kith_status fill_chunks(part_job *w, const kith_allocator *allocator, const uint64_t *digests, size_t n,
                               unsigned threads) {
    for (size_t at = 0; at < n; at += w->chunk) {
        size_t count = n - at < w->chunk ? n - at : w->chunk;
        if (!kithi_partition(allocator, digests + at, count, w->parts, threads, w->by_part, w->starts))
            return KITH_E_MEMORY;
        atomic_store(&w->next_part, 0);
        kithi_parallel(threads, fill_parts, w);
        for (unsigned t = 0; t < threads; t++)
            if (w->statuses[t] != KITH_OK)
                return w->statuses[t];
    }
    return KITH_OK;
}

/* Returns KITH_E_FULL if the count or the fill of the filter exceeds its limit. While parts or ranges are filled, no
 * thread knows these two numbers of the whole filter, so they are checked at the end. If one is too high, the filter is
 * filled again by adds in order. These may succeed: they check the fill only before each add, so the last key is
 * accepted even if it brings the fill above its limit. */
static kith_status check_limits(const kith_filter *f) {
    return f->head.count > f->head.capacity || f->head.fill > f->geometry.fill_limit ? KITH_E_FULL : KITH_OK;
}

/* Adds up the counts and fills of the threads' handles, and what they have left out unless left_out is NULL. */
static kith_status sum_handles(kith_filter *f, part_job *w, unsigned threads, uint64_t *left_out) {
    for (unsigned t = 0; t < threads; t++) {
        f->head.count += w->handles[t].head.count;
        f->head.fill += w->handles[t].head.fill;
        if (left_out != NULL)
            *left_out += w->left_out[t];
        kithi_filter_unbind(&w->handles[t]);
    }
    kithi_after_fill(f, false);
    return check_limits(f);
}

/* Returns the number of digests in a chunk if there are n in all. */
static size_t digests_per_chunk(const kith_filter *f, size_t n, bool drop_repeats) {
    if (drop_repeats)
        return n;
    uint64_t chunk = f->head.body_bytes / sizeof(uint64_t);
    chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk < CHUNK_MAX ? chunk : CHUNK_MAX;
    return n < chunk ? n : (size_t)chunk;
}

static kith_status fill_by_parts(kith_filter *f, const uint64_t *digests, size_t n, uint64_t regions,
                                 const kithi_fill_options *options) {
    const kith_allocator *allocator = &f->allocator;
    unsigned threads = options->threads;
    uint64_t part_count = f->head.body_bytes / PART_BYTES;
    part_count =
        part_count < 8 * threads ? 8 * threads : part_count; /* so that no thread is idle for long at the end */
    part_count = part_count < KITHI_PARTS_MAX ? part_count : KITHI_PARTS_MAX;
    kithi_part_map parts = kithi_part_map_of(regions, (unsigned)(part_count < regions ? part_count : regions));
    size_t chunk = digests_per_chunk(f, n, options->drop_repeats);
    uint64_t by_part_bytes = chunk * sizeof *digests, starts_bytes = (parts.count + 1) * sizeof(size_t);
    uint64_t handles_bytes = threads * sizeof(kith_filter), statuses_bytes = threads * sizeof(kith_status);
    uint64_t left_out[KITHI_THREADS_MAX] = {0};
    part_job w = {
        .handles = kithi_allocate(allocator, handles_bytes),
        .statuses = kithi_allocate(allocator, statuses_bytes),
        .left_out = options->leave_out ? left_out : NULL,
        .drop_repeats = options->drop_repeats,
        .chunk = chunk,
        .by_part = kithi_allocate(allocator, by_part_bytes),
        .starts = kithi_allocate(allocator, starts_bytes),
        .parts = parts,
    };
    kith_status status = KITH_E_MEMORY;
    if (w.handles != NULL && w.statuses != NULL && w.by_part != NULL && w.starts != NULL) {
        for (unsigned t = 0; t < threads; t++) {
            w.handles[t] = *f;
            w.handles[t].head.count = 0;
            w.handles[t].head.fill = 0;
            kithi_before_fill(&w.handles[t], false); /* other threads change the rest of the body */
            w.handles[t].state = NULL;               /* each handle allocates its own; see kithi_scratch */
        }
        status = fill_chunks(&w, allocator, digests, n, threads);
        kith_status sum = sum_handles(f, &w, threads, options->leave_out ? options->left_out : NULL);
        status = status == KITH_OK ? sum : status;
    }
    kithi_release(allocator, w.starts, starts_bytes);
    kithi_release(allocator, w.by_part, by_part_bytes);
    kithi_release(allocator, w.statuses, statuses_bytes);
    kithi_release(allocator, w.handles, handles_bytes);
    return status;
}

/* ---- ranges ---- */

typedef struct range_job {
    kith_filter *f;
    const uint64_t *digests;
    size_t n; /* digests in this round, at most RANGE_DIGESTS */
    unsigned threads;
    uint64_t *accepted;                /* RANGE_DIGESTS bits per thread */
    uint64_t fills[KITHI_THREADS_MAX]; /* by thread: cells that were 0 and no longer are */
} range_job;

static uint64_t *accepted_by(const range_job *w, unsigned thread) {
    return w->accepted + (size_t)thread * (RANGE_DIGESTS / 64);
}

/* Returns the first cell of the range of a thread. */
static uint64_t range_start(const range_job *w, unsigned thread) {
    uint64_t units = (w->f->shape.cells + RANGE_CELLS - 1) / RANGE_CELLS;
    uint64_t start = units * thread / w->threads * RANGE_CELLS;
    return start < w->f->shape.cells ? start : w->f->shape.cells;
}

static void fill_range(void *context, unsigned thread) {
    range_job *w = context;
    uint64_t *accepted = accepted_by(w, thread);
    memset(accepted, 0, (w->n + 63) / 64 * sizeof *accepted);
    w->fills[thread] +=
        w->f->kind->add_cells(w->f, range_start(w, thread), range_start(w, thread + 1), w->digests, w->n, accepted);
}

/* Returns how many digests are accepted: those whose bit is set in the bitmap of any thread. */
static size_t count_accepted(const range_job *w) {
    size_t count = 0;
    for (size_t i = 0; i < (w->n + 63) / 64; i++) {
        uint64_t word = 0;
        for (unsigned t = 0; t < w->threads; t++)
            word |= accepted_by(w, t)[i];
        count += kithi_popcount(word);
    }
    return count;
}

static kith_status fill_by_ranges(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads) {
    range_job w = {.f = f, .threads = threads};
    uint64_t accepted_bytes = (uint64_t)threads * (RANGE_DIGESTS / 8);
    bool copies = (f->shape.capabilities & KITH_CAN_COPIES) != 0;
    kith_status status = KITH_OK;
    w.accepted = kithi_allocate(&f->allocator, accepted_bytes);
    if (w.accepted == NULL)
        return KITH_E_MEMORY;
    for (size_t at = 0; at < n && status == KITH_OK; at += RANGE_DIGESTS) {
        w.digests = digests + at;
        w.n = n - at < RANGE_DIGESTS ? n - at : RANGE_DIGESTS;
        memset(w.fills, 0, sizeof w.fills);
        kithi_parallel(threads, fill_range, &w);
        size_t accepted = count_accepted(&w);
        if (copies && accepted != w.n)
            status = KITH_E_COPIES;
        f->head.count += accepted;
        for (unsigned t = 0; t < threads; t++)
            f->head.fill += w.fills[t];
    }
    kithi_release(&f->allocator, w.accepted, accepted_bytes);
    return status == KITH_OK ? check_limits(f) : status;
}

static kith_status fill_ranges_without_repeats(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads) {
    uint64_t *copy;
    size_t kept;
    if (!kithi_drop_repeats(&f->allocator, digests, n, NULL, &copy, &kept))
        return KITH_E_MEMORY;
    kith_status status = fill_by_ranges(f, copy != NULL ? copy : digests, kept, threads);
    kithi_release(&f->allocator, copy, (uint64_t)n * sizeof *copy);
    return status;
}

/* ---- choosing between parts, ranges and adds in order ---- */

/* Returns whether filling by parts is faster even on one thread. Sorting a digest and then adding it in cache takes
 * about as long as prefetching one cache line from memory. A kind that reads one cache line per key therefore gains
 * nothing. Kinds that search for a free slot take half the time by parts, and so does finding repeats. */
static bool parts_are_faster(const kith_filter *f, bool drop_repeats) {
    return f->head.body_bytes >= PARTS_MIN_BODY && (drop_repeats || f->shape.lines > 1);
}

/* Returns the filter to which keys are added: the one inside, if f consists of only one, or f itself. */
static kith_filter *only_layer_or_self(kith_filter *f) {
    kith_filter *inner = f->operations->only_block(f);
    return inner != NULL ? inner : f;
}

kith_status kithi_fill_judge(kith_filter *f, kith_status status) {
    return kithi_after_fill(only_layer_or_self(f), status == KITH_OK) ? KITH_E_FULL : status;
}

/* If it is faster, fills by parts or by ranges, sets *status and returns true. Otherwise changes nothing and returns
 * false. */
static bool fill_split(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                       kith_status *status) {
    kith_filter *inner = only_layer_or_self(f);
    /* If the only layer may become full, or crowded by chosen keys, another one has to be appended, which only adds in
     * order do. */
    bool may_grow = inner != f && (n > inner->head.capacity - inner->head.count || inner->kind->after_fill != NULL);
    if (n < KITHI_FILL_SPLIT_MIN || (may_grow && !options->again))
        return false;
    uint64_t regions = inner->shape.regions, before = inner->head.count;
    bool by_parts = regions > 1 && (options->threads > 1 || parts_are_faster(inner, options->drop_repeats));
    bool by_ranges = options->threads > 1 && inner->kind->add_cells != NULL;
    if (!by_parts && !by_ranges)
        return false;
    f->sealed = false;
    inner->sealed = false;
    if (by_parts)
        *status = fill_by_parts(inner, digests, n, regions, options);
    else if (options->drop_repeats)
        *status = fill_ranges_without_repeats(inner, digests, n, options->threads);
    else
        *status = fill_by_ranges(inner, digests, n, options->threads);
    if (inner != f)
        f->head.count += inner->head.count - before;
    return true;
}

kith_status kithi_fill_some(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                            bool *split) {
    assert(!options->drop_repeats);
    kith_status status;
    size_t done;
    if (!fill_split(f, digests, n, options, &status))
        return kithi_fill_in_order(f, digests, n, options, &done);
    *split = true;
    return status;
}

kith_status kithi_fill_without_repeats(kith_filter *f, const uint64_t *digests, size_t n,
                                       const kithi_fill_options *options) {
    assert(options->drop_repeats);
    kith_status status = KITH_OK;
    bool split = fill_split(f, digests, n, options, &status);
    if (split && kithi_fill_judge(f, status) == KITH_OK)
        return KITH_OK;
    if (split)
        status = kith_filter_clear(f);
    if (status != KITH_OK)
        return status;
    if (options->leave_out)
        *options->left_out = 0;
    f->sealed = false;
    status = add_without_repeats(f, (part_memory){NULL, 0}, digests, n, options->leave_out ? options->left_out : NULL);
    return kithi_fill_judge(f, status);
}

/* ---- streams ---- */

/* Returns how many of n digests can be added such that none is refused, whatever they are. */
static size_t count_never_refused(const kith_filter *f, size_t n) {
    uint64_t keys = f->head.capacity - f->head.count;
    n = n < keys ? n : (size_t)keys;
    while (n > 0 && f->head.fill + (uint64_t)n * f->shape.hashes > f->geometry.fill_limit)
        n /= 2;
    return n;
}

kith_status kithi_fill_stream(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads, size_t *done) {
    kithi_fill_options options = {.threads = threads};
    kith_status status = KITH_OK;
    size_t added;
    *done = 0;
    while (*done < n && status == KITH_OK) {
        size_t left = n - *done, safe = threads > 1 ? count_never_refused(only_layer_or_self(f), left) : 0;
        /* At most one chunk at a time: most digests change fewer cells than count_never_refused() assumes, and the next
         * round begins with the true fill. */
        safe = digests_per_chunk(only_layer_or_self(f), safe, false);
        if (fill_split(f, digests + *done, safe, &options, &status) && status == KITH_OK) {
            *done += safe;
            continue;
        }
        assert(status == KITH_OK || status == KITH_E_MEMORY); /* there was no memory to split one chunk */
        /* Only a few digests, so that splitting is tried again soon. */
        size_t count = left < KITHI_FILL_SPLIT_MIN ? left : KITHI_FILL_SPLIT_MIN;
        status = kithi_fill_in_order(f, digests + *done, count, &options, &added);
        *done += added;
    }
    return status;
}

/* ---- complete lists ---- */

/* Usually some of the adds begin with a spot check for crowded blocks (kinds/shared/crowding.h). If there are few
 * keys, these checks take a large part of the time. They are not needed if a pass over the body follows, because a
 * filter that is not crowded in the end never was. */
kith_status kithi_fill_at_once(kith_filter *f, const uint64_t *digests, size_t n) {
    kith_filter *inner = only_layer_or_self(f);
    size_t done = 0;
    kith_status status = KITH_E_FULL;
    f->sealed = false;
    /* If the keys may not all fit in the only layer, this block is skipped: the adds in order below add layers, and
     * make spot checks in each of them. */
    if (inner == f || n <= inner->head.capacity) {
        inner->sealed = false;
        kithi_before_fill(inner, false);
        status = kithi_fill_judge(f, kithi_add_many(inner, digests, n, NULL, &done));
    }
    if (inner == f)
        return status;
    if (status == KITH_OK) {
        f->head.count = inner->head.count;
        return KITH_OK;
    }
    /* If a layer is full or crowded, adds in order continue in a new layer. */
    status = kith_filter_clear(f);
    done = 0;
    if (status == KITH_OK)
        status = kithi_add_many(f, digests, n, NULL, &done);
    return kithi_fill_judge(f, status);
}
