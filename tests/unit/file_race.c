/* Another program acts in the moment between the last check of a commit and the exchange of the names. This file defines
 * fsync(), which the replacement calls in that moment: the library is linked into the executable, so its calls come
 * here. */
#define _GNU_SOURCE

#include "unit/opened_file.h"

#include <sys/syscall.h>

static void (*in_between)(void); /* called once, when the new file is synced */
static struct folder here;

int fsync(int fd) {
    void (*act)(void) = in_between;
    in_between = NULL;
    if (act != NULL)
        act();
    return (int)syscall(SYS_fsync, fd);
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

TEST(what_is_written_between_check_and_exchange_is_not_lost) {
    static void (*const acts[])(void) = {put_another, write_into_it, remove_it, make_it_a_link};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        here = fresh_folder();
        file_made(in(&here, "x"), "cuckoo", 0, 100, false);
        CHECK(make_file(in(&here, "other"), 5000, 2, 0600));
        kith_file *file = file_opened(in(&here, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_OK(add_number(file, 100));
        in_between = acts[i];
        CHECK_STATUS(kith_file_commit(file), KITH_E_REPLACED);
        CHECK(in_between == NULL && strcmp(wrong_name(file), "x") == 0);
        struct stat st;
        if (acts[i] == put_another)
            CHECK(file_is(in(&here, "x"), 5000, 2));
        else if (acts[i] == remove_it)
            CHECK(!is_there(&here, "x"));
        else if (acts[i] == make_it_a_link)
            CHECK(lstat(in(&here, "x"), &st) == 0 && S_ISLNK(st.st_mode) && file_is(in(&here, "other"), 5000, 2));
        else
            CHECK(stat(in(&here, "x"), &st) == 0 && (uint64_t)st.st_size == info_of(file).file_bytes + 4);
        CHECK_EQ_U64(temporary_files(), 0);
        CHECK_OK(kith_file_close(file));
        remove_folder(&here);
    }
}

TEST(a_file_created_between_check_and_exchange_is_not_lost) {
    for (unsigned journal = 0; journal < 2; journal++) {
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

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
