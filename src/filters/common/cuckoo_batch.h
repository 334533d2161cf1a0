/* filters/common/cuckoo_batch.h: has, add and remove of the cuckoo kinds, for one key and for batches.
 *
 * The slots of a place are loaded as one word. The slots are adjacent, so one load suffices if they have at most
 * 64 bits in total, including up to 7 bits of another place before them: for b = 4, slots of up to 16 bits; for
 * windows, slots of up to 28 bits, and of 32, where no window begins within a byte. Arithmetic on that word
 * (kithi_zero_slots) compares all slots with the key's code, or finds the empty ones, in parallel. Places that do not
 * fit in a word are handled slot by slot (kithi_cf_…_by_slots). */
#ifndef KITHI_FILTERS_CUCKOO_BATCH_H
#define KITHI_FILTERS_CUCKOO_BATCH_H

#include "filters/common/cuckoo_search.h"

/* How many digests ahead a batch prefetches: half of KITHI_AHEAD, because each digest has two cache lines. */
#define KITHI_CF_AHEAD (KITHI_AHEAD / 2)

/* The pair of places of a key, for access as words. */
typedef struct kithi_cf_pair {
    uint8_t *at[2];    /* where the word that contains the place begins */
    uint32_t shift[2]; /* the bit of that word at which the place begins */
    uint64_t codes;    /* in each slot of a word: the code that the key has there */
} kithi_cf_pair;

/* Finds the places of a digest; prefetches them if `ahead` is true. */
KITHI_INLINE void kithi_pair_locate(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint8_t *body,
                                    uint64_t digest, kithi_cf_pair *pair, bool ahead) {
    kithi_place at = kithi_place_of(digest, g->regions, g->places);
    uint64_t fingerprint = kithi_fingerprint(at, g->fingerprint_max);
    uint32_t first[2];
    layout->first_slots(g, at.place, fingerprint, first);
    pair->codes = kithi_cf_code(layout, fingerprint, 0) * g->low_bits + g->code_steps;
    uint8_t *region = body + at.region * g->stride;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bit = first[i] * g->slot_bits;
        pair->at[i] = region + bit / 8;
        pair->shift[i] = bit % 8;
        if (ahead) {
            __builtin_prefetch(pair->at[i]);
            __builtin_prefetch(pair->at[i] + 7); /* one place in ten crosses a cache line */
        }
    }
}

KITHI_INLINE uint64_t kithi_pair_slots(const kithi_cf_pair *pair, unsigned i) {
    return kithi_load64(pair->at[i]) >> pair->shift[i];
}

KITHI_INLINE bool kithi_pair_has(const kithi_cf_geometry *g, const kithi_cf_pair *pair) {
    return (kithi_zero_slots(g, kithi_pair_slots(pair, 0) ^ pair->codes) |
            kithi_zero_slots(g, kithi_pair_slots(pair, 1) ^ pair->codes)) != 0;
}

/* XORs the key's code into the first slot of place i that `zero` (from kithi_zero_slots) indicates. This stores the
 * code in an empty slot, and empties a slot that holds it. */
KITHI_INLINE void kithi_pair_toggle(const kithi_cf_geometry *g, const kithi_cf_pair *pair, unsigned i, uint64_t zero) {
    unsigned low = (unsigned)__builtin_ctzll(zero) - ((unsigned)g->slot_bits - 1);
    uint64_t slot = ((UINT64_C(1) << g->slot_bits) - 1) << low;
    kithi_store64(pair->at[i], kithi_load64(pair->at[i]) ^ (pair->codes & slot) << pair->shift[i]);
}

/* Stores the key's code in an empty slot; returns false if there is none. */
KITHI_INLINE bool kithi_pair_put(const kithi_cf_layout *layout, const kithi_cf_geometry *g, const kithi_cf_pair *pair) {
    uint64_t zero[2];
    unsigned empty[2];
    for (unsigned i = 0; i < 2; i++) {
        zero[i] = kithi_all_zero_slots(g, kithi_pair_slots(pair, i));
        empty[i] = kithi_count_slots(g, zero[i]);
    }
    if ((zero[0] | zero[1]) == 0)
        return false;
    unsigned i = kithi_cf_prefers_second(layout, empty);
    kithi_pair_toggle(g, pair, i, zero[i]);
    return true;
}

/* Removes the first occurrence of the key's code; returns false if there is none. */
KITHI_INLINE bool kithi_pair_remove(const kithi_cf_geometry *g, const kithi_cf_pair *pair) {
    for (unsigned i = 0; i < 2; i++) {
        uint64_t zero = kithi_zero_slots(g, kithi_pair_slots(pair, i) ^ pair->codes);
        if (zero == 0)
            continue;
        kithi_pair_toggle(g, pair, i, zero);
        return true;
    }
    return false;
}

/* ---- one key ---- */

KITHI_INLINE bool kithi_cf_has(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    if (!g->narrow || layout->windows) /* four slots are compared faster one by one */
        return kithi_cf_has_by_slots(layout, f, digest);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false);
    return kithi_pair_has(g, &pair);
}

/* Adds a key with these places. A key goes to one of its empty slots, or other entries move to free one. If that fails,
 * kithi_cf_add_by_slots is called to find out which error to return. `g` is f->geometry.cf or a copy of it. */
KITHI_INLINE kith_status kithi_cf_add_pair(const kithi_cf_layout *layout, kith_filter *f, const kithi_cf_geometry *g,
                                           const kithi_cf_pair *pair, uint64_t digest, bool *was_new) {
    *was_new = !kithi_pair_has(g, pair);
    kith_status status = KITH_E_FULL;
    if (f->head.count < f->head.capacity) {
        status = kithi_pair_put(layout, g, pair) ? KITH_OK : kithi_cf_store_by_moving(layout, f, digest);
        f->head.count += status == KITH_OK;
    }
    if (status != KITH_OK && status != KITH_E_MEMORY)
        status = kithi_cf_add_by_slots(layout, f, digest, was_new);
    return status;
}

KITHI_INLINE kith_status kithi_cf_add(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest, bool *was_new) {
    bool ignored;
    was_new = was_new != NULL ? was_new : &ignored;
    const kithi_cf_geometry *g = &f->geometry.cf;
    if (!g->narrow)
        return kithi_cf_add_by_slots(layout, f, digest, was_new);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false);
    return kithi_cf_add_pair(layout, f, g, &pair, digest, was_new);
}

KITHI_INLINE kith_status kithi_cf_remove_pair(kith_filter *f, const kithi_cf_geometry *g, const kithi_cf_pair *pair) {
    if (f->head.count == 0 || !kithi_pair_remove(g, pair))
        return KITH_E_ABSENT;
    f->head.count--;
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_cf_remove(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    if (!g->narrow)
        return kithi_cf_remove_by_slots(layout, f, digest);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false);
    return kithi_cf_remove_pair(f, g, &pair);
}

/* ---- batches ---- */

/* Batches work on a copy of the geometry: stores to slots and bitmaps cannot alias it, so it is not reloaded for every
 * key. `ahead` holds the places of the next digests; this locates those of the first ones. */
KITHI_INLINE void kithi_cf_begin(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint8_t *body,
                                 const uint64_t *digests, size_t n, kithi_cf_pair *ahead) {
    for (size_t i = 0; i < n && i < KITHI_CF_AHEAD && g->narrow; i++)
        kithi_pair_locate(layout, g, body, digests[i], &ahead[i], true);
}

KITHI_INLINE size_t kithi_cf_has_many(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests,
                                      size_t n, uint64_t *maybe) {
    const kithi_cf_geometry g = f->geometry.cf;
    uint8_t *body = f->body;
    bool narrow = g.narrow;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    size_t yes = 0;
    kithi_cf_begin(layout, &g, body, digests, n, ahead);
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count && narrow; i++) {
            kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
            word |= (uint64_t)kithi_pair_has(&g, pair) << i;
            if (n - from - i > KITHI_CF_AHEAD)
                kithi_pair_locate(layout, &g, body, digests[from + i + KITHI_CF_AHEAD], pair, true);
        }
        for (size_t i = 0; i < count && !narrow; i++)
            word |= (uint64_t)kithi_cf_has_by_slots(layout, f, digests[from + i]) << i;
        if (maybe != NULL)
            maybe[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

KITHI_INLINE kith_status kithi_cf_add_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                           size_t n, uint64_t *was_new, size_t *done) {
    const kithi_cf_geometry g = f->geometry.cf;
    uint8_t *body = f->body;
    bool narrow = g.narrow;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    kithi_cf_begin(layout, &g, body, digests, n, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
        bool is_new;
        kith_status status = narrow ? kithi_cf_add_pair(layout, f, &g, pair, digests[i], &is_new)
                                    : kithi_cf_add_by_slots(layout, f, digests[i], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, i, is_new);
        ++*done;
        if (narrow && n - i > KITHI_CF_AHEAD)
            kithi_pair_locate(layout, &g, body, digests[i + KITHI_CF_AHEAD], pair, true);
    }
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_cf_remove_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                              size_t n, size_t *done) {
    const kithi_cf_geometry g = f->geometry.cf;
    uint8_t *body = f->body;
    bool narrow = g.narrow;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    kithi_cf_begin(layout, &g, body, digests, n, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
        kith_status status =
            narrow ? kithi_cf_remove_pair(f, &g, pair) : kithi_cf_remove_by_slots(layout, f, digests[i]);
        if (status != KITH_OK)
            return status;
        ++*done;
        if (narrow && n - i > KITHI_CF_AHEAD)
            kithi_pair_locate(layout, &g, body, digests[i + KITHI_CF_AHEAD], pair, true);
    }
    return KITH_OK;
}

#endif
