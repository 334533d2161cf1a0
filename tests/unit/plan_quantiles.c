/* Compares the quantiles of the rate of single filters (plan/sizing.h) with exact distributions for few keys, where the
 * rate has few possible values and a smooth approximation need not hold. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "plan/sizing.h"
#include "unit/plans.h"

enum { KEYS_MAX = 10, VALUES_MAX = 1 << 16 };

/* The distribution of a product of whole numbers: its values in ascending order. */
typedef struct value {
    uint64_t product;
    double probability;
} value;

static value values[VALUES_MAX], next[VALUES_MAX * KEYS_MAX];

static int by_product(const void *a, const void *b) {
    uint64_t x = ((const value *)a)->product, y = ((const value *)b)->product;
    return (x > y) - (x < y);
}

/* The probability that exactly x of `slice` cells are hit by n keys, for all x. */
static void occupancy(uint64_t slice, unsigned n, double *with) {
    with[0] = 1;
    for (unsigned x = 1; x <= n; x++)
        with[x] = 0;
    for (unsigned key = 0; key < n; key++) {
        for (unsigned x = key + 1; x > 0; x--)
            with[x] = with[x] * x / (double)slice + with[x - 1] * ((double)slice - x + 1) / (double)slice;
        with[0] = 0;
    }
}

/* The probability that k slices, hit by n keys, have a rate above `rate`. Products of up to 12 numbers up to 10 have
 * few different values, and fit in 64 bits up to 10^19. */
static double above(unsigned k, uint64_t slice, unsigned n, double rate) {
    double with[KEYS_MAX + 1];
    occupancy(slice, n, with);
    size_t count = 1;
    values[0] = (value){1, 1};
    for (unsigned i = 0; i < k; i++) {
        size_t made = 0;
        for (size_t j = 0; j < count; j++)
            for (unsigned x = 1; x <= n && x <= slice; x++)
                next[made++] = (value){values[j].product * x, values[j].probability * with[x]};
        qsort(next, made, sizeof *next, by_product);
        count = 0;
        for (size_t j = 0; j < made; j++) {
            if (count > 0 && values[count - 1].product == next[j].product) {
                values[count - 1].probability += next[j].probability;
            } else {
                CHECK(count < VALUES_MAX);
                values[count++] = next[j];
            }
        }
    }
    double sum = 0, total = 0;
    for (size_t j = 0; j < count; j++) {
        total += values[j].probability;
        if ((double)values[j].product / pow((double)slice, k) > rate * (1 + 1e-12))
            sum += values[j].probability;
    }
    CHECK(fabs(total - 1) < 1e-9);
    return sum;
}

TEST(few_keys_exceed_the_promise_at_most_once_in_200_filters_exactly) {
    static const double RATES[] = {0.9, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4};
    double worst = 0;
    for (unsigned n = 1; n <= KEYS_MAX; n++)
        for (size_t r = 0; r < LENGTH(RATES); r++)
            for (unsigned given = 0; given <= 12; given = given < 4 ? given + 1 : given + 4) {
                unsigned k;
                uint64_t slice;
                CHECK(kithi_bloom_choose(n, RATES[r], given, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES, &k, &slice));
                if (k > 18)
                    continue;
                double share = above(k, slice, n, RATES[r]);
                worst = fmax(worst, share);
                if (share > 1 / 200.)
                    CHECK_FAIL("n %u, rate %g, k %u, slice %" PRIu64 ": above the promise with %.4f", n, RATES[r], k,
                               slice, share);
            }
    printf("1 to %u keys: above the promise with %.5f at worst\n", (unsigned)KEYS_MAX, worst);
}

static void try_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts) {
    uint64_t blocks = kithi_blocked_blocks(lanes, lane_cells, n, rate, counts, KITHI_BLOCKS_MAX);
    CHECK(blocks != 0);
    CHECK(kithi_blocked_quantile(lanes, lane_cells, blocks, n, counts) <= rate);
    CHECK(blocks == 1 || kithi_blocked_quantile(lanes, lane_cells, blocks - 1, n, counts) > rate);
    CHECK(kithi_blocked_rate(lanes, lane_cells, blocks, n) <= rate);
    CHECK_EQ_U64(kithi_blocked_blocks(lanes, lane_cells, n, rate, counts, blocks), blocks);
    CHECK_EQ_U64(kithi_blocked_blocks(lanes, lane_cells, n, rate, counts, blocks - 1), 0);
}

TEST(the_slice_is_the_smallest_that_keeps_the_rate) {
    static const uint64_t KEYS[] = {1, 2, 5, 100, 10000, 1000000, 1000000000000};
    static const double RATES[] = {0.999, 0.5, 0.1, 0.01, 1e-3, 1e-9};
    for (unsigned counts = KITHI_COUNTS_NEW_KEYS; counts <= KITHI_COUNTS_ALL_KEYS; counts++)
        for (size_t i = 0; i < LENGTH(KEYS); i++)
            for (size_t r = 0; r < LENGTH(RATES); r++) {
                for (unsigned both = 0; both < 14; both++) {
                    unsigned k = 1u << both / 2;
                    kithi_cells_layout layout = both % 2 == 0 ? KITHI_SLICES : KITHI_WHOLE;
                    uint64_t slice = kithi_bloom_slice(k, KEYS[i], RATES[r], counts, layout);
                    if (slice == 0) { /* more than 2^62 cells */
                        CHECK((double)KEYS[i] > 0x1p61 * pow(RATES[r], 1. / k) / k);
                        continue;
                    }
                    CHECK(kithi_bloom_quantile(k, slice, KEYS[i], counts, layout) <= RATES[r]);
                    CHECK(slice == 1 || kithi_bloom_quantile(k, slice - 1, KEYS[i], counts, layout) > RATES[r]);
                    CHECK(kithi_bloom_rate(k, slice, KEYS[i], layout) <= RATES[r]);
                }
                for (unsigned lanes = 4; lanes <= 16; lanes *= 2) {
                    try_blocks(lanes, 128 / lanes, KEYS[i], RATES[r], counts);
                    try_blocks(lanes, 512 / lanes, KEYS[i], RATES[r], counts);
                }
            }
}

/* With rates so low that quantiles are rounded to 0, or so high that one cell is enough. */
TEST(the_slice_is_the_smallest_that_keeps_an_extreme_rate) {
    static const double RATES[] = {0x1p-1074, 0x1p-1022, 0x1p-300, 1 - 0x1p-53};
    static const uint64_t KEYS[] = {1, 2, 50};
    for (size_t r = 0; r < LENGTH(RATES); r++)
        for (size_t i = 0; i < LENGTH(KEYS); i++)
            for (unsigned k = 1; k <= 64; k++) {
                uint64_t slice = kithi_bloom_slice(k, KEYS[i], RATES[r], KITHI_COUNTS_ALL_KEYS, KITHI_SLICES);
                if (slice == 0)
                    continue;
                CHECK(kithi_bloom_quantile(k, slice, KEYS[i], KITHI_COUNTS_ALL_KEYS, KITHI_SLICES) <= RATES[r]);
                CHECK(slice == 1 ||
                      kithi_bloom_quantile(k, slice - 1, KEYS[i], KITHI_COUNTS_ALL_KEYS, KITHI_SLICES) > RATES[r]);
            }
    CHECK_EQ_U64(kithi_bloom_slice(1, 1, 1, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES), 1);
    CHECK(kithi_bloom_quantile(7, 100, 0, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES) == 0); /* no keys */
}

/* Filters have at most 2^62 cells. Just below that limit, the k that is best in theory may need more, and another one
 * not. */
TEST(at_the_largest_size_every_number_of_hashes_is_tried) {
    const double rate = 0.001; /* the ideal k is 9.97: first 9 is tried */
    uint64_t low = 1, high = UINT64_C(1) << 62;
    while (high - low > 1) { /* the largest n for 9 hashes */
        uint64_t middle = low + (high - low) / 2;
        bool fits = kithi_bloom_slice(9, middle, rate, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES) != 0;
        *(fits ? &low : &high) = middle;
    }
    unsigned k;
    uint64_t slice;
    CHECK(kithi_bloom_choose(high, rate, 0, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES, &k, &slice));
    CHECK(k == 10);
    CHECK_EQ_U64(slice, kithi_bloom_slice(10, high, rate, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES));
    CHECK(!kithi_bloom_choose(high, rate, 9, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES, &k, &slice));
    CHECK(!kithi_bloom_choose(high / 9 * 10, rate, 0, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES, &k, &slice));
    uint64_t most = (UINT64_C(1) << 62) / 9;
    CHECK(kithi_bloom_quantile(9, most, low, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES) <= rate);
    CHECK(kithi_bloom_quantile(9, most, high, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES) > rate);
    CHECK_EQ_U64(kithi_blocked_blocks(8, 64, UINT64_MAX / 2, rate, KITHI_COUNTS_ALL_KEYS, KITHI_BLOCKS_MAX), 0);
    CHECK_EQ_U64(kithi_blocked_blocks(8, 64, 1000, rate, KITHI_COUNTS_ALL_KEYS, 0), 0);
    for (uint64_t n = 20; n < 2000; n += 20) { /* no more blocks than needed, and one less */
        uint64_t blocks = kithi_blocked_blocks(8, 64, n, rate, KITHI_COUNTS_ALL_KEYS, KITHI_BLOCKS_MAX);
        CHECK_EQ_U64(kithi_blocked_blocks(8, 64, n, rate, KITHI_COUNTS_ALL_KEYS, blocks), blocks);
        CHECK_EQ_U64(kithi_blocked_blocks(8, 64, n, rate, KITHI_COUNTS_ALL_KEYS, blocks - 1), 0);
    }
}

/* The formulas where one key fills everything, or nothing is there. */
TEST(the_formulas_hold_for_the_smallest_filters) {
    for (unsigned layout = KITHI_SLICES; layout <= KITHI_WHOLE; layout++) {
        CHECK(kithi_bloom_keys(3, 1, 0, layout) == 0);
        CHECK(kithi_bloom_keys(3, 1, 1, layout) == 1); /* at least one key */
    }
    CHECK(kithi_whole_rate(3, 1, 0) == 0 && kithi_whole_rate(3, 1000, 0) == 0);
    CHECK(kithi_whole_rate(3, 1, 1) == 1 && kithi_whole_rate(3, 1, 1000) == 1);
    /* One key in one block sets one cell per lane, without any variance. */
    for (unsigned lane_cells = 4; lane_cells <= 64; lane_cells *= 2) {
        double cells;
        kithi_block_fill_limits(8, lane_cells, 1, 1, 6, 1, &cells);
        CHECK(fabs(cells - 8) < 1e-6);
    }
}

TEST(the_cells_of_a_block_grow_in_steps) {
    double steps[16], cells;
    kithi_block_fill_limits(8, 64, 25, 1600, 4, 16, steps);
    for (unsigned i = 0; i < 16; i++) {
        kithi_block_fill_limits(8, 64, 25, 100 * (i + 1), 4, 1, &cells);
        CHECK(fabs(steps[i] - cells) < 1e-9 * cells);
    }
}

/* Few keys: the search compares mostly approximations of the quantile with the rate. */
TEST(the_number_of_blocks_is_the_smallest_for_few_keys_at_any_rate) {
    for (uint64_t n = 1; n <= 20000; n += 1 + n / 3)
        for (double rate = 0.7; rate > 1e-9; rate *= 0.43)
            for (unsigned lanes = 4; lanes <= 16; lanes *= 2) {
                try_blocks(lanes, 128 / lanes, n, rate, KITHI_COUNTS_ALL_KEYS);
                try_blocks(lanes, 512 / lanes, n, rate, KITHI_COUNTS_NEW_KEYS);
            }
}

/* Here the quantile falls more slowly with the number of blocks than the mean rate does: by up to a third if counters
 * are few, and by far more at rates near 1. */
TEST(the_number_of_blocks_is_the_smallest_if_the_quantile_falls_slowly) {
    try_blocks(16, 8, 192, 0.014723896809133915, KITHI_COUNTS_ALL_KEYS);
    try_blocks(16, 8, 134, 0.013294525131621394, KITHI_COUNTS_NEW_KEYS);
    try_blocks(16, 8, 513, 0.00073878810496594749, KITHI_COUNTS_NEW_KEYS);
    try_blocks(8, 16, 2, 2.727640372740229e-09, KITHI_COUNTS_ALL_KEYS);
    try_blocks(8, 16, 1184, 0.97247721726408087, KITHI_COUNTS_ALL_KEYS);
    try_blocks(4, 32, 2955, 0.97519379111805604, KITHI_COUNTS_ALL_KEYS);
}

/* Down to the lowest rates that digests of 64 bits allow. With 4 lanes these need 10^8 blocks and more per key. The
 * quantile then has rounding errors of about 10^-8, which is more than one block changes it. */
TEST(the_number_of_blocks_keeps_the_rate_if_nearly_all_blocks_have_no_key) {
    for (uint64_t n = 1; n <= 1000; n *= 10)
        for (double rate = 1e-9; rate >= 100 * 0x1p-64 * (double)n; rate *= 0.1)
            for (unsigned i = 0; i < 6; i++) {
                unsigned lanes = 4u << i / 2, lane_cells = (i % 2 == 0 ? 128 : 512) / lanes;
                kithi_counts counts = i % 2 == 0 ? KITHI_COUNTS_ALL_KEYS : KITHI_COUNTS_NEW_KEYS;
                uint64_t blocks = kithi_blocked_blocks(lanes, lane_cells, n, rate, counts, KITHI_BLOCKS_MAX);
                uint64_t fewer = blocks - 1 - blocks / 1000000;
                CHECK(blocks > 0 && kithi_blocked_quantile(lanes, lane_cells, blocks, n, counts) <= rate * (1 + 1e-7));
                CHECK(blocks == 1 || kithi_blocked_quantile(lanes, lane_cells, fewer, n, counts) > rate * (1 - 1e-7));
            }
}

/* What the promise for single filters costs compared with a filter whose expected rate is the promised one. */
TEST(the_promise_for_single_filters_costs_little_at_many_keys) {
    static const struct {
        uint64_t n;
        double bloom, blocked; /* bits per key */
    } PRICES[] = {{10000, 0.1, 0.32}, {1000000, 0.015, 0.04}, {100000000, 0.003, 0.006}};
    for (size_t i = 0; i < LENGTH(PRICES); i++) {
        uint64_t n = PRICES[i].n;
        double rate = 1e-3, log_hit = log(rate) / 10;
        double mean = 10 * -1 / expm1(log(-expm1(log_hit)) / (double)n) / (double)n;
        unsigned k;
        uint64_t slice, low = 1, high = n;
        CHECK(kithi_bloom_choose(n, rate, 10, KITHI_COUNTS_NEW_KEYS, KITHI_SLICES, &k, &slice));
        double more = (double)(k * slice) / (double)n - mean;
        while (high - low > 1) { /* the number of blocks by the expected rate */
            uint64_t middle = low + (high - low) / 2;
            *(kithi_blocked_rate(8, 64, middle, n) <= rate ? &high : &low) = middle;
        }
        uint64_t blocks = kithi_blocked_blocks(8, 64, n, rate, KITHI_COUNTS_NEW_KEYS, KITHI_BLOCKS_MAX);
        double blocked_more = (double)(blocks - high) * 512 / (double)n;
        printf("n = %" PRIu64 ", 0.1%%: bloom needs %.4f bits per key more, blocked %.4f\n", n, more, blocked_more);
        CHECK(more >= 0 && more <= PRICES[i].bloom && blocked_more >= 0 && blocked_more <= PRICES[i].blocked);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
