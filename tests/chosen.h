/* chosen.h: keys that somebody chooses who knows the hash of a blocked filter, so that its false-positive rate rises as
 * much as possible (kinds/shared/crowding.h).
 *
 * A candidate is a digest or, if `hash` is not NULL, a key of 8 bytes with its digest. chosen_in() tries keys until one
 * has the wanted digest, as an attacker does. */
#ifndef KITH_TESTS_CHOSEN_H
#define KITH_TESTS_CHOSEN_H

#include "core/prng.h"
#include "kinds/shared/lanes_lookup.h"
#include "kinds/kind.h"

typedef struct chosen {
    kithi_prng prng;
    const kith_hash *hash; /* NULL: digests are chosen directly */
    uint64_t key, digest;  /* the last candidate; without a hash, `key` is not set */
    uint64_t block;        /* chosen_greedy(): the block that is being filled */
} chosen;

/* Chooses a candidate whose digest is from `first` to `last`. */
static inline void chosen_in(chosen *c, uint64_t first, uint64_t last) {
    if (c->hash == NULL) {
        uint64_t random = kithi_prng_next(&c->prng), range = last - first + 1;
        c->digest = range != 0 ? first + kithi_mulhi(random, range) : random;
        return;
    }
    do {
        c->key = kithi_prng_next(&c->prng);
        c->digest = kith_digest(c->hash, &c->key, sizeof c->key);
    } while (c->digest < first || c->digest > last);
}

/* Chooses a candidate in the first `share` of the blocks. */
static inline void chosen_crowd(chosen *c, double share) {
    chosen_in(c, 0, share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX);
}

/* Chooses a candidate in the last quarter of the blocks, which chosen_greedy() fills last. */
static inline void chosen_harmless(chosen *c) {
    chosen_in(c, UINT64_C(3) << 62, UINT64_MAX);
}

/* Returns how many cells of this key are not in use. */
static inline unsigned chosen_free_cells(const kith_filter *f, uint64_t digest) {
    unsigned lanes = (unsigned)f->geometry.lanes.lanes, block_cells = KITHI_LANES_BLOCK_BITS / f->shape.cell_bits;
    uint64_t first = kithi_mulhi(digest, f->geometry.lanes.blocks) * block_cells;
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    unsigned unused = 0;
    for (unsigned j = 0; j < lanes; j++)
        unused += f->kind->cell(f, first + kithi_lane_cell(words, block_cells / lanes, j)) == 0;
    return unused;
}

/* Chooses the candidate that fills the block c->block most, of 32 that select it. If none of them uses a new cell, goes
 * to the next block. Filling one block after the other raises the rate by the most per key. */
static inline void chosen_greedy(chosen *c, const kith_filter *f) {
    uint64_t blocks = f->geometry.lanes.blocks, width = UINT64_MAX / blocks;
    for (; c->block < blocks; c->block++) {
        uint64_t best_key = 0, best_digest = 0;
        unsigned best = 0;
        for (unsigned i = 0; i < 32; i++) {
            chosen_in(c, c->block * width + blocks, (c->block + 1) * width - 1); /* away from the block's ends */
            unsigned unused = chosen_free_cells(f, c->digest);
            if (unused > best) {
                best = unused;
                best_key = c->key;
                best_digest = c->digest;
            }
        }
        if (best > 0) {
            c->key = best_key;
            c->digest = best_digest;
            return;
        }
    }
    chosen_crowd(c, 1);
}

/* Chooses key i of a list: the first `greedy` keys are those of chosen_greedy(), except every 128th, which is harmless
 * in case a guard looks at it, and the others are random. */
static inline void chosen_patient(chosen *c, const kith_filter *f, uint64_t i, uint64_t greedy) {
    if (i % 128 == 0)
        chosen_harmless(c);
    else if (i < greedy)
        chosen_greedy(c, f);
    else
        chosen_crowd(c, 1);
}

#endif
