/* Tests of the planner where no kind alone supports what is needed: it looks inside kinds that contain another. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>

#include <kith/kith.h>

#include "check.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static kith_filter_spec spec_of(const char *kind, uint32_t needs, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.needs = needs;
    spec.capacity = 100000;
    spec.rate = rate;
    return spec;
}

/* The best plan of kind layers over all inner kinds, by naming each. */
static kith_status best_by_name(kith_filter_spec spec, kith_plan *best) {
    *best = (kith_plan)KITH_PLAN_INIT;
    spec.kind = "layers";
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        char options[64];
        kith_plan plan = KITH_PLAN_INIT;
        (void)snprintf(options, sizeof options, "inner=%s", kith_filter_kind_at(i)->name);
        spec.options = options;
        if (kith_filter_plan(&spec, &plan) != KITH_OK)
            continue;
        bool better = spec.bytes == 0      ? plan.file_bytes < best->file_bytes
                      : spec.capacity != 0 ? plan.rate < best->rate
                                           : plan.capacity > best->capacity;
        if (best->kind == NULL || better)
            *best = plan;
    }
    return best->kind != NULL ? KITH_OK : KITH_E_KIND;
}

/* Checks that the filter of this spec is one of layers, of `inner` if that is not NULL, like the plan. */
static void check_creates(const kith_filter_spec *spec, const kith_plan *plan, const char *inner) {
    kith_filter *filter;
    char options[128], expected[64];
    CHECK_OK(kith_filter_create(spec, &filter));
    CHECK(strcmp(kith_filter_kind_name(filter), "layers") == 0 && strcmp(plan->kind, "layers") == 0);
    (void)kith_filter_options(filter, options, sizeof options);
    CHECK(plan->inner != NULL && (inner == NULL || strcmp(plan->inner, inner) == 0));
    (void)snprintf(expected, sizeof expected, "inner=%s growth=2", plan->inner);
    CHECK(strcmp(options, expected) == 0);
    CHECK((kith_filter_capabilities(filter) & spec->needs) == spec->needs);
    kith_plan after = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan_of(filter, &after));
    CHECK(after.file_bytes == plan->file_bytes && after.rate == plan->rate && after.capacity == plan->capacity);
    CHECK(strcmp(after.inner, plan->inner) == 0);
    kith_filter_free(filter);
}

TEST(the_best_inner_kind_is_chosen_if_no_kind_alone_supports_the_needs) {
    static const uint32_t NEEDS[] = {KITH_CAN_GROW | KITH_CAN_REMOVE, KITH_CAN_GROW | KITH_CAN_COPIES,
                                     KITH_CAN_GROW | KITH_CAN_REMOVE | KITH_CAN_COPIES};
    static const double RATES[] = {.1, .01, .001, 1e-5};
    for (size_t n = 0; n < LENGTH(NEEDS); n++) {
        for (size_t r = 0; r < LENGTH(RATES); r++) {
            for (unsigned given = 0; given < (r == n ? 3u : 1u); given++) { /* plans of given bytes take longer */
                kith_filter_spec spec = spec_of(NULL, NEEDS[n], RATES[r]);
                spec.bytes = given > 0 ? 300000 : 0;
                spec.rate = given == 1 ? 0 : RATES[r];
                spec.capacity = given == 2 ? 0 : spec.capacity;
                kith_plan best, plan = KITH_PLAN_INIT;
                CHECK_OK(best_by_name(spec, &best));
                CHECK_OK(kith_filter_plan(&spec, &plan));
                CHECK(plan.file_bytes == best.file_bytes && plan.rate == best.rate && plan.capacity == best.capacity);
                check_creates(&spec, &plan, best.inner);
                spec.kind = "layers"; /* the same choice with the outer kind named */
                CHECK_OK(kith_filter_plan(&spec, &plan));
                check_creates(&spec, &plan, best.inner);
            }
        }
    }
}

TEST(a_named_kind_that_cannot_grow_becomes_the_kind_of_the_layers) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *kind = kith_filter_kind_at(i);
        if ((kind->capabilities & KITH_CAN_GROW) != 0)
            continue;
        kith_filter_spec alone = spec_of(kind->name, 0, .01);
        kith_plan plan = KITH_PLAN_INIT;
        CHECK_OK(kith_filter_plan(&alone, &plan));
        CHECK(strcmp(plan.kind, kind->name) == 0 && plan.inner == NULL);

        uint32_t inside = kind->capabilities & (KITH_CAN_REMOVE | KITH_CAN_COPIES);
        kith_filter_spec spec = spec_of(kind->name, KITH_CAN_GROW | inside, .01);
        if ((kind->capabilities & KITH_CAN_ADD) == 0) {
            CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_UNSUPPORTED);
            continue;
        }
        CHECK_OK(kith_filter_plan(&spec, &plan));
        check_creates(&spec, &plan, kind->name);
        /* Options are those of the kind alone: they have no place inside another. */
        char options[64];
        CHECK(kind->option_count > 0);
        (void)snprintf(options, sizeof options, "%s=%s", kind->options[0].name, kind->options[0].fallback);
        spec.options = options;
        CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_KIND);
        spec.options = NULL;
        /* What layers of any kind cannot do stays impossible. */
        spec.needs = KITH_CAN_GROW | KITH_CAN_MERGE;
        CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_KIND);
    }
    kith_filter_spec spec = spec_of("bloom", KITH_CAN_GROW | KITH_CAN_REMOVE, .01);
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_KIND);
    spec.kind = "no such kind";
    CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_KIND);
}

/* A kind that can do all of it alone is taken as it is, even if a combination were smaller. */
TEST(a_kind_that_suffices_alone_is_not_looked_inside) {
    kith_filter_spec spec = spec_of(NULL, KITH_CAN_GROW, .01), named = spec_of("layers", 0, .01);
    kith_plan plan = KITH_PLAN_INIT, expected = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(&named, &expected));
    CHECK_OK(kith_filter_plan(&spec, &plan));
    CHECK(plan.inner != NULL && expected.inner != NULL);
    CHECK(plan.file_bytes == expected.file_bytes && strcmp(plan.inner, expected.inner) == 0);
    spec.needs = KITH_CAN_REMOVE;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    CHECK(strcmp(plan.kind, "layers") != 0 && plan.inner == NULL);
}

TEST(what_no_combination_supports_is_refused_with_the_kind) {
    static const uint32_t NEEDS[] = {KITH_CAN_GROW | KITH_CAN_MERGE, KITH_CAN_GROW | KITH_CAN_SHARE,
                                     KITH_CAN_REMOVE | KITH_CAN_SHARE};
    for (size_t n = 0; n < LENGTH(NEEDS); n++) {
        kith_filter_spec spec = spec_of(NULL, NEEDS[n], .01);
        kith_plan plan = KITH_PLAN_INIT;
        kith_filter *filter = NULL;
        CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_KIND);
        CHECK_STATUS(kith_filter_create(&spec, &filter), KITH_E_KIND);
        CHECK(filter == NULL && plan.kind == NULL);
        spec.kind = "layers";
        CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_KIND);
    }
}

/* Kinds that could not do it anyway are larger than the limit here, which must not hide the combination that fits. */
TEST(the_limit_of_bytes_holds_for_the_combination) {
    kith_filter_spec spec = spec_of(NULL, KITH_CAN_GROW | KITH_CAN_REMOVE, .001);
    kith_plan plan = KITH_PLAN_INIT, bloom = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    kith_filter_spec other = spec_of("bloom", 0, .001);
    CHECK_OK(kith_filter_plan(&other, &bloom));
    spec.max_bytes = plan.file_bytes;
    CHECK(bloom.file_bytes > spec.max_bytes);
    CHECK_OK(kith_filter_plan(&spec, &plan));
    check_creates(&spec, &plan, plan.inner);
    spec.max_bytes--;
    CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_TOO_LARGE);
    spec.kind = "cuckoo";
    CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_TOO_LARGE);
}

TEST(a_filter_of_an_inner_kind_can_be_built_from_digests) {
    uint64_t digests[1000];
    for (size_t i = 0; i < LENGTH(digests); i++)
        digests[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    kith_filter_spec spec = spec_of("cuckoo", KITH_CAN_GROW, .01);
    spec.capacity = 100;
    kith_filter *filter;
    CHECK_OK(kith_filter_build(&spec, digests, LENGTH(digests), 0, 1, &filter));
    CHECK_EQ_U64(kith_filter_has_many(filter, digests, LENGTH(digests), NULL), LENGTH(digests));
    CHECK(strcmp(kith_filter_kind_name(filter), "layers") == 0);
    CHECK_OK(kith_filter_remove_digest(filter, digests[999]));
    kith_filter_free(filter);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
