/* Tests, for the thread sanitizer, a store in one process: one thread writes it, and eight others read it, each with
 * its own handle. The writer makes checkpoints, so that readers follow journals and open new ones. */
#define _GNU_SOURCE

#include <kith/kith.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "store_calls.h"
#include "folder.h"

enum { READERS = 8, KEYS = 400 };

static char path[FOLDER_BYTES_MAX + 16];
static _Atomic uint64_t acknowledged; /* keys 0 … acknowledged - 1 are in the store */
static _Atomic uint64_t slowest;      /* no reader has seen fewer keys than that */

static void must(kith_status status) {
    if (status != KITH_OK) {
        (void)fprintf(stderr, "%s\n", kith_status_name(status));
        abort();
    }
}

static void *write_keys(void *context) {
    kithi_store *store = context;
    for (uint64_t key = 0; key < KEYS; key++) {
        must(kithi_store_add(store, &key, sizeof key, NULL));
        atomic_store(&acknowledged, key + 1);
        while (key > atomic_load(&slowest) + KEYS / 4) /* so that readers see several states */
            (void)sched_yield();
    }
    return NULL;
}

static _Atomic uint64_t seen_by[READERS];

static void *read_keys(void *context) {
    size_t reader = (size_t)(uintptr_t)context;
    kithi_store *store;
    must(kithi_store_open(path, KITHI_STORE_READ, NULL, &store));
    for (uint64_t seen = 0; seen < KEYS;) {
        uint64_t now = atomic_load(&acknowledged);
        must(kithi_store_refresh(store, NULL));
        for (uint64_t key = seen; key < now; key++)
            if (!kithi_store_has(store, &key, sizeof key))
                abort();
        seen = now;
        atomic_store(&seen_by[reader], seen);
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < READERS; i++)
            least = atomic_load(&seen_by[i]) < least ? atomic_load(&seen_by[i]) : least;
        atomic_store(&slowest, least);
    }
    must(kithi_store_verify(store));
    must(kithi_store_close(store));
    return NULL;
}

TEST(eight_readers_and_a_writer_share_a_store) {
    static const char *const kinds[] = {"blocked", "cuckoo", "layers"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct folder f = fresh_folder();
        (void)snprintf(path, sizeof path, "%s/x", f.path);
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
        kith_filter *filter;
        kithi_store *store;
        pthread_t writer, readers[READERS];
        spec.kind = kinds[i];
        spec.capacity = KEYS;
        spec.rate = .001;
        options.checkpoint_bytes = 2000; /* a checkpoint every 40 keys */
        options.sync = KITH_SYNC_OPERATIONS;
        options.sync_operations = 10;
        atomic_store(&acknowledged, 0);
        atomic_store(&slowest, 0);
        for (size_t j = 0; j < READERS; j++)
            atomic_store(&seen_by[j], 0);
        CHECK_OK(kith_filter_create(&spec, &filter));
        CHECK_OK(kithi_store_create(path, filter, &options, &store));
        for (size_t j = 0; j < READERS; j++)
            CHECK(pthread_create(&readers[j], NULL, read_keys, (void *)(uintptr_t)j) == 0);
        CHECK(pthread_create(&writer, NULL, write_keys, store) == 0);
        CHECK(pthread_join(writer, NULL) == 0);
        for (size_t j = 0; j < READERS; j++)
            CHECK(pthread_join(readers[j], NULL) == 0);
        kithi_store_info info = KITHI_STORE_INFO_INIT;
        CHECK_OK(kithi_store_info_of(store, &info));
        CHECK(info.generation > 5);
        CHECK_OK(kithi_store_close(store));
        kith_filter_free(filter);
        remove_folder(&f);
    }
}

/* Const calls on one handle need no lock. */
static void *look_up(void *context) {
    const kithi_store *store = context;
    for (uint64_t key = 0; key < KEYS; key++)
        if (!kithi_store_has(store, &key, sizeof key))
            abort();
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    must(kithi_store_info_of(store, &info));
    must(kithi_store_verify(store));
    return NULL;
}

TEST(eight_threads_read_one_handle) {
    struct folder f = fresh_folder();
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    kithi_store *store;
    pthread_t readers[READERS];
    spec.kind = "cuckoo";
    spec.capacity = KEYS;
    spec.rate = .001;
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kithi_store_create(in(&f, "x"), filter, NULL, &store));
    CHECK_OK(kithi_store_begin(store));
    for (uint64_t key = 0; key < KEYS; key++)
        CHECK_OK(kithi_store_add(store, &key, sizeof key, NULL));
    CHECK_OK(kithi_store_commit(store));
    for (size_t j = 0; j < READERS; j++)
        CHECK(pthread_create(&readers[j], NULL, look_up, store) == 0);
    for (size_t j = 0; j < READERS; j++)
        CHECK(pthread_join(readers[j], NULL) == 0);
    CHECK_OK(kithi_store_close(store));
    kith_filter_free(filter);
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
