/* build/collect.h: collects the digests of a builder, in memory up to a limit and then on disk (build/spill.h), counts
 * the distinct ones, and returns them in the order of the input. */
#ifndef KITHI_BUILD_COLLECT_H
#define KITHI_BUILD_COLLECT_H

#include <kith/builder.h>

#include "build/spill.h"

/* Bytes of memory for each digest that is not on disk:
 *
 *     8   the digest
 *     8   a copy, sorted by part (all digests with the same highest byte: build/spill.h)
 *     1   the number of its part, in the array `order` of a spill
 *     3   to find repeats before a spill. A thread searches one part at a time, and needs up to 42 bytes per digest of
 *         this part: 8 for a copy and 34 for the rest (build/repeats.h). A part has about 1/256 of the digests, so 18
 *         threads need 18 * 42 / 256 < 3 bytes per digest in memory. More threads may need more
 *     5   reserve. If nothing was spilled, repeats are dropped from the whole list at once. That takes up to 50 bytes
 *         per digest: 8 for the digest, 8 for a copy and 34 for the rest. builder.h promises at most twice the limit */
#define KITHI_COLLECT_BYTES 25

typedef struct kithi_collection {
    kith_allocator allocator;
    unsigned threads;
    bool keep_repeats;     /* for a multiset */
    uint64_t memory_bytes; /* the memory limit; UINT64_MAX: none */
    size_t count_max;      /* the most digests that this limit allows in memory; SIZE_MAX: no limit */
    const char *folder;    /* for the temporary file */
    kith_build_progress progress;
    void *context; /* for `progress` */

    uint64_t *digests;
    size_t count, allocated; /* digests in memory, and how many the array can hold */
    bool borrowed;           /* the digests belong to the caller */

    bool spilled; /* `spill` is open; digests in memory come after those in it */
    kithi_spill_file spill;

    bool counted;          /* `keys` is set */
    uint64_t keys;         /* distinct digests, or all if repeats are kept */
    uint64_t *firsts;      /* a bitmap per part: bit i is set if digest i of the part is no repeat. NULL: no digest on
                              disk is left out, because there are no repeats or because they are kept */
    uint64_t firsts_words; /* length of `firsts` */
    uint64_t firsts_begin[KITHI_SPILL_PARTS]; /* index in `firsts` of the bitmap of part p; set with `firsts` */
} kithi_collection;

/* limits->memory_bytes 0 means no limit. Nothing is allocated yet. */
void kithi_collection_init(kithi_collection *c, const kith_allocator *allocator, const kith_build_limits *limits,
                           bool keep_repeats);
void kithi_collection_free(kithi_collection *c);

/* Adds digests to a collection that has not been counted yet and does not borrow an array. Sets *done to how many were
 * added, also on failure. Returns the codes of kith_builder_add_many(). */
kith_status kithi_collect(kithi_collection *c, const uint64_t *digests, size_t n, size_t *done);

/* Takes an array that belongs to the caller as the whole content of an empty collection. The array is never changed,
 * and must outlive the collection. */
void kithi_collect_borrow(kithi_collection *c, const uint64_t *digests, size_t n);

/* Sets c->keys. No digests can be added after this call. Returns the codes of kith_builder_end_input(). */
kith_status kithi_collection_count(kithi_collection *c);

/* Shrinks the array of digests in memory to its content. If there is no memory for the smaller array, it stays as it
 * is. */
void kithi_collection_trim(kithi_collection *c);

/* Drops repeats and moves all digests, which must be in memory and not borrowed, to disk. keep_repeats must be false.
 * Sets c->keys. Returns the codes of kith_builder_end_input(); on failure nothing is lost. */
kith_status kithi_collection_spill(kithi_collection *c);

/* For digests on disk that have been counted. kithi_collection_part_keys() returns how many digests a part has.
 * kithi_collection_read_part() reads them, in the order of the input. Both leave out repeats unless keep_repeats is
 * true. `digests` must have space for kithi_spill_part_total() digests; the first *n of them are set to the result.
 * kithi_collection_read_part() fails with KITH_E_IO. */
uint64_t kithi_collection_part_keys(const kithi_collection *c, unsigned part);
kith_status kithi_collection_read_part(const kithi_collection *c, unsigned part, uint64_t *digests, size_t *n);

/* Drops the repeats in memory. There must be some, and the digests must not be borrowed. Fails with KITH_E_MEMORY. */
kith_status kithi_collection_compact(kithi_collection *c);

/* True if kithi_collection_reader_next() may return repeats that are still to be dropped. False if repeats are kept. */
bool kithi_collection_may_have_repeats(const kithi_collection *c);

/* Calls the progress function of the builder's user, if there is one. Returns false if it asks to stop. */
bool kithi_report_progress(const kithi_collection *c, kith_build_step step, uint64_t done, uint64_t total);

/* Reads the digests in the order of the input, in pieces. Digests in memory are returned with their repeats. Digests on
 * disk are returned without repeats, unless keep_repeats is true. */
typedef struct kithi_collection_reader {
    kithi_collection *c;
    uint64_t *piece;                /* what next() returns */
    uint64_t *by_part;              /* the digests of the current spill, sorted by part */
    uint8_t *order;                 /* of the current spill: see build/spill.h */
    size_t spill_max, piece_max;    /* digests that by_part and piece can hold */
    size_t spill;                   /* number of the current spill */
    size_t at;                      /* index of the next digest, in `order` or, if nothing is on disk, in memory */
    size_t next[KITHI_SPILL_PARTS]; /* of each part: index in by_part of its next digest */
    uint64_t next_bit[KITHI_SPILL_PARTS]; /* of each part: number of that digest's bit in the part's bitmap */
    bool loaded;                          /* by_part and order hold spill number `spill` */
} kithi_collection_reader;

/* Digests on disk must have been counted. Fails with KITH_E_MEMORY. */
kith_status kithi_collection_reader_open(kithi_collection_reader *r, kithi_collection *c);
void kithi_collection_reader_close(kithi_collection_reader *r);

/* Sets *digests and *n to the next piece, valid until the next call; *n is 0 at the end. Fails with KITH_E_IO. */
kith_status kithi_collection_reader_next(kithi_collection_reader *r, const uint64_t **digests, size_t *n);

#endif
