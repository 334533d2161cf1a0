/* kith/exact.h: an exact set that uses a filter to speed up lookups of absent keys.
 *
 * The set consists of a table with the keys and a filter of the same keys. A lookup asks the filter first. If it
 * returns false, the key is absent, and the table is not read; otherwise the table decides. Use this set if keys are
 * removed and you cannot be sure that they were added before: removing an absent key from a filter alone can remove
 * another key. It takes the memory of the table plus a few bits per key.
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
 * `filter` describes the filter. Its kind must support removal (kind NULL: the smallest kind that does). Its capacity
 * is the initial one; when the filter is full, it is replaced by a larger one with the same rate. (filter->bytes is the
 * size of the first one only.) If filter->bytes is 0, a capacity of 0 means 1024 and a rate of 0 means 1%; these are
 * also the values if `filter` is NULL. What filter->kind, options and notes point to must stay valid until the set is
 * freed.
 *
 * `table` describes the table, and so which keys can be added. NULL means a table of the default kind with byte strings
 * as keys.
 *
 * Returns the codes of kith_filter_create() and kith_table_create(). */
KITH_API KITH_MUST_USE kith_status kith_exact_create(const kith_filter_spec *filter, const kith_table_spec *table,
                                                     kith_exact **set);

/* Frees the set. Does nothing if `set` is NULL. */
KITH_API void kith_exact_free(kith_exact *set);

/* Removes all keys. KITH_E_MEMORY, KITH_E_TOO_LARGE (only if the filter is of kind layers, see kith_filter_clear): the
 * set is unchanged. */
KITH_API KITH_MUST_USE kith_status kith_exact_clear(kith_exact *set);

/* Adds a key. If it is already in the set, nothing changes. *was_new (may be NULL) is set to whether it was absent.
 * When the filter is full, one of twice the capacity (or more, if that is full, too) is built from the keys in the
 * table.
 *
 * Returns KITH_OK, or one of these; the set is then unchanged:
 *   KITH_E_KEY, KITH_E_FULL  as kith_table_put()
 *   KITH_E_MEMORY            no memory for the table or a larger filter
 *   KITH_E_TOO_LARGE         a larger filter would exceed filter->max_bytes
 *   KITH_E_ADDRESS           this machine cannot address the table or a larger filter
 *   KITH_E_DIGEST_BITS       64-bit digests are too short for a larger filter at this rate */
KITH_API KITH_MUST_USE kith_status kith_exact_add(kith_exact *set, const void *key, size_t key_bytes, bool *was_new);

/* Removes a key. KITH_E_ABSENT: the key is not in the set, which is unchanged. */
KITH_API KITH_MUST_USE kith_status kith_exact_remove(kith_exact *set, const void *key, size_t key_bytes);

/* Returns true if the key is in the set. Reads the table only if the filter returns true. */
KITH_API bool kith_exact_has(const kith_exact *set, const void *key, size_t key_bytes);

/* Returns the number of keys. */
KITH_API uint64_t kith_exact_count(const kith_exact *set);

/* Return the filter and the table, for their statistics. The filter pointer is valid until the next
 * kith_exact_add(). */
KITH_API const kith_filter *kith_exact_filter(const kith_exact *set);
KITH_API const kith_table *kith_exact_table(const kith_exact *set);

/* Checks the invariants of the table and of the filter, and that the filter returns true for every key of the table.
 * Returns KITH_OK, or KITH_E_CORRUPT and sets *reason (may be NULL) to a sentence about the first violation. */
KITH_API KITH_MUST_USE kith_status kith_exact_check(const kith_exact *set, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
