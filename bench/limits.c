/* limits.c: the machine's limits, which filters are compared with.
 *
 * If a filter is larger than the caches, the cost of an operation is the cost of its cache lines. So the lower limit
 * for a lookup is a loop that does nothing else: it computes line numbers from a digest, prefetches the lines at the
 * best distance for this machine, and reads one word of each. The limit for operations that change the filter also
 * writes the words back.
 *
 *     digests   d[i] ..... d[i + distance]         number of line j: high half of (high 32 bits of d * ODD[j]) * lines
 *                 |               |
 *     block     read, write    prefetch
 *
 * The j-th line of a digest is chosen by multiplying the digest by the j-th odd constant. For random digests the high
 * bits of these products are practically independent, and one multiplication costs less than what any filter
 * computes. */
#define _DEFAULT_SOURCE
#include "limits.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "splitmix.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define LINE_BYTES 64
#define LINE_WORDS 8
#define MAX_LINES 64

/* Small blocks are read repeatedly until at least this many bytes have been read. */
#define SEQUENCE_BYTES ((size_t)32 << 20)

block block_map(size_t bytes, bool huge) {
    block b = {.bytes = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES};
    b.map_bytes = (b.bytes + 2 * HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    b.map = mmap(NULL, b.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.map == MAP_FAILED)
        fail("out of memory: cannot map %zu bytes", bytes);
    uintptr_t start = ((uintptr_t)b.map + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint8_t *at = (uint8_t *)b.map + (start - (uintptr_t)b.map);
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    /* Rounded up, so that the last page can be huge as well; the mapping is large enough. If madvise fails, only the
     * figures change. */
    size_t advised = (b.bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    size_t mapped = b.map_bytes - (size_t)(at - (uint8_t *)b.map);
    (void)madvise(at, advised < mapped ? advised : mapped, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)huge;
#endif
    memset(at, 1, b.bytes);
    b.words = (uint64_t *)(void *)at;
    return b;
}

void block_unmap(block *b) {
    munmap(b->map, b->map_bytes);
}

/* Words that several threads change. Accesses are relaxed, which costs nothing on any machine with 64-bit stores. */
typedef _Atomic uint64_t word;

typedef struct run {
    const walk *walk;
    const uint64_t *digests;
    word *words;
    uint64_t lines;
    uint64_t odd[MAX_LINES];
    _Atomic uint64_t sum;
} run;

static inline size_t line_of(uint64_t digest, uint64_t odd, uint64_t lines) {
    return (size_t)((((digest * odd) >> 32) * lines) >> 32) * LINE_WORDS;
}

#if defined(__GNUC__)
#define ALWAYS_INLINE __attribute__((always_inline)) inline
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define ALWAYS_INLINE inline
#define PREFETCH(address) ((void)(address))
#endif

/* The body of all loops. `lines` and `writes` are constants in the calls for the common limits. */
static ALWAYS_INLINE uint64_t walk_body(const run *r, size_t from, size_t to, unsigned lines, unsigned writes) {
    /* Local copies, because the compiler has to assume that a store to a word may change *r. */
    word *words = r->words;
    const uint64_t *digests = r->digests, in_block = r->lines;
    size_t distance = r->walk->prefetch_distance;
    uint64_t odd[MAX_LINES], sum = 0;
    memcpy(odd, r->odd, lines * sizeof *odd);
    for (size_t i = from; i < to; i++) {
        if (i + distance < to) {
            uint64_t next = digests[i + distance];
            for (unsigned j = 0; j < lines; j++)
                PREFETCH((const void *)(uintptr_t)&words[line_of(next, odd[j], in_block)]);
        }
        uint64_t digest = digests[i];
        for (unsigned j = 0; j < lines; j++) {
            word *w = &words[line_of(digest, odd[j], in_block)];
            uint64_t value = atomic_load_explicit(w, memory_order_relaxed);
            if (j < writes)
                atomic_store_explicit(w, value ^ digest, memory_order_relaxed);
            sum += value;
        }
    }
    return sum;
}

static void walk_part(void *context, size_t from, size_t to) {
    run *r = context;
    unsigned lines = r->walk->lines, writes = r->walk->writes;
    uint64_t sum;
    if (lines == 1 && writes == 0)
        sum = walk_body(r, from, to, 1, 0);
    else if (lines == 1)
        sum = walk_body(r, from, to, 1, 1);
    else if (lines == 2 && writes == 0)
        sum = walk_body(r, from, to, 2, 0);
    else if (lines == 2 && writes == 1)
        sum = walk_body(r, from, to, 2, 1);
    else
        sum = walk_body(r, from, to, lines, writes);
    atomic_fetch_add_explicit(&r->sum, sum, memory_order_relaxed);
}

double limit_walk(const walk *w, block *b, const uint64_t *digests, size_t n) {
    run r = {.walk = w, .digests = digests, .words = (word *)b->words, .lines = b->bytes / LINE_BYTES};
    if (w->lines > MAX_LINES)
        fail("more than %d lines per digest", MAX_LINES);
    for (unsigned j = 0; j < w->lines; j++)
        r.odd[j] = splitmix_mix(j + 1) | 1;
    double start = now(w->threads);
    run_parts(w->threads, n, walk_part, &r);
    return (now(w->threads) - start) / (double)n;
}

size_t limit_best_distance(const walk *w, block *b, const uint64_t *digests, size_t n) {
    static const size_t choices[] = {8, 16, 32};
    size_t tried = n < 1000000 ? n : 1000000, best = choices[0];
    double fastest = 0;
    for (unsigned round = 0; round < 3; round++)
        for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
            walk one = *w;
            one.prefetch_distance = choices[c];
            double ns = limit_walk(&one, b, digests, tried);
            if (fastest == 0 || ns < fastest) {
                fastest = ns;
                best = choices[c];
            }
        }
    return best;
}

/* Results that are only computed to be timed are stored here, so that the compiler does not remove the computation. */
static volatile uint64_t sink;

double limit_sequence(const block *b) {
    size_t words = b->bytes / 8, passes = SEQUENCE_BYTES / b->bytes + 1;
    uint64_t sum = 0;
    double start = now(1);
    for (size_t p = 0; p < passes; p++) {
        const uint64_t *w = b->words;
        for (size_t i = 0; i < words; i++)
            sum += w[i];
        sink = sum;
    }
    return (now(1) - start) / (double)passes / (double)(b->bytes / LINE_BYTES);
}

const hashing HASHINGS[] = {
    {"digest of 16 bytes", KITH_HASH_XXH3, false},
    {"digest_many of 16 bytes", KITH_HASH_XXH3, true},
    {"siphash of 16 bytes", KITH_HASH_SIPHASH, false},
    {"siphash_many of 16 bytes", KITH_HASH_SIPHASH, true},
};
const size_t HASHING_COUNT = sizeof HASHINGS / sizeof *HASHINGS;

double limit_digest(const hashing *h, size_t n) {
    enum { KEYS = 1024, WORDS = 2 };
    kith_hash hash = {.id = h->hash};
    static uint64_t words[KEYS * WORDS], digests[KEYS];
    static kith_key some[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        words[i * WORDS] = i;
        words[i * WORDS + 1] = ~i;
        some[i] = (kith_key){&words[i * WORDS], WORDS * sizeof *words};
    }
    uint64_t sum = 0;
    size_t rounds = n / KEYS + 1;
    double start = now(1);
    for (size_t r = 0; r < rounds; r++) {
        if (h->many)
            kith_digest_many(&hash, some, KEYS, digests);
        else
            for (size_t i = 0; i < KEYS; i++)
                digests[i] = kith_digest(&hash, some[i].bytes, some[i].byte_count);
        words[r % KEYS] += digests[r % KEYS]; /* the keys change, so that no round can be optimised away */
        sum += digests[0];
    }
    sink = sum;
    return (now(1) - start) / (double)(rounds * KEYS);
}

uint64_t memory_available(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL)
        return 0;
    char text[256];
    unsigned long long kilobytes = 0;
    while (fgets(text, sizeof text, file) != NULL)
        if (sscanf(text, "MemAvailable: %llu kB", &kilobytes) == 1)
            break;
    fclose(file);
    return (uint64_t)kilobytes * 1024;
}
