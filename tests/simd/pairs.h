/* pairs.h: compares the lookups of cuckoo kinds in src/kernels with scalar code: the places of a digest with
 * core/mix.h, and the comparison of slots with a loop over single slots.
 *
 * PAIR_TESTS(set, TARGET, condition) defines the tests of an instruction set, after its header was included. The tests
 * are skipped if `condition` is false. WIDE_PAIR_TESTS does the same for buckets of more than one word, and
 * LONG_PAIR_TESTS for long words (plan/geometry.h). */
#ifndef KITH_TESTS_SIMD_PAIRS_H
#define KITH_TESTS_SIMD_PAIRS_H

#include "check.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_kinds.h"

static unsigned bucket_slots_of(const kithi_cf_geometry *g) {
    return (unsigned)g->bucket_slots;
}

static unsigned window_slots_of(const kithi_cf_geometry *g) {
    (void)g;
    return 2;
}

static const kithi_cf_layout BUCKETS = {.place_slots = bucket_slots_of};
static const kithi_cf_layout WINDOWS = {.windows = true, .window_bits = 1, .place_slots = window_slots_of};

static kithi_cf_geometry pair_geometry(const kithi_cf_layout *layout, unsigned bits, unsigned slots, uint64_t half,
                                       uint64_t regions) {
    kithi_cf_geometry g = {.slot_bits = bits, .half = half, .regions = regions, .places = 2 * half};
    g.bucket_slots = layout->windows ? 0 : slots;
    g.fingerprint_max = kithi_cf_fingerprint_max(layout, &g);
    g.stride = kithi_cf_stride(&g, layout->windows ? 2 * half + 2 : 2 * half * slots);
    g.rest_shift = kithi_rest_shift(regions, g.places);
    kithi_cf_set_word_fields(layout, &g);
    return g;
}

typedef void locate_pairs(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs);
typedef uint32_t match_pairs(const kithi_cf_geometry *g, const uint8_t *body, const kithi_pairs *pairs);

static uint64_t expected_bit(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint64_t place) {
    uint64_t slot = layout->windows ? place / 2 + place % 2 * (g->half + 1) : place * g->bucket_slots;
    return slot * g->slot_bits;
}

/* Compares places and codes of random digests. */
static void check_locate(const kithi_cf_layout *layout, const kithi_cf_geometry *g, locate_pairs *locate) {
    kithi_prng prng = {g->slot_bits + 100 * g->half + 7 * g->regions};
    bool is_wide = g->words > 1;
    for (unsigned round = 0; round < 20; round++) {
        uint64_t digests[KITHI_PAIRS];
        kithi_pairs pairs;
        for (unsigned i = 0; i < KITHI_PAIRS; i++)
            digests[i] = round == 0 ? -(uint64_t)(i % 2) : kithi_prng_next(&prng);
        locate(g, digests, &pairs);
        for (unsigned i = 0; i < KITHI_PAIRS; i++) {
            kithi_place at = kithi_place_of(digests[i], g->regions, g->places, (unsigned)g->rest_shift);
            uint64_t fingerprint = kithi_fingerprint(at, g->fingerprint_max), codes = 0;
            uint64_t place[2] = {at.place, kithi_partner(at.place, fingerprint, g->places)};
            unsigned first = is_wide && g->place_bits % 8 != 0 && at.place % 2 == 1; /* these are sorted */
            for (unsigned j = 0; j < 2; j++) {
                uint64_t bit = expected_bit(layout, g, place[j ^ first]);
                CHECK_EQ_U64(pairs.at[j][i], at.region * g->stride + bit / 8);
                if (!is_wide)
                    CHECK_EQ_U64(pairs.shift[j][i], bit % 8);
            }
            for (unsigned slot = 0; slot < layout->place_slots(g) && !is_wide; slot++)
                codes |= (uint64_t)kithi_cf_code(layout, fingerprint, slot) << (slot * g->slot_bits);
            CHECK_EQ_U64(pairs.codes[i], is_wide ? fingerprint : codes);
        }
    }
}

static bool slot_matches(const kithi_cf_layout *layout, const kithi_cf_geometry *g, const uint8_t *body,
                         const kithi_pairs *pairs, unsigned i) {
    bool found = false;
    for (unsigned j = 0; j < 2; j++)
        for (unsigned slot = 0; slot < layout->place_slots(g); slot++) {
            uint64_t bit = pairs->at[j][i] * 8 + pairs->shift[j][i] + slot * g->slot_bits;
            uint64_t value = kithi_load64(body + bit / 8) >> (bit % 8) & ((UINT64_C(1) << g->slot_bits) - 1);
            unsigned shift = g->words == 1 ? slot * (unsigned)g->slot_bits : 0;
            found |= value == (pairs->codes[i] >> shift & ((UINT64_C(1) << g->slot_bits) - 1));
        }
    return found;
}

/* Compares the matches in a random body. Every other code is that of a slot, or differs from it in one bit. */
static void check_match(const kithi_cf_layout *layout, const kithi_cf_geometry *g, match_pairs *match) {
    enum { BODY_BYTES = 256, PLACE_BYTES = 40 };
    kithi_prng prng = {g->slot_bits};
    uint8_t body[BODY_BYTES + PLACE_BYTES];
    unsigned yes = 0, no = 0;
    for (unsigned round = 0; round < 200; round++) {
        kithi_pairs pairs;
        for (unsigned i = 0; i < sizeof body; i++)
            body[i] = (uint8_t)kithi_prng_next(&prng);
        for (unsigned i = 0; i < KITHI_PAIRS; i++) {
            uint64_t word = kithi_prng_next(&prng), slot = word % layout->place_slots(g);
            for (unsigned j = 0; j < 2; j++) {
                pairs.at[j][i] = kithi_prng_below(&prng, BODY_BYTES);
                /* Wide buckets begin at bit 0 if their number is even. */
                pairs.shift[j][i] =
                    g->words == 1 ? g->slot_bits * kithi_prng_below(&prng, 8) % 8 : j * (g->place_bits % 8);
            }
            if (g->words == 1 && !layout->windows)
                pairs.shift[0][i] = pairs.shift[1][i] = g->place_bits * kithi_prng_below(&prng, 8) % 8;
            uint64_t bit = pairs.at[word >> 63][i] * 8 + pairs.shift[word >> 63][i] + slot * g->slot_bits;
            uint64_t value = kithi_load64(body + bit / 8) >> (bit % 8);
            value ^= (word >> 32 & 3) == 0 ? UINT64_C(1) << kithi_prng_below(&prng, g->slot_bits) : 0;
            value &= (UINT64_C(1) << g->slot_bits) - 1;
            /* A window of random codes: the code of one slot, and another one in the other slot. */
            pairs.codes[i] = value * (g->words == 1 ? g->low_bits : 1);
            if (layout->windows)
                pairs.codes[i] ^= kithi_prng_below(&prng, 4) << (slot == 0 ? g->slot_bits : 0);
        }
        uint32_t found = match(g, body, &pairs);
        for (unsigned i = 0; i < KITHI_PAIRS; i++) {
            bool expected = slot_matches(layout, g, body, &pairs, i);
            if ((found >> i & 1) != expected)
                CHECK_FAIL("%u slots of %u bits: digest %u is %s", layout->place_slots(g), (unsigned)g->slot_bits, i,
                           expected ? "missed" : "found");
            yes += expected;
            no += !expected;
        }
    }
    /* Of narrow slots, one of eight often matches by chance. */
    CHECK(yes > 1000 && no > 100);
}

/* half and regions */
static const uint64_t PAIR_SIZES[][2] = {{16384, 1}, {1, 1},           {23, 3},          {32768, 5},
                                         {997, 64},  {32768, 1 << 20}, {20001, 4000037}, {1 << 29, 1}};
enum { PAIR_SIZE_COUNT = sizeof PAIR_SIZES / sizeof *PAIR_SIZES };

/* Checks geometries of KITHI_ONE_WORD if `long_words` is 0, otherwise all others that have this number of words. */
static inline void check_pairs(const kithi_cf_layout *layout, unsigned bits, unsigned slots, unsigned long_words,
                               locate_pairs *locate, match_pairs *match) {
    for (size_t i = 0; i < PAIR_SIZE_COUNT; i++) {
        kithi_cf_geometry g = pair_geometry(layout, bits, slots, PAIR_SIZES[i][0], PAIR_SIZES[i][1]);
        if ((g.form == KITHI_ONE_WORD ? 0 : g.words) != long_words)
            return;
        check_locate(layout, &g, locate);
        if (i == 0)
            check_match(layout, &g, match);
    }
}

#define PAIR_FUNCTION(set, TARGET, name, places)                                                                       \
    TARGET static void set##_##name(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs) {         \
        kithi_##set##_cf_locate(g, digests, pairs, places);                                                            \
    }

#define PAIR_TESTS(set, TARGET, condition)                                                                             \
    PAIR_FUNCTION(set, TARGET, locate_buckets, KITHI_CF_BUCKETS)                                                       \
    PAIR_FUNCTION(set, TARGET, locate_windows, KITHI_CF_WINDOWS)                                                       \
    TARGET static uint32_t set##_match_words(const kithi_cf_geometry *g, const uint8_t *body,                          \
                                             const kithi_pairs *pairs) {                                               \
        return kithi_##set##_cf_match_words(g, body, pairs);                                                           \
    }                                                                                                                  \
    TEST(set##_finds_the_places_and_slots_of_the_scalar_code) {                                                        \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have the instructions");                                                     \
        for (unsigned bits = 3; bits <= 32; bits++) {                                                                  \
            for (unsigned slots = 1; slots <= 8; slots *= 2)                                                           \
                check_pairs(&BUCKETS, bits, slots, 0, set##_locate_buckets, set##_match_words);                        \
            check_pairs(&WINDOWS, bits, 2, 0, set##_locate_windows, set##_match_words);                                \
        }                                                                                                              \
    }

/* After PAIR_TESTS. */
#define WIDE_PAIR_TESTS(set, TARGET, condition)                                                                        \
    PAIR_FUNCTION(set, TARGET, locate_wide, KITHI_CF_WIDE_BUCKETS)                                                     \
    TARGET static uint32_t set##_match_buckets(const kithi_cf_geometry *g, const uint8_t *body,                        \
                                               const kithi_pairs *pairs) {                                             \
        return kithi_##set##_cf_match_buckets(g, body, pairs);                                                         \
    }                                                                                                                  \
    TEST(set##_finds_the_wide_slots_of_the_scalar_code) {                                                              \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have the instructions");                                                     \
        for (unsigned bits = 17; bits <= 32; bits++)                                                                   \
            check_pairs(&BUCKETS, bits, 4, 2, set##_locate_wide, set##_match_buckets);                                 \
    }

#define LONG_PAIR_TESTS(set, TARGET, condition)                                                                        \
    TARGET static uint32_t set##_match_long_words(const kithi_cf_geometry *g, const uint8_t *body,                     \
                                                  const kithi_pairs *pairs) {                                          \
        return kithi_##set##_cf_match_long_words(g, body, pairs);                                                      \
    }                                                                                                                  \
    TEST(set##_finds_the_slots_of_long_words) {                                                                        \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have the instructions");                                                     \
        for (unsigned bits = 17; bits <= 32; bits++) {                                                                 \
            check_pairs(&BUCKETS, bits, 2, 1, set##_locate_buckets, set##_match_long_words);                           \
            check_pairs(&WINDOWS, bits, 2, 1, set##_locate_windows, set##_match_long_words);                           \
        }                                                                                                              \
    }

#endif
