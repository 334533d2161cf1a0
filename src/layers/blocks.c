/* The layers of a filter in memory. Each layer is a filter with a handle. The layers that the filter had when its block
 * was made are in that block. Each layer that was appended later is in a separate block, so growing copies nothing.
 *
 *     filter's block     | header | directory | layer 0 | … | layer in_block-1 |  unused  | notes |
 *     separate blocks    | layer in_block |   | layer in_block+1 |   …              in_block: see kithi_layers
 *
 * A new filter has one layer, in its block. After a filter was opened, adopted or cloned, or after kith_filter_bytes(),
 * all layers are in its block: in that state the bytes that the picture calls unused are for the checksums of the body,
 * and the block is the whole filter. When a layer is appended, only the directory in the block changes.
 *
 * A separate block is padded to a multiple of 64 bytes, like the layer in the file. So the file consists of the header,
 * the directory and the layers as they are in memory, then the checksums, which are computed when it is saved, and the
 * notes.
 *
 * Growing needs memory for the new layer and for the handles. Until both are allocated nothing changes. The size that
 * the file would have after the growth is compared with the limit (kith_filter_set_limit). The memory in use is at most
 * that size, apart from the handles and the memory in which cuckoo kinds search for free slots. The memory itself is
 * not compared, because it depends on which layers are in the filter's block. The result of an add must depend on
 * nothing but the filter's bytes, the limit and the digest. */
#include "layers/blocks.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "layers/plan.h"
#include "kinds/registry.h"
#include "handle/handle.h"
#include "handle/verbs.h"

static_assert(KITHI_LAYERS_MAX <= KITHI_BODY_PARTS_MAX, "each layer may be a part of the body");

static uint64_t handles_bytes(unsigned allocated) {
    return offsetof(kithi_layers, layer) + allocated * sizeof(kith_filter);
}

static kithi_layers *new_handles(const kith_filter *f, unsigned allocated) {
    kithi_layers *layers = kithi_allocate(&f->allocator, handles_bytes(allocated));
    if (layers != NULL)
        layers->allocated = allocated;
    return layers;
}

static void release_handles(const kith_filter *f, kithi_layers *layers) {
    kithi_release(&f->allocator, layers, handles_bytes(layers->allocated));
}

static void release_layer(const kith_filter *f, kithi_layers *layers, unsigned i) {
    kith_filter *layer = &layers->layer[i];
    kithi_filter_unbind(layer);
    if (i >= layers->in_block)
        kithi_release(&f->allocator, layer->block, kithi_layers_padded(layer->block_bytes));
}

/* Stores the size of layer i in the directory. */
static void enter_in_directory(kith_filter *f, unsigned i, uint64_t block_bytes) {
    kithi_store64(f->body + 8 * (size_t)i, block_bytes);
}

kith_status kithi_layers_init(kith_filter *f) {
    kithi_head layer;
    kith_status status = kithi_layers_first_head(&f->head, &layer);
    if (status != KITH_OK)
        return status;
    kithi_layers *layers = new_handles(f, 1);
    if (layers == NULL)
        return KITH_E_MEMORY;
    kith_filter *first = &layers->layer[0];
    status = kithi_filter_init(first, &layer, f->body + KITHI_LAYERS_DIRECTORY_BYTES, &f->allocator);
    if (status != KITH_OK) {
        release_handles(f, layers);
        return status;
    }
    first->backing = KITHI_BACKING_INNER;
    kithi_shape_take(&first->shape, &f->shape);
    enter_in_directory(f, 0, first->block_bytes);
    layers->in_block = 1;
    layers->in_block_bytes = f->head.body_bytes;
    f->state = layers;
    return KITH_OK;
}

/* Binds a handle to the block of layer i. `like` and `flags` are those of attach (verbs.h). */
static kith_status bind_layer(const kith_filter *f, const kith_filter *like, unsigned flags, unsigned i, uint8_t *block,
                              uint64_t block_bytes, kith_filter *handle) {
    if (like != NULL) {
        kith_status status = kithi_filter_bind_copy(handle, &kithi_layers_of(like)[i], block, &f->allocator);
        handle->sealed = kithi_layers_of(like)[i].sealed; /* header and checksums were copied as well */
        return status;
    }
    kithi_head head;
    if (kithi_header_read(block, block_bytes, &head) != KITH_OK || !kithi_layers_fits(&f->head, i, &head))
        return KITH_E_CORRUPT;
    kith_status status = kithi_filter_bind(handle, block, block_bytes, flags, &f->allocator);
    return status == KITH_OK || status == KITH_E_MEMORY ? status : KITH_E_CORRUPT;
}

kith_status kithi_layers_attach(kith_filter *f, const kith_filter *like, unsigned flags) {
    unsigned count = kithi_layers_count(f);
    kithi_layers *layers = new_handles(f, count);
    if (layers == NULL)
        return KITH_E_MEMORY;
    kithi_inner_block block = {0, 0};
    kith_status status = kithi_layers_block(&f->head, f->body, 0, &block);
    while (status == KITH_OK) {
        unsigned i = layers->in_block;
        status = bind_layer(f, like, flags, i, f->body + block.at, block.bytes, &layers->layer[i]);
        layers->in_block += status == KITH_OK;
        if (status == KITH_OK)
            status = kithi_layers_block(&f->head, f->body, layers->in_block, &block);
    }
    if (status != KITH_E_ABSENT) { /* KITH_E_ABSENT: no layer is left; anything else is an error */
        for (unsigned i = 0; i < layers->in_block; i++)
            release_layer(f, layers, i);
        release_handles(f, layers);
        return status;
    }
    layers->in_block_bytes = f->head.body_bytes;
    f->state = layers;
    kithi_shape_take(&layers->layer[0].shape, &f->shape);
    f->shape.cells = 0;
    for (unsigned i = 0; i < count; i++) {
        layers->layer[i].backing = KITHI_BACKING_INNER;
        f->shape.cells += layers->layer[i].shape.cells;
    }
    return KITH_OK;
}

void kithi_layers_detach(kith_filter *f) {
    kithi_layers *layers = f->state;
    if (layers == NULL)
        return;
    for (unsigned i = 0; i < kithi_layers_count(f); i++)
        release_layer(f, layers, i);
    release_handles(f, layers);
    f->state = NULL;
}

/* Updates everything that depends on the number of layers. */
static void set_size(kith_filter *f, unsigned count, uint64_t capacity, uint64_t body_bytes) {
    f->geometry.layers.count = count;
    kithi_layers_encode(&f->geometry.layers, &f->head);
    f->head.capacity = capacity;
    f->head.body_bytes = body_bytes;
    f->shape.body_bytes = body_bytes;
    f->shape.cells = 0;
    for (unsigned i = 0; i < count; i++)
        f->shape.cells += kithi_layers_of(f)[i].shape.cells;
}

/* Ensures that there is a handle for one more layer. Returns false, and changes nothing, if there is no memory. */
static bool reserve_handle(kith_filter *f) {
    kithi_layers *old = f->state;
    unsigned count = kithi_layers_count(f);
    if (count < old->allocated)
        return true;
    kithi_layers *layers = new_handles(f, count + 1);
    if (layers == NULL)
        return false;
    layers->in_block = old->in_block;
    layers->in_block_bytes = old->in_block_bytes;
    memcpy(layers->layer, old->layer, count * sizeof *old->layer);
    release_handles(f, old);
    f->state = layers;
    return true;
}

kith_status kithi_layers_grow(kith_filter *f) {
    unsigned count = kithi_layers_count(f);
    kithi_head layer;
    uint64_t layer_bytes, capacity, grown_bytes;
    if (count == KITHI_LAYERS_MAX || kithi_layers_plan(&f->head, count, &layer) != KITH_OK ||
        !kithi_block_bytes(layer.body_bytes, &layer_bytes) ||
        !kithi_checked_add(f->head.capacity, layer.capacity, &capacity))
        return KITH_E_FULL;
    uint64_t block_bytes = kithi_layers_padded(layer_bytes), body_bytes = f->head.body_bytes + block_bytes;
    if (!kithi_block_bytes(body_bytes, &grown_bytes))
        return KITH_E_FULL;
    if (!kithi_filter_limit_allows(f, f->head.notes_bytes, grown_bytes))
        return KITH_E_TOO_LARGE;
    uint8_t *block = kithi_allocate(&f->allocator, block_bytes);
    if (block == NULL)
        return KITH_E_MEMORY;
    kith_filter handle;
    kith_status status = kithi_filter_init(&handle, &layer, block, &f->allocator);
    if (status == KITH_OK && !reserve_handle(f)) {
        kithi_filter_unbind(&handle);
        status = KITH_E_MEMORY;
    }
    if (status != KITH_OK) {
        kithi_release(&f->allocator, block, block_bytes);
        return status;
    }
    /* No more keys are added to the previous layer, so its scratch memory is freed. kithi_filter_unbind() does nothing
     * else: the handle stays valid. */
    kithi_filter_unbind(&kithi_layers_of(f)[count - 1]);
    handle.backing = KITHI_BACKING_INNER;
    memcpy(&kithi_layers_of(f)[count], &handle, sizeof handle);
    enter_in_directory(f, count, handle.block_bytes);
    set_size(f, count + 1, capacity, body_bytes);
    return KITH_OK;
}

/* Empties the first layer and drops the others. Only possible if the first is the only one in the filter's block. */
bool kithi_layers_clear(kith_filter *f) {
    kithi_layers *layers = f->state;
    if (layers->in_block != 1)
        return false;
    for (unsigned i = 1; i < kithi_layers_count(f); i++) {
        release_layer(f, layers, i);
        enter_in_directory(f, i, 0);
    }
    kith_filter *first = &layers->layer[0];
    first->operations->clear(first);
    first->sealed = false;
    f->head.count = 0;
    set_size(f, 1, first->head.capacity, layers->in_block_bytes);
    return true;
}

/* The outer checksums cover the inner blocks, but a forged file may have correct outer checksums over inner blocks
 * whose own checksums are wrong. Such a block would be copied as it is into every file that is saved later. */
kith_status kithi_layers_verify(const kith_filter *f) {
    kith_status status = KITH_OK;
    for (unsigned i = 0; i < kithi_layers_count(f) && status == KITH_OK; i++)
        status = kithi_body_verify(kithi_layers_of(f)[i].block, &kithi_layers_of(f)[i].head);
    return status;
}

uint64_t kithi_layers_memory(const kith_filter *f) {
    const kithi_layers *layers = f->state;
    uint64_t bytes = handles_bytes(layers->allocated);
    for (unsigned i = 0; i < kithi_layers_count(f); i++) {
        const kith_filter *layer = &layers->layer[i];
        bytes += layer->operations->memory(layer);
        bytes += i >= layers->in_block ? kithi_layers_padded(layer->block_bytes) : 0;
    }
    return bytes;
}

size_t kithi_layers_parts(const kith_filter *f, kithi_part parts[KITHI_BODY_PARTS_MAX]) {
    const kithi_layers *layers = f->state;
    size_t count = 0;
    parts[count++] = (kithi_part){f->body, (size_t)layers->in_block_bytes};
    for (unsigned i = layers->in_block; i < kithi_layers_count(f); i++) {
        const kith_filter *layer = &layers->layer[i];
        parts[count++] = (kithi_part){layer->block, (size_t)kithi_layers_padded(layer->block_bytes)};
    }
    return count;
}

void kithi_layers_relocate(kith_filter *f, kith_move move, void *context) {
    kithi_layers *layers = f->state;
    uint64_t offset = KITHI_LAYERS_DIRECTORY_BYTES;
    for (unsigned i = 0; i < kithi_layers_count(f); i++) {
        kith_filter *layer = &layers->layer[i];
        size_t body_at = (size_t)(layer->body - layer->block), padded = (size_t)kithi_layers_padded(layer->block_bytes);
        if (i < layers->in_block) {
            layer->block = f->body + offset;
            offset += padded;
        } else {
            layer->block = move(context, layer->block, padded);
        }
        layer->body = layer->block + body_at;
    }
}
