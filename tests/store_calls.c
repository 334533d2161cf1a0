/* See store_calls.h. */
#include "store_calls.h"

#include <errno.h>
#include <string.h>

#include "handle/handle.h"
#include "handle/verbs.h"
#include "os/errno_status.h"

/* ---- opening ---- */

/* Locks the store without waiting. */
static kith_status lock(kithi_store *s) {
    const kithi_files *files = s->files;
    char name[KITHI_NAME_BYTES];
    (void)kithi_join_names(name, s->snapshot_name, "-lock");
    for (;;) {
        int file = files->open_lock(files->context, s->folder, name, s->snapshot_name, false);
        bool locked = file >= 0 && files->take_lock(files->context, file, false) == 0;
        if (locked && files->is_named(files->context, file, s->folder, name) == 1) {
            s->lock = file;
            s->is_writer = true;
            return KITH_OK;
        }
        int error = errno;
        if (file >= 0)
            files->close(files->context, file);
        if (!locked && error != EINTR) {
            errno = error;
            return error == EWOULDBLOCK ? KITH_E_LOCKED : kithi_status_from_errno(error);
        }
    }
}

/* Gives the store to the caller, or frees it. Returns `status`. */
static kith_status finish(kith_status status, kithi_store *s, kithi_store **store) {
    if (status != KITH_OK)
        kithi_store_free(s);
    else
        *store = s;
    return status;
}

/* Opens a filter over FILE, a snapshot or, if `plain`, a plain file. On success the caller must call close_view(). */
static kith_status open_view(const kithi_store *s, bool plain, kithi_image *view) {
    *view = (kithi_image){.snapshot_file = -1};
    kith_status status = kithi_files_open(s->files, s->folder, s->snapshot_name, false, &view->snapshot_file);
    if (status != KITH_OK)
        return status;
    uint8_t *bytes = NULL;
    if (!plain)
        status = kithi_image_map(s, view->snapshot_file, view);
    else
        status = kithi_snapshot_bytes(s, view->snapshot_file, &bytes, &view->map_bytes);
    if (status == KITH_OK && plain) {
        status = kith_filter_view(bytes, view->map_bytes, 0, &s->allocator, &view->filter);
        if (status == KITH_OK && !kithi_kind_adds(view->filter->kind)) {
            kith_filter_free(view->filter);
            status = KITH_E_UNSUPPORTED;
        }
        if (status == KITH_OK)
            view->map = bytes;
        else
            kithi_snapshot_free(s, bytes, view->map_bytes);
    }
    if (status != KITH_OK)
        s->files->close(s->files->context, view->snapshot_file);
    return status;
}

static void close_view(const kithi_store *s, kithi_image *view) {
    int error = errno;
    kithi_image_unmap(s, view);
    s->files->close(s->files->context, view->snapshot_file);
    errno = error;
}

kith_status kithi_store_open_with(const kithi_files *files, const char *path, unsigned flags,
                                  const kithi_store_options *options, kithi_store **store) {
    kithi_store *s;
    kithi_image view;
    if ((flags & ~(unsigned)KITHI_STORE_READ) != 0)
        return KITH_E_ARGUMENT;
    kith_status status = kithi_store_new(files, path, options, &s);
    if (status != KITH_OK)
        return status;
    if ((flags & KITHI_STORE_READ) != 0)
        return finish(kithi_store_load_reader(s), s, store);
    /* So that no lock file is created next to another file. */
    status = open_view(s, false, &view);
    if (status == KITH_OK) {
        close_view(s, &view);
        status = lock(s);
    }
    if (status == KITH_OK)
        status = kithi_store_recover(s);
    return finish(status, s, store);
}

kith_status kithi_store_open(const char *path, unsigned flags, const kithi_store_options *options,
                             kithi_store **store) {
    return kithi_store_open_with(&kithi_files_system, path, flags, options, store);
}

kith_status kithi_store_create_with(const kithi_files *files, const char *path, kith_filter *filter,
                                    const kithi_store_options *options, kithi_store **store) {
    kithi_store *s;
    if (!kithi_kind_adds(filter->kind))
        return KITH_E_UNSUPPORTED;
    kith_status status = kithi_store_new(files, path, options, &s);
    if (status != KITH_OK)
        return status;
    status = lock(s);
    if (status == KITH_OK)
        status = kithi_store_fill(s, filter);
    return finish(status, s, store);
}

kith_status kithi_store_create(const char *path, kith_filter *filter, const kithi_store_options *options,
                               kithi_store **store) {
    return kithi_store_create_with(&kithi_files_system, path, filter, options, store);
}

kith_status kithi_store_convert_with(const kithi_files *files, const char *path, const kithi_store_options *options,
                                     kithi_store **store) {
    kithi_store *s;
    kithi_image plain;
    kith_status status = kithi_store_new(files, path, options, &s);
    if (status != KITH_OK)
        return status;
    status = open_view(s, true, &plain);
    if (status == KITH_OK) {
        close_view(s, &plain);
        status = lock(s);
    }
    if (status == KITH_OK)
        status = open_view(s, true, &plain);
    if (status == KITH_OK) {
        status = kithi_store_fill(s, plain.filter);
        close_view(s, &plain);
    }
    return finish(status, s, store);
}

kith_status kithi_store_convert(const char *path, const kithi_store_options *options, kithi_store **store) {
    return kithi_store_convert_with(&kithi_files_system, path, options, store);
}

/* ---- keys ---- */

kith_status kithi_store_add_many(kithi_store *s, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    size_t added;
    if (was_new != NULL && n != 0)
        memset(was_new, 0, (n / 64 + (n % 64 != 0)) * sizeof *was_new);
    kith_status status = kithi_store_operate(s, KITHI_RECORD_ADD, digests, n, was_new, &added);
    if (done != NULL)
        *done = added;
    return status;
}

kith_status kithi_store_remove_many(kithi_store *s, const uint64_t *digests, size_t n, size_t *done) {
    size_t removed;
    kith_status status = kithi_store_operate(s, KITHI_RECORD_REMOVE, digests, n, NULL, &removed);
    if (done != NULL)
        *done = removed;
    return status;
}

kith_status kithi_store_add_digest(kithi_store *s, uint64_t digest, bool *was_new) {
    uint64_t bit = 0;
    kith_status status = kithi_store_add_many(s, &digest, 1, &bit, NULL);
    if (status == KITH_OK && was_new != NULL)
        *was_new = bit != 0;
    return status;
}

kith_status kithi_store_add(kithi_store *s, const void *key, size_t key_bytes, bool *was_new) {
    return kithi_store_add_digest(s, kith_filter_digest(s->now.filter, key, key_bytes), was_new);
}

kith_status kithi_store_remove_digest(kithi_store *s, uint64_t digest) {
    return kithi_store_remove_many(s, &digest, 1, NULL);
}

kith_status kithi_store_remove(kithi_store *s, const void *key, size_t key_bytes) {
    return kithi_store_remove_digest(s, kith_filter_digest(s->now.filter, key, key_bytes));
}

bool kithi_store_has(const kithi_store *s, const void *key, size_t key_bytes) {
    return kith_filter_has(s->now.filter, key, key_bytes);
}

/* ---- what is known ---- */

kith_status kithi_store_info_of(const kithi_store *s, kithi_store_info *info) {
    *info = (kithi_store_info){.sequence = s->now.end.sequence,
                               .synced = s->synced.sequence,
                               .snapshot_sequence = s->now.mark.sequence,
                               .generation = s->now.journal.head.generation,
                               .journal_bytes = s->now.end.offset,
                               .snapshot_bytes = s->now.map_bytes,
                               .cut_bytes = s->cut_bytes,
                               .failure = s->failure,
                               .checkpoint = s->checkpoint_status};
    memcpy(info->id, s->now.mark.id, sizeof info->id);
    return KITH_OK;
}
