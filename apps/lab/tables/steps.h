/* steps.h: what the operations of a table do, counted from its trace, and tables of 8-byte integers. */
#ifndef LAB_TABLES_STEPS_H
#define LAB_TABLES_STEPS_H

#include <lab/experiment.h>

typedef struct steps {
    uint64_t looks, moves;
} steps;

static inline void steps_count(void *context, kith_step step, uint64_t place, uint64_t to) {
    steps *s = context;
    (void)place, (void)to;
    s->looks += step == KITH_STEP_LOOK;
    s->moves += step == KITH_STEP_MOVE;
}

/* A table of 8-byte keys that tells its steps to *s. Its functions are drawn anew for each table. */
static inline kith_table_spec steps_spec(const char *kind, uint64_t capacity, const char *options, steps *s) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = kind;
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = capacity;
    spec.options = options;
    spec.trace = steps_count;
    spec.trace_context = s;
    return spec;
}

/* A word as a key: little-endian on every machine, as a bitset reads it. */
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
    lab_must(l, kith_table_put(t, key.bytes, sizeof key.bytes, 0, &was_new), "putting a key in");
    lab_require(l, was_new, "a key that was not put in was there");
}

static inline bool has_word(const kith_table *t, uint64_t word) {
    word_key key = key_of(word);
    return kith_table_has(t, key.bytes, sizeof key.bytes);
}

/* Puts in the keys first … first + n - 1 of the experiment. */
static inline void put_words(lab *l, kith_table *t, uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++)
        put_word(l, t, lab_key(l, i));
}

/* Looks that a search takes on average, over the keys first … first + n - 1, which are all in or all absent. */
static inline double looks_of(lab *l, const kith_table *t, steps *s, uint64_t first, uint64_t n, bool are_in) {
    *s = (steps){0};
    for (uint64_t i = first; i < first + n; i++)
        lab_require(l, has_word(t, lab_key(l, i)) == are_in,
                    are_in ? "a key is lost" : "a key is in that was not put in");
    return (double)s->looks / (double)n;
}

#endif
