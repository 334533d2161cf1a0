/* core/sip_lanes.h: SipHash-2-4 of eight keys in parallel, for one instruction set.
 *
 * digests.c includes this file once per instruction set, after defining SIP_SET(name), which appends the set's name to
 * a function name, SIP_TARGET, the attribute of its functions, and SIP_WIDE, the number of 64-bit words in a register.
 *
 * It uses the compiler's vector types, exactly as wide as a register, because the compiler keeps wider ones in memory.
 * The compiler lowers vectors function by function, before it inlines. Each function must therefore be marked for its
 * instruction set, which is why this file is included twice like a template. With AVX2 each round works on two
 * registers in turn, because one register alone would wait for its own results. */
#define SIP_PARTS (LANES / SIP_WIDE)
#define ROTATE(x, by) ((x) << (by) | (x) >> (64 - (by)))

typedef uint64_t SIP_SET(lanes) __attribute__((vector_size(8 * SIP_WIDE)));

typedef struct SIP_SET(sip) {
    SIP_SET(lanes) v0[SIP_PARTS], v1[SIP_PARTS], v2[SIP_PARTS], v3[SIP_PARTS];
} SIP_SET(sip);

/* Rotates by 32 bits. This only swaps halves: one instruction instead of three where the set has no rotation. */
SIP_TARGET KITHI_INLINE SIP_SET(lanes) SIP_SET(rotate32)(SIP_SET(lanes) x) {
#if SIP_WIDE == 4 && defined(HAVE_SHUFFLE)
    typedef uint32_t halves __attribute__((vector_size(8 * SIP_WIDE)));
    halves h = (halves)x;
    return (SIP_SET(lanes))__builtin_shufflevector(h, h, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    return ROTATE(x, 32);
#endif
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_round)(SIP_SET(sip) * s) {
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        s->v0[p] += s->v1[p];
        s->v2[p] += s->v3[p];
        s->v1[p] = ROTATE(s->v1[p], 13) ^ s->v0[p];
        s->v3[p] = ROTATE(s->v3[p], 16) ^ s->v2[p];
        s->v0[p] = SIP_SET(rotate32)(s->v0[p]);
        s->v2[p] += s->v1[p];
        s->v0[p] += s->v3[p];
        s->v1[p] = ROTATE(s->v1[p], 17) ^ s->v2[p];
        s->v3[p] = ROTATE(s->v3[p], 21) ^ s->v0[p];
        s->v2[p] = SIP_SET(rotate32)(s->v2[p]);
    }
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_absorb)(SIP_SET(sip) * s, const uint64_t words[LANES]) {
    SIP_SET(lanes) word[SIP_PARTS];
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        memcpy(&word[p], words + p * SIP_WIDE, sizeof word[p]);
        s->v3[p] ^= word[p];
    }
    SIP_SET(lanes_round)(s);
    SIP_SET(lanes_round)(s);
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++)
        s->v0[p] ^= word[p];
}

/* Hashes keys chosen[0] … chosen[7], all of which have `whole_words` whole words. */
SIP_TARGET static void SIP_SET(sip_eight)(const uint8_t secret[16], const kith_key *keys, const uint8_t chosen[LANES],
                                          size_t whole_words, uint64_t *digests) {
    SIP_SET(lanes) none = {0};
    SIP_SET(sip) s;
    uint64_t k0 = kithi_load64(secret), k1 = kithi_load64(secret + 8), words[LANES];
    const uint8_t *bytes[LANES];
    for (unsigned lane = 0; lane < LANES; lane++)
        bytes[lane] = keys[chosen[lane]].bytes;
#pragma GCC unroll 2
    for (unsigned p = 0; p < SIP_PARTS; p++) {
        s.v0[p] = none + (k0 ^ KITHI_SIP_V0);
        s.v1[p] = none + (k1 ^ KITHI_SIP_V1);
        s.v2[p] = none + (k0 ^ KITHI_SIP_V2);
        s.v3[p] = none + (k1 ^ KITHI_SIP_V3);
    }
    for (size_t w = 0; w < whole_words; w++) {
        for (unsigned lane = 0; lane < LANES; lane++)
            words[lane] = kithi_load64(bytes[lane] + 8 * w);
        SIP_SET(lanes_absorb)(&s, words);
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        words[lane] = kithi_sip_last(bytes[lane], keys[chosen[lane]].byte_count);
    SIP_SET(lanes_absorb)(&s, words);
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

#undef ROTATE
#undef SIP_PARTS
#undef SIP_SET
#undef SIP_TARGET
#undef SIP_WIDE
