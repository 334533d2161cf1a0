/* tables.c: the tables of [0], [1], [2] and [4]. See printed.h. */
#include <lab/printed.h>

#include <math.h>
#include <string.h>

#include "model.h"

enum { PLACES_MAX = 1024, KEYS_MAX = 512, NONE = -1 };

/* A table with two functions. In halves, the first maps to the first half and the second to the second. */
typedef struct cuckoo {
    int at[PLACES_MAX]; /* the key in a place, or NONE */
    unsigned places;
    bool halves;
    uint64_t functions; /* the number of the pair of functions; it changes with a rehash */
    uint64_t rehashes;
    unsigned max;
    bool as_printed;
} cuckoo;

static cuckoo table_of(uint64_t functions, unsigned places, bool halves, bool as_printed) {
    cuckoo t = {.places = places, .halves = halves, .functions = functions, .as_printed = as_printed};
    memset(t.at, 0xff, sizeof t.at);
    return t;
}

static unsigned h1(const cuckoo *t, int key) {
    return below(mixed(t->functions ^ mixed((uint64_t)key)), t->halves ? t->places / 2 : t->places);
}

static unsigned h2(const cuckoo *t, int key) {
    uint64_t word = mixed(mixed(t->functions + 1) ^ mixed((uint64_t)key));
    return t->halves ? t->places / 2 + below(word, t->places / 2) : below(word, t->places);
}

static unsigned other_place(const cuckoo *t, int key, unsigned place) {
    return place == h1(t, key) ? h2(t, key) : h1(t, key);
}

static bool lookup(const cuckoo *t, int key) {
    return t->at[h1(t, key)] == key || t->at[h2(t, key)] == key;
}

/* Puts a key into a place and returns the key that was there, or NONE. */
static int swap_in(cuckoo *t, unsigned place, int key) {
    int displaced = t->at[place];
    t->at[place] = key;
    return displaced;
}

/* ---- [0], algorithm 3 ---- */

/* Both functions map to the whole table. Returns false if the key that is inserted makes the document draw new
 * functions: as printed, when a place is reached for the second time, and corrected, for the third, which happens only
 * if both paths of the key have a cycle. */
static bool insert_0(cuckoo *t, int x) {
    unsigned visits[PLACES_MAX] = {0}, most = t->as_printed ? 1 : 2;
    unsigned place = t->at[h1(t, x)] == NONE ? h1(t, x) : h2(t, x); /* 1 to 8 */
    for (int homeless = x; visits[place] < most; place = other_place(t, homeless, place)) {
        homeless = swap_in(t, place, homeless); /* 9 to 12 */
        if (homeless == NONE)
            return true;
        visits[place]++;
    }
    return false;
}

uint64_t printed_revisits(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    uint64_t drew = 0;
    for (uint64_t i = 0; i < tables; i++) {
        cuckoo t = table_of(mixed(seed + mixed(i)), places, false, as_printed);
        bool fits = true;
        for (int key = 0; key < (int)keys && fits; key++)
            fits = insert_0(&t, key);
        drew += !fits;
    }
    return drew;
}

/* ---- [2], steps 1 to 5 ---- */

enum { MOST_STEPS = 500 };

/* Returns false if a key is left over. [2] drops it. */
static bool insert_2(cuckoo *t, int x) {
    unsigned place = h1(t, x); /* 1, 2: the new key always takes its place in the first table */
    for (unsigned step = 0; step < MOST_STEPS; step++) {
        x = swap_in(t, place, x);
        if (x == NONE)
            return true;
        place = other_place(t, x, place);
    }
    return false;
}

/* ---- a key that is inserted twice ---- */

/* [0], algorithm 5, and [2]: "deletes it from whichever table … it's in". */
static void delete_one(cuckoo *t, int x) {
    if (t->at[h1(t, x)] == x)
        t->at[h1(t, x)] = NONE;
    else if (t->at[h2(t, x)] == x)
        t->at[h2(t, x)] = NONE;
}

static uint64_t still_found(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool in_two,
                            bool as_printed) {
    uint64_t found = 0;
    for (uint64_t i = 0; i < tables; i++) {
        uint64_t functions = mixed(seed + mixed(i));
        for (bool fits = false;
             !fits;) { /* if the keys do not fit, new functions are drawn, and all are inserted again */
            functions = mixed(functions);
            cuckoo t = table_of(functions, places, in_two, false);
            fits = true;
            for (int insertion = 0; insertion <= (int)keys && fits; insertion++) {
                int x = insertion < (int)keys ? insertion : insertion - 1;
                if (as_printed || !lookup(&t, x))
                    fits = in_two ? insert_2(&t, x) : insert_0(&t, x);
            }
            if (!fits)
                continue;
            delete_one(&t, (int)keys - 1);
            found += lookup(&t, (int)keys - 1);
        }
    }
    return found;
}

uint64_t printed_repeats(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    return still_found(seed, tables, places, keys, false, as_printed);
}

uint64_t printed_repeats_in_two(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    return still_found(seed, tables, places, keys, true, as_printed);
}

/* ---- [1], algorithm 1 ---- */

/* The probe sequence: an odd step visits all places if their number is a power of two. */
static unsigned probe(uint64_t functions, int key, unsigned i, unsigned places) {
    uint64_t first = mixed(functions ^ mixed((uint64_t)key)), step = mixed(first) | 1;
    return (unsigned)((first + i * step) & (places - 1));
}

static void insert_1(int *at, unsigned places, uint64_t functions, int x, bool as_printed) {
    for (unsigned i = 0; i < places; i++) {
        unsigned place = probe(functions, x, i, places);
        if (at[place] == x)
            return;
        if (at[place] == NONE) {
            at[place] = x;
            if (!as_printed)
                return;
        }
    }
}

static bool find_1(const int *at, unsigned places, uint64_t functions, int x) {
    for (unsigned i = 0; i < places; i++) {
        unsigned place = probe(functions, x, i, places);
        if (at[place] == x)
            return true;
        if (at[place] == NONE)
            return false;
    }
    return false;
}

printed_probing printed_algorithm_1(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    printed_probing p = {.keys = tables * keys};
    for (uint64_t i = 0; i < tables; i++) {
        int at[PLACES_MAX];
        uint64_t functions = mixed(seed + mixed(i));
        memset(at, 0xff, sizeof at);
        for (int key = 0; key < (int)keys; key++)
            insert_1(at, places, functions, key, as_printed);
        for (int key = 0; key < (int)keys; key++) {
            uint64_t copies = 0;
            for (unsigned place = 0; place < places; place++)
                copies += at[place] == key;
            p.not_found += !find_1(at, places, functions, key);
            p.most_copies = copies > p.most_copies ? copies : p.most_copies;
        }
    }
    return p;
}

/* ---- [4], algorithm 2 ---- */

/* Without line 14. Returns the key that is left without a place after Max steps, or NONE. */
static int insert_once(cuckoo *t, int x) {
    if (lookup(t, x)) /* 1 */
        return NONE;
    if (t->at[h2(t, x)] == NONE) { /* 2 */
        t->at[h2(t, x)] = x;
        return NONE;
    }
    int hold = x;                            /* 3 */
    unsigned index = h1(t, x);               /* 4 */
    for (unsigned i = 0; i <= t->max; i++) { /* 5 */
        hold = swap_in(t, index, hold);      /* 6, 7 */
        if (hold == NONE)
            return NONE;
        index = other_place(t, hold, index); /* 8 to 12 */
    }
    return hold;
}

/* Line 14 calls insert() for every key of the table and then for one more key, and each of these calls may get to line
 * 14 itself. The keys of the calls that have not begun are on a stack. A key is in the table, on the stack or lost, so
 * the stack holds at most all keys. Returns false if the insertion does not end. */
static bool insert_4(cuckoo *t, int x) {
    int waiting[KEYS_MAX];
    unsigned count = 0;
    uint64_t before = t->rehashes;
    waiting[count++] = x;
    while (count > 0) {
        int key = waiting[--count], hold = insert_once(t, key);
        if (hold == NONE)
            continue;
        if (t->rehashes - before == PRINTED_ENDLESS)
            return false;
        t->rehashes++;
        waiting[count++] = t->as_printed ? key : hold; /* 14 */
        for (unsigned i = t->places; i-- > 0; t->at[i] = NONE)
            if (t->at[i] != NONE)
                waiting[count++] = t->at[i];
        t->functions = mixed(t->functions + 2);
    }
    return true;
}

/* Returns false if an insertion does not end. */
static bool fill_4(cuckoo *t, uint64_t functions, unsigned places, unsigned keys, bool as_printed) {
    *t = table_of(functions, places, true, as_printed);
    double below_half = fmin(keys, (places - 1) / 2.0); /* the formula has a meaning only there */
    t->max = (unsigned)ceil(6 * log(places) / log(places / (2 * below_half)));
    bool ends = true;
    for (int key = 0; key < (int)keys && ends; key++)
        ends = insert_4(t, key);
    return ends;
}

printed_losses printed_algorithm_2(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed) {
    printed_losses l = {.tables = tables};
    for (uint64_t i = 0; i < tables; i++) {
        cuckoo t;
        uint64_t lost = 0;
        bool ends = fill_4(&t, mixed(seed + mixed(i)), places, keys, as_printed);
        for (int key = 0; key < (int)keys && ends; key++)
            lost += !lookup(&t, key);
        l.endless += !ends;
        l.rehashed += t.rehashes > 0;
        l.losing += lost > 0;
        l.lost += lost;
    }
    return l;
}

/* ---- [4], the cuckoo graph ---- */

/* The edges (i, j) are a set: several keys with the same two places are one edge. Returns the most that begin at one
 * place. */
static unsigned most_edges(const bool *edges, unsigned places) {
    unsigned most = 0;
    for (unsigned i = 0; i < places; i++) {
        unsigned count = 0;
        for (unsigned j = 0; j < places; j++)
            count += edges[i * places + j];
        most = count > most ? count : most;
    }
    return most;
}

enum { GRAPH_PLACES_MAX = 64 };

static unsigned most_of_keys(const cuckoo *t, int keys, bool both_directions) {
    bool edges[GRAPH_PLACES_MAX * GRAPH_PLACES_MAX] = {false};
    for (int key = 0; key < keys; key++) {
        unsigned i = h1(t, key), j = h2(t, key);
        bool from_first = t->at[i] == key;
        edges[i * t->places + j] |= both_directions || from_first;
        edges[j * t->places + i] |= both_directions || !from_first;
    }
    return most_edges(edges, t->places);
}

printed_edges printed_graph(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, unsigned universe) {
    printed_edges most = {0};
    for (uint64_t n = 0; n < tables; n++) {
        cuckoo t;
        if (places > GRAPH_PLACES_MAX || !fill_4(&t, mixed(seed + mixed(n)), places, keys, false))
            continue;
        unsigned all = most_of_keys(&t, (int)universe, true), stored = most_of_keys(&t, (int)keys, true),
                 directed = most_of_keys(&t, (int)keys, false);
        most.of_universe = all > most.of_universe ? all : most.of_universe;
        most.of_table = stored > most.of_table ? stored : most.of_table;
        most.directed = directed > most.directed ? directed : most.directed;
    }
    return most;
}
