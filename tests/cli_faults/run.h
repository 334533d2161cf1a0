/* run.h: runs the tool in a child process, in a folder of files that are kept in memory. */
#ifndef KITH_TESTS_CLI_FAULTS_RUN_H
#define KITH_TESTS_CLI_FAULTS_RUN_H

#include <stdbool.h>
#include <stddef.h>

enum { FILES_MAX = 32, NAME_BYTES = 64, HUNG = 1000 };

typedef struct content {
    char name[NAME_BYTES];
    char *bytes; /* of a symbolic link: where it points to */
    size_t byte_count;
    bool is_link;
} content;

typedef struct files {
    content of[FILES_MAX];
    size_t count;
} files;

typedef struct outcome {
    int status; /* the exit status, 256 + a signal, or HUNG */
    char *out, *err;
    size_t out_bytes, err_bytes;
} outcome;

/* Creates the folder that all runs use, and enters it. */
void run_begin(void);
void run_end(void);

/* Runs the words of a line, which are separated by spaces. `< FILE` at the end is the standard input, which is empty
 * otherwise. Faults are armed while the command runs. */
void run_line(const char *line, bool armed, outcome *o);
void outcome_free(outcome *o);

void files_put(files *f, const char *name, const void *bytes, size_t byte_count);
content *files_find(const files *f, const char *name);
void files_free(files *f);

/* Makes the folder hold exactly these files. */
void folder_set(const files *f);
/* Reads all files of the folder. */
void folder_get(files *f);

#endif
