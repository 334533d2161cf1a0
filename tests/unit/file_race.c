/* Another program acts in the moment between the last check of a commit and the exchange of the names. This file
 * defines fsync(), which the replacement calls in that moment, and calls that some file systems do not have: the
 * library is linked into the executable, so its calls come here. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE

#include "unit/opened_file.h"

#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>

static void (*in_between)(void); /* called once, when the new file is synced */
static struct folder here;
static bool is_poor;             /* the file system can neither exchange names nor link files */
static unsigned fail_sync_after; /* the fsync after so many more fails; 0: none */
static bool keeps_names;         /* names cannot be removed */

int fsync(int fd) {
    void (*act)(void) = in_between;
    in_between = NULL;
    if (act != NULL)
        act();
    if (fail_sync_after > 0 && --fail_sync_after == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int renameat2(int folder, const char *from, int to_folder, const char *to, unsigned flags) {
    errno = EINVAL;
    return is_poor ? -1 : (int)syscall(SYS_renameat2, folder, from, to_folder, to, flags);
}

int linkat(int folder, const char *from, int to_folder, const char *to, int flags) {
    errno = EPERM;
    return is_poor ? -1 : (int)syscall(SYS_linkat, folder, from, to_folder, to, flags);
}

int unlinkat(int folder, const char *name, int flags) {
    errno = EACCES;
    return keeps_names ? -1 : (int)syscall(SYS_unlinkat, folder, name, flags);
}

static unsigned times_read; /* how often x was opened for reading */

static int open_and_count(int folder, const char *name, int flags, mode_t mode) {
    times_read += strcmp(name, "x") == 0 && (flags & (O_ACCMODE | O_PATH)) == O_RDONLY;
    return (int)syscall(SYS_openat, folder, name, flags, mode);
}

static bool has_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int openat(int folder, const char *name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = has_mode(flags) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_and_count(folder, name, flags, mode);
}

#ifdef __GLIBC__ /* with _FILE_OFFSET_BITS, openat() is this one */
int openat64(int folder, const char *name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = has_mode(flags) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_and_count(folder, name, flags | O_LARGEFILE, mode);
}
#endif

static bool can_be_locked(const char *path) {
    int fd = open(path, O_RDONLY);
    bool can = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    return close(fd) == 0 && can;
}

static void put_another(void) {
    CHECK(rename(in(&here, "other"), in(&here, "x")) == 0);
}

static void remove_it(void) {
    CHECK(remove(in(&here, "x")) == 0);
}

static void write_into_it(void) {
    int fd = open(in(&here, "x"), O_WRONLY | O_APPEND);
    CHECK(fd >= 0 && write(fd, "more", 4) == 4 && close(fd) == 0);
}

static void make_it_a_link(void) {
    CHECK(remove(in(&here, "x")) == 0 && symlink("other", in(&here, "x")) == 0);
}

static unsigned temporary_files(void) {
    char command[2 * FOLDER_BYTES_MAX];
    (void)snprintf(command, sizeof command, "ls -A '%s' | grep -c '[.]kith-'", here.path);
    FILE *counted = popen(command, "r");
    unsigned count = 99;
    CHECK(counted != NULL && fscanf(counted, "%u", &count) == 1);
    (void)pclose(counted);
    return count;
}

TEST(a_change_opens_the_file_for_reading_once) {
    for (int has_journal = 0; has_journal < 2; has_journal++) {
        here = fresh_folder();
        file_made(in(&here, "x"), "cuckoo", 0, 100, has_journal == 1);
        times_read = 0;
        kith_file *file = file_opened(in(&here, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_OK(add_number(file, 100));
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(kith_file_close(file));
        CHECK(times_read == 1);
        remove_folder(&here);
    }
}

TEST(what_is_written_between_check_and_exchange_is_not_lost) {
    static void (*const acts[])(void) = {put_another, write_into_it, remove_it, make_it_a_link};
    for (size_t i = 0; i < 2 * sizeof acts / sizeof *acts; i++) {
        void (*act)(void) = acts[i / 2];
        is_poor = i % 2;
        here = fresh_folder();
        file_made(in(&here, "x"), "cuckoo", 0, 100, false);
        CHECK(make_file(in(&here, "other"), 5000, 2, 0600));
        kith_file *file = file_opened(in(&here, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_OK(add_number(file, 100));
        in_between = act;
        CHECK_STATUS(kith_file_commit(file), KITH_E_REPLACED);
        CHECK(in_between == NULL && strcmp(wrong_name(file), "x") == 0);
        struct stat st;
        if (act == put_another)
            CHECK(file_is(in(&here, "x"), 5000, 2));
        else if (act == remove_it)
            CHECK(!is_there(&here, "x"));
        else if (act == make_it_a_link)
            CHECK(lstat(in(&here, "x"), &st) == 0 && S_ISLNK(st.st_mode) && file_is(in(&here, "other"), 5000, 2));
        else
            CHECK(stat(in(&here, "x"), &st) == 0 && (uint64_t)st.st_size == info_of(file).file_bytes + 4);
        CHECK_EQ_U64(temporary_files(), 0);
        CHECK_OK(kith_file_close(file));
        remove_folder(&here);
    }
}

TEST(a_file_created_between_check_and_exchange_is_not_lost) {
    for (unsigned i = 0; i < 4; i++) {
        bool journal = i & 1;
        is_poor = i & 2;
        here = fresh_folder();
        CHECK(make_file(in(&here, "other"), 5000, 2, 0600));
        kith_file *file = file_opened(in(&here, "x"), KITH_FILE_CREATE, NULL);
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
        CHECK_OK(kith_file_set_journal(file, journal));
        in_between = put_another;
        CHECK_STATUS(kith_file_commit(file), KITH_E_EXISTS);
        CHECK(file_is(in(&here, "x"), 5000, 2) && !is_there(&here, "x-journal"));
        CHECK_EQ_U64(temporary_files(), 0);
        CHECK_OK(kith_file_close(file));
        remove_folder(&here);
    }
}

/* The mode REPLACE accepts what others create while nothing is locked, but only after it has the lock. */
static void create_filter(void) {
    file_made(in(&here, "x"), "cuckoo", 500, 10, true);
}

TEST(replace_takes_the_lock_of_a_file_that_was_created_meanwhile) {
    is_poor = false;
    here = fresh_folder();
    kith_file *file = file_opened(in(&here, "x"), KITH_FILE_REPLACE, NULL);
    CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
    in_between = create_filter;
    CHECK_OK(kith_file_commit(file));
    CHECK(info_of(file).is_locked && info_of(file).has_journal && file_holds(in(&here, "x"), 0, 10));
    CHECK_EQ_U64(temporary_files(), 0);
    CHECK_OK(kith_file_close(file));
    remove_folder(&here);
}

TEST(a_failed_sync_of_the_folder_undoes_the_commit) {
    is_poor = false;
    for (unsigned exists = 0; exists < 2; exists++) {
        here = fresh_folder();
        if (exists)
            file_made(in(&here, "x"), "cuckoo", 500, 10, false);
        kith_file *file = file_opened(in(&here, "x"), KITH_FILE_CHANGE_OR_CREATE, NULL);
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
        fail_sync_after = 2;
        CHECK_STATUS(kith_file_commit(file), KITH_E_IO);
        CHECK(fail_sync_after == 0 && is_there(&here, "x") == exists);
        CHECK_EQ_U64(temporary_files(), 0);
        if (exists)
            CHECK(file_holds(in(&here, "x"), 500, 10) && can_be_locked(in(&here, "x")));
        CHECK_OK(kith_file_commit(file));
        CHECK(file_holds(in(&here, "x"), 0, 10));
        CHECK_OK(kith_file_close(file));
        remove_folder(&here);
    }
}

TEST(an_old_file_that_cannot_be_removed_is_named) {
    is_poor = false;
    here = fresh_folder();
    file_made(in(&here, "x"), "cuckoo", 500, 10, false);
    kith_file *file = file_opened(in(&here, "x"), KITH_FILE_CHANGE, NULL);
    CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
    keeps_names = true;
    CHECK_OK(kith_file_commit(file));
    keeps_names = false;
    kith_file_info info = info_of(file);
    CHECK(strstr(info.left, ".kith-") != NULL && file_holds(in(&here, "x"), 0, 10));
    CHECK(file_holds(in(&here, info.left), 500, 10));
    CHECK_OK(add_number(file, 10));
    CHECK_OK(kith_file_commit(file)); /* removes it */
    CHECK(info_of(file).left[0] == '\0');
    CHECK_EQ_U64(temporary_files(), 0);
    CHECK_OK(kith_file_close(file));
    remove_folder(&here);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
