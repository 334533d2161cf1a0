/* walks.c: see walks.h. */
#include "walks.h"

#include <string.h>

static void note(void *context, kith_step step, uint64_t place, uint64_t to) {
    walk_log *log = context;
    log->rebuilt |= step == KITH_STEP_REHASH || step == KITH_STEP_GROW;
    if (log->rebuilt)
        return;
    if (step == KITH_STEP_LOOK && log->look_count++ < WALK_LOOKS_MAX)
        log->looks[log->look_count - 1] = place;
    if (step == KITH_STEP_MOVE && log->move_count++ < 2 * WALK_LOOKS_MAX) {
        log->moves[log->move_count - 1].from = place;
        log->moves[log->move_count - 1].to = to;
    }
}

static void forget(walk_log *log) {
    log->look_count = log->move_count = 0;
}

static kith_table *table_of(lab *l, uint64_t slots, uint64_t seed, walk_log *log) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = slots - 1;
    spec.options = "layout=two d=2 b=1 insert=walk load=100";
    spec.seed = seed;
    spec.trace = note;
    spec.trace_context = log;
    return lab_table(l, &spec);
}

/* ---- places ---- */

static unsigned looks_of(walks *w, uint64_t key) {
    forget(&w->places);
    (void)kith_table_has(w->blocked, &key, sizeof key);
    return w->places.look_count;
}

static void block_first_places(lab *l, walks *w) {
    for (uint64_t free = w->slots / 2; free > 0;) {
        uint64_t key = lab_random(l);
        (void)looks_of(w, key);
        uint64_t place = w->places.looks[0];
        lab_require(l, place < w->slots / 2, "the first place is in the first half");
        if (w->at[place] != WALK_NOBODY)
            continue;
        w->at[place] = 0;
        free--;
        lab_must(l, kith_table_put(w->blocked, &key, sizeof key, 0, NULL), "blocking a place");
    }
    for (uint64_t i = 0; i < w->slots; i++)
        w->at[i] = WALK_NOBODY;
}

static void find_places(lab *l, walks *w, uint32_t i) {
    uint64_t key = w->keys[i];
    bool put = looks_of(w, key) == 1; /* no mark yet that there is a key elsewhere */
    if (put) {
        lab_must(l, kith_table_put(w->blocked, &key, sizeof key, 0, NULL), "asking for the second place");
        (void)looks_of(w, key);
    }
    lab_require(l, !w->places.rebuilt && w->places.look_count == 2, "a look-up looks at two places");
    w->first[i] = w->places.looks[0];
    w->second[i] = w->places.looks[1];
    lab_require(l, w->first[i] < w->slots / 2 && w->second[i] >= w->slots / 2 && w->second[i] < w->slots,
                "one place in each half");
    if (put)
        lab_must(l, kith_table_remove(w->blocked, &key, sizeof key, NULL), "taking the key out again");
}

/* ---- the table ---- */

walks *walks_begin(lab *l, uint64_t slots) {
    walks *w = lab_take(l, sizeof *w);
    uint64_t seed = lab_random(l) | 1;
    w->table = table_of(l, slots, seed, &w->log);
    w->blocked = table_of(l, slots, seed, &w->places);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(w->table, &stats), "asking for the slots");
    w->slots = stats.slots;
    lab_require(l, w->slots <= WALK_SLOTS_MAX, "a small table is small");
    memset(w->at, 0xff, sizeof w->at);
    block_first_places(l, w);
    return w;
}

void walks_end(lab *l, walks *w) {
    lab_drop(l, w->table);
    lab_drop(l, w->blocked);
    lab_drop(l, w);
}

uint32_t walks_key(lab *l, walks *w) {
    lab_require(l, w->count < WALK_SLOTS_MAX, "there are no more keys than slots");
    w->keys[w->count] = lab_random(l);
    find_places(l, w, w->count);
    return w->count++;
}

uint64_t walks_other(const walks *w, uint64_t slot) {
    uint32_t key = w->at[slot];
    return w->first[key] == slot ? w->second[key] : w->first[key];
}

/* The looks of the walk follow those of the look-up, which are one or two, and begin with the first place again. */
static void follow(lab *l, walks *w, uint32_t key, walk_path *path) {
    const walk_log *log = &w->log;
    uint32_t before[WALK_SLOTS_MAX], homeless = key;
    memcpy(before, w->at, sizeof before);
    unsigned start = log->look_count > 1 && log->looks[1] != log->looks[0] ? 2 : 1;
    for (unsigned i = start; i < log->look_count; i++) {
        uint64_t place = log->looks[i];
        lab_require(l, place == w->first[homeless] || place == w->second[homeless],
                    "a key looks at a place of its own");
        path->keys[path->steps] = homeless;
        path->places[path->steps++] = place;
        uint32_t other = w->at[place];
        w->at[place] = homeless;
        homeless = other;
        if (i > start) {
            unsigned move = i - start - 1;
            lab_require(
                l, move < log->move_count && log->moves[move].from == log->looks[i - 1] && log->moves[move].to == place,
                "each step is a move");
        }
    }
    lab_require(l, path->failed == (homeless != WALK_NOBODY), "a walk ends at a free place, or the table is rebuilt");
    if (path->failed)
        memcpy(w->at, before, sizeof before);
}

void walks_put(lab *l, walks *w, uint32_t key, walk_path *path) {
    path->walked = w->at[w->first[key]] != WALK_NOBODY && w->at[w->second[key]] != WALK_NOBODY;
    path->steps = 0;
    forget(&w->log);
    lab_must(l, kith_table_put(w->table, &w->keys[key], sizeof w->keys[key], 0, NULL), "putting a key");
    lab_require(l, w->log.look_count <= WALK_LOOKS_MAX && w->log.move_count <= 2 * WALK_LOOKS_MAX, "a walk ends");
    path->failed = w->log.rebuilt;
    if (path->walked) {
        follow(l, w, key, path);
    } else {
        lab_require(l, !path->failed && w->log.move_count == 0, "nothing moves where a place is free");
        w->at[w->at[w->first[key]] == WALK_NOBODY ? w->first[key] : w->second[key]] = key;
    }
}
