/* input/key.c: makes the key of a line.
 *
 *     line -> column, or value of a JSON field -> trim -> hex, fold, number or UUID -> type of a JSON value -> key
 *
 * Each step returns a part of its input, or writes a result that is not longer than its input. So a buffer as long as
 * the line is enough for all steps, and a step may overwrite its own input from front to back. Only numbers and UUIDs
 * have a place of their own: the 8 bytes of "5" are longer than its text.
 *
 * Columns. With `quotes` the line is CSV: a field that begins with a quote ends at the next quote that is not doubled,
 * which must be followed by a delimiter or the end of the record; a quote elsewhere is an ordinary character. The whole
 * record is checked, even after the column that is needed. A newline in a quoted field is part of it: a record
 * continues on the next line if a quote is open at the end of a line. A doubled quote never spans two lines, so at the
 * end of a line it is enough to know whether a quote is open. */
#include "cli/input/key.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/input/parse_json.h"

const char KEY_QUOTE_OPEN[] = "a quote is not closed" KEY_NO_QUOTES;
const char KEY_QUOTE_AND_CR[] = "a closing quote is followed by CR: use --crlf";

bool key_is_line(const input_shape *shape) {
    return shape->field == 0 && shape->json_field == NULL && !shape->hex && !shape->fold && !shape->trim &&
           shape->cr != INPUT_CR_STRIP && !key_is_read(shape);
}

void key_set_type(input_shape *shape, kith_key_type type) {
    shape->keys = type;
    if (key_is_read(shape) && shape->end == '\n')
        shape->cr = INPUT_CR_STRIP;
}

bool key_is_read(const input_shape *shape) {
    return shape->keys != KITH_KEYS_BYTES && shape->fixed_bytes == 0;
}

bool key_has_lines(const input_shape *shape) {
    return shape->field != 0 && shape->quotes && shape->end == '\n';
}

bool key_may_have_cr(const input_shape *shape) {
    return shape->cr != INPUT_CR_KEEP && shape->end == '\n' && shape->fixed_bytes == 0 && shape->json_field == NULL &&
           !shape->trim && !shape->hex && !key_is_read(shape);
}

bool key_may_have_nul(const input_shape *shape) {
    return !shape->text && shape->end == '\n' && shape->fixed_bytes == 0 && shape->json_field == NULL && !shape->hex &&
           !key_is_read(shape);
}

bool key_needs_buffer(const input_shape *shape) {
    return (shape->field != 0 && shape->quotes) || shape->json_field != NULL || shape->hex || shape->fold;
}

static const char *no_column(unsigned wanted, unsigned there, char *reason, size_t reason_bytes) {
    snprintf(reason, reason_bytes, "no column %u: the line has only %u", wanted, there);
    return reason;
}

static const char *column(const input_shape *shape, input_record *r, char *reason, size_t reason_bytes) {
    const char *at = r->line, *end = at + r->line_bytes;
    for (unsigned field = 1;; field++) {
        const char *stop = at == end ? NULL : memchr(at, shape->delim, (size_t)(end - at));
        if (field == shape->field) {
            r->key = at;
            r->key_bytes = (size_t)((stop == NULL ? end : stop) - at);
            return NULL;
        }
        if (stop == NULL)
            return no_column(shape->field, field, reason, reason_bytes);
        at = stop + 1;
    }
}

/* `at` is after an opening quote. Returns the position after the closing quote, or NULL if there is none. Sets *doubled
 * to the number of doubled quotes in between. */
static const char *quoted_end(const char *at, const char *end, size_t *doubled) {
    *doubled = 0;
    for (;;) {
        const char *quote = at == end ? NULL : memchr(at, '"', (size_t)(end - at));
        if (quote == NULL)
            return NULL;
        at = quote + 1;
        if (at == end || *at != '"')
            return at;
        (*doubled)++;
        at++;
    }
}

key_quotes key_quotes_of(const char *line, size_t line_bytes, char delim) {
    const char *at = line, *end = line + line_bytes;
    size_t doubled;
    for (bool open = true;; open = *at == '"', at += open) {
        at = open ? quoted_end(at, end, &doubled) : memchr(at, delim, (size_t)(end - at));
        if (at == NULL)
            return open ? KEY_QUOTES_OPEN : KEY_QUOTES_CLOSED;
        if (at < end && *at != delim)
            return KEY_QUOTES_BROKEN;
        if (at == end || ++at == end)
            return KEY_QUOTES_CLOSED;
    }
}

static size_t undouble(const char *from, const char *end, char *to) {
    char *start = to;
    while (from < end) {
        *to++ = *from;
        from += *from == '"' ? 2 : 1;
    }
    return (size_t)(to - start);
}

static const char *csv_column(const input_shape *shape, input_record *r, char *buffer, char *reason,
                              size_t reason_bytes) {
    const char *at = r->line, *end = at + r->line_bytes;
    bool found = false;
    for (unsigned field = 1;; field++) {
        const char *key = at, *key_end;
        size_t doubled = 0;
        if (at < end && *at == '"') {
            key = at + 1;
            at = quoted_end(key, end, &doubled);
            if (at == NULL)
                return KEY_QUOTE_OPEN;
            key_end = at - 1;
            if (at + 1 == end && *at == '\r')
                return KEY_QUOTE_AND_CR;
            if (at < end && *at != shape->delim)
                return "a closing quote is followed by more of its field" KEY_NO_QUOTES;
        } else {
            at = at == end ? NULL : memchr(at, shape->delim, (size_t)(end - at));
            if (at == NULL)
                at = end;
            key_end = at;
        }
        if (field == shape->field) {
            found = true;
            r->key = key;
            r->key_bytes = (size_t)(key_end - key);
            if (doubled != 0) {
                r->key = buffer;
                r->key_bytes = undouble(key, key_end, buffer);
            }
        }
        if (at == end)
            return found ? NULL : no_column(shape->field, field, reason, reason_bytes);
        at++;
    }
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(input_record *r) {
    while (r->key_bytes > 0 && is_blank(r->key[r->key_bytes - 1]))
        r->key_bytes--;
    while (r->key_bytes > 0 && is_blank(*r->key)) {
        r->key++;
        r->key_bytes--;
    }
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns true if the key is "9A:6E:01": two characters, a colon, two characters, and so on. */
static bool has_colons(const input_record *r) {
    if (r->key_bytes < 5 || r->key_bytes % 3 != 2)
        return false;
    for (size_t i = 2; i < r->key_bytes; i += 3)
        if (r->key[i] != ':')
            return false;
    return true;
}

static const char *unhex(input_record *r, char *buffer) {
    size_t step = has_colons(r) ? 3 : 2;
    if (r->key_bytes > 0 && r->key[r->key_bytes - 1] == '\r')
        return "the hex digits are followed by CR: use --crlf";
    if (step == 2 && r->key_bytes > 0 && memchr(r->key, ':', r->key_bytes) != NULL)
        return "a ':' that does not follow every two hex digits (if a column ends there, use --field 1 --delim :)";
    if (step == 2 && r->key_bytes % 2 != 0)
        return "an odd number of hex digits";
    size_t used = 0;
    for (size_t i = 0; i < r->key_bytes; i += step) {
        int high = hex_digit(r->key[i]), low = hex_digit(r->key[i + 1]);
        if (high < 0 || low < 0)
            return "not a hex digit";
        buffer[used++] = (char)(high << 4 | low);
    }
    r->key = buffer;
    r->key_bytes = used;
    return NULL;
}

void key_fold(input_record *r, char *buffer) {
    for (size_t i = 0; i < r->key_bytes; i++) {
        char c = r->key[i];
        buffer[i] = (char)(c + (c >= 'A' && c <= 'Z') * ('a' - 'A'));
    }
    r->key = buffer;
}

/* Makes the keys of numbers and strings different: see input/parse_json.h. The value is shorter than its line, which
 * also has braces and a name, so one more byte fits into the buffer. */
static void set_type(input_record *r, bool is_number, char *buffer) {
    if (!is_number && (r->key_bytes == 0 || *r->key != '\0'))
        return;
    memmove(buffer + 1, r->key, r->key_bytes);
    *buffer = '\0';
    r->key = buffer;
    r->key_bytes++;
}

static const char *read_typed(kith_key_type type, input_record *r, key_typed *typed) {
    kith_status status = kith_key_parse(type, r->key, r->key_bytes, *typed);
    r->key = (const char *)*typed;
    r->key_bytes = kith_key_type_bytes(type);
    if (status == KITH_OK)
        return NULL;
    if (status == KITH_E_KEY_RANGE)
        return type == KITH_KEYS_INT ? "the number is not from -2^63 to 2^63 - 1"
                                     : "the number is not from 0 to 2^64 - 1";
    return type == KITH_KEYS_UUID ? "not a UUID: 32 hex digits with hyphens, 8-4-4-4-12"
                                  : "not a number: decimal digits without leading zeros";
}

const char *key_of(const input_shape *shape, input_record *r, char *buffer, key_typed *typed, char *reason,
                   size_t reason_bytes) {
    const char *wrong = NULL;
    bool is_number = false;
    r->key = r->line;
    r->key_bytes = r->line_bytes;
    if (shape->json_field != NULL)
        wrong = json_key(shape->json_field, r, &is_number, buffer, reason, reason_bytes);
    else if (shape->field != 0)
        wrong =
            shape->quotes ? csv_column(shape, r, buffer, reason, reason_bytes) : column(shape, r, reason, reason_bytes);
    bool is_binary = shape->keys != KITH_KEYS_BYTES && shape->fixed_bytes != 0;
    if (wrong == NULL && shape->trim && !is_binary)
        trim(r);
    if (wrong == NULL && shape->hex && shape->json_typed && is_number)
        wrong = "the value is a number, not hex digits in quotes (with --json-text its digits are used)";
    else if (wrong == NULL && shape->hex)
        wrong = unhex(r, buffer);
    else if (wrong == NULL && shape->fold)
        key_fold(r, buffer);
    if (wrong == NULL && key_is_read(shape))
        wrong = read_typed(shape->keys, r, typed);
    else if (wrong == NULL && shape->json_field != NULL && shape->json_typed && !shape->hex)
        set_type(r, is_number, buffer);
    return wrong;
}
