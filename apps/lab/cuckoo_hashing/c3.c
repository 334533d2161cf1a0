/* C3: how far apart two places are in the cuckoo graph, at m = 6n.
 *
 * The graph of a table is read off the table (places.h), and the distances of all ordered pairs of its places are
 * counted. All pairs are alike before the functions are drawn, so the share of pairs at distance d, one number a table,
 * has the probability for its mean. A path of d keys over given places in between has probability n (n-1) … (2/m^2)^d
 * at most, and there are fewer than m^(d-1) ways to choose the places: (2n/m)^d / m in all, 3^-d / m at m = 6n. For d =
 * 1 the probability is 1 - (1 - 2/m^2)^n, exactly. The bound is nearly met at each d, so twice as many paths would be
 * seen at once.
 *
 * Of n keys about m 3^-d pairs are at distance d: 2000 keys give 2 at d = 8 in each table, and it is the sum over
 * tables that has to be large. */
#include <math.h>

#include "places.h"

enum { DISTANCE_MAX = 8 };
#define NO_ENTRY UINT32_MAX

/* Entries of a place: its keys, each with the place at its other end. */
typedef struct ways {
    uint32_t *first;        /* of each place; NO_ENTRY: it has none */
    uint32_t *next, *other; /* two for each key */
    uint32_t *queue, *distance;
    uint64_t *seen_from; /* the place from which it was reached last, plus 1 */
} ways;

static ways ways_take(lab *l, const places *p) {
    ways w;
    w.first = lab_take(l, p->places * sizeof *w.first);
    w.next = lab_take(l, 2 * (size_t)p->keys * sizeof *w.next);
    w.other = lab_take(l, 2 * (size_t)p->keys * sizeof *w.other);
    w.queue = lab_take(l, p->places * sizeof *w.queue);
    w.distance = lab_take(l, p->places * sizeof *w.distance);
    w.seen_from = lab_take(l, p->places * sizeof *w.seen_from);
    return w;
}

static void ways_read(const ways *w, const places *p) {
    for (uint32_t i = 0; i < p->places; i++) {
        w->first[i] = NO_ENTRY;
        w->seen_from[i] = 0;
    }
    for (uint32_t i = 0; i < p->keys; i++) {
        uint32_t ends[2] = {p->first[i], p->second[i]};
        for (uint32_t j = 0; j < 2; j++) {
            w->other[2 * i + j] = ends[1 - j];
            w->next[2 * i + j] = w->first[ends[j]];
            w->first[ends[j]] = 2 * i + j;
        }
    }
}

/* Counts the places at each distance from one. */
static void count_from(const ways *w, uint32_t from, uint64_t *at_distance) {
    uint32_t tail = 0;
    w->queue[tail++] = from;
    w->distance[from] = 0;
    w->seen_from[from] = (uint64_t)from + 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t place = w->queue[head];
        if (w->distance[place] <= DISTANCE_MAX)
            at_distance[w->distance[place]]++;
        for (uint32_t e = w->first[place]; e != NO_ENTRY; e = w->next[e]) {
            uint32_t to = w->other[e];
            if (w->seen_from[to] == (uint64_t)from + 1)
                continue;
            w->seen_from[to] = (uint64_t)from + 1;
            w->distance[to] = w->distance[place] + 1;
            w->queue[tail++] = to;
        }
    }
}

static void run(lab *l) {
    uint64_t n = lab_pick(l, 500, 2000), m = 6 * n, tables = lab_pick(l, 600, 1000);
    lab_parameter(l, "n", "%llu", (unsigned long long)n);
    lab_parameter(l, "m", "6n");
    lab_parameter(l, "tables", "%llu", (unsigned long long)tables);
    places p = places_take(l, m, n);
    ways w = ways_take(l, &p);
    lab_sample shares[DISTANCE_MAX + 1] = {{0}};
    for (uint64_t i = 0; i < tables; i++) {
        kith_table_spec spec = steps_spec(m, "layout=one d=2 b=1 load=100", NULL);
        spec.seed = lab_random(l) | 1;
        places_read(l, &p, &spec);
        ways_read(&w, &p);
        uint64_t at_distance[DISTANCE_MAX + 1] = {0};
        for (uint32_t from = 0; from < m; from++)
            count_from(&w, from, at_distance);
        for (unsigned d = 1; d <= DISTANCE_MAX; d++)
            lab_sample_add(&shares[d], (double)at_distance[d] / (double)(m - 1));
        lab_going(l, (double)i / (double)tables);
    }
    lab_plot *plot = lab_draw(l, "Distance of two places, m = 6n", "distance, keys", "m · probability", LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "bound, 3^−d"), *points = lab_points(plot, "measured");
    double M = (double)m;
    lab_find(l, LAB_MUST, LAB_EQUALS, -M * expm1((double)n * log1p(-2 / (M * M))), lab_mean(&shares[1]),
             "m · P(distance 1), exactly");
    for (unsigned d = 1; d <= DISTANCE_MAX; d++) {
        lab_find(l, LAB_MUST, LAB_AT_MOST, pow(3, -(double)d), lab_mean(&shares[d]), "m · P(distance %u)", d);
        lab_at(bound, d, lab_exact(pow(3, -(double)d)));
        lab_at(points, d, lab_mean(&shares[d]));
    }
}

const lab_claim lab_C3 = {
    .id = "C3",
    .title = "distances in the cuckoo graph",
    .sentence = "At m = 6n the shortest path between two given places has length d with probability 3^(−d)/m at most.",
    .formula = "P(d) ≤ 3^{−d}/m",
    .code = "src/tables/cuckoo_slots.h",
    .run = run,
};
