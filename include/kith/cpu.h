/* kith/cpu.h: the instructions that batches are made of.
 *
 * kith_filter_has, has_many, add_many and remove_many come in a version for each instruction set below; the best that this
 * processor has is taken at the first call. Answers and bytes are the same with each: choosing is for tests and
 * measurements. */
#ifndef KITH_CPU_H
#define KITH_CPU_H

#include <kith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The set in use: "portable", "avx2", "avx512" or "neon". */
KITH_API const char *kith_cpu(void);

/* All names that this version knows, for index 0, 1, …; NULL past the last. */
KITH_API const char *kith_cpu_name(size_t index);

/* Takes the set of that name, or, for "auto", the best there is; in all threads, from their next call on.
 * KITH_E_ARGUMENT: no such name; KITH_E_UNSUPPORTED: this processor or this build of the library does not have it. */
KITH_API KITH_MUST_USE kith_status kith_cpu_use(const char *name);

#ifdef __cplusplus
}
#endif
#endif
