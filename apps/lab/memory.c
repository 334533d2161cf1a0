/* memory.c: see memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lab_no_memory(const char *doing) {
    (void)fprintf(stderr, "kith lab: out of memory (%s)\n", doing);
    exit(2);
}

void *lab_more(void *block, size_t bytes) {
    void *more = realloc(block, bytes != 0 ? bytes : 1);
    if (more == NULL) {
        char doing[64];
        (void)snprintf(doing, sizeof doing, "could not allocate %zu bytes", bytes);
        lab_no_memory(doing);
    }
    return more;
}

char *lab_copy(const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(lab_more(NULL, bytes), text, bytes);
}
