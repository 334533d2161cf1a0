/* colliding.c: prints keys with which a static filter cannot be built with the first seed and 63 others that everybody
 * knows, whatever the other keys are.
 *
 *     colliding KIND OPTIONS RATE HONEST     chosen keys for a filter of HONEST keys besides them, in hex
 *
 * tests/colliding.h says how they are chosen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "colliding.h"

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: colliding fuse|ribbon OPTIONS RATE HONEST\n");
        return 2;
    }
    bool fuse = strcmp(argv[1], "fuse") == 0;
    unsigned per_seed = fuse ? COLLIDING_FUSE_KEYS : COLLIDING_RIBBON_KEYS;
    unsigned seeds = fuse ? COLLIDING_FUSE_SEEDS : COLLIDING_RIBBON_SEEDS;
    kithi_geometry plans[COLLIDING_PLANS];
    uint64_t capacity = strtoull(argv[4], NULL, 10) + seeds * per_seed, random = 1;
    kith_status status = colliding_plans(argv[1], capacity, strtod(argv[3], NULL), argv[2], plans);
    if (status != KITH_OK) {
        fprintf(stderr, "colliding: %s\n", kith_status_text(status));
        return 2;
    }
    for (unsigned i = 0; i < seeds; i++) {
        uint64_t digests[COLLIDING_RIBBON_KEYS];
        colliding_digests(plans, fuse, i, &random, digests);
        for (unsigned j = 0; j < per_seed; j++) {
            uint8_t key[8];
            colliding_key(digests[j], key);
            for (unsigned k = 0; k < sizeof key; k++)
                printf("%02x", key[k]);
            putchar('\n');
        }
    }
    return fflush(stdout) == 0 ? 0 : 2;
}
