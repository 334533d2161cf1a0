/* C16: the three benefits that [4] lists, and how many of them each kind of table has:
 *
 *     1  worst-case constant-time lookup and deletion
 *     2  expected constant-time insertion
 *     3  a table only slightly larger than the space needed to keep all elements
 *
 * "Standard hash tables only allow for at most two of these" is a statement about all tables that could be called
 * standard, and no experiment can show it. What can be shown is which of the three the tables have that the documents
 * describe. Each kind is filled to its usual load with few and with many keys, and judged as follows:
 *
 *     1  the worst lookup of all keys takes no more steps with many keys than with few
 *     2  the mean insertion takes at most a tenth more steps with many keys than with few
 *     3  a key takes at most twice the bits of a key and its value, 128
 *
 * A step reads a key of a list, an element of an array, a node, a slot or a bucket. An insertion also counts the keys
 * that it moves. 1.5 slots per key are surely more than "slightly larger". */
#include <math.h>

#include <lab/tables/steps.h>

enum { ENTRY_BITS = 128, LIST_MOST = 1536 };

typedef struct kind {
    const char *word; /* the value of the setting `kind` */
    const char *name, *table, *options;
    bool properties[3]; /* that it has, by the theory */
    bool is_standard;
} kind;

static const kind KINDS[] = {
    {"list", "list", "list", NULL, {false, false, true}, true},
    {"array", "array", "bitset", "universe=67108864", {true, true, false}, true},
    {"chain", "chaining", "chain", NULL, {false, true, false}, true},
    {"probe", "open addressing", "probe", "sequence=double", {false, true, true}, true},
    {"cuckoo", "cuckoo, 4 slots per bucket", "cuckoo", "d=2 b=4 load=95", {true, true, true}, false},
    {"cuckoo", "cuckoo, 1 slot per bucket", "cuckoo", "layout=two d=2 b=1", {true, true, false}, false},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

typedef struct measured {
    lab_sample worst, insertion, bits, slots;
} measured;

/* The keys of an array must be below its universe. */
static uint64_t key_at(uint64_t i) {
    return i * UINT64_C(0x9e3779b97f4a7c15) % 67108864;
}

static void fill(lab *l, const kind *k, uint64_t n, measured *m) {
    steps s = {0};
    kith_table_spec spec = steps_spec(k->table, n, k->options);
    kith_table *t = steps_table(l, &spec, &s);
    for (uint64_t i = 0; i < n; i++)
        put_word(l, t, key_at(i));
    lab_sample_add(&m->insertion, (double)(s.looks + s.moves) / (double)n);
    uint64_t worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        s.looks = 0;
        lab_require(l, has_word(t, key_at(i)), "a table has lost a key");
        worst = s.looks > worst ? s.looks : worst;
    }
    lab_sample_add(&m->worst, (double)worst);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(t, &stats), "reading the size");
    lab_sample_add(&m->bits, 8 * (double)stats.bytes / (double)n);
    lab_sample_add(&m->slots, (double)stats.slots / (double)n);
    lab_drop(l, t);
}

static void judge(lab *l, const kind *k, const measured *few, const measured *many) {
    bool has[3] = {many->worst.mean <= few->worst.mean, many->insertion.mean <= 1.1 * few->insertion.mean,
                   many->bits.mean <= 2 * ENTRY_BITS};
    lab_find(l, LAB_EQUALS, k->properties[0], lab_exact(has[0]),
             "%s: 1, lookups in constant time (worst: %.3g steps with few keys, %.3g with many)", k->name,
             few->worst.mean, many->worst.mean);
    lab_find(l, LAB_EQUALS, k->properties[1], lab_exact(has[1]),
             "%s: 2, insertions in constant time (mean: %.3g steps with few keys, %.3g with many)", k->name,
             few->insertion.mean, many->insertion.mean);
    lab_find(l, LAB_EQUALS, k->properties[2], lab_exact(has[2]), "%s: 3, little space (%.4g bits per key)", k->name,
             many->bits.mean);
    if (k->is_standard)
        lab_find_stated(l, LAB_MUST,
                        "[4]: \"Standard hash tables only allow for at most two of these properties to hold "
                        "simultaneously\"",
                        LAB_AT_MOST, 2, lab_exact(has[0] + has[1] + has[2]), "%s: properties of the three", k->name);
    else if (k->properties[2])
        lab_find(l, LAB_EQUALS, 3, lab_exact(has[0] + has[1] + has[2]), "%s: properties of the three", k->name);
    else
        lab_find_stated(l, LAB_LOOSE,
                        "[4]: \"uses table size only slightly larger than the space needed to keep all elements\"",
                        LAB_AT_MOST, 1.5, lab_exact(many->slots.mean), "%s: slots per key", k->name);
}

static void run(lab *l) {
    uint64_t tables = lab_number(l, "tables"), few_keys = lab_number(l, "few"), many_keys = lab_number(l, "many");
    lab_parameter(l, "keys", "%llu and %llu", (unsigned long long)few_keys, (unsigned long long)many_keys);
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    lab_plot *plot = lab_draw(l, "The worst lookup of all keys", "keys", "steps", LAB_LOG_X | LAB_LOG_Y);
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        const kind *k = &KINDS[i];
        if (!lab_wants(l, "kind", k->word))
            continue;
        lab_series *points = lab_points(plot, "%s", k->name);
        measured few = {0}, many = {0};
        uint64_t most = i == 0 && many_keys > LIST_MOST ? LIST_MOST : many_keys; /* filling a list is quadratic */
        for (uint64_t t = 0; t < tables; t++) {
            fill(l, k, few_keys, &few);
            fill(l, k, most, &many);
            lab_progress(l, (i + (double)t / (double)tables) / KIND_COUNT);
        }
        judge(l, k, &few, &many);
        lab_at(points, (double)few_keys, lab_exact(few.worst.mean));
        lab_at(points, (double)most, lab_exact(many.worst.mean));
    }
}

const lab_claim lab_C16 = {
    .id = "C16",
    .title = "three benefits, of which standard tables have at most two",
    .sentence = "Cuckoo hashing has lookups in constant time in the worst case, insertions in constant expected time, "
                "and a table that is only slightly larger than its keys. Each of the other tables lacks one of these.",
    .formula = NULL,
    .code = "src/tables/table.c",
    .note =
        "[4] says that standard hash tables have at most two of the three properties. This is about all tables that "
        "could be called standard, so it cannot be measured; the list, the array, chaining and open addressing have "
        "one or two. The cuckoo hashing that [4] analyses, with one slot per bucket, has two of the three as well: "
        "it needs more than two slots per key. With four slots per bucket, 1.05 slots per key are enough, and all "
        "three hold.",
    .decides = "cuckoo, 4 slots per bucket: properties of the three",
    .settings = {LAB_SIZE("tables", 30, 40, 1, 100000, "tables of each size"),
                 LAB_SIZE("few", 768, 768, 96, 1e6, "few keys; 3 times a power of two"),
                 LAB_SIZE("many", 12288, 98304, 192, 4e6, "many keys; 3 times a power of two"),
                 LAB_WORD("kind", "all", "all list array chain probe cuckoo", "kind of table")},
    .run = run,
};
