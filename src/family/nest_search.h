/* family/nest_search.h: verbs that change a nest, and the search for room. See nest.h for the layout.
 *
 * The search goes breadth-first from the slots of the new key. An entry can go to a free slot of its other place, and,
 * where places are windows, to the other slot of its own window; if there is none, the entries there are queued. The lines
 * of the next few entries in the queue are asked for: by the time their turn comes, they are there. `seen` has a
 * bit for each slot of a region. It and the queue are allocated when the first search needs them and kept in the handle:
 * a bit for each slot of a region and 16 bytes for each slot that may be queued, 4,096 at first. A search that needs
 * more starts again with eight times as many.
 *
 * All of it is compiled into each kind, with the kind's own functions: near the end one add in three searches, and a
 * search decodes some ten entries. */
#ifndef KITHI_FAMILY_NEST_SEARCH_H
#define KITHI_FAMILY_NEST_SEARCH_H

#include <assert.h>
#include <string.h>

#include "family/nest.h"

typedef struct kithi_search_entry {
    uint32_t slot;
    uint32_t parent;   /* place in the queue of the entry that could go here */
    uint32_t first[2]; /* slots of the places that this entry can go to: its own and the other */
} kithi_search_entry;

typedef struct kithi_search {
    uint64_t region_slots;
    uint32_t limit;
    kithi_search_entry *queue;
    uint64_t *seen;
    uint64_t bytes; /* of this allocation: the arrays lie behind the struct */
    bool was_full;  /* the last search met the limit */
} kithi_search;
static_assert(sizeof(kithi_search) % sizeof(uint64_t) == 0, "the arrays behind it are aligned");

/* Slots that a search looks at before it gives up: all of a region, but for b = 1, whose one region may be larger and
 * whose searches are short. At a load of 0.95 windows take 4,500 at worst and 8 on average; the last keys of a region
 * that got more than its share can need 80,000. */
#define KITHI_SEARCH_MAX (UINT32_C(1) << 18)
#define KITHI_SEARCH_FIRST 4096

#define KITHI_NO_PARENT UINT32_MAX

/* Entries whose lines are on their way. (In cache 1 to 4 are alike; out of it 3 took 0.65 of the time of 1.) */
#define KITHI_AIM_AHEAD 3

static inline uint32_t kithi_search_limit(uint64_t region_slots, uint64_t limit) {
    limit = limit < KITHI_SEARCH_MAX ? limit : KITHI_SEARCH_MAX;
    return (uint32_t)(region_slots < limit ? region_slots : limit);
}

/* A search for at most `limit` slots. */
static inline kithi_search *kithi_search_new(const kith_allocator *allocator, uint64_t region_slots, uint32_t limit) {
    uint64_t seen_words = region_slots / 64 + 1;
    uint64_t bytes = sizeof(kithi_search) + 8 * seen_words + sizeof(kithi_search_entry) * (uint64_t)limit;
    kithi_search *s = kithi_allocate(allocator, bytes);
    if (s == NULL)
        return NULL;
    s->region_slots = region_slots;
    s->limit = limit;
    s->bytes = bytes;
    s->seen = (uint64_t *)(s + 1);
    s->queue = (kithi_search_entry *)(s->seen + seen_words);
    return s;
}

/* Queues a slot. False: it was seen before, or the queue is full. */
KITHI_INLINE bool kithi_search_visit(kithi_search *s, uint32_t *tail, uint32_t slot, uint32_t parent) {
    uint64_t bit = UINT64_C(1) << (slot % 64);
    if ((s->seen[slot / 64] & bit) != 0 || *tail == s->limit)
        return false;
    s->seen[slot / 64] |= bit;
    s->queue[*tail].slot = slot;
    s->queue[*tail].parent = parent;
    (*tail)++;
    return true;
}

/* Finds out where a queued entry can go, and asks for the line. */
KITHI_INLINE void kithi_search_aim(const kithi_nest *nest, const kith_filter *f, const uint8_t *region,
                                   kithi_search_entry *entry) {
    uint64_t place, fingerprint;
    entry->first[0] = entry->first[1] = entry->slot; /* a code that no key has goes nowhere */
    if (!nest->decode(&f->head, entry->slot, kithi_nest_get(f, region, entry->slot), &place, &fingerprint))
        return;
    nest->first_slots(&f->head, place, fingerprint, entry->first);
    __builtin_prefetch(region + (uint64_t)entry->first[1] * f->head.params[KITHI_SLOT_BITS] / 8);
}

static inline bool kithi_nest_ways_of_entry(const kithi_nest *nest, const kith_filter *f, uint32_t slot, uint32_t code,
                                            kithi_ways *ways) {
    uint64_t place, fingerprint;
    if (!nest->decode(&f->head, slot, code, &place, &fingerprint))
        return false;
    kithi_nest_ways(nest, &f->head, place, fingerprint, ways);
    return true;
}

/* Moves the entries along the chain that ends in the queue's place `last` by one each; answers the slot that became
 * free, one of the roots. */
static inline uint32_t kithi_search_shift(const kithi_nest *nest, kith_filter *f, uint8_t *region,
                                          const kithi_search *s, uint32_t last) {
    uint32_t slots = nest->place_slots(&f->head);
    const kithi_search_entry *to = &s->queue[last];
    while (to->parent != KITHI_NO_PARENT) {
        const kithi_search_entry *from = &s->queue[to->parent];
        uint32_t in_own = to->slot - from->first[0], in_other = to->slot - from->first[1];
        uint64_t fingerprint = kithi_nest_get(f, region, from->slot) >> nest->code_bits;
        kithi_nest_set(f, region, to->slot, kithi_nest_code(nest, fingerprint, in_own < slots ? in_own : in_other));
        to = from;
    }
    return to->slot;
}

/* The first empty slot among those of a place, counted from the first; `slots` when there is none. `frame` is NULL when
 * a place does not fit in a word. */
KITHI_INLINE unsigned kithi_nest_empty_slot(const kith_filter *f, const kithi_nest_frame *frame, const uint8_t *region,
                                            uint32_t first, unsigned slots) {
    unsigned i = 0;
    if (frame == NULL) {
        while (i < slots && kithi_nest_get(f, region, first + i) != 0)
            i++;
        return i;
    }
    uint64_t zero = kithi_zero_slots(frame, kithi_nest_slots(frame, region, first));
    return zero == 0 ? slots : (unsigned)__builtin_ctzll(zero) / frame->slot_bits;
}

/* Queues the slots that the entry in the queue's place `at` can go to. True when the last one queued is empty. */
KITHI_INLINE bool kithi_search_expand(const kithi_nest *nest, const kith_filter *f, const kithi_nest_frame *frame,
                                      const uint8_t *region, kithi_search *s, uint32_t at, uint32_t *tail) {
    unsigned slots = nest->place_slots(&f->head);
    const uint32_t first[2] = {s->queue[at].first[0], s->queue[at].first[1]};
    if (first[0] == first[1])
        return false;
    unsigned empty = kithi_nest_empty_slot(f, frame, region, first[1], slots);
    if (!nest->windows) {
        /* The slots of a bucket are queued together, or none of them; those of its own are there. */
        bool is_new = kithi_search_visit(s, tail, first[1], at);
        for (unsigned i = 1; i < slots && i <= empty && is_new; i++)
            (void)kithi_search_visit(s, tail, first[1] + i, at);
        return is_new && empty < slots;
    }
    for (unsigned i = 0; i < slots; i++)
        if (kithi_search_visit(s, tail, first[0] + i, at) && kithi_nest_get(f, region, first[0] + i) == 0)
            return true;
    for (unsigned i = 0; i < slots; i++)
        if (kithi_search_visit(s, tail, first[1] + i, at) && i == empty)
            return true;
    return false;
}

/* Breadth-first from the roots, within the limit of `s`. */
KITHI_INLINE kith_status kithi_search_from(const kithi_nest *nest, kith_filter *f, const kithi_nest_frame *frame,
                                           uint8_t *region, const kithi_ways *roots, kithi_search *s, uint32_t *freed) {
    uint32_t tail = 0, aimed = 0;
    for (unsigned i = 0; i < roots->count; i++)
        (void)kithi_search_visit(s, &tail, roots->slot[i], KITHI_NO_PARENT);
    kith_status status = KITH_E_FULL;
    for (uint32_t at = 0; at < tail; at++) {
        for (; aimed < tail && aimed < at + KITHI_AIM_AHEAD; aimed++)
            kithi_search_aim(nest, f, region, &s->queue[aimed]);
        if (kithi_search_expand(nest, f, frame, region, s, at, &tail)) {
            *freed = kithi_search_shift(nest, f, region, s, tail - 1);
            status = KITH_OK;
            break;
        }
    }
    for (uint32_t i = 0; i < tail; i++)
        s->seen[s->queue[i].slot / 64] = 0;
    s->was_full = tail == s->limit;
    return status;
}

/* Frees one of the slots of `roots`, which are all taken, and puts the new code there. */
static inline kith_status kithi_nest_make_room(const kithi_nest *nest, kith_filter *f, const kithi_nest_frame *frame,
                                               uint8_t *region, const kithi_ways *roots) {
    uint32_t freed = 0;
    kithi_search *s = f->state;
    for (;;) {
        if (s != NULL) {
            kith_status status = kithi_search_from(nest, f, frame, region, roots, s, &freed);
            for (unsigned i = 0; i < roots->count && status == KITH_OK; i++)
                if (roots->slot[i] == freed)
                    kithi_nest_set(f, region, freed, roots->code[i]);
            if (status == KITH_OK || !s->was_full || s->limit == kithi_search_limit(s->region_slots, KITHI_SEARCH_MAX))
                return status;
        }
        uint64_t region_slots = nest->region_slots(&f->head);
        uint32_t limit = kithi_search_limit(region_slots, s == NULL ? KITHI_SEARCH_FIRST : 8 * (uint64_t)s->limit);
        kithi_search *larger = kithi_search_new(&f->allocator, region_slots, limit);
        if (larger == NULL)
            return KITH_E_MEMORY;
        kithi_nest_detach(f);
        f->state = s = larger;
    }
}

/* Puts an entry into the region, moving others if need be. KITH_E_COPIES, KITH_E_FULL, KITH_E_MEMORY. */
KITHI_INLINE kith_status kithi_nest_put(const kithi_nest *nest, kith_filter *f, uint8_t *region,
                                        const kithi_ways *ways) {
    for (unsigned i = 0; i < ways->count; i++) {
        if (kithi_nest_get(f, region, ways->slot[i]) == 0) {
            kithi_nest_set(f, region, ways->slot[i], ways->code[i]);
            return KITH_OK;
        }
    }
    if (kithi_nest_matches(f, region, ways) == ways->count)
        return KITH_E_COPIES;
    return kithi_nest_make_room(nest, f, NULL, region, ways);
}

/* Puts a key none of whose slots is empty. KITH_E_COPIES, KITH_E_FULL, KITH_E_MEMORY. */
static inline kith_status kithi_nest_squeeze(const kithi_nest *nest, kith_filter *f, const kithi_nest_frame *frame,
                                             uint64_t digest) {
    kithi_ways ways;
    uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    if (kithi_nest_matches(f, region, &ways) == ways.count)
        return KITH_E_COPIES;
    return kithi_nest_make_room(nest, f, frame, region, &ways);
}

KITHI_INLINE kith_status kithi_nest_add(const kithi_nest *nest, kith_filter *f, uint64_t digest, bool *was_new) {
    kithi_ways ways;
    uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    unsigned copies = kithi_nest_matches(f, region, &ways);
    if (copies == ways.count)
        return KITH_E_COPIES;
    if (f->head.count >= f->head.capacity)
        return KITH_E_FULL;
    kith_status status = kithi_nest_put(nest, f, region, &ways);
    /* With room elsewhere, it is copies of this key (or keys that share its places) that fill its corner. */
    if (status == KITH_E_FULL && copies != 0)
        return KITH_E_COPIES;
    if (status == KITH_OK) {
        f->head.count++;
        *was_new = copies == 0;
    }
    return status;
}

static inline kith_status kithi_nest_remove(const kithi_nest *nest, kith_filter *f, uint64_t digest) {
    kithi_ways ways;
    uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    for (unsigned i = 0; i < ways.count && f->head.count > 0; i++) {
        if (kithi_nest_get(f, region, ways.slot[i]) == ways.code[i]) {
            kithi_nest_set(f, region, ways.slot[i], 0);
            f->head.count--;
            return KITH_OK;
        }
    }
    return KITH_E_ABSENT;
}

static inline kith_status kithi_nest_put_all(const kithi_nest *nest, kith_filter *into, const kith_filter *from) {
    uint64_t region_slots = nest->region_slots(&into->head);
    for (uint64_t r = 0; r < into->head.params[KITHI_REGIONS]; r++) {
        uint8_t *to = kithi_nest_region(nest, into, r);
        const uint8_t *source = kithi_nest_region(nest, from, r);
        for (uint64_t slot = 0; slot < region_slots; slot++) {
            kithi_ways ways = {0};
            uint32_t code = kithi_nest_get(from, source, (uint32_t)slot);
            if (code == 0 || !kithi_nest_ways_of_entry(nest, from, (uint32_t)slot, code, &ways))
                continue;
            kith_status status = kithi_nest_put(nest, into, to, &ways);
            if (status != KITH_OK)
                return status;
        }
    }
    return KITH_OK;
}

static inline kith_status kithi_nest_merge(const kithi_nest *nest, kith_filter *into, const kith_filter *from) {
    if (from->head.count > into->head.capacity - into->head.count)
        return KITH_E_FULL;
    uint8_t *before = kithi_allocate(&into->allocator, into->head.body_bytes);
    if (before == NULL)
        return KITH_E_MEMORY;
    memcpy(before, into->body, (size_t)into->head.body_bytes);
    kith_status status = kithi_nest_put_all(nest, into, from);
    if (status == KITH_OK)
        into->head.count += from->head.count;
    else
        memcpy(into->body, before, (size_t)into->head.body_bytes);
    kithi_release(&into->allocator, before, into->head.body_bytes);
    return status;
}

#endif
