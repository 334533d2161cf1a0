/* Checks that when any allocation fails, once or permanently, the call returns the right error, leaves the object
 * unchanged and leaks nothing. */
#include "contract/contract.h"

enum { KEYS = 120 };

/* An operation to try: it works on `subject`, may create `made`, and reads `bytes`. */
typedef struct attempt {
    test_memory memory;
    kith_filter_spec spec;
    kith_filter *subject, *partner, *made;
    snapshot bytes;
    uint64_t digest;
    unsigned flags;
} attempt;

typedef kith_status (*operation)(attempt *a);

static kith_status do_create(attempt *a) {
    return kith_filter_create(&a->spec, &a->made);
}

static kith_status do_build(attempt *a) {
    uint64_t digests[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = digest_at(37, i);
    return kith_filter_build(&a->spec, digests, KEYS, a->flags, 1, &a->made);
}

static kith_status do_create_like(attempt *a) {
    return kith_filter_create_like(a->subject, &a->memory.allocator, &a->made);
}

static kith_status do_clone(attempt *a) {
    return kith_filter_clone(a->subject, &a->memory.allocator, &a->made);
}

static kith_status do_view(attempt *a) {
    return kith_filter_view(a->bytes.bytes, a->bytes.byte_count, a->flags, &a->memory.allocator, &a->made);
}

static kith_status do_open(attempt *a) {
    return kith_filter_open(file_named("memory"), a->flags, &a->memory.allocator, &a->made);
}

static kith_status do_save(attempt *a) {
    return kith_filter_save(a->subject, file_named("memory"));
}

static kith_status do_add(attempt *a) {
    return add_digest(a->subject, a->digest);
}

static kith_status do_remove(attempt *a) {
    return kith_filter_remove_many(a->subject, &a->digest, 1, NULL);
}

static kith_status do_merge(attempt *a) {
    return kith_filter_merge(a->subject, a->partner);
}

static kith_status do_intersect(attempt *a) {
    return kith_filter_intersect(a->subject, a->partner);
}

static kith_status do_clear(attempt *a) {
    return kith_filter_clear(a->subject);
}

static kith_status do_open_adder(attempt *a) {
    kith_adder *adder = NULL;
    kith_status status = kith_adder_open(a->subject, &adder);
    CHECK((status == KITH_OK) == (adder != NULL));
    kith_adder_close(adder);
    return status;
}

static kith_status do_set_notes(attempt *a) {
    static const kith_note notes[] = {{"name", "value"}};
    return kith_filter_set_notes(a->subject, notes, 1);
}

/* Fails allocation 1, 2, … until the operation meets no failure, and returns its status then. */
static kith_status fail_each_allocation(attempt *a, operation run, bool keep_failing) {
    snapshot before = {NULL, 0};
    if (a->subject != NULL)
        before = snapshot_of(a->subject);
    for (uint64_t fail_at = 1;; fail_at++) {
        note_seed(fail_at);
        uint64_t live_bytes = a->memory.live_bytes, live_blocks = a->memory.live_blocks;
        a->made = NULL;
        memory_arm(&a->memory, fail_at, keep_failing);
        kith_status status = run(a);
        memory_disarm(&a->memory);
        if (a->memory.failures == 0) {
            kith_filter_free(a->made);
            snapshot_free(&before);
            return status;
        }
        CHECK_STATUS(status, KITH_E_MEMORY);
        CHECK(a->made == NULL);
        CHECK_EQ_U64(a->memory.live_bytes, live_bytes);
        CHECK_EQ_U64(a->memory.live_blocks, live_blocks);
        if (a->subject != NULL)
            CHECK(same_bytes(a->subject, &before));
    }
}

static void try_makers(attempt *a, const kith_plan *plan, bool keep_failing) {
    a->subject = NULL;
    if (can(plan, KITH_CAN_ADD))
        CHECK_OK(fail_each_allocation(a, do_create, keep_failing));
    a->flags = KITH_BUILD_SET;
    CHECK_OK(fail_each_allocation(a, do_build, keep_failing));
    if (can(plan, KITH_CAN_COPIES)) {
        a->flags = KITH_BUILD_MULTISET;
        CHECK_OK(fail_each_allocation(a, do_build, keep_failing));
    }
    a->subject = filled(&a->spec, 37, 0, KEYS);
    if (can(plan, KITH_CAN_ADD))
        CHECK_OK(fail_each_allocation(a, do_create_like, keep_failing));
    CHECK_OK(fail_each_allocation(a, do_set_notes, keep_failing));
    CHECK_OK(fail_each_allocation(a, do_clone, keep_failing));
    CHECK_OK(fail_each_allocation(a, do_save, keep_failing));
    a->bytes = snapshot_of(a->subject);
    for (a->flags = 0; a->flags < 4; a->flags++) {
        CHECK_OK(fail_each_allocation(a, do_view, keep_failing));
        CHECK_OK(fail_each_allocation(a, do_open, keep_failing));
    }
    snapshot_free(&a->bytes);
    kith_filter_free(a->subject);
}

/* Adds keys up to the capacity and, if the filter grows, well beyond it; then removes some. Each change copies the
 * filter, so only a few keys are added to one that has grown a hundredfold. */
static void try_changes(attempt *a, const kith_plan *plan, bool keep_failing) {
    a->subject = created(&a->spec);
    uint64_t n = 0, most = can(plan, KITH_CAN_GROW) ? 5 * KEYS : KEYS;
    for (; n < most && (n < KEYS + KEYS / 8 || kith_filter_capacity(a->subject) < 100 * KEYS); n++) {
        a->digest = digest_at(37, n);
        CHECK_OK(fail_each_allocation(a, do_add, keep_failing));
    }
    CHECK_EQ_U64(yes_among(a->subject, 37, 0, (size_t)n), n);
    for (uint64_t i = 0; can(plan, KITH_CAN_REMOVE) && i < n; i += 7) {
        a->digest = digest_at(37, i);
        kith_status status = fail_each_allocation(a, do_remove, keep_failing);
        CHECK(status == KITH_OK || status == KITH_E_AMBIGUOUS);
    }
    if (can(plan, KITH_CAN_SHARE))
        CHECK_OK(fail_each_allocation(a, do_open_adder, keep_failing));
    CHECK_OK(fail_each_allocation(a, do_clear, keep_failing));
    kith_filter_free(a->subject);
}

static void try_pairs(attempt *a, const kith_plan *plan, bool keep_failing) {
    a->subject = filled(&a->spec, 37, 0, KEYS / 2);
    a->partner = filled(&a->spec, 37, KEYS / 2, KEYS / 2);
    if (can(plan, KITH_CAN_MERGE)) {
        CHECK_OK(fail_each_allocation(a, do_merge, keep_failing));
        CHECK_EQ_U64(yes_among(a->subject, 37, 0, KEYS), KEYS);
    }
    if (can(plan, KITH_CAN_INTERSECT))
        CHECK_OK(fail_each_allocation(a, do_intersect, keep_failing));
    kith_filter_free(a->partner);
    kith_filter_free(a->subject);
}

void every_allocation_failure_leaves_object_unchanged_and_leaks_nothing(void) {
    EACH_VARIANT(v) for (unsigned keep_failing = 0; keep_failing < 2; keep_failing++) {
        static attempt a;
        kith_plan plan;
        a = (attempt){.digest = 0};
        if (!planned(v, KEYS, 0.01, &a.spec, &plan))
            continue;
        memory_init(&a.memory);
        a.spec.allocator = &a.memory.allocator;
        try_makers(&a, &plan, keep_failing);
        if (can(&plan, KITH_CAN_ADD))
            try_changes(&a, &plan, keep_failing);
        try_pairs(&a, &plan, keep_failing);
        CHECK_EQ_U64(a.memory.live_blocks, 0);
        CHECK_EQ_U64(a.memory.live_bytes, 0);
    }
}

void lookups_allocate_nothing(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        test_memory memory;
        memory_init(&memory);
        if (!planned(v, KEYS, 0.01, &spec, &plan))
            continue;
        spec.allocator = &memory.allocator;
        kith_filter *f = filled(&spec, 37, 0, can(&plan, KITH_CAN_GROW) ? 5 * KEYS : KEYS);
        memory_arm(&memory, 1, true);
        CHECK_EQ_U64(yes_among(f, 37, 0, KEYS), KEYS);
        for (uint64_t i = 0; i < 1000; i++) {
            key k = key_at(37, i);
            (void)kith_filter_has(f, k.bytes, sizeof k.bytes);
            (void)kith_filter_copies(f, k.bytes, sizeof k.bytes);
        }
        (void)stats_of(f);
        CHECK_OK(kith_filter_check(f, NULL));
        CHECK_EQ_U64(memory.calls, 0);
        memory_disarm(&memory);
        kith_filter_free(f);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}
