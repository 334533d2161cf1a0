/* When a store syncs and makes checkpoints without being asked: after a number of operations, after a time, and when
 * the journal is large. */
#define _GNU_SOURCE

#include "unit/store_model.h"

#include <kith/kith.h>

#define PATH "x"

static struct disk disk;

static kithi_store *new_store(const kithi_files *files, const kithi_store_options *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "bloom";
    spec.capacity = 20;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    kithi_store *store;
    CHECK_OK(kithi_store_create_with(files, PATH, filter, options, &store));
    kith_filter_free(filter);
    return store;
}

TEST(syncs_happen_when_they_are_due) {
    disk_init(&disk, 1);
    kithi_files files = disk_files(&disk);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.sync = KITH_SYNC_OPERATIONS;
    options.sync_operations = 4;
    kithi_store *store = new_store(&files, &options);
    for (uint64_t i = 1; i <= 10; i++) {
        CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
        CHECK_EQ_U64(info_of(store).synced, i / 4 * 4);
        CHECK(kithi_store_durable(store) == (i % 4 == 0));
    }
    CHECK_OK(kithi_store_tick(store));
    CHECK_EQ_U64(info_of(store).synced, 8);
    CHECK_OK(kithi_store_sync(store));
    CHECK_EQ_U64(info_of(store).synced, 10);
    uint64_t digests[4] = {splitmix_mix(1), splitmix_mix(1), splitmix_mix(1), splitmix_mix(1)};
    CHECK_OK(kithi_store_add_many(store, digests, 4, NULL, NULL));
    CHECK(kithi_store_durable(store));
    CHECK_OK(kithi_store_close(store));

    options.sync = KITH_SYNC_INTERVAL;
    options.sync_ms = 100;
    disk.clock_ms = 5000;
    store = new_store(&files, &options);
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK(!kithi_store_durable(store));
    disk.clock_ms += 99;
    CHECK_OK(kithi_store_tick(store));
    CHECK(!kithi_store_durable(store));
    disk.clock_ms += 1;
    CHECK_OK(kithi_store_tick(store));
    CHECK(kithi_store_durable(store));
    disk.clock_ms += 1000;
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL)); /* the interval begins with this operation */
    CHECK(!kithi_store_durable(store));
    disk.clock_ms += 100;
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK(kithi_store_durable(store));
    CHECK_OK(kithi_store_close(store));
    disk_free(&disk);
}

TEST(checkpoints_happen_when_they_are_due) {
    disk_init(&disk, 1);
    kithi_files files = disk_files(&disk);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.checkpoint_bytes = 64 + 3 * 48; /* three records are not too large */
    options.close_bytes = 64 + 48;
    kithi_store *store = new_store(&files, &options);
    uint64_t sequence = store_sequence(store);
    for (uint64_t i = 1; i <= 10; i++) {
        CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
        CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + i / 4 * 4);
    }
    CHECK_OK(kithi_store_close(store)); /* two records are too large for a store that is closed */
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, &options, &store));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 10);
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK_OK(kithi_store_close(store)); /* one is not */
    CHECK_OK(kithi_store_open_with(&files, PATH, KITHI_STORE_WRITE, &options, &store));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 10);

    /* A checkpoint that fails does not fail the add, and is not tried again at once. */
    disk.fail_with = ENOSPC;
    unsigned attempts = 0;
    for (uint64_t i = 1; i <= 14; i++) {
        disk.fail_at = disk.operations + 3; /* append, sync, map for the verification */
        disk.hit = DISK_NONE;
        CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
        attempts += disk.hit != DISK_NONE;
        disk.fail_at = 0;
    }
    CHECK_EQ_U64(attempts, 3); /* after 4, 8 and 16 records, of which there was one */
    CHECK_STATUS(info_of(store).checkpoint, KITH_E_NO_SPACE);
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 10);
    CHECK_OK(kithi_store_checkpoint(store));
    CHECK_OK(kithi_store_close(store));

    options = (kithi_store_options)KITHI_STORE_OPTIONS_INIT;
    options.checkpoint_ms = 1000;
    store = new_store(&files, &options);
    sequence = store_sequence(store);
    disk.clock_ms += 2000;
    CHECK_OK(kithi_store_tick(store)); /* nothing to write */
    CHECK_EQ_U64(info_of(store).journal_bytes, 64);
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 1);
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    disk.clock_ms += 999;
    CHECK_OK(kithi_store_tick(store));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 1);
    disk.clock_ms += 1;
    CHECK_OK(kithi_store_tick(store));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 2);
    /* the same is true inside a batch, after it */
    CHECK_OK(kithi_store_begin(store));
    disk.clock_ms += 1000;
    CHECK_OK(kithi_store_add_digest(store, splitmix_mix(1), NULL));
    CHECK_OK(kithi_store_tick(store));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 2);
    CHECK_OK(kithi_store_commit(store));
    CHECK_EQ_U64(info_of(store).snapshot_sequence, sequence + 4);
    CHECK_OK(kithi_store_close(store));
    disk_free(&disk);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
