/* The builder: makes a filter from a complete list of digests.
 *
 * A builder works in one of two ways. If the kind ignores duplicates and the capacity is given (or follows from bytes
 * and rate), it streams: the filter is created when the builder is opened, and digests are added to it directly.
 * Otherwise it collects all digests first.
 *
 *     kith_builder_add_many ---> streaming: adds to the filter
 *                         '----> collecting: build/collect.c, in memory and on disk
 *     kith_builder_finish   ---> collecting: counts the keys, if the capacity is not known or if they are on disk; then
 *                                creates the filter and fills it (build/fill.c; static kinds: build/static.c)
 *
 * A streaming builder with several threads gathers digests before it adds them, because splitting the work among
 * threads is faster only for many digests at a time. */
#include <kith/builder.h>

#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "core/parallel.h"
#include "core/structs.h"
#include "build/collect.h"
#include "build/fill.h"
#include "build/static.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "handle/handle.h"
#include "handle/verbs.h"
#include "plan/planner.h"

#define GATHERED_MAX ((size_t)1 << 20) /* digests that a streaming builder gathers */

struct kith_builder {
    kith_allocator allocator;
    kith_filter_spec spec;
    kithi_head head;         /* the plan of the spec; used only if the capacity is known */
    const kith_filter *like; /* create a filter like this one; NULL: create it from the spec */
    unsigned flags;          /* kith_build_flags */
    unsigned threads;
    uint64_t left_out; /* copies that KITH_BUILD_LEAVE_OUT has skipped */
    bool ended;        /* no more digests can be added */
    bool finished;     /* the filter was returned; the builder can only be freed */

    kith_filter *filter; /* if the builder streams; otherwise NULL */
    /* The filter of a finish() that failed with KITH_E_FULL or KITH_E_COPIES, for kith_builder_partial(). */
    kith_filter *refused;
    /* If the builder streams on several threads: digests that are not in the filter yet. */
    uint64_t *gathered;
    size_t gathered_count, gathered_max;
    /* If the builder streams on several threads: the most digests that one call of kithi_fill_stream() gets. */
    size_t piece_max;

    kithi_collection collection;
};

static bool is_multiset(const kith_builder *b) {
    return (b->flags & KITH_BUILD_MULTISET) != 0;
}

/* ---- opening ---- */

static bool capacity_is_unknown(const kith_filter_spec *spec) {
    return spec->capacity == 0 && (spec->bytes == 0 || spec->rate == 0);
}

/* Plans the filter of a spec. If its capacity is not known yet, plans for one key. This finds specs that are invalid
 * for every number of keys before any key is read. */
static kith_status plan_for_check(const kith_filter_spec *spec, kithi_head *head) {
    kith_filter_spec smallest = *spec;
    if (capacity_is_unknown(spec))
        smallest.capacity = 1;
    kith_status status = kithi_plan_spec(&smallest, head);
    if (status == KITH_OK && !kithi_hash_valid(&spec->hash))
        status = KITH_E_HASH;
    head->hash = spec->hash;
    return status;
}

/* Copies and checks a spec: sets *spec, *head as plan_for_check() does, and *streams to whether a builder for this spec
 * streams. */
static kith_status read_spec(const kith_filter_spec *given, unsigned flags, kith_filter_spec *spec, kithi_head *head,
                             bool *streams) {
    kithi_shape shape;
    kith_status status = kithi_spec_read(given, spec);
    if (status != KITH_OK)
        return status;
    spec->needs |= (flags & KITH_BUILD_MULTISET) != 0 ? KITH_CAN_COPIES : 0;
    status = plan_for_check(spec, head);
    if (status == KITH_OK)
        status = kithi_kind_shape(kithi_kind_by_id(head->kind_id), head, &shape);
    *streams = status == KITH_OK && !capacity_is_unknown(spec) &&
               (shape.capabilities & (KITH_CAN_ADD | KITH_CAN_COPIES)) == KITH_CAN_ADD;
    return status;
}

static kith_status read_limits(const kith_build_limits *given, kith_build_limits *limits) {
    *limits = (kith_build_limits)KITH_BUILD_LIMITS_INIT;
    if (given != NULL && !kithi_struct_read(limits, sizeof *limits, given))
        return KITH_E_STRUCT;
    unsigned threads = limits->threads;
    limits->threads = threads < 1 ? 1 : threads < KITHI_THREADS_MAX ? threads : KITHI_THREADS_MAX;
    return limits->memory_bytes != 0 && limits->folder == NULL ? KITH_E_FOLDER : KITH_OK;
}

static bool flags_known(unsigned flags) {
    return (flags & ~(unsigned)(KITH_BUILD_MULTISET | KITH_BUILD_LEAVE_OUT)) == 0;
}

/* Returns whether a valid spec describes a filter of a static kind. */
static bool is_static(const kith_filter_spec *spec) {
    kithi_head head;
    if (spec->kind != NULL)
        return !kithi_kind_adds(kithi_kind_by_name(spec->kind, strlen(spec->kind)));
    return spec->final && plan_for_check(spec, &head) == KITH_OK && !kithi_kind_adds(kithi_kind_by_id(head.kind_id));
}

static kith_status create_filter(const kith_builder *b, kith_filter **filter) {
    return b->like != NULL ? kith_filter_create_like(b->like, &b->allocator, filter)
                           : kithi_filter_create_planned(&b->spec, &b->head, filter);
}

/* Creates the filter of a builder that streams. On several threads, one call of kithi_fill_stream() gets at most as
 * many digests as fit in a third of the memory limit, whether they are gathered or in the caller's array. The second
 * third is for their copy, sorted by part, and the last one for other working memory. One thread copies nothing. */
static kith_status start_stream(kith_builder *b, uint64_t memory_bytes) {
    uint64_t piece = memory_bytes / 3 / sizeof *b->gathered;
    b->piece_max = memory_bytes == 0 || piece > SIZE_MAX ? SIZE_MAX : (size_t)piece;
    if (b->piece_max < KITHI_FILL_SPLIT_MIN)
        b->threads = 1; /* so few digests are never split among threads */
    size_t most = b->piece_max < GATHERED_MAX ? b->piece_max : GATHERED_MAX;
    kith_status status = KITH_OK;
    if (b->threads > 1) {
        b->gathered_max = most;
        b->gathered = kithi_allocate(&b->allocator, most * sizeof *b->gathered);
        status = b->gathered != NULL ? KITH_OK : KITH_E_MEMORY;
    }
    return status == KITH_OK ? create_filter(b, &b->filter) : status;
}

/* Opens a builder for a spec that has been read or, if `spec` is NULL, for a filter like `like`. */
static kith_status open_builder(const kith_filter_spec *spec, const kithi_head *head, const kith_filter *like,
                                bool streams, unsigned flags, const kith_build_limits *given, kith_builder **builder) {
    kith_build_limits limits;
    kith_status status = read_limits(given, &limits);
    if (status != KITH_OK)
        return status;
    kith_allocator allocator = spec != NULL ? kithi_allocator_or_default(spec->allocator) : like->allocator;
    kith_builder *b = kithi_allocate(&allocator, sizeof *b);
    if (b == NULL)
        return KITH_E_MEMORY;
    b->allocator = allocator;
    if (spec != NULL) {
        b->spec = *spec;
        b->head = *head;
    }
    b->like = like;
    b->flags = flags;
    b->threads = limits.threads;
    kithi_collection_init(&b->collection, &allocator, &limits, is_multiset(b));
    status = streams ? start_stream(b, limits.memory_bytes) : KITH_OK;
    if (status == KITH_OK)
        *builder = b;
    else
        kith_builder_free(b);
    return status;
}

kith_status kith_builder_open(const kith_filter_spec *given, unsigned flags, const kith_build_limits *limits,
                              kith_builder **builder) {
    assert(given != NULL && builder != NULL);
    if (!flags_known(flags))
        return KITH_E_ARGUMENT;
    kith_filter_spec spec;
    bool streams;
    kithi_head head;
    kith_status status = read_spec(given, flags, &spec, &head, &streams);
    return status == KITH_OK ? open_builder(&spec, &head, NULL, streams, flags, limits, builder) : status;
}

kith_status kith_builder_open_like(const kith_filter *like, unsigned flags, const kith_build_limits *limits,
                                   kith_builder **builder) {
    assert(like != NULL && builder != NULL);
    if (!flags_known(flags))
        return KITH_E_ARGUMENT;
    bool copies = (like->shape.capabilities & KITH_CAN_COPIES) != 0;
    if (!kithi_kind_adds(like->kind))
        return KITH_E_UNSUPPORTED;
    if ((flags & KITH_BUILD_MULTISET) != 0 && !copies)
        return KITH_E_KIND;
    return open_builder(NULL, NULL, like, !copies, flags, limits, builder);
}

kith_status kith_builder_respec(kith_builder *b, const kith_filter_spec *given) {
    assert(b != NULL && given != NULL);
    if (b->filter != NULL || b->like != NULL)
        return KITH_E_UNSUPPORTED;
    kith_filter_spec spec;
    bool streams;
    kithi_head head;
    kith_status status = read_spec(given, b->flags, &spec, &head, &streams);
    if (status != KITH_OK)
        return status;
    if (!kithi_hash_equal(&spec.hash, &b->spec.hash))
        return KITH_E_MISMATCH;
    b->spec = spec;
    b->head = head;
    return KITH_OK;
}

/* ---- adding ---- */

/* Adds the gathered digests to the filter. On failure, the digest that failed and those after it stay gathered. */
static kith_status add_gathered(kith_builder *b) {
    size_t done;
    kith_status status = kithi_fill_stream(b->filter, b->gathered, b->gathered_count, b->threads, &done);
    b->gathered_count -= done;
    if (done != 0 && b->gathered_count != 0)
        memmove(b->gathered, b->gathered + done, b->gathered_count * sizeof *b->gathered);
    return status;
}

static kith_status add_to_stream(kith_builder *b, const uint64_t *digests, size_t n, size_t *done) {
    kith_status status = KITH_OK;
    while (*done < n && status == KITH_OK) {
        size_t left = n - *done;
        /* On one thread, or if there are enough digests to be split, nothing is gathered. */
        if (b->threads == 1 || (b->gathered_count == 0 && left >= KITHI_FILL_SPLIT_MIN)) {
            size_t added, piece = b->threads == 1 || left < b->piece_max ? left : b->piece_max;
            status = kithi_fill_stream(b->filter, digests + *done, piece, b->threads, &added);
            *done += added;
            continue;
        }
        size_t space = b->gathered_max - b->gathered_count, taken = left < space ? left : space;
        memcpy(b->gathered + b->gathered_count, digests + *done, taken * sizeof *digests);
        b->gathered_count += taken;
        *done += taken;
        if (b->gathered_count == b->gathered_max) {
            bool go_on = kithi_report_progress(&b->collection, KITH_BUILD_READING, b->filter->head.count, 0);
            status = go_on ? add_gathered(b) : KITH_E_CANCELLED;
        }
    }
    return status;
}

kith_status kith_builder_add_many(kith_builder *b, const uint64_t *digests, size_t n, size_t *done) {
    assert(b != NULL && (digests != NULL || n == 0));
    size_t taken = 0;
    kith_status status = KITH_E_ENDED;
    if (!b->ended)
        status = b->filter != NULL ? add_to_stream(b, digests, n, &taken)
                                   : kithi_collect(&b->collection, digests, n, &taken);
    if (done != NULL)
        *done = taken;
    return status;
}

kith_status kith_builder_add_keys(kith_builder *b, const kith_key *keys, size_t n, size_t *done) {
    assert(b != NULL && (keys != NULL || n == 0));
    enum { GROUP = 1024 };
    uint64_t digests[GROUP];
    const kith_hash *hash = b->like != NULL ? &b->like->head.hash : &b->spec.hash;
    kith_status status = KITH_OK;
    size_t at = 0;
    while (at < n && status == KITH_OK) {
        size_t group = n - at < GROUP ? n - at : GROUP, taken;
        kith_digest_many(hash, keys + at, group, digests);
        status = kith_builder_add_many(b, digests, group, &taken);
        at += taken;
    }
    if (done != NULL)
        *done = at;
    return status;
}

/* ---- finishing ---- */

kith_status kith_builder_end_input(kith_builder *b, uint64_t *keys) {
    assert(b != NULL && keys != NULL);
    if (b->finished)
        return KITH_E_ENDED;
    if (b->filter != NULL)
        return KITH_E_UNSUPPORTED;
    kith_status status = kithi_collection_count(&b->collection);
    b->ended |= status == KITH_OK;
    if (status == KITH_OK)
        *keys = b->collection.keys;
    return status;
}

kith_status kith_builder_each(kith_builder *b, kith_build_take take, void *context) {
    assert(b != NULL && take != NULL);
    uint64_t keys;
    kithi_collection_reader reader;
    kith_status status = kith_builder_end_input(b, &keys);
    if (status == KITH_OK && kithi_collection_may_have_repeats(&b->collection))
        status = kithi_collection_compact(&b->collection);
    if (status == KITH_OK)
        status = kithi_collection_reader_open(&reader, &b->collection);
    if (status != KITH_OK)
        return status;
    const uint64_t *digests;
    size_t n = 1;
    while (status == KITH_OK && n > 0) {
        status = kithi_collection_reader_next(&reader, &digests, &n);
        if (status == KITH_OK && n > 0)
            status = take(context, digests, n);
    }
    kithi_collection_reader_close(&reader);
    return status;
}

uint64_t kith_builder_memory(const kith_builder *b) {
    assert(b != NULL);
    const kithi_collection *c = &b->collection;
    /* Three times: the gathered digests, their copy sorted by part, and as much for other working memory. See
     * start_stream(). */
    uint64_t held = sizeof *b + 3 * b->gathered_max * sizeof *b->gathered;
    size_t digests = c->spilled ? c->count_max : c->allocated > c->count ? c->allocated : c->count;
    return held + (uint64_t)digests * KITHI_COLLECT_BYTES + c->firsts_words * sizeof *c->firsts;
}

const kith_filter *kith_builder_partial(const kith_builder *b, const uint64_t **pending, size_t *pending_count) {
    assert(b != NULL && pending != NULL && pending_count != NULL);
    *pending = b->gathered;
    *pending_count = b->gathered_count;
    return b->filter != NULL ? b->filter : b->refused;
}

uint64_t kith_builder_left_out(const kith_builder *b) {
    assert(b != NULL);
    return b->left_out;
}

/* Adds the collected digests to an empty filter, one piece of the reader after the other, with kithi_fill_in_order() or
 * kithi_fill_some(). Sets *split as the latter does. */
static kith_status fill_pieces(kith_builder *b, kith_filter *f, const kithi_fill_options *options, bool in_order,
                               bool *split) {
    kithi_collection *c = &b->collection;
    kithi_collection_reader reader;
    uint64_t filled = 0, total = c->spilled ? c->keys : c->count;
    kith_status status = kithi_collection_reader_open(&reader, c);
    if (status != KITH_OK)
        return status;
    for (;;) {
        const uint64_t *digests;
        size_t n = 0, done;
        if (!kithi_report_progress(c, KITH_BUILD_FILLING, filled, total))
            status = KITH_E_CANCELLED;
        if (status == KITH_OK)
            status = kithi_collection_reader_next(&reader, &digests, &n);
        if (status != KITH_OK || n == 0)
            break;
        status = in_order ? kithi_fill_in_order(f, digests, n, options, &done)
                          : kithi_fill_some(f, digests, n, options, split);
        filled += n;
    }
    kithi_collection_reader_close(&reader);
    return status;
}

/* Adds the collected digests to an empty filter. */
static kith_status fill(kith_builder *b, kith_filter *f) {
    kithi_collection *c = &b->collection;
    kithi_fill_options options = {
        .threads = b->threads,
        .drop_repeats = kithi_collection_may_have_repeats(c) && (f->shape.capabilities & KITH_CAN_COPIES) != 0,
        .leave_out = (b->flags & KITH_BUILD_LEAVE_OUT) != 0,
        .left_out = &b->left_out,
        .again = true,
    };
    b->left_out = 0;
    if (options.drop_repeats) {
        if (!kithi_report_progress(c, KITH_BUILD_FILLING, 0, c->count))
            return KITH_E_CANCELLED;
        kith_status filled = kithi_fill_without_repeats(f, c->digests, c->count, &options);
        bool cancelled = filled == KITH_OK && !kithi_report_progress(c, KITH_BUILD_FILLING, c->count, c->count);
        return cancelled ? KITH_E_CANCELLED : filled;
    }
    bool split = false;
    kith_status status = fill_pieces(b, f, &options, false, &split);
    status = kithi_fill_judge(f, status);
    /* A fill that is split may fail although adds in order would succeed, or fail with another code than they would. So
     * the digests are then added again, in order. */
    bool refused = status == KITH_E_FULL || status == KITH_E_COPIES || status == KITH_E_MEMORY;
    if (!split || !refused)
        return status;
    status = kith_filter_clear(f);
    b->left_out = 0;
    return status == KITH_OK ? kithi_fill_judge(f, fill_pieces(b, f, &options, true, &split)) : status;
}

/* Builds a filter from the collected digests. */
static kith_status build_collected(kith_builder *b, kith_filter **filter) {
    kithi_collection *c = &b->collection;
    kith_filter_spec spec = b->spec;
    bool sized_by_keys = b->like == NULL && capacity_is_unknown(&spec);
    kith_status status = KITH_OK;
    kith_filter_free(b->refused);
    b->refused = NULL;
    if (sized_by_keys && spec.kind == NULL) { /* the kind may depend on the number of keys */
        status = kithi_collection_count(c);
        spec.capacity = c->keys;
    }
    if (status == KITH_OK && b->like == NULL && is_static(&spec))
        return kithi_build_static(&spec, c, filter); /* counts the keys while it drops repeats */
    /* If the capacity is given, keys in memory need not be counted. Keys on disk are always counted, because counting
     * finds their repeats. */
    if (status == KITH_OK && (sized_by_keys || c->spilled))
        status = kithi_collection_count(c);
    if (status != KITH_OK)
        return status;
    if (sized_by_keys)
        spec.capacity = c->keys;
    kith_filter *f;
    status = sized_by_keys ? kith_filter_create(&spec, &f) : create_filter(b, &f);
    if (status != KITH_OK)
        return status;
    status = fill(b, f);
    if (status == KITH_OK)
        *filter = f;
    else if (status == KITH_E_FULL || status == KITH_E_COPIES)
        b->refused = f;
    else
        kith_filter_free(f);
    return status;
}

kith_status kith_builder_finish(kith_builder *b, kith_filter **filter) {
    assert(b != NULL && filter != NULL);
    if (b->finished)
        return KITH_E_ENDED;
    b->ended = true;
    kith_filter *made = NULL;
    kith_status status;
    if (b->filter != NULL) {
        bool go_on = kithi_report_progress(&b->collection, KITH_BUILD_READING, b->filter->head.count, 0);
        status = go_on ? add_gathered(b) : KITH_E_CANCELLED;
        status = kithi_fill_judge(b->filter, status);
        made = b->filter;
        b->filter = status == KITH_OK ? NULL : b->filter;
    } else {
        status = build_collected(b, &made);
    }
    if (status != KITH_OK)
        return status;
    b->finished = true;
    kithi_collection_free(&b->collection);
    *filter = made;
    return KITH_OK;
}

void kith_builder_free(kith_builder *b) {
    if (b == NULL)
        return;
    kith_allocator allocator = b->allocator;
    kith_filter_free(b->filter);
    kith_filter_free(b->refused);
    kithi_release(&allocator, b->gathered, b->gathered_max * sizeof *b->gathered);
    kithi_collection_free(&b->collection);
    kithi_release(&allocator, b, sizeof *b);
}

kith_status kith_filter_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned flags,
                              unsigned threads, kith_filter **filter) {
    assert(spec != NULL && filter != NULL && (digests != NULL || n == 0));
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.threads = threads;
    kith_builder *b;
    kith_status status = kith_builder_open(spec, flags, &limits, &b);
    if (status != KITH_OK)
        return status;
    if (b->filter != NULL && b->threads == 1) {
        status = kithi_fill_at_once(b->filter, digests, n);
        if (status == KITH_OK) {
            *filter = b->filter;
            b->filter = NULL;
        }
        kith_builder_free(b);
        return status;
    }
    if (b->filter != NULL)
        status = kith_builder_add_many(b, digests, n, NULL);
    else
        kithi_collect_borrow(&b->collection, digests, n);
    if (status == KITH_OK)
        status = kith_builder_finish(b, filter);
    kith_builder_free(b);
    return status;
}
