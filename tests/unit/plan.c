/* Tests of kith_filter_plan with any two of capacity, rate and bytes, from sensible to absurd values. Every result is a
 * consistent plan or the right error, and nothing is allocated.
 *
 * The variants of a kind have single options at the ends and in the middle of their ranges, read from the registered
 * kinds as a tool would read them, and some pairs of options. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <float.h>
#include <math.h>
#include <time.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "folder.h"
#include "option_errors.h"
#include "unit/memory.h"
#include "unit/plans.h"

enum { VARIANTS_MAX = 128, NUMBERS_MAX = 256 };

typedef struct variant {
    const char *kind;
    char options[48];
    bool is_default;
} variant;

static variant variants[VARIANTS_MAX];
static size_t variant_count;

static void add_variant(const char *kind, const char *text) {
    CHECK(variant_count < VARIANTS_MAX && strlen(text) < sizeof variants[0].options);
    variant *v = &variants[variant_count++];
    v->kind = kind;
    v->is_default = *text == '\0';
    memcpy(v->options, text, strlen(text) + 1);
}

static void take_value(const char *kind, const kith_option *option, const char *value, size_t length) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s=%.*s", option->name, (int)length, value);
    add_variant(kind, text);
}

static void take_number(const char *kind, const kith_option *option, uint64_t value) {
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    take_value(kind, option, text, strlen(text));
}

static void take_option(const char *kind, const kith_option *option) {
    const char *dots = strstr(option->values, "..");
    if (strcmp(option->values, "kind") == 0) {
        for (size_t i = 0; i < kith_filter_kind_count(); i++) {
            const char *name = kith_filter_kind_at(i)->name;
            take_value(kind, option, name, strlen(name));
        }
    } else if (dots != NULL) {
        uint64_t low = strtoull(option->values, NULL, 10), high = strtoull(dots + 2, NULL, 10);
        take_number(kind, option, low);
        take_number(kind, option, low + 1);
        take_number(kind, option, low + 4);
        take_number(kind, option, low + (high - low) / 2);
        take_number(kind, option, high);
    } else {
        for (const char *word = option->values; word != NULL;) {
            const char *end = strchr(word, '|');
            take_value(kind, option, word, end != NULL ? (size_t)(end - word) : strlen(word));
            word = end != NULL ? end + 1 : NULL;
        }
    }
}

static void collect_variants(void) {
    if (variant_count != 0)
        return;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *info = kith_filter_kind_at(i);
        add_variant(info->name, "");
        for (size_t j = 0; j < info->option_count; j++)
            take_option(info->name, &info->options[j]);
    }
    add_variant("cuckoo", "b=1 f=32");
    add_variant("cuckoo", "b=8,f=4");
    add_variant("cuckoo", "alternate=simple b=1 f=4");
    add_variant("cuckoo", "alternate=simple b=2");
    add_variant("layers", "inner=overlap growth=16");
    add_variant("layers", "inner=cuckoo growth=1");
}

/* Returns NULL if the plan is consistent, otherwise what is not. */
static const char *broken(const kith_plan *p) {
    if (p->struct_bytes != sizeof *p || p->kind == NULL)
        return "struct_bytes or kind";
    if (p->capacity == 0 || !(p->rate > 0 && p->rate < 1))
        return "capacity or rate";
    if (!(p->expected_rate > 0 && p->expected_rate <= p->rate))
        return "expected_rate";
    if (!(p->failure >= 0 && p->failure <= 1))
        return "failure";
    if (p->cells == 0 || p->cell_bits == 0 || p->lines == 0 || p->lookup_cells == 0 || p->max_copies == 0)
        return "cells, cell_bits, lines, lookup_cells or max_copies";
    if (p->file_bytes < 192 || p->file_bytes > UINT64_C(1) << 63)
        return "file_bytes";
    if (!((double)p->cells * p->cell_bits <= (double)p->file_bytes * 8))
        return "cells do not fit the file";
    if (p->bits_per_key != (double)p->file_bytes * 8 / (double)p->capacity)
        return "bits_per_key";
    if ((p->hashes == 0) == (p->fingerprint_bits == 0))
        return "hashes and fingerprint_bits";
    if ((p->max_copies > 1) != ((p->capabilities & KITH_CAN_COPIES) != 0))
        return "max_copies and capabilities";
    bool searches = p->fingerprint_bits != 0 && (p->capabilities & KITH_CAN_ADD) != 0;
    if ((p->search_slots != 0) != searches || p->search_slots > 2 * 8 * 10000)
        return "search_slots";
    return NULL;
}

static size_t numbers(uint64_t *out) {
    size_t count = 0;
    unsigned step = check_soak() ? 1 : UNDER_SANITIZER ? 17 : 11;
    for (uint64_t small = 0; small <= 3; small++)
        out[count++] = small;
    for (unsigned k = 2; k < 64; k += step) {
        out[count++] = (UINT64_C(1) << k) - 1;
        out[count++] = UINT64_C(1) << k;
        out[count++] = (UINT64_C(1) << k) + 1;
    }
    out[count++] = UINT64_C(1) << 63;
    out[count++] = UINT64_MAX;
    CHECK(count <= NUMBERS_MAX);
    return count;
}

static bool is_bad_rate(double rate) {
    return rate != 0 && !(rate > 0 && rate < 1);
}

/* f = 1 … 3 of cuckoo and fuse, f = 1 of overlap, layers in layers: within the documented range, but refused. */
static bool option_is_refused(const variant *v) {
    if (strcmp(v->kind, "cuckoo") == 0 || strcmp(v->kind, "fuse") == 0)
        return strcmp(v->options, "f=1") == 0;
    if (strcmp(v->kind, "overlap") == 0)
        return strcmp(v->options, "f=1") == 0;
    return strcmp(v->options, "inner=layers") == 0;
}

static bool status_fits(const variant *v, uint64_t n, double rate, kith_status status) {
    if (is_bad_rate(rate))
        return status == KITH_E_RATE;
    if (n == 0)
        return status == KITH_E_CAPACITY;
    if (rate == 0)
        return status == KITH_E_RATE;
    if ((double)n * 0x1p-64 > rate / 100)
        return status == KITH_E_DIGEST_BITS;
    if (option_is_refused(v))
        return status == KITH_E_OPTION_VALUE;
    if (status == KITH_E_UNSUPPORTED)
        return strcmp(v->options, "inner=fuse") == 0 || strcmp(v->options, "inner=ribbon") == 0; /* static kinds */
    unsigned long bits = strncmp(v->options, "f=", 2) == 0 ? strtoul(v->options + 2, NULL, 10) : 0;
    bool is_static = strcmp(v->kind, "fuse") == 0 || strcmp(v->kind, "ribbon") == 0;
    if (is_static && bits != 0 && rate < ldexp(1, -(int)bits))
        return status == KITH_E_OPTION_FIT; /* its rate is 2^-f */
    if (v->is_default && n <= UINT64_C(1) << (SIZE_MAX > UINT32_MAX ? 38 : 26) && rate >= 1e-4)
        return status == KITH_OK;
    /* Options that cannot be combined: regions of at most 2^f buckets are too small for b = 1. */
    if (status == KITH_E_OPTION_FIT)
        return strstr(v->options, "simple") != NULL && strstr(v->options, "f=") != NULL;
    return status == KITH_OK || status == KITH_E_ADDRESS || status == KITH_E_FINGERPRINT ||
           status == KITH_E_DIGEST_BITS;
}

TEST(kinds_are_found_by_name) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++)
        CHECK(kith_filter_kind_named(kith_filter_kind_at(i)->name) == kith_filter_kind_at(i));
    CHECK(kith_filter_kind_named("nope") == NULL);
    CHECK(kith_filter_kind_named("bloo") == NULL);
    CHECK(kith_filter_kind_named("") == NULL);
}

TEST(capacity_and_rate_give_a_plan_or_the_right_error) {
    static const double RATES[] = {0, DBL_TRUE_MIN, 1e-300, 1e-12,    1e-4,     .01, .25, .5, .999, 1,
                                   2, -1,           NAN,    INFINITY, -INFINITY};
    uint64_t n[NUMBERS_MAX];
    size_t n_count = numbers(n), planned = 0, refused = 0;
    collect_variants();
    for (size_t v = 0; v < variant_count; v++) {
        for (size_t i = 0; i < n_count; i++) {
            for (size_t r = 0; r < LENGTH(RATES); r++) {
                kith_filter_spec spec = spec_of(variants[v].kind, variants[v].options);
                kith_plan plan;
                spec.capacity = n[i];
                spec.rate = RATES[r];
                kith_status status = plan_of(&spec, &plan);
                if (!status_fits(&variants[v], n[i], RATES[r], status))
                    CHECK_FAIL("%s %s, n %" PRIu64 ", rate %g: %s", variants[v].kind, variants[v].options, n[i],
                               RATES[r], kith_status_name(status));
                planned += status == KITH_OK;
                refused += status != KITH_OK;
                if (status != KITH_OK)
                    continue;
                const char *why = broken(&plan);
                if (why == NULL && (plan.capacity != n[i] || plan.rate != RATES[r]))
                    why = "not what was asked";
                if (why != NULL)
                    CHECK_FAIL("%s %s, n %" PRIu64 ", rate %g: the plan is broken: %s", variants[v].kind,
                               variants[v].options, n[i], RATES[r], why);
            }
        }
    }
    CHECK(planned > 1000 && refused > 1000);
}

/* The normal tier tests a part of the grids: planning from bytes costs milliseconds. */
static size_t stride(void) {
    return check_soak() ? 1 : UNDER_SANITIZER ? 5 : 3;
}

TEST(bytes_with_capacity_or_rate_give_a_plan_or_the_right_error) {
    static const uint64_t BYTES[] = {1,
                                     191,
                                     192,
                                     255,
                                     256,
                                     1000,
                                     99999,
                                     UINT64_C(1) << 20,
                                     UINT64_C(1) << 40,
                                     UINT64_C(1) << 62,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX};
    static const uint64_t CAPACITIES[] = {1, 2, 3, 1000, 1000003, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX};
    static const double RATES[] = {DBL_TRUE_MIN, 1e-300, 1e-12, 1e-4, .01, .5, .999, 1 - DBL_EPSILON};
    size_t planned = 0, refused = 0;
    collect_variants();
    for (size_t v = 0; v < variant_count; v++) {
        if (!check_soak() && !variants[v].is_default)
            continue;
        for (size_t b = 0; b < LENGTH(BYTES); b += check_soak() ? 1 : stride()) {
            for (size_t i = 0; i < LENGTH(CAPACITIES) + LENGTH(RATES); i++) {
                kith_filter_spec spec = spec_of(variants[v].kind, variants[v].options);
                kith_plan plan;
                spec.bytes = BYTES[b];
                if (i < LENGTH(CAPACITIES))
                    spec.capacity = CAPACITIES[i];
                else
                    spec.rate = RATES[i - LENGTH(CAPACITIES)];
                kith_status status = plan_of(&spec, &plan);
                planned += status == KITH_OK;
                refused += status != KITH_OK;
                const char *why = NULL;
                if (status == KITH_OK) {
                    why = broken(&plan);
                    if (why == NULL && plan.file_bytes > BYTES[b])
                        why = "it needs more bytes than given";
                    if (why == NULL && spec.capacity != 0 && plan.capacity != spec.capacity)
                        why = "it is for another capacity";
                    if (why == NULL && spec.rate != 0 && plan.rate != spec.rate)
                        why = "it is for another rate";
                } else if (BYTES[b] < 192 && status != KITH_E_TOO_SMALL && !is_option_error(status) &&
                           status != KITH_E_DIGEST_BITS && status != KITH_E_ADDRESS && status != KITH_E_FINGERPRINT) {
                    why = "the wrong error for too few bytes";
                } else if (status != KITH_E_TOO_SMALL && status != KITH_E_ADDRESS && status != KITH_E_FINGERPRINT &&
                           status != KITH_E_DIGEST_BITS && status != KITH_E_RATE && !is_option_error(status)) {
                    why = "the wrong error";
                }
                if (why != NULL)
                    CHECK_FAIL("%s %s, n %" PRIu64 ", rate %g, bytes %" PRIu64 ": %s: %s", variants[v].kind,
                               variants[v].options, spec.capacity, spec.rate, BYTES[b], kith_status_name(status), why);
            }
        }
    }
    CHECK(planned > 50 && refused > 50);
}

/* plan, create and build all refuse the spec, and none of them allocates memory. */
static void all_refuse(kith_filter_spec spec, kith_status want) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    kith_filter *const untouched = (kith_filter *)(uintptr_t)&memory;
    kith_filter *filter = untouched;
    kith_plan plan = KITH_PLAN_INIT, before = plan;
    spec.allocator = &allocator;
    CHECK_STATUS(kith_filter_plan(&spec, &plan), want);
    CHECK(memcmp(&plan, &before, sizeof plan) == 0);
    CHECK_STATUS(kith_filter_create(&spec, &filter), want);
    CHECK(filter == untouched);
    CHECK_EQ_U64(memory.calls, 0);
}

static kith_filter_spec good_spec(void) {
    kith_filter_spec spec = spec_of("bloom", NULL);
    spec.capacity = 1000;
    spec.rate = .01;
    return spec;
}

TEST(malformed_specs_give_the_right_error_and_allocate_nothing) {
    kith_filter_spec spec = good_spec();
    static const char *const KINDS[] = {"", "blom", "Bloom", "bloom ", "bloombloom", "layer"};
    for (size_t i = 0; i < LENGTH(KINDS); i++) {
        spec.kind = KINDS[i];
        all_refuse(spec, KITH_E_KIND);
    }

    static const struct {
        const char *kind, *options;
    } WRONG[] = {
        {"bloom", "b=4"},
        {"bloom", "k"},
        {"bloom", "k="},
        {"bloom", "=4"},
        {"bloom", "k=4 k=4"},
        {"bloom", "k=4,k=5"},
        {"bloom", "k=65"},
        {"bloom", "k=-1"},
        {"bloom", "k=4x"},
        {"bloom", "k=18446744073709551617"},
        {"bloom", "K=4"},
        {"cuckoo", "b=3"},
        {"cuckoo", "b=16"},
        {"cuckoo", "b=0"},
        {"cuckoo", "f=33"},
        {"cuckoo", "f=3"},
        {"cuckoo", "f=1"},
        {"cuckoo", "alternate="},
        {"cuckoo", "alternate=h"},
        {"overlap", "f=32"},
        {"overlap", "f=1"},
        {"overlap", "b=2"},
        {"blocked", "lanes=5"},
        {"counting", "k=65"},
        {"blocked_counting", "lanes=32"},
        {"layers", "growth=0"},
        {"layers", "growth=32769"},
        {"layers", "inner=no"},
        {"layers", "inner="},
        {"layers", "inner=layers"},
    };
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        spec = good_spec();
        spec.kind = WRONG[i].kind;
        spec.options = WRONG[i].options;
        kith_plan plan = KITH_PLAN_INIT;
        kith_status status = kith_filter_plan(&spec, &plan);
        CHECK(is_option_error(status));
        all_refuse(spec, status);
    }
    spec = good_spec();
    spec.kind = NULL;
    spec.options = "k=4"; /* options without a kind */
    all_refuse(spec, KITH_E_OPTION_KIND);

    spec = good_spec();
    spec.capacity = 0;
    all_refuse(spec, KITH_E_CAPACITY);
    static const double RATES[] = {0, 1, 2, -1, -0.01, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < LENGTH(RATES); i++) {
        spec = good_spec();
        spec.rate = RATES[i];
        all_refuse(spec, KITH_E_RATE);
    }

    spec = good_spec();
    spec.struct_bytes++;
    all_refuse(spec, KITH_E_STRUCT);
    spec.struct_bytes = 0;
    all_refuse(spec, KITH_E_STRUCT);
    spec = good_spec();
    kith_plan plan = KITH_PLAN_INIT;
    plan.struct_bytes++;
    CHECK_STATUS(kith_filter_plan(&spec, &plan), KITH_E_STRUCT);

    spec = good_spec();
    spec.bytes = 1000000; /* all three */
    all_refuse(spec, KITH_E_GIVEN);
    spec.capacity = 0;
    spec.rate = 0; /* bytes only */
    all_refuse(spec, KITH_E_GIVEN);
    spec = good_spec();
    spec.capacity = 0; /* rate only */
    all_refuse(spec, KITH_E_CAPACITY);
    spec = good_spec();
    spec.rate = 0; /* capacity only */
    all_refuse(spec, KITH_E_RATE);
    spec.capacity = 0; /* nothing */
    all_refuse(spec, KITH_E_CAPACITY);

    spec = good_spec();
    spec.needs = KITH_CAN_REMOVE;
    all_refuse(spec, KITH_E_KIND);
    spec.kind = NULL;
    spec.needs = KITH_CAN_REMOVE | KITH_CAN_SHARE; /* no kind has both */
    all_refuse(spec, KITH_E_KIND);
}

TEST(malformed_hashes_are_refused_and_nothing_is_allocated) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    kith_filter_spec spec = good_spec();
    kith_filter *filter = NULL;
    spec.allocator = &allocator;
    spec.hash.key[3] = 1; /* XXH3 has no key */
    CHECK_STATUS(kith_filter_create(&spec, &filter), KITH_E_HASH);
    spec.hash.id = KITH_HASH_SIPHASH;
    spec.hash.seed = 1; /* SipHash has no seed */
    CHECK_STATUS(kith_filter_create(&spec, &filter), KITH_E_HASH);
    spec.hash.seed = 0;
    spec.hash.id = (kith_hash_id)2;
    CHECK_STATUS(kith_filter_create(&spec, &filter), KITH_E_HASH);
    CHECK(filter == NULL && memory.calls == 0);
}

TEST(a_plan_above_the_byte_limit_is_too_large_and_one_at_the_limit_is_not) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        kith_filter_spec spec = good_spec();
        kith_plan plan;
        spec.kind = kith_filter_kind_at(i)->name;
        CHECK_OK(plan_of(&spec, &plan));
        spec.max_bytes = plan.file_bytes;
        CHECK_OK(plan_of(&spec, &plan));
        spec.max_bytes--;
        all_refuse(spec, KITH_E_TOO_LARGE);
        spec.max_bytes = 1 << 20;
        spec.capacity = UINT64_C(1) << 40;
        all_refuse(spec, KITH_E_TOO_LARGE);
    }
}

TEST(plans_that_need_more_than_64_digest_bits_are_refused) {
    kith_filter_spec spec = good_spec();
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        spec.kind = kith_filter_kind_at(i)->name;
        spec.capacity = 1000; /* 1000/2^64 = 5.4e-17 */
        spec.rate = 1e-16;
        all_refuse(spec, KITH_E_DIGEST_BITS);
        spec.capacity = UINT64_C(1) << 40; /* 6e-8 */
        spec.rate = 1e-6;
        all_refuse(spec, KITH_E_DIGEST_BITS);
    }
    kith_plan plan;
    spec = spec_of("cuckoo", "f=32");
    spec.rate = .01;
    spec.capacity = UINT64_C(1) << 27;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(log2((double)plan.cells) + plan.fingerprint_bits <= 60);
    spec.capacity = UINT64_C(1) << 28; /* 2^28 / 0.96 slots and 32 bits */
    all_refuse(spec, KITH_E_DIGEST_BITS);
    spec = spec_of("overlap", "f=31");
    spec.rate = .01;
    spec.capacity = UINT64_C(1) << 29;
    all_refuse(spec, KITH_E_DIGEST_BITS);
    spec.capacity = UINT64_C(1) << 28;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(log2((double)plan.cells) + plan.fingerprint_bits <= 60);
}

static const uint64_t TRIP_KEYS[] = {1, 2, 3, 7, 10, 33, 100, 777, 1000, 12345, 100000, 1000000, 100000000};
static const double TRIP_RATES[] = {.3, .1, .03, .01, .001, 1e-4, 1e-6, 1e-9};

TEST(capacity_and_rate_give_bytes_that_give_them_back) {
    for (size_t k = 0; k < kith_filter_kind_count(); k++) {
        const char *kind = kith_filter_kind_at(k)->name;
        for (size_t i = 0; i < LENGTH(TRIP_KEYS); i++) {
            for (size_t j = i % stride(); j < LENGTH(TRIP_RATES); j += stride()) {
                uint64_t n = TRIP_KEYS[i];
                double rate = TRIP_RATES[j];
                if (SIZE_MAX <= UINT32_MAX && n > 50000000) /* more than 2 GiB */
                    continue;
                kith_plan there = plan_for(kind, n, rate, 0);
                kith_plan rates = plan_for(kind, n, 0, there.file_bytes);
                kith_plan keys = plan_for(kind, 0, rate, there.file_bytes);
                /* The bisection ends within 2^-30 in log2 of the rate: one part in 10^9. */
                if (!(rates.rate <= rate * (1 + 1e-9)) || rates.file_bytes > there.file_bytes)
                    CHECK_FAIL("%s, n %" PRIu64 ", rate %g: %" PRIu64 " bytes, and these give rate %g in %" PRIu64,
                               kind, n, rate, there.file_bytes, rates.rate, rates.file_bytes);
                if (keys.capacity < n || keys.file_bytes > there.file_bytes)
                    CHECK_FAIL("%s, n %" PRIu64 ", rate %g: %" PRIu64 " bytes, and these give %" PRIu64 " in %" PRIu64,
                               kind, n, rate, there.file_bytes, keys.capacity, keys.file_bytes);
            }
        }
    }
}

TEST(more_keys_or_a_lower_rate_never_need_fewer_bytes) {
    for (size_t k = 0; k < kith_filter_kind_count(); k++) {
        const char *kind = kith_filter_kind_at(k)->name;
        for (size_t j = 0; j < LENGTH(TRIP_RATES); j += stride()) {
            uint64_t last = 0;
            for (uint64_t n = 1; n < UINT64_C(20000000); n += n / 37 + 1) {
                kith_plan plan = plan_for(kind, n, TRIP_RATES[j], 0);
                if (plan.file_bytes < last)
                    CHECK_FAIL("%s, rate %g: %" PRIu64 " bytes at n %" PRIu64 ", and %" PRIu64 " before", kind,
                               TRIP_RATES[j], plan.file_bytes, n, last);
                last = plan.file_bytes;
            }
        }
        for (size_t i = 0; i < LENGTH(TRIP_KEYS); i += stride()) {
            uint64_t last = 0;
            for (double rate = .9; rate > 1e-9; rate *= .93) {
                kith_plan plan = plan_for(kind, TRIP_KEYS[i], rate, 0);
                if (plan.file_bytes < last)
                    CHECK_FAIL("%s, n %" PRIu64 ": %" PRIu64 " bytes at rate %g, and %" PRIu64 " before", kind,
                               TRIP_KEYS[i], plan.file_bytes, rate, last);
                last = plan.file_bytes;
            }
        }
    }
}

/* Whichever two quantities are given, the filter has the bytes of the plan, can be opened again, and accepts its
 * keys. */
/* A filter with n random keys: added, or built if its kind is static. */
static kith_filter *filter_with(const kith_filter_spec *spec, const kith_plan *plan, uint64_t seed, size_t n) {
    kith_filter *filter = NULL;
    kithi_prng prng = {seed};
    uint64_t *digests = malloc(n * sizeof *digests);
    CHECK(digests != NULL);
    for (size_t i = 0; i < n; i++)
        digests[i] = kithi_prng_next(&prng);
    if ((plan->capabilities & KITH_CAN_ADD) != 0) {
        CHECK_OK(kith_filter_create(spec, &filter));
        CHECK_OK(kith_filter_add_many(filter, digests, n, NULL, NULL));
    } else {
        CHECK_OK(kith_filter_build(spec, digests, n, KITH_BUILD_SET, 1, &filter));
    }
    free(digests);
    return filter;
}

TEST(every_planned_filter_can_be_created_filled_and_opened) {
    static const struct {
        uint64_t capacity;
        double rate;
        uint64_t bytes;
    } ASKED[] = {{1000, .01, 0}, {1000, 0, 4000}, {0, .01, 4000}, {1, .5, 0}, {3, 0, 1500}, {0, .2, 900}};
    collect_variants();
    for (size_t v = 0; v < variant_count; v++) {
        for (size_t i = 0; i < LENGTH(ASKED); i++) {
            kith_filter_spec spec = spec_of(variants[v].kind, variants[v].options);
            kith_plan plan;
            kith_filter *filter, *view;
            const void *bytes;
            size_t byte_count;
            spec.capacity = ASKED[i].capacity;
            spec.rate = ASKED[i].rate;
            spec.bytes = ASKED[i].bytes;
            if (spec.bytes != 0 && !variants[v].is_default && v % stride() != 0)
                continue;
            if (plan_of(&spec, &plan) != KITH_OK)
                continue;
            uint64_t n = plan.failure < 1e-6 ? plan.capacity : 1;
            filter = filter_with(&spec, &plan, i, n <= 100000 ? (size_t)n : 100);
            CHECK_EQ_U64(kith_filter_capacity(filter), plan.capacity);
            kith_plan after = KITH_PLAN_INIT;
            CHECK_OK(kith_filter_plan_of(filter, &after));
            CHECK_EQ_U64(after.file_bytes, plan.file_bytes);
            CHECK(after.rate == plan.rate && after.expected_rate == plan.expected_rate);
            CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
            CHECK_EQ_U64(byte_count, plan.file_bytes);
            kith_status status = kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view);
            if (status != KITH_OK)
                CHECK_FAIL("%s %s, n %" PRIu64 ", rate %g, bytes %" PRIu64 ": what was made opens with %s",
                           variants[v].kind, variants[v].options, spec.capacity, spec.rate, spec.bytes,
                           kith_status_name(status));
            kith_filter_free(view);
            kith_filter_free(filter);
        }
    }
}

TEST(without_a_kind_the_smallest_suitable_one_is_chosen) {
    static const uint32_t NEEDS[] = {0,
                                     KITH_CAN_REMOVE,
                                     KITH_CAN_COPIES | KITH_CAN_ANY_ORDER,
                                     KITH_CAN_SHARE,
                                     KITH_CAN_GROW,
                                     KITH_CAN_INTERSECT,
                                     KITH_CAN_REMOVE | KITH_CAN_MERGE};
    static const double RATES[] = {.1, .01, .001, 1e-5};
    for (size_t i = 0; i < LENGTH(NEEDS); i++) {
        for (size_t j = 0; j < LENGTH(RATES); j++) {
            kith_filter_spec spec = spec_of(NULL, NULL);
            kith_plan best, one;
            spec.needs = NEEDS[i];
            spec.capacity = 1000000;
            spec.rate = RATES[j];
            CHECK_OK(plan_of(&spec, &best));
            CHECK((best.capabilities & NEEDS[i]) == NEEDS[i]);
            for (size_t k = 0; k < kith_filter_kind_count(); k++) {
                spec.kind = kith_filter_kind_at(k)->name;
                bool alone = plan_of(&spec, &one) == KITH_OK && strcmp(one.kind, spec.kind) == 0;
                if (alone && (one.capabilities & KITH_CAN_ADD) != 0)
                    CHECK(best.file_bytes <= one.file_bytes);
            }
        }
    }
    kith_filter_spec spec = spec_of(NULL, NULL);
    kith_plan plan;
    spec.capacity = 1000000;
    spec.rate = .001;
    spec.final = true;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(strcmp(plan.kind, "ribbon") == 0);
    spec.needs = KITH_CAN_ADD;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK((plan.capabilities & KITH_CAN_ADD) != 0);
    spec.final = false;
    spec.needs = KITH_CAN_REMOVE;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(strcmp(plan.kind, "overlap") == 0);
    spec.needs = KITH_CAN_REMOVE | KITH_CAN_ANY_ORDER;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(strcmp(plan.kind, "counting") == 0);
    spec.needs = KITH_CAN_GROW;
    CHECK_OK(plan_of(&spec, &plan));
    CHECK(strcmp(plan.kind, "layers") == 0);
}

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The header promises microseconds, and some milliseconds if bytes are given. The test allows a hundred times that for
 * sanitizers and slow machines, so it fails only for the wrong order of magnitude. */
TEST(planning_takes_microseconds_or_milliseconds_if_bytes_are_given) {
    collect_variants();
    for (size_t v = 0; v < variant_count; v += check_soak() ? 1 : 2) {
        for (size_t i = 0; i < 3; i++) {
            kith_filter_spec spec = spec_of(variants[v].kind, variants[v].options);
            kith_plan plan;
            spec.capacity = i == 2 ? 0 : 1000000;
            spec.rate = i == 1 ? 0 : .001;
            spec.bytes = i == 0 ? 0 : 2000000;
            double from = seconds();
            (void)plan_of(&spec, &plan);
            double took = seconds() - from;
            if (took > (i == 0 ? .05 : 1) * (UNDER_SANITIZER ? 10 : 1))
                CHECK_FAIL("%s %s, direction %zu: %g seconds", variants[v].kind, variants[v].options, i, took);
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
