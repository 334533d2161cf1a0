/* kinds/shared/cuckoo_search.h: the search of the cuckoo kinds for a free slot, the use of the stash, and merge. See
 * kinds/shared/cuckoo_kinds.h for the layout, and cuckoo_batch.h for has, copies, add and remove.
 *
 * Choice of place. A new key goes to the bucket with more empty slots, or to the first bucket if both have equally
 * many. While a filter with b = 4 slots per bucket is filled to its capacity (a load of 0.96), one add in twelve then
 * finds both buckets full. If the first bucket were always preferred, it would be one add in eight. Windows gain
 * nothing from this, so overlap uses the second window only if the first is full.
 *
 * The search looks for a chain of entries in which each can move to the slot of the next one, and the last to an empty
 * slot. It is breadth-first and starts from the two places of the new key. It takes one place after the other from a
 * queue and examines its entries. Each entry can move to its other place and, in overlap, to the other slot of its own
 * window. If the place to which an entry can move has an empty slot, the chain is complete; otherwise that place is
 * added to the queue.
 *
 *     queue   | place | place | … each with the slot from which it was reached and the queue index of that slot's place
 *
 * Before the entries of one place are examined, the search prefetches the places to which the entries of the next place
 * in the queue can move. The set `seen` has the first slot of every place that was queued. In overlap there is another
 * set, `tried`, of the slots whose entries were examined: windows overlap, and a slot must not be in a chain twice.
 *
 * The search in this file is called the general search. In overlap, another one comes first, the short search
 * (kinds/shared/window_search.h), which does without these sets. It finds most chains, and they are the same ones
 * that the general search would find.
 *
 * The bound. To visit a slot is to examine its entry. (For each entry, the slots of its other place are also tested for
 * an empty one; this does not count as a visit.) A search visits at most KITHI_FIT_SEARCH_SLOTS slots. For this, the
 * length of the queue is limited to KITHI_FIT_SEARCH_SLOTS divided by the number of slots in a place. A place for which
 * the queue has no space is not visited, and the search is said to be cut off. It then proves nothing about the slots
 * that it has not visited. Regions with fewer places than the limit are searched completely. plan/fit.h describes how
 * improbable it is that a search is cut off before the filter is at its capacity.
 *
 * In overlap, the short search visits at most KITHI_WINDOW_ITEMS slots more. In both kinds, if the general search fails
 * without having been cut off, the search for an entry that can go to the stash visits the same slots a second time.
 * kithi_cf_search_slots() is the sum of all this. So an add that fails takes less than a millisecond, even if an
 * attacker fills a region completely.
 *
 * The memory for the queue and the sets is allocated by the first search and kept in the handle. The queue takes 12
 * bytes per place. Each set is a bitmap of one bit per slot of the region. A region of more than 2^18 slots (planned
 * only with b = 1 or alternate=xor) has a hash table instead, because the first searches would spend more time on the
 * page faults of large bitmaps than on anything else.
 *
 * The stash. If a search fails without having been cut off, none of the entries that it has reached can move to an
 * empty slot. If a slot of the new key holds the key's code already, the key goes to the stash. Otherwise one of the
 * entries that the search has reached goes to the stash: one that has a twin, that is, another entry with the same
 * places and the same fingerprint. The slot that it leaves is then the end of a chain. If no entry has a twin, or if
 * the stash is full, the add fails.
 *
 * Everything here is compiled into each kind, with the functions of that kind's layout as constants. */
#ifndef KITHI_FILTERS_CUCKOO_SEARCH_H
#define KITHI_FILTERS_CUCKOO_SEARCH_H

#include <assert.h>
#include <string.h>

#include "kinds/shared/cuckoo_stash.h"
#include "kinds/shared/cuckoo_walk.h"
#include "kinds/shared/window_search.h"

typedef struct kithi_search_item {
    uint32_t first;  /* first slot of the place */
    uint32_t parent; /* queue index of the place from which it was reached */
    uint32_t via;    /* the slot there whose entry can move here */
} kithi_search_item;

typedef struct kithi_search {
    kithi_scratch scratch; /* the size of this allocation; the arrays follow the struct */
    uint64_t limit;        /* the number of places that the queue has space for */
    kithi_search_item *queue;
    uint64_t *seen;        /* a bitmap; NULL if there is a hash table */
    uint64_t *tried;       /* the same; also NULL in cuckoo */
    uint64_t *table;       /* hash table of both sets; NULL if there are bitmaps */
    uint64_t table_mask;   /* the size of the table, a power of two, minus 1 */
    uint32_t window_items; /* the most items that the short search may queue; 0: there is no short search */
    uint32_t round;        /* number of the current search, which is part of the entries of the hash table */
    uint32_t examined;     /* the number of places whose entries the last search examined */
    uint32_t visited_max;  /* for tests: no add so far has visited more slots than this */
    bool was_cut;          /* the last search may have found places for which the queue had no space */
} kithi_search;
static_assert(sizeof(kithi_search) % sizeof(uint64_t) == 0, "the arrays after it are aligned");

/* Regions of more slots than this have a hash table instead of bitmaps. */
#define KITHI_SEARCH_BITMAP_SLOTS (UINT64_C(1) << 18)

#define KITHI_NO_PARENT UINT32_MAX

/* Returns the number of places that the queue has space for. If the region has fewer places than the bound allows, this
 * is the number of its places plus 1, so that the queue never gets full. */
static inline uint64_t kithi_search_limit(const kithi_cf_layout *layout, const kithi_cf_geometry *g) {
    uint64_t bound = KITHI_FIT_SEARCH_SLOTS / layout->place_slots(g);
    return g->places < bound ? g->places + 1 : bound;
}

/* Returns the most items (entries to examine) that the short search may queue; 0: there is no short search. It uses the
 * memory of the general search's queue, so the number of its items is at most the number of places in that queue. */
static inline uint32_t kithi_search_window_items(const kithi_cf_layout *layout, const kithi_cf_geometry *g) {
    uint64_t limit = kithi_search_limit(layout, g);
    if (!kithi_window_search_is_possible(layout, g))
        return 0;
    return limit < KITHI_WINDOW_ITEMS ? (uint32_t)limit : KITHI_WINDOW_ITEMS;
}

/* search_slots of the cuckoo kinds: the most slots that one add visits, whatever the keys are. An add that cannot free
 * a slot visits the slots of its last search twice: a random walk goes back the way that it came, and a search that was
 * not cut off looks for an entry that can go to the stash. */
static inline uint64_t kithi_cf_search_slots(const kithi_cf_layout *layout, const kithi_cf_geometry *g) {
    uint64_t slots = layout->place_slots(g), places = kithi_search_limit(layout, g);
    if (g->kicks != 0) /* each move is to another place, whose slots the walk looks at */
        return 2 * g->kicks * slots;
    places = g->places < places ? g->places : places;
    return 2 * places * slots + kithi_search_window_items(layout, g);
}

/* Allocates what a search in a region needs; returns NULL if there is no memory. */
static inline kithi_search *kithi_search_new(const kithi_cf_layout *layout, const kithi_cf_geometry *g,
                                             const kith_allocator *allocator) {
    uint64_t limit = kithi_search_limit(layout, g), region_slots = layout->region_slots(g);
    uint64_t words = region_slots / 64 + 1, entries = 0;
    if (region_slots > KITHI_SEARCH_BITMAP_SLOTS) {
        /* The table is at most half full. It holds the places in the queue and, for windows, the slots whose entries
         * were examined, at most two per place. */
        for (entries = 1; entries < 2 * limit * (layout->windows ? 3 : 1);)
            entries *= 2;
        words = 0;
    }
    uint64_t bitmaps = layout->windows ? 2 : 1;
    uint64_t bytes = sizeof(kithi_search) + 8 * (bitmaps * words + entries) + sizeof(kithi_search_item) * limit;
    kithi_search *s = kithi_allocate(allocator, bytes);
    if (s == NULL)
        return NULL;
    uint64_t *sets = (uint64_t *)(s + 1);
    s->round = 1;
    s->limit = limit;
    s->scratch.bytes = bytes;
    s->seen = words != 0 ? sets : NULL;
    s->tried = words != 0 && layout->windows ? sets + words : NULL;
    s->table = words != 0 ? NULL : sets;
    s->table_mask = entries - 1;
    s->queue = (kithi_search_item *)(sets + bitmaps * words + entries);
    s->window_items = kithi_search_window_items(layout, g);
    return s;
}

/* Adds `key` to a hash table; returns whether it was new. An entry of the table has the number of its search, `round`,
 * in the high 32 bits. Entries of earlier searches count as empty, so they need not be removed. */
KITHI_OUTLINE bool kithi_search_insert(uint64_t *table, uint64_t mask, uint32_t round, uint64_t key) {
    uint64_t entry = (uint64_t)round << 32 | key;
    for (uint64_t i = kithi_mix(key);; i++) {
        uint64_t *at = &table[i & mask];
        if (*at == entry)
            return false;
        if (*at >> 32 != round) {
            *at = entry;
            return true;
        }
    }
}

typedef enum kithi_search_set { KITHI_SEEN, KITHI_TRIED } kithi_search_set;

/* Adds a slot to a set; returns whether it was new. */
KITHI_INLINE bool kithi_search_mark(const kithi_search *s, kithi_search_set set, uint32_t slot) {
    if (s->table != NULL)
        return kithi_search_insert(s->table, s->table_mask, s->round,
                                   2 * (uint64_t)slot + set); /* slot numbers have 31 bits */
    uint64_t *word = (set == KITHI_SEEN ? s->seen : s->tried) + slot / 64;
    uint64_t bit = UINT64_C(1) << (slot % 64);
    bool was_clear = (*word & bit) == 0;
    *word |= bit;
    return was_clear;
}

/* Adds a place to the queue, unless it was queued before or the queue is full. */
KITHI_INLINE void kithi_search_enqueue(const kithi_search *s, uint32_t *tail, uint32_t first, uint32_t parent,
                                       uint32_t via) {
    if (*tail < s->limit && kithi_search_mark(s, KITHI_SEEN, first))
        s->queue[(*tail)++] = (kithi_search_item){first, parent, via};
}

/* Returns false if no key can have this code in this slot. */
static inline bool kithi_cf_candidates_of_entry(const kithi_cf_layout *layout, const kith_filter *f, uint32_t slot,
                                                uint32_t code, kithi_candidates *candidates) {
    uint64_t place, fingerprint;
    if (!layout->decode_entry(&f->geometry.cf, slot, code, &place, &fingerprint))
        return false;
    kithi_cf_candidates(layout, &f->geometry.cf, place, fingerprint, candidates);
    return true;
}

/* Where the entries of a place can move. Entry i can move within its own place, which begins with slot own[i], and to
 * its other place, which begins with slot other[i]. own[i] and other[i] are equal only if the entry cannot move. */
typedef struct kithi_search_targets {
    uint32_t own[KITHI_CANDIDATES_MAX / 2], other[KITHI_CANDIDATES_MAX / 2];
} kithi_search_targets;

/* Computes the targets of the place that begins with slot `first`, and prefetches them. */
KITHI_INLINE void kithi_search_find_targets(const kithi_cf_layout *layout, const kithi_cf_geometry *g,
                                            const uint8_t *region, uint32_t first, kithi_search_targets *targets) {
    unsigned slots = layout->place_slots(g);
    for (unsigned i = 0; i < slots; i++) {
        uint64_t place, fingerprint;
        uint32_t to[2] = {first, first}; /* an entry with an invalid code cannot move */
        uint32_t code = (uint32_t)kithi_field_get(region, first + i, (unsigned)g->slot_bits);
        if (layout->decode_entry(g, first + i, code, &place, &fingerprint))
            layout->first_slots(g, place, fingerprint, to);
        targets->own[i] = to[0];
        targets->other[i] = to[1];
        __builtin_prefetch(region + (uint64_t)to[1] * g->slot_bits / 8);
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
KITHI_INLINE bool kithi_search_expand(const kithi_cf_layout *layout, const kithi_cf_geometry *g, const uint8_t *region,
                                      const kithi_search *s, uint32_t at, uint32_t *tail,
                                      const kithi_search_targets *targets, kithi_search_end *end) {
    unsigned slots = layout->place_slots(g);
    uint32_t here = s->queue[at].first;
    for (unsigned i = 0; i < slots; i++) {
        if (targets->own[i] == targets->other[i] || (layout->windows && !kithi_search_mark(s, KITHI_TRIED, here + i)))
            continue;
        /* The entry's own place (which = 0) is a target only if it is not the place that is being examined. This
         * happens only in overlap, where a slot is in two windows and its entry may belong to either. */
        for (unsigned which = targets->own[i] == here; which < 2; which++) {
            uint32_t first = which == 0 ? targets->own[i] : targets->other[i];
            unsigned empty = kithi_cf_empty_slot(g, region, first, slots);
            if (empty < slots) {
                *end = (kithi_search_end){here + i, first, first + empty};
                return true;
            }
            kithi_search_enqueue(s, tail, first, at, here + i);
        }
    }
    return false;
}

/* Moves every entry of the chain to the slot of the next one. Begins with the last entry: `end` describes it, and its
 * place has the queue index `at`. Ends with an entry in a place of the new key. Returns the slot that became free
 * there. */
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

/* Empties the sets, after a search that queued `tail` places. */
static inline void kithi_search_reset(const kithi_cf_layout *layout, kithi_search *s, uint32_t tail, unsigned slots) {
    for (uint32_t i = 0; i < tail && s->table == NULL; i++) {
        uint32_t first = s->queue[i].first;
        s->seen[first / 64] = 0;
        for (unsigned j = 0; j < slots && layout->windows; j++)
            s->tried[(first + j) / 64] = 0;
    }
    if (s->table != NULL && ++s->round == 0) { /* after 2^32 searches the numbers begin again */
        memset(s->table, 0, (size_t)(s->table_mask + 1) * sizeof *s->table);
        s->round = 1;
    }
}

/* After a search that found no empty slot: moves an entry that has a twin to the stash. Its slot is then empty and ends
 * a chain, and each entry of this chain moves to the slot of the next one. Sets *freed to the slot that became free.
 * Returns KITH_E_FULL if there is no entry with a twin. The stash must have space.
 *
 * The slot in which a chain ends must not be in the chain a second time. In overlap, where a slot is in two places, an
 * earlier place of the chain might contain this slot, too. But then the loop would have examined the slot as part of
 * the earlier place, which comes first in the queue, and would have ended the chain there. */
static inline kith_status kithi_search_evict(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                             const kithi_search *s, uint32_t tail, uint32_t *freed) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    unsigned slots = layout->place_slots(g);
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

/* Searches breadth-first from the places that begin with the slots `roots`, visits at most search->limit places, and
 * moves the entries of the chain that it finds. Sets *freed to the slot that became free. If no chain ends in an empty
 * slot and `evict` is true, a chain may end at an entry that goes to the stash. This is not done if the search was cut
 * off: it then failed because the region has few empty slots, and the stash is only for keys with equal places and
 * fingerprints. */
KITHI_INLINE kith_status kithi_search_from(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                           const uint32_t roots[2], bool evict, kithi_search *search, uint32_t *freed) {
    /* Local copies: stores to the queue and to the sets cannot alias them, so the compiler need not load them again. */
    const kithi_cf_geometry g = f->geometry.cf;
    const kithi_search s = *search;
    kithi_search_targets targets[2]; /* of places `at` and `at + 1` of the queue; place i has targets[i % 2] */
    kithi_search_end end;
    uint32_t tail = 0;
    for (unsigned i = 0; i < 2; i++) {
        kithi_search_enqueue(&s, &tail, roots[i], KITHI_NO_PARENT, 0);
        kithi_search_find_targets(layout, &g, region, roots[i], &targets[i]);
    }
    kith_status status = KITH_E_FULL;
    uint32_t at = 0;
    for (; at < tail; at++) {
        bool next_is_known = at == 0 || at + 1 < tail; /* the place after this one is in the queue already */
        if (at != 0 && next_is_known)
            kithi_search_find_targets(layout, &g, region, s.queue[at + 1].first, &targets[(at + 1) % 2]);
        if (kithi_search_expand(layout, &g, region, &s, at, &tail, &targets[at % 2], &end)) {
            *freed = kithi_search_shift(layout, f, region, &s, at, end);
            status = KITH_OK;
            break;
        }
        if (!next_is_known && at + 1 < tail) /* it has just been queued */
            kithi_search_find_targets(layout, &g, region, s.queue[at + 1].first, &targets[(at + 1) % 2]);
    }
    assert(tail <= s.limit);
    search->examined = at + (status == KITH_OK);
    search->was_cut = tail == s.limit;
    unsigned slots = layout->place_slots(&g);
    /* An upper bound: all queued places count as visited, and so do the slots that a short search may have visited. */
    uint32_t visited = s.window_items + tail * slots;
    if (status != KITH_OK && evict && tail < s.limit && !kithi_stash_is_full(&g, region)) {
        visited += tail * slots;
        status = kithi_search_evict(layout, f, region, search, tail, freed);
    }
    search->visited_max = visited > s.visited_max ? visited : s.visited_max;
    kithi_search_reset(layout, search, tail, slots);
    return status;
}

/* After a general search, sets window_items, the number of items that the next short searches may queue. In overlap, a
 * general search, except the first, follows a short search that has reached this limit (or a code that no key can
 * have). If the general search examined many places, the limit rises. If it examined few, the short search had filled
 * its queue with repeated entries, as it does among many copies of keys (window_search.h). Then the limit falls, and
 * the next short searches give up sooner. */
static inline void kithi_search_adapt(kithi_search *s) {
    uint64_t most = s->limit < KITHI_WINDOW_ITEMS ? s->limit : KITHI_WINDOW_ITEMS;
    uint64_t items = (uint64_t)KITHI_WINDOW_ITEMS_PER_PLACE * s->examined;
    items = items < KITHI_WINDOW_ITEMS_MIN ? KITHI_WINDOW_ITEMS_MIN : items;
    if (s->window_items != 0)
        s->window_items = (uint32_t)(items < most ? items : most);
}

/* Frees one of the slots of `candidates`, which are all taken, by moving other entries, and stores the key's code
 * there. If `evict` is true, one of these entries may go to the stash. If the result is KITH_E_FULL, *proven says
 * whether it is certain that no sequence of moves frees a slot: the search was not cut off. */
static inline kith_status kithi_cf_free_and_store(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                                  const kithi_candidates *candidates, bool evict, bool *proven) {
    *proven = false;
    if (!layout->windows && f->geometry.cf.kicks != 0)
        return kithi_cf_walk(layout, f, region, candidates);
    if (f->state == NULL)
        f->state = kithi_search_new(layout, &f->geometry.cf, &f->allocator);
    kithi_search *s = f->state;
    if (s == NULL)
        return KITH_E_MEMORY;
    const uint32_t roots[2] = {candidates->slot[0], candidates->slot[candidates->count / 2]};
    uint32_t freed = 0;
    kith_status status = kithi_search_from(layout, f, region, roots, evict, s, &freed);
    kithi_search_adapt(s);
    for (unsigned i = 0; i < candidates->count && status == KITH_OK; i++)
        if (candidates->slot[i] == freed)
            kithi_cf_set(f, region, freed, candidates->code[i]);
    *proven = !s->was_cut;
    return status;
}

/* Returns whether a new entry goes to the second of its two places, which have this many empty slots. */
KITHI_INLINE bool kithi_cf_prefers_second(const kithi_cf_layout *layout, const unsigned empty[2]) {
    return layout->windows ? empty[0] == 0 : empty[1] > empty[0];
}

/* Like kithi_cf_free_and_store(), with the short search. Returns false if that has found no empty slot; there may still
 * be one. */
static inline bool kithi_cf_store_by_short_search(const kith_filter *f, uint8_t *region,
                                                  const kithi_candidates *candidates) {
    const kithi_search *s = f->state;
    if (s == NULL) /* the first search allocates the memory: kithi_cf_free_and_store */
        return false;
    static_assert(sizeof(kithi_search_item) >= sizeof(kithi_window_item),
                  "the short search uses the memory of the queue of the general search");
    kithi_window_item *queue = (kithi_window_item *)(void *)s->queue;
    kithi_window_end end;
    if (!kithi_window_find(&f->geometry.cf, region, candidates->slot, queue, s->window_items, &end))
        return false;
    kithi_window_shift(&f->geometry.cf, region, candidates, queue, end);
    return true;
}

/* Stores an entry whose candidate slots are all taken. Frees a slot by moving other entries or, if that is impossible,
 * uses the stash, for this entry or another one. `is_new` may be true only if none of the candidate slots holds the
 * entry's code. May return KITH_E_COPIES, KITH_E_FULL or KITH_E_MEMORY. */
static inline kith_status kithi_cf_store_in_full_places(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                                        const kithi_candidates *candidates, bool is_new) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    unsigned twins = is_new ? 0 : kithi_cf_matches(f, region, candidates);
    if (twins < candidates->count) {
        if (layout->windows && kithi_cf_store_by_short_search(f, region, candidates))
            return KITH_OK;
        bool proven;
        kith_status status = kithi_cf_free_and_store(layout, f, region, candidates, twins == 0, &proven);
        if (status != KITH_E_FULL || twins == 0 || !proven)
            return status;
    }
    if (kithi_stash_is_full(g, region))
        return KITH_E_COPIES;
    kithi_stash_add(g, region, kithi_stash_entry(layout, g, candidates));
    f->head.fill++;
    return KITH_OK;
}

/* Stores an entry in the region, moving others if necessary. May return KITH_E_COPIES, KITH_E_FULL or KITH_E_MEMORY. */
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
    return kithi_cf_store_in_full_places(layout, f, region, candidates, false);
}

/* kithi_cf_store_in_full_places() for the entry of a digest. */
static inline kith_status kithi_cf_store_by_moving(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest,
                                                   bool is_new) {
    kithi_candidates candidates;
    uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    return kithi_cf_store_in_full_places(layout, f, region, &candidates, is_new);
}

/* Returns why a filter at its capacity refuses this key. */
KITHI_INLINE kith_status kithi_cf_refusal(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    kithi_candidates candidates;
    uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    bool no_more_copies =
        kithi_cf_matches(f, region, &candidates) == candidates.count && kithi_stash_is_full(&f->geometry.cf, region);
    return no_more_copies ? KITH_E_COPIES : KITH_E_FULL;
}

/* Returns the number of copies of a key: `in_slots`, which is the number in slots, plus those in the stash of its
 * region. */
KITHI_OUTLINE uint64_t kithi_cf_copies_with_stash(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest,
                                                  uint64_t in_slots) {
    kithi_candidates candidates;
    const uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    const kithi_cf_geometry *g = &f->geometry.cf;
    return in_slots + kithi_stash_count(g, region, kithi_stash_entry(layout, g, &candidates));
}

/* Removes a key from the stash of its region; returns false if it is not there. */
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

/* Stores all entries of `from` in `into`, which has the same geometry. If this fails, some have been stored. */
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
