/* filters/common/cuckoo_batch.h: has_many, add_many and remove_many of the cuckoo kinds.
 *
 * A batch loads the slots of a place as one word. The slots are adjacent, so one load suffices if they have at most
 * 64 bits in total: up to 16 bits per slot for b = 4, and 28 (or 32) for windows. Arithmetic on that word
 * (kithi_zero_slots) compares all slots with the code, or finds the empty ones, in parallel. Wider slots use the code
 * for single keys. */
#ifndef KITHI_FILTERS_CUCKOO_BATCH_H
#define KITHI_FILTERS_CUCKOO_BATCH_H

#include "filters/common/cuckoo_search.h"

/* How many digests ahead a batch prefetches: half of KITHI_AHEAD, because each digest has two cache lines. */
#define KITHI_CF_AHEAD (KITHI_AHEAD / 2)

/* The two places of a key: the address of the word that holds each, and the bit of that word at which it begins. */
typedef struct kithi_spot {
    uint8_t *at[2];
    uint64_t codes; /* the key's code in each slot of a place, as in the word */
    uint32_t shift[2];
} kithi_spot;

/* Finds the places of a digest and prefetches them. */
KITHI_INLINE void kithi_cf_spot(const kithi_cf_layout *layout, const kithi_cf_frame *frame, uint64_t digest,
                                kithi_spot *spot) {
    kithi_place at = kithi_place_of(digest, frame->regions, frame->places);
    uint64_t fingerprint = kithi_fingerprint(at, frame->top);
    uint32_t first[2];
    layout->first_slots(&frame->geometry, at.place, fingerprint, first);
    spot->codes = kithi_cf_code(layout, fingerprint, 0) * frame->ones + frame->steps;
    uint8_t *region = frame->body + at.region * frame->stride;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bit = (uint64_t)first[i] * frame->slot_bits;
        spot->at[i] = region + bit / 8;
        spot->shift[i] = bit % 8;
        __builtin_prefetch(region + bit / 8);
        __builtin_prefetch(region + bit / 8 + 7); /* one place in ten crosses a cache line */
    }
}

KITHI_INLINE uint64_t kithi_spot_slots(const kithi_spot *spot, unsigned i) {
    return kithi_load64(spot->at[i]) >> spot->shift[i];
}

KITHI_INLINE bool kithi_spot_has(const kithi_cf_frame *frame, const kithi_spot *spot) {
    return (kithi_zero_slots(frame, kithi_spot_slots(spot, 0) ^ spot->codes) |
            kithi_zero_slots(frame, kithi_spot_slots(spot, 1) ^ spot->codes)) != 0;
}

/* Stores the key's code in the empty slot of place i that `zero` (from kithi_zero_slots) indicates, or empties the
 * slot that holds it. */
KITHI_INLINE void kithi_spot_flip(const kithi_cf_frame *frame, const kithi_spot *spot, unsigned i, uint64_t zero) {
    unsigned low = (unsigned)__builtin_ctzll(zero) - (frame->slot_bits - 1);
    uint64_t slot = ((UINT64_C(1) << frame->slot_bits) - 1) << low;
    kithi_store64(spot->at[i], kithi_load64(spot->at[i]) ^ (spot->codes & slot) << spot->shift[i]);
}

/* Stores the key's code in an empty slot; returns false if there is none. */
KITHI_INLINE bool kithi_spot_put(const kithi_cf_layout *layout, const kithi_cf_frame *frame, const kithi_spot *spot) {
    uint64_t zero[2];
    unsigned empty[2];
    for (unsigned i = 0; i < 2; i++) {
        zero[i] = kithi_all_zero_slots(frame, kithi_spot_slots(spot, i));
        empty[i] = kithi_count_slots(frame, zero[i]);
    }
    if ((zero[0] | zero[1]) == 0)
        return false;
    unsigned i = kithi_cf_prefers_second(layout, empty);
    kithi_spot_flip(frame, spot, i, zero[i]);
    return true;
}

/* Removes the first occurrence of the key's code; returns false if there is none. */
KITHI_INLINE bool kithi_spot_take(const kithi_cf_frame *frame, const kithi_spot *spot) {
    for (unsigned i = 0; i < 2; i++) {
        uint64_t zero = kithi_zero_slots(frame, kithi_spot_slots(spot, i) ^ spot->codes);
        if (zero == 0)
            continue;
        kithi_spot_flip(frame, spot, i, zero);
        return true;
    }
    return false;
}

/* Prepares the frame of a batch and the spots of its first digests. Returns false, without spots, if a place does not
 * fit in a word. */
KITHI_INLINE bool kithi_cf_begin(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests, size_t n,
                                 kithi_cf_frame *frame, kithi_spot *ahead) {
    if (!kithi_cf_frame_of(layout, f, frame))
        return false;
    for (size_t i = 0; i < n && i < KITHI_CF_AHEAD; i++)
        kithi_cf_spot(layout, frame, digests[i], &ahead[i]);
    return true;
}

KITHI_INLINE size_t kithi_cf_has_many(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests,
                                      size_t n, uint64_t *maybe) {
    kithi_cf_frame frame;
    kithi_spot ahead[KITHI_CF_AHEAD];
    bool narrow = kithi_cf_begin(layout, f, digests, n, &frame, ahead);
    size_t yes = 0;
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count && narrow; i++) {
            kithi_spot *spot = &ahead[i % KITHI_CF_AHEAD];
            word |= (uint64_t)kithi_spot_has(&frame, spot) << i;
            if (n - from - i > KITHI_CF_AHEAD)
                kithi_cf_spot(layout, &frame, digests[from + i + KITHI_CF_AHEAD], spot);
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
    kithi_cf_frame frame;
    kithi_spot ahead[KITHI_CF_AHEAD];
    bool narrow = kithi_cf_begin(layout, f, digests, n, &frame, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_spot *spot = &ahead[i % KITHI_CF_AHEAD];
        bool is_new = narrow && !kithi_spot_has(&frame, spot);
        kith_status status = KITH_E_FULL;
        if (narrow && f->head.count < f->head.capacity) {
            status = kithi_spot_put(layout, &frame, spot) ? KITH_OK
                                                          : kithi_cf_store_by_moving(layout, f, &frame, digests[i]);
            f->head.count += status == KITH_OK;
        }
        if (status != KITH_OK && status != KITH_E_MEMORY)
            status = kithi_cf_add(layout, f, digests[i], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, i, is_new);
        ++*done;
        if (narrow && n - i > KITHI_CF_AHEAD)
            kithi_cf_spot(layout, &frame, digests[i + KITHI_CF_AHEAD], spot);
    }
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_cf_remove_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                              size_t n, size_t *done) {
    kithi_cf_frame frame;
    kithi_spot ahead[KITHI_CF_AHEAD];
    bool narrow = kithi_cf_begin(layout, f, digests, n, &frame, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_spot *spot = &ahead[i % KITHI_CF_AHEAD];
        kith_status status = KITH_OK;
        if (!narrow)
            status = kithi_cf_remove(layout, f, digests[i]);
        else if (f->head.count > 0 && kithi_spot_take(&frame, spot))
            f->head.count--;
        else
            status = KITH_E_ABSENT;
        if (status != KITH_OK)
            return status;
        ++*done;
        if (narrow && n - i > KITHI_CF_AHEAD)
            kithi_cf_spot(layout, &frame, digests[i + KITHI_CF_AHEAD], spot);
    }
    return KITH_OK;
}

#endif
