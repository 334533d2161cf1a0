/* Opens filters from bytes that come from outside: views of the caller's memory, blocks that a filter adopts, and
 * files.
 *
 * All functions here bind a handle to the bytes, which validates them (handle.c). They differ in who owns the memory
 * and in whether the filter may be changed. The snapshot of a store (store/) is refused without KITH_OPEN_SNAPSHOT,
 * because some of its keys may be only in its journal. */
#include <assert.h>
#include <string.h>

#include "os/map.h"
#include "handle/handle.h"
#include "kinds/kind.h"

static bool flags_known(unsigned flags) {
    return (flags & ~(unsigned)(KITH_OPEN_LAZY | KITH_OPEN_COPY | KITH_OPEN_SNAPSHOT)) == 0;
}

/* Turns a store's snapshot into an ordinary filter: clears the mark (kithi_store_mark) in the decoded header. The
 * header in the block still has the mark, so the block is no longer sealed. */
static void clear_store_mark(kith_filter *f) {
    f->head.store = (kithi_store_mark){.is_store = false};
    f->sealed = false;
}

/* Binds a new handle to `block`; `backing` says who owns the block. */
static kith_status bind_handle(uint8_t *block, uint64_t block_bytes, unsigned flags, kithi_backing backing,
                               const kith_allocator *allocator, kith_filter **filter) {
    kith_filter *f = kithi_allocate(allocator, sizeof *f);
    if (f == NULL)
        return KITH_E_MEMORY;
    kith_status status = kithi_filter_bind(f, block, block_bytes, flags, allocator);
    if (status != KITH_OK) {
        kithi_release(allocator, f, sizeof *f);
        return status;
    }
    f->backing = backing;
    f->writable = backing == KITHI_BACKING_HEAP;
    if (f->writable && f->head.store.is_store)
        clear_store_mark(f);
    *filter = f;
    return KITH_OK;
}

kith_status kithi_filter_open_snapshot(uint8_t *block, uint64_t block_bytes, const kith_allocator *allocator,
                                       kith_filter **filter, kithi_store_mark *mark) {
    kith_filter *f;
    unsigned flags = KITH_OPEN_LAZY | KITH_OPEN_SNAPSHOT;
    kith_status status = bind_handle(block, block_bytes, flags, KITHI_BACKING_VIEW, allocator, &f);
    if (status != KITH_OK)
        return status;
    if (!f->head.store.is_store) {
        kith_filter_free(f);
        return KITH_E_NOT_STORE;
    }
    *mark = f->head.store;
    clear_store_mark(f);
    f->writable = true;
    f->verified = true;
    *filter = f;
    return KITH_OK;
}

kith_status kith_filter_view(const void *bytes, size_t byte_count, unsigned flags, const kith_allocator *given,
                             kith_filter **filter) {
    assert(filter != NULL && (bytes != NULL || byte_count == 0));
    if (!flags_known(flags))
        return KITH_E_ARGUMENT;
    if (byte_count == 0)
        return KITH_E_EMPTY;
    kith_allocator allocator = kithi_allocator_or_default(given);
    if ((flags & KITH_OPEN_COPY) == 0) {
        /* A viewed handle is not writable, so nothing is written through the pointer. */
        return bind_handle((uint8_t *)(uintptr_t)bytes, byte_count, flags, KITHI_BACKING_VIEW, &allocator, filter);
    }
    uint8_t *copy = kithi_allocate(&allocator, byte_count);
    if (copy == NULL)
        return KITH_E_MEMORY;
    memcpy(copy, bytes, byte_count);
    kith_status status = bind_handle(copy, byte_count, flags, KITHI_BACKING_HEAP, &allocator, filter);
    if (status != KITH_OK)
        kithi_release(&allocator, copy, byte_count);
    return status;
}

kith_status kith_filter_adopt(void *bytes, size_t byte_count, unsigned flags, const kith_allocator *allocator,
                              kith_filter **filter) {
    assert(filter != NULL && allocator != NULL && (bytes != NULL || byte_count == 0));
    if ((flags & ~(unsigned)KITH_OPEN_LAZY) != 0)
        return KITH_E_ARGUMENT;
    if (byte_count == 0)
        return KITH_E_EMPTY;
    return bind_handle(bytes, byte_count, flags, KITHI_BACKING_HEAP, allocator, filter);
}

static kith_status open_copy(int fd, unsigned flags, const kith_allocator *allocator, kith_filter **filter) {
    uint8_t *block;
    size_t byte_count;
    kith_status status = kithi_read_block_fd(fd, allocator, &block, &byte_count);
    if (status != KITH_OK)
        return status;
    status = bind_handle(block, byte_count, flags, KITHI_BACKING_HEAP, allocator, filter);
    if (status != KITH_OK)
        kithi_release(allocator, block, byte_count);
    return status;
}

static kith_status open_map(int fd, unsigned flags, const kith_allocator *allocator, kith_filter **filter) {
    const uint8_t *bytes;
    size_t byte_count;
    kith_status status = kithi_map_fd(fd, &bytes, &byte_count);
    if (status != KITH_OK)
        return status;
    status = bind_handle((uint8_t *)(uintptr_t)bytes, byte_count, flags, KITHI_BACKING_MAP, allocator, filter);
    if (status != KITH_OK)
        kithi_unmap_file(bytes, byte_count);
    return status;
}

kith_status kith_filter_open_fd(int fd, unsigned flags, const kith_allocator *given, kith_filter **filter) {
    assert(filter != NULL);
    if (!flags_known(flags))
        return KITH_E_ARGUMENT;
    kith_allocator allocator = kithi_allocator_or_default(given);
    return (flags & KITH_OPEN_COPY) != 0 ? open_copy(fd, flags, &allocator, filter)
                                         : open_map(fd, flags, &allocator, filter);
}

kith_status kith_filter_open(const char *path, unsigned flags, const kith_allocator *allocator, kith_filter **filter) {
    assert(path != NULL && filter != NULL);
    if (!flags_known(flags))
        return KITH_E_ARGUMENT;
    int fd;
    kith_status status = kithi_open_file(path, &fd);
    if (status != KITH_OK)
        return status;
    status = kith_filter_open_fd(fd, flags, allocator, filter);
    kithi_close_file(fd);
    return status;
}
