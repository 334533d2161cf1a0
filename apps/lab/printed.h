/* printed.h: runs the pseudo-code of the documents literally where it has a slip, and shows what goes wrong. For
 * `kith lab --as-printed` and for tests.
 *
 * The structures are small models with random functions, written line by line after the documents (printed/). Each runs
 * twice: as printed, and with the correction. */
#ifndef LAB_PRINTED_H
#define LAB_PRINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lab/trace/trace.h>

/* Prints all examples; the same seed gives the same text. `quick` runs fewer tables. Returns NULL, or a sentence that
 * says what went wrong: a corrected procedure lost a key. */
const char *lab_as_printed(uint64_t seed, bool quick, lab_say *say, void *context);

/* ---- [0] ---- */

/* Algorithm 3: tables of `places` places and `keys` keys that draw new functions, as soon as a place is reached
 * twice, or only when both paths of a key have a cycle. Returns how many draw any. */
uint64_t printed_revisits(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

/* Algorithms 3 to 5: inserts `keys` keys and then the last of them again, and deletes it once. Corrected, an insertion
 * first looks the key up, as line 1 of algorithm 2 of [4] does. Returns in how many tables a query still says YES. */
uint64_t printed_repeats(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

/* ---- [1] ---- */

/* Algorithm 1, changed to an insertion as the text says: tables of `places` places and `keys` keys. Corrected, the
 * changed line also returns. */
typedef struct printed_probing {
    uint64_t keys;
    uint64_t not_found;   /* keys that a search does not find */
    uint64_t most_copies; /* the most places that have the same key */
} printed_probing;
printed_probing printed_algorithm_1(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

/* ---- [2] ---- */

/* The same as printed_repeats with the steps 1 to 5 of [2], in two tables of `places` / 2 places. */
uint64_t printed_repeats_in_two(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

typedef struct printed_filter {
    uint64_t keys;
    uint64_t not_found; /* keys that a lookup does not find */
    uint64_t given_up;  /* insertions that made all passes of the loop */
    uint64_t endless;   /* insertions that did not end */
} printed_filter;

/* Steps 1 to 9: fills cuckoo filters of 1024 buckets of 4 to a load of 0.8. Step 9 repeats from
 * step 4, with i drawn from the buckets of the new key, as printed. Corrected, it continues at bucket j. */
printed_filter printed_steps_of_2(uint64_t seed, uint64_t filters, bool as_printed);

/* ---- [4] ---- */

/* Algorithm 2: fills tables of `places` places with `keys` keys each. Line 14 re-inserts x as printed, or the key that
 * is left over. */
typedef struct printed_losses {
    uint64_t tables, rehashed; /* tables that rehashed at least once */
    uint64_t losing, lost;     /* tables that lost a key, and keys lost */
    uint64_t endless;          /* tables with an insertion that did not end */
} printed_losses;
printed_losses printed_algorithm_2(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

/* The cuckoo graph of such tables, filled by the corrected algorithm 2: how many edges begin at a place. */
typedef struct printed_edges {
    unsigned of_universe; /* the most for edges of all keys of the universe, in both directions, as printed */
    unsigned of_table;    /* the same for the keys of the table only */
    unsigned directed;    /* the same, and each key is an edge from its place to its other place: the correction */
} printed_edges;
printed_edges printed_graph(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, unsigned universe);

/* Algorithm 3: fills filters of 256 buckets of 4 to a load of 0.9. The loop counts with the index of the bucket as
 * printed, or with another variable. */
printed_filter printed_algorithm_3(uint64_t seed, uint64_t filters, bool as_printed);

/* Inserts one key more into filters that are full. Returns how many of these insertions do not end; the others give
 * up. */
uint64_t printed_full_filters(uint64_t seed, uint64_t filters, bool as_printed);

#endif
