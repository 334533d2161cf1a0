/* semi_sorted.h: a cuckoo filter with semi-sorted buckets of 4 entries (Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo
 * Filter: Practically Better Than Bloom", 2014, section 5.2). It needs one bit per slot less than plain buckets.
 *
 * The order of the fingerprints in a bucket carries no information. So they are sorted by their highest 4 bits, their
 * *nibbles*. Four sorted nibbles can be chosen in C(19, 4) = 3876 ways, which is less than 2^12: a code of 12 bits
 * replaces 16. The lower f - 4 bits of each fingerprint are stored as they are.
 *
 *     bucket   | code of the 4 nibbles, 12 bits | 4 times the lower f - 4 bits |       4(f - 1) bits
 *
 * Why this is in the lab and not an option of the library's cuckoo filter:
 *
 *     - Each change sorts the bucket, so an entry has no fixed slot. The library's filters identify entries by
 *       their slot: the trace, undoing a walk, and threads that fill different regions rely on it.
 *     - A lookup must decode two buckets, where a plain bucket is compared as it is, several entries at a time.
 *     - The gain is one bit per slot. The library's overlapping windows gain about as much (claim F3), and their slots
 *       are stable.
 *
 * There are 2^log2_buckets buckets, and the other bucket of bucket p is p XOR h(fingerprint), as in the paper. An
 * insertion that finds both buckets full kicks random entries, at most SEMI_SORTED_KICKS of them. If that is not enough
 * it is undone, byte for byte. */
#ifndef LAB_SEMI_SORTED_H
#define LAB_SEMI_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEMI_SORTED_ENTRIES = 4,
    SEMI_SORTED_CODES = 3876, /* C(19, 4) */
    SEMI_SORTED_KICKS = 500,  /* as in the paper */
    SEMI_SORTED_F_MIN = 4,
    SEMI_SORTED_F_MAX = 15 /* a bucket and 7 bits before it fit into 64 bits */
};

/* Returns the code of four sorted nibbles, 0 … SEMI_SORTED_CODES - 1. The lowest 4 bits of `nibbles` are the smallest
 * nibble. */
unsigned semi_sorted_encode(unsigned nibbles);

/* Returns the four sorted nibbles that have this code. */
unsigned semi_sorted_decode(unsigned code);

typedef struct semi_sorted {
    unsigned f, log2_buckets;
    uint64_t count;
    size_t body_bytes;
    uint16_t nibbles_of[SEMI_SORTED_CODES]; /* semi_sorted_decode, as a table */
    uint8_t body[];
} semi_sorted;

/* The size of a filter, including its body. */
size_t semi_sorted_bytes(unsigned log2_buckets, unsigned f);

/* Makes an empty filter in zeroed memory of semi_sorted_bytes() bytes. */
void semi_sorted_init(semi_sorted *s, unsigned log2_buckets, unsigned f);

/* The bits that all buckets take together. */
uint64_t semi_sorted_bits(const semi_sorted *s);

/* Adds a key by its digest. Returns false if there is no place for it; the filter is then unchanged. */
bool semi_sorted_add(semi_sorted *s, uint64_t digest);

bool semi_sorted_has(const semi_sorted *s, uint64_t digest);

/* Removes one entry of a key. Returns false if there is none. Only keys that were added may be removed. */
bool semi_sorted_remove(semi_sorted *s, uint64_t digest);

#endif
