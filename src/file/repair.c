/* Saves what can be saved of a damaged file or store; see kith/repair.h.
 *
 *     1   read the file, with zeros for what the disk cannot read
 *     2   repair header and body (salvage.c)
 *     3   if the file is a store, apply the journal: the valid records that are newer than the file and that count (see
 *         below), in order
 *     4   if something is lost or unsure, correct the count and the fill; check all invariants
 *
 * Which records of the journal count: those of complete batches. The record that ended a batch may be damaged. But
 * later records can prove that the batch was complete, because a writer cuts off an incomplete batch before it writes
 * more. A record without KITHI_RECORD_OPEN ends a batch or is outside of any, so it proves that it and all records
 * before it count. A record with this flag may be part of an incomplete batch. But a writer syncs only at the end of a
 * batch. So the records that were already synced when this record was written (kithi_record.synced_sequence) count.
 *
 * A journal's header with more than one damaged byte can often be made again. The first record contains the checksum of
 * the header. The store id is that of the file, and the base is the number of the first record minus 1. The generation
 * is found by trying. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "core/structs.h"
#include "os/errno_status.h"
#include "handle/handle.h"
#include "handle/salvage.h"
#include "file/store.h"
#include "handle/verbs.h"

#define READ_BYTES 65536        /* of the file at a time */
#define SECTOR_BYTES 4096       /* after a read error, a range is read in pieces of this size */
#define ENLARGED_MAX 4          /* the block may be this many times as large as the file: bounds the memory */
#define GENERATIONS_MAX 1000000 /* how many are tried for a lost header of a journal: takes less than a second */

/* ---- files that cannot be read in places ---- */

/* The context of a table of file operations whose `read` does not give up at a disk error. */
typedef struct tolerant_reader {
    const kithi_files *inner;  /* the table that it calls */
    uint64_t unreadable_bytes; /* so far, in all files: the sectors in which a read has failed */
    uint64_t counted_end;      /* sectors of this file before this offset are not counted again: files are read from the
                                  start to the end, and the journal twice */
    uint64_t bad_start, bad_end; /* the last bytes of this file that could not be read, and were not read later either;
                                    bad_end is 0 if there are none */
} tolerant_reader;

/* Counts the sector at `offset` as unreadable. */
static void count_unreadable(tolerant_reader *reader, uint64_t offset, uint64_t file_bytes) {
    uint64_t start = offset - offset % SECTOR_BYTES;
    if (start < reader->counted_end)
        return;
    reader->counted_end = start + SECTOR_BYTES;
    reader->unreadable_bytes += file_bytes - start < SECTOR_BYTES ? file_bytes - start : SECTOR_BYTES;
}

static int64_t read_inner(tolerant_reader *reader, int file, void *bytes, size_t byte_count, uint64_t offset) {
    int64_t got = reader->inner->read(reader->inner->context, file, bytes, byte_count, offset);
    if (got > 0 && offset <= reader->bad_start && offset + (uint64_t)got >= reader->bad_end)
        reader->bad_end = 0;
    return got;
}

/* Reads like the inner table, but goes on after a disk error: it then reads only up to the end of the sector. If that
 * fails too, it returns zeros for these bytes. */
static int64_t read_past_errors(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    tolerant_reader *reader = context;
    int64_t got = read_inner(reader, file, bytes, byte_count, offset);
    if (got >= 0 || errno != EIO)
        return got;
    size_t part = SECTOR_BYTES - (size_t)(offset % SECTOR_BYTES);
    part = part < byte_count ? part : byte_count;
    got = part < byte_count ? read_inner(reader, file, bytes, part, offset) : -1;
    if (got >= 0 || errno != EIO)
        return got;
    uint64_t file_bytes;
    if (reader->inner->size(reader->inner->context, file, &file_bytes) != 0)
        return -1;
    if (offset >= file_bytes)
        return 0;
    part = part < file_bytes - offset ? part : (size_t)(file_bytes - offset);
    memset(bytes, 0, part);
    count_unreadable(reader, offset, file_bytes);
    if (offset + part > reader->bad_end) {
        reader->bad_start = offset;
        reader->bad_end = offset + part;
    }
    return (int64_t)part;
}

static int inner_size(void *context, int file, uint64_t *bytes) {
    tolerant_reader *reader = context;
    return reader->inner->size(reader->inner->context, file, bytes);
}

static uint64_t inner_size_limit(void *context) {
    tolerant_reader *reader = context;
    return reader->inner->size_limit(reader->inner->context);
}

typedef struct repair {
    kithi_store *s; /* for its names, its folder and its window */
    tolerant_reader reader;
    kithi_files files; /* reads through `reader`; has no other functions than the three above */
    const kith_allocator *allocator;
    uint64_t budget; /* of kithi_salvage */
    kith_repair_report report;
    kithi_store_mark mark; /* of the file */
    kith_filter *filter;
    bool is_exact; /* nothing is lost or unsure so far, so operations of the journal have the same outcome as before */
    bool stopped;  /* for kithi_store_replay_record() */
    bool tail_unreadable; /* bytes after the last record of the journal that counts could not be read */
} repair;

/* ---- the file ---- */

static kith_status read_file(repair *r, uint8_t **bytes, uint64_t *byte_count) {
    const kithi_store *s = r->s;
    int file;
    kith_status status = kithi_files_open(s->files, s->folder, s->snapshot_name, false, &file);
    if (status != KITH_OK)
        return status;
    uint64_t size = 0;
    size_t got = 0;
    *bytes = NULL;
    if (s->files->size(s->files->context, file, &size) != 0)
        status = kithi_status_from_errno(errno);
    else if (size == 0)
        status = KITH_E_EMPTY;
    else if (size > PTRDIFF_MAX || (*bytes = kithi_allocate(r->allocator, size)) == NULL)
        status = KITH_E_MEMORY;
    for (uint64_t at = 0; status == KITH_OK && at < size; at += got) {
        size_t wanted = size - at < READ_BYTES ? (size_t)(size - at) : READ_BYTES;
        status = kithi_files_read(&r->files, file, *bytes + at, wanted, at, &got);
        if (status == KITH_OK && got == 0)
            status = kithi_status_with_errno(EIO); /* it became shorter while it was read */
    }
    s->files->close(s->files->context, file);
    if (status != KITH_OK)
        kithi_release(r->allocator, *bytes, size);
    *byte_count = size;
    return status;
}

/* Gives the block the size that follows from its header: cuts off what is too much, and adds zeros for what is missing.
 * Copies the repaired header into the block. */
static kith_status resize(repair *r, uint8_t **bytes, uint64_t byte_count, const uint8_t *header,
                          uint64_t block_bytes) {
    r->report.missing_bytes = block_bytes > byte_count ? block_bytes - byte_count : 0;
    r->report.extra_bytes = byte_count > block_bytes ? byte_count - block_bytes : 0;
    if (block_bytes / ENLARGED_MAX > byte_count)
        return KITH_E_TRUNCATED;
    if (block_bytes != byte_count) {
        uint8_t *block = kithi_allocate(r->allocator, block_bytes);
        if (block == NULL)
            return KITH_E_MEMORY;
        memcpy(block, *bytes, (size_t)(byte_count < block_bytes ? byte_count : block_bytes));
        kithi_release(r->allocator, *bytes, byte_count);
        *bytes = block;
    }
    memcpy(*bytes, header, KITHI_HEADER_BYTES);
    return KITH_OK;
}

/* Binds a handle to the repaired block, which then belongs to it. */
static kith_status bind(repair *r, uint8_t *block, uint64_t block_bytes) {
    kith_filter *f = kithi_allocate(r->allocator, sizeof *f);
    if (f == NULL)
        return KITH_E_MEMORY;
    kith_status status = kithi_filter_bind(f, block, block_bytes, KITH_OPEN_LAZY | KITH_OPEN_SNAPSHOT, r->allocator);
    if (status != KITH_OK) {
        kithi_release(r->allocator, f, sizeof *f);
        return status;
    }
    f->backing = KITHI_BACKING_HEAP;
    f->writable = true;
    f->verified = true; /* finish() checks the invariants */
    f->sealed = false;
    r->mark = f->head.store;
    f->head.store = (kithi_store_mark){.is_store = false};
    r->filter = f;
    return KITH_OK;
}

static kith_status repair_file(repair *r) {
    uint8_t *bytes, header[KITHI_HEADER_BYTES];
    uint64_t byte_count, block_bytes;
    kithi_head head;
    kithi_salvage found = {.allocator = r->allocator, .budget = r->budget};
    kith_status status = read_file(r, &bytes, &byte_count);
    if (status != KITH_OK)
        return status;
    status = kithi_salvage_header(bytes, byte_count, header, &head, &found);
    if (status == KITH_OK && !kithi_block_bytes(head.body_bytes, &block_bytes))
        status = KITH_E_CORRUPT;
    if (status == KITH_OK) {
        block_bytes += head.notes_bytes;
        status = resize(r, &bytes, byte_count, header, block_bytes);
        if (status == KITH_OK) {
            uint64_t present = byte_count < block_bytes ? byte_count : block_bytes;
            byte_count = block_bytes;
            status = kithi_salvage_body(bytes, block_bytes, present, &head, &found);
        }
    }
    if (status == KITH_OK)
        status = bind(r, bytes, block_bytes);
    if (status != KITH_OK)
        kithi_release(r->allocator, bytes, byte_count);
    r->report.is_store = r->mark.is_store;
    r->report.header_restored = found.header_restored;
    r->report.checksums_restored = found.checksums_restored;
    r->report.notes_lost = found.notes_lost;
    r->report.pages = found.pages;
    r->report.pages_damaged = found.pages_damaged;
    r->report.pages_restored = found.pages_restored;
    r->report.pages_unsure = found.pages_unsure;
    r->report.keys_at_risk = found.keys_at_risk;
    r->is_exact = found.pages_damaged == found.pages_restored && found.pages_unsure == 0;
    /* The repair may have set all cells of the damaged pages that it could not restore. The keys of the journal must
     * not be refused because of that. finish() ends this exception. */
    if (status == KITH_OK && found.pages_damaged != found.pages_restored)
        kithi_before_fill(r->filter, false);
    return status;
}

/* ---- the header of the journal ---- */

/* Returns whether this is a valid header. If so, the journal has this header from now on. */
static bool try_header(kithi_journal *j, const uint8_t *header) {
    return kithi_journal_use_header(j, header, KITHI_JOURNAL_HEADER_BYTES) == KITH_OK;
}

/* Tries every other value of every byte. */
static bool restore_byte(kithi_journal *j, uint8_t *header) {
    for (unsigned at = 0; at < KITHI_JOURNAL_HEADER_BYTES; at++) {
        uint8_t was = header[at];
        for (unsigned change = 1; change < 256; change++) {
            header[at] = (uint8_t)(was ^ change);
            if (try_header(j, header))
                return true;
        }
        header[at] = was;
    }
    return false;
}

/* Makes the header again from the first record, whose previous_checksum is the checksum of the header. */
static kith_status remake_header(const repair *r, kithi_journal *j, bool *found) {
    kithi_position start = {.offset = KITHI_JOURNAL_HEADER_BYTES};
    kithi_record first;
    uint8_t checksum[8], header[KITHI_JOURNAL_HEADER_BYTES];
    size_t got;
    *found = false;
    kith_status status =
        kithi_files_read(j->files, j->file, checksum, sizeof checksum, KITHI_JOURNAL_HEADER_BYTES + 8, &got);
    if (status != KITH_OK || got < sizeof checksum)
        return status;
    j->start.previous_checksum = start.previous_checksum = kithi_load64(checksum);
    kithi_journal_search search = {.offset = start.offset};
    status = kithi_journal_find(j, &search, &first, found);
    if (status != KITH_OK || !*found || first.previous_checksum != start.previous_checksum) {
        *found = false;
        return status == KITH_E_CORRUPT ? KITH_OK : status;
    }
    kithi_journal_head head = {.base = first.sequence - 1};
    memcpy(head.id, r->mark.id, sizeof head.id);
    *found = false;
    for (head.generation = 1; head.generation <= GENERATIONS_MAX && !*found; head.generation++) {
        kithi_journal_head_write(header, &head);
        *found = kithi_load64(header + KITHI_JOURNAL_HEADER_BYTES - 8) == start.previous_checksum;
    }
    *found = *found && try_header(j, header);
    return KITH_OK;
}

/* Opens the journal, and restores its header if necessary. Sets report.journal: KITH_JOURNAL_SOUND means for now that
 * the records can be read. */
static kith_status open_journal(repair *r, kithi_journal *j) {
    const kithi_store *s = r->s;
    uint8_t header[KITHI_JOURNAL_HEADER_BYTES];
    size_t got;
    kith_status status = kithi_files_open_journal(s->files, s->folder, s->journal_name, false, &j->file);
    if (status == KITH_E_NO_FILE || status == KITH_E_JOURNAL_FOREIGN) {
        r->report.journal = status == KITH_E_NO_FILE ? KITH_JOURNAL_MISSING : KITH_JOURNAL_FOREIGN;
        return KITH_OK;
    }
    if (status == KITH_OK)
        status = kithi_files_read(j->files, j->file, header, sizeof header, 0, &got);
    if (status != KITH_OK)
        return status;
    bool found = got == sizeof header && try_header(j, header);
    if (!found && got == sizeof header) {
        found = restore_byte(j, header);
        if (!found)
            status = remake_header(r, j, &found);
        r->report.journal_header_restored = found;
    }
    if (status != KITH_OK)
        return status;
    r->report.journal = KITH_JOURNAL_SOUND;
    if (!found)
        r->report.journal = got > 0 && !kithi_is_journal(header, got) ? KITH_JOURNAL_FOREIGN : KITH_JOURNAL_UNREADABLE;
    else if (memcmp(j->head.id, r->mark.id, sizeof j->head.id) != 0)
        r->report.journal = KITH_JOURNAL_FOREIGN;
    return KITH_OK;
}

/* ---- records ---- */

/* Applies a record to a filter that is not what it was when the record was written. Operations that failed then may
 * succeed now, and the other way round. So each operation is tried, also after one that fails. But if keys may be
 * missing, nothing is removed: the removal of a missing key could remove another one. */
static kith_status apply_inexact(repair *r, const kithi_record *record) {
    bool may_remove = r->report.keys_at_risk == 0 && r->report.records_lost == 0;
    for (size_t i = 0; i < record->count; i++) {
        uint64_t digest = kithi_load64(record->digests + 8 * i);
        kith_status status = KITH_OK;
        if (record->type == KITHI_RECORD_ADD)
            status = kith_filter_add_digest(r->filter, digest, NULL);
        else if (may_remove)
            status = kith_filter_remove_many(r->filter, &digest, 1, NULL);
        else
            r->report.removals_skipped++;
        if (kithi_depends_on_process(status))
            return status;
        if (status == KITH_E_UNSUPPORTED)
            return KITH_E_CORRUPT;
        if (record->type == KITHI_RECORD_ADD && status != KITH_OK && !kithi_has(r->filter, digest))
            r->report.adds_refused++;
    }
    return KITH_OK;
}

/* Finds the next valid record whose sequence number is higher than `after`. */
static kith_status next_newer(kithi_journal *j, kithi_journal_search *at, uint64_t after, kithi_record *record,
                              bool *found) {
    kith_status status;
    do
        status = kithi_journal_find(j, at, record, found);
    while (status == KITH_OK && *found && record->sequence <= after);
    if (status != KITH_E_CORRUPT)
        return status;
    *found = false; /* the search was given up because it would take too long */
    return KITH_OK;
}

/* Sets *last to the number of the last record that counts (see the head of this file), whether that record can be found
 * or not. */
static kith_status find_last(const repair *r, kithi_journal *j, uint64_t *last) {
    kithi_journal_search at = {.offset = KITHI_JOURNAL_HEADER_BYTES};
    kithi_record record;
    uint64_t seen = 0;
    bool found = true;
    *last = j->head.base > r->mark.sequence ? j->head.base : r->mark.sequence;
    while (found) {
        kith_status status = next_newer(j, &at, seen, &record, &found);
        if (status != KITH_OK)
            return status;
        if (!found)
            break;
        seen = record.sequence;
        uint64_t proven = (record.flags & KITHI_RECORD_OPEN) != 0 ? record.synced_sequence : record.sequence;
        if (proven > *last)
            *last = proven;
    }
    return KITH_OK;
}

/* Adds the records `from` … `to` - 1, which are lost, to the report. `bytes` is the size of the damaged range of the
 * journal in which they were; it bounds the number of their operations. UINT64_MAX: they are in no range of this
 * journal. */
static void report_lost_records(repair *r, uint64_t from, uint64_t to, uint64_t bytes) {
    uint64_t headers = (to - from) * KITHI_RECORD_HEADER_BYTES;
    r->report.records_lost += to - from;
    r->is_exact = false;
    if (bytes == UINT64_MAX || r->report.operations_lost_max == UINT64_MAX)
        r->report.operations_lost_max = UINT64_MAX;
    else
        r->report.operations_lost_max += bytes > headers ? (bytes - headers) / 8 : 0;
}

/* Applies the records that count and are newer than the snapshot. Adds what is lost to the report. */
static kith_status apply_journal(repair *r, kithi_journal *j) {
    uint64_t last, expected = r->mark.sequence + 1, seen = 0, end = KITHI_JOURNAL_HEADER_BYTES, file_bytes;
    kithi_journal_search at = {.offset = KITHI_JOURNAL_HEADER_BYTES};
    kithi_record record;
    kith_status status = find_last(r, j, &last);
    if (status == KITH_OK && j->head.base >= expected) { /* the snapshot is older than the journal */
        report_lost_records(r, expected, j->head.base + 1, UINT64_MAX);
        expected = j->head.base + 1;
    }
    while (status == KITH_OK) {
        bool found;
        uint64_t before = at.offset;
        status = next_newer(j, &at, seen, &record, &found);
        if (status != KITH_OK || !found || record.sequence > last)
            break;
        seen = record.sequence;
        end = at.offset;
        if (seen < expected) /* the snapshot contains it */
            continue;
        uint64_t record_at = at.offset - KITHI_RECORD_HEADER_BYTES - 8 * (uint64_t)record.count;
        if (record.sequence > expected)
            report_lost_records(r, expected, record.sequence, record_at - before);
        expected = record.sequence + 1;
        r->report.records++;
        status = r->is_exact ? kithi_store_replay_record(r->filter, &record, &r->stopped) : apply_inexact(r, &record);
    }
    if (status == KITH_OK && r->files.size(r->files.context, j->file, &file_bytes) != 0)
        status = kithi_status_from_errno(errno);
    if (status != KITH_OK)
        return status;
    r->report.tail_bytes = file_bytes > end ? file_bytes - end : 0;
    /* An interrupted writer does not leave bytes that cannot be read: records in them may be lost. */
    r->tail_unreadable = r->reader.bad_end > end;
    if (expected <= last || r->tail_unreadable)
        report_lost_records(r, expected, last + 1, r->report.tail_bytes);
    return KITH_OK;
}

static kith_status repair_journal(repair *r) {
    kithi_journal j = {.files = &r->files, .file = -1, .window = r->s->window};
    r->reader.counted_end = r->reader.bad_end = 0;
    kith_status status = open_journal(r, &j);
    if (status == KITH_OK && r->report.journal == KITH_JOURNAL_SOUND) {
        status = apply_journal(r, &j);
        if (r->report.records_lost > 0 || r->tail_unreadable)
            r->report.journal = KITH_JOURNAL_DAMAGED;
    }
    if (j.file >= 0)
        r->s->files->close(r->s->files->context, j.file);
    return status;
}

/* ---- result ---- */

static void conclude(kith_repair_report *report, bool is_exact, uint64_t unreadable_bytes) {
    bool records_may_be_lost = report->journal > KITH_JOURNAL_SOUND;
    report->unreadable_bytes = unreadable_bytes;
    report->is_whole = is_exact && !records_may_be_lost && !report->notes_lost;
    report->may_miss_keys = report->keys_at_risk > 0 || records_may_be_lost || report->adds_refused > 0;
}

static kith_status finish(repair *r) {
    kithi_after_fill(r->filter, false);
    if (!r->is_exact)
        kithi_filter_recount(r->filter);
    return kithi_filter_check(r->filter) == NULL ? KITH_OK : KITH_E_CORRUPT;
}

kith_status kithi_repair_store(kithi_store *s, uint64_t budget, const kith_allocator *allocator,
                               kith_repair_report *report, kith_filter **filter) {
    assert(report != NULL && filter != NULL);
    if (!kithi_struct_valid(report, sizeof *report))
        return KITH_E_STRUCT;
    repair r = {.s = s, .allocator = allocator, .budget = budget, .reader = {.inner = s->files}};
    r.files = (kithi_files){
        .context = &r.reader, .read = read_past_errors, .size = inner_size, .size_limit = inner_size_limit};
    kith_status status = repair_file(&r);
    if (status == KITH_OK && r.mark.is_store)
        status = repair_journal(&r);
    if (status == KITH_OK)
        status = finish(&r);
    if (status != KITH_OK) {
        kith_filter_free(r.filter);
        return status;
    }
    conclude(&r.report, r.is_exact, r.reader.unreadable_bytes);
    kithi_struct_write(report, &r.report);
    *filter = r.filter;
    return KITH_OK;
}

kith_status kithi_repair_with(const kithi_files *files, const char *path, uint64_t budget, const kith_allocator *given,
                              kith_repair_report *report, kith_filter **filter) {
    assert(path != NULL && report != NULL && filter != NULL);
    if (!kithi_struct_valid(report, sizeof *report))
        return KITH_E_STRUCT;
    kith_allocator allocator = kithi_allocator_or_default(given);
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    options.allocator = &allocator;
    kithi_store *s;
    kith_status status = kithi_store_new(files, path, &options, &s);
    if (status != KITH_OK)
        return status;
    status = kithi_repair_store(s, budget, &allocator, report, filter);
    kithi_store_free(s);
    return status;
}

kith_status kith_repair(const char *path, const kith_allocator *allocator, kith_repair_report *report,
                        kith_filter **filter) {
    return kithi_repair_with(&kithi_files_system, path, KITHI_SALVAGE_BUDGET, allocator, report, filter);
}
