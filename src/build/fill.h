/* build/fill.h: adds many digests to a filter, by parts and on several threads, with the bytes of adds in order. */
#ifndef KITHI_BUILD_FILL_H
#define KITHI_BUILD_FILL_H

#include "kind.h"

typedef struct kithi_fill_options {
    unsigned threads;   /* at least 1 */
    bool drop_repeats;  /* equal digests are one key; otherwise the kind stores copies, or there are no repeats */
    bool leave_out;     /* copies beyond what the kind stores are left out; otherwise they are KITH_E_COPIES */
    uint64_t *left_out; /* counts them */
} kithi_fill_options;

/* Fills an empty filter with all of its digests, among which there may be repeats. On failure the filter and the code are
 * those of adds in order. */
kith_status kithi_fill(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options);

/* Adds some of the digests, without repeats, to a filter that is filled in order. Sets *split if the work was split. If
 * that fails, the content of the filter is unspecified, and the code may differ from that of adds in order: fill the
 * filter again, with kithi_fill_in_order(). */
kith_status kithi_fill_some(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                            bool *split);

/* The same, one add after the other: *done were added. */
kith_status kithi_fill_in_order(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                                size_t *done);

/* Adds digests to a filter of a kind without copies, like kith_filter_add_many(): it stops at the first that fails, and
 * *done are added. */
kith_status kithi_fill_stream(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads, size_t *done);

/* Fewer digests than this are added faster than they are sorted into parts. */
#define KITHI_FILL_PARTS_MIN ((size_t)1 << 17)

#endif
