/* steps.h: counts the steps of table operations from the trace, for tables with 8-byte integer keys. */
#ifndef LAB_TABLES_STEPS_H
#define LAB_TABLES_STEPS_H

#include <lab/experiment.h>

typedef struct steps {
    uint64_t looks; /* slots, nodes or buckets that were read */
    uint64_t moves; /* keys that were displaced */
} steps;

static inline void steps_count(void *context, kith_step step, uint64_t at, uint64_t to) {
    steps *s = context;
    (void)at, (void)to;
    s->looks += step == KITH_STEP_LOOK;
    s->moves += step == KITH_STEP_MOVE;
}

/* The spec of a table with 8-byte keys. lab_table() gives each table a new random seed. */
static inline kith_table_spec steps_spec(const char *kind, uint64_t capacity, const char *options) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = kind;
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = capacity;
    spec.options = options;
    return spec;
}

/* A table that counts its steps in *s. */
static inline kith_table *steps_table(lab *l, const kith_table_spec *spec, steps *s) {
    return lab_traced(l, spec, steps_count, s);
}

/* A word as a key. The bytes are little-endian on every machine, because that is how a bitset reads them. */
typedef struct word_key {
    uint8_t bytes[sizeof(uint64_t)];
} word_key;

static inline word_key key_of(uint64_t word) {
    word_key key;
    for (unsigned i = 0; i < sizeof key.bytes; i++)
        key.bytes[i] = (uint8_t)(word >> (8 * i));
    return key;
}

static inline void put_word(lab *l, kith_table *t, uint64_t word) {
    word_key key = key_of(word);
    bool was_new = false;
    lab_must(l, kith_table_put(t, key.bytes, sizeof key.bytes, 0, &was_new), "inserting a key");
    lab_require(l, was_new, "a key was found before it was inserted");
}

static inline bool has_word(const kith_table *t, uint64_t word) {
    word_key key = key_of(word);
    return kith_table_has(t, key.bytes, sizeof key.bytes);
}

/* Inserts the keys first … first + n - 1 of the experiment. */
static inline void put_words(lab *l, kith_table *t, uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++)
        put_word(l, t, lab_key(l, i));
}

/* Returns how many slots, nodes or buckets a search reads on average, for the keys first … first + n - 1. These must
 * all be present or all be absent. */
static inline double looks_of(lab *l, const kith_table *t, steps *s, uint64_t first, uint64_t n, bool are_present) {
    *s = (steps){0};
    for (uint64_t i = first; i < first + n; i++)
        lab_require(l, has_word(t, lab_key(l, i)) == are_present,
                    are_present ? "a key is lost" : "a key is found that was never inserted");
    return (double)s->looks / (double)n;
}

#endif
