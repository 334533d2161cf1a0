/* formula.c: see formula.h.
 *
 * There is one function for each construct of the notation. It is called with the rest of the formula, from `at` to
 * `end`. If its construct is there, it writes the HTML and returns the position after the construct. Otherwise it
 * writes nothing and returns NULL. */
#include "formula.h"

#include <stdbool.h>
#include <string.h>

#include "text.h"

static void put_part(lab_text *t, const char *at, const char *end);

/* Returns the closing brace of the group {…} that begins at `at`, or NULL if there is no complete group. */
static const char *close_of(const char *at, const char *end) {
    unsigned depth = 0;
    if (at == end || *at != '{')
        return NULL;
    for (; at < end; at++) {
        depth += *at == '{';
        depth -= *at == '}';
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* Writes `before`, the contents of the group that begins at `at`, and `after`. The group must be complete. */
static const char *put_group(lab_text *t, const char *at, const char *end, const char *before, const char *after) {
    const char *close = close_of(at, end);
    text_put(t, "%s", before);
    put_part(t, at + 1, close);
    text_put(t, "%s", after);
    return close + 1;
}

static bool begins(const char *at, const char *end, const char *word) {
    return (size_t)(end - at) >= strlen(word) && strncmp(at, word, strlen(word)) == 0;
}

static const char *put_script(lab_text *t, const char *at, const char *end) {
    if (begins(at, end, "^{") && close_of(at + 1, end) != NULL)
        return put_group(t, at + 1, end, "<sup>", "</sup>");
    if (begins(at, end, "_{") && close_of(at + 1, end) != NULL)
        return put_group(t, at + 1, end, "<sub>", "</sub>");
    return NULL;
}

static const char *put_root(lab_text *t, const char *at, const char *end) {
    if (!begins(at, end, "\\sqrt") || close_of(at + 5, end) == NULL)
        return NULL;
    return put_group(t, at + 5, end, "<span class=\"root\">\u221a<span>", "</span></span>");
}

/* The slash is for copied text and for screen readers; the page hides it and draws a line. */
static const char *put_fraction(lab_text *t, const char *at, const char *end) {
    if (!begins(at, end, "\\frac"))
        return NULL;
    const char *close = close_of(at + 5, end);
    if (close == NULL || close_of(close + 1, end) == NULL)
        return NULL;
    at = put_group(t, at + 5, end, "<span class=\"frac\"><span>", "</span><span class=\"over\">/</span>");
    return put_group(t, at, end, "<span>", "</span></span>");
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the number of bytes of the lowercase Greek letter at `at`, or 0 if there is none. */
static size_t greek_at(const char *at, const char *end) {
    unsigned code = 0;
    if (end - at >= 2)
        code = ((unsigned char)at[0] & 0x1fu) << 6 | ((unsigned char)at[1] & 0x3fu);
    bool two_bytes = end - at >= 2 && ((unsigned char)at[0] & 0xe0) == 0xc0;
    return two_bytes && code >= 0x3b1 && code <= 0x3c9 && code != 0x3c0 /* π is not a variable */ ? 2 : 0;
}

/* True for words, which are set upright: all of three letters or more, and those of two letters that are not a
 * product of two variables. */
static bool is_word(const char *at, size_t bytes) {
    static const char *const WORDS[] = {"ln", "lg", "of", "or", "is", "if", "in",
                                        "at", "to", "by", "as", "no", "on", "e"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strlen(WORDS[i]) == bytes && strncmp(WORDS[i], at, bytes) == 0)
            return true;
    return bytes > 2;
}

static const char *put_letters(lab_text *t, const char *at, const char *end) {
    const char *after = at;
    while (after < end && is_letter(*after))
        after++;
    if (after == at)
        after += greek_at(at, end);
    if (after == at)
        return NULL;
    bool italic = !is_word(at, (size_t)(after - at));
    text_put(t, "%s%.*s%s", italic ? "<i>" : "", (int)(after - at), at, italic ? "</i>" : "");
    return after;
}

static void put_part(lab_text *t, const char *at, const char *end) {
    static const char *(*const CONSTRUCTS[])(lab_text *, const char *, const char *) = {put_script, put_root,
                                                                                        put_fraction, put_letters};
    while (at < end) {
        const char *after = NULL;
        for (size_t i = 0; i < sizeof CONSTRUCTS / sizeof *CONSTRUCTS && after == NULL; i++)
            after = CONSTRUCTS[i](t, at, end);
        if (after == NULL) {
            text_escaped_bytes(t, at, 1);
            after = at + 1;
        }
        at = after;
    }
}

char *lab_formula_html(const char *formula) {
    lab_text t = {0};
    text_bytes(&t, "", 0);
    put_part(&t, formula, formula + strlen(formula));
    return t.bytes;
}
