/* drawing.c: see drawing.h. */
#include "drawing.h"

#include <stdio.h>
#include <string.h>

enum {
    ROW = 10,        /* slots drawn side by side; a longer table is drawn as two rows, its halves, if these fit */
    TABLE_MAX = 100, /* slots of a table that is drawn after a rebuild */
};

/* ---- tables and their steps ---- */

/* Of a rebuild only the first step is kept, because the slots after it are those of another table. */
static void record(void *context, kith_step what, uint64_t slot, uint64_t to) {
    drawing *d = context;
    bool rebuild = what == KITH_STEP_REHASH || what == KITH_STEP_GROW;
    if (!d->rebuilt && d->step_count < DRAWING_STEPS_MAX)
        d->steps[d->step_count++] = (drawn_step){what, slot, to};
    d->rebuilt |= rebuild;
}

static uint64_t slots_of(example *x, const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    (void)check_status(x, kith_table_stats_of(table, &stats));
    return stats.slots;
}

bool drawing_begin(drawing *d, example *x, const char *options, unsigned b, uint64_t slots, uint64_t seed) {
    memset(d, 0, sizeof *d);
    d->x = x;
    d->options = options;
    d->b = b;
    d->seed = seed;
    d->slots_at_first = slots;
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

void drawing_end(drawing *d) {
    kith_table_free(d->table);
    d->table = NULL;
}

void drawing_put(drawing *d, const char *name) {
    d->step_count = 0;
    d->rebuilt = false;
    (void)check_status(d->x, kith_table_put(d->table, name, strlen(name), 0, NULL));
    (void)check(d->x, d->step_count < DRAWING_STEPS_MAX, "an insertion takes more steps than can be recorded");
}

bool drawing_look_up(drawing *d, const char *name) {
    d->step_count = 0;
    d->rebuilt = false;
    return kith_table_has(d->table, name, strlen(name));
}

/* Returns the first slot of the bucket in which the key is found. */
static uint64_t found_at(drawing *d, const char *name) {
    bool found = drawing_look_up(d, name);
    return check(d->x, found && d->step_count > 0, "a key is lost") ? d->steps[d->step_count - 1].slot : 0;
}

unsigned drawing_moves(const drawing *d) {
    unsigned count = 0;
    for (unsigned i = 0; i < d->step_count; i++)
        count += d->steps[i].what == KITH_STEP_MOVE;
    return count;
}

const drawn_step *drawing_move(const drawing *d, unsigned number) {
    unsigned i = 0;
    while (d->steps[i].what != KITH_STEP_MOVE || number-- > 0)
        i++;
    return &d->steps[i];
}

/* ---- the candidate slots of keys ---- */

static void block_first_slots(drawing *blocked) {
    uint64_t left = blocked->slots / 2;
    for (unsigned i = 0; left > 0 && check(blocked->x, i < DRAWING_TRIES, "a slot is not the first slot of any key");
         i++) {
        char name[DRAWING_NAME_BYTES];
        (void)snprintf(name, sizeof name, "block %u", i);
        (void)drawing_look_up(blocked, name);
        int *last = &blocked->at[blocked->steps[0].slot]; /* the number of its last blocker; NO_KEY: none */
        if (*last + 1 == (int)blocked->b)
            continue;
        ++*last;
        left--;
        drawing_put(blocked, name);
    }
}

bool drawing_begin_blocked(drawing *blocked, const drawing *d) {
    if (!drawing_begin(blocked, d->x, d->options, d->b, d->slots_at_first, d->seed))
        return false;
    for (int i = 0; i < d->count; i++)
        drawing_put(blocked, d->keys[i].name);
    blocked->slots = slots_of(d->x, blocked->table);
    if (!check(d->x, blocked->slots == d->slots, "the same insertions give another table") ||
        !check_status(d->x, kith_table_clear(blocked->table)))
        return false;
    block_first_slots(blocked);
    return blocked->x->wrong == NULL;
}

void drawing_find_candidates(drawing *blocked, drawn_key *k) {
    drawing_put(blocked, k->name);
    (void)drawing_look_up(blocked, k->name);
    if (!check(blocked->x, blocked->step_count == 2, "a lookup does not read two buckets"))
        return;
    k->first = blocked->steps[0].slot;
    k->second = blocked->steps[1].slot;
    (void)check_status(blocked->x, kith_table_remove(blocked->table, k->name, strlen(k->name), NULL));
}

void drawing_learn(drawing *d, int from) {
    drawing blocked;
    if (drawing_begin_blocked(&blocked, d))
        for (int i = from; i < d->count && d->x->wrong == NULL; i++)
            drawing_find_candidates(&blocked, &d->keys[i]);
    drawing_end(&blocked);
}

void print_key(const drawing *d, const drawn_key *k) {
    print(d->x, "key    %-6s h1 = %llu, h2 = %llu\n", k->name, (unsigned long long)(k->first / d->b) + 1,
          (unsigned long long)(k->second / d->b) + 1);
}

/* ---- drawing ---- */

static const char *name_at(const drawing *d, uint64_t slot) {
    return d->at[slot] == NO_KEY ? "" : d->keys[d->at[slot]].name;
}

/* The other candidate slot of the key in this slot. */
static uint64_t other_slot(const drawing *d, uint64_t slot) {
    const drawn_key *k = &d->keys[d->at[slot]];
    return k->first == slot ? k->second : k->first;
}

const char *slot_name(const drawing *d, uint64_t slot, slot_text text) {
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

static void draw_cells(const drawing *d, uint64_t from, uint64_t to, uint64_t changed) {
    for (uint64_t slot = from; slot < to; slot++)
        print(d->x, "|%c%-5s", slot == changed ? '*' : ' ', name_at(d, slot));
    print(d->x, "|\n");
}

/* Draws a row of numbers, each above or below the first letter of its cell: the numbers of the slots, or for each slot
 * the other candidate slot of its key, which is what the arrows of figure 1 show. */
static void draw_numbers(const drawing *d, uint64_t from, uint64_t to, bool others) {
    bool any = !others;
    for (uint64_t slot = from; slot < to; slot++)
        any |= d->at[slot] != NO_KEY;
    if (!any)
        return;
    print(d->x, others ? "other" : "slot ");
    uint64_t column = 5;
    for (uint64_t slot = from; slot < to; slot++) {
        if (others && d->at[slot] == NO_KEY)
            continue;
        uint64_t number = others ? other_slot(d, slot) : slot, cell = 9 + 7 * (slot - from);
        print(d->x, "%*s%llu", (int)(cell - column), "", (unsigned long long)number + 1);
        column = cell + (number + 1 > 99 ? 3 : number + 1 > 9 ? 2 : 1);
    }
    print(d->x, "\n");
}

void draw_table(const drawing *d, uint64_t changed) {
    uint64_t half = d->slots / 2, row = d->b > 1 ? d->b : d->slots > ROW && half <= ROW ? half : ROW;
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
        if (d->b == 1)
            draw_numbers(d, from, to, true);
    }
    print(d->x, "\n");
}

/* Slots of the first half are in parentheses, those of the second half in brackets. */
static void print_node(word_list *l, const drawing *d, uint64_t slot, const char *edge) {
    bool half = slot >= d->slots / 2;
    print_word(l, "%c%llu%c%s%s%s", half ? '[' : '(', (unsigned long long)slot + 1, half ? ']' : ')',
               *edge != '\0' ? " -" : "", edge, *edge != '\0' ? "->" : "");
}

void draw_graph(const drawing *d, const char *title) {
    bool drawn[DRAWING_SLOTS_MAX] = {false}, reached[DRAWING_SLOTS_MAX] = {false};
    for (uint64_t i = 0; i < d->slots; i++)
        if (d->at[i] != NO_KEY)
            reached[other_slot(d, i)] = true;
    print(d->x, "%s\nAn edge leads from a key's slot to its other slot; (n) first half, [n] second.\n\n", title);
    for (unsigned cycles = 0; cycles < 2; cycles++) /* paths from slots that no edge reaches, then the cycles */
        for (uint64_t start = 0; start < d->slots; start++) {
            if (drawn[start] || d->at[start] == NO_KEY || (cycles == 0 && reached[start]))
                continue;
            bool on_this_path[DRAWING_SLOTS_MAX] = {false};
            print(d->x, "   ");
            word_list line = begin_list(d->x, 3);
            uint64_t slot = start;
            while (d->at[slot] != NO_KEY && !drawn[slot]) {
                drawn[slot] = on_this_path[slot] = true;
                print_node(&line, d, slot, name_at(d, slot));
                slot = other_slot(d, slot);
            }
            print_node(&line, d, slot, "");
            print_word(&line, d->at[slot] == NO_KEY ? "  free" : on_this_path[slot] ? "  a cycle" : "  see there");
            end_list(&line);
        }
    print(d->x, "\n");
}

/* ---- the steps of a walk ---- */

/* Puts the displaced key into a slot; the key that was there is now the displaced one. */
static void exchange(drawing *d, int *displaced, uint64_t slot) {
    int other = d->at[slot];
    d->at[slot] = *displaced;
    *displaced = other;
}

static void note_key(drawing *d, int key) {
    if (check(d->x, d->sequence_length < DRAWING_STEPS_MAX, "a walk has too many keys"))
        d->sequence[d->sequence_length++] = key;
}

/* A walk makes one move for each slot that it reads after the first. A walk that fails repeats them backwards. */
static unsigned moves_forwards(const drawing *d) {
    return d->rebuilt ? drawing_moves(d) / 2 : drawing_moves(d);
}

/* Returns the key that the last move displaced: the one without a slot when a walk has failed. */
static int last_of(const drawing *d) {
    return d->sequence[d->sequence_length - 1];
}

uint64_t follow_walk(drawing *d, int new_key, unsigned flags) {
    int displaced = new_key;
    uint64_t slot = d->keys[new_key].first;
    unsigned moves = moves_forwards(d);
    slot_text text;
    d->sequence_length = 0;
    note_key(d, new_key);
    if (!check(d->x, moves > 0 && drawing_move(d, 0)->slot == slot, "the walk does not begin at the first slot"))
        return 0;
    print(d->x, "put    %s into %s, displacing %s\n", d->keys[displaced].name, slot_name(d, slot, text),
          name_at(d, slot));
    exchange(d, &displaced, slot);
    if ((flags & WALK_TABLES) != 0)
        draw_table(d, slot);
    for (unsigned i = 0; i < moves; i++) {
        const drawn_step *move = drawing_move(d, i);
        if (!check(d->x, move->slot == slot && displaced != NO_KEY, "a move begins at a slot that displaced no key") ||
            !check(d->x, d->keys[displaced].first == move->to || d->keys[displaced].second == move->to,
                   "a move ends at a slot that is not the key's"))
            return 0;
        note_key(d, displaced);
        slot = move->to;
        slot_text from, to;
        print(d->x, "move   %s from %s to %s", d->keys[displaced].name, slot_name(d, move->slot, from),
              slot_name(d, move->to, to));
        if (d->at[slot] != NO_KEY)
            print(d->x, ", displacing %s", name_at(d, slot));
        print(d->x, "\n");
        exchange(d, &displaced, slot);
        if ((flags & WALK_TABLES) != 0)
            draw_table(d, slot);
    }
    if (d->rebuilt)
        note_key(d, displaced);
    else
        (void)check(d->x, displaced == NO_KEY, "the last displaced key has no slot");
    return slot;
}

/* Each displaced key goes back to the slot that it was displaced from, the last one first. */
void follow_undo(drawing *d, int new_key, uint64_t slot) {
    int displaced = last_of(d);
    slot_text text, back;
    print(d->x, "The walk has reached its limit of %u steps, Max. All of its moves are undone.\n",
          moves_forwards(d) + 1);
    print(d->x, "undo   %s to %s\n", d->keys[displaced].name, slot_name(d, slot, back));
    exchange(d, &displaced, slot);
    for (unsigned i = moves_forwards(d); i < drawing_moves(d); i++) {
        const drawn_step *move = drawing_move(d, i);
        print(d->x, "undo   %s from %s to %s\n", d->keys[displaced].name, slot_name(d, move->slot, text),
              slot_name(d, move->to, back));
        exchange(d, &displaced, move->to);
    }
    (void)check(d->x, displaced == new_key, "undoing a walk leaves another key than the new one");
}

/* ---- keys without moves, and all keys ---- */

/* The key has the lowest free slot of its bucket. */
uint64_t place_without_moves(drawing *d, int new_key) {
    uint64_t slot = found_at(d, d->keys[new_key].name), end = slot + d->b;
    while (slot < end && d->at[slot] != NO_KEY)
        slot++;
    if (!check(d->x, slot < end, "a key is found in a full bucket"))
        return 0;
    d->at[slot] = new_key;
    return slot;
}

void draw_after_rebuild(drawing *d) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    if (!check_status(d->x, kith_table_stats_of(d->table, &stats)))
        return;
    if (stats.rehashes > 0)
        print(d->x, "New hash functions are drawn, %llu time%s, and all keys are inserted again.\n",
              (unsigned long long)stats.rehashes, stats.rehashes == 1 ? "" : "s");
    if (stats.slots != d->slots)
        print(d->x, "New hash functions and more slots: the table grows from %llu slots to %llu.\n",
              (unsigned long long)d->slots, (unsigned long long)stats.slots);
    d->slots = stats.slots;
    if (!check(d->x, d->slots <= DRAWING_SLOTS_MAX, "the table has grown too large to be drawn"))
        return;
    drawing_learn(d, 0);
    memset(d->at, 0xff, sizeof d->at);
    for (int i = 0; i < d->count && d->x->wrong == NULL; i++) {
        uint64_t slot = found_at(d, d->keys[i].name);
        if (!check(d->x, d->at[slot] == NO_KEY, "two keys are in one slot") ||
            !check(d->x, slot == d->keys[i].first || slot == d->keys[i].second, "a key is in a slot of another key"))
            return;
        d->at[slot] = i;
    }
    if (d->slots <= TABLE_MAX)
        draw_table(d, UINT64_MAX);
    else
        print(d->x, "\n");
}

void list_keys(drawing *d) {
    for (int i = 0; i < d->count; i++) {
        uint64_t first = found_at(d, d->keys[i].name);
        bool there = false;
        for (unsigned slot = 0; slot < d->b; slot++)
            there |= d->at[first + slot] == i;
        if (!check(d->x, there, "a key is not found where the moves have put it"))
            return;
    }
    print(d->x, "found  ");
    word_list line = begin_list(d->x, 7);
    for (int i = 0; i < d->count; i++)
        print_word(&line, "%s %s %llu%s", d->keys[i].name, d->b == 1 ? "at" : "in",
                   (unsigned long long)(found_at(d, d->keys[i].name) / d->b) + 1, i + 1 < d->count ? "," : "");
    end_list(&line);
    print(d->x, "\n");
}
