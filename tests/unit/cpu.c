/* core/cpu.c: the one mutable global of the library. */
#include <pthread.h>

#include "check.h"
#include "core/cpu.h"

enum { THREADS = 4, ASKED = 1000 };

static void *ask(void *answer) {
    uint32_t first = kithi_cpu_features();
    for (unsigned i = 0; i < ASKED; i++)
        if (kithi_cpu_features() != first)
            first = UINT32_MAX;
    *(uint32_t *)answer = first;
    return NULL;
}

TEST(the_features_of_the_processor_are_the_same_whenever_and_wherever_they_are_asked) {
    pthread_t threads[THREADS];
    uint32_t answers[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &answers[i]) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQ_U64(answers[i], kithi_cpu_features());
}

TEST(only_known_features_are_named_and_none_in_a_portable_build) {
    uint32_t known = KITHI_CPU_AVX2 | KITHI_CPU_AVX512 | KITHI_CPU_NEON;
    CHECK((kithi_cpu_features() & ~known) == 0);
#if defined(KITH_NO_SIMD)
    CHECK_EQ_U64(kithi_cpu_features(), 0);
#elif defined(__x86_64__)
    CHECK((kithi_cpu_features() & KITHI_CPU_NEON) == 0);
    CHECK(((kithi_cpu_features() & KITHI_CPU_AVX2) != 0) == (__builtin_cpu_supports("avx2") != 0));
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    CHECK(((kithi_cpu_features() & KITHI_CPU_AVX512) != 0) == wide);
#elif defined(__aarch64__)
    CHECK_EQ_U64(kithi_cpu_features(), KITHI_CPU_NEON);
#endif
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
