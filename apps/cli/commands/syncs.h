/* syncs.h: when `kith uniq --state` makes its state durable.
 *
 *     --sync N     after every N records
 *     --sync 5s    5 seconds after the first record that is not durable yet
 *     (default)    5 seconds or, if that is longer, 19 times as long as the latest sync took. So syncs take at most a
 *                  twentieth of the time, although a plain file is written as a whole, however large it is
 *
 * and when SIGUSR1 comes, when SIGINT, SIGTERM or SIGHUP end the tool, and at the end of the input. A second signal of
 * these three ends the tool at once, without a sync.
 *
 * While nothing needs a sync, a signal ends the tool in its handler, as in every other command. */
#ifndef CLI_SYNCS_H
#define CLI_SYNCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

/* Installs the signal handlers. Ends the tool if --sync-fd is not open for writing. */
void syncs_begin(const arguments *a);

/* Sets the function that makes everything durable that was done with the records so far. */
void syncs_use(void (*sync)(void *context), void *context);

/* Returns how many of the next n records, at least 1, may be processed before syncs_attend() must be called, and counts
 * them. Must be called before they are processed. */
size_t syncs_take(size_t n);

/* Syncs, if that is due or if `now` is set and there are records that are not durable, and ends the tool if a signal
 * asks for it. Returns in how many milliseconds it must be called again; -1: when there are records. It has the type of
 * input_shape.attend. */
int syncs_attend(void *context, bool now);

/* The last sync. From then on signals are delayed, as the tool ends anyway. */
void syncs_end(void);

#endif
