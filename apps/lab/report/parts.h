/* parts.h: plot.css, page.css and page.js as strings. The build generates their definitions. */
#ifndef LAB_REPORT_PARTS_H
#define LAB_REPORT_PARTS_H

extern const char LAB_PLOT_CSS[], LAB_PAGE_CSS[], LAB_PAGE_JS[];

#endif
