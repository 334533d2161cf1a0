/* C13: the fullest of n bins when all keys are known beforehand, and each may go to one of its two bins.
 *
 * Places come from two of the library's functions, one for each half of the bins, as in [4]. The optimum is found, not estimated:
 * keys go in one by one into a bin that has fewer than k, and where both have k, others are moved along the shortest path to one
 * that has fewer. A key for which there is no such path shows that no arrangement with k in each exists (the bins reached hold k
 * keys each that have no other bin, and one more wants in). The least k for which all go in is the optimum.
 *
 * Predicted: 2 with high probability, whatever n is. One is too few: n keys in n bins are twice as many as there is room for
 * below the threshold of C6, and a component of the graph has more keys than bins. Two are enough up to 1.794 keys a bin
 * (twice the threshold of C8 for d = b = 2), and something that needs three is a few bins with more than twice as many keys,
 * which comes with a probability of order 1/n^3 (two bins with five keys).
 *
 * The table `cuckoo` with two slots a bucket is the online form of it: n keys go into n buckets without any rehash. */
#include <math.h>

#include <lab/experiment.h>

enum { SIZE_COUNT = 5, K_MAX = 8 };

typedef struct graph {
    uint64_t n;
    uint32_t *bins[2]; /* of each key */
    uint32_t *in;      /* keys of each bin, K_MAX a bin */
    uint8_t *count;
    uint32_t *queue, *from_key, *seen; /* bins reached, the key that can move there, and the round in which they were */
    uint32_t round;
} graph;

static graph graph_of(lab *l, uint64_t n) {
    return (graph){.n = n,
                   .bins = {lab_take(l, n * sizeof(uint32_t)), lab_take(l, n * sizeof(uint32_t))},
                   .in = lab_take(l, n * K_MAX * sizeof(uint32_t)),
                   .count = lab_take(l, n),
                   .queue = lab_take(l, n * sizeof(uint32_t)),
                   .from_key = lab_take(l, n * sizeof(uint32_t)),
                   .seen = lab_take(l, n * sizeof(uint32_t))};
}

static void graph_drop(lab *l, graph *g) {
    void *const parts[] = {g->bins[0], g->bins[1], g->in, g->count, g->queue, g->from_key, g->seen};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        lab_drop(l, parts[i]);
}

static void draw_keys(lab *l, graph *g) {
    uint64_t half = g->n / 2, first = lab_random(l);
    for (unsigned side = 0; side < 2; side++) {
        kith_function *f = lab_function(l, KITH_FAMILY_XXH3, 0);
        for (uint64_t i = 0; i < g->n; i++) /* half is a power of two: the high bits are a place */
            g->bins[side][i] =
                (uint32_t)(side * half + kith_function_word(f, lab_key(l, first + i)) / (UINT64_MAX / half + 1));
        lab_drop(l, f);
    }
}

static uint32_t other_bin(const graph *g, uint32_t key, uint32_t bin) {
    return g->bins[0][key] == bin ? g->bins[1][key] : g->bins[0][key];
}

static bool reach(graph *g, uint32_t bin, uint32_t key, uint32_t *tail) {
    if (g->seen[bin] == g->round)
        return false;
    g->seen[bin] = g->round;
    g->from_key[bin] = key;
    g->queue[(*tail)++] = bin;
    return true;
}

/* Moves each key on the path that leads to this bin, from its end on, and the new key as the last. */
static void move_along(graph *g, uint32_t bin, uint32_t new_key) {
    uint8_t at = g->count[bin]++;
    for (;;) {
        uint32_t key = g->from_key[bin];
        g->in[(uint64_t)bin * K_MAX + at] = key;
        if (key == new_key)
            return;
        bin = other_bin(g, key, bin);
        for (at = 0; g->in[(uint64_t)bin * K_MAX + at] != key;)
            at++;
    }
}

static bool place(graph *g, uint32_t key, unsigned k) {
    uint32_t tail = 0;
    g->round++;
    for (unsigned side = 0; side < 2; side++)
        (void)reach(g, g->bins[side][key], key, &tail);
    for (uint32_t at = 0; at < tail; at++) {
        uint32_t bin = g->queue[at];
        if (g->count[bin] < k) {
            move_along(g, bin, key);
            return true;
        }
        for (unsigned i = 0; i < k; i++) {
            uint32_t there = g->in[(uint64_t)bin * K_MAX + i];
            (void)reach(g, other_bin(g, there, bin), there, &tail);
        }
    }
    return false;
}

static bool fits(graph *g, unsigned k) {
    for (uint64_t i = 0; i < g->n; i++)
        g->count[i] = 0;
    for (uint64_t i = 0; i < g->n; i++)
        if (!place(g, (uint32_t)i, k))
            return false;
    return true;
}

/* The least k, with a look at every bin that holds that many. */
static unsigned optimum(lab *l, graph *g) {
    unsigned k = 1;
    while (k < K_MAX && !fits(g, k))
        k++;
    uint64_t keys = 0;
    for (uint64_t bin = 0; bin < g->n; bin++) {
        keys += g->count[bin];
        for (unsigned i = 0; i < g->count[bin]; i++) {
            uint32_t key = g->in[bin * K_MAX + i];
            lab_require(l, g->bins[0][key] == bin || g->bins[1][key] == bin, "a key is in a bin of its own");
        }
    }
    lab_require(l, keys == g->n, "all keys are in");
    return k;
}

/* n keys into n buckets of two: the rehashes and growths. */
static uint64_t rehashes_of_table(lab *l, uint64_t n) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = 2 * (n - 1); /* one bucket more than they fill */
    spec.options = "layout=two d=2 b=2 load=100";
    kith_table *table = lab_table(l, &spec);
    uint64_t first = lab_random(l);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = lab_key(l, first + i);
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "putting a key");
    }
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "asking for rehashes");
    lab_require(l, stats.growths > 0 || stats.slots == 2 * n, "a table of n buckets");
    lab_require(l, stats.count == n, "all keys are in the table");
    lab_drop(l, table);
    return stats.rehashes + stats.growths;
}

static void run(lab *l) {
    unsigned sizes = (unsigned)lab_pick(l, 3, SIZE_COUNT);
    uint64_t runs = 40; /* of the largest size, and up to eight times as many of smaller ones */
    lab_parameter(l, "bins, and as many keys", "2^10 to 2^%u", 10 + 2 * (sizes - 1));
    lab_parameter(l, "runs of each size", "%llu of the largest, more of the others", (unsigned long long)runs);
    lab_plot *plot =
        lab_draw(l, "The fullest of n bins, all keys known", "bins, n", "keys in the fullest bin", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "2"), *online = lab_curve(plot, "online, two choices: ln ln n / ln 2 + 1");
    lab_series *points = lab_points(plot, "optimum");
    for (unsigned i = 0; i < sizes; i++) {
        unsigned bits = 10 + 2 * i;
        uint64_t of = runs << (sizes - 1 - i > 3 ? 3 : sizes - 1 - i), rehashes = 0;
        graph g = graph_of(l, UINT64_C(1) << bits);
        uint64_t sum = 0, others = 0;
        for (uint64_t r = 0; r < of; r++) {
            draw_keys(l, &g);
            unsigned k = optimum(l, &g);
            sum += k;
            others += k != 2;
            rehashes += rehashes_of_table(l, g.n) > 0;
            lab_going(l, (i + (double)(r + 1) / (double)of) / sizes);
        }
        graph_drop(l, &g);
        double mean = (double)sum / (double)of, off = lab_share(others, of).high;
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_share(others, of),
                 "share of runs in which the optimum is not 2, n = 2^%u", bits);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_share(rehashes, of),
                 "share of tables of two slots a bucket that rehash, n = 2^%u", bits);
        lab_at(points, ldexp(1, (int)bits), (lab_estimate){mean, mean - off, mean + off}); /* another is 1 or 3 */
        lab_at(curve, ldexp(1, (int)bits), lab_exact(2));
        lab_at(online, ldexp(1, (int)bits), lab_exact(log(log(ldexp(1, (int)bits))) / log(2) + 1));
    }
}

const lab_claim lab_C13 = {
    .id = "C13",
    .title = "the fullest bin of two choices, all keys known",
    .sentence =
        "With all keys known beforehand, n keys of two choices each can be arranged in n bins so that the fullest has "
        "a constant number, with high probability: two.",
    .code = "src/tables/cuckoo_room.c",
    .run = run,
};
