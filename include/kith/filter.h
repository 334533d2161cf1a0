/* kith/filter.h: approximate sets of keys.
 *
 * A filter answers "is this key in the set?" from a few bits a key. Yes may be wrong, with a probability that was
 * fixed beforehand (the rate); no is never wrong, as long as only keys that were added are removed. A filter that has
 * reached its capacity refuses keys: the rate is a promise.
 *
 * The promise is about the filter that you have, not about filters on average. Of the filters of a Bloom kind (bloom,
 * blocked, counting, blocked_counting) that have reached their capacity, at least 199 in 200 have at most the promised
 * rate; a filter of a cuckoo kind (cuckoo, overlap) never exceeds it. This holds for keys that were not chosen against
 * the filter. kith_filter_stats_of() returns the exact rate of a filter at any time.
 *
 *     kind              keys come   and go   bits a key at 1% / 0.1%   lines a lookup   take it when
 *     bloom                yes       no          9.6 / 14.4                  k          sets are merged and compared
 *     blocked              yes       no         10.1 / 15.8                  1          speed is what counts
 *     counting             yes       yes        38.4 / 57.6                  k          the classic with deletion
 *     blocked_counting     yes       yes        45.8 / 77.9                  1          deletion, and speed counts
 *     cuckoo               yes       yes        10.4 / 13.5                  2          keys go again, rate above 0.2%
 *     overlap              yes       yes        12.7 / 12.7                  2          keys go again, 0.1% and below
 *     layers               yes    as inside     depends                      -          nobody knows n beforehand
 *
 * (Figures of kith_filter_plan at a million keys.) One handle type serves all kinds, whether the bytes live on the
 * heap, in a mapped file or in memory of yours; a verb that a kind or a read-only handle can't do says so.
 *
 * Threads: calls that take a const filter may run in any number of threads at once. A call that takes a non-const one
 * must be alone with it. Bloom kinds can be added to from many threads: see kith_adder. */
#ifndef KITH_FILTER_H
#define KITH_FILTER_H

#include <kith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_filter kith_filter;

/* ---- making and freeing ---- */

/* An empty filter, as kith_filter_plan() says for this spec; *filter is to be freed by kith_filter_free().
 * The codes of kith_filter_plan, KITH_E_MEMORY, or KITH_E_ARGUMENT for a malformed spec->hash. Cost: zeroed memory of
 * plan.file_bytes; cuckoo and overlap take up to 120 KiB beside it once an add must search for room, 3 MiB at worst,
 * and with b = 1 two bits a slot more. */
KITH_API KITH_MUST_USE kith_status kith_filter_create(const kith_filter_spec *spec, kith_filter **filter);

/* An empty filter with the kind, geometry, capacity, hash, key and recipe of `like`, so that the two can merge. Notes are
 * not taken over.
 * KITH_E_MEMORY; KITH_E_TOO_LARGE when it would pass the limit of `like` (kith_filter_limit). `allocator` as in
 * kith_filter_spec. */
KITH_API KITH_MUST_USE kith_status kith_filter_create_like(const kith_filter *like, const kith_allocator *allocator,
                                                           kith_filter **filter);

/* A heap filter with the same bytes, writable whatever `from` is. KITH_E_MEMORY, KITH_E_BUSY; KITH_E_CORRUPT when `from` was
 * opened lazily and turns out to be damaged. */
KITH_API KITH_MUST_USE kith_status kith_filter_clone(const kith_filter *from, const kith_allocator *allocator,
                                                     kith_filter **filter);

typedef enum kith_build_flags {
    KITH_BUILD_SET = 0,           /* equal digests are one key */
    KITH_BUILD_MULTISET = 1 << 0, /* every occurrence counts: copies are kept; needs KITH_CAN_COPIES */
} kith_build_flags;

/* A filter of n digests (see kith_digest, with spec->hash), all or nothing, in as many threads (0 is 1, the caller's; an
 * allocator of yours must then bear calls from several). With spec->capacity 0 the capacity is the number of keys found:
 * distinct digests, or all of them for a multiset. The result has the bytes that adding the digests one by one, in order
 * and without repeats, would give, whatever the number of threads. bloom, counting and layers are filled by one
 * thread, and so are cuckoo filters of less than 250,000 keys.
 *
 * The codes of kith_filter_create; KITH_E_FULL, KITH_E_COPIES or KITH_E_TOO_LARGE as in add. n = 0 with capacity 0 is
 * KITH_E_CAPACITY.
 * Cost: the filter, and while it runs up to 128 MiB, or, where repeats must be found or counted (not for a multiset, nor
 * for Bloom kinds of a given capacity), 11 bytes a digest, and up to 50 where most of them are repeats. */
KITH_API KITH_MUST_USE kith_status kith_filter_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n,
                                                     unsigned flags, unsigned threads, kith_filter **filter);

/* Frees the handle and what it owns; unmaps a mapped file; leaves viewed memory alone. NULL is fine. All adders must be
 * closed (see kith_adder_close). */
KITH_API void kith_filter_free(kith_filter *filter);

/* Limits the memory that growth may take (KITH_CAN_GROW): an add for which the filter would have to grow past
 * `max_bytes` returns KITH_E_TOO_LARGE and changes nothing. 0 means no limit.
 *
 * What counts is the peak: growing copies the block (file_bytes of kith_filter_stats), so the old and the new block
 * count together. The handle and the memory that cuckoo kinds search with (kith_filter_create) do not count. A
 * filter that is larger than the limit already stays as it is; it only cannot grow.
 *
 * kith_filter_clear() and kith_filter_create_like() keep to the limit as well, because they make a new first layer,
 * which a forged file can make larger than the file. kith_filter_clone() and kith_filter_create_like() pass the
 * limit on to the new filter. The limit belongs to the handle and is not saved: a filter made with spec.max_bytes
 * has that limit, one that is opened has none until this call. Set one before adding to a file that you do not
 * trust. */
KITH_API void kith_filter_limit(kith_filter *filter, uint64_t max_bytes);

/* Empties the filter; geometry, hash and key stay. KITH_E_READONLY, KITH_E_BUSY, and for layers KITH_E_MEMORY, and
 * KITH_E_TOO_LARGE where an empty filter beside this one would pass the limit (never for a filter that has not
 * grown). */
KITH_API KITH_MUST_USE kith_status kith_filter_clear(kith_filter *filter);

/* ---- one key ---- */

/* Adds a key.
 *
 * KITH_OK            the key is in; has() answers true from now on
 * KITH_E_FULL        capacity reached, or, for Bloom kinds, more bits set than `capacity` keys set: either more keys
 * came                    (false positives are not counted, so count() is still below the capacity) or the keys were
 * chosen                    against the filter, and then keys_now of kith_filter_stats is far above count(); or no
 * room found:                    distinct keys fit up to capacity as the plan says, copies of few keys may not; the
 * filter is as                    before
 * KITH_E_COPIES      this key has as many copies as the filter keeps; the filter is as before
 * KITH_E_MEMORY      no memory for the search of a free slot (cuckoo, overlap) or for a new layer (layers)
 * KITH_E_TOO_LARGE   (layers) a new layer would pass the limit of kith_filter_limit(); the filter is as before
 * KITH_E_READONLY    the filter is mapped or viewed
 * KITH_E_BUSY        adders are open
 *
 * Adding a key twice: Bloom kinds ignore it; cuckoo, overlap and the counting kinds store another copy, and remove()
 * takes one away. *was_new (may be NULL) tells whether has() would have said no before; it is written on success only.
 * Cost: one hash, then 1 cache line (blocked, blocked_counting), 2 (cuckoo, overlap), k (bloom, counting); near capacity
 * a cuckoo kind searches its region for a free slot. */
KITH_API KITH_MUST_USE kith_status kith_filter_add(kith_filter *filter, const void *key, size_t key_bytes,
                                                   bool *was_new);

/* Takes one copy of a key away. ONLY keys that were added may be removed: removing another key that the filter answers
 * yes for takes away the trace of a key that is in, which is then lost. (kith can't tell; who must be safe keeps the
 * keys beside the filter.)
 *
 * KITH_E_ABSENT      the filter answers no for this key
 * KITH_E_AMBIGUOUS   (layers) more than one layer answers yes, and the wrong one could lose a key
 * KITH_E_UNSUPPORTED, KITH_E_READONLY, KITH_E_BUSY */
KITH_API KITH_MUST_USE kith_status kith_filter_remove(kith_filter *filter, const void *key, size_t key_bytes);

/* Is the key in? True may be wrong, at the rate; false is right. Never allocates. */
KITH_API bool kith_filter_has(const kith_filter *filter, const void *key, size_t key_bytes);

/* How many copies of a key are in: at least the true number, more at the rate; of counting kinds, 15 means 15 or more.
 * 0 or 1 for kinds without copies. */
KITH_API uint64_t kith_filter_copies(const kith_filter *filter, const void *key, size_t key_bytes);

/* ---- many digests: the fast path ----
 *
 * A digest is 64 bits of which each depends on the whole key. Numbers that are not (a counter, an address) are no digests:
 * thousands of them fall into one place, and a cuckoo kind answers KITH_E_COPIES. Hash them first. */

/* The digest of a key under the filter's own hash and key. */
KITH_API uint64_t kith_filter_digest(const kith_filter *filter, const void *key, size_t key_bytes);

/* Those of many keys: kith_digest_many and kith_digest_packed with the filter's own hash and key. */
KITH_API void kith_filter_digest_many(const kith_filter *filter, const kith_key *keys, size_t n, uint64_t *digests);
KITH_API void kith_filter_digest_packed(const kith_filter *filter, const void *keys, size_t key_bytes, size_t n,
                                        uint64_t *digests);

/* One digest: kith_filter_add, remove and has without the hash. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_digest(kith_filter *filter, uint64_t digest, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_filter_remove_digest(kith_filter *filter, uint64_t digest);
KITH_API bool kith_filter_has_digest(const kith_filter *filter, uint64_t digest);

/* Bitmaps of the batch calls are arrays of (n + 63) / 64 words; bit i % 64 of word i / 64 belongs to digest i, and the
 * bits past n are 0. */
static inline bool kith_bitmap_get(const uint64_t *bitmap, size_t i) {
    return (bitmap[i / 64] >> (i % 64)) & 1;
}

/* Asks n digests; fills in `maybe` (may be NULL); answers how many were yes. */
KITH_API size_t kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);

/* The same in as many threads (0 is 1, the caller's). A thread costs some 20 microseconds: worth it from 10,000 digests a
 * thread on. */
KITH_API size_t kith_filter_has_many_parallel(const kith_filter *filter, const uint64_t *digests, size_t n,
                                              uint64_t *maybe, unsigned threads);

/* One add after the other, stopping at the first that fails and answering its code. *done (may be NULL) is the number
 * that went in; `was_new` (may be NULL) is a bitmap; both are written on failure too. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_many(kith_filter *filter, const uint64_t *digests, size_t n,
                                                        uint64_t *was_new, size_t *done);

/* One remove after the other, likewise. */
KITH_API KITH_MUST_USE kith_status kith_filter_remove_many(kith_filter *filter, const uint64_t *digests, size_t n,
                                                           size_t *done);

/* ---- many threads ---- */

/* An adder lets its thread add to a heap filter of a Bloom kind (KITH_CAN_SHARE) while other threads do the same with
 * adders of their own. Opening the first one puts the filter in shared mode: until the last is closed, only adders may
 * touch it; add, remove, merge, save, clone, stats … answer KITH_E_BUSY, and has() must not be called. Open and close from any
 * thread.
 *
 * Adders take capacity in blocks and give back the rest when closed, so near the end one adder may answer KITH_E_FULL
 * while others still hold a few places. Two threads that add the same new key at the same moment may both count it:
 * count() is then too high by one, never too low. The bits are those of any other order. */
typedef struct kith_adder kith_adder;

/* KITH_E_UNSUPPORTED, KITH_E_READONLY, KITH_E_MEMORY. */
KITH_API KITH_MUST_USE kith_status kith_adder_open(kith_filter *filter, kith_adder **adder);

/* As kith_filter_add and kith_filter_add_many. */
KITH_API KITH_MUST_USE kith_status kith_adder_add(kith_adder *adder, const void *key, size_t key_bytes, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_adder_add_many(kith_adder *adder, const uint64_t *digests, size_t n,
                                                       uint64_t *was_new, size_t *done);

/* Gives back unused capacity and frees the adder. NULL is fine.
 *
 * A filter may be freed once all its adders are closed: freeing it earlier is a programming error, and adders that
 * are still open would use freed memory. An owner that does not join the other threads may wait until a call like
 * kith_filter_bytes() no longer returns KITH_E_BUSY. From then on close() in another thread does not touch the
 * filter or its allocator any more. */
KITH_API void kith_adder_close(kith_adder *adder);

/* ---- two filters ----
 *
 * Both must have equal kind, geometry, capacity, hash, key and recipe (create_like, or equal specs), else the calls return
 * KITH_E_MISMATCH. A filter with itself is KITH_E_ARGUMENT. Also KITH_E_UNSUPPORTED, KITH_E_READONLY and KITH_E_BUSY. */

/* Everything in `from` goes into `into` as well. Bloom kinds: bit for bit the filter of the union. Counting kinds:
 * counters add up and saturate. Cuckoo kinds: a multiset sum.
 *
 * KITH_E_FULL        bloom and blocked: the counts add up to more than the capacity, and the union would have a rate
 *                    above the promise. (Sets may have keys in common, so the number of keys of the union is not known;
 *                    the rate is computed from the bits, exactly. count() becomes an estimate, at most the capacity.)
 *                    Other kinds: the counts add up to more than the capacity
 * KITH_E_COPIES      cuckoo kinds: a key would have more copies than the filter keeps
 * KITH_E_MEMORY      cuckoo kinds, which work on a copy
 *
 * A merge that fails changes nothing. */
KITH_API KITH_MUST_USE kith_status kith_filter_merge(kith_filter *into, const kith_filter *from);

/* Keeps the bits that both have. Every key of both sets stays in; others may too: a key in neither set is answered yes less
 * often than by either filter, a key of one set only as often as by the other filter. count() becomes an estimate of the
 * keys in common; the estimates of stats, from the bits that are left, are too high. */
KITH_API KITH_MUST_USE kith_status kith_filter_intersect(kith_filter *into, const kith_filter *from);

/* *subset: does `whole` have every bit of `part`? False is certain: some key of `part` is not in `whole`. True may be
 * wrong as has() may be, for every key of `part` at once. */
KITH_API KITH_MUST_USE kith_status kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset);

/* ---- what a filter says of itself ---- */

/* Keys that went in, less those removed. Bloom kinds count adds that changed a bit. */
KITH_API uint64_t kith_filter_count(const kith_filter *filter);

/* Keys that may be in before KITH_E_FULL. A filter that grows answers the sum over its layers; only the newest of them
 * takes keys. */
KITH_API uint64_t kith_filter_capacity(const kith_filter *filter);

KITH_API const char *kith_filter_kind_name(const kith_filter *filter);

/* kith_capability bits of this filter; a read-only handle answers those of the kind all the same. */
KITH_API uint32_t kith_filter_capabilities(const kith_filter *filter);

/* True when add() and the like answer KITH_E_READONLY. */
KITH_API bool kith_filter_readonly(const kith_filter *filter);

/* The hash, with its seed; the secret key is left out (zero). */
KITH_API kith_hash kith_filter_hash(const kith_filter *filter);

typedef struct kith_filter_stats {
    size_t struct_bytes; /* sizeof(kith_filter_stats): set by KITH_FILTER_STATS_INIT */
    uint64_t count;      /* as kith_filter_count */
    uint64_t capacity;   /* as kith_filter_capacity */
    double rate;         /* the promise */
    double rate_now;     /* of what is in now: the share of all digests that has() returns true for, exactly */
    double keys_now;     /* number of keys estimated from the bits (Bloom kinds); the count elsewhere */
    uint64_t cells;      /* bits, counters or slots */
    uint64_t cells_used; /* not zero */
    double load;         /* cells_used / cells */
    uint64_t stuck;      /* counting kinds: counters at their top, which stay there */
    unsigned layers;     /* 1, or the number of layers */
    uint64_t file_bytes;
} kith_filter_stats;

#define KITH_FILTER_STATS_INIT                                                                                         \
    { sizeof(kith_filter_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Cost: a pass over the body; for cuckoo kinds about as long as looking up every key. KITH_E_ARGUMENT for a wrong
 * struct_bytes. */
KITH_API KITH_MUST_USE kith_status kith_filter_stats_of(const kith_filter *filter, kith_filter_stats *stats);

/* Memory that the handle holds, in bytes: itself, its block unless that is a mapped file or a view, and what the kind keeps
 * in addition. Constant time. */
KITH_API uint64_t kith_filter_memory(const kith_filter *filter);

/* Writes the values of the kind's options to `text`, in the form of spec.options, for example "b=4 f=12 alternate=halves".
 * Values that the planner chose are written as well. Works like snprintf(): writes at most text_bytes bytes with the
 * terminating zero, and returns the length of the whole text. */
KITH_API size_t kith_filter_options(const kith_filter *filter, char *text, size_t text_bytes);

/* The parameters of a filter as kith_filter_plan() would give them, with what is promised. */
KITH_API KITH_MUST_USE kith_status kith_filter_plan_of(const kith_filter *filter, kith_plan *plan);

/* Walks every invariant of the body: KITH_OK, or KITH_E_CORRUPT and in *reason (may be NULL) a constant sentence that
 * names the first one broken. Cost: a pass over the body. */
KITH_API KITH_MUST_USE kith_status kith_filter_check(const kith_filter *filter, const char **reason);

/* ---- recipe and notes ----
 *
 * A program that turns input into keys (lower case, trimmed, decoded from hex) must do the same whenever it uses the
 * filter, or its keys are not found. The recipe is a number below 2^48 that records how; 0 means that keys are the bytes
 * that were given. The library stores it in the header and compares it: merge, intersect and subset return
 * KITH_E_MISMATCH for filters of different recipes. It never interprets it. docs/format.md lists the recipes of the
 * kith tool.
 *
 * Notes are pairs of strings for anything else worth keeping with the filter, such as where the keys came from. They are
 * part of the block, with a checksum of their own, and are verified even by a lazy open. */

/* The recipe that the filter was created with. */
KITH_API uint64_t kith_filter_recipe(const kith_filter *filter);

/* The number of notes, and note `index` (0 … count - 1). Strings are valid until the filter is changed or freed. */
KITH_API size_t kith_filter_note_count(const kith_filter *filter);
KITH_API kith_note kith_filter_note_at(const kith_filter *filter, size_t index);

/* The value of the note of that name, or NULL. */
KITH_API const char *kith_filter_note(const kith_filter *filter, const char *name);

/* Replaces all notes. KITH_E_ARGUMENT for an empty name or two equal names, KITH_E_TOO_LARGE past 64 notes or 65,536 bytes,
 * KITH_E_MEMORY, KITH_E_READONLY, KITH_E_BUSY. Cost: a copy of the whole filter, so give notes to
 * kith_filter_create() when they are known by then. */
KITH_API KITH_MUST_USE kith_status kith_filter_set_notes(kith_filter *filter, const kith_note *notes, size_t count);

/* ---- looking inside: for experiments and for teaching ---- */

/* What a look-up of a digest meets, cell by cell, in order: `holds` is what is in the cell, `wanted` what is there if the key
 * is in. Bits and counters come up to the first that is 0, and 1 is wanted of them, or more; of cuckoo kinds all slots of
 * both places come, those of the first place first, and the key's code is wanted. */
typedef void (*kith_look)(void *context, uint64_t cell, uint64_t holds, uint64_t wanted);

/* kith_filter_has_digest, telling what it looks at. The slow way to ask. */
KITH_API bool kith_filter_look(const kith_filter *filter, uint64_t digest, kith_look look, void *context);

/* What is in a cell, 0 … cells - 1 of kith_filter_stats: a bit, a counter, or the code in a slot; 0 is empty. */
KITH_API uint64_t kith_filter_cell(const kith_filter *filter, uint64_t cell);

/* ---- bytes ----
 *
 * A filter is one block of bytes (docs/format.md), the same in memory, in a file and on the wire, on every machine. */

/* The block, with its checksums brought up to date: valid until the next call that changes or frees the filter.
 * KITH_E_BUSY; KITH_E_CORRUPT when the filter was opened lazily and turns out to be damaged. Cost: a pass over the
 * body when it has changed since the last time, or was opened lazily and not yet verified. */
KITH_API KITH_MUST_USE kith_status kith_filter_bytes(kith_filter *filter, const void **bytes, size_t *byte_count);

typedef enum kith_open_flags {
    KITH_OPEN_DEFAULT = 0,
    KITH_OPEN_LAZY = 1 << 0, /* verify the header only: nothing of the body is read. On a damaged body answers may be
                                wrong, but no call reads or writes outside the block. The first change, clone(),
                                merge(), intersect(), bytes() and save() verify all of it, the layers of a filter that
                                grows included, and return KITH_E_CORRUPT if it is damaged */
    KITH_OPEN_COPY = 1 << 1, /* read into the heap: writable, and independent of the file from then on */
} kith_open_flags;

/* A read-only filter over memory of yours, which must stay as it is until the handle is freed. No copy, no alignment
 * needed. Verifies everything (a pass over the bytes) unless KITH_OPEN_LAZY. With KITH_OPEN_COPY the memory may go at
 * once. Bytes may come from anywhere: whatever they are, the answer is a status, never a crash.
 *
 * KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_VERSION, KITH_E_KIND, KITH_E_TRUNCATED, KITH_E_TRAILING, KITH_E_CORRUPT,
 * KITH_E_MEMORY; KITH_E_ARGUMENT for unknown flags */
KITH_API KITH_MUST_USE kith_status kith_filter_view(const void *bytes, size_t byte_count, unsigned flags,
                                                    const kith_allocator *allocator, kith_filter **filter);

/* A writable filter over a block that you have allocated, without a second copy: for a server that reads a value straight
 * into memory. The memory must come from `allocator` (not NULL), with alignment 64 and exactly byte_count bytes. On success
 * it belongs to the filter, which releases it. On failure it is still yours. Flags: KITH_OPEN_LAZY or 0. The codes of
 * kith_filter_view. */
KITH_API KITH_MUST_USE kith_status kith_filter_adopt(void *bytes, size_t byte_count, unsigned flags,
                                                     const kith_allocator *allocator, kith_filter **filter);

/* The same over a file, mapped: opening costs a sequential read, or nothing with KITH_OPEN_LAZY. A file that is
 * replaced by save() meanwhile stays as it was for this handle; one that another program changes in place
 * gives wrong answers, and one that it truncates raises SIGBUS in the reader: use KITH_OPEN_COPY where that can happen.
 * KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_TOO_LARGE, and the codes of kith_filter_view. */
KITH_API KITH_MUST_USE kith_status kith_filter_open(const char *path, unsigned flags, const kith_allocator *allocator,
                                                    kith_filter **filter);

/* Writes the filter to a file, whole or not at all: a new file beside it, synced, then renamed over `path`, and the
 * folder synced. Keeps mode and owner of the file that it replaces and follows a symbolic link; a file that bears a
 * secret key gets mode 0600. On any failure what was there before is untouched. Temporary files that killed processes
 * have left beside `path` are removed. Takes no lock: if two programs open, change and save one file at the same time,
 * the changes of one are lost (docs/format.md says how the commands of kith lock a file).
 * KITH_E_NO_SPACE, KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO, KITH_E_MEMORY (the kernel's), and the codes of
 * kith_filter_bytes. */
KITH_API KITH_MUST_USE kith_status kith_filter_save(kith_filter *filter, const char *path);

#ifdef __cplusplus
}
#endif
#endif
