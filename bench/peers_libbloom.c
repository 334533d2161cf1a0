/* libbloom: the classic Bloom filter in C, two Murmur hashes a key and a bit for each combination of them. It counts in int, so
 * 2^31 bits are its end, and its places come from 32-bit hashes: past 10^8 keys its rate rises. */
#include "peers.h"

#include <bloom.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

static void *libbloom_create(size_t n, double rate, uint64_t *bytes) {
    if ((double)n * 1.45 * log2(1 / rate) >= INT_MAX) /* 1.44 log2(1/rate) bits a key */
        return NULL;
    struct bloom *b = take(sizeof *b);
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
    size_t yes = 0;
    for (size_t i = 0; i < n; i++)
        yes += bloom_check(filter, &digests[i], 8) == 1;
    return yes;
}

extern const peer peer_libbloom;
const peer peer_libbloom = {"libbloom",     bloom_version, libbloom_create, libbloom_destroy,
                            libbloom_clear, libbloom_add,  libbloom_has};
