/* fault.c: a planted fault that the benchmark must detect. It replaces kith_filter_has_many at link time with a version
 * that reports one key too few, as if the filter had lost it. */
#include <kith/filter.h>

size_t __real_kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);
size_t __wrap_kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);

size_t __wrap_kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe) {
    size_t found = __real_kith_filter_has_many(filter, digests, n, maybe);
    return found == n && n > 1 ? found - 1 : found;
}
