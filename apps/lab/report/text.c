/* text.c: see text.h. */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/memory.h>

static const char MINUS[] = "\u2212", TIMES[] = "\u00b7", THIN_SPACE[] = "\u202f";

static void reserve(lab_text *t, size_t more) {
    size_t needed = t->used + more + 1;
    if (needed <= t->capacity)
        return;
    t->capacity = needed * 2;
    t->bytes = lab_more(t->bytes, t->capacity);
}

void text_bytes(lab_text *t, const char *bytes, size_t count) {
    reserve(t, count);
    memcpy(t->bytes + t->used, bytes, count);
    t->used += count;
    t->bytes[t->used] = '\0';
}

void text_put(lab_text *t, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int count = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (count > 0) {
        reserve(t, (size_t)count);
        (void)vsnprintf(t->bytes + t->used, (size_t)count + 1, format, again);
        t->used += (size_t)count;
    }
    va_end(again);
}

/* ---- HTML ---- */

void text_escaped_bytes(lab_text *t, const char *plain, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)plain[i];
        switch (c) {
        case '&':
            text_bytes(t, "&amp;", 5);
            break;
        case '<':
            text_bytes(t, "&lt;", 4);
            break;
        case '>':
            text_bytes(t, "&gt;", 4);
            break;
        case '"':
            text_bytes(t, "&quot;", 6);
            break;
        default:
            if (c >= ' ' || c == '\n' || c == '\t')
                text_bytes(t, &plain[i], 1);
        }
    }
}

void text_escaped(lab_text *t, const char *plain) {
    text_escaped_bytes(t, plain, strlen(plain));
}

/* ---- numbers ---- */

enum { DIGITS_MAX = 12 };
#define WHOLE_BELOW 1e7 /* integers from here on are written with a power of ten */
#define PLAIN_FROM 1e-3 /* other numbers outside this range are written with a power of ten */
#define PLAIN_BELOW 1e5

static void put_raised(lab_text *t, int exponent) {
    static const char *const RAISED[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    char digits[16];
    (void)snprintf(digits, sizeof digits, "%d", exponent);
    for (const char *d = digits; *d != '\0'; d++)
        text_put(t, "%s", *d == '-' ? "\u207b" : RAISED[*d - '0']);
}

static void drop_zeros(char *digits) {
    if (strchr(digits, '.') == NULL)
        return;
    size_t end = strlen(digits);
    while (digits[end - 1] == '0')
        digits[--end] = '\0';
    if (digits[end - 1] == '.')
        digits[end - 1] = '\0';
}

/* Numbers of five or more digits are written in groups of three. */
static void put_whole(lab_text *t, double value) {
    char digits[32];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%.0f", value);
    for (size_t i = 0; i < count; i++) {
        if (count > 4 && i > 0 && (count - i) % 3 == 0)
            text_put(t, "%s", THIN_SPACE);
        text_bytes(t, &digits[i], 1);
    }
}

static void put_number(lab_text *t, double value, int digits, bool short_form) {
    if (isnan(value)) {
        text_put(t, "not a number");
        return;
    }
    if (value < 0)
        text_put(t, "%s", MINUS);
    value = fabs(value);
    if (isinf(value)) {
        text_put(t, "\u221e");
        return;
    }
    if (value == 0 || (short_form && value == floor(value) && value < WHOLE_BELOW)) {
        put_whole(t, value);
        return;
    }
    char shown[64];
    (void)snprintf(shown, sizeof shown, "%.*e", digits - 1, value); /* rounded only here, so that 0.99996 becomes 1 */
    char *mark = strchr(shown, 'e');
    int exponent = atoi(mark + 1);
    double rounded = strtod(shown, NULL);
    if (rounded >= PLAIN_FROM && rounded < PLAIN_BELOW) {
        int places = digits - 1 - exponent;
        if (places <= 0) {
            put_whole(t, round(value));
            return;
        }
        (void)snprintf(shown, sizeof shown, "%.*f", places, rounded);
        if (short_form)
            drop_zeros(shown);
        text_put(t, "%s", shown);
        return;
    }
    *mark = '\0';
    if (short_form)
        drop_zeros(shown);
    bool is_power = strcmp(shown, "1") == 0;
    text_put(t, "%s%s10", is_power ? "" : shown, is_power ? "" : TIMES);
    put_raised(t, exponent);
}

void text_power(lab_text *t, int exponent) {
    if (exponent == 0 || exponent == 1) {
        text_put(t, exponent == 0 ? "1" : "10");
        return;
    }
    text_put(t, "10");
    put_raised(t, exponent);
}

void text_number(lab_text *t, double value, int digits) {
    put_number(t, value, digits > 0 ? digits : TEXT_DIGITS, true);
}

void text_digits(lab_text *t, double value, int digits) {
    put_number(t, value, digits > 0 ? digits : TEXT_DIGITS, digits == 0);
}

int text_digits_of(double value, double low, double high) {
    if (value == floor(value) && low == floor(low) && high == floor(high))
        return 0;
    double off = fmax(high - value, value - low);
    if (!(off > 0) || !isfinite(off) || value == 0)
        return TEXT_DIGITS;
    int digits = (int)(floor(log10(fabs(value))) - floor(log10(off))) + 2;
    return digits < TEXT_DIGITS ? TEXT_DIGITS : digits > DIGITS_MAX ? DIGITS_MAX : digits;
}
