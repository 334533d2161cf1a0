/* kinds/shared/cuckoo_batch.h: has, add and remove of the cuckoo kinds, for one key and for batches, and copies.
 *
 * The slots of a place are adjacent and are loaded as one word if they have at most 64 bits, and otherwise as two or
 * four words. A word need not begin at bit 0 of a byte, so it may extend over nine bytes; then the ninth is loaded
 * separately. Arithmetic on a word (kithi_zero_slots) compares all its slots with the key's code, or finds the empty
 * ones, in parallel. A place is read by a single load (KITHI_ONE_WORD) if it and the bits before it in its first byte
 * are at most 64 bits. In buckets of four slots this holds for slots of up to 16 bits. With windows it holds for slots
 * of up to 28 bits, and for slots of 32 bits, because each of these begins at bit 0 of a byte. The functions below that
 * have a parameter `form` are compiled for each way to divide a place into words. */
#ifndef KITHI_FILTERS_CUCKOO_BATCH_H
#define KITHI_FILTERS_CUCKOO_BATCH_H

#include "kinds/shared/cuckoo_search.h"

/* How many digests ahead a batch prefetches: half of KITHI_AHEAD, because each digest needs two cache lines. */
#define KITHI_CF_AHEAD (KITHI_AHEAD / 2)

/* The first slot of a place that is empty, or the first that holds the key's code. `word` is the index of its word in
 * the place. The lowest set bit of `zero` is the highest bit of the slot; the other set bits have no meaning. `zero` is
 * 0 if there is no such slot. */
typedef struct kithi_pair_hit {
    unsigned word;
    uint64_t zero;
} kithi_pair_hit;

/* XORs the key's code into the slot of a hit in place i (0 or 1). This stores the code in an empty slot, and empties a
 * slot that holds it. */
KITHI_INLINE void kithi_pair_toggle(const kithi_cf_geometry *g, const kithi_cf_pair *pair, unsigned i,
                                    kithi_pair_hit hit, kithi_cf_form form) {
    unsigned low = (unsigned)__builtin_ctzll(hit.zero) - ((unsigned)g->slot_bits - 1); /* lowest bit of the slot */
    uint64_t mask = (UINT64_C(1) << g->slot_bits) - 1;
    if (form == KITHI_ONE_WORD) {
        uint64_t code = (pair->codes & mask << low) << pair->shift[i];
        kithi_store64(pair->at[i], kithi_load64(pair->at[i]) ^ code);
        return;
    }
    uint64_t bit = pair->shift[i] + hit.word * g->word_bits + low;
    uint8_t *at = pair->at[i] + bit / 8;
    kithi_store64(at, kithi_load64(at) ^ (pair->codes >> low & mask) << (bit % 8));
}

/* Stores the key's code in an empty slot; returns false if there is none. */
KITHI_INLINE bool kithi_pair_put(const kithi_cf_layout *layout, const kithi_cf_geometry *g, const kithi_cf_pair *pair,
                                 kithi_cf_form form) {
    kithi_pair_hit hit[2] = {{0, 0}, {0, 0}};
    unsigned empty[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        /* From the last word to the first, so that hit[i] is in the first word that has an empty slot. */
        for (unsigned word = kithi_pair_words(g, form); word-- > 0;) {
            uint64_t zero = kithi_exact_zero_slots(g, kithi_pair_slots(g, pair, i, word, form));
            empty[i] += kithi_count_slots(g, zero);
            hit[i] = zero != 0 || form == KITHI_ONE_WORD ? (kithi_pair_hit){word, zero} : hit[i];
        }
    }
    if ((hit[0].zero | hit[1].zero) == 0)
        return false;
    unsigned i = kithi_cf_prefers_second(layout, empty);
    kithi_pair_toggle(g, pair, i, hit[i], form);
    return true;
}

/* Removes the first occurrence of the key's code; returns false if there is none. */
KITHI_INLINE bool kithi_pair_remove(const kithi_cf_geometry *g, const kithi_cf_pair *pair, kithi_cf_form form) {
    if (form == KITHI_ONE_WORD) {
        /* Both places are compared before one is chosen. Many keys are in the second place, so a branch on the first
         * one would often be mispredicted. */
        uint64_t zero[2];
        for (unsigned i = 0; i < 2; i++)
            zero[i] = kithi_zero_slots(g, kithi_pair_slots(g, pair, i, 0, form) ^ pair->codes);
        if ((zero[0] | zero[1]) == 0)
            return false;
        unsigned i = zero[0] == 0;
        kithi_pair_toggle(g, pair, i, (kithi_pair_hit){0, zero[i]}, form);
        return true;
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned word = 0; word < kithi_pair_words(g, form); word++) {
            uint64_t zero = kithi_zero_slots(g, kithi_pair_slots(g, pair, i, word, form) ^ pair->codes);
            if (zero == 0)
                continue;
            kithi_pair_toggle(g, pair, i, (kithi_pair_hit){word, zero}, form);
            return true;
        }
    }
    return false;
}

/* Returns how many slots hold the key's code. */
KITHI_INLINE uint64_t kithi_pair_count(const kithi_cf_geometry *g, const kithi_cf_pair *pair, kithi_cf_form form) {
    uint64_t count = 0;
    for (unsigned word = 0; word < kithi_pair_words(g, form); word++) {
        uint64_t found[2];
        for (unsigned i = 0; i < 2; i++)
            found[i] = kithi_exact_zero_slots(g, kithi_pair_slots(g, pair, i, word, form) ^ pair->codes);
        /* Only the highest bits of slots are set, and slots have at least three bits. So a bit of the second place,
         * shifted right by one, never coincides with a bit of the first. Compilers turn the loop into a popcount
         * instruction, if there is one. Otherwise the loop is faster than a call of kithi_popcount(), because most keys
         * have no copy or one. */
        for (uint64_t bits = found[0] | found[1] >> 1; bits != 0; bits &= bits - 1)
            count++;
    }
    return count;
}

/* ---- one key ----
 *
 * Each operation handles the common case itself (`common_case` of kithi_cf_geometry). For the other cases it calls a
 * function that is not inlined, so it stays small and needs no stack frame. */

/* Adds a key that has no empty candidate slot, or returns why it cannot be added. Also called if the filter is at its
 * capacity, even if a slot is empty. `is_new`: none of the slots holds the key's code. */
KITHI_OUTLINE kith_status kithi_cf_add_by_moving(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest,
                                                 bool is_new, bool *was_new) {
    if (f->head.count >= f->head.capacity)
        return kithi_cf_refusal(layout, f, digest);
    kith_status status = kithi_cf_store_by_moving(layout, f, digest, is_new);
    f->head.count += status == KITH_OK;
    *was_new = is_new;
    return status;
}

/* Adds a key with these places. `g` is f->geometry.cf or a copy of it. */
KITHI_INLINE kith_status kithi_cf_add_pair(const kithi_cf_layout *layout, kith_filter *f, const kithi_cf_geometry *g,
                                           const kithi_cf_pair *pair, uint64_t digest, bool *was_new,
                                           kithi_cf_form form) {
    bool is_new = !kithi_pair_has(g, pair, form);
    if (f->head.count >= f->head.capacity || !kithi_pair_put(layout, g, pair, form))
        return kithi_cf_add_by_moving(layout, f, digest, is_new, was_new);
    f->head.count++;
    *was_new = is_new;
    return KITH_OK;
}

KITHI_OUTLINE kith_status kithi_cf_add_unusual(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest,
                                               bool *was_new) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false, false);
    return kithi_cf_add_pair(layout, f, g, &pair, digest, was_new, KITHI_ANY_WORDS);
}

KITHI_INLINE kith_status kithi_cf_add(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest, bool *was_new) {
    bool ignored;
    /* cppcheck-suppress uninitvar ; only the address is used */
    was_new = was_new != NULL ? was_new : &ignored;
    const kithi_cf_geometry *g = &f->geometry.cf;
    if (!g->common_case)
        return kithi_cf_add_unusual(layout, f, digest, was_new);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false, true);
    return kithi_cf_add_pair(layout, f, g, &pair, digest, was_new, KITHI_ONE_WORD);
}

KITHI_INLINE kith_status kithi_cf_remove_pair(const kithi_cf_layout *layout, kith_filter *f, const kithi_cf_geometry *g,
                                              const kithi_cf_pair *pair, uint64_t digest, kithi_cf_form form) {
    if (f->head.fill != 0 && kithi_cf_remove_stashed(layout, f, digest))
        return KITH_OK;
    if (f->head.count == 0 || !kithi_pair_remove(g, pair, form))
        return KITH_E_ABSENT;
    f->head.count--;
    return KITH_OK;
}

KITHI_OUTLINE kith_status kithi_cf_remove_unusual(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false, false);
    return kithi_cf_remove_pair(layout, f, g, &pair, digest, KITHI_ANY_WORDS);
}

KITHI_INLINE kith_status kithi_cf_remove(const kithi_cf_layout *layout, kith_filter *f, uint64_t digest) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    if (!g->common_case)
        return kithi_cf_remove_unusual(layout, f, digest);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, g, f->body, digest, &pair, false, true);
    return kithi_cf_remove_pair(layout, f, g, &pair, digest, KITHI_ONE_WORD);
}

/* Returns the number of copies of a key: `in_slots`, which is the number in slots, plus those in the stash. Each entry
 * of the stash has a twin in a slot (cuckoo_stash.h), so the stash is not read if no slot holds the key. */
KITHI_INLINE uint64_t kithi_cf_total_copies(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest,
                                            uint64_t in_slots) {
    bool may_be_stashed = in_slots != 0 && f->head.fill != 0;
    return may_be_stashed ? kithi_cf_copies_with_stash(layout, f, digest, in_slots) : in_slots;
}

/* Windows have only two slots, which are faster to read one by one if a word may be long (plan/geometry.h). */
KITHI_OUTLINE uint64_t kithi_cf_copies_unusual(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest) {
    if (layout->windows) {
        kithi_candidates candidates;
        const uint8_t *region = kithi_cf_locate(layout, f, digest, &candidates);
        return kithi_cf_total_copies(layout, f, digest, kithi_cf_matches(f, region, &candidates));
    }
    kithi_cf_pair pair;
    kithi_pair_locate(layout, &f->geometry.cf, f->body, digest, &pair, false, false);
    return kithi_cf_total_copies(layout, f, digest, kithi_pair_count(&f->geometry.cf, &pair, KITHI_ANY_WORDS));
}

KITHI_INLINE uint64_t kithi_cf_copies(const kithi_cf_layout *layout, const kith_filter *f, uint64_t digest) {
    if (!f->geometry.cf.common_case)
        return kithi_cf_copies_unusual(layout, f, digest);
    kithi_cf_pair pair;
    kithi_pair_locate(layout, &f->geometry.cf, f->body, digest, &pair, false, true);
    return kithi_cf_total_copies(layout, f, digest, kithi_pair_count(&f->geometry.cf, &pair, KITHI_ONE_WORD));
}

/* ---- batches ---- */

/* In a filter up to this size, if it is a common case (`common_case` in plan/geometry.h), add_many and remove_many
 * do not locate and prefetch places ahead: such a filter stays in the core's own caches, where this would only cost
 * time. */
#define KITHI_CF_CACHED_BYTES (UINT64_C(1) << 19)

static inline bool kithi_cf_in_cache(const kith_filter *f) {
    return f->geometry.cf.common_case && f->head.body_bytes <= KITHI_CF_CACHED_BYTES;
}

/* Batches have `ahead`, a ring buffer with the places of the next KITHI_CF_AHEAD digests. This function fills it with
 * the places of the first digests. `g` is a local copy of the geometry: stores to slots and bitmaps cannot alias it, so
 * it is not reloaded for every key. */
KITHI_INLINE void kithi_cf_locate_first(const kithi_cf_layout *layout, const kithi_cf_geometry *g, uint8_t *body,
                                        const uint64_t *digests, size_t n, kithi_cf_pair *ahead) {
    for (size_t i = 0; i < n && i < KITHI_CF_AHEAD; i++)
        kithi_pair_locate(layout, g, body, digests[i], &ahead[i], true, false);
}

/* kithi_cf_has_many() for places of this form. */
KITHI_INLINE size_t kithi_cf_has_pairs(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests,
                                       size_t n, uint64_t *maybe, kithi_cf_form form) {
    const kithi_cf_geometry g = f->geometry.cf;
    uint8_t *body = f->body;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    size_t yes = 0;
    kithi_cf_locate_first(layout, &g, body, digests, n, ahead);
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++) {
            kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD]; /* `from` is a multiple of KITHI_CF_AHEAD */
            word |= (uint64_t)kithi_pair_has(&g, pair, form) << i;
            if (n - from - i > KITHI_CF_AHEAD)
                kithi_pair_locate(layout, &g, body, digests[from + i + KITHI_CF_AHEAD], pair, true, false);
        }
        if (maybe != NULL)
            maybe[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

KITHI_INLINE size_t kithi_cf_has_many(const kithi_cf_layout *layout, const kith_filter *f, const uint64_t *digests,
                                      size_t n, uint64_t *maybe) {
    switch (f->geometry.cf.form) {
    case KITHI_ONE_WORD:
        return kithi_cf_has_pairs(layout, f, digests, n, maybe, KITHI_ONE_WORD);
    case KITHI_TWO_WORDS:
        return kithi_cf_has_pairs(layout, f, digests, n, maybe, KITHI_TWO_WORDS);
    case KITHI_TWO_LONG_WORDS:
        return kithi_cf_has_pairs(layout, f, digests, n, maybe, KITHI_TWO_LONG_WORDS);
    default:
        return kithi_cf_has_pairs(layout, f, digests, n, maybe, KITHI_ANY_WORDS);
    }
}

/* Lookups with vector code, in groups of KITHI_PAIRS digests: see kernels/avx2_cuckoo.h. kithi_pairs has the places and
 * codes of such a group (core/batch.h). */
typedef struct kithi_cf_vector_lookup {
    /* Sets *pairs for the digests of a group. */
    void (*locate)(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs);
    /* Returns a bitmap: bit i is set if digest i may be in the set. */
    uint32_t (*match)(const kithi_cf_geometry *g, const uint8_t *body, const kithi_pairs *pairs);
} kithi_cf_vector_lookup;

/* The lookups with the vector code of an instruction set, for each type of place. */
typedef struct kithi_cf_vector_lookups {
    kithi_cf_vector_lookup one_word;     /* places of one word that is not long */
    kithi_cf_vector_lookup long_word;    /* places of one long word, which can take nine bytes (plan/geometry.h) */
    kithi_cf_vector_lookup wide_buckets; /* KITHI_CF_WIDE_BUCKETS (core/batch.h); only cuckoo has these */
} kithi_cf_vector_lookups;

/* Returns whether the factors of all multiplications in the vector code fit in 32 bits. Only a file with extreme
 * parameters has larger ones. */
static inline bool kithi_cf_fits_vectors(const kithi_cf_geometry *g) {
    return g->regions <= UINT32_MAX && g->stride <= UINT32_MAX && g->places < UINT64_C(1) << 31;
}

/* Returns the lookup for a geometry, or NULL if there is no vector code for it. */
static inline const kithi_cf_vector_lookup *kithi_cf_vector_lookup_for(const kithi_cf_vector_lookups *lookups,
                                                                       const kithi_cf_geometry *g) {
    if (g->alternate != KITHI_ALTERNATE_PARTNER || !kithi_cf_fits_vectors(g))
        return NULL;
    const kithi_cf_vector_lookup *lookup = g->words != 1               ? &lookups->wide_buckets
                                           : g->form == KITHI_ONE_WORD ? &lookups->one_word
                                                                       : &lookups->long_word;
    return lookup->locate != NULL && (g->words == 1 || g->bucket_slots == 4) ? lookup : NULL;
}

/* Vector lookups in bodies up to this size do not prefetch. Such a body fits in the caches of most processors. The
 * loads of a group do not depend on each other, so the processor overlaps them anyway, and prefetching would only cost
 * instructions. */
#define KITHI_CF_PREFETCH_BYTES (UINT64_C(2) << 20)

/* Locates `count` digests, at most KITHI_PAIRS; a group with fewer is filled up with digest 0. */
static inline void kithi_cf_locate_group(const kithi_cf_vector_lookup *lookup, const kithi_cf_geometry *g,
                                         const uint8_t *body, const uint64_t *digests, size_t count, kithi_pairs *pairs,
                                         bool prefetch) {
    uint64_t padded[KITHI_PAIRS] = {0};
    if (count < KITHI_PAIRS) {
        memcpy(padded, digests, count * sizeof *digests);
        digests = padded;
    }
    lookup->locate(g, digests, pairs);
    for (unsigned i = 0; i < KITHI_PAIRS && prefetch; i++)
        for (unsigned j = 0; j < 2; j++) {
            __builtin_prefetch(body + pairs->at[j][i]);
            __builtin_prefetch(body + pairs->at[j][i] + g->last_byte); /* a place may cross a cache line */
        }
}

/* Like kithi_cf_has_many, with vector code. Before a group is compared, the places of the next group are prefetched. */
static inline size_t kithi_cf_has_groups(const kithi_cf_vector_lookup *lookup, const kith_filter *f,
                                         const uint64_t *digests, size_t n, uint64_t *maybe) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    bool prefetch = f->head.body_bytes > KITHI_CF_PREFETCH_BYTES;
    kithi_pairs pairs[2];
    size_t yes = 0, left = n;
    if (n == 0)
        return 0;
    kithi_cf_locate_group(lookup, g, f->body, digests, left < KITHI_PAIRS ? left : KITHI_PAIRS, &pairs[0], prefetch);
    for (size_t i = 0; i < n; i += KITHI_PAIRS) {
        left = n - i;
        kithi_prefetch_digests(digests + i, KITHI_PAIRS, left);
        if (left > KITHI_PAIRS) {
            size_t next = left - KITHI_PAIRS < KITHI_PAIRS ? left - KITHI_PAIRS : KITHI_PAIRS;
            kithi_cf_locate_group(lookup, g, f->body, digests + i + KITHI_PAIRS, next,
                                  &pairs[(i / KITHI_PAIRS + 1) % 2], prefetch);
        }
        uint64_t found = lookup->match(g, f->body, &pairs[i / KITHI_PAIRS % 2]);
        if (left < KITHI_PAIRS)
            found &= (UINT64_C(1) << left) - 1;
        if (maybe != NULL)
            maybe[i / 64] = i % 64 == 0 ? found : maybe[i / 64] | found << (i % 64);
        yes += kithi_popcount(found);
    }
    return yes;
}

/* kithi_cf_add_many() for places of this form, in a filter that is not in cache. */
KITHI_INLINE kith_status kithi_cf_add_pairs(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                            size_t n, uint64_t *was_new, size_t *done, kithi_cf_form form) {
    const kithi_cf_geometry g = f->geometry.cf;
    uint8_t *body = f->body;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    kithi_cf_locate_first(layout, &g, body, digests, n, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
        bool is_new;
        kith_status status = kithi_cf_add_pair(layout, f, &g, pair, digests[i], &is_new, form);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, i, is_new);
        ++*done;
        if (n - i > KITHI_CF_AHEAD)
            kithi_pair_locate(layout, &g, body, digests[i + KITHI_CF_AHEAD], pair, true, false);
    }
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_cf_add_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                           size_t n, uint64_t *was_new, size_t *done) {
    if (kithi_cf_in_cache(f)) {
        for (; *done < n; ++*done) {
            bool is_new = false;
            kith_status status = kithi_cf_add(layout, f, digests[*done], &is_new);
            if (status != KITH_OK)
                return status;
            kithi_bitmap_set(was_new, *done, is_new);
        }
        return KITH_OK;
    }
    switch (f->geometry.cf.form) {
    case KITHI_ONE_WORD:
        return kithi_cf_add_pairs(layout, f, digests, n, was_new, done, KITHI_ONE_WORD);
    case KITHI_TWO_WORDS:
        return kithi_cf_add_pairs(layout, f, digests, n, was_new, done, KITHI_TWO_WORDS);
    case KITHI_TWO_LONG_WORDS:
        return kithi_cf_add_pairs(layout, f, digests, n, was_new, done, KITHI_TWO_LONG_WORDS);
    default:
        return kithi_cf_add_pairs(layout, f, digests, n, was_new, done, KITHI_ANY_WORDS);
    }
}

/* kithi_cf_remove_many() for places of this form, in a filter that is not in cache. */
KITHI_INLINE kith_status kithi_cf_remove_pairs(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                               size_t n, size_t *done, kithi_cf_form form) {
    const kithi_cf_geometry g = f->geometry.cf;
    uint8_t *body = f->body;
    kithi_cf_pair ahead[KITHI_CF_AHEAD];
    kithi_cf_locate_first(layout, &g, body, digests, n, ahead);
    for (size_t i = 0; i < n; i++) {
        kithi_cf_pair *pair = &ahead[i % KITHI_CF_AHEAD];
        kith_status status = kithi_cf_remove_pair(layout, f, &g, pair, digests[i], form);
        if (status != KITH_OK)
            return status;
        ++*done;
        if (n - i > KITHI_CF_AHEAD)
            kithi_pair_locate(layout, &g, body, digests[i + KITHI_CF_AHEAD], pair, true, false);
    }
    return KITH_OK;
}

KITHI_INLINE kith_status kithi_cf_remove_many(const kithi_cf_layout *layout, kith_filter *f, const uint64_t *digests,
                                              size_t n, size_t *done) {
    if (kithi_cf_in_cache(f)) {
        for (; *done < n; ++*done) {
            kith_status status = kithi_cf_remove(layout, f, digests[*done]);
            if (status != KITH_OK)
                return status;
        }
        return KITH_OK;
    }
    switch (f->geometry.cf.form) {
    case KITHI_ONE_WORD:
        return kithi_cf_remove_pairs(layout, f, digests, n, done, KITHI_ONE_WORD);
    case KITHI_TWO_WORDS:
        return kithi_cf_remove_pairs(layout, f, digests, n, done, KITHI_TWO_WORDS);
    case KITHI_TWO_LONG_WORDS:
        return kithi_cf_remove_pairs(layout, f, digests, n, done, KITHI_TWO_LONG_WORDS);
    default:
        return kithi_cf_remove_pairs(layout, f, digests, n, done, KITHI_ANY_WORDS);
    }
}

#endif
