/* experiment.h: the functions that an experiment may use.
 *
 *     static void run(lab *l) {
 *         uint64_t n = lab_number(l, "n"), asked = lab_number(l, "asked");
 *         lab_sample rates = {0};
 *         for (unsigned i = 0; i < 100; i++) {
 *             kith_filter *f = lab_filter(l, "bloom", n, 0.01, 0, NULL);
 *             lab_fill(l, f, 0, n);
 *             lab_sample_add(&rates, (double)lab_count_found(l, f, n, asked) / (double)asked);
 *             lab_drop(l, f);
 *             lab_progress(l, i / 100.0);
 *         }
 *         lab_find(l, LAB_AT_MOST, 0.01, lab_mean(&rates), "n = %llu", (unsigned long long)n);
 *     }
 *
 * The example adds one number per filter to its sample, not one per lookup: lookups in one filter read the same bits,
 * so their results are not independent.
 *
 * Random numbers come from the lab's own generator, which is seeded with the seed of the run and the id of the claim.
 * A claim therefore finds the same numbers whichever other claims run, on any number of threads.
 *
 * Objects from lab_filter, lab_table, lab_function and lab_take are freed when the experiment ends, or earlier by
 * lab_drop.
 *
 * Library calls that must succeed are checked with lab_must. If one fails, the claim fails and the experiment ends
 * there. lab_progress ends the experiment if the user interrupts the run. In both cases the function does not
 * return. */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include <kith/inspect.h>
#include <kith/kith.h>

#include "claim.h"
#include "result.h"
#include "stats.h"

typedef struct lab lab;

/* ---- random numbers, sizes, progress ---- */

uint64_t lab_random(lab *l);                /* 64 random bits */
uint64_t lab_below(lab *l, uint64_t bound); /* uniform in 0 … bound - 1 */
double lab_unit(lab *l);                    /* uniform in [0, 1) */
bool lab_is_quick(const lab *l);            /* whether this is a run with --quick */

/* ---- the settings of the claim ---- */

enum { LAB_NUMBERS_MAX = 32 };

/* The value of a setting: what the user gave with --set, or the value of a quick or a full run. */
uint64_t lab_number(lab *l, const char *name);
double lab_real(lab *l, const char *name);
const char *lab_word(lab *l, const char *name);

/* True if the word is this one, or "all" or "both". */
bool lab_wants(lab *l, const char *name, const char *word);

/* The numbers of a list, and how many there are. The array is overwritten by the next call. */
const double *lab_numbers(lab *l, const char *name, size_t *count);

/* Copies the numbers of a list. Returns how many there are. */
size_t lab_list(lab *l, const char *name, double numbers[LAB_NUMBERS_MAX]);

/* True if the user has set it. */
bool lab_is_set(const lab *l, const char *name);

/* Reports progress, from 0 to 1, to the progress bar. Ends the experiment if the user interrupted the run. Call it
 * about every tenth of a second. */
void lab_progress(lab *l, double done);

/* Seconds on a clock that never goes back. Times depend on the machine, so they are shown and never judged. */
double lab_seconds(void);

/* ---- filters, tables, functions ---- */

/* Ends the experiment, with the claim failed, unless `status` is KITH_OK. */
void lab_must(lab *l, kith_status status, const char *doing);

/* The same for any condition that a correct library meets. `what` says what is wrong if it does not hold: "a key that
 * was added is not found". */
void lab_require(lab *l, bool holds, const char *what);

/* Creates a filter of this kind, with a random hash seed. Exactly two of capacity, rate and bytes are given; the third
 * is 0. */
kith_filter *lab_filter(lab *l, const char *kind, uint64_t capacity, double rate, uint64_t bytes, const char *options);

/* Registers a filter that the library created (create_like, clone, view), so that it is freed like the others.
 * Returns it. */
kith_filter *lab_keep(lab *l, kith_filter *made);

kith_table *lab_table(lab *l, const kith_table_spec *spec); /* a spec->seed of 0 means a random seed */
kith_table *lab_traced(lab *l, const kith_table_spec *spec, kith_table_trace trace, void *context);
kith_function *lab_function(lab *l, kith_family_id family, unsigned independence);
void *lab_take(lab *l, size_t bytes); /* allocates zeroed memory */
void lab_drop(lab *l, void *object);  /* frees a filter, table, function or memory block; NULL is allowed */

/* Returns key i. Keys are 8-byte integers, counted from a random start that differs between experiments. */
uint64_t lab_key(const lab *l, uint64_t i);

/* Computes the digests of the keys first … first + n - 1 with the filter's hash. */
void lab_digests(lab *l, const kith_filter *filter, uint64_t first, size_t n, uint64_t *digests);

/* Adds the keys first … first + n - 1. The claim fails if one of them cannot be added. */
void lab_fill(lab *l, kith_filter *filter, uint64_t first, uint64_t n);

/* Looks up the keys first … first + n - 1 and returns for how many of them the filter returns true. */
uint64_t lab_count_found(lab *l, const kith_filter *filter, uint64_t first, uint64_t n);

/* ---- findings ---- */

/* Records a parameter of the run for the report, for example "n" with the value "10^6". */
void lab_parameter(lab *l, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Records a finding that must hold. The prediction must come from the formula, never from the data. */
void lab_find(lab *l, lab_relation relation, double predicted, lab_estimate measured, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Records a finding that tests the words of a document: "[2]: \"…\"". If it does not hold, `means` says how far the
 * words are off. LAB_MUST: the words are right, so the claim fails if the finding does not hold. */
void lab_find_stated(lab *l, lab_means means, const char *quote, lab_relation relation, double predicted,
                     lab_estimate measured, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Says that the value that the last finding measured is known: `exact`, from the theory. It decides an inequality, and
 * the measurement must agree with it. */
void lab_known(lab *l, double exact);

/* Records a chi-square test of n observed counts against the expected ones. Neighbouring cells are merged until each
 * expects at least 10. `constraints` is 1 + the number of parameters that were estimated from the data. The finding
 * holds if chi-square is at most the value that is exceeded randomly one time in a million. */
void lab_find_fit(lab *l, const uint64_t *observed, const double *expected, size_t n, unsigned constraints,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));

/* ---- plots ---- */

enum { LAB_LOG_X = 1, LAB_LOG_Y = 2 };

/* Plots and series belong to the result and are freed with it. */
lab_plot *lab_draw(lab *l, const char *title, const char *x_label, const char *y_label, unsigned flags);
lab_series *lab_curve(lab_plot *plot, const char *format, ...) __attribute__((format(printf, 2, 3)));  /* predicted */
lab_series *lab_points(lab_plot *plot, const char *format, ...) __attribute__((format(printf, 2, 3))); /* measured */
void lab_at(lab_series *series, double x, lab_estimate y); /* adds a point; y of a curve is lab_exact(y) */

#endif
