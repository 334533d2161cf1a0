/* kith/base.h: version, export marks and the allocator. Every other header includes this one. */
#ifndef KITH_BASE_H
#define KITH_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KITH_VERSION_MAJOR 0
#define KITH_VERSION_MINOR 1
#define KITH_VERSION_PATCH 0

#if defined(__GNUC__)
#define KITH_API __attribute__((visibility("default")))
#define KITH_MUST_USE __attribute__((warn_unused_result))
#else
#define KITH_API
#define KITH_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is running, as "major.minor.patch"; the macros above are those of the headers that
 * were compiled against. Before 1.0 a change of the minor number may change interfaces and file layout. */
KITH_API const char *kith_version(void);

/* Where a filter takes its memory from. Given at creation, copied into the object, used for everything the object
 * ever allocates, from whatever thread calls it. A NULL allocator pointer in any call means the C library's.
 *
 * allocate   returns `bytes` (never 0) bytes of ZEROED memory aligned to `alignment` (a power of two, at most 64), or
 *            NULL. A source of fresh pages (mmap) need not clear them: large filters then cost only what is touched.
 * release    takes back what allocate gave, with the same `bytes`; never called with NULL. */
typedef struct kith_allocator {
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes);
    void *context;
} kith_allocator;

#ifdef __cplusplus
}
#endif
#endif
