/* B8: the union of two filters is, bit for bit, the filter of the union.
 *
 * Sets A and B of n keys, which share from none to all of their keys, are added to two filters, and these are merged.
 * A and B are also added to one filter, key by key. The bodies must be equal in every cell. Their checksums are then
 * equal too, so all bytes after the header must be equal. (The header contains the number of keys, which is an
 * estimate after a merge.) Counting kinds add the counters, so in both cases a key of both sets is stored twice. For
 * Bloom filters the rate after the merge is also measured: it is the rate for the number of keys in the union. */
#include "bloom.h"

static const char *const KINDS[] = {"bloom", "blocked", "counting", "blocked_counting"};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* Counts the cells that differ, plus the bytes after the header that differ. */
static uint64_t differences(lab *l, kith_filter *a, kith_filter *b) {
    uint64_t count = 0, cells = bloom_stats(l, a).cells;
    for (uint64_t cell = 0; cell < cells; cell++)
        count += kith_filter_cell(a, cell) != kith_filter_cell(b, cell);
    const void *a_bytes, *b_bytes;
    size_t a_count, b_count;
    lab_must(l, kith_filter_bytes(a, &a_bytes, &a_count), "reading the bytes");
    lab_must(l, kith_filter_bytes(b, &b_bytes, &b_count), "reading the bytes");
    lab_require(l, a_count == b_count, "two filters of one shape have different sizes");
    for (size_t i = KITH_FILTER_BODY_AT; i < a_count; i++)
        count += ((const uint8_t *)a_bytes)[i] != ((const uint8_t *)b_bytes)[i];
    return count;
}

/* Returns the differences between the merged filter and the filter of the union. A is the keys 0 … n-1, B the keys
 * n-common … 2n-common-1. If `asked` is not 0, adds the measured rate of the merged filter to `rates`. */
static uint64_t compare(lab *l, kith_filter *a, uint64_t n, uint64_t common, uint64_t asked, lab_sample *rates) {
    kith_filter *b = bloom_like(l, a), *both = bloom_like(l, a);
    lab_fill(l, a, 0, n);
    lab_fill(l, b, n - common, n);
    lab_fill(l, both, 0, n);
    lab_fill(l, both, n - common, n);
    lab_must(l, kith_filter_merge(a, b), "merging");
    uint64_t count = differences(l, a, both);
    if (asked > 0)
        lab_sample_add(rates, (double)lab_count_found(l, a, 2 * n - common, asked) / (double)asked);
    lab_drop(l, both);
    lab_drop(l, b);
    lab_drop(l, a);
    return count;
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), pairs = lab_number(l, "pairs"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n, keys in each set", n);
    bloom_parameter(l, "pairs of filters", pairs);
    bloom_parameter(l, "absent keys looked up in each", asked);
    bloom_shape shape = bloom_half_full(2 * n, (unsigned)lab_number(l, "k"));
    double shared[LAB_NUMBERS_MAX];
    size_t overlaps = lab_list(l, "overlap", shared);
    lab_plot *plot = lab_draw(l, "False positives of a union, A and B of n keys", "keys in the union / n", "rate", 0);
    lab_series *curve = lab_curve(plot, "a filter of the union"), *points = lab_points(plot, "OR of the filters");
    for (double keys = 1; keys <= 2.01; keys += 0.05)
        lab_at(curve, keys, lab_exact(pow(1 - bloom_zero((double)shape.slice, keys * (double)n), shape.k)));
    for (size_t i = 0; i < overlaps; i++) {
        uint64_t common = (uint64_t)(shared[i] * (double)n), count = 0;
        lab_sample rates = {0};
        for (uint64_t t = 0; t < pairs; t++) {
            count += compare(l, bloom_of(l, shape), n, common, asked, &rates);
            bloom_progress(l,
                           (bloom_share){0.8 * (double)i / (double)overlaps, 0.8 * (double)(i + 1) / (double)overlaps},
                           t, pairs);
        }
        double together = (double)(2 * n - common);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)count), "bits that differ, |A ∩ B| = %g n",
                 (double)common / (double)n);
        lab_find(l, LAB_EQUALS, pow(1 - bloom_zero((double)shape.slice, together), shape.k), lab_mean(&rates),
                 "rate of the union, |A ∪ B| = %g n", together / (double)n);
        lab_at(points, together / (double)n, lab_mean(&rates));
    }
    for (size_t k = 1; k < KIND_COUNT; k++) {
        uint64_t count = 0;
        if (!lab_wants(l, "kind", KINDS[k]))
            continue;
        for (uint64_t t = 0; t < pairs / 4; t++) {
            count += compare(l, lab_filter(l, KINDS[k], 2 * n, 0.02, 0, NULL), n, lab_below(l, n + 1), 0, NULL);
            bloom_progress(l, (bloom_share){0.8 + 0.05 * (double)k, 0.85 + 0.05 * (double)k}, t, pairs / 4);
        }
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)count), "cells that differ, %s", KINDS[k]);
    }
}

const lab_claim lab_B8 = {
    .id = "B8",
    .title = "union by OR",
    .sentence = "The OR of the filters of two sets is, bit for bit, the filter of their union.",
    .formula = "M(A) ∨ M(B) = M(A ∪ B)",
    .code = "src/kinds/shared/bit_cells.h",
    .decides = "rate of the union",
    .settings = {LAB_SIZE("n", 1000, 4000, 10, 1e7, "keys of each filter"),
                 LAB_SIZE("pairs", 100, 400, 2, 1e6, "pairs of filters at each overlap"),
                 LAB_SIZE("asked", 10000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_LIST("overlap", "0,1/4,1/2,3/4,1", "0,1/4,1/2,3/4,1", 0, 1, 0, 1,
                          "keys that the two sets have in common / n"),
                 LAB_WHOLE("k", "5", 1, 20, 1, 8, "hashes of the Bloom filters"),
                 LAB_WORD("kind", "all", "all bloom blocked counting blocked_counting",
                          "kinds to compare beside bloom, which always runs")},
    .run = run,
};
