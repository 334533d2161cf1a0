/* sets.h: reads the parameters of claims that --set gives, and prints the help of a claim. */
#ifndef LAB_FRONT_SETS_H
#define LAB_FRONT_SETS_H

#include <lab/lab.h>

#include "cli/options.h"

typedef struct lab_sets {
    lab_assignment *list;
    size_t count;
    char *words; /* the text that the list points into */
} lab_sets;

/* Reads the values of --set. Ends the tool with an error if one of the claims does not have the parameter, or does not
 * accept the value. */
lab_sets lab_sets_of(const arguments *a, const lab_claim *const *claims, size_t count);
void lab_sets_free(lab_sets *sets);

/* Prints what `kith lab CLAIM --help` prints: the sentence, the note and the parameters of each claim. */
void put_lab_claim_help(const lab_claim *const *claims, size_t count);

#endif
