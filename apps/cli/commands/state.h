/* state.h: the state file of `kith uniq --state`, which keeps the filter from one run to the next.
 *
 *     first run    creates a file with a journal at the first sync; with --no-lock, a plain file
 *     a store      new keys are appended to its journal, in batches, each of which is committed by a sync. With
 *                  --field-changed, the first sync replaces it as a whole, because its notes change
 *     a plain      file, as kith build makes it, is read into memory and replaced as a whole by each sync
 *     file
 *
 * A run syncs as often as syncs.h says. If lines cannot be written, or anything else fails, the state is as after the
 * latest sync, and the next run treats later lines as new. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "cli/files/opened.h"

/* Opens the state. It stays locked until it is closed, so that of two simultaneous runs the second waits and no keys
 * are lost. filter_of() is NULL in the first run. The recipe of the keys in the file is applied to the options. Ends
 * the tool if the state cannot be saved, before the first line is printed, and if the size, rate or hash that the
 * options ask for is not that of the state: the same command line works on every day. */
filter_file state_open(arguments *a);

/* Gives the state its first content. */
void state_begin(const filter_file *state, kith_filter *filter);

#endif
