#include "core/sort.h"

/* In a heap of n numbers, heap[i] is at least heap[2i + 1] and at least heap[2i + 2]. Restores this order by moving
 * heap[at] down: it must hold for the numbers below heap[at]. */
static void sift_down(uint64_t *heap, size_t at, size_t n) {
    uint64_t number = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= number)
            break;
        heap[at] = heap[child];
    }
    heap[at] = number;
}

void kithi_sort(uint64_t *numbers, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift_down(numbers, i, n);
    for (size_t end = n; end-- > 1;) {
        uint64_t largest = numbers[0];
        numbers[0] = numbers[end];
        numbers[end] = largest;
        sift_down(numbers, 0, end);
    }
}
