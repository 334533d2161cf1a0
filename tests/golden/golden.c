/* golden: tests files of filters that every later version must read, and write, byte for byte. (Tables are in tables.c,
 * stores in store.c.)
 *
 *     golden                        runs the tests
 *     golden --make                 writes the files of this folder with false_positives.txt, and the example in
 *                                   docs/format.md
 *     golden --list-made            prints the names of the filters that are not kept as files (see CASES)
 *     golden --save NAME FILE       creates a filter and saves it
 *     golden --members NAME         prints the keys for which a lookup must return true, one per line
 *     golden --lookup FILE          looks up every line of standard input and prints "yes" or "no"
 *     golden --digests FILE         prints the digest of every line of standard input, with the hash of the filter
 *     golden --forge WHAT FROM TO   copies a file of kind layers, forges WHAT in the copy (see forge) and corrects all
 *                                   checksums; prints whether the library opens it: "opened" or "refused"
 *
 * The files freeze at the first tagged release. Until then, a change of layout or sizing writes them again, in one
 * commit that says why: `./dev build && build/dev/tests/golden --make`. After it, a test that fails here means that
 * users' files cannot be read or are read wrongly, and the code must change.
 *
 * false_positives.txt lists, for every file, the first ten false positives among the keys absent-0, absent-1, … They
 * catch a library that derives other cells from a digest: it would still read what it wrote with the same mistake.
 *
 * The last six commands are for tests/interop, which compares the library with a second reader that was written from
 * docs/format.md, and for tests/reader. */
#include <kith/kith.h>

#include "check.h"
#include "core/bits.h"
#include "core/mix.h"
#include "layers/lookup.h"
#include "format/format.h"
#include "golden/files.h"
#include "probe_word.h"

#define FALSE_POSITIVES FOLDER "false_positives.txt"
#define FORMAT_PAGE KITH_SOURCE_DIR "/docs/format.md"
#define EXAMPLE_HEADING "## An example\n"

enum {
    PINNED = 10,       /* false positives listed for each file */
    LOOKED_AT = 20000, /* absent keys among which that many must be found */
    KEY_BYTES_MAX = 32,
};

static const uint8_t SECRET[KITH_HASH_KEY_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* ---- the filters ---- */

typedef struct golden_case {
    const char *name;
    const char *kind;
    const char *options;
    uint64_t capacity;
    double rate;
    bool secret;   /* SipHash with the key SECRET instead of XXH3 */
    uint64_t seed; /* of XXH3 */
    size_t keys;   /* key-0 … ; see fill() */
    unsigned layers;
    bool kept; /* as a file in this folder; the others are created by tests/interop */
} golden_case;

/* The kept files are small and cover each kind, the options that change the layout, and both hashes. The others cover
 * what needs many keys (several regions, several checksums, a last checksum over fewer than 65,536 bytes) and the
 * remaining values of options. Some cases set f because they need false positives: with so few keys, the planner would
 * choose more fingerprint bits than the rate needs. ribbon-stash has a seed with which one key is in the stash;
 * overlap-stash and cuckoo-stash have as many copies of two keys as make this happen. */
static const golden_case CASES[] = {
    {"example", "bloom", NULL, 2, 0.1, false, 0, 2, 1, true},
    {"bloom", "bloom", NULL, 200, 0.02, false, 0, 200, 1, true},
    {"bloom-siphash", "bloom", NULL, 100, 0.02, true, 0, 100, 1, true},
    {"bloom-whole", "bloom", "layout=whole", 200, 0.02, false, 0, 200, 1, true},
    {"blocked", "blocked", NULL, 200, 0.01, false, 0, 200, 1, true},
    {"counting", "counting", NULL, 128, 0.02, false, 0, 100, 1, true},
    {"counting-whole", "counting", "layout=whole", 128, 0.02, false, 0, 100, 1, true},
    {"counting-3", "counting", "width=3", 128, 0.02, false, 0, 100, 1, true},
    {"blocked-counting", "blocked_counting", NULL, 128, 0.01, false, 0, 100, 1, true},
    {"cuckoo", "cuckoo", NULL, 256, 0.02, false, 7, 200, 1, true},
    {"cuckoo-b2", "cuckoo", "b=2 f=7", 256, 0.02, false, 0, 200, 1, true},
    {"cuckoo-simple", "cuckoo", "alternate=simple", 200, 0.02, false, 0, 150, 1, true},
    {"cuckoo-xor-walk", "cuckoo", "alternate=xor insert=walk f=8", 240, 0.1, false, 0, 220, 1, true},
    {"cuckoo-stash", "cuckoo", "b=2 f=5", 200, 0.9, false, 1, 150, 1, true},
    {"overlap", "overlap", "f=7", 300, 0.02, false, 0, 250, 1, true},
    {"overlap-stash", "overlap", "f=2", 500, 0.9, false, 0, 400, 1, true},
    {"fuse", "fuse", NULL, 200, 0.02, false, 0, 200, 1, true},
    {"fuse-4", "fuse", "arity=4 f=5", 200, 0.05, true, 0, 150, 1, true},
    {"ribbon", "ribbon", NULL, 200, 0.02, false, 0, 200, 1, true},
    {"ribbon-stash", "ribbon", NULL, 54, 0.02, false, 787, 54, 1, true},
    {"ribbon-levels", "ribbon", "f=3", 1500, 0.2, true, 0, 1500, 1, true},
    {"layers", "layers", "inner=overlap", 40, 0.03, false, 0, 200, 3, true},
    {"recipe", "blocked", NULL, 100, 0.02, false, 0, 100, 1, true},
    {"large-bloom", "bloom", NULL, 200000, 0.01, true, 0, 200000, 1, false},
    {"large-counting", "counting", NULL, 50000, 0.01, false, 1, 40000, 1, false},
    {"large-cuckoo", "cuckoo", NULL, 700000, 0.01, false, 0, 600000, 1, false},
    {"large-cuckoo-simple", "cuckoo", "alternate=simple", 700000, 0.01, false, 0, 600000, 1, false},
    {"large-cuckoo-xor", "cuckoo", "alternate=xor", 400000, 0.01, false, 0, 350000, 1, false},
    {"large-cuckoo-walk", "cuckoo", "insert=walk max=100", 400000, 0.01, false, 0, 350000, 1, false},
    {"cuckoo-walk-first", "cuckoo", "start=first b=2", 20000, 0.01, false, 0, 18000, 1, false},
    {"large-overlap", "overlap", NULL, 700000, 0.005, false, 0, 600000, 1, false},
    {"large-fuse", "fuse", NULL, 1600000, 0.01, false, 0, 1500000, 1, false},
    {"fuse-wide", "fuse", "f=32", 1000, 0.01, false, 0, 1000, 1, false},
    {"fuse-bytes", "fuse", "f=8 arity=4", 20000, 0.01, false, 3, 20000, 1, false},
    {"fuse-one", "fuse", NULL, 1, 0.3, false, 0, 1, 1, false},
    {"fuse-sparse", "fuse", NULL, 5000000, 0.05, false, 0, 1, 1, false},
    {"large-ribbon", "ribbon", NULL, 1600000, 0.01, false, 0, 1500000, 1, false},
    {"ribbon-byte", "ribbon", "f=8", 20000, 0.01, false, 3, 20000, 1, false},
    {"ribbon-wide", "ribbon", "f=32", 3000, 0.01, false, 0, 3000, 1, false},
    {"ribbon-bit", "ribbon", "f=1", 100000, 0.5, true, 0, 100000, 1, false},
    {"ribbon-one", "ribbon", NULL, 1, 0.3, false, 0, 1, 1, false},
    {"ribbon-sparse", "ribbon", NULL, 5000000, 0.05, false, 0, 1, 1, false},
    {"counting-2-whole", "counting", "width=2 layout=whole k=7", 300, 0.01, true, 0, 250, 1, false},
    {"counting-5", "counting", "width=5", 300, 0.01, false, 3, 250, 1, false},
    {"counting-8-whole", "counting", "width=8 layout=whole", 20000, 0.01, false, 0, 18000, 1, false},
    {"large-layers", "layers", "inner=counting growth=3", 1000, 0.01, true, 0, 20000, 4, false},
    {"blocked-4", "blocked", "lanes=4", 5000, 0.03, false, 0, 5000, 1, false},
    {"blocked-16", "blocked", "lanes=16", 5000, 0.001, false, 0, 5000, 1, false},
    {"large-blocked-counting", "blocked_counting", NULL, 50000, 0.01, false, 1, 40000, 1, false},
    {"blocked-counting-4", "blocked_counting", "lanes=4", 5000, 0.03, false, 0, 4000, 1, false},
    {"blocked-counting-16", "blocked_counting", "lanes=16", 5000, 0.01, true, 0, 4000, 1, false},
    {"cuckoo-b1", "cuckoo", "b=1 f=6", 300, 0.03, false, 0, 200, 1, false},
    {"cuckoo-b8-wide", "cuckoo", "b=8 f=32", 300, 0.01, false, 0, 200, 1, false},
    {"cuckoo-simple-tiny", "cuckoo", "alternate=simple f=4", 8, 0.9, false, 1, 6, 1, false},
    {"overlap-one", "overlap", NULL, 2, 0.5, false, 0, 1, 1, false},
};
#define CASE_COUNT (sizeof CASES / sizeof *CASES)

static const golden_case *case_named(const char *name) {
    for (size_t i = 0; i < CASE_COUNT; i++)
        if (strcmp(CASES[i].name, name) == 0)
            return &CASES[i];
    return NULL;
}

static kith_hash hash_of(const golden_case *c) {
    kith_hash hash = {.id = c->secret ? KITH_HASH_SIPHASH : KITH_HASH_XXH3, .seed = c->seed};
    if (c->secret)
        memcpy(hash.key, SECRET, sizeof SECRET);
    return hash;
}

/* Writes key i of a filter and returns its length. The keys of the example are words. */
static size_t key_of(const golden_case *c, size_t i, char *key) {
    int length = strcmp(c->name, "example") == 0 ? snprintf(key, KEY_BYTES_MAX, "%s", i == 0 ? "fox" : "hen")
                                                 : snprintf(key, KEY_BYTES_MAX, "key-%zu", i);
    return (size_t)length;
}

static size_t absent_key(size_t i, char *key) {
    return (size_t)snprintf(key, KEY_BYTES_MAX, "absent-%zu", i);
}

/* Adds the keys in order. If the kind stores copies, adds keys 0, 5, … 20 a second time; if the name of the case says
 * that there is a stash, adds key 0 four more times and key 1 twice. If it supports deletion,
 * removes keys 3, 8, 13, … and adds every second of those again. Sets member[i] (member may be NULL) to whether key i
 * must be found. Removing a key from layers may return KITH_E_AMBIGUOUS; that key is still in the filter. */
static void fill(const golden_case *c, kith_filter *filter, bool *member) {
    uint32_t capabilities = kith_filter_capabilities(filter);
    char key[KEY_BYTES_MAX];
    for (size_t i = 0; i < c->keys; i++) {
        CHECK_OK(kith_filter_add(filter, key, key_of(c, i, key), NULL));
        if (member != NULL)
            member[i] = true;
    }
    if ((capabilities & KITH_CAN_COPIES) != 0)
        for (size_t i = 0; i < c->keys && i <= 20; i += 5)
            CHECK_OK(kith_filter_add(filter, key, key_of(c, i, key), NULL));
    for (size_t i = 0; (capabilities & KITH_CAN_COPIES) != 0 && strstr(c->name, "-stash") != NULL && i < 6; i++)
        CHECK_OK(kith_filter_add(filter, key, key_of(c, i % 4 == 1, key), NULL));
    if ((capabilities & KITH_CAN_REMOVE) == 0)
        return;
    for (size_t i = 3; i < c->keys; i += 5) {
        kith_status status = kith_filter_remove(filter, key, key_of(c, i, key));
        CHECK(status == KITH_OK || (status == KITH_E_AMBIGUOUS && c->layers > 1));
        if (member != NULL)
            member[i] = status != KITH_OK;
    }
    for (size_t i = 3; i < c->keys; i += 10) {
        CHECK_OK(kith_filter_add(filter, key, key_of(c, i, key), NULL));
        if (member != NULL)
            member[i] = true;
    }
}

/* Builds a filter of a static kind from the keys. */
static kith_filter *build(const golden_case *c, const kith_filter_spec *spec, bool *member) {
    uint64_t *digests = malloc(c->keys * sizeof *digests);
    CHECK(digests != NULL);
    char key[KEY_BYTES_MAX];
    for (size_t i = 0; i < c->keys; i++) {
        digests[i] = kith_digest(&spec->hash, key, key_of(c, i, key));
        if (member != NULL)
            member[i] = true;
    }
    kith_filter *filter;
    CHECK_OK(kith_filter_build(spec, digests, c->keys, KITH_BUILD_SET, 1, &filter));
    free(digests);
    return filter;
}

static kith_filter *make(const golden_case *c, bool *member) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = c->kind;
    spec.capacity = c->capacity;
    spec.rate = c->rate;
    spec.options = c->options;
    spec.hash = hash_of(c);
    static const kith_note note = {"note", "lower case, no CR"};
    if (strcmp(c->name, "recipe") == 0) {
        spec.recipe = 9; /* bits 0 and 3, as the note says */
        spec.notes = &note;
        spec.note_count = 1;
    }
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    kith_filter *filter = NULL;
    if ((plan.capabilities & KITH_CAN_ADD) != 0) {
        CHECK_OK(kith_filter_create(&spec, &filter));
        fill(c, filter, member);
    } else {
        filter = build(c, &spec, member);
    }
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(filter, &stats));
    CHECK_EQ_U64(stats.layers, c->layers);
    if ((plan.capabilities & KITH_CAN_COPIES) != 0 && strstr(c->name, "-stash") != NULL)
        CHECK(stats.cells_used < stats.count); /* the others are in the stash */
    return filter;
}

static kith_filter *open_file(const char *path) {
    kith_filter *filter;
    kith_status status = kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &filter);
    if (status != KITH_OK)
        CHECK_FAIL("%s: %s", path, kith_status_text(status));
    return filter;
}

/* Finds the first PINNED false positives, as indices of absent keys. Fails the test if there are fewer. */
static void false_positives(const kith_filter *filter, const char *name, size_t found[PINNED]) {
    char key[KEY_BYTES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < LOOKED_AT && count < PINNED; i++)
        if (kith_filter_has(filter, key, absent_key(i, key)))
            found[count++] = i;
    if (count < PINNED)
        CHECK_FAIL("%s has only %zu false positives among %d absent keys", name, count, LOOKED_AT);
}

/* ---- the example of docs/format.md ---- */

typedef struct field {
    unsigned at, bytes;
    const char *remark;
    bool number; /* the remark ends with the value */
} field;

/* The header fields of the example that are not 0. */
static const field FIELDS[] = {
    {0, 8, "signature", false},
    {8, 2, "version", true},
    {10, 2, "kind, bloom is", true},
    {12, 2, "header bytes", true},
    {64, 8, "capacity", true},
    {72, 8, "rate 0.1", false},
    {80, 8, "count", true},
    {88, 8, "fill", true},
    {96, 8, "body bytes", true},
    {104, 8, "parameter 0, k", true},
    {112, 8, "parameter 1, slice", true},
    {160, 8, "parameter 7, fill limit", true},
    {176, 8, "body checksum, of the checksum after the body", false},
    {184, 8, "header checksum, of all bytes before it", false},
};
enum { K_AT = 104, SLICE_AT = 112 };

static void append_hex(text *out, const text *file, size_t at, size_t bytes) {
    append(out, "%08zx ", at);
    for (size_t i = 0; i < 8; i++) {
        if (i < bytes)
            append(out, " %02x", (unsigned)(uint8_t)file->at[at + i]);
        else
            append(out, "   ");
    }
    append(out, "  ");
}

static void append_field(text *out, const text *file, const field *f) {
    append_hex(out, file, f->at, f->bytes);
    append(out, "%s", f->remark);
    if (f->number)
        append(out, " %" PRIu64, number_at(file, f->at, f->bytes));
    append(out, "\n");
}

/* Appends the digests of the two keys, and how the page computes from them the bits that they set. */
static void append_digests(text *out, const text *file, const golden_case *c) {
    uint64_t k = number_at(file, K_AT, 8), slice = number_at(file, SLICE_AT, 8);
    kith_hash hash = hash_of(c);
    for (size_t key_index = 0; key_index < c->keys; key_index++) {
        char key[KEY_BYTES_MAX];
        uint64_t digest = kith_digest(&hash, key, key_of(c, key_index, key));
        append(out, "%s  digest  %016" PRIx64 "\n", key, digest);
        for (uint64_t i = 0; i < k; i++) {
            uint64_t word = probe_word(digest, i);
            uint64_t in_slice = kithi_mulhi(word, slice);
            append(out, "     probe(%" PRIu64 ") %016" PRIx64 "  ", i, word);
            append(out, "bit %" PRIu64 " * %" PRIu64 " + %" PRIu64, i, slice, in_slice);
            append(out, " = %" PRIu64 "\n", i * slice + in_slice);
        }
    }
}

static text example_text(void) {
    const golden_case *c = case_named("example");
    char path[PATH_BYTES_MAX];
    text file = read_file(golden_path(c->name, path)), out = {NULL, 0, 0};
    CHECK(file.used > HEADER_BYTES + 8);
    size_t body_end = file.used - 8;

    append(&out, "\nThe bloom filter of the keys `fox` and `hen`, capacity 2, rate 0.1, seed 0: ");
    append(&out, "`tests/golden/example.kith`, %zu bytes.\nBytes that are not shown are 0.\n\n```\n", file.used);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        append_field(&out, &file, &FIELDS[i]);
    for (size_t at = HEADER_BYTES; at < body_end; at += 8) {
        if (number_at(&file, at, 8) == 0)
            continue;
        append_hex(&out, &file, at, 8);
        append(&out, "body: bits");
        for (size_t bit = 0; bit < 64; bit++)
            if ((number_at(&file, at, 8) >> bit & 1) != 0)
                append(&out, " %zu", (at - HEADER_BYTES) * 8 + bit);
        append(&out, "\n");
    }
    append_hex(&out, &file, body_end, 8);
    append(&out, "checksum of the %zu bytes of the body\n%08zx\n```\n\n", body_end - HEADER_BYTES, file.used);

    append(&out,
           "The digests of the keys, and the bits that they set. `hen` has the same bits as `fox`: it was a false "
           "positive when it\nwas added, and was not counted, so `count` is 1.\n\n```\n");
    append_digests(&out, &file, c);
    kith_hash secret = {.id = KITH_HASH_SIPHASH};
    memcpy(secret.key, SECRET, sizeof SECRET);
    append(&out, "```\n\nWith SipHash-2-4 and the secret key `00 01 02 … 0f` the digest of `fox` is ");
    append(&out, "`%016" PRIx64 "`.\n", kith_digest(&secret, "fox", 3));
    free(file.at);
    return out;
}

/* Returns the part of the page after the example's heading; NULL if there is no such heading. */
static char *example_section(const text *page) {
    char *heading = strstr(page->at, EXAMPLE_HEADING);
    return heading == NULL ? NULL : heading + strlen(EXAMPLE_HEADING);
}

static int hex_digit(char c) {
    static const char DIGITS[] = "0123456789abcdef";
    const char *at = c == 0 ? NULL : strchr(DIGITS, c);
    return at == NULL ? -1 : (int)(at - DIGITS);
}

/* Appends the bytes of a line of the dump to `image`. A line is an offset of 8 digits, a blank, and a blank before each
 * byte. Returns the offset, or SIZE_MAX if this is not such a line. */
static size_t parse_dump_line(const char *line, text *image) {
    size_t offset = 0;
    for (int i = 0; i < 8; i++) {
        if (hex_digit(line[i]) < 0)
            return SIZE_MAX;
        offset = offset * 16 + (size_t)hex_digit(line[i]);
    }
    CHECK(offset < 65536);
    while (image->used < offset)
        append_bytes(image, "", 1);
    if (line[8] != ' ')
        return offset;
    for (line += 9; line[0] == ' ' && hex_digit(line[1]) >= 0; line += 3) {
        char byte = (char)(hex_digit(line[1]) * 16 + hex_digit(line[2]));
        append_bytes(image, &byte, 1);
    }
    return offset;
}

/* ---- the tests ---- */

TEST(the_same_operations_give_the_golden_bytes) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (!CASES[i].kept)
            continue;
        char path[PATH_BYTES_MAX];
        text want = read_file(golden_path(CASES[i].name, path));
        kith_filter *filter = make(&CASES[i], NULL);
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
        check_same_bytes(CASES[i].name, bytes, byte_count, &want);

        static const char SAVED[] = "golden-saved.kith";
        CHECK_OK(kith_filter_save(filter, SAVED));
        text saved = read_file(SAVED);
        check_same_bytes(CASES[i].name, saved.at, saved.used, &want);
        CHECK(remove(SAVED) == 0);
        free(saved.at);
        free(want.at);
        kith_filter_free(filter);
    }
}

TEST(golden_files_open_and_find_every_member) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
        const golden_case *c = &CASES[i];
        if (!c->kept)
            continue;
        bool *member = calloc(c->keys, sizeof *member);
        CHECK(member != NULL);
        kith_filter_free(make(c, member));
        char path[PATH_BYTES_MAX], key[KEY_BYTES_MAX];
        kith_filter *filter = open_file(golden_path(c->name, path));
        CHECK(strcmp(kith_filter_kind_name(filter), c->kind) == 0);
        for (size_t k = 0; k < c->keys; k++)
            if (member[k] && !kith_filter_has(filter, key, key_of(c, k, key)))
                CHECK_FAIL("%s does not find %s", c->name, key);
        kith_filter_free(filter);
        free(member);
    }
}

TEST(golden_files_have_the_pinned_false_positives) {
    text listed = read_file(FALSE_POSITIVES);
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (!CASES[i].kept)
            continue;
        char path[PATH_BYTES_MAX];
        kith_filter *filter = open_file(golden_path(CASES[i].name, path));
        size_t found[PINNED];
        false_positives(filter, CASES[i].name, found);
        text lines = {NULL, 0, 0};
        for (size_t p = 0; p < PINNED; p++)
            append(&lines, "%s.kith absent-%zu\n", CASES[i].name, found[p]);
        const char *at = strstr(listed.at, lines.at);
        if (at == NULL || (at != listed.at && at[-1] != '\n'))
            CHECK_FAIL("false_positives.txt does not have these lines:\n%s", lines.at);
        free(lines.at);
        kith_filter_free(filter);
    }
    free(listed.at);
}

TEST(the_hex_of_the_format_page_is_the_example_file) {
    text page = read_file(FORMAT_PAGE);
    char path[PATH_BYTES_MAX];
    text want = read_file(golden_path("example", path)), image = {NULL, 0, 0};
    char *line = example_section(&page);
    CHECK(line != NULL);
    line = strstr(line, "```\n");
    CHECK(line != NULL);
    append_bytes(&image, "", 0);
    size_t last = SIZE_MAX;
    for (line += 4; strncmp(line, "```", 3) != 0; line = strchr(line, '\n') + 1) {
        CHECK(strchr(line, '\n') != NULL);
        last = parse_dump_line(line, &image);
        CHECK(last != SIZE_MAX);
    }
    CHECK_EQ_U64(last, want.used);
    check_same_bytes("the page's hex", image.at, image.used, &want);
    free(page.at);
    free(want.at);
    free(image.at);
}

TEST(the_example_of_the_format_page_is_up_to_date) {
    text page = read_file(FORMAT_PAGE), want = example_text();
    const char *section = example_section(&page);
    CHECK(section != NULL);
    check_same_bytes("the page's example", section, strlen(section), &want);
    free(page.at);
    free(want.at);
}

/* ---- the commands ---- */

static void make_all(void) {
    text listed = {NULL, 0, 0};
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (!CASES[i].kept)
            continue;
        char path[PATH_BYTES_MAX];
        kith_filter *filter = make(&CASES[i], NULL);
        CHECK_OK(kith_filter_save(filter, golden_path(CASES[i].name, path)));
        size_t found[PINNED];
        false_positives(filter, CASES[i].name, found);
        for (size_t p = 0; p < PINNED; p++)
            append(&listed, "%s.kith absent-%zu\n", CASES[i].name, found[p]);
        kith_filter_free(filter);
    }
    write_file(FALSE_POSITIVES, &listed);

    text page = read_file(FORMAT_PAGE), example = example_text();
    char *section = example_section(&page);
    CHECK(section != NULL);
    page.used = (size_t)(section - page.at);
    append_bytes(&page, example.at, example.used);
    write_file(FORMAT_PAGE, &page);
    free(page.at);
    free(example.at);
    free(listed.at);
}

static void print_members(const golden_case *c) {
    bool *member = calloc(c->keys, sizeof *member);
    CHECK(member != NULL);
    kith_filter_free(make(c, member));
    char key[KEY_BYTES_MAX];
    for (size_t i = 0; i < c->keys; i++)
        if (member[i])
            printf("%.*s\n", (int)key_of(c, i, key), key);
    free(member);
}

static void save(const golden_case *c, const char *path) {
    kith_filter *filter = make(c, NULL);
    CHECK_OK(kith_filter_save(filter, path));
    kith_filter_free(filter);
}

static void print_lookups(const char *path) {
    kith_filter *filter = open_file(path);
    char key[4096];
    while (fgets(key, sizeof key, stdin) != NULL)
        puts(kith_filter_has(filter, key, strcspn(key, "\n")) ? "yes" : "no");
    kith_filter_free(filter);
}

static void print_digests(const char *path) {
    text file = read_file(path);
    kithi_head head; /* has the secret key, which kith_filter_hash() does not return */
    CHECK_OK(kithi_header_read((const uint8_t *)file.at, file.used, &head));
    char key[4096];
    while (fgets(key, sizeof key, stdin) != NULL)
        printf("%" PRIu64 "\n", kith_digest(&head.hash, key, strcspn(key, "\n")));
    free(file.at);
}

/* Forges a file, with correct checksums. "capacities" multiplies the capacity of every layer by 1000, "capacity" adds
 * one key to that of the last layer, "rate" raises the rate of the last layer by a thousandth, and "nothing" only
 * recomputes the checksums. */
static void forge(const char *what, const char *from, const char *to) {
    text file = read_file(from);
    uint8_t *block = (uint8_t *)file.at, *body = block + KITHI_HEADER_BYTES, *at = body + KITHI_LAYERS_DIRECTORY_BYTES;
    kithi_head outer;
    CHECK_OK(kithi_header_read(block, file.used, &outer));
    uint64_t layers = outer.params[KITHI_PARAM_LAYERS_COUNT], factor = strcmp(what, "capacities") == 0 ? 1000 : 1;
    CHECK(outer.kind_id == KITHI_LAYERS_ID);
    outer.capacity = 0;
    outer.params[KITHI_PARAM_LAYERS_FIRST_CAPACITY] *= factor;
    for (uint64_t i = 0; i < layers; i++) {
        kithi_head layer;
        uint64_t layer_bytes = kithi_load64(body + 8 * i);
        CHECK_OK(kithi_header_read(at, layer_bytes, &layer));
        bool last = i + 1 == layers;
        layer.capacity = layer.capacity * factor + (last && strcmp(what, "capacity") == 0);
        layer.rate *= last && strcmp(what, "rate") == 0 ? 1.001 : 1;
        outer.capacity += layer.capacity;
        kithi_block_seal(at, &layer);
        at += (layer_bytes + 63) / 64 * 64;
    }
    kithi_block_seal(block, &outer);
    write_file(to, &file);
    free(file.at);
    kith_filter *filter = NULL;
    puts(kith_filter_open(to, KITH_OPEN_DEFAULT, NULL, &filter) == KITH_OK ? "opened" : "refused");
    kith_filter_free(filter);
}

static bool run_command(int argc, char **argv) {
    const char *command = argv[1];
    const golden_case *named = argc >= 3 ? case_named(argv[2]) : NULL;
    if (strcmp(command, "--make") == 0 && argc == 2)
        make_all();
    else if (strcmp(command, "--list-made") == 0 && argc == 2) {
        for (size_t i = 0; i < CASE_COUNT; i++)
            if (!CASES[i].kept)
                puts(CASES[i].name);
    } else if (strcmp(command, "--save") == 0 && argc == 4 && named != NULL)
        save(named, argv[3]);
    else if (strcmp(command, "--members") == 0 && argc == 3 && named != NULL)
        print_members(named);
    else if (strcmp(command, "--lookup") == 0 && argc == 3)
        print_lookups(argv[2]);
    else if (strcmp(command, "--digests") == 0 && argc == 3)
        print_digests(argv[2]);
    else if (strcmp(command, "--forge") == 0 && argc == 5)
        forge(argv[2], argv[3], argv[4]);
    else
        return false;
    return true;
}

int main(int argc, char **argv) {
    if (argc < 2 || strncmp(argv[1], "--", 2) != 0 || strcmp(argv[1], "--list") == 0)
        return check_main(argc, argv);
    if (setjmp(check_exit) != 0)
        return 1;
    if (!run_command(argc, argv)) {
        fprintf(stderr, "golden: no such command or filter; see the comment at the top of golden.c\n");
        return 2;
    }
    return fflush(stdout) != 0;
}
