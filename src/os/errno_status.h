/* os/errno_status.h: converts errno to a kith_status. All conversions use this function. (Four failures have a code
 * that this function does not choose: KITH_E_LOCKED, if somebody else holds the lock of a store; KITH_E_JOURNAL_MISSING
 * or _FOREIGN, if the journal of a store does not exist or is not a regular file; KITH_E_RANDOM, if there are no random
 * bytes for a secret key or the id of a store; and KITH_E_IO, if a builder cannot read its temporary file.)
 *
 *   ENOENT ENOTDIR          KITH_E_NO_FILE
 *   EACCES EPERM EROFS      KITH_E_PERMISSION
 *   ENOSPC EDQUOT EFBIG     KITH_E_NO_SPACE
 *   ENOMEM                  KITH_E_MEMORY
 *   EOVERFLOW               KITH_E_ADDRESS       the file's size does not fit this machine's types
 *   ENOSYS on Windows       KITH_E_UNSUPPORTED   src/os/windows does not have this
 *   all others              KITH_E_IO            the caller can read errno for the reason
 */
#ifndef KITHI_OS_ERRNO_STATUS_H
#define KITHI_OS_ERRNO_STATUS_H

#include <errno.h>

#include <kith/status.h>

static inline kith_status kithi_status_from_errno(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return KITH_E_NO_FILE;
    case EACCES:
    case EPERM:
    case EROFS:
        return KITH_E_PERMISSION;
    case ENOSPC:
#ifdef EDQUOT
    case EDQUOT:
#endif
    case EFBIG:
        return KITH_E_NO_SPACE;
    case ENOMEM:
        return KITH_E_MEMORY;
    case EOVERFLOW:
        return KITH_E_ADDRESS;
#ifdef _WIN32
    case ENOSYS:
        return KITH_E_UNSUPPORTED;
#endif
    default:
        return KITH_E_IO;
    }
}

/* Sets errno, and returns its status: for failures that no system call has reported. */
static inline kith_status kithi_status_with_errno(int error) {
    errno = error;
    return kithi_status_from_errno(error);
}

#endif
