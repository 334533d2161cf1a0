/* kinds/ribbon/solve.h: the last step of a build. build.c includes it once per instruction set (kernels/each_set.h). */

/* Computes the slots of a level, from the last to the first. If s is the slot that was computed last, bit i of state[j]
 * is bit j of slot s + i. So when s is the first slot of a block, state[j] is word j of the block. Blocks without
 * equations are all 0. Most of them are not written, so in a filter with few keys their pages stay untouched. */
KITHI_INLINE void KITHI_SET(solve_of_bits)(const uint64_t *rows, const uint32_t *fingerprints, uint64_t slots,
                                           unsigned bits, uint8_t *words) {
    uint64_t state[KITHI_RIBBON_BITS_MAX] = {0}, any = 0;
    for (uint64_t block = slots / KITHI_RIBBON_BLOCK; block-- > 0;) {
        const uint64_t *row = rows + block * KITHI_RIBBON_BLOCK;
        for (unsigned i = 0; i < KITHI_RIBBON_BLOCK; i++)
            any |= row[i];
        if (any == 0)
            continue;
        any = 0;
        for (unsigned i = KITHI_RIBBON_BLOCK; i-- > 0;) {
            uint32_t fingerprint = fingerprints[block * KITHI_RIBBON_BLOCK + i];
            for (unsigned j = 0; j < bits; j++) {
                uint64_t bit = ((uint64_t)__builtin_parityll(row[i] >> 1 & state[j]) ^ fingerprint >> j) & 1;
                state[j] = state[j] << 1 | bit;
            }
        }
        for (unsigned j = 0; j < bits; j++) {
            kithi_store64(words + (block * bits + j) * 8, state[j]);
            any |= state[j]; /* if not 0, the next block is not skipped: it must shift these bits out of `state` */
        }
    }
}

KITHI_KERNEL void KITHI_SET(solve)(const uint64_t *rows, const uint32_t *fingerprints, uint64_t slots, unsigned bits,
                                   uint8_t *words) {
    if (bits == 8)
        KITHI_SET(solve_of_bits)(rows, fingerprints, slots, 8, words);
    else if (bits == 16)
        KITHI_SET(solve_of_bits)(rows, fingerprints, slots, 16, words);
    else
        KITHI_SET(solve_of_bits)(rows, fingerprints, slots, bits, words);
}
