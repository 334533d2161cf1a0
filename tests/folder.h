/* folder.h: helpers for tests of files: a fresh folder, files of known bytes, a child process with other rights. */
#ifndef KITH_TESTS_FOLDER_H
#define KITH_TESTS_FOLDER_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizer.h"

enum {
    FOLDER_BYTES_MAX = 512,
    NOBODY = 65534,     /* a user without rights */
    SOMEBODY = 12345,   /* another user, who owns files */
    CHILD_SKIPPED = 77, /* returned by a child if the system does not allow its test */
};

struct folder {
    char path[FOLDER_BYTES_MAX];
};

static inline struct folder fresh_folder(void) {
    struct folder f;
    const char *under = getenv("TMPDIR");
    int bytes = snprintf(f.path, sizeof f.path, "%s/kith-test-XXXXXX", under && *under ? under : "/tmp");
    if (bytes < 0 || (size_t)bytes >= sizeof f.path || mkdtemp(f.path) == NULL) {
        perror("mkdtemp");
        exit(99);
    }
    return f;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void remove_folder(const struct folder *f) {
    (void)nftw(f->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns the path of a name in the folder. The string is valid until the fourth call after this one. */
static inline const char *in(const struct folder *f, const char *name) {
    static char texts[4][2 * FOLDER_BYTES_MAX];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    (void)snprintf(text, sizeof texts[0], "%s/%s", f->path, name);
    return text;
}

/* Returns a byte of the known content number `which`. Any two contents soon differ. */
static inline uint8_t content_at(unsigned which, size_t place) {
    return (uint8_t)((place * 2654435761u >> 7) + which * 101u + place);
}

static inline void fill_content(uint8_t *bytes, size_t byte_count, unsigned which) {
    for (size_t i = 0; i < byte_count; i++)
        bytes[i] = content_at(which, i);
}

static inline bool is_content(const uint8_t *bytes, size_t byte_count, unsigned which) {
    for (size_t i = 0; i < byte_count; i++)
        if (bytes[i] != content_at(which, i))
            return false;
    return true;
}

/* Writes the file directly, as the existing file for the code under test. */
static inline bool make_file(const char *path, size_t byte_count, unsigned which, mode_t mode) {
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool good = true;
    for (size_t i = 0; i < byte_count; i++)
        good &= putc(content_at(which, i), file) != EOF;
    good &= fclose(file) == 0;
    return good && chmod(path, mode) == 0;
}

static inline bool file_is(const char *path, size_t byte_count, unsigned which) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t place = 0;
    bool good = true;
    for (int c; good && (c = getc(file)) != EOF; place++)
        good = place < byte_count && c == content_at(which, place);
    good &= !ferror(file) && place == byte_count;
    (void)fclose(file);
    return good;
}

/* Returns a number that grows by one for each descriptor that is left open. */
static inline int lowest_free_descriptor(void) {
    int fd = dup(0);
    if (fd < 0)
        fd = open("/dev/null", O_RDONLY);
    (void)close(fd);
    return fd;
}

/* Runs `body` in a child process and returns its result: 0 for success, CHILD_SKIPPED, or the number of the step that
 * failed; 256 + the signal if a signal killed it. */
static inline unsigned in_child(int (*body)(const struct folder *f), const struct folder *f) {
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(body(f));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 255;
    return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 256u + (unsigned)WTERMSIG(status);
}

/* For a child process: gives up root's rights, if it has them. */
static inline bool become_nobody(void) {
    return geteuid() != 0 || (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

#endif
