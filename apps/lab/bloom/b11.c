/* B11: why a key can't be taken out of a Bloom filter by clearing its bits.
 *
 * The library has no such call, so it is done behind its back: a look-up tells the bits of the keys to go, these are cleared
 * in a copy of the filter's bytes, and the library opens that copy (lazily: the checksums are those of before) and is asked
 * for all keys that should be in. A key stays when in each slice none of the d keys that went had the same bit as it:
 * (1 - 1/slice)^(kd). One deletion from a full filter, slice = n/ln 2, thus loses k ln 2 other keys. A counting filter of the
 * same size, from which the same keys are removed, loses none. */
#include <string.h>

#include "bloom.h"

enum { HEADER = 192, HASHES = 7 }; /* docs/format.md: the body begins there, bit i is bit i % 8 of byte i / 8 */

static void clear_bit(void *body, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)holds;
    (void)wanted;
    ((uint8_t *)body)[cell / 8] &= (uint8_t) ~(1u << (cell % 8));
}

/* Of keys 0 … n-1 the first `gone` are deleted by clearing bits: how many of the others are then answered no. */
static uint64_t lost_by_clearing(lab *l, bloom_shape shape, uint64_t gone) {
    kith_filter *f = bloom_of(l, shape), *cleared = NULL;
    const void *bytes;
    size_t byte_count;
    lab_fill(l, f, 0, shape.n);
    lab_must(l, kith_filter_bytes(f, &bytes, &byte_count), "asking for the bytes");
    uint8_t *copy = lab_take(l, byte_count);
    memcpy(copy, bytes, byte_count);
    for (uint64_t i = 0; i < gone; i++) {
        uint64_t digest;
        lab_digests(l, f, i, 1, &digest);
        lab_require(l, kith_filter_look(f, digest, clear_bit, copy + HEADER), "a key that was added is not found");
    }
    lab_must(l, kith_filter_view(copy, byte_count, KITH_OPEN_LAZY, NULL, &cleared), "reading the bytes");
    lab_keep(l, cleared);
    lab_require(l, lab_ask(l, cleared, 0, gone) == 0, "a key whose bits are 0 is answered yes");
    uint64_t others = shape.n - gone, lost = others - lab_ask(l, cleared, gone, others);
    lab_drop(l, cleared);
    lab_drop(l, copy);
    lab_drop(l, f);
    return lost;
}

static uint64_t lost_by_removing(lab *l, uint64_t n, uint64_t gone) {
    kith_filter *f = lab_filter(l, "counting", n, exp2(-HASHES), 0, NULL);
    lab_fill(l, f, 0, n);
    for (uint64_t i = 0; i < gone; i++) {
        uint64_t digest;
        lab_digests(l, f, i, 1, &digest);
        lab_must(l, kith_filter_remove_digest(f, digest), "removing a key");
    }
    uint64_t lost = n - gone - lab_ask(l, f, gone, n - gone);
    lab_drop(l, f);
    return lost;
}

static double kept(bloom_shape shape, double gone) {
    return bloom_zero((double)shape.slice, gone * shape.k);
}

static void run(lab *l) {
    uint64_t n = lab_pick(l, 2000, 5000), filters = lab_pick(l, 200, 2000), lost = 0;
    bloom_shape shape = bloom_half_full(n, HASHES);
    const uint64_t gone[] = {1, n / 100, n / 20, n / 10, n / 4, n / 2};
    enum { GONE_COUNT = sizeof gone / sizeof *gone };
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "m", shape.slice * HASHES);
    bloom_parameter(l, "filters for each number of deletions", filters);
    lab_plot *plot =
        lab_draw(l, "Keys lost by clearing bits", "keys deleted / n", "share of the others that is lost", 0);
    lab_series *curve = lab_curve(plot, "1 − (1 − k/m)^(kd)"), *points = lab_points(plot, "measured, bits cleared");
    lab_series *counting = lab_points(plot, "measured, counters lowered");
    for (double d = 0; d <= 0.52; d += 0.01)
        lab_at(curve, d, lab_exact(1 - kept(shape, d * (double)n)));
    for (size_t i = 0; i < GONE_COUNT; i++) {
        lab_sample shares = {0};
        double others = (double)(n - gone[i]), share = 1 - kept(shape, (double)gone[i]);
        uint64_t removing = 0, tried = filters / 20;
        for (uint64_t t = 0; t < filters; t++) {
            lab_sample_add(&shares, (double)lost_by_clearing(l, shape, gone[i]) / others);
            if (t < tried)
                removing += lost_by_removing(l, n, gone[i]);
            bloom_going(l, (bloom_part){(double)i / GONE_COUNT, (double)(i + 1) / GONE_COUNT}, t, filters);
        }
        lab_estimate measured = lab_mean(&shares);
        if (i == 0)
            lab_find(l, LAB_MUST, LAB_EQUALS, others * share, lab_scaled(measured, others),
                     "other keys lost by deleting one, k = 7");
        else
            lab_find(l, LAB_MUST, LAB_EQUALS, share, measured, "share of the others lost, %g of %g keys deleted",
                     (double)gone[i], (double)n);
        lab_at(points, (double)gone[i] / (double)n, measured);
        lab_at(counting, (double)gone[i] / (double)n, lab_exact((double)removing / others / (double)tried));
        lost += removing;
    }
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)lost), "keys lost by a counting filter");
}

const lab_claim lab_B11 = {
    .id = "B11",
    .title = "deleting by clearing bits",
    .sentence =
        "To clear the bits of a key in order to delete it makes false negatives: k ln 2 other keys are lost from a "
        "full filter.",
    .formula = "P(lost) = 1 − (1 − k/m)^{kd}",
    .code = "src/filters/bloom.c",
    .run = run,
};
