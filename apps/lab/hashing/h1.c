/* H1: k-wise uniformity of the families.
 *
 * Many functions are drawn from a family, each puts the same k words into m places, and the k-tuples of places are counted:
 * draws are independent, so chi-square applies. The words are those that a weak family fails at: x, x+1, x+2 … for those
 * that multiply, and the four corners of a rectangle in two bytes for tabulation. Each family is tested at what it promises, and
 * one word past that, where it must fail: this shows that the test can see it.
 *
 * m = 5 divides neither 2^64 nor p = 2^61 - 1, and four words still make no more than 625 cells.
 *
 * A polynomial's value is uniform below p, and place y of m has the values v with floor(v m / 2^61) = y. Place 0 has
 * ceil(2^61/m) of them, and no place has more; so k words fall into place 0 with (ceil(2^61/m)/p)^k, exactly, which is more than
 * 1/m^k by a factor of (1 + e)^k with e = (1 + (-2^61 mod m))/p <= m/p. With the tables there are, that is nothing: 10^-15 for
 * m = 1000. To measure it m must be near p. With m = 3 2^60 places the values 2j fall into place 3j and 2j+1 into 3j+1, so
 * a word falls into one of the m/3 places 3j with 1/2, where 1/m for each would make 1/3. */
#include <math.h>

#include <lab/experiment.h>

enum { PLACES = 5, WORDS_MAX = 4, CELLS_MAX = PLACES * PLACES * PLACES * PLACES };

#define P 0x1p61 /* less 1, which a double does not show */

typedef enum words { IN_A_ROW, CORNERS } words;

typedef struct test {
    const char *name;
    kith_family_id family;
    unsigned independence; /* of the polynomial */
    unsigned k;            /* words */
    words words;
    bool is_promised;
} test;

static const test TESTS[] = {
    {"2-wise polynomial", KITH_FAMILY_POLYNOMIAL, 2, 2, IN_A_ROW, true},
    {"3-wise polynomial", KITH_FAMILY_POLYNOMIAL, 3, 3, IN_A_ROW, true},
    {"4-wise polynomial", KITH_FAMILY_POLYNOMIAL, 4, 4, IN_A_ROW, true},
    {"multiply_shift", KITH_FAMILY_MULTIPLY_SHIFT, 0, 2, IN_A_ROW, true},
    {"tabulation", KITH_FAMILY_TABULATION, 0, 3, IN_A_ROW, true},
    {"tabulation", KITH_FAMILY_TABULATION, 0, 3, CORNERS, true},
    {"xxh3", KITH_FAMILY_XXH3, 0, 4, IN_A_ROW, true},
    {"xxh3", KITH_FAMILY_XXH3, 0, 4, CORNERS, true},
    {"siphash", KITH_FAMILY_SIPHASH, 0, 4, IN_A_ROW, true},
    {"siphash", KITH_FAMILY_SIPHASH, 0, 4, CORNERS, true},
    {"2-wise polynomial", KITH_FAMILY_POLYNOMIAL, 2, 3, IN_A_ROW, false},
    {"3-wise polynomial", KITH_FAMILY_POLYNOMIAL, 3, 4, IN_A_ROW, false},
    {"multiply_shift", KITH_FAMILY_MULTIPLY_SHIFT, 0, 3, IN_A_ROW, false},
    {"tabulation", KITH_FAMILY_TABULATION, 0, 4, CORNERS, false},
};

enum { TEST_COUNT = sizeof TESTS / sizeof *TESTS };

/* Below p, and with room for the rows and corners. */
static uint64_t word_at(uint64_t start, words which, unsigned i) {
    return which == IN_A_ROW ? start + i : start + (i & 1) + ((i & 2) << 7);
}

static uint64_t first_word(lab *l) {
    return lab_random(l) >> 4 & ~UINT64_C(0xffff);
}

static unsigned place_of(uint64_t value) { /* the high half of value * PLACES */
    return (unsigned)(((value >> 32) * PLACES + ((value & UINT32_MAX) * PLACES >> 32)) >> 32);
}

static void count_tuples(lab *l, const test *t, uint64_t draws, uint64_t *observed, double done) {
    uint64_t start = first_word(l);
    for (uint64_t draw = 0; draw < draws; draw++) {
        kith_function *f = lab_function(l, t->family, t->independence);
        unsigned cell = 0;
        for (unsigned i = 0; i < t->k; i++)
            cell = cell * PLACES + place_of(kith_function_word(f, word_at(start, t->words, i)));
        observed[cell]++;
        lab_drop(l, f);
        if (draw % 4096 == 0)
            lab_going(l, done);
    }
}

static void run_test(lab *l, const test *t, uint64_t draws, lab_series *kept, lab_series *broken, double done) {
    uint64_t observed[CELLS_MAX] = {0};
    double expected[CELLS_MAX], chi_square = 0;
    unsigned cells = (unsigned)pow(PLACES, t->k);
    const char *how = t->words == IN_A_ROW ? "in a row" : "at corners";
    count_tuples(l, t, draws, observed, done);
    for (unsigned i = 0; i < cells; i++) {
        expected[i] = (double)draws / cells;
        chi_square += ((double)observed[i] - expected[i]) * ((double)observed[i] - expected[i]) / expected[i];
    }
    if (t->is_promised)
        lab_find_fit(l, LAB_MUST, observed, expected, cells, 1, "%s, %u words %s", t->name, t->k, how);
    else
        lab_find(l, LAB_MUST, LAB_AT_LEAST, lab_chi_quantile(cells - 1, 1 - LAB_LEVEL), lab_exact(chi_square),
                 "%s, %u words %s: past its promise (chi-square, %u degrees)", t->name, t->k, how, cells - 1);
    lab_at(t->is_promised ? kept : broken, t->k, lab_exact(chi_square / (cells - 1)));
}

/* How far place 0 is above 1/m, relatively: e. */
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
    lab_plot *plot = lab_draw(l, "A polynomial mod p over m places: what the likeliest tuple has beyond 1/m^k",
                              "m, places", "part of 1/m^k", LAB_LOG_X | LAB_LOG_Y);
    for (unsigned k = 2; k <= 32; k *= 4) {
        lab_series *curve = lab_curve(plot, "(1 + m/p)^k − 1, k = %u", k),
                   *points = lab_points(plot, "exact, k = %u", k);
        for (unsigned i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
            lab_at(curve, (double)SIZES[i], lab_exact(excess_of((double)SIZES[i] / P, k)));
            lab_at(points, (double)SIZES[i], lab_exact(excess_of(excess(SIZES[i]), k)));
        }
    }
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(excess_of(excess(1000), 4)),
             "4-wise polynomial, m = 1000: 4 words in place 0, part of 1/m^4 beyond it, exact");
}

/* m = 3 2^60: the words that all fall into places 3j. */
static void run_bias(lab *l, unsigned k, uint64_t draws) {
    uint64_t start = first_word(l), in = 0;
    for (uint64_t draw = 0; draw < draws; draw++) {
        kith_function *f = lab_function(l, KITH_FAMILY_POLYNOMIAL, k);
        bool all = true;
        for (unsigned i = 0; i < k; i++) {
            uint64_t value = kith_function_word(f, start + i);
            all = all && (value / 16 * 3 + value % 16 * 3 / 16) % 3 == 0; /* the high half of value * m */
        }
        in += all;
        lab_drop(l, f);
        if (draw % 4096 == 0)
            lab_going(l, 0.9);
    }
    lab_estimate share = lab_share(in, draws);
    double m = 3 * 0x1p60;
    lab_find(l, LAB_LOOSE, LAB_AT_MOST, pow(1.0 / 3, k), share, "m = 3·2^60: %u words in places 3j, 1/m^k for each", k);
    lab_find(l, LAB_MUST, LAB_EQUALS, pow(1.0 / 2, k), share, "m = 3·2^60: %u words in places 3j, exact", k);
    lab_find(l, LAB_MUST, LAB_AT_MOST, pow(m / 3 * (1 / m + 1 / P), k), share,
             "m = 3·2^60: %u words in places 3j, (1/m + 1/p)^k for each", k);
}

static void run(lab *l) {
    uint64_t draws = lab_pick(l, 15000, 400000);
    lab_parameter(l, "functions drawn", "%llu", (unsigned long long)draws);
    lab_parameter(l, "places", "%d", PLACES);
    lab_plot *plot = lab_draw(l, "Tuples of places", "words k", "chi-square a degree", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "expected: 1");
    lab_series *kept = lab_points(plot, "within the promise"), *broken = lab_points(plot, "past the promise");
    for (unsigned k = 2; k <= WORDS_MAX; k++)
        lab_at(curve, k, lab_exact(1));
    for (unsigned i = 0; i < TEST_COUNT; i++)
        run_test(l, &TESTS[i], draws, kept, broken, 0.8 * i / TEST_COUNT);
    run_bias(l, 2, draws);
    run_bias(l, 4, draws);
    draw_excess(l);
}

const lab_claim lab_H1 = {
    .id = "H1",
    .title = "k-wise uniformity of the families",
    .sentence = "A family is k-universal: k different keys fall into k given places of T with 1/|T|^k at most.",
    .formula = "P(h(x_{1}) = y_{1}, …, h(x_{k}) = y_{k}) ≤ 1/|T|^{k}",
    .code = "src/core/function.c",
    .note =
        "[4] asks for 1/|T|^k at most of every tuple of places; since the tuples' probabilities add up to 1, that is "
        "1/|T|^k "
        "exactly, which a polynomial mod p can't give when |T| does not divide p. It gives (1/|T| + 1/p)^k at most, "
        "at worst beyond it by k|T|/p of it: 1.7·10^-15 for k = 4 and |T| = 1000 at p = 2^61 − 1.",
    .run = run,
};
