/* format/head.h: the block of bytes that holds a filter or a table. docs/format.md is the specification; this header,
 * format/read.h and format/format.c are its implementation.
 *
 *     0            192                                 192 + body_bytes
 *     | header     | body (a multiple of 64 bytes)     | one checksum for each 64 KiB of body | notes, if any |
 */
#ifndef KITHI_FORMAT_HEAD_H
#define KITHI_FORMAT_HEAD_H

#include <assert.h>

#include <kith/hash.h>

#define KITHI_HEADER_BYTES 192
#define KITHI_BODY_ALIGNMENT 64
#define KITHI_PAGE_BYTES 65536 /* bytes of the body that one checksum covers: a page */
#define KITHI_FORMAT_VERSION 1
#define KITHI_PARAM_COUNT 8 /* number of parameters in a header; their meaning depends on the kind */
#define KITHI_STORE_ID_BYTES 16
#define KITHI_SEQUENCE_MAX (UINT64_C(1) << 62) /* the largest sequence number in a store's journal */

/* Says that a file has a journal (kith/file.h), in which the newest operations may be. */
typedef struct kithi_store_mark {
    bool is_store; /* if false, the other fields are 0 */
    uint8_t id[KITHI_STORE_ID_BYTES];
    uint64_t sequence; /* of the last journal record whose operations the file contains */
} kithi_store_mark;

/* The header, decoded. */
typedef struct kithi_head {
    uint16_t kind_id;
    kith_hash hash;
    uint64_t capacity;
    double rate;
    uint64_t count;
    /* body_bytes is between `count` and `fill` on purpose: if these two were adjacent, gcc would update both by one
     * vector addition, which takes longer than two scalar ones. */
    uint64_t body_bytes;
    uint64_t fill; /* number of nonzero cells (Bloom and counting kinds) or of stash entries (cuckoo kinds); else 0 */
    uint64_t params[KITHI_PARAM_COUNT];
    uint64_t recipe;      /* how a program turned its input into keys; at most KITHI_RECIPE_MAX */
    uint64_t notes_bytes; /* size of the notes after the checksums (notes.h); 0: no notes */
    kithi_store_mark store;
    /* Not stored. In a header of kind layers that was planned together with its first layer, these are the parameters
     * of that layer, which are never all 0. In any other header they are all 0. */
    uint64_t first_params[KITHI_PARAM_COUNT];
} kithi_head;

#define KITHI_RECIPE_MAX ((UINT64_C(1) << 48) - 1)

/* A transfer in text mode breaks the signature visibly: it clears the highest bit of the first byte, or it changes CR
 * LF to another line ending. */
static const uint8_t KITHI_SIGNATURE[8] = {0x8b, 'K', 'I', 'T', 'H', '\r', '\n', 0x1a};

/* Where the fields of the header are. */
enum {
    KITHI_AT_SIGNATURE = 0,
    KITHI_AT_VERSION = 8,
    KITHI_AT_KIND = 10,
    KITHI_AT_HEADER_BYTES = 12,
    KITHI_AT_FLAGS = 14,
    KITHI_AT_STORE_ID = 16, /* 16 bytes */
    KITHI_AT_HASH = 32,
    KITHI_AT_RECIPE = 34, /* 6 bytes */
    KITHI_AT_SEED = 40,
    KITHI_AT_KEY = 48,
    KITHI_AT_CAPACITY = 64,
    KITHI_AT_RATE = 72,
    KITHI_AT_COUNT = 80,
    KITHI_AT_FILL = 88,
    KITHI_AT_BODY_BYTES = 96,
    KITHI_AT_PARAMS = 104,
    KITHI_AT_SEQUENCE = 168,
    KITHI_AT_BODY_CHECKSUM = 176,
    KITHI_AT_HEADER_CHECKSUM = 184
};
static_assert(KITHI_AT_PARAMS + 8 * KITHI_PARAM_COUNT == KITHI_AT_SEQUENCE,
              "the sequence number follows the parameters");
static_assert(KITHI_AT_STORE_ID + KITHI_STORE_ID_BYTES == KITHI_AT_HASH, "the hash follows the store id");
static_assert(KITHI_AT_HEADER_CHECKSUM + 8 == KITHI_HEADER_BYTES, "the header's checksum is its last field");
static_assert(KITHI_HEADER_BYTES % KITHI_BODY_ALIGNMENT == 0, "the body is aligned in the file");

enum { KITHI_FLAG_NOTES = 1 << 0, KITHI_FLAG_STORE = 1 << 1 };

/* The notes: see format/notes.h. */
#define KITHI_NOTES_MAX 64 /* few, because each name is compared with all others */
#define KITHI_NOTES_CONTENT_MAX 65536
#define KITHI_NOTES_HEADER_BYTES 16 /* the checksum and the number of content bytes */

enum { KITHI_NOTES_AT_CHECKSUM = 0, KITHI_NOTES_AT_CONTENT_BYTES = 8, KITHI_NOTES_AT_CONTENT = 16 };

static inline uint64_t kithi_checksum_count(uint64_t body_bytes) {
    return body_bytes / KITHI_PAGE_BYTES + (body_bytes % KITHI_PAGE_BYTES != 0);
}

/* Returns how many bytes checksum i covers, which is the size of page i of the body: KITHI_PAGE_BYTES, or less for the
 * last page. */
static inline size_t kithi_page_bytes(uint64_t body_bytes, uint64_t i) {
    uint64_t left = body_bytes - i * KITHI_PAGE_BYTES;
    return (size_t)(left < KITHI_PAGE_BYTES ? left : KITHI_PAGE_BYTES);
}

/* Computes the size of header, body and checksums, without notes. Returns false if body_bytes is more than 2^62. */
static inline bool kithi_block_bytes(uint64_t body_bytes, uint64_t *block_bytes) {
    if (body_bytes > UINT64_C(1) << 62)
        return false;
    *block_bytes = KITHI_HEADER_BYTES + body_bytes + 8 * kithi_checksum_count(body_bytes);
    return true;
}

#endif
