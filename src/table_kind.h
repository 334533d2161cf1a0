/* table_kind.h: what a table kind is to the rest of the library.
 *
 * A kind is one file in tables/ that ends in one const kithi_table_kind, and one line in tables.def. The front has checked
 * the key's size before a verb sees it. A verb that fails leaves the table as it was. */
#ifndef KITHI_TABLE_KIND_H
#define KITHI_TABLE_KIND_H

#include <kith/table.h>

#include "core/arena.h"
#include "plan/options.h"
#include "core/prng.h"
#include "format/format.h"

/* An entry is a record, the same in every kind that keeps keys:
 *
 *     key of 4 or 8 bytes   | key, zeros up to 8             | value, 8 |      values are little-endian
 *     key of 16 bytes       | key, 16                        | value, 8 |
 *     byte string           | pointer, 8 | length, 8         | value, 8 |      its bytes lie in the table's arena
 */
#define KITHI_RECORD_MAX 24

typedef struct kithi_key {
    const uint8_t *bytes;
    size_t byte_count;
} kithi_key;

/* The longest byte string. */
#define KITHI_TABLE_KEY_MAX (UINT64_C(1) << 32)

/* Keys that a batch takes at once: a word of a bitmap. */
#define KITHI_GROUP 64

/* Parameters in the header of a table's file. The first five are the same in every file; from KITHI_TABLE_PARAMS on they
 * depend on the form (table_file.c) and, in an image, on the kind. */
enum {
    KITHI_TABLE_KEY_BYTES,
    KITHI_TABLE_FAMILY,
    KITHI_TABLE_INDEPENDENCE,
    KITHI_TABLE_GENERATOR,
    KITHI_TABLE_KIND, /* kithi_table_kind.id */
    KITHI_TABLE_PARAMS
};

typedef struct kithi_table_kind {
    uint64_t id; /* in files; never reused */
    kith_kind_info info;
    bool takes_strings, takes_values; /* else fixed keys only; value 0 only */

    /* Makes and frees t->state; create is given room for `capacity` keys (0: little) and frees nothing on failure but what
     * it took. */
    kith_status (*create)(kith_table *t, uint64_t capacity);
    void (*destroy)(kith_table *t);
    void (*clear)(kith_table *t); /* the front clears the arena and the count */
    kith_status (*reserve)(kith_table *t, uint64_t keys);

    /* True, and the value, when the key is in. */
    bool (*get)(const kith_table *t, const kithi_key *key, uint64_t *value);
    kith_status (*put)(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new);
    kith_status (*remove)(kith_table *t, const kithi_key *key, uint64_t *value);

    /* May be NULL. put for a key that is known to be absent, without looking at other keys. For kinds whose put may
     * look at every key, even if they are not chosen against it: opening a file of n entries would take n^2 / 2
     * looks. */
    kith_status (*append)(kith_table *t, const kithi_key *key, uint64_t value);

    /* These may be NULL. prefetch: lines that a verb will need. get_word: get for a table of 8-byte keys that has said
     * has_words; value may be NULL. get_group: get for up to KITHI_GROUP keys; bit i: key i is in, and values[i], unless
     * values is NULL, is set. Neither of the two is called when the table is traced. */
    void (*prefetch)(const kith_table *t, const kithi_key *key);
    bool (*get_word)(const kith_table *t, uint64_t word, uint64_t *value);
    uint64_t (*get_group)(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values);

    /* The next entry from the cursor on, as kith_table_next; the key's bytes. */
    bool (*next)(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value);
    void (*stats)(const kith_table *t, kith_table_stats *stats); /* slots, load, bytes of its own, longest */
    const char *(*check)(const kith_table *t);                   /* NULL or the first broken invariant */

    /* True when the table keeps the size that it was created with; NULL: it grows, or has all the room that it will ever
     * need. */
    bool (*keeps_size)(const kith_table *t);

    /* For kinds whose tables of fixed keys are a block of bytes; NULL for others. image: the block; the kind's parameters
     * and the body's size go into the header. attach: makes t->state over such a block, which may be hostile; the front
     * has set all else. The block belongs to the kind from then on, unless the table is read-only. KITH_E_CORRUPT,
     * KITH_E_MEMORY: it does not. */
    uint8_t *(*image)(kith_table *t, kithi_head *head);
    kith_status (*attach)(kith_table *t, const kithi_head *head, uint8_t *block);
} kithi_table_kind;

struct kith_table {
    const kithi_table_kind *kind;
    kith_allocator allocator;
    unsigned key_bytes;
    unsigned record_bytes;
    uint64_t options[KITHI_OPTIONS_MAX];
    kith_family_id family;
    unsigned independence;
    kithi_prng prng; /* functions are drawn from its words */
    kith_table_trace trace;
    void *trace_context;
    kithi_arena arena; /* keys that are byte strings; nodes */
    bool has_words;    /* set by the kind: get_word answers for it */
    bool readonly;     /* the block is a mapped file */
    const uint8_t *map;
    size_t map_bytes;
    uint64_t capacity; /* that it was made with */
    uint64_t count;
    uint64_t rehashes, growths;
    void *state; /* the kind's own */
};

/* Returns the registered kind with this id, or NULL. */
const kithi_table_kind *kithi_table_kind_by_id(uint64_t id);

/* A table with all but its kind's state and its arena's content, on the heap; and its end. */
kith_status kithi_table_new(const kith_table *like, kith_table **table);
void kithi_table_drop(kith_table *t);

/* Are these valid together? */
bool kithi_table_family_valid(kith_family_id family, unsigned independence);
bool kithi_table_key_bytes_valid(const kithi_table_kind *kind, unsigned key_bytes);
unsigned kithi_table_record_bytes(unsigned key_bytes);

static inline void kithi_trace(const kith_table *t, kith_step step, uint64_t place, uint64_t to) {
    if (__builtin_expect(t->trace != NULL, 0))
        t->trace(t->trace_context, step, place, to);
}

static inline void kithi_table_grown(kith_table *t, uint64_t before, uint64_t after) {
    kithi_trace(t, KITH_STEP_GROW, before, after);
    t->growths++;
}

#endif
