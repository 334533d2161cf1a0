/* small_filter.h: a filter of each kind with a few keys, for the tests of files. */
#ifndef KITH_TESTS_UNIT_SMALL_FILTER_H
#define KITH_TESTS_UNIT_SMALL_FILTER_H

#include <kith/kith.h>

#include "check.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { KEYS = 40 }; /* its capacity */

/* Returns whether filters of this spec can be added to: those of a static kind are built instead. */
static inline bool can_add(const kith_filter_spec *spec) {
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(spec, &plan));
    return (plan.capabilities & KITH_CAN_ADD) != 0;
}

/* A filter with the keys 0 … n - 1, as 64-bit numbers. */
static inline kith_filter *filter_of_numbers(const kith_filter_spec *spec, uint64_t n) {
    kith_filter *filter = NULL;
    if (can_add(spec)) {
        CHECK_OK(kith_filter_create(spec, &filter));
        for (uint64_t i = 0; i < n; i++)
            CHECK_OK(kith_filter_add(filter, &i, sizeof i, NULL));
        return filter;
    }
    uint64_t *digests = malloc((size_t)(n + 1) * sizeof *digests);
    CHECK(digests != NULL);
    for (uint64_t i = 0; i < n; i++)
        digests[i] = kith_digest(&spec->hash, &i, sizeof i);
    CHECK_OK(kith_filter_build(spec, digests, (size_t)n, KITH_BUILD_SET, 1, &filter));
    free(digests);
    return filter;
}

/* Adds the keys 0 … KEYS / 2 - 1, as 64-bit numbers. */
static inline kith_filter *new_filter(const char *kind, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = KEYS;
    spec.rate = .01;
    return filter_of_numbers(&spec, KEYS / 2);
}

#define EACH_KIND(variable)                                                                                            \
    for (size_t kind_ = 0; kind_ < kith_filter_kind_count(); kind_++)                                                  \
        for (const char *variable = kith_filter_kind_at(kind_)->name; variable != NULL; variable = NULL)

#endif
