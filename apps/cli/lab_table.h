/* lab_table.h: results of the lab as a table on stdout.
 *
 *     claim  sentence                                   predicted     measured                  verdict
 *     B2     A key that is not in is answered yes with  0.1469        0.1468 +- 0.0005          holds
 *            probability (1 − e^(−kn/m))^k.
 *            (m/n = 4.00, k = 3)
 *
 * A claim has one row, with the finding that decided and, in brackets, what that is. On a narrow terminal its parts stand
 * below each other. */
#ifndef CLI_LAB_TABLE_H
#define CLI_LAB_TABLE_H

#include <lab/lab.h>

/* With `all`, every finding of every claim; else only those of claims that fail. Where a document is wrong or loose, the note
 * says what is true. */
void put_lab_table(const lab_result *results, size_t count, bool all);

/* How many hold, how many do not; and the seed. */
void put_lab_summary(const lab_result *results, size_t count, uint64_t seed);

/* The claims with their sentences. */
void put_lab_list(const lab_claim *const *claims, size_t count);

#endif
