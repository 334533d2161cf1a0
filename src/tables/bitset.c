/* bitset: a direct-access table (bit array) over the integers 0 … U-1. Each integer has one bit, which is set if it is
 * in the set.
 *
 *     key x          bit x % 64 of word x / 64
 *     words          | 0 … 63 | 64 … 127 | … | the last one, with zeros from U on |
 *
 * There is no hashing and there are no collisions: put, get and remove access one bit. The memory is U/8 bytes,
 * whatever the number of keys n. For n > U/64 this is less than any table that stores a 64-bit word per key. For
 * n = U/2 no representation is much smaller. There are (U choose n) sets of n keys, so log2(U choose n) bits are needed
 * to tell them apart, and for n = U/2 these are about U - log2(pi U/2) / 2.
 *
 * A key has 4 or 8 bytes and is read as a little-endian integer. On a little-endian machine it is a uint32_t or
 * uint64_t as stored in memory. put refuses a key of U or more (KITH_E_KEY); for get and remove such a key is absent.
 * There are no values: get sets the value to 0, and put accepts only 0. Creation refuses keys of 16 bytes with
 * KITH_E_KEY. It refuses a universe larger than 2^32 for keys of 4 bytes, and a capacity larger than the universe, with
 * KITH_E_UNIVERSE.
 *
 *   universe   The default, 65536, covers all 16-bit integers in 8 KiB. The maximum is 2^40 (128 GiB), because a larger
 *              value is most likely a mistake.
 *
 * All memory is allocated at creation, zeroed by the allocator. If the allocator returns fresh pages, a large universe
 * uses physical memory only for pages to which a key was written. So that clear does not use more, it writes only to
 * words that are not 0.
 *
 * Iteration is in increasing order. There is no key in memory to point to, so the key that `next` returns is in the
 * cursor. */
#include "tables/shared/record.h"

#include <assert.h>

enum { UNIVERSE, OPTION_COUNT };

static const kith_option OPTIONS[OPTION_COUNT] = {
    [UNIVERSE] = {"universe", "1..1099511627776", "65536", "keys are the integers below this"},
};

static_assert(OPTION_COUNT <= KITHI_OPTIONS_MAX, "the options fit into a table");

typedef struct bitset {
    uint64_t *words;
    uint64_t word_count;
} bitset;

static bitset *bitset_of(const kith_table *t) {
    return t->state;
}

static uint64_t mask_of(uint64_t x) {
    return UINT64_C(1) << (x % 64);
}

static kith_status create(kith_table *t, uint64_t capacity) {
    uint64_t universe = t->options[UNIVERSE];
    if (t->key_bytes != 4 && t->key_bytes != 8)
        return KITH_E_KEY;
    if ((t->key_bytes == 4 && universe > UINT64_C(1) << 32) || capacity > universe)
        return KITH_E_UNIVERSE;
    bitset *b = t->state = kithi_allocate(&t->allocator, sizeof *b);
    if (b == NULL)
        return KITH_E_MEMORY;
    b->word_count = (universe + 63) / 64;
    if (b->word_count > SIZE_MAX / sizeof *b->words) {
        kithi_release(&t->allocator, b, sizeof *b);
        return KITH_E_ADDRESS;
    }
    b->words = kithi_allocate(&t->allocator, b->word_count * sizeof *b->words);
    if (b->words == NULL) {
        kithi_release(&t->allocator, b, sizeof *b);
        return KITH_E_MEMORY;
    }
    return KITH_OK;
}

static void destroy(kith_table *t) {
    bitset *b = bitset_of(t);
    kithi_release(&t->allocator, b->words, b->word_count * sizeof *b->words);
    kithi_release(&t->allocator, b, sizeof *b);
}

static void clear(kith_table *t) {
    bitset *b = bitset_of(t);
    for (uint64_t i = 0; i < b->word_count; i++)
        if (b->words[i] != 0)
            b->words[i] = 0;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    return keys <= t->options[UNIVERSE] ? KITH_OK : KITH_E_FULL;
}

/* Returns the word with the key's bit, or NULL if the key is outside the universe. */
static uint64_t *find(const kith_table *t, uint64_t x) {
    if (x >= t->options[UNIVERSE])
        return NULL;
    kithi_trace(t, KITH_STEP_LOOK, x, 0);
    return &bitset_of(t)->words[x / 64];
}

static bool get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    uint64_t x = kithi_key_word(key);
    const uint64_t *word = find(t, x);
    *value = 0;
    return word != NULL && (*word & mask_of(x)) != 0;
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    assert(value == 0);
    (void)value;
    uint64_t x = kithi_key_word(key);
    uint64_t *word = find(t, x);
    if (word == NULL)
        return KITH_E_KEY;
    *was_new = (*word & mask_of(x)) == 0;
    *word |= mask_of(x);
    t->count += *was_new;
    return KITH_OK;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    uint64_t x = kithi_key_word(key);
    uint64_t *word = find(t, x);
    if (word == NULL || (*word & mask_of(x)) == 0)
        return KITH_E_ABSENT;
    *word &= ~mask_of(x);
    t->count--;
    *value = 0;
    return KITH_OK;
}

static void prefetch(const kith_table *t, const kithi_key *key) {
    uint64_t x = kithi_key_word(key);
    if (x < t->options[UNIVERSE])
        __builtin_prefetch(&bitset_of(t)->words[x / 64]);
}

/* The cursor holds the first integer that was not visited yet, and the bytes of the key that was returned last. */
static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const bitset *b = bitset_of(t);
    uint64_t i = cursor->at[0] / 64;
    if (i >= b->word_count)
        return false;
    uint64_t word = b->words[i] & (UINT64_MAX << (cursor->at[0] % 64));
    while (word == 0 && ++i < b->word_count)
        word = b->words[i];
    if (word == 0) {
        cursor->at[0] = b->word_count * 64;
        return false;
    }
    uint64_t x = i * 64 + (unsigned)__builtin_ctzll(word);
    cursor->at[0] = x + 1;
    uint8_t *bytes = (uint8_t *)&cursor->at[1];
    kithi_store64(bytes, x);
    *key = (kithi_key){bytes, t->key_bytes};
    *value = 0;
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    const bitset *b = bitset_of(t);
    stats->slots = t->options[UNIVERSE];
    stats->bytes += sizeof *b + b->word_count * sizeof *b->words;
    stats->longest = t->count != 0;
}

static const char *check(const kith_table *t) {
    const bitset *b = bitset_of(t);
    uint64_t count = 0, universe = t->options[UNIVERSE];
    for (uint64_t i = 0; i < b->word_count; i++)
        count += kithi_popcount(b->words[i]);
    if (universe % 64 != 0 && b->words[b->word_count - 1] >> (universe % 64) != 0)
        return "a bit outside the universe is set";
    return count == t->count ? NULL : "the number of set bits differs from the number of keys";
}

const kithi_table_kind kithi_table_bitset = {
    .id = 4,
    .info = {.name = "bitset",
             .summary = "one bit per integer of a bounded universe; no values",
             .options = OPTIONS,
             .option_count = OPTION_COUNT},
    .takes_strings = false,
    .takes_values = false,
    .create = create,
    .destroy = destroy,
    .clear = clear,
    .reserve = reserve,
    .get = get,
    .put = put,
    .remove = remove_one,
    .prefetch = prefetch,
    .next = next,
    .stats = stats,
    .check = check,
};
