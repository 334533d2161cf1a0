/* formula.c: see formula.h. One function for each thing that may stand at a place; each takes what it knows and goes on
 * behind it, or leaves all as it was. */
#include "formula.h"

#include <stdbool.h>
#include <string.h>

#include "text.h"

static void put_part(lab_text *t, const char *at, const char *end);

/* The end of the group {…} that begins at `at`, its closing brace, or NULL: there is none. */
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

/* <before>group<after>, for the group that begins at `at`, which is known to be whole. */
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

static const char *put_raised(lab_text *t, const char *at, const char *end) {
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

/* The stroke between is for those who copy it or have it read to them; the page draws a line. */
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

/* Bytes of the small Greek letter that `at` begins with; 0: none does. */
static size_t greek_at(const char *at, const char *end) {
    unsigned code = 0;
    if (end - at >= 2)
        code = ((unsigned char)at[0] & 0x1fu) << 6 | ((unsigned char)at[1] & 0x3fu);
    bool two_bytes = end - at >= 2 && ((unsigned char)at[0] & 0xe0) == 0xc0;
    return two_bytes && code >= 0x3b1 && code <= 0x3c9 && code != 0x3c0 /* π is no quantity */ ? 2 : 0;
}

/* Words of two letters that are no product. */
static bool is_word(const char *at, size_t bytes) {
    static const char *const WORDS[] = {"ln", "lg", "of", "or", "is", "if", "in",
                                        "at", "to", "by", "as", "no", "on", "e"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strlen(WORDS[i]) == bytes && strncmp(WORDS[i], at, bytes) == 0)
            return true;
    return bytes > 2;
}

static const char *put_letters(lab_text *t, const char *at, const char *end) {
    const char *behind = at;
    while (behind < end && is_letter(*behind))
        behind++;
    if (behind == at)
        behind += greek_at(at, end);
    if (behind == at)
        return NULL;
    bool slanted = !is_word(at, (size_t)(behind - at));
    text_put(t, "%s%.*s%s", slanted ? "<i>" : "", (int)(behind - at), at, slanted ? "</i>" : "");
    return behind;
}

static void put_part(lab_text *t, const char *at, const char *end) {
    static const char *(*const WAYS[])(lab_text *, const char *, const char *) = {put_raised, put_root, put_fraction,
                                                                                  put_letters};
    while (at < end) {
        const char *behind = NULL;
        for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS && behind == NULL; i++)
            behind = WAYS[i](t, at, end);
        if (behind == NULL) {
            text_escaped_bytes(t, at, 1);
            behind = at + 1;
        }
        at = behind;
    }
}

char *lab_formula_html(const char *formula) {
    lab_text t = {0};
    text_bytes(&t, "", 0);
    put_part(&t, formula, formula + strlen(formula));
    return t.bytes;
}
