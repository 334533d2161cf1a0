/* core/siphash.h: SipHash-2-4 with 64 bits of output (Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012). It
 * is implemented here so that it can be inlined, can hash several keys in parallel (sip_lanes.h) and can be part of
 * kith/reader.h. tests/unit/siphash.c checks it against the test vectors of the authors' reference implementation. */
#ifndef KITHI_CORE_SIPHASH_H
#define KITHI_CORE_SIPHASH_H

#include "core/bits.h"

/* The initial state of SipHash, before the key is XORed in. */
#define KITHI_SIP_V0 UINT64_C(0x736f6d6570736575)
#define KITHI_SIP_V1 UINT64_C(0x646f72616e646f6d)
#define KITHI_SIP_V2 UINT64_C(0x6c7967656e657261)
#define KITHI_SIP_V3 UINT64_C(0x7465646279746573)

/* Returns the last word of SipHash's input: the bytes after the last whole word, and the length modulo 256 in the top
 * byte. Reads no byte outside the key. */
static inline uint64_t kithi_sip_last(const uint8_t *bytes, size_t byte_count) {
    size_t rest = byte_count & 7;
    uint64_t last = (uint64_t)byte_count << 56;
    if (rest == 0)
        return last;
    if (byte_count > 8)
        return last | kithi_load64(bytes + byte_count - 8) >> (64 - 8 * rest);
    if (rest >= 4)
        return last | kithi_load32(bytes) | (uint64_t)kithi_load32(bytes + rest - 4) << (8 * rest - 32);
    return last | bytes[0] | (uint64_t)bytes[rest / 2] << (8 * (rest / 2)) |
           (uint64_t)bytes[rest - 1] << (8 * rest - 8);
}

static inline uint64_t kithi_rotate_left(uint64_t x, unsigned by) {
    return (x << by) | (x >> (64 - by));
}

typedef struct kithi_sip_state {
    uint64_t v0, v1, v2, v3;
} kithi_sip_state;

static inline void kithi_sip_round(kithi_sip_state *s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = kithi_rotate_left(s->v1, 13) ^ s->v0;
    s->v3 = kithi_rotate_left(s->v3, 16) ^ s->v2;
    s->v0 = kithi_rotate_left(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = kithi_rotate_left(s->v1, 17) ^ s->v2;
    s->v3 = kithi_rotate_left(s->v3, 21) ^ s->v0;
    s->v2 = kithi_rotate_left(s->v2, 32);
}

static inline void kithi_sip_absorb(kithi_sip_state *s, uint64_t word) {
    s->v3 ^= word;
    kithi_sip_round(s);
    kithi_sip_round(s);
    s->v0 ^= word;
}

/* Absorbs the last word (kithi_sip_last) and returns the hash. */
static inline uint64_t kithi_sip_finish(kithi_sip_state *s, uint64_t last) {
    kithi_sip_absorb(s, last);
    s->v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        kithi_sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static inline uint64_t kithi_siphash(const uint8_t secret[16], const uint8_t *bytes, size_t byte_count) {
    uint64_t k0 = kithi_load64(secret), k1 = kithi_load64(secret + 8);
    kithi_sip_state s = {k0 ^ KITHI_SIP_V0, k1 ^ KITHI_SIP_V1, k0 ^ KITHI_SIP_V2, k1 ^ KITHI_SIP_V3};
    size_t whole = byte_count & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        kithi_sip_absorb(&s, kithi_load64(bytes + i));
    return kithi_sip_finish(&s, kithi_sip_last(bytes, byte_count));
}

#endif
