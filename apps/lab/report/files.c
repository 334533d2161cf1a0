/* files.c: see files.h. All files are first written to temporary files in the same folder and flushed to disk. Only
 * then are they renamed. If the disk is full, the old files are therefore still intact. */
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

static path_text failed_path;

static const char *failure(const char *path, int error) {
    (void)snprintf(failed_path, sizeof failed_path, "%s", path);
    errno = error;
    return failed_path;
}

const char *files_check(const char *dir) {
    struct stat st;
    if (stat(dir, &st) != 0)
        return failure(dir, errno);
    if (!S_ISDIR(st.st_mode))
        return failure(dir, EEXIST);
    if (access(dir, W_OK | X_OK) != 0)
        return failure(dir, errno);
    return NULL;
}

const char *files_prepare(const char *dir) {
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return failure(dir, errno);
    return files_check(dir);
}

const char *files_check_file(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? NULL : failure(path, errno);
    return S_ISDIR(st.st_mode) ? failure(path, EISDIR) : NULL;
}

static bool path_of(path_text path, const char *dir, const char *name) {
    int bytes = snprintf(path, sizeof(path_text), "%s/%s", dir, name);
    return bytes > 0 && (size_t)bytes < sizeof(path_text);
}

/* The leading dot hides the file; the process id keeps two runs apart. */
static bool temporary_path_of(path_text path, const char *dir, const char *name) {
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
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS; /* these two: fsync is not supported here */
}

/* Returns 0 or an errno value. */
static int write_temporary(const char *path, const lab_text *content) {
    (void)unlink(path); /* left by a run that had the same process id and was killed */
    int fd;
    do
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno;
    int error = write_all(fd, content) ? 0 : errno;
    if (close(fd) != 0 && errno != EINTR && error == 0) /* after EINTR it is closed, and was synced before */
        error = errno;
    return error;
}

static void remove_temporary(const char *dir, const report_file *files, size_t count) {
    path_text path;
    for (size_t i = 0; i < count; i++)
        if (temporary_path_of(path, dir, files[i].name))
            (void)unlink(path);
}

const char *files_replace(const char *dir, const report_file *files, size_t count) {
    path_text temporary_path, path;
    for (size_t i = 0; i < count; i++) {
        int error = ENAMETOOLONG;
        if (path_of(path, dir, files[i].name) && temporary_path_of(temporary_path, dir, files[i].name))
            error = write_temporary(temporary_path, &files[i].content);
        if (error != 0) {
            remove_temporary(dir, files, i + 1);
            return failure(path, error);
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)path_of(path, dir, files[i].name);
        (void)temporary_path_of(temporary_path, dir, files[i].name);
        if (rename(temporary_path, path) != 0) {
            int error = errno;
            remove_temporary(dir, files, count);
            return failure(path, error);
        }
    }
    return NULL;
}
