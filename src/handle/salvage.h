/* salvage.h: makes the best of a damaged block, for kith_repair() (file/repair.c) and for the layers of a filter. */
#ifndef KITHI_SALVAGE_H
#define KITHI_SALVAGE_H

#include "kinds/kind.h"

/* How many bytes the searches of kith_repair() may hash in all: enough to search four pages of 64 KiB for a flipped bit
 * and a hundred headers for a wrong byte. The search of a page hashes 2^35 bytes, which takes about three seconds. The
 * search of a header hashes less than 2^24 bytes. */
#define KITHI_SALVAGE_BUDGET ((UINT64_C(1) << 37) + (UINT64_C(1) << 30))

/* What was found in a block, and what could be done about it. Initialise with the allocator and the budget. */
typedef struct kithi_salvage {
    const kith_allocator *allocator;
    uint64_t budget; /* the searches for a wrong byte and for a flipped bit may still hash this many bytes */
    bool header_restored;
    bool header_lost; /* only for a layer, set by the caller: its header was planned again from that of the filter */
    bool checksums_restored;
    bool notes_lost;
    uint64_t pages;
    uint64_t pages_damaged;  /* those whose content was wrong or missing */
    uint64_t pages_restored; /* those of them that have their old content again */
    uint64_t pages_unsure;   /* those whose checksum is lost; they are kept, and may be damaged */
    uint64_t keys_at_risk;   /* at most this many keys may no longer be found. UINT64_MAX: not known */
} kithi_salvage;

/* Reads a header of which one byte may be wrong. `bytes` is what there is of the block. Writes the right header to
 * `header`, except that it never says that there are notes: kithi_salvage_body() writes the final one. *head is the
 * right header, decoded; head->notes_bytes is the size of the notes, or 0 if there are none or they are damaged. Sets
 * s->header_restored and s->notes_lost. Fails with the codes of kithi_header_read(). */
kith_status kithi_salvage_header(const uint8_t *bytes, uint64_t byte_count, uint8_t header[KITHI_HEADER_BYTES],
                                 kithi_head *head, kithi_salvage *s);

/* Repairs the body of a block, and seals the block. The block begins with the header that kithi_salvage_header() wrote
 * or, if s->header_lost is set, with the damaged one. `head` is the right header, decoded, and block_bytes is the size
 * that follows from it. The file had only the first `present` bytes of the block; the other bytes are 0. The notes, if
 * any, must be sound.
 *
 * Some kinds can repair a body without losing a key. They then leave count and fill in the header as they were, but
 * these may no longer match the body: see `salvage` in kind.h. So the caller must bind the block with KITH_OPEN_LAZY,
 * and call kithi_filter_recount() after it has added keys.
 *
 * Fails with KITH_E_KIND, with KITH_E_CORRUPT if nothing can be saved, and with KITH_E_MEMORY. */
kith_status kithi_salvage_body(uint8_t *block, uint64_t block_bytes, uint64_t present, kithi_head *head,
                               kithi_salvage *s);

/* Makes count and fill of a handle agree with the body: see `recount` in kind.h. The handle is then not sealed. */
void kithi_filter_recount(kith_filter *f);

#endif
