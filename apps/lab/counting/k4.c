/* K4: one key added 2^c + 5 times, with counters of c = 4 bits.
 *
 * The library takes 2^c - 2 = 14 copies of a key and refuses more with KITH_E_COPIES, so that a key alone never drives
 * a counter to its top. Merging passes that: a filter with 14 copies of the key, merged with another one, has 28 in
 * counters that end at 15. They stick there. Removing the key 28 times lowers none of them, so the key is still
 * answered yes, which is a wrong yes, and every other key is still in. A counter that wrapped around would stand at 28
 * mod 16 = 12, and the last removals would take it below 0, or take the counters of other keys with it.
 *
 * [3] says that counters will not accommodate duplicate items. As a multiset they do, up to 14. As a set they do not: a
 * key that is added twice and removed once is out of the set, and is still answered yes. Both are tested. */
#include <lab/experiment.h>

enum { C = 4, TOP = (1 << C) - 1, ADDS = (1 << C) + 5, CAPACITY = 300, OTHERS = 100 };

static const char *const KINDS[] = {"counting", "blocked_counting"};

typedef struct least {
    uint64_t value;
    unsigned counters;
} least;

static void note_least(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    least *at = context;
    (void)cell, (void)wanted;
    at->value = at->counters++ == 0 || holds < at->value ? holds : at->value;
}

typedef struct score {
    uint64_t copies, refused, changed; /* of ADDS; cells that a refusal changed */
    uint64_t top, stuck_on_top;        /* the key's least counter after the merge, and after all removals */
    uint64_t removed, lost, others;
    uint64_t remembered, forgotten; /* added twice: answered yes after one removal; no after the second */
} score;

static uint64_t sum_of_cells(const kith_filter *f, uint64_t cells) {
    uint64_t sum = 0;
    for (uint64_t c = 0; c < cells; c++)
        sum += (c + 1) * kith_filter_cell(f, c);
    return sum;
}

static void add_often(lab *l, kith_filter *f, uint64_t cells, uint64_t key, score *s, lab_series *points) {
    uint64_t digest = kith_filter_digest(f, &key, sizeof key);
    for (unsigned i = 1; i <= ADDS; i++) {
        uint64_t before = sum_of_cells(f, cells);
        kith_status status = kith_filter_add(f, &key, sizeof key, NULL);
        if (status != KITH_E_COPIES)
            lab_must(l, status, "adding a copy");
        s->copies += status == KITH_OK;
        s->refused += status == KITH_E_COPIES;
        s->changed += status == KITH_E_COPIES && sum_of_cells(f, cells) != before;
        least now = {0};
        (void)kith_filter_look(f, digest, note_least, &now);
        if (points != NULL)
            lab_at(points, i, lab_exact((double)now.value));
    }
}

static void add_twice(lab *l, const char *kind, score *s) {
    kith_filter *f = lab_filter(l, kind, CAPACITY, 0.001, 0, NULL);
    uint64_t key = lab_key(l, OTHERS);
    for (unsigned i = 0; i < 2; i++)
        lab_must(l, kith_filter_add(f, &key, sizeof key, NULL), "adding a key");
    lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing it once");
    s->remembered = kith_filter_has(f, &key, sizeof key);
    lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing it again");
    s->forgotten = !kith_filter_has(f, &key, sizeof key);
    lab_drop(l, f);
}

static void once(lab *l, const char *kind, score *s, lab_series *points) {
    kith_filter *a = lab_filter(l, kind, CAPACITY, 0.001, 0, NULL), *b = NULL;
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    uint64_t key = lab_key(l, OTHERS), digest = kith_filter_digest(a, &key, sizeof key);
    lab_must(l, kith_filter_stats_of(a, &stats), "asking for statistics");
    add_often(l, a, stats.cells, key, s, points);
    lab_must(l, kith_filter_clone(a, NULL, &b), "copying the filter");
    lab_fill(l, a, 0, OTHERS);
    kith_status status = kith_filter_merge(a, b); /* of the same kind, geometry and hash */
    kith_filter_free(b);
    lab_must(l, status, "merging");
    least top = {0}, after = {0};
    (void)kith_filter_look(a, digest, note_least, &top);
    while (s->removed < 2 * (uint64_t)(TOP - 1) && kith_filter_remove(a, &key, sizeof key) == KITH_OK)
        s->removed++;
    (void)kith_filter_look(a, digest, note_least, &after);
    s->top = top.value;
    s->stuck_on_top = after.value;
    s->others = OTHERS;
    s->lost = OTHERS - lab_ask(l, a, 0, OTHERS);
    lab_drop(l, a);
}

static void run(lab *l) {
    uint64_t filters = lab_pick(l, 20, 300);
    lab_parameter(l, "c", "%d", C);
    lab_parameter(l, "filters of each kind, other keys in each", "%llu, %d", (unsigned long long)filters, OTHERS);
    lab_plot *plot = lab_draw(l, "One key, added again and again", "adds", "its least counter", 0);
    lab_series *curve = lab_curve(plot, "copies, up to 2^c − 2");
    for (unsigned i = 1; i <= ADDS; i++)
        lab_at(curve, i, lab_exact(i < TOP ? i : TOP - 1));
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        score least_of = {.copies = ADDS, .refused = ADDS, .top = TOP, .stuck_on_top = TOP, .removed = 2 * ADDS},
              sum = {0};
        lab_series *points = lab_points(plot, "%s", KINDS[k]);
        for (uint64_t i = 0; i < filters; i++) {
            score s = {0};
            once(l, KINDS[k], &s, i == 0 ? points : NULL);
            add_twice(l, KINDS[k], &s);
            sum.remembered += s.remembered;
            sum.forgotten += s.forgotten;
            least_of.copies = s.copies < least_of.copies ? s.copies : least_of.copies;
            least_of.refused = s.refused < least_of.refused ? s.refused : least_of.refused;
            least_of.top = s.top < least_of.top ? s.top : least_of.top;
            least_of.stuck_on_top = s.stuck_on_top < least_of.stuck_on_top ? s.stuck_on_top : least_of.stuck_on_top;
            least_of.removed = s.removed < least_of.removed ? s.removed : least_of.removed;
            sum.changed += s.changed;
            sum.lost += s.lost;
            sum.others += s.others;
            lab_going(l, ((double)k + (double)i / (double)filters) / 2);
        }
        const char *name = KINDS[k];
        lab_find(l, LAB_MUST, LAB_EQUALS, TOP - 1, lab_exact((double)least_of.copies), "%s: copies taken of %d", name,
                 ADDS);
        lab_find(l, LAB_MUST, LAB_EQUALS, ADDS - TOP + 1, lab_exact((double)least_of.refused), "%s: copies refused",
                 name);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)sum.changed), "%s: refusals that changed a counter",
                 name);
        lab_find(l, LAB_MUST, LAB_EQUALS, TOP, lab_exact((double)least_of.top),
                 "%s: the least counter of the key with 28 copies merged", name);
        lab_find(l, LAB_MUST, LAB_EQUALS, 2 * (TOP - 1), lab_exact((double)least_of.removed),
                 "%s: copies removed of the 28", name);
        lab_find(l, LAB_MUST, LAB_EQUALS, TOP, lab_exact((double)least_of.stuck_on_top),
                 "%s: the least counter of the key after 28 removals", name);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)sum.lost), "%s: other keys lost, of %llu", name,
                 (unsigned long long)sum.others);
        lab_find(l, LAB_MUST, LAB_EQUALS, (double)filters, lab_exact((double)sum.remembered),
                 "%s: filters of %llu, a key added twice and removed once: still answered yes", name,
                 (unsigned long long)filters);
        lab_find(l, LAB_MUST, LAB_EQUALS, (double)filters, lab_exact((double)sum.forgotten),
                 "%s: filters of %llu, a key added twice and removed twice: answered no", name,
                 (unsigned long long)filters);
        lab_find(l, LAB_LOOSE, LAB_AT_MOST, 1, lab_exact((double)least_of.copies),
                 "%s: [3], \"will not accommodate duplicate item\": copies of one key", name);
    }
}

const lab_claim lab_K4 = {
    .id = "K4",
    .title = "one key added too often",
    .sentence = "One key added 2^c + 5 times: its counters saturate and stick, and no other key is lost.",
    .formula = NULL,
    .code = "src/family/counters.h",
    .note = "[3] says that counters will not accommodate duplicate items. As a multiset they keep copies, up to "
            "what a counter holds: 14 of a key here. As a set, which is what [3] speaks of, they do not: a key "
            "that is added twice and removed once should be out, and is answered yes.",
    .run = run,
};
