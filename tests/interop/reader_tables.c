/* reader_tables: the part of the reader for tables, written from "Kinds 32 and 33" of docs/format.md and from nothing
 * else. It looks up a key of an image by overflow bit, bucket and tag, as the document says. A scan of all slots would
 * also find keys that are stored in the wrong slot. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { XXH3, SIPHASH, POLYNOMIAL, TABULATION, MULTIPLY_SHIFT };
enum { TABLE_CUCKOO = 1, TABLE_PROBE, TABLE_CHAIN, TABLE_BITSET, TABLE_LIST };
enum { OPTIONS = 8, BUCKETS_OF_A_KEY = 4 };
#define P (((uint64_t)1 << 61) - 1)

static bool within(uint64_t value, uint64_t least, uint64_t most) {
    return value >= least && value <= most;
}

static void verify_common(const filter *f) {
    uint64_t key_bytes = f->parameter[0], family = f->parameter[1], independence = f->parameter[2];
    require(key_bytes == 4 || key_bytes == 8 || key_bytes == 16 || (key_bytes == 0 && f->kind == ENTRIES),
            "key bytes out of range");
    require(family <= MULTIPLY_SHIFT, "unknown family");
    require(independence == 0 || (family == POLYNOMIAL && within(independence, 2, 64)), "independence out of range");
}

static void verify_cuckoo_options(const uint64_t *option) {
    require(option[0] <= 1, "layout out of range");
    require(within(option[1], 2, 4), "d out of range");
    require(within(option[2], 1, 8), "b out of range");
    require(option[3] <= 2, "insert out of range");
    require(option[4] <= 100, "load out of range");
    uint64_t max = option[5], start = option[6], evict = option[7];
    require(max <= 1 || within(max, 50, 65535), "max out of range");
    require(start <= 2, "start out of range");
    require(evict <= 1, "evict out of range");
    require(option[3] != 1 || (max == 0 && start == 0 && evict == 0), "options of a walk with insert 1");
    require(max != 1 || (option[1] == 2 && option[2] == 1 && option[4] < 50), "max 1 with other d, b or load");
}

/* ---- kind 32, image ---- */

typedef struct image {
    unsigned key_bytes, record_bytes, family, coefficients, layout, d, b;
    uint64_t buckets, slots, seed;
    const uint8_t *records, *tags;
} image;

/* Where a key may be. */
typedef struct places {
    uint64_t bucket[BUCKETS_OF_A_KEY];
    unsigned tag, class; /* class: the index of the tag byte of bucket 0 that has the key's overflow bit */
} places;

static image image_of(const filter *f) {
    const uint64_t *p = f->parameter;
    image t = {.key_bytes = (unsigned)p[0],
               .record_bytes = p[0] == 16 ? 24 : 16,
               .family = (unsigned)p[1],
               .coefficients = p[2] == 0 ? 2 : (unsigned)p[2],
               .layout = p[6] & 0xff,
               .d = p[6] >> 8 & 0xff,
               .b = p[6] >> 16 & 0xff,
               .buckets = p[5],
               .seed = p[7],
               .records = f->body};
    t.slots = t.buckets * t.b;
    t.tags = t.records + t.slots * t.record_bytes;
    return t;
}

/* ---- hash functions; s is the seed that a function is drawn from ---- */

/* w(j) of the document. */
static uint64_t drawn(uint64_t s, uint64_t j) {
    return mix(s + j * GOLDEN_RATIO);
}

/* a * b mod P by doubling and adding. */
static uint64_t multiply_mod_p(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    for (; b != 0; b >>= 1) {
        if ((b & 1) != 0)
            product = (product + a) % P;
        a = 2 * a % P;
    }
    return product;
}

static uint64_t polynomial(uint64_t s, unsigned k, uint64_t x) {
    uint64_t value = 0, j = 2;
    x %= P;
    for (unsigned taken = 0; taken < k; j++) {
        uint64_t coefficient = drawn(s, j) >> 3;
        if (coefficient == P)
            continue;
        value = (multiply_mod_p(value, x) + coefficient) % P;
        taken++;
    }
    return 8 * value;
}

static uint64_t tabulation(uint64_t s, uint64_t x) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value ^= drawn(s, 2 + 256 * i + (x >> (8 * i) & 0xff));
    return value;
}

static uint64_t multiply_shift(uint64_t s, uint64_t x) {
    uint64_t a0 = drawn(s, 2), a1 = drawn(s, 3), b0 = drawn(s, 4), b1 = drawn(s, 5);
    uint64_t low = a0 * x + b0, carry = low < b0;
    return hi(a0, x) + a1 * x + b1 + carry;
}

/* The value of function i for a key. */
static uint64_t value_of(const image *t, unsigned i, const uint8_t *key) {
    uint64_t s = drawn(t->seed, i + 1), x = t->key_bytes == 16 ? 0 : load(key, t->key_bytes);
    uint8_t padded[16] = {0};
    size_t bytes = t->key_bytes == 16 ? 16 : 8;
    memcpy(padded, key, t->key_bytes);
    if (t->family == XXH3)
        return XXH3_64bits_withSeed(padded, bytes, bytes == 16 ? drawn(s, 1) : drawn(s, 2));
    if (t->family == SIPHASH)
        return siphash_2_4(drawn(s, 2), drawn(s, 3), padded, bytes);
    if (t->key_bytes == 16 || (t->family == POLYNOMIAL && x >= P))
        x = XXH3_64bits_withSeed(key, t->key_bytes, drawn(s, 1));
    return t->family == POLYNOMIAL   ? polynomial(s, t->coefficients, x)
           : t->family == TABULATION ? tabulation(s, x)
                                     : multiply_shift(s, x);
}

static places places_of(const image *t, const uint8_t *key) {
    bool one_function = t->family == XXH3 || t->family == SIPHASH;
    uint64_t v = value_of(t, 0, key), low = one_function ? v : mix(v);
    places at = {.tag = low % 128 == 0 ? 1 : low % 128, .class = (unsigned)((low >> 7) % 8) * t->b >> 3};
    for (unsigned i = 0; i < t->d; i++) {
        uint64_t x = i == 0          ? v
                     : !one_function ? value_of(t, i, key)
                     : i == 1        ? rotate(v, 27)
                                     : mix(v + (i + 1) * GOLDEN_RATIO);
        uint64_t part = t->buckets / t->d;
        at.bucket[i] = t->layout == 0 ? hi(x, t->buckets) : i * part + hi(x, part);
    }
    return at;
}

/* ---- slots ---- */

/* Returns the slot of a bucket that has the key, or `slots` if none has. */
static uint64_t slot_in(const image *t, uint64_t bucket, unsigned tag, const uint8_t *key) {
    for (uint64_t slot = bucket * t->b; slot < (bucket + 1) * t->b; slot++)
        if ((t->tags[slot] & 0x7f) == tag && memcmp(t->records + slot * t->record_bytes, key, t->key_bytes) == 0)
            return slot;
    return t->slots;
}

static uint64_t slot_of(const image *t, const uint8_t *key) {
    places at = places_of(t, key);
    unsigned buckets = t->tags[at.bucket[0] * t->b + at.class] >> 7 != 0 ? t->d : 1;
    uint64_t slot = t->slots;
    for (unsigned i = 0; i < buckets && slot == t->slots; i++)
        slot = slot_in(t, at.bucket[i], at.tag, key);
    return slot;
}

bool image_get(const filter *f, const uint8_t *key, size_t key_bytes, uint64_t *value) {
    image t = image_of(f);
    if (key_bytes != t.key_bytes)
        return false;
    uint64_t slot = slot_of(&t, key);
    if (slot == t.slots)
        return false;
    *value = load(t.records + (slot + 1) * t.record_bytes - 8, 8);
    return true;
}

static uint64_t image_body_bytes(const filter *f) {
    uint64_t option[OPTIONS], buckets = f->parameter[5], packed = f->parameter[6];
    for (unsigned i = 0; i < 5; i++)
        option[i] = packed >> (8 * i) & 0xff;
    option[5] = packed >> 48;
    option[6] = packed >> 40 & 0xf;
    option[7] = packed >> 44 & 0xf;
    verify_cuckoo_options(option);
    require(within(buckets, 4, (uint64_t)1 << 56) && buckets % option[1] == 0, "buckets out of range");
    uint64_t slot_bytes = (f->parameter[0] == 16 ? 24 : 16) + 1;
    return round_up(buckets * option[2] * slot_bytes + 8, 64); /* below 2^64: 2^56 * 8 * 25 */
}

void image_verify(const filter *f) {
    verify_common(f);
    require(f->parameter[4] == TABLE_CUCKOO, "an image of a kind of table that has none");
    require(image_body_bytes(f) == f->body_bytes, "the body's length is not what the parameters give");
    image t = image_of(f);
    uint64_t used = 0, tags_end = t.slots * (t.record_bytes + 1);
    require(all_zero(f->body + tags_end, f->body_bytes - tags_end), "a byte after the last tag is not 0");
    for (uint64_t slot = 0; slot < t.slots; slot++) {
        const uint8_t *record = t.records + slot * t.record_bytes;
        bool in_use = (t.tags[slot] & 0x7f) != 0;
        require(in_use || all_zero(record, t.record_bytes), "the record of a free slot is not 0");
        require(t.key_bytes != 4 || all_zero(record + 4, 4), "a byte after a key of 4 bytes is not 0");
        used += in_use;
    }
    require(used == f->count, "count is not the number of slots in use");
    uint64_t percent = f->parameter[6] >> 32 & 0xff;
    if (percent == 0)
        percent = t.d == 2 && t.b == 1 ? 45 : (t.d == 2 && t.b == 2) || (t.d > 2 && t.b == 1) ? 85 : 95;
    require(used <= 64 || used <= t.slots * percent / 100, "more slots in use than the load allows");
    for (uint64_t slot = 0; slot < t.slots; slot++) {
        if ((t.tags[slot] & 0x7f) == 0)
            continue;
        /* A lookup finds only one slot for a key, so this also detects a key that is stored twice. */
        require(slot_of(&t, t.records + slot * t.record_bytes) == slot,
                "a key is not in its buckets, has a wrong tag or no overflow bit, or is stored twice");
    }
}

/* ---- kind 33, entries ---- */

typedef struct entry {
    const uint8_t *key;
    uint64_t key_bytes, value;
} entry;

static uint64_t take_leb128(const uint8_t **at, const uint8_t *end) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        require(*at < end, "an entry extends beyond the end of the entries");
        uint8_t byte = *(*at)++;
        require(shift < 63 || byte <= 1, "a LEB128 has more than 64 bits");
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            require(shift == 0 || byte != 0, "a LEB128 is not in its shortest form");
            return value;
        }
    }
}

static entry take_entry(const filter *f, const uint8_t **at, const uint8_t *end) {
    entry e = {.key_bytes = f->parameter[0]};
    if (e.key_bytes == 0)
        e.key_bytes = take_leb128(at, end);
    require(e.key_bytes <= (uint64_t)1 << 32, "a key is too long");
    require(e.key_bytes <= (uint64_t)(end - *at), "an entry extends beyond the end of the entries");
    e.key = *at;
    *at += e.key_bytes;
    e.value = take_leb128(at, end);
    return e;
}

static void verify_options(const filter *f) {
    uint64_t option[OPTIONS], key_bytes = f->parameter[0];
    static const unsigned used[] = {
        [TABLE_CUCKOO] = 8, [TABLE_PROBE] = 3, [TABLE_CHAIN] = 2, [TABLE_BITSET] = 1, [TABLE_LIST] = 0};
    require(within(f->parameter[4], TABLE_CUCKOO, TABLE_LIST), "unknown kind of table");
    for (unsigned i = 0; i < OPTIONS; i++) {
        option[i] = load(f->body + 8 * i, 8);
        require(i < used[f->parameter[4]] || option[i] == 0, "an unused option is not 0");
    }
    switch (f->parameter[4]) {
    case TABLE_CUCKOO:
        verify_cuckoo_options(option);
        break;
    case TABLE_PROBE:
        require(option[0] <= 3 && option[1] <= 1 && within(option[2], 10, 95), "an option of probe is out of range");
        break;
    case TABLE_CHAIN:
        require(within(option[0], 25, 800) && option[1] <= 1, "an option of chain is out of range");
        break;
    case TABLE_BITSET:
        require(key_bytes == 4 || key_bytes == 8, "key bytes out of range");
        require(within(option[0], 1, (uint64_t)1 << (key_bytes == 4 ? 32 : 40)), "universe out of range");
        require(f->capacity <= option[0], "capacity larger than the universe");
        break;
    default:
        break;
    }
}

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->key_bytes != y->key_bytes)
        return x->key_bytes < y->key_bytes ? -1 : 1;
    return memcmp(x->key, y->key, (size_t)x->key_bytes);
}

void entries_verify(const filter *f) {
    verify_common(f);
    const uint64_t options_bytes = 8 * OPTIONS, entries_bytes = f->parameter[5];
    require(f->body_bytes >= options_bytes && entries_bytes <= f->body_bytes - options_bytes &&
                round_up(options_bytes + entries_bytes, 64) == f->body_bytes,
            "the body's length is not what the parameters give");
    verify_options(f);
    const uint8_t *at = f->body + options_bytes, *end = at + entries_bytes;
    require(all_zero(end, f->body_bytes - options_bytes - entries_bytes), "a byte after the last entry is not 0");

    require(f->count <= entries_bytes, "more keys than there are bytes"); /* an entry has at least one byte */
    static entry *entries; /* freed by the next call if this one refuses the file */
    free(entries);
    entries = calloc((size_t)f->count + 1, sizeof *entries);
    if (entries == NULL)
        fail("no memory");
    for (uint64_t i = 0; i < f->count; i++) {
        entries[i] = take_entry(f, &at, end);
        if (f->parameter[4] == TABLE_BITSET)
            require(entries[i].value == 0 && load(entries[i].key, (unsigned)f->parameter[0]) < load(f->body, 8),
                    "a bitset has a value, or a key outside its universe");
    }
    require(at == end, "count is not the number of entries");
    qsort(entries, (size_t)f->count, sizeof *entries, compare_entries);
    for (uint64_t i = 1; i < f->count; i++)
        require(compare_entries(&entries[i - 1], &entries[i]) != 0, "a key is stored twice");
    free(entries);
    entries = NULL;
}

bool entries_get(const filter *f, const uint8_t *key, size_t key_bytes, uint64_t *value) {
    const uint8_t *at = f->body + 8 * OPTIONS, *end = at + f->parameter[5];
    entry wanted = {key, key_bytes, 0};
    while (at < end) {
        entry e = take_entry(f, &at, end);
        if (compare_entries(&e, &wanted) == 0) {
            *value = e.value;
            return true;
        }
    }
    return false;
}
