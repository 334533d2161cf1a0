/* text.h: text that grows, and the ways in which a report writes into it. Where memory ends, the tool does. */
#ifndef LAB_REPORT_TEXT_H
#define LAB_REPORT_TEXT_H

#include <stddef.h>

typedef struct lab_text {
    char *bytes; /* ends with a NUL when something was put; begin with {0}, end with free() */
    size_t used, room;
} lab_text;

void text_bytes(lab_text *t, const char *bytes, size_t count);
void text_put(lab_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Escaped for HTML: elements and attributes in double quotes alike. Bytes that HTML has no sign for are left out. */
void text_escaped(lab_text *t, const char *plain);
void text_escaped_bytes(lab_text *t, const char *plain, size_t count);

/* A number for people, with a true minus: 0.147, 20 000, −3, 1.4·10⁻¹⁵. Whole numbers below ten million are whole.
 * text_digits has just so many digits, zeroes at the end included, as measured numbers have them: 0.1470, 1001.0. Digits 0:
 * as many as are of use, and no zeroes. */
void text_number(lab_text *t, double value, int digits);
void text_digits(lab_text *t, double value, int digits);
enum { TEXT_DIGITS = 4 }; /* enough where nothing asks for more */

/* 10⁻⁵; 1 and 10 as they are. */
void text_power(lab_text *t, int exponent);

/* The digits of a value that its interval leaves meaning to: two more than the first that is uncertain, 4 … 12; 0 for three
 * whole numbers. */
int text_digits_of(double value, double low, double high);

#endif
