/* F1: the false positive rate of a cuckoo filter.
 *
 * A key is reported as present exactly when the filter holds a key of its class, the pair of its buckets together with
 * its fingerprint. With M pairs of buckets and F = 2^f - 1 fingerprints (0 means an empty slot) there are M F classes,
 * all equally likely. None of n = 2 b M α keys is in a given class with probability (1 - 1/(M F))^n. This is exact for
 * every load. The formula of the document, 1 - (1 - 2^-f)^(2bα), has 2^f instead of F and treats slots as independent;
 * it is shown in the plot for comparison. Overlapping windows have M windows per half, 2(M + 1) slots, and the same
 * formula.
 *
 * The filters are small, because with few keys the rate differs most from its limit. */
#include <math.h>
#include <stdio.h>

#include "geometry.h"

typedef struct trial {
    geometry g;
    double load;
} trial;

static const trial TRIALS[] = {
    {{4, 8, 64, 1, false}, 0.25},  {{4, 8, 64, 1, false}, 0.5},   {{4, 8, 64, 1, false}, 0.75},
    {{4, 8, 64, 1, false}, 0.93},  {{4, 4, 32, 1, false}, 0.8},   {{4, 6, 64, 1, false}, 0.9},
    {{4, 10, 64, 1, false}, 0.93}, {{1, 6, 512, 1, false}, 0.25}, {{2, 8, 128, 1, false}, 0.75},
    {{8, 8, 32, 1, false}, 0.95},  {{4, 8, 128, 1, true}, 0.93},  {{0, 7, 256, 1, false}, 0.9},
};
enum { TRIAL_COUNT = sizeof TRIALS / sizeof *TRIALS };

static double document_rate(const geometry *g, double load) {
    return -expm1(2 * g->b * load * log1p(-ldexp(1, -(int)g->f)));
}

/* If the user sets b, f or the load: every combination of them, in filters of about 512 slots. Returns how many, or 0
 * if nothing is set. */
static size_t own_trials(lab *l, trial *own) {
    double bs[LAB_NUMBERS_MAX], loads[LAB_NUMBERS_MAX];
    size_t count = 0, b_count = lab_list(l, "b", bs), load_count = lab_list(l, "load", loads);
    if (!lab_is_set(l, "b") && !lab_is_set(l, "f") && !lab_is_set(l, "load"))
        return 0;
    for (size_t i = 0; i < b_count; i++)
        for (size_t j = 0; j < load_count && count < (size_t)LAB_NUMBERS_MAX * 4; j++) {
            unsigned b = (unsigned)bs[i] >= 8 ? 8 : (unsigned)bs[i] >= 4 ? 4 : (unsigned)bs[i];
            b = b == 3 ? 2 : b;
            own[count++] = (trial){{b, (unsigned)lab_number(l, "f"), 256 / b, 1, false}, loads[j]};
        }
    return count;
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters"), lookups = lab_number(l, "asked");
    lab_parameter(l, "slots", "256 to 1024");
    lab_parameter(l, "filters of each geometry", "%llu", (unsigned long long)filters);
    lab_parameter(l, "absent keys looked up in each", "%llu", (unsigned long long)lookups);
    lab_plot *plot = lab_draw(l, "False positives, b = 4, f = 8", "load, α", "rate", 0);
    lab_series *curve = lab_curve(plot, "1 − (1 − 1/(M F))^n"), *near = lab_curve(plot, "1 − (1 − 2^−f)^(2bα)");
    lab_series *points = lab_points(plot, "measured");
    for (double load = 0; load <= 1; load += 0.05) {
        lab_at(curve, load, lab_exact(geometry_exact_rate(&TRIALS[0].g, load * (double)geometry_slots(&TRIALS[0].g))));
        lab_at(near, load, lab_exact(document_rate(&TRIALS[0].g, load)));
    }
    lab_plot *all =
        lab_draw(l, "False positives, all geometries", "predicted rate", "measured rate", LAB_LOG_X | LAB_LOG_Y);
    lab_series *diagonal = lab_curve(all, "equal"), *pairs = lab_points(all, "measured");
    lab_at(diagonal, 0.004, lab_exact(0.004));
    lab_at(diagonal, 0.5, lab_exact(0.5));
    trial own[LAB_NUMBERS_MAX * 4];
    size_t count = own_trials(l, own);
    bool is_set = count > 0;
    count = is_set ? count : TRIAL_COUNT;
    for (size_t i = 0; i < count; i++) {
        const trial *t = is_set ? &own[i] : &TRIALS[i];
        uint64_t slots = geometry_slots(&t->g), n = (uint64_t)(t->load * (double)slots);
        double predicted = geometry_exact_rate(&t->g, (double)n);
        lab_estimate rate = geometry_rate(l, &t->g, n, filters, lookups, (double)i / (double)count);
        char name[48];
        if (t->g.b == 0)
            (void)snprintf(name, sizeof name, "windows, f = %u, load %.2f", t->g.f, t->load);
        else
            (void)snprintf(name, sizeof name, "b = %u, f = %u%s, load %.2f", t->g.b, t->g.f,
                           t->g.simple ? ", simple" : "", t->load);
        /* With windows a lookup compares 4 slots on f + 1 bits, which is equivalent to 2 slots on f bits. */
        unsigned slots_compared = t->g.b == 0 ? 2 : 2 * t->g.b;
        lab_find(l, LAB_EQUALS, predicted, rate, "%s: rate", name);
        lab_find(l, LAB_AT_MOST, ldexp(slots_compared, -(int)t->g.f), rate, "%s: rate, bound %u/2^f", name,
                 slots_compared);
        lab_known(l, predicted);
        lab_at(pairs, predicted, rate);
        if (!is_set && i < 4)
            lab_at(points, t->load, rate);
    }
}

const lab_claim lab_F1 = {
    .id = "F1",
    .title = "false positive rate of a cuckoo filter",
    .sentence = "An absent key is reported as present with probability about 1 − (1 − 2^−f)^(2bα), which is at most "
                "2b/2^f.",
    .formula = "ε = 1 − (1 − 1/(M·(2^{f} − 1)))^{n} ≈ 1 − (1 − 2^{−f})^{2bα} ≤ 2b/2^{f}",
    .code = "src/plan/fit.c",
    .decides = "load 0.95: rate",
    .settings = {LAB_SIZE("filters", 100, 400, 2, 1e6, "filters of each load"),
                 LAB_SIZE("asked", 3000, 20000, 100, 1e8, "absent keys looked up in each"),
                 LAB_WHOLES("b", "2,4,8", "2,4,8", 1, 8, 2, 8,
                            "slots per bucket, 1, 2, 4 or 8 (with f and load: every combination)"),
                 LAB_WHOLE("f", "8", 4, 32, 5, 12, "bits per fingerprint"),
                 LAB_LIST("load", "0.25,0.5,0.75", "0.25,0.5,0.75", 0.01, 0.98, 0.05, 0.8, "keys per slot")},
    .run = run,
};
