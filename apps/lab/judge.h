/* judge.h: what a finding says about its prediction, and what the findings say about their claim. */
#ifndef LAB_JUDGE_H
#define LAB_JUDGE_H

#include "result.h"

/* Sets the outcome of a finding from its other members. */
void lab_judge(lab_finding *finding);

/* The verdict on a claim with these findings: that of the worst of them. */
lab_verdict lab_judge_claim(const lab_result *result);

/* Moves the headline to the front of the findings. */
void lab_put_headline_first(lab_result *result);

/* Returns the index of the finding that the claim names as the deciding one, or finding_count if there is none. */
size_t lab_deciding(const lab_result *result);

#endif
