/* input/parse_json.c: a strict JSON parser for one line, which extracts one value.
 *
 * The whole line is checked against RFC 8259, including UTF-8, so that a line that was truncated or joined with another
 * is never accepted as a record. No tree is built: values that are not needed are skipped.
 *
 * Nesting is handled without recursion: for each open level, one bit says whether it is an object (1) or an array (0).
 *
 *     {"a":[1,{"b":2   levels  1 0 1
 *
 * DEPTH_MAX is a common limit of JSON parsers; a line that is nested deeper is an error.
 *
 * Strings without a backslash, which is nearly all of them, are used where they are. Others are decoded into `buffer`.
 * An escape is longer than its decoded form (\n: 2 bytes to 1; \u00e9: 6 to 2; \u20ac: 6 to 3; a surrogate pair: 12 to
 * 4), so as many bytes as the line has are enough. A name with a backslash is decoded there as well, after the value
 * that is kept. */
#include "cli/input/parse_json.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 1024

typedef struct reader {
    const char *at, *end;
    char *buffer;      /* where the free part of the buffer begins */
    const char *wrong; /* the first error, a constant; NULL: none */
    uint64_t levels[DEPTH_MAX / 64];
    unsigned depth;
} reader;

typedef struct text {
    const char *bytes;
    size_t byte_count;
    bool is_number;
} text;

static bool bad(reader *r, const char *wrong) {
    if (r->wrong == NULL)
        r->wrong = wrong;
    return false;
}

static void skip_blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'))
        r->at++;
}

/* Returns the next byte that is not white space; 0 at the end, which does not occur in JSON outside a string. */
static char peek(reader *r) {
    skip_blanks(r);
    return r->at < r->end ? *r->at : '\0';
}

/* ---- strings ---- */

/* Returns the length of the UTF-8 sequence at `at`, or 0 if it is invalid: overlong, a surrogate, or above U+10FFFF. */
static size_t utf8_bytes(const char *at, const char *end) {
    uint8_t first = (uint8_t)*at;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (((uint8_t)at[i] & 0xc0) != 0x80)
            return 0;
    uint8_t second = (uint8_t)at[1];
    bool fits = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0) &&
                (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
    return fits ? length : 0;
}

static bool hex4(reader *r, uint32_t *value) {
    if (r->end - r->at < 4)
        return bad(r, "\\u is not followed by four hex digits");
    *value = 0;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        char lower = (char)(c | 0x20);
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : (uint32_t)(lower - 'a' + 10);
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f'))
            return bad(r, "\\u is not followed by four hex digits");
        *value = *value << 4 | digit;
    }
    return true;
}

static char *put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* After a backslash: decodes one character to `to`. */
static bool escape(reader *r, char **to) {
    static const char NAMES[] = "\"\\/bfnrt", MEANINGS[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    const char *known = c == '\0' ? NULL : strchr(NAMES, c);
    if (known != NULL) {
        *(*to)++ = MEANINGS[known - NAMES];
        return true;
    }
    if (c != 'u')
        return bad(r, "an unknown escape in a string");
    uint32_t value, low;
    if (!hex4(r, &value))
        return false;
    if (value >= 0xd800 && value < 0xe000) {
        if (value >= 0xdc00 || r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
            return bad(r, "half of a surrogate pair");
        r->at += 2;
        if (!hex4(r, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return bad(r, "half of a surrogate pair");
        value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_utf8(*to, value);
    return true;
}

/* Skips ordinary characters, up to a quote or a backslash. */
static bool plain_characters(reader *r) {
    while (r->at < r->end) {
        uint8_t c = (uint8_t)*r->at;
        if (c == '"' || c == '\\')
            return true;
        if (c < 0x20)
            return bad(r, "a control character in a string");
        size_t length = c < 0x80 ? 1 : utf8_bytes(r->at, r->end);
        if (length == 0)
            return bad(r, "a string is not UTF-8");
        r->at += length;
    }
    return bad(r, "a string is not closed");
}

/* Reads a string, from its opening quote on. A string with escapes is decoded into r->buffer; the caller advances
 * r->buffer if it keeps the string. */
static bool string(reader *r, text *t) {
    const char *start = ++r->at;
    if (!plain_characters(r))
        return false;
    if (*r->at == '"') {
        *t = (text){start, (size_t)(r->at++ - start), false};
        return true;
    }
    char *to = r->buffer;
    for (;;) {
        memcpy(to, start, (size_t)(r->at - start));
        to += r->at - start;
        if (*r->at++ == '"')
            break;
        if (!escape(r, &to))
            return false;
        start = r->at;
        if (!plain_characters(r))
            return false;
    }
    *t = (text){r->buffer, (size_t)(to - r->buffer), false};
    return true;
}

/* ---- other values ---- */

static bool digits(reader *r) {
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > start || bad(r, "not a valid JSON number");
}

static bool next_is(reader *r, char a, char b) {
    if (r->at == r->end || (*r->at != a && *r->at != b))
        return false;
    r->at++;
    return true;
}

static bool number(reader *r, text *t) {
    const char *start = r->at;
    next_is(r, '-', '-');
    if (!next_is(r, '0', '0') && !digits(r))
        return false;
    if (next_is(r, '.', '.') && !digits(r))
        return false;
    if (next_is(r, 'e', 'E')) {
        next_is(r, '+', '-');
        if (!digits(r))
            return false;
    }
    *t = (text){start, (size_t)(r->at - start), true};
    return true;
}

static bool word(reader *r, const char *expected) {
    size_t length = strlen(expected);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, expected, length) != 0)
        return bad(r, "not JSON");
    r->at += length;
    return true;
}

/* ---- nesting ---- */

static bool enter(reader *r, bool object) {
    if (r->depth == DEPTH_MAX)
        return bad(r, "nested deeper than 1024 levels");
    uint64_t bit = UINT64_C(1) << (r->depth % 64), *level = &r->levels[r->depth / 64];
    *level = object ? *level | bit : *level & ~bit;
    r->depth++;
    return true;
}

static bool in_object(const reader *r) {
    return r->levels[(r->depth - 1) / 64] >> ((r->depth - 1) % 64) & 1;
}

/* After an element: skips a comma, or the bracket that closes the level; then *last is true. */
static bool after_element(reader *r, bool *last) {
    char c = peek(r);
    *last = c == (in_object(r) ? '}' : ']');
    if (!*last && c != ',')
        return bad(r, r->at == r->end ? "the line ends inside a value" : "not JSON");
    r->at++;
    r->depth -= *last;
    return true;
}

static bool is_scalar(char c) {
    return c == '"' || c == '-' || (c >= '0' && c <= '9');
}

static bool scalar(reader *r, text *t) {
    return *r->at == '"' ? string(r, t) : number(r, t);
}

/* Reads a name and its colon. */
static bool member(reader *r, text *t) {
    if (peek(r) != '"')
        return bad(r, r->at == r->end ? "the line ends inside an object" : "expected a name in quotes");
    if (!string(r, t))
        return false;
    if (peek(r) != ':')
        return bad(r, "expected a colon after a name");
    r->at++;
    return true;
}

/* Reads a value, or the opening bracket of one. Returns true after a complete value, false if a level was opened or
 * after an error. */
static bool value(reader *r, text *t) {
    char c = peek(r);
    if (c == '{' || c == '[') {
        r->at++;
        if (!enter(r, c == '{'))
            return false;
        if (peek(r) != (c == '{' ? '}' : ']'))
            return false;
        r->at++;
        r->depth--;
        return true;
    }
    if (is_scalar(c))
        return scalar(r, t);
    if (c == '\0' && r->at == r->end)
        return bad(r, "the line ends where a value is expected");
    return c == 't' ? word(r, "true") : c == 'f' ? word(r, "false") : word(r, "null");
}

/* Reads a complete value, with everything inside it. */
static bool whole_value(reader *r, text *t) {
    unsigned outside = r->depth;
    for (;;) {
        bool closed = value(r, t);
        if (r->wrong != NULL)
            return false;
        while (closed && r->depth > outside) {
            bool last;
            if (!after_element(r, &last))
                return false;
            closed = last;
        }
        if (r->depth == outside)
            return true;
        text unused;
        if (in_object(r) && !member(r, &unused))
            return false;
    }
}

static bool object(reader *r, const char *name, text *key, bool *found, bool *other) {
    if (peek(r) != '{')
        return bad(r, r->at == r->end ? "the line is empty, not a JSON object" : "not a JSON object");
    r->at++;
    if (!enter(r, true))
        return false;
    bool last = peek(r) == '}';
    if (last)
        r->at++;
    size_t name_bytes = strlen(name);
    while (!last) {
        text field, got = {NULL, 0, false};
        if (!member(r, &field))
            return false;
        bool wanted = field.byte_count == name_bytes && memcmp(field.bytes, name, name_bytes) == 0;
        bool usable = is_scalar(peek(r));
        if (!whole_value(r, &got))
            return false;
        if (wanted) {
            *found = usable;
            *other = !usable;
            *key = got;
            if (usable && got.bytes == r->buffer)
                r->buffer += got.byte_count;
        }
        if (!after_element(r, &last))
            return false;
    }
    skip_blanks(r);
    return r->at == r->end || bad(r, "unexpected text after the JSON object");
}

const char *json_key(const char *name, input_record *record, bool *is_number, char *buffer, char *reason,
                     size_t reason_bytes) {
    reader r = {.at = record->line, .end = record->line + record->line_bytes, .buffer = buffer};
    text key = {NULL, 0, false};
    bool found = false, other = false;
    if (!object(&r, name, &key, &found, &other))
        return r.wrong;
    if (!found) {
        snprintf(reason, reason_bytes, other ? "the field \"%s\" is neither a string nor a number" : "no field \"%s\"",
                 name);
        return reason;
    }
    record->key = key.bytes;
    record->key_bytes = key.byte_count;
    *is_number = key.is_number;
    return NULL;
}
