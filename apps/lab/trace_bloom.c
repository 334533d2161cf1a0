/* trace_bloom.c: draws how the bits of a Bloom filter are set: a filter for twelve keys at 5%, and thirteen keys, the
 * last of which is refused.
 *
 * A row is the slice of one hash function. The bits are read from the filter one by one. A lookup of a key shows which
 * of them belong to it. At the end absent keys are looked up, and the bits of two of them are drawn. */
#include <stdio.h>
#include <string.h>

#include "trace_example.h"

enum { CAPACITY = 12, BITS_MAX = 512, ABSENT = 10000 };

static const char *const KEYS[CAPACITY + 1] = {"cuckoo", "robin", "wren",   "finch", "lark", "owl", "crow",
                                               "swift",  "tern",  "plover", "gull",  "kite", "rook"};

typedef struct bits {
    const kith_filter *filter;
    uint64_t count, rows;
    bool before[BITS_MAX], of_key[BITS_MAX];
} bits;

static void record_bit(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    bits *b = context;
    (void)holds;
    (void)wanted;
    if (cell < BITS_MAX)
        b->of_key[cell] = true;
}

/* Looks a key up and records its bits up to the first that is 0. */
static bool look_up(bits *b, const char *name) {
    memset(b->of_key, 0, sizeof b->of_key);
    return kith_filter_look(b->filter, kith_filter_digest(b->filter, name, strlen(name)), record_bit, b);
}

static char sign_of(const bits *b, uint64_t cell) {
    bool set = kith_filter_cell(b->filter, cell) != 0;
    if (!b->of_key[cell])
        return set ? 'o' : '.';
    return !set ? '0' : b->before[cell] ? '@' : '#';
}

static void draw(example *x, bits *b) {
    for (uint64_t row = 0; row < b->rows; row++) {
        char text[BITS_MAX + 1] = "";
        uint64_t width = b->count / b->rows;
        for (uint64_t i = 0; i < width; i++)
            text[i] = sign_of(b, row * width + i);
        print(x, "   h%llu   %s\n", (unsigned long long)row + 1, text);
    }
}

static void add(example *x, kith_filter *filter, bits *b, const char *name) {
    for (uint64_t i = 0; i < b->count; i++)
        b->before[i] = kith_filter_cell(filter, i) != 0;
    kith_status status = kith_filter_add(filter, name, strlen(name), NULL);
    if (status == KITH_E_FULL) {
        print(x, "add    %s is refused: with more than %d keys the rate would not be kept\n\n", name, CAPACITY);
        return;
    }
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    if (!check_status(x, status) || !check_status(x, kith_filter_stats_of(filter, &stats)) ||
        !check(x, look_up(b, name), "a key that was added is not found"))
        return;
    print(x, "add    %-8s %llu of %llu bits set, %.0f%%; false positive rate now %.2g%%\n", name,
          (unsigned long long)stats.cells_used, (unsigned long long)stats.cells, 100 * stats.load,
          100 * stats.rate_now);
    draw(x, b);
    print(x, "\n");
}

/* Finds the absent key with the lowest number for which the lookup returns `expected`, and draws its bits. */
static void draw_absent(example *x, bits *b, bool expected) {
    char name[16];
    unsigned number = 0;
    do {
        (void)snprintf(name, sizeof name, "bird %u", ++number);
    } while (look_up(b, name) != expected && check(x, number < ABSENT, "all lookups of absent keys return the same"));
    memset(b->before, 1, sizeof b->before);
    print(x,
          expected ? "has    %s: true, a false positive: other keys have set all of its bits\n"
                   : "has    %s: false, because a bit is 0; the bits after it are not read\n",
          name);
    draw(x, b);
    print(x, "\n");
}

static void look_up_absent(example *x, const kith_filter *filter) {
    unsigned found = 0;
    for (unsigned i = 0; i < ABSENT; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "bird %u", i + 1);
        found += kith_filter_has(filter, name, strlen(name));
    }
    print(x, "Of %d absent keys %u are reported as present: %.2g%%.\n", ABSENT, found, 100.0 * found / ABSENT);
}

void trace_bloom(example *x) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "bloom";
    spec.capacity = CAPACITY;
    spec.rate = 0.05;
    spec.hash.seed = x->seed;
    kith_filter *filter = NULL;
    kith_plan plan = KITH_PLAN_INIT;
    print_title(x, "A Bloom filter fills: 12 keys, a rate of 5%");
    print(x, ". is 0, o is 1. Bits of the current key: # newly set, @ set before, 0 not set\n\n");
    if (check_status(x, kith_filter_create(&spec, &filter)) && check_status(x, kith_filter_plan_of(filter, &plan)) &&
        check(x, plan.cells <= BITS_MAX, "the filter is too large to be drawn")) {
        bits b = {.filter = filter, .count = plan.cells, .rows = plan.hashes};
        for (unsigned i = 0; i <= CAPACITY && x->wrong == NULL; i++)
            add(x, filter, &b, KEYS[i]);
        if (x->wrong == NULL)
            draw_absent(x, &b, false);
        if (x->wrong == NULL)
            draw_absent(x, &b, true);
        if (x->wrong == NULL)
            look_up_absent(x, filter);
    }
    kith_filter_free(filter);
}
