/* commands.h: the function that runs each command. It returns the exit status; errors end the tool through fail(). */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

#define COMMAND(name, ...) int command_##name(const arguments *a);
#include "cli/commands.def"
#undef COMMAND

/* Prints what `kith lab CLAIM --help` prints. */
void help_lab(const arguments *a);

#endif
