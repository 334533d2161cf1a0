/* Tests of core/cpu.c, which holds the only mutable global of the library. */
#include <pthread.h>

#include "check.h"
#include "core/cpu.h"
#include "kinds/kind.h"

enum { THREADS = 4, ASKED = 1000 };

static void *ask(void *result) {
    const char *first = kith_cpu();
    for (unsigned i = 0; i < ASKED; i++)
        if (kith_cpu() != first)
            first = NULL;
    *(const char **)result = first;
    return NULL;
}

TEST(the_instruction_set_is_the_same_in_every_thread) {
    pthread_t threads[THREADS];
    const char *results[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &results[i]) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(results[i] != NULL && results[i] == kith_cpu());
}

TEST(only_supported_instruction_sets_can_be_chosen) {
    const char *best = kith_cpu();
    size_t taken = 0, count = 0;
    for (; kith_cpu_name(count) != NULL; count++) {
        const char *before = kith_cpu(), *name = kith_cpu_name(count);
        kith_status status = kith_cpu_use(name);
        CHECK(status == KITH_OK || status == KITH_E_UNSUPPORTED);
        CHECK(strcmp(kith_cpu(), status == KITH_OK ? name : before) == 0);
        taken += status == KITH_OK;
    }
    CHECK(count == 4 && taken >= 1);
    CHECK_OK(kith_cpu_use("portable"));
    CHECK_STATUS(kith_cpu_use("AVX2"), KITH_E_ARGUMENT);
    CHECK_STATUS(kith_cpu_use(""), KITH_E_ARGUMENT);
    CHECK(strcmp(kith_cpu(), "portable") == 0);
    CHECK_OK(kith_cpu_use("auto"));
    CHECK(kith_cpu() == best);
}

TEST(the_default_is_the_best_supported_instruction_set) {
    CHECK_OK(kith_cpu_use("auto"));
#if defined(KITH_NO_SIMD)
    CHECK(strcmp(kith_cpu(), "portable") == 0);
#elif defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    CHECK(strcmp(kith_cpu(), avx512 ? "avx512" : avx2 ? "avx2" : "portable") == 0);
#elif defined(__AARCH64EL__)
    CHECK(strcmp(kith_cpu(), "neon") == 0);
#endif
}

TEST(a_filter_keeps_the_instruction_set_that_it_was_created_with) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "blocked";
    spec.capacity = 100;
    spec.rate = 0.01;
    spec.options = "lanes=4"; /* a handle with 8 lanes has the functions of kithi_kind.usual */
    kith_filter *before, *after;
    CHECK_OK(kith_cpu_use("auto"));
    const kithi_cpu best = kithi_cpu_now();
    CHECK_OK(kith_filter_create(&spec, &before));
    CHECK_OK(kith_cpu_use("portable"));
    CHECK_OK(kith_filter_create(&spec, &after));
    CHECK(before->verbs.has == before->kind->kernels[best]->has);
    CHECK(after->verbs.has == after->kind->kernels[KITHI_CPU_PORTABLE]->has);
    CHECK_OK(kith_filter_add_digest(before, 1, NULL));
    CHECK_OK(kith_filter_add_digest(after, 1, NULL));
    CHECK(kith_filter_has_digest(before, 1) && kith_filter_has_digest(after, 1));
    CHECK_OK(kith_cpu_use("auto"));
    kith_filter_free(before);
    kith_filter_free(after);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
