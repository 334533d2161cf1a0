/* formula.h: formulas as claims write them, in HTML.
 *
 *     ε = (1 − e^{−kn/m})^{k}        ^{…} and _{…} raise and lower
 *     \frac{ln n}{ln ln n}           one over the other
 *     \sqrt{2πn}                     a root
 *
 * Parts may stand in each other. All else is text as it is; letters that stand for quantities, alone or two side by side,
 * are slanted. What is not written as above (a brace that is never closed, a word that is not known) is text, too. */
#ifndef LAB_REPORT_FORMULA_H
#define LAB_REPORT_FORMULA_H

/* Escaped for HTML; for the caller to free. */
char *lab_formula_html(const char *formula);

#endif
