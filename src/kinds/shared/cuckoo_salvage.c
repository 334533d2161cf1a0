/* Repairs the body of a cuckoo kind of which some pages are damaged. See kinds/shared/cuckoo_kinds.h for the layout.
 *
 * An entry is only a fingerprint, and nothing else in the filter determines it, so a damaged entry cannot be restored.
 * The content of a damaged page is kept: usually only a few of its bytes are wrong, and lookups still find the entries
 * in the other bytes. A wrong code does little harm: it is only one more entry that other keys may match by chance.
 * Codes that no key can have in their slot are cleared.
 *
 *     1   clear invalid codes, and the unused bits after the slots
 *     2   if there are now more entries than the capacity allows, clear entries of damaged pages
 *     3   stashes: drop invalid entries, and sort the others. If no slot has the twin of an entry (an equal entry:
 *         cuckoo_stash.h), a lookup does not find its key, so the entry moves to an empty candidate slot. If there is
 *         none, it is dropped
 *
 * The count in the header minus the number of entries that were in good pages and are kept is the number of entries
 * that were in damaged pages or are dropped. At most that many keys are lost. In this file, a page whose checksum is
 * lost counts as damaged, too. */
#include "kinds/shared/cuckoo_stash.h"

typedef struct body {
    const kithi_cf_layout *layout;
    kith_filter *f;
    const kithi_damage *damage;
    uint64_t region_slots;
} body;

/* Returns whether the bits `from` … `to` - 1 of a region are all in good pages. */
static bool bits_are_good(const body *b, uint64_t region, uint64_t from, uint64_t to) {
    uint64_t start = region * b->f->geometry.cf.stride;
    uint64_t last = (start + (to - 1) / 8) / KITHI_PAGE_BYTES;
    for (uint64_t page = (start + from / 8) / KITHI_PAGE_BYTES; page <= last; page++)
        if (b->damage->page_states[page] != KITHI_PAGE_GOOD)
            return false;
    return true;
}

static bool slot_is_good(const body *b, uint64_t region, uint64_t slot) {
    uint64_t bits = b->f->geometry.cf.slot_bits;
    return bits_are_good(b, region, slot * bits, (slot + 1) * bits);
}

static uint8_t *region_of(const body *b, uint64_t region) {
    return kithi_cf_region(b->layout, b->f, region);
}

/* Clears the codes of a region that no key can have, and the bits between its last slot and its stash. Adds to *used
 * the number of slots in use, and to *good how many of them are in good pages. */
static void clear_invalid(const body *b, uint64_t r, uint64_t *used, uint64_t *good) {
    uint8_t *region = region_of(b, r);
    const kithi_cf_geometry *g = &b->f->geometry.cf;
    for (uint64_t slot = 0; slot < b->region_slots; slot++) {
        uint32_t code = kithi_cf_get(b->f, region, (uint32_t)slot);
        uint64_t place, fingerprint;
        if (code == 0)
            continue;
        if (!b->layout->decode_entry(g, (uint32_t)slot, code, &place, &fingerprint)) {
            kithi_cf_set(b->f, region, (uint32_t)slot, 0);
            continue;
        }
        ++*used;
        *good += slot_is_good(b, r, slot);
    }
    uint64_t end = b->region_slots * g->slot_bits;
    if (end % 8 != 0)
        region[end / 8] = (uint8_t)(region[end / 8] & ((1u << (end % 8)) - 1));
    for (uint64_t at = (end + 7) / 8; at < g->stash_at; at++)
        region[at] = 0;
}

/* Clears up to `excess` entries of damaged pages. Returns how many it has cleared. */
static uint64_t clear_excess(const body *b, uint64_t excess) {
    uint64_t cleared = 0;
    for (uint64_t r = b->f->geometry.cf.regions; r-- > 0;)
        for (uint64_t slot = b->region_slots; slot-- > 0 && cleared < excess;) {
            if (kithi_cf_get(b->f, region_of(b, r), (uint32_t)slot) == 0 || slot_is_good(b, r, slot))
                continue;
            kithi_cf_set(b->f, region_of(b, r), (uint32_t)slot, 0);
            cleared++;
        }
    return cleared;
}

/* Puts an entry into one of its candidate slots that is empty; returns false if there is none. */
static bool put_in_slot(const body *b, uint8_t *region, const kithi_candidates *candidates) {
    for (unsigned i = 0; i < candidates->count; i++)
        if (kithi_cf_get(b->f, region, candidates->slot[i]) == 0) {
            kithi_cf_set(b->f, region, candidates->slot[i], candidates->code[i]);
            return true;
        }
    return false;
}

/* Builds the stash of a region again from its valid entries. Adds to *used the slots that it fills, to *stashed the
 * entries of the new stash, and to *good those entries of the old stash that were in good pages and are kept. */
static void rebuild_stash(const body *b, uint64_t r, uint64_t *used, uint64_t *stashed, uint64_t *good) {
    uint8_t *region = region_of(b, r);
    const kithi_cf_geometry *g = &b->f->geometry.cf;
    for (uint64_t i = 0; i < g->stash; i++) {
        /* Of the first i entries, some stay in the stash. The words before word i now hold these entries in order, and
         * then zeros. Entry i is taken out, and added again if it stays. */
        uint64_t entry = kithi_stash_get(g, region, i);
        uint64_t first_bit = 8 * (g->stash_at + 8 * i);
        kithi_candidates candidates;
        kithi_store64(kithi_stash_word(g, region, i), 0);
        if (entry == 0 || !kithi_stash_candidates(b->layout, g, entry, &candidates))
            continue;
        bool stays = kithi_cf_matches(b->f, region, &candidates) > 0;
        bool moves = !stays && put_in_slot(b, region, &candidates);
        if (stays)
            kithi_stash_add(g, region, entry);
        *stashed += stays;
        *used += moves;
        *good += (stays || moves) && bits_are_good(b, r, first_bit, first_bit + 64);
    }
}

kith_status kithi_cf_salvage(const kithi_cf_layout *layout, kith_filter *f, kithi_damage *damage) {
    body b = {layout, f, damage, layout->region_slots(&f->geometry.cf)};
    const kithi_cf_geometry *g = &f->geometry.cf;
    uint64_t used = 0, stashed = 0, good = 0, in_stashes = 0;
    for (uint64_t r = 0; r < g->regions; r++) {
        clear_invalid(&b, r, &used, &good);
        for (uint64_t i = 0; i < g->stash; i++)
            in_stashes += kithi_stash_get(g, region_of(&b, r), i) != 0;
    }
    if (used + in_stashes > f->head.capacity)
        used -= clear_excess(&b, used + in_stashes - f->head.capacity);
    for (uint64_t r = 0; r < g->regions; r++)
        rebuild_stash(&b, r, &used, &stashed, &good);
    damage->keys_at_risk = f->head.count > good ? f->head.count - good : 0;
    f->head.count = used + stashed;
    f->head.fill = stashed;
    return KITH_OK;
}

void kithi_cf_recount(const kithi_cf_layout *layout, kith_filter *f) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    uint64_t used = 0, stashed = 0, region_slots = layout->region_slots(g);
    for (uint64_t r = 0; r < g->regions; r++) {
        const uint8_t *region = kithi_cf_region(layout, f, r);
        for (uint64_t slot = 0; slot < region_slots; slot++)
            used += kithi_cf_get(f, region, (uint32_t)slot) != 0;
        stashed += kithi_stash_used(g, region);
    }
    f->head.count = used + stashed;
    f->head.fill = stashed;
}
