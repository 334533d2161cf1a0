/* handle.h: handles over blocks of bytes, for the public functions, the builder, the store, and the kind `layers`,
 * which contains filters. */
#ifndef KITHI_HANDLE_H
#define KITHI_HANDLE_H

#include "kinds/kind.h"

/* `adders` in a handle is KITHI_ADDERS_LOCK while the lock is held, plus KITHI_ADDERS_ONE for each open adder. */
enum { KITHI_ADDERS_LOCK = 1, KITHI_ADDERS_ONE = 2 };

/* True while adders are open. */
static inline bool kithi_filter_busy(const kith_filter *f) {
    return atomic_load(&f->adders) >= KITHI_ADDERS_ONE;
}

/* The size of the filter as one block: of its file, and of what kith_filter_bytes() returns. */
static inline uint64_t kithi_filter_file_bytes(const kith_filter *f) {
    uint64_t file_bytes = 0;
    (void)kithi_block_bytes(f->head.body_bytes, &file_bytes); /* was checked when the filter got this size */
    return file_bytes + f->head.notes_bytes;
}

/* These functions bind a handle to a block, and unbind it. The memory of the block belongs to the caller. If a call
 * fails, there is nothing to unbind.
 *
 * init        binds f to a zeroed block, as an empty filter with header `head`
 * bind        binds f to a block that holds a filter; its bytes may be hostile. Verifies everything or, with
 *             KITH_OPEN_LAZY, only the header, the notes and the headers of layers
 * bind_copy   binds f to a block into which the body of `like` was copied. The header comes from the handle `like`,
 *             because the one in its block may be outdated
 * unbind      frees `state` */
kith_status kithi_filter_init(kith_filter *f, const kithi_head *head, uint8_t *block, const kith_allocator *allocator);
kith_status kithi_filter_bind(kith_filter *f, uint8_t *block, uint64_t block_bytes, unsigned flags,
                              const kith_allocator *allocator);
kith_status kithi_filter_bind_copy(kith_filter *f, const kith_filter *like, uint8_t *block,
                                   const kith_allocator *allocator);
void kithi_filter_unbind(kith_filter *f);

/* For a store (store/): makes a filter over the bytes of a snapshot, which are a private mapping or a copy. The filter
 * is writable. *mark is set to the mark in the header of the block, which says that it is the snapshot of a store
 * (format/head.h); the filter itself has no mark. As with KITH_OPEN_LAZY, the body is not verified. The first change
 * does not verify it either: the store does that before it writes the next snapshot. The block still belongs to the
 * caller. Returns KITH_E_NOT_STORE if the block is not the snapshot of a store, and the codes of kith_filter_view(). */
kith_status kithi_filter_open_snapshot(uint8_t *block, uint64_t block_bytes, const kith_allocator *allocator,
                                       kith_filter **filter, kithi_store_mark *mark);

/* Moves the filter `made` into the handle f. Frees what f held before, and the handle `made`. */
void kithi_filter_replace_contents(kith_filter *f, kith_filter *made);

/* Calls `write` with the parts of the file that kith_filter_save() would save, but with this mark in the header.
 * `secret` says that the bytes contain the key of a hash, so that only the owner may read the file (see
 * kithi_replace_file()). */
typedef kith_status (*kithi_write_parts)(void *context, const kithi_part *parts, size_t count, bool secret);
kith_status kithi_filter_write_marked(kith_filter *f, const kithi_store_mark *mark, kithi_write_parts write,
                                      void *context);

/* Creates an empty filter from a header that the planner made (plan/planner.h), with the allocator, limit and notes of
 * the spec. Unlike kith_filter_create() it accepts static kinds, whose filters the builder then fills. */
kith_status kithi_filter_create_planned(const kith_filter_spec *spec, const kithi_head *head, kith_filter **filter);

/* Returns KITH_OK if the filter may be changed, and otherwise KITH_E_READONLY, KITH_E_BUSY or KITH_E_CORRUPT. Verifies
 * a lazily opened body, because sealing the changed filter would give damaged bytes valid checksums. */
kith_status kithi_filter_writable(kith_filter *f);

/* Returns KITH_E_CORRUPT if a checksum of a lazily opened body, or of a block inside it, is wrong, or if an invariant
 * of the body is violated. Reads the whole body unless f->verified is set. */
kith_status kithi_filter_verify(const kith_filter *f);

/* Writes header and checksums of the current state into the block. The body must have only one part. */
void kithi_filter_seal(kith_filter *f);

/* Like `check` in verbs.h, but also checks that the count is not above the capacity, unless the filter grows. */
const char *kithi_filter_check(const kith_filter *f);

#endif
