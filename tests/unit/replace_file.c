/* Tests kithi_replace_file on the real system: the file that it leaves, and what it refuses. Modes, owners, access
 * lists, links, rights, a full disk. */
#include "unit/replace_faults.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

TEST(a_new_file_has_the_bytes_and_the_umask_decides_its_mode) {
    struct folder f = fresh_folder();
    mode_t before = umask(027);
    kith_status status = save(in(&f, "x"), false);
    (void)umask(before);
    CHECK_STATUS(status, KITH_OK);
    CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    CHECK_EQ_U64(mode_of(in(&f, "x")), 0640);
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(an_empty_file_can_be_written) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    CHECK_STATUS(kithi_replace_file(in(&f, "x"), NULL, 0, false), KITH_OK);
    CHECK(file_is(in(&f, "x"), 0, NEW));
    remove_folder(&f);
}

TEST(a_path_without_a_folder_means_the_working_folder) {
    struct folder f = fresh_folder();
    int home = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(chdir(f.path) == 0);
    CHECK_STATUS(save("x", false), KITH_OK);
    CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    CHECK(fchdir(home) == 0);
    (void)close(home);
    remove_folder(&f);
}

TEST(a_replaced_file_keeps_its_mode_without_set_id_bits) {
    static const mode_t modes[] = {0600, 0644, 0640, 0666, 0444, 0755, 0604, 0000};
    struct folder f = fresh_folder();
    for (size_t i = 0; i < LENGTH(modes); i++) {
        const char *x = in(&f, "x");
        (void)unlink(x);
        CHECK(make_file(x, OLD_BYTES, OLD, modes[i]));
        CHECK_STATUS(save(x, false), KITH_OK);
        /* A file that its owner may not read could have an access list, so only the owner's bits are kept. */
        bool unreadable = geteuid() != 0 && !(modes[i] & 0400);
        CHECK_EQ_U64(mode_of(x), unreadable ? modes[i] & 0700 : modes[i]);
        CHECK(chmod(x, 0600) == 0 && file_is(x, NEW_BYTES, NEW));
    }
    CHECK(make_file(in(&f, "x"), OLD_BYTES, OLD, 06755));
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK_EQ_U64(mode_of(in(&f, "x")), 0755);
    remove_folder(&f);
}

TEST(a_replaced_file_keeps_its_owner_and_group) {
    if (geteuid() != 0)
        SKIP("only root may give files away");
    struct folder f = fresh_folder();
    const char *x = in(&f, "x");
    CHECK(make_old(x));
    CHECK(chown(x, SOMEBODY, SOMEBODY + 1) == 0);
    CHECK_STATUS(save(x, false), KITH_OK);
    CHECK(owner_is(x, SOMEBODY, SOMEBODY + 1));
    CHECK_EQ_U64(mode_of(x), 0640);
    CHECK_STATUS(save(x, true), KITH_OK);
    CHECK(owner_is(x, SOMEBODY, SOMEBODY + 1));
    CHECK_EQ_U64(mode_of(x), 0600);
    remove_folder(&f);
}

TEST(nobody_gains_access_if_the_owner_cannot_be_kept) {
    static const struct {
        mode_t old, kept;
    } cases[] = {{0664, 0644}, {0640, 0600}, {0604, 0600}, {0666, 0666}, {0444, 0444}, {0066, 0000}, {0466, 0444}};
    if (geteuid() != 0)
        SKIP("only root can create a file of another user");
    struct folder f = fresh_folder();
    const char *x = in(&f, "x");
    for (size_t i = 0; i < LENGTH(cases); i++) {
        CHECK(make_old(x) && chmod(x, cases[i].old) == 0);
        plan_fault(FCHOWN, 1, EPERM);
        fault.stays = true;
        CHECK_STATUS(save_with_fault(x, false), KITH_OK);
        CHECK_EQ_U64(mode_of(x), cases[i].kept);
        CHECK(owner_is(x, 0, 0));
        CHECK(file_is(x, NEW_BYTES, NEW));
    }
    /* Only the owner cannot be kept: the group's bits are still right. */
    CHECK(make_old(x) && chmod(x, 0640) == 0);
    plan_fault(FCHOWN, 1, EPERM);
    CHECK_STATUS(save_with_fault(x, false), KITH_OK);
    CHECK_EQ_U64(mode_of(x), 0640);
    CHECK(owner_is(x, 0, SOMEBODY));
    remove_folder(&f);
}

TEST(a_secret_file_is_for_its_owner_only) {
    static const mode_t modes[] = {0644, 0666, 0400, 0755};
    struct folder f = fresh_folder();
    mode_t before = umask(0);
    CHECK_STATUS(save(in(&f, "new"), true), KITH_OK);
    CHECK_EQ_U64(mode_of(in(&f, "new")), 0600);
    (void)umask(0277);
    CHECK_STATUS(save(in(&f, "narrow"), true), KITH_OK);
    (void)umask(before);
    CHECK_EQ_U64(mode_of(in(&f, "narrow")), 0600);
    for (size_t i = 0; i < LENGTH(modes); i++) {
        CHECK(make_file(in(&f, "new"), OLD_BYTES, OLD, modes[i]));
        CHECK_STATUS(save(in(&f, "new"), true), KITH_OK);
        CHECK_EQ_U64(mode_of(in(&f, "new")), 0600);
        CHECK(chmod(in(&f, "new"), 0600) == 0);
    }
    remove_folder(&f);
}

/* A POSIX access list in the format of the kernel, little-endian: version 2, then tag, rights and id of the owner,
 * SOMEBODY (12345 = 0x3039), the group, the mask and the others. */
#define ACL_TEXT                                                                                                       \
    "\2\0\0\0"                                                                                                         \
    "\1\0\6\0\xff\xff\xff\xff"                                                                                         \
    "\2\0\6\0\x39\x30\0\0"                                                                                             \
    "\4\0\0\0\xff\xff\xff\xff"                                                                                         \
    "\20\0\6\0\xff\xff\xff\xff"                                                                                        \
    "\40\0\0\0\xff\xff\xff\xff"
static const char acl[] = ACL_TEXT;
enum { ACL_BYTES = sizeof acl - 1 };

TEST(an_access_list_is_kept_and_none_is_inherited) {
    uint8_t now[256];
    struct folder f = fresh_folder();
    const char *x = in(&f, "x");
    CHECK(make_file(x, OLD_BYTES, OLD, 0600));
    if (setxattr(x, "system.posix_acl_access", acl, ACL_BYTES, 0) != 0) {
        remove_folder(&f);
        SKIP("this file system has no access lists");
    }
    CHECK_STATUS(save(x, false), KITH_OK);
    CHECK_EQ_U64(mode_of(x), 0660);
    CHECK(getxattr(x, "system.posix_acl_access", now, sizeof now) == ACL_BYTES);
    CHECK(memcmp(now, acl, ACL_BYTES) == 0);

    CHECK_STATUS(save(x, true), KITH_OK);
    CHECK_EQ_U64(mode_of(x), 0600);
    CHECK(getxattr(x, "system.posix_acl_access", now, sizeof now) < 0 && errno == ENODATA);

    CHECK(setxattr(x, "system.posix_acl_access", acl, ACL_BYTES, 0) == 0);
    plan_fault(FGETXATTR, 1, ERANGE);
    CHECK_STATUS(save_with_fault(x, false), KITH_OK);
    CHECK_EQ_U64(mode_of(x), 0600);

    CHECK(chmod(x, 0640) == 0);
    CHECK(setxattr(f.path, "system.posix_acl_default", acl, ACL_BYTES, 0) == 0);
    CHECK_STATUS(save(x, false), KITH_OK);
    CHECK_EQ_U64(mode_of(x), 0640);
    CHECK(getxattr(x, "system.posix_acl_access", now, sizeof now) < 0 && errno == ENODATA);
    remove_folder(&f);
}

TEST(a_link_stays_and_its_target_is_replaced) {
    struct folder f = fresh_folder();
    CHECK(mkdir(in(&f, "deep"), 0700) == 0);
    CHECK(make_old(in(&f, "deep/target")));
    CHECK(symlink("deep/target", in(&f, "relative")) == 0);
    CHECK(symlink(in(&f, "relative"), in(&f, "absolute")) == 0);
    CHECK(symlink("../absolute", in(&f, "deep/back")) == 0);
    CHECK_STATUS(save(in(&f, "deep/back"), false), KITH_OK);
    CHECK(is_link(in(&f, "relative")) && is_link(in(&f, "absolute")) && is_link(in(&f, "deep/back")));
    CHECK(!is_link(in(&f, "deep/target")));
    CHECK(file_is(in(&f, "deep/target"), NEW_BYTES, NEW));
    CHECK_EQ_U64(mode_of(in(&f, "deep/target")), 0640);
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(the_target_of_a_dangling_link_is_created) {
    struct folder f = fresh_folder();
    CHECK(mkdir(in(&f, "deep"), 0700) == 0);
    CHECK(symlink("deep/target", in(&f, "link")) == 0);
    CHECK_STATUS(save(in(&f, "link"), false), KITH_OK);
    CHECK(is_link(in(&f, "link")));
    CHECK(file_is(in(&f, "deep/target"), NEW_BYTES, NEW));
    CHECK(symlink("nowhere/target", in(&f, "lost")) == 0);
    CHECK_STATUS(save(in(&f, "lost"), false), KITH_E_NO_FILE);
    CHECK(is_link(in(&f, "lost")));
    remove_folder(&f);
}

TEST(endless_links_are_refused) {
    struct folder f = fresh_folder();
    CHECK(symlink("b", in(&f, "a")) == 0);
    CHECK(symlink("a", in(&f, "b")) == 0);
    CHECK_STATUS(save(in(&f, "a"), false), KITH_E_IO);
    CHECK(errno == ELOOP);
    CHECK(is_link(in(&f, "a")) && is_link(in(&f, "b")));
    remove_folder(&f);
}

TEST(a_link_of_another_user_in_a_shared_folder_is_not_followed) {
    if (geteuid() != 0)
        SKIP("only root can create a link of another user");
    struct folder f = fresh_folder();
    CHECK(mkdir(in(&f, "shared"), 0700) == 0 && chmod(in(&f, "shared"), 01777) == 0);
    CHECK(make_old(in(&f, "target")));
    CHECK(symlink("../target", in(&f, "shared/x")) == 0);
    CHECK(lchown(in(&f, "shared/x"), SOMEBODY, SOMEBODY) == 0);
    CHECK_STATUS(save(in(&f, "shared/x"), false), KITH_E_PERMISSION);
    CHECK(file_is(in(&f, "target"), OLD_BYTES, OLD));
    CHECK(lchown(in(&f, "shared/x"), 0, 0) == 0);
    CHECK_STATUS(save(in(&f, "shared/x"), false), KITH_OK);
    CHECK(file_is(in(&f, "target"), NEW_BYTES, NEW));
    remove_folder(&f);
}

TEST(a_hard_link_keeps_the_old_bytes) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    CHECK(link(in(&f, "x"), in(&f, "other")) == 0);
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK(file_is(in(&f, "x"), NEW_BYTES, NEW));
    CHECK(file_is(in(&f, "other"), OLD_BYTES, OLD));
    remove_folder(&f);
}

TEST(long_names_are_supported) {
    static const size_t lengths[] = {64, 65, 66, 100, 200, NAME_MAX};
    struct folder f = fresh_folder();
    for (size_t i = 0; i < 2 * LENGTH(lengths); i++) {
        char name[NAME_MAX + 1] = "n";
        size_t length = lengths[i / 2];
        memset(name, 'n', length);
        for (size_t place = i % 2; place + 2 <= length; place += 2) /* every truncation is inside a character once */
            memcpy(name + place, "\xc3\xa9", 2);
        for (int twice = 0; twice < 2; twice++) {
            no_fault();
            CHECK_STATUS(save_with_fault(in(&f, name), false), KITH_OK);
            CHECK(file_is(in(&f, name), NEW_BYTES, NEW));
            const char *mark = strstr(fault.created, ".kith-");
            CHECK(mark != NULL && mark - fault.created > 60 && strlen(fault.created) < 86);
            CHECK(strncmp(fault.created + 1, name, (size_t)(mark - fault.created - 1)) == 0);
            CHECK(mark[-1] != '\xc3');
        }
    }
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(only_regular_files_are_replaced) {
    struct folder f = fresh_folder();
    CHECK(mkdir(in(&f, "folder"), 0700) == 0);
    CHECK(mkfifo(in(&f, "fifo"), 0600) == 0);
    CHECK(mknod(in(&f, "socket"), S_IFSOCK | 0600, 0) == 0);
    /* Never a device of the system: if the code under test were wrong and ran as root, it would be deleted. */
    bool has_device = mknod(in(&f, "device"), S_IFCHR | 0600, makedev(1, 3)) == 0;
    CHECK(symlink("folder", in(&f, "link")) == 0);
    const char *folders[] = {"folder", "folder/", "link", ".", "folder/..", "folder/."};
    for (size_t i = 0; i < LENGTH(folders); i++) {
        CHECK_STATUS(save(in(&f, folders[i]), false), KITH_E_IO);
        CHECK(errno == EISDIR);
    }
    CHECK_STATUS(save(in(&f, "fifo"), false), KITH_E_IO);
    CHECK(errno == EINVAL);
    CHECK_STATUS(save(in(&f, "socket"), false), KITH_E_IO);
    CHECK(errno == EINVAL);
    if (has_device) {
        CHECK_STATUS(save(in(&f, "device"), false), KITH_E_IO);
        CHECK(errno == EINVAL);
    }
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

TEST(a_missing_folder_is_reported_and_not_created) {
    struct folder f = fresh_folder();
    CHECK_STATUS(save(in(&f, "none/x"), false), KITH_E_NO_FILE);
    CHECK(errno == ENOENT);
    CHECK(is_absent(in(&f, "none")));
    CHECK(make_old(in(&f, "file")));
    CHECK_STATUS(save(in(&f, "file/x"), false), KITH_E_NO_FILE);
    CHECK(errno == ENOTDIR);
    CHECK_STATUS(save(in(&f, "file/"), false), KITH_E_NO_FILE);
    CHECK_STATUS(save("", false), KITH_E_NO_FILE);
    CHECK(file_is(in(&f, "file"), OLD_BYTES, OLD));
    remove_folder(&f);
}

TEST(a_path_that_is_too_long_is_refused) {
    static char path[2 * PATH_MAX];
    memset(path, '/', sizeof path - 1);
    path[sizeof path - 2] = 'x';
    CHECK_STATUS(save(path, false), KITH_E_IO);
    CHECK(errno == ENAMETOOLONG);
}

TEST(leftovers_of_this_name_are_removed_and_nothing_else) {
    struct folder f = fresh_folder();
    leftover_name of_y, right, wrong, shorter, longer, first, second, folder, fifo, link;
    size_t last = strlen(leftover("x", "abc234", right)) - 1;
    (void)snprintf(wrong, sizeof wrong, "%.*s%c", (int)last, right, right[last] == 'a' ? 'b' : 'a');
    (void)snprintf(shorter, sizeof shorter, "%.*s", (int)last, right);
    (void)snprintf(longer, sizeof longer, "%.80sa", right);
    const char *const stay[] = {
        leftover("y", "abc234", of_y), /* another target */
        wrong,
        shorter,
        longer,
        ".x.kith-abc234",
        ".x.kith-aaaaaaaaaaaa", /* made by somebody else, as the next two */
        ".x.kith-old234backup",
        ".x.kith-ABC234ABC234",
        ".x.kith-",
        right + 1, /* without the dot */
        "x-lock",
    };
    CHECK(make_old(in(&f, "x")));
    CHECK(make_file(in(&f, leftover("x", "aaaaaa", first)), 0, NEW, 0600));
    CHECK(make_file(in(&f, leftover("x", "zzz777", second)), NEW_BYTES, NEW, 0444));
    for (size_t i = 0; i < LENGTH(stay); i++)
        CHECK(make_file(in(&f, stay[i]), 1, OLD, 0644));
    CHECK(mkdir(in(&f, leftover("x", "folder", folder)), 0700) == 0);
    CHECK(mkfifo(in(&f, leftover("x", "fiffoo", fifo)), 0600) == 0);
    CHECK(make_file(in(&f, "kept"), OLD_BYTES, OLD, 0600));
    CHECK(symlink("kept", in(&f, leftover("x", "linked", link))) == 0);
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK(is_absent(in(&f, first)) && is_absent(in(&f, second)));
    for (size_t i = 0; i < LENGTH(stay); i++)
        CHECK(file_is(in(&f, stay[i]), 1, OLD));
    CHECK(is_link(in(&f, link)) && file_is(in(&f, "kept"), OLD_BYTES, OLD));
    CHECK(!is_absent(in(&f, folder)) && !is_absent(in(&f, fifo)));
    remove_folder(&f);
}

TEST(leftovers_are_found_among_many_files_and_for_long_names) {
    struct folder f = fresh_folder();
    char name[NAME_MAX + 1], other[NAME_MAX + 1];
    leftover_name own, of_other;
    for (int i = 0; i < 500; i++) { /* more than fit in one block of a listing */
        (void)snprintf(name, sizeof name, "a file of some length, number %d", i);
        CHECK(make_file(in(&f, name), 0, OLD, 0600));
    }
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    /* The name of another target that is the same in its first 64 bytes. */
    memcpy(other, name, sizeof name);
    other[100] = '\0';
    CHECK(make_file(in(&f, leftover(name, "abc234", own)), 5, NEW, 0600));
    CHECK(make_file(in(&f, leftover(other, "abc234", of_other)), 5, NEW, 0600));
    CHECK_STATUS(save(in(&f, name), false), KITH_OK);
    CHECK(is_absent(in(&f, own)) && !is_absent(in(&f, of_other)));
    remove_folder(&f);
}

TEST(a_leftover_in_use_is_kept_until_its_process_ends) {
    struct folder f = fresh_folder();
    leftover_name name;
    CHECK(make_file(in(&f, leftover("x", "abc234", name)), 5, OLD, 0600));
    int user = open(in(&f, name), O_WRONLY | O_CLOEXEC);
    CHECK(user >= 0 && flock(user, LOCK_EX | LOCK_NB) == 0);
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK(file_is(in(&f, name), 5, OLD));
    (void)close(user);
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK(is_absent(in(&f, name)));
    remove_folder(&f);
}

TEST(a_leftover_of_another_user_is_kept_unless_that_user_owns_the_file) {
    if (geteuid() != 0)
        SKIP("only root can create a file of another user");
    struct folder f = fresh_folder();
    leftover_name name;
    (void)leftover("x", "abc234", name);
    CHECK(make_file(in(&f, name), 5, OLD, 0600) && chown(in(&f, name), SOMEBODY, SOMEBODY) == 0);
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK(file_is(in(&f, name), 5, OLD));
    CHECK(chown(in(&f, "x"), SOMEBODY, SOMEBODY) == 0);
    CHECK_STATUS(save(in(&f, "x"), false), KITH_OK);
    CHECK(is_absent(in(&f, name)));
    remove_folder(&f);
}

static int save_as_nobody(const struct folder *f) {
    if (!become_nobody())
        return CHILD_SKIPPED;
    if (save(in(f, "open/x"), false) != KITH_OK)
        return 1;
    if (save(in(f, "closed/x"), false) != KITH_E_PERMISSION || errno != EACCES)
        return 2;
    if (save(in(f, "closed/new"), false) != KITH_E_PERMISSION)
        return 3;
    if (save(in(f, "unreadable/x"), false) != KITH_E_PERMISSION)
        return 4;
    return 0;
}

TEST(a_folder_that_may_not_be_written_leaves_the_file_alone) {
    struct folder f = fresh_folder();
    const char *folders[] = {"open", "closed", "unreadable"};
    const mode_t modes[] = {0777, 0555, 0333};
    CHECK(chmod(f.path, 0755) == 0);
    for (size_t i = 0; i < LENGTH(folders); i++) {
        char name[32];
        CHECK(mkdir(in(&f, folders[i]), 0700) == 0);
        (void)snprintf(name, sizeof name, "%s/x", folders[i]);
        CHECK(make_file(in(&f, name), OLD_BYTES, OLD, 0644));
        CHECK(chmod(in(&f, folders[i]), modes[i]) == 0);
    }
    unsigned result = in_child(save_as_nobody, &f);
    for (size_t i = 0; i < LENGTH(folders); i++)
        CHECK(chmod(in(&f, folders[i]), 0700) == 0);
    CHECK(result == CHILD_SKIPPED || file_is(in(&f, "open/x"), NEW_BYTES, NEW));
    CHECK(file_is(in(&f, "closed/x"), OLD_BYTES, OLD));
    CHECK(file_is(in(&f, "unreadable/x"), OLD_BYTES, OLD));
    CHECK(is_absent(in(&f, "closed/new")));
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("cannot become another user here");
    CHECK_EQ_U64(result, 0);
}

static int save_past_the_limit(const struct folder *f) {
    struct rlimit limit = {NEW_BYTES - 1, NEW_BYTES - 1};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return CHILD_SKIPPED;
    if (save(in(f, "x"), false) != KITH_E_NO_SPACE || errno != EFBIG)
        return 1;
    return kithi_replace_file(in(f, "fits"), new_bytes, NEW_BYTES - 1, false) == KITH_OK ? 0 : 2;
}

TEST(exceeding_the_file_size_limit_returns_an_error_without_a_signal) {
    struct folder f = fresh_folder();
    CHECK(make_old(in(&f, "x")));
    CHECK_EQ_U64(in_child(save_past_the_limit, &f), 0);
    CHECK(file_is(in(&f, "x"), OLD_BYTES, OLD));
    CHECK(file_is(in(&f, "fits"), NEW_BYTES - 1, NEW));
    CHECK_EQ_U64(sweep(&f), 0);
    remove_folder(&f);
}

/* In a separate mount namespace, so that the small disk disappears with the child. */
static int save_on_a_full_disk(const struct folder *f) {
    static uint8_t megabyte[1 << 20];
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", f->path, "tmpfs", 0, "size=64k") != 0)
        return CHILD_SKIPPED;
    if (!make_old(in(f, "x")))
        return 1;
    for (int reserves = 0; reserves < 2; reserves++) {
        /* Detected once by fallocate, and once, where fallocate is not available, by write. */
        plan_fault(FALLOCATE, reserves ? 0 : 1, EOPNOTSUPP);
        fault.armed = true;
        kith_status status = kithi_replace_file(in(f, "x"), megabyte, sizeof megabyte, false);
        int error = errno;
        fault.armed = false;
        if (status != KITH_E_NO_SPACE || error != ENOSPC)
            return 10 + reserves;
        if (LONG_MAX > INT_MAX && (fault.made[WRITE] == 0) != (reserves == 1))
            return 20 + reserves;
        if (!file_is(in(f, "x"), OLD_BYTES, OLD) || mode_of(in(f, "x")) != 0640)
            return 30 + reserves;
        if (sweep(f) != 0)
            return 40 + reserves;
    }
    return save(in(f, "x"), false) == KITH_OK && file_is(in(f, "x"), NEW_BYTES, NEW) ? 0 : 50;
}

TEST(a_full_disk_leaves_the_old_file_unchanged) {
    if (geteuid() != 0)
        SKIP("only root may mount a small disk");
    struct folder f = fresh_folder();
    unsigned result = in_child(save_on_a_full_disk, &f);
    remove_folder(&f);
    if (result == CHILD_SKIPPED)
        SKIP("cannot create a mount namespace here");
    CHECK_EQ_U64(result, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
