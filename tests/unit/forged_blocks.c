/* Blocks that no library writes, with correct checksums: the validator names what is wrong with each of them.
 *
 * bad_files.c forges headers at random; these are the single faults that chance does not find. */
#include <stdlib.h>

#include <kith/kith.h>

#include "check.h"
#include "core/hash.h"
#include "kinds/shared/cuckoo_stash.h"
#include "kinds/fuse/lookup.h"
#include "kinds/ribbon/lookup.h"
#include "format/format.h"
#include "format/notes.h"
#include "handle/handle.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "unit/small_filter.h"

static const kithi_kind *kind_named(const char *name) {
    const kithi_kind *kind = kithi_kind_by_name(name, strlen(name));
    CHECK(kind != NULL);
    return kind;
}

/* ---- sizes ---- */

typedef struct param {
    unsigned index;
    uint64_t value;
} param;

/* Checks that the kind accepts the header, and refuses it with these parameters changed. */
static void shape_refuses(const kithi_head *head, const param *changes, size_t count) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    kithi_shape shape;
    kithi_head forged = *head;
    CHECK_OK(kithi_kind_shape(kind, head, &shape));
    for (size_t i = 0; i < count; i++)
        forged.params[changes[i].index] = changes[i].value;
    CHECK_STATUS(kithi_kind_shape(kind, &forged, &shape), KITH_E_CORRUPT);
}

#define SHAPE_REFUSES(head, ...)                                                                                       \
    shape_refuses(head, (const param[]){__VA_ARGS__}, sizeof((const param[]){__VA_ARGS__}) / sizeof(param))

static kithi_head head_of(const char *kind, const char *options) {
    kith_filter *filter = new_filter(kind, options);
    kithi_head head = filter->head;
    kith_filter_free(filter);
    return head;
}

TEST(fuse_filters_of_impossible_sizes_are_refused) {
    kithi_head head = head_of("fuse", NULL);
    /* the smallest shard has 3 cells and 64 bytes */
    head.params[KITHI_PARAM_FUSE_SEGMENT_CELLS] = head.params[KITHI_PARAM_FUSE_SEGMENTS] = 1;
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_CELL_BITS, 3});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_CELL_BITS, 33});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_ARITY, 5});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SEGMENT_CELLS, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SEGMENT_CELLS, 3});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SEGMENT_CELLS, UINT64_C(1) << 19});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_ARITY, 4}, {KITHI_PARAM_FUSE_SEGMENT_CELLS, UINT64_C(1) << 15});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SEGMENTS, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SEGMENTS, UINT64_C(1) << 32});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SEGMENTS, UINT64_C(1) << 31}, {KITHI_PARAM_FUSE_SEGMENT_CELLS, 2});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SHARDS, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SHARDS, 3});
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SHARDS, UINT64_C(1) << 63}); /* more than 2^64 cells */
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SHARDS, UINT64_C(1) << 60}); /* more than 2^64 bytes */
    SHAPE_REFUSES(&head, {KITHI_PARAM_FUSE_SHARDS, UINT64_C(1) << 57}); /* more than 2^62 bytes */
    kithi_shape shape;
    head.params[KITHI_PARAM_FUSE_SHARDS] = UINT64_C(1) << 56;
    CHECK_OK(kithi_kind_shape(kind_named("fuse"), &head, &shape));
    CHECK_EQ_U64(shape.body_bytes, UINT64_C(1) << 62);
}

TEST(ribbon_filters_of_impossible_sizes_are_refused) {
    kithi_head head = head_of("ribbon", NULL);
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++)
        head.params[KITHI_PARAM_RIBBON_SLOTS + i] = i == KITHI_RIBBON_LAST ? KITHI_RIBBON_BLOCK : 0;
    head.params[KITHI_PARAM_RIBBON_STASH] = 0;
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_BITS, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_BITS, 33});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_STASH, KITHI_RIBBON_SLOTS_MAX + 1});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SHARDS, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SHARDS, 3});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SLOTS + KITHI_RIBBON_LAST, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SLOTS + KITHI_RIBBON_LAST, KITHI_RIBBON_BLOCK + 1});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SLOTS + KITHI_RIBBON_LAST, KITHI_RIBBON_SLOTS_MAX + KITHI_RIBBON_BLOCK});
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SLOTS + 1, KITHI_RIBBON_BLOCK}); /* the second level without the first */
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SHARDS, UINT64_C(1) << 63});     /* more than 2^64 slots */
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SHARDS, UINT64_C(1) << 57});     /* more than 2^64 bytes */
    SHAPE_REFUSES(&head, {KITHI_PARAM_RIBBON_SHARDS, UINT64_C(1) << 55});     /* more than 2^62 bytes */
}

TEST(cuckoo_filters_of_impossible_sizes_are_refused) {
    kithi_head head = head_of("cuckoo", NULL);
    SHAPE_REFUSES(&head, {KITHI_PARAM_SLOT_BITS, 64});
    SHAPE_REFUSES(&head, {KITHI_PARAM_HALF, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_HALF, UINT64_C(1) << 31});
    SHAPE_REFUSES(&head, {KITHI_PARAM_HALF, UINT64_C(1) << 30}); /* more than 2^31 slots in a region */
    SHAPE_REFUSES(&head, {KITHI_PARAM_REGIONS, 0});
    SHAPE_REFUSES(&head, {KITHI_PARAM_STASH, UINT64_MAX});
    SHAPE_REFUSES(&head, {KITHI_PARAM_REGIONS, UINT64_MAX}); /* more than 2^64 slots */
    /* A region of 8 slots has 64 bytes or more: more than 2^64 bytes, and more than 2^62. */
    SHAPE_REFUSES(&head, {KITHI_PARAM_HALF, 1}, {KITHI_PARAM_REGIONS, UINT64_C(1) << 60});
    SHAPE_REFUSES(&head, {KITHI_PARAM_HALF, 1}, {KITHI_PARAM_REGIONS, UINT64_C(1) << 57});
}

/* ---- bodies ---- */

/* A block that the test writes, sealed, and a lazily opened handle on it. */
typedef struct forgery {
    uint8_t *block;
    size_t block_bytes;
    kith_filter *filter;
} forgery;

static void open_forgery(forgery *x) {
    CHECK_OK(kith_filter_view(x->block, x->block_bytes, KITH_OPEN_LAZY, NULL, &x->filter));
}

static forgery forgery_of(kith_filter *filter) {
    forgery x;
    const void *bytes;
    CHECK_OK(kith_filter_bytes(filter, &bytes, &x.block_bytes));
    x.block = malloc(x.block_bytes);
    CHECK(x.block != NULL);
    memcpy(x.block, bytes, x.block_bytes);
    kith_filter_free(filter);
    open_forgery(&x);
    CHECK(kithi_filter_check(x.filter) == NULL);
    return x;
}

/* A block with this header and a body of zeros. */
static forgery blank(kithi_head head) {
    forgery x;
    kithi_shape shape;
    uint64_t block_bytes;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
    head.body_bytes = shape.body_bytes;
    CHECK(kithi_block_bytes(head.body_bytes, &block_bytes));
    x.block_bytes = (size_t)block_bytes;
    x.block = calloc(1, x.block_bytes);
    CHECK(x.block != NULL);
    kithi_block_seal(x.block, &head);
    open_forgery(&x);
    return x;
}

/* Seals what the test has changed, and checks that only a lazy open accepts it, and that the reason is named. */
static void check_refused(forgery *x, const char *reason) {
    const char *found = kithi_filter_check(x->filter);
    if (found == NULL || strcmp(found, reason) != 0)
        CHECK_FAIL("found: %s, not: %s", found == NULL ? "nothing" : found, reason);
    kithi_block_seal(x->block, &x->filter->head);
    kith_filter_free(x->filter);
    CHECK_STATUS(kith_filter_view(x->block, x->block_bytes, KITH_OPEN_DEFAULT, NULL, &x->filter), KITH_E_CORRUPT);
    open_forgery(x);
    CHECK_STATUS(kithi_filter_verify(x->filter), KITH_E_CORRUPT); /* before it is changed or copied */
}

static void free_forgery(forgery *x) {
    kith_filter_free(x->filter);
    free(x->block);
}

TEST(more_keys_than_bits_are_refused) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "bloom";
    spec.capacity = KEYS;
    spec.rate = .01;
    forgery x = forgery_of(filter_of_numbers(&spec, 1));
    static const char REASON[] = "the count of keys does not agree with the number of bits set";
    uint64_t set = x.filter->head.fill;
    x.filter->head.count = set + 1;
    check_refused(&x, REASON);
    x.filter->head.count = 0;
    check_refused(&x, REASON);
    free_forgery(&x);
}

/* A filter with a larger stash than planned, and two keys that have one copy more than their buckets have slots. */
static forgery cuckoo_with_stash(void) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    kithi_shape shape;
    kithi_head head = head_of("cuckoo", NULL);
    head.count = head.fill = 0;
    head.params[KITHI_PARAM_STASH] = 3;
    CHECK_OK(kithi_kind_shape(kind_named("cuckoo"), &head, &shape));
    head.body_bytes = shape.body_bytes;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &filter));
    for (uint64_t key = 0; filter->head.fill < 2; key++) {
        uint8_t bytes[sizeof key]; /* the same on all processors */
        kithi_store64(bytes, key);
        for (unsigned i = 0; i <= shape.max_copies; i++)
            CHECK_OK(kith_filter_add(filter, bytes, sizeof bytes, NULL));
    }
    return forgery_of(filter);
}

TEST(an_irregular_stash_of_a_cuckoo_filter_is_refused) {
    forgery x = cuckoo_with_stash();
    const kithi_cf_geometry *g = &x.filter->geometry.cf;
    CHECK(g->regions == 1 && kithi_stash_used(g, x.filter->body) == 2);
    uint64_t low = kithi_stash_get(g, x.filter->body, 0), high = kithi_stash_get(g, x.filter->body, 1);
    CHECK(low < high);
    kithi_store64(kithi_stash_word(g, x.filter->body, 0), high);
    kithi_store64(kithi_stash_word(g, x.filter->body, 1), low);
    check_refused(&x, "the entries of a stash are not in increasing order");
    kithi_store64(kithi_stash_word(&x.filter->geometry.cf, x.filter->body, 0), 0);
    check_refused(&x, "a stash has an entry after an unused one");
    free_forgery(&x);
}

TEST(a_fuse_filter_with_an_impossible_count_is_refused) {
    static const char REASON[] = "the count does not agree with the number of shards that have keys";
    forgery x = forgery_of(new_filter("fuse", NULL));
    x.filter->head.count = 0;
    check_refused(&x, REASON);
    free_forgery(&x);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "fuse";
    spec.capacity = KEYS;
    spec.rate = .01;
    x = forgery_of(filter_of_numbers(&spec, 0));
    x.filter->head.count = 1;
    check_refused(&x, REASON);
    free_forgery(&x);
}

TEST(a_ribbon_filter_with_an_irregular_shard_is_refused) {
    kithi_head head = head_of("ribbon", NULL);
    head.capacity = UINT64_MAX;
    head.count = 3;
    head.fill = 0;
    head.params[KITHI_PARAM_RIBBON_SLOTS] = head.params[KITHI_PARAM_RIBBON_SLOTS + 1] = KITHI_RIBBON_BLOCK;
    head.params[KITHI_PARAM_RIBBON_SLOTS + KITHI_RIBBON_LAST] = KITHI_RIBBON_BLOCK;
    head.params[KITHI_PARAM_RIBBON_STASH] = 4;
    head.params[KITHI_PARAM_RIBBON_SHARDS] = 2;
    forgery x = blank(head);
    uint64_t shard_bytes = x.filter->geometry.ribbon.shard_bytes;
    uint8_t *first = x.filter->body, *second = first + shard_bytes, *stash = first + KITHI_RIBBON_HEAD_BYTES;
    kithi_store64(first, 2); /* keys */
    check_refused(&x, "the shards have fewer keys than the count");
    kithi_store64(second, 2);
    check_refused(&x, "the shards have more keys than the count");
    kithi_store64(second, UINT64_MAX);
    check_refused(&x, "the shards have more keys than the count");
    kithi_store64(second, 1);
    CHECK(kithi_filter_check(x.filter) == NULL);

    static const char TOO_MANY[] = "a stash has more digests than it has space for, or than its shard has keys";
    kithi_store64(first + 8, 5); /* digests in the stash */
    check_refused(&x, TOO_MANY);
    kithi_store64(first + 8, 3);
    check_refused(&x, TOO_MANY);
    kithi_store64(first + 8, 2);
    check_refused(&x, "the digests of a stash are not in increasing order");
    kithi_store64(stash + 8, 1);
    CHECK(kithi_filter_check(x.filter) == NULL);
    kithi_store64(stash + 16, 1);
    check_refused(&x, "a byte after the last digest of a stash is not zero");
    kithi_store64(stash + 16, 0);
    for (unsigned level = 0; level < KITHI_RIBBON_LAST; level++) {
        /* 64 slots have one bucket; the other three marks of the byte belong to none */
        uint8_t *marks = first + x.filter->geometry.ribbon.marks_at[level];
        *marks = 3;
        CHECK(kithi_filter_check(x.filter) == NULL);
        *marks = 3 << 2;
        check_refused(&x, "a threshold that belongs to no bucket is not zero");
        *marks = 0;
    }
    free_forgery(&x);
}

/* ---- headers and notes ---- */

TEST(a_header_with_notes_that_cannot_be_there_is_refused) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    static const kith_note NOTE = {"name", "value"};
    spec.kind = "bloom";
    spec.capacity = KEYS;
    spec.rate = .01;
    spec.notes = &NOTE;
    spec.note_count = 1;
    forgery x = forgery_of(filter_of_numbers(&spec, 1));
    kithi_head head = x.filter->head, read;
    uint64_t notes_at = x.block_bytes - head.notes_bytes;
    /* cut off before, in and after the size of the notes */
    for (uint64_t bytes = notes_at - 1; bytes < notes_at + KITHI_NOTES_HEADER_BYTES; bytes++) {
        CHECK_OK(kithi_header_read(x.block, bytes, &read));
        CHECK_EQ_U64(read.notes_bytes, KITHI_NOTES_HEADER_BYTES);
    }
    CHECK_OK(kithi_header_read(x.block, x.block_bytes, &read));
    CHECK_EQ_U64(read.notes_bytes, head.notes_bytes);
    CHECK_STATUS(kithi_header_read(x.block, 0, &read), KITH_E_EMPTY);
    kithi_store64(x.block + KITHI_AT_BODY_BYTES, (UINT64_C(1) << 62) + 1);
    kithi_store64(x.block + KITHI_AT_HEADER_CHECKSUM, kithi_checksum(x.block, KITHI_AT_HEADER_CHECKSUM));
    CHECK_STATUS(kithi_header_read(x.block, x.block_bytes, &read), KITH_E_CORRUPT);
    free_forgery(&x);
}

enum { SECTION_MAX = 1024 };

static void seal_notes(uint8_t *section, uint64_t content_bytes, uint64_t section_bytes) {
    kithi_store64(section + KITHI_NOTES_AT_CONTENT_BYTES, content_bytes);
    kithi_store64(
        section + KITHI_NOTES_AT_CHECKSUM,
        kithi_checksum(section + KITHI_NOTES_AT_CONTENT_BYTES, (size_t)section_bytes - KITHI_NOTES_AT_CONTENT_BYTES));
}

TEST(notes_of_another_size_or_with_padding_are_refused) {
    uint8_t section[SECTION_MAX] = {0};
    memcpy(section + KITHI_NOTES_AT_CONTENT, "a\0b", 4);
    uint64_t bytes = KITHI_NOTES_AT_CONTENT + 8;
    seal_notes(section, 4, bytes);
    CHECK_OK(kithi_notes_verify(section, bytes));
    CHECK_STATUS(kithi_notes_verify(section, bytes - 8), KITH_E_CORRUPT);
    CHECK_STATUS(kithi_notes_verify(section, bytes + 8), KITH_E_CORRUPT);
    CHECK_STATUS(kithi_notes_verify(section, KITHI_NOTES_HEADER_BYTES - 1), KITH_E_CORRUPT);
    section[KITHI_NOTES_AT_CONTENT + 4] = 1;
    seal_notes(section, 4, bytes);
    CHECK_STATUS(kithi_notes_verify(section, bytes), KITH_E_CORRUPT);
}

/* Notes "\1", "\2", … with empty values: 64 are allowed. */
TEST(more_notes_than_a_file_may_have_are_refused) {
    uint8_t section[SECTION_MAX] = {0};
    for (unsigned i = 0; i <= KITHI_NOTES_MAX; i++) {
        section[KITHI_NOTES_AT_CONTENT + 3 * i] = (uint8_t)(i + 1);
        uint64_t content = 3 * (i + 1), bytes = KITHI_NOTES_AT_CONTENT + (content + 7) / 8 * 8;
        seal_notes(section, content, bytes);
        CHECK_STATUS(kithi_notes_verify(section, bytes), i < KITHI_NOTES_MAX ? KITH_OK : KITH_E_CORRUPT);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
