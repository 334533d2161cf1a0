/* claim.h: a sentence of the theory that can be measured.
 *
 * A claim is one file of its family (bloom/b2.c), which holds its words and one function, and one line in claims.def. The
 * function measures on the library's own structures and tells what it found by experiment.h; what becomes of that, the
 * verdict, the table and the drawings, is no concern of it. */
#ifndef LAB_CLAIM_H
#define LAB_CLAIM_H

#include <stddef.h>

struct lab;

typedef struct lab_claim {
    const char *id;       /* "B2" */
    const char *title;    /* a phrase: "rate of a full Bloom filter" */
    const char *sentence; /* what is claimed, in a sentence or two */
    const char *formula;  /* as report/formula.h reads it: "ε = (1 − e^{−kn/m})^{k}"; NULL: there is none */
    const char *code;     /* the file that embodies it: "src/filters/bloom.c" */
    const char *note; /* where the documents that it comes from are wrong or loose, and what is true; NULL: nowhere */
    void (*run)(struct lab *l);
} lab_claim;

/* All of them, in the order of claims.def. */
extern const lab_claim *const LAB_CLAIMS[];
extern const size_t LAB_CLAIM_COUNT;

/* NULL: there is none. Capitals do not matter. */
const lab_claim *lab_claim_named(const char *id);

#endif
