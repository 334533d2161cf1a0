/* Tests of layers: filters grow to ten layers and more, with every inner kind, and at each step the rate must be kept
 * and no key lost. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <math.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/kind.h"
#include "folder.h"
#include "unit/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { FIRST = 1000, LAYERS = 10, KEYS_MAX = 1100000, PROBES = UNDER_SANITIZER ? 20000 : 200000, BATCH = 4096 };
#define RATE .01

static const char *const INNER[] = {"blocked", "bloom", "overlap", "cuckoo", "counting", "blocked_counting"};

static uint64_t keys[KEYS_MAX];
static uint64_t probes[PROBES];

static void draw(uint64_t seed) {
    kithi_prng prng = {seed};
    for (size_t i = 0; i < KEYS_MAX; i++)
        keys[i] = kithi_prng_next(&prng);
    for (size_t i = 0; i < PROBES; i++)
        probes[i] = kithi_prng_next(&prng);
}

static kith_filter *new_layers(const char *inner, unsigned growth, uint64_t capacity, double rate,
                               const kith_allocator *allocator) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    char options[64];
    (void)snprintf(options, sizeof options, "inner=%s growth=%u", inner, growth);
    spec.kind = "layers";
    spec.options = options;
    spec.capacity = capacity;
    spec.rate = rate;
    spec.allocator = allocator;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

static unsigned layers_of(const kith_filter *filter) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(filter, &stats));
    return stats.layers;
}

/* Adds keys from *at on until the filter is as full as possible without growing. */
static void fill_up(kith_filter *filter, size_t *at) {
    while (kith_filter_count(filter) < kith_filter_capacity(filter)) {
        uint64_t left = kith_filter_capacity(filter) - kith_filter_count(filter);
        size_t n = left < BATCH ? (size_t)left : BATCH;
        CHECK(*at + n <= KEYS_MAX);
        CHECK_OK(kith_filter_add_many(filter, &keys[*at], n, NULL, NULL));
        *at += n;
    }
}

/* Returns a sealed copy of the bytes. */
static uint8_t *copy_bytes(kith_filter *filter, size_t *byte_count) {
    const void *bytes;
    CHECK_OK(kith_filter_bytes(filter, &bytes, byte_count));
    uint8_t *copy = malloc(*byte_count);
    CHECK(copy != NULL);
    memcpy(copy, bytes, *byte_count);
    return copy;
}

static bool has_bytes(kith_filter *filter, const uint8_t *want, size_t want_bytes) {
    const void *bytes;
    size_t byte_count;
    return kith_filter_bytes(filter, &bytes, &byte_count) == KITH_OK && byte_count == want_bytes &&
           memcmp(bytes, want, byte_count) == 0;
}

TEST(the_rate_is_kept_and_no_key_lost_at_each_of_ten_layers_from_1000_to_a_million_keys) {
    unsigned layers = UNDER_SANITIZER ? 7 : LAYERS; /* 127,000 keys */
    draw(1);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, NULL);
        size_t at = 0;
        double worst = 0;
        for (unsigned layer = 1; layer <= layers; layer++) {
            fill_up(filter, &at);
            CHECK_EQ_U64(layers_of(filter), layer);
            CHECK_EQ_U64(kith_filter_capacity(filter), FIRST * ((UINT64_C(1) << layer) - 1));
            CHECK_EQ_U64(kith_filter_has_many(filter, keys, at, NULL), at);
            double measured = (double)kith_filter_has_many(filter, probes, PROBES, NULL) / PROBES;
            /* Four standard deviations of the number of false positives. */
            double bound = RATE + 4 * sqrt(RATE / PROBES);
            if (!(measured <= bound))
                CHECK_FAIL("%s, %u layers: rate %.5f, promised %.5f", INNER[k], layer, measured, RATE);
            worst = fmax(worst, measured);
            kith_filter_stats stats = KITH_FILTER_STATS_INIT;
            CHECK_OK(kith_filter_stats_of(filter, &stats));
            CHECK(stats.rate == RATE && stats.rate_now <= RATE * 1.05);
            CHECK(fabs(stats.rate_now - measured) <= 6 * sqrt(RATE / PROBES));
            CHECK(stats.count == kith_filter_count(filter) && fabs(stats.keys_now / (double)stats.count - 1) < .1);
            if (layer < layers) { /* the next key makes the filter grow */
                while (kith_filter_capacity(filter) == kith_filter_count(filter)) {
                    CHECK(at < KEYS_MAX);
                    CHECK_OK(kith_filter_add_many(filter, &keys[at++], 1, NULL, NULL));
                }
            }
        }
        CHECK(kith_filter_count(filter) >= (UNDER_SANITIZER ? 120000 : 1000000));
        CHECK_OK(kith_filter_check(filter, NULL));
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(filter, &stats));
        printf("layers of %-8s  %u layers, %" PRIu64 " keys, %.1f bits per key, worst measured rate %.3f%% of %.1f%%\n",
               INNER[k], stats.layers, stats.count, (double)stats.file_bytes * 8 / (double)stats.count, 100 * worst,
               100 * RATE);
        CHECK(worst > .1 * RATE); /* overlap keeps a lower rate than requested: see its file header */
        kith_filter_free(filter);
    }
}

TEST(a_growth_of_1_gives_64_layers_and_then_the_filter_is_full) {
    enum { SEEDS = 20, EACH = PROBES / SEEDS };
    draw(2);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        double yes = 0;
        for (size_t seed = 0; seed < SEEDS; seed++) {
            kith_filter *filter = new_layers(INNER[k], 1, 10, .1, NULL);
            const uint64_t *own = &keys[seed * 2000];
            size_t at = 0;
            kith_status status = KITH_OK;
            while (status == KITH_OK && at < 2000)
                status = kith_filter_add_many(filter, &own[at++], 1, NULL, NULL);
            CHECK_STATUS(status, KITH_E_FULL);
            CHECK_EQ_U64(layers_of(filter), 64);
            CHECK_EQ_U64(kith_filter_count(filter), 640);
            CHECK_EQ_U64(kith_filter_has_many(filter, own, at - 1, NULL), at - 1);
            CHECK_OK(kith_filter_check(filter, NULL));
            yes += (double)kith_filter_has_many(filter, probes, EACH, NULL);
            kith_filter_free(filter);
        }
        /* Filters of ten keys vary by about a third, the mean of twenty by 8%; the bound is three times that. */
        double measured = yes / (SEEDS * EACH);
        if (!(measured <= .1 * 1.25))
            CHECK_FAIL("%s: rate %.4f, promised 0.1", INNER[k], measured);
    }
}

static bool removes(const char *inner) {
    return strcmp(inner, "blocked") != 0 && strcmp(inner, "bloom") != 0;
}

TEST(only_a_key_that_a_single_layer_may_hold_can_be_removed) {
    draw(3);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        enum { KEYS = 6500 };
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, 1e-4, NULL);
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
        CHECK_EQ_U64(layers_of(filter), 3);
        if (!removes(INNER[k])) {
            CHECK_STATUS(kith_filter_remove(filter, "x", 1), KITH_E_UNSUPPORTED);
            kith_filter_free(filter);
            continue;
        }
        size_t byte_count, removed = 0, ambiguous = 0;
        CHECK_OK(kith_filter_add_many(filter, &keys[0], 1, NULL, NULL)); /* in the first layer, now also in the third */
        CHECK_EQ_U64(kith_filter_count(filter), KEYS + 1);
        uint8_t *before = copy_bytes(filter, &byte_count);
        CHECK_STATUS(kith_filter_remove_many(filter, &keys[0], 1, NULL), KITH_E_AMBIGUOUS);
        CHECK_EQ_U64(kith_filter_count(filter), KEYS + 1);
        CHECK(has_bytes(filter, before, byte_count));
        uint64_t absent = keys[KEYS];
        for (size_t i = KEYS; kith_filter_has_digest(filter, absent); i++)
            absent = keys[i];
        CHECK_STATUS(kith_filter_remove_many(filter, &absent, 1, NULL), KITH_E_ABSENT);
        CHECK(has_bytes(filter, before, byte_count));
        free(before);

        for (size_t i = 1; i < KEYS; i += 2) {
            uint64_t count = kith_filter_count(filter);
            kith_status status = kith_filter_remove_many(filter, &keys[i], 1, NULL);
            CHECK(status == KITH_OK || status == KITH_E_AMBIGUOUS);
            CHECK_EQ_U64(kith_filter_count(filter), count - (status == KITH_OK));
            removed += status == KITH_OK;
            ambiguous += status == KITH_E_AMBIGUOUS;
        }
        CHECK(removed + ambiguous == KEYS / 2 && ambiguous <= 5); /* 3250 keys at 10^-4 */
        for (size_t i = 0; i < KEYS; i += 2)
            CHECK(kith_filter_has_digest(filter, keys[i]));
        uint64_t gone = 0;
        for (size_t i = 1; i < KEYS; i += 2)
            gone += !kith_filter_has_digest(filter, keys[i]);
        CHECK(gone + ambiguous + 5 >= removed);
        CHECK_OK(kith_filter_check(filter, NULL));
        kith_filter_free(filter);
    }
}

TEST(a_grown_filter_can_be_saved_opened_copied_and_grown_further) {
    struct folder folder = fresh_folder();
    draw(4);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        enum { KEYS = 20000, MORE = 60000 };
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, NULL), *mapped, *copy;
        const char *path = in(&folder, INNER[k]);
        size_t byte_count;
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
        CHECK_OK(kith_filter_save(filter, path));
        uint8_t *bytes = copy_bytes(filter, &byte_count);
        CHECK_OK(kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &mapped));
        CHECK_EQ_U64(layers_of(mapped), layers_of(filter));
        CHECK_EQ_U64(kith_filter_count(mapped), kith_filter_count(filter));
        CHECK_EQ_U64(kith_filter_capacity(mapped), kith_filter_capacity(filter));
        CHECK_EQ_U64(kith_filter_has_many(mapped, keys, KEYS, NULL), KEYS);
        CHECK(has_bytes(mapped, bytes, byte_count));
        CHECK_STATUS(kith_filter_add_many(mapped, &keys[KEYS], 1, NULL, NULL), KITH_E_READONLY);
        CHECK_OK(kith_filter_open(path, KITH_OPEN_COPY, NULL, &copy));
        CHECK(has_bytes(copy, bytes, byte_count));
        free(bytes);

        /* The same keys are added to the copy and to the original that was never saved: the bytes are equal. */
        CHECK_OK(kith_filter_add_many(filter, &keys[KEYS], MORE, NULL, NULL));
        CHECK_OK(kith_filter_add_many(copy, &keys[KEYS], MORE, NULL, NULL));
        CHECK(layers_of(copy) > layers_of(mapped));
        CHECK_EQ_U64(kith_filter_has_many(copy, keys, KEYS + MORE, NULL), KEYS + MORE);
        bytes = copy_bytes(filter, &byte_count);
        CHECK(has_bytes(copy, bytes, byte_count));
        free(bytes);
        CHECK_OK(kith_filter_check(copy, NULL));
        kith_filter_free(filter);
        kith_filter_free(mapped);
        kith_filter_free(copy);
    }
    remove_folder(&folder);
}

TEST(a_clone_of_a_grown_filter_includes_unsealed_changes) {
    draw(5);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        enum { KEYS = 5000, MORE = 9000 };
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, NULL), *clone, *second;
        size_t byte_count;
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
        free(copy_bytes(filter, &byte_count));                                        /* sealed here … */
        CHECK_OK(kith_filter_add_many(filter, &keys[KEYS], MORE - KEYS, NULL, NULL)); /* … and not here */
        CHECK_OK(kith_filter_clone(filter, NULL, &clone));
        CHECK_EQ_U64(kith_filter_count(clone), kith_filter_count(filter));
        CHECK_EQ_U64(kith_filter_has_many(clone, keys, MORE, NULL), MORE);
        CHECK_OK(kith_filter_check(clone, NULL));
        CHECK_OK(kith_filter_clone(clone, NULL, &second));
        uint8_t *bytes = copy_bytes(filter, &byte_count);
        CHECK(has_bytes(clone, bytes, byte_count) && has_bytes(second, bytes, byte_count));
        kith_filter *view;
        CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view));
        kith_filter_free(view);
        free(bytes);
        /* They are independent. */
        CHECK_OK(kith_filter_add_many(clone, &keys[MORE], 3 * MORE, NULL, NULL));
        CHECK(layers_of(clone) > layers_of(filter));
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, MORE, NULL), MORE);
        kith_filter_free(filter);
        CHECK_EQ_U64(kith_filter_has_many(clone, keys, 4 * MORE, NULL), 4 * MORE);
        kith_filter_free(clone);
        CHECK_EQ_U64(kith_filter_has_many(second, keys, MORE, NULL), MORE);
        kith_filter_free(second);
    }
}

TEST(create_like_and_clear_of_a_grown_filter_give_one_layer) {
    draw(6);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        enum { KEYS = 9000 };
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, NULL), *like;
        kith_filter *fresh = new_layers(INNER[k], 2, FIRST, RATE, NULL);
        size_t byte_count;
        uint8_t *empty = copy_bytes(fresh, &byte_count);
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
        CHECK_OK(kith_filter_create_like(filter, NULL, &like));
        CHECK(has_bytes(like, empty, byte_count));
        CHECK_OK(kith_filter_clear(filter));
        CHECK(has_bytes(filter, empty, byte_count));
        CHECK_EQ_U64(layers_of(filter), 1);
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, KEYS, NULL), KEYS);
        free(empty);
        kith_filter_free(fresh);
        kith_filter_free(like);
        kith_filter_free(filter);
    }
}

TEST(growth_without_memory_changes_nothing) {
    draw(7);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *filter = new_layers(INNER[k], 2, 100, RATE, &allocator);
        size_t at = 0, failed = 0;
        for (unsigned layer = 1; layer <= 4; layer++) {
            fill_up(filter, &at);
            while (kith_filter_has_digest(filter, keys[at])) /* adding a false positive needs no memory */
                at++;
            size_t byte_count;
            uint8_t *before = copy_bytes(filter, &byte_count); /* joins the layers */
            uint64_t live_blocks = memory.live_blocks, live_bytes = memory.live_bytes;
            kith_status status = KITH_E_MEMORY;
            for (uint64_t n = 1; status == KITH_E_MEMORY; n++) {
                memory.fail_at = memory.calls + n;
                status = kith_filter_add_many(filter, &keys[at], 1, NULL, NULL);
                memory.fail_at = 0;
                if (status != KITH_E_MEMORY)
                    break;
                failed++;
                CHECK(memory.live_blocks == live_blocks && memory.live_bytes == live_bytes);
                CHECK_EQ_U64(layers_of(filter), layer);
                CHECK_EQ_U64(kith_filter_count(filter), kith_filter_capacity(filter));
                CHECK(has_bytes(filter, before, byte_count));
                CHECK_EQ_U64(kith_filter_has_many(filter, keys, at, NULL), at);
            }
            CHECK_OK(status);
            at++;
            free(before);
            CHECK_EQ_U64(layers_of(filter), layer + 1);
            CHECK_OK(kith_filter_check(filter, NULL));
        }
        CHECK(failed >= 8); /* at least two allocations in each of four growths */
        kith_filter_free(filter);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    }
}

/* How often one key can be stored at most. Cuckoo kinds store more than max_copies if a stash has space for them. */
static uint64_t most_copies(const kith_plan *plan) {
    return plan->fingerprint_bits != 0 ? 2 * plan->max_copies + 64 : plan->max_copies;
}

TEST(adding_one_key_repeatedly_does_not_grow_the_filter_forever) {
    draw(8);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        for (unsigned full = 0; full < 2; full++) {
            kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, NULL);
            size_t at = 0;
            if (full)
                fill_up(filter, &at); /* the first copy already needs a second layer */
            else
                CHECK_OK(kith_filter_add_many(filter, keys, 500, NULL, NULL));
            kith_plan plan = KITH_PLAN_INIT;
            CHECK_OK(kith_filter_plan_of(filter, &plan));
            uint64_t key = keys[KEYS_MAX - 1], went_in = 0;
            bool in_before = kith_filter_has_digest(filter, key);
            uint64_t repeats = check_soak() ? 1000000 : 20000;
            for (uint64_t i = 0; i < repeats; i++) {
                kith_status status = kith_filter_add_many(filter, &key, 1, NULL, NULL);
                if ((plan.capabilities & KITH_CAN_COPIES) == 0)
                    CHECK_OK(status);
                else
                    CHECK(in_before || status == (i < plan.max_copies ? KITH_OK : KITH_E_COPIES) ||
                          (plan.fingerprint_bits != 0 && i < most_copies(&plan)));
                went_in += status == KITH_OK;
            }
            CHECK_EQ_U64(layers_of(filter), full && !in_before ? 2 : 1);
            CHECK(kith_filter_has_digest(filter, key));
            if ((plan.capabilities & KITH_CAN_COPIES) != 0)
                CHECK(went_in <= most_copies(&plan));
            CHECK_EQ_U64(kith_filter_has_many(filter, keys, full ? at : 500, NULL), full ? at : 500);
            CHECK_OK(kith_filter_check(filter, NULL));
            kith_filter_free(filter);
        }
    }
}

/* However small the layers are, adding copies of one key returns KITH_E_COPIES before the layers run out. */
TEST(adding_one_key_repeatedly_to_layers_of_one_key_returns_copies_not_full) {
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        if (!removes(INNER[k]))
            continue;
        for (unsigned growth = 1; growth <= 2; growth++) {
            kith_filter *filter = new_layers(INNER[k], growth, 1, RATE, NULL);
            kith_status status = KITH_OK;
            for (unsigned i = 0; i < 10000 && status == KITH_OK; i++)
                status = kith_filter_add(filter, "again", 5, NULL);
            if (status != KITH_E_COPIES)
                CHECK_FAIL("%s, growth %u: %s after %u layers", INNER[k], growth, kith_status_name(status),
                           layers_of(filter));
            kith_filter_free(filter);
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
