/* csv.h: the run as tables for other programs. */
#ifndef LAB_REPORT_CSV_H
#define LAB_REPORT_CSV_H

#include <lab/result.h>

#include "text.h"

/* claim,verdict,what,relation,means,predicted,measured,low,high,holds: a row a finding. A finding that is only shown has no
 * prediction. */
void csv_findings(lab_text *t, const lab_result *results, size_t count);

/* claim,figure,plot,x_label,y_label,series,part,x,y,low,high: a row a point; figure is the id of its plot in the page, part
 * is "predicted" or "measured". Without the row of names if `more`. */
void csv_points(lab_text *t, const lab_result *results, size_t count, bool more);

#endif
