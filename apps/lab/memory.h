/* memory.h: memory allocation for the lab. If memory runs out, the process prints an error and exits with status 2. */
#ifndef LAB_MEMORY_H
#define LAB_MEMORY_H

#include <stddef.h>
#include <stdnoreturn.h>

/* Ends the tool with an error: memory was missing for this. */
noreturn void lab_no_memory(const char *doing);

void *lab_more(void *block, size_t bytes); /* realloc() that never returns NULL */
char *lab_copy(const char *text);          /* strdup() that never returns NULL */

#endif
