/* files.h: replaces several files of a folder together. */
#ifndef LAB_REPORT_FILES_H
#define LAB_REPORT_FILES_H

#include "text.h"

typedef struct report_file {
    const char *name;
    lab_text content;
} report_file;

/* Both return NULL or the path that is the problem, with errno set, as described in report_folder.h. files_replace
 * renames the files in the given order. */
const char *files_prepare(const char *dir);
const char *files_replace(const char *dir, const report_file *files, size_t count);

#endif
