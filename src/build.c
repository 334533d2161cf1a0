/* Building: a filter from an array of digests, all or nothing.
 *
 * Equal digests are one key (unless a multiset is asked for), and the kinds whose bytes depend on the order of adds
 * must see each key where it first occurs. So repeats are dropped by a set that remembers: open addressing with linear
 * probing over at most half of a table of digests, placed by a mix of the digest.
 *
 *     slots   | digest | 0 | digest | digest | 0 | …        0 means empty; the digest 0 itself has a flag
 */
#include <assert.h>

#include "core/hash.h"
#include "core/mix.h"
#include "kind.h"

typedef struct seen_set {
    uint64_t *slots;
    uint64_t slot_count;
    bool zero_seen;
} seen_set;

/* True the first time. */
static bool see(seen_set *set, uint64_t digest) {
    if (digest == 0) {
        bool first = !set->zero_seen;
        set->zero_seen = true;
        return first;
    }
    uint64_t at = kithi_mulhi(kithi_mix(digest), set->slot_count);
    while (set->slots[at] != 0) {
        if (set->slots[at] == digest)
            return false;
        at = at + 1 < set->slot_count ? at + 1 : 0;
    }
    set->slots[at] = digest;
    return true;
}

/* Copies the first occurrence of each digest to `out`, in order; *kept is their number. */
static kith_status drop_repeats(const kith_allocator *allocator, const uint64_t *digests, size_t n, uint64_t *out,
                                size_t *kept) {
    uint64_t set_bytes;
    if (!kithi_mul((uint64_t)n, 2 * sizeof(uint64_t), &set_bytes))
        return KITH_E_MEMORY;
    seen_set set = {kithi_allocate(allocator, set_bytes), 2 * (uint64_t)n, false};
    if (set.slots == NULL)
        return KITH_E_MEMORY;
    *kept = 0;
    for (size_t i = 0; i < n; i++)
        if (see(&set, digests[i]))
            out[(*kept)++] = digests[i];
    kithi_release(allocator, set.slots, set_bytes);
    return KITH_OK;
}

static kith_status create_and_fill(const kith_filter_spec *spec, const uint64_t *digests, size_t n,
                                   kith_filter **filter) {
    kith_filter_spec sized = *spec;
    if (sized.capacity == 0 && (sized.bytes == 0 || sized.rate == 0))
        sized.capacity = n;
    kith_filter *f;
    kith_status status = kith_filter_create(&sized, &f);
    if (status != KITH_OK)
        return status;
    status = kith_filter_add_many(f, digests, n, NULL, NULL);
    if (status != KITH_OK)
        kith_filter_free(f);
    else
        *filter = f;
    return status;
}

kith_status kith_filter_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned flags,
                              kith_filter **filter) {
    assert(spec != NULL && filter != NULL && (digests != NULL || n == 0));
    if (spec->struct_bytes != sizeof *spec || (flags & ~(unsigned)KITH_BUILD_MULTISET) != 0)
        return KITH_E_ARGUMENT;
    if ((flags & KITH_BUILD_MULTISET) != 0) {
        kith_filter_spec multiset = *spec;
        multiset.needs |= KITH_CAN_COPIES;
        return create_and_fill(&multiset, digests, n, filter);
    }
    if (n == 0)
        return create_and_fill(spec, digests, n, filter);
    /* What no number of keys can make right is refused before anything is allocated. */
    kith_filter_spec smallest = *spec;
    kithi_head head;
    if (smallest.capacity == 0 && (smallest.bytes == 0 || smallest.rate == 0))
        smallest.capacity = 1;
    kith_status status = kithi_plan_spec(&smallest, &head);
    if (status != KITH_OK)
        return status;
    if (!kithi_hash_valid(&spec->hash))
        return KITH_E_ARGUMENT;
    kith_allocator allocator = kithi_allocator_or_default(spec->allocator);
    uint64_t distinct_bytes = (uint64_t)n * sizeof *digests; /* no overflow: the caller's array is that large */
    uint64_t *distinct = kithi_allocate(&allocator, distinct_bytes);
    if (distinct == NULL)
        return KITH_E_MEMORY;
    size_t kept;
    status = drop_repeats(&allocator, digests, n, distinct, &kept);
    if (status == KITH_OK)
        status = create_and_fill(spec, distinct, kept, filter);
    kithi_release(&allocator, distinct, distinct_bytes);
    return status;
}
