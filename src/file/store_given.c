/* The file operations of kithi_store_open_fd(), for two files that the caller has opened.
 *
 * The rest of the store opens files by name, and may do so several times: if the writer cuts off a record while the
 * journal is read, the reader begins again. So this is a table of file operations (files.h) in which `open` returns one
 * of the two descriptors, depending on the name. `close` does nothing: the descriptors are closed together with the
 * store. */
#define _FILE_OFFSET_BITS 64

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#include "file/store.h"

static int open_given(void *context, int folder, const char *name, bool writable) {
    const kithi_given_files *given = context;
    assert(!writable);
    (void)folder, (void)writable;
    int file = name[0] == '\0' ? given->snapshot : given->journal;
    struct stat st;
    if (file < 0)
        errno = ENOENT;
    if (file < 0 || fstat(file, &st) != 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return file;
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return -1;
}

static void close_given(void *context, int file) {
    (void)context, (void)file;
}

/* Without the folder it cannot be found out whether a checkpoint has replaced the journal. If one has, the writer
 * appends nothing more to the old journal, and to continue reading it is harmless. */
static int is_named(void *context, int file, int folder, const char *name) {
    (void)context, (void)file, (void)folder, (void)name;
    return 1;
}

/* Nothing is written, so there is no need to ask the system for the limit, which a sandbox would have to allow. */
static uint64_t no_limit(void *context) {
    (void)context;
    return UINT64_MAX;
}

const kithi_files *kithi_given_files_init(kithi_given_files *given, int snapshot, int journal) {
    given->snapshot = snapshot;
    given->journal = journal;
    given->files = kithi_files_system; /* its functions do not use the context */
    given->files.context = given;
    given->files.open = open_given;
    given->files.close = close_given;
    given->files.is_named = is_named;
    given->files.size_limit = no_limit;
    return &given->files;
}

void kithi_given_files_close(const kithi_given_files *given) {
    if (!given->is_owned)
        return;
    kithi_files_system.close(NULL, given->snapshot);
    kithi_files_system.close(NULL, given->journal);
}
