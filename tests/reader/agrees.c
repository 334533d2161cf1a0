/* Tests that kith/reader.h agrees with the library: over all golden files, over every shorter and longer file, and over
 * files with one byte or field of a header changed and its checksum corrected.
 *
 * The file also includes the headers of the library, public and internal, next to kith/reader.h: their names must not
 * clash. It is compiled twice, for any processor and for the one that runs it (tests/CMakeLists.txt). */
#define _FILE_OFFSET_BITS 64 /* readdir() for file systems with 64-bit inodes, on 32-bit processors, too */
#include <dirent.h>

#include <kith/reader.h>

#include <kith/kith.h>

#include "check.h"
#include "core/hash.h"
#include "format/format.h"
#include "golden/files.h"
#include "splitmix.h"

/* How many lookups are compared: in golden files, and in each of the many forged ones. */
enum { ALL_KEYS = 300, ALL_DIGESTS = 200, SOME_KEYS = 20, SOME_DIGESTS = 70 };

typedef enum lookups { NO_LOOKUPS, SOME_LOOKUPS, ALL_LOOKUPS } lookups;

/* A file in memory of exactly its size, so that a sanitizer finds what is read outside of it. */
typedef struct bytes {
    uint8_t *at;
    size_t count;
} bytes;

static bytes bytes_of(const void *from, size_t count) {
    bytes b = {malloc(count + (count == 0)), count};
    CHECK(b.at != NULL);
    if (count > 0)
        memcpy(b.at, from, count);
    return b;
}

static kith_reader reader; /* too large for the stack of a small system */

/* Compares lookups of present keys, of absent keys and of digests that are no hashes. */
static void compare_lookups(const char *name, const kith_filter *filter, lookups which) {
    uint64_t state = 1;
    char key[32];
    for (size_t i = 0; i < (which == ALL_LOOKUPS ? ALL_KEYS : SOME_KEYS); i++) {
        size_t key_bytes = (size_t)snprintf(key, sizeof key, "key-%zu", i);
        uint64_t digest = kith_reader_digest(&reader, key, key_bytes);
        CHECK_EQ_U64(digest, kith_filter_digest(filter, key, key_bytes));
        if (kith_reader_has(&reader, digest) != kith_filter_has_digest(filter, digest))
            CHECK_FAIL("%s: the results for %s differ", name, key);
    }
    for (size_t i = 0; i < (which == ALL_LOOKUPS ? ALL_DIGESTS : SOME_DIGESTS); i++) {
        uint64_t digest = i < 64 ? UINT64_C(1) << i : i == 64 ? 0 : i == 65 ? UINT64_MAX : splitmix_next(&state);
        if (kith_reader_has(&reader, digest) != kith_filter_has_digest(filter, digest))
            CHECK_FAIL("%s: the results for digest %016" PRIx64 " differ", name, digest);
    }
}

/* Opens the same bytes with the reader and with the library. Returns the status of both. */
static kith_status compare(const char *name, bytes b, lookups which) {
    static uint8_t untouched[sizeof reader];
    kith_filter *filter = NULL;
    memset(untouched, 0x5a, sizeof untouched);
    memcpy(&reader, untouched, sizeof reader);
    kith_status got = kith_reader_open(b.at, b.count, &reader);
    kith_status want = kith_filter_view(b.at, b.count, KITH_OPEN_LAZY, NULL, &filter);
    if (got != want)
        CHECK_FAIL("%s: the reader returns %s, the library %s", name, kith_status_name(got), kith_status_name(want));
    if (got != KITH_OK) {
        CHECK(memcmp(&reader, untouched, sizeof reader) == 0);
        return got;
    }
    CHECK_EQ_U64(reader.count, kith_filter_count(filter));
    CHECK_EQ_U64(reader.capacity, kith_filter_capacity(filter));
    CHECK_EQ_U64(reader.recipe, kith_filter_recipe(filter));
    if (which != NO_LOOKUPS)
        compare_lookups(name, filter, which);
    kith_filter_free(filter);

    /* The library also compares the counts with the body. The reader does not. */
    filter = NULL;
    kith_status verified = kith_reader_verify(&reader);
    kith_status whole = kith_filter_view(b.at, b.count, KITH_OPEN_DEFAULT, NULL, &filter);
    if (verified != KITH_OK ? verified != whole : whole != KITH_OK && whole != KITH_E_CORRUPT)
        CHECK_FAIL("%s: the reader verifies it as %s, the library opens it as %s", name, kith_status_name(verified),
                   kith_status_name(whole));
    kith_filter_free(filter);
    return verified;
}

/* Calls `test` for each golden file. */
static void each_file(void (*test)(const char *name, bytes file)) {
    DIR *folder = opendir(FOLDER);
    CHECK(folder != NULL);
    unsigned count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".kith") != 0)
            continue;
        char path[PATH_BYTES_MAX];
        CHECK(snprintf(path, sizeof path, "%s%s", FOLDER, entry->d_name) < (int)sizeof path);
        text file = read_file(path);
        bytes b = bytes_of(file.at, file.used);
        test(entry->d_name, b);
        free(b.at);
        free(file.at);
        count++;
    }
    closedir(folder);
    CHECK(count >= 20);
}

static void file_agrees(const char *name, bytes file) {
    kith_status want = strncmp(name, "table-", 6) == 0 ? KITH_E_KIND : KITH_OK;
    CHECK_STATUS(compare(name, file, ALL_LOOKUPS), want);
}

TEST(golden_files_give_the_results_of_the_library) {
    each_file(file_agrees);
}

static void lengths_agree(const char *name, bytes file) {
    uint8_t longer[8192] = {0};
    CHECK(file.count + 64 < sizeof longer);
    memcpy(longer, file.at, file.count);
    for (size_t length = 0; length < file.count + 64; length++) {
        bytes cut = bytes_of(longer, length);
        kith_status status = compare(name, cut, NO_LOOKUPS);
        CHECK(length == file.count || status != KITH_OK);
        free(cut.at);
    }
}

TEST(files_of_every_other_length_are_refused_like_by_the_library) {
    each_file(lengths_agree);
}

static void flips_agree(const char *name, bytes file) {
    for (size_t i = 0; i < file.count; i++) {
        uint8_t flip = (uint8_t)(1u << (i % 8));
        file.at[i] ^= flip;
        CHECK(compare(name, file, NO_LOOKUPS) != KITH_OK);
        file.at[i] ^= flip;
    }
}

TEST(a_flipped_bit_in_every_byte_is_refused_like_by_the_library) {
    each_file(flips_agree);
}

/* ---- forged headers ---- */

enum { AT_CAPACITY = 64, AT_PARAMS = 104, AT_CHECKSUM = 184, DIRECTORY_BYTES = 512 };

static void seal(uint8_t *header) {
    kithi_store64(header + AT_CHECKSUM, kithi_checksum(header, AT_CHECKSUM));
}

/* Changes each byte of the header at `at`, and each of its words to numbers that sizes are likely to be checked for. */
static void forge_header(const char *name, bytes file, size_t at) {
    uint8_t *header = file.at + at;
    for (size_t i = 0; i < AT_CHECKSUM; i++) {
        uint8_t before = header[i];
        const uint8_t tried[] = {0, 1, 2, 3, 0xff, before ^ 1, before ^ 0x80, (uint8_t)(before + 1), before};
        for (size_t j = 0; j < sizeof tried; j++) {
            header[i] = tried[j];
            seal(header);
            (void)compare(name, file, SOME_LOOKUPS);
        }
    }
    for (size_t i = AT_CAPACITY; i < AT_CHECKSUM; i += 8) {
        uint64_t before = kithi_load64(header + i);
        for (unsigned j = 0; j < 64 + 5; j++) {
            uint64_t power = UINT64_C(1) << (j % 64);
            const uint64_t others[] = {before + 1, before - 1, 2 * before, before / 2, before};
            kithi_store64(header + i, j < 64 ? power : others[j - 64]);
            seal(header);
            (void)compare(name, file, NO_LOOKUPS);
            if (j < 64) {
                kithi_store64(header + i, power - 1);
                seal(header);
                (void)compare(name, file, NO_LOOKUPS);
            }
        }
    }
}

static void forgeries_agree(const char *name, bytes file) {
    forge_header(name, file, 0);
}

TEST(forged_headers_are_refused_like_by_the_library) {
    each_file(forgeries_agree);
}

static void forged_layers_agree(const char *name, bytes file) {
    if (strcmp(name, "layers.kith") != 0)
        return;
    uint8_t *directory = file.at + HEADER_BYTES;
    uint64_t layers = kithi_load64(file.at + AT_PARAMS + 16);
    size_t at = HEADER_BYTES + DIRECTORY_BYTES;
    CHECK(layers > 1);
    for (uint64_t i = 0; i <= layers; i++) {
        uint64_t before = kithi_load64(directory + 8 * i);
        for (uint64_t change = 0; change < 200; change++) {
            kithi_store64(directory + 8 * i, change < 64    ? UINT64_C(1) << change
                                             : change < 132 ? before + change - 100
                                                            : before + (change - 160) * 64);
            (void)compare(name, file, SOME_LOOKUPS);
        }
        kithi_store64(directory + 8 * i, before);
        if (i == 0 || i + 1 == layers) /* those between are validated like the last */
            forge_header(name, file, at);
        at += (size_t)(before + 63) / 64 * 64;
    }
}

TEST(forged_layers_are_refused_like_by_the_library) {
    each_file(forged_layers_agree);
}

/* Forges all capacities, so that the layers have too few bits for their keys. */
static void forge_capacities(bytes file, uint64_t factor) {
    kithi_head outer, layer;
    CHECK_OK(kithi_header_read(file.at, file.count, &outer));
    kithi_inner_block block = {0, 0};
    uint8_t *body = file.at + HEADER_BYTES;
    for (unsigned i = 0; kithi_layers_block(&outer, body, i, &block) == KITH_OK; i++) {
        CHECK_OK(kithi_header_read(body + block.at, block.bytes, &layer));
        layer.capacity *= factor;
        kithi_block_seal(body + block.at, &layer);
    }
    outer.capacity *= factor;
    outer.params[KITHI_PARAM_LAYERS_FIRST_CAPACITY] *= factor;
    kithi_block_seal(file.at, &outer);
}

TEST(layers_that_are_too_small_for_their_capacity_are_refused) {
    char path[PATH_BYTES_MAX];
    text original = read_file(golden_path("layers", path));
    for (uint64_t factor = 1; factor <= 32; factor *= 2) {
        bytes file = bytes_of(original.at, original.used);
        forge_capacities(file, factor);
        kith_status status = compare("too small layers", file, ALL_LOOKUPS);
        CHECK_STATUS(status, factor == 1 ? KITH_OK : status);
        CHECK(factor < 32 || status == KITH_E_CORRUPT);
        free(file.at);
    }
    free(original.at);
}

/* A filter of one layer, which is a golden file. */
static bytes layers_of(const char *name) {
    char path[PATH_BYTES_MAX];
    text inner = read_file(golden_path(name, path));
    kithi_head layer, head;
    CHECK_OK(kithi_header_read((const uint8_t *)inner.at, inner.used, &layer));
    memset(&head, 0, sizeof head);
    head.kind_id = KITHI_LAYERS_ID;
    head.hash = layer.hash;
    head.capacity = layer.capacity;
    head.count = layer.count;
    head.rate = 2 * layer.rate;
    head.body_bytes = KITHI_LAYERS_DIRECTORY_BYTES + kithi_layers_padded(inner.used);
    head.params[KITHI_PARAM_LAYERS_INNER] = layer.kind_id;
    head.params[KITHI_PARAM_LAYERS_GROWTH] = 2;
    head.params[KITHI_PARAM_LAYERS_COUNT] = 1;
    head.params[KITHI_PARAM_LAYERS_FIRST_CAPACITY] = layer.capacity;
    uint64_t block_bytes;
    CHECK(kithi_block_bytes(head.body_bytes, &block_bytes));
    bytes file = {calloc(1, (size_t)block_bytes), (size_t)block_bytes};
    CHECK(file.at != NULL);
    kithi_store64(file.at + HEADER_BYTES, inner.used);
    memcpy(file.at + HEADER_BYTES + KITHI_LAYERS_DIRECTORY_BYTES, inner.at, inner.used);
    kithi_block_seal(file.at, &head);
    free(inner.at);
    return file;
}

TEST(only_kinds_that_accept_keys_can_be_layers) {
    static const struct {
        const char *name;
        kith_status want;
    } CASES[] = {
        {"bloom", KITH_OK},       {"blocked", KITH_OK},       {"counting-3", KITH_OK},    {"cuckoo-simple", KITH_OK},
        {"fuse", KITH_E_CORRUPT}, {"ribbon", KITH_E_CORRUPT}, {"layers", KITH_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bytes file = layers_of(CASES[i].name);
        CHECK_STATUS(compare(CASES[i].name, file, ALL_LOOKUPS), CASES[i].want);
        free(file.at);
    }
}

TEST(verify_compares_the_checksums_of_layers) {
    bytes file = layers_of("bloom");
    kithi_head head;
    CHECK_OK(kithi_header_read(file.at, file.count, &head));
    uint8_t *layer = file.at + HEADER_BYTES + KITHI_LAYERS_DIRECTORY_BYTES;
    layer[HEADER_BYTES] ^= 1;
    kithi_block_seal(file.at, &head); /* the outer checksums are right again */
    CHECK_STATUS(compare("a damaged layer", file, ALL_LOOKUPS), KITH_E_CORRUPT);
    free(file.at);
}

TEST(a_store_is_refused_like_by_the_library) {
    char path[PATH_BYTES_MAX];
    text text_of_file = read_file(golden_path("bloom", path));
    bytes file = bytes_of(text_of_file.at, text_of_file.used);
    file.at[14] |= 2; /* the flag of a store */
    file.at[16] = 1;  /* its id */
    seal(file.at);
    CHECK_STATUS(compare("a store", file, ALL_LOOKUPS), KITH_E_JOURNAL);
    free(file.at);
    free(text_of_file.at);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
