/* C2: the mean number of displacements of an insertion depends on the load, not on the number of keys.
 *
 * Tables of m places are filled to a load of 0.45, and the moves of the trace are counted, up to loads of 0.2, 0.3, 0.4
 * and 0.45. Insertions for which the table was rebuilt are left out: C5 and C12 have them.
 *
 * Below a load of 1/2 nearly all components of the graph are trees, and a tree of k places and k - 1 keys has one place
 * free. A new key with the places x and y, both taken, goes to x, and each key on the way from x to the free place
 * moves one further; so an insertion at load a moves a * E[distance of a place from the free one of its tree] keys. Let
 * the trees of k places have n_k c^(k-1) e^(-ck) of their number a place, c = 2a, n_k = k^(k-2)/k!, and all their
 * places together the distance s_k c^(k-1) e^(-ck). A key joins a tree of i places, in which x lies, with one of j. If
 * x is free the key lies there, and all of the first tree gets further by 1 + the distance of y; if only y is free, the
 * same the other way round; if neither is, the first tree's distances become those from x, plus 1 + the distance of y.
 * Summed over the places x and y can be (w_i: mean sum of distances from a place of a random tree):
 *
 *     2(k-1) s_k = sum over i + j = k of  ij (s_i n_j + n_i s_j)  +  i n_i (j n_j + s_j)  +  j n_j ((i-1) n_i + s_i)
 *                                        +  (j-1) n_j i (w_i n_i - s_i)  +  i (i-1) n_i ((j-1) n_j + s_j)
 *
 *     w_i = sum over d of d (d+1) (i-1) … (i-d) / i^d
 *
 * which has no n in it. It is the limit for many keys; what components with a cycle add is of order 1/n, and less than
 * the intervals from 10^5 places on. In tables of any size a walk without a cycle that makes d moves has passed a path
 * of d keys, of which c^d at most are expected: so a geometric series is a bound, if a loose one. Trees of more than
 * 1500 places make about 10^-5 of the sum at c = 0.9. */
#include <math.h>
#include <stdio.h>

#include "places.h"

enum { TREE_MAX = 1500, LOADS = 4 };
static const double LOAD[LOADS] = {0.2, 0.3, 0.4, 0.45};

/* n_k and s_k, both times e^-k lest they grow too large. */
typedef struct trees {
    double n[TREE_MAX + 1], s[TREE_MAX + 1];
} trees;

static double distances_from_a_place(double k) {
    double sum = 0, share = 1;
    for (double d = 1; d < k && share > 1e-18; d++) {
        share *= (k - d) / k;
        sum += d * (d + 1) * share;
    }
    return sum;
}

static void sum_trees(lab *l, trees *t) {
    double *w = lab_take(l, (TREE_MAX + 1) * sizeof *w);
    for (int k = 1; k <= TREE_MAX; k++) {
        t->n[k] = exp((k - 2) * log(k) - lgamma(k + 1) - k);
        w[k] = distances_from_a_place(k);
        double sum = 0;
        for (int i = 1, j = k - 1; i < k; i++, j--) {
            double ni = t->n[i], nj = t->n[j], si = t->s[i], sj = t->s[j];
            sum += (double)i * j * (si * nj + ni * sj) + i * ni * (j * nj + sj) + j * nj * ((i - 1) * ni + si) +
                   (j - 1) * nj * i * (w[i] * ni - si) + (double)i * (i - 1) * ni * ((j - 1) * nj + sj);
        }
        t->s[k] = k == 1 ? 0 : sum / (2 * (k - 1));
    }
}

static double moves_at(const trees *t, double load) {
    double c = 2 * load, sum = 0;
    for (int k = 2; k <= TREE_MAX && c > 0; k++)
        sum += t->s[k] * exp((k - 1) * log(c) - (c - 1) * k);
    return load * sum;
}

static double bound_at(const trees *t, double load) {
    (void)t;
    return load * 2 * load / (1 - 2 * load);
}

/* The mean over all insertions up to a load. */
static double up_to(double (*moves)(const trees *, double), const trees *t, double load) {
    enum { PARTS = 200 };
    double sum = 0;
    for (int i = 0; i < PARTS; i++)
        sum += moves(t, load * (i + 0.5) / PARTS);
    return sum / PARTS;
}

static void fill(lab *l, uint64_t m, lab_sample *means, double done) {
    steps s = {0};
    kith_table_spec spec = steps_spec(m, "layout=one d=2 b=1 insert=walk load=100", &s);
    kith_table *table = steps_table(l, &spec);
    uint64_t moves = 0, insertions = 0, i = 0;
    for (int a = 0; a < LOADS; a++) {
        for (; i < (uint64_t)(LOAD[a] * (double)m); i++) {
            s.moves = 0;
            if (steps_put(l, table, &s, i) > 0)
                continue;
            moves += s.moves;
            insertions++;
        }
        lab_sample_add(&means[a], (double)moves / (double)insertions);
        lab_going(l, done);
    }
    lab_drop(l, table);
}

static void find(lab *l, const trees *t, uint64_t m, const lab_sample *means) {
    for (int a = LOADS - 1; a >= 0; a--) {
        if (m >= 100000)
            lab_find(l, LAB_MUST, LAB_EQUALS, up_to(moves_at, t, LOAD[a]), lab_mean(&means[a]),
                     "m = %llu, up to a load of %.2f: moves an insertion", (unsigned long long)m, LOAD[a]);
        else
            lab_find(l, LAB_MUST, LAB_AT_MOST, up_to(bound_at, t, LOAD[a]), lab_mean(&means[a]),
                     "m = %llu, up to a load of %.2f: moves an insertion, against the bound", (unsigned long long)m,
                     LOAD[a]);
    }
}

static void run(lab *l) {
    static const uint64_t PLACES[] = {1000000, 100000, 10000, 1000};
    unsigned first = lab_is_quick(l) ? 1 : 0;
    trees *t = lab_take(l, sizeof *t);
    sum_trees(l, t);
    lab_plot *plot = lab_draw(l, "Displacements", "places, m", "moves an insertion, on average", LAB_LOG_X);
    for (int a = 0; a < LOADS; a++) {
        lab_series *curve = lab_curve(plot, "limit, up to a load of %.2f", LOAD[a]);
        lab_at(curve, 1000, lab_exact(up_to(moves_at, t, LOAD[a])));
        lab_at(curve, (double)PLACES[first], lab_exact(up_to(moves_at, t, LOAD[a])));
    }
    lab_series *points = lab_points(plot, "measured");
    for (unsigned i = first; i < 4; i++) {
        uint64_t tables = lab_pick(l, 2000000, 20000000) / PLACES[i], least = lab_pick(l, 30, 60);
        tables = tables < least ? least : tables;
        lab_sample means[LOADS] = {{0}};
        for (uint64_t j = 0; j < tables; j++)
            fill(l, PLACES[i], means, (i - first + (double)j / (double)tables) / (4 - first));
        for (int a = 0; a < LOADS; a++)
            lab_at(points, (double)PLACES[i], lab_mean(&means[a]));
        find(l, t, PLACES[i], means);
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu places", (unsigned long long)PLACES[i]);
        lab_parameter(l, name, "%llu", (unsigned long long)tables);
    }
}

const lab_claim lab_C2 = {
    .id = "C2",
    .title = "displacements of an insertion",
    .sentence =
        "At a fixed load below 1/2 an insertion displaces a number of keys that does not grow with n, on average.",
    .formula = "E[moves] ≤ α · 2α/(1 − 2α)",
    .code = "src/tables/cuckoo_room.c",
    .run = run,
};
