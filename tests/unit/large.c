/* Tests of filters of more than 2^32 bits, counters or slots, in memory of which only the touched pages exist.
 *
 * 150,000 keys are added, 10^7 in the soak tier, and all of them must be found. The number of touched cells above the
 * 2^32-th must also match the layout: code that computes a place in 32 bits finds its keys again in the wrong place, so
 * has() alone proves nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_kinds.h"
#include "kinds/kind.h"
#include "folder.h"
#include "probe_word.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define FOUR_G (UINT64_C(1) << 32)

enum { KEYS_FEW = 150000, KEYS_SOAK = 10000000, PROBES = 300000 };

static void *sparse_allocate(void *context, size_t bytes, size_t alignment) {
    (void)context, (void)alignment; /* a page */
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    (void)madvise(map, bytes, MADV_NOHUGEPAGE); /* a touched byte costs 4 KiB, not 2 MiB */
    return map;
}

static void sparse_release(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)munmap(memory, bytes);
}

static const kith_allocator SPARSE = {sparse_allocate, sparse_release, NULL};

static uint64_t keys[KEYS_SOAK];
static size_t key_count;
static uint64_t probes[PROBES];

/* A third of the digests is anywhere, a third in the upper half of all digests, and a third in its last sixteenth:
 * places depend on the high bits of the digest. */
static void draw_keys(void) {
    kithi_prng prng = {32};
    key_count = check_soak() && !UNDER_SANITIZER ? KEYS_SOAK : KEYS_FEW;
    for (size_t i = 0; i < key_count; i++) {
        uint64_t digest = kithi_prng_next(&prng);
        keys[i] = i % 3 == 0 ? digest : i % 3 == 1 ? digest | UINT64_C(1) << 63 : digest | UINT64_C(15) << 60;
    }
    for (size_t i = 0; i < PROBES; i++)
        probes[i] = kithi_prng_next(&prng);
}

/* Returns the number of nonzero cells from the 2^32-th on. They are at most 8 bits wide here; a cell across the border
 * is not counted. Reads a few hundred megabytes of zero pages. */
static uint64_t cells_used_above(const kith_filter *f) {
    unsigned width = f->shape.cell_bits;
    uint64_t first_byte = FOUR_G / 8 * width, used = 0;
    if (width == 1 || width == 4) {
        for (uint64_t at = first_byte; at < f->head.body_bytes; at += 8) {
            uint64_t x = kithi_load64(f->body + at);
            if (width == 4)
                x = (x | x >> 1 | x >> 2 | x >> 3) & UINT64_C(0x1111111111111111);
            used += x != 0 ? kithi_popcount(x) : 0;
        }
        return used;
    }
    CHECK(width == 3); /* overlap: count bytes, because a cell touches one or two */
    for (uint64_t at = first_byte; at < f->head.body_bytes; at++)
        used += f->body[at] != 0;
    return used;
}

/* The fraction of a key's cells above the 2^32-th cell, by the layouts in the files of the kinds. For kinds whose place
 * depends directly on the digest it is known for each key. */
static double marks_above(const kith_filter *f) {
    const uint64_t *p = f->head.params;
    double marks = 0;
    for (size_t i = 0; i < key_count; i++) {
        if (strncmp(f->kind->info.name, "blocked", strlen("blocked")) == 0) {
            marks += kithi_mulhi(keys[i], p[1]) * (512 / f->shape.cell_bits) >= FOUR_G ? (double)p[0] : 0;
        } else if (f->shape.fingerprint_bits == 0) { /* bloom, counting: one cell per slice, anywhere in it */
            for (uint64_t j = 0; j < p[0]; j++)
                marks += j * p[1] + kithi_mulhi(probe_word(keys[i], j), p[1]) >= FOUR_G;
        } else {
            uint64_t cell = kithi_mulhi(keys[i], p[KITHI_PARAM_REGIONS]);
            marks += (cell + 1) * (f->shape.cells / p[KITHI_PARAM_REGIONS]) > FOUR_G;
        }
    }
    return marks;
}

static void try_large(const char *kind, const char *options, uint64_t capacity, double rate, uint64_t bytes) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *f;
    size_t done = 0;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = capacity;
    spec.rate = rate;
    spec.bytes = bytes;
    spec.allocator = &SPARSE;
    kith_status status = kith_filter_create(&spec, &f);
    if (status == KITH_E_MEMORY)
        SKIP("not enough address space here");
    CHECK_OK(status);
    CHECK(f->shape.cells > FOUR_G && f->shape.cells < 2 * FOUR_G);
    CHECK_OK(kith_filter_add_many(f, keys, key_count, NULL, &done));
    CHECK_EQ_U64(done, key_count);
    CHECK_EQ_U64(kith_filter_has_many(f, keys, key_count, NULL), key_count);

    double above = marks_above(f), used = (double)cells_used_above(f);
    CHECK(above > (double)key_count / 20);
    /* Two keys rarely share a cell in so large a filter. Where the digest determines the place, a third of the keys is
     * in a sixteenth of the cells, and at most half of that density of marks is lost. Regions are padded to whole
     * lines, which moves the border slightly. A 3-bit slot touches up to two bytes. */
    double per_key = f->shape.fingerprint_bits == 0 ? (double)f->head.params[0] : 1;
    double shared = (double)key_count / 3 * per_key / ((double)f->shape.cells / 16) / 2;
    CHECK(shared < .1);
    if (f->shape.cell_bits == 3)
        CHECK(used > (.97 - shared) * above && used < 1.3 * above);
    else
        CHECK(used > (.97 - shared) * above && used <= 1.03 * above);

    double expected = f->kind->plan.expect(&f->head, key_count).rate;
    double yes = (double)kith_filter_has_many(f, probes, PROBES, NULL);
    /* Where the digest determines the place, the keys are clustered (see draw_keys): up to 16 times the expectation. */
    CHECK(yes <= 16 * expected * PROBES + 6 * sqrt(16 * expected * PROBES) + 3);

    if ((f->shape.capabilities & KITH_CAN_REMOVE) != 0) {
        for (size_t i = 0; i < key_count; i += 2)
            CHECK_OK(kith_filter_remove_many(f, &keys[i], 1, NULL));
        for (size_t i = 1; i < key_count; i += 2)
            CHECK(kith_filter_has_digest(f, keys[i]));
        CHECK_EQ_U64(kith_filter_count(f), key_count / 2);
    }
    printf("shows: %s of %" PRIu64 " cells of %u bits: %.0f cells in use above the 2^32-th, %.0f marks due there, "
           "all %zu keys found\n",
           kind, f->shape.cells, f->shape.cell_bits, used, above, key_count);
    kith_filter_free(f);
}

static void prepare(void) {
    if (SIZE_MAX <= UINT32_MAX)
        SKIP("32-bit addresses");
    draw_keys();
}

static uint64_t resident_kib(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss : 0;
}

TEST(bloom_of_more_than_2_to_the_32_bits_finds_all_its_keys) {
    prepare();
    try_large("bloom", "k=2", KEYS_SOAK, 0, UINT64_C(600) << 20);
    if (check_soak())
        try_large("bloom", NULL, 400000000, .005, 0);
}

TEST(blocked_of_more_than_2_to_the_32_bits_finds_all_its_keys) {
    prepare();
    try_large("blocked", NULL, 450000000, .01, 0);
    if (check_soak())
        try_large("blocked", "lanes=16", 200000000, .0001, 0);
}

TEST(counting_of_more_than_2_to_the_32_counters_finds_all_its_keys) {
    prepare();
    try_large("counting", "k=2", KEYS_SOAK, 0, UINT64_C(2300) << 20);
}

TEST(blocked_counting_of_more_than_2_to_the_32_counters_finds_all_its_keys) {
    prepare();
    try_large("blocked_counting", NULL, 400000000, .01, 0);
}

TEST(cuckoo_of_more_than_2_to_the_32_slots_finds_all_its_keys) {
    prepare();
    try_large("cuckoo", "f=4", UINT64_C(4500000000), .6, 0);
}

TEST(overlap_of_more_than_2_to_the_32_slots_finds_all_its_keys) {
    prepare();
    try_large("overlap", "f=2", UINT64_C(2300000000), .8, 0);
}

/* In the soak tier every page of a filter is touched. The largest, counting, has 2,300 MiB. */
TEST(all_tests_together_touched_little_memory) {
    if (SIZE_MAX <= UINT32_MAX || UNDER_SANITIZER)
        SKIP("no such memory, or a sanitizer uses memory, too");
    uint64_t mib = resident_kib() >> 10, most = check_soak() ? 2600 : 2048;
    printf("at most %" PRIu64 " MiB resident\n", mib);
    CHECK(mib < most);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
