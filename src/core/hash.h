/* core/hash.h: the checksum of the file format, and checks of a kith_hash (<kith/hash.h>). */
#ifndef KITHI_CORE_HASH_H
#define KITHI_CORE_HASH_H

#include <kith/hash.h>

#include "core/part.h"
#include "core/siphash.h"

/* The checksum of the file format: XXH3-64, seed 0. */
uint64_t kithi_checksum(const void *bytes, size_t byte_count);

/* A position in a sequence of parts. */
typedef struct kithi_parts_cursor {
    const kithi_part *part;
    size_t offset; /* bytes of this part before the position */
} kithi_parts_cursor;

/* Returns the checksum of the next `byte_count` bytes of the parts and moves the cursor past them. There must be that
 * many bytes left. */
uint64_t kithi_checksum_next(kithi_parts_cursor *at, size_t byte_count);

/* The same as kithi_hash_valid_inline() and kithi_hash_equal_inline() in core/digest.h, but not inline, so that callers
 * need not include that header. */
bool kithi_hash_valid(const kith_hash *hash);
bool kithi_hash_equal(const kith_hash *a, const kith_hash *b);

#endif
