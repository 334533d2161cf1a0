/* Tests that copies() of the cuckoo kinds, which compares whole words, returns what a loop over the candidate slots and
 * the stash counts: for every width of slots, and so for every way to divide a place into words. */
#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_stash.h"
#include "kinds/cuckoo/lookup.h"
#include "kinds/overlap/lookup.h"
#include "handle/handle.h"
#include "kinds/registry.h"
#include "handle/verbs.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { HALF = 8, STASH = 3, POOL = 24, OTHERS = 200 };

typedef struct layout {
    const kithi_cf_layout *functions;
    uint16_t kind_id;
    unsigned b; /* 0: windows */
    unsigned alternate;
    unsigned regions;
} layout;

static const layout LAYOUTS[] = {
    {&kithi_overlap_layout, KITHI_OVERLAP_ID, 0, 0, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 1, KITHI_CUCKOO_HALVES, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 2, KITHI_CUCKOO_HALVES, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 4, KITHI_CUCKOO_HALVES, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 8, KITHI_CUCKOO_HALVES, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 1, KITHI_CUCKOO_SIMPLE, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 4, KITHI_CUCKOO_SIMPLE, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 8, KITHI_CUCKOO_SIMPLE, 3},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 2, KITHI_CUCKOO_XOR, 1},
    {&kithi_cuckoo_layout, KITHI_CUCKOO_ID, 8, KITHI_CUCKOO_XOR, 1},
};

static kith_filter *new_filter(const layout *l, unsigned slot_bits) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kithi_head head = {.kind_id = l->kind_id, .capacity = 10000, .rate = .5};
    kithi_shape shape;
    head.params[KITHI_PARAM_SLOT_BITS] = slot_bits;
    head.params[KITHI_PARAM_HALF] = HALF;
    head.params[KITHI_PARAM_REGIONS] = l->regions;
    head.params[KITHI_PARAM_BUCKET_SLOTS] = l->b;
    head.params[KITHI_PARAM_ALTERNATE] = l->alternate;
    head.params[KITHI_PARAM_STASH] = STASH;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
    head.body_bytes = shape.body_bytes;
    kith_filter *f;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &f));
    return f;
}

/* Counts the copies slot by slot. */
static uint64_t counted(const layout *l, const kith_filter *f, uint64_t digest) {
    kithi_candidates candidates;
    const uint8_t *region = kithi_cf_locate(l->functions, f, digest, &candidates);
    const kithi_cf_geometry *g = &f->geometry.cf;
    uint64_t copies = kithi_cf_matches(f, region, &candidates);
    if (copies > 0)
        copies += kithi_stash_count(g, region, kithi_stash_entry(l->functions, g, &candidates));
    return copies;
}

/* What was compared, so that the test fails if it missed something. */
static struct {
    uint64_t several; /* keys with more than one copy */
    uint64_t stashed; /* filters with entries in stashes */
    uint64_t forms;   /* bit i: a filter of form i */
} seen;

static void compare(const layout *l, const kith_filter *f, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t wanted = counted(l, f, digests[i]), got = kithi_copies(f, digests[i]);
        if (got != wanted)
            CHECK_FAIL("%s, %s, b=%u, alternate %u, slots of %u bits: %llu copies instead of %llu", kith_cpu(),
                       f->kind->info.name, l->b, l->alternate, (unsigned)f->geometry.cf.slot_bits,
                       (unsigned long long)got, (unsigned long long)wanted);
        seen.several += wanted > 1;
    }
}

/* Adds few keys many times, until POOL / 2 adds were refused. Then removes them again, and
 * compares in between. */
static void fill_and_empty(const layout *l, unsigned slot_bits) {
    kith_filter *f = new_filter(l, slot_bits);
    kithi_prng prng = {100 * (uint64_t)slot_bits + (uint64_t)(l - LAYOUTS)};
    uint64_t digests[POOL + OTHERS];
    for (size_t i = 0; i < LENGTH(digests); i++)
        digests[i] = kithi_prng_next(&prng);
    for (unsigned refused = 0; refused < POOL / 2;) {
        kith_status status = kith_filter_add_digest(f, digests[kithi_prng_below(&prng, POOL)], NULL);
        CHECK(status == KITH_OK || status == KITH_E_COPIES || status == KITH_E_FULL);
        refused += status != KITH_OK;
        if (kith_filter_count(f) % 8 == 0)
            compare(l, f, digests, POOL);
    }
    compare(l, f, digests, LENGTH(digests));
    seen.stashed += f->head.fill != 0;
    seen.forms |= UINT64_C(1) << f->geometry.cf.form;
    for (size_t i = 0; kith_filter_count(f) > 0; i = (i + 1) % POOL) {
        kith_status status = kith_filter_remove_digest(f, digests[i]);
        CHECK(status == KITH_OK || status == KITH_E_ABSENT);
        compare(l, f, digests, POOL);
    }
    kith_filter_free(f);
}

TEST(copies_are_those_that_a_loop_over_the_slots_counts) {
    for (size_t cpu = 0; kith_cpu_name(cpu) != NULL; cpu++) {
        if (kith_cpu_use(kith_cpu_name(cpu)) != KITH_OK)
            continue;
        memset(&seen, 0, sizeof seen);
        for (size_t i = 0; i < LENGTH(LAYOUTS); i++) {
            unsigned least = LAYOUTS[i].b == 0 ? KITHI_OVERLAP_SLOT_BITS_MIN : KITHI_CUCKOO_SLOT_BITS_MIN;
            for (unsigned bits = least; bits <= KITHI_SLOT_BITS_MAX; bits++)
                fill_and_empty(&LAYOUTS[i], bits);
        }
        CHECK(seen.several > 10000 && seen.stashed > 100);
        CHECK_EQ_U64(seen.forms,
                     1 << KITHI_ONE_WORD | 1 << KITHI_TWO_WORDS | 1 << KITHI_TWO_LONG_WORDS | 1 << KITHI_ANY_WORDS);
    }
    CHECK_OK(kith_cpu_use("auto"));
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
