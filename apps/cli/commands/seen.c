/* seen.c: an exact set of keys: the keys one after the other, and an index with 8 bytes per slot.
 *
 *     store   | word | length | key bytes [ length | line bytes ] | word | length | …        append only
 *
 *     index   | section 0: buckets | section 1: buckets | … SECTIONS of equal size
 *     bucket  | slot | slot | … BUCKET of them, one cache line, filled from the left |
 *     slot    | tag: 24 bits, not 0 | offset in the store + 1: 40 bits |                     0: empty
 *
 *     digest  | section: 12 bits | tag: 24 bits | unused: 28 |
 *
 * A key is in its section, in bucket  tag * buckets / 2^24  or, if that is full, in the next bucket with a free slot;
 * the search wraps around at the end of the section. Section and tag determine the bucket for any number of buckets, so
 * growing needs neither the digests nor the keys. It is done in place, from the last section to the first: each section
 * is spread over its new, larger range.
 *
 * Store and index reserve address space for the whole memory limit; the system provides pages when they are first
 * touched. If address space is limited (ulimit -v, or a system without memory overcommit), they begin small and grow by
 * an eighth at a time, which may move them. How much they ask for then depends only on the keys, never on what is left:
 * keys that fit under one limit fit under every higher one.
 *
 * A table of kith/table.h over (digest, offset) would need 17 bytes per slot, because its result must be exact. Here a
 * wrong tag only costs one comparison of keys, so a slot needs only 36 bits of the digest. With m buckets per section,
 * 24 - log2(m) of them distinguish the keys of one bucket.
 *
 * A batch is processed in three passes, so that the memory latencies of its keys overlap:
 *
 *     1  prefetch the bucket of each key                                    one cache line of the index per key
 *     2  find the first slot with the tag of the key, prefetch its entry    one or two cache lines of the store
 *     3  look up, compare, append
 *
 * All slots of a bucket are compared without a branch. How far a search would go is unpredictable, and a mispredicted
 * branch costs more than eight comparisons.
 *
 * Constants. GROUP keys are processed together: the two to three cache lines that each prefetches stay in the L1 cache.
 * The index grows when 3/4 of the slots of one section are in use (7/8 took 20% more time). The number of keys varies
 * between sections; at a thousand keys per section, the fullest of 4096 has about 10% more than the average. So the
 * index grows at a total load of about 0.68, where one bucket in six is full. Each growth adds a quarter. From one
 * million to thirty million keys the index needed 11 to 14 bytes per key. All growths together move each slot four
 * times, in cache. SECTIONS is 2^12: at the beginning they have two buckets each (512 KiB in all), and the tag is long
 * enough to distinguish keys up to 10^9. Offsets of 40 bits allow 1 TiB of keys. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "cli/commands/seen.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/region.h"
#include "cli/output/report.h"
#include "cli/values.h"

#define SECTION_BITS 12
#define SECTIONS ((uint64_t)1 << SECTION_BITS)
#define TAG_BITS 24
#define PLACE_BITS 40
#define PLACE_MASK (((uint64_t)1 << PLACE_BITS) - 1)
#define BUCKET 8 /* slots: one cache line */
#define SLOTS_FIRST 16
#define GROUP 64
#define RESERVE_MIN ((uint64_t)1 << 20) /* a little more than the first index */
#define GROWTH_SHARE 8                  /* a region grows by an eighth: at most so much address space is wasted */
#define BUDGET_STEP ((uint64_t)1 << 16)

static_assert(TAG_BITS + PLACE_BITS == 64, "a slot is a word");

struct seen {
    region index, store;
    uint64_t section_slots, section_full;
    uint32_t *used;      /* slots in use, per section */
    uint64_t store_used; /* bytes */
    uint64_t count;
    seen_budget *budget;
    uint64_t reserved; /* bytes of the budget reserved for this set, in use or not yet */
    size_t word_bytes;
    bool keep_lines;
    bool over_limit, no_memory; /* why no more keys can be added */
};

/* ---- memory ---- */

/* Returns true if the system gives address space for index and store at once, and leaves plenty for everything else. */
static bool is_ample(uint64_t limit) {
    static const uint64_t OTHERS = UINT64_C(1) << 30;
    region probe = {NULL, 0};
    if (limit > SIZE_MAX / 8 || !region_grow(&probe, (size_t)(4 * limit + OTHERS)))
        return false;
    region_free(&probe);
    return true;
}

static void reserve(region *r, uint64_t byte_count) {
    if (!region_grow(r, (size_t)byte_count))
        fail("not enough memory");
#ifdef MADV_HUGEPAGE
    (void)madvise(r->bytes, r->allocated, MADV_HUGEPAGE);
#endif
}

/* Returns false if there is not enough memory. */
static bool extend(seen *s, region *r, uint64_t byte_count) {
    if (byte_count <= r->allocated)
        return true;
    uint64_t wanted = byte_count + byte_count / GROWTH_SHARE;
    s->no_memory = wanted > SIZE_MAX || !region_grow(r, (size_t)wanted);
    return !s->no_memory;
}

static size_t index_bytes(uint64_t section_slots) {
    return (size_t)(SECTIONS * section_slots * sizeof(uint64_t));
}

static bool reserve_bytes(seen *s, uint64_t byte_count) {
    uint64_t before = atomic_fetch_add_explicit(&s->budget->used, byte_count, memory_order_relaxed);
    if (before + byte_count <= s->budget->limit) {
        s->reserved += byte_count;
        return true;
    }
    atomic_fetch_sub_explicit(&s->budget->used, byte_count, memory_order_relaxed);
    return false;
}

/* Reserves `more` bytes of the budget. It reserves BUDGET_STEP bytes at once, so that sets in several threads rarely
 * access the shared counter together; near the limit it reserves only what is needed. */
static bool reserve_budget(seen *s, uint64_t more) {
    uint64_t wanted = seen_bytes(s) + more;
    if (wanted <= s->reserved || (wanted - s->reserved < BUDGET_STEP && reserve_bytes(s, BUDGET_STEP)) ||
        reserve_bytes(s, wanted - s->reserved))
        return true;
    s->over_limit = true;
    return false;
}

noreturn void seen_fail(const seen *s) {
    value_text limit;
    if (s->over_limit)
        fail("the distinct keys need more than %s of memory. Raise --memory, or use a filter with -p RATE.",
             text_of_size(s->budget->limit, limit));
    fail("not enough memory for the distinct keys; a filter with -p RATE needs less");
}

/* ---- the store ---- */

static char *put_length(char *to, size_t length) {
    for (; length >= 0x80; length >>= 7)
        *to++ = (char)(length | 0x80);
    *to++ = (char)length;
    return to;
}

static const char *get_length(const char *from, size_t *length) {
    size_t sum = 0;
    unsigned shift = 0;
    for (; *from & 0x80; shift += 7)
        sum |= (size_t)(*from++ & 0x7f) << shift;
    *length = sum | (size_t)*from << shift;
    return from + 1;
}

static inline bool entry_is(const seen *s, uint64_t place, const input_record *r) {
    size_t length;
    const char *key = get_length(s->store.bytes + place + s->word_bytes, &length);
    return length == r->key_bytes && (length == 0 || memcmp(key, r->key, length) == 0);
}

static char *put_bytes(char *to, const char *bytes, size_t byte_count) {
    to = put_length(to, byte_count);
    if (byte_count > 0)
        memcpy(to, bytes, byte_count);
    return to + byte_count;
}

/* Returns false if there is not enough memory. */
static bool append(seen *s, const input_record *r, uint64_t *place) {
    static const size_t LENGTH_MAX = 10; /* bytes for a length */
    uint64_t most = s->word_bytes + LENGTH_MAX + r->key_bytes + (s->keep_lines ? LENGTH_MAX + r->line_bytes : 0);
    if (!reserve_budget(s, most))
        return false;
    if (s->store_used + most > PLACE_MASK) {
        s->no_memory = true;
        return false;
    }
    if (!extend(s, &s->store, s->store_used + most))
        return false;
    *place = s->store_used;
    char *to = s->store.bytes + *place; /* new pages are zero, and so is the word */
    to = put_bytes(to + s->word_bytes, r->key, r->key_bytes);
    if (s->keep_lines)
        to = put_bytes(to, r->line, r->line_bytes);
    s->store_used = (uint64_t)(to - s->store.bytes);
    s->count++;
    return true;
}

/* ---- the index ---- */

/* Never 0, which marks an empty slot. */
static inline uint64_t tag_of(uint64_t digest) {
    uint64_t tag = digest >> (64 - SECTION_BITS - TAG_BITS) & (((uint64_t)1 << TAG_BITS) - 1);
    return tag + (tag == 0);
}

static inline uint64_t *slots_of(const seen *s) {
    return (uint64_t *)(void *)s->index.bytes;
}

static inline uint64_t *section_of(const seen *s, uint64_t digest) {
    return slots_of(s) + (digest >> (64 - SECTION_BITS)) * s->section_slots;
}

/* Returns the first slot of the bucket of a key. */
static inline uint64_t home_of(uint64_t tag, uint64_t section_slots) {
    return (tag * (section_slots / BUCKET) >> TAG_BITS) * BUCKET;
}

static inline uint64_t next_bucket(uint64_t at, uint64_t section_slots) {
    return at + BUCKET == section_slots ? 0 : at + BUCKET;
}

/* Sets bit i of the result if slot i of the bucket has this tag. */
static inline unsigned matches(const uint64_t *bucket, uint64_t tag) {
    unsigned bits = 0;
    for (unsigned i = 0; i < BUCKET; i++)
        bits |= (unsigned)(bucket[i] >> PLACE_BITS == tag) << i;
    return bits;
}

static inline bool is_full(const uint64_t *bucket) {
    return bucket[BUCKET - 1] != 0;
}

static inline unsigned used_slots(const uint64_t *bucket) {
    unsigned used = 0;
    for (unsigned i = 0; i < BUCKET; i++)
        used += bucket[i] != 0;
    return used;
}

static void set_section_slots(seen *s, uint64_t section_slots) {
    s->section_slots = section_slots;
    s->section_full = section_slots / 4 * 3;
}

static void put_slot(uint64_t *section, uint64_t section_slots, uint64_t slot) {
    uint64_t at = home_of(slot >> PLACE_BITS, section_slots);
    while (is_full(section + at))
        at = next_bucket(at, section_slots);
    section[at + used_slots(section + at)] = slot;
}

static void spread(const uint64_t *from, uint64_t from_slots, uint64_t *to, uint64_t to_slots) {
    memset(to, 0, (size_t)to_slots * sizeof *to);
    for (uint64_t i = 0; i < from_slots; i++)
        if (from[i] != 0)
            put_slot(to, to_slots, from[i]);
}

/* Grows from the last section to the first: the new range of a section overlaps only its own old range and those of
 * later sections, which have been moved already. */
static bool grow(seen *s) {
    uint64_t old_slots = s->section_slots, new_slots = (old_slots + old_slots / 4 + 7) / 8 * 8;
    if (!reserve_budget(s, index_bytes(new_slots) - index_bytes(old_slots)) ||
        !extend(s, &s->index, index_bytes(new_slots)))
        return false;
    uint64_t *slots = slots_of(s), *old = malloc((size_t)old_slots * sizeof *old);
    if (old == NULL) {
        s->no_memory = true;
        return false;
    }
    for (uint64_t section = SECTIONS; section-- > 0;) {
        memcpy(old, slots + section * old_slots, (size_t)old_slots * sizeof *old);
        spread(old, old_slots, slots + section * new_slots, new_slots);
    }
    free(old);
    set_section_slots(s, new_slots);
    return true;
}

/* ---- public functions ---- */

seen *seen_new(seen_budget *budget, size_t word_bytes, bool keep_lines) {
    seen *s = allocate(sizeof *s);
    *s = (seen){.budget = budget, .word_bytes = word_bytes, .keep_lines = keep_lines};
    set_section_slots(s, SLOTS_FIRST);
    uint64_t each = budget->limit > RESERVE_MIN && is_ample(budget->limit) ? budget->limit : RESERVE_MIN;
    reserve(&s->index, each);
    reserve(&s->store, each);
    s->used = allocate(SECTIONS * sizeof *s->used);
    memset(s->used, 0, SECTIONS * sizeof *s->used);
    return s;
}

/* gcc considers a function that only prefetches to have no effect and removes calls to it, unless it is inlined. */
#define PREFETCH static inline __attribute__((always_inline))

PREFETCH void prefetch_slots(const seen *s, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(section_of(s, digests[i]) + home_of(tag_of(digests[i]), s->section_slots));
}

/* If a key is in a later bucket, its entry is not prefetched, which only costs time. */
PREFETCH void prefetch_entries(const seen *s, const input_record *records, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t tag = tag_of(digests[i]);
        const uint64_t *bucket = section_of(s, digests[i]) + home_of(tag, s->section_slots);
        unsigned found = matches(bucket, tag);
        if (found == 0)
            continue;
        const char *entry = s->store.bytes + (bucket[__builtin_ctz(found)] & PLACE_MASK) - 1;
        __builtin_prefetch(entry);
        __builtin_prefetch(entry + records[i].key_bytes);
    }
}

/* Sets *place to the offset of the entry, and *is_new if it was just created. Returns false if there is not enough
 * memory. */
static bool look(seen *s, const input_record *r, uint64_t digest, bool *is_new, uint64_t *place) {
    uint64_t *section = section_of(s, digest);
    uint64_t tag = tag_of(digest), at = home_of(tag, s->section_slots);
    for (;; at = next_bucket(at, s->section_slots)) {
        for (unsigned found = matches(section + at, tag); found != 0; found &= found - 1) {
            *place = (section[at + (unsigned)__builtin_ctz(found)] & PLACE_MASK) - 1;
            if (entry_is(s, *place, r)) {
                *is_new = false;
                return true;
            }
        }
        if (!is_full(section + at))
            break;
    }
    *is_new = true;
    if (!append(s, r, place))
        return false;
    section[at + used_slots(section + at)] = tag << PLACE_BITS | (*place + 1);
    return ++s->used[digest >> (64 - SECTION_BITS)] <= s->section_full || grow(s);
}

bool seen_add_many(seen *s, const input_record *records, const uint64_t *digests, size_t n, bool *is_new,
                   char **words) {
    uint64_t places[INPUT_BATCH]; /* the store may move until the last key is added */
    assert(n <= INPUT_BATCH);
    if (s->over_limit || s->no_memory)
        return false;
    for (size_t first = 0; first < n; first += GROUP) {
        size_t group = n - first < GROUP ? n - first : GROUP;
        prefetch_slots(s, digests + first, group);
        prefetch_entries(s, records + first, digests + first, group);
        for (size_t i = first; i < first + group; i++)
            if (!look(s, &records[i], digests[i], &is_new[i], &places[i]))
                return false;
    }
    for (size_t i = 0; words != NULL && i < n; i++)
        words[i] = s->store.bytes + places[i];
    return true;
}

bool seen_next(const seen *s, uint64_t *cursor, const char **line, size_t *line_bytes, const char **word) {
    if (*cursor == s->store_used)
        return false;
    *word = s->store.bytes + *cursor;
    *line = get_length(*word + s->word_bytes, line_bytes);
    if (s->keep_lines)
        *line = get_length(*line + *line_bytes, line_bytes);
    *cursor = (uint64_t)(*line + *line_bytes - s->store.bytes);
    return true;
}

uint64_t seen_count(const seen *s) {
    return s->count;
}

uint64_t seen_bytes(const seen *s) {
    return index_bytes(s->section_slots) + SECTIONS * sizeof *s->used + s->store_used;
}

void seen_free(seen *s) {
    atomic_fetch_sub_explicit(&s->budget->used, s->reserved, memory_order_relaxed);
    region_free(&s->index);
    region_free(&s->store);
    free(s->used);
    free(s);
}
