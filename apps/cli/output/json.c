/* json.c: prints JSON; see json.h. */
#include "cli/output/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/plain.h"
#include "cli/output/report.h"

static bool comma_due;

static void put_characters(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = plain_character((const char *)at);
        if (bytes == 0)
            out("\xEF\xBF\xBD", 3);
        else if (*at == '"' || *at == '\\')
            out_text("\\%c", *at);
        else if (*at == '\n')
            out("\\n", 2);
        else if (*at == '\t')
            out("\\t", 2);
        else if (*at < 0x20 || *at == 0x7F)
            out_text("\\u%04x", *at);
        else if (*at == 0xC2 && at[1] < 0xA0)
            out_text("\\u%04x", at[1]); /* the second byte of U+0080 to U+009F is the number of the character */
        else
            out(at, bytes);
        at += bytes != 0 ? bytes : 1;
    }
}

static void quoted(const char *text) {
    out("\"", 1);
    put_characters(text);
    out("\"", 1);
}

static void begin(const char *name) {
    if (comma_due)
        out(",", 1);
    comma_due = true;
    if (name != NULL) {
        quoted(name);
        out(":", 1);
    }
}

void json_open(const char *name, char bracket) {
    begin(name);
    out(&bracket, 1);
    comma_due = false;
}

void json_close(char bracket) {
    out(&bracket, 1);
    comma_due = true;
}

void json_bytes(const char *name, const void *bytes, size_t byte_count) {
    char *text = allocate(byte_count + 1);
    memcpy(text, bytes, byte_count);
    text[byte_count] = '\0';
    begin(name);
    out("\"", 1);
    for (const char *at = text; at <= text + byte_count; at += strlen(at) + 1) {
        if (at != text)
            out_text("\\u0000");
        put_characters(at);
    }
    out("\"", 1);
    free(text);
}

void json_text(const char *name, const char *text) {
    begin(name);
    if (text == NULL)
        out("null", 4);
    else
        quoted(text);
}

void json_integer(const char *name, uint64_t value) {
    begin(name);
    out_text("%llu", (unsigned long long)value);
}

void json_number(const char *name, double value) {
    begin(name);
    if (!isfinite(value)) {
        out("null", 4);
        return;
    }
    /* Print the fewest digits that are read back as the same number. */
    char digits[32];
    for (int precision = 6; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    out_text("%s", digits);
}

void json_bool(const char *name, bool value) {
    begin(name);
    out_text("%s", value ? "true" : "false");
}

void json_end(void) {
    out("\n", 1);
    comma_due = false;
}
