/* Parses and checks the options of a kind. The string `values` in a kith_option, for example "4..32" or
 * "halves|simple", is what the tools show to users. It is also the grammar that is checked here, so the two cannot
 * diverge. Words may precede a range, as in "auto|2..32". The value of a word is its index, so a range that follows w
 * words must begin at w or above. "kind" stands for the name of any filter kind. */
#include "plan/options.h"

#include <assert.h>
#include <string.h>

#include "core/bits.h"

static bool is_separator(char c) {
    return c == ' ' || c == ',' || c == '\t' || c == '\n';
}

static bool read_number(const char *text, size_t length, uint64_t *value) {
    if (length == 0)
        return false;
    uint64_t x = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || !kithi_checked_mul(x, 10, &x) ||
            !kithi_checked_add(x, (uint64_t)(text[i] - '0'), &x))
            return false;
    }
    *value = x;
    return true;
}

static bool read_word(const char *words, const char *text, size_t length, uint64_t *value) {
    uint64_t index = 0;
    for (const char *word = words; word != NULL; index++) {
        const char *end = strchr(word, '|');
        size_t word_length = end != NULL ? (size_t)(end - word) : strlen(word);
        if (word_length == length && memcmp(word, text, length) == 0) {
            *value = index;
            return true;
        }
        word = end != NULL ? end + 1 : NULL;
    }
    return false;
}

/* The values of an option: 0 … words - 1, which stand for its words, and lowest … highest, the numbers of its range.
 * (lowest > highest: there is no range.) */
typedef struct range {
    uint64_t words, lowest, highest;
} range;

static range read_range(const char *values) {
    range r = {0, 1, 0};
    const char *last = values, *dots = strstr(values, "..");
    for (const char *bar = strchr(values, '|'); bar != NULL; bar = strchr(last, '|')) {
        last = bar + 1;
        r.words++;
    }
    if (dots == NULL) {
        r.words++;
        return r;
    }
    bool parsed =
        read_number(last, (size_t)(dots - last), &r.lowest) && read_number(dots + 2, strlen(dots + 2), &r.highest);
    assert(parsed && r.lowest >= r.words);
    (void)parsed;
    return r;
}

static bool is_value(range r, uint64_t value) {
    return value < r.words || (value >= r.lowest && value <= r.highest);
}

bool kithi_option_is_kind(const kith_option *option) {
    return strcmp(option->values, "kind") == 0;
}

bool kithi_option_is_number(const kith_option *option, uint64_t value) {
    return !kithi_option_is_kind(option) && value >= read_range(option->values).words;
}

static bool read_value(const kith_option *option, const char *text, size_t length, kithi_kind_resolver resolve,
                       uint64_t *value) {
    if (kithi_option_is_kind(option))
        return resolve(text, length, value);
    range r = read_range(option->values);
    if (read_word(option->values, text, length, value) && *value < r.words)
        return true;
    return read_number(text, length, value) && *value >= r.lowest && *value <= r.highest;
}

kith_status kithi_options_read_known(const char *text, const kith_option *options, size_t option_count,
                                     kithi_kind_resolver resolve, uint64_t *values, bool given[KITHI_OPTIONS_MAX],
                                     size_t *unknown) {
    assert(option_count <= KITHI_OPTIONS_MAX);
    memset(given, 0, KITHI_OPTIONS_MAX * sizeof *given);
    *unknown = 0;
    for (const char *at = text != NULL ? text : ""; *at != '\0';) {
        if (is_separator(*at)) {
            at++;
            continue;
        }
        const char *end = at;
        while (*end != '\0' && !is_separator(*end))
            end++;
        const char *equals = memchr(at, '=', (size_t)(end - at));
        if (equals == NULL)
            return KITH_E_OPTION_VALUE;
        size_t i = 0, name_length = (size_t)(equals - at);
        while (i < option_count &&
               (strlen(options[i].name) != name_length || memcmp(options[i].name, at, name_length) != 0))
            i++;
        at = end;
        if (i == option_count) {
            ++*unknown;
            continue;
        }
        if (given[i])
            return KITH_E_OPTION_TWICE;
        if (!read_value(&options[i], equals + 1, (size_t)(end - equals - 1), resolve, &values[i]))
            return KITH_E_OPTION_VALUE;
        given[i] = true;
    }
    for (size_t i = 0; i < option_count; i++) {
        if (!given[i] &&
            !read_value(&options[i], options[i].fallback, strlen(options[i].fallback), resolve, &values[i]))
            return KITH_E_OPTION_VALUE;
    }
    return KITH_OK;
}

kith_status kithi_options_read(const char *text, const kith_option *options, size_t option_count,
                               kithi_kind_resolver resolve, uint64_t *values) {
    bool given[KITHI_OPTIONS_MAX];
    size_t unknown;
    kith_status status = kithi_options_read_known(text, options, option_count, resolve, values, given, &unknown);
    return status == KITH_OK && unknown > 0 ? KITH_E_OPTION : status;
}

bool kithi_options_valid(const kith_option *options, size_t option_count, const uint64_t *values) {
    for (size_t i = 0; i < option_count; i++)
        if (!is_value(read_range(options[i].values), values[i]))
            return false;
    return true;
}

/* ---- writing ---- */

typedef struct writer {
    char *text;
    size_t text_bytes;
    size_t length; /* of the whole text, including what does not fit into text_bytes */
} writer;

static void put(writer *w, const char *bytes, size_t byte_count) {
    for (size_t i = 0; i < byte_count; i++, w->length++)
        if (w->length + 1 < w->text_bytes)
            w->text[w->length] = bytes[i];
}

static void put_number(writer *w, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    put(w, digits + at, sizeof digits - at);
}

/* Writes word number `index` of a list like "halves|simple". */
static void put_word(writer *w, const char *words, uint64_t index) {
    for (; index > 0; index--)
        words = strchr(words, '|') + 1;
    put(w, words, strcspn(words, "|"));
}

size_t kithi_options_write(const kith_option *options, size_t option_count, const uint64_t *values,
                           const char *(*kind_name)(uint64_t id), char *text, size_t text_bytes) {
    writer w = {text, text_bytes, 0};
    for (size_t i = 0; i < option_count; i++) {
        if (i > 0)
            put(&w, " ", 1);
        put(&w, options[i].name, strlen(options[i].name));
        put(&w, "=", 1);
        if (kithi_option_is_kind(&options[i]))
            put(&w, kind_name(values[i]), strlen(kind_name(values[i])));
        else if (kithi_option_is_number(&options[i], values[i]))
            put_number(&w, values[i]);
        else
            put_word(&w, options[i].values, values[i]);
    }
    if (text_bytes > 0)
        text[w.length < text_bytes ? w.length : text_bytes - 1] = '\0';
    return w.length;
}
