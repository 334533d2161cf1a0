/* Flooding: keys that are chosen to collide, so that a structure refuses keys early or becomes slow. The attacker knows
 * the hash, or believes that he does; with a secret key the same keys must do nothing.
 *
 *     filters with fingerprints   keys for few of the buckets (Reviriego, Larrabeiti, "Denial of Service Attack on
 *                                 Cuckoo Filter Based Networking Systems", 2020)
 *     tables                      keys for one chain or slot (Crosby, Wallach, "Denial of Service via Algorithmic
 *                                 Complexity Attacks", 2003)
 *
 * tests/unit/pollution.c has the attacks on the false-positive rate. */
#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"

/* ---- filters ---- */

#define N 100000
#define HONEST (N * 85 / 100)
#define BUCKETS_SHARE 4096 /* the chosen keys belong to one bucket of this many */

/* Any key that the attacker does not know. */
static const kith_hash SECRET = {.id = KITH_HASH_SIPHASH, .key = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5}};

static uint64_t honest_key(uint64_t i) {
    return kithi_mix(i);
}

static kith_filter *with_honest_keys(const kith_filter_spec *spec) {
    kith_filter *f;
    CHECK_OK(kith_filter_create(spec, &f));
    for (uint64_t i = 0; i < HONEST; i++) {
        uint64_t key = honest_key(i);
        CHECK_OK(kith_filter_add(f, &key, sizeof key, NULL));
    }
    return f;
}

/* Adds the keys until one is refused. Then neither that key nor the attempt may have changed anything. */
static size_t flood(kith_filter *f, const uint64_t *keys, size_t n, kith_status *status) {
    size_t added = 0;
    *status = KITH_OK;
    while (added < n && (*status = kith_filter_add(f, &keys[added], sizeof *keys, NULL)) == KITH_OK)
        added++;
    for (uint64_t i = 0; i < HONEST; i++) {
        uint64_t key = honest_key(i);
        CHECK(kith_filter_has(f, &key, sizeof key));
    }
    for (size_t i = 0; i < added; i++)
        CHECK(kith_filter_has(f, &keys[i], sizeof *keys));
    CHECK_EQ_U64(kith_filter_count(f), HONEST + added);
    CHECK_OK(kith_filter_check(f, NULL));
    return added;
}

static void flood_kind(const char *kind) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = N;
    spec.rate = 0.01;
    kith_filter_spec secret = spec;
    secret.hash = SECRET;
    size_t n = N - HONEST, found = 0;
    uint64_t *keys = malloc(n * sizeof *keys);
    CHECK(keys != NULL);
    kithi_prng prng = {5};
    while (found < n) {
        keys[found] = kithi_prng_next(&prng);
        found += kith_digest(&spec.hash, &keys[found], sizeof *keys) < UINT64_MAX / BUCKETS_SHARE;
    }
    kith_status status;
    kith_filter *f = with_honest_keys(&spec);
    size_t added = flood(f, keys, n, &status);
    printf("shows: flooding, %s: %.0f%% full of honest keys, then %zu of %zu chosen keys, %s", kind, 100.0 * HONEST / N,
           added, n, kith_status_name(status));
    CHECK(added < n && (status == KITH_E_FULL || status == KITH_E_COPIES)); /* the attack works */
    kith_filter_free(f);
    f = with_honest_keys(&secret);
    added = flood(f, keys, n, &status);
    printf("; with a secret key %zu, %s\n", added, kith_status_name(status));
    CHECK_OK(status);
    kith_filter_free(f);
    free(keys);
}

TEST(flooded_filters_refuse_keys_and_lose_none) {
    size_t flooded = 0;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *info = kith_filter_kind_at(i);
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan plan = KITH_PLAN_INIT;
        spec.kind = info->name;
        spec.capacity = N;
        spec.rate = 0.01;
        CHECK_OK(kith_filter_plan(&spec, &plan));
        bool has_fingerprints = plan.hashes == 0;
        if (!has_fingerprints || (plan.capabilities & KITH_CAN_ADD) == 0 || (plan.capabilities & KITH_CAN_GROW) != 0)
            continue;
        flooded++;
        flood_kind(info->name);
    }
    CHECK(flooded != 0);
}

/* ---- tables ---- */

#define KEYS 4096
#define CHOSEN 200
#define SEED 42        /* the attacker knows it, or believes that he does */
#define SECRET_SEED 77 /* he does not know this one */

typedef struct looks {
    uint64_t count, first;
} looks;

static void count_look(void *context, kith_step step, uint64_t place, uint64_t to) {
    looks *l = context;
    (void)to;
    if (step == KITH_STEP_LOOK && l->count++ == 0)
        l->first = place;
}

static kith_table *new_table(const char *kind, uint64_t seed, looks *l) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = kind;
    spec.key_bytes = 8;
    spec.capacity = KEYS;
    spec.family = KITH_FAMILY_SIPHASH;
    spec.seed = seed;
    kith_table *table;
    CHECK_OK(kith_table_create(&spec, &table));
    kith_table_set_trace(table, count_look, l);
    return table;
}

typedef struct cost {
    double looks; /* per lookup of a chosen key */
    uint64_t rebuilds;
} cost;

static cost cost_of(const char *kind, uint64_t seed, const uint64_t keys[CHOSEN]) {
    looks l = {0, 0};
    kith_table *table = new_table(kind, seed, &l);
    for (size_t i = 0; i < CHOSEN; i++)
        CHECK_OK(kith_table_put(table, &keys[i], sizeof keys[i], i, NULL));
    l.count = 0;
    for (size_t i = 0; i < CHOSEN; i++)
        CHECK(kith_table_has(table, &keys[i], sizeof keys[i]));
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    CHECK_OK(kith_table_stats_of(table, &stats));
    kith_table_free(table);
    return (cost){(double)l.count / CHOSEN, stats.rehashes + stats.growths};
}

/* Finds keys that the table looks for in the same place first. The attacker watches a table with the same seed that is
 * half full, so that a lookup reads something. */
static void choose(const char *kind, uint64_t keys[CHOSEN]) {
    looks l = {0, 0};
    kith_table *twin = new_table(kind, SEED, &l);
    kithi_prng prng = {9};
    for (size_t i = 0; i < KEYS / 2; i++) {
        uint64_t key = kithi_prng_next(&prng);
        CHECK_OK(kith_table_put(twin, &key, sizeof key, 0, NULL));
    }
    uint64_t target = 0;
    for (size_t found = 0; found < CHOSEN;) {
        keys[found] = kithi_prng_next(&prng);
        l.count = 0;
        (void)kith_table_has(twin, &keys[found], sizeof *keys);
        if (l.count == 0 || (found != 0 && l.first != target))
            continue;
        target = l.first;
        found++;
    }
    kith_table_free(twin);
}

static bool has_hash(const char *kind) {
    looks l = {0, 0};
    kith_table *table = new_table(kind, SEED, &l);
    uint64_t key = 1, largest = UINT64_MAX;
    bool any_key = kith_table_put(table, &largest, sizeof largest, 0, NULL) == KITH_OK; /* a bitset refuses it */
    for (; key < 100 && any_key; key++)
        CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
    l.count = 0;
    (void)kith_table_has(table, &key, sizeof key);
    kith_table_free(table);
    return any_key && l.count < 50; /* a list compares with every key */
}

TEST(keys_for_one_place_of_a_table_need_its_seed) {
    size_t works = 0;
    for (size_t i = 0; i < kith_table_kind_count(); i++) {
        const char *kind = kith_table_kind_at(i)->name;
        if (!has_hash(kind))
            continue;
        uint64_t keys[CHOSEN], others[CHOSEN];
        kithi_prng prng = {3};
        for (size_t j = 0; j < CHOSEN; j++)
            others[j] = kithi_prng_next(&prng);
        choose(kind, keys);
        cost honest = cost_of(kind, SEED, others), known = cost_of(kind, SEED, keys);
        cost secret = cost_of(kind, SECRET_SEED, keys);
        printf("shows: flooding, table %s: looks per lookup %.2f, rebuilds %llu for random keys; %.2f, %llu for chosen "
               "ones; %.2f, %llu with a secret seed\n",
               kind, honest.looks, (unsigned long long)honest.rebuilds, known.looks, (unsigned long long)known.rebuilds,
               secret.looks, (unsigned long long)secret.rebuilds);
        works += known.looks >= 8 * honest.looks; /* not for a kind that reads a fixed number of buckets */
        CHECK(secret.looks <= 1.25 * honest.looks && secret.rebuilds == honest.rebuilds);
    }
    CHECK(works != 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
