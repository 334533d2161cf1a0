/* files.h: replaces several files of a folder together. */
#ifndef LAB_REPORT_FILES_H
#define LAB_REPORT_FILES_H

#include "text.h"

typedef struct report_file {
    const char *name;
    lab_text content;
} report_file;

/* All return NULL or the path that is the problem, with errno set, as described in report_folder.h. files_prepare
 * creates the folder if it does not exist, and files_check does not. files_check_file says whether a file of this name
 * can be replaced: a folder cannot. files_replace renames the files in the given order. */
const char *files_prepare(const char *dir);
const char *files_check(const char *dir);
const char *files_check_file(const char *path);
const char *files_replace(const char *dir, const report_file *files, size_t count);

#endif
