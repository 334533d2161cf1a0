/* recipe.c: stores in a filter file how its keys are made from the input; see recipe.h. */
#include "cli/input/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/input/key.h"
#include "cli/output/report.h"
#include "cli/values.h"

enum {
    RECIPE_FOLD = 1 << 0,
    RECIPE_TRIM = 1 << 1,
    RECIPE_HEX = 1 << 2,
    RECIPE_CR_STRIP = 1 << 3,
    RECIPE_CR_KEEP = 1 << 4,
    RECIPE_JSON_TYPED = 1 << 5,
    RECIPE_KNOWN = (1 << 8) - 1, /* with the key type in bits 6 and 7; if the keys have one, nothing else is set */
    FIXED_SHIFT = 16,            /* the size of binary records is in bits 16 to 47 */
};

static uint64_t fixed_of(uint64_t recipe) {
    return recipe >> FIXED_SHIFT;
}

uint64_t recipe_of(const input_shape *shape) {
    if (shape->keys != KITH_KEYS_BYTES)
        return kith_key_recipe(shape->keys);
    uint64_t recipe = (uint64_t)shape->fixed_bytes << FIXED_SHIFT;
    recipe |= shape->fold ? RECIPE_FOLD : 0;
    recipe |= shape->trim ? RECIPE_TRIM : 0;
    recipe |= shape->hex ? RECIPE_HEX : 0;
    recipe |= shape->cr == INPUT_CR_STRIP ? RECIPE_CR_STRIP : shape->cr == INPUT_CR_KEEP ? RECIPE_CR_KEEP : 0;
    recipe |= shape->json_field != NULL && shape->json_typed ? RECIPE_JSON_TYPED : 0;
    return recipe;
}

const char *text_of_recipe(uint64_t recipe, recipe_text text) {
    static const struct {
        unsigned bit;
        const char *words;
    } flags[] = {
        {RECIPE_FOLD, "-i"},         {RECIPE_TRIM, "--trim"},       {RECIPE_HEX, "--hex"},
        {RECIPE_CR_STRIP, "--crlf"}, {RECIPE_CR_KEEP, "--no-crlf"}, {RECIPE_JSON_TYPED, "typed JSON"},
    };
    size_t used = 0;
    kith_key_type type = kith_key_type_of(recipe);
    text[0] = '\0';
    if (type != KITH_KEYS_BYTES)
        used += (size_t)snprintf(text, sizeof(recipe_text), "--%s", kith_key_type_name(type));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if ((recipe & flags[i].bit) != 0)
            used +=
                (size_t)snprintf(text + used, sizeof(recipe_text) - used, "%s%s", used > 0 ? " " : "", flags[i].words);
    if (fixed_of(recipe) != 0)
        used += (size_t)snprintf(text + used, sizeof(recipe_text) - used, "%s--fixed %" PRIu64, used > 0 ? " " : "",
                                 fixed_of(recipe));
    if ((recipe & 0xffff & ~(uint64_t)RECIPE_KNOWN) != 0)
        used += (size_t)snprintf(text + used, sizeof(recipe_text) - used, "%sunknown bits 0x%" PRIx64,
                                 used > 0 ? " " : "", recipe & 0xffff & ~(uint64_t)RECIPE_KNOWN);
    return used > 0 ? text : "raw bytes";
}

const char *advice_of_recipe(uint64_t recipe, recipe_advice text) {
    static const struct {
        unsigned bit;
        const char *words;
    } steps[] = {
        {RECIPE_TRIM, "remove white space at both ends"},
        {RECIPE_CR_STRIP, "remove a CR at the end"},
        {RECIPE_CR_KEEP, "keep a CR at the end of a line"},
        {RECIPE_HEX, "decode it from hex"},
        {RECIPE_FOLD, "convert ASCII letters to lower case"},
        {RECIPE_JSON_TYPED, "put a zero byte before JSON numbers"},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if ((recipe & steps[i].bit) != 0)
            used += (size_t)snprintf(text + used, sizeof(recipe_advice) - used, "%s%s", used > 0 ? " and " : "",
                                     steps[i].words);
    if (fixed_of(recipe) != 0)
        used += (size_t)snprintf(text + used, sizeof(recipe_advice) - used, "%suse keys of exactly %" PRIu64 " bytes",
                                 used > 0 ? " and " : "", fixed_of(recipe));
    if (used == 0)
        (void)snprintf(text, sizeof(recipe_advice), "make keys in the same way");
    return text;
}

/* Copies a flag from the recipe of the file. An option that the file was built without is an error. */
static void apply_flag(const char *path, uint64_t recipe, unsigned bit, bool *flag, const char *name) {
    recipe_text built;
    bool in_file = (recipe & bit) != 0;
    if (*flag && !in_file)
        fail("%s: it was built without %s (its recipe: %s); omit %s, or build the file again with it", path, name,
             text_of_recipe(recipe, built), name);
    *flag = in_file;
}

static void apply_cr(const char *path, uint64_t recipe, input_shape *shape) {
    if ((recipe & RECIPE_CR_STRIP) != 0) {
        if (shape->cr == INPUT_CR_KEEP)
            fail("%s: it was built with --crlf, which contradicts --no-crlf", path);
        shape->cr = INPUT_CR_STRIP;
    } else if ((recipe & RECIPE_CR_KEEP) != 0) {
        if (shape->cr == INPUT_CR_STRIP)
            fail("%s: it was built with --no-crlf, which contradicts --crlf", path);
        shape->cr = INPUT_CR_KEEP;
    } else if (shape->cr == INPUT_CR_KEEP && shape->cr_stops) {
        fail("%s: it was built without --no-crlf, so no key in it ends in CR because of a line end; use --crlf", path);
    }
}

/* White space around a number, and how lines end, is a property of the input and not of the set. */
static void apply_keys(const char *path, kith_key_type type, input_shape *shape) {
    size_t key_bytes = kith_key_type_bytes(type);
    const char *name = kith_key_type_name(type);
    if (shape->keys != KITH_KEYS_BYTES && shape->keys != type)
        fail("%s: its keys have the type %s, which contradicts --%s", path, name, kith_key_type_name(shape->keys));
    if (type == KITH_KEYS_BYTES)
        return;
    if (shape->hex || shape->fold || shape->cr == INPUT_CR_KEEP)
        fail("%s: its keys have the type %s, which contradicts %s", path, name,
             shape->hex    ? "--hex"
             : shape->fold ? "-i"
                           : "--no-crlf");
    if (shape->fixed_bytes != 0 && shape->fixed_bytes != key_bytes)
        fail("%s: its keys have the type %s and %zu bytes, which contradicts --fixed %zu", path, name, key_bytes,
             shape->fixed_bytes);
    key_set_type(shape, type);
}

/* Whether JSON numbers and strings are different keys is decided by the file, not by the default of the option. */
static void apply_json(const char *path, uint64_t recipe, bool json_text, input_shape *shape) {
    bool typed = (recipe & RECIPE_JSON_TYPED) != 0;
    if (typed && json_text)
        fail("%s: it was built without --json-text, so numbers and strings are different keys; omit --json-text", path);
    if (typed && shape->json_field == NULL)
        note("%s: its keys are from JSON; lines are looked up as JSON strings; to look up numbers, use --json-field",
             path);
    shape->json_typed = typed;
}

static void apply_fixed(const char *path, uint64_t recipe, input_shape *shape) {
    uint64_t fixed = fixed_of(recipe);
    recipe_text built;
    if (fixed == 0 && shape->fixed_bytes != 0 && recipe != 0)
        fail("%s: its keys were made from lines (%s), which contradicts --fixed", path, text_of_recipe(recipe, built));
    if (fixed == 0)
        return; /* raw bytes: lines and records of any length are the same keys */
    if (shape->fixed_bytes != 0 && shape->fixed_bytes != fixed)
        fail("%s: its keys are records of %" PRIu64 " bytes (--fixed %" PRIu64 "), which contradicts --fixed %zu", path,
             fixed, fixed, shape->fixed_bytes);
    if (shape->field != 0 || shape->json_field != NULL || shape->end == '\0')
        fail("%s: its keys are records of %" PRIu64 " bytes (--fixed %" PRIu64 "), which contradicts %s", path, fixed,
             fixed,
             shape->field != 0           ? "--field"
             : shape->json_field != NULL ? "--json-field"
                                         : "-0");
    shape->fixed_bytes = (size_t)fixed;
}

static void check_known(const char *path, uint64_t recipe) {
    recipe_text text;
    kith_key_type type = kith_key_type_of(recipe);
    bool known = type != KITH_KEYS_BYTES
                     ? recipe == kith_key_recipe(type)
                     : (recipe & 0xffff & ~(uint64_t)RECIPE_KNOWN) == 0 && fixed_of(recipe) <= INT32_MAX;
    if (!known)
        fail("%s: its keys were made by another program in a way that this kith does not know (%s)", path,
             text_of_recipe(recipe, text));
}

void recipe_apply(const char *path, const kith_filter *filter, arguments *a) {
    recipe_apply_bits(path, kith_filter_recipe(filter), a);
}

void recipe_apply_bits(const char *path, uint64_t recipe, arguments *a) {
    input_shape *shape = &a->shape;
    check_known(path, recipe);
    apply_keys(path, kith_key_type_of(recipe), shape);
    if (shape->keys != KITH_KEYS_BYTES)
        return;
    apply_flag(path, recipe, RECIPE_FOLD, &shape->fold, "-i");
    apply_flag(path, recipe, RECIPE_TRIM, &shape->trim, "--trim");
    apply_flag(path, recipe, RECIPE_HEX, &shape->hex, "--hex");
    apply_cr(path, recipe, shape);
    apply_json(path, recipe, a->json_text, shape);
    apply_fixed(path, recipe, shape);
}

void recipe_require(const char *path, const kith_filter *filter, const input_shape *shape) {
    uint64_t recipe = kith_filter_recipe(filter), given = recipe_of(shape);
    recipe_text has, wants;
    check_known(path, recipe);
    if ((recipe ^ given) == RECIPE_JSON_TYPED && (given & RECIPE_JSON_TYPED) != 0)
        fail("%s: its keys are text (%s), but with --json-field the number 1 and the string \"1\" are different keys; "
             "give --json-text to look up the text of both",
             path, text_of_recipe(recipe, has));
    if ((recipe ^ given) == RECIPE_JSON_TYPED && shape->json_field != NULL)
        fail("%s: it was built without --json-text, so numbers and strings are different keys; omit --json-text", path);
    if (recipe != given)
        fail("%s: it was built with other options (%s) than those given here (%s)", path, text_of_recipe(recipe, has),
             text_of_recipe(given, wants));
}

/* ---- notes ---- */

enum { NOTE_BYTES_MAX = 60000 }; /* the library allows 65,536 bytes for all notes */

static void add_note(recipe_notes *n, const char *name, const char *value) {
    n->notes[n->count++] = (kith_note){name, value};
}

static void add_place(const input_shape *shape, recipe_notes *n) {
    if (shape->json_field != NULL)
        add_note(n, "json-field", shape->json_field);
    if (shape->field == 0)
        return;
    (void)snprintf(n->field, sizeof n->field, "%u", shape->field);
    (void)snprintf(n->delim, sizeof n->delim, shape->delim == '\t' ? "\\t" : "%c", shape->delim);
    add_note(n, "field", n->field);
    add_note(n, "delim", n->delim);
    if (!shape->quotes && shape->delim != '\t')
        add_note(n, "no-quotes", "yes");
}

void recipe_notes_of(const arguments *a, recipe_notes *n) {
    n->count = 0;
    value_text given, most;
    if (a->note != NULL && strlen(a->note) > NOTE_BYTES_MAX)
        fail("--note: the text has %s bytes; at most %s are allowed", text_of_integer(strlen(a->note), given),
             text_of_integer(NOTE_BYTES_MAX, most));
    if (a->note != NULL)
        add_note(n, "note", a->note);
    add_place(&a->shape, n);
}

static const char *const PLACE_NAMES[] = {"field", "delim", "no-quotes", "json-field"};
enum { PLACE_COUNT = sizeof PLACE_NAMES / sizeof *PLACE_NAMES };

static const char *note_among(const recipe_notes *n, const char *name) {
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->notes[i].name, name) == 0)
            return n->notes[i].value;
    return NULL;
}

static bool equal_or_absent(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* "--field 2 --delim ;" */
static void describe_place(const char *const values[PLACE_COUNT], char *text, size_t text_bytes) {
    size_t used = 0;
    (void)snprintf(text, text_bytes, "the whole line");
    for (size_t i = 0; i < PLACE_COUNT && used < text_bytes; i++)
        if (values[i] != NULL)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s--%s%s%s", used > 0 ? " " : "", PLACE_NAMES[i],
                                     strcmp(values[i], "yes") == 0 ? "" : " ",
                                     strcmp(values[i], "yes") == 0 ? "" : values[i]);
}

static bool is_place(const char *name) {
    for (size_t i = 0; i < PLACE_COUNT; i++)
        if (strcmp(PLACE_NAMES[i], name) == 0)
            return true;
    return false;
}

bool recipe_same_place(const char *path, const kith_filter *filter, const arguments *a) {
    recipe_notes now;
    recipe_notes_of(a, &now);
    const char *before[PLACE_COUNT], *after[PLACE_COUNT];
    bool same = true;
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        before[i] = kith_filter_note(filter, PLACE_NAMES[i]);
        after[i] = note_among(&now, PLACE_NAMES[i]);
        same = same && equal_or_absent(before[i], after[i]);
    }
    char was[200], is[200];
    describe_place(before, was, sizeof was);
    describe_place(after, is, sizeof is);
    if (!same && !a->field_changed)
        fail("%s: earlier runs read keys from %s, this run reads them from %s; if that is intended, give "
             "--field-changed",
             path, was, is);
    return same;
}

void recipe_update_place(const char *path, kith_filter *filter, const arguments *a) {
    recipe_notes now;
    recipe_notes_of(a, &now);
    kith_note notes[64 + RECIPE_NOTES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < kith_filter_note_count(filter); i++)
        if (!is_place(kith_filter_note_at(filter, i).name))
            notes[count++] = kith_filter_note_at(filter, i);
    for (size_t i = 0; i < now.count; i++)
        if (is_place(now.notes[i].name))
            notes[count++] = now.notes[i];
    kith_status status = kith_filter_set_notes(filter, notes, count);
    if (status != KITH_OK)
        fail_status(path, status);
}
