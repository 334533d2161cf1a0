/* tables.h: what the checks of tables share. They are made as those of filters are (contract/contract.h): a check is a
 * function named in checks.def, runs in a process of its own, and knows no kind by name. What a kind takes is found out by
 * trying it: a subject is a variant together with a kind of keys that it takes. */
#ifndef KITH_TESTS_TABLES_H
#define KITH_TESTS_TABLES_H

/* The two lists of checks have names in common, of functions in two executables. */
#define CHECK(name) void name(void);
#include "tables/checks.def"
#undef CHECK

#include "contract/contract.h"

#include <kith/table.h>

/* ---- subjects ---- */

typedef enum variety {
    DEFAULTS, /* each kind as it comes */
    SINGLES,  /* and with one option changed */
    PAIRS,    /* with two options changed */
} variety;

typedef struct subject {
    const variant *v;
    unsigned key_bytes; /* as in kith_table_spec */
    uint64_t bound;     /* keys are integers below it; 0: any bytes will do */
    bool values;        /* takes values other than 0 */
    bool fixed;         /* never grows */
    bool scans;         /* looks at all keys */
} subject;

/* The next subject of a variety; false past the last. Begin with zeroes. */
bool next_subject(subject *s, variety which);
#define EACH_SUBJECT(s, which) for (subject s = {0}; next_subject(&s, which);)

/* The smaller of n and the number of keys that the subject can have. */
uint64_t keys_of(const subject *s, uint64_t n);

/* A spec for n keys: capacity is given only where the subject needs it, so that others grow. Seed 1. */
kith_table_spec spec_for(const subject *s, uint64_t n);
kith_table *made(const kith_table_spec *spec);

/* For a planted fault: the first kind only, in its default, with few operations; or the first that has a variant of fixed
 * size, in all its variants. False when there is none. */
bool restrict_tables(bool fixed);

/* All variants, and all pairs of options; NULL past the last. */
const variant *next_of(const variant *v, variety which);

/* ---- keys ----
 *
 * A subject has one key for each index. Byte strings are 0 to 300 bytes long, and a few 1500; they begin alike, are
 * beginnings of each other, and have zeroes at all places. */

enum { TEST_KEY_MAX = 1600 };

typedef struct test_key {
    size_t n;
    uint8_t bytes[TEST_KEY_MAX];
} test_key;

void key_of(const subject *s, uint64_t index, test_key *k);

/* A value that names the key that it belongs to, or 0 where the subject takes none. */
uint64_t value_of(const subject *s, uint64_t index, uint64_t salt);

kith_status put_index(kith_table *t, const subject *s, uint64_t index, uint64_t salt);
bool has_index(const kith_table *t, const subject *s, uint64_t index);
kith_status remove_index(kith_table *t, const subject *s, uint64_t index);
void fill(kith_table *t, const subject *s, uint64_t from, uint64_t n);

/* ---- models ---- */

/* What a table of keys 0 … n-1 should hold. */
typedef struct model {
    const subject *s;
    uint64_t n, count, salt;
    bool *in;
    uint64_t *values;
    uint64_t *visited; /* the number of the walk that met the key last */
    uint64_t walks;
} model;

model model_new(const subject *s, uint64_t n);
void model_free(model *m);

/* One operation on both; the answers must agree. A put is drawn with puts in 100, a removal with as many as are left
 * after 30 in 100 look-ups. */
void model_step(model *m, kith_table *t, uint64_t *state, unsigned puts);

/* Walks over the table: count, keys and values agree, no key comes twice, check() is content. */
void model_compare(model *m, const kith_table *t);

/* ---- what a table is ---- */

kith_table_stats table_stats(const kith_table *t);

/* A number that changes with the keys, the values, their order, the size and the counts of a table. */
uint64_t print_of(const kith_table *t);

#endif
