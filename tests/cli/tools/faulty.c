/* faulty.c: the tool with a planted fault.
 *
 *     faulty FAULT COMMAND…     runs kith COMMAND… with this fault
 *
 * The linker replaces the calls that are named __wrap_ here; see tests/CMakeLists.txt. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kith/file.h>

#include "colliding.h"
#include "core/late_seeds.h"

int tool_main(int argc, char **argv); /* main.c of the tool */

static const char *fault = "";

static bool is_planted(const char *name) {
    return strcmp(fault, name) == 0;
}

/* ---- what a file could make the code that reads it do ---- */

static void touch_page_after_end(int fd) {
    struct stat st;
    long page = sysconf(_SC_PAGESIZE);
    if (fstat(fd, &st) != 0)
        return;
    size_t end = ((size_t)st.st_size / (size_t)page + 1) * (size_t)page;
    volatile char *bytes = mmap(NULL, end + (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes != MAP_FAILED)
        (void)bytes[end];
}

static void misbehave(int fd) {
    static volatile char *volatile nowhere; /* NULL, which the compiler cannot know */
    struct stat st;
    if (is_planted("opens"))
        (void)open("/etc/passwd", O_RDONLY);
    else if (is_planted("connects"))
        (void)socket(AF_INET, SOCK_STREAM, 0);
    else if (is_planted("starts_a_program"))
        (void)execl("/bin/true", "true", (char *)NULL);
    else if (is_planted("starts_a_process"))
        (void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    else if (is_planted("prints"))
        (void)!write(STDERR_FILENO, "x: sound\n", 9);
    else if (is_planted("makes_code"))
        (void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (is_planted("kills"))
        (void)kill(getppid(), SIGKILL);
    else if (is_planted("looks_around"))
        (void)syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &st, 0);
    else if (is_planted("crashes"))
        *nowhere = 1;
    else if (is_planted("reads_past_the_end"))
        touch_page_after_end(fd);
    else if (is_planted("ends_early"))
        _exit(0);
}

kith_status __real_kith_file_open_fd(int fd, int journal, const kith_file_options *options, kith_file **file);
kith_status __wrap_kith_file_open_fd(int fd, int journal, const kith_file_options *options, kith_file **file);
kith_status __wrap_kith_file_open_fd(int fd, int journal, const kith_file_options *options, kith_file **file) {
    misbehave(fd);
    return __real_kith_file_open_fd(fd, journal, options, file);
}

/* ---- systems that are short of something ---- */

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void) {
    errno = EAGAIN;
    return is_planted("no_process") ? -1 : __real_fork();
}

int __real_pipe2(int *ends, int flags);
int __wrap_pipe2(int *ends, int flags);
int __wrap_pipe2(int *ends, int flags) {
    errno = EMFILE;
    return is_planted("no_pipe") ? -1 : __real_pipe2(ends, flags);
}

/* ---- signals at the worst moment ---- */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    static const struct {
        const char *fault;
        int number;
    } signals[] = {{"int_during_save", SIGINT},
                   {"term_during_save", SIGTERM},
                   {"hup_during_save", SIGHUP},
                   {"quit_during_save", SIGQUIT}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (is_planted(signals[i].fault))
            (void)raise(signals[i].number);
    return __real_fsync(fd);
}

/* ---- file systems ---- */

void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    errno = ENODEV;
    return fd >= 0 && is_planted("no_map") ? MAP_FAILED : __real_mmap64(at, bytes, protection, flags, fd, offset);
}

int __real_faccessat(int folder, const char *path, int how, int flags);
int __wrap_faccessat(int folder, const char *path, int how, int flags);
int __wrap_faccessat(int folder, const char *path, int how, int flags) {
    errno = EROFS;
    return (how & W_OK) != 0 && is_planted("read_only") ? -1 : __real_faccessat(folder, path, how, flags);
}

int __real_stat64(const char *path, struct stat64 *st);
int __wrap_stat64(const char *path, struct stat64 *st);
int __wrap_stat64(const char *path, struct stat64 *st) {
    errno = ENOENT;
    return is_planted("no_proc") && strncmp(path, "/proc/", 6) == 0 ? -1 : __real_stat64(path, st);
}

/* Every file that is not empty becomes shorter after its size was read. */
int __real_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st) {
    int result = __real_fstat64(fd, st);
    if (result == 0 && S_ISREG(st->st_mode) && st->st_size > 0 && is_planted("shrinks"))
        st->st_size += 1;
    return result;
}

/* A checkpoint replaces FILE and its journal after the tool has opened FILE, and before it opens the journal. */
int __real_openat64(int folder, const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...) {
    static bool is_done;
    if (is_planted("is_replaced") && !is_done && strcmp(path, "s.kith-journal") == 0) {
        is_done = true;
        if (rename("next/s.kith", "s.kith") != 0 || rename("next/s.kith-journal", "s.kith-journal") != 0)
            _exit(3);
    }
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(list, int) : 0;
    va_end(list);
    return __real_openat64(folder, path, flags, mode);
}

/* ---- an attacker who knows more than he can know ---- */

/* The seeds of further tries, which depend on all keys: instead, those of which colliding.h knows. */
uint64_t __real_kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try);
uint64_t __wrap_kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try);
uint64_t __wrap_kithi_late_seed(const kithi_late_seeds *seeds, unsigned attempt, unsigned try) {
    return is_planted("known_seeds") ? colliding_seed(true, try - 1) : __real_kithi_late_seed(seeds, attempt, try);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fputs("usage: faulty FAULT COMMAND...\n", stderr);
        return 3;
    }
    fault = argv[1];
    argv[1] = argv[0];
    return tool_main(argc - 1, argv + 1);
}
