/* Checks of operations on two filters: union, intersection, comparison, and which filters cannot be combined. */
#include "contract/contract.h"
#include "format/format.h"

enum { N = 600, A = 250, SHARED = 60, B = 200 };

/* Keys 0 … A - 1 of one stream are in `a`; the last `shared` of them and B others are in `b`; `both` has the keys of a,
 * then those of b. */
typedef struct pair {
    kith_filter *a, *b, *both;
    uint64_t shared;
} pair;

static void add_range(kith_filter *f, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        key k = key_at(41, i);
        CHECK_OK(kith_filter_add(f, k.bytes, sizeof k.bytes, NULL));
    }
}

static pair make_pair(const kith_filter_spec *spec, const kith_plan *plan) {
    pair p = {created(spec), NULL, NULL, SHARED};
    if (can(plan, KITH_CAN_COPIES) && plan->max_copies == 2)
        p.shared = 1; /* two copies of a key fill both of its slots, so with many such keys adds would fail */
    add_range(p.a, 0, A);
    p.both = cloned(p.a);
    CHECK_OK(kith_filter_create_like(p.a, NULL, &p.b));
    add_range(p.b, A - p.shared, A + B);
    add_range(p.both, A - p.shared, A + B);
    return p;
}

static void free_pair(pair *p) {
    kith_filter_free(p->a);
    kith_filter_free(p->b);
    kith_filter_free(p->both);
}

void merge_equals_adding_both(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_MERGE))
            continue;
        pair p = make_pair(&spec, &plan);
        snapshot from = snapshot_of(p.b);
        uint64_t count_a = kith_filter_count(p.a), count_b = kith_filter_count(p.b);
        CHECK_OK(kith_filter_merge(p.a, p.b));
        CHECK(same_bytes(p.b, &from));
        bool copies = can(&plan, KITH_CAN_COPIES);
        for (uint64_t i = 0; i < A + B; i++) {
            key k = key_at(41, i);
            bool twice = i >= A - p.shared && i < A;
            uint64_t seen = kith_filter_copies(p.a, k.bytes, sizeof k.bytes);
            CHECK(kith_filter_has(p.a, k.bytes, sizeof k.bytes) && seen >= (copies && twice ? 2 : 1));
            CHECK(!copies || seen == kith_filter_copies(p.both, k.bytes, sizeof k.bytes));
        }
        for (uint64_t i = 0; i < 20000; i++) { /* the same false positives, too */
            uint64_t digest = digest_at(43, i);
            CHECK(has_digest(p.a, digest) == has_digest(p.both, digest));
        }
        uint64_t count = kith_filter_count(p.a);
        if (copies)
            CHECK_EQ_U64(count, count_a + count_b);
        else
            CHECK(count >= (count_a > count_b ? count_a : count_b) && count <= count_a + count_b);
        if (can(&plan, KITH_CAN_ANY_ORDER))
            CHECK(same_body(p.a, p.both));
        CHECK_OK(kith_filter_check(p.a, NULL));
        CHECK(stats_of(p.a).cells_used == stats_of(p.both).cells_used);
        /* Merging an empty filter changes nothing; merging into an empty filter copies everything. */
        kith_filter *empty = NULL;
        snapshot before = snapshot_of(p.both);
        CHECK_OK(kith_filter_create_like(p.a, NULL, &empty));
        CHECK_OK(kith_filter_merge(p.both, empty));
        CHECK(!copies || same_bytes(p.both, &before));
        CHECK_OK(kith_filter_merge(empty, p.b));
        CHECK_EQ_U64(kith_filter_count(empty), count_b);
        for (uint64_t i = A - p.shared; i < A + B; i++) {
            key k = key_at(41, i);
            CHECK(kith_filter_has(empty, k.bytes, sizeof k.bytes));
        }
        snapshot_free(&before);
        snapshot_free(&from);
        kith_filter_free(empty);
        free_pair(&p);
    }
}

/* Two filters with common keys whose union has exactly `capacity` keys, so that their counts add up to more. Kinds
 * without copies refuse the merge if and only if the filter of the union has a rate above the promise, which is true of
 * at most 1 in 200 of them. */
static bool merge_up_to(const kith_filter_spec *spec, uint64_t seed, uint64_t capacity, uint64_t common) {
    note_seed(seed);
    size_t each = (size_t)((capacity + common) / 2);
    kith_filter *into = filled(spec, seed, 0, each), *from = filled(spec, seed, capacity - each, each);
    kith_filter *both = filled(spec, seed, 0, (size_t)capacity);
    snapshot before = snapshot_of(into);
    bool kept = stats_of(both).rate_now <= stats_of(both).rate;
    kith_status status = kith_filter_merge(into, from);
    if (status == KITH_OK) {
        CHECK(same_body(into, both));
        CHECK(kith_filter_count(into) <= capacity);
        CHECK_OK(kith_filter_check(into, NULL));
    } else {
        CHECK_STATUS(status, KITH_E_FULL);
        CHECK(!kept);
        CHECK(same_bytes(into, &before));
    }
    snapshot_free(&before);
    kith_filter_free(into);
    kith_filter_free(from);
    kith_filter_free(both);
    return status == KITH_OK;
}

void merge_up_to_capacity_is_accepted(void) {
    static const uint64_t CAPACITIES[] = {2, 100, 1000};
    EACH_VARIANT(v) for (size_t i = 0; i < 3; i++) {
        kith_filter_spec spec;
        kith_plan plan;
        uint64_t capacity = CAPACITIES[i], seeds = scaled(200), accepted = 0;
        if (!planned(v, capacity, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_MERGE) || can(&plan, KITH_CAN_COPIES))
            continue;
        if (seeds < 200)
            seeds = 200;
        for (uint64_t seed = 0; seed < seeds; seed++)
            accepted += merge_up_to(&spec, seed, capacity, capacity / 2);
        if ((seeds - accepted) * 200 > seeds)
            CHECK_FAIL("%" PRIu64 " of %" PRIu64 " merges were refused", seeds - accepted, seeds);
        /* Disjoint sets whose counts add up to the capacity are accepted, as if their keys were added one by one. */
        for (uint64_t seed = 0; seed < 20; seed++)
            CHECK(merge_up_to(&spec, seed, capacity, 0));
    }
}

void merge_beyond_capacity_changes_nothing(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 1000, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_MERGE) || can(&plan, KITH_CAN_GROW))
            continue;
        kith_filter *into = filled(&spec, 47, 0, 1000), *from = filled(&spec, 47, 1000, 1000);
        snapshot before_into = snapshot_of(into), before_from = snapshot_of(from);
        CHECK_STATUS(kith_filter_merge(into, from), KITH_E_FULL);
        CHECK(same_bytes(into, &before_into) && same_bytes(from, &before_from));
        if (can(&plan, KITH_CAN_COPIES)) { /* the same with too many copies of one key */
            kith_filter *a = created(&spec), *b = created(&spec);
            for (unsigned i = 0; i < plan.max_copies; i++) {
                CHECK_OK(add_digest(a, digest_at(47, 1)));
                CHECK_OK(add_digest(b, digest_at(47, 1)));
            }
            CHECK_OK(add_digest(b, digest_at(47, 2)));
            snapshot before = snapshot_of(a);
            kith_status status = kith_filter_merge(a, b);
            CHECK(status == KITH_E_COPIES || status == KITH_OK); /* counters saturate, slots run out */
            if (status != KITH_OK)
                CHECK(same_bytes(a, &before));
            else
                CHECK(has_digest(a, digest_at(47, 1)) && has_digest(a, digest_at(47, 2)));
            snapshot_free(&before);
            kith_filter_free(a);
            kith_filter_free(b);
        }
        snapshot_free(&before_into);
        snapshot_free(&before_from);
        kith_filter_free(into);
        kith_filter_free(from);
    }
}

void intersect_keeps_common_keys(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_INTERSECT))
            continue;
        pair p = make_pair(&spec, &plan);
        kith_filter *into = cloned(p.a), *same = cloned(p.a);
        CHECK_OK(kith_filter_intersect(into, p.b));
        for (uint64_t i = A - p.shared; i < A; i++) {
            key k = key_at(41, i);
            CHECK(kith_filter_has(into, k.bytes, sizeof k.bytes));
        }
        for (uint64_t i = 0; i < 20000; i++) { /* no new false positives */
            uint64_t digest = digest_at(43, i);
            CHECK(!has_digest(into, digest) || (has_digest(p.a, digest) && has_digest(p.b, digest)));
        }
        CHECK(kith_filter_count(into) <= kith_filter_count(p.a) && kith_filter_count(into) <= kith_filter_count(p.b));
        CHECK_OK(kith_filter_check(into, NULL));
        CHECK(stats_of(into).cells_used < stats_of(p.a).cells_used);
        CHECK_OK(kith_filter_intersect(same, p.a));
        CHECK(same_body(same, p.a));
        kith_filter *empty = NULL;
        CHECK_OK(kith_filter_create_like(p.a, NULL, &empty));
        CHECK_OK(kith_filter_intersect(same, empty));
        CHECK(same_body(same, empty));
        CHECK_EQ_U64(kith_filter_count(same), 0);
        kith_filter_free(empty);
        kith_filter_free(same);
        kith_filter_free(into);
        free_pair(&p);
        /* Small sets may have only a few random bits in common. The result must still be a filter that can be
         * opened. */
        for (uint64_t seed = 0; seed < 100; seed++) {
            note_seed(seed);
            kith_filter *a = filled(&spec, seed, 0, 20), *b = filled(&spec, seed, 20, 20);
            CHECK_OK(kith_filter_intersect(a, b));
            snapshot s = snapshot_of(a);
            kith_filter_free(viewed(s.bytes, s.byte_count, KITH_OPEN_DEFAULT));
            snapshot_free(&s);
            kith_filter_free(a);
            kith_filter_free(b);
        }
    }
}

static bool bits_are_subset(kith_filter *part, kith_filter *whole) {
    snapshot a = snapshot_of(part), b = snapshot_of(whole);
    kithi_head head;
    CHECK_OK(kithi_header_read(a.bytes, a.byte_count, &head));
    bool subset = true;
    for (size_t i = KITHI_HEADER_BYTES; i < KITHI_HEADER_BYTES + head.body_bytes; i++)
        subset &= (a.bytes[i] & ~b.bytes[i]) == 0;
    snapshot_free(&a);
    snapshot_free(&b);
    return subset;
}

static void expect_subset(kith_filter *part, kith_filter *whole, const kith_plan *plan, bool want) {
    bool subset = !want;
    CHECK_OK(kith_filter_subset(part, whole, &subset));
    CHECK(subset == want);
    if (plan->cell_bits == 1)
        CHECK(subset == bits_are_subset(part, whole));
}

/* Returns whether the bodies have no set bit in common. */
static bool bits_are_disjoint(kith_filter *a, kith_filter *b) {
    snapshot x = snapshot_of(a), y = snapshot_of(b);
    kithi_head head;
    CHECK_OK(kithi_header_read(x.bytes, x.byte_count, &head));
    bool common = false;
    for (size_t i = KITHI_HEADER_BYTES; i < KITHI_HEADER_BYTES + head.body_bytes; i++)
        common |= (x.bytes[i] & y.bytes[i]) != 0;
    snapshot_free(&x);
    snapshot_free(&y);
    return !common;
}

static void expect_disjoint(kith_filter *a, kith_filter *b, bool want) {
    bool disjoint = !want;
    CHECK_OK(kith_filter_disjoint(a, b, &disjoint));
    CHECK(disjoint == want);
    disjoint = !want;
    CHECK_OK(kith_filter_disjoint(b, a, &disjoint));
    CHECK(disjoint == want);
}

void disjoint_agrees_with_has(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_SUBSET))
            continue;
        bool whole = strstr(v->options, "layout=whole") != NULL;
        pair p = make_pair(&spec, &plan);
        kith_filter *one = NULL;
        CHECK_OK(kith_filter_create_like(p.a, NULL, &one));
        expect_disjoint(p.a, p.b, false);
        expect_disjoint(p.a, p.a, false);
        expect_disjoint(p.a, one, true);
        expect_disjoint(one, one, true);
        unsigned apart = 0;
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t digest = digest_at(61, i);
            CHECK_OK(kith_filter_clear(one));
            CHECK_OK(add_digest(one, digest));
            bool want = whole ? bits_are_disjoint(one, p.a) : !has_digest(p.a, digest);
            CHECK(!want || !has_digest(p.a, digest));
            expect_disjoint(one, p.a, want);
            apart += want;
        }
        CHECK(apart > 0); /* both results have been seen: keys of p.a give the other one */
        for (uint64_t i = 0; i < A; i++) {
            key k = key_at(41, i);
            CHECK_OK(kith_filter_clear(one));
            CHECK_OK(kith_filter_add(one, k.bytes, sizeof k.bytes, NULL));
            expect_disjoint(one, p.a, false);
        }
        kith_filter_free(one);
        free_pair(&p);
    }
}

void subset_agrees_with_bits(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_SUBSET))
            continue;
        pair p = make_pair(&spec, &plan);
        kith_filter *empty = NULL;
        CHECK_OK(kith_filter_create_like(p.a, NULL, &empty));
        expect_subset(p.a, p.both, &plan, true);
        expect_subset(p.b, p.both, &plan, true);
        expect_subset(p.both, p.a, &plan, false);
        expect_subset(p.a, p.b, &plan, false);
        expect_subset(p.a, p.a, &plan, true);
        expect_subset(empty, p.a, &plan, true);
        expect_subset(p.a, empty, &plan, false);
        /* With a single key in the filter, the result must agree with has(). */
        for (uint64_t i = 0; i < 50; i++) {
            uint64_t digest = digest_at(53, i);
            CHECK_OK(kith_filter_clear(empty));
            CHECK_OK(add_digest(empty, digest));
            expect_subset(empty, p.a, &plan, has_digest(p.a, digest));
        }
        kith_filter_free(empty);
        free_pair(&p);
    }
}

static void expect_mismatch(const kith_filter_spec *spec, const kith_filter_spec *other, const kith_plan *plan) {
    kith_filter *a = created(spec), *b = created(other);
    snapshot before = snapshot_of(a);
    bool subset;
    CHECK(kith_filter_same_hash(a, b) == kith_filter_has_hash(a, &other->hash));
    CHECK(kith_filter_same_hash(a, b) == (kith_filter_digest(a, "key", 3) == kith_filter_digest(b, "key", 3)));
    if (can(plan, KITH_CAN_MERGE))
        CHECK_STATUS(kith_filter_merge(a, b), KITH_E_MISMATCH);
    if (can(plan, KITH_CAN_INTERSECT))
        CHECK_STATUS(kith_filter_intersect(a, b), KITH_E_MISMATCH);
    if (can(plan, KITH_CAN_SUBSET)) {
        CHECK_STATUS(kith_filter_subset(a, b, &subset), KITH_E_MISMATCH);
        CHECK_STATUS(kith_filter_disjoint(a, b, &subset), KITH_E_MISMATCH);
    }
    CHECK(same_bytes(a, &before));
    snapshot_free(&before);
    kith_filter_free(a);
    kith_filter_free(b);
}

void filters_that_differ_do_not_combine(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec, other;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan))
            continue;
        other = spec;
        other.hash.seed = 1;
        expect_mismatch(&spec, &other, &plan);
        other.hash = (kith_hash){.id = KITH_HASH_SIPHASH, .key = {1}};
        expect_mismatch(&spec, &other, &plan);
        kith_filter_spec keyed_spec = other;
        other.hash.key[0] = 2;
        expect_mismatch(&keyed_spec, &other, &plan);
        other = spec;
        other.capacity = N + 1;
        expect_mismatch(&spec, &other, &plan);
        other = spec;
        other.rate = 0.009;
        expect_mismatch(&spec, &other, &plan);
        EACH_DEFAULT(w) {
            if (strcmp(w->kind, v->kind) == 0)
                continue;
            other = spec;
            other.kind = w->kind;
            other.options = w->options;
            expect_mismatch(&spec, &other, &plan);
        }
        /* A filter and itself. */
        kith_filter *f = created(&spec);
        if (can(&plan, KITH_CAN_MERGE))
            CHECK_STATUS(kith_filter_merge(f, f), KITH_E_SAME);
        if (can(&plan, KITH_CAN_INTERSECT))
            CHECK_STATUS(kith_filter_intersect(f, f), KITH_E_SAME);
        kith_filter_free(f);
    }
}
