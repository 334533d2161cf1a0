/* axis.h: from numbers to places on paper, and where an axis has its marks. */
#ifndef LAB_REPORT_AXIS_H
#define LAB_REPORT_AXIS_H

#include <stdbool.h>

#include "text.h"

typedef struct axis {
    double low, high; /* of the numbers */
    bool log;         /* then low > 0 */
    double from, to;  /* of the paper: where low and high are */
} axis;

/* Takes in the numbers that must have a place, then is closed: a little room at both ends, and 0 where it is near. An axis
 * that is to be logarithmic takes in positive numbers only, and becomes a plain one if there were none. */
axis axis_open(bool log, double from, double to);
void axis_take(axis *a, double value);
void axis_close(axis *a);

/* What is beyond an end, as 0 is on a logarithmic axis, has its place at that end. */
double axis_place(const axis *a, double value);
bool axis_holds(const axis *a, double value);

enum { AXIS_MARKS_MAX = 128 };

typedef struct axis_mark {
    double value;
    bool named; /* with its number; else a fine line */
} axis_mark;

/* Marks in ascending order, about `wanted` of them named; answers their number. */
unsigned axis_marks(const axis *a, unsigned wanted, axis_mark marks[AXIS_MARKS_MAX]);

/* The number at a mark. */
void axis_name(lab_text *t, const axis *a, double value);

#endif
