/* check.h: a small test harness. A test is TEST(name_as_a_sentence) { … } in any file of an executable; main is
 * `return check_main(argc, argv);`. A failed CHECK says where and what, ends its test, and the executable exits 1.
 *
 *     prog                 runs all tests
 *     prog --list          prints their names
 *     prog NAME…           runs those
 *
 * KITH_TIER=soak in the environment asks for the long grids: check_soak(). */
#ifndef KITH_TESTS_CHECK_H
#define KITH_TESTS_CHECK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/status.h>

typedef struct check_test {
    const char *name;
    void (*run)(void);
    struct check_test *next;
} check_test;

static check_test *check_tests; /* sorted by registration, last first */
static jmp_buf check_exit;
static bool check_skipped;

static inline bool check_soak(void) {
    const char *tier = getenv("KITH_TIER");
    return tier != NULL && strcmp(tier, "soak") == 0;
}

#define TEST(test_name)                                                                                                \
    static void test_name(void);                                                                                       \
    static check_test check_entry_##test_name = {#test_name, test_name, NULL};                                         \
    __attribute__((constructor)) static void check_register_##test_name(void) {                                        \
        check_entry_##test_name.next = check_tests;                                                                    \
        check_tests = &check_entry_##test_name;                                                                        \
    }                                                                                                                  \
    static void test_name(void)

#define CHECK_FAIL(...)                                                                                                \
    do {                                                                                                               \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fputc('\n', stderr);                                                                                           \
        longjmp(check_exit, 1);                                                                                        \
    } while (0)

#define CHECK(expression)                                                                                              \
    do {                                                                                                               \
        if (!(expression))                                                                                             \
            CHECK_FAIL("does not hold: %s", #expression);                                                              \
    } while (0)

#define CHECK_EQ_U64(got, want)                                                                                        \
    do {                                                                                                               \
        uint64_t check_got = (got), check_want = (want);                                                               \
        if (check_got != check_want)                                                                                   \
            CHECK_FAIL("%s is %" PRIu64 ", not %" PRIu64, #got, check_got, check_want);                                \
    } while (0)

#define CHECK_STATUS(got, want)                                                                                        \
    do {                                                                                                               \
        kith_status check_got = (got), check_want = (want);                                                            \
        if (check_got != check_want)                                                                                   \
            CHECK_FAIL("%s returns %s, not %s", #got, kith_status_name(check_got), kith_status_name(check_want));      \
    } while (0)

#define CHECK_OK(got) CHECK_STATUS(got, KITH_OK)

#define SKIP(reason)                                                                                                   \
    do {                                                                                                               \
        fprintf(stderr, "skipped: %s\n", reason);                                                                      \
        check_skipped = true;                                                                                          \
        longjmp(check_exit, 1);                                                                                        \
    } while (0)

static inline bool check_wanted(const char *name, int argc, char **argv) {
    if (argc < 2)
        return true;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static inline int check_main(int argc, char **argv) {
    check_test *in_order = NULL;
    while (check_tests != NULL) {
        check_test *next = check_tests->next;
        check_tests->next = in_order;
        in_order = check_tests;
        check_tests = next;
    }
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    static unsigned passed, failed, skipped;
    for (check_test *volatile test = in_order; test != NULL; test = test->next) {
        if (list) {
            puts(test->name);
            continue;
        }
        if (!check_wanted(test->name, argc, argv))
            continue;
        check_skipped = false;
        if (setjmp(check_exit) == 0) {
            test->run();
            printf("ok      %s\n", test->name);
            passed++;
        } else if (check_skipped) {
            printf("skipped %s\n", test->name);
            skipped++;
        } else {
            printf("FAILED  %s\n", test->name);
            failed++;
        }
        fflush(stdout);
    }
    if (list)
        return 0;
    if (passed + failed + skipped == 0) {
        fprintf(stderr, "no test of that name\n");
        return 2;
    }
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed != 0;
}

#endif
