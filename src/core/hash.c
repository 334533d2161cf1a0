/* Hashes keys to digests, and blocks to checksums, with the functions of xxHash and of core/siphash.h. */
#include "core/hash.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/digest.h"
#include "core/random.h"

/* When gcc 12 inlines XXH3 for AVX-512, it warns that a short key would be read as if it were a long one. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t kithi_checksum(const void *bytes, size_t byte_count) {
    return XXH3_64bits_withSeed(bytes, byte_count, 0);
}

uint64_t kithi_checksum_next(kithi_parts_cursor *at, size_t byte_count) {
    static const kith_hash CHECKSUM = {KITH_HASH_XXH3, 0, {0}};
    kith_digest_state state;
    bool streaming = false;
    for (;;) {
        const uint8_t *bytes = (const uint8_t *)at->part->bytes + at->offset;
        size_t left = at->part->byte_count - at->offset;
        if (!streaming && byte_count <= left) {
            at->offset += byte_count;
            return kithi_checksum(bytes, byte_count);
        }
        if (!streaming)
            kith_digest_begin(&state, &CHECKSUM);
        streaming = true;
        size_t taken = byte_count < left ? byte_count : left;
        kith_digest_update(&state, bytes, taken);
        byte_count -= taken;
        at->offset += taken;
        if (byte_count == 0)
            return kith_digest_end(&state);
        at->part++;
        at->offset = 0;
    }
}

/* XXH3 of a key of at most 16 bytes: a copy of the code without the parts for longer keys, which would need a stack
 * frame. */
__attribute__((flatten)) static inline uint64_t xxh3_of_short_key(const void *key, size_t key_bytes, uint64_t seed) {
    if (key_bytes > 16)
        __builtin_unreachable();
    return XXH3_64bits_withSeed(key, key_bytes, seed);
}

uint64_t kith_digest(const kith_hash *hash, const void *key, size_t key_bytes) {
    if (hash->id == KITH_HASH_XXH3 && key_bytes <= 16)
        return xxh3_of_short_key(key, key_bytes, hash->seed);
    if (hash->id == KITH_HASH_SIPHASH)
        return kithi_siphash(hash->key, key, key_bytes);
    return XXH3_64bits_withSeed(key, key_bytes, hash->seed);
}

/* ---- keys in pieces ----
 *
 * XXH3 wants its state at a multiple of 64 bytes, which a public struct cannot promise in memory from malloc. So the
 * state is copied to such a place for each call, which costs little for pieces of some kilobytes. */

typedef struct sip_stream {
    kithi_sip_state sip; /* after all complete words */
    uint64_t byte_count;
    uint8_t rest[8]; /* the bytes after them */
} sip_stream;

enum { STATE_WORDS = sizeof(((kith_digest_state *)NULL)->words) / sizeof(uint64_t) - 1 };
static_assert(sizeof(sip_stream) <= STATE_WORDS * sizeof(uint64_t) &&
                  sizeof(XXH3_state_t) <= STATE_WORDS * sizeof(uint64_t),
              "word 0 of a state is the id of its hash; the others have room for the state of either hash");

static void update_sip(sip_stream *s, const uint8_t *piece, size_t piece_bytes) {
    size_t held = s->byte_count % 8, taken = 8 - held < piece_bytes ? 8 - held : piece_bytes;
    s->byte_count += piece_bytes;
    memcpy(s->rest + held, piece, taken);
    if (held + taken < 8)
        return;
    kithi_sip_absorb(&s->sip, kithi_load64(s->rest));
    for (; piece_bytes - taken >= 8; taken += 8)
        kithi_sip_absorb(&s->sip, kithi_load64(piece + taken));
    memcpy(s->rest, piece + taken, piece_bytes - taken);
}

static uint64_t end_sip(const sip_stream *s) {
    kithi_sip_state sip = s->sip;
    uint64_t last = s->byte_count << 56;
    for (unsigned i = 0; i < s->byte_count % 8; i++)
        last |= (uint64_t)s->rest[i] << (8 * i);
    return kithi_sip_end(&sip, last);
}

void kith_digest_begin(kith_digest_state *state, const kith_hash *hash) {
    memset(state, 0, sizeof *state);
    state->words[0] = hash->id;
    if (hash->id == KITH_HASH_SIPHASH) {
        sip_stream sip = {.sip = kithi_sip_begin(hash->key)};
        memcpy(state->words + 1, &sip, sizeof sip);
        return;
    }
    XXH3_state_t xxh3;
    XXH3_INITSTATE(&xxh3);
    (void)XXH3_64bits_reset_withSeed(&xxh3, hash->seed);
    memcpy(state->words + 1, &xxh3, sizeof xxh3);
}

void kith_digest_update(kith_digest_state *state, const void *piece, size_t piece_bytes) {
    if (piece_bytes == 0)
        return;
    if (state->words[0] == KITH_HASH_SIPHASH) {
        sip_stream sip;
        memcpy(&sip, state->words + 1, sizeof sip);
        update_sip(&sip, piece, piece_bytes);
        memcpy(state->words + 1, &sip, sizeof sip);
        return;
    }
    XXH3_state_t xxh3;
    memcpy(&xxh3, state->words + 1, sizeof xxh3);
    (void)XXH3_64bits_update(&xxh3, piece, piece_bytes);
    memcpy(state->words + 1, &xxh3, sizeof xxh3);
}

uint64_t kith_digest_end(const kith_digest_state *state) {
    if (state->words[0] == KITH_HASH_SIPHASH) {
        sip_stream sip;
        memcpy(&sip, state->words + 1, sizeof sip);
        return end_sip(&sip);
    }
    XXH3_state_t xxh3;
    memcpy(&xxh3, state->words + 1, sizeof xxh3);
    return XXH3_64bits_digest(&xxh3);
}

kith_status kith_hash_untrusted(kith_hash *hash) {
    kith_hash fresh = {KITH_HASH_SIPHASH, 0, {0}};
    if (!kithi_random(fresh.key, sizeof fresh.key))
        return KITH_E_RANDOM;
    *hash = fresh;
    return KITH_OK;
}

bool kithi_hash_valid(const kith_hash *hash) {
    return kithi_hash_valid_inline(hash);
}

bool kithi_hash_equal(const kith_hash *a, const kith_hash *b) {
    return kithi_hash_equal_inline(a, b);
}
