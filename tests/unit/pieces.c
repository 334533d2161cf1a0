/* Tests of the calls that a server needs: kith_filter_write() passes any range of the file without joining layers, and
 * kith_filter_relocate() moves every block. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "unit/memory.h"

enum { FIRST = 3000, KEYS = 20000 };

static uint64_t keys[KEYS];

static void draw(void) {
    kithi_prng prng = {5};
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = kithi_prng_next(&prng);
}

static const char *const OPTIONS[] = {"inner=blocked growth=3", "inner=overlap", "inner=cuckoo b=2", "inner=counting"};
#define OPTIONS_COUNT (sizeof OPTIONS / sizeof *OPTIONS)

static const kith_note NOTE = {"made by", "pieces"};

static kith_filter *grown(const char *options, size_t n, const kith_allocator *allocator) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "layers";
    spec.options = options;
    spec.capacity = FIRST;
    spec.rate = .01;
    spec.notes = &NOTE;
    spec.note_count = 1;
    spec.allocator = allocator;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_filter_add_many(filter, keys, n, NULL, NULL));
    return filter;
}

/* ---- write ---- */

struct sink {
    uint8_t *bytes;
    size_t used, calls, fail_at;
};

static kith_status take(void *context, const void *bytes, size_t byte_count) {
    struct sink *sink = context;
    if (++sink->calls == sink->fail_at)
        return KITH_E_NO_SPACE;
    memcpy(sink->bytes + sink->used, bytes, byte_count);
    sink->used += byte_count;
    return KITH_OK;
}

/* Reads `byte_count` bytes at `offset` and compares them with the whole file. */
static void check_range(kith_filter *filter, const uint8_t *expected, uint8_t *buffer, uint64_t offset,
                        uint64_t byte_count) {
    struct sink sink = {.bytes = buffer};
    CHECK_OK(kith_filter_write(filter, offset, byte_count, take, &sink));
    CHECK_EQ_U64(sink.used, byte_count);
    CHECK(memcmp(buffer, expected + offset, (size_t)byte_count) == 0);
}

TEST(write_passes_every_range_of_the_bytes) {
    draw();
    for (size_t k = 0; k < OPTIONS_COUNT; k++) {
        kith_filter *filter = grown(OPTIONS[k], KEYS, NULL), *twin;
        CHECK_OK(kith_filter_clone(filter, NULL, &twin));
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(twin, &bytes, &byte_count));
        CHECK_EQ_U64(kith_filter_file_bytes(filter), byte_count);
        uint8_t *buffer = malloc(byte_count);
        CHECK(buffer != NULL);
        check_range(filter, bytes, buffer, 0, byte_count);
        check_range(filter, bytes, buffer, byte_count, 0);
        for (uint64_t chunk = 1000; chunk < byte_count; chunk *= 7)
            for (uint64_t at = 0; at < byte_count; at += chunk)
                check_range(filter, bytes, buffer, at, chunk < byte_count - at ? chunk : byte_count - at);
        kithi_prng prng = {k};
        for (unsigned i = 0; i < 200; i++) {
            uint64_t from = kithi_prng_next(&prng) % byte_count;
            check_range(filter, bytes, buffer, from, kithi_prng_next(&prng) % (byte_count - from + 1));
        }
        free(buffer);
        kith_filter_free(twin);
        kith_filter_free(filter);
    }
}

TEST(write_refuses_a_range_past_the_end_and_stops_when_the_receiver_fails) {
    draw();
    kith_filter *filter = grown(OPTIONS[0], KEYS, NULL);
    uint64_t whole = kith_filter_file_bytes(filter);
    struct sink sink = {.bytes = malloc((size_t)whole), .fail_at = 3};
    CHECK(sink.bytes != NULL);
    CHECK_STATUS(kith_filter_write(filter, 0, whole + 1, take, &sink), KITH_E_RANGE);
    CHECK_STATUS(kith_filter_write(filter, whole + 1, 0, take, &sink), KITH_E_RANGE);
    CHECK_STATUS(kith_filter_write(filter, 1, UINT64_MAX, take, &sink), KITH_E_RANGE);
    CHECK_EQ_U64(sink.calls, 0);
    CHECK_STATUS(kith_filter_write(filter, 0, whole, take, &sink), KITH_E_NO_SPACE);
    CHECK_EQ_U64(sink.calls, 3);
    free(sink.bytes);
    kith_filter_free(filter);
}

TEST(write_without_memory_for_the_checksums_fails_and_leaks_nothing) {
    draw();
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    kith_filter *filter = grown(OPTIONS[0], KEYS, &allocator);
    uint64_t blocks = memory.live_blocks;
    struct sink sink = {.bytes = malloc((size_t)kith_filter_file_bytes(filter))};
    CHECK(sink.bytes != NULL);
    memory.fail_at = memory.calls + 1;
    CHECK_STATUS(kith_filter_write(filter, 0, kith_filter_file_bytes(filter), take, &sink), KITH_E_MEMORY);
    memory.fail_at = 0;
    CHECK(sink.used == 0 && memory.live_blocks == blocks);
    CHECK_OK(kith_filter_write(filter, 0, kith_filter_file_bytes(filter), take, &sink));
    CHECK(memory.live_blocks == blocks);
    kith_filter *again;
    CHECK_OK(kith_filter_view(sink.bytes, sink.used, KITH_OPEN_DEFAULT, NULL, &again));
    CHECK_EQ_U64(kith_filter_has_many(again, keys, KEYS, NULL), KEYS);
    kith_filter_free(again);
    free(sink.bytes);
    kith_filter_free(filter);
    CHECK_EQ_U64(memory.live_blocks, 0);
}

/* ---- relocate ---- */

/* Moves each piece to new memory of the same allocator and overwrites the old one. */
struct mover {
    kith_allocator allocator;
    uint64_t bytes;
};

static void *move(void *context, void *memory, size_t byte_count) {
    struct mover *mover = context;
    void *new_memory = mover->allocator.allocate(mover->allocator.context, byte_count, 64);
    CHECK(new_memory != NULL);
    memcpy(new_memory, memory, byte_count);
    memset(memory, 0xee, byte_count);
    mover->allocator.release(mover->allocator.context, memory, byte_count);
    mover->bytes += byte_count;
    return new_memory;
}

static void check_moved(const char *options, size_t n, bool join) {
    struct memory memory = {0};
    struct mover mover = {memory_allocator(&memory), 0};
    kith_filter *filter = grown(options, n, &mover.allocator), *twin = grown(options, n, NULL);
    const void *bytes, *expected;
    size_t byte_count, expected_count;
    if (join)
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
    CHECK_OK(kith_filter_relocate(filter, move, &mover));
    CHECK(mover.bytes + 65536 > kith_filter_file_bytes(filter)); /* all but the checksums */
    CHECK_EQ_U64(kith_filter_has_many(filter, keys, n, NULL), n);
    CHECK_OK(kith_filter_add_many(filter, keys + n, KEYS - n, NULL, NULL));
    CHECK_OK(kith_filter_add_many(twin, keys + n, KEYS - n, NULL, NULL));
    CHECK_OK(kith_filter_relocate(filter, move, &mover));
    CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
    CHECK_OK(kith_filter_bytes(twin, &expected, &expected_count));
    CHECK(byte_count == expected_count && memcmp(bytes, expected, byte_count) == 0);
    kith_filter_free(twin);
    kith_filter_free(filter);
    CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
}

TEST(a_relocated_filter_works_and_has_the_same_bytes) {
    draw();
    for (size_t k = 0; k < OPTIONS_COUNT; k++) {
        check_moved(OPTIONS[k], KEYS / 2, false);
        check_moved(OPTIONS[k], KEYS / 2, true);
        check_moved(OPTIONS[k], 100, false);
    }
}

TEST(relocating_a_view_moves_nothing) {
    draw();
    kith_filter *filter = grown(OPTIONS[0], 100, NULL), *view;
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
    CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view));
    struct memory memory = {0};
    struct mover mover = {memory_allocator(&memory), 0};
    CHECK_OK(kith_filter_relocate(view, move, &mover));
    CHECK_EQ_U64(mover.bytes, 0);
    kith_filter_free(view);
    kith_filter_free(filter);
}

/* ---- options of the inner kind ---- */

static kith_status plan_options(const char *options, kith_plan *plan) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "layers";
    spec.options = options;
    spec.capacity = FIRST;
    spec.rate = .01;
    return kith_filter_plan(&spec, plan);
}

static void check_text(const kith_filter *filter, const char *expected) {
    char text[200];
    (void)kith_filter_options(filter, text, sizeof text);
    CHECK(strcmp(text, expected) == 0);
}

TEST(layers_pass_options_to_their_inner_kind) {
    draw();
    kith_filter *filter = grown("b=2 inner=cuckoo growth=3", KEYS, NULL), *again;
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_stats_of(filter, &stats));
    CHECK(stats.layers > 1);
    CHECK_OK(kith_filter_plan_of(filter, &plan));
    CHECK_EQ_U64(plan.max_copies, 4); /* two buckets of two slots */
    check_text(filter, "inner=cuckoo growth=3 b=2");
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
    CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_COPY, NULL, &again));
    check_text(again, "inner=cuckoo growth=3 b=2");
    kith_filter_free(again);
    kith_filter_free(filter);
    filter = grown("inner=cuckoo", 100, NULL);
    check_text(filter, "inner=cuckoo growth=2");
    kith_filter_free(filter);
}

TEST(options_that_neither_layers_nor_the_inner_kind_have_are_refused) {
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(plan_options("inner=cuckoo b=8 alternate=simple", &plan));
    CHECK_STATUS(plan_options("inner=blocked b=2", &plan), KITH_E_OPTION);
    CHECK_STATUS(plan_options("b=2", &plan), KITH_E_OPTION); /* the default inner kind is blocked */
    CHECK_STATUS(plan_options("inner=cuckoo b=3", &plan), KITH_E_OPTION_VALUE);
    CHECK_STATUS(plan_options("inner=cuckoo b=2 b=2", &plan), KITH_E_OPTION_TWICE);
    CHECK_STATUS(plan_options("inner=cuckoo c=2", &plan), KITH_E_OPTION);
    CHECK_STATUS(plan_options("inner=layers b=2", &plan), KITH_E_OPTION);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
