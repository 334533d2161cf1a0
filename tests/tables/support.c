/* Implements tables.h: subjects, keys and models. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tables/tables.h"
#include "option_errors.h"

/* ---- subjects ---- */

enum {
    TRIAL_KEYS = 64,
    BOUND_TRIED = 1 << 24,
};
#define BYTES_MAX ((size_t)64 << 20)

static const unsigned KEY_SIZES[] = {0, 4, 8, 16};
enum { KEY_SIZE_COUNT = sizeof KEY_SIZES / sizeof *KEY_SIZES };

/* Some option values need a terabyte. The allocator has a limit, and such variants are skipped. */
static void *allocate_some(void *context, size_t bytes, size_t alignment) {
    (void)context;
    void *memory = NULL;
    if (bytes > BYTES_MAX ||
        posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0)
        return NULL;
    return memset(memory, 0, bytes);
}

static void release_some(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)bytes;
    free(memory);
}

static const kith_allocator CAPPED = {allocate_some, release_some, NULL};

static kith_table_spec plain_spec(const subject *s, uint64_t capacity) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = s->v->kind;
    spec.options = s->v->options;
    spec.key_bytes = s->key_bytes;
    spec.capacity = capacity;
    spec.seed = 1;
    return spec;
}

static bool takes_index(kith_table *t, const subject *s, uint64_t index) {
    kith_status status = put_index(t, s, index, 0);
    CHECK(status == KITH_OK || status == KITH_E_KEY || status == KITH_E_FULL);
    return status == KITH_OK;
}

/* If the table refuses the largest key, its keys are integers; finds the smallest one that is refused. */
static void find_bound(kith_table *t, subject *s) {
    uint8_t largest[16];
    memset(largest, 0xff, sizeof largest);
    if (s->key_bytes == 0 || kith_table_put(t, largest, s->key_bytes, 0, NULL) != KITH_E_KEY)
        return;
    uint64_t low = 0, high = BOUND_TRIED;
    s->bound = BOUND_TRIED;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (takes_index(t, s, middle))
            low = middle + 1;
        else
            high = middle;
    }
    s->bound = low;
    CHECK(low > 0);
}

static bool describe(subject *s) {
    kith_table_spec spec = plain_spec(s, TRIAL_KEYS);
    kith_table *t = NULL;
    contract_note("%s %s, keys of %u bytes", s->v->kind, s->v->options, s->key_bytes);
    spec.allocator = &CAPPED;
    kith_status status = kith_table_create(&spec, &t);
    if (status == KITH_E_UNIVERSE) {
        spec.capacity = 0;
        status = kith_table_create(&spec, &t);
    }
    if (status == KITH_E_KEY)
        return false;
    if (status != KITH_OK && s->v->options[0] != '\0') {
        CHECK(is_option_error(status) || status == KITH_E_UNIVERSE || status == KITH_E_ADDRESS ||
              status == KITH_E_MEMORY);
        return false;
    }
    CHECK_OK(status);
    s->bound = 0;
    s->values = false;
    s->fixed = kith_table_reserve(t, 64 * TRIAL_KEYS) == KITH_E_FULL;
    find_bound(t, s);
    CHECK_OK(kith_table_clear(t));
    test_key k;
    key_of(s, 0, &k);
    status = kith_table_put(t, k.bytes, k.n, 1, NULL);
    CHECK(status == KITH_OK || status == KITH_E_KEY);
    s->values = status == KITH_OK;
    CHECK_OK(kith_table_clear(t));
    uint64_t n = keys_of(s, TRIAL_KEYS);
    fill(t, s, 0, n);
    s->scans = s->bound == 0 && table_stats(t).longest == n;
    kith_table_free(t);
    return true;
}

bool next_subject(subject *s, variety which) {
    size_t i = 0;
    if (s->v == NULL)
        s->v = next_of(NULL, which);
    else
        for (i = 1; KEY_SIZES[i - 1] != s->key_bytes;)
            i++;
    for (; s->v != NULL; s->v = next_of(s->v, which)) {
        for (; i < KEY_SIZE_COUNT; i++) {
            s->key_bytes = KEY_SIZES[i];
            if (describe(s))
                return true;
        }
        i = 0;
    }
    return false;
}

uint64_t keys_of(const subject *s, uint64_t n) {
    return s->bound != 0 && s->bound < n ? s->bound : n;
}

kith_table_spec spec_for(const subject *s, uint64_t n) {
    return plain_spec(s, s->fixed || s->bound != 0 ? n : 0);
}

kith_table *made(const kith_table_spec *spec) {
    kith_table *t = NULL;
    CHECK_OK(kith_table_create(spec, &t));
    return t;
}

/* ---- keys ---- */

static size_t write_word(uint8_t *to, uint64_t word, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(word >> 8 * i);
    return bytes;
}

/* There are four sorts of byte strings, which differ in their first byte:
 *
 *     0 … 300 zero bytes, nothing else
 *     1, then a number in as few bytes as possible
 *     2, then a run of the same letter, a zero byte, and a number
 *     3, then a number and a run of the same letter: some of these are prefixes of others
 */
static size_t write_string(uint8_t *to, uint64_t index) {
    uint64_t rest = index / 4;
    size_t n = 0;
    if (index % 4 == 0 && rest <= 300) {
        memset(to, 0, (size_t)rest);
        return (size_t)rest;
    }
    if (index % 4 == 2) {
        size_t letters = index % 64 == 2 ? 1500 : (size_t)(rest * 7 % 280);
        to[n++] = 2;
        memset(to + n, 'p', letters);
        n += letters;
        to[n++] = 0;
        return n + write_word(to + n, rest, 8);
    }
    if (index % 4 == 3) {
        to[n++] = 3;
        n += write_word(to + n, rest / 256, 4);
        memset(to + n, 'q', (size_t)(rest % 256));
        return n + (size_t)(rest % 256);
    }
    to[n++] = 1;
    for (uint64_t left = index; left != 0; left >>= 8)
        to[n++] = (uint8_t)left;
    return n;
}

void key_of(const subject *s, uint64_t index, test_key *k) {
    k->n = s->key_bytes;
    if (s->key_bytes == 0) {
        k->n = write_string(k->bytes, index);
    } else if (s->bound != 0) {
        memset(k->bytes, 0, 16);
        (void)write_word(k->bytes, index, s->key_bytes < 8 ? s->key_bytes : 8);
    } else if (s->key_bytes == 4) {
        (void)write_word(k->bytes, (uint32_t)index * UINT32_C(0x9e3779b1), 4);
    } else if (s->key_bytes == 8) {
        (void)write_word(k->bytes, digest_at(41, index), 8);
    } else {
        (void)write_word(k->bytes, digest_at(41, index / 8), 8);
        (void)write_word(k->bytes + 8, index % 8, 8);
    }
}

uint64_t value_of(const subject *s, uint64_t index, uint64_t salt) {
    return s->values ? salt << 32 | index : 0;
}

kith_status put_index(kith_table *t, const subject *s, uint64_t index, uint64_t salt) {
    test_key k;
    key_of(s, index, &k);
    return kith_table_put(t, k.bytes, k.n, value_of(s, index, salt), NULL);
}

bool has_index(const kith_table *t, const subject *s, uint64_t index) {
    test_key k;
    key_of(s, index, &k);
    return kith_table_has(t, k.bytes, k.n);
}

kith_status remove_index(kith_table *t, const subject *s, uint64_t index) {
    test_key k;
    key_of(s, index, &k);
    return kith_table_remove(t, k.bytes, k.n, NULL);
}

void fill(kith_table *t, const subject *s, uint64_t from, uint64_t n) {
    for (uint64_t i = from; i < from + n; i++)
        CHECK_OK(put_index(t, s, i, 0));
}

/* ---- models ---- */

model model_new(const subject *s, uint64_t n) {
    model m = {.s = s, .n = n};
    m.in = calloc((size_t)n, sizeof *m.in);
    m.values = calloc((size_t)n, sizeof *m.values);
    m.visited = calloc((size_t)n, sizeof *m.visited);
    CHECK(m.in != NULL && m.values != NULL && m.visited != NULL);
    return m;
}

void model_free(model *m) {
    free(m->in);
    free(m->values);
    free(m->visited);
}

static void step_put(model *m, kith_table *t, uint64_t i, const test_key *k) {
    uint64_t value = value_of(m->s, i, ++m->salt);
    bool was_new = m->in[i];
    kith_status status = kith_table_put(t, k->bytes, k->n, value, &was_new);
    if (status == KITH_E_FULL && m->s->fixed && !m->in[i]) {
        CHECK_EQ_U64(m->count, table_stats(t).slots);
        CHECK(was_new == m->in[i]);
        return;
    }
    CHECK_OK(status);
    CHECK(was_new == !m->in[i]);
    m->count += was_new;
    m->in[i] = true;
    m->values[i] = value;
}

static void step_remove(model *m, kith_table *t, uint64_t i, const test_key *k) {
    uint64_t value = 0;
    CHECK_STATUS(kith_table_remove(t, k->bytes, k->n, &value), m->in[i] ? KITH_OK : KITH_E_ABSENT);
    CHECK_EQ_U64(value, m->in[i] ? m->values[i] : 0);
    m->count -= m->in[i];
    m->in[i] = false;
}

static void step_look(const model *m, const kith_table *t, uint64_t i, const test_key *k) {
    uint64_t value = 0;
    CHECK(kith_table_get(t, k->bytes, k->n, &value) == m->in[i]);
    CHECK_EQ_U64(value, m->in[i] ? m->values[i] : 0);
    CHECK(kith_table_has(t, k->bytes, k->n) == m->in[i]);
}

void model_step(model *m, kith_table *t, uint64_t *state, unsigned puts) {
    test_key k;
    uint64_t i = draw(state, m->n), turn = draw(state, 100);
    key_of(m->s, i, &k);
    if (turn < puts)
        step_put(m, t, i, &k);
    else if (turn < 70)
        step_remove(m, t, i, &k);
    else
        step_look(m, t, i, &k);
    CHECK_EQ_U64(kith_table_count(t), m->count);
}

static uint64_t index_of(const model *m, const uint8_t *k, uint64_t value) {
    if (m->s->bound == 0)
        return value & UINT32_MAX;
    uint64_t index = 0;
    for (size_t i = m->s->key_bytes < 8 ? m->s->key_bytes : 8; i-- > 0;)
        index = index << 8 | k[i];
    return index;
}

void model_compare(model *m, const kith_table *t) {
    kith_cursor cursor = {{0}};
    const void *bytes;
    size_t byte_count;
    uint64_t value, met = 0;
    m->walks++;
    while (kith_table_next(t, &cursor, &bytes, &byte_count, &value)) {
        test_key k;
        uint64_t i = index_of(m, bytes, value);
        CHECK(i < m->n && m->in[i] && m->visited[i] != m->walks);
        m->visited[i] = m->walks;
        key_of(m->s, i, &k);
        CHECK(k.n == byte_count && (k.n == 0 || memcmp(k.bytes, bytes, k.n) == 0));
        CHECK_EQ_U64(value, m->values[i]);
        met++;
    }
    CHECK_EQ_U64(met, m->count);
    CHECK_EQ_U64(kith_table_count(t), m->count);
    const char *reason = NULL;
    kith_status status = kith_table_check(t, &reason);
    if (status != KITH_OK)
        CHECK_FAIL("check() returns %s: %s", kith_status_name(status), reason != NULL ? reason : "no reason");
    CHECK(reason == NULL);
}

/* ---- statistics and fingerprints ---- */

kith_table_stats table_stats(const kith_table *t) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    CHECK_OK(kith_table_stats_of(t, &stats));
    return stats;
}

static uint64_t print_on(uint64_t print, const void *bytes, size_t byte_count) {
    for (size_t i = 0; i < byte_count; i++)
        print = (print ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return print;
}

uint64_t print_of(const kith_table *t) {
    kith_table_stats stats = table_stats(t);
    uint64_t numbers[] = {stats.count, stats.slots, stats.rehashes, stats.growths};
    uint64_t print = print_on(UINT64_C(0xcbf29ce484222325), numbers, sizeof numbers);
    kith_cursor cursor = {{0}};
    const void *k;
    size_t key_bytes;
    uint64_t value;
    while (kith_table_next(t, &cursor, &k, &key_bytes, &value)) {
        print = print_on(print, k, key_bytes);
        print = print_on(print, &key_bytes, sizeof key_bytes);
        print = print_on(print, &value, sizeof value);
    }
    return print;
}
