/* recipe.h: how input becomes keys, as the file of a filter remembers it.
 *
 * Two things travel in a file. The recipe is what is done to each key (-i, --trim, --hex, --crlf, --no-crlf, the rule for
 * JSON numbers, the size of --fixed records). It is part of what the set is, so every command that reads keys for a file
 * applies the file's recipe. The notes say where in a line the keys were found (--field, --delim, --json-field). That is a
 * property of the input and not of the set, so only `uniq --state`, whose input is the same kind of log each day, holds
 * the next run against them. docs/format.md lists the bits and the names. */
#ifndef CLI_RECIPE_H
#define CLI_RECIPE_H

#include <kith/filter.h>

#include "options.h"

/* The recipe that the options ask for. */
uint64_t recipe_of(const input_shape *shape);

/* Makes a->shape read keys by the recipe of the filter. Ends the tool if an option contradicts it, or if the recipe is not
 * one of this tool's. Notes on stderr if the set tells JSON numbers from strings and the input is not JSON. */
void recipe_apply(const char *path, const kith_filter *filter, arguments *a);

/* Ends the tool unless the filter has just the recipe that `shape` asks for. */
void recipe_require(const char *path, const kith_filter *filter, const input_shape *shape);

/* "-i --trim", or "raw bytes" for 0. */
typedef char recipe_text[128];
const char *text_of_recipe(uint64_t recipe, recipe_text text);

/* The notes that a file gets: --note and where keys are found. They point into `a` and into this struct. */
enum { RECIPE_NOTES_MAX = 5 };
typedef struct recipe_notes {
    kith_note notes[RECIPE_NOTES_MAX];
    size_t count;
    char field[16];
    char delim[4];
} recipe_notes;
void recipe_notes_of(const arguments *a, recipe_notes *n);

/* Ends the tool unless keys are found where the notes of the filter say, or --field-changed was given: then the notes are
 * updated. */
void recipe_same_place(const char *path, kith_filter *filter, const arguments *a);

#endif
