/* Tests a build without hiredis: the commands that need a server say so, with status 2. This file includes
 * server/none.c itself, which such a build has instead of the files that use hiredis. */
#include "cli/server/none.c"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { PUSH, PULL, QUERY };

/* Runs one of them in a child process. Returns its status, and what it wrote to stderr. */
static int run(int what, char *text, size_t text_bytes) {
    int ends[2], status = -1;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        arguments a = {0};
        redis_address address = {0};
        if (what == PUSH)
            (void)command_push(&a);
        else if (what == PULL)
            (void)command_pull(&a);
        else
            (void)redis_query_open(&address, &a);
        _exit(77);
    }
    (void)close(ends[1]);
    ssize_t got = read(ends[0], text, text_bytes - 1);
    text[got > 0 ? got : 0] = '\0';
    (void)close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(commands_that_need_a_server_say_that_this_build_has_none) {
    for (int what = PUSH; what <= QUERY; what++) {
        char text[512];
        CHECK(run(what, text, sizeof text) == 2);
        CHECK(strstr(text, "built without hiredis") != NULL);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
