/* bloom.c: draws how the bits of a Bloom filter are set: the filter of figure 1 of [2], one array for all hashes,
 * and a filter of the library for twelve keys at 5%, and thirteen keys, the last of which is refused.
 *
 * A row is the slice of one hash function. The bits are read from the filter one by one. A lookup of a key shows which
 * of them belong to it. At the end absent keys are looked up, and the bits of two of them are drawn. */
#include <stdio.h>
#include <string.h>

#include "example.h"

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
        print(x, "add    %s is refused: with more keys the rate would not be kept\n\n", name);
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
    print(x, "Of %d absent keys %u are reported as present: %.2g%%.\n\n", ABSENT, found, 100.0 * found / ABSENT);
}

void trace_bloom(example *x) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "bloom";
    spec.capacity = CAPACITY;
    spec.rate = 0.05;
    spec.hash.seed = x->seed;
    kith_filter *filter = NULL;
    kith_plan plan = KITH_PLAN_INIT;
    unsigned count = x->key_count > 0 ? x->key_count : CAPACITY + 1;
    if (x->key_count > 0)
        spec.capacity = x->key_count;
    print_title(x, x->key_count > 0 ? "A Bloom filter fills: your keys, a rate of 5%"
                                    : "A Bloom filter fills: 12 keys, a rate of 5%");
    print(x, ". is 0, o is 1. Bits of the current key: # newly set, @ set before, 0 not set\n\n");
    if (check_status(x, kith_filter_create(&spec, &filter)) && check_status(x, kith_filter_plan_of(filter, &plan)) &&
        check(x, plan.cells <= BITS_MAX, "the filter is too large to be drawn")) {
        bits b = {.filter = filter, .count = plan.cells, .rows = plan.hashes};
        for (unsigned i = 0; i < count && x->wrong == NULL; i++)
            add(x, filter, &b, x->key_count > 0 ? x->keys[i] : KEYS[i]);
        if (x->wrong == NULL)
            draw_absent(x, &b, false);
        if (x->wrong == NULL)
            draw_absent(x, &b, true);
        if (x->wrong == NULL)
            look_up_absent(x, filter);
    }
    kith_filter_free(filter);
}

/* ---- the filter of [2] ---- */

enum { WHOLE_HASHES = 3, WHOLE_BITS_MAX = 64 };

/* Reads the bits of an element: adds it to an empty filter with the same hashes, where a lookup reads all of them.
 * Returns how many different ones there are. */
static uint64_t bits_of(example *x, const kith_filter *like, const char *element, uint64_t *mask) {
    kith_filter *alone = NULL;
    *mask = 0;
    if (!check_status(x, kith_filter_create_like(like, NULL, &alone)))
        return 0;
    bits b = {.filter = alone};
    uint64_t count = 0;
    if (check_status(x, kith_filter_add(alone, element, strlen(element), NULL)) &&
        check(x, look_up(&b, element), "a key that was added is not found"))
        for (uint64_t i = 0; i < WHOLE_BITS_MAX; i++) {
            *mask |= b.of_key[i] ? UINT64_C(1) << i : 0;
            count += b.of_key[i];
        }
    kith_filter_free(alone);
    return count;
}

static void draw_whole(example *x, const kith_filter *f, uint64_t cells, uint64_t one, uint64_t two) {
    char text[WHOLE_BITS_MAX + 1] = "";
    for (uint64_t i = 0; i < cells; i++) {
        bool of_one = (one >> i & 1) != 0, of_two = (two >> i & 1) != 0;
        text[i] = of_one && of_two ? '@' : of_one ? 'x' : of_two ? 'y' : '.';
        (void)check(x, (kith_filter_cell(f, i) != 0) == (of_one || of_two), "a bit is set that belongs to no element");
    }
    print(x, "   bits %s\n", text);
}

/* Creates the filter. Returns NULL, and has recorded why, if that failed. */
static kith_filter *create_whole(example *x, kith_plan *plan) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *f = NULL;
    spec.kind = "bloom";
    spec.options = "layout=whole k=3";
    spec.capacity = 6;
    spec.rate = 0.3;
    spec.hash.seed = x->seed;
    if (check_status(x, kith_filter_create(&spec, &f)) && check_status(x, kith_filter_plan_of(f, plan)))
        (void)check(x, plan->cells <= WHOLE_BITS_MAX, "the filter is too large to be drawn");
    return f;
}

/* Finds the first of x1, x2, … (or y1, y2, …) that has three different bits, `shared` of them bits of `other`. */
static void find_element(example *x, const kith_filter *f, char letter, uint64_t other, unsigned shared, char name[16],
                         uint64_t *own) {
    for (unsigned i = 1; check(x, i < ABSENT, "no element has these bits"); i++) {
        (void)snprintf(name, 16, "%c%u", letter, i);
        uint64_t count = bits_of(x, f, name, own), common = *own & other;
        if (count == WHOLE_HASHES && (shared == 0 ? common == 0 : common != 0 && (common & (common - 1)) == 0))
            return;
    }
}

void trace_one_element(example *x) {
    kith_plan plan = KITH_PLAN_INIT;
    print_title(x, "Figure 7 of [4]: an element of a Bloom filter is mapped to k bits");
    print(x, "Here k is 3, and all hashes share one array (layout=whole). x: a bit of the\n"
             "element\n\n");
    kith_filter *f = create_whole(x, &plan);
    if (x->wrong == NULL) {
        char name[16] = "";
        uint64_t own = 0;
        find_element(x, f, 'x', 0, 0, name, &own);
        (void)check_status(x, kith_filter_add(f, name, strlen(name), NULL));
        draw_whole(x, f, plan.cells, own, 0);
        print(x, "\n%s is mapped to the bits", name);
        for (unsigned i = 0, said = 0; i < WHOLE_BITS_MAX; i++)
            if ((own >> i & 1) != 0)
                print(x, "%s %u", said++ == 0 ? "" : said == WHOLE_HASHES ? " and" : ",", i);
        print(x, ", counted from 0.\n\n");
    }
    kith_filter_free(f);
}

void trace_unsliced(example *x) {
    kith_plan plan = KITH_PLAN_INIT;
    print_title(x, "Figure 1 of [2]: a Bloom filter with 3 hash functions");
    print(x, "One array for all hashes (layout=whole). x: a bit of the first element, y: of\n"
             "the second, @: of both\n\n");
    kith_filter *f = create_whole(x, &plan);
    if (x->wrong == NULL) {
        char one[16] = "", two[16] = "";
        uint64_t bits_one = 0, bits_two = 0;
        find_element(x, f, 'x', 0, 0, one, &bits_one);
        find_element(x, f, 'y', bits_one, 1, two, &bits_two);
        (void)check_status(x, kith_filter_add(f, one, strlen(one), NULL));
        draw_whole(x, f, plan.cells, bits_one, 0);
        (void)check_status(x, kith_filter_add(f, two, strlen(two), NULL));
        draw_whole(x, f, plan.cells, bits_one, bits_two);
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        if (check_status(x, kith_filter_stats_of(f, &stats)))
            print(x, "\n%s and %s share a bit, so %llu bits are set instead of 6.\n\n", one, two,
                  (unsigned long long)stats.cells_used);
        (void)check(x, stats.cells_used == 2 * WHOLE_HASHES - 1, "five bits should be set");
    }
    kith_filter_free(f);
}
