/* chance.h: how likely the graph of a cuckoo table is of a given sort, exactly.
 *
 * The places of a table (layout=one, d = 2, b = 1) are the m vertices of a graph, its n keys the edges: each joins two
 * places that are drawn independently, which may be the same, so there are m^(2n) graphs, all alike. A key that joins
 * two components takes one from their number, and one that does not closes a cycle; so when no component holds more
 * keys than places, there are t = m - n trees, and all other components have just one cycle. With T(z) = z e^T(z) the
 * generating function of rooted trees, T - T^2/2 is that of trees and 1/2 ln 1/(1 - T) that of components with one
 * cycle (a loop and a double edge count half, as they come in half as many ways). The share of such graphs is therefore
 *
 *     n! 2^n m! / (m^(2n) t!)  [z^m] (T - T^2/2)^t (1 - T)^(-1/2)
 *
 * and without the last factor it is the share of graphs that have no cycle at all. Lagrange's inversion, [z^m] H(T) =
 * [u^m] H(u) (1 - u) e^(mu), makes of it the coefficient of u^n in (1 - u/2)^t (1 - u)^p e^(mu), p = 1/2 or 1: an
 * integral over a circle, which passes through the saddle at u = 2n/m, or just inside of the branch point at u = 1
 * where that comes first. Sums over equidistant points of a circle converge faster than any power; 8192 of them leave
 * less than 10^-9 of the value for m up to 20000. */
#ifndef LAB_CUCKOO_HASHING_CHANCE_H
#define LAB_CUCKOO_HASHING_CHANCE_H

#include <math.h>
#include <stdint.h>

enum { CHANCE_POINTS = 8192 };

static inline double chance_of(uint64_t keys, uint64_t places, double p) {
    if (keys == 0)
        return 1;
    if (keys > places)
        return 0;
    double n = (double)keys, m = (double)places, t = m - n;
    double r = fmin(2 * n / m, 1 - 1 / cbrt(m));
    double ways = lgamma(n + 1) + n * log(2) + lgamma(m + 1) - 2 * n * log(m) - lgamma(t + 1);
    double sum = 0;
    for (int i = 0; i < CHANCE_POINTS; i++) {
        double angle = acos(-1) * (2 * i + 1) / CHANCE_POINTS, x = r * cos(angle), y = r * sin(angle);
        double size = t * log(hypot(1 - x / 2, y / 2)) + p * log(hypot(1 - x, y)) + m * x - n * log(r);
        double phase = t * atan2(-y / 2, 1 - x / 2) + p * atan2(-y, 1 - x) + m * y - n * angle;
        sum += exp(ways + size) * cos(phase);
    }
    return fmin(1, fmax(0, sum / CHANCE_POINTS));
}

/* P(every component has at least as many places as keys): all keys can be placed. */
static inline double chance_of_room(uint64_t keys, uint64_t places) {
    return chance_of(keys, places, 0.5);
}

/* P(no cycle). */
static inline double chance_of_forest(uint64_t keys, uint64_t places) {
    return chance_of(keys, places, 1);
}

#endif
