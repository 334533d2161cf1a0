/* Files that are not found by name: descriptors that the caller has opened, and pipes and devices, which have no folder
 * in which anything could be renamed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/structs.h"
#include "file/file.h"
#include "os/errno_status.h"
#include "os/transfer.h"
#include "format/format.h"

enum { ATTEMPTS_MAX = 1000 }; /* each fails only if the file was replaced since it began */

/* ---- descriptors ---- */

static kith_status open_pair(const kithi_files *files, int folder, const char *name, int *file, int *journal,
                             bool *is_pair) {
    char journal_name[KITHI_NAME_BYTES];
    kith_status status = kithi_files_open(files, folder, name, false, file);
    if (status != KITH_OK)
        return status;
    *journal = -ENOENT;
    if (kithi_join_names(journal_name, name, "-journal") &&
        kithi_files_open(files, folder, journal_name, false, journal) != KITH_OK)
        *journal = -errno;
    *is_pair = files->is_named(files->context, *file, folder, name) == 1;
    return KITH_OK;
}

kith_status kith_file_descriptors(const char *path, int *file, int *journal) {
    assert(path != NULL && file != NULL && journal != NULL);
    const kithi_files *files = &kithi_files_system;
    char name[KITHI_NAME_BYTES];
    int folder, opened = -1, opened_journal = -1;
    do
        folder = files->open_folder(files->context, path, true, name);
    while (folder < 0 && errno == EINTR);
    if (folder < 0)
        return kithi_status_from_errno(errno);
    kith_status status = KITH_OK;
    bool is_pair = false;
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX && status == KITH_OK && !is_pair; attempt++) {
        if (opened >= 0)
            files->close(files->context, opened);
        if (opened_journal >= 0)
            files->close(files->context, opened_journal);
        opened_journal = -1;
        status = open_pair(files, folder, name, &opened, &opened_journal, &is_pair);
    }
    files->close(files->context, folder);
    if (status != KITH_OK)
        return status;
    *file = opened;
    *journal = opened_journal;
    return KITH_OK;
}

static kith_status open_given_store(kith_file *f, int file, int journal) {
    kithi_store_options options = kithi_file_store_options(f);
    bool is_absent = journal == -1 || journal == -ENOENT;
    bool is_other = journal == -EISDIR || journal == -EINVAL || journal == -ENXIO || journal == -ELOOP;
    if (is_other)
        return KITH_E_JOURNAL_FOREIGN;
    if (journal < 0 && !is_absent)
        return kithi_status_with_errno(-journal);
    kith_status status = kithi_store_open_fd(file, journal < 0 ? -1 : journal, &options, &f->store);
    if (status != KITH_OK || f->options.lazy)
        return status;
    status = kithi_store_verify(f->store);
    if (status != KITH_OK) {
        f->store->given_files.is_owned = false; /* they are still the caller's */
        kithi_store_free(f->store);
        f->store = NULL;
    }
    return status;
}

kith_status kith_file_open_fd(int file, int journal, const kith_file_options *options, kith_file **opened) {
    assert(file >= 0 && opened != NULL);
    uint8_t header[KITHI_HEADER_BYTES];
    kithi_head head;
    size_t got;
    kith_file *f;
    kith_status status = kithi_file_new(&kithi_files_system, KITH_FILE_READ, options, opened);
    if (status != KITH_OK)
        return status;
    f = *opened;
    struct stat st;
    if (fstat(file, &st) != 0)
        status = kithi_status_from_errno(errno);
    else if (!S_ISREG(st.st_mode))
        status = kithi_status_with_errno(S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
    if (status == KITH_OK)
        status = f->files->identify(f->files->context, file, NULL, &f->guard.is) == 0
                     ? kithi_files_read(f->files, file, header, sizeof header, 0, &got)
                     : kithi_status_from_errno(errno);
    if (status == KITH_OK)
        status = kithi_header_read(header, got, &head);
    if (status == KITH_OK && head.store.is_store)
        status = open_given_store(f, file, journal);
    else if (status == KITH_OK)
        status = kithi_file_read_plain(f, file, &f->whole, &f->map, &f->map_bytes);
    if (status == KITH_OK) {
        if (f->store == NULL) { /* the map needs no descriptor, and a plain file no journal */
            f->files->close(f->files->context, file);
            if (journal >= 0)
                f->files->close(f->files->context, journal);
        }
        return KITH_OK;
    }
    if (f->error.status != status)
        (void)kithi_file_fail(f, status);
    if (options != NULL && options->error != NULL)
        kithi_struct_write(options->error, &f->error);
    kithi_file_free(f);
    *opened = NULL;
    return status;
}

/* ---- streams ---- */

static bool is_stream(const struct stat *st) {
    return S_ISCHR(st->st_mode) || S_ISFIFO(st->st_mode);
}

bool kithi_is_stream(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && is_stream(&st);
}

kith_status kithi_file_open_stream(kith_file *f, const char *path) {
    f->stream_bytes = strlen(path) + 1;
    f->stream = kithi_allocate(&f->allocator, f->stream_bytes);
    if (f->stream == NULL)
        return kithi_file_fail(f, KITH_E_MEMORY);
    memcpy(f->stream, path, f->stream_bytes);
    f->options.lock = KITH_FILE_LOCK_NEVER;
    return KITH_OK;
}

static kith_status write_some(void *context, const void *bytes, size_t byte_count) {
    return kithi_write(*(const int *)context, bytes, byte_count);
}

kith_status kithi_file_commit_stream(kith_file *f) {
    int fd = kithi_open_stream(f->stream);
    struct stat st;
    if (fd < 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    if (fstat(fd, &st) != 0 || !is_stream(&st)) {
        (void)close(fd);
        return kithi_file_fail(f, KITH_E_REPLACED);
    }
    kith_status status = f->other != NULL
                             ? write_some(&fd, f->other->bytes, f->other->byte_count)
                             : kith_filter_write(f->whole, 0, kith_filter_file_bytes(f->whole), write_some, &fd);
    if (close(fd) != 0 && errno != EINTR && status == KITH_OK) /* after EINTR it is closed */
        status = kithi_status_from_errno(errno);
    f->is_changed = status != KITH_OK;
    return status == KITH_E_NO_SPACE ? kithi_file_fail_with(f, status, f->name, "no space left on the device")
                                     : kithi_file_fail(f, status);
}
