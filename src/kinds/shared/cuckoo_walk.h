/* kinds/shared/cuckoo_walk.h: the random walk of the original cuckoo filter (Fan et al., 2014), for insert=walk.
 *
 * A new key whose two places are full kicks out a random entry of one of them: it takes the slot of that entry. (Of a
 * random one; with start=first, of the first.) The entry then takes a free slot of its other place or, if there is
 * none, kicks out a random entry there, and so on. A walk has at most `kicks` kicks. The entry that has no slot at the
 * moment is said to be in the hand.
 *
 *     hand = new key    p0 | a b c d |    kick 0: hand takes the slot of c, c goes to its other place
 *     hand = c          p1 | e f g h |    kick 1: hand takes the slot of e, …
 *     hand = e          p2 | i j . k |    a free slot: done
 *
 * The random numbers are computed from the new key's region, first place and fingerprint. These are hashed to 64 bits,
 * the digest of the walk, and kick i uses word i of that digest (kithi_mixed_word in core/mix.h). So no state of a
 * random number generator is needed, and equal operations give equal bytes.
 *
 * Choosing slots this way also makes the walk reversible without a record of it. The entry in the hand came from its
 * other place, and the word of the kick that took it says from which slot. A walk that fails is undone kick by kick,
 * until the hand holds the new key again and every byte is as before. */
#ifndef KITHI_FILTERS_CUCKOO_WALK_H
#define KITHI_FILTERS_CUCKOO_WALK_H

#include "kinds/shared/cuckoo_kinds.h"

/* Returns the index of the first empty slot within the place that begins with slot `first` and has `slots` slots.
 * Returns `slots` if there is none. */
KITHI_INLINE unsigned kithi_cf_empty_slot(const kithi_cf_geometry *g, const uint8_t *region, uint32_t first,
                                          unsigned slots) {
    uint64_t bit = first * g->slot_bits;
    for (unsigned word = 0; word < g->words; word++) {
        uint64_t zero = kithi_zero_slots(g, kithi_cf_word(region, bit + word * g->word_bits, g->form));
        if (zero != 0)
            return (word * g->word_bits + (unsigned)__builtin_ctzll(zero)) / (unsigned)g->slot_bits;
    }
    return slots;
}

typedef struct kithi_walk {
    uint64_t digest; /* its words are the random numbers */
    uint64_t base;   /* the cell of slot 0 of the region, for the trace */
    uint32_t code;   /* the entry in the hand */
    uint32_t first;  /* first slot of the place that the walk has reached */
} kithi_walk;

/* Stores the entry in the hand in a slot that holds `displaced`. */
static inline void kithi_walk_store(const kith_filter *f, uint8_t *region, const kithi_walk *walk, uint32_t slot,
                                    uint32_t displaced) {
    kithi_cf_set(f, region, slot, walk->code);
    if (__builtin_expect(f->trace != NULL, 0))
        f->trace(f->trace_context, walk->base + slot, walk->code, displaced);
}

/* Exchanges the entry in the hand with the one that kick i selects in the place of the walk. */
static inline void kithi_walk_swap(const kith_filter *f, uint8_t *region, kithi_walk *walk, uint64_t i,
                                   unsigned slots) {
    uint32_t slot =
        walk->first + (uint32_t)(kithi_mixed_word(walk->digest, i) & (slots - 1)); /* `slots` is a power of two */
    uint32_t taken = kithi_cf_get(f, region, slot);
    kithi_walk_store(f, region, walk, slot, taken);
    walk->code = taken;
}

/* Moves to the other place of the entry in the hand. */
static inline void kithi_walk_cross(const kithi_cf_layout *layout, const kith_filter *f, kithi_walk *walk,
                                    unsigned slots) {
    uint32_t first[2];
    layout->first_slots(&f->geometry.cf, walk->first / slots, walk->code, first);
    walk->first = first[1];
}

/* Stores the key of `candidates`, whose slots are all taken. Returns KITH_E_FULL, with every byte unchanged, if no free
 * slot is found. For buckets only, where a key has the same code in all its slots. */
static inline kith_status kithi_cf_walk(const kithi_cf_layout *layout, kith_filter *f, uint8_t *region,
                                        const kithi_candidates *candidates) {
    unsigned slots = candidates->count / 2;
    uint64_t kicks = f->geometry.cf.kicks;
    uint64_t region_number =
        (uint64_t)(region - f->body) / kithi_cf_stride(&f->geometry.cf, layout->region_slots(&f->geometry.cf));
    kithi_walk walk = {
        .digest = kithi_mix(kithi_mixed_word(candidates->slot[0] / slots, region_number) ^ candidates->code[0]),
        .base = region_number * layout->region_slots(&f->geometry.cf),
        .code = candidates->code[0],
    };
    bool second = f->geometry.cf.start == 0 && kithi_mixed_word(walk.digest, 0) >> 63 != 0;
    walk.first = candidates->slot[second ? slots : 0];
    for (uint64_t i = 0; i < kicks; i++) {
        kithi_walk_swap(f, region, &walk, i, slots);
        kithi_walk_cross(layout, f, &walk, slots);
        unsigned empty = kithi_cf_empty_slot(&f->geometry.cf, region, walk.first, slots);
        if (empty < slots) {
            kithi_walk_store(f, region, &walk, walk.first + empty, 0);
            return KITH_OK;
        }
    }
    for (uint64_t i = kicks; i-- > 0;) {
        kithi_walk_cross(layout, f, &walk, slots);
        kithi_walk_swap(f, region, &walk, i, slots);
    }
    return KITH_E_FULL;
}

#endif
