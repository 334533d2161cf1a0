/* plan/fit.h: how many slots a cuckoo filter needs so that n fingerprints fit.
 *
 * A place is a bucket, or a window: two neighbouring slots. A region has two halves, which share no slot. The places of
 * one half have even numbers, those of the other half have odd ones. Within a half, neighbouring windows (0 and 2, 2
 * and 4, …) share a slot. A key has a pair of places, one in each half. (With alternate=simple and alternate=xor of
 * cuckoo both places may be in the same half; the formulas are used for these, too.) The places of a key have c slots
 * together. There are three reasons why a new key cannot be stored: there is no room, fingerprints collide, or the
 * search or random walk for a free slot is too short. The first two are described next. The third is described further
 * below, after the formula for the rate.
 *
 * No room: no sequence of moves frees a slot for the key. In large regions this happens at a sharply defined load (the
 * share of slots in use). The load at which a region fails is nearly normally distributed (with a heavier left tail:
 * fit.c). Its mean is slightly below the theoretical threshold of the layout. The numbers of keys in the regions also
 * differ; they are binomial. In small regions there is another cause, at lower loads: a few keys share the same few
 * places. Most often these are c + 1 keys on one pair of places, which has only c slots.
 *
 * Fingerprint collisions: more than c keys have the same pair of places, and at least two of them have equal
 * fingerprints. (If all their fingerprints differ, this counts as no room.) Two keys with equal fingerprints that share
 * one place share the other one, too. If there are fewer fingerprints than places, keys share a pair far more often
 * because of equal fingerprints than because both places coincide by chance. One more fingerprint bit doubles the
 * number of fingerprints and so helps against collisions; a few more slots hardly do. But few keys collide, and each
 * region has a stash for them (kinds/shared/cuckoo_stash.h). So collisions make an add fail only if the stash of its
 * region is full. How many entries the stashes need is computed below.
 *
 * Let there be P places in each half of a region (the field `half`), R regions and F fingerprints. A place and a
 * fingerprint determine the other place, so a fingerprint has P possible pairs in a region, and there are R*P*F
 * different combinations of pair and fingerprint. A lookup returns true exactly if a key with the same combination is
 * stored, so
 *
 *     rate = 1 - (1 - 1/(R P F))^n                 on average over a random hash, exactly, for every n
 *
 * n keys have at most n different combinations, so no filter has a rate above n/(R P F), whatever the keys. Sizes are
 * chosen by this bound.
 *
 * In a large region a search may also fail because it visits at most KITHI_FIT_SEARCH_SLOTS slots. The number of slots
 * that a search needs has an exponential tail, whose exponent depends on the load and was measured (docs/loads.md). The
 * expected number of searches that are too short is added to the probability that there is no room. Short fingerprints
 * make searches longer, as if the load were higher; by how much was measured, too.
 *
 * A random walk may fail because it may move at most `kicks` entries. The number of moves that it needs has an
 * exponential tail, too (docs/loads.md). Filters with random walks have no stash.
 *
 * The size of a stash. Let M(i) be the expected number of sets of c + i keys that have the same pair of places, at
 * least two of them with equal fingerprints. In large regions, all keys of such a set usually have the same
 * fingerprint. Then M(i) is nearly (n choose c + i) / (R P F)^(c + i - 1). A set of c + i keys needs i entries of a
 * stash. Sets are rare and nearly independent, so the number of entries that a region needs is a compound Poisson
 * variable: the sum over i = 1, 2, … of i times a Poisson variable of mean M(i) / R. Larger sets contain smaller ones,
 * which are counted again, so the estimate errs on the safe side. The stash has the smallest number of entries such
 * that the probability that one of the R regions needs more is at most 10^-8. For example, 10^8 keys in windows with
 * slots of 9 bits need 0.0025 entries on average, in all regions together, and a stash of two entries per region is
 * enough. */
#ifndef KITHI_PLAN_FIT_H
#define KITHI_PLAN_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/geometry.h"

/* A layout of the slots. */
typedef struct kithi_fit_layout {
    unsigned place_slots; /* slots per place: b in a bucket, 2 in a window */
    bool windows;         /* neighbouring places share a slot */
    bool power_of_two;    /* 2 * half must be a power of two and, unless `one_region` is set, at most 2^slot_bits:
                             alternate=xor and alternate=simple of cuckoo require it (kinds/cuckoo/cuckoo.c) */
    bool one_region;      /* all keys are in one region */
    unsigned kicks;       /* how many entries a random walk may move; 0: a breadth-first search */
    unsigned window_bits; /* bits of a slot that do not belong to the fingerprint: 0 or 1 */
} kithi_fit_layout;

/* The size that kithi_fit_choose() found. */
typedef struct kithi_fit_size {
    unsigned slot_bits;
    uint64_t half; /* places in half a region */
    uint64_t regions;
    unsigned stash; /* entries of the stash of a region */
} kithi_fit_size;

/* Returns the number of slots in a region. */
uint64_t kithi_fit_region_slots(const kithi_fit_layout *layout, uint64_t half);

/* Returns F, the largest fingerprint: fingerprints are 1 … F. */
uint64_t kithi_fit_fingerprint_max(const kithi_fit_layout *layout, unsigned slot_bits);

/* kithi_fit_rate() returns the expected rate with n keys. The other two return upper estimates of the probability that
 * n distinct keys do not fit: kithi_fit_room_failure() because there is no room, or because a search or walk is too
 * short, and kithi_fit_overflow() because fingerprint collisions need more entries than the stash of a region has. */
double kithi_fit_rate(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n);
double kithi_fit_room_failure(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n);
double kithi_fit_overflow(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n);

/* An upper estimate of the probability that one of `keys` random walks at this load needs more than layout->kicks
 * moves. kithi_fit_room_failure() includes it. */
double kithi_fit_walk_failure(const kithi_fit_layout *layout, double load, double keys);

/* An upper estimate of the share of the adds at this load whose search examines more than this many places, in a large
 * region. */
double kithi_fit_search_tail(const kithi_fit_layout *layout, double load, double places);

/* Finds the size with the fewest bits in total for which n/(R P F) is at most `rate`, the probability of a room failure
 * is at most 10^-9 (for random walks 9 * 10^-7), and that of a stash overflow is at most 10^-8. If slot_bits is not 0,
 * slots have that width, and the largest stash is chosen if none is large enough. (Windows with fingerprints of 2 bits
 * are an exception: for them the stash must be large enough even then, but the limit is 10^-7 instead of 10^-8.)
 * Returns false if no such size is smaller than 2^62 bits. */
bool kithi_fit_choose(const kithi_fit_layout *layout, uint64_t n, double rate, unsigned slot_bits,
                      kithi_fit_size *size);

#endif
