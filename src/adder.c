/* Adders: many threads, one Bloom filter.
 *
 * Setting bits commutes, so threads need no lock: they set bits by atomic OR. What must be shared is the promise, the
 * capacity. An adder takes a block of it at a time from shared_count and pays for each key that changed a bit; what is
 * left it gives back when it closes. Blocks are a sixty-fourth of what is left, at most 256: large enough that the
 * counter is not fought over, small enough that the last places are not hoarded by one thread.
 *
 *     head.count      fixed while adders are open
 *     shared_count    head.count + what adders hold or have spent
 *     shared_fill     head.fill + bits set by blocks that are finished; the guard against chosen keys reads it
 *
 * The first adder to open copies count and fill out of the header, the last one to close writes them back. A spin lock
 * around opening and closing makes sure that there is one first and one last.
 *
 * Lock and number of adders share one word, f->adders, because an owner may wait until the filter is no longer busy
 * and then free it from another thread. The last adder therefore lets go of the lock and of the filter in one atomic
 * step, which is its last access to the filter; by then it has given its memory back to the filter's allocator, too. */
#include <assert.h>

#include "core/batch.h"
#include "kind.h"
#include "handle.h"

#define BLOCK_MAX 256

struct kith_adder {
    kith_filter *filter;
    uint64_t left;     /* places in hand */
    uint64_t set_bits; /* not yet in shared_fill */
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
        atomic_store(&f->shared_count, f->head.count);
        atomic_store(&f->shared_fill, f->head.fill);
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

/* Takes a block of capacity; false when there is none, or when the bits are past what the capacity allows. */
static bool take_places(kith_adder *a) {
    kith_filter *f = a->filter;
    report_bits(a);
    if (f->kind->full(f, atomic_load_explicit(&f->shared_fill, memory_order_relaxed)))
        return false;
    uint64_t taken = atomic_load_explicit(&f->shared_count, memory_order_relaxed);
    uint64_t block;
    do {
        uint64_t left = f->head.capacity - taken;
        if (left == 0)
            return false;
        block = left / 64 + 1;
        if (block > BLOCK_MAX)
            block = BLOCK_MAX;
    } while (!atomic_compare_exchange_weak_explicit(&f->shared_count, &taken, taken + block, memory_order_relaxed,
                                                    memory_order_relaxed));
    a->left = block;
    return true;
}

static kith_status add_shared(kith_adder *a, uint64_t digest, bool *was_new) {
    kith_filter *f = a->filter;
    if (a->left == 0 && !take_places(a)) {
        *was_new = false;
        return f->kind->add_shared(f, digest, false) == 0 ? KITH_OK : KITH_E_FULL;
    }
    unsigned set_bits = f->kind->add_shared(f, digest, true);
    *was_new = set_bits != 0;
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
    size_t i = 0, asked = 0, ahead = KITHI_AHEAD / a->filter->shape.lines + 1;
    for (; i < n; i++) {
        for (; asked < n && asked <= i + ahead; asked++)
            a->filter->kind->prefetch(a->filter, digests[asked]);
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
    }
    kithi_release(&f->allocator, a, sizeof *a);
    atomic_fetch_sub_explicit(&f->adders, KITHI_ADDERS_ONE + KITHI_ADDERS_LOCK, memory_order_release);
}
