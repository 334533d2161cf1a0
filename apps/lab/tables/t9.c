/* T9: chaining, the cost of a deletion.
 *
 * [1] says that deleting x takes O(1 + l(x)) time, where l(x) is the length of the list of x's slot. A deletion walks
 * along the list to its key and takes the node out, so it visits at most l(x) nodes; for an absent key it visits all of
 * them. The trace shows each node, and the slot. The lab counts the keys of each slot itself, so l(x) is known.
 *
 * The mean follows from that. The key is one of the n keys, each as likely as the others, so its list has (n - 1)/m
 * other keys on average, and half of them come before it, whatever their order: 1 + (n - 1)/(2m) nodes. After each
 * deletion the key is inserted again, so that the load stays the same. */
#include "steps.h"

typedef struct removal_steps {
    uint64_t looks, slot;
} removal_steps;

static void count(void *context, kith_step step, uint64_t slot, uint64_t to) {
    removal_steps *s = context;
    (void)to;
    s->looks += step == KITH_STEP_LOOK;
    s->slot = step == KITH_STEP_LOOK ? slot : s->slot;
}

typedef struct tally {
    lab_sample present, absent;
    uint64_t removals, too_many;     /* … that visited more than l(x) nodes */
    uint64_t absent_removals, other; /* … that did not visit exactly l(x) */
} tally;

static void one_table(lab *l, uint64_t m, uint64_t n, tally *t) {
    removal_steps s = {0};
    kith_table_spec spec = steps_spec("chain", m, "grow=no");
    kith_table *table = lab_traced(l, &spec, count, &s);
    uint64_t *length = lab_take(l, m * sizeof *length), *slots = lab_take(l, n * sizeof *slots);
    for (uint64_t i = 0; i < n; i++) {
        put_word(l, table, lab_key(l, i));
        lab_require(l, has_word(table, lab_key(l, i)) && s.slot < m, "a key that was inserted is not found");
        slots[i] = s.slot;
        length[s.slot]++;
    }
    uint64_t present = 0, absent = 0;
    for (uint64_t i = 0; i < m; i++) {
        uint64_t which = lab_below(l, n);
        word_key key = key_of(lab_key(l, which)), other = key_of(lab_key(l, n + i));
        s.looks = 0;
        lab_must(l, kith_table_remove(table, key.bytes, sizeof key.bytes, NULL), "removing a key");
        present += s.looks;
        t->too_many += s.looks > length[slots[which]];
        put_word(l, table, lab_key(l, which));
        s = (removal_steps){0};
        lab_require(l, kith_table_remove(table, other.bytes, sizeof other.bytes, NULL) == KITH_E_ABSENT,
                    "a key that was never inserted is removed");
        absent += s.looks;
        t->other += s.looks > 0 && s.looks != length[s.slot];
    }
    t->removals += m;
    t->absent_removals += m;
    lab_sample_add(&t->present, (double)present / (double)m);
    lab_sample_add(&t->absent, (double)absent / (double)m);
    lab_drop(l, slots);
    lab_drop(l, length);
    lab_drop(l, table);
}

static void run(lab *l) {
    uint64_t m = lab_number(l, "slots"), tables = lab_number(l, "tables");
    size_t count_of_loads;
    double loads[LAB_NUMBERS_MAX];
    const double *given = lab_numbers(l, "load", &count_of_loads);
    for (size_t i = 0; i < count_of_loads; i++)
        loads[i] = given[i];
    lab_parameter(l, "slots", "%llu", (unsigned long long)m);
    lab_parameter(l, "tables", "%llu", (unsigned long long)tables);
    lab_plot *plot = lab_draw(l, "Deletion from a table with chaining", "load α, keys per slot", "nodes visited",
                              LAB_LOG_X | LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "1 + α/2 − α/(2n)"), *points = lab_points(plot, "present keys");
    lab_series *absent_curve = lab_curve(plot, "α"), *absent_points = lab_points(plot, "absent keys");
    tally all = {0};
    for (size_t i = 0; i < count_of_loads; i++) {
        uint64_t n = (uint64_t)(loads[i] * (double)m);
        n = n > 0 ? n : 1;
        double load = (double)n / (double)m, mean = 1 + load / 2 - load / (2 * (double)n);
        tally t = {0};
        for (uint64_t table = 0; table < tables; table++) {
            one_table(l, m, n, &t);
            lab_progress(l, ((double)i + (double)table / (double)tables) / (double)count_of_loads);
        }
        lab_find(l, LAB_EQUALS, mean, lab_mean(&t.present), "deletion of a present key, load %.2f: nodes visited",
                 load);
        lab_find(l, LAB_EQUALS, load, lab_mean(&t.absent), "deletion of an absent key, load %.2f: nodes visited", load);
        lab_at(curve, load, lab_exact(mean));
        lab_at(points, load, lab_mean(&t.present));
        lab_at(absent_curve, load, lab_exact(load));
        lab_at(absent_points, load, lab_mean(&t.absent));
        all.removals += t.removals;
        all.absent_removals += t.absent_removals;
        all.too_many += t.too_many;
        all.other += t.other;
    }
    lab_find_stated(l, LAB_MUST, "[1]: \"Inserting and deleting x also take O(1 + l(x)) time\"", LAB_EQUALS, 0,
                    lab_exact((double)all.too_many), "deletions that visit more than l(x) nodes, of %llu",
                    (unsigned long long)all.removals);
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)all.other),
             "deletions of absent keys that do not visit exactly l(x) nodes, of %llu",
             (unsigned long long)all.absent_removals);
}

const lab_claim lab_T9 = {
    .id = "T9",
    .title = "chaining, deletion",
    .sentence = "Deleting x from a table with chaining visits at most l(x) nodes, the length of its list: 1 + α/2 − "
                "α/(2n) on average for a present key and α for an absent one.",
    .formula = "O(1 + l(x))",
    .code = "src/tables/chain.c",
    .decides = "deletion of a present key, load 8.00",
    .settings = {LAB_SIZE("slots", 256, 2048, 4, 1e6, "slots of each table"),
                 LAB_SIZE("tables", 100, 400, 2, 1e6, "tables of each load"),
                 LAB_LIST("load", "0.25,1,8", "0.25,0.5,1,2,4,8", 0.01, 1000, 0.01, 1000, "keys per slot")},
    .run = run,
};
