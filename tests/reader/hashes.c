/* hashes.c: compares XXH3 of kith/reader.h with that of xxHash, for keys of every length up to three blocks, and for
 * some longer ones. It includes no other header of kith and links no library. compile.sh builds it with each compiler,
 * language and instruction set. */
#include <stdio.h>
#include <stdlib.h>

#include <kith/reader.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { EVERY_LENGTH = 3 * 1024 + 100, BYTES = 1 << 20, PLACES = 3 };

static const uint64_t seeds[] = {
    0, 1, 0xffffffff, UINT64_C(0x8000000000000000), UINT64_MAX, UINT64_C(0x0123456789abcdef)};

static int agree(const uint8_t *bytes, size_t byte_count, uint64_t seed) {
    uint64_t expected = XXH3_64bits_withSeed(bytes, byte_count, seed);
    if (kithi_xxh3(bytes, byte_count, seed) == expected)
        return 1;
    fprintf(stderr, "reader/hashes: another hash for %zu bytes and seed %llu\n", byte_count, (unsigned long long)seed);
    return 0;
}

/* The bytes end where the block ends, so that a sanitizer sees reads after them. */
static int all_agree(uint64_t seed) {
    static const size_t longer[] = {4095, 4096, 4097, 65535, 65536, 65537, 100000, BYTES};
    uint8_t *block = (uint8_t *)malloc(BYTES);
    if (block == NULL)
        return 0;
    uint64_t state = seed + 1;
    for (size_t i = 0; i < BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        block[i] = (uint8_t)(state >> 56);
    }
    int ok = 1;
    for (size_t n = 0; n <= EVERY_LENGTH && ok; n++)
        for (size_t place = 0; place < PLACES && ok; place++)
            ok = agree(block + BYTES - n - (place < BYTES - n ? place : 0), n, seed);
    for (size_t i = 0; i < sizeof longer / sizeof *longer && ok; i++)
        ok = agree(block + BYTES - longer[i], longer[i], seed);
    free(block);
    return ok;
}

int main(void) {
    int ok = kithi_xxh3(NULL, 0, 7) == XXH3_64bits_withSeed(NULL, 0, 7);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds && ok; i++)
        ok = all_agree(seeds[i]);
    return ok ? 0 : 1;
}
