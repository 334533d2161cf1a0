/* full.c: finds out why a filter is full; see full.h.
 *
 * Bloom filters. Assume that N distinct keys were added, that they set F of the m bits, k bits per key, and that C of
 * them set a new bit (C is the count of the filter). For keys that were not chosen by an attacker, up to random
 * deviations,
 *
 *     keys(F) = N       the estimate of kith_filter_stats
 *     C = N - P         P keys were false positives when added: at most N * rate_now, because the rate only grows
 *
 * so keys(F) - N * rate_now - C is at most 0, with a variance of at most that of keys(F) plus that of P. If the m bits
 * were set independently, the variance of F would be m z (1 - z), where z is the fraction of zero bits. The true
 * variance is smaller, at half load by a factor of 3.3 for one array of bits and of 2.4 or more for blocks. The
 * slope dF/dN is k z.
 *
 * Chosen keys that always set k new bits reach half load with 0.72 N keys. The difference is 0.28 N, which is more than
 * six standard deviations from about a hundred keys on.
 *
 * In a blocked filter, keys can also be chosen to crowd some blocks. They set few bits, but raise the rate. The library
 * refuses a key that would raise it above 1.25 times the promised one, or more. The rate may be far below that before,
 * because in a small filter one key can raise it by a lot. But the bits tell: keys that are refused because of the
 * number of bits have set as many as more than `capacity` random keys. */
#include "cli/commands/full.h"

#include <math.h>

#include "cli/files/filters.h"
#include "cli/output/report.h"
#include "cli/values.h"

#define NOTED_STORE_BYTES (UINT64_C(16) << 20)

static kith_filter_stats stats_must(const kith_filter *filter) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_status status = kith_filter_stats_of(filter, &stats);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    return stats;
}

double full_keys(const kith_filter *filter) {
    kith_filter_stats stats = stats_must(filter);
    return fmax(stats.keys_now, (double)stats.count);
}

static bool keys_explain_bits(const kith_filter_stats *stats, unsigned hashes) {
    double zero = 1 - stats->load;
    if (zero <= 0)
        return false;
    double false_positives = stats->keys_now * stats->rate_now;
    double slope = hashes * zero;
    double variance = (double)stats->cells * zero * (1 - zero) / (slope * slope) + false_positives;
    return stats->keys_now - false_positives - (double)stats->count <= 6 * sqrt(variance);
}

/* Returns whether a filter that refuses keys is crowded. */
static bool is_crowded(const kith_filter *filter, const kith_filter_stats *stats) {
    return stats->rate_now > 1.2 * stats->rate || stats->keys_now <= (double)kith_filter_capacity(filter);
}

typedef enum full_cause {
    FULL_OVERFLOW, /* more distinct keys were added than the capacity */
    FULL_CHOSEN,   /* more bits are set than the keys explain, by six standard deviations; or some blocks are crowded */
    FULL_CROWDED,  /* a kind with slots: below its capacity, but the slots of one key are occupied */
    FULL_GROWN,    /* a kind that grows has the maximum number of layers, and all of them are full */
} full_cause;

static full_cause because(const char *name, const kith_filter *filter, uint64_t offered) {
    uint32_t can = kith_filter_capabilities(filter);
    uint64_t capacity = kith_filter_capacity(filter);
    bool grows = (can & KITH_CAN_GROW) != 0;
    if (kith_filter_count(filter) >= capacity)
        return grows ? FULL_GROWN : FULL_OVERFLOW;
    unsigned hashes = plan_must(name, filter).hashes;
    if (hashes == 0)
        return grows ? FULL_GROWN : FULL_CROWDED;
    /* Kinds that store copies count every key, so below the capacity there are not too many keys. */
    if ((can & KITH_CAN_COPIES) != 0 || offered <= capacity)
        return FULL_CHOSEN;
    kith_filter_stats stats = stats_must(filter);
    if (is_crowded(filter, &stats) || !keys_explain_bits(&stats, hashes))
        return FULL_CHOSEN;
    return grows ? FULL_GROWN : FULL_OVERFLOW;
}

void fail_static(const char *name) {
    fail("%s: these keys collide with every seed that was tried, so they were probably chosen to prevent it. Use "
         "--untrusted, which hashes with a secret key, or -k ribbon, which any keys fit into.",
         name);
}

void fail_full(const char *name, const kith_filter *filter, uint64_t offered) {
    full_cause cause = because(name, filter, offered);
    value_text count, capacity, keys;
    text_of_keys(kith_filter_count(filter), count);
    if (cause == FULL_OVERFLOW)
        return;
    if (cause == FULL_GROWN)
        fail("%s: it cannot grow any further; it holds %s", name, count);
    if (cause == FULL_CROWDED)
        fail("%s: no free slot for a key after %s of %s: copies of the same keys, or keys that were chosen to attack "
             "it, "
             "fill some buckets. Use -k counting for copies, --untrusted for keys that others choose.",
             name, count, text_of_integer(kith_filter_capacity(filter), capacity));
    kith_filter_stats stats = stats_must(filter);
    if (is_crowded(filter, &stats)) {
        value_text rate_now, rate;
        fail("%s: after %s its false positive rate is %s (promised: %s), and these keys crowd parts of it more than "
             "random keys do. They were probably chosen to crowd it. Use --untrusted, which hashes with a secret key.",
             name, count, text_of_rate(stats.rate_now, rate_now), text_of_rate(stats.rate, rate));
    }
    fail(
        "%s: %s set as many bits as about %s random keys would, so these keys were probably chosen to overfill it. Use "
        "--untrusted, which hashes with a secret key.",
        name, count, text_of_integer((uint64_t)llround(full_keys(filter)), keys));
}

void full_note_rate(const char *name, const kith_filter *filter, bool is_store) {
    if (is_store && kith_filter_file_bytes(filter) > NOTED_STORE_BYTES)
        return;
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    value_text rate_now, rate;
    if (kith_filter_stats_of(filter, &stats) == KITH_OK && stats.rate_now > stats.rate)
        note("%s: its false positive rate is %s, above the %s that it promises, by chance or because of chosen keys",
             name, text_of_rate_beside(stats.rate_now, stats.rate, rate_now), text_of_rate(stats.rate, rate));
}
