/* arguments.c: reading the arguments of commands; see arguments.h. */
#include "arguments.h"

#include <string.h>
#include <strings.h>

bool argument_is(const RedisModuleString *argument, const char *word) {
    size_t bytes;
    const char *text = server.StringPtrLen(argument, &bytes);
    return bytes == strlen(word) && strncasecmp(text, word, bytes) == 0;
}

argument_result argument_number(const RedisModuleString *argument, long long least, long long most, long long *number) {
    long long n;
    if (server.StringToLongLong(argument, &n) != SERVER_OK)
        return ARGUMENT_BAD;
    if (n < least || n > most)
        return ARGUMENT_RANGE;
    *number = n;
    return ARGUMENT_OK;
}

argument_result argument_rate(const RedisModuleString *argument, double *rate) {
    double r;
    if (server.StringToDouble(argument, &r) != SERVER_OK)
        return ARGUMENT_BAD;
    if (!(r > 0 && r < 1)) /* also true for NaN */
        return ARGUMENT_RANGE;
    *rate = r;
    return ARGUMENT_OK;
}

const char *argument_rate_or_error(const RedisModuleString *argument, double *rate) {
    argument_result result = argument_rate(argument, rate);
    return result == ARGUMENT_OK    ? NULL
           : result == ARGUMENT_BAD ? "ERR bad error rate"
                                    : "ERR error rate must be in the range (0.000000, 1.000000)";
}
