/* Pollution: keys that are chosen to raise the false-positive rate of a filter (Gerbet, Kumar, Lauradoux, "The Power of
 * Evil Choices in Bloom Filters", 2015), against every kind.
 *
 * The attacker knows the hash that he believes the filter has, and the number of cells. He tries candidate keys and
 * keeps those that suit his plan:
 *
 *     spread      keys whose cells are all unused, so that n keys use as many cells as possible
 *     crowd S     keys in the first S of the filter, whatever their cells are: too many keys for these blocks
 *     fill S      keys in the first S of the filter whose cells are all unused: these blocks become full
 *
 * The same keys go into three filters of the same size:
 *
 *     model       an array of cells without any guard. The attack must succeed there, which shows that it is a good
 *                 one.
 *     trusted     a filter with the hash that the attacker knows: its guards must stop him with KITH_E_FULL.
 *     untrusted   a filter with a secret key: the keys must be as harmless as random ones.
 *
 * The model of layers is that of the first layer; layers grow instead of returning KITH_E_FULL. Kinds that store
 * fingerprints, such as cuckoo and the static kinds, have no model, and keys with unused cells do not exist for them.
 * The static kinds are built from the attacker's keys. */
#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "layers/plan.h"
#include "handle/handle.h"

#define RATE 0.01
#define BATCH 4096
#define STEP 256 /* keys that the attacker chooses before he looks at the filter again */

typedef struct scheme {
    const char *name;
    double share;   /* of the digests, from 0 on */
    bool only_free; /* only keys whose cells are all unused */
    bool in_short_run;
} scheme;

static const scheme SCHEMES[] = {
    {"spread", 1, true, true},        {"crowd 0.9", 0.9, false, false},   {"crowd 0.8", 0.8, false, true},
    {"crowd 0.7", 0.7, false, false}, {"crowd 0.5", 0.5, false, true},    {"crowd 0.25", 0.25, false, true},
    {"crowd 0.1", 0.1, false, false}, {"crowd 0.02", 0.02, false, false}, {"fill 0.5", 0.5, true, false},
};
#define SCHEME_COUNT (sizeof SCHEMES / sizeof *SCHEMES)

/* ---- the model ----
 *
 * Two blocks of bytes of the filter's geometry. In `used` a cell is not 0 if it is in use; in `unused` a cell is not 0
 * if it is not. A lookup in `unused` therefore finds the keys whose cells are all unused. Only the lookups are the
 * library's; cells are written here, without a limit. */
typedef struct model {
    kith_filter *used, *unused;
} model;

static void write_cell(kith_filter *f, uint64_t cell, unsigned value) {
    for (unsigned i = 0; i < f->shape.cell_bits; i++) {
        uint64_t bit = cell * f->shape.cell_bits + i;
        uint8_t mask = (uint8_t)(1u << (bit % 8));
        f->body[bit / 8] = (uint8_t)(value != 0 && i == 0 ? f->body[bit / 8] | mask : f->body[bit / 8] & ~mask);
    }
}

static kith_filter *created(const kith_filter_spec *spec) {
    kith_filter *f;
    CHECK_OK(kith_filter_create(spec, &f));
    return f;
}

/* Returns an empty filter with cells: of this spec or, for a kind that grows, like the first layer of such a filter. */
static kith_filter *with_cells(const kith_filter_spec *spec, bool grows) {
    kith_filter *f = created(spec), *first;
    if (!grows)
        return f;
    kithi_head head;
    CHECK_OK(kithi_layers_first_head(&f->head, &head));
    CHECK_OK(kithi_filter_create_planned(spec, &head, &first));
    kith_filter_free(f);
    return first;
}

static model model_new(const kith_filter_spec *spec, bool grows) {
    model m = {with_cells(spec, grows), with_cells(spec, grows)};
    for (uint64_t cell = 0; cell < m.unused->shape.cells; cell++)
        write_cell(m.unused, cell, 1);
    return m;
}

static void model_free(model *m) {
    kith_filter_free(m->used);
    kith_filter_free(m->unused);
}

typedef struct cell_list {
    uint64_t at[64];
    size_t count;
} cell_list;

static void collect(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    cell_list *cells = context;
    (void)holds;
    (void)wanted;
    if (cells->count < 64)
        cells->at[cells->count++] = cell;
}

/* Adds a key. `all` has no cell that is 0, so a lookup in it reads all cells of the key. */
static void model_add(model *m, kith_filter *all, uint64_t digest) {
    cell_list cells = {.count = 0};
    CHECK(kith_filter_look(all, digest, collect, &cells));
    for (size_t i = 0; i < cells.count; i++) {
        write_cell(m->used, cells.at[i], 1);
        write_cell(m->unused, cells.at[i], 0);
    }
}

/* ---- the attack ---- */

typedef struct attack {
    const scheme *how;
    kith_hash hash; /* the one that the attacker believes the filter has */
    kithi_prng candidates;
    uint64_t tries_left;
} attack;

/* Finds up to STEP keys and their digests; returns how many. Without a model, all keys pass for free ones. */
static size_t next_keys(attack *a, const model *m, uint64_t keys[STEP], uint64_t digests[STEP], size_t wanted) {
    static uint64_t tried[BATCH], tried_digests[BATCH], is_free[BATCH / 64];
    uint64_t last = a->how->share < 1 ? (uint64_t)(a->how->share * 0x1p64) : UINT64_MAX;
    bool look = a->how->only_free && m != NULL;
    size_t kept = 0;
    while (kept < wanted && a->tries_left != 0) {
        size_t n = 0, most = look ? BATCH : wanted - kept;
        for (; n < most && a->tries_left != 0; a->tries_left--) {
            tried[n] = kithi_prng_next(&a->candidates);
            tried_digests[n] = kith_digest(&a->hash, &tried[n], sizeof *tried);
            n += tried_digests[n] <= last;
        }
        if (look)
            (void)kith_filter_has_many(m->unused, tried_digests, n, is_free);
        for (size_t i = 0; i < n && kept < wanted; i++) {
            if (look && !kith_bitmap_get(is_free, i))
                continue;
            keys[kept] = tried[i];
            digests[kept++] = tried_digests[i];
        }
    }
    return kept;
}

/* The share of 2^22 random digests that the filter matches. */
static double rate_of(const kith_filter *f) {
    static uint64_t digests[BATCH];
    kithi_prng prng = {99};
    size_t yes = 0, batches = 1024;
    for (size_t b = 0; b < batches; b++) {
        for (size_t i = 0; i < BATCH; i++)
            digests[i] = kithi_prng_next(&prng);
        yes += kith_filter_has_many(f, digests, BATCH, NULL);
    }
    return (double)yes / (double)(batches * BATCH);
}

/* ---- the filters ---- */

/* Any key that the attacker does not know; always the same one, so that each run of the test has the same result. */
static const kith_hash SECRET = {.id = KITH_HASH_SIPHASH, .key = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3}};

typedef struct victim {
    const kith_filter_spec *spec;
    kith_filter *filter; /* of a static kind: NULL until victim_end() */
    uint64_t *all;       /* of a static kind: the digests of all keys */
    kith_status status;  /* of the first add that failed, or of the build */
    size_t added;
} victim;

/* For at most n keys. */
static victim victim_new(const kith_filter_spec *spec, size_t n) {
    victim v = {.spec = spec};
    if (kith_filter_kind_named(spec->kind)->capabilities & KITH_CAN_ADD) {
        v.filter = created(spec);
        return v;
    }
    v.all = malloc(n * sizeof *v.all);
    CHECK(v.all != NULL);
    return v;
}

static void offer(victim *v, const uint64_t *keys, size_t n) {
    uint64_t digests[STEP];
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        digests[i] = kith_digest(&v->spec->hash, &keys[i], sizeof keys[i]);
    if (v->all != NULL)
        memcpy(v->all + v->added, digests, (done = n) * sizeof *digests);
    else if (v->status == KITH_OK)
        v->status = kith_filter_add_many(v->filter, digests, n, NULL, &done);
    v->added += done;
}

/* Returns the rate, and frees the filter. */
static double victim_end(victim *v) {
    if (v->all != NULL)
        CHECK_OK(kith_filter_build(v->spec, v->all, v->added, KITH_BUILD_SET, 1, &v->filter));
    double rate = rate_of(v->filter);
    kith_filter_free(v->filter);
    free(v->all);
    return rate;
}

/* Adds random keys until n were offered. */
static void top_up(victim *v, size_t n) {
    kithi_prng prng = {7};
    uint64_t keys[STEP];
    while (v->added < n && v->status == KITH_OK) {
        size_t count = n - v->added < STEP ? n - v->added : STEP;
        for (size_t i = 0; i < count; i++)
            keys[i] = kithi_prng_next(&prng);
        offer(v, keys, count);
    }
}

typedef struct outcome {
    double model, trusted, untrusted; /* rates */
    size_t keys;                      /* that the attacker found */
    size_t accepted;                  /* by the trusted filter */
    kith_status status;               /* of the trusted filter */
    bool grew;                        /* the trusted filter */
} outcome;

static outcome run(const kith_filter_spec *spec, const scheme *how, size_t n, bool has_cells, bool grows) {
    kith_filter_spec secret = *spec;
    secret.hash = SECRET;
    victim trusted = victim_new(spec, n), untrusted = victim_new(&secret, n);
    model m = {NULL, NULL};
    kith_filter *all = NULL;
    if (has_cells) {
        m = model_new(spec, grows);
        CHECK_OK(kith_filter_clone(m.unused, NULL, &all));
    }
    attack a = {.how = how, .hash = spec->hash, .candidates = {11}, .tries_left = (uint64_t)320 * n};
    outcome o = {.keys = 0};
    while (o.keys < n) {
        uint64_t keys[STEP], digests[STEP];
        size_t found = next_keys(&a, has_cells ? &m : NULL, keys, digests, n - o.keys < STEP ? n - o.keys : STEP);
        if (found == 0)
            break;
        for (size_t i = 0; i < found && has_cells; i++)
            model_add(&m, all, digests[i]);
        offer(&trusted, keys, found);
        offer(&untrusted, keys, found);
        o.keys += found;
    }
    top_up(&untrusted, n);
    CHECK_OK(untrusted.status);
    o.model = has_cells ? rate_of(m.used) : 0;
    o.accepted = trusted.added;
    o.status = trusted.status;
    o.grew = grows && kith_filter_capacity(trusted.filter) > n;
    o.trusted = victim_end(&trusted);
    o.untrusted = victim_end(&untrusted);
    model_free(&m);
    kith_filter_free(all);
    return o;
}

static void attack_kind(const char *kind, size_t n) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = n;
    spec.rate = RATE;
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    bool has_cells = plan.hashes != 0, grows = (plan.capabilities & KITH_CAN_GROW) != 0;
    bool is_static = (plan.capabilities & KITH_CAN_ADD) == 0;
    victim honest = victim_new(&spec, n);
    top_up(&honest, n);
    CHECK_OK(honest.status);
    double rate = victim_end(&honest), worst_model = 0, worst_trusted = 0, worst_untrusted = 0;
    for (size_t i = 0; i < SCHEME_COUNT; i++) {
        /* All schemes take too long under sanitizers, so only the soak tier runs them all. */
        bool is_short =
            SCHEMES[i].in_short_run && (has_cells ? !(SCHEMES[i].only_free && grows) : SCHEMES[i].share < .5);
        if ((SCHEMES[i].only_free && !has_cells) || (!is_short && !check_soak()))
            continue;
        outcome o = run(&spec, &SCHEMES[i], n, has_cells, grows);
        printf("%-17s %-11s %7zu keys: model x %5.2f; trusted x %.3f after %zu keys, %s; untrusted x %.3f\n", kind,
               SCHEMES[i].name, o.keys, o.model / rate, o.trusted / rate, o.accepted, kith_status_name(o.status),
               o.untrusted / rate);
        CHECK(o.untrusted <= 1.05 * rate);
        CHECK(o.trusted <= (is_static ? 1.05 : 2) * rate);
        CHECK(o.model <= 2 * rate || o.status == KITH_E_FULL || o.grew); /* the guard is what stops the attack */
        worst_model = o.model > worst_model ? o.model : worst_model;
        worst_trusted = o.trusted > worst_trusted ? o.trusted : worst_trusted;
        worst_untrusted = o.untrusted > worst_untrusted ? o.untrusted : worst_untrusted;
    }
    printf("shows: pollution, %s, %zu keys: the worst attack multiplies the rate by", kind, n);
    if (has_cells)
        printf(" %.2f without guards,", worst_model / rate);
    printf(" %.3f with the hash known, %.3f with a secret key\n", worst_trusted / rate, worst_untrusted / rate);
    CHECK(!has_cells || worst_model >= 8 * rate);
}

TEST(chosen_keys_do_not_raise_the_rate) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        attack_kind(kith_filter_kind_at(i)->name, 100000);
        if (check_soak())
            attack_kind(kith_filter_kind_at(i)->name, 1000000);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
