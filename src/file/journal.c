/* Reads and writes the records of a journal.
 *
 *     offset    header of the journal           record
 *     0         signature                       checksum of the rest of the record, XOR the checksum of the journal's
 *                                               header
 *     8         version, header bytes, 0        checksum of the previous record (for the first record, of the journal's
 *                                               header)
 *     16        store id                        sequence number
 *     24                                        highest sequence number that was synced when this record was written
 *     32        generation                      u8 type, u8 flags, u16 0, u32 number of digests
 *     40        base                            digests
 *     48        0
 *     56        checksum of the bytes before
 *
 * A crash can leave anything after the last sync: missing bytes, zeros, half a record, and even a whole record after a
 * damaged one, because the system writes pages in any order. None of that was acknowledged as durable, so a writer cuts
 * it off. Damage to a record that had been synced looks the same at first. The records after it show the difference:
 * each says up to which sequence number the journal had been synced when it was written. If one of them says that the
 * damaged record was synced, cutting that record off would lose acknowledged keys, and the result is KITH_E_CORRUPT.
 *
 * The checksum of the journal's header is part of every record's checksum. So records of another journal, which may be
 * left in disk blocks that the file system reuses, are not valid in this one. Each record also contains the checksum of
 * its predecessor. So a reader that has followed the journal up to some record can tell whether the writer has since
 * cut that record off and written another in its place. */
#include "file/journal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "os/errno_status.h"

static const uint8_t SIGNATURE[8] = {0x8b, 'K', 'J', 'N', 'L', '\r', '\n', 0x1a};
enum { JOURNAL_VERSION = 1 };

/* Where the fields of the header are. AT_ZERO_12 and AT_ZERO_48 are reserved bytes, which are 0. */
enum {
    AT_VERSION = 8,
    AT_HEADER_BYTES = 10,
    AT_ZERO_12 = 12,
    AT_ID = 16,
    AT_GENERATION = 32,
    AT_BASE = 40,
    AT_ZERO_48 = 48,
    AT_HEADER_CHECKSUM = 56,
};

/* Where the fields of a record are. AT_ZERO_34 is reserved, as above. */
enum {
    AT_CHECKSUM = 0,
    AT_PREVIOUS = 8,
    AT_SEQUENCE = 16,
    AT_SYNCED = 24,
    AT_TYPE = 32,
    AT_FLAGS = 33,
    AT_ZERO_34 = 34,
    AT_COUNT = 36,
};

/* ---- header ---- */

void kithi_journal_head_write(uint8_t bytes[KITHI_JOURNAL_HEADER_BYTES], const kithi_journal_head *head) {
    memset(bytes, 0, KITHI_JOURNAL_HEADER_BYTES);
    memcpy(bytes, SIGNATURE, sizeof SIGNATURE);
    kithi_store16(bytes + AT_VERSION, JOURNAL_VERSION);
    kithi_store16(bytes + AT_HEADER_BYTES, KITHI_JOURNAL_HEADER_BYTES);
    memcpy(bytes + AT_ID, head->id, sizeof head->id);
    kithi_store64(bytes + AT_GENERATION, head->generation);
    kithi_store64(bytes + AT_BASE, head->base);
    kithi_store64(bytes + AT_HEADER_CHECKSUM, kithi_checksum(bytes, AT_HEADER_CHECKSUM));
}

bool kithi_is_journal(const uint8_t *bytes, size_t byte_count) {
    return byte_count >= sizeof SIGNATURE && memcmp(bytes, SIGNATURE, sizeof SIGNATURE) == 0;
}

kith_status kithi_journal_open(kithi_journal *j) {
    uint8_t bytes[KITHI_JOURNAL_HEADER_BYTES];
    size_t got;
    kith_status status = kithi_files_read(j->files, j->file, bytes, sizeof bytes, 0, &got);
    return status == KITH_OK ? kithi_journal_use_header(j, bytes, got) : status;
}

kith_status kithi_journal_use_header(kithi_journal *j, const uint8_t *bytes, size_t byte_count) {
    if (!kithi_is_journal(bytes, byte_count))
        return KITH_E_JOURNAL_FOREIGN;
    if (byte_count < KITHI_JOURNAL_HEADER_BYTES)
        return KITH_E_CORRUPT;
    if (kithi_load16(bytes + AT_VERSION) != JOURNAL_VERSION)
        return KITH_E_VERSION;
    uint64_t checksum = kithi_load64(bytes + AT_HEADER_CHECKSUM);
    if (checksum != kithi_checksum(bytes, AT_HEADER_CHECKSUM) ||
        kithi_load16(bytes + AT_HEADER_BYTES) != KITHI_JOURNAL_HEADER_BYTES || kithi_load32(bytes + AT_ZERO_12) != 0 ||
        kithi_load64(bytes + AT_ZERO_48) != 0)
        return KITH_E_CORRUPT;
    memcpy(j->head.id, bytes + AT_ID, sizeof j->head.id);
    j->head.generation = kithi_load64(bytes + AT_GENERATION);
    j->head.base = kithi_load64(bytes + AT_BASE);
    if (j->head.base > KITHI_SEQUENCE_MAX)
        return KITH_E_CORRUPT;
    j->start = (kithi_position){KITHI_JOURNAL_HEADER_BYTES, j->head.base, checksum, AT_HEADER_CHECKSUM};
    j->size_limit = j->files->size_limit(j->files->context);
    kithi_journal_forget(j);
    return KITH_OK;
}

/* ---- reading ---- */

void kithi_journal_forget(kithi_journal *j) {
    j->window_filled = 0;
}

/* Sets *bytes to the bytes of the file from `offset` on, in the window. Sets *available to the number of these bytes,
 * which is at least `wanted` unless the file ends before. */
static kith_status look_at(kithi_journal *j, uint64_t offset, size_t wanted, const uint8_t **bytes, size_t *available) {
    if (offset < j->window_at || offset - j->window_at > j->window_filled ||
        j->window_filled - (offset - j->window_at) < wanted) {
        j->window_filled = 0;
        j->window_at = offset;
        kith_status status =
            kithi_files_read(j->files, j->file, j->window, KITHI_JOURNAL_WINDOW_BYTES, offset, &j->window_filled);
        if (status != KITH_OK) {
            j->window_filled = 0;
            return status;
        }
    }
    *bytes = j->window + (offset - j->window_at);
    *available = j->window_filled - (size_t)(offset - j->window_at);
    return KITH_OK;
}

/* Decodes the header of a record, whose checksum is not verified yet. Returns false if no valid record begins like
 * this. */
static bool decode(const uint8_t *bytes, kithi_record *r) {
    *r = (kithi_record){
        .type = (kithi_record_type)bytes[AT_TYPE],
        .flags = bytes[AT_FLAGS],
        .checksum = kithi_load64(bytes + AT_CHECKSUM),
        .previous_checksum = kithi_load64(bytes + AT_PREVIOUS),
        .sequence = kithi_load64(bytes + AT_SEQUENCE),
        .synced_sequence = kithi_load64(bytes + AT_SYNCED),
        .count = kithi_load32(bytes + AT_COUNT),
        .digests = bytes + KITHI_RECORD_HEADER_BYTES,
    };
    if (kithi_load16(bytes + AT_ZERO_34) != 0 || r->synced_sequence >= r->sequence ||
        r->count > KITHI_RECORD_DIGESTS_MAX)
        return false;
    if (r->type == KITHI_RECORD_COMMIT)
        return r->flags == 0 && r->count == 0;
    return (r->type == KITHI_RECORD_ADD || r->type == KITHI_RECORD_REMOVE) &&
           r->flags <= (KITHI_RECORD_OPEN | KITHI_RECORD_CONTINUES) && r->count > 0;
}

static size_t record_bytes(size_t count) {
    return KITHI_RECORD_HEADER_BYTES + 8 * count;
}

static uint64_t record_checksum(const kithi_journal *j, const uint8_t *bytes, size_t byte_count) {
    return kithi_checksum(bytes + AT_PREVIOUS, byte_count - AT_PREVIOUS) ^ j->start.previous_checksum;
}

/* Sets *found to whether a valid record begins at `offset`. *hashed, if not NULL, is increased by the number of bytes
 * that were hashed for this. */
static kith_status read_record(kithi_journal *j, uint64_t offset, kithi_record *r, bool *found, uint64_t *hashed) {
    const uint8_t *bytes;
    size_t available;
    *found = false;
    kith_status status = look_at(j, offset, KITHI_RECORD_HEADER_BYTES, &bytes, &available);
    if (status != KITH_OK || available < KITHI_RECORD_HEADER_BYTES || !decode(bytes, r))
        return status;
    size_t byte_count = record_bytes(r->count);
    status = look_at(j, offset, byte_count, &bytes, &available);
    if (status != KITH_OK || available < byte_count)
        return status;
    r->digests = bytes + KITHI_RECORD_HEADER_BYTES;
    *found = r->checksum == record_checksum(j, bytes, byte_count);
    if (hashed != NULL)
        *hashed += byte_count;
    return KITH_OK;
}

kith_status kithi_journal_next(kithi_journal *j, kithi_position *at, kithi_record *r, bool *found) {
    kith_status status = read_record(j, at->offset, r, found, NULL);
    *found = *found && r->sequence == at->sequence + 1 && r->previous_checksum == at->previous_checksum;
    if (status == KITH_OK && *found)
        *at = (kithi_position){at->offset + record_bytes(r->count), r->sequence, r->checksum, at->offset};
    return status;
}

/* The size of every record is a multiple of 8 bytes, so only every eighth offset is tried.
 *
 * Where a large record seems to begin, the search must hash 64 KiB. In a forged file this could happen at every offset,
 * so the search gives up after hashing about 16 times the size of the file. What a crash leaves behind needs no more
 * hashing than the file has bytes, except by chance. */
kith_status kithi_journal_find(kithi_journal *j, kithi_journal_search *search, kithi_record *r, bool *found) {
    uint64_t file_bytes;
    *found = false;
    if (j->files->size(j->files->context, j->file, &file_bytes) != 0)
        return kithi_status_from_errno(errno);
    for (; search->offset < file_bytes; search->offset += 8) {
        kith_status status = read_record(j, search->offset, r, found, &search->hashed);
        if (status != KITH_OK)
            return status;
        if (*found) {
            search->offset += record_bytes(r->count);
            return KITH_OK;
        }
        if (search->hashed > 16 * (file_bytes + KITHI_JOURNAL_RECORD_BYTES_MAX))
            return KITH_E_CORRUPT;
    }
    return KITH_OK;
}

/* Called if no record is in place at `at`. Returns KITH_E_CORRUPT if a later record says that there was one and that it
 * was synced, or if the search for such a later record would take too long (kithi_journal_find). */
static kith_status look_for_proof(kithi_journal *j, const kithi_position *at) {
    kithi_journal_search search = {.offset = at->offset};
    for (;;) {
        kithi_record r;
        bool found;
        kith_status status = kithi_journal_find(j, &search, &r, &found);
        if (status != KITH_OK || !found)
            return status;
        if (r.sequence > at->sequence + 1 && r.synced_sequence > at->sequence)
            return KITH_E_CORRUPT;
    }
}

kith_status kithi_journal_still_has(kithi_journal *j, const kithi_position *at, bool *same) {
    uint64_t file_bytes;
    uint8_t checksum[8];
    size_t got;
    *same = false;
    if (j->files->size(j->files->context, j->file, &file_bytes) != 0)
        return kithi_status_from_errno(errno);
    kith_status status = kithi_files_read(j->files, j->file, checksum, sizeof checksum, at->previous_checksum_at, &got);
    *same = status == KITH_OK && file_bytes >= at->offset && got == sizeof checksum &&
            kithi_load64(checksum) == at->previous_checksum;
    return status;
}

/* Called if no record was in place at *at and look_for_proof() has returned KITH_E_CORRUPT. Nearly always, a later
 * record then proves that a record at *at was synced. Either that record is damaged, or it was read too early: a writer
 * may append records while a reader reads them, and one read may even return a later record and not yet the one before
 * it. But the record at *at was synced before the later one was written, so it must be complete now. So this reads it
 * again, like kithi_journal_next(). Returns KITH_E_CORRUPT if it is damaged, or KITH_E_CANCELLED if the writer has cut
 * off the record before *at. */
static kith_status read_again(kithi_journal *j, kithi_position *at, kithi_record *r) {
    bool found, same;
    kithi_journal_forget(j);
    kith_status status = kithi_journal_next(j, at, r, &found);
    if (status != KITH_OK || found)
        return status;
    status = kithi_journal_still_has(j, at, &same);
    return status != KITH_OK ? status : same ? KITH_E_CORRUPT : KITH_E_CANCELLED;
}

kith_status kithi_journal_scan(kithi_journal *j, kithi_position *at, uint64_t *synced_sequence) {
    kithi_position here = *at, committed = *at;
    for (;;) {
        kithi_record r;
        bool found;
        kith_status status = kithi_journal_next(j, &here, &r, &found);
        if (status == KITH_OK && !found) {
            status = look_for_proof(j, &here);
            if (status == KITH_OK)
                break;
            if (status == KITH_E_CORRUPT)
                status = read_again(j, &here, &r);
        }
        if (status != KITH_OK)
            return status;
        if ((r.flags & KITHI_RECORD_OPEN) == 0) {
            committed = here;
            *synced_sequence = r.synced_sequence;
        }
    }
    *at = committed;
    return KITH_OK;
}

/* ---- writing ---- */

kith_status kithi_journal_rewrite(kithi_journal *j, uint64_t from, uint64_t to) {
    kith_status status = KITH_OK;
    kithi_journal_forget(j);
    while (from < to && status == KITH_OK) {
        size_t wanted = to - from < KITHI_JOURNAL_WINDOW_BYTES ? (size_t)(to - from) : KITHI_JOURNAL_WINDOW_BYTES, got;
        status = kithi_files_read(j->files, j->file, j->window, wanted, from, &got);
        if (status == KITH_OK && got < wanted)
            status = kithi_status_with_errno(EIO);
        if (status == KITH_OK)
            status = kithi_files_write(j->files, j->file, j->window, got, from);
        from += got;
    }
    return status;
}

kith_status kithi_journal_append(kithi_journal *j, kithi_position *at, uint64_t synced_sequence, kithi_record_type type,
                                 unsigned flags, const uint64_t *digests, size_t count) {
    assert(count <= KITHI_RECORD_DIGESTS_MAX && synced_sequence <= at->sequence);
    uint8_t *bytes = j->window;
    size_t byte_count = record_bytes(count);
    if (byte_count > j->size_limit || at->offset > j->size_limit - byte_count)
        return kithi_status_with_errno(EFBIG);
    kithi_journal_forget(j);
    kithi_store64(bytes + AT_PREVIOUS, at->previous_checksum);
    kithi_store64(bytes + AT_SEQUENCE, at->sequence + 1);
    kithi_store64(bytes + AT_SYNCED, synced_sequence);
    bytes[AT_TYPE] = (uint8_t)type;
    bytes[AT_FLAGS] = (uint8_t)flags;
    kithi_store16(bytes + AT_ZERO_34, 0);
    kithi_store32(bytes + AT_COUNT, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        kithi_store64(bytes + KITHI_RECORD_HEADER_BYTES + 8 * i, digests[i]);
    uint64_t checksum = record_checksum(j, bytes, byte_count);
    kithi_store64(bytes + AT_CHECKSUM, checksum);
    kith_status status = kithi_files_write(j->files, j->file, bytes, byte_count, at->offset);
    if (status == KITH_OK)
        *at = (kithi_position){at->offset + byte_count, at->sequence + 1, checksum, at->offset};
    return status;
}
