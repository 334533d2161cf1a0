/* contract.h: what the contract checks share.
 *
 * A check is a function named in checks.def. It states one promise of <kith/filter.h> and tries it over every kind of the
 * register, each with its default options and with single options changed (a variant). No check knows a kind by name:
 * it reads the kind's option list, its capabilities and its plan, so that a new line in kinds.def is covered at once.
 *
 * Each check runs in a process of its own. A failed CHECK says where, what, and with which variant, size and seed (the
 * note), and ends that process; a crash is a failure of that one check. Everything random comes from fixed seeds. */
#ifndef KITH_TESTS_CONTRACT_H
#define KITH_TESTS_CONTRACT_H

#define CHECK(name) void name(void);
#include "contract/checks.def"
#undef CHECK

#include "check.h"

#include <kith/kith.h>

/* check.h ends a test by a jump within one file; these checks are in many files and end their process. */
#undef CHECK_FAIL
#define CHECK_FAIL(...) contract_fail(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void contract_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What a failure will say of its circumstances. */
void contract_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note_seed(uint64_t seed);

/* Operations to make: more in the soak tier, fewer under a sanitizer or when a planted fault is to be seen quickly. */
uint64_t scaled(uint64_t operations);

/* Silences warn_unused_result where any answer will do. */
static inline void any_answer(kith_status status) {
    (void)status;
}

/* ---- variants ---- */

typedef struct variant {
    const char *kind;
    char options[64]; /* "" for the default */
} variant;

/* The next of all variants, or of the default ones; NULL past the last. Begin with NULL. */
const variant *next_variant(const variant *v);
const variant *next_default(const variant *v);
#define EACH_VARIANT(v) for (const variant *v = next_variant(NULL); v != NULL; v = next_variant(v))
#define EACH_DEFAULT(v) for (const variant *v = next_default(NULL); v != NULL; v = next_default(v))

/* For a planted fault: only the first kind that has all of these capabilities, in its default, with few operations.
 * False when there is none. */
bool contract_restrict(uint32_t capabilities);

/* The spec of a variant, and its plan. True when the plan is made, its keys fit (failure under 10^-6) and it is not
 * huge. A default variant must have such a plan; another may be refused. */
bool planned(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan);

/* The same for checks where keys that do not fit do no harm. */
bool planned_at_all(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan);

static inline bool can(const kith_plan *plan, uint32_t capabilities) {
    return (plan->capabilities & capabilities) == capabilities;
}

/* ---- keys ----
 *
 * Stream `seed` has one digest (and one key) for each place; digests of one stream are distinct. Keys that are in come
 * from the places 0, 1, …, those that are not from ABSENT on. */

#define ABSENT (UINT64_C(1) << 40)

uint64_t digest_at(uint64_t seed, uint64_t place);
uint64_t *digests_from(uint64_t seed, uint64_t place, size_t n); /* to be freed */

typedef struct key {
    uint8_t bytes[8];
} key;

key key_at(uint64_t seed, uint64_t place);

/* A draw from [0, range). */
uint64_t draw(uint64_t *state, uint64_t range);

/* ---- filters ---- */

kith_filter *created(const kith_filter_spec *spec);
kith_filter *filled(const kith_filter_spec *spec, uint64_t seed, uint64_t place, size_t n); /* adds digests */
kith_filter *keyed(const kith_filter_spec *spec, uint64_t seed, uint64_t place, size_t n);  /* adds keys */
kith_filter *cloned(const kith_filter *from);
kith_filter *viewed(const void *bytes, size_t byte_count, unsigned flags);

bool has_digest(const kith_filter *f, uint64_t digest);
kith_status add_digest(kith_filter *f, uint64_t digest);
/* Keys `place` … of a stream that are answered yes. */
size_t yes_among(const kith_filter *f, uint64_t seed, uint64_t place, size_t n);
kith_filter_stats stats_of(const kith_filter *f);

/* ---- bytes ---- */

typedef struct snapshot {
    uint8_t *bytes;
    size_t byte_count;
} snapshot;

snapshot snapshot_of(kith_filter *f);
bool same_bytes(kith_filter *f, const snapshot *s);
bool same_body(kith_filter *a, kith_filter *b); /* all but header and checksums */
bool equal_filters(kith_filter *a, kith_filter *b);
void snapshot_free(snapshot *s);

/* A file of this name in a folder that goes away after the check; the text lives until the fourth call after. */
const char *file_named(const char *name);
snapshot file_bytes(const char *path);
void write_file(const char *path, const void *bytes, size_t byte_count);

/* Memory between two pages that can't be touched: room for byte_count bytes that begin where the first guard ends, or
 * end where the second begins. */
typedef struct guarded {
    uint8_t *pages;
    size_t page_bytes;
    uint8_t *at_start, *at_end;
} guarded;

guarded guarded_room(size_t byte_count);
void guarded_free(guarded *g);

/* ---- memory ---- */

/* An allocator that counts, fails when told to, and notices a release with another size than the allocation. */
typedef struct test_memory {
    kith_allocator allocator;
    uint64_t calls;
    uint64_t fail_at;  /* this call since it was armed fails; 0: none */
    bool keep_failing; /* and all after it */
    uint64_t failures;
    uint64_t live_bytes, live_blocks;
    size_t largest;
} test_memory;

void memory_init(test_memory *m);
void memory_arm(test_memory *m, uint64_t fail_at, bool keep_failing);
void memory_disarm(test_memory *m);

#endif
