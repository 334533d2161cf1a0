/* A tape of operations on a filter of any kind, compared with an exact multiset.
 *
 *     0 … 2   the kind, an option of it, and the shape (prototypes.h)
 *     3 …     operations
 *
 * An operation is two bytes, the operation and its key, and for batches one more. If the highest bit of the first is
 * set, the bytes of the filter are compared before and after, should the operation fail.
 *
 * There are KEYS keys. The first ones are ordinary keys, and their digests are hashes. The others are digests that
 * somebody might choose: they differ from each other only in the lowest or the highest bits, so they meet in the same
 * blocks, buckets and regions.
 *
 * A static kind is built again and again from keys that the tape chooses. */
#include "fuzz/prototypes.h"

enum { KEYS = 32, HASHED_KEYS = 20, SIMILAR_LOW = 26, BATCH_MAX = 60, OPERATIONS_MAX = 40, BUILDS_MAX = 4 };

typedef struct model {
    kith_filter *filter;
    kith_plan plan;
    uint64_t digests[KEYS];
    uint64_t truth[KEYS]; /* how often each key is stored */
    uint64_t count;
    bool merged; /* counters may be at their maximum */

    kith_filter *other; /* a copy made earlier, with its truth; may be NULL */
    uint64_t other_truth[KEYS];

    uint8_t *before; /* the bytes before the operation; NULL: not watched */
    size_t before_bytes;
} model;

static bool can(const model *m, uint32_t capabilities) {
    return (m->plan.capabilities & capabilities) == capabilities;
}

/* Returns whether the filter has the key. */
static bool check_key(const model *m, size_t i) {
    bool has = kith_filter_has_digest(m->filter, m->digests[i]);
    HOLD(has || m->truth[i] == 0);
    if (i < HASHED_KEYS) {
        uint64_t key = i, copies = kith_filter_copies(m->filter, &key, sizeof key);
        HOLD((copies > 0) == has);
        HOLD(copies >= m->truth[i] || (m->merged && copies == m->plan.max_copies + 1));
        HOLD(copies <= 1 || can(m, KITH_CAN_COPIES));
    }
    return has;
}

static void check_all(const model *m) {
    const char *reason = NULL;
    uint64_t maybe;
    size_t found = kith_filter_has_many(m->filter, m->digests, KEYS, &maybe), counted = 0;
    for (size_t i = 0; i < KEYS; i++) {
        HOLD(kith_bitmap_get(&maybe, i) == check_key(m, i));
        counted += kith_bitmap_get(&maybe, i);
    }
    HOLD(found == counted);
    HOLD(kith_filter_check(m->filter, &reason) == KITH_OK && reason == NULL);
    HOLD(kith_filter_count(m->filter) == m->count);
}

/* ---- watching the bytes ---- */

static void watch(model *m) {
    const void *bytes;
    HOLD(kith_filter_bytes(m->filter, &bytes, &m->before_bytes) == KITH_OK);
    m->before = malloc(m->before_bytes);
    HOLD(m->before != NULL);
    memcpy(m->before, bytes, m->before_bytes);
}

static void unwatch(model *m, bool failed) {
    if (m->before == NULL)
        return;
    const void *bytes;
    size_t byte_count;
    HOLD(kith_filter_bytes(m->filter, &bytes, &byte_count) == KITH_OK);
    HOLD(!failed || (byte_count == m->before_bytes && memcmp(bytes, m->before, byte_count) == 0));
    free(m->before);
    m->before = NULL;
}

/* ---- operations; each returns whether it failed ---- */

/* The statuses with which adding may fail. */
static void check_refusal(const model *m, kith_status status, bool was_there) {
    HOLD(status == KITH_E_COPIES || status == KITH_E_FULL || status == KITH_E_TOO_LARGE || status == KITH_E_MEMORY);
    HOLD(m->count > 0 || m->merged); /* counters at their maximum stay there when all keys are removed */
    HOLD(status != KITH_E_COPIES || (can(m, KITH_CAN_COPIES) && was_there));
    HOLD(status == KITH_E_COPIES || status == KITH_E_FULL || can(m, KITH_CAN_GROW));
}

static void note_add(model *m, size_t i, bool was_new) {
    bool copies = can(m, KITH_CAN_COPIES);
    m->truth[i] = copies ? m->truth[i] + 1 : 1;
    m->count += copies || was_new;
}

static bool add(model *m, size_t i) {
    bool before = kith_filter_has_digest(m->filter, m->digests[i]), was_new = before;
    kith_status status = kith_filter_add_digest(m->filter, m->digests[i], &was_new);
    HOLD(was_new == (status == KITH_OK ? !before : before));
    if (status == KITH_OK)
        note_add(m, i, was_new);
    else
        check_refusal(m, status, before);
    (void)check_key(m, i);
    return status != KITH_OK;
}

static bool take_away(model *m, size_t i) {
    if (m->truth[i] == 0)
        return false;
    kith_status status = kith_filter_remove_digest(m->filter, m->digests[i]);
    if (!can(m, KITH_CAN_REMOVE)) {
        HOLD(status == KITH_E_UNSUPPORTED);
    } else if (status == KITH_OK) {
        m->truth[i]--;
        m->count--;
    } else {
        HOLD(status == KITH_E_AMBIGUOUS && can(m, KITH_CAN_GROW));
    }
    (void)check_key(m, i);
    return status != KITH_OK;
}

/* Adds keys from `i` on, some of them twice. */
static void add_many(model *m, size_t i, uint8_t choice) {
    uint64_t digests[BATCH_MAX], was_new[(BATCH_MAX + 63) / 64];
    size_t keys[BATCH_MAX], n = choice % BATCH_MAX, step = 1 + choice / BATCH_MAX, done = 0;
    for (size_t j = 0; j < n; j++) {
        keys[j] = (i + j * step) % KEYS;
        digests[j] = m->digests[keys[j]];
    }
    kith_status status = kith_filter_add_many(m->filter, digests, n, was_new, &done);
    HOLD(done <= n && (status == KITH_OK) == (done == n));
    for (size_t j = 0; j < done; j++)
        note_add(m, keys[j], kith_bitmap_get(was_new, j));
    if (status != KITH_OK)
        check_refusal(m, status, kith_filter_has_digest(m->filter, digests[done]));
    for (size_t j = 0; j < n; j++)
        (void)check_key(m, keys[j]);
}

/* Removes one copy of each key that is there, from `i` on. */
static void remove_many(model *m, size_t i, uint8_t choice) {
    uint64_t digests[KEYS];
    size_t keys[KEYS], n = 0, done = 0;
    for (size_t j = 0; j < choice % KEYS; j++)
        if (m->truth[(i + j) % KEYS] > 0) {
            keys[n] = (i + j) % KEYS;
            digests[n] = m->digests[keys[n]];
            n++;
        }
    kith_status status = kith_filter_remove_many(m->filter, digests, n, &done);
    if (!can(m, KITH_CAN_REMOVE)) {
        HOLD(status == KITH_E_UNSUPPORTED && done == 0);
        return;
    }
    HOLD(status == KITH_OK ? done == n : status == KITH_E_AMBIGUOUS && can(m, KITH_CAN_GROW) && done < n);
    for (size_t j = 0; j < done; j++)
        m->truth[keys[j]]--;
    m->count -= done;
    for (size_t j = 0; j < n; j++)
        (void)check_key(m, keys[j]);
}

/* Continues with a filter that is opened from the bytes. */
static void reopen(model *m) {
    const void *bytes;
    size_t byte_count;
    kith_filter *opened = NULL;
    HOLD(kith_filter_bytes(m->filter, &bytes, &byte_count) == KITH_OK);
    HOLD(byte_count == kith_filter_file_bytes(m->filter));
    HOLD(kith_filter_view(bytes, byte_count, KITH_OPEN_COPY, &FUZZ_ALLOCATOR, &opened) == KITH_OK);
    kith_filter_set_limit(opened, PROTOTYPE_BYTES_MAX);
    kith_filter_free(m->filter);
    m->filter = opened;
}

static void keep_copy(model *m) {
    kith_filter_free(m->other);
    m->other = NULL;
    HOLD(kith_filter_clone(m->filter, &FUZZ_ALLOCATOR, &m->other) == KITH_OK);
    memcpy(m->other_truth, m->truth, sizeof m->truth);
}

/* Bloom kinds do not know the number of keys afterwards. */
static void take_estimate(model *m) {
    if (!can(m, KITH_CAN_COPIES))
        m->count = kith_filter_count(m->filter);
}

static bool merge(model *m) {
    if (m->other == NULL)
        return false;
    uint64_t sum = m->count + kith_filter_count(m->other);
    kith_status status = kith_filter_merge(m->filter, m->other);
    if (!can(m, KITH_CAN_MERGE)) {
        HOLD(status == KITH_E_UNSUPPORTED);
    } else if (status == KITH_OK) {
        for (size_t i = 0; i < KEYS; i++) {
            m->truth[i] += m->other_truth[i];
            if (!can(m, KITH_CAN_COPIES) && m->truth[i] > 1)
                m->truth[i] = 1;
        }
        m->count = sum;
        m->merged = true;
        take_estimate(m);
    } else {
        HOLD(status == KITH_E_FULL || status == KITH_E_COPIES);
        HOLD(sum > 0);
    }
    check_all(m);
    return status != KITH_OK;
}

static bool intersect(model *m) {
    if (m->other == NULL)
        return false;
    kith_status status = kith_filter_intersect(m->filter, m->other);
    HOLD(status == (can(m, KITH_CAN_INTERSECT) ? KITH_OK : KITH_E_UNSUPPORTED));
    if (status == KITH_OK) {
        for (size_t i = 0; i < KEYS; i++)
            m->truth[i] = m->truth[i] != 0 && m->other_truth[i] != 0;
        take_estimate(m);
        bool subset = false;
        HOLD(kith_filter_subset(m->filter, m->other, &subset) == KITH_OK && subset);
    }
    check_all(m);
    return status != KITH_OK;
}

static void clear(model *m) {
    kith_status status = kith_filter_clear(m->filter);
    if (status == KITH_E_TOO_LARGE) { /* both blocks together would exceed the limit */
        HOLD(can(m, KITH_CAN_GROW));
    } else {
        HOLD(status == KITH_OK);
        memset(m->truth, 0, sizeof m->truth);
        m->count = 0;
        m->merged = false;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        HOLD(kith_filter_stats_of(m->filter, &stats) == KITH_OK && stats.cells_used == 0 && stats.rate_now == 0);
    }
    check_all(m);
}

static void add_shared(model *m, size_t i, uint8_t choice) {
    kith_adder *adder = NULL;
    kith_status status = kith_adder_open(m->filter, &adder);
    if (!can(m, KITH_CAN_SHARE)) {
        HOLD(status == KITH_E_UNSUPPORTED);
        return;
    }
    HOLD(status == KITH_OK);
    for (size_t j = 0; j < choice % KEYS; j++) {
        size_t key = (i + j) % KEYS;
        uint64_t was_new = 0;
        size_t done;
        status = kith_adder_add_many(adder, &m->digests[key], 1, &was_new, &done);
        HOLD(done == (status == KITH_OK));
        if (status == KITH_OK)
            note_add(m, key, was_new != 0);
        else
            check_refusal(m, status, false);
    }
    kith_adder_close(adder);
    check_all(m);
}

static void inspect(model *m, bool with_plan) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    HOLD(kith_filter_stats_of(m->filter, &stats) == KITH_OK);
    HOLD(stats.count == m->count && stats.cells_used <= stats.cells && stats.rate_now >= 0 && stats.rate_now <= 1);
    HOLD(stats.file_bytes == kith_filter_file_bytes(m->filter) && stats.capacity == kith_filter_capacity(m->filter));
    if (with_plan) /* slow */
        HOLD(kith_filter_plan_of(m->filter, &plan) == KITH_OK && plan.capabilities == m->plan.capabilities);
    for (uint64_t key = 0; key < HASHED_KEYS; key++)
        HOLD(kith_filter_has(m->filter, &key, sizeof key) == kith_filter_has_digest(m->filter, m->digests[key]));
    check_all(m);
}

static void operate(model *m, tape *t) {
    uint8_t operation = tape_byte(t);
    size_t i = tape_byte(t) % KEYS;
    bool failed = false;
    if ((operation & 128) != 0)
        watch(m);
    switch (operation % 16) {
    default: /* 0 … 5 */
        failed = add(m, i);
        break;
    case 6:
    case 7:
        failed = take_away(m, i);
        break;
    case 8:
        add_many(m, i, tape_byte(t));
        break;
    case 9:
        remove_many(m, i, tape_byte(t));
        break;
    case 10:
        reopen(m);
        break;
    case 11:
        keep_copy(m);
        break;
    case 12:
        failed = merge(m);
        break;
    case 13:
        failed = intersect(m);
        break;
    case 14:
        if (i < KEYS / 4)
            clear(m);
        else
            inspect(m, i == KEYS - 1);
        break;
    case 15:
        add_shared(m, i, tape_byte(t));
        break;
    }
    unwatch(m, failed);
}

/* ---- static kinds ---- */

static void build(model *m, const kith_filter_spec *given, tape *t) {
    uint64_t digests[BATCH_MAX];
    size_t n = tape_byte(t) % BATCH_MAX;
    kith_filter_spec spec = *given;
    memset(m->truth, 0, sizeof m->truth);
    m->count = 0;
    for (size_t j = 0; j < n; j++) {
        size_t i = tape_byte(t) % KEYS;
        digests[j] = m->digests[i];
        m->count += m->truth[i] == 0;
        m->truth[i] = 1;
    }
    if ((tape_byte(t) & 1) != 0) { /* else: the capacity of the tape, which may be too small */
        spec.capacity = n == 0;
        spec.max_bytes = 0;
    }
    kith_status status = kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 1, &m->filter);
    HOLD(status == KITH_OK || status == KITH_E_TOO_LARGE || (status == KITH_E_FULL && m->count > spec.capacity));
    if (status != KITH_OK) {
        HOLD(m->filter == NULL && spec.max_bytes != 0);
        return;
    }
    check_all(m);
    HOLD(kith_filter_add_digest(m->filter, m->digests[0], NULL) == KITH_E_UNSUPPORTED);
    HOLD(kith_filter_remove_digest(m->filter, m->digests[0]) == KITH_E_UNSUPPORTED);
    HOLD(kith_filter_clear(m->filter) == KITH_E_UNSUPPORTED);
    reopen(m);
    inspect(m, false);
    kith_filter_free(m->filter);
    m->filter = NULL;
}

/* ---- the target ---- */

static void make_digests(model *m, const kith_hash *hash) {
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t word = UINT64_C(0x0123456789abcdef);
        m->digests[i] = i < HASHED_KEYS   ? kith_digest(hash, &i, sizeof i)
                        : i < SIMILAR_LOW ? word + (i - HASHED_KEYS)
                                          : word + ((i - SIMILAR_LOW + 1) << 60);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static model m;
    tape t = tape_of(data, size);
    const prototype *p = prototype_of(&t);
    m = (model){.plan = p->plan};
    make_digests(&m, &p->spec.hash);
    if (can(&m, KITH_CAN_ADD)) {
        HOLD(kith_filter_view(p->fills[0].bytes, p->fills[0].n, KITH_OPEN_COPY, &FUZZ_ALLOCATOR, &m.filter) == KITH_OK);
        kith_filter_set_limit(m.filter, PROTOTYPE_BYTES_MAX);
        for (unsigned i = 0; i < OPERATIONS_MAX && !tape_ended(&t); i++)
            operate(&m, &t);
        check_all(&m);
    } else {
        for (unsigned i = 0; i < BUILDS_MAX && !tape_ended(&t); i++)
            build(&m, &p->spec, &t);
    }
    kith_filter_free(m.filter);
    kith_filter_free(m.other);
    HOLD(fuzz_live_bytes == 0);
    return 0;
}
