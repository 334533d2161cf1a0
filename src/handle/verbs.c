/* Calls the operations of a kind, or their defaults (see verbs.h). */
#include "handle/verbs.h"

#include "core/batch.h"

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

void kithi_verbs_bind(kith_filter *f) {
    const kithi_kind *kind = f->kind;
    const kithi_kernels *portable = &kind->kernels[KITHI_CPU_PORTABLE];
    kithi_kernels *verbs = &f->verbs;
    kithi_cpu cpu = kithi_cpu_now();
    bool usual = kind->is_usual != NULL && kind->is_usual(&f->geometry) && kind->usual[cpu].has != NULL;
    *verbs = usual ? kind->usual[cpu] : kind->kernels[cpu];
    if (verbs->has == NULL)
        *verbs = *portable;
    if (verbs->add == NULL)
        verbs->add = portable->add;
    if (verbs->remove == NULL)
        verbs->remove = portable->remove;
    if (verbs->copies == NULL)
        verbs->copies = portable->copies;
    if (verbs->has_many == NULL)
        verbs->has_many = has_each;
    if (verbs->add_many == NULL)
        verbs->add_many = add_each;
    if (verbs->remove_many == NULL)
        verbs->remove_many = remove_each;
}

bool kithi_look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return f->kind->look != NULL ? f->kind->look(f, digest, report, context) : kithi_has(f, digest);
}

uint64_t kithi_cell(const kith_filter *f, uint64_t cell) {
    return f->kind->cell != NULL ? f->kind->cell(f, cell) : 0;
}

void kithi_stats(const kith_filter *f, kith_filter_stats *stats) {
    if (f->kind->stats != NULL)
        f->kind->stats(f, stats);
    else
        stats->rate_now = f->kind->plan.expect(&f->head, f->head.count).rate;
}

const char *kithi_check(const kith_filter *f) {
    if (f->kind->check != NULL)
        return f->kind->check(f);
    uint8_t any = 0;
    for (uint64_t i = 0; f->head.count == 0 && i < f->head.body_bytes; i++)
        any |= f->body[i];
    return any == 0 ? NULL : "the filter has no keys, but its body is not zero";
}
