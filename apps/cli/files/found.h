/* found.h: finds the file of an operand once per command.
 *
 * A command that changes FILE locks it, reads it and replaces it. If FILE is a symbolic link that is switched
 * meanwhile, or a folder on its way is renamed, each of these steps would find another file: the lock would protect
 * one, and the keys of another would be lost. So such a command finds FILE once, before anything else: it follows the
 * links to a folder, which it opens, and a name in it. From then on it uses this folder and this name only. Messages
 * use the path that the user gave.
 *
 * The library takes paths. found_path() returns one that begins at the open folder, so it leads to the same file
 * whatever happens to links and folders. */
#ifndef CLI_FOUND_H
#define CLI_FOUND_H

#if !defined(_FILE_OFFSET_BITS) || _FILE_OFFSET_BITS != 64
#error "struct stat must be the same everywhere: define _FILE_OFFSET_BITS as 64 before the first include"
#endif

#include <stdbool.h>
#include <stdnoreturn.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct found_place found_place;

/* Finds the regular file that `path` leads to, or will lead to once it is created. A path that was found before in this
 * command, also if it is written in another way (./x, x), gives the same file. Links are followed by the rules of the
 * library: in a sticky folder that everyone can write to, only links of this user or of the folder's owner. Returns
 * NULL for "-", for devices, pipes and folders, and if a folder on the way is missing or a link is not followed; errno
 * says why. */
const found_place *found_file(const char *path);

/* Ends the tool with an error, after found_file() has returned NULL for this path. */
noreturn void found_fail(const char *path);

/* Returns the file if it was found before in this command; otherwise NULL. */
const found_place *found_before(const char *path);

/* Returns a path for the library that leads to the file that was found, or `path` itself if none was found for it. Ends
 * the tool if the name is now that of a link, or, on systems without /proc, if the folder was moved. */
const char *found_path(const char *path);

/* The path after all links, for messages. */
const char *found_shown(const found_place *f);

/* The descriptor of the folder, good for the *at calls only, and the name in it. */
int found_folder(const found_place *f);
const char *found_name(const found_place *f);

/* Opens the file in the folder whose name is that of the file followed by `ending` ("", "-lock"). Links are not
 * followed. Returns a descriptor, or -1 with errno. */
int found_open(const found_place *f, const char *ending, int flags, mode_t mode);

/* lstat(2) of that file. */
int found_lstat(const found_place *f, const char *ending, struct stat *st);

/* stat(2) of the file that was found, or of `path` if none was found for it. */
int found_stat(const char *path, struct stat *st);

/* Returns whether both paths lead to the same file that was found. */
bool found_same(const char *a, const char *b);

/* Returns whether the file exists. Any error other than "no such file" counts as existing. */
bool found_exists(const found_place *f);

/* Forgets all files, at the beginning of a command. */
void found_forget(void);

#endif
