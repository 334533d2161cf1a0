/* reader: a second reader of .kith files, written from docs/format.md alone.
 *
 *     reader FILE < KEYS
 *     reader --verdicts FILE…
 *
 * Verifies the whole file, then looks up every line of standard input. For a filter, a line is a key, and the reader
 * prints "yes" or "no", or "no key" if the line is not a key of the filter's type. For a table, a line is a key in
 * hexadecimal, and the reader prints its value or "no". With --verdicts it prints "opened" or "refused" for each file.
 *
 * The reader shares no code with libkith. Where the two agree, the document is right; where they do not, one of the
 * three is wrong. It is slow and simple on purpose: it reads the whole file into memory and one bit after the other,
 * and uses the names of the document.
 *
 * Exit status: 0 all keys were looked up; 1 the file is refused (standard error says why); 2 wrong usage, no memory or
 * no such file. */
#include "reader.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SPAN_BYTES 65536
#define DIRECTORY_ENTRIES 64

static jmp_buf after_refusal;

static _Noreturn void refuse(const char *why) {
    fprintf(stderr, "reader: refused: %s\n", why);
    longjmp(after_refusal, 1);
}

void require(bool holds, const char *why) {
    if (!holds)
        refuse(why);
}

_Noreturn void fail(const char *what) {
    fprintf(stderr, "reader: %s\n", what);
    exit(2);
}

/* ---- numbers ---- */

uint64_t load(const uint8_t *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static double load_f64(const uint8_t *at) {
    uint64_t bits = load(at, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool all_zero(const uint8_t *at, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++)
        if (at[i] != 0)
            return false;
    return true;
}

/* Loads `width` bits, the lowest being bit `first`. Bits are numbered from the least significant bit of byte 0. */
uint64_t load_bits(const uint8_t *at, uint64_t first, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)(at[(first + i) / 8] >> ((first + i) % 8) & 1) << i;
    return value;
}

uint64_t hi(uint64_t a, uint64_t b) {
    uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffff);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

uint64_t lo(uint64_t a, uint64_t b) {
    return a * b;
}

uint64_t round_up(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
}

bool power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* ---- digests ---- */

uint64_t rotate(uint64_t x, unsigned by) {
    return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], unsigned rounds) {
    while (rounds-- > 0) {
        v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
        v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
    }
}

/* Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012, section 2. */
uint64_t siphash_2_4(uint64_t k0, uint64_t k1, const uint8_t *message, size_t bytes) {
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    for (size_t done = 0; done <= bytes; done += 8) {
        bool last = bytes - done < 8;
        uint64_t m =
            last ? load(message + done, (unsigned)(bytes - done)) | (uint64_t)bytes << 56 : load(message + done, 8);
        v[3] ^= m;
        sip_rounds(v, 2);
        v[0] ^= m;
    }
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t checksum(const uint8_t *at, uint64_t bytes) {
    return XXH3_64bits(at, (size_t)bytes);
}

static uint64_t digest(const filter *f, const uint8_t *key, size_t key_bytes) {
    return f->hash == 1 ? siphash_2_4(load(f->key, 8), load(f->key + 8, 8), key, key_bytes)
                        : XXH3_64bits_withSeed(key, key_bytes, f->seed);
}

uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t word(uint64_t d, uint64_t i) {
    return mix(d + (i + 1) * GOLDEN_RATIO);
}

#define PROBE_FACTOR 0xf1357aea2e62a9c5u

static uint64_t probe(uint64_t d, uint64_t i) {
    for (uint64_t power = 0; power <= i; power++)
        d *= PROBE_FACTOR;
    return d;
}

static uint64_t lane(uint64_t d, unsigned i) {
    return i == 0 ? lo(d, GOLDEN_RATIO) : hi(d, PROBE_FACTOR) ^ lo(d, PROBE_FACTOR);
}

/* ---- the body of each kind: its length, which follows from the parameters, its verification, and a lookup ---- */

static uint64_t cell_of(const filter *f, uint64_t d, uint64_t i) {
    uint64_t slice = f->parameter[1];
    return f->parameter[2] == 1 ? hi(probe(d, i), slice) : i * slice + hi(probe(d, i), slice);
}

/* Kinds 1 and 3: cells of 1 bit, or counters. Layout 1 is a single slice. */
static uint64_t slices_of(const filter *f) {
    return f->parameter[2] == 1 ? 1 : f->parameter[0];
}

static unsigned width_of(const filter *f) {
    return f->kind == BLOOM ? 1 : f->parameter[3] == 0 ? 4 : (unsigned)f->parameter[3];
}

static uint64_t cells_body_bytes(const filter *f) {
    uint64_t k = f->parameter[0], slice = f->parameter[1], layout = f->parameter[2], width = f->parameter[3];
    require(k >= 1 && k <= 64, "k out of range");
    require(layout <= 1, "layout out of range");
    require(width == 0 || (width >= 2 && width <= 8 && width != 4), "width out of range");
    require(slice >= 1 && slice <= ((uint64_t)1 << 62) / slices_of(f), "slice out of range");
    uint64_t cells = slices_of(f) * slice;
    require(f->parameter[7] <= cells, "fill limit out of range");
    uint64_t bytes = cells / 8 * width_of(f) + (cells % 8 * width_of(f) + 7) / 8;
    return round_up(bytes + (width != 0), 64);
}

static void cells_verify(const filter *f, unsigned cell_bits, uint64_t cells) {
    uint64_t fill = 0;
    for (uint64_t c = 0; c < cells; c++)
        fill += load_bits(f->body, c * cell_bits, cell_bits) != 0;
    require(fill == f->fill, "fill is not the number of cells that are not zero");
    for (uint64_t bit = cells * cell_bits; bit < f->body_bytes * 8; bit++)
        require(load_bits(f->body, bit, 1) == 0, "a bit after the last cell is set");
}

/* Adds up the counters from … to - 1. Returns whether one of them has its largest value. */
static bool counters_sum(const filter *f, unsigned width, uint64_t from, uint64_t to, uint64_t *sum) {
    bool stuck = false;
    *sum = 0;
    for (uint64_t c = from; c < to; c++) {
        uint64_t counter = load_bits(f->body, c * width, width);
        *sum += counter;
        stuck = stuck || counter == (1u << width) - 1;
    }
    return stuck;
}

static void counters_verify(const filter *f) {
    uint64_t slice = f->parameter[1], sum;
    for (uint64_t i = 0; i < slices_of(f); i++) {
        bool stuck = counters_sum(f, width_of(f), i * slice, (i + 1) * slice, &sum), whole = f->parameter[2] != 0;
        require(whole || stuck || sum == f->count, "the counters of a slice do not add up to count");
    }
}

static bool cells_has(const filter *f, unsigned cell_bits, uint64_t d) {
    for (uint64_t i = 0; i < f->parameter[0]; i++)
        if (load_bits(f->body, cell_of(f, d, i) * cell_bits, cell_bits) == 0)
            return false;
    return true;
}

/* Kinds 2 and 7. */
static uint64_t blocked_body_bytes(const filter *f, unsigned cell_bits) {
    uint64_t lanes = f->parameter[0], blocks = f->parameter[1];
    require(lanes == 4 || lanes == 8 || lanes == 16, "lanes out of range");
    require(blocks >= 1 && blocks <= (uint64_t)1 << 53, "blocks out of range");
    require(f->parameter[7] <= 512 / cell_bits * blocks, "fill limit out of range");
    return blocks * 64;
}

static bool blocked_has(const filter *f, unsigned cell_bits, uint64_t d) {
    unsigned lanes = (unsigned)f->parameter[0], width = 512 / cell_bits / lanes, width_log2 = 0;
    while (1u << width_log2 < width)
        width_log2++;
    const uint8_t *block = f->body + hi(d, f->parameter[1]) * 64;
    for (unsigned j = 0; j < lanes; j++) {
        unsigned byte = lane(d, j / 8) >> (8 * (j % 8)) & 0xff;
        if (load_bits(block, (j * width + (byte >> (8 - width_log2))) * cell_bits, cell_bits) == 0)
            return false;
    }
    return true;
}

static void blocked_counters_verify(const filter *f) {
    uint64_t lanes = f->parameter[0], blocks = f->parameter[1], width = 128 / lanes, keys = 0;
    bool keys_known = true;
    for (uint64_t block = 0; block < blocks; block++) {
        uint64_t keys_of_block = 0;
        bool known = false;
        for (uint64_t lane = 0; lane < lanes; lane++) {
            uint64_t first = block * 128 + lane * width, sum;
            if (counters_sum(f, 4, first, first + width, &sum))
                continue;
            require(!known || sum == keys_of_block, "two lanes of a block do not add up to the same number");
            keys_of_block = sum;
            known = true;
        }
        keys += keys_of_block;
        keys_known = keys_known && known;
    }
    require(!keys_known || keys == f->count, "the counters do not add up to count");
}

/* Kind 8. */
static uint64_t fuse_cells(const filter *f) {
    return (f->parameter[3] + f->parameter[1] - 1) * f->parameter[2];
}

static uint64_t fuse_shard_bytes(const filter *f) {
    return round_up(8 + (fuse_cells(f) * f->parameter[0] + 7) / 8 + 7, 64);
}

static uint64_t fuse_body_bytes(const filter *f) {
    const uint64_t *p = f->parameter, most = (uint64_t)1 << 32;
    require(p[0] >= 4 && p[0] <= 32, "f out of range");
    require(p[1] == 3 || p[1] == 4, "a out of range");
    require(power_of_two(p[2]) && p[2] <= (uint64_t)1 << (p[1] == 3 ? 18 : 14), "L out of range");
    require(p[3] >= 1 && p[3] < most && fuse_cells(f) < most, "S out of range");
    require(power_of_two(p[4]) && p[4] <= ((uint64_t)1 << 62) / fuse_shard_bytes(f), "shards out of range");
    return p[4] * fuse_shard_bytes(f);
}

static void fuse_verify(const filter *f) {
    uint64_t with_keys = 0, bytes = fuse_shard_bytes(f), used_bits = 64 + fuse_cells(f) * f->parameter[0];
    for (uint64_t i = 0; i < f->parameter[4]; i++) {
        const uint8_t *shard = f->body + i * bytes;
        bool has_keys = load(shard, 8) != 0;
        require(has_keys || all_zero(shard, bytes), "a shard without keys is not 0");
        for (uint64_t bit = used_bits; bit < bytes * 8; bit++)
            require(load_bits(shard, bit, 1) == 0, "a bit after the last cell of a shard is set");
        with_keys += has_keys;
    }
    require(with_keys <= f->count && (with_keys > 0 || f->count == 0), "count does not match the shards with keys");
}

static bool fuse_has(const filter *f, uint64_t d) {
    uint64_t width = f->parameter[0], a = f->parameter[1], L = f->parameter[2], starts = f->parameter[3] * L;
    const uint8_t *shard = f->body + hi(d, f->parameter[4]) * fuse_shard_bytes(f);
    uint64_t h = mix(d + load(shard, 8)), c0 = hi(h, starts), sum = lo(h, starts) >> (64 - width);
    for (uint64_t i = 0; i < a; i++) {
        uint64_t c = i == 0 ? c0 : (c0 + i * L) ^ ((h >> ((i - 1) * (a == 3 ? 18 : 14))) % L);
        sum ^= load_bits(shard + 8, c * width, (unsigned)width);
    }
    return sum == 0;
}

/* ---- blocks ---- */

static filter verify(const uint8_t *block, uint64_t bytes, const filter *outer);

/* Calls `visit` on the layers until it returns true. Returns whether it did for one of them. The lengths come from the
 * body, so each is checked against the bytes that are left. Sets *end (may be NULL) to the offset at which the blocks
 * end. */
static bool each_layer(const filter *f,
                       bool (*visit)(const filter *outer, const uint8_t *block, uint64_t bytes, void *), void *context,
                       uint64_t *end) {
    uint64_t at = DIRECTORY_ENTRIES * 8;
    for (uint64_t i = 0; i < f->parameter[2]; i++) {
        uint64_t bytes = load(f->body + 8 * i, 8);
        require(bytes >= HEADER_BYTES && bytes <= f->body_bytes - at, "a layer's length is out of range");
        if (visit(f, f->body + at, bytes, context))
            return true;
        uint64_t next = round_up(at + bytes, 64);
        require(next <= f->body_bytes, "a layer's length is out of range");
        require(all_zero(f->body + at + bytes, next - at - bytes), "a byte between two layers is not zero");
        at = next;
    }
    if (end != NULL)
        *end = at;
    return false;
}

typedef struct sums {
    uint64_t layers, capacity, count;
    uint64_t expected; /* the required capacity of the last layer that was verified */
} sums;

static uint64_t multiplied(uint64_t a, uint64_t b) {
    require(b == 0 || a <= UINT64_MAX / b, "the capacity of a layer is wrong");
    return a * b;
}

static bool verify_layer(const filter *outer, const uint8_t *block, uint64_t bytes, void *context) {
    filter layer = verify(block, bytes, outer);
    sums *sum = context;
    double share = outer->rate * 6 / (3.141592653589793 * 3.141592653589793) / pow((double)sum->layers + 1, 2);
    sum->expected = sum->layers++ == 0 ? outer->parameter[3] : multiplied(sum->expected, outer->parameter[1]);
    require(layer.capacity == sum->expected, "the capacity of a layer is wrong");
    require(layer.rate <= share * (1 + 1e-9), "the rate of a layer is too high");
    require((double)layer.body_bytes * 8 >= 0.9 * (double)layer.capacity * -log2(layer.rate),
            "a layer has too few bits for its capacity and rate");
    sum->capacity += layer.capacity;
    sum->count += layer.count;
    return false;
}

static void layers_verify(const filter *f) {
    const uint64_t *p = f->parameter;
    require((p[0] >= 1 && p[0] <= 5) || p[0] == 7, "kind of the layers out of range");
    require(p[1] >= 1 && p[1] <= 32768, "growth out of range");
    require(p[2] >= 1 && p[2] <= 64, "number of layers out of range");
    require(p[3] >= 1 && p[3] <= f->capacity, "capacity of the first layer out of range");
    require(f->body_bytes >= DIRECTORY_ENTRIES * 8, "the body is shorter than the directory");
    require(all_zero(f->body + p[2] * 8, (DIRECTORY_ENTRIES - p[2]) * 8),
            "a directory entry past the last layer is not 0");

    sums sum = {0, 0, 0, 0};
    uint64_t end;
    each_layer(f, verify_layer, &sum, &end);
    require(end == f->body_bytes, "the body length does not follow from the directory");
    require(sum.capacity == f->capacity, "capacity is not the sum over the layers");
    require(sum.count == f->count, "count is not the sum over the layers");
}

static bool has(const filter *f, uint64_t d);

static filter parse(const uint8_t *block) {
    filter f = {.kind = (enum kind)load(block + 10, 2),
                .hash = (unsigned)load(block + 32, 2),
                .key_type = block[34] >> 6,
                .seed = load(block + 40, 8),
                .key = block + 48,
                .capacity = load(block + 64, 8),
                .rate = load_f64(block + 72),
                .count = load(block + 80, 8),
                .fill = load(block + 88, 8),
                .body_bytes = load(block + 96, 8),
                .body = block + HEADER_BYTES};
    for (unsigned i = 0; i < PARAMETERS; i++)
        f.parameter[i] = load(block + 104 + 8 * i, 8);
    return f;
}

static bool layer_has(const filter *outer, const uint8_t *block, uint64_t bytes, void *context) {
    (void)outer;
    (void)bytes;
    filter layer = parse(block);
    const uint64_t *d = context;
    return has(&layer, *d);
}

static bool has(const filter *f, uint64_t d) {
    switch (f->kind) {
    case BLOOM:
    case COUNTING:
        return cells_has(f, width_of(f), d);
    case BLOCKED:
        return blocked_has(f, 1, d);
    case BLOCKED_COUNTING:
        return blocked_has(f, 4, d);
    case CUCKOO:
    case OVERLAP:
        return regions_has(f, d);
    case FUSE:
        return fuse_has(f, d);
    case RIBBON:
        return ribbon_has(f, d);
    case LAYERS:
        return each_layer(f, layer_has, &d, NULL);
    case IMAGE:
    case ENTRIES:
        break;
    }
    return false;
}

static bool is_table(const filter *f) {
    return f->kind == IMAGE || f->kind == ENTRIES;
}

static void verify_filter_fields(const filter *f) {
    require(f->hash == 0 ? all_zero(f->key, 16) : f->seed == 0, "a seed or key that the hash does not use");
    require(f->capacity >= 1, "capacity 0");
    require(isfinite(f->rate) && f->rate > 0 && f->rate < 1, "rate out of range");
    require(f->count <= f->capacity, "more keys than the capacity");
    require(f->kind <= OVERLAP || f->kind == BLOCKED_COUNTING || f->fill == 0, "fill is not 0, and the kind has none");
}

static void verify_header(const uint8_t *block, const filter *f) {
    require(load(block + 184, 8) == checksum(block, 184), "header checksum");
    require(load(block + 12, 2) == HEADER_BYTES, "header bytes is not 192");
    require(load(block + 14, 2) <= 1, "unknown flags");
    require(all_zero(block + 16, 16) && all_zero(block + 168, 8), "a reserved byte is not 0");
    require((f->kind >= BLOOM && f->kind <= RIBBON) || is_table(f), "unknown kind");
    require(f->hash <= 1, "unknown hash");
    if (is_table(f))
        require(all_zero(block + 14, 2) && all_zero(block + 32, 32) && all_zero(block + 72, 8) && f->fill == 0,
                "flags, hash, recipe, seed, key, rate or fill of a table are not 0");
    else
        verify_filter_fields(f);

    static const uint8_t used[] = {
        [BLOOM] = 0x87,           [BLOCKED] = 0x83, [COUNTING] = 0x8f, [CUCKOO] = 0xff, [OVERLAP] = 0x47,
        [LAYERS] = 0x0f,          [FUSE] = 0x1f,    [RIBBON] = 0x3f,   [IMAGE] = 0xff,  [ENTRIES] = 0x3f,
        [BLOCKED_COUNTING] = 0x83};
    for (unsigned i = 0; i < PARAMETERS; i++)
        require((used[f->kind] >> i & 1) != 0 || f->parameter[i] == 0, "an unused parameter is not 0");
}

static void verify_checksums(const uint8_t *block, const filter *f, uint64_t spans) {
    const uint8_t *checksums = f->body + f->body_bytes;
    require(load(block + 176, 8) == checksum(checksums, spans * 8), "body checksum");
    for (uint64_t i = 0; i < spans; i++) {
        uint64_t first = i * SPAN_BYTES, left = f->body_bytes - first;
        require(load(checksums + 8 * i, 8) == checksum(f->body + first, left < SPAN_BYTES ? left : SPAN_BYTES),
                "a checksum after the body");
    }
}

/* Verifies the notes, which must take up all bytes after the checksums. */
static void verify_notes(const uint8_t *notes, uint64_t bytes) {
    require(bytes >= 16, "the notes are truncated");
    uint64_t content_bytes = load(notes + 8, 8);
    require(content_bytes >= 1 && content_bytes <= 65536, "the length of the notes is out of range");
    require(bytes == 16 + round_up(content_bytes, 8), "the block is shorter or longer than its notes say");
    require(load(notes, 8) == checksum(notes + 8, bytes - 8), "checksum of the notes");
    const uint8_t *content = notes + 16;
    require(all_zero(content + content_bytes, bytes - 16 - content_bytes), "a byte after the notes is not zero");
    require(content[content_bytes - 1] == 0, "the last note does not end in a zero byte");
    const char *names[64];
    unsigned count = 0;
    for (uint64_t at = 0; at < content_bytes;) {
        const char *name = (const char *)content + at;
        require(*name != '\0' && count < 64, "a note without a name, or too many notes");
        for (unsigned i = 0; i < count; i++)
            require(strcmp(names[i], name) != 0, "two notes have the same name");
        names[count++] = name;
        at += strlen(name) + 1;
        require(at < content_bytes, "a note without a value");
        at += strlen((const char *)content + at) + 1;
    }
}

/* `outer` is the filter that the block is a layer of, or NULL. */
static filter verify(const uint8_t *block, uint64_t bytes, const filter *outer) {
    static const uint8_t signature[8] = {0x8b, 0x4b, 0x49, 0x54, 0x48, 0x0d, 0x0a, 0x1a};
    require(bytes >= sizeof signature && memcmp(block, signature, sizeof signature) == 0, "no signature");
    require(bytes >= 10 && load(block + 8, 2) == 1, "not version 1");
    require(bytes >= HEADER_BYTES, "shorter than a header");

    filter f = parse(block);
    verify_header(block, &f);
    if (outer != NULL) {
        require(f.kind == outer->parameter[0], "a layer is not of the kind that the header says");
        require(f.hash == outer->hash && f.seed == outer->seed && memcmp(f.key, outer->key, 16) == 0,
                "a layer has another hash, seed or key");
        require(all_zero(block + 14, 2) && all_zero(block + 34, 6), "a layer with flags or a recipe");
    }

    uint64_t left = bytes - HEADER_BYTES;
    require(f.body_bytes % 64 == 0 && f.body_bytes <= left, "body bytes out of range");
    uint64_t spans = f.body_bytes / SPAN_BYTES + (f.body_bytes % SPAN_BYTES != 0);
    uint64_t after_body = left - f.body_bytes;
    bool has_notes = load(block + 14, 2) == 1;
    require(after_body == spans * 8 || (has_notes && after_body > spans * 8),
            "the block is shorter or longer than its header says");
    verify_checksums(block, &f, spans);
    if (has_notes)
        verify_notes(f.body + f.body_bytes + spans * 8, after_body - spans * 8);

    const char *wrong_length = "the body length does not follow from the parameters";
    switch (f.kind) {
    case BLOOM:
        require(cells_body_bytes(&f) == f.body_bytes, wrong_length);
        cells_verify(&f, 1, slices_of(&f) * f.parameter[1]);
        break;
    case BLOCKED:
        require(blocked_body_bytes(&f, 1) == f.body_bytes, wrong_length);
        cells_verify(&f, 1, f.body_bytes * 8);
        break;
    case COUNTING:
        require(cells_body_bytes(&f) == f.body_bytes, wrong_length);
        cells_verify(&f, width_of(&f), slices_of(&f) * f.parameter[1]);
        counters_verify(&f);
        break;
    case BLOCKED_COUNTING:
        require(blocked_body_bytes(&f, 4) == f.body_bytes, wrong_length);
        cells_verify(&f, 4, f.body_bytes * 2);
        blocked_counters_verify(&f);
        break;
    case CUCKOO:
    case OVERLAP:
        require(regions_body_bytes(&f) == f.body_bytes, wrong_length);
        regions_verify(&f);
        break;
    case FUSE:
        require(fuse_body_bytes(&f) == f.body_bytes, wrong_length);
        fuse_verify(&f);
        break;
    case RIBBON:
        require(ribbon_body_bytes(&f) == f.body_bytes, wrong_length);
        ribbon_verify(&f);
        break;
    case LAYERS:
        layers_verify(&f);
        break;
    case IMAGE:
        image_verify(&f);
        break;
    case ENTRIES:
        entries_verify(&f);
        break;
    }
    return f;
}

/* ---- the program ---- */

typedef struct buffer {
    uint8_t *at;
    size_t used, size;
} buffer;

static void append(buffer *b, uint8_t byte) {
    if (b->used == b->size) {
        b->size = b->size == 0 ? 4096 : 2 * b->size;
        uint8_t *larger = realloc(b->at, b->size);
        if (larger == NULL)
            fail("no memory");
        b->at = larger;
    }
    b->at[b->used++] = byte;
}

static bool read_line(buffer *line) {
    int c;
    append(line, 0); /* so that the empty key has an address too */
    line->used = 0;
    while ((c = getchar()) != EOF && c != '\n')
        append(line, (uint8_t)c);
    return c != EOF || line->used > 0;
}

/* Replaces a line of hexadecimal digits by the bytes that they encode. */
static void decode(buffer *line) {
    static const char digits[] = "0123456789abcdef";
    if (line->used % 2 != 0)
        fail("a key of a table has an odd number of hexadecimal digits");
    line->used /= 2;
    for (size_t i = 0; i < line->used; i++) {
        const char *high = memchr(digits, line->at[2 * i], 16), *low = memchr(digits, line->at[2 * i + 1], 16);
        if (high == NULL || low == NULL)
            fail("a key of a table is not in hexadecimal");
        line->at[i] = (uint8_t)((high - digits) * 16 + (low - digits));
    }
}

static void print_result(const filter *f, buffer *line) {
    uint8_t key[16];
    size_t key_bytes;
    if (!is_table(f) && f->key_type != 0) {
        key_bytes = typed_key(f->key_type, line->at, line->used, key);
        puts(key_bytes == 0 ? "no key" : has(f, digest(f, key, key_bytes)) ? "yes" : "no");
        return;
    }
    if (!is_table(f)) {
        puts(has(f, digest(f, line->at, line->used)) ? "yes" : "no");
        return;
    }
    uint64_t value;
    decode(line);
    bool found =
        f->kind == IMAGE ? image_get(f, line->at, line->used, &value) : entries_get(f, line->at, line->used, &value);
    if (found)
        printf("%" PRIu64 "\n", value);
    else
        puts("no");
}

static filter open_file(const char *path, buffer *bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail("cannot open the file");
    int c;
    bytes->used = 0;
    while ((c = getc(file)) != EOF)
        append(bytes, (uint8_t)c);
    if (ferror(file))
        fail("cannot read the file");
    fclose(file);
    return verify(bytes->at, bytes->used, NULL);
}

static void print_verdicts(char **paths, int count) {
    static buffer bytes;
    static int i; /* longjmp leaves static variables as they were */
    for (i = 0; i < count; i++) {
        if (setjmp(after_refusal) == 0) {
            (void)open_file(paths[i], &bytes);
            puts("opened");
        } else
            puts("refused");
    }
    free(bytes.at);
}

static int look_up_lines(const char *path) {
    static buffer bytes, line;
    int status = 1;
    if (setjmp(after_refusal) == 0) {
        filter f = open_file(path, &bytes);
        while (read_line(&line))
            print_result(&f, &line);
        status = 0;
    }
    free(bytes.at);
    free(line.at);
    return status;
}

int main(int argc, char **argv) {
    bool verdicts = argc > 1 && strcmp(argv[1], "--verdicts") == 0;
    int status = 0;
    if (verdicts)
        print_verdicts(argv + 2, argc - 2);
    else if (argc == 2)
        status = look_up_lines(argv[1]);
    else
        fail("usage: reader FILE < KEYS, or reader --verdicts FILE…");
    if (ferror(stdin) || fflush(stdout) != 0 || ferror(stdout))
        fail("standard input or output failed");
    return status;
}
