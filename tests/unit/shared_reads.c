/* Tests, for the thread sanitizer, that calls on a const filter may run on any number of threads at the same time. */
#include <kith/kith.h>
#include <pthread.h>

#include "unit/small_filter.h"

#define NUMBERS 2000
#define THREADS 4

static void must(kith_status status) {
    if (status != KITH_OK)
        abort();
}

static void *read_everything(void *context) {
    const kith_filter *filter = context;
    uint64_t digests[64], maybe[1];
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    for (uint64_t i = 0; i < NUMBERS; i++) {
        if (!kith_filter_has(filter, &i, sizeof i) || kith_filter_copies(filter, &i, sizeof i) == 0)
            abort();
        digests[i % 64] = kith_filter_digest(filter, &i, sizeof i);
    }
    if (kith_filter_has_many(filter, digests, 64, maybe) != 64)
        abort();
    must(kith_filter_stats_of(filter, &stats));
    must(kith_filter_plan_of(filter, &plan));
    must(kith_filter_check(filter, NULL));
    kith_filter *copy, *like;
    must(kith_filter_clone(filter, NULL, &copy));
    bool adds = (kith_filter_capabilities(filter) & KITH_CAN_ADD) != 0;
    must(adds ? kith_filter_create_like(filter, NULL, &like) : kith_filter_clone(filter, NULL, &like));
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kith_filter_kind_name(filter);
    spec.capacity = NUMBERS;
    spec.rate = 0.001;
    must(kith_filter_plan(&spec, &plan));
    kith_filter_free(copy);
    kith_filter_free(like);
    return NULL;
}

TEST(const_calls_run_in_many_threads_at_once) {
    for (size_t kind = 0; kind < kith_filter_kind_count(); kind++) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = kith_filter_kind_at(kind)->name;
        spec.capacity = NUMBERS;
        spec.rate = 0.01;
        kith_filter *filter = filter_of_numbers(&spec, NUMBERS);
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, read_everything, filter) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        kith_filter_free(filter);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
