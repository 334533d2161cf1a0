/* The exact rate of a Bloom filter that is one array of m bits for all k hashes (layout=whole).
 *
 * The N = k n hashes of n keys have set X bits, and a lookup returns true with probability (X/m)^k. The rate is the
 * mean of that:
 *
 *     rate = sum over j of P(j) Q(j)        P(j)  probability that the k hashes of a lookup select j different bits
 *                                           Q(j)  probability that N hashes hit all of j given bits
 *
 * The textbook sums for Q(j) alternate in sign and lose all digits; a table of the distribution of X takes N m steps.
 * So Q(j) is computed with a generating function instead. Let [z^N] be the coefficient of z^N. The number of sequences
 * of N hashes that hit all of j given bits is N! [z^N] e^((m - j) z) (e^z - 1)^j. Replacing z by z/m divides this
 * number by m^N, the number of all sequences, which gives
 *
 *     Q(j) = N! [z^N] e^z (1 - e^(-z/m))^j
 *
 *     rate = N! [z^N] e^z G(z)              G(z) = sum over j of P(j) (1 - e^(-z/m))^j
 *
 * By Cauchy's formula the coefficient is an integral over the circle z = r e^(i t), for any r:
 *
 *     rate = N! e^r r^-N G(r)  *  mean over t of  e^(r (e^(it) - 1) - i N t) G(r e^(it)) / G(r)
 *
 * If r is the saddle point, where e^z z^-N G(z) is least on the positive axis, the integrand is 1 at t = 0 and falls
 * off like a normal density from there, so nothing cancels. The trapezoidal rule converges exponentially for such an
 * integral. It uses N + 200 points around the circle or, for large N, steps of 0.4 standard deviations, out to 10
 * standard deviations on each side. Its error is far below the rounding errors. tests/unit/whole.c compares the result
 * with the distribution of X. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "plan/sizing.h"

/* Up to this many hashes the whole circle is summed. */
#define CIRCLE_MAX 4096

double kithi_whole_all_cells_have(unsigned k, uint64_t m, double q) {
    /* p[j]: the probability that the hashes so far select j different cells. */
    double p[KITHI_BLOOM_K_MAX + 1] = {1}, sum = 0, power = 1;
    for (unsigned hash = 0; hash < k; hash++) {
        for (unsigned j = hash + 1; j > 0; j--)
            p[j] = p[j] * j / (double)m + p[j - 1] * fmax(0, 1 - (j - 1) / (double)m);
        p[0] = 0;
    }
    for (unsigned j = 1; j <= k; j++) {
        power *= q;
        sum += p[j] * power;
    }
    return sum;
}

/* The coefficients of G for one filter. log_ways[j] is the logarithm of P(j) m^(k - j), which, unlike P(j), never
 * underflows. */
typedef struct terms {
    unsigned k;
    double m;
    double log_ways[KITHI_BLOOM_K_MAX + 1];
} terms;

/* The terms of the sum G(r). */
typedef struct shares {
    double of[KITHI_BLOOM_K_MAX + 1]; /* [j]: term j divided by G(r), so that they add up to 1 */
    double hit;                       /* 1 - e^(-r/m) */
    double log_g;                     /* log G(r) */
} shares;

static terms terms_of(unsigned k, double m) {
    double ways[KITHI_BLOOM_K_MAX + 1] = {1};
    for (unsigned hash = 0; hash < k; hash++) {
        for (unsigned j = hash + 1; j > 0; j--)
            ways[j] = ways[j] * j + ways[j - 1] * fmax(0, 1 - (j - 1) / m);
        ways[0] = 0;
    }
    terms t = {.k = k, .m = m};
    for (unsigned j = 0; j <= k; j++)
        t.log_ways[j] = log(ways[j]); /* -infinity if P(j) is 0 */
    return t;
}

static shares shares_at(const terms *t, double r) {
    shares s = {.hit = -expm1(-r / t->m)};
    double log_base = log(s.hit * t->m), most = -INFINITY, sum = 0;
    for (unsigned j = 1; j <= t->k; j++) {
        s.of[j] = t->log_ways[j] + j * log_base;
        most = s.of[j] > most ? s.of[j] : most; /* with fmax(), gcc 12 for aarch64 has an internal error */
    }
    for (unsigned j = 1; j <= t->k; j++) {
        s.of[j] = exp(s.of[j] - most);
        sum += s.of[j];
    }
    for (unsigned j = 1; j <= t->k; j++)
        s.of[j] /= sum;
    /* cppcheck-suppress invalidFunctionArg ; k is at least 1, and the term of the largest share is 1 */
    s.log_g = most + log(sum) - t->k * log(t->m);
    return s;
}

/* Returns a number that is positive if r is above the saddle point and negative if it is below: the derivative of
 * log(e^z z^-N G(z)) with respect to log z, at z = r. */
static double above_saddle(const terms *t, double r, double hashes) {
    shares s = shares_at(t, r);
    double mean = 0, x = r / t->m;
    for (unsigned j = 1; j <= t->k; j++)
        mean += j * s.of[j];
    return r - hashes + mean * x * exp(-x) / s.hit;
}

/* Returns approximately the saddle point, which is between N - k and N. Any r gives the same integral, so an
 * approximation suffices. */
static double saddle(const terms *t, double hashes) {
    double low = fmax(hashes - t->k, 1e-3), high = hashes;
    for (unsigned step = 0; step < 30; step++) {
        double middle = (low + high) / 2;
        if (above_saddle(t, middle, hashes) > 0)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* sin(t) - t without a difference of nearly equal numbers. */
static double sine_minus(double t) {
    if (fabs(t) > 0.1)
        return sin(t) - t;
    double square = t * t;
    return -t * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)));
}

/* Not every system's I and CMPLX are standard C. */
static double complex complex_of(double real, double imaginary) {
    const double parts[2] = {real, imaginary};
    double complex z;
    memcpy(&z, parts, sizeof z);
    return z;
}

/* Returns the real part of the integrand. `angle` is the t of the formulas above. The imaginary parts at `angle` and at
 * -`angle` cancel. */
static double integrand(const terms *t, const shares *s, double r, double hashes, double angle) {
    double x = r / t->m, a = -x * cos(angle), b = -x * sin(angle), half = sin(b / 2), turn = sin(angle / 2);
    /* e^(a + ib) - 1, precise for small a and b; a + ib is -z/m */
    double complex exp_minus_1 = complex_of(expm1(a) * cos(b) - 2 * half * half, exp(a) * sin(b));
    double complex ratio = -exp_minus_1 / s->hit, g = 0; /* g becomes G(z) / G(r) */
    double log_size = -2 * r * turn * turn;              /* the real part of r (e^(it) - 1) */
    if (log_size + t->k * fmax(0, log(cabs(ratio))) < -100)
        return 0; /* the integrand is negligible here, and powers of the ratio could overflow */
    for (unsigned j = t->k; j > 0; j--)
        g = (g + s->of[j]) * ratio;
    double phase = (r - hashes) * angle + r * sine_minus(angle);
    return exp(log_size) * (creal(g) * cos(phase) - cimag(g) * sin(phase));
}

/* log(N! / (N/e)^N), by Stirling's series where that is precise to 10^-13. */
static double log_stirling(double hashes) {
    const double two_pi = 6.283185307179586;
    if (hashes < 256) {
        double sum = hashes;
        for (unsigned i = 1; i <= hashes; i++)
            sum += log(i / hashes);
        return sum;
    }
    return 0.5 * log(two_pi * hashes) + 1 / (12 * hashes) - 1 / (360 * hashes * hashes * hashes);
}

double kithi_whole_rate(unsigned k, uint64_t m, uint64_t n) {
    if (n == 0 || m == 1)
        return n != 0;
    const double pi = 3.141592653589793;
    double hashes = (double)k * (double)n;
    terms t = terms_of(k, (double)m);
    double r = saddle(&t, hashes);
    shares s = shares_at(&t, r);
    double points = hashes <= CIRCLE_MAX ? hashes + 200 : 5 * pi * sqrt(hashes);
    double last = hashes <= CIRCLE_MAX ? floor((points - 1) / 2) : 25;
    double sum = integrand(&t, &s, r, hashes, 0);
    for (unsigned i = 1; i <= last; i++)
        sum += 2 * integrand(&t, &s, r, hashes, 2 * pi * i / points);
    if (hashes <= CIRCLE_MAX && fmod(points, 2) == 0)
        sum += integrand(&t, &s, r, hashes, pi);
    /* With r = N (1 + x), N! e^r r^-N is N! / (N/e)^N * e^(N (x - log(1 + x))). This has no large terms that cancel. */
    double x = (r - hashes) / hashes;
    double rate = exp(log_stirling(hashes) + hashes * (x - log1p(x)) + s.log_g) * sum / points;
    /* N hashes set at most N bits, so the rate is at most (N/m)^k. With one key it may be equal to this bound, and
     * plans rely on a result that does not exceed it. */
    return fmin(rate, fmin(1, exp(k * log(hashes / (double)m))));
}
