/* Tests of layers and memory: growth respects a limit, and a file cannot make a small filter grow into a huge one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <math.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "plan/planner.h"
#include "unit/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { FIRST = 1000, KEYS_MAX = 400000, DIRECTORY_BYTES = 512 };
enum { INNER_KIND, GROWTH, LAYERS, FIRST_CAPACITY }; /* parameters of layers */
#define RATE .01
#define SCRATCH_BYTES (UINT64_C(256) << 10) /* handles, and memory for the search of cuckoo kinds */

static const char *const INNER[] = {"blocked", "bloom", "overlap", "cuckoo", "counting", "blocked_counting"};

static uint64_t keys[KEYS_MAX];

static void draw(uint64_t seed) {
    kithi_prng prng = {seed};
    for (size_t i = 0; i < KEYS_MAX; i++)
        keys[i] = kithi_prng_next(&prng);
}

static kith_filter *new_layers(const char *inner, unsigned growth, uint64_t capacity, double rate, uint64_t max_bytes,
                               const kith_allocator *allocator) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    char options[64];
    (void)snprintf(options, sizeof options, "inner=%s growth=%u", inner, growth);
    spec.kind = "layers";
    spec.options = options;
    spec.capacity = capacity;
    spec.rate = rate;
    spec.max_bytes = max_bytes;
    spec.allocator = allocator;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

static kith_filter_stats stats_of(const kith_filter *filter) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(filter, &stats));
    return stats;
}

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

/* ---- the limit ---- */

/* Adds keys until growth is refused, and returns the number of added keys. */
static size_t add_until_refused(kith_filter *filter, size_t from) {
    size_t done = 0;
    CHECK_STATUS(kith_filter_add_many(filter, &keys[from], KEYS_MAX - from, NULL, &done), KITH_E_TOO_LARGE);
    return from + done;
}

TEST(growth_beyond_the_limit_is_refused_and_changes_nothing) {
    draw(1);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        uint64_t limit = 300000;
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, 0, &allocator);
        kith_filter_set_limit(filter, limit);
        size_t done = add_until_refused(filter, 0), byte_count;
        CHECK(done > FIRST && stats_of(filter).layers > 1);
        CHECK(memory.peak_bytes <= limit + SCRATCH_BYTES);
        CHECK(stats_of(filter).file_bytes < limit);
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, done, NULL), done);
        CHECK_OK(kith_filter_check(filter, NULL));
        /* The refused key is refused again, alone and in a batch, and nothing changes. */
        uint8_t *before = copy_bytes(filter, &byte_count);
        size_t none = 7;
        uint64_t was_new = 7;
        CHECK_STATUS(kith_filter_add_digest(filter, keys[done], NULL), KITH_E_TOO_LARGE);
        CHECK_STATUS(kith_filter_add_many(filter, &keys[done], 1, &was_new, &none), KITH_E_TOO_LARGE);
        CHECK(none == 0 && was_new == 0);
        CHECK(has_bytes(filter, before, byte_count));
        free(before);
        /* With a higher limit it continues to grow from that key. */
        kith_filter_set_limit(filter, 3 * limit);
        CHECK_OK(kith_filter_add_digest(filter, keys[done], NULL));
        size_t more = add_until_refused(filter, done + 1);
        CHECK(more > done + 1);
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, more, NULL), more);
        kith_filter_set_limit(filter, 0);
        CHECK_OK(kith_filter_add_digest(filter, keys[more], NULL));
        CHECK_OK(kith_filter_check(filter, NULL));
        kith_filter_free(filter);
        CHECK(memory.live_blocks == 0);
    }
}

TEST(the_limit_of_the_spec_holds_for_growth_too) {
    draw(2);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *limited = new_layers(INNER[k], 2, FIRST, RATE, 300000, NULL);
        kith_filter *same = new_layers(INNER[k], 2, FIRST, RATE, 0, NULL);
        kith_filter_set_limit(same, 300000);
        size_t done = add_until_refused(limited, 0), byte_count;
        CHECK_EQ_U64(add_until_refused(same, 0), done);
        uint8_t *bytes = copy_bytes(same, &byte_count);
        CHECK(has_bytes(limited, bytes, byte_count)); /* the limit is not in the bytes */
        free(bytes);
        kith_filter_free(limited);
        kith_filter_free(same);
    }
}

TEST(a_limit_is_exact_to_the_byte) {
    draw(3);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *one = new_layers(INNER[k], 2, FIRST, RATE, 0, NULL), *two;
        size_t done = 0;
        kith_filter_set_limit(one, 1);
        CHECK_STATUS(kith_filter_add_many(one, keys, KEYS_MAX, NULL, &done), KITH_E_TOO_LARGE);
        CHECK_OK(kith_filter_clone(one, NULL, &two)); /* the clone has the limit, too */
        CHECK_STATUS(kith_filter_add_digest(two, keys[done], NULL), KITH_E_TOO_LARGE);
        kith_filter_set_limit(two, 0);
        CHECK_OK(kith_filter_add_digest(two, keys[done], NULL));
        uint64_t grown_bytes = stats_of(two).file_bytes;
        kith_filter_set_limit(one, grown_bytes - 1);
        CHECK_STATUS(kith_filter_add_digest(one, keys[done], NULL), KITH_E_TOO_LARGE);
        kith_filter_set_limit(one, grown_bytes);
        CHECK_OK(kith_filter_add_digest(one, keys[done], NULL));
        kith_filter_free(one);
        kith_filter_free(two);
    }
}

TEST(a_limited_filter_can_be_cleared_and_create_like_keeps_the_limit) {
    draw(4);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *filter = new_layers(INNER[k], 2, FIRST, RATE, 0, NULL), *like;
        uint64_t first_bytes = stats_of(filter).file_bytes;
        size_t byte_count, done;
        uint8_t *empty = copy_bytes(filter, &byte_count);
        /* With one layer, no second block is needed. */
        kith_filter_set_limit(filter, first_bytes);
        done = add_until_refused(filter, 0);
        CHECK_OK(kith_filter_clear(filter));
        CHECK(has_bytes(filter, empty, byte_count));
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, done, NULL), 0);
        /* Grown under a limit: there is space for only the first layer in addition. */
        kith_filter_set_limit(filter, 20 * first_bytes);
        done = add_until_refused(filter, 0);
        CHECK(stats_of(filter).layers > 1);
        CHECK_OK(kith_filter_create_like(filter, NULL, &like));
        CHECK_EQ_U64(add_until_refused(like, 0), done);
        kith_filter_free(like);
        CHECK_OK(kith_filter_clear(filter));
        CHECK(has_bytes(filter, empty, byte_count));
        CHECK_EQ_U64(add_until_refused(filter, 0), done); /* the limit is still there */
        /* A limit that leaves no space for the first layer. */
        uint8_t *before = copy_bytes(filter, &byte_count);
        kith_filter_set_limit(filter, first_bytes - 1);
        CHECK_STATUS(kith_filter_clear(filter), KITH_E_TOO_LARGE);
        CHECK(has_bytes(filter, before, byte_count));
        like = NULL;
        CHECK_STATUS(kith_filter_create_like(filter, NULL, &like), KITH_E_TOO_LARGE);
        CHECK(like == NULL);
        free(before);
        free(empty);
        kith_filter_free(filter);
    }
}

TEST(a_build_keeps_to_the_limit) {
    draw(5);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_filter *filter = NULL;
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        char options[64];
        (void)snprintf(options, sizeof options, "inner=%s", INNER[k]);
        spec.kind = "layers";
        spec.options = options;
        spec.capacity = FIRST;
        spec.rate = RATE;
        spec.max_bytes = 300000;
        spec.allocator = &allocator;
        CHECK_STATUS(kith_filter_build(&spec, keys, KEYS_MAX, 0, 1, &filter), KITH_E_TOO_LARGE);
        CHECK(filter == NULL && memory.live_blocks == 0);
        CHECK_OK(kith_filter_build(&spec, keys, 2 * FIRST, 0, 1, &filter));
        kith_filter_free(filter);
    }
}

/* ---- forged files ---- */

typedef struct forgery {
    uint8_t *bytes;
    size_t byte_count;
    kithi_head outer, *layers; /* the original headers, to be changed */
    unsigned count;
} forgery;

static uint8_t *layer_block(const forgery *f, unsigned i) {
    const uint8_t *directory = f->bytes + KITHI_HEADER_BYTES;
    uint64_t at = DIRECTORY_BYTES;
    for (unsigned j = 0; j < i; j++)
        at += (kithi_load64(directory + (size_t)8 * j) + 63) / 64 * 64;
    return f->bytes + KITHI_HEADER_BYTES + at;
}

static forgery forgery_of(kith_filter *filter) {
    forgery f = {.outer = filter->head, .count = stats_of(filter).layers};
    f.bytes = copy_bytes(filter, &f.byte_count);
    f.layers = calloc(f.count, sizeof *f.layers);
    CHECK(f.layers != NULL);
    for (unsigned i = 0; i < f.count; i++) {
        const uint8_t *block = layer_block(&f, i);
        CHECK_OK(kithi_header_read(block, f.byte_count - (size_t)(block - f.bytes), &f.layers[i]));
    }
    return f;
}

/* Seals the inner blocks, then the outer one, as the author of a file can do, and returns the status of opening it. */
static kith_status opens(forgery *f, unsigned flags) {
    uint64_t capacity = 0;
    for (unsigned i = 0; i < f->count; i++) {
        kithi_block_seal(layer_block(f, i), &f->layers[i]);
        capacity += f->layers[i].capacity;
    }
    f->outer.capacity = capacity;
    f->outer.params[FIRST_CAPACITY] = f->layers[0].capacity;
    kithi_block_seal(f->bytes, &f->outer);
    kith_filter *filter = NULL;
    kith_status status = kith_filter_view(f->bytes, f->byte_count, flags, NULL, &filter);
    CHECK((status == KITH_OK) == (filter != NULL));
    kith_filter_free(filter);
    return status;
}

static void check_opens(forgery *f, kith_status want) {
    static const unsigned FLAGS[] = {KITH_OPEN_DEFAULT, KITH_OPEN_COPY, KITH_OPEN_LAZY,
                                     KITH_OPEN_LAZY | KITH_OPEN_COPY};
    for (size_t i = 0; i < LENGTH(FLAGS); i++)
        CHECK_STATUS(opens(f, FLAGS[i]), want);
}

static void forgery_free(forgery *f) {
    free(f->bytes);
    free(f->layers);
}

/* Returns how many keys a body of this many bytes may claim to hold at this rate. */
static uint64_t capacity_allowed(const kithi_head *head) {
    return (uint64_t)floor((double)head->body_bytes * 8 / 0.9 / -log2(head->rate));
}

TEST(a_layer_that_is_far_too_small_for_its_capacity_is_refused) {
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *filter = new_layers(INNER[k], 2, 100, RATE, 0, NULL);
        forgery f = forgery_of(filter);
        check_opens(&f, KITH_OK);
        static const uint64_t CAPACITIES[] = {UINT64_C(1) << 20, UINT64_C(1) << 30, UINT64_C(1) << 40,
                                              UINT64_C(1) << 62};
        for (size_t i = 0; i < LENGTH(CAPACITIES); i++) {
            f.layers[0].capacity = CAPACITIES[i];
            check_opens(&f, KITH_E_CORRUPT);
        }
        uint64_t allowed = capacity_allowed(&f.layers[0]);
        f.layers[0].capacity = allowed;
        check_opens(&f, KITH_OK);
        f.layers[0].capacity = allowed + 1;
        check_opens(&f, KITH_E_CORRUPT);
        forgery_free(&f);
        kith_filter_free(filter);
    }
}

/* A rate near 1 needs almost no bits, and would let a small layer claim any capacity. */
TEST(a_layer_with_too_high_a_rate_is_refused) {
    draw(6);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *filter = new_layers(INNER[k], 2, 100, RATE, 0, NULL);
        CHECK_OK(kith_filter_add_many(filter, keys, 600, NULL, NULL));
        forgery f = forgery_of(filter);
        CHECK(f.count == 3);
        for (unsigned i = 0; i < f.count; i++) {
            kithi_head honest = f.layers[i];
            check_opens(&f, KITH_OK);
            f.layers[i].rate = honest.rate * 1.001;
            check_opens(&f, KITH_E_CORRUPT);
            f.layers[i].rate = .999999;
            check_opens(&f, KITH_E_CORRUPT);
            f.layers[i] = honest;
        }
        forgery_free(&f);
        kith_filter_free(filter);
    }
}

/* The capacity of the next layer is computed from the number of layers: many tiny ones would make it huge. */
TEST(a_layer_with_the_wrong_capacity_is_refused) {
    draw(7);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *filter = new_layers(INNER[k], 2, 100, RATE, 0, NULL);
        CHECK_OK(kith_filter_add_many(filter, keys, 600, NULL, NULL));
        forgery f = forgery_of(filter);
        for (unsigned i = 1; i < f.count; i++) {
            kithi_head honest = f.layers[i];
            f.layers[i].capacity = honest.capacity - 1;
            check_opens(&f, KITH_E_CORRUPT);
            f.layers[i] = honest;
        }
        check_opens(&f, KITH_OK);
        f.outer.params[GROWTH] = 16;
        check_opens(&f, KITH_E_CORRUPT);
        forgery_free(&f);
        kith_filter_free(filter);
    }
}

/* The most that a forger can do is make the first layer a few bits too small. Neither add nor clear nor create_like
 * then exceeds a limit. */
TEST(a_forged_file_cannot_exceed_the_limit) {
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        kith_filter *filter = new_layers(INNER[k], 16, 2000, RATE, 0, NULL), *opened, *like = NULL;
        forgery f = forgery_of(filter);
        f.layers[0].capacity = capacity_allowed(&f.layers[0]);
        check_opens(&f, KITH_OK);
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        CHECK_OK(kith_filter_view(f.bytes, f.byte_count, KITH_OPEN_COPY, &allocator, &opened));
        kith_filter_set_limit(opened, 2 * f.byte_count);
        kith_status status = KITH_OK;
        for (uint64_t i = 0; i < f.outer.capacity + 1 && status == KITH_OK; i++)
            status = kith_filter_add_digest(opened, keys[i], NULL);
        CHECK_STATUS(status, KITH_E_TOO_LARGE);
        kith_filter_set_limit(opened, f.byte_count / 2);
        CHECK_STATUS(kith_filter_create_like(opened, &allocator, &like), KITH_E_TOO_LARGE);
        CHECK_OK(kith_filter_clear(opened));
        CHECK(memory.peak_bytes <= 2 * f.byte_count + SCRATCH_BYTES);
        kith_filter_free(opened);
        forgery_free(&f);
        kith_filter_free(filter);
    }
}

/* ---- honest layers ---- */

static void check_enough_bits(const char *kind, const kithi_head *head) {
    double bound = 0.9 * (double)head->capacity * -log2(head->rate);
    if (!((double)head->body_bytes * 8 >= bound))
        CHECK_FAIL("%s, capacity %" PRIu64 ", rate %g: %" PRIu64 " bytes of body", kind, head->capacity, head->rate,
                   head->body_bytes);
}

TEST(no_planned_layer_has_fewer_bits_than_a_file_must_have) {
    static const double RATES[] = {.9999999, .999, .99,  .9,    .75,   .6,    .5,    .4,   .3,
                                   .2,       .1,   .05,  .02,   .01,   1e-3,  1e-4,  1e-5, 1e-6,
                                   1e-7,     1e-8, 1e-9, 1e-10, 1e-12, 1e-14, 1e-15, 1e-17};
    unsigned planned = 0;
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        const kithi_kind *kind = kithi_kind_by_name(INNER[k], strlen(INNER[k]));
        uint64_t options[KITHI_OPTIONS_MAX];
        CHECK_OK(kithi_kind_options_read(kind, NULL, options));
        for (size_t r = 0; r < LENGTH(RATES); r++) {
            for (uint64_t capacity = 1; capacity < UINT64_C(1) << 40; capacity += capacity / 3 + 1) {
                kithi_head head;
                kithi_shape shape;
                kithi_request request = {.capacity = capacity, .rate = RATES[r], .options = options};
                if (kithi_plan(kind, &request, &head, &shape) != KITH_OK)
                    continue;
                check_enough_bits(INNER[k], &head);
                planned++;
            }
        }
    }
    CHECK(planned > 5000);
}

static void check_reopens(kith_filter *filter) {
    size_t byte_count;
    uint8_t *bytes = copy_bytes(filter, &byte_count);
    kith_filter *view;
    CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view));
    kith_filter_free(view);
    free(bytes);
}

TEST(layers_of_every_planned_size_can_be_opened) {
    static const double RATES[] = {.999, .9, .5, .1, .01, 1e-4, 1e-6, 1e-9};
    static const uint64_t CAPACITIES[] = {1, 2, 3, 7, 50, 1000};
    static const uint64_t BYTES[] = {1500, 2000, 10000, 100000};
    draw(8);
    for (size_t k = 0; k < LENGTH(INNER); k++) {
        char options[64];
        (void)snprintf(options, sizeof options, "inner=%s growth=1", INNER[k]);
        for (size_t c = 0; c < LENGTH(CAPACITIES); c++) {
            for (size_t r = 0; r < LENGTH(RATES) + LENGTH(BYTES); r++) {
                kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
                kith_filter *filter;
                spec.kind = "layers";
                spec.options = options;
                spec.capacity = CAPACITIES[c];
                spec.max_bytes = 2000000;
                if (r < LENGTH(RATES))
                    spec.rate = RATES[r];
                else
                    spec.bytes = BYTES[r - LENGTH(RATES)];
                if (kith_filter_create(&spec, &filter) != KITH_OK)
                    continue;
                size_t done;
                kith_status status = kith_filter_add_many(filter, keys, 4 * (size_t)CAPACITIES[c], NULL, &done);
                CHECK(status == KITH_OK || status == KITH_E_TOO_LARGE || status == KITH_E_FULL);
                check_reopens(filter);
                kith_filter_free(filter);
            }
        }
        for (size_t b = 0; b < LENGTH(BYTES); b++) {
            for (size_t r = 0; r < LENGTH(RATES); r++) {
                kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
                kith_filter *filter;
                spec.kind = "layers";
                spec.options = options;
                spec.bytes = BYTES[b];
                spec.rate = RATES[r];
                if (kith_filter_create(&spec, &filter) != KITH_OK)
                    continue;
                check_reopens(filter);
                kith_filter_free(filter);
            }
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
