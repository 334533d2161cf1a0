/* F9: removing a key that was never added.
 *
 * The filter can't know: it removes an entry of that cell, if there is one. That happens at the rate, to 1 - (1 -
 * 1/C)^n of all absent keys, with C = P (2^f - 1) cells. When the cell held one key, that key is lost; when it held
 * more, the others still answer for it, until they go. So an absent key takes another with it with the probability that
 * its cell holds just one,
 *
 *     P(lost) = (n/C) (1 - 1/C)^(n - 1)
 *
 * exactly. (A key that is refused because its cell is full counts as one that is in: it is answered yes. With 4 bits
 * one filter in thousands refuses a key for lack of room, which changes nothing that could be seen.) After each removal
 * all n keys are asked for, and the entry is put back by adding the absent key, so that every trial finds the filter
 * full. One number a filter. */
#include <math.h>

#include "shaped.h"

enum { LEAST = 4, MOST = 14, STEP = 2 };

typedef struct shares {
    lab_sample removed, lost;
    uint64_t two_at_once; /* removals by which more than one key was lost */
    uint64_t misses;      /* removals of keys that are answered no that did not say KITH_E_ABSENT */
} shares;

static void one_filter(lab *l, const shaped_geometry *g, uint64_t n, uint64_t strangers, shares *s) {
    kith_filter *f = shaped_filter(l, g);
    uint64_t removed = 0, lost = 0;
    uint64_t refused = shaped_fill_past(l, f, 0, n), in = lab_ask(l, f, 0, n);
    lab_require(l, n - in <= refused, "a key that was added is not found");
    for (uint64_t i = 0; i < strangers; i++) {
        uint64_t key = lab_key(l, n + i);
        bool answer = kith_filter_has(f, &key, sizeof key);
        kith_status status = kith_filter_remove(f, &key, sizeof key);
        s->misses += (status == KITH_OK) != answer;
        if (status == KITH_E_ABSENT)
            continue;
        lab_must(l, status, "removing a key");
        uint64_t gone = in - lab_ask(l, f, 0, n);
        removed++;
        lost += gone != 0;
        s->two_at_once += gone > 1;
        lab_must(l, kith_filter_add(f, &key, sizeof key, NULL), "putting an entry back");
    }
    lab_sample_add(&s->removed, (double)removed / (double)strangers);
    lab_sample_add(&s->lost, (double)lost / (double)strangers);
    lab_drop(l, f);
}

static void run(lab *l) {
    uint64_t filters = lab_pick(l, 40, 300);
    lab_parameter(l, "b, slots, load", "4, 256, 0.75");
    lab_parameter(l, "filters of each f", "%llu", (unsigned long long)filters);
    lab_plot *plot = lab_draw(l, "Keys lost by removing absent ones", "bits of a fingerprint, f",
                              "share of removals tried", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "(n/C)(1 − 1/C)^(n−1)"), *points = lab_points(plot, "measured");
    unsigned most = lab_is_quick(l) ? 10 : MOST;
    for (unsigned bits = LEAST; bits <= most; bits += STEP) {
        shaped_geometry g = {4, bits, 32, 1, false};
        uint64_t n = shaped_slots(&g) * 3 / 4, strangers = bits < 10 ? UINT64_C(200) << (bits / 2) : 12800;
        double cells = shaped_cells(&g);
        shares s = {{0}, {0}, 0, 0};
        for (uint64_t i = 0; i < filters; i++) {
            one_filter(l, &g, n, strangers, &s);
            lab_going(l, ((bits - LEAST) + STEP * (double)i / (double)filters) / (most - LEAST + STEP));
        }
        double lost = (double)n / cells * pow(1 - 1 / cells, (double)n - 1);
        lab_find(l, LAB_MUST, LAB_EQUALS, lost, lab_mean(&s.lost), "f = %u: removals that lose another key", bits);
        lab_find(l, LAB_MUST, LAB_EQUALS, -expm1((double)n * log1p(-1 / cells)), lab_mean(&s.removed),
                 "f = %u: removals that succeed", bits);
        lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)(s.two_at_once + s.misses)),
                 "f = %u: removals that lose two keys, or differ from the answer before", bits);
        lab_at(curve, bits, lab_exact(lost));
        lab_at(points, bits, lab_mean(&s.lost));
    }
}

const lab_claim lab_F9 = {
    .id = "F9",
    .title = "removing what was never added",
    .sentence = "Removing a key that was never added can lose another one, at about the rate.",
    .formula = "P(lost) = (n/C)·(1 − 1/C)^{n−1}, C = M·(2^{f} − 1)",
    .code = "src/family/nest_search.h",
    .run = run,
};
