/* Tests of kithi_map_file, kithi_unmap_file and kithi_read_file: the bytes of a file, or the right error.
 *
 * pread64, which is what the library's pread is called with 64-bit offsets, is defined here and forwarded to preadv64,
 * so that it can be shortened, interrupted and made to fail: the library is linked into the executable and calls this
 * one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "check.h"
#include "os/map.h"
#include "os/replace.h"
#include "folder.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { ONE = 1, TWO = 2, BYTES = 10000, BUFFER_BYTES = 4 * BYTES };

static struct {
    bool armed;
    unsigned at; /* the number of the read that fails, from 1; 0: none */
    int error;
    size_t most; /* the most bytes that a read returns; 0: no limit */
    unsigned made;
} fault;

ssize_t pread64(int fd, void *bytes, size_t byte_count, off64_t offset) {
    if (fault.armed) {
        if (++fault.made == fault.at) {
            errno = fault.error;
            return -1;
        }
        if (fault.most != 0 && byte_count > fault.most)
            byte_count = fault.most;
    }
    struct iovec part = {bytes, byte_count};
    return preadv64(fd, &part, 1, offset);
}

/* The buffer, and what happens to the file when its size is known. */
struct target_buffer {
    unsigned calls;
    size_t requested;
    bool fails;
    const char *resize; /* this file … */
    off_t to_bytes;     /* … gets this size */
    uint8_t bytes[BUFFER_BYTES];
};

static struct target_buffer buffer;

static uint8_t *get_buffer(void *ctx, size_t byte_count) {
    struct target_buffer *r = ctx;
    r->calls++;
    r->requested = byte_count;
    if (r->resize != NULL && truncate(r->resize, r->to_bytes) != 0)
        return NULL;
    return r->fails || byte_count > sizeof r->bytes ? NULL : r->bytes;
}

static void clear_buffer(void) {
    memset(&buffer, 0, sizeof buffer);
}

TEST(a_map_has_the_bytes_of_the_file) {
    static const size_t sizes[] = {1, 4095, 4096, 4097, BYTES};
    struct folder f = fresh_folder();
    int descriptor = lowest_free_descriptor();
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        const uint8_t *bytes = NULL;
        size_t byte_count = 0;
        CHECK(make_file(in(&f, "x"), sizes[i], ONE, 0600));
        CHECK_STATUS(kithi_map_file(in(&f, "x"), &bytes, &byte_count), KITH_OK);
        CHECK_EQ_U64(byte_count, sizes[i]);
        CHECK(bytes != NULL && is_content(bytes, byte_count, ONE));
        CHECK(lowest_free_descriptor() == descriptor);
        kithi_unmap_file(bytes, byte_count);
    }
    remove_folder(&f);
}

TEST(a_link_is_followed_to_be_mapped_and_read) {
    struct folder f = fresh_folder();
    const uint8_t *bytes = NULL;
    size_t byte_count = 0;
    CHECK(make_file(in(&f, "x"), BYTES, ONE, 0400));
    CHECK(symlink("x", in(&f, "link")) == 0);
    CHECK_STATUS(kithi_map_file(in(&f, "link"), &bytes, &byte_count), KITH_OK);
    CHECK(byte_count == BYTES && is_content(bytes, byte_count, ONE));
    kithi_unmap_file(bytes, byte_count);
    clear_buffer();
    CHECK_STATUS(kithi_read_file(in(&f, "link"), get_buffer, &buffer, &byte_count), KITH_OK);
    CHECK(is_content(buffer.bytes, byte_count, ONE));
    remove_folder(&f);
}

TEST(a_map_cannot_be_made_writable) {
    struct folder f = fresh_folder();
    const uint8_t *bytes = NULL;
    size_t byte_count = 0;
    CHECK(make_file(in(&f, "x"), BYTES, ONE, 0600));
    CHECK_STATUS(kithi_map_file(in(&f, "x"), &bytes, &byte_count), KITH_OK);
    CHECK(mprotect((void *)(uintptr_t)bytes, byte_count, PROT_READ | PROT_WRITE) != 0 && errno == EACCES);
    kithi_unmap_file(bytes, byte_count);
    remove_folder(&f);
}

TEST(a_map_outlives_the_replacement_of_its_file) {
    static uint8_t two[BYTES];
    struct folder f = fresh_folder();
    const uint8_t *before = NULL, *after = NULL;
    size_t before_bytes = 0, after_bytes = 0;
    fill_content(two, sizeof two, TWO);
    CHECK(make_file(in(&f, "x"), 3 * BYTES, ONE, 0600));
    CHECK_STATUS(kithi_map_file(in(&f, "x"), &before, &before_bytes), KITH_OK);
    CHECK_STATUS(kithi_replace_file(in(&f, "x"), two, sizeof two, false), KITH_OK);
    CHECK_STATUS(kithi_map_file(in(&f, "x"), &after, &after_bytes), KITH_OK);
    CHECK(before_bytes == 3 * BYTES && is_content(before, before_bytes, ONE));
    CHECK(after_bytes == BYTES && is_content(after, after_bytes, TWO));
    kithi_unmap_file(before, before_bytes);
    kithi_unmap_file(after, after_bytes);
    remove_folder(&f);
}

TEST(unmapping_nothing_does_nothing) {
    errno = ERANGE;
    kithi_unmap_file(NULL, 0);
    CHECK(errno == ERANGE);
}

TEST(a_read_has_the_bytes_of_the_file) {
    static const size_t sizes[] = {1, 4096, BYTES};
    struct folder f = fresh_folder();
    int descriptor = lowest_free_descriptor();
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        size_t byte_count = 0;
        CHECK(make_file(in(&f, "x"), sizes[i], ONE, 0600));
        clear_buffer();
        CHECK_STATUS(kithi_read_file(in(&f, "x"), get_buffer, &buffer, &byte_count), KITH_OK);
        CHECK_EQ_U64(byte_count, sizes[i]);
        CHECK_EQ_U64(buffer.calls, 1);
        CHECK_EQ_U64(buffer.requested, sizes[i]);
        CHECK(is_content(buffer.bytes, byte_count, ONE));
        CHECK(lowest_free_descriptor() == descriptor);
    }
    remove_folder(&f);
}

/* Mapping and reading return the same status, do not touch their results and leave no descriptor open. */
static void both_refuse(const char *path, kith_status want, int want_errno) {
    static const uint8_t mark;
    const uint8_t *bytes = &mark;
    size_t byte_count = 42;
    int descriptor = lowest_free_descriptor();
    errno = 0;
    CHECK_STATUS(kithi_map_file(path, &bytes, &byte_count), want);
    CHECK(want_errno == 0 || errno == want_errno);
    CHECK(bytes == &mark && byte_count == 42);
    clear_buffer();
    errno = 0;
    CHECK_STATUS(kithi_read_file(path, get_buffer, &buffer, &byte_count), want);
    CHECK(want_errno == 0 || errno == want_errno);
    CHECK_EQ_U64(buffer.calls, 0);
    CHECK_EQ_U64(byte_count, 42);
    CHECK(lowest_free_descriptor() == descriptor);
}

TEST(files_that_cannot_be_read_give_specific_errors) {
    struct folder f = fresh_folder();
    CHECK(make_file(in(&f, "empty"), 0, ONE, 0600));
    CHECK(mkfifo(in(&f, "fifo"), 0600) == 0);
    CHECK(symlink("none", in(&f, "dangling")) == 0);
    both_refuse(in(&f, "empty"), KITH_E_EMPTY, 0);
    both_refuse(in(&f, "none"), KITH_E_NO_FILE, ENOENT);
    both_refuse(in(&f, "dangling"), KITH_E_NO_FILE, ENOENT);
    both_refuse(in(&f, "empty/x"), KITH_E_NO_FILE, ENOTDIR);
    both_refuse("", KITH_E_NO_FILE, ENOENT);
    both_refuse(f.path, KITH_E_IO, EISDIR);
    both_refuse(in(&f, "fifo"), KITH_E_IO, EINVAL); /* returns immediately although nobody writes to it */
    both_refuse("/dev/null", KITH_E_IO, EINVAL);
    remove_folder(&f);
}

static int open_as_nobody(const struct folder *f) {
    const uint8_t *bytes;
    size_t byte_count;
    if (!become_nobody())
        return CHILD_SKIPPED;
    if (kithi_map_file(in(f, "public"), &bytes, &byte_count) != KITH_OK)
        return 1;
    if (kithi_map_file(in(f, "private"), &bytes, &byte_count) != KITH_E_PERMISSION || errno != EACCES)
        return 2;
    if (kithi_read_file(in(f, "private"), get_buffer, &buffer, &byte_count) != KITH_E_PERMISSION || errno != EACCES)
        return 3;
    return 0;
}

TEST(a_file_that_may_not_be_read_is_refused) {
    struct folder f = fresh_folder();
    CHECK(chmod(f.path, 0755) == 0);
    CHECK(make_file(in(&f, "public"), BYTES, ONE, 0444));
    CHECK(make_file(in(&f, "private"), BYTES, ONE, 0000));
    unsigned result = in_child(open_as_nobody, &f);
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("cannot become another user here");
    CHECK_EQ_U64(result, 0);
}

static int map_in_little_space(const struct folder *f) {
    const uint8_t *bytes;
    size_t byte_count;
    struct rlimit limit = {(rlim_t)1 << 29, (rlim_t)1 << 29};
    if (truncate(in(f, "x"), (off_t)1 << 30) != 0 || setrlimit(RLIMIT_AS, &limit) != 0)
        return CHILD_SKIPPED;
    return kithi_map_file(in(f, "x"), &bytes, &byte_count) == KITH_E_MEMORY ? 0 : 1;
}

TEST(a_file_larger_than_the_free_address_space_returns_no_memory) {
    if (UNDER_SANITIZER)
        SKIP("a sanitizer needs its addresses");
    struct folder f = fresh_folder();
    CHECK(make_file(in(&f, "x"), 1, ONE, 0600));
    unsigned result = in_child(map_in_little_space, &f);
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("cannot make a sparse file or set a limit here");
    CHECK_EQ_U64(result, 0);
}

TEST(no_buffer_from_the_caller_returns_no_memory) {
    struct folder f = fresh_folder();
    size_t byte_count = 42;
    int descriptor = lowest_free_descriptor();
    CHECK(make_file(in(&f, "x"), BYTES, ONE, 0600));
    clear_buffer();
    buffer.fails = true;
    CHECK_STATUS(kithi_read_file(in(&f, "x"), get_buffer, &buffer, &byte_count), KITH_E_MEMORY);
    CHECK_EQ_U64(byte_count, 42);
    CHECK(lowest_free_descriptor() == descriptor);
    remove_folder(&f);
}

TEST(a_file_that_shrinks_while_it_is_read_returns_truncated) {
    static const off_t lengths[] = {0, 1, 4096, BYTES - 1};
    struct folder f = fresh_folder();
    int descriptor = lowest_free_descriptor();
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        size_t byte_count = 42;
        const char *x = in(&f, "x");
        CHECK(make_file(x, BYTES, ONE, 0600));
        clear_buffer();
        buffer.resize = x;
        buffer.to_bytes = lengths[i];
        CHECK_STATUS(kithi_read_file(x, get_buffer, &buffer, &byte_count), KITH_E_TRUNCATED);
        CHECK_EQ_U64(byte_count, 42);
        CHECK(lowest_free_descriptor() == descriptor);
    }
    remove_folder(&f);
}

TEST(a_file_that_grows_while_it_is_read_is_read_at_its_old_size) {
    struct folder f = fresh_folder();
    size_t byte_count = 0;
    const char *x = in(&f, "x");
    CHECK(make_file(x, BYTES, ONE, 0600));
    clear_buffer();
    buffer.resize = x;
    buffer.to_bytes = 3 * BYTES;
    CHECK_STATUS(kithi_read_file(x, get_buffer, &buffer, &byte_count), KITH_OK);
    CHECK_EQ_U64(byte_count, BYTES);
    CHECK(is_content(buffer.bytes, BYTES, ONE));
    CHECK(buffer.bytes[BYTES] == 0);
    remove_folder(&f);
}

TEST(signals_and_short_reads_lose_no_byte) {
    static const size_t most[] = {1, 7, 4096, BYTES - 1};
    struct folder f = fresh_folder();
    CHECK(make_file(in(&f, "x"), BYTES, ONE, 0600));
    for (size_t i = 0; i < LENGTH(most); i++) {
        size_t byte_count = 0;
        clear_buffer();
        memset(&fault, 0, sizeof fault);
        fault.at = 1 + (unsigned)i / 2;
        fault.error = EINTR;
        fault.most = most[i];
        fault.armed = true;
        kith_status status = kithi_read_file(in(&f, "x"), get_buffer, &buffer, &byte_count);
        fault.armed = false;
        CHECK_STATUS(status, KITH_OK);
        CHECK(byte_count == BYTES && is_content(buffer.bytes, BYTES, ONE));
        CHECK(fault.made > BYTES / most[i]);
    }
    remove_folder(&f);
}

TEST(a_disk_error_is_reported_and_the_file_is_closed) {
    struct folder f = fresh_folder();
    int descriptor = lowest_free_descriptor();
    CHECK(make_file(in(&f, "x"), BYTES, ONE, 0600));
    for (unsigned n = 1; n <= 3; n++) {
        size_t byte_count = 42;
        clear_buffer();
        memset(&fault, 0, sizeof fault);
        fault.at = n;
        fault.error = EIO;
        fault.most = 4000;
        fault.armed = true;
        kith_status status = kithi_read_file(in(&f, "x"), get_buffer, &buffer, &byte_count);
        int error = errno;
        fault.armed = false;
        CHECK_STATUS(status, KITH_E_IO);
        CHECK(error == EIO);
        CHECK_EQ_U64(byte_count, 42);
        CHECK(lowest_free_descriptor() == descriptor);
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
