/* kith/filter.h: approximate sets of keys.
 *
 * A filter stores a set of keys in a few bits per key. kith_filter_has() returns false only for keys that are not in
 * the set, as long as only keys that were added are removed. For an absent key it returns true with a probability that
 * is fixed beforehand, the rate. A filter that has reached its capacity refuses further keys or, if it is of kind
 * layers, grows: the rate is a promise. docs/kinds.md says exactly what is promised, and why.
 *
 *     kind              deletion   bits per key     cache lines   use it when
 *                                  at 1% / 0.1%     per lookup
 *     bloom             no          9.6 / 14.4           k        sets are merged and compared
 *     blocked           no         10.1 / 15.8           1        speed matters most
 *     counting          yes        38.4 / 57.6           k        the classic filter with deletion
 *     blocked_counting  yes        45.8 / 77.9           1        deletion is needed and speed matters
 *     cuckoo            yes        10.4 / 13.5           2        deletion is needed, and faster adds than in overlap
 *     overlap           yes         9.5 / 12.7           2        deletion is needed, and size matters most
 *     fuse              no          7.9 / 11.3           3        all keys are known at once, and none is added later
 *     ribbon            no          7.1 / 10.1        3 / 4      the same, and size matters most
 *     layers            as inner   11.2 / 17.3       per layer    the number of keys is not known beforehand
 *
 * Bits per key are those of a million keys; k is the number of bits or counters per key. kith/plan.h defines the words
 * for groups of kinds: Bloom, counting, blocked, cuckoo and static kinds, and layers of an inner kind.
 *
 * A kith_filter is a handle, the same for all kinds, whether the bytes are on the heap, in a mapped file or in the
 * caller's memory. A call that a kind does not support returns KITH_E_UNSUPPORTED; kith_filter_capabilities() says
 * beforehand what a filter supports.
 *
 * These codes are not repeated below. Every call that changes a filter may return
 *     KITH_E_READONLY   it is a mapped file or a view
 *     KITH_E_BUSY       adders are open (kith_adder_open)
 *     KITH_E_CORRUPT    it was opened with KITH_OPEN_LAZY, and is found to be damaged now
 *
 * Threads: calls that take a const filter may run on any number of threads at the same time. A call that takes a
 * non-const filter must be the only one that uses it, unless adders are open.
 *
 * The calls, in the order in which programs need them: simple calls, keys as bytes, many keys, all properties, files
 * and bytes, two filters, many threads, statistics, notes. */
#ifndef KITH_FILTER_H
#define KITH_FILTER_H

#include <kith/keys.h>
#include <kith/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_filter kith_filter;

/* ---- simple calls ----
 *
 *     kith_filter *seen;
 *     if (kith_filter_new(1000000, 0.001, 0, &seen) != KITH_OK)
 *         return 1;
 *     if (!kith_filter_has_string(seen, url) && kith_filter_add_string(seen, url) != KITH_OK)
 *         return 1;
 *     if (kith_filter_save(seen, "seen.kith") != KITH_OK)
 *         return 1;
 *     kith_filter_free(seen);
 *
 * The key of a string is its bytes without the terminating zero; that of a number is its 8 bytes in little-endian
 * order. So strings and numbers can be mixed with the calls for bytes below, and files are the same on every machine.
 * If all keys are numbers, or UUIDs, say so when the filter is made: then other languages and the kith tool know it
 * from the file (kith/keys.h). The calls that make a filter set *filter to NULL if they fail. */

typedef enum kith_filter_flags {
    KITH_UNTRUSTED = 1,  /* a stranger may choose the keys: hash them with a new secret key (kith/hash.h) */
    KITH_REMOVABLE = 2,  /* keys can be removed. A key that is added twice must then be removed twice */
    KITH_GROWS = 4,      /* accept more than n keys. Lookups become slower with each doubling */
    KITH_INT_KEYS = 8,   /* keys are signed numbers of 64 bits, */
    KITH_UINT_KEYS = 16, /* unsigned ones, */
    KITH_UUID_KEYS = 32, /* or UUIDs of 16 bytes: at most one of these three */
} kith_filter_flags;

/* Creates an empty filter for n distinct keys with a probability of at most `rate` for a false positive. The kind is
 * the smallest with these properties, or one that is up to 1.3 times as large and reads one cache line per lookup.
 * Without KITH_REMOVABLE, adding a key again changes nothing. With KITH_GROWS, n is a guess, and 0 means no idea.
 *
 * Returns KITH_E_CAPACITY if n is 0 without KITH_GROWS, KITH_E_RATE, KITH_E_ADDRESS, KITH_E_DIGEST_BITS,
 * KITH_E_MEMORY, KITH_E_RANDOM, or KITH_E_ARGUMENT for an unknown flag or two types of keys. Cost: the memory of the
 * filter, see the table above. */
KITH_API KITH_MUST_USE kith_status kith_filter_new(uint64_t n, double rate, unsigned flags, kith_filter **filter);

/* Build the smallest filter of n keys to which nothing will be added: 7.1 bits per key at 1%, 10.1 at 0.1%. Keys may
 * repeat, and n may be 0. The hash is the default, for keys that you trust. A filter of numbers has the key type uint.
 *
 * Return KITH_E_RATE, KITH_E_FINGERPRINT, KITH_E_MEMORY, or KITH_E_FULL if the keys were chosen to prevent it. Cost:
 * about 34 bytes of memory per key while it runs. */
KITH_API KITH_MUST_USE kith_status kith_filter_of_strings(const char *const *strings, size_t n, double rate,
                                                          kith_filter **filter);
KITH_API KITH_MUST_USE kith_status kith_filter_of_numbers(const uint64_t *numbers, size_t n, double rate,
                                                          kith_filter **filter);

/* kith_filter_add(), remove() and has() for one string or number. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_string(kith_filter *filter, const char *string);
KITH_API KITH_MUST_USE kith_status kith_filter_add_number(kith_filter *filter, uint64_t number);
KITH_API KITH_MUST_USE kith_status kith_filter_remove_string(kith_filter *filter, const char *string);
KITH_API KITH_MUST_USE kith_status kith_filter_remove_number(kith_filter *filter, uint64_t number);
KITH_API bool kith_filter_has_string(const kith_filter *filter, const char *string);
KITH_API bool kith_filter_has_number(const kith_filter *filter, uint64_t number);

/* Writes the filter to a file, completely or not at all: a temporary file in the same folder is synced and then takes
 * the name. If `path` is a symbolic link, the file that it points to is replaced. The new file has the owner and mode
 * of the one that it replaces, as far as the caller may set them; a file with a secret key gets mode 0600.
 *
 * Returns KITH_E_NO_SPACE, KITH_E_NO_FILE (the folder does not exist), KITH_E_PERMISSION, KITH_E_IO, KITH_E_MEMORY, or
 * KITH_E_JOURNAL as kith_filter_bytes() does. The old file is then unchanged, unless only the sync of the folder has
 * failed, on a file system that cannot exchange two names (NFS, some FUSE).
 *
 * Two programs that open, change and save one file at the same time lose the changes of one: see kith/file.h. */
KITH_API KITH_MUST_USE kith_status kith_filter_save(kith_filter *filter, const char *path);

/* Reads a file that kith_filter_save() has written into memory. The filter can be changed and saved again. Returns the
 * codes of kith_filter_open(), which maps a file instead. */
KITH_API KITH_MUST_USE kith_status kith_filter_load(const char *path, kith_filter **filter);

/* Frees the handle and what it owns. Unmaps a mapped file. Does not free memory that was passed to kith_filter_view().
 * NULL is allowed. All adders must be closed before (see kith_adder_close). */
KITH_API void kith_filter_free(kith_filter *filter);

/* ---- keys as bytes ---- */

/* Adds a key.
 *
 * Returns KITH_OK, after which kith_filter_has() returns true for this key, or
 *   KITH_E_FULL         the filter holds as many keys as it was sized for; or, far less likely, there is no free slot
 *                       for this key (cuckoo kinds), or keys were chosen to fill the filter (Bloom kinds)
 *   KITH_E_COPIES       the filter stores no more copies of this key
 *   KITH_E_UNSUPPORTED  the kind is static: see kith_filter_build()
 *   KITH_E_MEMORY       no memory to search for a free slot (cuckoo kinds) or for a new layer (layers)
 *   KITH_E_TOO_LARGE    (layers) a new layer would exceed the limit of kith_filter_set_limit()
 * After any of these the filter is unchanged. "When a filter is full" in docs/kinds.md has the exact conditions.
 *
 * *was_new (may be NULL) is set on success to whether kith_filter_has() was false before.
 *
 * Adding a key twice: filters without KITH_CAN_COPIES ignore the second add, and accept such a key even if they are
 * full. Others store a second copy, up to max_copies of kith_filter_plan_of(), and each kith_filter_remove() removes
 * one.
 *
 * Cost: one hash, then as many cache lines as a lookup reads (kith_plan.lines). A cuckoo kind that is nearly full
 * searches for a free slot, which takes microseconds, and less than a millisecond whatever the keys are. */
KITH_API KITH_MUST_USE kith_status kith_filter_add(kith_filter *filter, const void *key, size_t key_bytes,
                                                   bool *was_new);

/* Removes one copy of a key. Remove ONLY keys that were added: removing another one for which has() returns true can
 * lose a key of the set, and the filter cannot detect this. If you cannot be sure, use kith/exact.h.
 *
 * Returns KITH_OK, or
 *   KITH_E_ABSENT       has() returns false for this key, or the filter has no keys
 *   KITH_E_AMBIGUOUS    (layers) more than one layer may hold the key, and removing it from the wrong one could lose
 *                       another key
 *   KITH_E_UNSUPPORTED  the filter does not have KITH_CAN_REMOVE
 * After any of these the filter is unchanged. */
KITH_API KITH_MUST_USE kith_status kith_filter_remove(kith_filter *filter, const void *key, size_t key_bytes);

/* Returns true if the key is in the set. If it is not, returns true with a probability of at most the rate, and
 * otherwise false. Never allocates. */
KITH_API bool kith_filter_has(const kith_filter *filter, const void *key, size_t key_bytes);

/* Returns how many copies of a key are stored: at least the true number, and more with a probability of at most the
 * rate. One exception: after kith_filter_merge(), the true number may be higher if a counting kind returns the maximum
 * of its counters (15 for counters of 4 bits). Returns 0 or 1 for kinds without KITH_CAN_COPIES. */
KITH_API uint64_t kith_filter_copies(const kith_filter *filter, const void *key, size_t key_bytes);

/* ---- many keys: digests ----
 *
 * A digest is the 64-bit hash of a key (kith_filter_digest). Numbers that are not hashes (a counter, an address) must
 * not be used as digests: thousands of them would share the same buckets and fingerprint, so a cuckoo kind would return
 * KITH_E_COPIES, and other kinds might not keep the rate. Hash them first. */

/* Returns the digest of a key, computed with the filter's hash and its seed or secret key. */
KITH_API uint64_t kith_filter_digest(const kith_filter *filter, const void *key, size_t key_bytes);

/* The same for many keys: like kith_digest_many() and kith_digest_packed() with the filter's hash. */
KITH_API void kith_filter_digest_many(const kith_filter *filter, const kith_key *keys, size_t n, uint64_t *digests);
KITH_API void kith_filter_digest_packed(const kith_filter *filter, const void *keys, size_t key_bytes, size_t n,
                                        uint64_t *digests);

/* Like kith_filter_add(), remove() and has(), for a digest instead of a key. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_digest(kith_filter *filter, uint64_t digest, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_filter_remove_digest(kith_filter *filter, uint64_t digest);
KITH_API bool kith_filter_has_digest(const kith_filter *filter, uint64_t digest);

/* Returns bit i of a bitmap that a batch call has written. Such a bitmap is an array of (n + 63) / 64 words.
 * Digest i belongs to bit i % 64 of word i / 64. The bits from n on are 0. */
static inline bool kith_bitmap_get(const uint64_t *bitmap, size_t i) {
    return (bitmap[i / 64] >> (i % 64)) & 1;
}

/* Looks up n digests. Returns how many may be in the set, and fills in the bitmap `maybe` (may be NULL). */
KITH_API size_t kith_filter_has_many(const kith_filter *filter, const uint64_t *digests, size_t n, uint64_t *maybe);

/* Like kith_filter_has_many(), on `threads` threads, at most 256 (0 means 1: the calling thread). Starting a thread
 * costs about 20 µs, so use more than one only for more than about 10,000 digests per thread. */
KITH_API size_t kith_filter_has_many_parallel(const kith_filter *filter, const uint64_t *digests, size_t n,
                                              uint64_t *maybe, unsigned threads);

/* Adds digests one after the other. Stops at the first that fails and returns its code. *done (may be NULL) is set to
 * the number of digests before that one: all of them are in the filter. Bit i of the bitmap `was_new` (may be NULL) is
 * set to what kith_filter_add() returns in *was_new for digest i. *done and `was_new` are also written on failure. */
KITH_API KITH_MUST_USE kith_status kith_filter_add_many(kith_filter *filter, const uint64_t *digests, size_t n,
                                                        uint64_t *was_new, size_t *done);

/* Removes digests one after the other. Stops at the first that fails and returns its code. *done (may be NULL) is set
 * to the number of digests before that one, also on failure. */
KITH_API KITH_MUST_USE kith_status kith_filter_remove_many(kith_filter *filter, const uint64_t *digests, size_t n,
                                                           size_t *done);

/* Flags of kith_filter_build() and kith_builder_open(). KITH_BUILD_LEAVE_OUT says what happens if another copy of a key
 * cannot be stored:
 *
 *     the filter already has                     without the flag    with the flag
 *     plan.max_copies copies of it or more       KITH_E_COPIES       the copy is left out, and counted
 *                                                                    (kith_builder_left_out)
 *     fewer, but other keys have taken its       KITH_E_COPIES or    KITH_E_FULL: a larger filter could store the copy
 *     slots (only cuckoo kinds)                  KITH_E_FULL, as
 *                                                kith_filter_add()
 */
typedef enum kith_build_flags {
    KITH_BUILD_SET = 0,            /* equal digests are one key */
    KITH_BUILD_MULTISET = 1 << 0,  /* each occurrence of a digest is stored as a copy; needs KITH_CAN_COPIES */
    KITH_BUILD_LEAVE_OUT = 1 << 1, /* leave out copies that the filter cannot store, see above */
} kith_build_flags;

/* Builds a filter of n digests (computed by kith_digest() with spec->hash), completely or not at all. This is the only
 * way to make a filter of a static kind. For more digests than fit in memory see kith/builder.h.
 *
 * `threads` is the number of threads to use, at most 256; 0 means 1, the calling thread. With more than one,
 * spec->allocator must be thread-safe. If spec->capacity is 0 (and does not follow from bytes and rate), the filter is
 * sized for the number of distinct digests (for a multiset: for all of them).
 *
 * The result has the bytes that adding the digests one by one in order would give (for KITH_BUILD_SET: only the first
 * of equal digests), whatever the number of threads. The bytes of a static kind do not depend on the order. Its filter
 * may be up to a third larger than planned if the digests are not hashes.
 *
 * Returns the codes of kith_filter_create() (a static kind is supported here), those of kith_filter_add(), KITH_E_FULL
 * also for a list of keys that was made so that no filter of this static kind can be built from it (docs/security.md),
 * KITH_E_TOO_LARGE if the filter would become larger than planned and than spec->bytes or spec->max_bytes, or
 * KITH_E_CAPACITY if n is 0 and only the rate is given.
 *
 * Memory while it runs, in addition to the filter: 8 bytes per digest and 24 per key of a shard on each thread (static
 * kinds), at most 140 MiB (multisets; kinds that store no copies, with a capacity), or 11 to 50 bytes per digest.
 * "Builds" in docs/kinds.md has the details. */
KITH_API KITH_MUST_USE kith_status kith_filter_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n,
                                                     unsigned flags, unsigned threads, kith_filter **filter);

/* ---- all properties ---- */

/* Creates an empty filter, as kith_filter_plan() describes it for this spec.
 *
 * Returns the codes of kith_filter_plan(), KITH_E_UNSUPPORTED for a static kind, KITH_E_MEMORY, or KITH_E_HASH for a
 * malformed spec->hash. Cost: plan.file_bytes of zeroed memory. The first add to a cuckoo kind that has to search for
 * a free slot allocates up to 448 KiB more, which later ones use again. */
KITH_API KITH_MUST_USE kith_status kith_filter_create(const kith_filter_spec *spec, kith_filter **filter);

/* Creates an empty filter with the kind, options, size, capacity, hash, secret key, recipe and limit of `like`, so that
 * the two can be merged. (For layers: with the size and capacity of the first layer.) Notes are not copied. `allocator`
 * is as in kith_filter_spec.
 *
 * Returns KITH_E_UNSUPPORTED for a static kind, KITH_E_MEMORY, KITH_E_TOO_LARGE if the filter would exceed the limit of
 * `like`, or KITH_E_CORRUPT (layers) if `like` was opened with KITH_OPEN_LAZY and has invalid options for a layer. */
KITH_API KITH_MUST_USE kith_status kith_filter_create_like(const kith_filter *like, const kith_allocator *allocator,
                                                           kith_filter **filter);

/* Copies a filter to the heap, byte for byte, with its limit. The copy is writable, whatever `from` is. (The copy of a
 * store's snapshot is a plain filter.)
 *
 * Returns KITH_E_MEMORY, KITH_E_BUSY, or KITH_E_CORRUPT if `from` was opened with KITH_OPEN_LAZY and is damaged. */
KITH_API KITH_MUST_USE kith_status kith_filter_clone(const kith_filter *from, const kith_allocator *allocator,
                                                     kith_filter **filter);

/* Limits the memory that growth may use (KITH_CAN_GROW). An add for which the filter would have to grow beyond
 * `max_bytes` returns KITH_E_TOO_LARGE and changes nothing. 0 means no limit. The limit is compared with the size of
 * the filter after the growth (kith_filter_file_bytes), which is also the peak of the memory.
 *
 * The limit belongs to the handle and is not saved: a filter created with spec.max_bytes has that limit, an opened one
 * has none until this call. Set one before you change a file that you do not trust: the header of a forged file can
 * claim a first layer that is larger than the file. kith_filter_create_like() and kith_filter_clear() would allocate
 * it. */
KITH_API void kith_filter_set_limit(kith_filter *filter, uint64_t max_bytes);

/* Removes all keys. Size, options, hash, secret key, recipe and notes stay. layers keep their first layer and free the
 * others.
 *
 * Returns KITH_E_UNSUPPORTED (static kinds). Layers that are in one block, because the filter had grown before it was
 * opened, cloned or passed to kith_filter_bytes(), may also return KITH_E_MEMORY or KITH_E_TOO_LARGE: their first layer
 * gets a new block before the old one is freed. */
KITH_API KITH_MUST_USE kith_status kith_filter_clear(kith_filter *filter);

/* ---- files and bytes ----
 *
 * A filter is one block of bytes (docs/format.md), the same in memory, in a file and on the wire, on every machine.
 * The exception is a filter that grows: each new layer is a separate block in memory, so that growing copies nothing,
 * until kith_filter_bytes() joins them. kith_filter_save() and load() are among the simple calls. */

typedef enum kith_open_flags {
    KITH_OPEN_DEFAULT = 0,
    KITH_OPEN_LAZY = 1 << 0,     /* open without reading the body: only the header and the notes are verified (and the
                                headers of layers). If the body is damaged, lookups may be wrong, but no call reads or
                                writes outside the block. The first change, clone(), merge(), intersect(), bytes(),
                                write() and save() verify the whole body, and return KITH_E_CORRUPT if it is damaged */
    KITH_OPEN_COPY = 1 << 1,     /* copy into memory of the allocator: writable, and independent of the file */
    KITH_OPEN_SNAPSHOT = 1 << 2, /* also open a file that has a journal (kith/file.h), without it: what was added or
                                    removed since the last checkpoint is missing. The result is a plain filter. If it
                                    is read-only, bytes(), write() and save() return KITH_E_JOURNAL; clone it first,
                                    or open it with KITH_OPEN_COPY */
} kith_open_flags;

/* Opens a read-only filter (a view) over your memory, which must not change until the handle is freed. Nothing is
 * copied, and no alignment is needed. Verifies everything (a pass over the bytes) unless KITH_OPEN_LAZY is given. With
 * KITH_OPEN_COPY the memory is copied, the filter is writable, and you may free the memory as soon as the call returns.
 * The bytes may come from anywhere: whatever they are, the call returns a status and never crashes.
 *
 * Returns KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_VERSION, KITH_E_KIND, KITH_E_TRUNCATED, KITH_E_TRAILING,
 * KITH_E_CORRUPT, KITH_E_MEMORY, KITH_E_ARGUMENT for unknown flags, or KITH_E_JOURNAL if the bytes are the file of a
 * store: part of its keys may be in its journal, so open it with kith_file_open() (or see KITH_OPEN_SNAPSHOT). */
KITH_API KITH_MUST_USE kith_status kith_filter_view(const void *bytes, size_t byte_count, unsigned flags,
                                                    const kith_allocator *allocator, kith_filter **filter);

/* Opens a writable filter in a block that you have allocated and filled, without copying it: for a program that reads
 * the bytes of a filter from a socket or a database. The block must come from `allocator` (not NULL), with alignment 64
 * and exactly byte_count bytes. On success it belongs to the filter, which releases it. On failure it still belongs to
 * you. Flags: KITH_OPEN_LAZY or 0.
 *
 * Returns the codes of kith_filter_view(). */
KITH_API KITH_MUST_USE kith_status kith_filter_adopt(void *bytes, size_t byte_count, unsigned flags,
                                                     const kith_allocator *allocator, kith_filter **filter);

/* Opens a file. The file is mapped, and the filter is read-only, unless KITH_OPEN_COPY is given. Cost: one sequential
 * read of the file, or only of its headers and notes with KITH_OPEN_LAZY. If save() replaces the file while it is open,
 * this handle keeps the old content. If another program changes a mapped file in place, lookups may be wrong. If it
 * truncates the file, lookups raise SIGBUS. Use KITH_OPEN_COPY where that can happen: then the file is read once, into
 * memory of its size, and a file that becomes shorter while it is read gives KITH_E_TRUNCATED.
 *
 * Returns KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO (errno EISDIR or EINVAL: not a regular file), KITH_E_ADDRESS
 * if the file exceeds the address space, and the codes of kith_filter_view(). */
KITH_API KITH_MUST_USE kith_status kith_filter_open(const char *path, unsigned flags, const kith_allocator *allocator,
                                                    kith_filter **filter);

/* Like kith_filter_open(), for a regular file that is open for reading: for sandboxed programs that are no longer
 * allowed to open files when they read this one (seccomp, Capsicum, pledge). The descriptor still belongs to you, and
 * its offset does not matter and does not change. You may close it as soon as the call returns. */
KITH_API KITH_MUST_USE kith_status kith_filter_open_fd(int fd, unsigned flags, const kith_allocator *allocator,
                                                       kith_filter **filter);

/* Sets *bytes and *byte_count to the block of the filter, and updates its checksums before. The block is valid until
 * the next call that changes, relocates or frees the filter. The layers of a filter that has grown are copied into one
 * new block, which the filter uses from then on; kith_filter_save() does not need that.
 *
 * Returns KITH_E_BUSY, KITH_E_CORRUPT if the filter was opened with KITH_OPEN_LAZY and is damaged, KITH_E_JOURNAL for
 * a read-only snapshot (KITH_OPEN_SNAPSHOT), or KITH_E_MEMORY if there is no memory to join the layers; the filter is
 * then unchanged. Cost: a pass over the body if it has changed since the last call, or was opened with KITH_OPEN_LAZY
 * and not yet verified. */
KITH_API KITH_MUST_USE kith_status kith_filter_bytes(kith_filter *filter, const void **bytes, size_t *byte_count);

/* Returns the size of the filter as one block, in bytes: that of its file. Takes constant time. */
KITH_API uint64_t kith_filter_file_bytes(const kith_filter *filter);

/* A function that takes bytes from kith_filter_write(). If it returns a code other than KITH_OK, kith_filter_write()
 * stops and returns this code. */
typedef kith_status (*kith_write)(void *context, const void *bytes, size_t byte_count);

/* Passes bytes offset … offset + byte_count - 1 of the block to `write`, in one or more pieces and in order: for a
 * program that sends a filter elsewhere. Layers are not joined.
 *
 * Returns KITH_E_RANGE if the range ends after kith_filter_file_bytes(), the code of `write`, and the codes of
 * kith_filter_save() that are not about files. Cost: as kith_filter_bytes(); if the filter has layers in separate
 * blocks, every call whose range is not entirely in the body makes a pass over the body. */
KITH_API KITH_MUST_USE kith_status kith_filter_write(kith_filter *filter, uint64_t offset, uint64_t byte_count,
                                                     kith_write write, void *context);

/* Your function that moves `byte_count` bytes of memory of a filter. It allocates new memory, copies the bytes, frees
 * the old memory and returns the new address; or it does nothing and returns the old address. The new memory must be as
 * if the allocator of the filter had returned it, with alignment 64. */
typedef void *(*kith_move)(void *context, void *memory, size_t byte_count);

/* For programs that defragment their memory: calls `move` for each block of the filter, and uses the addresses that it
 * returns from then on. Other memory of the filter (handles, memory of searches) stays in place, and so do mapped files
 * and views. Returns KITH_OK or KITH_E_BUSY. */
KITH_API KITH_MUST_USE kith_status kith_filter_relocate(kith_filter *filter, kith_move move, void *context);

/* ---- two filters ----
 *
 * Both must have equal kind, options, size, capacity, rate, hash, seed or secret key, and recipe: make them with
 * kith_filter_create_like() or from equal specs. Otherwise the calls return KITH_E_MISMATCH, or KITH_E_UNSUPPORTED if
 * the kind cannot do this: see KITH_CAN_MERGE, KITH_CAN_INTERSECT and KITH_CAN_SUBSET. KITH_E_SAME: both arguments
 * are the same filter (merge, intersect). */

/* Adds everything in `from` to `into`. Filters of bits: the result has the bits of a filter to which all keys of both
 * were added. Counting kinds: counters are added, up to their maximum. Cuckoo kinds: a key that is in both has
 * the copies of both. A merge that fails changes nothing.
 *
 * Returns KITH_OK, or
 *   KITH_E_FULL    the union would have more keys than the capacity, or would break another condition of "When a filter
 *                  is full" in docs/kinds.md. (In filters of bits a union is counted by its bits, because the sets may
 *                  have keys in common. It succeeds as long as the rate is kept; the count becomes an estimate)
 *   KITH_E_COPIES  cuckoo kinds: a key would have more copies than the filter can store
 *   KITH_E_MEMORY  cuckoo kinds, which need memory for a copy of `into`, to restore it if the merge fails */
KITH_API KITH_MUST_USE kith_status kith_filter_merge(kith_filter *into, const kith_filter *from);

/* Keeps in `into` only the bits that are set in both filters. has() still returns true for every key that is in both
 * sets. For a key that is in only one set, it returns true if the key is a false positive of the other filter. For a
 * key that is in neither set, the rate is at most that of either filter. The count becomes an estimate of the number of
 * common keys. keys_now of kith_filter_stats is estimated from the remaining bits and is too high. */
KITH_API KITH_MUST_USE kith_status kith_filter_intersect(kith_filter *into, const kith_filter *from);

/* Sets *subset to whether every bit of `part` is set in `whole`. False is certain: some key of `part` is not in
 * `whole`. (Unless `part` comes from kith_filter_intersect() or a repair: it may have bits that belong to no key.)
 * True is wrong only if every key of `part` that is missing from `whole` is a false positive of `whole`. */
KITH_API KITH_MUST_USE kith_status kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset);

/* Sets *disjoint to whether no key can have all of its bits in both filters. True is certain: every key is definitely
 * missing from one of the two, so they have no key in common. False says little about large sets, whose bits overlap by
 * chance: with a single key in `b`, it means that has() is true for this key in `a`. (With layout=whole, it means only
 * that they share a bit.) Needs KITH_CAN_SUBSET. Reads both filters once. */
KITH_API KITH_MUST_USE kith_status kith_filter_disjoint(const kith_filter *a, const kith_filter *b, bool *disjoint);

/* ---- many threads ---- */

/* An adder lets one thread add keys to a writable filter that has KITH_CAN_SHARE while other threads do the same with
 * their own adders. From the opening of the first adder until the last one is closed, only adders may use the filter,
 * except that kith_filter_digest(), digest_many() and digest_packed() may be called. Calls that change, combine, copy,
 * save or check it, and kith_filter_stats_of(), return KITH_E_BUSY, and has() must not be called. Adders may be opened
 * and closed from any thread. If this happens at the same time, the filter's allocator must be thread-safe.
 *
 * Each adder reserves some capacity, at most 256 keys at a time, and returns what it did not use when it is closed. So
 * near the capacity one adder may return KITH_E_FULL while others still have reserved capacity. If two threads add the
 * same new key at the same moment, both may count it: the count may be too high, but it is never too low. The bits do
 * not depend on the order of the adds. */
typedef struct kith_adder kith_adder;

/* Opens an adder. Returns KITH_OK, KITH_E_UNSUPPORTED, KITH_E_READONLY, KITH_E_MEMORY, or KITH_E_CORRUPT as
 * kith_filter_add() does. */
KITH_API KITH_MUST_USE kith_status kith_adder_open(kith_filter *filter, kith_adder **adder);

/* Like kith_filter_add() and kith_filter_add_many(). */
KITH_API KITH_MUST_USE kith_status kith_adder_add(kith_adder *adder, const void *key, size_t key_bytes, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_adder_add_many(kith_adder *adder, const uint64_t *digests, size_t n,
                                                       uint64_t *was_new, size_t *done);

/* Returns unused capacity to the filter and frees the adder. NULL is allowed.
 *
 * Free a filter only after all its adders are closed. Freeing it earlier is a programming error: open adders would use
 * freed memory. If you cannot join the threads of the adders, repeat a call like kith_filter_bytes() until it returns
 * something other than KITH_E_BUSY. Then you may free the filter, even if a kith_adder_close() in another thread has
 * not returned yet: it has finished with the filter and its allocator. */
KITH_API void kith_adder_close(kith_adder *adder);

/* ---- statistics ---- */

/* Returns the number of keys added minus those removed. Filters of bits count only adds that changed a bit. */
KITH_API uint64_t kith_filter_count(const kith_filter *filter);

/* Returns how many keys the filter was sized for. For a filter that grows, this is the sum of the capacities of its
 * layers. Keys are added only to the newest layer, so removing keys from older layers does not let it hold more. */
KITH_API uint64_t kith_filter_capacity(const kith_filter *filter);

/* Returns the name of the filter's kind, as in kith_filter_kind_at(). */
KITH_API const char *kith_filter_kind_name(const kith_filter *filter);

/* Returns the kith_capability bits of the filter. They are the same for a read-only handle. */
KITH_API uint32_t kith_filter_capabilities(const kith_filter *filter);

/* Returns true if the filter is a mapped file or a view, so that calls that change it return KITH_E_READONLY. */
KITH_API bool kith_filter_readonly(const kith_filter *filter);

/* Returns the hash with its seed. The secret key is not returned: its bytes are 0. */
KITH_API kith_hash kith_filter_hash(const kith_filter *filter);

/* Returns true if digests that were computed with `hash` are digests of this filter: if both are the same hash, with
 * the same seed or secret key. `hash` must contain the key, so the result of kith_filter_hash() is of no use here if
 * the filter has one. */
KITH_API bool kith_filter_has_hash(const kith_filter *filter, const kith_hash *hash);

/* Returns true if digests of one filter are digests of the other: if both have the same hash, with the same seed or
 * secret key. The filters may be of different kinds and sizes. */
KITH_API bool kith_filter_same_hash(const kith_filter *a, const kith_filter *b);

typedef struct kith_filter_stats {
    size_t struct_bytes; /* sizeof(kith_filter_stats): set by KITH_FILTER_STATS_INIT */
    uint64_t count;      /* as kith_filter_count */
    uint64_t capacity;   /* as kith_filter_capacity */
    double rate;         /* the promise */
    double rate_now;     /* the rate now: the share of all digests for which has() returns true. Bloom and cuckoo kinds:
                            exact. Static kinds: 2^-fingerprint_bits, the mean over all seeds. layers: computed from the
                            rates of the layers as if they were independent */
    double keys_now;     /* Bloom kinds, and layers of them: number of keys, estimated from the cells that are used;
                            other kinds: `count` */
    uint64_t cells;      /* number of bits, counters or slots; of all layers */
    uint64_t cells_used; /* number of cells that are not 0 */
    double load;         /* cells_used / cells */
    uint64_t stuck;      /* counting kinds: number of counters at their maximum, which are never decremented */
    unsigned layers;     /* 1, or the number of layers */
    uint64_t file_bytes; /* as kith_filter_file_bytes */
} kith_filter_stats;

#define KITH_FILTER_STATS_INIT                                                                                         \
    { sizeof(kith_filter_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills in the statistics. Returns KITH_OK, KITH_E_BUSY, or KITH_E_STRUCT for a wrong struct_bytes. A program that
 * was compiled with an older header has a smaller struct_bytes; it is accepted, and only its fields are written. Cost:
 * a pass over the body; for cuckoo kinds about as long as looking up every key. */
KITH_API KITH_MUST_USE kith_status kith_filter_stats_of(const kith_filter *filter, kith_filter_stats *stats);

/* Returns the memory that the handle holds, in bytes: the handle itself, its block (unless that is a mapped file or a
 * view), and what the kind keeps in addition, such as layers in separate blocks. Takes constant time. */
KITH_API uint64_t kith_filter_memory(const kith_filter *filter);

/* Writes the values of the kind's options to `text`, in the form of spec.options, for example "b=4 f=12
 * alternate=halves insert=search max=500 start=random". kith_filter_kind_at() lists the options of a kind with their
 * meanings. Values that the planner chose are written as well. Works like snprintf(): writes at most text_bytes bytes
 * with the terminating zero, and returns the length of the whole text. */
KITH_API size_t kith_filter_options(const kith_filter *filter, char *text, size_t text_bytes);

/* Sets *value to the value of the kind's option of this name (for layers also of their inner kind), if it is a number.
 * Returns KITH_E_OPTION if there is no such option with a number. */
KITH_API KITH_MUST_USE kith_status kith_filter_option(const kith_filter *filter, const char *name, uint64_t *value);

/* Fills in the plan of an existing filter, as kith_filter_plan() would. KITH_E_STRUCT: a wrong struct_bytes. */
KITH_API KITH_MUST_USE kith_status kith_filter_plan_of(const kith_filter *filter, kith_plan *plan);

/* Checks every invariant of the body, but not the checksums. Returns KITH_OK; KITH_E_CORRUPT, and sets *reason (may be
 * NULL) to a constant sentence about the first violation; or KITH_E_BUSY. Cost: a pass over the body. */
KITH_API KITH_MUST_USE kith_status kith_filter_check(const kith_filter *filter, const char **reason);

/* ---- recipe and notes ----
 *
 * A program that turns input into keys (lower case, trimmed, decoded from hex) must do the same whenever it uses the
 * filter, or its keys are not found. The recipe is a number below 2^48 that records how; 0 means that keys are the
 * bytes that were given. The library stores the recipe in the header, but merge, intersect and subset return
 * KITH_E_MISMATCH for filters of different recipes. Bits 6 and 7 are the type of the keys (kith/keys.h). For the other
 * bits see docs/format.md, which lists the recipes of the kith tool; the library never interprets them.
 *
 * Notes are pairs of strings for anything else worth keeping with the filter, such as where the keys came from. They
 * are part of the block, with their own checksum, and are verified even by a lazy open. */

/* Returns the recipe that the filter was created with. */
KITH_API uint64_t kith_filter_recipe(const kith_filter *filter);

/* Return the number of notes, and note `index` (0 … count - 1). Strings are valid until the filter is changed,
 * relocated or freed, or kith_filter_bytes() joins its layers. */
KITH_API size_t kith_filter_note_count(const kith_filter *filter);
KITH_API kith_note kith_filter_note_at(const kith_filter *filter, size_t index);

/* Returns the value of the note with this name, or NULL if there is none. */
KITH_API const char *kith_filter_note(const kith_filter *filter, const char *name);

/* Replaces all notes. Returns KITH_E_NOTE for an empty name or two equal names, KITH_E_NOTES for more than 64 notes or
 * 65,536 bytes, or KITH_E_MEMORY. Cost: a copy of the whole filter, so put notes that are known beforehand into the
 * spec of kith_filter_create(). */
KITH_API KITH_MUST_USE kith_status kith_filter_set_notes(kith_filter *filter, const kith_note *notes, size_t count);

#ifdef __cplusplus
}
#endif
#endif
