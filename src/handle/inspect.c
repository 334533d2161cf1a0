/* The calls of kith/inspect.h that are about filters. */
#include <kith/inspect.h>

#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "format/read.h"
#include "handle/handle.h"
#include "handle/verbs.h"
#include "kinds/registry.h"

static_assert(KITH_FILTER_BODY_AT == KITHI_HEADER_BYTES, "the body follows the header");
static_assert(sizeof((kith_filter_parameters *)NULL)->values == sizeof((kithi_head *)NULL)->params,
              "the values are the parameters of a header");

bool kith_filter_look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    assert(f != NULL && report != NULL);
    return f->operations->look(f, digest, report, context);
}

uint64_t kith_filter_cell(const kith_filter *f, uint64_t cell) {
    assert(f != NULL && cell < f->shape.cells);
    return f->operations->cell(f, cell);
}

void kith_filter_set_trace(kith_filter *f, kith_walk_trace trace, void *context) {
    assert(f != NULL && trace != NULL);
    f->trace = trace;
    f->trace_context = context;
}

kith_status kith_filter_make(const kith_filter_parameters *p, const kith_allocator *allocator, kith_filter **filter) {
    assert(p != NULL && p->kind != NULL && filter != NULL);
    const kithi_kind *kind = kithi_kind_by_name(p->kind, strlen(p->kind));
    if (kind == NULL)
        return KITH_E_KIND;
    if (!kithi_kind_adds(kind) || (kind->info.capabilities & KITH_CAN_GROW) != 0)
        return KITH_E_UNSUPPORTED;
    kithi_head head = {.kind_id = kind->lookup->id, .hash = p->hash, .capacity = p->capacity, .rate = p->rate};
    kithi_shape shape;
    memcpy(head.params, p->values, sizeof head.params);
    if (kithi_kind_shape(kind, &head, &shape) != KITH_OK)
        return KITH_E_PARAMETERS;
    head.body_bytes = shape.body_bytes;
    if (head.capacity == 0)
        head.capacity = shape.cells;
    if (!kithi_hash_valid(&p->hash))
        return KITH_E_HASH;
    if (kithi_head_check(&head, kind->lookup->params_mask) != KITH_OK)
        return KITH_E_PARAMETERS;
    const kith_filter_spec spec = {.allocator = allocator};
    return kithi_filter_create_planned(&spec, &head, filter);
}
