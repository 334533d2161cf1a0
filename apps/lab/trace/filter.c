/* filter.c: draws how fingerprints move in a cuckoo filter, and how the counters of a counting filter overflow.
 *
 * The cuckoo filter is that of figure 2 of [2]: 6 buckets of 4 entries, and insertion by random kicks (insert=walk),
 * the steps 1 to 9 of [2]. [2] computes the other bucket with XOR, for which the number of buckets must be a power of
 * two. With 6 buckets alternate=halves is used. The steps are those that the library reports (kith_filter_set_trace),
 * and they must turn the entries before the addition into those after it. Seeds are tried until both buckets of a new
 * key are full and it is added nevertheless.
 *
 * The counting filter gets one key more often than a counter of 4 bits can count. */
#include <stdio.h>
#include <string.h>

#include <lab/cuckoo_filter/geometry.h>
#include "example.h"

enum {
    ENTRIES = 4,
    BUCKETS = 6,
    CELLS = ENTRIES * BUCKETS,
    SEEDS_MAX = 20000,
    EARLY = 17, /* some buckets still have empty entries */
    KICKS_MAX = 500,
    STEPS_MAX = KICKS_MAX + 1, /* of a walk that succeeds */
    DRAWN_MAX = 32,            /* with the keys of the example, longer walks are not drawn */
    OFTEN = 14,                /* copies of one key before a counter of 4 bits is full */
    COUNTERS_WIDTH = 66,
    COUNTERS_MAX = 512,
    NAME_BYTES = 16
};

/* ---- the cuckoo filter ---- */

/* The entries that a lookup of an absent key reads: those of its two buckets. */
static geometry_candidates candidates_of(const kith_filter *f, const char *name) {
    return geometry_look(f, kith_filter_digest(f, name, strlen(name)));
}

static void read_cells(const kith_filter *f, uint64_t *cells) {
    for (uint64_t i = 0; i < CELLS; i++)
        cells[i] = kith_filter_cell(f, i);
}

static void draw(example *x, const uint64_t *cells, const uint64_t *before) {
    for (unsigned b = 0; b < BUCKETS; b++) {
        print(x, "   bucket %u ", b + 1);
        for (unsigned e = 0; e < ENTRIES; e++) {
            uint64_t now = cells[b * ENTRIES + e];
            char mark = before != NULL && before[b * ENTRIES + e] != now ? '*' : ' ';
            if (now == 0)
                print(x, " %c...", mark);
            else
                print(x, " %c%03llx", mark, (unsigned long long)now);
        }
        print(x, "\n");
    }
    print(x, "\n");
}

/* Creates a filter of 6 buckets of 4 entries of 12 bits. The planner has none that can be filled completely.
 * Returns NULL, and has recorded why, if there is no filter. */
static kith_filter *create_filter(example *x, uint64_t seed) {
    const geometry g = {ENTRIES, 12, BUCKETS / 2, 1, false};
    const kith_filter_parameters parameters = geometry_parameters(&g, GEOMETRY_HALVES, KICKS_MAX, 0, seed);
    kith_filter *f = NULL;
    return check_status(x, kith_filter_make(&parameters, NULL, &f)) ? f : NULL;
}

static void name_of(const example *x, unsigned i, char name[NAME_BYTES]) {
    if (x->key_count > 0)
        (void)snprintf(name, NAME_BYTES, "%s", x->keys[i]);
    else
        (void)snprintf(name, NAME_BYTES, "k%u", i + 1);
}

/* The steps of an addition, as the library reports them. */
typedef struct walk {
    uint64_t cell[STEPS_MAX], stored[STEPS_MAX], displaced[STEPS_MAX];
    unsigned count; /* may be larger than STEPS_MAX; the steps after it are not kept */
} walk;

static void record_step(void *context, uint64_t cell, uint64_t stored, uint64_t displaced) {
    walk *w = context;
    if (w->count < STEPS_MAX) {
        w->cell[w->count] = cell;
        w->stored[w->count] = stored;
        w->displaced[w->count] = displaced;
    }
    w->count++;
}

/* Adds a key and records the steps of its walk: none if it finds an empty entry. */
static kith_status add_recorded(kith_filter *f, const char *name, walk *w) {
    w->count = 0;
    kith_filter_set_trace(f, record_step, w);
    return kith_filter_add(f, name, strlen(name), NULL);
}

/* Prints the steps of a walk, or for a key that found an empty entry the one in which it is, and checks that they turn
 * the entries before into those after. */
static void print_steps(example *x, const walk *w, const uint64_t *before, const uint64_t *after) {
    uint64_t cells[CELLS];
    memcpy(cells, before, sizeof cells);
    walk direct = {.count = 0};
    for (uint64_t i = 0; i < CELLS && w->count == 0; i++)
        if (before[i] != after[i])
            record_step(&direct, i, after[i], before[i]);
    const walk *steps = w->count == 0 ? &direct : w;
    if (!check(x, steps->count > 0 && steps->count <= STEPS_MAX, "an addition has no steps, or too many"))
        return;
    for (unsigned i = 0; i < steps->count; i++) {
        uint64_t at = steps->cell[i];
        bool follows = i == 0 || steps->stored[i] == steps->displaced[i - 1];
        if (!check(x, at < CELLS && cells[at] == steps->displaced[i] && follows,
                   "a step does not follow from the last"))
            return;
        print(x, "%s %03llx to bucket %llu entry %llu", i == 0 ? "store " : "kick  ",
              (unsigned long long)steps->stored[i], (unsigned long long)at / ENTRIES + 1,
              (unsigned long long)at % ENTRIES + 1);
        if (steps->displaced[i] == 0)
            print(x, ", which is empty\n");
        else
            print(x, ", displacing %03llx\n", (unsigned long long)steps->displaced[i]);
        cells[at] = steps->stored[i];
    }
    (void)check(x, memcmp(cells, after, sizeof cells) == 0, "the steps do not give the entries of the filter");
}

/* Adds keys until one finds both of its buckets full, with other fingerprints than its own. Returns its number, or -1
 * if the filter is full before. */
static int fill(kith_filter *f, example *x) {
    for (unsigned i = 0; i < EARLY; i++) {
        char name[NAME_BYTES];
        name_of(x, i, name);
        geometry_candidates c = candidates_of(f, name);
        bool full = c.count == 2 * ENTRIES;
        for (unsigned e = 0; e < c.count; e++)
            full = full && kith_filter_cell(f, c.slot[e]) != 0 && kith_filter_cell(f, c.slot[e]) != c.code;
        if (full)
            return (int)i;
        kith_status status = kith_filter_add(f, name, strlen(name), NULL);
        if (status != KITH_OK) {
            if (status == KITH_E_MEMORY)
                (void)check_status(x, status);
            return -1;
        }
    }
    return -1;
}

/* The keys of the user may never find both buckets full. Then all additions are drawn, one after another. */
static void draw_own_keys(example *x, kith_filter *f) {
    for (unsigned i = 0; i < x->key_count && x->wrong == NULL; i++) {
        uint64_t before[CELLS], after[CELLS];
        read_cells(f, before);
        geometry_candidates c = candidates_of(f, x->keys[i]);
        walk w;
        kith_status status = add_recorded(f, x->keys[i], &w);
        print(x, "add    %s: fingerprint %03llx, buckets %llu and %llu%s\n", x->keys[i], (unsigned long long)c.code,
              (unsigned long long)c.slot[0] / ENTRIES + 1, (unsigned long long)c.slot[c.count - 1] / ENTRIES + 1,
              status == KITH_E_FULL ? ": refused, the filter is full" : "");
        if (status == KITH_E_FULL)
            return;
        read_cells(f, after);
        if (check_status(x, status))
            print_steps(x, &w, before, after);
        draw(x, after, before);
    }
}

/* Adds a key whose two buckets are full, and draws its steps. Returns false, and draws nothing, if there are too many
 * of them or the walk fails. */
static bool draw_addition(example *x, kith_filter *f, const char *name) {
    uint64_t before[CELLS], after[CELLS];
    geometry_candidates c = candidates_of(f, name);
    walk w;
    read_cells(f, before);
    if (add_recorded(f, name, &w) != KITH_OK || w.count > DRAWN_MAX)
        return false;
    draw(x, before, NULL);
    print(x, "add    %s: fingerprint %03llx, buckets %llu and %llu, both full\n", name, (unsigned long long)c.code,
          (unsigned long long)c.slot[0] / ENTRIES + 1, (unsigned long long)c.slot[c.count - 1] / ENTRIES + 1);
    read_cells(f, after);
    print_steps(x, &w, before, after);
    draw(x, after, before);
    return true;
}

static void draw_kicks(example *x) {
    for (uint64_t i = 0; check(x, i < SEEDS_MAX, "no key finds both of its buckets full"); i++) {
        kith_filter *f = create_filter(x, x->seed * SEEDS_MAX + i);
        if (f == NULL)
            return;
        int key = fill(f, x);
        char name[NAME_BYTES];
        name_of(x, (unsigned)(key < 0 ? 0 : key), name);
        bool drawn = key >= 0 && x->wrong == NULL && draw_addition(x, f, name);
        unsigned found = 0;
        for (int k = 0; k <= key && drawn; k++) {
            name_of(x, (unsigned)k, name);
            found += kith_filter_has(f, name, strlen(name));
        }
        kith_filter_free(f);
        if (drawn && check(x, found == (unsigned)key + 1, "a key that was added is not found"))
            print(x, "has    all %u keys are found\n\n", found);
        if (drawn || x->wrong != NULL)
            return;
    }
}

/* ---- figure 2 of [2] ---- */

/* The full buckets of the figure, counted from 1 there. */
enum { FULL_1 = 2 - 1, FULL_2 = 5 - 1 };

/* Returns the bucket in which the fingerprint of the key is, or BUCKETS if it is in none or more than once. */
static uint64_t bucket_of(const kith_filter *f, const geometry_candidates *c) {
    uint64_t bucket = BUCKETS, copies = 0;
    for (unsigned i = 0; i < c->count; i++)
        if (kith_filter_cell(f, c->slot[i]) == c->code) {
            bucket = c->slot[i] / ENTRIES;
            copies++;
        }
    return copies == 1 ? bucket : (uint64_t)BUCKETS;
}

static bool is_drawn_full(uint64_t bucket) {
    return bucket == FULL_1 || bucket == FULL_2;
}

/* Fills the two buckets of the figure: adds keys until they are full, and removes those in other buckets. Prints the
 * fingerprints f1 ... f8. Returns false if that is not possible with this seed. */
static bool fill_figure(example *x, kith_filter *f) {
    bool keep[CELLS] = {false};
    unsigned kept = 0, added = 0;
    char name[NAME_BYTES];
    for (; added < CELLS && kept < 2 * ENTRIES; added++) {
        (void)snprintf(name, sizeof name, "k%u", added + 1);
        walk w;
        if (add_recorded(f, name, &w) != KITH_OK || w.count > 0)
            return false;
        geometry_candidates c = candidates_of(f, name);
        keep[added] = is_drawn_full(bucket_of(f, &c));
        kept += keep[added];
    }
    unsigned number = 0;
    for (unsigned i = 0; i < added; i++) {
        (void)snprintf(name, sizeof name, "k%u", i + 1);
        if (!keep[i] && kith_filter_remove(f, name, strlen(name)) != KITH_OK)
            return false;
    }
    for (unsigned i = 0; i < added && kept == 2 * ENTRIES; i++) { /* the removals took no fingerprint of a kept key */
        (void)snprintf(name, sizeof name, "k%u", i + 1);
        geometry_candidates c = candidates_of(f, name);
        if (keep[i] && !is_drawn_full(bucket_of(f, &c)))
            return false;
    }
    if (kept < 2 * ENTRIES)
        return false;
    for (unsigned i = 0; i < added; i++) {
        (void)snprintf(name, sizeof name, "k%u", i + 1);
        geometry_candidates c = candidates_of(f, name);
        if (keep[i])
            print(x, "f%u     %03llx, of %s: buckets %llu and %llu\n", ++number, (unsigned long long)c.code, name,
                  (unsigned long long)c.slot[0] / ENTRIES + 1, (unsigned long long)c.slot[c.count - 1] / ENTRIES + 1);
    }
    print(x, "\n");
    return true;
}

/* Finds the item a of the figure: the first of a1, a2, ... with both of the full buckets and a new fingerprint. */
static bool find_item(const kith_filter *f, char name[NAME_BYTES]) {
    for (unsigned i = 1; i < SEEDS_MAX; i++) {
        (void)snprintf(name, NAME_BYTES, "a%u", i);
        geometry_candidates c = candidates_of(f, name);
        if (is_drawn_full(c.slot[0] / ENTRIES) && is_drawn_full(c.slot[c.count - 1] / ENTRIES) &&
            bucket_of(f, &c) == BUCKETS)
            return true;
    }
    return false;
}

void trace_filter_figure(example *x) {
    print_title(x, "Figure 2 of [2]: a cuckoo filter of 6 buckets with 4 entries each");
    print(x, "Buckets 2 and 5 are full with the fingerprints f1 to f8, and the two buckets of\n"
             "the new item a are these. Fingerprints are in hex, ... is an empty entry, * an\n"
             "entry that has changed.\n\n");
    for (uint64_t i = 0; check(x, i < SEEDS_MAX, "no keys fill the buckets of the figure"); i++) {
        kith_filter *f = create_filter(x, x->seed * SEEDS_MAX + i);
        if (f == NULL)
            return;
        char name[NAME_BYTES];
        bool filled = fill_figure(x, f);
        if (filled && check(x, find_item(f, name), "no item has the two buckets of the figure"))
            (void)check(x, draw_addition(x, f, name), "the item of the figure cannot be added");
        kith_filter_free(f);
        if (filled || x->wrong != NULL)
            return;
    }
}

void trace_filter(example *x) {
    print_title(x, "A cuckoo filter: random kicks in 6 buckets of 4 entries");
    print(x, "Fingerprints are in hex, ... is an empty entry, * an entry that has changed.\n");
    print(x, "The steps of [2] (insert=walk): 1 to 3 compute the fingerprint and its buckets\n"
             "and look for an empty entry. 4 to 6 swap it with a random entry (store). 7 and\n");
    print(x, "8 put the evicted one into its other bucket (kick). 9 repeats this until an\n"
             "entry is empty.\n\n");
    if (x->key_count == 0) {
        draw_kicks(x);
        return;
    }
    kith_filter *f = create_filter(x, x->seed);
    if (f != NULL)
        draw_own_keys(x, f);
    kith_filter_free(f);
}

/* ---- the counting filter ---- */

static void draw_counters(example *x, const kith_filter *f, uint64_t cells, uint64_t rows) {
    for (uint64_t row = 0; row < rows; row++) {
        char text[COUNTERS_MAX + 1] = "";
        uint64_t width = cells / rows;
        for (uint64_t i = 0; i < width; i++) {
            uint64_t value = kith_filter_cell(f, row * width + i);
            text[i] = value == 0 ? '.' : "0123456789abcdef"[value];
        }
        for (uint64_t from = 0; from < width; from += COUNTERS_WIDTH)
            print(x, "   h%llu   %.*s\n", (unsigned long long)row + 1, COUNTERS_WIDTH, text + from);
    }
    print(x, "\n");
}

static void overflow(example *x, kith_filter *f, const kith_plan *plan) {
    static const char *const OTHERS[] = {"robin", "wren"};
    const char *often = x->key_count > 0 ? x->keys[0] : "cuckoo";
    unsigned others = x->key_count > 0 ? x->key_count - 1 : 2, accepted = 0, removed = 0, found = 0;
    for (unsigned i = 0; i < others; i++) {
        const char *name = x->key_count > 0 ? x->keys[i + 1] : OTHERS[i];
        if (!check_status(x, kith_filter_add(f, name, strlen(name), NULL)))
            return;
    }
    print(x, "add    %u other keys\n", others);
    draw_counters(x, f, plan->cells, plan->hashes);
    while (kith_filter_add(f, often, strlen(often), NULL) == KITH_OK && accepted < 100)
        accepted++;
    bool refused = kith_filter_add(f, often, strlen(often), NULL) == KITH_E_COPIES;
    if (check(x, refused, "a copy is refused for another reason than the number of copies"))
        print(x, "add    %s, %u times; the next copy is refused\n", often, accepted);
    draw_counters(x, f, plan->cells, plan->hashes);
    kith_filter *copy = NULL;
    if (!check_status(x, kith_filter_clone(f, NULL, &copy)))
        return;
    (void)check_status(x, kith_filter_merge(f, copy));
    kith_filter_free(copy);
    print(x, "merge  the filter with a copy of itself: counters stop at f\n");
    draw_counters(x, f, plan->cells, plan->hashes);
    while (removed < 2 * accepted && kith_filter_remove(f, often, strlen(often)) == KITH_OK)
        removed++;
    bool still = kith_filter_has(f, often, strlen(often));
    print(x, "remove %s, %u times: %s\n", often, removed,
          still ? "f is never decremented, so it is still found" : "it is not found");
    draw_counters(x, f, plan->cells, plan->hashes);
    for (unsigned i = 0; i < others; i++) {
        const char *name = x->key_count > 0 ? x->keys[i + 1] : OTHERS[i];
        found += kith_filter_has(f, name, strlen(name));
    }
    if (check(x, found == others, "another key is lost when a counter overflows"))
        print(x, "has    the %u other keys are found\n\n", found);
}

void trace_counting(example *x) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = "counting";
    spec.capacity = 40;
    spec.rate = 0.3;
    spec.hash.seed = x->seed;
    if (spec.capacity < 2 * ((uint64_t)x->key_count + OFTEN)) /* twice, because the filter is merged with a copy */
        spec.capacity = 2 * ((uint64_t)x->key_count + OFTEN);
    kith_filter *f = NULL;
    print_title(x, "A counting filter: one key more often than a counter can count");
    print(x, "A counter has 4 bits and is drawn as a hex digit; . is 0.\n\n");
    if (check_status(x, kith_filter_create(&spec, &f)) && check_status(x, kith_filter_plan_of(f, &plan)) &&
        check(x, plan.cells <= COUNTERS_MAX, "the filter is too large to be drawn"))
        overflow(x, f, &plan);
    kith_filter_free(f);
}
