/* Tests files of tables that were forged to be slow to open: every key collides under the functions that the generator
 * in the file gives, or the table has so few slots that every put examines all keys. Opening one may cost at most ten
 * times as much as opening an honest file of the same number of keys. The cost is counted, not timed: this program is
 * linked with --wrap=kithi_table_new, which gives a table that is being opened a trace. Also tests options that no
 * table has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"
#include "core/function.h"
#include "core/mix.h"
#include "core/prng.h"
#include "format/format.h"
#include "tables/table_kind.h"
#include "tables/cuckoo/slots.h"
#include "folder.h"

enum { KEYS = 3000, ENTRIES_ID = 33, BYTES_PARAM = KITHI_PARAM_TABLE_FIRST_FREE, OPTION_BYTES = 8 * KITHI_OPTIONS_MAX };
enum { COPIES_OF_A_KEY = 2 };

/* ---- counting ---- */

typedef struct work {
    uint64_t looks;    /* slots, nodes and buckets examined, and entries moved */
    uint64_t rebuilds; /* growths and draws of new functions; each touches every key */
} work;

static work opening;

static void count_step(void *context, kith_step step, uint64_t place, uint64_t to) {
    (void)place;
    (void)to;
    work *w = context;
    if (step == KITH_STEP_LOOK || step == KITH_STEP_MOVE)
        w->looks++;
    else
        w->rebuilds++;
}

kith_status __real_kithi_table_new(const kith_table *like, kith_table **table);
kith_status __wrap_kithi_table_new(const kith_table *like, kith_table **table);
kith_status __wrap_kithi_table_new(const kith_table *like, kith_table **table) {
    kith_status status = __real_kithi_table_new(like, table);
    if (status == KITH_OK) {
        (*table)->trace = count_step;
        (*table)->trace_context = &opening;
    }
    return status;
}

static bool has_no_random_bytes;

kith_status __real_kith_hash_untrusted(kith_hash *hash);
kith_status __wrap_kith_hash_untrusted(kith_hash *hash);
kith_status __wrap_kith_hash_untrusted(kith_hash *hash) {
    return has_no_random_bytes ? KITH_E_RANDOM : __real_kith_hash_untrusted(hash);
}

/* ---- keys that collide ---- */

/* Returns the word whose kithi_xxh3_word() is `value`, by inverting each step of the hash. */
static uint64_t word_with_value(uint64_t flip, uint64_t value) {
    uint64_t prime = UINT64_C(0x9fb21c651e98df25), inverse = prime;
    for (int i = 0; i < 6; i++) /* Newton: the number of correct bits doubles */
        inverse *= 2 - prime * inverse;
    uint64_t x = value ^ (value >> 28) ^ (value >> 56);
    x *= inverse;
    x ^= (x >> 35) + 8;
    x *= inverse;
    for (int i = 0; i < 63; i++) /* the 64th power of the step is the identity */
        x ^= kithi_rotate_left(x, 49) ^ kithi_rotate_left(x, 24);
    return kithi_rotate_left(x ^ flip, 32);
}

static uint64_t flip_of(uint64_t function_seed) {
    kith_function *function;
    CHECK_OK(kith_function_draw(KITH_FAMILY_XXH3, 0, function_seed, NULL, &function));
    uint64_t flip = function->flip;
    kith_function_free(function);
    return flip;
}

/* ---- files ---- */

typedef struct file_spec {
    const char *kind;
    uint64_t kind_id;
    unsigned key_bytes; /* 8, or 0: byte strings of 8 bytes */
    const char *options;
    uint64_t capacity;
} file_spec;

static kith_table_spec spec_of(const file_spec *f, uint64_t generator) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = f->kind;
    spec.key_bytes = f->key_bytes;
    spec.options = f->options;
    spec.capacity = f->capacity;
    spec.seed = generator;
    return spec;
}

/* Writes the entries of `keys`, in order, with a generator in the header that a reader may draw its functions from. */
static void write_entries(const char *path, const file_spec *f, uint64_t generator, const uint64_t *keys, size_t n) {
    kith_table_spec spec = spec_of(f, generator);
    kith_table *like;
    CHECK_OK(kith_table_create(&spec, &like));
    size_t entry_bytes = 8 + 1 + (f->key_bytes == 0), entries = n * entry_bytes;
    kithi_head head = {.kind_id = ENTRIES_ID, .capacity = f->capacity, .count = n};
    head.params[KITHI_PARAM_TABLE_KEY_BYTES] = f->key_bytes;
    head.params[KITHI_PARAM_TABLE_GENERATOR] = generator;
    head.params[KITHI_PARAM_TABLE_KIND] = f->kind_id;
    head.params[BYTES_PARAM] = entries;
    head.body_bytes = (OPTION_BYTES + entries + KITHI_BODY_ALIGNMENT - 1) / KITHI_BODY_ALIGNMENT * KITHI_BODY_ALIGNMENT;
    uint64_t block_bytes;
    CHECK(kithi_block_bytes(head.body_bytes, &block_bytes));
    uint8_t *block = calloc(1, (size_t)block_bytes), *at = block + KITHI_HEADER_BYTES;
    CHECK(block != NULL);
    for (size_t i = 0; i < like->kind->info.option_count; i++)
        kithi_store64(at + 8 * i, like->options[i]);
    at += OPTION_BYTES;
    for (size_t i = 0; i < n; i++) {
        if (f->key_bytes == 0)
            *at++ = 8;
        kithi_store64(at, keys[i]);
        at[8] = (uint8_t)(i % 128);
        at += 9;
    }
    kithi_block_seal(block, &head);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(block, 1, (size_t)block_bytes, file) == block_bytes && fclose(file) == 0);
    free(block);
    kith_table_free(like);
}

static work work_of_opening(const char *path, const uint64_t *keys, size_t n) {
    kith_table *table;
    opening = (work){0, 0};
    CHECK_OK(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &table));
    work w = opening;
    CHECK_EQ_U64(kith_table_count(table), n);
    for (size_t i = 0; i < n; i++) {
        uint8_t key[8];
        uint64_t value;
        kithi_store64(key, keys[i]);
        CHECK(kith_table_get(table, key, sizeof key, &value) && value == i % 128);
    }
    CHECK_OK(kith_table_check(table, NULL));
    kith_table_free(table);
    return w;
}

/* Random keys. */
static void honest_keys(uint64_t *keys, size_t n) {
    kithi_prng prng = {11};
    for (size_t i = 0; i < n; i++)
        keys[i] = kithi_prng_next(&prng);
}

/* Keys each of which, when it is put, has the same slot or bucket as those before it. If the table draws new functions,
 * the keys follow: it draws once when it is created and once in each rebuild. */
static void forged_keys(const file_spec *f, uint64_t generator, uint64_t *keys, size_t n) {
    bool buckets = strcmp(f->kind, "cuckoo") == 0;
    work w = {0, 0};
    kith_table_spec spec = spec_of(f, generator);
    kith_table *table;
    CHECK_OK(kith_table_create(&spec, &table));
    kith_table_set_trace(table, count_step, &w);
    kithi_prng prng = {generator};
    uint64_t seed = kithi_prng_next(&prng), flip = flip_of(buckets ? kithi_mixed_word(seed, 0) : seed),
             seen = w.rebuilds;
    for (size_t i = 0; i < n; i++) {
        keys[i] = word_with_value(flip, i);
        CHECK_EQ_U64(kithi_xxh3_word(flip, keys[i]), i);
        uint8_t key[8];
        kithi_store64(key, keys[i]);
        CHECK_OK(kith_table_put(table, key, sizeof key, i % 128, NULL));
        for (; buckets && seen < w.rebuilds; seen++)
            flip = flip_of(kithi_mixed_word(kithi_prng_next(&prng), 0));
    }
    kith_table_free(table);
}

static const file_spec FILES[] = {
    {"chain", 3, 8, NULL, 0},
    {"chain", 3, 0, NULL, 0},
    {"chain", 3, 8, "grow=no", 1},
    {"list", 5, 8, NULL, 0},
    {"list", 5, 0, NULL, 0},
    {"probe", 2, 8, NULL, 0},
    {"probe", 2, 8, "sequence=linear", 0},
    {"probe", 2, 0, "sequence=double", 0},
    {"probe", 2, 8, "grow=no", 2 * KEYS},
    {"cuckoo", 1, 0, NULL, 0},
    {"cuckoo", 1, 0, "b=1", 0},
};

TEST(opening_a_forged_file_costs_at_most_ten_times_an_honest_one) {
    struct folder folder = fresh_folder();
    static uint64_t keys[KEYS];
    const char *path = in(&folder, "table");
    uint64_t slow = 0;
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        const file_spec *f = &FILES[i];
        honest_keys(keys, KEYS);
        write_entries(path, f, 5, keys, KEYS);
        work honest = work_of_opening(path, keys, KEYS);
        forged_keys(f, 5, keys, KEYS);
        write_entries(path, f, 5, keys, KEYS);
        work forged = work_of_opening(path, keys, KEYS);
        printf("%-6s %-16s looks per key %8.2f honest %8.2f forged, rebuilds %4" PRIu64 " and %4" PRIu64 "\n", f->kind,
               f->options != NULL ? f->options : "", (double)honest.looks / KEYS, (double)forged.looks / KEYS,
               honest.rebuilds, forged.rebuilds);
        /* A kind that is slow by design (list) must not be slow to open: three looks per key are normal for a chain or
         * for probing. */
        bool honest_is_linear = honest.looks <= UINT64_C(10) * KEYS;
        bool forged_is_near = forged.looks <= 10 * honest.looks + KEYS && forged.rebuilds <= 10 * honest.rebuilds + 10;
        slow += !honest_is_linear || !forged_is_near;
    }
    CHECK_EQ_U64(slow, 0);
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

TEST(a_key_that_occurs_twice_is_refused_wherever_it_is) {
    struct folder folder = fresh_folder();
    static uint64_t keys[KEYS];
    static const size_t PAIRS[][COPIES_OF_A_KEY] = {{0, 1}, {0, KEYS - 1}, {KEYS - 2, KEYS - 1}, {17, 1234}};
    const char *path = in(&folder, "table");
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        for (size_t pair = 0; pair < sizeof PAIRS / sizeof *PAIRS; pair++) {
            kith_table *table = NULL;
            honest_keys(keys, KEYS);
            keys[PAIRS[pair][0]] = keys[PAIRS[pair][1]];
            write_entries(path, &FILES[i], 5, keys, KEYS);
            CHECK_STATUS(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &table), KITH_E_CORRUPT);
            CHECK(table == NULL);
        }
    }
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

/* Each open draws new functions, so knowing a copy of the file does not help to predict the table that is made from
 * it. */
TEST(every_open_draws_new_functions) {
    struct folder folder = fresh_folder();
    static uint64_t keys[KEYS];
    const char *path = in(&folder, "table");
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        if (strcmp(FILES[i].kind, "list") == 0)
            continue;
        kith_table *a, *b;
        honest_keys(keys, KEYS);
        write_entries(path, &FILES[i], 5, keys, KEYS);
        CHECK_OK(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &a));
        CHECK_OK(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &b));
        CHECK(a->prng.state != b->prng.state);
        kith_table_free(a);
        kith_table_free(b);
    }
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

TEST(more_entries_than_a_table_of_fixed_size_has_slots_are_refused) {
    struct folder folder = fresh_folder();
    static uint64_t keys[KEYS];
    const char *path = in(&folder, "table");
    kith_table *table = NULL;
    honest_keys(keys, KEYS);
    write_entries(path, &(file_spec){"probe", 2, 8, "grow=no", KEYS / 2}, 5, keys, KEYS);
    CHECK_STATUS(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &table), KITH_E_CORRUPT);
    CHECK(table == NULL);
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

TEST(without_random_bytes_a_table_that_needs_new_functions_is_not_opened) {
    struct folder folder = fresh_folder();
    static uint64_t keys[KEYS];
    const char *path = in(&folder, "table");
    kith_table *table = NULL;
    honest_keys(keys, KEYS);
    write_entries(path, &FILES[0], 5, keys, KEYS);
    has_no_random_bytes = true;
    kith_status status = kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &table);
    has_no_random_bytes = false;
    CHECK_STATUS(status, KITH_E_RANDOM);
    CHECK(table == NULL);
    CHECK_OK(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &table));
    kith_table_free(table);
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

/* A sound table grows before it has more than a fraction of its slots in use, which the option `load` gives. In this
 * image all are in use. With max=auto, a walk in it would have no limit. */
TEST(an_image_with_more_keys_than_its_load_allows_is_refused) {
    struct folder folder = fresh_folder();
    const char *path = in(&folder, "table");
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    kith_table *table = NULL;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.options = "d=2 b=1 load=45 max=auto";
    spec.capacity = 100;
    spec.seed = 7;
    CHECK_OK(kith_table_create(&spec, &table));
    const kithi_cuckoo_table *c = table->state;
    uint64_t key = 0;
    for (uint64_t bucket = 0; bucket < c->buckets; bucket++) {
        uint8_t *record = kithi_cuckoo_table_record(table, c, bucket, 0);
        uint64_t hash;
        do {
            kithi_store64(record, ++key);
            hash = kithi_cuckoo_table_record_hash(table, c, record);
        } while (kithi_cuckoo_table_bucket_of_hash(c, 0, hash) != bucket);
        kithi_cuckoo_table_set_tag(c, bucket, 0, kithi_cuckoo_table_tag_bits(c, hash));
        table->count++;
    }
    CHECK_OK(kith_table_check(table, NULL)); /* apart from the count it is sound */
    CHECK_OK(kith_table_save(table, path));
    kith_table_free(table);
    static const unsigned FLAGS[] = {KITH_OPEN_DEFAULT, KITH_OPEN_LAZY, KITH_OPEN_COPY};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
        kith_status status = kith_table_open(path, FLAGS[i], NULL, &table);
        if (status == KITH_OK && FLAGS[i] == KITH_OPEN_COPY)
            (void)!kith_table_put(table, &(uint64_t){UINT64_MAX}, sizeof(uint64_t), 1, NULL);
        CHECK_STATUS(status, KITH_E_CORRUPT);
    }
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

/* With few keys and a low `load`, a table has more keys than that for a moment. */
TEST(images_of_every_load_are_opened) {
    struct folder folder = fresh_folder();
    const char *path = in(&folder, "table");
    for (unsigned load = 1; load < 50; load++) {
        char options[32];
        kith_table_spec spec = KITH_TABLE_SPEC_INIT;
        kith_table *table, *opened;
        (void)snprintf(options, sizeof options, "d=2 b=1 load=%u max=auto", load);
        spec.kind = "cuckoo";
        spec.key_bytes = 8;
        spec.options = options;
        CHECK_OK(kith_table_create(&spec, &table));
        for (uint64_t key = 0; key < 40; key++) {
            CHECK_OK(kith_table_put(table, &key, sizeof key, key, NULL));
            CHECK_OK(kith_table_save(table, path));
            CHECK_OK(kith_table_open(path, KITH_OPEN_COPY, NULL, &opened));
            CHECK_EQ_U64(kith_table_count(opened), key + 1);
            kith_table_free(opened);
        }
        kith_table_free(table);
    }
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

/* Each option is valid, but a search has no limit of kicks. Options are packed into one parameter: see
 * docs/format.md. */
TEST(options_of_a_table_that_contradict_each_other_are_refused) {
    enum { OPTIONS_PARAM = KITHI_PARAM_TABLE_FIRST_FREE + 1, INSERT_OPTION = KITHI_CUCKOO_TABLE_OPTION_INSERT };
    struct folder folder = fresh_folder();
    const char *path = in(&folder, "table");
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    kith_table *table = NULL;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.options = "insert=walk max=77";
    CHECK_OK(kith_table_create(&spec, &table));
    CHECK_OK(kith_table_save(table, path));
    kith_table_free(table);
    table = NULL;
    uint8_t block[4096];
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL);
    size_t block_bytes = fread(block, 1, sizeof block, file);
    kithi_head head;
    CHECK_OK(kithi_header_read(block, block_bytes, &head));
    CHECK_EQ_U64(head.params[OPTIONS_PARAM] >> 48, 77);
    head.params[OPTIONS_PARAM] &= ~(UINT64_C(0xff) << (8 * INSERT_OPTION));
    head.params[OPTIONS_PARAM] |= (uint64_t)KITHI_CUCKOO_TABLE_INSERT_SEARCH << (8 * INSERT_OPTION);
    kithi_block_seal(block, &head);
    rewind(file);
    CHECK(fwrite(block, 1, block_bytes, file) == block_bytes && fclose(file) == 0);
    static const unsigned FLAGS[] = {KITH_OPEN_DEFAULT, KITH_OPEN_LAZY, KITH_OPEN_COPY};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        CHECK_STATUS(kith_table_open(path, FLAGS[i], NULL, &table), KITH_E_CORRUPT);
    CHECK(table == NULL);
    CHECK(unlink(path) == 0);
    remove_folder(&folder);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
