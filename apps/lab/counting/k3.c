/* K3: adding and removing in any legal order loses no key.
 *
 * A key that is in has 1 in each of its counters that nothing but its own removal takes away, and a counter that is
 * stuck at 15 is never lowered. So a filter in which keys come and go by chance, copies too, answers yes for every key
 * that is in, at every moment; and where no counter is stuck it ends with the very counters of a filter that got the
 * survivors alone. Crowded filters (64 counters a key at a rate of 38%: 4.2 keys a counter) have stuck counters, and
 * lose none either.
 *
 * What does lose keys is an illegal removal, of a key that never was in but is answered yes: each of its k counters is at
 * 1 with probability P(1)/P(at least 1), and then the key that put it there is lost. Ratios of expectations stand for
 * expectations of ratios, and lost keys are taken to differ: both are off by some k/n,
 * a thousandth of what is predicted, where the interval is a few percent wide. */
#include <math.h>

#include <lab/experiment.h>

enum { COPIES_MAX = 3 };

typedef struct crowd {
    const char *name, *kind, *options;
    double rate;
} crowd;

static const crowd CROWDS[] = {
    {"counting", "counting", NULL, 0.0078125},
    {"blocked_counting", "blocked_counting", NULL, 0.01},
    {"counting with stuck counters", "counting", "k=64", 0.38},
};
enum { CROWD_COUNT = sizeof CROWDS / sizeof *CROWDS };

typedef struct score {
    uint64_t asked, lost; /* keys that were in */
    uint64_t compared, different, stuck;
} score;

/* Asks for every key that is in; its copies must be as many as went in, at least (15 stands for more). */
static void ask_all(lab *l, const kith_filter *f, const uint8_t *copies, uint64_t keys, score *s) {
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = lab_key(l, i);
        s->asked += copies[i] != 0;
        s->lost += copies[i] != 0 &&
                   (!kith_filter_has(f, &key, sizeof key) || kith_filter_copies(f, &key, sizeof key) < copies[i]);
    }
}

/* Keys 0 … keys - 1 come and go; about half the capacity is in use. */
static void come_and_go(lab *l, const crowd *c, uint64_t capacity, uint64_t steps, score *s) {
    uint64_t keys = capacity / 2;
    uint8_t *copies = lab_take(l, keys);
    kith_filter *f = lab_filter(l, c->kind, capacity, c->rate, 0, c->options);
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t at = lab_below(l, keys), key = lab_key(l, at);
        bool goes = copies[at] == COPIES_MAX || (copies[at] != 0 && lab_below(l, 2) == 0);
        if (!goes && kith_filter_count(f) == capacity)
            continue;
        if (goes)
            lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing a key that is in");
        else
            lab_must(l, kith_filter_add(f, &key, sizeof key, NULL), "adding a key");
        copies[at] = (uint8_t)(goes ? copies[at] - 1 : copies[at] + 1);
        if (i % (steps / 8) == 0)
            ask_all(l, f, copies, keys, s);
    }
    ask_all(l, f, copies, keys, s);
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_filter *fresh = NULL;
    lab_must(l, kith_filter_stats_of(f, &stats), "asking for statistics");
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
    lab_must(l, status, "adding the survivors");
    lab_drop(l, f);
    lab_drop(l, copies);
}

/* Keys lost by removing the first absent key that is answered yes. */
static double lost_by_illegal_removal(lab *l, uint64_t n, double *predicted) {
    kith_filter *f = lab_filter(l, "counting", n, 0.0078125, 0, NULL);
    kith_plan plan = KITH_PLAN_INIT;
    lab_must(l, kith_filter_plan_of(f, &plan), "asking for the plan");
    lab_fill(l, f, 0, n);
    uint64_t stranger = n;
    while (lab_ask(l, f, stranger, 1) == 0)
        stranger++;
    uint64_t key = lab_key(l, stranger);
    lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing a key that never was in");
    uint64_t lost = n - lab_ask(l, f, 0, n);
    double p = plan.hashes / (double)plan.cells, none = lab_binomial_at(n, p, 0);
    *predicted = plan.hashes * lab_binomial_at(n, p, 1) / (1 - none);
    lab_drop(l, f);
    return (double)lost;
}

static void run(lab *l) {
    uint64_t capacity = lab_pick(l, 500, 1000), filters = lab_pick(l, 10, 60), steps = lab_pick(l, 8, 20) * capacity;
    uint64_t n = lab_pick(l, 2000, 5000), strangers = lab_pick(l, 100, 1000);
    lab_parameter(l, "capacity, keys that come and go", "%llu, half as many", (unsigned long long)capacity);
    lab_parameter(l, "filters of each kind, steps in each", "%llu, %llu", (unsigned long long)filters,
                  (unsigned long long)steps);
    lab_parameter(l, "keys and filters for illegal removals", "%llu, %llu", (unsigned long long)n,
                  (unsigned long long)strangers);
    uint64_t lost = 0;
    lab_plot *plot = lab_draw(l, "Keys lost", "removals of keys that are not in", "keys lost of those in", 0);
    for (unsigned i = 0; i < CROWD_COUNT; i++) {
        score s = {0};
        for (uint64_t j = 0; j < filters; j++) {
            come_and_go(l, &CROWDS[i], capacity, i == 2 ? steps / 4 : steps, &s);
            lab_going(l, 0.5 * (i + (double)j / (double)filters) / CROWD_COUNT);
        }
        lost += s.lost;
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)s.lost), "%s: keys lost, of %llu asked for while in",
                 CROWDS[i].name, (unsigned long long)s.asked);
        if (s.compared != 0)
            lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)s.different),
                     "%s: counters that differ from those of the survivors alone, of %llu", CROWDS[i].name,
                     (unsigned long long)s.compared);
        if (i == 2)
            lab_find(l, LAB_MUST, LAB_AT_LEAST, 1, lab_exact((double)s.stuck), "%s: counters that stuck",
                     CROWDS[i].name);
    }
    lab_find(l, LAB_LOOSE, LAB_AT_LEAST, 1, lab_exact((double)lost),
             "[0], false negatives occur once keys are removed: keys lost by legal removals");
    lab_sample by_strangers = {0};
    double predicted = 0;
    for (uint64_t i = 0; i < strangers; i++) {
        lab_sample_add(&by_strangers, lost_by_illegal_removal(l, n, &predicted));
        lab_going(l, 0.5 + 0.5 * (double)i / (double)strangers);
    }
    lab_find(l, LAB_MUST, LAB_EQUALS, predicted, lab_mean(&by_strangers),
             "keys lost by one removal of a key that is not in");
    lab_series *curve = lab_curve(plot, "k P(1)/P(at least 1)"), *points = lab_points(plot, "measured");
    lab_at(curve, 0, lab_exact(0));
    lab_at(curve, 1, lab_exact(predicted));
    lab_at(points, 0, lab_exact((double)lost));
    lab_at(points, 1, lab_mean(&by_strangers));
}

const lab_claim lab_K3 = {
    .id = "K3",
    .title = "no false negative after legal removals",
    .sentence = "As long as only keys that are in are removed, a counting filter answers yes for every key that is in.",
    .formula = NULL,
    .code = "src/family/counters.h",
    .note = "[0] says that with counting filters \"we have to allow for false negatives\". They occur only after a "
            "removal of a key that is not in, or after an overflow, where a counter wraps around: one that sticks "
            "at its top loses no key.",
    .run = run,
};
