/* Planning and checking of the cuckoo kinds. See kinds/shared/cuckoo_kinds.h for the layout. */
#include "kinds/shared/cuckoo_kinds.h"

#include <math.h>

#include "kinds/shared/cuckoo_search.h"

/* Checks the stash of a region whose slots are valid. */
static const char *check_stash(const kithi_cf_layout *layout, const kith_filter *f, const uint8_t *region) {
    const kithi_cf_geometry *g = &f->geometry.cf;
    uint64_t used = kithi_stash_used(g, region);
    for (uint64_t i = used; i < g->stash; i++)
        if (kithi_stash_get(g, region, i) != 0)
            return "a stash has an entry after an unused one";
    for (uint64_t i = 0; i < used; i++) {
        uint64_t entry = kithi_stash_get(g, region, i);
        kithi_candidates candidates;
        if (!kithi_stash_candidates(layout, g, entry, &candidates))
            return "a stash has an entry that no key can have";
        if (i > 0 && kithi_stash_get(g, region, i - 1) > entry)
            return "the entries of a stash are not in increasing order";
        if (kithi_cf_matches(f, region, &candidates) == 0)
            return "an entry of a stash has no copy in its candidate slots";
    }
    return NULL;
}

const char *kithi_cf_check(const kithi_cf_layout *layout, const kith_filter *f) {
    uint64_t region_slots = layout->region_slots(&f->geometry.cf);
    uint64_t used = 0, stashed = 0;
    for (uint64_t r = 0; r < f->geometry.cf.regions; r++) {
        const uint8_t *region = kithi_cf_region(layout, f, r);
        for (uint64_t slot = 0; slot < region_slots; slot++) {
            uint32_t code = kithi_cf_get(f, region, (uint32_t)slot);
            uint64_t place, fingerprint;
            if (code != 0 && !layout->decode_entry(&f->geometry.cf, (uint32_t)slot, code, &place, &fingerprint))
                return "a slot holds a code that no key can have there";
            used += code != 0;
        }
        if (!kithi_is_zero_from(region, region_slots * f->geometry.cf.slot_bits, f->geometry.cf.stash_at))
            return "a bit after the last slot of a region is set";
        const char *broken = check_stash(layout, f, region);
        if (broken != NULL)
            return broken;
        stashed += kithi_stash_used(&f->geometry.cf, region);
    }
    if (stashed != f->head.fill)
        return "the number of entries in the stashes is not the fill";
    return used + stashed == f->head.count ? NULL : "the number of entries is not the count of keys";
}

/* ---- planning ---- */

/* core/mix.h allows this many bits for region, place and fingerprint together. Slots are counted here instead of
 * places, which is stricter by log2(b) bits. */
#define DIGEST_BITS 60
#define FEW_KEYS 1000

kith_status kithi_cf_choose(kithi_fit_layout fit, const kithi_request *request, unsigned slot_bits, kithi_head *head) {
    kithi_fit_size size;
    if (!kithi_fit_choose(&fit, request->capacity, request->rate, slot_bits, &size)) {
        /* Either there are too many keys (KITH_E_ADDRESS), or alternate=simple makes it impossible (KITH_E_OPTION_FIT):
         * with fingerprints of f bits, a region has at most 2^f buckets. That may be too few to hold its keys reliably.
         * The option is the reason if even a few keys do not fit with it, but fit without it. */
        uint64_t few = request->capacity < FEW_KEYS ? request->capacity : FEW_KEYS;
        bool too_small =
            fit.power_of_two && !fit.one_region && !kithi_fit_choose(&fit, few, request->rate, slot_bits, &size);
        fit.power_of_two = false;
        return too_small && kithi_fit_choose(&fit, few, request->rate, slot_bits, &size) ? KITH_E_OPTION_FIT
                                                                                         : KITH_E_ADDRESS;
    }
    double slots = (double)size.regions * (double)kithi_fit_region_slots(&fit, size.half);
    if (log2(slots) + size.slot_bits - fit.window_bits > DIGEST_BITS)
        return KITH_E_DIGEST_BITS;
    head->params[KITHI_PARAM_SLOT_BITS] = size.slot_bits;
    head->params[KITHI_PARAM_HALF] = size.half;
    head->params[KITHI_PARAM_REGIONS] = size.regions;
    head->params[KITHI_PARAM_STASH] = size.stash;
    return KITH_OK;
}

/* The keys do not all fit if no slot can be freed for one of them, or if a region needs more entries than its stash
 * has. */
kithi_expectation kithi_cf_expect(const kithi_cf_layout *layout, kithi_fit_layout fit, const kithi_cf_geometry *g,
                                  uint64_t n) {
    kithi_fit_size size = {(unsigned)g->slot_bits, g->half, g->regions, (unsigned)g->stash};
    return (kithi_expectation){
        .rate = kithi_fit_rate(&fit, &size, n),
        .failure = fmin(1, kithi_fit_room_failure(&fit, &size, n) + kithi_fit_overflow(&fit, &size, n)),
        .search_slots = kithi_cf_search_slots(layout, g),
    };
}
