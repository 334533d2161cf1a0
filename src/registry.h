/* registry.h: the registry of filter kinds, generated from kinds.def. The functions return NULL for a kind that does
 * not exist. */
#ifndef KITHI_REGISTRY_H
#define KITHI_REGISTRY_H

#include "kind.h"

const kithi_kind *kithi_kind_at(size_t index);
const kithi_kind *kithi_kind_by_id(uint64_t id);
const kithi_kind *kithi_kind_by_name(const char *name, size_t length);

/* Returns the index of the option that names an inner kind (the one whose `values` is "kind": see kith_option), or the
 * number of options if the kind has none. */
size_t kithi_kind_inner_option(const kithi_kind *kind);

/* Reads the values of a kind's options from `text`; NULL means the default of each. A kind that contains another also
 * accepts the options of its inner kind: if option j of the inner kind is given, values[option_count + j] is its value
 * + 1, and otherwise 0. Fails with KITH_E_OPTION. */
kith_status kithi_kind_options(const kithi_kind *kind, const char *text, uint64_t values[KITHI_OPTIONS_MAX]);

/* Writes the options of a filter with this header, and those of its inner kind that were given, as text that
 * kithi_kind_options() reads; see kithi_options_write(). */
size_t kithi_kind_options_text(const kithi_head *head, char *text, size_t text_bytes);

#endif
