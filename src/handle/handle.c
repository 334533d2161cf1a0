/* Handles: create, bind and free a kith_filter over a block of bytes.
 *
 *     create, create_like ---- init -------.
 *     clone ------------------ bind_copy --+--> kith_filter --- bytes, save ---> sealed block
 *     view, adopt, open ------ bind -------'     (these three: open.c)
 *
 * The handle holds the decoded header. Its count and fill are current; the header in the block is outdated until the
 * filter is sealed. Bytes from outside (files, views, the blocks of layers in them) become a filter only through bind,
 * which validates them. With KITH_OPEN_LAZY it validates only the header, the notes and the headers of layers, and
 * kithi_filter_verify() validates the body before it is changed or copied. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/hash.h"
#include "os/map.h"
#include "format/notes.h"
#include "format/read.h"
#include "os/replace.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "handle/handle.h"
#include "handle/verbs.h"
#include "plan/planner.h"

/* ---- binding handles to blocks ---- */

static void set_up(kith_filter *f, const kithi_kind *kind, const kithi_head *head, const kithi_shape *shape,
                   uint8_t *block, const kith_allocator *allocator) {
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->operations = kithi_operations_of(kind);
    f->head = *head;
    f->geometry = kind->lookup->decode(head);
    f->shape = *shape;
    f->operations->bind(f);
    f->block = block;
    f->body = block + KITHI_HEADER_BYTES;
    f->allocator = *allocator;
    bool fits = kithi_block_bytes(head->body_bytes, &f->block_bytes);
    assert(fits);
    (void)fits;
    f->block_bytes += head->notes_bytes;
}

kith_status kithi_filter_init(kith_filter *f, const kithi_head *head, uint8_t *block, const kith_allocator *allocator) {
    const kithi_kind *kind = kithi_kind_by_id(head->kind_id);
    kithi_shape shape;
    kith_status status = kithi_kind_shape(kind, head, &shape);
    if (status != KITH_OK)
        return status;
    set_up(f, kind, head, &shape, block, allocator);
    f->writable = true;
    f->verified = true;
    return f->operations->init != NULL ? f->operations->init(f) : KITH_OK;
}

kith_status kithi_filter_bind_copy(kith_filter *f, const kith_filter *like, uint8_t *block,
                                   const kith_allocator *allocator) {
    set_up(f, like->kind, &like->head, &like->shape, block, allocator);
    f->head.store = (kithi_store_mark){.is_store = false}; /* a copy of a store's snapshot is an ordinary filter */
    f->writable = true;
    f->verified = true;
    return f->operations->attach != NULL ? f->operations->attach(f, like, KITH_OPEN_DEFAULT) : KITH_OK;
}

kith_status kithi_filter_bind(kith_filter *f, uint8_t *block, uint64_t block_bytes, unsigned flags,
                              const kith_allocator *allocator) {
    kithi_head head;
    kith_status status = kithi_header_read(block, block_bytes, &head);
    if (status != KITH_OK)
        return status;
    const kithi_kind *kind = kithi_kind_by_id(head.kind_id);
    if (kind == NULL)
        return KITH_E_KIND;
    kithi_shape shape;
    status = kithi_head_check(&head, kind->lookup->params_mask);
    if (status == KITH_OK)
        status = kithi_kind_shape(kind, &head, &shape);
    if (status == KITH_OK)
        status = kithi_sizes_check(&head, shape.body_bytes, block_bytes);
    if (status != KITH_OK)
        return status;
    if (head.store.is_store && (flags & KITH_OPEN_SNAPSHOT) == 0)
        return KITH_E_JOURNAL;
    bool lazy = (flags & KITH_OPEN_LAZY) != 0;
    status = lazy ? KITH_OK : kithi_body_verify(block, &head);
    if (status == KITH_OK && head.notes_bytes != 0)
        status = kithi_notes_verify(block + block_bytes - head.notes_bytes, head.notes_bytes);
    if (status != KITH_OK)
        return status;
    set_up(f, kind, &head, &shape, block, allocator);
    f->sealed = true;
    f->verified = !lazy;
    status = f->operations->attach != NULL ? f->operations->attach(f, NULL, flags) : KITH_OK;
    if (status != KITH_OK)
        return status;
    if (!lazy && kithi_filter_check(f) != NULL) {
        kithi_filter_unbind(f);
        return KITH_E_CORRUPT;
    }
    return KITH_OK;
}

void kithi_filter_unbind(kith_filter *f) {
    f->operations->detach(f);
}

void kithi_filter_seal(kith_filter *f) {
    if (f->sealed)
        return;
    assert(f->block_bytes == kithi_filter_file_bytes(f)); /* the body has one part */
    if (f->operations->seal != NULL)
        f->operations->seal(f);
    kithi_block_seal(f->block, &f->head);
    f->sealed = true;
    atomic_store_explicit(&f->changing, false, memory_order_relaxed);
}

const char *kithi_filter_check(const kith_filter *f) {
    bool grows = (f->shape.capabilities & KITH_CAN_GROW) != 0;
    if (!grows && f->head.count > f->head.capacity)
        return "the count is past the capacity";
    return f->operations->check(f);
}

kith_status kithi_filter_verify(const kith_filter *f) {
    if (f->verified)
        return KITH_OK;
    kith_status status = kithi_body_verify(f->block, &f->head);
    if (status == KITH_OK && f->operations->verify != NULL)
        status = f->operations->verify(f);
    if (status == KITH_OK && kithi_filter_check(f) != NULL)
        status = KITH_E_CORRUPT;
    return status;
}

kith_status kithi_filter_writable(kith_filter *f) {
    if (!f->writable)
        return KITH_E_READONLY;
    if (kithi_filter_busy(f))
        return KITH_E_BUSY;
    kith_status status = kithi_filter_verify(f);
    f->verified = status == KITH_OK;
    return status;
}

/* The notes inside the block; NULL if there are none. */
static uint8_t *notes_section(const kith_filter *f) {
    return f->head.notes_bytes == 0 ? NULL : f->block + f->block_bytes - f->head.notes_bytes;
}

/* ---- creating and freeing ---- */

/* Allocates a handle and a block for it. */
static kith_status new_handle(const kith_allocator *allocator, uint64_t block_bytes, kith_filter **handle,
                              uint8_t **block) {
    *handle = kithi_allocate(allocator, sizeof **handle);
    if (*handle == NULL)
        return KITH_E_MEMORY;
    *block = kithi_allocate(allocator, block_bytes);
    if (*block == NULL) {
        kithi_release(allocator, *handle, sizeof **handle);
        return KITH_E_MEMORY;
    }
    return KITH_OK;
}

/* Ends the creation of the handle f, whose initialisation returned `status`. If that is KITH_OK, returns the handle in
 * *filter; otherwise frees the handle and its block. */
static kith_status finish_handle(kith_status status, const kith_allocator *allocator, kith_filter *f, uint8_t *block,
                                 uint64_t block_bytes, kith_filter **filter) {
    if (status == KITH_OK) {
        *filter = f;
        return KITH_OK;
    }
    kithi_release(allocator, block, block_bytes);
    kithi_release(allocator, f, sizeof *f);
    return status;
}

/* Creates an empty filter. Its block has space for head->notes_bytes bytes of notes, which the caller writes. */
static kith_status create_from_head(const kithi_head *head, const kith_allocator *given, kith_filter **filter) {
    kith_allocator allocator = kithi_allocator_or_default(given);
    kith_filter *f;
    uint8_t *block;
    uint64_t block_bytes;
    if (!kithi_block_bytes(head->body_bytes, &block_bytes))
        return KITH_E_ADDRESS;
    block_bytes += head->notes_bytes;
    kith_status status = new_handle(&allocator, block_bytes, &f, &block);
    if (status != KITH_OK)
        return status;
    status = kithi_filter_init(f, head, block, &allocator);
    return finish_handle(status, &allocator, f, block, block_bytes, filter);
}

kith_status kith_filter_create(const kith_filter_spec *given, kith_filter **filter) {
    assert(filter != NULL);
    kith_filter_spec spec;
    kithi_head head;
    kith_status status = kithi_spec_read(given, &spec);
    if (status == KITH_OK)
        status = kithi_plan_spec(&spec, &head);
    if (status != KITH_OK)
        return status;
    if (!kithi_hash_valid(&spec.hash))
        return KITH_E_HASH;
    if (!kithi_kind_adds(kithi_kind_by_id(head.kind_id)))
        return KITH_E_UNSUPPORTED;
    head.hash = spec.hash;
    return kithi_filter_create_planned(&spec, &head, filter);
}

kith_status kithi_filter_create_planned(const kith_filter_spec *spec, const kithi_head *head, kith_filter **filter) {
    kith_status status = create_from_head(head, spec->allocator, filter);
    if (status != KITH_OK)
        return status;
    (*filter)->max_bytes = spec->max_bytes;
    if (head->notes_bytes != 0)
        kithi_notes_write(notes_section(*filter), spec->notes, spec->note_count);
    return KITH_OK;
}

/* Creates an empty filter with the parameters of `like`. Returns KITH_E_TOO_LARGE if its block, together with the
 * `held` bytes that are allocated already, would exceed the limit of `like`. The block has space for `notes_bytes`
 * bytes of notes, which the caller writes. */
static kith_status create_empty_like(const kith_filter *like, uint64_t held, uint64_t notes_bytes,
                                     const kith_allocator *allocator, kith_filter **filter) {
    kithi_head head = like->head;
    uint64_t block_bytes;
    head.count = 0;
    head.fill = 0;
    head.store = (kithi_store_mark){.is_store = false};
    kith_status status = like->operations->empty_head != NULL ? like->operations->empty_head(&head) : KITH_OK;
    if (status != KITH_OK)
        return status;
    head.notes_bytes = notes_bytes;
    if (!kithi_block_bytes(head.body_bytes, &block_bytes))
        return KITH_E_ADDRESS;
    if (!kithi_filter_limit_allows(like, held, block_bytes + notes_bytes))
        return KITH_E_TOO_LARGE;
    status = create_from_head(&head, allocator, filter);
    if (status == KITH_OK)
        (*filter)->max_bytes = like->max_bytes;
    return status;
}

kith_status kith_filter_create_like(const kith_filter *like, const kith_allocator *allocator, kith_filter **filter) {
    assert(like != NULL && filter != NULL);
    if (!kithi_kind_adds(like->kind))
        return KITH_E_UNSUPPORTED;
    return create_empty_like(like, 0, 0, allocator, filter); /* no notes: they describe the keys of `like` */
}

/* Copies a filter to the heap, into one block, with space for `notes_bytes` bytes of notes. If the notes of `from` have
 * exactly that size, they are copied; otherwise the caller writes the notes. */
static kith_status clone_resizing_notes(const kith_filter *from, uint64_t notes_bytes, const kith_allocator *allocator,
                                        kith_filter **filter) {
    uint64_t block_bytes = kithi_filter_file_bytes(from) - from->head.notes_bytes + notes_bytes;
    kith_filter *f;
    uint8_t *block;
    kith_status status = new_handle(allocator, block_bytes, &f, &block);
    if (status != KITH_OK)
        return status;
    kithi_part parts[KITHI_BODY_PARTS_MAX];
    size_t count = from->operations->parts(from, parts);
    uint8_t *at = block + KITHI_HEADER_BYTES; /* the copy is not sealed, so header and checksums need no copying */
    for (size_t i = 0; i < count; i++) {
        memcpy(at, parts[i].bytes, parts[i].byte_count);
        at += parts[i].byte_count;
    }
    if (notes_bytes != 0 && notes_bytes == from->head.notes_bytes)
        memcpy(block + block_bytes - notes_bytes, notes_section(from), (size_t)notes_bytes);
    status = kithi_filter_bind_copy(f, from, block, allocator);
    f->head.notes_bytes = notes_bytes;
    f->block_bytes = block_bytes;
    f->max_bytes = from->max_bytes;
    return finish_handle(status, allocator, f, block, block_bytes, filter);
}

kith_status kith_filter_clone(const kith_filter *from, const kith_allocator *given, kith_filter **filter) {
    assert(from != NULL && filter != NULL);
    if (kithi_filter_busy(from))
        return KITH_E_BUSY;
    kith_status status = kithi_filter_verify(from);
    if (status != KITH_OK)
        return status;
    kith_allocator allocator = kithi_allocator_or_default(given);
    return clone_resizing_notes(from, from->head.notes_bytes, &allocator, filter);
}

void kithi_filter_replace_contents(kith_filter *f, kith_filter *made) {
    kith_filter old = *f;
    *f = *made;
    *made = old;
    kith_filter_free(made);
}

void kith_filter_free(kith_filter *f) {
    if (f == NULL)
        return;
    assert(!kithi_filter_busy(f));
    kithi_filter_unbind(f);
    kith_allocator allocator = f->allocator;
    if (f->backing == KITHI_BACKING_HEAP)
        kithi_release(&allocator, f->block, f->block_bytes);
    else if (f->backing == KITHI_BACKING_MAP)
        kithi_unmap_file(f->block, (size_t)f->block_bytes);
    kithi_release(&allocator, f, sizeof *f);
}

void kith_filter_set_limit(kith_filter *f, uint64_t max_bytes) {
    assert(f != NULL);
    f->max_bytes = max_bytes;
}

kith_status kith_filter_clear(kith_filter *f) {
    assert(f != NULL);
    if (!kithi_kind_adds(f->kind))
        return KITH_E_UNSUPPORTED;
    kith_status status = kithi_filter_writable(f);
    if (status != KITH_OK)
        return status;
    f->sealed = false;
    if (f->operations->clear(f))
        return KITH_OK;
    uint64_t notes_bytes = f->head.notes_bytes;
    kith_filter *empty;
    status = create_empty_like(f, kithi_filter_file_bytes(f), notes_bytes, &f->allocator, &empty);
    if (status != KITH_OK)
        return status;
    if (notes_bytes != 0)
        memcpy(notes_section(empty), notes_section(f), (size_t)notes_bytes);
    kithi_filter_replace_contents(f, empty);
    return KITH_OK;
}

/* ---- recipe and notes ---- */

uint64_t kith_filter_recipe(const kith_filter *f) {
    assert(f != NULL);
    return f->head.recipe;
}

size_t kith_filter_note_count(const kith_filter *f) {
    assert(f != NULL);
    return kithi_notes_count(notes_section(f));
}

kith_note kith_filter_note_at(const kith_filter *f, size_t index) {
    assert(f != NULL);
    return kithi_notes_at(notes_section(f), index);
}

const char *kith_filter_note(const kith_filter *f, const char *name) {
    assert(f != NULL && name != NULL);
    for (size_t i = 0; i < kith_filter_note_count(f); i++)
        if (strcmp(kith_filter_note_at(f, i).name, name) == 0)
            return kith_filter_note_at(f, i).value;
    return NULL;
}

kith_status kith_filter_set_notes(kith_filter *f, const kith_note *notes, size_t count) {
    assert(f != NULL && (notes != NULL || count == 0));
    uint64_t notes_bytes;
    kith_status status = kithi_filter_writable(f);
    if (status == KITH_OK)
        status = kithi_notes_measure(notes, count, &notes_bytes);
    kith_filter *copy;
    if (status == KITH_OK)
        status = clone_resizing_notes(f, notes_bytes, &f->allocator, &copy);
    if (status != KITH_OK)
        return status;
    if (notes_bytes != 0) {
        memset(notes_section(copy), 0, (size_t)notes_bytes);
        kithi_notes_write(notes_section(copy), notes, count);
    }
    kithi_filter_replace_contents(f, copy); /* frees the old block last: `notes` may point into it */
    return KITH_OK;
}

/* ---- bytes ---- */

/* Returns KITH_OK if the bytes of the filter may be returned or saved. Verifies a lazily opened body for that. */
static kith_status verify_for_output(kith_filter *f) {
    if (kithi_filter_busy(f))
        return KITH_E_BUSY;
    if (f->head.store.is_store)
        return KITH_E_JOURNAL; /* a read-only snapshot: without the journal, its bytes are not the whole store */
    kith_status status = kithi_filter_verify(f);
    f->verified = status == KITH_OK;
    return status;
}

/* Copies a body of several parts into one new block, which replaces the old one. */
static kith_status join_parts(kith_filter *f) {
    kith_filter *joined;
    kith_status status = clone_resizing_notes(f, f->head.notes_bytes, &f->allocator, &joined);
    if (status == KITH_OK)
        kithi_filter_replace_contents(f, joined);
    return status;
}

kith_status kith_filter_bytes(kith_filter *f, const void **bytes, size_t *byte_count) {
    assert(f != NULL && bytes != NULL && byte_count != NULL);
    kithi_part parts[KITHI_BODY_PARTS_MAX];
    kith_status status = verify_for_output(f);
    if (status == KITH_OK && f->operations->parts(f, parts) > 1)
        status = join_parts(f);
    if (status != KITH_OK)
        return status;
    kithi_filter_seal(f);
    *bytes = f->block;
    *byte_count = (size_t)f->block_bytes;
    return KITH_OK;
}

/* The most parts (pieces of memory) that a file is written from: those of the body, header, checksums and notes, and
 * one more if kithi_filter_write_marked() replaces the header. */
#define FILE_PARTS_MAX (KITHI_BODY_PARTS_MAX + 4)

/* The bytes of a filter's file, in parts. If the body has several parts, the block has no space for all checksums, so
 * they are in separate memory: `checksums`, otherwise NULL. */
typedef struct file_parts {
    kithi_part part[FILE_PARTS_MAX];
    size_t count;
    uint8_t *checksums;
    uint64_t checksums_bytes;
} file_parts;

/* Collects the parts of a filter's file. After success the caller must call close_file_parts(). `seal_parts` matters
 * only if the body has several parts: if it is false, header and checksums are not brought up to date, which saves a
 * pass over the body. */
static kith_status open_file_parts(kith_filter *f, bool seal_parts, file_parts *p) {
    *p = (file_parts){.count = 0};
    kithi_part body[KITHI_BODY_PARTS_MAX];
    kith_status status = verify_for_output(f);
    if (status != KITH_OK)
        return status;
    size_t body_count = f->operations->parts(f, body);
    if (body_count == 1) {
        kithi_filter_seal(f);
        p->part[p->count++] = (kithi_part){f->block, (size_t)f->block_bytes};
        return KITH_OK;
    }
    p->checksums_bytes = kithi_filter_file_bytes(f) - KITHI_HEADER_BYTES - f->head.body_bytes - f->head.notes_bytes;
    p->checksums = kithi_allocate(&f->allocator, p->checksums_bytes);
    if (p->checksums == NULL)
        return KITH_E_MEMORY;
    if (f->operations->seal != NULL)
        f->operations->seal(f);
    if (seal_parts)
        kithi_parts_seal(f->block, body, p->checksums, &f->head);
    p->part[p->count++] = (kithi_part){f->block, KITHI_HEADER_BYTES};
    memcpy(p->part + p->count, body, body_count * sizeof *body);
    p->count += body_count;
    p->part[p->count++] = (kithi_part){p->checksums, (size_t)p->checksums_bytes};
    p->part[p->count++] = (kithi_part){notes_section(f), (size_t)f->head.notes_bytes};
    return KITH_OK;
}

static void close_file_parts(const kith_filter *f, file_parts *p) {
    int error = errno; /* the caller may read the reason of a failure there */
    kithi_release(&f->allocator, p->checksums, p->checksums_bytes);
    errno = error;
}

kith_status kith_filter_save(kith_filter *f, const char *path) {
    assert(f != NULL && path != NULL);
    file_parts p;
    kith_status status = open_file_parts(f, true, &p);
    if (status != KITH_OK)
        return status;
    status = kithi_replace_file_parts(path, p.part, p.count, f->head.hash.id == KITH_HASH_SIPHASH);
    close_file_parts(f, &p);
    return status;
}

kith_status kithi_filter_write_marked(kith_filter *f, const kithi_store_mark *mark, kithi_write_parts write,
                                      void *context) {
    file_parts p;
    kith_status status = open_file_parts(f, true, &p);
    if (status != KITH_OK)
        return status;
    uint8_t header[KITHI_HEADER_BYTES];
    memcpy(header, p.part[0].bytes, sizeof header);
    kithi_header_set_mark(header, mark);
    memmove(p.part + 1, p.part, p.count * sizeof *p.part);
    p.count++;
    p.part[0] = (kithi_part){header, sizeof header};
    p.part[1].bytes = (const uint8_t *)p.part[1].bytes + sizeof header;
    p.part[1].byte_count -= sizeof header;
    status = write(context, p.part, p.count, f->head.hash.id == KITH_HASH_SIPHASH);
    close_file_parts(f, &p);
    return status;
}

uint64_t kith_filter_file_bytes(const kith_filter *f) {
    assert(f != NULL);
    return kithi_filter_file_bytes(f);
}

kith_status kith_filter_write(kith_filter *f, uint64_t offset, uint64_t byte_count, kith_write write, void *context) {
    assert(f != NULL && write != NULL);
    uint64_t file_bytes = kithi_filter_file_bytes(f), body_end = KITHI_HEADER_BYTES + f->head.body_bytes;
    if (offset > file_bytes || byte_count > file_bytes - offset)
        return KITH_E_RANGE;
    /* Only the header and the checksums depend on the whole body. */
    bool only_body = offset >= KITHI_HEADER_BYTES && offset + byte_count <= body_end;
    file_parts p;
    kith_status status = open_file_parts(f, !only_body, &p);
    if (status != KITH_OK)
        return status;
    for (size_t i = 0; i < p.count && byte_count > 0 && status == KITH_OK; i++) {
        const kithi_part *part = &p.part[i];
        if (offset >= part->byte_count) {
            offset -= part->byte_count;
            continue;
        }
        size_t here = part->byte_count - (size_t)offset;
        if (here > byte_count)
            here = (size_t)byte_count;
        status = write(context, (const uint8_t *)part->bytes + offset, here);
        offset = 0;
        byte_count -= here;
    }
    close_file_parts(f, &p);
    return status;
}

/* ---- moving ---- */

kith_status kith_filter_relocate(kith_filter *f, kith_move move, void *context) {
    assert(f != NULL && move != NULL);
    if (kithi_filter_busy(f))
        return KITH_E_BUSY;
    if (f->backing != KITHI_BACKING_HEAP)
        return KITH_OK;
    size_t body_at = (size_t)(f->body - f->block);
    uint8_t *block = move(context, f->block, (size_t)f->block_bytes);
    f->block = block;
    f->body = block + body_at;
    if (f->operations->relocate != NULL)
        f->operations->relocate(f, move, context);
    return KITH_OK;
}

/* ---- memory ---- */

uint64_t kith_filter_memory(const kith_filter *f) {
    assert(f != NULL);
    uint64_t bytes = sizeof *f;
    if (f->backing == KITHI_BACKING_HEAP)
        bytes += f->block_bytes;
    return bytes + f->operations->memory(f);
}
