/* The operations of a handle whose filter is one block: calls its kind.
 *
 * A handle uses the kithi_kernels of its kind for the instruction set in use, `usual` if is_usual() returns true. If
 * has_many, add_many or remove_many are NULL in it, it uses a loop over has, add or remove. */
#include <string.h>

#include "core/batch.h"
#include "handle/verbs.h"

static size_t has_each(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    size_t yes = 0;
    for (size_t i = 0; i < n; i++) {
        bool has = kithi_has(f, digests[i]);
        if (maybe != NULL && i % 64 == 0)
            maybe[i / 64] = 0;
        kithi_bitmap_set(maybe, i, has);
        yes += has;
    }
    return yes;
}

static kith_status add_each(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    for (; *done < n; ++*done) {
        bool is_new = false;
        kith_status status = kithi_add_one(f, digests[*done], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, *done, is_new);
    }
    return KITH_OK;
}

static kith_status remove_each(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    for (; *done < n; ++*done) {
        kith_status status = kithi_remove_one(f, digests[*done]);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

static void bind(kith_filter *f) {
    const kithi_kind *kind = f->kind;
    kithi_kernels *verbs = &f->verbs;
    kithi_cpu cpu = kithi_cpu_now();
    *verbs = kind->is_usual != NULL && kind->is_usual(&f->geometry) ? *kind->usual[cpu] : *kind->kernels[cpu];
    if (verbs->has_many == NULL)
        verbs->has_many = has_each;
    if (verbs->add_many == NULL)
        verbs->add_many = add_each;
    if (verbs->remove_many == NULL)
        verbs->remove_many = remove_each;
}

/* `state` of a kind with cells is scratch memory for adds (kind.h). */
static void detach(kith_filter *f) {
    kithi_scratch *scratch = f->state;
    if (scratch != NULL)
        kithi_release(&f->allocator, scratch, scratch->bytes);
    f->state = NULL;
}

static uint64_t memory(const kith_filter *f) {
    const kithi_scratch *scratch = f->state;
    return scratch != NULL ? scratch->bytes : 0;
}

static size_t parts(const kith_filter *f, kithi_part parts[KITHI_BODY_PARTS_MAX]) {
    parts[0] = (kithi_part){f->body, (size_t)f->head.body_bytes};
    return 1;
}

static bool clear(kith_filter *f) {
    memset(f->body, 0, (size_t)f->head.body_bytes);
    f->head.count = 0;
    f->head.fill = 0;
    kithi_after_fill(f, false);
    return true;
}

static kith_filter *only_block(kith_filter *f) {
    return f;
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return f->kind->look(f, digest, report, context);
}

static uint64_t cell(const kith_filter *f, uint64_t number) {
    return f->kind->cell(f, number);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    f->kind->stats(f, stats);
}

static const char *check(const kith_filter *f) {
    return f->kind->check(f);
}

static kith_status salvage(kith_filter *f, kithi_damage *damage) {
    if (f->kind->repair.salvage != NULL)
        return f->kind->repair.salvage(f, damage);
    damage->keys_at_risk = f->head.count;
    return KITH_OK;
}

static void recount(kith_filter *f) {
    if (f->kind->repair.recount != NULL)
        f->kind->repair.recount(f);
}

const kithi_operations kithi_one_block = {
    .bind = bind,
    .detach = detach,
    .memory = memory,
    .parts = parts,
    .clear = clear,
    .only_block = only_block,
    .look = look,
    .cell = cell,
    .stats = stats,
    .check = check,
    .salvage = salvage,
    .recount = recount,
};
