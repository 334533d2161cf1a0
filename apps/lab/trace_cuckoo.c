/* How keys get into a cuckoo table: three stories.
 *
 *     figure 1 of [4]     six places, five keys, and a sixth that moves three of them
 *     the same, but       … a sixth whose two places hold keys that want the same two: a bad configuration
 *     four to a bucket    the table as it is by default: nothing moves until the search has found a free slot
 *
 * The keys of figure 1 have names such as a7: numbers are tried until a key has the two places that the figure gives it,
 * in a table of this seed. Both places of a key are told by a second table of the same seed, so of the same functions,
 * whose first places are all taken: a key that is put in there goes to its second place, and a look-up then looks at both.
 *
 * A table is drawn from a copy of it, `at`, that follows the moves which the trace tells. After each story every key is looked
 * up, and has to be found where the copy has it. */
#include <stdio.h>
#include <string.h>

#include "story.h"

enum {
    NAME_BYTES = 16,
    STEPS_MAX = 1024,
    KEYS_MAX = 64,
    SLOTS_MAX = 256,
    ROW = 10,      /* places drawn side by side */
    TRIES = 10000, /* numbers, or seeds, until something is as it should be: a dozen are enough */
    FIGURE_SLOTS = 6,
    FIGURE_KEYS = 5,
    BUCKETS = 6,
    NOBODY = -1,
};

typedef struct key {
    char name[NAME_BYTES];
    uint64_t first, second; /* places, where they are known */
} key;

typedef struct step {
    kith_step what;
    uint64_t place, to;
} step;

typedef struct nest {
    story *s;
    kith_table *table;
    unsigned b;
    uint64_t slots;
    bool places_known; /* since the functions are those that the keys were chosen by */
    key keys[KEYS_MAX];
    int count;
    int at[SLOTS_MAX]; /* the key in a slot, or NOBODY */
    step steps[STEPS_MAX];
    unsigned step_count;
    bool rebuilt;
} nest;

/* ---- tables and what they do ---- */

/* Of a rebuild the first step only is kept: what comes after it are the places of another table. */
static void note(void *context, kith_step what, uint64_t place, uint64_t to) {
    nest *n = context;
    bool rebuild = what == KITH_STEP_REHASH || what == KITH_STEP_GROW;
    if (!n->rebuilt && n->step_count < STEPS_MAX)
        n->steps[n->step_count++] = (step){what, place, to};
    n->rebuilt |= rebuild;
}

static uint64_t slots_of(story *s, const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    (void)done(s, kith_table_stats_of(table, &stats));
    return stats.slots;
}

static bool begin(nest *n, story *s, const char *options, unsigned b, uint64_t slots, uint64_t seed) {
    *n = (nest){.s = s, .b = b, .places_known = b == 1};
    memset(n->at, 0xff, sizeof n->at);
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.options = options;
    spec.capacity = slots - b; /* the library takes a bucket more */
    spec.seed = seed != 0 ? seed : 1;
    spec.trace = note;
    spec.trace_context = n;
    if (!done(s, kith_table_create(&spec, &n->table)))
        return false;
    n->slots = slots_of(s, n->table);
    return sure(s, n->slots == slots, "the table has another size than it was given");
}

static void put(nest *n, const char *name) {
    n->step_count = 0;
    n->rebuilt = false;
    (void)done(n->s, kith_table_put(n->table, name, strlen(name), 0, NULL));
    (void)sure(n->s, n->step_count < STEPS_MAX, "a put takes more steps than there is room for");
}

/* The steps of a look-up. */
static bool look_up(nest *n, const char *name) {
    n->step_count = 0;
    n->rebuilt = false;
    return kith_table_has(n->table, name, strlen(name));
}

/* The first slot of the bucket where a key is found. */
static uint64_t found_at(nest *n, const char *name) {
    bool in = look_up(n, name);
    return sure(n->s, in && n->step_count > 0, "a key is lost") ? n->steps[n->step_count - 1].place : 0;
}

/* ---- both places of a key: see above ---- */

static void block_first_places(nest *blocked) {
    uint64_t left = blocked->slots / 2;
    for (unsigned i = 0; left > 0 && sure(blocked->s, i < TRIES, "a place is nobody's first"); i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "blocker %u", i);
        (void)look_up(blocked, name);
        uint64_t place = blocked->steps[0].place;
        if (blocked->at[place] != NOBODY)
            continue;
        blocked->at[place] = 0;
        left--;
        put(blocked, name);
    }
}

static void find_places(nest *blocked, key *k) {
    put(blocked, k->name);
    (void)look_up(blocked, k->name);
    if (!sure(blocked->s, blocked->step_count == 2, "a look-up does not look at two places"))
        return;
    k->first = blocked->steps[0].place;
    k->second = blocked->steps[1].place;
    (void)done(blocked->s, kith_table_remove(blocked->table, k->name, strlen(k->name), NULL));
}

/* A key of this letter and these places, the first of all numbers. */
static void find_key(nest *blocked, char letter, uint64_t first, uint64_t second, key *k) {
    unsigned number = 0;
    do {
        (void)snprintf(k->name, sizeof k->name, "%c%u", letter, ++number % TRIES);
        find_places(blocked, k);
    } while (sure(blocked->s, number < TRIES, "no key has these places") && (k->first != first || k->second != second));
}

/* ---- drawing ---- */

static const char *name_at(const nest *n, uint64_t slot) {
    return n->at[slot] == NOBODY ? "" : n->keys[n->at[slot]].name;
}

typedef char place_text[64];

/* Counted from 1, as the figure does: "4", or "bucket 2, slot 4". */
static const char *text_of_place(const nest *n, uint64_t slot, place_text text) {
    if (n->b == 1)
        (void)snprintf(text, sizeof(place_text), "%llu", (unsigned long long)slot + 1);
    else
        (void)snprintf(text, sizeof(place_text), "bucket %llu slot %llu", (unsigned long long)(slot / n->b) + 1,
                       (unsigned long long)(slot % n->b) + 1);
    return text;
}

static void draw_rule(story *s, uint64_t cells) {
    tell(s, "       ");
    for (uint64_t i = 0; i < cells; i++)
        tell(s, "+------");
    tell(s, "+\n");
}

/* A row of cells, with a star at the one that has changed. */
static void draw_cells(const nest *n, uint64_t from, uint64_t to, uint64_t changed) {
    for (uint64_t slot = from; slot < to; slot++)
        tell(n->s, "|%c%-5s", slot == changed ? '*' : ' ', name_at(n, slot));
    tell(n->s, "|\n");
}

/* A row of numbers, each at the first letter of its cell: places, or where the key in each place could go, which is what
 * the arrows of figure 1 say. */
static void draw_numbers(const nest *n, uint64_t from, uint64_t to, bool others) {
    tell(n->s, others ? "or at" : "place");
    uint64_t column = 5;
    for (uint64_t slot = from; slot < to; slot++) {
        const key *k = n->at[slot] == NOBODY ? NULL : &n->keys[n->at[slot]];
        if (others && k == NULL)
            continue;
        uint64_t place = !others ? slot : k->first == slot ? k->second : k->first, cell = 9 + 7 * (slot - from);
        tell(n->s, "%*s%llu", (int)(cell - column), "", (unsigned long long)place + 1);
        column = cell + (place + 1 > 9 ? 2 : 1);
    }
    tell(n->s, "\n");
}

static void draw(const nest *n, uint64_t changed) {
    uint64_t row = n->b == 1 ? ROW : n->b;
    for (uint64_t from = 0; from < n->slots; from += row) {
        uint64_t to = from + row < n->slots ? from + row : n->slots;
        if (n->b == 1)
            draw_numbers(n, from, to, false);
        if (n->b == 1 || from == 0)
            draw_rule(n->s, to - from);
        if (n->b == 1)
            tell(n->s, "       ");
        else
            tell(n->s, "%5llu  ", (unsigned long long)(from / n->b) + 1);
        draw_cells(n, from, to, changed);
        if (n->b == 1 || to == n->slots)
            draw_rule(n->s, to - from);
        if (n->b == 1 && n->places_known)
            draw_numbers(n, from, to, true);
    }
    tell(n->s, "\n");
}

/* ---- what a put did, step by step ---- */

static unsigned steps_of(const nest *n, kith_step what) {
    unsigned count = 0;
    for (unsigned i = 0; i < n->step_count; i++)
        count += n->steps[i].what == what;
    return count;
}

static const step *move_number(const nest *n, unsigned number) {
    unsigned i = 0;
    while (n->steps[i].what != KITH_STEP_MOVE || number-- > 0)
        i++;
    return &n->steps[i];
}

/* The key in hand takes a slot, and who was there is in hand. */
static void exchange(nest *n, int *hand, uint64_t slot) {
    int other = n->at[slot];
    n->at[slot] = *hand;
    *hand = other;
}

static void tell_move(nest *n, const step *move, int hand) {
    place_text from, to;
    tell(n->s, "move   %s from %s to %s", n->keys[hand].name, text_of_place(n, move->place, from),
         text_of_place(n, move->to, to));
    if (n->at[move->to] != NOBODY)
        tell(n->s, ", where %s was", name_at(n, move->to));
    tell(n->s, "\n");
}

/* A walk: the new key takes its first place, and each key that is put out goes to its other one. */
static void follow_walk(nest *n, int new_key, unsigned moves) {
    int hand = new_key;
    uint64_t slot = n->keys[new_key].first;
    if (!sure(n->s, moves > 0 && move_number(n, 0)->place == slot, "the walk does not begin at the first place"))
        return;
    place_text text;
    tell(n->s, "put    %s takes %s, where %s was\n", n->keys[hand].name, text_of_place(n, slot, text),
         name_at(n, slot));
    exchange(n, &hand, slot);
    draw(n, slot);
    for (unsigned i = 0; i < moves; i++) {
        const step *move = move_number(n, i);
        if (!sure(n->s, move->place == slot && hand != NOBODY, "a move begins where nobody was put out"))
            return;
        slot = move->to;
        tell_move(n, move, hand);
        exchange(n, &hand, slot);
        draw(n, slot);
    }
    if (!n->rebuilt) {
        (void)sure(n->s, hand == NOBODY, "the last key has no place");
        return;
    }
    /* The walk is undone: the key in hand goes back to where it was put out, and so do those before it. */
    place_text back;
    tell(n->s, "That was as many steps as a walk may take: all of them are taken back.\n");
    tell(n->s, "back   %s to %s\n", n->keys[hand].name, text_of_place(n, slot, back));
    exchange(n, &hand, slot);
    for (unsigned i = moves; i < steps_of(n, KITH_STEP_MOVE); i++) {
        const step *move = move_number(n, i);
        tell(n->s, "back   %s from %s to %s\n", n->keys[hand].name, text_of_place(n, move->place, text),
             text_of_place(n, move->to, back));
        exchange(n, &hand, move->to);
    }
    (void)sure(n->s, hand == new_key, "a walk that is taken back leaves another key than the new one");
}

/* A search: the last of the path moves first, into the free slot, and the new key comes last. */
static void follow_search(nest *n, int new_key) {
    unsigned moves = steps_of(n, KITH_STEP_MOVE);
    uint64_t slot = 0;
    for (unsigned i = 0; i < moves; i++) {
        const step *move = move_number(n, i);
        int hand = n->at[move->place];
        if (!sure(n->s, hand != NOBODY && n->at[move->to] == NOBODY, "a move goes from nowhere, or to a taken slot"))
            return;
        tell_move(n, move, hand);
        n->at[move->to] = hand;
        n->at[move->place] = NOBODY;
        slot = move->place;
        draw(n, move->to);
    }
    place_text text;
    tell(n->s, "put    %s takes %s\n", n->keys[new_key].name, text_of_place(n, slot, text));
    n->at[slot] = new_key;
    draw(n, slot);
}

/* A key that has gone in without a move: of its bucket it has the lowest slot that was free. */
static void settle(nest *n, int new_key) {
    uint64_t slot = found_at(n, n->keys[new_key].name), end = slot + n->b;
    while (slot < end && n->at[slot] != NOBODY)
        slot++;
    if (sure(n->s, slot < end, "a key is found in a full bucket"))
        n->at[slot] = new_key;
}

/* Every key is where the drawing has it; after a rebuild, the drawing is made of what look-ups find. */
static void check(nest *n) {
    for (int i = 0; i < n->count; i++) {
        uint64_t first = found_at(n, n->keys[i].name);
        bool there = false;
        for (unsigned slot = 0; slot < n->b; slot++)
            there |= n->at[first + slot] == i;
        if (!sure(n->s, there, "a key is not found where the moves have brought it"))
            return;
    }
    place_text text;
    tell(n->s, "found  ");
    for (int i = 0; i < n->count; i++) {
        uint64_t place = found_at(n, n->keys[i].name);
        if (i > 0)
            tell(n->s, i % 6 == 0 ? ",\n       " : ", ");
        if (n->b == 1)
            tell(n->s, "%s at %s", n->keys[i].name, text_of_place(n, place, text));
        else
            tell(n->s, "%s in %llu", n->keys[i].name, (unsigned long long)(place / n->b) + 1);
    }
    tell(n->s, "\n\n");
}

static void draw_after_rebuild(nest *n) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    if (!done(n->s, kith_table_stats_of(n->table, &stats)))
        return;
    tell(n->s, "New functions are drawn, %llu time%s, and all keys are put again.\n",
         (unsigned long long)stats.rehashes, stats.rehashes == 1 ? "" : "s");
    if (stats.growths > 0)
        tell(n->s, "Then the table grows, from %llu places to %llu.\n", (unsigned long long)n->slots,
             (unsigned long long)stats.slots);
    n->slots = stats.slots;
    n->places_known = false;
    if (!sure(n->s, n->slots <= SLOTS_MAX, "the table has grown too large to be drawn"))
        return;
    memset(n->at, 0xff, sizeof n->at);
    for (int i = 0; i < n->count; i++) {
        uint64_t place = found_at(n, n->keys[i].name);
        if (!sure(n->s, n->at[place] == NOBODY, "two keys are in one place"))
            return;
        n->at[place] = i;
    }
    draw(n, UINT64_MAX);
}

/* ---- figure 1 ---- */

typedef struct figure_key {
    char letter;
    uint64_t first, second; /* as in the figure, from 1 */
} figure_key;

/* In this order each goes to where the figure has it: k and w find their first places taken. */
static const figure_key FIGURE[FIGURE_KEYS] = {{'a', 2, 5}, {'b', 1, 6}, {'z', 3, 4}, {'k', 3, 5}, {'w', 1, 6}};

static const char *const FIGURE_OPTIONS = "layout=two d=2 b=1 insert=walk load=100";

static void tell_key(story *s, const key *k) {
    tell(s, "key    %-6s h1 = %llu, h2 = %llu\n", k->name, (unsigned long long)k->first + 1,
         (unsigned long long)k->second + 1);
}

static void draw_figure(story *s, nest *n, nest *blocked, figure_key last) {
    if (!begin(n, s, FIGURE_OPTIONS, 1, FIGURE_SLOTS, s->seed) ||
        !begin(blocked, s, FIGURE_OPTIONS, 1, FIGURE_SLOTS, s->seed))
        return;
    block_first_places(blocked);
    for (unsigned i = 0; i <= FIGURE_KEYS && s->wrong == NULL; i++) {
        figure_key f = i < FIGURE_KEYS ? FIGURE[i] : last;
        key k = {0};
        find_key(blocked, f.letter, f.first - 1, f.second - 1, &k);
        tell_key(s, &k);
        n->keys[n->count] = k;
        if (i == FIGURE_KEYS)
            break;
        put(n, k.name);
        if (sure(s, steps_of(n, KITH_STEP_MOVE) == 0 && !n->rebuilt, "a key that has room moves another"))
            settle(n, n->count++);
    }
    tell(s, "\n");
    draw(n, UINT64_MAX);
    if (s->wrong != NULL)
        return;
    int new_key = n->count++;
    put(n, n->keys[new_key].name);
    tell(s, "       %s comes, and both of its places are taken.\n", n->keys[new_key].name);
    /* A walk makes a move for each place that it looks at, but for the first; one that fails makes them again, backwards. */
    unsigned moves = steps_of(n, KITH_STEP_MOVE);
    follow_walk(n, new_key, n->rebuilt ? moves / 2 : moves);
    if (s->wrong == NULL && n->rebuilt)
        draw_after_rebuild(n);
    if (s->wrong == NULL)
        check(n);
}

static void figure(story *s, figure_key last) {
    static const nest EMPTY;
    nest n = EMPTY, blocked = EMPTY;
    draw_figure(s, &n, &blocked, last);
    kith_table_free(n.table);
    kith_table_free(blocked.table);
}

/* ---- four to a bucket ---- */

static const char *const BUCKET_OPTIONS = "d=2 b=4 insert=search load=100";

/* Fills the table up to the first key that moves two others or more. False: it was rebuilt before. */
static bool fill_buckets(nest *n) {
    for (n->count = 0; n->count < KEYS_MAX && n->s->wrong == NULL;) {
        key *k = &n->keys[n->count];
        (void)snprintf(k->name, sizeof k->name, "k%d", n->count + 1);
        put(n, k->name);
        unsigned moves = steps_of(n, KITH_STEP_MOVE);
        if (n->rebuilt)
            return false;
        if (moves >= 2)
            return true;
        if (moves == 1) {
            const step *move = move_number(n, 0);
            n->at[move->to] = n->at[move->place];
            n->at[move->place] = n->count++;
        } else {
            settle(n, n->count++);
        }
    }
    return false;
}

static void buckets(story *s) {
    nest n;
    bool found = false;
    for (uint64_t i = 0; !found && sure(s, i < TRIES, "no key has to move two others"); i++) {
        if (!begin(&n, s, BUCKET_OPTIONS, 4, (uint64_t)4 * BUCKETS, s->seed * TRIES + i)) {
            kith_table_free(n.table);
            return;
        }
        found = fill_buckets(&n);
        if (!found)
            kith_table_free(n.table);
        if (s->wrong != NULL)
            break;
    }
    if (!found)
        return;
    draw(&n, UINT64_MAX);
    tell(s, "       k%d comes, and both of its buckets are full.\n", n.count + 1);
    follow_search(&n, n.count);
    n.count++;
    if (s->wrong == NULL)
        check(&n);
    kith_table_free(n.table);
}

void trace_cuckoo(story *s) {
    tell_title(s, "Cuckoo hashing: one place for each of two functions, as in figure 1 of [4]");
    tell(s, "h1 gives a place of the first half, h2 one of the second. The caption of the\n"
            "figure has h2(x) = 6; its text says 1, which is no place of the second half.\n\n");
    figure(s, (figure_key){'x', 2, 6});
    if (s->wrong != NULL)
        return;
    tell_title(s, "The same table, and a key that can't get in: a bad configuration");
    tell(s, "b, w and the new key have the same two places.\n\n");
    figure(s, (figure_key){'x', 1, 6});
    if (s->wrong != NULL)
        return;
    tell_title(s, "Four slots to a bucket: the search");
    tell(s, "Nothing moves until a free slot is found; then the last of the path moves.\n\n");
    buckets(s);
}
