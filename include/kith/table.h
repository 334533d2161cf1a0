/* kith/table.h: exact sets and dictionaries.
 *
 * A table keeps keys, each with a 64-bit value, and is never wrong. (kith/filter.h keeps a few bits a key and may say
 * yes wrongly.) Keys are strings of bytes of any length up to 4 GiB, or, with spec.key_bytes, values of just 4, 8 or 16
 * bytes that are stored in place. The value is an integer or a pointer of yours.
 *
 *     kind      look-up                         take it when
 *     cuckoo    two buckets, always             nearly always: small, and no look-up is ever slow
 *     probe     1/(1-load) slots on average     the classic open addressing; a fixed size without any growth
 *     chain     1 + load nodes on average       the classic; entries never move
 *     bitset    one bit                         keys are integers below a bound, and no value is needed
 *     list      all keys                        a handful of keys; the baseline
 *
 * Threads: calls that take a const table may run in any number of threads at once; a call that takes a non-const one must
 * be alone with it. */
#ifndef KITH_TABLE_H
#define KITH_TABLE_H

#include <kith/hash.h>
#include <kith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_table kith_table;

/* What an operation did, step by step: for experiments and tests. See kith_table_spec.trace. */
typedef enum kith_step {
    KITH_STEP_LOOK, /* looked at the slot `place`; chain: at a node of that slot; cuckoo: at the bucket that begins there */
    KITH_STEP_MOVE,   /* cuckoo: moved the entry of slot `place` to slot `to`; a move that is undone is a move back */
    KITH_STEP_REHASH, /* drew new functions; place and to are 0 */
    KITH_STEP_GROW,   /* made the table larger: `place` slots became `to` */
} kith_step;

typedef void (*kith_table_trace)(void *context, kith_step step, uint64_t place, uint64_t to);

/* What is wanted. Begin with KITH_TABLE_SPEC_INIT. */
typedef struct kith_table_spec {
    size_t struct_bytes;
    const char *kind;      /* a name of kith_table_kind_at(); NULL: "cuckoo" */
    unsigned key_bytes;    /* 0: byte strings; 4, 8, 16: keys of just that size */
    uint64_t capacity;     /* room for so many keys from the start; 0: little */
    const char *options;   /* "name=value name=value" as the kind lists them, or NULL */
    kith_family_id family; /* how keys are hashed: kith/hash.h */
    unsigned independence; /* k of the polynomial family; 0: 2 */
    uint64_t seed;         /* functions are drawn from it; 0: from the system's random source; see kith_table_open */
    const kith_allocator *allocator;
    kith_table_trace trace; /* NULL: none, and no cost */
    void *trace_context;
} kith_table_spec;

#define KITH_TABLE_SPEC_INIT                                                                                           \
    { sizeof(kith_table_spec), 0, 0, 0, 0, KITH_FAMILY_XXH3, 0, 0, 0, 0, 0 }

/* ---- making and freeing ---- */

/* An empty table. KITH_E_ARGUMENT, KITH_E_KIND, KITH_E_OPTION, KITH_E_KEY (key_bytes is none of those above, or not for
 * this kind), KITH_E_TOO_LARGE, KITH_E_MEMORY, KITH_E_RANDOM. */
KITH_API KITH_MUST_USE kith_status kith_table_create(const kith_table_spec *spec, kith_table **table);

/* NULL is fine. */
KITH_API void kith_table_free(kith_table *table);

/* Removes all keys; keeps the room. KITH_E_READONLY, as all calls that change a table: it is a mapped file. */
KITH_API KITH_MUST_USE kith_status kith_table_clear(kith_table *table);

/* Makes room so that the table can hold `keys` keys without growing (a cuckoo table told to fill past what it can may
 * grow all the same). KITH_E_MEMORY, KITH_E_TOO_LARGE: as before.
 * KITH_E_FULL: a table of fixed size is smaller than that. */
KITH_API KITH_MUST_USE kith_status kith_table_reserve(kith_table *table, uint64_t keys);

/* ---- one key ---- */

/* Sets the value of a key, which comes in if it was not there. *was_new (may be NULL) tells which.
 *
 * KITH_E_KEY       a fixed-size table and another size; longer than 4 GiB; outside a bitset's universe; a bitset keeps
 *                  no value, so another one than 0
 * KITH_E_MEMORY    growing, or keeping the key's bytes
 * KITH_E_TOO_LARGE growing past what this machine can address
 * KITH_E_FULL      a table of fixed size has no free slot; a cuckoo table found no place after as many rebuilds as it makes,
 *                  which no keys that were not chosen against it have been seen to bring about
 * KITH_E_READONLY  the table is a mapped file
 *
 * On failure the table is as it was: no key is ever dropped. */
KITH_API KITH_MUST_USE kith_status kith_table_put(kith_table *table, const void *key, size_t key_bytes, uint64_t value,
                                                  bool *was_new);

/* True, and *value (may be NULL) written, when the key is in. A key of a size that the table can't hold is not in. */
KITH_API bool kith_table_get(const kith_table *table, const void *key, size_t key_bytes, uint64_t *value);
KITH_API bool kith_table_has(const kith_table *table, const void *key, size_t key_bytes);

/* Takes a key out; *value (may be NULL) is what it had. KITH_E_ABSENT: it was not in. */
KITH_API KITH_MUST_USE kith_status kith_table_remove(kith_table *table, const void *key, size_t key_bytes,
                                                     uint64_t *value);

/* ---- many keys ---- */

/* n keys: `each` of them, or, for tables of fixed keys, `packed` one behind the other. One of the two is NULL. */
typedef struct kith_keys {
    const kith_key *each;
    const void *packed;
    size_t n;
} kith_keys;

/* Bitmaps are as in kith/filter.h: bit i % 64 of word i / 64. `found` and `values` may be NULL; values[i] is written for
 * keys that are in only. The number of keys found. */
KITH_API size_t kith_table_has_many(const kith_table *table, const kith_keys *keys, uint64_t *found);
KITH_API size_t kith_table_get_many(const kith_table *table, const kith_keys *keys, uint64_t *values, uint64_t *found);

/* One put after the other, stopping at the first that fails; *done (may be NULL) went in. */
KITH_API KITH_MUST_USE kith_status kith_table_put_many(kith_table *table, const kith_keys *keys, const uint64_t *values,
                                                       size_t *done);

/* ---- all keys ---- */

KITH_API uint64_t kith_table_count(const kith_table *table);

/* Walks over the keys in an order that is unspecified, but the same as long as nothing is written. Start with a cursor
 * of zeroes; false at the end. *key points into the table (of a bitset: into the cursor) and holds until the next write
 * or the next call.
 *
 *     kith_cursor cursor = {{0}};
 *     while (kith_table_next(table, &cursor, &key, &key_bytes, &value)) …
 */
typedef struct kith_cursor {
    uint64_t at[4];
} kith_cursor;

KITH_API bool kith_table_next(const kith_table *table, kith_cursor *cursor, const void **key, size_t *key_bytes,
                              uint64_t *value);

/* ---- what a table says of itself ---- */

typedef struct kith_table_stats {
    size_t struct_bytes;
    uint64_t count;
    uint64_t slots;    /* places for keys that there are now; of chain: chains; of bitset: the universe */
    double load;       /* count / slots; for chain: keys a chain */
    uint64_t bytes;    /* all memory that the table holds now */
    uint64_t longest;  /* the most nodes or slots that a look-up of a key that is in looks at; 0 when not kept */
    uint64_t rehashes; /* since creation */
    uint64_t growths;
} kith_table_stats;

#define KITH_TABLE_STATS_INIT                                                                                          \
    { sizeof(kith_table_stats), 0, 0, 0, 0, 0, 0, 0 }

KITH_API KITH_MUST_USE kith_status kith_table_stats_of(const kith_table *table, kith_table_stats *stats);

/* Walks every invariant: KITH_OK, or KITH_E_CORRUPT and in *reason (may be NULL) the first one broken. */
KITH_API KITH_MUST_USE kith_status kith_table_check(const kith_table *table, const char **reason);

/* ---- files ----
 *
 * A file of tables has the frame of a filter's (docs/format.md): checksums over every byte, written whole or not at all.
 * A cuckoo table of fixed keys is saved as the bytes that it is, and mapped when it is opened. Any other table is saved as
 * its entries, and opening it puts them in one by one. */

/* KITH_E_NO_SPACE, KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_MEMORY, KITH_E_TOO_LARGE. The file holds the seed of
 * the table's functions; that of a siphash table, whose seed is secret, gets mode 0600. Cost: a pass over the table and one write;
 * for tables saved as entries, memory of the file's size. */
KITH_API KITH_MUST_USE kith_status kith_table_save(kith_table *table, const char *path);

/* Opens what kith_table_save wrote; `flags` are the kith_open_flags of kith/filter.h. A cuckoo table of fixed keys is mapped
 * and read-only, or with KITH_OPEN_COPY read into memory and writable; with KITH_OPEN_LAZY only its header is verified, and
 * on a damaged body answers may be wrong, but no call reads outside the file; a copy is verified in any case. Other tables
 * are read into memory and verified, writable, whatever the flags, and with the room that they were made with: a stranger's
 * file may ask for much, so give an allocator that has a limit.
 *
 * A table that is made from its entries draws new hash functions from the system's random source, whatever the seed
 * of the table that was saved, so whoever wrote the file cannot make its keys collide. Opening takes time
 * proportional to the number of entries for every kind, for forged files too (a probe table of fixed size takes
 * longer the fuller it is). While a list or a chain table is opened, a hash set of 36 bytes per key finds keys that
 * occur twice.
 *
 * KITH_E_RANDOM: the system gave no random seed.
 * KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_TOO_LARGE, KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_VERSION, KITH_E_KIND (a filter, or a kind that
 * this library does not have), KITH_E_TRUNCATED, KITH_E_TRAILING, KITH_E_CORRUPT, KITH_E_MEMORY; KITH_E_ARGUMENT for unknown
 * flags. */
KITH_API KITH_MUST_USE kith_status kith_table_open(const char *path, unsigned flags, const kith_allocator *allocator,
                                                   kith_table **table);

/* True when calls that change the table answer KITH_E_READONLY. */
KITH_API bool kith_table_readonly(const kith_table *table);

KITH_API const char *kith_table_kind_name(const kith_table *table);

/* The register of table kinds; capabilities are 0. */
KITH_API size_t kith_table_kind_count(void);
KITH_API const kith_kind_info *kith_table_kind_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
