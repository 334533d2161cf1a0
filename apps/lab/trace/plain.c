/* plain.c: draws the two classic hash tables: chaining, and open addressing.
 *
 * The trace of a table has the nodes and slots that an operation reads. A chain of the drawing is what lookups of its
 * keys read: the key that is found as the i-th node of slot s is there. In open addressing a key is in the last slot
 * that its lookup reads, and kith_table_find() says where an absent key belongs. */
#include <stdio.h>
#include <string.h>

#include "example.h"

enum { LOOKS_MAX = 64, ROW = 8 };

static const char *const KEYS[] = {"owl", "crow", "wren", "lark", "finch", "gull"};

typedef struct looks {
    uint64_t at[LOOKS_MAX];
    unsigned count;
} looks;

typedef struct plain {
    example *x;
    kith_table *table;
    const char *const *keys;
    unsigned count; /* keys that are in the table are among keys[0 … count - 1] */
    uint64_t slots;
    looks looks; /* of the last operation */
} plain;

static void record(void *context, kith_step step, uint64_t at, uint64_t to) {
    plain *p = context;
    (void)to;
    if (step == KITH_STEP_LOOK && p->looks.count < LOOKS_MAX)
        p->looks.at[p->looks.count++] = at;
}

static bool look_up(plain *p, const char *key) {
    p->looks.count = 0;
    return kith_table_has(p->table, key, strlen(key));
}

static void begin(plain *p, example *x, const char *kind, const char *options, uint64_t capacity) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    *p = (plain){.x = x, .keys = x->key_count > 0 ? x->keys : KEYS};
    spec.kind = kind;
    spec.options = options;
    spec.capacity = capacity;
    spec.seed = x->seed;
    if (!check_status(x, kith_table_create(&spec, &p->table)))
        return;
    kith_table_set_trace(p->table, record, p);
    (void)check_status(x, kith_table_stats_of(p->table, &stats));
    p->slots = stats.slots;
}

static unsigned key_count(const example *x) {
    return x->key_count > 0 ? x->key_count : sizeof KEYS / sizeof *KEYS;
}

static void put(plain *p) {
    const char *key = p->keys[p->count++];
    p->looks.count = 0;
    (void)check_status(p->x, kith_table_put(p->table, key, strlen(key), 0, NULL));
}

static void remove_key(plain *p, const char *key) {
    p->looks.count = 0;
    (void)check_status(p->x, kith_table_remove(p->table, key, strlen(key), NULL));
}

/* Looks up absent keys and leaves the steps of the one that reads most in p->looks. */
static void look_up_absent(plain *p, char name[16]) {
    enum { TRIED = 100 };
    unsigned best = 1, most = 0;
    for (unsigned i = 1; i <= TRIED + 1; i++) {
        (void)snprintf(name, 16, "bird%u", i <= TRIED ? i : best);
        if (!check(p->x, !look_up(p, name), "a key that was not inserted is found"))
            return;
        if (i <= TRIED && p->looks.count > most) {
            best = i;
            most = p->looks.count;
        }
    }
    (void)check(p->x, most > 0, "no absent key reads an occupied slot");
}

/* ---- chaining ---- */

/* The key that is node number `node` of the chain, or NULL. */
static const char *node_at(plain *p, uint64_t slot, unsigned node) {
    for (unsigned i = 0; i < p->count; i++)
        if (look_up(p, p->keys[i]) && p->looks.count == node + 1 && p->looks.at[node] == slot)
            return p->keys[i];
    return NULL;
}

static void draw_chains(plain *p) {
    uint64_t drawn = 0;
    for (uint64_t slot = 0; slot < p->slots; slot++) {
        print(p->x, "%6llu |", (unsigned long long)slot + 1);
        word_list line = begin_list(p->x, 8);
        const char *key;
        for (unsigned node = 0; (key = node_at(p, slot, node)) != NULL; node++, drawn++)
            print_word(&line, "-> %s", key);
        end_list(&line);
    }
    (void)check(p->x, drawn == kith_table_count(p->table), "the chains do not have all keys");
    print(p->x, "\n");
}

static void put_into_chain(plain *p) {
    put(p);
    const char *key = p->keys[p->count - 1];
    unsigned read = p->looks.count;
    if (check(p->x, look_up(p, key) && p->looks.count == 1, "a new key is not the first of its chain"))
        print(p->x, "put    %-5s into slot %llu, as the first of %u\n", key, (unsigned long long)p->looks.at[0] + 1,
              read + 1);
}

void trace_chain(example *x) {
    plain p;
    char name[16];
    unsigned count = key_count(x);
    print_title(x, "Chaining: a slot is a list of the keys with its hash value ([1])");
    print(x, "An insertion reads the whole chain, in case the key is there already, and puts\n"
             "the new key first.\n\n");
    begin(&p, x, "chain", "grow=no", count / 2 + 1);
    while (p.count < count && x->wrong == NULL)
        put_into_chain(&p);
    if (x->wrong == NULL)
        draw_chains(&p);
    if (x->wrong == NULL) {
        bool found = look_up(&p, p.keys[count - 1]);
        print(x, "has    %s: %s, after %u node%s\n", p.keys[count - 1], found ? "true" : "false", p.looks.count,
              p.looks.count == 1 ? "" : "s");
        look_up_absent(&p, name);
        print(x, "has    %s: false, after %s%u node%s of slot %llu\n", name, p.looks.count == 1 ? "" : "all ",
              p.looks.count, p.looks.count == 1 ? "" : "s", (unsigned long long)p.looks.at[0] + 1);
        remove_key(&p, p.keys[0]);
        print(x, "remove %s\n\n", p.keys[0]);
        draw_chains(&p);
    }
    kith_table_free(p.table);
}

/* ---- open addressing ---- */

static void draw_slots(plain *p) {
    const char *at[LOOKS_MAX] = {NULL};
    for (unsigned i = 0; i < p->count; i++)
        if (look_up(p, p->keys[i]))
            at[p->looks.at[p->looks.count - 1]] = p->keys[i];
    for (uint64_t from = 0; from < p->slots; from += ROW) {
        uint64_t to = from + ROW < p->slots ? from + ROW : p->slots;
        print(p->x, "slot     ");
        for (uint64_t slot = from; slot < to; slot++)
            print(p->x, "%-*llu", slot + 1 < to ? 7 : 0, (unsigned long long)slot + 1);
        print(p->x, "\n       ");
        for (uint64_t slot = from; slot < to; slot++)
            print(p->x, "| %-5s", at[slot] != NULL ? at[slot] : "");
        print(p->x, "|\n");
    }
    print(p->x, "\n");
}

/* Prints the slots that the last operation read. */
static void print_looks(plain *p, const char *end) {
    print(p->x, "slots ");
    for (unsigned i = 0; i < p->looks.count; i++)
        print(p->x, "%s%llu", i == 0 ? "" : " ", (unsigned long long)p->looks.at[i] + 1);
    print(p->x, "%s\n", end);
}

static void put_into_slot(plain *p) {
    const char *key = p->keys[p->count];
    kith_find_outcome outcome = KITH_FIND_FULL;
    uint64_t slot = 0;
    (void)check_status(p->x, kith_table_find(p->table, key, strlen(key), &outcome, &slot));
    put(p);
    print(p->x, "put    %-5s ", key);
    print_looks(p, ", the last is free");
    (void)check(p->x,
                outcome == KITH_FIND_ABSENT && p->looks.count > 0 && p->looks.at[p->looks.count - 1] == slot &&
                    look_up(p, key) && p->looks.at[p->looks.count - 1] == slot,
                "a key is not in the slot where its search ended");
}

/* The key in an occupied slot. */
static const char *key_in(plain *p, uint64_t slot) {
    const looks kept = p->looks;
    const char *key = "";
    for (unsigned i = 0; i < p->count; i++)
        if (look_up(p, p->keys[i]) && p->looks.at[p->looks.count - 1] == slot)
            key = p->keys[i];
    p->looks = kept;
    return key;
}

static void draw_probing(example *x, const char *options, const char *sequence) {
    plain p;
    char name[16];
    unsigned count = key_count(x);
    begin(&p, x, "probe", options, count + count / 3 > ROW ? count + count / 3 : ROW);
    print(x, "%s. A search ends at a free slot.\n\n", sequence);
    if (!check(x, p.slots <= LOOKS_MAX, "the table is too large to be drawn"))
        count = 0;
    while (p.count < count && x->wrong == NULL)
        put_into_slot(&p);
    if (x->wrong == NULL)
        draw_slots(&p);
    if (x->wrong == NULL) {
        look_up_absent(&p, name);
        print(x, "has    %-5s ", name);
        print_looks(&p, ": false");
        const char *first = key_in(&p, p.looks.at[0]);
        remove_key(&p, first);
        print(x, "remove %-5s slot %llu gets a tombstone, which searches pass\n", first,
              (unsigned long long)p.looks.at[p.looks.count - 1] + 1);
        bool found = look_up(&p, name);
        print(x, "has    %-5s ", name);
        print_looks(&p, found ? ": true" : ": false");
        print(x, "\n");
    }
    kith_table_free(p.table);
}

void trace_probe(example *x) {
    print_title(x, "Open addressing: a key is in the first free slot of its sequence ([1])");
    draw_probing(x, "sequence=linear grow=no", "Linear probing: one slot after another");
    draw_probing(x, "sequence=double grow=no", "Double hashing: a second hash value apart");
}
