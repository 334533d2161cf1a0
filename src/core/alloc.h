/* core/alloc.h: memory through the caller's allocator. The only part of the library that knows malloc. */
#ifndef KITHI_CORE_ALLOC_H
#define KITHI_CORE_ALLOC_H

#include <kith/base.h>

/* The caller's allocator, or the C library's when it is NULL. */
kith_allocator kithi_allocator_or_default(const kith_allocator *allocator);

/* Zeroed memory at a multiple of 64 bytes, or NULL: also when `bytes` is past what size_t can say. */
void *kithi_allocate(const kith_allocator *allocator, uint64_t bytes);

/* NULL is fine. */
void kithi_release(const kith_allocator *allocator, void *memory, uint64_t bytes);

#endif
