/* What other programs can do to a file, its lock or its journal between opening and committing: the commit fails with a
 * status that has a name, and what is there then is what they have put there. */
#define _GNU_SOURCE

#include "unit/opened_file.h"

static void replace_by_file(const struct folder *f) {
    CHECK(make_file(in(f, "other"), 5000, 2, 0600) && rename(in(f, "other"), in(f, "x")) == 0);
}

static void replace_by_filter(const struct folder *f) {
    file_made(in(f, "other"), "cuckoo", 500, 10, false);
    CHECK(rename(in(f, "other"), in(f, "x")) == 0);
}

static void truncate_it(const struct folder *f) {
    CHECK(truncate(in(f, "x"), 4096) == 0);
}

static void append_to_it(const struct folder *f) {
    int fd = open(in(f, "x"), O_WRONLY | O_APPEND);
    CHECK(fd >= 0 && write(fd, "more", 4) == 4 && close(fd) == 0);
}

static void write_into_it(const struct folder *f) {
    static const struct timespec times[2] = {{1000, 0}, {1000, 0}}; /* the clock of files may be too coarse to differ */
    int fd = open(in(f, "x"), O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, "more", 4, 300) == 4 && futimens(fd, times) == 0 && close(fd) == 0);
}

static void remove_it(const struct folder *f) {
    CHECK(remove(in(f, "x")) == 0);
}

static void link_it(const struct folder *f) {
    CHECK(make_file(in(f, "elsewhere"), 5000, 2, 0600));
    CHECK(remove(in(f, "x")) == 0 && symlink("elsewhere", in(f, "x")) == 0);
}

static void link_back(const struct folder *f) { /* the same file, reached through a link */
    CHECK(rename(in(f, "x"), in(f, "elsewhere")) == 0 && symlink("elsewhere", in(f, "x")) == 0);
}

static void make_it_a_folder(const struct folder *f) {
    CHECK(remove(in(f, "x")) == 0 && mkdir(in(f, "x"), 0700) == 0);
}

static void make_it_a_fifo(const struct folder *f) {
    CHECK(remove(in(f, "x")) == 0 && mkfifo(in(f, "x"), 0600) == 0);
}

static void remove_lock(const struct folder *f) {
    CHECK(remove(in(f, "x-lock")) == 0);
}

static void make_another_lock(const struct folder *f) {
    CHECK(remove(in(f, "x-lock")) == 0 && make_file(in(f, "x-lock"), 0, 1, 0600));
}

static void remove_journal(const struct folder *f) {
    CHECK(remove(in(f, "x-journal")) == 0);
}

static void make_another_journal(const struct folder *f) {
    CHECK(make_file(in(f, "other"), 64, 1, 0600) && rename(in(f, "other"), in(f, "x-journal")) == 0);
}

static const struct act {
    const char *does;
    void (*act)(const struct folder *f);
    bool only_journal;
    bool tears_map; /* a file with a journal is mapped, and reading it would raise SIGBUS */
} ACTS[] = {
    {"replaces it by another file", replace_by_file, false, false},
    {"replaces it by another filter", replace_by_filter, false, false},
    {"truncates it", truncate_it, false, true},
    {"appends to it", append_to_it, false, false},
    {"writes into it", write_into_it, false, false},
    {"removes it", remove_it, false, false},
    {"makes it a link to another file", link_it, false, false},
    {"makes it a link to the same file", link_back, false, false},
    {"makes it a folder", make_it_a_folder, false, false},
    {"makes it a FIFO", make_it_a_fifo, false, false},
    {"removes the lock", remove_lock, false, false},
    {"makes another lock", make_another_lock, false, false},
    {"removes the journal", remove_journal, true, false},
    {"makes another journal", make_another_journal, true, false},
};
enum { ACT_COUNT = sizeof ACTS / sizeof *ACTS };

/* Type, inode, size and mode of every entry of the folder, as one number: changes nothing if the commit changes
 * nothing. */
static uint64_t picture_of(const struct folder *f) {
    static const char *const NAMES[] = {"x", "x-lock", "x-journal", "other", "elsewhere", "elsewhere-lock", "cur"};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct stat st = {.st_size = 0};
        uint64_t words[5] = {i, 0, 0, 0, 0};
        if (lstat(in(f, NAMES[i]), &st) == 0) {
            words[1] = (uint64_t)st.st_ino;
            words[2] = (uint64_t)st.st_mode;
            words[3] = (uint64_t)st.st_size;
            words[4] = (uint64_t)st.st_nlink;
        }
        sum = sum * 31 + kith_digest(&(kith_hash){.id = KITH_HASH_XXH3}, words, sizeof words);
    }
    return sum;
}

/* How a file is opened and changed before the act. */
enum change { ADD, EDIT, REPLACE_IT, REPLACE_MODE, CHANGES };

static kith_file *changed_file(const struct folder *f, enum change change, kith_sync sync) {
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    kith_filter *filter;
    options.sync = sync;
    kith_file *file = file_opened(in(f, "x"), change == REPLACE_MODE ? KITH_FILE_REPLACE : KITH_FILE_CHANGE, &options);
    if (change == ADD)
        CHECK_OK(add_number(file, 1000));
    else if (change == EDIT)
        CHECK_OK(kith_file_edit(file, &filter));
    else
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 900, 3)));
    return file;
}

static void check_act(const struct act *act, bool journal, enum change change) {
    struct folder f = fresh_folder();
    file_made(in(&f, "x"), "cuckoo", 0, 100, journal);
    kith_file *file = changed_file(&f, change, KITH_SYNC_COMMIT);
    act->act(&f);
    uint64_t before = picture_of(&f);
    kith_status status = kith_file_commit(file);
    if (status != KITH_E_REPLACED)
        CHECK_FAIL("journal %d, change %d, another program %s: %s", journal, change, act->does,
                   kith_status_name(status));
    CHECK(strncmp(wrong_name(file), "x", 1) == 0);
    if (!(journal && change == ADD)) /* there the uncommitted batch is cut off */
        CHECK_EQ_U64(picture_of(&f), before);
    CHECK(kith_file_commit(file) != KITH_OK);
    (void)kith_file_close(file);
    if (!(journal && change == ADD))
        CHECK_EQ_U64(picture_of(&f), before);
    remove_folder(&f);
}

TEST(a_commit_does_not_overwrite_what_others_have_done) {
    unsigned cases = 0;
    for (unsigned journal = 0; journal < 2; journal++)
        for (unsigned change = 0; change < CHANGES; change++)
            for (unsigned i = 0; i < ACT_COUNT; i++) {
                bool is_open = journal && change != REPLACE_MODE;
                if ((ACTS[i].only_journal && !is_open) || (ACTS[i].tears_map && is_open))
                    continue;
                check_act(&ACTS[i], journal, (enum change)change);
                cases++;
            }
    CHECK(cases > 80);
}

/* Without a map, a journal's file may even be truncated. */
TEST(a_truncated_snapshot_is_noticed) {
    struct folder f = fresh_folder();
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.no_map = true;
    file_made(in(&f, "x"), "cuckoo", 0, 100, true);
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, &options);
    CHECK_OK(add_number(file, 100));
    truncate_it(&f);
    CHECK_STATUS(add_number(file, 101), KITH_E_REPLACED); /* a call that would acknowledge */
    CHECK_STATUS(add_number(file, 101), KITH_E_READONLY);
    CHECK_STATUS(info_of(file).failure, KITH_E_REPLACED);
    CHECK_STATUS(kith_file_close(file), KITH_E_REPLACED);
    remove_folder(&f);
}

TEST(a_checkpoint_does_not_overwrite_what_others_have_done) {
    for (unsigned i = 0; i < ACT_COUNT; i++) {
        if (ACTS[i].tears_map)
            continue;
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "cuckoo", 0, 100, true);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_OK(add_number(file, 100));
        ACTS[i].act(&f);
        uint64_t before = picture_of(&f);
        CHECK_STATUS(kith_file_checkpoint(file), KITH_E_REPLACED);
        CHECK_STATUS(kith_file_set_journal(file, false), KITH_E_REPLACED);
        CHECK_EQ_U64(picture_of(&f), before);
        (void)kith_file_close(file);
        CHECK_EQ_U64(picture_of(&f), before);
        remove_folder(&f);
    }
}

TEST(a_file_that_was_created_meanwhile_is_left_alone) {
    for (unsigned journal = 0; journal < 2; journal++)
        for (unsigned what = 0; what < 3; what++) {
            struct folder f = fresh_folder();
            kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CREATE, NULL);
            CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
            CHECK_OK(kith_file_set_journal(file, journal));
            if (what == 0)
                replace_by_filter(&f);
            else
                CHECK(what == 1 ? mkdir(in(&f, "x"), 0700) == 0 : symlink("nowhere", in(&f, "x")) == 0);
            uint64_t before = picture_of(&f);
            CHECK_STATUS(kith_file_commit(file), KITH_E_EXISTS);
            CHECK_EQ_U64(picture_of(&f), before);
            CHECK_OK(kith_file_close(file));
            CHECK(!is_there(&f, "x-journal"));
            remove_folder(&f);
        }
}

/* A link that is switched is followed once. */
TEST(a_commit_goes_to_the_file_that_was_locked) {
    for (unsigned journal = 0; journal < 2; journal++)
        for (unsigned change = 0; change < CHANGES; change++) {
            struct folder f = fresh_folder();
            file_made(in(&f, "v1"), "cuckoo", 0, 100, journal);
            file_made(in(&f, "v2"), "cuckoo", 500, 100, journal);
            CHECK(symlink("v1", in(&f, "x")) == 0);
            kith_file *file = changed_file(&f, (enum change)change, KITH_SYNC_COMMIT);
            CHECK(symlink("v2", in(&f, "new")) == 0 && rename(in(&f, "new"), in(&f, "x")) == 0);
            CHECK_OK(kith_file_commit(file));
            CHECK_OK(kith_file_checkpoint(file));
            CHECK_OK(kith_file_close(file));
            CHECK(file_holds(in(&f, "v2"), 500, 100) && file_holds(in(&f, "x"), 500, 100));
            file = file_opened(in(&f, "v1"), KITH_FILE_READ, NULL);
            uint64_t key = change == ADD ? 1000 : change == EDIT ? 0 : 900;
            CHECK(kith_file_has(file, &key, sizeof key));
            CHECK_OK(kith_file_close(file));
            CHECK(is_there(&f, "v1-lock") && !is_there(&f, "x-lock") && !is_there(&f, "x-journal"));
            remove_folder(&f);
        }
}

/* The folder is open, so it may be renamed, and the working directory may change. */
TEST(a_commit_stays_in_the_folder_that_was_found) {
    struct folder f = fresh_folder();
    CHECK(mkdir(in(&f, "a"), 0700) == 0 && symlink("a", in(&f, "b")) == 0);
    file_made(in(&f, "a/x"), "cuckoo", 0, 100, false);
    kith_file *file = file_opened(in(&f, "b/../a/x"), KITH_FILE_CHANGE, NULL);
    CHECK_OK(add_number(file, 100));
    CHECK(rename(in(&f, "a"), in(&f, "c")) == 0 && mkdir(in(&f, "a"), 0700) == 0);
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
    CHECK(file_holds(in(&f, "c/x"), 0, 101) && !is_there(&f, "a/x"));
    remove_folder(&f);
}

/* Another name of the same file keeps the old bytes, as with kith_filter_save(). */
TEST(hard_links_keep_the_old_content) {
    struct folder f = fresh_folder();
    file_made(in(&f, "x"), "cuckoo", 0, 100, false);
    CHECK(link(in(&f, "x"), in(&f, "y")) == 0);
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
    CHECK_OK(add_number(file, 100));
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
    CHECK(file_holds(in(&f, "x"), 0, 101) && file_holds(in(&f, "y"), 0, 100));
    remove_folder(&f);
}

/* What a refresh does agrees with what a new reader finds. (A link in the place of the file is followed only
 * by that.) */
TEST(a_reader_notices_what_took_the_place_of_its_file_and_keeps_what_it_has) {
    for (unsigned journal = 0; journal < 2; journal++)
        for (unsigned i = 0; i < ACT_COUNT; i++) {
            if (ACTS[i].tears_map || ACTS[i].act == append_to_it || ACTS[i].act == write_into_it ||
                (ACTS[i].only_journal && !journal))
                continue;
            struct folder f = fresh_folder();
            file_made(in(&f, "x"), "cuckoo", 0, 100, journal);
            kith_file *file = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
            ACTS[i].act(&f);
            bool changed = false;
            kith_status status = kith_file_refresh(file, &changed);
            CHECK(status == KITH_OK ? has_keys(file, changed ? 500 : 0, 10) : has_keys(file, 0, 100));
            kith_file *now = NULL;
            kith_status of_new = kith_file_open(in(&f, "x"), KITH_FILE_READ, NULL, &now);
            if ((status == KITH_OK) != (of_new == KITH_OK && ACTS[i].act != link_back))
                CHECK_FAIL("journal %d, another program %s: %s, but a new reader: %s", journal, ACTS[i].does,
                           kith_status_name(status), kith_status_name(of_new));
            if (status == KITH_OK)
                CHECK(has_keys(now, changed ? 500 : 0, 10));
            else
                CHECK(strncmp(wrong_name(file), "x", 1) == 0);
            CHECK_OK(kith_file_close(now));
            CHECK_OK(kith_file_close(file));
            remove_folder(&f);
        }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
