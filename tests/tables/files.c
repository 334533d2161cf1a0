/* Checks that a saved table has the same content when it is opened, and that invalid files are refused with the right
 * status. */
#include "tables/tables.h"

#include <sys/stat.h>

#include "core/bits.h"
#include "tables/table_kind.h"

static const unsigned FLAGS[] = {KITH_OPEN_DEFAULT, KITH_OPEN_COPY, KITH_OPEN_LAZY, KITH_OPEN_LAZY | KITH_OPEN_COPY};
enum { FLAGS_COUNT = sizeof FLAGS / sizeof *FLAGS };

typedef struct bytes {
    uint8_t *at;
    size_t n;
} bytes;

static bytes read_whole(const char *path) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    bytes b = {NULL, (size_t)ftell(file)};
    b.at = malloc(b.n + 1);
    CHECK(b.at != NULL && fseek(file, 0, SEEK_SET) == 0 && fread(b.at, 1, b.n, file) == b.n);
    (void)fclose(file);
    return b;
}

static void write_whole(const char *path, bytes b) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(b.at, 1, b.n, file) == b.n && fclose(file) == 0);
}

static bool is_entries(const kith_table *t) {
    return t->kind->image == NULL || t->key_bytes == 0;
}

/* Returns a table after many puts and removals of n keys; *m is its model. */
static kith_table *used_table(const subject *s, kith_family_id family, model *m, uint64_t n) {
    kith_table_spec spec = spec_for(s, n);
    spec.family = family;
    kith_table *t = made(&spec);
    uint64_t state = 7;
    for (uint64_t i = 0; i < 2 * n; i++)
        model_step(m, t, &state, 50);
    return t;
}

static void check_content(kith_table *t, const subject *s, model *m) {
    model_compare(m, t);
    for (uint64_t i = 0; i < m->n; i++)
        CHECK(has_index(t, s, i) == m->in[i]);
    if (!kith_table_readonly(t))
        return;
    uint64_t print = print_of(t);
    CHECK_STATUS(put_index(t, s, 0, 5), KITH_E_READONLY);
    CHECK_STATUS(remove_index(t, s, 0), KITH_E_READONLY);
    CHECK_STATUS(kith_table_clear(t), KITH_E_READONLY);
    CHECK_STATUS(kith_table_reserve(t, 1000), KITH_E_READONLY);
    CHECK_EQ_U64(print_of(t), print);
}

static void save_and_open(const subject *s, kith_family_id family) {
    uint64_t n = keys_of(s, s->scans ? 100 : 600), state = 9;
    const char *path = file_named("t.kith"), *again = file_named("again.kith");
    model m = model_new(s, n);
    kith_table *saved = used_table(s, family, &m, n), *opened = NULL;
    CHECK_OK(kith_table_save(saved, path));
    for (unsigned i = 0; i < FLAGS_COUNT; i++) {
        kith_table_free(opened);
        CHECK_OK(kith_table_open(path, FLAGS[i], NULL, &opened));
        CHECK(strcmp(kith_table_kind_name(opened), kith_table_kind_name(saved)) == 0);
        CHECK(kith_table_readonly(opened) == ((FLAGS[i] & KITH_OPEN_COPY) == 0 && !is_entries(saved)));
        check_content(opened, s, &m);
    }
    if (!is_entries(saved)) {
        CHECK_OK(kith_table_save(opened, again));
        bytes first = read_whole(path), second = read_whole(again);
        CHECK(first.n == second.n && memcmp(first.at, second.at, first.n) == 0);
        free(first.at);
        free(second.at);
    }
    /* the last one is a copy, which can be changed */
    for (uint64_t i = 0; i < 2 * n; i++)
        model_step(&m, opened, &state, 50);
    model_compare(&m, opened);
    kith_table_free(opened);
    kith_table_free(saved);
    model_free(&m);
}

/* Saves a table with a second kind, which differs from the first only in its id. The header must have that id. The
 * file must be refused because the id is not registered, and must open once the id is changed to the registered one. */
static void images_know_their_kind(const subject *s) {
    enum { UNREGISTERED = 4000 };
    const char *path = file_named("k.kith");
    kith_table_spec spec = spec_for(s, 100);
    kith_table *t = made(&spec), *opened = NULL;
    if (is_entries(t)) {
        kith_table_free(t);
        return;
    }
    kithi_table_kind second = *t->kind;
    const kithi_table_kind *first = t->kind;
    second.id = UNREGISTERED;
    CHECK_OK(put_index(t, s, 0, 1));
    t->kind = &second;
    CHECK_OK(kith_table_save(t, path));
    t->kind = first;
    CHECK_STATUS(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &opened), KITH_E_KIND);
    CHECK_STATUS(kith_table_open(path, KITH_OPEN_COPY, NULL, &opened), KITH_E_KIND);
    bytes b = read_whole(path);
    kithi_head head;
    CHECK_OK(kithi_header_read(b.at, b.n, &head));
    CHECK_EQ_U64(head.params[KITHI_PARAM_TABLE_KIND], UNREGISTERED);
    head.params[KITHI_PARAM_TABLE_KIND] = first->id;
    kithi_block_seal(b.at, &head);
    write_whole(path, b);
    CHECK_OK(kith_table_open(path, KITH_OPEN_DEFAULT, NULL, &opened));
    CHECK(has_index(opened, s, 0));
    kith_table_free(opened);
    kith_table_free(t);
    free(b.at);
}

void saved_tables_open_as_they_were(void) {
    EACH_SUBJECT(s, SINGLES)
    for (unsigned family = 0; family < KITH_FAMILY_COUNT; family++)
        save_and_open(&s, (kith_family_id)family);
    EACH_SUBJECT(s, DEFAULTS) {
        images_know_their_kind(&s);
        /* an empty table, and the mode of a siphash table's file */
        kith_table_spec spec = spec_for(&s, 100);
        spec.family = KITH_FAMILY_SIPHASH;
        kith_table *t = made(&spec);
        CHECK_OK(kith_table_save(t, file_named("empty.kith")));
        kith_table_free(t);
        CHECK_OK(kith_table_open(file_named("empty.kith"), KITH_OPEN_DEFAULT, NULL, &t));
        CHECK_EQ_U64(kith_table_count(t), 0);
        kith_table_free(t);
        struct stat st;
        CHECK(stat(file_named("empty.kith"), &st) == 0 && (st.st_mode & 0777) == 0600);
    }
}

/* ---- damage ---- */

static kith_status opens(const char *path, bytes b, unsigned flags) {
    write_whole(path, b);
    kith_table *t = NULL;
    kith_status status = kith_table_open(path, flags, NULL, &t);
    CHECK((status == KITH_OK) == (t != NULL));
    if (t != NULL && (flags & KITH_OPEN_LAZY) == 0) /* whatever can be opened must be valid */
        CHECK_OK(kith_table_check(t, NULL));
    kith_table_free(t);
    return status;
}

/* Does what an attacker can do: changes a parameter and recomputes the checksums. */
static kith_status opens_sealed(const char *path, bytes b, unsigned param, uint64_t value) {
    kithi_head head;
    CHECK_OK(kithi_header_read(b.at, b.n, &head));
    kithi_head changed = head;
    changed.params[param] = value;
    kithi_block_seal(b.at, &changed);
    kith_status status = opens(path, b, KITH_OPEN_DEFAULT);
    (void)opens(path, b, KITH_OPEN_LAZY);
    kithi_block_seal(b.at, &head);
    return status;
}

/* A count that is impossible for the size of the file must be refused even if the body is not verified. */
static void forge_count(const char *path, bytes b) {
    kithi_head head;
    CHECK_OK(kithi_header_read(b.at, b.n, &head));
    kithi_head changed = head;
    changed.count = UINT64_MAX;
    kithi_block_seal(b.at, &changed);
    CHECK_STATUS(opens(path, b, KITH_OPEN_DEFAULT), KITH_E_CORRUPT);
    CHECK_STATUS(opens(path, b, KITH_OPEN_LAZY), KITH_E_CORRUPT);
    kithi_block_seal(b.at, &head);
}

/* The header of an image names the table's kind, which must be registered and have images. */
static void forge_kind(const char *path, const kith_table *t, bytes b) {
    enum { IDS = 300 };
    for (uint64_t id = 0; id < IDS; id++) {
        const kithi_table_kind *kind = kithi_table_kind_by_id(id);
        kith_status status = opens_sealed(path, b, KITHI_PARAM_TABLE_KIND, id);
        if (kind == NULL)
            CHECK_STATUS(status, KITH_E_KIND);
        else if (kind->image == NULL)
            CHECK_STATUS(status, KITH_E_CORRUPT);
        else if (kind == t->kind)
            CHECK_OK(status);
    }
}

static void damage(const subject *s) {
    uint64_t n = keys_of(s, 60);
    const char *path = file_named("d.kith");
    model m = model_new(s, n);
    kith_table *t = used_table(s, KITH_FAMILY_XXH3, &m, n);
    CHECK_OK(kith_table_save(t, path));
    bytes b = read_whole(path);
    for (size_t i = 0; i < b.n; i += i < 2 * KITHI_HEADER_BYTES ? 1 : 5) {
        b.at[i] ^= (uint8_t)(1u << (i % 8));
        kith_status status = opens(path, b, KITH_OPEN_DEFAULT);
        CHECK_STATUS(status, i < 8 ? KITH_E_NOT_KITH : i < 10 ? KITH_E_VERSION : KITH_E_CORRUPT);
        (void)opens(path, b, KITH_OPEN_LAZY); /* any status, but no crash */
        b.at[i] ^= (uint8_t)(1u << (i % 8));
    }
    for (size_t cut = 0; cut < b.n; cut += 1 + cut / 10) {
        kith_status status = opens(path, (bytes){b.at, cut}, KITH_OPEN_DEFAULT);
        CHECK_STATUS(status, cut == 0 ? KITH_E_EMPTY : KITH_E_TRUNCATED);
    }
    b.at = realloc(b.at, b.n + 1);
    CHECK(b.at != NULL);
    b.at[b.n] = 0;
    CHECK_STATUS(opens(path, (bytes){b.at, b.n + 1}, KITH_OPEN_DEFAULT), KITH_E_TRAILING);
    forge_count(path, b);
    if (!is_entries(t))
        forge_kind(path, t, b);
    for (unsigned param = 0; param < KITHI_PARAM_COUNT; param++) {
        if (param == KITHI_PARAM_TABLE_GENERATOR)
            continue;
        static const uint64_t VALUES[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 255, 256, 1u << 20, UINT64_MAX};
        kithi_head head;
        CHECK_OK(kithi_header_read(b.at, b.n, &head));
        for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
            kith_status status = opens_sealed(path, b, param, VALUES[i]);
            if (VALUES[i] == head.params[param])
                CHECK_OK(status);
            else if (status != KITH_OK && status != KITH_E_CORRUPT && status != KITH_E_KIND)
                CHECK_FAIL("parameter %u is %" PRIu64 ": %s", param, VALUES[i], kith_status_name(status));
        }
    }
    free(b.at);
    kith_table_free(t);
    model_free(&m);
}

void damaged_files_are_named_errors(void) {
    EACH_SUBJECT(s, DEFAULTS) damage(&s);
    kith_table *t = NULL;
    CHECK_STATUS(kith_table_open(file_named("none.kith"), 0, NULL, &t), KITH_E_NO_FILE);
    CHECK_STATUS(kith_table_open(file_named(""), 0, NULL, &t), KITH_E_IO);
    CHECK_STATUS(kith_table_open(file_named("d.kith"), 64, NULL, &t), KITH_E_ARGUMENT);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.capacity = 10;
    spec.rate = 0.1;
    kith_filter *filter;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_filter_save(filter, file_named("filter.kith")));
    kith_filter_free(filter);
    CHECK_STATUS(kith_table_open(file_named("filter.kith"), 0, NULL, &t), KITH_E_KIND);
    EACH_SUBJECT(s, DEFAULTS) {
        kith_table_spec table_spec = spec_for(&s, 10);
        kith_table *saved = made(&table_spec);
        CHECK_OK(kith_table_save(saved, file_named("table.kith")));
        CHECK_STATUS(kith_filter_open(file_named("table.kith"), 0, NULL, &filter), KITH_E_KIND);
        CHECK_STATUS(kith_table_save(saved, file_named("none/table.kith")), KITH_E_NO_FILE);
        kith_table_free(saved);
    }
    CHECK(t == NULL);
}

/* ---- memory ---- */

void opening_and_saving_survive_every_allocation_failure(void) {
    EACH_SUBJECT(s, SINGLES) for (unsigned i = 0; i < FLAGS_COUNT * KITH_FAMILY_COUNT; i++) {
        unsigned flags = FLAGS[i % FLAGS_COUNT];
        uint64_t n = keys_of(&s, 100);
        const char *path = file_named("m.kith");
        model m = model_new(&s, n);
        kith_table *saved = used_table(&s, (kith_family_id)(i / FLAGS_COUNT), &m, n), *t = NULL;
        CHECK_OK(kith_table_save(saved, path));
        kith_table_free(saved);
        test_memory memory;
        memory_init(&memory);
        for (uint64_t fail_at = 1; t == NULL; fail_at++) {
            memory_arm(&memory, fail_at, false);
            kith_status status = kith_table_open(path, flags, &memory.allocator, &t);
            memory_disarm(&memory);
            CHECK_STATUS(status, memory.failures != 0 ? KITH_E_MEMORY : KITH_OK);
            if (t == NULL)
                CHECK_EQ_U64(memory.live_blocks, 0);
        }
        for (uint64_t fail_at = 1; fail_at < 3 && i == 0; fail_at++) { /* only once: each save makes two syncs */
            memory_arm(&memory, fail_at, false);
            kith_status status = kith_table_save(t, path);
            memory_disarm(&memory);
            CHECK_STATUS(status, memory.failures != 0 ? KITH_E_MEMORY : KITH_OK);
        }
        check_content(t, &s, &m);
        kith_table_free(t);
        CHECK_EQ_U64(memory.live_blocks, 0);
        model_free(&m);
    }
}
