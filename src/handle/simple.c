/* The simple calls at the beginning of kith/filter.h: short forms of the others, for keys that are strings or numbers.
 *
 * Without KITH_REMOVABLE a kind that stores copies is excluded, although it may be the smallest: whoever adds a key
 * twice and never removes one expects the second add to change nothing. */
#include <kith/filter.h>

#include <assert.h>
#include <string.h>

#include "core/alloc.h"
#include "core/bits.h"

/* Keys that a growing filter of unknown size has space for at first: 130 KB at a rate of 0.1%. */
#define FIRST_KEYS 65536

/* Sets *keys to the key type that the flags ask for. */
static kith_status keys_of(unsigned flags, kith_key_type *keys) {
    switch (flags & (KITH_INT_KEYS | KITH_UINT_KEYS | KITH_UUID_KEYS)) {
    case 0:
        *keys = KITH_KEYS_BYTES;
        return KITH_OK;
    case KITH_INT_KEYS:
        *keys = KITH_KEYS_INT;
        return KITH_OK;
    case KITH_UINT_KEYS:
        *keys = KITH_KEYS_UINT;
        return KITH_OK;
    case KITH_UUID_KEYS:
        *keys = KITH_KEYS_UUID;
        return KITH_OK;
    default:
        return KITH_E_ARGUMENT;
    }
}

kith_status kith_filter_new(uint64_t n, double rate, unsigned flags, kith_filter **filter) {
    assert(filter != NULL);
    *filter = NULL;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    bool grows = (flags & KITH_GROWS) != 0, removable = (flags & KITH_REMOVABLE) != 0;
    kith_key_type keys;
    if (flags >= 2 * KITH_UUID_KEYS || keys_of(flags, &keys) != KITH_OK)
        return KITH_E_ARGUMENT;
    spec.recipe = kith_key_recipe(keys);
    spec.needs = (grows ? KITH_CAN_GROW : 0u) | (removable ? KITH_CAN_REMOVE : 0u);
    spec.excludes = removable ? 0u : KITH_CAN_COPIES;
    spec.prefer = KITH_PREFER_FASTER;
    spec.capacity = n == 0 && grows ? FIRST_KEYS : n;
    spec.rate = rate;
    kith_status status = (flags & KITH_UNTRUSTED) != 0 ? kith_hash_untrusted(&spec.hash) : KITH_OK;
    return status == KITH_OK ? kith_filter_create(&spec, filter) : status;
}

/* ---- complete sets ---- */

typedef uint64_t (*digest_at)(const kith_hash *hash, const void *keys, size_t i);

static uint64_t digest_of_string(const kith_hash *hash, const void *strings, size_t i) {
    const char *string = ((const char *const *)strings)[i];
    return kith_digest(hash, string, strlen(string));
}

static uint64_t digest_of_number(const kith_hash *hash, const void *numbers, size_t i) {
    unsigned char bytes[sizeof(uint64_t)];
    kithi_store64(bytes, ((const uint64_t *)numbers)[i]);
    return kith_digest(hash, bytes, sizeof bytes);
}

/* Builds the smallest filter of a complete set. An empty one is planned for one key: a plan needs a capacity. */
static kith_status build(const void *keys, size_t n, kith_key_type type, digest_at digest, double rate,
                         kith_filter **filter) {
    assert(filter != NULL && (keys != NULL || n == 0));
    *filter = NULL;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.final = true;
    spec.excludes = KITH_CAN_ADD; /* for a few keys another kind may be some bytes smaller */
    spec.capacity = n == 0;
    spec.rate = rate;
    spec.recipe = kith_key_recipe(type);
    const kith_allocator allocator = kithi_allocator_or_default(NULL);
    uint64_t *digests = NULL;
    if (n > SIZE_MAX / sizeof *digests)
        return KITH_E_MEMORY;
    if (n > 0) {
        digests = kithi_allocate(&allocator, n * sizeof *digests);
        if (digests == NULL)
            return KITH_E_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        digests[i] = digest(&spec.hash, keys, i);
    kith_status status = kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 1, filter);
    kithi_release(&allocator, digests, n * sizeof *digests);
    return status;
}

kith_status kith_filter_of_strings(const char *const *strings, size_t n, double rate, kith_filter **filter) {
    return build(strings, n, KITH_KEYS_BYTES, digest_of_string, rate, filter);
}

kith_status kith_filter_of_numbers(const uint64_t *numbers, size_t n, double rate, kith_filter **filter) {
    return build(numbers, n, KITH_KEYS_UINT, digest_of_number, rate, filter);
}

/* ---- one key ---- */

static uint64_t string_digest(const kith_filter *filter, const char *string) {
    assert(filter != NULL && string != NULL);
    return kith_filter_digest(filter, string, strlen(string));
}

static uint64_t number_digest(const kith_filter *filter, uint64_t number) {
    unsigned char bytes[sizeof number];
    assert(filter != NULL);
    kithi_store64(bytes, number);
    return kith_filter_digest(filter, bytes, sizeof bytes);
}

kith_status kith_filter_add_string(kith_filter *filter, const char *string) {
    return kith_filter_add_digest(filter, string_digest(filter, string), NULL);
}

kith_status kith_filter_add_number(kith_filter *filter, uint64_t number) {
    return kith_filter_add_digest(filter, number_digest(filter, number), NULL);
}

kith_status kith_filter_remove_string(kith_filter *filter, const char *string) {
    return kith_filter_remove_digest(filter, string_digest(filter, string));
}

kith_status kith_filter_remove_number(kith_filter *filter, uint64_t number) {
    return kith_filter_remove_digest(filter, number_digest(filter, number));
}

bool kith_filter_has_string(const kith_filter *filter, const char *string) {
    return kith_filter_has_digest(filter, string_digest(filter, string));
}

bool kith_filter_has_number(const kith_filter *filter, uint64_t number) {
    return kith_filter_has_digest(filter, number_digest(filter, number));
}

/* ---- files ---- */

kith_status kith_filter_load(const char *path, kith_filter **filter) {
    assert(filter != NULL);
    *filter = NULL;
    return kith_filter_open(path, KITH_OPEN_COPY, NULL, filter);
}
