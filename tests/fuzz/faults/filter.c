/* A removal takes two copies of a key; a batch forgets its last key; a merge that fails changes the count. */
#include "fuzz/faults/faults.h"
#include "kinds/kind.h"

kith_status __real_kith_filter_remove_digest(kith_filter *filter, uint64_t digest);
kith_status __wrap_kith_filter_remove_digest(kith_filter *filter, uint64_t digest);
kith_status __wrap_kith_filter_remove_digest(kith_filter *filter, uint64_t digest) {
    kith_status status = __real_kith_filter_remove_digest(filter, digest);
    if (status == KITH_OK && is_planted("removes_two_copies") && kith_filter_has_digest(filter, digest) &&
        __real_kith_filter_remove_digest(filter, digest) == KITH_OK)
        filter->head.count++;
    return status;
}

kith_status __real_kith_filter_add_many(kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *was_new,
                                        size_t *done);
kith_status __wrap_kith_filter_add_many(kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *was_new,
                                        size_t *done);
kith_status __wrap_kith_filter_add_many(kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *was_new,
                                        size_t *done) {
    bool forgets = is_planted("a_batch_forgets_a_key") && n > 40;
    kith_status status = __real_kith_filter_add_many(filter, digests, n - forgets, was_new, done);
    if (forgets && status == KITH_OK)
        *done = n;
    return status;
}

kith_status __real_kith_filter_merge(kith_filter *into, const kith_filter *from);
kith_status __wrap_kith_filter_merge(kith_filter *into, const kith_filter *from);
kith_status __wrap_kith_filter_merge(kith_filter *into, const kith_filter *from) {
    kith_status status = __real_kith_filter_merge(into, from);
    if (status == KITH_E_FULL && is_planted("a_failed_merge_counts"))
        into->head.count++;
    return status;
}
