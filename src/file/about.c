/* Tells what an opened file is, and what was wrong in the last call that failed. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/structs.h"
#include "file/file.h"

/* The statuses for which errno holds the reason. */
static bool has_errno(kith_status status) {
    return status == KITH_E_NO_FILE || status == KITH_E_PERMISSION || status == KITH_E_NO_SPACE ||
           status == KITH_E_IO || status == KITH_E_LOCK;
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

kith_status kithi_file_fail(kith_file *f, kith_status status) {
    int error = errno;
    if (status == KITH_OK)
        return KITH_OK;
    if (status == KITH_E_JOURNAL) {
        char name[KITHI_NAME_BYTES];
        bool fits = kithi_join_names(name, f->name, "-journal");
        (void)kithi_file_fail_with(f, status, fits ? name : f->name,
                                   "the journal is missing, is not a journal, or does not belong to this file "
                                   "(kith_repair() saves the rest)");
    } else if (status == KITH_E_REPLACED) {
        (void)kithi_file_fail_with(f, status, f->name,
                                   "another program has changed or replaced it; nothing was written");
    } else {
        (void)kithi_file_fail_with(f, status, f->name, kith_status_text(status));
    }
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

static void describe_store(const kith_store *s, kith_file_info *info) {
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
    const char *left = f->guard.left[0] != '\0' ? f->guard.left : f->journal_guard.left;
    memcpy(made.left, left, strlen(left) + 1);
    if (f->store != NULL)
        describe_store(f->store, &made);
    kithi_struct_write(info, &made);
    return KITH_OK;
}

bool kith_file_durable(const kith_file *f) {
    assert(f != NULL);
    if (f->is_changed || f->failure != KITH_OK)
        return false;
    return f->store == NULL || (kith_store_durable(f->store) && !f->store->in_batch);
}
