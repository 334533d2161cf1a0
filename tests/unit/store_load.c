/* Opening and refreshing a store whose files change, shrink or cannot be read while that happens, and a store whose
 * snapshot is damaged. */
#define _GNU_SOURCE

#include <kith/kith.h>

#include "check.h"
#include "store_calls.h"
#include "unit/memory.h"
#include "unit/memory_files.h"

#define PATH "x"
#define JOURNAL "x-journal"

enum { KEYS = 6, RECORD_BYTES = KITHI_RECORD_HEADER_BYTES + 8 };

static struct disk disk;
static kithi_files files; /* as they are */

static struct disk_bytes *bytes_of(const char *name) {
    return &disk.files[disk_find(disk.names, name)->file].now;
}

static void add_keys(kithi_store *store, uint64_t from, uint64_t to) {
    for (uint64_t key = from; key < to; key++)
        CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
}

static void new_disk(void) {
    disk_free(&disk);
    disk_init(&disk, 1);
    files = disk_files(&disk);
}

/* A store with KEYS keys. The writer stays open. */
static kithi_store *new_store(const kithi_files *how) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    kithi_store *store;
    spec.kind = "cuckoo"; /* an operation that is applied twice changes it */
    spec.capacity = 100;
    spec.rate = .001;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kithi_store_create_with(how, PATH, filter, NULL, &store));
    kith_filter_free(filter);
    add_keys(store, 0, KEYS);
    return store;
}

static kith_status open_for_reading(const kithi_files *how, kithi_store **store) {
    return kithi_store_open_with(how, PATH, KITHI_STORE_READ, NULL, store);
}

static void check_keys(const kithi_store *store, uint64_t n) {
    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), n);
    for (uint64_t key = 0; key < n; key++)
        CHECK(kithi_store_has(store, &key, sizeof key));
}

static void check_all_closed(void) {
    CHECK_EQ_U64(disk_open_handles(&disk), 0);
    CHECK_EQ_U64(disk.maps, 0);
}

TEST(an_empty_snapshot_is_an_error) {
    new_disk();
    CHECK_OK(kithi_store_close(new_store(&files)));
    kithi_store *store;
    struct disk_bytes whole = disk_copy(bytes_of(PATH));
    disk_resize(bytes_of(PATH), 0);
    CHECK_STATUS(open_for_reading(&files, &store), KITH_E_EMPTY);
    CHECK_STATUS(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store), KITH_E_EMPTY);
    check_all_closed();
    disk_put(bytes_of(PATH), whole.at, whole.n, 0);
    free(whole.at);
    CHECK_OK(open_for_reading(&files, &store));
    check_keys(store, KEYS);
    CHECK_OK(kithi_store_close(store));
}

static int giant_size(void *context, int file, uint64_t *bytes) {
    (void)context, (void)file;
    *bytes = UINT64_C(1) << 63;
    return 0;
}

TEST(a_snapshot_that_does_not_fit_into_memory_is_an_error) {
    new_disk();
    CHECK_OK(kithi_store_close(new_store(&files)));
    kithi_files giant = files;
    giant.size = giant_size;
    kithi_store *store;
    CHECK_STATUS(open_for_reading(&giant, &store), KITH_E_ADDRESS);
    check_all_closed();
}

/* ---- without a map ---- */

static kith_status open_without_map(const kithi_files *how, struct memory *memory, kithi_store **store) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    kith_allocator allocator = memory_allocator(memory);
    options.no_map = true;
    options.allocator = &allocator;
    kith_status status = kithi_store_open_with(how, PATH, KITHI_STORE_READ, &options, store);
    CHECK_EQ_U64(disk.maps, 0);
    if (status == KITH_OK) {
        check_keys(*store, KEYS);
        CHECK_OK(kithi_store_close(*store));
    }
    check_all_closed();
    CHECK_EQ_U64(memory->live_blocks, 0);
    return status;
}

static int64_t read_less_of_the_snapshot(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    bool is_snapshot = disk_file_of(context, file) == &disk.files[disk_find(disk.names, PATH)->file];
    return is_snapshot && offset > 100 ? 0 : disk_read(context, file, bytes, is_snapshot ? 150 : byte_count, offset);
}

/* A snapshot that is read instead of mapped is verified completely. */
TEST(a_snapshot_can_be_read_instead_of_mapped) {
    new_disk();
    CHECK_OK(kithi_store_close(new_store(&files)));
    kithi_store *store;
    struct memory memory = {.fail_at = 0};
    CHECK_OK(open_without_map(&files, &memory, &store));
    for (uint64_t n = memory.calls; n > 0; n--) {
        memory = (struct memory){.fail_at = n};
        CHECK_STATUS(open_without_map(&files, &memory, &store), KITH_E_MEMORY);
    }
    memory = (struct memory){.fail_at = 0};
    for (uint64_t n = 1;; n++) {
        disk_restart(&disk);
        disk.fail_at = n;
        disk.fail_with = EIO;
        kith_status status = open_without_map(&files, &memory, &store);
        CHECK_STATUS(status, disk.hit == DISK_NONE ? KITH_OK : KITH_E_IO);
        if (status == KITH_OK)
            break;
    }
    disk_restart(&disk);
    kithi_files shorter = files;
    shorter.read = read_less_of_the_snapshot;
    CHECK_STATUS(open_without_map(&shorter, &memory, &store), KITH_E_TRUNCATED);
    bytes_of(PATH)->at[KITHI_HEADER_BYTES] ^= 1;
    CHECK_STATUS(open_without_map(&files, &memory, &store), KITH_E_CORRUPT);
    CHECK_OK(open_for_reading(&files, &store)); /* a mapped body is not verified */
    CHECK_OK(kithi_store_close(store));
    bytes_of(PATH)->at[0] ^= 1;
    CHECK_STATUS(open_without_map(&files, &memory, &store), KITH_E_NOT_KITH);
}

/* The n-th operation fails, for every n. An error that was found with the help of a failed read would be a guess. */
TEST(a_failure_while_damage_is_examined_is_that_failure) {
    new_disk();
    CHECK_OK(kithi_store_close(new_store(&files)));
    bytes_of(JOURNAL)->at[64 + RECORD_BYTES + 44] ^=
        1; /* the second record; the ones after it say that it was synced */
    kith_status status = KITH_OK;
    unsigned failures = 0;
    for (uint64_t n = 1; status != KITH_E_CORRUPT; n++) {
        disk_restart(&disk);
        disk.fail_at = n;
        disk.fail_with = EIO;
        kithi_store *store;
        status = open_for_reading(&files, &store);
        CHECK_STATUS(status, disk.hit == DISK_NONE ? KITH_E_CORRUPT : KITH_E_IO);
        check_all_closed();
        failures++;
    }
    CHECK(failures > 10);
    disk_restart(&disk);
}

/* ---- records that are there at first and then are not ---- */

/* The chosen read from `vanish_offset`, and every read after it, sees a file that ends `kept_bytes` further on. When a
 * file is mapped or opened next, everything is there again. */
static uint64_t vanish_offset, kept_bytes, visible_end;
static unsigned reads_there, vanishing_read; /* 0: every second one */
static unsigned map_failures;                /* the number of next calls of map that fail */
static unsigned opens;

static void let_vanish(uint64_t offset, uint64_t kept, unsigned number) {
    vanish_offset = offset;
    kept_bytes = kept;
    vanishing_read = number;
    reads_there = 0;
    visible_end = UINT64_MAX;
}

static int64_t read_that_vanishes(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    if (offset == vanish_offset && visible_end == UINT64_MAX) {
        reads_there++;
        if (vanishing_read == 0 ? reads_there % 2 == 0 : reads_there == vanishing_read)
            visible_end = vanish_offset + kept_bytes;
    }
    if (offset >= visible_end)
        return 0;
    if (byte_count > visible_end - offset)
        byte_count = (size_t)(visible_end - offset);
    return disk_read(context, file, bytes, byte_count, offset);
}

static uint8_t *map_that_fails(void *context, int file, size_t byte_count, bool writable) {
    visible_end = UINT64_MAX;
    if (map_failures == 0)
        return disk_map(context, file, byte_count, writable);
    map_failures--;
    errno = ENOMEM;
    return NULL;
}

static int open_again(void *context, int folder, const char *name, bool writable) {
    visible_end = UINT64_MAX;
    opens++;
    return disk_open(context, folder, name, writable);
}

/* The files of the disk with these three operations; nothing vanishes or fails yet. */
static kithi_files unreliable_files(void) {
    kithi_files made = files;
    made.read = read_that_vanishes;
    made.map = map_that_fails;
    made.open = open_again;
    let_vanish(UINT64_MAX, 0, 1);
    map_failures = 0;
    return made;
}

/* The first read from offset 64 is that of the scan, the second one applies the records. */
TEST(a_reader_begins_again_if_records_vanish_before_they_are_applied) {
    new_disk();
    CHECK_OK(kithi_store_close(new_store(&files)));
    kithi_files unreliable = unreliable_files();
    kithi_store *store;
    let_vanish(64, RECORD_BYTES, 2);
    CHECK_OK(open_for_reading(&unreliable, &store));
    CHECK_EQ_U64(reads_there, 4);
    check_keys(store, KEYS);
    CHECK_OK(kithi_store_close(store));

    let_vanish(64, RECORD_BYTES, 0); /* in every attempt: it gives up */
    errno = 0;
    CHECK_STATUS(open_for_reading(&unreliable, &store), KITH_E_IO);
    CHECK(errno == EAGAIN);
    CHECK_EQ_U64(reads_there, 2 * 1000);
    check_all_closed();
}

/* A reader with KEYS keys, of a store that then gets KEYS more. */
static kithi_store *outdated_reader(const kithi_files *how, kithi_store **writer) {
    kithi_store *reader;
    *writer = new_store(&files);
    CHECK_OK(open_for_reading(how, &reader));
    check_keys(reader, KEYS);
    add_keys(*writer, KEYS, 2 * KEYS);
    return reader;
}

static void close_both(kithi_store *reader, kithi_store *writer) {
    CHECK_OK(kithi_store_close(reader));
    CHECK_OK(kithi_store_close(writer));
    check_all_closed();
}

/* Refreshes a reader while two of the new records are there and the others vanish, and while the
 * next `failures` calls of map fail. */
static kith_status refresh_half_way(kithi_store *reader, unsigned failures) {
    bool changed = false;
    let_vanish(64 + KEYS * RECORD_BYTES, 2 * RECORD_BYTES, 2);
    map_failures = failures;
    kith_status status = kithi_store_refresh(reader, &changed);
    CHECK_EQ_U64(map_failures, 0);
    CHECK(changed == (status == KITH_OK));
    return status;
}

TEST(a_refresh_begins_again_if_records_vanish_before_they_are_applied) {
    for (unsigned failures = 0; failures <= 1; failures++) { /* 1: the filter as it was is gone, too */
        new_disk();
        kithi_store *writer;
        kithi_store_info info = KITHI_STORE_INFO_INIT;
        kithi_files unreliable = unreliable_files();
        kithi_store *reader = outdated_reader(&unreliable, &writer);
        opens = 0;
        CHECK_OK(refresh_half_way(reader, failures));
        CHECK_EQ_U64(opens, 2); /* snapshot and journal */
        check_keys(reader, 2 * KEYS);
        CHECK_OK(kithi_store_info_of(reader, &info));
        CHECK_STATUS(info.failure, KITH_OK);
        bool changed = true;
        CHECK_OK(kithi_store_refresh(reader, &changed));
        CHECK(!changed);
        close_both(reader, writer);
    }
}

/* Two records were applied, and there is memory for neither the old filter nor the new one. The next refresh must not
 * apply the two again. */
TEST(a_reader_recovers_from_a_refresh_that_failed_half_way) {
    new_disk();
    kithi_store *writer;
    kithi_files unreliable = unreliable_files();
    kithi_store *reader = outdated_reader(&unreliable, &writer);
    CHECK_STATUS(refresh_half_way(reader, 2), KITH_E_MEMORY);
    bool changed = false;
    CHECK_OK(kithi_store_refresh(reader, &changed));
    CHECK(changed);
    check_keys(reader, 2 * KEYS);
    close_both(reader, writer);
}

/* The last record that the reader has seen cannot be read: something has happened to the journal. */
TEST(a_refresh_opens_the_files_again_if_its_last_record_is_gone) {
    new_disk();
    kithi_store *writer;
    kithi_files unreliable = unreliable_files();
    kithi_store *reader = outdated_reader(&unreliable, &writer);
    let_vanish(64 + (KEYS - 1) * RECORD_BYTES, 4, 1);
    opens = 0;
    CHECK_OK(kithi_store_refresh(reader, NULL));
    CHECK_EQ_U64(opens, 2);
    check_keys(reader, 2 * KEYS);
    close_both(reader, writer);
}

TEST(a_rollback_that_cannot_read_the_journal_makes_the_store_read_only) {
    new_disk();
    kithi_files unreliable = unreliable_files();
    kithi_store *store = new_store(&unreliable);
    CHECK_OK(kithi_store_begin(store));
    add_keys(store, KEYS, 2 * KEYS);
    let_vanish(64, RECORD_BYTES, 1);
    errno = 0;
    CHECK_STATUS(kithi_store_rollback(store), KITH_E_IO);
    CHECK(errno == EIO);
    CHECK_STATUS(kithi_store_add(store, "x", 1, NULL), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_close(store), KITH_E_IO);
    CHECK_OK(open_for_reading(&files, &store));
    check_keys(store, KEYS);
    CHECK_OK(kithi_store_close(store));
    check_all_closed();
}

/* ---- checkpoints between the opening of the snapshot and that of the journal ---- */

static kithi_store *checkpointing_writer;
static unsigned checkpoints_left;

static int open_after_a_checkpoint(void *context, int folder, const char *name, bool writable) {
    if (strcmp(name, JOURNAL) == 0 && checkpoints_left > 0) {
        checkpoints_left--;
        CHECK_OK(kithi_store_remove(checkpointing_writer, &(uint64_t){0}, sizeof(uint64_t)));
        add_keys(checkpointing_writer, 0, 1);
        CHECK_OK(kithi_store_checkpoint(checkpointing_writer));
    }
    return disk_open(context, folder, name, writable);
}

TEST(a_reader_opens_both_files_again_after_a_checkpoint) {
    new_disk();
    checkpointing_writer = new_store(&files);
    kithi_files overtaken = files;
    overtaken.open = open_after_a_checkpoint;
    kithi_store *reader;
    checkpoints_left = 5;
    CHECK_OK(open_for_reading(&overtaken, &reader));
    CHECK_EQ_U64(checkpoints_left, 0);
    check_keys(reader, KEYS);
    CHECK_OK(kithi_store_close(reader));
    checkpoints_left = 2000; /* more than it tries */
    CHECK_STATUS(open_for_reading(&overtaken, &reader), KITH_E_JOURNAL_FOREIGN);
    CHECK_EQ_U64(checkpoints_left, 1000);
    CHECK_OK(kithi_store_close(checkpointing_writer));
    check_all_closed();
}

/* Nobody replaces the old copy by a newer one, so the second look at it is enough. */
TEST(an_old_copy_of_the_snapshot_does_not_belong_to_the_journal) {
    new_disk();
    kithi_store *store = new_store(&files);
    struct disk_bytes old = disk_copy(bytes_of(PATH));
    CHECK_OK(kithi_store_checkpoint(store));
    CHECK_OK(kithi_store_close(store));
    disk_resize(bytes_of(PATH), 0);
    disk_put(bytes_of(PATH), old.at, old.n, 0);
    free(old.at);
    kithi_files counted = unreliable_files();
    opens = 0;
    CHECK_STATUS(open_for_reading(&counted, &store), KITH_E_JOURNAL_FOREIGN);
    CHECK_EQ_U64(opens, 3); /* snapshot, journal, snapshot */
    check_all_closed();
}

TEST(a_checkpoint_of_a_damaged_snapshot_is_refused) {
    static const char *const KINDS[] = {"layers", "cuckoo", "bloom"};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        new_disk();
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_filter *filter;
        spec.kind = KINDS[i];
        spec.options = i == 0 ? "inner=counting growth=1" : NULL;
        spec.capacity = 20;
        spec.rate = .01;
        CHECK_OK(kith_filter_create(&spec, &filter));
        for (uint64_t key = 0; key < 15; key++)
            CHECK_OK(kith_filter_add(filter, &key, sizeof key, NULL));
        kithi_store *store;
        CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
        CHECK_OK(kithi_store_close(store));
        struct disk_bytes *snapshot = &disk.files[disk_find(disk.names, PATH)->file].now;
        uint64_t body_bytes = filter->head.body_bytes;
        for (uint64_t at = 192; at < 192 + body_bytes; at += 1 + body_bytes / 97) {
            snapshot = &disk.files[disk_find(disk.names, PATH)->file].now;
            snapshot->at[at] ^= 4;
            kith_status status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store);
            if (status != KITH_OK) { /* headers of layers are verified when the store is opened */
                CHECK_STATUS(status, KITH_E_CORRUPT);
                snapshot->at[at] ^= 4;
                continue;
            }
            CHECK_OK(kithi_store_verify(store) == KITH_E_CORRUPT ? KITH_OK : KITH_E_IO);
            kith_status added = kithi_store_add_digest(store, splitmix_mix(at), NULL);
            CHECK(added == KITH_OK || added == KITH_E_FULL || added == KITH_E_COPIES);
            struct disk_bytes before = disk_copy(snapshot);
            int file = disk_find(disk.names, PATH)->file, journal = disk_find(disk.names, "x-journal")->file;
            CHECK_STATUS(kithi_store_checkpoint(store), KITH_E_CORRUPT);
            CHECK_STATUS(kithi_store_close_plain(store), KITH_E_CORRUPT);
            CHECK(disk_find(disk.names, PATH)->file == file && disk_find(disk.names, "x-journal")->file == journal);
            CHECK(snapshot->n == before.n && memcmp(snapshot->at, before.at, before.n) == 0);
            free(before.at);
            CHECK_OK(kithi_store_close(store));
            /* without the damage the checkpoint works, and nothing was lost */
            snapshot->at[at] ^= 4;
            CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
            CHECK_OK(kithi_store_verify(store));
            CHECK_OK(kithi_store_checkpoint(store));
            for (uint64_t key = 0; key < 15; key++)
                CHECK(kithi_store_has(store, &key, sizeof key));
            CHECK_OK(kithi_store_replace(store, filter));
            CHECK_OK(kithi_store_close(store));
        }
        kith_filter_free(filter);
    }
}

int main(int argc, char **argv) {
    int result = check_main(argc, argv);
    disk_free(&disk);
    return result;
}
