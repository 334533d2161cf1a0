/* files.h: files that are replaced together. */
#ifndef LAB_REPORT_FILES_H
#define LAB_REPORT_FILES_H

#include "text.h"

typedef struct report_file {
    const char *name;
    lab_text content;
} report_file;

/* Both as report_folder.h says of its calls. Files are put in place in their order. */
const char *files_begin(const char *dir);
const char *files_replace(const char *dir, const report_file *files, size_t count);

#endif
