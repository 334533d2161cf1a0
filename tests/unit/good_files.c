/* Tests that valid files are not disclosed, changed or lost. (For invalid files see bad_files.c.) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <kith/kith.h>

#include "check.h"
#include "core/hash.h"
#include "folder.h"
#include "unit/small_filter.h"

TEST(a_mapped_or_viewed_filter_refuses_every_change) {
    struct folder f = fresh_folder();
    EACH_KIND(kind) {
        kith_filter *filter = new_filter(kind, NULL), *other;
        uint32_t can = kith_filter_capabilities(filter);
        uint64_t digest = 1, key = 1;
        CHECK_OK(kith_filter_save(filter, in(&f, kind)));
        CHECK_OK(kith_filter_clone(filter, NULL, &other));
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
        for (unsigned mapped = 0; mapped < 2; mapped++) {
            kith_filter *closed;
            CHECK_OK(mapped ? kith_filter_open(in(&f, kind), KITH_OPEN_DEFAULT, NULL, &closed)
                            : kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &closed));
            CHECK(kith_filter_readonly(closed) && !kith_filter_readonly(filter));
            if ((can & KITH_CAN_ADD) != 0) {
                CHECK_STATUS(kith_filter_add(closed, "new", 3, NULL), KITH_E_READONLY);
                CHECK_STATUS(kith_filter_add_many(closed, &digest, 1, NULL, NULL), KITH_E_READONLY);
                CHECK_STATUS(kith_filter_clear(closed), KITH_E_READONLY);
            }
            CHECK_STATUS(kith_filter_set_notes(closed, NULL, 0), KITH_E_READONLY);
            if ((can & KITH_CAN_REMOVE) != 0) {
                CHECK_STATUS(kith_filter_remove(closed, &key, sizeof key), KITH_E_READONLY);
                CHECK_STATUS(kith_filter_remove_many(closed, &digest, 1, NULL), KITH_E_READONLY);
            }
            if ((can & KITH_CAN_MERGE) != 0)
                CHECK_STATUS(kith_filter_merge(closed, other), KITH_E_READONLY);
            if ((can & KITH_CAN_INTERSECT) != 0)
                CHECK_STATUS(kith_filter_intersect(closed, other), KITH_E_READONLY);
            for (uint64_t i = 0; i < KEYS / 2; i++)
                CHECK(kith_filter_has(closed, &i, sizeof i));
            CHECK_EQ_U64(kith_filter_count(closed), kith_filter_count(filter));
            kith_filter_free(closed);
        }
        kith_filter_free(filter);
        kith_filter_free(other);
    }
    remove_folder(&f);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

TEST(a_file_with_a_secret_key_is_readable_only_by_its_owner) {
    struct folder f = fresh_folder();
    mode_t umask_before = umask(022);
    EACH_KIND(kind) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_filter *filter;
        const char *path = in(&f, kind);
        spec.kind = kind;
        spec.capacity = KEYS;
        spec.rate = .01;
        filter = filter_of_numbers(&spec, 1);
        CHECK_OK(kith_filter_save(filter, path));
        CHECK_EQ_U64(mode_of(path), 0644);
        kith_filter_free(filter);
        CHECK_OK(kith_hash_untrusted(&spec.hash));
        filter = filter_of_numbers(&spec, 1);
        CHECK_OK(kith_filter_save(filter, path)); /* replaces one that everyone may read */
        CHECK_EQ_U64(mode_of(path), 0600);
        CHECK(chmod(path, 0666) == 0);
        CHECK_OK(kith_filter_save(filter, path));
        CHECK_EQ_U64(mode_of(path), 0600);
        kith_filter_free(filter);
    }
    (void)umask(umask_before);
    remove_folder(&f);
}

/* Returns whether any eight consecutive bytes of the key appear in the output. */
static bool shows_key(const void *bytes, size_t byte_count, const kith_hash *hash) {
    for (size_t from = 0; from + 8 <= KITH_HASH_KEY_BYTES; from++)
        if (memmem(bytes, byte_count, hash->key + from, 8) != NULL)
            return true;
    return false;
}

TEST(the_secret_key_appears_only_in_the_bytes) {
    EACH_KIND(kind) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        kith_plan plan = KITH_PLAN_INIT;
        kith_filter *filter, *copy;
        const void *bytes;
        size_t byte_count;
        const char *reason = NULL;
        spec.kind = kind;
        spec.capacity = KEYS;
        spec.rate = .01;
        spec.hash.id = KITH_HASH_SIPHASH;
        for (unsigned i = 0; i < KITH_HASH_KEY_BYTES; i++)
            spec.hash.key[i] = (uint8_t)(0xa5 ^ (i * 29));
        CHECK_OK(kith_filter_plan(&spec, &plan));
        CHECK(!shows_key(&plan, sizeof plan, &spec.hash));
        filter = filter_of_numbers(&spec, 1);
        CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
        CHECK(shows_key(bytes, byte_count, &spec.hash)); /* the search finds the key where it is */
        CHECK_OK(kith_filter_view(bytes, byte_count, KITH_OPEN_COPY, NULL, &copy));
        kith_filter *both[] = {filter, copy};
        for (size_t i = 0; i < LENGTH(both); i++) {
            kith_hash hash = kith_filter_hash(both[i]);
            static const kith_hash NO_KEY = {KITH_HASH_SIPHASH, 0, {0}};
            CHECK(kithi_hash_equal(&hash, &NO_KEY));
            CHECK_OK(kith_filter_stats_of(both[i], &stats));
            CHECK_OK(kith_filter_plan_of(both[i], &plan));
            CHECK(!shows_key(&stats, sizeof stats, &spec.hash) && !shows_key(&plan, sizeof plan, &spec.hash));
            CHECK_OK(kith_filter_check(both[i], &reason));
            CHECK(reason == NULL && kith_filter_has(both[i], &(uint64_t){0}, sizeof(uint64_t)));
            CHECK_EQ_U64(kith_filter_digest(both[i], "x", 1), kith_digest(&spec.hash, "x", 1));
        }
        kith_filter_free(filter);
        kith_filter_free(copy);
    }
}

/* ---- full disks ---- */

enum { LARGE_CAPACITY = 200000 }; /* about 240 KiB */

static int save_too_much(const char *path) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *old, *large, *again;
    spec.kind = "bloom";
    spec.capacity = KEYS;
    spec.rate = .01;
    if (kith_filter_create(&spec, &old) != KITH_OK || kith_filter_add(old, "old", 3, NULL) != KITH_OK ||
        kith_filter_save(old, path) != KITH_OK)
        return 1;
    spec.capacity = LARGE_CAPACITY;
    if (kith_filter_create(&spec, &large) != KITH_OK || kith_filter_add(large, "large", 5, NULL) != KITH_OK)
        return 2;
    if (kith_filter_save(large, path) != KITH_E_NO_SPACE)
        return 3;
    if (kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &again) != KITH_OK || !kith_filter_has(again, "old", 3) ||
        kith_filter_capacity(again) != KEYS)
        return 4;
    kith_filter_free(again);
    if (!kith_filter_has(large, "large", 5) || kith_filter_check(large, NULL) != KITH_OK)
        return 5; /* the filter that could not be saved is unchanged */
    if (kith_filter_save(old, path) != KITH_OK)
        return 6;
    kith_filter_free(old);
    kith_filter_free(large);
    return 0;
}

static int save_past_the_limit(const struct folder *f) {
    struct rlimit limit = {64 << 10, 64 << 10};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return CHILD_SKIPPED;
    return save_too_much(in(f, "x"));
}

/* In a separate mount namespace, so that the small disk disappears with the child. */
static int save_on_a_small_disk(const struct folder *f) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", f->path, "tmpfs", 0, "size=64k") != 0)
        return CHILD_SKIPPED;
    return save_too_much(in(f, "x"));
}

TEST(a_save_beyond_the_file_size_limit_returns_no_space_and_keeps_the_old_file) {
    struct folder f = fresh_folder();
    unsigned result = in_child(save_past_the_limit, &f);
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("cannot set a limit here");
    CHECK_EQ_U64(result, 0);
}

TEST(a_save_on_a_full_disk_returns_no_space_and_keeps_the_old_file) {
    if (geteuid() != 0)
        SKIP("only root may mount a small disk");
    struct folder f = fresh_folder();
    unsigned result = in_child(save_on_a_small_disk, &f);
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("cannot create a mount namespace here");
    CHECK_EQ_U64(result, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
