/* Which kind the planner chooses: spec.excludes and spec.prefer, over all kinds. */
#include <kith/kith.h>

#include "check.h"
#include "unit/small_filter.h"

static kith_filter_spec spec_of(double rate, bool final, uint32_t needs) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.capacity = 1000000;
    spec.rate = rate;
    spec.final = final;
    spec.needs = needs;
    return spec;
}

static kith_plan planned(const kith_filter_spec *spec) {
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(spec, &plan));
    return plan;
}

TEST(excluded_capabilities_are_never_chosen) {
    for (uint32_t capability = 1; capability <= KITH_CAN_ADD; capability *= 2)
        for (unsigned final = 0; final < 2; final++) {
            kith_filter_spec spec = spec_of(.01, final, 0);
            kith_plan plan = KITH_PLAN_INIT;
            spec.excludes = capability;
            kith_status status = kith_filter_plan(&spec, &plan);
            CHECK(status == KITH_OK || status == KITH_E_KIND);
            CHECK(status != KITH_OK || (plan.capabilities & capability) == 0);
            spec.needs = capability;
            CHECK(kith_filter_plan(&spec, &plan) != KITH_OK);
            EACH_KIND(kind) {
                kith_filter_spec named = spec_of(.01, final, 0);
                named.kind = kind;
                bool has = (planned(&named).capabilities & capability) != 0;
                named.excludes = capability;
                CHECK((kith_filter_plan(&named, &plan) == KITH_OK) == !has);
            }
        }
}

TEST(a_faster_kind_is_preferred_up_to_its_limit_and_makes_the_plan_of_its_name) {
    static const double RATES[] = {.3, .1, .03, .01, .003, .001, 1e-4, 1e-5};
    unsigned exchanged = 0;
    for (unsigned final = 0; final < 2; final++)
        for (size_t r = 0; r < LENGTH(RATES); r++) {
            kith_filter_spec spec = spec_of(RATES[r], final, 0);
            kith_plan smallest = planned(&spec);
            spec.prefer = KITH_PREFER_FASTER;
            kith_plan faster = planned(&spec);
            CHECK(faster.bits_per_key <= 1.3 * smallest.bits_per_key && faster.rate <= RATES[r]);
            CHECK((faster.capabilities & (KITH_CAN_GROW | KITH_CAN_ADD)) ==
                  (smallest.capabilities & (KITH_CAN_GROW | KITH_CAN_ADD)));
            exchanged += strcmp(faster.kind, smallest.kind) != 0;
            if (final)
                CHECK(faster.lookup_cells <= smallest.lookup_cells);
            else
                CHECK(faster.lines <= smallest.lines);
            /* No kind that fits the rule is left out. */
            EACH_KIND(kind) {
                kith_filter_spec named = spec_of(RATES[r], final, 0);
                named.kind = kind;
                kith_plan other = planned(&named);
                bool adds = (other.capabilities & KITH_CAN_ADD) != 0;
                bool counts = adds == !final && (other.capabilities & KITH_CAN_GROW) == 0 &&
                              other.bits_per_key <= 1.3 * smallest.bits_per_key;
                CHECK(!counts || (final ? other.lookup_cells >= faster.lookup_cells : other.lines >= faster.lines) ||
                      (!final && other.lines > 1));
            }
            kith_filter_spec named = spec_of(RATES[r], final, 0);
            named.kind = faster.kind;
            kith_plan same = planned(&named);
            CHECK_EQ_U64(same.file_bytes, faster.file_bytes);
        }
    CHECK(exchanged >= 4);
}

TEST(a_named_kind_is_not_exchanged) {
    EACH_KIND(kind) {
        kith_filter_spec spec = spec_of(.01, true, 0);
        spec.kind = kind;
        spec.prefer = KITH_PREFER_FASTER;
        CHECK(strcmp(planned(&spec).kind, kind) == 0);
    }
}

TEST(an_unknown_preference_is_refused) {
    kith_filter_spec spec = spec_of(.01, false, 0);
    kith_plan plan = KITH_PLAN_INIT;
    spec.prefer = (kith_preference)2;
    CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_ARGUMENT);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
