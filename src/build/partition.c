/* Sorts digests by part in two passes: count, then scatter. Each thread has a range of the input, and in each part a
 * range of the output:
 *
 *     out     |      part 0      |          part 1           |  …
 *             | thread 0 | th. 1 |  thread 0   |  thread 1   |
 *
 * Each digest is written directly to its position. With huge pages a core writes to 512 parts as fast as to one: 3.6 ns
 * per digest for both passes. Another method was slower: collecting a cache line for each part before it is written
 * (software write-combining) took 5 to 6 ns, and 11 ns with non-temporal stores. With more than 1,000 parts, cache
 * lines would be evicted before they are full, so there are at most KITHI_PARTS_MAX. */
#include "build/partition.h"

#include "core/parallel.h"

typedef struct work {
    const uint64_t *digests;
    size_t n;
    kithi_part_map parts;
    unsigned threads;
    uint64_t *out;
    /* By thread and part: in the first pass the number of the thread's digests in the part, in the second pass the
     * position in `out` of the next one. */
    size_t *next;
} work;

static void input_range(const work *w, unsigned thread, size_t *from, size_t *to) {
    size_t each = w->n / w->threads;
    *from = thread * each;
    *to = thread + 1 == w->threads ? w->n : *from + each;
}

static void count(void *context, unsigned thread) {
    const work *w = context;
    const uint64_t *digests = w->digests;
    kithi_part_map parts = w->parts;
    size_t *next = w->next + (size_t)thread * parts.count, from, to;
    input_range(w, thread, &from, &to);
    for (size_t i = from; i < to; i++)
        next[kithi_part_of(parts, digests[i])]++;
}

/* Replaces the numbers of digests in w->next by the positions where these digests start in `out`. */
static void counts_to_positions(const work *w, size_t *starts) {
    size_t at = 0;
    for (unsigned p = 0; p < w->parts.count; p++) {
        starts[p] = at;
        for (unsigned t = 0; t < w->threads; t++) {
            size_t *next = &w->next[(size_t)t * w->parts.count + p], number = *next;
            *next = at;
            at += number;
        }
    }
    starts[w->parts.count] = at;
}

static void scatter(void *context, unsigned thread) {
    const work *w = context;
    const uint64_t *digests = w->digests;
    uint64_t *out = w->out;
    kithi_part_map parts = w->parts;
    size_t *next = w->next + (size_t)thread * parts.count, from, to;
    input_range(w, thread, &from, &to);
    for (size_t i = from; i < to; i++)
        out[next[kithi_part_of(parts, digests[i])]++] = digests[i];
}

bool kithi_partition(const kith_allocator *allocator, const uint64_t *digests, size_t n, kithi_part_map parts,
                     unsigned threads, uint64_t *out, size_t *starts) {
    uint64_t next_bytes = (uint64_t)threads * parts.count * sizeof(size_t);
    work w = {digests, n, parts, threads, out, kithi_allocate(allocator, next_bytes)};
    if (w.next == NULL)
        return false;
    kithi_parallel(threads, count, &w);
    counts_to_positions(&w, starts);
    kithi_parallel(threads, scatter, &w);
    kithi_release(allocator, w.next, next_bytes);
    return true;
}
