/* Checks that damaged bytes are detected by default, and harmless if they are opened without verification. */
#include "contract/contract.h"
#include "core/bits.h"
#include "format/format.h"

static kith_filter *small_filter(const variant *v, uint64_t n, kith_plan *plan) {
    kith_filter_spec spec;
    if (!planned_at_all(v, n, 0.02, &spec, plan))
        return NULL;
    if (!can(plan, KITH_CAN_ADD))
        return filled(&spec, 31, 0, (size_t)n);
    kith_filter *f = created(&spec);
    for (uint64_t i = 0; i < n; i++)
        ignore_status(add_digest(f, digest_at(31, i)));
    return f;
}

/* An empty filter like that of small_filter(). */
static kith_filter *empty_filter(const variant *v, uint64_t n) {
    kith_filter_spec spec;
    kith_plan plan;
    CHECK(planned_at_all(v, n, 0.02, &spec, &plan));
    return created(&spec);
}

void every_truncation_is_refused(void) {
    EACH_VARIANT(v) {
        kith_plan plan;
        kith_filter *f = small_filter(v, 3, &plan), *none = NULL;
        if (f == NULL)
            continue;
        snapshot s = snapshot_of(f);
        for (size_t length = 0; length < s.byte_count; length++) {
            kith_status want = length == 0 ? KITH_E_EMPTY : KITH_E_TRUNCATED;
            uint8_t *cut = malloc(length + (length == 0)); /* exactly the size that is passed */
            CHECK(cut != NULL);
            memcpy(cut, s.bytes, length);
            for (unsigned flags = 0; flags < 4; flags++)
                CHECK_STATUS(kith_filter_view(cut, length, flags, NULL, &none), want);
            free(cut);
            if (length % 41 == 0 || length + 1 == s.byte_count) {
                write_file(file_named("cut"), s.bytes, length);
                for (unsigned flags = 0; flags < 4; flags++)
                    CHECK_STATUS(kith_filter_open(file_named("cut"), flags, NULL, &none), want);
            }
        }
        CHECK(none == NULL);
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

/* Calls every function and ignores the results. `partner` has the geometry of the undamaged filter. */
static void ask_everything(kith_filter *f, kith_filter *partner) {
    uint64_t digests[64], bitmap[1];
    for (size_t i = 0; i < 64; i++)
        digests[i] = digest_at(31, i % 2 == 0 ? i : ABSENT + i);
    (void)kith_filter_has_many(f, digests, 64, bitmap);
    for (uint64_t i = 0; i < 16; i++) {
        key k = key_at(31, i);
        (void)kith_filter_has(f, k.bytes, sizeof k.bytes);
        (void)kith_filter_copies(f, k.bytes, sizeof k.bytes);
    }
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    const char *reason = NULL;
    bool subset;
    ignore_status(kith_filter_stats_of(f, &stats));
    ignore_status(kith_filter_plan_of(f, &plan));
    kith_status checked = kith_filter_check(f, &reason);
    CHECK((checked == KITH_OK) == (reason == NULL));
    ignore_status(kith_filter_subset(f, partner, &subset));
    ignore_status(kith_filter_subset(partner, f, &subset));
    kith_filter *into = cloned(partner), *like = NULL;
    ignore_status(kith_filter_merge(into, f));
    CHECK_OK(kith_filter_check(into, NULL)); /* damage does not spread */
    ignore_status(kith_filter_intersect(into, f));
    CHECK_OK(kith_filter_check(into, NULL));
    kith_filter_free(into);
    ignore_status(kith_filter_create_like(f, NULL, &like));
    kith_filter_free(like);
}

static void change_everything(kith_filter *f, const kith_filter *partner) {
    kith_adder *adder = NULL;
    for (uint64_t i = 0; i < 80; i++) {
        uint64_t digest = digest_at(31, i);
        ignore_status(add_digest(f, digest));
        if (i % 2 != 0)
            ignore_status(kith_filter_remove_many(f, &digest, 1, NULL));
    }
    if (kith_adder_open(f, &adder) == KITH_OK) {
        for (uint64_t i = 0; i < 20; i++) {
            key k = key_at(31, i);
            ignore_status(kith_adder_add(adder, k.bytes, sizeof k.bytes, NULL));
        }
        kith_adder_close(adder);
    }
    ignore_status(kith_filter_merge(f, partner));
    ignore_status(kith_filter_intersect(f, partner));
    const void *bytes;
    size_t byte_count;
    ignore_status(kith_filter_bytes(f, &bytes, &byte_count));
    ignore_status(kith_filter_clear(f));
    ignore_status(add_digest(f, digest_at(31, 1)));
}

/* Arbitrary bytes at the end of a page: as a view, as a writable copy, as a clone. */
static void use_damaged(const guarded *memory, size_t byte_count, kith_filter *partner) {
    kith_filter *f = NULL, *clone = NULL;
    if (kith_filter_view(memory->at_end, byte_count, KITH_OPEN_LAZY, NULL, &f) == KITH_OK) {
        ask_everything(f, partner);
        if (kith_filter_clone(f, NULL, &clone) == KITH_OK) {
            ask_everything(clone, partner);
            change_everything(clone, partner);
            kith_filter_free(clone);
        }
        kith_filter_free(f);
    }
    if (kith_filter_view(memory->at_end, byte_count, KITH_OPEN_LAZY | KITH_OPEN_COPY, NULL, &f) == KITH_OK) {
        change_everything(f, partner);
        ask_everything(f, partner);
        kith_filter_free(f);
    }
}

void every_bit_flip_is_refused(void) {
    EACH_VARIANT(v) {
        kith_plan plan;
        kith_filter *f = small_filter(v, 5, &plan), *none = NULL;
        if (f == NULL)
            continue;
        snapshot s = snapshot_of(f);
        CHECK(s.byte_count <= 16384 || v->options[0] != '\0');
        /* Every bit of a small file, a sample of the bits of a larger one; in the soak tier, every bit up to 64 KiB. */
        size_t bits = s.byte_count * 8, step = bits / 20000 + 1;
        if (check_soak() && s.byte_count <= KITHI_PAGE_BYTES)
            step = 1;
        for (size_t bit = 0; bit < bits; bit += step) {
            s.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            contract_note("%s %s, bit %zu flipped", v->kind, v->options, bit);
            CHECK(kith_filter_view(s.bytes, s.byte_count, KITH_OPEN_DEFAULT, NULL, &none) != KITH_OK);
            CHECK(kith_filter_view(s.bytes, s.byte_count, KITH_OPEN_COPY, NULL, &none) != KITH_OK);
            if (bit < 8 * KITHI_HEADER_BYTES)
                CHECK(kith_filter_view(s.bytes, s.byte_count, KITH_OPEN_LAZY, NULL, &none) != KITH_OK);
            CHECK(none == NULL);
            s.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

/* Returns the bytes of a filter of at least this size. */
static snapshot large_snapshot(const variant *v, uint64_t byte_count) {
    kith_filter_spec spec;
    kith_plan plan;
    uint64_t n = byte_count / 2;
    CHECK(planned(v, n, 0.02, &spec, &plan));
    while (plan.file_bytes < byte_count) {
        n += n / 4;
        CHECK(planned(v, n, 0.02, &spec, &plan));
    }
    kith_filter *f = filled(&spec, 31, 0, (size_t)n);
    snapshot s = snapshot_of(f);
    kith_filter_free(f);
    return s;
}

static bool is_refused(const snapshot *s) {
    kith_filter *f = NULL;
    kith_status status = kith_filter_view(s->bytes, s->byte_count, KITH_OPEN_DEFAULT, NULL, &f);
    kith_filter_free(f);
    return status != KITH_OK;
}

/* Flips some bits of a range, every bit in the soak tier. */
static void flip_range(const variant *v, snapshot *s, size_t from, size_t to) {
    for (size_t bit = 8 * from; bit < 8 * to && bit < 8 * s->byte_count; bit += check_soak() ? 1 : 13) {
        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        contract_note("%s, %zu bytes, bit %zu flipped", v->kind, s->byte_count, bit);
        CHECK(is_refused(s));
        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* Overwrites 1 to 8 bytes with random ones. A file is accepted only if they are the same as before. */
static void edit_at_random(const variant *v, snapshot *s, uint64_t edits) {
    uint64_t state = 17;
    for (uint64_t i = 0; i < edits; i++) {
        uint8_t before[8], after[8];
        size_t length = 1 + (size_t)draw(&state, 8), at = (size_t)draw(&state, s->byte_count - length + 1);
        kithi_store64(after, draw(&state, UINT64_MAX));
        memcpy(before, s->bytes + at, length);
        memcpy(s->bytes + at, after, length);
        contract_note("%s, %zu bytes, edit %" PRIu64 ": %zu bytes at %zu", v->kind, s->byte_count, i, length, at);
        CHECK(is_refused(s) == (memcmp(before, after, length) != 0));
        memcpy(s->bytes + at, before, length);
    }
}

/* The body of these files has several pages, each with its own checksum, and the last one is not full. */
void damage_in_files_of_several_pages_is_refused(void) {
    enum { EDGE = 16, EDITS_SOAK = 1000000, MEBIBYTE = 1 << 20 };
    uint64_t kinds = 0, edits = 0;
    EACH_DEFAULT(v) kinds++;
    EACH_DEFAULT(v) {
        snapshot s = large_snapshot(v, KITHI_PAGE_BYTES * 2);
        kithi_head head;
        CHECK_OK(kithi_header_read(s.bytes, s.byte_count, &head));
        CHECK(head.body_bytes > KITHI_PAGE_BYTES && !is_refused(&s));
        size_t body_end = KITHI_HEADER_BYTES + (size_t)head.body_bytes;
        flip_range(v, &s, 0, KITHI_HEADER_BYTES + EDGE);
        for (size_t end = KITHI_HEADER_BYTES + KITHI_PAGE_BYTES; end < body_end; end += KITHI_PAGE_BYTES)
            flip_range(v, &s, end - EDGE, end + EDGE);
        flip_range(v, &s, body_end - EDGE, s.byte_count); /* the checksums are there, too */
        if (check_soak()) {
            snapshot_free(&s);
            s = large_snapshot(v, MEBIBYTE);
        }
        uint64_t each = check_soak() ? EDITS_SOAK / kinds + 1 : scaled(200);
        edit_at_random(v, &s, each);
        edits += each;
        snapshot_free(&s);
    }
    printf("shows: %" PRIu64 " random edits of 1 to 8 bytes in files of %s, 0 accepted\n", edits,
           check_soak() ? "1 MiB or more" : "128 KiB or more");
}

static void damage(uint8_t *bytes, size_t byte_count, uint64_t *state) {
    switch (draw(state, 5)) {
    case 0: /* noise */
        for (size_t i = 0; i < byte_count; i++)
            bytes[i] = (uint8_t)draw(state, 256);
        break;
    case 1:
        memset(bytes, 0xff, byte_count);
        break;
    case 2: /* a word that may be read as a size or an offset */
        kithi_store64(bytes + draw(state, byte_count / 8) * 8,
                      draw(state, 2) != 0 ? UINT64_MAX >> draw(state, 64) : draw(state, 4 * byte_count));
        break;
    default: /* a few bits */
        for (uint64_t flips = 1 + draw(state, 8); flips > 0; flips--)
            bytes[draw(state, byte_count)] ^= (uint8_t)(1u << draw(state, 8));
    }
}

static uint64_t strange(uint64_t *state, uint64_t value) {
    switch (draw(state, 6)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX >> draw(state, 64);
    case 2:
        return value + 1;
    case 3:
        return value - 1;
    case 4:
        return value * 2;
    default:
        return draw(state, 1 + 2 * (value & UINT32_MAX));
    }
}

static void damage_head(kithi_head *head, uint64_t *state) {
    uint64_t *fields[] = {&head->capacity, &head->count, &head->fill};
    uint64_t which = draw(state, 3 + KITHI_PARAM_COUNT);
    uint64_t *field = which < 3 ? fields[which] : &head->params[which - 3];
    *field = strange(state, *field);
}

/* Damages the body or header of the block and of the blocks inside its body, and seals all of them, inner ones first:
 * checksums are no defence against someone who can compute them. Returns false if there is no block. */
static bool damage_and_seal(uint8_t *block, size_t byte_limit, uint64_t *state) {
    kithi_head head;
    uint64_t block_bytes;
    if (kithi_header_read(block, byte_limit, &head) != KITH_OK || !kithi_block_bytes(head.body_bytes, &block_bytes) ||
        block_bytes > byte_limit)
        return false;
    uint8_t *body = block + KITHI_HEADER_BYTES;
    bool inner = false;
    for (uint64_t at = 0; at + KITHI_HEADER_BYTES < head.body_bytes; at += 8)
        inner |= damage_and_seal(body + at, (size_t)(head.body_bytes - at), state);
    if (!inner || draw(state, 4) == 0)
        damage(body, (size_t)head.body_bytes, state);
    if (draw(state, 3) == 0)
        damage_head(&head, state);
    kithi_block_seal(block, &head);
    return true;
}

void lazy_open_of_damaged_bytes_is_memory_safe(void) {
    static const uint64_t SIZES[] = {1, 5, 60};
    EACH_VARIANT(v) for (size_t i = 0; i < 3; i++) {
        kith_plan plan;
        kith_filter *f = small_filter(v, SIZES[i], &plan);
        if (f == NULL)
            continue;
        snapshot s = snapshot_of(f);
        guarded memory = guarded_room(s.byte_count);
        uint64_t rounds = s.byte_count > 65536 ? 10 : scaled(v->options[0] == '\0' ? 1500 : 150);
        for (uint64_t seed = 0; seed < rounds; seed++) {
            note_seed(seed);
            uint64_t state = seed;
            memcpy(memory.at_end, s.bytes, s.byte_count);
            if (seed % 4 == 0) /* not sealed, like damage by a bad disk */
                damage(memory.at_end + KITHI_HEADER_BYTES, s.byte_count - KITHI_HEADER_BYTES, &state);
            else
                CHECK(damage_and_seal(memory.at_end, s.byte_count, &state));
            use_damaged(&memory, s.byte_count, f);
        }
        guarded_free(&memory);
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

/* Returns whether the broken invariant is detected. By default open must refuse the bytes. *named is whether check()
 * detects it on a handle that was opened without verification. */
static bool seen(const uint8_t *block, size_t byte_count, bool *named) {
    kith_filter *f = NULL;
    *named = true;
    if (kith_filter_view(block, byte_count, KITH_OPEN_LAZY, NULL, &f) == KITH_OK) {
        const char *reason = NULL;
        kith_status status = kith_filter_check(f, &reason);
        *named = status == KITH_E_CORRUPT && reason != NULL && strlen(reason) > 10;
        CHECK(*named || (status == KITH_OK && reason == NULL));
        kith_filter_free(f);
    }
    f = NULL;
    kith_status status = kith_filter_view(block, byte_count, KITH_OPEN_DEFAULT, NULL, &f);
    kith_filter_free(f);
    return status != KITH_OK;
}

void check_names_a_broken_invariant(void) {
    EACH_VARIANT(v) {
        kith_plan plan;
        kith_filter *f = small_filter(v, 40, &plan);
        if (f == NULL)
            continue;
        kith_filter *empty = empty_filter(v, 40);
        CHECK_OK(kith_filter_check(f, NULL));
        CHECK_OK(kith_filter_check(empty, NULL));
        bool named;
        kithi_head head;
        /* In an empty filter no bit may be set. */
        snapshot s = snapshot_of(empty);
        CHECK_OK(kithi_header_read(s.bytes, s.byte_count, &head));
        size_t flips = 0, refusals = 0, names = 0, bits = (size_t)head.body_bytes * 8;
        for (size_t bit = 0; bit < bits; bit += bits / 2000 + 1) {
            uint8_t *at = s.bytes + KITHI_HEADER_BYTES + bit / 8;
            contract_note("%s %s, empty, bit %zu of the body set", v->kind, v->options, bit);
            *at ^= (uint8_t)(1u << bit % 8);
            kithi_block_seal(s.bytes, &head);
            refusals += seen(s.bytes, s.byte_count, &named);
            *at ^= (uint8_t)(1u << bit % 8);
            flips++;
            names += named;
        }
        /* check() verifies invariants; open verifies the checksums of blocks inside the body. */
        CHECK(refusals == flips && names * 10 >= flips * 9);
        CHECK(can(&plan, KITH_CAN_GROW) || names == flips);
        snapshot_free(&s);
        /* A header that contradicts the body. */
        s = snapshot_of(f);
        CHECK_OK(kithi_header_read(s.bytes, s.byte_count, &head));
        kithi_head wrong = head;
        if (head.fill != 0) {
            wrong.fill++;
            kithi_block_seal(s.bytes, &wrong);
            CHECK(seen(s.bytes, s.byte_count, &named) && named);
        }
        wrong = head;
        wrong.count = can(&plan, KITH_CAN_GROW) ? head.count + 1 : head.capacity + 1;
        kithi_block_seal(s.bytes, &wrong);
        CHECK(seen(s.bytes, s.byte_count, &named) && named);
        kithi_block_seal(s.bytes, &head);
        CHECK(!seen(s.bytes, s.byte_count, &named) && !named);
        snapshot_free(&s);
        kith_filter_free(empty);
        kith_filter_free(f);
    }
}
