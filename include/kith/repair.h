/* kith/repair.h: saves what can be saved of a damaged filter file or store.
 *
 *     kith_repair_report report = KITH_REPAIR_REPORT_INIT;
 *     kith_filter *filter;
 *     if (kith_repair("damaged.kith", NULL, &report, &filter) == KITH_OK)
 *         status = kith_filter_save(filter, "repaired.kith"); // report says what is missing in it
 *
 * The file has a checksum for each page of 64 KiB of the filter's body, so it is known which pages are damaged.
 *
 *   restored exactly   A header with one wrong byte, a page that had only zeros, and a page with one flipped bit. Also
 *                      wrong checksums of sound pages: where a page and its checksum disagree, the header, which has a
 *                      checksum of all checksums, shows which of the two is wrong. This is tried for at most ten pages;
 *                      if more disagree, all of them count as damaged. The search for a flipped bit is slow, so it ends
 *                      after the time that four whole pages take. (The last page of a body or of a layer may be
 *                      shorter. A search of n bytes takes (n / 65,536)^2 of the time of a whole page.) A page that had
 *                      only zeros is recognised without a search
 *   Bloom kinds        Every cell (bit or counter) of a damaged page is set to its largest value. No key is lost, but
 *                      there are more false positives: kith_filter_stats.rate_now. Keys can be added only if the
 *                      filter is not too full because of this. If all pages are damaged, nothing can be saved
 *   cuckoo kinds       The bytes of a damaged page are kept. A key whose entry has a wrong byte is no longer found; the
 *                      other keys of the page usually still are. (If wrong bytes look like more entries than the
 *                      capacity allows, some entries of damaged pages are cleared.) keys_at_risk bounds the number of
 *                      keys that are lost
 *   static kinds       A damaged page is kept as it is. A key is found only if all bits that its lookup reads are
 *                      intact; keys_at_risk is the number of all keys. Build the filter again, if you have the keys
 *   layers             Each layer is repaired as a filter of its kind. A layer of which nothing can be saved becomes
 *                      empty
 *
 * Of a store, the valid records of the journal are applied, including those after a damaged one. Missing records are
 * counted. The keys that they added may be lost. Once keys may be missing, removals are not repeated: to remove a key
 * that is not there could remove another key. So the keys of these removals are still found. */
#ifndef KITH_REPAIR_H
#define KITH_REPAIR_H

#include <kith/file.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kith_repair_journal {
    KITH_JOURNAL_NONE = 0,       /* a plain file has no journal */
    KITH_JOURNAL_SOUND = 1,      /* all records were applied; the header may have been restored */
    KITH_JOURNAL_DAMAGED = 2,    /* some records are missing (records_lost), or its end could not be read */
    KITH_JOURNAL_MISSING = 3,    /* there is no file FILE-journal. All operations since the last checkpoint are lost */
    KITH_JOURNAL_FOREIGN = 4,    /* FILE-journal belongs to another store, or is not a journal; it was not used */
    KITH_JOURNAL_UNREADABLE = 5, /* its header is damaged beyond repair, or of an unknown version; it was not used */
} kith_repair_journal;

/* What kith_repair() has found and done. A program that was compiled with an older header has a smaller struct_bytes;
 * it is accepted, and only its fields are written. */
typedef struct kith_repair_report {
    size_t struct_bytes;          /* sizeof(kith_repair_report): set by KITH_REPAIR_REPORT_INIT */
    bool is_store;                /* the file is the snapshot of a store */
    bool is_whole;                /* nothing is lost: the result is what was there before the damage */
    bool may_miss_keys;           /* some keys may no longer be found: there may be false negatives */
    bool header_restored;         /* one byte of the file's header was wrong, and was restored */
    bool checksums_restored;      /* checksums of the file were wrong, and were restored */
    bool notes_lost;              /* the notes of the file were damaged, and are removed */
    uint64_t missing_bytes;       /* number of bytes by which the file is too short */
    uint64_t extra_bytes;         /* number of bytes after the end of the filter, which were ignored */
    uint64_t unreadable_bytes;    /* number of bytes that could not be read from file and journal (input/output error);
                                     they count as damaged */
    uint64_t pages;               /* number of pages of the body */
    uint64_t pages_damaged;       /* number of damaged pages */
    uint64_t pages_restored;      /* number of damaged pages that have their old content again */
    uint64_t pages_unsure;        /* number of pages whose checksum is lost; they are kept, and may be damaged */
    uint64_t keys_at_risk;        /* because of damaged pages at most this many keys are lost. UINT64_MAX: not known */
    kith_repair_journal journal;  /* what was found out about the journal */
    bool journal_header_restored; /* the journal's header was damaged, and was restored */
    uint64_t records;             /* number of journal records that were applied */
    uint64_t records_lost;        /* number of journal records that are damaged or missing, and not in the snapshot */
    uint64_t operations_lost_max; /* the lost records, with those in an end of the journal that could not be read, have
                                     at most this many operations. UINT64_MAX: not known */
    uint64_t tail_bytes;          /* number of bytes at the end of the journal that were ignored: damaged or incomplete
                                     records, or records of a batch that was not committed. Nothing proves that they
                                     were ever acknowledged as durable: an interrupted writer leaves such bytes. But if
                                     some of them could not be read, the journal counts as damaged */
    uint64_t adds_refused;        /* number of adds of the journal that did not fit, and whose keys are not found; some
                                     may have failed before the damage, too */
    uint64_t removals_skipped;    /* number of removals of the journal that were not repeated */
} kith_repair_report;

#define KITH_REPAIR_REPORT_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(kith_repair_report), false, false, false, false, false, false, 0, 0, 0, 0, 0, 0, 0, 0,                  \
            KITH_JOURNAL_NONE, false, 0, 0, 0, 0, 0, 0                                                                 \
    }

/* Reads the file at `path`, and FILE-journal if it is a store, and makes a filter of what can be saved. The filter is
 * in memory, can be changed, and is not the snapshot of a store. No file is changed. A file that is not damaged gives
 * the filter that kith_filter_open() or kith_file_open() gives.
 *
 * The store must not be open for writing while it is read. This call takes no lock, because that is impossible on a
 * disk that is mounted read-only, as broken disks often are.
 *
 * Returns KITH_OK, which does not mean that nothing is lost (read the report, above all is_whole and may_miss_keys), or
 *   KITH_E_CORRUPT    nothing can be saved: more than one byte of the header is wrong, or every page is damaged (Bloom
 *                     kinds, and layers of them), or what remains is not valid
 *   KITH_E_TRUNCATED  less than a quarter of the file is there
 *   KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_VERSION, KITH_E_KIND
 *   KITH_E_MEMORY     out of memory. (A file of the wrong size is in memory twice for a short time)
 *   KITH_E_STRUCT     report->struct_bytes is not valid
 *   KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_IO   the file, or the journal of a store, cannot be opened. (If there is
 *                     no journal, the result is KITH_OK, and report->journal says so)
 *
 * Cost: reads the file once. The search for a flipped bit takes about three seconds for each of up to four pages. */
KITH_API KITH_MUST_USE kith_status kith_repair(const char *path, const kith_allocator *allocator,
                                               kith_repair_report *report, kith_filter **filter);

/* The same for a file that was opened with KITH_FILE_REPLACE, which does not read it. To write the result to the file
 * itself, pass it to kith_file_replace(), and commit. With KITH_FILE_LOCK_IF_THERE, the file may be on a disk that is
 * mounted read-only. KITH_E_UNSUPPORTED: the file is a stream. */
KITH_API KITH_MUST_USE kith_status kith_file_repair(kith_file *file, kith_repair_report *report, kith_filter **filter);

#ifdef __cplusplus
}
#endif
#endif
