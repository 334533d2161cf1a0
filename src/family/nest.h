/* family/nest.h: what the cuckoo kinds have in common: fingerprints in packed slots, and moving them out of the way.
 *
 *     body    | region 0 | region 1 |  …  | region R-1 |
 *     region  | slot 0 | slot 1 | … (slot_bits each, packed) | 8 spare bytes or more, to a multiple of 64 |
 *
 * A key belongs to one region and, there, to a place and a fingerprint; a place and a fingerprint determine the
 * `ways` of the key: the slots that it may lie in, and the code that it has in each. Code 0 is an empty slot. A key is
 * in when one of its ways holds its code. Regions share no byte, not even in the 8-byte loads and stores, so they can
 * be built apart; at about 2^18 slots a region's search stays in cache.
 *
 * When all ways of a new key are taken, breadth-first search from them finds the shortest chain of entries, each of
 * which can move to a way of its own, that ends in an empty slot. Nothing moves until the chain is found, so a search
 * that fails leaves every byte as it was. The search sees each slot of the region once at most (nest.c).
 *
 * A kind gives two functions: `ways`, and `decode` from a slot and its code back to place and fingerprint. decode must
 * bear any code in any slot, as a lazily opened body may hold anything. */
#ifndef KITHI_FAMILY_NEST_H
#define KITHI_FAMILY_NEST_H

#include "core/batch.h"
#include "core/fit.h"
#include "core/mix.h"
#include "kind.h"

/* Parameters that every cuckoo kind has in these places. */
enum { KITHI_SLOT_BITS, KITHI_HALF, KITHI_REGIONS };
#define KITHI_NEST_PARAMS (1 << KITHI_SLOT_BITS | 1 << KITHI_HALF | 1 << KITHI_REGIONS)

#define KITHI_WAYS_MAX 16

typedef struct kithi_ways {
    unsigned count;
    uint32_t slot[KITHI_WAYS_MAX];
    uint32_t code[KITHI_WAYS_MAX];
} kithi_ways;

typedef struct kithi_nest {
    void (*ways)(const kithi_head *head, uint64_t place, uint64_t fingerprint, kithi_ways *ways);
    /* False for a code that no key has in that slot. */
    bool (*decode)(const kithi_head *head, uint32_t slot, uint32_t code, uint64_t *place, uint64_t *fingerprint);
    uint64_t (*region_slots)(const kithi_head *head);
    uint64_t (*top)(const kithi_head *head); /* the largest fingerprint */
} kithi_nest;

/* Bytes from one region to the next; the slots of a region are at most 2^32 of 32 bits, so nothing overflows. */
static inline uint64_t kithi_nest_stride(const kithi_head *head, uint64_t region_slots) {
    uint64_t bytes = (region_slots * head->params[KITHI_SLOT_BITS] + 7) / 8 + 8;
    return (bytes + 63) & ~UINT64_C(63);
}

static inline uint8_t *kithi_nest_region(const kithi_nest *nest, const kith_filter *f, uint64_t region) {
    return f->body + region * kithi_nest_stride(&f->head, nest->region_slots(&f->head));
}

static inline uint32_t kithi_nest_get(const kith_filter *f, const uint8_t *region, uint32_t slot) {
    return (uint32_t)kithi_field_get(region, slot, (unsigned)f->head.params[KITHI_SLOT_BITS]);
}

static inline void kithi_nest_set(const kith_filter *f, uint8_t *region, uint32_t slot, uint32_t code) {
    kithi_field_set(region, slot, (unsigned)f->head.params[KITHI_SLOT_BITS], code);
}

/* The region and the ways of a digest. */
static inline uint8_t *kithi_nest_locate(const kithi_nest *nest, const kith_filter *f, uint64_t digest,
                                         kithi_ways *ways) {
    kithi_place at = kithi_place_of(digest, f->head.params[KITHI_REGIONS], 2 * f->head.params[KITHI_HALF]);
    nest->ways(&f->head, at.place, kithi_fingerprint(digest, nest->top(&f->head)), ways);
    return kithi_nest_region(nest, f, at.region);
}

static inline void kithi_nest_prefetch(const kithi_nest *nest, const kith_filter *f, uint64_t digest) {
    kithi_ways ways;
    const uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    uint64_t bits = f->head.params[KITHI_SLOT_BITS];
    __builtin_prefetch(region + ways.slot[0] * bits / 8);
    __builtin_prefetch(region + ways.slot[ways.count - 1] * bits / 8);
}

static inline bool kithi_nest_has(const kithi_nest *nest, const kith_filter *f, uint64_t digest) {
    kithi_ways ways;
    const uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    bool found = false;
    for (unsigned i = 0; i < ways.count; i++)
        found |= kithi_nest_get(f, region, ways.slot[i]) == ways.code[i];
    return found;
}

static inline unsigned kithi_nest_matches(const kith_filter *f, const uint8_t *region, const kithi_ways *ways) {
    unsigned matches = 0;
    for (unsigned i = 0; i < ways->count; i++)
        matches += kithi_nest_get(f, region, ways->slot[i]) == ways->code[i];
    return matches;
}

static inline uint64_t kithi_nest_copies(const kithi_nest *nest, const kith_filter *f, uint64_t digest) {
    kithi_ways ways;
    const uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    return kithi_nest_matches(f, region, &ways);
}

kith_status kithi_nest_add(const kithi_nest *nest, kith_filter *f, uint64_t digest, bool *was_new);
kith_status kithi_nest_remove(const kithi_nest *nest, kith_filter *f, uint64_t digest);
kith_status kithi_nest_merge(const kithi_nest *nest, kith_filter *into, const kith_filter *from);
const char *kithi_nest_check(const kithi_nest *nest, const kith_filter *f);
void kithi_nest_stats(const kith_filter *f, kith_filter_stats *stats);
void kithi_nest_detach(kith_filter *f);

/* choose, shape and expect for a layout; slot_bits 0 is "as many as needed". shape() must have checked the parameters
 * that are the kind's own. */
kith_status kithi_nest_choose(kithi_fit fit, const kithi_request *request, unsigned slot_bits, kithi_head *head);
kith_status kithi_nest_shape(kithi_fit fit, const kithi_head *head, kithi_shape *shape);
kithi_expectation kithi_nest_expect(kithi_fit fit, kithi_fit_size size, uint64_t n);

#define KITHI_NEST_CAPABILITIES (KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE)

/* The verbs of a cuckoo kind over its nest. A nest is a constant, so has() is compiled with the kind's own ways(). */
#define KITHI_NEST_VERBS(nest)                                                                                         \
    static bool has(const kith_filter *f, uint64_t digest) {                                                           \
        return kithi_nest_has(&(nest), f, digest);                                                                     \
    }                                                                                                                  \
    static uint64_t copies(const kith_filter *f, uint64_t digest) {                                                    \
        return kithi_nest_copies(&(nest), f, digest);                                                                  \
    }                                                                                                                  \
    static void prefetch(const kith_filter *f, uint64_t digest) {                                                      \
        kithi_nest_prefetch(&(nest), f, digest);                                                                       \
    }                                                                                                                  \
    KITHI_HAS_MANY(has, prefetch)                                                                                      \
    static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {                                           \
        return kithi_nest_add(&(nest), f, digest, was_new);                                                            \
    }                                                                                                                  \
    static kith_status remove_one(kith_filter *f, uint64_t digest) {                                                   \
        return kithi_nest_remove(&(nest), f, digest);                                                                  \
    }                                                                                                                  \
    static kith_status merge(kith_filter *into, const kith_filter *from) {                                             \
        return kithi_nest_merge(&(nest), into, from);                                                                  \
    }                                                                                                                  \
    static const char *check(const kith_filter *f) {                                                                   \
        return kithi_nest_check(&(nest), f);                                                                           \
    }

#define KITHI_NEST_RECORD                                                                                              \
    .has = has, .has_many = has_many, .add = add, .prefetch = prefetch, .remove = remove_one, .copies = copies,        \
    .merge = merge, .stats = kithi_nest_stats, .check = check, .detach = kithi_nest_detach

#endif
