/* Opens files, plain or with a journal, and refreshes and closes them.
 *
 *     find      follow links to a folder and a name in it; everything later uses these two
 *     probe     read the header: is it a filter, and has it a journal? Only then a lock file may be created
 *     lock      wait
 *     load      by the header that is there now: read the plain file, or let the store open FILE and FILE-journal
 *
 * FILE is opened once for all of these steps, and again only if the name refers to another file by then: another
 * program may replace it between two steps. Before the lock is taken that does no harm, and a reader has none. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/structs.h"
#include "file/file.h"
#include "os/errno_status.h"
#include "format/format.h"
#include "handle/handle.h"

/* How often a file is loaded again because it has become plain, or has got a journal, since its header was read. */
enum { ATTEMPTS_MAX = 100 };

/* ---- handles ---- */

static kith_status read_options(const kith_file_options *given, kith_file_options *o) {
    static const kith_file_options defaults = KITH_FILE_OPTIONS_INIT;
    if (!kithi_struct_read(o, sizeof *o, given != NULL ? given : &defaults) ||
        (o->error != NULL && !kithi_struct_valid(o->error, sizeof *o->error)))
        return KITH_E_STRUCT;
    bool known = (unsigned)o->lock <= KITH_FILE_LOCK_COMMIT && (unsigned)o->sync <= KITH_SYNC_COMMIT;
    return known ? KITH_OK : KITH_E_ARGUMENT;
}

kith_status kithi_file_new(const kithi_files *files, kith_file_mode mode, const kith_file_options *given,
                           kith_file **file) {
    kith_file_options options;
    *file = NULL;
    kith_status status = read_options(given, &options);
    if (status == KITH_OK && (unsigned)mode > KITH_FILE_REPLACE)
        status = KITH_E_ARGUMENT;
    if (status != KITH_OK)
        return status;
    kith_allocator allocator = kithi_allocator_or_default(options.allocator);
    kith_file *f = kithi_allocate(&allocator, sizeof *f);
    if (f == NULL && options.error != NULL) {
        kith_file_error error = KITH_FILE_ERROR_INIT;
        error.status = KITH_E_MEMORY;
        error.text = kith_status_text(error.status);
        kithi_struct_write(options.error, &error);
    }
    if (f == NULL)
        return KITH_E_MEMORY;
    f->allocator = allocator;
    f->options = options;
    f->options.allocator = NULL; /* the caller's structs need not outlive this call */
    f->options.error = NULL;
    f->mode = mode;
    f->files = files;
    f->folder = f->file = f->lock = -1;
    f->journal_guard.any = true;
    f->error = (kith_file_error)KITH_FILE_ERROR_INIT;
    *file = f;
    return KITH_OK;
}

void kithi_file_forget(kith_file *f) {
    if (f->file >= 0)
        f->files->close(f->files->context, f->file);
    f->file = -1;
}

void kithi_file_drop(kith_file *f) {
    kith_filter_free(f->whole);
    if (f->map != NULL)
        f->files->unmap(f->files->context, f->map, f->map_bytes);
    f->whole = NULL;
    f->map = NULL;
    f->is_changed = false;
}

void kithi_file_free(kith_file *f) {
    int error = errno;
    kithi_file_drop(f);
    if (f->store != NULL)
        kithi_store_free(f->store);
    kithi_file_unlock(f);
    kithi_file_forget(f);
    if (f->folder >= 0)
        f->files->close(f->files->context, f->folder);
    kith_allocator allocator = f->allocator;
    kithi_release(&allocator, f->stream, f->stream_bytes);
    kithi_release(&allocator, f, sizeof *f);
    errno = error;
}

kithi_store_options kithi_file_store_options(const kith_file *f) {
    kithi_store_options o = KITHI_STORE_OPTIONS_INIT;
    /* With KITH_SYNC_COMMIT a batch is always open, in which nothing is synced. */
    o.sync = f->options.sync == KITH_SYNC_COMMIT ? KITH_SYNC_CALL : f->options.sync;
    o.sync_operations = f->options.sync_operations;
    o.sync_ms = f->options.sync_ms;
    o.checkpoint_bytes = f->options.checkpoint_bytes;
    o.checkpoint_ms = f->options.checkpoint_ms;
    o.close_bytes = f->options.close_bytes;
    o.max_bytes = f->options.max_bytes;
    o.no_map = f->options.no_map;
    o.allocator = &f->allocator;
    return o;
}

/* ---- reading ---- */

/* Opens FILE for reading, unless the one that is open still has the name. */
static kith_status open_now(kith_file *f) {
    if (f->file >= 0 && f->files->is_named(f->files->context, f->file, f->folder, f->name) == 1)
        return KITH_OK;
    kithi_file_forget(f);
    int file;
    kith_status status = kithi_files_open(f->files, f->folder, f->name, false, &file);
    if (status == KITH_OK)
        f->file = file;
    return status;
}

kith_status kithi_file_probe(kith_file *f, bool *exists, bool *has_journal) {
    uint8_t header[KITHI_HEADER_BYTES];
    kithi_head head;
    size_t got;
    *exists = *has_journal = false;
    kith_status status = open_now(f);
    if (status == KITH_E_NO_FILE)
        return KITH_OK;
    if (status != KITH_OK)
        return kithi_file_fail(f, status);
    status = kithi_files_read(f->files, f->file, header, sizeof header, 0, &got);
    if (status != KITH_OK)
        return kithi_file_fail(f, status);
    *exists = true;
    status = kithi_header_read(header, got, &head);
    *has_journal = status == KITH_OK && head.store.is_store;
    return kithi_file_fail(f, status);
}

static kith_status check_memory(kith_file *f, uint64_t bytes) {
    if (f->options.max_bytes == 0 || bytes <= f->options.max_bytes)
        return KITH_OK;
    (void)kithi_file_fail_with(f, KITH_E_TOO_LARGE, f->name, "needs more memory than is allowed");
    f->error.needed_bytes = bytes;
    return KITH_E_TOO_LARGE;
}

/* Reads the whole file into a block of the allocator, which the filter then owns. */
static kith_status read_copy(kith_file *f, int fd, size_t byte_count, kith_filter **filter) {
    size_t got;
    uint8_t *bytes = kithi_allocate(&f->allocator, byte_count);
    if (bytes == NULL)
        return KITH_E_MEMORY;
    kith_status status = kithi_files_read(f->files, fd, bytes, byte_count, 0, &got);
    if (status == KITH_OK && got < byte_count)
        status = KITH_E_TRUNCATED; /* it became shorter after its size was read */
    if (status == KITH_OK)
        status = kith_filter_adopt(bytes, byte_count, 0, &f->allocator, filter);
    if (status != KITH_OK)
        kithi_release(&f->allocator, bytes, byte_count);
    return status;
}

kith_status kithi_file_read_plain(kith_file *f, int fd, kith_filter **filter, uint8_t **map, size_t *map_bytes) {
    uint64_t byte_count;
    *map = NULL;
    if (f->files->size(f->files->context, fd, &byte_count) != 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    if (byte_count == 0 || byte_count > PTRDIFF_MAX)
        return kithi_file_fail(f, byte_count == 0 ? KITH_E_EMPTY : KITH_E_ADDRESS);
    bool is_copied = f->mode != KITH_FILE_READ || f->options.no_map;
    kith_status status = is_copied ? check_memory(f, byte_count) : KITH_OK;
    if (status != KITH_OK)
        return status;
    if (is_copied) {
        status = read_copy(f, fd, (size_t)byte_count, filter);
    } else {
        *map = f->files->map(f->files->context, fd, (size_t)byte_count, false);
        *map_bytes = (size_t)byte_count;
        unsigned flags = f->options.lazy ? KITH_OPEN_LAZY : 0;
        status = *map == NULL ? kithi_status_from_errno(errno)
                              : kith_filter_view(*map, *map_bytes, flags, &f->allocator, filter);
        if (status != KITH_OK && *map != NULL)
            f->files->unmap(f->files->context, *map, *map_bytes);
    }
    if (status == KITH_OK)
        kith_filter_set_limit(*filter, f->options.max_bytes);
    return kithi_file_fail(f, status);
}

/* Loads the file that kithi_file_probe() has opened. */
static kith_status load_plain(kith_file *f) {
    kith_filter *filter;
    uint8_t *map;
    size_t map_bytes = 0;
    kithi_file_id id;
    /* Identified before it is read: what is written from now on is noticed at the commit. */
    if (f->files->identify(f->files->context, f->file, NULL, &id) != 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    kith_status status = kithi_file_read_plain(f, f->file, &filter, &map, &map_bytes);
    if (f->mode == KITH_FILE_READ)
        kithi_file_forget(f); /* a map needs no descriptor */
    if (status != KITH_OK)
        return status;
    kithi_file_drop(f);
    if (f->store != NULL)
        kithi_store_free(f->store);
    f->store = NULL;
    f->whole = filter;
    f->map = map;
    f->map_bytes = map_bytes;
    f->guard.is = id;
    return KITH_OK;
}

static kith_status open_store(kith_file *f, kithi_store **store) {
    kithi_store_options options = kithi_file_store_options(f);
    bool is_writer = f->mode != KITH_FILE_READ;
    kithi_store *s;
    kith_status status = kithi_store_new_at(f->files, f->folder, f->name, f->lock, &options, &s);
    if (status != KITH_OK)
        return status;
    s->found = f->file; /* which belongs to the store from now on */
    f->file = -1;
    status = is_writer ? kithi_store_recover(s) : kithi_store_load_reader(s);
    if (status == KITH_OK && !is_writer && !f->options.lazy)
        status = kithi_store_verify(s);
    if (status != KITH_OK)
        kithi_store_free(s);
    else
        *store = s;
    return status;
}

static kith_status load_store(kith_file *f) {
    kithi_store *store;
    kith_status status = KITH_OK;
    if (f->mode != KITH_FILE_READ && f->lock < 0)
        return kithi_file_fail_with(f, KITH_E_LOCK, f->name, "has a journal, and cannot be changed without its lock");
    if (f->options.no_map && f->options.max_bytes != 0) {
        kithi_file_id id;
        if (f->files->identify(f->files->context, f->folder, f->name, &id) == 0)
            status = check_memory(f, id.bytes);
    }
    if (status != KITH_OK)
        return status;
    status = open_store(f, &store);
    kithi_file_id id = {.exists = false};
    if (status == KITH_OK && f->files->identify(f->files->context, store->now.snapshot_file, NULL, &id) != 0) {
        status = kithi_status_from_errno(errno);
        kithi_store_free(store);
    }
    if (status != KITH_OK)
        return kithi_file_fail(f, status);
    kithi_file_drop(f);
    if (f->store != NULL)
        kithi_store_free(f->store);
    f->store = store;
    f->guard.is = id;
    if (f->mode != KITH_FILE_READ)
        kithi_file_guard_store(f, store);
    return KITH_OK;
}

kith_status kithi_file_load(kith_file *f) {
    kith_status status = KITH_OK;
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        bool exists, has_journal;
        status = kithi_file_probe(f, &exists, &has_journal);
        if (status != KITH_OK || !exists)
            return status != KITH_OK ? status : kithi_file_fail(f, kithi_status_with_errno(ENOENT));
        status = has_journal ? load_store(f) : load_plain(f);
        if (status != (has_journal ? KITH_E_NOT_STORE : KITH_E_JOURNAL))
            return status;
    }
    return status;
}

/* ---- opening ---- */

/* Returns KITH_OK if the file can be opened in this mode, or its status. *exists says whether there is one. */
static kith_status look(kith_file *f, bool *exists) {
    bool has_journal;
    kith_status status = kithi_file_probe(f, exists, &has_journal);
    if (*exists && f->mode == KITH_FILE_CREATE)
        return kithi_file_fail_with(f, KITH_E_EXISTS, f->name, "exists already; it is unchanged");
    if (status != KITH_OK)
        return status;
    if (!*exists && f->mode == KITH_FILE_CHANGE)
        return kithi_file_fail(f, kithi_status_with_errno(ENOENT));
    return KITH_OK;
}

/* Looks at the file before it takes the lock, so that no lock file is created in vain, and again after that. */
static kith_status open_to_change(kith_file *f) {
    bool exists;
    kith_status status = look(f, &exists);
    if (status == KITH_OK && f->options.lock != KITH_FILE_LOCK_NEVER)
        status = kithi_file_lock(f, f->options.lock == KITH_FILE_LOCK_IF_THERE);
    if (status == KITH_OK && f->mode != KITH_FILE_CHANGE)
        status = look(f, &exists);
    return status == KITH_OK && exists ? kithi_file_load(f) : status;
}

/* Finds out what is to be replaced. A file that cannot be read is no failure. */
static kith_status examine(kith_file *f) {
    bool exists;
    if (f->files->identify(f->files->context, f->folder, f->name, &f->guard.is) != 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    kith_status status = kithi_file_probe(f, &exists, &f->had_journal);
    if (status == KITH_E_IO ||
        status == KITH_E_MEMORY) /* not a regular file, or it is not known whether it has a journal */
        return status;
    if (f->had_journal && f->options.lock == KITH_FILE_LOCK_NEVER)
        return kithi_file_fail_with(f, KITH_E_LOCK, f->name, "has a journal, and cannot be changed without its lock");
    f->error = (kith_file_error)KITH_FILE_ERROR_INIT;
    return KITH_OK;
}

static kith_status open_to_replace(kith_file *f) {
    kith_status status = examine(f);
    if (status != KITH_OK || f->options.lock == KITH_FILE_LOCK_NEVER || f->options.lock == KITH_FILE_LOCK_COMMIT)
        return status;
    bool creates = f->guard.is.exists && f->options.lock == KITH_FILE_LOCK_DEFAULT;
    status = kithi_file_lock(f, !creates);
    return status == KITH_OK && f->lock >= 0 ? examine(f) : status;
}

/* Returns KITH_E_PERMISSION if the file could not be replaced. */
static kith_status check_access(kith_file *f) {
    const kithi_files *files = f->files;
    bool is_file = files->may_write(files->context, f->folder, f->name) != 0;
    if (!is_file && files->may_write(files->context, f->folder, NULL) == 0)
        return KITH_OK;
    if (errno != EACCES && errno != EPERM)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    return kithi_file_fail_with(f, KITH_E_PERMISSION, f->name,
                                is_file ? "is read-only; to let kith replace it, its owner can run chmod +w"
                                        : "permission denied: its folder cannot be written");
}

static kith_status find(kith_file *f, const char *path) {
    bool to_read = f->mode == KITH_FILE_READ;
    do
        f->folder = f->files->open_folder(f->files->context, path, to_read, f->name);
    while (f->folder < 0 && errno == EINTR);
    if (f->folder < 0 && errno == ENOENT)
        return kithi_file_fail_with(f, KITH_E_NO_FILE, f->name, "no such folder");
    if (f->folder < 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    if (!kithi_join_names(f->lock_name, f->name, "-lock"))
        f->lock_name[0] = '\0'; /* the name is too long; there can be no such file */
    return to_read || f->options.lock == KITH_FILE_LOCK_IF_THERE ? KITH_OK : check_access(f);
}

kith_status kithi_file_open_with(const kithi_files *files, const char *path, kith_file_mode mode,
                                 const kith_file_options *options, kith_file **file) {
    assert(path != NULL && file != NULL);
    kith_file *f;
    kith_status status = kithi_file_new(files, mode, options, file);
    if (status != KITH_OK)
        return status;
    f = *file;
    bool is_stream = f->options.streams && mode == KITH_FILE_REPLACE && kithi_is_stream(path);
    status = is_stream ? kithi_file_open_stream(f, path) : find(f, path);
    if (status == KITH_OK && !is_stream)
        status = mode == KITH_FILE_READ      ? kithi_file_load(f)
                 : mode == KITH_FILE_REPLACE ? open_to_replace(f)
                                             : open_to_change(f);
    if (status == KITH_OK)
        return KITH_OK;
    if (options != NULL && options->error != NULL)
        kithi_struct_write(options->error, &f->error);
    kithi_file_free(f);
    *file = NULL;
    return status;
}

kith_status kith_file_open(const char *path, kith_file_mode mode, const kith_file_options *options, kith_file **file) {
    return kithi_file_open_with(&kithi_files_system, path, mode, options, file);
}

kith_status kith_file_close(kith_file *f) {
    if (f == NULL)
        return KITH_OK;
    kith_status status = KITH_OK;
    if (f->store != NULL)
        status = kithi_store_close(f->store);
    f->store = NULL;
    kithi_file_free(f);
    return status;
}

/* ---- lookups ---- */

const kith_filter *kith_file_filter(const kith_file *f) {
    assert(f != NULL);
    return f->whole != NULL ? f->whole : f->store != NULL ? kithi_store_filter(f->store) : NULL;
}

bool kith_file_has(const kith_file *f, const void *key, size_t key_bytes) {
    return kith_filter_has(kith_file_filter(f), key, key_bytes);
}

kith_status kith_file_bytes(kith_file *f, const void **bytes, size_t *byte_count) {
    assert(f != NULL);
    kith_filter *content = f->whole != NULL ? f->whole : f->store != NULL ? f->store->now.filter : NULL;
    if (content == NULL)
        return kithi_file_fail_with(f, KITH_E_NO_FILE, f->name, "has no content yet");
    return kithi_file_fail(f, kith_filter_bytes(content, bytes, byte_count));
}

void kith_file_set_limit(kith_file *f, uint64_t max_bytes) {
    assert(f != NULL);
    f->options.max_bytes = max_bytes;
    if (f->whole != NULL)
        kith_filter_set_limit(f->whole, max_bytes);
    if (f->store != NULL) {
        f->store->options.max_bytes = max_bytes;
        kith_filter_set_limit(f->store->now.filter, max_bytes);
    }
}

kith_status kith_file_verify(const kith_file *f) {
    assert(f != NULL);
    if (f->whole == NULL)
        return f->store != NULL ? kithi_store_verify(f->store) : KITH_E_NO_FILE;
    kith_status status = kithi_filter_verify(f->whole);
    return status == KITH_OK && kithi_filter_check(f->whole) != NULL ? KITH_E_CORRUPT : status;
}

/* Loads the file again, if its name refers to another one. */
static kith_status reload(kith_file *f, bool *changed) {
    kithi_file_id now;
    if (f->folder < 0)
        return KITH_OK; /* the caller has opened the file, and its name is not known */
    if (f->files->identify(f->files->context, f->folder, f->name, &now) != 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    if (f->store == NULL && kithi_same_file(&now, &f->guard.is))
        return KITH_OK;
    kith_status status = kithi_file_load(f);
    *changed = status == KITH_OK;
    return status;
}

/* Says that FILE is no regular file any more, if that is why it could not be loaded again. */
static kith_status fail_reload(kith_file *f, kith_status status) {
    if (status == KITH_E_IO && (errno == ELOOP || errno == EISDIR || errno == EINVAL || errno == ENXIO))
        return kithi_file_fail_with(f, KITH_E_REPLACED, f->name, "is no longer a regular file; put the file back");
    return status;
}

kith_status kith_file_refresh(kith_file *f, bool *changed) {
    assert(f != NULL);
    bool is_new = false;
    kith_status status = KITH_OK;
    if (f->mode != KITH_FILE_READ) {
        if (kith_file_filter(f) == NULL && f->mode != KITH_FILE_REPLACE && f->guard.is.exists)
            status = kithi_file_load(f);
    } else if (f->store == NULL) {
        status = fail_reload(f, reload(f, &is_new));
    } else {
        status = kithi_store_refresh(f->store, &is_new);
        if (status == KITH_E_NOT_STORE && f->folder >= 0)
            status = fail_reload(f, reload(f, &is_new));
        else
            status = fail_reload(f, kithi_file_fail(f, status));
    }
    if (status == KITH_OK && changed != NULL)
        *changed = is_new;
    return status;
}
