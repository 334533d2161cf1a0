/* axis.h: the axes of a plot: converts values to coordinates of the drawing and chooses the tick marks. */
#ifndef LAB_REPORT_AXIS_H
#define LAB_REPORT_AXIS_H

#include <stdbool.h>

#include "text.h"

typedef struct axis {
    double low, high; /* the range of values */
    bool log;         /* logarithmic; then low > 0 */
    double from, to;  /* the coordinates of low and high */
} axis;

/* Call axis_open, then axis_include for every value that the axis must cover, then axis_close. axis_close adds a
 * small margin at both ends and extends the axis to 0 if that is near. A logarithmic axis ignores values that are not
 * positive, and becomes a linear one if there are no others. */
axis axis_open(bool log, double from, double to);
void axis_include(axis *a, double value);
void axis_close(axis *a);

/* Returns the coordinate of a value. A value beyond an end, such as 0 on a logarithmic axis, gets the coordinate of
 * that end. */
double axis_coordinate(const axis *a, double value);
bool axis_covers(const axis *a, double value);

enum { AXIS_MARKS_MAX = 128 };

typedef struct axis_mark {
    double value;
    bool labelled; /* true: drawn with its number; false: only a thin line */
} axis_mark;

/* Stores the tick marks in ascending order, about `wanted` of them labelled, and returns their number. */
unsigned axis_marks(const axis *a, unsigned wanted, axis_mark marks[AXIS_MARKS_MAX]);

/* Writes the label of a tick mark. */
void axis_label(lab_text *t, const axis *a, double value);

#endif
