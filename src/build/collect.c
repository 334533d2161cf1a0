/* Collects digests. They belong to 256 parts by their highest byte (build/spill.h), so equal digests are in the same
 * part.
 *
 *     in memory    | digest | digest | …               count <= count_max
 *     when full    Sort by part and drop repeats within each part. If a quarter or more were repeats, continue to
 *                  collect in memory; otherwise write a spill, which empties the memory.
 *     at the end   If there is a spill, the digests in memory are spilled, too. Then each part is read from all spills
 *                  and searched for repeats. If there is no spill, the distinct digests are counted in memory.
 *
 * Repeats within a spill are dropped before it is written. So the file has a digest at most once per spill, however
 * often it is repeated. If the digests are hashes, all parts therefore have nearly equal sizes.
 *
 * If repeats are to be kept (for a multiset), none are searched for or dropped: a full memory is always spilled.
 *
 * To find out which digests of a part are first occurrences, the part with its repeats is compared with the part
 * without them, which is the list of first occurrences in order. The two are read side by side. A digest that equals
 * the next one of the list is a first occurrence, and the list advances by one; any other digest is a repeat. */
#include "build/collect.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/parallel.h"
#include "build/partition.h"
#include "build/repeats.h"

#define MEMORY_MIN ((uint64_t)1 << 20)    /* bytes; a lower memory limit means this one */
#define PIECE_MAX ((size_t)1 << 24)       /* digests in memory that the reader returns at once */
#define ALLOCATED_FIRST ((size_t)1 << 14) /* digests that the first array can hold */
/* The most digests per part, if possible: they fit in cache while repeats are found. */
#define PART_DIGESTS 32768

/* Sets all fields to 0 except the last one, `firsts_begin`. That one is set together with `firsts`, and it is so large
 * that clearing it would take a noticeable part of the time of a small build. */
static void reset(kithi_collection *c) {
    memset(c, 0, offsetof(kithi_collection, firsts_begin));
}

void kithi_collection_init(kithi_collection *c, const kith_allocator *allocator, const kith_build_limits *limits,
                           bool keep_repeats) {
    reset(c);
    c->allocator = *allocator;
    c->threads = limits->threads;
    c->keep_repeats = keep_repeats;
    c->memory_bytes = UINT64_MAX;
    c->count_max = SIZE_MAX;
    c->folder = limits->folder;
    c->progress = limits->progress;
    c->context = limits->context;
    if (limits->memory_bytes != 0)
        c->memory_bytes = limits->memory_bytes < MEMORY_MIN ? MEMORY_MIN : limits->memory_bytes;
    if (limits->memory_bytes != 0 && c->memory_bytes / KITHI_COLLECT_BYTES < SIZE_MAX)
        c->count_max = (size_t)(c->memory_bytes / KITHI_COLLECT_BYTES);
}

static void release_digests(kithi_collection *c) {
    if (!c->borrowed)
        kithi_release(&c->allocator, c->digests, (uint64_t)c->allocated * sizeof *c->digests);
    c->digests = NULL;
    c->allocated = 0;
    c->count = 0;
}

void kithi_collection_free(kithi_collection *c) {
    release_digests(c);
    kithi_release(&c->allocator, c->firsts, c->firsts_words * sizeof *c->firsts);
    if (c->spilled)
        kithi_spill_close(&c->spill);
    reset(c);
}

bool kithi_report_progress(const kithi_collection *c, kith_build_step step, uint64_t done, uint64_t total) {
    return c->progress == NULL || c->progress(c->context, step, done, total);
}

void kithi_collect_borrow(kithi_collection *c, const uint64_t *digests, size_t n) {
    c->digests = (uint64_t *)(uintptr_t)digests; /* the cast is safe: borrowed digests are never changed */
    c->count = n;
    c->borrowed = true;
}

/* ---- counting what is in memory ---- */

/* Sets *keys to the number of distinct digests in memory. Returns false if there is no memory for this. */
static bool count_in_memory(const kithi_collection *c, uint64_t *keys) {
    size_t n = c->count, total = 0;
    if (n <= PART_DIGESTS) { /* one part, which need not be copied */
        uint64_t *copy;
        bool enough_memory = kithi_drop_repeats(&c->allocator, c->digests, n, NULL, &copy, &total);
        kithi_release(&c->allocator, copy, (uint64_t)n * sizeof *copy);
        *keys = total;
        return enough_memory;
    }
    unsigned part_count = (unsigned)(n / PART_DIGESTS + 1 < KITHI_PARTS_MAX ? n / PART_DIGESTS + 1 : KITHI_PARTS_MAX);
    uint64_t by_part_bytes = (uint64_t)n * sizeof *c->digests, starts_bytes = (part_count + 1) * sizeof(size_t);
    uint64_t *by_part = kithi_allocate(&c->allocator, by_part_bytes);
    size_t *starts = kithi_allocate(&c->allocator, starts_bytes);
    /* Parts are made of regions (build/partition.h), but there is no filter yet that has regions. Instead, the 64-bit
     * numbers are divided into KITHI_PARTS_MAX ranges of equal size, which take the place of regions. */
    kithi_part_map parts = kithi_part_map_of(KITHI_PARTS_MAX, part_count);
    bool enough_memory =
        by_part != NULL && starts != NULL &&
        kithi_partition(&c->allocator, c->digests, n, parts, c->threads, by_part, starts) &&
        kithi_drop_repeats_in_parts(&c->allocator, by_part, starts, part_count, c->threads, NULL, &total);
    kithi_release(&c->allocator, starts, starts_bytes);
    kithi_release(&c->allocator, by_part, by_part_bytes);
    *keys = total;
    return enough_memory;
}

/* ---- spilling ---- */

/* A copy of the digests in memory, sorted by part and without repeats, unless these are kept. The kept[p] digests from
 * by_part[starts[p]] on are those of part p. */
typedef struct sorted {
    uint64_t *by_part;
    size_t starts[KITHI_SPILL_PARTS + 1];
    size_t kept[KITHI_SPILL_PARTS];
    size_t total; /* the sum of kept[p] */
} sorted;

static bool sort_memory(const kithi_collection *c, sorted *s) {
    kithi_part_map parts = kithi_part_map_of(KITHI_SPILL_PARTS, KITHI_SPILL_PARTS);
    if (!kithi_partition(&c->allocator, c->digests, c->count, parts, c->threads, s->by_part, s->starts))
        return false;
    if (c->keep_repeats) {
        for (unsigned p = 0; p < KITHI_SPILL_PARTS; p++)
            s->kept[p] = s->starts[p + 1] - s->starts[p];
        s->total = c->count;
        return true;
    }
    return kithi_drop_repeats_in_parts(&c->allocator, s->by_part, s->starts, KITHI_SPILL_PARTS, c->threads, s->kept,
                                       &s->total);
}

/* Goes through the digests in memory, in order, and calls keep() for each that is in `s`, that is, for each that is not
 * a repeat. `i` is the number of earlier calls. */
static void each_first(const kithi_collection *c, const sorted *s,
                       void (*keep)(void *context, uint64_t digest, unsigned part, size_t i), void *context) {
    size_t next[KITHI_SPILL_PARTS], n = 0;
    memcpy(next, s->starts, sizeof next);
    for (size_t i = 0; i < c->count; i++) {
        uint64_t digest = c->digests[i];
        unsigned part = kithi_spill_part_of(digest);
        if (next[part] == s->starts[part] + s->kept[part] || s->by_part[next[part]] != digest)
            continue;
        next[part]++;
        keep(context, digest, part, n++);
    }
}

static void keep_digest(void *context, uint64_t digest, unsigned part, size_t i) {
    (void)part;
    ((uint64_t *)context)[i] = digest;
}

static void keep_order(void *context, uint64_t digest, unsigned part, size_t i) {
    (void)digest;
    ((uint8_t *)context)[i] = (uint8_t)part;
}

static kith_status write_spill(kithi_collection *c, sorted *s) {
    uint8_t *order = kithi_allocate(&c->allocator, s->total);
    if (order == NULL)
        return KITH_E_MEMORY;
    each_first(c, s, keep_order, order);
    kithi_join_parts(s->by_part, s->starts, KITHI_SPILL_PARTS, s->kept);
    kith_status status = KITH_OK;
    if (!c->spilled) {
        status = kithi_spill_open(&c->spill, c->folder, &c->allocator);
        c->spilled = status == KITH_OK;
    }
    if (status == KITH_OK)
        status = kithi_spill_write(&c->spill, s->by_part, s->starts, order);
    kithi_release(&c->allocator, order, s->total);
    return status;
}

/* Makes space for more digests: drops repeats and, if there were few or `must_spill` is true, spills the rest. On
 * failure nothing is lost. */
static kith_status compact_or_spill(kithi_collection *c, bool must_spill) {
    sorted s;
    uint64_t by_part_bytes = (uint64_t)c->count * sizeof *c->digests;
    s.by_part = kithi_allocate(&c->allocator, by_part_bytes);
    kith_status status = s.by_part != NULL && sort_memory(c, &s) ? KITH_OK : KITH_E_MEMORY;
    if (status == KITH_OK && !must_spill && s.total <= c->count / 4 * 3) {
        each_first(c, &s, keep_digest, c->digests); /* in place: the i-th kept digest is not before position i */
        c->count = s.total;
    } else if (status == KITH_OK) {
        status = write_spill(c, &s);
        c->count = status == KITH_OK ? 0 : c->count;
    }
    kithi_release(&c->allocator, s.by_part, by_part_bytes);
    return status;
}

/* Moves the digests to an array of length n, which is at least their number. */
static kith_status resize(kithi_collection *c, size_t n) {
    uint64_t *digests = kithi_allocate(&c->allocator, (uint64_t)n * sizeof *digests);
    if (digests == NULL)
        return KITH_E_MEMORY;
    if (c->count != 0)
        memcpy(digests, c->digests, c->count * sizeof *digests);
    kithi_release(&c->allocator, c->digests, (uint64_t)c->allocated * sizeof *digests);
    c->digests = digests;
    c->allocated = n;
    return KITH_OK;
}

static kith_status enlarge(kithi_collection *c) {
    /* Four times as large, so that the digests are rarely copied. Memory that is not used yet costs nothing, because
     * the default allocator returns pages that were never touched. */
    size_t n = c->allocated == 0 ? ALLOCATED_FIRST : c->allocated > SIZE_MAX / 4 ? SIZE_MAX : 4 * c->allocated;
    return resize(c, n < c->count_max ? n : c->count_max);
}

void kithi_collection_trim(kithi_collection *c) {
    if (!c->borrowed && c->count > 0 && c->count < c->allocated)
        (void)resize(c, c->count);
}

kith_status kithi_collect(kithi_collection *c, const uint64_t *digests, size_t n, size_t *done) {
    assert(!c->counted && !c->borrowed);
    *done = 0;
    while (*done < n) {
        kith_status status = KITH_OK;
        if (c->count == c->count_max) {
            uint64_t spilled = c->spilled ? kithi_spill_total(&c->spill) : 0;
            if (!kithi_report_progress(c, KITH_BUILD_READING, spilled + c->count, 0))
                return KITH_E_CANCELLED;
            status = compact_or_spill(c, false);
        } else if (c->count == c->allocated) {
            status = enlarge(c);
        }
        if (status != KITH_OK)
            return status;
        size_t left = n - *done, space = c->allocated - c->count, taken = left < space ? left : space;
        memcpy(c->digests + c->count, digests + *done, taken * sizeof *digests);
        c->count += taken;
        *done += taken;
    }
    return KITH_OK;
}

/* ---- counting what is on disk ---- */

typedef struct count_job {
    kithi_collection *c;
    unsigned first_part;                     /* thread t takes part first_part + t */
    kith_status statuses[KITHI_THREADS_MAX]; /* by thread */
    uint64_t kept[KITHI_THREADS_MAX];        /* by thread: distinct digests in its part */
} count_job;

/* Finds the first occurrences in one part and sets their bits in c->firsts. */
static void count_part(void *context, unsigned thread) {
    count_job *j = context;
    kithi_collection *c = j->c;
    unsigned part = j->first_part + thread;
    size_t n = (size_t)kithi_spill_part_total(&c->spill, part), kept = 0;
    if (n == 0)
        return;
    uint64_t *digests = kithi_allocate(&c->allocator, (uint64_t)n * sizeof *digests), *copy = NULL;
    kith_status status = digests != NULL ? kithi_spill_read_part(&c->spill, part, digests) : KITH_E_MEMORY;
    if (status == KITH_OK && !kithi_drop_repeats(&c->allocator, digests, n, NULL, &copy, &kept))
        status = KITH_E_MEMORY;
    uint64_t *firsts = c->firsts + c->firsts_begin[part];
    size_t next = 0;
    for (size_t i = 0; i < n && status == KITH_OK; i++) {
        bool first = copy == NULL || (next < kept && digests[i] == copy[next]);
        next += first;
        firsts[i / 64] |= (uint64_t)first << (i % 64);
    }
    kithi_release(&c->allocator, copy, (uint64_t)n * sizeof *copy);
    kithi_release(&c->allocator, digests, (uint64_t)n * sizeof *digests);
    j->statuses[thread] = status;
    j->kept[thread] = kept;
}

static void free_firsts(kithi_collection *c) {
    kithi_release(&c->allocator, c->firsts, c->firsts_words * sizeof *c->firsts);
    c->firsts = NULL;
    c->firsts_words = 0;
}

/* Returns how many parts can be searched at the same time within the memory limit. A part of n digests needs up to
 * 50 * n bytes: 8 for the digests, 8 for the copy, and 34 to find repeats (build/repeats.h). */
static unsigned parts_at_once(const kithi_collection *c) {
    uint64_t largest = 1;
    for (unsigned p = 0; p < KITHI_SPILL_PARTS; p++) {
        uint64_t n = kithi_spill_part_total(&c->spill, p);
        largest = n > largest ? n : largest;
    }
    uint64_t fitting = c->memory_bytes / (50 * largest);
    return fitting < 1 ? 1 : fitting < c->threads ? (unsigned)fitting : c->threads;
}

static kith_status count_on_disk(kithi_collection *c) {
    uint64_t words = 0, done = 0, total = kithi_spill_total(&c->spill);
    for (unsigned p = 0; p < KITHI_SPILL_PARTS; p++) {
        c->firsts_begin[p] = words;
        words += (kithi_spill_part_total(&c->spill, p) + 63) / 64;
    }
    c->firsts = kithi_allocate(&c->allocator, words * sizeof *c->firsts);
    if (c->firsts == NULL)
        return KITH_E_MEMORY;
    c->firsts_words = words;
    c->keys = 0;
    unsigned at_once = parts_at_once(c);
    for (unsigned p = 0; p < KITHI_SPILL_PARTS; p += at_once) {
        count_job j = {.c = c, .first_part = p};
        unsigned count = KITHI_SPILL_PARTS - p < at_once ? KITHI_SPILL_PARTS - p : at_once;
        kith_status status = kithi_report_progress(c, KITH_BUILD_COUNTING, done, total) ? KITH_OK : KITH_E_CANCELLED;
        if (status == KITH_OK)
            kithi_parallel(count, count_part, &j);
        for (unsigned t = 0; t < count; t++) {
            status = status == KITH_OK ? j.statuses[t] : status;
            c->keys += j.kept[t];
            done += kithi_spill_part_total(&c->spill, p + t);
        }
        if (status != KITH_OK) {
            free_firsts(c);
            return status;
        }
    }
    kith_status status = kithi_report_progress(c, KITH_BUILD_COUNTING, total, total) ? KITH_OK : KITH_E_CANCELLED;
    if (c->keys == total || status != KITH_OK)
        free_firsts(c); /* there are no repeats, or the next call counts again */
    return status;
}

kith_status kithi_collection_count(kithi_collection *c) {
    if (c->counted)
        return KITH_OK;
    kith_status status = KITH_OK;
    if (c->spilled && c->count > 0)
        status = compact_or_spill(c, true);
    if (status == KITH_OK && c->spilled) {
        release_digests(c);
        c->keys = kithi_spill_total(&c->spill);
        status = c->keep_repeats ? KITH_OK : count_on_disk(c);
    } else if (status == KITH_OK) {
        c->keys = c->count;
        if (!c->keep_repeats && c->count > 0 && !count_in_memory(c, &c->keys))
            status = KITH_E_MEMORY;
    }
    c->counted = status == KITH_OK;
    return status;
}

kith_status kithi_collection_spill(kithi_collection *c) {
    assert(!c->spilled && !c->borrowed && !c->keep_repeats);
    c->counted = false; /* after a failure, kithi_collection_count() tries again */
    kith_status status = compact_or_spill(c, true);
    if (status != KITH_OK)
        return status;
    release_digests(c);
    c->keys = kithi_spill_total(&c->spill); /* one spill has no repeats */
    c->counted = true;
    return KITH_OK;
}

kith_status kithi_collection_compact(kithi_collection *c) {
    uint64_t *copy;
    size_t kept;
    if (!kithi_drop_repeats(&c->allocator, c->digests, c->count, NULL, &copy, &kept))
        return KITH_E_MEMORY;
    assert(copy != NULL);
    memcpy(c->digests, copy, kept * sizeof *copy);
    kithi_release(&c->allocator, copy, (uint64_t)c->count * sizeof *copy);
    c->count = kept;
    return KITH_OK;
}

bool kithi_collection_may_have_repeats(const kithi_collection *c) {
    return !c->spilled && !c->keep_repeats && !(c->counted && c->keys == c->count);
}

/* ---- reading ---- */

/* Returns whether digest i of a part on disk is a first occurrence. */
static bool is_first(const kithi_collection *c, unsigned part, uint64_t i) {
    return c->firsts == NULL || (c->firsts[c->firsts_begin[part] + i / 64] >> (i % 64) & 1) != 0;
}

uint64_t kithi_collection_part_keys(const kithi_collection *c, unsigned part) {
    uint64_t total = kithi_spill_part_total(&c->spill, part), keys = 0;
    if (c->firsts == NULL)
        return total;
    for (uint64_t word = 0; word < (total + 63) / 64; word++)
        keys += kithi_popcount(c->firsts[c->firsts_begin[part] + word]);
    return keys;
}

kith_status kithi_collection_read_part(const kithi_collection *c, unsigned part, uint64_t *digests, size_t *n) {
    kith_status status = kithi_spill_read_part(&c->spill, part, digests);
    size_t total = (size_t)kithi_spill_part_total(&c->spill, part);
    *n = c->firsts == NULL ? total : 0;
    for (size_t i = 0; i < total && c->firsts != NULL && status == KITH_OK; i++)
        if (is_first(c, part, i))
            digests[(*n)++] = digests[i];
    return status;
}

kith_status kithi_collection_reader_open(kithi_collection_reader *r, kithi_collection *c) {
    *r = (kithi_collection_reader){.c = c};
    if (!c->spilled)
        return KITH_OK;
    for (size_t i = 0; i < c->spill.count; i++) {
        size_t n = c->spill.entries[i].starts[KITHI_SPILL_PARTS];
        r->spill_max = n > r->spill_max ? n : r->spill_max;
    }
    /* Bytes per digest of the largest spill: 8 in by_part and 1 in `order`. A piece has half as many digests, so it
     * takes 4. Filling the filter copies the piece, which takes another 4. These 17 bytes are less than
     * KITHI_COLLECT_BYTES. */
    r->piece_max = r->spill_max / 2 + 1;
    r->piece = kithi_allocate(&c->allocator, (uint64_t)r->piece_max * sizeof *r->piece);
    r->by_part = kithi_allocate(&c->allocator, (uint64_t)r->spill_max * sizeof *r->by_part);
    r->order = kithi_allocate(&c->allocator, r->spill_max);
    if (r->piece != NULL && r->by_part != NULL && r->order != NULL)
        return KITH_OK;
    kithi_collection_reader_close(r);
    return KITH_E_MEMORY;
}

void kithi_collection_reader_close(kithi_collection_reader *r) {
    kithi_release(&r->c->allocator, r->piece, (uint64_t)r->piece_max * sizeof *r->piece);
    kithi_release(&r->c->allocator, r->by_part, (uint64_t)r->spill_max * sizeof *r->by_part);
    kithi_release(&r->c->allocator, r->order, r->spill_max);
    r->piece = NULL;
    r->by_part = NULL;
    r->order = NULL;
}

/* Reads spill number r->spill into by_part and `order`. */
static kith_status load_spill(kithi_collection_reader *r) {
    const kithi_spill *entry = &r->c->spill.entries[r->spill];
    memcpy(r->next, entry->starts, sizeof r->next);
    r->at = 0;
    kith_status status = kithi_spill_read(&r->c->spill, r->spill, r->by_part, r->order);
    r->loaded = status == KITH_OK;
    return status;
}

kith_status kithi_collection_reader_next(kithi_collection_reader *r, const uint64_t **digests, size_t *n) {
    kithi_collection *c = r->c;
    *n = 0;
    if (!c->spilled) {
        *digests = c->count != 0 ? c->digests + r->at : NULL;
        *n = c->count - r->at < PIECE_MAX ? c->count - r->at : PIECE_MAX;
        r->at += *n;
        return KITH_OK;
    }
    *digests = r->piece;
    while (*n < r->piece_max && r->spill < c->spill.count) {
        kith_status status = r->loaded ? KITH_OK : load_spill(r);
        if (status != KITH_OK)
            return status;
        size_t end = c->spill.entries[r->spill].starts[KITHI_SPILL_PARTS];
        for (; r->at < end && *n < r->piece_max; r->at++) {
            unsigned part = r->order[r->at];
            r->piece[*n] = r->by_part[r->next[part]++];
            *n += is_first(c, part, r->next_bit[part]++);
        }
        if (r->at == end) {
            r->spill++;
            r->loaded = false;
        }
    }
    return KITH_OK;
}
