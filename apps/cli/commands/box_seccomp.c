/* box_seccomp.c: the system calls that are allowed in a box; see box.h.
 *
 * The list is what reading a filter, a store or a dump needs: reading files that are open already, memory, the clock,
 * and writing the result. Each system has only some of these names, because 32-bit systems have other names for the
 * same calls.
 *
 * libseccomp makes the filter program. It knows the numbers of the calls on every processor, and rejects calls made
 * through the numbers of another one (x32, 32-bit programs on a 64-bit system). The program is loaded here, because
 * seccomp_load() returns EFAULT for most errors of the system: whoever started kith may have made loading filters fail
 * with any error, usually EPERM or ENOSYS. */
#define _GNU_SOURCE

#include "cli/commands/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef enum rule_test {
    ALWAYS,
    ONLY_OUT,  /* only to stdout, which is the pipe for the result */
    NO_CODE,   /* no memory that can be executed */
    ONLY_OPEN, /* only of an open file, not of a path */
} rule_test;

#ifdef __s390__
#define MMAP_TEST ALWAYS /* the arguments of this call are in memory, where a filter cannot see them */
#else
#define MMAP_TEST NO_CODE
#endif

static const struct rule {
    int call; /* negative: this system has no such call */
    rule_test test;
} RULES[] = {
    {SCMP_SYS(pread64), ALWAYS},         /* what is in the files */
    {SCMP_SYS(fstat), ALWAYS},           /* their sizes */
    {SCMP_SYS(fstat64), ALWAYS},         /* the same on 32-bit systems */
    {SCMP_SYS(newfstatat), ONLY_OPEN},   /* the same, as glibc does it */
    {SCMP_SYS(close), ALWAYS},           /* files */
    {SCMP_SYS(brk), ALWAYS},             /* memory */
    {SCMP_SYS(mmap), MMAP_TEST},         /* memory and files */
    {SCMP_SYS(mmap2), NO_CODE},          /* the same on 32-bit systems */
    {SCMP_SYS(mremap), ALWAYS},          /* memory that grows */
    {SCMP_SYS(munmap), ALWAYS},          /* memory and files */
    {SCMP_SYS(madvise), ALWAYS},         /* memory that some allocators give back */
    {SCMP_SYS(clock_gettime), ALWAYS},   /* only where reading the clock is a system call */
    {SCMP_SYS(clock_gettime64), ALWAYS}, /* the same on 32-bit systems */
    {SCMP_SYS(write), ONLY_OUT},         /* the result */
    {SCMP_SYS(exit_group), ALWAYS},      /* the end */
};
_Static_assert(sizeof RULES / sizeof *RULES <= 15, "SECURITY.md says that there are at most 15");

static int allow(scmp_filter_ctx filter, const struct rule *r) {
    if (r->call < 0)
        return 0;
    struct scmp_arg_cmp test = {0};
    switch (r->test) {
    case ONLY_OUT:
        test = SCMP_A0(SCMP_CMP_EQ, STDOUT_FILENO, 0);
        break;
    case NO_CODE:
        test = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
        break;
    case ONLY_OPEN:
        test = SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0);
        break;
    case ALWAYS:
        break;
    }
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, r->call, r->test == ALWAYS ? 0 : 1, &test);
}

/* Returns -1 if an error means that the kernel, or whoever started this process, does not allow filters. Otherwise
 * returns the error. */
static int unsupported(int error, const char **why_not) {
    switch (error) {
    case ENOSYS:
    case EINVAL:
    case EOPNOTSUPP:
        *why_not = "the kernel, or the emulator that runs kith, does not support seccomp filters";
        return -1;
    case EPERM:
    case EACCES:
        *why_not = "this process is not allowed to use seccomp filters";
        return -1;
    default:
        return error;
    }
}

static struct sock_filter program[512]; /* 4 KiB, which fit into any pipe; the list above takes about 40 */
static unsigned short program_length;   /* 0: not made yet */

/* Copies the program of the filter to `program`. libseccomp writes it to a file. */
static int export(scmp_filter_ctx filter) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return errno;
    int error = -seccomp_export_bpf(filter, ends[1]);
    ssize_t got = -1;
    while (error == 0 && got < 0) {
        got = read(ends[0], program, sizeof program);
        if (got < 0 && errno != EINTR)
            error = errno;
    }
    if (error == 0)
        program_length = (unsigned short)((size_t)got / sizeof *program);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return error;
}

int box_make(void) {
    if (program_length != 0)
        return 0;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL); /* the thread, and there is only one */
    if (filter == NULL)
        return ENOMEM;
    /* The functions return negative errno values; with this attribute, those of the system as well. */
    int error = -seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
    for (size_t i = 0; error == 0 && i < sizeof RULES / sizeof *RULES; i++)
        error = -allow(filter, &RULES[i]);
    if (error == 0)
        error = export(filter);
    seccomp_release(filter);
    return error;
}

int box_close(const char **why_not) {
    struct sock_fprog loaded = {program_length, program};
    /* Without privileges, a filter is accepted only from a process that can never gain any. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded, 0, 0) == 0)
        return 0;
    return unsupported(errno, why_not);
}

const char *box_missing(void) {
    return NULL;
}
