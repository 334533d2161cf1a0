/* F6: the two buckets of a key are each other's alternate.
 *
 * An entry is moved without its key. Its other bucket is computed from its current bucket and its fingerprint, and from
 * the other bucket the same rule gives the current one. The documents use the XOR with a hash of the fingerprint,
 * alternate=xor, for which the number of buckets must be a power of two. The library's alternate=halves uses
 * (H(fingerprint) - bucket) in the other half, which is its own inverse for any number of buckets and never the bucket
 * itself.
 *
 * kith_filter_look shows the slots of both buckets of a digest, and the code that an entry would have there. With
 * enough digests in a small filter every (bucket, fingerprint) occurs as the first bucket of some digest, so the whole
 * map is seen. All pairs must be equally likely. */
#include "geometry.h"

typedef struct layout {
    const char *word; /* the value of the setting `alternate` */
    const char *name;
    geometry g;
    bool is_xor; /* alternate=xor */
} layout;

static const layout LAYOUTS[] = {
    {"halves", "b = 4, halves of 16", {4, 5, 16, 1, false}, false},
    {"halves", "b = 2, halves of 23", {2, 5, 23, 1, false}, false},
    {"halves", "b = 1, halves of 1", {1, 5, 1, 1, false}, false},
    {"xor", "b = 4, xor, 32 buckets", {4, 5, 16, 1, false}, true},
    {"xor", "b = 4, xor, 2^f > buckets", {4, 6, 4, 1, false}, true},
    {"simple", "b = 4, simple", {4, 5, 16, 1, true}, false},
    {"simple", "b = 4, simple, 2^f > buckets", {4, 6, 4, 1, true}, false},
    {"windows", "windows, halves of 20", {0, 5, 20, 1, false}, false},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS, FIRST_SIMPLE = 5 };

typedef struct seen {
    uint64_t pairs, contradictions, one_way, same, same_half;
} seen;

/* Returns 0 or 1: the half of the region to which a slot belongs. Buckets with even numbers are one half and those with
 * odd numbers the other; windows that begin in the first half of the slots are one half. */
static uint64_t half_of(const layout *at, uint64_t slot) {
    return at->g.b != 0 ? slot / at->g.b % 2 : slot / (at->g.half + 1);
}

/* map[first * (2^f) + fingerprint] is the first slot of the other bucket plus 1, or 0 if not seen yet. */
static void look_at(lab *l, const layout *at, uint64_t per_pair, uint32_t *map, uint64_t *observed, seen *s) {
    kith_filter *f = at->is_xor ? geometry_filter_xor(l, &at->g) : geometry_filter(l, &at->g);
    uint64_t codes = UINT64_C(1) << at->g.f, size = geometry_slots(&at->g), pairs = 2 * at->g.half * (codes - 1);
    for (uint64_t i = 0; i < per_pair * pairs; i++) {
        geometry_candidates of = geometry_look(f, lab_random(l));
        uint64_t first = of.slot[0], other = of.slot[of.count / 2], code = at->g.b != 0 ? of.code : of.code / 2;
        lab_require(l, first < size && other < size && code >= 1 && code < codes, "a slot or a code is out of range");
        uint32_t *entry = &map[first * codes + code];
        s->contradictions += *entry != 0 && *entry != other + 1;
        *entry = (uint32_t)other + 1;
        observed[first * codes + code]++;
        if (i % 65536 == 0)
            lab_progress(l, 0.5);
    }
    for (uint64_t first = 0; first < size; first++)
        for (uint64_t code = 1; code < codes; code++) {
            uint64_t other = map[first * codes + code];
            if (other == 0)
                continue;
            s->pairs++;
            s->one_way += map[(other - 1) * codes + code] != first + 1;
            s->same += other - 1 == first;
            s->same_half += half_of(at, other - 1) == half_of(at, first);
        }
    lab_drop(l, f);
}

static void run(lab *l) {
    uint64_t per_pair = lab_number(l, "n"); /* a pair is missed with probability e^-40 */
    lab_parameter(l, "digests for each bucket and fingerprint", "%llu", (unsigned long long)per_pair);
    lab_plot *plot = lab_draw(l, "The alternate of the first bucket", "fingerprint", "first slot of the alternate", 0);
    for (unsigned i = 0; i < LAYOUT_COUNT; i++) {
        const layout *at = &LAYOUTS[i];
        if (!lab_wants(l, "alternate", at->word))
            continue;
        seen s = {0};
        uint64_t codes = UINT64_C(1) << at->g.f, size = geometry_slots(&at->g), pairs = 2 * at->g.half * (codes - 1);
        uint32_t *map = lab_take(l, size * codes * sizeof *map);
        uint64_t *observed = lab_take(l, size * codes * sizeof *observed), *dense = lab_take(l, pairs * sizeof *dense);
        double *expected = lab_take(l, pairs * sizeof *expected);
        look_at(l, at, per_pair, map, observed, &s);
        lab_find(l, LAB_EQUALS, (double)pairs, lab_exact((double)s.pairs), "%s: pairs of bucket and fingerprint seen",
                 at->name);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)s.contradictions), "%s: pairs with two alternates", at->name);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)s.one_way), "%s: pairs whose alternate leads to another bucket",
                 at->name);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)s.same), "%s: pairs that are their own alternate", at->name);
        if (!at->g.simple && !at->is_xor)
            lab_find(l, LAB_EQUALS, 0, lab_exact((double)s.same_half), "%s: pairs with both buckets in the same half",
                     at->name);
        uint64_t n = 0;
        for (uint64_t j = 0; j < size * codes && n < pairs; j++)
            if (map[j] != 0) {
                expected[n] = (double)per_pair;
                dense[n++] = observed[j];
            }
        lab_find_fit(l, dense, expected, pairs, 1, "%s: fit to a uniform distribution", at->name);
        if (i == 0 || i == FIRST_SIMPLE) {
            lab_series *points = lab_points(plot, "%s", at->name);
            lab_series *curve = at->g.simple ? lab_curve(plot, "bucket XOR fingerprint") : NULL;
            for (uint64_t code = 1; code < codes; code++) {
                lab_at(points, (double)code, lab_exact((double)map[code] - 1));
                if (curve != NULL)
                    lab_at(curve, (double)code, lab_exact(at->g.b * (double)code));
            }
        }
        lab_drop(l, map);
        lab_drop(l, observed);
        lab_drop(l, dense);
        lab_drop(l, expected);
        lab_progress(l, (i + 1.0) / LAYOUT_COUNT);
    }
}

const lab_claim lab_F6 = {
    .id = "F6",
    .title = "each bucket is the other's alternate",
    .sentence =
        "A bucket and a fingerprint determine the other bucket, and the same rule applied to that one gives the "
        "first bucket again.",
    .formula = "p' = p ⊕ h(φ), p = p' ⊕ h(φ)",
    .code = "src/core/mix.h",
    .decides = "xor, 32 buckets: pairs whose alternate",
    .settings = {LAB_SIZE("n", 40, 1000, 1, 1e6, "keys per pair of bucket and fingerprint"),
                 LAB_WORD("alternate", "all", "all halves xor simple windows", "rule for the other bucket")},
    .run = run,
};
