/* leftovers.c: finds temporary files that could not be removed; see leftovers.h.
 *
 *     .NAME.kith-xxxxxxyyyyyy           temporary names of FILE and of its journal. NAME is cut off after 64 bytes
 *     .NAME-journal.kith-xxxxxxyyyyyy
 *
 * After a success, the old file has the temporary name. An open descriptor identifies it, and its number of links tells
 * whether it was removed, so that the folder has to be read only if it was not. After a failure the new file has that
 * name. It is recognised by its age and by its lock: each process holds a lock on its temporary files. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "uninterrupted.h"

enum { WATCHED = 2, NAME_SHOWN_BYTES = 64, NAME_LETTERS = 12 };

#define MARK ".kith-"

typedef char path_text[PATH_MAX];

static struct watched {
    path_text path; /* after all links are followed */
    int old;        /* descriptor of the file that was there; negative: none */
    struct stat st; /* of that file */
} watched[WATCHED];
static bool is_watching;
static path_text given, folder;
static struct timespec since;

static void watch(struct watched *w) {
    if (is_watching && w->old >= 0)
        (void)close(w->old);
    w->old = open_fully(w->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (w->old >= 0 && fstat(w->old, &w->st) != 0) {
        (void)close(w->old);
        w->old = -1;
    }
}

void leftovers_watch(const char *path) {
    static const char *const endings[WATCHED] = {"", "-journal"};
    path_text real, copy;
    if (realpath(path, real) == NULL && (size_t)snprintf(real, sizeof real, "%s", path) >= sizeof real)
        return; /* no save will accept it */
    (void)snprintf(given, sizeof given, "%s", path);
    (void)snprintf(copy, sizeof copy, "%s", real);
    (void)snprintf(folder, sizeof folder, "%s", dirname(copy));
    for (size_t i = 0; i < WATCHED; i++) {
        if ((size_t)snprintf(watched[i].path, sizeof watched[i].path, "%s%s", real, endings[i]) >= sizeof(path_text))
            watched[i].path[0] = '\0'; /* there can be no such file */
        watch(&watched[i]);
    }
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the clock of the times of files */
    is_watching = true;
}

/* Returns true if `name` is a temporary name of the file at `path`. */
static bool is_temporary(const char *name, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    size_t bytes = strlen(base), shown = bytes < NAME_SHOWN_BYTES ? bytes : NAME_SHOWN_BYTES;
    while (shown < bytes && shown > 0 && ((unsigned char)base[shown] & 0xC0) == 0x80) /* not inside a character */
        shown--;
    return name[0] == '.' && strncmp(name + 1, base, shown) == 0 &&
           strncmp(name + 1 + shown, MARK, sizeof MARK - 1) == 0 &&
           strlen(name + 1 + shown) == sizeof MARK - 1 + NAME_LETTERS;
}

static bool is_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_old(const struct watched *w, const char *path) {
    struct stat st;
    return w->old >= 0 && lstat(path, &st) == 0 && is_file(&st, &w->st);
}

static bool is_new_and_unused(const struct watched *w, const char *path) {
    struct stat st;
    (void)w;
    int fd = open_fully(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool found = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                 (st.st_ctim.tv_sec > since.tv_sec ||
                  (st.st_ctim.tv_sec == since.tv_sec && st.st_ctim.tv_nsec >= since.tv_nsec)) &&
                 flock(fd, LOCK_SH | LOCK_NB) == 0;
    (void)close(fd);
    return found;
}

/* Returns the temporary files for which `matches` returns true, separated by commas, or NULL if there are none.
 * *is_read says whether the folder could be read. */
static const char *find(bool (*matches)(const struct watched *w, const char *path), bool *is_read) {
    static path_text found;
    size_t used = 0;
    path_text path;
    DIR *dir = opendir(folder);
    *is_read = dir != NULL;
    if (dir == NULL)
        return NULL;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        for (size_t i = 0; i < WATCHED && used < sizeof found; i++)
            if (is_temporary(entry->d_name, watched[i].path) &&
                (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path &&
                matches(&watched[i], path))
                used += (size_t)snprintf(found + used, sizeof found - used, "%s%s", used > 0 ? ", " : "", path);
    (void)closedir(dir);
    return used > 0 ? found : NULL;
}

const char *leftovers_find(void) {
    bool is_read;
    return is_watching ? find(is_new_and_unused, &is_read) : NULL;
}

/* Returns true if the old file has lost its name, but exists. */
static bool is_left(const struct watched *w) {
    struct stat now, named;
    if (w->old < 0)
        return false;
    if (fstat(w->old, &now) != 0) {
        int error = errno;
        is_watching = false; /* the message says what is known */
        fail("%s: everything was written, but it is not known whether the system has removed the old file: %s", given,
             text_of_errno(error));
    }
    if (now.st_nlink < w->st.st_nlink)
        return false;
    return lstat(w->path, &named) != 0 || !is_file(&named, &w->st);
}

void leftovers_check(void) {
    bool any = false;
    for (size_t i = 0; i < WATCHED && is_watching; i++)
        any |= is_left(&watched[i]);
    bool is_read = true;
    const char *left = any ? find(is_old, &is_read) : NULL;
    if (left != NULL || !is_read) {
        is_watching = false; /* the message says it already */
        fail("%s: everything was written, but the system did not remove the old file, which is now %s", given,
             left != NULL ? left : "a hidden file in the same folder");
    }
    for (size_t i = 0; i < WATCHED && is_watching; i++)
        watch(&watched[i]);
}
