/* Tests alternate=xor and insert=walk of the filter `cuckoo`: the rules of the original paper (Fan et al., 2014). */
#include <math.h>

#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"
#include "core/mix.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_kinds.h"
#include "handle/handle.h"
#include "kinds/registry.h"

enum { XOR = 2 };

/* A filter of one region with as many slots, whose capacity is never reached. */
typedef struct laid {
    kith_filter filter;
    uint8_t *block;
    uint64_t block_bytes;
    kith_allocator allocator;
} laid;

static void lay(laid *l, uint64_t slots, uint64_t b, uint64_t slot_bits, uint64_t alternate, uint64_t kicks) {
    kithi_head head = {.kind_id = 4, .capacity = UINT64_MAX / 2, .rate = .5};
    head.params[KITHI_PARAM_SLOT_BITS] = slot_bits;
    head.params[KITHI_PARAM_HALF] = slots / b / 2;
    head.params[KITHI_PARAM_REGIONS] = 1;
    head.params[KITHI_PARAM_BUCKET_SLOTS] = b;
    head.params[KITHI_PARAM_ALTERNATE] = alternate;
    head.params[KITHI_PARAM_KICKS] = kicks;
    kithi_shape shape = {0};
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(4), &head, &shape));
    head.body_bytes = shape.body_bytes;
    CHECK(kithi_block_bytes(head.body_bytes, &l->block_bytes));
    l->allocator = kithi_allocator_or_default(NULL);
    l->block = kithi_allocate(&l->allocator, l->block_bytes);
    CHECK(l->block != NULL);
    CHECK_OK(kithi_filter_init(&l->filter, &head, l->block, &l->allocator));
}

static void unlay(laid *l) {
    kithi_filter_unbind(&l->filter);
    kithi_release(&l->allocator, l->block, l->block_bytes);
}

/* Adds random digests until one is refused. */
static void fill(kith_filter *f, kithi_prng *prng) {
    enum { BATCH = 256 };
    uint64_t digests[BATCH];
    size_t done = BATCH;
    kith_status status = KITH_OK;
    while (status == KITH_OK) {
        for (unsigned i = 0; i < BATCH; i++)
            digests[i] = kithi_prng_next(prng);
        status = kith_filter_add_many(f, digests, BATCH, NULL, &done);
    }
    CHECK_STATUS(status, KITH_E_FULL);
}

/* Fan et al. report a load of 0.95 with b = 4 and 500 kicks. 20 seeds of 2^20 slots; fewer in the normal tier. */
TEST(a_million_slots_fill_to_at_least_the_load_of_the_original_paper) {
    uint64_t seeds = check_soak() ? 20 : 2, slots = UINT64_C(1) << 20;
    for (uint64_t bits = 12; bits <= 16; bits += check_soak() ? 1 : 4) {
        double sum = 0, least = 1, most = 0;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            laid l;
            kithi_prng prng = {kithi_mix(seed)};
            lay(&l, slots, 4, bits, XOR, 500);
            fill(&l.filter, &prng);
            double load = (double)kith_filter_count(&l.filter) / (double)slots;
            sum += load;
            least = fmin(least, load);
            most = fmax(most, load);
            CHECK(kithi_filter_check(&l.filter) == NULL);
            unlay(&l);
        }
        printf("f = %" PRIu64 ": the first walk of 500 kicks fails at a load of %.4f on average, %.4f to %.4f\n", bits,
               sum / (double)seeds, least, most);
        CHECK(least > 0.95 && most < 0.98);
    }
}

TEST(plans_for_walks_stay_below_the_measured_load_with_a_failure_of_at_most_one_in_a_million) {
    static const char *const OPTIONS[] = {"insert=walk", "insert=walk max=50", "insert=walk max=10000 b=2",
                                          "insert=walk b=8", "alternate=xor insert=walk"};
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        for (uint64_t n = 10; n <= UINT64_C(100000000); n *= 10) {
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            kith_plan plan = KITH_PLAN_INIT, search = KITH_PLAN_INIT;
            spec.kind = "cuckoo";
            spec.options = OPTIONS[i];
            spec.capacity = n;
            spec.rate = .001;
            CHECK_OK(kith_filter_plan(&spec, &plan));
            CHECK(plan.failure <= 1e-6 && plan.expected_rate <= plan.rate);
            spec.options = strstr(OPTIONS[i], "b=2") ? "b=2" : strstr(OPTIONS[i], "b=8") ? "b=8" : NULL;
            CHECK_OK(kith_filter_plan(&spec, &search));
            if (n >= 10000)
                CHECK(plan.cells >= search.cells);
        }
}

/* Counts the walks of more than 50 kicks at a load of low … high, in regions of 2^17 slots. The planner's estimate for
 * the high end must not be exceeded. Except for b = 1, where plans need not be tight, it must not be a hundred times as
 * large either. */
static void expect_walk_lengths(unsigned b, double low, double high) {
    kithi_fit_layout fit = {.place_slots = b, .kicks = 50};
    uint64_t slots = UINT64_C(1) << 17, walks = 0, failed = 0;
    for (uint64_t seed = 1; seed <= (check_soak() ? 200 : 10); seed++) {
        laid l;
        kithi_prng prng = {kithi_mix(seed * 64 + b)};
        lay(&l, slots, b, 20, XOR, fit.kicks);
        for (double load = 0; load < high; load = (double)l.filter.head.count / (double)slots) {
            kith_status status = kith_filter_add_digest(&l.filter, kithi_prng_next(&prng), NULL);
            CHECK(status == KITH_OK || status == KITH_E_FULL);
            walks += load >= low;
            failed += load >= low && status == KITH_E_FULL;
        }
        unlay(&l);
    }
    double bound = kithi_fit_walk_failure(&fit, high, 1) * (double)walks;
    printf("b = %u, load %.2f to %.2f: %" PRIu64 " of %" PRIu64 " walks exceed 50 kicks, at most %.0f estimated\n", b,
           low, high, failed, walks, bound);
    CHECK((double)failed <= bound + 4 * sqrt(bound) && (b == 1 || (double)failed >= bound / 100));
}

TEST(walks_are_at_most_as_long_as_the_planner_estimates) {
    expect_walk_lengths(1, 0.42, 0.44);
    expect_walk_lengths(2, 0.79, 0.80);
    expect_walk_lengths(2, 0.84, 0.85);
    expect_walk_lengths(4, 0.90, 0.91);
    expect_walk_lengths(4, 0.93, 0.94);
    expect_walk_lengths(8, 0.965, 0.97);
    expect_walk_lengths(8, 0.975, 0.98);
}

static void expect_failed_walks_to_change_nothing(uint64_t b, uint64_t alternate, uint64_t kicks) {
    laid l;
    kithi_prng prng = {kithi_mix(b * 100000 + kicks)};
    lay(&l, 1024, b, 12, alternate, kicks);
    fill(&l.filter, &prng);
    uint64_t bytes = l.filter.head.body_bytes, count = kith_filter_count(&l.filter);
    uint8_t *before = malloc((size_t)bytes);
    CHECK(before != NULL);
    memcpy(before, l.filter.body, (size_t)bytes);
    unsigned refused = 0;
    for (unsigned i = 0; i < 4000 && refused < 200; i++) {
        uint64_t digest = kithi_prng_next(&prng);
        kith_status status = kith_filter_add_digest(&l.filter, digest, NULL);
        if (status == KITH_OK) {
            memcpy(before, l.filter.body, (size_t)bytes);
            count++;
            continue;
        }
        CHECK(status == KITH_E_FULL || status == KITH_E_COPIES);
        CHECK(memcmp(before, l.filter.body, (size_t)bytes) == 0);
        CHECK_EQ_U64(kith_filter_count(&l.filter), count);
        refused++;
    }
    CHECK(refused == 200);
    free(before);
    unlay(&l);
}

TEST(a_failed_walk_leaves_every_byte_as_it_was) {
    for (uint64_t b = 1; b <= 8; b *= 2)
        for (uint64_t alternate = 0; alternate <= XOR; alternate++) {
            expect_failed_walks_to_change_nothing(b, alternate, 50);
            expect_failed_walks_to_change_nothing(b, alternate, 501);
        }
}

/* ---- where a walk starts ---- */

/* The slots of a digest's first bucket, then those of the other one. */
typedef struct looked {
    uint64_t slot[16], holds[16];
    unsigned count, full;
} looked;

static void note(void *context, uint64_t slot, uint64_t holds, uint64_t wanted) {
    looked *at = context;
    (void)wanted;
    CHECK(at->count < 16);
    at->slot[at->count] = slot;
    at->holds[at->count++] = holds;
    at->full += holds != 0;
}

static bool changed(const kith_filter *f, const looked *at, unsigned first, unsigned end) {
    bool any = false;
    for (unsigned i = first; i < end; i++)
        any |= kith_filter_cell(f, at->slot[i]) != at->holds[i];
    return any;
}

/* Counts the buckets that walks change, at loads of 0.75 to 0.85, where most walks are short. A walk that starts in a
 * bucket changes it, unless it comes back and leaves what was there. */
static void walks_from(uint64_t start, unsigned *walks, unsigned *first, unsigned *other) {
    enum { SLOTS = 16384, B = 4 };
    laid l;
    kithi_prng prng = {start + 1};
    lay(&l, SLOTS, B, 16, 0, 500);
    l.filter.geometry.cf.start = start;
    for (unsigned i = 0; i < SLOTS * 85 / 100; i++) {
        uint64_t digest = kithi_prng_next(&prng);
        looked at = {.count = 0};
        (void)kith_filter_look(&l.filter, digest, note, &at);
        CHECK_OK(kith_filter_add_digest(&l.filter, digest, NULL));
        if (i < SLOTS * 3 / 4 || at.count < 2 * B || at.full < 2 * B)
            continue;
        ++*walks;
        *first += changed(&l.filter, &at, 0, B);
        *other += changed(&l.filter, &at, B, 2 * B);
    }
    unlay(&l);
}

TEST(start_names_the_bucket_in_which_a_walk_begins) {
    unsigned walks[2] = {0}, first[2] = {0}, other[2] = {0};
    for (unsigned start = 0; start < 2; start++) {
        walks_from(start, &walks[start], &first[start], &other[start]);
        printf("start = %u: of %u walks, %u change the first bucket and %u the other one\n", start, walks[start],
               first[start], other[start]);
        CHECK(walks[start] > 100);
    }
    CHECK(first[0] > walks[0] / 3 && first[0] < walks[0] * 2 / 3 && other[0] > walks[0] / 3);
    CHECK(first[1] == walks[1] && other[1] < walks[1] / 10);
}

TEST(start_is_an_option_of_walks_only) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = "cuckoo";
    spec.capacity = 1000;
    spec.rate = 0.01;
    static const struct {
        const char *options;
        kith_status status;
    } CASES[] = {
        {"start=first", KITH_OK},
        {"start=first insert=walk", KITH_OK},
        {"start=random insert=search", KITH_OK},
        {"start=first insert=search", KITH_E_OPTION_FIT},
        {"start=second", KITH_E_OPTION_VALUE},
    };
    for (unsigned i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        spec.options = CASES[i].options;
        CHECK_STATUS(kith_filter_plan(&spec, &plan), CASES[i].status);
    }
    kith_filter *f = NULL;
    spec.options = "start=first";
    CHECK_OK(kith_filter_create(&spec, &f));
    CHECK(f->geometry.cf.start == 1 && f->geometry.cf.kicks == 500);
    kith_filter_free(f);
    kithi_head head = {.kind_id = 4, .capacity = 100, .rate = .5};
    kithi_shape shape;
    const uint64_t good[8] = {8, 16, 1, 4, 0, 500, 0, 1};
    memcpy(head.params, good, sizeof good);
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(4), &head, &shape));
    head.params[KITHI_PARAM_START] = 2;
    CHECK_STATUS(kithi_kind_shape(kithi_kind_by_id(4), &head, &shape), KITH_E_CORRUPT);
    head.params[KITHI_PARAM_START] = 1;
    head.params[KITHI_PARAM_KICKS] = 0; /* a search starts nowhere */
    CHECK_STATUS(kithi_kind_shape(kithi_kind_by_id(4), &head, &shape), KITH_E_CORRUPT);
}

TEST(equal_operations_give_equal_bytes) {
    laid l[2];
    for (unsigned i = 0; i < 2; i++) {
        kithi_prng prng = {8};
        lay(&l[i], 4096, 4, 14, XOR, 500);
        fill(&l[i].filter, &prng);
    }
    CHECK(memcmp(l[0].filter.body, l[1].filter.body, (size_t)l[0].filter.head.body_bytes) == 0);
    unlay(&l[0]);
    unlay(&l[1]);
}

TEST(the_other_bucket_by_xor_is_another_one_and_leads_back) {
    for (uint64_t places = 2; places <= UINT64_C(1) << 30; places *= 4)
        for (uint64_t fingerprint = 1; fingerprint < 70000; fingerprint += 13) {
            uint64_t place = kithi_mix(fingerprint) & (places - 1);
            uint64_t other = kithi_xor_partner(place, fingerprint, places);
            CHECK(other < places && other != place && kithi_xor_partner(other, fingerprint, places) == place);
        }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
