/* choose.h: which kind of filter does what is asked. */
#ifndef CLI_CHOOSE_H
#define CLI_CHOOSE_H

#include <kith/filter.h>

#include "options.h"

/* A spec with room for the text of its options, which may have to name a kind inside. */
typedef struct choice {
    kith_filter_spec spec;
    char options[256];
} choice;

/* The spec of --kind, --option and what the filter must be able to do; capacity, rate, bytes and hash are left to the
 * caller. Ends the tool for an unknown kind. */
void choose_begin(const arguments *a, uint32_t needs, choice *c);

/* Without a kind the smallest is taken, unless one that goes to one place in memory a look-up is at most this much
 * larger: it is several times faster out of cache. At 0.1% blocked is 16% to 27% larger than the smallest kind, and at
 * 0.01% 36% to 43%, from 10^4 keys on. */
#define CHOOSE_FASTER_BITS 1.3

/* Is `other` that faster one? Both can do what is needed and keep the same rate. */
bool choose_faster(const kith_plan *smallest, const kith_plan *other, uint32_t needs);

/* Plans c->spec, with the kind that is best by the rule above where none is given. Where no kind can do all of
 * spec.needs as it is, a kind that holds another one (layers) is tried around each that there is, and the smallest
 * taken; likewise around spec.kind where that can't grow and must. On success spec.kind and spec.options are what
 * was chosen. The codes of kith_filter_plan. */
kith_status choose_plan(choice *c, kith_plan *plan);

/* Ends the tool with what `status` of choose_plan means for these options. */
_Noreturn void choose_fail(const arguments *a, const choice *c, kith_status status);

#endif
