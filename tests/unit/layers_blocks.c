/* Tests of the memory of layers: growth allocates only the new layer, save writes the blocks without joining them, and
 * bytes() joins them once. Whatever allocation fails, the filter is as it was. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <kith/kith.h>

#include "check.h"
#include "core/hash.h"
#include "core/prng.h"
#include "kinds/kind.h"
#include "folder.h"
#include "unit/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* The layers grow from a few KiB to more than the 64 KiB that one checksum covers. */
enum { FIRST = 3000, GROWTH = 3, LAYERS = 4, KEYS_MAX = 200000 };
#define RATE .01

static const kith_note NOTES[] = {{"made by", "layers_blocks"}};

/* The checksum (XXH3) of the file after all keys of draw(77) were added to a filter of one block that was copied
 * whenever it grew. The bytes must never depend on where the layers are in memory. */
static const struct {
    const char *inner;
    uint64_t checksum;
} FILES[] = {
    {"blocked", UINT64_C(0x36a0c27db1b38209)},  {"bloom", UINT64_C(0x190862796638ef1c)},
    {"overlap", UINT64_C(0xa20296dd64c44526)},  {"cuckoo", UINT64_C(0xa83820c119a0b38c)},
    {"counting", UINT64_C(0x009d531c8b696fa2)}, {"blocked_counting", UINT64_C(0xd223115df8c1981c)},
};

static uint64_t keys[KEYS_MAX];

static void draw(uint64_t seed) {
    kithi_prng prng = {seed};
    for (size_t i = 0; i < KEYS_MAX; i++)
        keys[i] = kithi_prng_next(&prng);
}

static kith_filter *new_layers(const char *inner, const kith_allocator *allocator) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    char options[64];
    (void)snprintf(options, sizeof options, "inner=%s growth=%d", inner, GROWTH);
    spec.kind = "layers";
    spec.options = options;
    spec.capacity = FIRST;
    spec.rate = RATE;
    spec.notes = NOTES;
    spec.note_count = LENGTH(NOTES);
    spec.allocator = allocator;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

static kith_filter_stats stats_of(const kith_filter *filter) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(filter, &stats));
    return stats;
}

/* Adds keys from *at on until the next new key makes the filter grow. */
static void fill_up(kith_filter *filter, size_t *at) {
    while (kith_filter_count(filter) < kith_filter_capacity(filter)) {
        CHECK(*at < KEYS_MAX);
        CHECK_OK(kith_filter_add_digest(filter, keys[(*at)++], NULL));
    }
    while (kith_filter_has_digest(filter, keys[*at]))
        ++*at;
}

static kith_filter *grown(const char *inner, unsigned layers, const kith_allocator *allocator, size_t *at) {
    kith_filter *filter = new_layers(inner, allocator);
    for (*at = 0; stats_of(filter).layers < layers;) {
        fill_up(filter, at);
        CHECK_OK(kith_filter_add_digest(filter, keys[(*at)++], NULL));
    }
    return filter;
}

static uint8_t *file_bytes(const char *path, size_t *byte_count) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long end = ftell(file);
    CHECK(end > 0 && fseek(file, 0, SEEK_SET) == 0);
    *byte_count = (size_t)end;
    uint8_t *bytes = malloc(*byte_count);
    CHECK(bytes != NULL && fread(bytes, 1, *byte_count, file) == *byte_count);
    CHECK(fclose(file) == 0);
    return bytes;
}

static void check_same_file(const char *path, const char *other) {
    size_t byte_count, other_count;
    uint8_t *bytes = file_bytes(path, &byte_count), *expected = file_bytes(other, &other_count);
    CHECK(byte_count == other_count && memcmp(bytes, expected, byte_count) == 0);
    free(bytes);
    free(expected);
}

/* Checks that the filter's bytes and its statistics agree with a saved file. */
static void check_has_bytes_of(kith_filter *filter, const char *path) {
    size_t byte_count, file_count;
    const void *bytes;
    uint8_t *saved = file_bytes(path, &file_count);
    CHECK_EQ_U64(stats_of(filter).file_bytes, file_count);
    CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
    CHECK(byte_count == file_count && memcmp(bytes, saved, byte_count) == 0);
    free(saved);
}

/* ---- growth ---- */

/* The next add makes the filter grow. Checks that the peak of memory rises by the new layer and the handles only. */
static void check_growth_allocates_one_layer(struct memory *memory, kith_filter *filter, size_t *at) {
    fill_up(filter, at);
    unsigned layers = stats_of(filter).layers;
    uint64_t file_before = stats_of(filter).file_bytes, live_before = memory->live_bytes, calls = memory->calls;
    memory->peak_bytes = memory->live_bytes;
    CHECK_OK(kith_filter_add_digest(filter, keys[(*at)++], NULL));
    CHECK_EQ_U64(stats_of(filter).layers, layers + 1);
    uint64_t new_layer = stats_of(filter).file_bytes - file_before;
    uint64_t handles = (layers + 2) * sizeof(kith_filter);
    if (memory->peak_bytes > live_before + new_layer + handles)
        CHECK_FAIL("growth to %u layers took %" PRIu64 " bytes, for a layer of %" PRIu64 " bytes", layers + 1,
                   memory->peak_bytes - live_before, new_layer);
    CHECK(memory->calls <= calls + 2);
    CHECK_EQ_U64(kith_filter_memory(filter), memory->live_bytes);
    CHECK_EQ_U64(kith_filter_has_many(filter, keys, *at, NULL), *at);
    CHECK_OK(kith_filter_check(filter, NULL));
}

TEST(growth_allocates_only_the_new_layer) {
    draw(1);
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *filter = new_layers(FILES[k].inner, &allocator);
        for (size_t at = 0; stats_of(filter).layers < LAYERS;)
            check_growth_allocates_one_layer(&memory, filter, &at);
        kith_filter_free(filter);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    }
}

/* Filters whose first layers are in one block: opened, viewed with a copy, adopted, cloned, or joined by bytes(). */
TEST(growth_of_a_filter_in_one_block_copies_no_layer) {
    draw(2);
    struct folder folder = fresh_folder();
    const char *path = in(&folder, "x");
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        size_t from;
        kith_filter *original = grown(FILES[k].inner, 2, NULL, &from);
        CHECK_OK(kith_filter_save(original, path));
        for (unsigned way = 0; way < 5; way++) {
            struct memory memory = {0};
            kith_allocator allocator = memory_allocator(&memory);
            kith_filter *filter = NULL;
            const void *bytes;
            size_t byte_count, at = from;
            CHECK_OK(kith_filter_bytes(original, &bytes, &byte_count));
            if (way == 0) {
                CHECK_OK(kith_filter_open(path, KITH_OPEN_COPY, &allocator, &filter));
            } else if (way == 1) {
                CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_COPY | KITH_OPEN_LAZY, &allocator, &filter));
            } else if (way == 2) {
                void *block = memory_allocate(&memory, byte_count, 64);
                memcpy(block, bytes, byte_count);
                CHECK_OK(kith_filter_adopt(block, byte_count, 0, &allocator, &filter));
            } else if (way == 3) {
                CHECK_OK(kith_filter_clone(original, &allocator, &filter));
            } else {
                filter = grown(FILES[k].inner, 2, &allocator, &at);
                CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
            }
            check_growth_allocates_one_layer(&memory, filter, &at);
            check_growth_allocates_one_layer(&memory, filter, &at);
            CHECK(strcmp(kith_filter_note(filter, NOTES[0].name), NOTES[0].value) == 0);
            kith_filter_free(filter);
            CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
        }
        kith_filter_free(original);
    }
    remove_folder(&folder);
}

/* ---- bytes and files ---- */

TEST(the_bytes_do_not_depend_on_where_the_layers_are) {
    struct folder folder = fresh_folder();
    draw(77);
    const char *path = in(&folder, "x");
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        kith_filter *filter = new_layers(FILES[k].inner, NULL);
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS_MAX, NULL, NULL));
        CHECK_EQ_U64(stats_of(filter).layers, 5);
        CHECK_OK(kith_filter_save(filter, path));
        size_t byte_count;
        uint8_t *bytes = file_bytes(path, &byte_count);
        uint64_t checksum = kithi_checksum(bytes, byte_count);
        free(bytes);
        if (checksum != FILES[k].checksum)
            CHECK_FAIL("%s: checksum 0x%016" PRIx64 " of the file", FILES[k].inner, checksum);
        check_has_bytes_of(filter, path);
        kith_filter *opened;
        CHECK_OK(kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &opened));
        CHECK_EQ_U64(kith_filter_has_many(opened, keys, KEYS_MAX, NULL), KEYS_MAX);
        kith_filter_free(opened);
        kith_filter_free(filter);
    }
    remove_folder(&folder);
}

TEST(save_streams_the_layers_and_bytes_joins_them_once) {
    struct folder folder = fresh_folder();
    draw(3);
    const char *path = in(&folder, "x");
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        size_t at, byte_count, again_count;
        kith_filter *filter = grown(FILES[k].inner, LAYERS, &allocator, &at);
        const void *bytes, *again;
        uint64_t live = memory.live_bytes, blocks = memory.live_blocks;

        memory.peak_bytes = live;
        CHECK_OK(kith_filter_save(filter, path));
        uint64_t checksums = stats_of(filter).file_bytes / KITHI_PAGE_BYTES * 8 + 8;
        CHECK(memory.peak_bytes <= live + checksums);
        CHECK(memory.live_bytes == live && memory.live_blocks == blocks);

        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
        CHECK(memory.peak_bytes <= live + byte_count + (LAYERS + 2) * sizeof(kith_filter));
        CHECK(memory.live_bytes <= live + checksums); /* not two copies */
        CHECK_EQ_U64(kith_filter_memory(filter), memory.live_bytes);
        uint64_t calls = memory.calls;
        CHECK_OK(kith_filter_bytes(filter, &again, &again_count));
        CHECK(again == bytes && again_count == byte_count && memory.calls == calls);
        check_has_bytes_of(filter, path);
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, at, NULL), at);
        kith_filter_free(filter);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    }
    remove_folder(&folder);
}

/* Joining is not growth: bytes() works for a filter that has reached its limit. */
TEST(bytes_and_save_work_at_the_limit) {
    struct folder folder = fresh_folder();
    draw(4);
    const char *path = in(&folder, "x");
    size_t at;
    kith_filter *filter = grown("blocked", 3, NULL, &at);
    kith_filter_set_limit(filter, stats_of(filter).file_bytes);
    fill_up(filter, &at);
    CHECK_STATUS(kith_filter_add_digest(filter, keys[at], NULL), KITH_E_TOO_LARGE);
    CHECK_OK(kith_filter_save(filter, path));
    check_has_bytes_of(filter, path);
    CHECK_STATUS(kith_filter_add_digest(filter, keys[at], NULL), KITH_E_TOO_LARGE);
    kith_filter_free(filter);
    remove_folder(&folder);
}

/* ---- failures ---- */

typedef kith_status (*operation)(kith_filter *filter, const char *path, uint64_t digest);

static kith_status do_grow(kith_filter *filter, const char *path, uint64_t digest) {
    (void)path;
    return kith_filter_add_digest(filter, digest, NULL);
}

static kith_status do_bytes(kith_filter *filter, const char *path, uint64_t digest) {
    (void)path, (void)digest;
    const void *bytes;
    size_t byte_count;
    return kith_filter_bytes(filter, &bytes, &byte_count);
}

static kith_status do_save(kith_filter *filter, const char *path, uint64_t digest) {
    (void)digest;
    return kith_filter_save(filter, path);
}

/* Lets allocation 1, 2, … of the operation fail until it meets no failure, and returns how many failed. After each
 * failure the filter saves to the same file as `twin`, which nothing has happened to. */
static unsigned fail_each_allocation(struct memory *memory, kith_filter *filter, kith_filter *twin, operation run,
                                     uint64_t digest, const struct folder *folder) {
    const char *path = in(folder, "subject"), *twin_path = in(folder, "twin"), *target = in(folder, "target");
    CHECK_OK(kith_filter_save(twin, twin_path));
    CHECK_OK(kith_filter_save(twin, target));
    for (unsigned failed = 0;; failed++) {
        uint64_t live_blocks = memory->live_blocks, live_bytes = memory->live_bytes;
        memory->fail_at = memory->calls + failed + 1;
        kith_status status = run(filter, target, digest);
        bool met = memory->calls >= memory->fail_at;
        memory->fail_at = 0;
        if (!met) {
            CHECK_OK(status);
            return failed;
        }
        CHECK_STATUS(status, KITH_E_MEMORY);
        CHECK(memory->live_blocks == live_blocks && memory->live_bytes == live_bytes);
        CHECK_EQ_U64(kith_filter_memory(filter), memory->live_bytes);
        CHECK_OK(kith_filter_check(filter, NULL));
        CHECK_EQ_U64(kith_filter_count(filter), kith_filter_count(twin));
        CHECK_OK(kith_filter_save(filter, path));
        check_same_file(path, twin_path);
        check_same_file(target, twin_path);
    }
}

TEST(a_failed_growth_bytes_or_save_leaves_the_filter_as_it_was) {
    struct folder folder = fresh_folder();
    draw(5);
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        size_t at, twin_at;
        kith_filter *filter = grown(FILES[k].inner, LAYERS - 1, &allocator, &at);
        kith_filter *twin = grown(FILES[k].inner, LAYERS - 1, NULL, &twin_at);
        fill_up(filter, &at);
        fill_up(twin, &twin_at);
        CHECK(at == twin_at);
        CHECK_EQ_U64(fail_each_allocation(&memory, filter, twin, do_grow, keys[at], &folder), 2);
        CHECK_OK(kith_filter_add_digest(twin, keys[at], NULL));
        CHECK_EQ_U64(stats_of(filter).layers, LAYERS);
        CHECK_EQ_U64(fail_each_allocation(&memory, filter, twin, do_save, 0, &folder), 1);
        CHECK(fail_each_allocation(&memory, filter, twin, do_bytes, 0, &folder) >= 2);
        CHECK_EQ_U64(fail_each_allocation(&memory, filter, twin, do_bytes, 0, &folder), 0);
        CHECK_OK(kith_filter_save(twin, in(&folder, "twin")));
        check_has_bytes_of(filter, in(&folder, "twin"));
        kith_filter_free(filter);
        kith_filter_free(twin);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    }
    remove_folder(&folder);
}

/* A filter that was never in one block keeps its first layer and frees the others. */
TEST(clear_of_a_grown_filter_allocates_nothing) {
    struct folder folder = fresh_folder();
    draw(6);
    for (size_t k = 0; k < LENGTH(FILES); k++) {
        struct memory memory = {0};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter *empty = new_layers(FILES[k].inner, NULL);
        CHECK_OK(kith_filter_save(empty, in(&folder, "empty")));
        size_t at;
        kith_filter *filter = grown(FILES[k].inner, LAYERS, &allocator, &at);
        kith_filter_set_limit(filter, 1);
        memory.fail_at = memory.calls + 1;
        CHECK_OK(kith_filter_clear(filter));
        memory.fail_at = 0;
        CHECK_EQ_U64(stats_of(filter).layers, 1);
        CHECK_EQ_U64(kith_filter_memory(filter), memory.live_bytes);
        CHECK_OK(kith_filter_check(filter, NULL));
        CHECK_EQ_U64(kith_filter_has_many(filter, keys, at, NULL), 0);
        check_has_bytes_of(filter, in(&folder, "empty"));
        kith_filter_set_limit(filter, 0);
        for (at = 0; stats_of(filter).layers < 3;)
            check_growth_allocates_one_layer(&memory, filter, &at);
        kith_filter_free(filter);
        kith_filter_free(empty);
        CHECK(memory.live_blocks == 0 && memory.live_bytes == 0);
    }
    remove_folder(&folder);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
