/* Tells what an opened file is, and what was wrong in the last call that failed. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/structs.h"
#include "file/file.h"

/* The statuses for which errno holds the reason. */
static bool has_errno(kith_status status) {
    return status == KITH_E_NO_FILE || status == KITH_E_PERMISSION || status == KITH_E_NO_SPACE || status == KITH_E_IO;
}

kith_status kithi_file_fail_with(kith_file *f, kith_status status, const char *name, const char *text) {
    int error = errno;
    size_t name_bytes = strlen(name) + 1;
    f->error = (kith_file_error){.struct_bytes = sizeof f->error, .status = status, .text = text};
    f->error.system_error = has_errno(status) ? error : 0;
    assert(name_bytes <= sizeof f->error.name);
    memcpy(f->error.name, name, name_bytes);
    errno = error;
    return status;
}

static const char *text_of(kith_status status, int error) {
    if (status == KITH_E_JOURNAL_MISSING)
        return "the journal is missing (kith repair saves the rest)";
    if (status == KITH_E_JOURNAL_FOREIGN)
        return "the journal does not belong to this file (kith repair saves the rest)";
    if (status == KITH_E_NO_SPACE)
        return "no space left for the file; an existing file is unchanged. Make space and try again";
    if (status == KITH_E_REPLACED)
        return "another program has changed or replaced it; nothing was written, so try again";
    if (status == KITH_E_CORRUPT)
        return "is damaged: a checksum, a size or an invariant is wrong; nothing was changed (kith repair saves what "
               "it can)";
    if (status == KITH_E_NO_FILE)
        return error == ENOTDIR ? "a part of its path is a file, not a folder" : "no such file";
    if (status == KITH_E_PERMISSION)
        return error == EROFS ? "the file system is mounted read-only" : "permission denied";
    if (status == KITH_E_IO && error == EISDIR)
        return "is a folder, not a file";
    if (status == KITH_E_IO && (error == EINVAL || error == ENXIO))
        return "is not a regular file";
    return kith_status_text(status);
}

kith_status kithi_file_fail(kith_file *f, kith_status status) {
    int error = errno;
    if (status == KITH_OK)
        return KITH_OK;
    char name[KITHI_NAME_BYTES];
    bool is_journal = (status == KITH_E_JOURNAL_MISSING || status == KITH_E_JOURNAL_FOREIGN) && f->name[0] != '\0' &&
                      kithi_join_names(name, f->name, "-journal");
    (void)kithi_file_fail_with(f, status, is_journal ? name : f->name, text_of(status, error));
    errno = error;
    return status;
}

kith_status kith_file_error_of(const kith_file *f, kith_file_error *error) {
    assert(f != NULL && error != NULL);
    if (!kithi_struct_valid(error, sizeof *error))
        return KITH_E_STRUCT;
    kithi_struct_write(error, &f->error);
    return KITH_OK;
}

static void describe_store(const kithi_store *s, kith_file_info *info) {
    info->journal_bytes = s->now.end.offset;
    info->sequence = s->now.end.sequence;
    info->synced = s->synced.sequence;
    info->snapshot_sequence = s->now.mark.sequence;
    info->generation = s->now.journal.head.generation;
    info->cut_bytes = s->cut_bytes;
    info->checkpoint = s->checkpoint_status;
    memcpy(info->id, s->now.mark.id, sizeof info->id);
}

kith_status kith_file_info_of(const kith_file *f, kith_file_info *info) {
    assert(f != NULL && info != NULL);
    if (!kithi_struct_valid(info, sizeof *info))
        return KITH_E_STRUCT;
    kith_file_info made;
    memset(&made, 0, sizeof made); /* the padding as well, because callers may compare structs by memcmp() */
    made.struct_bytes = sizeof made;
    made.exists = f->guard.is.exists;
    made.has_journal = f->store != NULL || f->had_journal;
    made.is_locked = f->lock >= 0;
    made.is_stream = f->stream != NULL;
    made.file_bytes = f->store != NULL ? f->store->now.map_bytes : f->guard.is.bytes;
    made.failure = f->store != NULL ? f->store->failure : f->failure;
    memcpy(made.left, f->guard.left, strlen(f->guard.left) + 1);
    memcpy(made.left_journal, f->journal_guard.left, strlen(f->journal_guard.left) + 1);
    if (f->store != NULL)
        describe_store(f->store, &made);
    kithi_struct_write(info, &made);
    return KITH_OK;
}

bool kith_file_durable(const kith_file *f) {
    assert(f != NULL);
    if (f->is_changed || f->failure != KITH_OK)
        return false;
    return f->store == NULL || (kithi_store_durable(f->store) && !f->store->in_batch);
}
