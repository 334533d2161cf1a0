/* The public functions of filters: they hash the key, check that the call is allowed, and pass the digest to the
 * kind. */
#include <kith/filter.h>

#include <assert.h>
#include <string.h>

#include "core/hash.h"
#include "core/parallel.h"
#include "core/structs.h"
#include "kinds/kind.h"
#include "handle/handle.h"
#include "handle/verbs.h"

uint64_t kith_filter_digest(const kith_filter *f, const void *key, size_t key_bytes) {
    assert(f != NULL && (key != NULL || key_bytes == 0));
    return kith_digest(&f->head.hash, key, key_bytes);
}

void kith_filter_digest_many(const kith_filter *f, const kith_key *keys, size_t n, uint64_t *digests) {
    assert(f != NULL);
    kith_digest_many(&f->head.hash, keys, n, digests);
}

void kith_filter_digest_packed(const kith_filter *f, const void *keys, size_t key_bytes, size_t n, uint64_t *digests) {
    assert(f != NULL);
    kith_digest_packed(&f->head.hash, keys, key_bytes, n, digests);
}

/* ---- one key ---- */

/* True if a change needs no checks: start_change() has succeeded, and since then the filter was not sealed and no adder
 * was opened (kith_filter.changing). */
static inline bool changing(const kith_filter *f) {
    bool yes = atomic_load_explicit(&f->changing, memory_order_relaxed);
    assert(!yes || (f->writable && f->verified && !f->sealed && !kithi_filter_busy(f)));
    return __builtin_expect(yes, 1);
}

/* Called before a change. `supported` is whether the kind supports this change. */
static kith_status start_change(kith_filter *f, bool supported) {
    kith_status status = supported ? kithi_filter_writable(f) : KITH_E_UNSUPPORTED;
    if (status == KITH_OK) {
        f->sealed = false;
        atomic_store_explicit(&f->changing, true, memory_order_relaxed);
    }
    return status;
}

static inline kith_status start_adding(kith_filter *f) {
    return changing(f) ? KITH_OK : start_change(f, kithi_kind_adds(f->kind));
}

static inline kith_status start_removing(kith_filter *f) {
    bool supported = (f->shape.capabilities & KITH_CAN_REMOVE) != 0;
    return changing(f) && supported ? KITH_OK : start_change(f, supported);
}

static __attribute__((noinline)) kith_status add_slow_path(kith_filter *f, uint64_t digest, bool *was_new) {
    bool is_new = false;
    kith_status status = start_adding(f);
    if (status == KITH_OK)
        status = kithi_add_one(f, digest, &is_new);
    if (status == KITH_OK && was_new != NULL)
        *was_new = is_new;
    return status;
}

/* This function is the fast path. It returns the result of its last call unchanged, so it need not save registers or
 * use a stack frame. All that must be done after a call is in add_slow_path(), which is therefore not inlined. Static
 * kinds need no test, because their filters are never `changing`. */
kith_status kith_filter_add_digest(kith_filter *f, uint64_t digest, bool *was_new) {
    assert(f != NULL);
    if (__builtin_expect(was_new != NULL, 0) || !changing(f))
        return add_slow_path(f, digest, was_new);
    return kithi_add_one(f, digest, NULL);
}

kith_status kith_filter_add(kith_filter *f, const void *key, size_t key_bytes, bool *was_new) {
    return kith_filter_add_digest(f, kith_filter_digest(f, key, key_bytes), was_new);
}

kith_status kith_filter_remove_digest(kith_filter *f, uint64_t digest) {
    assert(f != NULL);
    kith_status status = start_removing(f);
    return status == KITH_OK ? kithi_remove_one(f, digest) : status;
}

kith_status kith_filter_remove(kith_filter *f, const void *key, size_t key_bytes) {
    return kith_filter_remove_digest(f, kith_filter_digest(f, key, key_bytes));
}

bool kith_filter_has_digest(const kith_filter *f, uint64_t digest) {
    assert(f != NULL);
    return kithi_has(f, digest);
}

bool kith_filter_has(const kith_filter *f, const void *key, size_t key_bytes) {
    return kith_filter_has_digest(f, kith_filter_digest(f, key, key_bytes));
}

uint64_t kith_filter_copies(const kith_filter *f, const void *key, size_t key_bytes) {
    uint64_t digest = kith_filter_digest(f, key, key_bytes);
    if ((f->shape.capabilities & KITH_CAN_COPIES) != 0)
        return kithi_copies(f, digest);
    return kithi_has(f, digest);
}

/* ---- many digests ---- */

size_t kith_filter_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    assert(f != NULL && (digests != NULL || n == 0));
    return kithi_has_many(f, digests, n, maybe);
}

/* ---- many digests, on several threads ---- */

typedef struct has_job {
    const kith_filter *f;
    const uint64_t *digests;
    size_t n;
    uint64_t *maybe;
    unsigned threads;
    _Atomic size_t found;
} has_job;

/* Returns the index of the first digest of a thread's share, or n if there is none. The index is a multiple of 64, so
 * that no two threads write to the same word of the bitmap. */
static size_t share_start(const has_job *job, unsigned thread) {
    size_t words = job->n / 64 + (job->n % 64 != 0);
    size_t at = 64 * (words / job->threads * thread + words % job->threads * thread / job->threads);
    return at < job->n ? at : job->n;
}

static void look_up_share(void *context, unsigned thread) {
    has_job *job = context;
    size_t from = share_start(job, thread), to = share_start(job, thread + 1);
    uint64_t *maybe = job->maybe == NULL ? NULL : job->maybe + from / 64;
    job->found += kith_filter_has_many(job->f, job->digests + from, to - from, maybe);
}

size_t kith_filter_has_many_parallel(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                     unsigned threads) {
    assert(f != NULL && (digests != NULL || n == 0));
    if (n == 0)
        return 0;
    has_job job = {.f = f, .digests = digests, .n = n, .maybe = maybe};
    job.threads = threads < 1 ? 1 : threads < KITHI_THREADS_MAX ? threads : KITHI_THREADS_MAX;
    kithi_parallel(job.threads, look_up_share, &job);
    return job.found;
}

/* ---- adding and removing many digests ---- */

static void clear_bitmap(uint64_t *bitmap, size_t n) {
    if (bitmap != NULL && n != 0)
        memset(bitmap, 0, (n / 64 + (n % 64 != 0)) * sizeof *bitmap);
}

kith_status kith_filter_add_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    assert(f != NULL && (digests != NULL || n == 0));
    clear_bitmap(was_new, n);
    size_t added = 0;
    kith_status status = start_adding(f);
    if (status == KITH_OK)
        status = kithi_add_many(f, digests, n, was_new, &added);
    if (done != NULL)
        *done = added;
    return status;
}

kith_status kith_filter_remove_many(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    assert(f != NULL && (digests != NULL || n == 0));
    size_t removed = 0;
    kith_status status = start_removing(f);
    if (status == KITH_OK)
        status = kithi_remove_many(f, digests, n, &removed);
    if (done != NULL)
        *done = removed;
    return status;
}

/* ---- two filters ---- */

/* Returns whether both filters turn input into keys in the same way, use the same cells for a key, and have the same
 * capacity and rate. */
static bool compatible(const kith_filter *a, const kith_filter *b) {
    return a->kind == b->kind && a->head.recipe == b->head.recipe && a->head.capacity == b->head.capacity &&
           a->head.rate == b->head.rate && a->head.body_bytes == b->head.body_bytes &&
           kithi_hash_equal(&a->head.hash, &b->head.hash) &&
           memcmp(a->head.params, b->head.params, sizeof a->head.params) == 0;
}

/* Returns KITH_OK if `from` can be merged into `into` or intersected with it; `capability` says which. */
static kith_status check_combination(kith_filter *into, const kith_filter *from, uint32_t capability) {
    if ((into->shape.capabilities & capability) == 0)
        return KITH_E_UNSUPPORTED;
    kith_status status = kithi_filter_writable(into);
    if (status != KITH_OK)
        return status;
    if (kithi_filter_busy(from))
        return KITH_E_BUSY;
    if (into->block == from->block)
        return KITH_E_SAME;
    return compatible(into, from) ? kithi_filter_verify(from) : KITH_E_MISMATCH;
}

kith_status kith_filter_merge(kith_filter *into, const kith_filter *from) {
    assert(into != NULL && from != NULL);
    kith_status status = check_combination(into, from, KITH_CAN_MERGE);
    if (status != KITH_OK)
        return status;
    into->sealed = false;
    return into->kind->merge(into, from);
}

kith_status kith_filter_intersect(kith_filter *into, const kith_filter *from) {
    assert(into != NULL && from != NULL);
    kith_status status = check_combination(into, from, KITH_CAN_INTERSECT);
    if (status != KITH_OK)
        return status;
    into->sealed = false;
    return into->kind->intersect(into, from);
}

/* Returns KITH_OK if the bits of two filters can be compared. */
static kith_status check_comparison(const kith_filter *a, const kith_filter *b) {
    if ((a->shape.capabilities & KITH_CAN_SUBSET) == 0)
        return KITH_E_UNSUPPORTED;
    if (kithi_filter_busy(a) || kithi_filter_busy(b))
        return KITH_E_BUSY;
    return compatible(a, b) ? KITH_OK : KITH_E_MISMATCH;
}

kith_status kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset) {
    assert(part != NULL && whole != NULL && subset != NULL);
    kith_status status = check_comparison(part, whole);
    if (status == KITH_OK)
        *subset = part->kind->subset(part, whole);
    return status;
}

kith_status kith_filter_disjoint(const kith_filter *a, const kith_filter *b, bool *disjoint) {
    assert(a != NULL && b != NULL && disjoint != NULL);
    kith_status status = check_comparison(a, b);
    if (status == KITH_OK)
        *disjoint = a->kind->disjoint(a, b);
    return status;
}

/* ---- properties and statistics ---- */

uint64_t kith_filter_count(const kith_filter *f) {
    assert(f != NULL);
    return f->head.count;
}

uint64_t kith_filter_capacity(const kith_filter *f) {
    assert(f != NULL);
    return f->head.capacity;
}

const char *kith_filter_kind_name(const kith_filter *f) {
    assert(f != NULL);
    return f->kind->info.name;
}

uint32_t kith_filter_capabilities(const kith_filter *f) {
    assert(f != NULL);
    return f->shape.capabilities;
}

bool kith_filter_readonly(const kith_filter *f) {
    assert(f != NULL);
    return !f->writable;
}

kith_hash kith_filter_hash(const kith_filter *f) {
    assert(f != NULL);
    return (kith_hash){.id = f->head.hash.id, .seed = f->head.hash.seed}; /* without the secret key */
}

bool kith_filter_has_hash(const kith_filter *f, const kith_hash *hash) {
    assert(f != NULL && hash != NULL);
    return kithi_hash_equal(&f->head.hash, hash);
}

bool kith_filter_same_hash(const kith_filter *a, const kith_filter *b) {
    assert(a != NULL && b != NULL);
    return kithi_hash_equal(&a->head.hash, &b->head.hash);
}

kith_status kith_filter_stats_of(const kith_filter *f, kith_filter_stats *stats) {
    assert(f != NULL && stats != NULL);
    if (!kithi_struct_valid(stats, sizeof *stats))
        return KITH_E_STRUCT;
    if (kithi_filter_busy(f))
        return KITH_E_BUSY;
    kith_filter_stats made;
    memset(&made, 0, sizeof made); /* the padding as well, because callers may compare structs by memcmp() */
    made.count = f->head.count;
    made.capacity = f->head.capacity;
    made.rate = f->head.rate;
    made.keys_now = (double)f->head.count;
    made.cells = f->shape.cells;
    made.cells_used = f->head.fill;
    made.layers = 1;
    made.file_bytes = kithi_filter_file_bytes(f);
    f->operations->stats(f, &made);
    made.load = (double)made.cells_used / (double)made.cells;
    kithi_struct_write(stats, &made);
    return KITH_OK;
}

kith_status kith_filter_check(const kith_filter *f, const char **reason) {
    assert(f != NULL);
    if (kithi_filter_busy(f))
        return KITH_E_BUSY;
    const char *broken = kithi_filter_check(f);
    if (reason != NULL)
        *reason = broken;
    return broken == NULL ? KITH_OK : KITH_E_CORRUPT;
}
