/* kinds/shared/cuckoo_kinds.h: the code that the cuckoo kinds share: fingerprints in packed slots, and how to find
 * them.
 *
 *     body    | region 0 | region 1 |  …  | region R-1 |
 *     region  | slot 0 | slot 1 | … (slot_bits each, packed) | zeros | stash |        a multiple of 64 bytes in all
 *
 * cf stands for cuckoo filter. A place is a bucket of cuckoo or a window of overlap. A region has 2 * half places. The
 * places with even numbers are one half, and those with odd numbers are the other. A key has one place in each half
 * (except in cuckoo with alternate=simple or alternate=xor, where both may be in the same half). The digest of a key
 * gives its region, its first place there and its fingerprint. A place and a fingerprint determine the candidates of
 * the key: the slots in which it may be stored, and the code that it has in each of them. Code 0 is an empty slot. A
 * slot that is not empty holds an entry. has() returns true when one of the candidate slots holds the key's code.
 *
 * Regions share no byte, not even in 8-byte loads and stores, so threads can build them independently. Plans give a
 * region at most 2^18 slots, which keeps a search in cache (more only in cuckoo with one slot per bucket, b = 1, or
 * with alternate=xor).
 *
 * If all candidate slots of a new key are taken, a breadth-first search from them finds the shortest chain of entries
 * in which each entry can move to the slot of the next one, and the last to an empty slot. Nothing moves until the
 * chain is found, so a failed search leaves every byte unchanged. The number of slots that a search visits is bounded
 * (kinds/shared/cuckoo_search.h). cuckoo can use a random walk instead, which is undone if it fails
 * (kinds/shared/cuckoo_walk.h).
 *
 * If the search fails because too many keys have the same places and the same fingerprint, one of these keys goes to
 * the stash of the region, a short list of entries (kinds/shared/cuckoo_stash.h). Lookups do not read the stash,
 * because each entry in it is equal to one in a slot.
 *
 * A kind defines a kithi_cf_layout. It says where the two places of a key are and which code the key has there, and
 * converts a slot and its code back to a place and a fingerprint (`decode_entry`). A lazily opened body may hold any
 * code in any slot, so decode_entry() returns false for a code that no key can have there. */
#ifndef KITHI_FILTERS_CUCKOO_H
#define KITHI_FILTERS_CUCKOO_H

#include <assert.h>

#include "plan/fit.h"
#include "core/batch.h"
#include "core/mix.h"
#include "kinds/shared/cf_lookup.h"
#include "kinds/kind.h"

/* The candidates of a key: first the slots of one place, then those of the other, which has the same number of
 * slots. */
typedef struct kithi_candidates {
    unsigned count;
    uint32_t slot[KITHI_CANDIDATES_MAX]; /* number of the slot in the region */
    uint32_t code[KITHI_CANDIDATES_MAX]; /* the code that the key has there */
} kithi_candidates;

static inline void kithi_cf_candidates(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint64_t place,
                                       uint64_t fingerprint, kithi_candidates *candidates) {
    unsigned slots = layout->place_slots(g);
    assert(slots >= 1 && slots <= KITHI_CANDIDATES_MAX / 2); /* shape() of the kind refuses other numbers */
    uint32_t first[2];
    layout->first_slots(g, place, fingerprint, first);
    candidates->count = 2 * slots;
    for (unsigned i = 0; i < slots; i++) {
        candidates->slot[i] = first[0] + i;
        candidates->slot[slots + i] = first[1] + i;
        candidates->code[i] = candidates->code[slots + i] = kithi_cf_code(layout, fingerprint, i);
    }
}

static inline uint8_t *kithi_cf_region(const kithi_cf_layout *layout, const kith_filter *f, uint64_t region) {
    (void)layout;
    return f->body + region * f->geometry.cf.stride;
}

static inline uint32_t kithi_cf_get(const kith_filter *f, const uint8_t *region, uint32_t slot) {
    return (uint32_t)kithi_field_get(region, slot, (unsigned)f->geometry.cf.slot_bits);
}

static inline void kithi_cf_set(const kith_filter *f, uint8_t *region, uint32_t slot, uint32_t code) {
    kithi_field_set(region, slot, (unsigned)f->geometry.cf.slot_bits, code);
}

/* ---- places as words ---- */

/* Like kithi_zero_slots(), but exact: returns a word in which the highest bit is set in every slot that is 0, and in no
 * other slot. */
KITHI_INLINE uint64_t kithi_exact_zero_slots(const kithi_cf_geometry *g, uint64_t slots) {
    uint64_t below = g->high_bits - g->low_bits; /* in each slot, all bits except the highest */
    return ~(((slots & below) + below) | slots) & g->high_bits;
}

/* Returns how many slots have their highest bit set. No other bits may be set. The multiplication adds up these bits in
 * the last slot of the word. */
KITHI_INLINE unsigned kithi_count_slots(const kithi_cf_geometry *g, uint64_t highest_bits) {
    uint64_t sums = (highest_bits >> (g->slot_bits - 1)) * g->low_bits;
    return (unsigned)(sums >> g->last_shift & ((UINT64_C(1) << g->slot_bits) - 1));
}

/* ---- a digest ---- */

/* Returns the region of a digest and sets *candidates. */
static inline uint8_t *kithi_cf_locate(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest,
                                       kithi_candidates *candidates) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    kithi_place at = kithi_place_of(digest, g->regions, g->places, (unsigned)g->rest_shift);
    kithi_cf_candidates(layout, g, at.place, kithi_fingerprint(at, g->fingerprint_max), candidates);
    return kithi_cf_region(layout, f, at.region);
}

/* As kithi_kind.look: like has(), but calls `report` for each cell that it reads. */
static inline bool kithi_cf_look(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest, kith_look report,
                                 void *context) {
    kithi_candidates candidates;
    const uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
    uint64_t region_slots = layout->region_slots(&f->geometry.cf);
    uint64_t first = kithi_mulhi(digest, f->geometry.cf.regions) * region_slots;
    bool found = false;
    for (unsigned i = 0; i < candidates.count; i++) {
        uint32_t code = kithi_cf_get(f, region, candidates.slot[i]);
        report(context, first + candidates.slot[i], code, candidates.code[i]);
        found |= code == candidates.code[i];
    }
    return found;
}

static inline uint64_t kithi_cf_cell(const kithi_cf_layout *layout, const kith_filter *f, uint64_t cell) {
    uint64_t region_slots = layout->region_slots(&f->geometry.cf);
    return kithi_cf_get(f, kithi_cf_region(layout, f, cell / region_slots), (uint32_t)(cell % region_slots));
}

/* Returns how many of the candidate slots hold the key's code. */
static inline unsigned kithi_cf_matches(const kith_filter *f, const uint8_t *region,
                                        const kithi_candidates *candidates) {
    unsigned matches = 0;
    for (unsigned i = 0; i < candidates->count; i++)
        matches += kithi_cf_get(f, region, candidates->slot[i]) == candidates->code[i];
    return matches;
}

/* Sets cells_used, and sets rate_now to the exact rate, which takes a pass over all slots. */
KITHI_INLINE void kithi_cf_stats(const kithi_cf_layout *layout, const kith_filter *f, kith_filter_stats *stats) {
    uint64_t region_slots = layout->region_slots(&f->geometry.cf), regions = f->geometry.cf.regions;
    /* entries[m]: number of entries with m - 1 others that have the same places and the same fingerprint */
    uint64_t entries[KITHI_CANDIDATES_MAX + 1] = {0};
    for (uint64_t r = 0; r < regions; r++) {
        const uint8_t *region = kithi_cf_region(layout, f, r);
        for (uint64_t slot = 0; slot < region_slots; slot++) {
            uint32_t code = kithi_cf_get(f, region, (uint32_t)slot);
            uint64_t place, fingerprint;
            if (code == 0 || !layout->decode_entry(&f->geometry.cf, (uint32_t)slot, code, &place, &fingerprint))
                continue;
            kithi_candidates candidates;
            kithi_cf_candidates(layout, &f->geometry.cf, place, fingerprint, &candidates);
            entries[kithi_cf_matches(f, region, &candidates)]++;
        }
    }
    /* An absent key is a false positive if an entry has its places and fingerprint. So the rate depends on the number
     * of distinct entries: m equal ones count once. */
    double distinct = 0;
    for (unsigned m = 1; m <= KITHI_CANDIDATES_MAX; m++)
        distinct += (double)entries[m] / m;
    /* The number of combinations of a pair of places and a fingerprint: see plan/fit.h. */
    double combinations = (double)regions * (double)f->geometry.cf.half * (double)f->geometry.cf.fingerprint_max;
    stats->cells_used = f->head.count > f->head.fill ? f->head.count - f->head.fill : 0; /* the others are in stashes */
    stats->rate_now = distinct / combinations;
}

/* The functions check, salvage and recount of kithi_kind. */
const char *kithi_cf_check(const kithi_cf_layout *layout, const kith_filter *f);
kith_status kithi_cf_salvage(const kithi_cf_layout *layout, kith_filter *f, kithi_damage *damage);
void kithi_cf_recount(const kithi_cf_layout *layout, kith_filter *f);

/* choose and expect of the cuckoo kinds. slot_bits 0 means as many as the rate needs. */
kith_status kithi_cf_choose(kithi_fit_layout fit, const kithi_request *request, unsigned slot_bits, kithi_head *head);
kithi_expectation kithi_cf_expect(const kithi_cf_layout *layout, kithi_fit_layout fit, const kithi_cf_geometry *g,
                                  uint64_t n);

#define KITHI_CF_CAPABILITIES (KITH_CAN_ADD | KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE)

#endif
