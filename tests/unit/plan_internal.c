/* The planner as other parts of the library call it: kinds that contain another, and builds that try again. */
#include <math.h>

#include "kinds/registry.h"
#include "plan/fit.h"
#include "plan/planner.h"
#include "plan/sizing.h"
#include "unit/plans.h"
#include "handle/verbs.h"

TEST(a_plan_without_capacity_or_with_an_impossible_rate_is_refused) {
    static const double RATES[] = {0, 1, -0.5, 2, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kithi_kind *kind = kithi_kind_at(i);
        uint64_t options[KITHI_OPTIONS_MAX];
        kithi_head head;
        kithi_shape shape;
        CHECK_OK(kithi_kind_options_read(kind, NULL, options));
        kithi_request request = {.capacity = 100, .rate = .01, .options = options};
        CHECK_OK(kithi_plan(kind, &request, &head, &shape));
        request.capacity = 0;
        CHECK_STATUS(kithi_plan(kind, &request, &head, &shape), KITH_E_CAPACITY);
        request.capacity = UINT64_C(1) << 60;
        CHECK_STATUS(kithi_plan(kind, &request, &head, &shape), KITH_E_DIGEST_BITS);
        request.capacity = 100;
        for (size_t r = 0; r < LENGTH(RATES); r++) {
            request.rate = RATES[r];
            CHECK_STATUS(kithi_plan(kind, &request, &head, &shape), KITH_E_RATE);
        }
    }
}

/* What the spec needs and the kind cannot do: adding is a matter of the call, everything else of the kind. */
TEST(a_missing_capability_is_the_right_error_with_and_without_options) {
    kith_plan plan;
    for (unsigned with_options = 0; with_options <= 1; with_options++) {
        kith_filter_spec fuse = spec_of("fuse", with_options ? "arity=3" : NULL);
        fuse.capacity = 1000;
        fuse.rate = .01;
        CHECK_OK(plan_of(&fuse, &plan));
        fuse.needs = KITH_CAN_ADD;
        CHECK_STATUS(plan_of(&fuse, &plan), KITH_E_UNSUPPORTED);
        kith_filter_spec bloom = spec_of("bloom", with_options ? "k=5" : NULL);
        bloom.capacity = 1000;
        bloom.rate = .01;
        CHECK_OK(plan_of(&bloom, &plan));
        bloom.needs = KITH_CAN_REMOVE;
        CHECK_STATUS(plan_of(&bloom, &plan), KITH_E_KIND);
    }
}

static kithi_head head_of(const kith_filter_spec *spec) {
    kithi_head head;
    CHECK_OK(kithi_plan_spec(spec, &head));
    return head;
}

TEST(a_plan_for_another_attempt_keeps_what_the_caller_chose_and_the_limits) {
    enum { KEYS = 100000 };
    static const kith_note NOTES[] = {{"source", "test"}};
    kith_filter_spec spec = spec_of("fuse", NULL);
    kith_plan plan;
    kithi_head again;
    spec.capacity = KEYS; /* fewer have no other attempt */
    spec.rate = .01;
    spec.recipe = 7;
    spec.notes = NOTES;
    spec.note_count = LENGTH(NOTES);
    kithi_head first = head_of(&spec);
    first.hash.seed = 99;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK_OK(kithi_plan_again(&spec, &first, 1, UINT64_MAX, &again));
    CHECK(again.kind_id == first.kind_id && again.capacity == KEYS && again.rate == .01 && again.hash.seed == 99);
    CHECK(again.recipe == 7 && again.notes_bytes == first.notes_bytes && first.notes_bytes > 0);
    CHECK(again.body_bytes > first.body_bytes); /* more space than before */
    uint64_t more = plan.file_bytes + (again.body_bytes - first.body_bytes);

    for (unsigned which = 0; which < 2; which++) { /* exactly as many bytes as needed, and one less */
        kith_filter_spec limited = spec;
        uint64_t *limit = which == 0 ? &limited.bytes : &limited.max_bytes;
        *limit = more;
        CHECK_OK(kithi_plan_again(&limited, &first, 1, UINT64_MAX, &again));
        *limit = more - 1;
        CHECK_STATUS(kithi_plan_again(&limited, &first, 1, UINT64_MAX, &again), KITH_E_TOO_LARGE);
    }
    first.capacity = 0;
    CHECK_STATUS(kithi_plan_again(&spec, &first, 1, UINT64_MAX, &again), KITH_E_CAPACITY);
    first.capacity = 1000;
    CHECK_STATUS(kithi_plan_again(&spec, &first, 1, UINT64_MAX, &again), KITH_E_FULL);
    first.capacity = KEYS;
    spec.options = "arity=5";
    CHECK_STATUS(kithi_plan_again(&spec, &first, 1, UINT64_MAX, &again), KITH_E_OPTION_VALUE);
}

/* The notes are part of the file, so they count towards its limits. */
TEST(notes_that_fill_the_limit_leave_nothing_for_a_filter) {
    static const kith_note NOTES[] = {{"a", "0123456789012345678901234567890123456789"}};
    kith_filter_spec spec = spec_of("bloom", NULL);
    kith_plan plan;
    spec.notes = NOTES;
    spec.note_count = 1;
    spec.capacity = 10;
    spec.rate = .1;
    uint64_t notes_bytes = head_of(&spec).notes_bytes;
    CHECK_OK(plan_of(&spec, &plan));
    uint64_t all = plan.file_bytes;
    spec.max_bytes = all;
    CHECK_OK(plan_of(&spec, &plan));
    spec.max_bytes = all - 1;
    CHECK_STATUS(plan_of(&spec, &plan), KITH_E_TOO_LARGE);
    spec.max_bytes = notes_bytes;
    CHECK_STATUS(plan_of(&spec, &plan), KITH_E_TOO_LARGE);
    spec.max_bytes = 0;
    spec.capacity = 0;
    spec.bytes = all;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(plan.file_bytes <= all && plan.capacity >= 10);
    spec.bytes = notes_bytes;
    CHECK_STATUS(plan_of(&spec, &plan), KITH_E_TOO_SMALL);
    spec.bytes = notes_bytes + 1;
    CHECK_STATUS(plan_of(&spec, &plan), KITH_E_TOO_SMALL);
    static const kith_note NAMELESS[] = {{"", "x"}};
    spec.bytes = all;
    spec.notes = NAMELESS;
    CHECK_STATUS(plan_of(&spec, &plan), KITH_E_NOTE);
}

TEST(malformed_structs_and_recipes_are_refused) {
    kith_filter_spec spec = spec_of("bloom", NULL);
    kith_filter *filter;
    kith_plan plan = KITH_PLAN_INIT;
    spec.capacity = 10;
    spec.rate = .1;
    spec.recipe = (UINT64_C(1) << 48) - 1;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_filter_plan_of(filter, &plan));
    CHECK_EQ_U64(plan.capacity, 10);
    plan.struct_bytes = 0;
    CHECK_STATUS(kith_filter_plan_of(filter, &plan), KITH_E_STRUCT);
    kith_filter_free(filter);
    spec.recipe++;
    CHECK_STATUS(kith_filter_create(&spec, &filter), KITH_E_RECIPE);
    spec.recipe = 0;
    spec.struct_bytes = 1;
    CHECK_STATUS(kith_filter_create(&spec, &filter), KITH_E_STRUCT);
}

/* Beyond the load at which searches fail, every search does. */
TEST(every_search_is_too_long_at_a_load_that_is_too_high) {
    static const kithi_fit_layout BUCKETS = {.place_slots = 4};
    CHECK(kithi_fit_search_tail(&BUCKETS, 1, 1000) == 1);
    CHECK(kithi_fit_search_tail(&BUCKETS, .5, 1000) < 1e-9);
    static const kithi_fit_layout WALK = {.place_slots = 4, .kicks = 500};
    CHECK(kithi_fit_walk_failure(&WALK, 1, 1000) == 1);
    CHECK(kithi_fit_walk_failure(&WALK, .5, 1000) < 1e-9);
    static const kithi_fit_size SIZE = {.slot_bits = 12, .half = 1000, .regions = 1};
    CHECK(kithi_fit_room_failure(&BUCKETS, &SIZE, 7900) == 1); /* of 8000 slots */
    CHECK(kithi_fit_overflow(&BUCKETS, &SIZE, 7900) >= kithi_fit_overflow(&BUCKETS, &SIZE, 7000));
    CHECK(kithi_blocked_hit(8, 64, 10, 100000, 1) == 1); /* 156 keys per cell */
}

/* Slots of 7 bits with 6 places in each half take as many bits as slots of 6 bits with 7 places. */
TEST(of_two_equal_sizes_the_one_with_the_lower_rate_is_chosen) {
    static const kithi_fit_layout BUCKETS = {.place_slots = 4};
    kithi_fit_size chosen, narrower;
    CHECK(kithi_fit_choose(&BUCKETS, 11, 0.027, 0, &chosen));
    CHECK(kithi_fit_choose(&BUCKETS, 11, 0.027, 6, &narrower));
    CHECK(chosen.slot_bits == 7 && chosen.half == 6 && chosen.regions == 1 && chosen.stash == 0);
    CHECK(narrower.slot_bits == 6 && narrower.half == 7 && narrower.regions == 1 && narrower.stash == 0);
    CHECK(kithi_fit_rate(&BUCKETS, &chosen, 11) < kithi_fit_rate(&BUCKETS, &narrower, 11));
}

/* The bits of a digest that choose a place limit their number: see core/mix.h. */
TEST(half_a_region_has_at_most_2_to_the_27_slots_or_2_to_the_29_if_it_is_a_power_of_two) {
    kithi_fit_layout fit = {.place_slots = 2, .one_region = true};
    kithi_fit_size size;
    CHECK(kithi_fit_choose(&fit, 230000000, 0.01, 0, &size));
    CHECK(size.half > 60000000 && size.half <= 1 << 26);
    CHECK(!kithi_fit_choose(&fit, 240000000, 0.01, 0, &size));
    fit.power_of_two = true;
    CHECK(kithi_fit_choose(&fit, 240000000, 0.01, 0, &size));
    CHECK_EQ_U64(size.half, 1 << 27);
    CHECK(kithi_fit_choose(&fit, 900000000, 0.01, 0, &size));
    CHECK_EQ_U64(size.half, 1 << 28);
    CHECK(size.slot_bits < 12); /* with one region they need not be wide enough for the number of places */
    CHECK(!kithi_fit_choose(&fit, 1000000000, 0.01, 0, &size));
}

TEST(regions_have_2_to_the_18_slots_at_most_unless_a_place_has_only_one) {
    kithi_fit_layout fit = {.place_slots = 4};
    kithi_fit_size size;
    CHECK(kithi_fit_choose(&fit, 10000000, 0.01, 0, &size));
    CHECK(kithi_fit_region_slots(&fit, size.half) <= 1 << 18 && size.regions > 30);
    fit.place_slots = 1;
    CHECK(kithi_fit_choose(&fit, 10000000, 0.01, 0, &size));
    CHECK(kithi_fit_region_slots(&fit, size.half) > 1 << 18 && size.regions < 30);
    fit = (kithi_fit_layout){.place_slots = 4, .power_of_two = true}; /* the other place is found with a fingerprint */
    CHECK(kithi_fit_choose(&fit, 10000000, 0.01, 0, &size));
    CHECK(size.slot_bits < 16 && 2 * size.half <= UINT64_C(1) << size.slot_bits);
}

/* In regions with more keys than the average, searches grow so long that some reach their bound. The number of these
 * regions follows from the normal distribution, here in small steps. A step of the planner is one deviation. */
TEST(searches_that_reach_their_bound_are_failures) {
    static const kithi_fit_layout BUCKETS = {.place_slots = 4};
    static const kithi_fit_size SIZE = {.slot_bits = 12, .half = 32768, .regions = 1000};
    double slots = (double)kithi_fit_region_slots(&BUCKETS, SIZE.half), regions = (double)SIZE.regions;
    double places = KITHI_FIT_SEARCH_SLOTS / 4.0, step = 0.01;
    for (double load = 0.964; load < 0.972; load += 0.002) {
        double deviation = hypot(sqrt(load / slots), 1.15 * 0.19 / sqrt(slots)), expected = 0;
        for (double k = 0; k < 10; k += step) {
            double here = load + k * deviation, tail = kithi_fit_search_tail(&BUCKETS, here, places);
            /* the last keys, while the tail grows by a factor of e */
            double slope = log(tail / kithi_fit_search_tail(&BUCKETS, here - 1e-6, places)) / 1e-6;
            double keys = slope > 0 ? slots / slope : slots;
            expected += step * regions * exp(-k * k / 2) / sqrt(2 * acos(-1)) * fmin(1, keys * tail);
        }
        double failure = kithi_fit_room_failure(&BUCKETS, &SIZE, (uint64_t)(load * slots * regions));
        printf("        load %.3f: %.3g, in small steps %.3g\n", load, failure, expected);
        CHECK(failure > expected / 2 && failure < expected * 2);
    }
    /* In one large region the load hardly varies, so that only the searches matter. */
    static const kithi_fit_layout ONE = {.place_slots = 2, .one_region = true, .power_of_two = true};
    static const kithi_fit_size LARGE = {.slot_bits = 12, .half = 1 << 27, .regions = 1};
    slots = (double)kithi_fit_region_slots(&ONE, LARGE.half);
    CHECK(kithi_fit_room_failure(&ONE, &LARGE, (uint64_t)(0.875 * slots)) < 1e-9);
    CHECK(kithi_fit_room_failure(&ONE, &LARGE, (uint64_t)(0.891 * slots)) > 0.5);
}

/* The mean of q^j if k hashes hit j different ones of m cells: the sum over all m^k ways to choose them. */
TEST(the_probability_for_all_cells_of_a_whole_array_agrees_with_all_choices) {
    for (unsigned m = 1; m <= 5; m++) {
        unsigned choices = 1;
        for (unsigned k = 1; k <= 5; k++) {
            choices *= m;
            for (double q = 0; q <= 1; q += 0.125) {
                double sum = 0;
                for (unsigned choice = 0; choice < choices; choice++) {
                    unsigned hit = 0;
                    for (unsigned i = 0, rest = choice; i < k; i++, rest /= m)
                        hit |= 1u << rest % m;
                    sum += pow(q, __builtin_popcount(hit));
                }
                CHECK(fabs(kithi_whole_all_cells_have(k, m, q) - sum / choices) < 1e-14);
            }
        }
    }
}

/* Mean and deviation of the cells in use in one block, over all ways in which keys can choose a block and a cell in
 * each of two lanes. */
static void try_block(unsigned lane_cells, unsigned blocks, unsigned keys) {
    unsigned key_choices = blocks * lane_cells * lane_cells, choices = 1;
    for (unsigned i = 0; i < keys; i++)
        choices *= key_choices;
    double sum = 0, squares = 0;
    for (unsigned choice = 0; choice < choices; choice++) {
        uint64_t used = 0;
        for (unsigned i = 0, rest = choice; i < keys; i++, rest /= key_choices) {
            unsigned cells = rest % key_choices / blocks;
            if (rest % blocks == 0)
                used |= UINT64_C(1) << cells % lane_cells | UINT64_C(1) << (lane_cells + cells / lane_cells);
        }
        double count = __builtin_popcountll(used);
        sum += count;
        squares += count * count;
    }
    double mean = sum / choices, deviation = sqrt(fmax(0, squares / choices - mean * mean));
    double at_mean, above;
    kithi_block_fill_limits(2, lane_cells, blocks, keys, 0, 1, &at_mean);
    kithi_block_fill_limits(2, lane_cells, blocks, keys, 5, 1, &above);
    CHECK(fabs(at_mean - mean) < 1e-12 && fabs(above - mean - 5 * deviation) < 1e-6);
}

TEST(the_cells_in_use_of_a_block_agree_with_all_choices_of_cells) {
    for (unsigned lane_cells = 3; lane_cells <= 5; lane_cells++)
        for (unsigned blocks = 1; blocks <= 2; blocks++)
            for (unsigned keys = 1; keys <= 3; keys++)
                try_block(lane_cells, blocks, keys);
}

/* How many times higher the quantile is if keys that change nothing are not counted. */
static double growth(unsigned k, uint64_t slice, uint64_t n) {
    return kithi_bloom_quantile(k, slice, n, KITHI_COUNTS_NEW_KEYS, KITHI_SLICES) /
           kithi_bloom_quantile(k, slice, n, KITHI_COUNTS_ALL_KEYS, KITHI_SLICES);
}

/* Keys are added until as many as planned have changed something. The loop adds a hundredth of a key at a time. */
TEST(keys_that_change_nothing_raise_the_rate_until_the_filter_is_full) {
    static const struct {
        unsigned k;
        uint64_t slice, n;
    } CASES[] = {{2, 150, 100}, {3, 170, 100}, {4, 200, 100}};
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        unsigned k = CASES[i].k;
        double n = (double)CASES[i].n, miss = log1p(-1 / (double)CASES[i].slice), counted = 0, keys = 0;
        for (; counted < n; keys += 0.01)
            counted += 0.01 * (1 - pow(-expm1(keys * miss), k));
        double expected = pow(expm1(keys * miss) / expm1(n * miss), k), planned = growth(k, CASES[i].slice, CASES[i].n);
        printf("        k = %u: %.3f times, planned for %.3f\n", k, expected, planned);
        CHECK(planned > expected && planned < 1 + 1.15 * (expected - 1));
    }
    /* A large filter refuses keys soon, because more of its cells are set than those of any honest one. */
    CHECK(growth(1, 3000000, 1000000) > 1 && growth(1, 3000000, 1000000) < 1.01);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
