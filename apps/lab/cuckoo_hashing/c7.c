/* C7: an insertion fails just when its component would hold more keys than places.
 *
 * Small tables are filled until the first failure (new functions, or growth), and beside them the graph (places.h):
 * before each insertion the graph says whether the component that the key makes has more keys than places, and the
 * table must fail in that case and in no other. Every insertion is checked. Tables are of 8 to 64 places, so that there
 * are many failures, and early ones.
 *
 * insert=search looks through the whole component. A walk has m steps in tables so small, and needs two for each key at
 * most, so it is checked likewise up to a load of 1/2; above, those that are cut short are counted and shown.
 *
 * A walk that comes to a place where it has been before has gone round a cycle; it goes back the way it came, puts the
 * new key in its other place and goes on from there. Such walks that end are counted, too: they refute that they go on
 * for ever. After a failure every key is looked for: none is dropped. */
#include "chance.h"
#include "places.h"

static const uint64_t PLACES[] = {8, 16, 32, 64};
enum { SIZES = sizeof PLACES / sizeof *PLACES, PLACES_MAX = 64 };

typedef struct way {
    const char *name, *options;
    bool walks;
} way;

static const way WAYS[] = {
    {"one table, search", "layout=one d=2 b=1 insert=search load=100", false},
    {"two halves, search", "layout=two d=2 b=1 insert=search load=100", false},
    {"one table, walk", "layout=one d=2 b=1 insert=walk load=100", true},
    {"two halves, walk", "layout=two d=2 b=1 insert=walk load=100", true},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/* What one insertion did, up to its failure. */
typedef struct course {
    uint64_t been; /* a bit for each place */
    bool any, came_back, failed;
} course;

static void follow(void *context, kith_step step, uint64_t place, uint64_t to) {
    course *c = context;
    if (step == KITH_STEP_REHASH || step == KITH_STEP_GROW)
        c->failed = true;
    if (c->failed)
        return;
    if (step == KITH_STEP_LOOK && !c->any) {
        c->any = true;
        c->been = UINT64_C(1) << place;
    }
    if (step == KITH_STEP_MOVE) {
        c->came_back |= (c->been >> to & 1) != 0;
        c->been |= UINT64_C(1) << to;
    }
}

typedef struct tally {
    uint64_t insertions, failures, wrong;
    uint64_t lost;        /* keys that are not found after the failure */
    uint64_t cut;         /* walks that were cut short, above a load of 1/2 */
    uint64_t turned_back; /* walks that came back to a place, and ended */
} tally;

/* Fills one table until it fails; how many keys it held. */
static uint64_t fill(lab *l, const way *w, places *p, const components *graph, tally *t) {
    course c = {0};
    kith_table_spec spec = steps_spec(p->places, w->options, NULL);
    spec.seed = lab_random(l) | 1;
    places_read(l, p, &spec);
    components_clear(graph, p->places);
    spec.trace = follow;
    spec.trace_context = &c;
    kith_table *table = steps_table(l, &spec);
    uint64_t keys = 0;
    for (; keys < p->keys && !c.failed; keys++) {
        uint64_t key = lab_key(l, keys);
        bool overfull = components_join(graph, p->first[keys], p->second[keys]).overfull;
        c = (course){0};
        lab_must(l, kith_table_put(table, &key, sizeof key, keys, NULL), "putting a key in");
        bool is_cut = w->walks && 2 * (keys + 1) > p->places && c.failed && !overfull;
        t->insertions++;
        t->failures += c.failed;
        t->cut += is_cut;
        t->wrong += c.failed != overfull && !is_cut;
        t->turned_back += c.came_back && !c.failed;
    }
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = lab_key(l, i);
        t->lost += !kith_table_has(table, &key, sizeof key);
    }
    lab_must(l, kith_table_check(table, NULL), "checking a table after its failure");
    lab_drop(l, table);
    return keys - 1;
}

static void run(lab *l) {
    uint64_t tables = lab_pick(l, 2000, 20000);
    lab_parameter(l, "tables", "%llu of each size and kind", (unsigned long long)tables);
    lab_parameter(l, "places", "8, 16, 32, 64");
    lab_plot *plot = lab_draw(l, "First failure of a small table", "keys", "share of tables that failed", 0);
    tally sums[WAY_COUNT] = {{0}};
    for (unsigned size = 0; size < SIZES; size++) {
        uint64_t m = PLACES[size], failed_at[PLACES_MAX + 1] = {0};
        places p = places_take(l, m, m + 1);
        components graph = components_take(l, m);
        for (unsigned w = 0; w < WAY_COUNT; w++)
            for (uint64_t i = 0; i < tables; i++) {
                uint64_t held = fill(l, &WAYS[w], &p, &graph, &sums[w]);
                failed_at[held] += w == 0;
                lab_going(l, (size + (w + (double)i / (double)tables) / WAY_COUNT) / SIZES);
            }
        lab_series *curve = lab_curve(plot, "exactly, m = %llu", (unsigned long long)m);
        lab_series *points = lab_points(plot, "m = %llu, one table, search", (unsigned long long)m);
        uint64_t failed = 0;
        for (uint64_t n = 1; n <= m; n++) {
            failed += failed_at[n - 1];
            double exactly = 1 - chance_of_room(n, m);
            lab_at(curve, (double)n, lab_exact(exactly));
            lab_at(points, (double)n, lab_share(failed, tables));
            if (2 * n == m)
                lab_find(l, LAB_MUST, LAB_EQUALS, exactly, lab_share(failed, tables),
                         "m = %llu: share of tables that fail within m/2 keys", (unsigned long long)m);
        }
    }
    uint64_t turned_back = 0, failures = 0, lost = 0;
    for (unsigned w = 0; w < WAY_COUNT; w++) {
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)sums[w].wrong),
                 "%s: insertions that fail and should not, or should and do not, of %llu (%llu fail)", WAYS[w].name,
                 (unsigned long long)sums[w].insertions, (unsigned long long)sums[w].failures);
        if (WAYS[w].walks)
            lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact((double)sums[w].cut),
                     "%s: walks above a load of 1/2 that were cut short after m steps", WAYS[w].name);
        turned_back += sums[w].turned_back;
        failures += sums[w].failures;
        lost += sums[w].lost;
    }
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)lost), "keys lost by an insertion that failed");
    lab_find(l, LAB_WRONG, LAB_EQUALS, 0, lab_exact((double)turned_back),
             "walks that come back to a place, and yet end: [0] rehashes on them");
    lab_find(l, LAB_WRONG, LAB_EQUALS, (double)failures, lab_exact((double)lost),
             "keys dropped, one by each insertion that fails, as [2] has it");
}

const lab_claim lab_C7 = {
    .id = "C7",
    .title = "when an insertion fails",
    .sentence = "An insertion fails just when its component would hold more keys than places: two cycles.",
    .formula = NULL,
    .code = "src/tables/cuckoo_room.c",
    .note =
        "[0] draws new functions as soon as an insertion comes back to a place where it has been. That is too early: "
        "one cycle only turns it round, and it ends on the other way, unless a second cycle waits there. [2] says "
        "that the key without a place is just dropped. A table that does so is wrong for that key ever after; the "
        "walk is taken back, new functions are drawn, and every key stays.",
    .run = run,
};
