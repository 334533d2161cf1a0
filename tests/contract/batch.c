/* Checks that batches, builds and adders have the same results as single calls. */
#include "contract/contract.h"

enum { N = 700, BITMAP_WORDS = (N + 63) / 64 + 1 };

/* The digests of keys, so that one filter can be given the keys and the other the digests. */
static uint64_t *digests_of_keys(const kith_filter *f, uint64_t seed, size_t n) {
    uint64_t *digests = malloc(n * sizeof *digests);
    CHECK(digests != NULL);
    for (size_t i = 0; i < n; i++) {
        key k = key_at(seed, i);
        digests[i] = kith_filter_digest(f, k.bytes, sizeof k.bytes);
    }
    return digests;
}

static void compare_adds(kith_filter *one, kith_filter *many, const uint64_t *digests, size_t from, size_t n) {
    uint64_t bitmap[BITMAP_WORDS];
    memset(bitmap, 0xee, sizeof bitmap);
    size_t done = 0;
    kith_status status = kith_filter_add_many(many, digests + from, n, bitmap, &done);
    kith_status expected = KITH_OK;
    size_t i = 0;
    for (; i < n; i++) {
        key k = key_at(17, from + i);
        bool was_new = false;
        expected = kith_filter_add(one, k.bytes, sizeof k.bytes, &was_new);
        if (expected != KITH_OK)
            break;
        CHECK(kith_bitmap_get(bitmap, i) == was_new);
    }
    CHECK_STATUS(status, expected);
    CHECK_EQ_U64(done, i);
    for (size_t j = i; j < (n + 63) / 64 * 64; j++)
        CHECK(!kith_bitmap_get(bitmap, j));
    CHECK_EQ_U64(bitmap[(n + 63) / 64], UINT64_C(0xeeeeeeeeeeeeeeee)); /* nothing was written past the last word */
    CHECK(equal_filters(one, many));
}

static void compare_lookups(const kith_filter *f, const uint64_t *digests, size_t n) {
    uint64_t bitmap[BITMAP_WORDS];
    memset(bitmap, 0xee, sizeof bitmap);
    size_t yes = 0, said = kith_filter_has_many(f, digests, n, bitmap);
    for (size_t i = 0; i < n; i++) {
        key k = key_at(17, i);
        bool has = kith_filter_has(f, k.bytes, sizeof k.bytes);
        CHECK(kith_bitmap_get(bitmap, i) == has);
        yes += has;
    }
    CHECK_EQ_U64(said, yes);
    for (size_t j = n; j < (n + 63) / 64 * 64; j++)
        CHECK(!kith_bitmap_get(bitmap, j));
    CHECK_EQ_U64(kith_filter_has_many(f, digests, n, NULL), yes);
}

static void compare_removals(kith_filter *one, kith_filter *many, const uint64_t *digests, size_t from, size_t n) {
    size_t done = 0, i = 0;
    kith_status status = kith_filter_remove_many(many, digests + from, n, &done), expected = KITH_OK;
    for (; i < n; i++) {
        key k = key_at(17, from + i);
        expected = kith_filter_remove(one, k.bytes, sizeof k.bytes);
        if (expected != KITH_OK)
            break;
    }
    CHECK_STATUS(status, expected);
    CHECK_EQ_U64(done, i);
    CHECK(equal_filters(one, many));
}

void batch_equals_one_by_one(void) {
    static const size_t PARTS[] = {0, 1, 15, 16, 17, 63, 64, 65, 128, 300};
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 500, 0.05, &spec, &plan))
            continue;
        kith_filter *one = created(&spec), *many = created(&spec);
        uint64_t *digests = digests_of_keys(one, 17, N);
        size_t at = 0;
        for (size_t p = 0; p < 10; p++) { /* 669 keys for a capacity of 500: the last batches reach the end */
            compare_adds(one, many, digests, at, PARTS[p]);
            at += PARTS[p];
            compare_lookups(one, digests, at);
        }
        compare_lookups(many, digests, N);
        if (can(&plan, KITH_CAN_REMOVE)) {
            compare_removals(one, many, digests, 0, 1);
            compare_removals(one, many, digests, 1, 199);
            compare_removals(one, many, digests, 200, 0);
            compare_lookups(many, digests, N);
        } else {
            size_t done = 9;
            CHECK_STATUS(kith_filter_remove_many(many, digests, 3, &done), KITH_E_UNSUPPORTED);
            CHECK_EQ_U64(done, 0);
        }
        free(digests);
        kith_filter_free(many);
        kith_filter_free(one);
    }
}

static kith_filter *built(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned flags) {
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_build(spec, digests, n, flags, 1, &f));
    return f;
}

void build_equals_adds(void) {
    static const size_t SIZES[] = {1, 2, 50, 3000};
    EACH_VARIANT(v) for (size_t i = 0; i < 4; i++) {
        kith_filter_spec spec;
        kith_plan plan;
        size_t n = SIZES[i];
        if (!planned(v, n, 0.01, &spec, &plan))
            continue;
        note_seed(i);
        uint64_t *digests = digests_from(i, 0, n);
        kith_filter *added = filled(&spec, i, 0, n), *build = built(&spec, digests, n, KITH_BUILD_SET);
        CHECK(equal_filters(added, build));
        kith_filter_free(build);
        kith_filter_spec open_ended = spec;
        open_ended.capacity = 0;
        build = built(&open_ended, digests, n, KITH_BUILD_SET);
        CHECK(equal_filters(added, build));
        kith_filter_free(build);
        kith_filter_free(added);

        kith_filter *none = NULL;
        CHECK_STATUS(kith_filter_build(&open_ended, NULL, 0, KITH_BUILD_SET, 1, &none), KITH_E_CAPACITY);
        CHECK_STATUS(kith_filter_build(&spec, digests, n, 1u << 7, 1, &none), KITH_E_ARGUMENT);
        if (n == 3000 && !can(&plan, KITH_CAN_GROW)) { /* either everything is built or nothing */
            test_memory memory;
            memory_init(&memory);
            spec.capacity = 1000;
            spec.allocator = &memory.allocator;
            CHECK_STATUS(kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 2, &none), KITH_E_FULL);
            CHECK_EQ_U64(memory.live_blocks, 0);
        }
        CHECK(none == NULL);
        free(digests);
    }
}

void build_drops_equal_digests(void) {
    enum { DISTINCT = 300, ALL = 3 * DISTINCT };
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, DISTINCT, 0.01, &spec, &plan))
            continue;
        uint64_t digests[ALL];
        for (size_t i = 0; i < ALL; i++) /* first occurrences in order; repeats near and far; the digest 0 among them */
            digests[i] = i % 3 == 0 ? (i == 30 ? 0 : digest_at(21, i / 3)) : digests[i * 5 / 7];
        spec.capacity = 0;
        kith_filter *f = built(&spec, digests, ALL, KITH_BUILD_SET);
        CHECK_EQ_U64(kith_filter_capacity(f), DISTINCT);
        kith_filter_spec sized = spec;
        sized.capacity = DISTINCT;
        uint64_t firsts[DISTINCT];
        for (size_t i = 0; i < DISTINCT; i++)
            firsts[i] = digests[3 * i];
        kith_filter *added = filled_with(&sized, firsts, DISTINCT);
        CHECK(equal_filters(f, added));
        kith_filter_free(added);
        kith_filter_free(f);

        kith_filter *many = NULL;
        static const uint64_t KEYS_OF_PAIRS[10] = {1, 2, 1, 3, 2, 1, 4, 5, 6, 7};
        uint64_t pairs[10];
        for (size_t i = 0; i < 10; i++)
            pairs[i] = digest_at(22, KEYS_OF_PAIRS[i]);
        if (!can(&plan, KITH_CAN_COPIES)) {
            CHECK_STATUS(kith_filter_build(&spec, pairs, 10, KITH_BUILD_MULTISET, 1, &many), KITH_E_KIND);
            CHECK(many == NULL);
            continue;
        }
        if (plan.max_copies < 3)
            continue;
        many = built(&spec, pairs, 10, KITH_BUILD_MULTISET);
        CHECK_EQ_U64(kith_filter_count(many), 10);
        CHECK(can(&plan, KITH_CAN_GROW) || kith_filter_capacity(many) == 10);
        for (size_t i = 0; i < 3; i++)
            CHECK(has_digest(many, pairs[0]) && kith_filter_remove_many(many, pairs, 1, NULL) == KITH_OK);
        CHECK_EQ_U64(kith_filter_count(many), 7);
        CHECK(has_digest(many, pairs[1]) && has_digest(many, pairs[9]));
        kith_filter_free(many);
    }
}

void adders_equal_adds(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 500, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_SHARE))
            continue;
        kith_filter *plain = created(&spec), *shared = created(&spec);
        uint64_t *digests = digests_of_keys(plain, 17, N);
        kith_adder *adders[2] = {NULL, NULL};
        CHECK_OK(kith_adder_open(shared, &adders[0]));
        CHECK_OK(kith_adder_open(shared, &adders[1]));
        /* Two adders add keys in turn, some of them twice, but stop before the capacity, where one adder may hold a
         * reserve that the other needs. */
        for (size_t i = 0; i < 400; i++) {
            key k = key_at(17, i % 350);
            bool one = false, other = true;
            CHECK_OK(kith_filter_add(plain, k.bytes, sizeof k.bytes, &one));
            CHECK_OK(kith_adder_add(adders[i % 2], k.bytes, sizeof k.bytes, &other));
            CHECK(one == other);
        }
        /* Until the adders are closed, nothing else may change the filter. */
        key k = key_at(17, 0);
        const void *bytes;
        size_t byte_count;
        CHECK_STATUS(kith_filter_add(shared, k.bytes, sizeof k.bytes, NULL), KITH_E_BUSY);
        CHECK_STATUS(kith_filter_clear(shared), KITH_E_BUSY);
        CHECK_STATUS(kith_filter_bytes(shared, &bytes, &byte_count), KITH_E_BUSY);
        CHECK_STATUS(kith_filter_save(shared, file_named("busy")), KITH_E_BUSY);
        if (can(&plan, KITH_CAN_MERGE)) {
            CHECK_STATUS(kith_filter_merge(shared, plain), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_merge(plain, shared), KITH_E_BUSY);
        }
        kith_adder_close(adders[0]);
        kith_adder_close(adders[1]);
        kith_adder_close(NULL);
        CHECK(equal_filters(plain, shared));
        /* A single adder can use the whole capacity, and not more. */
        uint64_t bitmap_one[BITMAP_WORDS] = {0}, bitmap_other[BITMAP_WORDS] = {0};
        size_t done_one = 0, done_other = 0;
        kith_status end_one = kith_filter_add_many(plain, digests, N, bitmap_one, &done_one);
        CHECK_OK(kith_adder_open(shared, &adders[0]));
        kith_status end_other = kith_adder_add_many(adders[0], digests, N, bitmap_other, &done_other);
        kith_adder_close(adders[0]);
        CHECK_STATUS(end_one, KITH_E_FULL);
        CHECK_STATUS(end_other, KITH_E_FULL);
        CHECK_EQ_U64(done_one, done_other);
        CHECK(memcmp(bitmap_one, bitmap_other, sizeof bitmap_one) == 0);
        CHECK(equal_filters(plain, shared));
        free(digests);
        kith_filter_free(shared);
        kith_filter_free(plain);
    }
}
