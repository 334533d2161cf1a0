/* found.c: finds the file of an operand once per command; see found.h.
 *
 *     operand        cur/x                          link "x" -> "../v1.kith"
 *     start          folder of "cur", name "x"      what an operand is recognised by: ./cur/x is the same
 *     file           folder of "cur/..", name "v1.kith"
 *     for libraries  /proc/self/fd/5/v1.kith        5 is the descriptor of this folder
 *
 * Folders are opened with O_PATH, which needs no permission to read them. A path that begins with /proc/self/fd/5
 * begins at this open folder, wherever it is by now. Without /proc, the real path of the folder is used, after a check
 * that it still is the same folder. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/files/found.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/uninterrupted.h"

#define LINKS_MAX 40 /* the kernel follows the same number in one path */
#define ENDING_BYTES 16

typedef char path_text[PATH_MAX];
typedef char name_text[NAME_MAX + 1];

/* A name in an open folder. */
typedef struct place {
    int folder; /* negative: not open */
    dev_t device;
    ino_t inode; /* of the folder */
    name_text name;
} place;

struct found_place {
    found_place *next;
    char *given;
    place start, file;
    path_text shown;
    path_text path;   /* for the library */
    bool is_anchored; /* the path begins at the descriptor, not at the root */
};

static found_place *all;
static path_text untrusted; /* the link that was not followed, or "" */

static bool refuse(int error) {
    errno = error;
    return false;
}

static void close_place(place *p) {
    int error = errno;
    if (p->folder >= 0)
        (void)close(p->folder);
    p->folder = -1;
    errno = error;
}

/* Opens the folder of the last name of `path`, relative to `from`. */
static bool open_place(int from, const char *path, place *p) {
    path_text folder;
    struct stat st;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t folder_bytes = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    p->folder = -1;
    if (strlen(name) > NAME_MAX || folder_bytes >= sizeof folder)
        return refuse(ENAMETOOLONG);
    if (*path == '\0')
        return refuse(ENOENT);
    if (*name == '\0')
        return refuse(EISDIR);
    (void)snprintf(p->name, sizeof p->name, "%s", name);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)folder_bytes, path);
    p->folder = openat_fully(from, folder_bytes == 0 ? "." : folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (p->folder < 0)
        return false;
    if (fstat(p->folder, &st) != 0) {
        close_place(p);
        return false;
    }
    p->device = st.st_dev;
    p->inode = st.st_ino;
    return true;
}

/* Applies the rule of the kernel (fs.protected_symlinks) and of the library: in a sticky folder that everyone can write
 * to, a link is followed only if it belongs to this user or to the owner of the folder. */
static bool link_is_trusted(const place *p, const struct stat *link) {
    struct stat in;
    if (fstat(p->folder, &in) != 0)
        return false;
    bool anyone_can_create = (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
    return !anyone_can_create || link->st_uid == geteuid() || link->st_uid == in.st_uid || refuse(EACCES);
}

/* Reads the link at `p`. `text` is "" if there is no link. It is opened first and examined through its descriptor, so
 * that the link that was checked is the one that is followed. */
static bool read_link(const place *p, const char *shown, path_text text) {
    struct stat st;
    text[0] = '\0';
    int entry = openat_fully(p->folder, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (entry < 0)
        return errno == ENOENT;
    bool is_read = fstat(entry, &st) == 0;
    if (is_read && !S_ISLNK(st.st_mode)) {
        is_read = S_ISREG(st.st_mode) || refuse(S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
    } else if (is_read) {
        is_read = link_is_trusted(p, &st);
        if (!is_read && errno == EACCES)
            (void)snprintf(untrusted, sizeof untrusted, "%s", shown);
        ssize_t bytes = is_read ? readlinkat(entry, "", text, sizeof(path_text)) : -1;
        is_read = bytes >= 0 && ((size_t)bytes < sizeof(path_text) || refuse(ENAMETOOLONG));
        text[is_read ? bytes : 0] = '\0';
    }
    int error = errno;
    (void)close(entry);
    errno = error;
    return is_read;
}

/* Replaces the last name of `shown` by the text of a link. */
static bool show_link(path_text shown, const char *text) {
    const char *slash = strrchr(shown, '/');
    size_t folder_bytes = text[0] == '/' || slash == NULL ? 0 : (size_t)(slash - shown) + 1;
    if (folder_bytes + strlen(text) >= sizeof(path_text))
        return refuse(ENAMETOOLONG);
    (void)snprintf(shown + folder_bytes, sizeof(path_text) - folder_bytes, "%s", text);
    return true;
}

static bool follow(found_place *f) {
    path_text text;
    f->file = f->start;
    f->file.folder = fcntl(f->start.folder, F_DUPFD_CLOEXEC, 0);
    if (f->file.folder < 0)
        return false;
    for (int links = 0; links <= LINKS_MAX; links++) {
        if (!read_link(&f->file, f->shown, text))
            return false;
        if (text[0] == '\0')
            return true;
        place from = f->file;
        bool is_open = show_link(f->shown, text) && open_place(from.folder, text, &f->file);
        close_place(&from);
        if (!is_open) {
            f->file.folder = -1;
            return false;
        }
    }
    return refuse(ELOOP);
}

static bool is_folder(const char *path, const place *p) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == p->device && st.st_ino == p->inode;
}

/* Sets the path for the library. */
static bool anchor(found_place *f) {
    path_text folder, copy;
    (void)snprintf(folder, sizeof folder, "/proc/self/fd/%d", f->file.folder);
    f->is_anchored = is_folder(folder, &f->file);
    if (!f->is_anchored) {
        (void)snprintf(copy, sizeof copy, "%s", f->shown);
        if (realpath(dirname(copy), folder) == NULL)
            return false;
        if (!is_folder(folder, &f->file))
            return refuse(ENOENT); /* it was moved in this moment */
    }
    int bytes = snprintf(f->path, sizeof f->path, "%s/%s", folder, f->file.name);
    return (size_t)bytes < sizeof f->path || refuse(ENAMETOOLONG);
}

static bool is_start(const found_place *f, const place *p) {
    return f->start.device == p->device && f->start.inode == p->inode && strcmp(f->start.name, p->name) == 0;
}

const found_place *found_before(const char *path) {
    for (const found_place *f = all; f != NULL; f = f->next)
        if (strcmp(f->given, path) == 0)
            return f;
    place start;
    if (all == NULL || !open_place(AT_FDCWD, path, &start))
        return NULL;
    close_place(&start); /* the folder of a file that was found is open, so no other one can have its number */
    for (const found_place *f = all; f != NULL; f = f->next)
        if (is_start(f, &start))
            return f;
    return NULL;
}

static void release(found_place *f) {
    int error = errno;
    close_place(&f->start);
    close_place(&f->file);
    free(f->given);
    free(f);
    errno = error;
}

/* A stream is opened by its path, and never locked or replaced. */
static bool is_stream(const char *path) {
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)));
}

const found_place *found_file(const char *path) {
    untrusted[0] = '\0';
    const found_place *before = found_before(path);
    if (before != NULL)
        return before;
    if (is_stream(path) || strlen(path) >= sizeof(path_text)) {
        errno = is_stream(path) ? EINVAL : ENAMETOOLONG;
        return NULL;
    }
    found_place *f = allocate(sizeof *f);
    f->start.folder = f->file.folder = -1;
    size_t path_bytes = strlen(path) + 1;
    f->given = allocate(path_bytes);
    memcpy(f->given, path, path_bytes);
    memcpy(f->shown, path, path_bytes);
    if (!open_place(AT_FDCWD, path, &f->start) || !follow(f) || !anchor(f)) {
        release(f);
        return NULL;
    }
    f->next = all;
    all = f;
    return f;
}

noreturn void found_fail(const char *path) {
    if (errno == EACCES && untrusted[0] != '\0')
        fail("%s: %s: the link %s belongs to another user", path, text_of_errno(EACCES), untrusted);
    if (errno == ENOENT)
        fail("%s: no such folder", path);
    if (errno == EINVAL)
        fail("%s: is not a regular file", path);
    fail_errno(path);
}

const char *found_path(const char *path) {
    struct stat st;
    path_text folder;
    const found_place *f = found_before(path);
    if (f == NULL)
        return path;
    if (found_lstat(f, "", &st) == 0 && S_ISLNK(st.st_mode))
        fail("%s: another program has replaced %s by a link in the meantime", path, f->shown);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strlen(f->path) - strlen(f->file.name) - 1), f->path);
    if (!f->is_anchored && !is_folder(folder[0] != '\0' ? folder : "/", &f->file))
        fail("%s: its folder was renamed or moved in the meantime", path);
    return f->path;
}

const char *found_shown(const found_place *f) {
    return f->shown;
}

int found_folder(const found_place *f) {
    return f->file.folder;
}

const char *found_name(const found_place *f) {
    return f->file.name;
}

typedef char ended_text[NAME_MAX + 1 + ENDING_BYTES];

static const char *add_ending(const found_place *f, const char *ending, ended_text name) {
    (void)snprintf(name, sizeof(ended_text), "%s%s", f->file.name, ending);
    return name;
}

int found_open(const found_place *f, const char *ending, int flags, mode_t mode) {
    ended_text name;
    return openat_fully(f->file.folder, add_ending(f, ending, name), flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

int found_lstat(const found_place *f, const char *ending, struct stat *st) {
    ended_text name;
    return fstatat(f->file.folder, add_ending(f, ending, name), st, AT_SYMLINK_NOFOLLOW);
}

int found_stat(const char *path, struct stat *st) {
    const found_place *f = found_before(path);
    return f != NULL ? found_lstat(f, "", st) : stat(path, st);
}

bool found_same(const char *a, const char *b) {
    const found_place *one = found_before(a), *other = found_before(b);
    return one != NULL && other != NULL && one->file.device == other->file.device &&
           one->file.inode == other->file.inode && strcmp(one->file.name, other->file.name) == 0;
}

bool found_exists(const found_place *f) {
    struct stat st;
    return found_lstat(f, "", &st) == 0 || errno != ENOENT;
}

void found_forget(void) {
    while (all != NULL) {
        found_place *f = all;
        all = f->next;
        release(f);
    }
}
