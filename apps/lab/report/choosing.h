/* choosing.h: which kind of filter to take, from the library's own plans. */
#ifndef LAB_REPORT_CHOOSING_H
#define LAB_REPORT_CHOOSING_H

#include <lab/result.h>

#include "text.h"

/* Bits a key against rate, a curve for every kind of the register, as the one plot of a result without findings whose claim
 * is named "choosing". For lab_results_free(…, 1). */
lab_result *choosing_chart(void);

/* The table: for what is needed and a few rates, the smallest kind and its bits a key. */
void choosing_table(lab_text *t);

/* Keys that it is all computed for. */
#define CHOOSING_KEYS 1000000

#endif
