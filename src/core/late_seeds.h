/* core/late_seeds.h: seeds for constructions that may fail, such as that of a shard of a static filter, and that are
 * then tried again with another hash function.
 *
 * If the seeds were fixed, whoever chooses the digests could choose some that collide with each of them. So they depend
 * on all digests together: a list must be complete before its seeds exist, and a list with one digest more or less has
 * others. Finding a list that fails with its own seeds takes as many lists as failures are rare (docs/security.md).
 *
 *     sorted digests  ->  SipHash-2-4 with two fixed keys  ->  128 bits  ->  as the key of SipHash-2-4: seeds 1, 2, …
 *
 * SipHash is sequential, and no way is known to steer it, with a known key either. XXH3 would not do: its last step
 * adds four products that depend on two of the last eight words each, so that a list with a chosen hash can be found in
 * seconds (by Wagner's generalized birthday algorithm). Sums and XORs of the digests can be steered even more easily.
 * 64 bits would not do either: a list may contain digests for so many hashes that one of them would be hit. */
#ifndef KITHI_CORE_LATE_SEEDS_H
#define KITHI_CORE_LATE_SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kithi_late_seeds {
    uint8_t key[16];
} kithi_late_seeds;

/* Sets *seeds to those of a list of digests, which do not depend on its order. Returns false, without seeds, if two of
 * the digests are equal. Overwrites `sorted`, an array of n numbers, and `scratch`, one of scratch_n numbers; if that
 * is fewer than n, sorting takes longer. */
bool kithi_late_seeds_of(const uint64_t *digests, size_t n, uint64_t *sorted, uint64_t *scratch, uint64_t scratch_n,
                         kithi_late_seeds *seeds);

/* Returns the seed of a try. Never 0. */
uint64_t kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try);

#endif
