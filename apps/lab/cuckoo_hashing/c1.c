/* C1: a look-up looks at d buckets of b slots at most, whatever the table holds; so does a removal.
 *
 * Tables of several shapes are filled to the load at which they would grow, where many keys are away from their first
 * bucket. Then every key is asked for, and as many that are not in; half of the keys are taken out, and as many that
 * are not in. The trace tells each bucket that was looked at. The most is d, and at such a load some key needs all d,
 * so the prediction is an equality. The same for one shape and more and more keys: the most stays where it is. */
#include "places.h"

typedef struct shape {
    const char *options;
    unsigned d, b;
} shape;

static const shape SHAPES[] = {
    {"layout=one d=2 b=1", 2, 1},
    {"layout=two d=2 b=1", 2, 1},
    {"d=3 b=1", 3, 1},
    {"d=4 b=1", 4, 1},
    {"d=2 b=2", 2, 2},
    {"d=2 b=4", 2, 4},
    {"d=3 b=4", 3, 4},
    {"layout=two d=4 b=8", 4, 8},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

typedef struct looked {
    uint64_t most;
    lab_sample present, absent; /* slots, a key */
} looked;

static void count(looked *w, lab_sample *sample, steps *s, unsigned b) {
    uint64_t slots = s->looks * b;
    w->most = slots > w->most ? slots : w->most;
    lab_sample_add(sample, (double)slots);
    s->looks = 0;
}

static looked measure(lab *l, const shape *of, uint64_t n) {
    steps s = {0};
    looked w = {0};
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = n;
    spec.options = of->options;
    spec.trace = steps_count;
    spec.trace_context = &s;
    kith_table *table = lab_table(l, &spec);
    for (uint64_t i = 0; i < n; i++)
        (void)steps_put(l, table, &s, i);
    s.looks = 0;
    for (uint64_t i = 0; i < 2 * n; i++) {
        uint64_t key = lab_key(l, i), value = 0;
        bool found = kith_table_get(table, &key, sizeof key, &value);
        lab_require(l, found == (i < n) && (!found || value == i), "a look-up gives a wrong answer");
        count(&w, found ? &w.present : &w.absent, &s, of->b);
    }
    for (uint64_t i = n / 2; i < n + n / 2; i++) {
        uint64_t key = lab_key(l, i);
        kith_status status = kith_table_remove(table, &key, sizeof key, NULL);
        lab_require(l, status == (i < n ? KITH_OK : KITH_E_ABSENT), "a removal gives a wrong answer");
        count(&w, i < n ? &w.present : &w.absent, &s, of->b);
    }
    lab_require(l, kith_table_count(table) == n / 2, "the count of keys is wrong after removals");
    lab_drop(l, table);
    return w;
}

static void run(lab *l) {
    uint64_t n = lab_pick(l, 5000, 100000), n_max = lab_pick(l, 100000, 2000000);
    lab_parameter(l, "n", "%llu for each shape, 100 … %llu for d = 2, b = 1", (unsigned long long)n,
                  (unsigned long long)n_max);
    for (unsigned i = 0; i < SHAPE_COUNT; i++) {
        looked w = measure(l, &SHAPES[i], n);
        lab_find(l, LAB_MUST, LAB_EQUALS, SHAPES[i].d * SHAPES[i].b, lab_exact((double)w.most),
                 "%s: most slots that a look-up or removal looks at", SHAPES[i].options);
        lab_going(l, 0.5 * (i + 1) / SHAPE_COUNT);
    }
    lab_plot *plot = lab_draw(l, "Slots that a look-up looks at (d = 2, b = 1)", "keys", "slots", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "d · b");
    lab_series *most = lab_points(plot, "most"), *present = lab_points(plot, "mean, key is in"),
               *absent = lab_points(plot, "mean, key is not in");
    looked w = {0};
    for (uint64_t keys = 100; keys <= n_max; keys *= 10) {
        w = measure(l, &SHAPES[0], keys);
        lab_at(bound, (double)keys, lab_exact(2));
        lab_at(most, (double)keys, lab_exact((double)w.most));
        lab_at(present, (double)keys, lab_exact(w.present.mean));
        lab_at(absent, (double)keys, lab_exact(w.absent.mean));
        lab_find(l, LAB_MUST, LAB_EQUALS, 2, lab_exact((double)w.most), "d = 2, b = 1, %llu keys: most slots",
                 (unsigned long long)keys);
        lab_going(l, 0.5 + 0.5 * (double)keys / (double)n_max);
    }
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(w.present.mean),
             "d = 2, b = 1, most keys: slots on average, for a key that is in");
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(w.absent.mean),
             "d = 2, b = 1, most keys: slots on average, for a key that is not in");
}

const lab_claim lab_C1 = {
    .id = "C1",
    .title = "what a look-up looks at",
    .sentence =
        "A look-up and a removal look at two places, with d functions and b slots a bucket at d · b, and never at "
        "more, however many keys there are.",
    .formula = "d · b",
    .code = "src/tables/cuckoo_find.c",
    .run = run,
};
