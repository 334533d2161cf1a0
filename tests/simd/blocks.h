/* simd/blocks.h: every function of src/simd beside a plain one that goes from cell to cell as the head of family/lanes.h says:
 * the same answer, the same number, the same 64 bytes and none beside them. BLOCK_TESTS(set, TARGET, condition), after
 * the set's header, makes the tests of a set; where `condition` is false they are skipped. */
#ifndef KITH_TESTS_SIMD_BLOCKS_H
#define KITH_TESTS_SIMD_BLOCKS_H

#include "check.h"
#include "core/prng.h"

enum { BLOCK_BYTES = 64, BLOCK_BITS = 512, LANES_MAX = 16, TOP = 15, COPIES = 14, ROUNDS = 30000 };

/* ---- the plain ones ---- */

/* A cell of `bits` bits, counted in such cells from the least significant bits of byte 0. */
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

/* The key's cell in lane j: the top log2(width) bits of byte j % 8 of word_(j / 8). */
static unsigned cell_of(uint64_t digest, unsigned lanes, unsigned bits, unsigned j) {
    unsigned width = BLOCK_BITS / bits / lanes;
    unsigned byte = (unsigned)(kithi_word(digest, j / 8) >> (j % 8 * 8)) & 0xff;
    return j * width + (byte >> (8 - log2_of(width)));
}

typedef struct outcome {
    bool done;
    unsigned number; /* of bits that were 0, of counters that came from 0 or to it */
} outcome;

static unsigned least_of(const uint8_t *block, uint64_t digest, unsigned lanes, unsigned bits) {
    unsigned least = TOP;
    for (unsigned j = 0; j < lanes; j++) {
        unsigned value = cell_get(block, bits, cell_of(digest, lanes, bits, j));
        least = value < least ? value : least;
    }
    return least;
}

static outcome plain_bits_has(uint8_t *block, uint64_t digest, unsigned lanes) {
    return (outcome){least_of(block, digest, lanes, 1) != 0, 0};
}

static outcome plain_bits_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    outcome o = {true, 0};
    for (unsigned j = 0; j < lanes; j++) {
        unsigned cell = cell_of(digest, lanes, 1, j);
        o.number += cell_get(block, 1, cell) == 0;
        cell_put(block, 1, cell, 1);
    }
    return o;
}

static outcome plain_counters_has(uint8_t *block, uint64_t digest, unsigned lanes) {
    return (outcome){least_of(block, digest, lanes, 4) != 0, 0};
}

static outcome plain_counters_raise(uint8_t *block, uint64_t digest, unsigned lanes) {
    outcome o = {least_of(block, digest, lanes, 4) < COPIES, 0};
    for (unsigned j = 0; o.done && j < lanes; j++) {
        unsigned cell = cell_of(digest, lanes, 4, j), value = cell_get(block, 4, cell);
        o.number += value == 0;
        cell_put(block, 4, cell, value == TOP ? TOP : value + 1);
    }
    return o;
}

static outcome plain_counters_lower(uint8_t *block, uint64_t digest, unsigned lanes) {
    outcome o = {least_of(block, digest, lanes, 4) != 0, 0};
    for (unsigned j = 0; o.done && j < lanes; j++) {
        unsigned cell = cell_of(digest, lanes, 4, j), value = cell_get(block, 4, cell);
        o.number += value == 1;
        cell_put(block, 4, cell, value == TOP ? TOP : value - 1);
    }
    return o;
}

/* ---- blocks ---- */

/* The values at which something happens, and, as often, any. */
static unsigned draw_value(kithi_prng *prng) {
    static const unsigned EDGES[] = {0, 1, 13, 14, 15};
    return kithi_prng_below(prng, 2) == 0 ? EDGES[kithi_prng_below(prng, 5)] : (unsigned)kithi_prng_below(prng, 16);
}

/* Empty, full, all counters alike, each for itself, or bits, few or many. */
static void fill_block(uint8_t *block, kithi_prng *prng) {
    unsigned mode = (unsigned)kithi_prng_below(prng, 6), alike = draw_value(prng);
    for (unsigned c = 0; c < BLOCK_BITS / 4; c++) {
        unsigned a = (unsigned)kithi_prng_below(prng, 16), b = (unsigned)kithi_prng_below(prng, 16);
        unsigned values[] = {0, TOP, alike, draw_value(prng), a & b, a | b};
        cell_put(block, 4, c, values[mode]);
    }
}

/* The key's cells: as they are; of one value and, in a few lanes or many, the next; or so, but lower in one lane. What decides
 * is how the least of them stands to 0 and to 14, which chance alone hardly ever brings about in 16 lanes. */
static void fill_cells(uint8_t *block, uint64_t digest, unsigned lanes, unsigned bits, kithi_prng *prng) {
    unsigned top = (1u << bits) - 1, value = draw_value(prng) & top;
    unsigned mode = (unsigned)kithi_prng_below(prng, 3), odd_lane = (unsigned)kithi_prng_below(prng, lanes);
    uint64_t many = kithi_prng_below(prng, lanes + 1);
    for (unsigned j = 0; mode != 0 && j < lanes; j++) {
        unsigned here = value + (kithi_prng_below(prng, lanes) < many);
        if (mode == 2 && j == odd_lane)
            here = value - (value > 0);
        cell_put(block, bits, cell_of(digest, lanes, bits, j), here < top ? here : top);
    }
}

/* ---- beside each other ---- */

typedef struct verb {
    const char *name;
    unsigned bits; /* of a cell */
    outcome (*plain)(uint8_t *block, uint64_t digest, unsigned lanes);
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
        outcome wanted = v->plain(want + BLOCK_BYTES, digest, lanes);
        outcome answer = v->tested[size](got + BLOCK_BYTES, digest);
        if (answer.done != wanted.done || answer.number != wanted.number || memcmp(got, want, sizeof got) != 0)
            CHECK_FAIL("%s, %u lanes, digest %016" PRIx64 ": %d and %u, not %d and %u, %s bytes", v->name, lanes,
                       digest, answer.done, answer.number, wanted.done, wanted.number,
                       memcmp(got, want, sizeof got) != 0 ? "other" : "the same");
        seen[wanted.done][wanted.number]++;
    }
    /* The blocks brought about every answer and every number that there is. */
    bool counts = v->plain != plain_bits_has && v->plain != plain_counters_has;
    for (unsigned number = 0; number <= (counts ? lanes : 0); number++)
        CHECK(seen[true][number] > 0);
    CHECK(v->plain == plain_bits_set || seen[false][0] > ROUNDS / 100);
}

static inline void compare_verbs(const verb *verbs, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (unsigned size = 0; size < 3; size++)
            compare_verb(&verbs[i], size);
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
    { #name, bits, plain_##name, {name##_4, name##_8, name##_16 }, }

#define BLOCK_TESTS(set, TARGET, condition)                                                                            \
    BLOCK_VERBS(set, TARGET, 4)                                                                                        \
    BLOCK_VERBS(set, TARGET, 8)                                                                                        \
    BLOCK_VERBS(set, TARGET, 16)                                                                                       \
    TEST(bits_of_blocks_by_##set##_are_as_cell_by_cell) {                                                              \
        static const verb VERBS[] = {BLOCK_VERB(bits_has, 1), BLOCK_VERB(bits_set, 1)};                                \
        if (!(condition))                                                                                              \
            SKIP("this processor has no " #set);                                                                       \
        compare_verbs(VERBS, sizeof VERBS / sizeof *VERBS);                                                            \
    }                                                                                                                  \
    TEST(counters_of_blocks_by_##set##_are_as_cell_by_cell) {                                                          \
        static const verb VERBS[] = {BLOCK_VERB(counters_has, 4), BLOCK_VERB(counters_raise, 4),                       \
                                     BLOCK_VERB(counters_lower, 4)};                                                   \
        if (!(condition))                                                                                              \
            SKIP("this processor has no " #set);                                                                       \
        compare_verbs(VERBS, sizeof VERBS / sizeof *VERBS);                                                            \
    }

#endif
