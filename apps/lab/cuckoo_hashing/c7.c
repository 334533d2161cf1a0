/* C7: an insertion fails exactly when its component would have more keys than slots.
 *
 * Small tables are filled until the first failure (new hash functions, or growth), and the graph (cuckoo_graph.h) is
 * updated along with them. Before each insertion the graph shows whether the component that the key completes has more
 * keys than slots. The table must fail in that case and in no other. Every insertion is checked. Tables have 8 to 64
 * slots, so that failures are frequent and early.
 *
 * insert=search searches the whole component. In tables of this size insert=walk is limited to m steps and needs at
 * most two per key, so up to a load of 1/2 it is checked in the same way. Above that load, walks that the limit stopped
 * are counted and shown.
 *
 * A walk that reaches a slot for the second time has gone around a cycle. It goes back the way it came, moves the new
 * key to its other slot and continues from there. Walks of this kind that end successfully are counted, too: they
 * refute the statement of [0] that such walks never end. After a failure every key is looked up, to show that none was
 * dropped.
 *
 * [2] says that a key is dropped when a loop is formed, that is, when a displaced key takes back the place of the new
 * key. Its steps are those of insert=walk with evict=first: the new key takes its place in the first table even if the
 * one in the second table is free. So loops are counted in tables with these options, and among them those after which
 * no place is found. kith then draws new functions. To see what dropping a key does, the steps of [2] are also followed
 * by the lab itself, with two arrays and the same maximum number of evictions. */
#include <string.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"

enum { SLOTS_MAX = 64 };

typedef struct variant {
    const char *name, *options;
    bool walks;
} variant;

static const variant VARIANTS[] = {
    {"one table, search", "layout=one d=2 b=1 insert=search load=100", false},
    {"two halves, search", "layout=two d=2 b=1 insert=search load=100", false},
    {"one table, walk", "layout=one d=2 b=1 insert=walk load=100", true},
    {"two halves, walk", "layout=two d=2 b=1 insert=walk load=100", true},
    {"two halves, walk of [2]", "layout=two d=2 b=1 insert=walk evict=first max=500 load=100", true},
};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS, OF_DOCUMENT = VARIANT_COUNT - 1 };

/* What one insertion did, up to its failure. */
typedef struct insertion {
    uint64_t visited; /* one bit per slot */
    bool started, returned, failed;
} insertion;

static void follow(void *context, kith_step step, uint64_t slot, uint64_t to) {
    insertion *c = context;
    if (step == KITH_STEP_REHASH || step == KITH_STEP_GROW)
        c->failed = true;
    if (c->failed)
        return;
    if (step == KITH_STEP_LOOK && !c->started) {
        c->started = true;
        c->visited = UINT64_C(1) << slot;
    }
    if (step == KITH_STEP_MOVE) {
        c->returned |= (c->visited >> to & 1) != 0;
        c->visited |= UINT64_C(1) << to;
    }
}

typedef struct tally {
    uint64_t insertions, failures, wrong;
    uint64_t lost;             /* keys that are not found after the failure */
    uint64_t stopped;          /* walks that the limit stopped, above a load of 1/2 */
    uint64_t returned;         /* walks that reached a slot twice and still succeeded */
    uint64_t loops, left_over; /* up to a load of 1/2: walks that reached a slot twice, and those that then failed */
} tally;

/* Fills one table until it fails. Returns how many keys it held. */
static uint64_t fill(lab *l, const variant *v, candidates *c, const components *graph, tally *t) {
    insertion now = {0};
    kith_table_spec spec = steps_spec(c->slots, VARIANTS[strstr(v->options, "layout=two") != NULL].options);
    spec.seed = lab_random(l) | 1;
    candidates_read(l, c, &spec); /* with insert=search: evict=first would move the blockers */
    spec.options = v->options;
    components_clear(graph, c->slots);
    kith_table *table = lab_traced(l, &spec, follow, &now);
    check_slots(l, table, c->slots);
    uint64_t keys = 0;
    for (; keys < c->keys && !now.failed; keys++) {
        uint64_t key = lab_key(l, keys);
        bool overfull = components_join(graph, c->first[keys], c->second[keys]).overfull;
        now = (insertion){0};
        lab_must(l, kith_table_put(table, &key, sizeof key, keys, NULL), "inserting a key");
        bool stopped = v->walks && 2 * (keys + 1) > c->slots && now.failed && !overfull;
        t->insertions++;
        t->failures += now.failed;
        t->stopped += stopped;
        t->wrong += now.failed != overfull && !stopped;
        t->returned += now.returned && !now.failed;
        t->loops += 2 * (keys + 1) <= c->slots && (now.returned || now.failed);
        t->left_over += 2 * (keys + 1) <= c->slots && now.failed;
    }
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = lab_key(l, i);
        t->lost += !kith_table_has(table, &key, sizeof key);
    }
    lab_must(l, kith_table_check(table, NULL), "checking a table after its failure");
    lab_drop(l, table);
    return keys - 1;
}

/* ---- the procedure of [2] ---- */

/* Two tables of HALF places, and a maximum number of evictions. A key's places are drawn at random. */
enum { HALF = 32, EVICTIONS_MAX = 500, NOBODY = -1 };

typedef struct document {
    int at[2][HALF], place[2][2 * HALF];
    uint64_t insertions, loops, dropped, dropped_in_loops, lost;
} document;

/* Inserts key x by the steps of [2]. Returns the key that is left without a place, or NOBODY. */
static int insert_by_document(document *d, int x, bool *loop) {
    int homeless = x;
    for (unsigned step = 0; step < EVICTIONS_MAX; step++) {
        unsigned table = step % 2;
        int *place = &d->at[table][d->place[table][homeless]], evicted = *place;
        *place = homeless;
        if (evicted == NOBODY)
            return NOBODY;
        *loop |= step > 0 && evicted == x;
        homeless = evicted;
    }
    return homeless;
}

/* Fills tables until they hold as many keys as one of the two has places, a load of 1/2. */
static void follow_document(lab *l, uint64_t tables, document *d) {
    for (uint64_t t = 0; t < tables; t++) {
        for (unsigned i = 0; i < HALF; i++)
            d->at[0][i] = d->at[1][i] = NOBODY;
        for (int x = 0; x < HALF; x++) {
            bool loop = false;
            d->place[0][x] = (int)lab_below(l, HALF);
            d->place[1][x] = (int)lab_below(l, HALF);
            int homeless = insert_by_document(d, x, &loop);
            d->insertions++;
            d->loops += loop;
            d->dropped += homeless != NOBODY;
            d->dropped_in_loops += loop && homeless != NOBODY;
        }
        for (int x = 0; x < HALF; x++)
            d->lost += d->at[0][d->place[0][x]] != x && d->at[1][d->place[1][x]] != x;
    }
}

static const char DROPPED[] =
    "[2]: \"a loop is formed … In this case, after a number of iterations the element without a "
    "place is just dropped\"";

static void measure_document(lab *l, uint64_t tables) {
    document *d = lab_take(l, sizeof *d);
    follow_document(l, tables, d);
    lab_require(l, d->loops > 0 && d->dropped > 0, "no insertion by the steps of [2] has a loop or drops a key");
    lab_find_stated(l, LAB_WRONG, DROPPED, LAB_EQUALS, 1, lab_share(d->dropped_in_loops, d->loops),
                    "by the steps of [2]: share of the %llu loops after which a key is dropped",
                    (unsigned long long)d->loops);
    lab_find(l, LAB_EQUALS, (double)d->dropped, lab_exact((double)d->lost),
             "by the steps of [2]: keys that are not found at the end, one for each key dropped");
    lab_drop(l, d);
}

static void run(lab *l) {
    uint64_t tables = lab_number(l, "tables");
    lab_parameter(l, "tables", "%llu of each size and variant", (unsigned long long)tables);
    double sizes[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "m", sizes);
    lab_parameter(l, "slots", "%s", lab_word(l, "m"));
    lab_plot *plot = lab_draw(l, "First failure of a small table", "keys", "share of tables that failed", 0);
    tally sums[VARIANT_COUNT] = {{0}};
    for (size_t size = 0; size < count; size++) {
        uint64_t m = (uint64_t)sizes[size] / 2 * 2, failed_at[SLOTS_MAX + 1] = {0};
        candidates c = candidates_new(l, m, m + 1);
        components graph = components_new(l, m);
        for (unsigned v = 0; v < VARIANT_COUNT; v++)
            for (uint64_t i = 0; i < tables; i++) {
                uint64_t held = fill(l, &VARIANTS[v], &c, &graph, &sums[v]);
                failed_at[held] += v == 0;
                lab_progress(l, ((double)size + (v + (double)i / (double)tables) / VARIANT_COUNT) / (double)count);
            }
        lab_series *curve = lab_curve(plot, "exact, m = %llu", (unsigned long long)m);
        lab_series *points = lab_points(plot, "m = %llu, one table, search", (unsigned long long)m);
        uint64_t failed = 0;
        for (uint64_t n = 1; n <= m; n++) {
            failed += failed_at[n - 1];
            double exact = 1 - probability_all_fit(n, m);
            lab_at(curve, (double)n, lab_exact(exact));
            lab_at(points, (double)n, lab_share(failed, tables));
            if (2 * n == m)
                lab_find(l, LAB_EQUALS, exact, lab_share(failed, tables),
                         "m = %llu: share of tables that fail within m/2 keys", (unsigned long long)m);
        }
    }
    uint64_t returned = 0, lost = 0;
    for (unsigned v = 0; v < VARIANT_COUNT; v++) {
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)sums[v].wrong),
                 "%s: insertions with the wrong outcome, of %llu (%llu fail)", VARIANTS[v].name,
                 (unsigned long long)sums[v].insertions, (unsigned long long)sums[v].failures);
        if (v == OF_DOCUMENT)
            lab_find(l, LAB_EQUALS, 0, lab_exact((double)sums[v].stopped),
                     "%s: walks that were stopped after 500 steps although there was a place", VARIANTS[v].name);
        else if (VARIANTS[v].walks)
            lab_find(l, LAB_SHOWN, 0, lab_exact((double)sums[v].stopped),
                     "%s: walks above a load of 1/2 that were stopped after m steps", VARIANTS[v].name);
        returned += sums[v].returned;
        lost += sums[v].lost;
    }
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)lost), "keys lost when an insertion fails");
    lab_find_stated(
        l, LAB_WRONG,
        "[0]: \"we get a cycle i.e. we reach a position that we have already reached before (meaning that the "
        "process would continue indefinitely)\"",
        LAB_EQUALS, 0, lab_exact((double)returned),
        "walks that reach a slot twice and still succeed, one table and two halves");
    lab_find_stated(l, LAB_WRONG, DROPPED, LAB_EQUALS, 1,
                    lab_share(sums[OF_DOCUMENT].left_over, sums[OF_DOCUMENT].loops),
                    "%s: share of the %llu loops up to a load of 1/2 after which no place is found",
                    VARIANTS[OF_DOCUMENT].name, (unsigned long long)sums[OF_DOCUMENT].loops);
    measure_document(l, tables);
}

const lab_claim lab_C7 = {
    .id = "C7",
    .title = "when an insertion fails",
    .sentence = "An insertion fails exactly when its component would have more keys than slots, that is, two cycles.",
    .formula = NULL,
    .code = "src/tables/cuckoo/insert.c",
    .note = "[0] draws new functions as soon as an insertion reaches a slot for the second time. That is too early: a "
            "single cycle only reverses the walk, which then succeeds on the path from the new key's other slot, "
            "unless there is a second cycle on that path. [2] says that after a loop the key without a place is "
            "just dropped. Most loops end with a place for every key; only if there is a second cycle is a key left "
            "over, and a table that drops it no longer finds it. kith undoes the walk, draws new functions and keeps "
            "every key.",
    .decides = "two halves, walk: insertions with the wrong outcome",
    .settings = {LAB_SIZE("tables", 2000, 20000, 30, 1e7, "tables of each size and variant"),
                 LAB_WHOLES("m", "8,16,32,64", "8,16,32,64", 4, 64, 8, 64, "slots")},
    .run = run,
};
