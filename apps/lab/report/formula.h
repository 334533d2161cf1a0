/* formula.h: converts the formulas of claims to HTML.
 *
 *     ε = (1 − e^{−kn/m})^{k}        ^{…} superscript, _{…} subscript
 *     \frac{ln n}{ln ln n}           a fraction
 *     \sqrt{2πn}                     a square root
 *
 * These may be nested. Everything else is copied as text. Variables, which are one letter or two adjacent letters,
 * are set in italics. Anything malformed, such as an unclosed brace or an unknown command, is copied as text too. */
#ifndef LAB_REPORT_FORMULA_H
#define LAB_REPORT_FORMULA_H

/* Returns the formula as escaped HTML. The caller frees it. */
char *lab_formula_html(const char *formula);

#endif
