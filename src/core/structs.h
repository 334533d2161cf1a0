/* core/structs.h: public structs that begin with their size. A program that was compiled with an older header, in which
 * the struct is smaller, therefore still works. */
#ifndef KITHI_CORE_STRUCTS_H
#define KITHI_CORE_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns whether the size at the beginning of a caller's struct is valid: it must be larger than the size field
 * itself, and at most `own_bytes`, the size of the struct in this library. */
static inline bool kithi_struct_valid(const void *given, size_t own_bytes) {
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    return given_bytes > sizeof given_bytes && given_bytes <= own_bytes;
}

/* Copies a caller's struct to *own and sets the fields that it does not have to 0. Returns false, and copies nothing,
 * if its size is not valid. */
static inline bool kithi_struct_read(void *own, size_t own_bytes, const void *given) {
    if (!kithi_struct_valid(given, own_bytes))
        return false;
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    memset(own, 0, own_bytes);
    memcpy(own, given, given_bytes);
    memcpy(own, &own_bytes, sizeof own_bytes);
    return true;
}

/* Copies the fields of *own to a caller's struct, except the size and the fields that the caller's struct does not
 * have. Its size must be valid. */
static inline void kithi_struct_write(void *given, const void *own) {
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    memcpy((char *)given + sizeof given_bytes, (const char *)own + sizeof given_bytes,
           given_bytes - sizeof given_bytes);
}

#endif
