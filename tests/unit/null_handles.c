/* Tests that a NULL handle, which is a programming error, ends the program by an assert in a debug build, and that no
 * status promises to report it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"

static kith_filter *no_filter;
static kith_adder *no_adder;
static kith_table *no_table;
static kith_exact *no_set;

/* The results do not matter: the calls must not return. */
static void drop(kith_status status) {
    (void)status;
}

static void look(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)context;
    (void)cell;
    (void)holds;
    (void)wanted;
}

static void walk_trace(void *context, uint64_t cell, uint64_t stored, uint64_t displaced) {
    (void)context, (void)cell, (void)stored, (void)displaced;
}

static void trace(void *context, kith_step step, uint64_t at, uint64_t to) {
    (void)context;
    (void)step;
    (void)at;
    (void)to;
}

static uint64_t word;
static size_t size;
static const void *bytes;
static bool result;
static kith_filter *filter;
static kith_table *table;

#define CALLS(X)                                                                                                       \
    X(drop(kith_filter_create(NULL, &filter)))                                                                         \
    X(drop(kith_filter_create_like(no_filter, NULL, &filter)))                                                         \
    X(drop(kith_filter_clone(no_filter, NULL, &filter)))                                                               \
    X(drop(kith_filter_build(NULL, &word, 1, 0, 1, &filter)))                                                          \
    X(kith_filter_set_limit(no_filter, 1))                                                                             \
    X(drop(kith_filter_clear(no_filter)))                                                                              \
    X(drop(kith_filter_add(no_filter, "x", 1, NULL)))                                                                  \
    X(drop(kith_filter_remove(no_filter, "x", 1)))                                                                     \
    X((void)kith_filter_has(no_filter, "x", 1))                                                                        \
    X((void)kith_filter_copies(no_filter, "x", 1))                                                                     \
    X((void)kith_filter_digest(no_filter, "x", 1))                                                                     \
    X(drop(kith_filter_add_digest(no_filter, 1, NULL)))                                                                \
    X(drop(kith_filter_remove_digest(no_filter, 1)))                                                                   \
    X((void)kith_filter_has_digest(no_filter, 1))                                                                      \
    X((void)kith_filter_has_many(no_filter, &word, 1, NULL))                                                           \
    X((void)kith_filter_has_many_parallel(no_filter, &word, 1, NULL, 1))                                               \
    X(drop(kith_filter_add_many(no_filter, &word, 1, NULL, NULL)))                                                     \
    X(drop(kith_filter_remove_many(no_filter, &word, 1, NULL)))                                                        \
    X(drop(kith_adder_open(no_filter, &no_adder)))                                                                     \
    X(drop(kith_adder_add(no_adder, "x", 1, NULL)))                                                                    \
    X(drop(kith_adder_add_many(no_adder, &word, 1, NULL, NULL)))                                                       \
    X(drop(kith_filter_merge(no_filter, no_filter)))                                                                   \
    X(drop(kith_filter_intersect(no_filter, no_filter)))                                                               \
    X(drop(kith_filter_subset(no_filter, no_filter, &result)))                                                         \
    X(drop(kith_filter_disjoint(no_filter, no_filter, &result)))                                                       \
    X((void)kith_filter_count(no_filter))                                                                              \
    X((void)kith_filter_capacity(no_filter))                                                                           \
    X((void)kith_filter_kind_name(no_filter))                                                                          \
    X((void)kith_filter_capabilities(no_filter))                                                                       \
    X((void)kith_filter_readonly(no_filter))                                                                           \
    X((void)kith_filter_has_hash(no_filter, NULL))                                                                     \
    X((void)kith_filter_same_hash(no_filter, no_filter))                                                               \
    X((void)kith_filter_hash(no_filter))                                                                               \
    X(drop(kith_filter_stats_of(no_filter, &(kith_filter_stats)KITH_FILTER_STATS_INIT)))                               \
    X(drop(kith_filter_plan_of(no_filter, &(kith_plan)KITH_PLAN_INIT)))                                                \
    X(drop(kith_filter_check(no_filter, NULL)))                                                                        \
    X((void)kith_filter_look(no_filter, 1, look, NULL))                                                                \
    X(drop(kith_filter_make(NULL, NULL, &filter)))                                                                     \
    X((void)kith_filter_cell(no_filter, 0))                                                                            \
    X(kith_filter_set_trace(no_filter, walk_trace, NULL))                                                              \
    X(drop(kith_filter_bytes(no_filter, &bytes, &size)))                                                               \
    X(drop(kith_filter_save(no_filter, "x")))                                                                          \
    X(drop(kith_filter_open(NULL, 0, NULL, &filter)))                                                                  \
    X(drop(kith_filter_view(NULL, 1, 0, NULL, &filter)))                                                               \
    X(drop(kith_table_create(NULL, &table)))                                                                           \
    X(kith_table_set_trace(no_table, trace, NULL))                                                                     \
    X(drop(kith_table_clear(no_table)))                                                                                \
    X(drop(kith_table_reserve(no_table, 1)))                                                                           \
    X(drop(kith_table_put(no_table, "x", 1, 0, NULL)))                                                                 \
    X((void)kith_table_get(no_table, "x", 1, NULL))                                                                    \
    X((void)kith_table_has(no_table, "x", 1))                                                                          \
    X(drop(kith_table_remove(no_table, "x", 1, NULL)))                                                                 \
    X((void)kith_table_has_many(no_table, &(kith_keys){NULL, "x", 1}, NULL))                                           \
    X(drop(kith_table_put_many(no_table, &(kith_keys){NULL, "x", 1}, NULL, NULL)))                                     \
    X((void)kith_table_count(no_table))                                                                                \
    X((void)kith_table_next(no_table, &(kith_cursor){{0}}, NULL, NULL, NULL))                                          \
    X(drop(kith_table_stats_of(no_table, &(kith_table_stats)KITH_TABLE_STATS_INIT)))                                   \
    X(drop(kith_table_check(no_table, NULL)))                                                                          \
    X(drop(kith_table_save(no_table, "x")))                                                                            \
    X(drop(kith_table_open(NULL, 0, NULL, &table)))                                                                    \
    X((void)kith_table_readonly(no_table))                                                                             \
    X((void)kith_table_kind_name(no_table))                                                                            \
    X(drop(kith_exact_clear(no_set)))                                                                                  \
    X(drop(kith_exact_add(no_set, "x", 1, NULL)))                                                                      \
    X(drop(kith_exact_remove(no_set, "x", 1)))                                                                         \
    X((void)kith_exact_has(no_set, "x", 1))                                                                            \
    X((void)kith_exact_count(no_set))                                                                                  \
    X((void)kith_exact_filter(no_set))                                                                                 \
    X((void)kith_exact_table(no_set))                                                                                  \
    X(drop(kith_exact_check(no_set, NULL)))

#define NAMED(expression) #expression,
static const char *const CALL_NAMES[] = {CALLS(NAMED)};
#undef NAMED

static void make_call(size_t wanted) {
    size_t at = 0;
#define MAKE(expression)                                                                                               \
    if (at++ == wanted)                                                                                                \
        expression;
    CALLS(MAKE)
#undef MAKE
}

/* Returns the signal that ends a child which makes the call, or 0. */
static int signal_of(size_t wanted) {
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0)
            (void)dup2(nowhere, STDERR_FILENO);
        make_call(wanted);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(a_null_handle_ends_in_an_assert) {
#ifdef NDEBUG
    SKIP("asserts are off in this build");
#else
    uint64_t others = 0;
    for (size_t i = 0; i < sizeof CALL_NAMES / sizeof *CALL_NAMES; i++) {
        int got = signal_of(i);
        others += got != SIGABRT;
        if (got != SIGABRT)
            fprintf(stderr, "%s ends by signal %d, not by an assert\n", CALL_NAMES[i], got);
    }
    CHECK_EQ_U64(others, 0);
#endif
}

TEST(no_status_promises_to_report_a_null_pointer) {
#define SENTENCE(number, name, sentence)                                                                               \
    CHECK(strcasestr(sentence, "null") == NULL && strcasestr(sentence, "nil") == NULL);
    KITH_STATUS_LIST(SENTENCE)
#undef SENTENCE
    CHECK(strncmp(kith_status_text(KITH_E_ARGUMENT), "invalid argument: ", 18) == 0);
}

TEST(freeing_null_is_fine) {
    kith_filter_free(NULL);
    kith_adder_close(NULL);
    kith_table_free(NULL);
    kith_exact_free(NULL);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
