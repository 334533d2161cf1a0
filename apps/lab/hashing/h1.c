/* H1: k-wise uniformity of the hash families.
 *
 * Many functions are drawn from a family. Each function maps the same k words to m slots, and the k-tuples of slots
 * are counted. The draws are independent, so a chi-square test applies. The words are those on which weak families
 * fail: x, x+1, x+2 … for families that multiply, and for tabulation four words that differ in two bytes like the
 * corners of a rectangle. Each family is tested with as many words as it promises, where it must pass. It is also
 * tested with one word more, where it must fail; this shows that the test can detect a failure.
 *
 * m = 5 divides neither 2^64 nor p = 2^61 - 1, and four words give only 625 tuples.
 *
 * The value of a polynomial is uniform below p, and slot y of m receives the values v with floor(v m / 2^61) = y.
 * Slot 0 receives ceil(2^61/m) values, and no slot receives more. So k words all fall into slot 0 with probability
 * exactly (ceil(2^61/m)/p)^k. This is more than 1/m^k by a factor of (1 + e)^k with e = (1 + (-2^61 mod m))/p <= m/p.
 * For tables of practical sizes the excess is negligible: 10^-15 for m = 1000. It can be measured only if m is close
 * to p. With m = 3 2^60 slots, the value 2j falls into slot 3j and 2j+1 into slot 3j+1. A word then falls into one of
 * the m/3 slots 3j with probability 1/2, although a probability of 1/m for each slot would give 1/3.
 *
 * The values of tabulation and multiply_shift are uniform below 2^64. If m is a power of two, every slot receives
 * 2^64/m of them, so these families meet the definition exactly, and polynomials up to the one value that is missing.
 * With m = 3 2^60 slots, six of sixteen values fall into the slots 3j, and each of these slots has a probability of
 * 6/2^64, more than 1/m. */
#include <math.h>

#include <lab/experiment.h>

enum { SLOTS = 5, WORDS_MAX = 4, CELLS_MAX = SLOTS * SLOTS * SLOTS * SLOTS };

#define P 0x1p61 /* p is one less, but a double cannot represent that */

typedef enum words { CONSECUTIVE, CORNERS } words;

typedef struct test {
    const char *name;
    kith_family_id family;
    unsigned independence; /* for polynomials */
    unsigned k;            /* number of words */
    words words;
    bool is_promised;
} test;

static const test TESTS[] = {
    {"2-wise polynomial", KITH_FAMILY_POLYNOMIAL, 2, 2, CONSECUTIVE, true},
    {"3-wise polynomial", KITH_FAMILY_POLYNOMIAL, 3, 3, CONSECUTIVE, true},
    {"4-wise polynomial", KITH_FAMILY_POLYNOMIAL, 4, 4, CONSECUTIVE, true},
    {"multiply_shift", KITH_FAMILY_MULTIPLY_SHIFT, 0, 2, CONSECUTIVE, true},
    {"tabulation", KITH_FAMILY_TABULATION, 0, 3, CONSECUTIVE, true},
    {"tabulation", KITH_FAMILY_TABULATION, 0, 3, CORNERS, true},
    {"xxh3", KITH_FAMILY_XXH3, 0, 4, CONSECUTIVE, true},
    {"xxh3", KITH_FAMILY_XXH3, 0, 4, CORNERS, true},
    {"siphash", KITH_FAMILY_SIPHASH, 0, 4, CONSECUTIVE, true},
    {"siphash", KITH_FAMILY_SIPHASH, 0, 4, CORNERS, true},
    {"2-wise polynomial", KITH_FAMILY_POLYNOMIAL, 2, 3, CONSECUTIVE, false},
    {"3-wise polynomial", KITH_FAMILY_POLYNOMIAL, 3, 4, CONSECUTIVE, false},
    {"multiply_shift", KITH_FAMILY_MULTIPLY_SHIFT, 0, 3, CONSECUTIVE, false},
    {"tabulation", KITH_FAMILY_TABULATION, 0, 4, CORNERS, false},
};

enum { TEST_COUNT = sizeof TESTS / sizeof *TESTS };

static uint64_t word_at(uint64_t start, words which, unsigned i) {
    return which == CONSECUTIVE ? start + i : start + (i & 1) + ((i & 2) << 7);
}

/* A random word below p. Its low 16 bits are 0, so that adding i or a corner does not carry into other bytes. */
static uint64_t first_word(lab *l) {
    return lab_random(l) >> 4 & ~UINT64_C(0xffff);
}

static unsigned slot_of(uint64_t value) { /* the high half of value * SLOTS */
    return (unsigned)(((value >> 32) * SLOTS + ((value & UINT32_MAX) * SLOTS >> 32)) >> 32);
}

static void count_tuples(lab *l, const test *t, uint64_t draws, uint64_t *observed, double done) {
    uint64_t start = first_word(l);
    for (uint64_t draw = 0; draw < draws; draw++) {
        kith_function *f = lab_function(l, t->family, t->independence);
        unsigned cell = 0;
        for (unsigned i = 0; i < t->k; i++)
            cell = cell * SLOTS + slot_of(kith_function_word(f, word_at(start, t->words, i)));
        observed[cell]++;
        lab_drop(l, f);
        if (draw % 4096 == 0)
            lab_progress(l, done);
    }
}

static void run_test(lab *l, const test *t, uint64_t draws, lab_series *kept, lab_series *broken, double done) {
    uint64_t observed[CELLS_MAX] = {0};
    double expected[CELLS_MAX], chi_square = 0;
    unsigned cells = (unsigned)pow(SLOTS, t->k);
    const char *how = t->words == CONSECUTIVE ? "consecutive" : "corners of a rectangle";
    count_tuples(l, t, draws, observed, done);
    for (unsigned i = 0; i < cells; i++) {
        expected[i] = (double)draws / cells;
        chi_square += ((double)observed[i] - expected[i]) * ((double)observed[i] - expected[i]) / expected[i];
    }
    if (t->is_promised)
        lab_find_fit(l, observed, expected, cells, 1, "%s, %u words (%s)", t->name, t->k, how);
    else
        lab_find(l, LAB_AT_LEAST, lab_chi_quantile(cells - 1, 1 - LAB_LEVEL), lab_exact(chi_square),
                 "%s, %u words (%s): more than promised, so it must fail (chi-square, %u degrees of freedom)", t->name,
                 t->k, how, cells - 1);
    lab_at(t->is_promised ? kept : broken, t->k, lab_exact(chi_square / (cells - 1)));
}

/* The relative excess of the probability of slot 0 over 1/m: e. */
static double excess(uint64_t m) {
    uint64_t left = (UINT64_C(1) << 61) % m;
    return (double)(left == 0 ? 1 : 1 + m - left) / P;
}

static double excess_of(double e, double k) { /* (1 + e)^k - 1 */
    return expm1(k * log1p(e));
}

static void draw_excess(lab *l) {
    static const uint64_t SIZES[] = {
        10, 1000, 100000, 10000000, UINT64_C(3) << 30, UINT64_C(3) << 40, UINT64_C(3) << 50};
    lab_plot *plot = lab_draw(l, "A polynomial mod p with m slots: excess of the likeliest tuple over 1/m^k",
                              "m, slots", "relative excess over 1/m^k", LAB_LOG_X | LAB_LOG_Y);
    for (unsigned k = 2; k <= 32; k *= 4) {
        lab_series *curve = lab_curve(plot, "(1 + m/p)^k − 1, k = %u", k),
                   *points = lab_points(plot, "exact, k = %u", k);
        for (unsigned i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
            lab_at(curve, (double)SIZES[i], lab_exact(excess_of((double)SIZES[i] / P, k)));
            lab_at(points, (double)SIZES[i], lab_exact(excess_of(excess(SIZES[i]), k)));
        }
    }
    lab_find(l, LAB_SHOWN, 0, lab_exact(excess_of(excess(1000), 4)),
             "4-wise polynomial, m = 1000: 4 words in slot 0, relative excess over 1/m^4, exact");
}

/* Measures the probability that k words all fall into slots whose number is divisible by `divisor`, for m = units 2^60
 * slots. */
static lab_estimate share_in(lab *l, kith_family_id family, unsigned independence, unsigned k, uint64_t units,
                             uint64_t divisor) {
    uint64_t start = first_word(l), in = 0, draws = lab_number(l, "draws");
    for (uint64_t draw = 0; draw < draws; draw++) {
        kith_function *f = lab_function(l, family, independence);
        bool all = true;
        for (unsigned i = 0; i < k; i++) {
            uint64_t value = kith_function_word(f, start + i);
            all = all && (value / 16 * units + value % 16 * units / 16) % divisor == 0; /* the high half of value * m */
        }
        in += all;
        lab_drop(l, f);
        if (draw % 4096 == 0)
            lab_progress(l, 0.9);
    }
    return lab_share(in, draws);
}

/* Whether a family of this independence meets the definition of [4] with k words. `in_3j` of 16 values are in slots 3j
 * of m = 3 2^60. */
static void run_definition(lab *l, kith_family_id family, unsigned independence, unsigned k, double in_3j) {
    const char *name = kith_family_name(family);
    double m = 3 * 0x1p60;
    lab_find(l, LAB_EQUALS, pow(1.0 / 4, k), share_in(l, family, independence, k, 1, 4),
             "%s, m = 2^60: %u words in slots 4j, with 1/m^k for each tuple", name, k);
    lab_estimate share = share_in(l, family, independence, k, 3, 3);
    lab_find(l, LAB_EQUALS, pow(in_3j / 16, k), share,
             "%s, m = 3·2^60: %u words in slots 3j, exact (1/m^k for each tuple would be %.3g)", name, k,
             pow(1.0 / 3, k));
    if (family == KITH_FAMILY_POLYNOMIAL)
        lab_find(l, LAB_AT_MOST, pow(m / 3 * (1 / m + 1 / P), k), share,
                 "%s, m = 3·2^60: %u words in slots 3j, with (1/m + 1/p)^k for each tuple", name, k);
}

static void run(lab *l) {
    uint64_t draws = lab_number(l, "draws");
    lab_parameter(l, "functions drawn", "%llu", (unsigned long long)draws);
    lab_parameter(l, "slots", "%d", SLOTS);
    lab_plot *plot = lab_draw(l, "Tuples of slots", "words, k", "chi-square / degrees of freedom", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "expected: 1");
    lab_series *kept = lab_points(plot, "as many words as promised"), *broken = lab_points(plot, "one word more");
    for (unsigned k = 2; k <= WORDS_MAX; k++)
        lab_at(curve, k, lab_exact(1));
    for (unsigned i = 0; i < TEST_COUNT; i++)
        if (lab_wants(l, "family", kith_family_name(TESTS[i].family)))
            run_test(l, &TESTS[i], draws, kept, broken, 0.8 * i / TEST_COUNT);
    double ks[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", ks);
    for (size_t i = 0; i < count && lab_wants(l, "family", "polynomial"); i++)
        run_definition(l, KITH_FAMILY_POLYNOMIAL, (unsigned)ks[i], (unsigned)ks[i], 8);
    if (lab_wants(l, "family", kith_family_name(KITH_FAMILY_MULTIPLY_SHIFT)))
        run_definition(l, KITH_FAMILY_MULTIPLY_SHIFT, 0, 2, 6);
    if (lab_wants(l, "family", kith_family_name(KITH_FAMILY_TABULATION)))
        run_definition(l, KITH_FAMILY_TABULATION, 0, 3, 6);
    draw_excess(l);
}

const lab_claim lab_H1 = {
    .id = "H1",
    .title = "k-wise uniformity of the hash families",
    .sentence =
        "The families are k-universal for the k that each promises: k different keys fall into k given slots of m "
        "with probability at most 1/m^k. With m a power of two, multiply_shift and tabulation meet this "
        "definition exactly; polynomials mod p miss it by a factor of at most (1 + m/p)^k.",
    .formula = "P(h(x_{1}) = y_{1}, …, h(x_{k}) = y_{k}) ≤ 1/m^{k}",
    .code = "src/core/function.c",
    .decides = "polynomial, m = 2^60: 4 words",
    .settings = {LAB_SIZE("draws", 15000, 400000, 1000, 1e8, "functions drawn from each family"),
                 LAB_WORD("family", "all", "all polynomial multiply_shift tabulation xxh3 siphash", "hash functions"),
                 LAB_WHOLES("k", "2,4", "2,4", 2, 64, 2, 6, "words in slots of m = 2^60 and 3·2^60, for polynomials")},
    .run = run,
};
