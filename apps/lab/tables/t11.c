/* T11: hash tables compared with a search tree.
 *
 * [4] says that hash tables are "in many cases … on average more efficient than other dictionary implementations, such
 * as search trees, both in terms of space and runtime". The tree is tsearch() of the C library, which is balanced (red
 * and black) in glibc and musl. Its comparison function counts the nodes that a lookup visits. A binary tree has at
 * most 2^d nodes at depth d, so the depths of n nodes add up to at least the sum of floor(log2 i) for i = 1 … n, and a
 * lookup of a present key visits on average one node more than their mean: nearly log2(n + 1) - 1. An absent key ends
 * in one of the n + 1 gaps between the keys. Every node has two children, each a node or a gap, so the depths of the
 * gaps add up to those of the nodes and 2n. A red-black tree has at most 2 log2(n + 1) levels. A hash table reads a
 * constant number of slots, nodes or buckets.
 *
 * Space: a node of the tree has a pointer to the key, two pointers to children, and a key and a value of 8 bytes: at
 * least 40 bytes, without what malloc() adds. The tables report their bytes. They are averaged over the sizes between
 * two doublings, since the load falls when a table grows.
 *
 * How long lookups take depends on the machine, so the ratio of the times is shown and not judged. */
#include <math.h>
#include <search.h>
#include <stdlib.h>

#include "steps.h"

enum { TREE_NODE_BITS = 8 * (3 * 8 + 16), SIZES_PER_DOUBLING = 8 };

static const char *const KINDS[] = {"cuckoo", "probe", "chain"};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static _Thread_local uint64_t compared;

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    compared++;
    return (x > y) - (x < y);
}

static uint64_t key_at(const lab *l, uint64_t i) {
    uint64_t x = lab_key(l, i) * UINT64_C(0x9e3779b97f4a7c15); /* keys in no particular order */
    return x ^ x >> 32;
}

typedef struct tree {
    uint64_t *keys;
    void *root;
} tree;

static void tree_fill(lab *l, tree *t, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        t->keys[i] = key_at(l, i);
        lab_require(l, tsearch(&t->keys[i], &t->root, compare) != NULL, "out of memory");
    }
}

/* Without tdestroy(), which only the GNU library has. */
static void tree_empty(tree *t, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        (void)tdelete(&t->keys[i], &t->root, compare);
}

/* Returns the nodes that one lookup in each of the n + 1 gaps between the keys visits on average. */
static double visits_of_gaps(lab *l, const tree *t, uint64_t n) {
    uint64_t least = t->keys[0];
    compared = 0;
    for (uint64_t i = 0; i <= n; i++) {
        uint64_t key = i < n ? t->keys[i] + 1 : least - 1; /* above each key, and below all of them */
        least = i < n && t->keys[i] < least ? t->keys[i] : least;
        lab_require(l, tfind(&key, &t->root, compare) == NULL, "two keys follow each other");
    }
    return (double)compared / (double)(n + 1);
}

/* The least number of nodes that a lookup of a present key visits on average, in any binary tree of n nodes. */
static double fewest_visits(uint64_t n) {
    double depths = 0;
    for (uint64_t i = 1; i <= n; i++)
        depths += floor(log2((double)i));
    return 1 + depths / (double)n;
}

static uint64_t tree_found(const lab *l, const tree *t, uint64_t first, uint64_t n) {
    uint64_t found = 0;
    for (uint64_t i = first; i < first + n; i++) {
        uint64_t key = key_at(l, i);
        found += tfind(&key, &t->root, compare) != NULL;
    }
    return found;
}

static uint64_t table_found(const lab *l, const kith_table *t, uint64_t first, uint64_t n) {
    uint64_t found = 0;
    for (uint64_t i = first; i < first + n; i++)
        found += has_word(t, key_at(l, i));
    return found;
}

static const char QUOTE[] = "[4]: \"hash tables turn out to be on average more efficient than other dictionary "
                            "implementations, such as search trees, both in terms of space and runtime\"";

/* The steps of lookups of n present and n absent keys, and the time that they take. */
static void measure_size(lab *l, uint64_t n, double done) {
    tree t = {lab_take(l, n * sizeof *t.keys), NULL};
    tree_fill(l, &t, n);
    compared = 0;
    double start = lab_seconds();
    uint64_t found = tree_found(l, &t, 0, n), of_present = compared, wrong = tree_found(l, &t, n, n);
    double tree_time = lab_seconds() - start, nodes = (double)compared / (double)(2 * n);
    double present = (double)of_present / (double)n, gaps = visits_of_gaps(l, &t, n);
    tree_empty(&t, n);
    lab_drop(l, t.keys);
    lab_require(l, found == n && wrong == 0, "the tree has lost a key");
    lab_find(l, LAB_AT_LEAST, fewest_visits(n), lab_exact(present),
             "tree, n = %llu: nodes visited by a lookup of a present key, at least those in a perfect tree",
             (unsigned long long)n);
    lab_find(l, LAB_EQUALS, (double)(of_present + n) / (double)(n + 1), lab_exact(gaps),
             "tree, n = %llu: nodes visited by a lookup of an absent key, from those of present keys",
             (unsigned long long)n);
    lab_find(l, LAB_AT_MOST, 2 * log2((double)n + 1), lab_exact(nodes),
             "tree, n = %llu: nodes visited by a lookup, at most the depth of a red-black tree", (unsigned long long)n);
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        if (!lab_wants(l, "kind", KINDS[i]))
            continue;
        steps s = {0};
        kith_table_spec spec = steps_spec(KINDS[i], n, NULL);
        kith_table *table = steps_table(l, &spec, &s);
        for (uint64_t k = 0; k < n; k++)
            put_word(l, table, key_at(l, k));
        s = (steps){0};
        start = lab_seconds();
        found = table_found(l, table, 0, n), wrong = table_found(l, table, n, n);
        double time = lab_seconds() - start;
        lab_require(l, found == n && wrong == 0, "a table has lost a key");
        lab_find_stated(l, LAB_MUST, QUOTE, LAB_AT_MOST, 1, lab_exact((double)s.looks / (double)(2 * n) / nodes),
                        "%s, n = %llu: steps of a lookup / nodes visited in the tree", KINDS[i], (unsigned long long)n);
        lab_find(l, LAB_SHOWN, 0, lab_exact(time / tree_time), "%s, n = %llu: time of a lookup / time in the tree",
                 KINDS[i], (unsigned long long)n);
        lab_drop(l, table);
        lab_progress(l, done);
    }
}

/* The mean bits per key of a table that grows from n/2 to n keys. */
static double bits_per_key(lab *l, const char *kind, uint64_t n) {
    steps s = {0};
    kith_table_spec spec = steps_spec(kind, 0, NULL);
    kith_table *table = steps_table(l, &spec, &s);
    double sum = 0;
    uint64_t next = n / 2, samples = 0;
    for (uint64_t i = 1; i <= n; i++) {
        put_word(l, table, key_at(l, i));
        if (i != next)
            continue;
        kith_table_stats stats = KITH_TABLE_STATS_INIT;
        lab_must(l, kith_table_stats_of(table, &stats), "reading the size");
        sum += 8 * (double)stats.bytes / (double)i;
        samples++;
        next = (uint64_t)((double)(n / 2) * exp2((double)samples / SIZES_PER_DOUBLING));
    }
    lab_drop(l, table);
    return sum / (double)samples;
}

static void run(lab *l) {
    uint64_t most = lab_number(l, "n");
    lab_parameter(l, "keys", "up to %llu", (unsigned long long)most);
    for (uint64_t n = 64; n <= most; n *= 16)
        measure_size(l, n, log((double)n / 64) / log((double)most));
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        if (!lab_wants(l, "kind", KINDS[i]))
            continue;
        lab_estimate ratio = lab_exact(bits_per_key(l, KINDS[i], most) / TREE_NODE_BITS);
        if (i < 2)
            lab_find_stated(l, LAB_MUST, QUOTE, LAB_AT_MOST, 1, ratio, "%s, n = %llu: bits per key / bits of the tree",
                            KINDS[i], (unsigned long long)most);
        else
            lab_find(l, LAB_SHOWN, 0, ratio, "%s, n = %llu: bits per key / bits of the tree", KINDS[i],
                     (unsigned long long)most);
    }
}

const lab_claim lab_T11 = {
    .id = "T11",
    .title = "hash tables compared with a search tree",
    .sentence = "A lookup in a hash table takes a constant number of steps, one in a balanced search tree log2 n; open "
                "addressing and cuckoo hashing also take fewer bits per key than the nodes of a tree.",
    .formula = "O(1) < log_{2} n",
    .code = "src/tables/table.c",
    .note = "[4] says \"in many cases\", and these are the cases: a lookup takes fewer steps in every kind of hash "
            "table, and open addressing and cuckoo hashing need fewer bits. A table with chaining needs more bits than "
            "a tree: a node has one pointer less, but there are also the slots.",
    .decides = "cuckoo, n = 16384: steps of a lookup",
    .settings = {LAB_SIZE("n", 16384, 262144, 64, 1e7, "the most keys"),
                 LAB_WORD("kind", "all", "all probe cuckoo chain", "the table to compare with the tree")},
    .run = run,
};
