/* kith/exact.h: an exact set that uses a filter to speed up lookups of absent keys.
 *
 * The set is a filter in front of a table of the keys. If the filter reports a key as absent, it is absent, and the
 * table is not read. Otherwise the table decides. Use it when keys are removed and callers cannot be trusted to remove
 * only keys that they added: removing an absent key from a filter alone can remove another key. It takes the memory of
 * the table plus a few bits per key.
 *
 * Threads: as in kith/table.h. */
#ifndef KITH_EXACT_H
#define KITH_EXACT_H

#include <kith/filter.h>
#include <kith/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_exact kith_exact;

/* Creates an empty set.
 *
 * `filter` describes the filter. Its kind must support removal (NULL: the smallest kind that does). Its capacity is
 * the initial one (0: 1024); the filter grows with the set. A rate of 0 means 1%. `table` describes the table; it
 * must support the keys that will be added. Either may be NULL: then the filter has a rate of 1%, and the table is
 * of the default kind with byte strings as keys. Returns the statuses of kith_filter_create() and
 * kith_table_create(). */
KITH_API KITH_MUST_USE kith_status kith_exact_create(const kith_filter_spec *filter, const kith_table_spec *table,
                                                     kith_exact **set);

/* Frees the set. Does nothing if `set` is NULL. */
KITH_API void kith_exact_free(kith_exact *set);

/* Removes all keys. KITH_E_MEMORY (only if the filter is of kind layers): the set is unchanged. */
KITH_API KITH_MUST_USE kith_status kith_exact_clear(kith_exact *set);

/* Adds a key. If it is already in the set, nothing changes. *was_new (may be NULL) is set to whether it was absent.
 * When the filter is full, a larger one is built from the keys. KITH_E_KEY, KITH_E_MEMORY, KITH_E_TOO_LARGE,
 * KITH_E_FULL (a table of fixed size): the set is unchanged. */
KITH_API KITH_MUST_USE kith_status kith_exact_add(kith_exact *set, const void *key, size_t key_bytes, bool *was_new);

/* Removes a key. KITH_E_ABSENT: the key is not in the set, which is unchanged. */
KITH_API KITH_MUST_USE kith_status kith_exact_remove(kith_exact *set, const void *key, size_t key_bytes);

/* Returns true if the key is in the set. Reads the table only if the filter reports the key. */
KITH_API bool kith_exact_has(const kith_exact *set, const void *key, size_t key_bytes);

/* Returns the number of keys. */
KITH_API uint64_t kith_exact_count(const kith_exact *set);

/* Return the filter and the table, for their statistics. The filter pointer is valid until the next
 * kith_exact_add(). */
KITH_API const kith_filter *kith_exact_filter(const kith_exact *set);
KITH_API const kith_table *kith_exact_table(const kith_exact *set);

/* Checks the invariants of both parts, and that the filter reports every key of the table. Returns KITH_OK, or
 * KITH_E_CORRUPT and sets *reason (may be NULL) to a sentence about the first violation. */
KITH_API KITH_MUST_USE kith_status kith_exact_check(const kith_exact *set, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
