/* registry.h: the registry of filter kinds, generated from kinds.def. The functions return NULL for a kind that does
 * not exist. */
#ifndef KITHI_REGISTRY_H
#define KITHI_REGISTRY_H

#include "kind.h"

const kithi_kind *kithi_kind_at(size_t index);
const kithi_kind *kithi_kind_by_id(uint64_t id);
const kithi_kind *kithi_kind_by_name(const char *name, size_t length);

/* Reads the values of a kind's options from `text`; NULL means the default of each. KITH_E_OPTION. */
kith_status kithi_kind_options(const kithi_kind *kind, const char *text, uint64_t *values);

/* Writes the options of a filter with this header as text that kithi_kind_options() reads; see
 * kithi_options_write(). */
size_t kithi_kind_options_text(const kithi_head *head, char *text, size_t text_bytes);

#endif
