/* B11: why a key cannot be deleted from a Bloom filter by clearing its bits.
 *
 * The library has no such operation, so the experiment edits a copy of the filter's bytes. kith_filter_look() reports
 * the bits of the keys to delete, and these are cleared in the copy. The library then opens the copy (lazily, because
 * the checksums no longer match), and all keys that should remain are looked up. A key remains if in every slice none
 * of the d deleted keys has the same bit: with probability (1 - 1/slice)^(kd). One deletion from a full filter, where
 * slice = n/ln 2, thus loses k ln 2 other keys. A counting filter for the same number of keys, from which the same
 * keys are removed, loses none. */
#include <string.h>

#include "bloom.h"

/* Bit i is bit i % 8 of byte i / 8 of the body (docs/format.md). */
static void clear_bit(void *body, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)holds;
    (void)wanted;
    ((uint8_t *)body)[cell / 8] &= (uint8_t) ~(1u << (cell % 8));
}

/* Deletes the first `deleted` of the keys 0 … n-1 by clearing their bits, and returns how many of the others are then
 * not found. */
static uint64_t lost_by_clearing(lab *l, bloom_shape shape, uint64_t deleted) {
    kith_filter *f = bloom_of(l, shape), *cleared = NULL;
    const void *bytes;
    size_t byte_count;
    lab_fill(l, f, 0, shape.n);
    lab_must(l, kith_filter_bytes(f, &bytes, &byte_count), "reading the bytes");
    uint8_t *copy = lab_take(l, byte_count);
    memcpy(copy, bytes, byte_count);
    for (uint64_t i = 0; i < deleted; i++) {
        uint64_t digest;
        lab_digests(l, f, i, 1, &digest);
        lab_require(l, kith_filter_look(f, digest, clear_bit, copy + KITH_FILTER_BODY_AT),
                    "a key that was added is not found");
    }
    lab_must(l, kith_filter_view(copy, byte_count, KITH_OPEN_LAZY, NULL, &cleared), "opening the bytes");
    lab_keep(l, cleared);
    lab_require(l, lab_count_found(l, cleared, 0, deleted) == 0, "a key whose bits are 0 is found");
    uint64_t others = shape.n - deleted, lost = others - lab_count_found(l, cleared, deleted, others);
    lab_drop(l, cleared);
    lab_drop(l, copy);
    lab_drop(l, f);
    return lost;
}

static uint64_t lost_by_removing(lab *l, bloom_shape shape, uint64_t deleted) {
    uint64_t n = shape.n;
    kith_filter *f = lab_filter(l, "counting", n, exp2(-(double)shape.k), 0, NULL);
    lab_fill(l, f, 0, n);
    for (uint64_t i = 0; i < deleted; i++) {
        uint64_t digest;
        lab_digests(l, f, i, 1, &digest);
        lab_must(l, kith_filter_remove_digest(f, digest), "removing a key");
    }
    uint64_t lost = n - deleted - lab_count_found(l, f, deleted, n - deleted);
    lab_drop(l, f);
    return lost;
}

static double kept(bloom_shape shape, double deleted) {
    return bloom_zero((double)shape.slice, deleted * shape.k);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), lost = 0;
    bloom_shape shape = bloom_half_full(n, (unsigned)lab_number(l, "k"));
    double parts[LAB_NUMBERS_MAX];
    uint64_t deleted[LAB_NUMBERS_MAX + 1] = {1};
    size_t count = 1 + lab_list(l, "deleted", parts);
    for (size_t i = 1; i < count; i++)
        deleted[i] = (uint64_t)(parts[i - 1] * (double)n);
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "m", (uint64_t)bloom_bits(shape));
    bloom_parameter(l, "filters for each number of deletions", filters);
    lab_plot *plot =
        lab_draw(l, "Keys lost by clearing bits", "keys deleted / n", "share of the other keys that is lost", 0);
    lab_series *curve = lab_curve(plot, "1 − (1 − k/m)^(kd)"), *points = lab_points(plot, "measured, bits cleared");
    lab_series *counting = lab_points(plot, "measured, counting filter");
    for (double d = 0; d <= 0.52; d += 0.01)
        lab_at(curve, d, lab_exact(1 - kept(shape, d * (double)n)));
    for (size_t i = 0; i < count; i++) {
        lab_sample shares = {0};
        double others = (double)(n - deleted[i]), share = 1 - kept(shape, (double)deleted[i]);
        uint64_t removing = 0, tried = filters / 20;
        for (uint64_t t = 0; t < filters; t++) {
            lab_sample_add(&shares, (double)lost_by_clearing(l, shape, deleted[i]) / others);
            if (t < tried)
                removing += lost_by_removing(l, shape, deleted[i]);
            bloom_progress(l, (bloom_share){(double)i / (double)count, (double)(i + 1) / (double)count}, t, filters);
        }
        lab_estimate measured = lab_mean(&shares);
        if (i == 0)
            lab_find(l, LAB_EQUALS, others * share, lab_scaled(measured, others),
                     "other keys lost by one deletion, k = %u", shape.k);
        else
            lab_find(l, LAB_EQUALS, share, measured, "share of the other keys lost, %g of %g keys deleted",
                     (double)deleted[i], (double)n);
        lab_at(points, (double)deleted[i] / (double)n, measured);
        lab_at(counting, (double)deleted[i] / (double)n, lab_exact((double)removing / others / (double)tried));
        lost += removing;
    }
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)lost), "keys lost by counting filters");
}

const lab_claim lab_B11 = {
    .id = "B11",
    .title = "deleting by clearing bits",
    .sentence = "Deleting a key by clearing its bits causes false negatives: a full filter loses k ln 2 other keys.",
    .formula = "P(lost) = 1 − (1 − k/m)^{kd}",
    .code = "src/kinds/bloom/bloom.c",
    .decides = "other keys lost by one deletion, k = 7",
    .settings = {LAB_SIZE("n", 2000, 5000, 100, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 200, 2000, 2, 1e6, "filters of each number of deletions"),
                 LAB_LIST("deleted", "0.01,0.05,0.1,0.25,0.5", "0.01,0.05,0.1,0.25,0.5", 0.01, 0.9, 0.01, 0.75,
                          "keys deleted / n, beside one single deletion"),
                 LAB_WHOLE("k", "7", 1, 20, 2, 12, "hashes per key")},
    .run = run,
};
