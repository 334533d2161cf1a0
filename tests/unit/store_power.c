/* Power cuts. Random calls of a store on files in memory; the power fails at some operation, which loses, tears and
 * reorders everything that was not synced; then the store is opened again, and that may be cut short in the same way.
 * Nothing that was acknowledged as durable is lost, and no batch is there in part.
 *
 * Every run follows from its seed: KITH_SEED=N runs only that one. */
#define _GNU_SOURCE

#include "unit/store_model.h"

#include <kith/kith.h>

#define PATH "x"

struct result {
    uint64_t cuts, cuts_while_opening, hits[DISK_OPERATIONS];
};

static const char *kind_of(uint64_t random) {
    for (;; random++) {
        const kith_kind_info *kind = kith_filter_kind_at((size_t)(random % kith_filter_kind_count()));
        if (kind->capabilities & KITH_CAN_ADD)
            return kind->name;
    }
}

static kithi_store_options random_options(uint64_t *random) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = (kith_sync)(splitmix_next(random) % 3);
    options.sync_operations = 1 + splitmix_next(random) % 20;
    options.sync_ms = 1 + splitmix_next(random) % 2000;
    options.checkpoint_bytes = splitmix_next(random) % 3 == 0 ? 500 : KITH_FILE_NEVER;
    options.checkpoint_ms = splitmix_next(random) % 3 == 0 ? 3000 : 0;
    options.close_bytes = splitmix_next(random) % 2 == 0 ? 300 : KITH_FILE_NEVER;
    return options;
}

/* Opens the store, however often the power fails meanwhile. */
static kithi_store *open_at_last(struct disk *d, const kithi_files *files, const kithi_store_options *options,
                                 uint64_t *random, struct result *result) {
    for (;;) {
        kithi_store *store = NULL;
        d->operations = 0;
        d->die_at = splitmix_next(random) % 2 == 0 ? 1 + splitmix_next(random) % 16 : 0;
        kith_status status = kithi_store_open_with(files, PATH, KITHI_STORE_WRITE, options, &store);
        d->die_at = 0;
        if (!d->dead) {
            CHECK_OK(status);
            return store;
        }
        CHECK(status != KITH_OK);
        result->cuts_while_opening++;
        result->hits[d->hit]++;
        disk_power_cut(d);
    }
}

/* Several rounds of calls, each ended by a power cut or by closing the store. */
static void run(uint64_t seed, struct result *result) {
    static struct disk d;
    static struct model m;
    uint64_t random = seed;
    disk_init(&d, splitmix_next(&random));
    d.renames_stay = splitmix_next(&random) % 2;
    kithi_files files = disk_files(&d);
    kithi_store_options options = random_options(&random);

    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = kind_of(splitmix_next(&random));
    spec.capacity = 1 + splitmix_next(&random) % 50;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    model_init(&m, filter, 0);
    CHECK_OK(kith_filter_clone(filter, NULL, &m.empty));

    kithi_store *store = NULL;
    CHECK_OK(kithi_store_create_with(&files, PATH, filter, &options, &store));
    for (unsigned round = 0; round < 3; round++) {
        d.operations = 0;
        d.die_at = 1 + splitmix_next(&random) % 250;
        uint64_t before = m.sequence;
        kith_status status = KITH_OK;
        unsigned steps = (unsigned)(splitmix_next(&random) % 60);
        for (unsigned i = 0; i < steps && !d.dead; i++) {
            status = model_step(&m, store, &random, &d);
            CHECK(is_outcome(status) || d.dead || status == KITH_E_UNSUPPORTED);
            CHECK(!d.dead || kithi_store_durable(store) || m.durable <= m.sequence);
        }
        status = kithi_store_close(store);
        if (status == KITH_OK) /* even without power, if everything was synced before */
            m.durable = m.sequence;
        CHECK_EQ_U64(disk_open_handles(&d), 0);
        CHECK_EQ_U64(d.maps, 0);
        result->hits[d.hit]++;
        bool was_killed = splitmix_next(&random) % 4 == 0;
        if (was_killed) {
            /* The process was killed. The next one finds everything that was written, and may say that it is durable:
             * then it is. */
            disk_restart(&d);
            store = open_at_last(&d, &files, &options, &random, result);
            CHECK(kithi_store_durable(store));
            uint64_t found = store_sequence(store);
            CHECK(found >= m.durable);
            m.durable = found;
            d.die_at = 1;
            d.operations = 0;
            (void)kithi_store_close(store);
        }
        result->cuts++; /* the power may also fail after the store was closed */
        disk_power_cut(&d);

        store = open_at_last(&d, &files, &options, &random, result);
        uint64_t got = store_sequence(store);
        if (got < m.durable)
            CHECK_FAIL("seed %" PRIu64 ": lost: sequence %" PRIu64 ", durable was %" PRIu64, seed, got, m.durable);
        if (!model_is_boundary(&m, before, got))
            CHECK_FAIL("seed %" PRIu64 ": half a batch: sequence %" PRIu64, seed, got);
        model_advance(&m, got);
        if (!model_equals(&m, store))
            CHECK_FAIL("seed %" PRIu64 ": other content at sequence %" PRIu64, seed, got);
        CHECK_OK(kithi_store_verify(store));
    }
    CHECK_OK(kithi_store_close(store));
    model_free(&m);
    disk_free(&d);
}

TEST(power_cuts_lose_nothing_that_was_durable) {
    struct result result = {0};
    const char *only = getenv("KITH_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t runs = only != NULL ? 1 : check_soak() ? 5000 : 300;
    for (uint64_t seed = first; seed < first + runs; seed++)
        run(seed, &result);
    printf("shows: simulated power cuts: %" PRIu64 ", and %" PRIu64 " more while opening: 0 lost, 0 half states\n",
           result.cuts, result.cuts_while_opening);
    if (only == NULL) /* every operation was interrupted */
        for (unsigned i = DISK_OPEN_FOLDER; i < DISK_OPERATIONS; i++)
            if (i != DISK_RANDOM && i != DISK_UNLINK)
                CHECK(result.hits[i] > 0);
}

/* ---- every operation of one run, in turn ---- */

static kith_filter *small_filter(void) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "layers";
    spec.options = "inner=cuckoo";
    spec.capacity = 10;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

/* Creating a store over nothing, over a plain file and over a store: afterwards there is the old file or the new
 * one. */
TEST(creation_is_all_or_nothing) {
    static struct disk d;
    uint64_t cuts = 0;
    kith_filter *old = small_filter(), *fresh = small_filter();
    uint64_t key = 1;
    CHECK_OK(kith_filter_add(old, &key, sizeof key, NULL));
    for (unsigned over_store = 0; over_store < 2; over_store++)
        for (uint64_t seed = 1; seed <= (check_soak() ? 200 : 10); seed++)
            for (uint64_t die_at = 1;; die_at++) {
                disk_init(&d, splitmix_mix(seed * 1000 + die_at));
                kithi_files files = disk_files(&d);
                kithi_store *store = NULL;
                if (over_store) {
                    CHECK_OK(kithi_store_create_with(&files, PATH, old, NULL, &store));
                    CHECK_OK(kithi_store_close(store));
                    store = NULL;
                }
                d.operations = 0;
                d.die_at = die_at;
                kith_status status = kithi_store_create_with(&files, PATH, fresh, NULL, &store);
                bool created = status == KITH_OK, dead = d.dead;
                if (created)
                    (void)kithi_store_close(store);
                CHECK_EQ_U64(disk_open_handles(&d), 0);
                disk_power_cut(&d);
                status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store);
                if (created || over_store)
                    CHECK_OK(status);
                else
                    CHECK(status == KITH_OK || status == KITH_E_NO_FILE);
                if (status == KITH_OK) {
                    bool is_new = kith_filter_count(kithi_store_filter(store)) == 0;
                    CHECK(is_new || (over_store && !created));
                    CHECK_OK(kithi_store_close(store));
                }
                disk_free(&d);
                cuts++;
                if (!dead)
                    break;
            }
    printf("shows: simulated power cuts while a store is created: %" PRIu64 ", 0 half states\n", cuts);
    kith_filter_free(old);
    kith_filter_free(fresh);
}

static bool disk_file_equals(struct disk *d, const char *name, const struct disk_bytes *bytes) {
    const struct disk_bytes *now = &d->files[disk_find(d->names, name)->file].now;
    return now->n == bytes->n && memcmp(now->at, bytes->at, bytes->n) == 0;
}

/* Creating a store in place of a damaged one: afterwards there are both files of the damaged store, from which a repair
 * can save keys, or the new content, as a plain file or as a store. */
TEST(a_damaged_store_keeps_its_journal_until_it_is_replaced) {
    static struct disk d;
    uint64_t cuts = 0, outcomes[3] = {0}; /* the damaged store, a plain file, a store */
    kith_filter *old = small_filter(), *fresh = small_filter();
    uint64_t key = 1;
    CHECK_OK(kith_filter_add(fresh, &key, sizeof key, NULL));
    for (unsigned mode = 0; mode < 4; mode++)
        for (uint64_t seed = 1; seed <= (check_soak() ? 200 : 10); seed++)
            for (uint64_t n = 1;; n++) {
                disk_init(&d, splitmix_mix(seed * 1000 + n));
                d.renames_stay = mode & 1;
                kithi_files files = disk_files(&d);
                kithi_store *store = NULL;
                CHECK_OK(kithi_store_create_with(&files, PATH, old, NULL, &store));
                CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
                CHECK_OK(kithi_store_close(store));
                store = NULL;
                struct disk_file *snapshot = &d.files[disk_find(d.names, PATH)->file];
                snapshot->now.at[20] ^= 1; /* in the header, so that the store cannot be opened */
                snapshot->durable.at[20] ^= 1;
                struct disk_bytes file = disk_copy(&snapshot->now);
                struct disk_bytes journal = disk_copy(&d.files[disk_find(d.names, PATH "-journal")->file].now);
                d.operations = 0;
                d.fail_with = ENOSPC;
                *(mode & 2 ? &d.fail_at : &d.die_at) = n;
                kith_status created = kithi_store_create_with(&files, PATH, fresh, NULL, &store);
                bool was_hit = d.hit != DISK_NONE;
                CHECK(was_hit || created == KITH_OK);
                d.fail_at = 0;
                if (created == KITH_OK)
                    (void)kithi_store_close(store);
                CHECK_EQ_U64(disk_open_handles(&d), 0);
                CHECK_EQ_U64(d.maps, 0);
                disk_power_cut(&d);
                bool is_old = disk_file_equals(&d, PATH, &file);
                if (is_old) {
                    CHECK(created != KITH_OK);
                    CHECK(disk_file_equals(&d, PATH "-journal", &journal));
                    outcomes[0]++;
                } else {
                    kith_status status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store);
                    CHECK(status == KITH_OK || (status == KITH_E_NOT_STORE && created != KITH_OK));
                    outcomes[status == KITH_OK ? 2 : 1]++;
                    if (status != KITH_OK)
                        CHECK_OK(kithi_store_convert_with(&files, PATH, NULL, &store));
                    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), 1);
                    CHECK_OK(kithi_store_close(store));
                }
                free(file.at);
                free(journal.at);
                disk_free(&d);
                cuts++;
                if (!was_hit)
                    break;
            }
    for (size_t i = 0; i < 3; i++)
        CHECK(outcomes[i] > 0);
    printf("shows: simulated power cuts and failures while a damaged store is replaced: %" PRIu64 ", 0 half states\n",
           cuts);
    kith_filter_free(old);
    kith_filter_free(fresh);
}

/* Every operation of turning a plain file into a store: afterwards it is one or the other, with the same keys. */
TEST(conversion_is_all_or_nothing) {
    static struct disk d;
    uint64_t cuts = 0;
    kith_filter *filter = small_filter();
    for (uint64_t key = 0; key < 5; key++)
        CHECK_OK(kith_filter_add(filter, &key, sizeof key, NULL));
    kithi_part part;
    CHECK_OK(kith_filter_bytes(filter, &part.bytes, &part.byte_count));
    for (unsigned fails = 0; fails < 2; fails++)
        for (uint64_t seed = 1; seed <= (check_soak() ? 200 : 10); seed++)
            for (uint64_t n = 1;; n++) {
                disk_init(&d, splitmix_mix(seed * 1000 + n));
                kithi_files files = disk_files(&d);
                CHECK_OK(disk_replace(&d, 0, &(kithi_replacement){.name = PATH, .parts = &part, .count = 1}));
                kithi_store *store = NULL;
                d.operations = 0;
                d.fail_with = EIO;
                *(fails ? &d.fail_at : &d.die_at) = n;
                kith_status converted = kithi_store_convert_with(&files, PATH, NULL, &store);
                bool was_hit = d.hit != DISK_NONE;
                CHECK(was_hit || converted == KITH_OK);
                d.fail_at = 0;
                if (converted == KITH_OK)
                    (void)kithi_store_close(store);
                CHECK_EQ_U64(disk_open_handles(&d), 0);
                CHECK_EQ_U64(d.maps, 0);
                disk_power_cut(&d);
                kith_status status = kithi_store_open_with(&files, PATH, KITHI_STORE_READ, NULL, &store);
                CHECK(status == KITH_OK || (status == KITH_E_NOT_STORE && converted != KITH_OK));
                if (status != KITH_OK)
                    CHECK_OK(kithi_store_convert_with(&files, PATH, NULL, &store));
                CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), 5);
                CHECK_OK(kithi_store_close(store));
                disk_free(&d);
                cuts++;
                if (!was_hit)
                    break;
            }
    printf("shows: simulated power cuts and failures while a plain file becomes a store: %" PRIu64 ", 0 half states\n",
           cuts);
    kith_filter_free(filter);
}

/* Every operation of a checkpoint, and of making the store plain. */
TEST(checkpoints_are_all_or_nothing) {
    static struct disk d;
    uint64_t cuts = 0;
    kith_filter *filter = small_filter();
    for (unsigned plain = 0; plain < 2; plain++)
        for (uint64_t seed = 1; seed <= (check_soak() ? 200 : 10); seed++)
            for (uint64_t die_at = 1;; die_at++) {
                disk_init(&d, splitmix_mix(seed * 1000 + die_at));
                kithi_files files = disk_files(&d);
                kithi_store *store = NULL;
                CHECK_OK(kithi_store_create_with(&files, PATH, filter, NULL, &store));
                for (uint64_t key = 0; key < 30; key++)
                    CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
                d.operations = 0;
                d.die_at = die_at;
                kith_status status = plain ? kithi_store_close_plain(store) : kithi_store_checkpoint(store);
                bool dead = d.dead;
                CHECK(dead || status == KITH_OK);
                if (!plain || status != KITH_OK)
                    (void)kithi_store_close(store);
                disk_power_cut(&d);
                status = kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, NULL, &store);
                if (plain && status == KITH_E_NOT_STORE) {
                    const struct disk_file *file = &d.files[disk_find(d.names, PATH)->file];
                    kith_filter *read;
                    CHECK_OK(kith_filter_view(file->now.at, file->now.n, 0, NULL, &read));
                    CHECK_EQ_U64(kith_filter_count(read), 30);
                    kith_filter_free(read);
                } else {
                    CHECK_OK(status);
                    CHECK_EQ_U64(kith_filter_count(kithi_store_filter(store)), 30);
                    for (uint64_t key = 0; key < 30; key++)
                        CHECK(kithi_store_has(store, &key, sizeof key));
                    CHECK_OK(kithi_store_close(store));
                }
                disk_free(&d);
                cuts++;
                if (!dead)
                    break;
            }
    printf("shows: simulated power cuts in checkpoints: %" PRIu64 ", 0 half states\n", cuts);
    kith_filter_free(filter);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
