/* filter.c: draws how fingerprints move in a cuckoo filter, and how the counters of a counting filter overflow.
 *
 * The cuckoo filter is that of figure 2 of [2]: 6 buckets of 4 entries, and insertion by random kicks (insert=walk),
 * the steps 1 to 9 of [2]. [2] computes the other bucket with XOR, for which the number of buckets must be a power of
 * two. With 6 buckets alternate=halves is used. The entries are read with kith_filter_cell before and after an
 * addition, so the moves are those that the library made: the new fingerprint takes an entry, the fingerprint that was
 * there has gone to its other bucket, and so on. Seeds are tried until both buckets of a new key are full, it is added
 * nevertheless, and no entry has moved twice.
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
    EARLY = 17 /* some buckets still have empty entries */,
    KICKS_MAX = 500,
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

/* The entries that an addition has changed, in order: that of the new fingerprint, then each where the one that was
 * displaced before has gone. */
typedef struct moves {
    uint64_t at[CELLS];
    unsigned count;
} moves;

/* Returns false if an entry has moved twice, so that the order cannot be read from the filter. */
static bool read_moves(const geometry_candidates *of, const uint64_t *before, const uint64_t *after, moves *m) {
    uint64_t print_now = of->code;
    bool seen[CELLS] = {false};
    unsigned changed = 0;
    for (uint64_t i = 0; i < CELLS; i++)
        changed += before[i] != after[i];
    for (m->count = 0; m->count < CELLS;) {
        uint64_t at = CELLS;
        for (uint64_t i = 0; i < CELLS && at == CELLS; i++)
            if (!seen[i] && before[i] != after[i] && after[i] == print_now)
                at = i;
        if (at == CELLS)
            return false;
        seen[at] = true;
        m->at[m->count++] = at;
        if (before[at] == 0)
            return m->count == changed;
        print_now = before[at];
    }
    return false;
}

/* Prints the moves of an addition: the new fingerprint, then each one that had to make room for the one before. */
static void print_moves(example *x, const moves *m, const uint64_t *before, const uint64_t *after) {
    for (unsigned i = 0; i < m->count; i++) {
        uint64_t at = m->at[i];
        print(x, "%s %03llx to bucket %llu entry %llu", i == 0 ? "store " : "kick  ", (unsigned long long)after[at],
              (unsigned long long)at / ENTRIES + 1, (unsigned long long)at % ENTRIES + 1);
        if (before[at] == 0)
            print(x, ", which is empty\n");
        else
            print(x, ", displacing %03llx\n", (unsigned long long)before[at]);
    }
}

/* Adds a key to a copy of the filter. Returns whether it fits and its moves can be drawn. */
static bool can_be_drawn(example *x, const kith_filter *f, const char *name, const geometry_candidates *c) {
    uint64_t before[CELLS], after[CELLS];
    kith_filter *copy = NULL;
    moves m;
    kith_status status = kith_filter_clone(f, NULL, &copy);
    if (status == KITH_OK)
        status = kith_filter_add(copy, name, strlen(name), NULL);
    bool fits = status == KITH_OK;
    if (status == KITH_E_MEMORY)
        (void)check_status(x, status);
    if (fits) {
        read_cells(f, before);
        read_cells(copy, after);
        fits = read_moves(c, before, after, &m);
    }
    kith_filter_free(copy);
    return fits;
}

/* Adds keys until one finds both of its buckets full. Returns its number, or -1 if the filter is full before, or if the
 * moves of that key cannot be drawn. */
static int fill(kith_filter *f, example *x) {
    for (unsigned i = 0; i < CELLS; i++) {
        char name[NAME_BYTES];
        name_of(x, i, name);
        geometry_candidates c = candidates_of(f, name);
        bool full = c.count == 2 * ENTRIES;
        for (unsigned e = 0; e < c.count; e++)
            full = full && kith_filter_cell(f, c.slot[e]) != 0 && kith_filter_cell(f, c.slot[e]) != c.code;
        if (full)
            return can_be_drawn(x, f, name, &c) && kith_filter_count(f) == i && i < EARLY ? (int)i : -1;
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
        kith_status status = kith_filter_add(f, x->keys[i], strlen(x->keys[i]), NULL);
        print(x, "add    %s: fingerprint %03llx, buckets %llu and %llu%s\n", x->keys[i], (unsigned long long)c.code,
              (unsigned long long)c.slot[0] / ENTRIES + 1, (unsigned long long)c.slot[c.count - 1] / ENTRIES + 1,
              status == KITH_E_FULL ? ": refused, the filter is full" : "");
        if (status == KITH_E_FULL)
            return;
        read_cells(f, after);
        moves m;
        if (check_status(x, status) && read_moves(&c, before, after, &m))
            print_moves(x, &m, before, after);
        else
            print(x, "store  %03llx; some entries have moved more than once\n", (unsigned long long)c.code);
        draw(x, after, before);
    }
}

static void draw_kicks(example *x) {
    for (uint64_t i = 0; i < SEEDS_MAX; i++) {
        kith_filter *f = create_filter(x, x->seed * SEEDS_MAX + i);
        if (f == NULL)
            return;
        int key = fill(f, x);
        if (key < 0) {
            kith_filter_free(f);
            if (x->wrong != NULL)
                return;
            continue;
        }
        char name[NAME_BYTES];
        name_of(x, (unsigned)key, name);
        uint64_t before[CELLS], after[CELLS];
        geometry_candidates c = candidates_of(f, name);
        read_cells(f, before);
        draw(x, before, NULL);
        print(x, "add    %s: fingerprint %03llx, buckets %llu and %llu, both full\n", name, (unsigned long long)c.code,
              (unsigned long long)c.slot[0] / ENTRIES + 1, (unsigned long long)c.slot[c.count - 1] / ENTRIES + 1);
        (void)check_status(x, kith_filter_add(f, name, strlen(name), NULL));
        read_cells(f, after);
        moves m;
        if (check(x, read_moves(&c, before, after, &m), "a fingerprint that moved is not in the filter"))
            print_moves(x, &m, before, after);
        draw(x, after, before);
        unsigned found = 0;
        for (unsigned k = 0; k <= (unsigned)key; k++) {
            name_of(x, k, name);
            found += kith_filter_has(f, name, strlen(name));
        }
        (void)check(x, found == (unsigned)key + 1, "a key that was added is not found");
        print(x, "has    all %u keys are found\n\n", found);
        kith_filter_free(f);
        return;
    }
    (void)check(x, false, "no key finds both of its buckets full");
}

void trace_filter(example *x) {
    print_title(x, "A cuckoo filter: 6 buckets of 4 entries, as in figure 2 of [2]");
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
        print(x, "   h%llu   %s\n", (unsigned long long)row + 1, text);
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
    kith_filter *f = NULL;
    print_title(x, "A counting filter: one key more often than a counter can count");
    print(x, "A counter has 4 bits and is drawn as a hex digit; . is 0.\n\n");
    if (check_status(x, kith_filter_create(&spec, &f)) && check_status(x, kith_filter_plan_of(f, &plan)) &&
        check(x, plan.cells <= COUNTERS_MAX && plan.cells / plan.hashes <= 66, "the filter is too large to be drawn"))
        overflow(x, f, &plan);
    kith_filter_free(f);
}
