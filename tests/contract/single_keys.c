/* Checks of the operations on single keys: has, was_new, count, and what must not change their results. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include <kith/inspect.h>

#include "contract/contract.h"

/* Returns how many times larger a filter of this variant becomes when it grows for the first time; 1 if it does not
 * grow. */
static uint64_t growth_of(const variant *v) {
    kith_filter_spec spec;
    kith_plan plan;
    if (!planned(v, 1, 0.01, &spec, &plan) || !can(&plan, KITH_CAN_GROW))
        return 1;
    kith_filter *f = created(&spec);
    uint64_t capacity = kith_filter_capacity(f);
    for (uint64_t i = 0; kith_filter_capacity(f) == capacity; i++)
        CHECK_OK(add_digest(f, digest_at(0, i)));
    uint64_t growth = kith_filter_capacity(f) / capacity;
    kith_filter_free(f);
    return growth;
}

void added_keys_are_always_found(void) {
    static const uint64_t SIZES[] = {1, 2, 3, 17, 64, 1000, 20000};
    static const double RATES[] = {0.3, 0.01, 1e-4};
    static const uint64_t HUGE_KEYS = 1000000;
    EACH_VARIANT(v) for (size_t i = 0; i < 7; i++) for (size_t r = 0; r < 3; r++) {
        kith_filter_spec spec;
        kith_plan plan;
        uint64_t growth = growth_of(v);
        if (!planned(v, SIZES[i], RATES[r], &spec, &plan))
            continue;
        note_seed(i);
        size_t n = (size_t)SIZES[i] * (growth > 1 && growth * SIZES[i] <= HUGE_KEYS ? 5 : 1);
        kith_filter *f = filled(&spec, i, 0, n);
        CHECK_EQ_U64(yes_among(f, i, 0, n), n);
        kith_filter_free(f);
        f = keyed(&spec, i, 0, n);
        for (size_t j = 0; j < n; j++) {
            key k = key_at(i, j);
            CHECK(kith_filter_has(f, k.bytes, sizeof k.bytes));
            CHECK(kith_filter_copies(f, k.bytes, sizeof k.bytes) >= 1);
        }
        kith_filter_free(f);
    }
    /* The empty key, a key of one byte and a long key are ordinary keys. */
    EACH_DEFAULT(v) {
        static const uint8_t LONG[4096] = {1};
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 3, 1e-6, &spec, &plan))
            continue;
        kith_filter *f = created(&spec);
        CHECK(!kith_filter_has(f, NULL, 0) && !kith_filter_has(f, LONG, 1));
        CHECK_OK(kith_filter_add(f, NULL, 0, NULL));
        CHECK_OK(kith_filter_add(f, LONG, 1, NULL));
        CHECK_OK(kith_filter_add(f, LONG, sizeof LONG, NULL));
        CHECK(kith_filter_has(f, NULL, 0) && kith_filter_has(f, LONG, 1) && kith_filter_has(f, LONG, sizeof LONG));
        kith_filter_free(f);
    }
}

typedef struct seen_cells {
    const kith_filter *f;
    uint64_t cells; /* of the filter */
    bool fingerprints, zero_is_a_value;
    unsigned count, empty, matching;
} seen_cells;

static void see_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    seen_cells *s = context;
    CHECK(cell < s->cells);
    CHECK_EQ_U64(holds, kith_filter_cell(s->f, cell));
    CHECK((wanted != 0 || s->zero_is_a_value) && (s->fingerprints || wanted == 1));
    s->count++;
    s->empty += holds == 0;
    s->matching += s->fingerprints ? holds == wanted : holds != 0;
}

void look_reports_the_cells_that_has_reads(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 600, 0.2, &spec, &plan))
            continue;
        size_t n = can(&plan, KITH_CAN_GROW) ? 3000 : 600;
        kith_filter *f = filled(&spec, 5, 0, n);
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(f, &stats));
        uint64_t used = 0;
        for (uint64_t c = 0; c < stats.cells; c++)
            used += kith_filter_cell(f, c) != 0;
        CHECK_EQ_U64(used, stats.cells_used);
        unsigned most = 0;                   /* cells that one lookup read */
        for (size_t i = 0; i < 2 * n; i++) { /* added keys, and the same number of absent ones */
            uint64_t digest = digest_at(5, i);
            seen_cells seen = {.f = f, .cells = stats.cells, .fingerprints = plan.fingerprint_bits != 0};
            seen.zero_is_a_value = !can(&plan, KITH_CAN_ADD); /* a static kind needs no value for an empty cell */
            bool yes = kith_filter_look(f, digest, see_cell, &seen);
            CHECK(yes == kith_filter_has_digest(f, digest));
            bool nothing_to_show = !can(&plan, KITH_CAN_ADD) && seen.count == 0; /* a static kind may leave it out */
            if (stats.layers > 1 || nothing_to_show)
                continue;
            CHECK(seen.fingerprints ? (seen.matching > 0) == yes : seen.empty == !yes);
            CHECK(seen.count <= plan.lookup_cells);
            CHECK(seen.fingerprints || !yes || seen.count == plan.hashes);
            most = seen.count > most ? seen.count : most;
        }
        /* look() shows only those cells of a ribbon whose values count: at least half of them for some key. */
        CHECK(most == 0 || most > plan.lookup_cells / 2);
        kith_filter_free(f);
    }
}

void was_new_is_true_exactly_if_has_was_false(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 500, 0.1, &spec, &plan))
            continue;
        kith_filter *f = created(&spec);
        bool any_stale = false;
        for (size_t i = 0; i < 500; i++) {
            key k = key_at(7, i % 300);
            bool before = kith_filter_has(f, k.bytes, sizeof k.bytes), was_new = before;
            kith_status status = kith_filter_add(f, k.bytes, sizeof k.bytes, &was_new);
            if (status == KITH_OK)
                CHECK(was_new == !before);
            else
                CHECK(was_new == before); /* unchanged */
            any_stale |= status == KITH_OK && !was_new;
        }
        CHECK(any_stale);
        kith_filter_free(f);
    }
}

void count_is_the_number_of_added_keys(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 400, 0.05, &spec, &plan))
            continue;
        bool copies = can(&plan, KITH_CAN_COPIES);
        kith_filter *f = created(&spec);
        uint64_t count = 0;
        for (size_t i = 0; i < 700; i++) {
            key k = key_at(3, i * 7 % 500);
            bool was_new = false;
            kith_status status = kith_filter_add(f, k.bytes, sizeof k.bytes, &was_new);
            CHECK(status == KITH_OK || status == KITH_E_FULL || status == KITH_E_COPIES);
            if (status == KITH_OK)
                count += copies || was_new;
            CHECK_EQ_U64(kith_filter_count(f), count);
        }
        for (size_t i = 0; can(&plan, KITH_CAN_REMOVE) && i < 500; i++) {
            key absent = key_at(3, ABSENT + i);
            if (kith_filter_has(f, absent.bytes, sizeof absent.bytes))
                continue;
            CHECK_STATUS(kith_filter_remove(f, absent.bytes, sizeof absent.bytes), KITH_E_ABSENT);
            CHECK_EQ_U64(kith_filter_count(f), count);
        }
        CHECK_EQ_U64(stats_of(f).count, count);
        kith_filter_free(f);
    }
}

void clear_empties(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 300, 0.01, &spec, &plan))
            continue;
        kith_filter *f = created(&spec);
        snapshot empty = snapshot_of(f);
        for (uint64_t round = 0; round < 3; round++) {
            size_t n = can(&plan, KITH_CAN_GROW) ? 2000 : 300;
            uint64_t *digests = digests_from(round, 0, n);
            CHECK_OK(kith_filter_add_many(f, digests, n, NULL, NULL));
            free(digests);
            CHECK(kith_filter_count(f) > 0);
            CHECK_OK(kith_filter_clear(f));
            CHECK_EQ_U64(kith_filter_count(f), 0);
            CHECK_EQ_U64(yes_among(f, round, 0, n), 0);
            CHECK(same_bytes(f, &empty));
            CHECK_OK(kith_filter_check(f, NULL));
        }
        snapshot_free(&empty);
        kith_filter_free(f);
    }
}

void create_like_and_clone_have_the_same_geometry(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 200, 0.02, &spec, &plan))
            continue;
        spec.hash.seed = 99;
        kith_filter *fresh = created(&spec);
        kith_filter *f = filled(&spec, 1, 0, can(&plan, KITH_CAN_GROW) ? 1500 : 200), *like = NULL;
        CHECK_OK(kith_filter_create_like(f, NULL, &like));
        CHECK(equal_filters(fresh, like)); /* geometry, hash and emptiness are all part of the bytes */
        CHECK_EQ_U64(kith_filter_hash(like).seed, 99);
        kith_filter *copy = cloned(f);
        CHECK(equal_filters(f, copy));
        CHECK(!kith_filter_readonly(copy) && !kith_filter_readonly(like));
        CHECK_EQ_U64(kith_filter_capacity(copy), kith_filter_capacity(f));
        CHECK_EQ_U64(kith_filter_count(copy), kith_filter_count(f));
        /* A clone is independent. */
        snapshot before = snapshot_of(f);
        CHECK_OK(kith_filter_clear(copy));
        CHECK(same_bytes(f, &before));
        kith_plan again = KITH_PLAN_INIT;
        CHECK_OK(kith_filter_plan_of(like, &again));
        CHECK_EQ_U64(again.file_bytes, plan.file_bytes);
        CHECK_EQ_U64(again.cells, plan.cells);
        CHECK(again.expected_rate == plan.expected_rate && again.failure == plan.failure);
        snapshot_free(&before);
        kith_filter_free(copy);
        kith_filter_free(like);
        kith_filter_free(f);
        kith_filter_free(fresh);
    }
}

static void expect_readonly(kith_filter *f, kith_filter *partner, const kith_plan *plan) {
    key k = key_at(5, 0);
    uint64_t digest = digest_at(5, 0);
    size_t done = 77;
    CHECK(kith_filter_readonly(f));
    CHECK_EQ_U64(kith_filter_capabilities(f), plan->capabilities);
    if (can(plan, KITH_CAN_ADD)) {
        CHECK_STATUS(kith_filter_add(f, k.bytes, sizeof k.bytes, NULL), KITH_E_READONLY);
        CHECK_STATUS(kith_filter_add_many(f, &digest, 1, NULL, &done), KITH_E_READONLY);
        CHECK_EQ_U64(done, 0);
        CHECK_STATUS(kith_filter_clear(f), KITH_E_READONLY);
    }
    CHECK_STATUS(kith_filter_set_notes(f, NULL, 0), KITH_E_READONLY);
    if (can(plan, KITH_CAN_REMOVE)) {
        CHECK_STATUS(kith_filter_remove(f, k.bytes, sizeof k.bytes), KITH_E_READONLY);
        CHECK_STATUS(kith_filter_remove_many(f, &digest, 1, NULL), KITH_E_READONLY);
    }
    if (can(plan, KITH_CAN_MERGE))
        CHECK_STATUS(kith_filter_merge(f, partner), KITH_E_READONLY);
    if (can(plan, KITH_CAN_INTERSECT))
        CHECK_STATUS(kith_filter_intersect(f, partner), KITH_E_READONLY);
    kith_adder *adder = NULL;
    if (can(plan, KITH_CAN_SHARE))
        CHECK_STATUS(kith_adder_open(f, &adder), KITH_E_READONLY);
}

void readonly_handles_refuse_changes(void) {
    static const kith_note NOTES[] = {{"name", "value"}};
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 100, 0.01, &spec, &plan))
            continue;
        kith_filter *f = filled(&spec, 5, 0, 50), *mapped = NULL;
        snapshot s = snapshot_of(f);
        CHECK_OK(kith_filter_save(f, file_named("readonly")));
        CHECK_OK(kith_filter_open(file_named("readonly"), KITH_OPEN_DEFAULT, NULL, &mapped));
        kith_filter *view = viewed(s.bytes, s.byte_count, KITH_OPEN_DEFAULT);
        expect_readonly(mapped, f, &plan);
        expect_readonly(view, f, &plan);
        CHECK(same_bytes(view, &s) && same_bytes(mapped, &s));
        /* To change it, clone it. */
        kith_filter *copy = viewed(s.bytes, s.byte_count, KITH_OPEN_COPY), *clone = cloned(mapped);
        CHECK(!kith_filter_readonly(copy) && !kith_filter_readonly(clone));
        CHECK_OK(kith_filter_set_notes(copy, NOTES, 1));
        CHECK_OK(kith_filter_set_notes(clone, NOTES, 1));
        if (can(&plan, KITH_CAN_ADD)) {
            CHECK_OK(add_digest(copy, digest_at(5, 60)));
            CHECK_OK(add_digest(clone, digest_at(5, 60)));
        }
        CHECK(equal_filters(copy, clone) && same_bytes(view, &s));
        snapshot_free(&s);
        kith_filter_free(clone);
        kith_filter_free(copy);
        kith_filter_free(view);
        kith_filter_free(mapped);
        kith_filter_free(f);
    }
}

enum { STORED_MAX = 255 + 64 }; /* of one key: more than any kind stores */

void adding_one_key_a_million_times_affects_no_other_key(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 1000, 1e-3, &spec, &plan))
            continue;
        const size_t others = 1000 - (plan.max_copies > 100 ? plan.max_copies : 100);
        kith_filter *f = filled(&spec, 11, 0, others);
        uint64_t flood = digest_at(11, ABSENT), tries = v->options[0] == '\0' ? scaled(1000000) : 10000;
        while (has_digest(f, flood))
            flood++; /* a key that is no false positive */
        /* max_copies adds succeed, or fewer if other keys occupy the slots and cannot be moved. Cuckoo kinds store a
         * few more in a stash. Later adds are refused or ignored. */
        uint64_t count = kith_filter_count(f), taken = 0;
        kith_status refusal = can(&plan, KITH_CAN_COPIES) ? KITH_E_COPIES : KITH_OK, status = KITH_OK;
        while (status == KITH_OK && (refusal != KITH_OK ? taken < STORED_MAX : taken < 1)) {
            status = add_digest(f, flood);
            taken += status == KITH_OK;
        }
        CHECK(taken >= plan.max_copies || (status == KITH_E_COPIES && taken * 2 >= plan.max_copies));
        CHECK(taken == plan.max_copies || plan.fingerprint_bits != 0);
        snapshot after = snapshot_of(f);
        for (uint64_t i = taken; i < tries; i++)
            CHECK_STATUS(add_digest(f, flood), refusal);
        CHECK_EQ_U64(kith_filter_count(f), count + taken);
        CHECK(same_bytes(f, &after));
        CHECK_EQ_U64(yes_among(f, 11, 0, others), others);
        CHECK(has_digest(f, flood));
        for (uint64_t i = 0; can(&plan, KITH_CAN_REMOVE) && i < taken; i++) {
            status = kith_filter_remove_many(f, &flood, 1, NULL);
            CHECK(status == KITH_OK || status == KITH_E_AMBIGUOUS);
        }
        CHECK_EQ_U64(yes_among(f, 11, 0, others), others);
        snapshot_free(&after);
        kith_filter_free(f);
    }
}

/* Fresh pages, which cost nothing until they are touched. */
static void *map_pages(void *context, size_t bytes, size_t alignment) {
    (void)context;
    (void)alignment;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages != MAP_FAILED ? pages : NULL;
}

static void unmap_pages(void *context, void *memory, size_t bytes) {
    (void)context;
    CHECK(munmap(memory, bytes) == 0);
}

void filters_of_more_than_2_to_the_32_cells_lose_no_key(void) {
    static const kith_allocator PAGES = {map_pages, unmap_pages, NULL};
    static const size_t N = 500; /* a static kind builds a whole shard for each */
    if (SIZE_MAX <= UINT32_MAX)
        return; /* such a filter does not fit in the address space */
    EACH_DEFAULT(v) {
        kith_filter_spec spec;
        kith_plan plan = KITH_PLAN_INIT;
        (void)planned_at_all(v, 1, 0.01, &spec, &plan);
        spec.allocator = &PAGES;
        for (spec.capacity = 1; plan.cells <= UINT64_C(1) << 32; spec.capacity *= 2)
            CHECK_OK(kith_filter_plan(&spec, &plan));
        spec.capacity = plan.capacity;
        contract_note("%s, n = %" PRIu64, v->kind, spec.capacity);
        kith_filter *f = filled(&spec, 2, 0, N);
        CHECK_EQ_U64(yes_among(f, 2, 0, N), N);
        /* Almost nothing is in the filter. The rate of a static kind does not depend on that. */
        double rate = can(&plan, KITH_CAN_ADD) ? 0 : plan.expected_rate;
        CHECK((double)yes_among(f, 2, ABSENT, 10000) <= 5 + 2 * 10000 * rate);
        /* If slot numbers were truncated to 32 bits, slots 2^32 apart would be the same. Digests that differ only in
         * the highest bits, by less than that distance, would then look like added ones. */
        size_t aliased = 0;
        for (uint64_t i = 0; i < N; i++)
            aliased += has_digest(f, digest_at(2, i) ^ UINT64_C(1) << 63);
        CHECK((double)aliased <= 2 + 2 * (double)N * rate);
        for (uint64_t i = 0; can(&plan, KITH_CAN_REMOVE) && i < N; i += 2) {
            uint64_t digest = digest_at(2, i);
            CHECK_OK(kith_filter_remove_many(f, &digest, 1, NULL));
        }
        for (uint64_t i = 1; i < N; i += 2)
            CHECK(has_digest(f, digest_at(2, i)));
        kith_filter_free(f);
    }
}
