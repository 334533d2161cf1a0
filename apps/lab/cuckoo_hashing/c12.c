/* C12: all insertions together, with the rehashes among them, take time in proportion to the keys ([0], 18.11 to 18.14).
 *
 * Time is counted in placements: a key that is put into a place, be it new, moved, or put again when the table is rebuilt. A
 * table of m = 6n slots takes n keys; the trace tells moves and rehashes, and a rehash with i keys in puts i of them and the
 * new one again.
 *
 * [0] has: a new key moves as many as it collides with, 2/m each (18.8), so n · 2/m = 1/3 at most (the document writes
 * 2/n · cn with its n for slots; its m, the keys, is meant), that is 4/3 placements a key. A fill fails with 1/2 at most, so there
 * are sum i 2^-i = 2 fills at most on average, 8/3 placements a key, and 1 rehash. All three must hold, and placements a key must not
 * grow with n. From the small n to the large one, the loads that the keys meet, i/m, are a finer sum of the same integral,
 * whose error is below 1/n of the smaller: so much is allowed.
 *
 * What the bounds are far from is known exactly where it begins: key i finds both of its places taken, and displaces another,
 * with (i/m)^2.
 *
 * A table that begins small and grows puts keys again as well. Each growth is by a half, and with ones before it of
 * 2/3, 4/9, … as many keys, no key is put again more than 3 times on average. */
#include <math.h>

#include <lab/experiment.h>

enum { SIZE_COUNT = 6, SMALL = 3 /* of the sizes: where growth with n is measured from */ };

static const uint64_t QUICK[SIZE_COUNT] = {8, 32, 128, 1024, 8192, 32768},
                      FULL[SIZE_COUNT] = {8, 32, 128, 2048, 32768, 262144};

typedef struct steps {
    uint64_t keys; /* in the table now */
    uint64_t moves, displacing, rehashes, again, again_grown;
} steps;

static void count(void *context, kith_step step, uint64_t place, uint64_t to) {
    steps *s = context;
    (void)place;
    (void)to;
    s->moves += step == KITH_STEP_MOVE;
    s->rehashes += step == KITH_STEP_REHASH;
    s->again += step == KITH_STEP_REHASH ? s->keys + 1 : 0;
    s->again_grown += step == KITH_STEP_GROW ? s->keys + 1 : 0;
}

/* n keys into a table of 6n slots, or into one that begins with the least and grows. */
static void fill(lab *l, uint64_t n, bool grows, steps *s) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = grows ? 0 : 6 * n - 1;
    spec.options = grows ? "d=2 b=1 insert=walk" : "d=2 b=1 insert=walk load=100";
    spec.trace = count;
    spec.trace_context = s;
    kith_table *table = lab_table(l, &spec);
    uint64_t first = lab_random(l);
    for (s->keys = 0; s->keys < n; s->keys++) {
        uint64_t key = lab_key(l, first + s->keys), moves = s->moves;
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "putting a key");
        s->displacing += s->moves > moves;
    }
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "asking for the slots");
    lab_require(l, stats.count == n && stats.rehashes == s->rehashes, "the trace tells every rehash");
    lab_require(l, grows || (stats.growths == 0 && stats.slots == 6 * n), "a table of 6n slots stays what it is");
    lab_drop(l, table);
}

/* The mean of (i/m)^2 over i = 0 … n - 1, with m = 6n. */
static double displacing_share(uint64_t n) {
    return (double)(n - 1) * (double)(2 * n - 1) / 6 / (36 * (double)n * (double)n);
}

static lab_estimate difference(const lab_sample *of, const lab_sample *less) {
    lab_estimate a = lab_mean(of), b = lab_mean(less);
    double half = sqrt((a.high - a.value) * (a.high - a.value) + (b.high - b.value) * (b.high - b.value));
    return (lab_estimate){a.value - b.value, a.value - b.value - half, a.value - b.value + half};
}

static void run(lab *l) {
    const uint64_t *sizes = lab_is_quick(l) ? QUICK : FULL;
    uint64_t most = lab_pick(l, 500000, 20000000);
    lab_parameter(l, "slots a key", "6");
    lab_parameter(l, "keys", "%llu to %llu", (unsigned long long)sizes[0], (unsigned long long)sizes[SIZE_COUNT - 1]);
    lab_plot *plot = lab_draw(l, "Work of n insertions, rehashes included", "keys, n", "placements a key", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "bound, 8/3 at m = 6n"), *points = lab_points(plot, "m = 6n");
    lab_series *rising = lab_points(plot, "a table that grows");
    lab_plot *rare =
        lab_draw(l, "Rehashes of n insertions at m = 6n", "keys, n", "rehashes a table", LAB_LOG_X | LAB_LOG_Y);
    lab_series *one = lab_curve(rare, "bound, 1"), *rehashes = lab_points(rare, "measured");
    lab_sample placements[SIZE_COUNT] = {{0}};
    for (unsigned i = 0; i < SIZE_COUNT; i++) {
        uint64_t n = sizes[i], tables = most / n / SIZE_COUNT < 40 ? 40 : most / n / SIZE_COUNT;
        lab_sample moves = {0}, displacing = {0}, drawn = {0}, grown = {0}, grown_all = {0};
        for (uint64_t t = 0; t < tables; t++) {
            steps s = {0}, g = {0};
            fill(l, n, false, &s);
            lab_sample_add(&placements[i], (double)(n + s.moves + s.again) / (double)n);
            lab_sample_add(&moves, (double)s.moves / (double)n);
            lab_sample_add(&displacing, (double)s.displacing / (double)n);
            lab_sample_add(&drawn, (double)s.rehashes);
            if (t % 4 == 0) {
                fill(l, n, true, &g);
                lab_sample_add(&grown, (double)g.again_grown / (double)n);
                lab_sample_add(&grown_all, (double)(n + g.moves + g.again + g.again_grown) / (double)n);
            }
            if (t % 1024 == 0 || n > 1000)
                lab_going(l, (i + (double)t / (double)tables) / SIZE_COUNT);
        }
        lab_find(l, LAB_MUST, LAB_AT_MOST, 8.0 / 3, lab_mean(&placements[i]), "placements a key, n = %llu",
                 (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 1.0 / 3, lab_mean(&moves), "moves a key, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_EQUALS, displacing_share(n), lab_mean(&displacing),
                 "insertions that displace a key, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 1, lab_mean(&drawn), "rehashes, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 3, lab_mean(&grown), "keys put again by growth, a key, n = %llu",
                 (unsigned long long)n);
        lab_at(bound, (double)n, lab_exact(8.0 / 3));
        lab_at(points, (double)n, lab_mean(&placements[i]));
        lab_at(rising, (double)n, lab_mean(&grown_all));
        lab_at(one, (double)n, lab_exact(1));
        if (drawn.mean > 0)
            lab_at(rehashes, (double)n, lab_mean(&drawn));
    }
    for (unsigned i = SMALL + 1; i < SIZE_COUNT; i++)
        lab_find(l, LAB_MUST, LAB_AT_MOST, 1 / (double)sizes[SMALL], difference(&placements[i], &placements[SMALL]),
                 "placements a key, n = %llu, less those of n = %llu", (unsigned long long)sizes[i],
                 (unsigned long long)sizes[SMALL]);
}

const lab_claim lab_C12 = {
    .id = "C12",
    .title = "total time of insertions, rehashes included",
    .sentence = "n insertions into 6n places take O(n) steps with all rehashes, so one takes a constant number.",
    .formula = "E ≤ n · 4/3 · Σ i/2^{i} = 8n/3",
    .code = "src/tables/cuckoo.c",
    .run = run,
};
