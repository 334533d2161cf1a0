/* Makes the best of a damaged block; see salvage.h.
 *
 * The body has a checksum for each page of 64 KiB, and the header has the checksum of these checksums. So it is known
 * which pages are damaged, and a guess at their old content can be tested: if the checksum of the guess is right, so is
 * the guess (a wrong guess passes with probability 2^-64).
 *
 *     header       one wrong byte is found by trying all 255 other values of each of the 192 bytes
 *     checksums    if they do not match the header's checksum of them, some of them are damaged. So where a page does
 *                  not match its checksum, either of the two may be right. If there are at most CONFLICTS_MAX such
 *                  pages, all combinations are tried; if there are more, none
 *     pages        two guesses: the page was all zeros, as in a filter that is nearly empty; or one bit was flipped
 *
 * Pages that are still damaged are left to the kind: its function `salvage` changes the body so that the filter is
 * valid again. Bloom and counting kinds set all cells of such pages. So they lose no key there, but have more false
 * positives. */
#include "handle/salvage.h"

#include <assert.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "format/notes.h"
#include "format/read.h"
#include "kinds/registry.h"
#include "handle/verbs.h"

#define CONFLICTS_MAX 10 /* the most pages that restore_checksums() tries all combinations of */

/* ---- header ---- */

static bool header_checksum_matches(const uint8_t *header) {
    return kithi_checksum(header, KITHI_AT_HEADER_CHECKSUM) == kithi_load64(header + KITHI_AT_HEADER_CHECKSUM);
}

/* Tries every other value of every byte. Returns false, with the header unchanged, if none is right or if the budget is
 * too small. */
static bool restore_byte(uint8_t *header, uint64_t *budget) {
    const uint64_t cost = UINT64_C(255) * KITHI_HEADER_BYTES * KITHI_AT_HEADER_CHECKSUM;
    if (cost > *budget)
        return false;
    *budget -= cost;
    for (unsigned at = 0; at < KITHI_HEADER_BYTES; at++) {
        uint8_t was = header[at];
        for (unsigned change = 1; change < 256; change++) {
            header[at] = (uint8_t)(was ^ change);
            if (header_checksum_matches(header))
                return true;
        }
        header[at] = was;
    }
    return false;
}

static void clear_notes_flag(uint8_t *header) {
    uint16_t flags = kithi_load16(header + KITHI_AT_FLAGS);
    kithi_store16(header + KITHI_AT_FLAGS, (uint16_t)(flags & ~KITHI_FLAG_NOTES));
    kithi_store64(header + KITHI_AT_HEADER_CHECKSUM, kithi_checksum(header, KITHI_AT_HEADER_CHECKSUM));
}

kith_status kithi_salvage_header(const uint8_t *bytes, uint64_t byte_count, uint8_t header[KITHI_HEADER_BYTES],
                                 kithi_head *head, kithi_salvage *s) {
    kith_status status = kithi_header_read(bytes, byte_count, head);
    if (byte_count < KITHI_HEADER_BYTES)
        return status;
    memcpy(header, bytes, KITHI_HEADER_BYTES);
    if (!header_checksum_matches(header)) {
        if (!restore_byte(header, &s->budget))
            return status;
        s->header_restored = true;
    }
    bool has_notes = (kithi_load16(header + KITHI_AT_FLAGS) & KITHI_FLAG_NOTES) != 0;
    clear_notes_flag(header);
    status = kithi_header_read(header, KITHI_HEADER_BYTES, head);
    uint64_t notes_at;
    if (status != KITH_OK || !has_notes || !kithi_block_bytes(head->body_bytes, &notes_at))
        return status;
    s->notes_lost = true; /* unless they are found now */
    if (byte_count < notes_at || byte_count - notes_at < KITHI_NOTES_HEADER_BYTES)
        return KITH_OK;
    uint64_t notes_bytes = kithi_notes_claimed_bytes(bytes + notes_at);
    if (notes_bytes != 0 && notes_bytes <= byte_count - notes_at &&
        kithi_notes_verify(bytes + notes_at, notes_bytes) == KITH_OK) {
        head->notes_bytes = notes_bytes;
        s->notes_lost = false;
    }
    return KITH_OK;
}

/* ---- pages ---- */

typedef struct pages {
    uint8_t *block;
    uint8_t *body;
    const kithi_head *head;
    uint64_t count;             /* of pages, and of checksums */
    uint64_t checksums_present; /* less than `count` if the file ends before or inside the checksums */
    uint8_t *checksums;         /* in the block */
    uint8_t *state;             /* the state of each page, a kithi_page_state */
} pages;

static uint64_t checksum_computed(const pages *p, uint64_t i) {
    return kithi_checksum(p->body + i * KITHI_PAGE_BYTES, kithi_page_bytes(p->head->body_bytes, i));
}

static uint64_t checksum_stored(const pages *p, uint64_t i) {
    return kithi_load64(p->checksums + 8 * i);
}

/* Returns whether all checksums are there and match the header's checksum of them. */
static bool checksums_match_header(const pages *p) {
    return p->checksums_present == p->count &&
           kithi_checksum(p->checksums, (size_t)(8 * p->count)) == kithi_load64(p->block + KITHI_AT_BODY_CHECKSUM);
}

/* Sets the state of every page by comparing it with its checksum. A page whose checksum is missing, because the file
 * ends before it, is unsure if all bytes of the page are there, and otherwise bad. */
static void compare_pages(pages *p, uint64_t body_present) {
    for (uint64_t i = 0; i < p->count; i++) {
        bool is_complete = i * KITHI_PAGE_BYTES + kithi_page_bytes(p->head->body_bytes, i) <= body_present;
        if (i < p->checksums_present)
            p->state[i] = checksum_computed(p, i) == checksum_stored(p, i) ? KITHI_PAGE_GOOD : KITHI_PAGE_BAD;
        else
            p->state[i] = is_complete ? KITHI_PAGE_UNSURE : KITHI_PAGE_BAD;
    }
}

/* Called if the checksums do not match the header's checksum of them. Missing checksums are computed from the pages.
 * Where a page does not match its checksum (a conflict), at most one of the two is right. For every subset of these
 * pages, tries the assumption that the pages in the subset are right and their checksums wrong, and that in the other
 * conflicts the checksums are right. If the checksums then match the header, sets the states of the pages and returns
 * true. */
static bool restore_checksums(pages *p) {
    uint64_t conflict[CONFLICTS_MAX], stored[CONFLICTS_MAX], computed[CONFLICTS_MAX];
    unsigned conflicts = 0;
    uint64_t unsure = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        unsure += p->state[i] == KITHI_PAGE_UNSURE;
        if (p->state[i] != KITHI_PAGE_BAD)
            continue;
        if (conflicts == CONFLICTS_MAX || i >= p->checksums_present)
            return false;
        conflict[conflicts] = i;
        stored[conflicts] = checksum_stored(p, i);
        computed[conflicts++] = checksum_computed(p, i);
    }
    for (uint64_t i = p->checksums_present; i < p->count; i++)
        kithi_store64(p->checksums + 8 * i, checksum_computed(p, i));
    p->checksums_present = p->count;
    for (unsigned set = 0; set < 1u << conflicts; set++) {
        for (unsigned i = 0; i < conflicts; i++)
            kithi_store64(p->checksums + 8 * conflict[i], (set >> i & 1) != 0 ? computed[i] : stored[i]);
        if (!checksums_match_header(p))
            continue;
        for (unsigned i = 0; i < conflicts; i++)
            p->state[conflict[i]] = (set >> i & 1) != 0 ? KITHI_PAGE_GOOD : KITHI_PAGE_BAD;
        for (uint64_t i = 0; i < p->count && unsure > 0; i++)
            if (p->state[i] == KITHI_PAGE_UNSURE)
                p->state[i] = KITHI_PAGE_GOOD;
        return true;
    }
    for (unsigned i = 0; i < conflicts; i++)
        kithi_store64(p->checksums + 8 * conflict[i], stored[i]);
    return false;
}

/* Flips each bit of the page in turn, and returns true when the page has this checksum. Returns false, with the page
 * unchanged, if that never happens or if the budget is too small. */
static bool restore_flipped_bit(uint8_t *page, size_t page_bytes, uint64_t checksum, uint64_t *budget) {
    uint64_t cost = 8 * (uint64_t)page_bytes * page_bytes;
    if (cost > *budget)
        return false;
    *budget -= cost;
    for (size_t bit = 0; bit < 8 * page_bytes; bit++) {
        page[bit / 8] = (uint8_t)(page[bit / 8] ^ 1u << (bit % 8));
        if (kithi_checksum(page, page_bytes) == checksum)
            return true;
        page[bit / 8] = (uint8_t)(page[bit / 8] ^ 1u << (bit % 8));
    }
    return false;
}

/* Returns whether a page of zeros has this checksum. */
static bool was_zero(size_t page_bytes, uint64_t checksum) {
    static const uint8_t zeros[KITHI_PAGE_BYTES];
    return kithi_checksum(zeros, page_bytes) == checksum;
}

static bool restore_page(pages *p, uint64_t i, uint64_t *budget) {
    uint8_t *page = p->body + i * KITHI_PAGE_BYTES;
    size_t page_bytes = kithi_page_bytes(p->head->body_bytes, i);
    if (i >= p->checksums_present)
        return false;
    if (was_zero(page_bytes, checksum_stored(p, i))) {
        memset(page, 0, page_bytes);
        return true;
    }
    return restore_flipped_bit(page, page_bytes, checksum_stored(p, i), budget);
}

static void count_pages(const pages *p, uint64_t *damaged, uint64_t *unsure) {
    *damaged = *unsure = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        *damaged += p->state[i] == KITHI_PAGE_BAD;
        *unsure += p->state[i] == KITHI_PAGE_UNSURE;
    }
}

/* ---- the body ---- */

/* A handle with everything that a kind's salvage() and recount() need, and nothing to free. */
static kith_filter bare_handle(const kithi_kind *kind, const kithi_head *head, const kithi_shape *shape, uint8_t *block,
                               const kith_allocator *allocator) {
    kith_filter f;
    memset(&f, 0, sizeof f);
    f.kind = kind;
    f.operations = kithi_operations_of(kind);
    f.head = *head;
    f.geometry = kind->lookup->decode(head);
    f.shape = *shape;
    f.block = block;
    f.body = block + KITHI_HEADER_BYTES;
    f.allocator = *allocator;
    return f;
}

static kith_status salvage_by_kind(pages *p, const kithi_kind *kind, const kithi_shape *shape, kithi_head *head,
                                   kithi_salvage *s) {
    kithi_damage damage = {p->state, p->count, 0, s};
    kith_filter f = bare_handle(kind, head, shape, p->block, s->allocator);
    kith_status status = f.operations->salvage(&f, &damage);
    head->count = f.head.count;
    head->fill = f.head.fill;
    s->keys_at_risk = damage.keys_at_risk;
    return status;
}

/* Finds the damaged pages, restores those that can be, and leaves the others to the kind. */
static kith_status salvage_pages(pages *p, uint64_t body_present, const kithi_kind *kind, const kithi_shape *shape,
                                 kithi_head *head, kithi_salvage *s) {
    compare_pages(p, body_present);
    if (!checksums_match_header(p))
        s->checksums_restored = restore_checksums(p);
    s->pages = p->count;
    count_pages(p, &s->pages_damaged, &s->pages_unsure);
    for (uint64_t i = 0; i < p->count; i++)
        if (p->state[i] == KITHI_PAGE_BAD && restore_page(p, i, &s->budget)) {
            p->state[i] = KITHI_PAGE_GOOD;
            s->pages_restored++;
        }
    bool is_whole = s->pages_damaged == s->pages_restored && s->pages_unsure == 0;
    kith_status status = is_whole ? KITH_OK : salvage_by_kind(p, kind, shape, head, s);
    /* The count in a header that was planned again is only an estimate. */
    if (status == KITH_OK && s->header_lost) {
        kith_filter f = bare_handle(kind, head, shape, p->block, s->allocator);
        f.operations->recount(&f);
        head->count = f.head.count;
        head->fill = f.head.fill;
    }
    return status;
}

kith_status kithi_salvage_body(uint8_t *block, uint64_t block_bytes, uint64_t present, kithi_head *head,
                               kithi_salvage *s) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    kithi_shape shape;
    uint64_t expected_bytes;
    if (kind == NULL)
        return KITH_E_KIND;
    kith_status status = kithi_head_check(head, kind->lookup->params_mask);
    if (status == KITH_OK)
        status = kithi_kind_shape(kind, head, &shape);
    if (status == KITH_OK &&
        (shape.body_bytes != head->body_bytes || !kithi_block_bytes(head->body_bytes, &expected_bytes) ||
         expected_bytes + head->notes_bytes != block_bytes))
        status = KITH_E_CORRUPT;
    if (status != KITH_OK)
        return status;
    uint64_t body_end = KITHI_HEADER_BYTES + head->body_bytes, count = kithi_checksum_count(head->body_bytes);
    uint64_t body_present = present > KITHI_HEADER_BYTES ? present - KITHI_HEADER_BYTES : 0;
    uint64_t checksums_present = present > body_end ? (present - body_end) / 8 : 0;
    pages p = {
        .block = block,
        .body = block + KITHI_HEADER_BYTES,
        .head = head,
        .count = count,
        .checksums_present = checksums_present < count ? checksums_present : count,
        .checksums = block + body_end,
        .state = kithi_allocate(s->allocator, count + 1),
    };
    if (p.state == NULL)
        return KITH_E_MEMORY;
    status = salvage_pages(&p, body_present, kind, &shape, head, s);
    kithi_release(s->allocator, p.state, count + 1);
    if (status == KITH_OK)
        kithi_block_seal(block, head);
    return status;
}

void kithi_filter_recount(kith_filter *f) {
    f->operations->recount(f);
    f->sealed = false;
}
