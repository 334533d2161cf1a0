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
#include "redisbloom_bloom.h"
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

struct redisbloom_cuckoo {
    kith_allocator allocator;
    redisbloom_cuckoo_fields fields; /* fields.filters is the number of levels, also while they are being loaded */
    uint64_t level_count;
    uint64_t level_slots; /* how many fit into levels[] */
    redisbloom_cuckoo_level *levels;
    uint64_t body_bytes;   /* the bytes of all levels */
    uint64_t loaded_bytes; /* how many of them were loaded; equal if the filter is complete */
};

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
    for (uint64_t i = f->level_count; i-- > 0;) {
        unsigned char *slot = find(f, &f->levels[i], p, fingerprint);
        if (slot != NULL)
            return slot;
    }
    return NULL;
}

/* ---- Sub-filters
 * -------------------------------------------------------------------------------------------------- */

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

static uint64_t memory_of(uint64_t level_slots, uint64_t body_bytes) {
    return sizeof(redisbloom_cuckoo) + level_slots * sizeof(redisbloom_cuckoo_level) + body_bytes;
}

static bool is_within(const redisbloom_cuckoo *f, uint64_t level_slots, uint64_t more, uint64_t most_bytes) {
    uint64_t sum = memory_of(level_slots, f->body_bytes);
    return sum_add(&sum, more) && sum <= most_bytes && sum <= SIZE_MAX;
}

static uint64_t slots_for_one_more(const redisbloom_cuckoo *f) {
    if (f->level_count < f->level_slots)
        return f->level_slots;
    return f->level_slots == 0 ? 1 : 2 * f->level_slots;
}

/* Makes room for `slots` levels. */
static kith_status reserve_levels(redisbloom_cuckoo *f, uint64_t slots) {
    if (slots == f->level_slots)
        return KITH_OK;
    redisbloom_cuckoo_level *levels = allocate(&f->allocator, slots * sizeof *levels);
    if (levels == NULL)
        return KITH_E_MEMORY;
    if (f->level_count > 0)
        memcpy(levels, f->levels, (size_t)f->level_count * sizeof *levels);
    release(&f->allocator, f->levels, f->level_slots * sizeof *levels);
    f->levels = levels;
    f->level_slots = slots;
    return KITH_OK;
}

/* Appends an empty sub-filter. */
static kith_status append_level(redisbloom_cuckoo *f, uint64_t buckets, uint64_t most_bytes) {
    uint64_t slots = slots_for_one_more(f), bytes = buckets * f->fields.bucket_size;
    if (!is_within(f, slots, bytes, most_bytes))
        return KITH_E_TOO_LARGE;
    unsigned char *memory = allocate(&f->allocator, bytes);
    if (memory == NULL)
        return KITH_E_MEMORY;
    kith_status status = reserve_levels(f, slots);
    if (status != KITH_OK) {
        release(&f->allocator, memory, bytes);
        return status;
    }
    f->levels[f->level_count++] = (redisbloom_cuckoo_level){.buckets = buckets, .slots = memory, .byte_count = bytes};
    f->body_bytes += bytes;
    return KITH_OK;
}

/* ---- Use
 * ---------------------------------------------------------------------------------------------------------- */

static redisbloom_cuckoo *new_filter(const kith_allocator *allocator, const redisbloom_cuckoo_fields *fields) {
    kith_allocator a = allocator_or_default(allocator);
    redisbloom_cuckoo *f = allocate(&a, sizeof *f);
    if (f == NULL)
        return NULL;
    *f = (redisbloom_cuckoo){.allocator = a, .fields = *fields};
    return f;
}

kith_status redisbloom_cuckoo_create(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                                     uint32_t expansion, uint64_t most_bytes, const kith_allocator *allocator,
                                     redisbloom_cuckoo **filter) {
    if (bucket_size < 1 || bucket_size > BUCKET_SIZE_MOST || max_iterations < 1 || max_iterations > ITERATIONS_MOST ||
        expansion > EXPANSION_MOST)
        return KITH_E_OPTION;
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
        redisbloom_cuckoo_free(f);
        return status;
    }
    f->loaded_bytes = f->body_bytes;
    *filter = f;
    return KITH_OK;
}

void redisbloom_cuckoo_free(redisbloom_cuckoo *f) {
    if (f == NULL)
        return;
    for (uint64_t i = 0; i < f->level_count; i++)
        release(&f->allocator, f->levels[i].slots, f->levels[i].byte_count);
    release(&f->allocator, f->levels, f->level_slots * sizeof *f->levels);
    kith_allocator allocator = f->allocator;
    release(&allocator, f, sizeof *f);
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
    redisbloom_cuckoo_level *level = &f->levels[f->level_count - 1];
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
    if (f->fields.expansion == 0 || f->level_count >= max_expansions || f->level_count >= FILTERS_MOST)
        return KITH_E_FULL;
    uint64_t buckets = next_buckets(&f->fields, f->levels[f->level_count - 1].buckets);
    kith_status status = buckets == 0 ? KITH_E_TOO_LARGE : append_level(f, buckets, most_bytes);
    if (status == KITH_OK) {
        f->fields.filters = f->level_count;
        f->loaded_bytes = f->body_bytes;
    }
    return status;
}

static kith_status add_place(redisbloom_cuckoo *f, const place *p, uint64_t max_expansions, uint64_t most_bytes) {
    assert(redisbloom_cuckoo_is_complete(f));
    unsigned char *empty = find_in_all(f, p, 0);
    if (empty == NULL && !kick(f, p)) {
        kith_status status = grow(f, max_expansions, most_bytes);
        if (status != KITH_OK)
            return status;
        empty = find(f, &f->levels[f->level_count - 1], p, 0);
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
    for (uint64_t i = 0; i < f->level_count; i++)
        for (int j = 0; j < 2; j++) {
            const unsigned char *bucket = bucket_at(f, &f->levels[i], p.buckets[j]);
            for (uint64_t slot = 0; slot < f->fields.bucket_size; slot++)
                count += bucket[slot] == p.fingerprint;
        }
    return count;
}

/* Moves the fingerprints of sub-filter `index` to older ones. Returns whether all of them found a slot. */
static bool move_down(redisbloom_cuckoo *f, uint64_t index) {
    const redisbloom_cuckoo_level *level = &f->levels[index];
    bool all = true;
    for (uint64_t i = 0; i < level->byte_count; i++) {
        if (level->slots[i] == 0)
            continue;
        place p = place_from(i / f->fields.bucket_size, level->slots[i]);
        unsigned char *empty = NULL;
        for (uint64_t older = 0; older < index && empty == NULL; older++)
            empty = find(f, &f->levels[older], &p, 0);
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
    for (uint64_t i = f->level_count; i-- > 1;) {
        if (!move_down(f, i)) {
            if (!go_on)
                break;
        } else if (i == f->level_count - 1) {
            f->body_bytes -= f->levels[i].byte_count;
            release(&f->allocator, f->levels[i].slots, f->levels[i].byte_count);
            f->level_count--;
        }
    }
    f->fields.filters = f->level_count;
    f->loaded_bytes = f->body_bytes;
    f->fields.deletes = 0;
}

bool redisbloom_cuckoo_remove(redisbloom_cuckoo *f, const void *item, size_t item_bytes) {
    assert(redisbloom_cuckoo_is_complete(f));
    place p = place_of(item, item_bytes);
    unsigned char *slot = find_in_all(f, &p, p.fingerprint);
    if (slot == NULL)
        return false;
    *slot = 0;
    if (f->fields.items > 0) /* a loaded number need not be right */
        f->fields.items--;
    f->fields.deletes++;
    if (f->level_count > 1 && (double)f->fields.deletes > (double)f->fields.items * DELETES_SHARE)
        compact(f, false);
    return true;
}

void redisbloom_cuckoo_compact(redisbloom_cuckoo *f) {
    assert(redisbloom_cuckoo_is_complete(f));
    compact(f, true);
}

redisbloom_cuckoo_info redisbloom_cuckoo_get_info(const redisbloom_cuckoo *f) {
    return (redisbloom_cuckoo_info){.size = INFO_HEAD_BYTES + INFO_LEVEL_BYTES * f->level_count + f->body_bytes,
                                    .buckets = f->fields.buckets,
                                    .filters = f->level_count,
                                    .items = f->fields.items,
                                    .deletes = f->fields.deletes,
                                    .bucket_size = (uint32_t)f->fields.bucket_size,
                                    .expansion = (uint32_t)f->fields.expansion,
                                    .max_iterations = (uint32_t)f->fields.max_iterations};
}

uint64_t redisbloom_cuckoo_memory(const redisbloom_cuckoo *f) {
    return memory_of(f->level_slots, f->body_bytes);
}

kith_status redisbloom_cuckoo_clone(const redisbloom_cuckoo *f, const kith_allocator *allocator,
                                    redisbloom_cuckoo **copy) {
    redisbloom_cuckoo *c = new_filter(allocator, &f->fields);
    if (c == NULL)
        return KITH_E_MEMORY;
    kith_status status = reserve_levels(c, f->level_count);
    for (uint64_t i = 0; i < f->level_count && status == KITH_OK; i++) {
        status = append_level(c, f->levels[i].buckets, UINT64_MAX);
        if (status == KITH_OK)
            memcpy(c->levels[i].slots, f->levels[i].slots, (size_t)f->levels[i].byte_count);
    }
    if (status != KITH_OK) {
        redisbloom_cuckoo_free(c);
        return status;
    }
    c->loaded_bytes = f->loaded_bytes;
    *copy = c;
    return KITH_OK;
}

redisbloom_cuckoo *redisbloom_cuckoo_relocate(redisbloom_cuckoo *f,
                                              void *(*move)(void *context, void *memory, size_t bytes), void *context) {
    void *moved = move(context, f, sizeof *f);
    if (moved != NULL)
        f = moved;
    moved = move(context, f->levels, (size_t)f->level_slots * sizeof *f->levels);
    if (moved != NULL)
        f->levels = moved;
    for (uint64_t i = 0; i < f->level_count; i++) {
        moved = move(context, f->levels[i].slots, (size_t)f->levels[i].byte_count);
        if (moved != NULL)
            f->levels[i].slots = moved;
    }
    return f;
}

/* ---- Dumps
 * -------------------------------------------------------------------------------------------------------- */

void redisbloom_cuckoo_header(const redisbloom_cuckoo *f, unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES]) {
    unsigned char *to = put_bytes(header, f->fields.items, 8);
    to = put_bytes(to, f->fields.buckets, 8);
    to = put_bytes(to, f->fields.deletes, 8);
    to = put_bytes(to, f->level_count, 8);
    to = put_bytes(to, f->fields.bucket_size, 2);
    to = put_bytes(to, f->fields.max_iterations, 2);
    put_bytes(to, f->fields.expansion, 2);
}

void redisbloom_cuckoo_parts(const redisbloom_cuckoo *f,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context) {
    unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES];
    redisbloom_cuckoo_header(f, header);
    part(context, header, sizeof header);
    for (uint64_t i = 0; i < f->level_count; i++)
        part(context, f->levels[i].slots, (size_t)f->levels[i].byte_count);
}

/* The sub-filter that has the byte at *offset; *offset becomes the offset in it. NULL if it is past the end. */
static redisbloom_cuckoo_level *level_at(const redisbloom_cuckoo *f, uint64_t *offset) {
    for (uint64_t i = 0; i < f->level_count; i++) {
        if (*offset < f->levels[i].byte_count)
            return &f->levels[i];
        *offset -= f->levels[i].byte_count;
    }
    return NULL;
}

uint64_t redisbloom_cuckoo_chunk(const redisbloom_cuckoo *f, uint64_t cursor, const void **chunk, size_t *chunk_bytes) {
    uint64_t offset = cursor - 1;
    const redisbloom_cuckoo_level *level = cursor == 0 ? NULL : level_at(f, &offset);
    if (level == NULL)
        return 0;
    uint64_t left = level->byte_count - offset;
    *chunk = level->slots + offset;
    *chunk_bytes = (size_t)(left < REDISBLOOM_CHUNK_BYTES ? left : REDISBLOOM_CHUNK_BYTES);
    return cursor + *chunk_bytes;
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
    uint64_t buckets = fields.buckets, body_bytes = 0, head_bytes = memory_of(fields.filters, 0);
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
    kith_status status = reserve_levels(f, fields.filters);
    buckets = fields.buckets;
    for (uint64_t i = 0; i < fields.filters && status == KITH_OK; i++) {
        status = append_level(f, buckets, most_bytes);
        buckets = next_buckets(&fields, buckets);
    }
    if (status != KITH_OK) {
        redisbloom_cuckoo_free(f);
        return status;
    }
    *filter = f;
    return KITH_OK;
}

kith_status redisbloom_cuckoo_load_chunk(redisbloom_cuckoo *f, uint64_t cursor, const void *chunk, size_t chunk_bytes) {
    if (chunk_bytes == 0 || cursor == 0 || redisbloom_cuckoo_is_complete(f))
        return KITH_E_ARGUMENT;
    uint64_t end = cursor - 1;
    if (end > f->body_bytes)
        return KITH_E_TRAILING;
    if (end < chunk_bytes || end - chunk_bytes != f->loaded_bytes)
        return KITH_E_ARGUMENT;
    uint64_t offset = f->loaded_bytes;
    redisbloom_cuckoo_level *level = level_at(f, &offset);
    if (chunk_bytes > level->byte_count - offset)
        return KITH_E_TRAILING;
    memcpy(level->slots + offset, chunk, chunk_bytes);
    f->loaded_bytes = end;
    return KITH_OK;
}

uint64_t redisbloom_cuckoo_loaded(const redisbloom_cuckoo *f) {
    return f->loaded_bytes;
}

bool redisbloom_cuckoo_is_complete(const redisbloom_cuckoo *f) {
    return f->loaded_bytes == f->body_bytes && f->level_count == f->fields.filters;
}

/* ---- Fields
 * ------------------------------------------------------------------------------------------------------- */

redisbloom_cuckoo_fields redisbloom_cuckoo_get_fields(const redisbloom_cuckoo *f) {
    return f->fields;
}

redisbloom_cuckoo_level redisbloom_cuckoo_get_level(const redisbloom_cuckoo *f, uint64_t index) {
    assert(index < f->level_count);
    return f->levels[index];
}

kith_status redisbloom_cuckoo_load_begin(const redisbloom_cuckoo_fields *fields, uint64_t most_bytes,
                                         const kith_allocator *allocator, redisbloom_cuckoo **filter) {
    if (!are_sound(fields))
        return KITH_E_CORRUPT;
    if (memory_of(1, 0) > most_bytes)
        return KITH_E_TOO_LARGE;
    redisbloom_cuckoo *f = new_filter(allocator, fields);
    if (f == NULL)
        return KITH_E_MEMORY;
    *filter = f;
    return KITH_OK;
}

kith_status redisbloom_cuckoo_load_append(redisbloom_cuckoo *f, const redisbloom_cuckoo_level *level,
                                          uint64_t most_bytes) {
    if (f->level_count >= f->fields.filters)
        return KITH_E_CORRUPT;
    uint64_t buckets =
        f->level_count == 0 ? f->fields.buckets : next_buckets(&f->fields, f->levels[f->level_count - 1].buckets);
    if (buckets == 0 || level->buckets != buckets || level->byte_count != buckets * f->fields.bucket_size)
        return KITH_E_CORRUPT;
    uint64_t slots = slots_for_one_more(f);
    if (!is_within(f, slots, level->byte_count, most_bytes))
        return KITH_E_TOO_LARGE;
    kith_status status = reserve_levels(f, slots);
    if (status != KITH_OK)
        return status;
    f->levels[f->level_count++] = *level;
    f->body_bytes += level->byte_count;
    return KITH_OK;
}

kith_status redisbloom_cuckoo_load_end(redisbloom_cuckoo *f) {
    if (f->level_count < f->fields.filters)
        return KITH_E_TRUNCATED;
    if (f->fields.items > f->body_bytes)
        return KITH_E_CORRUPT;
    f->loaded_bytes = f->body_bytes;
    return KITH_OK;
}
