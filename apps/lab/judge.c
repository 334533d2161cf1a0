/* judge.c: see judge.h. */
#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An interval that reaches this many times the prediction would have agreed with a value ten times as large. */
#define REACH_MOST 10

/* ---- findings ---- */

double lab_reach(const lab_finding *f) {
    double end = fmax(fabs(f->measured.low), fabs(f->measured.high));
    return f->relation == LAB_SHOWN || f->predicted == 0 ? 0 : end / fabs(f->predicted);
}

static bool is_inside(double value, lab_estimate e) {
    return e.low <= value && value <= e.high;
}

/* True if theory and measurement contradict each other, whatever a document says. */
static bool is_contradicted(const lab_finding *f) {
    return f->is_known && !is_inside(f->exact, f->measured);
}

/* An inequality between the bound and an interval, or a value that is known: then low == high. */
static lab_outcome outcome_of_bound(const lab_finding *f, lab_estimate e) {
    bool at_most = f->relation == LAB_AT_MOST;
    if (at_most ? e.high <= f->predicted : e.low >= f->predicted)
        return LAB_YES;
    return is_inside(f->predicted, e) ? LAB_UNDECIDED : LAB_NO; /* a NaN is neither: no */
}

void lab_judge(lab_finding *f) {
    bool is_bound = f->relation == LAB_AT_MOST || f->relation == LAB_AT_LEAST;
    if (f->relation == LAB_SHOWN)
        f->outcome = LAB_YES;
    else if (is_contradicted(f))
        f->outcome = LAB_NO;
    else if (is_bound)
        f->outcome = outcome_of_bound(f, f->is_known ? (lab_estimate){f->exact, f->exact, f->exact} : f->measured);
    else
        f->outcome = is_inside(f->predicted, f->measured) ? LAB_YES : LAB_NO;
    /* Only the interval itself shows that a bound is kept: a known value, however certain, was not measured by it. */
    bool is_confirmed = is_bound && outcome_of_bound(f, f->measured) == LAB_YES;
    if (f->relation != LAB_SHOWN && f->outcome != LAB_NO && !is_confirmed && f->measured.low < f->measured.high &&
        lab_reach(f) > REACH_MOST)
        f->outcome = LAB_NO_POWER;
}

const char *lab_outcome_text(lab_outcome outcome) {
    static const char *const TEXTS[] = {
        [LAB_YES] = "yes", [LAB_UNDECIDED] = "undecided", [LAB_NO_POWER] = "no power", [LAB_NO] = "no"};
    return TEXTS[outcome];
}

const char *lab_finding_text(const lab_finding *f, lab_outcome_words words) {
    double reach = lab_reach(f);
    if (f->relation == LAB_SHOWN)
        (void)snprintf(words, sizeof(lab_outcome_words), "shown");
    else if (f->outcome == LAB_NO_POWER)
        (void)snprintf(words, sizeof(lab_outcome_words), reach < 1e5 ? "no power: %.0f x" : "no power: %.0e x", reach);
    else
        (void)snprintf(words, sizeof(lab_outcome_words), "%s", lab_outcome_text(f->outcome));
    return words;
}

/* ---- claims ---- */

size_t lab_deciding(const lab_result *r) {
    size_t i = 0;
    while (i < r->finding_count &&
           (r->claim->decides == NULL || strstr(r->findings[i].what, r->claim->decides) == NULL))
        i++;
    return i;
}

/* The same, but with parameters of the user's own the deciding finding may not be there. Then it is the last one that
 * says yes, or else the last that has a prediction. */
static size_t deciding_or_last(const lab_result *r) {
    size_t at = lab_deciding(r), predicts = 0, yes = r->finding_count;
    for (size_t i = 0; i < r->finding_count; i++) {
        if (r->findings[i].relation == LAB_SHOWN)
            continue;
        predicts = i;
        yes = r->findings[i].outcome == LAB_YES ? i : yes;
    }
    return at < r->finding_count ? at : yes < r->finding_count ? yes : predicts;
}

/* What one finding says about the claim. If it is neither confirmed nor refuted, the claim can still hold by the
 * others, unless it is the one that decides or the only one that tests the words of a document. */
static lab_verdict verdict_of_finding(const lab_finding *f, bool decides) {
    static const lab_verdict REFUTED[] = {
        [LAB_MUST] = LAB_FAILS, [LAB_SLIP] = LAB_IS_SLIP, [LAB_LOOSE] = LAB_IS_LOOSE, [LAB_WRONG] = LAB_IS_WRONG};
    switch (f->outcome) {
    case LAB_NO:
        return is_contradicted(f) ? LAB_FAILS : REFUTED[f->means];
    case LAB_UNDECIDED:
        return decides || f->means != LAB_MUST ? LAB_IS_UNDECIDED : LAB_HOLDS;
    case LAB_NO_POWER:
        return decides || f->means != LAB_MUST ? LAB_HAS_NO_POWER : LAB_HOLDS;
    case LAB_YES:
        break;
    }
    return LAB_HOLDS;
}

/* lab_verdict is ordered from best to worst. A claim without findings fails, because it has shown nothing. */
lab_verdict lab_judge_claim(const lab_result *r) {
    lab_verdict worst = r->finding_count > 0 ? LAB_HOLDS : LAB_FAILS;
    size_t decides = deciding_or_last(r);
    for (size_t i = 0; i < r->finding_count; i++) {
        lab_verdict verdict = verdict_of_finding(&r->findings[i], i == decides);
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}

/* The headline is the first finding with the verdict of the claim, or, if the claim holds, the one that decides. */
void lab_put_headline_first(lab_result *r) {
    size_t decides = deciding_or_last(r), at = decides;
    if (r->finding_count == 0)
        return;
    if (r->verdict != LAB_HOLDS && r->verdict != LAB_IS_SHOWN)
        for (at = 0; verdict_of_finding(&r->findings[at], at == decides) != r->verdict;)
            at++;
    lab_finding headline = r->findings[at];
    memmove(&r->findings[1], &r->findings[0], at * sizeof *r->findings);
    r->findings[0] = headline;
}

const lab_finding *lab_headline(const lab_result *r) {
    return r->finding_count > 0 ? &r->findings[0] : NULL;
}
