/* Checks of measured false-positive rates.
 *
 * A cell of the grid is (n, rate). F filters of n keys each are asked for Q absent keys in total. The mean of their
 * rates must be within Z standard errors of plan.expected_rate, and may exceed plan.rate by at most that much. The
 * variance of the mean is the larger of two: the variance of the F measured rates (filters of a few keys differ from
 * each other), and the binomial variance of Q lookups. Half a percent of the rate is added for differences between
 * filters when F is small. Z = 5: one false alarm in 3 million cells.
 *
 * In the soak tier, cells of default options have at least 10^7 lookups. Then the mean may exceed plan.rate by at most
 * 5% if the rate is 1% or more, and by 10% if it is 0.1%: 10^4 false positives have a standard error of 1%. */
#include <math.h>

#include <kith/inspect.h>

#include "contract/contract.h"

#define Z 5.0

typedef struct measured {
    double rate, error;
} measured;

/* The cell of the soak tier whose rate is highest compared with the promise. */
typedef struct worst_cell {
    double ratio, rate;
    uint64_t n;
    const char *kind;
} worst_cell;

static worst_cell shown;

static measured measure(const kith_filter_spec *spec, const kith_plan *plan, uint64_t n, size_t filters,
                        uint64_t questions) {
    double sum = 0, squares = 0, expected = plan->expected_rate;
    size_t each = (size_t)(questions / filters) + 1;
    bool reused = can(plan, KITH_CAN_ADD); /* planning takes longer than filling a small filter */
    kith_filter *f = reused ? created(spec) : NULL;
    for (size_t i = 0; i < filters; i++) {
        note_seed(i);
        if (reused) {
            CHECK_OK(kith_filter_clear(f));
            fill_filter(f, i, 0, (size_t)n);
        } else {
            kith_filter_free(f);
            f = filled(spec, i, 0, (size_t)n);
        }
        double rate = (double)yes_among(f, i, ABSENT, each) / (double)each;
        sum += rate;
        squares += rate * rate;
    }
    kith_filter_free(f);
    double mean = sum / (double)filters;
    double asked = (double)each * (double)filters;
    double variance = expected * (1 - expected) / asked;
    if (filters > 1) {
        double between = (squares / (double)filters - mean * mean) / ((double)filters - 1);
        variance = fmax(variance, between);
    }
    variance += 0.005 * expected * 0.005 * expected;
    return (measured){mean, Z * sqrt(variance) + 10 / asked};
}

/* As many lookups as give 20,000 false positives if that is cheap, otherwise `hits`, otherwise what time allows. */
static uint64_t questions_for(double expected, double hits) {
    double questions = fmin(20000 / expected, fmax(1e6, hits / expected));
    return (uint64_t)fmin(questions, 1e4 * hits);
}

static void measure_cell(const variant *v, uint64_t n, double rate, bool thorough) {
    kith_filter_spec spec;
    kith_plan plan;
    if (!planned(v, n, rate, &spec, &plan))
        return;
    CHECK(plan.expected_rate > 0 && plan.expected_rate <= plan.rate && plan.rate <= rate);
    size_t filters = (size_t)(n <= 10 ? 1000 : n <= 1000 ? 20000 / n : n <= 100000 ? 200000 / n : 1);
    uint64_t questions = questions_for(plan.expected_rate, thorough ? 400 : 100);
    if (check_soak()) {
        filters *= 4;
        questions *= 4;
        if (thorough && questions < 10000000)
            questions = 10000000;
    } else if (scaled(100) < 100) {
        filters = filters / 4 + 1;
        questions = scaled(questions);
    }
    measured m = measure(&spec, &plan, n, filters, questions);
    double most = rate >= 0.01 ? 1.05 : rate >= 0.001 ? 1.10 : INFINITY;
    if (check_soak() && thorough && m.rate > most * plan.rate)
        CHECK_FAIL("measured rate %.4g is more than %.2f times the promised %.4g", m.rate, most, plan.rate);
    if (check_soak() && thorough && rate >= 0.001 && m.rate > shown.ratio * plan.rate)
        shown = (worst_cell){m.rate / plan.rate, rate, n, v->kind};
    if (fabs(m.rate - plan.expected_rate) > m.error)
        CHECK_FAIL("measured rate %.4g, expected %.4g, bound %.2g", m.rate, plan.expected_rate, m.error);
    if (m.rate > plan.rate + m.error)
        CHECK_FAIL("measured rate %.4g, promised %.4g, bound %.2g", m.rate, plan.rate, m.error);
}

void rate_at_capacity_is_within_bound_of_plan(void) {
    static const uint64_t SIZES[] = {1, 3, 10, 100, 1000, 10000, 100000, 1000000};
    static const double RATES[] = {0.1, 0.03, 0.01, 1e-3, 1e-4};
    EACH_DEFAULT(v) for (size_t i = 0; i < 8; i++) for (size_t r = 0; r < 5; r++) {
        /* The normal tier tries a sample of the large sizes, and a tenth of the keys where builds are slow. */
        if (!check_soak() && SIZES[i] >= 100000 && (i + r) % 2 != 0)
            continue;
        if (scaled(100) < 100 && SIZES[i] > 10000)
            continue;
        measure_cell(v, SIZES[i], RATES[r], true);
    }
    if (check_soak())
        printf("shows: the highest measured rate is %.4f times the promise: %s, %" PRIu64 " keys, rate %g\n",
               shown.ratio, shown.kind, shown.n, shown.rate);
    EACH_VARIANT(v) for (size_t i = check_soak() ? 0 : 1; i < (check_soak() ? 7 : 5); i += check_soak() ? 1 : 3) {
        for (size_t r = 0; r < 4; r += check_soak() ? 1 : 2)
            measure_cell(v, SIZES[i], RATES[r], false);
    }
}

/* Adds `capacity` keys, which must succeed, and more until the filter refuses one: Bloom kinds do not count keys that
 * change nothing, so they may accept a few more. Filters that grow get only the `capacity` keys. */
static void fill_to_capacity(kith_filter *f, const kith_plan *plan, uint64_t seed, uint64_t *digests) {
    for (uint64_t i = 0; i < plan->capacity; i++)
        digests[i] = digest_at(seed, i);
    CHECK_OK(kith_filter_add_many(f, digests, (size_t)plan->capacity, NULL, NULL));
    kith_status status = can(plan, KITH_CAN_GROW) ? KITH_E_FULL : KITH_OK;
    for (uint64_t next = plan->capacity; status == KITH_OK; next++)
        status = add_digest(f, digest_at(seed, next));
    CHECK(status == KITH_E_FULL || status == KITH_E_COPIES);
    CHECK(kith_filter_count(f) <= plan->capacity && kith_filter_capacity(f) == plan->capacity);
}

/* Of `seeds` filters, filled to capacity, at most 1 in 200 may have a rate above the promise. stats_of() computes the
 * rate exactly from the bits or slots (tests/unit/exact_rates.c). */
static void expect_promises_kept(const variant *v, uint64_t n, double rate, uint64_t seeds) {
    kith_filter_spec spec;
    kith_plan plan;
    if (!planned_for_adds(v, n, rate, &spec, &plan))
        return;
    kith_filter *f = created(&spec);
    uint64_t *digests = malloc((size_t)n * sizeof *digests), above = 0;
    CHECK(digests != NULL);
    double sum = 0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        note_seed(seed);
        fill_to_capacity(f, &plan, seed, digests);
        double now = stats_of(f).rate_now;
        above += now > plan.rate;
        sum += now;
        CHECK_OK(kith_filter_clear(f));
    }
    if (check_soak())
        printf("%-17s n = %7" PRIu64 ", rate %g: %" PRIu64 " of %" PRIu64 " above, mean rate %.4g, %.3f bits per key\n",
               v->kind, n, rate, above, seeds, sum / (double)seeds, (double)(plan.cells * plan.cell_bits) / (double)n);
    if (plan.fingerprint_bits != 0 && above != 0)
        CHECK_FAIL("%" PRIu64 " of %" PRIu64 " filters of a kind that never exceeds its promise do so", above, seeds);
    if (above * 200 > seeds)
        CHECK_FAIL("%" PRIu64 " of %" PRIu64 " filters are above the promised rate", above, seeds);
    free(digests);
    kith_filter_free(f);
}

/* Sizes are chosen for 1 in 1000, so more than 5 of 1000 seeds are expected in only 1 of 1700 cells of this grid. The
 * normal tier uses 1000 seeds of small filters and 200 seeds of filters of 10^4 keys. Of 200, one may be above. Two or
 * more are expected in 1 of 57 cells, and the seeds are fixed. */
void single_filters_keep_the_promised_rate(void) {
    static const uint64_t SIZES[] = {1, 2, 3, 10, 100, 10000, 1000000};
    static const double RATES[] = {0.1, 0.01, 1e-3};
    EACH_DEFAULT(v) for (size_t i = 0; i < 7; i++) for (size_t r = 0; r < 3; r++) {
        uint64_t n = SIZES[i], seeds = n <= 100 ? 1000 : n <= 10000 ? 200 : 0;
        if (check_soak())
            seeds = n <= 10000 ? 1000 : 20;
        else if (scaled(100) < 100)
            seeds = n <= 100 ? 200 : 0;
        if (seeds == 0 || (!check_soak() && n > 100 && RATES[r] > 0.01))
            continue;
        expect_promises_kept(v, n, RATES[r], seeds);
    }
    /* Fixed options, which may be far from the best ones. */
    EACH_VARIANT(v) for (size_t i = 2; i < 5; i++) expect_promises_kept(v, SIZES[i], RATES[1], 200);
}

void grown_filters_keep_their_rate(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 1000, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_GROW))
            continue;
        note_seed(6);
        kith_filter *f = created(&spec);
        uint64_t keys = 0, most = v->options[0] == '\0' ? 1000000 : 50000, questions = 200000;
        if (scaled(100) < 100)
            most /= 20;
        unsigned layers = 0;
        while (keys < most) {
            CHECK_OK(add_digest(f, digest_at(6, keys++)));
            /* When a layer is fullest: before the next one is created, and at the end. */
            bool at_the_end = kith_filter_count(f) == kith_filter_capacity(f) && stats_of(f).layers > layers;
            if (!at_the_end && keys < most)
                continue;
            double bound = plan.rate + Z * sqrt(plan.rate / (double)questions);
            double rate = (double)yes_among(f, 6, ABSENT, (size_t)questions) / (double)questions;
            if (rate > bound)
                CHECK_FAIL("measured rate %.4g with %" PRIu64 " keys, promised %.4g", rate, keys, plan.rate);
            layers = stats_of(f).layers;
        }
        CHECK_EQ_U64(yes_among(f, 6, 0, (size_t)keys), keys);
        CHECK(layers > 1 && stats_of(f).rate == plan.rate);
        kith_filter_free(f);
    }
}

/* Counts the cells that have reached the top of a counter, which is one more than the number of copies. */
static uint64_t stuck_cells(const kith_filter *f, const kith_plan *plan) {
    uint64_t stuck = 0;
    for (uint64_t cell = 0; can(plan, KITH_CAN_COPIES) && plan->hashes != 0 && cell < plan->cells; cell++)
        stuck += kith_filter_cell(f, cell) == plan->max_copies + 1;
    return stuck;
}

/* Compares the statistics with the truth: the rate as measured by lookups, the number of keys as counted. */
void stats_tell_the_truth(void) {
    static const double PARTS[] = {0, 0.3, 1};
    EACH_VARIANT(v) for (size_t p = 0; p < 3; p++) {
        const uint64_t n = 10000;
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, n, 0.01, &spec, &plan))
            continue;
        note_seed(8);
        size_t keys = (size_t)(PARTS[p] * (double)n);
        kith_filter *f = filled(&spec, 8, 0, keys);
        kith_filter_stats s = stats_of(f);
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
        CHECK_EQ_U64(s.file_bytes, byte_count);
        CHECK_EQ_U64(s.count, kith_filter_count(f));
        CHECK_EQ_U64(s.capacity, kith_filter_capacity(f));
        CHECK(s.rate == plan.rate && s.layers >= 1 && s.stuck == stuck_cells(f, &plan));
        CHECK(s.cells == plan.cells && s.cells_used <= s.cells && (s.cells_used == 0 || keys != 0));
        CHECK(s.cells_used != 0 || keys == 0 || !can(&plan, KITH_CAN_ADD)); /* a static kind need not count them */
        CHECK(fabs(s.load - (double)s.cells_used / (double)s.cells) < 1e-9);
        if (plan.fingerprint_bits != 0 && can(&plan, KITH_CAN_ADD))
            CHECK_EQ_U64(s.cells_used, keys); /* one slot per key */
        double error = 6 * sqrt((double)keys) + 1;
        if (fabs(s.keys_now - (double)keys) > error)
            CHECK_FAIL("keys_now is %.0f with %zu keys", s.keys_now, keys);
        double questions = (double)scaled(300000);
        double rate = (double)yes_among(f, 8, ABSENT, (size_t)questions) / questions;
        double bound = Z * sqrt((s.rate_now + 10 / questions) / questions) + 0.05 * s.rate_now;
        if (fabs(rate - s.rate_now) > bound)
            CHECK_FAIL("rate_now is %.4g, measured %.4g, bound %.2g", s.rate_now, rate, bound);
        s.struct_bytes++;
        CHECK_STATUS(kith_filter_stats_of(f, &s), KITH_E_STRUCT);
        kith_filter_free(f);
    }
}
