/* A store belongs to the file that its path led to when it was opened: whatever happens later to links and folders,
 * lock, snapshot, journal and every replacement stay with this file, and no other file changes. */
#define _GNU_SOURCE

#include <kith/kith.h>

#include "check.h"
#include "store_calls.h"
#include "folder.h"

enum { KEYS = 300 };

typedef char content[1 << 16];

static kith_filter *filter_of(uint64_t first) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.capacity = 4 * KEYS;
    spec.rate = 1e-9;
    kith_filter *filter;
    CHECK_OK(kith_filter_create(&spec, &filter));
    for (uint64_t i = 0; i < KEYS; i++)
        CHECK_OK(kith_filter_add_digest(filter, (first + i) * UINT64_C(0x9e3779b97f4a7c15), NULL));
    return filter;
}

static void save(const struct folder *f, const char *name, uint64_t first) {
    kith_filter *filter = filter_of(first);
    CHECK_OK(kith_filter_save(filter, in(f, name)));
    kith_filter_free(filter);
}

static size_t content_of(const struct folder *f, const char *name, content bytes) {
    int fd = open(in(f, name), O_RDONLY);
    CHECK(fd >= 0);
    ssize_t got = read(fd, bytes, sizeof(content));
    CHECK(got > 0 && (size_t)got < sizeof(content));
    (void)close(fd);
    return (size_t)got;
}

static void switch_link(const struct folder *f, const char *name, const char *target) {
    CHECK(symlink(target, in(f, "new-link")) == 0);
    CHECK(rename(in(f, "new-link"), in(f, name)) == 0);
}

static void add(kithi_store *store, uint64_t key) {
    CHECK_OK(kithi_store_add_digest(store, key * UINT64_C(0x9e3779b97f4a7c15), NULL));
}

static bool store_has(const struct folder *f, const char *name, uint64_t key) {
    kithi_store *store;
    CHECK_OK(kithi_store_open(in(f, name), KITHI_STORE_READ, NULL, &store));
    bool has = kith_filter_has_digest(kithi_store_filter(store), key * UINT64_C(0x9e3779b97f4a7c15));
    CHECK_OK(kithi_store_close(store));
    return has;
}

static bool exists(const struct folder *f, const char *name) {
    struct stat st;
    return lstat(in(f, name), &st) == 0;
}

/* Opens a store through `cur`, switches `cur` to b.kith, and changes the store in every way. */
static void check_switched(kith_status (*open_it)(const char *path, kithi_store **store), bool is_store) {
    static content before, after;
    struct folder f = fresh_folder();
    kithi_store *store;
    save(&f, "a.kith", 1);
    save(&f, "b.kith", 5000);
    if (is_store) {
        CHECK_OK(kithi_store_convert(in(&f, "a.kith"), NULL, &store));
        CHECK_OK(kithi_store_close(store));
    }
    size_t bytes = content_of(&f, "b.kith", before);
    CHECK(symlink("a.kith", in(&f, "cur")) == 0);
    CHECK_OK(open_it(in(&f, "cur"), &store));
    switch_link(&f, "cur", "b.kith");
    add(store, 1001);
    CHECK_OK(kithi_store_checkpoint(store));
    add(store, 1002);
    kith_filter *other = filter_of(2000);
    CHECK_OK(kithi_store_replace(store, other));
    kith_filter_free(other);
    add(store, 1003);
    CHECK_OK(kithi_store_close(store));
    CHECK(store_has(&f, "a.kith", 2000) && store_has(&f, "a.kith", 1003));
    CHECK(content_of(&f, "b.kith", after) == bytes && memcmp(before, after, bytes) == 0);
    CHECK(exists(&f, "a.kith-lock") && !exists(&f, "b.kith-lock") && !exists(&f, "b.kith-journal"));
    CHECK(!exists(&f, "cur-lock") && !exists(&f, "cur-journal"));
    remove_folder(&f);
}

static kith_status open_plainly(const char *path, kithi_store **store) {
    return kithi_store_open(path, KITHI_STORE_WRITE, NULL, store);
}

static kith_status convert(const char *path, kithi_store **store) {
    return kithi_store_convert(path, NULL, store);
}

static kith_status create(const char *path, kithi_store **store) {
    kith_filter *filter = filter_of(1);
    kith_status status = kithi_store_create(path, filter, NULL, store);
    kith_filter_free(filter);
    return status;
}

TEST(a_store_stays_with_its_file_when_the_link_is_switched) {
    check_switched(open_plainly, true);
    check_switched(convert, false);
    check_switched(create, false);
    check_switched(create, true);
}

TEST(a_store_stays_with_its_file_when_its_folder_is_renamed) {
    static content before, after;
    struct folder f = fresh_folder();
    kithi_store *store;
    CHECK(mkdir(in(&f, "day"), 0700) == 0);
    save(&f, "day/x.kith", 1);
    CHECK_OK(kithi_store_convert(in(&f, "day/x.kith"), NULL, &store));
    CHECK(rename(in(&f, "day"), in(&f, "yesterday")) == 0);
    CHECK(mkdir(in(&f, "day"), 0700) == 0);
    save(&f, "day/x.kith", 5000);
    size_t bytes = content_of(&f, "day/x.kith", before);
    add(store, 1001);
    CHECK_OK(kithi_store_checkpoint(store));
    add(store, 1002);
    CHECK_OK(kithi_store_close(store));
    CHECK(store_has(&f, "yesterday/x.kith", 1001) && store_has(&f, "yesterday/x.kith", 1002));
    CHECK(content_of(&f, "day/x.kith", after) == bytes && memcmp(before, after, bytes) == 0);
    CHECK(!exists(&f, "day/x.kith-journal"));
    remove_folder(&f);
}

/* The file itself becomes a link: nothing may be written through it, and nothing that was acknowledged is lost. */
TEST(a_file_that_became_a_link_is_not_written_through_it) {
    static content before, after;
    struct folder f = fresh_folder();
    kithi_store *store;
    save(&f, "a.kith", 1);
    save(&f, "b.kith", 5000);
    size_t bytes = content_of(&f, "b.kith", before);
    CHECK_OK(kithi_store_convert(in(&f, "a.kith"), NULL, &store));
    add(store, 1001);
    CHECK(rename(in(&f, "a.kith"), in(&f, "kept.kith")) == 0);
    switch_link(&f, "a.kith", "b.kith");
    CHECK(kithi_store_checkpoint(store) == KITH_E_IO && errno == ELOOP);
    kith_filter *other = filter_of(2000);
    CHECK(kithi_store_replace(store, other) == KITH_E_IO && errno == ELOOP);
    CHECK(kithi_store_close(store) != KITH_OK); /* its name is no longer its own */
    CHECK(content_of(&f, "b.kith", after) == bytes && memcmp(before, after, bytes) == 0);
    CHECK(rename(in(&f, "kept.kith"), in(&f, "a.kith")) == 0);
    CHECK(store_has(&f, "a.kith", 1) && store_has(&f, "a.kith", 1001));
    kith_filter_free(other);
    remove_folder(&f);
}

TEST(a_journal_that_became_a_link_is_not_written_through_it) {
    struct folder f = fresh_folder();
    kithi_store *store;
    save(&f, "a.kith", 1);
    CHECK(make_file(in(&f, "mine"), 100, 3, 0600));
    CHECK_OK(kithi_store_convert(in(&f, "a.kith"), NULL, &store));
    add(store, 1001);
    CHECK(rename(in(&f, "a.kith-journal"), in(&f, "kept-journal")) == 0);
    switch_link(&f, "a.kith-journal", "mine");
    CHECK(kithi_store_checkpoint(store) == KITH_E_IO && errno == ELOOP);
    (void)kithi_store_close(store);
    CHECK(file_is(in(&f, "mine"), 100, 3));
    CHECK(rename(in(&f, "kept-journal"), in(&f, "a.kith-journal")) == 0);
    CHECK(store_has(&f, "a.kith", 1001));
    remove_folder(&f);
}

TEST(a_hard_link_is_another_file) {
    struct folder f = fresh_folder();
    kithi_store *store;
    save(&f, "a.kith", 1);
    CHECK(link(in(&f, "a.kith"), in(&f, "b.kith")) == 0);
    CHECK_OK(kithi_store_convert(in(&f, "a.kith"), NULL, &store));
    add(store, 1001);
    CHECK_OK(kithi_store_close(store));
    CHECK(store_has(&f, "a.kith", 1001));
    kith_filter *old;
    CHECK_OK(kith_filter_open(in(&f, "b.kith"), KITH_OPEN_DEFAULT, NULL, &old)); /* still plain */
    CHECK(!kith_filter_has_digest(old, 1001 * UINT64_C(0x9e3779b97f4a7c15)));
    kith_filter_free(old);
    remove_folder(&f);
}

/* sub is a link to deep/er, so sub/.. is deep, as the kernel sees it. */
TEST(the_parent_of_a_linked_folder_is_that_of_its_target) {
    struct folder f = fresh_folder();
    kithi_store *store;
    CHECK(mkdir(in(&f, "deep"), 0700) == 0 && mkdir(in(&f, "deep/er"), 0700) == 0);
    CHECK(symlink("deep/er", in(&f, "sub")) == 0);
    save(&f, "deep/x.kith", 1);
    save(&f, "x.kith", 5000);
    CHECK_OK(kithi_store_convert(in(&f, "sub/../x.kith"), NULL, &store));
    add(store, 1001);
    CHECK_OK(kithi_store_close(store));
    CHECK(store_has(&f, "deep/x.kith", 1001));
    CHECK(exists(&f, "deep/x.kith-lock") && !exists(&f, "x.kith-lock"));
    remove_folder(&f);
}

TEST(two_names_of_one_file_are_one_store) {
    struct folder f = fresh_folder();
    kithi_store *store, *second;
    save(&f, "a.kith", 1);
    CHECK(symlink("a.kith", in(&f, "cur")) == 0);
    CHECK_OK(kithi_store_convert(in(&f, "a.kith"), NULL, &store));
    CHECK(kithi_store_open(in(&f, "cur"), KITHI_STORE_WRITE, NULL, &second) == KITH_E_LOCKED);
    CHECK_OK(kithi_store_close(store));
    CHECK_OK(kithi_store_open(in(&f, "cur"), KITHI_STORE_WRITE, NULL, &store));
    CHECK(kithi_store_open(in(&f, "a.kith"), KITHI_STORE_WRITE, NULL, &second) == KITH_E_LOCKED);
    CHECK_OK(kithi_store_close(store));
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
