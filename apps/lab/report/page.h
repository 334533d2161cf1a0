/* page.h: the page itself. */
#ifndef LAB_REPORT_PAGE_H
#define LAB_REPORT_PAGE_H

#include <lab/lab.h>

#include "text.h"

/* `chart` is that of choosing.h. */
void page_html(lab_text *t, const lab_result *chart, const lab_result *results, size_t count, lab_settings settings);

#endif
