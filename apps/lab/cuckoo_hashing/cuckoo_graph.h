/* cuckoo_graph.h: reads the cuckoo graph of a real table: the two candidate slots of each key, and the components.
 *
 * The trace of a lookup shows which slots it reads. But a lookup stops at the first slot if it finds the key there, or
 * if the table knows that the key cannot be in its second slot. So the candidate slots are read from a twin: an empty
 * table with the same seed, and therefore with the same hash functions. In the twin,
 *
 *     the first slot of a key is the one that a lookup reads;
 *     the second slot is where the key goes when another key, the blocker, occupies its first slot. A lookup then reads
 *     both slots.
 *
 * If a key ends up in its first slot although that was occupied, both of its candidate slots are the same. If this also
 * applies to the blocker, the twin draws new hash functions, and a new twin is made. Blockers are keys that only the
 * twin holds. Keys are drawn until there is a blocker for every slot that is the first slot of some key. */
#ifndef LAB_CUCKOO_HASHING_CUCKOO_GRAPH_H
#define LAB_CUCKOO_HASHING_CUCKOO_GRAPH_H

#include <lab/experiment.h>

/* ---- counting the steps of a table ---- */

typedef struct steps {
    uint64_t looks, moves, rebuilds;
    uint64_t at[2]; /* the first two slots that were read */
} steps;

static inline void steps_count(void *context, kith_step step, uint64_t slot, uint64_t to) {
    steps *s = context;
    (void)to;
    if (step == KITH_STEP_LOOK && s->looks < 2)
        s->at[s->looks] = slot;
    s->looks += step == KITH_STEP_LOOK;
    s->moves += step == KITH_STEP_MOVE;
    s->rebuilds += step == KITH_STEP_REHASH || step == KITH_STEP_GROW;
}

/* Two hash functions, one slot per bucket, `slots` slots (an even number, at least 4), and no growth before all of them
 * are full. A cuckoo table has one slot more than its capacity, rounded up to an even number. */
static inline kith_table_spec steps_spec(uint64_t slots, const char *options) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = slots - 1;
    spec.options = options;
    return spec;
}

static inline void check_slots(lab *l, const kith_table *table, uint64_t slots) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "reading the number of slots");
    lab_require(l, stats.slots == slots, "a table does not have the requested number of slots");
}

/* Creates a table that counts its steps in *s, and checks that it has the number of slots that steps_spec was given. */
static inline kith_table *steps_table(lab *l, const kith_table_spec *spec, steps *s) {
    kith_table *table = lab_traced(l, spec, steps_count, s);
    check_slots(l, table, spec->capacity + 1);
    return table;
}

/* Inserts key i of the experiment. Returns how many times the table was rebuilt for it. */
static inline uint64_t steps_put(lab *l, kith_table *table, steps *s, uint64_t i) {
    uint64_t key = lab_key(l, i), before = s->rebuilds;
    bool was_new = false;
    lab_must(l, kith_table_put(table, &key, sizeof key, i, &was_new), "inserting a key");
    lab_require(l, was_new, "a new key is reported as already present");
    return s->rebuilds - before;
}

/* ---- the candidate slots of each key ---- */

#define BLOCKER_WANTED UINT64_MAX

typedef struct candidates {
    uint32_t slots, keys;
    uint32_t *first, *second; /* the candidate slots of keys 0 … keys - 1 of the experiment */
    uint64_t *blockers;       /* for each slot that is some key's first slot: another key with the same first slot */
} candidates;

static inline candidates candidates_new(lab *l, uint64_t slots, uint64_t keys) {
    candidates c = {(uint32_t)slots, (uint32_t)keys, NULL, NULL, NULL};
    c.first = lab_take(l, keys * sizeof *c.first);
    c.second = lab_take(l, keys * sizeof *c.second);
    c.blockers = lab_take(l, slots * sizeof *c.blockers);
    return c;
}

static inline uint32_t candidates_first(lab *l, const kith_table *twin, steps *s, uint64_t i) {
    uint64_t key = lab_key(l, i);
    s->looks = 0;
    lab_require(l, !kith_table_has(twin, &key, sizeof key) && s->looks == 1,
                "a lookup in an empty table does not read exactly one slot");
    return (uint32_t)s->at[0];
}

static inline void candidates_find_blockers(lab *l, candidates *c, const kith_table *twin, steps *s) {
    uint64_t missing = 0, i = c->keys;
    for (uint32_t j = 0; j < c->slots; j++)
        c->blockers[j] = 0;
    for (uint32_t j = 0; j < c->keys; j++) {
        missing += c->blockers[c->first[j]] == 0;
        c->blockers[c->first[j]] = BLOCKER_WANTED;
    }
    for (; missing > 0; i++) {
        uint32_t slot = candidates_first(l, twin, s, i);
        missing -= c->blockers[slot] == BLOCKER_WANTED;
        c->blockers[slot] = i;
    }
}

static inline void candidates_remove(lab *l, kith_table *twin, uint64_t i) {
    uint64_t key = lab_key(l, i);
    lab_must(l, kith_table_remove(twin, &key, sizeof key, NULL), "removing a key");
}

/* Returns false if the twin drew new hash functions and has to be replaced. */
static inline bool candidates_second(lab *l, const candidates *c, kith_table *twin, steps *s, uint64_t i) {
    uint64_t key = lab_key(l, i), blocker = c->blockers[c->first[i]];
    c->second[i] = c->first[i];
    if (steps_put(l, twin, s, blocker) + steps_put(l, twin, s, i) > 0)
        return false;
    s->looks = 0;
    lab_require(l, kith_table_has(twin, &key, sizeof key), "a key that was inserted is not found");
    lab_require(l, s->at[0] == c->first[i], "the first slot of a key has changed");
    if (s->looks == 2)
        c->second[i] = (uint32_t)s->at[1];
    candidates_remove(l, twin, i);
    candidates_remove(l, twin, blocker);
    return true;
}

/* Reads the candidate slots that the keys have in tables with this spec. spec->seed must not be 0. */
static inline void candidates_read(lab *l, candidates *c, const kith_table_spec *spec) {
    steps s = {0};
    kith_table *twin = steps_table(l, spec, &s);
    for (uint32_t i = 0; i < c->keys; i++)
        c->first[i] = candidates_first(l, twin, &s, i);
    candidates_find_blockers(l, c, twin, &s);
    for (uint32_t i = 0; i < c->keys; i++) {
        if (candidates_second(l, c, twin, &s, i))
            continue;
        lab_drop(l, twin);
        twin = steps_table(l, spec, &s);
    }
    lab_drop(l, twin);
}

/* ---- connected components (union-find) ---- */

/* The root of each component counts its slots and keys. */
typedef struct components {
    uint32_t *parent, *slots, *keys;
} components;

static inline components components_new(lab *l, uint64_t slots) {
    components c;
    c.parent = lab_take(l, slots * sizeof *c.parent);
    c.slots = lab_take(l, slots * sizeof *c.slots);
    c.keys = lab_take(l, slots * sizeof *c.keys);
    return c;
}

static inline void components_clear(const components *c, uint64_t slots) {
    for (uint32_t i = 0; i < slots; i++) {
        c->parent[i] = i;
        c->slots[i] = 1;
        c->keys[i] = 0;
    }
}

static inline uint32_t components_root(const components *c, uint32_t slot) {
    while (c->parent[slot] != slot)
        slot = c->parent[slot] = c->parent[c->parent[slot]];
    return slot;
}

/* What adding an edge did: whether it closes a cycle, and whether its component now has more keys than slots. */
typedef struct joined {
    bool cycle, overfull;
} joined;

/* Adds a key with these two candidate slots. */
static inline joined components_join(const components *c, uint32_t one, uint32_t other) {
    uint32_t a = components_root(c, one), b = components_root(c, other);
    joined j = {.cycle = a == b};
    if (a != b) {
        c->parent[a] = b;
        c->slots[b] += c->slots[a];
        c->keys[b] += c->keys[a];
    }
    c->keys[b]++;
    j.overfull = c->keys[b] > c->slots[b];
    return j;
}

#endif
