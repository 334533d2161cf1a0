/* experiment.h: what an experiment may use.
 *
 *     static void run(lab *l) {
 *         uint64_t n = lab_pick(l, 1000, 10000), asked = lab_pick(l, 10000, 100000);
 *         lab_sample rates = {0};
 *         for (unsigned i = 0; i < 100; i++) {
 *             kith_filter *f = lab_filter(l, "bloom", n, 0.01, 0, NULL);
 *             lab_fill(l, f, 0, n);
 *             lab_sample_add(&rates, (double)lab_ask(l, f, n, asked) / (double)asked);
 *             lab_drop(l, f);
 *             lab_going(l, i / 100.0);
 *         }
 *         lab_find(l, LAB_MUST, LAB_AT_MOST, 0.01, lab_mean(&rates), "n = %llu", (unsigned long long)n);
 *     }
 *
 * One number a filter: answers of one filter share its bits, and are not independent of each other.
 *
 * Numbers come from the lab's own generator, which begins with the seed of the run and the claim's name, so a claim finds
 * the same whichever others are run, in any number of threads. What lab_filter, lab_table, lab_function and lab_take give
 * is freed when the experiment ends, or before that by lab_drop.
 *
 * A call of the library that must succeed goes through lab_must: if it does not, the claim fails and the experiment ends
 * there. So does one that is stopped (lab_going). Neither returns. */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include <kith/kith.h>

#include "claim.h"
#include "result.h"
#include "stats.h"

typedef struct lab lab;

/* ---- chance and size ---- */

uint64_t lab_random(lab *l);                /* 64 bits */
uint64_t lab_below(lab *l, uint64_t bound); /* 0 … bound - 1, all alike */
double lab_unit(lab *l);                    /* 0 … 1, without 1 */
bool lab_is_quick(const lab *l);            /* --quick */
uint64_t lab_pick(const lab *l, uint64_t quick, uint64_t full);

/* Tells how much is done, 0 … 1, for the progress bar; ends the experiment if the user wants to stop. To be called every
 * tenth of a second or so. */
void lab_going(lab *l, double done);

/* ---- structures ---- */

/* Ends the experiment, and the claim fails, unless the status is KITH_OK. */
void lab_must(lab *l, kith_status status, const char *doing);

/* The same for any condition that a right library meets: "a key that was added is not found". */
void lab_require(lab *l, bool holds, const char *what);

/* A filter of that kind; of capacity, rate and bytes just two are given, the other is 0. Its hash has a seed of its own,
 * drawn from the lab's numbers. */
kith_filter *lab_filter(lab *l, const char *kind, uint64_t capacity, double rate, uint64_t bytes, const char *options);

/* A filter that a call of the library made (create_like, clone, view), to be freed as the others are; answers it. */
kith_filter *lab_keep(lab *l, kith_filter *made);

kith_table *lab_table(lab *l, const kith_table_spec *spec); /* spec->seed 0: drawn from the lab's numbers */
kith_function *lab_function(lab *l, kith_family_id family, unsigned independence);
void *lab_take(lab *l, size_t bytes); /* zeroed */
void lab_drop(lab *l, void *taken);   /* a filter, table, function or block; NULL is fine */

/* Keys are numbers of 8 bytes: key i is the i-th from the experiment's own start, so that each experiment has keys of its
 * own. */
uint64_t lab_key(const lab *l, uint64_t i);

/* Digests of the keys first … first + n - 1 under the filter's hash. */
void lab_digests(lab *l, const kith_filter *filter, uint64_t first, size_t n, uint64_t *digests);

/* Adds the keys first … first + n - 1; all must go in. */
void lab_fill(lab *l, kith_filter *filter, uint64_t first, uint64_t n);

/* How many of the keys first … first + n - 1 are answered yes. */
uint64_t lab_ask(lab *l, const kith_filter *filter, uint64_t first, uint64_t n);

/* ---- what was found ---- */

/* "n", "10^6": what the run was made with, for the report. */
void lab_parameter(lab *l, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A finding. Give the prediction from the formula, never from the data. */
void lab_find(lab *l, lab_means means, lab_relation relation, double predicted, lab_estimate measured,
              const char *format, ...) __attribute__((format(printf, 6, 7)));

/* A goodness of fit: of `observed` and `expected` counts of n cells, cells of small expectation (under 10) being put
 * together with their neighbours; `constraints` is 1 + the parameters that were taken from the data. The finding is that
 * chi-square is at most what chance passes one time in a million. */
void lab_find_fit(lab *l, lab_means means, const uint64_t *observed, const double *expected, size_t n,
                  unsigned constraints, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* ---- what is drawn ---- */

enum { LAB_LOG_X = 1, LAB_LOG_Y = 2 };

/* They belong to the result. */
lab_plot *lab_draw(lab *l, const char *title, const char *x_label, const char *y_label, unsigned flags);
lab_series *lab_curve(lab_plot *plot, const char *format, ...) __attribute__((format(printf, 2, 3)));  /* predicted */
lab_series *lab_points(lab_plot *plot, const char *format, ...) __attribute__((format(printf, 2, 3))); /* measured */
void lab_at(lab_series *series, double x, lab_estimate y); /* of a curve: lab_exact(y) */

#endif
