/* tables.h: declarations shared by the checks of tables. As with filters (contract/contract.h), a check is a
 * function listed in checks.def. It runs in its own process and does not name any kind. What a kind supports is
 * found by trying. A subject is a variant (a kind with options) together with a key size that it supports. */
#ifndef KITH_TESTS_TABLES_H
#define KITH_TESTS_TABLES_H

/* Some names are also in the filters' list of checks. Those functions are in another executable. */
#define CHECK(name) void name(void);
#include "tables/checks.def"
#undef CHECK

#include "contract/contract.h"

#include <kith/inspect.h>

/* ---- subjects ---- */

typedef enum variety {
    DEFAULTS, /* each kind with default options */
    SINGLES,  /* the same, and each kind with one option changed */
    PAIRS,    /* each kind with two options changed */
} variety;

typedef struct subject {
    const variant *v;
    unsigned key_bytes; /* as in kith_table_spec */
    uint64_t bound;     /* keys must be integers below this; 0: any key is valid */
    bool values;        /* stores values other than 0 */
    bool fixed;         /* never grows */
    bool scans;         /* a lookup compares with all keys */
} subject;

/* Advances *s to the next subject of a variety; returns false after the last. Start with all zeros. */
bool next_subject(subject *s, variety which);
#define EACH_SUBJECT(s, which) for (subject s = {0}; next_subject(&s, which);)

/* Returns n, or the number of keys that the subject can store if that is less. */
uint64_t keys_of(const subject *s, uint64_t n);

/* Returns a spec for n keys with seed 1. The capacity is set only if the subject needs it, so that others have to
 * grow. */
kith_table_spec spec_for(const subject *s, uint64_t n);

/* Creates a table; fails the check if that fails. */
kith_table *made(const kith_table_spec *spec);

/* Restricts the checks to one kind, for a run with a planted fault: to the first kind with default options or, if
 * `fixed`, to the first kind that has a variant of fixed size, with all its variants. Returns false if there is no
 * such kind. */
bool restrict_tables(bool fixed);

/* Returns the next variant of a variety; the first one if v is NULL, and NULL after the last one. */
const variant *next_of(const variant *v, variety which);

/* ---- keys ----
 *
 * A subject has one key for each index. Byte strings have 0 to 300 bytes, a few have 1500. They share prefixes, some
 * are prefixes of others, and they contain zero bytes at any position. */

enum { TEST_KEY_MAX = 1600 };

typedef struct test_key {
    size_t n;
    uint8_t bytes[TEST_KEY_MAX];
} test_key;

void key_of(const subject *s, uint64_t index, test_key *k);

/* Returns a value that identifies its key, or 0 if the subject does not store values. */
uint64_t value_of(const subject *s, uint64_t index, uint64_t salt);

kith_status put_index(kith_table *t, const subject *s, uint64_t index, uint64_t salt);
bool has_index(const kith_table *t, const subject *s, uint64_t index);
kith_status remove_index(kith_table *t, const subject *s, uint64_t index);
void fill(kith_table *t, const subject *s, uint64_t from, uint64_t n);

/* ---- models ---- */

/* The expected content of a table of keys 0 … n-1. */
typedef struct model {
    const subject *s;
    uint64_t n, count, salt;
    bool *in;
    uint64_t *values;
    uint64_t *visited; /* the number of the last iteration that returned the key */
    uint64_t walks;    /* number of iterations */
} model;

model model_new(const subject *s, uint64_t n);
void model_free(model *m);

/* Runs one random operation on the table and the model and compares the results: a put with a probability of `puts`
 * percent, a lookup with 30 percent, otherwise a removal. */
void model_step(model *m, kith_table *t, uint64_t *state, unsigned puts);

/* Iterates over the table: count, keys and values must agree, no key may occur twice, and check() must return
 * KITH_OK. */
void model_compare(model *m, const kith_table *t);

/* ---- statistics and fingerprints ---- */

kith_table_stats table_stats(const kith_table *t);

/* Returns a fingerprint: a hash of a table's keys and values in order, its size and its counters. */
uint64_t print_of(const kith_table *t);

#endif
