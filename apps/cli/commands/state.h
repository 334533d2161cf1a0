/* state.h: the state file of `kith uniq --state`, which keeps the filter from one run to the next.
 *
 *     first run    creates a store (kith/store.h) at the first sync; with --no-lock, a plain file
 *     a store      new keys are appended to its journal, in batches, each of which is committed by a sync
 *     a plain      file, as kith build and older versions make it, is read into memory and replaced as a whole by each
 *     file         sync. With --field-changed, a store is treated in this way once, because its notes change
 *
 * A run syncs as often as syncs.h says. If lines cannot be written, or anything else fails, the state is as after the
 * latest sync, and the next run treats later lines as new. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include <kith/filter.h>
#include <kith/store.h>

#include "cli/options.h"

typedef struct uniq_state {
    bool exists;         /* there was an earlier run */
    bool is_saved;       /* the file exists */
    kith_filter *filter; /* of the earlier runs; NULL: none, the caller sets it */
    kith_store *store;   /* the filter belongs to it, and must not be changed directly; NULL: it does not */
    int lock;            /* from lock_acquire() */
    uint64_t beside;     /* bytes of memory that are used beside the filter: see filter_limit() */
} uniq_state;

/* Opens the state. It stays locked until it is saved, so that of two simultaneous runs the second waits and no keys are
 * lost. The recipe of the keys in the file is applied to the options. Ends the tool if the state cannot be saved,
 * before the first line is printed, and if the size, rate or hash that the options ask for is not that of the state:
 * the same command line works on every day. */
void state_open(uniq_state *s, arguments *a);

/* Makes the keys that were added so far durable. s->filter may then be another one: that of a new store. `is_last`: no
 * more keys will be added. */
void state_sync(uniq_state *s, const arguments *a, bool is_last);

/* Releases state and filter. */
void state_close(uniq_state *s);

#endif
