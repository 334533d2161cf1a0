/* The journal's records: truncated, damaged and forged journals, and which of them prove that a synced record is
 * lost. */
#define _GNU_SOURCE

#include "unit/store_model.h"

#include <kith/kith.h>

#include "core/bits.h"
#include "core/hash.h"

#define PATH "x"
#define JOURNAL "x-journal"

enum { KEYS = 12, RECORD_BYTES = KITHI_RECORD_HEADER_BYTES + 8 };

static struct disk disk;
static kithi_files files;

static kith_filter *empty_filter(void) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "cuckoo";
    spec.capacity = 100;
    spec.rate = .001;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

static struct disk_bytes *journal_bytes(void) {
    return &disk.files[disk_find(disk.names, JOURNAL)->file].now;
}

/* A store on a new disk with KEYS adds, each of which was synced alone. */
static void make_store(kith_sync sync) {
    disk_free(&disk);
    disk_init(&disk, 1);
    files = disk_files(&disk);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = sync;
    options.sync_operations = 4;
    kith_filter *filter = empty_filter();
    kithi_store *store;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, &options, &store));
    for (uint64_t key = 0; key < KEYS; key++)
        CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_close(store));
    kith_filter_free(filter);
    CHECK_EQ_U64(journal_bytes()->n, 64 + KEYS * RECORD_BYTES);
}

/* Opens the store and checks that it has the first n keys, and no other. */
static void check_has(unsigned flags, uint64_t n, uint64_t cut_bytes) {
    kithi_store *store;
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    CHECK_OK(kithi_store_open_with(&files, PATH, flags, NULL, &store));
    CHECK_OK(kithi_store_info_of(store, &info));
    CHECK_EQ_U64(info.sequence, n);
    CHECK_EQ_U64(info.cut_bytes, cut_bytes);
    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), n);
    for (uint64_t key = 0; key < n; key++)
        CHECK(kithi_store_has(store, &key, sizeof key));
    CHECK_OK(kithi_store_close(store));
}

static kith_status opens(unsigned flags) {
    kithi_store *store;
    kith_status status = kithi_store_open_with(&files, PATH, flags, NULL, &store);
    if (status == KITH_OK)
        CHECK_OK(kithi_store_close(store));
    CHECK_EQ_U64(disk_open_handles(&disk), 0);
    CHECK_EQ_U64(disk.maps, 0);
    return status;
}

TEST(a_journal_that_ends_anywhere_is_cut_after_the_last_whole_record) {
    make_store(KITH_SYNC_CALL);
    size_t whole = journal_bytes()->n;
    for (size_t n = 64; n <= whole; n++) {
        make_store(KITH_SYNC_CALL);
        disk_resize(journal_bytes(), n);
        uint64_t records = (n - 64) / RECORD_BYTES, rest = (n - 64) % RECORD_BYTES;
        check_has(KITHI_STORE_READ, records, rest);
        CHECK_EQ_U64(journal_bytes()->n, n); /* a reader changes nothing */
        check_has(KITHI_STORE_WRITE, records, rest);
        CHECK_EQ_U64(journal_bytes()->n, n - rest);
        check_has(KITHI_STORE_WRITE, records, 0);
    }
    for (size_t n = 0; n < 64; n++) {
        make_store(KITH_SYNC_CALL);
        disk_resize(journal_bytes(), n);
        CHECK_STATUS(opens(KITHI_STORE_WRITE), n < 8 ? KITH_E_JOURNAL_FOREIGN : KITH_E_CORRUPT);
        CHECK_STATUS(opens(KITHI_STORE_READ), n < 8 ? KITH_E_JOURNAL_FOREIGN : KITH_E_CORRUPT);
        CHECK_EQ_U64(journal_bytes()->n, n);
    }
}

TEST(every_damaged_byte_of_the_header_is_noticed) {
    for (size_t at = 0; at < 64; at++) {
        make_store(KITH_SYNC_CALL);
        journal_bytes()->at[at] ^= 0x10;
        kith_status want = at < 8 ? KITH_E_JOURNAL_FOREIGN : at < 10 ? KITH_E_VERSION : KITH_E_CORRUPT;
        CHECK_STATUS(opens(KITHI_STORE_WRITE), want);
        CHECK_STATUS(opens(KITHI_STORE_READ), want);
    }
}

/* With a correct checksum. */
TEST(headers_that_no_writer_writes_are_refused) {
    static const struct {
        size_t at;
        uint64_t value;
    } cases[] = {{8, UINT64_C(0x00410001)}, {8, UINT64_C(0x100400001)}, {48, 1}, {40, KITHI_SEQUENCE_MAX + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_store(KITH_SYNC_CALL);
        kithi_store64(journal_bytes()->at + cases[i].at, cases[i].value);
        kithi_store64(journal_bytes()->at + 56, kithi_checksum(journal_bytes()->at, 56));
        CHECK_STATUS(opens(KITHI_STORE_WRITE), KITH_E_CORRUPT);
    }
}

/* Reads of less than the window are those that write records again: they find the file shorter. */
static int64_t read_nothing(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    bool is_rewrite = offset >= 64 && byte_count < KITHI_JOURNAL_WINDOW_BYTES;
    return is_rewrite ? 0 : disk_read(context, file, bytes, byte_count, offset);
}

TEST(a_journal_that_shrinks_while_it_is_recovered_is_an_error) {
    make_store(KITH_SYNC_CALL);
    files.read = read_nothing;
    errno = 0;
    CHECK_STATUS(opens(KITHI_STORE_WRITE), KITH_E_IO);
    CHECK(errno == EIO);
    files.read = disk_read;
    check_has(KITHI_STORE_WRITE, KEYS, 0);
}

/* Each record but the last has a successor that says that it was synced. */
TEST(damage_to_a_synced_record_is_an_error) {
    make_store(KITH_SYNC_CALL);
    for (size_t at = 64; at < 64 + KEYS * RECORD_BYTES; at++) {
        make_store(KITH_SYNC_CALL);
        journal_bytes()->at[at] ^= 0x10;
        uint64_t record = (at - 64) / RECORD_BYTES;
        for (unsigned flags = 0; flags <= KITHI_STORE_READ; flags++) {
            if (record < KEYS - 1)
                CHECK_STATUS(opens(KITHI_STORE_READ - flags), KITH_E_CORRUPT);
            else
                check_has(KITHI_STORE_READ - flags, KEYS - 1, RECORD_BYTES);
        }
        if (record < KEYS - 1)
            CHECK_EQ_U64(journal_bytes()->n, 64 + KEYS * RECORD_BYTES); /* nothing was cut off */
    }
}

/* Synced after 4, 8 and 12 records: a later record proves only what was synced before it was written. */
TEST(damage_to_a_record_that_was_not_synced_is_cut_off) {
    for (uint64_t keep = 1; keep <= KEYS; keep++)
        for (uint64_t bad = 0; bad < keep; bad++) {
            make_store(KITH_SYNC_OPERATIONS);
            disk_resize(journal_bytes(), 64 + keep * RECORD_BYTES);
            journal_bytes()->at[64 + bad * RECORD_BYTES + 44] ^= 1;
            /* record number bad + 1 is known to be synced if there is a record of the next group of four */
            bool is_proven = bad / 4 < (keep - 1) / 4;
            if (is_proven)
                CHECK_STATUS(opens(KITHI_STORE_WRITE), KITH_E_CORRUPT);
            else
                check_has(KITHI_STORE_WRITE, bad, (keep - bad) * RECORD_BYTES);
        }
}

/* Writes a record with a correct checksum. */
static void forge(size_t at, uint64_t previous, uint64_t sequence, uint64_t synced, unsigned type, unsigned flags,
                  uint32_t count) {
    struct disk_bytes *j = journal_bytes();
    size_t bytes = KITHI_RECORD_HEADER_BYTES + 8 * (size_t)count;
    if (j->n < at + bytes)
        disk_resize(j, at + bytes);
    kithi_store64(j->at + at + 8, previous);
    kithi_store64(j->at + at + 16, sequence);
    kithi_store64(j->at + at + 24, synced);
    j->at[at + 32] = (uint8_t)type;
    j->at[at + 33] = (uint8_t)flags;
    kithi_store32(j->at + at + 36, count);
    uint64_t tag = kithi_load64(j->at + 56);
    kithi_store64(j->at + at, kithi_checksum(j->at + at + 8, bytes - 8) ^ tag);
}

TEST(records_that_no_writer_writes_are_refused) {
    static const struct {
        unsigned type, flags;
        uint32_t count;
        uint64_t sequence, synced;
        bool valid;
    } cases[] = {
        {1, 0, 1, KEYS + 1, KEYS, true},      {2, 0, 1, KEYS + 1, 0, true},
        {3, 0, 0, KEYS + 1, 0, true},         {1, 0, KITHI_RECORD_DIGESTS_MAX, KEYS + 1, 0, true},
        {0, 0, 1, KEYS + 1, 0, false},        {4, 0, 1, KEYS + 1, 0, false},
        {1, 4, 1, KEYS + 1, 0, false},        {1, 0, 0, KEYS + 1, 0, false},
        {3, 0, 1, KEYS + 1, 0, false},        {3, 1, 0, KEYS + 1, 0, false},
        {1, 0, 1, KEYS + 1, KEYS + 1, false}, {1, 0, 1, KEYS, 0, false},
        {1, 0, 1, KEYS + 2, 0, false},        {1, 0, KITHI_RECORD_DIGESTS_MAX + 1, KEYS + 1, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_store(KITH_SYNC_CALL);
        size_t end = journal_bytes()->n;
        uint64_t previous = kithi_load64(journal_bytes()->at + end - RECORD_BYTES);
        forge(end, previous, cases[i].sequence, cases[i].synced, cases[i].type, cases[i].flags, cases[i].count);
        size_t with = journal_bytes()->n;
        CHECK_OK(opens(KITHI_STORE_WRITE));
        CHECK_EQ_U64(journal_bytes()->n, cases[i].valid ? with : end);
    }
    /* bytes that are reserved */
    make_store(KITH_SYNC_CALL);
    size_t end = journal_bytes()->n;
    uint64_t previous = kithi_load64(journal_bytes()->at + end - RECORD_BYTES);
    disk_resize(journal_bytes(), end + RECORD_BYTES);
    journal_bytes()->at[end + 34] = 1;
    forge(end, previous, KEYS + 1, 0, 1, 0, 1);
    CHECK_OK(opens(KITHI_STORE_WRITE));
    CHECK_EQ_U64(journal_bytes()->n, end);
    /* a valid record that does not follow the one before it */
    make_store(KITH_SYNC_CALL);
    forge(end, previous + 1, KEYS + 1, 0, 1, 0, 1);
    CHECK_OK(opens(KITHI_STORE_WRITE));
    CHECK_EQ_U64(journal_bytes()->n, end);
}

/* A removal in the journal of a filter that cannot remove is not something that a writer has written. */
TEST(an_operation_that_the_filter_does_not_support_is_an_error) {
    disk_free(&disk);
    disk_init(&disk, 1);
    files = disk_files(&disk);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.needs = KITH_CAN_MERGE | KITH_CAN_INTERSECT; /* a kind without removal */
    spec.capacity = 100;
    spec.rate = .001;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK((kith_filter_capabilities(filter) & KITH_CAN_REMOVE) == 0);
    kithi_store *store;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
    CHECK_STATUS(kithi_store_remove_digest(store, 1), KITH_E_UNSUPPORTED);
    CHECK_OK(kithi_store_close(store));
    CHECK_EQ_U64(journal_bytes()->n, 64);
    forge(64, kithi_load64(journal_bytes()->at + 56), 1, 0, KITHI_RECORD_REMOVE, 0, 1);
    CHECK_STATUS(opens(KITHI_STORE_WRITE), KITH_E_CORRUPT);
    kith_filter_free(filter);
}

/* A batch without its commit record is ignored, and cut off by a writer. */
TEST(a_batch_without_its_end_is_ignored) {
    disk_free(&disk);
    disk_init(&disk, 1);
    files = disk_files(&disk);
    kith_filter *filter = empty_filter();
    kithi_store *store;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
    for (uint64_t key = 0; key < 3; key++)
        CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_begin(store));
    for (uint64_t key = 3; key < 8; key++)
        CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_commit(store));
    CHECK_OK(kithi_store_close(store));
    kith_filter_free(filter);
    size_t whole = journal_bytes()->n;
    CHECK_EQ_U64(whole, 64 + 8 * RECORD_BYTES + KITHI_RECORD_HEADER_BYTES);
    disk_resize(journal_bytes(), whole - KITHI_RECORD_HEADER_BYTES);
    check_has(KITHI_STORE_READ, 3, 5 * RECORD_BYTES);
    check_has(KITHI_STORE_WRITE, 3, 5 * RECORD_BYTES);
    CHECK_EQ_U64(journal_bytes()->n, 64 + 3 * RECORD_BYTES);
}

/* Returns the last record but one as it was before it was written, once. */
static int64_t read_too_early(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    static unsigned calls;
    int64_t got = disk_read(context, file, bytes, byte_count, offset);
    if (offset == 64 && calls++ == 0)
        memset((uint8_t *)bytes + (KEYS - 2) * RECORD_BYTES, 0, RECORD_BYTES);
    return got;
}

TEST(a_reader_looks_twice_before_it_reports_damage) {
    make_store(KITH_SYNC_CALL);
    files.read = read_too_early;
    check_has(KITHI_STORE_READ, KEYS, 0);
}

/* A reader beside a writer. What the reader reads ends at `visible`, and each time it asks for the size of a file after
 * it has read records, the writer has gone on: `go_on` is called. */
static uint64_t visible;
static bool has_read;
static void (*go_on)(void);

static int64_t read_visible(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    has_read = offset >= 64;
    if (has_read)
        byte_count = offset >= visible ? 0 : offset + byte_count > visible ? (size_t)(visible - offset) : byte_count;
    return disk_read(context, file, bytes, byte_count, offset);
}

static int size_later(void *context, int file, uint64_t *bytes) {
    if (has_read)
        go_on();
    return disk_size(context, file, bytes);
}

static void write_four_records(void) {
    visible += 4 * RECORD_BYTES;
}

TEST(a_reader_of_a_journal_that_grows_sees_no_damage) {
    make_store(KITH_SYNC_CALL);
    visible = 64 + RECORD_BYTES;
    go_on = write_four_records;
    has_read = false;
    files.read = read_visible;
    files.size = size_later;
    check_has(KITHI_STORE_READ, KEYS, 0);
}

static kithi_store *writer;

static void do_nothing(void) {}

static void write_something_else(void) {
    has_read = false;
    go_on = do_nothing;
    CHECK_OK(kithi_store_rollback(writer));
    for (uint64_t key = 3; key < KEYS; key++)
        CHECK_OK(kithi_store_add(writer, &key, sizeof key, NULL));
}

/* The reader has read the records of a batch, which is then rolled back, and other records take their place. */
TEST(a_reader_of_a_journal_that_was_cut_begins_again) {
    make_store(KITH_SYNC_CALL);
    disk_resize(journal_bytes(), 64 + 3 * RECORD_BYTES);
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &writer));
    CHECK_OK(kithi_store_begin(writer));
    for (uint64_t key = 100; key < 105; key++)
        CHECK_OK(kithi_store_add(writer, &key, sizeof key, NULL));
    visible = UINT64_MAX / 2;
    go_on = write_something_else;
    has_read = false;
    kithi_files readers = files;
    readers.read = read_visible;
    readers.size = size_later;
    kithi_store *reader;
    CHECK_OK(kithi_store_open_with(&readers, PATH, KITHI_STORE_READ, NULL, &reader));
    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(reader)), KEYS);
    CHECK(!kithi_store_has(reader, &(uint64_t){100}, sizeof(uint64_t)));
    CHECK_OK(kithi_store_close(reader));
    CHECK_OK(kithi_store_close(writer));
}

/* In the worst case each offset looks like a large record: the search for a proof gives up in a bounded time. */
TEST(a_forged_journal_does_not_cost_more_than_it_has_bytes) {
    make_store(KITH_SYNC_CALL);
    struct disk_bytes *j = journal_bytes();
    size_t end = j->n;
    disk_resize(j, end + (1 << 20));
    for (size_t at = end; at + 40 <= j->n; at += 8) {
        /* every word is a type, a count and a sequence number at once */
        kithi_store64(j->at + at, UINT64_C(0x0000200000000001) - (at - end) / 8 % 2);
    }
    CHECK_STATUS(opens(KITHI_STORE_WRITE), KITH_E_CORRUPT);
    /* zeros, which a crash leaves, are cut off */
    make_store(KITH_SYNC_CALL);
    disk_resize(journal_bytes(), end + (1 << 20));
    check_has(KITHI_STORE_WRITE, KEYS, 1 << 20);
}

int main(int argc, char **argv) {
    int result = check_main(argc, argv);
    disk_free(&disk);
    return result;
}
