/* Tests of callers that were compiled when a struct of kith/builder.h, kith/file.h or kith/repair.h had fewer fields:
 * only those are read and written. The contract checks test the structs of filters and tables. */
#define _GNU_SOURCE

#include <stddef.h>

#include <kith/builder.h>
#include <kith/file.h>
#include <kith/repair.h>

#include "check.h"
#include "core/mix.h"
#include "folder.h"

enum {
    GUARD = 0x5a, /* in every byte behind the caller's struct */
    KEYS = 1000,
};

static void check_guard(const void *given, size_t from, size_t bytes) {
    for (size_t i = from; i < bytes; i++)
        CHECK_EQ_U64(((const uint8_t *)given)[i], GUARD);
}

static kith_filter_spec small_spec(void) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.capacity = KEYS;
    spec.rate = 0.01;
    return spec;
}

/* A caller whose limits end before the memory limit: there is no limit, no folder and no progress function. */
TEST(missing_limits_of_a_build_are_0) {
    static uint64_t digests[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = kithi_mix(i + 1);
    kith_filter_spec spec = small_spec();
    kith_build_limits older;
    memset(&older, GUARD, sizeof older);
    older.struct_bytes = offsetof(kith_build_limits, memory_bytes);
    older.threads = 2;
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &older, &b));
    CHECK_OK(kith_builder_add_many(b, digests, KEYS, NULL));
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK_EQ_U64(kith_filter_count(f), KEYS);
    kith_builder_free(b);
    kith_filter_free(f);
}

TEST(only_the_callers_fields_of_the_info_of_a_file_are_written) {
    struct folder folder = fresh_folder();
    kith_filter_spec spec = small_spec();
    kith_filter *f = NULL;
    kith_file *file = NULL;
    CHECK_OK(kith_filter_create(&spec, &f));
    CHECK_OK(kith_file_open(in(&folder, "x"), KITH_FILE_CREATE, NULL, &file));
    CHECK_OK(kith_file_set_journal(file, true));
    CHECK_OK(kith_file_replace(file, f));
    CHECK_OK(kith_file_commit(file));
    CHECK_OK(kith_file_add(file, "key", 3, NULL));
    CHECK_OK(kith_file_commit(file));
    kith_file_info older;
    memset(&older, GUARD, sizeof older);
    older.struct_bytes = offsetof(kith_file_info, generation);
    CHECK_OK(kith_file_info_of(file, &older));
    CHECK_EQ_U64(older.struct_bytes, offsetof(kith_file_info, generation));
    CHECK(older.has_journal && older.is_locked);
    check_guard(&older, offsetof(kith_file_info, generation), sizeof older);
    CHECK_OK(kith_file_close(file));
    remove_folder(&folder);
}

TEST(only_the_callers_fields_of_a_repair_report_are_written) {
    struct folder folder = fresh_folder();
    kith_filter_spec spec = small_spec();
    kith_filter *f = NULL, *repaired = NULL;
    CHECK_OK(kith_filter_create(&spec, &f));
    CHECK_OK(kith_filter_save(f, in(&folder, "x")));
    kith_repair_report older;
    memset(&older, GUARD, sizeof older);
    older.struct_bytes = offsetof(kith_repair_report, missing_bytes);
    CHECK_OK(kith_repair(in(&folder, "x"), NULL, &older, &repaired));
    CHECK_EQ_U64(older.struct_bytes, offsetof(kith_repair_report, missing_bytes));
    CHECK(older.is_whole && !older.is_store && !older.may_miss_keys);
    check_guard(&older, offsetof(kith_repair_report, missing_bytes), sizeof older);
    kith_filter_free(repaired);
    kith_filter_free(f);
    remove_folder(&folder);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
