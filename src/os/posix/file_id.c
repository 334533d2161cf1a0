/* Identifies files by what stat() tells of them. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "os/file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "os/posix/system.h"

bool kithi_file_id_of(int folder, const char *name, kithi_file_id *id) {
    struct stat st;
    bool exists = (name != NULL ? fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(folder, &st)) == 0;
    if (!exists && (name == NULL || errno != ENOENT))
        return false;
    *id = (kithi_file_id){.exists = exists};
    if (exists)
        *id = (kithi_file_id){true,
                              (uint64_t)st.st_dev,
                              (uint64_t)st.st_ino,
                              (uint64_t)st.st_size,
                              (int64_t)st.KITHI_MTIM.tv_sec,
                              (int64_t)st.KITHI_MTIM.tv_nsec};
    return true;
}
