/* files.c: see files.h. A file is written under a name of its own beside the old one, and reaches the disk, before it takes
 * the old one's name: a full disk is met while all that was there is whole. */
#define _GNU_SOURCE

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef char path_text[PATH_MAX];

static path_text in_the_way;

static const char *wrong(const char *path, int error) {
    (void)snprintf(in_the_way, sizeof in_the_way, "%s", path);
    errno = error;
    return in_the_way;
}

const char *files_begin(const char *dir) {
    struct stat st;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return wrong(dir, errno);
    if (stat(dir, &st) != 0)
        return wrong(dir, errno);
    if (!S_ISDIR(st.st_mode))
        return wrong(dir, EEXIST);
    if (access(dir, W_OK | X_OK) != 0)
        return wrong(dir, errno);
    return NULL;
}

static bool path_of(path_text path, const char *dir, const char *name) {
    int bytes = snprintf(path, sizeof(path_text), "%s/%s", dir, name);
    return bytes > 0 && (size_t)bytes < sizeof(path_text);
}

/* Names that begin with a dot are not shown, and the process's number keeps two runs apart. */
static bool new_path_of(path_text path, const char *dir, const char *name) {
    int bytes = snprintf(path, sizeof(path_text), "%s/.%s.kith-%ld", dir, name, (long)getpid());
    return bytes > 0 && (size_t)bytes < sizeof(path_text);
}

static bool write_all(int fd, const lab_text *content) {
    for (size_t done = 0; done < content->used;) {
        ssize_t wrote = write(fd, content->bytes + done, content->used - done);
        if (wrote < 0 && errno != EINTR)
            return false;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS; /* where there is nothing to be kept */
}

/* 0 or an errno. */
static int write_new(const char *path, const lab_text *content) {
    (void)unlink(path); /* of a run that was killed and had this number */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    int error = write_all(fd, content) ? 0 : errno;
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

static void drop_new(const char *dir, const report_file *files, size_t count) {
    path_text path;
    for (size_t i = 0; i < count; i++)
        if (new_path_of(path, dir, files[i].name))
            (void)unlink(path);
}

const char *files_replace(const char *dir, const report_file *files, size_t count) {
    path_text new_path, path;
    for (size_t i = 0; i < count; i++) {
        int error = ENAMETOOLONG;
        if (path_of(path, dir, files[i].name) && new_path_of(new_path, dir, files[i].name))
            error = write_new(new_path, &files[i].content);
        if (error != 0) {
            drop_new(dir, files, i + 1);
            return wrong(path, error);
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)path_of(path, dir, files[i].name);
        (void)new_path_of(new_path, dir, files[i].name);
        if (rename(new_path, path) != 0) {
            int error = errno;
            drop_new(dir, files, count);
            return wrong(path, error);
        }
    }
    return NULL;
}
