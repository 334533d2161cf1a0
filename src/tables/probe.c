/* probe: a hash table with open addressing (Peterson 1957; Knuth, "The Art of Computer Programming" 6.4). All keys are
 * in one array of m slots. A search follows the key's own sequence of slots until it finds the key, or an empty slot
 * (then the key is absent), or has read every slot.
 *
 *     block      | record 0 | record 1 | … | record m-1 | control 0 | control 1 | … | control m-1 |
 *     control    0 empty     1 removed     2 … 255 used: a fragment of the key's hash
 *
 * A search reads control bytes, and a record only if the fragment matches, which happens for one in 254 of the other
 * keys. Storing the whole hash would avoid hashing again on growth but cost 7 more bytes per slot.
 *
 * Let h be the key's hash. A search reads the slots p_0, p_1, p_2, … Except with permutation, p_0 is the high 64 bits
 * of h * m:
 *
 *     linear      p_i = p_0 + i            (mod m)    steps 1, 1, 1, …        any m
 *     quadratic   p_i = p_0 + i (i+1) / 2  (mod m)    steps 1, 2, 3, …        m a power of two
 *     double      p_i = p_0 + i s          (mod m)    steps s, s, s, …        m a power of two, s odd, from h as well
 *     permutation p_i = P_h(i)                                                m a power of two
 *
 * P_h is a pseudorandom permutation of all slots, selected by h. This imitates what analyses call uniform hashing,
 * where each key has its own random permutation. P_h(i) is computed from i in twelve rounds. A round adds a number
 * drawn from h, modulo m, and then changes each half of the bits by a function of the other half, as a Feistel network
 * does. Each of these operations is invertible, so P_h is a permutation. There are at most 2^64 such permutations, and
 * each probe costs some seventy multiplications: this is for experiments.
 *
 * The first m slots of each sequence are all slots, each once, so a search reads at most m slots. For linear this is
 * obvious. Double: an odd s has an inverse mod m = 2^e, so i s = j s implies i = j. Quadratic: let
 * i(i+1)/2 = j(j+1)/2 (mod 2^e) for 0 <= j < i < 2^e. Then 2^(e+1) divides (i - j)(i + j + 1). The two factors differ
 * by 2j + 1, so one is odd and the other is divisible by 2^(e+1). But both are between 1 and 2^(e+1) - 1, a
 * contradiction. No step is greater than m, so one subtraction brings a position back into range.
 *
 * The table below shows how many slots a search reads on average at load a = count / m, if the hash is random. (For
 * linear, 5-wise independence is enough for a constant average at a fixed load: Pagh, Pagh, Ruzic 2007. With 2-wise
 * functions the average can grow with m.)
 *
 *     sequence    absent key               present key
 *     double      1/(1-a)                  (1/a) ln(1/(1-a))       like uniform hashing (Guibas and Szemeredi 1978)
 *     quadratic   slightly more than with double hashing, because keys with the same p_0 share a sequence
 *     linear      (1 + 1/(1-a)^2) / 2      (1 + 1/(1-a)) / 2       (Knuth)
 *
 * The first steps of linear and quadratic usually stay within a cache line of control bytes; nearly every step of
 * double leaves it. Quadratic is the default: at load 3/4 it reads 4.6 slots for an absent key, where double reads 4.0
 * and linear 8.5 (measured with 2^17 slots).
 *
 * Growth: with grow=yes the array doubles when one more key would make it fuller than `load` percent. (With
 * sequence=linear the new array may be a few slots smaller than that.) The default load is 75. So just before growth a
 * search for an absent key reads the 4.6, 4.0 or 8.5 slots given above. With grow=no the size never changes, `load` is
 * ignored, and a search has three results: found, absent, full. A put returns KITH_E_FULL if every slot has another
 * key.
 *
 * Removal leaves a tombstone (control 1), which searches skip and puts reuse. (Linear probing could instead move later
 * keys back. That would be extra code for one of the sequences, and would hash a whole run of keys per removal.) When
 * there are more than (m - count) / 2 tombstones, they are swept. So at least half of the slots without a key are
 * empty. Let a' be the load if tombstones count as keys. Then 1 - a' >= (1 - a)/2, so tombstones make a search at most
 * 2 times as long (4 times for absent keys with linear). A sweep visits m slots and happens after more than
 * (m - count)/2 removals. Amortised, that is 2/(1-a) slots per removal: about the cost of a search.
 *
 * The sweep needs no memory and cannot fail. First, tombstones become empty, and all keys become "waiting" (control 1).
 * Then each waiting key goes to the first slot of its sequence that is empty or has a waiting key, and is settled: its
 * control is its fragment again. If it is in that slot already, it stays. If that slot is empty, the key moves there.
 * If that slot has another waiting key, the two are swapped, and the other key is next. Only settled keys precede a
 * settled key on its sequence, and they do not move again, so every search finds it. Each step settles one key, so
 * there are `count` steps.
 *
 * Traces report the slots that searches read, and growths, but not how a growth or a sweep moves keys.
 *
 * Invariants: count is the number of controls above 1. removed is the number of controls equal to 1, at most
 * (m - count) / 2. Every key is among the first `longest` slots of its sequence, before the first empty one. With
 * grow=yes, count <= load * m / 100 < m. */
#include <assert.h>

#include "core/function.h"
#include "tables/shared/record.h"

/* Must be at least 2, so that an odd step is less than the number of slots. */
#define SLOTS_MIN 8

/* Control bytes. During a sweep there are no tombstones, and 1 means WAITING instead of REMOVED. */
enum { EMPTY = 0, REMOVED = 1, WAITING = 1, FRAGMENT_MIN = 2, FRAGMENT_COUNT = 254 };
enum { OPTION_SEQUENCE, OPTION_GROW, OPTION_LOAD, OPTION_COUNT };
enum { LINEAR, QUADRATIC, DOUBLE, PERMUTATION };
enum { GROW_YES, GROW_NO };

static const kith_option OPTIONS[] = {
    [OPTION_SEQUENCE] = {"sequence", "linear|quadratic|double|permutation", "quadratic",
                         "the order in which slots are probed"},
    [OPTION_GROW] = {"grow", "yes|no", "yes", "no: the table keeps its initial size and can become full"},
    [OPTION_LOAD] = {"load", "10..95", "75", "maximum number of keys per 100 slots before the table grows"},
};
static_assert(sizeof OPTIONS / sizeof *OPTIONS == OPTION_COUNT && OPTION_COUNT <= KITHI_OPTIONS_MAX, "options");

typedef struct probe {
    uint8_t *block; /* records, then control bytes */
    uint8_t *controls;
    uint64_t slots;    /* m */
    uint64_t keys_max; /* the table grows when it has more keys; with grow=no, the number of slots */
    uint64_t removed;  /* number of tombstones */
    uint64_t longest;  /* upper bound of the slots that a search for a present key reads; removals do not reduce it */
    kith_function *function;
} probe;

static inline probe *probe_of(const kith_table *t) {
    return t->state;
}

static inline uint8_t *record_at(const kith_table *t, const probe *p, uint64_t slot) {
    return p->block + slot * t->record_bytes;
}

/* ---- sequences ---- */

typedef struct walk {
    uint64_t slot;
    uint64_t step;           /* distance to the next slot */
    uint64_t step_increment; /* added to `step` after each step: 1 for quadratic, else 0 */
    uint64_t done;           /* number of steps made */
    bool permutes;           /* the slots are a permutation drawn from `hash`; step and step_increment are not used */
    uint64_t hash;
} walk;

static inline uint64_t hash_of(const probe *p, const kithi_key *key) {
    return kithi_function_key(p->function, key->bytes, key->byte_count);
}

static inline uint8_t fragment_of(uint64_t hash) {
    return (uint8_t)(FRAGMENT_MIN + kithi_mulhi(kithi_mixed_word(hash, 0), FRAGMENT_COUNT));
}

/* Returns slot number i of the permutation of this hash; `slots` is a power of two. */
static uint64_t permuted(uint64_t hash, uint64_t slots, uint64_t i) {
    enum { ROUNDS = 12 }; /* with 4 rounds and 8 slots, some pairs of slots are more probable than others */
    unsigned low_bits = (unsigned)__builtin_ctzll(slots) / 2;
    uint64_t low = (UINT64_C(1) << low_bits) - 1, high = (slots - 1) & ~low;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t round_key = kithi_mixed_word(hash, round + 2); /* words 0 and 1: see fragment_of() and walk_from() */
        i = (i + round_key) & (slots - 1);
        i ^= kithi_mix(round_key ^ (i >> low_bits)) & low;
        i ^= kithi_mix(~round_key ^ (i & low)) & high;
    }
    return i;
}

static inline walk walk_from(const kith_table *t, const probe *p, uint64_t hash) {
    walk w = {.slot = kithi_mulhi(hash, p->slots), .step = 1, .hash = hash};
    if (__builtin_expect(t->options[OPTION_SEQUENCE] == PERMUTATION, 0)) {
        w.permutes = true;
        w.slot = permuted(hash, p->slots, 0);
        return w;
    }
    if (t->options[OPTION_SEQUENCE] == QUADRATIC)
        w.step_increment = 1;
    else if (t->options[OPTION_SEQUENCE] == DOUBLE)
        w.step = kithi_mulhi(kithi_mixed_word(hash, 1), p->slots) | 1;
    return w;
}

static inline void walk_on(const probe *p, walk *w) {
    if (__builtin_expect(w->permutes, 0)) {
        w->slot = permuted(w->hash, p->slots, ++w->done & (p->slots - 1));
        return;
    }
    w->slot += w->step;
    if (w->slot >= p->slots)
        w->slot -= p->slots;
    w->step += w->step_increment;
    w->done++;
}

typedef enum outcome { FOUND, ABSENT, FULL } outcome;

typedef struct search {
    outcome outcome;
    uint64_t slot;   /* FOUND: the key's slot; ABSENT: the slot where a put would store it */
    uint64_t length; /* length of the sequence up to and including this slot */
    uint64_t hash;
} search;

static inline search find(const kith_table *t, const kithi_key *key) {
    const probe *p = probe_of(t);
    search s = {.outcome = FULL, .hash = hash_of(p, key)};
    uint8_t fragment = fragment_of(s.hash);
    for (walk w = walk_from(t, p, s.hash); w.done < p->slots; walk_on(p, &w)) {
        kithi_trace(t, KITH_STEP_LOOK, w.slot, 0);
        uint8_t control = p->controls[w.slot];
        if (control == fragment && kithi_record_has_key(t, record_at(t, p, w.slot), key))
            return (search){FOUND, w.slot, w.done + 1, s.hash};
        if (control <= REMOVED && s.outcome == FULL)
            s = (search){ABSENT, w.slot, w.done + 1, s.hash};
        if (control == EMPTY)
            break;
    }
    return s;
}

/* Returns the first slot of the sequence of this hash whose control is at most `control_max`, which is EMPTY or, during
 * a sweep, WAITING. There must be such a slot. */
static search find_free(const kith_table *t, const probe *p, uint64_t hash, uint8_t control_max) {
    walk w = walk_from(t, p, hash);
    while (p->controls[w.slot] > control_max) {
        walk_on(p, &w);
        assert(w.done < p->slots);
    }
    return (search){ABSENT, w.slot, w.done + 1, hash};
}

/* Stores a record in the slot that find() or find_free() has found for it. */
static void store(const kith_table *t, probe *p, const search *s, const uint8_t *record) {
    memcpy(record_at(t, p, s->slot), record, t->record_bytes);
    p->controls[s->slot] = fragment_of(s->hash);
    if (s->length > p->longest)
        p->longest = s->length;
}

/* Removes all tombstones, as described at the top. */
static void sweep(const kith_table *t, probe *p) {
    for (uint64_t i = 0; i < p->slots; i++)
        p->controls[i] = p->controls[i] > REMOVED ? WAITING : EMPTY;
    p->removed = 0;
    p->longest = 0;
    for (uint64_t i = 0; i < p->slots; i++) {
        while (p->controls[i] == WAITING) {
            uint8_t waiting[KITHI_TABLE_RECORD_BYTES_MAX];
            memcpy(waiting, record_at(t, p, i), t->record_bytes);
            kithi_key key = kithi_record_key(t, waiting);
            search s = find_free(t, p, hash_of(p, &key), WAITING);
            if (s.slot != i) {
                memcpy(record_at(t, p, i), record_at(t, p, s.slot), t->record_bytes);
                p->controls[i] = p->controls[s.slot];
            }
            store(t, p, &s, waiting);
        }
    }
}

static void sweep_if_due(const kith_table *t, probe *p) {
    if (p->removed > (p->slots - t->count) / 2)
        sweep(t, p);
}

/* ---- sizes ---- */

static uint64_t keys_max_for(const kith_table *t, uint64_t slots) {
    uint64_t load = t->options[OPTION_LOAD];
    return t->options[OPTION_GROW] == GROW_NO ? slots : slots / 100 * load + slots % 100 * load / 100;
}

static uint64_t block_bytes(const kith_table *t, uint64_t slots) {
    return slots * (t->record_bytes + UINT64_C(1));
}

/* Computes the smallest number of slots for `keys` keys. KITH_E_ADDRESS: the size of the block would overflow. */
static kith_status slots_for(const kith_table *t, uint64_t keys, uint64_t *slots) {
    uint64_t wanted = keys, bytes, load = t->options[OPTION_LOAD];
    if (t->options[OPTION_GROW] == GROW_YES &&
        (!kithi_checked_mul(keys / load, 100, &wanted) ||
         !kithi_checked_add(wanted, (keys % load * 100 + load - 1) / load, &wanted)))
        return KITH_E_ADDRESS;
    if (wanted < SLOTS_MIN)
        wanted = SLOTS_MIN;
    /* Rounded up to a power of two, `wanted` is at most 2 * (wanted - 1). */
    if (wanted > UINT64_C(1) << 63 || !kithi_checked_mul(2 * (wanted - 1), t->record_bytes + UINT64_C(1), &bytes))
        return KITH_E_ADDRESS;
    if (t->options[OPTION_SEQUENCE] != LINEAR && (wanted & (wanted - 1)) != 0)
        wanted = UINT64_C(1) << (64 - __builtin_clzll(wanted));
    *slots = wanted;
    return KITH_OK;
}

/* Moves all keys into a new block of `slots` slots. */
static kith_status resize(kith_table *t, uint64_t slots) {
    probe *p = probe_of(t), old = *p;
    p->block = kithi_allocate(&t->allocator, block_bytes(t, slots));
    if (p->block == NULL) {
        p->block = old.block;
        return KITH_E_MEMORY;
    }
    p->controls = p->block + slots * t->record_bytes;
    p->slots = slots;
    p->keys_max = keys_max_for(t, slots);
    p->removed = 0;
    p->longest = 0;
    for (uint64_t i = 0; i < old.slots; i++) {
        if (old.controls[i] <= REMOVED)
            continue;
        const uint8_t *record = record_at(t, &old, i);
        kithi_key key = kithi_record_key(t, record);
        search s = find_free(t, p, hash_of(p, &key), EMPTY);
        store(t, p, &s, record);
    }
    kithi_release(&t->allocator, old.block, block_bytes(t, old.slots));
    return KITH_OK;
}

static kith_status grow(kith_table *t, uint64_t slots) {
    uint64_t old_slots = probe_of(t)->slots;
    kith_status status = resize(t, slots);
    if (status == KITH_OK)
        kithi_table_grown(t, old_slots, slots);
    return status;
}

/* ---- operations ---- */

static void destroy(kith_table *t) {
    probe *p = probe_of(t);
    kith_function_free(p->function);
    kithi_release(&t->allocator, p->block, block_bytes(t, p->slots));
    kithi_release(&t->allocator, p, sizeof *p);
}

static kith_status create(kith_table *t, uint64_t capacity) {
    uint64_t slots;
    kith_status status = slots_for(t, capacity, &slots);
    if (status != KITH_OK)
        return status;
    probe *p = t->state = kithi_allocate(&t->allocator, sizeof *p);
    if (p == NULL)
        return KITH_E_MEMORY;
    status = kith_function_draw(t->family, t->independence, kithi_prng_next(&t->prng), &t->allocator, &p->function);
    if (status == KITH_OK)
        status = resize(t, slots);
    if (status != KITH_OK)
        destroy(t);
    return status;
}

static void clear(kith_table *t) {
    probe *p = probe_of(t);
    memset(p->controls, EMPTY, (size_t)p->slots);
    p->removed = 0;
    p->longest = 0;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    uint64_t slots;
    if (keys <= probe_of(t)->keys_max)
        return KITH_OK;
    if (t->options[OPTION_GROW] == GROW_NO)
        return KITH_E_FULL;
    kith_status status = slots_for(t, keys, &slots);
    return status == KITH_OK ? grow(t, slots) : status;
}

static bool get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    search s = find(t, key);
    if (s.outcome != FOUND)
        return false;
    *value = kithi_record_value(t, record_at(t, probe_of(t), s.slot));
    return true;
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    probe *p = probe_of(t);
    search s = find(t, key);
    *was_new = s.outcome != FOUND;
    if (s.outcome == FOUND) {
        kithi_record_set_value(t, record_at(t, p, s.slot), value);
        return KITH_OK;
    }
    if (s.outcome == FULL)
        return KITH_E_FULL;
    uint8_t record[KITHI_TABLE_RECORD_BYTES_MAX];
    if (!kithi_record_make(t, key, value, record))
        return KITH_E_MEMORY;
    if (t->count == p->keys_max) {
        uint64_t slots;
        kith_status status = slots_for(t, keys_max_for(t, 2 * p->slots), &slots);
        if (status == KITH_OK)
            status = grow(t, slots);
        if (status != KITH_OK) {
            kithi_record_drop(t, record);
            return status;
        }
        s = find_free(t, p, s.hash, EMPTY);
    }
    p->removed -= p->controls[s.slot] == REMOVED;
    store(t, p, &s, record);
    t->count++;
    sweep_if_due(t, p);
    return KITH_OK;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    probe *p = probe_of(t);
    search s = find(t, key);
    if (s.outcome != FOUND)
        return KITH_E_ABSENT;
    *value = kithi_record_value(t, record_at(t, p, s.slot));
    kithi_record_drop(t, record_at(t, p, s.slot));
    p->controls[s.slot] = REMOVED;
    p->removed++;
    t->count--;
    sweep_if_due(t, p);
    return KITH_OK;
}

static kith_find_outcome find_slot(const kith_table *t, const kithi_key *key, uint64_t *index) {
    search s = find(t, key);
    if (s.outcome != FULL)
        *index = s.slot;
    return s.outcome == FOUND ? KITH_FIND_FOUND : s.outcome == ABSENT ? KITH_FIND_ABSENT : KITH_FIND_FULL;
}

static void prefetch(const kith_table *t, const kithi_key *key) {
    const probe *p = probe_of(t);
    uint64_t slot = walk_from(t, p, hash_of(p, key)).slot;
    __builtin_prefetch(p->controls + slot);
    __builtin_prefetch(record_at(t, p, slot));
}

static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    const probe *p = probe_of(t);
    uint64_t slot = cursor->at[0];
    while (slot < p->slots && p->controls[slot] <= REMOVED)
        slot++;
    cursor->at[0] = slot + 1;
    if (slot >= p->slots)
        return false;
    *key = kithi_record_key(t, record_at(t, p, slot));
    *value = kithi_record_value(t, record_at(t, p, slot));
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    const probe *p = probe_of(t);
    stats->slots = p->slots;
    stats->bytes += sizeof *p + block_bytes(t, p->slots) + kithi_function_bytes(p->function);
    stats->longest = p->longest;
}

static const char *check_slot(const kith_table *t, const probe *p, uint64_t slot) {
    kithi_key key = kithi_record_key(t, record_at(t, p, slot));
    uint64_t hash = hash_of(p, &key);
    if (p->controls[slot] != fragment_of(hash))
        return "the fragment of a slot is not that of its key";
    for (walk w = walk_from(t, p, hash); w.done < p->longest; walk_on(p, &w)) {
        if (w.slot == slot)
            return NULL;
        if (p->controls[w.slot] == EMPTY)
            return "an empty slot precedes a key on its sequence";
        if (p->controls[w.slot] == p->controls[slot] && kithi_record_has_key(t, record_at(t, p, w.slot), &key))
            return "a key is stored twice";
    }
    return "a key is further along its sequence than `longest`";
}

static const char *check(const kith_table *t) {
    const probe *p = probe_of(t);
    uint64_t count = 0, removed = 0;
    for (uint64_t i = 0; i < p->slots; i++) {
        count += p->controls[i] > REMOVED;
        removed += p->controls[i] == REMOVED;
    }
    if (count != t->count)
        return "the number of used slots differs from the number of keys";
    if (removed != p->removed || removed > (p->slots - count) / 2)
        return "the number of removed slots is wrong, or they should have been swept";
    if (count > p->keys_max || p->keys_max != keys_max_for(t, p->slots))
        return "the table is fuller than its load allows";
    const char *broken = NULL;
    for (uint64_t i = 0; broken == NULL && i < p->slots; i++)
        if (p->controls[i] > REMOVED)
            broken = check_slot(t, p, i);
    return broken;
}

static bool keeps_size(const kith_table *t) {
    return t->options[OPTION_GROW] == GROW_NO;
}

const kithi_table_kind kithi_table_probe = {
    .id = 2,
    .info = {.name = "probe",
             .summary = "open addressing: linear, quadratic, double or uniform hashing",
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
    .find = find_slot,
    .prefetch = prefetch,
    .next = next,
    .stats = stats,
    .check = check,
    .keeps_size = keeps_size,
};
