/* layers: a filter that grows, for sets whose size is not known in advance (after Almeida, Baquero, Preguica,
 * Hutchison, "Scalable Bloom Filters", 2007).
 *
 * The body holds complete blocks of another kind; each is a filter with its own header and checksums. Keys are added
 * to the newest layer. When it is full, a new layer `growth` times as large is appended. has() searches the newest
 * layer first.
 *
 *     body    | directory: 64 lengths of 8 bytes | block of layer 0 | block of layer 1 | … |
 *             each block begins at a multiple of 64; a length of 0 means that there is no such layer
 *
 * The rate is at most the sum of the layers' rates. Layer i gets
 *
 *     rate_i = rate * (6/pi^2) / (i+1)^2                the reciprocals of the squares add up to pi^2/6
 *
 * so the sum stays below `rate` for any number of layers. Halving the rate from layer to layer would also keep the sum
 * below `rate`, but later layers would need more bits per key: a filter needs at least log2(1/rate). In layer 9, rate_i
 * costs 7.4 bits per key more than a single filter of rate `rate`; rate / 2^10 would cost 10 bits more.
 *
 * In memory each appended layer has its own block, so growing copies nothing; layers_blocks.c describes this. If there
 * is not enough memory, or if the limit of the handle (kith_filter_set_limit) would be exceeded, nothing changes.
 *
 * Adding. If the inner kind (that of the layers) does not store copies, a key for which an older layer returns true is
 * not added again. If the inner kind stores copies, every key is added.
 *
 * Removing. If exactly one layer returns true for the key, a copy is removed from that layer. If two layers do, one of
 * them may be a false positive. Removing the key from that layer would damage another key, so the result is
 * KITH_E_AMBIGUOUS. For a key that was added once, the probability of this result is at most about `rate`. A key with
 * copies in two layers always has this result. The number of copies of a key in all layers together is limited, so that
 * adds of a single key do not let the filter grow forever (kithi_shape.copies_limit).
 *
 * Options of the inner kind may be given as well (inner=cuckoo b=2) and hold for every layer.
 *
 * Parameters, by index: 0: inner kind's id; 1: growth; 2: number of layers; 3: capacity of layer 0; 4 and 5: options of
 * the inner kind (see kithi_layers_geometry). The capacity in the header is the sum of the layers' capacities, and the
 * body length in the header includes the blocks of all layers. */
#include <assert.h>

#include "core/batch.h"
#include "layers/blocks.h"
#include "layers/plan.h"
#include "handle/handle.h"
#include "kinds/registry.h"
#include "handle/verbs.h"

static const kith_option OPTIONS[] = {
    {"inner", "kind", "blocked", "the kind of the layers; its options can be given as well"},
    {"growth", "1..32768", "2", "capacity of a new layer, as a multiple of the previous one"},
};

#define OPTION_COUNT (sizeof OPTIONS / sizeof *OPTIONS)

static kith_status choose(const kithi_request *request, kithi_head *head) {
    if (request->options[0] == KITHI_LAYERS_ID)
        return KITH_E_OPTION_VALUE;
    if (!kithi_kind_adds(kithi_kind_by_id(request->options[0])))
        return KITH_E_UNSUPPORTED;
    kithi_layers_geometry g = {
        .inner = request->options[0], .growth = request->options[1], .count = 1, .first_capacity = request->capacity};
    for (unsigned i = 0; i + OPTION_COUNT < KITHI_OPTIONS_MAX; i++) {
        uint64_t value = request->options[OPTION_COUNT + i]; /* 1 + the value, or 0 if not given: see registry.h */
        assert(value <= 0xffff);                             /* no option has larger values */
        g.inner_options[i / 4] |= value << 16 * (i % 4);
    }
    kithi_layers_encode(&g, head);
    return kithi_layers_plan_first(head);
}

static uint64_t option(const kithi_head *head, unsigned index) {
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    if (index >= OPTION_COUNT)
        return kithi_layers_inner_option(&g, index - (unsigned)OPTION_COUNT);
    return index == 0 ? g.inner : g.growth;
}

/* Assumes that n keys fill the layers one after the other. The failure probability is an upper bound, because a key
 * that does not fit in a layer is added to the next one. */
static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    const kithi_kind *inner = kithi_kind_by_id(g.inner);
    kithi_expectation sum = {.rate = 0};
    for (unsigned i = 0; i < g.count; i++) {
        kithi_head layer;
        if (kithi_layers_plan(head, i, &layer) != KITH_OK)
            break;
        bool newest = i + 1 == g.count;
        uint64_t keys = n < layer.capacity || newest ? n : layer.capacity;
        kithi_expectation one = inner->plan.expect(&layer, keys);
        sum.rate += one.rate;
        sum.failure += one.failure;
        sum.search_slots = newest ? one.search_slots : 0;
        n -= keys;
    }
    return sum;
}

static void seal(kith_filter *f) {
    for (unsigned i = 0; i < kithi_layers_count(f); i++)
        kithi_filter_seal(&kithi_layers_of(f)[i]);
}

static kith_status empty_head(kithi_head *head) {
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    g.count = 1;
    kithi_layers_encode(&g, head);
    head->capacity = g.first_capacity;
    return kithi_layers_plan_first(head) == KITH_OK ? KITH_OK : KITH_E_CORRUPT;
}

static kith_filter *only_block(kith_filter *f) {
    return kithi_layers_count(f) == 1 ? kithi_layers_of(f) : NULL;
}

/* ---- operations ---- */

/* Searches the layers end - 1 … 0, in this order, until `stop_at` of them return true. Returns how many did, and sets
 * *where to the last one that did. */
static unsigned find(const kith_filter *f, uint64_t digest, unsigned end, unsigned stop_at, kith_filter **where) {
    unsigned found = 0;
    for (unsigned i = end; i-- > 0 && found < stop_at;) {
        kith_filter *layer = &kithi_layers_of(f)[i];
        if (kithi_has(layer, digest)) {
            *where = layer;
            found++;
        }
    }
    return found;
}

static bool has(const kith_filter *f, uint64_t digest) {
    kith_filter *where;
    return find(f, digest, kithi_layers_count(f), 1, &where) != 0;
}

/* The context of look_shifted(). The cells of a layer are numbered after those of the older layers. */
typedef struct shifted {
    kith_look report;
    void *context;
    uint64_t first_cell; /* number of the layer's first cell */
} shifted;

static void look_shifted(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    const shifted *s = context;
    s->report(s->context, s->first_cell + cell, holds, wanted);
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    shifted s = {report, context, f->shape.cells};
    for (unsigned i = kithi_layers_count(f); i-- > 0;) {
        const kith_filter *layer = &kithi_layers_of(f)[i];
        s.first_cell -= layer->shape.cells;
        if (layer->operations->look(layer, digest, look_shifted, &s))
            return true;
    }
    return false;
}

static uint64_t cell(const kith_filter *f, uint64_t number) {
    const kith_filter *layer = kithi_layers_of(f);
    for (; number >= layer->shape.cells; layer++)
        number -= layer->shape.cells;
    return layer->operations->cell(layer, number);
}

static uint64_t copies(const kith_filter *f, uint64_t digest) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < kithi_layers_count(f); i++)
        sum += kithi_copies(&kithi_layers_of(f)[i], digest);
    return sum;
}

static kith_status add_to_newest(kith_filter *f, uint64_t digest, bool *was_new) {
    kith_filter *newest = &kithi_layers_of(f)[kithi_layers_count(f) - 1];
    uint64_t before = newest->head.count;
    newest->sealed = false;
    kith_status status = kithi_add_one(newest, digest, was_new);
    f->head.count += newest->head.count - before;
    return status;
}

static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {
    kith_filter *where;
    bool in_older = find(f, digest, kithi_layers_count(f) - 1, 1, &where) != 0;
    bool stores_copies = (f->shape.capabilities & KITH_CAN_COPIES) != 0;
    if (in_older && !stores_copies)
        return KITH_OK;
    const kithi_shape *newest = &kithi_layers_of(f)[kithi_layers_count(f) - 1].shape;
    if (stores_copies && copies(f, digest) >= (newest->copies_limit != 0 ? newest->copies_limit : f->shape.max_copies))
        return KITH_E_COPIES;
    bool is_new = false;
    kith_status status = add_to_newest(f, digest, &is_new);
    if (status == KITH_E_FULL) {
        status = kithi_layers_grow(f);
        if (status != KITH_OK)
            return status;
        /* The layer that was full is now an older one, so the older layers are searched again. The full layer can have
         * the key only if the inner kind stores copies: other kinds do not refuse a key that they have. */
        in_older = find(f, digest, kithi_layers_count(f) - 1, 1, &where) != 0;
        status = add_to_newest(f, digest, &is_new);
    }
    if (status == KITH_OK && was_new != NULL)
        *was_new = is_new && !in_older;
    return status;
}

static kith_status remove_one(kith_filter *f, uint64_t digest) {
    kith_filter *where;
    unsigned found = find(f, digest, kithi_layers_count(f), 2, &where);
    if (found != 1)
        return found == 0 ? KITH_E_ABSENT : KITH_E_AMBIGUOUS;
    where->sealed = false;
    kith_status status = kithi_remove_one(where, digest);
    f->head.count -= status == KITH_OK;
    return status;
}

/* ---- batches: the newest layer is searched first, and each older one only for digests not found so far ---- */

#define GROUP 256 /* digests that are searched together, layer by layer */

/* left[0 … count-1] are indices into `digests`. Removes those whose digest is found in one of the layers 0 … end-1;
 * returns how many remain. */
static size_t drop_found(const kith_filter *f, unsigned end, const uint64_t *digests, uint16_t *left, size_t count) {
    uint64_t searched[GROUP], found[GROUP / 64];
    for (unsigned i = end; i-- > 0 && count > 0;) {
        for (size_t j = 0; j < count; j++)
            searched[j] = digests[left[j]];
        const kith_filter *layer = &kithi_layers_of(f)[i];
        (void)kithi_has_many(layer, searched, count, found);
        size_t kept = 0;
        for (size_t j = 0; j < count; j++) {
            left[kept] = left[j];
            kept += !kith_bitmap_get(found, j);
        }
        count = kept;
    }
    return count;
}

/* Sets left[0 … count-1] to the indices of a whole group; returns count. */
static size_t all_indices(uint16_t *left, size_t count) {
    for (size_t j = 0; j < count; j++)
        left[j] = (uint16_t)j;
    return count;
}

static size_t has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    size_t yes = 0;
    for (size_t at = 0; at < n; at += GROUP) {
        uint16_t left[GROUP];
        size_t group = n - at < GROUP ? n - at : GROUP;
        size_t absent = drop_found(f, kithi_layers_count(f), digests + at, left, all_indices(left, group));
        yes += group - absent;
        if (maybe == NULL)
            continue;
        for (size_t j = 0; j < group; j += 64)
            maybe[(at + j) / 64] = group - j < 64 ? (UINT64_C(1) << (group - j)) - 1 : UINT64_MAX;
        for (size_t j = 0; j < absent; j++)
            maybe[(at + left[j]) / 64] ^= UINT64_C(1) << (left[j] % 64);
    }
    return yes;
}

static kith_status add_each(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    for (; *done < n; ++*done) {
        bool is_new = false;
        kith_status status = add(f, digests[*done], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, *done, is_new);
    }
    return KITH_OK;
}

/* Adds groups of digests to the newest layer. When that is full, a new layer is appended, and the loop continues with
 * the first digest that was refused. If the inner kind stores copies, digests are added one by one, because the limit
 * of copies must be checked for each. */
static kith_status add_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    if ((f->shape.capabilities & KITH_CAN_COPIES) != 0)
        return add_each(f, digests, n, was_new, done);
    while (*done < n) {
        uint16_t left[GROUP];
        uint64_t absent_digests[GROUP], absent_was_new[GROUP / 64] = {0}; /* absent: not in an older layer */
        size_t group = n - *done < GROUP ? n - *done : GROUP, added = 0;
        size_t count = drop_found(f, kithi_layers_count(f) - 1, digests + *done, left, all_indices(left, group));
        for (size_t j = 0; j < count; j++)
            absent_digests[j] = digests[*done + left[j]];
        kith_filter *newest = &kithi_layers_of(f)[kithi_layers_count(f) - 1];
        uint64_t before = newest->head.count;
        newest->sealed = false;
        kith_status status = kithi_add_many(newest, absent_digests, count, absent_was_new, &added);
        assert(status == KITH_OK ? added == count : added < count); /* so left[added] is the digest that was refused */
        f->head.count += newest->head.count - before;
        for (size_t j = 0; j < added; j++)
            kithi_bitmap_set(was_new, *done + left[j], kith_bitmap_get(absent_was_new, j));
        *done += status == KITH_OK ? group : left[added];
        if (status == KITH_E_FULL)
            status = kithi_layers_grow(f);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

static kith_status remove_many(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    for (; *done < n; ++*done) {
        kith_status status = remove_one(f, digests[*done]);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    stats->layers = kithi_layers_count(f);
    stats->keys_now = 0;
    stats->cells = 0;
    double all_return_false = 1; /* probability that all layers return false for an absent key */
    for (unsigned i = 0; i < kithi_layers_count(f); i++) {
        const kith_filter *layer = &kithi_layers_of(f)[i];
        kith_filter_stats one = KITH_FILTER_STATS_INIT;
        if (kith_filter_stats_of(layer, &one) != KITH_OK)
            continue;
        stats->cells += one.cells;
        stats->cells_used += one.cells_used;
        stats->keys_now += one.keys_now;
        stats->stuck += one.stuck;
        all_return_false *= 1 - one.rate_now;
    }
    stats->rate_now = 1 - all_return_false;
}

static const char *check(const kith_filter *f) {
    uint64_t count = 0, capacity = 0;
    kithi_head first;
    if (kithi_layers_plan(&f->head, 0, &first) != KITH_OK)
        return "no layer can be planned with the options in the header";
    for (unsigned i = 0; i < kithi_layers_count(f); i++) {
        const kith_filter *layer = &kithi_layers_of(f)[i];
        const char *broken = kithi_filter_check(layer);
        if (broken != NULL)
            return broken;
        count += layer->head.count;
        capacity += layer->head.capacity;
        if (!kithi_is_zero_from(layer->block, 8 * layer->block_bytes, kithi_layers_padded(layer->block_bytes)))
            return "a byte between two layers is not zero";
    }
    for (unsigned i = kithi_layers_count(f); i < KITHI_LAYERS_MAX; i++)
        if (kithi_load64(f->body + 8 * (size_t)i) != 0)
            return "the directory has an entry after the last layer";
    if (f->head.fill != 0)
        return "the header has a fill, which this kind does not use";
    if (capacity != f->head.capacity)
        return "the capacity is not the sum of the capacities of the layers";
    return count == f->head.count ? NULL : "the count is not the sum of the counts of the layers";
}

const kithi_kind kithi_kind_layers = {
    .info =
        {
            .name = "layers",
            .summary = "grows: layers of another kind with a bounded total rate",
            .capabilities = KITH_CAN_ADD | KITH_CAN_GROW,
            .options = OPTIONS,
            .option_count = OPTION_COUNT,
        },
    .lookup = &kithi_lookup_layers,
    .plan = {.choose = choose, .option = option, .expect = expect},
};

static void bind(kith_filter *f) {
    f->verbs = (kithi_kernels){has_many, add_many, remove_many, has, add, remove_one, copies};
}

const kithi_operations kithi_many_blocks = {
    .bind = bind,
    .init = kithi_layers_init,
    .attach = kithi_layers_attach,
    .detach = kithi_layers_detach,
    .memory = kithi_layers_memory,
    .verify = kithi_layers_verify,
    .seal = seal,
    .parts = kithi_layers_parts,
    .relocate = kithi_layers_relocate,
    .empty_head = empty_head,
    .clear = kithi_layers_clear,
    .only_block = only_block,
    .look = look,
    .cell = cell,
    .stats = stats,
    .check = check,
    .salvage = kithi_layers_salvage,
    .recount = kithi_layers_recount,
};
