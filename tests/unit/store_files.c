/* The file operations of a store on real files: names that are something else than a file, and calls that fail. */
#define _GNU_SOURCE

#include <sys/resource.h>

#include "check.h"
#include "store_calls.h"
#include "folder.h"
#include "os/files.h"

static const kithi_files *const FILES = &kithi_files_system;

static int open_fresh(const struct folder *f) {
    int folder = open(f->path, O_RDONLY | O_DIRECTORY);
    CHECK(folder >= 0);
    return folder;
}

/* Makes a symbolic link, a folder and a FIFO. */
static void make_oddities(const struct folder *f) {
    CHECK(symlink("target", in(f, "link")) == 0);
    CHECK(mkdir(in(f, "folder"), 0700) == 0);
    CHECK(mkfifo(in(f, "fifo"), 0600) == 0);
}

TEST(only_a_regular_file_is_opened) {
    struct folder f = fresh_folder();
    int folder = open_fresh(&f);
    make_oddities(&f);
    static const struct {
        const char *name;
        bool writable;
        int error;
    } CASES[] = {{"none", false, ENOENT},  {"link", false, ELOOP},  {"folder", false, EISDIR},
                 {"folder", true, EISDIR}, {"fifo", false, EINVAL}, {"fifo", true, EINVAL}};
    int unused = lowest_free_descriptor();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        errno = 0;
        CHECK(FILES->open(NULL, folder, CASES[i].name, CASES[i].writable) == -1);
        CHECK(errno == CASES[i].error);
        CHECK(lowest_free_descriptor() == unused);
    }
    (void)close(folder);
    remove_folder(&f);
}

TEST(a_journal_that_is_not_a_regular_file_is_none) {
    struct folder f = fresh_folder();
    int folder = open_fresh(&f), file;
    make_oddities(&f);
    static const char *const NAMES[] = {"folder", "fifo", "link"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        for (int writable = 0; writable <= 1; writable++)
            CHECK_STATUS(kithi_files_open_journal(FILES, folder, NAMES[i], writable, &file), KITH_E_JOURNAL_FOREIGN);
    CHECK_STATUS(kithi_files_open_journal(FILES, folder, "none", true, &file), KITH_E_NO_FILE);
    (void)close(folder);

    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.capacity = 100;
    spec.rate = 0.01;
    kith_filter *filter;
    kithi_store *store;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kithi_store_create(in(&f, "x"), filter, NULL, &store));
    CHECK_OK(kithi_store_close(store));
    CHECK(unlink(in(&f, "x-journal")) == 0 && mkfifo(in(&f, "x-journal"), 0600) == 0);
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_READ, NULL, &store), KITH_E_JOURNAL_FOREIGN);
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_WRITE, NULL, &store), KITH_E_JOURNAL_FOREIGN);
    CHECK_STATUS(kithi_store_create(in(&f, "x"), filter, NULL, &store), KITH_E_JOURNAL_FOREIGN);
    CHECK_OK(kith_filter_save(filter, in(&f, "x")));
    CHECK_STATUS(kithi_store_convert(in(&f, "x"), NULL, &store), KITH_E_JOURNAL_FOREIGN);
    kith_filter_free(filter);
    remove_folder(&f);
}

/* Opens and locks a lock file for the file "x". */
static int locked(int folder, const char *name) {
    int lock = FILES->open_lock(NULL, folder, name, "x", false);
    if (lock < 0 || FILES->take_lock(NULL, lock, false) == 0)
        return lock;
    FILES->close(NULL, lock); /* keeps errno */
    return -1;
}

TEST(only_an_empty_regular_file_is_a_lock) {
    struct folder f = fresh_folder();
    int folder = open_fresh(&f);
    make_oddities(&f);
    CHECK(make_file(in(&f, "full"), 3, 1, 0600));
    static const char *const NAMES[] = {"link", "folder", "fifo", "full"};
    int unused = lowest_free_descriptor();
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        errno = 0;
        CHECK(locked(folder, NAMES[i]) == -1);
        CHECK(errno == EINVAL);
        CHECK(lowest_free_descriptor() == unused);
    }
    CHECK(access(in(&f, "target"), F_OK) != 0); /* the link was not followed */

    int lock = locked(folder, "lock");
    CHECK(lock >= 0);
    CHECK(locked(folder, "lock") == -1 && errno == EWOULDBLOCK);
    FILES->close(NULL, lock);
    lock = locked(folder, "lock"); /* it exists now, and is free */
    CHECK(lock >= 0);
    FILES->close(NULL, lock);
    CHECK(locked(-1, "lock") == -1 && errno == EBADF);
    (void)close(folder);
    remove_folder(&f);
}

TEST(a_file_that_was_renamed_or_removed_does_not_have_its_name) {
    struct folder f = fresh_folder();
    int folder = open_fresh(&f);
    CHECK(make_file(in(&f, "a"), 3, 1, 0600) && make_file(in(&f, "b"), 4, 2, 0600));
    int file = FILES->open(NULL, folder, "a", false);
    uint64_t bytes;
    CHECK(file >= 0 && FILES->size(NULL, file, &bytes) == 0 && bytes == 3);
    CHECK(FILES->is_named(NULL, file, folder, "a") == 1);
    CHECK(FILES->is_named(NULL, file, folder, "b") == 0);
    CHECK(FILES->is_named(NULL, file, folder, "none") == 0);
    CHECK(rename(in(&f, "b"), in(&f, "a")) == 0);
    CHECK(FILES->is_named(NULL, file, folder, "a") == 0);
    CHECK(FILES->remove(NULL, folder, "a") == 0);
    CHECK(FILES->is_named(NULL, file, folder, "a") == 0);
    CHECK(FILES->remove(NULL, folder, "a") == -1 && errno == ENOENT);
    FILES->close(NULL, file);
    CHECK(FILES->is_named(NULL, file, folder, "a") == 0);
    (void)close(folder);
    remove_folder(&f);
}

TEST(calls_that_fail_return_the_reason) {
    uint64_t bytes;
    CHECK(FILES->size(NULL, -1, &bytes) == -1 && errno == EBADF);
    CHECK(FILES->sync_folder(NULL, -1) == -1 && errno == EBADF);
    CHECK_STATUS(kithi_files_truncate(FILES, -1, 0), KITH_E_IO);
    CHECK_STATUS(kithi_files_write(FILES, -1, "x", 1, 0), KITH_E_IO);
    size_t got;
    uint8_t byte;
    CHECK_STATUS(kithi_files_read(FILES, -1, &byte, 1, 0, &got), KITH_E_IO);
    int unsynced[2];
    CHECK(pipe(unsynced) == 0);
    CHECK(FILES->sync_folder(NULL, unsynced[0]) == 0); /* what cannot be synced need not be */
    (void)close(unsynced[0]);
    (void)close(unsynced[1]);
    struct folder f = fresh_folder();
    CHECK(make_file(in(&f, "empty"), 0, 1, 0600));
    int folder = open_fresh(&f), file = FILES->open(NULL, folder, "empty", true);
    CHECK(file >= 0 && FILES->map(NULL, file, 0, true) == NULL && errno == EINVAL);
    FILES->close(NULL, file);
    (void)close(folder);
    remove_folder(&f);
}

static int64_t write_nothing(void *context, int file, const void *bytes, size_t byte_count, uint64_t offset) {
    (void)context, (void)file, (void)bytes, (void)byte_count, (void)offset;
    return 0;
}

TEST(a_write_that_makes_no_progress_is_an_error) {
    kithi_files stuck = *FILES;
    stuck.write = write_nothing;
    errno = 0;
    CHECK_STATUS(kithi_files_write(&stuck, 0, "x", 1, 0), KITH_E_IO);
    CHECK(errno == EIO);
    CHECK_OK(kithi_files_write(&stuck, 0, "", 0, 0));
}

TEST(the_size_limit_of_the_process_is_known) {
    struct rlimit old, low;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    low = old;
    low.rlim_cur = 1 << 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
    CHECK_EQ_U64(FILES->size_limit(NULL), 1 << 20);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    if (old.rlim_cur == RLIM_INFINITY)
        CHECK_EQ_U64(FILES->size_limit(NULL), UINT64_MAX);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
