/* help.h: prints the tables of options.h to stdout, as help texts, manual pages and shell completions. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/options.h"

void help_short(void); /* the list of commands */
void help_all(void);
void help_command(const command *c);

/* Calls `entry` for each option that help shows. If there are many, each group begins with `title`, and a group with a
 * topic has `elsewhere` in place of its options. */
typedef struct option_writer {
    void (*title)(const option *group);
    void (*elsewhere)(const option *group);
    void (*entry)(const option *o);
} option_writer;
void help_each_option(const command *c, const option_writer *writer);

enum { HELP_NAMES_BYTES = 512 };

/* Prints the names of the options of a group as "-0, --null, --field", into `text`. */
void help_group_names(const option *group, char *text, size_t text_bytes);

/* How the inputs of all commands are read: paragraphs. */
extern const char HELP_INPUT[];

/* Prints `text` wrapped to 80 columns. The first line starts at column `at`, the others at `indent`. If `at` is greater
 * than `indent` (after a long option), the text starts on the next line. */
void put_wrapped_80(const char *text, size_t at, size_t indent);

/* Prints the manual page of a command, for man(1), or that of the tool if c is NULL. */
void manual_page(const command *c);

/* Prints the completion script for "bash", "zsh" or "fish". Returns false for any other shell. */
bool completion_script(const char *shell);

#endif
