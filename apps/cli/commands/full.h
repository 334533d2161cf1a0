/* full.h: finds out why an add returned KITH_E_FULL, so that the error can name the true cause.
 *
 * The library refuses keys at the capacity, or earlier if more bits are set than that many keys should set. The second
 * case has two causes that look the same from outside. Either more distinct keys were added than the capacity (Bloom
 * filters do not count a new key that is a false positive, so their count stays below it), or an attacker chose keys
 * that set more bits than usual. There is a third case: keys that crowd some blocks of a blocked filter are refused
 * however few bits are set. The statistics of the filter distinguish the causes. */
#ifndef CLI_FULL_H
#define CLI_FULL_H

#include <stdnoreturn.h>

#include <kith/filter.h>

/* Ends the tool with an error that names the cause, after an add to `name`, a file or "the filter", has returned
 * KITH_E_FULL. Returns if the cause is that more distinct keys were added than the capacity: what to do about that
 * depends on the command. `offered` is an upper bound for the number of distinct keys that were ever offered to the
 * filter; UINT64_MAX if it is unknown. Costs as much as kith_filter_stats_of(). */
void fail_full(const char *name, const kith_filter *filter, uint64_t offered);

/* Estimates the number of distinct keys that were added from the set bits. Unlike the count of a Bloom filter, it
 * includes keys that were false positives when they were added. */
double full_keys(const kith_filter *filter);

/* Ends the tool with an error for a static filter that cannot be built although it has room for all keys. */
noreturn void fail_static(const char *name);

/* Prints a note if the rate of this filter is above the one that it promises. By chance, that is true for at most one
 * in 200 filters. Costs as much as kith_filter_stats_of(), so it leaves out large stores, which change cheaply. */
void full_note_rate(const char *name, const kith_filter *filter, bool is_store);

#endif
