/* Repairs the body of a filter of kind layers in which some pages are damaged. Each layer is a block with its own
 * header and checksums. A layer is repaired with its own checksums and not with those of the whole body, because a page
 * of the whole body may contain bytes of several layers.
 *
 *     directory   if its page may be damaged, it is written again: the sizes of the layers follow from the plan
 *     header      if it is damaged beyond repair, it is made again from the plan. Its count is the number of keys that
 *                 the other headers do not account for, but at most the capacity
 *     body        is repaired as in a filter of the inner kind. If nothing can be saved, the layer becomes empty
 *
 * If all layers become empty, the repair fails. */
#include <string.h>

#include "core/bits.h"
#include "layers/blocks.h"
#include "layers/plan.h"
#include "handle/salvage.h"

/* Returns a + b, or UINT64_MAX if that is too large. */
static uint64_t saturating_sum(uint64_t a, uint64_t b) {
    uint64_t sum;
    return kithi_checked_add(a, b, &sum) ? sum : UINT64_MAX;
}

/* Writes the sizes of the layers, which follow from the plan, into the directory. Returns false if they do not add up
 * to the size of the body. */
static bool restore_directory(kith_filter *f) {
    uint64_t at = KITHI_LAYERS_DIRECTORY_BYTES, block_bytes;
    memset(f->body, 0, KITHI_LAYERS_DIRECTORY_BYTES);
    for (unsigned i = 0; i < f->geometry.layers.count; i++) {
        kithi_head planned;
        if (kithi_layers_plan(&f->head, i, &planned) != KITH_OK ||
            !kithi_block_bytes(planned.body_bytes, &block_bytes) || block_bytes > f->head.body_bytes - at ||
            kithi_layers_padded(block_bytes) > f->head.body_bytes - at)
            return false;
        kithi_store64(f->body + 8 * (size_t)i, block_bytes);
        at += kithi_layers_padded(block_bytes);
    }
    return at == f->head.body_bytes;
}

/* Returns whether a block with this header has block_bytes bytes. */
static bool has_size(const kithi_head *head, uint64_t block_bytes) {
    uint64_t expected_bytes;
    return kithi_block_bytes(head->body_bytes, &expected_bytes) && expected_bytes == block_bytes;
}

/* Reads the header of layer i into *head. If one byte is wrong, corrects it in the block. Returns false if that is
 * impossible. */
static bool restore_header(const kith_filter *f, unsigned i, uint8_t *block, uint64_t block_bytes, kithi_head *head,
                           kithi_salvage *s) {
    uint8_t header[KITHI_HEADER_BYTES];
    if (kithi_salvage_header(block, block_bytes, header, head, s) != KITH_OK || !kithi_layers_fits(&f->head, i, head) ||
        !has_size(head, block_bytes))
        return false;
    memcpy(block, header, sizeof header);
    return true;
}

/* Reads the header of layer i or, if it is lost, makes it from the plan. */
static kith_status restore_or_plan_header(const kith_filter *f, unsigned i, uint8_t *block, uint64_t block_bytes,
                                          bool is_lost, kithi_head *head, kithi_salvage *s) {
    if (!is_lost && restore_header(f, i, block, block_bytes, head, s))
        return KITH_OK;
    s->header_lost = true;
    kith_status status = kithi_layers_plan(&f->head, i, head);
    return status != KITH_OK || has_size(head, block_bytes) ? status : KITH_E_CORRUPT;
}

/* Makes a layer empty. */
static void clear_layer(uint8_t *block, kithi_head *head) {
    memset(block + KITHI_HEADER_BYTES, 0, (size_t)head->body_bytes);
    head->count = head->fill = 0;
    kithi_block_seal(block, head);
}

/* Restores the headers of the layers where possible, and sets lost[i] to whether that of layer i could not be restored.
 * Returns how many keys the layers with lost headers have: the count of the filter minus the counts in the other
 * headers, or 0 if that is negative. */
static uint64_t restore_headers(const kith_filter *f, kithi_salvage *whole, bool *lost) {
    uint64_t known = 0;
    kithi_inner_block block = {0, 0};
    for (unsigned i = 0; kithi_layers_block(&f->head, f->body, i, &block) == KITH_OK; i++) {
        kithi_head head;
        kithi_salvage s = {.allocator = &f->allocator, .budget = whole->budget};
        lost[i] = !restore_header(f, i, f->body + block.at, block.bytes, &head, &s);
        if (!lost[i])
            known = saturating_sum(known, head.count);
        whole->budget = s.budget;
    }
    return f->head.count > known ? f->head.count - known : 0;
}

kith_status kithi_layers_salvage(kith_filter *f, kithi_damage *damage) {
    if (damage->page_states[0] != KITHI_PAGE_GOOD && !restore_directory(f))
        return KITH_E_CORRUPT;
    bool lost[KITHI_LAYERS_MAX] = {false};
    uint64_t count = 0, missing = restore_headers(f, damage->whole, lost);
    unsigned saved = 0, i = 0;
    kithi_inner_block block = {0, 0};
    kith_status status = kithi_layers_block(&f->head, f->body, 0, &block);
    for (; status == KITH_OK; status = kithi_layers_block(&f->head, f->body, ++i, &block)) {
        uint8_t *bytes = f->body + block.at;
        kithi_head head;
        kithi_salvage s = {.allocator = &f->allocator, .budget = damage->whole->budget};
        status = restore_or_plan_header(f, i, bytes, block.bytes, lost[i], &head, &s);
        if (status != KITH_OK)
            return status;
        if (s.header_lost)
            head.count = missing < head.capacity ? missing : head.capacity;
        uint64_t count_before = head.count;
        status = kithi_salvage_body(bytes, block.bytes, block.bytes, &head, &s);
        if (status == KITH_E_CORRUPT) {
            clear_layer(bytes, &head);
            /* If the inner kind stores no copies, the count is no bound: a key that was a false positive of this layer
             * was neither counted nor added, and is lost with the layer, too. */
            s.keys_at_risk = (f->shape.capabilities & KITH_CAN_COPIES) != 0 ? count_before : UINT64_MAX;
        } else if (status != KITH_OK) {
            return status;
        } else {
            saved++;
        }
        memset(bytes + block.bytes, 0, (size_t)(kithi_layers_padded(block.bytes) - block.bytes));
        damage->whole->budget = s.budget;
        damage->keys_at_risk = saturating_sum(damage->keys_at_risk, s.keys_at_risk);
        count = saturating_sum(count, head.count);
    }
    if (status != KITH_E_ABSENT || saved == 0)
        return KITH_E_CORRUPT;
    f->head.count = count;
    return KITH_OK;
}

void kithi_layers_recount(kith_filter *f) {
    f->head.count = 0;
    for (unsigned i = 0; i < kithi_layers_count(f); i++) {
        kith_filter *layer = &kithi_layers_of(f)[i];
        kithi_filter_recount(layer);
        f->head.count = saturating_sum(f->head.count, layer->head.count);
    }
}
