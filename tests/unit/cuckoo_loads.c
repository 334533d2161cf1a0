/* Tests how full the table `cuckoo` becomes before it needs new functions, and that with b = 1 no algorithm could do
 * better.
 *
 * The search examines at most KITHI_CUCKOO_TABLE_SEARCH_MAX buckets. */
#include <kith/inspect.h>

#include "check.h"
#include "core/prng.h"
#include "tables/cuckoo/insert.h"

#define SLOTS 100000

typedef struct goal {
    const char *options;
    double at_least; /* for the worst seed */
} goal;

static kith_table *new_table(const char *options, uint64_t seed, kith_table_trace trace, void *context) {
    char text[128];
    snprintf(text, sizeof text, "%s load=100", options);
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.options = text;
    spec.key_bytes = 8;
    spec.seed = seed;
    spec.capacity = SLOTS; /* the table has a few slots more */
    kith_table *table;
    CHECK_OK(kith_table_create(&spec, &table));
    if (trace != NULL)
        kith_table_set_trace(table, trace, context);
    return table;
}

static kith_table_stats stats_of(const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    CHECK_OK(kith_table_stats_of(table, &stats));
    return stats;
}

/* Adds keys 1, 2, … of a seed until the table must be rebuilt, and returns how many were added before that. */
static uint64_t fill(kith_table *table, kithi_prng *prng) {
    for (uint64_t n = 0;; n++) {
        uint64_t key = kithi_prng_next(prng);
        CHECK_OK(kith_table_put(table, &key, sizeof key, n, NULL));
        kith_table_stats stats = stats_of(table);
        if (stats.rehashes + stats.growths != 0)
            return n;
    }
}

TEST(cuckoo_fills_to_the_loads_of_the_theory) {
    static const goal GOALS[] = {
        {"d=3 b=1", 0.90},  {"d=2 b=2", 0.86},  {"d=2 b=4", 0.95},
        {"d=4 b=4", 0.995}, {"d=3 b=8", 0.995}, {"d=2 b=4 layout=two", 0.95},
    };
    uint64_t seeds = check_soak() ? 100 : 5;
    for (size_t i = 0; i < sizeof GOALS / sizeof *GOALS; i++) {
        double worst = 1;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            kith_table *table = new_table(GOALS[i].options, seed, NULL, NULL);
            uint64_t slots = stats_of(table).slots;
            CHECK(slots >= SLOTS && slots <= SLOTS + 100);
            kithi_prng prng = {seed};
            double load = (double)fill(table, &prng) / (double)slots;
            worst = load < worst ? load : worst;
            kith_table_free(table);
        }
        printf("  %-24s %.4f of the slots, the worst of %" PRIu64 " seeds\n", GOALS[i].options, worst, seeds);
        if (worst < GOALS[i].at_least)
            CHECK_FAIL("%s reaches %.4f, not %.4f", GOALS[i].options, worst, GOALS[i].at_least);
    }
}

/* ---- b = 1, d = 2: keys are edges between their two slots ---- */

static uint64_t bucket_of(const kith_table *table, unsigned i, const uint64_t *word) {
    kithi_key key = {(const uint8_t *)word, sizeof *word};
    return kithi_cuckoo_table_bucket(table->state, i, &key, kithi_cuckoo_table_hash(table->state, &key));
}

static uint32_t parent[SLOTS + 200], edges[SLOTS + 200], vertices[SLOTS + 200];

static uint32_t root_of(uint32_t x) {
    while (parent[x] != x)
        x = parent[x] = parent[parent[x]];
    return x;
}

/* Adds an edge. Returns false if its component then has more edges than vertices, that is, more keys than slots. */
static bool join(uint32_t a, uint32_t b) {
    a = root_of(a);
    b = root_of(b);
    if (a != b) {
        parent[b] = a;
        edges[a] += edges[b];
        vertices[a] += vertices[b];
    }
    return ++edges[a] <= vertices[a];
}

TEST(with_one_slot_per_bucket_a_put_fails_only_if_its_component_has_more_keys_than_slots) {
    uint64_t seeds = check_soak() ? 100 : 10;
    double worst = 1, sum = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        kith_table *table = new_table("d=2 b=1 insert=search", seed, NULL, NULL);
        uint64_t slots = stats_of(table).slots;
        for (uint32_t i = 0; i < slots; i++) {
            parent[i] = i;
            edges[i] = 0;
            vertices[i] = 1;
        }
        kithi_prng prng = {seed};
        uint64_t n = 0;
        for (bool possible = true; possible; n++) {
            uint64_t key = kithi_prng_next(&prng);
            possible = join((uint32_t)bucket_of(table, 0, &key), (uint32_t)bucket_of(table, 1, &key));
            CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
            kith_table_stats stats = stats_of(table);
            /* It is rebuilt exactly when no arrangement of the keys exists. */
            CHECK_EQ_U64(stats.rehashes + stats.growths == 0, possible);
        }
        double load = (double)(n - 1) / (double)slots;
        worst = load < worst ? load : worst;
        sum += load;
        kith_table_free(table);
    }
    printf("  d=2 b=1              %.4f on average, %.4f at worst of %" PRIu64 " seeds\n", sum / (double)seeds, worst,
           seeds);
    /* The mean load of the first overfull component with 10^5 slots, slightly above the threshold of 1/2. */
    CHECK(sum / (double)seeds > 0.49 && sum / (double)seeds < 0.53);
}

/* ---- the worst case of a put ---- */

typedef struct put_costs {
    uint64_t looks, rehashes, growths;                /* of this put */
    uint64_t most_looks, most_rehashes, most_growths; /* the most of any put; looks only of puts without a rebuild */
} put_costs;

static void count_costs(void *context, kith_step step, uint64_t place, uint64_t to) {
    put_costs *costs = context;
    (void)place;
    (void)to;
    costs->looks += step == KITH_STEP_LOOK;
    costs->rehashes += step == KITH_STEP_REHASH;
    costs->growths += step == KITH_STEP_GROW;
}

static void most(uint64_t *most, uint64_t x) {
    *most = x > *most ? x : *most;
}

/* Fills tables with `keys` keys each, one after another, until `puts` puts are done. Near the end of each table old
 * keys are removed and new ones added. */
static put_costs cost_of_puts(const char *options, uint64_t puts, uint64_t keys) {
    put_costs costs = {0};
    kithi_prng prng = {3};
    for (uint64_t done = 0; done < puts;) {
        kith_table_spec spec = KITH_TABLE_SPEC_INIT;
        spec.options = options;
        spec.key_bytes = 8;
        spec.seed = 1 + done;
        kith_table *table;
        CHECK_OK(kith_table_create(&spec, &table));
        kith_table_set_trace(table, count_costs, &costs);
        uint64_t first = prng.state;
        for (uint64_t i = 0; i < 2 * keys && done < puts; i++, done++) {
            if (i >= keys) { /* remove the oldest */
                uint64_t oldest = kithi_mix(first + (i - keys + 1) * KITHI_GOLDEN);
                CHECK_OK(kith_table_remove(table, &oldest, sizeof oldest, NULL));
            }
            uint64_t key = kithi_prng_next(&prng);
            costs.looks = costs.rehashes = costs.growths = 0;
            CHECK_OK(kith_table_put(table, &key, sizeof key, i, NULL));
            if (costs.rehashes + costs.growths == 0)
                most(&costs.most_looks, costs.looks);
            most(&costs.most_rehashes, costs.rehashes);
            most(&costs.most_growths, costs.growths);
        }
        kith_table_free(table);
    }
    return costs;
}

TEST(no_put_costs_more_than_the_documented_worst_case) {
    static const char *const OPTIONS[] = {"", "d=2 b=1", "d=3 b=1", "d=2 b=2", "d=2 b=4 load=97"};
    /* The sum over all options is the number of puts. */
    uint64_t puts = check_soak() ? 20000000 : 200000, keys = check_soak() ? 1500000 : 40000;
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        put_costs costs = cost_of_puts(OPTIONS[i], puts, keys);
        printf("  \"%s\", %" PRIu64 " puts: at most %" PRIu64 " buckets, %" PRIu64 " rehashes, %" PRIu64 " growths\n",
               OPTIONS[i], puts, costs.most_looks, costs.most_rehashes, costs.most_growths);
        /* the lookup before, then the search or the walk; rebuilds as in tables/cuckoo/cuckoo.c */
        CHECK(costs.most_looks <= 4 + KITHI_CUCKOO_TABLE_SEARCH_MAX);
        CHECK(costs.most_rehashes <= 3 && costs.most_growths <= 8);
    }
}

/* ---- traces ---- */

typedef struct moves {
    uint64_t from[4096], to[4096];
    size_t n;
    bool rebuilt;
} moves;

static void note_moves(void *context, kith_step step, uint64_t place, uint64_t to) {
    moves *m = context;
    m->rebuilt |= step == KITH_STEP_REHASH || step == KITH_STEP_GROW;
    if (step == KITH_STEP_MOVE && m->n < 4096) {
        m->from[m->n] = place;
        m->to[m->n++] = to;
    }
}

TEST(moves_of_a_put_form_one_path_of_slots) {
    static const char *const OPTIONS[] = {"d=2 b=4 insert=search", "d=2 b=4 insert=walk", "d=2 b=1 insert=walk"};
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        static moves m;
        kith_table *table = new_table(OPTIONS[i], 1, note_moves, &m);
        kithi_prng prng = {1};
        uint64_t slots = stats_of(table).slots;
        size_t longest = 0;
        m.rebuilt = false;
        for (;;) {
            m.n = 0;
            uint64_t key = kithi_prng_next(&prng);
            CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
            if (m.rebuilt)
                break;
            for (size_t j = 0; j < m.n; j++) {
                CHECK(m.from[j] < slots && m.to[j] < slots); /* equal if both buckets of a key are the same */
                /* the search moves the last entry of the path first, the walk moves the first one first */
                if (j > 0)
                    CHECK(m.to[j] == m.from[j - 1] || m.from[j] == m.to[j - 1]);
            }
            longest = m.n > longest ? m.n : longest;
        }
        CHECK(longest >= 2);
        kith_table_free(table);
    }
}

/* ---- attackers ---- */

typedef struct tally {
    uint64_t looks, most_looks, moves, most_moves;
} tally;

static void count_steps(void *context, kith_step step, uint64_t place, uint64_t to) {
    tally *t = context;
    (void)place;
    (void)to;
    t->looks += step == KITH_STEP_LOOK;
    t->moves += step == KITH_STEP_MOVE;
}

TEST(keys_that_collide_under_a_known_hash_take_no_more_steps_in_a_keyed_table) {
    enum { ATTACK = 20000 };
    /* The attacker knows a table with seed 1 and keeps the keys whose first bucket there is one of a few. */
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.family = KITH_FAMILY_SIPHASH;
    spec.capacity = ATTACK;
    spec.seed = 1;
    kith_table *known;
    CHECK_OK(kith_table_create(&spec, &known));
    uint64_t buckets = stats_of(known).slots / 4;

    tally t = {0};
    spec.seed = 2; /* the seed that the attacker does not know */
    kith_table *keyed;
    CHECK_OK(kith_table_create(&spec, &keyed));
    kith_table_set_trace(keyed, count_steps, &t);
    kithi_prng prng = {7};
    for (uint64_t chosen = 0; chosen < ATTACK;) {
        uint64_t key = kithi_prng_next(&prng);
        if (bucket_of(known, 0, &key) >= buckets / 64)
            continue;
        chosen++;
        t.looks = t.moves = 0;
        CHECK_OK(kith_table_put(keyed, &key, sizeof key, 0, NULL));
        t.most_looks = t.looks > t.most_looks ? t.looks : t.most_looks;
        t.most_moves = t.moves > t.most_moves ? t.moves : t.most_moves;
        t.looks = 0;
        CHECK(kith_table_has(keyed, &key, sizeof key));
        CHECK(t.looks <= 2);
    }
    kith_table_stats stats = stats_of(keyed);
    printf("  attack: a put looked at %" PRIu64 " buckets and moved %" PRIu64 " keys at most\n", t.most_looks,
           t.most_moves);
    CHECK_EQ_U64(stats.rehashes + stats.growths, 0);
    CHECK(t.most_looks <= KITHI_CUCKOO_TABLE_SEARCH_MAX + 2);
    kith_table_free(known);
    kith_table_free(keyed);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
