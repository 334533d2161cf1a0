/* F7: fingerprints that are too narrow for the number of keys.
 *
 * Of keys with one fingerprint and one pair of places 2b go in. There are P pairs and F = 2^f - 1 fingerprints, so P F
 * cells, and a filter refuses a key at the latest when one of them gets 2b + 1. With p(n) = P(binomial(n, 1/(P F)) >
 * 2b), and since cells share n keys and so shun each other,
 *
 *     P(some key of n is refused) >= 1 - (1 - p(n))^(P F)
 *
 * exactly; look tells each key's cell, so that crowded ones can be counted. Summed over n that is an upper bound on the
 * mean load at the first refusal. It is not the whole loss, since a few cells that share places can be too full
 * together.
 *
 * For a fixed load p(n) P F grows as n/F^2b: f must grow by 1 for n to grow by 2^2b, which is f = Ω(log n/b). With b = 4
 * and the least f, 4, that takes 10^8 keys; b = 1 and b = 2 show it. */
#include <math.h>
#include <stdio.h>

#include "shaped.h"

typedef struct sweep {
    unsigned b;
    uint64_t slots;
    unsigned widths[5]; /* the last is wide enough */
} sweep;

static const sweep QUICK[] = {
    {1, 1 << 10, {4, 6, 8, 10, 14}}, {1, 1 << 14, {4, 6, 8, 10, 14}}, {2, 1 << 14, {4, 5, 6, 8, 12}}};
static const sweep FULL[] = {{1, 1 << 10, {4, 6, 8, 10, 14}},
                             {1, 1 << 14, {4, 6, 8, 10, 14}},
                             {1, 1 << 17, {4, 6, 8, 10, 14}},
                             {2, 1 << 14, {4, 5, 6, 8, 12}},
                             {2, 1 << 17, {4, 5, 6, 8, 12}}};
enum { WIDTHS = 5 };

/* P(no cell of n keys has more than 2b), at most. */
static double none_crowded(const shaped_geometry *g, uint64_t n) {
    double cells = shaped_cells(g);
    return exp(cells * log1p(-lab_binomial_above(n, 1 / cells, 2 * g->b)));
}

/* The mean number of keys before the first refusal is the sum over n >= 1 of P(n keys go in); in steps, each with the
 * highest of its terms. */
static double load_bound(const shaped_geometry *g) {
    uint64_t slots = shaped_slots(g), step = slots / 512;
    double keys = 0;
    for (uint64_t n = 0; n < slots; n += step)
        keys += (double)step * none_crowded(g, n + 1);
    return keys / (double)slots;
}

typedef struct spot {
    uint64_t cell[16], code;
    unsigned count;
} spot;

static void note(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    spot *s = context;
    (void)holds;
    s->code = wanted;
    if (s->count < 16)
        s->cell[s->count++] = cell;
}

/* Cells that more than 2b of the keys 0 … n - 1 belong to, as look tells them. */
static uint64_t crowded_cells(lab *l, const kith_filter *f, const shaped_geometry *g, uint64_t n) {
    uint64_t codes = UINT64_C(1) << g->f, crowded = 0, digest;
    uint8_t *keys = lab_take(l, 2 * g->half * codes);
    for (uint64_t i = 0; i < n; i++) {
        spot s = {.count = 0};
        lab_digests(l, f, i, 1, &digest);
        (void)kith_filter_look(f, digest, note, &s);
        uint64_t a = s.cell[0] / g->b, b = s.cell[g->b] / g->b;
        crowded += ++keys[(a < b ? a : b) * codes + s.code] == 2 * g->b + 1;
    }
    lab_drop(l, keys);
    return crowded;
}

/* What was seen of the filters of a geometry at half the load of the threshold. */
typedef struct halfway {
    uint64_t keys, refused, crowded, not_refused;
} halfway;

static lab_estimate fill_all(lab *l, const shaped_geometry *g, uint64_t filters, bool count_cells, halfway *h,
                             double done) {
    uint64_t slots = shaped_slots(g);
    lab_sample reached = {0};
    for (uint64_t j = 0; j < filters; j++) {
        kith_filter *f = shaped_filter(l, g);
        uint64_t in = shaped_fill(l, f, 0, slots), crowded = count_cells ? crowded_cells(l, f, g, h->keys) : 0;
        h->refused += in < h->keys;
        h->crowded += crowded;
        h->not_refused += crowded != 0 && in >= h->keys;
        lab_sample_add(&reached, (double)in / (double)slots);
        lab_drop(l, f);
        lab_going(l, done);
    }
    return lab_mean(&reached);
}

static void loads(lab *l, const sweep *s, uint64_t filters, lab_plot *plot, double done) {
    double threshold = shaped_threshold(s->b);
    lab_series *curve = lab_curve(plot, "bound, b = %u, %llu slots", s->b, (unsigned long long)s->slots);
    lab_series *points = lab_points(plot, "b = %u, %llu slots", s->b, (unsigned long long)s->slots);
    shaped_geometry g = {s->b, 0, s->slots / (2 * s->b), 1, false};
    for (g.f = s->widths[0]; g.f <= s->widths[WIDTHS - 1]; g.f++)
        lab_at(curve, g.f, lab_exact(fmin(load_bound(&g), threshold)));
    for (unsigned i = 0; i < WIDTHS; i++) {
        g.f = s->widths[i];
        halfway h = {.keys = (uint64_t)(0.5 * threshold * (double)s->slots)};
        lab_estimate load = fill_all(l, &g, filters, i == 0, &h, done);
        double cells = shaped_cells(&g), crowded = cells * lab_binomial_above(h.keys, 1 / cells, 2 * g.b);
        lab_find(l, LAB_MUST, LAB_AT_MOST, load_bound(&g), load,
                 "b = %u, %llu slots, f = %u: mean load at the first refusal", s->b, (unsigned long long)s->slots, g.f);
        if (i == 0) { /* these are rare, and shun each other: their variance is below a Poisson one's */
            lab_find(l, LAB_MUST, LAB_EQUALS, crowded, lab_scaled(lab_count(h.crowded), 1 / (double)filters),
                     "b = %u, %llu slots, f = %u: cells of a filter that get more than 2b keys at load %.2f", s->b,
                     (unsigned long long)s->slots, g.f, 0.5 * threshold);
            lab_find(
                l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)h.not_refused),
                "b = %u, %llu slots, f = %u: filters with a cell of more than 2b keys that refuse none at load %.2f",
                s->b, (unsigned long long)s->slots, g.f, 0.5 * threshold);
            lab_find(l, LAB_MUST, LAB_AT_LEAST, 1 - none_crowded(&g, h.keys), lab_share(h.refused, filters),
                     "b = %u, %llu slots, f = %u: filters that refuse a key at load %.2f", s->b,
                     (unsigned long long)s->slots, g.f, 0.5 * threshold);
        }
        /* b = 1 stops somewhat before or after one half, whatever f is. */
        if (i == WIDTHS - 1 && s->b == 2)
            lab_find(l, LAB_MUST, LAB_EQUALS, threshold, load,
                     "b = %u, %llu slots, f = %u: mean load at the first refusal, the threshold", s->b,
                     (unsigned long long)s->slots, g.f);
        lab_at(points, g.f, load);
    }
}

/* The fingerprints that the planner takes for n keys where the rate asks for next to none. */
static void planned(lab *l) {
    static const unsigned BUCKETS[] = {2, 4, 8};
    lab_plot *plot = lab_draw(l, "Fingerprints planned at a rate of 90%", "keys", "bits", LAB_LOG_X);
    for (unsigned i = 0; i < 3; i++) {
        lab_series *points = lab_points(plot, "b = %u", BUCKETS[i]),
                   *curve = lab_curve(plot, "slope 1/(2b), b = %u", BUCKETS[i]);
        char options[16];
        (void)snprintf(options, sizeof options, "b=%u", BUCKETS[i]);
        unsigned first = 0;
        for (double n = 1e4; n <= 1e12; n *= 10) {
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            kith_plan plan = KITH_PLAN_INIT;
            spec.kind = "cuckoo";
            spec.options = options;
            spec.capacity = (uint64_t)n;
            spec.rate = 0.9;
            lab_must(l, kith_filter_plan(&spec, &plan), "planning");
            first = first == 0 ? plan.fingerprint_bits : first;
            lab_at(points, n, lab_exact(plan.fingerprint_bits));
            lab_at(curve, n, lab_exact(first + log2(n / 1e4) / (2 * BUCKETS[i])));
        }
    }
}

static void run(lab *l) {
    const sweep *sweeps = lab_is_quick(l) ? QUICK : FULL;
    unsigned count = lab_is_quick(l) ? sizeof QUICK / sizeof *QUICK : sizeof FULL / sizeof *FULL;
    uint64_t budget =
        lab_pick(l, 1 << 18, 1 << 21); /* slots to fill for each geometry; 30 filters at least, and 1000 at most */
    lab_parameter(l, "slots filled of each geometry", "%llu", (unsigned long long)budget);
    lab_plot *plot = lab_draw(l, "Load at the first refusal", "bits of a fingerprint, f", "load", 0);
    for (unsigned i = 0; i < count; i++) {
        uint64_t filters = budget / sweeps[i].slots;
        filters = filters < 30 ? 30 : filters > 1000 ? 1000 : filters;
        loads(l, &sweeps[i], filters, plot, (double)i / count);
    }
    planned(l);
}

const lab_claim lab_F7 = {
    .id = "F7",
    .title = "fingerprints too narrow",
    .sentence = "Fingerprints need Ω(log n/b) bits: with fewer, more than 2b keys share places and fingerprint, and "
                "the load falls.",
    .formula = "P(refusal) ≥ 1 − (1 − p)^{M·F}, p = P(Bin(n, 1/(M·F)) > 2b)",
    .code = "src/core/fit.c",
    .run = run,
};
