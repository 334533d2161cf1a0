/* build/fill.h: adds many digests to a filter. If that is faster, the work is split into parts or ranges of the filter
 * (fill.c), and done on several threads. The filter has the same bytes as if the digests had been added one by one, in
 * order ("adds in order"). */
#ifndef KITHI_BUILD_FILL_H
#define KITHI_BUILD_FILL_H

#include "kinds/kind.h"

typedef struct kithi_fill_options {
    unsigned threads;   /* at least 1 */
    bool drop_repeats;  /* add only the first of equal digests; each function says whether it must be true */
    bool leave_out;     /* skip copies beyond the kind's maximum; otherwise they fail with KITH_E_COPIES */
    uint64_t *left_out; /* incremented for each copy that is skipped */
    bool again;         /* the caller has all digests, and can add them again in order if the split work is refused */
} kithi_fill_options;

/* Fills an empty filter from the complete list of its digests and drops repeats; options->drop_repeats must be true.
 * After KITH_E_FULL and KITH_E_COPIES, the filter has the keys that adds in order would have added before they failed
 * with the same code. After any other failure its content is unspecified. */
kith_status kithi_fill_without_repeats(kith_filter *f, const uint64_t *digests, size_t n,
                                       const kithi_fill_options *options);

/* Adds the next piece of the digests. options->drop_repeats must be false: repeats are stored as copies, or ignored by
 * a kind that stores none. Sets *split to true if the work was split, and otherwise leaves it as it is. If a split fill
 * fails, the content of the filter is unspecified, and the code may differ from that of adds in order. The caller must
 * then clear the filter and add all pieces again, with kithi_fill_in_order(). */
kith_status kithi_fill_some(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                            bool *split);

/* Like kithi_fill_some(), one add after the other. Sets *done to the number of digests that were added or left out. */
kith_status kithi_fill_in_order(kith_filter *f, const uint64_t *digests, size_t n, const kithi_fill_options *options,
                                size_t *done);

/* The decision at the end of every build, however it was split. `status` is that of the last piece. If it is KITH_OK,
 * makes a pass over the body, and returns KITH_E_FULL if keys were chosen to crowd some blocks
 * (kinds/shared/crowding.h). Otherwise returns `status`. kithi_fill_some() and kithi_fill_stream() do not check this
 * when they split the work, and adds one by one need not notice it in a large filter. So the caller must call this
 * function after the last piece. */
kith_status kithi_fill_judge(kith_filter *f, kith_status status);

/* Adds digests to a filter of a kind that stores no copies, on `threads` threads. Like kith_filter_add_many() it stops
 * at the first digest that fails, and sets *done to the number of digests before it. */
kith_status kithi_fill_stream(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads, size_t *done);

/* Fills an empty filter of a kind that stores no copies from the complete list of its digests, on one thread. The
 * result is that of adds in order, or KITH_E_FULL from kithi_fill_judge() after them. */
kith_status kithi_fill_at_once(kith_filter *f, const uint64_t *digests, size_t n);

/* Fewer digests than this are never split: adding them one by one is faster. */
#define KITHI_FILL_SPLIT_MIN ((size_t)1 << 17)

#endif
