/* full.h: why an add returned KITH_E_FULL, in words and numbers that are true.
 *
 * The library stops at the capacity, or earlier when more bits are set than that many keys should set. The second has
 * two causes that look alike from outside: more keys came than the capacity (Bloom kinds do not count a new key that
 * is a false positive already, so their count stays below it), or the keys were chosen to set more bits than others.
 * The statistics of the filter tell the two apart. */
#ifndef CLI_FULL_H
#define CLI_FULL_H

#include <stdnoreturn.h>

#include <kith/filter.h>

typedef enum full_cause {
    FULL_OVERFLOW, /* more distinct keys came than the capacity */
    FULL_CHOSEN,   /* the keys that came do not explain the bits that are set, by six standard deviations */
    FULL_CROWDED,  /* a kind with slots: below its capacity, but the slots of one key are taken */
    FULL_GROWN,    /* a kind that grows has all the layers that it can have */
} full_cause;

/* `came` is an upper bound of the distinct keys that were ever offered to the filter; UINT64_MAX if that is not known.
 * Cost: that of kith_filter_stats_of(). */
full_cause full_because(const kith_filter *filter, uint64_t came);

/* The number of distinct keys that were added, estimated from the bits. Unlike the count of a Bloom kind it includes
 * keys that were false positives when they came. */
double full_keys(const kith_filter *filter);

/* Ends the tool for every cause but FULL_OVERFLOW. `name` is the file, or "the filter". */
noreturn void fail_no_overflow(const char *name, const kith_filter *filter, full_cause cause);

#endif
