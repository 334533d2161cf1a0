/* plans.h: helpers for the tests of kith_filter_plan. */
#ifndef KITH_TESTS_UNIT_PLANS_H
#define KITH_TESTS_UNIT_PLANS_H

#include <inttypes.h>

#include <kith/kith.h>

#include "check.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static inline kith_filter_spec spec_of(const char *kind, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.options = options;
    return spec;
}

static inline kith_status plan_of(const kith_filter_spec *spec, kith_plan *plan) {
    *plan = (kith_plan)KITH_PLAN_INIT;
    return kith_filter_plan(spec, plan);
}

static inline kith_plan plan_for(const char *kind, uint64_t capacity, double rate, uint64_t bytes) {
    kith_filter_spec spec = spec_of(kind, NULL);
    kith_plan plan;
    spec.capacity = capacity;
    spec.rate = rate;
    spec.bytes = bytes;
    kith_status status = plan_of(&spec, &plan);
    if (status != KITH_OK)
        CHECK_FAIL("%s, n %" PRIu64 ", rate %g, bytes %" PRIu64 ": %s", kind, capacity, rate, bytes,
                   kith_status_name(status));
    return plan;
}

#endif
