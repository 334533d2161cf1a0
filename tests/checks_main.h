/* checks_main.h: the main of an executable of checks; included by one file, with CHECKS_DEF the list of them.
 *
 *     NAME                     runs all checks, each in a separate process
 *     NAME --list              prints their names
 *     NAME CHECK…              runs those
 *
 * and, over a library with planted faults:
 *
 *     NAME_faulty --fault FAULT --expect-red CHECK
 *
 * exits 0 when the check is green without the fault and red with it. The file that includes this defines
 * prepare_for(fault), which makes the check run over kinds that can show the fault, or returns why it can't. */
#include "folder.h"

typedef struct check {
    const char *name;
    void (*run)(void);
} check;

#undef CHECK
#define CHECK(check_name) {#check_name, check_name},
static const check CHECKS[] = {
#include CHECKS_DEF
};
#define CHECK_COUNT (sizeof CHECKS / sizeof *CHECKS)

static const check *chosen;
static const struct folder *folder_of_check;

const char *file_named(const char *name) {
    return in(folder_of_check, name);
}

/* A check that does not come to an end is red. */
#define SECONDS_MAX 3600
#define SOAK_SECONDS_MAX 86400

static int run_chosen(const struct folder *folder) {
    folder_of_check = folder;
    (void)alarm(check_soak() ? SOAK_SECONDS_MAX : SECONDS_MAX);
    chosen->run();
    exit(0); /* not _exit: a leak checker has its say here */
}

static bool is_green(const check *c) {
    struct folder folder = fresh_folder();
    chosen = c;
    unsigned ended = in_child(run_chosen, &folder);
    remove_folder(&folder);
    if (ended > 255)
        fprintf(stderr, "%s: ended by signal %u\n", c->name, ended - 256);
    return ended == 0;
}

static const check *check_named(const char *name) {
    for (size_t i = 0; i < CHECK_COUNT; i++)
        if (strcmp(CHECKS[i].name, name) == 0)
            return &CHECKS[i];
    fprintf(stderr, "no check is named %s\n", name);
    exit(2);
}

#ifdef KITH_TEST_FAULTS
static int expect_red(const char *fault, const check *c) {
    const char *trouble = prepare_for(fault);
    if (trouble != NULL) {
        fprintf(stderr, "%s: %s\n", fault, trouble);
        return 2;
    }
    if (!is_green(c)) {
        fprintf(stderr, "%s: red without any fault\n", c->name);
        return 1;
    }
    fault_arm(fault);
    fprintf(stderr, "with fault %s:\n", fault);
    bool green = is_green(c);
    printf("%s is %s with fault %s\n", c->name, green ? "GREEN" : "red", fault);
    return green;
}
#endif

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < CHECK_COUNT; i++)
            puts(CHECKS[i].name);
        return 0;
    }
#ifdef KITH_TEST_FAULTS
    if (argc == 5 && strcmp(argv[1], "--fault") == 0 && strcmp(argv[3], "--expect-red") == 0)
        return expect_red(argv[2], check_named(argv[4]));
#endif
    unsigned failed = 0;
    size_t count = argc > 1 ? (size_t)argc - 1 : CHECK_COUNT;
    for (size_t i = 0; i < count; i++) {
        const check *c = argc > 1 ? check_named(argv[i + 1]) : &CHECKS[i];
        bool green = is_green(c);
        printf("%s %s\n", green ? "ok     " : "FAILED ", c->name);
        failed += !green;
    }
    printf("%zu passed, %u failed\n", count - failed, failed);
    return failed != 0;
}
