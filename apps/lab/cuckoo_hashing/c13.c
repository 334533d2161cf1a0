/* C13: the fullest of n bins when all n keys are known in advance, and each key may be put into one of its two bins.
 *
 * The bins of a key come from two of the library's hash functions, one for each half of the bins, as in [4]. The
 * optimum is computed, not estimated. For a given k, keys are placed one by one into a bin that has fewer than k keys.
 * If both bins of a key have k, other keys are moved along the shortest path to a bin that has fewer. If there is no
 * such path, no arrangement with k keys per bin exists: each bin that was reached holds k keys whose other bin was
 * reached, too, and there is one more key to place. The optimum is the smallest k for which all keys can be placed.
 *
 * The prediction is 2 with high probability, for every n. One key per bin is not enough: n keys in n bins are twice as
 * many as the threshold of C6 allows, so a component of the graph has more keys than bins. Two keys per bin are enough
 * up to an average of 1.794 keys per bin (twice the threshold of C8 for d = b = 2). Three are needed only if a few bins
 * share more than twice as many keys as bins. The probability of this is of order 1/n^3 (two bins with five keys).
 *
 * The table `cuckoo` with two slots per bucket is the online version: n keys are inserted into n buckets without a
 * rehash. */
#include <math.h>
#include <stdio.h>

#include <lab/experiment.h>

enum { SIZE_COUNT = 5, K_MAX = 8 };

typedef struct graph {
    uint64_t n;
    uint32_t *bins[2]; /* of each key */
    uint32_t *in;      /* the keys in each bin: K_MAX entries per bin */
    uint8_t *count;
    uint32_t *queue;    /* the bins that the search has reached */
    uint32_t *from_key; /* for each of them: the key that can move there */
    uint32_t *seen;     /* … and the search that reached it last */
    uint32_t search;
} graph;

static graph graph_new(lab *l, uint64_t n) {
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
        for (uint64_t i = 0; i < g->n; i++) /* half is a power of two, so this takes the high bits of the hash value */
            g->bins[side][i] =
                (uint32_t)(side * half + kith_function_word(f, lab_key(l, first + i)) / (UINT64_MAX / half + 1));
        lab_drop(l, f);
    }
}

static uint32_t other_bin(const graph *g, uint32_t key, uint32_t bin) {
    return g->bins[0][key] == bin ? g->bins[1][key] : g->bins[0][key];
}

static bool reach(graph *g, uint32_t bin, uint32_t key, uint32_t *tail) {
    if (g->seen[bin] == g->search)
        return false;
    g->seen[bin] = g->search;
    g->from_key[bin] = key;
    g->queue[(*tail)++] = bin;
    return true;
}

/* Moves each key on the path that leads to this bin, starting at its end. The new key is placed last. */
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
    g->search++;
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

/* Returns the smallest k, after checking that every key is in one of its two bins. */
static unsigned optimum(lab *l, graph *g) {
    unsigned k = 1;
    while (k < K_MAX && !fits(g, k))
        k++;
    uint64_t keys = 0;
    for (uint64_t bin = 0; bin < g->n; bin++) {
        keys += g->count[bin];
        for (unsigned i = 0; i < g->count[bin]; i++) {
            uint32_t key = g->in[bin * K_MAX + i];
            lab_require(l, g->bins[0][key] == bin || g->bins[1][key] == bin,
                        "a key is in a bin that is not one of its two");
        }
    }
    lab_require(l, keys == g->n, "not all keys were placed");
    return k;
}

/* Inserts n keys into n buckets of b slots, two by default. Returns the number of rehashes and growths. */
static uint64_t rehashes_of_table(lab *l, uint64_t n) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    uint64_t b = lab_number(l, "b");
    char options[48];
    (void)snprintf(options, sizeof options, "layout=%s d=2 b=%llu load=100", lab_word(l, "layout"),
                   (unsigned long long)b);
    spec.capacity = b * (n - 1); /* the table adds one bucket */
    spec.options = options;
    kith_table *table = lab_table(l, &spec);
    uint64_t first = lab_random(l);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = lab_key(l, first + i);
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "inserting a key");
    }
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "reading the number of rehashes");
    lab_require(l, stats.growths > 0 || stats.slots == b * n, "the table does not have n buckets");
    lab_require(l, stats.count == n, "not all keys are in the table");
    lab_drop(l, table);
    return stats.rehashes + stats.growths;
}

static void run(lab *l) {
    unsigned sizes = (unsigned)lab_number(l, "sizes");
    uint64_t runs = 40; /* of the largest size, and up to eight times this number of the smaller sizes */
    lab_parameter(l, "n, bins and keys", "2^10 to 2^%u", 10 + 2 * (sizes - 1));
    lab_parameter(l, "runs of each size", "%llu of the largest, more of the smaller ones", (unsigned long long)runs);
    lab_plot *plot = lab_draw(l, "The fullest of n bins, all keys known in advance", "bins, n",
                              "keys in the fullest bin", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "2"), *online = lab_curve(plot, "online, two choices: ln ln n / ln 2 + 1");
    lab_series *points = lab_points(plot, "optimum");
    for (unsigned i = 0; i < sizes; i++) {
        unsigned bits = 10 + 2 * i;
        uint64_t of = runs << (sizes - 1 - i > 3 ? 3 : sizes - 1 - i), rehashes = 0;
        graph g = graph_new(l, UINT64_C(1) << bits);
        uint64_t sum = 0, others = 0;
        for (uint64_t r = 0; r < of; r++) {
            draw_keys(l, &g);
            unsigned k = optimum(l, &g);
            sum += k;
            others += k != 2;
            rehashes += rehashes_of_table(l, g.n) > 0;
            lab_progress(l, (i + (double)(r + 1) / (double)of) / sizes);
        }
        graph_drop(l, &g);
        double mean = (double)sum / (double)of, off = lab_share(others, of).high;
        lab_find(l, LAB_EQUALS, 0, lab_share(others, of), "share of runs in which the optimum is not 2, n = 2^%u",
                 bits);
        lab_find(l, LAB_EQUALS, 0, lab_share(rehashes, of),
                 "share of tables with %llu slots per bucket that rehash, n = 2^%u",
                 (unsigned long long)lab_number(l, "b"), bits);
        lab_at(points, ldexp(1, (int)bits), (lab_estimate){mean, mean - off, mean + off}); /* if not 2, it is 1 or 3 */
        lab_at(curve, ldexp(1, (int)bits), lab_exact(2));
        lab_at(online, ldexp(1, (int)bits), lab_exact(log(log(ldexp(1, (int)bits))) / log(2) + 1));
    }
}

const lab_claim lab_C13 = {
    .id = "C13",
    .title = "the fullest bin with two choices, all keys known in advance",
    .sentence =
        "If all n keys are known in advance and each has a choice of two bins, they can be arranged in n bins so "
        "that, with high probability, the fullest bin has a constant number of keys: two.",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "the optimum is not 2, n = 2^12",
    .settings = {LAB_SIZE("sizes", 3, 5, 1, 5, "number of sizes, from 2^10 on"),
                 LAB_WORD("layout", "two", "two one", "of the table: two halves, or one table"),
                 LAB_WHOLE("b", "2", 1, 8, 2, 8, "slots per bucket of the table")},
    .run = run,
};
