/* crowding_state.h: what a handle of a blocked kind remembers about its body: see kinds/shared/crowding.h. */
#ifndef KITHI_CROWDING_STATE_H
#define KITHI_CROWDING_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define KITHI_CROWDING_STEPS 16

/* When blocked kinds check whether blocks are crowded: see kinds/shared/crowding.h. A spot check is the examination
 * of a few blocks before a key is added. */
typedef struct kithi_crowding {
    /* For filters whose block rates are summed. `sum` is the sum of the weights of all blocks, if `summed` is true, and
     * a filter with a higher one than `limit` is crowded. As long as the count is below `safe`, `sum` is known and an
     * add exceeds neither the capacity nor the fill limit; 0 if that is not known. */
    uint64_t sum, limit, safe;
    bool summed;
    /* For other filters, and if `off` is true: as long as the count is below `next`, an add needs no spot check and
     * does not exceed the capacity. `next` is the smallest of three counts: see "Cost" in crowding.h. 0 if it is not
     * known. */
    uint64_t next;
    uint64_t last; /* the count of the spot check before `next`, set together with it unless `off` is true */
    uint64_t gap;  /* from the count of one spot check to that of the next; 0 if `gap` and `cells` are not set yet */
    double rate;   /* a filter with a higher rate is crowded; 0 if it is not set yet */
    /* In a fill (before_fill in kind.h): make no spot checks, and do not sum. */
    bool off;
    _Atomic uint64_t shared_sum; /* while adders are open: `sum`, and what they have added to it */
    /* A block with more than cells[i] cells in use is suspect. i is the largest number for which the count is at least
     * i / 16 of the capacity, but at most 15. */
    uint16_t cells[KITHI_CROWDING_STEPS];
} kithi_crowding;

/* Must be called after the body was changed in any other way than by adding and removing keys: the next add computes
 * again what follows from the body. */
static inline void kithi_crowding_forget(kithi_crowding *crowding) {
    crowding->next = 0;
    crowding->safe = 0;
    crowding->summed = false;
}

#endif
