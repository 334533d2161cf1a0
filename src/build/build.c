/* Building: a filter from an array of digests, all or nothing.
 *
 *     digests  ->  their number without repeats  ->  sorted by parts  ->  part by part, without repeats, into the filter
 *
 * Repeats. Equal digests are one key (unless a multiset is asked for), and the kinds whose bytes depend on the order of
 * adds must see each key where it first occurs (build/repeats.h). The filter itself is the best witness: who is answered
 * no when he is added has not come before. So all are added, and only the few that were answered yes are looked into. If
 * there are no repeats among them, as in most lists, that was all; if there are, what they spoiled is emptied and filled
 * again without them. Kinds that keep no copies take a repeat for what it is; of them only the number of keys must be
 * known, where the spec does not give it.
 *
 * Parts. A kind with regions (kind.h) can be filled region by region: the parts of build/partition.h stay in cache, equal
 * digests lie in one part, and threads take one part after the other. Each thread has a handle of its own on the filter's
 * body, whose count and fill are added up at the end. The result is that of adds in order, or so it is when all goes well;
 * when anything fails, the plain way finds out what adds in order would have said.
 *
 * Chunks. The digests of a chunk are copied once. A chunk of as many bytes as the filter, but not more than 128 MiB, meets
 * each line of the filter several times while it is in cache, and is no large part of what a build takes. Where repeats
 * must be found, there is one chunk. */
#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "core/parallel.h"
#include "build/partition.h"
#include "build/repeats.h"
#include "kind.h"
#include "plan/planner.h"

/* ---- parts ---- */

#define CHUNK_MIN ((size_t)1 << 20) /* digests: 8 MiB are worth a round over the parts */
#define CHUNK_MAX ((size_t)1 << 24)
#define PARTED_FROM ((size_t)1 << 17)    /* digests: fewer are in the filter sooner than they are sorted */
#define PARTED_BODY ((uint64_t)2 << 20)  /* less is in cache as a whole, or nearly so */
#define PART_BYTES ((uint64_t)128 << 10) /* with its digests half of a second-level cache; 64 and 256 KiB are alike */

typedef struct filling {
    const kithi_kernels *kernels;
    kith_filter *handles; /* one a thread */
    kith_status *statuses;
    bool drop_repeats;
    size_t chunk;     /* digests */
    uint64_t *parted; /* those of a chunk */
    size_t *starts;
    kithi_cut cut;
    atomic_uint next; /* the first part that no thread has taken */
} filling;

/* Where digests go that no others go to, and which is empty: `bytes` from `at` on, or, with 0, the whole of a filter. */
typedef struct byte_range {
    uint8_t *at;
    uint64_t bytes;
} byte_range;

#define GUESS 4096            /* digests after which the guess that there are no repeats is looked at */
#define SUSPECTS (GUESS / 16) /* more than a filter of any use says yes to by chance */

/* Adds all, and notes in `firsts` which were answered no. Any code but KITH_OK: they have not all gone in. */
static kith_status add_at_a_guess(const kithi_kernels *kernels, kith_filter *f, const uint64_t *digests, size_t n,
                                  uint64_t *firsts) {
    for (size_t at = 0; at < n; at += GUESS) {
        size_t count = n - at < GUESS ? n - at : GUESS, done = 0;
        kith_status status = kernels->add_many(f, digests + at, count, firsts + at / 64, &done);
        size_t yes = count;
        for (size_t i = 0; i < (count + 63) / 64; i++)
            yes -= kithi_popcount(firsts[at / 64 + i]);
        if (status != KITH_OK || yes > SUSPECTS)
            return status != KITH_OK ? status : KITH_E_COPIES;
    }
    return KITH_OK;
}

static kith_status empty(kith_filter *f, byte_range part) {
    if (part.bytes == 0)
        return kith_filter_clear(f);
    memset(part.at, 0, part.bytes);
    return KITH_OK;
}

static kith_status add_without_repeats(const kithi_kernels *kernels, kith_filter *f, byte_range part,
                                       const uint64_t *digests, size_t n) {
    if (n == 0)
        return KITH_OK;
    uint64_t count = f->head.count, fill = f->head.fill, firsts_bytes = ((uint64_t)n + 63) / 64 * 8;
    uint64_t *firsts = kithi_allocate(&f->allocator, firsts_bytes), *copy = NULL;
    size_t kept = 0, done = 0;
    kith_status guess = firsts != NULL ? add_at_a_guess(kernels, f, digests, n, firsts) : KITH_E_MEMORY;
    bool guessed = guess == KITH_OK;
    bool fits =
        guess != KITH_E_MEMORY && kithi_drop_repeats(&f->allocator, digests, n, guessed ? firsts : NULL, &copy, &kept);
    kithi_release(&f->allocator, firsts, firsts_bytes);
    if (!fits || (guessed && copy == NULL))
        return fits ? KITH_OK : KITH_E_MEMORY;
    kith_status status = empty(f, part);
    if (status == KITH_OK) {
        f->head.count = count;
        f->head.fill = fill;
        f->sealed = false;
        status = kernels->add_many(f, copy != NULL ? copy : digests, kept, NULL, &done);
    }
    kithi_release(&f->allocator, copy, (uint64_t)n * sizeof *copy); /* no overflow: the caller's array is that large */
    return status;
}

static byte_range range_of(const filling *w, const kith_filter *f, unsigned part) {
    uint64_t region_bytes = f->head.body_bytes / w->cut.regions, first = kithi_first_region(w->cut, part);
    return (byte_range){f->body + first * region_bytes, (kithi_first_region(w->cut, part + 1) - first) * region_bytes};
}

static void fill_parts(void *context, unsigned thread) {
    filling *w = context;
    kith_filter *mine = &w->handles[thread];
    for (unsigned p; (p = atomic_fetch_add(&w->next, 1)) < w->cut.parts && w->statuses[thread] == KITH_OK;) {
        const uint64_t *digests = w->parted + w->starts[p];
        size_t n = w->starts[p + 1] - w->starts[p], done = 0;
        if (w->drop_repeats)
            w->statuses[thread] = add_without_repeats(w->kernels, mine, range_of(w, mine, p), digests, n);
        else
            w->statuses[thread] = w->kernels->add_many(mine, digests, n, NULL, &done);
    }
}

static kith_status fill_chunks(filling *w, const kith_allocator *allocator, const uint64_t *digests, size_t n,
                               unsigned threads) {
    for (size_t at = 0; at < n; at += w->chunk) {
        size_t count = n - at < w->chunk ? n - at : w->chunk;
        if (!kithi_partition(allocator, digests + at, count, w->cut, threads, w->parted, w->starts))
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

static size_t chunk_of(const kith_filter *f, size_t n, bool drop_repeats) {
    if (drop_repeats)
        return n;
    uint64_t chunk = f->head.body_bytes / sizeof(uint64_t);
    chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk < CHUNK_MAX ? chunk : CHUNK_MAX;
    return n < chunk ? n : (size_t)chunk;
}

/* KITH_OK, or any other code: the filter is spoiled, and what adds in order would say is not known. */
static kith_status fill_by_parts(kith_filter *f, const uint64_t *digests, size_t n, bool drop_repeats, uint64_t regions,
                                 unsigned threads) {
    const kith_allocator *allocator = &f->allocator;
    uint64_t parts = f->head.body_bytes / PART_BYTES;
    parts = parts < 8 * threads ? 8 * threads : parts; /* so that no thread waits for long at the end */
    parts = parts < KITHI_PARTS_MAX ? parts : KITHI_PARTS_MAX;
    kithi_cut cut = kithi_cut_of(regions, (unsigned)(parts < regions ? parts : regions));
    size_t chunk = chunk_of(f, n, drop_repeats);
    uint64_t parted_bytes = chunk * sizeof *digests, starts_bytes = (cut.parts + 1) * sizeof(size_t);
    uint64_t handles_bytes = threads * sizeof(kith_filter), statuses_bytes = threads * sizeof(kith_status);
    filling w = {
        .kernels = kithi_kernels_of(f),
        .handles = kithi_allocate(allocator, handles_bytes),
        .statuses = kithi_allocate(allocator, statuses_bytes),
        .drop_repeats = drop_repeats,
        .chunk = chunk,
        .parted = kithi_allocate(allocator, parted_bytes),
        .starts = kithi_allocate(allocator, starts_bytes),
        .cut = cut,
    };
    kith_status status = KITH_E_MEMORY;
    if (w.handles != NULL && w.statuses != NULL && w.parted != NULL && w.starts != NULL) {
        for (unsigned t = 0; t < threads; t++)
            w.handles[t] = *f;
        status = fill_chunks(&w, allocator, digests, n, threads);
        kith_status sum = gather(f, &w, threads);
        status = status == KITH_OK ? sum : status;
    }
    kithi_release(allocator, w.starts, starts_bytes);
    kithi_release(allocator, w.parted, parted_bytes);
    kithi_release(allocator, w.statuses, statuses_bytes);
    kithi_release(allocator, w.handles, handles_bytes);
    return status;
}

/* For one thread. Sorting and filling in cache cost about as much as one line from memory that was asked for in time, so a
 * kind that touches one line a key gains nothing; kinds that search for room gain half of their time, and so does the
 * search for repeats. */
static bool worth_parts(const kith_filter *f, bool drop_repeats) {
    return f->head.body_bytes >= PARTED_BODY && (drop_repeats || f->shape.lines > 1);
}

static kith_status fill(kith_filter *f, const uint64_t *digests, size_t n, bool drop_repeats, unsigned threads) {
    uint64_t regions = f->kind->regions != NULL ? f->kind->regions(&f->head) : 1;
    bool by_parts = n >= PARTED_FROM && regions > 1 && (threads > 1 || worth_parts(f, drop_repeats));
    if (by_parts && fill_by_parts(f, digests, n, drop_repeats, regions, threads) == KITH_OK)
        return KITH_OK;
    kith_status status = by_parts ? kith_filter_clear(f) : KITH_OK;
    if (status != KITH_OK)
        return status;
    f->sealed = false;
    size_t done = 0;
    return drop_repeats ? add_without_repeats(kithi_kernels_of(f), f, (byte_range){NULL, 0}, digests, n)
                        : kithi_kernels_of(f)->add_many(f, digests, n, NULL, &done);
}

/* ---- the number of keys ---- */

typedef struct counting {
    const kith_allocator *allocator;
    uint64_t *parted;
    size_t *starts;
    unsigned parts;
    atomic_uint next;
    _Atomic size_t keys;
    atomic_bool no_memory;
} counting;

static void count_parts(void *context, unsigned thread) {
    (void)thread;
    counting *c = context;
    for (unsigned p; (p = atomic_fetch_add(&c->next, 1)) < c->parts && !c->no_memory;) {
        uint64_t *copy;
        size_t n = c->starts[p + 1] - c->starts[p], kept = 0;
        if (n != 0 && !kithi_drop_repeats(c->allocator, c->parted + c->starts[p], n, NULL, &copy, &kept))
            c->no_memory = true;
        else if (n != 0)
            kithi_release(c->allocator, copy, (uint64_t)n * sizeof *copy);
        c->keys += kept;
    }
}

/* How many of the digests are different; by parts that stay in cache. False: no memory. */
static bool count_keys(const kith_allocator *allocator, const uint64_t *digests, size_t n, unsigned threads,
                       size_t *keys) {
    enum { PART_DIGESTS = 32768 };
    size_t parts = n / PART_DIGESTS + 1 < KITHI_PARTS_MAX ? n / PART_DIGESTS + 1 : KITHI_PARTS_MAX;
    uint64_t parted_bytes = (uint64_t)n * sizeof *digests, starts_bytes = (parts + 1) * sizeof(size_t);
    counting c = {
        .allocator = allocator,
        .parted = kithi_allocate(allocator, parted_bytes),
        .starts = kithi_allocate(allocator, starts_bytes),
        .parts = (unsigned)parts,
    };
    kithi_cut cut = kithi_cut_of(KITHI_PARTS_MAX, c.parts);
    bool fits = c.parted != NULL && c.starts != NULL &&
                kithi_partition(allocator, digests, n, cut, threads, c.parted, c.starts);
    if (fits)
        kithi_parallel(threads, count_parts, &c);
    kithi_release(allocator, c.starts, starts_bytes);
    kithi_release(allocator, c.parted, parted_bytes);
    *keys = c.keys;
    return fits && !c.no_memory;
}

/* ---- all together ---- */

static bool capacity_is_open(const kith_filter_spec *spec) {
    return spec->capacity == 0 && (spec->bytes == 0 || spec->rate == 0);
}

/* What no number of keys can make right is refused before anything is allocated. */
static kith_status can_be(const kith_filter_spec *spec) {
    kith_filter_spec smallest = *spec;
    kithi_head head;
    if (capacity_is_open(spec))
        smallest.capacity = 1;
    return kithi_plan_spec(&smallest, &head);
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
    status = n == 0 ? KITH_OK : can_be(&sized);
    if (status != KITH_OK)
        return status;
    if (!kithi_hash_valid(&sized.hash))
        return KITH_E_ARGUMENT;
    bool repeats_are_possible = !multiset;
    if (capacity_is_open(&sized)) {
        kith_allocator allocator = kithi_allocator_or_default(sized.allocator);
        size_t keys = n;
        if (n != 0 && !multiset && !count_keys(&allocator, digests, n, threads, &keys))
            return KITH_E_MEMORY;
        sized.capacity = keys;
        repeats_are_possible = keys < n;
    }
    kith_filter *f;
    status = kith_filter_create(&sized, &f);
    if (status != KITH_OK)
        return status;
    /* A filter that keeps copies would take a repeat for one. (Which kind it is may depend on the number of keys.) */
    bool drop_repeats = repeats_are_possible && (f->shape.capabilities & KITH_CAN_COPIES) != 0;
    status = fill(f, digests, n, drop_repeats, threads);
    if (status != KITH_OK)
        kith_filter_free(f);
    else
        *filter = f;
    return status;
}
