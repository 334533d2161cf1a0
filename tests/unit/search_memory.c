/* The memory that cuckoo filters keep for the search for a free slot is in proportion to small filters: a server may
 * hold very many of them. */
#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"

static kith_filter *full_filter(const char *kind, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = 0.01;
    kith_filter *f;
    CHECK_OK(kith_filter_create(&spec, &f));
    kithi_prng prng = {capacity};
    bool was_new;
    for (uint64_t i = 0; i < capacity; i++)
        CHECK_OK(kith_filter_add_digest(f, kithi_prng_next(&prng), &was_new));
    return f;
}

TEST(a_small_full_filter_keeps_little_memory_to_search) {
    static const char *const kinds[] = {"cuckoo", "overlap"};
    static const uint64_t capacities[] = {4, 30, 100, 500, 1000, 3000};
    for (size_t k = 0; k < 2; k++)
        for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
            kith_filter *f = full_filter(kinds[k], capacities[c]);
            kith_plan plan = KITH_PLAN_INIT;
            CHECK_OK(kith_filter_plan_of(f, &plan));
            /* 12 bytes per place of the queue, two bits per slot; and the handles. */
            CHECK(kith_filter_memory(f) <= plan.file_bytes + 13 * plan.cells + 1000);
            kith_filter_free(f);
        }
}

/* A search that visits every place of a region ends, and reports that the filter is full. */
TEST(a_search_through_everything_ends) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.options = "b=2 f=16";
    spec.capacity = 60;
    spec.rate = 0.01;
    kith_filter *f;
    CHECK_OK(kith_filter_create(&spec, &f));
    kithi_prng prng = {1};
    kith_status status = KITH_OK;
    bool was_new;
    for (unsigned i = 0; i < 10000 && status == KITH_OK; i++)
        status = kith_filter_add_digest(f, kithi_prng_next(&prng), &was_new);
    CHECK(status == KITH_E_FULL);
    kith_filter_free(f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
