/* Bytes from anywhere, given to kith_filter_view; every function is called on what opens. blocks.h makes the bytes. */
#include "core/prng.h"
#include "fuzz/blocks.h"

static volatile uint64_t sink; /* keeps the compiler from removing lookups whose results are not used */

static void change(kith_filter *filter, const kith_filter *other, const uint64_t *digests, size_t n) {
    uint64_t bitmap[4];
    kith_adder *adder = NULL;
    size_t done = 0;
    bool was_new;
    for (size_t i = 0; i < n; i++) {
        sink += (uint64_t)kith_filter_add_many(filter, &digests[i], 1, bitmap, &done);
        sink += (uint64_t)kith_filter_remove_many(filter, &digests[i / 3], 1, &done);
    }
    for (unsigned i = 0; i < 20; i++)
        sink += (uint64_t)kith_filter_add(filter, "again", 5, &was_new);
    sink += (uint64_t)kith_filter_remove(filter, "again", 5);
    sink += (uint64_t)kith_filter_merge(filter, other);
    sink += (uint64_t)kith_filter_intersect(filter, other);
    if (kith_adder_open(filter, &adder) == KITH_OK) {
        sink += (uint64_t)kith_adder_add_many(adder, digests, n, bitmap, &done);
        sink += (uint64_t)kith_adder_add(adder, "again", 5, &was_new);
        kith_adder_close(adder);
    }
}

static void use(kith_filter *filter) {
    enum { DIGESTS = 24 };
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter *clone = NULL, *like = NULL, *again = NULL;
    const char *reason = NULL;
    const void *bytes;
    size_t byte_count;
    uint64_t digests[DIGESTS], maybe[1];
    bool subset = false;
    kithi_prng prng = {1};
    for (size_t i = 0; i < DIGESTS; i++)
        digests[i] = kithi_prng_next(&prng);
    digests[0] = 0;
    digests[1] = UINT64_MAX;

    sink += kith_filter_has_many(filter, digests, DIGESTS, maybe) + maybe[0];
    sink += kith_filter_copies(filter, "x", 1) + kith_filter_has(filter, "x", 1);
    sink += kith_filter_count(filter) + kith_filter_capacity(filter) + kith_filter_capabilities(filter);
    sink += (uint64_t)(kith_filter_kind_name(filter)[0] != 0) + (uint64_t)kith_filter_hash(filter).id;
    sink += (uint64_t)kith_filter_stats_of(filter, &stats) + stats.cells_used + (stats.rate_now > 0.5);
    sink += (uint64_t)kith_filter_plan_of(filter, &plan) + plan.file_bytes + (plan.failure > 0.5);
    bool sound = kith_filter_check(filter, &reason) == KITH_OK;
    HOLD(sound == (reason == NULL));
    if (kith_filter_clone(filter, &FUZZ_ALLOCATOR, &clone) == KITH_OK) {
        sink += (uint64_t)kith_filter_subset(clone, filter, &subset);
        change(clone, filter, digests, DIGESTS);
        /* What was sound stays sound, and what is sound opens again. */
        HOLD(!sound || kith_filter_check(clone, &reason) == KITH_OK);
        kith_status status = kith_filter_bytes(clone, &bytes, &byte_count);
        if (status == KITH_OK)
            status = kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, &FUZZ_ALLOCATOR, &again);
        HOLD(status == KITH_OK || !sound || status == KITH_E_MEMORY); /* layers may grow beyond the limit */
        kith_filter_free(again);
        sink += (uint64_t)kith_filter_clear(clone);
        kith_filter_free(clone);
    }
    if (kith_filter_create_like(filter, &FUZZ_ALLOCATOR, &like) == KITH_OK) {
        change(like, filter, digests, DIGESTS);
        HOLD(!sound || kith_filter_check(like, &reason) == KITH_OK);
        kith_filter_free(like);
    }
    if (!kith_filter_readonly(filter)) {
        change(filter, filter, digests, DIGESTS);
        sink += (uint64_t)kith_filter_clear(filter);
    }
    sink += (uint64_t)kith_filter_bytes(filter, &bytes, &byte_count);
}

static void try_bytes(const uint8_t *bytes, size_t byte_count, unsigned flags) {
    kith_filter *filter = NULL;
    if (kith_filter_view(bytes, byte_count, flags, &FUZZ_ALLOCATOR, &filter) == KITH_OK) {
        use(filter);
        kith_filter_free(filter);
    }
    HOLD(fuzz_live_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_block(data, size, try_bytes);
    return 0;
}
