/* store_calls.h: stores that are opened by a path, and calls for single keys, for tests of the store behind the opened
 * file (src/file/store.h). They do what kith_file_open(), kith_file_add() and so on do, without what these do
 * besides. */
#ifndef KITH_TESTS_STORE_CALLS_H
#define KITH_TESTS_STORE_CALLS_H

#include "file/store.h"

enum { KITHI_STORE_WRITE = 0, KITHI_STORE_READ = 1 << 0 }; /* flags of kithi_store_open() */

/* Create a store with the keys of the filter, which still belongs to the caller, or with those of the plain file. */
kith_status kithi_store_create(const char *path, kith_filter *filter, const kithi_store_options *options,
                               kithi_store **store);
kith_status kithi_store_convert(const char *path, const kithi_store_options *options, kithi_store **store);

/* Opens a store. KITH_E_NOT_STORE: the file is a plain filter. KITH_E_LOCKED: somebody else has it open for writing. */
kith_status kithi_store_open(const char *path, unsigned flags, const kithi_store_options *options, kithi_store **store);

/* The same with a table of file operations. */
kith_status kithi_store_create_with(const kithi_files *files, const char *path, kith_filter *filter,
                                    const kithi_store_options *options, kithi_store **store);
kith_status kithi_store_convert_with(const kithi_files *files, const char *path, const kithi_store_options *options,
                                     kithi_store **store);
kith_status kithi_store_open_with(const kithi_files *files, const char *path, unsigned flags,
                                  const kithi_store_options *options, kithi_store **store);

kith_status kithi_store_add(kithi_store *s, const void *key, size_t key_bytes, bool *was_new);
kith_status kithi_store_add_digest(kithi_store *s, uint64_t digest, bool *was_new);
kith_status kithi_store_remove(kithi_store *s, const void *key, size_t key_bytes);
kith_status kithi_store_remove_digest(kithi_store *s, uint64_t digest);
kith_status kithi_store_add_many(kithi_store *s, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done);
kith_status kithi_store_remove_many(kithi_store *s, const uint64_t *digests, size_t n, size_t *done);
bool kithi_store_has(const kithi_store *s, const void *key, size_t key_bytes);

/* As in kith_file_info; snapshot_bytes is the size of FILE. */
typedef struct kithi_store_info {
    uint64_t sequence, synced, snapshot_sequence, generation;
    uint64_t journal_bytes, snapshot_bytes, cut_bytes;
    kith_status failure, checkpoint;
    unsigned char id[16];
} kithi_store_info;

#define KITHI_STORE_INFO_INIT                                                                                          \
    { 0 }

kith_status kithi_store_info_of(const kithi_store *s, kithi_store_info *info);

#endif
