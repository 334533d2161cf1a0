/* Two passes, so that what is kept of every digest is a byte and not the digest.
 *
 *     1  every digest sets a bit, in a bitmap of 8 bits a digest. Who finds it clear has surely not been before. The
 *        others, some 6% if there are no repeats, may have been: the suspects. (Who has asked a filter instead, brings
 *        them along.)
 *     2  every digest is looked up among the suspects. Of each that is one, the first occurrence stays and the others
 *        go. (The first occurrence of a repeated digest is no suspect by itself, but its repeats are, and it equals them.)
 *
 * The second pass asks a bitmap of its own first, of 16 bits a suspect: one digest in eight or so passes. Those of a
 * group that pass ask for their lines together. The suspects are a table of open addressing with linear probing, at most
 * half full; the digest 0, which is what an empty slot holds, has the slot behind the last. */
#include "build/repeats.h"

#include <string.h>

#include "core/mix.h"

enum { AHEAD = 32, GROUP = 256 };

typedef struct bitmap {
    uint8_t *bytes;
    uint64_t bits;
} bitmap;

typedef struct suspects {
    uint64_t *digests;
    uint64_t count, room;
} suspects;

typedef struct table {
    uint64_t *digests;
    uint64_t slots; /* and one more, for 0 */
    bitmap known;
    bitmap met; /* by slot */
} table;

static bool bitmap_new(const kith_allocator *allocator, uint64_t bits, bitmap *b) {
    b->bits = (bits + 7) / 8 * 8;
    b->bytes = kithi_allocate(allocator, b->bits / 8);
    return b->bytes != NULL;
}

static void bitmap_free(const kith_allocator *allocator, bitmap *b) {
    kithi_release(allocator, b->bytes, b->bits / 8);
}

static inline uint64_t bit_of(const bitmap *b, uint64_t digest) {
    return kithi_mulhi(kithi_mix(digest), b->bits);
}

static inline bool bit_get(const bitmap *b, uint64_t bit) {
    return b->bytes[bit / 8] >> (bit % 8) & 1;
}

static inline void bit_set(bitmap *b, uint64_t bit) {
    b->bytes[bit / 8] = (uint8_t)(b->bytes[bit / 8] | 1 << (bit % 8));
}

/* ---- the first pass ---- */

static bool suspect(const kith_allocator *allocator, suspects *s, uint64_t digest) {
    if (s->count == s->room) {
        uint64_t room = s->room == 0 ? 1024 : 2 * s->room;
        uint64_t *larger = kithi_allocate(allocator, room * sizeof *larger);
        if (larger == NULL)
            return false;
        if (s->count != 0)
            memcpy(larger, s->digests, s->count * sizeof *larger);
        kithi_release(allocator, s->digests, s->room * sizeof *larger);
        s->digests = larger;
        s->room = room;
    }
    s->digests[s->count++] = digest;
    return true;
}

static bool find_suspects(const kith_allocator *allocator, const uint64_t *digests, size_t n, suspects *s) {
    bitmap seen;
    if (!bitmap_new(allocator, 8 * (uint64_t)n, &seen))
        return false;
    bool fits = true;
    for (size_t i = 0; i < n && fits; i++) {
        if (n - i > AHEAD)
            __builtin_prefetch(&seen.bytes[bit_of(&seen, digests[i + AHEAD]) / 8], 1);
        uint64_t bit = bit_of(&seen, digests[i]);
        if (bit_get(&seen, bit))
            fits = suspect(allocator, s, digests[i]);
        bit_set(&seen, bit);
    }
    bitmap_free(allocator, &seen);
    return fits;
}

static bool take_suspects(const kith_allocator *allocator, const uint64_t *digests, size_t n, const uint64_t *firsts,
                          suspects *s) {
    for (size_t from = 0; from < n; from += 64) {
        uint64_t rest = n - from < 64 ? (UINT64_C(1) << (n - from)) - 1 : UINT64_MAX;
        for (uint64_t word = ~firsts[from / 64] & rest; word != 0; word &= word - 1)
            if (!suspect(allocator, s, digests[from + (unsigned)__builtin_ctzll(word)]))
                return false;
    }
    return true;
}

/* ---- the suspects as a table ---- */

static inline uint64_t home_of(const table *t, uint64_t digest) {
    return kithi_mulhi(kithi_mix(digest ^ KITHI_GOLDEN), t->slots);
}

/* The digest's slot, or the empty one where it would be. */
static inline uint64_t slot_of(const table *t, uint64_t digest) {
    if (digest == 0)
        return t->slots;
    uint64_t at = home_of(t, digest);
    while (t->digests[at] != 0 && t->digests[at] != digest)
        at = at + 1 < t->slots ? at + 1 : 0;
    return at;
}

static void table_free(const kith_allocator *allocator, table *t) {
    kithi_release(allocator, t->digests, (t->slots + 1) * sizeof *t->digests);
    bitmap_free(allocator, &t->known);
    bitmap_free(allocator, &t->met);
}

static bool table_new(const kith_allocator *allocator, const suspects *s, table *t) {
    t->slots = 2 * s->count;
    t->digests = kithi_allocate(allocator, (t->slots + 1) * sizeof *t->digests);
    bool known = bitmap_new(allocator, 16 * s->count, &t->known), met = bitmap_new(allocator, t->slots + 1, &t->met);
    if (t->digests == NULL || !known || !met) {
        table_free(allocator, t);
        return false;
    }
    for (uint64_t i = 0; i < s->count; i++) {
        if (s->count - i > AHEAD)
            __builtin_prefetch(&t->digests[home_of(t, s->digests[i + AHEAD])], 1);
        t->digests[slot_of(t, s->digests[i])] = s->digests[i];
        bit_set(&t->known, bit_of(&t->known, s->digests[i]));
    }
    return true;
}

/* ---- the second pass ---- */

/* Bit i: digest i of the group has come before. */
static bool meet_group(table *t, const uint64_t *digests, size_t n, uint64_t *before) {
    uint16_t passed[GROUP];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        passed[count] = (uint16_t)i;
        count += bit_get(&t->known, bit_of(&t->known, digests[i]));
    }
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&t->digests[home_of(t, digests[passed[i]])]);
    memset(before, 0, GROUP / 8);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = slot_of(t, digests[passed[i]]);
        if (t->digests[at] != digests[passed[i]])
            continue;
        bool met = bit_get(&t->met, at);
        bit_set(&t->met, at);
        before[passed[i] / 64] |= (uint64_t)met << (passed[i] % 64);
        any |= met;
    }
    return any;
}

static bool keep_firsts(const kith_allocator *allocator, const uint64_t *digests, size_t n, table *t, uint64_t **copy,
                        size_t *kept) {
    uint64_t *out = NULL, before[GROUP / 64];
    size_t count = 0;
    for (size_t at = 0; at < n; at += GROUP) {
        size_t group = n - at < GROUP ? n - at : GROUP;
        for (size_t i = at + GROUP; i < at + 2 * GROUP && i < n; i++)
            __builtin_prefetch(&t->known.bytes[bit_of(&t->known, digests[i]) / 8]);
        bool any = meet_group(t, digests + at, group, before);
        if (any && out == NULL) {
            out = kithi_allocate(allocator, (uint64_t)n * sizeof *out);
            if (out == NULL)
                return false;
            memcpy(out, digests, at * sizeof *out);
        }
        if (out == NULL) {
            count += group;
            continue;
        }
        for (size_t i = 0; i < group; i++) {
            out[count] = digests[at + i];
            count += (before[i / 64] >> (i % 64) & 1) == 0;
        }
    }
    *copy = out;
    *kept = count;
    return true;
}

bool kithi_drop_repeats(const kith_allocator *allocator, const uint64_t *digests, size_t n, const uint64_t *firsts,
                        uint64_t **copy, size_t *kept) {
    suspects s = {NULL, 0, 0};
    table t = {NULL, 0, {NULL, 0}, {NULL, 0}};
    *copy = NULL;
    *kept = n;
    bool fits =
        firsts != NULL ? take_suspects(allocator, digests, n, firsts, &s) : find_suspects(allocator, digests, n, &s);
    if (fits && s.count > 0) {
        fits = table_new(allocator, &s, &t);
        if (fits) {
            fits = keep_firsts(allocator, digests, n, &t, copy, kept);
            table_free(allocator, &t);
        }
    }
    kithi_release(allocator, s.digests, s.room * sizeof *s.digests);
    return fits;
}
