/* K3: adding and removing keys in any legal order loses no key.
 *
 * A removal is legal if the key is in the filter. Each key in the filter contributes 1 to each of its counters, and
 * only its own removal subtracts that again; a counter that is stuck at 15 is never decremented. So while keys and
 * copies of keys are added and removed at random, every key in the filter is found at all times. If no counter is
 * stuck, the final counters are equal to those of a filter to which only the remaining keys were added. Crowded
 * filters (64 counters per key at a rate of 38%: 4.2 keys per counter) have stuck counters, and do not lose keys
 * either.
 *
 * An illegal removal does lose keys. It removes a false positive: a key that was never added but is found. Each of
 * its k counters is at 1 with probability P(1)/P(at least 1), and in that case the key that incremented it is lost.
 * The prediction uses a ratio of expectations in place of the expectation of a ratio, and assumes that the lost keys
 * are all different. Both cause a relative error of about k/n, a thousandth, while the interval is a few percent
 * wide. */
#include <math.h>

#include <lab/experiment.h>

enum { COPIES_MAX = 3 };

typedef struct setup {
    const char *name, *kind, *options;
    double rate;
} setup;

static const setup SETUPS[] = {
    {"counting", "counting", NULL, 0.0078125},
    {"blocked_counting", "blocked_counting", NULL, 0.01},
    {"counting with stuck counters", "counting", "k=64", 0.38},
};
enum { SETUP_COUNT = sizeof SETUPS / sizeof *SETUPS, CROWDED = SETUP_COUNT - 1 };

typedef struct score {
    uint64_t asked, lost; /* of lookups of keys in the filter */
    uint64_t compared, different, stuck;
} score;

/* Looks up every key in the filter. The filter must report at least as many copies as were added (stuck counters report
 * more). */
static void look_up_all(lab *l, const kith_filter *f, const uint8_t *copies, uint64_t keys, score *s) {
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = lab_key(l, i);
        s->asked += copies[i] != 0;
        s->lost += copies[i] != 0 &&
                   (!kith_filter_has(f, &key, sizeof key) || kith_filter_copies(f, &key, sizeof key) < copies[i]);
    }
}

/* Adds and removes the keys 0 … capacity/2 - 1 at random, `steps` times, and compares the counters at the end. */
static void add_and_remove(lab *l, const setup *c, uint64_t capacity, uint64_t steps, score *s) {
    uint64_t keys = capacity / 2;
    uint8_t *copies = lab_take(l, keys);
    kith_filter *f = lab_filter(l, c->kind, capacity, c->rate, 0, c->options);
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t at = lab_below(l, keys), key = lab_key(l, at);
        bool removes = copies[at] == COPIES_MAX || (copies[at] != 0 && lab_below(l, 2) == 0);
        if (!removes && kith_filter_count(f) == capacity)
            continue;
        if (removes)
            lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing a key in the filter");
        else
            lab_must(l, kith_filter_add(f, &key, sizeof key, NULL), "adding a key");
        copies[at] = (uint8_t)(removes ? copies[at] - 1 : copies[at] + 1);
        if (i % (steps / 8) == 0)
            look_up_all(l, f, copies, keys, s);
    }
    look_up_all(l, f, copies, keys, s);
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_filter *fresh = NULL;
    lab_must(l, kith_filter_stats_of(f, &stats), "reading statistics");
    lab_must(l, kith_filter_clone(f, NULL, &fresh), "copying the filter");
    kith_status status = kith_filter_clear(fresh);
    for (uint64_t i = 0; i < keys && status == KITH_OK; i++)
        for (unsigned j = 0; j < copies[i] && status == KITH_OK; j++) {
            uint64_t key = lab_key(l, i);
            status = kith_filter_add(fresh, &key, sizeof key, NULL);
        }
    for (uint64_t cell = 0; cell < stats.cells && status == KITH_OK && stats.stuck == 0; cell++, s->compared++)
        s->different += kith_filter_cell(f, cell) != kith_filter_cell(fresh, cell);
    s->stuck += stats.stuck;
    kith_filter_free(fresh);
    lab_must(l, status, "adding the remaining keys");
    lab_drop(l, f);
    lab_drop(l, copies);
}

/* Returns how many keys are lost by removing one false positive, the first that is found. */
static double lost_by_illegal_removal(lab *l, uint64_t n, double *predicted) {
    kith_filter *f = lab_filter(l, "counting", n, lab_real(l, "rate"), 0, NULL);
    kith_plan plan = KITH_PLAN_INIT;
    lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
    lab_fill(l, f, 0, n);
    uint64_t absent = n;
    while (lab_count_found(l, f, absent, 1) == 0)
        absent++;
    uint64_t key = lab_key(l, absent);
    lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing a key that was never added");
    uint64_t lost = n - lab_count_found(l, f, 0, n);
    double p = plan.hashes / (double)plan.cells, none = lab_binomial_at(n, p, 0);
    *predicted = plan.hashes * lab_binomial_at(n, p, 1) / (1 - none);
    lab_drop(l, f);
    return (double)lost;
}

static void run(lab *l) {
    uint64_t capacity = lab_number(l, "n"), filters = lab_number(l, "filters"),
             steps = lab_number(l, "rounds") * capacity;
    uint64_t n = lab_number(l, "illegal_n"), illegal_filters = lab_number(l, "illegal_filters");
    lab_parameter(l, "capacity, keys added and removed", "%llu, half of that", (unsigned long long)capacity);
    lab_parameter(l, "filters of each kind, steps in each", "%llu, %llu", (unsigned long long)filters,
                  (unsigned long long)steps);
    lab_parameter(l, "keys per filter and filters for illegal removals", "%llu, %llu", (unsigned long long)n,
                  (unsigned long long)illegal_filters);
    uint64_t lost = 0;
    lab_plot *plot = lab_draw(l, "Keys lost", "removals of keys that were never added", "keys lost", 0);
    for (unsigned i = 0; i < SETUP_COUNT; i++) {
        score s = {0};
        if (!lab_wants(l, "kind", SETUPS[i].kind))
            continue;
        for (uint64_t j = 0; j < filters; j++) {
            add_and_remove(l, &SETUPS[i], capacity, i == CROWDED ? steps / 4 : steps, &s);
            lab_progress(l, 0.5 * (i + (double)j / (double)filters) / SETUP_COUNT);
        }
        lost += s.lost;
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)s.lost),
                 "%s: keys not found, of %llu lookups of keys in the filter", SETUPS[i].name,
                 (unsigned long long)s.asked);
        if (s.compared != 0)
            lab_find(l, LAB_EQUALS, 0, lab_exact((double)s.different),
                     "%s: counters that differ from a filter of the remaining keys alone, of %llu", SETUPS[i].name,
                     (unsigned long long)s.compared);
        if (i == CROWDED)
            lab_find(l, LAB_AT_LEAST, 1, lab_exact((double)s.stuck), "%s: stuck counters", SETUPS[i].name);
    }
    static const char QUOTE[] = "[0]: \"in that case we have to allow for false negatives as well as false positives\"";
    lab_find_stated(l, LAB_LOOSE, QUOTE, LAB_AT_LEAST, 1, lab_exact((double)lost),
                    "false negatives while only keys of the set are deleted, at least 1");
    lab_sample by_illegal_removal = {0};
    double predicted = 0;
    for (uint64_t i = 0; i < illegal_filters; i++) {
        lab_sample_add(&by_illegal_removal, lost_by_illegal_removal(l, n, &predicted));
        lab_progress(l, 0.5 + 0.5 * (double)i / (double)illegal_filters);
    }
    lab_find(l, LAB_EQUALS, predicted, lab_mean(&by_illegal_removal),
             "keys lost by one removal of a key that was never added");
    lab_find_stated(l, LAB_LOOSE, QUOTE, LAB_AT_LEAST, 1, lab_mean(&by_illegal_removal),
                    "false negatives after the deletion of one key that the filter reports but that is not in the set, "
                    "at least 1");
    lab_series *curve = lab_curve(plot, "k P(1)/P(at least 1)"), *points = lab_points(plot, "measured");
    lab_at(curve, 0, lab_exact(0));
    lab_at(curve, 1, lab_exact(predicted));
    lab_at(points, 0, lab_exact((double)lost));
    lab_at(points, 1, lab_mean(&by_illegal_removal));
}

const lab_claim lab_K3 = {
    .id = "K3",
    .title = "no false negatives after legal removals",
    .sentence = "As long as only keys in the filter are removed, a counting filter finds every key that is in it.",
    .formula = NULL,
    .code = "src/kinds/shared/counter_cells.h",
    .note = "[0] says that with counting filters \"we have to allow for false negatives\". As long as only keys of the "
            "set are deleted there are none. They occur after the deletion of a key that the filter reports, but that "
            "was never added, and if counters wrap around when they overflow. A counter that stays at its maximum "
            "loses no key.",
    .decides = "keys lost by one removal of a key that was never added",
    .settings = {LAB_SIZE("n", 500, 1000, 16, 100000, "capacity of each filter"),
                 LAB_SIZE("filters", 10, 60, 1, 1e6, "filters of each kind"),
                 LAB_SIZE("rounds", 8, 20, 8, 1000, "adds and removals per unit of capacity"),
                 LAB_SIZE("illegal_n", 2000, 5000, 100, 1e6, "keys of filters for illegal removals"),
                 LAB_SIZE("illegal_filters", 100, 1000, 2, 1e6, "filters for illegal removals"),
                 LAB_WORD("kind", "all", "all counting blocked_counting", "kind of filter"),
                 LAB_NUMBER("rate", "1/128", 1e-4, 0.5, 1e-3, 0.1, "rate of the filters for illegal removals")},
    .run = run,
};
