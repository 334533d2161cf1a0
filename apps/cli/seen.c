/* seen.c: keys in a row, and an index of 8 bytes a slot over them.
 *
 *     store   | word | length | key bytes [ length | line bytes ] | word | length | …        appended, never moved
 *
 *     index   | drawer 0: buckets | drawer 1: buckets | … DRAWERS of equal size
 *     bucket  | slot | slot | … BUCKET of them, a line of the cache, filled from the left |
 *     slot    | tag: 24 bits, not 0 | place in the store + 1: 40 bits |                      0: empty
 *
 *     digest  | drawer: 12 bits | tag: 24 bits | unused: 28 |
 *
 * A key lies in its drawer, in bucket  tag * buckets / 2^24  or, when that is full, in the next ones, round the
 * drawer's end. The drawer and the tag give that place for any number of buckets, so growing needs neither the digests
 * nor the keys, and it is done in place: drawer by drawer from the last to the first, each is spread over its new and
 * larger stretch. Store and index are address space of the whole limit, of which the system gives pages when they are
 * touched.
 *
 * A table of kith/table.h over (digest, place) would take 17 bytes a slot, for it must not be wrong. Here a wrong tag
 * costs a comparison and no more, so a slot can hold less than a digest: 36 bits of it, of which with m buckets a
 * drawer 24 - log2(m) tell the keys of a bucket apart.
 *
 * A batch goes through in three passes, so that the memory latencies of its keys overlap:
 *
 *     1  fetch each key's bucket                               one line of the index a key
 *     2  the first slot with the key's tag: fetch the entry    one or two lines of the store
 *     3  look in earnest, compare, append
 *
 * All slots of a bucket are compared, without a branch: how far a search would go can't be foretold, and a branch that
 * is taken wrongly costs more than eight comparisons.
 *
 * Constants. GROUP keys at a time: what they fetch, two to three lines each, stays in the first-level cache. A drawer
 * that has 3/4 of its slots taken makes the index grow (7/8 took 20% more time). Drawers differ, by some 10% at a
 * thousand keys for the fullest of 4096, so this is at a load of about 0.68 in all, where one bucket in six is full. A
 * growth adds a quarter; from a million to thirty million keys the index took 11 to 14 bytes a key. All growths
 * together move each slot four times, in cache. DRAWERS: 2^12 hold two buckets each at the beginning (512 KiB in all)
 * and the tag is long enough to tell keys apart up to 10^9. Places of 40 bits: a tebibyte of keys. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "seen.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "report.h"
#include "values.h"

#define DRAWER_BITS 12
#define DRAWERS ((uint64_t)1 << DRAWER_BITS)
#define TAG_BITS 24
#define PLACE_BITS 40
#define PLACE_MASK (((uint64_t)1 << PLACE_BITS) - 1)
#define BUCKET 8 /* slots: a line of the cache */
#define SLOTS_FIRST 16
#define GROUP 64
#define RESERVE_MIN ((uint64_t)1 << 20) /* a little more than the first index */
#define BOOK_STEP ((uint64_t)1 << 16)

static_assert(TAG_BITS + PLACE_BITS == 64, "a slot is a word");

struct seen {
    uint64_t *slots;
    uint64_t drawer_slots, drawer_full;
    uint32_t *taken; /* slots of each drawer */
    char *store;
    uint64_t index_room, store_room, store_used; /* bytes */
    uint64_t count;
    seen_room *room;
    uint64_t booked; /* bytes of the room that are this set's, in use or not yet */
    size_t word_bytes;
    bool keep_lines;
    bool over_limit, no_room; /* why it takes no more */
};

/* ---- memory ---- */

/* Address space, of which pages are given when they are touched. A machine that promises no more than it has may refuse
 * the whole limit: then less will do. */
static void *reserve(uint64_t byte_count, uint64_t *room) {
    *room = byte_count < SIZE_MAX / 2 ? byte_count : SIZE_MAX / 2;
    if (*room < RESERVE_MIN)
        *room = RESERVE_MIN;
    for (;; *room /= 2) {
        void *block =
            mmap(NULL, (size_t)*room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block != MAP_FAILED) {
#ifdef MADV_HUGEPAGE
            (void)madvise(block, (size_t)*room, MADV_HUGEPAGE);
#endif
            return block;
        }
        if (*room / 2 < RESERVE_MIN)
            fail("no memory");
    }
}

static size_t index_bytes(uint64_t drawer_slots) {
    return (size_t)(DRAWERS * drawer_slots * sizeof(uint64_t));
}

static bool book_bytes(seen *s, uint64_t byte_count) {
    uint64_t before = atomic_fetch_add_explicit(&s->room->taken, byte_count, memory_order_relaxed);
    if (before + byte_count <= s->room->limit) {
        s->booked += byte_count;
        return true;
    }
    atomic_fetch_sub_explicit(&s->room->taken, byte_count, memory_order_relaxed);
    return false;
}

/* By the step, so that sets in several threads seldom meet; close to the limit by what is wanted. */
static bool book(seen *s, uint64_t more) {
    uint64_t wanted = seen_bytes(s) + more;
    if (wanted <= s->booked || (wanted - s->booked < BOOK_STEP && book_bytes(s, BOOK_STEP)) ||
        book_bytes(s, wanted - s->booked))
        return true;
    s->over_limit = true;
    return false;
}

noreturn void seen_fail(const seen *s) {
    value_text limit;
    if (s->over_limit)
        fail("the different keys take more than %s of memory: raise --memory, or use a filter with -p RATE",
             text_of_size(s->room->limit, limit));
    fail("no memory for more than %llu different keys", (unsigned long long)s->count);
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
    const char *key = get_length(s->store + place + s->word_bytes, &length);
    return length == r->key_bytes && (length == 0 || memcmp(key, r->key, length) == 0);
}

static char *put_bytes(char *to, const char *bytes, size_t byte_count) {
    to = put_length(to, byte_count);
    if (byte_count > 0)
        memcpy(to, bytes, byte_count);
    return to + byte_count;
}

/* False: there is no room. */
static bool append(seen *s, const input_record *r, uint64_t *place) {
    static const size_t LENGTH_MAX = 10; /* bytes of a length */
    uint64_t most = s->word_bytes + LENGTH_MAX + r->key_bytes + (s->keep_lines ? LENGTH_MAX + r->line_bytes : 0);
    if (!book(s, most))
        return false;
    if (most > s->store_room - s->store_used || s->store_used + most > PLACE_MASK) {
        s->no_room = true;
        return false;
    }
    *place = s->store_used;
    char *to = s->store + *place; /* pages come zeroed: so is the word */
    to = put_bytes(to + s->word_bytes, r->key, r->key_bytes);
    if (s->keep_lines)
        to = put_bytes(to, r->line, r->line_bytes);
    s->store_used = (uint64_t)(to - s->store);
    s->count++;
    return true;
}

/* ---- the index ---- */

/* Never 0: an empty slot has that tag. */
static inline uint64_t tag_of(uint64_t digest) {
    uint64_t tag = digest >> (64 - DRAWER_BITS - TAG_BITS) & (((uint64_t)1 << TAG_BITS) - 1);
    return tag + (tag == 0);
}

static inline uint64_t *drawer_of(const seen *s, uint64_t digest) {
    return s->slots + (digest >> (64 - DRAWER_BITS)) * s->drawer_slots;
}

/* The first slot of the key's bucket. */
static inline uint64_t home_of(uint64_t tag, uint64_t drawer_slots) {
    return (tag * (drawer_slots / BUCKET) >> TAG_BITS) * BUCKET;
}

static inline uint64_t next_bucket(uint64_t at, uint64_t drawer_slots) {
    return at + BUCKET == drawer_slots ? 0 : at + BUCKET;
}

/* Bit i: slot i of the bucket has this tag. */
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

static void set_drawer_slots(seen *s, uint64_t drawer_slots) {
    s->drawer_slots = drawer_slots;
    s->drawer_full = drawer_slots / 4 * 3;
}

static void put_slot(uint64_t *drawer, uint64_t drawer_slots, uint64_t slot) {
    uint64_t at = home_of(slot >> PLACE_BITS, drawer_slots);
    while (is_full(drawer + at))
        at = next_bucket(at, drawer_slots);
    drawer[at + used_slots(drawer + at)] = slot;
}

static void spread(const uint64_t *from, uint64_t from_slots, uint64_t *to, uint64_t to_slots) {
    memset(to, 0, (size_t)to_slots * sizeof *to);
    for (uint64_t i = 0; i < from_slots; i++)
        if (from[i] != 0)
            put_slot(to, to_slots, from[i]);
}

/* From the last drawer to the first: each goes to a place that only those behind it, and itself, have used. */
static bool grow(seen *s) {
    uint64_t old_slots = s->drawer_slots, new_slots = (old_slots + old_slots / 4 + 7) / 8 * 8;
    if (!book(s, index_bytes(new_slots) - index_bytes(old_slots)))
        return false;
    uint64_t *old = index_bytes(new_slots) > s->index_room ? NULL : malloc((size_t)old_slots * sizeof *old);
    if (old == NULL) {
        s->no_room = true;
        return false;
    }
    for (uint64_t drawer = DRAWERS; drawer-- > 0;) {
        memcpy(old, s->slots + drawer * old_slots, (size_t)old_slots * sizeof *old);
        spread(old, old_slots, s->slots + drawer * new_slots, new_slots);
    }
    free(old);
    set_drawer_slots(s, new_slots);
    return true;
}

/* ---- the verbs ---- */

seen *seen_new(seen_room *room, size_t word_bytes, bool keep_lines) {
    seen *s = take(sizeof *s);
    *s = (seen){.room = room, .word_bytes = word_bytes, .keep_lines = keep_lines};
    set_drawer_slots(s, SLOTS_FIRST);
    s->slots = reserve(room->limit, &s->index_room);
    s->store = reserve(room->limit, &s->store_room);
    s->taken = take(DRAWERS * sizeof *s->taken);
    memset(s->taken, 0, DRAWERS * sizeof *s->taken);
    return s;
}

/* gcc takes a function that only fetches for one without effect and leaves out its calls; not so when it is inlined. */
#define FETCH static inline __attribute__((always_inline))

FETCH void fetch_slots(const seen *s, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(drawer_of(s, digests[i]) + home_of(tag_of(digests[i]), s->drawer_slots));
}

/* Of keys that are in a later bucket the entry is fetched too late, and nothing else. */
FETCH void fetch_entries(const seen *s, const input_record *records, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t tag = tag_of(digests[i]);
        const uint64_t *bucket = drawer_of(s, digests[i]) + home_of(tag, s->drawer_slots);
        unsigned found = matches(bucket, tag);
        if (found == 0)
            continue;
        const char *entry = s->store + (bucket[__builtin_ctz(found)] & PLACE_MASK) - 1;
        __builtin_prefetch(entry);
        __builtin_prefetch(entry + records[i].key_bytes);
    }
}

/* The entry's place; *is_new tells whether it was made just now. False: there is no room for it. */
static bool look(seen *s, const input_record *r, uint64_t digest, bool *is_new, uint64_t *place) {
    uint64_t *drawer = drawer_of(s, digest);
    uint64_t tag = tag_of(digest), at = home_of(tag, s->drawer_slots);
    for (;; at = next_bucket(at, s->drawer_slots)) {
        for (unsigned found = matches(drawer + at, tag); found != 0; found &= found - 1) {
            *place = (drawer[at + (unsigned)__builtin_ctz(found)] & PLACE_MASK) - 1;
            if (entry_is(s, *place, r)) {
                *is_new = false;
                return true;
            }
        }
        if (!is_full(drawer + at))
            break;
    }
    *is_new = true;
    if (!append(s, r, place))
        return false;
    drawer[at + used_slots(drawer + at)] = tag << PLACE_BITS | (*place + 1);
    return ++s->taken[digest >> (64 - DRAWER_BITS)] <= s->drawer_full || grow(s);
}

bool seen_add_many(seen *s, const input_record *records, const uint64_t *digests, size_t n, bool *is_new,
                   char **words) {
    if (s->over_limit || s->no_room)
        return false;
    for (size_t first = 0; first < n; first += GROUP) {
        size_t group = n - first < GROUP ? n - first : GROUP;
        fetch_slots(s, digests + first, group);
        fetch_entries(s, records + first, digests + first, group);
        for (size_t i = first; i < first + group; i++) {
            uint64_t place;
            if (!look(s, &records[i], digests[i], &is_new[i], &place))
                return false;
            if (words != NULL)
                words[i] = s->store + place;
        }
    }
    return true;
}

bool seen_next(const seen *s, uint64_t *cursor, const char **line, size_t *line_bytes, const char **word) {
    if (*cursor == s->store_used)
        return false;
    *word = s->store + *cursor;
    *line = get_length(*word + s->word_bytes, line_bytes);
    if (s->keep_lines)
        *line = get_length(*line + *line_bytes, line_bytes);
    *cursor = (uint64_t)(*line + *line_bytes - s->store);
    return true;
}

uint64_t seen_count(const seen *s) {
    return s->count;
}

uint64_t seen_bytes(const seen *s) {
    return index_bytes(s->drawer_slots) + DRAWERS * sizeof *s->taken + s->store_used;
}

void seen_free(seen *s) {
    atomic_fetch_sub_explicit(&s->room->taken, s->booked, memory_order_relaxed);
    munmap(s->slots, (size_t)s->index_room);
    munmap(s->store, (size_t)s->store_room);
    free(s->taken);
    free(s);
}
