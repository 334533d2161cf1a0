/* core/structs.h: public structs that begin with their size, so that a program compiled against an older, smaller one
 * still works. */
#ifndef KITHI_CORE_STRUCTS_H
#define KITHI_CORE_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* True if a caller's struct can have this size: it has a field beyond the size, and it is not newer than the library. */
static inline bool kithi_struct_valid(const void *given, size_t own_bytes) {
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    return given_bytes > sizeof given_bytes && given_bytes <= own_bytes;
}

/* Reads a caller's struct; fields that it does not have are 0. False, and nothing read: the size is not valid. */
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

/* Writes the fields that a caller's struct of valid size has, and leaves its size as it is. */
static inline void kithi_struct_write(void *given, const void *own) {
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    memcpy((char *)given + sizeof given_bytes, (const char *)own + sizeof given_bytes,
           given_bytes - sizeof given_bytes);
}

#endif
