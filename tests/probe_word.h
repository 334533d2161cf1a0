/* probe_word.h: probe word i of a digest, computed on its own. The library goes from one to the next. */
#ifndef KITH_TESTS_PROBE_WORD_H
#define KITH_TESTS_PROBE_WORD_H

#include "core/mix.h"

static inline uint64_t probe_word(uint64_t digest, uint64_t i) {
    uint64_t word = kithi_next_probe(digest);
    while (i-- > 0)
        word = kithi_next_probe(word);
    return word;
}

#endif
