/* The search, and the verbs that change a nest. See nest.h for the layout.
 *
 * The search keeps a queue of slots and, for each, the place in the queue of the slot it was reached from; `seen` has a
 * bit for each slot of a region. They are allocated when the first search needs them and kept in the handle: a bit for
 * each slot of a region and 8 bytes for each slot that may be queued, 4,096 at first. A search that needs more starts
 * again with eight times as many. */
#include "family/nest.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct search {
    uint64_t region_slots;
    uint32_t limit;
    uint32_t *queue;
    uint32_t *parents; /* place in the queue */
    uint64_t *seen;
    uint64_t bytes; /* of this allocation: the arrays lie behind the struct */
    bool was_full;  /* the last search met the limit */
} search;

/* Slots that a search looks at before it gives up: all of a region, but for b = 1, whose one region may be larger and
 * whose searches are short. At a load of 0.95 windows take 4,500 at worst and 8 on average; the last keys of a region
 * that got more than its share can need 80,000. */
#define SEARCH_MAX (UINT32_C(1) << 18)
#define SEARCH_FIRST 4096

#define NO_PARENT UINT32_MAX

static uint32_t slots_searched(uint64_t region_slots, uint64_t limit) {
    limit = limit < SEARCH_MAX ? limit : SEARCH_MAX;
    return (uint32_t)(region_slots < limit ? region_slots : limit);
}

/* A search for at most `limit` slots. */
static search *new_search(const kithi_nest *nest, kith_filter *f, uint32_t limit) {
    uint64_t region_slots = nest->region_slots(&f->head);
    uint64_t seen_words = region_slots / 64 + 1;
    uint64_t bytes = sizeof(search) + 8 * seen_words + 2 * sizeof(uint32_t) * (uint64_t)limit;
    search *s = kithi_allocate(&f->allocator, bytes);
    if (s == NULL)
        return NULL;
    s->region_slots = region_slots;
    s->limit = limit;
    s->bytes = bytes;
    s->seen = (uint64_t *)(s + 1);
    s->queue = (uint32_t *)(s->seen + seen_words);
    s->parents = s->queue + limit;
    return s;
}
static_assert(sizeof(search) % sizeof(uint64_t) == 0, "the arrays behind it are aligned");

void kithi_nest_detach(kith_filter *f) {
    search *s = f->state;
    if (s != NULL)
        kithi_release(&f->allocator, s, s->bytes);
    f->state = NULL;
}

static bool visit(search *s, uint32_t *tail, uint32_t slot, uint32_t parent) {
    uint64_t bit = UINT64_C(1) << (slot % 64);
    if ((s->seen[slot / 64] & bit) != 0 || *tail == s->limit)
        return false;
    s->seen[slot / 64] |= bit;
    s->queue[*tail] = slot;
    s->parents[*tail] = parent;
    (*tail)++;
    return true;
}

static uint32_t code_in(const kithi_ways *ways, uint32_t slot) {
    unsigned i = 0;
    while (ways->slot[i] != slot)
        i++;
    return ways->code[i];
}

static bool ways_of_entry(const kithi_nest *nest, const kith_filter *f, uint32_t slot, uint32_t code,
                          kithi_ways *ways) {
    uint64_t place, fingerprint;
    if (!nest->decode(&f->head, slot, code, &place, &fingerprint))
        return false;
    kithi_nest_ways(nest, &f->head, place, fingerprint, ways);
    return true;
}

/* Moves the entries along the chain that ends in `last`, the queue's last slot, by one each; answers the slot that
 * became free, one of the roots. */
static uint32_t shift_chain(const kithi_nest *nest, kith_filter *f, uint8_t *region, const search *s, uint32_t last) {
    uint32_t to = last;
    while (s->parents[to] != NO_PARENT) {
        uint32_t from = s->parents[to];
        kithi_ways ways;
        bool valid = ways_of_entry(nest, f, s->queue[from], kithi_nest_get(f, region, s->queue[from]), &ways);
        assert(valid);
        (void)valid;
        kithi_nest_set(f, region, s->queue[to], code_in(&ways, s->queue[to]));
        to = from;
    }
    return s->queue[to];
}

/* Breadth-first from the roots, within the limit of `s`. */
static kith_status search_from(const kithi_nest *nest, kith_filter *f, uint8_t *region, const kithi_ways *roots,
                               search *s, uint32_t *freed) {
    uint32_t tail = 0;
    for (unsigned i = 0; i < roots->count; i++)
        visit(s, &tail, roots->slot[i], NO_PARENT);
    kith_status status = KITH_E_FULL;
    for (uint32_t at = 0; at < tail && status == KITH_E_FULL; at++) {
        kithi_ways ways;
        if (!ways_of_entry(nest, f, s->queue[at], kithi_nest_get(f, region, s->queue[at]), &ways))
            continue;
        for (unsigned i = 0; i < ways.count; i++) {
            if (visit(s, &tail, ways.slot[i], at) && kithi_nest_get(f, region, ways.slot[i]) == 0) {
                *freed = shift_chain(nest, f, region, s, tail - 1);
                status = KITH_OK;
                break;
            }
        }
    }
    for (uint32_t i = 0; i < tail; i++)
        s->seen[s->queue[i] / 64] = 0;
    s->was_full = tail == s->limit;
    return status;
}

static kith_status make_room(const kithi_nest *nest, kith_filter *f, uint8_t *region, const kithi_ways *roots,
                             uint32_t *freed) {
    search *s = f->state;
    for (;;) {
        if (s != NULL) {
            kith_status status = search_from(nest, f, region, roots, s, freed);
            if (status == KITH_OK || !s->was_full || s->limit == slots_searched(s->region_slots, SEARCH_MAX))
                return status;
        }
        uint64_t region_slots = nest->region_slots(&f->head);
        uint32_t limit = slots_searched(region_slots, s == NULL ? SEARCH_FIRST : 8 * (uint64_t)s->limit);
        search *larger = new_search(nest, f, limit);
        if (larger == NULL)
            return KITH_E_MEMORY;
        kithi_nest_detach(f);
        f->state = s = larger;
    }
}

/* Puts an entry into the region, moving others if need be. KITH_E_COPIES, KITH_E_FULL, KITH_E_MEMORY. */
static kith_status put(const kithi_nest *nest, kith_filter *f, uint8_t *region, const kithi_ways *ways) {
    for (unsigned i = 0; i < ways->count; i++) {
        if (kithi_nest_get(f, region, ways->slot[i]) == 0) {
            kithi_nest_set(f, region, ways->slot[i], ways->code[i]);
            return KITH_OK;
        }
    }
    if (kithi_nest_matches(f, region, ways) == ways->count)
        return KITH_E_COPIES;
    uint32_t freed;
    kith_status status = make_room(nest, f, region, ways, &freed);
    if (status == KITH_OK)
        kithi_nest_set(f, region, freed, code_in(ways, freed));
    return status;
}

kith_status kithi_nest_add(const kithi_nest *nest, kith_filter *f, uint64_t digest, bool *was_new) {
    kithi_ways ways;
    uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    unsigned copies = kithi_nest_matches(f, region, &ways);
    if (copies == ways.count)
        return KITH_E_COPIES;
    if (f->head.count >= f->head.capacity)
        return KITH_E_FULL;
    kith_status status = put(nest, f, region, &ways);
    /* With room elsewhere, it is copies of this key (or keys that share its places) that fill its corner. */
    if (status == KITH_E_FULL && copies != 0)
        return KITH_E_COPIES;
    if (status == KITH_OK) {
        f->head.count++;
        *was_new = copies == 0;
    }
    return status;
}

kith_status kithi_nest_remove(const kithi_nest *nest, kith_filter *f, uint64_t digest) {
    kithi_ways ways;
    uint8_t *region = kithi_nest_locate(nest, f, digest, &ways);
    for (unsigned i = 0; i < ways.count && f->head.count > 0; i++) {
        if (kithi_nest_get(f, region, ways.slot[i]) == ways.code[i]) {
            kithi_nest_set(f, region, ways.slot[i], 0);
            f->head.count--;
            return KITH_OK;
        }
    }
    return KITH_E_ABSENT;
}

static kith_status put_all(const kithi_nest *nest, kith_filter *into, const kith_filter *from) {
    uint64_t region_slots = nest->region_slots(&into->head);
    for (uint64_t r = 0; r < into->head.params[KITHI_REGIONS]; r++) {
        uint8_t *to = kithi_nest_region(nest, into, r);
        const uint8_t *source = kithi_nest_region(nest, from, r);
        for (uint64_t slot = 0; slot < region_slots; slot++) {
            kithi_ways ways;
            uint32_t code = kithi_nest_get(from, source, (uint32_t)slot);
            if (code == 0 || !ways_of_entry(nest, from, (uint32_t)slot, code, &ways))
                continue;
            kith_status status = put(nest, into, to, &ways);
            if (status != KITH_OK)
                return status;
        }
    }
    return KITH_OK;
}

kith_status kithi_nest_merge(const kithi_nest *nest, kith_filter *into, const kith_filter *from) {
    if (from->head.count > into->head.capacity - into->head.count)
        return KITH_E_FULL;
    uint8_t *before = kithi_allocate(&into->allocator, into->head.body_bytes);
    if (before == NULL)
        return KITH_E_MEMORY;
    memcpy(before, into->body, (size_t)into->head.body_bytes);
    kith_status status = put_all(nest, into, from);
    if (status == KITH_OK)
        into->head.count += from->head.count;
    else
        memcpy(into->body, before, (size_t)into->head.body_bytes);
    kithi_release(&into->allocator, before, into->head.body_bytes);
    return status;
}

/* Anything set between the last slot of a region and the next region? */
static bool spare_is_clear(const kith_filter *f, const uint8_t *region, uint64_t region_slots, uint64_t stride) {
    uint64_t first_bit = region_slots * f->head.params[KITHI_SLOT_BITS];
    uint8_t any = 0;
    if (first_bit % 8 != 0)
        any = (uint8_t)(region[first_bit / 8] >> (first_bit % 8));
    for (uint64_t at = (first_bit + 7) / 8; at < stride; at++)
        any |= region[at];
    return any == 0;
}

const char *kithi_nest_check(const kithi_nest *nest, const kith_filter *f) {
    uint64_t region_slots = nest->region_slots(&f->head);
    uint64_t stride = kithi_nest_stride(&f->head, region_slots);
    uint64_t used = 0;
    for (uint64_t r = 0; r < f->head.params[KITHI_REGIONS]; r++) {
        const uint8_t *region = f->body + r * stride;
        for (uint64_t slot = 0; slot < region_slots; slot++) {
            uint32_t code = kithi_nest_get(f, region, (uint32_t)slot);
            uint64_t place, fingerprint;
            if (code != 0 && !nest->decode(&f->head, (uint32_t)slot, code, &place, &fingerprint))
                return "a slot holds a code that no key has there";
            used += code != 0;
        }
        if (!spare_is_clear(f, region, region_slots, stride))
            return "a bit past the last slot of a region is set";
    }
    if (f->head.fill != 0)
        return "the header keeps a fill that this kind does not have";
    return used == f->head.count ? NULL : "the number of slots in use is not the count of keys";
}

void kithi_nest_stats(const kith_filter *f, kith_filter_stats *stats) {
    stats->cells_used = f->head.count;
    stats->rate_now = f->kind->expect(&f->head, f->head.count).rate;
}

/* ---- planning ---- */

/* A region's slots are numbered in 32 bits; a filter's, with its fingerprint, must fit in 60 of the digest's. */
#define REGION_SLOTS_MAX (UINT64_C(1) << 31)
#define DIGEST_BITS 60

kith_status kithi_nest_choose(kithi_fit fit, const kithi_request *request, unsigned slot_bits, kithi_head *head) {
    kithi_fit_size size;
    if (!kithi_fit_choose(&fit, request->capacity, request->rate, slot_bits, &size)) {
        /* Regions of at most 2^f buckets may be too small for any number of them to be sure of their keys. */
        bool was_simple = fit.power_of_two;
        fit.power_of_two = false;
        bool fits_without = kithi_fit_choose(&fit, request->capacity, request->rate, slot_bits, &size);
        return was_simple && fits_without ? KITH_E_OPTION : KITH_E_TOO_LARGE;
    }
    double slots = (double)size.regions * (double)kithi_fit_region_slots(&fit, size.half);
    if (log2(slots) + size.slot_bits - fit.code_bits > DIGEST_BITS)
        return KITH_E_DIGEST_BITS;
    head->params[KITHI_SLOT_BITS] = size.slot_bits;
    head->params[KITHI_HALF] = size.half;
    head->params[KITHI_REGIONS] = size.regions;
    return KITH_OK;
}

kith_status kithi_nest_shape(kithi_fit fit, const kithi_head *head, kithi_shape *shape) {
    uint64_t slot_bits = head->params[KITHI_SLOT_BITS], half = head->params[KITHI_HALF];
    uint64_t regions = head->params[KITHI_REGIONS];
    if (slot_bits > 32 || half == 0 || half >= REGION_SLOTS_MAX || regions == 0)
        return KITH_E_CORRUPT;
    uint64_t region_slots = kithi_fit_region_slots(&fit, half), cells, body_bytes;
    if (region_slots > REGION_SLOTS_MAX || !kithi_mul(regions, region_slots, &cells) ||
        !kithi_mul(regions, kithi_nest_stride(head, region_slots), &body_bytes) || body_bytes > UINT64_C(1) << 62)
        return KITH_E_CORRUPT;
    shape->body_bytes = body_bytes;
    shape->cells = cells;
    shape->cell_bits = (unsigned)slot_bits;
    shape->hashes = 0;
    shape->fingerprint_bits = (unsigned)slot_bits - fit.code_bits;
    shape->lines = 2;
    shape->capabilities = KITHI_NEST_CAPABILITIES;
    return KITH_OK;
}

kithi_expectation kithi_nest_expect(kithi_fit fit, kithi_fit_size size, uint64_t n) {
    return (kithi_expectation){
        kithi_fit_rate(&fit, &size, n),
        fmin(1, kithi_fit_room_failure(&fit, &size, n) + kithi_fit_crowding(&fit, &size, n)),
    };
}
