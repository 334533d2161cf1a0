/* core/bits.h: little-endian loads and stores at any address, wide products, checked arithmetic, packed fields.
 *
 * Words of a filter's body are read and written by these loads and stores, or by vector code that only little-endian
 * machines use. A body may therefore be at an unaligned address, and its bytes mean the same on little-endian and
 * big-endian machines. */
#ifndef KITHI_CORE_BITS_H
#define KITHI_CORE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KITHI_BIG_ENDIAN 1
#else
#define KITHI_BIG_ENDIAN 0
#endif

/* Convert a word of this machine to the little-endian word with the same value, and back. */
static inline uint16_t kithi_little16(uint16_t x) {
    return KITHI_BIG_ENDIAN ? __builtin_bswap16(x) : x;
}

static inline uint32_t kithi_little32(uint32_t x) {
    return KITHI_BIG_ENDIAN ? __builtin_bswap32(x) : x;
}

static inline uint64_t kithi_little64(uint64_t x) {
    return KITHI_BIG_ENDIAN ? __builtin_bswap64(x) : x;
}

static inline uint16_t kithi_load16(const uint8_t *from) {
    uint16_t x;
    memcpy(&x, from, sizeof x);
    return kithi_little16(x);
}

static inline void kithi_store16(uint8_t *to, uint16_t x) {
    x = kithi_little16(x);
    memcpy(to, &x, sizeof x);
}

static inline uint32_t kithi_load32(const uint8_t *from) {
    uint32_t x;
    memcpy(&x, from, sizeof x);
    return kithi_little32(x);
}

static inline void kithi_store32(uint8_t *to, uint32_t x) {
    x = kithi_little32(x);
    memcpy(to, &x, sizeof x);
}

static inline uint64_t kithi_load64(const uint8_t *from) {
    uint64_t x;
    memcpy(&x, from, sizeof x);
    return kithi_little64(x);
}

static inline void kithi_store64(uint8_t *to, uint64_t x) {
    x = kithi_little64(x);
    memcpy(to, &x, sizeof x);
}

/* The next two return the high half of the 128-bit product a * b and store the low half in *low. The portable one is
 * for machines without a 128-bit type, and for the test that compares the two. */
static inline uint64_t kithi_mul_wide_portable(uint64_t a, uint64_t b, uint64_t *low) {
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t cross = (a_low * b_low >> 32) + a_high * b_low;
    uint64_t carry = (uint32_t)cross + a_low * b_high;
    *low = a * b;
    return a_high * b_high + (cross >> 32) + (carry >> 32);
}

static inline uint64_t kithi_mul_wide(uint64_t a, uint64_t b, uint64_t *low) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    return kithi_mul_wide_portable(a, b, low);
#endif
}

/* Returns the high half of the 128-bit product a * b. If a is a uniform random number of 64 bits, this is a random
 * number in [0, b), and the probability of each value is within 2^-64 of 1/b. */
static inline uint64_t kithi_mulhi(uint64_t a, uint64_t b) {
    uint64_t low;
    return kithi_mul_wide(a, b, &low);
}

static inline unsigned kithi_popcount(uint64_t x) {
    return (unsigned)__builtin_popcountll(x);
}

static inline bool kithi_is_zero(const uint8_t *bytes, uint64_t byte_count) {
    uint8_t any = 0;
    for (uint64_t i = 0; i < byte_count; i++)
        any |= bytes[i];
    return any == 0;
}

/* Returns whether all bits from number `bit` to the end of these bytes are 0. */
static inline bool kithi_is_zero_from(const uint8_t *bytes, uint64_t bit, uint64_t byte_count) {
    uint64_t whole = (bit + 7) / 8;
    return (bit % 8 == 0 || bytes[bit / 8] >> (bit % 8) == 0) && kithi_is_zero(bytes + whole, byte_count - whole);
}

/* Return false if the result does not fit; *out is then unspecified. */
static inline bool kithi_checked_mul(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool kithi_checked_add(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* Get or set the field of `width` (1 … 57) bits that begins at bit `bit` of an array. They read and write the 8 bytes
 * that start at the field's first byte, so the array must be followed by 7 bytes of padding. */
static inline uint64_t kithi_packed_get(const uint8_t *array, uint64_t bit, unsigned width) {
    return (kithi_load64(array + (bit >> 3)) >> (bit & 7)) & ((UINT64_C(1) << width) - 1);
}

static inline void kithi_packed_set(uint8_t *array, uint64_t bit, unsigned width, uint64_t value) {
    uint8_t *at = array + (bit >> 3);
    uint64_t mask = ((UINT64_C(1) << width) - 1) << (bit & 7);
    kithi_store64(at, (kithi_load64(at) & ~mask) | (value << (bit & 7)));
}

/* Get or set field `index` of an array of fields of `width` bits without gaps. */
static inline uint64_t kithi_field_get(const uint8_t *array, uint64_t index, unsigned width) {
    return kithi_packed_get(array, index * width, width);
}

static inline void kithi_field_set(uint8_t *array, uint64_t index, unsigned width, uint64_t value) {
    kithi_packed_set(array, index * width, width, value);
}

#endif
