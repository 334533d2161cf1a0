/* words.c: the option words of BF.INSERT and CF.INSERT; see words.h. */
#include "words.h"

#include <ctype.h>

#include "arguments.h"

static const char *const WORDS[] = {"ITEMS", "NOCREATE", "NONSCALING", "CAPACITY", "ERROR", "EXPANSION"};

/* Letter i of the argument as a lower-case one, or 0. */
static int letter(const RedisModuleString *argument, size_t i) {
    size_t bytes;
    const char *text = server.StringPtrLen(argument, &bytes);
    return i < bytes ? tolower((unsigned char)text[i]) : 0;
}

/* The first letter decides. Of the words of BF.INSERT that begin alike, ERROR has an r as second letter, and NOCREATE a
 * c as third. */
static word read_as_redisbloom(const RedisModuleString *argument, command_set set) {
    switch (letter(argument, 0)) {
    case 'i':
        return WORD_ITEMS;
    case 'c':
        return WORD_CAPACITY;
    case 'n':
        return set == COMMANDS_CF || letter(argument, 2) == 'c' ? WORD_NOCREATE : WORD_NONSCALING;
    case 'e':
        return letter(argument, 1) == 'r' ? WORD_ERROR : WORD_EXPANSION;
    default:
        return WORD_UNKNOWN;
    }
}

word word_of(const RedisModuleString *argument, command_set set, bool as_redisbloom) {
    if (as_redisbloom)
        return read_as_redisbloom(argument, set);
    int found = 0;
    while (found < WORD_UNKNOWN && !argument_is(argument, WORDS[found]))
        found++;
    return (word)found;
}
