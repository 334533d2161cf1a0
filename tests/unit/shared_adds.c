/* Tests of kith_adder: four threads add to one Bloom filter. Also run under TSan. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/shared/bit_cells.h"
#include "folder.h"
#include "unit/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { THREADS = 4, KEYS = UNDER_SANITIZER ? 20000 : 100000, CHUNK = 100 };

static const struct {
    const char *kind, *options;
} SHARED[] = {
    {"bloom", NULL}, {"bloom", "k=1"}, {"blocked", "lanes=4"}, {"blocked", "lanes=8"}, {"blocked", "lanes=16"}};

static uint64_t keys[KEYS];

static void draw_keys(void) {
    kithi_prng prng = {4};
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = kithi_prng_next(&prng);
}

static kith_filter *new_filter(size_t which, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = SHARED[which].kind;
    spec.options = SHARED[which].options;
    spec.capacity = capacity;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

/* The work and the results of a thread. Threads must not use CHECK: it would jump out of another thread's stack. */
struct work {
    kith_filter *filter;
    uint64_t id;
    size_t from, step; /* keys from, from + step, … */
    bool all;          /* every key, starting at `from` */
    uint64_t accepted, fresh, refused, broken;
};

static void count_result(struct work *w, kith_status status, bool was_new) {
    w->accepted += status == KITH_OK;
    w->fresh += status == KITH_OK && was_new;
    w->refused += status == KITH_E_FULL;
    w->broken += status != KITH_OK && status != KITH_E_FULL;
}

static void add_in_chunks(struct work *w, kith_adder *adder, const uint64_t *digests, size_t n) {
    uint64_t was_new[CHUNK / 64 + 1];
    size_t at = 0;
    while (at < n) {
        size_t done = 0, count = n - at < CHUNK ? n - at : CHUNK;
        kith_status status = kith_adder_add_many(adder, digests + at, count, was_new, &done);
        for (size_t i = 0; i < done; i++)
            count_result(w, KITH_OK, kith_bitmap_get(was_new, i));
        if (status != KITH_OK) {
            count_result(w, status, false);
            done++;
        }
        at += done;
    }
}

static void *add_some(void *context) {
    struct work *w = context;
    kith_adder *adder = NULL;
    if (kith_adder_open(w->filter, &adder) != KITH_OK) {
        w->broken++;
        return NULL;
    }
    if (w->all) {
        add_in_chunks(w, adder, keys + w->from, KEYS - w->from);
        add_in_chunks(w, adder, keys, w->from);
    } else {
        for (size_t i = w->from; i < KEYS; i += w->step)
            add_in_chunks(w, adder, &keys[i], 1);
    }
    /* The call for a single key: each thread adds a different key, twice. */
    for (unsigned twice = 0; twice < 2; twice++) {
        bool was_new = false;
        uint64_t key[2] = {w->id, 0};
        kith_status status = kith_adder_add(adder, key, sizeof key, &was_new);
        w->broken += status != KITH_OK && status != KITH_E_FULL;
        w->broken += twice == 1 && was_new;
    }
    kith_adder_close(adder);
    return NULL;
}

static struct work run(kith_filter *filter, bool all) {
    pthread_t threads[THREADS];
    struct work work[THREADS], sum = {0};
    for (size_t i = 0; i < THREADS; i++) {
        work[i] = (struct work){filter, i, all ? i * (KEYS / THREADS) : i, THREADS, all, 0, 0, 0, 0};
        CHECK(pthread_create(&threads[i], NULL, add_some, &work[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        sum.accepted += work[i].accepted;
        sum.fresh += work[i].fresh;
        sum.refused += work[i].refused;
        sum.broken += work[i].broken;
    }
    CHECK_EQ_U64(sum.broken, 0);
    return sum;
}

/* Adds the keys that the threads add one by one, and the array, on one thread. */
static kith_filter *reference(size_t which, uint64_t capacity) {
    kith_filter *filter = new_filter(which, capacity);
    for (size_t i = 0; i < THREADS; i++) {
        uint64_t key[2] = {i, 0};
        CHECK_OK(kith_filter_add(filter, key, sizeof key, NULL));
    }
    CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
    return filter;
}

static void check_same_bits(const kith_filter *a, const kith_filter *b) {
    CHECK_EQ_U64(a->head.fill, b->head.fill);
    CHECK(a->head.body_bytes == b->head.body_bytes && memcmp(a->body, b->body, (size_t)a->head.body_bytes) == 0);
}

TEST(four_threads_with_different_keys_set_the_same_bits_as_one) {
    draw_keys();
    for (size_t which = 0; which < LENGTH(SHARED); which++) {
        uint64_t capacity = 2 * KEYS;
        kith_filter *one = reference(which, capacity), *many = new_filter(which, capacity);
        struct work sum = run(many, false);
        CHECK_EQ_U64(sum.accepted, KEYS);
        CHECK_EQ_U64(kith_filter_has_many(many, keys, KEYS, NULL), KEYS);
        check_same_bits(many, one);
        /* A key whose bits are all set already is not counted, and which keys these are depends on the order: a few at
         * a rate of 1%. */
        uint64_t count = kith_filter_count(many);
        CHECK(count <= KEYS + THREADS && count >= KEYS - KEYS / 50 && count <= capacity);
        CHECK(sum.fresh <= count && sum.fresh + THREADS >= count);
        CHECK_OK(kith_filter_check(many, NULL));
        kith_filter_free(one);
        kith_filter_free(many);
    }
}

TEST(four_threads_with_the_same_keys_set_the_same_bits_and_never_count_too_few) {
    draw_keys();
    for (size_t which = 0; which < LENGTH(SHARED); which++) {
        uint64_t capacity = 5 * KEYS;
        kith_filter *one = reference(which, capacity), *many = new_filter(which, capacity);
        struct work sum = run(many, true);
        CHECK_EQ_U64(sum.accepted, (uint64_t)THREADS * KEYS);
        check_same_bits(many, one);
        uint64_t count = kith_filter_count(many);
        CHECK(count >= KEYS - KEYS / 50 && count <= THREADS * (KEYS + UINT64_C(1)));
        CHECK_OK(kith_filter_check(many, NULL));
        kith_filter_free(one);
        kith_filter_free(many);
    }
}

TEST(adders_stop_at_the_capacity_and_still_accept_present_keys) {
    draw_keys();
    for (size_t which = 0; which < LENGTH(SHARED); which++) {
        static const uint64_t CAPACITIES[] = {1, 2, 100, 10000};
        for (size_t c = 0; c < LENGTH(CAPACITIES); c++) {
            uint64_t capacity = CAPACITIES[c];
            kith_filter *filter = new_filter(which, capacity);
            struct work sum = run(filter, false);
            CHECK(sum.refused > 0 && sum.accepted + sum.refused == KEYS);
            CHECK(kith_filter_count(filter) <= capacity && sum.fresh <= capacity);
            /* Closed adders have returned their reserve, and a later adder gets it. */
            kith_adder *adder;
            uint64_t fresh = 0, full = 0;
            CHECK_OK(kith_adder_open(filter, &adder));
            for (size_t i = 0; i < KEYS; i++) {
                bool has = kith_filter_has_digest(filter, keys[i]);
                uint64_t was_new = 0;
                kith_status status = kith_adder_add_many(adder, &keys[i], 1, &was_new, NULL);
                CHECK(status == (has || was_new ? KITH_OK : KITH_E_FULL) && !(has && was_new));
                fresh += was_new;
                full += status == KITH_E_FULL;
            }
            kith_adder_close(adder);
            CHECK(full > 0 && fresh <= capacity);
            CHECK(kith_filter_count(filter) <= capacity);
            /* Full by the count, or by the fill limit. */
            CHECK(kith_filter_count(filter) == capacity ||
                  filter->head.fill > filter->head.params[KITHI_PARAM_FILL_LIMIT]);
            CHECK_OK(kith_filter_check(filter, NULL));
            uint64_t digest = 1;
            while (kith_filter_has_digest(filter, digest))
                digest++;
            CHECK_STATUS(kith_filter_add_many(filter, &digest, 1, NULL, NULL), KITH_E_FULL);
            kith_filter_free(filter);
        }
    }
}

/* Digests that set only new bits: the choice of an attacker who knows the hash. */
TEST(the_fill_limit_stops_keys_chosen_to_fill_the_filter) {
    for (size_t which = 0; which < LENGTH(SHARED); which++) {
        enum { CAPACITY = 5000, BLOCK = 256 };
        kith_filter *filter = new_filter(which, CAPACITY);
        unsigned hashes = filter->shape.hashes;
        kith_adder *adder;
        kithi_prng prng = {9};
        kith_status status = KITH_OK;
        uint64_t chosen = 0;
        if (hashes == 1 || hashes > 8) { /* one bit per key fills nothing faster; sixteen new bits take long to find */
            kith_filter_free(filter);
            continue;
        }
        CHECK_OK(kith_adder_open(filter, &adder));
        while (status == KITH_OK) {
            uint64_t digest = kithi_prng_next(&prng);
            if (filter->kind->shared.add(filter, digest, KITHI_SHARED_LOOK) != hashes)
                continue;
            status = kith_adder_add_many(adder, &digest, 1, NULL, NULL);
            chosen += status == KITH_OK;
        }
        kith_adder_close(adder);
        CHECK_STATUS(status, KITH_E_FULL);
        CHECK(chosen < CAPACITY);
        CHECK(filter->head.fill > filter->head.params[KITHI_PARAM_FILL_LIMIT]);
        CHECK(filter->head.fill <= filter->head.params[KITHI_PARAM_FILL_LIMIT] + BLOCK * hashes);
        kith_filter_free(filter);
    }
}

static void *stay(void *context, void *memory, size_t byte_count) {
    (void)context, (void)byte_count;
    return memory;
}

TEST(other_calls_return_busy_while_adders_are_open) {
    struct folder folder = fresh_folder();
    for (size_t which = 0; which < LENGTH(SHARED); which++) {
        kith_filter *filter = new_filter(which, 1000), *other = new_filter(which, 1000), *clone = NULL;
        kith_adder *a, *b;
        const void *bytes;
        size_t byte_count, done = 7;
        uint64_t digest = 1, was_new = 7;
        bool is_new, subset;
        CHECK_OK(kith_filter_add(filter, "before", 6, NULL)); /* the filter is in use when adders are opened */
        CHECK_OK(kith_adder_open(filter, &a));
        CHECK_OK(kith_adder_open(filter, &b));
        CHECK_OK(kith_adder_add(b, "b", 1, &is_new));
        CHECK(is_new);
        for (unsigned open = 2; open > 0; open--) {
            CHECK_STATUS(kith_filter_add(filter, "x", 1, NULL), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_add_many(filter, &digest, 1, &was_new, &done), KITH_E_BUSY);
            CHECK(done == 0 && was_new == 0);
            CHECK_STATUS(kith_filter_clear(filter), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_merge(filter, other), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_merge(other, filter), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_intersect(filter, other), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_bytes(filter, &bytes, &byte_count), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_save(filter, in(&folder, "x")), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_subset(filter, other, &subset), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_subset(other, filter, &subset), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_disjoint(filter, other, &subset), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_disjoint(other, filter, &subset), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_check(filter, NULL), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_relocate(filter, stay, NULL), KITH_E_BUSY);
            CHECK_STATUS(kith_filter_clone(filter, NULL, &clone), KITH_E_BUSY);
            CHECK(clone == NULL);
            CHECK_STATUS(kith_filter_remove(filter, "x", 1), KITH_E_UNSUPPORTED);
            CHECK(access(in(&folder, "x"), F_OK) != 0);
            kith_adder_close(open == 2 ? a : b);
        }
        kith_adder_close(NULL);
        CHECK(kith_filter_has(filter, "b", 1) && kith_filter_count(filter) == 2);
        CHECK_OK(kith_filter_add(filter, "x", 1, NULL));
        CHECK_OK(kith_filter_merge(other, filter));
        CHECK_OK(kith_filter_clear(filter));
        CHECK_OK(kith_filter_save(filter, in(&folder, "x")));
        CHECK(unlink(in(&folder, "x")) == 0);
        kith_filter_free(filter);
        kith_filter_free(other);
    }
    remove_folder(&folder);
}

TEST(adders_are_refused_by_kinds_that_cannot_share) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *info = kith_filter_kind_at(i);
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *filter, *view;
        kith_adder *adder = NULL;
        const void *bytes;
        size_t byte_count;
        spec.kind = info->name;
        spec.capacity = 100;
        spec.rate = .01;
        spec.allocator = &allocator;
        if ((info->capabilities & KITH_CAN_ADD) != 0)
            CHECK_OK(kith_filter_create(&spec, &filter));
        else
            CHECK_OK(kith_filter_build(&spec, NULL, 0, KITH_BUILD_SET, 1, &filter));
        if ((info->capabilities & KITH_CAN_SHARE) == 0) {
            CHECK_STATUS(kith_adder_open(filter, &adder), KITH_E_UNSUPPORTED);
        } else {
            CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
            CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view));
            CHECK_STATUS(kith_adder_open(view, &adder), KITH_E_READONLY);
            kith_filter_free(view);
            memory.fail_at = memory.calls + 1;
            CHECK_STATUS(kith_adder_open(filter, &adder), KITH_E_MEMORY);
        }
        CHECK(adder == NULL);
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count)); /* not busy */
        kith_filter_free(filter);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    }
}

/* Counts the blocks that are released while the filter is not busy. That is too late, because an owner that waits until
 * the filter is not busy may have freed it and its allocator by then. */
struct watched_memory {
    struct memory memory;
    kith_filter *filter; /* NULL: not watched */
    uint64_t too_late;
};

static void *watched_allocate(void *context, size_t bytes, size_t alignment) {
    struct watched_memory *w = context;
    return memory_allocate(&w->memory, bytes, alignment);
}

static void watched_release(void *context, void *block, size_t bytes) {
    struct watched_memory *w = context;
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    if (w->filter != NULL)
        w->too_late += kith_filter_stats_of(w->filter, &stats) != KITH_E_BUSY;
    memory_release(&w->memory, block, bytes);
}

TEST(the_last_adder_is_released_while_the_filter_is_still_busy) {
    struct watched_memory w = {.filter = NULL};
    kith_allocator allocator = {watched_allocate, watched_release, &w};
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    kith_adder *a, *b;
    spec.kind = "bloom";
    spec.capacity = 1000;
    spec.rate = .01;
    spec.allocator = &allocator;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_adder_open(filter, &a));
    CHECK_OK(kith_adder_open(filter, &b));
    w.filter = filter;
    kith_adder_close(a);
    kith_adder_close(b);
    w.filter = NULL;
    CHECK_EQ_U64(w.too_late, 0);
    kith_filter_free(filter);
    CHECK(w.memory.live_blocks == 0 && w.memory.live_bytes == 0);
}

static void *add_one_and_close(void *context) {
    kith_adder *adder = context;
    kith_status status = kith_adder_add(adder, "x", 1, NULL);
    kith_adder_close(adder);
    return status == KITH_OK ? NULL : context;
}

/* The owner does not join the thread before it frees the filter: TSan detects any access of close() after the one that
 * ends the wait. */
TEST(an_owner_that_waits_until_the_filter_is_not_busy_may_free_it) {
    for (unsigned round = 0; round < 200; round++) {
        kith_filter *filter = new_filter(0, 1000);
        kith_adder *adder;
        pthread_t thread;
        void *failed;
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_adder_open(filter, &adder));
        CHECK(pthread_create(&thread, NULL, add_one_and_close, adder) == 0);
        kith_status status;
        do
            status = kith_filter_bytes(filter, &bytes, &byte_count);
        while (status == KITH_E_BUSY);
        uint64_t count = kith_filter_count(filter);
        bool has = kith_filter_has(filter, "x", 1);
        kith_filter_free(filter);
        CHECK(pthread_join(thread, &failed) == 0);
        CHECK_OK(status);
        CHECK(count == 1 && has && failed == NULL);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
