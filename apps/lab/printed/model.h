/* model.h: what the models of printed.h share. */
#ifndef LAB_PRINTED_MODEL_H
#define LAB_PRINTED_MODEL_H

#include <stdint.h>

#include <lab/mix.h>

/* Nothing that is printed keeps a rehash from failing again, or the loop of algorithm 3 of [4] from running for ever.
 * So an insertion is given up after this many rehashes or passes, and counted. */
enum { PRINTED_ENDLESS = 10000 };

/* A random function's value for a key is a mix of the function's number and the key. */
static inline uint64_t mixed(uint64_t x) {
    return lab_mix(x + UINT64_C(0x9e3779b97f4a7c15));
}

static inline unsigned below(uint64_t word, unsigned bound) {
    return (unsigned)((word >> 32) * bound >> 32);
}

#endif
