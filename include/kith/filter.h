/* kith/filter.h: approximate sets of keys.
 *
 * A filter stores a set of keys in a few bits per key. kith_filter_has() returns false only for keys that are not in
 * the set, as long as only keys that were added are removed. It may return true for an absent key, with a probability
 * that is fixed beforehand: the rate. A filter that has reached its capacity refuses further keys, so the rate is a
 * promise.
 *
 * The promise is for each single filter, not for the average. A filter of a cuckoo kind (cuckoo, overlap) or of fuse
 * never exceeds the rate. A filter of a Bloom kind (bloom, blocked, counting, blocked_counting) that has reached its
 * capacity exceeds it with a probability of at most 1/200. This holds for keys that were not chosen against the filter.
 * kith_filter_stats_of() returns the exact rate of a filter at any time.
 *
 *     kind              deletion   bits per key     cache lines   use it when
 *                                  at 1% / 0.1%     per lookup
 *     bloom             no          9.6 / 14.4           k        sets are merged and compared
 *     blocked           no         10.1 / 15.8           1        speed matters most
 *     counting          yes        38.4 / 57.6           k        the classic filter with deletion
 *     blocked_counting  yes        45.8 / 77.9           1        deletion is needed and speed matters
 *     cuckoo            yes        10.4 / 13.5           2        deletion is needed, rates above 0.2%
 *     overlap           yes        12.7 / 12.7           2        deletion is needed, rates below 0.2%
 *     fuse              no          7.9 / 11.3           3        all keys are known at once, and none is added later
 *     layers            as inner   as inner           per layer     the number of keys is not known beforehand
 *
 * (Bits per key are those of kith_filter_plan() for a million keys.) One handle type serves all kinds, whether the
 * bytes are on the heap, in a mapped file or in the caller's memory. A call that a kind or a read-only handle does not
 * support returns an error.
 *
 * fuse is a static kind, without KITH_CAN_ADD: kith_filter_build() makes it from a complete list of keys. create(),
 * create_like(), clear(), add() and remove() return KITH_E_UNSUPPORTED; everything that does not change the keys works
 * as for the other kinds.
 *
 * Threads: calls that take a const filter may run on any number of threads at the same time. A call that takes a
 * non-const filter must be the only one that uses it. bloom and blocked can be added to from many threads by adders;
 * while adders are open, the rules at kith_adder apply instead. */
#ifndef KITH_FILTER_H
#define KITH_FILTER_H

#include <kith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_filter kith_filter;

/* ---- creating and freeing ---- */

/* Creates an empty filter, as kith_filter_plan() describes it for this spec. Free it with kith_filter_free().
 *
 * Returns the codes of kith_filter_plan(), KITH_E_UNSUPPORTED for a static kind, which can only be built from a
 * complete list of keys (kith_filter_build), KITH_E_MEMORY, or KITH_E_ARGUMENT for a malformed spec->hash. Cost:
 * plan.file_bytes of zeroed memory. In cuckoo and overlap the first search for a free slot allocates up to 120 KiB, and
 * later searches may enlarge this to 3 MiB; buckets of one slot (b = 1) also need two bits per slot. */
KITH_API KITH_MUST_USE kith_status kith_filter_create(const kith_filter_spec *spec, kith_filter **filter);

/* Creates an empty filter with the kind, geometry, capacity, hash, key and recipe of `like`, so that the two can
 * merge. Notes are not copied. `allocator` is as in kith_filter_spec.
 *
 * Returns KITH_E_UNSUPPORTED for a static kind, KITH_E_MEMORY, or KITH_E_TOO_LARGE if the filter would exceed the limit
 * of `like` (kith_filter_limit). */
KITH_API KITH_MUST_USE kith_status kith_filter_create_like(const kith_filter *like, const kith_allocator *allocator,
                                                           kith_filter **filter);

/* Copies a filter to the heap, byte for byte. The copy is writable, whatever `from` is.
 *
 * Returns KITH_E_MEMORY, KITH_E_BUSY, or KITH_E_CORRUPT if `from` was opened lazily and is damaged. */
KITH_API KITH_MUST_USE kith_status kith_filter_clone(const kith_filter *from, const kith_allocator *allocator,
                                                     kith_filter **filter);

typedef enum kith_build_flags {
    KITH_BUILD_SET = 0,            /* equal digests are one key */
    KITH_BUILD_MULTISET = 1 << 0,  /* every occurrence counts: copies are kept; needs KITH_CAN_COPIES */
    KITH_BUILD_LEAVE_OUT = 1 << 1, /* copies beyond plan.max_copies are left out, instead of KITH_E_COPIES; if fewer
                                      copies of a key do not fit, that is KITH_E_FULL */
} kith_build_flags;

/* Builds a filter from n digests (computed by kith_digest() with spec->hash). Either the whole filter is built or
 * nothing.
 *
 * `threads` is the number of threads to use; 0 means 1, the calling thread. With more than one, spec->allocator must
 * be thread-safe. If spec->capacity is 0, the filter is sized for the number of distinct digests (for a multiset: for
 * all of them). The result has the bytes that adding the digests one by one in order would give (for KITH_BUILD_SET:
 * only the first of equal digests), whatever the number of threads. Fewer than 130,000 digests, and cuckoo filters of
 * fewer than 250,000 keys, are added by one thread. For more digests than fit in memory see kith/builder.h.
 *
 * A static kind (KITH_CAN_ADD is missing) can only be made by this call or by a builder; its bytes do not depend on the
 * order of the digests. For digests that are hashes the filter is as large as planned. If they are not, and most of
 * them belong to one shard, it is built larger, at most by a third, or the call returns KITH_E_TOO_LARGE if that
 * exceeds spec->bytes or spec->max_bytes.
 *
 * Returns the codes of kith_filter_create(), and KITH_E_FULL, KITH_E_COPIES or KITH_E_TOO_LARGE as kith_filter_add()
 * does. n = 0 with capacity 0 returns KITH_E_CAPACITY. Extra memory while it runs: up to 128 MiB for a multiset and
 * for bloom and blocked with a given capacity; otherwise 11 bytes per digest, and up to 50 if most digests are
 * repeats. */
KITH_API KITH_MUST_USE kith_status kith_filter_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n,
                                                     unsigned flags, unsigned threads, kith_filter **filter);

/* Frees the handle and what it owns. Unmaps a mapped file, and leaves viewed memory alone. NULL is allowed. All adders
 * must be closed before (see kith_adder_close). */
KITH_API void kith_filter_free(kith_filter *filter);

/* Limits the memory that growth may use (KITH_CAN_GROW). An add for which the filter would have to grow beyond
 * `max_bytes` returns KITH_E_TOO_LARGE and changes nothing. 0 means no limit.
 *
 * What counts is the size that the filter has after the growth (file_bytes of kith_filter_stats). Growing allocates
 * only the new layer and copies nothing, so this is also the peak. Handles and the memory that cuckoo kinds use to
 * search (see kith_filter_create) do not count. A filter that is already larger than the limit stays as it is, but it
 * cannot grow. The limit does not apply to the memory that kith_filter_bytes() and kith_filter_set_notes() need.
 *
 * kith_filter_clear() and kith_filter_create_like() observe the limit as well, because they create a new first layer,
 * which a forged file can make larger than the file. kith_filter_clone() and kith_filter_create_like() pass the limit
 * on to the new filter. The limit belongs to the handle and is not saved: a filter created with spec.max_bytes has
 * that limit, and an opened filter has none until this call. Set one before you add to a file that you do not trust. */
KITH_API void kith_filter_limit(kith_filter *filter, uint64_t max_bytes);

/* Removes all keys. Geometry, hash, key, recipe and notes stay.
 *
 * Returns KITH_E_UNSUPPORTED (static kinds), KITH_E_READONLY or KITH_E_BUSY. layers keep their first layer and free the
 * others. If several layers are in one block, because the filter was opened, cloned or asked for its bytes after it had
 * grown, a new block is needed: then also KITH_E_MEMORY, or KITH_E_TOO_LARGE if an empty filter next to this one would
 * exceed the limit. */
KITH_API KITH_MUST_USE kith_status kith_filter_clear(kith_filter *filter);

/* ---- one key ---- */

/* Adds a key.
 *
 * Returns KITH_OK, after which kith_filter_has() returns true for this key, or
 *   KITH_E_FULL       the filter is full; see below
 *   KITH_E_COPIES     this key is already stored as many times as the kind allows
 *   KITH_E_UNSUPPORTED  the kind is static: it can only be built from a complete list of keys (kith_filter_build)
 *   KITH_E_MEMORY     no memory to search for a free slot (cuckoo, overlap) or for a new layer (layers)
 *   KITH_E_TOO_LARGE  (layers) a new layer would exceed the limit of kith_filter_limit()
 *   KITH_E_READONLY   the filter is a mapped file or a view
 *   KITH_E_BUSY       adders are open
 *   KITH_E_CORRUPT    the filter was opened with KITH_OPEN_LAZY and is damaged; so for the first change of any kind
 * After any of these the filter is unchanged.
 *
 * A filter is full when it holds as many keys as it was sized for. A Bloom kind is also full when more of its bits are
 * set than `capacity` distinct keys would normally set. Then either more keys were added than the count says, because
 * false positives are not counted, or the keys were chosen against the filter; in the second case keys_now of
 * kith_filter_stats is far above the count. Distinct keys fit into a cuckoo kind up to its capacity, with the
 * probability that the plan gives; many copies of few keys may not.
 *
 * Adding a key twice: bloom and blocked ignore the second add. Cuckoo and counting kinds store a second copy, and each
 * kith_filter_remove() removes one. *was_new (may be NULL) is set on success to whether kith_filter_has() was false
 * before. Cost: one hash, then 1 cache line (blocked, blocked_counting), 2 (cuckoo, overlap) or k (bloom, counting).
 * Near its capacity a cuckoo kind searches for a free slot. */
KITH_API KITH_MUST_USE kith_status kith_filter_add(kith_filter *filter, const void *key, size_t key_bytes,
                                                   bool *was_new);

/* Removes one copy of a key. ONLY keys that were added may be removed. Removing another key for which has() returns
 * true removes what represents a key of the set, and that key is lost. The filter cannot tell the two cases apart, so
 * keep the keys elsewhere if you cannot be sure.
 *
 * Returns KITH_E_ABSENT if has() returns false for this key; KITH_E_AMBIGUOUS (layers) if more than one layer may hold
 * the key, because removing it from the wrong one could lose another key; KITH_E_UNSUPPORTED, KITH_E_READONLY,
 * KITH_E_BUSY. */
KITH_API KITH_MUST_USE kith_status kith_filter_remove(kith_filter *filter, const void *key, size_t key_bytes);

/* Returns whether the key may be in the set. True is wrong with the probability of the rate; false is never wrong.
 * Never allocates. */
KITH_API bool kith_filter_has(const kith_filter *filter, const void *key, size_t key_bytes);

/* Returns how many copies of a key are stored: at least the true number, and more with the probability of the rate. For
 * counting kinds, one more than max_copies of kith_plan (15 for counters of 4 bits) means that many or more. Returns 0
 * or 1 for kinds without copies. */
KITH_API uint64_t kith_filter_copies(const kith_filter *filter, const void *key, size_t key_bytes);

/* ---- many digests: the fast path ----
 *
 * A digest is a 64-bit hash of a key. Numbers that are not hashes (a counter, an address) must not be used as digests:
 * thousands of them have the same candidate slots, and a cuckoo kind returns KITH_E_COPIES. Hash them first. */

/* Returns the digest of a key under the filter's own hash and key. */
KITH_API uint64_t kith_filter_digest(const kith_filter *filter, const void *key, size_t key_bytes);

/* The same for many keys: kith_digest_many() and kith_digest_packed() with the filter's own hash and key. */
KITH_API void kith_filter_digest_many(const kith_filter *filter, const kith_key *keys, size_t n, uint64_t *digests);
KITH_API void kith_filter_digest_packed(const kith_filter *filter, const void *keys, size_t key_bytes, size_t n,
                                        uint64_t *digests);

/* Like kith_filter_add(), remove() and has(), for a digest instead of a key. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_digest(kith_filter *filter, uint64_t digest, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_filter_remove_digest(kith_filter *filter, uint64_t digest);
KITH_API bool kith_filter_has_digest(const kith_filter *filter, uint64_t digest);

/* Bitmaps of the batch calls are arrays of (n + 63) / 64 words. Bit i % 64 of word i / 64 belongs to digest i, and the
 * bits past n are 0. */
static inline bool kith_bitmap_get(const uint64_t *bitmap, size_t i) {
    return (bitmap[i / 64] >> (i % 64)) & 1;
}

/* Looks up n digests. Returns how many may be in the set, and fills in the bitmap `maybe` (may be NULL). */
KITH_API size_t kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);

/* Like kith_filter_has_many(), on `threads` threads (0 means 1: the calling thread). Starting a thread costs about 20
 * µs, so use more than one only for more than about 10,000 digests per thread. */
KITH_API size_t kith_filter_has_many_parallel(const kith_filter *filter, const uint64_t *digests, size_t n,
                                              uint64_t *maybe, unsigned threads);

/* Adds digests one after the other. Stops at the first that fails and returns its code. *done (may be NULL) is the
 * number that was added, and `was_new` (may be NULL) is a bitmap. Both are written on failure as well. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_many(kith_filter *filter, const uint64_t *digests, size_t n,
                                                        uint64_t *was_new, size_t *done);

/* Removes digests one after the other, in the same way. */
KITH_API KITH_MUST_USE kith_status kith_filter_remove_many(kith_filter *filter, const uint64_t *digests, size_t n,
                                                           size_t *done);

/* ---- many threads ---- */

/* An adder lets its thread add to a heap filter of kind bloom or blocked (KITH_CAN_SHARE) while other threads do the
 * same with their own adders. Opening the first one puts the filter into shared mode. Until the last adder is closed,
 * only adders may use the filter: add, remove, merge, save, clone, stats and the like return KITH_E_BUSY, and has()
 * must not be called. Adders may be opened and closed from any thread.
 *
 * Adders reserve capacity in blocks and return the rest when they are closed. So near the end one adder may return
 * KITH_E_FULL while others still have some capacity left. If two threads add the same new key at the same moment, both
 * may count it: the count is then too high by one, never too low. The bits do not depend on the order of adds. */
typedef struct kith_adder kith_adder;

/* Returns KITH_E_UNSUPPORTED, KITH_E_READONLY or KITH_E_MEMORY. */
KITH_API KITH_MUST_USE kith_status kith_adder_open(kith_filter *filter, kith_adder **adder);

/* Like kith_filter_add() and kith_filter_add_many(). */
KITH_API KITH_MUST_USE kith_status kith_adder_add(kith_adder *adder, const void *key, size_t key_bytes, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_adder_add_many(kith_adder *adder, const uint64_t *digests, size_t n,
                                                       uint64_t *was_new, size_t *done);

/* Returns unused capacity to the filter and frees the adder. NULL is allowed.
 *
 * Free a filter only after all its adders are closed. Freeing it earlier is a programming error: open adders would use
 * freed memory. An owner that does not join the other threads may wait until a call like kith_filter_bytes() no longer
 * returns KITH_E_BUSY. From then on close() in another thread does not touch the filter or its allocator any more. */
KITH_API void kith_adder_close(kith_adder *adder);

/* ---- two filters ----
 *
 * Both must have equal kind, geometry, capacity, rate, hash, key and recipe (create_like, or equal specs), else the
 * calls return KITH_E_MISMATCH. merge and intersect also return KITH_E_ARGUMENT for a filter with itself,
 * KITH_E_READONLY, and KITH_E_CORRUPT for a filter that was opened lazily and is damaged. All three return
 * KITH_E_UNSUPPORTED and KITH_E_BUSY. */

/* Adds everything in `from` to `into`. bloom and blocked: the result is, bit for bit, the filter of the union. Counting
 * kinds: counters are added and saturate. Cuckoo kinds: a multiset sum. A merge that fails changes nothing.
 *
 * Returns KITH_OK, or
 *   KITH_E_FULL    bloom and blocked: the counts add up to more than the capacity, and the rate of the union, computed
 *                  from its bits, is above the promise. (The sets may have keys in common, so the number of keys in the
 *                  union is not known; the count becomes an estimate, at most the capacity.)
 *                  Other kinds: the counts add up to more than the capacity.
 *   KITH_E_COPIES  cuckoo kinds: a key would have more copies than the filter can store
 *   KITH_E_MEMORY  cuckoo kinds, which work on a copy */
KITH_API KITH_MUST_USE kith_status kith_filter_merge(kith_filter *into, const kith_filter *from);

/* Keeps the bits that are set in both. Every key that is in both sets stays. A key in neither set is reported less
 * often than by either filter; a key of only one set is reported as often as by the other filter. The count becomes an
 * estimate of the keys in common. The estimates of kith_filter_stats, which come from the remaining bits, are too
 * high. */
KITH_API KITH_MUST_USE kith_status kith_filter_intersect(kith_filter *into, const kith_filter *from);

/* Sets *subset to whether every bit of `part` is set in `whole`. False is certain: some key of `part` is not in
 * `whole`. True is
 * wrong only if every key of `part` that is missing from `whole` is a false positive of `whole`. */
KITH_API KITH_MUST_USE kith_status kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset);

/* ---- statistics ---- */

/* Returns the number of keys added minus those removed. bloom and blocked count adds that changed a bit. */
KITH_API uint64_t kith_filter_count(const kith_filter *filter);

/* Returns how many keys the filter was sized for. For a filter that grows this is the sum over its layers; only the
 * newest accepts keys. */
KITH_API uint64_t kith_filter_capacity(const kith_filter *filter);

KITH_API const char *kith_filter_kind_name(const kith_filter *filter);

/* Returns kith_capability bits. A read-only handle returns those of its kind as well. */
KITH_API uint32_t kith_filter_capabilities(const kith_filter *filter);

/* Returns true if add() and the like return KITH_E_READONLY. */
KITH_API bool kith_filter_readonly(const kith_filter *filter);

/* Returns the hash with its seed, but without the secret key (zero). */
KITH_API kith_hash kith_filter_hash(const kith_filter *filter);

typedef struct kith_filter_stats {
    size_t struct_bytes; /* sizeof(kith_filter_stats): set by KITH_FILTER_STATS_INIT */
    uint64_t count;      /* as kith_filter_count */
    uint64_t capacity;   /* as kith_filter_capacity */
    double rate;         /* the promise */
    double rate_now;     /* the exact rate now: the share of all digests for which has() returns true */
    double keys_now;     /* number of keys, estimated from the bits (Bloom kinds); the count of other kinds */
    uint64_t cells;      /* bits, counters or slots */
    uint64_t cells_used; /* those that are not zero (a static kind may leave this 0) */
    double load;         /* cells_used / cells */
    uint64_t stuck;      /* counting kinds: counters at their maximum, which are never decremented */
    unsigned layers;     /* 1, or the number of layers */
    uint64_t file_bytes;
} kith_filter_stats;

#define KITH_FILTER_STATS_INIT                                                                                         \
    { sizeof(kith_filter_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills in the statistics. Returns KITH_E_BUSY, or KITH_E_ARGUMENT for a wrong struct_bytes; a smaller one, of an
 * older caller, is accepted, and only its fields are written. Cost: a pass over the body; for cuckoo kinds about as
 * long as looking up every key. */
KITH_API KITH_MUST_USE kith_status kith_filter_stats_of(const kith_filter *filter, kith_filter_stats *stats);

/* Memory that the handle holds, in bytes: itself, its block unless that is a mapped file or a view, and what the kind
 * keeps in addition, such as layers in separate blocks. Constant time. */
KITH_API uint64_t kith_filter_memory(const kith_filter *filter);

/* Writes the values of the kind's options to `text`, in the form of spec.options, for example "b=4 f=12
 * alternate=halves insert=search max=500" (slots per bucket, fingerprint bits, rule for the other bucket, how a slot is
 * freed; kith_filter_kind_at() lists them).
 * Values that the planner chose are written as well. Works like snprintf(): writes at most text_bytes bytes with the
 * terminating zero, and returns the length of the whole text. */
KITH_API size_t kith_filter_options(const kith_filter *filter, char *text, size_t text_bytes);

/* Fills in the plan of an existing filter, as kith_filter_plan() would. */
KITH_API KITH_MUST_USE kith_status kith_filter_plan_of(const kith_filter *filter, kith_plan *plan);

/* Checks every invariant of the body. Returns KITH_OK, or KITH_E_CORRUPT and in *reason (may be NULL) a constant
 * sentence that names the first broken one. Cost: a pass over the body. */
KITH_API KITH_MUST_USE kith_status kith_filter_check(const kith_filter *filter, const char **reason);

/* ---- recipe and notes ----
 *
 * A program that turns input into keys (lower case, trimmed, decoded from hex) must do the same whenever it uses the
 * filter, or its keys are not found. The recipe is a number below 2^48 that records how; 0 means that keys are the
 * bytes that were given. The library stores it in the header and compares it: merge, intersect and subset return
 * KITH_E_MISMATCH for filters of different recipes. It never interprets it. docs/format.md lists the recipes of the
 * kith tool.
 *
 * Notes are pairs of strings for anything else worth keeping with the filter, such as where the keys came from. They
 * are part of the block, with a checksum of their own, and are verified even by a lazy open. */

/* The recipe that the filter was created with. */
KITH_API uint64_t kith_filter_recipe(const kith_filter *filter);

/* The number of notes, and note `index` (0 … count - 1). Strings are valid until the filter is changed or freed, or
 * kith_filter_bytes() joins its layers. */
KITH_API size_t kith_filter_note_count(const kith_filter *filter);
KITH_API kith_note kith_filter_note_at(const kith_filter *filter, size_t index);

/* The value of the note of that name, or NULL. */
KITH_API const char *kith_filter_note(const kith_filter *filter, const char *name);

/* Replaces all notes. KITH_E_ARGUMENT for an empty name or two equal names, KITH_E_TOO_LARGE past 64 notes or 65,536
 * bytes, KITH_E_MEMORY, KITH_E_READONLY, KITH_E_BUSY. Cost: a copy of the whole filter, so give notes to
 * kith_filter_create() when they are known by then. */
KITH_API KITH_MUST_USE kith_status kith_filter_set_notes(kith_filter *filter, const kith_note *notes, size_t count);

/* ---- looking inside: for experiments and for teaching ---- */

/* Called for each cell that a lookup reads, in order: `holds` is the content of the cell, and `wanted` what it is if
 * the key is in the set. For bits and counters the calls end with the first that is 0, and `wanted` is 1 (or more). For
 * cuckoo kinds there is one call per slot of both buckets, the first bucket first, and `wanted` is what the slot of the
 * key would hold (its fingerprint; for overlap also a bit for the window). For fuse there is one call per cell, and
 * `wanted` is what the cell must hold so that the XOR of the cells is the fingerprint: either all cells hold it or
 * none. */
typedef void (*kith_look)(void *context, uint64_t cell, uint64_t holds, uint64_t wanted);

/* Like kith_filter_has_digest(), and calls `look` for every cell that it reads. Slow. */
KITH_API bool kith_filter_look(const kith_filter *filter, uint64_t digest, kith_look look, void *context);

/* Returns the content of a cell (0 … cells - 1 of kith_filter_stats): a bit, a counter, or a slot (its fingerprint, for
 * overlap with a bit for the window); 0 is empty, except in fuse, where 0 is a value like any other. */
KITH_API uint64_t kith_filter_cell(const kith_filter *filter, uint64_t cell);

/* ---- bytes ----
 *
 * A filter is one block of bytes (docs/format.md), the same in memory, in a file and on the wire, on every machine.
 * Only layers that were appended since the filter was created, opened or asked for its bytes are separate blocks in
 * memory, so that growing copies nothing. */

/* Returns the block, with its checksums brought up to date. It is valid until the next call that changes or frees the
 * filter.
 *
 * If the filter has grown, its layers are joined: copied once into a new block, from which the filter continues. Both
 * copies exist meanwhile. Later calls copy nothing until the filter has grown again. To write a filter to a file, use
 * kith_filter_save(), which does not join it.
 *
 * Returns KITH_E_BUSY, KITH_E_CORRUPT if the filter was opened lazily and is damaged, or KITH_E_MEMORY if there is no
 * memory to join the layers; the filter is then unchanged. Cost: a pass over the body if it has changed since the last
 * call, or was opened lazily and not yet verified. */
KITH_API KITH_MUST_USE kith_status kith_filter_bytes(kith_filter *filter, const void **bytes, size_t *byte_count);

typedef enum kith_open_flags {
    KITH_OPEN_DEFAULT = 0,
    KITH_OPEN_LAZY = 1 << 0, /* verify only the header and read nothing of the body. If the body is damaged, lookups may
                                be wrong, but no call reads or writes outside the block. The first change, clone(),
                                merge(), intersect(), bytes() and save() verify all of it, including the layers of a
                                filter that grows, and return KITH_E_CORRUPT if it is damaged */
    KITH_OPEN_COPY = 1 << 1, /* read into the heap: writable, and independent of the file */
} kith_open_flags;

/* Opens a read-only filter over your memory, which must not change until the handle is freed. Nothing is copied, and
 * no alignment is needed. Verifies everything (a pass over the bytes) unless KITH_OPEN_LAZY is given. With
 * KITH_OPEN_COPY the memory is copied and may be freed at once. The bytes may come from anywhere: whatever they are,
 * the call returns a status and never crashes.
 *
 * Returns KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_VERSION, KITH_E_KIND, KITH_E_TRUNCATED, KITH_E_TRAILING,
 * KITH_E_CORRUPT, KITH_E_MEMORY, or KITH_E_ARGUMENT for unknown flags. */
KITH_API KITH_MUST_USE kith_status kith_filter_view(const void *bytes, size_t byte_count, unsigned flags,
                                                    const kith_allocator *allocator, kith_filter **filter);

/* Opens a writable filter over a block that you have allocated, without a second copy: for a server that reads a value
 * straight into memory. The memory must come from `allocator` (not NULL), with alignment 64 and exactly byte_count
 * bytes. On success it belongs to the filter, which releases it. On failure it still belongs to you. Flags:
 * KITH_OPEN_LAZY or 0.
 *
 * Returns the codes of kith_filter_view(). */
KITH_API KITH_MUST_USE kith_status kith_filter_adopt(void *bytes, size_t byte_count, unsigned flags,
                                                     const kith_allocator *allocator, kith_filter **filter);

/* Opens a file by mapping it. Costs a sequential read, or nothing with KITH_OPEN_LAZY. If save() replaces the file
 * meanwhile, this handle keeps the old content. If another program changes the file in place, lookups are wrong; if it
 * truncates the file, the reader gets SIGBUS. Use KITH_OPEN_COPY where that can happen.
 *
 * Returns KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_TOO_LARGE, and the codes of kith_filter_view(). */
KITH_API KITH_MUST_USE kith_status kith_filter_open(const char *path, unsigned flags, const kith_allocator *allocator,
                                                    kith_filter **filter);

/* Writes the filter to a file, completely or not at all: to a new file next to it, which is synced and renamed to
 * `path`; then the folder is synced. Keeps mode and owner of the file that it replaces, and follows a symbolic link. A
 * file that contains a secret key gets mode 0600. On any failure the old file is unchanged. Temporary files that
 * killed processes have left next to `path` are removed. Takes no lock: if two programs open, change and save one file
 * at the same time, the changes of one are lost (docs/format.md says how the commands of kith lock a file).
 *
 * Layers are written from where they are in memory. If there are separate ones, this needs memory for the checksums: 8
 * bytes per 64 KiB.
 *
 * Returns KITH_E_NO_SPACE, KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_MEMORY (the kernel's, or for the
 * checksums), KITH_E_BUSY, or KITH_E_CORRUPT as kith_filter_bytes() does. */
KITH_API KITH_MUST_USE kith_status kith_filter_save(kith_filter *filter, const char *path);

#ifdef __cplusplus
}
#endif
#endif
