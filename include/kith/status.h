/* kith/status.h: the status codes.
 *
 * Every call that can fail returns a kith_status. 0 (KITH_OK) is success. After any other status the object and any
 * file are exactly as they were before the call, with these exceptions:
 *
 *   - Calls for many keys (_many, kith_builder_add_keys) keep the keys before the one that failed.
 *   - If the last step of a save fails, the sync of the folder, the new file may be in place already
 *     (kith_filter_save).
 *   - After a failed kith_builder_finish(), and after some failures of kith_builder_each(), no digests can be added.
 *   - A call for a file with a journal may have changed it, and may make the handle read-only (see kith/file.h). It
 *     loses nothing that was acknowledged as durable.
 *
 * Results are returned through the last arguments, and are written only on success, unless the description of the call
 * says otherwise.
 *
 * A status reports bad data or a failure of the system, not a programming error. It is a programming error to pass
 * NULL for an object, a spec (the struct that describes what to create), a path or a pointer to a result, unless the
 * description of the call allows it. A library built with assertions then aborts. In one built without them (NDEBUG, as
 * shipped) the behaviour is undefined.
 *
 * Words in the texts below:
 *     kind         a sort of filter or table, such as "bloom" or "cuckoo"; filter.h and table.h list them
 *     static kind  a kind whose filters are built from a complete list of keys, and cannot be changed
 *     layer        one of the filters in a filter that grows (kind "layers")
 *     adder        a handle with which one of several threads adds keys to a filter (kith_adder_open)
 *     key recipe   a number that says how a program turns its input into keys (kith_filter_recipe)
 *     universe     the integers 0 … universe - 1, which are the possible keys of a table of kind "bitset" */
#ifndef KITH_STATUS_H
#define KITH_STATUS_H

#include <kith/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All codes, with number, name (without the prefix KITH_) and text. Numbers are never reused. */
#define KITH_STATUS_LIST(X)                                                                                            \
    X(0, OK, "done")                                                                                                   \
    X(1, E_ARGUMENT, "invalid argument: an unknown flag, mode or name")                                                \
    X(2, E_KIND,                                                                                                       \
      "unknown kind, a table instead of a filter or the reverse, or no kind has all the capabilities that are needed") \
    X(3, E_OPTION, "this kind does not have this option")                                                              \
    X(4, E_CAPACITY, "the capacity must be at least one key")                                                          \
    X(5, E_RATE, "the rate must be greater than 0 and less than 1")                                                    \
    X(6, E_TOO_LARGE, "it would be larger than the number of bytes that is allowed")                                   \
    X(7, E_TOO_SMALL, "no filter of this kind fits into this number of bytes")                                         \
    X(8, E_DIGEST_BITS, "64-bit digests are too short for this many keys at this rate")                                \
    X(9, E_MEMORY, "out of memory")                                                                                    \
    X(10, E_RANDOM, "cannot read random bytes from the system")                                                        \
    X(11, E_FULL,                                                                                                      \
      "full: the capacity is reached, there is no free slot for this key, or a static filter cannot be built from "    \
      "these "                                                                                                         \
      "keys; nothing was added")                                                                                       \
    X(12, E_COPIES, "the filter stores no more copies of this key; nothing was added")                                 \
    X(13, E_ABSENT, "the key is not in the set; nothing was removed")                                                  \
    X(14, E_AMBIGUOUS,                                                                                                 \
      "more than one layer may contain this key; removing it could remove another key; nothing was removed")           \
    X(15, E_UNSUPPORTED,                                                                                               \
      "this kind, this builder or this processor cannot do that (a static kind can only be built from a complete "     \
      "list of keys)")                                                                                                 \
    X(16, E_MISMATCH,                                                                                                  \
      "the two filters differ in kind, options, size, capacity, rate, hash, seed, secret key or key recipe")           \
    X(17, E_READONLY, "the object is read-only")                                                                       \
    X(18, E_BUSY, "the filter has open adders, or the store an open batch")                                            \
    X(19, E_EMPTY, "the file is empty")                                                                                \
    X(20, E_NOT_KITH, "not a kith file: it does not begin with kith's signature")                                      \
    X(21, E_VERSION, "the file was written in a format version that this library does not know")                       \
    X(22, E_TRUNCATED, "the file is shorter than its header says")                                                     \
    X(23, E_TRAILING, "the file is longer than its header says")                                                       \
    X(24, E_CORRUPT, "the file is damaged: a checksum, a size or an invariant is wrong")                               \
    X(25, E_NO_FILE, "no such file or folder")                                                                         \
    X(26, E_PERMISSION, "permission denied")                                                                           \
    X(27, E_NO_SPACE, "no space left for the file; an existing file is unchanged")                                     \
    X(28, E_IO, "input/output error (see errno)")                                                                      \
    X(29, E_KEY,                                                                                                       \
      "the key has the wrong size for this table, or is outside its universe, or a value was given to a bitset")       \
    X(30, E_CANCELLED, "cancelled by the caller")                                                                      \
    X(31, E_JOURNAL, "the file is a store, which is opened together with its journal (kith_file_open)")                \
    X(32, E_LOCKED, "another process or handle has the store open for writing")                                        \
    X(33, E_NOT_STORE, "the file is a plain filter, not a store")                                                      \
    X(34, E_REPLACED,                                                                                                  \
      "another program has replaced, changed or removed the file or its lock since it was opened; nothing was "        \
      "written")                                                                                                       \
    X(35, E_EXISTS, "the file exists already; it is unchanged")                                                        \
    X(36, E_LOCK,                                                                                                      \
      "the file cannot be locked: the lock file cannot be opened, is not a lock file, or there are no locks")          \
    X(37, E_STRUCT, "a struct was not initialised by its macro that ends in _INIT: its struct_bytes is wrong")         \
    X(38, E_HASH, "no such hash: unknown, or with a seed, a key or a number that it does not have")                    \
    X(39, E_SAME, "a filter cannot be combined with itself")                                                           \
    X(40, E_GIVEN, "two of capacity, rate and bytes must be given: not bytes alone, and not all three")                \
    X(41, E_RECIPE, "a key recipe has at most 48 bits")                                                                \
    X(42, E_NOTE, "each note needs a name of its own")                                                                 \
    X(43, E_NOTES, "there are at most 64 notes, in at most 65,536 bytes")                                              \
    X(44, E_RANGE, "the range of bytes ends after the last byte of the filter")                                        \
    X(45, E_ENDED, "the input of the builder has ended: no digests can be added")                                      \
    X(46, E_FOLDER, "a limit of memory needs a folder for temporary files")                                            \
    X(47, E_PARAMETERS, "no filter of this kind has these parameters")                                                 \
    X(48, E_ADDRESS, "it would be larger than anything that this machine can address")                                 \
    X(49, E_UNIVERSE, "the universe of a bitset must be at least its capacity, and at most what its keys can express") \
    X(50, E_FINGERPRINT, "the rate is too low for this kind: it has at most 32 fingerprint bits")                      \
    X(51, E_OPTION_TWICE, "an option is given twice")                                                                  \
    X(52, E_OPTION_VALUE, "the value of an option is missing or out of range")                                         \
    X(53, E_OPTION_KIND, "options belong to a kind, and no kind is given")                                             \
    X(54, E_OPTION_FIT, "an option contradicts another option or the rate")                                            \
    X(55, E_JOURNAL_MISSING, "the journal of the file is missing")                                                     \
    X(56, E_JOURNAL_FOREIGN, "the journal does not belong to the file, or is no journal")                              \
    X(57, E_KEY_TEXT, "not a key of this type: a decimal number without leading zeros, or a UUID")                     \
    X(58, E_KEY_RANGE, "the number is outside the range of this key type")

typedef enum kith_status {
#define KITH_STATUS_ENUM(number, name, sentence) KITH_##name = number,
    KITH_STATUS_LIST(KITH_STATUS_ENUM)
#undef KITH_STATUS_ENUM
} kith_status;

/* Returns the name of a status, such as "KITH_E_FULL", or "KITH_E_?" if there is no such status. Never NULL. */
KITH_API const char *kith_status_name(kith_status status);

/* Returns the text of a status from the list above, or another text if there is no such status. Never NULL. */
KITH_API const char *kith_status_text(kith_status status);

#ifdef __cplusplus
}
#endif
#endif
