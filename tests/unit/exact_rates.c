/* Tests that stats().rate_now is the exact rate. It is compared with the rate computed here from the cells of the
 * filter, as docs/format.md defines them, or, for cuckoo kinds, by looking up every (place, fingerprint) that a key can
 * have. */
#include <inttypes.h>
#include <math.h>

#include "check.h"
#include "core/mix.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "plan/planner.h"
#include "unit/plans.h"

enum { KEYS = 500, BLOCK_BITS = 512 };

static uint64_t digest_of(uint64_t seed, uint64_t i) {
    return kithi_mix(kithi_mix(seed + 1) + i * KITHI_GOLDEN);
}

/* The fraction of the cells from … from + cells - 1 that is in use. */
static double used(const kith_filter *f, uint64_t from, uint64_t cells) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < cells; i++)
        count += kith_filter_cell(f, from + i) != 0;
    return (double)count / (double)cells;
}

/* k slices: an absent key has one cell in each. */
static double rate_of_slices(const kith_filter *f, const kith_plan *plan) {
    uint64_t slice = plan->cells / plan->hashes;
    double rate = 1;
    for (unsigned i = 0; i < plan->hashes; i++)
        rate *= used(f, i * slice, slice);
    return rate;
}

/* One array: all cells of an absent key are anywhere in it. */
static double rate_of_array(const kith_filter *f, const kith_plan *plan) {
    return pow(used(f, 0, plan->cells), plan->hashes);
}

/* Blocks of 64 bytes: an absent key has one cell in each lane of one block. */
static double rate_of_blocks(const kith_filter *f, const kith_plan *plan) {
    uint64_t block = BLOCK_BITS / plan->cell_bits, lane = block / plan->hashes;
    double sum = 0;
    for (uint64_t from = 0; from < plan->cells; from += block) {
        double rate = 1;
        for (uint64_t at = from; at < from + block; at += lane)
            rate *= used(f, at, lane);
        sum += rate;
    }
    return sum * (double)block / (double)plan->cells;
}

/* One digest for each combination of place and fingerprint: core/mix.h, backwards. With one region the upper half of
 * the digest determines the place, and the XOR of the two halves the fingerprint. */
static double rate_of_slots(const kith_filter *f, const kith_plan *plan) {
    CHECK_EQ_U64(f->geometry.cf.regions, 1);
    uint64_t places = f->geometry.cf.places, fingerprints = (UINT64_C(1) << plan->fingerprint_bits) - 1, yes = 0;
    for (uint64_t place = 0; place < places; place++) {
        uint64_t high = (place << 32 | UINT32_MAX / 2) / places;
        for (uint64_t i = 0; i < fingerprints; i++) {
            uint64_t rest = (i << 32 | UINT32_MAX / 2) / fingerprints, digest = high << 32 | (rest ^ high);
            kithi_place at = kithi_place_of(digest, 1, places, kithi_rest_shift(1, places));
            CHECK(at.place == place && kithi_fingerprint(at, fingerprints) == 1 + i);
            yes += kith_filter_has_digest(f, digest);
        }
    }
    return (double)yes / (double)(places * fingerprints);
}

static void expect_rate(const char *kind, const char *options,
                        double (*rate_of)(const kith_filter *, const kith_plan *), unsigned copies) {
    kith_filter_spec spec = spec_of(kind, options);
    spec.capacity = KEYS;
    spec.rate = 0.01;
    kith_filter *f;
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_create(&spec, &f));
    CHECK_OK(kith_filter_plan_of(f, &plan));
    for (uint64_t keys = 0; keys <= KEYS; keys += KEYS / 5) {
        CHECK_OK(kith_filter_clear(f));
        for (uint64_t i = 0; i < keys; i++)
            CHECK_OK(kith_filter_add_digest(f, digest_of(7, i / copies), NULL));
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(f, &stats));
        double exact = rate_of(f, &plan);
        if (fabs(stats.rate_now - exact) > 1e-12)
            CHECK_FAIL("%s %s, %" PRIu64 " keys: rate_now is %.12g, exactly it is %.12g", kind,
                       options != NULL ? options : "", keys, stats.rate_now, exact);
    }
    kith_filter_free(f);
}

TEST(rate_now_of_slices_is_the_product_of_their_fills) {
    expect_rate("bloom", NULL, rate_of_slices, 1);
    expect_rate("bloom", "k=1", rate_of_slices, 1);
    expect_rate("bloom", "k=3", rate_of_slices, 1);
    expect_rate("counting", NULL, rate_of_slices, 1);
    expect_rate("counting", NULL, rate_of_slices, 5);
    expect_rate("counting", "width=3", rate_of_slices, 5);
}

TEST(rate_now_of_one_array_is_a_power_of_its_fill) {
    expect_rate("bloom", "layout=whole", rate_of_array, 1);
    expect_rate("bloom", "layout=whole k=2", rate_of_array, 1);
    expect_rate("counting", "layout=whole", rate_of_array, 1);
    expect_rate("counting", "layout=whole width=6", rate_of_array, 5);
}

TEST(rate_now_of_blocks_is_the_mean_over_the_blocks) {
    expect_rate("blocked", NULL, rate_of_blocks, 1);
    expect_rate("blocked", "lanes=4", rate_of_blocks, 1);
    expect_rate("blocked", "lanes=16", rate_of_blocks, 1);
    expect_rate("blocked_counting", NULL, rate_of_blocks, 1);
    expect_rate("blocked_counting", "lanes=16", rate_of_blocks, 5);
}

TEST(rate_now_of_cuckoo_kinds_is_the_share_of_cells_with_an_entry) {
    expect_rate("cuckoo", NULL, rate_of_slots, 1);
    expect_rate("cuckoo", "b=2", rate_of_slots, 1);
    expect_rate("cuckoo", "b=8", rate_of_slots, 3);
    expect_rate("cuckoo", "alternate=simple", rate_of_slots, 1);
    expect_rate("cuckoo", "alternate=xor insert=walk", rate_of_slots, 1);
    expect_rate("overlap", NULL, rate_of_slots, 1);
    expect_rate("overlap", NULL, rate_of_slots, 2);
}

/* n keys occupy at most n cells, so the bound that cuckoo kinds are sized by holds for every filter of n keys. */
TEST(no_cuckoo_filter_at_capacity_exceeds_its_promise) {
    static const char *const KINDS[] = {"cuckoo", "overlap"};
    static const double RATES[] = {0.9, 0.5, 0.25, 0.1, 0.01, 1e-4, 1e-8};
    const uint64_t most = SIZE_MAX > UINT32_MAX ? 1000000000 : 100000000; /* the plans of more are refused */
    for (size_t kind = 0; kind < LENGTH(KINDS); kind++)
        for (uint64_t n = 1; n <= most; n *= 10)
            for (size_t r = 0; r < LENGTH(RATES); r++) {
                kith_filter_spec spec = spec_of(KINDS[kind], NULL);
                spec.capacity = n;
                spec.rate = RATES[r];
                kithi_head head;
                CHECK_OK(kithi_plan_spec(&spec, &head));
                kithi_shape shape = {0};
                CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
                kithi_cf_geometry g = kithi_kind_by_id(head.kind_id)->lookup->decode(&head).cf;
                double top = exp2(shape.fingerprint_bits) - 1;
                CHECK((double)n / ((double)g.regions * (double)g.half * top) <= RATES[r]);
            }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
