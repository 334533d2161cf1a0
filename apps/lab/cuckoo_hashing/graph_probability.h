/* graph_probability.h: the exact probability that the cuckoo graph of a table can hold all keys, or has no cycle, for
 * one table of m slots and for two halves of m/2.
 *
 * One table. The m slots of a table (layout=one, d = 2, b = 1) are the vertices of a graph, and its n keys are the
 * edges. Each key joins two slots that are drawn independently and may be the same. So there are m^(2n) graphs, all
 * equally likely.
 *
 * A key that joins two components reduces their number by one. Any other key closes a cycle. All keys can be placed
 * exactly when no component has more keys than slots. The graph then has t = m - n trees, and every other component has
 * exactly one cycle. Let T(z) = z e^T(z) be the generating function of rooted trees. Then T - T^2/2 is that of trees,
 * and 1/2 ln 1/(1 - T) is that of components with one cycle. (A loop or a double edge has weight 1/2, because half as
 * many draws produce it.) So the share of graphs in which all keys can be placed is
 *
 *     n! 2^n m! / (m^(2n) t!)  [z^m] (T - T^2/2)^t (1 - T)^(-1/2)
 *
 * Without the last factor this is the share of graphs that have no cycle at all. Lagrange inversion, [z^m] H(T) =
 * [u^m] H(u) (1 - u) e^(mu), turns it into the coefficient of u^n in (1 - u/2)^t (1 - u)^p e^(mu), with p = 1/2 or 1.
 *
 * The coefficient is computed as an integral over a circle. The circle passes through the saddle point at u = 2n/m, or
 * just inside the branch point at u = 1 if that is closer to 0. Sums over equidistant points of a circle converge
 * faster than any power; with 8192 points the relative error is less than 10^-9 for m up to 20000.
 *
 * Two halves. With layout=two a key is an edge between a slot of the first half and a slot of the second half, which
 * have r = m/2 slots each. There are r^(2n) graphs. Trees that are rooted in the first and in the second half have the
 * generating functions T = x e^U and U = y e^T. Trees have T + U - TU, components with one cycle 1/2 ln 1/(1 - TU): a
 * cycle alternates between the halves. So the share of graphs in which all keys can be placed is
 *
 *     n! (r!)^2 / (r^(2n) t!)  [x^r y^r] (T + U - TU)^t (1 - TU)^(-1/2)
 *
 * Lagrange inversion in two variables (Good, 1960), [x^r y^r] H(T, U) = [u^r v^r] H(u, v) (1 - uv) e^(r(u + v)), and
 * the same integral over two circles give it. As m grows, P(no cycle) tends to the square root of 1 - (2n/m)^2; with
 * one table that is 1 - 2n/m. With 1024 points on each circle the relative error of P(all fit) is less than 10^-9 for m
 * up to 16000. */
#ifndef LAB_CUCKOO_HASHING_GRAPH_PROBABILITY_H
#define LAB_CUCKOO_HASHING_GRAPH_PROBABILITY_H

#include <math.h>
#include <stdint.h>

enum { CIRCLE_POINTS = 8192, HALVES_POINTS = 1024 };

static inline double graph_probability(uint64_t keys, uint64_t slots, double p) {
    if (keys == 0)
        return 1;
    if (keys > slots)
        return 0;
    double n = (double)keys, m = (double)slots, t = m - n;
    double r = fmin(2 * n / m, 1 - 1 / cbrt(m));
    double log_factor = lgamma(n + 1) + n * log(2) + lgamma(m + 1) - 2 * n * log(m) - lgamma(t + 1);
    double sum = 0;
    for (int i = 0; i < CIRCLE_POINTS; i++) {
        double angle = acos(-1) * (2 * i + 1) / CIRCLE_POINTS, x = r * cos(angle), y = r * sin(angle);
        double size = t * log(hypot(1 - x / 2, y / 2)) + p * log(hypot(1 - x, y)) + m * x - n * log(r);
        double phase = t * atan2(-y / 2, 1 - x / 2) + p * atan2(-y, 1 - x) + m * y - n * angle;
        sum += exp(log_factor + size) * cos(phase);
    }
    return fmin(1, fmax(0, sum / CIRCLE_POINTS));
}

/* The same for two halves of slots/2. The integrand is symmetric in the two angles, so half of the points are
 * enough. */
static inline double halves_probability(uint64_t keys, uint64_t slots, double p) {
    if (keys == 0)
        return 1;
    if (keys > slots)
        return 0;
    double n = (double)keys, r = (double)slots / 2, t = 2 * r - n, pi = acos(-1), sum = 0;
    double radius = fmin(n / r, 1 - 1 / cbrt(2 * r));
    double log_factor = lgamma(n + 1) + 2 * lgamma(r + 1) - lgamma(t + 1) - 2 * n * log(r) - 2 * r * log(radius);
    for (int i = 0; i < HALVES_POINTS; i++)
        for (int j = 0; j <= i; j++) {
            double a = pi * (2 * i + 1) / HALVES_POINTS, b = pi * (2 * j + 1) / HALVES_POINTS;
            double ux = radius * cos(a), uy = radius * sin(a), vx = radius * cos(b), vy = radius * sin(b);
            double product_x = ux * vx - uy * vy, product_y = ux * vy + uy * vx;
            double x = ux + vx - product_x, y = uy + vy - product_y;
            double size = t * log(hypot(x, y)) + p * log(hypot(1 - product_x, product_y)) + r * (ux + vx) + log_factor;
            if (size < -45) /* too small to change the sum */
                continue;
            double phase = t * atan2(y, x) + p * atan2(-product_y, 1 - product_x) + r * (uy + vy - a - b);
            sum += (i == j ? 1 : 2) * exp(size) * cos(phase);
        }
    return fmin(1, fmax(0, sum / HALVES_POINTS / HALVES_POINTS));
}

/* P(no component has more keys than slots): all keys can be placed. */
static inline double probability_all_fit(uint64_t keys, uint64_t slots) {
    return graph_probability(keys, slots, 0.5);
}

static inline double probability_no_cycle(uint64_t keys, uint64_t slots) {
    return graph_probability(keys, slots, 1);
}

static inline double probability_all_fit_halves(uint64_t keys, uint64_t slots) {
    return halves_probability(keys, slots, 0.5);
}

static inline double probability_no_cycle_halves(uint64_t keys, uint64_t slots) {
    return halves_probability(keys, slots, 1);
}

/* The four of them by layout. */
typedef struct graph_layout {
    const char *name; /* the value of the table option `layout` */
    double (*all_fit)(uint64_t keys, uint64_t slots);
    double (*no_cycle)(uint64_t keys, uint64_t slots);
} graph_layout;

enum { GRAPH_LAYOUTS = 2 };
static const graph_layout GRAPH_LAYOUT[GRAPH_LAYOUTS] = {
    {"two", probability_all_fit_halves, probability_no_cycle_halves},
    {"one", probability_all_fit, probability_no_cycle}};

#endif
