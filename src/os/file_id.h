/* os/file_id.h: tells whether a name still refers to the same file with the same content. */
#ifndef KITHI_OS_FILE_ID_H
#define KITHI_OS_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kithi_file_id {
    bool exists; /* if not, the rest is 0 */
    uint64_t device, number;
    uint64_t bytes;
    int64_t written_s, written_ns; /* the time of the last write */
} kithi_file_id;

/* Describes what `name` refers to, without following a link. If `name` is NULL, describes the open file `folder`.
 * Returns false, with errno, if that is not known. */
bool kithi_file_id_of(int folder, const char *name, kithi_file_id *id);

static inline bool kithi_same_file(const kithi_file_id *a, const kithi_file_id *b) {
    return a->exists == b->exists && a->device == b->device && a->number == b->number && a->bytes == b->bytes &&
           a->written_s == b->written_s && a->written_ns == b->written_ns;
}

#endif
