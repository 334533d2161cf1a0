/* claim.h: a claim is a statement of the theory that an experiment can test.
 *
 * Each claim has its own file in the folder of its group (bloom/b2.c) and one line in claims.def. The file contains
 * the texts of the claim and a function that runs the experiment. The function measures the library's own structures
 * and records its findings through experiment.h. It neither computes the verdict nor prints anything; lab.c and
 * report/ do. */
#ifndef LAB_CLAIM_H
#define LAB_CLAIM_H

#include <stddef.h>

struct lab;

typedef struct lab_claim {
    const char *id;       /* "B2" */
    const char *title;    /* a short phrase: "rate of a full Bloom filter" */
    const char *sentence; /* the claim itself, in one or two sentences */
    const char *formula; /* in the notation of report/formula.h: "ε = (1 − e^{−kn/m})^{k}"; NULL if there is none */
    const char *code;    /* the source file that implements it: "src/filters/bloom.c" */
    const char *note;    /* where the documents are wrong or imprecise, and what is true; NULL if they are right */
    void (*run)(struct lab *l);
} lab_claim;

/* All claims, in the order of claims.def. */
extern const lab_claim *const LAB_CLAIMS[];
extern const size_t LAB_CLAIM_COUNT;

/* Finds a claim by its id; case does not matter. Returns NULL if there is no such claim. */
const lab_claim *lab_claim_named(const char *id);

#endif
