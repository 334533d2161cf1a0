/* blocks.h: compares every function of src/kernels with scalar code that handles one cell after the other, as described
 * at the head of kinds/shared/lanes.h. Both must return the same results and leave the same 64 bytes, and the bytes
 * around the block must not change.
 *
 * BLOCK_TESTS(set, TARGET, condition) defines the tests of an instruction set, after its header was included. The
 * tests are skipped if `condition` is false. */
#ifndef KITH_TESTS_SIMD_BLOCKS_H
#define KITH_TESTS_SIMD_BLOCKS_H

#include "check.h"
#include "core/prng.h"

enum { BLOCK_BYTES = 64, BLOCK_BITS = 512, LANES_MAX = 16, TOP = 15, COPIES = 14, ROUNDS = 30000 };

/* ---- scalar code ---- */

/* Reads a cell of `bits` bits. Cells are numbered from the least significant bits of byte 0. */
static unsigned cell_get(const uint8_t *block, unsigned bits, unsigned cell) {
    return block[cell * bits / 8] >> (cell * bits % 8) & ((1u << bits) - 1);
}

static void cell_put(uint8_t *block, unsigned bits, unsigned cell, unsigned value) {
    unsigned shift = cell * bits % 8, mask = ((1u << bits) - 1) << shift;
    uint8_t *byte = &block[cell * bits / 8];
    *byte = (uint8_t)((*byte & ~mask) | value << shift);
}

static unsigned log2_of(unsigned power) {
    unsigned log = 0;
    while (1u << log < power)
        log++;
    return log;
}

/* Returns the key's cell in lane j: the top log2(width) bits of byte j % 8 of lane word j / 8. */
static unsigned cell_of(uint64_t digest, unsigned lanes, unsigned bits, unsigned j) {
    unsigned width = BLOCK_BITS / bits / lanes;
    unsigned byte = (unsigned)(kithi_lane_word(digest, j / 8) >> (j % 8 * 8)) & 0xff;
    return j * width + (byte >> (8 - log2_of(width)));
}

typedef struct outcome {
    bool done;
    unsigned number; /* bits that were 0, or counters that were incremented from 0 or decremented to 0 */
} outcome;

static unsigned min_of(const uint8_t *block, uint64_t digest, unsigned lanes, unsigned bits) {
    unsigned min = TOP;
    for (unsigned j = 0; j < lanes; j++) {
        unsigned value = cell_get(block, bits, cell_of(digest, lanes, bits, j));
        min = value < min ? value : min;
    }
    return min;
}

static outcome scalar_bits_has(uint8_t *block, uint64_t digest, unsigned lanes) {
    return (outcome){min_of(block, digest, lanes, 1) != 0, 0};
}

static outcome scalar_bits_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    outcome o = {true, 0};
    for (unsigned j = 0; j < lanes; j++) {
        unsigned cell = cell_of(digest, lanes, 1, j);
        o.number += cell_get(block, 1, cell) == 0;
        cell_put(block, 1, cell, 1);
    }
    return o;
}

static outcome scalar_counters_has(uint8_t *block, uint64_t digest, unsigned lanes) {
    return (outcome){min_of(block, digest, lanes, 4) != 0, 0};
}

static outcome scalar_counters_raise(uint8_t *block, uint64_t digest, unsigned lanes) {
    outcome o = {min_of(block, digest, lanes, 4) < COPIES, 0};
    for (unsigned j = 0; o.done && j < lanes; j++) {
        unsigned cell = cell_of(digest, lanes, 4, j), value = cell_get(block, 4, cell);
        o.number += value == 0;
        cell_put(block, 4, cell, value == TOP ? TOP : value + 1);
    }
    return o;
}

static outcome scalar_counters_lower(uint8_t *block, uint64_t digest, unsigned lanes) {
    outcome o = {min_of(block, digest, lanes, 4) != 0, 0};
    for (unsigned j = 0; o.done && j < lanes; j++) {
        unsigned cell = cell_of(digest, lanes, 4, j), value = cell_get(block, 4, cell);
        o.number += value == 1;
        cell_put(block, 4, cell, value == TOP ? TOP : value - 1);
    }
    return o;
}

/* ---- blocks ---- */

/* Draws one of the boundary values, or, equally often, any value. */
static unsigned draw_value(kithi_prng *prng) {
    static const unsigned EDGES[] = {0, 1, 13, 14, 15};
    return kithi_prng_below(prng, 2) == 0 ? EDGES[kithi_prng_below(prng, 5)] : (unsigned)kithi_prng_below(prng, 16);
}

/* Fills a block in one of six ways: empty, full, all counters equal, random counters, few bits set, many bits set. */
static void fill_block(uint8_t *block, kithi_prng *prng) {
    unsigned mode = (unsigned)kithi_prng_below(prng, 6), same = draw_value(prng);
    for (unsigned c = 0; c < BLOCK_BITS / 4; c++) {
        unsigned a = (unsigned)kithi_prng_below(prng, 16), b = (unsigned)kithi_prng_below(prng, 16);
        unsigned values[] = {0, TOP, same, draw_value(prng), a & b, a | b};
        cell_put(block, 4, c, values[mode]);
    }
}

/* Leaves the key's cells as they are, or sets them to a value and in some lanes to the next one, or does the same with
 * a lower value in one lane. The results depend on whether the smallest cell is 0 and whether it is below 14. With
 * random cells in 16 lanes these cases would hardly ever occur. */
static void fill_cells(uint8_t *block, uint64_t digest, unsigned lanes, unsigned bits, kithi_prng *prng) {
    unsigned top = (1u << bits) - 1, value = draw_value(prng) & top;
    unsigned mode = (unsigned)kithi_prng_below(prng, 3), low_lane = (unsigned)kithi_prng_below(prng, lanes);
    uint64_t higher = kithi_prng_below(prng, lanes + 1);
    for (unsigned j = 0; mode != 0 && j < lanes; j++) {
        unsigned cell = value + (kithi_prng_below(prng, lanes) < higher);
        if (mode == 2 && j == low_lane)
            cell = value - (value > 0);
        cell_put(block, bits, cell_of(digest, lanes, bits, j), cell < top ? cell : top);
    }
}

/* ---- comparison ---- */

typedef struct verb {
    const char *name;
    unsigned bits; /* per cell */
    outcome (*scalar)(uint8_t *block, uint64_t digest, unsigned lanes);
    outcome (*tested[3])(uint8_t *block, uint64_t digest); /* 4, 8 and 16 lanes */
} verb;

static void compare_verb(const verb *v, unsigned size) {
    unsigned lanes = 4u << size, seen[2][LANES_MAX + 1] = {{0}};
    kithi_prng prng = {lanes};
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t digest = round == 0 ? 0 : round == 1 ? UINT64_MAX : kithi_prng_next(&prng);
        uint8_t want[3 * BLOCK_BYTES], got[3 * BLOCK_BYTES];
        memset(want, 0xa5, sizeof want);
        fill_block(want + BLOCK_BYTES, &prng);
        fill_cells(want + BLOCK_BYTES, digest, lanes, v->bits, &prng);
        memcpy(got, want, sizeof got);
        outcome expected = v->scalar(want + BLOCK_BYTES, digest, lanes);
        outcome actual = v->tested[size](got + BLOCK_BYTES, digest);
        bool same_bytes = memcmp(got, want, sizeof got) == 0;
        if (actual.done != expected.done || actual.number != expected.number || !same_bytes)
            CHECK_FAIL("%s, %u lanes, digest %016" PRIx64 ": %d and %u instead of %d and %u, bytes are %s", v->name,
                       lanes, digest, actual.done, actual.number, expected.done, expected.number,
                       same_bytes ? "equal" : "different");
        seen[expected.done][expected.number]++;
    }
    /* Every possible result has occurred. */
    bool counts = v->scalar != scalar_bits_has && v->scalar != scalar_counters_has;
    for (unsigned number = 0; number <= (counts ? lanes : 0); number++)
        CHECK(seen[true][number] > 0);
    CHECK(v->scalar == scalar_bits_set || seen[false][0] > ROUNDS / 100);
}

static inline void compare_verbs(const verb *verbs, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (unsigned size = 0; size < 3; size++)
            compare_verb(&verbs[i], size);
}

/* ---- parities ---- */

typedef unsigned parities(const uint8_t *first, const uint8_t *second, uint64_t low, uint64_t high);

static inline void compare_parities(parities *tested) {
    kithi_prng prng = {8};
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t words[2 * BLOCK_BYTES + 1]; /* from an odd address on */
        for (unsigned i = 0; i < 2; i++)
            fill_block(words + 1 + i * BLOCK_BYTES, &prng);
        uint64_t low = kithi_prng_next(&prng), high = round % 2 == 0 ? kithi_prng_next(&prng) : 0;
        unsigned want = 0;
        for (unsigned bit = 0; bit < BLOCK_BITS; bit++) {
            unsigned first = words[1 + bit / 8] >> bit % 8 & 1,
                     second = words[1 + BLOCK_BYTES + bit / 8] >> bit % 8 & 1;
            want ^= (first & (low >> bit % 64 & 1)) << bit / 64 ^ (second & (high >> bit % 64 & 1)) << bit / 64;
        }
        CHECK_EQ_U64(tested(words + 1, words + 1 + BLOCK_BYTES, low, high), want);
    }
}

#define PARITY_TESTS(set, TARGET, condition)                                                                           \
    TARGET static unsigned set##_parities(const uint8_t *first, const uint8_t *second, uint64_t low, uint64_t high) {  \
        return kithi_##set##_parities(first, second, low, high);                                                       \
    }                                                                                                                  \
    TEST(set##_parities_match_the_scalar_code) {                                                                       \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have " #set);                                                                \
        compare_parities(set##_parities);                                                                              \
    }

/* ---- several keys ---- */

enum { SET_BLOCKS = 5, SET_KEYS = 64, SET_AHEAD = 32, SET_ROUNDS = 2000 };

typedef uint64_t set_many(uint8_t *body, const uint64_t *digests, size_t n, size_t prefetch, uint64_t *fill);

/* Several of the keys select the same block, and some keys are repeated. */
static inline void compare_set_many(set_many *const tested[3]) {
    kithi_prng prng = {64};
    for (unsigned round = 0; round < 3 * SET_ROUNDS; round++) {
        unsigned lanes = 4u << round % 3;
        uint8_t want[SET_BLOCKS * BLOCK_BYTES], got[SET_BLOCKS * BLOCK_BYTES];
        for (unsigned i = 0; i < SET_BLOCKS; i++)
            fill_block(want + i * BLOCK_BYTES, &prng);
        memcpy(got, want, sizeof got);
        uint64_t digests[SET_KEYS + SET_AHEAD], expected = 0, expected_fill = 7, fill = 7;
        for (unsigned i = 0; i < SET_KEYS + SET_AHEAD; i++)
            digests[i] = i > 0 && kithi_prng_below(&prng, 8) == 0 ? digests[i - 1] : kithi_prng_next(&prng);
        size_t n = round % 2 == 0 ? SET_KEYS : (size_t)kithi_prng_below(&prng, SET_KEYS);
        for (size_t i = 0; i < n; i++) {
            uint8_t *block = want + kithi_mulhi(digests[i], SET_BLOCKS) * BLOCK_BYTES;
            unsigned new_bits = scalar_bits_set(block, digests[i], lanes).number;
            expected |= (uint64_t)(new_bits != 0) << i;
            expected_fill += new_bits;
        }
        CHECK_EQ_U64(tested[round % 3](got, digests, n, round % 4 < 2 ? 0 : SET_AHEAD, &fill), expected);
        CHECK_EQ_U64(fill, expected_fill);
        CHECK(memcmp(got, want, sizeof got) == 0);
    }
}

#define SET_MANY(set, TARGET, lanes)                                                                                   \
    TARGET static uint64_t set##_set_many_##lanes(uint8_t *body, const uint64_t *digests, size_t n, size_t prefetch,   \
                                                  uint64_t *fill) {                                                    \
        return kithi_##set##_bits_set_many(body, SET_BLOCKS, digests, n, prefetch, lanes, fill);                       \
    }
#define SET_MANY_TESTS(set, TARGET, condition)                                                                         \
    SET_MANY(set, TARGET, 4)                                                                                           \
    SET_MANY(set, TARGET, 8)                                                                                           \
    SET_MANY(set, TARGET, 16)                                                                                          \
    TEST(set##_sets_the_bits_of_several_keys) {                                                                        \
        static set_many *const TESTED[] = {set##_set_many_4, set##_set_many_8, set##_set_many_16};                     \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have " #set);                                                                \
        compare_set_many(TESTED);                                                                                      \
    }

#define BLOCK_VERBS(set, TARGET, lanes)                                                                                \
    TARGET static outcome bits_has_##lanes(uint8_t *block, uint64_t digest) {                                          \
        return (outcome){kithi_##set##_bits_has(block, digest, lanes), 0};                                             \
    }                                                                                                                  \
    TARGET static outcome bits_set_##lanes(uint8_t *block, uint64_t digest) {                                          \
        return (outcome){true, kithi_##set##_bits_set(block, digest, lanes)};                                          \
    }                                                                                                                  \
    TARGET static outcome counters_has_##lanes(uint8_t *block, uint64_t digest) {                                      \
        return (outcome){kithi_##set##_counters_has(block, digest, lanes), 0};                                         \
    }                                                                                                                  \
    TARGET static outcome counters_raise_##lanes(uint8_t *block, uint64_t digest) {                                    \
        outcome o = {false, 0};                                                                                        \
        o.done = kithi_##set##_counters_raise(block, digest, lanes, &o.number);                                        \
        return o;                                                                                                      \
    }                                                                                                                  \
    TARGET static outcome counters_lower_##lanes(uint8_t *block, uint64_t digest) {                                    \
        outcome o = {false, 0};                                                                                        \
        o.done = kithi_##set##_counters_lower(block, digest, lanes, &o.number);                                        \
        return o;                                                                                                      \
    }
#define BLOCK_VERB(name, bits)                                                                                         \
    { #name, bits, scalar_##name, {name##_4, name##_8, name##_16 }, }

#define BLOCK_TESTS(set, TARGET, condition)                                                                            \
    BLOCK_VERBS(set, TARGET, 4)                                                                                        \
    BLOCK_VERBS(set, TARGET, 8)                                                                                        \
    BLOCK_VERBS(set, TARGET, 16)                                                                                       \
    TEST(set##_bit_blocks_match_the_scalar_code) {                                                                     \
        static const verb VERBS[] = {BLOCK_VERB(bits_has, 1), BLOCK_VERB(bits_set, 1)};                                \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have " #set);                                                                \
        compare_verbs(VERBS, sizeof VERBS / sizeof *VERBS);                                                            \
    }                                                                                                                  \
    TEST(set##_counter_blocks_match_the_scalar_code) {                                                                 \
        static const verb VERBS[] = {BLOCK_VERB(counters_has, 4), BLOCK_VERB(counters_raise, 4),                       \
                                     BLOCK_VERB(counters_lower, 4)};                                                   \
        if (!(condition))                                                                                              \
            SKIP("this processor does not have " #set);                                                                \
        compare_verbs(VERBS, sizeof VERBS / sizeof *VERBS);                                                            \
    }

#endif
