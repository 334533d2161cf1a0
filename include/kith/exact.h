/* kith/exact.h: a set that is never wrong and mostly answers from a filter.
 *
 * A filter stands before a table of the keys themselves: what the filter does not know is not in, at the filter's speed
 * and without touching the table; the rest is asked of the table. Take it where keys go again and callers can't be trusted
 * to remove only what they added: a filter alone would lose another key. It costs what the table costs and a few bits more.
 *
 * Threads: as kith/table.h. */
#ifndef KITH_EXACT_H
#define KITH_EXACT_H

#include <kith/filter.h>
#include <kith/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_exact kith_exact;

/* An empty set. `filter` says kind, capacity, rate and hash of the filter: its kind must be able to remove (NULL: the
 * smallest that can), its capacity is where it starts (0: 1024). `table` says where the keys are kept; its kind must take
 * the keys that will come. Both may be NULL: an overlap or cuckoo filter at 1%, a cuckoo table of byte strings.
 * The codes of kith_filter_create and kith_table_create. */
KITH_API KITH_MUST_USE kith_status kith_exact_create(const kith_filter_spec *filter, const kith_table_spec *table,
                                                     kith_exact **set);

/* NULL is fine. */
KITH_API void kith_exact_free(kith_exact *set);

/* KITH_E_MEMORY (layers): as before. */
KITH_API KITH_MUST_USE kith_status kith_exact_clear(kith_exact *set);

/* Adds a key; one that is in stays in once. *was_new may be NULL. Grows as needed: the filter is then built anew from the
 * keys. KITH_E_KEY, KITH_E_MEMORY, KITH_E_TOO_LARGE, KITH_E_FULL (a table of fixed size): as before. */
KITH_API KITH_MUST_USE kith_status kith_exact_add(kith_exact *set, const void *key, size_t key_bytes, bool *was_new);

/* KITH_E_ABSENT: it is not in, and nothing was harmed. */
KITH_API KITH_MUST_USE kith_status kith_exact_remove(kith_exact *set, const void *key, size_t key_bytes);

KITH_API bool kith_exact_has(const kith_exact *set, const void *key, size_t key_bytes);

KITH_API uint64_t kith_exact_count(const kith_exact *set);

/* The parts, for their stats; not to be changed. */
KITH_API const kith_filter *kith_exact_filter(const kith_exact *set);
KITH_API const kith_table *kith_exact_table(const kith_exact *set);

/* The filter answers yes for every key of the table, and both are sound: else KITH_E_CORRUPT and the reason. */
KITH_API KITH_MUST_USE kith_status kith_exact_check(const kith_exact *set, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
