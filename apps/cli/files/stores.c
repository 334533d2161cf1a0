/* stores.c: opens stores for the commands; `kith store` and `kith checkpoint`.
 *
 * The library locks FILE-lock itself while a store is open for writing, so the tool must not lock it as well. It only
 * waits: the library does not, because it has no hidden threads and no signal handlers. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/files/stores.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/files/filters.h"
#include "cli/files/found.h"
#include "cli/files/leftovers.h"
#include "cli/files/lock.h"
#include "cli/output/report.h"
#include "cli/values.h"

#define WAIT_MS 20         /* between two attempts to open a store that is locked */
#define SILENT_ATTEMPTS 50 /* before the message: a second */

static struct held {
    const char *path;
    kith_store *store;
} held;

static kith_store_options options_of(const arguments *a) {
    kith_store_options options = KITH_STORE_OPTIONS_INIT;
    options.max_bytes = a->memory;
    options.no_map = a->no_mmap;
    return options;
}

static noreturn void fail_store(const char *path, kith_status status) {
    if (status == KITH_E_JOURNAL)
        fail("%s: is a store, but its journal, %s-journal, is missing or does not belong to it (kith repair saves the "
             "rest)",
             path, path);
    if (status == KITH_E_CORRUPT)
        fail("%s: the store is damaged: a record of its journal that had been written to disk, or a header; nothing "
             "was changed (kith repair saves what it can)",
             path);
    if (status == KITH_E_IO && errno == EINVAL)
        fail("%s: %s-lock exists, but is not a lock file of kith (move it away)", path, path);
    fail_status(path, status);
}

typedef kith_status (*attempt)(const char *path, kith_filter *filter, const kith_store_options *options,
                               kith_store **store);

static kith_status try_open(const char *path, kith_filter *filter, const kith_store_options *options,
                            kith_store **store) {
    (void)filter;
    return kith_store_open(path, KITH_STORE_WRITE, options, store);
}

static kith_status try_convert(const char *path, kith_filter *filter, const kith_store_options *options,
                               kith_store **store) {
    (void)filter;
    return kith_store_convert(path, options, store);
}

/* Repeats the call until no other process has the store open for writing. `lock` is a descriptor of the lock file that
 * is locked already, or negative. */
static kith_status wait_for(attempt call, const char *path, kith_filter *filter, const arguments *a, int lock,
                            kith_store **store) {
    kith_store_options options = options_of(a);
    options.lock = lock >= 0 ? lock + 1 : 0;
    if (a->no_lock)
        fail("%s: --no-lock: a store cannot be changed without its lock", path);
    for (unsigned attempts = 0;; attempts++) {
        errno = 0;
        kith_status status = call(found_path(path), filter, &options, store);
        if (status != KITH_E_LOCKED)
            return status;
        if (attempts == SILENT_ATTEMPTS)
            note("waiting for another kith that is writing %s (%s-lock is locked)", path, path);
        struct timespec pause = {0, WAIT_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
}

/* Opens a file to read its header. */
static kith_status open_header(const char *path, const arguments *a, kith_filter **filter) {
    unsigned flags = KITH_OPEN_LAZY | (a->no_mmap ? KITH_OPEN_COPY : 0);
    const found_place *f = found_before(path);
    if (f == NULL)
        return kith_filter_open(path, flags, NULL, filter);
    int fd = found_open(f, "", O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM))
        return errno == ENOENT ? KITH_E_NO_FILE : KITH_E_PERMISSION;
    if (fd < 0)
        return KITH_E_IO;
    kith_status status = kith_filter_open_fd(fd, flags, NULL, filter);
    int error = errno;
    (void)close(fd);
    errno = error;
    return status;
}

bool store_is(const char *path, const arguments *a) {
    kith_filter *filter;
    struct stat st;
    if (found_stat(path, &st) == 0)
        filter_check_memory(path, a);
    errno = 0;
    kith_status status = open_header(path, a, &filter);
    if (status == KITH_OK)
        kith_filter_free(filter);
    /* A store that is taken for a plain file would be replaced by one, although its journal has more keys. */
    bool is_other = errno == EISDIR || errno == EINVAL; /* a folder, a device */
    if (status == KITH_E_MEMORY || (status == KITH_E_IO && !is_other))
        fail_status(path, status);
    return status == KITH_E_JOURNAL;
}

kith_store *store_hold(const char *path, const arguments *a) {
    if (!store_is(path, a))
        return NULL;
    kith_status status = wait_for(try_open, path, NULL, a, LOCK_NONE, &held.store);
    if (status == KITH_E_NOT_STORE || status == KITH_E_NO_FILE)
        return NULL; /* it was a store until now */
    if (status != KITH_OK)
        fail_store(path, status);
    held.path = path;
    return held.store;
}

kith_store *store_held(const char *path) {
    return held.store != NULL && (strcmp(path, held.path) == 0 || found_same(path, held.path)) ? held.store : NULL;
}

static void close_must(const char *path, kith_store *store) {
    errno = 0;
    kith_status status = kith_store_close(store);
    if (status != KITH_OK)
        fail_store(path, status);
}

void store_release(void) {
    kith_store *store = held.store;
    held.store = NULL;
    if (store != NULL)
        close_must(held.path, store);
}

kith_store *store_create_held(const char *path, kith_filter *filter, const arguments *a, int lock) {
    kith_store *store;
    hold_signals();
    kith_status status = wait_for(kith_store_create, path, filter, a, lock, &store);
    if (status == KITH_E_JOURNAL)
        fail("%s: %s-journal exists, but is not a journal of kith (move it away)", path, path);
    if (status != KITH_OK)
        fail_store(path, status);
    held = (struct held){path, store};
    return store;
}

void store_create(const char *path, kith_filter *filter, const arguments *a, int lock) {
    (void)store_create_held(path, filter, a, lock);
    store_release();
}

void store_convert(const char *path, const arguments *a, bool and_back, int lock) {
    kith_store *store;
    kith_status status = wait_for(try_convert, path, NULL, a, lock, &store);
    if (status == KITH_E_UNSUPPORTED)
        fail("%s: filters of this kind can only be built from a complete list of keys, so it cannot be a store; "
             "build it again with another kind",
             path);
    if (status == KITH_E_JOURNAL)
        fail("%s: %s-journal exists, but is not a journal of kith (move it away)", path, path);
    if (status != KITH_OK)
        fail_store(path, status);
    if (!and_back) {
        close_must(path, store);
        return;
    }
    leftovers_check();
    errno = 0;
    status = kith_store_close_plain(store);
    if (status != KITH_OK)
        fail_status(path, status);
}

/* ---- commands ---- */

int command_store(const arguments *a) {
    const char *path = a->operands[0];
    (void)found_file(path);
    filter_check_input(path);
    filter_check_output(path);
    if (store_is(path, a))
        fail("%s: is a store already", path);
    store_convert(path, a, false, LOCK_NONE);
    return EXIT_FOUND;
}

static noreturn void fail_checkpoint(const char *path, kith_status status) {
    if (status == KITH_E_CORRUPT)
        fail("%s: the file is damaged; it and its journal are unchanged (kith repair saves what it can)", path);
    fail_status(path, status);
}

int command_checkpoint(const arguments *a) {
    const char *path = a->operands[0];
    (void)found_file(path);
    filter_check_input(path);
    filter_check_memory(path, a);
    filter_check_output(path);
    kith_store *store;
    kith_status status = wait_for(try_open, path, NULL, a, LOCK_NONE, &store);
    if (status == KITH_E_NOT_STORE)
        fail("%s: is not a store (kith store makes it one)", path);
    if (status != KITH_OK)
        fail_store(path, status);
    hold_signals();
    errno = 0;
    status = a->plain ? kith_store_close_plain(store) : kith_store_checkpoint(store);
    if (status != KITH_OK)
        fail_checkpoint(path, status);
    if (!a->plain)
        close_must(path, store);
    return EXIT_FOUND;
}
