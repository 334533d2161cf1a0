/* core/sip_lanes.h: SipHash-2-4 of eight keys in parallel, for one instruction set.
 *
 * digests.c includes this file once per instruction set, after defining
 *
 *     SIP_SET(name)   appends the name of the set to a function name
 *     SIP_TARGET      the attribute of functions for the set
 *     SIP_WIDE        the number of 64-bit words in a register
 *
 * and, for all sets, LANES (8, the number of keys) and HAVE_SHUFFLE (only if there is __builtin_shufflevector).
 *
 * It uses the compiler's vector types, exactly as wide as a register, because the compiler keeps wider ones in memory.
 * The compiler chooses the instructions for vector types in each function before it inlines the function. Each function
 * must therefore be marked for its instruction set, which is why this file is included twice like a template. With AVX2
 * the eight lanes take two registers. Their instructions do not depend on each other, so the processor works on one
 * register while it waits for results of the other. */
#define SIP_PARTS (LANES / SIP_WIDE)

typedef uint64_t SIP_SET(lanes) __attribute__((vector_size(8 * SIP_WIDE)));

typedef struct SIP_SET(sip) {
    SIP_SET(lanes) v0[SIP_PARTS], v1[SIP_PARTS], v2[SIP_PARTS], v3[SIP_PARTS];
} SIP_SET(sip);

SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate)(SIP_SET(lanes) x, unsigned by) {
    return x << by | x >> (64 - by);
}

/* Rotate by 32 and by 16 bits. This only moves halves or quarters of a word: one instruction instead of three where the
 * set has no rotation. */
SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate32)(SIP_SET(lanes) x) {
#if SIP_WIDE == 4 && defined(HAVE_SHUFFLE)
    typedef uint32_t halves __attribute__((vector_size(8 * SIP_WIDE)));
    halves h = (halves)x;
    return (SIP_SET(lanes))__builtin_shufflevector(h, h, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    return SIP_SET(rotate)(x, 32);
#endif
}

SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate16)(SIP_SET(lanes) x) {
#if SIP_WIDE == 4 && defined(HAVE_SHUFFLE)
    typedef uint16_t quarters __attribute__((vector_size(8 * SIP_WIDE)));
    quarters q = (quarters)x;
    return (SIP_SET(lanes))__builtin_shufflevector(q, q, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
#else
    return SIP_SET(rotate)(x, 16);
#endif
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_round)(SIP_SET(sip) * s) {
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        s->v0[p] += s->v1[p];
        s->v2[p] += s->v3[p];
        s->v1[p] = SIP_SET(rotate)(s->v1[p], 13) ^ s->v0[p];
        s->v3[p] = SIP_SET(rotate16)(s->v3[p]) ^ s->v2[p];
        s->v0[p] = SIP_SET(rotate32)(s->v0[p]);
        s->v2[p] += s->v1[p];
        s->v0[p] += s->v3[p];
        s->v1[p] = SIP_SET(rotate)(s->v1[p], 17) ^ s->v2[p];
        s->v3[p] = SIP_SET(rotate)(s->v3[p], 21) ^ s->v0[p];
        s->v2[p] = SIP_SET(rotate32)(s->v2[p]);
    }
}

/* Returns the words of SIP_WIDE lanes as a register. Storing them one by one and reading them back as a vector would
 * stall until the stores have left the store buffer. */
SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(lanes_of)(const uint64_t *words) {
#if SIP_WIDE == 4
    return (SIP_SET(lanes)){words[0], words[1], words[2], words[3]};
#else
    return (SIP_SET(lanes)){words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
#endif
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_absorb)(SIP_SET(sip) * s, const uint64_t words[LANES]) {
    SIP_SET(lanes) word[SIP_PARTS];
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        word[p] = SIP_SET(lanes_of)(words + p * SIP_WIDE);
        s->v3[p] ^= word[p];
    }
    SIP_SET(lanes_round)(s);
    SIP_SET(lanes_round)(s);
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++)
        s->v0[p] ^= word[p];
}

/* Copies the lanes in which `mask` is all ones. */
SIP_TARGET KITHI_INLINE void SIP_SET(lanes_copy)(SIP_SET(sip) * to, const SIP_SET(sip) * from,
                                                 const uint64_t mask[LANES]) {
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        SIP_SET(lanes) copied = SIP_SET(lanes_of)(mask + p * SIP_WIDE);
        to->v0[p] ^= (to->v0[p] ^ from->v0[p]) & copied;
        to->v1[p] ^= (to->v1[p] ^ from->v1[p]) & copied;
        to->v2[p] ^= (to->v2[p] ^ from->v2[p]) & copied;
        to->v3[p] ^= (to->v3[p] ^ from->v3[p]) & copied;
    }
}

/* Absorbs the words `from` … `to` - 1 of eight keys. */
SIP_TARGET KITHI_INLINE void SIP_SET(lanes_words)(SIP_SET(sip) * s, const uint8_t *const bytes[LANES], size_t from,
                                                  size_t to) {
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
SIP_TARGET KITHI_INLINE void SIP_SET(lanes_mixed)(SIP_SET(sip) * s, const kith_key *const key_of[LANES],
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
        SIP_SET(lanes_words)(s, bytes, w, next_end);
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

/* Hashes keys[chosen[0]] … keys[chosen[7]]. `equal` says whether all have the same number of whole words. */
SIP_TARGET static void SIP_SET(sip_eight)(const uint8_t secret[16], const kith_key *keys, const uint8_t chosen[LANES],
                                          bool equal, uint64_t *digests) {
    SIP_SET(lanes) none = {0};
    SIP_SET(sip) s;
    uint64_t k0 = kithi_load64(secret), k1 = kithi_load64(secret + 8), words[LANES];
    const kith_key *key_of[LANES];
    const uint8_t *bytes[LANES];
    for (unsigned lane = 0; lane < LANES; lane++) {
        key_of[lane] = &keys[chosen[lane]];
        bytes[lane] = key_of[lane]->bytes;
    }
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        s.v0[p] = none + (k0 ^ KITHI_SIP_V0);
        s.v1[p] = none + (k1 ^ KITHI_SIP_V1);
        s.v2[p] = none + (k0 ^ KITHI_SIP_V2);
        s.v3[p] = none + (k1 ^ KITHI_SIP_V3);
    }
    if (equal) {
        SIP_SET(lanes_words)(&s, bytes, 0, key_of[0]->byte_count / 8);
        for (unsigned lane = 0; lane < LANES; lane++)
            words[lane] = kithi_sip_last(bytes[lane], key_of[lane]->byte_count);
        SIP_SET(lanes_absorb)(&s, words);
    } else
        SIP_SET(lanes_mixed)(&s, key_of, bytes);
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++)
        s.v2[p] ^= 0xff;
    for (int i = 0; i < 4; i++)
        SIP_SET(lanes_round)(&s);
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        SIP_SET(lanes) all = s.v0[p] ^ s.v1[p] ^ s.v2[p] ^ s.v3[p];
        memcpy(words + p * SIP_WIDE, &all, sizeof all);
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        digests[chosen[lane]] = words[lane];
}

#undef SIP_PARTS
#undef SIP_SET
#undef SIP_TARGET
#undef SIP_WIDE
