/* kinds/shared/cf_lookup.h: the parameters of the cuckoo kinds, where the places of a digest are, and lookups. See
 * kinds/shared/cuckoo_kinds.h for the layout and what places and codes are, plan/geometry.h for the fields of
 * kithi_cf_geometry, and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_CF_LOOKUP_H
#define KITHI_FILTERS_CF_LOOKUP_H

#include "core/mix.h"
#include "kinds/lookup.h"

/* Indices of the parameters of the cuckoo kinds, which kithi_cf_geometry (plan/geometry.h) describes. Only cuckoo has
 * KITHI_PARAM_BUCKET_SLOTS, KITHI_PARAM_ALTERNATE, KITHI_PARAM_KICKS and KITHI_PARAM_START. */
enum {
    KITHI_PARAM_SLOT_BITS,
    KITHI_PARAM_HALF,
    KITHI_PARAM_REGIONS,
    KITHI_PARAM_BUCKET_SLOTS,
    KITHI_PARAM_ALTERNATE,
    KITHI_PARAM_KICKS,
    KITHI_PARAM_STASH,
    KITHI_PARAM_START
};
/* The parameters that both cuckoo and overlap have. */
#define KITHI_CF_PARAMS_MASK                                                                                           \
    (1 << KITHI_PARAM_SLOT_BITS | 1 << KITHI_PARAM_HALF | 1 << KITHI_PARAM_REGIONS | 1 << KITHI_PARAM_STASH)

/* The value of parameter KITHI_PARAM_ALTERNATE if kithi_partner() (core/mix.h) computes the other place. overlap has
 * only this one. */
#define KITHI_ALTERNATE_PARTNER 0
#define KITHI_CANDIDATES_MAX 16 /* the most slots in which one key may be stored */
#define KITHI_SLOT_BITS_MAX 32
/* kithi_cf_decode() computes no sizes for a larger `half`, so that nothing overflows. kithi_cf_shape() allows less. */
#define KITHI_HALF_MAX (UINT64_C(1) << 31)
#define KITHI_REGION_SLOTS_MAX (UINT64_C(1) << 31) /* slot numbers within a region have 31 bits */

typedef struct kithi_cf_layout {
    bool windows; /* places are windows, which overlap; otherwise they are buckets, which do not */
    /* Number of bits (0 or 1) below the fingerprint in a code; they hold the index of the slot in its place. */
    unsigned window_bits;
    unsigned (*place_slots)(const kithi_cf_geometry *g); /* slots per place */
    /* Returns the other place of a key that has this place and this fingerprint. */
    uint64_t (*other_place)(const kithi_cf_geometry *g, uint64_t place, uint64_t fingerprint);
    /* Returns the number of the bit in the region at which a place begins. */
    uint64_t (*first_bit)(const kithi_cf_geometry *g, uint64_t place);
    /* Sets first[0] to the first slot of a place, and first[1] to that of the other place for this fingerprint. */
    void (*first_slots)(const kithi_cf_geometry *g, uint64_t place, uint64_t fingerprint, uint32_t first[2]);
    /* Sets *place and *fingerprint to those of the entry in a slot, whose code is not 0. Returns false if no key can
     * have this code in this slot. */
    bool (*decode_entry)(const kithi_cf_geometry *g, uint32_t slot, uint32_t code, uint64_t *place,
                         uint64_t *fingerprint);
    uint64_t (*region_slots)(const kithi_cf_geometry *g);
} kithi_cf_layout;

/* ---- sizes ---- */

/* The largest fingerprint. */
static inline uint64_t kithi_cf_fingerprint_max(const kithi_cf_layout *layout, const kithi_cf_geometry *g) {
    return (UINT64_C(1) << (g->slot_bits - layout->window_bits)) - 1;
}

/* Returns the code that a key with this fingerprint has in slot number `slot_of_place` of one of its places. */
static inline uint32_t kithi_cf_code(const kithi_cf_layout *layout, uint64_t fingerprint, unsigned slot_of_place) {
    return (uint32_t)(fingerprint << layout->window_bits) + (layout->window_bits != 0 ? slot_of_place : 0);
}

/* Bytes from one region to the next. The last slot is followed by at least 8 bytes of its region (the stash or
 * padding), because slots are loaded and stored as words of 8 bytes. A region has at most 2^35 slots of 32 bits, even
 * before shape() has checked the parameters, so nothing overflows. */
static inline uint64_t kithi_cf_stride(const kithi_cf_geometry *g, uint64_t region_slots) {
    uint64_t stash_bytes = g->stash * sizeof(uint64_t);
    uint64_t bytes = (region_slots * g->slot_bits + 7) / 8 + (stash_bytes > 8 ? stash_bytes : 8);
    return (bytes + 63) & ~UINT64_C(63);
}

/* Sets the fields of *g for code that loads the slots of a place as words of up to 64 bits (kithi_cf_form):
 * `place_bits` and those after it, except `common_case` and `byte_aligned`. */
static inline void kithi_cf_set_word_fields(const kithi_cf_layout *layout, kithi_cf_geometry *g) {
    unsigned bits = (unsigned)g->slot_bits, slots = layout->place_slots(g);
    unsigned unit = layout->windows ? bits : bits * slots; /* bits from one place to the next */
    /* The highest of the bits 0 … 7 of a byte at which a place can begin. Let p be the largest power of two that
     * divides `unit`. Places begin at multiples of `unit` bits, and so within a byte at multiples of p, or at bit 0 if
     * p >= 8. */
    unsigned first_bit_max = 8 - (unit & -unit & 7 ? unit & -unit & 7 : 8);
    unsigned word_slots = slots;
    while (word_slots * bits > 64)
        word_slots /= 2;
    g->place_bits = layout->windows ? 0 : unit;
    g->place_bytes = unit / 8;
    g->words = slots / word_slots;
    g->word_bits = word_slots * bits;
    g->last_byte = (slots * bits + first_bit_max - 1) / 8;
    /* The same for a word of a bucket: these begin at multiples of word_bits. (The result is used only if a place has
     * two words, so it does not matter for windows.) */
    unsigned word_bit_max = 8 - (g->word_bits & -g->word_bits & 7 ? g->word_bits & -g->word_bits & 7 : 8);
    bool is_long = g->word_bits + word_bit_max > 64;
    g->form = KITHI_ANY_WORDS;
    if (slots * bits + first_bit_max <= 64)
        g->form = KITHI_ONE_WORD;
    else if (g->words == 2)
        g->form = is_long ? KITHI_TWO_LONG_WORDS : KITHI_TWO_WORDS;
    g->last_shift = (word_slots - 1) * bits;
    for (unsigned i = 0; i < word_slots; i++) {
        g->low_bits |= UINT64_C(1) << (i * bits);
        g->code_steps |= (uint64_t)kithi_cf_code(layout, 0, i) << (i * bits);
    }
    g->high_bits = g->low_bits << (bits - 1);
}

/* The parameters may be those of a hostile file. What follows from them is computed only if they are small enough for
 * the computation. shape() has stricter limits. */
static inline kithi_geometry kithi_cf_decode(const kithi_cf_layout *layout, const kithi_head *head) {
    kithi_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    geometry.fill_limit = UINT64_MAX;
    kithi_cf_geometry *g = &geometry.cf;
    g->slot_bits = head->params[KITHI_PARAM_SLOT_BITS];
    g->half = head->params[KITHI_PARAM_HALF];
    g->regions = head->params[KITHI_PARAM_REGIONS];
    g->bucket_slots = head->params[KITHI_PARAM_BUCKET_SLOTS];
    g->alternate = head->params[KITHI_PARAM_ALTERNATE];
    g->kicks = head->params[KITHI_PARAM_KICKS];
    g->stash = head->params[KITHI_PARAM_STASH];
    g->start = head->params[KITHI_PARAM_START];
    bool plausible = g->slot_bits > layout->window_bits && g->slot_bits <= KITHI_SLOT_BITS_MAX &&
                     g->half <= KITHI_HALF_MAX && g->bucket_slots <= KITHI_CANDIDATES_MAX / 2 &&
                     (layout->windows || g->bucket_slots > 0) && g->stash <= KITHI_FIT_STASH_MAX;
    if (plausible) {
        g->places = 2 * g->half;
        g->bucket_shift = layout->windows ? 0 : (uint64_t)__builtin_ctzll(g->bucket_slots);
        g->stride = kithi_cf_stride(g, layout->region_slots(g));
        g->stash_at = g->stride - g->stash * sizeof(uint64_t);
        g->fingerprint_max = kithi_cf_fingerprint_max(layout, g);
        g->rest_shift = kithi_rest_shift(g->regions, g->places);
        kithi_cf_set_word_fields(layout, g);
        g->common_case = g->form == KITHI_ONE_WORD && g->rest_shift == 0 && g->alternate == KITHI_ALTERNATE_PARTNER;
        g->byte_aligned = g->common_case && g->place_bits != 0 && g->place_bits % 8 == 0;
    }
    return geometry;
}

/* The caller must have checked the parameters that only cuckoo has. */
static inline kith_status kithi_cf_shape(const kithi_cf_layout *layout, const kithi_cf_geometry *g,
                                         kithi_shape *shape) {
    memset(shape, 0, sizeof *shape);
    uint64_t slot_bits = g->slot_bits, half = g->half, regions = g->regions;
    if (slot_bits > KITHI_SLOT_BITS_MAX || half == 0 || half >= KITHI_REGION_SLOTS_MAX || regions == 0 ||
        g->stash > (g->kicks != 0 ? 0 : KITHI_FIT_STASH_MAX))
        return KITH_E_CORRUPT;
    uint64_t region_slots = layout->region_slots(g), cells, body_bytes;
    if (region_slots > KITHI_REGION_SLOTS_MAX || !kithi_checked_mul(regions, region_slots, &cells) ||
        !kithi_checked_mul(regions, kithi_cf_stride(g, region_slots), &body_bytes) || body_bytes > UINT64_C(1) << 62)
        return KITH_E_CORRUPT;
    shape->body_bytes = body_bytes;
    shape->regions = regions;
    shape->cells = cells;
    shape->cell_bits = (unsigned)slot_bits;
    shape->hashes = 0;
    shape->fingerprint_bits = (unsigned)slot_bits - layout->window_bits;
    shape->lines = 2;
    shape->max_copies = shape->lookup_cells = 2 * layout->place_slots(g);
    /* copies_limit bounds the copies of a key in all layers of a filter of kind layers (lookup.h). Other keys with the
     * same places and fingerprint look like copies, and max_copies + stash of them may fill one layer. The limit is
     * higher by max_copies, so that even in this case the key itself can be added max_copies times. */
    shape->copies_limit = 2 * shape->max_copies + (unsigned)g->stash;
    return KITH_OK;
}

/* ---- places as words: see kinds/shared/cuckoo_batch.h ---- */

/* Returns a word in which the highest bit of each slot that is 0 is set. The lowest set bit belongs to the first slot
 * that is 0; bits above it may also be set in slots that are not 0. The result is 0 if no slot is 0. */
KITHI_INLINE uint64_t kithi_zero_slots(const kithi_cf_geometry *g, uint64_t slots) {
    return (slots - g->low_bits) & ~slots & g->high_bits;
}

/* Returns the word that begins at bit `bit`, counted from bit 0 of *from. Bits of the result above the word do not
 * belong to it. Reads up to 9 bytes; at least 8 follow the last slot of a region. */
KITHI_INLINE uint64_t kithi_cf_word(const uint8_t *from, uint64_t bit, kithi_cf_form form) {
    uint64_t low = kithi_load64(from + bit / 8) >> (bit % 8);
    /* The ninth byte is shifted in two steps, because a shift by 64 bits is undefined. */
    return form <= KITHI_TWO_WORDS ? low : low | (uint64_t)from[bit / 8 + 8] << 1 << (63 - bit % 8);
}

/* The pair of places of a key, for access as words. */
typedef struct kithi_cf_pair {
    uint8_t *at[2];    /* the byte in which each place begins */
    uint32_t shift[2]; /* the bit of that byte at which the place begins */
    /* The key's codes, packed like the slots of a word. Field i (bits i * slot_bits … (i + 1) * slot_bits - 1) is the
     * code that the key has in slot i of a place. */
    uint64_t codes;
} kithi_cf_pair;

/* Finds the places of a digest. If `prefetch` is true, also prefetches them. If g->common_case is true, callers may
 * pass true for `common_case`, which makes it faster; otherwise they must pass false. */
KITHI_INLINE void kithi_pair_locate(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint8_t *body,
                                    uint64_t digest, kithi_cf_pair *pair, bool prefetch, bool common_case) {
    kithi_place at = kithi_place_of(digest, g->regions, g->places, common_case ? 0 : (unsigned)g->rest_shift);
    uint64_t fingerprint = kithi_fingerprint(at, g->fingerprint_max);
    uint64_t place[2] = {at.place, common_case ? kithi_partner(at.place, fingerprint, g->places)
                                               : layout->other_place(g, at.place, fingerprint)};
    pair->codes = (fingerprint << layout->window_bits) * g->low_bits + (layout->windows ? g->code_steps : 0);
    uint8_t *region = body + at.region * g->stride;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bit = layout->first_bit(g, place[i]);
        pair->at[i] = region + bit / 8;
        pair->shift[i] = bit % 8;
        if (prefetch) {
            __builtin_prefetch(pair->at[i]);
            __builtin_prefetch(pair->at[i] + g->last_byte); /* a place may cross a cache line */
        }
    }
}

/* Returns the number of words in each place of a pair. */
KITHI_INLINE unsigned kithi_pair_words(const kithi_cf_geometry *g, kithi_cf_form form) {
    return form == KITHI_ONE_WORD ? 1 : form == KITHI_ANY_WORDS ? g->words : 2;
}

/* Returns the slots in word `word` of place i (0 or 1) of the pair. */
KITHI_INLINE uint64_t kithi_pair_slots(const kithi_cf_geometry *g, const kithi_cf_pair *pair, unsigned i, unsigned word,
                                       kithi_cf_form form) {
    return kithi_cf_word(pair->at[i], pair->shift[i] + word * g->word_bits, form);
}

/* Returns whether a slot of either place holds the key's code. */
KITHI_INLINE bool kithi_pair_has(const kithi_cf_geometry *g, const kithi_cf_pair *pair, kithi_cf_form form) {
    uint64_t zero = 0;
    for (unsigned word = 0; word < kithi_pair_words(g, form); word++)
        for (unsigned i = 0; i < 2; i++)
            zero |= kithi_zero_slots(g, kithi_pair_slots(g, pair, i, word, form) ^ pair->codes);
    return zero != 0;
}

/* ---- lookups: nothing is written to the body ---- */

KITHI_OUTLINE bool kithi_cf_has_unusual(const kithi_cf_layout *layout, const kithi_cf_geometry *g, const uint8_t *body,
                                        uint64_t digest) {
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, (uint8_t *)(uintptr_t)body, digest, &pair, false, false);
    return kithi_pair_has(g, &pair, KITHI_ANY_WORDS);
}

KITHI_INLINE bool kithi_cf_has(const kithi_cf_layout *layout, const kithi_cf_geometry *g, const uint8_t *body,
                               uint64_t digest) {
    if (!g->common_case)
        return kithi_cf_has_unusual(layout, g, body, digest);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, (uint8_t *)(uintptr_t)body, digest, &pair, false, true);
    return kithi_pair_has(g, &pair, KITHI_ONE_WORD);
}

/* A faster kithi_cf_has() for filters whose g->byte_aligned is true. */
KITHI_INLINE bool kithi_cf_has_byte_aligned(const kithi_cf_geometry *g, const uint8_t *body, uint64_t digest) {
    kithi_place at = kithi_place_of(digest, g->regions, g->places, 0);
    uint64_t fingerprint = kithi_fingerprint(at, g->fingerprint_max), codes = fingerprint * g->low_bits;
    uint64_t other = kithi_partner(at.place, fingerprint, g->places);
    const uint8_t *region = body + at.region * g->stride;
    uint64_t first = kithi_load64(region + at.place * g->place_bytes) ^ codes;
    uint64_t second = kithi_load64(region + other * g->place_bytes) ^ codes;
    return (kithi_zero_slots(g, first) | kithi_zero_slots(g, second)) != 0;
}

#endif
