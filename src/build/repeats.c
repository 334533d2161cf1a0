/* Finds repeated digests in two passes. In a long list with few repeats, this takes up to 3 bytes per digest; a hash
 * table of all digests would take at least 8.
 *
 *     pass 1   Each digest sets one bit in a bitmap of 8 bits per digest. If the bit was clear, the digest is new. If
 *              it was set (about 6% of the digests when nothing repeats), the digest may be a repeat: it becomes a
 *              suspect.
 *              Callers that already know the suspects, for example from a filter, pass them in and skip this pass.
 *     pass 2   Every digest is looked up among the suspects, not only the suspects themselves: the first occurrence of
 *              a repeated digest was usually new in pass 1, and only its later occurrences became suspects. The first
 *              occurrence is kept, later ones are dropped.
 *
 * If there are at most DIGESTS_FEW digests, the bitmap of pass 1 has 64 bits per digest: it still fits in the L1 cache,
 * and fewer than 1% of the digests become suspects. If there are at most SUSPECTS_FEW suspects, any_repeats() counts
 * their occurrences first. Usually none occurs twice, and pass 2 is skipped.
 *
 * Pass 2 looks digests up in a hash table of the suspects, with open addressing and linear probing, which is at most
 * half full. Before that it checks a second bitmap, of 16 bits per suspect, in which the bit of each suspect is set.
 * When nothing repeats, about one digest in eight passes this check: the suspects, 6%, and another 6% that have the
 * same bit as a suspect. Digests are processed in groups: first the table slots of all digests of the group that passed
 * the check are prefetched, and then these digests are looked up. An empty slot of the table holds 0, so the digest 0
 * is kept in an extra slot after the last one. */
#include "build/repeats.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "core/mix.h"
#include "core/parallel.h"

enum {
    AHEAD = 32,  /* how many digests ahead pass 1, and the loop that fills the table, prefetch */
    GROUP = 256, /* digests in a group of pass 2 */
};

#define DIGESTS_FEW 4096
#define SUSPECTS_FEW 16 /* searching for this many suspects takes a quarter of the time of pass 2 */

typedef struct bitmap {
    uint8_t *bytes;
    uint64_t bits;
} bitmap;

typedef struct suspects {
    uint64_t *digests;
    uint64_t count, capacity;
} suspects;

typedef struct table {
    uint64_t *digests;
    uint64_t slots;      /* without the extra one for the digest 0 */
    bitmap suspect_bits; /* the second bitmap: the bit of each suspect is set */
    bitmap seen;         /* one bit per slot: its suspect has occurred in pass 2 */
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

/* ---- pass 1 ---- */

static bool add_suspect(const kith_allocator *allocator, suspects *s, uint64_t digest) {
    if (s->count == s->capacity) {
        uint64_t capacity = s->capacity == 0 ? 64 : 2 * s->capacity;
        uint64_t *larger = kithi_allocate(allocator, capacity * sizeof *larger);
        if (larger == NULL)
            return false;
        if (s->count != 0)
            memcpy(larger, s->digests, (size_t)s->count * sizeof *larger);
        kithi_release(allocator, s->digests, s->capacity * sizeof *larger);
        s->digests = larger;
        s->capacity = capacity;
    }
    s->digests[s->count++] = digest;
    return true;
}

static bool find_suspects(const kith_allocator *allocator, const uint64_t *digests, size_t n, suspects *s) {
    bitmap seen;
    bool few = n <= DIGESTS_FEW;
    if (!bitmap_new(allocator, (few ? 64 : 8) * (uint64_t)n, &seen))
        return false;
    bool enough_memory = true;
    for (size_t i = 0; i < n && enough_memory; i++) {
        if (!few && n - i > AHEAD)
            __builtin_prefetch(&seen.bytes[bit_of(&seen, digests[i + AHEAD]) / 8], 1);
        uint64_t bit = bit_of(&seen, digests[i]);
        if (bit_get(&seen, bit))
            enough_memory = add_suspect(allocator, s, digests[i]);
        bit_set(&seen, bit);
    }
    bitmap_free(allocator, &seen);
    return enough_memory;
}

static bool suspects_from_bitmap(const kith_allocator *allocator, const uint64_t *digests, size_t n,
                                 const uint64_t *firsts, suspects *s) {
    for (size_t from = 0; from < n; from += 64) {
        uint64_t mask = n - from < 64 ? (UINT64_C(1) << (n - from)) - 1 : UINT64_MAX;
        for (uint64_t word = ~firsts[from / 64] & mask; word != 0; word &= word - 1)
            if (!add_suspect(allocator, s, digests[from + (unsigned)__builtin_ctzll(word)]))
                return false;
    }
    return true;
}

/* ---- the table of suspects ---- */

static inline uint64_t home_of(const table *t, uint64_t digest) {
    return kithi_mulhi(kithi_mix(digest ^ KITHI_GOLDEN), t->slots);
}

/* Returns the digest's slot, or the empty slot where it would be inserted. */
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
    bitmap_free(allocator, &t->suspect_bits);
    bitmap_free(allocator, &t->seen);
}

static bool table_new(const kith_allocator *allocator, const suspects *s, table *t) {
    t->slots = 2 * s->count;
    t->digests = kithi_allocate(allocator, (t->slots + 1) * sizeof *t->digests);
    bool has_bits = bitmap_new(allocator, 16 * s->count, &t->suspect_bits);
    bool has_seen = bitmap_new(allocator, t->slots + 1, &t->seen);
    if (t->digests == NULL || !has_bits || !has_seen) {
        table_free(allocator, t);
        return false;
    }
    for (uint64_t i = 0; i < s->count; i++) {
        if (s->count - i > AHEAD)
            __builtin_prefetch(&t->digests[home_of(t, s->digests[i + AHEAD])], 1);
        t->digests[slot_of(t, s->digests[i])] = s->digests[i];
        bit_set(&t->suspect_bits, bit_of(&t->suspect_bits, s->digests[i]));
    }
    return true;
}

/* ---- pass 2 ---- */

/* Sets bit i of `repeats` to whether digest i of the group has occurred before. Returns whether any has. */
static bool mark_repeats(table *t, const uint64_t *digests, size_t n, uint64_t *repeats) {
    uint16_t passed[GROUP]; /* the digests that passed the check of suspect_bits */
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        passed[count] = (uint16_t)i;
        count += bit_get(&t->suspect_bits, bit_of(&t->suspect_bits, digests[i]));
    }
    assert(count <= n); /* so the first `count` elements of `passed` are set */
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&t->digests[home_of(t, digests[passed[i]])]);
    memset(repeats, 0, GROUP / 8);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = slot_of(t, digests[passed[i]]);
        if (t->digests[at] != digests[passed[i]])
            continue;
        bool seen = bit_get(&t->seen, at);
        bit_set(&t->seen, at);
        repeats[passed[i] / 64] |= (uint64_t)seen << (passed[i] % 64);
        any |= seen;
    }
    return any;
}

/* Makes the copy without repeats, if there are any. Returns false if there is no memory for it. */
static bool keep_firsts(const kith_allocator *allocator, const uint64_t *digests, size_t n, table *t, uint64_t **copy,
                        size_t *kept) {
    uint64_t *out = NULL, repeats[GROUP / 64];
    size_t count = 0;
    for (size_t at = 0; at < n; at += GROUP) {
        size_t group = n - at < GROUP ? n - at : GROUP;
        for (size_t i = at + GROUP; i < at + 2 * GROUP && i < n; i++)
            __builtin_prefetch(&t->suspect_bits.bytes[bit_of(&t->suspect_bits, digests[i]) / 8]);
        bool any = mark_repeats(t, digests + at, group, repeats);
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
            count += (repeats[i / 64] >> (i % 64) & 1) == 0;
        }
    }
    *copy = out;
    *kept = count;
    return true;
}

/* Returns whether one of the suspects occurs twice. Takes the digests in groups of eight. A full group is compared with
 * the suspects only if one of its digests has the same low bits as a suspect. This is rare if there are few suspects,
 * so this is then faster than pass 2. */
static bool any_repeats(const uint64_t *digests, size_t n, const suspects *s) {
    enum { MARKS = 2048, GROUP_DIGESTS = 8 };
    uint8_t marked[MARKS] = {0};
    for (uint64_t i = 0; i < s->count; i++)
        marked[s->digests[i] % MARKS] = 1;
    uint64_t occurrences = 0; /* if nothing repeats, each suspect is found once */
    for (size_t at = 0; at < n; at += GROUP_DIGESTS) {
        size_t count = n - at < GROUP_DIGESTS ? n - at : GROUP_DIGESTS;
        unsigned any = count < GROUP_DIGESTS;
        for (size_t j = 0; j < GROUP_DIGESTS && count == GROUP_DIGESTS; j++)
            any |= marked[digests[at + j] % MARKS];
        for (size_t j = 0; j < count && any != 0; j++)
            for (uint64_t i = 0; i < s->count; i++)
                occurrences += s->digests[i] == digests[at + j];
    }
    return occurrences > s->count;
}

bool kithi_drop_repeats(const kith_allocator *allocator, const uint64_t *digests, size_t n, const uint64_t *firsts,
                        uint64_t **copy, size_t *kept) {
    suspects s = {NULL, 0, 0};
    table t = {NULL, 0, {NULL, 0}, {NULL, 0}};
    *copy = NULL;
    *kept = n;
    bool enough_memory = firsts != NULL ? suspects_from_bitmap(allocator, digests, n, firsts, &s)
                                        : find_suspects(allocator, digests, n, &s);
    if (enough_memory && s.count > 0 && (s.count > SUSPECTS_FEW || any_repeats(digests, n, &s))) {
        enough_memory = table_new(allocator, &s, &t);
        if (enough_memory) {
            enough_memory = keep_firsts(allocator, digests, n, &t, copy, kept);
            table_free(allocator, &t);
        }
    }
    kithi_release(allocator, s.digests, s.capacity * sizeof *s.digests);
    return enough_memory;
}

/* ---- parts ---- */

typedef struct parts_job {
    const kith_allocator *allocator;
    uint64_t *by_part;
    const size_t *starts;
    unsigned parts;
    size_t *kept;
    atomic_uint next_part; /* the first part that no thread has taken yet */
    _Atomic size_t total;
    atomic_bool no_memory;
} parts_job;

static void drop_in_parts(void *context, unsigned thread) {
    (void)thread;
    parts_job *j = context;
    for (unsigned p; (p = atomic_fetch_add(&j->next_part, 1)) < j->parts && !j->no_memory;) {
        uint64_t *part = j->by_part + j->starts[p], *copy = NULL;
        size_t n = j->starts[p + 1] - j->starts[p], kept = 0;
        if (n != 0 && !kithi_drop_repeats(j->allocator, part, n, NULL, &copy, &kept)) {
            j->no_memory = true;
            return;
        }
        if (copy != NULL && j->kept != NULL)
            memcpy(part, copy, kept * sizeof *copy);
        kithi_release(j->allocator, copy, (uint64_t)n * sizeof *copy);
        if (j->kept != NULL)
            j->kept[p] = kept;
        j->total += kept;
    }
}

bool kithi_drop_repeats_in_parts(const kith_allocator *allocator, uint64_t *by_part, const size_t *starts,
                                 unsigned parts, unsigned threads, size_t *kept, size_t *total) {
    parts_job j = {.allocator = allocator, .by_part = by_part, .starts = starts, .parts = parts, .kept = kept};
    kithi_parallel(threads, drop_in_parts, &j);
    *total = j.total;
    return !j.no_memory;
}

void kithi_join_parts(uint64_t *by_part, size_t *starts, unsigned parts, const size_t *kept) {
    size_t at = 0;
    for (unsigned p = 0; p < parts; p++) {
        memmove(by_part + at, by_part + starts[p], kept[p] * sizeof *by_part);
        starts[p] = at;
        at += kept[p];
    }
    starts[parts] = at;
}
