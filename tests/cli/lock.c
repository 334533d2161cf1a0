/* Tests the lock of the tool on a file system where flock fails: that must be an error. The tests define flock. Each
 * opens a file in a child process, whose messages go to a file. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include "cli/files/opened.h"
#include "unit/opened_file.h"

#include <sys/file.h>
#include <sys/syscall.h>

static int flock_error;       /* the errno of failing calls; 0: no call fails */
static unsigned flock_at = 1; /* the first call that fails, from 1 */
static unsigned flock_calls;

int flock(int fd, int operation) {
    flock_calls++;
    if (flock_error != 0 && flock_calls >= flock_at) {
        errno = flock_error;
        return -1;
    }
    /* The first call, which does not wait, reports that the lock is held, so that the second call is made as well. */
    if (flock_at > 1 && operation & LOCK_NB) {
        errno = EWOULDBLOCK;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static bool no_lock;

static void make_plain(const struct folder *f) {
    flock_error = 0;
    flock_at = 1;
    file_made(in(f, "x.kith"), "bloom", 0, 10, false);
    CHECK(remove(in(f, "x.kith-lock")) == 0);
    flock_calls = 0;
}

static int acquire_lock(const struct folder *f) {
    arguments a = {.no_lock = no_lock, .memory = UINT64_MAX};
    int words = open(in(f, "words"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (words < 0 || dup2(words, STDERR_FILENO) < 0 || chdir(f->path) != 0)
        return 99;
    filter_file file = filter_file_open("x.kith", KITH_FILE_CHANGE, KITH_FILE_LOCK_DEFAULT, &a);
    filter_file_close(&file);
    return 0;
}

static bool words_have(const struct folder *f, const char *text) {
    char line[4096] = "";
    FILE *file = fopen(in(f, "words"), "r");
    if (file == NULL)
        return false;
    size_t bytes = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[bytes] = '\0';
    return strstr(line, text) != NULL;
}

TEST(a_file_system_without_locks_is_an_error_that_mentions_no_lock) {
    static const int errors[] = {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL, EIO, EBADF};
    for (unsigned at = 1; at <= 2; at++) {
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            struct folder f = fresh_folder();
            make_plain(&f);
            flock_error = errors[i];
            flock_at = at;
            no_lock = false;
            CHECK_EQ_U64(in_child(acquire_lock, &f), 2);
            CHECK(words_have(&f, "kith: x.kith: x.kith-lock: this file system cannot lock it; "));
            CHECK(words_have(&f, strerror(errors[i])));
            CHECK(words_have(&f, "(--no-lock works without a lock)"));
            no_lock = true;
            CHECK_EQ_U64(in_child(acquire_lock, &f), 0);
            CHECK(words_have(&f, "") && !words_have(&f, "kith"));
            remove_folder(&f);
        }
    }
}

TEST(a_free_lock_is_acquired_silently) {
    struct folder f = fresh_folder();
    flock_error = 0;
    no_lock = false;
    make_plain(&f);
    for (flock_at = 1; flock_at <= 2; flock_at++) {
        CHECK_EQ_U64(in_child(acquire_lock, &f), 0);
        CHECK(words_have(&f, "") && !words_have(&f, "kith"));
        CHECK(access(in(&f, "x.kith-lock"), F_OK) == 0);
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
