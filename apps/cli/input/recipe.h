/* recipe.h: stores in a filter file how its keys are made from the input, and applies it again.
 *
 * A file stores two things about its keys. The recipe is what is done to each key (--int, -i, --trim, --hex, --crlf,
 * --no-crlf, the rule for JSON numbers, the size of --fixed records). It is a property of the set, so every command
 * that reads keys for a file applies the recipe of the file. The notes say where the keys were within a line (--field,
 * --delim, --json-field). That is a property of the input, so it may differ between commands. Only `uniq --state`,
 * which reads the same kind of log each day, checks it. docs/format.md lists the bits and the names. */
#ifndef CLI_RECIPE_H
#define CLI_RECIPE_H

#include <kith/filter.h>

#include "cli/options.h"

/* Returns the recipe of the given options. */
uint64_t recipe_of(const input_shape *shape);

/* Sets a->shape so that keys are made by the recipe of the filter. Ends the tool if an option contradicts the recipe,
 * or if the recipe has unknown bits. Prints a note if JSON numbers and strings differ and the input is not JSON. */
void recipe_apply(const char *path, const kith_filter *filter, arguments *a);

/* The same for a recipe that does not come from a file: `path` names where it comes from. */
void recipe_apply_bits(const char *path, uint64_t recipe, arguments *a);

/* Ends the tool unless the recipe of the filter is exactly that of `shape`. */
void recipe_require(const char *path, const kith_filter *filter, const input_shape *shape);

/* Writes a recipe as text: "-i --trim", or "raw bytes" for 0. */
typedef char recipe_text[128];
const char *text_of_recipe(uint64_t recipe, recipe_text text);

/* Writes what a program must do to a key before it looks it up: "convert ASCII letters to lower case and remove white
 * space at both ends". */
typedef char recipe_advice[400];
const char *advice_of_recipe(uint64_t recipe, recipe_advice text);

/* The notes for a file: --note, and where keys are within a line. They point into `a` and into this struct. */
enum { RECIPE_NOTES_MAX = 5 };
typedef struct recipe_notes {
    kith_note notes[RECIPE_NOTES_MAX];
    size_t count;
    char field[16];
    char delim[4];
} recipe_notes;
void recipe_notes_of(const arguments *a, recipe_notes *n);

/* Returns whether the options read keys from the place that the notes of the filter name. Without --field-changed, ends
 * the tool if not. */
bool recipe_same_place(const char *path, const kith_filter *filter, const arguments *a);

/* Notes the place of these options. */
void recipe_update_place(const char *path, kith_filter *filter, const arguments *a);

#endif
