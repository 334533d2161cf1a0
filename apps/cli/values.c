/* values.c: converts numbers from and to text; see values.h. Numbers with a point, an exponent or a unit (1.5M, 1e7)
 * are read as a double, which is exact up to 2^53, and rounded. Plain digits are read as an integer, which is always
 * exact. */
#include "cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_TO_64 18446744073709551616.0

/* Reads a decimal number without sign, blanks, hex digits or words (inf, nan). Underscores between digits are ignored.
 * *rest is set to what follows the number. */
static bool read_plain(const char *text, double *value, const char **rest) {
    char digits[64];
    size_t used = 0;
    size_t i = 0;
    bool exponent = false;
    for (; text[i] != '\0' && used + 1 < sizeof digits; i++) {
        char c = text[i];
        bool grouping = c == '_' && i > 0 && isdigit((unsigned char)text[i - 1]) && isdigit((unsigned char)text[i + 1]);
        if (grouping)
            continue;
        bool sign = exponent && (c == '-' || c == '+') && (text[i - 1] == 'e' || text[i - 1] == 'E');
        bool mark = !exponent && used > 0 && (c == 'e' || c == 'E') &&
                    (isdigit((unsigned char)text[i + 1]) ||
                     ((text[i + 1] == '-' || text[i + 1] == '+') && isdigit((unsigned char)text[i + 2])));
        if (!isdigit((unsigned char)c) && c != '.' && !sign && !mark)
            break;
        exponent = exponent || mark;
        digits[used++] = c;
    }
    digits[used] = '\0';
    char *end;
    errno = 0;
    *value = strtod(digits, &end);
    *rest = text + i;
    return used > 0 && *end == '\0' && isfinite(*value);
}

const char *read_rate(const char *text, double *rate) {
    static const char shape[] = "is not a rate: write it as 0.1%, 0.001, 1/1000 or 1e-3";
    double value;
    const char *rest;
    if (!read_plain(text, &value, &rest))
        return shape;
    if (*rest == '%') {
        value /= 100;
        rest++;
    } else if (*rest == '/') {
        double below;
        if (!read_plain(rest + 1, &below, &rest) || below == 0)
            return shape;
        value /= below;
    }
    if (*rest != '\0')
        return shape;
    if (!(value > 0 && value < 1))
        return "is out of range: a rate must be greater than 0 and less than 1";
    *rate = value;
    return NULL;
}

/* Reads a text that consists only of digits and is below 2^64. */
static bool read_whole(const char *text, uint64_t *number) {
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static const char *read_scaled(const char *text, const char *shape, bool binary_units, uint64_t *number) {
    if (read_whole(text, number))
        return NULL;
    double value;
    const char *rest;
    if (!read_plain(text, &value, &rest))
        return shape;
    static const char letters[] = "KMGTPE";
    const char *letter = *rest != '\0' ? strchr(letters, toupper((unsigned char)*rest)) : NULL;
    if (letter != NULL) {
        rest++;
        bool binary = binary_units && *rest == 'i';
        rest += binary;
        value *= pow(binary ? 1024 : 1000, (double)(letter - letters + 1));
    }
    if (binary_units && (*rest == 'B' || *rest == 'b'))
        rest++;
    if (*rest != '\0')
        return shape;
    if (value >= TWO_TO_64)
        return "is too large";
    if (letter == NULL && value != floor(value))
        return "is not a whole number";
    *number = (uint64_t)(value + 0.5);
    return NULL;
}

const char *read_count(const char *text, uint64_t *count) {
    uint64_t value;
    const char *wrong = read_scaled(text, "is not a count: write it as 10000000, 10M or 1e7", false, &value);
    if (wrong != NULL)
        return wrong;
    if (value == 0)
        return "is too small: use at least 1";
    *count = value;
    return NULL;
}

const char *read_count_or_time(const char *text, uint64_t *count, uint64_t *milliseconds) {
    double value;
    const char *rest;
    bool is_plain = read_plain(text, &value, &rest);
    double unit = !is_plain ? 0 : strcmp(rest, "s") == 0 ? 1000 : strcmp(rest, "ms") == 0 ? 1 : 0;
    *count = *milliseconds = 0;
    if (unit == 0)
        return read_count(text, count) == NULL
                   ? NULL
                   : "is neither a number of lines (1000, 10K) nor a time (5s, 0.5s, 500ms)";
    if (!(value * unit >= 1 && value * unit <= 1e12))
        return "is out of range: use a time from 1ms to 1e9s";
    *milliseconds = (uint64_t)(value * unit + 0.5);
    return NULL;
}

const char *read_size(const char *text, uint64_t *bytes) {
    uint64_t value;
    const char *wrong = read_scaled(text, "is not a size: write it as 64MiB, 1G or 1e9", true, &value);
    if (wrong != NULL)
        return wrong;
    if (value == 0)
        return "is too small: use at least 1 byte";
    *bytes = value;
    return NULL;
}

const char *read_number(const char *text, uint64_t *number) {
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");
        if (digits == 0 || digits > 16 || text[2 + digits] != '\0')
            return "is not a whole number below 2^64";
        *number = strtoull(text, NULL, 16);
        return NULL;
    }
    return read_whole(text, number) ? NULL : "is not a whole number below 2^64";
}

/* Three significant digits, without trailing zeroes: 12.4, 10, 999. */
static void three_digits(double value, char *text, size_t size) {
    int places = value < 10 ? 2 : value < 100 ? 1 : 0;
    (void)snprintf(text, size, "%.*f", places, value);
    if (strchr(text, '.') == NULL)
        return;
    size_t end = strlen(text);
    while (text[end - 1] == '0')
        text[--end] = '\0';
    if (text[end - 1] == '.')
        text[end - 1] = '\0';
}

/* Divides `value` by a power of 1000 and returns the letter of that power, or 0 if value is below 1000. */
static char scale(double *value) {
    static const char letters[] = {0, 'K', 'M', 'G', 'T', 'P', 'E'};
    size_t power = 0;
    while (*value >= 999.5 && power + 1 < sizeof letters) {
        *value /= 1000;
        power++;
    }
    return letters[power];
}

const char *text_of_count(uint64_t count, value_text text) {
    double value = (double)count;
    char letter = scale(&value);
    char digits[16];
    three_digits(value, digits, sizeof digits);
    (void)snprintf(text, sizeof(value_text), letter != 0 ? "%s%c" : "%s", digits, letter);
    return text;
}

const char *text_of_count_exact(uint64_t count, value_text text) {
    static const char letters[] = "KMGTPE";
    size_t power = 0;
    for (; count != 0 && count % 1000 == 0 && power + 1 < sizeof letters; power++)
        count /= 1000;
    (void)snprintf(text, sizeof(value_text), "%llu%.*s", (unsigned long long)count, power > 0,
                   power > 0 ? &letters[power - 1] : "");
    return text;
}

const char *text_of_size(uint64_t bytes, value_text text) {
    double value = (double)bytes;
    char letter = scale(&value);
    char digits[16];
    three_digits(value, digits, sizeof digits);
    if (letter == 'K')
        letter = 'k';
    (void)snprintf(text, sizeof(value_text), letter != 0 ? "%s %cB" : "%s B", digits, letter);
    return text;
}

static const char *write_rate(double rate, int digits, value_text text) {
    (void)snprintf(text, sizeof(value_text), "%.*g%%", digits, rate * 100);
    return text;
}

const char *text_of_rate(double rate, value_text text) {
    return write_rate(rate, 3, text);
}

const char *text_of_rate_beside(double rate, double other, value_text text) {
    value_text beside;
    (void)text_of_rate(other, beside);
    for (int digits = 3; strcmp(write_rate(rate, digits, text), beside) == 0 && digits < DBL_DIG; digits++)
        continue;
    return text;
}

const char *text_of_integer(uint64_t number, value_text text) {
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

const char *text_of_keys(uint64_t count, value_text text) {
    size_t used = strlen(text_of_integer(count, text));
    (void)snprintf(text + used, sizeof(value_text) - used, " key%s", count == 1 ? "" : "s");
    return text;
}
