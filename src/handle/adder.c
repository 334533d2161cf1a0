/* Adders: several threads add keys to one Bloom filter at the same time.
 *
 * Setting bits is commutative, so threads need no lock: they set bits with atomic ORs. But they share the capacity. An
 * adder reserves capacity for several keys at a time, by increasing shared_count, and uses up capacity for one key
 * whenever a key changed a bit. When it closes, it returns what it has not used. It reserves about 1/64 of the
 * remaining capacity, at most 256 keys. That is enough to avoid contention on the counter, and so little that one
 * thread does not hold the last of the capacity while others need it.
 *
 *     head.count      fixed while adders are open
 *     shared_count    head.count + all that adders have reserved, whether used or not
 *     shared_fill     head.fill + the bits that adders have set. An adder reports the bits that it has set only before
 *                     it reserves capacity and when it closes. If shared_fill exceeds the fill limit
 *                     (kinds/shared/bit_cells.h), no more capacity is reserved
 *
 * The first adder to open copies count and fill out of the header, and the last one to close writes them back. A spin
 * lock around opening and closing ensures that there is exactly one first and one last.
 *
 * The lock and the number of adders share one word, f->adders, because another thread may wait until the filter is no
 * longer busy and then free it. The last adder to close therefore releases the lock and decrements the number in one
 * atomic operation, which is its last access to the filter. Before that it has returned its memory to the filter's
 * allocator. */
#include <assert.h>

#include "core/batch.h"
#include "kinds/kind.h"
#include "handle/handle.h"
#include "handle/verbs.h"

#define RESERVED_MAX 256

struct kith_adder {
    kith_filter *filter;
    uint64_t left;     /* reserved capacity that is not used yet */
    uint64_t set_bits; /* bits that it has set and not yet added to shared_fill */
};

static void lock(kith_filter *f) {
    while ((atomic_fetch_or_explicit(&f->adders, KITHI_ADDERS_LOCK, memory_order_acquire) & KITHI_ADDERS_LOCK) != 0) {
    }
}

static void unlock(kith_filter *f) {
    atomic_fetch_and_explicit(&f->adders, ~(unsigned)KITHI_ADDERS_LOCK, memory_order_release);
}

kith_status kith_adder_open(kith_filter *f, kith_adder **adder) {
    assert(f != NULL && adder != NULL);
    if ((f->shape.capabilities & KITH_CAN_SHARE) == 0)
        return KITH_E_UNSUPPORTED;
    lock(f);
    kith_status status = kithi_filter_busy(f) ? KITH_OK : kithi_filter_writable(f);
    unlock(f);
    if (status != KITH_OK)
        return status;
    kith_adder *a = kithi_allocate(&f->allocator, sizeof *a);
    if (a == NULL)
        return KITH_E_MEMORY;
    a->filter = f;
    lock(f);
    if (!kithi_filter_busy(f)) {
        f->sealed = false;
        atomic_store_explicit(&f->changing, false, memory_order_relaxed);
        atomic_store(&f->shared_count, f->head.count);
        atomic_store(&f->shared_fill, f->head.fill);
        kithi_before_fill(f, true);
    }
    atomic_fetch_add_explicit(&f->adders, KITHI_ADDERS_ONE, memory_order_relaxed);
    unlock(f);
    *adder = a;
    return KITH_OK;
}

static void report_bits(kith_adder *a) {
    atomic_fetch_add_explicit(&a->filter->shared_fill, a->set_bits, memory_order_relaxed);
    a->set_bits = 0;
}

/* Reserves capacity for more keys, of which this digest is the first. Returns false if there is none left, if more bits
 * are set than the fill limit allows, or if the filter is crowded. */
static bool reserve_capacity(kith_adder *a, uint64_t digest) {
    kith_filter *f = a->filter;
    report_bits(a);
    if (atomic_load_explicit(&f->shared_fill, memory_order_relaxed) > f->geometry.fill_limit)
        return false;
    if (f->kind->shared.add(f, digest, KITHI_SHARED_CHECK) == KITHI_SHARED_REFUSED)
        return false;
    uint64_t taken = atomic_load_explicit(&f->shared_count, memory_order_relaxed);
    uint64_t reserved;
    do {
        uint64_t left = f->head.capacity - taken;
        if (left == 0)
            return false;
        reserved = left / 64 + 1;
        if (reserved > RESERVED_MAX)
            reserved = RESERVED_MAX;
    } while (!atomic_compare_exchange_weak_explicit(&f->shared_count, &taken, taken + reserved, memory_order_relaxed,
                                                    memory_order_relaxed));
    a->left = reserved;
    return true;
}

static kith_status add_shared(kith_adder *a, uint64_t digest, bool *was_new) {
    kith_filter *f = a->filter;
    if (a->left == 0 && !reserve_capacity(a, digest)) {
        *was_new = false;
        return f->kind->shared.add(f, digest, KITHI_SHARED_LOOK) == 0 ? KITH_OK : KITH_E_FULL;
    }
    unsigned set_bits = f->kind->shared.add(f, digest, KITHI_SHARED_SET);
    *was_new = set_bits != 0 && set_bits != KITHI_SHARED_REFUSED;
    if (set_bits == KITHI_SHARED_REFUSED)
        return KITH_E_FULL;
    a->set_bits += set_bits;
    a->left -= *was_new;
    return KITH_OK;
}

kith_status kith_adder_add(kith_adder *a, const void *key, size_t key_bytes, bool *was_new) {
    assert(a != NULL);
    bool is_new;
    kith_status status = add_shared(a, kith_filter_digest(a->filter, key, key_bytes), &is_new);
    if (status == KITH_OK && was_new != NULL)
        *was_new = is_new;
    return status;
}

kith_status kith_adder_add_many(kith_adder *a, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    assert(a != NULL && (digests != NULL || n == 0));
    kith_status status = KITH_OK;
    size_t i = 0, prefetched = 0, ahead = KITHI_AHEAD / a->filter->shape.lines + 1;
    for (; i < n; i++) {
        for (; prefetched < n && prefetched <= i + ahead; prefetched++)
            a->filter->kind->shared.prefetch(a->filter, digests[prefetched]);
        bool is_new;
        status = add_shared(a, digests[i], &is_new);
        if (was_new != NULL) {
            if (i % 64 == 0)
                was_new[i / 64] = 0;
            was_new[i / 64] |= (uint64_t)is_new << (i % 64);
        }
        if (status != KITH_OK)
            break;
    }
    if (was_new != NULL)
        for (size_t word = i / 64 + 1; word < n / 64 + (n % 64 != 0); word++)
            was_new[word] = 0;
    if (done != NULL)
        *done = i;
    return status;
}

void kith_adder_close(kith_adder *a) {
    if (a == NULL)
        return;
    kith_filter *f = a->filter;
    lock(f);
    report_bits(a);
    atomic_fetch_sub_explicit(&f->shared_count, a->left, memory_order_relaxed);
    if (atomic_load_explicit(&f->adders, memory_order_relaxed) == KITHI_ADDERS_ONE + KITHI_ADDERS_LOCK) {
        f->head.count = atomic_load(&f->shared_count);
        f->head.fill = atomic_load(&f->shared_fill);
        kithi_after_fill(f, false);
    }
    kithi_release(&f->allocator, a, sizeof *a);
    atomic_fetch_sub_explicit(&f->adders, KITHI_ADDERS_ONE + KITHI_ADDERS_LOCK, memory_order_release);
}
