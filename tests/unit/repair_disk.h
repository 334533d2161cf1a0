/* repair_disk.h: files and stores in memory, to be damaged and repaired. Include it once per executable. */
#ifndef KITH_TESTS_UNIT_REPAIR_DISK_H
#define KITH_TESTS_UNIT_REPAIR_DISK_H

#include "unit/store_model.h"

#include "unit/memory.h"
#include "unit/small_filter.h"

#include "core/bits.h"
#include "format/head.h"
#include "handle/salvage.h"
#include "splitmix.h"

#define PATH "x"
#define JOURNAL "x-journal"

static struct disk disk;
static kithi_files files;

/* ---- files ---- */

static inline void new_disk(void) {
    disk_free(&disk);
    disk_init(&disk, 1);
    files = disk_files(&disk);
}

static inline struct disk_bytes *bytes_of(const char *name) {
    return &disk.files[disk_find(disk.names, name)->file].now;
}

static inline void put_file(const char *name, const void *bytes, size_t n) {
    int file = disk_find(disk.names, name)->file;
    if (file < 0)
        disk_set(disk.names, name, file = disk_new_file(&disk));
    disk_resize(&disk.files[file].now, n);
    memcpy(disk.files[file].now.at, bytes, n);
}

static inline void put_filter(kith_filter *filter) {
    const void *bytes;
    size_t n;
    CHECK_OK(kith_filter_bytes(filter, &bytes, &n));
    put_file(PATH, bytes, n);
}

/* A copy of a file, to damage it again and again. */
static inline struct disk_bytes kept(const char *name) {
    return disk_copy(bytes_of(name));
}

static inline void put_back(const char *name, const struct disk_bytes *bytes) {
    put_file(name, bytes->at, bytes->n);
}

static inline void flip(const char *name, uint64_t at, uint8_t mask) {
    bytes_of(name)->at[at] ^= mask;
}

/* ---- filters ---- */

static inline kith_filter *filter_of(const char *kind, const char *options, uint64_t capacity, uint64_t n) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = capacity;
    spec.rate = .01;
    return filter_of_numbers(&spec, n);
}

static inline uint64_t missing(const kith_filter *filter, uint64_t n) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        count += !kith_filter_has(filter, &i, sizeof i);
    return count;
}

static inline bool same(kith_filter *a, kith_filter *b) {
    const void *bytes_a, *bytes_b;
    size_t n_a, n_b;
    CHECK_OK(kith_filter_bytes(a, &bytes_a, &n_a));
    CHECK_OK(kith_filter_bytes(b, &bytes_b, &n_b));
    return n_a == n_b && memcmp(bytes_a, bytes_b, n_a) == 0;
}

static kith_repair_report report;

/* Repairs the file, and checks that nothing is left open and that the result is sound. NULL: nothing can be saved. */
static inline kith_filter *repaired(uint64_t budget) {
    kith_filter *filter = NULL;
    const char *broken = NULL;
    report = (kith_repair_report)KITH_REPAIR_REPORT_INIT;
    kith_status status = kithi_repair_with(&files, PATH, budget, NULL, &report, &filter);
    CHECK_EQ_U64(disk_open_handles(&disk), 0);
    if (status == KITH_OK)
        CHECK_OK(kith_filter_check(filter, &broken));
    return status == KITH_OK ? filter : NULL;
}

/* Repairs the file, and checks that the result is `want`, and that the report says so. */
static inline void check_whole(kith_filter *want) {
    kith_filter *got = repaired(KITHI_SALVAGE_BUDGET);
    CHECK(got != NULL && report.is_whole && !report.may_miss_keys);
    CHECK(same(got, want));
    kith_filter_free(got);
}

/* ---- stores ---- */

/* A store with the keys 0 … n / 2 - 1 in its snapshot, and a record for each of the others. */
static inline kith_filter *make_store(const char *kind, uint64_t n) {
    kith_filter *model = filter_of(kind, NULL, 4 * n, n / 2);
    kithi_store *store;
    CHECK_OK(kithi_store_create_with(&files, PATH, model, NULL, &store));
    for (uint64_t i = n / 2; i < n; i++) {
        CHECK_OK(kithi_store_add(store, &i, sizeof i, NULL));
        CHECK_OK(kith_filter_add(model, &i, sizeof i, NULL));
    }
    CHECK_OK(kithi_store_close(store));
    return model;
}

enum { N = 24, RECORD_BYTES = KITHI_RECORD_HEADER_BYTES + 8 };

static inline uint64_t record_at(uint64_t record) { /* from 1 */
    return KITHI_JOURNAL_HEADER_BYTES + (record - 1) * RECORD_BYTES;
}

#define EACH_KIND_THAT_ADDS(variable)                                                                                  \
    EACH_KIND(variable)                                                                                                \
    if (kith_filter_kind_at(kind_)->capabilities & KITH_CAN_ADD)

#endif
