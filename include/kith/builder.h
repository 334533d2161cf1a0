/* kith/builder.h: builds a filter from a complete list of keys.
 *
 * A builder takes the digests of the keys in chunks. Usually it keeps them in memory up to a limit, and beyond it in a
 * temporary file, and makes the filter at the end. (Filters that store no copies are filled immediately, if their
 * capacity is given: see kith_builder_open.) Unlike kith_filter_create() followed by kith_filter_add_many(), it
 *
 *   - drops repeats, so that kinds that store copies store each key once;
 *   - sizes the filter for the number of distinct keys, which need not be known beforehand;
 *   - divides the work among threads: each thread fills one cache-sized part of the filter after the other, with the
 *     digests sorted by part (if the cells of a key are anywhere: each thread sets the cells of its own range);
 *   - can build static kinds (those without KITH_CAN_ADD), which can only be built from a complete list of keys.
 *
 * The result has the bytes that adding the digests one by one, in order, would give (without KITH_BUILD_MULTISET: only
 * the first of equal digests), whatever the memory limit and the number of threads. For a static kind, to which nothing
 * can be added, it has the same bytes for any order of the digests.
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
 * Memory. With a limit (kith_build_limits.memory_bytes), a builder allocates at most this many bytes. The filter itself
 * is not counted, and neither are
 *
 *   - 2 bits for each digest in the temporary file, and 64 KiB;
 *   - up to memory_bytes more, if a third or more of the digests in memory are repeats;
 *   - on several threads, unless the kind is static: per thread up to 3 MB, or n / 64 bytes if that is more, where n is
 *     the number of digests in memory. A thread needs this memory to search for free slots and, if there are repeats
 *     among its digests, for a copy of them.
 *
 * Two steps need a minimum, which may exceed the limit:
 *
 *   - To find repeats in the temporary file, at least one part of it (1/256) is in memory. This takes 50 bytes for each
 *     digest of the part, that is 0.2 bytes for each digest in the file. This exceeds the limit only if the file has
 *     more than 5 * memory_bytes digests.
 *   - A static kind is built in shards (parts of the filter that are built independently), at least one at a time. Up
 *     to 1.48 million keys are one shard; more keys are divided into shards of 0.74 to 1.48 million. A shard takes
 *     memory for each planned key: 8 bytes for the digest, and up to 26 of working memory. (24 in shards of more than
 *     0.74 million keys, so that a shard takes at most 48 MB; more than 26 in shards of fewer than 10,000 keys, but at
 *     most 300 KB of working memory.) From 380 million keys on, the digests of one of 256 parts are in memory instead
 *     of those of one shard. If the digests are not hashes, all keys may have to be one shard.
 *
 * If the limit is not enough to build one shard on each thread, a static kind is built on fewer threads. All threads
 * are used if the limit is at least
 *
 *   - 16 bytes * digests + 36 MB * threads, if the digests fit in memory;
 *   - 48 MB * threads, if they are in the temporary file.
 *
 * Cancelling. During a call, the progress function (kith_build_limits.progress) can interrupt the call by returning
 * false. The builder keeps what it has, and the call can be repeated. Between two calls, kith_builder_free() cancels a
 * build and leaves no filter and no file behind.
 *
 * For digests that are already in one array, kith_filter_build() does all of this in one call.
 *
 * Threads: one thread at a time may use a builder. The threads that a call starts end before it returns. */
#ifndef KITH_BUILDER_H
#define KITH_BUILDER_H

#include <kith/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_builder kith_builder;

typedef enum kith_build_step {
    KITH_BUILD_READING,  /* the caller adds digests; `total` is 0, because it is not known yet */
    KITH_BUILD_COUNTING, /* the distinct digests in the temporary file are counted */
    KITH_BUILD_FILLING,  /* the filter is filled */
} kith_build_step;

/* A progress function. Long calls call it from time to time, on the thread of the caller: `done` of `total` digests are
 * processed in this step.
 *
 * KITH_BUILD_COUNTING and KITH_BUILD_FILLING: `done` is 0 in the first call and equal to `total` in the last one, and
 * never decreases in between. A step may have to be repeated; then `done` starts again at 0.
 *
 * KITH_BUILD_READING: the function is called when the memory for digests is full, and `done` is the number of digests
 * that the builder holds, without the repeats that it has dropped. If the builder streams (see kith_builder_open),
 * `done` is the count of the filter, and kith_builder_finish() makes one call, too. The memory for digests never gets
 * full if the builder streams on one thread, or collects without a memory limit.
 *
 * The function may return false at any time. The call of the builder then returns KITH_E_CANCELLED. The builder still
 * has all digests that it has taken: free it, or repeat the call to go on. (kith_builder_add_many() has taken *done of
 * the digests: go on with the others.) */
typedef bool (*kith_build_progress)(void *context, kith_build_step step, uint64_t done, uint64_t total);

/* What a builder may use. Initialise with KITH_BUILD_LIMITS_INIT. A program that was compiled with an older header has
 * a smaller struct_bytes; it is accepted, and the missing fields are 0. */
typedef struct kith_build_limits {
    size_t struct_bytes;   /* sizeof(kith_build_limits): set by KITH_BUILD_LIMITS_INIT */
    unsigned threads;      /* at most 256; 0 means 1: the calling thread. With more than one, spec.allocator must be
                              thread-safe */
    uint64_t memory_bytes; /* limit for digests and working memory, without the filter; 0: no limit. Less than 1 MiB
                              means 1 MiB. If the digests need more, they are written to a temporary file. If the
                              threads need more, fewer are used. See "Memory" above for what is needed in any case */
    const char *folder;    /* folder of the temporary file. The file has no name, so the system deletes it when the
                              builder is freed or the program ends. Required if memory_bytes is given */
    kith_build_progress progress; /* NULL: none */
    void *context;                /* for `progress` */
} kith_build_limits;

#define KITH_BUILD_LIMITS_INIT                                                                                         \
    { sizeof(kith_build_limits), 0, 0, 0, 0, 0 }

/* Opens a builder for a filter of this spec. If spec->capacity is 0 (and does not follow from bytes and rate), the
 * filter is sized for the number of distinct digests, or of all digests for a multiset. What the spec points to (kind,
 * options, notes, allocator), and limits->folder, must stay valid until the builder is freed. limits may be NULL. Flags
 * are kith_build_flags (kith/filter.h).
 *
 * A builder works in one of two ways. It streams if the capacity is given (or follows from bytes and rate) and the kind
 * has KITH_CAN_ADD but not KITH_CAN_COPIES (kith/plan.h): it creates the filter immediately and adds digests to it as
 * they come. It then stores no digests, except for up to 2^20 (8 MiB) if it uses several threads. Otherwise it
 * collects: it stores all digests, and kith_builder_finish() makes the filter.
 *
 * So kinds that store copies, static kinds, and all kinds without a given capacity collect.
 *
 * Returns the codes of kith_filter_plan() if the spec is invalid whatever the number of keys will be; KITH_E_KIND for a
 * multiset of a kind without KITH_CAN_COPIES; KITH_E_ARGUMENT for an unknown flag; KITH_E_FOLDER for a memory limit
 * without a folder; KITH_E_STRUCT for malformed limits; KITH_E_HASH; KITH_E_MEMORY. */
KITH_API KITH_MUST_USE kith_status kith_builder_open(const kith_filter_spec *spec, unsigned flags,
                                                     const kith_build_limits *limits, kith_builder **builder);

/* Opens a builder for a filter like `like` (see kith_filter_create_like), with the allocator of `like`. Do not free
 * `like` before the builder. The builder streams if the kind does not have KITH_CAN_COPIES, and otherwise collects.
 *
 * Returns KITH_E_UNSUPPORTED for a static kind, and the codes of kith_builder_open() and kith_filter_create_like(). */
KITH_API KITH_MUST_USE kith_status kith_builder_open_like(const kith_filter *like, unsigned flags,
                                                          const kith_build_limits *limits, kith_builder **builder);

/* Adds n digests, computed with the hash of the spec. *done (may be NULL) is set to the number of digests that the
 * builder has taken, also on failure.
 *
 * Returns KITH_E_MEMORY; KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_NO_SPACE or KITH_E_IO for the temporary file;
 * KITH_E_CANCELLED; KITH_E_ENDED after kith_builder_end_input(), kith_builder_each() or kith_builder_finish(). If
 * the builder streams, also the codes of kith_filter_add(). */
KITH_API KITH_MUST_USE kith_status kith_builder_add_many(kith_builder *builder, const uint64_t *digests, size_t n,
                                                         size_t *done);

/* Like kith_builder_add_many(), for keys instead of digests. */
KITH_API KITH_MUST_USE kith_status kith_builder_add_keys(kith_builder *builder, const kith_key *keys, size_t n,
                                                         size_t *done);

/* Ends the input: no digests can be added after this call. Sets *keys to the number of distinct digests, or of all
 * digests for a multiset.
 *
 * Returns KITH_E_UNSUPPORTED if the builder streams, KITH_E_MEMORY, KITH_E_CANCELLED, and the codes for the temporary
 * file (see kith_builder_add_many). Cost: a pass over the digests; calling it again costs nothing. */
KITH_API KITH_MUST_USE kith_status kith_builder_end_input(kith_builder *builder, uint64_t *keys);

/* A function that kith_builder_each() calls with some of the digests. If it returns a code other than KITH_OK,
 * kith_builder_each() stops and returns this code. */
typedef kith_status (*kith_build_take)(void *context, const uint64_t *digests, size_t n);

/* Calls `take` for all digests, in chunks and in order, without repeats (unless a multiset is built): for a program
 * that adds them to a filter that it already has. No digests can be added after this call, but kith_builder_finish()
 * can still be called.
 *
 * Returns the code of `take`, and the codes of kith_builder_end_input(). */
KITH_API KITH_MUST_USE kith_status kith_builder_each(kith_builder *builder, kith_build_take take, void *context);

/* Replaces the spec, for example after kith_builder_end_input() has returned the number of keys, or after
 * kith_builder_finish() has failed.
 *
 * Returns KITH_E_MISMATCH if the hash is not the same, KITH_E_UNSUPPORTED if the builder streams or was opened with
 * kith_builder_open_like(), and the codes of kith_builder_open(). */
KITH_API KITH_MUST_USE kith_status kith_builder_respec(kith_builder *builder, const kith_filter_spec *spec);

/* Returns how much memory, in bytes, kith_builder_finish() will use in addition to the filter. If many digests are
 * repeats, or for static kinds, it may be up to twice that, but never more than "Memory" above allows. */
KITH_API uint64_t kith_builder_memory(const kith_builder *builder);

/* Returns the filter with the keys that were added so far, for messages about keys that do not fit. There is one if the
 * builder streams, or after kith_builder_finish() has returned KITH_E_FULL or KITH_E_COPIES for a kind that is not
 * static; otherwise returns NULL. A builder that streams on several threads may have taken digests that it has not yet
 * added to the filter: *pending and *pending_count are set to them (*pending_count is 0 if there are none). All of this
 * is valid until the next call with this builder. */
KITH_API const kith_filter *kith_builder_partial(const kith_builder *builder, const uint64_t **pending,
                                                 size_t *pending_count);

/* Returns how many copies were left out: see KITH_BUILD_LEAVE_OUT. */
KITH_API uint64_t kith_builder_left_out(const kith_builder *builder);

/* Makes the filter, which belongs to the caller. After success the builder is empty: call only kith_builder_left_out()
 * and kith_builder_free(). After a failure a builder that collects still has all digests: you can replace the spec with
 * kith_builder_respec() and call kith_builder_finish() again.
 *
 * Keys that were chosen to crowd parts of a blocked filter (kith_filter_add) are KITH_E_FULL here if adding them one by
 * one is, or if the finished filter is crowded. The second case happens only in filters of more than 4 MiB, or 32 MiB
 * with counters, in which single adds do not always notice it. A filter that grows takes such keys, as it does when
 * they are added one by one.
 *
 * Returns the codes of kith_filter_create() (a static kind is supported here), KITH_E_FULL, KITH_E_COPIES or
 * KITH_E_TOO_LARGE as kith_filter_add() and kith_filter_build() do, KITH_E_CAPACITY if there are no keys and only the
 * rate is given, KITH_E_CANCELLED, and the codes for the temporary file (see kith_builder_add_many). */
KITH_API KITH_MUST_USE kith_status kith_builder_finish(kith_builder *builder, kith_filter **filter);

/* Frees the builder with its digests, its temporary file and, if it was not finished, its filter. This is allowed after
 * any call, whatever that call has returned. NULL is allowed. */
KITH_API void kith_builder_free(kith_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
