/* options.h: the commands and options of the tool, as tables, and the parser for the command line.
 *
 * commands.def lists the commands and what each does; options.def lists the options, which commands accept them and
 * what they mean. The parser, the help texts, the manual pages and the completions for three shells are made from these
 * two tables alone.
 *
 * A command receives an `arguments`: plain values, each checked on its own. If an option is invalid, the tool has
 * already ended with a one-line error that names it. For an unknown name, the error suggests the nearest known one. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/input/input.h"

enum { SHARDS_MAX = 512 };

/* When a state is made durable: after this many records, or after this time. Both 0: not given. */
typedef struct sync_rule {
    uint64_t lines, milliseconds;
} sync_rule;

/* The values of an option that may be repeated, in order. */
typedef struct path_list {
    const char **paths;
    size_t count;
} path_list;

typedef struct arguments {
    const char *const *operands; /* the words that are not options, in order */
    size_t operand_count;

    /* the filter */
    const char *output; /* for all strings here, NULL means not given */
    const char *kind;
    double rate;              /* 0: not given */
    uint64_t capacity;        /* 0: not given */
    uint64_t bytes;           /* 0: not given */
    const char *kind_options; /* "name=value name=value" */
    const char *sets;         /* "name=value name=value" */
    const char *trace_keys;   /* "key,key" */
    bool grow;
    bool final;
    bool smallest;
    bool can_remove;
    bool can_merge;
    bool multiset;
    bool new_only;
    const char *like;
    bool no_lock;
    bool no_mmap;
    bool no_box;
    bool as_store;
    bool plain;
    uint64_t seed;
    bool seed_given; /* because 0 is a valid seed */
    bool untrusted;
    const char *key_file;
    const char *note;

    /* what to print */
    bool invert;
    bool count;
    bool quiet;
    bool mark;
    bool keys_given;
    path_list filters; /* query: looked up together, instead of operand 0 */
    bool which;
    bool exit_code;
    bool verbose;
    bool no_notes; /* report.h */
    bool json;

    /* uniq */
    bool exact;
    bool duplicates;
    const char *drop;
    const char *state;
    bool field_changed;
    sync_rule sync;
    unsigned sync_fd; /* 0: not given */

    /* where keys come from */
    bool nul_ended; /* this and the following are copied into shape */
    uint64_t fixed_bytes;
    int delim; /* a byte; -1: not given */
    bool no_quotes;
    bool csv;
    bool tsv;
    bool json_text;
    bool int_keys, uint_keys, uuid_keys;
    bool crlf;
    bool no_crlf;
    input_shape shape; /* complete, including threads */

    uint64_t memory; /* bytes; half of the machine's memory if not given */
    bool memory_given;
    unsigned threads; /* at least 1; if not given, one per processor, or 1 for uniq */
    const char *cpu;  /* selected before the command runs */

    /* servers */
    unsigned shards; /* 0: not given */
    bool replace;
    const char *password_file;
    unsigned timeout_seconds; /* 0: not given */

    /* lab */
    bool list;
    bool trace, as_printed, quiz;
    bool quick;
    const char *report;
    const char *plot; /* FILE.svg */

    /* help */
    bool help;
    bool man;
    const char *completion;
    bool examples;
} arguments;

typedef enum command_id {
#define COMMAND(name, ...) COMMAND_##name,
#include "cli/commands.def"
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
    VALUE_PATHS,  /* path_list: may be repeated, and shells complete files */
    VALUE_KIND,   /* const char *, and shells complete kinds */
    VALUE_CPU,    /* const char *, and shells complete instruction sets */
    VALUE_WORDS,  /* const char *: all NAME=VALUE that were given, separated by spaces */
    VALUE_RATE,   /* double */
    VALUE_COUNT,  /* uint64_t, at least 1 */
    VALUE_SIZE,   /* uint64_t, at least 1 */
    VALUE_SEED,   /* uint64_t, and seed_given */
    VALUE_SMALL,  /* unsigned, at least 1 */
    VALUE_SHARDS, /* unsigned, 1 to SHARDS_MAX */
    VALUE_COLUMN, /* unsigned, at least 1: a column */
    VALUE_SYNC,   /* sync_rule */
    VALUE_CHAR,   /* int: a byte, or an escape such as \t */
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

/* A row without commands is the title of the group of options that follow it, until the next such row: `help` is the
 * title, and `name` the topic of kith help that describes the group, or NULL. */
static inline bool option_is_group(const option *o) {
    return o->commands == 0;
}

extern const command COMMANDS[COMMAND_COUNT];
extern const option OPTIONS[];
extern const size_t OPTION_COUNT;

/* Returns NULL if there is no command of that name. */
const command *command_named(const char *name);

static inline bool option_belongs(const option *o, const command *c) {
    return (o->commands >> (c - COMMANDS)) & 1;
}

/* Returns whether help lists the option. */
static inline bool option_shown(const option *o, const command *c) {
    return option_belongs(o, c) && o->help != NULL;
}

/* Returns the group of options with this topic, or NULL. */
const option *topic_named(const char *name);

/* Parses the words after the name of the command. `a` points into `words`, which must outlive it. */
void arguments_read(const command *c, int word_count, char **words, arguments *a);
void arguments_free(arguments *a);

/* Ends the tool with an error about an unknown `what` ("command", "option"), and suggests the nearest of `names`. Both
 * names are printed after `mark` ("--" or ""). `list` is the command that lists the known names. */
_Noreturn void fail_unknown(const char *what, const char *mark, const char *given, const char *const *names,
                            size_t name_count, const char *list);

/* Returns the command of that name; ends the tool if there is none. */
const command *command_must(const char *name);

/* Runs a whole command line without the word "kith". Returns the exit status. */
int run_words(int word_count, char **words);

#endif
