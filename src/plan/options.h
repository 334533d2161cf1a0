/* plan/options.h: parses options like "name=value name=value", as a kind's list of options defines them. */
#ifndef KITHI_PLAN_OPTIONS_H
#define KITHI_PLAN_OPTIONS_H

#include <kith/plan.h>

/* The most options that a kind may have, together with those of its inner kind. */
#define KITHI_OPTIONS_MAX 8

/* Returns whether the value of an option is the name of a filter kind, for example inner=KIND. */
bool kithi_option_is_kind(const kith_option *option);

/* Returns whether this value of the option is a number, and not one of its words or a kind. */
bool kithi_option_is_number(const kith_option *option, uint64_t value);

/* For options whose value is the name of a kind: sets *value to the id of the kind with this name. Returns false if
 * there is no such kind. */
typedef bool (*kithi_kind_resolver)(const char *name, size_t length, uint64_t *value);

/* Sets values[i] to the value that `text` (NULL: no options given) has for options[i], or else to its default. If the
 * value is one of several words, like "halves|simple" (see kith_option), values[i] is the index of the word. Fails with
 * KITH_E_OPTION if a name is unknown, KITH_E_OPTION_TWICE, or KITH_E_OPTION_VALUE if a value is missing or out of
 * range. */
kith_status kithi_options_read(const char *text, const kith_option *options, size_t option_count,
                               kithi_kind_resolver resolve, uint64_t *values);

/* The same, but counts names that are unknown in *unknown instead of refusing them. Sets given[i] to whether options[i]
 * is in the text. */
kith_status kithi_options_read_known(const char *text, const kith_option *options, size_t option_count,
                                     kithi_kind_resolver resolve, uint64_t *values, bool given[KITHI_OPTIONS_MAX],
                                     size_t *unknown);

/* Writes the values as text; kithi_options_read() of this text gives the same values. Like snprintf(), it writes at
 * most `text_bytes` bytes including the terminating zero, and returns the length of the whole text. `kind_name` gives
 * the name of a kind by its id. */
size_t kithi_options_write(const kith_option *options, size_t option_count, const uint64_t *values,
                           const char *(*kind_name)(uint64_t id), char *text, size_t text_bytes);

/* Returns whether kithi_options_read() could have produced these values. Does not support options whose value is the
 * name of a kind. */
bool kithi_options_valid(const kith_option *options, size_t option_count, const uint64_t *values);

#endif
