/* Tests of digests and what is derived from them: SipHash-2-4 and XXH3 compared with published values, random keys, and
 * the statistics of places and fingerprints (core/mix.h). */
#include <math.h>

#include "check.h"
#include "core/hash.h"
#include "core/mix.h"
#include "core/prng.h"
#include "probe_word.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* From the reference implementation of Aumasson and Bernstein (vectors.h): key 00 01 … 0f, and the first 0, 1, … 63
 * bytes of the input 00 01 02 … */
static const uint64_t SIP_VECTORS[64] = {
    0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d, 0xcf2794e0277187b7,
    0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462, 0x9e0082df0ba9e4b0,
    0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7, 0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee,
    0xa129ca6149be45e5, 0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
    0xbed65cf21aa2ee98, 0xd0f2cbb02e3b67c7, 0x93536795e3a33e88, 0xa80c038ccd5ccec8, 0xb8ad50c6f649af94,
    0xbce192de8a85b8ea, 0x17d835b85bbb15f3, 0x2f2e6163076bcfad, 0xde4daaaca71dc9a5, 0xa6a2506687956571,
    0xad87a3535c49ef28, 0x32d892fad841c342, 0x7127512f72f27cce, 0xa7f32346f95978e3, 0x12e0b01abb051238,
    0x15e034d40fa197ae, 0x314dffbe0815a3b4, 0x027990f029623981, 0xcadcd4e59ef40c4d, 0x9abfd8766a33735c,
    0x0e3ea96b5304a7d0, 0xad0c42d6fc585992, 0x187306c89bc215a9, 0xd4a60abcf3792b95, 0xf935451de4f21df2,
    0xa9538f0419755787, 0xdb9acddff56ca510, 0xd06c98cd5c0975eb, 0xe612a3cb9ecba951, 0xc766e62cfcadaf96,
    0xee64435a9752fe72, 0xa192d576b245165a, 0x0a8787bf8ecb74b2, 0x81b3e73d20b49b6f, 0x7fa8220ba3b2ecea,
    0x245731c13ca42499, 0xb78dbfaf3a8d83bd, 0xea1ad565322a1a0b, 0x60e61c23a3795013, 0x6606d7e446282b93,
    0x6ca4ecb15c5f91e1, 0x9f626da15c9625f3, 0xe51b38608ef25f57, 0x958a324ceb064572,
};

TEST(siphash_gives_the_64_published_values_at_any_alignment) {
    kith_hash hash = {.id = KITH_HASH_SIPHASH};
    uint8_t bytes[64 + 8];
    for (uint8_t i = 0; i < 16; i++)
        hash.key[i] = i;
    for (size_t shift = 0; shift < 8; shift++) {
        for (size_t i = 0; i < 64; i++)
            bytes[shift + i] = (uint8_t)i;
        for (size_t length = 0; length < 64; length++) {
            CHECK_EQ_U64(kithi_siphash(hash.key, bytes + shift, length), SIP_VECTORS[length]);
            CHECK_EQ_U64(kith_digest(&hash, bytes + shift, length), SIP_VECTORS[length]);
        }
    }
    CHECK_EQ_U64(kith_digest(&hash, NULL, 0), SIP_VECTORS[0]);
}

/* The buffer and the values of xxHash's self-test (xxhsum 0.8), with the seeds 0 and PRIME64. */
#define XXH_PRIME32 UINT64_C(2654435761)
#define XXH_PRIME64 UINT64_C(11400714785074694797)

TEST(xxh3_gives_the_published_values) {
    static const struct {
        size_t length;
        uint64_t plain, seeded;
    } VECTORS[] = {
        {0, 0x2d06800538d394c2, 0xa8a6b918b2f0364a},  {1, 0xc44bdff4074eecdb, 0x032be332dd766ef8},
        {6, 0x27b56a84cd2d7325, 0x84589c116ab59ab9},  {12, 0xa713daf0dfbb77e7, 0xe7303e1b2336de0e},
        {24, 0xa3fe70bf9d3510eb, 0x850e80fc35bdd690}, {48, 0x397da259ecba1f11, 0xadc2cbaa44acc616},
        {80, 0xbcdefbbb2c47c90a, 0xc6dd0cb699532e73}, {195, 0xcd94217ee362ec3a, 0xba68003d370cb3d9},
    };
    uint8_t bytes[256];
    uint64_t generator = XXH_PRIME32;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(generator >> 56);
        generator *= XXH_PRIME64;
    }
    for (size_t i = 0; i < LENGTH(VECTORS); i++) {
        kith_hash plain = {0}, seeded = {.seed = XXH_PRIME64};
        CHECK_EQ_U64(kith_digest(&plain, bytes, VECTORS[i].length), VECTORS[i].plain);
        CHECK_EQ_U64(kith_digest(&seeded, bytes, VECTORS[i].length), VECTORS[i].seeded);
        CHECK_EQ_U64(kithi_checksum(bytes, VECTORS[i].length), VECTORS[i].plain);
    }
    kith_hash plain = {0};
    CHECK_EQ_U64(kith_digest(&plain, NULL, 0), VECTORS[0].plain);
}

TEST(only_a_hash_with_the_fields_of_its_id_is_valid) {
    kith_hash hash = {0}, other;
    CHECK(kithi_hash_valid(&hash));
    hash.seed = 7;
    CHECK(kithi_hash_valid(&hash));
    other = hash;
    CHECK(kithi_hash_equal(&hash, &other));
    other.seed++;
    CHECK(!kithi_hash_equal(&hash, &other));
    hash.id = KITH_HASH_SIPHASH;
    CHECK(!kithi_hash_valid(&hash));
    hash.seed = 0;
    hash.key[15] = 1;
    CHECK(kithi_hash_valid(&hash));
    other = hash;
    other.key[0] ^= 1;
    CHECK(!kithi_hash_equal(&hash, &other));
    hash.id = KITH_HASH_XXH3;
    CHECK(!kithi_hash_valid(&hash));
    hash.id = (kith_hash_id)77;
    CHECK(!kithi_hash_valid(&hash));
}

enum { KEYS = 10000 };

static int compare_keys(const void *a, const void *b) {
    return memcmp(a, b, KITH_HASH_KEY_BYTES);
}

TEST(ten_thousand_untrusted_hashes_have_ten_thousand_keys) {
    static uint8_t keys[KEYS][KITH_HASH_KEY_BYTES];
    unsigned ones[8 * KITH_HASH_KEY_BYTES] = {0};
    for (size_t i = 0; i < KEYS; i++) {
        kith_hash hash = {.seed = 99};
        CHECK_OK(kith_hash_untrusted(&hash));
        CHECK(hash.id == KITH_HASH_SIPHASH && hash.seed == 0 && kithi_hash_valid(&hash));
        memcpy(keys[i], hash.key, KITH_HASH_KEY_BYTES);
        for (unsigned bit = 0; bit < LENGTH(ones); bit++)
            ones[bit] += hash.key[bit / 8] >> (bit % 8) & 1;
    }
    qsort(keys, KEYS, KITH_HASH_KEY_BYTES, compare_keys);
    for (size_t i = 1; i < KEYS; i++)
        CHECK(memcmp(keys[i - 1], keys[i], KITH_HASH_KEY_BYTES) != 0);
    /* Each bit is a coin: the chance that one of the 128 is more than 6 standard deviations (of 50) off is 1 in 4
     * million. */
    for (unsigned bit = 0; bit < LENGTH(ones); bit++)
        CHECK(ones[bit] > KEYS / 2 - 300 && ones[bit] < KEYS / 2 + 300);
}

/* Returns how many standard deviations a chi-square sum is above its mean, which is the degrees of freedom. */
static double chi_deviations(const unsigned *counts, size_t cells, double mean) {
    double chi = 0;
    for (size_t i = 0; i < cells; i++)
        chi += (counts[i] - mean) * (counts[i] - mean) / mean;
    double freedom = (double)cells - 1;
    return (chi - freedom) / sqrt(2 * freedom);
}

enum { CELLS_MAX = 100003, THROWS_A_CELL = 40 };
static unsigned counts[CELLS_MAX];

/* Digests of small numbers, which are typical keys and not already random words. */
static uint64_t digest_of(uint64_t i) {
    static const kith_hash HASH = {0};
    return kith_digest(&HASH, &i, sizeof i);
}

TEST(places_are_uniform_for_every_range) {
    static const uint64_t RANGES[][2] = {{1, 3},     {1, 7},    {1, 1000}, {1, 4095},
                                         {1, 65537}, {3, 1001}, {7, 128},  {1001, 99}};
    for (size_t r = 0; r < LENGTH(RANGES); r++) {
        uint64_t regions = RANGES[r][0], places = RANGES[r][1];
        size_t cells = (size_t)(regions * places);
        CHECK(cells <= CELLS_MAX);
        memset(counts, 0, sizeof counts);
        for (uint64_t i = 0; i < THROWS_A_CELL * cells; i++) {
            kithi_place at = kithi_place_of(digest_of(i), regions, places, kithi_rest_shift(regions, places));
            CHECK(at.region < regions && at.place < places);
            counts[at.region * places + at.place]++;
        }
        double deviations = chi_deviations(counts, cells, THROWS_A_CELL);
        if (!(fabs(deviations) < 5))
            CHECK_FAIL("%" PRIu64 " x %" PRIu64 ": chi-square %.1f deviations off", regions, places, deviations);
    }
}

TEST(fingerprint_and_place_are_independent) {
    static const uint64_t SHAPES[][3] = {{1, 64, 15},   {1, 63, 31},  {3, 101, 127},
                                         {16, 16, 255}, {1, 2, 4095}, {5, 77, 7}};
    for (size_t s = 0; s < LENGTH(SHAPES); s++) {
        uint64_t regions = SHAPES[s][0], places = SHAPES[s][1], top = SHAPES[s][2];
        size_t cells = (size_t)(regions * places * top);
        CHECK(cells <= CELLS_MAX);
        memset(counts, 0, sizeof counts);
        for (uint64_t i = 0; i < THROWS_A_CELL * cells; i++) {
            kithi_place at = kithi_place_of(digest_of(i), regions, places, kithi_rest_shift(regions, places));
            uint64_t fingerprint = kithi_fingerprint(at, top);
            CHECK(fingerprint >= 1 && fingerprint <= top);
            counts[(at.region * places + at.place) * top + fingerprint - 1]++;
        }
        double deviations = chi_deviations(counts, cells, THROWS_A_CELL);
        if (!(fabs(deviations) < 5))
            CHECK_FAIL("%" PRIu64 " x %" PRIu64 " x %" PRIu64 ": chi-square %.1f deviations off", regions, places, top,
                       deviations);
    }
}

TEST(words_of_a_digest_are_independent_of_each_other) {
    enum { SIDE = 37, WORDS = 6 };
    for (uint64_t a = 0; a < WORDS; a++) {
        for (uint64_t b = 0; b < a; b++) {
            memset(counts, 0, sizeof counts);
            for (uint64_t i = 0; i < THROWS_A_CELL * SIDE * SIDE; i++) {
                uint64_t digest = digest_of(i);
                counts[kithi_mulhi(kithi_mixed_word(digest, a), SIDE) * SIDE +
                       kithi_mulhi(kithi_mixed_word(digest, b), SIDE)]++;
            }
            CHECK(fabs(chi_deviations(counts, SIDE * SIDE, THROWS_A_CELL)) < 5);
        }
    }
}

TEST(probe_words_of_a_digest_are_independent_of_each_other) {
    enum { SIDE = 37, WORDS = 9 };
    for (uint64_t a = 0; a < WORDS; a++) {
        for (uint64_t b = 0; b < a; b++) {
            memset(counts, 0, sizeof counts);
            for (uint64_t i = 0; i < THROWS_A_CELL * SIDE * SIDE; i++) {
                uint64_t digest = digest_of(i);
                counts[kithi_mulhi(probe_word(digest, a), SIDE) * SIDE + kithi_mulhi(probe_word(digest, b), SIDE)]++;
            }
            CHECK(fabs(chi_deviations(counts, SIDE * SIDE, THROWS_A_CELL)) < 5);
        }
    }
}

/* The top 5 bits of every two of the 16 bytes, which are the cells in two of 16 lanes, and of each byte and the high
 * bits of the digest, which select the block. */
TEST(bytes_of_lane_words_are_independent_of_each_other_and_of_the_block) {
    enum { SIDE = 32, BYTES = 16 };
    for (unsigned a = 0; a <= BYTES; a++) {
        for (unsigned b = 0; b < a && b < BYTES; b++) {
            memset(counts, 0, sizeof counts);
            for (uint64_t i = 0; i < THROWS_A_CELL * SIDE * SIDE; i++) {
                uint64_t digest = digest_of(i);
                uint64_t of_a = a == BYTES ? digest >> 56 : kithi_lane_word(digest, a / 8) >> (a % 8 * 8) & 0xff;
                uint64_t of_b = kithi_lane_word(digest, b / 8) >> (b % 8 * 8) & 0xff;
                counts[of_a / 8 * SIDE + of_b / 8]++;
            }
            CHECK(fabs(chi_deviations(counts, SIDE * SIDE, THROWS_A_CELL)) < 5);
        }
    }
}

/* Digests that are not random at all: callers who pass their own (a counter, a multiple) still get good words. */
TEST(words_of_consecutive_digests_are_uniform) {
    enum { CELLS = 1009 };
    static const uint64_t STEPS[] = {1, 2, 256, UINT64_C(1) << 32, UINT64_C(1) << 40, 3};
    for (size_t s = 0; s < LENGTH(STEPS); s++) {
        memset(counts, 0, sizeof counts);
        for (uint64_t i = 0; i < THROWS_A_CELL * CELLS; i++)
            counts[kithi_mulhi(kithi_mixed_word(i * STEPS[s], 0), CELLS)]++;
        CHECK(fabs(chi_deviations(counts, CELLS, THROWS_A_CELL)) < 5);
    }
}

TEST(one_flipped_bit_of_a_digest_flips_half_of_a_word) {
    enum { ROUNDS = 2000 };
    static unsigned flips[64][64];
    kithi_prng prng = {5};
    memset(flips, 0, sizeof flips);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t x = kithi_prng_next(&prng), word = kithi_mixed_word(x, 0);
        for (unsigned in = 0; in < 64; in++) {
            uint64_t changed = word ^ kithi_mixed_word(x ^ UINT64_C(1) << in, 0);
            for (unsigned out = 0; out < 64; out++)
                flips[in][out] += changed >> out & 1;
        }
    }
    /* 4096 coins of 2000 throws: the standard deviation is 22, and none may be more than 7 of them off. */
    for (unsigned in = 0; in < 64; in++)
        for (unsigned out = 0; out < 64; out++)
            CHECK(abs((int)flips[in][out] - ROUNDS / 2) < 157);
}

/* Region, place and fingerprint need 60 bits of the digest. The last bits of the fingerprint are then the last that are
 * independent of the place. */
TEST(long_fingerprints_are_independent_of_the_place) {
    typedef struct shape {
        uint64_t regions, places;
        unsigned fingerprint_bits;
    } shape;
    static const shape SHAPES[] = {{1, 65536, 32},       {4, 65536, 32},
                                   {5, 65534, 32},       {4096, 65536, 32},
                                   {4096, 262144, 30},   {5000, 262142, 29},
                                   {1 << 20, 65536, 24}, {1000003, 65534, 24},
                                   {1 << 24, 65536, 20}, {1, UINT64_C(1) << 28, 32}};
    enum { LOW_BITS = 6, HIGH_BITS = 4, PLACE_BITS = 4, CELLS = 1 << (LOW_BITS + HIGH_BITS) };
    for (size_t s = 0; s < LENGTH(SHAPES); s++) {
        uint64_t regions = SHAPES[s].regions, places = SHAPES[s].places;
        unsigned f = SHAPES[s].fingerprint_bits;
        kithi_prng prng = {s};
        /* The last bits of the fingerprint against the first ones of the place, and against the last ones. */
        for (unsigned end = 0; end < 2; end++) {
            memset(counts, 0, sizeof counts);
            for (uint64_t i = 0; i < THROWS_A_CELL * CELLS; i++) {
                kithi_place at =
                    kithi_place_of(kithi_prng_next(&prng), regions, places, kithi_rest_shift(regions, places));
                uint64_t fingerprint = kithi_fingerprint(at, UINT64_C(1) << f) - 1;
                uint64_t part = end == 0 ? at.place * (1 << PLACE_BITS) / places : at.place % (1 << PLACE_BITS);
                counts[fingerprint % (1 << LOW_BITS) << HIGH_BITS | part]++;
            }
            double deviations = chi_deviations(counts, CELLS, THROWS_A_CELL);
            if (!(fabs(deviations) < 5))
                CHECK_FAIL("%" PRIu64 " x %" PRIu64 ", f = %u: chi-square %.1f deviations off", regions, places, f,
                           deviations);
        }
    }
}

static void check_partner(uint64_t place, uint64_t fingerprint, uint64_t places) {
    uint64_t partner = kithi_partner(place, fingerprint, places);
    CHECK(partner < places && partner % 2 != place % 2);
    CHECK_EQ_U64(kithi_partner(partner, fingerprint, places), place);
}

TEST(one_of_two_partners_is_even_and_the_function_is_its_own_inverse) {
    kithi_prng prng = {3};
    for (uint64_t half = 1; half <= 2000; half++) {
        for (unsigned i = 0; i < 20; i++) {
            uint64_t fingerprint = 1 + kithi_prng_below(&prng, UINT32_MAX);
            check_partner(i == 0   ? 0
                          : i == 1 ? 2 * half - 1
                                   : kithi_prng_below(&prng, 2 * half),
                          fingerprint, 2 * half);
        }
    }
    for (uint64_t half = 1; half <= 60; half++) /* small values exhaustively */
        for (uint64_t fingerprint = 1; fingerprint < 32; fingerprint++)
            for (uint64_t place = 0; place < 2 * half; place++)
                check_partner(place, fingerprint, 2 * half);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
