/* registry.h: the registry of filter kinds, generated from kinds.def. */
#ifndef KITHI_REGISTRY_H
#define KITHI_REGISTRY_H

#include "kinds/kind.h"

/* Return NULL for a kind that does not exist. */
const kithi_kind *kithi_kind_at(size_t index);
const kithi_kind *kithi_kind_by_id(uint64_t id);
const kithi_kind *kithi_kind_by_name(const char *name, size_t length);

/* Computes sizes, limits and capabilities from head->params, which may come from a hostile file. KITH_E_CORRUPT if they
 * are out of range. For `layers`, everything but body_bytes and capabilities follows from the first layer. Planning
 * that takes long, so it is set only if the header was planned together with the first layer (head->first_params);
 * otherwise the handle sets it when it is bound. */
kith_status kithi_kind_shape(const kithi_kind *kind, const kithi_head *head, kithi_shape *shape);

/* Sets the fields of *shape that follow from the first filter inside, whose shape is *inner. */
void kithi_shape_take(const kithi_shape *inner, kithi_shape *shape);

/* For a kind that consists of filters of another, its inner kind: returns the index of the option that names the inner
 * kind (the one whose `values` is "kind": see kith_option). For other kinds, returns the number of options. */
size_t kithi_inner_kind_option(const kithi_kind *kind);

/* Reads the values of a kind's options from `text`; NULL means the default of each. A kind with an inner kind also
 * accepts the options of the inner kind. If option j of the inner kind is given, values[option_count + j] is its value
 * plus 1, and otherwise 0. Fails as kithi_options_read(). */
kith_status kithi_kind_options_read(const kithi_kind *kind, const char *text, uint64_t values[KITHI_OPTIONS_MAX]);

/* Writes the options of a filter with this header, and those of its inner kind that were given, as text that
 * kithi_kind_options_read() reads. `text`, `text_bytes` and the result are as in kithi_options_write(). */
size_t kithi_kind_options_write(const kithi_head *head, char *text, size_t text_bytes);

#endif
