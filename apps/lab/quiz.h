/* quiz.h: questions about the documents whose answers are measured, for `kith lab --quiz` and for tests.
 *
 * The answer of a question is not stored: it is what one finding of a claim measures in a quick run. */
#ifndef LAB_QUIZ_H
#define LAB_QUIZ_H

#include "result.h"

enum { LAB_CHOICES = 3 };

typedef struct lab_question {
    unsigned document; /* [0] to [4] */
    const char *claim, *finding, *text;
    double tolerance; /* of an answer that is a number, relative to the measured one */
    const char
        *choices[LAB_CHOICES]; /* a, b and c, from the smallest measured number on; NULL: a number is asked for */
    double b_from, c_from;     /* b is right from this measured number on, and c from this one on */
} lab_question;

enum { LAB_QUESTION_COUNT = 20 };
extern const lab_question LAB_QUESTIONS[LAB_QUESTION_COUNT];

/* Returns the finding that answers the question, in the result of its claim; NULL if the claim has not recorded it. */
const lab_finding *lab_quiz_finding(const lab_question *question, const lab_result *result);

/* The right choice, 'a' to 'c', for a measured number. */
char lab_quiz_choice(const lab_question *question, double measured);

/* True if the answer is right: a letter, such as c, C, c) or (c), or a number, such as 0.01, 1% or 1 %. Blanks around
 * it do not matter. */
bool lab_quiz_is_right(const lab_question *question, const char *answer, double measured);

#endif
