/* cuckoo.c: draws how keys are inserted into a cuckoo table.
 *
 *     figure 1 of [4]      six slots, five keys, and a sixth key that moves three of them; before that, figure 2: the
 *                          cuckoo graph of the five keys
 *     one cycle            a walk that goes around a cycle, turns round and succeeds
 *     bad configuration    the same table, but the candidate slots of the sixth key hold two keys that have the same
 *                          two candidates
 *     four per bucket      a table with the default options: nothing moves until the search has found a free slot
 *
 * The keys of figure 1 have names such as a7. Numbers are tried until a key has, in a table with this seed, the two
 * candidate slots that the figure gives it. The candidate slots of a key are read from a second table with the same
 * seed, and therefore with the same hash functions. All first slots of that table are occupied. So a key that is
 * inserted there goes to its second slot, and a lookup reads both of its slots.
 *
 * The drawing is made from a copy of the table, `at`, which repeats the moves in the trace. At the end of each example
 * every key is looked up and must be found where the copy has it. */
#include <stdio.h>
#include <string.h>

#include "example.h"

enum {
    NAME_BYTES = 16,
    STEPS_MAX = 1024,
    KEYS_MAX = 64,
    SLOTS_MAX = 256,
    ROW = 10,      /* slots drawn side by side */
    TRIES = 10000, /* the most numbers or seeds to try until one fits; about a dozen are enough */
    FIGURE_SLOTS = 6,
    FIGURE_KEYS = 5,
    BUCKETS = 6,
    NO_KEY = -1,
};

typedef struct key {
    char name[NAME_BYTES];
    uint64_t first, second; /* the candidate slots, if they are known */
} key;

typedef struct step {
    kith_step what;
    uint64_t slot, to;
} step;

typedef struct drawing {
    example *x;
    kith_table *table;
    unsigned b;
    uint64_t slots;
    bool candidates_known; /* false once new hash functions were drawn */
    key keys[KEYS_MAX];
    int count;
    int at[SLOTS_MAX]; /* the key in a slot, or NO_KEY */
    step steps[STEPS_MAX];
    unsigned step_count;
    bool rebuilt;
} drawing;

/* ---- tables and their steps ---- */

/* Of a rebuild only the first step is kept, because the slots after it are those of another table. */
static void record(void *context, kith_step what, uint64_t slot, uint64_t to) {
    drawing *d = context;
    bool rebuild = what == KITH_STEP_REHASH || what == KITH_STEP_GROW;
    if (!d->rebuilt && d->step_count < STEPS_MAX)
        d->steps[d->step_count++] = (step){what, slot, to};
    d->rebuilt |= rebuild;
}

static uint64_t slots_of(example *x, const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    (void)check_status(x, kith_table_stats_of(table, &stats));
    return stats.slots;
}

static bool begin(drawing *d, example *x, const char *options, unsigned b, uint64_t slots, uint64_t seed) {
    *d = (drawing){.x = x, .b = b, .candidates_known = b == 1};
    memset(d->at, 0xff, sizeof d->at);
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.options = options;
    spec.capacity = slots - b; /* the library adds one bucket */
    spec.seed = seed != 0 ? seed : 1;
    if (!check_status(x, kith_table_create(&spec, &d->table)))
        return false;
    kith_table_set_trace(d->table, record, d);
    d->slots = slots_of(x, d->table);
    return check(x, d->slots == slots, "the table does not have the requested number of slots");
}

static void put(drawing *d, const char *name) {
    d->step_count = 0;
    d->rebuilt = false;
    (void)check_status(d->x, kith_table_put(d->table, name, strlen(name), 0, NULL));
    (void)check(d->x, d->step_count < STEPS_MAX, "an insertion takes more steps than can be recorded");
}

/* Looks a key up and records the steps. */
static bool look_up(drawing *d, const char *name) {
    d->step_count = 0;
    d->rebuilt = false;
    return kith_table_has(d->table, name, strlen(name));
}

/* Returns the first slot of the bucket in which the key is found. */
static uint64_t found_at(drawing *d, const char *name) {
    bool found = look_up(d, name);
    return check(d->x, found && d->step_count > 0, "a key is lost") ? d->steps[d->step_count - 1].slot : 0;
}

/* ---- the candidate slots of a key ---- */

static void block_first_slots(drawing *blocked) {
    uint64_t left = blocked->slots / 2;
    for (unsigned i = 0; left > 0 && check(blocked->x, i < TRIES, "a slot is not the first slot of any key"); i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "blocker %u", i);
        (void)look_up(blocked, name);
        uint64_t slot = blocked->steps[0].slot;
        if (blocked->at[slot] != NO_KEY)
            continue;
        blocked->at[slot] = 0;
        left--;
        put(blocked, name);
    }
}

static void find_candidates(drawing *blocked, key *k) {
    put(blocked, k->name);
    (void)look_up(blocked, k->name);
    if (!check(blocked->x, blocked->step_count == 2, "a lookup does not read two slots"))
        return;
    k->first = blocked->steps[0].slot;
    k->second = blocked->steps[1].slot;
    (void)check_status(blocked->x, kith_table_remove(blocked->table, k->name, strlen(k->name), NULL));
}

/* Finds the key with this letter, the lowest number and these candidate slots. */
static void find_key(drawing *blocked, char letter, uint64_t first, uint64_t second, key *k) {
    unsigned number = 0;
    do {
        (void)snprintf(k->name, sizeof k->name, "%c%u", letter, ++number % TRIES);
        find_candidates(blocked, k);
    } while (check(blocked->x, number < TRIES, "no key has these slots") && (k->first != first || k->second != second));
}

/* ---- drawing ---- */

static const char *name_at(const drawing *d, uint64_t slot) {
    return d->at[slot] == NO_KEY ? "" : d->keys[d->at[slot]].name;
}

typedef char slot_text[64];

/* Numbers count from 1, as in the figure: "slot 4", or "bucket 2 slot 4". */
static const char *slot_name(const drawing *d, uint64_t slot, slot_text text) {
    if (d->b == 1)
        (void)snprintf(text, sizeof(slot_text), "slot %llu", (unsigned long long)slot + 1);
    else
        (void)snprintf(text, sizeof(slot_text), "bucket %llu slot %llu", (unsigned long long)(slot / d->b) + 1,
                       (unsigned long long)(slot % d->b) + 1);
    return text;
}

static void draw_rule(example *x, uint64_t cells) {
    print(x, "       ");
    for (uint64_t i = 0; i < cells; i++)
        print(x, "+------");
    print(x, "+\n");
}

/* Draws a row of slots, with a star at the one that has changed. */
static void draw_cells(const drawing *d, uint64_t from, uint64_t to, uint64_t changed) {
    for (uint64_t slot = from; slot < to; slot++)
        print(d->x, "|%c%-5s", slot == changed ? '*' : ' ', name_at(d, slot));
    print(d->x, "|\n");
}

/* Draws a row of numbers, each above or below the first letter of its cell: the numbers of the slots, or for each slot
 * the other candidate slot of its key, which is what the arrows of figure 1 show. */
static void draw_numbers(const drawing *d, uint64_t from, uint64_t to, bool others) {
    print(d->x, others ? "other" : "slot ");
    uint64_t column = 5;
    for (uint64_t slot = from; slot < to; slot++) {
        const key *k = d->at[slot] == NO_KEY ? NULL : &d->keys[d->at[slot]];
        if (others && k == NULL)
            continue;
        uint64_t number = !others ? slot : k->first == slot ? k->second : k->first, cell = 9 + 7 * (slot - from);
        print(d->x, "%*s%llu", (int)(cell - column), "", (unsigned long long)number + 1);
        column = cell + (number + 1 > 9 ? 2 : 1);
    }
    print(d->x, "\n");
}

static void draw(const drawing *d, uint64_t changed) {
    uint64_t row = d->b == 1 ? ROW : d->b;
    for (uint64_t from = 0; from < d->slots; from += row) {
        uint64_t to = from + row < d->slots ? from + row : d->slots;
        if (d->b == 1)
            draw_numbers(d, from, to, false);
        if (d->b == 1 || from == 0)
            draw_rule(d->x, to - from);
        if (d->b == 1)
            print(d->x, "       ");
        else
            print(d->x, "%5llu  ", (unsigned long long)(from / d->b) + 1);
        draw_cells(d, from, to, changed);
        if (d->b == 1 || to == d->slots)
            draw_rule(d->x, to - from);
        if (d->b == 1 && d->candidates_known)
            draw_numbers(d, from, to, true);
    }
    print(d->x, "\n");
}

/* ---- the steps of an insertion ---- */

static unsigned steps_of(const drawing *d, kith_step what) {
    unsigned count = 0;
    for (unsigned i = 0; i < d->step_count; i++)
        count += d->steps[i].what == what;
    return count;
}

static const step *move_number(const drawing *d, unsigned number) {
    unsigned i = 0;
    while (d->steps[i].what != KITH_STEP_MOVE || number-- > 0)
        i++;
    return &d->steps[i];
}

/* Puts the displaced key into a slot; the key that was there is now the displaced one. */
static void exchange(drawing *d, int *displaced, uint64_t slot) {
    int other = d->at[slot];
    d->at[slot] = *displaced;
    *displaced = other;
}

static void print_move(drawing *d, const step *move, int displaced) {
    slot_text from, to;
    print(d->x, "move   %s from %s to %s", d->keys[displaced].name, slot_name(d, move->slot, from),
          slot_name(d, move->to, to));
    if (d->at[move->to] != NO_KEY)
        print(d->x, ", displacing %s", name_at(d, move->to));
    print(d->x, "\n");
}

/* A walk: the new key takes its first slot, and each displaced key goes to its other candidate slot. */
static void follow_walk(drawing *d, int new_key, unsigned moves) {
    int displaced = new_key;
    uint64_t slot = d->keys[new_key].first;
    if (!check(d->x, moves > 0 && move_number(d, 0)->slot == slot, "the walk does not begin at the first slot"))
        return;
    slot_text text;
    print(d->x, "put    %s into %s, displacing %s\n", d->keys[displaced].name, slot_name(d, slot, text),
          name_at(d, slot));
    exchange(d, &displaced, slot);
    draw(d, slot);
    for (unsigned i = 0; i < moves; i++) {
        const step *move = move_number(d, i);
        if (!check(d->x, move->slot == slot && displaced != NO_KEY, "a move begins at a slot that displaced no key"))
            return;
        slot = move->to;
        print_move(d, move, displaced);
        exchange(d, &displaced, slot);
        draw(d, slot);
    }
    if (!d->rebuilt) {
        (void)check(d->x, displaced == NO_KEY, "the last displaced key has no slot");
        return;
    }
    /* The walk is undone: each displaced key goes back to the slot that it was displaced from, the last one first. */
    slot_text back;
    print(d->x, "The walk has reached its limit of steps. All of its moves are undone.\n");
    print(d->x, "undo   %s to %s\n", d->keys[displaced].name, slot_name(d, slot, back));
    exchange(d, &displaced, slot);
    for (unsigned i = moves; i < steps_of(d, KITH_STEP_MOVE); i++) {
        const step *move = move_number(d, i);
        print(d->x, "undo   %s from %s to %s\n", d->keys[displaced].name, slot_name(d, move->slot, text),
              slot_name(d, move->to, back));
        exchange(d, &displaced, move->to);
    }
    (void)check(d->x, displaced == new_key, "undoing a walk leaves another key than the new one");
}

/* A search: the last key of the path moves first, into the free slot, and the new key is put in last. */
static void follow_search(drawing *d, int new_key) {
    unsigned moves = steps_of(d, KITH_STEP_MOVE);
    uint64_t slot = 0;
    for (unsigned i = 0; i < moves; i++) {
        const step *move = move_number(d, i);
        int moved = d->at[move->slot];
        if (!check(d->x, moved != NO_KEY && d->at[move->to] == NO_KEY,
                   "a move starts at an empty slot or ends at an occupied one"))
            return;
        print_move(d, move, moved);
        d->at[move->to] = moved;
        d->at[move->slot] = NO_KEY;
        slot = move->slot;
        draw(d, move->to);
    }
    slot_text text;
    print(d->x, "put    %s into %s\n", d->keys[new_key].name, slot_name(d, slot, text));
    d->at[slot] = new_key;
    draw(d, slot);
}

/* Notes a key that was inserted without a move: it has the lowest free slot of its bucket. */
static void place_without_moves(drawing *d, int new_key) {
    uint64_t slot = found_at(d, d->keys[new_key].name), end = slot + d->b;
    while (slot < end && d->at[slot] != NO_KEY)
        slot++;
    if (check(d->x, slot < end, "a key is found in a full bucket"))
        d->at[slot] = new_key;
}

/* Checks that lookups find every key where the drawing has it, and prints where that is. */
static void list_keys(drawing *d) {
    for (int i = 0; i < d->count; i++) {
        uint64_t first = found_at(d, d->keys[i].name);
        bool there = false;
        for (unsigned slot = 0; slot < d->b; slot++)
            there |= d->at[first + slot] == i;
        if (!check(d->x, there, "a key is not found where the moves have put it"))
            return;
    }
    print(d->x, "found  ");
    for (int i = 0; i < d->count; i++) {
        uint64_t slot = found_at(d, d->keys[i].name);
        if (i > 0)
            print(d->x, i % 6 == 0 ? ",\n       " : ", ");
        print(d->x, d->b == 1 ? "%s at %llu" : "%s in %llu", d->keys[i].name, (unsigned long long)(slot / d->b) + 1);
    }
    print(d->x, "\n\n");
}

/* Finds every key by a lookup, since the trace does not show where a rebuild put it. */
static void draw_after_rebuild(drawing *d) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    if (!check_status(d->x, kith_table_stats_of(d->table, &stats)))
        return;
    print(d->x, "New hash functions are drawn, %llu time%s, and all keys are inserted again.\n",
          (unsigned long long)stats.rehashes, stats.rehashes == 1 ? "" : "s");
    if (stats.growths > 0)
        print(d->x, "Then the table grows from %llu slots to %llu.\n", (unsigned long long)d->slots,
              (unsigned long long)stats.slots);
    d->slots = stats.slots;
    d->candidates_known = false;
    if (!check(d->x, d->slots <= SLOTS_MAX, "the table has grown too large to be drawn"))
        return;
    memset(d->at, 0xff, sizeof d->at);
    for (int i = 0; i < d->count; i++) {
        uint64_t slot = found_at(d, d->keys[i].name);
        if (!check(d->x, d->at[slot] == NO_KEY, "two keys are in one slot"))
            return;
        d->at[slot] = i;
    }
    draw(d, UINT64_MAX);
}

/* ---- figure 1 ---- */

typedef struct figure_key {
    char letter;
    uint64_t first, second; /* candidate slots, counted from 1 as in the figure */
} figure_key;

/* In this order each key goes where the figure has it. k and w go to their second slot, because the first is
 * occupied. Without the first key it is the table of the cycle that turns round. */
static const figure_key FIGURE[FIGURE_KEYS] = {{'a', 2, 5}, {'b', 1, 6}, {'z', 3, 4}, {'k', 3, 5}, {'w', 1, 6}};

/* Draws figure 2: an edge leads from the slot of a key to its other slot. Slots of the first half are in parentheses,
 * those of the second half in brackets. */
static void draw_graph(const drawing *d) {
    bool drawn[SLOTS_MAX] = {false}, reached[SLOTS_MAX] = {false};
    for (uint64_t i = 0; i < d->slots; i++)
        if (d->at[i] != NO_KEY) {
            const key *k = &d->keys[d->at[i]];
            reached[k->first == i ? k->second : k->first] = true;
        }
    print(d->x, "Figure 2 of [4], the cuckoo graph: an edge leads from the slot of a key to its\n"
                "other slot. (n): first half, [n]: second half\n\n");
    for (unsigned cycles = 0; cycles < 2; cycles++) /* paths from slots that no edge reaches, then the cycles */
        for (uint64_t start = 0; start < d->slots; start++) {
            if (drawn[start] || d->at[start] == NO_KEY || (cycles == 0 && reached[start]))
                continue;
            print(d->x, "   ");
            uint64_t slot = start;
            for (;;) {
                bool half = slot >= d->slots / 2;
                print(d->x, "%c%llu%c", half ? '[' : '(', (unsigned long long)slot + 1, half ? ']' : ')');
                if (d->at[slot] == NO_KEY || drawn[slot])
                    break;
                drawn[slot] = true;
                const key *k = &d->keys[d->at[slot]];
                print(d->x, " -%s-> ", k->name);
                slot = k->first == slot ? k->second : k->first;
            }
            print(d->x, "%s\n", d->at[slot] == NO_KEY ? "   free" : "   a cycle");
        }
    print(d->x, "\n");
}

static const char *const FIGURE_OPTIONS = "layout=two d=2 b=1 insert=walk load=100";

static void print_key(example *x, const key *k) {
    print(x, "key    %-6s h1 = %llu, h2 = %llu\n", k->name, (unsigned long long)k->first + 1,
          (unsigned long long)k->second + 1);
}

static void draw_figure(example *x, drawing *d, drawing *blocked, unsigned from, figure_key last) {
    if (!begin(d, x, FIGURE_OPTIONS, 1, FIGURE_SLOTS, x->seed) ||
        !begin(blocked, x, FIGURE_OPTIONS, 1, FIGURE_SLOTS, x->seed))
        return;
    block_first_slots(blocked);
    for (unsigned i = from; i <= FIGURE_KEYS && x->wrong == NULL; i++) {
        figure_key f = i < FIGURE_KEYS ? FIGURE[i] : last;
        key k = {0};
        find_key(blocked, f.letter, f.first - 1, f.second - 1, &k);
        print_key(x, &k);
        d->keys[d->count] = k;
        if (i == FIGURE_KEYS)
            break;
        put(d, k.name);
        if (check(x, steps_of(d, KITH_STEP_MOVE) == 0 && !d->rebuilt, "a key with a free candidate slot moves another"))
            place_without_moves(d, d->count++);
    }
    print(x, "\n");
    draw(d, UINT64_MAX);
    if (x->wrong != NULL)
        return;
    draw_graph(d);
    int new_key = d->count++;
    put(d, d->keys[new_key].name);
    print(x, "       %s is inserted. Both of its slots are occupied.\n", d->keys[new_key].name);
    /* A walk makes one move for each slot that it reads after the first. A walk that fails repeats them backwards. */
    unsigned moves = steps_of(d, KITH_STEP_MOVE);
    follow_walk(d, new_key, d->rebuilt ? moves / 2 : moves);
    if (x->wrong == NULL && d->rebuilt)
        draw_after_rebuild(d);
    if (x->wrong == NULL)
        list_keys(d);
}

/* Draws the table of the keys FIGURE[from …] and the insertion of the last key. */
static void figure(example *x, unsigned from, figure_key last) {
    static const drawing EMPTY;
    drawing d = EMPTY, blocked = EMPTY;
    draw_figure(x, &d, &blocked, from, last);
    kith_table_free(d.table);
    kith_table_free(blocked.table);
}

/* ---- four slots per bucket ---- */

static const char *const BUCKET_OPTIONS = "d=2 b=4 insert=search load=100";

/* Fills the table up to the first key that moves at least two others. Returns false if a rebuild came first. */
static bool fill_buckets(drawing *d) {
    for (d->count = 0; d->count < KEYS_MAX && d->x->wrong == NULL;) {
        key *k = &d->keys[d->count];
        (void)snprintf(k->name, sizeof k->name, "k%d", d->count + 1);
        put(d, k->name);
        unsigned moves = steps_of(d, KITH_STEP_MOVE);
        if (d->rebuilt)
            return false;
        if (moves >= 2)
            return true;
        if (moves == 1) {
            const step *move = move_number(d, 0);
            d->at[move->to] = d->at[move->slot];
            d->at[move->slot] = d->count++;
        } else {
            place_without_moves(d, d->count++);
        }
    }
    return false;
}

static void buckets(example *x) {
    drawing d;
    bool found = false;
    for (uint64_t i = 0; !found && check(x, i < TRIES, "no key has to move two others"); i++) {
        if (!begin(&d, x, BUCKET_OPTIONS, 4, (uint64_t)4 * BUCKETS, x->seed * TRIES + i)) {
            kith_table_free(d.table);
            return;
        }
        found = fill_buckets(&d);
        if (!found)
            kith_table_free(d.table);
        if (x->wrong != NULL)
            break;
    }
    if (!found)
        return;
    draw(&d, UINT64_MAX);
    print(x, "       k%d is inserted. Both of its buckets are full.\n", d.count + 1);
    follow_search(&d, d.count);
    d.count++;
    if (x->wrong == NULL)
        list_keys(&d);
    kith_table_free(d.table);
}

void trace_cuckoo(example *x) {
    print_title(x, "Cuckoo hashing: two functions, one slot per bucket, as in figure 1 of [4]");
    print(x, "h1 gives a slot in the first half, h2 one in the second half. The caption of\n"
             "the figure has h2(x) = 6; its text has 1, which is not in the second half.\n\n");
    figure(x, 0, (figure_key){'x', 2, 6});
    if (x->wrong != NULL)
        return;
    print_title(x, "The same table and a key that cannot be inserted: a bad configuration");
    print(x, "b, w and the new key have the same two candidate slots.\n\n");
    figure(x, 0, (figure_key){'x', 1, 6});
    if (x->wrong != NULL)
        return;
    print_title(x, "One cycle is not a failure: the walk turns round");
    print(x, "The walk goes around the cycle of b and w, displaces the new key again, and\n"
             "then succeeds from its other slot. [0] would draw new functions.\n\n");
    figure(x, 1, (figure_key){'x', 1, 5});
    if (x->wrong != NULL)
        return;
    print_title(x, "Four slots per bucket: the breadth-first search");
    print(x, "Nothing moves until a free slot is found. Then the last key of the path moves\n"
             "first.\n\n");
    buckets(x);
}

/* ---- keys of the user ---- */

static void insert_own_keys(example *x, drawing *d) {
    d->candidates_known = false;
    for (unsigned i = 0; i < x->key_count && x->wrong == NULL; i++) {
        (void)snprintf(d->keys[d->count].name, NAME_BYTES, "%s", x->keys[i]);
        put(d, x->keys[i]);
        unsigned moves = steps_of(d, KITH_STEP_MOVE);
        int new_key = d->count++;
        if (moves == 0 && !d->rebuilt) {
            place_without_moves(d, new_key);
            slot_text text;
            uint64_t slot = found_at(d, x->keys[i]);
            print(x, "put    %s into %s\n", x->keys[i], slot_name(d, slot, text));
            draw(d, slot);
            continue;
        }
        if (moves > 0) {
            d->keys[new_key].first = move_number(d, 0)->slot;
            follow_walk(d, new_key, d->rebuilt ? moves / 2 : moves);
        }
        if (x->wrong == NULL && d->rebuilt)
            draw_after_rebuild(d);
    }
    if (x->wrong == NULL)
        list_keys(d);
}

void trace_own_table(example *x) {
    static const drawing EMPTY;
    drawing d = EMPTY;
    uint64_t slots = 2 * ((uint64_t)x->key_count + x->key_count / 8 + 1);
    print_title(x, "Cuckoo hashing: your keys, two functions, one slot per bucket");
    print(x, "h1 gives a slot in the first half, h2 one in the second half.\n\n");
    if (begin(&d, x, FIGURE_OPTIONS, 1, slots, x->seed))
        insert_own_keys(x, &d);
    kith_table_free(d.table);
}
