/* table.h: prints the results of the lab as a table on stdout.
 *
 *     claim  sentence                                   predicted     measured                  verdict
 *     B2     A lookup of an absent key returns true     0.1469        0.1468 +- 0.0005          holds
 *            with probability (1 − e^(−kn/m))^k.
 *            (m/n = 4, k = 3)
 *
 * Each claim has one row. It shows the finding that decided the verdict, described in brackets. On a narrow terminal
 * the columns are printed one below the other. */
#ifndef CLI_LAB_TABLE_H
#define CLI_LAB_TABLE_H

#include <lab/lab.h>

/* Which findings of a claim are printed below its headline. All are for a claim that fails. */
typedef enum lab_rows {
    LAB_NO_ROWS,
    LAB_SOME_ROWS, /* about five: first those that do not hold, then others at equal distances */
    LAB_ALL_ROWS,
} lab_rows;

/* Prints the table. The words of a document that findings test are printed once, above the first of them. If they are
 * refuted, they are quoted in place of the sentence, and the note of the claim follows, which says what is true. */
void put_lab_table(const lab_result *results, size_t count, lab_rows rows);

/* Prints how many claims have each verdict, and the seed. */
void put_lab_summary(const lab_result *results, size_t count, uint64_t seed);

/* Prints which documents [0] to [4] are, one per line. */
void put_lab_sources(void);

/* Print a paragraph, and a name with a paragraph next to it, wrapped at the width of the terminal. */
void put_lab_text(const char *text);
void put_lab_entry(const char *name, const char *text);

/* Prints the id, title and sentence of each claim. */
void put_lab_list(const lab_claim *const *claims, size_t count);

#endif
