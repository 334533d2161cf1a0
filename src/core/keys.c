/* The types of keys, and their texts. */
#include <kith/keys.h>

#include <assert.h>
#include <string.h>

#include "core/bits.h"

enum { TYPE_SHIFT = 6, TYPE_MASK = 3 }; /* in the recipe */

static const struct {
    const char *name;
    size_t bytes;
} TYPES[] = {
    [KITH_KEYS_BYTES] = {"bytes", 0},
    [KITH_KEYS_INT] = {"int", sizeof(uint64_t)},
    [KITH_KEYS_UINT] = {"uint", sizeof(uint64_t)},
    [KITH_KEYS_UUID] = {"uuid", 16},
};

enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static bool is_type(kith_key_type type) {
    return (unsigned)type < TYPE_COUNT;
}

kith_key_type kith_key_type_of(uint64_t recipe) {
    return (kith_key_type)(recipe >> TYPE_SHIFT & TYPE_MASK);
}

uint64_t kith_key_recipe(kith_key_type type) {
    assert(is_type(type));
    return (uint64_t)type << TYPE_SHIFT;
}

const char *kith_key_type_name(kith_key_type type) {
    assert(is_type(type));
    return TYPES[type].name;
}

kith_status kith_key_type_named(const char *name, kith_key_type *type) {
    assert(name != NULL && type != NULL);
    for (unsigned i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(name, TYPES[i].name) == 0) {
            *type = (kith_key_type)i;
            return KITH_OK;
        }
    }
    return KITH_E_ARGUMENT;
}

size_t kith_key_type_bytes(kith_key_type type) {
    assert(is_type(type));
    return TYPES[type].bytes;
}

/* ---- numbers ---- */

/* Reads digits without leading zeros. */
static kith_status parse_digits(const char *text, size_t text_bytes, uint64_t *number) {
    uint64_t value = 0;
    bool fits = true;
    if (text_bytes == 0 || (text[0] == '0' && text_bytes > 1))
        return KITH_E_KEY_TEXT;
    for (size_t i = 0; i < text_bytes; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9)
            return KITH_E_KEY_TEXT;
        fits = fits && kithi_checked_mul(value, 10, &value) && kithi_checked_add(value, digit, &value);
    }
    *number = value;
    return fits ? KITH_OK : KITH_E_KEY_RANGE;
}

static kith_status parse_number(const char *text, size_t text_bytes, bool has_sign, uint8_t *key) {
    const uint64_t lowest = UINT64_C(1) << 63; /* its negative is the lowest int */
    if (text_bytes == 0)
        return KITH_E_KEY_TEXT; /* `text` may be NULL */
    bool is_negative = text[0] == '-';
    uint64_t number;
    kith_status status = parse_digits(text + is_negative, text_bytes - is_negative, &number);
    if (status == KITH_E_KEY_TEXT || (is_negative && status == KITH_OK && number == 0))
        return KITH_E_KEY_TEXT;
    if (status != KITH_OK || (is_negative && !has_sign) || (has_sign && number > lowest - !is_negative))
        return KITH_E_KEY_RANGE;
    kithi_store64(key, is_negative ? 0 - number : number);
    return KITH_OK;
}

static size_t format_number(uint64_t number, bool has_sign, char *text) {
    char digits[20];
    size_t used = 0, length = 0;
    bool is_negative = has_sign && number >> 63 != 0;
    if (is_negative) {
        text[length++] = '-';
        number = 0 - number;
    }
    do
        digits[used++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (used > 0)
        text[length++] = digits[--used];
    text[length] = '\0';
    return length;
}

/* ---- UUIDs ---- */

enum { UUID_TEXT_BYTES = 36 };

static bool is_hyphen_at(size_t at) {
    return at == 8 || at == 13 || at == 18 || at == 23;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static kith_status parse_uuid(const char *text, size_t text_bytes, uint8_t *key) {
    uint8_t bytes[16];
    size_t used = 0;
    if (text_bytes != UUID_TEXT_BYTES)
        return KITH_E_KEY_TEXT;
    for (size_t at = 0; at < UUID_TEXT_BYTES;) {
        if (is_hyphen_at(at)) {
            if (text[at++] != '-')
                return KITH_E_KEY_TEXT;
            continue;
        }
        int high = hex_digit(text[at]), low = hex_digit(text[at + 1]);
        if (high < 0 || low < 0)
            return KITH_E_KEY_TEXT;
        bytes[used++] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    memcpy(key, bytes, sizeof bytes);
    return KITH_OK;
}

static size_t format_uuid(const uint8_t *key, char *text) {
    size_t at = 0;
    for (size_t i = 0; i < 16; i++) {
        if (is_hyphen_at(at))
            text[at++] = '-';
        text[at++] = "0123456789abcdef"[key[i] >> 4];
        text[at++] = "0123456789abcdef"[key[i] & 15];
    }
    text[at] = '\0';
    return at;
}

/* ---- all types ---- */

kith_status kith_key_parse(kith_key_type type, const char *text, size_t text_bytes, uint8_t *key) {
    assert((text != NULL || text_bytes == 0) && key != NULL);
    switch (type) {
    case KITH_KEYS_INT:
    case KITH_KEYS_UINT:
        return parse_number(text, text_bytes, type == KITH_KEYS_INT, key);
    case KITH_KEYS_UUID:
        return parse_uuid(text, text_bytes, key);
    case KITH_KEYS_BYTES:
        break;
    }
    return KITH_E_ARGUMENT;
}

size_t kith_key_format(kith_key_type type, const uint8_t *key, char text[KITH_KEY_TEXT_BYTES]) {
    assert(type != KITH_KEYS_BYTES && is_type(type) && key != NULL && text != NULL);
    if (type == KITH_KEYS_UUID)
        return format_uuid(key, text);
    return format_number(kithi_load64(key), type == KITH_KEYS_INT, text);
}
