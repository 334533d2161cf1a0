/* printed.c: see printed.h. */
#include "printed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mix.h"
#include <lab/trace/example.h>

enum { PLACES_MAX = 1024, KEYS_MAX = 512, NONE = -1 };

/* ---- random functions ---- */

/* A function's value for a key is a mix of the function's number and the key. */
static uint64_t mixed(uint64_t x) {
    return lab_mix(x + UINT64_C(0x9e3779b97f4a7c15));
}

static unsigned below(uint64_t word, unsigned bound) {
    return (unsigned)((word >> 32) * bound >> 32);
}

/* ---- [4], algorithm 2 ---- */

typedef struct cuckoo {
    int at[PLACES_MAX]; /* the key in a place, or NONE */
    unsigned places;
    uint64_t functions; /* the number of the pair of functions; it changes with a rehash */
    uint64_t rehashes;
    unsigned max;
    bool as_printed;
} cuckoo;

static unsigned h1(const cuckoo *t, int key) {
    return below(mixed(t->functions ^ mixed((uint64_t)key)), t->places / 2);
}

static unsigned h2(const cuckoo *t, int key) {
    return t->places / 2 + below(mixed(mixed(t->functions + 1) ^ mixed((uint64_t)key)), t->places / 2);
}

static bool lookup(const cuckoo *t, int key) {
    return t->at[h1(t, key)] == key || t->at[h2(t, key)] == key;
}

static void insert(cuckoo *t, int x);

/* Draws new functions and inserts every key of the table again. */
static void rehash(cuckoo *t) {
    int keys[KEYS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < t->places; i++) {
        if (t->at[i] != NONE)
            keys[count++] = t->at[i];
        t->at[i] = NONE;
    }
    t->functions = mixed(t->functions + 2);
    t->rehashes++;
    for (unsigned i = 0; i < count; i++)
        insert(t, keys[i]);
}

/* The numbers are those of the lines in [4]. */
static void insert(cuckoo *t, int x) {
    if (lookup(t, x)) /* 1 */
        return;
    if (t->at[h2(t, x)] == NONE) { /* 2 */
        t->at[h2(t, x)] = x;
        return;
    }
    int hold = x;                            /* 3 */
    unsigned index = h1(t, x);               /* 4 */
    for (unsigned i = 0; i <= t->max; i++) { /* 5 */
        if (t->at[index] == NONE) {          /* 6 */
            t->at[index] = hold;
            return;
        }
        int displaced = t->at[index]; /* 7 */
        t->at[index] = hold;
        hold = displaced;
        index = index == h1(t, hold) ? h2(t, hold) : h1(t, hold); /* 8 to 12 */
    }
    rehash(t); /* 14 */
    insert(t, t->as_printed ? x : hold);
}

printed_losses printed_algorithm_2(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    printed_losses l = {.tables = tables};
    double delta = (double)places / keys - 2;
    for (uint64_t i = 0; i < tables; i++) {
        cuckoo t = {.places = places,
                    .functions = mixed(seed + mixed(i)),
                    .max = (unsigned)ceil(6 * log(places) / log1p(delta / 2)),
                    .as_printed = as_printed};
        memset(t.at, 0xff, sizeof t.at);
        for (int key = 0; key < (int)keys; key++)
            insert(&t, key);
        uint64_t lost = 0;
        for (int key = 0; key < (int)keys; key++)
            lost += !lookup(&t, key);
        l.rehashed += t.rehashes > 0;
        l.losing += lost > 0;
        l.lost += lost;
    }
    return l;
}

/* ---- [4], algorithm 3 ---- */

enum { BUCKETS = 256, ENTRIES = 4, FINGERPRINT_BITS = 12, FILTER_MAX = 500, FILTER_KEYS = BUCKETS * ENTRIES * 9 / 10 };

typedef struct filter {
    unsigned entries[BUCKETS][ENTRIES]; /* 0: empty */
    uint64_t functions, dice;
} filter;

static unsigned fingerprint(const filter *f, uint64_t key) {
    return 1 + below(mixed(f->functions ^ mixed(key)), (1u << FINGERPRINT_BITS) - 1);
}

static unsigned bucket_of(const filter *f, uint64_t key) {
    return below(mixed(mixed(f->functions + 1) ^ mixed(key)), BUCKETS);
}

static unsigned alternate(const filter *f, unsigned bucket, unsigned print) {
    return bucket ^ below(mixed(mixed(f->functions + 2) ^ mixed(print)), BUCKETS);
}

static bool add_to(filter *f, unsigned bucket, unsigned print) {
    for (unsigned e = 0; e < ENTRIES; e++)
        if (f->entries[bucket][e] == 0) {
            f->entries[bucket][e] = print;
            return true;
        }
    return false;
}

static bool contains(const filter *f, unsigned bucket, unsigned print) {
    for (unsigned e = 0; e < ENTRIES; e++)
        if (f->entries[bucket][e] == print)
            return true;
    return false;
}

/* Swaps the fingerprint with a random entry of the bucket. */
static unsigned swapped(filter *f, unsigned bucket, unsigned print) {
    f->dice = mixed(f->dice);
    unsigned *entry = &f->entries[bucket][below(f->dice, ENTRIES)], other = *entry;
    *entry = print;
    return other != 0 ? other : print;
}

/* Returns false if the loop ends without a place. As printed, i is both the index of the bucket and the counter of the
 * loop, which sets it to 0 and adds 1 after each pass. */
static bool filter_insert(filter *f, uint64_t key, bool as_printed) {
    unsigned print = fingerprint(f, key), i = bucket_of(f, key);         /* 1 */
    if (add_to(f, i, print) || add_to(f, alternate(f, i, print), print)) /* 2 to 4 */
        return true;
    if (as_printed) {
        for (i = 0; i <= FILTER_MAX; i++) {         /* 6 */
            print = swapped(f, i % BUCKETS, print); /* 7, 8 */
            i = alternate(f, i % BUCKETS, print);   /* 9 */
            if (add_to(f, i, print))                /* 10 to 12 */
                return true;
        }
        return false;
    }
    for (unsigned step = 0; step <= FILTER_MAX; step++) {
        print = swapped(f, i, print);
        i = alternate(f, i, print);
        if (add_to(f, i, print))
            return true;
    }
    return false;
}

printed_filter printed_algorithm_3(uint64_t seed, uint64_t filters, bool as_printed) {
    printed_filter p = {0};
    for (uint64_t n = 0; n < filters; n++) {
        filter f = {.functions = mixed(seed + mixed(n)), .dice = mixed(seed + n)};
        for (uint64_t key = 0; key < FILTER_KEYS; key++)
            p.given_up += !filter_insert(&f, key, as_printed);
        for (uint64_t key = 0; key < FILTER_KEYS; key++) {
            unsigned print = fingerprint(&f, key), i = bucket_of(&f, key);
            p.not_found += !contains(&f, i, print) && !contains(&f, alternate(&f, i, print), print);
        }
        p.keys += FILTER_KEYS;
    }
    return p;
}

/* ---- [0], algorithm 3 ---- */

/* One table; both functions map to all of it. Returns false if the key that is inserted makes the document draw new
 * functions: as printed, when a place is reached for the second time, and corrected, for the third, which happens only
 * if both paths of the key have a cycle. */
static bool insert_document_0(int *at, unsigned places, uint64_t functions, int x, bool as_printed) {
    unsigned visits[PLACES_MAX] = {0};
    int homeless = x;
    unsigned first = below(mixed(functions ^ mixed((uint64_t)x)), places),
             index = below(mixed(mixed(functions + 1) ^ mixed((uint64_t)x)), places);
    if (at[first] == NONE)
        index = first;
    for (;;) {
        int displaced = at[index];
        at[index] = homeless;
        if (displaced == NONE)
            return true;
        if (++visits[index] > (as_printed ? 1 : 2))
            return false;
        homeless = displaced;
        unsigned one = below(mixed(functions ^ mixed((uint64_t)homeless)), places),
                 other = below(mixed(mixed(functions + 1) ^ mixed((uint64_t)homeless)), places);
        index = one == index ? other : one;
    }
}

uint64_t printed_revisits(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    uint64_t drew = 0;
    for (uint64_t i = 0; i < tables; i++) {
        int at[PLACES_MAX];
        memset(at, 0xff, sizeof at);
        bool fits = true;
        for (int key = 0; key < (int)keys && fits; key++)
            fits = insert_document_0(at, places, mixed(seed + mixed(i)), key, as_printed);
        drew += !fits;
    }
    return drew;
}

/* ---- the text ---- */

static double percent(uint64_t part, uint64_t of) {
    return 100.0 * (double)part / (double)of;
}

static void show_algorithm_2(example *x, uint64_t tables) {
    enum { PLACES = 64, KEYS = 29 };
    printed_losses printed = printed_algorithm_2(x->seed, tables, PLACES, KEYS, true),
                   right = printed_algorithm_2(x->seed, tables, PLACES, KEYS, false);
    print_title(x, "[4], algorithm 2, line 14: the wrong key is inserted again");
    print(x, "printed     14  rehash(T); insert(x);\n");
    print(x, "            After Max steps the key without a place is hold. x is in the\n"
             "            table by then, so insert(x) returns at once, and hold is lost.\n");
    print(x, "as printed  %llu of %llu tables of %d places with %d keys lose a key: %.2f%%\n",
          (unsigned long long)printed.losing, (unsigned long long)tables, PLACES, KEYS,
          percent(printed.losing, tables));
    print(x, "correction  14  rehash(T); insert(hold);\n");
    print(x, "corrected   %llu of %llu tables lose a key; %llu of them rehash\n\n", (unsigned long long)right.losing,
          (unsigned long long)tables, (unsigned long long)right.rehashed);
    (void)check(x, right.lost == 0, "algorithm 2 of [4] loses a key although line 14 is corrected");
}

static void show_algorithm_3(example *x, uint64_t filters) {
    printed_filter printed = printed_algorithm_3(x->seed, filters, true),
                   right = printed_algorithm_3(x->seed, filters, false);
    print_title(x, "[4], algorithm 3, lines 5 to 9: the loop overwrites the bucket");
    print(x, "printed      5  i <- h1(x);\n"
             "             6  for i <- 0 to Max do\n"
             "             9      i = i (+) h2(f);\n");
    print(x, "            The loop sets i, the index of the bucket, to 0. Fingerprints are\n"
             "            swapped into bucket 0 and the next ones, where no lookup reads.\n");
    print(x, "as printed  %llu of %llu keys are not found: %.2f%%\n", (unsigned long long)printed.not_found,
          (unsigned long long)printed.keys, percent(printed.not_found, printed.keys));
    print(x, "            (%llu filters of %d buckets of %d, filled to a load of 0.9)\n", (unsigned long long)filters,
          BUCKETS, ENTRIES);
    print(x, "correction   6  for n <- 0 to Max do\n");
    print(x, "corrected   %llu of %llu keys are not found\n", (unsigned long long)right.not_found,
          (unsigned long long)right.keys);
    print(x, "            Line 14, \"Rehash; Insert(x)\", has nothing to rehash: a filter\n"
             "            holds no keys. kith refuses the key and changes nothing.\n\n");
    (void)check(x, right.not_found <= right.given_up, "algorithm 3 of [4] loses a key although the loop is corrected");
}

static void show_revisits(example *x, uint64_t tables) {
    static const struct { unsigned places, keys; } SIZES[] = {{600, 100}, {64, 29}};
    print_title(x, "[0], algorithm 3, lines 13 to 15: new functions at the first cycle");
    print(x, "printed     \"we get a cycle i.e. we reach a position that we have already\n"
             "            reached before (meaning that the process would continue\n"
             "            indefinitely)\"\n");
    print(x, "            A walk that returns to a place turns round, comes back to the new\n"
             "            key and continues with its other place, which is usually free.\n");
    for (unsigned i = 0; i < 2; i++) {
        uint64_t printed = printed_revisits(x->seed, tables, SIZES[i].places, SIZES[i].keys, true),
                 right = printed_revisits(x->seed, tables, SIZES[i].places, SIZES[i].keys, false);
        print(x, "as printed  %llu of %llu tables, %u places, %u keys, draw anew: %.2f%%\n",
              (unsigned long long)printed, (unsigned long long)tables, SIZES[i].places, SIZES[i].keys,
              percent(printed, tables));
        print(x, "corrected   %llu of them: %.2f%%\n", (unsigned long long)right, percent(right, tables));
    }
    print(x, "correction  Draw new functions when a place is reached for the third time, or\n"
             "            after Max steps.\n\n");
}

const char *lab_as_printed(uint64_t seed, bool quick, lab_say *say, void *context) {
    example x = {.seed = seed, .say = say, .context = context};
    show_algorithm_2(&x, quick ? 4000 : 40000);
    show_algorithm_3(&x, quick ? 20 : 200);
    show_revisits(&x, quick ? 4000 : 40000);
    print_sources(&x);
    return x.wrong;
}
