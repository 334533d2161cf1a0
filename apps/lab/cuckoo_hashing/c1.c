/* C1: a lookup or a removal reads at most d buckets of b slots, whatever the table holds.
 *
 * Tables of several shapes are filled to the load at which they would grow, where many keys are not in their first
 * bucket. Then every key is looked up, and the same number of absent keys. Half of the keys are removed, and the same
 * number of removals of absent keys is tried. The trace shows each bucket that was read. The maximum is d buckets. At
 * such a load some key needs all d, so the prediction is an equality. The experiment is repeated for one shape with
 * more and more keys: the maximum stays the same. */
#include <stdio.h>

#include "cuckoo_graph.h"

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

typedef struct slots_read {
    uint64_t most;
    lab_sample present, absent; /* slots per key */
} slots_read;

static void count(slots_read *r, lab_sample *sample, steps *s, unsigned b) {
    uint64_t slots = s->looks * b;
    r->most = slots > r->most ? slots : r->most;
    lab_sample_add(sample, (double)slots);
    s->looks = 0;
}

static slots_read measure(lab *l, const shape *of, uint64_t n) {
    steps s = {0};
    slots_read r = {0};
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = n;
    spec.options = of->options;
    kith_table *table = lab_traced(l, &spec, steps_count, &s);
    for (uint64_t i = 0; i < n; i++)
        (void)steps_put(l, table, &s, i);
    s.looks = 0;
    for (uint64_t i = 0; i < 2 * n; i++) {
        uint64_t key = lab_key(l, i), value = 0;
        bool found = kith_table_get(table, &key, sizeof key, &value);
        lab_require(l, found == (i < n) && (!found || value == i), "a lookup returns a wrong result");
        count(&r, found ? &r.present : &r.absent, &s, of->b);
    }
    for (uint64_t i = n / 2; i < n + n / 2; i++) {
        uint64_t key = lab_key(l, i);
        kith_status status = kith_table_remove(table, &key, sizeof key, NULL);
        lab_require(l, status == (i < n ? KITH_OK : KITH_E_ABSENT), "a removal returns a wrong status");
        count(&r, i < n ? &r.present : &r.absent, &s, of->b);
    }
    lab_require(l, kith_table_count(table) == n / 2, "the number of keys is wrong after the removals");
    lab_drop(l, table);
    return r;
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), n_max = lab_number(l, "n_max");
    lab_parameter(l, "n", "%llu for each shape, 100 … %llu for d = 2, b = 1", (unsigned long long)n,
                  (unsigned long long)n_max);
    shape own[LAB_NUMBERS_MAX];
    char options[LAB_NUMBERS_MAX][48];
    const shape *shapes = SHAPES;
    size_t count = SHAPE_COUNT;
    if (lab_is_set(l, "d") || lab_is_set(l, "b") || lab_is_set(l, "layout")) {
        double buckets[LAB_NUMBERS_MAX];
        count = lab_list(l, "b", buckets);
        for (size_t i = 0; i < count; i++) {
            own[i] = (shape){options[i], (unsigned)lab_number(l, "d"), (unsigned)buckets[i]};
            (void)snprintf(options[i], sizeof options[i], "layout=%s d=%u b=%u", lab_word(l, "layout"), own[i].d,
                           own[i].b);
        }
        shapes = own;
    }
    for (size_t i = 0; i < count; i++) {
        slots_read r = measure(l, &shapes[i], n);
        lab_find(l, LAB_EQUALS, shapes[i].d * shapes[i].b, lab_exact((double)r.most),
                 "%s: maximum number of slots that a lookup or removal reads", shapes[i].options);
        lab_progress(l, 0.5 * (double)(i + 1) / (double)count);
    }
    lab_plot *plot = lab_draw(l, "Slots that a lookup reads (d = 2, b = 1)", "keys", "slots", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "d · b");
    lab_series *most = lab_points(plot, "maximum"), *present = lab_points(plot, "mean, present key"),
               *absent = lab_points(plot, "mean, absent key");
    slots_read r = {0};
    for (uint64_t keys = 100; keys <= n_max; keys *= 10) {
        r = measure(l, &SHAPES[0], keys);
        lab_at(bound, (double)keys, lab_exact(2));
        lab_at(most, (double)keys, lab_exact((double)r.most));
        lab_at(present, (double)keys, lab_exact(r.present.mean));
        lab_at(absent, (double)keys, lab_exact(r.absent.mean));
        lab_find(l, LAB_EQUALS, 2, lab_exact((double)r.most), "d = 2, b = 1, %llu keys: maximum number of slots",
                 (unsigned long long)keys);
        lab_progress(l, 0.5 + 0.5 * (double)keys / (double)n_max);
    }
    lab_find(l, LAB_SHOWN, 0, lab_exact(r.present.mean),
             "d = 2, b = 1, largest table: mean number of slots read, present keys");
    lab_find(l, LAB_SHOWN, 0, lab_exact(r.absent.mean),
             "d = 2, b = 1, largest table: mean number of slots read, absent keys");
}

const lab_claim lab_C1 = {
    .id = "C1",
    .title = "slots that a lookup reads",
    .sentence = "A lookup or a removal reads at most two slots, or at most d · b with d hash functions and b slots per "
                "bucket, however many keys the table holds.",
    .formula = "d · b",
    .code = "src/tables/cuckoo/find.c",
    .decides = "d=2 b=4",
    .settings = {LAB_SIZE("n", 5000, 100000, 10, 1e7, "keys of each shape"),
                 LAB_SIZE("n_max", 100000, 2000000, 100, 1e8, "keys of the largest table"),
                 LAB_WORD("layout", "one", "one two",
                          "one table or two halves (with d and b, instead of eight shapes)"),
                 LAB_WHOLE("d", "2", 2, 4, 2, 4, "hash functions"),
                 LAB_WHOLES("b", "1,2,4,8", "1,2,4,8", 1, 8, 1, 8, "slots per bucket")},
    .run = run,
};
