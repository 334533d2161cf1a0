/* Opened files in several processes: who waits for whom, and that no acknowledged key is lost. Processes tell each
 * other what has happened through pipes; nothing depends on how long anything takes. */
#define _GNU_SOURCE

#include "unit/opened_file.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>

/* For tests/coverage.c: a writer must not be killed while it writes its counts. */
bool coverage_begin(void);
bool coverage_begin(void) {
    return false;
}

/* ---- processes ---- */

static void tell(int fd) {
    CHECK(write(fd, "!", 1) == 1);
}

/* Returns false at the end of the pipe. */
static bool hear(int fd) {
    char byte;
    ssize_t got;
    do
        got = read(fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

struct child {
    pid_t pid;
    int says;  /* what the child tells us */
    int hears; /* what we tell it */
};

static struct child start(int (*body)(const char *path, int hears, int says), const char *path) {
    int up[2], down[2];
    CHECK(pipe(up) == 0 && pipe(down) == 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(up[0]);
        (void)close(down[1]);
        _exit(body(path, down[0], up[1]));
    }
    (void)close(up[1]);
    (void)close(down[0]);
    return (struct child){pid, up[0], down[1]};
}

static unsigned end_of(struct child *c) {
    int status = 0;
    (void)close(c->hears);
    CHECK(waitpid(c->pid, &status, 0) == c->pid);
    (void)close(c->says);
    return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 256u + (unsigned)WTERMSIG(status);
}

/* Waits until the process sleeps: it has said that it is about to wait for the lock. */
static void wait_until_it_sleeps(pid_t pid) {
    char path[64], text[256];
    const char *state = NULL;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    while (state == NULL || state[2] != 'S') {
        (void)sched_yield();
        FILE *f = fopen(path, "r");
        CHECK(f != NULL && fgets(text, sizeof text, f) != NULL);
        (void)fclose(f);
        state = strrchr(text, ')');
    }
}

/* ---- waiting ---- */

static int told; /* the pipe to tell when waiting begins */
static unsigned times_asked;

static bool tell_waiting(void *context, const char *lock_name, uint64_t waited_ms) {
    (void)context;
    if (times_asked++ == 0 && waited_ms == 0 && strcmp(lock_name, "x-lock") == 0)
        tell(told);
    return true;
}

static int open_waiting(const char *path, int hears, int says) {
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    kith_file *file;
    if (!hear(hears)) /* until the other one has the lock: before the fork, this process would get it, too */
        return 9;
    told = says;
    options.wait_ms = KITH_FILE_WAIT;
    options.waiting = tell_waiting;
    if (kith_file_open(path, KITH_FILE_CHANGE, &options, &file) != KITH_OK)
        return 1;
    if (add_number(file, 1000) != KITH_OK || kith_file_commit(file) != KITH_OK)
        return 2;
    return kith_file_close(file) == KITH_OK ? 0 : 3;
}

TEST(a_writer_waits_until_the_lock_is_free_and_reads_the_file_then) {
    for (unsigned journal = 0; journal < 2; journal++) {
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "cuckoo", 0, 10, journal);
        struct child c = start(open_waiting, in(&f, "x"));
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        tell(c.hears);
        CHECK(hear(c.says)); /* it is about to wait */
        wait_until_it_sleeps(c.pid);
        CHECK_OK(add_number(file, 10));
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(kith_file_close(file));
        CHECK_EQ_U64(end_of(&c), 0);
        file = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
        CHECK(has_keys(file, 0, 11) && has_keys(file, 1000, 1));
        CHECK_OK(kith_file_close(file));
        remove_folder(&f);
    }
}

/* A process that waits for a lock file that was removed goes on with the new one. */
TEST(a_removed_lock_file_is_no_lock) {
    struct folder f = fresh_folder();
    file_made(in(&f, "x"), "cuckoo", 0, 10, false);
    struct child c = start(open_waiting, in(&f, "x"));
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
    tell(c.hears);
    CHECK(hear(c.says));
    wait_until_it_sleeps(c.pid);
    CHECK(remove(in(&f, "x-lock")) == 0);
    CHECK_OK(add_number(file, 10));
    CHECK_STATUS(kith_file_commit(file), KITH_E_REPLACED);
    CHECK(strcmp(wrong_name(file), "x-lock") == 0);
    CHECK_OK(kith_file_close(file));
    CHECK_EQ_U64(end_of(&c), 0);
    file = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
    CHECK(has_keys(file, 0, 10) && !has_keys(file, 10, 1) && has_keys(file, 1000, 1));
    CHECK_OK(kith_file_close(file));
    CHECK(is_there(&f, "x-lock"));
    remove_folder(&f);
}

/* Holds the lock until it is told to release it. */
static int hold_lock(const char *path, int hears, int says) {
    kith_file *file;
    if (kith_file_open(path, KITH_FILE_CHANGE, NULL, &file) != KITH_OK)
        return 1;
    tell(says);
    if (!hear(hears) || add_number(file, 1000) != KITH_OK || kith_file_commit(file) != KITH_OK)
        return 2;
    return kith_file_close(file) == KITH_OK ? 0 : 3;
}

static bool tell_once(void *context, const char *lock_name, uint64_t waited_ms) {
    struct child *c = context;
    (void)lock_name, (void)waited_ms;
    if (times_asked++ == 0)
        tell(c->hears);
    return true;
}

TEST(a_wait_with_a_limit_gets_the_lock_when_it_is_free) {
    struct folder f = fresh_folder();
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    file_made(in(&f, "x"), "cuckoo", 0, 10, true);
    struct child c = start(hold_lock, in(&f, "x"));
    CHECK(hear(c.says));
    times_asked = 0;
    options.wait_ms = 1000000;
    options.waiting = tell_once;
    options.context = &c;
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, &options);
    CHECK(times_asked > 0 && has_keys(file, 1000, 1));
    CHECK_OK(kith_file_close(file));
    CHECK_EQ_U64(end_of(&c), 0);
    remove_folder(&f);
}

TEST(without_waiting_a_locked_file_is_refused_at_once) {
    struct folder f = fresh_folder();
    kith_file *file, *other;
    kith_file_error error = KITH_FILE_ERROR_INIT;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.error = &error;
    file_made(in(&f, "x"), "cuckoo", 0, 10, false);
    file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
    static const kith_file_mode modes[] = {KITH_FILE_CHANGE, KITH_FILE_REPLACE, KITH_FILE_CHANGE_OR_CREATE};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(kith_file_open(in(&f, "x"), modes[i], &options, &other), KITH_E_LOCKED);
        CHECK(strcmp(error.name, "x-lock") == 0);
    }
    options.wait_ms = 1; /* a limit that passes */
    CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_CHANGE, &options, &other), KITH_E_LOCKED);
    other = file_opened(in(&f, "x"), KITH_FILE_READ, &options); /* readers do not wait */
    CHECK_OK(kith_file_close(other));
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

/* ---- cancelling ---- */

static unsigned signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

static bool until_signal(void *context, const char *lock_name, uint64_t waited_ms) {
    (void)lock_name, (void)waited_ms;
    unsigned *asked = context;
    ++*asked;
    return signals == 0;
}

static bool never(void *context, const char *lock_name, uint64_t waited_ms) {
    (void)context, (void)lock_name, (void)waited_ms;
    return false;
}

/* A timer that repeats, because it may expire before flock waits: as a program does that shows a message. */
static void set_timer(long us) {
    struct itimerval every = {{0, us}, {0, us}};
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

TEST(a_signal_lets_the_caller_cancel_the_wait) {
    struct folder f = fresh_folder();
    kith_file *file, *other;
    unsigned asked = 0;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    struct sigaction action = {.sa_handler = on_signal}, before;
    file_made(in(&f, "x"), "cuckoo", 0, 10, false);
    file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
    CHECK(sigaction(SIGALRM, &action, &before) == 0);
    options.waiting = until_signal;
    options.context = &asked;
    static const uint64_t limits[] = {KITH_FILE_WAIT, 1000000};
    for (size_t i = 0; i < 2; i++) {
        signals = asked = 0;
        options.wait_ms = limits[i];
        set_timer(2000);
        CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_CHANGE, &options, &other), KITH_E_CANCELLED);
        set_timer(0);
        CHECK(signals > 0 && asked >= 1);
    }
    CHECK(sigaction(SIGALRM, NULL, &action) == 0 && action.sa_handler == on_signal); /* still the caller's */
    CHECK(sigaction(SIGALRM, &before, NULL) == 0);
    options.waiting = never;
    CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_CHANGE, &options, &other), KITH_E_CANCELLED);
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

/* ---- many writers ---- */

enum { WRITERS = 4, ROUNDS = 40 };

static uint64_t first_key; /* of a writer, which fork() hands down */

static int write_rounds(const char *path, int hears, int says) {
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    (void)hears;
    options.wait_ms = KITH_FILE_WAIT;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        kith_file *file;
        if (kith_file_open(path, KITH_FILE_CHANGE, &options, &file) != KITH_OK)
            return 1;
        if (add_number(file, first_key + i) != KITH_OK || kith_file_commit(file) != KITH_OK)
            return 2;
        if (kith_file_close(file) != KITH_OK)
            return 3;
        tell(says);
    }
    return 0;
}

/* The writers of a file take turns: none of their keys is lost, and a reader sees each of them complete. */
TEST(writers_in_turn_lose_no_key) {
    for (unsigned journal = 0; journal < 2; journal++) {
        struct folder f = fresh_folder();
        struct child writers[WRITERS];
        uint64_t keys = 0;
        file_made(in(&f, "x"), "cuckoo", 0, 0, journal);
        for (unsigned i = 0; i < WRITERS; i++) {
            first_key = (uint64_t)i * ROUNDS;
            writers[i] = start(write_rounds, in(&f, "x"));
        }
        kith_file *reader = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
        for (uint64_t round = 0; round < ROUNDS; round++)
            for (uint64_t i = 0; i < WRITERS; i++) {
                CHECK(hear(writers[i].says)); /* it has committed this key */
                CHECK_OK(kith_file_refresh(reader, NULL));
                CHECK(has_keys(reader, i * ROUNDS + round, 1));
                keys++;
            }
        CHECK_OK(kith_file_close(reader));
        for (unsigned i = 0; i < WRITERS; i++)
            CHECK_EQ_U64(end_of(&writers[i]), 0);
        CHECK(keys == WRITERS * ROUNDS && file_holds(in(&f, "x"), 0, keys));
        remove_folder(&f);
    }
}

/* Half of the writers reach the file through a link that is switched between two files all the time. Every acknowledged
 * key is in the file that the link referred to when the writer opened it: in one of the two. */
TEST(writers_through_a_link_that_is_switched_lose_no_key) {
    for (unsigned journal = 0; journal < 2; journal++) {
        struct folder f = fresh_folder();
        struct child writers[WRITERS];
        char direct[2 * FOLDER_BYTES_MAX], linked[2 * FOLDER_BYTES_MAX];
        file_made(in(&f, "v1"), "cuckoo", 100000, 10, journal);
        file_made(in(&f, "v2"), "cuckoo", 100000, 10, journal);
        CHECK(symlink("v1", in(&f, "cur")) == 0);
        (void)snprintf(direct, sizeof direct, "%s/v2", f.path);
        (void)snprintf(linked, sizeof linked, "%s/cur", f.path);
        for (unsigned i = 0; i < WRITERS; i++) {
            first_key = (uint64_t)i * ROUNDS;
            writers[i] = start(write_rounds, i % 2 == 0 ? direct : linked);
        }
        for (unsigned flip = 0, ended = 0; ended < WRITERS * ROUNDS; flip++, ended++) {
            CHECK(symlink(flip % 2 == 0 ? "v2" : "v1", in(&f, "new")) == 0);
            CHECK(rename(in(&f, "new"), in(&f, "cur")) == 0);
            CHECK(hear(writers[ended % WRITERS].says));
        }
        for (unsigned i = 0; i < WRITERS; i++)
            CHECK_EQ_U64(end_of(&writers[i]), 0);
        kith_file *v1 = file_opened(in(&f, "v1"), KITH_FILE_READ, NULL);
        kith_file *v2 = file_opened(in(&f, "v2"), KITH_FILE_READ, NULL);
        CHECK(has_keys(v1, 100000, 10) && has_keys(v2, 100000, 10));
        for (uint64_t i = 0; i < WRITERS; i++)
            for (uint64_t key = i * ROUNDS; key < (i + 1) * ROUNDS; key++)
                CHECK(has_keys(v2, key, 1) || (i % 2 == 1 && has_keys(v1, key, 1)));
        CHECK_OK(kith_file_close(v1));
        CHECK_OK(kith_file_close(v2));
        remove_folder(&f);
    }
}

/* ---- kills ---- */

enum { KILLS = 15, KILL_KEYS = 64 };

static _Atomic uint64_t *acknowledged; /* shared with the writer */

/* Tells of each key, and ends only when it is killed. */
static int write_until_killed(const char *path, int hears, int says) {
    kith_file *file;
    if (kith_file_open(path, KITH_FILE_CHANGE, NULL, &file) != KITH_OK)
        return 1;
    for (unsigned i = 0; i < KILL_KEYS; i++) {
        uint64_t key = atomic_load(acknowledged);
        if (add_number(file, key) != KITH_OK || kith_file_commit(file) != KITH_OK)
            return 2;
        atomic_store(acknowledged, key + 1);
        tell(says);
    }
    while (hear(hears)) {
    }
    return 3;
}

static unsigned entries(const struct folder *f) {
    char command[2 * FOLDER_BYTES_MAX];
    unsigned count = 99;
    (void)snprintf(command, sizeof command, "ls -A '%s' | wc -l", f->path);
    FILE *counted = popen(command, "r");
    CHECK(counted != NULL && fscanf(counted, "%u", &count) == 1);
    (void)pclose(counted);
    return count;
}

TEST(what_killed_writers_leave_is_removed_by_the_next_commit) {
    acknowledged = mmap(NULL, sizeof *acknowledged, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(acknowledged != MAP_FAILED);
    for (unsigned journal = 0; journal < 2; journal++) {
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "cuckoo", 0, 0, journal);
        atomic_store(acknowledged, 0);
        for (unsigned kill_at = 0; kill_at < KILLS; kill_at++) {
            struct child c = start(write_until_killed, in(&f, "x"));
            for (unsigned i = 0; i <= 4 * kill_at; i++)
                CHECK(hear(c.says));
            CHECK(kill(c.pid, SIGKILL) == 0);
            CHECK_EQ_U64(end_of(&c), 256 + SIGKILL);
            /* The lock is free, and everything that was acknowledged is there. */
            uint64_t keys = atomic_load(acknowledged);
            kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
            CHECK(has_keys(file, 0, keys));
            if (!has_keys(file, keys, 1))
                CHECK_OK(add_number(file, keys));
            CHECK_OK(add_number(file, keys + 1));
            CHECK_OK(kith_file_commit(file));
            CHECK_OK(kith_file_close(file));
            CHECK_EQ_U64(entries(&f), journal ? 3 : 2);
            atomic_store(acknowledged, keys + 2);
        }
        remove_folder(&f);
    }
    (void)munmap(acknowledged, sizeof *acknowledged);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
