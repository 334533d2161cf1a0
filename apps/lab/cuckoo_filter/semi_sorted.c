/* semi_sorted.c: see semi_sorted.h.
 *
 * A bucket is read into an array of 4 fingerprints, changed there, sorted and written back. An empty entry is
 * fingerprint 0, which no key has. */
#include "semi_sorted.h"

#include <string.h>

#include <lab/mix.h>

enum { ENTRIES = SEMI_SORTED_ENTRIES, NIBBLE_BITS = 4, CODE_BITS = 12 };

/* ---- four sorted nibbles as a number ---- */

/* a <= b <= c <= d are as good as a < b + 1 < c + 2 < d + 3, four different numbers below 19. These are numbered in the
 * combinatorial number system: C(a, 1) + C(b + 1, 2) + C(c + 2, 3) + C(d + 3, 4). */
static unsigned choose(unsigned i, unsigned nibble) { /* C(nibble + i, i + 1) */
    unsigned two = nibble * (nibble + 1), three = two * (nibble + 2), four = three * (nibble + 3);
    return i == 0 ? nibble : i == 1 ? two / 2 : i == 2 ? three / 6 : four / 24;
}

unsigned semi_sorted_encode(unsigned nibbles) {
    unsigned code = 0;
    for (unsigned i = 0; i < ENTRIES; i++)
        code += choose(i, nibbles >> (NIBBLE_BITS * i) & 15);
    return code;
}

unsigned semi_sorted_decode(unsigned code) {
    unsigned nibbles = 0;
    for (unsigned i = ENTRIES; i-- > 0;) {
        unsigned nibble = 15;
        while (choose(i, nibble) > code)
            nibble--;
        code -= choose(i, nibble);
        nibbles |= nibble << (NIBBLE_BITS * i);
    }
    return nibbles;
}

/* ---- buckets ---- */

size_t semi_sorted_bytes(unsigned log2_buckets, unsigned f) {
    size_t bits = ((size_t)1 << log2_buckets) * ENTRIES * (f - 1);
    return sizeof(semi_sorted) + (bits + 7) / 8 + sizeof(uint64_t); /* a bucket is read as a word */
}

uint64_t semi_sorted_bits(const semi_sorted *s) {
    return (UINT64_C(1) << s->log2_buckets) * ENTRIES * (s->f - 1);
}

void semi_sorted_init(semi_sorted *s, unsigned log2_buckets, unsigned f) {
    s->f = f;
    s->log2_buckets = log2_buckets;
    s->body_bytes = semi_sorted_bytes(log2_buckets, f) - sizeof *s;
    for (unsigned code = 0; code < SEMI_SORTED_CODES; code++)
        s->nibbles_of[code] = (uint16_t)semi_sorted_decode(code);
}

static uint64_t word_at(const uint8_t *at) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

static void read_bucket(const semi_sorted *s, uint64_t bucket, unsigned entries[ENTRIES]) {
    unsigned bits = ENTRIES * (s->f - 1), low_bits = s->f - NIBBLE_BITS;
    uint64_t at = bucket * bits, word = word_at(s->body + at / 8) >> (at % 8);
    unsigned nibbles = s->nibbles_of[word & ((1u << CODE_BITS) - 1)];
    word >>= CODE_BITS;
    for (unsigned i = 0; i < ENTRIES; i++, word >>= low_bits)
        entries[i] = (nibbles >> (NIBBLE_BITS * i) & 15) << low_bits | (unsigned)(word & ((1u << low_bits) - 1));
}

static void write_bucket(semi_sorted *s, uint64_t bucket, unsigned entries[ENTRIES]) {
    for (unsigned i = 1; i < ENTRIES; i++) /* insertion sort */
        for (unsigned j = i; j > 0 && entries[j - 1] > entries[j]; j--) {
            unsigned larger = entries[j - 1];
            entries[j - 1] = entries[j];
            entries[j] = larger;
        }
    unsigned bits = ENTRIES * (s->f - 1), low_bits = s->f - NIBBLE_BITS, nibbles = 0;
    uint64_t low = 0, at = bucket * bits, mask = ((UINT64_C(1) << bits) - 1) << (at % 8);
    for (unsigned i = 0; i < ENTRIES; i++) {
        nibbles |= entries[i] >> low_bits << (NIBBLE_BITS * i);
        low |= (uint64_t)(entries[i] & ((1u << low_bits) - 1)) << (low_bits * i);
    }
    uint64_t value = (semi_sorted_encode(nibbles) | low << CODE_BITS) << (at % 8);
    value |= word_at(s->body + at / 8) & ~mask;
    for (unsigned i = 0; i < 8; i++)
        s->body[at / 8 + i] = (uint8_t)(value >> (8 * i));
}

/* Replaces one entry of a bucket. Returns false if the bucket has no such entry. */
static bool replace(semi_sorted *s, uint64_t bucket, unsigned entry, unsigned by) {
    unsigned entries[ENTRIES];
    read_bucket(s, bucket, entries);
    for (unsigned i = 0; i < ENTRIES; i++)
        if (entries[i] == entry) {
            entries[i] = by;
            write_bucket(s, bucket, entries);
            return true;
        }
    return false;
}

/* ---- keys ---- */

static unsigned fingerprint_of(const semi_sorted *s, uint64_t digest) {
    return (unsigned)(1 + ((digest & UINT32_MAX) * ((1u << s->f) - 1) >> 32));
}

static uint64_t first_bucket(const semi_sorted *s, uint64_t digest) {
    return digest >> 32 & ((UINT64_C(1) << s->log2_buckets) - 1);
}

/* The two buckets of a fingerprint are always different. */
static uint64_t other_bucket(const semi_sorted *s, uint64_t bucket, unsigned fingerprint) {
    uint64_t distance = lab_mix(fingerprint) & ((UINT64_C(1) << s->log2_buckets) - 1);
    return bucket ^ (distance != 0 ? distance : 1);
}

static bool contains(const semi_sorted *s, uint64_t bucket, unsigned fingerprint) {
    unsigned entries[ENTRIES];
    read_bucket(s, bucket, entries);
    return entries[0] == fingerprint || entries[1] == fingerprint || entries[2] == fingerprint ||
           entries[3] == fingerprint;
}

bool semi_sorted_has(const semi_sorted *s, uint64_t digest) {
    unsigned fingerprint = fingerprint_of(s, digest);
    uint64_t bucket = first_bucket(s, digest);
    return contains(s, bucket, fingerprint) || contains(s, other_bucket(s, bucket, fingerprint), fingerprint);
}

bool semi_sorted_remove(semi_sorted *s, uint64_t digest) {
    unsigned fingerprint = fingerprint_of(s, digest);
    uint64_t bucket = first_bucket(s, digest);
    bool removed =
        replace(s, bucket, fingerprint, 0) || replace(s, other_bucket(s, bucket, fingerprint), fingerprint, 0);
    s->count -= removed;
    return removed;
}

/* What one kick has replaced, to undo it. Entries are found by their value, because they have no fixed slot. */
typedef struct kick {
    uint64_t bucket;
    unsigned out, in;
} kick;

bool semi_sorted_add(semi_sorted *s, uint64_t digest) {
    unsigned fingerprint = fingerprint_of(s, digest);
    uint64_t bucket = first_bucket(s, digest), other = other_bucket(s, bucket, fingerprint);
    s->count++;
    if (replace(s, bucket, 0, fingerprint) || replace(s, other, 0, fingerprint))
        return true;
    kick kicks[SEMI_SORTED_KICKS];
    uint64_t dice = lab_mix(digest);
    bucket = (dice & 1) != 0 ? bucket : other;
    for (unsigned i = 0; i < SEMI_SORTED_KICKS; i++) {
        unsigned entries[ENTRIES];
        read_bucket(s, bucket, entries);
        kicks[i] = (kick){bucket, entries[lab_mix(dice + i) % ENTRIES], fingerprint};
        (void)replace(s, bucket, kicks[i].out, fingerprint);
        fingerprint = kicks[i].out;
        bucket = other_bucket(s, bucket, fingerprint);
        if (replace(s, bucket, 0, fingerprint))
            return true;
    }
    for (unsigned i = SEMI_SORTED_KICKS; i-- > 0;)
        (void)replace(s, kicks[i].bucket, kicks[i].in, kicks[i].out);
    s->count--;
    return false;
}
