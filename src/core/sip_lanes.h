/* core/sip_lanes.h: SipHash-2-4 of eight keys side by side, for one instruction set; digests.c includes it once for each.
 *
 * Vectors are the compiler's own: it parts them into registers of the set, and does so function by function, before it
 * inlines them; hence each of these is marked for the set, and the file stands where a template would. */
typedef uint64_t SIP_SET(lanes) __attribute__((vector_size(8 * LANES)));

typedef struct SIP_SET(sip) {
    SIP_SET(lanes) v0, v1, v2, v3;
} SIP_SET(sip);

#define ROTATE(x, by) ((x) << (by) | (x) >> (64 - (by)))

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_round)(SIP_SET(sip) * s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = ROTATE(s->v1, 13) ^ s->v0;
    s->v3 = ROTATE(s->v3, 16) ^ s->v2;
    s->v0 = ROTATE(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = ROTATE(s->v1, 17) ^ s->v2;
    s->v3 = ROTATE(s->v3, 21) ^ s->v0;
    s->v2 = ROTATE(s->v2, 32);
}

SIP_TARGET KITHI_INLINE void SIP_SET(lanes_absorb)(SIP_SET(sip) * s, const uint64_t words[LANES]) {
    SIP_SET(lanes) word = {words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
    s->v3 ^= word;
    SIP_SET(lanes_round)(s);
    SIP_SET(lanes_round)(s);
    s->v0 ^= word;
}

/* Keys lot[0] … lot[7], all of so many whole words. */
SIP_TARGET static void SIP_SET(sip_lot)(const uint8_t secret[16], const kith_key *keys, const uint8_t lot[LANES],
                                        size_t whole_words, uint64_t *digests) {
    SIP_SET(lanes) none = {0};
    uint64_t k0 = kithi_load64(secret), k1 = kithi_load64(secret + 8), words[LANES];
    SIP_SET(sip)
    s = {none + (k0 ^ KITHI_SIP_V0), none + (k1 ^ KITHI_SIP_V1), none + (k0 ^ KITHI_SIP_V2),
         none + (k1 ^ KITHI_SIP_V3)};
    for (size_t w = 0; w < whole_words; w++) {
        for (unsigned lane = 0; lane < LANES; lane++)
            words[lane] = kithi_load64((const uint8_t *)keys[lot[lane]].bytes + 8 * w);
        SIP_SET(lanes_absorb)(&s, words);
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        words[lane] = kithi_sip_last(keys[lot[lane]].bytes, keys[lot[lane]].byte_count);
    SIP_SET(lanes_absorb)(&s, words);
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        SIP_SET(lanes_round)(&s);
    SIP_SET(lanes) all = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    for (unsigned lane = 0; lane < LANES; lane++)
        digests[lot[lane]] = all[lane];
}

#undef ROTATE
#undef SIP_SET
#undef SIP_TARGET
