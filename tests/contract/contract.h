/* contract.h: helpers for the contract checks.
 *
 * A check is a function named in checks.def. It states one promise of <kith/filter.h> and tests it for every registered
 * kind, with its default options and with single options changed (a variant). Checks do not name kinds: they read a
 * kind's option list, capabilities and plan, so a new line in kinds.def is covered immediately.
 *
 * Each check runs in a separate process. A failed CHECK prints where and what failed, and with which variant, size and
 * seed (the note), and ends that process. A crash fails only that check. All random numbers come from fixed seeds. */
#ifndef KITH_TESTS_CONTRACT_H
#define KITH_TESTS_CONTRACT_H

#define CHECK(name) void name(void);
#include "contract/checks.def"
#undef CHECK

#include "check.h"

#include <kith/kith.h>

/* check.h ends a test with a jump within one file. These checks are in several files and end their process instead. */
#undef CHECK_FAIL
#define CHECK_FAIL(...) contract_fail(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void contract_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets the circumstances that a failure prints. */
void contract_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note_seed(uint64_t seed);

/* Returns how many operations to do: more in the soak tier, fewer under a sanitizer or with a planted fault. */
uint64_t scaled(uint64_t operations);

/* Silences warn_unused_result where any result is fine. */
static inline void ignore_status(kith_status status) {
    (void)status;
}

/* ---- variants ---- */

typedef struct variant {
    const char *kind;
    char options[64]; /* "" for the default */
} variant;

/* Returns the next of all variants, or of the default variants; NULL after the last. Start with NULL. */
const variant *next_variant(const variant *v);
const variant *next_default(const variant *v);
#define EACH_VARIANT(v) for (const variant *v = next_variant(NULL); v != NULL; v = next_variant(v))
#define EACH_DEFAULT(v) for (const variant *v = next_default(NULL); v != NULL; v = next_default(v))

/* For a planted fault: uses only the first kind that has all of these capabilities, with default options and few
 * operations. With is_static only a static kind. Returns false if there is no such kind. */
bool contract_restrict(uint32_t capabilities, bool is_static);

/* Makes the spec and the plan of a variant. Returns true if there is a plan, its keys fit (failure below 10^-6) and it
 * is not huge. A default variant must have such a plan; others may be refused. */
bool planned(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan);

/* Like planned(), for checks where keys that do not fit do no harm. */
bool planned_at_all(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan);

/* Like planned(), for checks that add keys one after the other. False for a static kind as well. */
bool planned_for_adds(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan);

static inline bool can(const kith_plan *plan, uint32_t capabilities) {
    return (plan->capabilities & capabilities) == capabilities;
}

/* ---- keys ----
 *
 * Stream `seed` has one digest (and one key) for each place. The digests of a stream are distinct. Added keys use the
 * places 0, 1, …, absent keys those from ABSENT on. */

#define ABSENT (UINT64_C(1) << 40)

uint64_t digest_at(uint64_t seed, uint64_t place);
uint64_t *digests_from(uint64_t seed, uint64_t place, size_t n); /* the caller frees them */

typedef struct key {
    uint8_t bytes[8];
} key;

key key_at(uint64_t seed, uint64_t place);

/* Returns a random number in [0, range). */
uint64_t draw(uint64_t *state, uint64_t range);

/* ---- filters ---- */

/* These add the keys one after the other, or build the filter if its kind is static. */
kith_filter *created(const kith_filter_spec *spec);
kith_filter *filled(const kith_filter_spec *spec, uint64_t seed, uint64_t place, size_t n); /* adds digests */
kith_filter *keyed(const kith_filter_spec *spec, uint64_t seed, uint64_t place, size_t n);  /* adds keys */
kith_filter *filled_with(const kith_filter_spec *spec, const uint64_t *digests, size_t n);
void fill_filter(kith_filter *f, uint64_t seed, uint64_t place, size_t n); /* adds digests, which must succeed */
kith_filter *cloned(const kith_filter *from);
kith_filter *viewed(const void *bytes, size_t byte_count, unsigned flags);

bool has_digest(const kith_filter *f, uint64_t digest);
kith_status add_digest(kith_filter *f, uint64_t digest);
/* Returns for how many of the keys `place` … of a stream has() is true. */
size_t yes_among(const kith_filter *f, uint64_t seed, uint64_t place, size_t n);
kith_filter_stats stats_of(const kith_filter *f);

/* ---- bytes ---- */

typedef struct snapshot {
    uint8_t *bytes;
    size_t byte_count;
} snapshot;

snapshot snapshot_of(kith_filter *f);
bool same_bytes(kith_filter *f, const snapshot *s);
bool same_body(kith_filter *a, kith_filter *b); /* everything except header and checksums */
bool equal_filters(kith_filter *a, kith_filter *b);
void snapshot_free(snapshot *s);

/* Returns the path of a file in a folder that is removed after the check. The string is valid until the fourth call
 * after this one. */
const char *file_named(const char *name);
snapshot file_bytes(const char *path);
void write_file(const char *path, const void *bytes, size_t byte_count);

/* byte_count bytes of memory between two inaccessible pages, either directly after the first page or directly before
 * the second. */
typedef struct guarded {
    uint8_t *pages;
    size_t page_bytes;
    uint8_t *at_start, *at_end;
} guarded;

guarded guarded_room(size_t byte_count);
void guarded_free(guarded *g);

/* ---- memory ---- */

/* An allocator that counts, fails on request, and detects a release with a size other than the allocated one. */
typedef struct test_memory {
    kith_allocator allocator;
    uint64_t calls;
    uint64_t fail_at;  /* the allocation that fails, counted from arming; 0: none */
    bool keep_failing; /* all later ones fail, too */
    uint64_t failures;
    uint64_t live_bytes, live_blocks;
    size_t largest;
} test_memory;

void memory_init(test_memory *m);
void memory_arm(test_memory *m, uint64_t fail_at, bool keep_failing);
void memory_disarm(test_memory *m);

#endif
