/* result.h: the result of a claim: its verdict, its findings and the points of its plots.
 *
 * A finding compares a measurement with a prediction. The interval of a measurement misses the true value one time in a
 * million. An inequality is refuted if the whole interval is beyond the bound, confirmed if none of it is, and else
 * undecided, unless the true value is known exactly: then that decides, and the measurement must agree with it. A
 * finding whose interval reaches more than ten times the prediction has no power: it confirms nothing. The experiment
 * states in advance what it means if a finding does not hold (lab_means): either the library, or our theory of it, is
 * wrong, or the words of a document are, which the finding then quotes. */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "claim.h"

typedef struct lab_estimate {
    double value, low, high; /* low == high: the value is exact */
} lab_estimate;

typedef enum lab_relation {
    LAB_EQUALS,   /* the prediction must be inside the interval */
    LAB_AT_MOST,  /* the prediction is an upper bound: the interval must not be entirely above it */
    LAB_AT_LEAST, /* the prediction is a lower bound: the interval must not be entirely below it */
    LAB_SHOWN,    /* there is no prediction: the measurement is only shown, and always holds */
} lab_relation;

/* What a finding says about its prediction. */
typedef enum lab_outcome {
    LAB_YES,       /* it holds */
    LAB_UNDECIDED, /* a bound is inside the interval, and the true value is not known */
    LAB_NO_POWER,  /* the interval reaches more than ten times the prediction */
    LAB_NO,        /* it does not hold */
} lab_outcome;

/* What it means if a finding does not hold. */
typedef enum lab_means {
    LAB_MUST,  /* the claim fails */
    LAB_SLIP,  /* the document has a slip: a misprint that the text itself corrects nearby */
    LAB_LOOSE, /* the statement is looser than the document words it: right in a narrower sense */
    LAB_WRONG, /* the statement is false as the document words it */
} lab_means;

typedef struct lab_finding {
    char *what;  /* "m/n = 8, k = 6" */
    char *quote; /* the words of the document that the finding tests: "[2]: \"…\""; NULL if there are none */
    lab_relation relation;
    lab_means means;
    double predicted;
    lab_estimate measured;
    bool is_known; /* the true value is known: it is `exact` */
    double exact;
    lab_outcome outcome;
} lab_finding;

typedef struct lab_point {
    double x;
    lab_estimate y;
} lab_point;

typedef struct lab_series {
    char *name;
    bool is_curve; /* true: predicted values, drawn as a line; false: measured points with their intervals */
    lab_point *points;
    size_t count;
} lab_series;

typedef struct lab_plot {
    char *title, *x_label, *y_label; /* labels include the unit */
    bool log_x, log_y;
    lab_series **series;
    size_t count;
} lab_plot;

typedef struct lab_parameter_text {
    char *name, *value;
} lab_parameter_text;

typedef enum lab_verdict {
    LAB_NOT_RUN,  /* the run was stopped before the claim was finished */
    LAB_IS_SHOWN, /* parameters were set that the claim does not cover, so the findings are shown but not judged */
    LAB_HOLDS,
    LAB_IS_UNDECIDED, /* the finding that decides, or one that tests the words of a document, is undecided */
    LAB_HAS_NO_POWER, /* the same, without power */
    LAB_IS_SLIP,
    LAB_IS_LOOSE,
    LAB_IS_WRONG,
    LAB_FAILS,
} lab_verdict;

typedef struct lab_result {
    const lab_claim *claim;
    lab_verdict verdict;
    lab_finding *findings; /* the headline comes first, the others in the order in which they were recorded */
    size_t finding_count;
    lab_plot **plots;
    size_t plot_count;
    lab_parameter_text *parameters;
    size_t parameter_count;
    double seconds;
} lab_result;

/* Returns "holds", "undecided", "no power", "a slip in the text", "looser than stated", "false as stated", "FAILS",
 * "shown" or "not run". */
const char *lab_verdict_text(lab_verdict verdict);

/* True if the verdict is about the words of a document, which the headline then quotes. */
bool lab_is_refuted(lab_verdict verdict);

/* Return "equals", "at most", "at least" or "shown", and "must", "slip", "loose" or "wrong": the values in CSV and
 * JSON. */
const char *lab_relation_text(lab_relation relation);
const char *lab_means_text(lab_means means);

/* Returns "yes", "undecided", "no power" or "no": the values in CSV and JSON. */
const char *lab_outcome_text(lab_outcome outcome);

/* The farther end of the interval divided by the prediction; 0 if there is no prediction or it is 0. */
double lab_reach(const lab_finding *finding);

/* The outcome in words: as above, "no power: 740 x" with the reach, or "shown". Returns `words`. */
typedef char lab_outcome_words[32];
const char *lab_finding_text(const lab_finding *finding, lab_outcome_words words);

/* Returns the finding to show if only one can be shown: the first that refutes the claim or a document's words, or, if
 * the claim holds, the one that its `decides` names. Returns NULL if there are no findings. */
const lab_finding *lab_headline(const lab_result *result);

/* One of the documents [0] to [4] that make the claims. */
typedef struct lab_source {
    const char *author, *title, *rest; /* rest: the year and the scribes; author may be "" */
} lab_source;

enum { LAB_SOURCE_COUNT = 5 };
extern const lab_source LAB_SOURCES[LAB_SOURCE_COUNT];

#endif
