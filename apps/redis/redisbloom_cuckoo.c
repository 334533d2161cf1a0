/* A list of cuckoo filters ("sub-filters") with one byte per slot. (B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher,
 * "Cuckoo Filter: Practically Better Than Bloom", 2014.)
 *
 *     hash           h = MurmurHash64A(item, seed 0)
 *     fingerprint    h mod 255 + 1; 0 is an empty slot
 *     buckets        h mod n and (h xor fingerprint * 0x5bd1e995) mod n. n is a power of two, so each can be computed
 *                    from the other and the fingerprint, and both in a smaller sub-filter from those in a larger one.
 *     sub-filter i   n = buckets * expansion^i;  the slots of bucket j are bytes j * bucket_size …
 *
 * Insertion: the first free slot, in the newest sub-filter first, in the first bucket first. If there is none, kicks in
 * the newest sub-filter: the new fingerprint takes a slot of its first bucket, and the fingerprint that was there goes
 * to a free slot of its other bucket, or takes a slot there in turn. The slot is 0 for the first kick, then 1, 2, …
 * modulo the bucket size. If max_iterations kicks do not end in a free slot, all of them are undone and a sub-filter is
 * added.
 *
 * Removal empties the first slot with the fingerprint, in the order of insertion. Compaction goes through the
 * sub-filters from the newest to the second, and moves each fingerprint to the first free slot of an older sub-filter,
 * the oldest first. A sub-filter that is empty then and is the newest is freed. CF.COMPACT goes on with older
 * sub-filters if something stayed; the compaction after a removal stops there. Both set the number of deletions to 0.
 *
 * A fingerprint whose two buckets are the same one counts twice in redisbloom_cuckoo_count(): so does RedisBloom.
 *
 * The dump: all numbers little-endian, no padding.
 *
 *     u64 items  u64 buckets  u64 deletes  u64 filters  u16 bucket_size  u16 max_iterations  u16 expansion     38 bytes
 *     then, in chunks, the slots of all sub-filters */
#include "redisbloom_cuckoo.h"

#include <assert.h>

#include "murmur.h"
#include "redisbloom_bytes.h"

#define ALTERNATE UINT64_C(0x5bd1e995)
#define BUCKET_SIZE_MOST 255
#define ITERATIONS_MOST 65535
#define EXPANSION_MOST 32768
#define FILTERS_MOST 65535 /* RedisBloom counts them in 16 bits */
#define SLOTS_MOST (UINT64_C(1) << 62)
#define DELETES_SHARE 0.10 /* more deletions than this share of the items, and a removal compacts the filter */
/* Numbers of CF.INFO: the sizes of RedisBloom's own structs. */
#define INFO_HEAD_BYTES 40
#define INFO_LEVEL_BYTES 16

static redisbloom_cuckoo_level *level_of(const redisbloom_cuckoo *f, uint64_t index) {
    return redisbloom_levels_at(&f->list, index);
}

static redisbloom_cuckoo_level *newest(const redisbloom_cuckoo *f) {
    return level_of(f, f->list.count - 1);
}

/* Where an item may be. The buckets are not yet reduced to the size of a sub-filter. */
typedef struct place {
    uint64_t buckets[2];
    unsigned char fingerprint;
} place;

static place place_from(uint64_t bucket, unsigned char fingerprint) {
    return (place){{bucket, bucket ^ fingerprint * ALTERNATE}, fingerprint};
}

static place place_of(const void *item, size_t bytes) {
    uint64_t h = murmur64(item, bytes, 0);
    return place_from(h, (unsigned char)(h % 255 + 1));
}

static unsigned char *bucket_at(const redisbloom_cuckoo *f, const redisbloom_cuckoo_level *level, uint64_t bucket) {
    return level->slots + (bucket & (level->buckets - 1)) * f->fields.bucket_size;
}

/* The first slot with this fingerprint (0: the first empty one) in the two buckets, or NULL. */
static unsigned char *find(const redisbloom_cuckoo *f, const redisbloom_cuckoo_level *level, const place *p,
                           unsigned char fingerprint) {
    for (int i = 0; i < 2; i++) {
        unsigned char *slot = memchr(bucket_at(f, level, p->buckets[i]), fingerprint, (size_t)f->fields.bucket_size);
        if (slot != NULL)
            return slot;
    }
    return NULL;
}

/* The same in all sub-filters, the newest first. */
static unsigned char *find_in_all(const redisbloom_cuckoo *f, const place *p, unsigned char fingerprint) {
    for (uint64_t i = f->list.count; i-- > 0;) {
        unsigned char *slot = find(f, level_of(f, i), p, fingerprint);
        if (slot != NULL)
            return slot;
    }
    return NULL;
}

/* ---- sub-filters ---- */

static uint64_t power_of_two_from(uint64_t least) {
    uint64_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

/* The number of buckets of the sub-filter after one with `last` buckets, or 0 if there is none after it. */
static uint64_t next_buckets(const redisbloom_cuckoo_fields *fields, uint64_t last) {
    uint64_t most = SLOTS_MOST / fields->bucket_size;
    return fields->expansion != 0 && last <= most / fields->expansion ? last * fields->expansion : 0;
}

/* Appends an empty sub-filter. */
static kith_status append_level(redisbloom_cuckoo *f, uint64_t buckets, uint64_t most_bytes) {
    redisbloom_cuckoo_level level = {.byte_count = buckets * f->fields.bucket_size, .buckets = buckets};
    return redisbloom_levels_append(&f->list, &level, false, most_bytes);
}

/* ---- use ---- */

static redisbloom_cuckoo *new_filter(const kith_allocator *allocator, const redisbloom_cuckoo_fields *fields) {
    redisbloom_cuckoo *f = redisbloom_levels_new(allocator, sizeof *f, sizeof(redisbloom_cuckoo_level));
    if (f != NULL)
        f->fields = *fields;
    return f;
}

kith_status redisbloom_cuckoo_create(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                                     uint32_t expansion, uint64_t most_bytes, const kith_allocator *allocator,
                                     redisbloom_cuckoo **filter) {
    if (bucket_size < 1 || bucket_size > BUCKET_SIZE_MOST || max_iterations < 1 || max_iterations > ITERATIONS_MOST ||
        expansion > EXPANSION_MOST)
        return KITH_E_OPTION_VALUE;
    if (capacity == 0)
        return KITH_E_CAPACITY;
    if (capacity > SLOTS_MOST / 2)
        return KITH_E_TOO_LARGE;
    redisbloom_cuckoo_fields fields = {.filters = 1,
                                       .buckets = power_of_two_from(capacity / bucket_size),
                                       .bucket_size = bucket_size,
                                       .max_iterations = max_iterations,
                                       .expansion = expansion == 0 ? 0 : power_of_two_from(expansion)};
    redisbloom_cuckoo *f = new_filter(allocator, &fields);
    if (f == NULL)
        return KITH_E_MEMORY;
    kith_status status = append_level(f, fields.buckets, most_bytes);
    if (status != KITH_OK) {
        redisbloom_levels_free(f);
        return status;
    }
    redisbloom_levels_complete(&f->list);
    *filter = f;
    return KITH_OK;
}

/* Exchanges a fingerprint with that in a slot, and returns what was there. */
static unsigned char exchange(unsigned char *slot, unsigned char fingerprint) {
    unsigned char was = *slot;
    *slot = fingerprint;
    return was;
}

/* Inserts by kicks in the newest sub-filter, whose two buckets for this item are full. Returns false, with every slot
 * as it was, if the kicks do not end in a free slot. */
static bool kick(redisbloom_cuckoo *f, const place *p) {
    const redisbloom_cuckoo_level *level = newest(f);
    uint64_t size = f->fields.bucket_size, bucket = p->buckets[0], kicks = 0, victim = 0;
    unsigned char carried = p->fingerprint;
    for (; kicks < f->fields.max_iterations; kicks++) {
        carried = exchange(bucket_at(f, level, bucket) + victim, carried);
        bucket ^= carried * ALTERNATE;
        unsigned char *empty = memchr(bucket_at(f, level, bucket), 0, (size_t)size);
        if (empty != NULL) {
            *empty = carried;
            return true;
        }
        victim = (victim + 1) % size;
    }
    for (; kicks > 0; kicks--) {
        victim = (victim + size - 1) % size;
        bucket ^= carried * ALTERNATE;
        carried = exchange(bucket_at(f, level, bucket) + victim, carried);
    }
    assert(carried == p->fingerprint);
    return false;
}

static kith_status grow(redisbloom_cuckoo *f, uint64_t max_expansions, uint64_t most_bytes) {
    if (f->fields.expansion == 0 || f->list.count >= max_expansions || f->list.count >= FILTERS_MOST)
        return KITH_E_FULL;
    uint64_t buckets = next_buckets(&f->fields, newest(f)->buckets);
    kith_status status = buckets == 0 ? KITH_E_TOO_LARGE : append_level(f, buckets, most_bytes);
    if (status == KITH_OK) {
        f->fields.filters = f->list.count;
        redisbloom_levels_complete(&f->list);
    }
    return status;
}

static kith_status add_place(redisbloom_cuckoo *f, const place *p, uint64_t max_expansions, uint64_t most_bytes) {
    assert(redisbloom_levels_is_complete(&f->list));
    unsigned char *empty = find_in_all(f, p, 0);
    if (empty == NULL && !kick(f, p)) {
        kith_status status = grow(f, max_expansions, most_bytes);
        if (status != KITH_OK)
            return status;
        empty = find(f, newest(f), p, 0);
    }
    if (empty != NULL)
        *empty = p->fingerprint;
    f->fields.items++;
    return KITH_OK;
}

kith_status redisbloom_cuckoo_add(redisbloom_cuckoo *f, const void *item, size_t item_bytes, uint64_t max_expansions,
                                  uint64_t most_bytes) {
    place p = place_of(item, item_bytes);
    return add_place(f, &p, max_expansions, most_bytes);
}

kith_status redisbloom_cuckoo_add_new(redisbloom_cuckoo *f, const void *item, size_t item_bytes,
                                      uint64_t max_expansions, uint64_t most_bytes, bool *was_new) {
    place p = place_of(item, item_bytes);
    bool absent = find_in_all(f, &p, p.fingerprint) == NULL;
    kith_status status = absent ? add_place(f, &p, max_expansions, most_bytes) : KITH_OK;
    if (status == KITH_OK)
        *was_new = absent;
    return status;
}

bool redisbloom_cuckoo_has(const redisbloom_cuckoo *f, const void *item, size_t item_bytes) {
    place p = place_of(item, item_bytes);
    return find_in_all(f, &p, p.fingerprint) != NULL;
}

uint64_t redisbloom_cuckoo_count(const redisbloom_cuckoo *f, const void *item, size_t item_bytes) {
    place p = place_of(item, item_bytes);
    uint64_t count = 0;
    for (uint64_t i = 0; i < f->list.count; i++)
        for (int j = 0; j < 2; j++) {
            const unsigned char *bucket = bucket_at(f, level_of(f, i), p.buckets[j]);
            for (uint64_t slot = 0; slot < f->fields.bucket_size; slot++)
                count += bucket[slot] == p.fingerprint;
        }
    return count;
}

/* Moves the fingerprints of sub-filter `index` to older ones. Returns whether all of them found a slot. */
static bool move_down(redisbloom_cuckoo *f, uint64_t index) {
    const redisbloom_cuckoo_level *level = level_of(f, index);
    bool all = true;
    for (uint64_t i = 0; i < level->byte_count; i++) {
        if (level->slots[i] == 0)
            continue;
        place p = place_from(i / f->fields.bucket_size, level->slots[i]);
        unsigned char *empty = NULL;
        for (uint64_t older = 0; older < index && empty == NULL; older++)
            empty = find(f, level_of(f, older), &p, 0);
        if (empty != NULL) {
            *empty = p.fingerprint;
            level->slots[i] = 0;
        } else {
            all = false;
        }
    }
    return all;
}

static void compact(redisbloom_cuckoo *f, bool go_on) {
    for (uint64_t i = f->list.count; i-- > 1;) {
        if (!move_down(f, i)) {
            if (!go_on)
                break;
        } else if (i == f->list.count - 1) {
            redisbloom_levels_drop_last(&f->list);
        }
    }
    f->fields.filters = f->list.count;
    redisbloom_levels_complete(&f->list);
    f->fields.deletes = 0;
}

bool redisbloom_cuckoo_remove(redisbloom_cuckoo *f, const void *item, size_t item_bytes) {
    assert(redisbloom_levels_is_complete(&f->list));
    place p = place_of(item, item_bytes);
    unsigned char *slot = find_in_all(f, &p, p.fingerprint);
    if (slot == NULL)
        return false;
    *slot = 0;
    if (f->fields.items > 0) /* a loaded number need not be right */
        f->fields.items--;
    f->fields.deletes++;
    if (f->list.count > 1 && (double)f->fields.deletes > (double)f->fields.items * DELETES_SHARE)
        compact(f, false);
    return true;
}

void redisbloom_cuckoo_compact(redisbloom_cuckoo *f) {
    assert(redisbloom_levels_is_complete(&f->list));
    compact(f, true);
}

redisbloom_cuckoo_info redisbloom_cuckoo_get_info(const redisbloom_cuckoo *f) {
    return (redisbloom_cuckoo_info){.size = INFO_HEAD_BYTES + INFO_LEVEL_BYTES * f->list.count + f->list.body_bytes,
                                    .buckets = f->fields.buckets,
                                    .filters = f->list.count,
                                    .items = f->fields.items,
                                    .deletes = f->fields.deletes,
                                    .bucket_size = (uint32_t)f->fields.bucket_size,
                                    .expansion = (uint32_t)f->fields.expansion,
                                    .max_iterations = (uint32_t)f->fields.max_iterations};
}

/* ---- dumps ---- */

void redisbloom_cuckoo_header(const redisbloom_cuckoo *f, unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES]) {
    unsigned char *to = put_bytes(header, f->fields.items, 8);
    to = put_bytes(to, f->fields.buckets, 8);
    to = put_bytes(to, f->fields.deletes, 8);
    to = put_bytes(to, f->list.count, 8);
    to = put_bytes(to, f->fields.bucket_size, 2);
    to = put_bytes(to, f->fields.max_iterations, 2);
    put_bytes(to, f->fields.expansion, 2);
}

void redisbloom_cuckoo_parts(const redisbloom_cuckoo *f,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context) {
    unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES];
    redisbloom_cuckoo_header(f, header);
    part(context, header, sizeof header);
    redisbloom_levels_parts(&f->list, part, context);
}

/* Whether these fields are ones that RedisBloom can have written, and safe to use. */
static bool are_sound(const redisbloom_cuckoo_fields *fields) {
    if (fields->filters < 1 || fields->filters > FILTERS_MOST || (fields->filters > 1 && fields->expansion == 0))
        return false;
    if (fields->bucket_size < 1 || fields->bucket_size > BUCKET_SIZE_MOST || fields->max_iterations < 1 ||
        fields->max_iterations > ITERATIONS_MOST || fields->expansion > EXPANSION_MOST || fields->deletes > INT64_MAX)
        return false;
    return fields->buckets >= 1 && (fields->buckets & (fields->buckets - 1)) == 0 &&
           fields->buckets <= SLOTS_MOST / fields->bucket_size && (fields->expansion & (fields->expansion - 1)) == 0;
}

kith_status redisbloom_cuckoo_load_header(const void *header, size_t header_bytes, uint64_t most_bytes,
                                          const kith_allocator *allocator, redisbloom_cuckoo **filter) {
    if (header_bytes != REDISBLOOM_CUCKOO_HEADER_BYTES)
        return header_bytes < REDISBLOOM_CUCKOO_HEADER_BYTES ? KITH_E_TRUNCATED : KITH_E_TRAILING;
    const unsigned char *from = header;
    redisbloom_cuckoo_fields fields = {.items = get_u64(from),
                                       .buckets = get_u64(from + 8),
                                       .deletes = get_u64(from + 16),
                                       .filters = get_u64(from + 24),
                                       .bucket_size = get_u16(from + 32),
                                       .max_iterations = get_u16(from + 34),
                                       .expansion = get_u16(from + 36)};
    if (!are_sound(&fields))
        return KITH_E_CORRUPT;
    uint64_t buckets = fields.buckets, body_bytes = 0, head_bytes = sizeof(redisbloom_cuckoo);
    head_bytes += fields.filters * sizeof(redisbloom_cuckoo_level);
    for (uint64_t i = 0; i < fields.filters; i++) {
        if (i > 0)
            buckets = next_buckets(&fields, buckets);
        if (buckets == 0 || !sum_add(&body_bytes, buckets * fields.bucket_size) || most_bytes < head_bytes ||
            body_bytes > most_bytes - head_bytes)
            return KITH_E_TOO_LARGE;
    }
    if (fields.items > body_bytes)
        return KITH_E_CORRUPT;
    redisbloom_cuckoo *f = new_filter(allocator, &fields);
    if (f == NULL)
        return KITH_E_MEMORY;
    kith_status status = redisbloom_levels_reserve(&f->list, fields.filters);
    buckets = fields.buckets;
    for (uint64_t i = 0; i < fields.filters && status == KITH_OK; i++) {
        status = append_level(f, buckets, most_bytes);
        buckets = next_buckets(&fields, buckets);
    }
    if (status != KITH_OK) {
        redisbloom_levels_free(f);
        return status;
    }
    *filter = f;
    return KITH_OK;
}

/* ---- fields ---- */

redisbloom_cuckoo_fields redisbloom_cuckoo_get_fields(const redisbloom_cuckoo *f) {
    return f->fields;
}

redisbloom_cuckoo_level redisbloom_cuckoo_get_level(const redisbloom_cuckoo *f, uint64_t index) {
    assert(index < f->list.count);
    return *level_of(f, index);
}

kith_status redisbloom_cuckoo_load_begin(const redisbloom_cuckoo_fields *fields, uint64_t most_bytes,
                                         const kith_allocator *allocator, redisbloom_cuckoo **filter) {
    if (!are_sound(fields))
        return KITH_E_CORRUPT;
    if (sizeof(redisbloom_cuckoo) + sizeof(redisbloom_cuckoo_level) > most_bytes)
        return KITH_E_TOO_LARGE;
    redisbloom_cuckoo *f = new_filter(allocator, fields);
    if (f == NULL)
        return KITH_E_MEMORY;
    f->list.missing = fields->filters;
    *filter = f;
    return KITH_OK;
}

kith_status redisbloom_cuckoo_load_append(redisbloom_cuckoo *f, const redisbloom_cuckoo_level *level,
                                          uint64_t most_bytes) {
    uint64_t buckets = f->list.count == 0 ? f->fields.buckets : next_buckets(&f->fields, newest(f)->buckets);
    if (buckets == 0 || level->buckets != buckets || level->byte_count != buckets * f->fields.bucket_size)
        return KITH_E_CORRUPT;
    return redisbloom_levels_load_append(&f->list, level, most_bytes);
}

kith_status redisbloom_cuckoo_load_end(redisbloom_cuckoo *f) {
    if (f->list.missing > 0)
        return KITH_E_TRUNCATED;
    if (f->fields.items > f->list.body_bytes)
        return KITH_E_CORRUPT;
    redisbloom_levels_complete(&f->list);
    return KITH_OK;
}
