/* kith/reader.h: looks up keys in a kith filter, as one header that needs no library and no other header.
 *
 * The build of kith assembles this file from the lookup code of every filter kind (src/kinds in kith's source tree),
 * so the results are those of the library. Copy it into a program that only reads filters: a browser, a firmware, the
 * runtime of another language. It also saves the cost of a call in loops that look up one key after the other.
 *
 *     kith_reader reader;
 *     kith_status status = kith_reader_open(bytes, byte_count, &reader);
 *     if (status == KITH_OK && kith_reader_verify(&reader) == KITH_OK) {
 *         uint64_t digest = kith_reader_digest(&reader, key, key_bytes);
 *         bool maybe = kith_reader_has(&reader, digest);
 *     }
 *
 * `bytes` is a whole file, or what kith_filter_bytes() returns, at any address. A reader points into these bytes: keep
 * them unchanged as long as the reader is used. A reader owns nothing, so there is no call to close it. No function
 * allocates memory. After kith_reader_open(), any number of threads may use the same reader at the same time.
 *
 * The header is C11 and C++17, for gcc and clang. It uses the vector instructions for which the program is compiled
 * (for example -march=native), and does not choose any at run time. Three macros change the header if they are defined
 * before it is included. They must be the same in all files that pass a kith_reader to each other:
 *
 *     KITH_READER_NO_HASH   leave out the hash functions. With this macro there is no kith_reader_digest() and no
 *                           kith_reader_verify(), and kith_reader_open() does not compare the checksums of the header
 *                           and of the notes. The program hashes keys itself, as reader.hash says
 *     KITH_READER_LAYERS    the most layers of a filter of kind "layers", 64 by default. A filter with more cannot be
 *                           opened. With 1, a kith_reader takes about 300 bytes instead of about 12 KB
 *     KITH_NO_SIMD          use no vector instructions
 *
 * Everything whose name begins with kithi_ or KITHI_ may change in any version. The functions that are declared here
 * but not defined (kith_version(), kith_status_text(), kith_digest() …) are in the library. A program may include this
 * header and the others, in any order, and link the library or not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KITH_READER_H
#define KITH_READER_H

#include "core/bits.h"
#include "format/read.h"
#include "kinds/lookup.h"
#include "lookups.h" /* no file: here assemble.awk inserts the lookups of all kinds, and macros that list the kinds */

#ifndef KITH_READER_LAYERS
#define KITH_READER_LAYERS 64
#endif

/* The kinds, by their index in the list of kinds. */
enum {
#define KITHI_READER_INDEX(kind) KITHI_READER_##kind,
    KITHI_KINDS(KITHI_READER_INDEX)
#undef KITHI_READER_INDEX
        KITHI_READER_KINDS
};

static const kithi_lookup *const kithi_reader_lookups[KITHI_READER_KINDS] = {
#define KITHI_READER_LOOKUP(kind) &kithi_lookup_##kind,
    KITHI_KINDS(KITHI_READER_LOOKUP)
#undef KITHI_READER_LOOKUP
};

/* The filter itself, or one of its layers. */
typedef struct kithi_reader_part {
    const uint8_t *body;
    uint64_t body_bytes;
    kithi_geometry geometry;
} kithi_reader_part;

/* An open filter. A program may read the first five fields. */
typedef struct kith_reader {
    kith_hash hash;    /* how keys become digests */
    uint64_t count;    /* number of keys */
    uint64_t capacity; /* number of keys that the filter was planned for */
    double rate;       /* false-positive rate that it was planned for */
    uint64_t recipe;   /* how the program that wrote the filter turned its input into keys */

    const uint8_t *block;
    uint64_t body_bytes;
    unsigned kind;      /* if there is one part, its kind (KITHI_READER_…); otherwise KITHI_READER_KINDS */
    unsigned part_kind; /* the kind of each part */
    unsigned part_count;
    kithi_reader_part part[KITH_READER_LAYERS]; /* the filter itself or, in a filter of layers, each layer */
} kith_reader;

/* ---- opening ---- */

/* Returns the index of the kind with this id, or KITHI_READER_KINDS. */
static inline unsigned kithi_reader_kind(uint64_t id) {
    unsigned kind = 0;
    while (kind < KITHI_READER_KINDS && kithi_reader_lookups[kind]->id != id)
        kind++;
    return kind;
}

/* Checks everything about a block except its body. Sets *head, and *kind to the index of its kind. */
static inline kith_status kithi_reader_check(const uint8_t *block, uint64_t block_bytes, kithi_head *head,
                                             unsigned *kind) {
    kithi_shape shape;
    kith_status status = kithi_header_read_inline(block, block_bytes, head);
    if (status != KITH_OK)
        return status;
    *kind = kithi_reader_kind(head->kind_id);
    if (*kind == KITHI_READER_KINDS)
        return KITH_E_KIND;
    const kithi_lookup *lookup = kithi_reader_lookups[*kind];
    status = kithi_head_check(head, lookup->params_mask);
    if (status == KITH_OK)
        status = lookup->shape(head, &shape);
    if (status == KITH_OK && lookup->has == NULL) {
        unsigned inner = kithi_reader_kind(lookup->decode(head).layers.inner);
        if (inner == KITHI_READER_KINDS || !kithi_reader_lookups[inner]->adds)
            status = KITH_E_CORRUPT;
    }
    if (status == KITH_OK)
        status = kithi_sizes_check(head, shape.body_bytes, block_bytes);
    if (status == KITH_OK && head->store.is_store)
        status = KITH_E_JOURNAL;
    if (status == KITH_OK && head->notes_bytes != 0)
        status = kithi_notes_verify_inline(block + block_bytes - head->notes_bytes, head->notes_bytes);
    return status;
}

/* Sets part i of the reader to the filter with this header. If `reader` is NULL, only checks that i is not too
 * large. */
static inline kith_status kithi_reader_add_part(kith_reader *reader, unsigned i, unsigned kind, const kithi_head *head,
                                                const uint8_t *block) {
    if (i >= KITH_READER_LAYERS)
        return KITH_E_TOO_LARGE;
    if (reader == NULL)
        return KITH_OK;
    kithi_reader_part *part = &reader->part[i];
    part->body = block + KITHI_HEADER_BYTES;
    part->body_bytes = head->body_bytes;
    part->geometry = kithi_reader_lookups[kind]->decode(head);
    reader->kind = i == 0 ? kind : (unsigned)KITHI_READER_KINDS;
    reader->part_kind = kind;
    reader->part_count = i + 1;
    return KITH_OK;
}

/* Goes through a block and the blocks inside it, and fills in the reader unless that is NULL. */
static inline kith_status kithi_reader_walk(const uint8_t *block, uint64_t block_bytes, kith_reader *reader) {
    kithi_head head, inner;
    kithi_inner_block at = {0, 0};
    unsigned kind;
    kith_status status = kithi_reader_check(block, block_bytes, &head, &kind);
    if (status != KITH_OK)
        return status;
    if (reader != NULL) {
        reader->hash = head.hash;
        reader->count = head.count;
        reader->capacity = head.capacity;
        reader->rate = head.rate;
        reader->recipe = head.recipe;
        reader->block = block;
        reader->body_bytes = head.body_bytes;
    }
    if (kithi_reader_lookups[kind]->has != NULL)
        return kithi_reader_add_part(reader, 0, kind, &head, block);
    const uint8_t *body = block + KITHI_HEADER_BYTES;
    for (unsigned i = 0; (status = kithi_layers_block(&head, body, i, &at)) == KITH_OK; i++) {
        /* kithi_layers_fits() comes before kithi_reader_check(), which accepts any kind: it rejects a block that is not
         * of the kind that the outer header names. */
        if (kithi_header_read_inline(body + at.at, at.bytes, &inner) != KITH_OK ||
            !kithi_layers_fits(&head, i, &inner) ||
            kithi_reader_check(body + at.at, at.bytes, &inner, &kind) != KITH_OK)
            return KITH_E_CORRUPT;
        status = kithi_reader_add_part(reader, i, kind, &inner, body + at.at);
        if (status != KITH_OK)
            return status;
    }
    return status == KITH_E_ABSENT ? KITH_OK : status; /* KITH_E_ABSENT: there is no further block */
}

/* Opens a filter for lookups. Checks the header, the notes, every size and, in a filter of layers, the directory and
 * the header of each layer. The bytes may come from anywhere: whatever they are, this call and kith_reader_has() read
 * nothing outside of them. This call reads no cells; kith_reader_verify() reads the whole body.
 *
 * Returns what kith_filter_view() of the library returns with KITH_OPEN_LAZY: KITH_OK, KITH_E_EMPTY, KITH_E_NOT_KITH,
 * KITH_E_VERSION, KITH_E_KIND (also for a table), KITH_E_TRUNCATED, KITH_E_TRAILING, KITH_E_JOURNAL (the file of a
 * store, kith/file.h: some of its keys may be in its journal) or KITH_E_CORRUPT. Also KITH_E_TOO_LARGE, if there are
 * more than KITH_READER_LAYERS layers. If it fails, *reader is unchanged. */
KITH_MUST_USE static inline kith_status kith_reader_open(const void *bytes, size_t byte_count, kith_reader *reader) {
    const uint8_t *block = (const uint8_t *)bytes;
    kith_status status = kithi_reader_walk(block, byte_count, NULL);
    return status == KITH_OK ? kithi_reader_walk(block, byte_count, reader) : status;
}

#ifndef KITH_READER_NO_HASH
/* Reads the whole filter and compares all checksums. Returns KITH_OK, or KITH_E_CORRUPT if the bytes are damaged. A
 * lookup in damaged bytes may return a wrong result. (The library also compares the counts in the header with the body
 * when it opens a filter. Lookups do not use these counts.) */
KITH_MUST_USE static inline kith_status kith_reader_verify(const kith_reader *reader) {
    kith_status status = kithi_body_verify_inline(reader->block, reader->body_bytes);
    /* The outer checksums cover all bytes, but a layer may have been written with wrong checksums. */
    for (unsigned i = 0; i < reader->part_count && status == KITH_OK; i++)
        if (reader->part[i].body != reader->block + KITHI_HEADER_BYTES)
            status = kithi_body_verify_inline(reader->part[i].body - KITHI_HEADER_BYTES, reader->part[i].body_bytes);
    return status;
}

/* Returns the digest of a key, with the hash of the filter. `key` may be NULL if `key_bytes` is 0. */
static inline uint64_t kith_reader_digest(const kith_reader *reader, const void *key, size_t key_bytes) {
    return kithi_hash_digest(&reader->hash, key, key_bytes);
}
#endif

/* ---- lookups ---- */

/* Returns whether a part, which is of this kind, may contain the digest. */
KITHI_INLINE bool kithi_reader_part_has(unsigned kind, const kithi_reader_part *part, uint64_t digest) {
    switch (kind) {
#define KITHI_READER_CASE(name, part, digest)                                                                          \
    case KITHI_READER_##name:                                                                                          \
        return kithi_lookup_##name.has != NULL && kithi_lookup_##name.has(&(part)->geometry, (part)->body, digest);
        KITHI_KINDS_WITH(KITHI_READER_CASE, part, digest)
#undef KITHI_READER_CASE
    default:
        return false;
    }
}

KITHI_OUTLINE bool kithi_reader_parts_have(const kith_reader *reader, uint64_t digest) {
    for (unsigned i = reader->part_count; i-- > 0;)
        if (kithi_reader_part_has(reader->part_kind, &reader->part[i], digest))
            return true;
    return false;
}

/* Returns true if the key with this digest is in the set. If it is not, the result is false or, with a probability of
 * at most reader->rate, true (a false positive). The result is that of kith_filter_has_digest(). In a filter of layers,
 * the newest is searched first. The lookups of the fastest kinds are compiled into the caller; for other kinds, the
 * caller calls a function. */
KITHI_INLINE bool kith_reader_has(const kith_reader *reader, uint64_t digest) {
#define KITHI_READER_TEST(name, reader, digest)                                                                        \
    if ((reader)->kind == KITHI_READER_##name)                                                                         \
        return kithi_##name##_has(&(reader)->part[0].geometry, (reader)->part[0].body, digest);
    KITHI_INLINE_KINDS_WITH(KITHI_READER_TEST, reader, digest)
#undef KITHI_READER_TEST
    return kithi_reader_parts_have(reader, digest);
}

#endif
