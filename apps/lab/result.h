/* result.h: what came of a claim: findings, each with its prediction, and series of points to be drawn.
 *
 * A finding holds a measurement against a prediction. An interval that belongs to a measurement covers the truth but for
 * one time in a million; an inequality fails only when the whole interval lies beyond the bound. What it means that a
 * finding does not hold is said by whoever made it, before it was measured: either the library (or our theory of it) is
 * wrong, or the document from which the claim comes is. */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "claim.h"

typedef struct lab_estimate {
    double value, low, high; /* low == high: nothing of it is left to chance */
} lab_estimate;

typedef enum lab_relation {
    LAB_EQUALS,   /* the prediction lies in the interval */
    LAB_AT_MOST,  /* the interval does not lie above the prediction, which is a bound */
    LAB_AT_LEAST, /* … below it */
    LAB_SHOWN,    /* there is no prediction: shown, and holds always */
} lab_relation;

typedef enum lab_means {            /* … that a finding does not hold */
                         LAB_MUST,  /* the claim fails */
                         LAB_LOOSE, /* the document is looser than it says */
                         LAB_WRONG, /* the document is wrong here */
} lab_means;

typedef struct lab_finding {
    char *what; /* "m/n = 8, k = 6" */
    lab_relation relation;
    lab_means means;
    double predicted;
    lab_estimate measured;
    bool holds;
} lab_finding;

typedef struct lab_point {
    double x;
    lab_estimate y;
} lab_point;

typedef struct lab_series {
    char *name;
    bool is_curve; /* predicted, drawn as a line; else measured points with their intervals */
    lab_point *points;
    size_t count;
} lab_series;

typedef struct lab_plot {
    char *title, *x_label, *y_label; /* labels name their units */
    bool log_x, log_y;
    lab_series **series;
    size_t count;
} lab_plot;

typedef struct lab_parameter_text {
    char *name, *value;
} lab_parameter_text;

typedef enum lab_verdict {
    LAB_NOT_RUN, /* stopped before */
    LAB_HOLDS,
    LAB_IS_LOOSE,
    LAB_IS_WRONG,
    LAB_FAILS,
} lab_verdict;

typedef struct lab_result {
    const lab_claim *claim;
    lab_verdict verdict;
    lab_finding *findings; /* in the order in which they were made */
    size_t finding_count;
    lab_plot **plots;
    size_t plot_count;
    lab_parameter_text *parameters;
    size_t parameter_count;
    double seconds;
} lab_result;

/* "holds", "looser than claimed", "the document is wrong here", "FAILS", "not run". */
const char *lab_verdict_text(lab_verdict verdict);

/* "equals", "at most", "at least", "shown"; "must", "loose", "wrong": for programs to read. */
const char *lab_relation_text(lab_relation relation);
const char *lab_means_text(lab_means means);

/* The finding to show when there is room for one: the first that does not hold of the worst kind, else the first. NULL:
 * there are none. */
const lab_finding *lab_headline(const lab_result *result);

#endif
