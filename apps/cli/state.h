/* state.h: checks whether the state file of an earlier `kith uniq --state` run fits the options of this run. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include <kith/filter.h>

#include "options.h"

/* Ends the tool unless -n, -p, --seed, --untrusted and --key-file, as far as they are given, are those that the state
 * was created with. So the same command line works on the first day and on all later days. A rate above that of the
 * state is accepted. The message names both values. */
void state_check(const arguments *a, const kith_filter *state);

#endif
