/* filters/common/cuckoo_batch.h: has_many, add_many and remove_many of the cuckoo kinds.
 *
 * A batch loads the slots of a place as one word. The slots are adjacent, so one load suffices if they have at most
 * 64 bits in total, including up to 7 bits of another place before them: for b = 4, slots of up to 16 bits; for
 * windows, slots of up to 28 bits, and of 32, where no window begins within a byte. Arithmetic on that word
 * (kithi_zero_slots) compares all slots with the key's code, or finds the empty ones, in parallel. Places that do not
 * fit in a word are handled by the functions for single keys. */
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

/* Finds the places of a digest and prefetches them. */
KITHI_INLINE void kithi_pair_locate(const kithi_cf_layout *layout, const kithi_cf_constants *constants, uint64_t digest,
                                    kithi_cf_pair *pair) {
    kithi_place at = kithi_place_of(digest, constants->regions, constants->places);
    uint64_t fingerprint = kithi_fingerprint(at, constants->fingerprint_max);
    uint32_t first[2];
    layout->first_slots(&constants->geometry, at.place, fingerprint, first);
    pair->codes = kithi_cf_code(layout, fingerprint, 0) * constants->low_bits + constants->code_steps;
    uint8_t *region = constants->body + at.region * constants->stride;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bit = (uint64_t)first[i] * constants->slot_bits;
        pair->at[i] = region + bit / 8;
        pair->shift[i] = bit % 8;
        __builtin_prefetch(region + bit / 8);
        __builtin_prefetch(region + bit / 8 + 7); /* one place in ten crosses a cache line */
    }
}

KITHI_INLINE uint64_t kithi_pair_slots(const kithi_cf_pair *pair, unsigned i) {
    return kithi_load64(pair->at[i]) >> pair->shift[i];
}

KITHI_INLINE bool kithi_pair_has(const kithi_cf_constants *constants, const kithi_cf_pair *pair) {
    return (kithi_zero_slots(constants, kithi_pair_slots(pair, 0) ^ pair->codes) |
            kithi_zero_slots(constants, kithi_pair_slots(pair, 1) ^ pair->codes)) != 0;
}

/* XORs the key's code into the first slot of place i that `zero` (from kithi_zero_slots) indicates. This stores the
 * code in an empty slot, and empties a slot that holds it. */
KITHI_INLINE void kithi_pair_toggle(const kithi_cf_constants *constants, const kithi_cf_pair *pair, unsigned i,
                                    uint64_t zero) {
    unsigned low = (unsigned)__builtin_ctzll(zero) - (constants->slot_bits - 1);
    uint64_t slot = ((UINT64_C(1) << constants->slot_bits) - 1) << low;
    kithi_store64(pair->at[i], kithi_load64(pair->at[i]) ^ (pair->codes & slot) << pair->shift[i]);
}

/* Stores the key's code in an empty slot; returns false if there is none. */
KITHI_INLINE bool kithi_pair_put(const kithi_cf_layout *layout, const kithi_cf_constants *constants,
                                 const kithi_cf_pair *pair) {
    uint64_t zero[2];
    unsigned empty[2];
    for (unsigned i = 0; i < 2; i++) {
        zero[i] = kithi_all_zero_slots(constants, kithi_pair_slots(pair, i));
        empty[i] = kithi_count_slots(constants, zero[i]);
    }
    if ((zero[0] | zero[1]) == 0)
        return false;
    unsigned i = kithi_cf_prefers_second(layout, empty);
    kithi_pair_toggle(constants, pair, i, zero[i]);
    return true;
}

/* Removes the first occurrence of the key's code; returns false if there is none. */
KITHI_INLINE bool kithi_pair_remove(const kithi_cf_constants *constants, const kithi_cf_pair *pair) {
    for (unsigned i = 0; i < 2; i++) {
        uint64_t zero = kithi_zero_slots(constants, kithi_pair_slots(pair, i) ^ pair->codes);
        if (zero == 0)
            continue;
        kithi_pair_toggle(constants, pair, i, zero);
        return true;
    }
    return false;
}

/* Prepares a batch: its constants, and the pairs of its first digests in `ahead`. Returns false, without pairs, if a
 * place does not fit in a word. */
KITHI_INLINE bool kithi_cf_begin(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests, size_t n,
                                 kithi_cf_constants *constants, kithi_cf_pair *ahead) {
    if (!kithi_cf_constants_of(layout, f, constants))
        return false;
    for (size_t i = 0; i < n && i < KITHI_CF_AHEAD; i++)
        kithi_pair_locate(layout, constants, digests[i], &ahead[i]);
    return true;
}

KITHI_INLINE size_t kithi_cf_has_many(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests,
                                      size_t n, uint64_t *maybe) {
    kithi_cf_constants constants;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    bool narrow = kithi_cf_begin(layout, f, digests, n, &constants, ahead);
    size_t yes = 0;
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count && narrow; i++) {
            kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
            word |= (uint64_t)kithi_pair_has(&constants, pair) << i;
            if (n - from - i > KITHI_CF_AHEAD)
                kithi_pair_locate(layout, &constants, digests[from + i + KITHI_CF_AHEAD], pair);
        }
        for (size_t i = 0; i < count && !narrow; i++)
            word |= (uint64_t)kithi_cf_has(layout, f, digests[from + i]) << i;
        if (maybe != NULL)
            maybe[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

/* A key goes to one of its empty slots, or other entries move to free one. If that fails, kithi_cf_add is called to
 * find out which error to return. */
KITHI_INLINE kith_status kithi_cf_add_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                           size_t n, uint64_t *was_new, size_t *done) {
    kithi_cf_constants constants;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    bool narrow = kithi_cf_begin(layout, f, digests, n, &constants, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
        bool is_new = narrow && !kithi_pair_has(&constants, pair);
        kith_status status = KITH_E_FULL;
        if (narrow && f->head.count < f->head.capacity) {
            status = kithi_pair_put(layout, &constants, pair)
                         ? KITH_OK
                         : kithi_cf_store_by_moving(layout, f, &constants, digests[i]);
            f->head.count += status == KITH_OK;
        }
        if (status != KITH_OK && status != KITH_E_MEMORY)
            status = kithi_cf_add(layout, f, digests[i], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, i, is_new);
        ++*done;
        if (narrow && n - i > KITHI_CF_AHEAD)
            kithi_pair_locate(layout, &constants, digests[i + KITHI_CF_AHEAD], pair);
    }
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_cf_remove_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                              size_t n, size_t *done) {
    kithi_cf_constants constants;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    bool narrow = kithi_cf_begin(layout, f, digests, n, &constants, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
        kith_status status = KITH_OK;
        if (!narrow)
            status = kithi_cf_remove(layout, f, digests[i]);
        else if (f->head.count > 0 && kithi_pair_remove(&constants, pair))
            f->head.count--;
        else
            status = KITH_E_ABSENT;
        if (status != KITH_OK)
            return status;
        ++*done;
        if (narrow && n - i > KITHI_CF_AHEAD)
            kithi_pair_locate(layout, &constants, digests[i + KITHI_CF_AHEAD], pair);
    }
    return KITH_OK;
}

#endif
