/* lock.h: ensures that only one kith at a time changes a file.
 *
 * A command that reads a file and then replaces it would undo what another command saved in between. So each such
 * command holds a lock from before it opens the file until the new file is in place. Commands that only read need no
 * lock, because a file is always replaced as a whole. */
#ifndef CLI_LOCK_H
#define CLI_LOCK_H

#include "cli/options.h"

/* Locks a file that will be replaced or created. If another kith holds the lock, it waits; after one second it prints a
 * message on stderr. Signals end the tool as usual. The lock is released by lock_release or when the tool ends.
 *
 * The lock is an flock on NAME-lock, next to the file that save() will replace, after following symbolic links. It is
 * an empty file, created if it does not exist and never renamed, written or removed. It belongs to the owner of the
 * file, and its mode allows exactly the users who can write the file to open it.
 *
 * If the file is a store, it is opened for writing, which locks it; stores.h has the store. Otherwise the caller owns
 * the lock alone.
 *
 * Returns a value for lock_release. Nothing is locked with --no-lock, for "-", and for devices and pipes. Ends the tool
 * if NAME-lock is anything but an empty regular file, if it cannot be created, or if the file system cannot lock it;
 * the error mentions --no-lock. */
enum { LOCK_NONE = -1, LOCK_OF_STORE = -2 }; /* values of lock_acquire() other than a descriptor */
int lock_acquire(const char *path, const arguments *a);

/* Like lock_acquire(), for a command that has not read the file and calls this just before saving. If neither the file
 * nor NAME-lock exists, nobody can be changing the file. Then nothing is locked, and no lock file is left next to a new
 * file. */
int lock_acquire_for_save(const char *path, const arguments *a);

/* Locks a file that may be a damaged store, without opening it. If it will not be replaced, and the lock file does not
 * exist or may not be opened, nothing is locked. */
int lock_acquire_damaged(const char *path, const arguments *a, bool will_replace);

void lock_release(int lock);

#endif
