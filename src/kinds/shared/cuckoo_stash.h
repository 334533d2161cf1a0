/* kinds/shared/cuckoo_stash.h: the stash of a region, a short list of entries that do not fit in its slots (after
 * Kirsch, Mitzenmacher, Wieder, "More Robust Hashing: Cuckoo Hashing with a Stash", 2009).
 *
 * Keys with the same two places and the same fingerprint have the same c candidate slots. More than c such keys do not
 * fit, however many slots of the region are empty. Wider fingerprints would make this less likely, but cost a bit or
 * more for every key. The stash costs a few words per region (plan/fit.h says how many).
 *
 *     region  | slots | zeros, if any | entry 0 | entry 1 | … | entry g->stash - 1 |        8 bytes each
 *     entry   (the smaller of its two place numbers) * 2^32 + fingerprint; in increasing order, then 0 for unused ones
 *
 * Lookups do not read the stash. An invariant makes this possible: for each entry in the stash, a slot has an entry
 * with the same places and the same fingerprint, its twin. A lookup of a key whose entry is in the stash finds the
 * twin.
 *
 *     add      moves an entry to the stash only if it has a twin in a slot
 *     search   moves an entry between its own candidate slots, so the twin stays
 *     remove   takes an entry of the key from the stash, if there is one, and only otherwise from a slot
 *
 * head.fill is the number of entries in all stashes. If it is 0, remove() and copies() do not read the stash. When
 * several threads build a filter, the handle of each thread counts only the entries that this thread added. A region
 * may be filled by one thread after another, so this fill may be 0 although the stash of the region is in use. copies()
 * then does not count the entries in that stash. A build calls copies() only after KITH_E_COPIES, to decide whether a
 * copy may be left out (add_in_order() in build/fill.c). If the number is too small, the build fails with KITH_E_FULL,
 * and kithi_fill_without_repeats() or fill() of build/builder.c repeats it without threads. remove() depends on fill as
 * well, but a build never removes. */
#ifndef KITHI_FILTERS_CUCKOO_STASH_H
#define KITHI_FILTERS_CUCKOO_STASH_H

#include "kinds/shared/cuckoo_kinds.h"

static inline uint8_t *kithi_stash_word(const kithi_cf_geometry *g, uint8_t *region, uint64_t i) {
    return region + g->stash_at + i * sizeof(uint64_t);
}

static inline uint64_t kithi_stash_get(const kithi_cf_geometry *g, const uint8_t *region, uint64_t i) {
    return kithi_load64(region + g->stash_at + i * sizeof(uint64_t));
}

/* Returns the number of entries in use: those before the first 0. */
static inline uint64_t kithi_stash_used(const kithi_cf_geometry *g, const uint8_t *region) {
    uint64_t used = 0;
    while (used < g->stash && kithi_stash_get(g, region, used) != 0)
        used++;
    return used;
}

static inline bool kithi_stash_is_full(const kithi_cf_geometry *g, const uint8_t *region) {
    return g->stash == 0 || kithi_stash_get(g, region, g->stash - 1) != 0;
}

/* Returns the entry that a key with these candidates has in a stash. */
static inline uint64_t kithi_stash_entry(const kithi_cf_layout *layout, const kithi_cf_geometry *g,
                                         const kithi_candidates *candidates) {
    uint64_t place[2], fingerprint = 0;
    for (unsigned i = 0; i < 2; i++) {
        unsigned first = i * candidates->count / 2;
        (void)layout->decode_entry(g, candidates->slot[first], candidates->code[first], &place[i], &fingerprint);
    }
    return (place[0] < place[1] ? place[0] : place[1]) << 32 | fingerprint;
}

/* Sets *candidates to those of an entry. Returns false for a number that is the entry of no key. */
static inline bool kithi_stash_candidates(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint64_t entry,
                                          kithi_candidates *candidates) {
    uint64_t place = entry >> 32, fingerprint = entry & UINT32_MAX;
    if (place >= g->places || fingerprint == 0 || fingerprint > g->fingerprint_max)
        return false;
    kithi_cf_candidates(layout, g, place, fingerprint, candidates);
    return kithi_stash_entry(layout, g, candidates) == entry;
}

/* Returns how many times the stash has this entry. */
static inline uint64_t kithi_stash_count(const kithi_cf_geometry *g, const uint8_t *region, uint64_t entry) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < g->stash; i++)
        count += kithi_stash_get(g, region, i) == entry;
    return count;
}

/* Adds an entry to a stash that is not full. */
static inline void kithi_stash_add(const kithi_cf_geometry *g, uint8_t *region, uint64_t entry) {
    uint64_t i = kithi_stash_used(g, region);
    for (; i > 0 && kithi_stash_get(g, region, i - 1) > entry; i--)
        kithi_store64(kithi_stash_word(g, region, i), kithi_stash_get(g, region, i - 1));
    kithi_store64(kithi_stash_word(g, region, i), entry);
}

/* Removes one occurrence of this entry; returns false if there is none. */
static inline bool kithi_stash_remove(const kithi_cf_geometry *g, uint8_t *region, uint64_t entry) {
    uint64_t i = 0;
    while (i < g->stash && kithi_stash_get(g, region, i) != entry)
        i++;
    if (i == g->stash)
        return false;
    for (; i < g->stash; i++) {
        uint64_t next = i + 1 < g->stash ? kithi_stash_get(g, region, i + 1) : 0;
        kithi_store64(kithi_stash_word(g, region, i), next);
    }
    return true;
}

#endif
