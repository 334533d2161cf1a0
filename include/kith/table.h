/* kith/table.h: hash tables: exact sets and dictionaries.
 *
 * A table stores keys, each with a 64-bit value (a bitset: without values), and its results are exact. (A filter,
 * kith/filter.h, stores only a few bits per key and has false positives.) Keys are byte strings of up to 4 GiB or, if
 * spec.key_bytes is set, have a fixed size of 4, 8 or 16 bytes and are stored in place. The value is an integer or a
 * pointer that you choose.
 *
 *     kind      cost of a lookup                use it when
 *     cuckoo    at most d buckets (default 2)   nearly always: small, and every lookup is fast
 *     probe     about 1/(1-load) slots, more    you want classic open addressing, or a table that never grows
 *               with sequence=linear
 *     chain     at most 1 + load nodes,         you want classic chaining: entries never move in memory
 *               on average
 *     bitset    one bit                         keys are integers below a bound and need no value
 *     list      compares with every key         there are only a few keys, or as a baseline
 *
 * load is the number of keys divided by the number of slots. d, sequence and the like are options of a kind:
 * kith_table_kind_at() lists them. In a cuckoo table a key is in one of d buckets of b slots (default 8).
 *
 * Threads: any number of threads may call functions that take a const table at the same time. A call that takes a
 * non-const table must not run concurrently with any other call on the same table. */
#ifndef KITH_TABLE_H
#define KITH_TABLE_H

#include <kith/hash.h>
#include <kith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_table kith_table;

/* Describes the table to create. Initialise with KITH_TABLE_SPEC_INIT, then set what differs. A program that was
 * compiled with an older header has a smaller struct_bytes; it is accepted, and the missing fields are 0. */
typedef struct kith_table_spec {
    size_t struct_bytes; /* sizeof(kith_table_spec): set by KITH_TABLE_SPEC_INIT */
    const char *kind;    /* the name of a kind, see kith_table_kind_at(); NULL: the first one, cuckoo */
    unsigned key_bytes;  /* 0: keys are byte strings; 4, 8 or 16: every key has this size */
    uint64_t capacity;   /* number of keys to allocate memory for; 0: start small. The table grows beyond it, unless it
                              has a fixed size (probe with grow=no, bitset) */
    const char *options; /* "name=value name=value", see kith_kind_info.options; NULL: the defaults */
    kith_family_id family; /* the family of hash functions: kith/hash.h */
    unsigned independence; /* k of the polynomial family; 0 means 2; must be 0 for other families */
    uint64_t seed;         /* seed of the hash functions; 0: a random one from the system; see kith_table_open */
    const kith_allocator *allocator; /* NULL: the default allocator */
} kith_table_spec;

#define KITH_TABLE_SPEC_INIT                                                                                           \
    { sizeof(kith_table_spec), 0, 0, 0, 0, KITH_FAMILY_XXH3, 0, 0, 0 }

/* ---- creating and freeing ---- */

/* Creates an empty table. Returns KITH_OK or
 *   KITH_E_STRUCT     wrong struct_bytes
 *   KITH_E_HASH       unknown family, or an independence that the family does not have
 *   KITH_E_KIND       no kind has this name
 *   KITH_E_OPTION, KITH_E_OPTION_TWICE, KITH_E_OPTION_VALUE, KITH_E_OPTION_FIT   see kith/plan.h
 *   KITH_E_KEY        key_bytes is not 0, 4, 8 or 16, or the kind does not support it
 *   KITH_E_ADDRESS    this machine cannot address a table of this capacity
 *   KITH_E_UNIVERSE   the capacity of a bitset is larger than its universe, the integers below its option `universe`;
 *                     or this option is above 2^32 and keys have 4 bytes
 *   KITH_E_MEMORY     out of memory
 *   KITH_E_RANDOM     seed is 0 and the system has no random bytes */
KITH_API KITH_MUST_USE kith_status kith_table_create(const kith_table_spec *spec, kith_table **table);

/* Frees the table. Does nothing if `table` is NULL. */
KITH_API void kith_table_free(kith_table *table);

/* Removes all keys and keeps the allocated slots. KITH_E_READONLY: the table is a mapped file. */
KITH_API KITH_MUST_USE kith_status kith_table_clear(kith_table *table);

/* Grows the table so that it can hold `keys` keys without growing again. (A cuckoo table may still grow if its option
 * `load`, the percentage of used slots at which it grows, is higher than what can be reached with its options d and b.)
 * On failure the table is unchanged:
 *   KITH_E_MEMORY, KITH_E_ADDRESS   it cannot grow this far
 *   KITH_E_FULL      the table has a fixed size and fewer slots
 *   KITH_E_READONLY  the table is a mapped file */
KITH_API KITH_MUST_USE kith_status kith_table_reserve(kith_table *table, uint64_t keys);

/* ---- one key ---- */

/* Sets the value of a key and adds the key if it is absent. *was_new (may be NULL) is set to whether it was absent.
 *
 * Returns KITH_OK, or one of these; the table is then unchanged, and no key is lost:
 *   KITH_E_KEY       the key does not have the table's key size, or is longer than 4 GiB; or the table is a bitset, and
 *                    the key is not below its option `universe`, or the value is not 0 (a bitset stores no values)
 *   KITH_E_MEMORY    no memory to grow the table or to store the key
 *   KITH_E_ADDRESS   the table would grow beyond what this machine can address
 *   KITH_E_FULL      a table of fixed size has no free slot; or a cuckoo table found no place for the key after its
 *                    maximum number of rebuilds, which has only been seen with keys that were chosen to collide
 *   KITH_E_READONLY  the table is a mapped file */
KITH_API KITH_MUST_USE kith_status kith_table_put(kith_table *table, const void *key, size_t key_bytes, uint64_t value,
                                                  bool *was_new);

/* Returns true if the key is in the table, and then sets *value (may be NULL) to its value. Returns false for a key
 * whose size the table does not support. kith_table_has() does the same without a value. */
KITH_API bool kith_table_get(const kith_table *table, const void *key, size_t key_bytes, uint64_t *value);
KITH_API bool kith_table_has(const kith_table *table, const void *key, size_t key_bytes);

/* What a search along the probe sequence of a key found. */
typedef enum kith_find_outcome {
    KITH_FIND_FOUND,  /* *index is the slot of the key */
    KITH_FIND_ABSENT, /* *index is the first free slot of its sequence, where a put stores it unless the table grows */
    KITH_FIND_FULL,   /* the key is absent and no slot is free; *index is not written */
} kith_find_outcome;

/* Searches for a key as textbooks on open addressing define it: returns the slot of the key, or the free slot where it
 * belongs, or that the table is full. For tables of kind probe. Slots are 0 … slots - 1 of kith_table_stats. Keys move
 * when the table grows, or when a removal or a put clears all tombstones (the marks that removed keys leave in their
 * slots). `index` must not be NULL.
 *
 * Returns KITH_OK and sets *outcome, or KITH_E_UNSUPPORTED (another kind) or KITH_E_KEY (keys of this table have
 * another size). To look up a value, kith_table_get() is simpler. */
KITH_API KITH_MUST_USE kith_status kith_table_find(const kith_table *table, const void *key, size_t key_bytes,
                                                   kith_find_outcome *outcome, uint64_t *index);

/* Removes a key and sets *value (may be NULL) to the value it had. Never allocates. KITH_E_ABSENT: the key is not in
 * the table (also if its size is not that of the table's keys). KITH_E_READONLY: the table is a mapped file. */
KITH_API KITH_MUST_USE kith_status kith_table_remove(kith_table *table, const void *key, size_t key_bytes,
                                                     uint64_t *value);

/* ---- many keys ---- */

/* An array of n keys. Set either `each`, an array of references to keys, or, only if the table's keys have a fixed
 * size, `packed`, the keys themselves without gaps. The other one must be NULL. */
typedef struct kith_keys {
    const kith_key *each;
    const void *packed;
    size_t n;
} kith_keys;

/* Look up n keys and return how many are in the table. This is faster than n single calls on large tables because
 * memory is prefetched. Bit i % 64 of found[i / 64] is set to whether key i is in the table, as in kith/filter.h;
 * values[i] is written only if it is. `found` and `values` may be NULL. */
KITH_API size_t kith_table_has_many(const kith_table *table, const kith_keys *keys, uint64_t *found);
KITH_API size_t kith_table_get_many(const kith_table *table, const kith_keys *keys, uint64_t *values, uint64_t *found);

/* Calls kith_table_put() for the keys, in order. Stops at the first that fails and returns its code. *done (may be
 * NULL) is set to the number of keys before that one, also on failure. If `values` is NULL, all values are 0. */
KITH_API KITH_MUST_USE kith_status kith_table_put_many(kith_table *table, const kith_keys *keys, const uint64_t *values,
                                                       size_t *done);

/* ---- all keys ---- */

/* Returns the number of keys. */
KITH_API uint64_t kith_table_count(const kith_table *table);

/* Iterates over the keys. Start with a cursor of zeros. Each call sets *key, *key_bytes and *value to the next entry
 * and returns true, or returns false after the last one.
 * The order is unspecified but stays the same as long as the table is not changed. *key points into the table (for a
 * bitset: into the cursor) and is valid until the next change or the next call with this cursor. Each of key, key_bytes
 * and value may be NULL.
 *
 *     kith_cursor cursor = {{0}};
 *     while (kith_table_next(table, &cursor, &key, &key_bytes, &value)) …
 */
typedef struct kith_cursor {
    uint64_t at[4];
} kith_cursor;

KITH_API bool kith_table_next(const kith_table *table, kith_cursor *cursor, const void **key, size_t *key_bytes,
                              uint64_t *value);

/* ---- statistics ---- */

typedef struct kith_table_stats {
    size_t struct_bytes; /* sizeof(kith_table_stats): set by KITH_TABLE_STATS_INIT */
    uint64_t count;
    uint64_t slots;    /* current number of slots; chain: number of chains; bitset: size of the universe */
    double load;       /* count / slots; chain: average keys per chain */
    uint64_t bytes;    /* all memory that the table uses now, including a mapped file */
    uint64_t longest;  /* a lookup of a key in the table reads at most this many slots or nodes; 0: it is empty */
    uint64_t rehashes; /* times that new hash functions were drawn without growing, since the table was created or
                          opened. (A growth may draw new functions as well) */
    uint64_t growths;  /* times that the table grew, since it was created or opened */
} kith_table_stats;

#define KITH_TABLE_STATS_INIT                                                                                          \
    { sizeof(kith_table_stats), 0, 0, 0, 0, 0, 0, 0 }

/* Fills in the statistics. Returns KITH_OK, or KITH_E_STRUCT for a wrong struct_bytes. A program that was compiled
 * with an older header has a smaller struct_bytes; it is accepted, and only its fields are written. A chain table reads
 * all its chains for `longest`; the other kinds take constant time. */
KITH_API KITH_MUST_USE kith_status kith_table_stats_of(const kith_table *table, kith_table_stats *stats);

/* Checks every invariant. Returns KITH_OK, or KITH_E_CORRUPT and sets *reason (may be NULL) to a sentence about the
 * first violation. For tests: takes at least one pass over the table (a list: time quadratic in the number of keys). */
KITH_API KITH_MUST_USE kith_status kith_table_check(const kith_table *table, const char **reason);

/* ---- files ----
 *
 * Table files have the same header and checksums as filter files (docs/format.md): checksums cover every byte, and a
 * file is replaced completely or not at all. There are two forms. A cuckoo table whose keys have a fixed size is saved
 * as an image of its memory, and opening the file maps it. Any other table is saved as a sequence of entries, and
 * opening the file puts them into a new table. */

/* Saves the table to a file. Returns KITH_OK, KITH_E_NO_SPACE, KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO,
 * KITH_E_MEMORY or KITH_E_ADDRESS. The file contains the seed of the hash functions. The seed of a siphash table
 * is a secret, so its file gets mode 0600. Cost: one pass over the table and one write. A table that is saved as
 * entries also needs temporary memory of the size of the file. */
KITH_API KITH_MUST_USE kith_status kith_table_save(kith_table *table, const char *path);

/* Opens a file that kith_table_save() wrote. `flags` may be KITH_OPEN_LAZY and KITH_OPEN_COPY of kith/filter.h.
 *
 * An image is mapped and read-only, or, with KITH_OPEN_COPY, read into memory and writable. With KITH_OPEN_LAZY
 * (without KITH_OPEN_COPY) only the header is verified: if the body is damaged, lookups may return wrong results, but
 * no call reads outside the file.
 *
 * Entries are always verified and read into memory, and the table is writable, whatever the flags. A probe or chain
 * table with grow=no gets the capacity that the saved table was created with, and a bitset its universe. A forged file
 * may therefore ask for much memory: if you do not trust the file, pass an allocator that has a limit. The new table
 * gets new hash functions, from a random seed of the system, so whoever wrote the file cannot make its keys collide.
 * Opening takes time proportional to the number of entries for every kind, even for forged files (a probe table of
 * fixed size takes longer the fuller it is). While a list or a chain table is opened, a temporary hash set of 36 bytes
 * per key detects repeated keys.
 *
 * Returns KITH_OK or
 *   KITH_E_ARGUMENT   unknown flags
 *   KITH_E_KIND       the file is a filter, or a table of a kind that this library does not have
 *   KITH_E_NOT_KITH, KITH_E_EMPTY, KITH_E_VERSION   not a file that this library can read
 *   KITH_E_TRUNCATED, KITH_E_TRAILING, KITH_E_CORRUPT   the file is damaged
 *   KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_MEMORY, KITH_E_ADDRESS   the file cannot be read into memory
 *   KITH_E_RANDOM     the system has no random bytes for the seed */
KITH_API KITH_MUST_USE kith_status kith_table_open(const char *path, unsigned flags, const kith_allocator *allocator,
                                                   kith_table **table);

/* Returns true if the table is a mapped file; calls that change it then return KITH_E_READONLY. */
KITH_API bool kith_table_readonly(const kith_table *table);

/* Returns the name of the table's kind, as in kith_table_kind_at(). */
KITH_API const char *kith_table_kind_name(const kith_table *table);

/* Return the number of table kinds, and the kind with this index, 0 … kith_table_kind_count() - 1, or NULL for a larger
 * index. The first kind is the default. The `capabilities` of table kinds are 0. */
KITH_API size_t kith_table_kind_count(void);
KITH_API const kith_kind_info *kith_table_kind_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
