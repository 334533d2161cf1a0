/* B17: deleting a key by rebuilding the filter without it.
 *
 * [2] says that with a classic Bloom filter the only way to delete an element is to rebuild the whole bit array without
 * it. So a filter of n keys is rebuilt from n - 1 of them. It must be, bit for bit, a filter that never held the key.
 * No other key is lost, and the deleted key is found only with the false positive rate. Clearing the bits of the key
 * instead is counted next to it (see B11): that loses keys. The price of rebuilding is that all other keys are added
 * again, k(n - 1) bits for one deletion, where a counting filter decrements k counters. */
#include "bloom.h"

static bool same_bits(const kith_filter *a, const kith_filter *b, uint64_t cells) {
    for (uint64_t i = 0; i < cells; i++)
        if (kith_filter_cell(a, i) != kith_filter_cell(b, i))
            return false;
    return true;
}

/* The keys that a filter loses if the bits of key 0 are cleared: those with a bit that is not set any more. A lookup of
 * key 0 gives its bits, a lookup of another key the bits of that one. */
typedef struct bit_list {
    uint64_t bits[64];
    unsigned count;
} bit_list;

static void record(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    bit_list *list = context;
    (void)holds, (void)wanted;
    if (list->count < 64)
        list->bits[list->count++] = cell;
}

static uint64_t lost_by_clearing(lab *l, const kith_filter *f, uint64_t n) {
    bit_list cleared = {.count = 0};
    uint64_t digest, lost = 0;
    lab_digests(l, f, 0, 1, &digest);
    (void)kith_filter_look(f, digest, record, &cleared);
    for (uint64_t i = 1; i < n; i++) {
        bit_list own = {.count = 0};
        bool shares = false;
        lab_digests(l, f, i, 1, &digest);
        (void)kith_filter_look(f, digest, record, &own);
        for (unsigned a = 0; a < own.count; a++)
            for (unsigned b = 0; b < cleared.count; b++)
                shares |= own.bits[a] == cleared.bits[b];
        lost += shares;
    }
    return lost;
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), different = 0, lost = 0, still = 0;
    bloom_shape shape = bloom_half_full(n, (unsigned)lab_number(l, "k"));
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "k", shape.k);
    bloom_parameter(l, "filters", filters);
    lab_sample cleared = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *all = bloom_of(l, shape), *never = bloom_like(l, all), *rebuilt = bloom_like(l, all);
        lab_fill(l, all, 0, n);
        lab_fill(l, never, 1, n - 1);
        if (i % 8 == 0)
            lab_sample_add(&cleared, (double)lost_by_clearing(l, all, n));
        for (uint64_t key = n; key-- > 1;) /* in another order */
            lab_fill(l, rebuilt, key, 1);
        different += !same_bits(rebuilt, never, (uint64_t)bloom_bits(shape));
        lost += n - 1 - lab_count_found(l, rebuilt, 1, n - 1);
        still += lab_count_found(l, rebuilt, 0, 1);
        lab_drop(l, rebuilt);
        lab_drop(l, never);
        lab_drop(l, all);
        bloom_progress(l, (bloom_share){0, 1}, i, filters);
    }
    shape.n--;
    double slice = (double)shape.slice, by_one = bloom_zero(slice, 1); /* a key avoids one of the cleared bits */
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)lost), "rebuilt: other keys not found, of %llu",
             (unsigned long long)(filters * (n - 1)));
    lab_find_stated(l, LAB_MUST,
                    "[2]: \"the only way to delete an element is to rebuild the whole bit array again, without that "
                    "element\"",
                    LAB_EQUALS, 0, lab_exact((double)different),
                    "rebuilt filters that differ from one that never held the key, of %llu",
                    (unsigned long long)filters);
    lab_find(l, LAB_EQUALS, bloom_rate(shape), lab_share(still, filters),
             "rebuilt: share of filters that still find the deleted key: the false positive rate");
    lab_find(l, LAB_EQUALS, (double)(n - 1) * (1 - pow(by_one, shape.k)), lab_mean(&cleared),
             "cleared instead: other keys lost by one deletion");
    lab_find(l, LAB_SHOWN, 0, lab_exact((double)(n - 1)),
             "bits written by rebuilding / counters decremented by a counting filter, for one deletion");
}

const lab_claim lab_B17 = {
    .id = "B17",
    .title = "deleting a key by rebuilding",
    .sentence =
        "A Bloom filter that is rebuilt without a key is bit for bit one that never held it: no other key is lost, "
        "and the key is found only with the false positive rate. One deletion then costs n − 1 additions.",
    .formula = "k(n − 1) bits",
    .code = "src/kinds/bloom/bloom.c",
    .decides = "rebuilt filters that differ",
    .settings = {LAB_SIZE("n", 100, 200, 8, 1e5, "keys of each filter"),
                 LAB_SIZE("filters", 3000, 40000, 240, 1e7, "filters"),
                 LAB_WHOLE("k", "7", 1, 30, 1, 20, "hashes per key")},
    .run = run,
};
