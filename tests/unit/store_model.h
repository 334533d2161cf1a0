/* store_model.h: random calls of a store in memory, and a model of what they must have done.
 *
 * The model is a plain filter, to which the same operations are applied. The calls since the last time both were
 * compared are logged with the sequence number that the journal has after each. After a power cut, the recovered store
 * says up to which sequence number it got. That must be the end of a call (so no batch is there in part), at least the
 * last one that was acknowledged as durable, and the bytes must be those of the model after that call. */
#ifndef KITH_TESTS_UNIT_STORE_MODEL_H
#define KITH_TESTS_UNIT_STORE_MODEL_H

#include "check.h"
#include "store_calls.h"
#include "unit/memory_files.h"

enum { MODEL_CALLS = 512, MODEL_DIGESTS = 1 << 18, MODEL_KEYS = 60 };

struct model_call {
    kithi_record_type type;
    size_t first, n;   /* its digests */
    uint64_t sequence; /* after the call, or after the batch that it is in */
    bool replaces;     /* the whole content, by the empty filter */
};

struct model {
    kith_filter *filter; /* after the last comparison */
    kith_filter *empty;
    struct model_call calls[MODEL_CALLS];
    size_t call_count, batch; /* calls from `batch` on are in a batch that is not committed */
    uint64_t digests[MODEL_DIGESTS];
    size_t digest_count;
    uint64_t sequence; /* of the last call that has returned */
    uint64_t durable;  /* of the last call that was acknowledged as durable */
};

static inline void model_init(struct model *m, kith_filter *filter, uint64_t sequence) {
    m->filter = filter;
    m->empty = NULL;
    m->call_count = m->batch = m->digest_count = 0;
    m->sequence = m->durable = sequence;
}

static inline void model_log(struct model *m, kithi_record_type type, const uint64_t *digests, size_t n,
                             uint64_t sequence) {
    CHECK(m->call_count < MODEL_CALLS && n <= MODEL_DIGESTS - m->digest_count);
    m->calls[m->call_count++] = (struct model_call){type, m->digest_count, n, sequence, false};
    if (n > 0)
        memcpy(m->digests + m->digest_count, digests, n * sizeof *digests);
    m->digest_count += n;
}

/* Applies the calls up to sequence number `sequence` to the model, and drops the log. */
static inline void model_advance(struct model *m, uint64_t sequence) {
    for (size_t i = 0; i < m->call_count && m->calls[i].sequence <= sequence; i++) {
        const struct model_call *c = &m->calls[i];
        size_t done;
        if (c->replaces) {
            kith_filter_free(m->filter);
            CHECK_OK(kith_filter_clone(m->empty, NULL, &m->filter));
        } else {
            (void)!kithi_store_apply(m->filter, c->type, m->digests + c->first, c->n, NULL, &done);
        }
    }
    m->call_count = m->batch = m->digest_count = 0;
    m->sequence = m->durable = sequence;
}

static inline bool model_is_boundary(const struct model *m, uint64_t before, uint64_t sequence) {
    if (sequence == before)
        return true;
    for (size_t i = 0; i < m->call_count; i++)
        if (m->calls[i].sequence == sequence)
            return true;
    return false;
}

static inline bool model_equals(struct model *m, const kithi_store *store) {
    kith_filter *copy;
    const void *got, *want;
    size_t got_bytes, want_bytes;
    CHECK_OK(kith_filter_clone(kithi_store_filter(store), NULL, &copy));
    CHECK_OK(kith_filter_bytes(copy, &got, &got_bytes));
    CHECK_OK(kith_filter_bytes(m->filter, &want, &want_bytes));
    bool equal = got_bytes == want_bytes && memcmp(got, want, got_bytes) == 0;
    kith_filter_free(copy);
    return equal;
}

static inline void model_free(struct model *m) {
    kith_filter_free(m->filter);
    kith_filter_free(m->empty);
}

/* ---- random calls ---- */

/* The records that a call for n digests outside a batch writes. */
static inline uint64_t model_records(size_t n) {
    return n <= KITHI_RECORD_DIGESTS_MAX ? 1 : (n + KITHI_RECORD_DIGESTS_MAX - 1) / KITHI_RECORD_DIGESTS_MAX + 1;
}

static inline uint64_t model_digest(uint64_t *random) {
    return splitmix_mix(splitmix_next(random) % MODEL_KEYS + 1);
}

static inline uint64_t store_sequence(const kithi_store *store) {
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    CHECK_OK(kithi_store_info_of(store, &info));
    return info.sequence;
}

/* What a filter says, as opposed to files and memory. */
static inline bool is_outcome(kith_status status) {
    return status == KITH_OK || status == KITH_E_FULL || status == KITH_E_COPIES || status == KITH_E_ABSENT ||
           status == KITH_E_AMBIGUOUS;
}

static inline bool store_removes(const kithi_store *store) {
    return (kith_filter_capabilities(kithi_store_filter(store)) & KITH_CAN_REMOVE) != 0;
}

/* Adds or removes some random digests. With `sequence` 0 this is in a batch: the sequence number is set later. */
static inline kith_status model_operate(struct model *m, kithi_store *store, uint64_t *random, bool in_batch) {
    static uint64_t digests[10000];
    uint64_t choice = splitmix_next(random) % 64;
    size_t n = choice == 0 ? 9000 : choice < 16 ? 1 + (size_t)(splitmix_next(random) % 20) : 1, done;
    for (size_t i = 0; i < n; i++)
        digests[i] = model_digest(random);
    bool removes = store_removes(store) && splitmix_next(random) % 3 == 0;
    kithi_record_type type = removes ? KITHI_RECORD_REMOVE : KITHI_RECORD_ADD;
    model_log(m, type, digests, n, in_batch ? UINT64_MAX : m->sequence + model_records(n));
    kith_status status;
    done = 0;
    if (n == 1)
        status =
            removes ? kithi_store_remove_digest(store, digests[0]) : kithi_store_add_digest(store, digests[0], NULL);
    else
        status = removes ? kithi_store_remove_many(store, digests, n, &done)
                         : kithi_store_add_many(store, digests, n, NULL, &done);
    if (kithi_depends_on_process(status)) { /* only the digests before have been added or removed */
        struct model_call *c = &m->calls[m->call_count - 1];
        c->n = done;
        c->sequence = in_batch ? UINT64_MAX : m->sequence + model_records(done);
        if (done == 0)
            m->call_count--;
    }
    return status;
}

/* A batch of several calls, which is committed or rolled back. */
static inline kith_status model_batch(struct model *m, kithi_store *store, uint64_t *random) {
    kith_status status = kithi_store_begin(store);
    if (status != KITH_OK)
        return status;
    m->batch = m->call_count;
    size_t digests_before = m->digest_count;
    for (uint64_t i = splitmix_next(random) % 6; i > 0; i--) {
        status = model_operate(m, store, random, true);
        if (!is_outcome(status))
            return status;
    }
    if (splitmix_next(random) % 3 == 0) {
        m->call_count = m->batch;
        m->digest_count = digests_before;
        return kithi_store_rollback(store);
    }
    uint64_t end = store_sequence(store) + 1; /* the commit record */
    for (size_t i = m->batch; i < m->call_count; i++)
        m->calls[i].sequence = end;
    return kithi_store_commit(store);
}

/* Makes one random call. Returns its status. */
static inline kith_status model_step(struct model *m, kithi_store *store, uint64_t *random, struct disk *d) {
    kith_status status;
    d->clock_ms += splitmix_next(random) % 400;
    switch (splitmix_next(random) % 16) {
    case 0:
        status = kithi_store_sync(store);
        break;
    case 1:
        status = kithi_store_checkpoint(store);
        break;
    case 2:
        status = kithi_store_tick(store);
        break;
    case 3:
        if (m->empty != NULL && splitmix_next(random) % 4 == 0) {
            model_log(m, KITHI_RECORD_ADD, NULL, 0, m->sequence + 1);
            m->calls[m->call_count - 1].replaces = true;
            status = kithi_store_replace(store, m->empty);
            break;
        }
        /* fall through */
    case 4:
    case 5:
        status = model_batch(m, store, random);
        break;
    default:
        status = model_operate(m, store, random, false);
    }
    if (is_outcome(status)) {
        m->sequence = store_sequence(store);
        if (kithi_store_durable(store))
            m->durable = m->sequence;
    }
    return status;
}

static inline kithi_store_info info_of(const kithi_store *store) {
    kithi_store_info info = KITHI_STORE_INFO_INIT;
    CHECK_OK(kithi_store_info_of(store, &info));
    return info;
}

#endif
