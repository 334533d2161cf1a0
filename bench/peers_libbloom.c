/* peers_libbloom.c: libbloom, a classic Bloom filter in C. It computes two Murmur hashes per key and derives all bit
 * positions from them. Sizes are of type int, so a filter has at most 2^31 bits. The hashes have 32 bits, so the rate
 * rises above 10^8 keys. */
#include "peers.h"

#include <bloom.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

static void *libbloom_create(size_t n, double rate, uint64_t *bytes) {
    if ((double)n * 1.45 * log2(1 / rate) >= INT_MAX) /* libbloom needs 1.44 log2(1/rate) bits per key */
        return NULL;
    struct bloom *b = allocate(sizeof *b);
    if (bloom_init(b, (int)n, rate) != 0) {
        free(b);
        return NULL;
    }
    bloom_reset(b);
    *bytes = (uint64_t)b->bytes;
    return b;
}

static void libbloom_destroy(void *filter) {
    bloom_free(filter);
    free(filter);
}

static void libbloom_clear(void *filter) {
    bloom_reset(filter);
}

static void libbloom_add(void *filter, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++)
        (void)bloom_add(filter, &digests[i], 8);
}

static size_t libbloom_has(void *filter, const uint64_t *digests, size_t n) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += bloom_check(filter, &digests[i], 8) == 1;
    return found;
}

extern const peer peer_libbloom;
const peer peer_libbloom = {"libbloom",     bloom_version, libbloom_create, libbloom_destroy,
                            libbloom_clear, libbloom_add,  libbloom_has};
