/* Planted faults, each of which the judge must find, and a disturbance. The linker puts these calls in place of those
 * of the library and of the C library (CMakeLists.txt). In the judge nothing is planted: they only pass calls on. */
#define _GNU_SOURCE

#include "blocklog/guest.h"

#include "splitmix.h"
#include "file/journal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kith/kith.h>

static const char *const faults[] = {
    "none",
    "nothing_is_synced",          /* lost: everything is acknowledged before it is durable */
    "journals_are_not_synced",    /* lost: operations of a store are acknowledged before they are durable */
    "folders_are_not_synced",     /* lost: a new or replaced file is acknowledged before its name is durable */
    "batches_are_not_held_back",  /* half: each record of a batch counts without the commit */
    "files_are_written_in_place", /* half: a plain file is truncated and written again */
};
static const char *planted = "none";
static bool disturbs;
static uint64_t random_state;

bool guest_plant(const char *fault) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(fault, faults[i]) == 0) {
            planted = faults[i];
            return true;
        }
    return false;
}

void guest_disturb(uint64_t seed) {
    disturbs = true;
    random_state = seed;
}

static bool is_planted(const char *fault) {
    return strcmp(planted, fault) == 0;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    struct stat st;
    if (is_planted("nothing_is_synced"))
        return 0;
    if (is_planted("folders_are_not_synced") && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return __real_fsync(fd);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd) {
    return is_planted("nothing_is_synced") || is_planted("journals_are_not_synced") ? 0 : __real_fdatasync(fd);
}

kith_status __real_kithi_journal_append(kithi_journal *j, kithi_position *at, uint64_t synced, kithi_record_type type,
                                        unsigned flags, const uint64_t *digests, size_t count);
kith_status __wrap_kithi_journal_append(kithi_journal *j, kithi_position *at, uint64_t synced, kithi_record_type type,
                                        unsigned flags, const uint64_t *digests, size_t count);
kith_status __wrap_kithi_journal_append(kithi_journal *j, kithi_position *at, uint64_t synced, kithi_record_type type,
                                        unsigned flags, const uint64_t *digests, size_t count) {
    bool in_batch = (flags & KITHI_RECORD_OPEN) != 0;
    if (is_planted("batches_are_not_held_back"))
        flags &= ~(unsigned)KITHI_RECORD_OPEN;
    kith_status status = __real_kithi_journal_append(j, at, synced, type, flags, digests, count);
    /* Otherwise the records of a batch reach the disk together with its commit, and no state has only some of them. */
    if (disturbs && in_batch && splitmix_next(&random_state) % 2 == 0)
        sync();
    return status;
}

kith_status __real_kith_filter_save(kith_filter *filter, const char *path);
kith_status __wrap_kith_filter_save(kith_filter *filter, const char *path);
kith_status __wrap_kith_filter_save(kith_filter *filter, const char *path) {
    const void *bytes;
    size_t byte_count;
    if (!is_planted("files_are_written_in_place"))
        return __real_kith_filter_save(filter, path);
    kith_status status = kith_filter_bytes(filter, &bytes, &byte_count);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (status != KITH_OK || fd < 0)
        return KITH_E_IO;
    size_t half = byte_count / 2;
    bool ok = write(fd, bytes, half) == (ssize_t)half && __real_fsync(fd) == 0 &&
              write(fd, (const char *)bytes + half, byte_count - half) == (ssize_t)(byte_count - half) &&
              __real_fsync(fd) == 0;
    return close(fd) == 0 && ok ? KITH_OK : KITH_E_IO;
}
