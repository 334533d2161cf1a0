/* C3: the distance between two slots in the cuckoo graph, at m = 6n.
 *
 * The graph is read from the table (cuckoo_graph.h), and the distances of all ordered pairs of its slots are counted.
 * Before the hash functions are drawn all pairs are equally likely to be at distance d. So the mean over tables of the
 * share of pairs at distance d, one number per table, is the probability.
 *
 * A path of d keys over given intermediate slots has a probability of at most n (n-1) … (2/m^2)^d, and there are fewer
 * than m^(d-1) ways to choose these slots. The product is at most (2n/m)^d / m, which is 3^-d / m at m = 6n. For d = 1
 * the probability is exactly 1 - (1 - 2/m^2)^n. The bound is nearly reached for each d, so the experiment would detect
 * a table that has twice as many paths.
 *
 * With n keys about m 3^-d pairs are at distance d. With 2000 keys that is 2 pairs per table at d = 8, so many tables
 * are needed. */
#include <math.h>

#include "cuckoo_graph.h"

enum { DISTANCE_MAX = 8 };
#define NO_EDGE UINT32_MAX

/* Adjacency lists (the keys of each slot, each with the slot at its other end) and the state of a breadth-first
 * search. */
typedef struct adjacency {
    uint32_t *first;        /* of each slot, or NO_EDGE */
    uint32_t *next, *other; /* two entries for each key */
    uint32_t *queue, *distance;
    uint64_t *seen_from; /* the slot whose search reached it last, plus 1 */
} adjacency;

static adjacency adjacency_new(lab *l, const candidates *c) {
    adjacency a;
    a.first = lab_take(l, c->slots * sizeof *a.first);
    a.next = lab_take(l, 2 * (size_t)c->keys * sizeof *a.next);
    a.other = lab_take(l, 2 * (size_t)c->keys * sizeof *a.other);
    a.queue = lab_take(l, c->slots * sizeof *a.queue);
    a.distance = lab_take(l, c->slots * sizeof *a.distance);
    a.seen_from = lab_take(l, c->slots * sizeof *a.seen_from);
    return a;
}

static void adjacency_read(const adjacency *a, const candidates *c) {
    for (uint32_t i = 0; i < c->slots; i++) {
        a->first[i] = NO_EDGE;
        a->seen_from[i] = 0;
    }
    for (uint32_t i = 0; i < c->keys; i++) {
        uint32_t ends[2] = {c->first[i], c->second[i]};
        for (uint32_t j = 0; j < 2; j++) {
            a->other[2 * i + j] = ends[1 - j];
            a->next[2 * i + j] = a->first[ends[j]];
            a->first[ends[j]] = 2 * i + j;
        }
    }
}

/* Counts the slots at each distance from the slot `from`. */
static void count_from(const adjacency *a, uint32_t from, uint64_t *at_distance) {
    uint32_t tail = 0;
    a->queue[tail++] = from;
    a->distance[from] = 0;
    a->seen_from[from] = (uint64_t)from + 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t slot = a->queue[head];
        if (a->distance[slot] <= DISTANCE_MAX)
            at_distance[a->distance[slot]]++;
        for (uint32_t e = a->first[slot]; e != NO_EDGE; e = a->next[e]) {
            uint32_t to = a->other[e];
            if (a->seen_from[to] == (uint64_t)from + 1)
                continue;
            a->seen_from[to] = (uint64_t)from + 1;
            a->distance[to] = a->distance[slot] + 1;
            a->queue[tail++] = to;
        }
    }
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), tables = lab_number(l, "tables"),
             m = (uint64_t)(lab_real(l, "m_per_n") * (double)n / 2) * 2;
    double c_value = 2 * (double)n / (double)m; /* 1/3 at m = 6n */
    lab_parameter(l, "n", "%llu", (unsigned long long)n);
    lab_parameter(l, "m", "%llu", (unsigned long long)m);
    lab_parameter(l, "tables", "%llu", (unsigned long long)tables);
    candidates c = candidates_new(l, m, n);
    adjacency a = adjacency_new(l, &c);
    lab_sample shares[DISTANCE_MAX + 1] = {{0}};
    for (uint64_t i = 0; i < tables; i++) {
        kith_table_spec spec = steps_spec(m, "layout=one d=2 b=1 load=100");
        spec.seed = lab_random(l) | 1;
        candidates_read(l, &c, &spec);
        adjacency_read(&a, &c);
        uint64_t at_distance[DISTANCE_MAX + 1] = {0};
        for (uint32_t from = 0; from < m; from++)
            count_from(&a, from, at_distance);
        for (unsigned d = 1; d <= DISTANCE_MAX; d++)
            lab_sample_add(&shares[d], (double)at_distance[d] / (double)(m - 1));
        lab_progress(l, (double)i / (double)tables);
    }
    lab_plot *plot = lab_draw(l, "Distance between two slots", "distance in keys", "m · probability", LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "bound, (2n/m)^d"), *points = lab_points(plot, "measured");
    double M = (double)m;
    lab_find(l, LAB_EQUALS, -M * expm1((double)n * log1p(-2 / (M * M))), lab_mean(&shares[1]),
             "m · P(distance 1), exact");
    for (unsigned d = 1; d <= DISTANCE_MAX; d++) {
        lab_find(l, LAB_AT_MOST, pow(c_value, d), lab_mean(&shares[d]), "m · P(distance %u)", d);
        if (d == 1)
            lab_known(l, -M * expm1((double)n * log1p(-2 / (M * M))));
        lab_at(bound, d, lab_exact(pow(c_value, d)));
        lab_at(points, d, lab_mean(&shares[d]));
    }
}

const lab_claim lab_C3 = {
    .id = "C3",
    .title = "distances in the cuckoo graph",
    .sentence = "At m = 6n the shortest path between two given slots has length d with probability at most 3^(−d)/m.",
    .formula = "P(d) ≤ 3^{−d}/m",
    .code = "src/tables/cuckoo/slots.h",
    .decides = "m · P(distance 1)",
    .settings = {LAB_SIZE("n", 500, 2000, 50, 100000, "keys"), LAB_SIZE("tables", 600, 1000, 2, 1e6, "tables"),
                 LAB_NUMBER("m_per_n", "6", 2.5, 100, 3, 20, "slots per key")},
    .run = run,
};
