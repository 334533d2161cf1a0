/* text.h: a growing string, and functions that append text, escaped HTML and numbers to it. If memory runs out, the
 * process ends (see memory.h). */
#ifndef LAB_REPORT_TEXT_H
#define LAB_REPORT_TEXT_H

#include <stddef.h>

typedef struct lab_text {
    char *bytes; /* NUL-terminated once something has been appended; initialise with {0}, release with free() */
    size_t used, capacity;
} lab_text;

void text_bytes(lab_text *t, const char *bytes, size_t count);
void text_put(lab_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append text escaped for HTML, both for element content and for attributes in double quotes. Control characters that
 * are not allowed in HTML are left out. */
void text_escaped(lab_text *t, const char *plain);
void text_escaped_bytes(lab_text *t, const char *plain, size_t count);

/* Append a number for people, with a real minus sign: 0.147, 20 000, −3, 1.4·10⁻¹⁵.
 *
 * text_number rounds to `digits` significant digits and drops trailing zeros. Integers below ten million are written in
 * full. text_digits keeps trailing zeros, as is usual for measured values: 0.1470, 1001.0. With digits 0 both round to
 * TEXT_DIGITS digits and drop trailing zeros. */
void text_number(lab_text *t, double value, int digits);
void text_digits(lab_text *t, double value, int digits);
enum { TEXT_DIGITS = 4 }; /* significant digits where no other number is asked for */

/* Appends a power of ten: 10⁻⁵; 10⁰ and 10¹ are written as 1 and 10. */
void text_power(lab_text *t, int exponent);

/* Returns how many significant digits of a measured value to show: up to one digit beyond the first uncertain one,
 * but from 4 to 12. Returns 0 if all three numbers are integers. */
int text_digits_of(double value, double low, double high);

#endif
