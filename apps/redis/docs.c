/* docs.c: reads the notation of arguments; see docs.h. */
#include "docs.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool is_token(const char *word) {
    return isupper((unsigned char)*word) != 0;
}

static int type_of(const char *name) {
    static const char *const integers[] = {"capacity", "expansion", "bucketsize", "maxiterations", "iterator",
                                           "cursor",   "offset",    "total",      "bucket_size",   "max_iterations"};
    if (strcmp(name, "key") == 0)
        return ARGUMENT_KEY;
    if (strcmp(name, "rate") == 0 || strcmp(name, "error") == 0 || strcmp(name, "error_rate") == 0)
        return ARGUMENT_DOUBLE;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (strcmp(name, integers[i]) == 0)
            return ARGUMENT_INTEGER;
    return ARGUMENT_STRING;
}

/* Adds a plain argument or a word. */
static void add(command_argument *argument, const char *word, int flags) {
    bool token = is_token(word);
    int type = token ? ARGUMENT_TOKEN : type_of(word);
    *argument = (command_argument){.name = word,
                                   .type = type,
                                   .key_spec_index = type == ARGUMENT_KEY ? 0 : -1,
                                   .token = token ? word : NULL,
                                   .flags = flags};
}

/* Removes "..." from the end of a word. */
static bool take_dots(char *word) {
    size_t length = strlen(word);
    if (length < 3 || strcmp(word + length - 3, "...") != 0)
        return false;
    word[length - 3] = 0;
    return true;
}

void docs_parse(const char *notation, docs_arguments *a) {
    memset(a, 0, sizeof *a);
    assert(strlen(notation) < sizeof a->text);
    memcpy(a->text, notation, strlen(notation) + 1);
    size_t count = 0, inner = 0;
    command_argument *last = NULL; /* a word that the next argument belongs to */
    bool optional = false, choice = false;
    for (char *word = strtok(a->text, " "); word != NULL; word = strtok(NULL, " ")) {
        assert(count + 1 < DOCS_MOST && inner + 2 < DOCS_MOST);
        if (strcmp(word, "|") == 0) {
            if (!choice) { /* the word before was the first of several */
                add(&a->inner[inner], last->name, 0);
                *last = (command_argument){.name = "choice",
                                           .type = ARGUMENT_ONE_OF,
                                           .key_spec_index = -1,
                                           .flags = last->flags,
                                           .inner = &a->inner[inner]};
                inner++;
                choice = true;
            }
            continue;
        }
        optional = optional || *word == '[';
        word += *word == '[';
        size_t length = strlen(word);
        bool closes = word[length - 1] == ']';
        if (closes)
            word[length - 1] = 0;
        int flags = (optional ? ARGUMENT_OPTIONAL : 0) | (take_dots(word) ? ARGUMENT_MULTIPLE : 0);
        if (choice) {
            add(&a->inner[inner++], word, 0);
        } else if (last != NULL && !is_token(word)) { /* TOKEN name */
            const char *token = last->token;
            add(last, word, flags);
            last->token = token;
            last = NULL;
        } else {
            last = &a->all[count++];
            add(last, word, flags);
            if (!is_token(word))
                last = NULL;
        }
        if (closes) {
            inner += choice; /* the end of the choices */
            optional = choice = false;
            last = NULL;
        }
    }
}
