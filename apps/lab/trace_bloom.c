/* How the bits of a Bloom filter fill: a filter for twelve keys at 5%, and thirteen of them: the last is refused.
 *
 * A row is a function's slice of the bits. Bits are read from the filter one by one; which of them are a key's, a look-up of it
 * tells. At the end keys are asked that are not in, two of them bit by bit. */
#include <stdio.h>
#include <string.h>

#include "story.h"

enum { CAPACITY = 12, BITS_MAX = 512, ASKED = 10000 };

static const char *const KEYS[CAPACITY + 1] = {"cuckoo", "robin", "wren",   "finch", "lark", "owl", "crow",
                                               "swift",  "tern",  "plover", "gull",  "kite", "rook"};

typedef struct bits {
    const kith_filter *filter;
    uint64_t count, rows;
    bool before[BITS_MAX], of_key[BITS_MAX];
} bits;

static void note_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    bits *b = context;
    (void)holds;
    (void)wanted;
    if (cell < BITS_MAX)
        b->of_key[cell] = true;
}

/* The key's bits, up to the first that is 0. */
static bool look_up(bits *b, const char *name) {
    memset(b->of_key, 0, sizeof b->of_key);
    return kith_filter_look(b->filter, kith_filter_digest(b->filter, name, strlen(name)), note_cell, b);
}

static char sign_of(const bits *b, uint64_t cell) {
    bool set = kith_filter_cell(b->filter, cell) != 0;
    if (!b->of_key[cell])
        return set ? 'o' : '.';
    return !set ? '0' : b->before[cell] ? '@' : '#';
}

static void draw(story *s, bits *b) {
    for (uint64_t row = 0; row < b->rows; row++) {
        char text[BITS_MAX + 1] = "";
        uint64_t width = b->count / b->rows;
        for (uint64_t i = 0; i < width; i++)
            text[i] = sign_of(b, row * width + i);
        tell(s, "   h%llu   %s\n", (unsigned long long)row + 1, text);
    }
}

static void add(story *s, kith_filter *filter, bits *b, const char *name) {
    for (uint64_t i = 0; i < b->count; i++)
        b->before[i] = kith_filter_cell(filter, i) != 0;
    kith_status status = kith_filter_add(filter, name, strlen(name), NULL);
    if (status == KITH_E_FULL) {
        tell(s, "add    %s is refused: the filter has its %d keys, and the rate is a promise\n\n", name, CAPACITY);
        return;
    }
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    if (!done(s, status) || !done(s, kith_filter_stats_of(filter, &stats)) ||
        !sure(s, look_up(b, name), "a key that was added is not found"))
        return;
    tell(s, "add    %-8s %llu of %llu bits set, %.0f%%; a wrong yes now: %.2g%%\n", name,
         (unsigned long long)stats.cells_used, (unsigned long long)stats.cells, 100 * stats.load, 100 * stats.rate_now);
    draw(s, b);
    tell(s, "\n");
}

/* A key that is not in, with this answer: the first of all numbers. */
static void ask(story *s, bits *b, bool answer) {
    char name[16];
    unsigned number = 0;
    do {
        (void)snprintf(name, sizeof name, "bird %u", ++number);
    } while (look_up(b, name) != answer && sure(s, number < ASKED, "all answers are the same"));
    memset(b->before, 1, sizeof b->before);
    tell(s,
         answer ? "ask    %s: yes, and wrongly: all of its bits are set by other keys\n"
                : "ask    %s: no, for a bit is 0; the ones after it are not looked at\n",
         name);
    draw(s, b);
    tell(s, "\n");
}

static void ask_many(story *s, const kith_filter *filter) {
    unsigned yes = 0;
    for (unsigned i = 0; i < ASKED; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "bird %u", i + 1);
        yes += kith_filter_has(filter, name, strlen(name));
    }
    tell(s, "Of %d other keys %u are answered yes: %.2g%%.\n", ASKED, yes, 100.0 * yes / ASKED);
}

void trace_bloom(story *s) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "bloom";
    spec.capacity = CAPACITY;
    spec.rate = 0.05;
    spec.hash.seed = s->seed;
    kith_filter *filter = NULL;
    kith_plan plan = KITH_PLAN_INIT;
    tell_title(s, "A Bloom filter fills: 12 keys at 5%");
    tell(s, ". is 0, o is 1; of the key at hand: # set by it, @ set before, 0 not set\n\n");
    if (done(s, kith_filter_create(&spec, &filter)) && done(s, kith_filter_plan_of(filter, &plan)) &&
        sure(s, plan.cells <= BITS_MAX, "the filter is too large to be drawn")) {
        bits b = {.filter = filter, .count = plan.cells, .rows = plan.hashes};
        for (unsigned i = 0; i <= CAPACITY && s->wrong == NULL; i++)
            add(s, filter, &b, KEYS[i]);
        if (s->wrong == NULL)
            ask(s, &b, false);
        if (s->wrong == NULL)
            ask(s, &b, true);
        if (s->wrong == NULL)
            ask_many(s, filter);
    }
    kith_filter_free(filter);
}
