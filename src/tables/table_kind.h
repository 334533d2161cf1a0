/* table_kind.h: the interface between the public functions of tables (table.c, table_file.c) and the table kinds.
 *
 * A kind is a file in tables/ (large kinds have several) that ends with a const kithi_table_kind, and one line in
 * tables.def. The public functions check the size of a key before they call the kind. If a function of a kind fails,
 * it must leave the table unchanged. put, append and remove update t->count. */
#ifndef KITHI_TABLE_KIND_H
#define KITHI_TABLE_KIND_H

#include <kith/inspect.h>

#include "core/arena.h"
#include "plan/options.h"
#include "core/prng.h"
#include "format/format.h"

/* An entry, a key with its value, is stored as a record. Every kind that stores keys uses this layout (sizes in bytes):
 *
 *     key of 4 or 8 bytes   | key, then zeros: 8 in all      | value: 8 |      values are little-endian
 *     key of 16 bytes       | key: 16                        | value: 8 |
 *     byte string           | pointer: 8 | length: 8         | value: 8 |      the string is in the table's arena
 */
#define KITHI_TABLE_RECORD_BYTES_MAX 24

/* Like kith_key, but `bytes` is a pointer to uint8_t instead of void. */
typedef struct kithi_key {
    const uint8_t *bytes;
    size_t byte_count;
} kithi_key;

/* The length of the longest byte string that can be a key: 4 GiB. */
#define KITHI_TABLE_KEY_BYTES_MAX (UINT64_C(1) << 32)

/* kith_table_get_many() and kith_table_put_many() process keys in groups of this many. The results of a group of
 * lookups fill one word of the bitmap `found`. */
#define KITHI_GROUP_KEYS 64

/* Indices of the parameters in the header of a table's file. The first five mean the same in every file. Those from
 * KITHI_PARAM_TABLE_FIRST_FREE on differ between the two forms of files, images and entries (table_file.c). In an image
 * they also depend on the kind. */
enum {
    KITHI_PARAM_TABLE_KEY_BYTES,
    KITHI_PARAM_TABLE_FAMILY,
    KITHI_PARAM_TABLE_INDEPENDENCE,
    KITHI_PARAM_TABLE_GENERATOR, /* state of the random number generator */
    KITHI_PARAM_TABLE_KIND,      /* kithi_table_kind.id */
    KITHI_PARAM_TABLE_FIRST_FREE
};

typedef struct kithi_table_kind {
    uint64_t id; /* stored in files; never reused */
    kith_kind_info info;
    bool takes_strings; /* false: keys must have a fixed size */
    bool takes_values;  /* false: values must be 0 */

    /* Create and free t->state. `capacity` is the number of keys to allocate slots for; 0 means the kind's minimum. If
     * create fails, it frees what it allocated and nothing else. */
    kith_status (*create)(kith_table *t, uint64_t capacity);
    void (*destroy)(kith_table *t);
    void (*clear)(kith_table *t); /* the caller then clears the arena and sets the count to 0 */
    kith_status (*reserve)(kith_table *t, uint64_t keys);

    /* Returns true and sets *value if the key is in the table. */
    bool (*get)(const kith_table *t, const kithi_key *key, uint64_t *value);
    kith_status (*put)(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new);
    kith_status (*remove)(kith_table *t, const kithi_key *key, uint64_t *value);

    /* Optional (may be NULL): a put of a key that is known to be absent, without comparing it with other keys. A kind
     * needs it if a put may have to compare the key with all others even though the hash function is good. Without it,
     * opening a file of n entries could take n^2 / 2 comparisons. */
    kith_status (*append)(kith_table *t, const kithi_key *key, uint64_t value);

    /* Optional (may be NULL): as kith_table_find. For kinds with open addressing, which store each key in one of the
     * numbered slots of its probe sequence. */
    kith_find_outcome (*find)(const kith_table *t, const kithi_key *key, uint64_t *index);

    /* Both optional (may be NULL). get_group is not called for a table that has a trace.
     * prefetch   prefetches the first cache lines that an operation on this key reads
     * get_group  looks up n <= KITHI_GROUP_KEYS keys. If key i is in the table, bit i of the result is set, and
     *            values[i] is written unless `values` is NULL */
    void (*prefetch)(const kith_table *t, const kithi_key *key);
    uint64_t (*get_group)(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values);

    /* As kith_table_next. */
    bool (*next)(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value);
    /* Sets stats->slots and stats->longest, and adds the memory that the kind uses outside the arena to
     * stats->bytes. */
    void (*stats)(const kith_table *t, kith_table_stats *stats);
    const char *(*check)(const kith_table *t); /* NULL, or a sentence about the first violation */

    /* Returns true if the number of slots never changes after creation, so that a saved table must be created again
     * with the same capacity. NULL means that every table grows, or that the size does not depend on the capacity. */
    bool (*keeps_size)(const kith_table *t);

    /* Optional (both or neither), for tables whose keys have a fixed size: a kind that stores the whole table in one
     * block (format/head.h) can save and map this block as it is. The file is then an image of the table.
     *
     * `image` returns the block, into which the caller writes the header and the checksums. In *head it sets the size
     * of the body and the parameters from KITHI_PARAM_TABLE_FIRST_FREE on.
     *
     * `attach` creates t->state over such a block, whose bytes may come from an attacker. The caller has set all other
     * fields of t. On success the block belongs to the kind, unless the table is read-only. On failure (KITH_E_CORRUPT,
     * KITH_E_MEMORY) the block still belongs to the caller. */
    uint8_t *(*image)(kith_table *t, kithi_head *head);
    kith_status (*attach)(kith_table *t, const kithi_head *head, uint8_t *block);
} kithi_table_kind;

/* Faster functions for tables whose keys have 4 or 8 bytes. A key is passed as a word: its bytes, read as a
 * little-endian integer (kithi_key_word in tables/shared/record.h). A kind that has such functions for a table calls
 * kithi_table_use_words(). get, put, remove and get_group have the same results as the functions of the kind with these
 * names, and leave the same bytes in the table. They are not called for a table that has a trace. `value` and `was_new`
 * may be NULL.
 *
 * put_group puts n <= KITHI_GROUP_KEYS keys in order, with the value 0 if `values` is NULL. It stops at the first put
 * that fails, and sets *done to the number of keys before it. */
typedef struct kithi_table_words {
    bool (*get)(const kith_table *t, uint64_t word, uint64_t *value);
    kith_status (*put)(kith_table *t, uint64_t word, uint64_t value, bool *was_new);
    kith_status (*remove)(kith_table *t, uint64_t word, uint64_t *value);
    uint64_t (*get_group)(const kith_table *t, const uint64_t *words, size_t n, uint64_t *values);
    kith_status (*put_group)(kith_table *t, const uint64_t *words, const uint64_t *values, size_t n, size_t *done);
} kithi_table_words;

struct kith_table {
    const kithi_table_kind *kind;
    const kithi_table_words *words;   /* NULL: none */
    const kithi_table_words *words_8; /* equal to `words` if keys have 8 bytes, otherwise NULL */
    void *state;                      /* belongs to the kind */
    uint64_t count;
    kith_allocator allocator;
    unsigned key_bytes; /* 0: byte strings */
    unsigned record_bytes;
    uint64_t options[KITHI_OPTIONS_MAX]; /* the values of kind->info.options, in the same order */
    kith_family_id family;               /* of hash functions */
    unsigned independence;               /* as in kith_table_spec */
    kithi_prng prng;                     /* draws the seeds of hash functions and the choices of random walks */
    kith_table_trace trace;
    void *trace_context;
    kithi_arena arena;  /* memory of byte strings and nodes */
    bool readonly;      /* the table is a mapped file */
    const uint8_t *map; /* that file; NULL if the table is not read-only */
    size_t map_bytes;
    uint64_t capacity;          /* as in kith_table_spec */
    uint64_t rehashes, growths; /* as in kith_table_stats */
};

/* Returns the registered kind with this id, or NULL. */
const kithi_table_kind *kithi_table_kind_by_id(uint64_t id);

/* Allocates a table as a copy of *like, with an empty arena; the caller then creates the kind's state. kithi_table_drop
 * frees a table whose state is already freed, or was not created. */
kith_status kithi_table_new(const kith_table *like, kith_table **table);
void kithi_table_drop(kith_table *t);

/* Return whether the arguments are a valid combination. */
bool kithi_table_family_valid(kith_family_id family, unsigned independence);
bool kithi_table_key_bytes_valid(const kithi_table_kind *kind, unsigned key_bytes);

unsigned kithi_table_record_bytes(unsigned key_bytes);

/* Called by a kind when it creates the state of a table. `words` may be NULL: the table then has no such functions. */
static inline void kithi_table_use_words(kith_table *t, const kithi_table_words *words) {
    t->words = t->trace == NULL ? words : NULL;
    t->words_8 = t->key_bytes == 8 ? t->words : NULL;
}

static inline void kithi_trace(const kith_table *t, kith_step step, uint64_t at, uint64_t to) {
    if (__builtin_expect(t->trace != NULL, 0))
        t->trace(t->trace_context, step, at, to);
}

/* Counts and traces a growth from `before` to `after` slots. */
static inline void kithi_table_grown(kith_table *t, uint64_t before, uint64_t after) {
    kithi_trace(t, KITH_STEP_GROW, before, after);
    t->growths++;
}

#endif
