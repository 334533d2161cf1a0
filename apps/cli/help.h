/* help.h: prints the tables of options.h to stdout, as help texts, manual pages and shell completions. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

void help_all(void);
void help_command(const command *c);

/* Prints `text` wrapped to 80 columns. The first line starts at column `at`, the others at `indent`. If `at` is greater
 * than `indent` (after a long option), the text starts on the next line. */
void put_wrapped_80(const char *text, size_t at, size_t indent);

/* Prints the manual page of a command, for man(1), or that of the tool if c is NULL. */
void manual_page(const command *c);

/* Prints the completion script for "bash", "zsh" or "fish". Returns false for any other shell. */
bool completion_script(const char *shell);

#endif
