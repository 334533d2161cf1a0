/* figures.c: the figures of [4], and keys of the user in a table like theirs.
 *
 *     figure 1     six slots, five keys, and a sixth key that moves three of them
 *     figure 2     the cuckoo graph of the five keys
 *     figure 3     the three ways in which an insertion fails (proposition 1): (a) the path from h1(x) is longer than
 *                  Max; (b) it contains a cycle, and the way back to x and the path from h2(x) are together longer than
 *                  Max; (c) both paths contain a cycle, a bad configuration
 *     figure 4     the graph of a bad configuration after each edge was traversed once
 *     figures 5, 6 the keys x1, x2, … of a walk, with the indices of the proofs of lemma 1 and theorem 1
 *
 * The keys have names such as a7. Numbers are tried until a key has, in a table with this seed, the two candidate slots
 * that the figure gives it. In their order each key goes where the figure has it: to its first slot, or, if that is
 * occupied, to its second. */
#include <stdio.h>
#include <string.h>

#include "drawing.h"

enum { FIGURE_KEYS_MAX = 52, MAX_OF_3A = 50, SLOTS_OF_3A = 104 };

static const char *const OPTIONS = "layout=two d=2 b=1 insert=walk load=100";

typedef struct figure_key {
    char letter;
    uint64_t first, second; /* candidate slots, counted from 1 as in the figures */
} figure_key;

typedef enum figure_flags {
    WITH_TABLES = 1,  /* draw the table after each move, not only before and after the walk */
    WITHOUT_KEYS = 2, /* do not list the keys one by one */
    WITH_FLIPS = 4,   /* draw the graph after the walk, before it is undone */
    WITH_PROOF = 8,   /* print the keys of the walk and the indices of the proofs */
    ONLY_GRAPH = 16,  /* insert no last key */
} figure_flags;

typedef struct figure {
    const char *options;
    uint64_t slots;
    unsigned flags, count;
    figure_key keys[FIGURE_KEYS_MAX], last; /* the last one is inserted and drawn */
} figure;

/* ---- the proofs of lemma 1 and theorem 1 ---- */

/* The index, from 1, of the first key after `from` that equals one of the keys with the indices from … itself - 1; 0:
 * there is none. Sets *equals to the index of that one. */
static unsigned first_repeated(const drawing *d, unsigned from, unsigned *equals) {
    for (unsigned j = from + 1; j <= d->sequence_length; j++)
        for (unsigned i = from; i < j; i++)
            if (d->sequence[i - 1] == d->sequence[j - 1]) {
                *equals = i;
                return j;
            }
    return 0;
}

static unsigned distinct(const drawing *d) {
    bool seen[DRAWING_KEYS_MAX] = {false};
    unsigned count = 0;
    for (unsigned i = 0; i < d->sequence_length; i++) {
        count += !seen[d->sequence[i]];
        seen[d->sequence[i]] = true;
    }
    return count;
}

static void print_proof(drawing *d) {
    example *x = d->x;
    unsigned i = 0, p = 0, j = first_repeated(d, 1, &i), l, all = d->sequence_length;
    print(x, "keys   ");
    word_list line = begin_list(x, 7);
    for (unsigned k = 1; k <= all; k++)
        print_word(&line, "x%u=%s", k, d->keys[d->sequence[k - 1]].name);
    end_list(&line);
    if (!check(x, j != 0 && i + j - 1 <= all && d->sequence[i + j - 2] == d->sequence[0],
               "the walk does not come back to the new key where the proof says"))
        return;
    print(x, "       x%u = x%u is the first key that comes again: i = %u, j = %u.\n", j, i, i, j);
    print(x, "       x%u is the new key again: i + j - 1 = %u.\n", i + j - 1, i + j - 1);
    l = first_repeated(d, i + j - 1, &p);
    if (l == 0) {
        unsigned first = j - 1, second = all - (i + j - 1) + 1, longest = first > second ? first : second;
        print(x, "       x1 ... x%u are %u distinct keys, x%u ... x%u are %u: the longer run has at\n", j - 1, first,
              i + j - 1, all, second);
        print(x, "       least p/3 = %u/3 keys (lemma 1, case 2b).\n", all);
        (void)check(x, 3 * longest >= all, "lemma 1 does not hold");
    } else {
        print(x, "       Then x%u = x%u is the first key that comes again: l = %u, p = %u.\n", l, p, l, p);
        print(x, "       Both paths from the new key contain a cycle. The %u keys of the walk are\n", all);
        print(x,
              "       v = %u distinct ones, and i, j, p and l say in which order they come: at\n"
              "       most v^3 possibilities (theorem 1, case 2).\n",
              distinct(d));
    }
    print(x, "\n");
}

/* ---- a figure ---- */

/* Finds the key with this letter, the lowest number and these candidate slots. */
static void find_key(drawing *blocked, const figure_key *wanted, drawn_key *k) {
    for (unsigned number = 1; check(blocked->x, number < DRAWING_TRIES, "no key has these slots"); number++) {
        (void)snprintf(k->name, sizeof k->name, "%c%u", wanted->letter, number);
        drawing_find_candidates(blocked, k);
        if (blocked->x->wrong != NULL || (k->first == wanted->first - 1 && k->second == wanted->second - 1))
            return;
    }
}

static void insert_last(drawing *d, unsigned flags) {
    int new_key = d->count++;
    drawing_put(d, d->keys[new_key].name);
    print(d->x, "       %s is inserted. Both of its slots are occupied.\n", d->keys[new_key].name);
    uint64_t slot = follow_walk(d, new_key, (flags & WITH_TABLES) != 0 ? WALK_TABLES : 0);
    if (d->x->wrong != NULL)
        return;
    if ((flags & WITH_TABLES) == 0)
        print(d->x, "\n");
    if ((flags & WITH_FLIPS) != 0)
        draw_graph(d, "Figure 4, the graph now: each edge of both cycles has been flipped once");
    if ((flags & WITH_PROOF) != 0)
        print_proof(d);
    if (d->rebuilt) {
        follow_undo(d, new_key, slot);
        draw_after_rebuild(d);
    } else {
        if ((flags & WITH_TABLES) == 0)
            draw_table(d, UINT64_MAX);
        draw_graph(d, "The cuckoo graph afterwards");
    }
}

static void fill(drawing *d, drawing *blocked, const figure *f) {
    if (!drawing_begin(d, d->x, f->options, 1, f->slots, d->x->seed) || !drawing_begin_blocked(blocked, d))
        return;
    for (unsigned i = 0; i <= f->count && d->x->wrong == NULL; i++) {
        drawn_key k = {{0}, 0, 0};
        bool last = i == f->count;
        if (last && (f->flags & ONLY_GRAPH) != 0)
            break;
        find_key(blocked, last ? &f->last : &f->keys[i], &k);
        if (last || (f->flags & WITHOUT_KEYS) == 0)
            print_key(d, &k);
        d->keys[d->count] = k;
        if (last)
            break;
        drawing_put(d, k.name);
        if (check(d->x, drawing_moves(d) == 0 && !d->rebuilt, "a key with a free candidate slot moves another"))
            (void)place_without_moves(d, d->count++);
    }
    print(d->x, "\n");
}

static void draw_figure(example *x, const figure *f) {
    drawing d = {.x = x}, blocked = {.x = x};
    fill(&d, &blocked, f);
    if (x->wrong == NULL) {
        if ((f->flags & WITHOUT_KEYS) == 0)
            draw_table(&d, UINT64_MAX);
        draw_graph(&d, "The cuckoo graph");
        if ((f->flags & ONLY_GRAPH) == 0)
            insert_last(&d, f->flags);
    }
    if (x->wrong == NULL)
        list_keys(&d);
    drawing_end(&d);
    drawing_end(&blocked);
}

#define FIGURE_1_KEYS                                                                                                  \
    5, {                                                                                                               \
        {'a', 2, 5}, {'b', 1, 6}, {'z', 3, 4}, {'k', 3, 5}, {                                                          \
            'w', 1, 6                                                                                                  \
        }                                                                                                              \
    }

void trace_figure_1(example *x) {
    static const figure F = {OPTIONS, 6, WITH_TABLES, FIGURE_1_KEYS, {'x', 2, 6}};
    print_title(x, "Figure 1 of [4]: cuckoo hashing with one slot per bucket");
    print(x, "h1 gives a slot in the first half, h2 one in the second half. The caption of\n"
             "the figure has h2(x) = 6; its text has 1, which is not in the second half.\n\n");
    draw_figure(x, &F);
}

void trace_figure_2(example *x) {
    static const figure F = {OPTIONS, 6, ONLY_GRAPH, FIGURE_1_KEYS, {0}};
    print_title(x, "Figure 2 of [4]: the cuckoo graph of the five keys");
    print(x, "The slots are its nodes, and the keys are its edges.\n\n");
    draw_figure(x, &F);
}

void trace_figure_3a(example *x) {
    figure f = {"layout=two d=2 b=1 insert=walk load=100 max=50", SLOTS_OF_3A, WITHOUT_KEYS, 0, {{0}}, {'x', 1, 53}};
    enum { EDGES = MAX_OF_3A + 1, FIRST = (EDGES + 1) / 2, HALF = SLOTS_OF_3A / 2 };
    for (unsigned i = 1; i <= FIRST; i++) /* the slots 1, 53, 2, 54, … */
        f.keys[f.count++] = (figure_key){'p', i, HALF + i};
    for (unsigned i = 1; i < FIRST; i++)
        f.keys[f.count++] = (figure_key){'q', i + 1, HALF + i};
    print_title(x, "Figure 3a of [4]: the path from h1(x) is longer than Max");
    print(x, "104 slots, and Max = 50 (max=50). The path has 51 edges, and the walk gives up\n"
             "when it has displaced 50 keys: two moves before the free slot.\n\n");
    draw_figure(x, &f);
}

void trace_figure_3b(example *x) {
    static const figure F = {
        OPTIONS, 6, WITH_TABLES, 5, {{'a', 1, 5}, {'d', 2, 5}, {'c', 2, 5}, {'f', 3, 4}, {'e', 3, 6}}, {'x', 1, 6}};
    print_title(x, "Figure 3b of [4]: a cycle, the way back, and then too long a path");
    print(x, "Max is 6 here (max=default: at most the number of slots). The walk needs five\n"
             "steps to go around the cycle and back to x, and three more from h2(x).\n\n");
    draw_figure(x, &F);
}

void trace_figure_3c(example *x) {
    static const figure F = {OPTIONS, 6, WITH_TABLES, FIGURE_1_KEYS, {'x', 1, 6}};
    print_title(x, "Figure 3c of [4]: a bad configuration");
    print(x, "The table of figure 1, and a key that cannot be inserted: b, w and the new key\n"
             "have the same two candidate slots, so both paths lead to the same cycle.\n\n");
    draw_figure(x, &F);
}

void trace_figure_4(example *x) {
    static const figure F = {
        OPTIONS, 6, WITH_TABLES | WITH_FLIPS, 4, {{'b', 1, 6}, {'w', 1, 6}, {'z', 3, 4}, {'k', 3, 4}}, {'x', 1, 4}};
    print_title(x, "Figure 4 of [4]: a bad configuration is traversed, and its edges flip");
    print(x, "Both candidate slots of x lead to a cycle. A key that moves flips its edge.\n\n");
    draw_figure(x, &F);
}

void trace_figure_5(example *x) {
    static const figure F = {
        OPTIONS,     12, WITH_PROOF, 6, {{'a', 1, 7}, {'c', 2, 8}, {'b', 2, 7}, {'d', 2, 8}, {'f', 3, 9}, {'e', 3, 12}},
        {'x', 1, 12}};
    print_title(x, "Figure 5 of [4]: a walk that comes back to the new key (lemma 1, case 2)");
    print(x, "The path from h1(x) leads into a cycle, around it, back to x, and the walk goes\n"
             "on from h2(x). xk is the k-th key that has no slot; x1 is the new key.\n\n");
    draw_figure(x, &F);
}

void trace_figure_6(example *x) {
    static const figure F = {OPTIONS,
                             20,
                             WITH_PROOF,
                             8,
                             {{'a', 1, 11},
                              {'c', 2, 12},
                              {'b', 2, 11},
                              {'d', 2, 12},
                              {'f', 3, 13},
                              {'e', 3, 20},
                              {'h', 4, 13},
                              {'g', 4, 13}},
                             {'x', 1, 20}};
    print_title(x, "Figure 6 of [4]: the keys of a bad configuration (theorem 1, case 2)");
    print(x, "Both paths from x lead into a cycle. xk is the k-th key that has no slot.\n\n");
    draw_figure(x, &F);
}

void trace_cycle(example *x) {
    static const figure F = {OPTIONS,    6, WITH_TABLES, 4, {{'b', 1, 6}, {'z', 3, 4}, {'k', 3, 5}, {'w', 1, 6}},
                             {'x', 1, 5}};
    print_title(x, "One cycle is not a failure: the walk turns round");
    print(x, "The walk goes around the cycle of b and w, displaces the new key again, and\n"
             "then succeeds from its other slot. [0] would draw new functions.\n\n");
    draw_figure(x, &F);
}

/* ---- keys of the user ---- */

static void insert_key(drawing *d, const char *name) {
    int new_key = d->count;
    (void)snprintf(d->keys[new_key].name, DRAWING_NAME_BYTES, "%s", name);
    drawing blocked;
    if (drawing_begin_blocked(&blocked, d))
        drawing_find_candidates(&blocked, &d->keys[new_key]);
    drawing_end(&blocked);
    d->count++;
    if (d->x->wrong != NULL)
        return;
    print_key(d, &d->keys[new_key]);
    drawing_put(d, name);
    if (drawing_moves(d) > 0) {
        draw_graph(d, "Both of its slots are occupied. The cuckoo graph before the walk");
        uint64_t slot = follow_walk(d, new_key, WALK_TABLES);
        if (d->x->wrong == NULL && d->rebuilt)
            follow_undo(d, new_key, slot);
    }
    if (d->x->wrong == NULL && d->rebuilt) {
        draw_after_rebuild(d);
        for (int i = 0; i < d->count; i++)
            print_key(d, &d->keys[i]);
    } else if (d->x->wrong == NULL && drawing_moves(d) == 0) {
        slot_text text;
        uint64_t slot = place_without_moves(d, new_key);
        print(d->x, "put    %s into %s\n", name, slot_name(d, slot, text));
        draw_table(d, slot);
    }
}

/* True if one of the keys has to displace another, and none needs new functions. */
static bool has_eviction(example *x, const char *const *keys, unsigned count, uint64_t slots, uint64_t seed) {
    drawing d = {.x = x};
    unsigned moves = 0;
    bool rebuilt = false;
    if (drawing_begin(&d, x, OPTIONS, 1, slots, seed))
        for (unsigned i = 0; i < count; i++) {
            drawing_put(&d, keys[i]);
            moves += drawing_moves(&d);
            rebuilt |= d.rebuilt;
        }
    drawing_end(&d);
    return moves > 0 && !rebuilt;
}

void trace_walk(example *x) {
    static const char *const KEYS[] = {"owl", "crow", "wren", "lark", "finch"};
    const char *const *keys = x->key_count > 0 ? x->keys : KEYS;
    unsigned count = x->key_count > 0 ? x->key_count : sizeof KEYS / sizeof *KEYS;
    uint64_t slots = 2 * ((uint64_t)count + 1), seed = x->seed;
    if (x->key_count == 0)
        for (seed *= DRAWING_TRIES; x->wrong == NULL && !has_eviction(x, keys, count, slots, seed); seed++)
            (void)check(x, seed % DRAWING_TRIES < DRAWING_TRIES - 1, "no key has to displace another");
    drawing d = {.x = x};
    print_title(x, "Cuckoo hashing: keys of any name, two functions, one slot per bucket");
    print(x, "h1 gives a slot in the first half, h2 one in the second half. 'other' is the\n"
             "other slot of the key above it.\n\n");
    if (x->wrong == NULL && drawing_begin(&d, x, OPTIONS, 1, slots, seed)) {
        for (unsigned i = 0; i < count && x->wrong == NULL; i++)
            insert_key(&d, keys[i]);
        if (x->wrong == NULL)
            draw_graph(&d, "The cuckoo graph");
        if (x->wrong == NULL)
            list_keys(&d);
    }
    drawing_end(&d);
}
