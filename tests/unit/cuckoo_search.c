/* Tests the bound of the search for a free slot (kinds/shared/cuckoo_search.h): no add visits more slots than the
 * plan says, whatever the keys, and searches that are longer than the bound are as rare as plan/fit.h says. */
#include <math.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_search.h"
#include "kinds/cuckoo/lookup.h"
#include "kinds/overlap/lookup.h"
#include "handle/handle.h"
#include "kinds/registry.h"
#include "sanitizer.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { SLOT_BITS = 13, NARROW = 5 };

typedef struct layout {
    const char *name;
    uint16_t kind_id;
    unsigned b; /* 0: windows */
    unsigned alternate;
    uint64_t slots; /* of a region */
} layout;

/* Regions that are searched completely, regions with bitmaps and, beyond 2^18 slots, regions with a hash table. */
static const layout LAYOUTS[] = {
    {"overlap", 5, 0, 0, 1 << 16},
    {"cuckoo b=1", 4, 1, 0, 1 << 16},
    {"cuckoo b=2", 4, 2, 0, 1 << 16},
    {"cuckoo b=4", 4, 4, 0, 1 << 16},
    {"cuckoo b=8", 4, 8, 0, 1 << 16},
    {"cuckoo simple", 4, 4, 1, 1 << 15},
    {"small overlap", 5, 0, 0, 1 << 10},
    {"small cuckoo", 4, 4, 0, 1 << 10},
    {"large b=1", 4, 1, 0, (1 << 18) + 64},
    {"large xor", 4, 4, 2, 1 << 19},
    {"oversized overlap", 5, 0, 0, (1 << 18) + 64},
};

#define EACH_LAYOUT(l) for (const layout *l = LAYOUTS; l < LAYOUTS + LENGTH(LAYOUTS); l++)

static unsigned place_slots(const layout *l) {
    return l->b != 0 ? l->b : 2;
}

static kith_filter *new_filter(const layout *l, uint64_t regions, unsigned slot_bits) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kithi_head head = {.kind_id = l->kind_id, .capacity = UINT64_C(1) << 40, .rate = .5};
    kithi_shape shape;
    head.params[KITHI_PARAM_SLOT_BITS] = slot_bits;
    head.params[KITHI_PARAM_HALF] = l->b != 0 ? l->slots / 2 / l->b : l->slots / 2 - 1;
    head.params[KITHI_PARAM_REGIONS] = l->alternate == 2 ? 1 : regions;
    head.params[KITHI_PARAM_BUCKET_SLOTS] = l->b;
    head.params[KITHI_PARAM_ALTERNATE] = l->alternate;
    head.params[KITHI_PARAM_STASH] = 64;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
    head.body_bytes = shape.body_bytes;
    kith_filter *f;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &f));
    return f;
}

static uint64_t planned_slots(const kith_filter *f) {
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan_of(f, &plan));
    return plan.search_slots;
}

/* Adds keys of the first region, which an attacker who knows the hash can find, until `refusals` were refused. Returns
 * how many were accepted. */
static uint64_t attack(kith_filter *f, kithi_prng *prng, unsigned refusals) {
    uint64_t accepted = 0;
    uint8_t *before = malloc((size_t)f->head.body_bytes);
    CHECK(before != NULL);
    for (unsigned refused = 0; refused < refusals;) {
        uint64_t digest = kithi_prng_next(prng) / f->geometry.cf.regions;
        kithi_head head = f->head;
        if (refused > 0 && refused < 5)
            memcpy(before, f->body, (size_t)f->head.body_bytes);
        kith_status status = kith_filter_add_digest(f, digest, NULL);
        accepted += status == KITH_OK;
        if (status == KITH_OK)
            continue;
        CHECK(status == KITH_E_FULL || status == KITH_E_COPIES);
        CHECK(head.count == f->head.count && head.fill == f->head.fill);
        CHECK(refused == 0 || refused >= 5 || memcmp(before, f->body, (size_t)f->head.body_bytes) == 0);
        refused++;
    }
    free(before);
    return accepted;
}

TEST(no_add_to_an_attacked_region_visits_more_slots_than_the_plan_says) {
    EACH_LAYOUT(l) {
        kith_filter *f = new_filter(l, 3, SLOT_BITS);
        kithi_prng prng = {1};
        uint64_t most = planned_slots(f), accepted = attack(f, &prng, UNDER_SANITIZER ? 20 : 100);
        const kithi_search *s = f->state;
        CHECK(s != NULL);
        printf("shows: %s, %" PRIu64 " keys for a region of %" PRIu64
               " slots: an add visits at most %u slots, planned %" PRIu64 "; %" PRIu64 " KiB of memory\n",
               l->name, accepted, l->slots, s->visited_max, most, s->scratch.bytes >> 10);
        CHECK(s->visited_max <= most);
        uint64_t before = l->b != 0 ? 0 : l->slots < 4096 ? l->slots - 1 : 4096; /* visited by the short search */
        if (l->slots > KITHI_FIT_SEARCH_SLOTS) {
            CHECK_EQ_U64(most, before + 2 * 16384);
            /* The attack reaches the bound of the search, except with b = 1, where the chain of moves never branches.
             * A search that is cut off does not visit its slots a second time. */
            CHECK(s->visited_max == before + 16384 || l->b == 1);
        } else {
            uint64_t places = l->b != 0 ? l->slots / l->b : l->slots - 2;
            CHECK_EQ_U64(most, before + 2 * places * place_slots(l));
        }
        CHECK((s->table != NULL) == (l->slots > 1 << 18));
        CHECK(s->scratch.bytes <= 700000);
        const char *reason = "";
        if (kith_filter_check(f, &reason) != KITH_OK)
            CHECK_FAIL("%s: %s", l->name, reason);
        CHECK_EQ_U64(kith_filter_count(f), accepted);
        kith_filter_free(f);
    }
}

/* ---- random walks ---- */

static uint64_t buckets_visited;

static void visit_bucket(const kithi_cf_geometry *g, uint64_t place, uint64_t fingerprint, uint32_t first[2]) {
    buckets_visited++;
    kithi_cuckoo_layout.first_slots(g, place, fingerprint, first);
}

/* A walk computes the bucket that it visits next with first_slots(), so a layout that counts these calls counts its
 * buckets. */
TEST(no_random_walk_visits_more_slots_than_the_plan_says) {
    static const char *const OPTIONS[] = {"insert=walk", "insert=walk max=50 b=2", "insert=walk max=2000 b=8"};
    kithi_cf_layout counting = kithi_cuckoo_layout;
    counting.first_slots = visit_bucket;
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = "cuckoo";
        spec.options = OPTIONS[i];
        spec.capacity = 5000;
        spec.rate = .01;
        kith_filter *f;
        CHECK_OK(kith_filter_create(&spec, &f));
        const uint64_t slots = f->geometry.cf.bucket_slots, kicks = f->geometry.cf.kicks, most = planned_slots(f);
        CHECK_EQ_U64(most, 2 * kicks * slots); /* there and back */
        f->head.capacity = UINT64_C(1) << 40;
        kithi_prng prng = {6};
        uint8_t *before = malloc((size_t)f->head.body_bytes);
        CHECK(before != NULL);
        uint64_t longest = 0, accepted = 0;
        for (unsigned refused = 0; refused < 20;) {
            kithi_candidates candidates;
            uint64_t digest = kithi_prng_next(&prng);
            uint8_t *region = kithi_cf_locate(&kithi_cuckoo_layout, f, digest, &candidates);
            bool is_full = true;
            for (unsigned j = 0; j < candidates.count; j++)
                is_full &= kithi_cf_get(f, region, candidates.slot[j]) != 0;
            if (!is_full) {
                CHECK_OK(kith_filter_add_digest(f, digest, NULL));
                accepted++;
                continue;
            }
            memcpy(before, f->body, (size_t)f->head.body_bytes);
            buckets_visited = 0;
            kith_status status = kithi_cf_walk(&counting, f, region, &candidates);
            uint64_t visited = buckets_visited * slots;
            longest = visited > longest ? visited : longest;
            accepted += status == KITH_OK;
            if (status == KITH_OK)
                continue;
            CHECK_STATUS(status, KITH_E_FULL);
            CHECK_EQ_U64(visited, most); /* every walk that fails goes as far as it may */
            CHECK(memcmp(before, f->body, (size_t)f->head.body_bytes) == 0);
            refused++;
        }
        printf("shows: cuckoo %s, %" PRIu64 " keys: an add visits at most %" PRIu64 " slots, planned %" PRIu64 "\n",
               OPTIONS[i], accepted, longest, most);
        CHECK(longest <= most);
        free(before);
        kith_filter_free(f);
    }
}

/* ---- the stash ---- */

/* A search that is cut off does not prove that too many keys have the same places and fingerprint, so nothing goes to
 * the stash. With these narrow fingerprints one key in ten has a twin. */
TEST(a_search_that_reaches_its_bound_leaves_the_stash_alone) {
    kith_filter *f = new_filter(&LAYOUTS[0], 1, NARROW);
    kithi_prng prng = {2};
    unsigned refused = 0, with_twin = 0;
    while (refused < 100) {
        uint64_t fill = f->head.fill, digest = kithi_prng_next(&prng);
        bool has_twin = kith_filter_has_digest(f, digest);
        kith_status status = kith_filter_add_digest(f, digest, NULL);
        kithi_search *s = f->state;
        if (s == NULL || !s->was_cut)
            continue;
        s->was_cut = false; /* the next add may find a free slot without a search */
        CHECK(status == KITH_OK || status == KITH_E_FULL);
        CHECK_EQ_U64(f->head.fill, fill);
        refused += status != KITH_OK;
        with_twin += status != KITH_OK && has_twin;
    }
    CHECK(with_twin > 2);
    kith_filter_free(f);
}

/* Returns the memory for searches of a region of f, with a hash table however small the region is. */
static kithi_search *hashed_search(const kith_filter *f) {
    enum { ENTRIES = 1 << 16 };
    kithi_search *s = NULL;
    uint64_t limit = KITHI_FIT_SEARCH_SLOTS / 2,
             bytes = sizeof *s + ENTRIES * sizeof *s->table + limit * sizeof *s->queue;
    CHECK((s = kithi_allocate(&f->allocator, bytes)) != NULL);
    s->limit = limit;
    s->scratch.bytes = bytes;
    s->table = (uint64_t *)(s + 1);
    s->table_mask = ENTRIES - 1;
    s->queue = (kithi_search_item *)(s->table + ENTRIES);
    s->round = UINT32_MAX - 1000; /* the numbers of searches begin again after 2^32 */
    return s;
}

TEST(searches_with_a_hash_table_give_the_same_bytes_as_searches_with_bitmaps) {
    static const layout *const SMALL[] = {&LAYOUTS[0], &LAYOUTS[2]};
    for (size_t i = 0; i < LENGTH(SMALL); i++) {
        kith_filter *bitmap = new_filter(SMALL[i], 1, SLOT_BITS), *hashed = new_filter(SMALL[i], 1, SLOT_BITS);
        hashed->state = hashed_search(hashed);
        kithi_prng prng = {3};
        for (unsigned refused = 0; refused < 30;) {
            uint64_t digest = kithi_prng_next(&prng);
            kith_status status = kith_filter_add_digest(bitmap, digest, NULL);
            CHECK_STATUS(kith_filter_add_digest(hashed, digest, NULL), status);
            refused += status != KITH_OK;
        }
        const kithi_search *s = hashed->state;
        CHECK(s->table != NULL && s->round > 0 && s->round < UINT32_MAX - 1000);
        CHECK(memcmp(bitmap->body, hashed->body, (size_t)bitmap->head.body_bytes) == 0);
        kith_filter_free(bitmap);
        kith_filter_free(hashed);
    }
}

/* Makes all searches of f general ones, without a search of windows before them. */
static void search_generally(kith_filter *f) {
    f->state = kithi_search_new(&kithi_overlap_layout, &f->geometry.cf, &f->allocator);
    CHECK(f->state != NULL);
    ((kithi_search *)f->state)->window_items = 0;
}

/* Compares two filters that get the same keys; in one of them, all searches are general. There are many ways to reach
 * the same entry in narrow slots, in small regions and among copies; then short searches must give up early. A window
 * of slots of 29 bits is not one word. */
TEST(searches_of_windows_give_the_same_bytes_as_general_searches) {
    static const struct {
        uint64_t slots;
        unsigned slot_bits, copies;
        bool one_word;
    } CASES[] = {
        {4, 13, 1, true},       {8, 13, 1, true},        {64, NARROW, 1, true},      {1 << 10, NARROW, 1, true},
        {1 << 10, 3, 1, true},  {1 << 12, 13, 1, true},  {1 << 13, 28, 1, true},     {1 << 13, 29, 1, false},
        {1 << 13, 32, 1, true}, {1 << 16, 13, 1, true},  {1 << 13, 13, 2, true},     {1 << 13, 13, 3, true},
        {1 << 13, 13, 6, true}, {1 << 13, 29, 2, false}, {1 << 16, NARROW, 1, true},
    };
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        layout l = {"overlap", 5, 0, 0, CASES[i].slots};
        kith_filter *windows = new_filter(&l, 1, CASES[i].slot_bits), *general = new_filter(&l, 1, CASES[i].slot_bits);
        search_generally(general);
        kithi_prng prng = {i};
        uint64_t short_searches = 0, searches = 0, digest = 0;
        for (unsigned n = 0, refused = 0; refused < (CASES[i].copies == 1 ? 10 : 2000); n++) {
            if (n % CASES[i].copies == 0)
                digest = kithi_prng_next(&prng);
            kithi_search *s[2] = {windows->state, general->state};
            for (unsigned j = 0; j < 2; j++)
                if (s[j] != NULL)
                    s[j]->examined = 0;
            kith_status status = kith_filter_add_digest(general, digest, NULL);
            CHECK_STATUS(kith_filter_add_digest(windows, digest, NULL), status);
            CHECK_EQ_U64(windows->head.fill, general->head.fill);
            s[0] = windows->state;
            bool searched = s[1]->examined != 0 && status == KITH_OK;
            searches += searched;
            short_searches += searched && s[0]->examined == 0;
            refused += status != KITH_OK;
        }
        CHECK(memcmp(windows->body, general->body, (size_t)windows->head.body_bytes) == 0);
        const kithi_search *s = windows->state;
        printf("  %6" PRIu64 " slots of %2u bits, %2u copies: %5" PRIu64 " of %5" PRIu64
               " searches were short; at the end their limit is %4u\n",
               CASES[i].slots, CASES[i].slot_bits, CASES[i].copies, short_searches, searches, s->window_items);
        if (!CASES[i].one_word)
            CHECK(short_searches == 0 && s->window_items == 0);
        else if (CASES[i].slots >= 1 << 12 && CASES[i].copies <= 3)
            CHECK(short_searches > searches / 2 && short_searches < searches);
        if (CASES[i].slots == 1 << 16)
            CHECK_EQ_U64(s->window_items, KITHI_WINDOW_ITEMS);
        if (CASES[i].copies > 2)
            CHECK(s->window_items < 1024);
        kith_filter_free(windows);
        kith_filter_free(general);
    }
}

TEST(every_key_of_a_full_region_is_found_and_removed) {
    EACH_LAYOUT(l) {
        kith_filter *f = new_filter(l, 1, SLOT_BITS);
        uint64_t *in = malloc((size_t)(l->slots + 200) * sizeof *in), n = 0;
        CHECK(in != NULL);
        kithi_prng prng = {4};
        for (unsigned refused = 0; refused < 50;) {
            in[n] = kithi_prng_next(&prng);
            if (kith_filter_add_digest(f, in[n], NULL) == KITH_OK)
                n++;
            else
                refused++;
        }
        CHECK_EQ_U64(kith_filter_has_many(f, in, (size_t)n, NULL), n);
        CHECK_OK(kith_filter_remove_many(f, in, (size_t)n, NULL));
        CHECK(kith_filter_count(f) == 0 && f->head.fill == 0);
        free(in);
        kith_filter_free(f);
    }
}

/* The layers of a filter that grows have the same bound, and their plan says so. */
TEST(layers_search_within_the_same_bound) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "layers";
    spec.options = "inner=overlap";
    spec.capacity = 5000;
    spec.rate = .01;
    kith_filter *f;
    CHECK_OK(kith_filter_create(&spec, &f));
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan_of(f, &plan));
    CHECK_EQ_U64(plan.search_slots, 4 * (plan.cells - 2) + 4096);
    kithi_prng prng = {4};
    for (unsigned i = 0; i < 50000; i++)
        CHECK_OK(kith_filter_add_digest(f, kithi_prng_next(&prng), NULL));
    CHECK_OK(kith_filter_plan_of(f, &plan));
    CHECK_EQ_U64(plan.search_slots, 2 * 16384 + 4096);
    kith_filter_free(f);
}

/* ---- the lengths of searches ---- */

/* Fills regions of 2^18 slots to load + 0.001, and counts the searches in the last thousandth of the load that examined
 * more than `places[i]` places. The share of the longer ones among the shorter ones must be at most that of the
 * formula: the numbers are chosen so that a few hundred searches are longer than the first and still some than the
 * second. */
TEST(long_searches_are_as_rare_as_the_formula_says) {
    static const struct {
        layout l;
        kithi_fit_layout fit;
        double load;
        uint32_t places[2];
    } POINTS[] = {
        {{"overlap", 5, 0, 0, 1 << 18}, {.place_slots = 2, .windows = true, .window_bits = 1}, .944, {200, 400}},
        {{"overlap", 5, 0, 0, 1 << 18}, {.place_slots = 2, .windows = true, .window_bits = 1}, .953, {700, 1300}},
        {{"cuckoo b=2", 4, 2, 0, 1 << 18}, {.place_slots = 2}, .874, {100, 200}},
        {{"cuckoo b=2", 4, 2, 0, 1 << 18}, {.place_slots = 2}, .886, {500, 900}},
        {{"cuckoo b=4", 4, 4, 0, 1 << 18}, {.place_slots = 4}, .959, {30, 60}},
        {{"cuckoo b=4", 4, 4, 0, 1 << 18}, {.place_slots = 4}, .973, {250, 400}},
        {{"cuckoo b=8", 4, 8, 0, 1 << 18}, {.place_slots = 8}, .984, {10, 20}},
        {{"cuckoo b=8", 4, 8, 0, 1 << 18}, {.place_slots = 8}, .9945, {100, 200}},
    };
    unsigned seeds = check_soak() ? 500 : UNDER_SANITIZER ? 1 : 4;
    for (size_t i = 0; i < LENGTH(POINTS); i++) {
        kith_filter *f = new_filter(&POINTS[i].l, 1, SLOT_BITS);
        uint64_t from = (uint64_t)(POINTS[i].load * (double)POINTS[i].l.slots);
        uint64_t to = (uint64_t)((POINTS[i].load + .001) * (double)POINTS[i].l.slots), longer[2] = {0, 0};
        for (unsigned seed = 0; seed < seeds; seed++) {
            kithi_prng prng = {kithi_mix(1000 * i + seed)};
            CHECK_OK(kith_filter_clear(f));
            for (uint64_t n = 0; n < to; n++) {
                kithi_search *s = f->state;
                if (s != NULL)
                    s->examined = s->window_items = 0; /* searches of windows are not counted */
                CHECK_OK(kith_filter_add_digest(f, kithi_prng_next(&prng), NULL));
                s = f->state;
                for (unsigned j = 0; j < 2 && n >= from; j++)
                    longer[j] += s->examined > POINTS[i].places[j];
            }
        }
        kith_filter_free(f);
        double more = (double)POINTS[i].places[1] - (double)POINTS[i].places[0];
        double at_most = kithi_fit_search_tail(&POINTS[i].fit, POINTS[i].load, more) * (double)longer[0];
        printf("  %-10s load %.4f: %" PRIu64 " searches of more than %u places, %" PRIu64
               " of more than %u, at most %.1f expected\n",
               POINTS[i].l.name, POINTS[i].load, longer[0], POINTS[i].places[0], longer[1], POINTS[i].places[1],
               at_most);
        CHECK(longer[0] >= (UNDER_SANITIZER ? 2 : 20));
        CHECK((double)longer[1] <= at_most + 4 * sqrt(at_most) + 1);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
