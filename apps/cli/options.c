/* options.c: the tables of commands and options as arrays, and the command line parser that uses them.
 *
 * Options and operands may be mixed; "--" ends the options. Short options may be combined (-vc). The value of a short
 * option follows directly (-n10M) or is the next word; the value of a long option follows after = or is the next word.
 * Each row of the table names the member of `arguments` that receives the value, and its type, so the parser needs no
 * code for individual options.
 *
 * An option that is given twice would hide a mistake if the last value counted: --field 1 --field 2 does not mean two
 * columns. So two different values are an error that names both. They are compared after they have been read: 10K and
 * 10000 are equal. Only the NAME=VALUE of VALUE_WORDS may be repeated, with different names, and VALUE_PATHS. */
#define _GNU_SOURCE

#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/input/key.h"
#include "cli/output/report.h"
#include "cli/values.h"

#define ANY SIZE_MAX

const command COMMANDS[COMMAND_COUNT] = {
#define COMMAND(name, least, most, synopsis, summary, description, exits, examples)                                    \
    {#name, least, most, synopsis, summary, description, exits, examples, command_##name},
#include "cli/commands.def"
#undef COMMAND
};

#define IN(name) (UINT32_C(1) << COMMAND_##name)
#define ALL_COMMANDS ((UINT32_C(1) << COMMAND_COUNT) - 1)

const option OPTIONS[] = {
#define OPTION(letter, name, argument, type, field, commands, help)                                                    \
    {letter, name, argument, type, offsetof(arguments, field), commands, help},
#define GROUP(topic, title) {0, topic, NULL, VALUE_FLAG, 0, 0, title},
#include "cli/options.def"
};
const size_t OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS;

_Static_assert(COMMAND_COUNT < 32, "the commands of an option are a mask of 32 bits");

const command *command_named(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(COMMANDS[i].name, name) == 0)
            return &COMMANDS[i];
    return NULL;
}

const option *topic_named(const char *name) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (option_is_group(&OPTIONS[i]) && OPTIONS[i].name != NULL && strcmp(OPTIONS[i].name, name) == 0)
            return &OPTIONS[i];
    return NULL;
}

/* ---- the nearest name ---- */

enum { NAME_BYTES_MAX = 32 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Edit distance: the number of letters to insert, delete, change or swap with their neighbour to turn one name into
 * the other. */
static unsigned distance(const char *from, const char *to) {
    size_t rows = strlen(from), columns = strlen(to);
    if (rows > NAME_BYTES_MAX || columns > NAME_BYTES_MAX)
        return UINT32_MAX;
    unsigned d[NAME_BYTES_MAX + 1][NAME_BYTES_MAX + 1];
    for (size_t i = 0; i <= rows; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            unsigned cost = from[i - 1] != to[j - 1];
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + cost);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[rows][columns];
}

void fail_unknown(const char *what, const char *mark, const char *given, const char *const *names, size_t name_count,
                  const char *list) {
    const char *nearest = NULL;
    unsigned smallest = UINT32_MAX;
    for (size_t i = 0; i < name_count; i++) {
        unsigned far = distance(given, names[i]);
        size_t given_bytes = strlen(given);
        if (given_bytes > 2 && strncmp(given, names[i], given_bytes) == 0)
            far = 0; /* the given text is the beginning of this name */
        if (far < smallest) {
            smallest = far;
            nearest = names[i];
        }
    }
    /* If more than half of its letters differ, the suggestion would not help. */
    if (nearest != NULL && smallest <= least(4, (unsigned)(strlen(nearest) + 1) / 2))
        fail("unknown %s '%s%s'; did you mean '%s%s'? (%s lists all)", what, mark, given, mark, nearest, list);
    fail("unknown %s '%s%s'; %s lists all", what, mark, given, list);
}

const command *command_must(const char *name) {
    const command *c = command_named(name);
    if (c != NULL)
        return c;
    static const char *const options[] = {"--help", "--version"};
    if (name[0] == '-')
        fail_unknown("option", "", name, options, sizeof options / sizeof *options, "kith help");
    const char *names[COMMAND_COUNT + 1];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = COMMANDS[i].name;
    names[COMMAND_COUNT] = options[1]; /* kith version */
    fail_unknown("command", "", name, names, COMMAND_COUNT + 1, "kith help");
}

static noreturn void fail_unknown_option(const command *c, const char *name) {
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT && count < sizeof names / sizeof *names; i++)
        if (option_shown(&OPTIONS[i], c))
            names[count++] = OPTIONS[i].name;
    char list[64];
    (void)snprintf(list, sizeof list, "kith help %s", c->name);
    fail_unknown("option", "--", name, names, count, list);
}

/* ---- values ---- */

typedef struct reader {
    const command *command;
    int word_count;
    char **words;
    int at;
    const char **given; /* for each option, its value so far; NULL if it was not given */
} reader;

static const char *read_small(const char *text, unsigned *number) {
    uint64_t value;
    const char *wrong = read_number(text, &value);
    if (wrong != NULL)
        return wrong;
    if (value == 0 || value > INT32_MAX)
        return "is out of range: use a number from 1 to 2147483647";
    *number = (unsigned)value;
    return NULL;
}

static const char *read_shards(const char *text, unsigned *number) {
    uint64_t value;
    static char wrong[64];
    const char *not_a_number = read_number(text, &value);
    if (not_a_number != NULL)
        return not_a_number;
    (void)snprintf(wrong, sizeof wrong, "is out of range: use a number from 1 to %d", SHARDS_MAX);
    *number = (unsigned)value;
    return value == 0 || value > SHARDS_MAX ? wrong : NULL;
}

static const char *read_column(const char *text, unsigned *number) {
    const char *wrong = read_small(text, number);
    if (wrong == NULL)
        return NULL;
    bool whole = strspn(text, "0123456789") == strlen(text) && *text != '\0';
    return whole ? "is out of range: columns are numbered from 1 to 2147483647"
                 : "is not a column number: columns are numbered from 1";
}

static const char *read_char(const char *text, int *byte) {
    static const char names[] = "tn0\\", means[] = "\t\n\0\\";
    if (text[0] != '\0' && text[1] == '\0') {
        *byte = (unsigned char)text[0];
        return NULL;
    }
    const char *escape = text[0] == '\\' && text[1] != '\0' && text[2] == '\0' ? strchr(names, text[1]) : NULL;
    if (escape == NULL)
        return "is not a single byte (write \\t for a tab)";
    *byte = means[escape - names];
    return NULL;
}

/* Returns the word among `words` (separated by spaces; NULL is none) that has the same NAME= as `word`, and its length;
 * NULL if there is none. */
static const char *word_with_name_of(const char *words, const char *word, size_t *word_bytes) {
    size_t name_bytes = strcspn(word, "=") + 1;
    for (const char *at = words; at != NULL && *at != '\0'; at += *word_bytes + (at[*word_bytes] == ' ')) {
        *word_bytes = strcspn(at, " ");
        if (*word_bytes >= name_bytes && strncmp(at, word, name_bytes) == 0)
            return at;
    }
    return NULL;
}

static void join(const char **words, const char *more) {
    const char *before = *words != NULL ? *words : "";
    size_t size = strlen(before) + strlen(more) + 2;
    char *all = allocate(size);
    (void)snprintf(all, size, "%s%s%s", before, *before != '\0' ? " " : "", more);
    free((void *)(uintptr_t)*words);
    *words = all;
}

static void append(path_list *list, const char *path) {
    list->paths = reallocate(list->paths, (list->count + 1) * sizeof *list->paths);
    list->paths[list->count++] = path;
}

/* Stores the value in its field. Returns NULL, or what is wrong with it. */
static const char *store_value(arguments *a, const option *o, const char *value) {
    void *field = (char *)a + o->offset;
    switch (o->type) {
    case VALUE_FLAG:
        *(bool *)field = true;
        return NULL;
    case VALUE_TEXT:
    case VALUE_PATH:
    case VALUE_KIND:
    case VALUE_CPU:
        *(const char **)field = value;
        return *value == '\0' ? "is empty" : NULL;
    case VALUE_WORDS:
        join(field, value);
        return NULL;
    case VALUE_PATHS:
        append(field, value);
        return *value == '\0' ? "is empty" : NULL;
    case VALUE_RATE:
        return read_rate(value, field);
    case VALUE_COUNT:
        return read_count(value, field);
    case VALUE_SIZE:
        return read_size(value, field);
    case VALUE_SEED:
        a->seed_given = true;
        return read_number(value, field);
    case VALUE_SMALL:
        return read_small(value, field);
    case VALUE_SHARDS:
        return read_shards(value, field);
    case VALUE_COLUMN:
        return read_column(value, field);
    case VALUE_SYNC:
        return read_count_or_time(value, &((sync_rule *)field)->lines, &((sync_rule *)field)->milliseconds);
    case VALUE_CHAR:
        return read_char(value, field);
    }
    return NULL;
}

/* Returns true if the field of an option is equal in both. */
static bool same_value(const option *o, const arguments *a, const arguments *b) {
    const char *x = (const char *)a + o->offset, *y = (const char *)b + o->offset;
    switch (o->type) {
    case VALUE_FLAG:
    case VALUE_WORDS:
    case VALUE_PATHS:
        return true;
    case VALUE_TEXT:
    case VALUE_PATH:
    case VALUE_KIND:
    case VALUE_CPU:
        return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    case VALUE_RATE:
        return memcmp(x, y, sizeof(double)) == 0;
    case VALUE_COUNT:
    case VALUE_SIZE:
    case VALUE_SEED:
        return memcmp(x, y, sizeof(uint64_t)) == 0;
    case VALUE_SMALL:
    case VALUE_SHARDS:
    case VALUE_COLUMN:
        return memcmp(x, y, sizeof(unsigned)) == 0;
    case VALUE_SYNC:
        return memcmp(x, y, sizeof(sync_rule)) == 0;
    case VALUE_CHAR:
        return memcmp(x, y, sizeof(int)) == 0;
    }
    return false;
}

static noreturn void fail_twice(const option *o, const char *shown, const char *first, const char *second) {
    if (o->type == VALUE_COLUMN)
        fail("%s is given twice, with %s and with %s, but the key is a single column; to compare several, first write "
             "them into one column (such as awk -F'\\t' '{print $%s \"|\" $%s \"\\t\" $0}') and use %s 1",
             shown, first, second, first, second, shown);
    fail("%s is given twice, with %s and with %s: give it once", shown, first, second);
}

/* `shown` is the option as the user typed it. */
static void set_value(reader *r, const option *o, const char *shown, const char *value, arguments *a) {
    const char **earlier = &r->given[o - OPTIONS];
    if (o->type == VALUE_WORDS) {
        size_t bytes;
        const char *words = *(const char **)((char *)a + o->offset);
        const char *word = word_with_name_of(words, value, &bytes);
        if (word != NULL && strlen(value) == bytes && strncmp(word, value, bytes) == 0)
            return;
        if (word != NULL)
            fail("%s is given twice for the same name, with %.*s and with %s: give it once", shown, (int)bytes, word,
                 value);
    }
    arguments before = *a;
    const char *wrong = store_value(a, o, value);
    if (wrong != NULL)
        fail("%s %s %s", shown, *value != '\0' ? value : "''", wrong);
    if (*earlier != NULL && !same_value(o, &before, a))
        fail_twice(o, shown, *earlier, value);
    *earlier = value;
}

/* ---- words ---- */

static const option *find_name(const command *c, const char *name, size_t name_bytes) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (option_belongs(&OPTIONS[i], c) && strncmp(OPTIONS[i].name, name, name_bytes) == 0 &&
            OPTIONS[i].name[name_bytes] == '\0')
            return &OPTIONS[i];
    return NULL;
}

static const option *find_letter(const command *c, char letter) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (option_belongs(&OPTIONS[i], c) && OPTIONS[i].letter == letter)
            return &OPTIONS[i];
    return NULL;
}

static const char *next_word(reader *r, const option *o, const char *shown) {
    if (r->at >= r->word_count)
        fail("%s needs a value: %s %s", shown, shown, o->argument);
    return r->words[r->at++];
}

static void read_long(reader *r, const char *word, arguments *a) {
    const char *name = word + 2;
    size_t name_bytes = strcspn(name, "=");
    char shown[NAME_BYTES_MAX * 2];
    (void)snprintf(shown, sizeof shown, "--%.*s", (int)(name_bytes < NAME_BYTES_MAX ? name_bytes : NAME_BYTES_MAX),
                   name);
    const option *o = find_name(r->command, name, name_bytes);
    if (o == NULL)
        fail_unknown_option(r->command, shown + 2);
    const char *value = name[name_bytes] == '=' ? name + name_bytes + 1 : NULL;
    if (o->argument == NULL && value != NULL)
        fail("%s does not take a value", shown);
    if (o->argument != NULL && value == NULL)
        value = next_word(r, o, shown);
    set_value(r, o, shown, value, a);
}

static void read_letters(reader *r, const char *word, arguments *a) {
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const option *o = find_letter(r->command, *letter);
        char shown[] = {'-', *letter, '\0'};
        if (o == NULL)
            fail("unknown option '%s'; kith help %s lists all", shown, r->command->name);
        if (o->argument == NULL) {
            set_value(r, o, shown, NULL, a);
            continue;
        }
        const char *value = letter[1] != '\0' ? letter + 1 : next_word(r, o, shown);
        set_value(r, o, shown, value, a);
        return;
    }
}

/* ---- options that depend on each other ---- */

/* Sets which byte separates columns, and whether they may be quoted. */
static void finish_columns(arguments *a) {
    input_shape *shape = &a->shape;
    const struct {
        bool given;
        const char *name;
    } of_columns[] = {{a->csv, "--csv"}, {a->tsv, "--tsv"}, {a->delim >= 0, "--delim"}, {a->no_quotes, "--no-quotes"}};
    for (size_t i = 0; i < sizeof of_columns / sizeof *of_columns; i++)
        if (of_columns[i].given && shape->field == 0)
            fail("%s needs --field N", of_columns[i].name);
    if (a->csv && a->tsv)
        fail("--csv and --tsv contradict each other: give only one");
    if ((a->csv || a->tsv) && a->delim >= 0)
        fail("%s and --delim contradict each other: %s already sets the delimiter", a->csv ? "--csv" : "--tsv",
             a->csv ? "--csv" : "--tsv");
    shape->delim = (char)(a->csv ? ',' : a->delim >= 0 ? a->delim : '\t');
    /* TSV has no quotes. If the quote itself is the delimiter, columns cannot be quoted. */
    shape->quotes = shape->field != 0 && !a->no_quotes && shape->delim != '\t' && shape->delim != '"';
}

/* Sets the key type. */
static void finish_keys(arguments *a) {
    const struct {
        bool given;
        kith_key_type type;
    } types[] = {{a->int_keys, KITH_KEYS_INT}, {a->uint_keys, KITH_KEYS_UINT}, {a->uuid_keys, KITH_KEYS_UUID}};
    input_shape *shape = &a->shape;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!types[i].given)
            continue;
        const char *name = kith_key_type_name(types[i].type);
        if (shape->keys != KITH_KEYS_BYTES)
            fail("--%s and --%s contradict each other: a set has one type of keys", kith_key_type_name(shape->keys),
                 name);
        if (shape->hex || shape->fold || a->no_crlf)
            fail("--%s and %s contradict each other", name, shape->hex ? "--hex" : shape->fold ? "-i" : "--no-crlf");
        size_t key_bytes = kith_key_type_bytes(types[i].type);
        if (a->fixed_bytes != 0 && a->fixed_bytes != key_bytes)
            fail("--%s needs --fixed %zu, the size of its keys, not --fixed %llu", name, key_bytes,
                 (unsigned long long)a->fixed_bytes);
        key_set_type(shape, types[i].type);
    }
}

static void finish_shape(const command *c, arguments *a) {
    input_shape *shape = &a->shape;
    finish_columns(a);
    if (shape->json_field != NULL && shape->field != 0)
        fail("--json-field and --field contradict each other: a line is either JSON or columns");
    if (a->json_text && shape->json_field == NULL)
        fail("--json-text needs --json-field NAME");
    if (a->crlf && a->no_crlf)
        fail("--crlf and --no-crlf contradict each other: --crlf strips the CR at the end of a line, --no-crlf keeps "
             "it");
    if (a->fixed_bytes != 0 &&
        (shape->field != 0 || shape->json_field != NULL || a->crlf || a->no_crlf || a->nul_ended))
        fail("--fixed cannot be combined with --field, --json-field, --crlf, --no-crlf or -0: binary records are not "
             "lines");
    if (a->fixed_bytes > INT32_MAX)
        fail("--fixed %llu is too large: records must be smaller than 2 GiB", (unsigned long long)a->fixed_bytes);
    shape->fixed_bytes = (size_t)a->fixed_bytes;
    shape->end = a->nul_ended ? '\0' : '\n';
    shape->json_typed = !a->json_text;
    shape->cr = a->crlf ? INPUT_CR_STRIP : a->no_crlf ? INPUT_CR_KEEP : INPUT_CR_UNDECIDED;
    /* The user sees a wrong key that is printed, but not one that is stored in a filter. */
    shape->cr_stops = c != &COMMANDS[COMMAND_query] && (c != &COMMANDS[COMMAND_uniq] || a->state != NULL);
    shape->nul_stops = shape->cr_stops;
    shape->threads = a->threads;
    finish_keys(a);
}

static uint64_t half_of_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0)
        return UINT64_C(1) << 30;
    return (uint64_t)pages * (uint64_t)page_bytes / 2;
}

/* An empty name is usually a variable of a shell that is not set. A message with it would name nothing. */
static void check_names(const command *c, const arguments *a) {
    bool of_files = ((ALL_COMMANDS & ~(IN(kinds) | IN(demo) | IN(lab) | IN(help))) >> (c - COMMANDS)) & 1;
    if (!of_files)
        return;
    size_t files = a->keys_given && a->operand_count > 0 ? a->filters.count == 0 : a->operand_count;
    for (size_t i = 0; i < files; i++)
        if (*a->operands[i] == '\0')
            fail("'' is an empty name, not that of a file");
}

static void finish(const command *c, arguments *a) {
    if (a->no_notes && a->verbose)
        fail("-q and --verbose contradict each other: give only one");
    a->memory_given = a->memory != 0;
    if (!a->memory_given)
        a->memory = half_of_memory();
    if (a->threads == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        a->threads = processors > 0 ? (unsigned)processors : 1;
    }
    finish_shape(c, a);
    if (a->help)
        return;
    if (a->operand_count + a->filters.count < c->operands_min)
        fail("too few arguments: kith %s %s", c->name, c->synopsis);
    if (a->operand_count > c->operands_max)
        fail("unexpected argument '%s': kith %s %s", a->operands[c->operands_max], c->name, c->synopsis);
    check_names(c, a);
}

void arguments_read(const command *c, int word_count, char **words, arguments *a) {
    *a = (arguments){.delim = -1};
    const char **operands = allocate(((size_t)word_count + 1) * sizeof *operands);
    reader r = {c, word_count, words, 0, allocate(OPTION_COUNT * sizeof *r.given)};
    memset(r.given, 0, OPTION_COUNT * sizeof *r.given);
    bool options_end = false;
    while (r.at < word_count) {
        const char *word = words[r.at++];
        if (options_end || word[0] != '-' || word[1] == '\0')
            operands[a->operand_count++] = word;
        else if (strcmp(word, "--") == 0)
            options_end = true;
        else if (word[1] == '-')
            read_long(&r, word, a);
        else
            read_letters(&r, word, a);
    }
    free(r.given);
    operands[a->operand_count] = NULL;
    a->operands = operands;
    finish(c, a);
}

void arguments_free(arguments *a) {
    free((void *)(uintptr_t)a->operands);
    free((void *)(uintptr_t)a->kind_options);
    free((void *)(uintptr_t)a->sets);
    free(a->filters.paths);
}
