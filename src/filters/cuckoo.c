/* cuckoo: fingerprints in buckets (Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than
 * Bloom", 2014).
 *
 * A key has a fingerprint of f bits and two buckets of b slots in its region, each computable from the other and the
 * fingerprint, so that an entry can move without its key. See filters/common/cuckoo.h for regions and moves.
 *
 *     region  | bucket 0 | bucket 1 | … | bucket half-1 | bucket half | … | bucket 2*half-1 |
 *               left half                                 right half
 *     bucket  | slot | slot | … b of them        code: the fingerprint, 1 … 2^f - 1; 0 is an empty slot
 *
 *     alternate=halves   the other bucket of p is (H(fingerprint) - p) mod half, in the other half: any number of
 *                        buckets, and never the same bucket twice
 *     alternate=simple   p XOR fingerprint (Eppstein, "Cuckoo Filter: Simplification and Analysis", 2016): no hash,
 *                        but the number of buckets in a region must be a power of two of at most 2^f
 *
 * The rate is 2b times the load in 2^f. b = 4 is planned to a load of 0.96 and is the default; b = 2 has a rate half as
 * high in a bit less and is planned to 0.875; b = 1 stops under one half and needs far more room to be sure; b = 8 needs
 * a bit more for one or two percent of load.
 *
 * A key may be added 2b times, once for each of its slots. Keys that share buckets and fingerprint can't be told
 * apart; 2b + 1 different ones of them can't all go in, and the planner takes f large enough that this does not happen
 * (plan/fit.h).
 *
 * Parameters: 0 bits in a slot (f), 1 half, 2 regions, 3 b, 4 alternate (0 halves, 1 simple). */
#include "plan/fit.h"
#include "filters/common/cuckoo_batch.h"

enum { BUCKET_SLOTS = KITHI_REGIONS + 1, ALTERNATE };
enum { HALVES, SIMPLE };

#define SLOT_BITS_MIN 4

static const kith_option OPTIONS[] = {
    {"b", "1|2|4|8", "4", "slots in a bucket"},
    {"f", "0..32", "0", "bits of a fingerprint, from 4; 0: as many as the rate needs"},
    {"alternate", "halves|simple", "halves", "how a bucket gives the other one"},
};

static kithi_fit fit_of(const kithi_head *head) {
    return (kithi_fit){.place_slots = (unsigned)head->params[BUCKET_SLOTS],
                       .power_of_two = head->params[ALTERNATE] == SIMPLE};
}

static kithi_fit_size size_of(const kithi_head *head) {
    return (kithi_fit_size){(unsigned)head->params[KITHI_SLOT_BITS], head->params[KITHI_HALF],
                            head->params[KITHI_REGIONS]};
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    head->params[BUCKET_SLOTS] = UINT64_C(1) << request->options[0];
    head->params[ALTERNATE] = request->options[2];
    unsigned slot_bits = (unsigned)request->options[1];
    if (slot_bits != 0 && slot_bits < SLOT_BITS_MIN)
        return KITH_E_OPTION;
    return kithi_cf_choose(fit_of(head), request, slot_bits, head);
}

static kith_status shape(const kithi_head *head, kithi_shape *shape) {
    uint64_t b = head->params[BUCKET_SLOTS], half = head->params[KITHI_HALF];
    bool simple = head->params[ALTERNATE] == SIMPLE;
    if ((b != 1 && b != 2 && b != 4 && b != 8) || head->params[ALTERNATE] > SIMPLE ||
        head->params[KITHI_SLOT_BITS] < SLOT_BITS_MIN || (simple && (half & (half - 1)) != 0))
        return KITH_E_CORRUPT;
    shape->max_copies = (unsigned)(2 * b);
    return kithi_cf_shape(fit_of(head), head, shape);
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    return kithi_cf_expect(fit_of(head), size_of(head), n);
}

static uint64_t region_slots(const kithi_head *head) {
    return 2 * head->params[KITHI_HALF] * head->params[BUCKET_SLOTS];
}

static inline uint64_t other_bucket(const kithi_head *head, uint64_t bucket, uint64_t fingerprint) {
    uint64_t half = head->params[KITHI_HALF];
    if (head->params[ALTERNATE] == HALVES)
        return kithi_partner(bucket, fingerprint, half);
    /* With fewer than 2^f buckets the low bits of the fingerprint may all be 0; 1 keeps the two apart. */
    uint64_t step = fingerprint & (2 * half - 1);
    return bucket ^ (step != 0 ? step : 1);
}

static inline unsigned place_slots(const kithi_head *head) {
    return (unsigned)head->params[BUCKET_SLOTS];
}

static inline void first_slots(const kithi_head *head, uint64_t bucket, uint64_t fingerprint, uint32_t first[2]) {
    uint64_t b = head->params[BUCKET_SLOTS];
    first[0] = (uint32_t)(bucket * b);
    first[1] = (uint32_t)(other_bucket(head, bucket, fingerprint) * b);
}

static inline bool decode(const kithi_head *head, uint32_t slot, uint32_t code, uint64_t *bucket,
                          uint64_t *fingerprint) {
    *bucket = slot / head->params[BUCKET_SLOTS];
    *fingerprint = code;
    return true;
}

static const kithi_cf_layout LAYOUT = {
    .place_slots = place_slots,
    .first_slots = first_slots,
    .decode = decode,
    .region_slots = region_slots,
};

/* ---- verbs: the common bodies, compiled for this layout ---- */

static bool has(const kith_filter *f, uint64_t digest) {
    return kithi_cf_has(&LAYOUT, f, digest);
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_cf_look(&LAYOUT, f, digest, report, context);
}

static uint64_t cell(const kith_filter *f, uint64_t number) {
    return kithi_cf_cell(&LAYOUT, f, number);
}

static uint64_t copies(const kith_filter *f, uint64_t digest) {
    return kithi_cf_copies(&LAYOUT, f, digest);
}

static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {
    return kithi_cf_add(&LAYOUT, f, digest, was_new);
}

static kith_status remove_one(kith_filter *f, uint64_t digest) {
    return kithi_cf_remove(&LAYOUT, f, digest);
}

static size_t has_many_portable(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return kithi_cf_has_many(&LAYOUT, f, digests, n, maybe);
}

static kith_status add_many_portable(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                     size_t *done) {
    return kithi_cf_add_many(&LAYOUT, f, digests, n, was_new, done);
}

static kith_status remove_many_portable(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return kithi_cf_remove_many(&LAYOUT, f, digests, n, done);
}

#ifdef KITHI_HAVE_X86
KITHI_TARGET_AVX2 static size_t has_many_avx2(const kith_filter *f, const uint64_t *digests, size_t n,
                                              uint64_t *maybe) {
    return kithi_cf_has_many(&LAYOUT, f, digests, n, maybe);
}

KITHI_TARGET_AVX2 static kith_status add_many_avx2(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                                   size_t *done) {
    return kithi_cf_add_many(&LAYOUT, f, digests, n, was_new, done);
}

KITHI_TARGET_AVX2 static kith_status remove_many_avx2(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return kithi_cf_remove_many(&LAYOUT, f, digests, n, done);
}
#endif

static kith_status merge(kith_filter *into, const kith_filter *from) {
    return kithi_cf_merge(&LAYOUT, into, from);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    kithi_cf_stats(&LAYOUT, f, stats);
}

static const char *check(const kith_filter *f) {
    return kithi_cf_check(&LAYOUT, f);
}

const kithi_kind kithi_kind_cuckoo = {
    .id = 4,
    .params = KITHI_CF_PARAMS | 1 << BUCKET_SLOTS | 1 << ALTERNATE,
    .info =
        {
            .name = "cuckoo",
            .summary = "fingerprints in buckets: keys come and go",
            .capabilities = KITHI_CF_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .choose = choose,
    .shape = shape,
    .expect = expect,
    .look = look,
    .cell = cell,
    .add = add,
    .kernels =
        {
            [KITHI_CPU_PORTABLE] = {has_many_portable, add_many_portable, remove_many_portable, has},
            [KITHI_CPU_NEON] = {has_many_portable, add_many_portable, remove_many_portable, has},
#ifdef KITHI_HAVE_X86
            [KITHI_CPU_AVX2] = {has_many_avx2, add_many_avx2, remove_many_avx2, has},
            [KITHI_CPU_AVX512] = {has_many_avx2, add_many_avx2, remove_many_avx2, has},
#endif
        },
    .regions = kithi_cf_regions,
    .remove = remove_one,
    .copies = copies,
    .merge = merge,
    .stats = stats,
    .check = check,
    .detach = kithi_cf_detach,
};
