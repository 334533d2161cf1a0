/* flips.c: switches a symbolic link between two targets, at least twice, until stdin is closed or it has done so
 * FLIPS times. Prints how often.
 *
 *     flips LINK TARGET TARGET FLIPS */
#define _GNU_SOURCE

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool goes_on(void) {
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    return poll(&in, 1, 0) == 0;
}

int main(int argc, char **argv) {
    char made[4096];
    unsigned long flips = 0, most = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (argc != 5 || (size_t)snprintf(made, sizeof made, "%s.made", argv[1]) >= sizeof made)
        return 2;
    for (; flips < most && (flips < 2 || goes_on()); flips++)
        if (symlink(argv[2 + flips % 2], made) != 0 || rename(made, argv[1]) != 0) {
            perror(made);
            return 2;
        }
    printf("%lu\n", flips);
    return fflush(stdout) == 0 ? 0 : 2;
}
