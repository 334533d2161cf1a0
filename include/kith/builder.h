/* kith/builder.h: builds a filter from a complete list of keys.
 *
 * A builder takes the digests of the keys in chunks, in memory up to a limit and then in a temporary file, and makes the
 * whole filter at the end. Compared with kith_filter_create() and kith_filter_add_many() it
 *
 *   - drops repeats, so that kinds that store copies store each key once;
 *   - sizes the filter for the number of distinct keys, which need not be known beforehand;
 *   - fills the filter part by part, in cache, on several threads;
 *   - makes kinds that can only be built from a complete list (those without KITH_CAN_ADD).
 *
 * The result has the bytes that adding the digests one by one, in order, would give (without KITH_BUILD_MULTISET: only
 * the first of equal digests), whatever the memory limit and the number of threads.
 *
 *     kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
 *     spec.kind = "cuckoo";
 *     spec.rate = 0.001;
 *     kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
 *     limits.memory_bytes = 500000000;
 *     limits.folder = "/var/tmp";
 *     kith_builder *builder = NULL;
 *     kith_status status = kith_builder_open(&spec, KITH_BUILD_SET, &limits, &builder);
 *     while (status == KITH_OK && next_chunk(digests, &n))
 *         status = kith_builder_add_many(builder, digests, n, NULL);
 *     if (status == KITH_OK)
 *         status = kith_builder_finish(builder, &filter);
 *     kith_builder_free(builder);
 *
 * For digests that are already in one array, kith_filter_build() does all of this in one call.
 *
 * Threads: one thread at a time may use a builder. It starts threads only inside its calls. */
#ifndef KITH_BUILDER_H
#define KITH_BUILDER_H

#include <kith/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_builder kith_builder;

typedef enum kith_build_step {
    KITH_BUILD_READING,  /* digests are added; `total` is 0, because it is not known yet */
    KITH_BUILD_COUNTING, /* the distinct digests in the temporary file are counted */
    KITH_BUILD_FILLING,  /* the filter is filled */
} kith_build_step;

/* Called from time to time during long calls, on the thread of the caller: `done` of `total` digests are processed in
 * this step. If it returns false, the call ends with KITH_E_CANCELLED. A step that is repeated starts again with a small
 * `done`. */
typedef bool (*kith_build_progress)(void *context, kith_build_step step, uint64_t done, uint64_t total);

/* What a builder may use. Initialise with KITH_BUILD_LIMITS_INIT. */
typedef struct kith_build_limits {
    size_t struct_bytes;   /* sizeof(kith_build_limits): set by KITH_BUILD_LIMITS_INIT */
    unsigned threads;      /* 0 means 1: the calling thread. With more, spec.allocator must be thread-safe */
    uint64_t memory_bytes; /* for digests and working memory, without the filter; 0: no limit. Less than 1 MiB counts
                              as 1 MiB. Beyond it, digests go to a temporary file */
    const char *folder;    /* for the temporary file, which has no name and vanishes with the builder, however the
                              program ends. Needed if memory_bytes is given */
    kith_build_progress progress; /* NULL: none */
    void *context;                /* for `progress` */
} kith_build_limits;

#define KITH_BUILD_LIMITS_INIT                                                                                         \
    { sizeof(kith_build_limits), 0, 0, 0, 0, 0 }

/* Opens a builder for filters of this spec. If spec->capacity is 0 (and does not follow from bytes and rate), the filter
 * is sized for the number of distinct digests, or of all digests for a multiset. What the spec points to (kind, options,
 * notes, allocator) must stay valid until the builder is freed. limits may be NULL. Flags are kith_build_flags
 * (kith/filter.h).
 *
 * Kinds that store no copies and have a given capacity are filled while digests are added, and no digests are kept; all
 * other filters are made by kith_builder_finish().
 *
 * Returns the codes of kith_filter_plan(), so that a spec that no number of keys makes valid is refused before anything
 * is read; KITH_E_ARGUMENT for an unknown flag, a memory limit without a folder, or malformed limits or hash;
 * KITH_E_MEMORY. */
KITH_API KITH_MUST_USE kith_status kith_builder_open(const kith_filter_spec *spec, unsigned flags,
                                                     const kith_build_limits *limits, kith_builder **builder);

/* Opens a builder for a filter with the kind, geometry, capacity, hash, key and recipe of `like`
 * (kith_filter_create_like), which must stay open until the builder is freed.
 *
 * Returns KITH_E_UNSUPPORTED for a kind that can only be built from a complete list, KITH_E_KIND for a multiset of a
 * kind that stores no copies, and the other codes of kith_builder_open() and kith_filter_create_like(). */
KITH_API KITH_MUST_USE kith_status kith_builder_open_like(const kith_filter *like, unsigned flags,
                                                          const kith_build_limits *limits, kith_builder **builder);

/* Adds n digests, computed with spec->hash. *done (may be NULL) is the number of them that were taken, also on failure.
 *
 * Returns KITH_E_MEMORY; KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_NO_SPACE or KITH_E_IO for the temporary file;
 * KITH_E_CANCELLED; KITH_E_ARGUMENT after kith_builder_count() or kith_builder_finish(). If the filter is filled at
 * once, also what kith_filter_add() returns. */
KITH_API KITH_MUST_USE kith_status kith_builder_add_many(kith_builder *builder, const uint64_t *digests, size_t n,
                                                         size_t *done);

/* Like kith_builder_add_many(), for keys. */
KITH_API KITH_MUST_USE kith_status kith_builder_add_keys(kith_builder *builder, const kith_key *keys, size_t n,
                                                         size_t *done);

/* Sets *keys to the number of distinct digests, or of all digests for a multiset. No digests can be added after it.
 *
 * Returns KITH_E_UNSUPPORTED if the filter is filled at once, and the codes of kith_builder_add_many(). Cost: a pass
 * over the digests; calling it again costs nothing. */
KITH_API KITH_MUST_USE kith_status kith_builder_count(kith_builder *builder, uint64_t *keys);

/* Called with some digests. Any code but KITH_OK ends the call that calls it. */
typedef kith_status (*kith_build_take)(void *context, const uint64_t *digests, size_t n);

/* Calls `take` for all digests, in pieces and in order, without repeats (unless a multiset is built): for a program that
 * adds them to a filter that it already has. No digests can be added after it, but the builder can still be finished.
 *
 * Returns the code of `take`, and the codes of kith_builder_count(). */
KITH_API KITH_MUST_USE kith_status kith_builder_each(kith_builder *builder, kith_build_take take, void *context);

/* Replaces the spec, for example by one that suits the number of keys that kith_builder_count() returned, or after
 * kith_builder_finish() has failed.
 *
 * Returns KITH_E_MISMATCH if the hash is not the same, KITH_E_UNSUPPORTED if the filter is filled at once or made like
 * another, and the codes of kith_builder_open(). */
KITH_API KITH_MUST_USE kith_status kith_builder_respec(kith_builder *builder, const kith_filter_spec *spec);

/* Returns the memory that kith_builder_finish() will hold at most in addition to the filter, in bytes. */
KITH_API uint64_t kith_builder_memory(const kith_builder *builder);

/* Returns the filter as far as it is filled, for messages about keys that do not fit: of a builder that fills it while
 * digests are added, or after kith_builder_finish() has returned KITH_E_FULL or KITH_E_COPIES; otherwise NULL. The
 * *left_count digests at *left were taken, but are not in the filter. All of this is valid until the next call. */
KITH_API const kith_filter *kith_builder_partial(const kith_builder *builder, const uint64_t **left,
                                                 size_t *left_count);

/* Returns how many copies were left out: see KITH_BUILD_LEAVE_OUT. */
KITH_API uint64_t kith_builder_left_out(const kith_builder *builder);

/* Makes the filter, which belongs to the caller. After success the builder holds nothing more: only
 * kith_builder_left_out() and kith_builder_free() may follow. After a failure it still has all digests and can, for
 * example, be given another spec.
 *
 * Returns the codes of kith_filter_create(), KITH_E_FULL, KITH_E_COPIES or KITH_E_TOO_LARGE as kith_filter_add() does,
 * KITH_E_CAPACITY if there are no keys and no capacity is given, and the codes of kith_builder_add_many(). */
KITH_API KITH_MUST_USE kith_status kith_builder_finish(kith_builder *builder, kith_filter **filter);

/* Frees the builder. Before kith_builder_finish() this cancels the build: nothing is left of it. NULL is allowed. */
KITH_API void kith_builder_free(kith_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
