/* filters.h: what the commands need to know about filters: their hash, memory, capabilities, and whether two of them
 * can be combined. */
#ifndef CLI_FILTERS_H
#define CLI_FILTERS_H

#include <stdnoreturn.h>

#include <kith/filter.h>

#include "cli/options.h"

/* Returns the hash that --seed, --untrusted and --key-file select. */
kith_hash hash_asked(const arguments *a);

/* Reads at most the first byte_count bytes of a file, and returns how many there are. */
size_t read_start(const char *path, char *bytes, size_t byte_count);

typedef char reason_text[512];

/* Returns whether `needed` bytes are within the memory limit. If not, `reason` is what to say after the name of the
 * file. */
bool memory_suffices(const arguments *a, uint64_t needed, reason_text reason);

/* Ends the tool unless `needed` bytes are within the memory limit. */
void memory_check(const arguments *a, uint64_t needed, const char *what_for);

/* Limits the growth of a filter to the memory limit minus `held` bytes that are used for something else. */
void filter_limit(kith_filter *filter, const arguments *a, uint64_t held);

/* Ends the tool after an add returned KITH_E_TOO_LARGE, because the filter would have grown beyond that limit. */
noreturn void fail_growth(const arguments *a, const char *name);

/* Returns the plan of a filter: its rate and size. Unlike the statistics, which have both as well, it does not read the
 * body. */
kith_plan plan_must(const char *path, const kith_filter *filter);

/* Ends the tool unless two filters can be combined by a command that needs `capability`. The error names the first
 * difference. */
void filters_check_alike(const char *verb, uint32_t capability, const char *path_a, const kith_filter *a,
                         const char *path_b, const kith_filter *b);

/* Writes the names of the capability bits into `text`, separated by `between`: "remove copies merge". */
typedef char capability_text[96];
const char *text_of_capabilities(uint32_t capabilities, const char *between, capability_text text);

/* The same, separated by blanks, for "can" in text and in JSON: "static" if there are none. */
const char *text_of_abilities(uint32_t capabilities, capability_text text);

/* Ends the tool with an error if keys cannot be added to this filter: its kind is static. */
void filter_check_adds(const char *path, const kith_filter *filter);

#endif
