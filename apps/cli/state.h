/* state.h: the state file of `kith uniq --state`, which keeps the filter from one run to the next.
 *
 *     first run    creates a store (kith/store.h) when all lines are written; with --no-lock, a plain file
 *     a store      new keys are appended to its journal, as one batch, which is committed when all lines are written
 *     a plain      file, as kith build and older versions make it, is read into memory and replaced as a whole. With
 *     file         --field-changed, a store is treated in the same way, because its notes change
 *
 * If lines cannot be written, or anything else fails, the state is as before, and the next run treats those lines as
 * new. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include <kith/filter.h>
#include <kith/store.h>

#include "options.h"

typedef struct uniq_state {
    bool exists;         /* there was an earlier run */
    kith_filter *filter; /* of the earlier runs; NULL: none */
    kith_store *store;   /* the filter belongs to it, and must not be changed directly; NULL: it does not */
    int lock;            /* from lock_acquire() */
} uniq_state;

/* Opens the state. It stays locked until it is saved, so that of two simultaneous runs the second waits and no keys are
 * lost. The recipe of the keys in the file is applied to the options. Ends the tool if the state cannot be saved,
 * before the first line is printed, and if the size, rate or hash that the options ask for is not that of the state:
 * the same command line works on every day. */
void state_open(uniq_state *s, arguments *a);

/* Saves the state, and releases it. `filter` is that of the state or, in the first run, a new one. */
void state_save(const uniq_state *s, kith_filter *filter, const arguments *a);

#endif
