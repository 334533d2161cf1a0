/* B15: the rate if k is rounded to an integer.
 *
 * With c = m/n bits per key the best k is c ln 2, a real number, and its rate would be 2^(-c ln 2). With an integer k
 * the rate is (1 - e^(-k/c))^k. The better of the two integers next to the best k loses most where they tie. Between 1
 * and 2 hashes that is at c = 1/ln φ = 2.078, φ the golden ratio, where 3.67% are lost; between 2 and 3 it is 2.16%,
 * and then less and less. The best k itself is not half-way between the integers there: it is 1.44. The integer that is
 * nearest to the best k loses more, 4.66% just below 1.5. The loss depends on m/n and not on n and m themselves, so at
 * a fixed m/n it does not get smaller with more keys. Below one hash there is no integer to round to, and with few bits
 * per key the loss is larger: 9.9% at m/n = 1/2. */
#include "bloom.h"

/* The ratio of the rate with k hashes to the rate with the best real number of hashes, by the formula. */
static double loss(double c, double k) {
    return bloom_limit(c, k) * exp2(c * log(2));
}

static double loss_of_better(double c) {
    double below = floor(c * log(2));
    return below < 1 ? loss(c, 1) : fmin(loss(c, below), loss(c, below + 1));
}

/* The m/n at which k and k + 1 hashes have the same rate: k hashes are better below it and worse above. */
static double tie(double k) {
    double low = k / log(2), high = (k + 1) / log(2);
    for (unsigned step = 0; step < 100; step++) {
        double middle = (low + high) / 2;
        *(bloom_limit(middle, k) < bloom_limit(middle, k + 1) ? &low : &high) = middle;
    }
    return low;
}

typedef struct plan {
    uint64_t filters, asked;
    double done, part; /* of the progress bar, and of one measurement */
} plan;

/* Measures the rate of k hashes as a multiple of 2^(-c ln 2). Sets *expected to the exact value, which is slightly
 * above that of the formula. */
static lab_estimate measure(lab *l, plan *p, uint64_t n, double c, unsigned k, double *expected) {
    bloom_shape shape = bloom_shape_of(n, c * (double)n, k);
    double real = exp2(-c * log(2));
    bloom_share share = {p->done, p->done + p->part};
    p->done += p->part;
    *expected = bloom_rate(shape) / real;
    return lab_scaled(bloom_measure(l, shape, p->filters, p->asked, share), 1 / real);
}

static void measure_tie(lab *l, plan *p, uint64_t n, unsigned k, lab_series *points) {
    double c = tie(k), best = c * log(2), expected[2];
    lab_estimate with[2];
    for (unsigned i = 0; i < 2; i++) {
        with[i] = measure(l, p, n, c, k + i, &expected[i]);
        lab_find(l, LAB_EQUALS, expected[i], with[i], "m/n = %.3f, k = %u instead of %.2f: rate / rate with k = %.2f",
                 c, k + i, best, best);
    }
    lab_find_stated(
        l, LAB_MUST, "[2]: \"the error incurred in doing so is generally very small, especially for large n and m\"",
        LAB_AT_MOST, 1.04, with[0], "m/n = %.3f: rate with the best integer k / rate with k = %.2f", c, best);
    lab_known(l, expected[0]);
    lab_find(l, LAB_SHOWN, 0, lab_exact(loss(c, k)), "m/n = %.3f: the same ratio for any n, by the formula", c);
    lab_at(points, c, with[0]);
}

static void compute(lab *l) {
    double golden = (1 + sqrt(5)) / 2, worst = 0, nearest = 0;
    for (double c = 1 / log(2); c < 60; c += 0.0001) {
        worst = fmax(worst, loss_of_better(c));
        nearest = fmax(nearest, loss(c, floor(c * log(2) + 0.5)));
    }
    lab_find(l, LAB_AT_MOST, (1 - 1 / golden) * exp2(log(2) / log(golden)), lab_exact(worst),
             "largest ratio with the better integer, where the best k is at least 1, by the formula");
    lab_find(l, LAB_SHOWN, 0, lab_exact(nearest), "largest ratio with the nearest integer, by the formula");
    lab_find(l, LAB_SHOWN, 0, lab_exact(loss(0.5, 1)), "m/n = 0.5, k = 1 instead of 0.35: ratio by the formula");
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n");
    plan p = {.filters = lab_number(l, "filters"), .asked = lab_number(l, "asked")};
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", p.filters);
    bloom_parameter(l, "absent keys looked up in each", p.asked);
    lab_plot *plot = lab_draw(l, "What rounding k costs", "m/n", "rate / 0.6185^(m/n)", 0);
    lab_series *curve = lab_curve(plot, "better of two integers"), *points = lab_points(plot, "measured");
    for (double c = 1; c < 10; c += 0.01)
        lab_at(curve, c, lab_exact(loss_of_better(c)));
    double ks[LAB_NUMBERS_MAX], expected;
    size_t count = lab_list(l, "k", ks);
    p.part = 1 / (2 * (double)count + 3);
    for (size_t i = 0; i < count; i++)
        measure_tie(l, &p, n, (unsigned)ks[i], points);
    compute(l);
    double half = 1.5 / log(2);
    lab_estimate ratio = measure(l, &p, n, half, 1, &expected);
    lab_find(l, LAB_EQUALS, expected, ratio, "m/n = 2.164, k = 1, nearest to just below 1.5: rate / rate with k = 1.5");
    ratio = measure(l, &p, 16 * n, half, 2, &expected);
    lab_find(l, LAB_EQUALS, expected, ratio, "m/n = 2.164, k = 2, %llu keys: rate / rate with k = 1.5",
             (unsigned long long)(16 * n));
    ratio = measure(l, &p, n, half, 2, &expected);
    lab_find(l, LAB_EQUALS, expected, ratio, "m/n = 2.164, k = 2, %llu keys: the same ratio with fewer keys",
             (unsigned long long)n);
}

const lab_claim lab_B15 = {
    .id = "B15",
    .title = "the rate with k rounded",
    .sentence = "If the best k is at least 1, rounding it to the better of the two integers next to it raises the rate "
                "by at most 3.7%, and by less the more bits there are per key; the number of keys does not matter.",
    .formula = "(1 − e^{−k/c})^{k} / 2^{−c·ln 2} ≤ 1.037, c = m/n",
    .code = "src/plan/sizing.c",
    .decides = "m/n = 2.078: rate with the best integer k",
    .note =
        "[2] says that the error is very small \"especially for large n and m\". It is small for a large m/n: at "
        "most 3.7%, at m/n = 2.078, where one hash and two have the same rate. At a fixed m/n it does not depend on "
        "n and m. The nearest integer is not always the better one: just below k = 1.5 it costs 4.7%.",
    .settings = {LAB_SIZE("n", 1000, 4000, 10, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 200, 400, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_WHOLES("k", "1,2,3,4", "1,2,3,4", 1, 10, 1, 4,
                            "hashes; m/n is such that k and k + 1 of them have the same rate")},
    .run = run,
};
