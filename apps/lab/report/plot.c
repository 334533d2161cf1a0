/* plot.c: see plot.h.
 *
 *            the y label, outside the SVG, so that it wraps and uses the font of the page
 *       TOP  |--------------------------|
 *            |         the frame        |
 *            |--------------------------|
 *       LEFT   labels of marks      RIGHT
 *            the x label              BOTTOM
 *
 * The space for the labels of tick marks is large enough for the larger font on narrow screens. */
#include "plot.h"

#include <math.h>

#include "axis.h"
#include "parts.h"

enum { WIDTH = 640, HEIGHT = 360, LEFT = 84, RIGHT = 624, TOP = 14, BOTTOM = 326 };
enum { COLOURS = 12, X_MARKS = 6, Y_MARKS = 6 };
enum { FILE_WIDTH = 930, LEGEND = 640, LEGEND_LINE = 22 }; /* in a file the legend is to the right of the frame */
enum { CURVE_CIRCLES_MAX = 80 }; /* circles on a curve that show their values; more would overlap */
enum { MANY_POINTS = 80 };       /* a series with this many points is drawn with small circles */

typedef struct frame {
    const lab_plot *plot;
    axis x, y;
} frame;

/* ---- ranges and colours ---- */

/* On a logarithmic axis an interval that begins at 0, or close to it, would leave no space for anything else. Its low
 * end is therefore cut off at a tenth of the least value. */
static void include_interval(axis *a, double least, lab_estimate e) {
    axis_include(a, a->log ? fmax(e.low, least / 10) : e.low);
    axis_include(a, e.high);
}

static frame frame_of(const lab_plot *plot) {
    frame f = {plot, axis_open(plot->log_x, LEFT, RIGHT), axis_open(plot->log_y, BOTTOM, TOP)};
    for (size_t s = 0; s < plot->count; s++)
        for (size_t i = 0; i < plot->series[s]->count; i++) {
            axis_include(&f.x, plot->series[s]->points[i].x);
            axis_include(&f.y, plot->series[s]->points[i].y.value);
        }
    double least = f.y.low;
    for (size_t s = 0; s < plot->count; s++)
        for (size_t i = 0; i < plot->series[s]->count && !plot->series[s]->is_curve; i++)
            include_interval(&f.y, least, plot->series[s]->points[i].y);
    axis_close(&f.x);
    axis_close(&f.y);
    return f;
}

static bool is_drawn(const lab_point *p) {
    return !isnan(p->x) && !isnan(p->y.value);
}

/* If a plot has as many curves as series of points, the i-th curve and the i-th series of points get the same
 * colour. */
static unsigned colour_of(const lab_plot *plot, size_t series) {
    size_t curves = 0, before = 0;
    for (size_t s = 0; s < plot->count; s++) {
        curves += plot->series[s]->is_curve;
        before += s < series && plot->series[s]->is_curve == plot->series[series]->is_curve;
    }
    bool paired = 2 * curves == plot->count;
    return (unsigned)((paired ? before : series) % COLOURS);
}

/* ---- axes ---- */

static void put_axes(lab_text *t, const frame *f) {
    axis_mark marks[AXIS_MARKS_MAX];
    text_put(t, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, RIGHT - LEFT,
             BOTTOM - TOP);
    unsigned count = axis_marks(&f->x, X_MARKS, marks);
    for (unsigned i = 0; i < count; i++) {
        double at = axis_coordinate(&f->x, marks[i].value);
        text_put(t, "<path class=\"%s\" d=\"M%.1f %dV%d\"/>", marks[i].labelled ? "grid" : "fine", at, TOP, BOTTOM);
        if (!marks[i].labelled)
            continue;
        text_put(t, "<text class=\"mark\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", at, BOTTOM + 24);
        axis_label(t, &f->x, marks[i].value);
        text_put(t, "</text>\n");
    }
    count = axis_marks(&f->y, Y_MARKS, marks);
    for (unsigned i = 0; i < count; i++) {
        double at = axis_coordinate(&f->y, marks[i].value);
        text_put(t, "<path class=\"%s\" d=\"M%d %.1fH%d\"/>", marks[i].labelled ? "grid" : "fine", LEFT, at, RIGHT);
        if (!marks[i].labelled)
            continue;
        text_put(t, "<text class=\"mark\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\" dy=\".35em\">", LEFT - 8, at);
        axis_label(t, &f->y, marks[i].value);
        text_put(t, "</text>\n");
    }
}

/* ---- series ---- */

static void put_circle(lab_text *t, const frame *f, const lab_series *series, const lab_point *p, char kind,
                       double radius) {
    text_put(t, "<circle class=\"%c\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"><title>", kind, axis_coordinate(&f->x, p->x),
             axis_coordinate(&f->y, p->y.value), radius);
    text_escaped(t, series->name);
    text_put(t, "\n");
    text_escaped(t, f->plot->x_label);
    text_put(t, ": ");
    text_number(t, p->x, TEXT_DIGITS);
    text_put(t, "\n");
    text_escaped(t, f->plot->y_label);
    text_put(t, ": ");
    int digits = text_digits_of(p->y.value, p->y.low, p->y.high);
    if (!(p->y.low < p->y.high)) {
        text_number(t, p->y.value, digits);
    } else {
        text_digits(t, p->y.value, digits);
        text_put(t, " (");
        text_digits(t, p->y.low, digits);
        text_put(t, " … ");
        text_digits(t, p->y.high, digits);
        text_put(t, ")");
    }
    text_put(t, "</title></circle>\n");
}

static void put_curve(lab_text *t, const frame *f, const lab_series *series) {
    bool drawing = false;
    text_put(t, "<path class=\"curve\" d=\"");
    for (size_t i = 0; i < series->count; i++) {
        const lab_point *p = &series->points[i];
        bool placed = is_drawn(p) && axis_covers(&f->x, p->x) && axis_covers(&f->y, p->y.value);
        if (placed)
            text_put(t, "%c%.1f %.1f", drawing ? 'L' : 'M', axis_coordinate(&f->x, p->x),
                     axis_coordinate(&f->y, p->y.value));
        if (placed && !drawing)
            text_put(t, "h0"); /* makes a point without neighbours visible, as a dot */
        drawing = placed;
    }
    text_put(t, "\"/>\n");
}

static void put_values(lab_text *t, const frame *f, const lab_series *series) {
    size_t every = (series->count + CURVE_CIRCLES_MAX - 1) / CURVE_CIRCLES_MAX;
    for (size_t i = 0; i < series->count; i += every)
        if (is_drawn(&series->points[i]))
            put_circle(t, f, series, &series->points[i], 'q', 4);
}

/* An error bar with a short stroke at both ends, except at an end that is outside the frame. */
static void put_bar(lab_text *t, const frame *f, const lab_point *p) {
    enum { HALF = 4 };
    double x = axis_coordinate(&f->x, p->x), low = axis_coordinate(&f->y, p->y.low),
           high = axis_coordinate(&f->y, p->y.high);
    if (!(p->y.low < p->y.high))
        return;
    text_put(t, "M%.1f %.1fV%.1f", x, low, high);
    if (axis_covers(&f->y, p->y.low))
        text_put(t, "M%.1f %.1fh%d", x - HALF, low, 2 * HALF);
    if (axis_covers(&f->y, p->y.high))
        text_put(t, "M%.1f %.1fh%d", x - HALF, high, 2 * HALF);
}

static void put_points(lab_text *t, const frame *f, const lab_series *series) {
    text_put(t, "<path class=\"bars\" d=\"");
    for (size_t i = 0; i < series->count; i++)
        if (is_drawn(&series->points[i]))
            put_bar(t, f, &series->points[i]);
    text_put(t, "\"/>\n");
    for (size_t i = 0; i < series->count; i++)
        if (is_drawn(&series->points[i]))
            put_circle(t, f, series, &series->points[i], 'p', series->count < MANY_POINTS ? 4 : 2.5);
}

/* ---- the figure ---- */

static void put_legend(lab_text *t, const lab_plot *plot) {
    text_put(t, "<ul class=\"legend\">\n");
    for (size_t s = 0; s < plot->count; s++) {
        text_put(t, "<li class=\"s%u\"><svg viewBox=\"0 0 28 14\" aria-hidden=\"true\">%s</svg>", colour_of(plot, s),
                 plot->series[s]->is_curve ? "<path class=\"curve\" d=\"M2 7H26\"/>"
                                           : "<path class=\"bars\" d=\"M14 1V13M10 1h8M10 13h8\"/><circle "
                                             "class=\"dot\" cx=\"14\" cy=\"7\" r=\"4\"/>");
        text_escaped(t, plot->series[s]->name);
        text_put(t, "</li>\n");
    }
    text_put(t, "</ul>\n");
}

void plot_id(lab_text *t, const char *claim, size_t number) {
    text_put(t, "%s-plot-%zu", claim, number);
}

void plot_html(lab_text *t, const lab_plot *plot, const char *claim, size_t number) {
    frame f = frame_of(plot);
    text_put(t, "<figure id=\"");
    plot_id(t, claim, number);
    text_put(t, "\">\n<figcaption>");
    text_escaped(t, plot->title);
    text_put(t, "</figcaption>\n<div class=\"y\">");
    text_escaped(t, plot->y_label);
    text_put(t, "</div>\n<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"group\" aria-label=\"", WIDTH, HEIGHT);
    text_escaped(t, plot->title);
    text_put(t, "\">\n");
    put_axes(t, &f);
    /* Curves first, so that measured points are drawn on top of them. */
    for (int points = 0; points < 2; points++)
        for (size_t s = 0; s < plot->count; s++) {
            if (plot->series[s]->is_curve == (points == 1))
                continue;
            text_put(t, "<g class=\"s%u\">\n", colour_of(plot, s));
            if (points == 0) {
                put_curve(t, &f, plot->series[s]);
                put_values(t, &f, plot->series[s]);
            } else {
                put_points(t, &f, plot->series[s]);
            }
            text_put(t, "</g>\n");
        }
    text_put(t, "</svg>\n<div class=\"x\">");
    text_escaped(t, plot->x_label);
    text_put(t, "</div>\n");
    put_legend(t, plot);
    text_put(t, "</figure>\n");
}

/* ---- the file ---- */

static void put_words(lab_text *t, double x, double y, const char *anchor, const char *words) {
    text_put(t, "<text class=\"mark\" x=\"%g\" y=\"%g\" text-anchor=\"%s\">", x, y, anchor);
    text_escaped(t, words);
    text_put(t, "</text>\n");
}

void plot_svg(lab_text *t, const lab_plot *plot, const char *claim, const char *title) {
    enum { ABOVE = 24, TITLE = 28, BELOW = 24 }; /* space for the title and for the labels of the axes */
    frame f = frame_of(plot);
    int above = ABOVE + (title != NULL ? TITLE : 0), legend = TOP + (int)plot->count * LEGEND_LINE;
    int below = legend > HEIGHT + BELOW ? legend : HEIGHT + BELOW;
    text_put(t, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %d %d %d\" role=\"img\" aria-label=\"", -above,
             FILE_WIDTH, above + below);
    text_escaped(t, plot->title);
    text_put(t, "\" font-family=\"system-ui, sans-serif\">\n<style>\n%s</style>\n<g id=\"%s\">\n", LAB_PLOT_CSS, claim);
    if (title != NULL)
        put_words(t, LEFT, TOP - 12 - TITLE, "start", title);
    put_axes(t, &f);
    put_words(t, LEFT, TOP - 12, "start", plot->y_label);
    put_words(t, (LEFT + RIGHT) / 2.0, HEIGHT + BELOW - 10, "middle", plot->x_label);
    double at = TOP + LEGEND_LINE / 2.0;
    for (int points = 0; points < 2; points++) /* curves first, as in the page */
        for (size_t s = 0; s < plot->count; s++) {
            if (plot->series[s]->is_curve == (points == 1))
                continue;
            text_put(t, "<g class=\"s%u\">\n", colour_of(plot, s));
            if (points == 0) {
                put_curve(t, &f, plot->series[s]);
                text_put(t, "<path class=\"curve\" d=\"M%d %gh24\"/>", LEGEND, at);
            } else {
                put_points(t, &f, plot->series[s]);
                text_put(t, "<path class=\"bars\" d=\"M%d %gv12\"/>", LEGEND + 12, at - 6);
                text_put(t, "<circle class=\"dot\" cx=\"%d\" cy=\"%g\" r=\"4\"/>", LEGEND + 12, at);
            }
            put_words(t, LEGEND + 32, at + 5, "start", plot->series[s]->name);
            text_put(t, "</g>\n");
            at += LEGEND_LINE;
        }
    text_put(t, "</g>\n</svg>\n");
}
