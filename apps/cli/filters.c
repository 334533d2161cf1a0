/* filters.c: see filters.h. */
#define _GNU_SOURCE

#include "filters.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "values.h"

/* ---- the hash ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool key_of_hex(const char *digits, uint8_t *key) {
    for (size_t i = 0; i < KITH_KEY_BYTES; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static void key_read(const char *path, uint8_t *key) {
    char bytes[2 * KITH_KEY_BYTES + 3]; /* hex digits, CR LF, and one more that would be too many */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_errno(path);
    size_t used = 0;
    while (used < sizeof bytes) {
        ssize_t got = read(fd, bytes + used, sizeof bytes - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail_errno(path);
        if (got == 0)
            break;
        used += (size_t)got;
    }
    (void)close(fd);
    if (used == KITH_KEY_BYTES) {
        memcpy(key, bytes, KITH_KEY_BYTES);
        return;
    }
    while (used > 0 && (bytes[used - 1] == '\n' || bytes[used - 1] == '\r'))
        used--;
    if (used != (size_t)2 * KITH_KEY_BYTES || !key_of_hex(bytes, key))
        fail("%s: a secret key is 16 bytes or 32 hex digits", path);
}

kith_hash hash_asked(const arguments *a) {
    kith_hash hash = {.id = KITH_HASH_XXH3, .seed = a->seed};
    if (!a->untrusted && a->key_file == NULL)
        return hash;
    if (a->seed_given)
        fail("--seed goes with the hash for trusted keys; the keyed one takes --key-file");
    if (a->key_file != NULL) {
        hash.id = KITH_HASH_SIPHASH;
        key_read(a->key_file, hash.key);
        return hash;
    }
    kith_status status = kith_hash_untrusted(&hash);
    if (status != KITH_OK)
        fail_status("--untrusted", status);
    return hash;
}

/* ---- files ---- */

void memory_check(const arguments *a, uint64_t needed, const char *what_for) {
    if (needed <= a->memory)
        return;
    value_text need, limit;
    fail("%s needs %s of memory; the limit is %s (%s)", what_for, text_of_size(needed, need),
         text_of_size(a->memory, limit), a->memory_given ? "--memory" : "half of the machine's; --memory sets another");
}

static uint64_t bytes_of_input(const char *path) {
    struct stat st;
    if (strcmp(path, "-") == 0)
        fail("-: a filter is read from a file, not from standard input");
    if (stat(path, &st) != 0)
        fail_errno(path);
    if (!S_ISREG(st.st_mode))
        fail("%s: %s", path, S_ISDIR(st.st_mode) ? text_of_errno(EISDIR) : "is not a regular file");
    return (uint64_t)st.st_size;
}

void filter_check_input(const char *path) {
    (void)bytes_of_input(path);
}

/* The folder in which the file would be replaced: that of the file itself, where links lead to it. */
static void check_folder(const char *path, bool exists) {
    char real[PATH_MAX];
    if (!exists || realpath(path, real) == NULL)
        (void)snprintf(real, sizeof real, "%s", path);
    const char *folder = dirname(real);
    if (access(folder, W_OK | X_OK) == 0)
        return;
    if (errno == ENOENT || errno == ENOTDIR)
        fail("%s: no such folder", path);
    fail("%s: %s: its folder may not be written", path, text_of_errno(errno));
}

bool filter_is_stream(const char *path) {
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

void filter_check_output(const char *path) {
    struct stat st;
    if (strcmp(path, "-") == 0 || filter_is_stream(path))
        return;
    bool exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode))
        fail("%s: %s", path, S_ISDIR(st.st_mode) ? text_of_errno(EISDIR) : "is not a regular file");
    /* Mode bits as well, for root may write everything. */
    if (exists && ((st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || access(path, W_OK) != 0))
        fail("%s: is read-only: chmod +w lets it be replaced", path);
    check_folder(path, exists);
}

kith_filter *filter_try_open(const char *path, unsigned open_flags, kith_status *status, reason_text reason) {
    struct stat st;
    kith_filter *filter = NULL;
    const char *why = NULL;
    *status = KITH_E_IO;
    errno = 0;
    if (strcmp(path, "-") == 0)
        why = "a filter is read from a file, not from standard input";
    else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        why = S_ISDIR(st.st_mode) ? text_of_errno(EISDIR) : "is not a regular file";
    else
        *status = kith_filter_open(path, open_flags, NULL, &filter);
    if (why == NULL)
        why = *status == KITH_E_NO_FILE            ? text_of_errno(ENOENT)
              : *status == KITH_E_PERMISSION       ? text_of_errno(EACCES)
              : *status == KITH_E_IO && errno != 0 ? text_of_errno(errno)
                                                   : kith_status_text(*status);
    (void)snprintf(reason, sizeof(reason_text), "%s%s", why,
                   *status == KITH_E_VERSION ? "; a newer kith may read it" : "");
    return filter;
}

kith_filter *filter_open(const char *path, unsigned open_flags, const arguments *a) {
    uint64_t bytes = bytes_of_input(path);
    if (open_flags & KITH_OPEN_COPY)
        memory_check(a, bytes, path);
    kith_status status;
    reason_text reason;
    kith_filter *filter = filter_try_open(path, open_flags, &status, reason);
    if (filter == NULL)
        fail("%s: %s", path, reason);
    return filter;
}

/* Whoever had the lock may have put another file under the name, or none. */
static bool is_named(int fd, const char *path) {
    struct stat locked, named;
    return fstat(fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

int filter_lock(const char *path) {
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX) != 0 || is_named(fd, path))
            return fd;
        (void)close(fd);
    }
}

static char lock_path[PATH_MAX]; /* empty: none */

static void remove_lock_file(void *context) {
    (void)context;
    (void)unlink(lock_path);
}

int filter_lock_new(const char *path) {
    for (;;) {
        int fd = filter_lock(path);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        if ((size_t)snprintf(lock_path, sizeof lock_path, "%s.lock", path) >= sizeof lock_path)
            fail("%s: the name is too long", path);
        fd = open(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (fd < 0)
            fail_errno(lock_path);
        bool mine = flock(fd, LOCK_EX) != 0 || is_named(fd, lock_path);
        if (mine && access(path, F_OK) != 0) {
            at_failure(remove_lock_file, NULL);
            return fd;
        }
        /* Another run has made the file in the meantime. */
        if (mine)
            (void)unlink(lock_path);
        lock_path[0] = '\0';
        (void)close(fd);
    }
}

void filter_unlock(int lock) {
    if (lock_path[0] != '\0') {
        remove_lock_file(NULL);
        at_failure_forget();
        lock_path[0] = '\0';
    }
    if (lock >= 0)
        (void)close(lock);
}

static const void *bytes_must(kith_filter *filter, const char *path, size_t *byte_count) {
    const void *bytes;
    kith_status status = kith_filter_bytes(filter, &bytes, byte_count);
    if (status != KITH_OK)
        fail_status(path, status);
    return bytes;
}

static noreturn void fail_terminal(void) {
    fail("a filter is binary and does not go to a terminal: give -o FILE, or a pipe");
}

static void put_bytes(kith_filter *filter) {
    if (out_is_terminal())
        fail_terminal();
    size_t byte_count;
    const void *bytes = bytes_must(filter, "stdout", &byte_count);
    out(bytes, byte_count);
    out_flush();
}

static void write_stream(kith_filter *filter, const char *path) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        fail_errno(path);
    if (isatty(fd))
        fail_terminal();
    size_t left;
    const char *bytes = bytes_must(filter, path, &left);
    while (left > 0) {
        ssize_t written = write(fd, bytes, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            fail_errno(path);
        bytes += written;
        left -= (size_t)written;
    }
    if (close(fd) != 0)
        fail_errno(path);
}

void filter_save(kith_filter *filter, const char *path) {
    if (strcmp(path, "-") == 0) {
        put_bytes(filter);
        return;
    }
    if (filter_is_stream(path)) {
        write_stream(filter, path);
        return;
    }
    hold_signals();
    errno = 0;
    kith_status status = kith_filter_save(filter, path);
    if (status != KITH_OK)
        fail_status(path, status);
}

/* ---- two filters ---- */

static const char *hash_name(kith_hash_id id) {
    return id == KITH_HASH_SIPHASH ? "keyed (siphash)" : "xxh3";
}

static void plan_must(const char *path, const kith_filter *filter, kith_plan *plan) {
    *plan = (kith_plan)KITH_PLAN_INIT;
    kith_status status = kith_filter_plan_of(filter, plan);
    if (status != KITH_OK)
        fail_status(path, status);
}

void filters_check_alike(const char *verb, uint32_t capability, const char *path_a, const kith_filter *a,
                         const char *path_b, const kith_filter *b) {
    const char *paths[] = {path_a, path_b};
    const kith_filter *both[] = {a, b};
    for (int i = 0; i < 2; i++)
        if ((kith_filter_capabilities(both[i]) & capability) == 0)
            fail("%s: filters of kind %s can't %s (kith plan shows which can)", paths[i],
                 kith_filter_kind_name(both[i]), verb);
    if (strcmp(kith_filter_kind_name(a), kith_filter_kind_name(b)) != 0)
        fail("%s and %s can't %s: they are of kinds %s and %s", path_a, path_b, verb, kith_filter_kind_name(a),
             kith_filter_kind_name(b));
    kith_hash hash_a = kith_filter_hash(a), hash_b = kith_filter_hash(b);
    if (hash_a.id != hash_b.id)
        fail("%s and %s can't %s: their hashes are %s and %s", path_a, path_b, verb, hash_name(hash_a.id),
             hash_name(hash_b.id));
    if (hash_a.seed != hash_b.seed)
        fail("%s and %s can't %s: their seeds are %llu and %llu", path_a, path_b, verb, (unsigned long long)hash_a.seed,
             (unsigned long long)hash_b.seed);
    kith_plan plan_a, plan_b;
    plan_must(path_a, a, &plan_a);
    plan_must(path_b, b, &plan_b);
    value_text text_a, text_b;
    if (plan_a.capacity != plan_b.capacity)
        fail("%s and %s can't %s: their capacities are %s and %s keys (kith build --like makes them alike)", path_a,
             path_b, verb, text_of_integer(plan_a.capacity, text_a), text_of_integer(plan_b.capacity, text_b));
    if (plan_a.rate != plan_b.rate)
        fail("%s and %s can't %s: their rates are %s and %s", path_a, path_b, verb, text_of_rate(plan_a.rate, text_a),
             text_of_rate(plan_b.rate, text_b));
}

/* ---- words ---- */

const char *text_of_capabilities(uint32_t capabilities, const char *between, capability_text text) {
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
        {KITH_CAN_REMOVE, "remove"},       {KITH_CAN_COPIES, "copies"},  {KITH_CAN_MERGE, "merge"},
        {KITH_CAN_INTERSECT, "intersect"}, {KITH_CAN_SUBSET, "compare"}, {KITH_CAN_GROW, "grow"},
    };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (capabilities & words[i].bit)
            used += (size_t)snprintf(text + used, sizeof(capability_text) - used, "%s%s", used > 0 ? between : "",
                                     words[i].word);
    return text;
}
