/* Tests of what is special about blocked_counting: one cache line per key, word arithmetic on it, the invariant of its
 * lanes, saturated counters inside a block, and the numbers in its file header. */
#include <math.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "plan/sizing.h"
#include "kinds/kind.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { BLOCK_BYTES = 64, BLOCK_COUNTERS = 128 };

static const char *const LANES[] = {"lanes=4", "lanes=8", "lanes=16"};

static kith_filter_spec spec_of(const char *options, uint64_t capacity, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "blocked_counting";
    spec.options = options;
    spec.capacity = capacity;
    spec.rate = rate;
    return spec;
}

static kith_filter *created(const char *options, uint64_t capacity, double rate) {
    kith_filter_spec spec = spec_of(options, capacity, rate);
    kith_filter *f;
    CHECK_OK(kith_filter_create(&spec, &f));
    return f;
}

static kith_plan planned(const char *options, uint64_t capacity, double rate) {
    kith_filter_spec spec = spec_of(options, capacity, rate);
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    return plan;
}

static void add_copies(kith_filter *f, uint64_t digest, unsigned copies) {
    for (unsigned i = 0; i < copies; i++)
        CHECK_OK(kith_filter_add_many(f, &digest, 1, NULL, NULL));
}

static kith_filter_stats stats_of(const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(f, &stats));
    return stats;
}

TEST(a_key_changes_one_counter_in_each_lane_of_one_line) {
    for (size_t i = 0; i < LENGTH(LANES); i++) {
        kith_filter *f = created(LANES[i], 1000, .01);
        unsigned lanes = f->shape.hashes, width = BLOCK_COUNTERS / lanes;
        kithi_prng prng = {i};
        for (unsigned round = 0; round < 100; round++) {
            uint64_t digest = kithi_prng_next(&prng), changed_block = UINT64_MAX;
            CHECK_OK(kith_filter_clear(f));
            add_copies(f, digest, 1);
            unsigned marks[16] = {0};
            for (uint64_t c = 0; c < f->shape.cells; c++) {
                if ((f->body[c / 2] >> (c % 2 * 4) & 15) == 0)
                    continue;
                CHECK(changed_block == UINT64_MAX || changed_block == c / BLOCK_COUNTERS);
                changed_block = c / BLOCK_COUNTERS;
                marks[c % BLOCK_COUNTERS / width]++;
            }
            for (unsigned lane = 0; lane < lanes; lane++)
                CHECK(marks[lane] == 1);
        }
        kith_filter_free(f);
    }
}

/* As a vector unit would do it: the block of a single key is added word by word. */
TEST(adding_a_key_adds_its_block_to_the_words_and_removing_subtracts_it) {
    for (size_t i = 0; i < LENGTH(LANES); i++) {
        kith_filter *f = created(LANES[i], 1000, .01), *lone;
        CHECK_OK(kith_filter_create_like(f, NULL, &lone));
        kithi_prng prng = {10 + i};
        uint8_t *before = malloc((size_t)f->head.body_bytes);
        CHECK(before != NULL);
        for (unsigned key = 0; key < 500; key++) {
            uint64_t digest = kithi_prng_next(&prng);
            CHECK_OK(kith_filter_clear(lone));
            add_copies(lone, digest, 1);
            memcpy(before, f->body, (size_t)f->head.body_bytes);
            add_copies(f, digest, 1);
            for (uint64_t at = 0; at < f->head.body_bytes; at += 8)
                CHECK_EQ_U64(kithi_load64(f->body + at), kithi_load64(before + at) + kithi_load64(lone->body + at));
            if (key % 2 == 0)
                continue;
            CHECK_OK(kith_filter_remove_many(f, &digest, 1, NULL));
            CHECK(memcmp(before, f->body, (size_t)f->head.body_bytes) == 0);
        }
        free(before);
        kith_filter_free(lone);
        kith_filter_free(f);
    }
}

TEST(counters_that_stick_in_a_merge_lose_no_key_and_break_no_invariant) {
    for (size_t i = 0; i < LENGTH(LANES); i++) {
        kith_filter *f = created(LANES[i], 200, .1), *other;
        unsigned lanes = f->shape.hashes;
        kithi_prng prng = {20 + i};
        uint64_t heavy = kithi_prng_next(&prng), light[100];
        for (size_t k = 0; k < LENGTH(light); k++)
            light[k] = kithi_prng_next(&prng);
        CHECK_OK(kith_filter_create_like(f, NULL, &other));
        add_copies(f, heavy, 14);
        CHECK_STATUS(kith_filter_add_many(f, &heavy, 1, NULL, NULL), KITH_E_COPIES);
        CHECK_EQ_U64(stats_of(f).stuck, 0);
        add_copies(other, heavy, 14);
        CHECK_OK(kith_filter_merge(f, other));
        CHECK_EQ_U64(stats_of(f).stuck, lanes);
        CHECK_EQ_U64(f->verbs.copies(f, heavy), 15);
        CHECK_EQ_U64(kith_filter_count(f), 28);
        CHECK_STATUS(kith_filter_add_many(f, &heavy, 1, NULL, NULL), KITH_E_COPIES);

        CHECK_OK(kith_filter_add_many(f, light, LENGTH(light), NULL, NULL));
        CHECK_OK(kith_filter_check(f, NULL));
        for (unsigned copies = 0; copies < 28; copies++)
            CHECK_OK(kith_filter_remove_many(f, &heavy, 1, NULL));
        CHECK_EQ_U64(kith_filter_has_many(f, light, LENGTH(light), NULL), LENGTH(light));
        CHECK_OK(kith_filter_remove_many(f, light, LENGTH(light), NULL));
        /* Only saturated counters are left: lookups return true, and there is nothing to remove. */
        CHECK_EQ_U64(kith_filter_count(f), 0);
        CHECK(stats_of(f).stuck >= lanes && kith_filter_has_digest(f, heavy));
        CHECK_STATUS(kith_filter_remove_many(f, &heavy, 1, NULL), KITH_E_ABSENT);
        CHECK_OK(kith_filter_check(f, NULL));
        kith_filter_free(other);
        kith_filter_free(f);
    }
}

/* Runs check() on a body in which counter c has `value`, with another count, and restores both. */
static const char *checked_with(kith_filter *f, uint64_t c, unsigned value, uint64_t count) {
    uint8_t byte = f->body[c / 2];
    uint64_t true_count = f->head.count;
    f->body[c / 2] = (uint8_t)((byte & (0xf0 >> c % 2 * 4)) | value << (c % 2 * 4));
    f->head.count = count;
    const char *reason = f->kind->check(f);
    f->body[c / 2] = byte;
    f->head.count = true_count;
    return reason;
}

TEST(check_compares_the_lanes_of_a_block_with_each_other_and_with_the_count) {
    for (size_t i = 0; i < LENGTH(LANES); i++) {
        kith_filter *f = created(LANES[i], 300, .05);
        kithi_prng prng = {30 + i};
        for (unsigned k = 0; k < 300; k++)
            add_copies(f, kithi_prng_next(&prng), 1);
        CHECK(f->kind->check(f) == NULL);
        unsigned raised = 0, stuck = 0;
        for (uint64_t c = 0; c < f->shape.cells; c++) {
            unsigned value = f->body[c / 2] >> (c % 2 * 4) & 15;
            if (value == 0) {
                const char *reason = checked_with(f, c, 1, f->head.count);
                CHECK(reason != NULL && strstr(reason, "counters in use") != NULL);
                continue;
            }
            const char *reason = checked_with(f, c, value + 1, f->head.count);
            CHECK(reason != NULL && strstr(reason, "lanes of a block") != NULL);
            raised++;
            /* A lane with a saturated counter proves nothing; the other lanes still do. */
            CHECK(checked_with(f, c, 15, f->head.count) == NULL);
            reason = checked_with(f, c, 15, f->head.count - 1);
            CHECK(reason != NULL && strstr(reason, "count of keys") != NULL);
            stuck++;
        }
        CHECK(raised > 500 && stuck == raised);
        kith_filter_free(f);
    }
}

/* Compares the sum of plan/sizing.c with measurements: an absent key's smallest counter is `hits` or more with that
 * probability. */
TEST(copies_of_absent_keys_match_the_formula) {
    enum { FILTERS = 20, KEYS = 20000, PROBES = 100000, HITS = 3 };
    for (size_t i = 0; i < LENGTH(LANES); i++) {
        kith_filter *f = created(LANES[i], KEYS, .4);
        unsigned lanes = f->shape.hashes;
        kithi_prng prng = {40 + i};
        double sum[HITS + 1] = {0}, squares[HITS + 1] = {0};
        for (unsigned round = 0; round < FILTERS; round++) {
            unsigned found[16] = {0}, fewer = 0;
            CHECK_OK(kith_filter_clear(f));
            for (unsigned k = 0; k < KEYS; k++)
                add_copies(f, kithi_prng_next(&prng), 1);
            for (unsigned k = 0; k < PROBES; k++)
                found[f->verbs.copies(f, kithi_prng_next(&prng))]++;
            for (unsigned hits = 1; hits <= HITS; hits++) {
                fewer += found[hits - 1];
                double part = 1 - (double)fewer / PROBES;
                sum[hits] += part;
                squares[hits] += part * part;
            }
        }
        for (unsigned hits = 1; hits <= HITS; hits++) {
            double p = kithi_blocked_hit(lanes, BLOCK_COUNTERS / lanes, f->geometry.lanes.blocks, KEYS, hits);
            double mean = sum[hits] / FILTERS;
            double error = sqrt((squares[hits] / FILTERS - mean * mean) / (FILTERS - 1));
            printf("%s: %u or more by the formula %.5f, measured %.5f +- %.5f\n", LANES[i], hits, p, mean, error);
            CHECK(fabs(mean - p) < 4 * error && error < .05 * p);
        }
        kith_filter_free(f);
    }
}

TEST(the_keys_of_every_plan_fit) {
    static const double RATES[] = {.999, .9, .5, .49, .1, .01, 1e-5};
    static const uint64_t KEYS[] = {
        1, 14, 15, 16, 60, 100, 1000, 1000000, 1000000000, UINT64_C(1000000000000), UINT64_C(100000000000000000)};
    double worst = 0;
    for (size_t n = 0; n < LENGTH(KEYS); n++) {
        for (size_t r = 0; r < LENGTH(RATES); r++) {
            for (size_t i = 0; i < LENGTH(LANES) + 1; i++) {
                kith_filter_spec spec = spec_of(i < LENGTH(LANES) ? LANES[i] : NULL, KEYS[n], RATES[r]);
                kith_plan plan = KITH_PLAN_INIT;
                if (kith_filter_plan(&spec, &plan) == KITH_OK)
                    worst = fmax(worst, plan.failure);
            }
        }
    }
    printf("at most %.2g\n", worst);
    CHECK(worst < 1e-9);
    if (SIZE_MAX > UINT32_MAX) /* else the largest plans are refused */
        CHECK(worst > 1e-11);  /* the grid contains the worst case */
}

TEST(the_numbers_in_the_file_header_are_right) {
    static const struct {
        double rate, bits;
        unsigned lanes;
    } ROWS[] = {{.1, 20.12, 4},   {.0119, 43.94, 4}, {.0118, 44.03, 8}, {.01, 45.84, 8},
                {.001, 77.89, 8}, {1e-4, 130.66, 8}, {8e-6, 235.3, 8},  {7.9e-6, 236, 16}};
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        kith_plan plan = planned(NULL, 1000000, ROWS[i].rate);
        printf("rate %g: %u lanes, %.2f bits per key, failure %.2g\n", ROWS[i].rate, plan.hashes, plan.bits_per_key,
               plan.failure);
        CHECK(plan.hashes == ROWS[i].lanes && plan.lines == 1);
        CHECK(fabs(plan.bits_per_key / ROWS[i].bits - 1) < .002);
    }
    CHECK(planned(NULL, 1000000, .01).failure < 1e-55);
    CHECK(planned("lanes=4", 1000000, .5).failure < 3.2e-22);
    CHECK_EQ_U64(planned(NULL, 1000000, .9).file_bytes, planned(NULL, 1000000, .5).file_bytes);
    uint64_t blocks = kithi_blocked_blocks(4, 32, 1000000, .9, KITHI_COUNTS_ALL_KEYS, KITHI_BLOCKS_MAX);
    double refused = kithi_blocked_hit(4, 32, blocks, 1000000, 14);
    CHECK(fabs(1e6 / (double)blocks - 116) < 1 && 1e6 * refused < 1e-10 && 17e6 * refused > 1e-9);
}

/* How far 6 standard deviations are from the mean, compared with the same number of independent lanes. */
static double spread(unsigned lanes, double rate) {
    const uint64_t n = 1000000;
    unsigned width = BLOCK_COUNTERS / lanes;
    uint64_t blocks = kithi_blocked_blocks(lanes, width, n, rate, KITHI_COUNTS_ALL_KEYS, KITHI_BLOCKS_MAX),
             slice = blocks * width;
    double mean = (double)lanes * (double)slice * -expm1((double)n * log1p(-1 / (double)slice));
    return ((double)kithi_fill_limit(lanes, width, blocks, n) - mean) /
           ((double)kithi_fill_limit(lanes, slice, 1, n) - mean);
}

TEST(lanes_of_a_block_fill_together_as_the_file_header_says) {
    CHECK(spread(4, .5) > 1.02 && spread(4, .012) < 1.045);
    CHECK(spread(8, .012) > 1.155 && spread(8, 1e-5) < 1.195);
    CHECK(fabs(spread(16, 9e-6) - 1.65) < .005);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
