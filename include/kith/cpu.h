/* kith/cpu.h: choose the instruction set that lookups and batches use.
 *
 * kith_filter_has(), has_many(), add_many() and remove_many() have a version for each instruction set below. The first
 * call selects the best one that the processor supports. Results and bytes do not depend on it, so a program need not
 * choose: these calls are for tests and measurements. */
#ifndef KITH_CPU_H
#define KITH_CPU_H

#include <kith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the instruction set in use: "portable", "avx2", "avx512" or "neon". */
KITH_API const char *kith_cpu(void);

/* Returns the name with this index, 0, 1, …, of all instruction sets that this version knows; NULL past the last. */
KITH_API const char *kith_cpu_name(size_t index);

/* Selects an instruction set by name, or the best one with "auto". It applies to all threads, from their next call on.
 *
 * Returns KITH_OK, or
 *   KITH_E_ARGUMENT     there is no instruction set of this name
 *   KITH_E_UNSUPPORTED  this processor, or this build of the library, does not support it */
KITH_API KITH_MUST_USE kith_status kith_cpu_use(const char *name);

#ifdef __cplusplus
}
#endif
#endif
