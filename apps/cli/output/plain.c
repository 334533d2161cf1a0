/* plain.c: makes text safe to print; see plain.h. */
#include "cli/output/plain.h"

#include <stdbool.h>
#include <string.h>

size_t plain_character(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    unsigned char first = at[0];
    size_t bytes = first < 0x80                     ? 1
                   : first >= 0xC2 && first <= 0xDF ? 2
                   : first >= 0xE0 && first <= 0xEF ? 3
                   : first >= 0xF0 && first <= 0xF4 ? 4
                                                    : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (first == 0xE0 && at[1] < 0xA0) || (first == 0xF0 && at[1] < 0x90);
    bool beyond = (first == 0xED && at[1] > 0x9F) || (first == 0xF4 && at[1] > 0x8F);
    return overlong || beyond ? 0 : bytes;
}

static bool is_control(const char *text) {
    unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
    return first < 0x20 || first == 0x7F || (first == 0xC2 && second < 0xA0);
}

void plain_make(char *text) {
    while (*text != '\0') {
        size_t bytes = plain_character(text);
        bool is_bad = bytes == 0 || is_control(text);
        if (is_bad)
            memset(text, '?', bytes != 0 ? bytes : 1);
        text += bytes != 0 ? bytes : 1;
    }
}
