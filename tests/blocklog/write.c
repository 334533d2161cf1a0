/* The writer. Its disk has two partitions: the file system, and one for marks. A mark bypasses the caches of the guest
 * and is flushed before the next step begins. The log contains both partitions, so a state of the disk with this mark
 * has everything that was flushed before it. */
#define _GNU_SOURCE

#include "blocklog/guest.h"
#include "blocklog/work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

struct writer {
    int marks;
    void *block; /* aligned, for O_DIRECT */
    struct work_mark mark;
};

enum { BLOCK_BYTES = 4096 };

static void save(void *context) {
    struct writer *w = context;
    kith_filter *filter = work_version(w->mark.version + 1);
    CHECK_OK(kith_filter_save(filter, GUEST_PLAIN));
    kith_filter_free(filter);
    w->mark.version++;
}

static void acknowledge(void *context, const struct work_round *round, uint64_t step) {
    struct writer *w = context;
    memcpy(w->mark.magic, "kithmark", sizeof w->mark.magic);
    w->mark.round = round->number;
    w->mark.step = step;
    w->mark.durable = round->model.durable;
    w->mark.number++;
    memcpy(w->block, &w->mark, sizeof w->mark);
    CHECK(pwrite(w->marks, w->block, BLOCK_BYTES, 0) == BLOCK_BYTES);
}

bool guest_write(const struct guest_options *options) {
    static struct work_round round;
    struct writer w = {.mark.number = 0};
    if (setjmp(check_exit) != 0)
        return false;
    CHECK(guest_plant(options->fault));
    guest_disturb(options->seed);
    if (mount("/dev/vda1", GUEST_FOLDER, options->file_system, MS_NOATIME, NULL) != 0)
        CHECK_FAIL("cannot mount the disk: %s", strerror(errno));
    w.marks = open("/dev/vda2", O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
    CHECK(w.marks >= 0 && posix_memalign(&w.block, BLOCK_BYTES, BLOCK_BYTES) == 0);
    memset(w.block, 0, BLOCK_BYTES);
    for (uint64_t i = 0; i < options->rounds; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, GUEST_FOLDER "/s%02u", (unsigned)i);
        struct work_place place = {&kithi_files_system, path, save, acknowledge, &w};
        work_run(&round, i, &place);
        work_free(&round);
    }
    guest_say("acknowledged %" PRIu64 " steps, %" PRIu64 " versions of the plain file", w.mark.number, w.mark.version);
    return true;
}
