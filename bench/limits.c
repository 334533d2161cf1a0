/* The machine's limits.
 *
 * A filter that is larger than the caches costs what its cache lines cost. So the floor under a look-up is a loop that does
 * nothing else: it turns a digest into the numbers of lines, fetches them ahead of use as well as the machine can, and
 * reads one word of each. Changing keys has the same floor with words written back.
 *
 *     digests   d[i] ......... d[i + ahead]        place of line j: high half of (high 32 bits of d * ODD[j]) * lines
 *                 |                 |
 *     block     read, write      prefetch
 *
 * The j-th line of a digest is chosen by its product with an odd constant of its own: the high bits of such products are as
 * good as independent for digests that are random, and one multiplication is cheaper than any filter's choice of places. */
#define _DEFAULT_SOURCE
#include "limits.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define LINE_BYTES 64
#define LINE_WORDS 8
#define MOST_LINES 64

/* Small blocks are read over and over until so much has been read. */
#define SEQUENCE_BYTES ((size_t)32 << 20)

block block_take(size_t bytes, bool huge) {
    block b = {.bytes = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES};
    b.map_bytes = (b.bytes + 2 * HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    b.map = mmap(NULL, b.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.map == MAP_FAILED)
        fail("no memory for a block of %zu bytes", bytes);
    uintptr_t start = ((uintptr_t)b.map + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint8_t *at = (uint8_t *)b.map + (start - (uintptr_t)b.map);
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    /* The last page is asked for whole: the map has room for it. A refusal shows in the figures only. */
    size_t asked = (b.bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    size_t room = b.map_bytes - (size_t)(at - (uint8_t *)b.map);
    (void)madvise(at, asked < room ? asked : room, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)huge;
#endif
    memset(at, 1, b.bytes);
    b.words = (uint64_t *)(void *)at;
    return b;
}

void block_give(block *b) {
    munmap(b->map, b->map_bytes);
}

/* Words that threads change side by side: relaxed, which costs nothing on any machine with 64-bit stores. */
typedef _Atomic uint64_t word;

typedef struct run {
    const walk *walk;
    const uint64_t *digests;
    word *words;
    uint64_t lines;
    uint64_t odd[MOST_LINES];
    _Atomic uint64_t sum;
} run;

static inline size_t place(uint64_t digest, uint64_t odd, uint64_t lines) {
    return (size_t)((((digest * odd) >> 32) * lines) >> 32) * LINE_WORDS;
}

#if defined(__GNUC__)
#define ALWAYS_INLINE __attribute__((always_inline)) inline
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define ALWAYS_INLINE inline
#define PREFETCH(address) ((void)(address))
#endif

/* The one body; `lines` and `writes` are constants where it is called for the common floors. */
static ALWAYS_INLINE uint64_t walk_body(const run *r, size_t from, size_t to, unsigned lines, unsigned writes) {
    /* Copies: what is stored through a word could change *r, as far as the compiler knows. */
    word *words = r->words;
    const uint64_t *digests = r->digests, in_block = r->lines;
    size_t ahead = r->walk->ahead;
    uint64_t odd[MOST_LINES], sum = 0;
    memcpy(odd, r->odd, lines * sizeof *odd);
    for (size_t i = from; i < to; i++) {
        if (i + ahead < to) {
            uint64_t coming = digests[i + ahead];
            for (unsigned j = 0; j < lines; j++)
                PREFETCH((const void *)(uintptr_t)&words[place(coming, odd[j], in_block)]);
        }
        uint64_t digest = digests[i];
        for (unsigned j = 0; j < lines; j++) {
            word *w = &words[place(digest, odd[j], in_block)];
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
    if (w->lines > MOST_LINES)
        fail("more than %d lines a digest", MOST_LINES);
    for (unsigned j = 0; j < w->lines; j++)
        r.odd[j] = mix(j + 1) | 1;
    double start = now(w->threads);
    run_parts(w->threads, n, walk_part, &r);
    return (now(w->threads) - start) / (double)n;
}

size_t limit_ahead(const walk *w, block *b, const uint64_t *digests, size_t n) {
    static const size_t choices[] = {8, 16, 32};
    size_t tried = n < 1000000 ? n : 1000000, best = choices[0];
    double least = 0;
    for (unsigned round = 0; round < 3; round++)
        for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
            walk one = *w;
            one.ahead = choices[c];
            double ns = limit_walk(&one, b, digests, tried);
            if (least == 0 || ns < least) {
                least = ns;
                best = choices[c];
            }
        }
    return best;
}

/* What is computed for the sake of its time goes here, so that no compiler leaves it out. */
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
        words[r % KEYS] += digests[r % KEYS]; /* no round is like the one before */
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
