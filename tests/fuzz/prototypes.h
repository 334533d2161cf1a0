/* fuzz/prototypes.h: small filters of every kind, made once.
 *
 * Planning a filter takes a hundred times as long as a few operations on it. So the targets do not create filters: they
 * copy one of these, which are made before the first input is run. There is one for each kind with its default options
 * and with single options changed (a variant), for each of some shapes (capacity, rate, hash), and for each of some
 * numbers of keys. A new line in kinds.def is covered at once. */
#ifndef KITH_TESTS_FUZZ_PROTOTYPES_H
#define KITH_TESTS_FUZZ_PROTOTYPES_H

#include <kith/kith.h>

#include "fuzz/target.h"

enum {
    PROTOTYPE_KINDS_MAX = 32,
    PROTOTYPE_VARIANTS_MAX = 64,
    PROTOTYPE_SHAPES = 4,
    PROTOTYPE_FILLS = 3, /* empty; half full; full, and for a kind that grows: with several layers */
    PROTOTYPE_BYTES_MAX = 1 << 14,
};

typedef struct prototype {
    char options[32];
    kith_filter_spec spec;
    kith_plan plan;
    struct {
        uint8_t *bytes; /* the keys 0, 1, 2 … as words of 64 bits have been added; NULL: there is no such filter */
        size_t n;
    } fills[PROTOTYPE_FILLS];
} prototype;

static prototype prototypes[PROTOTYPE_KINDS_MAX][PROTOTYPE_VARIANTS_MAX][PROTOTYPE_SHAPES];
static size_t prototype_variants[PROTOTYPE_KINDS_MAX];

static inline kith_filter_spec prototype_spec(const char *kind, const char *options, size_t shape) {
    static const struct {
        uint64_t capacity;
        double rate;
        kith_hash_id hash;
    } SHAPES[PROTOTYPE_SHAPES] = {
        {50, .02, KITH_HASH_XXH3}, {1, .1, KITH_HASH_XXH3}, {12, .3, KITH_HASH_XXH3}, {30, 1e-4, KITH_HASH_SIPHASH}};
    static const kith_note NOTES[] = {{"note", "text"}, {"field", "3"}};
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = SHAPES[shape].capacity;
    spec.rate = SHAPES[shape].rate;
    spec.hash.id = SHAPES[shape].hash;
    spec.max_bytes = PROTOTYPE_BYTES_MAX;
    spec.allocator = &FUZZ_ALLOCATOR;
    if (shape == 2) {
        spec.recipe = 7;
        spec.notes = NOTES;
        spec.note_count = 2;
    }
    return spec;
}

static inline void prototype_keep(prototype *p, size_t fill, kith_filter *filter) {
    const void *bytes;
    size_t n;
    HOLD(kith_filter_bytes(filter, &bytes, &n) == KITH_OK);
    p->fills[fill].bytes = malloc(n);
    HOLD(p->fills[fill].bytes != NULL);
    memcpy(p->fills[fill].bytes, bytes, n);
    p->fills[fill].n = n;
}

static inline void prototype_fill(prototype *p) {
    static const uint64_t HALVES[PROTOTYPE_FILLS] = {0, 1, 2};
    kith_filter *filter = NULL;
    if ((p->plan.capabilities & KITH_CAN_ADD) == 0) {
        uint64_t digests[64];
        for (uint64_t key = 0; key < p->spec.capacity; key++)
            digests[key] = kith_digest(&p->spec.hash, &key, sizeof key);
        for (size_t fill = 0; fill < PROTOTYPE_FILLS; fill++) {
            HOLD(kith_filter_build(&p->spec, digests, (size_t)(p->spec.capacity * HALVES[fill] / 2), KITH_BUILD_SET, 1,
                                   &filter) == KITH_OK);
            prototype_keep(p, fill, filter);
            kith_filter_free(filter);
        }
        return;
    }
    uint64_t key = 0, grows = (p->plan.capabilities & KITH_CAN_GROW) != 0 ? 4 : 1;
    HOLD(kith_filter_create(&p->spec, &filter) == KITH_OK);
    for (size_t fill = 0; fill < PROTOTYPE_FILLS; fill++) {
        /* With some options not all keys fit. */
        for (; key < grows * p->spec.capacity * HALVES[fill] / 2; key++)
            if (kith_filter_add(filter, &key, sizeof key, NULL) != KITH_OK)
                break;
        prototype_keep(p, fill, filter);
    }
    kith_filter_free(filter);
}

/* Adds a variant of kind number `kind`, if there are plans for all of its shapes. */
static inline void prototype_add(size_t kind, const char *options) {
    size_t variant = prototype_variants[kind];
    HOLD(variant < PROTOTYPE_VARIANTS_MAX);
    for (size_t shape = 0; shape < PROTOTYPE_SHAPES; shape++) {
        prototype *p = &prototypes[kind][variant][shape];
        (void)snprintf(p->options, sizeof p->options, "%s", options);
        p->spec = prototype_spec(kith_filter_kind_at(kind)->name, p->options, shape);
        p->plan = (kith_plan)KITH_PLAN_INIT;
        if (kith_filter_plan(&p->spec, &p->plan) != KITH_OK)
            return;
    }
    for (size_t shape = 0; shape < PROTOTYPE_SHAPES; shape++)
        prototype_fill(&prototypes[kind][variant][shape]);
    prototype_variants[kind]++;
}

static inline void prototypes_make(void) {
    HOLD(kith_filter_kind_count() <= PROTOTYPE_KINDS_MAX);
    for (size_t kind = 0; kind < kith_filter_kind_count(); kind++) {
        char options[32];
        prototype_add(kind, "");
        HOLD(prototype_variants[kind] == 1);
        for (size_t i = 0; fuzz_variant(kith_filter_kind_at(kind), i, options, sizeof options); i++)
            prototype_add(kind, options);
    }
    HOLD(fuzz_live_bytes == 0);
}

/* Reads three bytes of the tape. */
static inline const prototype *prototype_of(tape *t) {
    if (prototype_variants[0] == 0)
        prototypes_make();
    size_t kind = tape_byte(t) % kith_filter_kind_count();
    size_t variant = tape_byte(t) % prototype_variants[kind];
    return &prototypes[kind][variant][tape_byte(t) % PROTOTYPE_SHAPES];
}

#endif
