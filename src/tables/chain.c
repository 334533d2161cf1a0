/* chain: a hash table with chaining. The hash value of a key selects a slot, and a slot is a linked list of nodes.
 *
 *     slots   | head | head | NULL | head | …           slot of a key = high 64 bits of (hash value * number of slots)
 *                |
 *                v
 *     node    | next | hash value | record |            allocated in the arena; the record is described in table_kind.h
 *                |
 *                v   …
 *
 * A search reads the nodes of one slot. With n keys and load alpha = n / slots, these are alpha nodes on average if the
 * key is absent, and 1 + alpha/2 - alpha/(2n) if it is present (Cormen, Leiserson, Rivest, Stein, 11.2). This requires
 * only that two keys share a slot with probability about 1 / slots. 2-wise independence guarantees that, and every
 * family of hash functions (kith/hash.h) has or imitates 2-wise independence.
 *
 * Nodes store the 64-bit hash value of their key. So a search compares keys only if their hash values are equal, which
 * almost never happens if the key is absent. And growth relinks nodes without hashing again.
 *
 * Entries never move: a node stays at its address from the put to the removal of its key, even when the table grows.
 * The number of slots is not restricted to powers of two. It doubles when the table would have more keys than `load`
 * percent of it. The slot comes from the high bits of the hash value, so the keys of slot i go to slots 2i and 2i + 1,
 * and growth passes once over the old and the new slots, in order. With grow=no the number of slots is chosen for the
 * capacity at creation and never changes, so more keys make the chains longer. This is for experiments, and for users
 * who prefer slower operations to an occasional pause for growth.
 *
 * In the worst case all keys are in one chain. Anyone who knows the hash function can choose such keys. With any family
 * but siphash, so can anyone who first observes the table (its timing or its order). Keys that were chosen before the
 * function was drawn do not have this effect: with a random function, the fullest of n slots at load 1 has about
 * log n / log log n keys. xxh3 behaves like a random function, and siphash does so even against an attacker. (One
 * exception among byte strings: those of 4 and 8 bytes are hashed as integers, so a string of 4 bytes and the same
 * string followed by four zero bytes have the same hash value.) 2-wise independence alone guarantees only O(sqrt(n))
 * keys in the fullest slot.
 *
 *   load 100     A slot has 8 bytes, and a node has 32 or 48 (40, rounded up by the arena). Fewer slots would save
 *                little memory. More slots would save little time: a search for an absent key reads 1 node at load 1,
 *                and 1/2 node at load 1/2.
 *   SLOTS_MIN 8  One cache line, for a table that was created without a capacity.
 *
 * A put that cannot allocate its node, or the larger array of slots, changes nothing. stats walks all slots to find the
 * longest chain. */
#include "tables/shared/record.h"

#include <assert.h>

#include "core/function.h"

#define SLOTS_MIN 8

enum { LOAD, GROW, OPTION_COUNT };
enum { GROW_YES, GROW_NO };

static const kith_option OPTIONS[OPTION_COUNT] = {
    [LOAD] = {"load", "25..800", "100", "maximum number of keys per 100 slots before the table grows"},
    [GROW] = {"grow", "yes|no", "yes", "no: the number of slots never changes"},
};

static_assert(OPTION_COUNT <= KITHI_OPTIONS_MAX, "the options fit into a table");

typedef struct node {
    struct node *next;
    uint64_t hash; /* of the key */
    uint8_t record[];
} node;

typedef struct chain {
    node **heads;
    uint64_t slots;
    uint64_t keys_max; /* the table grows when it has more keys; UINT64_MAX with grow=no */
    kith_function *function;
    uint64_t generation; /* incremented when nodes are freed: cursors of older generations have invalid pointers */
} chain;

static chain *chain_of(const kith_table *t) {
    return t->state;
}

static uint64_t node_bytes(const kith_table *t) {
    return sizeof(node) + t->record_bytes;
}

static uint64_t hash_of(const kith_table *t, const kithi_key *key) {
    return kithi_function_key(chain_of(t)->function, key->bytes, key->byte_count);
}

/* slots_for computes the number of slots for `keys` keys, and keys_max_for the maximum number of keys for `slots`
 * slots, such that keys_max_for(slots_for(keys)) >= keys. slots_for returns false on overflow. */
static bool slots_for(const kith_table *t, uint64_t keys, uint64_t *slots) {
    uint64_t dividend;
    if (!kithi_checked_mul(keys, 100, &dividend) || !kithi_checked_add(dividend, t->options[LOAD] - 1, &dividend))
        return false;
    *slots = dividend / t->options[LOAD];
    return true;
}

static uint64_t keys_max_for(const kith_table *t, uint64_t slots) {
    uint64_t dividend;
    if (t->options[GROW] == GROW_NO || !kithi_checked_mul(slots, t->options[LOAD], &dividend))
        return UINT64_MAX;
    return dividend / 100;
}

static void link_node(node **heads, uint64_t slots, node *n) {
    node **head = &heads[kithi_mulhi(n->hash, slots)];
    n->next = *head;
    *head = n;
}

static kith_status resize(kith_table *t, uint64_t slots) {
    chain *c = chain_of(t);
    uint64_t bytes;
    if (!kithi_checked_mul(slots, sizeof(node *), &bytes))
        return KITH_E_ADDRESS;
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
    c->keys_max = keys_max_for(t, slots);
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
        return KITH_E_ADDRESS;
    chain *c = t->state = kithi_allocate(&t->allocator, sizeof *c);
    if (c == NULL)
        return KITH_E_MEMORY;
    c->generation = 1; /* not 0: a cursor of zeros has no pointer */
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
    c->generation++;
}

static kith_status grow_to(kith_table *t, uint64_t slots) {
    uint64_t before = chain_of(t)->slots;
    kith_status status = resize(t, slots);
    if (status == KITH_OK)
        kithi_table_grown(t, before, slots);
    return status;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    if (keys <= chain_of(t)->keys_max)
        return KITH_OK;
    uint64_t slots;
    return slots_for(t, keys, &slots) ? grow_to(t, slots) : KITH_E_ADDRESS;
}

/* Returns the address of the link to the key's node or, if the key is absent, of the last link of its chain, which is
 * NULL. */
static node **find(const kith_table *t, const kithi_key *key, uint64_t hash) {
    const chain *c = chain_of(t);
    uint64_t slot = kithi_mulhi(hash, c->slots);
    node **link = &c->heads[slot];
    for (; *link != NULL; link = &(*link)->next) {
        kithi_trace(t, KITH_STEP_LOOK, slot, 0);
        if ((*link)->hash == hash && kithi_record_has_key(t, (*link)->record, key))
            break;
    }
    return link;
}

static bool get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    const node *n = *find(t, key, hash_of(t, key));
    if (n == NULL)
        return false;
    *value = kithi_record_value(t, n->record);
    return true;
}

static void free_node(kith_table *t, node *n) {
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

/* Adds a node for a key that is absent. */
static kith_status add_node(kith_table *t, const kithi_key *key, uint64_t hash, uint64_t value) {
    chain *c = chain_of(t);
    node *n = make_node(t, key, value);
    if (n == NULL)
        return KITH_E_MEMORY;
    n->hash = hash;
    if (t->count >= c->keys_max) {
        kith_status status = grow_to(t, 2 * c->slots);
        if (status != KITH_OK) {
            free_node(t, n);
            return status;
        }
    }
    link_node(c->heads, c->slots, n);
    t->count++;
    return KITH_OK;
}

static kith_status append(kith_table *t, const kithi_key *key, uint64_t value) {
    return add_node(t, key, hash_of(t, key), value);
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    uint64_t hash = hash_of(t, key);
    node *n = *find(t, key, hash);
    *was_new = n == NULL;
    if (*was_new)
        return add_node(t, key, hash, value);
    kithi_record_set_value(t, n->record, value);
    return KITH_OK;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    node **link = find(t, key, hash_of(t, key)), *n = *link;
    if (n == NULL)
        return KITH_E_ABSENT;
    *value = kithi_record_value(t, n->record);
    *link = n->next;
    free_node(t, n);
    t->count--;
    chain_of(t)->generation++;
    return KITH_OK;
}

static void prefetch(const kith_table *t, const kithi_key *key) {
    const chain *c = chain_of(t);
    __builtin_prefetch(&c->heads[kithi_mulhi(hash_of(t, key), c->slots)]);
}

/* The cursor says which node is next: its slot, its depth in the chain, a pointer to it, and the generation in which
 * this pointer was valid. In a later generation the node is found by its slot and depth. An iteration during which keys
 * are removed may miss some keys, but never reads a freed node. */
static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const chain *c = chain_of(t);
    uint64_t slot = cursor->at[0], depth = cursor->at[1];
    const node *n = NULL;
    if (cursor->at[3] == c->generation) {
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
    *cursor = (kith_cursor){{slot, depth, 0, c->generation}};
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
    if (t->count > c->keys_max)
        return "the table has more keys than its load allows";
    uint64_t count = 0;
    for (uint64_t i = 0; i < c->slots; i++) {
        for (const node *n = c->heads[i]; n != NULL; n = n->next) {
            if (++count > t->count)
                return "the chains have more nodes than the table has keys";
            kithi_key key = kithi_record_key(t, n->record);
            if (n->hash != hash_of(t, &key))
                return "a node's hash value is not that of its key";
            if (kithi_mulhi(n->hash, c->slots) != i)
                return "a node is in the chain of another slot";
            for (const node *other = c->heads[i]; other != n; other = other->next)
                if (other->hash == n->hash && kithi_record_has_key(t, other->record, &key))
                    return "a key is stored twice";
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
             .summary = "chaining: a linked list per slot; entries never move",
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
