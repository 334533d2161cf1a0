/* stores.h: filter files that are stores (kith/store.h): snapshot, journal and lock. The commands use them through
 * filters.h and lock.h, which call these functions. */
#ifndef CLI_STORES_H
#define CLI_STORES_H

#include <kith/store.h>

#include "cli/options.h"

/* Returns whether the file is marked as a store. Reads only its header, or, with --no-mmap, the whole file;
 * ends the tool if it is larger than the memory limit then. */
bool store_is(const char *path, const arguments *a);

/* If the file is a store, opens it for writing, holds it and returns it. If another process is writing it, waits; after
 * one second it prints a message on stderr. Returns NULL if there is no file, or if it is not a store. Ends the tool if
 * the store cannot be opened, and with --no-lock. A command holds one store at most. */
kith_store *store_hold(const char *path, const arguments *a);

/* Returns the store that is held, if it was opened with this path; otherwise NULL. */
kith_store *store_held(const char *path);

/* Closes the store that is held. Ends the tool with an error if its last operations are not durable. */
void store_release(void);

/* Creates a store with the keys of the filter, and holds it. `lock` is what lock_acquire() has returned for this path;
 * it is released. LOCK_NONE: the function locks the store itself, and waits for other writers. */
kith_store *store_create_held(const char *path, kith_filter *filter, const arguments *a, int lock);

/* The same, but closes the store. */
void store_create(const char *path, kith_filter *filter, const arguments *a, int lock);

/* Turns a plain file into a store. With `and_back`, into a plain file again, which removes the journal that was left
 * next to it. `lock` is as above. */
void store_convert(const char *path, const arguments *a, bool and_back, int lock);

#endif
