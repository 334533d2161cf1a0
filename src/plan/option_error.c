/* Says which of the options in a spec is wrong, and why.
 *
 * Words are examined one by one, with the parser that reads all of them. If each is valid alone, they contradict each
 * other, or the rate: then the plan succeeds without one of them, and that one is named. So no kind has to explain its
 * own refusals. */
#include <kith/plan.h>

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/structs.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "plan/planner.h"

enum { TEXT_BYTES = 1024 }; /* options that are longer are examined up to here */

/* One "name=value". */
typedef struct word {
    const char *at;
    int bytes, name_bytes; /* name_bytes is -1 if there is no "=" */
} word;

/* Text that may be longer than the memory for it, like that of snprintf(). */
typedef struct sentence {
    char *text;
    size_t size, bytes;
} sentence;

static void say(sentence *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bool fits = s->bytes < s->size;
    int bytes = vsnprintf(fits ? s->text + s->bytes : NULL, fits ? s->size - s->bytes : 0, format, arguments);
    va_end(arguments);
    s->bytes += bytes > 0 ? (size_t)bytes : 0;
}

/* Sets *w to the next word at or after *at, and *at to its end. Returns false if there is none. */
static bool next_word(const char **at, word *w) {
    static const char SEPARATORS[] = " ,\t\n";
    w->at = *at + strspn(*at, SEPARATORS);
    w->bytes = (int)strcspn(w->at, SEPARATORS);
    const char *equals = memchr(w->at, '=', (size_t)w->bytes);
    w->name_bytes = equals != NULL ? (int)(equals - w->at) : -1;
    *at = w->at + w->bytes;
    return w->bytes > 0;
}

static const kith_option *option_named(const kithi_kind *kind, const word *w) {
    for (size_t i = 0; i < kind->info.option_count; i++) {
        const kith_option *option = &kind->info.options[i];
        if (strlen(option->name) == (size_t)w->name_bytes && memcmp(option->name, w->at, (size_t)w->name_bytes) == 0)
            return option;
    }
    return NULL;
}

/* Returns the kind inside `kind` that the options choose, or NULL if `kind` has none. */
static const kithi_kind *inner_of(const kithi_kind *kind, const char *options) {
    size_t index = kithi_inner_kind_option(kind);
    if (index == kind->info.option_count)
        return NULL;
    const kith_option *inner = &kind->info.options[index];
    const char *name = inner->fallback;
    size_t bytes = strlen(name);
    word w;
    for (const char *at = options; next_word(&at, &w);)
        if (w.name_bytes >= 0 && option_named(kind, &w) == inner) {
            name = w.at + w.name_bytes + 1;
            bytes = (size_t)(w.bytes - w.name_bytes - 1);
        }
    return kithi_kind_by_name(name, bytes);
}

static bool is_valid_alone(const kithi_kind *kind, const word *w) {
    char text[TEXT_BYTES];
    uint64_t values[KITHI_OPTIONS_MAX];
    return snprintf(text, sizeof text, "%.*s", w->bytes, w->at) < (int)sizeof text &&
           kithi_kind_options_read(kind, text, values) == KITH_OK;
}

static bool is_repeated(const char *options, const word *w) {
    word other;
    unsigned count = 0;
    for (const char *at = options; next_word(&at, &other);)
        count += other.name_bytes == w->name_bytes && memcmp(other.at, w->at, (size_t)w->name_bytes) == 0;
    return count > 1;
}

static void list_names(const kithi_kind *kind, sentence *s) {
    for (size_t i = 0; i < kind->info.option_count; i++)
        say(s, "%s%s=%s", i > 0 ? ", " : "", kind->info.options[i].name, kind->info.options[i].values);
    if (kind->info.option_count == 0)
        say(s, "none");
}

/* Writes what is wrong with this word itself. Returns false if nothing is. */
static bool explain_word(const kithi_kind *kind, const kithi_kind *inner, const char *options, const word *w,
                         sentence *s) {
    const kithi_kind *owner = w->name_bytes >= 0 && option_named(kind, w) != NULL ? kind : inner;
    const kith_option *option = w->name_bytes >= 0 && owner != NULL ? option_named(owner, w) : NULL;
    if (w->name_bytes < 0) {
        say(s, "%.*s: an option has the form name=value", w->bytes, w->at);
    } else if (option == NULL) {
        say(s, "%.*s: the options of kind %s are ", w->bytes, w->at, kind->info.name);
        list_names(kind, s);
        if (inner != NULL && inner->info.option_count > 0) {
            say(s, ", and those of %s: ", inner->info.name);
            list_names(inner, s);
        }
    } else if (is_repeated(options, w)) {
        say(s, "%.*s: the option is given twice", w->bytes, w->at);
    } else if (!is_valid_alone(owner, w)) {
        say(s, "%.*s: the values of %s are %s", w->bytes, w->at, option->name,
            kithi_option_is_kind(option) ? "the names of kinds" : option->values);
    } else {
        return false;
    }
    return true;
}

/* Writes which word contradicts the others, or the rest of the spec. */
static void explain_contradiction(const kith_filter_spec *spec, const kithi_kind *kind, sentence *s) {
    word w;
    for (const char *at = spec->options; next_word(&at, &w);) {
        char rest[TEXT_BYTES];
        kith_filter_spec without = *spec;
        kithi_head head;
        int bytes = snprintf(rest, sizeof rest, "%.*s%s", (int)(w.at - spec->options), spec->options, at);
        without.options = rest;
        if (bytes >= (int)sizeof rest || kithi_plan_spec(&without, &head) != KITH_OK)
            continue;
        say(s, "%.*s: kind %s does not support it at this rate, or with the other options", w.bytes, w.at,
            kind->info.name);
        return;
    }
    say(s, "%s: kind %s does not support these options together", spec->options, kind->info.name);
}

static bool is_about_options(kith_status status) {
    return status == KITH_E_OPTION || status == KITH_E_OPTION_TWICE || status == KITH_E_OPTION_VALUE ||
           status == KITH_E_OPTION_KIND || status == KITH_E_OPTION_FIT;
}

size_t kith_option_error(const kith_filter_spec *given, char *text, size_t text_bytes) {
    assert(given != NULL && (text != NULL || text_bytes == 0));
    sentence s = {text, text_bytes, 0};
    kith_filter_spec spec;
    kithi_head head;
    word w;
    if (text_bytes > 0)
        text[0] = '\0';
    if (kithi_spec_read(given, &spec) != KITH_OK || !is_about_options(kithi_plan_spec(&spec, &head)))
        return 0;
    const char *at = spec.options;
    if (spec.kind == NULL) {
        say(&s, "%s: options belong to a kind, and no kind is given", spec.options);
        return s.bytes;
    }
    const kithi_kind *kind = kithi_kind_by_name(spec.kind, strlen(spec.kind));
    const kithi_kind *inner = inner_of(kind, spec.options);
    while (next_word(&at, &w))
        if (explain_word(kind, inner, spec.options, &w, &s))
            return s.bytes;
    explain_contradiction(&spec, kind, &s);
    return s.bytes;
}
