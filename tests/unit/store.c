/* Tests of file/store.h on real files: every function, recovery, other content, readers beside a writer. */
#define _GNU_SOURCE

#include "unit/small_filter.h"
#include "store_calls.h"

#include "core/bits.h"
#include "core/hash.h"
#include "folder.h"
#include "format/format.h"
#include "splitmix.h"

#define EACH_KIND_THAT_ADDS(variable)                                                                                  \
    EACH_KIND(variable)                                                                                                \
    if (kith_filter_kind_at(kind_)->capabilities & KITH_CAN_ADD)

static kith_filter *empty_filter(const char *kind, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

static kithi_store *created(const char *path, const char *kind, const kithi_store_options *options) {
    kith_filter *filter = new_filter(kind, NULL);
    kithi_store *store = NULL;
    CHECK_OK(kithi_store_create(path, filter, options, &store));
    kith_filter_free(filter);
    return store;
}

static kithi_store *opened(const char *path, unsigned flags) {
    kithi_store *store = NULL;
    CHECK_OK(kithi_store_open(path, flags, NULL, &store));
    return store;
}

static kithi_store_info info(const kithi_store *store) {
    kithi_store_info i = KITHI_STORE_INFO_INIT;
    CHECK_OK(kithi_store_info_of(store, &i));
    return i;
}

static bool has_number(const kithi_store *store, uint64_t i) {
    return kithi_store_has(store, &i, sizeof i);
}

static void add_numbers(kithi_store *store, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++)
        CHECK_OK(kithi_store_add(store, &i, sizeof i, NULL));
}

static void check_numbers(const kithi_store *store, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++)
        CHECK(has_number(store, i));
}

/* Checks that the content of the store has the bytes of `filter`. */
static void check_same(const kithi_store *store, kith_filter *filter) {
    kith_filter *copy;
    const void *got, *want;
    size_t got_bytes, want_bytes;
    CHECK_OK(kith_filter_clone(kithi_store_filter(store), NULL, &copy));
    CHECK_OK(kith_filter_bytes(copy, &got, &got_bytes));
    CHECK_OK(kith_filter_bytes(filter, &want, &want_bytes));
    CHECK_EQ_U64(got_bytes, want_bytes);
    CHECK(memcmp(got, want, got_bytes) == 0);
    kith_filter_free(copy);
}

TEST(keys_survive_without_a_checkpoint) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = new_filter(kind, NULL);
        kithi_store *store = created(in(&f, kind), kind, NULL);
        for (uint64_t i = KEYS / 2; i < KEYS; i++) {
            bool was_new, new_in_model;
            CHECK_OK(kith_filter_add(model, &i, sizeof i, &new_in_model));
            CHECK_OK(kithi_store_add(store, &i, sizeof i, &was_new));
            CHECK(was_new == new_in_model);
            CHECK(kithi_store_durable(store));
        }
        check_same(store, model);
        CHECK_EQ_U64(info(store).sequence, KEYS / 2);
        CHECK_EQ_U64(info(store).synced, KEYS / 2);
        CHECK_EQ_U64(info(store).snapshot_sequence, 0);
        CHECK_OK(kithi_store_close(store));

        store = opened(in(&f, kind), KITHI_STORE_WRITE);
        CHECK_EQ_U64(info(store).sequence, KEYS / 2);
        CHECK_EQ_U64(info(store).cut_bytes, 0);
        check_same(store, model);
        CHECK_OK(kithi_store_verify(store));
        CHECK_OK(kithi_store_close(store));
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(plain_opens_refuse_a_store) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        const char *path = in(&f, kind);
        kithi_store *store = created(path, kind, NULL);
        add_numbers(store, KEYS / 2, KEYS);
        CHECK_OK(kithi_store_close(store));
        kith_filter *filter = NULL;
        for (unsigned flags = 0; flags < 4; flags++)
            CHECK_STATUS(kith_filter_open(path, flags, NULL, &filter), KITH_E_JOURNAL);

        /* knowingly without the journal: the state of the last checkpoint */
        const void *bytes;
        size_t byte_count;
        kith_filter *model = new_filter(kind, NULL), *copy;
        for (unsigned flags = 0; flags < 4; flags++) {
            CHECK_OK(kith_filter_open(path, flags | KITH_OPEN_SNAPSHOT, NULL, &filter));
            CHECK_EQ_U64(kith_filter_count(filter), kith_filter_count(model));
            if ((flags & KITH_OPEN_COPY) == 0) {
                CHECK_STATUS(kith_filter_bytes(filter, &bytes, &byte_count), KITH_E_JOURNAL);
                CHECK_STATUS(kith_filter_save(filter, in(&f, "other")), KITH_E_JOURNAL);
            }
            CHECK_OK(kith_filter_clone(filter, NULL, &copy));
            CHECK_OK(kith_filter_save(copy, in(&f, "other"))); /* the copy is plain */
            kith_filter_free(copy);
            kith_filter_free(filter);
            CHECK_OK(kith_filter_open(in(&f, "other"), 0, NULL, &filter));
            kith_filter_free(filter);
        }
        CHECK_OK(kith_filter_open(path, KITH_OPEN_SNAPSHOT | KITH_OPEN_COPY, NULL, &filter));
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
        CHECK_OK(kith_filter_view(bytes, byte_count, 0, NULL, &copy));
        kith_filter_free(copy);
        kith_filter_free(filter);
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_plain_file_is_not_a_store) {
    struct folder f = fresh_folder();
    kith_filter *filter = new_filter("bloom", NULL);
    kithi_store *store = NULL;
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_WRITE, NULL, &store), KITH_E_NO_FILE);
    CHECK_OK(kith_filter_save(filter, in(&f, "x")));
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_WRITE, NULL, &store), KITH_E_NOT_STORE);
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_READ, NULL, &store), KITH_E_NOT_STORE);
    CHECK(access(in(&f, "x-lock"), F_OK) != 0); /* nothing was left behind */
    CHECK_STATUS(kithi_store_open(in(&f, "x"), 2, NULL, &store), KITH_E_ARGUMENT);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = (kith_sync)3;
    CHECK_STATUS(kithi_store_open(in(&f, "x"), 0, &options, &store), KITH_E_ARGUMENT);
    options.struct_bytes++;
    CHECK_STATUS(kithi_store_open(in(&f, "x"), 0, &options, &store), KITH_E_ARGUMENT);

    /* made into a store */
    CHECK_STATUS(kithi_store_convert(in(&f, "none"), NULL, &store), KITH_E_NO_FILE);
    CHECK(make_file(in(&f, "other"), 300, 1, 0600));
    CHECK_STATUS(kithi_store_convert(in(&f, "other"), NULL, &store), KITH_E_NOT_KITH);
    CHECK(access(in(&f, "other-lock"), F_OK) != 0);
    CHECK(chmod(in(&f, "x"), 0640) == 0);
    CHECK_OK(kithi_store_convert(in(&f, "x"), NULL, &store));
    check_same(store, filter);
    struct stat st; /* whoever may not read the filter may not read the journal */
    CHECK(stat(in(&f, "x-journal"), &st) == 0 && (st.st_mode & 0777) == 0640);
    CHECK(stat(in(&f, "x"), &st) == 0 && (st.st_mode & 0777) == 0640);
    CHECK_OK(kithi_store_close(store));
    CHECK_STATUS(kithi_store_convert(in(&f, "x"), NULL, &store), KITH_E_JOURNAL);
    CHECK_STATUS(kith_filter_open(in(&f, "x"), 0, NULL, &filter), KITH_E_JOURNAL);

    /* and back */
    store = opened(in(&f, "x"), KITHI_STORE_WRITE);
    add_numbers(store, KEYS / 2, KEYS);
    kith_filter *model;
    CHECK_OK(kith_filter_clone(kithi_store_filter(store), NULL, &model));
    CHECK_OK(kithi_store_close_plain(store));
    CHECK(access(in(&f, "x-journal"), F_OK) != 0);
    kith_filter *plain;
    CHECK_OK(kith_filter_open(in(&f, "x"), 0, NULL, &plain));
    CHECK_EQ_U64(kith_filter_count(plain), kith_filter_count(model));
    kith_filter_free(plain);
    kith_filter_free(model);
    kith_filter_free(filter);
    remove_folder(&f);
}

/* The header of a snapshot with a correct checksum, but a mark that no store has. */
TEST(marks_that_no_store_has_are_refused) {
    static const struct {
        uint16_t flags;
        uint8_t id;
        uint64_t sequence;
        kith_status status;
    } cases[] = {
        {2, 1, 0, KITH_E_JOURNAL},
        {2, 1, KITHI_SEQUENCE_MAX, KITH_E_JOURNAL},
        {2, 1, KITHI_SEQUENCE_MAX + 1, KITH_E_CORRUPT},
        {2, 0, 0, KITH_E_CORRUPT}, /* no id */
        {0, 1, 0, KITH_E_CORRUPT}, /* an id, but not a store */
        {0, 0, 1, KITH_E_CORRUPT}, /* a sequence number, but not a store */
        {4, 0, 0, KITH_E_CORRUPT},
        {0, 0, 0, KITH_OK},
    };
    EACH_KIND(kind) {
        kith_filter *filter = new_filter(kind, NULL), *opened_filter;
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
        uint8_t *copy = malloc(byte_count);
        CHECK(copy != NULL);
        for (size_t i = 0; i < LENGTH(cases); i++) {
            memcpy(copy, bytes, byte_count);
            kithi_store16(copy + 14, cases[i].flags);
            copy[20] = cases[i].id;
            kithi_store64(copy + 168, cases[i].sequence);
            kithi_store64(copy + 184, kithi_checksum(copy, 184));
            CHECK_STATUS(kith_filter_view(copy, byte_count, 0, NULL, &opened_filter), cases[i].status);
            if (cases[i].status == KITH_OK)
                kith_filter_free(opened_filter);
        }
        free(copy);
        kith_filter_free(filter);
    }
    /* a layer cannot be one, whatever the flags */
    kith_filter *layers = new_filter("layers", NULL), *none;
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(layers, &bytes, &byte_count));
    uint8_t *copy = malloc(byte_count);
    CHECK(copy != NULL);
    memcpy(copy, bytes, byte_count);
    kithi_store_mark mark = {.is_store = true, .id = {1}};
    kithi_header_set_mark(copy + 192 + 512, &mark); /* after the header and the directory */
    kithi_head head;
    CHECK_OK(kithi_header_read(copy, byte_count, &head));
    kithi_block_seal(copy, &head);
    CHECK_STATUS(kith_filter_view(copy, byte_count, 0, NULL, &none), KITH_E_CORRUPT);
    CHECK_STATUS(kith_filter_view(copy, byte_count, KITH_OPEN_SNAPSHOT, NULL, &none), KITH_E_CORRUPT);
    free(copy);
    kith_filter_free(layers);
    /* a table cannot be one either */
    struct folder f = fresh_folder();
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    kith_table *table;
    spec.kind = "cuckoo";
    CHECK_OK(kith_table_create(&spec, &table));
    CHECK_OK(kith_table_save(table, in(&f, "t")));
    kith_table_free(table);
    uint8_t header[192];
    FILE *file = fopen(in(&f, "t"), "r+b");
    CHECK(file != NULL && fread(header, 1, sizeof header, file) == sizeof header);
    kithi_header_set_mark(header, &mark);
    CHECK(fseek(file, 0, SEEK_SET) == 0 && fwrite(header, 1, sizeof header, file) == sizeof header);
    CHECK(fclose(file) == 0);
    CHECK_STATUS(kith_table_open(in(&f, "t"), 0, NULL, &table), KITH_E_CORRUPT);
    remove_folder(&f);
}

TEST(static_kinds_cannot_be_stores) {
    struct folder f = fresh_folder();
    EACH_KIND(kind) {
        if (kith_filter_kind_at(kind_)->capabilities & KITH_CAN_ADD)
            continue;
        kith_filter *filter = new_filter(kind, NULL);
        kithi_store *store;
        CHECK_STATUS(kithi_store_create(in(&f, kind), filter, NULL, &store), KITH_E_UNSUPPORTED);
        CHECK(access(in(&f, kind), F_OK) != 0);
        CHECK_OK(kith_filter_save(filter, in(&f, kind)));
        CHECK_STATUS(kithi_store_convert(in(&f, kind), NULL, &store), KITH_E_UNSUPPORTED);
        kith_filter_free(filter);
    }
    remove_folder(&f);
}

TEST(removals_and_failures_are_repeated) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = new_filter(kind, NULL);
        bool removes = (kith_filter_capabilities(model) & KITH_CAN_REMOVE) != 0;
        kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
        options.sync = KITH_SYNC_OPERATIONS;
        kithi_store *store = created(in(&f, kind), kind, &options);
        uint64_t state = 1;
        unsigned failures = 0;
        for (unsigned step = 0; step < 400; step++) {
            /* few different keys, so that adds fail with FULL and COPIES, and removals with ABSENT */
            uint64_t key = splitmix_next(&state) % 80;
            if (splitmix_next(&state) % 4 == 0) {
                kith_status want = kith_filter_remove(model, &key, sizeof key);
                CHECK_STATUS(kithi_store_remove(store, &key, sizeof key), removes ? want : KITH_E_UNSUPPORTED);
                failures += want != KITH_OK;
            } else {
                kith_status want = kith_filter_add(model, &key, sizeof key, NULL);
                CHECK_STATUS(kithi_store_add(store, &key, sizeof key, NULL), want);
                failures += want != KITH_OK;
            }
        }
        CHECK(failures > 0);
        check_same(store, model);
        CHECK_OK(kithi_store_close(store));
        store = opened(in(&f, kind), KITHI_STORE_READ);
        check_same(store, model);
        CHECK_OK(kithi_store_close(store));
        kith_filter_free(model);
    }
    remove_folder(&f);
}

/* Digests of the numbers from … from + n - 1. */
static uint64_t *digests_of(const kith_filter *filter, uint64_t from, size_t n) {
    uint64_t *digests = malloc(n * sizeof *digests);
    CHECK(digests != NULL);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = from + i;
        digests[i] = kith_filter_digest(filter, &key, sizeof key);
    }
    return digests;
}

TEST(batches_are_repeated) {
    struct folder f = fresh_folder();
    enum { N = 30000 }; /* several records */
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = empty_filter(kind, N / 2); /* full before the end, except layers */
        kithi_store *store;
        CHECK_OK(kithi_store_create(in(&f, kind), model, NULL, &store));
        uint64_t *digests = digests_of(model, 0, N);
        static uint64_t want_new[N / 64 + 1], got_new[N / 64 + 1];
        size_t want_done, got_done;
        kith_status want = kith_filter_add_many(model, digests, N, want_new, &want_done);
        CHECK_STATUS(kithi_store_add_many(store, digests, N, got_new, &got_done), want);
        CHECK_EQ_U64(got_done, want_done);
        CHECK(memcmp(want_new, got_new, sizeof want_new) == 0);
        if (kith_filter_capabilities(model) & KITH_CAN_REMOVE) {
            want = kith_filter_remove_many(model, digests, N, &want_done);
            CHECK_STATUS(kithi_store_remove_many(store, digests, N, &got_done), want);
            CHECK_EQ_U64(got_done, want_done);
        }
        check_same(store, model);
        CHECK_OK(kithi_store_close(store));
        store = opened(in(&f, kind), KITHI_STORE_WRITE);
        check_same(store, model);
        CHECK_OK(kithi_store_checkpoint(store));
        check_same(store, model);
        CHECK_OK(kithi_store_close(store));
        free(digests);
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_checkpoint_folds_the_journal_into_the_snapshot) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = new_filter(kind, NULL);
        kithi_store *store = created(in(&f, kind), kind, NULL);
        const kith_filter *address = kithi_store_filter(store);
        for (uint64_t i = KEYS / 2; i < KEYS; i++) {
            CHECK_OK(kithi_store_add(store, &i, sizeof i, NULL));
            CHECK_OK(kith_filter_add(model, &i, sizeof i, NULL));
            if (i % 3 == 0) {
                CHECK_OK(kithi_store_checkpoint(store));
                CHECK_EQ_U64(info(store).snapshot_sequence, info(store).sequence);
                CHECK_EQ_U64(info(store).journal_bytes, 64);
                uint64_t generation = info(store).generation;
                CHECK_OK(kithi_store_checkpoint(store)); /* nothing to do */
                CHECK_EQ_U64(info(store).generation, generation);
            }
            check_same(store, model);
        }
        CHECK(kithi_store_filter(store) == address);
        CHECK_OK(kithi_store_close(store));
        store = opened(in(&f, kind), KITHI_STORE_READ);
        check_same(store, model);
        CHECK_OK(kithi_store_close(store));
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_batch_is_rolled_back_or_committed) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = new_filter(kind, NULL);
        kithi_store *store = created(in(&f, kind), kind, NULL), *reader;
        CHECK_STATUS(kithi_store_commit(store), KITH_E_ARGUMENT);
        CHECK_STATUS(kithi_store_rollback(store), KITH_E_ARGUMENT);
        CHECK_OK(kithi_store_begin(store));
        CHECK_STATUS(kithi_store_begin(store), KITH_E_BUSY);
        CHECK_STATUS(kithi_store_sync(store), KITH_E_BUSY);
        CHECK_STATUS(kithi_store_checkpoint(store), KITH_E_BUSY);
        CHECK_STATUS(kithi_store_replace(store, model), KITH_E_BUSY);
        CHECK_STATUS(kithi_store_close_plain(store), KITH_E_BUSY);
        CHECK_OK(kithi_store_rollback(store));
        CHECK_OK(kithi_store_begin(store));
        CHECK_OK(kithi_store_commit(store)); /* an empty batch leaves nothing behind */
        CHECK_EQ_U64(info(store).sequence, 0);

        CHECK_OK(kithi_store_begin(store));
        add_numbers(store, KEYS / 2, KEYS);
        check_numbers(store, 0, KEYS);
        reader = opened(in(&f, kind), KITHI_STORE_READ);
        check_same(reader, model); /* not committed yet */
        CHECK_OK(kithi_store_rollback(store));
        check_same(store, model);
        CHECK_EQ_U64(info(store).sequence, 0);

        CHECK_OK(kithi_store_begin(store));
        add_numbers(store, KEYS / 2, KEYS);
        for (uint64_t i = KEYS / 2; i < KEYS; i++)
            CHECK_OK(kith_filter_add(model, &i, sizeof i, NULL));
        CHECK(!kithi_store_durable(store));
        CHECK_OK(kithi_store_commit(store));
        CHECK(kithi_store_durable(store));
        check_same(store, model);
        bool changed;
        CHECK_OK(kithi_store_refresh(reader, &changed));
        CHECK(changed);
        check_same(reader, model);

        /* a batch that is open when the store is closed is dropped */
        uint64_t key = 0;
        CHECK_OK(kithi_store_begin(store));
        (void)!kithi_store_add(store, &key, sizeof key, NULL);
        CHECK_OK(kithi_store_close(store));
        store = opened(in(&f, kind), KITHI_STORE_WRITE);
        CHECK_EQ_U64(info(store).cut_bytes, 0);
        check_same(store, model);
        CHECK_OK(kithi_store_close(store));
        CHECK_OK(kithi_store_close(reader));
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_second_writer_is_refused) {
    struct folder f = fresh_folder();
    kithi_store *store = created(in(&f, "x"), "bloom", NULL), *second = NULL;
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_WRITE, NULL, &second), KITH_E_LOCKED);
    kith_filter *filter = new_filter("cuckoo", NULL);
    CHECK_STATUS(kithi_store_create(in(&f, "x"), filter, NULL, &second), KITH_E_LOCKED);
    CHECK_OK(symlink("x", in(&f, "link")) == 0 ? KITH_OK : KITH_E_IO);
    CHECK_STATUS(kithi_store_open(in(&f, "link"), KITHI_STORE_WRITE, NULL, &second), KITH_E_LOCKED);
    second = opened(in(&f, "link"), KITHI_STORE_READ);
    uint64_t key = 77;
    CHECK_STATUS(kithi_store_add(second, &key, sizeof key, NULL), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_remove(second, &key, sizeof key), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_begin(second), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_commit(second), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_rollback(second), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_sync(second), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_checkpoint(second), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_replace(second, filter), KITH_E_READONLY);
    CHECK_STATUS(kithi_store_close_plain(second), KITH_E_READONLY);
    CHECK_OK(kithi_store_tick(second));
    CHECK_OK(kithi_store_close(second));
    CHECK_OK(kithi_store_close(store));
    second = opened(in(&f, "link"), KITHI_STORE_WRITE); /* the lock is free again */
    add_numbers(second, KEYS / 2, KEYS);
    CHECK_OK(kithi_store_close(second));
    CHECK(access(in(&f, "x-lock"), F_OK) == 0 && access(in(&f, "link-lock"), F_OK) != 0);

    /* a file that is not a lock file */
    CHECK(make_file(in(&f, "x-lock"), 3, 1, 0600));
    CHECK_STATUS(kithi_store_open(in(&f, "x"), KITHI_STORE_WRITE, NULL, &second), KITH_E_IO);
    CHECK(errno == EINVAL);
    CHECK(file_is(in(&f, "x-lock"), 3, 1));
    kith_filter_free(filter);
    CHECK_OK(kithi_store_close(NULL));
    remove_folder(&f);
}

TEST(readers_follow_the_writer) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        kithi_store *store = created(in(&f, kind), kind, NULL);
        kithi_store *reader = opened(in(&f, kind), KITHI_STORE_READ);
        const kith_filter *address = kithi_store_filter(reader);
        kith_filter *model = new_filter(kind, NULL);
        bool changed;
        for (uint64_t i = KEYS / 2; i < KEYS; i++) {
            CHECK_OK(kithi_store_add(store, &i, sizeof i, NULL));
            if (i % 4 == 1)
                CHECK_OK(kithi_store_checkpoint(store));
            check_same(reader, model); /* nothing changes without a refresh */
            CHECK_OK(kithi_store_refresh(reader, &changed));
            CHECK(changed);
            CHECK_OK(kithi_store_refresh(reader, &changed));
            CHECK(!changed);
            CHECK_OK(kith_filter_add(model, &i, sizeof i, NULL));
            check_same(reader, model);
            CHECK_OK(kithi_store_verify(reader));
        }
        kith_filter *other = new_filter("blocked", NULL), *fixed;
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = "fuse";
        spec.rate = 0.01;
        CHECK_OK(kith_filter_build(&spec, &(uint64_t){1}, 1, KITH_BUILD_SET, 1, &fixed));
        CHECK_STATUS(kithi_store_replace(store, fixed), KITH_E_UNSUPPORTED); /* nothing can be added to it */
        check_same(store, model);
        kith_filter_free(fixed);
        /* other content, of another kind */
        CHECK_OK(kithi_store_replace(store, other));
        check_same(store, other);
        CHECK_OK(kithi_store_refresh(reader, &changed));
        CHECK(changed);
        check_same(reader, other);
        CHECK(kithi_store_filter(reader) == address);
        CHECK_OK(kithi_store_refresh(store, &changed));
        CHECK(!changed);
        CHECK_OK(kithi_store_close(reader));
        CHECK_OK(kithi_store_close(store));
        store = opened(in(&f, kind), KITHI_STORE_WRITE);
        check_same(store, other);
        CHECK_OK(kithi_store_close(store));
        kith_filter_free(other);
        kith_filter_free(model);
    }
    remove_folder(&f);
}

/* A record that a reader has seen can be lost when the writer's machine loses power, and another may take its place. */
TEST(a_reader_notices_that_a_record_was_replaced) {
    struct folder f = fresh_folder();
    kithi_store *store = created(in(&f, "x"), "cuckoo", NULL);
    add_numbers(store, 100, 103);
    CHECK_OK(kithi_store_close(store));
    kithi_store *reader = opened(in(&f, "x"), KITHI_STORE_READ);
    struct stat st;
    CHECK(stat(in(&f, "x-journal"), &st) == 0);
    CHECK(truncate(in(&f, "x-journal"), st.st_size - 48) == 0);
    bool changed;
    CHECK_OK(kithi_store_refresh(reader, &changed)); /* the journal is shorter than what was read */
    CHECK(changed);
    CHECK_EQ_U64(info(reader).sequence, 2);
    CHECK(!has_number(reader, 102));
    for (uint64_t other = 200; other < 205; other++) { /* and a record of the same size in the same place */
        store = opened(in(&f, "x"), KITHI_STORE_WRITE);
        add_numbers(store, other, other + 1);
        CHECK_OK(kithi_store_close(store));
        CHECK_OK(kithi_store_refresh(reader, &changed));
        CHECK(changed);
        CHECK(has_number(reader, other) && !has_number(reader, other - 1));
        CHECK_EQ_U64(kith_filter_count(kithi_store_filter(reader)), KEYS / 2 + 3);
        CHECK(truncate(in(&f, "x-journal"), st.st_size - 48) == 0);
    }
    CHECK_OK(kithi_store_close(reader));
    remove_folder(&f);
}

TEST(creating_over_a_store_replaces_its_content) {
    struct folder f = fresh_folder();
    kithi_store *store = created(in(&f, "x"), "cuckoo", NULL);
    add_numbers(store, KEYS / 2, KEYS);
    kithi_store_info before = info(store);
    CHECK_OK(kithi_store_close(store));
    store = created(in(&f, "x"), "counting", NULL);
    CHECK(memcmp(info(store).id, before.id, sizeof before.id) == 0); /* the same store, later */
    CHECK(info(store).snapshot_sequence > before.sequence);
    kith_filter *model = new_filter("counting", NULL);
    check_same(store, model);
    CHECK_OK(kithi_store_close(store));

    /* without its journal there is nothing to continue */
    CHECK(unlink(in(&f, "x-journal")) == 0);
    store = created(in(&f, "x"), "counting", NULL);
    CHECK(memcmp(info(store).id, before.id, sizeof before.id) != 0);
    CHECK_OK(kithi_store_close(store));

    /* a file of that name that is not a journal is never overwritten */
    CHECK(unlink(in(&f, "x")) == 0 && make_file(in(&f, "x-journal"), 10, 3, 0600));
    CHECK_STATUS(kithi_store_create(in(&f, "x"), model, NULL, &store), KITH_E_JOURNAL_FOREIGN);
    CHECK(file_is(in(&f, "x-journal"), 10, 3) && access(in(&f, "x"), F_OK) != 0);
    kith_filter_free(model);
    remove_folder(&f);
}

static bool copy_file(const char *from, const char *to) {
    static uint8_t bytes[1 << 16];
    FILE *in_file = fopen(from, "rb"), *out_file = fopen(to, "wb");
    if (in_file == NULL || out_file == NULL)
        return false;
    size_t n;
    while ((n = fread(bytes, 1, sizeof bytes, in_file)) > 0)
        (void)fwrite(bytes, 1, n, out_file);
    bool good = fclose(in_file) == 0;
    return fclose(out_file) == 0 && good;
}

TEST(a_journal_that_does_not_belong_to_the_file_is_refused) {
    struct folder f = fresh_folder();
    kithi_store *store = created(in(&f, "x"), "bloom", NULL);
    CHECK(copy_file(in(&f, "x"), in(&f, "old-x")));
    CHECK(copy_file(in(&f, "x-journal"), in(&f, "old-journal")));
    add_numbers(store, KEYS / 2, KEYS);
    CHECK_OK(kithi_store_checkpoint(store));
    CHECK_OK(kithi_store_close(store));
    store = created(in(&f, "y"), "bloom", NULL);
    CHECK_OK(kithi_store_close(store));

    for (unsigned flags = 0; flags <= KITHI_STORE_READ; flags++) {
        /* an old copy of the snapshot */
        CHECK(copy_file(in(&f, "x"), in(&f, "new-x")));
        CHECK(copy_file(in(&f, "old-x"), in(&f, "x")));
        CHECK_STATUS(kithi_store_open(in(&f, "x"), flags, NULL, &store), KITH_E_JOURNAL_FOREIGN);
        CHECK(copy_file(in(&f, "new-x"), in(&f, "x")));
        /* the journal of another store */
        CHECK(copy_file(in(&f, "x-journal"), in(&f, "new-journal")));
        CHECK(copy_file(in(&f, "y-journal"), in(&f, "x-journal")));
        CHECK_STATUS(kithi_store_open(in(&f, "x"), flags, NULL, &store), KITH_E_JOURNAL_FOREIGN);
        /* not a journal */
        CHECK(make_file(in(&f, "x-journal"), 100, 1, 0600));
        CHECK_STATUS(kithi_store_open(in(&f, "x"), flags, NULL, &store), KITH_E_JOURNAL_FOREIGN);
        CHECK(make_file(in(&f, "x-journal"), 0, 1, 0600));
        CHECK_STATUS(kithi_store_open(in(&f, "x"), flags, NULL, &store), KITH_E_JOURNAL_FOREIGN);
        CHECK(unlink(in(&f, "x-journal")) == 0);
        CHECK_STATUS(kithi_store_open(in(&f, "x"), flags, NULL, &store), KITH_E_JOURNAL_MISSING);
        /* an old journal, whose operations the snapshot contains */
        CHECK(copy_file(in(&f, "old-journal"), in(&f, "x-journal")));
        CHECK_OK(kithi_store_open(in(&f, "x"), flags, NULL, &store));
        check_numbers(store, 0, KEYS);
        CHECK_OK(kithi_store_close(store));
        CHECK(copy_file(in(&f, "new-journal"), in(&f, "x-journal")));
        store = opened(in(&f, "x"), flags);
        CHECK_OK(kithi_store_close(store));
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
