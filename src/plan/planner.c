/* The planner: computes the third of capacity, rate and bytes from the other two.
 *
 * A kind only computes its parameters from capacity and rate. More capacity or a lower rate needs more bytes. If bytes
 * are given, the planner therefore finds the rate or the capacity by bisection: the logarithm of the rate with a
 * precision of 2^-30, the capacity exactly.
 *
 * If the spec does not name a kind, every kind is planned and the best one wins. (Static kinds take part only if
 * nothing will be added later.) If no kind alone supports what is needed, every kind that contains another (one of its
 * options is a kind) is planned with every inner kind. If the spec names a kind that does not support what is needed,
 * and gives no options, this kind is tried in the same way, as the outer or as the inner kind. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/structs.h"
#include "format/notes.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "handle/verbs.h"
#include "plan/planner.h"

/* Returns whether 64-bit digests are long enough. Two keys have equal digests with probability 2^-64. So in a set of n
 * keys, a share of n/2^64 of all absent keys have the digest of a key in the set, and are false positives of any
 * filter. That share must be at most a hundredth of the rate. */
static bool digests_suffice(uint64_t capacity, double rate) {
    return (double)capacity * 0x1p-64 <= rate / 100;
}

kith_status kithi_plan(const kithi_kind *kind, const kithi_request *request, kithi_head *head, kithi_shape *shape) {
    uint64_t capacity = request->capacity;
    double rate = request->rate;
    if (capacity == 0)
        return KITH_E_CAPACITY;
    if (!(rate > 0 && rate < 1)) /* NaN too */
        return KITH_E_RATE;
    if (!digests_suffice(capacity, rate))
        return KITH_E_DIGEST_BITS;
    *head = (kithi_head){.kind_id = kind->lookup->id,
                         .hash.id = request->is_public ? KITH_HASH_XXH3 : KITH_HASH_SIPHASH,
                         .capacity = capacity,
                         .rate = rate};
    kith_status status = kind->plan.choose(request, head);
    if (status != KITH_OK)
        return status;
    status = kithi_kind_shape(kind, head, shape);
    if (status != KITH_OK)
        return KITH_E_ADDRESS; /* what plan.choose() returns is valid, so it can only be too large */
    head->body_bytes = shape->body_bytes;
    uint64_t block_bytes;
    if (!kithi_block_bytes(head->body_bytes, &block_bytes) || block_bytes > SIZE_MAX / 2)
        return KITH_E_ADDRESS;
    return KITH_OK;
}

static uint64_t block_bytes_of(const kithi_head *head) {
    uint64_t block_bytes = UINT64_MAX;
    (void)kithi_block_bytes(head->body_bytes, &block_bytes);
    return block_bytes + head->notes_bytes;
}

/* A planning problem: the kind, its options, and the bytes that are available. */
typedef struct problem {
    const kithi_kind *kind;
    const uint64_t *options;
    bool is_public; /* as in kithi_request */
    uint64_t bytes;
} problem;

static kith_status plan_problem(const problem *p, uint64_t capacity, double rate, kithi_head *head) {
    kithi_shape shape;
    kithi_request request = {.capacity = capacity, .rate = rate, .options = p->options, .is_public = p->is_public};
    return kithi_plan(p->kind, &request, head, &shape);
}

static bool fits(const problem *p, uint64_t capacity, double rate, kithi_head *head) {
    return plan_problem(p, capacity, rate, head) == KITH_OK && block_bytes_of(head) <= p->bytes;
}

static kith_status solve_rate(const problem *p, uint64_t capacity, kithi_head *head) {
    double low = -1074, high = -0x1p-40; /* log2 of the rate; low does not fit, high does */
    if (!fits(p, capacity, exp2(high), head)) {
        kith_status status = plan_problem(p, capacity, exp2(high), head);
        return status != KITH_OK ? status : KITH_E_TOO_SMALL;
    }
    while (high - low > 0x1p-30) {
        double middle = (low + high) / 2;
        kithi_head trial;
        if (fits(p, capacity, exp2(middle), &trial)) {
            high = middle;
            *head = trial;
        } else {
            low = middle;
        }
    }
    return KITH_OK;
}

static kith_status solve_capacity(const problem *p, double rate, kithi_head *head) {
    uint64_t low = 1, high = UINT64_MAX; /* low fits, high does not */
    if (!fits(p, low, rate, head)) {
        kith_status status = plan_problem(p, low, rate, head);
        return status != KITH_OK ? status : KITH_E_TOO_SMALL;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        kithi_head trial;
        if (fits(p, middle, rate, &trial)) {
            low = middle;
            *head = trial;
        } else {
            high = middle;
        }
    }
    return KITH_OK;
}

static kith_status plan_with_options(const kithi_kind *kind, const uint64_t *options, const kith_filter_spec *spec,
                                     kithi_head *head) {
    problem p = {kind, options, spec->hash.id != KITH_HASH_SIPHASH, spec->bytes};
    kithi_shape shape;
    kith_status status;
    if (spec->bytes == 0)
        status = plan_problem(&p, spec->capacity, spec->rate, head);
    else if (spec->capacity != 0)
        status = solve_rate(&p, spec->capacity, head);
    else
        status = solve_capacity(&p, spec->rate, head);
    if (status == KITH_E_ADDRESS && spec->max_bytes != 0)
        return KITH_E_TOO_LARGE; /* it exceeds any limit */
    if (status != KITH_OK)
        return status;
    if (spec->max_bytes != 0 && block_bytes_of(head) > spec->max_bytes)
        return KITH_E_TOO_LARGE;
    status = kithi_kind_shape(kind, head, &shape);
    if (status != KITH_OK)
        return status;
    if ((spec->excludes & shape.capabilities) != 0)
        return KITH_E_KIND;
    uint32_t missing = spec->needs & ~shape.capabilities;
    /* After KITH_E_KIND, plan_without_notes() tries layers of the kind. That would not help if the kind lacks
     * KITH_CAN_ADD: it is then static and cannot be a layer. */
    if ((missing & KITH_CAN_ADD) != 0)
        return KITH_E_UNSUPPORTED;
    return missing == 0 ? KITH_OK : KITH_E_KIND;
}

/* If no options are given, checks the capabilities first: a kind that lacks one is refused for that reason, and not
 * because of its size. (With options, only the plan shows what the filter can do.) */
static kith_status plan_kind(const kithi_kind *kind, const kith_filter_spec *spec, kithi_head *head) {
    uint64_t options[KITHI_OPTIONS_MAX];
    kith_status status = kithi_kind_options_read(kind, spec->options, options);
    if (status != KITH_OK)
        return status;
    uint32_t missing = spec->options == NULL ? spec->needs & ~kind->info.capabilities : 0;
    if (missing != 0)
        return (missing & KITH_CAN_ADD) != 0 ? KITH_E_UNSUPPORTED : KITH_E_KIND;
    return plan_with_options(kind, options, spec, head);
}

/* Returns whether plan a is better than plan b, by the quantity that the spec leaves open: bytes, rate or capacity. */
static bool better(const kith_filter_spec *spec, const kithi_head *a, const kithi_head *b) {
    if (spec->bytes == 0)
        return block_bytes_of(a) < block_bytes_of(b);
    return spec->capacity != 0 ? a->rate < b->rate : a->capacity > b->capacity;
}

/* A search for the best of several plans. */
typedef struct search {
    const kith_filter_spec *spec;
    kithi_head *best;
    bool found;
    kith_status refusal; /* the result if nothing is found: the first failure other than KITH_E_KIND, or KITH_E_KIND */
} search;

static void consider(search *s, kith_status status, const kithi_head *trial) {
    if (status != KITH_OK) {
        s->refusal = s->refusal == KITH_E_KIND ? status : s->refusal;
        return;
    }
    if (!s->found || better(s->spec, trial, s->best))
        *s->best = *trial;
    s->found = true;
}

static kith_status plan_best(const kith_filter_spec *spec, kithi_head *head) {
    search s = {spec, head, false, KITH_E_KIND};
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kithi_kind *kind = kithi_kind_at(i);
        /* Static kinds are planned only if nothing will be added later. */
        if (!kithi_kind_adds(kind) && (!spec->final || (spec->needs & KITH_CAN_ADD) != 0))
            continue;
        kithi_head trial;
        consider(&s, plan_kind(kind, spec, &trial), &trial);
    }
    return s.found ? KITH_OK : s.refusal;
}

/* Plans every pair of an outer kind (one that contains another) and an inner kind, and returns the best plan. If
 * `named` is not NULL, it must be one of the two. */
static kith_status plan_inside(const kithi_kind *named, const kith_filter_spec *spec, kithi_head *head) {
    search s = {spec, head, false, KITH_E_KIND};
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kithi_kind *outer = kithi_kind_at(i);
        size_t option = kithi_inner_kind_option(outer);
        for (size_t j = 0; option < outer->info.option_count && j < kith_filter_kind_count(); j++) {
            const kithi_kind *inner = kithi_kind_at(j);
            bool matches_name = named == NULL || named == outer || named == inner;
            /* A static kind cannot be inside another. If the caller names one and needs growth, it is tried all the
             * same, so that the result is KITH_E_UNSUPPORTED and not KITH_E_KIND. */
            bool can_be_inner = kithi_kind_adds(inner) || (named == inner && (spec->needs & KITH_CAN_GROW) != 0);
            if (!matches_name || !can_be_inner)
                continue;
            uint64_t options[KITHI_OPTIONS_MAX];
            kithi_head trial;
            kith_status status = kithi_kind_options_read(outer, NULL, options);
            options[option] = inner->lookup->id;
            if (status == KITH_OK)
                status = plan_with_options(outer, options, spec, &trial);
            /* KITH_E_OPTION_VALUE means that `outer` cannot contain `inner`. */
            consider(&s, status == KITH_E_OPTION_VALUE ? KITH_E_KIND : status, &trial);
        }
    }
    return s.found ? KITH_OK : s.refusal;
}

/* Plans the named kind or, if `named` is NULL, the smallest one; in layers, if nothing else supports what is needed. */
static kith_status plan_named(const kithi_kind *named, const kith_filter_spec *spec, kithi_head *head) {
    if (named != NULL && (spec->excludes & named->info.capabilities) != 0 && spec->options == NULL)
        return KITH_E_KIND; /* what is excluded may be missing in layers of this kind, but it was not asked for them */
    kith_status status = named != NULL ? plan_kind(named, spec, head) : plan_best(spec, head);
    return status == KITH_E_KIND && spec->options == NULL ? plan_inside(named, spec, head) : status;
}

/* ---- which kind is preferred ---- */

static kith_status shape_of(const kithi_head *head, kithi_shape *shape) {
    return kithi_kind_shape(kithi_kind_by_id(head->kind_id), head, shape);
}

/* A faster kind may take this many times the bits per key of the smallest. From 10^4 keys on, `blocked` is 16% to 27%
 * larger than the smallest kind at a rate of 0.1%, and 36% to 43% larger at 0.01%. Static kinds compute the XOR of the
 * cells that a lookup reads, also while the filter is built. `fuse` is 12% larger than `ribbon`. It is built twice as
 * fast, and its lookups take 0.6 to 0.9 of the time for 10^6 keys. (With 10^7 keys at 1%, has_many of ribbon is faster:
 * it reads fewer cache lines on average.) */
#define FASTER_BITS 1.3

static double bits_per_key(const kithi_head *head) {
    return (double)block_bytes_of(head) * 8 / (double)head->capacity;
}

/* Whoever says that nothing will be added later prefers a small filter, so a static kind is not exchanged for one to
 * which keys can be added. A kind that grows is preferred to no other: growing costs time in every lookup. */
static bool is_faster(const kithi_shape *other, const kithi_shape *smallest, uint32_t needs) {
    bool adds = (smallest->capabilities & KITH_CAN_ADD) != 0;
    if (((other->capabilities & KITH_CAN_ADD) != 0) != adds || (other->capabilities & ~needs & KITH_CAN_GROW) != 0)
        return false;
    return adds ? other->lines == 1 && smallest->lines > 1 : other->lookup_cells < smallest->lookup_cells;
}

/* Replaces the smallest plan by that of a faster kind, if there is one. */
static void take_faster(const kith_filter_spec *spec, kithi_head *best) {
    kithi_shape fastest, shape;
    double bits_most = FASTER_BITS * bits_per_key(best);
    if (shape_of(best, &fastest) != KITH_OK)
        return;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        kithi_head trial;
        if (plan_named(kithi_kind_at(i), spec, &trial) == KITH_OK && shape_of(&trial, &shape) == KITH_OK &&
            bits_per_key(&trial) <= bits_most && is_faster(&shape, &fastest, spec->needs)) {
            *best = trial;
            fastest = shape;
        }
    }
}

static kith_status plan_without_notes(const kith_filter_spec *spec, kithi_head *head) {
    bool rate_given = spec->rate != 0; /* NaN counts as given, and is refused below */
    if (rate_given && !(spec->rate > 0 && spec->rate < 1))
        return KITH_E_RATE;
    if (spec->bytes == 0 && spec->capacity == 0)
        return KITH_E_CAPACITY;
    if (spec->bytes == 0 && !rate_given)
        return KITH_E_RATE;
    if (spec->bytes != 0 && (spec->capacity != 0) == rate_given)
        return KITH_E_GIVEN;
    if (spec->kind == NULL && spec->options != NULL)
        return KITH_E_OPTION_KIND;
    const kithi_kind *kind = NULL;
    if (spec->kind != NULL) {
        kind = kithi_kind_by_name(spec->kind, strlen(spec->kind));
        if (kind == NULL)
            return KITH_E_KIND;
    }
    kith_status status = plan_named(kind, spec, head);
    if (status == KITH_OK && kind == NULL && rate_given && spec->prefer == KITH_PREFER_FASTER)
        take_faster(spec, head);
    return status;
}

kith_status kithi_spec_read(const kith_filter_spec *given, kith_filter_spec *spec) {
    assert(given != NULL);
    if (!kithi_struct_read(spec, sizeof *spec, given))
        return KITH_E_STRUCT;
    if (spec->recipe > KITHI_RECIPE_MAX)
        return KITH_E_RECIPE;
    if (spec->prefer != KITH_PREFER_SMALLEST && spec->prefer != KITH_PREFER_FASTER)
        return KITH_E_ARGUMENT;
    assert(spec->notes != NULL || spec->note_count == 0);
    return KITH_OK;
}

kith_status kithi_plan_spec(const kith_filter_spec *spec, kithi_head *head) {
    assert(spec != NULL && head != NULL);
    uint64_t notes_bytes;
    kith_status status = kithi_notes_measure(spec->notes, spec->note_count, &notes_bytes);
    if (status != KITH_OK)
        return status;
    kith_filter_spec rest = *spec;
    if (spec->bytes != 0 && spec->bytes <= notes_bytes)
        return KITH_E_TOO_SMALL;
    if (spec->max_bytes != 0 && spec->max_bytes <= notes_bytes)
        return KITH_E_TOO_LARGE;
    rest.bytes -= spec->bytes != 0 ? notes_bytes : 0;
    rest.max_bytes -= spec->max_bytes != 0 ? notes_bytes : 0;
    status = plan_without_notes(&rest, head);
    if (status != KITH_OK)
        return status;
    head->recipe = spec->recipe;
    head->notes_bytes = notes_bytes;
    return KITH_OK;
}

kith_status kithi_plan_again(const kith_filter_spec *spec, const kithi_head *first, unsigned attempt, uint64_t largest,
                             kithi_head *head) {
    const kithi_kind *kind = kithi_kind_by_id(first->kind_id);
    uint64_t options[KITHI_OPTIONS_MAX];
    kithi_shape shape;
    kith_status status = kithi_kind_options_read(kind, spec->options, options);
    if (status != KITH_OK)
        return status;
    kithi_request request = {first->capacity, first->rate, options,
                             attempt,         largest,     first->hash.id != KITH_HASH_SIPHASH};
    status = kithi_plan(kind, &request, head, &shape);
    if (status != KITH_OK)
        return status;
    head->hash = first->hash;
    head->recipe = first->recipe;
    head->notes_bytes = first->notes_bytes;
    uint64_t block_bytes = block_bytes_of(head);
    bool too_large =
        (spec->bytes != 0 && block_bytes > spec->bytes) || (spec->max_bytes != 0 && block_bytes > spec->max_bytes);
    return too_large ? KITH_E_TOO_LARGE : KITH_OK;
}

static void describe(const kithi_head *head, const kithi_shape *shape, kith_plan *plan) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    kithi_expectation expected = kind->plan.expect(head, head->capacity);
    uint64_t file_bytes = block_bytes_of(head);
    kith_plan made;
    memset(&made, 0, sizeof made); /* padding as well: callers may compare structs */
    made.kind = kind->info.name;
    made.capabilities = shape->capabilities;
    made.capacity = head->capacity;
    made.rate = head->rate;
    made.expected_rate = expected.rate;
    made.file_bytes = file_bytes;
    made.bits_per_key = (double)file_bytes * 8 / (double)head->capacity;
    made.cells = shape->cells;
    made.cell_bits = shape->cell_bits;
    made.hashes = shape->hashes;
    made.fingerprint_bits = shape->fingerprint_bits;
    made.lines = shape->lines;
    made.lookup_cells = shape->lookup_cells;
    made.max_copies = shape->max_copies;
    made.failure = expected.failure;
    made.search_slots = expected.search_slots;
    size_t option = kithi_inner_kind_option(kind);
    if (option < kind->info.option_count)
        made.inner = kithi_kind_by_id(kind->plan.option(head, (unsigned)option))->info.name;
    kithi_struct_write(plan, &made);
}

kith_status kith_filter_plan(const kith_filter_spec *given, kith_plan *plan) {
    assert(given != NULL && plan != NULL);
    if (!kithi_struct_valid(plan, sizeof *plan))
        return KITH_E_STRUCT;
    kith_filter_spec spec;
    kithi_head head;
    kithi_shape shape;
    kith_status status = kithi_spec_read(given, &spec);
    if (status == KITH_OK)
        status = kithi_plan_spec(&spec, &head);
    if (status != KITH_OK)
        return status;
    status = shape_of(&head, &shape);
    if (status == KITH_OK)
        describe(&head, &shape, plan);
    return status;
}

kith_status kith_filter_plan_of(const kith_filter *f, kith_plan *plan) {
    assert(f != NULL && plan != NULL);
    if (!kithi_struct_valid(plan, sizeof *plan))
        return KITH_E_STRUCT;
    describe(&f->head, &f->shape, plan);
    return KITH_OK;
}
