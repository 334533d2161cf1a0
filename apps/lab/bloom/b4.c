/* B4: the rate at the best k: each additional bit per key multiplies it by 0.6185.
 *
 * Filters with k = 1 to 12 are measured at m/n = k/ln 2, where k is the best number of hashes and half of the bits
 * are set. Their rate is 2^-k, and its (m/n)-th root is the base of the law. The rate at m/n = 100 cannot be
 * measured: nobody lives long enough to see a false positive. Two keys have equal 64-bit digests more often than
 * that, so the planner refuses such a rate. Instead the base is extrapolated to m/n = 100. It is measured at k = 4,
 * where a given number of lookups determines it most precisely. */
#include "bloom.h"

#define LAW exp2(-log(2)) /* 0.6185 */

enum { K_OF_BASE = 4, FAR = 100 };

static lab_estimate power(lab_estimate e, double exponent) {
    return (lab_estimate){pow(e.value, exponent), pow(e.low, exponent), pow(e.high, exponent)};
}

/* With finitely many keys the rate is above its limit 2^-k by a known factor. The measurement is divided by that factor
 * before the base is extrapolated. */
static void measure_base(lab *l, bloom_shape shape, lab_estimate rate) {
    double c = bloom_bits_per_key(shape), limit = bloom_limit(c, shape.k);
    lab_estimate base = power(lab_scaled(rate, limit / bloom_rate(shape)), 1 / c), far = power(base, FAR);
    lab_find(l, LAB_EQUALS, LAW, base, "base: one more bit per key multiplies the rate by");
    lab_find(l, LAB_EQUALS, pow(LAW, FAR), far, "the measured base to the power of m/n = 100");
    static const char QUOTE[] = "[0]: \"((1/2)^(ln 2))^c = 0.61^c\" (18.7)";
    lab_find_stated(l, LAB_SLIP, QUOTE, LAB_EQUALS, 0.61, base, "the base");
    lab_find_stated(l, LAB_SLIP, QUOTE, LAB_EQUALS, pow(0.61, FAR), far, "the base to the power of c = 100");
}

static void require_refusal(lab *l) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = "bloom";
    spec.capacity = 1;
    spec.rate = pow(LAW, FAR);
    lab_require(l, kith_filter_plan(&spec, &plan) == KITH_E_DIGEST_BITS,
                "the planner accepts a rate that 64-bit digests cannot keep");
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", filters);
    bloom_parameter(l, "absent keys looked up in each", asked);
    lab_plot *plot = lab_draw(l, "The best rate", "bits per key, m/n", "rate", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "0.6185^(m/n)"), *cut = lab_curve(plot, "0.61^(m/n), as in [0]");
    lab_series *points = lab_points(plot, "measured, k = 1 to 12");
    for (double c = 1; c <= 18; c += 0.5) {
        lab_at(curve, c, lab_exact(pow(LAW, c)));
        lab_at(cut, c, lab_exact(pow(0.61, c)));
    }
    require_refusal(l);
    double ks[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", ks);
    for (size_t i = 0; i < count; i++) {
        unsigned k = (unsigned)ks[i];
        bloom_shape shape = bloom_half_full(n, k);
        lab_estimate rate = bloom_measure(l, shape, filters, asked,
                                          (bloom_share){(double)i / (double)count, (double)(i + 1) / (double)count});
        lab_at(points, bloom_bits_per_key(shape), rate);
        lab_find(l, LAB_EQUALS, bloom_rate(shape), rate, "m/n = %.2f, k = %u", bloom_bits_per_key(shape), k);
        if (k == K_OF_BASE)
            measure_base(l, shape, rate);
    }
}

const lab_claim lab_B4 = {
    .id = "B4",
    .title = "the best rate",
    .sentence = "At the best k the rate is 0.6185^(m/n): 1.36·10⁻²¹ at 100 bits per key.",
    .formula = "ε = 2^{−(m/n) ln 2} = 0.6185^{m/n}",
    .code = "src/plan/sizing.c",
    .note = "[0] writes 0.61^(m/n) and, for m/n = 100, a rate of 1.3·10⁻²¹. The base is 0.6185 and the rate "
            "1.36·10⁻²¹; 0.61^100 would be 3.4·10⁻²². No filter of 64-bit digests reaches either: two keys have "
            "the same digest with probability 5.4·10⁻²⁰.",
    .decides = "base: one more bit",
    .settings = {LAB_SIZE("n", 2000, 20000, 10, 1e7, "keys of each filter"),
                 LAB_SIZE("filters", 100, 300, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 200000, 100, 1e8, "absent keys looked up in each"),
                 LAB_WHOLES("k", "1,2,3,4,5,6,7,8,9,10,11,12", "1,2,3,4,5,6,7,8,9,10,11,12", 1, 40, 1, 14,
                            "hashes; there are k/ln 2 bits per key")},
    .run = run,
};
