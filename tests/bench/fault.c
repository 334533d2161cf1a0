/* A filter that loses a key, for the bench to find: kith_filter_has_many with one yes too few, put in its place at link time. */
#include <kith/filter.h>

size_t __real_kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);
size_t __wrap_kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);

size_t __wrap_kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe) {
    size_t yes = __real_kith_filter_has_many(filter, digests, n, maybe);
    return yes == n && n > 1 ? yes - 1 : yes;
}
