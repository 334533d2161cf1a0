/* Tests kithi_replace_file when the system fails: each system call in turn fails once or permanently, or the process
 * dies there. The number of the call grows until a save meets no failure, so that every step is tested, also steps that
 * are added later. */
#include "unit/replace_faults.h"

#include <sys/mman.h>

struct scene {
    const char *path;   /* passed to the save */
    const char *target; /* the file it refers to */
    bool exists, secret;
};

static const struct scene scenes[] = {
    {"x", "x", true, false}, {"x", "x", true, true},     {"x", "x", false, false},
    {"x", "x", false, true}, {"link", "x", true, false}, {"link", "x", false, false},
};

static bool set_scene(const struct folder *f, const struct scene *s) {
    (void)unlink(in(f, "link"));
    (void)unlink(in(f, "x"));
    return symlink("x", in(f, "link")) == 0 && (!s->exists || make_old(in(f, "x")));
}

static bool scene_is_untouched(const struct folder *f, const struct scene *s) {
    const char *x = in(f, s->target);
    if (!is_link(in(f, "link")))
        return false;
    if (!s->exists)
        return is_absent(x);
    return file_is(x, OLD_BYTES, OLD) && mode_of(x) == 0640 && (geteuid() != 0 || owner_is(x, SOMEBODY, SOMEBODY));
}

static bool scene_is_played(const struct folder *f, const struct scene *s) {
    return is_link(in(f, "link")) && file_is(in(f, s->target), NEW_BYTES, NEW);
}

/* Returns whether the save must fail if this call failed with a disk error. Closing a file that was not written loses
 * nothing. A leftover that cannot be removed or a file that cannot be locked does not fail the save either. */
static bool must_fail(void) {
    switch (fault.hit) {
    case UNLINKAT:
    case FLOCK:
    case GETDENTS:
        return false;
    case CLOSE:
        return fault.hit_written;
    case OPENAT:
        return !fault.hit_leftover;
    default:
        return true;
    }
}

TEST(a_call_that_fails_once_leaves_everything_unchanged) {
    static const struct {
        int error;
        kith_status status;
    } errors[] = {{EIO, KITH_E_IO}, {ENOSPC, KITH_E_NO_SPACE}, {EDQUOT, KITH_E_NO_SPACE}, {ENOMEM, KITH_E_MEMORY}};
    struct folder f = fresh_folder();
    unsigned hits[CALLS] = {0};
    int descriptor = lowest_free_descriptor();
    for (size_t e = 0; e < LENGTH(errors); e++) {
        for (size_t s = 0; s < LENGTH(scenes); s++) {
            unsigned n = 0;
            do {
                CHECK(set_scene(&f, &scenes[s]));
                plan_fault(ANY_CALL, ++n, errors[e].error);
                kith_status status = save_with_fault(in(&f, scenes[s].path), scenes[s].secret);
                hits[fault.hit]++;
                if (fault.hit != ANY_CALL && must_fail()) {
                    CHECK_STATUS(status, errors[e].status);
                    CHECK(errno == errors[e].error);
                    CHECK(scene_is_untouched(&f, &scenes[s]));
                } else {
                    CHECK_STATUS(status, KITH_OK);
                    CHECK(scene_is_played(&f, &scenes[s]));
                }
                CHECK_EQ_U64(sweep(&f), fault.hit == UNLINKAT);
                CHECK(lowest_free_descriptor() == descriptor);
            } while (fault.hit != ANY_CALL && n < 1000);
            CHECK(n > 8 && n < 1000);
        }
    }
    /* Every kind of call has failed once, except those that this user or these files do not need. */
    for (int call = ANY_CALL; call < CALLS; call++)
        CHECK(hits[call] > 0 || call == FSETXATTR || (call == FCHOWN && geteuid() != 0));
    remove_folder(&f);
}

TEST(a_call_that_always_fails_leaves_everything_unchanged) {
    static const enum call calls[] = {OPENAT, GETRANDOM, FCHMOD, FALLOCATE, WRITE, FSYNC, RENAMEAT2};
    struct folder f = fresh_folder();
    for (size_t c = 0; c < LENGTH(calls); c++) {
        for (size_t s = 0; s < LENGTH(scenes); s++) {
            unsigned n = 0;
            do {
                CHECK(set_scene(&f, &scenes[s]));
                plan_fault(calls[c], ++n, EIO);
                fault.stays = true;
                kith_status status = save_with_fault(in(&f, scenes[s].path), scenes[s].secret);
                CHECK_STATUS(status, fault.hit == ANY_CALL ? KITH_OK : KITH_E_IO);
                CHECK(fault.hit == ANY_CALL ? scene_is_played(&f, &scenes[s]) : scene_is_untouched(&f, &scenes[s]));
                CHECK_EQ_U64(sweep(&f), 0);
            } while (fault.hit != ANY_CALL && n < 1000);
        }
    }
    remove_folder(&f);
}

TEST(a_failed_fsync_is_not_retried) {
    static const int errors[] = {EIO, EINTR, ENOSPC};
    struct folder f = fresh_folder();
    for (size_t e = 0; e < LENGTH(errors); e++) {
        for (unsigned n = 1; n <= 2; n++) {
            CHECK(make_old(in(&f, "x")));
            plan_fault(FSYNC, n, errors[e]);
            CHECK(save_with_fault(in(&f, "x"), false) != KITH_OK);
            CHECK(errno == errors[e]);
            CHECK_EQ_U64(fault.made[FSYNC], n);
            CHECK(file_is(in(&f, "x"), OLD_BYTES, OLD));
            CHECK_EQ_U64(sweep(&f), 0);
        }
    }
    remove_folder(&f);
}

TEST(the_bytes_are_synced_before_the_name_and_the_folder_after) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    no_fault();
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
    CHECK_EQ_U64(fault.made[FSYNC], 2);
    plan_fault(FSYNC, 1, EIO);
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_E_IO);
    CHECK(fault.hit_written);
    CHECK_EQ_U64(fault.made[RENAMEAT] + fault.made[RENAMEAT2], 0);
    plan_fault(FSYNC, 2, EIO);
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_E_IO);
    CHECK(!fault.hit_written);
    CHECK(fault.made[RENAMEAT] + fault.made[RENAMEAT2] > 0);
    remove_folder(&f);
}

TEST(missing_file_system_features_do_not_fail_the_save) {
    static const struct {
        enum call call;
        unsigned at;
        int error;
    } lacks[] = {{FALLOCATE, 1, EOPNOTSUPP},    {FALLOCATE, 1, EINVAL},    {FALLOCATE, 1, ENOSYS},
                 {FALLOCATE, 1, EINTR},         {FSYNC, 2, EINVAL},        {FSYNC, 2, EOPNOTSUPP},
                 {RENAMEAT2, 1, EINVAL},        {RENAMEAT2, 1, ENOSYS},    {FGETXATTR, 1, EOPNOTSUPP},
                 {FREMOVEXATTR, 1, EOPNOTSUPP}, {FREMOVEXATTR, 1, ENODATA}};
    struct folder f = fresh_folder();
    for (size_t i = 0; i < LENGTH(lacks); i++) {
        CHECK(make_old(in(&f, "x")));
        plan_fault(lacks[i].call, lacks[i].at, lacks[i].error);
        CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
        CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
        CHECK_EQ_U64(mode_of(in(&f, "x")), 0640);
        CHECK_EQ_U64(sweep(&f), 0);
    }
    remove_folder(&f);
}

TEST(signals_and_short_writes_lose_no_byte) {
    struct folder f = fresh_folder();
    static const size_t most[] = {1, 7, 4096, NEW_BYTES - 1};
    for (size_t i = 0; i < LENGTH(most); i++) {
        plan_fault(WRITE, 1 + (unsigned)i, EINTR);
        fault.write_most = most[i];
        CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
        CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    }
    unsigned n = 0;
    do {
        plan_fault(CLOSE, ++n, EINTR);
        CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
        CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    } while (fault.hit != ANY_CALL);
    CHECK(n > 1);
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(a_disk_that_fills_between_two_writes_leaves_the_old_file) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    plan_fault(WRITE, 3, ENOSPC);
    fault.stays = true;
    fault.write_most = 1000;
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_E_NO_SPACE);
    CHECK(file_is(in(&f, "x"), OLD_BYTES, OLD));
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(a_save_larger_than_the_kernels_limit_uses_several_writes) {
#if SIZE_MAX > 0xffffffff
    const size_t byte_count = ((size_t)5 << 30) + 3;
    void *zeros = mmap(NULL, byte_count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED)
        SKIP("less than 5 GiB of address space");
    struct folder f = fresh_folder();
    no_fault();
    fault.write_pretends = true;
    fault.write_most = 0x7ffff000;
    fault.armed = true;
    kith_status status = kithi_replace_file(in(&f, "x"), zeros, byte_count, false);
    fault.armed = false;
    CHECK_STATUS(status, KITH_OK);
    CHECK_EQ_U64(fault.written_bytes, byte_count);
    CHECK(fault.write_largest <= INT_MAX);
    (void)munmap(zeros, byte_count);
    remove_folder(&f);
#else
    SKIP("objects of this size are not possible on this machine");
#endif
}

TEST(existing_temporary_names_are_not_used_and_another_is_found) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    unsigned n = 0;
    do { /* the opens: folder, target, new file, old file's access list */
        plan_fault(OPENAT, ++n, EEXIST);
        kith_status status = save_with_fault(in(&f, "x"), false);
        if (fault.hit != ANY_CALL && fault.hit_written)
            CHECK_STATUS(status, KITH_OK);
    } while (fault.hit != ANY_CALL && !fault.hit_written);
    CHECK(fault.hit_written);
    CHECK(make_old(in(&f, "x")));
    plan_fault(OPENAT, n, EEXIST);
    fault.stays = true;
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_E_IO);
    CHECK(errno == EEXIST);
    CHECK(file_is(in(&f, "x"), OLD_BYTES, OLD));
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(without_exchange_a_failed_sync_of_the_folder_leaves_a_whole_file) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    plan_fault(FSYNC, 2, EIO);
    fault.no_exchange = true;
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_E_IO);
    CHECK_EQ_U64(fault.made[RENAMEAT], 1);
    CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    CHECK_EQ_U64(sweep(&f), 0);
    CHECK(unlink(in(&f, "x")) == 0); /* a new file can be removed again even so */
    plan_fault(FSYNC, 2, EIO);
    fault.no_exchange = true;
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_E_IO);
    CHECK(is_absent(in(&f, "x")));
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

static unsigned kill_at;

static int save_and_die(const struct folder *f) {
    plan_fault(ANY_CALL, kill_at, EIO);
    fault.kills = true;
    return save_with_fault(in(f, "x"), false) == KITH_OK ? 0 : 1;
}

TEST(a_process_killed_at_any_call_leaves_the_old_file_or_the_new) {
    struct folder f = fresh_folder();
    unsigned result;
    unsigned old = 0;
    kill_at = 0;
    do {
        CHECK(make_old(in(&f, "x")));
        kill_at++;
        result = in_child(save_and_die, &f);
        bool is_old = file_is(in(&f, "x"), OLD_BYTES, OLD);
        old += is_old;
        CHECK(is_old || file_is(in(&f, "x"), NEW_BYTES, NEW));
        CHECK(result == 0 || result == 256 + SIGKILL);
        CHECK(sweep(&f) <= 1);
    } while (result != 0 && kill_at < 1000);
    CHECK(old > 8 && old < kill_at && kill_at < 1000);
    remove_folder(&f);
}

TEST(the_next_save_removes_what_a_killed_process_left) {
    struct folder f = fresh_folder();
    unsigned result, left = 0;
    kill_at = 0;
    do {
        CHECK(make_old(in(&f, "x")));
        kill_at++;
        result = in_child(save_and_die, &f);
        CHECK(result == 0 || result == 256 + SIGKILL);
        left += temporary_files(&f);
        CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
        CHECK_EQ_U64(temporary_files(&f), 0);
        CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    } while (result != 0 && kill_at < 1000);
    CHECK(left > 8 && kill_at < 1000);
    remove_folder(&f);
}

/* What a killed save to x leaves. */
static const char *left_by_a_killed_save(void) {
    static leftover_name name;
    return leftover("x", "abc234", name);
}

static bool make_leftover(const struct folder *f) {
    return make_file(in(f, left_by_a_killed_save()), OLD_BYTES, NEW, 0600);
}

TEST(a_leftover_that_cannot_be_removed_does_not_fail_the_save) {
    static const int errors[] = {EIO, ENOMEM, ENOLCK};
    struct folder f = fresh_folder();
    int descriptor = lowest_free_descriptor();
    bool stayed[CALLS] = {false};
    for (size_t e = 0; e < LENGTH(errors); e++) {
        unsigned n = 0;
        do {
            CHECK(make_old(in(&f, "x")) && make_leftover(&f));
            plan_fault(ANY_CALL, ++n, errors[e]);
            kith_status status = save_with_fault(in(&f, "x"), false);
            CHECK((status == KITH_OK) == (fault.hit == ANY_CALL || !must_fail()));
            CHECK(status == KITH_OK ? file_is(in(&f, "x"), NEW_BYTES, NEW) : file_is(in(&f, "x"), OLD_BYTES, OLD));
            stayed[fault.hit] |= !is_absent(in(&f, left_by_a_killed_save()));
            CHECK(temporary_files(&f) <= 1);
            CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
            CHECK_EQ_U64(temporary_files(&f), 0);
            CHECK(lowest_free_descriptor() == descriptor);
        } while (fault.hit != ANY_CALL && n < 1000);
        CHECK(n > 8 && n < 1000);
    }
    CHECK(stayed[GETDENTS] && stayed[OPENAT] && stayed[FLOCK] && stayed[UNLINKAT] && !stayed[WRITE] &&
          !stayed[ANY_CALL]);
    remove_folder(&f);
}

TEST(a_new_file_that_another_save_removed_as_a_leftover_is_created_again) {
    struct folder f = fresh_folder();
    for (int exists = 0; exists < 2; exists++) {
        (void)unlink(in(&f, "x"));
        CHECK(!exists || make_old(in(&f, "x")));
        no_fault(); /* it is removed before it is locked */
        fault.loses_race = true;
        CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
        CHECK(!fault.loses_race);
        CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
        CHECK_EQ_U64(sweep(&f), 0);
        unsigned n = 0, written = 0;
        do { /* it is locked by another process, which will remove it */
            CHECK(!exists || make_old(in(&f, "x")));
            plan_fault(FLOCK, ++n, EWOULDBLOCK);
            CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
            CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
            CHECK_EQ_U64(sweep(&f), 0);
            if (fault.hit == FLOCK && fault.hit_written) {
                written++;
                CHECK(fault.made[GETRANDOM] == 2);
            }
        } while (fault.hit != ANY_CALL);
        CHECK_EQ_U64(written, 1);
    }
    remove_folder(&f);
}

TEST(an_old_file_that_is_removed_meanwhile_does_not_fail_the_save) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    no_fault();
    fault.loses_old = true;
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
    CHECK(!fault.loses_old);
    CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(the_new_file_is_locked_until_its_temporary_name_is_free) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    no_fault();
    fault.watched = &f;
    CHECK_STATUS(save_with_fault(in(&f, "x"), false), KITH_OK);
    CHECK_EQ_U64(fault.unlocked, 0);
    CHECK(fault.watches > 8);
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
