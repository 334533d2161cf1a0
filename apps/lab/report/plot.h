/* plot.h: writes a plot as an HTML figure, or as a file of its own. The drawing is SVG; the legend of a
 * figure is text that can wrap.
 *
 *     <figure id="B2-plot-1"> … <circle class="p"> a measured point, <circle class="q"> a point of a curve
 *
 * Both kinds of circle contain a <title> with the values, which the script of the page shows. Circles of curves are
 * invisible until the pointer is near them. plot.css sets colours and font sizes. */
#ifndef LAB_REPORT_PLOT_H
#define LAB_REPORT_PLOT_H

#include <lab/result.h>

#include "text.h"

/* `number` is the number of the plot within its claim, starting at 1. */
void plot_html(lab_text *t, const lab_plot *plot, const char *claim, size_t number);

/* Writes a plot as an SVG file, which needs no other file and follows the light or dark colours of the page that shows
 * it. `title` is written above it; NULL: none. */
void plot_svg(lab_text *t, const lab_plot *plot, const char *claim, const char *title);

/* Writes the id of the figure, which points.csv also contains. */
void plot_id(lab_text *t, const char *claim, size_t number);

#endif
