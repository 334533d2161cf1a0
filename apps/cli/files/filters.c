/* filters.c: opens, checks and saves filters for the commands; see filters.h. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/files/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/found.h"
#include "cli/files/leftovers.h"
#include "cli/input/recipe.h"
#include "cli/server/dump.h"
#include "cli/output/report.h"
#include "cli/files/stores.h"
#include "cli/uninterrupted.h"
#include "cli/values.h"

#define OPEN_ATTEMPTS 1000 /* each fails only if a checkpoint was made since it began */
#define LINKS_MAX 40       /* the kernel follows the same number in one path */

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
    for (size_t i = 0; i < KITH_HASH_KEY_BYTES; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static void key_read(const char *path, uint8_t *key) {
    char bytes[2 * KITH_HASH_KEY_BYTES + 3]; /* hex digits, CR LF, and one more to detect a longer file */
    int fd = open_fully(path, O_RDONLY | O_CLOEXEC, 0);
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
    if (used == KITH_HASH_KEY_BYTES) {
        memcpy(key, bytes, KITH_HASH_KEY_BYTES);
        return;
    }
    while (used > 0 && (bytes[used - 1] == '\n' || bytes[used - 1] == '\r'))
        used--;
    if (used != (size_t)2 * KITH_HASH_KEY_BYTES || !key_of_hex(bytes, key))
        fail("%s: not a secret key, which has 16 bytes or 32 hex digits", path);
}

kith_hash hash_asked(const arguments *a) {
    kith_hash hash = {.id = KITH_HASH_XXH3, .seed = a->seed};
    if (!a->untrusted && a->key_file == NULL)
        return hash;
    if (a->seed_given)
        fail("--seed cannot be combined with --untrusted or --key-file: the keyed hash has a secret key instead of a "
             "seed");
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

bool memory_suffices(const arguments *a, uint64_t needed, reason_text reason) {
    value_text need, limit;
    if (needed <= a->memory)
        return true;
    (void)snprintf(reason, sizeof(reason_text), "needs %s of memory; the limit is %s (%s)", text_of_size(needed, need),
                   text_of_size(a->memory, limit),
                   a->memory_given ? "--memory" : "half of the machine's memory; --memory changes it");
    return false;
}

void memory_check(const arguments *a, uint64_t needed, const char *what_for) {
    reason_text reason;
    if (!memory_suffices(a, needed, reason))
        fail("%s %s", what_for, reason);
}

void filter_limit(kith_filter *filter, const arguments *a, uint64_t held) {
    kith_filter_set_limit(filter, held < a->memory ? a->memory - held : 1); /* 0 would mean no limit */
}

noreturn void fail_growth(const arguments *a, const char *name) {
    value_text limit;
    fail("%s: the filter has to grow to hold more keys, but the limit is %s of memory%s; raise --memory", name,
         text_of_size(a->memory, limit), a->memory_given ? "" : ", half of the machine's memory");
}

static uint64_t bytes_of_input(const char *path) {
    struct stat st;
    if (strcmp(path, "-") == 0)
        fail("-: a filter must be a file, not standard input");
    if (found_stat(path, &st) != 0)
        fail_errno(path);
    if (!S_ISREG(st.st_mode))
        fail("%s: %s", path, S_ISDIR(st.st_mode) ? text_of_errno(EISDIR) : "is not a regular file");
    return (uint64_t)st.st_size;
}

void filter_check_input(const char *path) {
    (void)bytes_of_input(path);
}

void filter_check_memory(const char *path, const arguments *a) {
    if (a->no_mmap)
        memory_check(a, bytes_of_input(path), path);
}

bool filter_is_stream(const char *path) {
    struct stat st;
    return strcmp(path, "-") != 0 && found_before(path) == NULL && stat(path, &st) == 0 &&
           (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

static noreturn void fail_terminal(void) {
    fail("a filter is binary and is not written to a terminal; use -o FILE or a pipe");
}

/* Returns true if `path` is a terminal; /dev/stdout may be one. */
static bool is_terminal(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISCHR(st.st_mode))
        return false;
    int fd = open_fully(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    bool found = fd >= 0 && isatty(fd);
    if (fd >= 0)
        (void)close(fd);
    return found;
}

void filter_check_output(const char *path) {
    struct stat st;
    if (strcmp(path, "-") == 0 ? out_is_terminal() : is_terminal(path))
        fail_terminal();
    if (strcmp(path, "-") == 0 || filter_is_stream(path))
        return;
    const found_place *f = found_file(path);
    if (f == NULL)
        found_fail(path);
    /* The mode bits are checked as well, because access() allows root everything. */
    bool exists = found_lstat(f, "", &st) == 0;
    errno = 0;
    bool is_refused = exists && faccessat(found_folder(f), found_name(f), W_OK, 0) != 0;
    if (is_refused && errno == EROFS)
        fail_errno(path);
    if (is_refused || (exists && (st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0))
        fail("%s: is read-only; to let kith replace it, run chmod +w", path);
    if (faccessat(found_folder(f), ".", W_OK | X_OK, 0) != 0)
        fail("%s: %s: cannot write to its folder", path, text_of_errno(errno));
    leftovers_watch(path);
}

/* ---- reading ---- */

static kith_status status_of_errno(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return KITH_E_NO_FILE;
    case EACCES:
    case EPERM:
        return KITH_E_PERMISSION;
    case ENOMEM:
        return KITH_E_MEMORY;
    default:
        return KITH_E_IO;
    }
}

enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/* Accepts an open file that is regular. EISDIR: a folder; EINVAL: another file that is not regular. */
static int check_regular(int fd) {
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        (void)close(fd);
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    return fd;
}

static int open_file(const char *path) {
    const found_place *f = found_before(path);
    return check_regular(f != NULL ? found_open(f, "", READ_FLAGS, 0) : open_fully(path, READ_FLAGS, 0));
}

/* Opens the folder of the last name of a path, cuts the path there, and copies the name. */
static int open_folder(int from, char *path, char *name) {
    char *slash = strrchr(path, '/');
    (void)strcpy(name, slash != NULL ? slash + 1 : path);
    if (slash == NULL)
        return openat_fully(from, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (slash == path)
        return openat_fully(from, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    *slash = '\0';
    return openat_fully(from, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/* The journal is next to the file itself, not next to a link to it. Links are followed here, one after the other, and
 * not by realpath(), which fails if the working folder has a path of more than PATH_MAX bytes. */
static int open_journal(const char *path) {
    const found_place *f = found_before(path);
    if (f != NULL)
        return check_regular(found_open(f, "-journal", READ_FLAGS, 0));
    char text[PATH_MAX], name[PATH_MAX + sizeof "-journal"];
    int folder = AT_FDCWD, journal_fd = -1;
    if ((size_t)snprintf(text, sizeof text, "%s", path) >= sizeof text) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (int links = 0; links <= LINKS_MAX; links++) {
        int from = folder;
        folder = open_folder(from, text, name);
        int error = errno;
        if (from >= 0)
            (void)close(from);
        errno = error;
        if (folder < 0)
            return -1;
        ssize_t bytes = readlinkat(folder, name, text, sizeof text - 1);
        if (bytes < 0) {
            journal_fd = check_regular(openat_fully(folder, strcat(name, "-journal"), READ_FLAGS | O_NOFOLLOW, 0));
            break;
        }
        text[bytes] = '\0';
        errno = ELOOP;
    }
    int error = errno;
    (void)close(folder);
    errno = error;
    return journal_fd;
}

/* Returns true if the path refers to another file than the one that is open. */
static bool was_replaced(int fd, const char *path) {
    struct stat own, named;
    return fstat(fd, &own) == 0 && found_stat(path, &named) == 0 &&
           (own.st_dev != named.st_dev || own.st_ino != named.st_ino);
}

filter_files filter_files_open(const char *path) {
    struct stat st;
    filter_files f = {.path = path, .file = -1, .journal = -1};
    if (strcmp(path, "-") == 0)
        f.refused = "a filter must be a file, not standard input";
    else if (found_stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        f.refused = S_ISDIR(st.st_mode) ? text_of_errno(EISDIR) : "is not a regular file";
    /* If a checkpoint has replaced the file before the journal was opened, they may not belong together. */
    for (unsigned attempt = 0; f.refused == NULL && attempt < OPEN_ATTEMPTS; attempt++) {
        filter_files_close(&f);
        f.file = open_file(path);
        f.error = f.file < 0 ? errno : 0;
        if (f.file < 0)
            break;
        f.journal = open_journal(path);
        f.journal_error = f.journal < 0 ? errno : 0;
        if (!was_replaced(f.file, path))
            break;
    }
    return f;
}

void filter_files_close(filter_files *f) {
    if (f->file >= 0)
        (void)close(f->file);
    if (f->journal >= 0)
        (void)close(f->journal);
    f->file = f->journal = -1;
}

/* The stores that are open for reading, with their filters. */
static struct reading {
    kith_filter *filter;
    kith_store *store;
} reading[8];

static struct reading *reading_of(const kith_filter *filter) {
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++)
        if (reading[i].filter == filter)
            return &reading[i];
    return NULL;
}

const kith_store *filter_store(const kith_filter *filter) {
    const struct reading *r = reading_of(filter);
    return r == NULL ? NULL : r->store;
}

void filter_close(kith_filter *filter) {
    struct reading *r = filter == NULL ? NULL : reading_of(filter);
    if (r == NULL) {
        kith_filter_free(filter);
        return;
    }
    (void)kith_store_close(r->store); /* a reader has nothing to lose */
    *r = (struct reading){NULL, NULL};
}

/* Opens the store of the two files. On success they belong to the store. */
static kith_status open_store_files(filter_files *f, const arguments *a, kith_store **store) {
    kith_store_options options = KITH_STORE_OPTIONS_INIT;
    options.no_map = a->no_mmap;
    bool is_other = f->journal_error == EISDIR || f->journal_error == EINVAL; /* a folder, a FIFO, a device */
    if (f->journal < 0 && f->journal_error != ENOENT && !is_other) {
        errno = f->journal_error;
        return status_of_errno(errno);
    }
    kith_status status = kith_store_open_fd(f->file, f->journal, &options, store);
    if (status == KITH_OK)
        f->file = f->journal = -1;
    return status;
}

/* Opens a store for reading. Unless KITH_OPEN_LAZY is given, everything is verified, as for a plain file. */
static kith_status open_store(filter_files *f, unsigned open_flags, const arguments *a, kith_filter **filter) {
    kith_store *held = store_held(f->path), *store = held;
    struct reading *r = reading_of(NULL);
    if (r == NULL)
        return KITH_E_MEMORY;
    kith_status status = held != NULL ? KITH_OK : open_store_files(f, a, &store);
    if (status != KITH_OK)
        return status;
    if ((open_flags & KITH_OPEN_LAZY) == 0)
        status = kith_store_verify(store);
    /* A store that is held may change while the filter is in use, so it is copied. */
    bool copy = held != NULL || (open_flags & KITH_OPEN_COPY) != 0;
    if (status == KITH_OK && copy)
        status = kith_filter_clone(kith_store_filter(store), NULL, filter);
    if (status == KITH_OK && !copy) {
        *r = (struct reading){(kith_filter *)(uintptr_t)kith_store_filter(store), store};
        *filter = r->filter;
    } else if (held == NULL) {
        int error = errno;
        (void)kith_store_close(store);
        errno = error;
    }
    return status;
}

/* Says why the files could not be read. `error` is the errno of the failed call. */
static void explain(const filter_files *f, kith_status status, int error, reason_text reason) {
    const char *why = text_of_failure(status, error);
    if (f->refused != NULL)
        why = f->refused;
    if (status == KITH_E_JOURNAL)
        why = "is a store, but its journal (the file of this name with -journal at the end) is missing or does not "
              "belong to it (kith repair saves the rest)";
    if (status == KITH_E_NOT_KITH && redis_dump_is_fd(f->file))
        why = "is a dump of a RedisBloom filter: kith push loads it into a server, and no other command uses it";
    (void)snprintf(reason, sizeof(reason_text), "%s%s", why,
                   status == KITH_E_VERSION ? "; a newer kith may be able to read it" : "");
}

/* With --no-mmap, a file is not read if that needs more memory than allowed. */
static bool fits_memory(const filter_files *f, const arguments *a, reason_text reason) {
    struct stat st;
    return !a->no_mmap || f->file < 0 || fstat(f->file, &st) != 0 || memory_suffices(a, (uint64_t)st.st_size, reason);
}

kith_filter *filter_files_read(filter_files *f, unsigned open_flags, const arguments *a, kith_status *status,
                               reason_text reason) {
    kith_filter *filter = NULL;
    *status = KITH_E_TOO_LARGE;
    if (!fits_memory(f, a, reason))
        return NULL;
    errno = f->error;
    *status = f->file < 0 ? status_of_errno(f->error) : KITH_OK;
    if (*status == KITH_OK)
        *status = kith_filter_open_fd(f->file, open_flags | (a->no_mmap ? KITH_OPEN_COPY : 0), NULL, &filter);
    if (*status == KITH_E_JOURNAL)
        *status = open_store(f, open_flags, a, &filter);
    if (filter == NULL)
        explain(f, *status, errno, reason);
    return filter;
}

kith_filter *filter_try_open(const char *path, unsigned open_flags, const arguments *a, kith_status *status,
                             reason_text reason) {
    filter_files files = filter_files_open(path);
    kith_filter *filter = filter_files_read(&files, open_flags, a, status, reason);
    filter_files_close(&files);
    return filter;
}

kith_filter *filter_open(const char *path, unsigned open_flags, const arguments *a) {
    uint64_t bytes = bytes_of_input(path);
    if ((open_flags & KITH_OPEN_COPY) != 0 || a->no_mmap)
        memory_check(a, bytes, path);
    kith_status status;
    reason_text reason;
    kith_filter *filter = filter_try_open(path, open_flags, a, &status, reason);
    if (filter == NULL)
        fail("%s: %s", path, reason);
    return filter;
}

static const void *bytes_must(kith_filter *filter, const char *path, size_t *byte_count) {
    const void *bytes;
    kith_status status = kith_filter_bytes(filter, &bytes, byte_count);
    if (status != KITH_OK)
        fail_status(path, status);
    return bytes;
}

static void put_bytes(kith_filter *filter) {
    size_t byte_count;
    const void *bytes = bytes_must(filter, "stdout", &byte_count);
    out(bytes, byte_count);
    out_flush();
}

static void write_stream(kith_filter *filter, const char *path) {
    struct stat st;
    int fd = open_fully(path, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0 || fstat(fd, &st) != 0)
        fail_errno(path);
    if (S_ISREG(st.st_mode))
        fail("%s: another program has replaced it by a file in the meantime", path);
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
    if (close(fd) != 0 && errno != EINTR) /* after EINTR it is closed */
        fail_errno(path);
}

void filter_save(kith_filter *filter, const char *path) {
    if (strcmp(path, "-") == 0) {
        put_bytes(filter);
        return;
    }
    if (found_before(path) == NULL) { /* filter_check_output() has found every regular file */
        write_stream(filter, path);
        return;
    }
    hold_signals();
    errno = 0;
    kith_store *store = store_held(path);
    kith_status status = store != NULL ? kith_store_replace(store, filter) : kith_filter_save(filter, found_path(path));
    if (store != NULL && status == KITH_E_UNSUPPORTED)
        fail("%s: is a store, but filters of kind %s can only be built from a complete list of keys (kith checkpoint "
             "--plain makes it a plain file)",
             path, kith_filter_kind_name(filter));
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
            fail("%s: filters of kind %s do not support %s (kith kinds lists what each kind supports)", paths[i],
                 kith_filter_kind_name(both[i]), verb);
    if (strcmp(kith_filter_kind_name(a), kith_filter_kind_name(b)) != 0)
        fail("cannot %s %s and %s: their kinds are %s and %s", verb, path_a, path_b, kith_filter_kind_name(a),
             kith_filter_kind_name(b));
    uint64_t recipe_a = kith_filter_recipe(a), recipe_b = kith_filter_recipe(b);
    recipe_text made_a, made_b;
    if (recipe_a != recipe_b)
        fail("cannot %s %s and %s: their keys were made with different options, %s and %s", verb, path_a, path_b,
             text_of_recipe(recipe_a, made_a), text_of_recipe(recipe_b, made_b));
    kith_hash hash_a = kith_filter_hash(a), hash_b = kith_filter_hash(b);
    if (hash_a.id != hash_b.id)
        fail("cannot %s %s and %s: their hashes are %s and %s", verb, path_a, path_b, hash_name(hash_a.id),
             hash_name(hash_b.id));
    if (hash_a.seed != hash_b.seed)
        fail("cannot %s %s and %s: their seeds are %llu and %llu", verb, path_a, path_b,
             (unsigned long long)hash_a.seed, (unsigned long long)hash_b.seed);
    kith_plan plan_a, plan_b;
    plan_must(path_a, a, &plan_a);
    plan_must(path_b, b, &plan_b);
    value_text text_a, text_b;
    if (plan_a.capacity != plan_b.capacity)
        fail("cannot %s %s and %s: their capacities are %s and %s keys (kith build --like makes them equal)", verb,
             path_a, path_b, text_of_integer(plan_a.capacity, text_a), text_of_integer(plan_b.capacity, text_b));
    if (plan_a.rate != plan_b.rate)
        fail("cannot %s %s and %s: their rates are %s and %s", verb, path_a, path_b, text_of_rate(plan_a.rate, text_a),
             text_of_rate(plan_b.rate, text_b));
}

/* ---- words ---- */

const char *text_of_capabilities(uint32_t capabilities, const char *between, capability_text text) {
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
        {KITH_CAN_ADD, "add"},     {KITH_CAN_REMOVE, "remove"},       {KITH_CAN_COPIES, "copies"},
        {KITH_CAN_MERGE, "merge"}, {KITH_CAN_INTERSECT, "intersect"}, {KITH_CAN_SUBSET, "compare"},
        {KITH_CAN_GROW, "grow"},
    };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (capabilities & words[i].bit)
            used += (size_t)snprintf(text + used, sizeof(capability_text) - used, "%s%s", used > 0 ? between : "",
                                     words[i].word);
    return text;
}

const char *text_of_abilities(uint32_t capabilities, capability_text text) {
    text_of_capabilities(capabilities, " ", text);
    return text[0] != '\0' ? text : "static";
}

void filter_check_adds(const char *path, const kith_filter *filter) {
    if ((kith_filter_capabilities(filter) & KITH_CAN_ADD) == 0)
        fail("%s: filters of kind %s can only be built from a complete list of keys; build it again from all keys, or "
             "with another kind",
             path, kith_filter_kind_name(filter));
}
