/* B7: a key that was added is always found.
 *
 * All four Bloom kinds are filled in ten steps, with one key and with many, at high and at low rates. After each step
 * every key added so far is looked up in batches. At the end every key is also looked up one at a time, by its bytes
 * and by its digest, in a clone, and in a filter that was opened from the bytes. Nothing in the claim is random: one
 * lost key refutes it. Absent keys are looked up too, for the plot. */
#include "bloom.h"

static const char *const KINDS[] = {"bloom", "blocked", "counting", "blocked_counting"};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS, STEPS = 10, SHAPE_COUNT = 5 };

typedef struct tally {
    uint64_t asked, lost;
    uint64_t present[STEPS + 1], found[STEPS + 1]; /* by step: keys looked up that were added, and found */
    uint64_t false_positives[STEPS + 1];           /* by step: of the same number of absent keys */
} tally;

static void count(tally *t, uint64_t asked, uint64_t found) {
    t->asked += asked;
    t->lost += asked - found;
}

static void fill_in_steps(lab *l, kith_filter *f, uint64_t n, tally *t) {
    uint64_t in = 0;
    for (unsigned step = 1; step <= STEPS; step++) {
        uint64_t to = n * step / STEPS;
        lab_fill(l, f, in, to - in);
        in = to;
        uint64_t found = lab_count_found(l, f, 0, in);
        count(t, in, found);
        t->present[step] += in;
        t->found[step] += found;
        t->false_positives[step] += lab_count_found(l, f, n, in);
    }
}

static void check_other_lookups(lab *l, kith_filter *f, uint64_t n, tally *t) {
    uint64_t by_bytes = 0, by_digest = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = lab_key(l, i);
        by_bytes += kith_filter_has(f, &key, sizeof key);
        by_digest += kith_filter_has_digest(f, kith_filter_digest(f, &key, sizeof key));
    }
    count(t, n, by_bytes);
    count(t, n, by_digest);
    kith_filter *clone = NULL, *view = NULL;
    const void *bytes;
    size_t byte_count;
    lab_must(l, kith_filter_clone(f, NULL, &clone), "cloning");
    lab_keep(l, clone);
    lab_must(l, kith_filter_bytes(f, &bytes, &byte_count), "reading the bytes");
    lab_must(l, kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view), "opening the bytes");
    lab_keep(l, view);
    count(t, n, lab_count_found(l, clone, 0, n));
    count(t, n, lab_count_found(l, view, 0, n));
    lab_drop(l, view);
    lab_drop(l, clone);
}

static void run(lab *l) {
    uint64_t most = lab_number(l, "n");
    const struct {
        uint64_t n;
        double rate;
        uint64_t filters;
    } shapes[SHAPE_COUNT] = {{1, 0.01, lab_number(l, "small_filters")},
                             {10, 0.9, lab_number(l, "small_filters")},
                             {1000, 1e-9, lab_number(l, "filters")},
                             {most / 4, 0.3, 2},
                             {most, lab_real(l, "rate"), 2}};
    lab_parameter(l, "n", "1, 10, 1000, %llu, %llu", (unsigned long long)most / 4, (unsigned long long)most);
    lab_parameter(l, "rate", "0.01, 0.9, 10^-9, 0.3, %g", lab_real(l, "rate"));
    lab_plot *plot = lab_draw(l, "Lookups that return true while the largest filter fills", "share of capacity",
                              "share of lookups", LAB_LOG_Y);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        if (!lab_wants(l, "kind", KINDS[k]))
            continue;
        tally all = {0};
        for (size_t s = 0; s < SHAPE_COUNT; s++) {
            tally t = {0};
            for (uint64_t i = 0; i < shapes[s].filters; i++) {
                kith_filter *f = lab_filter(l, KINDS[k], shapes[s].n, shapes[s].rate, 0, NULL);
                fill_in_steps(l, f, shapes[s].n, &t);
                check_other_lookups(l, f, shapes[s].n, &t);
                lab_drop(l, f);
                lab_progress(l, ((double)k + (double)(s + 1) / SHAPE_COUNT) / KIND_COUNT);
            }
            all.asked += t.asked;
            all.lost += t.lost;
            if (s + 1 < SHAPE_COUNT)
                continue;
            lab_series *in = lab_points(plot, "%s, added keys", KINDS[k]);
            lab_series *absent = lab_points(plot, "%s, absent keys", KINDS[k]);
            for (unsigned step = 1; step <= STEPS; step++) {
                lab_at(in, step / (double)STEPS, lab_share(t.found[step], t.present[step]));
                if (t.false_positives[step] > 10) /* the intervals of fewer would be too wide for the plot */
                    lab_at(absent, step / (double)STEPS, lab_share(t.false_positives[step], t.present[step]));
            }
        }
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)all.lost), "keys not found, of %llu looked up, %s",
                 (unsigned long long)all.asked, KINDS[k]);
    }
}

const lab_claim lab_B7 = {
    .id = "B7",
    .title = "no false negatives",
    .sentence = "A key that was added is always found.",
    .formula = NULL,
    .code = "src/kinds/shared/bit_cells.h",
    .decides = "looked up, bloom",
    .settings = {LAB_SIZE("n", 20000, 400000, 1000, 1e8, "keys of the largest filter"),
                 LAB_SIZE("small_filters", 100, 2000, 1, 1e6, "filters of 1 and of 10 keys"),
                 LAB_SIZE("filters", 5, 50, 1, 1e6, "filters of 1000 keys"),
                 LAB_WORD("kind", "all", "all bloom blocked counting blocked_counting", "kind of filter"),
                 LAB_NUMBER("rate", "0.01", 1e-9, 0.9, 1e-9, 0.9, "rate of the largest filter")},
    .run = run,
};
