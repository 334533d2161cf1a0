/* kith/status.h: what a call that can fail answers.
 *
 * Every such call returns a kith_status; 0 (KITH_OK) is success, and any other answer means that the object, and any
 * file, is exactly as it was before the call. Results come through the last argument and are written on success only,
 * unless the call says otherwise.
 *
 * Statuses report bad data and failures of the system, not programming errors. Passing NULL where a call takes a
 * handle, a spec, a path or a place for a result is a programming error, unless the call says that NULL is fine: a
 * library built with assertions stops there, and one built without them (NDEBUG, as shipped) crashes or worse. */
#ifndef KITH_STATUS_H
#define KITH_STATUS_H

#include <kith/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of codes: number, name, sentence. Numbers are never reused. */
#define KITH_STATUS_LIST(X)                                                                                            \
    X(0, OK, "done")                                                                                                   \
    X(1, E_ARGUMENT,                                                                                                   \
      "invalid argument: an unknown flag or name, a wrong struct size, a malformed hash, a filter combined with "      \
      "itself, or not exactly two of capacity, rate and bytes")                                                        \
    X(2, E_KIND, "there is no kind of that name or number here, or none that can do all that is asked")                \
    X(3, E_OPTION, "an option is unknown to this kind, given twice, or its value is out of range")                     \
    X(4, E_CAPACITY, "the capacity must be at least one key")                                                          \
    X(5, E_RATE, "the rate must lie between 0 and 1, both excluded")                                                   \
    X(6, E_TOO_LARGE, "it would pass the byte cap given, or what this machine can address")                            \
    X(7, E_TOO_SMALL, "no filter of this kind fits so few bytes")                                                      \
    X(8, E_DIGEST_BITS, "64-bit digests cannot carry so many keys at so low a rate")                                   \
    X(9, E_MEMORY, "no memory")                                                                                        \
    X(10, E_RANDOM, "the system gave no random bytes for a key")                                                       \
    X(11, E_FULL, "there is no room for another key: capacity is reached; nothing was added")                          \
    X(12, E_COPIES, "this key has as many copies as the filter keeps; nothing was added")                              \
    X(13, E_ABSENT, "the key is not in; nothing was removed")                                                          \
    X(14, E_AMBIGUOUS, "more than one layer may hold this key; removing it could lose another, so nothing was done")   \
    X(15, E_UNSUPPORTED, "this kind of filter cannot do that")                                                         \
    X(16, E_MISMATCH, "the two filters differ in kind, size, hash, seed, secret key or key recipe")                    \
    X(17, E_READONLY, "it is open for reading only")                                                                   \
    X(18, E_BUSY, "the filter has shared adders open")                                                                 \
    X(19, E_EMPTY, "the file is empty")                                                                                \
    X(20, E_NOT_KITH, "not a kith file: it does not begin with kith's signature")                                      \
    X(21, E_VERSION, "the file was written in a format version that this library does not know")                       \
    X(22, E_TRUNCATED, "the file is shorter than its header says")                                                     \
    X(23, E_TRAILING, "the file is longer than its header says")                                                       \
    X(24, E_CORRUPT, "the file is damaged: a checksum, a size or an invariant does not hold")                          \
    X(25, E_NO_FILE, "no such file or folder")                                                                         \
    X(26, E_PERMISSION, "permission denied")                                                                           \
    X(27, E_NO_SPACE, "no space left for the file; what was there before is intact")                                   \
    X(28, E_IO, "the system reported an input/output error (errno tells which)")                                       \
    X(29, E_KEY, "the key has a size that this table does not take, or lies outside its universe")

typedef enum kith_status {
#define KITH_STATUS_ENUM(number, name, sentence) KITH_##name = number,
    KITH_STATUS_LIST(KITH_STATUS_ENUM)
#undef KITH_STATUS_ENUM
} kith_status;

/* "KITH_E_FULL" and the like; "KITH_E_?" for a number that is no status. Never NULL. */
KITH_API const char *kith_status_name(kith_status status);

/* The sentence of the list above. Never NULL. */
KITH_API const char *kith_status_text(kith_status status);

#ifdef __cplusplus
}
#endif
#endif
