/* blocklog/guest.h: the parts of the guest's only program. It is the first process of a small virtual machine, without
 * any other file than kernel modules. blocklog.py starts it and passes options on the kernel's command line. */
#ifndef KITH_TESTS_BLOCKLOG_GUEST_H
#define KITH_TESTS_BLOCKLOG_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#define GUEST_FOLDER "/disk" /* where the file system is mounted */
#define GUEST_PLAIN GUEST_FOLDER "/plain.kith"

struct guest_options {
    char role[16];       /* write or judge */
    char file_system[8]; /* ext4 or xfs */
    char fault[32];      /* a name in faults.c; "none": no fault */
    uint64_t rounds;
    uint64_t part_at, part_bytes; /* the partition of the file system, in bytes from the start of the disk */
    uint64_t marks_at;            /* the partition of the marks */
    uint64_t job, jobs;           /* judge only states with number % jobs == job */
    uint64_t subsets;             /* random subsets of the writes between two flushes */
    uint64_t seed;
    uint64_t findings; /* stop after this many states with a finding */
};

/* Runs rounds of work.h on /dev/vda1, with marks on /dev/vda2. Returns whether it could do all of them. */
bool guest_write(const struct guest_options *options);

/* Restores every state of a disk from the log /dev/vdb, on a disk in memory, and checks it. /dev/vda is the partition
 * of the file system before the first entry of the log. What it finds is printed. Returns whether it could check all
 * states. */
bool guest_judge(const struct guest_options *options);

/* Plants a fault by its name. Returns false if there is none. */
bool guest_plant(const char *fault);

/* From now on, some records within batches are followed by a sync of the whole system, as if by another program. */
void guest_disturb(uint64_t seed);

/* Writes a line for blocklog.py. */
__attribute__((format(printf, 1, 2))) void guest_say(const char *format, ...);

#endif
