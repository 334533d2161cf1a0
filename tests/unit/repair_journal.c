/* Tests how kith_repair() reads the journal of a store: damaged, missing, foreign and unreadable parts of it. */
#define _GNU_SOURCE

#include "unit/repair_disk.h"

/* ---- records and header ---- */

TEST(a_damaged_record_is_the_only_one_that_is_lost) {
    EACH_KIND_THAT_ADDS(kind) {
        for (uint64_t record = 1; record <= N / 2; record++) {
            new_disk();
            kith_filter *model = make_store(kind, N);
            flip(JOURNAL, record_at(record) + 41, 1);
            kith_filter *got = repaired(0);
            uint64_t lost = N / 2 + record - 1;
            CHECK(got != NULL);
            for (uint64_t i = 0; i < N; i++)
                CHECK(i == lost || kith_filter_has(got, &i, sizeof i));
            bool is_last = record == N / 2; /* nothing proves that it had been synced */
            CHECK_EQ_U64(report.tail_bytes, is_last ? RECORD_BYTES : 0);
            CHECK_EQ_U64(report.records, N / 2 - 1);
            CHECK_EQ_U64(report.records_lost, is_last ? 0 : 1);
            CHECK_EQ_U64(report.operations_lost_max, is_last ? 0 : 1);
            CHECK(report.may_miss_keys == !is_last && report.is_whole == is_last);
            kith_filter_free(got);
            kith_filter_free(model);
        }
    }
}

TEST(removals_are_not_repeated_after_a_loss) {
    new_disk();
    kith_filter *model = make_store("cuckoo", N);
    kithi_store *store;
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
    for (uint64_t i = 0; i < N; i += 2)
        CHECK_OK(kithi_store_remove(store, &i, sizeof i));
    CHECK_OK(kithi_store_close(store));
    kith_filter *got = repaired(0);
    CHECK(report.is_whole);
    CHECK_EQ_U64(kith_filter_count(got), N / 2);
    kith_filter_free(got);
    flip(JOURNAL, record_at(3), 1);
    got = repaired(0);
    CHECK_EQ_U64(report.removals_skipped, N / 2);
    CHECK_EQ_U64(kith_filter_count(got), N - 1);
    kith_filter_free(got);
    kith_filter_free(model);
}

TEST(a_batch_without_its_end_is_not_applied) {
    for (unsigned step = 0; step < 3;
         step++) { /* committed; the commit is damaged; the same, and another add follows */
        new_disk();
        kith_filter *model = make_store("bloom", N);
        kithi_store *store;
        uint64_t key = 100, other = 200;
        CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
        CHECK_OK(kithi_store_begin(store));
        CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
        CHECK_OK(kithi_store_commit(store));
        if (step == 2)
            CHECK_OK(kithi_store_add(store, &other, sizeof other, NULL));
        CHECK_OK(kithi_store_close(store));
        if (step > 0)
            flip(JOURNAL, record_at(N / 2 + 2) + 20, 1); /* the commit record */
        kith_filter *got = repaired(0);
        CHECK(kith_filter_has(got, &key, sizeof key) == (step != 1));
        CHECK(kith_filter_has(got, &other, sizeof other) == (step == 2));
        CHECK_EQ_U64(report.records_lost, step == 2);
        CHECK_EQ_U64(report.operations_lost_max, 0);
        kith_filter_free(got);
        kith_filter_free(model);
    }
}

/* The commit of a batch is damaged. A record of the next batch, which was not committed, proves that it was there. */
TEST(applied_records_of_a_batch_are_not_in_the_ignored_tail) {
    new_disk();
    kith_filter *model = make_store("bloom", N);
    kithi_store *store;
    uint64_t key = 100, other = 200;
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
    CHECK_OK(kithi_store_begin(store));
    CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_commit(store));
    CHECK_OK(kithi_store_begin(store));
    CHECK_OK(kithi_store_add(store, &other, sizeof other, NULL));
    struct disk_bytes journal = kept(JOURNAL);
    CHECK_OK(kithi_store_close(store));
    put_back(JOURNAL, &journal);
    uint64_t commit_at = record_at(N / 2 + 2);
    flip(JOURNAL, commit_at + 20, 1);
    kith_filter *got = repaired(0);
    CHECK(kith_filter_has(got, &key, sizeof key) && !kith_filter_has(got, &other, sizeof other));
    CHECK_EQ_U64(report.records, N / 2 + 1);
    CHECK_EQ_U64(report.tail_bytes, journal.n - commit_at);
    kith_filter_free(got);
    free(journal.at);
    kith_filter_free(model);
}

TEST(the_header_of_the_journal_is_restored) {
    new_disk();
    kith_filter *model = make_store("cuckoo", N);
    struct disk_bytes whole = kept(JOURNAL);
    for (uint64_t at = 0; at < KITHI_JOURNAL_HEADER_BYTES; at++) {
        flip(JOURNAL, at, 0x42);
        check_whole(model);
        CHECK(report.journal_header_restored);
        put_back(JOURNAL, &whole);
    }
    memset(bytes_of(JOURNAL)->at, 0, KITHI_JOURNAL_HEADER_BYTES);
    check_whole(model);
    CHECK(report.journal_header_restored);
    flip(JOURNAL, record_at(1) + 8, 1); /* and the first record, too: nothing else has the checksum of the header */
    kith_filter *got = repaired(0);
    CHECK(got != NULL && report.journal == KITH_JOURNAL_FOREIGN && report.may_miss_keys);
    CHECK_EQ_U64(kith_filter_count(got), N / 2);
    kith_filter_free(got);
    put_back(JOURNAL, &whole);
    memset(bytes_of(JOURNAL)->at + 20, 0, 10);
    flip(JOURNAL, record_at(1) + 8, 1);
    kith_filter_free(repaired(0));
    CHECK(report.journal == KITH_JOURNAL_UNREADABLE);
    free(whole.at);
    kith_filter_free(model);
}

TEST(a_missing_or_foreign_journal_is_reported) {
    new_disk();
    kith_filter *first = make_store("cuckoo", N);
    struct disk_bytes journal = kept(JOURNAL), snapshot = kept(PATH);
    kith_filter *got;
    new_disk();
    disk.random = 2; /* another id */
    kith_filter *second = make_store("cuckoo", N);
    put_back(JOURNAL, &journal);
    got = repaired(0);
    CHECK(got != NULL && report.journal == KITH_JOURNAL_FOREIGN && report.may_miss_keys && !report.is_whole);
    CHECK_EQ_U64(missing(got, N / 2), 0);
    CHECK_EQ_U64(report.records, 0);
    kith_filter_free(got);
    disk_set(disk.names, JOURNAL, -1);
    got = repaired(0);
    CHECK(got != NULL && report.journal == KITH_JOURNAL_MISSING && report.may_miss_keys && !report.is_whole);
    kith_filter_free(got);
    put_file(JOURNAL, "something else that is longer than the header of a journal, and no journal", 70);
    got = repaired(0);
    CHECK(got != NULL && report.journal == KITH_JOURNAL_FOREIGN);
    kith_filter_free(got);
    free(journal.at);
    free(snapshot.at);
    kith_filter_free(first);
    kith_filter_free(second);
}

TEST(an_old_copy_of_the_file_misses_the_records_in_between) {
    new_disk();
    kith_filter *model = make_store("cuckoo", N);
    struct disk_bytes old = kept(PATH);
    kithi_store *store;
    uint64_t key = 100;
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
    CHECK_OK(kithi_store_checkpoint(store));
    CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_close(store));
    put_back(PATH, &old);
    kith_filter *got = repaired(0);
    CHECK(got != NULL && report.journal == KITH_JOURNAL_DAMAGED && report.may_miss_keys);
    CHECK_EQ_U64(report.records_lost, N / 2);
    CHECK_EQ_U64(report.operations_lost_max, UINT64_MAX);
    CHECK_EQ_U64(report.records, 1);
    CHECK(kith_filter_has(got, &key, sizeof key));
    kith_filter_free(got);
    free(old.at);
    kith_filter_free(model);
}

/* ---- sectors that cannot be read ---- */

/* The sector of each file that the disk cannot read, however often it is tried. */
enum { BAD_FROM = 4096, BAD_TO = 8192 };

static int64_t read_but_for_a_sector(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    if (offset < BAD_TO && offset + byte_count > BAD_FROM) {
        errno = EIO;
        return -1;
    }
    return disk_read(context, file, bytes, byte_count, offset);
}

TEST(unreadable_bytes_are_counted_once) {
    new_disk();
    kith_filter *model = make_store("bloom", 30000), *got;
    CHECK(bytes_of(PATH)->n > BAD_TO && bytes_of(JOURNAL)->n > BAD_TO);
    kithi_files bad = files;
    bad.read = read_but_for_a_sector;
    report = (kith_repair_report)KITH_REPAIR_REPORT_INIT;
    CHECK_OK(kithi_repair_with(&bad, PATH, 0, NULL, &report, &got));
    CHECK_EQ_U64(report.unreadable_bytes, 2 * (BAD_TO - BAD_FROM));
    kith_filter_free(got);
    kith_filter_free(model);
}

/* An interrupted writer does not leave a sector that cannot be read, so what was there may be lost. */
TEST(an_end_of_the_journal_that_cannot_be_read_is_reported_as_lost) {
    enum { SOME = 240 };
    new_disk();
    kith_filter *model = make_store("bloom", SOME), *got;
    CHECK(bytes_of(JOURNAL)->n > BAD_FROM && bytes_of(JOURNAL)->n < BAD_TO);
    kithi_files bad = files;
    bad.read = read_but_for_a_sector;
    report = (kith_repair_report)KITH_REPAIR_REPORT_INIT;
    CHECK_OK(kithi_repair_with(&bad, PATH, 0, NULL, &report, &got));
    uint64_t lost = missing(got, SOME);
    CHECK(lost > 0 && report.journal == KITH_JOURNAL_DAMAGED && report.may_miss_keys && !report.is_whole);
    CHECK(lost <= report.operations_lost_max && report.operations_lost_max <= report.tail_bytes / 8);
    kith_filter_free(got);
    kith_filter_free(model);
}

int main(int argc, char **argv) {
    int result = check_main(argc, argv);
    disk_free(&disk);
    return result;
}
