/* printed.h: runs the pseudo-code of the documents literally where it has a slip, and shows what goes wrong. For
 * `kith lab --as-printed` and for tests.
 *
 * The structures are small models with random functions, written line by line after the documents. Each runs twice: as
 * printed, and with the correction. */
#ifndef LAB_PRINTED_H
#define LAB_PRINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lab/trace/trace.h>

/* Prints all examples; the same seed gives the same text. `quick` runs fewer tables. Returns NULL, or a sentence that
 * says what went wrong: a corrected procedure lost a key. */
const char *lab_as_printed(uint64_t seed, bool quick, lab_say *say, void *context);

/* [4], algorithm 2: fills tables of `places` places with `keys` keys each. Line 14 re-inserts x as printed, or the key
 * that is left over. */
typedef struct printed_losses {
    uint64_t tables, rehashed; /* tables that rehashed at least once */
    uint64_t losing, lost;     /* tables that lost a key, and keys lost */
} printed_losses;
printed_losses printed_algorithm_2(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

/* [4], algorithm 3: fills filters of 4 entries per bucket to a load of 0.9. The loop counts with the index of the
 * bucket as printed, or with another variable. */
typedef struct printed_filter {
    uint64_t keys;
    uint64_t not_found; /* keys that a lookup does not find */
    uint64_t given_up;  /* insertions that reached the end of the loop */
} printed_filter;
printed_filter printed_algorithm_3(uint64_t seed, uint64_t filters, bool as_printed);

/* [0], algorithm 3: tables of `places` places and `keys` keys that draw new functions, as soon as a place is reached
 * twice, or only when both paths of a key have a cycle. Returns how many draw any. */
uint64_t printed_revisits(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

#endif
