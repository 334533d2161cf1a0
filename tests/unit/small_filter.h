/* small_filter.h: a filter of each kind with a few keys, for the tests of files. */
#ifndef KITH_TESTS_UNIT_SMALL_FILTER_H
#define KITH_TESTS_UNIT_SMALL_FILTER_H

#include <kith/kith.h>

#include "check.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { KEYS = 40 }; /* its capacity */

/* Adds the keys 0 … KEYS / 2 - 1, as 64-bit numbers. */
static inline kith_filter *new_filter(const char *kind, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = KEYS;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    for (uint64_t i = 0; i < KEYS / 2; i++)
        CHECK_OK(kith_filter_add(filter, &i, sizeof i, NULL));
    return filter;
}

#define EACH_KIND(variable)                                                                                            \
    for (size_t kind_ = 0; kind_ < kith_filter_kind_count(); kind_++)                                                  \
        for (const char *variable = kith_filter_kind_at(kind_)->name; variable != NULL; variable = NULL)

#endif
