/* The registry of filter kinds, generated from kinds.def. */
#include <assert.h>
#include <string.h>

#include "kinds/kind.h"
#include "kinds/registry.h"

#define KIND(name) extern const kithi_kind kithi_kind_##name;
#include "kinds/kinds.def"
#undef KIND

static const kithi_kind *const KINDS[] = {
#define KIND(name) &kithi_kind_##name,
#include "kinds/kinds.def"
#undef KIND
};

#define KIND_COUNT (sizeof KINDS / sizeof *KINDS)

const kithi_kind *kithi_kind_at(size_t index) {
    return index < KIND_COUNT ? KINDS[index] : NULL;
}

const kithi_kind *kithi_kind_by_id(uint64_t id) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (KINDS[i]->lookup->id == id)
            return KINDS[i];
    return NULL;
}

const kithi_kind *kithi_kind_by_name(const char *name, size_t length) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strlen(KINDS[i]->info.name) == length && memcmp(KINDS[i]->info.name, name, length) == 0)
            return KINDS[i];
    return NULL;
}

/* As kithi_kind_resolver in plan/options.h. */
static bool resolve_kind(const char *name, size_t length, uint64_t *id) {
    const kithi_kind *kind = kithi_kind_by_name(name, length);
    if (kind == NULL)
        return false;
    *id = kind->lookup->id;
    return true;
}

kith_status kithi_kind_shape(const kithi_kind *kind, const kithi_head *head, kithi_shape *shape) {
    kith_status status = kind->lookup->shape(head, shape);
    shape->capabilities = kind->info.capabilities;
    if (status != KITH_OK || kind->lookup->has != NULL)
        return status;
    const kithi_kind *inner = kithi_kind_by_id(kind->lookup->decode(head).layers.inner);
    if (inner == NULL || !inner->lookup->adds)
        return KITH_E_CORRUPT;
    shape->capabilities |= inner->info.capabilities & (KITH_CAN_REMOVE | KITH_CAN_COPIES);
    kithi_head first = {.kind_id = inner->lookup->id};
    kithi_shape inside;
    memcpy(first.params, head->first_params, sizeof first.params);
    if (kithi_kind_shape(inner, &first, &inside) == KITH_OK) /* never with parameters that are all 0 */
        kithi_shape_take(&inside, shape);
    return KITH_OK;
}

void kithi_shape_take(const kithi_shape *inner, kithi_shape *shape) {
    uint64_t body_bytes = shape->body_bytes;
    uint32_t capabilities = shape->capabilities;
    *shape = *inner;
    shape->body_bytes = body_bytes;
    shape->capabilities = capabilities;
    shape->regions = 0;
}

size_t kithi_inner_kind_option(const kithi_kind *kind) {
    size_t i = 0;
    while (i < kind->info.option_count && !kithi_option_is_kind(&kind->info.options[i]))
        i++;
    return i;
}

/* Reads the options of the inner kind. `expected` is the number of options in the text that the outer kind does not
 * have. Each of them must be an option of the inner kind. If the inner kind has an inner kind itself, the planner
 * refuses it, so its options are not read here. */
static kith_status read_inner_options(const kithi_kind *inner, const char *text, size_t expected, uint64_t *values) {
    bool given[KITHI_OPTIONS_MAX];
    uint64_t inner_values[KITHI_OPTIONS_MAX];
    size_t found = 0, unknown;
    if (inner == NULL || kithi_inner_kind_option(inner) < inner->info.option_count)
        return expected == 0 ? KITH_OK : KITH_E_OPTION;
    kith_status status = kithi_options_read_known(text, inner->info.options, inner->info.option_count, resolve_kind,
                                                  inner_values, given, &unknown);
    for (size_t j = 0; j < inner->info.option_count && status == KITH_OK; j++) {
        values[j] = given[j] ? inner_values[j] + 1 : 0;
        found += given[j];
    }
    return status == KITH_OK && found != expected ? KITH_E_OPTION : status;
}

kith_status kithi_kind_options_read(const kithi_kind *kind, const char *text, uint64_t values[KITHI_OPTIONS_MAX]) {
    size_t count = kind->info.option_count, unknown;
    bool given[KITHI_OPTIONS_MAX];
    memset(values, 0, KITHI_OPTIONS_MAX * sizeof *values);
    kith_status status =
        kithi_options_read_known(text, kind->info.options, count, resolve_kind, values, given, &unknown);
    if (status != KITH_OK)
        return status;
    size_t inner_option = kithi_inner_kind_option(kind);
    if (inner_option == count)
        return unknown == 0 ? KITH_OK : KITH_E_OPTION;
    assert(kithi_kind_by_id(values[inner_option])->info.option_count <= KITHI_OPTIONS_MAX - count);
    return read_inner_options(kithi_kind_by_id(values[inner_option]), text, unknown, values + count);
}

static const char *name_of_id(uint64_t id) {
    return kithi_kind_by_id(id)->info.name;
}

/* Lists the options of a filter with this header, and those of its inner kind that were given, with their values.
 * Returns how many there are. */
static size_t list_options(const kithi_head *head, kith_option options[KITHI_OPTIONS_MAX],
                           uint64_t values[KITHI_OPTIONS_MAX]) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    assert(kind != NULL); /* a filter has this header */
    size_t count = kind->info.option_count, inner_option = kithi_inner_kind_option(kind);
    for (unsigned i = 0; i < count; i++) {
        options[i] = kind->info.options[i];
        values[i] = kind->plan.option(head, i);
    }
    if (inner_option < count) {
        const kithi_kind *inner = kithi_kind_by_id(values[inner_option]);
        assert(inner != NULL);
        for (unsigned j = 0; j < inner->info.option_count; j++) {
            uint64_t value = kind->plan.option(head, (unsigned)kind->info.option_count + j);
            if (value == 0)
                continue;
            options[count] = inner->info.options[j];
            values[count++] = value - 1;
        }
    }
    return count;
}

size_t kithi_kind_options_write(const kithi_head *head, char *text, size_t text_bytes) {
    kith_option options[KITHI_OPTIONS_MAX];
    uint64_t values[KITHI_OPTIONS_MAX];
    size_t count = list_options(head, options, values);
    return kithi_options_write(options, count, values, name_of_id, text, text_bytes);
}

size_t kith_filter_options(const kith_filter *f, char *text, size_t text_bytes) {
    return kithi_kind_options_write(&f->head, text, text_bytes);
}

kith_status kith_filter_option(const kith_filter *f, const char *name, uint64_t *value) {
    assert(f != NULL && name != NULL && value != NULL);
    kith_option options[KITHI_OPTIONS_MAX];
    uint64_t values[KITHI_OPTIONS_MAX];
    size_t count = list_options(&f->head, options, values);
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0 && kithi_option_is_number(&options[i], values[i])) {
            *value = values[i];
            return KITH_OK;
        }
    return KITH_E_OPTION;
}

size_t kith_filter_kind_count(void) {
    return KIND_COUNT;
}

const kith_kind_info *kith_filter_kind_at(size_t index) {
    return index < KIND_COUNT ? &KINDS[index]->info : NULL;
}

const kith_kind_info *kith_filter_kind_named(const char *name) {
    const kithi_kind *kind = kithi_kind_by_name(name, strlen(name));
    return kind != NULL ? &kind->info : NULL;
}
