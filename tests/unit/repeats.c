/* Tests of build/repeats.c: the first occurrence of each digest is kept, in order. */
#include "check.h"
#include "core/mix.h"
#include "build/repeats.h"

enum { N_MAX = 3000 };

/* Compares the result with that of comparing each digest with all before it. */
static void try_repeats(const uint64_t *digests, size_t n) {
    static uint64_t expected[N_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (j < count && expected[j] != digests[i])
            j++;
        if (j == count)
            expected[count++] = digests[i];
    }
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    uint64_t *copy;
    size_t kept;
    CHECK(kithi_drop_repeats(&allocator, digests, n, NULL, &copy, &kept));
    CHECK_EQ_U64(kept, count);
    CHECK((copy == NULL) == (count == n));
    CHECK(memcmp(copy != NULL ? copy : digests, expected, count * sizeof *expected) == 0);
    kithi_release(&allocator, copy, n * sizeof *copy);

    /* The same, with a bitmap of most first occurrences, for example those that a filter reports as new. */
    static uint64_t firsts[(N_MAX + 63) / 64];
    memset(firsts, 0, sizeof firsts);
    for (size_t i = 0, met = 0; i < n; i++) {
        bool first = met < count && digests[i] == expected[met]; /* `expected` is in order of first occurrence */
        met += first;
        if (first && i % 7 != 0)
            firsts[i / 64] |= UINT64_C(1) << (i % 64);
    }
    CHECK(kithi_drop_repeats(&allocator, digests, n, firsts, &copy, &kept));
    CHECK_EQ_U64(kept, count);
    CHECK((copy == NULL) == (count == n));
    CHECK(memcmp(copy != NULL ? copy : digests, expected, count * sizeof *expected) == 0);
    kithi_release(&allocator, copy, n * sizeof *copy);
}

TEST(repeats_of_any_frequency_and_distance_are_dropped) {
    static uint64_t digests[N_MAX];
    for (size_t n = 1; n <= N_MAX; n += 1 + n / 3) {
        for (uint64_t different = 1; different <= 4 * N_MAX; different += different) {
            for (size_t i = 0; i < n; i++)
                digests[i] = kithi_mix(kithi_mix(i + 1000 * different) % different);
            try_repeats(digests, n);
        }
    }
}

TEST(zero_and_small_numbers_are_digests_like_others) {
    static const uint64_t DIGESTS[] = {0, 1, 2, 0, 3, 1, UINT64_MAX, 0, 4, UINT64_MAX, 5};
    for (size_t n = 1; n <= sizeof DIGESTS / sizeof *DIGESTS; n++)
        try_repeats(DIGESTS, n);
    static uint64_t counting[N_MAX];
    for (size_t i = 0; i < N_MAX; i++)
        counting[i] = i / 2;
    try_repeats(counting, N_MAX);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
