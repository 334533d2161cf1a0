/* An opened file: the same calls on plain files and on files with a journal, and what is between the two. */
#define _GNU_SOURCE

#include "unit/opened_file.h"

#include <stddef.h>
#include <sys/resource.h>

static const bool BOTH[] = {false, true};
#define EACH(has_journal) for (size_t each_ = 0, has_journal; each_ < 2 && (has_journal = BOTH[each_], true); each_++)

TEST(changes_are_in_the_file_after_a_commit) {
    EACH(journal) {
        struct folder f = fresh_folder();
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        options.sync = KITH_SYNC_COMMIT;
        file_made(in(&f, "x"), "cuckoo", 0, 100, journal);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, &options);
        CHECK(info_of(file).has_journal == journal && info_of(file).is_locked && kith_file_durable(file));
        for (unsigned turn = 0; turn < 3; turn++) {
            CHECK_OK(add_number(file, 100 + turn));
            CHECK(!kith_file_durable(file) && has_keys(file, 0, 101 + turn));
            CHECK(file_holds(in(&f, "x"), 0, 100 + turn)); /* not committed yet */
            CHECK_OK(kith_file_commit(file));
            CHECK(kith_file_durable(file) && file_holds(in(&f, "x"), 0, 101 + turn));
        }
        uint64_t key = 102;
        CHECK_OK(kith_file_remove(file, &key, sizeof key));
        CHECK_STATUS(kith_file_remove(file, &key, sizeof key), KITH_E_ABSENT);
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(kith_file_commit(file)); /* there is nothing to do */
        CHECK(file_holds(in(&f, "x"), 0, 102));
        CHECK_OK(kith_file_close(file));
        CHECK(is_there(&f, "x-lock") && is_there(&f, "x-journal") == journal);
        remove_folder(&f);
    }
}

TEST(what_is_not_committed_is_dropped_by_close_and_rollback) {
    EACH(journal) for (unsigned batch = 0; batch < 2; batch++) {
        struct folder f = fresh_folder();
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        options.sync = batch ? KITH_SYNC_CALL : KITH_SYNC_COMMIT;
        file_made(in(&f, "x"), "cuckoo", 0, 100, journal);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, &options);
        CHECK_OK(kith_file_rollback(file));
        if (batch)
            CHECK_OK(kith_file_begin(file));
        CHECK_OK(add_number(file, 100));
        CHECK_OK(kith_file_rollback(file));
        CHECK(has_keys(file, 0, 100) && !has_keys(file, 100, 1));
        if (batch)
            CHECK_OK(kith_file_begin(file));
        CHECK_OK(add_number(file, 100));
        CHECK_OK(kith_file_commit(file));
        if (batch)
            CHECK_OK(kith_file_begin(file));
        CHECK_OK(add_number(file, 101));
        CHECK_OK(kith_file_close(file));
        CHECK(file_holds(in(&f, "x"), 0, 101));
        remove_folder(&f);
    }
}

TEST(many_digests_are_added_and_removed) {
    EACH(journal) {
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "cuckoo", 0, 0, journal);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        uint64_t digests[130], was_new[3] = {0, 0, 0};
        size_t done = 0;
        bool is_new = false;
        for (uint64_t i = 0; i < 130; i++)
            digests[i] = kith_filter_digest(kith_file_filter(file), &i, sizeof i);
        CHECK_OK(kith_file_add_digest(file, digests[129], &is_new));
        CHECK(is_new);
        CHECK_OK(kith_file_add_many(file, digests, 130, was_new, &done));
        CHECK(done == 130 && was_new[0] == UINT64_MAX && was_new[2] == 1);
        CHECK_OK(kith_file_remove_digest(file, digests[129]));
        CHECK_OK(kith_file_remove_many(file, digests + 100, 30, &done));
        CHECK_STATUS(kith_file_remove_many(file, digests + 99, 2, &done), KITH_E_ABSENT);
        CHECK(done == 1);
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(kith_file_close(file));
        CHECK(file_holds(in(&f, "x"), 0, 99));
        remove_folder(&f);
    }
}

TEST(edit_and_replace_write_the_whole_content) {
    EACH(journal) {
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "bloom", 0, 100, journal);
        kith_file *reader = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        kith_filter *filter, *other = some_filter("bloom", 100, 50);
        const kith_note note = {"where", "here"};
        CHECK_OK(kith_file_edit(file, &filter));
        CHECK_OK(kith_filter_set_notes(filter, &note, 1));
        CHECK_OK(kith_filter_merge(filter, other));
        CHECK_OK(add_number(file, 150));
        CHECK(file_holds(in(&f, "x"), 0, 100));
        CHECK_OK(kith_file_commit(file));
        kith_filter_free(other);
        CHECK(file_holds(in(&f, "x"), 0, 151) && info_of(file).has_journal == journal);
        CHECK(strcmp(kith_filter_note(kith_file_filter(file), "where"), "here") == 0);
        bool changed = false;
        CHECK_OK(kith_file_refresh(reader, &changed));
        CHECK(changed && has_keys(reader, 0, 151));
        CHECK_OK(kith_file_refresh(reader, &changed));
        CHECK(!changed);

        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 7, 3)));
        CHECK(has_keys(file, 7, 3) && !has_keys(file, 10, 1));
        CHECK_OK(kith_file_rollback(file));
        CHECK(has_keys(file, 0, 151));
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 7, 3)));
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(add_number(file, 10));
        CHECK_OK(kith_file_commit(file));
        CHECK(file_holds(in(&f, "x"), 7, 4));
        CHECK_OK(kith_file_close(file));
        CHECK_OK(kith_file_close(reader));
        remove_folder(&f);
    }
}

TEST(a_static_filter_replaces_a_plain_file_only) {
    EACH(journal) {
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        kith_filter *fixed = static_filter();
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, NULL);
        CHECK_STATUS(kith_file_replace(file, fixed), journal ? KITH_E_UNSUPPORTED : KITH_OK);
        if (journal) {
            CHECK_OK(kith_file_set_journal(file, false));
            CHECK_OK(kith_file_replace(file, fixed));
        }
        CHECK_STATUS(kith_file_set_journal(file, true), KITH_E_UNSUPPORTED);
        CHECK_OK(kith_file_commit(file));
        CHECK(!is_there(&f, "x-journal") && !info_of(file).has_journal);
        CHECK_OK(kith_file_close(file));
        file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_STATUS(add_number(file, 1), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_file_set_journal(file, true), KITH_E_UNSUPPORTED);
        CHECK_OK(kith_file_close(file));
        remove_folder(&f);
    }
}

TEST(a_file_gets_a_journal_and_becomes_plain_again) {
    struct folder f = fresh_folder();
    file_made(in(&f, "x"), "overlap", 0, 100, false);
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
    CHECK_OK(kith_file_set_journal(file, false));
    CHECK_OK(kith_file_set_journal(file, true));
    CHECK_OK(kith_file_set_journal(file, true));
    CHECK(info_of(file).has_journal && is_there(&f, "x-journal") && has_keys(file, 0, 100));
    CHECK_OK(add_number(file, 100)); /* durable */
    CHECK(kith_file_durable(file) && info_of(file).journal_bytes > 64 && file_holds(in(&f, "x"), 0, 101));
    CHECK_OK(kith_file_checkpoint(file));
    CHECK(info_of(file).journal_bytes == 64 && info_of(file).generation == 2 && info_of(file).sequence == 1);
    CHECK_OK(add_number(file, 101));
    CHECK_OK(kith_file_set_journal(file, false));
    CHECK(!info_of(file).has_journal && !is_there(&f, "x-journal") && kith_file_filter(file) == NULL);
    CHECK_OK(add_number(file, 102)); /* loads it */
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_checkpoint(file));
    CHECK_OK(kith_file_tick(file));
    CHECK(file_holds(in(&f, "x"), 0, 103));
    CHECK_OK(add_number(file, 103));
    CHECK_OK(kith_file_set_journal(file, true)); /* with the next commit */
    CHECK(!is_there(&f, "x-journal"));
    CHECK_OK(kith_file_commit(file));
    CHECK(is_there(&f, "x-journal") && file_holds(in(&f, "x"), 0, 104));
    CHECK_OK(kith_file_set_journal(file, false));
    CHECK_OK(kith_file_refresh(file, NULL));
    CHECK(has_keys(file, 0, 104));
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

TEST(a_reader_follows_a_file_that_changes_its_nature) {
    struct folder f = fresh_folder();
    file_made(in(&f, "x"), "cuckoo", 0, 100, false);
    kith_file *reader = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
    for (uint64_t turn = 0; turn < 4; turn++) {
        CHECK_OK(kith_file_set_journal(file, turn % 2 == 0));
        CHECK_OK(add_number(file, 100 + turn));
        CHECK_OK(kith_file_commit(file));
        bool changed = false;
        CHECK_OK(kith_file_refresh(reader, &changed));
        CHECK(changed && has_keys(reader, 0, 101 + turn) && info_of(reader).has_journal == (turn % 2 == 0));
        CHECK_STATUS(add_number(reader, 7), KITH_E_READONLY);
        CHECK_STATUS(kith_file_commit(reader), KITH_E_READONLY);
        CHECK_STATUS(kith_file_set_journal(reader, true), KITH_E_READONLY);
        CHECK_STATUS(kith_file_begin(reader), KITH_E_READONLY);
        CHECK_STATUS(kith_file_rollback(reader), KITH_E_READONLY);
        CHECK_STATUS(kith_file_checkpoint(reader), KITH_E_READONLY);
        CHECK_OK(kith_file_tick(reader));
    }
    CHECK_OK(kith_file_close(file));
    CHECK_OK(kith_file_close(reader));
    remove_folder(&f);
}

TEST(create_makes_a_file_that_must_not_exist) {
    EACH(journal) {
        struct folder f = fresh_folder();
        kith_file *file;
        file_made(in(&f, "x"), "cuckoo", 0, 10, journal);
        CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_CREATE, NULL, &file), KITH_E_EXISTS);
        CHECK(file == NULL);
        file = file_opened(in(&f, "y"), KITH_FILE_CHANGE_OR_CREATE, NULL);
        CHECK(!info_of(file).exists && kith_file_filter(file) == NULL && info_of(file).is_locked);
        CHECK_STATUS(add_number(file, 1), KITH_E_NO_FILE);
        CHECK_STATUS(kith_file_commit(file), KITH_E_NO_FILE);
        CHECK_STATUS(kith_file_verify(file), KITH_E_NO_FILE);
        CHECK_OK(kith_file_refresh(file, NULL));
        CHECK_OK(kith_file_set_journal(file, journal));
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
        CHECK(!is_there(&f, "y"));
        CHECK_OK(kith_file_rollback(file));
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(add_number(file, 10));
        CHECK_OK(kith_file_commit(file));
        CHECK(info_of(file).exists && info_of(file).has_journal == journal && file_holds(in(&f, "y"), 0, 11));
        CHECK_OK(kith_file_close(file));
        file = file_opened(in(&f, "y"), KITH_FILE_CHANGE_OR_CREATE, NULL);
        CHECK(info_of(file).exists && has_keys(file, 0, 11));
        CHECK_OK(kith_file_close(file));
        remove_folder(&f);
    }
}

TEST(replace_locks_only_what_others_may_change) {
    struct folder f = fresh_folder();
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, NULL), *other;
    CHECK(!info_of(file).is_locked && !is_there(&f, "x-lock"));
    CHECK_STATUS(kith_file_commit(file), KITH_E_NO_FILE);
    CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
    CHECK(!is_there(&f, "x-lock") && file_holds(in(&f, "x"), 0, 10));

    file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, NULL);
    CHECK(info_of(file).is_locked && is_there(&f, "x-lock"));
    CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_CHANGE, NULL, &other), KITH_E_LOCKED);
    CHECK_OK(kith_file_close(file));
    CHECK(remove(in(&f, "x")) == 0);
    file = file_opened(in(&f, "x"), KITH_FILE_REPLACE,
                       NULL); /* there is a lock file: somebody may be about to create it */
    CHECK(info_of(file).is_locked);
    CHECK_OK(kith_file_close(file));

    /* Created by somebody else before the commit: the commit waits for the lock, and replaces that file. */
    file = file_opened(in(&f, "y"), KITH_FILE_REPLACE, NULL);
    CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 20, 5)));
    file_made(in(&f, "y"), "cuckoo", 0, 10, true);
    CHECK_OK(kith_file_commit(file));
    CHECK(info_of(file).is_locked && info_of(file).has_journal && file_holds(in(&f, "y"), 20, 5));
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

TEST(a_damaged_file_can_be_replaced_and_repaired) {
    EACH(journal) for (unsigned plain = 0; plain < 2; plain++) {
        struct folder f = fresh_folder();
        kith_file *file;
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        kith_file_error error = KITH_FILE_ERROR_INIT;
        options.error = &error;
        file_made(in(&f, "x"), "bloom", 0, 100, journal);
        int fd = open(in(&f, "x"), O_RDWR);
        unsigned char byte;
        CHECK(fd >= 0 && pread(fd, &byte, 1, 1000) == 1);
        byte ^= 4;
        CHECK(pwrite(fd, &byte, 1, 1000) == 1 && close(fd) == 0);
        CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_READ, &options, &file), KITH_E_CORRUPT);
        CHECK(error.status == KITH_E_CORRUPT && strcmp(error.name, "x") == 0);
        file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, &options);
        kith_repair_report report = KITH_REPAIR_REPORT_INIT;
        kith_filter *saved;
        CHECK_OK(kith_file_repair(file, &report, &saved));
        CHECK(report.is_store == journal && report.pages_restored == 1);
        CHECK_OK(kith_file_replace(file, saved));
        CHECK_OK(kith_file_set_journal(file, journal && !plain));
        CHECK_OK(kith_file_commit(file));
        CHECK(info_of(file).has_journal == (journal && !plain));
        CHECK_OK(kith_file_close(file));
        CHECK(is_there(&f, "x-journal") == (journal && !plain));
        file = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
        CHECK(has_keys(file, 0, 100));
        CHECK_OK(kith_file_close(file));
        remove_folder(&f);
    }
}

TEST(a_file_with_a_journal_stays_the_same_when_it_is_replaced) {
    struct folder f = fresh_folder();
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, NULL);
    CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 0, 10)));
    CHECK_OK(kith_file_set_journal(file, true)); /* needs a lock, although nothing is there */
    CHECK_OK(kith_file_commit(file));
    kith_file_info before = info_of(file);
    CHECK(before.is_locked && before.has_journal);
    CHECK_OK(add_number(file, 10));
    CHECK_OK(kith_file_close(file));
    kith_file *reader = file_opened(in(&f, "x"), KITH_FILE_READ, NULL);
    file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, NULL);
    CHECK(info_of(file).has_journal);
    CHECK_OK(kith_file_replace(file, some_filter("bloom", 20, 5)));
    CHECK_OK(kith_file_commit(file));
    kith_file_info after = info_of(file);
    CHECK(memcmp(before.id, after.id, sizeof before.id) == 0 && after.sequence > before.sequence);
    bool changed = false;
    CHECK_OK(kith_file_refresh(reader, &changed));
    CHECK(changed && has_keys(reader, 20, 5) && !has_keys(reader, 0, 1));
    CHECK_OK(kith_file_close(reader));
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

TEST(a_name_may_be_too_long_for_a_lock) {
    struct folder f = fresh_folder();
    char name[252];
    kith_file *file;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    options.lock = KITH_FILE_LOCK_NEVER;
    file = file_opened(in(&f, name), KITH_FILE_CREATE, &options);
    CHECK_OK(kith_file_replace(file, some_filter("bloom", 0, 10)));
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
    CHECK(file_holds(in(&f, name), 0, 10));
    CHECK_STATUS(kith_file_open(in(&f, name), KITH_FILE_CHANGE, NULL, &file), KITH_E_LOCK);
    remove_folder(&f);
}

/* As a user without rights: a reader has to pass through the folder, not to list it; a disk that cannot be written can
 * be examined. */
static int read_as_nobody(const struct folder *f) {
    kith_file *file;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    kith_repair_report report = KITH_REPAIR_REPORT_INIT;
    kith_filter *filter;
    if (!become_nobody())
        return CHILD_SKIPPED;
    if (kith_file_open(in(f, "x"), KITH_FILE_READ, NULL, &file) != KITH_OK || !has_keys(file, 0, 10))
        return 1;
    (void)kith_file_close(file);
    options.lock = KITH_FILE_LOCK_IF_THERE;
    if (kith_file_open(in(f, "open/y"), KITH_FILE_REPLACE, &options, &file) != KITH_OK || info_of(file).is_locked)
        return 2;
    if (kith_file_repair(file, &report, &filter) != KITH_OK || !report.is_whole)
        return 3;
    kith_filter_free(filter);
    (void)kith_file_close(file);
    options.lock = KITH_FILE_LOCK_DEFAULT;
    return kith_file_open(in(f, "open/y"), KITH_FILE_CHANGE, &options, &file) == KITH_E_PERMISSION ? 0 : 4;
}

TEST(readers_need_few_rights) {
    EACH(journal) {
        struct folder f = fresh_folder();
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        CHECK(mkdir(in(&f, "open"), 0755) == 0);
        file_made(in(&f, "open/y"), "bloom", 0, 10, journal);
        CHECK(chmod(f.path, 0711) == 0);
        unsigned result = in_child(read_as_nobody, &f);
        CHECK(chmod(f.path, 0700) == 0);
        remove_folder(&f);
        if (result == CHILD_SKIPPED)
            SKIP("cannot give up the rights of root");
        CHECK_EQ_U64(result, 0);
    }
}

TEST(files_that_cannot_be_replaced_are_refused_before_they_are_locked) {
    EACH(journal) {
        struct folder f = fresh_folder();
        kith_file *file;
        kith_file_error error = KITH_FILE_ERROR_INIT;
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        options.error = &error;
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        CHECK(remove(in(&f, "x-lock")) == 0 && chmod(in(&f, "x"), 0444) == 0);
        for (unsigned mode = KITH_FILE_CHANGE; mode <= KITH_FILE_REPLACE; mode++) {
            CHECK_STATUS(kith_file_open(in(&f, "x"), (kith_file_mode)mode, &options, &file), KITH_E_PERMISSION);
            CHECK(strcmp(error.name, "x") == 0 && !is_there(&f, "x-lock"));
        }
        CHECK(chmod(in(&f, "x"), 0600) == 0);
        CHECK(file_holds(in(&f, "x"), 0, 10));
        remove_folder(&f);
    }
}

TEST(a_lock_at_the_commit_lets_others_change_the_file_until_then) {
    EACH(journal) {
        struct folder f = fresh_folder();
        kith_file *file, *other;
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        options.lock = KITH_FILE_LOCK_COMMIT;
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, &options);
        CHECK(!info_of(file).is_locked);
        CHECK_OK(kith_file_replace(file, some_filter("cuckoo", 20, 10)));
        other = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_OK(add_number(other, 10));
        CHECK_OK(kith_file_commit(other));
        CHECK_STATUS(kith_file_wait(file), KITH_E_LOCKED);
        CHECK_STATUS(kith_file_commit(file), KITH_E_LOCKED);
        CHECK_OK(kith_file_close(other));
        CHECK_OK(kith_file_wait(file));
        CHECK(info_of(file).is_locked);
        CHECK(file_holds(in(&f, "x"), 0, 11));
        CHECK_OK(kith_file_commit(file));
        CHECK(info_of(file).is_locked && info_of(file).has_journal == (journal != 0));
        CHECK_OK(kith_file_close(file));
        CHECK(file_holds(in(&f, "x"), 20, 10));
        remove_folder(&f);
    }
}

TEST(other_bytes_replace_a_plain_file_only) {
    EACH(journal) {
        struct folder f = fresh_folder();
        char text[8] = "";
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_STATUS(kith_file_commit_bytes(file, "text", 4), KITH_E_READONLY);
        CHECK_OK(kith_file_close(file));
        file = file_opened(in(&f, "x"), KITH_FILE_REPLACE, NULL);
        CHECK_STATUS(kith_file_commit_bytes(file, "text", 4), journal ? KITH_E_UNSUPPORTED : KITH_OK);
        if (journal)
            CHECK(file_holds(in(&f, "x"), 0, 10));
        else
            CHECK_OK(kith_file_commit_bytes(file, "text", 4)); /* over what was just written */
        CHECK_OK(kith_file_close(file));
        int fd = open(in(&f, "x"), O_RDONLY);
        CHECK(fd >= 0 && read(fd, text, sizeof text) > 0 && close(fd) == 0);
        CHECK((memcmp(text, "text", 5) == 0) == !journal);
        file = file_opened(in(&f, "new"), KITH_FILE_REPLACE, NULL);
        CHECK_OK(kith_file_commit_bytes(file, "text", 4));
        CHECK_OK(kith_file_close(file));
        CHECK(is_there(&f, "new") && !is_there(&f, "new-lock"));
        remove_folder(&f);
    }
}

TEST(the_limit_of_a_file_can_be_changed) {
    EACH(journal) {
        struct folder f = fresh_folder();
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_filter *filter;
        spec.kind = "layers";
        spec.capacity = 100;
        spec.rate = 1e-6;
        CHECK_OK(kith_filter_create(&spec, &filter));
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CREATE, NULL);
        CHECK_OK(kith_file_replace(file, filter));
        CHECK_OK(kith_file_set_journal(file, journal));
        CHECK_OK(kith_file_commit(file));
        kith_file_set_limit(file, 1);
        kith_status status = KITH_OK;
        uint64_t key = 0;
        while (status == KITH_OK && key < FILE_CAPACITY)
            status = add_number(file, key++);
        CHECK_STATUS(status, KITH_E_TOO_LARGE);
        kith_file_set_limit(file, 0);
        CHECK_OK(add_number(file, key - 1));
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_file_bytes(file, &bytes, &byte_count));
        CHECK_EQ_U64(byte_count, kith_filter_file_bytes(kith_file_filter(file)));
        CHECK_OK(kith_file_commit(file));
        CHECK_OK(kith_file_close(file));
        CHECK(file_holds(in(&f, "x"), 0, key));
        remove_folder(&f);
    }
}

TEST(files_that_are_no_filters_are_refused_and_get_no_lock) {
    struct folder f = fresh_folder();
    kith_file *file;
    kith_file_error error = KITH_FILE_ERROR_INIT;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.error = &error;
    CHECK(make_file(in(&f, "text"), 500, 1, 0600) && make_file(in(&f, "empty"), 0, 1, 0600));
    CHECK(mkdir(in(&f, "folder"), 0700) == 0 && mkfifo(in(&f, "fifo"), 0600) == 0);
    static const struct {
        const char *name;
        kith_status status;
        int error;
    } CASES[] = {{"text", KITH_E_NOT_KITH, 0},       {"empty", KITH_E_EMPTY, 0},  {"none", KITH_E_NO_FILE, ENOENT},
                 {"folder", KITH_E_IO, EISDIR},      {"fifo", KITH_E_IO, EINVAL}, {"no/x", KITH_E_NO_FILE, ENOENT},
                 {"text/x", KITH_E_NO_FILE, ENOTDIR}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (unsigned mode = KITH_FILE_READ; mode <= KITH_FILE_CHANGE; mode++) {
            int unused = lowest_free_descriptor();
            CHECK_STATUS(kith_file_open(in(&f, CASES[i].name), (kith_file_mode)mode, &options, &file), CASES[i].status);
            CHECK(file == NULL && error.status == CASES[i].status && error.system_error == CASES[i].error);
            CHECK(lowest_free_descriptor() == unused);
        }
    static const char *const LOCKS[] = {"text-lock", "empty-lock", "none-lock", "folder-lock", "fifo-lock"};
    for (size_t i = 0; i < sizeof LOCKS / sizeof *LOCKS; i++)
        CHECK(!is_there(&f, LOCKS[i]));

    file_made(in(&f, "x"), "bloom", 0, 10, false);
    CHECK(remove(in(&f, "x-lock")) == 0 && mkdir(in(&f, "x-lock"), 0700) == 0);
    CHECK_STATUS(kith_file_open(in(&f, "x"), KITH_FILE_CHANGE, &options, &file), KITH_E_LOCK);
    CHECK(strcmp(error.name, "x-lock") == 0 && error.system_error == 0);
    options.lock = KITH_FILE_LOCK_NEVER;
    file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, &options);
    CHECK_OK(add_number(file, 10));
    CHECK_OK(kith_file_commit(file));
    CHECK_STATUS(kith_file_set_journal(file, true), KITH_E_LOCK);
    CHECK_OK(kith_file_close(file));
    file_made(in(&f, "j"), "bloom", 0, 10, true);
    CHECK_STATUS(kith_file_open(in(&f, "j"), KITH_FILE_CHANGE, &options, &file), KITH_E_LOCK);
    CHECK_STATUS(kith_file_open(in(&f, "j"), KITH_FILE_REPLACE, &options, &file), KITH_E_LOCK);
    CHECK(remove(in(&f, "j-journal")) == 0);
    CHECK_STATUS(kith_file_open(in(&f, "j"), KITH_FILE_READ, &options, &file), KITH_E_JOURNAL_MISSING);
    CHECK(strcmp(error.name, "j-journal") == 0);
    remove_folder(&f);
}

TEST(memory_is_limited) {
    EACH(journal) {
        struct folder f = fresh_folder();
        kith_file *file;
        kith_file_error error = KITH_FILE_ERROR_INIT;
        kith_file_options options = KITH_FILE_OPTIONS_INIT;
        options.error = &error;
        options.max_bytes = 1000;
        options.no_map = true;
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        for (unsigned mode = KITH_FILE_READ; mode <= KITH_FILE_CHANGE; mode++) {
            CHECK_STATUS(kith_file_open(in(&f, "x"), (kith_file_mode)mode, &options, &file), KITH_E_TOO_LARGE);
            CHECK(error.needed_bytes > 1000);
        }
        options.max_bytes = error.needed_bytes;
        for (unsigned mode = KITH_FILE_READ; mode <= KITH_FILE_CHANGE; mode++) {
            file = file_opened(in(&f, "x"), (kith_file_mode)mode, &options);
            CHECK(has_keys(file, 0, 10));
            CHECK_OK(kith_file_close(file));
        }
        options.max_bytes = 1000;
        options.no_map = false;
        file = file_opened(in(&f, "x"), KITH_FILE_READ, &options); /* a map needs no memory */
        CHECK_OK(kith_file_close(file));
        remove_folder(&f);
    }
}

TEST(descriptors_are_opened_together_and_read_in_a_sandbox) {
    EACH(journal) {
        struct folder f = fresh_folder();
        int unused = lowest_free_descriptor(), file, fd_journal;
        kith_file *opened;
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        CHECK(symlink("x", in(&f, "link")) == 0);
        CHECK_OK(kith_file_descriptors(in(&f, "link"), &file, &fd_journal));
        CHECK((fd_journal >= 0) == journal && (journal || fd_journal == -ENOENT));
        if (journal) {
            CHECK_STATUS(kith_file_open_fd(file, -1, NULL, &opened), KITH_E_JOURNAL_MISSING);
            CHECK_STATUS(kith_file_open_fd(file, -EACCES, NULL, &opened), KITH_E_PERMISSION);
            CHECK_STATUS(kith_file_open_fd(file, -EISDIR, NULL, &opened), KITH_E_JOURNAL_FOREIGN);
        }
        CHECK_OK(kith_file_open_fd(file, fd_journal, NULL, &opened));
        CHECK(has_keys(opened, 0, 10) && info_of(opened).has_journal == journal && info_of(opened).exists);
        bool changed = true;
        CHECK_OK(kith_file_refresh(opened, &changed));
        CHECK(!changed);
        CHECK_OK(kith_file_verify(opened));
        CHECK_OK(kith_file_close(opened));
        CHECK(lowest_free_descriptor() == unused);
        CHECK_STATUS(kith_file_descriptors(in(&f, "none"), &file, &fd_journal), KITH_E_NO_FILE);
        int null = open("/dev/null", O_RDONLY);
        CHECK_STATUS(kith_file_open_fd(null, -1, NULL, &opened), KITH_E_IO);
        (void)close(null);
        CHECK(lowest_free_descriptor() == unused);
        remove_folder(&f);
    }
}

TEST(a_stream_is_written_directly) {
    struct folder f = fresh_folder();
    kith_file *file;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    CHECK_STATUS(kith_file_open("/dev/null", KITH_FILE_REPLACE, &options, &file), KITH_E_IO);
    options.streams = true;
    file = file_opened("/dev/null", KITH_FILE_REPLACE, &options);
    CHECK(info_of(file).is_stream && !info_of(file).is_locked);
    CHECK_OK(kith_file_replace(file, some_filter("bloom", 0, 10)));
    CHECK_STATUS(kith_file_set_journal(file, true), KITH_E_READONLY);
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
    file = file_opened("/dev/full", KITH_FILE_REPLACE, &options);
    CHECK_OK(kith_file_replace(file, some_filter("bloom", 0, 10)));
    CHECK_STATUS(kith_file_commit(file), KITH_E_NO_SPACE);
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

TEST(a_full_disk_at_commit_leaves_the_file_and_the_changes) {
    EACH(journal) {
        struct folder f = fresh_folder();
        struct rlimit old, low;
        file_made(in(&f, "x"), "bloom", 0, 10, journal);
        kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, NULL);
        CHECK_OK(kith_file_replace(file, some_filter("bloom", 0, 20)));
        CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
        low = old;
        low.rlim_cur = 1000;
        CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
        kith_status status = kith_file_commit(file);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK_STATUS(status, KITH_E_NO_SPACE);
        CHECK(strcmp(wrong_name(file), "x") == 0 && info_of(file).left[0] == '\0');
        CHECK(file_holds(in(&f, "x"), 0, 10) && has_keys(file, 0, 20));
        CHECK_OK(kith_file_commit(file));
        CHECK(file_holds(in(&f, "x"), 0, 20));
        CHECK_OK(kith_file_close(file));
        remove_folder(&f);
    }
}

/* Programs that were compiled when the structs were smaller. */
TEST(smaller_structs_of_older_callers_are_accepted) {
    struct folder f = fresh_folder();
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    kith_file_info info;
    kith_file_error error;
    file_made(in(&f, "x"), "bloom", 0, 10, true);
    options.struct_bytes = offsetof(kith_file_options, sync);
    options.sync = (kith_sync)77;
    kith_file *file = file_opened(in(&f, "x"), KITH_FILE_CHANGE, &options);
    memset(&info, 0xaa, sizeof info);
    info.struct_bytes = offsetof(kith_file_info, generation);
    CHECK_OK(kith_file_info_of(file, &info));
    CHECK(info.has_journal && info.generation == UINT64_C(0xaaaaaaaaaaaaaaaa));
    info.struct_bytes = sizeof info + 1;
    CHECK_STATUS(kith_file_info_of(file, &info), KITH_E_STRUCT);
    memset(&error, 0xaa, sizeof error);
    error.struct_bytes = offsetof(kith_file_error, name);
    CHECK_OK(kith_file_error_of(file, &error));
    CHECK(error.status == KITH_OK && (unsigned char)error.name[0] == 0xaa);
    error.struct_bytes = 0;
    CHECK_STATUS(kith_file_error_of(file, &error), KITH_E_STRUCT);
    CHECK_OK(kith_file_close(file));
    remove_folder(&f);
}

TEST(malformed_options_are_refused) {
    kith_file *file;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.struct_bytes = sizeof options + 1;
    CHECK_STATUS(kith_file_open("x", KITH_FILE_READ, &options, &file), KITH_E_STRUCT);
    options = (kith_file_options)KITH_FILE_OPTIONS_INIT;
    options.sync = (kith_sync)4;
    CHECK_STATUS(kith_file_open("x", KITH_FILE_READ, &options, &file), KITH_E_ARGUMENT);
    options.sync = KITH_SYNC_CALL;
    options.lock = (kith_file_lock)4;
    CHECK_STATUS(kith_file_open("x", KITH_FILE_READ, &options, &file), KITH_E_ARGUMENT);
    CHECK_STATUS(kith_file_open("x", (kith_file_mode)5, NULL, &file), KITH_E_ARGUMENT);
    CHECK(file == NULL);
    CHECK_OK(kith_file_close(NULL));
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
