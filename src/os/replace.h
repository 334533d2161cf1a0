/* os/replace.h: replaces a file atomically.
 *
 * Every file that this library saves is written this way, except for the temporary file of a builder (build/spill.c)
 * and the records of a journal, which are appended (file/journal.c). Other files are never changed in place: a process
 * that has the old file open or mapped keeps the complete old file until it closes it, and a process that opens the
 * name sees the complete old file or the complete new one. */
#ifndef KITHI_OS_REPLACE_H
#define KITHI_OS_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include <kith/status.h>

#include "core/part.h"
#include "os/file_id.h"

#define KITHI_NAME_BYTES 256 /* NAME_MAX and the terminating zero */

/* Replaces or creates the file `path` with exactly these bytes. When it returns KITH_OK, the file would survive a power
 * cut (if the disk is honest about fsync). bytes may be NULL if byte_count is 0.
 *
 * KITH_OK             the new file is in place and synced
 * KITH_E_NO_FILE      the folder does not exist, or a part of the path is not a folder
 * KITH_E_PERMISSION   the folder may not be read or written, the file system is read-only, a link is not trusted
 *                     (see below), or the file system cannot give the file a mode as restrictive as required
 * KITH_E_NO_SPACE     the disk or the quota is full, or the process's limit on file size is lower (checked before
 *                     writing, so there is no SIGXFSZ)
 * KITH_E_MEMORY       the kernel has no memory; this function itself allocates nothing
 * KITH_E_IO           anything else. EISDIR: path is a folder; EINVAL: it is a FIFO, a socket or a device (both are
 *                     rejected before anything is written); ELOOP: too many links; EIO: disk error
 *
 * After a failure errno holds the reason, the old file is unchanged, including its inode (or there still is none), and
 * no other file is left behind. There is one exception: the sync of the folder fails, and the old file cannot get its
 * name back. It never gets it back on file systems that cannot exchange names (NFS, some FUSE). On others it does,
 * unless the rename back fails, too, or another process has replaced the new file meanwhile. If the old file does not
 * get its name back, it is gone (or, if it cannot even be removed, has a temporary name), and the name refers to the
 * complete new file or to that of the other process. A failed fsync is final and never retried; call again to write a
 * fresh file.
 *
 * Links. A symbolic link at `path`, or a chain of them, is followed. Its target is replaced, or created if the link
 * dangles, and the link stays. A link in a sticky folder that everyone may write (/tmp) is followed only if it belongs
 * to the caller or to the folder's owner. Other hard links to the old file keep the old bytes.
 *
 * Access. A replaced file keeps its owner, group, permission bits and POSIX access list. Set-id bits are dropped, and
 * other extended attributes are not copied. If the old access list cannot be read (the caller may not read the old
 * file, or the list is larger than 4 KiB), only the owner keeps access. The caller needs permission to read and write
 * the folder, but none for the old file: even a file of mode 0444 is replaced. If the caller may not give the file to
 * the old owner or group, the file belongs to the caller and the permission bits are reduced so that nobody gains
 * access. A new file gets mode 0666 minus the umask, as from open(2). `secret` is for bytes that contain a key: such a
 * file has mode 0600 from its first byte on, whatever the mode of the file that it replaces.
 *
 * Temporary files. A killed process or a power cut can leave a file ".NAME.kith-xxxxxxyyyyyy" next to the target: the
 * unfinished new file or the displaced old one. Each x and y is a letter a to z or a digit 2 to 7, the y follow from
 * NAME and the x, and NAME is truncated to 64 bytes. The next save to NAME removes such files, but only regular files
 * with the right y that belong to the caller or to the owner of the replaced file, and only if flock shows that no
 * running process is using them. On file systems without flock they stay, and it is safe to delete them when no save is
 * running. A save never fails because of them.
 *
 * Threads and processes may save to the same path at the same time: the last one wins, and the file is never a mixture.
 * Cost: one listing of the folder, one write of the bytes and two syncs, some milliseconds on a disk; about 13 KiB of
 * stack. */
KITH_MUST_USE kith_status kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret);

/* Follows the symbolic links of `path` as above, to a file that need not exist. On success sets *folder to a new
 * descriptor of the folder that the file is in, and copies the name of the file in this folder to `name`. With
 * `to_read` the folder need not be readable, and its descriptor can neither be listed nor synced. Returns KITH_E_IO
 * with ENAMETOOLONG if the name does not fit, or one of the codes above. */
KITH_MUST_USE kith_status kithi_find_target(const char *path, bool to_read, int *folder, char *name, size_t name_bytes);

/* Ensures that a replacement undoes nothing that somebody else has done since the file was found. Links are not
 * followed. Where names can be exchanged (see above), this is certain; elsewhere somebody else can still replace the
 * file between the last check and the rename. */
typedef struct kithi_guard {
    bool any;                    /* any regular file may be replaced */
    kithi_file_id is;            /* otherwise, the file that must have the name. After success: the new one */
    bool is_other;               /* set by a failure: another file has the name; the status is KITH_E_REPLACED */
    bool is_written;             /* set by a failure: the new file has the name, and could not be taken back */
    char left[KITHI_NAME_BYTES]; /* set by every call: the temporary file that could not be removed; empty: none */
} kithi_guard;

typedef struct kithi_replacement {
    const char *name;
    const char *like; /* NULL, or the name of a file in the same folder. If `name` does not exist yet and `like` does,
                         the new file gets the owner, group, permission bits and access list of `like` */
    const kithi_part *parts;
    size_t count;
    bool secret;
    kithi_guard *guard;   /* NULL: any regular file is replaced */
    const int *open_file; /* NULL, or a descriptor of the old file, open for reading: then it is not opened again */
} kithi_replacement;

/* The same as kithi_replace_file() for a name in an open folder, as kithi_find_target() has found it, with the bytes of
 * several parts, one after the other. If the name is a link by now, it is not followed: KITH_E_IO with ELOOP. */
KITH_MUST_USE kith_status kithi_replace_file_at(int folder, const kithi_replacement *replacement);

/* Like kithi_replace_file(), with the bytes of `count` parts, one after the other. */
KITH_MUST_USE kith_status kithi_replace_file_parts(const char *path, const kithi_part *parts, size_t count,
                                                   bool secret);

#endif
