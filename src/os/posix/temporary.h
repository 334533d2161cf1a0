/* os/posix/temporary.h: the names of temporary files, and the removal of those that killed processes have left. Only
 * for os/posix/replace.c. */
#ifndef KITHI_OS_TEMPORARY_H
#define KITHI_OS_TEMPORARY_H

#include <stdbool.h>
#include <sys/stat.h>

#define KITHI_TEMPORARY_MARK ".kith-"

enum {
    KITHI_TEMPORARY_SHOWN = 64, /* bytes of the target's name: enough to recognise it, and eCryptfs allows 143 in all */
    KITHI_TEMPORARY_RANDOM = 6, /* letters of 5 random bits, only to make collisions rare; O_EXCL is the protection */
    KITHI_TEMPORARY_PROOF = 6,  /* letters that follow from the target's name and the random ones */
    KITHI_TEMPORARY_LETTERS = KITHI_TEMPORARY_RANDOM + KITHI_TEMPORARY_PROOF,
};

typedef char kithi_temporary_name[sizeof KITHI_TEMPORARY_MARK + 1 + KITHI_TEMPORARY_SHOWN + KITHI_TEMPORARY_LETTERS];

/* Returns whether the name in this folder refers to the file that `st` describes. */
bool kithi_names_file(int folder, const char *name, const struct stat *st);

/* Makes a new temporary name for this target. Returns false, with errno, if there are no random bytes. */
bool kithi_temporary_choose(const char *target_name, kithi_temporary_name name);

/* Removes temporary files of this target that no process uses, and that belong to the caller or to the owner of the old
 * file (NULL: there is none). Failures are ignored. Nothing else may have read entries through the folder's descriptor,
 * so that the listing starts at the first one. */
void kithi_temporary_remove(int folder, const char *target_name, const struct stat *old);

#endif
