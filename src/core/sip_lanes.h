/* core/sip_lanes.h: SipHash-2-4 of eight keys in parallel, for one instruction set.
 *
 * digests.c includes this file once per instruction set, after defining
 *
 *     SIP_SET(name)        appends the name of the set to a function name
 *     SIP_TARGET           the attribute of functions for the set
 *     SIP_REGISTER_WORDS   the number of 64-bit words in a vector register
 *
 * and, for all sets, LANES (8, the number of keys) and HAVE_SHUFFLE (only if there is __builtin_shufflevector).
 *
 * It uses the compiler's vector types, exactly as wide as a register, because the compiler keeps wider ones in memory.
 * The compiler chooses the instructions for vector types in each function before it inlines the function. Each function
 * must therefore be marked for its instruction set, which is why this file is included twice like a template. With AVX2
 * the eight lanes take two registers. Their instructions do not depend on each other, so the processor works on one
 * register while it waits for results of the other. */
#define SIP_REGISTERS (LANES / SIP_REGISTER_WORDS) /* hold one word of each lane */

typedef uint64_t SIP_SET(lanes) __attribute__((vector_size(8 * SIP_REGISTER_WORDS)));

typedef struct SIP_SET(sip) {
    SIP_SET(lanes) v0[SIP_REGISTERS], v1[SIP_REGISTERS], v2[SIP_REGISTERS], v3[SIP_REGISTERS];
} SIP_SET(sip);

SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate)(SIP_SET(lanes) x, unsigned by) {
    return x << by | x >> (64 - by);
}

/* Rotate by 32 and by 16 bits. This only moves halves or quarters of a word. AVX2 has no rotation, but it can do this
 * with one shuffle instead of three instructions. */
SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate32)(SIP_SET(lanes) x) {
#if SIP_REGISTER_WORDS == 4 && defined(HAVE_SHUFFLE)
    typedef uint32_t halves __attribute__((vector_size(8 * SIP_REGISTER_WORDS)));
    halves h = (halves)x;
    return (SIP_SET(lanes))__builtin_shufflevector(h, h, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    return SIP_SET(rotate)(x, 32);
#endif
}

SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate16)(SIP_SET(lanes) x) {
#if SIP_REGISTER_WORDS == 4 && defined(HAVE_SHUFFLE)
    typedef uint16_t quarters __attribute__((vector_size(8 * SIP_REGISTER_WORDS)));
    quarters q = (quarters)x;
    return (SIP_SET(lanes))__builtin_shufflevector(q, q, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
#else
    return SIP_SET(rotate)(x, 16);
#endif
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_round)(SIP_SET(sip) * s) {
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++) {
        s->v0[r] += s->v1[r];
        s->v2[r] += s->v3[r];
        s->v1[r] = SIP_SET(rotate)(s->v1[r], 13) ^ s->v0[r];
        s->v3[r] = SIP_SET(rotate16)(s->v3[r]) ^ s->v2[r];
        s->v0[r] = SIP_SET(rotate32)(s->v0[r]);
        s->v2[r] += s->v1[r];
        s->v0[r] += s->v3[r];
        s->v1[r] = SIP_SET(rotate)(s->v1[r], 17) ^ s->v2[r];
        s->v3[r] = SIP_SET(rotate)(s->v3[r], 21) ^ s->v0[r];
        s->v2[r] = SIP_SET(rotate32)(s->v2[r]);
    }
}

/* Returns the words of SIP_REGISTER_WORDS lanes as a register. Storing them one by one and reading them back as a
 * vector would stall until the stores have left the store buffer. */
SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(lanes_of)(const uint64_t *words) {
#if SIP_REGISTER_WORDS == 4
    return (SIP_SET(lanes)){words[0], words[1], words[2], words[3]};
#else
    return (SIP_SET(lanes)){words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
#endif
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_absorb)(SIP_SET(sip) * s, const uint64_t words[LANES]) {
    SIP_SET(lanes) word[SIP_REGISTERS];
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++) {
        word[r] = SIP_SET(lanes_of)(words + r * SIP_REGISTER_WORDS);
        s->v3[r] ^= word[r];
    }
    SIP_SET(lanes_round)(s);
    SIP_SET(lanes_round)(s);
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++)
        s->v0[r] ^= word[r];
}

/* Copies the lanes in which `mask` is all ones. */
SIP_TARGET KITHI_INLINE void SIP_SET(lanes_copy)(SIP_SET(sip) * to, const SIP_SET(sip) * from,
                                                 const uint64_t mask[LANES]) {
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++) {
        SIP_SET(lanes) copied = SIP_SET(lanes_of)(mask + r * SIP_REGISTER_WORDS);
        to->v0[r] ^= (to->v0[r] ^ from->v0[r]) & copied;
        to->v1[r] ^= (to->v1[r] ^ from->v1[r]) & copied;
        to->v2[r] ^= (to->v2[r] ^ from->v2[r]) & copied;
        to->v3[r] ^= (to->v3[r] ^ from->v3[r]) & copied;
    }
}

/* Absorbs the words `from` … `to` - 1 of eight keys. */
SIP_TARGET KITHI_INLINE void SIP_SET(lanes_absorb_words)(SIP_SET(sip) * s, const uint8_t *const bytes[LANES],
                                                         size_t from, size_t to) {
    uint64_t words[LANES];
    for (size_t w = from; w < to; w++) {
#pragma GCC unroll 8
        for (unsigned lane = 0; lane < LANES; lane++)
            words[lane] = kithi_load64(bytes[lane] + 8 * w);
        SIP_SET(lanes_absorb)(s, words);
    }
}

/* Absorbs keys of different lengths. A lane whose key has ended has its state saved in `ended`, and then continues with
 * the words of the longest key, so that it never reads outside a key. */
SIP_TARGET KITHI_INLINE void SIP_SET(lanes_absorb_mixed)(SIP_SET(sip) * s, const kith_key *const key_of[LANES],
                                                         const uint8_t *bytes[LANES]) {
    SIP_SET(sip) ended = *s;
    uint64_t words[LANES], mask[LANES];
    const kith_key *longest = key_of[0];
    for (unsigned lane = 1; lane < LANES; lane++)
        if (key_of[lane]->byte_count > longest->byte_count)
            longest = key_of[lane];
    size_t most = longest->byte_count / 8;
    for (size_t w = 0; w <= most; w++) {
        size_t next_end = most;
        for (unsigned lane = 0; lane < LANES; lane++) {
            size_t end = key_of[lane]->byte_count / 8;
            next_end = end >= w && end < next_end ? end : next_end;
        }
        SIP_SET(lanes_absorb_words)(s, bytes, w, next_end);
        w = next_end;
        for (unsigned lane = 0; lane < LANES; lane++) {
            bool ends = key_of[lane]->byte_count / 8 == w;
            mask[lane] = 0 - (uint64_t)ends;
            if (ends) {
                words[lane] = kithi_sip_last(key_of[lane]->bytes, key_of[lane]->byte_count);
                bytes[lane] = longest->bytes;
            } else
                words[lane] = w < most ? kithi_load64(bytes[lane] + 8 * w) : 0;
        }
        SIP_SET(lanes_absorb)(s, words);
        SIP_SET(lanes_copy)(&ended, s, mask);
    }
    *s = ended;
}

/* Hashes keys[chosen[0]] … keys[chosen[7]] and writes their digests to digests[chosen[0]] … digests[chosen[7]].
 * `equal_words` says whether all have the same number of whole words. */
SIP_TARGET static void SIP_SET(sip_eight)(const uint8_t secret[16], const kith_key *keys, const uint8_t chosen[LANES],
                                          bool equal_words, uint64_t *digests) {
    SIP_SET(lanes) zero = {0};
    SIP_SET(sip) s;
    uint64_t k0 = kithi_load64(secret), k1 = kithi_load64(secret + 8), words[LANES];
    const kith_key *key_of[LANES];
    const uint8_t *bytes[LANES];
    for (unsigned lane = 0; lane < LANES; lane++) {
        key_of[lane] = &keys[chosen[lane]];
        bytes[lane] = key_of[lane]->bytes;
    }
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++) {
        s.v0[r] = zero + (k0 ^ KITHI_SIP_V0);
        s.v1[r] = zero + (k1 ^ KITHI_SIP_V1);
        s.v2[r] = zero + (k0 ^ KITHI_SIP_V2);
        s.v3[r] = zero + (k1 ^ KITHI_SIP_V3);
    }
    if (equal_words) {
        SIP_SET(lanes_absorb_words)(&s, bytes, 0, key_of[0]->byte_count / 8);
        for (unsigned lane = 0; lane < LANES; lane++)
            words[lane] = kithi_sip_last(bytes[lane], key_of[lane]->byte_count);
        SIP_SET(lanes_absorb)(&s, words);
    } else
        SIP_SET(lanes_absorb_mixed)(&s, key_of, bytes);
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++)
        s.v2[r] ^= 0xff;
    for (int i = 0; i < 4; i++)
        SIP_SET(lanes_round)(&s);
#pragma GCC unroll 2
    for (unsigned r = 0; r < SIP_REGISTERS; r++) {
        SIP_SET(lanes) hashes = s.v0[r] ^ s.v1[r] ^ s.v2[r] ^ s.v3[r];
        memcpy(words + r * SIP_REGISTER_WORDS, &hashes, sizeof hashes);
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        digests[chosen[lane]] = words[lane];
}

#undef SIP_REGISTERS
#undef SIP_SET
#undef SIP_TARGET
#undef SIP_REGISTER_WORDS
