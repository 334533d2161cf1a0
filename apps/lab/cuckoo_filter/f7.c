/* F7: fingerprints that are too narrow for the number of keys.
 *
 * A filter holds at most 2b keys of one class, that is, keys with the same fingerprint and the same pair of buckets.
 * There are M pairs and F = 2^f - 1 fingerprints, so M F classes. A filter refuses a key at the latest when a class
 * gets 2b + 1 keys. Let p(n) = P(binomial(n, 1/(M F)) > 2b). The classes share n keys, so their numbers of keys are
 * negatively correlated, and
 *
 *     P(some key of n is refused) >= 1 - (1 - p(n))^(M F)
 *
 * holds exactly. kith_filter_look shows the class of each key, so that classes with more than 2b keys, the overfull
 * ones, can be counted. Summed over n the inequality gives an upper bound on the mean load at the first refusal. It
 * does not cover the whole loss, because a few classes that share buckets can be too full together.
 *
 * [4] counts groups of 2b + 1 keys instead, lemma 2: at least C(n, 2b+1) (2/(2^f m))^2b of them are expected, m = 2M
 * buckets. Exactly it is C(n, 2b+1)/(M F)^2b. Groups are counted by class: a class of j keys has C(j, 2b+1).
 *
 * For a fixed load p(n) M F grows as n/F^2b. So f must grow by 1 when n grows by a factor of 2^2b, which means f =
 * Ω(log n/b). With b = 4 and the smallest f, 4, the effect begins at 10^8 keys. b = 1 and b = 2 show it with fewer.
 *
 * A stash removes the reason. A class with j > 2b keys needs at least j - 2b entries of it, so the mean number of
 * entries is at least
 *
 *     M F E[max(0, binomial(n, 1/(M F)) - 2b)]
 *
 * and that is a few entries for n keys, where a further bit per fingerprint would cost n bits. The filters of this
 * claim have no stash, except those that show this. The planner gives every filter a stash, except with insert=walk. */
#include <math.h>
#include <stdio.h>

#include "geometry.h"

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

/* An upper bound on P(no class has more than 2b of n keys). */
static double none_overfull(const geometry *g, uint64_t n) {
    double classes = geometry_classes(g);
    return exp(classes * log1p(-lab_binomial_above(n, 1 / classes, 2 * g->b)));
}

/* The mean number of keys before the first refusal is the sum over n >= 1 of P(n keys can be added). The sum is
 * computed in steps, and each step uses its largest term. */
static double load_bound(const geometry *g) {
    uint64_t slots = geometry_slots(g), step = slots / 512;
    double keys = 0;
    for (uint64_t n = 0; n < slots; n += step)
        keys += (double)step * none_overfull(g, n + 1);
    return keys / (double)slots;
}

/* C(n, k), in logarithms. */
static double log_choose(double n, double k) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* The expected number of groups of 2b + 1 of n keys that are in one class, if two keys are with probability p. */
static double groups_expected(const geometry *g, uint64_t n, double p) {
    return exp(log_choose((double)n, 2 * g->b + 1) + 2 * g->b * log(p));
}

/* The mean number of groups per filter. Groups with two or more keys in common are correlated: with λ keys per class
 * each has C(2b+1, i) λ^i/i! groups with all but i of its keys beside it, so the variance of their number is at most 1
 * + Σ C(2b+1, i) λ^i/i! times that of Poisson, i = 1 … 2b - 1. */
static lab_estimate groups_counted(const geometry *g, uint64_t n, uint64_t groups, uint64_t filters) {
    lab_estimate e = lab_count(groups);
    double keys = (double)n / geometry_classes(g), factor = 1;
    for (unsigned i = 1; i < 2 * g->b; i++)
        factor += exp(log_choose(2 * g->b + 1, i) + i * log(keys) - lgamma(i + 1.0));
    e.low = fmax(0, e.value - sqrt(factor) * (e.value - e.low));
    e.high = e.value + sqrt(factor) * (e.high - e.value);
    return lab_scaled(e, 1 / (double)filters);
}

/* Counts the classes with more than 2b of the keys 0 … n - 1, and adds the groups of 2b + 1 keys in them to *groups. */
static uint64_t overfull_classes(lab *l, const kith_filter *f, const geometry *g, uint64_t n, uint64_t *groups) {
    uint64_t codes = UINT64_C(1) << g->f, overfull = 0, digest;
    uint8_t *keys = lab_take(l, 2 * g->half * codes);
    for (uint64_t i = 0; i < n; i++) {
        lab_digests(l, f, i, 1, &digest);
        geometry_candidates c = geometry_look(f, digest);
        uint64_t a = c.slot[0] / g->b, b = c.slot[g->b] / g->b;
        uint8_t *in = &keys[(a < b ? a : b) * codes + c.code];
        *groups += *in >= 2 * g->b ? (uint64_t)llround(exp(log_choose(*in, 2 * g->b))) : 0;
        overfull += ++*in == 2 * g->b + 1;
    }
    lab_drop(l, keys);
    return overfull;
}

/* Lemma 2 is about keys that are hashed, not about filters that hold them: as many keys as there are slots. */
static void measure_groups(lab *l, unsigned b, uint64_t filters) {
    geometry g = {b, 4, 1024 / (2 * b), 1, false};
    uint64_t n = geometry_slots(&g), groups = 0;
    for (uint64_t j = 0; j < filters; j++) {
        kith_filter *f = geometry_filter(l, &g);
        (void)overfull_classes(l, f, &g, n, &groups);
        lab_drop(l, f);
        lab_progress(l, 0.9);
    }
    double exact = groups_expected(&g, n, 1 / geometry_classes(&g));
    lab_estimate counted = groups_counted(&g, n, groups, filters);
    lab_find(l, LAB_EQUALS, exact, counted, "b = %u, f = %u, n = m b = %llu: groups of 2b + 1 keys of one class", b,
             g.f, (unsigned long long)n);
    lab_find_stated(l, LAB_MUST, "[4]: \"C(n, 2b+1) (2/(2^f · m))^(2b) = Ω(n/4^(bf))\" (lemma 2)", LAB_AT_LEAST,
                    groups_expected(&g, n, 2 / (exp2(g.f) * 2 * (double)g.half)), counted,
                    "b = %u, f = %u, n = m b = %llu: groups of 2b + 1 keys of one class, lemma 2", b, g.f,
                    (unsigned long long)n);
    lab_known(l, exact);
}

enum { STASH = 64 };

/* The expected number of keys beyond 2b in their classes. */
static double keys_too_many(const geometry *g, uint64_t n) {
    double classes = geometry_classes(g), sum = 0;
    for (unsigned j = 2 * g->b; j < 2 * g->b + 32; j++) /* P(more than j), for each key beyond 2b */
        sum += lab_binomial_above(n, 1 / classes, j);
    return classes * sum;
}

/* Fills filters that have a stash with n keys each. Returns the number of entries in all stashes; *refused is set to
 * the number of filters that refuse a key. */
static uint64_t fill_with_stash(lab *l, const geometry *g, uint64_t n, uint64_t filters, uint64_t *refused,
                                double done) {
    uint64_t entries = 0;
    *refused = 0;
    for (uint64_t j = 0; j < filters; j++) {
        kith_filter *f = geometry_filter_stash(l, g, STASH);
        *refused += geometry_fill(l, f, 0, n) < n;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        lab_must(l, kith_filter_stats_of(f, &stats), "reading statistics");
        entries += stats.count - stats.cells_used;
        lab_drop(l, f);
        lab_progress(l, done);
    }
    return entries;
}

/* Counts over the filters of a geometry at half the load of the threshold. */
typedef struct halfway {
    uint64_t keys;        /* at that load */
    uint64_t refused;     /* filters that have refused a key */
    uint64_t overfull;    /* overfull classes */
    uint64_t not_refused; /* filters with an overfull class that have refused no key */
} halfway;

static lab_estimate fill_all(lab *l, const geometry *g, uint64_t filters, bool count_classes, halfway *h, double done) {
    uint64_t slots = geometry_slots(g), groups = 0;
    lab_sample reached = {0};
    for (uint64_t j = 0; j < filters; j++) {
        kith_filter *f = geometry_filter(l, g);
        uint64_t added = geometry_fill(l, f, 0, slots);
        uint64_t overfull = count_classes ? overfull_classes(l, f, g, h->keys, &groups) : 0;
        h->refused += added < h->keys;
        h->overfull += overfull;
        h->not_refused += overfull != 0 && added >= h->keys;
        lab_sample_add(&reached, (double)added / (double)slots);
        lab_drop(l, f);
        lab_progress(l, done);
    }
    return lab_mean(&reached);
}

static void loads(lab *l, const sweep *s, uint64_t filters, lab_plot *plot, double done) {
    double threshold = geometry_threshold(s->b);
    lab_series *curve = lab_curve(plot, "bound, b = %u, %llu slots", s->b, (unsigned long long)s->slots);
    lab_series *points = lab_points(plot, "b = %u, %llu slots", s->b, (unsigned long long)s->slots);
    geometry g = {s->b, 0, s->slots / (2 * s->b), 1, false};
    for (g.f = s->widths[0]; g.f <= s->widths[WIDTHS - 1]; g.f++)
        lab_at(curve, g.f, lab_exact(fmin(load_bound(&g), threshold)));
    for (unsigned i = 0; i < WIDTHS; i++) {
        g.f = s->widths[i];
        halfway h = {.keys = (uint64_t)(0.5 * threshold * (double)s->slots)};
        lab_estimate load = fill_all(l, &g, filters, i == 0, &h, done);
        double classes = geometry_classes(&g), overfull = classes * lab_binomial_above(h.keys, 1 / classes, 2 * g.b);
        lab_find(l, LAB_AT_MOST, load_bound(&g), load,
                 "b = %u, %llu slots, f = %u: mean load at the first refusal, bound", s->b,
                 (unsigned long long)s->slots, g.f);
        if (i == 0) {
            /* Overfull classes are rare and negatively correlated, so their variance is below that of Poisson. */
            lab_find(l, LAB_EQUALS, overfull, lab_scaled(lab_count(h.overfull), 1 / (double)filters),
                     "b = %u, %llu slots, f = %u: classes per filter with more than 2b keys, load %.2f", s->b,
                     (unsigned long long)s->slots, g.f, 0.5 * threshold);
            lab_find(l, LAB_EQUALS, 0, lab_exact((double)h.not_refused),
                     "b = %u, %llu slots, f = %u: filters with such a class that refuse no key, load %.2f", s->b,
                     (unsigned long long)s->slots, g.f, 0.5 * threshold);
            lab_find(l, LAB_AT_LEAST, 1 - none_overfull(&g, h.keys), lab_share(h.refused, filters),
                     "b = %u, %llu slots, f = %u: share of filters that refuse a key, load %.2f", s->b,
                     (unsigned long long)s->slots, g.f, 0.5 * threshold);
        }
        if (i == 0) {
            uint64_t refused;
            uint64_t entries = fill_with_stash(l, &g, h.keys, filters, &refused, done);
            lab_find(l, LAB_EQUALS, 0, lab_exact((double)refused),
                     "b = %u, %llu slots, f = %u, a stash of %u: filters that refuse a key, load %.2f", s->b,
                     (unsigned long long)s->slots, g.f, STASH, 0.5 * threshold);
            lab_find(l, LAB_AT_LEAST, keys_too_many(&g, h.keys), lab_scaled(lab_count(entries), 1 / (double)filters),
                     "b = %u, %llu slots, f = %u: entries in the stash, keys beyond 2b in their classes", s->b,
                     (unsigned long long)s->slots, g.f);
        }
        /* With b = 1 filters stop somewhat below or above one half for any f, so only b = 2 is compared. Filters whose
         * searches are bounded stop somewhat below the threshold. */
        if (i == WIDTHS - 1 && s->b == 2)
            lab_find(l, s->slots <= GEOMETRY_SEARCHED_SLOTS ? LAB_EQUALS : LAB_AT_MOST, threshold, load,
                     "b = %u, %llu slots, f = %u: mean load at the first refusal, threshold", s->b,
                     (unsigned long long)s->slots, g.f);
        lab_at(points, g.f, load);
    }
}

/* Returns the fingerprint width that the planner chooses for n keys at a rate so high that it needs almost no bits. */
static unsigned planned_bits(lab *l, unsigned b, const char *insert, double n) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    char options[32];
    (void)snprintf(options, sizeof options, "b=%u insert=%s", b, insert);
    spec.kind = "cuckoo";
    spec.options = options;
    spec.capacity = (uint64_t)n;
    spec.rate = 0.9;
    lab_must(l, kith_filter_plan(&spec, &plan), "planning");
    return plan.fingerprint_bits;
}

static void planned(lab *l) {
    static const unsigned BUCKETS[] = {2, 4, 8};
    lab_plot *plot = lab_draw(l, "Fingerprints planned at a rate of 90%", "keys", "bits", LAB_LOG_X);
    for (unsigned i = 0; i < 3; i++) {
        unsigned b = BUCKETS[i], first = planned_bits(l, b, "walk", 1e4);
        lab_series *points = lab_points(plot, "no stash (insert=walk), b = %u", b),
                   *curve = lab_curve(plot, "slope 1/(2b), b = %u", b), *flat = lab_points(plot, "stash, b = %u", b);
        for (double n = 1e4; n <= 1e10; n *= 10) {
            lab_at(points, n, lab_exact(planned_bits(l, b, "walk", n)));
            lab_at(curve, n, lab_exact(first + log2(n / 1e4) / (2 * b)));
            lab_at(flat, n, lab_exact(planned_bits(l, b, "search", n)));
        }
        lab_find(l, LAB_EQUALS, planned_bits(l, b, "search", 1e4), lab_exact(planned_bits(l, b, "search", 1e10)),
                 "b = %u, with a stash: bits per fingerprint planned for 10^10 keys, as for 10^4", b);
    }
}

static void run(lab *l) {
    const sweep *sweeps = lab_is_quick(l) ? QUICK : FULL;
    unsigned count = lab_is_quick(l) ? sizeof QUICK / sizeof *QUICK : sizeof FULL / sizeof *FULL;
    uint64_t budget =
        lab_number(l, "slots"); /* slots to fill for each geometry, in at least 30 and at most 1000 filters */
    lab_parameter(l, "slots filled for each geometry", "%llu", (unsigned long long)budget);
    lab_plot *plot = lab_draw(l, "Load at the first refusal", "bits per fingerprint, f", "load", 0);
    sweep own[LAB_NUMBERS_MAX];
    if (lab_is_set(l, "b") || lab_is_set(l, "m")) {
        double sizes[LAB_NUMBERS_MAX];
        count = (unsigned)lab_list(l, "m", sizes);
        for (unsigned i = 0; i < count; i++) {
            const sweep *like = lab_number(l, "b") == 1 ? &FULL[0] : &FULL[3]; /* their widths */
            own[i] = *like;
            own[i].b = lab_number(l, "b") == 1 ? 1 : 2;
            own[i].slots = (uint64_t)sizes[i] / 4 * 4;
        }
        sweeps = own;
    }
    for (unsigned i = 0; i < count; i++) {
        uint64_t filters = budget / sweeps[i].slots;
        filters = filters < 30 ? 30 : filters > 1000 ? 1000 : filters;
        loads(l, &sweeps[i], filters, plot, (double)i / count);
    }
    for (unsigned b = 1; b <= 2; b++)
        measure_groups(l, b, budget / 64);
    planned(l);
}

const lab_claim lab_F7 = {
    .id = "F7",
    .title = "fingerprints that are too narrow",
    .sentence = "Fingerprints need Ω(log n/b) bits. With fewer, more than 2b keys share both buckets and the "
                "fingerprint, and the load that a filter without a stash reaches falls.",
    .formula = "P(refusal) ≥ 1 − (1 − p)^{M·F}, p = P(Bin(n, 1/(M·F)) > 2b)",
    .code = "src/plan/fit.c",
    .decides = "b = 1, 1024 slots, f = 4: mean load",
    .settings = {LAB_SIZE("slots", 262144, 2097152, 10000, 1e9, "slots to fill for each geometry"),
                 LAB_WHOLE("b", "1", 1, 2, 1, 2, "slots per bucket (with m, instead of the claim's own shapes)"),
                 LAB_WHOLES("m", "1024,16384", "1024,16384,131072", 1024, 1e6, 1024, 1e6, "slots of each filter")},
    .run = run,
};
