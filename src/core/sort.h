/* core/sort.h: sorts 64-bit numbers in place. */
#ifndef KITHI_CORE_SORT_H
#define KITHI_CORE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Heapsort: allocates nothing (qsort() may), and takes n log n steps for any input. Use it where speed does not matter:
 * a radix sort of a large array is several times as fast. */
void kithi_sort(uint64_t *numbers, size_t n);

/* Radix sort, for large arrays: eight passes for any input. `scratch` is another array of n numbers. */
void kithi_sort_large(uint64_t *numbers, size_t n, uint64_t *scratch);

#endif
