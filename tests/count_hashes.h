/* count_hashes.h: reports the key of every hash that a table computes. The hash functions are inline, so the linker
 * cannot wrap them. Instead, the sources of the tables are compiled into the test once more, with this header before
 * their first line (-include). */
#ifndef KITH_TESTS_COUNT_HASHES_H
#define KITH_TESTS_COUNT_HASHES_H

#include "core/function.h"

/* Defined by the test. Keys of 4 and 8 bytes are reported as words. */
void on_hash_of_word(uint64_t word);
void on_hash_of_bytes(const uint8_t *bytes, size_t n);

static inline uint64_t reported_key(const kith_function *function, const uint8_t *bytes, size_t n) {
    if (n == 4 || n == 8)
        on_hash_of_word(n == 8 ? kithi_load64(bytes) : kithi_load32(bytes));
    else
        on_hash_of_bytes(bytes, n);
    return kithi_function_key(function, bytes, n);
}

static inline uint64_t reported_word(const kith_function *function, uint64_t word) {
    on_hash_of_word(word);
    return kithi_function_word(function, word);
}

static inline uint64_t reported_xxh3_word(uint64_t flip, uint64_t word) {
    on_hash_of_word(word);
    return kithi_xxh3_word(flip, word);
}

#define kithi_function_key reported_key
#define kithi_function_word reported_word
#define kithi_xxh3_word reported_xxh3_word

#endif
