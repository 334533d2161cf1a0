/* Construction of one shard of a ribbon filter.
 *
 * The possible thresholds (0, 24, 48 and 128) divide the keys of a bucket into three groups: those whose ribbons start
 * at 0 to 23, at 24 to 47 and at 48 to 127, counted from the beginning of the bucket.
 *
 *     sort       The hashes of a level are sorted by group: first into parts of 1024 starts, then each part, in cache,
 *                into the groups of its buckets.
 *     eliminate  Buckets are processed in increasing order, and the groups of a bucket in decreasing order. Each key is
 *                an equation. As long as an accepted equation begins at the same slot, it is XORed into the new one,
 *                which then begins at a later slot. The reduced equation is stored at the slot where it begins, so at
 *                most one equation begins at each slot. If an equation reduces to a contradiction (0 = 1), all
 *                equations of its group are deleted again. The bucket gets the threshold that bumps this group and the
 *                groups with lower starts, which have not been tried yet. The keys of all these groups are tried again
 *                at the next level.
 *     solve      When every key has a level or is in the stash, the slots of each level are computed from the last to
 *                the first. A slot at which no equation begins is 0.
 *
 * The groups of a bucket are processed in decreasing order because the ribbons of the keys with the lowest starts
 * compete for slots with the ribbons of the previous bucket, which have already been stored. These keys are the most
 * likely to be refused, and a refusal bumps the fewest keys if they come last.
 *
 * The result does not depend on the order of the digests. Whether a group can be accepted depends on the set of its
 * equations and on the set of those accepted before, but not on the order within these sets. When elimination is
 * finished, the set of slots at which an equation begins also depends only on the set of accepted equations. So does
 * the solution in which all other slots are 0. The last level accepts or refuses single keys; there, the keys are
 * sorted first.
 *
 * If a try fails, the shard is tried again with other hash functions, which depend on all of its digests
 * (core/late_seeds.h).
 *
 * Equal digests are always in the same group. The equations of all but the first of them reduce to 0 = 0. Other
 * equations rarely do, so a group is searched for equal digests only if one of its equations reduces to 0 = 0.
 *
 * Memory: about 20 bytes per key while it runs. */
#include "kinds/ribbon/ribbon.h"

#include <assert.h>
#include <string.h>

#include "core/late_seeds.h"
#include "core/sort.h"

enum { TRIES = 3 }; /* seeds for a shard; more would be needed once in 10^27 shards of honest digests */

#define PART_STARTS 1024 /* starts in a part: see "sort" above */
#define PART_BUCKETS (PART_STARTS / KITHI_RIBBON_BUCKET)
#define BUCKET_GROUPS 3
#define PART_GROUPS (PART_BUCKETS * BUCKET_GROUPS)
#define PART_KEYS 4096 /* a part with more keys, which never happens with hashes, is sorted in place */

/* A group with more keys is bumped without trying. A group has at most 80 starts, so its ribbons cover at most 143
 * slots, and at most 143 of its equations are independent. Groups of hashes never have this many keys; for other
 * digests the limit bounds the time that is spent on a group. */
#define GROUP_KEYS 512

typedef struct workspace {
    uint64_t *rows; /* of each slot, level after level: the row of the equation that begins there; 0: there is none */
    uint32_t *fingerprints; /* the right sides of these equations */
    uint64_t *hashes_0; /* of the keys of level 0; afterwards the digests of those that it bumped. If there is no level
                           0: all digests */
    uint64_t *hashes_1; /* the same for level 1 */
    size_t *part_ends;  /* of each part: the index after its last hash */
    uint64_t part[PART_KEYS]; /* the hashes of one part, by group */
    /* The most keys that level 0 may bump, and the length of hashes_1: as many as levels 1 and 2 and the stash can
     * store, or all keys if these are fewer. */
    uint64_t bumped_max;
    uint64_t seed;  /* of this try */
    uint64_t bytes; /* size of this allocation; the arrays follow the struct */
} workspace;

/* The keys that are not stored yet: the beginning of w->hashes_0 or w->hashes_1. */
typedef struct keys {
    uint64_t *digests;
    size_t count;
} keys;

static uint64_t slots_before(const kithi_ribbon_geometry *g, unsigned level) {
    uint64_t slots = 0;
    for (unsigned i = 0; i < level; i++)
        slots += g->slots[i];
    return slots;
}

static uint64_t part_count(const kithi_ribbon_geometry *g, unsigned level) {
    return g->starts[level] / PART_STARTS + 1;
}

/* The number of parts of level 0 or 1, whichever has more. */
static uint64_t most_parts(const kithi_ribbon_geometry *g) {
    return part_count(g, 0) > part_count(g, 1) ? part_count(g, 0) : part_count(g, 1);
}

/* workspace.bumped_max of a shard with n keys. */
static uint64_t bumped_max(const kithi_ribbon_geometry *g, size_t n) {
    uint64_t space = g->slots[1] + g->slots[2] + g->stash;
    return n < space ? n : space;
}

uint64_t kithi_ribbon_build_bytes(const kithi_geometry *geometry, size_t n) {
    const kithi_ribbon_geometry *g = &geometry->ribbon;
    uint64_t slots = kithi_ribbon_shard_slots(g);
    return sizeof(workspace) + (slots + n + bumped_max(g, n)) * 8 + (most_parts(g) + 1) * sizeof(size_t) + slots * 4;
}

static workspace *workspace_open(const kith_filter *f, size_t n) {
    const kithi_ribbon_geometry *g = &f->geometry.ribbon;
    uint64_t slots = kithi_ribbon_shard_slots(g), parts = most_parts(g), bumped = bumped_max(g, n);
    uint64_t bytes = kithi_ribbon_build_bytes(&f->geometry, n);
    workspace *w = kithi_allocate(&f->allocator, bytes);
    if (w == NULL)
        return NULL;
    w->bytes = bytes;
    w->bumped_max = bumped;
    w->rows = (uint64_t *)(void *)(w + 1);
    w->hashes_0 = w->rows + slots;
    w->hashes_1 = w->hashes_0 + n;
    w->part_ends = (size_t *)(void *)(w->hashes_1 + bumped);
    w->fingerprints = (uint32_t *)(void *)(w->part_ends + parts + 1);
    return w;
}

/* ---- eliminate ---- */

typedef enum outcome {
    ACCEPTED,  /* stored at *slot */
    REDUNDANT, /* follows from the equations before it */
    REFUSED,   /* contradicts them */
} outcome;

/* Reduces an equation and stores it, if that is possible. rows[0] and fingerprints[0] belong to slot 0 of the level. */
KITHI_INLINE outcome insert(uint64_t *rows, uint32_t *fingerprints, kithi_ribbon r, uint64_t *slot) {
    uint64_t at = r.start, row = r.row;
    uint32_t fingerprint = (uint32_t)r.fingerprint;
    while (rows[at] != 0) {
        fingerprint ^= fingerprints[at];
        row ^= rows[at]; /* both have bit 0 set, so it is clear now */
        if (row == 0)
            return fingerprint == 0 ? REDUNDANT : REFUSED;
        unsigned zeros = (unsigned)__builtin_ctzll(row);
        row >>= zeros;
        at += zeros;
    }
    rows[at] = row;
    fingerprints[at] = fingerprint;
    *slot = at;
    return ACCEPTED;
}

/* What a level needs to process its groups. */
typedef struct elimination {
    uint64_t *rows; /* of this level */
    uint32_t *fingerprints;
    uint64_t starts;
    unsigned bits;
    bool repeats; /* two equal digests were found */
} elimination;

/* Inserts a group. Returns false, with none of it stored, if an equation is refused or the group is too large. */
KITHI_INLINE bool insert_group(elimination *e, const uint64_t *hashes, size_t n) {
    uint64_t slots[GROUP_KEYS];
    size_t stored = 0;
    if (n > GROUP_KEYS)
        return false;
    for (size_t i = 0; i < n; i++) {
        outcome o = insert(e->rows, e->fingerprints, kithi_ribbon_of(hashes[i], e->starts, e->bits), &slots[stored]);
        stored += o == ACCEPTED;
        for (size_t j = 0; o == REDUNDANT && j < i; j++)
            e->repeats |= hashes[j] == hashes[i];
        if (o == REFUSED) {
            while (stored-- > 0)
                e->rows[slots[stored]] = e->fingerprints[slots[stored]] = 0;
            return false;
        }
    }
    return true;
}

/* The index of the group of a start, within its part. */
KITHI_INLINE unsigned group_of(uint64_t start) {
    unsigned bucket = (unsigned)(start % PART_STARTS / KITHI_RIBBON_BUCKET);
    uint64_t offset = start % KITHI_RIBBON_BUCKET;
    return bucket * BUCKET_GROUPS + (offset >= kithi_ribbon_threshold(1)) + (offset >= kithi_ribbon_threshold(2));
}

/* Sorts the n hashes of a part by group and sets ends[i] to the index after the last hash of group i. Returns the
 * sorted hashes: `sorted` or, if there are too many for it, `hashes`. */
KITHI_INLINE const uint64_t *sort_part(uint64_t *hashes, size_t n, uint64_t starts, uint64_t *sorted,
                                       size_t ends[PART_GROUPS]) {
    size_t next[PART_GROUPS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        next[group_of(kithi_mulhi(hashes[i], starts)) + 1]++;
    for (unsigned i = 0; i < PART_GROUPS; i++) {
        next[i + 1] += next[i];
        ends[i] = next[i + 1];
    }
    if (n > PART_KEYS) {
        kithi_sort(hashes, n); /* by hash, and therefore by start, and by group */
        return hashes;
    }
    for (size_t i = 0; i < n; i++)
        sorted[next[group_of(kithi_mulhi(hashes[i], starts))]++] = hashes[i];
    return sorted;
}

/* Sets `hashes` to the hashes of these digests, sorted by part, and w->part_ends[i] to the index after the last hash of
 * part i. */
KITHI_INLINE void sort_by_part(const kithi_ribbon_geometry *g, const workspace *w, unsigned level,
                               const uint64_t *digests, size_t n, uint64_t *hashes) {
    size_t *part_ends = w->part_ends;
    uint64_t parts = part_count(g, level), starts = g->starts[level];
    memset(part_ends, 0, (size_t)(parts + 1) * sizeof *part_ends);
    for (size_t i = 0; i < n; i++)
        part_ends[kithi_mulhi(kithi_ribbon_hash(digests[i], w->seed, level), starts) / PART_STARTS + 1]++;
    for (uint64_t i = 0; i < parts; i++)
        part_ends[i + 1] += part_ends[i];
    /* part_ends[i] is now where part i begins. After the next loop it is where part i ends. */
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = kithi_ribbon_hash(digests[i], w->seed, level);
        hashes[part_ends[kithi_mulhi(hash, starts) / PART_STARTS]++] = hash;
    }
}

/* Stores left->count keys, whose digests are `digests`, at level 0 or 1, and sets the marks of the level. `hashes` is
 * another array, of at least left->count words, for the hashes of the keys. On return, `hashes` has the digests of the
 * keys that were bumped, and *left refers to them. Returns whether two equal digests were found. */
static bool fill_level(const kithi_ribbon_geometry *g, workspace *w, unsigned level, const uint64_t *digests,
                       uint64_t *hashes, uint8_t *marks, keys *left) {
    elimination e = {.rows = w->rows + slots_before(g, level),
                     .fingerprints = w->fingerprints + slots_before(g, level),
                     .starts = g->starts[level],
                     .bits = (unsigned)g->bits};
    sort_by_part(g, w, level, digests, left->count, hashes);
    size_t bumped = 0, from = 0;
    for (uint64_t part = 0; part < part_count(g, level); part++) {
        size_t ends[PART_GROUPS], n = w->part_ends[part] - from;
        const uint64_t *sorted = sort_part(hashes + from, n, e.starts, w->part, ends);
        for (unsigned bucket = 0; bucket < PART_BUCKETS; bucket++) {
            unsigned first_group = bucket * BUCKET_GROUPS, mark = BUCKET_GROUPS;
            size_t begin = first_group == 0 ? 0 : ends[first_group - 1];
            /* Mark m bumps the first m groups of the bucket. */
            for (; mark > 0; mark--) {
                size_t group_begin = first_group + mark - 1 == 0 ? 0 : ends[first_group + mark - 2];
                if (!insert_group(&e, sorted + group_begin, ends[first_group + mark - 1] - group_begin))
                    break;
            }
            if (mark == 0)
                continue;
            uint64_t number = part * PART_BUCKETS + bucket;
            marks[number / 4] |= (uint8_t)(mark << (number % 4 * 2));
            /* `sorted` may point into `hashes`. Each hash is read before it is overwritten, because no more keys have
             * been bumped than hashes have been read. */
            for (size_t i = begin; i < ends[first_group + mark - 1]; i++)
                hashes[bumped++] = kithi_ribbon_digest(sorted[i], w->seed, level);
        }
        from += n;
    }
    *left = (keys){hashes, bumped};
    return e.repeats;
}

static bool has_repeats(uint64_t *numbers, size_t n) {
    kithi_sort(numbers, n);
    for (size_t i = 1; i < n; i++)
        if (numbers[i - 1] == numbers[i])
            return true;
    return false;
}

/* Stores keys at the last level, and those that it refuses in the stash. */
static kith_status fill_last(const kithi_ribbon_geometry *g, workspace *w, uint8_t *shard, keys left) {
    uint64_t *rows = w->rows + slots_before(g, KITHI_RIBBON_LAST), slot;
    uint32_t *fingerprints = w->fingerprints + slots_before(g, KITHI_RIBBON_LAST);
    uint64_t *stash = left.digests; /* overwrites only hashes that have been inserted or refused */
    size_t stashed = 0;
    for (size_t i = 0; i < left.count; i++)
        left.digests[i] = kithi_ribbon_hash(left.digests[i], w->seed, KITHI_RIBBON_LAST);
    if (has_repeats(left.digests, left.count))
        return KITH_E_COPIES;
    for (size_t i = 0; i < left.count; i++) {
        uint64_t hash = left.digests[i];
        kithi_ribbon r = kithi_ribbon_of(hash, g->starts[KITHI_RIBBON_LAST], (unsigned)g->bits);
        if (insert(rows, fingerprints, r, &slot) == REFUSED)
            stash[stashed++] = kithi_ribbon_digest(hash, w->seed, KITHI_RIBBON_LAST);
    }
    if (stashed > g->stash)
        return KITH_E_FULL;
    kithi_sort(stash, stashed);
    kithi_store64(shard + KITHI_RIBBON_AT_STASHED, stashed);
    for (size_t i = 0; i < stashed; i++)
        kithi_store64(shard + KITHI_RIBBON_HEAD_BYTES + 8 * i, stash[i]);
    return KITH_OK;
}

/* ---- solve ---- */

#define KITHI_AVX2_IS_ENOUGH
#define KITHI_KERNELS "kinds/ribbon/solve.h"
#include "kernels/each_set.h"

static void solve_all(const kithi_ribbon_geometry *g, const workspace *w, uint8_t *shard) {
    typedef void solve_function(const uint64_t *rows, const uint32_t *fingerprints, uint64_t slots, unsigned bits,
                                uint8_t *words);
    static solve_function *const SOLVE[KITHI_CPU_COUNT] = KITHI_EACH_SET(solve);
    for (unsigned level = 0; level < KITHI_RIBBON_LEVELS; level++)
        SOLVE[kithi_cpu_now()](w->rows + slots_before(g, level), w->fingerprints + slots_before(g, level),
                               g->slots[level], (unsigned)g->bits, shard + g->slots_at[level]);
}

/* ---- one shard ---- */

/* One try with w->seed. If it fails with KITH_E_FULL, the reason may be that some digests are equal. */
static kith_status fill(const kithi_ribbon_geometry *g, workspace *w, uint8_t *shard, const uint64_t *digests,
                        size_t n) {
    keys left = {w->hashes_0, n};
    bool repeats = false;
    if (g->slots[0] != 0)
        repeats = fill_level(g, w, 0, digests, w->hashes_0, shard + g->marks_at[0], &left);
    else
        memcpy(w->hashes_0, digests, n * sizeof *digests);
    if (!repeats && left.count > w->bumped_max)
        return KITH_E_FULL;
    if (!repeats && g->slots[1] != 0)
        repeats = fill_level(g, w, 1, left.digests, w->hashes_1, shard + g->marks_at[1], &left);
    return repeats ? KITH_E_COPIES : fill_last(g, w, shard, left);
}

/* Makes the shard and the arrays of the workspace empty again after a try that has failed. */
static void clear(const kithi_ribbon_geometry *g, workspace *w, uint8_t *shard) {
    memset(shard, 0, (size_t)g->shard_bytes);
    memset(w->rows, 0, (size_t)kithi_ribbon_shard_slots(g) * sizeof *w->rows);
    memset(w->fingerprints, 0, (size_t)kithi_ribbon_shard_slots(g) * sizeof *w->fingerprints);
}

kith_status kithi_ribbon_build(kith_filter *f, unsigned attempt, uint64_t region, const uint64_t *digests, size_t n) {
    const kithi_ribbon_geometry *g = &f->geometry.ribbon;
    workspace *w = workspace_open(f, n);
    if (w == NULL)
        return KITH_E_MEMORY;
    uint8_t *shard = f->body + region * g->shard_bytes;
    uint64_t slots = kithi_ribbon_shard_slots(g);
    kithi_late_seeds late;
    w->seed = KITHI_RIBBON_FIRST_SEED;
    kith_status status = fill(g, w, shard, digests, n);
    if (status == KITH_E_FULL && !kithi_late_seeds_of(digests, n, w->hashes_0, w->rows, slots, &late))
        status = KITH_E_COPIES;
    for (unsigned try = 2; status == KITH_E_FULL && n <= slots + g->stash && try <= TRIES; try++) {
        clear(g, w, shard);
        w->seed = kithi_late_seed(&late, attempt, try);
        status = fill(g, w, shard, digests, n);
    }
    if (status == KITH_OK) {
        solve_all(g, w, shard);
        kithi_store64(shard + KITHI_RIBBON_AT_KEYS, n);
        kithi_store64(shard + KITHI_RIBBON_AT_SEED, w->seed);
    } else {
        memset(shard, 0, (size_t)g->shard_bytes);
    }
    kithi_release(&f->allocator, w, w->bytes);
    return status;
}
