/* Tests of files that are read into memory instead of mapped, and of files that the caller has opened: the same
 * content, and an error instead of SIGBUS if the file becomes shorter meanwhile. */
#define _GNU_SOURCE

#include "unit/small_filter.h"

#include "folder.h"
#include "store_calls.h"
#include "unit/memory.h"

#define EACH_KIND_THAT_ADDS(variable)                                                                                  \
    EACH_KIND(variable)                                                                                                \
    if (kith_filter_kind_at(kind_)->capabilities & KITH_CAN_ADD)

static int opened_file(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static void check_same(const kith_filter *got, const kith_filter *want) {
    kith_filter *copies[2];
    const void *bytes[2];
    size_t byte_count[2];
    CHECK_OK(kith_filter_clone(got, NULL, &copies[0]));
    CHECK_OK(kith_filter_clone(want, NULL, &copies[1]));
    for (int i = 0; i < 2; i++)
        CHECK_OK(kith_filter_bytes(copies[i], &bytes[i], &byte_count[i]));
    CHECK_EQ_U64(byte_count[0], byte_count[1]);
    CHECK(memcmp(bytes[0], bytes[1], byte_count[0]) == 0);
    for (int i = 0; i < 2; i++)
        kith_filter_free(copies[i]);
}

/* Makes a store with the keys 0 … KEYS - 1, half of them in the journal, and returns a filter with the same keys. */
static kith_filter *make_store(const char *path, const char *kind) {
    kith_filter *model = new_filter(kind, NULL);
    kithi_store *store = NULL;
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = KITH_SYNC_OPERATIONS;
    CHECK_OK(kithi_store_create(path, model, &options, &store));
    for (uint64_t i = KEYS / 2; i < KEYS; i++) {
        CHECK_OK(kithi_store_add(store, &i, sizeof i, NULL));
        CHECK_OK(kith_filter_add(model, &i, sizeof i, NULL));
    }
    CHECK_OK(kithi_store_close(store));
    return model;
}

static const char *journal_of(const struct folder *f, const char *name) {
    char journal[64];
    (void)snprintf(journal, sizeof journal, "%s-journal", name);
    return in(f, journal);
}

/* ---- descriptors ---- */

TEST(a_filter_opens_from_a_descriptor_at_any_offset) {
    struct folder f = fresh_folder();
    EACH_KIND(kind) {
        kith_filter *model = new_filter(kind, NULL), *filter = NULL;
        CHECK_OK(kith_filter_save(model, in(&f, kind)));
        for (unsigned flags = 0; flags < 4; flags++) {
            int fd = opened_file(in(&f, kind));
            CHECK(lseek(fd, 5, SEEK_SET) == 5);
            CHECK_OK(kith_filter_open_fd(fd, flags, NULL, &filter));
            CHECK(lseek(fd, 0, SEEK_CUR) == 5);
            CHECK(close(fd) == 0); /* the filter does not need it any more */
            CHECK(kith_filter_readonly(filter) == ((flags & KITH_OPEN_COPY) == 0));
            check_same(filter, model);
            kith_filter_free(filter);
        }
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_descriptor_of_something_else_is_refused) {
    struct folder f = fresh_folder();
    kith_filter *filter = NULL;
    int pipes[2], folder = open(f.path, O_RDONLY | O_CLOEXEC);
    CHECK(folder >= 0 && pipe(pipes) == 0);
    for (unsigned flags = 0; flags < 4; flags++) {
        CHECK_STATUS(kith_filter_open_fd(folder, flags, NULL, &filter), KITH_E_IO);
        CHECK(errno == EISDIR);
        CHECK_STATUS(kith_filter_open_fd(pipes[0], flags, NULL, &filter), KITH_E_IO);
        CHECK(errno == EINVAL);
        CHECK_STATUS(kith_filter_open_fd(12345, flags, NULL, &filter), KITH_E_IO);
        CHECK(errno == EBADF);
    }
    CHECK_STATUS(kith_filter_open_fd(folder, 8, NULL, &filter), KITH_E_ARGUMENT);
    kithi_store *store = NULL;
    CHECK_STATUS(kithi_store_open_fd(folder, -1, NULL, &store), KITH_E_IO);
    CHECK_STATUS(kithi_store_open_fd(pipes[0], -1, NULL, &store), KITH_E_IO);
    CHECK(is_open(folder) && is_open(pipes[0]));
    CHECK(close(folder) == 0 && close(pipes[0]) == 0 && close(pipes[1]) == 0);
    remove_folder(&f);
}

TEST(a_store_opens_from_two_descriptors_and_then_owns_them) {
    struct folder f = fresh_folder();
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = make_store(in(&f, kind), kind);
        for (unsigned no_map = 0; no_map < 2; no_map++) {
            kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
            options.no_map = no_map != 0;
            int snapshot = opened_file(in(&f, kind)), journal = opened_file(journal_of(&f, kind));
            kithi_store *store = NULL;
            CHECK_OK(kithi_store_open_fd(snapshot, journal, &options, &store));
            check_same(kithi_store_filter(store), model);
            CHECK_OK(kithi_store_verify(store));
            CHECK_STATUS(kithi_store_add(store, "new", 3, NULL), KITH_E_READONLY);
            CHECK(is_open(snapshot) && is_open(journal));
            CHECK_OK(kithi_store_close(store));
            CHECK(!is_open(snapshot) && !is_open(journal));
        }
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_store_from_descriptors_follows_its_journal) {
    struct folder f = fresh_folder();
    kith_filter *model = make_store(in(&f, "x"), "cuckoo");
    kithi_store *reader = NULL, *writer = NULL;
    bool changed;
    CHECK_OK(kithi_store_open_fd(opened_file(in(&f, "x")), opened_file(journal_of(&f, "x")), NULL, &reader));
    CHECK_OK(kithi_store_open(in(&f, "x"), KITHI_STORE_WRITE, NULL, &writer));
    uint64_t key = 3;
    CHECK_OK(kithi_store_remove(writer, &key, sizeof key));
    CHECK_OK(kith_filter_remove(model, &key, sizeof key));
    CHECK_OK(kithi_store_refresh(reader, &changed));
    CHECK(changed);
    check_same(kithi_store_filter(reader), model);
    CHECK_OK(kithi_store_checkpoint(writer));
    CHECK_OK(kithi_store_add(writer, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_refresh(reader, &changed));
    CHECK(!changed);
    check_same(kithi_store_filter(reader), model);
    CHECK_OK(kithi_store_close(reader));
    CHECK_OK(kithi_store_close(writer));
    kith_filter_free(model);
    remove_folder(&f);
}

TEST(descriptors_that_do_not_make_a_store_stay_with_the_caller) {
    struct folder f = fresh_folder();
    kith_filter *model = make_store(in(&f, "x"), "bloom");
    kith_filter_free(make_store(in(&f, "y"), "bloom"));
    CHECK_OK(kith_filter_save(model, in(&f, "plain")));
    int x = opened_file(in(&f, "x")), other = opened_file(journal_of(&f, "y")), plain = opened_file(in(&f, "plain"));
    kithi_store *store = NULL;
    CHECK_STATUS(kithi_store_open_fd(x, -1, NULL, &store), KITH_E_JOURNAL_MISSING);
    CHECK_STATUS(kithi_store_open_fd(x, other, NULL, &store), KITH_E_JOURNAL_FOREIGN);
    CHECK_STATUS(kithi_store_open_fd(plain, other, NULL, &store), KITH_E_NOT_STORE);
    CHECK(is_open(x) && is_open(other) && is_open(plain) && is_open(0));
    CHECK(close(x) == 0 && close(other) == 0 && close(plain) == 0);
    kith_filter_free(model);
    remove_folder(&f);
}

/* ---- stores without maps ---- */

static uint8_t *refuse_to_map(void *context, int file, size_t byte_count, bool writable) {
    (void)writable;
    (void)context, (void)file, (void)byte_count;
    errno = ENODEV;
    return NULL;
}

/* Every function, on files that cannot be mapped. */
TEST(a_store_without_maps_maps_nothing) {
    struct folder f = fresh_folder();
    kithi_files files = kithi_files_system;
    files.map = refuse_to_map;
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = KITH_SYNC_OPERATIONS;
    EACH_KIND_THAT_ADDS(kind) {
        kith_filter *model = new_filter(kind, NULL);
        kithi_store *store = NULL, *reader = NULL;
        options.no_map = false;
        CHECK_STATUS(kithi_store_create_with(&files, in(&f, "mapped"), model, &options, &store), KITH_E_IO);
        options.no_map = true;
        CHECK_OK(kith_filter_save(model, in(&f, kind)));
        CHECK_OK(kithi_store_convert_with(&files, in(&f, kind), &options, &store));
        CHECK_OK(kithi_store_open_with(&files, in(&f, kind), KITHI_STORE_READ, &options, &reader));
        for (uint64_t i = KEYS / 2; i < KEYS - 1; i++) {
            CHECK_OK(kithi_store_add(store, &i, sizeof i, NULL));
            CHECK_OK(kith_filter_add(model, &i, sizeof i, NULL));
            if (i % 8 == 1)
                CHECK_OK(kithi_store_checkpoint(store));
            CHECK_OK(kithi_store_refresh(reader, NULL));
            check_same(kithi_store_filter(reader), model);
        }
        uint64_t last = KEYS - 1;
        CHECK_OK(kithi_store_begin(store));
        CHECK_OK(kithi_store_add(store, &last, sizeof last, NULL));
        CHECK_OK(kithi_store_rollback(store));
        check_same(kithi_store_filter(store), model);
        CHECK_OK(kithi_store_verify(store));
        CHECK_OK(kithi_store_replace(store, model));
        CHECK_OK(kithi_store_close(store));
        CHECK_OK(kithi_store_open_with(&files, in(&f, kind), KITHI_STORE_WRITE, &options, &store));
        check_same(kithi_store_filter(store), model);
        CHECK_OK(kithi_store_close_plain(store));
        CHECK_OK(kithi_store_close(reader));
        kith_filter_free(model);
    }
    remove_folder(&f);
}

TEST(a_store_without_maps_is_verified_when_it_is_opened) {
    struct folder f = fresh_folder();
    const char *path = in(&f, "x");
    kith_filter_free(make_store(path, "bloom"));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    CHECK(pread(fd, &byte, 1, KITHI_HEADER_BYTES) == 1); /* the first byte of the body */
    byte ^= 1;
    CHECK(pwrite(fd, &byte, 1, KITHI_HEADER_BYTES) == 1 && close(fd) == 0);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    kithi_store *store = NULL;
    CHECK_OK(kithi_store_open(path, KITHI_STORE_READ, &options, &store));
    CHECK_STATUS(kithi_store_verify(store), KITH_E_CORRUPT);
    CHECK_OK(kithi_store_close(store));
    options.no_map = true;
    CHECK_STATUS(kithi_store_open(path, KITHI_STORE_READ, &options, &store), KITH_E_CORRUPT);
    CHECK_STATUS(kithi_store_open(path, KITHI_STORE_WRITE, &options, &store), KITH_E_CORRUPT);
    remove_folder(&f);
}

/* Opens a store in all ways while the allocation number `n` fails. */
TEST(every_failing_allocation_is_survived_without_maps) {
    struct folder f = fresh_folder();
    kith_filter_free(make_store(in(&f, "x"), "layers"));
    for (unsigned flags = 0; flags < 2; flags++)
        for (uint64_t n = 1;; n++) {
            struct memory m = {.fail_at = n};
            kith_allocator allocator = memory_allocator(&m);
            kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
            options.no_map = true;
            options.allocator = &allocator;
            kithi_store *store = NULL;
            kith_status status = kithi_store_open(in(&f, "x"), flags, &options, &store);
            if (status == KITH_OK)
                CHECK_OK(kithi_store_close(store));
            else
                CHECK_STATUS(status, KITH_E_MEMORY);
            CHECK_EQ_U64(m.live_blocks, 0);
            if (status == KITH_OK)
                break;
        }
    remove_folder(&f);
}

/* ---- files that become shorter ---- */

/* Truncates a file when it is asked for a block of the size of the file: after the size was read, before the bytes
 * are. */
struct cutter {
    struct memory memory;
    const char *path;
    size_t at, to;
    bool has_cut;
};

static void *cutter_allocate(void *context, size_t bytes, size_t alignment) {
    struct cutter *c = context;
    if (bytes == c->at && !c->has_cut) {
        c->has_cut = true;
        CHECK(truncate(c->path, (off_t)c->to) == 0);
    }
    return memory_allocate(&c->memory, bytes, alignment);
}

static void cutter_release(void *context, void *memory, size_t bytes) {
    struct cutter *c = context;
    memory_release(&c->memory, memory, bytes);
}

static size_t size_of(const char *path) {
    struct stat st;
    CHECK(stat(path, &st) == 0);
    return (size_t)st.st_size;
}

static void copy_file(const char *from, const char *to) {
    char command[4 * FOLDER_BYTES_MAX];
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    CHECK(system(command) == 0);
}

TEST(a_file_that_becomes_shorter_while_it_is_read_is_an_error) {
    struct folder f = fresh_folder();
    kith_filter_free(make_store(in(&f, "store"), "cuckoo"));
    kith_filter *filter = new_filter("cuckoo", NULL);
    CHECK_OK(kith_filter_save(filter, in(&f, "plain")));
    kith_filter_free(filter);
    size_t size = size_of(in(&f, "plain"));
    CHECK_EQ_U64(size_of(in(&f, "store")), size);
    copy_file(in(&f, "store"), in(&f, "kept"));
    char path[2 * FOLDER_BYTES_MAX];
    for (size_t to = 0; to < size; to += 1 + size / 7) {
        (void)snprintf(path, sizeof path, "%s", in(&f, "plain"));
        struct cutter c = {.path = path, .at = size, .to = to};
        kith_allocator allocator = {cutter_allocate, cutter_release, &c};
        CHECK_STATUS(kith_filter_open(path, KITH_OPEN_COPY, &allocator, &filter), KITH_E_TRUNCATED);
        CHECK(c.has_cut);
        c.has_cut = false;
        filter = new_filter("cuckoo", NULL);
        CHECK_OK(kith_filter_save(filter, path));
        kith_filter_free(filter);
        int fd = opened_file(path);
        CHECK_STATUS(kith_filter_open_fd(fd, KITH_OPEN_COPY | KITH_OPEN_LAZY, &allocator, &filter), KITH_E_TRUNCATED);
        CHECK(close(fd) == 0 && c.has_cut);
        filter = new_filter("cuckoo", NULL);
        CHECK_OK(kith_filter_save(filter, path));
        kith_filter_free(filter);

        (void)snprintf(path, sizeof path, "%s", in(&f, "store"));
        for (unsigned flags = 0; flags < 2; flags++) {
            copy_file(in(&f, "kept"), path);
            kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
            kithi_store *store = NULL;
            options.no_map = true;
            options.allocator = &allocator;
            c.has_cut = false;
            CHECK_STATUS(kithi_store_open(path, flags, &options, &store), KITH_E_TRUNCATED);
            CHECK(c.has_cut);
        }
        CHECK_EQ_U64(c.memory.live_blocks, 0);
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
