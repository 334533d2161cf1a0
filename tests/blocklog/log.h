/* blocklog/log.h: reads the log of writes and flushes that QEMU's driver blklogwrites makes of a disk, and derives the
 * states in which a power cut can leave the disk.
 *
 * The log has the format of the kernel's dm-log-writes. All numbers are little-endian, and everything begins at a
 * multiple of the sector size:
 *
 *     | head | entry | data of the entry | entry | data | …
 *
 *     head    magic number, version 1, number of entries (8 bytes each), sector size (4 bytes)
 *     entry   first sector on the disk, number of sectors, flags, bytes of inline data (8 bytes each)
 *
 * A flush makes everything before it durable, so the states come from the windows between two flushes:
 *
 *     writes 1 2 3 | flush | writes 4 5 | flush      state at the first flush: 1 2 3
 *                                                    states before the second: 1 2 3 and any subset of 4 5
 *
 * A subset also contains torn writes, of which only some blocks of LOG_TEAR_BYTES arrived. Smaller blocks would be
 * wrong: file systems rely on the disk not to tear their super block. */
#ifndef KITH_TESTS_BLOCKLOG_LOG_H
#define KITH_TESTS_BLOCKLOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "splitmix.h"

#define LOG_MAGIC UINT64_C(0x6a736677736872)
enum { LOG_HEAD_BYTES = 28, LOG_ENTRY_BYTES = 32, LOG_SECTOR_MIN = 512, LOG_SECTOR_MAX = 65536, LOG_TEAR_BYTES = 4096 };
enum { LOG_FLUSH = 1, LOG_FUA = 2, LOG_DISCARD = 4, LOG_MARK = 8 };

struct log {
    const uint8_t *bytes;
    size_t byte_count;
    size_t sector_bytes;
    uint64_t entries; /* in all */
    uint64_t next;    /* number of the next entry */
    size_t at;        /* where the next entry begins */
};

struct log_entry {
    uint64_t offset; /* on the disk */
    size_t byte_count;
    uint64_t flags;
    const uint8_t *data; /* NULL: a discard, which reads as zeros */
};

static inline uint64_t log_number(const uint8_t *bytes, unsigned byte_count) {
    uint64_t value = 0;
    for (unsigned i = byte_count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Returns NULL, or what is wrong. */
static inline const char *log_open(struct log *log, const uint8_t *bytes, size_t byte_count) {
    if (byte_count < LOG_HEAD_BYTES || log_number(bytes, 8) != LOG_MAGIC)
        return "this is not a log of blklogwrites";
    if (log_number(bytes + 8, 8) != 1)
        return "the log has an unknown version";
    uint64_t sector_bytes = log_number(bytes + 24, 4);
    if (sector_bytes < LOG_SECTOR_MIN || sector_bytes > LOG_SECTOR_MAX || (sector_bytes & (sector_bytes - 1)) != 0)
        return "the log has an impossible sector size";
    *log = (struct log){bytes, byte_count, (size_t)sector_bytes, log_number(bytes + 16, 8), 0, (size_t)sector_bytes};
    return NULL;
}

/* Reads the next entry. At the end of the log *found is false. Returns NULL, or what is wrong. */
static inline const char *log_next(struct log *log, struct log_entry *entry, bool *found) {
    *found = false;
    if (log->next == log->entries)
        return NULL;
    if (log->at > log->byte_count || log->byte_count - log->at < log->sector_bytes)
        return "the log ends before its last entry";
    const uint8_t *bytes = log->bytes + log->at;
    uint64_t sector = log_number(bytes, 8), sectors = log_number(bytes + 8, 8);
    uint64_t flags = log_number(bytes + 16, 8), inlined = log_number(bytes + 24, 8);
    if (flags & ~(uint64_t)(LOG_FLUSH | LOG_FUA | LOG_DISCARD | LOG_MARK))
        return "an entry of the log has unknown flags";
    uint64_t disk_sectors = SIZE_MAX / log->sector_bytes; /* so that the end of an entry fits in a number, too */
    if (sector > disk_sectors || sectors > disk_sectors - sector)
        return "an entry of the log is too large";
    size_t data_bytes = flags & LOG_DISCARD ? 0 : (size_t)sectors * log->sector_bytes;
    size_t head_bytes = log->sector_bytes; /* inline data, of marks only, is in the sector of the entry */
    size_t left = log->byte_count - log->at - head_bytes;
    if (inlined > log->sector_bytes - LOG_ENTRY_BYTES || data_bytes > left)
        return "the data of an entry goes beyond the end of the log";
    entry->offset = sector * log->sector_bytes;
    entry->byte_count = (size_t)sectors * log->sector_bytes;
    entry->flags = flags;
    entry->data = flags & LOG_DISCARD ? NULL : bytes + head_bytes;
    log->at += head_bytes + data_bytes;
    log->next++;
    *found = true;
    return NULL;
}

/* The part of a disk that a state is made of. */
struct log_image {
    uint8_t *bytes;
    uint64_t offset; /* on the disk */
    size_t byte_count;
};

/* Copies the bytes from … to - 1 of an entry into the image, as far as they belong there. */
static inline void log_apply_part(const struct log_entry *entry, struct log_image *image, size_t from, size_t to) {
    uint64_t begin = entry->offset + from, end = entry->offset + to;
    if (begin < image->offset)
        begin = image->offset;
    if (end > image->offset + image->byte_count)
        end = image->offset + image->byte_count;
    if (begin >= end)
        return;
    uint8_t *to_bytes = image->bytes + (begin - image->offset);
    if (entry->data == NULL)
        memset(to_bytes, 0, (size_t)(end - begin));
    else
        memcpy(to_bytes, entry->data + (begin - entry->offset), (size_t)(end - begin));
}

static inline void log_apply(const struct log_entry *entry, struct log_image *image) {
    log_apply_part(entry, image, 0, entry->byte_count);
}

/* What becomes of the next write of a window that was not flushed. A write with FUA is durable by itself. */
enum log_fate { LOG_KEPT, LOG_LOST, LOG_TORN };

static inline enum log_fate log_fate(const struct log_entry *entry, uint64_t *random) {
    uint64_t chance = splitmix_next(random) % 8;
    if (entry->flags & LOG_FUA)
        return LOG_KEPT;
    if (entry->byte_count > LOG_TEAR_BYTES && chance < 2)
        return LOG_TORN;
    return chance < 5 ? LOG_KEPT : LOG_LOST;
}

/* Applies a write that arrived as its fate says. Of a torn write, each block arrives or not. */
static inline void log_apply_fate(const struct log_entry *entry, struct log_image *image, enum log_fate fate,
                                  uint64_t random) {
    if (fate == LOG_KEPT)
        log_apply(entry, image);
    for (size_t from = 0; fate == LOG_TORN && from < entry->byte_count; from += LOG_TEAR_BYTES) {
        size_t to = entry->byte_count - from < LOG_TEAR_BYTES ? entry->byte_count : from + LOG_TEAR_BYTES;
        if (splitmix_next(&random) % 2 == 0)
            log_apply_part(entry, image, from, to);
    }
}

#endif
