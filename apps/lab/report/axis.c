/* axis.c: see axis.h. */
#include "axis.h"

#include <math.h>

#define MARGIN 0.04      /* added at each end, as a part of the length */
#define DECADE_MARKS 3   /* an axis of fewer powers of ten than this also has marks between them */
#define NEAR_ZERO 0.4    /* an axis whose low end is less than this part of its high end starts at 0 */
#define PLAIN_LEAST (-3) /* powers of ten that are easy to read without an exponent: 0.001 … 10 000 */
#define PLAIN_MOST 4

axis axis_open(bool log, double from, double to) {
    return (axis){INFINITY, -INFINITY, log, from, to};
}

void axis_include(axis *a, double value) {
    if (!isfinite(value) || (a->log && value <= 0))
        return;
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

static void close_log(axis *a) {
    double margin = pow(a->high / a->low, MARGIN);
    if (margin == 1)
        margin = 2;
    a->low /= margin;
    a->high *= margin;
}

static void close_linear(axis *a) {
    double margin = (a->high - a->low) * MARGIN;
    if (margin == 0)
        margin = a->high != 0 ? fabs(a->high) / 2 : 1;
    bool from_zero = a->low >= 0 && a->low <= a->high * NEAR_ZERO;
    bool to_zero = a->high <= 0 && a->high >= a->low * NEAR_ZERO;
    a->low = from_zero ? 0 : a->low - margin;
    a->high = to_zero ? 0 : a->high + margin;
}

void axis_close(axis *a) {
    if (a->low > a->high) {
        a->low = 0;
        a->high = 1;
        a->log = false;
    }
    if (a->log)
        close_log(a);
    else
        close_linear(a);
}

static double part(const axis *a, double value) {
    if (a->log)
        return value > 0 ? log(value / a->low) / log(a->high / a->low) : 0;
    return (value - a->low) / (a->high - a->low);
}

double axis_coordinate(const axis *a, double value) {
    return a->from + fmin(fmax(part(a, value), 0), 1) * (a->to - a->from);
}

bool axis_covers(const axis *a, double value) {
    return value >= a->low && value <= a->high;
}

/* ---- marks ---- */

static unsigned put(const axis *a, axis_mark *marks, unsigned count, double value, bool labelled) {
    if (count < AXIS_MARKS_MAX && axis_covers(a, value))
        marks[count++] = (axis_mark){value, labelled};
    return count;
}

/* Rounds up to 1, 2 or 5 times a power of ten. */
static double round_step(double step) {
    double power = pow(10, floor(log10(step))), factor = step / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

static double step_of(const axis *a, unsigned wanted) {
    return round_step((a->high - a->low) / wanted);
}

static unsigned linear_marks(const axis *a, unsigned wanted, axis_mark *marks) {
    double step = step_of(a, wanted);
    unsigned count = 0;
    for (double i = ceil(a->low / step); i * step <= a->high && count < AXIS_MARKS_MAX; i++)
        count = put(a, marks, count, i * step, true);
    return count;
}

static unsigned log_marks(const axis *a, unsigned wanted, axis_mark *marks) {
    double decades = log10(a->high / a->low);
    unsigned count = 0;
    if (decades < 0.8)
        return linear_marks(a, wanted, marks);
    int every = (int)ceil(decades / (wanted + 4)); /* labels of powers are short, so 4 more of them fit */
    for (int e = (int)floor(log10(a->low)); e <= (int)floor(log10(a->high)); e++) {
        count = put(a, marks, count, pow(10, e), e % every == 0);
        for (int n = 2; n < 10 && decades < DECADE_MARKS; n++)
            count = put(a, marks, count, n * pow(10, e), decades < DECADE_MARKS / 1.5 && (n == 2 || n == 5));
    }
    return count;
}

unsigned axis_marks(const axis *a, unsigned wanted, axis_mark marks[AXIS_MARKS_MAX]) {
    return a->log ? log_marks(a, wanted, marks) : linear_marks(a, wanted, marks);
}

void axis_label(lab_text *t, const axis *a, double value) {
    int exponent = value > 0 ? (int)lround(log10(value)) : 0;
    bool is_power = value > 0 && fabs(value / pow(10, exponent) - 1) < 1e-9;
    bool far = a->log && (a->low < pow(10, PLAIN_LEAST) * 0.9 || a->high > pow(10, PLAIN_MOST) * 9.9);
    if (is_power && far) {
        text_power(t, exponent);
        return;
    }
    /* Enough digits to distinguish neighbouring marks. A value that is not 0 only because of rounding is shown as 0. */
    double most = fmax(fabs(a->low), fabs(a->high)), step = step_of(a, 6);
    int digits = a->log ? 3 : (int)ceil(log10(most / step)) + 1;
    text_number(t, fabs(value) < step / 1000 && !a->log ? 0 : value, digits < 3 ? 3 : digits);
}
