/* Tests digests.c of the tool against a plain sort, with so little memory that it uses temporary files. */
#include "check.h"
#include "cli/digests.h"
#include "splitmix.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t random_word(void) {
    return splitmix_next(&state);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t drop_equal(uint64_t *v, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[kept - 1] != v[i])
            v[kept++] = v[i];
    return kept;
}

static void read_all(digests *d, const uint64_t *wanted, size_t left) {
    CHECK_EQ_U64(digests_finish(d), left);
    uint64_t got[777];
    for (size_t part; (part = digests_next(d, got, sizeof got / sizeof *got)) > 0; wanted += part, left -= part) {
        CHECK(part <= left);
        CHECK(memcmp(wanted, got, part * sizeof *got) == 0);
    }
    CHECK_EQ_U64(left, 0);
    CHECK(digests_next(d, got, 1) == 0);
}

/* Adds n digests below `bound` (0: no bound) in batches of odd sizes, and compares the result with a sort. */
static void compare(size_t n, uint64_t bound, uint64_t memory_bytes, bool keep_copies) {
    state = n ^ bound;
    uint64_t *wanted = malloc((n + 1) * sizeof *wanted);
    for (size_t i = 0; i < n; i++)
        wanted[i] = bound == 0 ? random_word() : random_word() % bound;
    digests *d = digests_new(memory_bytes, keep_copies);
    for (size_t at = 0; at < n;) {
        size_t part = random_word() % 3000;
        part = part < n - at ? part : n - at;
        digests_add_many(d, wanted + at, part);
        at += part;
    }
    qsort(wanted, n, sizeof *wanted, ascending);
    size_t left = keep_copies ? n : drop_equal(wanted, n);
    for (int again = 0; again < 2; again++)
        read_all(d, wanted, left);
    digests_free(d);
    free(wanted);
}

static void compare_both(size_t n, uint64_t bound, uint64_t memory_bytes) {
    compare(n, bound, memory_bytes, false);
    compare(n, bound, memory_bytes, true);
}

TEST(no_digests_give_an_empty_result) {
    compare_both(0, 0, 1 << 20);
    digests_free(NULL);
}

TEST(what_fits_in_memory_is_sorted_there) {
    for (size_t n = 1; n < 100; n++)
        compare_both(n, 0, 1 << 20);
    compare_both(100000, 0, 1 << 20);
    compare_both(100000, 1000, 1 << 20);
    compare_both((1 << 20) / 8, 0, 1 << 20);
    compare_both((1 << 20) / 8 + 1, 0, 1 << 20);
}

TEST(beyond_its_memory_it_writes_runs_and_merges) {
    compare_both(400000, 0, 1 << 20);
    compare_both(400000, 300000, 1 << 18);
    compare_both(400000, UINT64_C(1) << 33, 1 << 19);
}

TEST(many_repeats_never_leave_memory_and_copies_do) {
    compare_both(500000, 100, 1 << 16);
    compare_both(500000, 1, 1 << 16);
}

TEST(runs_of_runs_are_merged) {
    /* The minimum of memory has 640 digests per run, which gives 64 runs quickly, and in the long tier 64 times 64. */
    size_t n = check_soak() ? 3000000 : 300000;
    compare_both(n, 0, 1);
    compare_both(n, n, 1);
}

TEST(the_extreme_values_are_ordinary_digests) {
    static const uint64_t IN[] = {UINT64_MAX, 0, UINT64_MAX, 1, UINT64_MAX - 1, 0};
    static const uint64_t WANTED[] = {0, 1, UINT64_MAX - 1, UINT64_MAX};
    digests *d = digests_new(1 << 20, false);
    digests_add_many(d, IN, 6);
    CHECK_EQ_U64(digests_finish(d), 4);
    uint64_t got[8];
    CHECK_EQ_U64(digests_next(d, got, 8), 4);
    CHECK(memcmp(got, WANTED, sizeof WANTED) == 0);
    digests_free(d);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
