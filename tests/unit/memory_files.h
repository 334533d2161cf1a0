/* memory_files.h: the file operations of a store on files in memory, for simulated power cuts and failures.
 *
 * Each file has its current bytes, which all operations see, and its durable bytes, which survive a power cut. A write
 * or truncation changes the current bytes and is remembered until the file is synced. A change of a name is remembered
 * until the folder is synced. power_cut() keeps the durable bytes and, of everything that is not synced, a random part:
 * some operations are lost, some are torn, and the others are applied in random order.
 *
 * Operations are counted. At operation number die_at the power fails: that operation may still have its effect, in
 * part, and from then on every operation fails and has no effect. Operation number fail_at fails with the error
 * fail_with, or is short, and the system goes on. */
#ifndef KITH_TESTS_UNIT_MEMORY_FILES_H
#define KITH_TESTS_UNIT_MEMORY_FILES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "splitmix.h"
#include "os/files.h"

typedef enum disk_operation {
    DISK_NONE,
    DISK_OPEN_FOLDER,
    DISK_OPEN,
    DISK_LOCK,
    DISK_SIZE,
    DISK_READ,
    DISK_WRITE,
    DISK_TRUNCATE,
    DISK_SYNC,
    DISK_CREATE, /* the steps of a replacement */
    DISK_WRITE_NEW,
    DISK_SYNC_NEW,
    DISK_RENAME,
    DISK_SYNC_FOLDER,
    DISK_UNLINK,
    DISK_MAP,
    DISK_RANDOM,
    DISK_OPERATIONS,
} disk_operation;

enum { DISK_FILES = 64, DISK_NAMES = 8, DISK_HANDLES = 32, DISK_SHORT = -1, DISK_EXACT_BYTES = 1 << 16 };

struct disk_bytes {
    uint8_t *at;
    size_t n;
    size_t room; /* allocated: exactly what is needed up to DISK_EXACT_BYTES, so that a sanitizer sees reads past the
                    end; for larger files more, so that appending is cheap */
};

struct disk_change { /* of a file, not synced yet */
    bool is_truncation;
    uint64_t offset; /* of a truncation: the new size */
    struct disk_bytes bytes;
};

struct disk_file {
    bool used;
    uint64_t number; /* each new file has another one */
    struct disk_bytes now, durable;
    struct disk_change *changes;
    size_t change_count;
};

struct disk_name {
    char text[64];
    int file; /* negative: no such name */
};

struct disk_rename { /* of the folder, not synced yet */
    char text[64];
    int file;
};

struct disk {
    struct disk_file files[DISK_FILES];
    struct disk_name names[DISK_NAMES], durable_names[DISK_NAMES];
    uint64_t last_number;
    struct disk_rename renames[16];
    size_t rename_count;
    int handles[DISK_HANDLES]; /* the number of a file, or DISK_FOLDER, DISK_CLOSED */
    int lock_handle;           /* negative: nobody holds the lock */
    uint64_t random;
    uint64_t clock_ms;
    uint64_t size_limit;
    bool renames_stay; /* a replacement cannot be undone if the sync of the folder fails */

    uint64_t operations, die_at, fail_at;
    int fail_with; /* errno, or DISK_SHORT for a short read or write */
    bool fails_for_ever;
    bool dead;
    disk_operation hit;           /* what failed */
    unsigned syncs_after_failure; /* of the same file that a sync has failed for */
    int failed_sync_file;
    unsigned maps; /* mapped now */
};

enum { DISK_FOLDER = -2, DISK_CLOSED = -3, DISK_LOCK_FILE = -4 };

/* ---- bytes ---- */

static inline void disk_resize(struct disk_bytes *b, uint64_t n) {
    if (n >= b->room) {
        b->room = (size_t)(n < DISK_EXACT_BYTES ? n + 1 : 2 * n);
        b->at = realloc(b->at, b->room);
        if (b->at == NULL)
            abort();
    }
    if (n > b->n)
        memset(b->at + b->n, 0, (size_t)n - b->n);
    b->n = (size_t)n;
}

static inline void disk_put(struct disk_bytes *b, const uint8_t *bytes, size_t n, uint64_t offset) {
    if (offset + n > b->n)
        disk_resize(b, offset + n);
    memcpy(b->at + offset, bytes, n);
}

static inline struct disk_bytes disk_copy(const struct disk_bytes *b) {
    struct disk_bytes copy = {0};
    disk_resize(&copy, b->n);
    if (b->n > 0)
        memcpy(copy.at, b->at, b->n);
    return copy;
}

static inline void disk_forget_changes(struct disk_file *f) {
    for (size_t i = 0; i < f->change_count; i++)
        free(f->changes[i].bytes.at);
    free(f->changes);
    f->changes = NULL;
    f->change_count = 0;
}

static inline void disk_note(struct disk_file *f, bool is_truncation, uint64_t offset, const uint8_t *bytes, size_t n) {
    f->changes = realloc(f->changes, (f->change_count + 1) * sizeof *f->changes);
    if (f->changes == NULL)
        abort();
    struct disk_change *c = &f->changes[f->change_count++];
    *c = (struct disk_change){.is_truncation = is_truncation, .offset = offset};
    if (n > 0)
        disk_put(&c->bytes, bytes, n, 0);
}

static inline void disk_write_now(struct disk_file *f, const uint8_t *bytes, size_t n, uint64_t offset) {
    disk_put(&f->now, bytes, n, offset);
    disk_note(f, false, offset, bytes, n);
}

/* After a sync that failed, durable and current bytes stay different: later syncs do not write those changes again. */
static inline void disk_sync_now(struct disk_file *f) {
    for (size_t i = 0; i < f->change_count; i++) {
        const struct disk_change *c = &f->changes[i];
        if (c->is_truncation)
            disk_resize(&f->durable, c->offset);
        else
            disk_put(&f->durable, c->bytes.at, c->bytes.n, c->offset);
    }
    disk_forget_changes(f);
}

static inline void disk_drop(struct disk_file *f) {
    disk_forget_changes(f);
    free(f->now.at);
    free(f->durable.at);
    *f = (struct disk_file){.used = false};
}

/* ---- names ---- */

static inline struct disk_name *disk_find(struct disk_name *names, const char *text) {
    struct disk_name *free_one = NULL;
    for (size_t i = 0; i < DISK_NAMES; i++) {
        if (names[i].file >= 0 && strcmp(names[i].text, text) == 0)
            return &names[i];
        if (names[i].file < 0)
            free_one = &names[i];
    }
    if (free_one == NULL)
        abort();
    return free_one;
}

static inline void disk_set(struct disk_name *names, const char *text, int file) {
    struct disk_name *name = disk_find(names, text);
    (void)snprintf(name->text, sizeof name->text, "%s", text);
    name->file = file;
}

/* Frees files that have no name, no durable name and no handle. */
static inline void disk_collect(struct disk *d) {
    for (int i = 0; i < DISK_FILES; i++) {
        bool in_use = false;
        for (size_t j = 0; j < DISK_NAMES; j++)
            in_use |= d->names[j].file == i || d->durable_names[j].file == i;
        for (size_t j = 0; j < d->rename_count; j++)
            in_use |= d->renames[j].file == i;
        for (size_t j = 0; j < DISK_HANDLES; j++)
            in_use |= d->handles[j] == i;
        if (d->files[i].used && !in_use)
            disk_drop(&d->files[i]);
    }
}

static inline int disk_new_file(struct disk *d) {
    disk_collect(d);
    for (int i = 0; i < DISK_FILES; i++)
        if (!d->files[i].used) {
            d->files[i] = (struct disk_file){.used = true, .number = ++d->last_number};
            return i;
        }
    abort();
}

static inline void disk_rename(struct disk *d, const char *text, int file) {
    if (d->rename_count == sizeof d->renames / sizeof *d->renames)
        abort();
    struct disk_rename *r = &d->renames[d->rename_count++];
    (void)snprintf(r->text, sizeof r->text, "%s", text);
    r->file = file;
    disk_set(d->names, text, file);
}

static inline void disk_sync_names(struct disk *d) {
    memcpy(d->durable_names, d->names, sizeof d->names);
    d->rename_count = 0;
}

/* ---- failing ---- */

/* Counts an operation. Returns false if it fails, with errno; *dying says whether the power fails now, so that the
 * operation may take place in part. */
static inline bool disk_begin(struct disk *d, disk_operation operation, bool *dying) {
    *dying = false;
    if (d->dead) {
        errno = EIO;
        return false;
    }
    d->operations++;
    if (d->operations == d->die_at) {
        d->dead = *dying = true;
        d->hit = operation;
        errno = EIO;
        return false;
    }
    bool fails = d->fail_at != 0 && (d->operations == d->fail_at || (d->fails_for_ever && d->operations > d->fail_at));
    if (fails && d->fail_with == DISK_SHORT)
        fails = operation == DISK_READ || operation == DISK_WRITE;
    if (fails && d->fail_with == EINTR)
        fails = operation != DISK_SYNC && operation != DISK_SIZE && operation != DISK_MAP &&
                (operation < DISK_CREATE || operation > DISK_UNLINK) && operation != DISK_RANDOM;
    if (!fails)
        return true;
    if (d->hit == DISK_NONE)
        d->hit = operation;
    errno = d->fail_with;
    return false;
}

static inline uint64_t disk_random(struct disk *d) {
    return splitmix_next(&d->random);
}

/* ---- the table ---- */

static inline int disk_handle(struct disk *d, int file) {
    for (int i = 0; i < DISK_HANDLES; i++)
        if (d->handles[i] == DISK_CLOSED) {
            d->handles[i] = file;
            return i;
        }
    abort();
}

static inline int disk_open_folder(void *context, const char *path, bool to_read, char name[KITHI_NAME_BYTES]) {
    (void)to_read;
    struct disk *d = context;
    bool dying;
    if (!disk_begin(d, DISK_OPEN_FOLDER, &dying))
        return -1;
    (void)snprintf(name, KITHI_NAME_BYTES, "%s", path);
    return disk_handle(d, DISK_FOLDER);
}

static inline int disk_open(void *context, int folder, const char *name, bool writable) {
    (void)folder, (void)writable;
    struct disk *d = context;
    bool dying;
    if (!disk_begin(d, DISK_OPEN, &dying))
        return -1;
    int file = disk_find(d->names, name)->file;
    if (file < 0)
        errno = ENOENT;
    return file < 0 ? -1 : disk_handle(d, file);
}

/* There is one lock file, which always exists. */
static inline int disk_open_lock(void *context, int folder, const char *name, const char *beside, bool existing) {
    (void)folder, (void)name, (void)beside, (void)existing;
    struct disk *d = context;
    bool dying;
    return disk_begin(d, DISK_LOCK, &dying) ? disk_handle(d, DISK_LOCK_FILE) : -1;
}

/* Files in memory have no permissions. */
static inline int disk_may_write(void *context, int folder, const char *name) {
    (void)context, (void)folder, (void)name;
    return 0;
}

static inline int disk_take_lock(void *context, int lock, bool wait) {
    struct disk *d = context;
    bool dying;
    if (!disk_begin(d, DISK_LOCK, &dying))
        return -1;
    if (d->lock_handle >= 0 && wait)
        abort(); /* nobody could release it */
    if (d->lock_handle >= 0) {
        errno = EWOULDBLOCK;
        return -1;
    }
    d->lock_handle = lock;
    return 0;
}

static inline void disk_pause(void *context, unsigned ms) {
    ((struct disk *)context)->clock_ms += ms;
}

static inline void disk_close(void *context, int file) {
    struct disk *d = context;
    if (file < 0 || file >= DISK_HANDLES || d->handles[file] == DISK_CLOSED)
        abort();
    d->handles[file] = DISK_CLOSED;
    if (d->lock_handle == file)
        d->lock_handle = -1;
}

static inline struct disk_file *disk_file_of(struct disk *d, int handle) {
    if (handle < 0 || handle >= DISK_HANDLES || d->handles[handle] < 0)
        abort();
    return &d->files[d->handles[handle]];
}

static inline int disk_size(void *context, int file, uint64_t *bytes) {
    struct disk *d = context;
    bool dying;
    if (!disk_begin(d, DISK_SIZE, &dying))
        return -1;
    *bytes = disk_file_of(d, file)->now.n;
    return 0;
}

static inline int64_t disk_read(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    struct disk *d = context;
    struct disk_file *f = disk_file_of(d, file);
    size_t n = offset >= f->now.n ? 0 : f->now.n - (size_t)offset;
    n = n < byte_count ? n : byte_count;
    bool dying;
    if (!disk_begin(d, DISK_READ, &dying)) {
        if (dying || d->dead || d->fail_with != DISK_SHORT)
            return -1;
        n = n > 1 ? 1 + (size_t)(disk_random(d) % (n - 1)) : n;
    }
    if (n > 0)
        memcpy(bytes, f->now.at + offset, n);
    return (int64_t)n;
}

static inline int64_t disk_write(void *context, int file, const void *bytes, size_t byte_count, uint64_t offset) {
    struct disk *d = context;
    struct disk_file *f = disk_file_of(d, file);
    bool dying;
    if (disk_begin(d, DISK_WRITE, &dying)) {
        disk_write_now(f, bytes, byte_count, offset);
        return (int64_t)byte_count;
    }
    bool is_short = !dying && !d->dead && d->fail_with == DISK_SHORT;
    /* A write that fails may have written some of its bytes, as long as it does not say so. */
    size_t n = dying || is_short || !d->dead ? (size_t)(disk_random(d) % byte_count) : 0;
    if (is_short && n == 0)
        n = 1;
    int error = errno;
    if (n > 0 && error != EINTR)
        disk_write_now(f, bytes, n, offset);
    errno = error;
    return is_short ? (int64_t)n : -1;
}

static inline int disk_truncate(void *context, int file, uint64_t bytes) {
    struct disk *d = context;
    struct disk_file *f = disk_file_of(d, file);
    bool dying, good = disk_begin(d, DISK_TRUNCATE, &dying);
    if (good || (dying && disk_random(d) % 2)) {
        disk_resize(&f->now, bytes);
        disk_note(f, true, bytes, NULL, 0);
    }
    return good ? 0 : -1;
}

static inline int disk_sync(void *context, int file, bool only_data) {
    (void)only_data;
    struct disk *d = context;
    struct disk_file *f = disk_file_of(d, file);
    bool dying, good = disk_begin(d, DISK_SYNC, &dying);
    if (good && d->failed_sync_file == d->handles[file])
        d->syncs_after_failure++;
    if (good || (dying && disk_random(d) % 2))
        disk_sync_now(f);
    if (!good && !d->dead) {
        /* The system forgets that the pages are dirty, so that the next sync will succeed. */
        d->failed_sync_file = d->handles[file];
        disk_forget_changes(f);
    }
    return good ? 0 : -1;
}

static inline int disk_is_named(void *context, int file, int folder, const char *name) {
    (void)folder;
    struct disk *d = context;
    if (d->handles[file] == DISK_LOCK_FILE)
        return !d->dead;
    return !d->dead && disk_find(d->names, name)->file == d->handles[file];
}

static inline void disk_id(struct disk *d, int file, kithi_file_id *id) {
    *id = (kithi_file_id){.exists = file >= 0};
    if (file >= 0)
        *id = (kithi_file_id){true, 1, d->files[file].number, d->files[file].now.n, 0, 0};
}

static inline int disk_identify(void *context, int file, const char *name, kithi_file_id *id) {
    struct disk *d = context;
    bool dying;
    if (!disk_begin(d, DISK_SIZE, &dying))
        return -1;
    disk_id(d, name != NULL ? disk_find(d->names, name)->file : d->handles[file], id);
    return 0;
}

static inline kith_status disk_status(void) {
    return errno == ENOSPC ? KITH_E_NO_SPACE : KITH_E_IO;
}

static inline kith_status disk_replace(void *context, int folder, const kithi_replacement *r) {
    struct disk *d = context;
    const char *name = r->name;
    const kithi_part *parts = r->parts;
    size_t count = r->count;
    kithi_guard *guard = r->guard;
    kithi_file_id found;
    if (guard != NULL) {
        guard->left[0] = '\0';
        disk_id(d, disk_find(d->names, name)->file, &found);
        guard->is_other = !guard->any && !kithi_same_file(&found, &guard->is);
        if (guard->is_other)
            return KITH_E_REPLACED;
    }
    (void)folder;
    bool dying;
    if (!disk_begin(d, DISK_CREATE, &dying))
        return disk_status();
    int file = disk_new_file(d), old = disk_find(d->names, name)->file;
    struct disk_file *f = &d->files[file];
    int handle = disk_handle(d, file); /* the file must not be collected */
    bool good = true, named = false;
    for (size_t i = 0, at = 0; i < count && good; at += parts[i++].byte_count) {
        good = disk_begin(d, DISK_WRITE_NEW, &dying);
        if (good && parts[i].byte_count > 0)
            disk_write_now(f, parts[i].bytes, parts[i].byte_count, at);
    }
    if (good) {
        good = disk_begin(d, DISK_SYNC_NEW, &dying);
        if (good || (dying && disk_random(d) % 2))
            disk_sync_now(f);
    }
    if (good) {
        good = disk_begin(d, DISK_RENAME, &dying);
        if (good || (dying && disk_random(d) % 2)) {
            disk_rename(d, name, file);
            named = true;
        }
    }
    if (good) {
        good = disk_begin(d, DISK_SYNC_FOLDER, &dying);
        if (good || (dying && disk_random(d) % 2))
            disk_sync_names(d);
        else if (named && !d->dead && !d->renames_stay) {
            int error = errno;
            disk_rename(d, name, old);
            errno = error;
        }
    }
    d->handles[handle] = DISK_CLOSED;
    if (good && guard != NULL)
        disk_id(d, file, &guard->is);
    return good ? KITH_OK : disk_status();
}

static inline int disk_remove(void *context, int folder, const char *name) {
    (void)folder;
    struct disk *d = context;
    bool dying, good = disk_begin(d, DISK_UNLINK, &dying);
    if (good || (dying && disk_random(d) % 2))
        disk_rename(d, name, -1);
    if (good) {
        good = disk_begin(d, DISK_SYNC_FOLDER, &dying);
        if (good || (dying && disk_random(d) % 2))
            disk_sync_names(d);
    }
    return good ? 0 : -1;
}

static inline int disk_sync_folder(void *context, int folder) {
    (void)folder;
    struct disk *d = context;
    bool dying, good = disk_begin(d, DISK_SYNC_FOLDER, &dying);
    if (good || (dying && disk_random(d) % 2))
        disk_sync_names(d);
    return good ? 0 : -1;
}

static inline uint8_t *disk_map(void *context, int file, size_t byte_count, bool writable) {
    (void)writable;
    struct disk *d = context;
    struct disk_file *f = disk_file_of(d, file);
    bool dying;
    if (!disk_begin(d, DISK_MAP, &dying))
        return NULL;
    uint8_t *bytes = malloc(byte_count);
    if (bytes == NULL || byte_count > f->now.n)
        abort();
    memcpy(bytes, f->now.at, byte_count);
    d->maps++;
    return bytes;
}

static inline void disk_unmap(void *context, uint8_t *bytes, size_t byte_count) {
    (void)byte_count;
    ((struct disk *)context)->maps--;
    free(bytes);
}

static inline uint64_t disk_size_limit(void *context) {
    return ((struct disk *)context)->size_limit;
}

static inline uint64_t disk_now_ms(void *context) {
    return ((struct disk *)context)->clock_ms;
}

static inline int disk_random_bytes(void *context, void *bytes, size_t byte_count) {
    struct disk *d = context;
    bool dying;
    if (!disk_begin(d, DISK_RANDOM, &dying))
        return -1;
    for (size_t i = 0; i < byte_count; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)disk_random(d);
    return 0;
}

static inline kithi_files disk_files(struct disk *d) {
    return (kithi_files){
        .context = d,
        .open_folder = disk_open_folder,
        .open = disk_open,
        .open_lock = disk_open_lock,
        .take_lock = disk_take_lock,
        .may_write = disk_may_write,
        .pause = disk_pause,
        .close = disk_close,
        .size = disk_size,
        .read = disk_read,
        .write = disk_write,
        .truncate = disk_truncate,
        .sync = disk_sync,
        .is_named = disk_is_named,
        .identify = disk_identify,
        .replace = disk_replace,
        .remove = disk_remove,
        .sync_folder = disk_sync_folder,
        .map = disk_map,
        .unmap = disk_unmap,
        .size_limit = disk_size_limit,
        .now_ms = disk_now_ms,
        .random = disk_random_bytes,
    };
}

/* ---- the disk ---- */

static inline void disk_init(struct disk *d, uint64_t seed) {
    memset(d, 0, sizeof *d);
    for (size_t i = 0; i < DISK_NAMES; i++)
        d->names[i].file = d->durable_names[i].file = -1;
    for (size_t i = 0; i < DISK_HANDLES; i++)
        d->handles[i] = DISK_CLOSED;
    d->lock_handle = -1;
    d->failed_sync_file = -1;
    d->random = seed;
    d->size_limit = UINT64_MAX;
}

static inline void disk_free(struct disk *d) {
    for (int i = 0; i < DISK_FILES; i++)
        disk_drop(&d->files[i]);
}

static inline unsigned disk_open_handles(const struct disk *d) {
    unsigned open = 0;
    for (size_t i = 0; i < DISK_HANDLES; i++)
        open += d->handles[i] != DISK_CLOSED;
    return open;
}

/* Applies a change in part: of each piece of a random size, it is random whether it arrives. */
static inline void disk_tear(struct disk *d, struct disk_file *f, const struct disk_change *c) {
    static const size_t PIECES[] = {1, 8, 512, 4096, SIZE_MAX};
    if (c->is_truncation) {
        disk_resize(&f->durable, c->offset);
        return;
    }
    size_t piece = PIECES[disk_random(d) % 5];
    for (size_t at = 0; at < c->bytes.n; at += piece) {
        size_t n = c->bytes.n - at < piece ? c->bytes.n - at : piece;
        if (disk_random(d) % 4 != 0)
            disk_put(&f->durable, c->bytes.at + at, n, c->offset + at);
        if (piece > c->bytes.n - at)
            break;
    }
}

static inline void disk_lose(struct disk *d, struct disk_file *f) {
    unsigned keeps = (unsigned)(disk_random(d) % 4); /* nothing, everything, a prefix, anything */
    size_t prefix = f->change_count == 0 ? 0 : (size_t)(disk_random(d) % (f->change_count + 1));
    if (keeps == 3) /* in random order */
        for (size_t i = f->change_count; i > 1; i--) {
            size_t j = (size_t)(disk_random(d) % i);
            struct disk_change c = f->changes[i - 1];
            f->changes[i - 1] = f->changes[j];
            f->changes[j] = c;
        }
    for (size_t i = 0; i < f->change_count; i++) {
        const struct disk_change *c = &f->changes[i];
        bool whole = keeps == 1 || (keeps == 2 && i < prefix);
        if (whole && c->is_truncation)
            disk_resize(&f->durable, c->offset);
        else if (whole)
            disk_put(&f->durable, c->bytes.at, c->bytes.n, c->offset);
        else if (keeps == 3 && disk_random(d) % 3 != 0)
            disk_tear(d, f, c);
        else if (keeps == 2 && i == prefix)
            disk_tear(d, f, c);
    }
    disk_forget_changes(f);
    free(f->now.at);
    f->now = disk_copy(&f->durable);
}

/* The process was killed, and another can start: nothing is lost. */
static inline void disk_restart(struct disk *d) {
    d->dead = false;
    d->hit = DISK_NONE;
    d->operations = d->die_at = d->fail_at = 0;
    d->failed_sync_file = -1;
}

/* The power is off, and on again. All handles must have been closed. */
static inline void disk_power_cut(struct disk *d) {
    for (size_t i = 0; i < d->rename_count; i++)
        if (disk_random(d) % 2)
            disk_set(d->durable_names, d->renames[i].text, d->renames[i].file);
    d->rename_count = 0;
    memcpy(d->names, d->durable_names, sizeof d->names);
    for (int i = 0; i < DISK_FILES; i++)
        if (d->files[i].used)
            disk_lose(d, &d->files[i]);
    disk_collect(d);
    disk_restart(d);
}

#endif
