/* words.h: the option words of BF.INSERT and CF.INSERT.
 *
 * RedisBloom reads these words by their first letters: IGLOO is ITEMS. Clients get an error for a word that is not
 * exactly an option. But commands of an AOF or of a primary may come from RedisBloom, which has carried them out: they
 * are read as RedisBloom reads them, or what they did would be lost. */
#ifndef KITH_REDIS_WORDS_H
#define KITH_REDIS_WORDS_H

#include "keys.h"

typedef enum word {
    WORD_ITEMS,
    WORD_NOCREATE,
    WORD_NONSCALING,
    WORD_CAPACITY,
    WORD_ERROR,
    WORD_EXPANSION,
    WORD_UNKNOWN
} word;

/* Returns the option of BF.INSERT or CF.INSERT that the argument stands for, in any case. `as_redisbloom`: by its first
 * letters. */
word word_of(const RedisModuleString *argument, command_set set, bool as_redisbloom);

#endif
