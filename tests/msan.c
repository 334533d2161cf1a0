/* msan.c: tells the memory sanitizer which memory these calls write, because the runtime of clang 14 does not know
 * them: getdents64(), and the forms of stat() that glibc has had since version 2.33. Linked into the tests of the
 * preset msan, with --wrap for each name. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sanitizer/msan_interface.h>
#include <sys/stat.h>
#include <sys/types.h>

#define WRAP(type, name, parameters, arguments, memory, written)                                                       \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        type result = __real_##name arguments;                                                                         \
        if (result >= 0)                                                                                               \
            __msan_unpoison(memory, written);                                                                          \
        return result;                                                                                                 \
    }

WRAP(ssize_t, getdents64, (int fd, void *entries, size_t bytes), (fd, entries, bytes), entries, (size_t)result)
WRAP(int, fstat, (int fd, struct stat *st), (fd, st), st, sizeof *st)
WRAP(int, fstat64, (int fd, struct stat64 *st), (fd, st), st, sizeof *st)
WRAP(int, stat, (const char *path, struct stat *st), (path, st), st, sizeof *st)
WRAP(int, lstat, (const char *path, struct stat *st), (path, st), st, sizeof *st)
WRAP(int, fstatat, (int at, const char *path, struct stat *st, int flags), (at, path, st, flags), st, sizeof *st)
WRAP(int, fstatat64, (int at, const char *path, struct stat64 *st, int flags), (at, path, st, flags), st, sizeof *st)
