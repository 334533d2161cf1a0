/* The hash functions against the verification values that SMHasher lists for them: the hash of the hashes of the keys
 * 0, 0 1, 0 1 2, …, each with another seed. */
#include "murmur.h"

#include "check.h"

static void put(unsigned char *to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

TEST(murmur64_has_its_verification_value) {
    unsigned char key[256], hashes[256 * 8];
    for (unsigned i = 0; i < 256; i++) {
        key[i] = (unsigned char)i;
        put(hashes + 8 * i, murmur64(key, i, 256 - i), 8);
    }
    CHECK_EQ_U64((uint32_t)murmur64(hashes, sizeof hashes, 0), 0x1F0D3804);
}

TEST(murmur32_has_its_verification_value) {
    unsigned char key[256], hashes[256 * 4];
    for (unsigned i = 0; i < 256; i++) {
        key[i] = (unsigned char)i;
        put(hashes + 4 * i, murmur32(key, i, 256 - i), 4);
    }
    CHECK_EQ_U64(murmur32(hashes, sizeof hashes, 0), 0x27864C1E);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
