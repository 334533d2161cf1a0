/* Compares a filter with an exact multiset under random valid operations.
 *
 * The model is an array of counts, one for each key of a small universe. Rounds that mostly add alternate with rounds
 * that mostly remove, so that the filter becomes full and empty again. A kind that cannot remove is cleared instead.
 * Every operation is compared with the model, and every key once per round. At the end of a round the filter is merged
 * with a small one and into an empty one, and it is continued from its bytes or from a file. A static kind is built
 * again in each round, from keys that are chosen at random, some of them twice.
 *
 * In the soak tier, each kind does 10^8 operations with its default options. */
#include "contract/contract.h"

enum { CAPACITY = 2000, UNIVERSE = 3000, ROUND = 20000, SNAPSHOT_EVERY = 512, MERGED = 50 };
enum { OPERATIONS = 1000000, VARIANT_OPERATIONS = 50000, SOAK_OPERATIONS = 100000000 };

typedef struct model {
    kith_filter *f;
    kith_plan plan;
    uint32_t truth[UNIVERSE];
    uint64_t count;
    uint64_t state; /* of the random numbers */
    uint64_t refusals;
    uint64_t found;  /* lookups of stored keys, each of which was found */
    uint64_t merges; /* that succeeded */
    uint64_t rounds;
    bool counts_estimated; /* Bloom kinds estimate the count of a union */
    snapshot before;
} model;

static bool has(const model *m, key k) {
    return kith_filter_has(m->f, k.bytes, sizeof k.bytes);
}

static uint64_t copies(const model *m, key k) {
    return kith_filter_copies(m->f, k.bytes, sizeof k.bytes);
}

static void look(model *m, size_t i, key k) {
    uint64_t seen = copies(m, k);
    CHECK(seen >= m->truth[i]);
    m->found += m->truth[i] > 0;
    CHECK(has(m, k) == (seen > 0));
    if (!can(&m->plan, KITH_CAN_COPIES))
        CHECK(seen <= 1);
}

static void add(model *m, size_t i, key k) {
    bool before = has(m, k), was_new = before;
    uint64_t copies_before = copies(m, k);
    kith_status status = kith_filter_add(m->f, k.bytes, sizeof k.bytes, &was_new);
    if (status == KITH_OK) {
        CHECK(was_new == !before);
        bool many = can(&m->plan, KITH_CAN_COPIES);
        m->truth[i] = many ? m->truth[i] + 1 : 1;
        m->count += many || was_new;
        CHECK(has(m, k));
        return;
    }
    CHECK(was_new == before);
    m->refusals++;
    if (status == KITH_E_COPIES) {
        CHECK(can(&m->plan, KITH_CAN_COPIES) && copies_before > 0);
    } else {
        /* Capacity is promised for distinct keys. With copies, an add may fail earlier. */
        CHECK_STATUS(status, KITH_E_FULL);
        CHECK(!can(&m->plan, KITH_CAN_GROW));
        CHECK(m->count == CAPACITY || (can(&m->plan, KITH_CAN_COPIES) && m->count * 4 > CAPACITY) ||
              (m->counts_estimated && m->count * 10 > CAPACITY * 9));
    }
}

static void take_away(model *m, size_t i, key k) {
    kith_status status = kith_filter_remove(m->f, k.bytes, sizeof k.bytes);
    if (status == KITH_OK) {
        m->truth[i]--;
        m->count--;
        return;
    }
    m->refusals++;
    CHECK_STATUS(status, KITH_E_AMBIGUOUS);
    CHECK(can(&m->plan, KITH_CAN_GROW));
}

/* One operation: an add in `add_percent` of cases, a removal in half of the rest if the kind can remove. */
static void operate(model *m, unsigned add_percent) {
    size_t i = (size_t)draw(&m->state, UNIVERSE);
    key k = key_at(1, i);
    /* Copies of a filter that has grown a lot take long, so there are fewer of them. */
    uint64_t grown = kith_filter_capacity(m->f) / (16 * CAPACITY) + 1;
    bool watched = draw(&m->state, SNAPSHOT_EVERY * (grown < 64 ? grown : 64)) == 0;
    uint64_t refusals = m->refusals;
    if (watched)
        m->before = snapshot_of(m->f);
    unsigned dice = (unsigned)draw(&m->state, 100);
    if (dice < add_percent)
        add(m, i, k);
    else if (dice % 4 != 0 && can(&m->plan, KITH_CAN_REMOVE) && m->truth[i] > 0)
        take_away(m, i, k);
    else
        look(m, i, k);
    CHECK_EQ_U64(kith_filter_count(m->f), m->count);
    if (watched) {
        if (m->refusals > refusals)
            CHECK(same_bytes(m->f, &m->before));
        snapshot_free(&m->before);
    }
}

/* Merges a filter of a few keys that are not in the model. */
static void merge_a_few(model *m) {
    kith_filter *few = NULL;
    size_t chosen[MERGED], n = 0;
    CHECK_OK(kith_filter_create_like(m->f, NULL, &few));
    for (size_t draws = 0; draws < 4 * MERGED && n < MERGED; draws++) {
        size_t i = (size_t)draw(&m->state, UNIVERSE);
        bool is_new = m->truth[i] == 0;
        for (size_t j = 0; j < n; j++)
            is_new &= chosen[j] != i;
        key k = key_at(1, i);
        if (!is_new)
            continue;
        CHECK_OK(kith_filter_add(few, k.bytes, sizeof k.bytes, NULL));
        chosen[n++] = i;
    }
    uint64_t few_count = kith_filter_count(few);
    snapshot before = snapshot_of(m->f);
    kith_status status = kith_filter_merge(m->f, few);
    if (status == KITH_OK) {
        uint64_t count = kith_filter_count(m->f);
        if (can(&m->plan, KITH_CAN_COPIES))
            CHECK_EQ_U64(count, m->count + few_count);
        else
            CHECK(count >= (m->count > few_count ? m->count : few_count) && count <= m->count + few_count);
        m->counts_estimated |= !can(&m->plan, KITH_CAN_COPIES);
        m->count = count;
        for (size_t j = 0; j < n; j++)
            m->truth[chosen[j]] = 1;
        m->merges++;
    } else {
        CHECK(status == KITH_E_FULL || status == KITH_E_COPIES);
        CHECK(same_bytes(m->f, &before));
    }
    snapshot_free(&before);
    kith_filter_free(few);
}

/* Continues with an empty filter into which the filter was merged. Where copies of keys do not fit a second time, since
 * the slots of a full filter depend on the order of its adds, the filter stays as it is. */
static void merge_into_an_empty_one(model *m) {
    kith_filter *all = NULL;
    CHECK_OK(kith_filter_create_like(m->f, NULL, &all));
    kith_status status = kith_filter_merge(all, m->f);
    if (status == KITH_OK) {
        CHECK_EQ_U64(kith_filter_count(all), m->count);
        kith_filter_free(m->f);
        m->f = all;
        m->merges++;
        return;
    }
    CHECK((status == KITH_E_FULL || status == KITH_E_COPIES) && can(&m->plan, KITH_CAN_COPIES));
    CHECK_EQ_U64(kith_filter_count(all), 0);
    kith_filter_free(all);
}

/* Continues with a copy of the bytes; in a quarter of the rounds with a file, which is read or mapped. A mapped file
 * cannot be changed, so it is cloned. */
static void save_and_open(model *m) {
    kith_filter *opened = NULL;
    unsigned turn = m->rounds++ % 8;
    if (turn % 4 != 0) {
        snapshot s = snapshot_of(m->f);
        opened = viewed(s.bytes, s.byte_count, KITH_OPEN_COPY);
        snapshot_free(&s);
    } else {
        const char *path = file_named("model");
        CHECK_OK(kith_filter_save(m->f, path));
        CHECK_OK(kith_filter_open(path, turn == 0 ? KITH_OPEN_COPY : KITH_OPEN_DEFAULT, NULL, &opened));
    }
    if (turn == 4) {
        kith_filter *clone = cloned(opened);
        kith_filter_free(opened);
        opened = clone;
    }
    kith_filter_free(m->f);
    m->f = opened;
}

static void end_round(model *m, bool emptying) {
    const char *reason = "";
    if (can(&m->plan, KITH_CAN_MERGE)) {
        merge_a_few(m);
        merge_into_an_empty_one(m);
    }
    save_and_open(m);
    kith_status status = kith_filter_check(m->f, &reason);
    if (status != KITH_OK)
        CHECK_FAIL("check() says: %s", reason);
    for (size_t i = 0; i < UNIVERSE; i++) {
        key k = key_at(1, i);
        look(m, i, k);
        if (m->truth[i] > 0)
            CHECK(has(m, k));
    }
    if (emptying && !can(&m->plan, KITH_CAN_REMOVE)) {
        CHECK_OK(kith_filter_clear(m->f));
        memset(m->truth, 0, sizeof m->truth);
        m->count = 0;
        m->counts_estimated = false;
    }
}

static void agree_online(model *m, uint64_t operations) {
    for (uint64_t done = 0; done < operations; done++) {
        bool emptying = done / ROUND % 2 != 0;
        operate(m, emptying ? 25 : 75);
        if (done % ROUND == ROUND - 1)
            end_round(m, emptying);
    }
    end_round(m, false);
    if (!can(&m->plan, KITH_CAN_GROW) && operations >= ROUND)
        CHECK(m->refusals > 0); /* the filter did become full */
    kith_filter_free(m->f);
}

/* An operation is a key that is built in, or a lookup. */
static void agree_static(model *m, const kith_filter_spec *spec, uint64_t operations) {
    for (uint64_t done = 0; done < operations;) {
        static uint64_t digests[2 * CAPACITY];
        size_t n = (size_t)draw(&m->state, 2 * CAPACITY + 1);
        memset(m->truth, 0, sizeof m->truth);
        m->count = 0;
        for (size_t j = 0; j < n; j++) {
            size_t i = (size_t)draw(&m->state, CAPACITY);
            key k = key_at(1, i);
            digests[j] = kith_digest(&spec->hash, k.bytes, sizeof k.bytes);
            m->count += m->truth[i] == 0;
            m->truth[i] = 1;
        }
        CHECK_OK(kith_filter_build(spec, digests, n, KITH_BUILD_SET, 1, &m->f));
        CHECK_EQ_U64(kith_filter_count(m->f), m->count);
        end_round(m, false);
        kith_filter_free(m->f);
        done += n + UNIVERSE;
    }
}

void operations_agree_with_an_exact_multiset(void) {
    EACH_VARIANT(v) {
        static model m;
        bool is_default = v->options[0] == '\0';
        m = (model){.state = 42};
        note_seed(m.state);
        kith_filter_spec spec;
        if (!planned(v, CAPACITY, 2e-3, &spec, &m.plan))
            continue;
        uint64_t operations =
            is_default && check_soak() ? SOAK_OPERATIONS : scaled(is_default ? OPERATIONS : VARIANT_OPERATIONS);
        if (can(&m.plan, KITH_CAN_ADD)) {
            m.f = created(&spec);
            agree_online(&m, operations);
        } else {
            agree_static(&m, &spec, operations);
        }
        CHECK(m.found > 0 && m.rounds > 0);
        CHECK(m.merges > 0 || !is_default || !can(&m.plan, KITH_CAN_MERGE));
        if (is_default)
            printf("shows: %s: %" PRIu64 " operations and %" PRIu64
                   " merges agree with an exact multiset; stored keys were "
                   "looked up %" PRIu64 " times, 0 false negatives\n",
                   v->kind, operations, m.merges, m.found);
    }
}
