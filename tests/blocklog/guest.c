/* The first process of the guest: loads modules, reads its options, does its part, and turns the machine off. */
#define _GNU_SOURCE

#include "blocklog/guest.h"

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void guest_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("guest: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    (void)fflush(stdout);
}

/* Reads NAME=VALUE from the kernel's command line. */
static const char *option(const char *line, const char *name, char *value, size_t value_bytes) {
    size_t name_bytes = strlen(name);
    for (const char *at = line; (at = strstr(at, name)) != NULL; at += name_bytes)
        if ((at == line || at[-1] == ' ') && at[name_bytes] == '=') {
            size_t n = strcspn(at + name_bytes + 1, " \n");
            if (n >= value_bytes)
                break;
            memcpy(value, at + name_bytes + 1, n);
            value[n] = 0;
            return value;
        }
    CHECK_FAIL("the kernel's command line has no %s, or it is too long", name);
}

static uint64_t number(const char *line, const char *name) {
    char text[32];
    return strtoull(option(line, name, text, sizeof text), NULL, 10);
}

static struct guest_options read_options(void) {
    static char line[4096];
    struct guest_options o;
    int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, line, sizeof line - 1) > 0);
    (void)close(fd);
    (void)option(line, "kith.role", o.role, sizeof o.role);
    (void)option(line, "kith.file_system", o.file_system, sizeof o.file_system);
    (void)option(line, "kith.fault", o.fault, sizeof o.fault);
    o.rounds = number(line, "kith.rounds");
    o.part_at = number(line, "kith.part_at");
    o.part_bytes = number(line, "kith.part_bytes");
    o.marks_at = number(line, "kith.marks_at");
    o.job = number(line, "kith.job");
    o.jobs = number(line, "kith.jobs");
    o.subsets = number(line, "kith.subsets");
    o.seed = number(line, "kith.seed");
    o.findings = number(line, "kith.findings");
    return o;
}

/* Loads /modules/00.ko, 01.ko …, each with the parameters in the file 00.parameters … */
static void load_modules(void) {
    char path[64], parameters[128];
    for (unsigned i = 0;; i++) {
        (void)snprintf(path, sizeof path, "/modules/%02u.parameters", i);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            break;
        ssize_t n = read(fd, parameters, sizeof parameters - 1);
        CHECK(n >= 0);
        parameters[n] = 0;
        (void)close(fd);
        (void)snprintf(path, sizeof path, "/modules/%02u.ko", i);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0) != 0)
            CHECK_FAIL("cannot load %s: %s", path, strerror(errno));
        (void)close(fd);
    }
}

/* The second serial line is for guest_say() and for failed checks; the first one is the console of the kernel. */
static void open_line(void) {
    int fd = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) {
        (void)dup2(fd, STDOUT_FILENO);
        (void)dup2(fd, STDERR_FILENO);
    }
}

int main(void) {
    if (getpid() != 1) {
        fprintf(stderr, "this program runs in a virtual machine: see tests/blocklog/blocklog.py\n");
        return 2;
    }
    (void)mkdir("/dev", 0755);
    (void)mkdir("/proc", 0755);
    (void)mkdir(GUEST_FOLDER, 0755);
    (void)mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    (void)mount("proc", "/proc", "proc", 0, NULL);
    open_line();
    if (setjmp(check_exit) == 0) {
        static struct guest_options options;
        options = read_options();
        load_modules();
        if (strcmp(options.role, "write") == 0 ? guest_write(&options) : guest_judge(&options))
            guest_say("end");
    }
    (void)fflush(stdout);
    (void)usleep(200000); /* the serial line is slower than the switch */
    (void)reboot(RB_POWER_OFF);
    return 1;
}
