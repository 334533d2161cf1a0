/* C12: all insertions together, with the rehashes among them, take time in proportion to the keys ([0], 18.8 to 18.14).
 *
 * Time is counted in placements: a key that is put into a place, be it new, moved, or put again when the table is rebuilt. A
 * table of m = 6n slots takes n keys; the trace tells moves and rehashes, and a rehash with i keys in puts i of them and the
 * new one again.
 *
 * The keys that a new one can move are those that are connected to its places. With d of n keys, one after the other, a path
 * goes from a given place with (2/m)^d at most, so a place is connected to sum (2n/m)^d = 1/2 of a key on average, two
 * places to 1. [0] has n · 2/m = 1/3: it adds up paths from length 1 on, as if the places of another key were drawn apart from
 * the key, which is an edge itself, so it forgets that edge. The graph of real tables (places.h) tells which: n keys make the
 * components, and n more, each as if it were the next, are looked up in them.
 *
 * So an insertion takes 2 placements at most. A fill fails with 1/2 at most, and fills are independent, so there are sum i 2^-i
 * = 2 of them at most on average: 4 placements a key. Placements a key must not grow with n either: from the small n to the
 * large one, the loads that the keys meet, i/m, are a finer sum of the same integral, whose error is below 1/n of the smaller,
 * so much is allowed.
 *
 * The truth is far below, and known where it begins: key i displaces another with (i/m)^2, when both of its places are taken;
 * then moves are at most what C2 has; and a rehash has an exact probability (chance.h). It is rare: small tables have it often
 * enough to be counted. A table may draw functions twice, but all that the formula speaks of is whether it draws any.
 *
 * A table that begins small and grows puts keys again as well. Each growth is by a half, and with ones before it of
 * 2/3, 4/9, … as many keys, n keys are put again 3n times at most in all. */
#include <math.h>

#include "chance.h"
#include "places.h"

enum { SIZE_COUNT = 6, SMALL = 3 /* of the sizes: where growth with n is measured from */ };

static const uint64_t QUICK[SIZE_COUNT] = {8, 32, 128, 1024, 8192, 32768},
                      FULL[SIZE_COUNT] = {8, 32, 128, 2048, 32768, 262144};

typedef struct work {
    uint64_t keys; /* in the table now */
    uint64_t moves, rehashes, again, again_grown;
    uint64_t moves_of_one, displacing; /* moves of insertions without a rehash; of them, those with a move */
} work;

static void count(void *context, kith_step step, uint64_t place, uint64_t to) {
    work *w = context;
    (void)place;
    (void)to;
    w->moves += step == KITH_STEP_MOVE;
    w->rehashes += step == KITH_STEP_REHASH;
    w->again += step == KITH_STEP_REHASH ? w->keys + 1 : 0;
    w->again_grown += step == KITH_STEP_GROW ? w->keys + 1 : 0;
}

/* n keys into a table of 6n slots, or into one that begins with the least and grows. */
static void fill(lab *l, uint64_t n, bool grows, work *w) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = grows ? 0 : 6 * n - 1;
    spec.options = grows ? "layout=one d=2 b=1 insert=walk" : "layout=one d=2 b=1 insert=walk load=100";
    spec.trace = count;
    spec.trace_context = w;
    kith_table *table = lab_table(l, &spec);
    uint64_t first = lab_random(l);
    for (w->keys = 0; w->keys < n; w->keys++) {
        uint64_t key = lab_key(l, first + w->keys), moves = w->moves, rehashes = w->rehashes;
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "putting a key");
        w->displacing += w->moves > moves;
        w->moves_of_one += w->rehashes == rehashes ? w->moves - moves : 0;
    }
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "asking for the slots");
    lab_require(l, stats.count == n && stats.rehashes == w->rehashes, "the trace tells every rehash");
    lab_require(l, grows || (stats.growths == 0 && stats.slots == 6 * n), "a table of 6n slots stays what it is");
    lab_drop(l, table);
}

/* ---- work ---- */

/* The mean of (i/m)^2 over i = 0 … n - 1, with m = 6n. */
static double displacing_share(uint64_t n) {
    return (double)(n - 1) * (double)(2 * n - 1) / 6 / (36 * (double)n * (double)n);
}

/* C2's bound at the load of 1/6, which is the highest. */
static double moves_bound(uint64_t n) {
    double c = 1.0 / 3, m = 6 * (double)n;
    return c / 2 * c / (1 - c) + c * c * (2 + c) / (m * pow(1 - c, 3));
}

static lab_estimate difference(const lab_sample *of, const lab_sample *less) {
    lab_estimate a = lab_mean(of), b = lab_mean(less);
    double half = sqrt((a.high - a.value) * (a.high - a.value) + (b.high - b.value) * (b.high - b.value));
    return (lab_estimate){a.value - b.value, a.value - b.value - half, a.value - b.value + half};
}

static void measure_work(lab *l, const uint64_t *sizes) {
    uint64_t most = lab_pick(l, 500000, 20000000);
    lab_plot *plot =
        lab_draw(l, "Work of n insertions at m = 6n, rehashes included", "keys, n", "placements a key", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "bound, 4"), *points = lab_points(plot, "measured");
    lab_plot *growing = lab_draw(l, "A table that grows by halves", "keys, n", "keys put again, a key", LAB_LOG_X);
    lab_series *three = lab_curve(growing, "bound, 3"), *again = lab_points(growing, "measured");
    lab_sample placements[SIZE_COUNT] = {{0}};
    for (unsigned i = 0; i < SIZE_COUNT; i++) {
        uint64_t n = sizes[i], tables = most / n / SIZE_COUNT < 40 ? 40 : most / n / SIZE_COUNT;
        lab_sample moves = {0}, displacing = {0}, grown = {0};
        for (uint64_t t = 0; t < tables; t++) {
            work w = {0}, g = {0};
            fill(l, n, false, &w);
            lab_sample_add(&placements[i], (double)(n + w.moves + w.again) / (double)n);
            lab_sample_add(&moves, (double)w.moves_of_one / (double)n);
            lab_sample_add(&displacing, (double)w.displacing / (double)n);
            if (t % 4 == 0) {
                fill(l, n, true, &g);
                lab_sample_add(&grown, (double)g.again_grown / (double)n);
            }
            if (t % 1024 == 0 || n > 1000)
                lab_going(l, 0.6 * (i + (double)t / (double)tables) / SIZE_COUNT);
        }
        lab_find(l, LAB_MUST, LAB_AT_MOST, 4, lab_mean(&placements[i]), "placements a key, n = %llu",
                 (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, moves_bound(n), lab_mean(&moves), "moves a key, n = %llu",
                 (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_EQUALS, displacing_share(n), lab_mean(&displacing),
                 "insertions that displace a key, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 3, lab_mean(&grown), "keys put again by growth, a key, n = %llu",
                 (unsigned long long)n);
        lab_at(bound, (double)n, lab_exact(4));
        lab_at(points, (double)n, lab_mean(&placements[i]));
        lab_at(three, (double)n, lab_exact(3));
        lab_at(again, (double)n, lab_mean(&grown));
    }
    for (unsigned i = SMALL + 1; i < SIZE_COUNT; i++)
        lab_find(l, LAB_MUST, LAB_AT_MOST, 1 / (double)sizes[SMALL], difference(&placements[i], &placements[SMALL]),
                 "placements a key, n = %llu, less those of n = %llu", (unsigned long long)sizes[i],
                 (unsigned long long)sizes[SMALL]);
}

/* ---- rehashes ---- */

static void measure_rehashes(lab *l) {
    uint64_t keys = lab_pick(l, 800000, 12000000); /* for each size */
    lab_plot *plot = lab_draw(l, "Tables of m = 6n that draw new functions", "keys, n", "share of tables", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "exactly"), *points = lab_points(plot, "measured");
    for (uint64_t n = 8; n <= 128; n *= 2) {
        uint64_t tables = keys / n, rehashed = 0;
        for (uint64_t t = 0; t < tables; t++) {
            work w = {0};
            fill(l, n, false, &w);
            rehashed += w.rehashes > 0;
            if (t % 1024 == 0)
                lab_going(l, 0.6 + 0.06 * (log2((double)n / 8) + (double)t / (double)tables));
        }
        double exactly = 1 - chance_of_room(n, 6 * n);
        lab_find(l, LAB_MUST, LAB_EQUALS, exactly, lab_share(rehashed, tables), "tables that rehash, n = %llu, exactly",
                 (unsigned long long)n);
        lab_at(curve, (double)n, lab_exact(exactly));
        lab_at(points, (double)n, lab_share(rehashed, tables));
    }
}

/* ---- collisions ---- */

/* Keys connected to the two places of a new one, the mean over n new ones. */
static double connected(lab *l, places *p, const components *c, uint64_t n) {
    kith_table_spec spec = steps_spec(p->places, "layout=one d=2 b=1 load=100", NULL);
    spec.seed = lab_random(l) | 1;
    places_read(l, p, &spec);
    components_clear(c, p->places);
    for (uint64_t i = 0; i < n; i++)
        (void)components_join(c, p->first[i], p->second[i]);
    uint64_t sum = 0;
    for (uint64_t i = n; i < 2 * n; i++) {
        uint32_t one = components_head(c, p->first[i]), other = components_head(c, p->second[i]);
        sum += c->keys[one] + (other == one ? 0 : c->keys[other]);
    }
    return (double)sum / (double)n;
}

static void measure_collisions(lab *l) {
    uint64_t graphs = lab_pick(l, 150, 1000);
    lab_plot *plot =
        lab_draw(l, "Keys connected to the places of a new one, n keys in 6n places", "keys, n", "keys", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "2 Σ (2n/m)^d = 1"), *third = lab_curve(plot, "1/3, as in [0]");
    lab_series *points = lab_points(plot, "measured");
    for (uint64_t n = 32; n <= 512; n *= 4) {
        places p = places_take(l, 6 * n, 2 * n);
        components c = components_take(l, 6 * n);
        lab_sample keys = {0};
        for (uint64_t i = 0; i < graphs; i++) {
            lab_sample_add(&keys, connected(l, &p, &c, n));
            lab_going(l, 0.9 + 0.03 * log2((double)n / 32) / 2);
        }
        lab_find(l, LAB_MUST, LAB_AT_MOST, 1, lab_mean(&keys), "keys that a new one collides with, n = %llu",
                 (unsigned long long)n);
        lab_find(l, LAB_WRONG, LAB_AT_MOST, 1.0 / 3, lab_mean(&keys),
                 "keys that a new one collides with, n = %llu: n · 2/m of [0]", (unsigned long long)n);
        lab_at(bound, (double)n, lab_exact(1));
        lab_at(third, (double)n, lab_exact(1.0 / 3));
        lab_at(points, (double)n, lab_mean(&keys));
    }
}

static void run(lab *l) {
    const uint64_t *sizes = lab_is_quick(l) ? QUICK : FULL;
    lab_parameter(l, "slots a key", "6");
    lab_parameter(l, "keys", "%llu to %llu", (unsigned long long)sizes[0], (unsigned long long)sizes[SIZE_COUNT - 1]);
    measure_work(l, sizes);
    measure_rehashes(l);
    measure_collisions(l);
}

const lab_claim lab_C12 = {
    .id = "C12",
    .title = "total time of insertions, rehashes included",
    .sentence = "n insertions into 6n places take O(n) steps with all rehashes, so one takes a constant number.",
    .formula = "E ≤ n · 2 · Σ i/2^{i} = 4n",
    .code = "src/tables/cuckoo.c",
    .note = "[0] has it that a new key collides with n · 2/m = 1/3 of a key (18.8). It is 1: the sum over paths begins "
            "with length 1, as if the places of a key were not joined by that key itself. So an insertion takes 2 "
            "placements at most on average, 4 with the rehashes: O(1) all the same.",
    .run = run,
};
