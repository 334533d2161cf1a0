/* Calls the verbs of a kind, or their defaults (see verbs.h). */
#include "verbs.h"

#include "core/batch.h"

size_t kithi_has_many(const kithi_kernels *kernels, const kith_filter *f, const uint64_t *digests, size_t n,
                      uint64_t *maybe) {
    if (kernels->has_many != NULL)
        return kernels->has_many(f, digests, n, maybe);
    size_t yes = 0;
    for (size_t i = 0; i < n; i++) {
        bool has = kernels->has(f, digests[i]);
        if (maybe != NULL && i % 64 == 0)
            maybe[i / 64] = 0;
        kithi_bitmap_set(maybe, i, has);
        yes += has;
    }
    return yes;
}

kith_status kithi_add_many(const kithi_kernels *kernels, kith_filter *f, const uint64_t *digests, size_t n,
                           uint64_t *was_new, size_t *done) {
    if (kernels->add_many != NULL)
        return kernels->add_many(f, digests, n, was_new, done);
    for (; *done < n; ++*done) {
        bool is_new = false;
        kith_status status = kithi_add_one(f, digests[*done], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, *done, is_new);
    }
    return KITH_OK;
}

kith_status kithi_remove_many(const kithi_kernels *kernels, kith_filter *f, const uint64_t *digests, size_t n,
                              size_t *done) {
    if (kernels->remove_many != NULL)
        return kernels->remove_many(f, digests, n, done);
    for (; *done < n; ++*done) {
        kith_status status = kithi_remove_one(f, digests[*done]);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

bool kithi_look(const kith_filter *f, uint64_t digest, kith_look look, void *context) {
    return f->kind->look != NULL ? f->kind->look(f, digest, look, context) : kithi_has(f, digest);
}

uint64_t kithi_cell(const kith_filter *f, uint64_t cell) {
    return f->kind->cell != NULL ? f->kind->cell(f, cell) : 0;
}

void kithi_stats(const kith_filter *f, kith_filter_stats *stats) {
    if (f->kind->stats != NULL)
        f->kind->stats(f, stats);
    else
        stats->rate_now = f->kind->expect(&f->head, f->head.count).rate;
}

const char *kithi_check(const kith_filter *f) {
    if (f->kind->check != NULL)
        return f->kind->check(f);
    uint8_t any = 0;
    for (uint64_t i = 0; f->head.count == 0 && i < f->head.body_bytes; i++)
        any |= f->body[i];
    return any == 0 ? NULL : "the filter has no keys, but its body is not zero";
}
