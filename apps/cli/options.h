/* options.h: the command line as data.
 *
 * commands.def and options.def say all there is: which commands there are, what each does, which options it takes
 * and what they mean. The parser, the help texts, the manual pages and the completions of three shells read these
 * two tables and nothing else.
 *
 * A command gets an `arguments`: plain values, checked as far as one option can be checked alone. A wrong one has
 * ended the tool before, with one line that names it and, for a name that is unknown, the nearest that there is. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

typedef struct arguments {
    const char *const *operands; /* what is no option, in order */
    size_t operand_count;

    /* the filter */
    const char *output; /* NULL: not given; so below for all text */
    const char *kind;
    double rate;              /* 0: not given */
    uint64_t capacity;        /* 0: not given */
    uint64_t bytes;           /* 0: not given */
    const char *kind_options; /* "name=value name=value" */
    bool grow;
    bool can_remove;
    bool can_merge;
    bool multiset;
    bool new_only;
    const char *like;
    bool no_lock;
    uint64_t seed;
    bool seed_given; /* 0 is a seed, too */
    bool untrusted;
    const char *key_file;
    const char *note;

    /* what to print */
    bool invert;
    bool count;
    bool quiet;
    bool mark;
    bool keys_given;
    bool verbose;
    bool json;

    /* uniq */
    bool exact;
    bool duplicates;
    const char *drop;
    const char *state;
    bool field_changed;

    /* where keys come from */
    bool nul_ended; /* and below: read into shape */
    uint64_t fixed_bytes;
    int delim; /* a byte; -1: not given */
    bool no_quotes;
    bool csv;
    bool tsv;
    bool json_text;
    bool crlf;
    bool no_crlf;
    input_shape shape; /* complete, threads included */

    uint64_t memory; /* bytes: what was given, else half of the machine's */
    bool memory_given;
    unsigned threads; /* what was given, else one per processor, for uniq 1; at least 1 */
    const char *cpu;  /* in use when the command runs */

    /* lab */
    bool list;
    bool trace;
    bool quick;
    const char *report;

    /* help */
    bool help;
    bool man;
    const char *completion;
    bool examples;
} arguments;

typedef enum command_id {
#define COMMAND(name, ...) COMMAND_##name,
#include "commands.def"
#undef COMMAND
    COMMAND_COUNT
} command_id;

typedef struct command {
    const char *name;
    size_t operands_min;
    size_t operands_max;
    const char *synopsis;
    const char *summary;
    const char *description;
    const char *exits;
    const char *examples;
    int (*run)(const arguments *a);
} command;

typedef enum value_type {
    VALUE_FLAG,   /* bool */
    VALUE_TEXT,   /* const char * */
    VALUE_PATH,   /* const char *, and shells complete files */
    VALUE_KIND,   /* const char *, and shells complete kinds */
    VALUE_CPU,    /* const char *, and shells complete instruction sets */
    VALUE_WORDS,  /* const char *: all that were given, with blanks between */
    VALUE_RATE,   /* double */
    VALUE_COUNT,  /* uint64_t, at least 1 */
    VALUE_SIZE,   /* uint64_t, at least 1 */
    VALUE_SEED,   /* uint64_t, and seed_given */
    VALUE_SMALL,  /* unsigned, at least 1 */
    VALUE_COLUMN, /* the same, for a column */
    VALUE_CHAR,   /* int: a byte; \t and the like are known */
} value_type;

typedef struct option {
    char letter;          /* 0: none */
    const char *name;     /* without -- */
    const char *argument; /* NULL: a flag */
    value_type type;
    size_t offset;     /* in arguments */
    uint32_t commands; /* bit command_id */
    const char *help;  /* NULL: not shown */
} option;

extern const command COMMANDS[COMMAND_COUNT];
extern const option OPTIONS[];
extern const size_t OPTION_COUNT;

/* NULL when there is none of that name. */
const command *command_named(const char *name);

static inline bool option_belongs(const option *o, const command *c) {
    return (o->commands >> (c - COMMANDS)) & 1;
}

/* Reads the words behind the command's name. `a` refers to `words`, which must stay. */
void arguments_read(const command *c, int word_count, char **words, arguments *a);
void arguments_free(arguments *a);

/* Ends the tool: there is no such `what` ("command", "option"), with the nearest of `names`; `mark` ("--" or "")
 * stands in front of both. */
_Noreturn void fail_unknown(const char *what, const char *mark, const char *given, const char *const *names,
                            size_t name_count);

/* The command of that name; ends the tool when there is none. */
const command *command_must(const char *name);

/* The whole command line, as main and demo run it: the exit status. */
int run_words(int word_count, char **words);

#endif
