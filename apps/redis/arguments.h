/* arguments.h: reading the arguments of commands. */
#ifndef KITH_REDIS_ARGUMENTS_H
#define KITH_REDIS_ARGUMENTS_H

#include "api.h"

/* Returns true if the argument is this word, in any case. */
bool argument_is(const RedisModuleString *argument, const char *word);

typedef enum argument_result {
    ARGUMENT_OK,
    ARGUMENT_BAD,   /* not a number */
    ARGUMENT_RANGE, /* outside the range */
} argument_result;

/* Reads a whole number from least … most. *number is written only on success. */
argument_result argument_number(const RedisModuleString *argument, long long least, long long most, long long *number);

/* Reads a rate: above 0 and below 1. */
argument_result argument_rate(const RedisModuleString *argument, double *rate);

/* The same, but returns NULL, or the error to reply with. */
const char *argument_rate_or_error(const RedisModuleString *argument, double *rate);

#endif
