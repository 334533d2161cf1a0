/* The temporary files of os/posix/replace.c:
 *
 *     .NAME.kith-q7k2vdxqn4it
 *                ^^^^^^ random
 *                      ^^^^^^ proof: 30 bits of the XXH3-64 of NAME (all of it) and the random letters
 *
 * Such a file is left when a process is killed. It is the unfinished new file, with any number of bytes, or the old
 * file after the exchange of names, whose bytes may be anything. So the bytes cannot tell whether the file is a
 * leftover. An extended attribute could not either: not every file system has them, and the old file would have to be
 * marked before it is displaced. Therefore the name does: it is one that only kith gives to files. A file that has a
 * name of this form by accident is taken for a leftover with a probability of 2^-30. Somebody who chooses such a name
 * on purpose must be able to create files in this folder as the same user, who can remove files there anyway.
 *
 * A leftover is removed if no process is using it: each save holds an exclusive flock on its files, and a leftover is
 * removed only under a shared one. Where flock does not work, leftovers stay. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/posix/temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/random.h"
#include "os/posix/system.h"
#include "os/posix/uninterrupted.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz234567" /* one case, because some file systems ignore case */
static_assert(sizeof LETTERS == 32 + 1, "five bits per letter, without bias");

bool kithi_names_file(int folder, const char *name, const struct stat *st) {
    struct stat now;
    return fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino &&
           now.st_dev == st->st_dev;
}

/* Writes the part of a temporary name that all files of one target share, and returns its length. */
static size_t write_stem(const char *target_name, kithi_temporary_name name) {
    size_t shown = strlen(target_name);
    if (shown > KITHI_TEMPORARY_SHOWN) {
        shown = KITHI_TEMPORARY_SHOWN;
        while (shown > 0 && ((unsigned char)target_name[shown] & 0xC0) == 0x80) /* never inside a UTF-8 character */
            shown--;
    }
    name[0] = '.';
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the next line adds the end */
    memcpy(name + 1, target_name, shown);
    memcpy(name + 1 + shown, KITHI_TEMPORARY_MARK, sizeof KITHI_TEMPORARY_MARK);
    return 1 + shown + sizeof KITHI_TEMPORARY_MARK - 1;
}

static void write_proof(const char *target_name, const char *random, char proof[KITHI_TEMPORARY_PROOF]) {
    const kithi_part parts[] = {{target_name, strlen(target_name)}, {random, KITHI_TEMPORARY_RANDOM}};
    kithi_parts_cursor cursor = {parts, 0};
    uint64_t hash = kithi_checksum_next(&cursor, parts[0].byte_count + parts[1].byte_count);
    for (size_t i = 0; i < KITHI_TEMPORARY_PROOF; i++)
        proof[i] = LETTERS[hash >> (5 * i) & 31];
}

bool kithi_temporary_choose(const char *target_name, kithi_temporary_name name) {
    unsigned char random[KITHI_TEMPORARY_RANDOM];
    if (!kithi_random(random, sizeof random))
        return false;
    char *letters = name + write_stem(target_name, name);
    for (size_t i = 0; i < sizeof random; i++)
        letters[i] = LETTERS[random[i] % 32];
    write_proof(target_name, letters, letters + KITHI_TEMPORARY_RANDOM);
    letters[KITHI_TEMPORARY_LETTERS] = '\0';
    return true;
}

static bool is_temporary(const char *target_name, const char *letters) {
    char proof[KITHI_TEMPORARY_PROOF];
    if (strlen(letters) != KITHI_TEMPORARY_LETTERS)
        return false;
    write_proof(target_name, letters, proof);
    return memcmp(letters + KITHI_TEMPORARY_RANDOM, proof, sizeof proof) == 0;
}

/* A save gives its file to the owner of the file that it replaces, so the files of that owner count as ours, too. */
static void remove_unused(int folder, const char *name, const struct stat *old) {
    struct stat st;
    int fd = kithi_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == geteuid() || (old != NULL && st.st_uid == old->st_uid));
    if (ours && kithi_flock(fd, LOCK_SH | LOCK_NB) == 0 && kithi_names_file(folder, name, &st))
        (void)unlinkat(folder, name, 0);
    (void)close(fd);
}

struct listing {
    int folder;
    const char *target_name;
    const struct stat *old;
    kithi_temporary_name stem;
    size_t stem_bytes;
};

static void remove_if_temporary(void *context, const char *name) {
    const struct listing *l = context;
    if (strncmp(name, l->stem, l->stem_bytes) == 0 && is_temporary(l->target_name, name + l->stem_bytes))
        remove_unused(l->folder, name, l->old);
}

void kithi_temporary_remove(int folder, const char *target_name, const struct stat *old) {
    struct listing listing = {.folder = folder, .target_name = target_name, .old = old};
    listing.stem_bytes = write_stem(target_name, listing.stem);
    kithi_each_name(folder, remove_if_temporary, &listing);
}
