/* Counts how often puts compute a hash (count_hashes.h). A put hashes its key once, also if the table grows, as long as
 * the table keeps its function. */
#include <kith/inspect.h>

#include "check.h"
#include "core/bits.h"
#include "count_hashes.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { KEYS = 3000, KEY_BYTES_MAX = 20 };

/* ---- counting ---- */

static struct {
    uint8_t key[KEY_BYTES_MAX]; /* of the current put */
    size_t key_bytes;
    uint64_t of_key; /* hashes of this key, by the current put */
    uint64_t all;    /* hashes of any key */
} hashes;

void on_hash_of_bytes(const uint8_t *bytes, size_t n) {
    hashes.all++;
    hashes.of_key += n == hashes.key_bytes && memcmp(bytes, hashes.key, n) == 0;
}

void on_hash_of_word(uint64_t word) {
    uint8_t bytes[8];
    kithi_store64(bytes, word);
    on_hash_of_bytes(bytes, hashes.key_bytes == 4 ? 4 : 8);
}

static void count_from_here(const uint8_t *key, size_t key_bytes) {
    memcpy(hashes.key, key, key_bytes);
    hashes.key_bytes = key_bytes;
    hashes.of_key = hashes.all = 0;
}

/* ---- tables ---- */

/* The walk of the current put. Each step but the first moves the entry that the step before has displaced. */
static struct {
    uint64_t moves;
    uint64_t at;     /* the slot of the new key */
    bool displaces;  /* the new key has just got there, so the next move is that of the entry it has displaced */
    uint64_t of_new; /* moves of the new key, which the walk displaces if it comes back to its slot */
} walk;

static void on_step(void *context, kith_step step, uint64_t place, uint64_t to) {
    (void)context;
    if (step != KITH_STEP_MOVE)
        return;
    if (walk.moves++ == 0)
        walk.at = place;
    bool is_new = place == walk.at && !walk.displaces;
    walk.displaces = is_new;
    if (is_new) {
        walk.at = to;
        walk.of_new++;
    }
}

static kith_table *create(const char *kind, const char *options, kith_family_id family, unsigned key_bytes,
                          kith_table_trace trace) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = kind;
    spec.options = options;
    spec.family = family;
    spec.key_bytes = key_bytes;
    spec.seed = 3;
    kith_table *table;
    CHECK_OK(kith_table_create(&spec, &table));
    if (trace != NULL)
        kith_table_set_trace(table, trace, NULL);
    return table;
}

static kith_table_stats stats_of(const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    CHECK_OK(kith_table_stats_of(table, &stats));
    return stats;
}

/* Writes key i and returns its size; byte strings (key_bytes 0) have 20 bytes. */
static size_t make_key(uint64_t i, unsigned key_bytes, uint8_t key[KEY_BYTES_MAX]) {
    memset(key, 0, KEY_BYTES_MAX);
    kithi_store64(key, i * 0x9e3779b1u & UINT32_MAX);
    return key_bytes != 0 ? key_bytes : KEY_BYTES_MAX;
}

/* Puts KEYS keys, one in 16 of them again. Each put must hash its key once, unless the table has drawn new functions.
 * With `keeps_hashes`, it must hash no other key either. */
static void check_puts(const char *kind, const char *options, kith_family_id family, unsigned key_bytes,
                       bool keeps_hashes) {
    kith_table *table = create(kind, options, family, key_bytes, NULL);
    uint64_t growths = 0, rehashes = 0, growths_kept = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        uint8_t key[KEY_BYTES_MAX];
        size_t n = make_key(i % 16 == 15 ? i / 2 : i, key_bytes, key);
        count_from_here(key, n);
        CHECK_OK(kith_table_put(table, key, n, i, NULL));
        uint64_t of_key = hashes.of_key, all = hashes.all;
        kith_table_stats stats = stats_of(table);
        if (stats.rehashes == rehashes && (of_key != 1 || (keeps_hashes && all != 1)))
            CHECK_FAIL("%s %s, keys of %zu bytes, family %u, put %" PRIu64 "%s: %" PRIu64 " hashes of its key, %" PRIu64
                       " of all keys",
                       kind, options, n, (unsigned)family, i, stats.growths > growths ? ", which grows" : "", of_key,
                       all);
        growths_kept += stats.growths > growths && stats.rehashes == rehashes;
        growths = stats.growths;
        rehashes = stats.rehashes;
    }
    CHECK(growths_kept > 3);
    CHECK_OK(kith_table_check(table, NULL));
    kith_table_free(table);
}

static const unsigned KEY_BYTES[] = {4, 8, 16, 0};

TEST(a_put_into_a_cuckoo_table_hashes_its_key_once) {
    static const char *const OPTIONS[] = {"", "insert=search b=1", "d=3 b=4", "layout=two"};
    static const kith_family_id FAMILIES[] = {KITH_FAMILY_XXH3, KITH_FAMILY_SIPHASH};
    for (size_t o = 0; o < LENGTH(OPTIONS); o++)
        for (size_t f = 0; f < LENGTH(FAMILIES); f++)
            for (size_t k = 0; k < LENGTH(KEY_BYTES); k++)
                check_puts("cuckoo", OPTIONS[o], FAMILIES[f], KEY_BYTES[k], false);
}

/* A walk hashes each entry that it displaces once, so it hashes the new key again if it displaces that. */
TEST(a_put_with_a_walk_hashes_its_key_once_more_only_if_it_is_displaced) {
    static const char *const OPTIONS[] = {"b=1", "b=1 evict=first", "b=2 insert=walk load=90", "b=1 d=3 insert=walk"};
    for (size_t o = 0; o < LENGTH(OPTIONS); o++) {
        kith_table *table = create("cuckoo", OPTIONS[o], KITH_FAMILY_XXH3, 8, on_step);
        CHECK_OK(kith_table_reserve(table, KEYS));
        uint64_t moves = 0;
        for (uint64_t i = 0; i < KEYS; i++) {
            uint8_t key[KEY_BYTES_MAX];
            size_t n = make_key(i, 8, key);
            kith_table_stats before = stats_of(table);
            count_from_here(key, n);
            walk.moves = walk.of_new = 0;
            walk.displaces = true;
            CHECK_OK(kith_table_put(table, key, n, i, NULL));
            if (stats_of(table).rehashes != before.rehashes)
                continue;
            CHECK_EQ_U64(hashes.of_key, 1 + walk.of_new);
            CHECK_EQ_U64(hashes.all, 1 + walk.moves);
            moves += walk.moves;
        }
        CHECK(moves > 100);
        kith_table_free(table);
    }
}

TEST(a_put_into_a_probe_table_hashes_its_key_once) {
    static const char *const OPTIONS[] = {"", "sequence=linear", "sequence=double"};
    for (size_t o = 0; o < LENGTH(OPTIONS); o++)
        for (unsigned family = 0; family < KITH_FAMILY_COUNT; family++)
            for (size_t k = 0; k < LENGTH(KEY_BYTES); k++)
                check_puts("probe", OPTIONS[o], (kith_family_id)family, KEY_BYTES[k], false);
}

TEST(a_chain_table_never_hashes_the_keys_it_has) {
    for (unsigned family = 0; family < KITH_FAMILY_COUNT; family++)
        for (size_t k = 0; k < LENGTH(KEY_BYTES); k++)
            check_puts("chain", "", (kith_family_id)family, KEY_BYTES[k], true);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
