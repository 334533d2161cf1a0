/* commands.h: the entry point of each command. It answers the exit status; an error ends the tool by fail(). */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

#define COMMAND(name, ...) int command_##name(const arguments *a);
#include "commands.def"
#undef COMMAND

#endif
