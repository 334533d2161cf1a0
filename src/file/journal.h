/* file/journal.h: the journal of a store, a file of checksummed records. docs/format.md is the specification.
 *
 *     0        64
 *     | header | record | record | …
 *
 *     header   signature, version, store id, generation, base (sequence number before the first record), checksum
 *     record   checksum, checksum of the previous record, sequence number, highest sequence number that was already
 *              synced, type, flags, number of digests; then the digests
 *
 * A record is valid if its checksum is correct and its fields have allowed values. A valid record is in place if it is
 * also the successor of the record before it: its sequence number is the next one, and it contains the checksum of that
 * record. */
#ifndef KITHI_STORE_JOURNAL_H
#define KITHI_STORE_JOURNAL_H

#include "core/alloc.h"
#include "format/format.h"
#include "os/files.h"

#define KITHI_JOURNAL_HEADER_BYTES 64
#define KITHI_RECORD_HEADER_BYTES 40
#define KITHI_RECORD_DIGESTS_MAX 8192 /* 64 KiB: a bound for the memory and the time that a forged record can cost */
#define KITHI_JOURNAL_RECORD_BYTES_MAX (KITHI_RECORD_HEADER_BYTES + 8 * KITHI_RECORD_DIGESTS_MAX)
#define KITHI_JOURNAL_WINDOW_BYTES (4 * (size_t)KITHI_JOURNAL_RECORD_BYTES_MAX) /* must hold at least one record */

typedef struct kithi_journal_head {
    uint8_t id[KITHI_STORE_ID_BYTES];
    uint64_t generation; /* number of this journal among all that the store has had, from 1 */
    uint64_t base;       /* sequence number before the first record */
} kithi_journal_head;

typedef enum kithi_record_type {
    KITHI_RECORD_ADD = 1,
    KITHI_RECORD_REMOVE = 2,
    KITHI_RECORD_COMMIT = 3, /* ends a batch; has no digests */
} kithi_record_type;

typedef enum kithi_record_flags {
    KITHI_RECORD_OPEN = 1 << 0,      /* part of a batch: applied only if a later record without this flag ends it */
    KITHI_RECORD_CONTINUES = 1 << 1, /* of the same call as the record before: see kithi_store_replay_record() */
} kithi_record_flags;

typedef struct kithi_record {
    kithi_record_type type;
    unsigned flags;
    uint64_t checksum;
    uint64_t previous_checksum; /* of the record before; in the first record, of the journal's header */
    uint64_t sequence;
    uint64_t synced_sequence; /* highest sequence number that was synced when this record was written */
    size_t count;             /* number of digests */
    const uint8_t *digests;   /* 8 bytes each, little-endian; in the window of the journal */
} kithi_record;

/* A place between two records. */
typedef struct kithi_position {
    uint64_t offset;               /* in the file */
    uint64_t sequence;             /* of the record before this place, or the base */
    uint64_t previous_checksum;    /* of the record before this place, or of the journal's header */
    uint64_t previous_checksum_at; /* where in the file that checksum is */
} kithi_position;

typedef struct kithi_journal {
    const kithi_files *files;
    int file;
    kithi_journal_head head;
    kithi_position start; /* after the header, so start.previous_checksum is the checksum of the header */
    uint64_t size_limit;  /* the file must not become larger */
    uint8_t *window;      /* KITHI_JOURNAL_WINDOW_BYTES of memory for reading and writing */
    uint64_t window_at;   /* bytes window_at … window_at + window_filled - 1 of the file are in the window */
    size_t window_filled;
} kithi_journal;

/* Writes the header of a journal to `bytes`. */
void kithi_journal_head_write(uint8_t bytes[KITHI_JOURNAL_HEADER_BYTES], const kithi_journal_head *head);

/* Returns true if a file that begins with these bytes is a journal, of whatever version and condition. */
bool kithi_is_journal(const uint8_t *bytes, size_t byte_count);

/* Reads and verifies the header of j->file, and sets j->head, j->start and j->size_limit. The caller has set `files`,
 * `file` and `window`. Fails with KITH_E_JOURNAL_FOREIGN if the file is not a journal, with KITH_E_VERSION or
 * KITH_E_CORRUPT, and if the file cannot be read. */
kith_status kithi_journal_open(kithi_journal *j);

/* The same with the header in `bytes`, whatever the header of the file is; the file is not read. */
kith_status kithi_journal_use_header(kithi_journal *j, const uint8_t *bytes, size_t byte_count);

/* Empties the window, because the file may have changed. */
void kithi_journal_forget(kithi_journal *j);

/* Reads the record at *at. If it is valid and in place, sets *found and *record, whose digests stay valid until the
 * next call, and moves *at past it. Otherwise *found is false. Fails only if the file cannot be read. */
kith_status kithi_journal_next(kithi_journal *j, kithi_position *at, kithi_record *record, bool *found);

/* A search for valid records, in place or not. Initialise with the offset at which it begins, a multiple of 8. */
typedef struct kithi_journal_search {
    uint64_t offset;
    uint64_t hashed; /* bytes that were hashed so far */
} kithi_journal_search;

/* Finds the next valid record, and moves search->offset past it. *found is false if there is none. The digests stay
 * valid until the next call. Returns KITH_E_CORRUPT if the search would take too long, and fails if the file cannot be
 * read. */
kith_status kithi_journal_find(kithi_journal *j, kithi_journal_search *search, kithi_record *record, bool *found);

/* Reads the journal from *at on, and moves *at to the end of the last complete batch (a record outside of a batch
 * counts as one). Sets *synced_sequence to that of the last record before the new *at. If there is no complete batch,
 * *at and *synced_sequence are unchanged. What follows the new *at was never acknowledged as durable, and a writer may
 * cut it off. Returns
 *   KITH_E_CORRUPT    a record is damaged, and a later record says that it had been synced; or the search for such a
 *                     later record would take too long
 *   KITH_E_CANCELLED  the writer has meanwhile cut off records that were read here
 * and fails if the file cannot be read. */
kith_status kithi_journal_scan(kithi_journal *j, kithi_position *at, uint64_t *synced_sequence);

/* Reads the bytes from offset `from` up to `to`, and writes them again unchanged: kithi_store_recover() says why. */
kith_status kithi_journal_rewrite(kithi_journal *j, uint64_t from, uint64_t to);

/* Sets *same to whether the file still has the record (or header) that ended at *at when *at was set. */
kith_status kithi_journal_still_has(kithi_journal *j, const kithi_position *at, bool *same);

/* Writes a record of up to KITHI_RECORD_DIGESTS_MAX digests at *at, and moves *at past it. `synced_sequence` is the
 * highest sequence number that is synced. On failure *at is unchanged, but some bytes may have been written. */
kith_status kithi_journal_append(kithi_journal *j, kithi_position *at, uint64_t synced_sequence, kithi_record_type type,
                                 unsigned flags, const uint64_t *digests, size_t count);

#endif
