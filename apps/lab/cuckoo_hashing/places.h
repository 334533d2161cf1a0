/* places.h: the cuckoo graph of a real table: the two places of each key, and the components that they make.
 *
 * A look-up tells by its trace where it looks, but it ends at the first place when the key lies there, or cannot lie
 * elsewhere. So places are read off a twin: an empty table of the same seed, and so of the same functions. There
 *
 *     the first place of a key is where a look-up looks;
 *     the second is where it goes when its first is taken by another key, the blocker: the look-up then looks at both.
 *
 * A key that lies in its first place although that was taken has no other, and if the blocker has none either, the twin
 * draws new functions and is made anew. Blockers are keys of the twin alone: as many are drawn as it takes until each
 * place that is the first of a key is the first of one. */
#ifndef LAB_CUCKOO_HASHING_PLACES_H
#define LAB_CUCKOO_HASHING_PLACES_H

#include <lab/experiment.h>

/* ---- what a table did ---- */

typedef struct steps {
    uint64_t looks, moves, rebuilds;
    uint64_t at[2]; /* where it looked first */
} steps;

static inline void steps_count(void *context, kith_step step, uint64_t place, uint64_t to) {
    steps *s = context;
    (void)to;
    if (step == KITH_STEP_LOOK && s->looks < 2)
        s->at[s->looks] = place;
    s->looks += step == KITH_STEP_LOOK;
    s->moves += step == KITH_STEP_MOVE;
    s->rebuilds += step == KITH_STEP_REHASH || step == KITH_STEP_GROW;
}

/* Two functions, a slot a bucket, `places` places (an even number, 4 at least), and no growth before all are taken: a
 * cuckoo table takes one place more than are asked for, and an even number. */
static inline kith_table_spec steps_spec(uint64_t places, const char *options, steps *s) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = places - 1;
    spec.options = options;
    spec.trace = steps_count;
    spec.trace_context = s;
    return spec;
}

/* A table of just so many places. */
static inline kith_table *steps_table(lab *l, const kith_table_spec *spec) {
    kith_table *table = lab_table(l, spec);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "asking for the places");
    lab_require(l, stats.slots == spec->capacity + 1, "a table has another number of places than was asked for");
    return table;
}

/* Puts key i of the experiment in; how often the table was rebuilt for it. */
static inline uint64_t steps_put(lab *l, kith_table *table, steps *s, uint64_t i) {
    uint64_t key = lab_key(l, i), before = s->rebuilds;
    bool was_new = false;
    lab_must(l, kith_table_put(table, &key, sizeof key, i, &was_new), "putting a key in");
    lab_require(l, was_new, "a new key is said to be in already");
    return s->rebuilds - before;
}

/* ---- places ---- */

#define PLACES_WANTED UINT64_MAX

typedef struct places {
    uint32_t places, keys;
    uint32_t *first, *second; /* of keys 0 … keys - 1 of the experiment */
    uint64_t *blockers;       /* for each place that is the first of a key, another key of which it is */
} places;

static inline places places_take(lab *l, uint64_t place_count, uint64_t keys) {
    places p = {(uint32_t)place_count, (uint32_t)keys, NULL, NULL, NULL};
    p.first = lab_take(l, keys * sizeof *p.first);
    p.second = lab_take(l, keys * sizeof *p.second);
    p.blockers = lab_take(l, place_count * sizeof *p.blockers);
    return p;
}

static inline uint32_t places_first(lab *l, const kith_table *twin, steps *s, uint64_t i) {
    uint64_t key = lab_key(l, i);
    s->looks = 0;
    lab_require(l, !kith_table_has(twin, &key, sizeof key) && s->looks == 1, "an empty table looks at one place");
    return (uint32_t)s->at[0];
}

static inline void places_find_blockers(lab *l, places *p, const kith_table *twin, steps *s) {
    uint64_t missing = 0, i = p->keys;
    for (uint32_t j = 0; j < p->places; j++)
        p->blockers[j] = 0;
    for (uint32_t j = 0; j < p->keys; j++) {
        missing += p->blockers[p->first[j]] == 0;
        p->blockers[p->first[j]] = PLACES_WANTED;
    }
    for (; missing > 0; i++) {
        uint32_t place = places_first(l, twin, s, i);
        missing -= p->blockers[place] == PLACES_WANTED;
        p->blockers[place] = i;
    }
}

static inline void places_remove(lab *l, kith_table *twin, uint64_t i) {
    uint64_t key = lab_key(l, i);
    lab_must(l, kith_table_remove(twin, &key, sizeof key, NULL), "taking a key out");
}

/* False: the twin has other functions now. */
static inline bool places_second(lab *l, const places *p, kith_table *twin, steps *s, uint64_t i) {
    uint64_t key = lab_key(l, i), blocker = p->blockers[p->first[i]];
    p->second[i] = p->first[i];
    if (steps_put(l, twin, s, blocker) + steps_put(l, twin, s, i) > 0)
        return false;
    s->looks = 0;
    lab_require(l, kith_table_has(twin, &key, sizeof key), "a key that was put in is not found");
    lab_require(l, s->at[0] == p->first[i], "a key's first place is another than before");
    if (s->looks == 2)
        p->second[i] = (uint32_t)s->at[1];
    places_remove(l, twin, i);
    places_remove(l, twin, blocker);
    return true;
}

/* The places that the keys have in tables of this spec, whose seed is not 0. */
static inline void places_read(lab *l, places *p, const kith_table_spec *spec) {
    steps s = {0};
    kith_table_spec twins = *spec;
    twins.trace = steps_count;
    twins.trace_context = &s;
    kith_table *twin = steps_table(l, &twins);
    for (uint32_t i = 0; i < p->keys; i++)
        p->first[i] = places_first(l, twin, &s, i);
    places_find_blockers(l, p, twin, &s);
    for (uint32_t i = 0; i < p->keys; i++) {
        if (places_second(l, p, twin, &s, i))
            continue;
        lab_drop(l, twin);
        twin = steps_table(l, &twins);
    }
    lab_drop(l, twin);
}

/* ---- components ---- */

/* Of each component one place, its head, knows how many places and keys there are. */
typedef struct components {
    uint32_t *up, *places, *keys;
} components;

static inline components components_take(lab *l, uint64_t place_count) {
    components c;
    c.up = lab_take(l, place_count * sizeof *c.up);
    c.places = lab_take(l, place_count * sizeof *c.places);
    c.keys = lab_take(l, place_count * sizeof *c.keys);
    return c;
}

static inline void components_clear(const components *c, uint64_t place_count) {
    for (uint32_t i = 0; i < place_count; i++) {
        c->up[i] = i;
        c->places[i] = 1;
        c->keys[i] = 0;
    }
}

static inline uint32_t components_head(const components *c, uint32_t place) {
    while (c->up[place] != place)
        place = c->up[place] = c->up[c->up[place]];
    return place;
}

/* A key that may lie in either place: does it close a cycle; has its component more keys than places now? */
typedef struct joined {
    bool cycle, overfull;
} joined;

static inline joined components_join(const components *c, uint32_t one, uint32_t other) {
    uint32_t a = components_head(c, one), b = components_head(c, other);
    joined j = {.cycle = a == b};
    if (a != b) {
        c->up[a] = b;
        c->places[b] += c->places[a];
        c->keys[b] += c->keys[a];
    }
    c->keys[b]++;
    j.overfull = c->keys[b] > c->places[b];
    return j;
}

#endif
