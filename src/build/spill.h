/* build/spill.h: digests on disk, sorted by their highest byte, in a file without a name.
 *
 *     file    | spill 0 | spill 1 | …         a spill: what was in memory when the memory was full, or at the end
 *     spill   | part 0 | part 1 | … | part 255 | order |
 *
 * Part p of a spill holds the digests whose highest byte is p, in the order of the input. `order` has one byte per
 * digest of the spill, in the order of the input: the number of the digest's part. So a part can be read without the
 * others, to find repeats, and a spill can be read in the order of the input. */
#ifndef KITHI_BUILD_SPILL_H
#define KITHI_BUILD_SPILL_H

#include <kith/status.h>

#include "core/alloc.h"

#define KITHI_SPILL_PARTS 256

static inline unsigned kithi_spill_part_of(uint64_t digest) {
    return (unsigned)(digest >> 56);
}

/* Where one spill is in the file. */
typedef struct kithi_spill {
    uint64_t at;                          /* offset in the file */
    size_t starts[KITHI_SPILL_PARTS + 1]; /* number of digests before each part; the last element: of all digests */
} kithi_spill;

/* The file with all spills. */
typedef struct kithi_spill_file {
    kith_allocator allocator;
    int fd;
    kithi_spill *entries;
    size_t count, allocated; /* of entries */
    uint64_t file_bytes;
} kithi_spill_file;

/* Creates the file. Fails with KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_NO_SPACE, KITH_E_MEMORY or KITH_E_IO. */
kith_status kithi_spill_open(kithi_spill_file *s, const char *folder, const kith_allocator *allocator);
void kithi_spill_close(kithi_spill_file *s);

/* Appends a spill: by_part[starts[p] … starts[p + 1] - 1] are the digests of part p, and `order` has starts[256] bytes.
 * Fails with KITH_E_NO_SPACE, KITH_E_IO or KITH_E_MEMORY; then nothing is appended. */
kith_status kithi_spill_write(kithi_spill_file *s, const uint64_t *by_part, const size_t *starts, const uint8_t *order);

/* The number of digests in all spills, and in one part of all spills. */
uint64_t kithi_spill_total(const kithi_spill_file *s);
uint64_t kithi_spill_part_total(const kithi_spill_file *s, unsigned part);

/* Reads one part of all spills: kithi_spill_part_total() digests, in the order of the input. Fails with KITH_E_IO. */
kith_status kithi_spill_read_part(const kithi_spill_file *s, unsigned part, uint64_t *digests);

/* Reads spill number `index` as it was written. Fails with KITH_E_IO. */
kith_status kithi_spill_read(const kithi_spill_file *s, size_t index, uint64_t *by_part, uint8_t *order);

#endif
