/* kith/inspect.h: filters that are made from given parameters, and the trace of random walks.
 * (contract/single_keys.c tests look and cell.) */
#define _GNU_SOURCE
#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"
#include "splitmix.h"
#include "unit/memory.h"

static uint64_t number_at(const uint8_t *bytes, size_t at) {
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++)
        number |= (uint64_t)bytes[at + i] << (8 * i);
    return number;
}

/* The parameters of a filter, from its bytes as docs/format.md describes them. */
static kith_filter_parameters parameters_of(kith_filter *f) {
    enum { AT_PARAMETERS = 104 };
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan_of(f, &plan));
    kith_filter_parameters p = {.kind = plan.kind, .capacity = plan.capacity, .rate = plan.rate};
    for (size_t i = 0; i < 8; i++)
        p.values[i] = number_at(bytes, AT_PARAMETERS + 8 * i);
    p.hash = kith_filter_hash(f);
    return p;
}

static bool makes(const kith_kind_info *info) {
    return (info->capabilities & KITH_CAN_ADD) != 0 && (info->capabilities & KITH_CAN_GROW) == 0;
}

/* Creates a planned filter, or returns NULL if this kind is not made from parameters. */
static kith_filter *planned(size_t kind, kith_filter_parameters *p) {
    const kith_kind_info *info = kith_filter_kind_at(kind);
    kith_filter *f = NULL;
    if (!makes(info))
        return NULL;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = info->name;
    spec.capacity = 3000;
    spec.rate = .01;
    spec.hash.seed = 7;
    CHECK_OK(kith_filter_create(&spec, &f));
    *p = parameters_of(f);
    return f;
}

TEST(parameters_of_a_planned_filter_make_the_same_filter) {
    unsigned made_count = 0;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        kith_filter_parameters p;
        kith_filter *f = planned(i, &p), *made;
        if (f == NULL)
            continue;
        const void *bytes, *made_bytes;
        size_t byte_count, made_byte_count;
        CHECK_OK(kith_filter_make(&p, NULL, &made));
        for (unsigned key = 0; key < 3000; key++) {
            CHECK_OK(kith_filter_add(f, &key, sizeof key, NULL));
            CHECK_OK(kith_filter_add(made, &key, sizeof key, NULL));
        }
        CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
        CHECK_OK(kith_filter_bytes(made, &made_bytes, &made_byte_count));
        CHECK_EQ_U64(made_byte_count, byte_count);
        CHECK(memcmp(made_bytes, bytes, byte_count) == 0);
        kith_filter_free(made);
        kith_filter_free(f);
        made_count++;
    }
    CHECK(made_count > 0);
}

TEST(without_a_capacity_a_filter_accepts_as_many_keys_as_it_has_cells) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        kith_filter_parameters p;
        kith_filter *f = planned(i, &p), *made;
        if (f == NULL)
            continue;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        p.capacity = 0;
        CHECK_OK(kith_filter_make(&p, NULL, &made));
        CHECK_OK(kith_filter_stats_of(made, &stats));
        CHECK_EQ_U64(stats.capacity, stats.cells);
        kith_filter_free(made);
        kith_filter_free(f);
    }
}

TEST(the_body_begins_where_the_header_says) {
    kith_filter_parameters p = {0};
    kith_filter *f = NULL;
    for (size_t i = 0; f == NULL; i++)
        f = planned(i, &p);
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_add(f, "key", 3, NULL));
    CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
    CHECK_EQ_U64(((const uint8_t *)bytes)[12] + 256U * ((const uint8_t *)bytes)[13], KITH_FILTER_BODY_AT);
    kith_filter_free(f);
}

TEST(kinds_that_are_static_or_grow_are_refused) {
    unsigned refused = 0;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *info = kith_filter_kind_at(i);
        kith_filter *f;
        if (makes(info))
            continue;
        CHECK_STATUS(kith_filter_make(&(kith_filter_parameters){.kind = info->name, .rate = .5}, NULL, &f),
                     KITH_E_UNSUPPORTED);
        refused++;
    }
    CHECK(refused > 0);
    kith_filter *f;
    CHECK_STATUS(kith_filter_make(&(kith_filter_parameters){.kind = "no such kind", .rate = .5}, NULL, &f),
                 KITH_E_KIND);
}

/* Changes one parameter at a time to hostile values. What is made must be a sound filter. */
TEST(no_parameters_make_an_unsound_filter) {
    static const uint64_t VALUES[] = {
        0, 1, 2, 3, 63, 64, 65, 255, 65536, UINT64_C(1) << 32, UINT64_C(1) << 62, ~UINT64_C(0)};
    struct memory memory = {.most_bytes = 1 << 20};
    kith_allocator allocator = memory_allocator(&memory);
    uint64_t random = 1, refused = 0, made = 0;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        kith_filter_parameters sound;
        kith_filter *f = planned(i, &sound);
        if (f == NULL)
            continue;
        kith_filter_free(f);
        for (unsigned round = 0; round < 8 * sizeof VALUES / sizeof *VALUES + 500; round++) {
            kith_filter_parameters p = sound;
            if (round < 8 * sizeof VALUES / sizeof *VALUES)
                p.values[round % 8] = VALUES[round / 8];
            else
                p.values[splitmix_next(&random) % 8] = splitmix_next(&random) >> splitmix_next(&random) % 64;
            kith_status status = kith_filter_make(&p, &allocator, &f);
            if (status != KITH_OK) {
                CHECK(status == KITH_E_PARAMETERS || status == KITH_E_ADDRESS || status == KITH_E_MEMORY);
                refused++;
                continue;
            }
            CHECK_OK(kith_filter_check(f, NULL));
            for (uint64_t key = 0; key < 20; key++) {
                kith_status added = kith_filter_add(f, &key, sizeof key, NULL);
                CHECK(added == KITH_OK || added == KITH_E_FULL || added == KITH_E_COPIES || added == KITH_E_MEMORY);
            }
            CHECK_OK(kith_filter_check(f, NULL));
            kith_filter_free(f);
            made++;
        }
    }
    CHECK(refused > 0 && made > 0 && memory.live_blocks == 0);
}

TEST(a_rate_or_a_hash_that_no_header_has_is_refused) {
    kith_filter_parameters sound = {0};
    kith_filter *f = NULL;
    for (size_t i = 0; f == NULL; i++)
        f = planned(i, &sound);
    kith_filter_free(f);
    static const double RATES[] = {0, 1, -1, 2};
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++) {
        kith_filter_parameters p = sound;
        p.rate = RATES[i];
        CHECK_STATUS(kith_filter_make(&p, NULL, &f), KITH_E_PARAMETERS);
    }
    kith_filter_parameters p = sound;
    p.hash.key[0] = 1; /* XXH3 has no key */
    CHECK_STATUS(kith_filter_make(&p, NULL, &f), KITH_E_HASH);
}

/* ---- the trace of random walks ---- */

enum { WALK_CELLS_MAX = 4 * 2 * 8 * 4 };

typedef struct walk_replay {
    uint64_t cells[WALK_CELLS_MAX]; /* as the steps so far have left them */
    uint64_t hand;                  /* what the last step displaced */
    unsigned steps;
} walk_replay;

static void replay_step(void *context, uint64_t cell, uint64_t stored, uint64_t displaced) {
    walk_replay *r = context;
    CHECK(cell < WALK_CELLS_MAX);
    CHECK_EQ_U64(r->cells[cell], displaced);
    CHECK(r->steps == 0 || r->hand == stored);
    r->cells[cell] = stored;
    r->hand = displaced;
    r->steps++;
}

/* Small filters, of one region and of four, that are filled until walks fail: the steps turn the slots before a walk
 * into those after it. If it fails, these are the same. */
TEST(the_steps_of_a_walk_are_those_that_it_made) {
    unsigned walks = 0, failed = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        kith_filter_parameters p = {.kind = "cuckoo", .rate = 0.5, .hash = {KITH_HASH_XXH3, seed, {0}}};
        const uint64_t values[8] = {12, 8, seed % 2 == 0 ? 1 : 4, 4, 0, 50, 0};
        memcpy(p.values, values, sizeof values);
        kith_filter *f;
        walk_replay r;
        CHECK_OK(kith_filter_make(&p, NULL, &f));
        kith_filter_set_trace(f, replay_step, &r);
        uint64_t slots = values[2] * 2 * values[1] * values[3];
        for (uint64_t key = 0; key < slots; key++) {
            r = (walk_replay){.steps = 0};
            for (uint64_t i = 0; i < slots; i++)
                r.cells[i] = kith_filter_cell(f, i);
            kith_status status = kith_filter_add(f, &key, sizeof key, NULL);
            walks += r.steps > 0;
            failed += r.steps > 0 && status != KITH_OK;
            if (r.steps > 0) { /* the walk ends in an empty slot, or with the new entry in the hand again */
                for (uint64_t i = 0; i < slots; i++)
                    CHECK_EQ_U64(kith_filter_cell(f, i), r.cells[i]);
                CHECK_EQ_U64(r.hand == 0, status == KITH_OK);
                CHECK(status == KITH_OK || r.steps == 2 * values[5]);
            }
        }
        kith_filter_free(f);
    }
    CHECK(walks > 100 && failed > 100);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
