/* table_kind.h: what a table kind is to the rest of the library.
 *
 * A kind is one file in tables/ that ends in one const kithi_table_kind, and one line in tables.def. The front has checked
 * the key's size before a verb sees it. A verb that fails leaves the table as it was. */
#ifndef KITHI_TABLE_KIND_H
#define KITHI_TABLE_KIND_H

#include <kith/table.h>

#include "core/arena.h"
#include "core/options.h"
#include "core/prng.h"

/* An entry is a record, the same in every kind that keeps keys:
 *
 *     key of 4 or 8 bytes   | key as a little-endian word, 8 | value, 8 |
 *     key of 16 bytes       | key, 16                        | value, 8 |
 *     byte string           | pointer, 8 | length, 8         | value, 8 |      its bytes lie in the table's arena
 */
#define KITHI_RECORD_MAX 24

typedef struct kithi_key {
    const uint8_t *bytes;
    size_t byte_count;
} kithi_key;

typedef struct kithi_table_kind {
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
    void (*prefetch)(const kith_table *t, const kithi_key *key); /* may be NULL */

    /* The next entry from the cursor on, as kith_table_next; the key's bytes. */
    bool (*next)(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value);
    void (*stats)(const kith_table *t, kith_table_stats *stats); /* slots, load, bytes of its own, longest */
    const char *(*check)(const kith_table *t);                   /* NULL or the first broken invariant */
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
    uint64_t count;
    uint64_t rehashes, growths;
    void *state; /* the kind's own */
};

static inline void kithi_trace(const kith_table *t, kith_step step, uint64_t place, uint64_t to) {
    if (__builtin_expect(t->trace != NULL, 0))
        t->trace(t->trace_context, step, place, to);
}

#endif
