/* F5: how many copies of a key a cuckoo filter holds.
 *
 * A key has b candidate slots in each of its two buckets (2 in a window). Each copy is one more entry with the same
 * fingerprint. So 2b copies fit into an empty filter, and the next one is refused. A refusal changes no byte of the
 * filter, whether the reason is too many copies or no free slot. The experiment compares the whole block including its
 * checksums. Finally the copies are removed one by one. */
#include <string.h>

#include "geometry.h"

typedef struct layout {
    const char *word; /* the value of the setting `layout` */
    const char *name;
    geometry g;
    unsigned copies;
} layout;

/* About 256 slots per region. With 12 bits it is unlikely that another key is in the class of this one. */
static const layout LAYOUTS[] = {
    {"b1", "b = 1", {1, 12, 128, 1, false}, 2},
    {"b2", "b = 2", {2, 12, 64, 1, false}, 4},
    {"b4", "b = 4", {4, 12, 32, 1, false}, 8},
    {"b8", "b = 8", {8, 12, 16, 1, false}, 16},
    {"simple", "b = 4, simple", {4, 12, 32, 1, true}, 8},
    {"windows", "windows of 2", {0, 12, 128, 1, false}, 4},
    {"regions", "b = 4, 3 regions", {4, 12, 32, 3, false}, 8},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS, COPIES_MAX = 40 };

typedef struct refusals {
    uint64_t count;
    uint64_t changed;      /* … that changed a byte of the filter */
    uint64_t wrong_status; /* … with another status than expected */
} refusals;

/* Adds a key. Returns whether it was added; otherwise counts the refusal. `expected` KITH_OK accepts both kinds of
 * refusal. */
static bool try_to_add(lab *l, kith_filter *f, uint64_t key, kith_status expected, uint8_t *before, refusals *r) {
    const void *bytes = NULL;
    size_t size = 0;
    lab_must(l, kith_filter_bytes(f, &bytes, &size), "reading the bytes");
    memcpy(before, bytes, size);
    kith_status status = kith_filter_add(f, &key, sizeof key, NULL);
    if (status == KITH_OK)
        return true;
    if (status != KITH_E_COPIES && status != KITH_E_FULL)
        lab_must(l, status, "adding a key");
    lab_must(l, kith_filter_bytes(f, &bytes, &size), "reading the bytes");
    r->count++;
    r->changed += memcmp(before, bytes, size) != 0;
    r->wrong_status += expected != KITH_OK && status != expected;
    return false;
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters");
    lab_parameter(l, "slots", "256, and 768 in 3 regions");
    lab_parameter(l, "filters of each layout", "%llu", (unsigned long long)filters);
    lab_plot *plot = lab_draw(l, "Copies of one key that fit", "candidate slots of a key", "copies", 0);
    lab_series *curve = lab_curve(plot, "2b"), *points = lab_points(plot, "measured");
    uint8_t *before = lab_take(l, 4096);
    lab_at(curve, 2, lab_exact(2));
    lab_at(curve, 16, lab_exact(16));
    for (unsigned i = 0; i < LAYOUT_COUNT; i++) {
        const layout *at = &LAYOUTS[i];
        if (!lab_wants(l, "layout", at->word))
            continue;
        refusals of_copies = {0}, of_others = {0};
        uint64_t least = COPIES_MAX, most = 0, slots = geometry_slots(&at->g), lost = 0;
        for (uint64_t j = 0; j < filters; j++) {
            kith_filter *f = geometry_filter(l, &at->g);
            uint64_t key = lab_key(l, 2 * slots), copies = 0;
            while (copies < COPIES_MAX && try_to_add(l, f, key, KITH_E_COPIES, before, &of_copies))
                copies++;
            least = copies < least ? copies : least;
            most = copies > most ? copies : most;
            uint64_t others = geometry_fill(l, f, 0, slots);
            for (uint64_t k = others; k < others + 20; k++)
                (void)try_to_add(l, f, lab_key(l, k), KITH_OK, before, &of_others);
            (void)try_to_add(l, f, key, KITH_E_COPIES, before, &of_copies);
            lost += others - lab_count_found(l, f, 0, others) + (kith_filter_copies(f, &key, sizeof key) < copies);
            for (uint64_t k = 0; k < copies; k++)
                lab_must(l, kith_filter_remove(f, &key, sizeof key), "removing a copy");
            lost += others - lab_count_found(l, f, 0, others);
            lab_drop(l, f);
            lab_progress(l, (i + (double)j / (double)filters) / LAYOUT_COUNT);
        }
        lab_find(l, LAB_EQUALS, at->copies, lab_exact((double)least), "%s: copies that fit, minimum", at->name);
        lab_find(l, LAB_EQUALS, at->copies, lab_exact((double)most), "%s: copies that fit, maximum", at->name);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)of_copies.wrong_status),
                 "%s: refusals of one more copy without KITH_E_COPIES", at->name);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)(of_copies.changed + of_others.changed)),
                 "%s: refusals that changed a byte, of %llu", at->name,
                 (unsigned long long)(of_copies.count + of_others.count));
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)lost), "%s: other keys lost", at->name);
        lab_at(points, at->copies, lab_exact((double)least));
    }
}

const lab_claim lab_F5 = {
    .id = "F5",
    .title = "copies of a key",
    .sentence = "2b copies of a key fit. One more is refused, and the refusal changes nothing.",
    .formula = NULL,
    .code = "src/kinds/shared/cuckoo_search.h",
    .decides = "b = 4: copies that fit",
    .settings = {LAB_SIZE("filters", 20, 400, 1, 1e6, "filters of each shape"),
                 LAB_WORD("layout", "all", "all b1 b2 b4 b8 simple windows regions",
                          "slots per bucket, alternate=simple, windows, or 3 regions")},
    .run = run,
};
