/* box.c: the process of a box; see box.h.
 *
 * The result goes through a pipe in one write, which is smaller than the pipe's buffer: neither side can block for
 * ever, and either all of it arrives or the process has failed. */
#define _GNU_SOURCE

#include "cli/commands/box.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "cli/system.h"

/* What goes through the pipe. */
typedef struct message {
    int error; /* an errno: the box could not be closed, and there is no result */
    char open_because[sizeof((box_end *)0)->open_because];
    char result[BOX_RESULT_MAX];
} message;

/* ---- the process ---- */

/* Signals have their default effect, so that no handler of the tool runs here. There are no core files, in which a
 * hostile file would leave its traces, and the process does not outlive the tool. */
static void settle(pid_t tool) {
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        (void)sigaction(handled[i], &plain, NULL);
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != tool)
        _exit(1);
}

static void run_in_box(const box_job *job, pid_t tool, int out) {
    message m = {0};
    const char *why_not = "";
    settle(tool);
    if (dup2(out, STDOUT_FILENO) < 0)
        _exit(1);
    job->prepare(job->context);
    int error = box_close(&why_not);
    if (error > 0)
        m.error = error;
    else if (error < 0)
        (void)snprintf(m.open_because, sizeof m.open_because, "%s", why_not);
    if (m.error == 0)
        job->work(job->context, m.result);
    for (size_t sent = 0; sent < sizeof m;) {
        ssize_t written = write(STDOUT_FILENO, (const char *)&m + sent, sizeof m - sent);
        if (written < 0 && errno != EINTR)
            _exit(1);
        sent += written > 0 ? (size_t)written : 0;
    }
    _exit(0);
}

/* ---- the tool ---- */

static bool read_message(int in, message *m) {
    size_t used = 0;
    while (used < sizeof *m) {
        ssize_t got = read(in, (char *)m + used, sizeof *m - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        used += (size_t)got;
    }
    m->open_because[sizeof m->open_because - 1] = '\0';
    return true;
}

static int wait_for(pid_t process, int *status) {
    while (waitpid(process, status, 0) != process)
        if (errno != EINTR)
            return errno;
    return 0;
}

static box_end end_of(const box_job *job, pid_t process, int in) {
    message m = {0};
    int status;
    box_end end = {.how = BOX_BROKEN};
    bool is_complete = read_message(in, &m);
    end.number = wait_for(process, &status);
    if (end.number != 0)
        return end;
    if (WIFSIGNALED(status)) {
        end.how = WTERMSIG(status) == SIGSYS ? BOX_FORBIDDEN : BOX_SIGNALLED;
        end.number = WTERMSIG(status);
    } else if (is_complete && WEXITSTATUS(status) == 0 && m.error == 0) {
        end.how = BOX_DONE;
        memcpy(end.open_because, m.open_because, sizeof end.open_because);
        memcpy(job->result, m.result, job->result_bytes);
    } else if (is_complete) {
        end.number = m.error;
    }
    return end;
}

box_end box_run(const box_job *job) {
    assert(job->result_bytes <= BOX_RESULT_MAX);
    int ends[2];
    box_end broken = {.how = BOX_BROKEN};
    /* If SIGCHLD is ignored, which a parent can pass on, nobody can wait for a process. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &plain, NULL);
    broken.number = box_make();
    if (broken.number == 0 && open_pipe(ends, true) != 0)
        broken.number = errno;
    if (broken.number != 0)
        return broken;
    pid_t tool = getpid(), process = fork();
    if (process == 0) {
        (void)close(ends[0]);
        run_in_box(job, tool, ends[1]);
    }
    broken.number = errno;
    (void)close(ends[1]);
    box_end end = process < 0 ? broken : end_of(job, process, ends[0]);
    (void)close(ends[0]);
    return end;
}

box_end box_run_open(const box_job *job, const char *why) {
    box_end end = {.how = BOX_DONE};
    (void)snprintf(end.open_because, sizeof end.open_because, "%s", why);
    memset(job->result, 0, job->result_bytes);
    job->prepare(job->context);
    job->work(job->context, job->result);
    return end;
}
