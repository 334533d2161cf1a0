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

void kithi_sort_large(uint64_t *numbers, size_t n, uint64_t *scratch) {
    size_t next[8][256] = {{0}};
    for (size_t i = 0; i < n; i++)
        for (unsigned byte = 0; byte < 8; byte++)
            next[byte][numbers[i] >> (8 * byte) & 0xff]++;
    for (unsigned byte = 0; byte < 8; byte++) {
        size_t before = 0;
        for (unsigned value = 0; value < 256; value++) {
            size_t count = next[byte][value];
            next[byte][value] = before;
            before += count;
        }
    }
    for (unsigned byte = 0; byte < 8; byte++) { /* an even number of passes ends in `numbers` */
        uint64_t *from = byte % 2 == 0 ? numbers : scratch, *to = byte % 2 == 0 ? scratch : numbers;
        for (size_t i = 0; i < n; i++)
            to[next[byte][from[i] >> (8 * byte) & 0xff]++] = from[i];
    }
}
