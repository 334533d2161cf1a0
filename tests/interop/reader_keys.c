/* Keys with a type: a line becomes the bytes of a number or UUID. A text is valid if it is what the key is written as
 * again. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static void store(uint8_t *at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static bool int_key(const char *text, uint8_t *key) {
    char again[32];
    errno = 0;
    int64_t number = strtoll(text, NULL, 10);
    snprintf(again, sizeof again, "%" PRId64, number);
    store(key, (uint64_t)number);
    return errno == 0 && strcmp(text, again) == 0;
}

static bool uint_key(const char *text, uint8_t *key) {
    char again[32];
    errno = 0;
    uint64_t number = strtoull(text, NULL, 10);
    snprintf(again, sizeof again, "%" PRIu64, number);
    store(key, number);
    return errno == 0 && strcmp(text, again) == 0;
}

static bool uuid_key(const char *text, uint8_t *key) {
    unsigned at = 0;
    for (unsigned i = 0; i < 36; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
        if (hyphen)
            continue;
        char digit[2] = {text[i], '\0'};
        uint8_t value = (uint8_t)strtoul(digit, NULL, 16);
        key[at / 2] = (uint8_t)(at % 2 == 0 ? value << 4 : key[at / 2] | value);
        at++;
    }
    return text[36] == '\0';
}

size_t typed_key(unsigned type, const uint8_t *line, size_t bytes, uint8_t key[16]) {
    char text[40];
    if (bytes >= sizeof text || memchr(line, 0, bytes) != NULL)
        return 0;
    memcpy(text, line, bytes);
    text[bytes] = '\0';
    switch (type) {
    case 1:
        return int_key(text, key) ? 8 : 0;
    case 2:
        return uint_key(text, key) ? 8 : 0;
    default:
        return uuid_key(text, key) ? 16 : 0;
    }
}
