/* cuckoo: a cuckoo filter, fingerprints in buckets (Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically
 * Better Than Bloom", 2014).
 *
 * The body is divided into regions, and the digest of a key selects one of them. There the key has two buckets of b
 * slots, and its fingerprint of f bits is stored in one of these slots: an entry. Each bucket can be computed from the
 * other and the fingerprint, so an entry can be moved without knowing its key. kinds/shared/cuckoo_kinds.h describes
 * regions and moves.
 *
 *     region  | bucket 0 | bucket 1 | … | bucket 2*half-1 |      half: half the number of buckets
 *     bucket  | slot | slot | … b of them                        code in a slot: the fingerprint, 1 … 2^f - 1; 0: empty
 *
 * Code that cuckoo shares with overlap calls a bucket a place, because overlap has windows instead.
 *
 *     alternate=halves   one bucket is in the half with even numbers, and the other in the half with odd numbers.
 *                        Modulo 2*half, the two numbers add up to H(fingerprint), a hash that is always odd, so each
 *                        follows from the other (kithi_partner in core/mix.h). This works for any even number of
 *                        buckets, and the two buckets are never the same
 *     alternate=simple   the other bucket of bucket p is p XOR fingerprint (Eppstein, "Cuckoo Filter: Simplification
 *                        and Analysis", 2016). This needs no hash, but the number of buckets in a region must be a
 *                        power of two. It is at most 2^f, so that every bit of p can change. With 2^i buckets and
 *                        i < f, p is XORed with the low i bits of the fingerprint, or with 1 if these are all 0
 *     alternate=xor      the other bucket of bucket p is p XOR H(fingerprint), the rule of the original paper. There is
 *                        one region, and its number of buckets must be a power of two. So the filter may be up to twice
 *                        as large as the keys need; its rate is then lower by the same factor
 *
 *     insert=search      a breadth-first search for the shortest chain of moves
 *     insert=walk        a random walk, as in the original paper. The option `max` limits its number of moves. If it
 *                        fails, it is undone (kinds/shared/cuckoo_walk.h)
 *         start=random   the walk starts in a random bucket of the key, as in the original paper
 *         start=first    it starts in the first bucket, which is the other usual description of cuckoo filters
 *
 * The rate is 2b * load / 2^f, where the load is the share of the slots that are in use. The default is b = 4, with a
 * planned load of 0.96 at capacity. With b = 2, fingerprints are one bit shorter for the same rate, but the planned
 * load is 0.875 (about 0.86 if they have only 4 bits). With b = 8 they are one bit longer, and the planned load is
 * 0.985. With b = 1, no more than about half of the slots can be filled, and the planner leaves far more of them empty
 * to make sure that all keys fit. With insert=walk the planned load is lower: about 0.93 for b = 4 and max = 500. It
 * follows from measured lengths of walks (docs/loads.md).
 *
 * A key can be stored 2b times, once in each of its slots. Copies of a key cannot be distinguished from other keys with
 * the same buckets and the same fingerprint. More than 2b such entries do not fit in the slots. With insert=search, the
 * others go to the stash of the region, a short list at its end, until that is full (kinds/shared/cuckoo_stash.h).
 * With insert=walk there is no stash, and the planner makes f so large that there are hardly ever more than 2b such
 * entries (plan/fit.h).
 *
 * Parameters, by index: 0: bits in a slot (f); 1: half the buckets of a region; 2: number of regions; 3: b; 4:
 * alternate (0 halves, 1 simple, 2 xor); 5: most moves of a walk (0 for a search); 6: entries in the stash of a
 * region; 7: where a walk starts (0 random, 1 first). */
#include "plan/fit.h"
#include "kinds/shared/cuckoo_batch.h"
#include "kinds/cuckoo/lookup.h"

enum { AUTO, SEARCH, WALK }; /* values of the option insert */

static const kith_option OPTIONS[] = {
    {"b", "1|2|4|8", "4", "slots in a bucket"},
    {"f", "0..32", "0", "fingerprint bits, 4 or more; 0: as many as the rate needs"},
    {"alternate", "halves|simple|xor", "halves",
     "how one bucket of a key is computed from the other; xor rounds the number of buckets up to a power of two"},
    {"insert", "auto|search|walk", "auto",
     "how a slot is freed: breadth-first search or random walk; auto: search, unless max or start is not the default"},
    {"max", "50..10000", "500", "how many entries a random walk may move"},
    {"start", "random|first", "random", "bucket of the new key in which a random walk starts"},
};

static uint64_t option(const kithi_head *head, unsigned index) {
    kithi_cf_geometry g = kithi_cuckoo_decode_head(head).cf;
    if (index == 0) /* the index of b in "1|2|4|8" */
        return (uint64_t)__builtin_ctzll(g.bucket_slots);
    if (index == 5)
        return g.start;
    if (index >= 3)
        return index == 3 ? (g.kicks != 0 ? WALK : SEARCH) : g.kicks != 0 ? g.kicks : KITHI_KICKS_DEFAULT;
    return index == 1 ? g.slot_bits : g.alternate;
}

static kithi_fit_layout fit_layout_of(const kithi_cf_geometry *g) {
    return (kithi_fit_layout){
        .place_slots = (unsigned)g->bucket_slots,
        .power_of_two = g->alternate != KITHI_CUCKOO_HALVES,
        .one_region = g->alternate == KITHI_CUCKOO_XOR,
        .kicks = (unsigned)g->kicks,
    };
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    kithi_cf_geometry g = {.bucket_slots = UINT64_C(1) << request->options[0], .alternate = request->options[2]};
    head->params[KITHI_PARAM_BUCKET_SLOTS] = g.bucket_slots;
    head->params[KITHI_PARAM_ALTERNATE] = g.alternate;
    unsigned slot_bits = (unsigned)request->options[1];
    uint64_t insert = request->options[3], kicks = request->options[4], start = request->options[5];
    bool has_walk_option = kicks != KITHI_KICKS_DEFAULT || start != KITHI_START_RANDOM;
    if (slot_bits != 0 && slot_bits < KITHI_CUCKOO_SLOT_BITS_MIN)
        return KITH_E_OPTION_VALUE;
    if (insert == SEARCH && has_walk_option)
        return KITH_E_OPTION_FIT;
    head->params[KITHI_PARAM_KICKS] = g.kicks = insert == WALK || has_walk_option ? kicks : 0;
    head->params[KITHI_PARAM_START] = start;
    return kithi_cf_choose(fit_layout_of(&g), request, slot_bits, head);
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_cf_geometry g = kithi_cuckoo_decode_head(head).cf;
    return kithi_cf_expect(&kithi_cuckoo_layout, fit_layout_of(&g), &g, n);
}

/* ---- operations: those of all cuckoo kinds, compiled for this layout ---- */

#define LAYOUT (&kithi_cuckoo_layout)
#define PLACES KITHI_CF_BUCKETS
#define HAS_WIDE_BUCKETS true

KITHI_INLINE bool has_key(const kith_filter *f, uint64_t digest) {
    return kithi_cuckoo_has(&f->geometry, f->body, digest);
}

#include "kinds/shared/cuckoo_record.h"

const kithi_kind kithi_kind_cuckoo = {
    .lookup = &kithi_lookup_cuckoo,
    .info =
        {
            .name = "cuckoo",
            .summary = "fingerprints in buckets: supports deletion",
            .capabilities = KITHI_CF_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = option, .expect = expect},
    KITHI_CF_OPERATIONS,
};
