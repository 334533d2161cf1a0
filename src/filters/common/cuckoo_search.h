/* filters/common/cuckoo_search.h: the search of the cuckoo kinds for a free slot, the use of the stash, and merge. See
 * filters/common/cuckoo.h for the layout, and cuckoo_batch.h for has, add and remove.
 *
 * Choice of place. A new key goes to the bucket with more empty slots, or to the first if they are equal. At a load
 * of 0.95 with b = 4, one add in twelve then finds both buckets full, instead of one in eight if the first bucket is
 * always preferred. Windows gain nothing from this, so overlap prefers the first.
 *
 * The search is breadth-first and starts from the two places of the new key. It examines the entries of a place. Each
 * entry can move to its other place and, in overlap, to the other slot of its own window. If the place to which an
 * entry can move has an empty slot, the chain is complete; otherwise that place is added to the queue.
 *
 *     queue   | place | place | … each with the slot from which it was reached and the queue index of that slot's place
 *
 * Before the entries of one place are examined, the search prefetches the places to which the entries of the next place
 * in the queue can move. `seen` has a bit for each place of a region that was queued, and `tried` has a bit for each
 * slot whose entry was examined: windows overlap, and a slot must not be in a chain twice. These bitmaps and the queue
 * are allocated by the first search and kept in the handle. They take two bits per slot of a region and 12 bytes per
 * element of the queue. The queue of a small region has space for all its places; that of a larger one has space for
 * 4,096 at first, and a search that needs more starts again with eight times as many.
 *
 * The stash. A search fails if no entry that it can reach can move to an empty slot. If a slot of the new key holds its
 * code already, the key goes to the stash. Otherwise one of the entries that the search has reached goes to the stash:
 * one that has a twin, that is, another entry with the same places and the same fingerprint. Its slot is then the end
 * of a chain, in place of an empty slot. If no entry has a twin, or if the stash is full, the add fails.
 *
 * Everything here is inlined into each kind, with the functions of that kind's layout. */
#ifndef KITHI_FILTERS_CUCKOO_SEARCH_H
#define KITHI_FILTERS_CUCKOO_SEARCH_H

#include <assert.h>
#include <string.h>

#include "filters/common/cuckoo_stash.h"
#include "filters/common/cuckoo_walk.h"

typedef struct kithi_search_item {
    uint32_t first;  /* first slot of the place */
    uint32_t parent; /* queue index of the place from which it was reached */
    uint32_t via;    /* the slot there whose entry can move here */
} kithi_search_item;

typedef struct kithi_search {
    uint64_t region_slots;
    uint64_t limit;
    kithi_search_item *queue;
    uint64_t *seen;
    uint64_t *tried;
    uint64_t bytes; /* size of this allocation; the arrays follow the struct */
    bool was_full;  /* the last search reached the limit */
} kithi_search;
static_assert(sizeof(kithi_search) % sizeof(uint64_t) == 0, "the arrays after it are aligned");

/* The number of places that a search queues before it gives up. That is all places of a region, except with
 * b = 1 or alternate=xor, where a single region may be larger. */
#define KITHI_SEARCH_MAX (UINT64_C(1) << 18)
#define KITHI_SEARCH_FIRST 4096

#define KITHI_NO_PARENT UINT32_MAX

/* Allocates a search that can queue `limit` places. */
static inline kithi_search *kithi_search_new(const kith_allocator *allocator, uint64_t region_slots, uint64_t limit) {
    uint64_t words = region_slots / 64 + 1;
    uint64_t bytes = sizeof(kithi_search) + 16 * words + sizeof(kithi_search_item) * limit;
    kithi_search *s = kithi_allocate(allocator, bytes);
    if (s == NULL)
        return NULL;
    s->region_slots = region_slots;
    s->limit = limit;
    s->bytes = bytes;
    s->seen = (uint64_t *)(s + 1);
    s->tried = s->seen + words;
    s->queue = (kithi_search_item *)(s->tried + words);
    return s;
}

/* Sets the bit; returns whether it was clear. */
KITHI_INLINE bool kithi_search_mark(uint64_t *bits, uint32_t slot) {
    uint64_t bit = UINT64_C(1) << (slot % 64);
    bool was_clear = (bits[slot / 64] & bit) == 0;
    bits[slot / 64] |= bit;
    return was_clear;
}

KITHI_INLINE void kithi_search_queue(kithi_search *s, uint32_t *tail, uint32_t first, uint32_t parent, uint32_t via) {
    if (*tail < s->limit && kithi_search_mark(s->seen, first))
        s->queue[(*tail)++] = (kithi_search_item){first, parent, via};
}

static inline bool kithi_cf_candidates_of_entry(const kithi_cf_layout *layout, const kith_filter *f, uint32_t slot,
                                                uint32_t code, kithi_candidates *candidates) {
    uint64_t place, fingerprint;
    if (!layout->decode(&f->geometry.cf, slot, code, &place, &fingerprint))
        return false;
    kithi_cf_candidates(layout, &f->geometry.cf, place, fingerprint, candidates);
    return true;
}

/* Where the entries of a place can move: the first slots of their own place and of their other place. The two are
 * equal if an entry cannot move. */
typedef struct kithi_search_targets {
    uint32_t own[KITHI_CANDIDATES_MAX / 2], other[KITHI_CANDIDATES_MAX / 2];
} kithi_search_targets;

/* Computes the targets of the place that begins with slot `first`, and prefetches them. */
KITHI_INLINE void kithi_search_find_targets(const kithi_cf_layout *layout, const kith_filter *f, const uint8_t *region,
                                            uint32_t first, kithi_search_targets *targets) {
    unsigned slots = layout->place_slots(&f->geometry.cf);
    for (unsigned i = 0; i < slots; i++) {
        uint64_t place, fingerprint;
        uint32_t to[2] = {first, first}; /* an entry with an invalid code cannot move */
        if (layout->decode(&f->geometry.cf, first + i, kithi_cf_get(f, region, first + i), &place, &fingerprint))
            layout->first_slots(&f->geometry.cf, place, fingerprint, to);
        targets->own[i] = to[0];
        targets->other[i] = to[1];
        __builtin_prefetch(region + (uint64_t)to[1] * f->geometry.cf.slot_bits / 8);
    }
}

/* The end of a chain: an entry that can move to an empty slot. */
typedef struct kithi_search_end {
    uint32_t via;   /* the entry's slot */
    uint32_t first; /* first slot of the place of the empty slot */
    uint32_t to;    /* the empty slot */
} kithi_search_end;

/* Examines the entries of place `at` of the queue. Returns true and sets *end if one of them can move to an empty slot.
 * Otherwise queues the places to which they can move. */
KITHI_INLINE bool kithi_search_expand(const kithi_cf_layout *layout, const kith_filter *f, const uint8_t *region,
                                      kithi_search *s, uint32_t at, uint32_t *tail, const kithi_search_targets *targets,
                                      kithi_search_end *end) {
    unsigned slots = layout->place_slots(&f->geometry.cf);
    uint32_t here = s->queue[at].first;
    for (unsigned i = 0; i < slots; i++) {
        if (targets->own[i] == targets->other[i] || (layout->windows && !kithi_search_mark(s->tried, here + i)))
            continue;
        for (unsigned which = targets->own[i] == here; which < 2; which++) {
            uint32_t first = which == 0 ? targets->own[i] : targets->other[i];
            unsigned empty = kithi_cf_empty_slot(f, region, first, slots);
            if (empty < slots) {
                *end = (kithi_search_end){here + i, first, first + empty};
                return true;
            }
            kithi_search_queue(s, tail, first, at, here + i);
        }
    }
    return false;
}

/* Moves every entry of the chain to the slot of the next one, beginning with the entry at `end`, which is in place `at`
 * of the queue, and ending in a place of the new key. Returns the slot that became free there. */
static inline uint32_t kithi_search_shift(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                          const kithi_search *s, uint32_t at, kithi_search_end end) {
    for (;;) {
        uint64_t fingerprint = kithi_cf_get(f, region, end.via) >> layout->window_bits;
        kithi_cf_set(f, region, end.to, kithi_cf_code(layout, fingerprint, end.to - end.first));
        kithi_search_item item = s->queue[at];
        if (item.parent == KITHI_NO_PARENT)
            return end.via;
        end = (kithi_search_end){item.via, item.first, end.via};
        at = item.parent;
    }
}

static inline void kithi_search_reset(const kithi_cf_layout *layout, kithi_search *s, uint32_t tail, unsigned slots) {
    for (uint32_t i = 0; i < tail; i++) {
        uint32_t first = s->queue[i].first;
        s->seen[first / 64] = 0;
        for (unsigned j = 0; j < slots && layout->windows; j++)
            s->tried[(first + j) / 64] = 0;
    }
}

/* After a search that found no empty slot: moves an entry that has a twin to the stash, and then each entry of the
 * chain that leads to it to the next slot. Sets *freed to the slot that became free. Returns KITH_E_FULL if there is no
 * such entry or the stash is full.
 *
 * A chain must not use the slot in which it ends. All its other slots are in earlier places of the queue. The loop
 * returns at the first place that has an entry with a twin, so that entry is in no earlier place (although in overlap a
 * slot is in two places). */
static inline kith_status kithi_search_evict(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                             const kithi_search *s, uint32_t tail, uint32_t *freed) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    unsigned slots = layout->place_slots(g);
    if (kithi_stash_is_full(g, region))
        return KITH_E_FULL;
    for (uint32_t at = 0; at < tail; at++) {
        kithi_search_item item = s->queue[at];
        for (uint32_t slot = item.first; slot < item.first + slots; slot++) {
            kithi_candidates candidates;
            if (!kithi_cf_candidates_of_entry(layout, f, slot, kithi_cf_get(f, region, slot), &candidates) ||
                kithi_cf_matches(f, region, &candidates) < 2)
                continue;
            kithi_stash_add(g, region, kithi_stash_entry(layout, g, &candidates));
            f->head.fill++;
            *freed = slot;
            if (item.parent != KITHI_NO_PARENT)
                *freed = kithi_search_shift(layout, f, region, s, item.parent,
                                            (kithi_search_end){item.via, item.first, slot});
            return KITH_OK;
        }
    }
    return KITH_E_FULL;
}

/* Searches breadth-first from the two places, within the limit of `s`, and moves the entries of the chain that it
 * finds. Sets *freed to the slot that became free. If no chain ends in an empty slot and `evict` is true, a chain may
 * end at an entry that goes to the stash. */
KITHI_INLINE kith_status kithi_search_from(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                           const uint32_t roots[2], bool evict, kithi_search *s, uint32_t *freed) {
    kithi_search_targets targets[2]; /* of places at and at + 1 of the queue, alternating */
    kithi_search_end end;
    uint32_t tail = 0;
    for (unsigned i = 0; i < 2; i++) {
        kithi_search_queue(s, &tail, roots[i], KITHI_NO_PARENT, 0);
        kithi_search_find_targets(layout, f, region, roots[i], &targets[i]);
    }
    kith_status status = KITH_E_FULL;
    for (uint32_t at = 0; at < tail; at++) {
        bool next_is_known = at == 0 || at + 1 < tail; /* the place after this one is in the queue already */
        if (at != 0 && next_is_known)
            kithi_search_find_targets(layout, f, region, s->queue[at + 1].first, &targets[(at + 1) % 2]);
        if (kithi_search_expand(layout, f, region, s, at, &tail, &targets[at % 2], &end)) {
            *freed = kithi_search_shift(layout, f, region, s, at, end);
            status = KITH_OK;
            break;
        }
        if (!next_is_known && at + 1 < tail) /* it has just been queued */
            kithi_search_find_targets(layout, f, region, s->queue[at + 1].first, &targets[(at + 1) % 2]);
    }
    s->was_full = tail == s->limit;
    if (status != KITH_OK && evict && (!s->was_full || s->limit == KITHI_SEARCH_MAX))
        status = kithi_search_evict(layout, f, region, s, tail, freed);
    kithi_search_reset(layout, s, tail, layout->place_slots(&f->geometry.cf));
    return status;
}

/* Frees one of the slots of `candidates`, which are all taken, by moving other entries, and stores the code there. If
 * `evict` is true, one of these entries may go to the stash. */
static inline kith_status kithi_cf_free_and_store(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                                  const kithi_candidates *candidates, bool evict) {
    if (!layout->windows && f->geometry.cf.kicks != 0)
        return kithi_cf_walk(layout, f, region, candidates);
    const uint32_t roots[2] = {candidates->slot[0], candidates->slot[candidates->count / 2]};
    uint32_t freed = 0;
    kithi_search *s = f->state;
    for (;;) {
        if (s != NULL) {
            kith_status status = kithi_search_from(layout, f, region, roots, evict, s, &freed);
            for (unsigned i = 0; i < candidates->count && status == KITH_OK; i++)
                if (candidates->slot[i] == freed)
                    kithi_cf_set(f, region, freed, candidates->code[i]);
            if (status == KITH_OK || !s->was_full || s->limit == KITHI_SEARCH_MAX)
                return status;
        }
        uint64_t region_slots = layout->region_slots(&f->geometry.cf);
        /* Each place is queued at most once, so the queue of a small region is shorter and never gets full. */
        uint64_t most = region_slots < KITHI_SEARCH_MAX ? region_slots + 1 : KITHI_SEARCH_MAX;
        uint64_t limit = s == NULL ? KITHI_SEARCH_FIRST : 8 * s->limit;
        kithi_search *larger = kithi_search_new(&f->allocator, region_slots, limit < most ? limit : most);
        if (larger == NULL)
            return KITH_E_MEMORY;
        kithi_cf_detach(f);
        f->state = s = larger;
    }
}

/* Returns whether a new entry goes to the second of its two places, which have this many empty slots. */
KITHI_INLINE bool kithi_cf_prefers_second(const kithi_cf_layout *layout, const unsigned empty[2]) {
    return layout->windows ? empty[0] == 0 : empty[1] > empty[0];
}

/* Stores an entry whose candidate slots are all taken: in a slot that other entries leave or, if there is none, in the
 * stash. KITH_E_COPIES, KITH_E_FULL, KITH_E_MEMORY. */
static inline kith_status kithi_cf_make_room(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                             const kithi_candidates *candidates) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    unsigned twins = kithi_cf_matches(f, region, candidates);
    if (twins < candidates->count) {
        kith_status status = kithi_cf_free_and_store(layout, f, region, candidates, twins == 0);
        /* A walk that fails does not prove that there is no free slot. */
        if (status != KITH_E_FULL || twins == 0 || g->kicks != 0)
            return status;
    }
    if (kithi_stash_is_full(g, region))
        return KITH_E_COPIES;
    kithi_stash_add(g, region, kithi_stash_entry(layout, g, candidates));
    f->head.fill++;
    return KITH_OK;
}

/* Stores an entry in the region, moving others if necessary. KITH_E_COPIES, KITH_E_FULL, KITH_E_MEMORY. */
KITHI_INLINE kith_status kithi_cf_put(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                      const kithi_candidates *candidates) {
    unsigned slots = candidates->count / 2, empty[2] = {0, 0};
    for (unsigned i = 0; i < candidates->count; i++)
        empty[i / slots] += kithi_cf_get(f, region, candidates->slot[i]) == 0;
    for (unsigned i = kithi_cf_prefers_second(layout, empty) ? slots : 0; i < candidates->count; i++) {
        if (kithi_cf_get(f, region, candidates->slot[i]) == 0) {
            kithi_cf_set(f, region, candidates->slot[i], candidates->code[i]);
            return KITH_OK;
        }
    }
    return kithi_cf_make_room(layout, f, region, candidates);
}

/* Stores a key that has no empty candidate slot. KITH_E_COPIES, KITH_E_FULL, KITH_E_MEMORY. */
static inline kith_status kithi_cf_store_by_moving(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    kithi_candidates candidates;
    uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    return kithi_cf_make_room(layout, f, region, &candidates);
}

/* Returns why a filter at its capacity refuses this key. */
KITHI_INLINE kith_status kithi_cf_refusal(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    kithi_candidates candidates;
    uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    bool no_more_copies =
        kithi_cf_matches(f, region, &candidates) == candidates.count && kithi_stash_is_full(&f->geometry.cf, region);
    return no_more_copies ? KITH_E_COPIES : KITH_E_FULL;
}

static inline uint64_t kithi_cf_copies(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest) {
    kithi_candidates candidates;
    const uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    unsigned in_slots = kithi_cf_matches(f, region, &candidates);
    if (in_slots == 0)
        return 0;
    const kithi_cf_geometry *g = &f->geometry.cf;
    return in_slots + kithi_stash_count(g, region, kithi_stash_entry(layout, g, &candidates));
}

/* Removes a key from the stash of its region, if it is there. */
KITHI_OUTLINE bool kithi_cf_remove_stashed(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    kithi_candidates candidates;
    uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    const kithi_cf_geometry *g = &f->geometry.cf;
    if (!kithi_stash_remove(g, region, kithi_stash_entry(layout, g, &candidates)))
        return false;
    f->head.fill--;
    f->head.count--;
    return true;
}

static inline kith_status kithi_cf_put_all(const kithi_cf_layout *layout, kith_filter *into, const kith_filter *from) {
    uint64_t region_slots = layout->region_slots(&into->geometry.cf);
    for (uint64_t r = 0; r < into->geometry.cf.regions; r++) {
        uint8_t *to = kithi_cf_region(layout, into, r);
        const uint8_t *source = kithi_cf_region(layout, from, r);
        for (uint64_t slot = 0; slot < region_slots; slot++) {
            kithi_candidates candidates = {0};
            uint32_t code = kithi_cf_get(from, source, (uint32_t)slot);
            if (code == 0 || !kithi_cf_candidates_of_entry(layout, from, (uint32_t)slot, code, &candidates))
                continue;
            kith_status status = kithi_cf_put(layout, into, to, &candidates);
            if (status != KITH_OK)
                return status;
        }
        for (uint64_t i = 0; i < from->geometry.cf.stash; i++) {
            kithi_candidates candidates = {0};
            uint64_t entry = kithi_stash_get(&from->geometry.cf, source, i);
            if (!kithi_stash_candidates(layout, &from->geometry.cf, entry, &candidates))
                continue;
            kith_status status = kithi_cf_put(layout, into, to, &candidates);
            if (status != KITH_OK)
                return status;
        }
    }
    return KITH_OK;
}

static inline kith_status kithi_cf_merge(const kithi_cf_layout *layout, kith_filter *into, const kith_filter *from) {
    if (from->head.count > into->head.capacity - into->head.count)
        return KITH_E_FULL;
    uint8_t *before = kithi_allocate(&into->allocator, into->head.body_bytes);
    if (before == NULL)
        return KITH_E_MEMORY;
    memcpy(before, into->body, (size_t)into->head.body_bytes);
    uint64_t fill = into->head.fill;
    kith_status status = kithi_cf_put_all(layout, into, from);
    if (status == KITH_OK) {
        into->head.count += from->head.count;
    } else {
        memcpy(into->body, before, (size_t)into->head.body_bytes);
        into->head.fill = fill;
    }
    kithi_release(&into->allocator, before, into->head.body_bytes);
    return status;
}

#endif
