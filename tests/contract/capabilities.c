/* Checks that each operation works exactly if the filter has the capability for it. */
#include "contract/contract.h"

enum { N = 300 };

/* An operation that must work if the filter has the capability, and otherwise return KITH_E_UNSUPPORTED and change
 * nothing. */
static void expect(const kith_plan *plan, uint32_t capability, kith_status status) {
    if (can(plan, capability))
        CHECK_OK(status);
    else
        CHECK_STATUS(status, KITH_E_UNSUPPORTED);
}

static void try_operations(kith_filter *f, const kith_plan *plan) {
    kith_filter *like = NULL;
    kith_adder *adder = NULL;
    bool subset = false;
    uint64_t digest = digest_at(59, 0);
    key k = key_at(59, 0);
    expect(plan, KITH_CAN_ADD, kith_filter_create_like(f, NULL, &like));
    expect(plan, KITH_CAN_ADD, add_digest(f, digest));
    expect(plan, KITH_CAN_ADD, kith_filter_add(f, k.bytes, sizeof k.bytes, NULL));
    if (like == NULL)
        like = cloned(f);
    snapshot before = snapshot_of(f);
    expect(plan, KITH_CAN_MERGE, kith_filter_merge(f, like));
    expect(plan, KITH_CAN_SUBSET, kith_filter_disjoint(like, f, &subset));
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
    /* Only kinds with fingerprints may store a few copies more. */
    uint64_t more = 0;
    while (plan->fingerprint_bits != 0 && more < 100 && kith_filter_add(f, k.bytes, sizeof k.bytes, NULL) == KITH_OK)
        CHECK_EQ_U64(kith_filter_copies(f, k.bytes, sizeof k.bytes), plan->max_copies + ++more);
    CHECK_EQ_U64(kith_filter_count(f), plan->max_copies + more);
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
        try_operations(f, &plan);
        expect(&plan, KITH_CAN_ADD, kith_filter_clear(f));
        if (can(&plan, KITH_CAN_ADD)) {
            try_copies(f, &plan);
            try_growth(&spec, &plan);
        }
        kith_filter_free(f);
        /* Every capability in `needs` is provided, or the request is refused. */
        for (unsigned bit = 0; bit < 9; bit++) {
            kith_plan again = KITH_PLAN_INIT;
            spec.needs = 1u << bit;
            kith_status refusal = spec.needs == KITH_CAN_ADD ? KITH_E_UNSUPPORTED : KITH_E_KIND;
            CHECK_STATUS(kith_filter_plan(&spec, &again), can(&plan, spec.needs) ? KITH_OK : refusal);
        }
    }
    CHECK(kith_filter_kind_count() > 0 && kith_filter_kind_at(kith_filter_kind_count()) == NULL);
    /* Without a kind, the smallest one that has all capabilities is chosen; a static one only for a final filter. */
    for (uint32_t i = 0; i < 2 * 512; i++) {
        uint32_t needs = i / 2;
        bool final = i % 2 != 0;
        contract_note("any kind, needs %u, final %d", (unsigned)needs, final);
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan best = KITH_PLAN_INIT;
        spec.capacity = N;
        spec.rate = 0.01;
        spec.needs = needs;
        spec.final = final;
        kith_status status = kith_filter_plan(&spec, &best);
        bool possible = false;
        for (size_t j = 0; j < kith_filter_kind_count(); j++) {
            kith_plan plan = KITH_PLAN_INIT;
            spec.kind = kith_filter_kind_at(j)->name;
            if (kith_filter_plan(&spec, &plan) != KITH_OK || (!final && !can(&plan, KITH_CAN_ADD)))
                continue;
            possible = true;
            CHECK_OK(status);
            CHECK(can(&best, needs));
            if (strcmp(plan.kind, spec.kind) == 0) /* not inside another kind */
                CHECK(best.file_bytes <= plan.file_bytes);
        }
        CHECK(status == (possible ? KITH_OK : KITH_E_KIND));
        CHECK(!possible || final || can(&best, KITH_CAN_ADD));
    }
}

/* What needs KITH_CAN_ADD is refused before anything is allocated, and says what to do instead. */
void static_kinds_can_only_be_built(void) {
    CHECK(strstr(kith_status_text(KITH_E_UNSUPPORTED), "can only be built from a complete list") != NULL);
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan) || can(&plan, KITH_CAN_ADD))
            continue;
        test_memory memory;
        memory_init(&memory);
        spec.allocator = &memory.allocator;
        kith_filter *f = filled(&spec, 61, 0, N), *none = NULL;
        snapshot before = snapshot_of(f);
        uint64_t digest = digest_at(61, 0), was_new = 1;
        size_t done = 9;
        memory.calls = 0;
        CHECK_STATUS(kith_filter_create(&spec, &none), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_filter_create_like(f, &memory.allocator, &none), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_filter_add(f, "key", 3, NULL), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_filter_add_digest(f, digest, NULL), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_filter_add_many(f, &digest, 1, &was_new, &done), KITH_E_UNSUPPORTED);
        CHECK(done == 0 && was_new == 0);
        CHECK_STATUS(kith_filter_clear(f), KITH_E_UNSUPPORTED);
        kith_filter_spec needy = spec;
        needy.needs = KITH_CAN_ADD;
        CHECK_STATUS(kith_filter_plan(&needy, &plan), KITH_E_UNSUPPORTED);
        CHECK_STATUS(kith_filter_build(&needy, &digest, 1, KITH_BUILD_SET, 1, &none), KITH_E_UNSUPPORTED);
        /* Every kind that has an option for another kind. */
        for (size_t i = 0; i < kith_filter_kind_count(); i++) {
            const kith_kind_info *outer = kith_filter_kind_at(i);
            for (size_t j = 0; j < outer->option_count; j++) {
                char options[64];
                if (strcmp(outer->options[j].values, "kind") != 0)
                    continue;
                (void)snprintf(options, sizeof options, "%s=%s", outer->options[j].name, v->kind);
                kith_filter_spec outside = spec;
                outside.kind = outer->name;
                outside.options = options;
                CHECK_STATUS(kith_filter_plan(&outside, &plan), KITH_E_UNSUPPORTED);
                CHECK_STATUS(kith_filter_create(&outside, &none), KITH_E_UNSUPPORTED);
            }
        }
        CHECK(memory.calls == 0 && none == NULL && same_bytes(f, &before));
        snapshot_free(&before);
        kith_filter_free(f);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}
