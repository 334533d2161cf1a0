/* kith/base.h: the version, the export macros and the allocator. Every other header includes this one. */
#ifndef KITH_BASE_H
#define KITH_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KITH_VERSION_MAJOR 0
#define KITH_VERSION_MINOR 1
#define KITH_VERSION_PATCH 0

/* `noplt`: a program calls the shared library by one indirect call instead of a call and an indirect jump. In cache, a
 * lookup in a filter of kind blocked takes up to a quarter less time. */
#if defined(__GNUC__) && defined(__has_attribute)
#if __has_attribute(noplt)
#define KITH_API __attribute__((visibility("default"), noplt))
#endif
#endif
#if defined(__GNUC__)
#ifndef KITH_API
#define KITH_API __attribute__((visibility("default")))
#endif
#define KITH_MUST_USE __attribute__((warn_unused_result))
#else
#define KITH_API
#define KITH_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library that is running, as "major.minor.patch". The macros above are the version of the
 * headers that the program was compiled with. Before 1.0, a new minor version may change interfaces and the file
 * format. */
KITH_API const char *kith_version(void);

/* An allocator. You pass a pointer to it when you create an object (a filter, a table, a hash function). The struct is
 * copied into the object, which uses it for all of its memory. (Only a kith_builder keeps the pointer: see
 * kith_builder_open.) The two functions are called on the thread that calls the library, and on the threads that this
 * call starts. They must be thread-safe if several threads use an object at the same time. NULL instead of a pointer
 * means calloc and free of the C library.
 *
 * allocate   returns `bytes` (never 0) bytes of ZEROED memory, aligned to `alignment` (a power of two, at most 64), or
 *            NULL if there is none. Fresh pages from mmap are already zero, so an allocator need not clear them. If it
 *            does not, the pages that a large filter has not used yet take up no memory.
 * release    frees memory that allocate returned; `bytes` is the same number. It is never called with NULL. */
typedef struct kith_allocator {
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes);
    void *context;
} kith_allocator;

#ifdef __cplusplus
}
#endif
#endif
