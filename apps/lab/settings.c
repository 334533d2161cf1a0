/* settings.c: the parameters of claims, which `kith lab --set` changes; see claim.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "experiment.h"

const lab_setting *lab_setting_named(const lab_claim *claim, const char *name) {
    for (size_t i = 0; i < LAB_SETTINGS_MAX && claim->settings[i].name != NULL; i++)
        if (strcmp(claim->settings[i].name, name) == 0)
            return &claim->settings[i];
    return NULL;
}

/* Reads one number: "0.45", "1e6" or "1/6". Returns the end of it, or NULL if there is none. */
static const char *read_number(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    if (end == text)
        return NULL;
    if (*end == '/') {
        const char *below = end + 1;
        double divisor = strtod(below, &end);
        if (end == below || divisor == 0)
            return NULL;
        *number /= divisor;
    }
    return isfinite(*number) ? end : NULL;
}

size_t lab_setting_numbers(const char *value, double *numbers, size_t most) {
    size_t count = 0;
    for (const char *at = value; at != NULL && *at != '\0';) {
        double number;
        at = read_number(at, &number);
        if (at == NULL)
            return count;
        if (count < most)
            numbers[count] = number;
        count++;
        at += *at == ',';
    }
    return count;
}

static bool is_word_of(const char *words, const char *value) {
    size_t bytes = strlen(value);
    for (const char *at = words; bytes > 0 && strchr(value, ' ') == NULL && (at = strstr(at, value)) != NULL;
         at += bytes)
        if ((at == words || at[-1] == ' ') && (at[bytes] == ' ' || at[bytes] == '\0'))
            return true;
    return false;
}

static bool is_valid(const lab_setting *s, const char *value) {
    if (s->words != NULL)
        return is_word_of(s->words, value);
    size_t count = 0;
    for (const char *at = value;; at++, count++) {
        double number;
        at = read_number(at, &number);
        if (at == NULL || number < s->least || number > s->most || (s->is_whole && number != floor(number)))
            return false;
        if (*at == '\0')
            return count < (s->is_list ? LAB_NUMBERS_MAX : 1);
        if (*at != ',')
            return false;
    }
}

const char *lab_setting_check(const lab_setting *s, const char *value) {
    static _Thread_local char expected[256];
    if (is_valid(s, value))
        return NULL;
    if (s->words != NULL)
        (void)snprintf(expected, sizeof expected, "one of: %s", s->words);
    else if (s->is_list)
        (void)snprintf(expected, sizeof expected, "up to %d %s from %g to %g, separated by commas", LAB_NUMBERS_MAX,
                       s->is_whole ? "integers" : "numbers", s->least, s->most);
    else
        (void)snprintf(expected, sizeof expected, "%s from %.15g to %.15g", s->is_whole ? "an integer" : "a number",
                       s->least, s->most);
    return expected;
}

bool lab_setting_covers(const lab_setting *s, const char *value) {
    double numbers[LAB_NUMBERS_MAX];
    if (s->words != NULL)
        return true;
    size_t count = lab_setting_numbers(value, numbers, LAB_NUMBERS_MAX);
    for (size_t i = 0; i < count && i < LAB_NUMBERS_MAX; i++)
        if (numbers[i] < s->from || numbers[i] > s->to)
            return false;
    return true;
}
