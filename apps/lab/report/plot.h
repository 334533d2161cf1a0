/* plot.h: a plot as a figure of HTML: the drawing is SVG, the legend is text that can wrap.
 *
 *     <figure id="B2-plot-1"> … <circle class="p"> a measured point, <circle class="q"> a place of a curve
 *
 * Both kinds of circle hold a <title> with the values, which the page's script shows; those of curves are not seen until
 * they are pointed at. Colours and sizes of letters are the style sheet's. */
#ifndef LAB_REPORT_PLOT_H
#define LAB_REPORT_PLOT_H

#include <lab/result.h>

#include "text.h"

/* `number` counts the plots of a claim from 1. */
void plot_html(lab_text *t, const lab_plot *plot, const char *claim, size_t number);

/* The figure's id, as points.csv names it, too. */
void plot_id(lab_text *t, const char *claim, size_t number);

#endif
