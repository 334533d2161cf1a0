/* Checks of KITH_OPEN_LAZY: a body that has not been verified, including the blocks inside it, is verified before it is
 * changed, copied or saved. */
#include "contract/contract.h"
#include "format/format.h"

enum { KEYS = 60, BLOCKS_MAX = 16 };

typedef struct block {
    size_t at; /* in the bytes of the filter */
    kithi_head head;
} block;

/* The block of the filter and the blocks inside its body. */
static size_t blocks_of(const snapshot *s, block *blocks) {
    size_t count = 0;
    for (size_t at = 0; at + KITHI_HEADER_BYTES < s->byte_count; at += 8) {
        kithi_head head;
        if (kithi_header_read(s->bytes + at, s->byte_count - at, &head) != KITH_OK)
            continue;
        CHECK(count < BLOCKS_MAX);
        blocks[count++] = (block){at, head};
    }
    return count;
}

/* Flips a bit in the last byte of a block's body, or in the checksums after it. If the block is an inner one, corrects
 * the outer block's checksums, so that only the inner checksums show the damage. */
static snapshot damaged(const snapshot *s, const block *outer, const block *b, bool in_checksums) {
    snapshot d = {malloc(s->byte_count), s->byte_count};
    CHECK(d.bytes != NULL);
    memcpy(d.bytes, s->bytes, s->byte_count);
    size_t offset = (size_t)b->head.body_bytes - !in_checksums;
    d.bytes[b->at + KITHI_HEADER_BYTES + offset] ^= 0x10;
    if (b->at != outer->at)
        kithi_block_seal(d.bytes, &outer->head);
    return d;
}

typedef kith_status (*operation)(kith_filter *f, kith_filter *partner);

static kith_status do_add(kith_filter *f, kith_filter *partner) {
    (void)partner;
    return kith_filter_add(f, "x", 1, NULL);
}

static kith_status do_add_many(kith_filter *f, kith_filter *partner) {
    (void)partner;
    uint64_t digest = digest_at(41, ABSENT);
    size_t done = 7;
    kith_status status = kith_filter_add_many(f, &digest, 1, NULL, &done);
    CHECK(status == KITH_OK || done == 0);
    return status;
}

static kith_status do_remove(kith_filter *f, kith_filter *partner) {
    (void)partner;
    return kith_filter_remove_digest(f, digest_at(41, 0));
}

static kith_status do_remove_many(kith_filter *f, kith_filter *partner) {
    (void)partner;
    uint64_t digest = digest_at(41, 0);
    return kith_filter_remove_many(f, &digest, 1, NULL);
}

static kith_status do_clear(kith_filter *f, kith_filter *partner) {
    (void)partner;
    return kith_filter_clear(f);
}

static kith_status do_set_notes(kith_filter *f, kith_filter *partner) {
    (void)partner;
    return kith_filter_set_notes(f, NULL, 0);
}

static kith_status do_merge_into(kith_filter *f, kith_filter *partner) {
    return kith_filter_merge(f, partner);
}

static kith_status do_merge_from(kith_filter *f, kith_filter *partner) {
    return kith_filter_merge(partner, f);
}

static kith_status do_intersect_into(kith_filter *f, kith_filter *partner) {
    return kith_filter_intersect(f, partner);
}

static kith_status do_intersect_from(kith_filter *f, kith_filter *partner) {
    return kith_filter_intersect(partner, f);
}

static kith_status do_open_adder(kith_filter *f, kith_filter *partner) {
    (void)partner;
    kith_adder *adder = NULL;
    kith_status status = kith_adder_open(f, &adder);
    kith_adder_close(adder);
    return status;
}

static kith_status do_clone(kith_filter *f, kith_filter *partner) {
    (void)partner;
    kith_filter *clone = NULL;
    kith_status status = kith_filter_clone(f, NULL, &clone);
    kith_filter_free(clone);
    return status;
}

static kith_status do_bytes(kith_filter *f, kith_filter *partner) {
    (void)partner;
    const void *bytes;
    size_t byte_count;
    return kith_filter_bytes(f, &bytes, &byte_count);
}

static kith_status do_save(kith_filter *f, kith_filter *partner) {
    (void)partner;
    return kith_filter_save(f, file_named("lazy"));
}

static const struct {
    operation run;
    bool writes; /* needs a writable handle */
    uint32_t needs;
} OPERATIONS[] = {
    {do_add, true, KITH_CAN_ADD},
    {do_add_many, true, KITH_CAN_ADD},
    {do_remove, true, KITH_CAN_REMOVE},
    {do_remove_many, true, KITH_CAN_REMOVE},
    {do_clear, true, KITH_CAN_ADD},
    {do_set_notes, true, 0},
    {do_merge_into, true, KITH_CAN_MERGE},
    {do_merge_from, false, KITH_CAN_MERGE},
    {do_intersect_into, true, KITH_CAN_INTERSECT},
    {do_intersect_from, false, KITH_CAN_INTERSECT},
    {do_open_adder, true, KITH_CAN_SHARE},
    {do_clone, false, 0},
    {do_bytes, false, 0},
    {do_save, false, 0},
};

/* The file "lazy" holds `s`. Every operation, on a separate handle, must return `want`, twice. If it fails, the file
 * must be unchanged. */
static void try_operations(const snapshot *s, const kith_plan *plan, const kith_filter_spec *spec, kith_status want) {
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++) {
        if (!can(plan, OPERATIONS[i].needs))
            continue;
        for (unsigned copy = OPERATIONS[i].writes; copy < 2; copy++) {
            note_seed(i);
            write_file(file_named("lazy"), s->bytes, s->byte_count);
            kith_filter *f = NULL, *partner = created(spec);
            CHECK_OK(kith_filter_open(file_named("lazy"), KITH_OPEN_LAZY | (copy ? KITH_OPEN_COPY : 0), NULL, &f));
            uint64_t count = kith_filter_count(f);
            CHECK_STATUS(OPERATIONS[i].run(f, partner), want);
            if (want != KITH_OK) {
                CHECK_STATUS(OPERATIONS[i].run(f, partner), want);
                CHECK_EQ_U64(kith_filter_count(f), count);
                CHECK_EQ_U64(kith_filter_count(partner), 0);
                snapshot after = file_bytes(file_named("lazy"));
                CHECK(after.byte_count == s->byte_count && memcmp(after.bytes, s->bytes, s->byte_count) == 0);
                snapshot_free(&after);
            }
            kith_filter_free(partner);
            kith_filter_free(f);
        }
    }
}

void lazily_opened_bytes_are_verified_before_they_are_changed_or_copied(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, KEYS, 0.01, &spec, &plan) || plan.file_bytes > 65536)
            continue;
        kith_filter *f = filled(&spec, 41, 0, can(&plan, KITH_CAN_GROW) ? 3 * KEYS : KEYS / 2);
        snapshot s = snapshot_of(f);
        block blocks[BLOCKS_MAX];
        size_t count = blocks_of(&s, blocks);
        CHECK(count == (can(&plan, KITH_CAN_GROW) ? 1 + stats_of(f).layers : 1));
        try_operations(&s, &plan, &spec, KITH_OK);
        for (size_t i = 0; i < count; i++) {
            for (unsigned in_checksums = 0; in_checksums < 2; in_checksums++) {
                contract_note("%s %s, block %zu of %zu damaged in its %s", v->kind, v->options, i, count,
                              in_checksums ? "checksums" : "body");
                snapshot d = damaged(&s, &blocks[0], &blocks[i], in_checksums);
                kith_filter *none = NULL;
                CHECK_STATUS(kith_filter_view(d.bytes, d.byte_count, KITH_OPEN_DEFAULT, NULL, &none), KITH_E_CORRUPT);
                try_operations(&d, &plan, &spec, KITH_E_CORRUPT);
                snapshot_free(&d);
            }
        }
        snapshot_free(&s);
        kith_filter_free(f);
    }
}
