/* K4: one key added 2^c + 5 times, with counters of c = 4 bits.
 *
 * The library accepts 2^c - 2 = 14 copies of a key and refuses more with KITH_E_COPIES, so that a single key never
 * brings a counter to its maximum. A merge can exceed that: two filters with 14 copies of the key each have 28
 * together, but counters end at 15, and are stuck there. Removing the key 28 times decrements none of them. The key
 * is still found, which is a false positive, and every other key is still found too. Counters that wrap around would
 * be at 28 mod 16 = 12, and the last removals would bring them below 0 or decrement the counters of other keys.
 *
 * [3] says that counters will not accommodate duplicate items. Its operations are those of a set: insert is S ← S ∪
 * {x}, delete is S ← S − {x}. So after insert, insert, delete the key is not in S, but the filter still finds it. That
 * is what is tested. As a multiset counters do accommodate duplicates, up to 14 copies. */
#include <stdio.h>
#include <string.h>

#include <lab/experiment.h>

enum { OTHERS = 100 };

/* Counters of c bits: their maximum, how often the key is added, and a capacity that is enough for two copies of the
 * filter. blocked_counting has only counters of 4 bits. */
typedef struct width {
    uint64_t top, adds, capacity;
    char options[16];
} width;

static width width_of(lab *l) {
    unsigned c = (unsigned)lab_number(l, "width");
    width w = {(UINT64_C(1) << c) - 1, (UINT64_C(1) << c) + 5, 268 + (UINT64_C(2) << c), ""};
    (void)snprintf(w.options, sizeof w.options, "width=%u", c);
    return w;
}

/* The counters of a kind without the option `width` have 4 bits. */
static const char *options_of(const char *kind, const width *w) {
    const kith_kind_info *info = kith_filter_kind_named(kind);
    for (size_t i = 0; i < info->option_count; i++)
        if (strcmp(info->options[i].name, "width") == 0)
            return w->options;
    return NULL;
}

static const char *const KINDS[] = {"counting", "blocked_counting"};

typedef struct lowest {
    uint64_t value;
    unsigned counters;
} lowest;

static void note_lowest(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    lowest *at = context;
    (void)cell, (void)wanted;
    at->value = at->counters++ == 0 || holds < at->value ? holds : at->value;
}

typedef struct score {
    uint64_t copies, refused;        /* of ADDS adds: accepted and refused */
    uint64_t changed;                /* refused adds that changed a counter */
    uint64_t merged, after_removals; /* the key's lowest counter after the merge, and after all removals */
    uint64_t removed, lost, others;
    uint64_t found_after_one;     /* a key added twice is still found after one removal */
    uint64_t not_found_after_two; /* … and not found after the second */
} score;

static uint64_t sum_of_cells(const kith_filter *f, uint64_t cells) {
    uint64_t sum = 0;
    for (uint64_t c = 0; c < cells; c++)
        sum += (c + 1) * kith_filter_cell(f, c);
    return sum;
}

static void add_often(lab *l, kith_filter *f, const width *w, uint64_t cells, uint64_t key, score *s,
                      lab_series *points) {
    uint64_t digest = kith_filter_digest(f, &key, sizeof key);
    for (uint64_t i = 1; i <= w->adds; i++) {
        uint64_t before = sum_of_cells(f, cells);
        kith_status status = kith_filter_add(f, &key, sizeof key, NULL);
        if (status != KITH_E_COPIES)
            lab_must(l, status, "adding a copy");
        s->copies += status == KITH_OK;
        s->refused += status == KITH_E_COPIES;
        s->changed += status == KITH_E_COPIES && sum_of_cells(f, cells) != before;
        lowest now = {0};
        (void)kith_filter_look(f, digest, note_lowest, &now);
        if (points != NULL)
            lab_at(points, (double)i, lab_exact((double)now.value));
    }
}

static void add_twice(lab *l, const char *kind, const width *w, score *s) {
    kith_filter *f = lab_filter(l, kind, w->capacity, 0.001, 0, options_of(kind, w));
    uint64_t key = lab_key(l, OTHERS);
    for (unsigned i = 0; i < 2; i++)
        lab_must(l, kith_filter_add(f, &key, sizeof key, NULL), "adding a key");
    lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing it once");
    s->found_after_one = kith_filter_has(f, &key, sizeof key);
    lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing it again");
    s->not_found_after_two = !kith_filter_has(f, &key, sizeof key);
    lab_drop(l, f);
}

static void once(lab *l, const char *kind, const width *w, score *s, lab_series *points) {
    kith_filter *a = lab_filter(l, kind, w->capacity, 0.001, 0, options_of(kind, w)), *b = NULL;
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    uint64_t key = lab_key(l, OTHERS), digest = kith_filter_digest(a, &key, sizeof key);
    lab_must(l, kith_filter_stats_of(a, &stats), "reading statistics");
    add_often(l, a, w, stats.cells, key, s, points);
    lab_must(l, kith_filter_clone(a, NULL, &b), "copying the filter");
    lab_fill(l, a, 0, OTHERS);
    kith_status status = kith_filter_merge(a, b); /* of the same kind, geometry and hash */
    kith_filter_free(b);
    lab_must(l, status, "merging");
    lowest merged = {0}, after = {0};
    (void)kith_filter_look(a, digest, note_lowest, &merged);
    while (s->removed < 2 * (w->top - 1) && kith_filter_remove(a, &key, sizeof key) == KITH_OK)
        s->removed++;
    (void)kith_filter_look(a, digest, note_lowest, &after);
    s->merged = merged.value;
    s->after_removals = after.value;
    s->others = OTHERS;
    s->lost = OTHERS - lab_count_found(l, a, 0, OTHERS);
    lab_drop(l, a);
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters");
    width w = width_of(l);
    double top = (double)w.top, adds = (double)w.adds;
    lab_parameter(l, "width", "%llu", (unsigned long long)lab_number(l, "width"));
    lab_parameter(l, "filters of each kind, other keys in each", "%llu, %d", (unsigned long long)filters, OTHERS);
    lab_plot *plot = lab_draw(l, "One key, added repeatedly", "adds", "its lowest counter", 0);
    lab_series *curve = lab_curve(plot, "copies, up to 2^c − 2");
    for (double i = 1; i <= adds; i++)
        lab_at(curve, i, lab_exact(i < top ? i : top - 1));
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        if (!lab_wants(l, "kind", KINDS[k]) || (k > 0 && w.top != 15))
            continue;
        score least_of = {.copies = w.adds,
                          .refused = w.adds,
                          .merged = w.top,
                          .after_removals = w.top,
                          .removed = 2 * w.adds},
              sum = {0};
        lab_series *points = lab_points(plot, "%s", KINDS[k]);
        for (uint64_t i = 0; i < filters; i++) {
            score s = {0};
            once(l, KINDS[k], &w, &s, i == 0 ? points : NULL);
            add_twice(l, KINDS[k], &w, &s);
            sum.found_after_one += s.found_after_one;
            sum.not_found_after_two += s.not_found_after_two;
            least_of.copies = s.copies < least_of.copies ? s.copies : least_of.copies;
            least_of.refused = s.refused < least_of.refused ? s.refused : least_of.refused;
            least_of.merged = s.merged < least_of.merged ? s.merged : least_of.merged;
            least_of.after_removals =
                s.after_removals < least_of.after_removals ? s.after_removals : least_of.after_removals;
            least_of.removed = s.removed < least_of.removed ? s.removed : least_of.removed;
            sum.changed += s.changed;
            sum.lost += s.lost;
            sum.others += s.others;
            lab_progress(l, ((double)k + (double)i / (double)filters) / 2);
        }
        const char *name = KINDS[k];
        double merged = 2 * (top - 1);
        lab_find(l, LAB_EQUALS, top - 1, lab_exact((double)least_of.copies), "%s: copies accepted of %.0f", name, adds);
        lab_find(l, LAB_EQUALS, adds - top + 1, lab_exact((double)least_of.refused), "%s: copies refused", name);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)sum.changed), "%s: refused adds that changed a counter", name);
        lab_find(l, LAB_EQUALS, top, lab_exact((double)least_of.merged),
                 "%s: lowest counter of the key after the merge, with %.0f copies", name, merged);
        lab_find(l, LAB_EQUALS, merged, lab_exact((double)least_of.removed), "%s: copies removed of the %.0f", name,
                 merged);
        lab_find(l, LAB_EQUALS, top, lab_exact((double)least_of.after_removals),
                 "%s: lowest counter of the key after %.0f removals", name, merged);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)sum.lost), "%s: other keys not found, of %llu", name,
                 (unsigned long long)sum.others);
        lab_find_stated(
            l, LAB_MUST, "[3]: \"it will not accommodate duplicate item due to repeating value of the counter\"",
            LAB_EQUALS, (double)filters, lab_exact((double)sum.found_after_one),
            "%s: filters of %llu that still find a key after insert, insert, delete; by [3]'s S − {x} it is "
            "not in the set",
            name, (unsigned long long)filters);
        lab_find(l, LAB_EQUALS, (double)filters, lab_exact((double)sum.not_found_after_two),
                 "%s: filters of %llu in which a key added twice and removed twice is not found", name,
                 (unsigned long long)filters);
    }
}

const lab_claim lab_K4 = {
    .id = "K4",
    .title = "one key added too often",
    .sentence = "If one key is added 2^c + 5 times, its counters saturate and stay there, and no other key is lost.",
    .formula = NULL,
    .code = "src/kinds/shared/counter_cells.h",
    .note =
        "[3] says that counters will not accommodate duplicate items. With its own operations, S ← S ∪ {x} and S ← S "
        "− {x}, that is right: a key that is inserted twice and deleted once is not in the set, but is still "
        "found. As a multiset they do accommodate duplicates, up to the limit of a counter: 14 copies of a key "
        "here.",
    .decides = "counting: copies accepted",
    .settings = {LAB_SIZE("filters", 20, 300, 1, 100000, "filters of each kind"),
                 LAB_WHOLE("width", "4", 2, 8, 2, 8, "bits of a counter (blocked_counting: only 4)"),
                 LAB_WORD("kind", "all", "all counting blocked_counting", "kind of filter")},
    .run = run,
};
