/* help.h: the tables of options.h as text for people, manual readers and shells. All of it goes to stdout. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

void help_all(void);
void help_command(const command *c);

/* Prints the words of `text` in lines of at most 80 columns; the first line starts at column `at`, the others at
 * `indent`. Text that starts past `indent` (a long option) leaves the rest of its line empty. */
void put_wrapped_80(const char *text, size_t at, size_t indent);

/* Manual page of a command, or of the tool for NULL, for man(1). */
void manual_page(const command *c);

/* Completion script for "bash", "zsh" or "fish"; false: no such shell. */
bool completion_script(const char *shell);

#endif
