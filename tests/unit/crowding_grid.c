/* What keys that others choose can do to blocked filters of all sizes and rates (kinds/shared/crowding.h). The
 * attacker knows the hash and the whole filter, and may try every key: if the filter refuses it, he tries another one,
 * so he passes every check that looks only at some keys. He goes on until the filter takes no more keys, or refuses so
 * many in a row, or has so many already, that he gives up. tests/unit/pollution.c measures attacks on other kinds, and
 * on filters without any guard. */
#include <kith/kith.h>

#include "check.h"
#include "chosen.h"
#include "kinds/registry.h"
#include "sanitizer.h"

static const char *const KINDS[] = {"blocked", "blocked_counting"};
static const double RATES[] = {0.1, 0.01, 1e-3, 1e-4, 1e-5};
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* The share of the blocks for which the keys are chosen; 0: one block after the other is filled. */
static const double SHARES[] = {0, 0.02, 0.1, 0.25, 0.42, 0.5, 0.7, 0.8, 0.9};

static double rate_now(const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(f, &stats));
    return stats.rate_now;
}

/* Attacks an empty filter; returns its rate, as a multiple of the promised one. */
static double attacked(kith_filter *f, double share, uint64_t seed) {
    enum { GIVE_UP = 200 };
    chosen c = {.prng = {seed}};
    uint64_t n = kith_filter_capacity(f);
    for (unsigned refused = 0; kith_filter_count(f) < n && refused < GIVE_UP;) {
        if (share == 0)
            chosen_greedy(&c, f);
        else
            chosen_crowd(&c, share);
        if (refused % 2 == 1)
            chosen_harmless(&c);
        uint64_t count = kith_filter_count(f);
        kith_status status = kith_filter_add_digest(f, c.digest, NULL);
        refused = kith_filter_count(f) > count ? 0 : refused + 1;
        c.block += share == 0 && status != KITH_OK;
    }
    return rate_now(f) / f->head.rate;
}

static kith_filter *created(const char *kind, uint64_t capacity, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *f;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = rate;
    CHECK_OK(kith_filter_create(&spec, &f));
    return f;
}

/* The highest rate of all attacks on an empty filter, as a multiple of the promised one. */
static double worst_attack(kith_filter *f) {
    double highest = 0;
    for (size_t s = 0; s < LENGTH(SHARES); s++) {
        double reached = attacked(f, SHARES[s], 1 + s);
        highest = reached > highest ? reached : highest;
        CHECK_OK(kith_filter_clear(f));
    }
    return highest;
}

TEST(chosen_keys_never_double_the_rate_of_a_blocked_filter) {
    static const uint64_t SIZES[] = {200, 300, 1000, 5000, 30000, 100000, 1000000};
    size_t sizes = check_soak() ? 7 : UNDER_SANITIZER ? 4 : 6;
    for (size_t k = 0; k < LENGTH(KINDS); k++) {
        double worst = 0;
        for (size_t i = 0; i < sizes; i++) {
            printf("shows: crowding, %-16s %7llu keys:", KINDS[k], (unsigned long long)SIZES[i]);
            for (size_t r = 0; r < LENGTH(RATES); r++) {
                kith_filter *f = created(KINDS[k], SIZES[i], RATES[r]);
                fflush(stdout);
                double highest = worst_attack(f);
                printf("  %g x %.2f", RATES[r], highest);
                worst = highest > worst ? highest : worst;
                kith_filter_free(f);
            }
            printf("\n");
        }
        printf("shows: crowding, %s: the worst attack multiplies the promised rate by %.2f\n", KINDS[k], worst);
        CHECK(worst <= 2);
    }
}

/* Filters of so many blocks have spot checks instead of sums. At 1% and more these are enough against attackers who try
 * again. At lower rates they are not, but a filter that is crowded then is not merged with another. */
TEST(large_filters_keep_rates_of_1_percent_and_crowded_ones_are_not_merged) {
    if (!check_soak())
        return;
    printf("shows: crowding, blocked with spot checks, 4000000 keys:");
    for (size_t r = 1; r < LENGTH(RATES); r++) {
        kith_filter *f = created("blocked", 4000000, RATES[r]), *other;
        double highest = worst_attack(f);
        printf("  %g x %.2f", RATES[r], highest);
        fflush(stdout);
        CHECK(highest <= 2 || RATES[r] < 0.01);
        CHECK_OK(kith_filter_create_like(f, NULL, &other));
        CHECK_OK(kith_filter_add_digest(other, UINT64_C(1) << 63, NULL)); /* so that the union is not a copy */
        double greedy = attacked(f, 0, 1);
        kith_status merged = kith_filter_merge(other, f);
        CHECK(greedy <= 1.25 ? merged == KITH_OK : greedy <= 2 || merged == KITH_E_FULL);
        kith_filter_free(other);
        kith_filter_free(f);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
