/* Two passes: count, then scatter. A digest goes to a line of its part in a buffer; a line that is full is written to
 * `out` as a whole, past the caches (software write-combining: Satish et al., "Fast Sort on CPUs and GPUs", 2010). So
 * thousands of parts can be written to at once: what is at hand is a line of each, 256 KiB for 4,096 of them.
 *
 *     out     |      part 0      |          part 1           |  …
 *             | thread 0 | th. 1 |  thread 0   |  thread 1   |          each thread has a stretch of the input
 *
 * Lines are counted from the beginning of `out`. The first and last line of a stretch may be shared with others: of
 * those only what belongs to the stretch is written. */
#include "core/partition.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/parallel.h"

#define LINE 8 /* digests */

/* What a thread knows of a part. */
typedef struct stretch {
    size_t first; /* where its digests begin in out */
    size_t next;
} stretch;

typedef struct work {
    const uint64_t *digests;
    size_t n;
    kithi_cut cut;
    unsigned threads;
    uint64_t *out;
    stretch *stretches; /* threads * parts */
    uint64_t *lines;    /* threads * parts * LINE */
} work;

static void chunk_of(const work *w, unsigned thread, size_t *from, size_t *to) {
    size_t each = w->n / w->threads;
    *from = thread * each;
    *to = thread + 1 == w->threads ? w->n : *from + each;
}

static void count(void *context, unsigned thread) {
    const work *w = context;
    stretch *mine = w->stretches + (size_t)thread * w->cut.parts;
    const uint64_t *digests = w->digests;
    kithi_cut cut = w->cut;
    size_t from, to;
    chunk_of(w, thread, &from, &to);
    for (size_t i = from; i < to; i++)
        mine[kithi_part_of(cut, digests[i])].next++;
}

/* From numbers to places. */
static void lay_out(const work *w, size_t *starts) {
    size_t at = 0;
    for (unsigned p = 0; p < w->cut.parts; p++) {
        starts[p] = at;
        for (unsigned t = 0; t < w->threads; t++) {
            stretch *s = &w->stretches[(size_t)t * w->cut.parts + p];
            size_t number = s->next;
            s->first = s->next = at;
            at += number;
        }
    }
    starts[w->cut.parts] = at;
}

static inline void write_line(uint64_t *to, const uint64_t *line) {
#ifdef __SSE2__
    for (unsigned i = 0; i < LINE; i += 2)
        _mm_stream_si128((__m128i *)(void *)(to + i), _mm_load_si128((const __m128i *)(const void *)(line + i)));
#else
    memcpy(to, line, LINE * sizeof *to);
#endif
}

/* The digests of the line in which `end` lies, or which it ends, that are this stretch's. */
static void write_rest(uint64_t *out, const stretch *s, const uint64_t *line, size_t end) {
    size_t from = (end - 1) / LINE * LINE;
    if (from < s->first)
        from = s->first;
    memcpy(out + from, line + from % LINE, (end - from) * sizeof *out);
}

static void scatter(void *context, unsigned thread) {
    const work *w = context;
    stretch *mine = w->stretches + (size_t)thread * w->cut.parts;
    uint64_t *lines = w->lines + (size_t)thread * w->cut.parts * LINE, *out = w->out;
    const uint64_t *digests = w->digests;
    kithi_cut cut = w->cut;
    size_t from, to;
    chunk_of(w, thread, &from, &to);
    for (size_t i = from; i < to; i++) {
        unsigned p = kithi_part_of(cut, digests[i]);
        size_t at = mine[p].next++;
        uint64_t *line = lines + (size_t)p * LINE;
        line[at % LINE] = digests[i];
        if (__builtin_expect(at % LINE != LINE - 1, 1))
            continue;
        if (at + 1 - LINE >= mine[p].first)
            write_line(out + at + 1 - LINE, line);
        else
            write_rest(out, &mine[p], line, at + 1);
    }
    for (unsigned p = 0; p < cut.parts; p++)
        if (mine[p].next % LINE != 0 && mine[p].next != mine[p].first)
            write_rest(out, &mine[p], lines + (size_t)p * LINE, mine[p].next);
#ifdef __SSE2__
    _mm_sfence();
#endif
}

bool kithi_partition(const kith_allocator *allocator, const uint64_t *digests, size_t n, kithi_cut cut,
                     unsigned threads, uint64_t *out, size_t *starts) {
    size_t cells = (size_t)threads * cut.parts;
    work w = {
        .digests = digests,
        .n = n,
        .cut = cut,
        .threads = threads,
        .out = out,
        .stretches = kithi_allocate(allocator, cells * sizeof(stretch)),
        .lines = kithi_allocate(allocator, cells * LINE * sizeof(uint64_t)),
    };
    bool fits = w.stretches != NULL && w.lines != NULL;
    if (fits) {
        kithi_parallel(threads, count, &w);
        lay_out(&w, starts);
        kithi_parallel(threads, scatter, &w);
    }
    kithi_release(allocator, w.stretches, cells * sizeof(stretch));
    kithi_release(allocator, w.lines, cells * LINE * sizeof(uint64_t));
    return fits;
}
