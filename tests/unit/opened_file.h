/* opened_file.h: helpers for the tests of kith/file.h: filters of a few keys in files, plain or with a journal. */
#ifndef KITH_TESTS_UNIT_OPENED_FILE_H
#define KITH_TESTS_UNIT_OPENED_FILE_H

#include <kith/kith.h>

#include "check.h"
#include "folder.h"

enum { FILE_CAPACITY = 5000 };

static inline kith_filter *some_filter(const char *kind, uint64_t first, uint64_t keys) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = kind;
    spec.capacity = FILE_CAPACITY;
    spec.rate = 1e-6;
    CHECK_OK(kith_filter_create(&spec, &filter));
    for (uint64_t key = first; key < first + keys; key++)
        CHECK_OK(kith_filter_add(filter, &key, sizeof key, NULL));
    return filter;
}

static inline kith_filter *static_filter(void) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "ribbon";
    spec.rate = 1e-6;
    uint64_t digests[] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0x1e3779b97f4a7c17)};
    CHECK_OK(kith_filter_build(&spec, digests, 2, KITH_BUILD_SET, 1, &filter));
    return filter;
}

/* Opens the file, or fails the test. */
static inline kith_file *file_opened(const char *path, kith_file_mode mode, const kith_file_options *options) {
    kith_file *file;
    CHECK_OK(kith_file_open(path, mode, options, &file));
    return file;
}

/* Makes a file that holds the keys first … first + keys - 1. */
static inline void file_made(const char *path, const char *kind, uint64_t first, uint64_t keys, bool has_journal) {
    kith_file *file = file_opened(path, KITH_FILE_CREATE, NULL);
    CHECK_OK(kith_file_replace(file, some_filter(kind, first, keys)));
    CHECK_OK(kith_file_set_journal(file, has_journal));
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_close(file));
}

static inline bool has_keys(const kith_file *file, uint64_t first, uint64_t keys) {
    for (uint64_t key = first; key < first + keys; key++)
        if (!kith_file_has(file, &key, sizeof key))
            return false;
    return true;
}

/* Returns whether the file holds these keys, and no other of the next 1,000. */
static inline bool file_holds(const char *path, uint64_t first, uint64_t keys) {
    kith_file *file = file_opened(path, KITH_FILE_READ, NULL);
    bool holds = has_keys(file, first, keys);
    for (uint64_t key = first + keys; key < first + keys + 1000; key++)
        holds &= !kith_file_has(file, &key, sizeof key);
    CHECK_OK(kith_file_verify(file));
    CHECK_OK(kith_file_close(file));
    return holds;
}

static inline kith_status add_number(kith_file *file, uint64_t key) {
    return kith_file_add(file, &key, sizeof key, NULL);
}

static inline kith_file_info info_of(const kith_file *file) {
    kith_file_info info = KITH_FILE_INFO_INIT;
    CHECK_OK(kith_file_info_of(file, &info));
    return info;
}

/* The name of the file that the last error is about. */
static inline const char *wrong_name(const kith_file *file) {
    static kith_file_error error;
    error = (kith_file_error)KITH_FILE_ERROR_INIT;
    CHECK_OK(kith_file_error_of(file, &error));
    CHECK(error.text != NULL && error.text[0] != '\0');
    return error.name;
}

static inline bool is_there(const struct folder *f, const char *name) {
    struct stat st;
    return lstat(in(f, name), &st) == 0;
}

#endif
