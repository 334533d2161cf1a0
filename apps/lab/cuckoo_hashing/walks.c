/* walks.c: see walks.h. */
#include "walks.h"

#include <string.h>

static void record(void *context, kith_step step, uint64_t slot, uint64_t to) {
    walk_log *log = context;
    log->rebuilt |= step == KITH_STEP_REHASH || step == KITH_STEP_GROW;
    if (log->rebuilt)
        return;
    if (step == KITH_STEP_LOOK && log->look_count++ < WALK_LOOKS_MAX)
        log->looks[log->look_count - 1] = slot;
    if (step == KITH_STEP_MOVE && log->move_count++ < 2 * WALK_LOOKS_MAX) {
        log->moves[log->move_count - 1].from = slot;
        log->moves[log->move_count - 1].to = to;
    }
}

static void clear(walk_log *log) {
    log->look_count = log->move_count = 0;
}

static kith_table *create_table(lab *l, uint64_t slots, uint64_t seed, walk_log *log) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = slots - 1;
    spec.options = "layout=two d=2 b=1 insert=walk load=100";
    spec.seed = seed;
    return lab_traced(l, &spec, record, log);
}

/* ---- candidate slots ---- */

static unsigned look_up_blocked(walks *w, uint64_t key) {
    clear(&w->blocked_log);
    (void)kith_table_has(w->blocked, &key, sizeof key);
    return w->blocked_log.look_count;
}

static void block_first_slots(lab *l, walks *w) {
    for (uint64_t free = w->slots / 2; free > 0;) {
        uint64_t key = lab_random(l);
        (void)look_up_blocked(w, key);
        uint64_t slot = w->blocked_log.looks[0];
        lab_require(l, slot < w->slots / 2, "the first slot of a key is not in the first half");
        if (w->at[slot] != WALK_EMPTY)
            continue;
        w->at[slot] = 0;
        free--;
        lab_must(l, kith_table_put(w->blocked, &key, sizeof key, 0, NULL), "blocking a slot");
    }
    for (uint64_t i = 0; i < w->slots; i++)
        w->at[i] = WALK_EMPTY;
}

static void find_candidates(lab *l, walks *w, uint32_t i) {
    uint64_t key = w->keys[i];
    bool put = look_up_blocked(w, key) == 1; /* the first slot has no mark yet that sends lookups to the second */
    if (put) {
        lab_must(l, kith_table_put(w->blocked, &key, sizeof key, 0, NULL), "finding the second slot of a key");
        (void)look_up_blocked(w, key);
    }
    lab_require(l, !w->blocked_log.rebuilt && w->blocked_log.look_count == 2, "a lookup does not read two slots");
    w->first[i] = w->blocked_log.looks[0];
    w->second[i] = w->blocked_log.looks[1];
    lab_require(l, w->first[i] < w->slots / 2 && w->second[i] >= w->slots / 2 && w->second[i] < w->slots,
                "a key does not have one slot in each half");
    if (put)
        lab_must(l, kith_table_remove(w->blocked, &key, sizeof key, NULL), "removing the key");
}

/* ---- the table ---- */

walks *walks_begin(lab *l, uint64_t slots) {
    walks *w = lab_take(l, sizeof *w);
    w->seed = lab_random(l) | 1;
    w->table = create_table(l, slots, w->seed, &w->log);
    w->blocked = create_table(l, slots, w->seed, &w->blocked_log);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(w->table, &stats), "reading the number of slots");
    w->slots = stats.slots;
    lab_require(l, w->slots <= WALK_SLOTS_MAX, "a table has more slots than this experiment can record");
    memset(w->at, 0xff, sizeof w->at);
    block_first_slots(l, w);
    return w;
}

void walks_end(lab *l, walks *w) {
    lab_drop(l, w->table);
    lab_drop(l, w->blocked);
    lab_drop(l, w);
}

void walks_empty(lab *l, walks *w) {
    lab_drop(l, w->table);
    w->table = create_table(l, w->slots, w->seed, &w->log);
    w->log.rebuilt = false;
    for (uint64_t i = 0; i < w->slots; i++)
        w->at[i] = WALK_EMPTY;
}

uint32_t walks_key(lab *l, walks *w) {
    lab_require(l, w->count < WALK_SLOTS_MAX, "a table holds more keys than this experiment can record");
    w->keys[w->count] = lab_random(l);
    find_candidates(l, w, w->count);
    return w->count++;
}

uint64_t walks_other(const walks *w, uint64_t slot) {
    uint32_t key = w->at[slot];
    return w->first[key] == slot ? w->second[key] : w->first[key];
}

/* A put first looks the key up, which reads one or two slots. The walk starts after that, at the first slot again. */
static void follow(lab *l, walks *w, uint32_t key, walk_path *path) {
    const walk_log *log = &w->log;
    uint32_t before[WALK_SLOTS_MAX], homeless = key;
    memcpy(before, w->at, sizeof before);
    unsigned start = log->look_count > 1 && log->looks[1] != log->looks[0] ? 2 : 1;
    for (unsigned i = start; i < log->look_count; i++) {
        uint64_t slot = log->looks[i];
        lab_require(l, slot == w->first[homeless] || slot == w->second[homeless],
                    "a key is tried in a slot that is not one of its candidates");
        path->keys[path->steps] = homeless;
        path->slots[path->steps++] = slot;
        uint32_t other = w->at[slot];
        w->at[slot] = homeless;
        homeless = other;
        if (i > start) {
            unsigned move = i - start - 1;
            lab_require(
                l, move < log->move_count && log->moves[move].from == log->looks[i - 1] && log->moves[move].to == slot,
                "a step of a walk is not a move");
        }
    }
    lab_require(l, path->failed == (homeless != WALK_EMPTY),
                "a walk neither ends at a free slot nor rebuilds the table");
    if (path->failed)
        memcpy(w->at, before, sizeof before);
}

void walks_put(lab *l, walks *w, uint32_t key, walk_path *path) {
    path->walked = w->at[w->first[key]] != WALK_EMPTY && w->at[w->second[key]] != WALK_EMPTY;
    path->steps = 0;
    clear(&w->log);
    lab_must(l, kith_table_put(w->table, &w->keys[key], sizeof w->keys[key], 0, NULL), "inserting a key");
    lab_require(l, w->log.look_count <= WALK_LOOKS_MAX && w->log.move_count <= 2 * WALK_LOOKS_MAX,
                "a walk takes more steps than this experiment can record");
    path->failed = w->log.rebuilt;
    if (path->walked) {
        follow(l, w, key, path);
    } else {
        lab_require(l, !path->failed && w->log.move_count == 0, "an insertion with a free candidate slot moves keys");
        w->at[w->at[w->first[key]] == WALK_EMPTY ? w->first[key] : w->second[key]] = key;
    }
}
