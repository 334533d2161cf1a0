/* kinds/shared/bit_cells.h: the code that bloom and blocked share. The counting kinds also use its fill limit, its
 * tests for a full filter and its repair. The body of bloom and blocked is an array of bits. Adding keys only sets
 * bits; an intersection clears some.
 *
 * The count in the header is the number of keys that have set at least one new bit. After a union or an intersection it
 * is an estimate of this number. The fill is the number of bits that are set. A filter is full when the count reaches
 * the capacity, or when the fill exceeds the fill limit, which is a parameter. The fill limit stops somebody who
 * chooses keys that set more bits than random keys do. With as many random keys as the capacity, fewer than one in 10^9
 * filters exceed it (plan/sizing.h).
 *
 * A new key that is a false positive sets no bit and does not increase the count. So more distinct keys than the
 * capacity can be added before the count reaches the capacity. In a large filter, the fill limit is often reached
 * first. A key for which has() already returns true is accepted even by a full filter, because it changes nothing. */
#ifndef KITHI_FILTERS_BIT_CELLS_H
#define KITHI_FILTERS_BIT_CELLS_H

#include <string.h>

#include "core/mix.h"
#include "plan/sizing.h"
#include "kinds/shared/cells_lookup.h"
#include "kinds/kind.h"

/* What bloom and blocked can do. */
#define KITHI_BITS_CAPABILITIES                                                                                        \
    (KITH_CAN_ADD | KITH_CAN_MERGE | KITH_CAN_INTERSECT | KITH_CAN_SUBSET | KITH_CAN_SHARE | KITH_CAN_ANY_ORDER)

/* Returns whether a filter like f with this fill accepts no new key. */
static inline bool kithi_bits_above_limit(const kith_filter *f, uint64_t fill) {
    return fill > f->geometry.fill_limit;
}

/* Updates count and fill after an add that changed `set_bits` bits from 0 to 1. `was_new` may be NULL. */
static inline void kithi_bits_count_add(kith_filter *f, uint64_t set_bits, bool *was_new) {
    f->head.fill += set_bits;
    f->head.count += set_bits != 0;
    if (__builtin_expect(was_new != NULL, 0))
        *was_new = set_bits != 0;
}

/* Returns the result of an add that changes nothing, because has() is true for the key, or because the filter accepts
 * no new key. `has` is the result of has() for the key. `was_new` may be NULL. */
static inline kith_status kithi_bits_result_unchanged(bool has, bool *was_new) {
    if (was_new != NULL)
        *was_new = false;
    return has ? KITH_OK : KITH_E_FULL;
}

/* Returns whether the filter accepts a key that changes bits. */
static inline bool kithi_bits_can_add(const kith_filter *f) {
    return f->head.count < f->head.capacity && !kithi_bits_above_limit(f, f->head.fill);
}

/* Returns how many of the next n digests can be added without checking the capacity and the fill limit: whatever these
 * digests are, they exceed neither. Each digest sets at most `hashes` bits. */
static inline size_t kithi_bits_safe_adds(const kith_filter *f, uint64_t hashes, size_t n) {
    uint64_t limit = f->geometry.fill_limit, safe = f->head.capacity - f->head.count;
    uint64_t below_limit = limit > f->head.fill ? (limit - f->head.fill) / hashes : 0;
    safe = below_limit < safe ? below_limit : safe;
    return safe < n ? (size_t)safe : n;
}

typedef enum kithi_bits_how { KITHI_BITS_OR, KITHI_BITS_AND } kithi_bits_how;

static inline uint64_t kithi_bits_join(uint64_t a, uint64_t b, kithi_bits_how how) {
    return how == KITHI_BITS_OR ? a | b : a & b;
}

/* Counts the bits `from` … `to` - 1 that are set in the union or the intersection of two bodies. Bodies consist of
 * whole words, so the words that contain `from` and `to` - 1 can be read. */
static inline uint64_t kithi_bits_in_range(const uint8_t *a, const uint8_t *b, kithi_bits_how how, uint64_t from,
                                           uint64_t to) {
    uint64_t set = 0;
    for (uint64_t first = from / 64 * 64; first < to; first += 64) {
        uint64_t word = kithi_bits_join(kithi_load64(a + first / 8), kithi_load64(b + first / 8), how);
        if (first < from)
            word &= UINT64_MAX << (from - first);
        if (to - first < 64)
            word &= ~(UINT64_MAX << (to - first));
        set += kithi_popcount(word);
    }
    return set;
}

/* Counts the bits that are set in the union or the intersection of the bodies of two filters. */
static inline uint64_t kithi_bits_count(const kith_filter *a, const kith_filter *b, kithi_bits_how how) {
    uint64_t set = 0;
    for (uint64_t at = 0; at < a->head.body_bytes; at += 8)
        set += kithi_popcount(kithi_bits_join(kithi_load64(a->body + at), kithi_load64(b->body + at), how));
    return set;
}

/* Replaces the body of `into` by the union or the intersection of both bodies, and sets its fill and count. */
static inline void kithi_bits_combine(kith_filter *into, const kith_filter *from, kithi_bits_how how, uint64_t fill,
                                      uint64_t count) {
    for (uint64_t at = 0; at < into->head.body_bytes; at += 8)
        kithi_store64(into->body + at,
                      kithi_bits_join(kithi_load64(into->body + at), kithi_load64(from->body + at), how));
    into->head.fill = fill;
    into->head.count = count;
    kithi_crowding_forget(&into->crowding);
}

/* Rounds an estimate to a count that is possible: from `low` to `high`, at most `fill`, and not 0 if a bit is set. */
static inline uint64_t kithi_bits_clamp(double keys, uint64_t low, uint64_t high, uint64_t fill) {
    if (high > fill)
        high = fill;
    if (low == 0 && fill != 0)
        low = 1;
    if (!(keys > (double)low))
        return low;
    return keys < (double)high ? (uint64_t)(keys + 0.5) : high;
}

/* Replaces `into` by the union of both filters. Returns KITH_E_FULL if the merge is refused. keys_at(f, fill) is the
 * kind's estimate of the number of keys in a filter like f with this fill, and rate_of_union(a, b) is the exact rate of
 * the union of a and b. If this is above rate_max, the union is crowded: keys were chosen to crowd some blocks. A kind
 * without blocks passes 1.
 *
 * The two filters may have keys in common, so the number of keys of the union is not known. Therefore the rate decides:
 * the merge is refused if the rate of the union would be above the promised one. There are two exceptions:
 *
 *     The counts add up to at most the capacity, and the union is within the fill limit and not crowded. The keys of
 *     `from` could then also be added one by one.
 *     The union is equal to one of the two filters. */
static inline kith_status kithi_bits_merge(kith_filter *into, const kith_filter *from,
                                           double (*keys_at)(const kith_filter *f, uint64_t fill),
                                           double (*rate_of_union)(const kith_filter *a, const kith_filter *b),
                                           double rate_max) {
    uint64_t fill = kithi_bits_count(into, from, KITHI_BITS_OR);
    uint64_t a = into->head.count, b = from->head.count;
    bool sum_fits = b <= into->head.capacity - a && !kithi_bits_above_limit(into, fill);
    bool nothing_new = fill == into->head.fill || fill == from->head.fill;
    double allowed = sum_fits ? rate_max : into->head.rate;
    if (!nothing_new && allowed < 1 && rate_of_union(into, from) > allowed)
        return KITH_E_FULL;
    uint64_t most = b < into->head.capacity - a ? a + b : into->head.capacity;
    uint64_t count = kithi_bits_clamp(keys_at(into, fill), a > b ? a : b, most, fill);
    kithi_bits_combine(into, from, KITHI_BITS_OR, fill, count);
    return KITH_OK;
}

/* Replaces `into` by the intersection of both filters. Many bits are set in both filters although no common key has set
 * them, so the number of common keys cannot be estimated from the common bits alone. It is estimated as
 * keys(into) + keys(from) - keys(union). The fill of the union is the sum of both fills minus the number of common
 * bits. */
static inline kith_status kithi_bits_intersect(kith_filter *into, const kith_filter *from,
                                               double (*keys_at)(const kith_filter *f, uint64_t fill)) {
    uint64_t fill = kithi_bits_count(into, from, KITHI_BITS_AND);
    uint64_t a = into->head.count, b = from->head.count;
    uint64_t fill_of_union = into->head.fill + from->head.fill - fill;
    double keys = keys_at(into, into->head.fill) + keys_at(into, from->head.fill) - keys_at(into, fill_of_union);
    uint64_t count = kithi_bits_clamp(keys, 0, a < b ? a : b, fill);
    kithi_bits_combine(into, from, KITHI_BITS_AND, fill, count);
    return KITH_OK;
}

static inline bool kithi_bits_subset(const kith_filter *part, const kith_filter *whole) {
    for (uint64_t at = 0; at < part->head.body_bytes; at += 8)
        if ((kithi_load64(part->body + at) & ~kithi_load64(whole->body + at)) != 0)
            return false;
    return true;
}

static inline uint64_t kithi_bits_cell(const kith_filter *f, uint64_t cell) {
    return f->body[cell / 8] >> (cell % 8) & 1;
}

/* Checks that fill is the number of bits set, that no bit is set after the last cell, and that count is plausible. */
static inline const char *kithi_bits_check(const kith_filter *f) {
    uint64_t set = 0;
    for (uint64_t at = 0; at < f->head.body_bytes; at += 8)
        set += kithi_popcount(kithi_load64(f->body + at));
    if (set != f->head.fill)
        return "the number of bits set is not what the header says";
    if (!kithi_is_zero_from(f->body, f->shape.cells, f->head.body_bytes))
        return "a bit after the last cell is set";
    if ((f->head.count == 0) != (f->head.fill == 0) || f->head.count > f->head.fill)
        return "the count of keys does not agree with the number of bits set";
    return NULL;
}

/* ---- repair ---- */

/* Sets bits `from` … `to` - 1 of the body to 1 or, if `set` is false, to 0. */
static inline void kithi_bits_write(uint8_t *body, uint64_t from, uint64_t to, bool set) {
    while (from < to) {
        if (from % 8 == 0 && to - from >= 8) {
            memset(body + from / 8, set ? 0xff : 0, (size_t)((to - from) / 8));
            from += (to - from) / 8 * 8;
            continue;
        }
        uint8_t bit = (uint8_t)(1u << (from % 8));
        body[from / 8] = (uint8_t)(set ? body[from / 8] | bit : body[from / 8] & ~bit);
        from++;
    }
}

/* As kithi_repair.salvage, for cells of all widths. Sets every cell that has a bit in a damaged page to its largest
 * value. So no key is lost, but there are more false positives. A counter with this value is stuck: removals do not
 * change it (kinds/shared/counter_cells.h). A page whose checksum is lost stays as it is, because it is probably
 * right. (If its cells were set, too, a file without checksums would become a filter that returns true for every key.)
 * If all pages are damaged, nothing can be saved. */
static inline kith_status kithi_cells_salvage(kith_filter *f, kithi_damage *damage) {
    uint64_t width = f->shape.cell_bits, end = f->shape.cells * width, bad = 0;
    for (uint64_t i = 0; i < damage->pages; i++)
        bad += damage->page_states[i] == KITHI_PAGE_BAD;
    if (bad == damage->pages)
        return KITH_E_CORRUPT;
    for (uint64_t i = 0; i < damage->pages; i++) {
        if (damage->page_states[i] == KITHI_PAGE_UNSURE)
            damage->keys_at_risk = UINT64_MAX;
        if (damage->page_states[i] != KITHI_PAGE_BAD)
            continue;
        uint64_t from = 8 * KITHI_PAGE_BYTES * i;
        uint64_t to = from + 8 * (uint64_t)kithi_page_bytes(f->head.body_bytes, i);
        from = from / width * width;
        to = (to + width - 1) / width * width;
        kithi_bits_write(f->body, from, to < end ? to : end, true);
    }
    kithi_bits_write(f->body, end, 8 * f->head.body_bytes, false);
    return KITH_OK;
}

/* As kithi_repair.recount. */
static inline void kithi_bits_recount(kith_filter *f) {
    f->head.fill = kithi_bits_count(f, f, KITHI_BITS_OR);
    kithi_crowding_forget(&f->crowding);
    uint64_t most = f->head.fill < f->head.capacity ? f->head.fill : f->head.capacity;
    if (f->head.count == 0 && f->head.fill != 0)
        f->head.count = 1;
    if (f->head.count > most)
        f->head.count = most;
}

#endif
