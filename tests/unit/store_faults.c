/* A store when the system fails: every file operation and every allocation in turn, once and from then on, also while
 * the store is opened. A call that fails has changed nothing. What was durable stays durable. After a failed sync of
 * the journal no call returns success. */
#define _GNU_SOURCE

#include "unit/store_model.h"

#include <kith/kith.h>

#include "unit/memory.h"

#define PATH "x"

static struct disk disk;
static struct model m;

static const char *const KINDS[] = {"layers", "cuckoo", "bloom"};
static const char *const OPTIONS[] = {"inner=counting growth=1", NULL, NULL};
enum { VARIANTS = 3, STEPS = 40 };

/* Plans each variant only once, because planning takes longer than a run. */
static kith_filter *empty_filter(unsigned variant) {
    static kith_filter *made[VARIANTS];
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    if (made[variant] != NULL) {
        CHECK_OK(kith_filter_clone(made[variant], NULL, &filter));
        return filter;
    }
    spec.kind = KINDS[variant];
    spec.options = OPTIONS[variant];
    spec.capacity = 20;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_filter_clone(filter, NULL, &made[variant]));
    return filter;
}

static kithi_store_options options_for(unsigned variant, const kith_allocator *allocator) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = (kith_sync)variant;
    options.sync_operations = 5;
    options.checkpoint_bytes = 700;
    options.close_bytes = 200;
    options.allocator = allocator;
    options.no_map = variant == 1; /* then reading the snapshot can fail, too */
    return options;
}

/* Drops the calls that have failed from the log, unless their outcome is not known. */
static void forget_failed(size_t calls, size_t digests, bool unknown) {
    if (!unknown) {
        m.call_count = calls;
        m.digest_count = digests;
    }
}

/* Makes random calls. Returns the status of closing the store. A call that the system fails is followed by others. */
static kith_status make_calls(kithi_store *store, uint64_t seed, bool may_fail) {
    uint64_t random = seed;
    for (unsigned i = 0; i < STEPS; i++) {
        size_t calls = m.call_count, digests = m.digest_count;
        uint64_t sequence = m.sequence;
        bool was_readonly = kithi_store_writable(store) != KITH_OK;
        kith_status status = model_step(&m, store, &random, &disk);
        if (was_readonly)
            CHECK_STATUS(status, KITH_E_READONLY);
        if (is_outcome(status)) /* also if a checkpoint after it has failed */
            continue;
        CHECK(may_fail);
        if (store->in_batch)
            status = kithi_store_rollback(store);
        bool unknown = kithi_store_writable(store) != KITH_OK && !was_readonly;
        CHECK(unknown || was_readonly || store_sequence(store) >= sequence);
        forget_failed(calls, digests, unknown || (!was_readonly && store_sequence(store) != sequence));
        if (!unknown && !was_readonly) {
            m.sequence = store_sequence(store);
            if (kithi_store_durable(store))
                m.durable = m.sequence;
        }
    }
    bool failed = store->failure != KITH_OK;
    kith_status status = kithi_store_close(store);
    CHECK(!failed || status != KITH_OK);
    return status;
}

/* Opens the store without failures and compares it with the model. */
static void compare(uint64_t before, const char *what) {
    kithi_files files = disk_files(&disk);
    kithi_store *store;
    kith_status status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store);
    if (status != KITH_OK)
        CHECK_FAIL("%s: opening returns %s", what, kith_status_name(status));
    uint64_t got = store_sequence(store);
    if (got < m.durable || !model_is_boundary(&m, before, got))
        CHECK_FAIL("%s: sequence %" PRIu64 ", durable was %" PRIu64, what, got, m.durable);
    model_advance(&m, got);
    if (!model_equals(&m, store))
        CHECK_FAIL("%s: other content at sequence %" PRIu64, what, got);
    CHECK_OK(kithi_store_verify(store));
    CHECK_OK(kithi_store_close(store));
    /* What a new process has found and closed is durable. */
    disk_power_cut(&disk);
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_READ, NULL, &store));
    if (store_sequence(store) != got || !model_equals(&m, store))
        CHECK_FAIL("%s: sequence %" PRIu64 " was found, but was not durable", what, got);
    CHECK_OK(kithi_store_close(store));
}

/* Makes a store whose journal holds adds and, at its end, a part of another one, as a crash leaves it. The next writer
 * has to repeat the adds (in variant 0, this appends a layer) and to cut off the rest. The model is set to the adds. */
static void make_store_to_recover(unsigned variant) {
    kithi_files files = disk_files(&disk);
    kithi_store_options options = options_for(variant, NULL);
    options.checkpoint_bytes = options.close_bytes = KITH_FILE_NEVER;
    kith_filter *filter = empty_filter(variant), *copy;
    kithi_store *store;
    uint64_t adds = variant == 0 ? 25 : 7;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, &options, &store));
    for (uint64_t digest = 1; digest <= adds; digest++)
        CHECK_OK(kithi_store_add_digest(store, splitmix_mix(digest), NULL));
    CHECK_OK(kith_filter_clone(kithi_store_filter(store), NULL, &copy));
    model_init(&m, copy, store_sequence(store));
    m.empty = filter;
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(100), NULL));
    CHECK_OK(kithi_store_close(store));
    struct disk_file *journal = &disk.files[disk_find(disk.names, "x-journal")->file];
    CHECK_EQ_U64(journal->now.n, 64 + 48 * (adds + 1)); /* its header, and records of one digest */
    disk_resize(&journal->now, journal->now.n - 20);
    disk_resize(&journal->durable, journal->now.n);
}

struct hits {
    unsigned any[DISK_OPERATIONS];
    unsigned opening[DISK_OPERATIONS]; /* those because of which the store could not be opened */
};

/* Recovers a store and makes calls, with operation number `n` failing. Returns false if there is no such operation. */
static bool run_with_fault(unsigned variant, uint64_t n, int error, bool for_ever, bool cut_after, struct hits *hits) {
    char what[128];
    (void)snprintf(what, sizeof what, "variant %u, operation %" PRIu64 ", error %d%s", variant, n, error,
                   for_ever ? ", for ever" : "");
    disk_init(&disk, n);
    disk.renames_stay = n % 2;
    kithi_files files = disk_files(&disk);
    kithi_store_options options = options_for(variant, NULL);
    kithi_store *store;
    make_store_to_recover(variant);
    uint64_t before = m.sequence;

    disk.operations = 0;
    disk.hit = DISK_NONE;
    disk.fail_at = n;
    disk.fail_with = error;
    disk.fails_for_ever = for_ever;
    bool harmless = error == EINTR || error == DISK_SHORT;
    kith_status status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, &options, &store);
    if (status == KITH_OK) {
        status = make_calls(store, 77 + n % 3, !harmless);
    } else {
        CHECK(disk.hit != DISK_NONE && !harmless);
        hits->opening[disk.hit]++;
    }
    if (harmless)
        CHECK_OK(status);
    CHECK_EQ_U64(disk_open_handles(&disk), 0);
    CHECK_EQ_U64(disk.maps, 0);
    bool was_hit = disk.hit != DISK_NONE;
    hits->any[disk.hit]++;
    if (disk.failed_sync_file >= 0 && disk.syncs_after_failure > 0)
        CHECK_FAIL("%s: a failed sync was repeated", what);
    disk.fail_at = 0;
    disk.failed_sync_file = -1;
    if (cut_after)
        disk_power_cut(&disk);
    compare(before, what);
    model_free(&m);
    disk_free(&disk);
    return was_hit;
}

TEST(every_file_operation_may_fail) {
    static const int errors[] = {EIO, ENOSPC, EINTR, DISK_SHORT};
    struct hits hits = {0};
    uint64_t runs = 0;
    for (unsigned variant = 0; variant < VARIANTS; variant++)
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
            for (unsigned mode = 0; mode < 4; mode++) {
                if ((errors[e] == EINTR) && (mode & 1))
                    continue; /* for ever interrupted: never returns */
                uint64_t step = check_soak() ? 1 : 3, misses = 0;
                for (uint64_t n = 1 + mode % step; misses < 4; n += step, runs++)
                    misses = run_with_fault(variant, n, errors[e], mode & 1, mode & 2, &hits) ? 0 : misses + 1;
            }
    unsigned opening = 0;
    for (unsigned i = DISK_OPEN_FOLDER; i < DISK_OPERATIONS; i++) {
        opening += hits.opening[i];
        if (i != DISK_RANDOM && i != DISK_UNLINK)
            CHECK(hits.any[i] > 0);
    }
    printf("shows: store: file operations fail in turn, once and from then on: %" PRIu64
           " runs, in %u of them recovery fails; nothing durable is lost\n",
           runs, opening);
    /* Recovery reads the journal, cuts off its end and syncs it. */
    CHECK(hits.opening[DISK_READ] > 0 && hits.opening[DISK_TRUNCATE] > 0 && hits.opening[DISK_SYNC] > 0);
}

/* Every allocation of a recovery fails, once or from then on: the store is as it was, and can be recovered later. */
TEST(every_allocation_of_a_recovery_may_fail) {
    uint64_t runs = 0;
    for (unsigned variant = 0; variant < VARIANTS; variant++)
        for (unsigned for_ever = 0; for_ever < 2; for_ever++)
            for (uint64_t n = 1, is_hit = 1; is_hit; n++, runs++) {
                struct memory memory = {.fail_at = n, .stays = for_ever};
                kith_allocator allocator = memory_allocator(&memory);
                disk_init(&disk, n);
                make_store_to_recover(variant);
                uint64_t before = m.sequence;
                kithi_files files = disk_files(&disk);
                kithi_store_options options = options_for(variant, &allocator);
                kithi_store *store = NULL;
                kith_status status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, &options, &store);
                is_hit = memory.calls >= n;
                CHECK_STATUS(status, is_hit ? KITH_E_MEMORY : KITH_OK);
                memory.fail_at = 0;
                if (!is_hit)
                    CHECK_OK(kithi_store_close(store));
                CHECK_EQ_U64(memory.live_blocks, 0);
                CHECK_EQ_U64(disk_open_handles(&disk), 0);
                CHECK_EQ_U64(disk.maps, 0);
                compare(before, "memory");
                model_free(&m);
                disk_free(&disk);
            }
    printf("shows: store: every allocation of a recovery fails, once and from then on: %" PRIu64
           " runs, nothing durable is lost\n",
           runs);
}

/* ---- creating and making plain ---- */

TEST(a_failed_creation_leaves_the_old_file) {
    kith_filter *old = empty_filter(1), *fresh = empty_filter(2);
    for (unsigned over_store = 0; over_store < 2; over_store++)
        for (uint64_t n = 1;; n++) {
            disk_init(&disk, n);
            kithi_files files = disk_files(&disk);
            kithi_store *store = NULL;
            if (over_store) {
                CHECK_OK(kithi_store_create_with(&files, PATH, old, NULL, &store));
                CHECK_OK(kithi_store_add_digest(store, splitmix_mix(5), NULL));
                CHECK_OK(kithi_store_close(store));
            }
            disk.operations = 0;
            disk.hit = DISK_NONE;
            disk.fail_at = n;
            disk.fail_with = ENOSPC;
            kith_status status = kithi_store_create_with(&files, PATH, fresh, NULL, &store);
            disk_operation hit = disk.hit;
            disk.fail_at = 0;
            if (status == KITH_OK)
                CHECK_OK(kithi_store_close(store));
            CHECK_EQ_U64(disk_open_handles(&disk), 0);
            kith_status opened = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store);
            if (opened == KITH_OK) {
                const char *kind = kith_filter_kind_name(kithi_store_filter(store));
                CHECK(strcmp(kind, KINDS[2]) == 0 || (over_store && status != KITH_OK));
                if (strcmp(kind, KINDS[1]) == 0)
                    CHECK(kith_filter_has_digest(kithi_store_filter(store), splitmix_mix(5)));
                CHECK_OK(kithi_store_close(store));
            } else {
                CHECK_STATUS(opened, KITH_E_NO_FILE);
                CHECK(!over_store && status != KITH_OK);
                CHECK(disk_find(disk.names, "x-journal")->file < 0 || hit == DISK_UNLINK);
            }
            disk_free(&disk);
            if (hit == DISK_NONE)
                break;
        }
    kith_filter_free(old);
    kith_filter_free(fresh);
}

/* ---- a failed sync ---- */

TEST(nothing_succeeds_after_a_failed_sync) {
    for (unsigned mode = 0; mode < 3; mode++)
        for (unsigned in_batch = 0; in_batch < 2; in_batch++) {
            disk_init(&disk, mode);
            kithi_files files = disk_files(&disk);
            kithi_store_options options = options_for(mode, NULL);
            options.checkpoint_bytes = options.close_bytes = KITH_FILE_NEVER;
            kith_filter *filter = empty_filter(1), *plain;
            kithi_store *store;
            CHECK_OK(kithi_store_create_with(&files, PATH, filter, &options, &store));
            CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
            CHECK_OK(kithi_store_sync(store));
            CHECK_OK(kith_filter_clone(kithi_store_filter(store), NULL, &plain));
            uint64_t synced = store_sequence(store);
            /* the next sync fails, and only that one */
            if (in_batch)
                CHECK_OK(kithi_store_begin(store));
            kith_status status = KITH_OK;
            for (uint64_t key = 2; key < 5 && status == KITH_OK; key++) {
                bool fails = !in_batch && mode == KITH_SYNC_CALL && key == 4;
                disk.fail_at = fails ? disk.operations + 2 : 0; /* append, sync */
                disk.fail_with = EIO;
                status = kithi_store_add_digest(store, splitmix_mix(key), NULL);
            }
            if (status == KITH_OK) {
                disk.fail_at = disk.operations + (in_batch ? 2 : 1);
                status = in_batch ? kithi_store_commit(store) : kithi_store_sync(store);
            }
            CHECK_STATUS(status, KITH_E_IO);
            CHECK(disk.hit == DISK_SYNC);
            disk.fail_at = 0;
            CHECK_STATUS(kithi_store_sync(store), KITH_E_READONLY);
            CHECK_STATUS(kithi_store_tick(store), KITH_E_READONLY);
            CHECK_STATUS(kithi_store_checkpoint(store), KITH_E_READONLY);
            CHECK_STATUS(kithi_store_add_digest(store, 9, NULL), KITH_E_READONLY);
            CHECK_STATUS(kithi_store_begin(store), KITH_E_READONLY);
            CHECK_STATUS(kithi_store_commit(store), KITH_E_READONLY);
            CHECK_STATUS(kithi_store_replace(store, filter), KITH_E_READONLY);
            CHECK(!kithi_store_durable(store));
            kithi_store_info info = KITHI_STORE_INFO_INIT;
            CHECK_OK(kithi_store_info_of(store, &info));
            CHECK_STATUS(info.failure, KITH_E_IO);
            /* what can be seen is what is durable */
            uint64_t durable = mode == KITH_SYNC_CALL && !in_batch ? synced + 2 : synced;
            CHECK_EQ_U64(info.sequence, durable);
            for (uint64_t key = 1; key < 5; key++)
                CHECK(kith_filter_has_digest(kithi_store_filter(store), splitmix_mix(key)) == (key <= durable));
            kithi_store *reader; /* for other processes, too */
            CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_READ, NULL, &reader));
            CHECK_EQ_U64(store_sequence(reader), durable);
            CHECK_OK(kithi_store_close(reader));
            CHECK_STATUS(kithi_store_close(store), KITH_E_IO);
            CHECK_EQ_U64(disk.syncs_after_failure, 0);
            disk.failed_sync_file = -1;
            disk_power_cut(&disk);
            CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
            CHECK(store_sequence(store) >= durable);
            CHECK_OK(kithi_store_close(store));
            kith_filter_free(filter);
            kith_filter_free(plain);
            disk_free(&disk);
        }
}

TEST(a_failed_append_leaves_the_journal_as_it_was) {
    for (unsigned kind = 0; kind < 3; kind++) { /* a record, several records, a batch */
        for (uint64_t n = 1;; n++) {
            disk_init(&disk, n);
            kithi_files files = disk_files(&disk);
            kith_filter *filter = empty_filter(1);
            kithi_store *store;
            static uint64_t digests[20000];
            for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
                digests[i] = splitmix_mix(i);
            kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
            options.sync = KITH_SYNC_OPERATIONS;
            options.sync_operations = UINT64_MAX;
            CHECK_OK(kithi_store_create_with(&files, PATH, filter, &options, &store));
            CHECK_OK(kithi_store_add_digest(store, 1, NULL));
            const struct disk_bytes *journal = &disk.files[disk_find(disk.names, "x-journal")->file].now;
            size_t before = journal->n;
            if (kind == 2)
                CHECK_OK(kithi_store_begin(store));
            disk.operations = 0;
            disk.fail_at = n;
            disk.fail_with = ENOSPC;
            kith_status status = kind == 0 ? kithi_store_add_digest(store, digests[0], NULL)
                                           : kithi_store_add_many(store, digests, 20000, NULL, NULL);
            bool was_hit = disk.hit != DISK_NONE;
            if (was_hit) {
                CHECK_STATUS(status, KITH_E_NO_SPACE);
                CHECK_EQ_U64(journal->n, before);
                CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), 1);
            }
            disk.fail_at = 0;
            CHECK(is_outcome(kithi_store_add_digest(store, digests[1], NULL))); /* the store works as before */
            if (kind == 2)
                CHECK_OK(kithi_store_rollback(store));
            CHECK_OK(kithi_store_close(store));
            kith_filter_free(filter);
            disk_free(&disk);
            if (!was_hit)
                break;
        }
    }
}

/* A journal that may not grow further is full, and nothing else has changed. */
TEST(a_limit_on_the_size_of_files_is_kept) {
    disk_init(&disk, 1);
    kithi_files files = disk_files(&disk);
    kith_filter *filter = empty_filter(2);
    kithi_store *store;
    disk.size_limit = 64 + 2 * 48 + 47;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(2), NULL));
    CHECK_STATUS(kithi_store_add_digest(store, splitmix_mix(3), NULL), KITH_E_NO_SPACE);
    CHECK(errno == EFBIG);
    CHECK(!kith_filter_has_digest(kithi_store_filter(store), splitmix_mix(3)));
    CHECK_OK(kithi_store_checkpoint(store)); /* which empties the journal */
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(3), NULL));
    CHECK_OK(kithi_store_close(store));
    disk.size_limit = 10;
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
    CHECK_STATUS(kithi_store_add_digest(store, splitmix_mix(4), NULL), KITH_E_NO_SPACE);
    CHECK_OK(kithi_store_close(store));
    kith_filter_free(filter);
    disk_free(&disk);
}

/* A refresh that fails leaves the reader as it was; the next one works. */
TEST(a_refresh_may_fail) {
    kith_filter *filter = empty_filter(1);
    for (unsigned after_checkpoint = 0; after_checkpoint < 2; after_checkpoint++)
        for (uint64_t n = 1;; n++) {
            disk_init(&disk, n);
            kithi_files files = disk_files(&disk);
            kithi_store *store, *reader;
            CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
            CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
            CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_READ, NULL, &reader));
            CHECK_OK(kithi_store_add_digest(store, splitmix_mix(2), NULL));
            if (after_checkpoint)
                CHECK_OK(kithi_store_checkpoint(store));
            disk.operations = 0;
            disk.hit = DISK_NONE;
            disk.fail_at = n;
            disk.fail_with = EIO;
            bool changed;
            kith_status status = kithi_store_refresh(reader, &changed);
            bool was_hit = disk.hit != DISK_NONE;
            disk.fail_at = 0;
            CHECK_STATUS(status, was_hit ? KITH_E_IO : KITH_OK);
            CHECK_EQ_U64(kith_filter_count(kithi_store_filter(reader)), was_hit ? 1 : 2);
            CHECK_OK(kithi_store_refresh(reader, &changed));
            CHECK(changed == was_hit);
            CHECK_EQ_U64(kith_filter_count(kithi_store_filter(reader)), 2);
            CHECK_OK(kithi_store_close(reader));
            CHECK_OK(kithi_store_close(store));
            CHECK_EQ_U64(disk_open_handles(&disk), 0);
            disk_free(&disk);
            if (!was_hit)
                break;
        }
    kith_filter_free(filter);
}

/* A refresh that has applied some operations when memory runs out, and has no memory to undo them, must not apply them
 * twice later: removing a copy twice would lose a key. */
TEST(a_refresh_without_memory_applies_nothing_twice) {
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.allocator = &allocator;
    disk_init(&disk, 1);
    kithi_files files = disk_files(&disk);
    kith_filter *filter = empty_filter(0); /* layers of counting filters, for 20 keys */
    kithi_store *store, *reader;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
    for (uint64_t i = 0; i < 2; i++)
        CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_READ, &options, &reader));
    CHECK_OK(kithi_store_remove_digest(store, splitmix_mix(1)));
    for (uint64_t i = 2; i < 30; i++) /* a second layer is needed */
        CHECK_OK(kithi_store_add_digest(store, splitmix_mix(i), NULL));
    memory.fail_at = memory.calls + 1;
    memory.stays = true;
    CHECK_STATUS(kithi_store_refresh(reader, NULL), KITH_E_MEMORY);
    CHECK_STATUS(kithi_store_refresh(reader, NULL), KITH_E_MEMORY);
    CHECK_STATUS(info_of(reader).failure, KITH_E_MEMORY);
    memory.fail_at = 0;
    CHECK_OK(kithi_store_refresh(reader, NULL));
    CHECK_OK(info_of(reader).failure);
    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(reader)), kith_filter_count(kithi_store_filter(store)));
    for (uint64_t i = 1; i < 30; i++)
        CHECK(kith_filter_has_digest(kithi_store_filter(reader), splitmix_mix(i)));
    CHECK_OK(kithi_store_close(reader));
    CHECK_OK(kithi_store_close(store));
    CHECK_EQ_U64(memory.live_blocks, 0);
    kith_filter_free(filter);
    disk_free(&disk);
}

/* ---- memory ---- */

/* Every allocation fails, once or from then on. A call that fails for lack of memory has not happened. */
TEST(every_allocation_may_fail) {
    uint64_t runs = 0;
    for (unsigned variant = 0; variant < VARIANTS; variant++)
        for (unsigned for_ever = 0; for_ever < 2; for_ever++)
            for (uint64_t n = 1, missed = 0; missed < 5; n++, runs++) {
                struct memory memory = {0};
                kith_allocator allocator = memory_allocator(&memory);
                disk_init(&disk, 1);
                kithi_files files = disk_files(&disk);
                kithi_store_options options = options_for(variant, &allocator);
                kith_filter *filter = empty_filter(variant);
                kithi_store *store = NULL;
                model_init(&m, filter, 0);
                CHECK_OK(kith_filter_clone(filter, NULL, &m.empty));
                memory.fail_at = n;
                kith_status status = kithi_store_create_with(&files, PATH, filter, &options, &store);
                bool created = status == KITH_OK;
                if (!created)
                    CHECK_STATUS(status, KITH_E_MEMORY);
                uint64_t before = 0;
                if (created) {
                    uint64_t random = 5;
                    for (unsigned i = 0; i < STEPS; i++) {
                        size_t calls = m.call_count, digests = m.digest_count;
                        uint64_t sequence = m.sequence;
                        if (for_ever && memory.calls >= n) /* the struct knows only one failure at a time */
                            memory.fail_at = memory.calls + 1;
                        status = model_step(&m, store, &random, &disk);
                        if (is_outcome(status))
                            continue;
                        CHECK(status == KITH_E_MEMORY || status == KITH_E_READONLY);
                        if (store->in_batch)
                            (void)!kithi_store_rollback(store);
                        bool unknown = kithi_store_writable(store) != KITH_OK;
                        forget_failed(calls, digests, unknown || store_sequence(store) != sequence);
                        if (unknown)
                            break;
                        m.sequence = store_sequence(store);
                        if (kithi_store_durable(store))
                            m.durable = m.sequence;
                    }
                    (void)kithi_store_close(store);
                }
                missed = memory.calls < n ? missed + 1 : 0;
                CHECK_EQ_U64(memory.live_blocks, 0);
                CHECK_EQ_U64(disk_open_handles(&disk), 0);
                CHECK_EQ_U64(disk.maps, 0);
                if (created)
                    compare(before, "memory");
                model_free(&m);
                disk_free(&disk);
            }
    printf("shows: store: every allocation fails, once and from then on: %" PRIu64 " runs, nothing durable is lost\n",
           runs);
}

/* Growth beyond the limit is refused, and must not happen when the journal is repeated without a limit. */
TEST(an_add_beyond_the_limit_is_not_repeated) {
    disk_init(&disk, 1);
    kithi_files files = disk_files(&disk);
    kith_filter *filter = empty_filter(0);
    for (unsigned many = 0; many < 20; many++)
        for (unsigned mode = 0; mode < 2; mode++) {
            kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
            options.sync = (kith_sync)mode;
            options.max_bytes = 4 * kith_filter_file_bytes(filter);
            kithi_store *store;
            CHECK_OK(kithi_store_create_with(&files, PATH, filter, &options, &store));
            uint64_t digests[500];
            for (size_t i = 0; i < 500; i++)
                digests[i] = splitmix_mix(i + 1);
            size_t added = 0;
            kith_status status = KITH_OK;
            if (many % 2)
                status = kithi_store_add_many(store, digests, 500, NULL, &added);
            else
                for (; added < 500 && status == KITH_OK; added += status == KITH_OK)
                    status = kithi_store_add_digest(store, digests[added], NULL);
            CHECK_STATUS(status, KITH_E_TOO_LARGE);
            CHECK(added > 20 && added < 500);
            CHECK_STATUS(kithi_store_add_digest(store, digests[added], NULL), KITH_E_TOO_LARGE);
            CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), added);
            CHECK(mode != KITH_SYNC_CALL || kithi_store_durable(store));
            if (mode == KITH_SYNC_CALL) {
                disk.die_at = disk.operations + 1;
                (void)kithi_store_close(store);
                disk_power_cut(&disk);
            } else {
                CHECK_OK(kithi_store_close(store));
            }
            CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store));
            CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), added);
            for (size_t i = 0; i < added; i++)
                CHECK(kith_filter_has_digest(kithi_store_filter(store), digests[i]));
            CHECK_OK(kithi_store_close(store));
            /* a limit below what the journal needs */
            options.max_bytes = 1;
            CHECK_STATUS(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, &options, &store), KITH_E_TOO_LARGE);
            CHECK_EQ_U64(disk_open_handles(&disk), 0);
        }
    kith_filter_free(filter);
    disk_free(&disk);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
