/* Runs a program in a process where both calls that load a filter of system calls fail, as under some container
 * runtimes.
 * usage: forbids_seccomp ERROR PROGRAM [ARGUMENT…], where ERROR is the name of an errno */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} ERRORS[] = {{"EACCES", EACCES}, {"EINVAL", EINVAL},         {"ENOMEM", ENOMEM},
              {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM}};

static int usage(void) {
    (void)fprintf(stderr, "usage: forbids_seccomp ERROR PROGRAM [ARGUMENT...]\n");
    return 126;
}

int main(int count, char **arguments) {
    unsigned error = 0;
    for (size_t i = 0; count > 2 && i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (strcmp(arguments[1], ERRORS[i].name) == 0)
            error = ERRORS[i].number;
    if (error == 0)
        return usage();
    /* The low half of the first argument is enough: there is no other prctl() whose number has the same. */
    unsigned argument = offsetof(struct seccomp_data, args[0]);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        argument += 4;
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) {
        perror("forbids_seccomp");
        return 126;
    }
    (void)execvp(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 127;
}
