/* leftovers.h: finds temporary files that the library could not remove, so that the tool can name them.
 *
 * A save writes a temporary file next to its target, and exchanges the two names at the end (docs/format.md). If the
 * system then refuses to remove the temporary file, the library leaves it for the next save. The user should know. */
#ifndef CLI_LEFTOVERS_H
#define CLI_LEFTOVERS_H

#include <stdbool.h>

/* Remembers the file that was found at `path` (found.h), and its journal, before a command replaces them. */
void leftovers_watch(const char *path);

/* Forgets them; must be called before found_forget(). */
void leftovers_forget(void);

/* Call it when the command has succeeded, and between two steps that replace the file. Fails if the file that was
 * replaced still exists under a temporary name. */
void leftovers_check(void);

/* Returns the paths of temporary files that were created since leftovers_watch() and that no process uses, or NULL if
 * there are none. For the message of a command that has failed. */
const char *leftovers_find(void);

#endif
