/* Every public call when memory is missing: each allocation in turn fails, once and from then on. The call then returns
 * KITH_E_MEMORY, leaves its object as it was, and leaks nothing; the same call succeeds afterwards. Calls that never
 * allocate are made when no memory is left.
 *
 * The contract checks do this for every kind of filter and table, and store_faults.c for random operations of a store.
 * This test is about every call. It fails if a header declares a call that is not mentioned here. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64 /* readdir() for file systems with 64-bit inodes, on 32-bit processors, too */

#include "check.h"
#include "store_calls.h"

#include <dirent.h>

#include <kith/inspect.h>
#include <kith/kith.h>

#include "folder.h"
#include "splitmix.h"
#include "unit/memory.h"

enum { KEYS = 60 };

/* What the calls work on. It is made anew for each call. */
struct stage {
    struct folder folder;
    struct memory memory;
    kith_allocator allocator;
    kith_filter *cuckoo, *other; /* of equal geometry */
    kith_filter *layers, *grown; /* the first layer is full; there are several */
    kith_filter *joined;         /* layers in one block */
    kith_filter *bloom;
    kith_adder *adder;
    kith_table *table;
    kith_exact *set;
    kith_builder *builder;
    kithi_store *store, *reader;
    void *block; /* the bytes of cuckoo */
    size_t block_bytes;
    /* what a call may have made */
    kith_filter *filter;
    kith_table *made_table;
    kith_exact *made_set;
    kith_builder *made_builder;
    kithi_store *made_store;
    kith_function *function;
};

static struct stage *at; /* the stage of this run */

static uint64_t digest_of(uint64_t i) {
    return splitmix_mix(i + 1);
}

static kith_filter_spec spec_of(const char *kind, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = .01;
    spec.allocator = &at->allocator;
    return spec;
}

static kith_table_spec table_spec(void) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.seed = 7;
    spec.allocator = &at->allocator;
    return spec;
}

static kithi_store_options store_options(void) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.allocator = &at->allocator;
    return options;
}

static const char *path_of(const char *name) {
    return in(&at->folder, name);
}

static kith_filter *created(const char *kind, uint64_t capacity, uint64_t keys) {
    /* Planning takes longer than everything else. */
    static struct {
        const char *kind;
        uint64_t capacity;
        kith_filter *filter;
    } known[8];
    size_t i = 0;
    kith_filter *filter;
    while (known[i].kind != NULL && (strcmp(known[i].kind, kind) != 0 || known[i].capacity != capacity))
        i++;
    if (known[i].kind == NULL) {
        kith_filter_spec spec = spec_of(kind, capacity);
        spec.allocator = NULL;
        known[i].kind = kind;
        known[i].capacity = capacity;
        CHECK_OK(kith_filter_create(&spec, &known[i].filter));
    }
    CHECK_OK(kith_filter_clone(known[i].filter, &at->allocator, &filter));
    for (uint64_t key = 0; key < keys; key++)
        CHECK_OK(kith_filter_add_digest(filter, digest_of(key), NULL));
    return filter;
}

static void stage_make(void) {
    kith_table_spec table = table_spec();
    kith_filter_spec inner = spec_of("cuckoo", KEYS);
    const void *bytes;
    at->cuckoo = created("cuckoo", 2 * KEYS, KEYS);
    at->layers = created("layers", 10, 10);
    at->bloom = created("bloom", 4 * KEYS, KEYS);
    at->other = created("cuckoo", 2 * KEYS, KEYS / 2);
    at->grown = created("layers", 10, KEYS);
    CHECK_OK(kith_filter_clone(at->grown, &at->allocator, &at->joined));
    CHECK_OK(kith_filter_bytes(at->joined, &bytes, &at->block_bytes));
    CHECK_OK(kith_table_create(&table, &at->table));
    CHECK_OK(kith_exact_create(&inner, &table, &at->set));
    for (uint64_t key = 0; key < KEYS; key++) {
        CHECK_OK(kith_table_put(at->table, &key, sizeof key, key, NULL));
        CHECK_OK(kith_exact_add(at->set, &key, sizeof key, NULL));
    }
    CHECK_OK(kith_filter_bytes(at->cuckoo, &bytes, &at->block_bytes));
    at->block = memory_allocate(&at->memory, at->block_bytes, 64);
    memcpy(at->block, bytes, at->block_bytes);
    CHECK_OK(kith_builder_open_like(at->cuckoo, KITH_BUILD_SET, NULL, &at->builder));
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t digest = digest_of(key);
        CHECK_OK(kith_builder_add_many(at->builder, &digest, 1, NULL));
    }
    CHECK_OK(kith_filter_save(at->cuckoo, path_of("plain")));
    CHECK_OK(kith_table_save(at->table, path_of("table")));
    kithi_store_options options = store_options();
    CHECK_OK(kithi_store_create(path_of("store"), at->layers, &options, &at->store));
    CHECK_OK(kithi_store_add_digest(at->store, digest_of(0), NULL)); /* it is there already, but the journal grows */
    /* The reader has not seen the key for which its filter must grow. */
    kithi_store *writer;
    CHECK_OK(kithi_store_create(path_of("read"), at->layers, NULL, &writer));
    CHECK_OK(kithi_store_open(path_of("read"), KITHI_STORE_READ, &options, &at->reader));
    CHECK_OK(kithi_store_add_digest(writer, digest_of(1000), NULL));
    CHECK_OK(kithi_store_close(writer));
}

/* A number for what can be seen of the objects. */
static uint64_t stage_print(void) {
    uint64_t sum = 0;
    const kith_filter *const filters[] = {at->cuckoo,
                                          at->layers,
                                          at->bloom,
                                          at->other,
                                          at->grown,
                                          at->joined,
                                          kith_exact_filter(at->set),
                                          kithi_store_filter(at->store),
                                          kithi_store_filter(at->reader)};
    for (size_t f = 0; f < sizeof filters / sizeof *filters; f++) {
        sum = splitmix_mix(sum ^ kith_filter_count(filters[f])) + kith_filter_note_count(filters[f]);
        for (uint64_t key = 0; key < 3 * KEYS; key++)
            sum = 2 * sum + kith_filter_has_digest(filters[f], digest_of(key));
        CHECK_OK(kith_filter_check(filters[f], NULL));
    }
    for (uint64_t key = 0; key < 3 * KEYS; key++)
        sum = 3 * sum + kith_table_has(at->table, &key, sizeof key) + kith_exact_has(at->set, &key, sizeof key);
    CHECK_OK(kith_table_check(at->table, NULL));
    CHECK_OK(kith_exact_check(at->set, NULL));
    return sum;
}

/* A store that could be neither changed nor left as it was is read-only from then on. */
static bool store_has_failed(void) {
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    if (at->store == NULL)
        return false;
    CHECK_OK(kithi_store_info_of(at->store, &info));
    return info.failure != KITH_OK;
}

static void stage_free(void) {
    bool failed = store_has_failed();
    kith_builder_free(at->made_builder); /* before the filter that it is like */
    kith_builder_free(at->builder);
    kith_adder_close(at->adder);
    kith_filter_free(at->cuckoo);
    kith_filter_free(at->layers);
    kith_filter_free(at->bloom);
    kith_filter_free(at->other);
    kith_filter_free(at->joined);
    kith_filter_free(at->grown);
    kith_filter_free(at->filter);
    kith_table_free(at->table);
    kith_table_free(at->made_table);
    kith_exact_free(at->set);
    kith_exact_free(at->made_set);
    kith_function_free(at->function);
    if (at->block != NULL)
        memory_release(&at->memory, at->block, at->block_bytes);
    CHECK_OK(kithi_store_close(at->reader));
    CHECK_STATUS(kithi_store_close(at->store), failed ? KITH_E_MEMORY : KITH_OK);
    CHECK_OK(kithi_store_close(at->made_store));
    CHECK_EQ_U64(at->memory.live_blocks, 0);
    CHECK_EQ_U64(at->memory.live_bytes, 0);
}

/* The simple calls have no argument for an allocator. While `default_is_stage` is set, they get that of the stage. */
static bool default_is_stage;
kith_allocator __real_kithi_allocator_or_default(const kith_allocator *allocator);
kith_allocator __wrap_kithi_allocator_or_default(const kith_allocator *allocator);
kith_allocator __wrap_kithi_allocator_or_default(const kith_allocator *allocator) {
    return __real_kithi_allocator_or_default(allocator == NULL && default_is_stage ? &at->allocator : allocator);
}

/* ---- calls that may allocate ---- */

typedef kith_status (*attempt)(void);

#define CALL(name, ...)                                                                                                \
    static kith_status try_##name(void) {                                                                              \
        __VA_ARGS__                                                                                                    \
    }

static const kith_note NOTES[] = {{"name", "value"}};

CALL(filter_create, kith_filter_spec spec = spec_of("blocked", 9); return kith_filter_create(&spec, &at->filter);)
#define SIMPLE_CALL(name, call)                                                                                        \
    CALL(name, default_is_stage = true; kith_status status = call; default_is_stage = false; return status;)
SIMPLE_CALL(filter_new, kith_filter_new(9, .01, KITH_GROWS, &at->filter))
SIMPLE_CALL(filter_of_strings, kith_filter_of_strings((const char *const[]){"a", "b"}, 2, .01, &at->filter))
SIMPLE_CALL(filter_of_numbers, kith_filter_of_numbers((const uint64_t[]){1, 2}, 2, .01, &at->filter))
SIMPLE_CALL(filter_load, kith_filter_load(path_of("plain"), &at->filter))
SIMPLE_CALL(filter_add_string, kith_filter_add_string(at->layers, "key"))
SIMPLE_CALL(filter_add_number, kith_filter_add_number(at->layers, 2000))
CALL(filter_make, const kith_filter_parameters parameters = {.kind = "cuckoo", .values = {12, 3, 1, 4}, .rate = .5};
     return kith_filter_make(&parameters, &at->allocator, &at->filter);)
CALL(filter_create_like, return kith_filter_create_like(at->cuckoo, &at->allocator, &at->filter);)
CALL(filter_clone, return kith_filter_clone(at->grown, &at->allocator, &at->filter);)
CALL(filter_build, kith_filter_spec spec = spec_of("fuse", 0);
     uint64_t digests[3] = {digest_of(1), digest_of(2), digest_of(3)};
     return kith_filter_build(&spec, digests, 3, KITH_BUILD_SET, 1, &at->filter);)
/* In these the 10 keys of the first layer are exceeded. */
CALL(filter_add, return kith_filter_add(at->layers, "key", 3, NULL);)
CALL(filter_add_digest, return kith_filter_add_digest(at->layers, digest_of(2000), NULL);)
CALL(filter_add_many, uint64_t digest = digest_of(2000);
     return kith_filter_add_many(at->layers, &digest, 1, NULL, NULL);)
CALL(filter_clear, return kith_filter_clear(at->joined);)
CALL(filter_set_notes, return kith_filter_set_notes(at->cuckoo, NOTES, 1);)
CALL(filter_merge, return kith_filter_merge(at->cuckoo, at->other);)
CALL(filter_view, return kith_filter_view(at->block, at->block_bytes, KITH_OPEN_COPY, &at->allocator, &at->filter);)
CALL(filter_adopt, kith_status status = kith_filter_adopt(at->block, at->block_bytes, 0, &at->allocator, &at->filter);
     if (status == KITH_OK) at->block = NULL; return status;)
CALL(filter_open, return kith_filter_open(path_of("plain"), KITH_OPEN_COPY, &at->allocator, &at->filter);)
static int opened(const char *name) {
    int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}
CALL(filter_open_fd, int fd = opened("plain");
     kith_status status = kith_filter_open_fd(fd, KITH_OPEN_COPY, &at->allocator, &at->filter); (void)close(fd);
     return status;)
CALL(filter_save, return kith_filter_save(at->grown, path_of("plain"));)
CALL(filter_bytes, const void *bytes; size_t n; return kith_filter_bytes(at->grown, &bytes, &n);)

static kith_status take_bytes(void *context, const void *bytes, size_t n) {
    (void)context, (void)bytes, (void)n;
    return KITH_OK;
}
CALL(filter_write, return kith_filter_write(at->grown, 0, kith_filter_file_bytes(at->grown), take_bytes, NULL);)
CALL(adder_open, return kith_adder_open(at->bloom, &at->adder);)

CALL(table_create, kith_table_spec spec = table_spec(); return kith_table_create(&spec, &at->made_table);)
static const char LONG_KEY[70000]; /* too long for memory that a table has in stock */
CALL(table_put, return kith_table_put(at->table, LONG_KEY, sizeof LONG_KEY, 5, NULL);)
CALL(table_put_many, kith_key key = {LONG_KEY, sizeof LONG_KEY}; kith_keys keys = {&key, NULL, 1};
     return kith_table_put_many(at->table, &keys, NULL, NULL);)
CALL(table_reserve, return kith_table_reserve(at->table, 1000);)
CALL(table_open, return kith_table_open(path_of("table"), KITH_OPEN_COPY, &at->allocator, &at->made_table);)
CALL(table_save, return kith_table_save(at->table, path_of("table"));)

CALL(exact_create, kith_table_spec table = table_spec(); kith_filter_spec filter = spec_of("cuckoo", 10);
     return kith_exact_create(&filter, &table, &at->made_set);)
CALL(exact_add, return kith_exact_add(at->set, LONG_KEY, sizeof LONG_KEY, NULL);)
CALL(function_draw, return kith_function_draw(KITH_FAMILY_TABULATION, 0, 3, &at->allocator, &at->function);)

CALL(builder_open, kith_filter_spec spec = spec_of("cuckoo", 0);
     return kith_builder_open(&spec, KITH_BUILD_SET, NULL, &at->made_builder);)
CALL(builder_open_like, return kith_builder_open_like(at->cuckoo, KITH_BUILD_SET, NULL, &at->made_builder);)
static kith_status add_chunk(bool as_keys) {
    enum { CHUNK = 100000 };
    static uint64_t digests[CHUNK];
    static kith_key keys[CHUNK];
    for (uint64_t i = 0; i < CHUNK; i++) {
        digests[i] = digest_of(i);
        keys[i] = (kith_key){&digests[i], sizeof digests[i]};
    }
    return as_keys ? kith_builder_add_keys(at->builder, keys, CHUNK, NULL)
                   : kith_builder_add_many(at->builder, digests, CHUNK, NULL);
}
CALL(builder_add_many, return add_chunk(false);)
CALL(builder_add_keys, return add_chunk(true);)
CALL(builder_end_input, uint64_t keys; return kith_builder_end_input(at->builder, &keys);)
static kith_status take_digests(void *context, const uint64_t *digests, size_t n) {
    (void)context, (void)digests, (void)n;
    return KITH_OK;
}
CALL(builder_each, return kith_builder_each(at->builder, take_digests, NULL);)
CALL(builder_finish, return kith_builder_finish(at->builder, &at->filter);)

CALL(store_create, kithi_store_options options = store_options();
     return kithi_store_create(path_of("new"), at->cuckoo, &options, &at->made_store);)
CALL(store_convert, kithi_store_options options = store_options();
     return kithi_store_convert(path_of("plain"), &options, &at->made_store);)
CALL(store_open, kithi_store_options options = store_options();
     return kithi_store_open(path_of("store"), KITHI_STORE_READ, &options, &at->made_store);)
static kith_status try_store_open_fd(void) {
    kithi_store_options options = store_options();
    int file = opened("store"), journal = opened("store-journal");
    kith_status status = kithi_store_open_fd(file, journal, &options, &at->made_store);
    if (status != KITH_OK) { /* on success they belong to the store */
        (void)close(file);
        (void)close(journal);
    }
    return status;
}
CALL(store_add, return kithi_store_add(at->store, "key", 3, NULL);)
CALL(store_add_digest, return kithi_store_add_digest(at->store, digest_of(2000), NULL);)
CALL(store_add_many, uint64_t digest = digest_of(2000); return kithi_store_add_many(at->store, &digest, 1, NULL, NULL);)
CALL(store_refresh, return kithi_store_refresh(at->reader, NULL);)
CALL(store_replace, return kithi_store_replace(at->store, at->cuckoo);)
CALL(store_rollback, kith_status status = kithi_store_begin(at->store);
     if (status == KITH_OK) status = kithi_store_add_digest(at->store, digest_of(0), NULL);
     return status == KITH_OK ? kithi_store_rollback(at->store) : status;)
CALL(store_checkpoint, return kithi_store_checkpoint(at->store);)
CALL(store_verify, return kithi_store_verify(at->store);)
CALL(store_close_plain, kith_status status = kithi_store_close_plain(at->store);
     if (status == KITH_OK) at->store = NULL; return status;)
CALL(repair, kith_repair_report report = KITH_REPAIR_REPORT_INIT;
     return kith_repair(path_of("store"), &at->allocator, &report, &at->filter);)

static const struct {
    const char *name;
    attempt run;
} CALLS[] = {
#define LISTED(name)                                                                                                   \
    { "kith_" #name, try_##name }
    LISTED(filter_create),
    LISTED(filter_make),
    LISTED(filter_create_like),
    LISTED(filter_clone),
    LISTED(filter_build),
    LISTED(filter_add),
    LISTED(filter_add_digest),
    LISTED(filter_add_many),
    LISTED(filter_clear),
    LISTED(filter_set_notes),
    LISTED(filter_merge),
    LISTED(filter_view),
    LISTED(filter_adopt),
    LISTED(filter_open),
    LISTED(filter_open_fd),
    LISTED(filter_save),
    LISTED(filter_bytes),
    LISTED(filter_write),
    LISTED(adder_open),
    LISTED(table_create),
    LISTED(table_put),
    LISTED(table_put_many),
    LISTED(table_reserve),
    LISTED(table_open),
    LISTED(table_save),
    LISTED(exact_create),
    LISTED(exact_add),
    LISTED(function_draw),
    LISTED(builder_open),
    LISTED(builder_open_like),
    LISTED(builder_add_many),
    LISTED(builder_add_keys),
    LISTED(builder_end_input),
    LISTED(builder_each),
    LISTED(builder_finish),
    LISTED(store_create),
    LISTED(store_convert),
    LISTED(store_open),
    LISTED(store_open_fd),
    LISTED(store_add),
    LISTED(store_add_digest),
    LISTED(store_add_many),
    LISTED(store_refresh),
    LISTED(store_replace),
    LISTED(store_rollback),
    LISTED(store_checkpoint),
    LISTED(store_verify),
    LISTED(store_close_plain),
    LISTED(repair),
    LISTED(filter_new),
    LISTED(filter_of_strings),
    LISTED(filter_of_numbers),
    LISTED(filter_load),
    LISTED(filter_add_string),
    LISTED(filter_add_number),
};

/* Makes the call once more. A store that was created, but not opened, is opened now. */
static kith_status again(attempt run) {
    kithi_store_options options = store_options();
    kith_status status = run();
    return status == KITH_E_JOURNAL && run == try_store_convert
               ? kithi_store_open(path_of("plain"), KITHI_STORE_WRITE, &options, &at->made_store)
               : status;
}

TEST(a_call_without_memory_changes_nothing) {
    uint64_t runs = 0;
    struct folder folder = fresh_folder();
    static struct stage stage;
    at = &stage;
    for (size_t c = 0; c < sizeof CALLS / sizeof *CALLS; c++)
        for (unsigned stays = 0; stays < 2; stays++)
            for (uint64_t n = 1, is_hit = 1; is_hit; n++, runs++) {
                stage = (struct stage){.folder = folder};
                stage.allocator = memory_allocator(&stage.memory);
                stage_make();
                uint64_t before = stage_print(), live = stage.memory.live_blocks;
                stage.memory.fail_at = stage.memory.calls + n;
                stage.memory.stays = stays;
                kith_status status = CALLS[c].run();
                is_hit = stage.memory.calls >= stage.memory.fail_at;
                stage.memory.fail_at = 0;
                if (!is_hit && n == 1)
                    CHECK_FAIL("%s does not allocate", CALLS[c].name);
                if (status != (is_hit ? KITH_E_MEMORY : KITH_OK))
                    CHECK_FAIL("%s, allocation %" PRIu64 ": %s", CALLS[c].name, n, kith_status_name(status));
                if (store_has_failed()) /* the content could not be mapped again */
                    CHECK(CALLS[c].run == try_store_replace || CALLS[c].run == try_store_rollback);
                else if (is_hit && stage_print() != before)
                    CHECK_FAIL("%s, allocation %" PRIu64 ": the objects have changed", CALLS[c].name, n);
                if (is_hit && stage.memory.live_blocks != live)
                    CHECK_FAIL("%s, allocation %" PRIu64 ": leaks memory", CALLS[c].name, n);
                if (is_hit && !store_has_failed())
                    CHECK_OK(again(CALLS[c].run));
                stage_free();
            }
    printf("shows: library: every allocation of %zu public calls fails, once and from then on: %" PRIu64
           " runs, 0 changes, 0 leaks\n",
           sizeof CALLS / sizeof *CALLS, runs);
    remove_folder(&folder);
}

/* ---- calls that do not allocate ---- */

static void *stay(void *context, void *memory, size_t byte_count) {
    (void)context, (void)byte_count;
    return memory;
}

static void count_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)cell, (void)holds, (void)wanted;
    ++*(unsigned *)context;
}

static void drop_walk(void *context, uint64_t cell, uint64_t stored, uint64_t displaced) {
    (void)context, (void)cell, (void)stored, (void)displaced;
}

static void use_filters(void) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter_spec spec = spec_of("bloom", 100);
    uint64_t digest = digest_of(0), found;
    unsigned cells = 0;
    bool subset;
    char text[100];
    kith_key key = {"key", 3};
    CHECK_OK(kith_filter_plan(&spec, &plan));
    CHECK_OK(kith_filter_plan_of(at->cuckoo, &plan));
    CHECK_OK(kith_filter_option(at->cuckoo, "f", &found));
    CHECK_EQ_U64(kith_option_error(&spec, text, sizeof text), 0);
    CHECK_OK(kith_filter_stats_of(at->grown, &stats));
    CHECK_OK(kith_filter_check(at->grown, NULL));
    CHECK_OK(kith_filter_remove_digest(at->cuckoo, digest_of(0)));
    CHECK_OK(kith_filter_add(at->cuckoo, "key", 3, NULL));
    CHECK_OK(kith_filter_remove(at->cuckoo, "key", 3));
    CHECK_OK(kith_filter_add_string(at->cuckoo, "key"));
    CHECK(kith_filter_has_string(at->cuckoo, "key") && !kith_filter_has_number(at->cuckoo, 1));
    CHECK_OK(kith_filter_remove_string(at->cuckoo, "key"));
    CHECK_OK(kith_filter_add_number(at->cuckoo, 1));
    CHECK_OK(kith_filter_remove_number(at->cuckoo, 1));
    digest = digest_of(1);
    CHECK_OK(kith_filter_remove_many(at->cuckoo, &digest, 1, NULL));
    CHECK_OK(kith_filter_disjoint(at->bloom, at->bloom, &subset));
    CHECK_OK(kith_filter_subset(at->bloom, at->bloom, &subset));
    CHECK_OK(kith_filter_intersect(at->bloom, at->filter));
    CHECK_OK(kith_filter_relocate(at->grown, stay, NULL));
    CHECK(subset && !kith_filter_readonly(at->cuckoo) && !kith_filter_has(at->bloom, "key", 3));
    CHECK(kith_filter_copies(at->cuckoo, "key", 3) == 0 && kith_filter_has_digest(at->bloom, digest));
    CHECK_EQ_U64(kith_filter_has_many(at->bloom, &digest, 1, &found), 1);
    CHECK_EQ_U64(kith_filter_has_many_parallel(at->bloom, &digest, 1, &found, 1), 1);
    CHECK(kith_filter_look(at->bloom, digest, count_cell, &cells) && cells > 0);
    CHECK(kith_filter_count(at->bloom) <= kith_filter_capacity(at->bloom) && kith_filter_capabilities(at->bloom) != 0);
    CHECK(kith_filter_options(at->bloom, text, sizeof text) > 0 && kith_filter_note(at->bloom, "x") == NULL);
    CHECK(kith_filter_memory(at->grown) > 0 && kith_filter_recipe(at->bloom) == 0);
    CHECK(kith_filter_hash(at->bloom).id == KITH_HASH_XXH3 && strcmp(kith_filter_kind_name(at->bloom), "bloom") == 0);
    const kith_hash hash = kith_filter_hash(at->bloom);
    CHECK(kith_filter_has_hash(at->bloom, &hash) && kith_filter_same_hash(at->bloom, at->bloom));
    kith_filter_digest_many(at->bloom, &key, 1, &digest);
    CHECK(digest == kith_filter_digest(at->bloom, "key", 3));
    kith_filter_digest_packed(at->bloom, "key", 3, 1, &found);
    CHECK(digest == found);
    kith_filter_set_limit(at->grown, 0);
    (void)kith_filter_cell(at->bloom, 0);
    kith_filter_set_trace(at->cuckoo, drop_walk, NULL);
}

static void drop_step(void *context, kith_step step, uint64_t slot, uint64_t to) {
    (void)context, (void)step, (void)slot, (void)to;
}

static void use_tables(void) {
    uint64_t number = 5, value, found;
    const void *key;
    size_t key_bytes;
    kith_key one = {&number, sizeof number};
    kith_keys keys = {&one, NULL, 1};
    kith_cursor cursor = {0};
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    kith_find_outcome outcome;
    /* only of kind probe */
    CHECK_STATUS(kith_table_find(at->table, &number, sizeof number, &outcome, &value), KITH_E_UNSUPPORTED);
    CHECK(kith_table_get(at->table, &number, sizeof number, &value) && value == 5);
    CHECK_EQ_U64(kith_table_has_many(at->table, &keys, &found), 1);
    CHECK_EQ_U64(kith_table_get_many(at->table, &keys, &value, &found), 1);
    CHECK(kith_table_next(at->table, &cursor, &key, &key_bytes, &value) && !kith_table_readonly(at->table));
    CHECK_OK(kith_table_stats_of(at->table, &stats));
    CHECK_OK(kith_table_remove(at->table, &number, sizeof number, NULL));
    CHECK_EQ_U64(kith_table_count(at->table), KEYS - 1);
    CHECK_OK(kith_table_clear(at->table));
    CHECK(strcmp(kith_table_kind_name(at->table), kith_table_kind_at(0)->name) == 0);
    CHECK(kith_exact_has(at->set, &number, sizeof number) && kith_exact_table(at->set) != NULL);
    CHECK_OK(kith_exact_remove(at->set, &number, sizeof number));
    CHECK_EQ_U64(kith_exact_count(at->set), KEYS - 1);
    CHECK_OK(kith_exact_clear(at->set));
    kith_table_set_trace(at->table, drop_step, NULL);
}

static void use_stores(void) {
    uint64_t digest = digest_of(0);
    CHECK_OK(kithi_store_begin(at->store));
    CHECK_OK(kithi_store_add_digest(at->store, digest, NULL));
    CHECK_OK(kithi_store_commit(at->store));
    CHECK_OK(kithi_store_sync(at->store));
    CHECK_OK(kithi_store_tick(at->store));
    CHECK(kithi_store_durable(at->store) && !kithi_store_has(at->store, "key", 3));
    CHECK_STATUS(kithi_store_remove(at->store, "key", 3), KITH_E_UNSUPPORTED); /* layers of blocked filters */
    CHECK_STATUS(kithi_store_remove_digest(at->store, digest), KITH_E_UNSUPPORTED);
    CHECK_STATUS(kithi_store_remove_many(at->store, &digest, 1, NULL), KITH_E_UNSUPPORTED);
}

static void use_the_rest(void) {
    const uint64_t *left;
    size_t left_count;
    uint64_t digest = digest_of(0), digests[2];
    kith_hash hash;
    kith_filter_spec spec = spec_of("cuckoo", 0);
    CHECK_OK(kith_adder_add(at->adder, "key", 3, NULL));
    CHECK_OK(kith_adder_add_many(at->adder, &digest, 1, NULL, NULL));
    CHECK(kith_builder_memory(at->builder) > 0 && kith_builder_left_out(at->builder) == 0);
    CHECK(kith_builder_partial(at->builder, &left, &left_count) == NULL);
    CHECK_OK(kith_builder_respec(at->made_builder, &spec));
    CHECK_OK(kith_hash_untrusted(&hash));
    kith_digest_packed(&hash, "twokeys.", 4, 2, digests);
    kith_key key = {"keys", 4};
    kith_digest_many(&hash, &key, 1, &digest);
    CHECK(digest == kith_digest(&hash, "keys", 4));
    kith_digest_state state;
    kith_digest_begin(&state, &hash);
    kith_digest_update(&state, "keys", 4);
    CHECK_EQ_U64(kith_digest_end(&state), digest);
    CHECK(kith_function_word(at->function, 1) != kith_function_key(at->function, "key", 3));
}

TEST(other_calls_need_no_memory) {
    static struct stage stage;
    at = &stage;
    stage = (struct stage){.folder = fresh_folder()};
    stage.allocator = memory_allocator(&stage.memory);
    stage_make();
    CHECK_OK(kith_filter_clone(stage.bloom, &stage.allocator, &stage.filter));
    CHECK_OK(try_adder_open());
    CHECK_OK(try_function_draw());
    CHECK_OK(try_builder_open());
    uint64_t calls = stage.memory.calls;
    stage.memory.fail_at = calls + 1;
    stage.memory.stays = true;
    use_the_rest();
    kith_adder_close(stage.adder);
    stage.adder = NULL;
    use_filters();
    use_tables();
    use_stores();
    CHECK_EQ_U64(stage.memory.calls, calls);
    stage.memory.fail_at = 0;
    stage_free();
    remove_folder(&stage.folder);
}

/* ---- all calls ---- */

static char *text_of_file(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    char *text = calloc(1, 1 << 18);
    CHECK(text != NULL && fread(text, 1, (1 << 18) - 1, file) > 0);
    (void)fclose(file);
    return text;
}

/* They have no object and no allocator: names, constants, settings of the process. */
static const char NO_OBJECT[] = "kith_version kith_status_name kith_status_text kith_cpu kith_cpu_name kith_cpu_use "
                                "kith_family_name kith_filter_kind_count kith_filter_kind_at kith_filter_kind_named "
                                "kith_table_kind_count kith_filter_note_at kith_key_type_of kith_key_recipe "
                                "kith_key_type_name kith_key_type_named kith_key_type_bytes kith_key_parse "
                                "kith_key_format";

TEST(every_public_call_is_here) {
    char path[600];
    char *own = text_of_file(KITH_SOURCE_DIR "/tests/unit/failing_allocations.c");
    char *files = text_of_file(KITH_SOURCE_DIR "/tests/unit/file_faults.c"); /* the calls of an opened file */
    DIR *dir = opendir(KITH_SOURCE_DIR "/include/kith");
    CHECK(dir != NULL);
    unsigned calls = 0, missing = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/include/kith/%s", KITH_SOURCE_DIR, entry->d_name);
        char *header = text_of_file(path);
        for (char *at_call = header; (at_call = strstr(at_call, "\nKITH_API")) != NULL;) {
            char *end = strchr(++at_call, '('), *name = end;
            while (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z'))
                name--;
            char wanted[80], listed[80];
            (void)snprintf(wanted, sizeof wanted, "%.*s(", (int)(end - name), name);
            (void)snprintf(listed, sizeof listed, "%.*s", (int)(end - name), name);
            calls++;
            if (strstr(own, wanted) == NULL && strstr(files, wanted) == NULL && strstr(NO_OBJECT, listed) == NULL) {
                fprintf(stderr, "%s() is not tested here\n", listed);
                missing++;
            }
        }
        free(header);
    }
    (void)closedir(dir);
    free(own);
    free(files);
    printf("shows: library: %u public calls, %u without a test of failing allocations\n", calls, missing);
    CHECK(calls > 120);
    CHECK_EQ_U64(missing, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
