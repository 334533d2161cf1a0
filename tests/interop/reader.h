/* reader.h: what the files of the reader share. It has no line of libkith. */
#ifndef KITH_TESTS_INTEROP_READER_H
#define KITH_TESTS_INTEROP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADER_BYTES 192
#define PARAMETERS 8
#define GOLDEN_RATIO 0x9e3779b97f4a7c15u

enum kind {
    BLOOM = 1,
    BLOCKED,
    COUNTING,
    CUCKOO,
    OVERLAP,
    LAYERS,
    BLOCKED_COUNTING,
    FUSE,
    RIBBON,
    IMAGE = 32,
    ENTRIES = 33
};

/* A block: a filter or a table. */
typedef struct filter {
    enum kind kind;
    unsigned hash;
    unsigned key_type; /* 0 bytes, 1 int, 2 uint, 3 uuid */
    uint64_t seed;
    const uint8_t *key;
    uint64_t capacity, count, fill, body_bytes;
    double rate;
    uint64_t parameter[PARAMETERS];
    const uint8_t *body;
} filter;

/* Both end the program: require() with exit status 1, the file is refused, unless `holds`; fail() with 2, any other
 * error. */
void require(bool holds, const char *why);
_Noreturn void fail(const char *what);

uint64_t load(const uint8_t *at, unsigned bytes);
uint64_t load_bits(const uint8_t *at, uint64_t first, unsigned width);
bool all_zero(const uint8_t *at, uint64_t bytes);
uint64_t hi(uint64_t a, uint64_t b);
uint64_t lo(uint64_t a, uint64_t b);
bool power_of_two(uint64_t value);
uint64_t round_up(uint64_t value, uint64_t to);
uint64_t rotate(uint64_t x, unsigned by);
uint64_t mix(uint64_t x);
uint64_t word(uint64_t d, uint64_t i);
uint64_t siphash_2_4(uint64_t k0, uint64_t k1, const uint8_t *message, size_t bytes);

/* Makes the key of a line, in a filter with keys of this type, which is not 0. Returns its length, or 0 if the line is
 * no such key. */
size_t typed_key(unsigned type, const uint8_t *line, size_t bytes, uint8_t key[16]);

/* Kinds 4 and 5, in the same way as kind 9. */
uint64_t regions_body_bytes(const filter *f);
void regions_verify(const filter *f);
bool regions_has(const filter *f, uint64_t d);

/* Kind 9. ribbon_body_bytes() checks the parameters; the others need a block whose header, lengths and checksums are
 * verified. */
uint64_t ribbon_body_bytes(const filter *f);
void ribbon_verify(const filter *f);
bool ribbon_has(const filter *f, uint64_t d);

/* Kinds 32 and 33, of blocks whose header, lengths and checksums are verified. */
void image_verify(const filter *f);
bool image_get(const filter *f, const uint8_t *key, size_t key_bytes, uint64_t *value);
void entries_verify(const filter *f);
bool entries_get(const filter *f, const uint8_t *key, size_t key_bytes, uint64_t *value);

#endif
