/* Tests of the families of hash functions: known values, the contract of draw, and claim H1, the independence of each
 * family.
 *
 * Independence is a statement about the draw. For k fixed words, functions are drawn from the seeds 1, 2, …, and the k
 * places of each draw are one cell of m^k. Chi-square over the cells must be between its quantiles at 10^-5. The seeds
 * are fixed, so a correct library always passes. The words have the patterns that tables meet: counters, multiples,
 * words that differ only in their high bits, and the two-byte rectangle that tabulation is sensitive to. */
#include "check.h"

#include <math.h>

#include <kith/hash.h>

#include "core/alloc.h"
#include "core/function.h"
#include "core/prng.h"

#define WORD UINT64_C(0x0123456789abcdef)
#define P ((UINT64_C(1) << KITHI_POLYNOMIAL_BITS) - 1)

static kith_function *drawn(kith_family_id family, unsigned independence, uint64_t seed) {
    kith_function *f;
    CHECK_OK(kith_function_draw(family, independence, seed, NULL, &f));
    return f;
}

/* ---- the contract ---- */

/* Computed by a second implementation with Python's long integers, from the description in function.c alone. */
TEST(families_give_known_values) {
    static const struct {
        kith_family_id family;
        unsigned independence;
        uint64_t of_0, of_1, of_ones, of_word;
    } known[] = {
        {KITH_FAMILY_XXH3, 0, UINT64_C(0x31d7bdca160c5115), UINT64_C(0x9c9b68b120e9da2c), UINT64_C(0x266025a8393548bb),
         UINT64_C(0x55679c146be85a5d)},
        {KITH_FAMILY_SIPHASH, 0, UINT64_C(0xc6e60c6d24104147), UINT64_C(0x62b940960272abcf),
         UINT64_C(0x07a2f2b8123dc6ce), UINT64_C(0x905c7877969299ba)},
        {KITH_FAMILY_POLYNOMIAL, 0, UINT64_C(0x4c6f7cbf58dba578), UINT64_C(0x6553ad7a6ded9848),
         UINT64_C(0xfaacd1dcec594928), UINT64_C(0x43b9cbfd9cec54b0)},
        {KITH_FAMILY_POLYNOMIAL, 2, UINT64_C(0x4c6f7cbf58dba578), UINT64_C(0x6553ad7a6ded9848),
         UINT64_C(0xfaacd1dcec594928), UINT64_C(0x43b9cbfd9cec54b0)},
        {KITH_FAMILY_POLYNOMIAL, 5, UINT64_C(0x8d6b7b6d69455ae8), UINT64_C(0xe51e542dea44ef08),
         UINT64_C(0xecd038353ff08b78), UINT64_C(0x76f0f5da9322f5a0)},
        {KITH_FAMILY_TABULATION, 0, UINT64_C(0x2024cd281b2cbddb), UINT64_C(0x74af812c56e6ea76),
         UINT64_C(0x1c25f70c5c877917), UINT64_C(0x21239f9f6207e8ea)},
        {KITH_FAMILY_MULTIPLY_SHIFT, 0, UINT64_C(0xd4a0c1656476437a), UINT64_C(0x21103e24bd51e8f9),
         UINT64_C(0xa115756120ac90cd), UINT64_C(0x456d7bb5b6df45ec)},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kith_function *f = drawn(known[i].family, known[i].independence, 2024);
        CHECK_EQ_U64(kith_function_word(f, 0), known[i].of_0);
        CHECK_EQ_U64(kith_function_word(f, 1), known[i].of_1);
        CHECK_EQ_U64(kith_function_word(f, UINT64_MAX), known[i].of_ones);
        CHECK_EQ_U64(kith_function_word(f, WORD), known[i].of_word);
        kith_function_free(f);
    }
}

TEST(digest_families_are_the_digests_of_hash_h) {
    uint8_t bytes[40];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    kith_function *xxh3 = drawn(KITH_FAMILY_XXH3, 0, 5), *sip = drawn(KITH_FAMILY_SIPHASH, 0, 5);
    kith_hash seed = {KITH_HASH_XXH3, xxh3->state[0], {0}}, key_seed = {KITH_HASH_XXH3, xxh3->key_seed, {0}};
    kith_hash key = {KITH_HASH_SIPHASH, 0, {0}};
    memcpy(key.key, sip->state, sizeof key.key);
    CHECK_EQ_U64(kith_function_key(xxh3, bytes, 8), kith_digest(&seed, bytes, 8));
    CHECK_EQ_U64(kith_function_key(sip, bytes, 8), kith_digest(&key, bytes, 8));
    for (size_t n = 9; n <= sizeof bytes; n++) {
        CHECK_EQ_U64(kith_function_key(xxh3, bytes, n), kith_digest(&key_seed, bytes, n));
        CHECK_EQ_U64(kith_function_key(sip, bytes, n), kith_digest(&key, bytes, n));
    }
    kith_function_free(xxh3);
    kith_function_free(sip);
}

TEST(xxh3_of_a_word_is_that_of_xxhash_for_every_seed) {
    kithi_prng prng = {11};
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t seed = i < 4 ? (uint64_t)i << 31 : kithi_prng_next(&prng);
        uint64_t word = i % 5 == 0 ? i : kithi_prng_next(&prng);
        uint8_t bytes[8];
        kithi_store64(bytes, word);
        CHECK_EQ_U64(kithi_xxh3_word(kithi_xxh3_flip(seed), word), XXH3_64bits_withSeed(bytes, sizeof bytes, seed));
    }
}

TEST(equal_seeds_give_equal_functions_and_other_seeds_others) {
    for (int family = 0; family < KITH_FAMILY_COUNT; family++) {
        kith_function *f = drawn((kith_family_id)family, 0, 1), *same = drawn((kith_family_id)family, 0, 1);
        kith_function *other = drawn((kith_family_id)family, 0, 2);
        for (uint64_t word = 0; word < 1000; word++) {
            CHECK_EQ_U64(kith_function_word(f, word), kith_function_word(same, word));
            CHECK(kith_function_word(f, word) != kith_function_word(other, word));
        }
        const char key[] = "a key of more than 8 bytes";
        CHECK_EQ_U64(kith_function_key(f, key, sizeof key), kith_function_key(same, key, sizeof key));
        CHECK(kith_function_key(f, key, sizeof key) != kith_function_key(other, key, sizeof key));
        kith_function_free(f);
        kith_function_free(same);
        kith_function_free(other);
    }
}

TEST(only_keys_of_four_or_eight_bytes_are_used_as_words) {
    const uint8_t bytes[8] = {0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
    for (int family = 0; family < KITH_FAMILY_COUNT; family++) {
        kith_function *f = drawn((kith_family_id)family, 0, 3);
        CHECK_EQ_U64(kith_function_key(f, bytes, 4), kith_function_word(f, WORD & UINT32_MAX));
        CHECK_EQ_U64(kith_function_key(f, bytes, 8), kith_function_word(f, WORD));
        /* Strings of zeros of different lengths are different keys. */
        static const uint8_t zeros[16] = {0};
        for (size_t n = 0; n <= 16; n++)
            for (size_t m = 0; m < n; m++)
                CHECK((kith_function_key(f, zeros, n) == kith_function_key(f, zeros, m)) == (n == 8 && m == 4));
        kith_function_free(f);
    }
}

TEST(families_have_names) {
    static const char *const names[] = {"xxh3", "siphash", "polynomial", "tabulation", "multiply_shift"};
    for (int family = 0; family < KITH_FAMILY_COUNT; family++)
        CHECK(strcmp(kith_family_name((kith_family_id)family), names[family]) == 0);
    CHECK(kith_family_name((kith_family_id)KITH_FAMILY_COUNT) == NULL);
    CHECK(kith_family_name((kith_family_id)-1) == NULL);
}

typedef struct ledger {
    kith_allocator heap;
    size_t held_bytes;
    bool refuse;
} ledger;

static void *ledger_allocate(void *context, size_t bytes, size_t alignment) {
    ledger *l = context;
    void *memory = l->refuse ? NULL : l->heap.allocate(l->heap.context, bytes, alignment);
    l->held_bytes += memory != NULL ? bytes : 0;
    return memory;
}

static void ledger_release(void *context, void *memory, size_t bytes) {
    ledger *l = context;
    l->held_bytes -= bytes;
    l->heap.release(l->heap.context, memory, bytes);
}

TEST(draw_refuses_invalid_arguments_and_reports_no_memory) {
    ledger l = {kithi_allocator_or_default(NULL), 0, false};
    kith_allocator allocator = {ledger_allocate, ledger_release, &l};
    kith_function *f = NULL;
    CHECK_STATUS(kith_function_draw((kith_family_id)KITH_FAMILY_COUNT, 0, 1, &allocator, &f), KITH_E_HASH);
    CHECK_STATUS(kith_function_draw(KITH_FAMILY_POLYNOMIAL, 1, 1, &allocator, &f), KITH_E_HASH);
    CHECK_STATUS(kith_function_draw(KITH_FAMILY_POLYNOMIAL, 65, 1, &allocator, &f), KITH_E_HASH);
    CHECK_STATUS(kith_function_draw(KITH_FAMILY_TABULATION, 3, 1, &allocator, &f), KITH_E_HASH);
    for (int family = 0; family < KITH_FAMILY_COUNT; family++) {
        l.refuse = true;
        CHECK_STATUS(kith_function_draw((kith_family_id)family, 0, 1, &allocator, &f), KITH_E_MEMORY);
        CHECK(f == NULL);
        l.refuse = false;
        CHECK_OK(kith_function_draw((kith_family_id)family, 0, 1, &allocator, &f));
        CHECK_EQ_U64(l.held_bytes, kithi_function_bytes(f));
        kith_function_free(f);
        CHECK_EQ_U64(l.held_bytes, 0);
        f = NULL;
    }
    kith_function_free(NULL);
}

/* ---- H1: independence ---- */

#define K_MAX 4
#define CELLS_MAX 625
#define DRAWS 40000

typedef struct pattern {
    const char *name;
    uint64_t words[K_MAX];
} pattern;

static const pattern PATTERNS[] = {
    {"0 1 2 3", {0, 1, 2, 3}},
    {"a counter further on", {1000000, 1000001, 1000002, 1000003}},
    {"multiples of 1000", {0, 1000, 2000, 3000}},
    {"high bits only", {0, UINT64_C(1) << 60, UINT64_C(2) << 60, UINT64_C(3) << 60}},
    {"the highest bits alone", {UINT64_C(1) << 63, UINT64_C(1) << 62, UINT64_C(1) << 61, UINT64_C(3) << 62}},
    {"powers of 2", {1, 2, 4, 8}},
    {"a rectangle in two bytes", {0x0000, 0x0001, 0x0100, 0x0101}},
};

#define PATTERN_COUNT (sizeof PATTERNS / sizeof *PATTERNS)

/* Numbers of places m for k words: 49, 343 and 625 cells, each with at least 64 expected draws. m is not a power of
 * two, so that a place depends on all bits of the value. */
static unsigned places_for(unsigned k) {
    return k == 4 ? 5 : 7;
}

/* The quantile of chi-square for a standard normal z (Wilson, Hilferty, 1931; within 1% from 10 degrees of freedom). */
static double chi_square_quantile(double degrees, double z) {
    double s = 2 / (9 * degrees), root = 1 - s + z * sqrt(s);
    return degrees * root * root * root;
}

#define Z_1E_5 4.265

static void fill_cells(kith_family_id family, unsigned independence, unsigned k, const pattern *patterns,
                       size_t pattern_count, uint64_t (*cells)[CELLS_MAX]) {
    memset(cells, 0, pattern_count * sizeof *cells);
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        kith_function *f = drawn(family, independence, seed);
        for (size_t i = 0; i < pattern_count; i++) {
            uint64_t cell = 0;
            for (unsigned j = 0; j < k; j++)
                cell = cell * places_for(k) + kithi_mulhi(kith_function_word(f, patterns[i].words[j]), places_for(k));
            cells[i][cell]++;
        }
        kith_function_free(f);
    }
}

static double chi_square(const uint64_t *cells, unsigned cell_count) {
    double expected = (double)DRAWS / cell_count, sum = 0;
    for (unsigned i = 0; i < cell_count; i++)
        sum += ((double)cells[i] - expected) * ((double)cells[i] - expected) / expected;
    return sum;
}

static unsigned cell_count_for(unsigned k) {
    unsigned count = 1;
    for (unsigned i = 0; i < k; i++)
        count *= places_for(k);
    return count;
}

static uint64_t cells[PATTERN_COUNT][CELLS_MAX];

static void check_independent(kith_family_id family, unsigned independence, unsigned k) {
    unsigned cell_count = cell_count_for(k);
    double low = chi_square_quantile(cell_count - 1, -Z_1E_5), high = chi_square_quantile(cell_count - 1, Z_1E_5);
    fill_cells(family, independence, k, PATTERNS, PATTERN_COUNT, cells);
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        double sum = chi_square(cells[i], cell_count);
        if (!(sum >= low && sum <= high))
            CHECK_FAIL("%s, %u words, %s: chi-square is %.1f, not between %.1f and %.1f", kith_family_name(family), k,
                       PATTERNS[i].name, sum, low, high);
    }
}

TEST(pairs_are_uniform_in_every_family) {
    for (int family = 0; family < KITH_FAMILY_COUNT; family++)
        check_independent((kith_family_id)family, 0, 2);
}

TEST(triples_are_uniform_in_all_but_multiply_shift_and_polynomials_of_degree_1) {
    check_independent(KITH_FAMILY_XXH3, 0, 3);
    check_independent(KITH_FAMILY_SIPHASH, 0, 3);
    check_independent(KITH_FAMILY_POLYNOMIAL, 3, 3);
    check_independent(KITH_FAMILY_TABULATION, 0, 3);
}

TEST(quadruples_are_uniform_in_polynomials_of_degree_3_and_the_digest_families) {
    check_independent(KITH_FAMILY_XXH3, 0, 4);
    check_independent(KITH_FAMILY_SIPHASH, 0, 4);
    check_independent(KITH_FAMILY_POLYNOMIAL, 4, 4);
}

/* ---- H1: the independence is not higher than that ---- */

static void check_dependent(kith_family_id family, unsigned independence, unsigned k, const pattern *words) {
    fill_cells(family, independence, k, words, 1, cells);
    CHECK(chi_square(cells[0], cell_count_for(k)) > 5 * chi_square_quantile(cell_count_for(k) - 1, Z_1E_5));
}

/* floor(y), floor(y + d) and floor(y + 2d) have a second difference of -1, 0 or 1. */
TEST(multiply_shift_is_not_3_wise_independent) {
    check_dependent(KITH_FAMILY_MULTIPLY_SHIFT, 0, 3, &PATTERNS[0]);
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        kith_function *f = drawn(KITH_FAMILY_MULTIPLY_SHIFT, 0, seed);
        for (uint64_t step = 1; step < UINT64_C(1) << 62; step <<= 3)
            CHECK(kith_function_word(f, WORD) - 2 * kith_function_word(f, WORD + step) +
                      kith_function_word(f, WORD + 2 * step) + 1 <=
                  2);
        kith_function_free(f);
    }
}

TEST(tabulation_is_not_4_wise_independent) {
    check_dependent(KITH_FAMILY_TABULATION, 0, 4, &PATTERNS[6]);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        kith_function *f = drawn(KITH_FAMILY_TABULATION, 0, seed);
        for (unsigned shift = 8; shift < 64; shift += 8) {
            uint64_t a = seed, b = 255 - seed, c = seed << shift, d = (seed + 1) << shift;
            CHECK_EQ_U64(kith_function_word(f, a | c) ^ kith_function_word(f, a | d) ^ kith_function_word(f, b | c) ^
                             kith_function_word(f, b | d),
                         0);
        }
        kith_function_free(f);
    }
}

/* The k-th difference of a polynomial of degree k - 1 is 0. */
TEST(a_polynomial_of_degree_k_minus_1_is_not_k_plus_1_wise_independent) {
    check_dependent(KITH_FAMILY_POLYNOMIAL, 2, 3, &PATTERNS[0]);
    check_dependent(KITH_FAMILY_POLYNOMIAL, 3, 4, &PATTERNS[0]);
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        kith_function *f = drawn(KITH_FAMILY_POLYNOMIAL, 3, seed);
        uint64_t v[4];
        for (unsigned i = 0; i < 4; i++)
            v[i] = kith_function_word(f, WORD + i) >> 3;
        CHECK_EQ_U64((v[3] + 3 * v[1]) % P, (v[0] + 3 * v[2]) % P);
        kith_function_free(f);
    }
}

/* ---- the polynomial, exactly ---- */

TEST(a_polynomial_takes_its_word_modulo_p) {
    kith_function *f = drawn(KITH_FAMILY_POLYNOMIAL, 7, 9);
    for (uint64_t word = 0; word < 8; word++)
        for (uint64_t times = 1; times <= 7; times++)
            CHECK_EQ_U64(kith_function_word(f, word + times * P), kith_function_word(f, word));
    CHECK_EQ_U64(kith_function_word(f, UINT64_MAX), kith_function_word(f, 7));
    kith_function_free(f);
}

/* The reduction at its limits, compared with the remainder that the compiler computes. */
TEST(mersenne_reduction_is_the_remainder) {
    const uint64_t edges[] = {0, 1, 2, P / 2, P - 2, P - 1};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t k = 0; k < 6; k++) {
                uint64_t low, high = kithi_mul_wide(edges[i], edges[j], &low);
                low += edges[k];
                high += low < edges[k];
                /* 2^64 is 8 modulo P. */
                uint64_t remainder = ((high % P) * 8 % P + low % P) % P;
                CHECK_EQ_U64(kithi_mersenne_reduce(high, low, KITHI_POLYNOMIAL_BITS), remainder);
            }
}

#define SMALL_MAX 31

/* All p^k polynomials over the prime p = 2^bits - 1, computed by the code for 2^61 - 1, at k fixed words: each tuple of
 * values occurs exactly once. Mapped to m places, a tuple of places occurs at most p^k (1/m + 1/p)^k times, and some
 * occur more than p^k / m^k times: the 1/m^k of textbooks is not reached. */
static void check_all_polynomials(unsigned bits, unsigned k, const uint64_t *words) {
    static uint32_t values_seen[SMALL_MAX * SMALL_MAX * SMALL_MAX], places_seen[SMALL_MAX * SMALL_MAX * SMALL_MAX];
    uint64_t p = (UINT64_C(1) << bits) - 1, all = 1;
    for (unsigned i = 0; i < k; i++)
        all *= p;
    for (uint64_t m = 2; m <= p; m++) {
        uint64_t tuples = 1, bound = 1;
        for (unsigned i = 0; i < k; i++) {
            tuples *= m;
            bound *= p + m;
        }
        memset(values_seen, 0, sizeof values_seen);
        memset(places_seen, 0, sizeof places_seen);
        for (uint64_t index = 0; index < all; index++) {
            uint64_t c[3], rest = index, values = 0, places = 0;
            for (unsigned i = 0; i < k; i++, rest /= p)
                c[i] = rest % p;
            for (unsigned i = 0; i < k; i++) {
                uint64_t value = kithi_polynomial(c, k, words[i], bits);
                values = values * p + value;
                places = places * m + kithi_mulhi(value << (64 - bits), m);
            }
            values_seen[values]++;
            places_seen[places]++;
        }
        uint64_t most = 0;
        for (uint64_t i = 0; i < all; i++)
            CHECK_EQ_U64(values_seen[i], 1);
        for (uint64_t i = 0; i < tuples; i++)
            most = places_seen[i] > most ? places_seen[i] : most;
        CHECK(most * tuples <= bound);
        CHECK(most * tuples > all);
    }
}

TEST(small_polynomials_are_exactly_k_wise_independent_and_keep_their_bound) {
    const uint64_t words[][3] = {{0, 1, 2}, {6, 3, 0}, {5, 1, 4}};
    for (size_t i = 0; i < 3; i++) {
        check_all_polynomials(3, 2, words[i]);
        check_all_polynomials(3, 3, words[i]);
        check_all_polynomials(5, 2, words[i]);
    }
    check_all_polynomials(5, 3, words[0]);
    check_all_polynomials(5, 3, (const uint64_t[]){30, 7, 19});
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
