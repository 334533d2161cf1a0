/* choosing.h: the chart and the table that help to choose a kind of filter, computed from the library's own plans. */
#ifndef LAB_REPORT_CHOOSING_H
#define LAB_REPORT_CHOOSING_H

#include <lab/result.h>

#include "text.h"

/* Plots bits per key against the false-positive rate, with one curve per kind of filter. The plot is the only one of a
 * result that has no findings and whose claim has the id "choosing". Free it with lab_results_free(…, 1). */
lab_result *choosing_chart(void);

/* Writes the table: the smallest kind, with its bits per key, for each set of needed operations and some rates. */
void choosing_table(lab_text *t);

/* The number of keys for which everything here is computed. */
#define CHOOSING_KEYS 1000000

#endif
