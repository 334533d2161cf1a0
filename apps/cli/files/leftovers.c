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

#include "cli/files/leftovers.h"

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

#include "cli/files/found.h"
#include "cli/output/report.h"
#include "cli/uninterrupted.h"

enum { WATCHED = 2, NAME_SHOWN_BYTES = 64, NAME_LETTERS = 12 };

#define MARK ".kith-"

typedef char path_text[PATH_MAX];

static const char *const ENDINGS[WATCHED] = {"", "-journal"};
static struct watched {
    int old;        /* descriptor of the file that was there; negative: none */
    struct stat st; /* of that file */
} watched[WATCHED];
static const found_place *file; /* NULL: nothing is watched */
static path_text given, folder; /* for messages */
static struct timespec since;

static void watch(size_t i) {
    struct watched *w = &watched[i];
    w->old = found_open(file, ENDINGS[i], O_PATH, 0);
    if (w->old >= 0 && fstat(w->old, &w->st) != 0) {
        (void)close(w->old);
        w->old = -1;
    }
}

void leftovers_forget(void) {
    for (size_t i = 0; i < WATCHED && file != NULL; i++)
        if (watched[i].old >= 0)
            (void)close(watched[i].old);
    file = NULL;
}

void leftovers_watch(const char *path) {
    path_text copy;
    leftovers_forget();
    file = found_before(path);
    if (file == NULL)
        return;
    (void)snprintf(given, sizeof given, "%s", path);
    (void)snprintf(copy, sizeof copy, "%s", found_shown(file));
    (void)snprintf(folder, sizeof folder, "%s", dirname(copy));
    for (size_t i = 0; i < WATCHED; i++)
        watch(i);
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the clock of the times of files */
}

/* Returns true if `name` is a temporary name of the file with this ending. */
static bool is_temporary(const char *name, const char *ending) {
    char base[NAME_MAX + sizeof "-journal"];
    size_t bytes = (size_t)snprintf(base, sizeof base, "%s%s", found_name(file), ending);
    size_t shown = bytes < NAME_SHOWN_BYTES ? bytes : NAME_SHOWN_BYTES;
    while (shown < bytes && shown > 0 && ((unsigned char)base[shown] & 0xC0) == 0x80) /* not inside a character */
        shown--;
    return name[0] == '.' && strncmp(name + 1, base, shown) == 0 &&
           strncmp(name + 1 + shown, MARK, sizeof MARK - 1) == 0 &&
           strlen(name + 1 + shown) == sizeof MARK - 1 + NAME_LETTERS;
}

static bool is_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_old(const struct watched *w, const char *name) {
    struct stat st;
    return w->old >= 0 && fstatat(found_folder(file), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_file(&st, &w->st);
}

static bool is_new_and_unused(const struct watched *w, const char *name) {
    struct stat st;
    (void)w;
    int fd = openat_fully(found_folder(file), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool found = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                 (st.st_ctim.tv_sec > since.tv_sec ||
                  (st.st_ctim.tv_sec == since.tv_sec && st.st_ctim.tv_nsec >= since.tv_nsec)) &&
                 flock(fd, LOCK_SH | LOCK_NB) == 0;
    (void)close(fd);
    return found;
}

static DIR *open_listing(void) {
    int fd = openat_fully(found_folder(file), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL && fd >= 0)
        (void)close(fd);
    return listing;
}

/* Returns the temporary files for which `matches` returns true, separated by commas, or NULL if there are none.
 * *is_read says whether the folder could be read. */
static const char *find(bool (*matches)(const struct watched *w, const char *name), bool *is_read) {
    static path_text found;
    size_t used = 0;
    DIR *listing = open_listing();
    *is_read = listing != NULL;
    if (listing == NULL)
        return NULL;
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
        for (size_t i = 0; i < WATCHED && used < sizeof found; i++)
            if (is_temporary(entry->d_name, ENDINGS[i]) && matches(&watched[i], entry->d_name))
                used += (size_t)snprintf(found + used, sizeof found - used, "%s%s/%s", used > 0 ? ", " : "", folder,
                                         entry->d_name);
    (void)closedir(listing);
    return used > 0 ? found : NULL;
}

const char *leftovers_find(void) {
    bool is_read;
    return file != NULL ? find(is_new_and_unused, &is_read) : NULL;
}

/* Returns true if the old file has lost its name, but exists. */
static bool is_left(size_t i) {
    const struct watched *w = &watched[i];
    struct stat now, named;
    if (w->old < 0)
        return false;
    if (fstat(w->old, &now) != 0) {
        int error = errno;
        file = NULL; /* the message says what is known */
        fail("%s: everything was written, but it is not known whether the system has removed the old file: %s", given,
             text_of_errno(error));
    }
    if (now.st_nlink < w->st.st_nlink)
        return false;
    return found_lstat(file, ENDINGS[i], &named) != 0 || !is_file(&named, &w->st);
}

void leftovers_check(void) {
    bool any = false;
    for (size_t i = 0; i < WATCHED && file != NULL; i++)
        any |= is_left(i);
    bool is_read = true;
    const char *left = any ? find(is_old, &is_read) : NULL;
    if (left != NULL || !is_read) {
        file = NULL; /* the message says it already */
        fail("%s: everything was written, but the system did not remove the old file, which is now %s", given,
             left != NULL ? left : "a hidden file in the same folder");
    }
    for (size_t i = 0; i < WATCHED && file != NULL; i++) {
        if (watched[i].old >= 0)
            (void)close(watched[i].old);
        watch(i);
    }
}
