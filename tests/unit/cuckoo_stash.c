/* Tests the stash of the cuckoo kinds (kinds/shared/cuckoo_stash.h) with filters so small that keys with the same
 * places and the same fingerprint are found by trying digests. */
#include <kith/inspect.h>
#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/shared/cuckoo_stash.h"
#include "handle/handle.h"
#include "kinds/registry.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { HALF = 8, STASH = 5, SLOT_BITS = 6, ALIKE_MAX = KITHI_CANDIDATES_MAX + STASH + 1 };

static const struct {
    const char *name;
    uint16_t kind_id;
    uint64_t b, alternate, slot_bits;
} LAYOUTS[] = {
    {"overlap", 5, 0, 0, SLOT_BITS},    {"overlap, wide", 5, 0, 0, 31}, /* places do not fit in a word */
    {"cuckoo b=1", 4, 1, 0, SLOT_BITS}, {"cuckoo b=2", 4, 2, 0, SLOT_BITS}, {"cuckoo b=4", 4, 4, 0, SLOT_BITS},
    {"cuckoo b=8", 4, 8, 0, SLOT_BITS}, {"cuckoo, wide", 4, 4, 0, 20},      {"cuckoo simple", 4, 4, 1, SLOT_BITS},
    {"cuckoo xor", 4, 4, 2, SLOT_BITS},
};

#define EACH_LAYOUT(l) for (size_t l = 0; l < LENGTH(LAYOUTS); l++)

static kithi_head head_of(size_t l, uint64_t regions, uint64_t capacity) {
    kithi_head head = {.kind_id = LAYOUTS[l].kind_id, .capacity = capacity, .rate = .5};
    head.params[KITHI_PARAM_SLOT_BITS] = LAYOUTS[l].slot_bits;
    head.params[KITHI_PARAM_HALF] = HALF;
    head.params[KITHI_PARAM_REGIONS] = LAYOUTS[l].alternate == 2 ? 1 : regions;
    head.params[KITHI_PARAM_BUCKET_SLOTS] = LAYOUTS[l].b;
    head.params[KITHI_PARAM_ALTERNATE] = LAYOUTS[l].alternate;
    head.params[KITHI_PARAM_STASH] = STASH;
    kithi_shape shape;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
    head.body_bytes = shape.body_bytes;
    return head;
}

static kith_filter *new_filter(size_t l, uint64_t regions, uint64_t capacity) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kithi_head head = head_of(l, regions, capacity);
    kith_filter *f;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &f));
    return f;
}

/* The number of slots in which a key may be stored. */
static unsigned slots_of_key(const kith_filter *f) {
    return f->shape.max_copies;
}

static void note_cells(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    uint64_t *sum = context;
    (void)holds;
    (void)wanted;
    *sum += kithi_mix(cell + 1);
}

/* Returns a number that is the same for two digests if their candidate slots are the same. */
static uint64_t pair_of(const kith_filter *f, uint64_t digest) {
    uint64_t sum = 0;
    (void)kith_filter_look(f, digest, note_cells, &sum);
    return sum;
}

/* Returns digests with the same places; the first `n` of them also have the same fingerprint, the last one has another.
 * `f` is empty. If fingerprints are so wide that no other digest has the same one, the first n are equal. */
static void draw_alike(kith_filter *f, uint64_t seed, size_t n, uint64_t *digests) {
    kithi_prng prng = {seed};
    digests[0] = kithi_prng_next(&prng);
    CHECK_OK(kith_filter_add_digest(f, digests[0], NULL));
    size_t found = 1;
    for (; found < n && f->shape.fingerprint_bits >= 16; found++)
        digests[found] = digests[0];
    while (found < n) {
        digests[found] = kithi_prng_next(&prng);
        found += kith_filter_has_digest(f, digests[found]);
    }
    do
        digests[n] = kithi_prng_next(&prng);
    while (pair_of(f, digests[n]) != pair_of(f, digests[0]) || kith_filter_has_digest(f, digests[n]));
    CHECK_OK(kith_filter_clear(f));
}

typedef struct snapshot {
    uint8_t *bytes;
    size_t byte_count;
} snapshot;

static snapshot snapshot_of(kith_filter *f) {
    const void *bytes;
    snapshot s;
    CHECK_OK(kith_filter_bytes(f, &bytes, &s.byte_count));
    s.bytes = malloc(s.byte_count);
    CHECK(s.bytes != NULL);
    memcpy(s.bytes, bytes, s.byte_count);
    return s;
}

/* Compares the filter with a snapshot, which it frees. */
static void check_unchanged(kith_filter *f, snapshot s) {
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
    CHECK(byte_count == s.byte_count && memcmp(bytes, s.bytes, byte_count) == 0);
    free(s.bytes);
}

static void check_valid(kith_filter *f) {
    const char *reason = "";
    if (kith_filter_check(f, &reason) != KITH_OK)
        CHECK_FAIL("check: %s", reason);
}

static uint64_t copies_of(const kith_filter *f, uint64_t digest) {
    return f->verbs.copies(f, digest);
}

static void add_all(kith_filter *f, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n; i++)
        CHECK_OK(kith_filter_add_digest(f, digests[i], NULL));
}

/* ---- more keys with the same places and fingerprint than slots ---- */

TEST(more_keys_than_slots_with_one_fingerprint_are_stored_found_and_removed) {
    EACH_LAYOUT(l) {
        kith_filter *f = new_filter(l, 2, 1000);
        unsigned c = slots_of_key(f), all = c + STASH;
        uint64_t digests[ALIKE_MAX + 1];
        draw_alike(f, 1, all + 1, digests);
        for (unsigned i = 0; i < all; i++) {
            bool was_new = i != 0;
            CHECK_OK(kith_filter_add_digest(f, digests[i], &was_new));
            CHECK(was_new == (i == 0));
            CHECK_EQ_U64(kith_filter_count(f), i + 1);
            CHECK_EQ_U64(f->head.fill, i < c ? 0 : i + 1 - c);
            CHECK_EQ_U64(copies_of(f, digests[0]), i + 1);
            check_valid(f);
        }
        CHECK_EQ_U64(kith_filter_has_many(f, digests, all, NULL), all);
        CHECK_EQ_U64(copies_of(f, digests[all + 1]), 0);
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(f, &stats));
        CHECK_EQ_U64(stats.cells_used, c);

        snapshot full = snapshot_of(f);
        CHECK_STATUS(kith_filter_add_digest(f, digests[all], NULL), KITH_E_COPIES);
        size_t done = 9;
        CHECK_STATUS(kith_filter_add_many(f, digests + all, 1, NULL, &done), KITH_E_COPIES);
        CHECK(done == 0);
        check_unchanged(f, full);

        for (unsigned left = all; left-- > 0;) { /* the stash is drained first */
            CHECK_OK(kith_filter_remove_many(f, digests + left, 1, NULL));
            CHECK_EQ_U64(f->head.fill, left < c ? 0 : left - c);
            CHECK_EQ_U64(copies_of(f, digests[0]), left);
            CHECK(kith_filter_has_digest(f, digests[0]) == (left > 0));
            check_valid(f);
        }
        for (uint64_t i = 0; i < f->head.body_bytes; i++)
            CHECK(f->body[i] == 0);
        kith_filter_free(f);
    }
}

TEST(at_capacity_a_key_without_a_free_slot_returns_full_while_its_stash_has_space_and_copies_afterwards) {
    EACH_LAYOUT(l) {
        kith_filter *f = new_filter(l, 1, 1000);
        unsigned c = slots_of_key(f);
        uint64_t digests[ALIKE_MAX + 1];
        draw_alike(f, 2, c + STASH + 1, digests);
        add_all(f, digests, c);
        for (unsigned i = c; i <= c + STASH; i++) {
            f->head.capacity = i;
            snapshot before = snapshot_of(f);
            CHECK_STATUS(kith_filter_add_digest(f, digests[i], NULL), i < c + STASH ? KITH_E_FULL : KITH_E_COPIES);
            check_unchanged(f, before);
            f->head.capacity = 1000;
            if (i < c + STASH)
                CHECK_OK(kith_filter_add_digest(f, digests[i], NULL));
        }
        kith_filter_free(f);
    }
}

TEST(a_key_that_shares_only_the_places_moves_one_of_the_others_to_the_stash) {
    EACH_LAYOUT(l) {
        kith_filter *f = new_filter(l, 2, 1000);
        unsigned c = slots_of_key(f);
        uint64_t digests[ALIKE_MAX + 1];
        draw_alike(f, 3, c + STASH, digests);
        uint64_t other = digests[c + STASH];
        add_all(f, digests, c);
        CHECK(!kith_filter_has_digest(f, other));
        bool was_new = false;
        CHECK_OK(kith_filter_add_digest(f, other, &was_new));
        CHECK(was_new && f->head.fill == 1);
        CHECK(copies_of(f, other) == 1 && copies_of(f, digests[0]) == c);
        check_valid(f);
        /* The other keys are found as long as one of them is left. */
        for (unsigned left = c; left-- > 0;) {
            CHECK_OK(kith_filter_remove_many(f, digests, 1, NULL));
            CHECK(copies_of(f, digests[0]) == left && kith_filter_has_digest(f, other));
            check_valid(f);
        }
        CHECK(f->head.fill == 0);
        kith_filter_free(f);
    }
}

TEST(if_the_stash_is_full_a_key_that_shares_only_the_places_is_refused_without_a_change) {
    EACH_LAYOUT(l) {
        kith_filter *f = new_filter(l, 2, 1000);
        unsigned c = slots_of_key(f);
        uint64_t digests[ALIKE_MAX + 1];
        draw_alike(f, 4, c + STASH, digests);
        add_all(f, digests, c + STASH);
        snapshot before = snapshot_of(f);
        CHECK_STATUS(kith_filter_add_digest(f, digests[c + STASH], NULL), KITH_E_FULL);
        check_unchanged(f, before);
        kith_filter_free(f);
    }
}

/* ---- random operations up to the last free slot ---- */

/* Adds random keys until 40 were refused, then removes all. Returns how many keys moved another one to the stash. */
static unsigned fill_and_empty(size_t l, uint64_t seed) {
    enum { KEYS_MAX = 600 };
    static uint64_t in[KEYS_MAX];
    kith_filter *f = new_filter(l, 1, KEYS_MAX);
    kithi_prng prng = {kithi_mix(seed)};
    unsigned n = 0, moved = 0;
    for (unsigned refused = 0; refused < 40;) {
        uint64_t digest = kithi_prng_next(&prng), fill = f->head.fill;
        bool had = kith_filter_has_digest(f, digest);
        snapshot before = snapshot_of(f);
        kith_status status = kith_filter_add_digest(f, digest, NULL);
        if (status == KITH_OK) {
            free(before.bytes);
            moved += f->head.fill > fill && !had;
            CHECK(n < KEYS_MAX);
            in[n++] = digest;
        } else {
            CHECK_STATUS(status, had ? KITH_E_COPIES : KITH_E_FULL);
            check_unchanged(f, before);
            refused++;
        }
        check_valid(f);
        CHECK_EQ_U64(kith_filter_has_many(f, in, n, NULL), n);
    }
    while (n > 0) {
        unsigned i = (unsigned)kithi_prng_below(&prng, n);
        CHECK_OK(kith_filter_remove_many(f, &in[i], 1, NULL));
        in[i] = in[--n];
        check_valid(f);
        CHECK_EQ_U64(kith_filter_has_many(f, in, n, NULL), n);
    }
    CHECK(kith_filter_count(f) == 0 && f->head.fill == 0);
    kith_filter_free(f);
    return moved;
}

TEST(every_key_is_found_while_a_region_fills_up_and_empties) {
    unsigned moved = 0;
    EACH_LAYOUT(l) {
        for (uint64_t seed = 0; seed < (check_soak() ? 500 : 5); seed++)
            moved += fill_and_empty(l, 100 * l + seed);
    }
    CHECK(moved > 20);
}

/* ---- merge ---- */

TEST(merge_stores_the_entries_of_both_stashes_or_changes_nothing) {
    EACH_LAYOUT(l) {
        kith_filter *into = new_filter(l, 2, 1000), *from = new_filter(l, 2, 1000);
        unsigned c = slots_of_key(into);
        uint64_t digests[ALIKE_MAX + 1], others[ALIKE_MAX + 1];
        draw_alike(into, 5, c + STASH, digests);
        draw_alike(into, 6, c + 1, others);
        add_all(into, digests, c + 1);
        add_all(into, others, 1);
        add_all(from, digests + c + 1, 1);
        add_all(from, others + 1, c); /* too many together with the one in `into` */
        CHECK_OK(kith_filter_merge(into, from));
        check_valid(into);
        CHECK(into->head.fill == 3 && kith_filter_count(into) == 2 * c + 3);
        CHECK(copies_of(into, digests[0]) == c + 2 && copies_of(into, others[0]) == c + 1);

        CHECK_OK(kith_filter_clear(from));
        add_all(from, digests, c + STASH);
        CHECK_EQ_U64(from->head.fill, STASH);
        snapshot before = snapshot_of(into);
        CHECK_STATUS(kith_filter_merge(into, from), KITH_E_COPIES);
        check_unchanged(into, before);
        check_valid(into);

        CHECK_OK(kith_filter_clear(into));
        CHECK_OK(kith_filter_merge(into, from));
        CHECK(into->head.fill == STASH && copies_of(into, digests[0]) == c + STASH);
        check_valid(into);
        kith_filter_free(into);
        kith_filter_free(from);
    }
}

/* ---- hostile bytes ---- */

/* A valid block of one region with entries of two combinations in its stash, and where the stash is. */
static snapshot valid_block(size_t l, kithi_head *head, uint8_t **stash) {
    kith_filter *f = new_filter(l, 1, 1000);
    unsigned c = slots_of_key(f);
    uint64_t digests[ALIKE_MAX + 1];
    for (uint64_t seed = 7; f->head.fill < 3; seed++) { /* those of another seed may find their slots taken */
        kith_filter *empty = new_filter(l, 1, 1000);
        draw_alike(empty, seed, c + 2, digests);
        kith_filter_free(empty);
        for (unsigned i = 0; i < c + 2 && f->head.fill < 3; i++)
            CHECK_OK(kith_filter_add_digest(f, digests[i], NULL));
    }
    snapshot s = snapshot_of(f);
    *head = f->head;
    *stash = s.bytes + KITHI_HEADER_BYTES + f->geometry.cf.stash_at;
    kith_filter_free(f);
    return s;
}

/* Seals the block and opens it. A lazily opened one must be safe to use, whatever it holds. */
static kith_status try_block(snapshot s, const kithi_head *head) {
    kithi_block_seal(s.bytes, head);
    kith_filter *f;
    if (kith_filter_view(s.bytes, s.byte_count, KITH_OPEN_LAZY, NULL, &f) == KITH_OK) {
        kithi_prng prng = {9};
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(f, &stats));
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t digest = kithi_prng_next(&prng);
            CHECK(kith_filter_has_digest(f, digest) == (copies_of(f, digest) > 0));
        }
        kith_filter_free(f);
    }
    kith_status status = kith_filter_view(s.bytes, s.byte_count, KITH_OPEN_DEFAULT, NULL, &f);
    if (status == KITH_OK)
        kith_filter_free(f);
    return status;
}

TEST(a_block_whose_stash_no_adds_could_have_left_is_refused) {
    unsigned bytes_before = 0; /* layouts of which the byte before the stash was checked */
    EACH_LAYOUT(l) {
        kithi_head head;
        uint8_t *stash;
        snapshot s = valid_block(l, &head, &stash);
        uint64_t fingerprint_max = kithi_kind_by_id(head.kind_id)->lookup->decode(&head).cf.fingerprint_max;
        uint64_t first = kithi_load64(stash), second = kithi_load64(stash + 8), third = kithi_load64(stash + 16);
        CHECK(first != 0 && first <= second && second <= third && kithi_load64(stash + 24) == 0);
        CHECK_OK(try_block(s, &head));
        uint64_t place = first >> 32, fingerprint = first & UINT32_MAX;
        const uint64_t BAD[] = {
            fingerprint,                            /* place 0, or a twin that is missing */
            place << 32,                            /* fingerprint 0 */
            place << 32 | (fingerprint_max + 1),    /* one too large */
            (uint64_t)2 * HALF << 32 | fingerprint, /* a place after the last */
            UINT64_MAX,
            first ^ 1, /* no twin in a slot */
            0,         /* an unused entry before the others */
        };
        for (size_t i = 0; i < LENGTH(BAD); i++) {
            if (BAD[i] == first)
                continue;
            kithi_store64(stash, BAD[i]);
            CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
        }
        kithi_store64(stash, first);
        if (first != third) { /* not in order */
            kithi_store64(stash, third);
            kithi_store64(stash + 16, first);
            CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
            kithi_store64(stash, first);
            kithi_store64(stash + 16, third);
        }
        kithi_store64(stash + 32, third); /* after an unused one */
        CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
        kithi_store64(stash + 32, 0);
        if (stash[-1] == 0) { /* not part of the stash: zeros, or the last slot, if it is empty */
            stash[-1] = 1;
            CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
            stash[-1] = 0;
            bytes_before++;
        }
        head.fill = 2;
        CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
        head.fill = UINT64_MAX;
        CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
        head.fill = 3;
        head.count++;
        CHECK_STATUS(try_block(s, &head), KITH_E_CORRUPT);
        head.count--;
        CHECK_OK(try_block(s, &head));
        free(s.bytes);
    }
    CHECK(bytes_before > 0);
}

TEST(an_entry_with_the_larger_of_its_two_places_is_refused) {
    EACH_LAYOUT(l) {
        kithi_head head;
        uint8_t *stash;
        snapshot s = valid_block(l, &head, &stash);
        uint64_t third = kithi_load64(stash + 16), fingerprint = third & UINT32_MAX;
        unsigned refused = 0;
        for (uint64_t place = third >> 32; ++place < 2 * HALF;) { /* one of them is the other place of the key */
            kithi_store64(stash + 16, place << 32 | fingerprint);
            refused += try_block(s, &head) == KITH_E_CORRUPT;
        }
        CHECK_EQ_U64(refused, 2 * HALF - 1 - (third >> 32));
        free(s.bytes);
    }
}

TEST(parameters_with_an_impossible_stash_are_refused) {
    EACH_LAYOUT(l) {
        kithi_head head = head_of(l, 1, 100);
        const kithi_kind *kind = kithi_kind_by_id(head.kind_id);
        kithi_shape shape;
        static const uint64_t BAD[] = {KITHI_FIT_STASH_MAX + 1, UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_MAX};
        for (size_t i = 0; i < LENGTH(BAD); i++) {
            head.params[KITHI_PARAM_STASH] = BAD[i];
            CHECK_STATUS(kithi_kind_shape(kind, &head, &shape), KITH_E_CORRUPT);
        }
        head.params[KITHI_PARAM_STASH] = KITHI_FIT_STASH_MAX;
        CHECK_OK(kithi_kind_shape(kind, &head, &shape));
        if (LAYOUTS[l].b == 0)
            continue;
        head.params[KITHI_PARAM_KICKS] = 500; /* random walks have no stash */
        CHECK_STATUS(kithi_kind_shape(kind, &head, &shape), KITH_E_CORRUPT);
        head.params[KITHI_PARAM_STASH] = 0;
        CHECK_OK(kithi_kind_shape(kind, &head, &shape));
    }
}

/* ---- builds and layers ---- */

/* Fingerprints of 3 bits in windows: a region of 2^18 slots has about 20 entries in its stash. */
TEST(a_build_on_several_threads_has_the_bytes_of_adds_with_entries_in_stashes) {
    enum { N = 600000 };
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "overlap";
    spec.options = "f=3";
    spec.capacity = N;
    spec.rate = .5;
    uint64_t *digests = malloc(N * sizeof *digests);
    CHECK(digests != NULL);
    kithi_prng prng = {11};
    for (size_t i = 0; i < N; i++)
        digests[i] = kithi_prng_next(&prng);
    kith_filter *added, *built;
    CHECK_OK(kith_filter_create(&spec, &added));
    CHECK_OK(kith_filter_add_many(added, digests, N, NULL, NULL));
    CHECK(added->head.params[KITHI_PARAM_REGIONS] > 2 && added->head.fill > 10);
    check_valid(added);
    for (unsigned threads = 1; threads <= 3; threads++) {
        CHECK_OK(kith_filter_build(&spec, digests, N, KITH_BUILD_SET, threads, &built));
        check_unchanged(built, snapshot_of(added));
        kith_filter_free(built);
    }
    CHECK_OK(kith_filter_remove_many(added, digests, N, NULL));
    CHECK(kith_filter_count(added) == 0 && added->head.fill == 0);
    kith_filter_free(added);
    free(digests);
}

/* Distinct keys that no layer can tell apart are not refused as copies of one key. */
TEST(layers_take_as_many_keys_of_one_fingerprint_as_their_newest_layer) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "layers";
    spec.options = "inner=overlap f=4";
    spec.capacity = 2000;
    spec.rate = .3;
    kith_filter *f;
    CHECK_OK(kith_filter_create(&spec, &f));
    kithi_prng prng = {12};
    uint64_t digest = kithi_prng_next(&prng), taken = 0;
    kith_status status;
    while ((status = kith_filter_add_digest(f, digest, NULL)) == KITH_OK)
        taken++;
    CHECK_STATUS(status, KITH_E_COPIES);
    CHECK(taken > 4 && taken <= 4 + KITHI_FIT_STASH_MAX);
    CHECK_EQ_U64(kith_filter_count(f), taken);
    for (; taken > 0; taken--)
        CHECK_OK(kith_filter_remove_many(f, &digest, 1, NULL));
    CHECK(!kith_filter_has_digest(f, digest));
    kith_filter_free(f);
}

/* ---- repair ---- */

/* Overwrites a slot with the code of another key. */
static void overwrite_slot(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    kith_filter *f = context;
    (void)holds;
    kithi_cf_set(f, f->body, (uint32_t)cell, (uint32_t)(wanted ^ 4));
}

static void last_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    uint64_t *last = context;
    (void)holds;
    (void)wanted;
    *last = cell > *last ? cell : *last;
}

/* All slots of a key are in a damaged page, and now hold the codes of other keys. Its copies in the stash, which is in
 * a good page, cannot be found there, and there is no slot for them. */
TEST(a_repair_counts_stash_entries_that_it_drops_as_lost) {
    enum { LARGE_HALF = 1 << 17, LAYOUT = 4 };
    kithi_head head = head_of(LAYOUT, 1, 1000);
    head.params[KITHI_PARAM_HALF] = LARGE_HALF;
    kithi_shape shape;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
    head.body_bytes = shape.body_bytes;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *f;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &f));
    CHECK(f->geometry.cf.stash_at > 2 * KITHI_PAGE_BYTES);

    kithi_prng prng = {1};
    uint64_t digest, last;
    do {
        digest = kithi_prng_next(&prng);
        last = 0;
        (void)kith_filter_look(f, digest, last_cell, &last);
    } while ((last + 1) * SLOT_BITS > 8 * KITHI_PAGE_BYTES);
    unsigned copies = slots_of_key(f) + STASH;
    for (unsigned i = 0; i < copies; i++)
        CHECK_OK(kith_filter_add_digest(f, digest, NULL));
    CHECK_EQ_U64(f->head.fill, STASH);
    (void)kith_filter_look(f, digest, overwrite_slot, f);

    uint8_t pages[64] = {KITHI_PAGE_BAD};
    kithi_damage damage = {.page_states = pages, .pages = (head.body_bytes + KITHI_PAGE_BYTES - 1) / KITHI_PAGE_BYTES};
    CHECK(damage.pages <= sizeof pages && KITHI_PAGE_GOOD == 0);
    CHECK_OK(f->kind->repair.salvage(f, &damage));
    CHECK(!kith_filter_has_digest(f, digest));
    CHECK_EQ_U64(f->head.fill, 0);
    CHECK_EQ_U64(damage.keys_at_risk, copies);
    check_valid(f);
    kith_filter_free(f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
