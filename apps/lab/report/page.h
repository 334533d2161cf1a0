/* page.h: writes the HTML page of the report. */
#ifndef LAB_REPORT_PAGE_H
#define LAB_REPORT_PAGE_H

#include <lab/lab.h>

#include "text.h"

/* `chart` comes from choosing_chart(). */
void page_html(lab_text *t, const lab_result *chart, const lab_result *results, size_t count, lab_settings settings);

#endif
