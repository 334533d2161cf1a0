/* Static filters from digests that were chosen to prevent the build (tests/colliding.h), and lists that are changed
 * until they have seeds that were chosen before. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <kith/kith.h>

#include <math.h>

#include "check.h"
#include "colliding.h"
#include "core/late_seeds.h"
#include "kinds/fuse/fuse.h"
#include "kinds/ribbon/ribbon.h"
#include "handle/handle.h"
#include "sanitizer.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- the seeds ---- */

/* Which seeds further tries have: real ones, or those of which colliding.h knows. */
static enum { REAL, KNOWN_TO_FUSE, KNOWN_TO_RIBBON } seeds_are;
static unsigned late_tries;

uint64_t __real_kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try);
uint64_t __wrap_kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try);
uint64_t __wrap_kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try) {
    late_tries++;
    return seeds_are == REAL ? __real_kithi_late_seed(seeds, attempt, try)
                             : colliding_seed(seeds_are == KNOWN_TO_FUSE, try - 1);
}

/* ---- lists ---- */

typedef struct list {
    const char *kind, *options;
    uint64_t *digests;
    size_t n;
} list;

static uint64_t honest_digest(uint64_t i) {
    return splitmix_mix((i + 1) * SPLITMIX_STEP);
}

/* `honest` digests of honest keys, followed by the chosen ones. */
static list list_with(const char *kind, const char *options, size_t honest) {
    bool fuse = strcmp(kind, "fuse") == 0;
    unsigned seeds = fuse ? COLLIDING_FUSE_SEEDS : COLLIDING_RIBBON_SEEDS;
    unsigned per_seed = fuse ? COLLIDING_FUSE_KEYS : COLLIDING_RIBBON_KEYS;
    list l = {kind, options, NULL, honest + (size_t)seeds * per_seed};
    kithi_geometry plans[COLLIDING_PLANS];
    uint64_t random = 1;
    l.digests = malloc(l.n * sizeof *l.digests);
    CHECK(l.digests != NULL);
    for (size_t i = 0; i < honest; i++)
        l.digests[i] = honest_digest(i);
    CHECK_OK(colliding_plans(kind, l.n, 0.01, options, plans));
    for (unsigned i = 0; i < seeds; i++)
        colliding_digests(plans, fuse, i, &random, l.digests + honest + (size_t)i * per_seed);
    return l;
}

static kith_filter_spec spec_for(const list *l) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = l->kind;
    spec.rate = 0.01;
    spec.options = l->options;
    return spec;
}

static uint64_t planned_bytes(const list *l) {
    kith_filter_spec spec = spec_for(l);
    kith_plan plan = KITH_PLAN_INIT;
    spec.capacity = l->n;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    return plan.file_bytes;
}

static void check_members(const kith_filter *f, const list *l) {
    CHECK_OK(kith_filter_check(f, NULL));
    CHECK_EQ_U64(kith_filter_count(f), l->n);
    CHECK_EQ_U64(kith_filter_has_many(f, l->digests, l->n, NULL), l->n);
}

static bool same_bytes(kith_filter *a, kith_filter *b) {
    const void *one, *other;
    size_t one_bytes, other_bytes;
    CHECK_OK(kith_filter_bytes(a, &one, &one_bytes));
    CHECK_OK(kith_filter_bytes(b, &other, &other_bytes));
    return one_bytes == other_bytes && memcmp(one, other, one_bytes) == 0;
}

static kith_filter *built(const list *l, unsigned threads) {
    kith_filter_spec spec = spec_for(l);
    kith_filter *f;
    CHECK_OK(kith_filter_build(&spec, l->digests, l->n, KITH_BUILD_SET, threads, &f));
    return f;
}

/* Through a temporary file, if the list is long enough. */
static kith_filter *built_in_little_memory(const list *l) {
    kith_filter_spec spec = spec_for(l);
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    kith_builder *builder;
    kith_filter *f;
    limits.memory_bytes = 1 << 20;
    limits.threads = 2;
    limits.folder = "/tmp";
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &builder));
    CHECK_OK(kith_builder_add_many(builder, l->digests, l->n, NULL));
    CHECK_OK(kith_builder_finish(builder, &f));
    kith_builder_free(builder);
    return f;
}

static void reverse(list *l) {
    for (size_t i = 0, j = l->n - 1; i < j; i++, j--) {
        uint64_t digest = l->digests[i];
        l->digests[i] = l->digests[j];
        l->digests[j] = digest;
    }
}

/* ---- lists that were written before the build ---- */

static const struct {
    const char *kind, *options;
} VARIANTS[] = {{"fuse", "arity=3"}, {"fuse", "arity=4"}, {"ribbon", "f=0"}};

TEST(the_keys_have_the_digests_that_were_chosen) {
    kith_hash hash = {.id = KITH_HASH_XXH3};
    for (uint64_t i = 0; i < 100; i++) {
        uint8_t key[8];
        colliding_key(honest_digest(i), key);
        CHECK_EQ_U64(kith_digest(&hash, key, sizeof key), honest_digest(i));
    }
}

/* The list makes the first try of a shard fail, in every order, and nothing else. Above 1.48 million keys there are
 * several shards. */
TEST(chosen_digests_neither_prevent_a_build_nor_make_it_larger) {
    static const size_t HONEST[] = {0, 1000, 100000, 1000000, 3000000};
    size_t sizes = check_soak() ? 5 : UNDER_SANITIZER ? 3 : 4;
    for (size_t v = 0; v < LENGTH(VARIANTS); v++) {
        for (size_t i = 0; i < sizes; i++) {
            list l = list_with(VARIANTS[v].kind, VARIANTS[v].options, HONEST[i]);
            late_tries = 0;
            kith_filter *f = built(&l, 1);
            CHECK(late_tries > 0); /* the attack on the first seed works */
            check_members(f, &l);
            const void *bytes;
            size_t byte_count;
            CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
            CHECK_EQ_U64(byte_count, planned_bytes(&l));
            reverse(&l);
            kith_filter *other = built(&l, 3);
            CHECK(same_bytes(f, other));
            kith_filter_free(other);
            other = built_in_little_memory(&l);
            CHECK(same_bytes(f, other));
            kith_filter_free(other);
            kith_filter_free(f);
            free(l.digests);
        }
    }
}

/* ---- what a list that fails with all of its seeds costs ---- */

/* Tries bound the time, so they are counted instead of measured. */
TEST(a_refusal_takes_a_bounded_number_of_tries_and_changes_nothing) {
    static const struct {
        size_t honest;
        unsigned late_tries; /* without the first */
    } CASES[] = {{0, 63},
                 {9000, 63},
                 {10000, 15},
                 {99000, 15},
                 {100000, 6 + 3},
                 {290000, 6 + 3},
                 {1000000, 3 + 2},
                 /* Two shards. They are built again once, and not as a single one: a third attempt would not help. */
                 {2000000, 3 + 2}};
    seeds_are = KNOWN_TO_FUSE;
    for (unsigned v = 0; v < 2; v++) {
        for (size_t i = 0; i < LENGTH(CASES) - (UNDER_SANITIZER ? 2 : 0); i++) {
            list l = list_with("fuse", VARIANTS[v].options, CASES[i].honest);
            kith_filter_spec spec = spec_for(&l);
            kith_filter *f = NULL;
            late_tries = 0;
            CHECK_STATUS(kith_filter_build(&spec, l.digests, l.n, KITH_BUILD_SET, 1, &f), KITH_E_FULL);
            CHECK(f == NULL);
            CHECK_EQ_U64(late_tries, CASES[i].late_tries);
            /* Another attempt would exceed this limit. */
            spec.max_bytes = planned_bytes(&l);
            kith_status status = kith_filter_build(&spec, l.digests, l.n, KITH_BUILD_SET, 1, &f);
            CHECK_STATUS(status, l.n < KITHI_FUSE_LARGE_KEYS ? KITH_E_FULL : KITH_E_TOO_LARGE);
            free(l.digests);
        }
    }
    seeds_are = REAL;
}

/* A ribbon filter is built nevertheless, with a stash for all keys. */
TEST(ribbon_holds_any_digests) {
    static const size_t HONEST[] = {0, 1000, 100000};
    seeds_are = KNOWN_TO_RIBBON;
    for (size_t i = 0; i < LENGTH(HONEST); i++) {
        list l = list_with("ribbon", "f=0", HONEST[i]);
        late_tries = 0;
        kith_filter *f = built(&l, 1);
        CHECK_EQ_U64(late_tries, 2);
        check_members(f, &l);
        CHECK_EQ_U64(f->geometry.ribbon.stash, l.n);
        kith_filter_free(f);
        free(l.digests);
    }
    seeds_are = REAL;
}

/* ---- lists that are changed until they have chosen seeds ---- */

static kithi_late_seeds seeds_of(const uint64_t *digests, size_t n) {
    uint64_t *sorted = malloc(n * sizeof *sorted), *scratch = malloc(n * sizeof *scratch);
    kithi_late_seeds seeds;
    CHECK(sorted != NULL && scratch != NULL);
    CHECK(kithi_late_seeds_of(digests, n, sorted, scratch, n, &seeds));
    free(sorted);
    free(scratch);
    return seeds;
}

TEST(the_seeds_depend_on_every_digest_and_not_on_their_order) {
    enum { N = 5000 }; /* enough for the radix sort */
    uint64_t digests[N], sorted[N], scratch[N];
    for (uint64_t i = 0; i < N; i++)
        digests[i] = honest_digest(i);
    kithi_late_seeds seeds = seeds_of(digests, N), other;
    CHECK_EQ_U64(kithi_late_seed(&seeds, 0, 2), UINT64_C(0x95ec9ee3bdacf2b7)); /* the bytes of filters depend on it */
    for (unsigned i = 0; i < N; i += 499) {
        uint64_t one = digests[i], two = digests[i + 1];
        uint64_t changed[][2] = {{two, one}, {one + 1, two - 1}, {one ^ 1, two ^ 1}}; /* the same sum, the same XOR */
        for (unsigned c = 0; c < LENGTH(changed); c++) {
            memcpy(digests + i, changed[c], sizeof changed[c]);
            other = seeds_of(digests, N);
            CHECK((kithi_load64(other.key) == kithi_load64(seeds.key)) == (c == 0));
            CHECK((kithi_load64(other.key + 8) == kithi_load64(seeds.key + 8)) == (c == 0));
        }
        digests[i] = digests[i + 1] = one;
        CHECK(!kithi_late_seeds_of(digests, N, sorted, scratch, N, &other));
        CHECK(!kithi_late_seeds_of(digests, N, sorted, NULL, 0, &other));
        digests[i + 1] = two;
    }
    for (unsigned try = 2; try < 66; try++)
        for (unsigned attempt = 0; attempt < 4; attempt++)
            CHECK(kithi_late_seed(&seeds, attempt, try) != kithi_late_seed(&seeds, attempt, try + 1) &&
                  kithi_late_seed(&seeds, attempt, try) != kithi_late_seed(&seeds, attempt + 1, try));
}

/* Appends a digest to a list, another one each time, until the last `bits` bits of the second seed are 0. Returns how
 * many digests that took. */
static uint64_t appends_until(uint64_t *digests, size_t n, unsigned bits, uint64_t *next) {
    for (uint64_t appended = 1;; appended++) {
        digests[n] = honest_digest((*next)++);
        kithi_late_seeds seeds = seeds_of(digests, n + 1);
        if (kithi_late_seed(&seeds, 0, 2) << (64 - bits) == 0)
            return appended;
    }
}

/* There is no better way than trying: b bits of a seed take 2^b lists on average. So one seed of 64 bits takes 2^64
 * lists, and 2^63 / k if the list also has digests for k seeds; and the further seeds of a shard are independent. The
 * sum of R waiting times deviates from R * 2^b by five times 2^b * sqrt(R) in fewer than one of 10^5 cases; but the
 * digests are always the same. */
TEST(choosing_bits_of_a_seed_takes_as_many_lists_as_guessing) {
    enum { N = 130, REPEATS = 64 };
    uint64_t digests[N + 1], next = 1000;
    for (uint64_t i = 0; i < N; i++)
        digests[i] = honest_digest(i);
    for (unsigned bits = 2; bits <= (check_soak() ? 14 : UNDER_SANITIZER ? 6 : 9); bits++) {
        double total = 0, mean = ldexp(REPEATS, (int)bits);
        for (unsigned i = 0; i < REPEATS; i++)
            total += (double)appends_until(digests, N, bits, &next);
        printf("shows: %u bits of a seed: %.1f lists on average\n", bits, total / REPEATS);
        CHECK(fabs(total - mean) < 5 * mean / sqrt(REPEATS));
    }
}

/* The attack: digests that collide with 64 seeds that the attacker has chosen, and one more digest until the seeds of
 * the list are these. None of the lists that a bounded budget can try has even one of them, and all can be built. */
TEST(appending_digests_until_the_seeds_are_chosen_ones_does_not_pay) {
    unsigned budget = check_soak() ? 1000000 : UNDER_SANITIZER ? 1000 : 20000, hits = 0;
    for (unsigned v = 0; v < 2; v++) {
        list l = list_with("fuse", VARIANTS[v].options, 1);
        for (uint64_t i = 0; i < budget; i++) {
            l.digests[0] = honest_digest(i);
            kithi_late_seeds seeds = seeds_of(l.digests, l.n);
            for (unsigned try = 2; try <= COLLIDING_FUSE_SEEDS; try++)
                for (unsigned known = 0; known < COLLIDING_FUSE_SEEDS; known++)
                    hits += __real_kithi_late_seed(&seeds, 0, try) == colliding_seed(true, known);
            if (i % 20 == 0) {
                kith_filter *f = built(&l, 1);
                CHECK(kith_filter_has_digest(f, l.digests[0]));
                kith_filter_free(f);
            }
        }
        CHECK_EQ_U64(hits, 0);
        free(l.digests);
    }
}

/* What is left: a list that fails with all of its own seeds by chance. The search for one goes on until the k-th try
 * fails; it takes p^(1 - k) lists, where p is how often a list fails with one seed. p is largest for 14 keys and 4
 * cells per key (kinds/fuse/build.c): 48%. The tries of a list are independent. */
TEST(each_further_try_makes_a_list_that_fails_as_much_rarer_as_the_one_before) {
    enum { HONEST = 12, N = HONEST + COLLIDING_FUSE_KEYS, DEPTH = 6 };
    unsigned lists = check_soak() ? 1000000 : UNDER_SANITIZER ? 4000 : 50000, failed[DEPTH + 1] = {0};
    kithi_geometry plans[COLLIDING_PLANS];
    uint64_t digests[N], random = 1;
    CHECK_OK(colliding_plans("fuse", N, 0.01, "arity=4", plans));
    colliding_digests(plans, true, 0, &random, digests);
    list l = {"fuse", "arity=4", digests, N};
    for (uint64_t i = 0; i < lists; i++) {
        for (unsigned j = COLLIDING_FUSE_KEYS; j < N; j++)
            digests[j] = honest_digest(i * N + j);
        late_tries = 0;
        kith_filter_free(built(&l, 1));
        CHECK(late_tries >= 1); /* the first try always fails */
        for (unsigned k = 0; k <= DEPTH && k < late_tries; k++)
            failed[k]++;
    }
    CHECK_EQ_U64(failed[0], lists);
    for (unsigned k = 1; k <= DEPTH; k++) {
        double share = (double)failed[k] / failed[k - 1];
        printf("shows: of the lists that fail %u times, %.1f%% fail once more\n", k, 100 * share);
        CHECK(fabs(share - 0.468) < 5 * 0.5 / sqrt(failed[k - 1]));
    }
}

/* A list cannot raise the probability of failure by its structure: with unknown seeds, lists with regular distances
 * fail as often as random ones. */
TEST(lists_with_a_structure_fail_as_often_as_random_ones) {
    enum { N = 1025 }; /* with 3 cells per key, 5.5% of the lists of this size fail */
    unsigned lists = check_soak() ? 20000 : UNDER_SANITIZER ? 100 : 1000;
    static const uint64_t STEPS[] = {1,
                                     UINT64_C(1) << 20,
                                     UINT64_C(1) << 36,
                                     UINT64_C(1) << 53,
                                     KITHI_GOLDEN,
                                     UINT64_C(0x319642b2d24d8ec3), /* the factors of kithi_unmix() */
                                     UINT64_C(0x96de1b173f119089)};
    uint64_t digests[N];
    list l = {"fuse", "arity=3", digests, N};
    for (size_t s = 0; s < LENGTH(STEPS); s++) {
        double failed = 0;
        for (uint64_t i = 0; i < lists; i++) {
            for (uint64_t j = 0; j < N; j++)
                digests[j] = honest_digest(i) + j * STEPS[s]; /* as if the seed were random */
            late_tries = 0;
            kith_filter_free(built(&l, 1));
            failed += late_tries > 0;
        }
        printf("shows: step %#" PRIx64 ": %.1f%% of the lists fail with one seed\n", STEPS[s], 100 * failed / lists);
        CHECK(fabs(failed - 0.055 * lists) < 5 * sqrt(0.055 * lists));
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
