/* Tests that digests of many keys equal single digests, for both hashes and every instruction set, length and
 * number. */
#include <kith/cpu.h>
#include <kith/filter.h>

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/hash.h"
#include "core/prng.h"

enum { KEYS = 700, BYTES = 300 };

static const kith_hash HASHES[] = {
    {KITH_HASH_XXH3, 0, {0}},
    {KITH_HASH_XXH3, UINT64_C(0x1234567890abcdef), {0}},
    {KITH_HASH_SIPHASH, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}},
};

/* Lengths are random up to `longest`, and up to 40 times that for one key in 16 if `some_longer`. Each key is in a
 * separate block, so that a sanitizer detects reads outside of it. */
static void random_lengths(const kith_hash *hash, size_t n, size_t longest, bool some_longer, uint64_t seed) {
    static kith_key keys[KEYS];
    static uint64_t digests[KEYS + 1];
    kithi_prng prng = {seed};
    for (size_t i = 0; i < n; i++) {
        bool longer = some_longer && kithi_prng_below(&prng, 16) == 0;
        size_t bytes = (size_t)kithi_prng_below(&prng, (longer ? 40 * longest : longest) + 1);
        uint8_t *key = bytes != 0 ? malloc(bytes) : NULL;
        CHECK(bytes == 0 || key != NULL);
        for (size_t b = 0; b < bytes; b++)
            key[b] = (uint8_t)kithi_prng_next(&prng);
        keys[i] = (kith_key){key, bytes};
    }
    digests[n] = 77;
    kith_digest_many(hash, keys, n, digests);
    CHECK_EQ_U64(digests[n], 77);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ_U64(digests[i], kith_digest(hash, keys[i].bytes, keys[i].byte_count));
        free((void *)keys[i].bytes);
    }
}

static void packed(const kith_hash *hash, size_t n, size_t key_bytes) {
    static uint64_t digests[KEYS + 1];
    uint8_t *keys = malloc(n * key_bytes + 1);
    CHECK(keys != NULL);
    for (size_t i = 0; i < n * key_bytes + 1; i++)
        keys[i] = (uint8_t)(i * 131 + (i >> 8));
    for (size_t shift = 0; shift < 2; shift++) { /* also unaligned */
        digests[n] = 77;
        kith_digest_packed(hash, keys + shift, key_bytes, n, digests);
        CHECK_EQ_U64(digests[n], 77);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ_U64(digests[i], kith_digest(hash, keys + shift + i * key_bytes, key_bytes));
    }
    free(keys);
}

TEST(digest_many_equals_single_digests) {
    for (size_t set = 0; kith_cpu_name(set) != NULL; set++) {
        if (kith_cpu_use(kith_cpu_name(set)) != KITH_OK)
            continue; /* this machine does not support it */
        for (size_t h = 0; h < sizeof HASHES / sizeof *HASHES; h++) {
            for (size_t n = 0; n < 40; n++)
                random_lengths(&HASHES[h], n, 9, false, n);
            for (size_t longest = 0; longest < BYTES; longest += 7)
                random_lengths(&HASHES[h], KEYS, longest, false, longest);
            random_lengths(&HASHES[h], KEYS, 40, true, 1);
            for (uint64_t seed = 0; seed < 10; seed++) /* long keys of nearly equal lengths */
                random_lengths(&HASHES[h], KEYS, 700, false, seed);
            for (size_t bytes = 0; bytes <= 40; bytes++)
                packed(&HASHES[h], bytes == 8 ? KEYS : 3 + 9 * bytes, bytes);
        }
    }
    CHECK_OK(kith_cpu_use("auto"));
}

/* All lengths around the sizes at which XXH3 changes its method (16, 128, 240), its buffer (256) and its block (1024),
 * cut in two at every point. The state is moved between the pieces, to an odd address, too. */
TEST(a_key_in_two_pieces_has_the_same_digest_wherever_it_is_cut) {
    enum { MOST = 1100 };
    uint8_t key[MOST], moved[sizeof(kith_digest_state) + 1];
    for (size_t i = 0; i < MOST; i++)
        key[i] = (uint8_t)(i * 167 + (i >> 8) + 3);
    for (size_t h = 0; h < sizeof HASHES / sizeof *HASHES; h++) {
        for (size_t length = 0; length <= MOST; length += length < 300 || length > 1000 ? 1 : 29) {
            uint64_t expected = kith_digest(&HASHES[h], key, length);
            for (size_t cut = 0; cut <= length; cut++) {
                kith_digest_state state, other;
                kith_digest_begin(&state, &HASHES[h]);
                kith_digest_update(&state, key, cut);
                memcpy(moved + 1, &state, sizeof state);
                memset(&state, 0xa5, sizeof state);
                memcpy(&other, moved + 1, sizeof other);
                kith_digest_update(&other, key + cut, length - cut);
                CHECK_EQ_U64(kith_digest_end(&other), expected);
            }
        }
    }
}

TEST(a_key_in_many_pieces_has_the_same_digest_at_every_end) {
    enum { MOST = 20000 };
    uint8_t *key = malloc(MOST);
    CHECK(key != NULL);
    kithi_prng prng = {5};
    for (size_t i = 0; i < MOST; i++)
        key[i] = (uint8_t)kithi_prng_next(&prng);
    for (size_t h = 0; h < sizeof HASHES / sizeof *HASHES; h++) {
        for (size_t longest = 1; longest <= 4096; longest *= 4) {
            kith_digest_state state;
            kith_digest_begin(&state, &HASHES[h]);
            CHECK_EQ_U64(kith_digest_end(&state), kith_digest(&HASHES[h], NULL, 0));
            for (size_t done = 0; done < MOST / 4096 * longest;) {
                size_t piece_bytes = (size_t)kithi_prng_below(&prng, longest + 1);
                /* Each piece is in a block of its own, so that a sanitizer detects reads outside of it. */
                uint8_t *piece = piece_bytes != 0 ? malloc(piece_bytes) : NULL;
                CHECK(piece_bytes == 0 || piece != NULL);
                if (piece_bytes != 0)
                    memcpy(piece, key + done, piece_bytes);
                kith_digest_update(&state, piece, piece_bytes);
                free(piece);
                done += piece_bytes;
                CHECK_EQ_U64(kith_digest_end(&state), kith_digest(&HASHES[h], key, done));
            }
        }
    }
    free(key);
}

TEST(an_empty_key_may_be_null) {
    for (size_t h = 0; h < sizeof HASHES / sizeof *HASHES; h++) {
        uint64_t digests[20];
        kith_digest_packed(&HASHES[h], NULL, 0, 20, digests);
        for (size_t i = 0; i < 20; i++)
            CHECK_EQ_U64(digests[i], kith_digest(&HASHES[h], NULL, 0));
    }
}

TEST(a_filter_digests_many_keys_with_its_own_secret) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.capacity = 100, spec.rate = 0.01, spec.hash = HASHES[2];
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_create(&spec, &f));
    uint64_t words[50], digests[50], again[50];
    kith_key keys[50];
    for (uint64_t i = 0; i < 50; i++) {
        words[i] = i;
        keys[i] = (kith_key){&words[i], sizeof words[i]};
    }
    kith_filter_digest_packed(f, words, sizeof *words, 50, digests);
    kith_filter_digest_many(f, keys, 50, again);
    for (size_t i = 0; i < 50; i++) {
        CHECK_EQ_U64(digests[i], kith_filter_digest(f, &words[i], sizeof words[i]));
        CHECK_EQ_U64(again[i], digests[i]);
    }
    kith_filter_free(f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
