/* F6: the two places of a key are each other's alternate.
 *
 * An entry moves without its key: from the place where it lies and its fingerprint the other place is computed, and
 * from there the first one again. The document takes the XOR with a hash of the fingerprint; the library's halves take
 * (H(fingerprint) - place) in the other half, which is its own inverse for any number of places and never the place
 * itself. kith_filter_look tells the slots of both places of a digest and the code that is wanted there. Over enough
 * digests of a small filter every (place, fingerprint) comes as a first place, so the whole map is seen, and each pair
 * is as likely as any other. */
#include "shaped.h"

typedef struct layout {
    const char *name;
    shaped_geometry g;
} layout;

static const layout LAYOUTS[] = {
    {"b = 4, halves of 16", {4, 5, 16, 1, false}},       {"b = 2, halves of 23", {2, 5, 23, 1, false}},
    {"b = 1, halves of 1", {1, 5, 1, 1, false}},         {"b = 4, simple", {4, 5, 16, 1, true}},
    {"b = 4, simple, 2^f > places", {4, 6, 4, 1, true}}, {"windows, halves of 20", {0, 5, 20, 1, false}},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

typedef struct slots {
    uint64_t cell[16], wanted;
    unsigned count;
} slots;

static void note_slot(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    slots *s = context;
    (void)holds;
    if (s->count == 0)
        s->wanted = wanted;
    if (s->count < 16)
        s->cell[s->count++] = cell;
}

typedef struct seen {
    uint64_t pairs, contradictions, one_way, same, same_half;
} seen;

/* map[first * (2^f) + fingerprint]: first slot of the other place, and 1; 0: not seen. */
static void look_at(lab *l, const layout *at, uint64_t per_pair, uint32_t *map, uint64_t *observed, seen *s) {
    kith_filter *f = shaped_filter(l, &at->g);
    uint64_t codes = UINT64_C(1) << at->g.f, size = shaped_slots(&at->g), pairs = 2 * at->g.half * (codes - 1);
    for (uint64_t i = 0; i < per_pair * pairs; i++) {
        slots of = {.count = 0};
        (void)kith_filter_look(f, lab_random(l), note_slot, &of);
        uint64_t first = of.cell[0], other = of.cell[of.count / 2], code = at->g.b != 0 ? of.wanted : of.wanted / 2;
        lab_require(l, first < size && other < size && code >= 1 && code < codes, "a place or a code is out of range");
        uint32_t *entry = &map[first * codes + code];
        s->contradictions += *entry != 0 && *entry != other + 1;
        *entry = (uint32_t)other + 1;
        observed[first * codes + code]++;
        if (i % 65536 == 0)
            lab_going(l, 0.5);
    }
    for (uint64_t first = 0; first < size; first++)
        for (uint64_t code = 1; code < codes; code++) {
            uint64_t other = map[first * codes + code];
            if (other == 0)
                continue;
            s->pairs++;
            s->one_way += map[(other - 1) * codes + code] != first + 1;
            s->same += other - 1 == first;
            s->same_half += (other - 1 < size / 2) == (first < size / 2);
        }
    lab_drop(l, f);
}

static void run(lab *l) {
    uint64_t per_pair = lab_pick(l, 40, 1000); /* a pair is missed with e^-40 */
    lab_parameter(l, "digests for each place and fingerprint", "%llu", (unsigned long long)per_pair);
    lab_plot *plot = lab_draw(l, "The other place of the first place", "fingerprint", "slot where it begins", 0);
    for (unsigned i = 0; i < LAYOUT_COUNT; i++) {
        const layout *at = &LAYOUTS[i];
        seen s = {0};
        uint64_t codes = UINT64_C(1) << at->g.f, size = shaped_slots(&at->g), pairs = 2 * at->g.half * (codes - 1);
        uint32_t *map = lab_take(l, size * codes * sizeof *map);
        uint64_t *observed = lab_take(l, size * codes * sizeof *observed), *dense = lab_take(l, pairs * sizeof *dense);
        double *expected = lab_take(l, pairs * sizeof *expected);
        look_at(l, at, per_pair, map, observed, &s);
        lab_find(l, LAB_MUST, LAB_EQUALS, (double)pairs, lab_exact((double)s.pairs), "%s: (place, fingerprint) seen",
                 at->name);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)s.contradictions), "%s: seen with two alternates",
                 at->name);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)s.one_way), "%s: whose alternate has another alternate",
                 at->name);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)s.same), "%s: which are their own alternate", at->name);
        if (!at->g.simple)
            lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)s.same_half), "%s: with both places in one half",
                     at->name);
        uint64_t n = 0;
        for (uint64_t j = 0; j < size * codes && n < pairs; j++)
            if (map[j] != 0) {
                expected[n] = (double)per_pair;
                dense[n++] = observed[j];
            }
        lab_find_fit(l, LAB_MUST, dense, expected, pairs, 1, "%s: all alike", at->name);
        if (i == 0 || i == 3) {
            lab_series *points = lab_points(plot, "%s", at->name);
            lab_series *curve = at->g.simple ? lab_curve(plot, "place XOR fingerprint") : NULL;
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
        lab_going(l, (i + 1.0) / LAYOUT_COUNT);
    }
}

const lab_claim lab_F6 = {
    .id = "F6",
    .title = "each place is the other's alternate",
    .sentence =
        "From a place and a fingerprint the other place follows, and from that one, by the same rule, the first.",
    .formula = "p' = p ⊕ h(φ), p = p' ⊕ h(φ)",
    .code = "src/core/mix.h",
    .run = run,
};
