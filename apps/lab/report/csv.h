/* csv.h: writes the results as CSV tables for other programs. */
#ifndef LAB_REPORT_CSV_H
#define LAB_REPORT_CSV_H

#include <lab/result.h>

#include "text.h"

/* Writes one row per finding: claim,verdict,what,quote,relation,means,predicted,measured,low,high,holds. The fields
 * predicted and holds are empty for a finding that is only shown. */
void csv_findings(lab_text *t, const lab_result *results, size_t count);

/* Writes one row per point: claim,figure,plot,x_label,y_label,series,part,x,y,low,high. The figure is the id of the
 * plot in the page; part is "predicted" or "measured". If `more` is true, the header row is left out. */
void csv_points(lab_text *t, const lab_result *results, size_t count, bool more);

/* Writes one row per document: document,author,title,rest. */
void csv_documents(lab_text *t);

#endif
