/* lock.h: of the runs that write one file, one at a time.
 *
 * A command that reads a file and then replaces it would undo what another one has saved in between. Each such command
 * holds a lock from before it opens the file until the new one is in place. Readers need none: a file is replaced
 * whole. */
#ifndef CLI_LOCK_H
#define CLI_LOCK_H

#include "options.h"

/* Locks a file that is to be replaced, or made, and waits for another kith that has it locked. After a second one line
 * on stderr says what it waits for; signals end the tool as usual. The lock ends with lock_release or with the tool.
 *
 * The lock is an flock on NAME-lock, beside the file that save() will replace: symbolic links are followed first. It
 * is an empty file, made if it is absent and never renamed, written or removed. It belongs to the owner of the file,
 * and its mode lets those open it who may write the file.
 *
 * Returns what lock_release takes. With --no-lock, for "-", and for devices and pipes, nothing is locked. Ends the tool if NAME-lock is
 * anything but an empty regular file, can't be made, or the file system can't lock it; the message names --no-lock. */
int lock_take(const char *path, const arguments *a);

/* The same just before a save, for a command that has not read the file. If neither the file nor NAME-lock exists,
 * nobody can be changing it: then nothing is locked, and no lock file is left beside a file that was only built. */
int lock_take_for_save(const char *path, const arguments *a);

void lock_release(int lock);

#endif
