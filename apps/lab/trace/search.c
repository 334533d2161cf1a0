/* search.c: draws the breadth-first search of a cuckoo table with four slots per bucket.
 *
 * The trace has the buckets that the search read, in order, and the moves that it made. The tree between them is drawn
 * from the candidate buckets of the keys (drawing.h): each entry of a bucket that was read leads to its other bucket.
 * The buckets that were read must be those of the tree in breadth-first order, and the moves must go along it. */
#include <stdio.h>

#include "drawing.h"

enum { B = 4, BUCKETS = 6, SEEDS_MAX = 10000 };

static const char *const OPTIONS = "layout=two d=2 b=4 insert=search load=100";

/* Fills the table up to the first key that moves at least two others. Returns false if a rebuild came first. */
static bool fill(drawing *d) {
    for (d->count = 0; d->count < DRAWING_KEYS_MAX && d->x->wrong == NULL;) {
        drawn_key *k = &d->keys[d->count];
        (void)snprintf(k->name, sizeof k->name, "k%d", d->count + 1);
        drawing_put(d, k->name);
        unsigned moves = drawing_moves(d);
        if (d->rebuilt)
            return false;
        if (moves >= 2)
            return true;
        if (moves == 1) {
            const drawn_step *move = drawing_move(d, 0);
            d->at[move->to] = d->at[move->slot];
            d->at[move->slot] = d->count++;
        } else {
            (void)place_without_moves(d, d->count++);
        }
    }
    return false;
}

static bool has_free_slot(const drawing *d, uint64_t bucket) {
    for (unsigned i = 0; i < B; i++)
        if (d->at[bucket * B + i] == NO_KEY)
            return true;
    return false;
}

typedef struct tree {
    uint64_t bucket[BUCKETS];
    unsigned parent[BUCKETS]; /* index of the bucket from which it was reached */
    uint64_t via[BUCKETS];    /* the slot there whose entry leads to it */
    unsigned count;
    bool queued[BUCKETS];
} tree;

static void queue(tree *t, uint64_t bucket, unsigned parent, uint64_t via) {
    if (t->queued[bucket])
        return;
    t->queued[bucket] = true;
    t->bucket[t->count] = bucket;
    t->parent[t->count] = parent;
    t->via[t->count++] = via;
}

/* Prints the entries of bucket number `at` of the queue, and queues their other buckets. Returns true if one of them
 * has a free slot, where the search ends. */
static bool expand(const drawing *d, tree *t, unsigned at, word_list *line) {
    uint64_t bucket = t->bucket[at];
    for (uint64_t slot = bucket * B; slot < (bucket + 1) * B; slot++) {
        const drawn_key *k = &d->keys[d->at[slot]];
        uint64_t other = (k->first == bucket * B ? k->second : k->first) / B;
        bool is_new = !t->queued[other], ends = is_new && has_free_slot(d, other);
        print_word(line, "%s->%llu%s", k->name, (unsigned long long)other + 1, ends ? " free" : "");
        queue(t, other, at, slot);
        if (ends)
            return true;
    }
    return false;
}

/* Draws the tree, and checks that the search read its buckets in this order. Returns the index of the bucket with a
 * free slot. */
static unsigned draw_tree(drawing *d, const drawn_key *k, tree *t) {
    unsigned step = 0, at = 0;
    *t = (tree){.count = 0};
    queue(t, k->first / B, 0, 0);
    queue(t, k->second / B, 0, 0);
    /* The lookup before the search has read the first bucket, too, and perhaps the second. */
    for (unsigned seen = 0; step < d->step_count; step++) {
        seen += d->steps[step].what == KITH_STEP_LOOK && d->steps[step].slot == k->first;
        if (seen == 2)
            break;
    }
    for (bool ended = false; !ended; at++, step++) {
        if (!check(d->x,
                   at < t->count && step < d->step_count && d->steps[step].what == KITH_STEP_LOOK &&
                       d->steps[step].slot == t->bucket[at] * B,
                   "the search does not read the buckets of the tree in order"))
            return 0;
        char from[32];
        if (at < 2) /* the buckets of h1 and h2 are in different halves */
            (void)snprintf(from, sizeof from, "h%u of %s", at + 1, k->name);
        else
            (void)snprintf(from, sizeof from, "by %s of bucket %llu", d->keys[d->at[t->via[at]]].name,
                           (unsigned long long)t->bucket[t->parent[at]] + 1);
        print(d->x, "read   bucket %llu, %-20s  ", (unsigned long long)t->bucket[at] + 1, from);
        word_list line = begin_list(d->x, 39);
        ended = expand(d, t, at, &line);
        end_list(&line);
    }
    (void)check(d->x, step >= d->step_count || d->steps[step].what != KITH_STEP_LOOK,
                "the search reads on after a free slot");
    print(d->x, "\n");
    return t->count - 1;
}

/* The last key of the path moves first, into the free slot, and the new key is put in last. */
static void follow(drawing *d, int new_key, const tree *t, unsigned leaf) {
    unsigned moves = drawing_moves(d);
    uint64_t slot = 0;
    for (unsigned i = 0; i < moves; i++) {
        const drawn_step *move = drawing_move(d, i);
        int moved = d->at[move->slot];
        if (!check(d->x, moved != NO_KEY && d->at[move->to] == NO_KEY,
                   "a move starts at an empty slot or ends at an occupied one") ||
            !check(d->x, move->slot == t->via[leaf] && move->to / B == t->bucket[leaf], "a move leaves the tree"))
            return;
        leaf = t->parent[leaf];
        slot_text from, to;
        print(d->x, "move   %s from %s to %s\n", d->keys[moved].name, slot_name(d, move->slot, from),
              slot_name(d, move->to, to));
        d->at[move->to] = moved;
        d->at[move->slot] = NO_KEY;
        slot = move->slot;
        draw_table(d, move->to);
    }
    slot_text text;
    print(d->x, "put    %s into %s\n", d->keys[new_key].name, slot_name(d, slot, text));
    d->at[slot] = new_key;
    draw_table(d, slot);
}

static void draw(drawing *d) {
    int new_key = d->count;
    d->count++;
    drawing_learn(d, 0);
    d->count--;
    if (d->x->wrong != NULL)
        return;
    const drawn_key *k = &d->keys[new_key];
    draw_table(d, UINT64_MAX);
    print_key(d, k);
    print(d->x,
          "       %s is inserted. Both of its buckets are full. The search tree: each\n"
          "       entry of a bucket and its other bucket, up to one with a free slot\n\n",
          k->name);
    tree t;
    unsigned leaf = draw_tree(d, k, &t);
    if (d->x->wrong == NULL)
        follow(d, new_key, &t, leaf);
    d->count++;
    if (d->x->wrong == NULL)
        list_keys(d);
}

void trace_search(example *x) {
    print_title(x, "Four slots per bucket: the breadth-first search");
    print(x, "Nothing moves until a free slot is found. Then the last key of the path moves\n"
             "first. h1 gives one of the buckets 1 to 3, h2 one of 4 to 6 (layout=two).\n\n");
    for (uint64_t i = 0; check(x, i < SEEDS_MAX, "no key has to move two others"); i++) {
        drawing d;
        bool found = drawing_begin(&d, x, OPTIONS, B, (uint64_t)B * BUCKETS, x->seed * SEEDS_MAX + i) && fill(&d);
        if (found && x->wrong == NULL)
            draw(&d);
        drawing_end(&d);
        if (found || x->wrong != NULL)
            return;
    }
}
