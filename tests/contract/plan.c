/* Checks of plans: exact sizes in bytes, enough slots for all keys, specific errors. */
#include <math.h>

#include "contract/contract.h"
#include "kinds/kind.h"
#include "option_errors.h"

/* What a handle may allocate in addition to its block: the handle itself, and data of the kind. */
#define HANDLE_BYTES_MAX 4096

static const uint64_t SIZES[] = {1, 2, 5, 33, 100, 1000, 30000};
static const double RATES[] = {0.25, 0.01, 1e-3, 1e-5};

void plan_bytes_are_the_bytes_allocated(void) {
    EACH_VARIANT(v) for (size_t i = 0; i < 7; i++) for (size_t r = 0; r < 4; r++) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_at_all(v, SIZES[i], RATES[r], &spec, &plan))
            continue;
        test_memory memory;
        memory_init(&memory);
        spec.allocator = &memory.allocator;
        kith_filter *f = created(&spec);
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
        CHECK_EQ_U64(byte_count, plan.file_bytes);
        CHECK_EQ_U64(stats_of(f).file_bytes, plan.file_bytes);
        if (plan.file_bytes > HANDLE_BYTES_MAX)
            CHECK_EQ_U64(memory.largest, plan.file_bytes);
        CHECK(memory.live_bytes > plan.file_bytes && memory.live_bytes <= plan.file_bytes + HANDLE_BYTES_MAX);
        CHECK(fabs(plan.bits_per_key * (double)plan.capacity - 8 * (double)plan.file_bytes) < 1e-3);
        CHECK(plan.capacity == SIZES[i] && kith_filter_capacity(f) == plan.capacity && plan.rate == RATES[r]);
        CHECK((plan.hashes == 0) != (plan.fingerprint_bits == 0));
        CHECK(plan.cells > 0 && plan.cell_bits > 0 && plan.lines > 0 && plan.max_copies >= 1);
        CHECK(plan.lookup_cells > 0 && (plan.hashes == 0 || plan.lookup_cells == plan.hashes));
        CHECK(plan.cells * plan.cell_bits <= 8 * plan.file_bytes);
        if (r == 1 && i % 3 == 0) {
            CHECK_OK(kith_filter_save(f, file_named("planned")));
            snapshot saved = file_bytes(file_named("planned"));
            CHECK_EQ_U64(saved.byte_count, plan.file_bytes);
            snapshot_free(&saved);
        }
        kith_filter_free(f);
        CHECK_EQ_U64(memory.live_blocks, 0);
    }
}

/* Given bytes and either capacity or rate, the plan is the best that fits. */
void plan_computes_the_missing_one_of_capacity_rate_and_bytes(void) {
    EACH_VARIANT(v) for (size_t i = 3; i < 7; i++) for (size_t r = 0; r < 4; r++) {
        kith_filter_spec spec;
        kith_plan plan, third = KITH_PLAN_INIT;
        if (v->options[0] != '\0' && (i + r) % 4 != 0)
            continue;
        if (!planned(v, SIZES[i], RATES[r], &spec, &plan))
            continue;
        kith_filter_spec for_rate = spec;
        for_rate.rate = 0;
        for_rate.bytes = plan.file_bytes;
        CHECK_OK(kith_filter_plan(&for_rate, &third));
        CHECK(third.file_bytes <= plan.file_bytes && third.capacity == spec.capacity);
        CHECK(third.rate <= plan.rate * (1 + 1e-6) && third.expected_rate <= third.rate);
        kith_filter *f = filled(&for_rate, 4, 0, (size_t)SIZES[i]);
        CHECK_EQ_U64(yes_among(f, 4, 0, (size_t)SIZES[i]), SIZES[i]);
        kith_filter_free(f);

        kith_filter_spec for_capacity = spec;
        for_capacity.capacity = 0;
        for_capacity.bytes = plan.file_bytes;
        CHECK_OK(kith_filter_plan(&for_capacity, &third));
        CHECK(third.file_bytes <= plan.file_bytes && third.capacity >= spec.capacity && third.rate == spec.rate);
        kith_filter_spec one_more = spec;
        one_more.capacity = third.capacity + 1;
        kith_status status = kith_filter_plan(&one_more, &third);
        CHECK(status != KITH_OK || third.file_bytes > plan.file_bytes);
        kith_filter_spec too_small = for_capacity;
        too_small.bytes = 1;
        CHECK_STATUS(kith_filter_plan(&too_small, &third), KITH_E_TOO_SMALL);
        too_small = for_rate;
        too_small.bytes = 1;
        CHECK_STATUS(kith_filter_plan(&too_small, &third), KITH_E_TOO_SMALL);
        /* A size limit that can be kept, and one that cannot. */
        kith_filter_spec capped = spec;
        capped.max_bytes = plan.file_bytes;
        CHECK_OK(kith_filter_plan(&capped, &third));
        capped.max_bytes--;
        CHECK_STATUS(kith_filter_plan(&capped, &third), KITH_E_TOO_LARGE);
    }
}

/* create and plan return the same error, allocate nothing and do not touch their results. */
static void expect_refusal(kith_filter_spec spec, kith_status want) {
    test_memory memory;
    memory_init(&memory);
    spec.allocator = &memory.allocator;
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter *f = NULL;
    CHECK_STATUS(kith_filter_plan(&spec, &plan), want);
    CHECK(plan.kind == NULL && plan.file_bytes == 0);
    CHECK_STATUS(kith_filter_create(&spec, &f), want); /* for a static kind, too: the plan comes first */
    uint64_t digest = 1;
    if (spec.capacity != 0)
        CHECK_STATUS(kith_filter_build(&spec, &digest, 0, KITH_BUILD_SET, 1, &f), want);
    CHECK(f == NULL && memory.calls == 0);
}

/* Sizes around each power of two, and rates of the whole range: an error or a sensible plan, never a crash. */
static void try_grid(const variant *v, const kith_filter_spec *good) {
    static const double GRID_RATES[] = {0x1p-1074, 1e-300, 1e-18, 1e-9, 0.25, 0.5, 0.99, 0x1.fffffffffffffp-1};
    bool is_default = v->options[0] == '\0';
    for (unsigned k = 0; k <= 64 * 3; k += is_default ? 1 : 25)
        for (size_t r = 0; r < 8; r++) {
            kith_filter_spec spec = *good;
            kith_plan p = KITH_PLAN_INIT;
            spec.capacity = (k / 3 < 64 ? UINT64_C(1) << k / 3 : 0) + k % 3 - 1;
            spec.rate = GRID_RATES[r];
            if (kith_filter_plan(&spec, &p) != KITH_OK)
                continue;
            contract_note("%s %s, n = %" PRIu64 ", rate = %g", v->kind, v->options, spec.capacity, spec.rate);
            CHECK(p.capacity == spec.capacity && p.rate == spec.rate && p.file_bytes > 0);
            CHECK(p.expected_rate >= 0 && p.expected_rate <= p.rate && p.failure >= 0 && p.failure <= 1);
            CHECK(p.cell_bits > 0 && p.cells <= 8 * p.file_bytes / p.cell_bits);
            CHECK(!is_default || p.failure <= 1.1e-8);
            if (p.fingerprint_bits != 0)
                CHECK(log2((double)p.cells) + p.fingerprint_bits <= 60 + 1e-9);
        }
}

static void expect_bad_hash(const kith_filter_spec *spec) {
    kith_filter *f = NULL;
    CHECK_STATUS(kith_filter_create(spec, &f), KITH_E_HASH);
    CHECK_STATUS(kith_filter_build(spec, NULL, 0, KITH_BUILD_SET, 1, &f), KITH_E_HASH);
    CHECK(f == NULL);
}

void plan_rejects_impossible_requests(void) {
    static const double BAD_RATES[] = {NAN, INFINITY, -INFINITY, -1, -1e-300, 1, 1.0000001, 2, 1e300};
    EACH_VARIANT(v) {
        kith_filter_spec good, spec;
        kith_plan plan;
        if (!planned_at_all(v, 100, 0.01, &good, &plan))
            continue;
        for (size_t i = 0; i < sizeof BAD_RATES / sizeof *BAD_RATES; i++) {
            spec = good;
            spec.rate = BAD_RATES[i];
            expect_refusal(spec, KITH_E_RATE);
            spec.bytes = 10000;
            spec.capacity = 0;
            expect_refusal(spec, KITH_E_RATE);
        }
        spec = good;
        spec.rate = 0;
        expect_refusal(spec, KITH_E_RATE);
        spec = good;
        spec.capacity = 0;
        expect_refusal(spec, KITH_E_CAPACITY);
        spec.rate = 0;
        expect_refusal(spec, KITH_E_CAPACITY);
        spec.bytes = 10000;
        expect_refusal(spec, KITH_E_GIVEN);
        spec = good;
        spec.bytes = 10000;
        expect_refusal(spec, KITH_E_GIVEN);
        spec = good;
        spec.struct_bytes++;
        expect_refusal(spec, KITH_E_STRUCT);
        spec = good;
        spec.max_bytes = 1;
        expect_refusal(spec, KITH_E_TOO_LARGE);
        spec = good;
        spec.capacity = UINT64_MAX;
        expect_refusal(spec, KITH_E_DIGEST_BITS);
        try_grid(v, &good);
        /* A wrong struct_bytes of the plan, and hashes that no filter can have. */
        kith_plan small = {.struct_bytes = sizeof small + 1};
        CHECK_STATUS(kith_filter_plan(&good, &small), KITH_E_STRUCT);
        spec = good;
        spec.hash = (kith_hash){.id = KITH_HASH_SIPHASH, .seed = 1};
        expect_bad_hash(&spec);
        spec.hash = (kith_hash){.id = KITH_HASH_XXH3, .key = {1}};
        expect_bad_hash(&spec);
        spec.hash = (kith_hash){.id = (kith_hash_id)2};
        expect_bad_hash(&spec);
    }
}

static void refuse_option(const kith_filter_spec *good, const char *format, const char *name, const char *value) {
    char text[200];
    int length = snprintf(text, sizeof text, format, name, value);
    CHECK(length >= 0 && (size_t)length < sizeof text);
    contract_note("%s with \"%s\"", good->kind, text);
    kith_filter_spec spec = *good;
    spec.options = text;
    kith_plan plan = KITH_PLAN_INIT;
    kith_status status = kith_filter_plan(&spec, &plan);
    CHECK(is_option_error(status));
    expect_refusal(spec, status);
}

void invalid_options_are_rejected(void) {
    EACH_DEFAULT(v) {
        kith_filter_spec good, spec;
        kith_plan plan;
        CHECK(planned(v, 100, 0.01, &good, &plan));
        for (const char *const *name = (const char *const[]){"", "BLOOM", "bloom ", "no-such-kind", NULL}; *name;
             name++) {
            spec = good;
            spec.kind = *name;
            spec.options = NULL;
            expect_refusal(spec, KITH_E_KIND);
        }
        refuse_option(&good, "%s=%s", "no_such_option", "1");
        refuse_option(&good, "%s%s", "=", "");
        refuse_option(&good, "%s%s", "word", "");
        const kith_kind_info *info = NULL;
        for (size_t i = 0; info == NULL || strcmp(info->name, v->kind) != 0; i++)
            info = kith_filter_kind_at(i);
        for (size_t i = 0; i < info->option_count; i++) {
            const kith_option *option = &info->options[i];
            refuse_option(&good, "%s=%s", option->name, "");
            refuse_option(&good, "%s=%s", option->name, "no-such-value");
            refuse_option(&good, "%s=%s", option->name, "-1");
            refuse_option(&good, "%s=%s", option->name, "99999999999999999999999999");
            refuse_option(&good, "%s %s", option->name, option->fallback);
            refuse_option(&good, "%s=%s", option->name, option->values);
            const char *dots = strstr(option->values, "..");
            char value[32];
            if (dots != NULL) {
                (void)snprintf(value, sizeof value, "%" PRIu64, (uint64_t)strtoull(dots + 2, NULL, 10) + 1);
                refuse_option(&good, "%s=%s", option->name, value);
                refuse_option(&good, "%s=%s.5", option->name, option->fallback);
            }
            char twice[100];
            (void)snprintf(twice, sizeof twice, "%s %s=%s", option->fallback, option->name, option->fallback);
            refuse_option(&good, "%s=%s", option->name, twice);
            /* Passing the default value explicitly gives the default plan. */
            char text[100];
            (void)snprintf(text, sizeof text, " %s=%s,", option->name, option->fallback);
            kith_plan said = KITH_PLAN_INIT;
            spec = good;
            spec.options = text;
            CHECK_OK(kith_filter_plan(&spec, &said));
            CHECK(said.file_bytes == plan.file_bytes && said.expected_rate == plan.expected_rate);
        }
        /* Options without a kind are rejected. */
        spec = good;
        spec.kind = NULL;
        spec.options = "k=1";
        expect_refusal(spec, KITH_E_OPTION_KIND);
    }
}

static void fill_over_seeds(const variant *v, uint64_t n, double rate, uint64_t seeds) {
    kith_filter_spec spec;
    kith_plan plan;
    if (!planned(v, n, rate, &spec, &plan))
        return;
    kith_filter *f = can(&plan, KITH_CAN_ADD) ? created(&spec) : NULL;
    uint64_t *digests = malloc((size_t)n * sizeof *digests);
    CHECK(digests != NULL);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        note_seed(seed);
        for (uint64_t i = 0; i < n; i++)
            digests[i] = digest_at(seed, i);
        if (can(&plan, KITH_CAN_ADD))
            CHECK_OK(kith_filter_add_many(f, digests, (size_t)n, NULL, NULL));
        else
            f = filled_with(&spec, digests, (size_t)n);
        CHECK_EQ_U64(kith_filter_has_many(f, digests, (size_t)n, NULL), n);
        if (can(&plan, KITH_CAN_ADD)) {
            CHECK_OK(kith_filter_clear(f));
        } else {
            const void *bytes;
            size_t byte_count;
            CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
            CHECK_EQ_U64(byte_count, plan.file_bytes); /* as large as planned: the first attempt succeeded */
            kith_filter_free(f);
            f = NULL;
        }
    }
    free(digests);
    kith_filter_free(f);
}

void planned_keys_fit_with_many_seeds(void) {
    bool soak = check_soak();
    EACH_VARIANT(v) {
        bool is_default = v->options[0] == '\0';
        uint64_t few = soak ? 1000 : scaled(is_default ? 40 : 10);
        for (uint64_t n = 1; n <= 300; n += soak || n < 20 ? 1 : n / 10) {
            fill_over_seeds(v, n, 1e-3, few);
            if (is_default || n % 7 == 0)
                fill_over_seeds(v, n, 0.03, few);
        }
        fill_over_seeds(v, 1000, 1e-3, soak ? 20000 : scaled(is_default ? 500 : 50));
        fill_over_seeds(v, 20000, 0.1, scaled(is_default ? 10 : 1));
        if (is_default && scaled(100) >= 100)
            fill_over_seeds(v, 1000000, 1e-3, soak ? 20 : 1);
    }
}

/* Adds keys beyond the capacity, which the handle no longer knows, until adds fail for lack of room or at the fill
 * limit. */
static void overfill(kith_filter *f) {
    f->head.capacity = UINT64_MAX / 2;
    unsigned refused = 0;
    for (uint64_t j = 0; refused < 10; j++) {
        snapshot before = snapshot_of(f);
        kith_status status = add_digest(f, digest_at(14, j));
        if (status != KITH_OK) {
            CHECK(status == KITH_E_FULL || status == KITH_E_COPIES);
            CHECK(same_bytes(f, &before));
            refused++;
        }
        snapshot_free(&before);
        CHECK(j < 20000);
    }
}

void failed_add_changes_no_byte(void) {
    static const uint64_t CAPACITIES[] = {1, 3, 30, 500};
    EACH_VARIANT(v) for (size_t i = 0; i < 4; i++) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, CAPACITIES[i], 0.01, &spec, &plan) || can(&plan, KITH_CAN_GROW))
            continue;
        kith_filter *f = filled(&spec, 13, 0, (size_t)CAPACITIES[i]);
        /* Bloom kinds count only keys that changed a bit, so they may accept a few more. */
        for (uint64_t more = CAPACITIES[i]; kith_filter_count(f) < CAPACITIES[i]; more++)
            CHECK_OK(add_digest(f, digest_at(13, more)));
        snapshot full = snapshot_of(f);
        uint64_t refused = 0;
        for (uint64_t j = 0; j < 500; j++) {
            uint64_t digest = digest_at(13, ABSENT + j);
            bool had = has_digest(f, digest);
            kith_status status = add_digest(f, digest);
            CHECK(status == KITH_E_FULL || (had && status == (can(&plan, KITH_CAN_COPIES) ? KITH_E_COPIES : KITH_OK)));
            CHECK(same_bytes(f, &full));
            refused += status == KITH_E_FULL;
        }
        CHECK(refused > 400);
        snapshot_free(&full);
        if (v->options[0] == '\0' || CAPACITIES[i] == 30)
            overfill(f);
        kith_filter_free(f);
    }
}
