/* docs.h: the arguments of a command, as COMMAND DOCS reports them. */
#ifndef KITH_REDIS_DOCS_H
#define KITH_REDIS_DOCS_H

#include "api.h"

#define DOCS_MOST 32

typedef struct docs_arguments {
    command_argument all[DOCS_MOST];   /* ends with one without a name */
    command_argument inner[DOCS_MOST]; /* of blocks and choices */
    char text[512];
} docs_arguments;

/* Reads the notation of Redis's documentation:
 *
 *     name            an argument        name...          one or more of them
 *     TOKEN           this word          [ … ]            may be left out
 *     TOKEN name      this word and an argument after it, inside brackets or before "name..."
 *     [A | B | C]     one of these words, or none
 *
 * The result points into *arguments. The texts in commands.def are constant, so a malformed one is a programming
 * error. */
void docs_parse(const char *notation, docs_arguments *arguments);

#endif
