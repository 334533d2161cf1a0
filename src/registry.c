/* The registry of filter kinds, generated from kinds.def. */
#include <string.h>

#include "kind.h"
#include "registry.h"

#ifndef KITHI_KINDS_DEF
#define KITHI_KINDS_DEF "kinds.def"
#endif

#define KIND(name) extern const kithi_kind kithi_kind_##name;
#include KITHI_KINDS_DEF
#undef KIND

static const kithi_kind *const KINDS[] = {
#define KIND(name) &kithi_kind_##name,
#include KITHI_KINDS_DEF
#undef KIND
};

#define KIND_COUNT (sizeof KINDS / sizeof *KINDS)

const kithi_kind *kithi_kind_at(size_t index) {
    return index < KIND_COUNT ? KINDS[index] : NULL;
}

const kithi_kind *kithi_kind_by_id(uint64_t id) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (KINDS[i]->id == id)
            return KINDS[i];
    return NULL;
}

const kithi_kind *kithi_kind_by_name(const char *name, size_t length) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strlen(KINDS[i]->info.name) == length && memcmp(KINDS[i]->info.name, name, length) == 0)
            return KINDS[i];
    return NULL;
}

static bool resolve_kind(const char *name, size_t length, uint64_t *id) {
    const kithi_kind *kind = kithi_kind_by_name(name, length);
    if (kind == NULL)
        return false;
    *id = kind->id;
    return true;
}

kith_status kithi_kind_options(const kithi_kind *kind, const char *text, uint64_t *values) {
    return kithi_options_read(text, kind->info.options, kind->info.option_count, resolve_kind, values);
}

static const char *name_of_id(uint64_t id) {
    return kithi_kind_by_id(id)->info.name;
}

size_t kithi_kind_options_text(const kithi_head *head, char *text, size_t text_bytes) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    uint64_t values[KITHI_OPTIONS_MAX];
    for (unsigned i = 0; i < kind->info.option_count; i++)
        values[i] = kind->option(head, i);
    return kithi_options_write(kind->info.options, kind->info.option_count, values, name_of_id, text, text_bytes);
}

size_t kith_filter_options(const kith_filter *f, char *text, size_t text_bytes) {
    return kithi_kind_options_text(&f->head, text, text_bytes);
}

size_t kith_filter_kind_count(void) {
    return KIND_COUNT;
}

const kith_kind_info *kith_filter_kind_at(size_t index) {
    return index < KIND_COUNT ? &KINDS[index]->info : NULL;
}
