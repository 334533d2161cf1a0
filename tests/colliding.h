/* colliding.h: chosen digests with which a static filter cannot be built with the seeds of a list, as someone finds
 * them who knows these seeds and the size of the filter, and the keys that have these digests.
 *
 *     fuse     two digests whose cells are equal and whose fingerprints differ, for each seed
 *     ribbon   digests whose ribbons start within 80 slots in every level, for each seed: 143 equations at most are
 *              independent, and the stash has space for few of the others */
#ifndef KITH_TESTS_COLLIDING_H
#define KITH_TESTS_COLLIDING_H

#include <kith/kith.h>

#include <stdbool.h>
#include <string.h>

#include "core/mix.h"
#include "kinds/fuse/lookup.h"
#include "kinds/ribbon/lookup.h"
#include "plan/planner.h"
#include "splitmix.h"

enum {
    COLLIDING_PLANS = 8, /* the most attempts that a builder may make */
    COLLIDING_FUSE_SEEDS = 64,
    COLLIDING_FUSE_KEYS = 2, /* per seed */
    COLLIDING_RIBBON_SEEDS = 7,
    COLLIDING_RIBBON_KEYS = 170,
    COLLIDING_RIBBON_STARTS = 80, /* the starts of one group of a bucket: ribbon_build.c */
};

/* The geometries of all attempts at this filter. Attempts that are not made have that of attempt 0. */
static inline kith_status colliding_plans(const char *kind, uint64_t capacity, double rate, const char *options,
                                          kithi_geometry plans[COLLIDING_PLANS]) {
    kith_filter_spec given = KITH_FILTER_SPEC_INIT, spec;
    kithi_head first, head;
    given.kind = kind;
    given.capacity = capacity;
    given.rate = rate;
    given.options = options;
    kith_status status = kithi_spec_read(&given, &spec);
    if (status == KITH_OK)
        status = kithi_plan_spec(&spec, &first);
    if (status != KITH_OK)
        return status;
    for (unsigned i = 0; i < COLLIDING_PLANS; i++) {
        head = first;
        if (i > 0 && kithi_plan_again(&spec, &first, i, UINT64_MAX, &head) != KITH_OK)
            head = first;
        plans[i] = strcmp(kind, "fuse") == 0 ? kithi_fuse_decode(&head) : kithi_ribbon_decode(&head);
    }
    return KITH_OK;
}

/* Whether the hashes have the same cells and different fingerprints in all plans. */
static inline bool colliding_in_all(const kithi_geometry *plans, uint64_t one, uint64_t other) {
    for (unsigned i = 0; i < COLLIDING_PLANS; i++) {
        const kithi_fuse_geometry *g = &plans[i].fuse;
        uint64_t at[KITHI_FUSE_ARITY_MAX] = {0}, also[KITHI_FUSE_ARITY_MAX] = {0};
        uint64_t print = kithi_fuse_cells(g, one, (unsigned)g->arity, (unsigned)g->cell_bits, at);
        uint64_t other_print = kithi_fuse_cells(g, other, (unsigned)g->arity, (unsigned)g->cell_bits, also);
        if (memcmp(at, also, sizeof at) != 0 || print == other_print)
            return false;
    }
    return true;
}

/* Two digests that belong to the first shard and collide with this seed. Hashes that differ in one bit only are enough:
 * one that neither the cells nor the first bits of the first cell depend on. */
static inline void colliding_fuse_pair(const kithi_geometry *plans, uint64_t seed, uint64_t *random, uint64_t pair[2]) {
    for (;;) {
        uint64_t hash = splitmix_next(random);
        for (unsigned bit = 63; bit > 0; bit--) {
            uint64_t other = hash ^ UINT64_C(1) << bit;
            pair[0] = kithi_unmix(hash) - seed;
            pair[1] = kithi_unmix(other) - seed;
            uint64_t shards = plans->fuse.shards;
            bool first_shard = kithi_mulhi(pair[0], shards) == 0 && kithi_mulhi(pair[1], shards) == 0;
            if (first_shard && colliding_in_all(plans, hash, other))
                return;
        }
    }
}

/* A digest whose ribbons start in the first group of every level with this seed. */
static inline uint64_t colliding_ribbon_digest(const kithi_ribbon_geometry *g, uint64_t seed, uint64_t *random) {
    unsigned first = 0;
    while (g->slots[first] == 0)
        first++;
    for (;;) {
        /* The group is the last of the first bucket, so that no lower group is accepted either. */
        uint64_t width = UINT64_MAX / g->starts[first], place = KITHI_RIBBON_BUCKET - COLLIDING_RIBBON_STARTS;
        uint64_t hash = width * place + kithi_mulhi(splitmix_next(random), width * COLLIDING_RIBBON_STARTS);
        uint64_t digest = kithi_unmix(hash) - (first + 1) * KITHI_GOLDEN - seed;
        bool all = kithi_mulhi(digest, g->shards) == 0;
        for (unsigned level = first; all && level < KITHI_RIBBON_LEVELS; level++) {
            uint64_t start = kithi_mulhi(kithi_mixed_word(digest + seed, level), g->starts[level]);
            all = g->slots[level] == 0 || (start >= place && start < KITHI_RIBBON_BUCKET) ||
                  g->starts[level] <= KITHI_RIBBON_BUCKET;
        }
        if (all)
            return digest;
    }
}

/* Seed `number` = 0, 1, … of those that everybody knows. The first is the one that a construction begins with. */
static inline uint64_t colliding_seed(bool fuse, unsigned number) {
    return fuse ? kithi_mix((number + 1) * KITHI_GOLDEN) : 3 * number * KITHI_GOLDEN;
}

/* Sets `digests` to the chosen ones for seed `number` = 0, 1, …: COLLIDING_FUSE_KEYS of them or
 * COLLIDING_RIBBON_KEYS. */
static inline void colliding_digests(const kithi_geometry plans[COLLIDING_PLANS], bool fuse, unsigned number,
                                     uint64_t *random, uint64_t *digests) {
    if (fuse)
        colliding_fuse_pair(plans, colliding_seed(true, number), random, digests);
    for (unsigned i = 0; !fuse && i < COLLIDING_RIBBON_KEYS; i++)
        digests[i] = colliding_ribbon_digest(&plans[number].ribbon, colliding_seed(false, number), random);
}

/* ---- keys ---- */

/* The last steps of XXH3 for a key of 8 bytes in reverse: what was hashed, except for a constant. */
static inline uint64_t colliding_unhash(uint64_t h) {
    h ^= h >> 28 ^ h >> 56;
    h *= UINT64_C(0x2ab9c720d1024ad); /* 1 / 0x9fb21c651e98df25 modulo 2^64 */
    h ^= (h >> 35) + 8;
    h *= UINT64_C(0x2ab9c720d1024ad);
    for (unsigned i = 0; i < 63; i++) /* h xor two rotations of h: 64 times gives h again */
        h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
    return h;
}

/* The key of 8 bytes that has this digest with the default hash. */
static inline void colliding_key(uint64_t digest, uint8_t key[8]) {
    static const uint8_t ZERO[8] = {0};
    kith_hash hash = {.id = KITH_HASH_XXH3};
    uint64_t swapped = colliding_unhash(digest) ^ colliding_unhash(kith_digest(&hash, ZERO, sizeof ZERO));
    kithi_store64(key, swapped << 32 | swapped >> 32);
}

#endif
