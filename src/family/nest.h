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
 * A kind says where the two places of a key lie and what its code is there, and turns a slot and its code back to place
 * and fingerprint. decode must bear any code in any slot, as a lazily opened body may hold anything.
 *
 * Batches look at a place as a whole: its slots are neighbours, so one load holds them all where they have 64 bits or
 * less, which is up to 16 bits a slot for b = 4 and 28 for windows. Codes are compared and empty slots found in all of
 * them at once, by arithmetic on the word (kithi_zero_slots). Wider slots go the way of single keys. */
#ifndef KITHI_FAMILY_NEST_H
#define KITHI_FAMILY_NEST_H

#include "core/fit.h"
#include "core/mix.h"
#include "kernels.h"

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
    bool windows; /* places are windows, one from each slot on; else they are disjoint */
    /* Codes are fingerprints, with so many bits below them (0 or 1) for the number of the slot in its place. */
    unsigned code_bits;
    unsigned (*place_slots)(const kithi_head *head);
    /* The first slot of a place, and that of the other place of this fingerprint. */
    void (*first_slots)(const kithi_head *head, uint64_t place, uint64_t fingerprint, uint32_t first[2]);
    /* False for a code that no key has in that slot. */
    bool (*decode)(const kithi_head *head, uint32_t slot, uint32_t code, uint64_t *place, uint64_t *fingerprint);
    uint64_t (*region_slots)(const kithi_head *head);
} kithi_nest;

static inline uint64_t kithi_nest_top(const kithi_nest *nest, const kithi_head *head) { /* the largest fingerprint */
    return (UINT64_C(1) << (head->params[KITHI_SLOT_BITS] - nest->code_bits)) - 1;
}

static inline uint32_t kithi_nest_code(const kithi_nest *nest, uint64_t fingerprint, unsigned slot_of_place) {
    return (uint32_t)(fingerprint << nest->code_bits) + (nest->code_bits != 0 ? slot_of_place : 0);
}

static inline void kithi_nest_ways(const kithi_nest *nest, const kithi_head *head, uint64_t place, uint64_t fingerprint,
                                   kithi_ways *ways) {
    unsigned slots = nest->place_slots(head);
    uint32_t first[2];
    nest->first_slots(head, place, fingerprint, first);
    ways->count = 2 * slots;
    for (unsigned i = 0; i < slots; i++) {
        ways->slot[i] = first[0] + i;
        ways->slot[slots + i] = first[1] + i;
        ways->code[i] = ways->code[slots + i] = kithi_nest_code(nest, fingerprint, i);
    }
}

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
    kithi_nest_ways(nest, &f->head, at.place, kithi_fingerprint(digest, kithi_nest_top(nest, &f->head)), ways);
    return kithi_nest_region(nest, f, at.region);
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

/* ---- batches ---- */

/* What all keys of a batch need, read once. */
typedef struct kithi_nest_frame {
    const kith_filter *f;
    uint64_t stride, regions, places, top;
    unsigned slot_bits;
    uint64_t ones;  /* the lowest bit of each slot of a place */
    uint64_t highs; /* the highest */
    uint64_t steps; /* what is added to the code in each of them */
} kithi_nest_frame;

/* The two places of a key: where the words begin that hold them, and at which bit of the word. */
typedef struct kithi_spot {
    uint8_t *at[2];
    uint64_t codes; /* of the slots of a place, as they lie in the word */
    uint32_t shift[2];
} kithi_spot;

/* False when a place does not fit in a word from every bit that it may begin at. */
KITHI_INLINE bool kithi_nest_frame_of(const kithi_nest *nest, const kith_filter *f, kithi_nest_frame *frame) {
    unsigned bits = (unsigned)f->head.params[KITHI_SLOT_BITS], slots = nest->place_slots(&f->head);
    unsigned unit = nest->windows ? bits : bits * slots; /* from one place to the next */
    unsigned shift_max = 8 - (unit & -unit & 7 ? unit & -unit & 7 : 8);
    if (slots * bits + shift_max > 64)
        return false;
    *frame = (kithi_nest_frame){
        .f = f,
        .stride = kithi_nest_stride(&f->head, nest->region_slots(&f->head)),
        .regions = f->head.params[KITHI_REGIONS],
        .places = 2 * f->head.params[KITHI_HALF],
        .top = kithi_nest_top(nest, &f->head),
        .slot_bits = bits,
    };
    for (unsigned i = 0; i < slots; i++) {
        frame->ones |= UINT64_C(1) << (i * bits);
        frame->steps |= (uint64_t)kithi_nest_code(nest, 0, i) << (i * bits);
    }
    frame->highs = frame->ones << (bits - 1);
    return true;
}

/* Finds the places of a digest and asks for their lines. */
KITHI_INLINE void kithi_nest_spot(const kithi_nest *nest, const kithi_nest_frame *frame, uint64_t digest,
                                  kithi_spot *spot) {
    kithi_place at = kithi_place_of(digest, frame->regions, frame->places);
    uint64_t fingerprint = kithi_fingerprint(digest, frame->top);
    uint32_t first[2];
    nest->first_slots(&frame->f->head, at.place, fingerprint, first);
    spot->codes = kithi_nest_code(nest, fingerprint, 0) * frame->ones + frame->steps;
    uint8_t *region = frame->f->body + at.region * frame->stride;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bit = (uint64_t)first[i] * frame->slot_bits;
        spot->at[i] = region + bit / 8;
        spot->shift[i] = bit % 8;
        __builtin_prefetch(region + bit / 8);
        __builtin_prefetch(region + bit / 8 + 7); /* one place in ten lies across the end of a line */
    }
}

KITHI_INLINE uint64_t kithi_spot_slots(const kithi_spot *spot, unsigned i) {
    return kithi_load64(spot->at[i]) >> spot->shift[i];
}

/* Not 0 when a slot of the word is 0; its lowest bit is then the highest of the first such slot. */
KITHI_INLINE uint64_t kithi_zero_slots(const kithi_nest_frame *frame, uint64_t slots) {
    return (slots - frame->ones) & ~slots & frame->highs;
}

KITHI_INLINE bool kithi_spot_has(const kithi_nest_frame *frame, const kithi_spot *spot) {
    return (kithi_zero_slots(frame, kithi_spot_slots(spot, 0) ^ spot->codes) |
            kithi_zero_slots(frame, kithi_spot_slots(spot, 1) ^ spot->codes)) != 0;
}

/* Turns the slot that `zero` (of kithi_zero_slots) points to in place i from empty to the key's code, or back. */
KITHI_INLINE void kithi_spot_flip(const kithi_nest_frame *frame, const kithi_spot *spot, unsigned i, uint64_t zero) {
    unsigned low = (unsigned)__builtin_ctzll(zero) - (frame->slot_bits - 1);
    uint64_t slot = ((UINT64_C(1) << frame->slot_bits) - 1) << low;
    kithi_store64(spot->at[i], kithi_load64(spot->at[i]) ^ (spot->codes & slot) << spot->shift[i]);
}

KITHI_INLINE bool kithi_spot_flip_first(const kithi_nest_frame *frame, const kithi_spot *spot, uint64_t wanted) {
    for (unsigned i = 0; i < 2; i++) {
        uint64_t zero = kithi_zero_slots(frame, kithi_spot_slots(spot, i) ^ wanted);
        if (zero == 0)
            continue;
        kithi_spot_flip(frame, spot, i, zero);
        return true;
    }
    return false;
}

KITHI_INLINE size_t kithi_nest_has_many(const kithi_nest *nest, const kith_filter *f, const uint64_t *digests, size_t n,
                                        uint64_t *maybe) {
    kithi_nest_frame frame;
    bool narrow = kithi_nest_frame_of(nest, f, &frame);
    kithi_spot ahead[KITHI_AHEAD];
    for (size_t i = 0; narrow && i < n && i < KITHI_AHEAD; i++)
        kithi_nest_spot(nest, &frame, digests[i], &ahead[i]);
    size_t yes = 0;
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count && narrow; i++) {
            kithi_spot *spot = &ahead[i % KITHI_AHEAD];
            word |= (uint64_t)kithi_spot_has(&frame, spot) << i;
            if (n - from - i > KITHI_AHEAD)
                kithi_nest_spot(nest, &frame, digests[from + i + KITHI_AHEAD], spot);
        }
        for (size_t i = 0; i < count && !narrow; i++)
            word |= (uint64_t)kithi_nest_has(nest, f, digests[from + i]) << i;
        if (maybe != NULL)
            maybe[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

/* What finds an empty slot among its own goes there; the others go the way of single keys. */
KITHI_INLINE kith_status kithi_nest_add_many(const kithi_nest *nest, kith_filter *f, const uint64_t *digests, size_t n,
                                             uint64_t *was_new, size_t *done) {
    kithi_nest_frame frame;
    bool narrow = kithi_nest_frame_of(nest, f, &frame);
    kithi_spot ahead[KITHI_AHEAD];
    for (size_t i = 0; narrow && i < n && i < KITHI_AHEAD; i++)
        kithi_nest_spot(nest, &frame, digests[i], &ahead[i]);
    for (size_t i = 0; i < n; i++) {
        kithi_spot *spot = &ahead[i % KITHI_AHEAD];
        bool is_new = narrow && !kithi_spot_has(&frame, spot);
        if (narrow && f->head.count < f->head.capacity && kithi_spot_flip_first(&frame, spot, 0)) {
            f->head.count++;
        } else {
            kith_status status = kithi_nest_add(nest, f, digests[i], &is_new);
            if (status != KITH_OK)
                return status;
        }
        kithi_bitmap_set(was_new, i, is_new);
        ++*done;
        if (narrow && n - i > KITHI_AHEAD)
            kithi_nest_spot(nest, &frame, digests[i + KITHI_AHEAD], spot);
    }
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_nest_remove_many(const kithi_nest *nest, kith_filter *f, const uint64_t *digests,
                                                size_t n, size_t *done) {
    kithi_nest_frame frame;
    bool narrow = kithi_nest_frame_of(nest, f, &frame);
    kithi_spot ahead[KITHI_AHEAD];
    for (size_t i = 0; narrow && i < n && i < KITHI_AHEAD; i++)
        kithi_nest_spot(nest, &frame, digests[i], &ahead[i]);
    for (size_t i = 0; i < n; i++) {
        kithi_spot *spot = &ahead[i % KITHI_AHEAD];
        kith_status status = KITH_OK;
        if (!narrow)
            status = kithi_nest_remove(nest, f, digests[i]);
        else if (f->head.count > 0 && kithi_spot_flip_first(&frame, spot, spot->codes))
            f->head.count--;
        else
            status = KITH_E_ABSENT;
        if (status != KITH_OK)
            return status;
        ++*done;
        if (narrow && n - i > KITHI_AHEAD)
            kithi_nest_spot(nest, &frame, digests[i + KITHI_AHEAD], spot);
    }
    return KITH_OK;
}

#define KITHI_NEST_CAPABILITIES (KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE)

/* The verbs of a cuckoo kind over its nest. A nest is a constant, so they are compiled with the kind's own functions. */
#define KITHI_NEST_VERBS(nest)                                                                                         \
    static bool has(const kith_filter *f, uint64_t digest) {                                                           \
        return kithi_nest_has(&(nest), f, digest);                                                                     \
    }                                                                                                                  \
    static uint64_t copies(const kith_filter *f, uint64_t digest) {                                                    \
        return kithi_nest_copies(&(nest), f, digest);                                                                  \
    }                                                                                                                  \
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
    }                                                                                                                  \
    KITHI_INLINE size_t has_body(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {           \
        return kithi_nest_has_many(&(nest), f, digests, n, maybe);                                                     \
    }                                                                                                                  \
    KITHI_INLINE kith_status add_body(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,            \
                                      size_t *done) {                                                                  \
        return kithi_nest_add_many(&(nest), f, digests, n, was_new, done);                                             \
    }                                                                                                                  \
    KITHI_INLINE kith_status remove_body(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {            \
        return kithi_nest_remove_many(&(nest), f, digests, n, done);                                                   \
    }                                                                                                                  \
    KITHI_HAS_MANY(has_body)                                                                                           \
    KITHI_ADD_MANY(add_body)                                                                                           \
    KITHI_REMOVE_MANY(remove_body)

#define KITHI_NEST_RECORD                                                                                              \
    .has = has, .add = add, .remove = remove_one, .copies = copies, .merge = merge, .stats = kithi_nest_stats,         \
    .check = check, .detach = kithi_nest_detach, .kernels = KITHI_KERNELS

#endif
