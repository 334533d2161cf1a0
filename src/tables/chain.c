/* chain: a hash table with chaining. A key's value under a random function picks a slot, and a slot is a list.
 *
 *     slots   | head | head | NULL | head | …           slot of a key = high half of its value * number of slots
 *                |
 *                v
 *     node    | next | value of the key | record |      from the arena; the record is that of table_kind.h
 *                |
 *                v   …
 *
 * A search looks at the nodes of one slot: alpha = keys / slots of them on average when the key is absent, and
 * 1 + alpha/2 - alpha/(2n) when it is there (Cormen, Leiserson, Rivest, Stein, 11.2). Both need no more of the family than
 * that two keys share a slot with about 1/m: 2-wise independence, which every family here has or stands for. Nodes carry
 * the 64-bit value of their key. A search compares keys only where it agrees, which for a key that is not in is as good
 * as never, and growth relinks nodes without hashing again.
 *
 * Entries never move: a node stays where it is from the put to the remove of its key, through every growth. The number of
 * slots may be any; when the keys pass `load` percent of it, it doubles. The slot is read from the high end of the value,
 * so the keys of slot i go to slots 2i and 2i + 1, and growth runs through old and new slots once, in order. With grow=no
 * the slots stay as many as the capacity asked for at creation needs, and chains just get longer: for experiments, and for
 * those who would rather have a slow put than one that stops for a growth.
 *
 * The worst case is one chain of all keys. Whoever knows the function, or may choose keys after watching it, reaches it
 * with any family but siphash. Keys chosen before the draw do not: under a random function the fullest of n slots at load
 * 1 holds about log n / log log n of them, which xxh3 shows and siphash keeps against a stranger, too (among byte strings
 * one of 4 bytes and the same with four zeroes behind are one word and share a slot). Of the fullest
 * slot 2-wise independence alone promises no more than O(sqrt(n)).
 *
 *   load 100     a slot of 8 bytes beside a node of 32 to 48: fewer slots would save little, more would not save a look:
 *                an absent key costs 1 node at load 1, and 1/2 at 1/2.
 *   SLOTS_MIN 8  one cache line, for a table that gave no capacity.
 *
 * A put that can't have its node or its slots takes neither. stats walks all slots to find the longest chain. */
#include "tables/common/record.h"

#include <assert.h>

#include "core/function.h"

#define SLOTS_MIN 8

enum { LOAD, GROW, OPTION_COUNT };
enum { GROW_YES, GROW_NO };

static const kith_option OPTIONS[OPTION_COUNT] = {
    [LOAD] = {"load", "25..800", "100", "keys for each hundred slots before growth"},
    [GROW] = {"grow", "yes|no", "yes", "no: as many slots as at creation, for ever"},
};

static_assert(OPTION_COUNT <= KITHI_OPTIONS_MAX, "the options fit a table");

typedef struct node {
    struct node *next;
    uint64_t value; /* of the key, under the function */
    uint8_t record[];
} node;

typedef struct chain {
    node **heads;
    uint64_t slots;
    uint64_t limit; /* keys at most before growth */
    kith_function *function;
    uint64_t edition; /* a new one with each node given back: cursors of an older one hold no pointer that is good */
} chain;

static chain *chain_of(const kith_table *t) {
    return t->state;
}

static uint64_t node_bytes(const kith_table *t) {
    return sizeof(node) + t->record_bytes;
}

static uint64_t value_of(const kith_table *t, const kithi_key *key) {
    return kithi_function_key(chain_of(t)->function, key->bytes, key->byte_count);
}

/* Slots enough for so many keys, and keys that so many slots take: limit_of(slots_for(keys)) >= keys. */
static bool slots_for(const kith_table *t, uint64_t keys, uint64_t *slots) {
    uint64_t percent;
    if (!kithi_mul(keys, 100, &percent) || !kithi_add(percent, t->options[LOAD] - 1, &percent))
        return false;
    *slots = percent / t->options[LOAD];
    return true;
}

static uint64_t limit_of(const kith_table *t, uint64_t slots) {
    uint64_t percent;
    if (t->options[GROW] == GROW_NO || !kithi_mul(slots, t->options[LOAD], &percent))
        return UINT64_MAX;
    return percent / 100;
}

static void link_node(node **heads, uint64_t slots, node *n) {
    node **head = &heads[kithi_mulhi(n->value, slots)];
    n->next = *head;
    *head = n;
}

static kith_status resize(kith_table *t, uint64_t slots) {
    chain *c = chain_of(t);
    uint64_t bytes;
    if (!kithi_mul(slots, sizeof(node *), &bytes))
        return KITH_E_TOO_LARGE;
    node **heads = kithi_allocate(&t->allocator, bytes);
    if (heads == NULL)
        return KITH_E_MEMORY;
    for (uint64_t i = 0; i < c->slots; i++) {
        for (node *n = c->heads[i]; n != NULL;) {
            node *next = n->next;
            link_node(heads, slots, n);
            n = next;
        }
    }
    kithi_release(&t->allocator, c->heads, c->slots * sizeof(node *));
    c->heads = heads;
    c->slots = slots;
    c->limit = limit_of(t, slots);
    return KITH_OK;
}

static void destroy(kith_table *t) {
    chain *c = chain_of(t);
    kith_function_free(c->function);
    kithi_release(&t->allocator, c->heads, c->slots * sizeof(node *));
    kithi_release(&t->allocator, c, sizeof *c);
}

static kith_status create(kith_table *t, uint64_t capacity) {
    uint64_t slots = SLOTS_MIN;
    if (capacity != 0 && !slots_for(t, capacity, &slots))
        return KITH_E_TOO_LARGE;
    chain *c = t->state = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    c->edition = 1;
    kith_status status =
        kith_function_draw(t->family, t->independence, kithi_prng_next(&t->prng), &t->allocator, &c->function);
    if (status == KITH_OK)
        status = resize(t, slots);
    if (status != KITH_OK)
        destroy(t);
    return status;
}

static void clear(kith_table *t) {
    chain *c = chain_of(t);
    memset(c->heads, 0, (size_t)(c->slots * sizeof(node *)));
    c->edition++;
}

static kith_status grow_to(kith_table *t, uint64_t slots) {
    uint64_t before = chain_of(t)->slots;
    kith_status status = resize(t, slots);
    if (status == KITH_OK)
        kithi_table_grown(t, before, slots);
    return status;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    if (keys <= chain_of(t)->limit)
        return KITH_OK;
    uint64_t slots;
    return slots_for(t, keys, &slots) ? grow_to(t, slots) : KITH_E_TOO_LARGE;
}

/* The link that leads to the key's node, or the last link of its slot: NULL. */
static node **find(const kith_table *t, const kithi_key *key, uint64_t value) {
    const chain *c = chain_of(t);
    uint64_t slot = kithi_mulhi(value, c->slots);
    node **link = &c->heads[slot];
    for (; *link != NULL; link = &(*link)->next) {
        kithi_trace(t, KITH_STEP_LOOK, slot, 0);
        if ((*link)->value == value && kithi_record_is(t, (*link)->record, key))
            break;
    }
    return link;
}

static bool get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const node *n = *find(t, key, value_of(t, key));
    if (n == NULL)
        return false;
    *value = kithi_record_value(t, n->record);
    return true;
}

static void give_back(kith_table *t, node *n) {
    kithi_record_drop(t, n->record);
    kithi_arena_give(&t->arena, n, node_bytes(t));
}

static node *make_node(kith_table *t, const kithi_key *key, uint64_t value) {
    node *n = kithi_arena_take(&t->arena, node_bytes(t));
    if (n != NULL && !kithi_record_make(t, key, value, n->record)) {
        kithi_arena_give(&t->arena, n, node_bytes(t));
        n = NULL;
    }
    return n;
}

/* A new node for a key that is absent; key_value is its value under the function. */
static kith_status add_node(kith_table *t, const kithi_key *key, uint64_t key_value, uint64_t value) {
    chain *c = chain_of(t);
    node *n = make_node(t, key, value);
    if (n == NULL)
        return KITH_E_MEMORY;
    n->value = key_value;
    if (t->count >= c->limit) {
        kith_status status = grow_to(t, 2 * c->slots);
        if (status != KITH_OK) {
            give_back(t, n);
            return status;
        }
    }
    link_node(c->heads, c->slots, n);
    t->count++;
    return KITH_OK;
}

static kith_status append(kith_table *t, const kithi_key *key, uint64_t value) {
    return add_node(t, key, value_of(t, key), value);
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    uint64_t key_value = value_of(t, key);
    node *n = *find(t, key, key_value);
    *was_new = n == NULL;
    if (*was_new)
        return add_node(t, key, key_value, value);
    kithi_record_set_value(t, n->record, value);
    return KITH_OK;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    node **link = find(t, key, value_of(t, key)), *n = *link;
    if (n == NULL)
        return KITH_E_ABSENT;
    *value = kithi_record_value(t, n->record);
    *link = n->next;
    give_back(t, n);
    t->count--;
    chain_of(t)->edition++;
    return KITH_OK;
}

static void prefetch(const kith_table *t, const kithi_key *key) {
    const chain *c = chain_of(t);
    __builtin_prefetch(&c->heads[kithi_mulhi(value_of(t, key), c->slots)]);
}

/* A cursor is slot, depth in its chain, the node at that depth and the edition in which that pointer was good. A walk
 * that removes keys on its way may miss some, but never follows a node that was given back. */
static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const chain *c = chain_of(t);
    uint64_t slot = cursor->at[0], depth = cursor->at[1];
    const node *n = NULL;
    if (cursor->at[3] == c->edition) {
        n = (const node *)(uintptr_t)cursor->at[2];
    } else if (slot < c->slots) {
        n = c->heads[slot];
        for (uint64_t i = 0; i < depth && n != NULL; i++)
            n = n->next;
    }
    while (n == NULL && slot < c->slots && ++slot < c->slots) {
        n = c->heads[slot];
        depth = 0;
    }
    *cursor = (kith_cursor){{slot, depth, 0, c->edition}};
    if (n == NULL)
        return false;
    cursor->at[1] = depth + 1;
    cursor->at[2] = (uint64_t)(uintptr_t)n->next;
    *key = kithi_record_key(t, n->record);
    *value = kithi_record_value(t, n->record);
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    const chain *c = chain_of(t);
    stats->slots = c->slots;
    stats->bytes += sizeof *c + kithi_function_bytes(c->function) + c->slots * sizeof(node *);
    for (uint64_t i = 0; i < c->slots; i++) {
        uint64_t length = 0;
        for (const node *n = c->heads[i]; n != NULL; n = n->next)
            length++;
        stats->longest = length > stats->longest ? length : stats->longest;
    }
}

static const char *check(const kith_table *t) {
    const chain *c = chain_of(t);
    if (t->count > c->limit)
        return "the table has more keys than its load allows";
    uint64_t count = 0;
    for (uint64_t i = 0; i < c->slots; i++) {
        for (const node *n = c->heads[i]; n != NULL; n = n->next) {
            if (++count > t->count)
                return "the chains have more nodes than the table has keys";
            kithi_key key = kithi_record_key(t, n->record);
            if (n->value != value_of(t, &key))
                return "a node does not carry the value of its key";
            if (kithi_mulhi(n->value, c->slots) != i)
                return "a node hangs in a slot that is not its own";
            for (const node *other = c->heads[i]; other != n; other = other->next)
                if (other->value == n->value && kithi_record_is(t, other->record, &key))
                    return "a chain has a key twice";
        }
    }
    return count == t->count ? NULL : "the chains have fewer nodes than the table has keys";
}

static bool keeps_size(const kith_table *t) {
    return t->options[GROW] == GROW_NO;
}

const kithi_table_kind kithi_table_chain = {
    .id = 3,
    .info = {.name = "chain",
             .summary = "chaining: a list a slot; entries never move",
             .options = OPTIONS,
             .option_count = OPTION_COUNT},
    .takes_strings = true,
    .takes_values = true,
    .create = create,
    .destroy = destroy,
    .clear = clear,
    .reserve = reserve,
    .get = get,
    .put = put,
    .remove = remove_one,
    .append = append,
    .prefetch = prefetch,
    .next = next,
    .stats = stats,
    .check = check,
    .keeps_size = keeps_size,
};
