/* state.h: does the state of an earlier run of uniq fit the options of this one? */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include <kith/filter.h>

#include "options.h"

/* Ends the tool unless -n, -p, --seed, --untrusted and --key-file, as far as they are given, are those that the state
 * was made with: the same command line works on the first day and on all later ones. A rate above that of the state is
 * accepted. The message names both values. */
void state_check(const arguments *a, const kith_filter *state);

#endif
