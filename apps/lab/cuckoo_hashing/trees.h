/* trees.h: computes how many keys an insertion displaces, in the limit of many keys.
 *
 * Below a load of 1/2 nearly all components of the graph are trees. A tree with k slots has k - 1 keys, so one of its
 * slots is free. A new key whose candidate slots x and y are both occupied goes to x, and each key on the path from x
 * to the free slot moves one step along the path. So an insertion at load a moves a · E[distance of a slot from the
 * free slot of its tree] keys.
 *
 * With c = 2a there are n_k c^(k-1) e^(-ck) trees of k slots per slot of the table, n_k = k^(k-2)/k!. Let s_k c^(k-1)
 * e^(-ck) be the sum of the distances of all their slots from the free slot, also per slot of the table. The next key
 * joins a tree of i slots, which contains x, to a tree of j slots, which contains y.
 *
 *     If x is free, the key goes there, and every distance in the first tree grows by 1 + the distance of y.
 *     If only y is free, the same is true with the trees exchanged.
 *     If neither is free, a distance in the first tree becomes the distance from x, plus 1 + the distance of y.
 *
 * Let w_i be the mean sum of all distances from a slot of a random tree. The sum over all x and y is then
 *
 *     2(k-1) s_k = sum over i + j = k of  ij (s_i n_j + n_i s_j)  +  i n_i (j n_j + s_j)  +  j n_j ((i-1) n_i + s_i)
 *                                        +  (j-1) n_j i (w_i n_i - s_i)  +  i (i-1) n_i ((j-1) n_j + s_j)
 *
 *     w_i = sum over d of d (d+1) (i-1) … (i-d) / i^d
 *
 * Trees of more than 1500 slots contribute about 10^-5 of the sum at c = 0.9. */
#ifndef LAB_CUCKOO_HASHING_TREES_H
#define LAB_CUCKOO_HASHING_TREES_H

#include <math.h>

#include <lab/experiment.h>

enum { TREE_MAX = 1500 };

/* n_k and s_k, both multiplied by e^-k so that they do not overflow. */
typedef struct trees {
    double n[TREE_MAX + 1], s[TREE_MAX + 1];
} trees;

/* w_k */
static inline double trees_distances(double k) {
    double sum = 0, share = 1;
    for (double d = 1; d < k && share > 1e-18; d++) {
        share *= (k - d) / k;
        sum += d * (d + 1) * share;
    }
    return sum;
}

static inline void trees_sum(lab *l, trees *t) {
    double *w = lab_take(l, (TREE_MAX + 1) * sizeof *w);
    for (int k = 1; k <= TREE_MAX; k++) {
        t->n[k] = exp((k - 2) * log(k) - lgamma(k + 1) - k);
        w[k] = trees_distances(k);
        double sum = 0;
        for (int i = 1, j = k - 1; i < k; i++, j--) {
            double ni = t->n[i], nj = t->n[j], si = t->s[i], sj = t->s[j];
            sum += (double)i * j * (si * nj + ni * sj) + i * ni * (j * nj + sj) + j * nj * ((i - 1) * ni + si) +
                   (j - 1) * nj * i * (w[i] * ni - si) + (double)i * (i - 1) * ni * ((j - 1) * nj + sj);
        }
        t->s[k] = k == 1 ? 0 : sum / (2 * (k - 1));
    }
}

/* The mean number of moves per insertion at this load. */
static inline double trees_moves(const trees *t, double load) {
    double c = 2 * load, sum = 0;
    for (int k = 2; k <= TREE_MAX && c > 0; k++)
        sum += t->s[k] * exp((k - 1) * log(c) - (c - 1) * k);
    return load * sum;
}

#endif
