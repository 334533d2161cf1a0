/* verbs.c: the timed calls that use several threads; see verbs.h. */
#include "verbs.h"

#include <stdatomic.h>

typedef struct batch {
    kith_filter *added_to;
    const uint64_t *digests;
    atomic_size_t done;
} batch;

static void add_part(void *context, size_t from, size_t to) {
    batch *b = context;
    kith_adder *adder;
    if (kith_adder_open(b->added_to, &adder) != KITH_OK)
        return;
    size_t done = 0;
    if (kith_adder_add_many(adder, b->digests + from, to - from, NULL, &done) == KITH_OK)
        atomic_fetch_add(&b->done, done);
    kith_adder_close(adder);
}

size_t verb_add_many(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads) {
    if (threads == 1) {
        size_t done = 0;
        return kith_filter_add_many(f, digests, n, NULL, &done) == KITH_OK ? done : 0;
    }
    batch b = {.added_to = f, .digests = digests};
    run_parts(threads, n, add_part, &b);
    return atomic_load(&b.done);
}
