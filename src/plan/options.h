/* plan/options.h: "name=value name=value" read against a kind's list of options. */
#ifndef KITHI_PLAN_OPTIONS_H
#define KITHI_PLAN_OPTIONS_H

#include <kith/plan.h>

/* Options that a kind may list; static_assert this against your list. */
#define KITHI_OPTIONS_MAX 8

/* Resolves the word of an option whose values are "kind"; false when there is no such kind. */
typedef bool (*kithi_kind_resolver)(const char *name, size_t length, uint64_t *value);

/* Fills in values[i] for options[i] from `text` (NULL: nothing given) or from its fallback. A word's value is its
 * place in the list of words. KITH_E_OPTION: unknown name, name twice, no value, value out of range. */
kith_status kithi_options_read(const char *text, const kith_option *options, size_t option_count,
                               kithi_kind_resolver resolve, uint64_t *values);

/* Writes the values as text that kithi_options_read() reads back to them, as snprintf() does: at most `text_bytes` with the
 * terminating zero. Returns the length of the whole text. `kind_name` gives the name of a kind by its id. */
size_t kithi_options_write(const kith_option *options, size_t option_count, const uint64_t *values,
                           const char *(*kind_name)(uint64_t id), char *text, size_t text_bytes);

/* Are these values that kithi_options_read could have given? Options whose values are "kind" are not asked about. */
bool kithi_options_valid(const kith_option *options, size_t option_count, const uint64_t *values);

#endif
