/* Opened files when the system fails: every file operation and every allocation in turn, once and from then on. A call
 * that fails leaves the file as it was and the handle usable, unless the handle says that it is read-only; the same
 * call succeeds afterwards; nothing leaks. unit/failing_allocations.c leaves the calls of kith/file.h to this test. */
#define _GNU_SOURCE

#include "unit/opened_file.h"

#include "file/file.h"
#include "unit/memory.h"
#include "unit/memory_files.h"

#define PATH "x"

static struct disk disk;
static struct memory memory;

/* What is in the set, of the keys 0 … 63. */
typedef uint64_t key_set;

static kith_filter *filter_of(key_set keys) {
    static kith_filter *empty; /* planning takes longer than a run */
    kith_filter *filter;
    if (empty == NULL)
        empty = some_filter("bloom", 0, 0);
    CHECK_OK(kith_filter_clone(empty, NULL, &filter));
    for (uint64_t key = 0; key < 64; key++)
        if (keys >> key & 1)
            CHECK_OK(kith_filter_add(filter, &key, sizeof key, NULL));
    return filter;
}

static key_set keys_of(const kith_file *file) {
    key_set keys = 0;
    for (uint64_t key = 0; key < 64; key++)
        keys |= (key_set)kith_file_has(file, &key, sizeof key) << key;
    return keys;
}

/* What a new reader finds. */
static key_set keys_on_disk(void) {
    kithi_files files = disk_files(&disk);
    kith_file *file;
    CHECK_OK(kithi_file_open_with(&files, PATH, KITH_FILE_READ, NULL, &file));
    key_set keys = keys_of(file);
    CHECK_OK(kith_file_verify(file));
    CHECK_OK(kith_file_close(file));
    return keys;
}

/* ---- what is done with a file, in this order ---- */

static kith_status add_and_commit(kith_file *file) {
    uint64_t key = 10, digest;
    kith_status status = kith_file_add(file, &key, sizeof key, NULL);
    digest = kith_filter_digest(kith_file_filter(file), &key, sizeof key);
    if (status == KITH_OK)
        status = kith_file_add_digest(file, digest, NULL);
    if (status == KITH_OK)
        status = kith_file_add_many(file, &digest, 1, NULL, NULL);
    return status == KITH_OK ? kith_file_commit(file) : status;
}

static kith_status give_bytes(kith_file *file) {
    const void *bytes;
    size_t byte_count;
    kith_file_set_limit(file, 0);
    kith_status status = kith_file_wait(file);
    return status == KITH_OK ? kith_file_bytes(file, &bytes, &byte_count) : status;
}

static kith_status change_nature(kith_file *file) {
    return kith_file_set_journal(file, !info_of(file).has_journal);
}

static kith_status load_again(kith_file *file) {
    return kith_file_refresh(file, NULL);
}

static kith_status replace_and_commit(kith_file *file) {
    kith_filter *filter = filter_of(0xff00);
    kith_status status = kith_file_replace(file, filter);
    if (status != KITH_OK)
        kith_filter_free(filter);
    return status == KITH_OK ? kith_file_commit(file) : status;
}

static kith_status edit_and_commit(kith_file *file) {
    kith_filter *filter;
    uint64_t key = 20;
    kith_status status = kith_file_edit(file, &filter);
    if (status == KITH_OK)
        status = kith_filter_add(filter, &key, sizeof key, NULL);
    return status == KITH_OK ? kith_file_commit(file) : status;
}

static kith_status add_and_roll_back(kith_file *file) {
    uint64_t key = 30;
    kith_status status = kith_file_begin(file);
    if (status == KITH_OK)
        status = kith_file_add(file, &key, sizeof key, NULL);
    return status == KITH_OK ? kith_file_rollback(file) : status;
}

static kith_status checkpoint(kith_file *file) {
    kith_status status = kith_file_checkpoint(file);
    return status == KITH_OK ? kith_file_tick(file) : status;
}

static const struct step {
    kith_status (*call)(kith_file *file);
    key_set adds, becomes; /* becomes: 0 means what there was, and `adds` */
} STEPS[] = {
    {add_and_commit, 1 << 10, 0},  {give_bytes, 0, 0},
    {change_nature, 0, 0},         {load_again, 0, 0},
    {add_and_roll_back, 0, 0},     {replace_and_commit, 0, 0xff00},
    {edit_and_commit, 1 << 20, 0}, {checkpoint, 0, 0},
    {change_nature, 0, 0},         {load_again, 0, 0},
    {add_and_commit, 1 << 10, 0},
};

/* ---- runs ---- */

static kith_file_options options_of(bool no_map) {
    static kith_allocator allocator;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    allocator = memory_allocator(&memory);
    options.sync = KITH_SYNC_COMMIT;
    options.no_map = no_map;
    options.allocator = &allocator;
    return options;
}

static void make_file_on_disk(bool journal) {
    kithi_files files = disk_files(&disk);
    kith_file *file;
    CHECK_OK(kithi_file_open_with(&files, PATH, KITH_FILE_CREATE, NULL, &file));
    CHECK_OK(kith_file_replace(file, filter_of(0xff)));
    CHECK_OK(kith_file_set_journal(file, journal));
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
}

static void disarm(void) {
    disk.fail_at = 0;
    disk.failed_sync_file = -1;
    memory.fail_at = 0;
}

/* Makes the calls. *failed is increased if one of them fails. */
static void run(bool no_map, unsigned *failed) {
    kithi_files files = disk_files(&disk);
    kith_file_options options = options_of(no_map);
    kith_file_error error = KITH_FILE_ERROR_INIT;
    options.error = &error;
    kith_file *file;
    key_set before = 0xff, after = before;
    kith_status status = kithi_file_open_with(&files, PATH, KITH_FILE_CHANGE, &options, &file);
    if (status != KITH_OK) {
        disarm();
        ++*failed;
        CHECK(file == NULL && error.status == status && error.text[0] != '\0');
        CHECK_EQ_U64(keys_on_disk(), before);
        return;
    }
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++, before = after) {
        after = STEPS[i].becomes != 0 ? STEPS[i].becomes : before | STEPS[i].adds;
        status = STEPS[i].call(file);
        if (status == KITH_OK)
            continue;
        ++*failed;
        disarm();
        kith_file_error reported = KITH_FILE_ERROR_INIT;
        CHECK_OK(kith_file_error_of(file, &reported));
        CHECK_STATUS(reported.status, status);
        kith_status failure = info_of(file).failure;
        key_set now = keys_on_disk();
        if (now != before && now != after)
            CHECK_FAIL("step %zu fails with %s, and the file has %" PRIx64, i, kith_status_name(status), now);
        status = STEPS[i].call(file);
        if (failure != KITH_OK) {
            CHECK(status != KITH_OK);
            (void)kith_file_close(file);
            now = keys_on_disk();
            CHECK(now == before || now == after);
            return;
        }
        CHECK_OK(status);
    }
    kith_file_info info = KITH_FILE_INFO_INIT;
    CHECK_OK(kith_file_info_of(file, &info));
    CHECK(keys_of(file) == before && kith_file_durable(file) && info.left[0] == '\0');
    if (kith_file_verify(file) != KITH_OK) {
        ++*failed;
        disarm();
        CHECK_OK(kith_file_verify(file));
    }
    status = kith_file_close(file);
    if (status != KITH_OK)
        ++*failed;
    disarm();
    CHECK_EQ_U64(keys_on_disk(), before);
}

static void check_nothing_leaks(void) {
    CHECK_EQ_U64(disk_open_handles(&disk), 0);
    CHECK_EQ_U64(disk.maps, 0);
    CHECK_EQ_U64(memory.live_blocks, 0);
}

TEST(every_file_operation_may_fail) {
    static const int errors[] = {EIO, ENOSPC, EINTR, DISK_SHORT};
    unsigned runs = 0, failed = 0;
    for (unsigned variant = 0; variant < 4; variant++) /* plain or with a journal; mapped or not */
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
            for (unsigned for_ever = 0; for_ever < 2; for_ever++) {
                bool harmless = errors[e] == EINTR || errors[e] == DISK_SHORT;
                if (harmless && for_ever)
                    continue;
                for (uint64_t n = 1, was_hit = 1; was_hit; n++, runs++) {
                    unsigned now_failed = 0;
                    memory = (struct memory){.fail_at = 0};
                    disk_init(&disk, n);
                    make_file_on_disk(variant & 1);
                    disk.operations = 0;
                    disk.hit = DISK_NONE;
                    disk.fail_at = n;
                    disk.fail_with = errors[e];
                    disk.fails_for_ever = for_ever;
                    run(variant & 2, &now_failed);
                    was_hit = disk.hit != DISK_NONE;
                    CHECK(!harmless || now_failed == 0);
                    failed += now_failed;
                    check_nothing_leaks();
                    disk_free(&disk);
                }
            }
    printf("shows: opened files: file operations fail in turn, once and from then on: %u runs, %u failed calls\n", runs,
           failed);
    CHECK(failed > 100);
}

TEST(every_allocation_may_fail) {
    unsigned runs = 0, failed = 0;
    for (unsigned variant = 0; variant < 4; variant++)
        for (unsigned for_ever = 0; for_ever < 2; for_ever++)
            for (uint64_t n = 1, was_hit = 1; was_hit; n++, runs++) {
                memory = (struct memory){.fail_at = n, .stays = for_ever};
                disk_init(&disk, n);
                struct memory armed = memory;
                memory.fail_at = 0;
                make_file_on_disk(variant & 1);
                memory = armed;
                unsigned now_failed = 0;
                run(variant & 2, &now_failed);
                was_hit = memory.calls >= n;
                failed += now_failed;
                check_nothing_leaks();
                disk_free(&disk);
            }
    printf("shows: opened files: every allocation fails, once and from then on: %u runs, %u failed calls\n", runs,
           failed);
    CHECK(failed > 20);
}

/* ---- bytes that are no filter ---- */

TEST(every_file_operation_may_fail_while_other_bytes_are_written) {
    static const int errors[] = {EIO, ENOSPC};
    for (unsigned variant = 0; variant < 4; variant++)
        for (uint64_t n = 1, was_hit = 1; was_hit; n++) {
            memory = (struct memory){.fail_at = 0};
            disk_init(&disk, n);
            make_file_on_disk(false);
            kithi_files files = disk_files(&disk);
            kith_file_options options = options_of(false);
            options.lock = KITH_FILE_LOCK_COMMIT;
            kith_file *file;
            CHECK_OK(kithi_file_open_with(&files, PATH, KITH_FILE_REPLACE, &options, &file));
            disk.operations = 0;
            disk.hit = DISK_NONE;
            disk.fail_at = n;
            disk.fail_with = errors[variant & 1];
            disk.fails_for_ever = variant & 2;
            kith_status status = kith_file_commit_bytes(file, "other", 5);
            was_hit = disk.hit != DISK_NONE;
            disarm();
            CHECK(status == KITH_OK || was_hit);
            if (status != KITH_OK && info_of(file).failure == KITH_OK)
                CHECK_EQ_U64(keys_on_disk(), 0xff);
            if (status != KITH_OK && info_of(file).failure == KITH_OK)
                CHECK_OK(kith_file_commit_bytes(file, "other", 5));
            CHECK_OK(kith_file_close(file));
            check_nothing_leaks();
            disk_free(&disk);
        }
}

/* ---- readers, on real files ---- */

/* Opens a file, by name or by descriptors, and refreshes it after a change. */
static kith_status read_file(const char *path, bool by_name, bool journal, uint64_t turn) {
    kith_file_options options = options_of(false);
    kith_file *file = NULL, *writer;
    int fd = -1, fd_journal = -1;
    kith_status status = by_name ? KITH_OK : kith_file_descriptors(path, &fd, &fd_journal);
    if (status == KITH_OK)
        status = by_name ? kith_file_open(path, KITH_FILE_READ, &options, &file)
                         : kith_file_open_fd(fd, fd_journal, &options, &file);
    if (status != KITH_OK) {
        CHECK(file == NULL);
        if (fd >= 0)
            (void)close(fd);
        if (fd_journal >= 0)
            (void)close(fd_journal);
        return status;
    }
    uint64_t digest = kith_filter_digest(kith_file_filter(file), &turn, sizeof turn);
    key_set before = keys_of(file);
    writer = file_opened(path, KITH_FILE_CHANGE, NULL);
    CHECK_OK(kith_file_add(writer, &turn, sizeof turn, NULL));
    CHECK_STATUS(kith_file_remove(writer, &turn, sizeof turn), KITH_E_UNSUPPORTED);
    CHECK_STATUS(kith_file_remove_digest(writer, digest), KITH_E_UNSUPPORTED);
    CHECK_STATUS(kith_file_remove_many(writer, &digest, 1, NULL), KITH_E_UNSUPPORTED);
    CHECK_OK(kith_file_commit(writer));
    CHECK_OK(kith_file_close(writer));
    status = kith_file_refresh(file, NULL);
    CHECK(status == KITH_OK || keys_of(file) == before || journal);
    if (status == KITH_OK)
        status = kith_file_verify(file);
    CHECK_OK(kith_file_close(file));
    return status;
}

TEST(every_allocation_of_a_reader_may_fail) {
    for (unsigned variant = 0; variant < 8; variant++) {
        struct folder f = fresh_folder();
        bool journal = variant & 1, by_name = variant & 2;
        file_made(in(&f, "x"), "bloom", 0, 3, journal);
        int unused = lowest_free_descriptor();
        for (uint64_t n = 1, was_hit = 1; was_hit; n++) {
            memory = (struct memory){.fail_at = n, .stays = variant & 4};
            kith_status status = read_file(in(&f, "x"), by_name, journal, 10 + n % 50);
            was_hit = memory.calls >= n;
            CHECK_STATUS(status, was_hit ? KITH_E_MEMORY : KITH_OK);
            CHECK_EQ_U64(memory.live_blocks, 0);
            CHECK(lowest_free_descriptor() == unused);
        }
        remove_folder(&f);
    }
}

TEST(every_allocation_of_a_repair_may_fail) {
    struct folder f = fresh_folder();
    file_made(in(&f, "x"), "bloom", 0, 3, true);
    for (uint64_t n = 1, was_hit = 1; was_hit; n++) {
        memory = (struct memory){.fail_at = n};
        kith_file_options options = options_of(false);
        kith_repair_report report = KITH_REPAIR_REPORT_INIT;
        kith_file *file;
        kith_filter *filter = NULL;
        kith_status status = kith_file_open(in(&f, "x"), KITH_FILE_REPLACE, &options, &file);
        if (status == KITH_OK) {
            status = kith_file_repair(file, &report, &filter);
            kith_filter_free(filter);
            CHECK_OK(kith_file_close(file));
        }
        was_hit = memory.calls >= n;
        CHECK_STATUS(status, was_hit ? KITH_E_MEMORY : KITH_OK);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
