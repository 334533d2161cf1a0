/* core/random.h: random bytes of the operating system, for secret keys and for names that nobody can guess. */
#ifndef KITHI_CORE_RANDOM_H
#define KITHI_CORE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/* Fills `bytes` with random bytes. `byte_count` is at most 256; the system provides that many all at once. Returns
 * false and sets errno if there are none. */
bool kithi_random(void *bytes, size_t byte_count);

#endif
