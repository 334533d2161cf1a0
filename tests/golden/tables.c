/* golden_tables: tests with table files that every later version must be able to read, and to write byte for byte.
 *
 *     golden_tables                            runs the tests
 *     golden_tables --make                     writes all table-*.kith files of this folder
 *     golden_tables --list-made                prints the names of the tables that are not kept as files (see CASES)
 *     golden_tables --save NAME FILE           creates a table and saves it
 *     golden_tables --expected NAME            prints one line per key for many keys: the key in hexadecimal, a space,
 *                                              and its value, or "no" if the key is not in the table
 *     golden_tables --tamper FROM FOLDER       for each line "AT BIT" of standard input: copies the file (of a table or
 *                                              of a filter without notes) to FOLDER/AT,
 *                                              flips this bit of byte AT and recomputes all checksums; prints "opened"
 *                                              or "refused": whether the library opens it
 *     golden_tables --damage FROM FOLDER       for each line "AT" of standard input: copies the file to
 *                                              FOLDER/with-byte-AT-changed with another byte there
 *
 * golden.c says when files may be remade. The commands after --make are for tests/interop, where a second reader,
 * written from docs/format.md, is compared with the library. */
#include <kith/kith.h>

#include "check.h"
#include "core/hash.h"
#include "core/mix.h"
#include "format/format.h"
#include "golden/files.h"

enum {
    KEY_BYTES_MAX = 256,
    LONG_KEY = 5, /* index of a byte string whose length needs two bytes of LEB128 */
    LONG_KEY_BYTES = 200,
};

/* Offsets in a header. */
enum {
    KIND_AT = 10,
    BODY_BYTES_AT = 96,
    BUCKETS_AT = 104 + 8 * 5,
    OPTION_B_AT = 104 + 8 * 6 + 2,
    BODY_CHECKSUM_AT = 176,
    HEADER_CHECKSUM_AT = 184,
};

enum { TABLE_KINDS = 32 }; /* the first kind that is a table */

/* ---- the tables ---- */

typedef struct table_case {
    const char *name;
    const char *kind;
    unsigned key_bytes;
    const char *options;
    kith_family_id family;
    unsigned independence;
    uint64_t capacity;
    uint64_t keys; /* see fill() */
    bool kept;     /* is a file in this folder; the others are created for tests/interop */
} table_case;

/* Kept as files, all small: an image for each key size, entries with and without lengths, and a bitset. Not kept:
 * what takes many keys to reach (several checksums, four functions at a high load), more values of the options, and
 * the families with a proved independence, whose functions the second reader draws from the description in
 * docs/format.md. */
static const table_case CASES[] = {
    {"table-words", "cuckoo", 8, NULL, KITH_FAMILY_XXH3, 0, 70, 88, true},
    {"table-pairs", "cuckoo", 16, "d=3 b=2 layout=two", KITH_FAMILY_SIPHASH, 0, 40, 40, true},
    {"table-ints", "cuckoo", 4, NULL, KITH_FAMILY_XXH3, 0, 0, 68, true},
    {"table-strings", "cuckoo", 0, NULL, KITH_FAMILY_XXH3, 0, 0, 40, true},
    {"table-probe", "probe", 8, "sequence=linear load=60", KITH_FAMILY_TABULATION, 0, 20, 30, true},
    {"table-bitset", "bitset", 4, "universe=5000", KITH_FAMILY_XXH3, 0, 0, 60, true},
    {"table-large-words", "cuckoo", 8, NULL, KITH_FAMILY_SIPHASH, 0, 20000, 20000, false},
    {"table-large-pairs", "cuckoo", 16, "load=97", KITH_FAMILY_XXH3, 0, 5000, 5000, false},
    {"table-large-strings", "cuckoo", 0, "layout=two", KITH_FAMILY_SIPHASH, 0, 0, 3000, false},
    {"table-b1", "cuckoo", 8, "b=1", KITH_FAMILY_XXH3, 0, 300, 300, false},
    {"table-b1-two", "cuckoo", 4, "b=1 layout=two insert=search", KITH_FAMILY_SIPHASH, 0, 300, 300, false},
    {"table-auto", "cuckoo", 8, "b=1 layout=two max=auto", KITH_FAMILY_XXH3, 0, 300, 300, false},
    {"table-evict", "cuckoo", 4, "start=second evict=first max=600", KITH_FAMILY_XXH3, 0, 300, 300, false},
    {"table-evict-strings", "cuckoo", 0, "b=1 start=random evict=first", KITH_FAMILY_XXH3, 0, 0, 200, false},
    {"table-d3-b3", "cuckoo", 8, "d=3 b=3 load=95", KITH_FAMILY_XXH3, 0, 1000, 1000, false},
    {"table-d4-b1", "cuckoo", 16, "d=4 b=1 insert=walk load=93", KITH_FAMILY_SIPHASH, 0, 1000, 1000, false},
    {"table-d4-two", "cuckoo", 4, "d=4 b=2 layout=two load=96", KITH_FAMILY_XXH3, 0, 1000, 1000, false},
    {"table-b4", "cuckoo", 4, "b=4 load=95", KITH_FAMILY_SIPHASH, 0, 1000, 1000, false},
    {"table-none", "cuckoo", 8, NULL, KITH_FAMILY_XXH3, 0, 0, 0, false},
    {"table-probe-strings", "probe", 0, "sequence=double grow=no", KITH_FAMILY_XXH3, 0, 100, 100, false},
    {"table-probe-permutation", "probe", 8, "sequence=permutation", KITH_FAMILY_XXH3, 0, 100, 100, false},
    {"table-chain", "chain", 16, "load=300", KITH_FAMILY_POLYNOMIAL, 0, 100, 100, false},
    {"table-list", "list", 0, NULL, KITH_FAMILY_XXH3, 0, 0, 30, false},
    {"table-bitset-words", "bitset", 8, NULL, KITH_FAMILY_XXH3, 0, 100, 300, false},
    {"table-polynomial", "cuckoo", 8, NULL, KITH_FAMILY_POLYNOMIAL, 0, 300, 300, false},
    {"table-polynomial-ints", "cuckoo", 4, "d=4 b=2 load=95", KITH_FAMILY_POLYNOMIAL, 64, 300, 300, false},
    {"table-polynomial-pairs", "cuckoo", 16, "d=3 layout=two", KITH_FAMILY_POLYNOMIAL, 5, 0, 300, false},
    {"table-tabulation", "cuckoo", 8, "d=3 b=2", KITH_FAMILY_TABULATION, 0, 300, 300, false},
    {"table-tabulation-ints", "cuckoo", 4, "b=1", KITH_FAMILY_TABULATION, 0, 300, 300, false},
    {"table-tabulation-pairs", "cuckoo", 16, "d=4 b=1 load=93", KITH_FAMILY_TABULATION, 0, 300, 300, false},
    {"table-multiply-shift", "cuckoo", 8, "d=4 b=2", KITH_FAMILY_MULTIPLY_SHIFT, 0, 300, 300, false},
    {"table-multiply-shift-ints", "cuckoo", 4, "layout=two", KITH_FAMILY_MULTIPLY_SHIFT, 0, 0, 300, false},
    {"table-multiply-shift-pairs", "cuckoo", 16, "b=1", KITH_FAMILY_MULTIPLY_SHIFT, 0, 300, 300, false},
};
#define CASE_COUNT (sizeof CASES / sizeof *CASES)
#define EACH_CASE(c) for (const table_case *c = CASES; c < CASES + CASE_COUNT; c++)
#define EACH_KEPT(c) EACH_CASE(c) if (c->kept)

static const table_case *case_named(const char *name) {
    EACH_CASE(c)
    if (strcmp(c->name, name) == 0)
        return c;
    return NULL;
}

static bool is_bitset(const table_case *c) {
    return strcmp(c->kind, "bitset") == 0;
}

static bool is_image(const table_case *c) {
    return strcmp(c->kind, "cuckoo") == 0 && c->key_bytes != 0;
}

/* Key i of a table of byte strings: key 0 is empty, key LONG_KEY is long, the others are "key-i". Keys of fixed size
 * are integers made from i. Key 0 is all zeros, and with its value 0 its record looks like that of a free slot.
 * Images with a family of proved independence get keys that use all 64 bits, so that a polynomial also meets words
 * above its prime. */
static size_t key_of(const table_case *c, uint64_t i, uint8_t key[KEY_BYTES_MAX]) {
    memset(key, 'x', KEY_BYTES_MAX);
    if (c->key_bytes == 0) {
        if (i == 0 || i == LONG_KEY)
            return i == 0 ? 0 : LONG_KEY_BYTES;
        return (size_t)snprintf((char *)key, KEY_BYTES_MAX, "key-%" PRIu64, i);
    }
    bool mixed = is_image(c) && c->family > KITH_FAMILY_SIPHASH;
    uint64_t low = is_bitset(c) ? i * 37 : c->key_bytes == 4 ? (uint32_t)i * 0x9e3779b1u : mixed ? kithi_mix(i) : i;
    uint64_t high = c->key_bytes == 16 && i != 0 ? kithi_mixed_word(i, 0) : 0;
    for (unsigned byte = 0; byte < c->key_bytes; byte++)
        key[byte] = (uint8_t)((byte < 8 ? low : high) >> (8 * (byte % 8)));
    return c->key_bytes;
}

/* Values of all lengths from 0 to 64 bits. */
static uint64_t value_of(const table_case *c, uint64_t i) {
    return is_bitset(c) || i == 0 ? 0 : i == 1 ? UINT64_MAX : kithi_mixed_word(i, 0) >> (i % 64);
}

/* fill() removes keys 3, 8, 13, … and puts every second of them back. */
static bool is_in(const table_case *c, uint64_t i) {
    return i < c->keys && i % 10 != 8;
}

static void put(const table_case *c, kith_table *table, uint64_t i, uint64_t value) {
    uint8_t key[KEY_BYTES_MAX];
    CHECK_OK(kith_table_put(table, key, key_of(c, i, key), value, NULL));
}

/* Puts the keys in order, every seventh first with another value, then removes some keys and puts some of these
 * back. */
static void fill(const table_case *c, kith_table *table) {
    uint8_t key[KEY_BYTES_MAX];
    for (uint64_t i = 0; i < c->keys; i++)
        put(c, table, i, i % 7 == 0 && !is_bitset(c) ? i + 1 : value_of(c, i));
    for (uint64_t i = 0; i < c->keys; i += 7)
        put(c, table, i, value_of(c, i));
    for (uint64_t i = 3; i < c->keys; i += 5)
        CHECK_OK(kith_table_remove(table, key, key_of(c, i, key), NULL));
    for (uint64_t i = 3; i < c->keys; i += 10)
        put(c, table, i, value_of(c, i));
}

static kith_table *make(const table_case *c) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = c->kind;
    spec.key_bytes = c->key_bytes;
    spec.capacity = c->capacity;
    spec.options = c->options;
    spec.family = c->family;
    spec.independence = c->independence;
    spec.seed = 1;
    kith_table *table;
    CHECK_OK(kith_table_create(&spec, &table));
    fill(c, table);
    return table;
}

static void save(const table_case *c, const char *path) {
    kith_table *table = make(c);
    CHECK_OK(kith_table_save(table, path));
    kith_table_free(table);
}

/* The number of keys to look up: all keys that were ever in the table, and as many that never were. */
static uint64_t lookup_count(const table_case *c) {
    return 2 * c->keys + 10;
}

static void check_lookups(const table_case *c, const char *path, unsigned flags) {
    kith_table *table;
    kith_status status = kith_table_open(path, flags, NULL, &table);
    if (status != KITH_OK)
        CHECK_FAIL("%s: %s", path, kith_status_text(status));
    CHECK(strcmp(kith_table_kind_name(table), c->kind) == 0);
    uint64_t count = 0;
    for (uint64_t i = 0; i < lookup_count(c); i++) {
        uint8_t key[KEY_BYTES_MAX];
        uint64_t value = 0;
        bool found = kith_table_get(table, key, key_of(c, i, key), &value);
        if (found != is_in(c, i) || (found && value != value_of(c, i)))
            CHECK_FAIL("%s: key %" PRIu64 " is %s, value %" PRIu64, path, i, found ? "present" : "absent", value);
        count += found;
    }
    CHECK_EQ_U64(kith_table_count(table), count);
    kith_table_free(table);
}

/* ---- the tests ---- */

static const char SAVED[] = "golden-tables-saved.kith";

TEST(the_same_operations_give_the_golden_bytes) {
    EACH_KEPT(c) {
        char path[PATH_BYTES_MAX];
        text want = read_file(golden_path(c->name, path));
        save(c, SAVED);
        text saved = read_file(SAVED);
        check_same_bytes(c->name, saved.at, saved.used, &want);
        CHECK(remove(SAVED) == 0);
        free(saved.at);
        free(want.at);
    }
}

TEST(golden_files_open_and_have_every_key_and_no_other) {
    EACH_KEPT(c) {
        char path[PATH_BYTES_MAX];
        check_lookups(c, golden_path(c->name, path), KITH_OPEN_DEFAULT);
        check_lookups(c, path, KITH_OPEN_COPY);
    }
}

TEST(tables_that_are_not_kept_open_and_have_every_key_and_no_other) {
    EACH_CASE(c) {
        if (c->kept)
            continue;
        save(c, SAVED);
        check_lookups(c, SAVED, KITH_OPEN_DEFAULT);
        CHECK(remove(SAVED) == 0);
    }
}

/* Opening and saving an image must give the same file. (Entries may be saved in another order.) */
TEST(images_saved_again_are_the_same_bytes) {
    EACH_KEPT(c) {
        if (!is_image(c))
            continue;
        char path[PATH_BYTES_MAX];
        text want = read_file(golden_path(c->name, path));
        kith_table *table;
        CHECK_OK(kith_table_open(path, KITH_OPEN_COPY, NULL, &table));
        CHECK_OK(kith_table_save(table, SAVED));
        kith_table_free(table);
        text saved = read_file(SAVED);
        check_same_bytes(c->name, saved.at, saved.used, &want);
        CHECK(remove(SAVED) == 0);
        free(saved.at);
        free(want.at);
    }
}

/* If every key were in its first bucket, the images would not test the other buckets. */
TEST(golden_images_have_marks) {
    EACH_KEPT(c) {
        if (!is_image(c))
            continue;
        char path[PATH_BYTES_MAX];
        text file = read_file(golden_path(c->name, path));
        size_t slots = (size_t)(number_at(&file, BUCKETS_AT, 8) * number_at(&file, OPTION_B_AT, 1));
        uint64_t marks = 0;
        size_t tags = HEADER_BYTES + slots * (c->key_bytes == 16 ? 24 : 16);
        CHECK(tags + slots <= file.used);
        for (size_t slot = 0; slot < slots; slot++)
            marks += number_at(&file, tags + slot, 1) >> 7;
        if (marks < 5)
            CHECK_FAIL("%s has only %" PRIu64 " marks", c->name, marks);
        free(file.at);
    }
}

/* ---- the commands ---- */

static void print_key(const uint8_t *key, size_t key_bytes) {
    for (size_t i = 0; i < key_bytes; i++)
        printf("%02x", (unsigned)key[i]);
}

static void print_expected(const table_case *c) {
    uint8_t key[KEY_BYTES_MAX];
    for (uint64_t i = 0; i < lookup_count(c); i++) {
        print_key(key, key_of(c, i, key));
        if (is_in(c, i))
            printf(" %" PRIu64 "\n", value_of(c, i));
        else
            puts(" no");
    }
    memset(key, 0, sizeof key);
    print_key(key, c->key_bytes + 1); /* a size that no key has; for byte strings: one zero byte */
    puts(" no");
}

static void store64(char *at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        at[i] = (char)(value >> (8 * i));
}

/* Recomputes all checksums, as an attacker can. The body's size is an argument because the header may have been
 * changed. */
static void seal(text *file, size_t body_bytes) {
    size_t part = KITHI_PAGE_BYTES, parts = (body_bytes + part - 1) / part;
    char *body = file->at + HEADER_BYTES, *checksums = body + body_bytes;
    CHECK(HEADER_BYTES + body_bytes + 8 * parts == file->used);
    for (size_t i = 0; i < parts; i++)
        store64(checksums + 8 * i, kithi_checksum(body + part * i, i + 1 < parts ? part : body_bytes - part * i));
    store64(file->at + BODY_CHECKSUM_AT, kithi_checksum(checksums, 8 * parts));
    store64(file->at + HEADER_CHECKSUM_AT, kithi_checksum(file->at, HEADER_CHECKSUM_AT));
}

static void tamper_one(const text *from, size_t body_bytes, size_t at, unsigned bit, const char *to) {
    text file = {NULL, 0, 0};
    append_bytes(&file, from->at, from->used);
    CHECK(at < file.used && bit < 8);
    file.at[at] = (char)(file.at[at] ^ 1 << bit);
    seal(&file, body_bytes);
    write_file(to, &file);
    free(file.at);
    kith_table *table = NULL;
    kith_filter *filter = NULL;
    kith_status status = number_at(from, KIND_AT, 2) < TABLE_KINDS
                             ? kith_filter_open(to, KITH_OPEN_DEFAULT, NULL, &filter)
                             : kith_table_open(to, KITH_OPEN_DEFAULT, NULL, &table);
    puts(status == KITH_OK ? "opened" : "refused");
    kith_filter_free(filter);
    kith_table_free(table);
}

static void tamper(const char *path, const char *folder) {
    text from = read_file(path);
    size_t at, body_bytes = (size_t)number_at(&from, BODY_BYTES_AT, 8);
    unsigned bit;
    while (scanf("%zu %u", &at, &bit) == 2) {
        char to[PATH_BYTES_MAX];
        CHECK(snprintf(to, sizeof to, "%s/%zu", folder, at) < (int)sizeof to);
        tamper_one(&from, body_bytes, at, bit, to);
    }
    free(from.at);
}

static void damage(const char *path, const char *folder) {
    text file = read_file(path);
    size_t at;
    while (scanf("%zu", &at) == 1) {
        char to[PATH_BYTES_MAX];
        CHECK(snprintf(to, sizeof to, "%s/with-byte-%zu-changed", folder, at) < (int)sizeof to && at < file.used);
        file.at[at]++;
        write_file(to, &file);
        file.at[at]--;
    }
    free(file.at);
}

static bool run_command(int argc, char **argv) {
    const char *command = argv[1];
    const table_case *named = argc >= 3 ? case_named(argv[2]) : NULL;
    char path[PATH_BYTES_MAX];
    if (strcmp(command, "--make") == 0 && argc == 2) {
        EACH_KEPT(c)
        save(c, golden_path(c->name, path));
    } else if (strcmp(command, "--list-made") == 0 && argc == 2) {
        EACH_CASE(c)
        if (!c->kept)
            puts(c->name);
    } else if (strcmp(command, "--save") == 0 && argc == 4 && named != NULL)
        save(named, argv[3]);
    else if (strcmp(command, "--expected") == 0 && argc == 3 && named != NULL)
        print_expected(named);
    else if (strcmp(command, "--tamper") == 0 && argc == 4)
        tamper(argv[2], argv[3]);
    else if (strcmp(command, "--damage") == 0 && argc == 4)
        damage(argv[2], argv[3]);
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
        fprintf(stderr, "golden_tables: no such command or table; see the comment at the top of tables.c\n");
        return 2;
    }
    return fflush(stdout) != 0;
}
