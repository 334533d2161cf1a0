/* Tests that cuckoo kinds accept the keys that they were planned for, and that the planner's formula for the
 * probability that they do not (plan/fit.h) is an upper bound. The formula is measured between 10^-1 and 10^-4 and
 * extrapolated to 10^-9. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <math.h>

#include <kith/kith.h>

#include "check.h"
#include "plan/fit.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_kinds.h"
#include "folder.h"
#include "kinds/registry.h"
#include "handle/handle.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char *name, *kind, *options;
    uint16_t kind_id;
    kithi_fit_layout fit;
} LAYOUTS[] = {
    {"overlap", "overlap", NULL, 5, {.place_slots = 2, .windows = true, .window_bits = 1}},
    {"cuckoo b=2", "cuckoo", "b=2", 4, {.place_slots = 2}},
    {"cuckoo b=4", "cuckoo", "b=4", 4, {.place_slots = 4}},
    {"cuckoo b=8", "cuckoo", "b=8", 4, {.place_slots = 8}},
    {"walk", "cuckoo", "insert=walk", 4, {.place_slots = 4, .kicks = 500}},
    {"walk of 50", "cuckoo", "insert=walk max=50", 4, {.place_slots = 4, .kicks = 50}},
    {"walk b=2", "cuckoo", "b=2 insert=walk", 4, {.place_slots = 2, .kicks = 500}},
    {"walk b=8", "cuckoo", "b=8 insert=walk max=50", 4, {.place_slots = 8, .kicks = 50}},
};
enum { PROMISED = 3 }; /* layouts that must accept every key up to the capacity */

/* Fills a filter planned for n keys with n random digests, `seeds` times. Every add must succeed. */
static uint64_t fill_to_capacity(const char *kind, const char *options, uint64_t n, double rate, uint64_t seeds) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter *filter;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = n;
    spec.rate = rate;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    CHECK(plan.failure <= (plan.fingerprint_bits == 2 ? 1e-7 : 1.1e-8)); /* as kith/plan.h says */
    CHECK_OK(kith_filter_create(&spec, &filter));
    for (uint64_t seed = 0; seed < seeds; seed++) {
        kithi_prng prng = {kithi_mix(n * 1000003 + seed)};
        CHECK_OK(kith_filter_clear(filter));
        for (uint64_t i = 0; i < n; i++) {
            uint64_t digest = kithi_prng_next(&prng);
            kith_status status = kith_filter_add_many(filter, &digest, 1, NULL, NULL);
            if (status != KITH_OK)
                CHECK_FAIL("%s %s, rate %g, seed %" PRIu64 ": key %" PRIu64 " of %" PRIu64 " returns %s", kind,
                           options != NULL ? options : "", rate, seed, i + 1, n, kith_status_name(status));
        }
        CHECK_EQ_U64(kith_filter_count(filter), n);
    }
    kith_filter_free(filter);
    return seeds;
}

/* At 10% the fingerprints have the smallest width that the planner uses, at 0.1% the rate determines it. */
static const double FILL_RATES[] = {.1, .001};

static void fill_all(uint64_t from, uint64_t to, uint64_t seeds) {
    for (size_t layout = 0; layout < PROMISED; layout++) {
        uint64_t filled = 0;
        for (size_t r = 0; r < LENGTH(FILL_RATES); r++)
            for (uint64_t n = from; n <= to; n++)
                filled += fill_to_capacity(LAYOUTS[layout].kind, LAYOUTS[layout].options, n, FILL_RATES[r], seeds);
        CHECK_EQ_U64(filled, LENGTH(FILL_RATES) * (to - from + 1) * seeds);
    }
}

TEST(filters_of_1_to_300_keys_take_their_capacity) {
    fill_all(1, 300, check_soak() ? 1000 : UNDER_SANITIZER ? 2 : 20);
}

TEST(filters_of_1000_keys_take_their_capacity) {
    fill_all(1000, 1000, check_soak() ? 20000 : UNDER_SANITIZER ? 50 : 600);
}

TEST(filters_of_100000_keys_take_their_capacity) {
    fill_all(100000, 100000, check_soak() ? 200 : 8);
}

TEST(filters_of_a_million_keys_take_their_capacity) {
    fill_all(1000000, 1000000, check_soak() ? 20 : 2);
}

/* Options may ask for shorter fingerprints than the planner would choose. A rate of 0.9 lets the load be as high as the
 * planner allows. */
TEST(filters_with_the_shortest_fingerprints_take_their_capacity) {
    static const struct {
        const char *kind, *options;
        uint64_t keys, seeds, soak_seeds;
    } SHORT[] = {
        {"overlap", "f=2", 500, 1000, 100000},
        {"overlap", "f=2", 1000, 500, 100000},
        {"overlap", "f=2", 10000, 10, 10000},
        {"overlap", "f=2", 1000000, 0, 100},
        {"overlap", "f=3", 10000, 20, 10000},
        {"overlap", "f=3", 2300000, 0, 60},
        {"cuckoo", "b=2 f=4", 13000, 50, 10000},
        {"cuckoo", "b=2 f=4", 100000, 10, 1000},
        {"cuckoo", "b=2 f=4", 2300000, 0, 60},
        {"cuckoo", "b=2 f=5", 13000, 20, 10000},
        {"cuckoo", "b=2 f=5", 2300000, 0, 60},
        {"cuckoo", "b=4 f=4", 100000, 2, 1000},
        {"cuckoo", "alternate=xor b=2 f=4", 114500, 5, 200},
    };
    for (size_t i = 0; i < LENGTH(SHORT); i++) {
        uint64_t seeds = check_soak()      ? SHORT[i].soak_seeds
                         : UNDER_SANITIZER ? (SHORT[i].seeds + 9) / 10
                                           : SHORT[i].seeds;
        CHECK_EQ_U64(fill_to_capacity(SHORT[i].kind, SHORT[i].options, SHORT[i].keys, .9, seeds), seeds);
    }
}

/* ---- the formula ---- */

enum { SLOT_BITS = 31 }; /* wide, so that adds fail for lack of free slots and not because of equal fingerprints */

static kithi_head head_for(size_t layout, const kithi_fit_size *size, uint64_t n) {
    kithi_head head = {.kind_id = LAYOUTS[layout].kind_id, .capacity = n, .rate = .5};
    head.params[KITHI_PARAM_SLOT_BITS] = size->slot_bits;
    head.params[KITHI_PARAM_HALF] = size->half;
    head.params[KITHI_PARAM_REGIONS] = size->regions;
    if (!LAYOUTS[layout].fit.windows)
        head.params[KITHI_PARAM_BUCKET_SLOTS] = LAYOUTS[layout].fit.place_slots;
    head.params[KITHI_PARAM_KICKS] = LAYOUTS[layout].fit.kicks;
    head.params[KITHI_PARAM_STASH] = size->stash;
    return head;
}

/* Returns how many of `trials` filters of this geometry, however small, refuse one of n keys with this status, or with
 * any status if `refusal` is KITH_OK. */
static uint64_t refusals(size_t layout, const kithi_fit_size *size, uint64_t n, uint64_t trials, kith_status refusal) {
    kithi_head head = head_for(layout, size, n);
    const kithi_kind *kind = kithi_kind_by_id(head.kind_id);
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    kithi_shape shape = {0};
    uint64_t block_bytes = 0;
    kith_filter f;
    CHECK_OK(kithi_kind_shape(kind, &head, &shape));
    head.body_bytes = shape.body_bytes;
    CHECK(kithi_block_bytes(head.body_bytes, &block_bytes));
    uint8_t *block = kithi_allocate(&allocator, block_bytes);
    CHECK(block != NULL);
    CHECK_OK(kithi_filter_init(&f, &head, block, &allocator));
    kithi_prng prng = {kithi_mix(n + 7919 * size->half + 104729 * layout)};
    uint64_t refused = 0;
    for (uint64_t trial = 0; trial < trials; trial++) {
        bool was_new;
        kith_status status = KITH_OK;
        CHECK_OK(kith_filter_clear(&f));
        for (uint64_t i = 0; i < n && status == KITH_OK; i++)
            status = kind->kernels[KITHI_CPU_PORTABLE]->add(&f, kithi_prng_next(&prng), &was_new);
        CHECK(status == KITH_OK || status == KITH_E_FULL || status == KITH_E_COPIES);
        refused += refusal == KITH_OK ? status != KITH_OK : status == refusal;
        if (trial < 100)
            CHECK(kithi_filter_check(&f) == NULL);
    }
    kithi_filter_unbind(&f);
    kithi_release(&allocator, block, block_bytes);
    return refused;
}

static double formula(size_t layout, uint64_t regions, uint64_t half, uint64_t n) {
    kithi_fit_size size = {SLOT_BITS, half, regions, 0};
    return kithi_fit_room_failure(&LAYOUTS[layout].fit, &size, n);
}

/* Returns the largest half for which the formula gives at least p. */
static uint64_t half_at(size_t layout, uint64_t regions, uint64_t n, double p) {
    uint64_t half = 1;
    while (formula(layout, regions, half + 1, n) >= p)
        half++;
    return half;
}

TEST(the_expected_room_failure_is_an_upper_bound_of_the_measured_one) {
    static const uint64_t KEYS[] = {10, 40, 150, 1000};
    static const double AT[] = {.1, .02, .003, .0004};
    uint64_t adds_max = check_soak() ? 20000000 : UNDER_SANITIZER ? 60000 : 600000;
    uint64_t trials_max = check_soak() ? 1000000 : 50000;
    unsigned points = 0;
    printf("layout      keys  regions   half   load   formula   measured (failures of trials)\n");
    for (size_t layout = 0; layout < LENGTH(LAYOUTS); layout++) {
        for (size_t i = 0; i < LENGTH(KEYS); i++) {
            uint64_t last_half = 0;
            for (size_t j = 0; j < 2 * LENGTH(AT); j++) {
                uint64_t regions = j < LENGTH(AT) ? 1 : 3, n = KEYS[i];
                uint64_t half = half_at(layout, regions, n, AT[j % LENGTH(AT)]);
                double p = formula(layout, regions, half, n);
                if (half == last_half || !(p <= .5 && p >= 1e-4))
                    continue;
                last_half = half;
                uint64_t trials = adds_max / n < trials_max ? adds_max / n : trials_max;
                kithi_fit_size size = {SLOT_BITS, half, regions, 0};
                uint64_t failed = refusals(layout, &size, n, trials, KITH_E_FULL);
                double load = (double)n / (double)(regions * kithi_fit_region_slots(&LAYOUTS[layout].fit, half));
                printf(
                    "%-10s %5" PRIu64 " %8" PRIu64 " %6" PRIu64 "  %5.3f  %8.5f   %8.5f (%" PRIu64 " of %" PRIu64 ")\n",
                    LAYOUTS[layout].name, n, regions, half, load, p, (double)failed / (double)trials, failed, trials);
                /* One and a half times the formula, plus four standard deviations of the count. */
                double bound = 1.5 * p * (double)trials;
                CHECK((double)failed <= bound + 4 * sqrt(bound) + 1);
                points++;
            }
        }
    }
    CHECK(points >= 40);
}

TEST(keys_up_to_the_slots_of_two_places_always_fit) {
    for (size_t layout = 0; layout < LENGTH(LAYOUTS); layout++) {
        uint64_t slots = 2 * LAYOUTS[layout].fit.place_slots;
        for (uint64_t half = 1; half <= 20; half++) {
            kithi_fit_size size = {SLOT_BITS, half, 1, 0};
            CHECK(kithi_fit_room_failure(&LAYOUTS[layout].fit, &size, slots) == 0);
            CHECK_EQ_U64(refusals(layout, &size, slots, UNDER_SANITIZER ? 100 : 1000, KITH_E_FULL), 0);
        }
    }
}

/* The same for fingerprint collisions, with stashes of several sizes: narrow fingerprints and plenty of free slots. */
TEST(the_expected_overflow_is_an_upper_bound_of_the_measured_one) {
    static const struct {
        size_t layout;
        unsigned slot_bits;
        uint64_t half, n;
        unsigned stash;
    } POINTS[] = {{0, 4, 100, 180, 0},  {0, 5, 60, 100, 0},    {0, 4, 300, 540, 1}, {0, 5, 800, 1500, 1},
                  {0, 4, 600, 1100, 2}, {0, 4, 1000, 1850, 4}, {1, 4, 30, 60, 0},   {1, 4, 60, 150, 0},
                  {1, 5, 500, 1600, 1}, {1, 4, 200, 500, 2},   {2, 4, 4, 30, 0},    {2, 4, 8, 60, 0},
                  {2, 4, 30, 225, 1}};
    uint64_t trials = check_soak() ? 200000 : UNDER_SANITIZER ? 500 : 5000;
    for (size_t i = 0; i < LENGTH(POINTS); i++) {
        kithi_fit_size size = {POINTS[i].slot_bits, POINTS[i].half, 1, POINTS[i].stash};
        uint64_t refused = refusals(POINTS[i].layout, &size, POINTS[i].n, trials, KITH_E_COPIES);
        double expected = kithi_fit_overflow(&LAYOUTS[POINTS[i].layout].fit, &size, POINTS[i].n);
        printf("%-10s %u-bit slots, half %" PRIu64 ", %" PRIu64
               " keys, stash of %u: overflow %.5f expected at most, %.5f measured\n",
               LAYOUTS[POINTS[i].layout].name, size.slot_bits, size.half, POINTS[i].n, size.stash, expected,
               (double)refused / (double)trials);
        double bound = expected * (double)trials;
        CHECK((double)refused <= bound + 4 * sqrt(bound) + 1);
    }
}

static double any_failure(size_t layout, const kithi_fit_size *size, uint64_t n) {
    const kithi_fit_layout *fit = &LAYOUTS[layout].fit;
    return fmin(1, kithi_fit_room_failure(fit, size, n) + kithi_fit_overflow(fit, size, n));
}

/* Both together, for short fingerprints in regions that are nearly full. */
TEST(the_expected_failure_with_short_fingerprints_is_an_upper_bound_of_the_measured_one) {
    static const struct {
        size_t layout;
        kithi_fit_size size;
    } SIZES[] = {
        {0, {3, 800, 1, 3}},    {0, {3, 6000, 1, 12}},  {0, {4, 2000, 1, 6}},   {0, {4, 6000, 1, 12}},
        {1, {4, 1000, 1, 5}},   {1, {4, 3700, 1, 10}},  {1, {5, 1000, 1, 3}},   {1, {5, 3700, 1, 6}},
        {0, {4, 30000, 1, 40}}, {1, {4, 25000, 1, 30}}, {1, {5, 25000, 1, 10}}, {1, {4, 5000, 4, 20}},
    };
    static const double AT[] = {.1, .01, .001};
    uint64_t adds_max = check_soak() ? 20000000 : UNDER_SANITIZER ? 100000 : 1000000;
    for (size_t i = 0; i < LENGTH(SIZES); i++) {
        const kithi_fit_layout *fit = &LAYOUTS[SIZES[i].layout].fit;
        const kithi_fit_size *size = &SIZES[i].size;
        uint64_t slots = size->regions * kithi_fit_region_slots(fit, size->half), n = slots;
        for (size_t j = 0; j < LENGTH(AT); j++) {
            while (any_failure(SIZES[i].layout, size, n) > AT[j])
                n -= 1 + slots / 2000;
            uint64_t trials = adds_max / n;
            uint64_t refused = refusals(SIZES[i].layout, size, n, trials, KITH_OK);
            double expected = any_failure(SIZES[i].layout, size, n), bound = expected * (double)trials;
            printf("%-10s %u-bit slots, half %" PRIu64 ", stash of %u, load %.3f: %.5f expected at most, %" PRIu64
                   " of %" PRIu64 " measured\n",
                   LAYOUTS[SIZES[i].layout].name, size->slot_bits, size->half, size->stash, (double)n / (double)slots,
                   expected, refused, trials);
            CHECK((double)refused <= bound + 4 * sqrt(bound) + 1);
        }
    }
}

/* Without a stash, 10^8 keys would need 14.8 bits per key at both rates. */
TEST(overlap_takes_as_many_bits_per_key_for_a_billion_keys_as_for_100000) {
    static const struct { double rate, bits_max; } GOALS[] = {{.001, 12.75}, {.01, 9.6}, {.03, 7.45}};
    for (size_t i = 0; i < LENGTH(GOALS); i++) {
        for (uint64_t n = 100000; n <= 1000000000; n *= 10) {
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            kith_plan plan = KITH_PLAN_INIT;
            spec.kind = "overlap";
            spec.capacity = n;
            spec.rate = GOALS[i].rate;
            CHECK_OK(kith_filter_plan(&spec, &plan));
            if (plan.bits_per_key > GOALS[i].bits_max || plan.failure > 1.1e-8)
                CHECK_FAIL("rate %g, n %" PRIu64 ": %.3f bits per key, failure %g", spec.rate, n, plan.bits_per_key,
                           plan.failure);
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
