/* A list of Bloom filters ("levels"). Each has a larger capacity and half the false-positive rate of the one before, so
 * that the sum of all rates stays below the requested one. (P. S. Almeida, C. Baquero, N. Preguiça, D. Hutchison,
 * "Scalable Bloom Filters", 2007.)
 *
 *     level   capacity         rate            bits                       bits per item
 *     0       n                e / 2           floor(n * bpe) up to 64    ceil(ln 2 * bpe),  bpe = -ln(rate) / (ln 2)^2
 *     1       n * growth       e / 4           …                          …
 *
 * A filter that does not scale has one level with rate e. Bit x of a level is bit x % 8 of byte x / 8. The bits of an
 * item are (a + i * b) mod bits, i = 0, 1, …, where a and b are two hashes of it; they are computed once for all
 * levels.
 *
 * An item is added to the newest level, unless some level has it. The number of items is the number of additions that
 * set a bit.
 *
 * Two options come from filters of long ago, which are still found in RDB files: without NOROUND the bits of a new
 * level are rounded up to a power of two, and its capacity grows accordingly; with ENTRIES_BITS the capacity that is
 * asked for is the logarithm of the number of bits.
 *
 * The dump: all numbers little-endian, no padding.
 *
 *     u64 items   u32 levels   u32 options   u32 growth                                                       20 bytes
 *     per level:  u64 bytes  u64 bits  u64 items  f64 rate  f64 bpe  u32 hashes  u64 capacity  u8 log2_bits   53 bytes
 *     then, in chunks, the bits of all levels */
#include "redisbloom_bloom.h"

#include <assert.h>
#include <math.h>

#include "murmur.h"
#include "redisbloom_bytes.h"

/* ln 2 and its square, as RedisBloom has them: to 15 digits. More digits would give other numbers of bits. */
#define LN2 0.693147180559945
#define LN2_SQUARED 0.480453013918201
#define HEAD_BYTES 20
#define LEVEL_BYTES 53
#define RATE_MOST 0.25 /* RedisBloom lowers a higher rate to this */
#define TIGHTENING 0.5 /* the rate of a level, relative to the one before */
#define SEED_64 UINT64_C(0xc6a4a7935bd1e995)
#define SEED_32 UINT32_C(0x9747b28c)
#define BITS_LIMIT 0x1p62 /* more bits than any machine has; far from overflow */
#define HASHES_MOST 2048  /* the smallest positive double needs 1075 */
#define KNOWN_OPTIONS (REDISBLOOM_NOROUND | REDISBLOOM_ENTRIES_BITS | REDISBLOOM_FORCE64 | REDISBLOOM_NOSCALING)
/* Numbers of BF.INFO: the sizes of RedisBloom's own structs. */
#define INFO_HEAD_BYTES 32
#define INFO_LEVEL_BYTES 64

static redisbloom_bloom_level *level_of(const redisbloom_bloom *f, uint64_t index) {
    return redisbloom_levels_at(&f->list, index);
}

static redisbloom_bloom_level *newest(const redisbloom_bloom *f) {
    return level_of(f, f->list.count - 1);
}

typedef struct item_hash {
    uint64_t a, b;
} item_hash;

static item_hash hash_item(const redisbloom_bloom *f, const void *item, size_t bytes) {
    item_hash h;
    if (f->options & REDISBLOOM_FORCE64) {
        h.a = murmur64(item, bytes, SEED_64);
        h.b = murmur64(item, bytes, h.a);
    } else {
        h.a = murmur32(item, bytes, SEED_32);
        h.b = murmur32(item, bytes, (uint32_t)h.a);
    }
    return h;
}

static bool level_has(const redisbloom_bloom_level *level, item_hash h) {
    uint64_t sum = h.a;
    for (uint64_t i = 0; i < level->hashes; i++, sum += h.b) {
        uint64_t bit = sum % level->bits;
        if (!(level->bytes[bit >> 3] >> (bit & 7) & 1))
            return false;
    }
    return true;
}

static void level_add(redisbloom_bloom_level *level, item_hash h) {
    uint64_t sum = h.a;
    for (uint64_t i = 0; i < level->hashes; i++, sum += h.b) {
        uint64_t bit = sum % level->bits;
        level->bytes[bit >> 3] |= (unsigned char)(1u << (bit & 7));
    }
    level->items++;
}

static bool has_hash(const redisbloom_bloom *f, item_hash h) {
    for (uint64_t i = f->list.count; i-- > 0;)
        if (level_has(level_of(f, i), h))
            return true;
    return false;
}

/* ---- levels ---- */

static double bits_per_entry_for(double rate) {
    return -log(rate) / LN2_SQUARED;
}

static uint64_t hashes_for(double bits_per_entry) {
    double hashes = ceil(LN2 * bits_per_entry);
    return hashes >= 1 && hashes <= HASHES_MOST ? (uint64_t)hashes : 0;
}

/* Computes all of a level but its bytes. KITH_E_TOO_LARGE if a number of bits like that is not possible. */
static kith_status plan_level(uint64_t capacity, double rate, uint32_t options, redisbloom_bloom_level *level) {
    *level = (redisbloom_bloom_level){.capacity = capacity, .rate = rate};
    level->bits_per_entry = bits_per_entry_for(rate);
    level->hashes = hashes_for(level->bits_per_entry);
    if (capacity == 0 || level->hashes == 0)
        return KITH_E_TOO_LARGE;
    double wanted = (double)capacity * level->bits_per_entry;
    if (options & REDISBLOOM_ENTRIES_BITS) {
        if (capacity > 61)
            return KITH_E_TOO_LARGE;
        level->log2_bits = capacity;
    } else if (!(wanted < BITS_LIMIT)) {
        return KITH_E_TOO_LARGE;
    } else if (options & REDISBLOOM_NOROUND) {
        level->bits = ((uint64_t)wanted + 63) / 64 * 64;
    } else {
        while (UINT64_C(1) << level->log2_bits < (uint64_t)wanted)
            level->log2_bits++;
    }
    if (level->log2_bits > 0) {
        level->bits = UINT64_C(1) << level->log2_bits;
        level->capacity = (uint64_t)((double)level->bits / level->bits_per_entry);
    }
    level->byte_count = (level->bits + 7) / 8;
    return KITH_OK;
}

/* ---- use ---- */

static redisbloom_bloom *new_filter(const kith_allocator *allocator, uint64_t items, uint32_t options,
                                    uint32_t growth) {
    redisbloom_bloom *f = redisbloom_levels_new(allocator, sizeof *f, sizeof(redisbloom_bloom_level));
    if (f != NULL) {
        f->items = items;
        f->options = options;
        f->growth = growth;
    }
    return f;
}

kith_status redisbloom_bloom_create(double rate, uint64_t capacity, uint32_t expansion, bool scaling,
                                    uint64_t most_bytes, const kith_allocator *allocator, redisbloom_bloom **filter) {
    if (!(rate > 0 && rate < 1))
        return KITH_E_RATE;
    if (capacity == 0)
        return KITH_E_CAPACITY;
    if (scaling && expansion == 0)
        return KITH_E_OPTION_VALUE;
    if (rate > RATE_MOST)
        rate = RATE_MOST;
    uint32_t options = REDISBLOOM_NOROUND | REDISBLOOM_FORCE64 | (scaling ? 0 : REDISBLOOM_NOSCALING);
    redisbloom_bloom_level plan;
    kith_status status = plan_level(capacity, scaling ? rate * TIGHTENING : rate, options, &plan);
    if (status != KITH_OK)
        return status;
    redisbloom_bloom *f = new_filter(allocator, 0, options, expansion);
    if (f == NULL)
        return KITH_E_MEMORY;
    status = redisbloom_levels_append(&f->list, &plan, false, most_bytes);
    if (status != KITH_OK) {
        redisbloom_levels_free(f);
        return status;
    }
    redisbloom_levels_complete(&f->list);
    *filter = f;
    return KITH_OK;
}

static kith_status grow(redisbloom_bloom *f, uint64_t most_bytes) {
    if (f->options & REDISBLOOM_NOSCALING)
        return KITH_E_FULL;
    const redisbloom_bloom_level *last = newest(f);
    if (last->capacity > UINT64_MAX / f->growth)
        return KITH_E_TOO_LARGE;
    redisbloom_bloom_level plan;
    kith_status status = plan_level(last->capacity * f->growth, last->rate * TIGHTENING, f->options, &plan);
    if (status == KITH_OK)
        status = redisbloom_levels_append(&f->list, &plan, false, most_bytes);
    if (status == KITH_OK)
        redisbloom_levels_complete(&f->list);
    return status;
}

kith_status redisbloom_bloom_add(redisbloom_bloom *f, const void *item, size_t item_bytes, uint64_t most_bytes,
                                 bool *was_new) {
    assert(redisbloom_levels_is_complete(&f->list));
    item_hash h = hash_item(f, item, item_bytes);
    if (has_hash(f, h)) {
        *was_new = false;
        return KITH_OK;
    }
    const redisbloom_bloom_level *last = newest(f);
    if (last->items >= last->capacity) {
        kith_status status = grow(f, most_bytes);
        if (status != KITH_OK)
            return status;
    }
    level_add(newest(f), h);
    f->items++;
    *was_new = true;
    return KITH_OK;
}

bool redisbloom_bloom_has(const redisbloom_bloom *f, const void *item, size_t item_bytes) {
    return has_hash(f, hash_item(f, item, item_bytes));
}

redisbloom_bloom_info redisbloom_bloom_get_info(const redisbloom_bloom *f) {
    redisbloom_bloom_info info = {.levels = f->list.count,
                                  .items = f->items,
                                  .expansion = f->growth,
                                  .options = f->options,
                                  .scaling = !(f->options & REDISBLOOM_NOSCALING)};
    info.size = INFO_HEAD_BYTES + INFO_LEVEL_BYTES * f->list.count + f->list.body_bytes;
    for (uint64_t i = 0; i < f->list.count; i++)
        info.capacity += level_of(f, i)->capacity;
    return info;
}

/* ---- dumps ---- */

static unsigned char *put_head(const redisbloom_bloom *f, unsigned char *to) {
    to = put_bytes(to, f->items, 8);
    to = put_bytes(to, f->list.count, 4);
    to = put_bytes(to, f->options, 4);
    return put_bytes(to, f->growth, 4);
}

static unsigned char *put_level(const redisbloom_bloom_level *level, unsigned char *to) {
    to = put_bytes(to, level->byte_count, 8);
    to = put_bytes(to, level->bits, 8);
    to = put_bytes(to, level->items, 8);
    to = put_f64(to, level->rate);
    to = put_f64(to, level->bits_per_entry);
    to = put_bytes(to, level->hashes, 4);
    to = put_bytes(to, level->capacity, 8);
    return put_bytes(to, level->log2_bits, 1);
}

static redisbloom_bloom_level get_level(const unsigned char *from) {
    return (redisbloom_bloom_level){.byte_count = get_u64(from),
                                    .bits = get_u64(from + 8),
                                    .items = get_u64(from + 16),
                                    .rate = get_f64(from + 24),
                                    .bits_per_entry = get_f64(from + 32),
                                    .hashes = get_u32(from + 40),
                                    .capacity = get_u64(from + 44),
                                    .log2_bits = from[52]};
}

void redisbloom_bloom_parts(const redisbloom_bloom *f,
                            void (*part)(void *context, const void *bytes, size_t byte_count), void *context) {
    unsigned char head[HEAD_BYTES], level[LEVEL_BYTES];
    put_head(f, head);
    part(context, head, sizeof head);
    for (uint64_t i = 0; i < f->list.count; i++) {
        put_level(level_of(f, i), level);
        part(context, level, sizeof level);
    }
    redisbloom_levels_parts(&f->list, part, context);
}

size_t redisbloom_bloom_header_bytes(const redisbloom_bloom *f) {
    return HEAD_BYTES + LEVEL_BYTES * (size_t)f->list.count;
}

void redisbloom_bloom_header(const redisbloom_bloom *f, void *header) {
    unsigned char *to = put_head(f, header);
    for (uint64_t i = 0; i < f->list.count; i++)
        to = put_level(level_of(f, i), to);
}

/* Whether a level from outside is one that RedisBloom can have written, and safe to use. Its bytes are not looked
 * at. */
static bool is_sound(const redisbloom_bloom_level *level) {
    /* RedisBloom computes bits from the capacity, and rounds up; the capacity may then be rounded down. */
    const double tolerance = 1e-6;
    if (level->bits == 0 || level->bits >= (uint64_t)BITS_LIMIT || level->byte_count != level->bits / 8 ||
        level->bits % 8 != 0)
        return false;
    if (level->log2_bits != 0 && (level->log2_bits > 61 || level->bits != UINT64_C(1) << level->log2_bits))
        return false;
    if (!(level->rate > 0 && level->rate < 1) || !(level->bits_per_entry > 0 && level->bits_per_entry < HASHES_MOST))
        return false;
    double expected = bits_per_entry_for(level->rate);
    if (fabs(level->bits_per_entry - expected) > tolerance * expected ||
        (double)level->capacity * level->bits_per_entry >= (double)level->bits * (1 + tolerance) + 1)
        return false;
    return level->hashes != 0 && level->hashes == hashes_for(level->bits_per_entry) && level->capacity != 0 &&
           level->items <= level->capacity;
}

static bool are_sound(uint64_t levels, uint64_t options, uint64_t growth) {
    if (levels == 0 || (options & ~(uint64_t)KNOWN_OPTIONS) != 0 || growth > UINT32_MAX)
        return false;
    return growth != 0 || (options & REDISBLOOM_NOSCALING) != 0;
}

bool redisbloom_bloom_is_header(const void *header, size_t header_bytes) {
    if (header_bytes < HEAD_BYTES + LEVEL_BYTES || (header_bytes - HEAD_BYTES) % LEVEL_BYTES != 0)
        return false;
    return get_u32((const unsigned char *)header + 8) == (header_bytes - HEAD_BYTES) / LEVEL_BYTES;
}

/* Checks all levels of a header, and their sums. */
static kith_status check_levels(const unsigned char *levels, uint64_t count, uint64_t items, uint64_t most_bytes) {
    uint64_t item_sum = 0, capacity_sum = 0, memory = sizeof(redisbloom_bloom) + count * sizeof(redisbloom_bloom_level);
    bool fits = true;
    for (uint64_t i = 0; i < count; i++) {
        redisbloom_bloom_level level = get_level(levels + i * LEVEL_BYTES);
        if (!is_sound(&level) || !sum_add(&item_sum, level.items) || !sum_add(&capacity_sum, level.capacity))
            return KITH_E_CORRUPT;
        fits = fits && sum_add(&memory, level.byte_count);
    }
    if (item_sum != items)
        return KITH_E_CORRUPT;
    return fits && memory <= most_bytes && memory <= SIZE_MAX ? KITH_OK : KITH_E_TOO_LARGE;
}

kith_status redisbloom_bloom_load_header(const void *header, size_t header_bytes, uint64_t most_bytes,
                                         const kith_allocator *allocator, redisbloom_bloom **filter) {
    const unsigned char *from = header;
    if (header_bytes < HEAD_BYTES)
        return KITH_E_TRUNCATED;
    uint64_t items = get_u64(from), count = get_u32(from + 8), needed = HEAD_BYTES + count * LEVEL_BYTES;
    uint32_t options = get_u32(from + 12), growth = get_u32(from + 16);
    if (header_bytes != needed)
        return header_bytes < needed ? KITH_E_TRUNCATED : KITH_E_TRAILING;
    if (!are_sound(count, options, growth))
        return KITH_E_CORRUPT;
    kith_status status = check_levels(from + HEAD_BYTES, count, items, most_bytes);
    if (status != KITH_OK)
        return status;
    redisbloom_bloom *f = new_filter(allocator, items, options, growth);
    if (f == NULL)
        return KITH_E_MEMORY;
    status = redisbloom_levels_reserve(&f->list, count);
    for (uint64_t i = 0; i < count && status == KITH_OK; i++) {
        redisbloom_bloom_level level = get_level(from + HEAD_BYTES + i * LEVEL_BYTES);
        status = redisbloom_levels_append(&f->list, &level, false, most_bytes);
    }
    if (status != KITH_OK) {
        redisbloom_levels_free(f);
        return status;
    }
    *filter = f;
    return KITH_OK;
}

/* ---- fields ---- */

redisbloom_bloom_fields redisbloom_bloom_get_fields(const redisbloom_bloom *f) {
    return (redisbloom_bloom_fields){
        .items = f->items, .levels = f->list.count, .options = f->options, .growth = f->growth};
}

redisbloom_bloom_level redisbloom_bloom_get_level(const redisbloom_bloom *f, uint64_t index) {
    assert(index < f->list.count);
    return *level_of(f, index);
}

kith_status redisbloom_bloom_load_begin(const redisbloom_bloom_fields *fields, uint64_t most_bytes,
                                        const kith_allocator *allocator, redisbloom_bloom **filter) {
    if (!are_sound(fields->levels, fields->options, fields->growth))
        return KITH_E_CORRUPT;
    if (sizeof(redisbloom_bloom) + sizeof(redisbloom_bloom_level) > most_bytes)
        return KITH_E_TOO_LARGE;
    redisbloom_bloom *f = new_filter(allocator, fields->items, (uint32_t)fields->options, (uint32_t)fields->growth);
    if (f == NULL)
        return KITH_E_MEMORY;
    f->list.missing = fields->levels;
    *filter = f;
    return KITH_OK;
}

kith_status redisbloom_bloom_load_append(redisbloom_bloom *f, const redisbloom_bloom_level *level,
                                         uint64_t most_bytes) {
    return is_sound(level) ? redisbloom_levels_load_append(&f->list, level, most_bytes) : KITH_E_CORRUPT;
}

kith_status redisbloom_bloom_load_end(redisbloom_bloom *f) {
    if (f->list.missing > 0)
        return KITH_E_TRUNCATED;
    uint64_t items = 0, capacity = 0;
    for (uint64_t i = 0; i < f->list.count; i++)
        if (!sum_add(&items, level_of(f, i)->items) || !sum_add(&capacity, level_of(f, i)->capacity))
            return KITH_E_CORRUPT;
    if (items != f->items)
        return KITH_E_CORRUPT;
    redisbloom_levels_complete(&f->list);
    return KITH_OK;
}
