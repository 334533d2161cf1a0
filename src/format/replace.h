/* replace.h: put bytes under a name, all of them or none.
 *
 * The one way in which this library writes a file. Nothing is ever changed in place: who has the old file open or
 * mapped keeps it, whole, until he lets go; who opens the name sees the old file or the new one, never a part. */
#ifndef KITHI_FORMAT_REPLACE_H
#define KITHI_FORMAT_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include <kith/status.h>

/* Makes `path` a file of exactly these bytes, and returns when it would survive a power cut (as far as the disk is
 * honest about fsync). bytes may be NULL when byte_count is 0.
 *
 * KITH_OK             the new file is in place and synced
 * KITH_E_NO_FILE      the folder does not exist, or a part of the path is no folder
 * KITH_E_PERMISSION   the folder may not be read or written, the file system is read-only, a link is not to be
 *                     trusted (below), or the file system cannot give the file a mode as narrow as it must have
 * KITH_E_NO_SPACE     the disk or the quota is full, or the process's limit on file size is lower (seen before it
 *                     would raise SIGXFSZ)
 * KITH_E_MEMORY       the kernel had none; this function allocates nothing itself
 * KITH_E_IO           anything else. EISDIR: path is a folder; EINVAL: it is a FIFO, a socket or a device (both are
 *                     refused before anything is written); ELOOP: too many links; EIO: the disk
 *
 * After a failure errno says why, the old file is what it was, byte and inode, or still absent, and no other file is
 * left behind. One exception: where the file system cannot exchange two names (NFS, some FUSE) a failed sync of the
 * folder, the very last step, leaves the new file, whole, in place. A failed fsync is final and never retried; call
 * again to write a fresh file.
 *
 * Links. A symbolic link at `path`, and a chain of them, is followed: its target is replaced, or created where the
 * link dangles, and the link stays. A link in a sticky folder that all may write (/tmp) is followed only if it
 * belongs to the caller or to the folder's owner. Other hard links of the old file keep the old bytes.
 *
 * Access. A replaced file keeps its owner, group, permission bits and POSIX access list; set-id bits are dropped,
 * and other extended attributes are not carried over. What matters is leave to write the folder: a file of
 * mode 0444 is replaced. Where the caller may not give the file back to its owner or group, the file is his and the
 * permission bits are narrowed so that nobody gains access. A new file gets 0666 less the umask, as from
 * open(2). `secret` is for bytes with a key in them: such a file is 0600 from its first byte on, whatever the mode
 * of the file it replaces.
 *
 * Temporary files. A process that is killed, or a power cut, can leave a file ".NAME.kith-xxxxxx" beside the target: the
 * unfinished new file or the displaced old one. x stands for a letter a to z or a digit 2 to 7, and NAME is cut after 64
 * bytes. The next save to NAME removes such files: only regular files that belong to the caller or to the owner of
 * the replaced file, and only if no living process is saving with them, which flock shows. Where the file system has no
 * flock they stay, and it is safe to delete them when no save is running. A save never fails because of them.
 *
 * Threads and processes may save to one path at the same time: the last one wins, whole. Cost: one listing of the
 * folder, one write of the bytes and two syncs, some milliseconds on a disk; about 13 KiB of stack. */
KITH_MUST_USE kith_status kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret);

#endif
