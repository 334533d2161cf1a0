/* golden_store: tests a store, snapshot and journal, that every later version must read, and write byte for byte.
 *
 *     golden_store           runs the tests
 *     golden_store --make    writes store/seen.kith and store/seen.kith-journal in this folder
 *
 * The store is in a folder of its own, because the readers of the other golden files do not read journals. Its id is
 * fixed. The snapshot has keys of a checkpoint. The journal has records of each type and size: single adds and removals
 * of keys, an array of digests, and a committed batch. golden.c says when files may be remade. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include <kith/kith.h>

#include "check.h"
#include "folder.h"
#include "golden/files.h"
#include "store_calls.h"

#define KEPT FOLDER "store/seen.kith"
#define JOURNAL "-journal"

enum {
    CAPACITY = 60,
    IN_SNAPSHOT = 20,
    IN_JOURNAL = 40, /* keys below are added or removed */
    FIRST_IN_BATCH = 36,
    KEY_BYTES_MAX = 32,
};

static int fixed_random(void *context, void *bytes, size_t byte_count) {
    (void)context;
    for (size_t i = 0; i < byte_count; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)(0xa1 + i);
    return 0;
}

static size_t key_of(size_t i, char key[KEY_BYTES_MAX]) {
    return (size_t)snprintf(key, KEY_BYTES_MAX, "key-%zu", i);
}

static uint64_t digest_of(const kithi_store *store, size_t i) {
    char key[KEY_BYTES_MAX];
    kith_hash hash = kith_filter_hash(kithi_store_filter(store));
    return kith_digest(&hash, key, key_of(i, key));
}

/* Every seventh key was removed, half of them by records of the journal. */
static bool is_member(size_t i) {
    return i < IN_JOURNAL && i % 7 != 0;
}

static void add(kithi_store *store, size_t from, size_t to) {
    char key[KEY_BYTES_MAX];
    for (size_t i = from; i < to; i++)
        CHECK_OK(kithi_store_add(store, key, key_of(i, key), NULL));
}

static void remove_sevenths(kithi_store *store, size_t from, size_t to) {
    char key[KEY_BYTES_MAX];
    for (size_t i = (from + 6) / 7 * 7; i < to; i += 7)
        CHECK_OK(kithi_store_remove(store, key, key_of(i, key)));
}

static void make(const char *path) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter = NULL;
    kithi_store *store = NULL;
    kithi_files files = kithi_files_system;
    files.random = fixed_random;
    spec.kind = "counting";
    spec.capacity = CAPACITY;
    spec.rate = 0.001;
    spec.hash = (kith_hash){.id = KITH_HASH_XXH3, .seed = 5};
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kithi_store_create_with(&files, path, filter, NULL, &store));
    kith_filter_free(filter);
    add(store, 0, IN_SNAPSHOT);
    remove_sevenths(store, 0, 8); /* 0 and 7; 14 is still in the snapshot */
    CHECK_OK(kithi_store_checkpoint(store));

    uint64_t digests[12];
    size_t count = sizeof digests / sizeof *digests, at = IN_SNAPSHOT + 4;
    add(store, IN_SNAPSHOT, at);
    for (size_t i = 0; i < count; i++)
        digests[i] = digest_of(store, at + i);
    CHECK_OK(kithi_store_add_many(store, digests, count, NULL, NULL));
    CHECK(at + count == FIRST_IN_BATCH);
    remove_sevenths(store, 8, FIRST_IN_BATCH);
    CHECK_OK(kithi_store_begin(store));
    add(store, FIRST_IN_BATCH, IN_JOURNAL);
    CHECK_OK(kithi_store_commit(store));
    CHECK_OK(kithi_store_close(store));
}

TEST(the_same_operations_give_the_golden_store) {
    struct folder f = fresh_folder();
    make(in(&f, "seen.kith"));
    text want = read_file(KEPT), got = read_file(in(&f, "seen.kith"));
    text want_journal = read_file(KEPT JOURNAL), got_journal = read_file(in(&f, "seen.kith" JOURNAL));
    remove_folder(&f);
    check_same_bytes("the snapshot", got.at, got.used, &want);
    check_same_bytes("the journal", got_journal.at, got_journal.used, &want_journal);
    free(want.at);
    free(got.at);
    free(want_journal.at);
    free(got_journal.at);
}

/* Snapshot and journal together have the members; the snapshot alone lacks those that only the journal has. */
TEST(the_golden_store_opens_and_finds_every_member) {
    kithi_store *store = NULL;
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    char key[KEY_BYTES_MAX];
    CHECK_OK(kithi_store_open(KEPT, KITHI_STORE_READ, NULL, &store));
    CHECK_OK(kithi_store_verify(store));
    CHECK_OK(kithi_store_info_of(store, &info));
    for (size_t i = 0; i < sizeof info.id; i++)
        CHECK_EQ_U64(info.id[i], 0xa1 + i);
    uint64_t members = 0;
    for (size_t i = 0; i < CAPACITY; i++) {
        members += is_member(i);
        if (kithi_store_has(store, key, key_of(i, key)) != is_member(i))
            CHECK_FAIL("%s is %s", key, is_member(i) ? "not found" : "found");
    }
    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), members);
    CHECK_OK(kithi_store_close(store));

    text snapshot = read_file(KEPT);
    kithi_head head;
    CHECK_OK(kithi_header_read((uint8_t *)snapshot.at, snapshot.used, &head));
    CHECK(head.store.is_store && head.count == IN_SNAPSHOT - 2);
    free(snapshot.at);
}

/* The header is that of the golden snapshot, so only the size is wrong. */
TEST(a_file_of_3_gib_is_refused_where_sizes_have_32_bits) {
    if (SIZE_MAX > UINT32_MAX)
        SKIP("64-bit sizes");
    struct folder f = fresh_folder();
    text snapshot = read_file(KEPT);
    write_file(in(&f, "seen.kith"), &snapshot);
    free(snapshot.at);
    kith_status opened = KITH_OK, read = KITH_OK, store_opened = KITH_OK;
    bool made = truncate(in(&f, "seen.kith"), INT64_C(3) << 30) == 0;
    if (made) {
        kith_filter *filter = NULL;
        kithi_store *store = NULL;
        opened = kith_filter_open(in(&f, "seen.kith"), KITH_OPEN_DEFAULT, NULL, &filter);
        read = kith_filter_open(in(&f, "seen.kith"), KITH_OPEN_COPY, NULL, &filter);
        store_opened = kithi_store_open(in(&f, "seen.kith"), KITHI_STORE_READ, NULL, &store);
    }
    remove_folder(&f);
    CHECK(made);
    CHECK_STATUS(opened, KITH_E_ADDRESS);
    CHECK_STATUS(read, KITH_E_ADDRESS);
    CHECK_STATUS(store_opened, KITH_E_ADDRESS);
}

int main(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[1], "--make") != 0)
        return check_main(argc, argv);
    if (setjmp(check_exit) != 0)
        return 1;
    (void)unlink(KEPT);
    (void)unlink(KEPT JOURNAL);
    make(KEPT);
    return unlink(KEPT "-lock");
}
