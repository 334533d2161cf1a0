/* Opened files are not available yet: they need folders that stay open, locks that end with their process, and two
 * names that are exchanged. Whatever opens one calls open_folder() or identify() first. */
#include "os/files.h"

#include <errno.h>

#include "os/map.h"

static int open_folder(void *context, const char *path, bool to_read, char name[KITHI_NAME_BYTES]) {
    (void)context, (void)path, (void)to_read, (void)name;
    errno = ENOSYS;
    return -1;
}

static int identify(void *context, int file, const char *name, kithi_file_id *id) {
    (void)context, (void)file, (void)name, (void)id;
    errno = ENOSYS;
    return -1;
}

static void close_file(void *context, int file) {
    (void)context;
    kithi_close_file(file);
}

const kithi_files kithi_files_system = {.open_folder = open_folder, .close = close_file, .identify = identify};
