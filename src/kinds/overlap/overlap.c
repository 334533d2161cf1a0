/* overlap: a cuckoo filter with overlapping windows (Zentgraf, Schmitz, Rahmann, "Smaller and More Flexible Cuckoo
 * Filters", arXiv 2505.05847).
 *
 * Instead of disjoint buckets it has windows of two neighbouring slots. The body is divided into regions, and the
 * digest of a key selects one of them (kinds/shared/cuckoo_kinds.h). A region has two halves, and in each half a window
 * starts at every slot except the last. A key has two windows, that is four slots, as in a cuckoo filter with buckets
 * of two slots. But because windows overlap, moving an entry to the other slot of its window can make room in another
 * window. So the load (the share of the slots that are in use) can reach 0.965 instead of 0.897.
 *
 *     left half  | slot 0 | slot 1 | slot 2 | …                    half + 1 slots, `half` windows
 *     windows     [ 0            ]
 *                          [ 2            ]
 *                                   [ 4  …
 *     region     | left half | right half |                        the right half has windows 1, 3, 5, …
 *
 * One window of a key has an even number and the other an odd one (kithi_partner in core/mix.h). They are in different
 * halves, so they never overlap.
 *
 * A slot is in two windows, so the code in it must say to which of them the entry belongs. The lowest bit of the code
 * is 0 in the first slot of the entry's window and 1 in the second.
 *
 *     code = fingerprint * 2 + (1 in the second slot of its window)     fingerprint 1 … 2^(slot_bits-1) - 1
 *
 * Code 0 is an empty slot; code 1 is never written. The first slot of a half never holds a second-slot code, and the
 * last slot never holds a first-slot code. A lookup compares each of the key's four slots with the code that the key
 * would have there. About half of the entries in these slots belong to the other window of their slot, and their lowest
 * bit differs from that of the key's code. So the rate is 2 * load / 2^(slot_bits-1). Without the lowest bit, it would
 * be twice as high.
 *
 * Filters are planned for a load of 0.945 at capacity (docs/loads.md), so a key takes about (log2(1/rate) + 2) * 1.06
 * bits. Fingerprints of 3 bits are planned for about 0.93, and those of 2 bits for 0.48 to 0.645.
 *
 * A key can be stored four times, once in each of its slots. Further keys with the same windows and the same
 * fingerprint, whether copies or different keys, go to the stash of the region, a short list at its end, until that is
 * full (kinds/shared/cuckoo_stash.h). Without the stash, a million keys would need slots of at least 12 bits,
 * whatever the rate.
 *
 * Parameters, by index: 0: bits in a slot; 1: half (windows in half a region); 2: number of regions; 6: entries in the
 * stash of a region. */
#include "plan/fit.h"
#include "kinds/shared/cuckoo_batch.h"
#include "kinds/overlap/lookup.h"

static const kith_option OPTIONS[] = {
    {"f", "0..31", "0", "fingerprint bits, 2 or more, without the window bit; 0: as many as the rate needs"},
};

static const kithi_fit_layout FIT_LAYOUT = {.place_slots = 2, .windows = true, .window_bits = 1};

static uint64_t option(const kithi_head *head, unsigned index) {
    (void)index;
    return kithi_overlap_decode_head(head).cf.slot_bits - 1;
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    unsigned fingerprint_bits = (unsigned)request->options[0];
    if (fingerprint_bits == 1)
        return KITH_E_OPTION_VALUE;
    return kithi_cf_choose(FIT_LAYOUT, request, fingerprint_bits != 0 ? fingerprint_bits + 1 : 0, head);
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_cf_geometry g = kithi_overlap_decode_head(head).cf;
    return kithi_cf_expect(&kithi_overlap_layout, FIT_LAYOUT, &g, n);
}

/* ---- operations: those of all cuckoo kinds, compiled for this layout ---- */

#define LAYOUT (&kithi_overlap_layout)
#define PLACES KITHI_CF_WINDOWS
#define HAS_WIDE_BUCKETS false

KITHI_INLINE bool has_key(const kith_filter *f, uint64_t digest) {
    return kithi_cf_has(LAYOUT, &f->geometry.cf, f->body, digest);
}

#include "kinds/shared/cuckoo_record.h"

const kithi_kind kithi_kind_overlap = {
    .lookup = &kithi_lookup_overlap,
    .info =
        {
            .name = "overlap",
            .summary = "fingerprints in overlapping windows: supports deletion, the smallest that does",
            .capabilities = KITHI_CF_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = option, .expect = expect},
    KITHI_CF_OPERATIONS,
};
