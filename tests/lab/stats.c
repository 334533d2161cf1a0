/* Tests the lab's statistics against closed forms and term-by-term sums, and tests how often intervals contain the true
 * value. */
#include <math.h>

#include <lab/stats.h>

#include "check.h"
#include "core/prng.h"

static void near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        CHECK_FAIL("%.17g is not within %g of %.17g", value, relative, expected);
}

TEST(the_normal_distribution_matches_published_tables) {
    near(lab_normal_quantile(0.975), 1.959963984540054, 1e-12);
    near(lab_normal_quantile(1 - 1e-6), 4.753424308822899, 1e-8);
    near(lab_normal_quantile(1e-6), -4.753424308822899, 1e-8);
    near(lab_normal_above(3), 0.0013498980316300946, 1e-12);
}

TEST(student_quantiles_match_their_closed_forms) {
    static const double P[] = {1e-6, 0.01, 0.3, 0.5001, 0.9, 0.99, 1 - 5e-7};
    for (size_t i = 0; i < sizeof P / sizeof *P; i++) {
        double one = tan(3.14159265358979323846 * (P[i] - 0.5)); /* Cauchy */
        double two = (2 * P[i] - 1) / sqrt(2 * P[i] * (1 - P[i]));
        near(lab_student_quantile(1, P[i]), one, 1e-7);
        near(lab_student_quantile(2, P[i]), two, 1e-7);
        near(lab_student_quantile(1e7, P[i]), lab_normal_quantile(P[i]), 1e-5);
    }
    near(lab_student_quantile(10, 0.975), 2.228138851964939, 1e-9);
}

TEST(chi_square_matches_its_closed_forms) {
    for (double x = 0.01; x < 60; x *= 1.7) {
        near(lab_chi_above(x, 2), exp(-x / 2), 1e-12);
        near(lab_chi_above(x, 4), exp(-x / 2) * (1 + x / 2), 1e-11);
        near(lab_chi_above(x, 1), erfc(sqrt(x / 2)), 1e-10);
    }
    near(lab_chi_quantile(2, 1 - 1e-6), -2 * log(1e-6), 1e-9);
    near(lab_chi_quantile(100, 0.95), 124.34211340400407, 1e-9);
}

TEST(poisson_and_binomial_tails_match_the_sums_of_their_terms) {
    static const double MEANS[] = {0.01, 1, 7.5, 60};
    for (size_t i = 0; i < sizeof MEANS / sizeof *MEANS; i++) {
        double sum = 0, term = exp(-MEANS[i]);
        for (uint64_t k = 0; k < 200; k++) {
            near(lab_poisson_at(MEANS[i], k), term, 1e-9);
            sum += term;
            if (sum < 0.999)
                near(lab_poisson_above(MEANS[i], k), 1 - sum, 1e-8);
            term *= MEANS[i] / (double)(k + 1);
        }
    }
    static const double SHARES[] = {0.001, 0.2, 0.5, 0.97};
    for (size_t i = 0; i < sizeof SHARES / sizeof *SHARES; i++) {
        double sum = 0, p = SHARES[i];
        for (uint64_t k = 0; k <= 40; k++) {
            double term = 1;
            for (uint64_t j = 0; j < 40; j++)
                term *= j < k ? p * (double)(40 - j) / (double)(j + 1) : 1 - p;
            near(lab_binomial_at(40, p, k), term, 1e-9);
            sum += term;
            if (sum < 0.999)
                near(lab_binomial_above(40, p, k), 1 - sum, 1e-8);
        }
    }
    CHECK(lab_binomial_at(5, 0, 0) == 1 && lab_binomial_at(5, 1, 5) == 1 && lab_binomial_at(5, 0, 1) == 0);
}

/* At each end of an exact interval, the observed count or a more extreme one has probability LAB_LEVEL / 2. */
TEST(the_interval_of_a_share_is_exact) {
    static const uint64_t CASES[][2] = {{0, 10}, {10, 10}, {1, 1000}, {500, 1000}, {999, 1000}, {3, 1000000}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        uint64_t yes = CASES[i][0], of = CASES[i][1];
        lab_estimate e = lab_share(yes, of);
        CHECK(e.low <= e.value && e.value <= e.high && e.low >= 0 && e.high <= 1);
        if (yes > 0)
            near(lab_binomial_above(of, e.low, yes - 1), LAB_LEVEL / 2, 1e-4);
        if (yes < of)
            near(1 - lab_binomial_above(of, e.high, yes), LAB_LEVEL / 2, 1e-4);
    }
    CHECK(lab_share(0, 0).low == 0 && lab_share(0, 0).high == 1);
    lab_estimate none = lab_count(0);
    CHECK(none.low == 0);
    near(none.high, -log(LAB_LEVEL / 2), 1e-9);
    lab_estimate some = lab_count(40);
    near(lab_poisson_above(some.low, 39), LAB_LEVEL / 2, 1e-4);
    near(1 - lab_poisson_above(some.high, 40), LAB_LEVEL / 2, 1e-4);
}

TEST(mean_and_variance_match_a_computation_in_two_passes) {
    static const double VALUES[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
    lab_sample s = {0};
    for (size_t i = 0; i < 4; i++)
        lab_sample_add(&s, VALUES[i]);
    near(s.mean, 1e9 + 10, 1e-15);
    near(lab_sample_variance(&s), 30, 1e-9);
    lab_estimate e = lab_mean(&s);
    near(e.high - e.value, lab_student_quantile(3, 1 - LAB_LEVEL / 2) * sqrt(30.0 / 4), 1e-6);
    lab_sample one = {0};
    lab_sample_add(&one, 3);
    CHECK(isinf(lab_mean(&one).high));
}

/* Intervals that miss one time in a million miss too rarely to be counted. So they are narrowed to miss one time in a
 * thousand. */
TEST(intervals_contain_the_mean_of_skewed_samples) {
    enum { RUNS = 20000, VALUES = 100 };
    kithi_prng prng = {11};
    unsigned missed = 0;
    double narrower =
        lab_student_quantile(VALUES - 1, 1 - 0.0005) / lab_student_quantile(VALUES - 1, 1 - LAB_LEVEL / 2);
    for (unsigned r = 0; r < RUNS; r++) {
        lab_sample s = {0};
        for (unsigned i = 0; i < VALUES; i++) {
            double u = ((double)(kithi_prng_next(&prng) >> 11) + 0.5) * 0x1p-53;
            lab_sample_add(&s, u * u); /* mean 1/3 */
        }
        lab_estimate e = lab_mean(&s);
        double half = (e.high - e.value) * narrower;
        missed += fabs(e.value - 1.0 / 3) > half;
    }
    CHECK(missed >= 3 && missed <= 45); /* 20 expected */
}

TEST(a_slope_is_found_with_its_interval) {
    double x[20], y[20];
    kithi_prng prng = {7};
    for (unsigned i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = 3 - 2 * x[i];
    }
    lab_estimate e = lab_slope(x, y, 20);
    near(e.value, -2, 1e-12);
    for (unsigned i = 0; i < 20; i++)
        y[i] += (double)(kithi_prng_next(&prng) % 100) / 100;
    e = lab_slope(x, y, 20);
    CHECK(e.low < -2 && -2 < e.high && e.high - e.low < 0.5);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
