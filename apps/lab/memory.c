/* memory.c: see memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *lab_more(void *block, size_t bytes) {
    void *more = realloc(block, bytes != 0 ? bytes : 1);
    if (more == NULL) {
        fprintf(stderr, "kith lab: out of memory (could not allocate %zu bytes)\n", bytes);
        exit(2);
    }
    return more;
}

char *lab_copy(const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(lab_more(NULL, bytes), text, bytes);
}
