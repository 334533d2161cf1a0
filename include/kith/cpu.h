/* kith/cpu.h: choose the instruction set that filters use.
 *
 * These calls have versions for some of the instruction sets below: lookups, adds, removals and merges of filters; the
 * build of a ribbon filter; kith_filter_stats_of(); and, with SipHash, kith_digest_many() and kith_digest_packed(). If
 * there is no version for the processor, they run portable code, as all other calls do. The library chooses the best
 * instruction set that the processor supports when it first needs one. Results and the bytes of filters do not depend
 * on this choice, so the calls of this header are only for tests and measurements. */
#ifndef KITH_CPU_H
#define KITH_CPU_H

#include <kith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the instruction set in use: "portable" (none in particular), "avx2", "avx512" or "neon". */
KITH_API const char *kith_cpu(void);

/* Returns the name of instruction set number `index` (0, 1, …), or NULL if there is no such number. The list has all
 * instruction sets that this version of the library knows, even those that this processor does not support. */
KITH_API const char *kith_cpu_name(size_t index);

/* Selects an instruction set by name, or the best one with "auto". The choice applies to all threads: to digests that
 * are computed after this call, and to filters that are created or opened after it. Lookups, adds and removals in an
 * existing filter keep the instruction set that it was created or opened with.
 *
 * Returns KITH_OK, or
 *   KITH_E_ARGUMENT     there is no instruction set of this name
 *   KITH_E_UNSUPPORTED  this processor, or this build of the library, does not support it */
KITH_API KITH_MUST_USE kith_status kith_cpu_use(const char *name);

#ifdef __cplusplus
}
#endif
#endif
