/* Checks that each verb works exactly if the filter has the capability for it. */
#include "contract/contract.h"

enum { N = 300 };

/* A verb that must work if the filter has the capability, and otherwise return KITH_E_UNSUPPORTED and change
 * nothing. */
static void expect(const kith_plan *plan, uint32_t capability, kith_status status) {
    if (can(plan, capability))
        CHECK_OK(status);
    else
        CHECK_STATUS(status, KITH_E_UNSUPPORTED);
}

static void try_verbs(kith_filter *f, const kith_plan *plan) {
    kith_filter *like = NULL;
    kith_adder *adder = NULL;
    bool subset = false;
    uint64_t digest = digest_at(59, 0);
    key k = key_at(59, 0);
    CHECK_OK(kith_filter_create_like(f, NULL, &like));
    CHECK_OK(add_digest(f, digest));
    CHECK_OK(kith_filter_add(f, k.bytes, sizeof k.bytes, NULL));
    snapshot before = snapshot_of(f);
    expect(plan, KITH_CAN_MERGE, kith_filter_merge(f, like));
    expect(plan, KITH_CAN_SUBSET, kith_filter_subset(like, f, &subset));
    expect(plan, KITH_CAN_SHARE, kith_adder_open(f, &adder));
    kith_adder_close(adder);
    CHECK(subset == can(plan, KITH_CAN_SUBSET));
    expect(plan, KITH_CAN_INTERSECT, kith_filter_intersect(like, f));
    CHECK(same_bytes(f, &before));
    expect(plan, KITH_CAN_REMOVE, kith_filter_remove(f, k.bytes, sizeof k.bytes));
    expect(plan, KITH_CAN_REMOVE, kith_filter_remove_many(f, &digest, 1, NULL));
    if (!can(plan, KITH_CAN_REMOVE))
        CHECK(same_bytes(f, &before));
    else
        CHECK(kith_filter_count(f) == 0 && !has_digest(f, digest));
    snapshot_free(&before);
    kith_filter_free(like);
}

static void try_copies(kith_filter *f, const kith_plan *plan) {
    CHECK_OK(kith_filter_clear(f));
    key k = key_at(59, 1);
    CHECK_EQ_U64(kith_filter_copies(f, k.bytes, sizeof k.bytes), 0);
    CHECK(can(plan, KITH_CAN_COPIES) || plan->max_copies == 1);
    for (unsigned i = 1; i <= plan->max_copies; i++) {
        bool was_new = i != 1;
        CHECK_OK(kith_filter_add(f, k.bytes, sizeof k.bytes, &was_new));
        CHECK(was_new == (i == 1));
        CHECK_EQ_U64(kith_filter_copies(f, k.bytes, sizeof k.bytes), i);
        CHECK_EQ_U64(kith_filter_count(f), i);
    }
    snapshot before = snapshot_of(f);
    kith_status want = can(plan, KITH_CAN_COPIES) ? KITH_E_COPIES : KITH_OK;
    CHECK_STATUS(kith_filter_add(f, k.bytes, sizeof k.bytes, NULL), want);
    CHECK(same_bytes(f, &before));
    snapshot_free(&before);
}

/* Beyond the capacity a filter grows or returns KITH_E_FULL. */
static void try_growth(const kith_filter_spec *spec, const kith_plan *plan) {
    kith_filter *f = created(spec);
    kith_status status = KITH_OK;
    uint64_t keys = 0;
    while (status == KITH_OK && keys < 5 * N)
        status = add_digest(f, digest_at(61, keys++));
    if (can(plan, KITH_CAN_GROW)) {
        CHECK_OK(status);
        CHECK(kith_filter_count(f) <= kith_filter_capacity(f) && kith_filter_capacity(f) > N);
        CHECK(stats_of(f).layers > 1);
    } else {
        CHECK_STATUS(status, KITH_E_FULL);
        CHECK_EQ_U64(kith_filter_count(f), N);
        CHECK_EQ_U64(kith_filter_capacity(f), N);
    }
    kith_filter_free(f);
}

void capabilities_and_behaviour_agree(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 1e-4, &spec, &plan))
            continue;
        kith_filter *f = created(&spec);
        CHECK_EQ_U64(kith_filter_capabilities(f), plan.capabilities);
        CHECK(strcmp(kith_filter_kind_name(f), v->kind) == 0 && strcmp(plan.kind, v->kind) == 0);
        for (size_t i = 0; v->options[0] == '\0' && i < kith_filter_kind_count(); i++)
            if (strcmp(kith_filter_kind_at(i)->name, v->kind) == 0)
                CHECK_EQ_U64(kith_filter_kind_at(i)->capabilities, plan.capabilities);
        CHECK(can(&plan, KITH_CAN_REMOVE) || !can(&plan, KITH_CAN_COPIES));
        try_verbs(f, &plan);
        try_copies(f, &plan);
        try_growth(&spec, &plan);
        kith_filter_free(f);
        /* Every capability in `needs` is provided, or the request is refused. */
        for (unsigned bit = 0; bit < 8; bit++) {
            kith_plan again = KITH_PLAN_INIT;
            spec.needs = 1u << bit;
            CHECK_STATUS(kith_filter_plan(&spec, &again), can(&plan, spec.needs) ? KITH_OK : KITH_E_KIND);
        }
    }
    CHECK(kith_filter_kind_count() > 0 && kith_filter_kind_at(kith_filter_kind_count()) == NULL);
    /* Without a kind, the smallest one that has all capabilities is chosen. */
    for (uint32_t needs = 0; needs < 256; needs++) {
        contract_note("any kind, needs %u", (unsigned)needs);
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan best = KITH_PLAN_INIT;
        spec.capacity = N;
        spec.rate = 0.01;
        spec.needs = needs;
        kith_status status = kith_filter_plan(&spec, &best);
        bool possible = false;
        for (size_t i = 0; i < kith_filter_kind_count(); i++) {
            kith_plan plan = KITH_PLAN_INIT;
            spec.kind = kith_filter_kind_at(i)->name;
            if (kith_filter_plan(&spec, &plan) != KITH_OK)
                continue;
            possible = true;
            CHECK_OK(status);
            CHECK(can(&best, needs) && best.file_bytes <= plan.file_bytes);
        }
        CHECK(status == (possible ? KITH_OK : KITH_E_KIND));
    }
}
