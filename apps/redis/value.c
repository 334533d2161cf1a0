/* value.c: creating, freeing and changing what a key holds; see value.h. */
#include "value.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compat.h"
#include "memory.h"

/* Atomic, because the server frees large values on a background thread. */
static atomic_ullong values[VALUE_REDISBLOOM + 1], growths;

value_statistics value_get_statistics(void) {
    return (value_statistics){atomic_load(&values[VALUE_FILTER]), atomic_load(&values[VALUE_LOADING]),
                              atomic_load(&values[VALUE_REDISBLOOM]), atomic_load(&growths)};
}

/* ---- versions ---- */

#define VERSION_BITS 37

void value_changed(value *v) {
    static uint64_t last;
    /* A restarted server must not repeat the versions that clients remember from before. */
    if (last == 0) {
        kith_hash random;
        if (kith_hash_untrusted(&random) == KITH_OK)
            memcpy(&last, random.key, sizeof last);
        else
            last = (uint64_t)time(NULL) << 16;
    }
    last = (last + 1) & ((UINT64_C(1) << VERSION_BITS) - 1);
    last += last == 0;
    v->version = last;
}

/* ---- which filter ----
 *
 * BF.* and CF.* name their kinds here and do not let the planner choose by needs (kith_filter_spec). A filter without
 * removal has the data type of BF, but the smallest kind that supports adds may also support removal. BUCKETSIZE of CF
 * needs the kind `cuckoo`. The EXPANSION of a filter that grows is an option of the kind `layers`, so `layers` is named
 * here as well: the planner makes layers of a kind by itself only if there are no options. */

/* `blocked` reads one cache line per lookup, so it is preferred unless it is this much larger than `bloom`. */
#define FASTER_IS_LARGER 1.3

static kith_status plan(const value_creation *c, const char *inner, const char *inner_options, char *kind,
                        size_t kind_bytes, char *options, size_t options_bytes, uint64_t *file_bytes) {
    if (c->request.expansion == 0) {
        (void)snprintf(kind, kind_bytes, "%s", inner);
        (void)snprintf(options, options_bytes, "%s", inner_options);
    } else {
        (void)snprintf(kind, kind_bytes, "layers");
        (void)snprintf(options, options_bytes, "inner=%s growth=%u%s%s", inner, c->request.expansion,
                       *inner_options == 0 ? "" : " ", inner_options);
    }
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.options = *options == 0 ? NULL : options;
    spec.capacity = c->capacity;
    spec.rate = c->rate;
    kith_plan p = KITH_PLAN_INIT;
    kith_status status = kith_filter_plan(&spec, &p);
    *file_bytes = p.file_bytes;
    return status;
}

/* Chooses `first` if it is possible and at most `factor` times as large as `second`. */
static kith_status choose(value_creation *c, const char *first, const char *second, double factor) {
    char kind[sizeof c->kind], options[sizeof c->options];
    uint64_t first_bytes, second_bytes;
    kith_status status = plan(c, second, "", c->kind, sizeof c->kind, c->options, sizeof c->options, &second_bytes);
    kith_status other = plan(c, first, "", kind, sizeof kind, options, sizeof options, &first_bytes);
    if (other != KITH_OK || (status == KITH_OK && (double)first_bytes > factor * (double)second_bytes))
        return status;
    memcpy(c->kind, kind, sizeof kind);
    memcpy(c->options, options, sizeof options);
    return KITH_OK;
}

/* The last choice. Planning takes a good part of a millisecond, and most filters of a server are created with the same
 * settings. Only the server's main thread creates filters. */
typedef struct last_choice {
    uint64_t capacity;
    double rate;
    uint32_t expansion;
    char kind[sizeof((value_creation *)NULL)->kind];
    char options[sizeof((value_creation *)NULL)->options];
} last_choice;

static kith_status choose_again(value_creation *c, last_choice *last, const char *first, const char *second,
                                double factor) {
    if (c->capacity != last->capacity || c->rate != last->rate || c->request.expansion != last->expansion) {
        kith_status status = choose(c, first, second, factor);
        if (status != KITH_OK)
            return status;
        *last = (last_choice){.capacity = c->capacity, .rate = c->rate, .expansion = c->request.expansion};
        memcpy(last->kind, c->kind, sizeof c->kind);
        memcpy(last->options, c->options, sizeof c->options);
    }
    memcpy(c->kind, last->kind, sizeof c->kind);
    memcpy(c->options, last->options, sizeof c->options);
    return KITH_OK;
}

kith_status value_choose_bloom(value_creation *c) {
    static last_choice last;
    return choose_again(c, &last, "blocked", "bloom", FASTER_IS_LARGER);
}

kith_status value_choose_cuckoo(value_creation *c, unsigned bucket_size) {
    static last_choice last;
    if (bucket_size == 0)
        return choose_again(c, &last, "cuckoo", "overlap", 1);
    const char *slots = bucket_size == 1 ? "b=1" : bucket_size == 2 ? "b=2" : bucket_size <= 4 ? "b=4" : "b=8";
    uint64_t bytes;
    return plan(c, "cuckoo", slots, c->kind, sizeof c->kind, c->options, sizeof c->options, &bytes);
}

/* ---- creating and freeing ---- */

value *value_new(value_state state, bool removes) {
    value *v = memory_allocate(sizeof *v);
    if (v == NULL)
        return NULL;
    v->state = state;
    v->removes = removes;
    v->layers = 1;
    value_changed(v);
    atomic_fetch_add(&values[state], 1);
    return v;
}

value *value_of_filter(kith_filter *filter, const value_request *request) {
    value *v = value_new(VALUE_FILTER, (kith_filter_capabilities(filter) & KITH_CAN_REMOVE) != 0);
    if (v == NULL)
        return NULL;
    v->filter = filter;
    v->request = *request;
    return v;
}

value *value_of_part(bool removes, const value_request *request, value_part part) {
    value *v = value_new(VALUE_LOADING, removes);
    if (v == NULL)
        return NULL;
    v->request = *request;
    v->loading = part;
    return v;
}

/* The limits are those of CF.RESERVE, of the option `growth`, and of the kind `layers`. The number of deleted items is
 * only limited by the integers of replies and of the AOF. */
bool value_can_have(bool removes, const value_stored *n) {
    enum { EXPANSION_MOST = 32768, BUCKET_SIZE_MOST = 255, ITERATIONS_MOST = 65535, LAYERS_MOST = 64 };
    return n->expansion <= EXPANSION_MOST && n->bucket_size <= (removes ? BUCKET_SIZE_MOST : 0) &&
           n->max_iterations <= (removes ? ITERATIONS_MOST : 0) && n->deleted <= (removes ? INT64_MAX : 0) &&
           n->layers <= LAYERS_MOST;
}

static bool grows(const kith_filter *filter) {
    return (kith_filter_capabilities(filter) & KITH_CAN_GROW) != 0;
}

static uint32_t growth_of(const kith_filter *filter) {
    uint64_t growth;
    return kith_filter_option(filter, "growth", &growth) == KITH_OK ? (uint32_t)growth : 0;
}

/* Compares the numbers beside a filter with those that its header has. The layers of one that grows could only be
 * counted in a pass over it. */
static bool agrees(const value *v, const kith_filter *filter) {
    return v->layers == 0 || (v->request.expansion == growth_of(filter) && (v->layers == 1 || grows(filter)));
}

/* Reads from the header of a complete block whether its filter supports deletion. Returns KITH_E_CORRUPT if the header
 * contradicts the numbers of v. */
static kith_status check_header(const value *v, bool *removes) {
    kith_filter *view;
    kith_status status =
        kith_filter_view(v->loading.block, (size_t)v->loading.total, KITH_OPEN_LAZY, &memory_allocator, &view);
    if (status != KITH_OK)
        return status;
    *removes = (kith_filter_capabilities(view) & KITH_CAN_REMOVE) != 0;
    if (!agrees(v, view))
        status = KITH_E_CORRUPT;
    kith_filter_free(view);
    return status;
}

kith_status value_complete(value *v, bool type_known, value **made) {
    bool removes = v->removes;
    kith_filter *filter;
    kith_status status = check_header(v, &removes);
    if (status == KITH_OK && type_known && removes != v->removes)
        status = KITH_E_MISMATCH;
    value *m = status != KITH_OK ? NULL : value_new(VALUE_FILTER, removes);
    if (m == NULL)
        return status != KITH_OK ? status : KITH_E_MEMORY;
    status = kith_filter_adopt(v->loading.block, (size_t)v->loading.total, 0, &memory_allocator, &filter);
    if (status != KITH_OK) {
        value_free(m);
        return status;
    }
    v->loading.block = NULL;
    m->filter = filter;
    m->request = v->request;
    m->deleted = v->deleted;
    m->layers = v->layers;
    *made = m;
    return KITH_OK;
}

void value_read_expansion(value *v) {
    v->request.expansion = growth_of(v->filter);
}

void value_count_layers(value *v) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    v->layers = grows(v->filter) && kith_filter_stats_of(v->filter, &stats) == KITH_OK ? stats.layers : 1;
}

kith_status value_create(const value_creation *c, uint64_t max_bytes, value **made) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = c->kind;
    spec.options = *c->options == 0 ? NULL : c->options;
    spec.capacity = c->capacity;
    spec.rate = c->rate;
    spec.hash = c->hash;
    spec.recipe = kith_key_recipe(c->keys);
    spec.max_bytes = max_bytes;
    spec.allocator = &memory_allocator;
    kith_filter *filter;
    kith_status status = kith_filter_create(&spec, &filter);
    if (status != KITH_OK)
        return status;
    *made = value_of_filter(filter, &c->request);
    if (*made != NULL)
        return KITH_OK;
    kith_filter_free(filter);
    return KITH_E_MEMORY;
}

kith_status value_create_like(const value *like, uint64_t max_bytes, value **made) {
    kith_filter *filter;
    kith_filter_set_limit(like->filter, max_bytes);
    kith_status status = kith_filter_create_like(like->filter, &memory_allocator, &filter);
    if (status != KITH_OK)
        return status;
    *made = value_of_filter(filter, &like->request);
    if (*made != NULL)
        return KITH_OK;
    kith_filter_free(filter);
    return KITH_E_MEMORY;
}

void value_free(value *v) {
    if (v->state == VALUE_REDISBLOOM)
        compat_free(v);
    memory_release(v->loading.block, (size_t)v->loading.total);
    kith_filter_free(v->filter);
    atomic_fetch_sub(&values[v->state], 1);
    memory_release(v, sizeof *v);
}

static value *copy_part(const value *v) {
    value_part part = v->loading;
    part.block = memory_allocate((size_t)part.total);
    if (part.block == NULL)
        return NULL;
    memcpy(part.block, v->loading.block, (size_t)part.received);
    value *copy = value_of_part(v->removes, &v->request, part);
    if (copy == NULL) {
        memory_release(part.block, (size_t)part.total);
        return NULL;
    }
    copy->deleted = v->deleted;
    copy->layers = v->layers;
    return copy;
}

value *value_copy(const value *v) {
    if (v->state == VALUE_LOADING)
        return copy_part(v);
    if (v->state == VALUE_REDISBLOOM)
        return compat_copy(v);
    kith_filter *filter;
    if (kith_filter_clone(v->filter, &memory_allocator, &filter) != KITH_OK)
        return NULL;
    value *copy = value_of_filter(filter, &v->request);
    if (copy == NULL) {
        kith_filter_free(filter);
        return NULL;
    }
    copy->deleted = v->deleted;
    copy->layers = v->layers;
    return copy;
}

uint64_t value_memory(const value *v) {
    return sizeof *v + (v->state == VALUE_LOADING      ? v->loading.total
                        : v->state == VALUE_REDISBLOOM ? compat_memory(v)
                                                       : kith_filter_memory(v->filter));
}

value *value_relocate(value *v, kith_move move, void *context) {
    v = move(context, v, sizeof *v);
    if (v->state == VALUE_REDISBLOOM)
        compat_relocate(v, context);
    if (v->loading.block != NULL)
        v->loading.block = move(context, v->loading.block, (size_t)v->loading.total);
    if (v->filter != NULL && kith_filter_relocate(v->filter, move, context) != KITH_OK)
        return v; /* only if adders were open, which there are none of here */
    return v;
}

bool value_is_loading(const value *v) {
    return v->state == VALUE_LOADING || (v->state == VALUE_REDISBLOOM && !compat_is_complete(v));
}

/* The slots per bucket of a cuckoo kind, whose max_copies is the number of slots in two buckets; 1 for other kinds,
 * whose cells are in no bucket. */
static uint64_t slots_per_bucket(const kith_plan *p) {
    return p->fingerprint_bits != 0 && p->max_copies > 1 ? p->max_copies / 2 : 1;
}

value_numbers value_get_numbers(const value *v) {
    if (v->state == VALUE_REDISBLOOM)
        return compat_numbers(v);
    value_numbers n = {
        .capacity = kith_filter_capacity(v->filter),
        .size = kith_filter_file_bytes(v->filter),
        .layers = v->layers,
        .items = kith_filter_count(v->filter),
        .deleted = v->deleted,
        .bucket_size = v->request.bucket_size,
        .expansion = v->request.expansion,
        .max_iterations = v->request.max_iterations,
    };
    kith_plan p = KITH_PLAN_INIT;
    if (kith_filter_plan_of(v->filter, &p) == KITH_OK)
        n.buckets = p.cells / slots_per_bucket(&p);
    return n;
}

/* ---- items ---- */

kith_status value_key_of(const value *v, const void *item, size_t item_bytes, value_typed *typed, kith_key *key) {
    kith_key_type type =
        v->state == VALUE_REDISBLOOM ? KITH_KEYS_BYTES : kith_key_type_of(kith_filter_recipe(v->filter));
    *key = (kith_key){item, item_bytes};
    if (type == KITH_KEYS_BYTES)
        return KITH_OK;
    kith_status status = kith_key_parse(type, item, item_bytes, *typed);
    *key = (kith_key){*typed, status == KITH_OK ? kith_key_type_bytes(type) : 0};
    return status;
}

bool value_has(const value *v, kith_key key) {
    return v->state == VALUE_FILTER ? kith_filter_has(v->filter, key.bytes, key.byte_count)
                                    : compat_has(v, key.bytes, key.byte_count);
}

kith_status value_add(value *v, kith_key key, value_limits limits, bool *was_new) {
    *was_new = false;
    if (v->state == VALUE_REDISBLOOM)
        return compat_add(v, key.bytes, key.byte_count, limits, was_new);
    uint64_t capacity = kith_filter_capacity(v->filter);
    bool last_layer = limits.layers != 0 && v->layers >= limits.layers;
    kith_filter_set_limit(v->filter, last_layer ? 1 : limits.bytes);
    kith_status status = kith_filter_add(v->filter, key.bytes, key.byte_count, was_new);
    if (status == KITH_E_TOO_LARGE && last_layer)
        status = KITH_E_FULL;
    if (kith_filter_capacity(v->filter) != capacity) {
        v->layers++;
        atomic_fetch_add(&growths, 1);
    }
    return status;
}

void value_has_many(const value *v, const kith_key *keys, size_t n, uint64_t *found) {
    uint64_t digests[128];
    if (v->state == VALUE_REDISBLOOM) {
        memset(found, 0, (n + 63) / 64 * sizeof *found);
        for (size_t i = 0; i < n; i++)
            found[i / 64] |= (uint64_t)compat_has(v, keys[i].bytes, keys[i].byte_count) << i % 64;
        return;
    }
    kith_filter_digest_many(v->filter, keys, n, digests);
    (void)kith_filter_has_many(v->filter, digests, n, found);
}

uint64_t value_copies(const value *v, kith_key key) {
    return v->state == VALUE_FILTER ? kith_filter_copies(v->filter, key.bytes, key.byte_count)
                                    : compat_copies(v, key.bytes, key.byte_count);
}

kith_status value_remove(value *v, kith_key key) {
    if (v->state == VALUE_REDISBLOOM)
        return compat_remove(v, key.bytes, key.byte_count);
    kith_status status = kith_filter_remove(v->filter, key.bytes, key.byte_count);
    v->deleted += status == KITH_OK;
    return status;
}
