/* input/chunk.c: splits chunks of bytes into records.
 *
 *     bytes    | carried | read …                                  | free |
 *                ^line 1     ^line 2      ^line 3      ^incomplete line
 *     keys     |         | key 1      | key 2      |                          same offsets as the lines
 *     records  | 1 | 2 | 3 | … RECORDS_MAX
 *
 * Lines are not copied: a record points to the bytes where read(2) stored them. Only what follows the last complete
 * record, usually the beginning of a line, is carried over to the next chunk. Keys that must be rewritten (input/key.c)
 * are stored at the offset of their line in `keys`. They are never longer than their line, so they do not overlap.
 *
 * A chunk that does not contain the end of a record grows by half until it does. Records point into a chunk, so only a
 * chunk without records may be moved. When its records were used, it shrinks to CHUNK_BYTES again. If only the digest
 * of such a record is needed, the chunk does not grow: the record is hashed as it is read (input/stream.h).
 *
 * CSV. A record ends at the first end of a line at which no quote is open, so a chunk that contains only the beginning
 * of a record of several lines grows like one with a long line. A quote that is never closed would read the rest of the
 * file into memory. Therefore a record is bad if its quote is still open after RECORD_MAX bytes or at the end of the
 * file, or if a closing quote is followed by more of the field. skip_bad skips the first line of a bad record, which
 * probably contains the wrong quote, and continues with the next line. All lines of the bad record ended with an open
 * quote, so a search that starts with an open quote in any of them would end in the same way: `broken_until` records
 * this, and no byte is searched more than twice.
 *
 * CR. As long as it is undecided whether a CR before the newline belongs to the key, the first line with one is
 * searched for; it is an error, or a note that ends the search. Plain lines are split first. Then one memchr for CR
 * over their bytes, at about 20 GB/s, usually finds nothing. Only if it does are the ends of the records examined.
 * Those of long lines are examined at once, because that is faster.
 *
 * NUL. The search for newlines in plain lines also finds out whether there is a NUL, for one more instruction per 16
 * bytes. Otherwise input/source.c looks for NULs.
 *
 * A chunk can store one note about a byte order mark, so a chunk with one ends before the next file is opened.
 *
 * CHUNK_BYTES: a chunk, its records and the work of the next stage should stay in the cache of a core (1 to 2 MiB).
 * With 256 KiB, the cost of a system call and of passing a chunk on, a few microseconds, is small compared with reading
 * and splitting it, about a hundred. RECORDS_MAX corresponds to 16 bytes per line. Files with shorter lines carry over
 * bytes that were not split, so a file of empty lines needs no more memory than others. RECORD_MAX is far more than a
 * CSV record usually has, and all chunks of that size are still small compared with the memory of a machine. */
#include "cli/input/chunk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "cli/input/key.h"
#include "cli/input/stream.h"
#include "cli/values.h"

#ifndef CHUNK_BYTES /* the fuzz target of the readers uses small chunks */
#define CHUNK_BYTES INPUT_RECORD_BYTES
#define RECORDS_MAX ((size_t)16 << 10)
#define RECORD_MAX ((size_t)4 << 20)
#endif
#define BEGINNING_BYTES (CHUNK_BYTES / 1024) /* of a record that is longer than a chunk, for messages */
#define LINE_BYTES_LONG 128

static size_t less(size_t offset, size_t by) {
    return offset > by ? offset - by : 0;
}

/* The same place after the bytes before `at` have been removed. */
static place place_moved(const place *p) {
    return (place){0, p->seen - p->at, p->line - p->at, p->open_lines, less(p->broken_until, p->at)};
}

/* Sets the place to the beginning of a record at `at`. */
static void place_begin(place *p, size_t at) {
    p->at = p->seen = p->line = at;
    p->open_lines = 0;
}

/* Stores an error, after which reading ends. Always returns false. The name is NULL if memory runs out before the first
 * file is opened. */
static bool stop_with(chunk *b, const char *name, uint64_t line, const char *reason) {
    b->error_name = name != NULL ? name : "input";
    b->error_line = line;
    strncpy(b->reason, reason, sizeof b->reason - 1);
    b->reason[sizeof b->reason - 1] = '\0';
    return false;
}

bool chunk_allocate(chunk *b, const input_shape *shape) {
    if (b->own == NULL)
        b->own = malloc(CHUNK_BYTES);
    if (b->own_keys == NULL && key_needs_buffer(shape))
        b->own_keys = malloc(CHUNK_BYTES);
    if (b->typed == NULL && key_is_read(shape))
        b->typed = malloc(RECORDS_MAX * sizeof *b->typed);
    if (b->records == NULL)
        b->records = malloc(RECORDS_MAX * sizeof *b->records);
    if (b->digests == NULL && shape->digest != NULL)
        b->digests = malloc(RECORDS_MAX * sizeof *b->digests);
    if (b->marks == NULL && shape->mark != NULL)
        b->marks = malloc(RECORDS_MAX * sizeof *b->marks);
    return b->own != NULL && (b->own_keys != NULL || !key_needs_buffer(shape)) &&
           (b->typed != NULL || !key_is_read(shape)) && b->records != NULL &&
           (b->digests != NULL || shape->digest == NULL) && (b->marks != NULL || shape->mark == NULL);
}

size_t chunk_memory(const input_shape *shape) {
    size_t per_record = sizeof(input_record) + (shape->digest != NULL ? sizeof(uint64_t) : 0) +
                        (shape->mark != NULL ? sizeof(bool) : 0) + (key_is_read(shape) ? sizeof(key_typed) : 0);
    return CHUNK_BYTES * (key_needs_buffer(shape) ? 2 : 1) + RECORDS_MAX * per_record;
}

size_t chunk_shrink(chunk *b) {
    size_t freed = b->reserved;
    b->reserved = 0;
    region_free(&b->longer);
    region_free(&b->longer_keys);
    b->bytes = b->own;
    b->keys = b->own_keys;
    b->allocated = CHUNK_BYTES;
    return freed;
}

size_t chunk_record_max(const input_shape *shape) {
    uint64_t most = shape->memory / (key_needs_buffer(shape) ? 2 : 1);
    if (shape->memory == 0 || most > SIZE_MAX / 2)
        return SIZE_MAX / 2;
    return most > CHUNK_BYTES ? (size_t)most : CHUNK_BYTES;
}

/* Makes a chunk that has no records as large as `size`. Returns false, with an error, if that is not possible. */
static bool enlarge(chunk *b, const splitter *s, size_t size) {
    bool has_keys = b->own_keys != NULL, is_first = b->reserved == 0;
    size_t more = size * (has_keys ? 2 : 1) - b->reserved;
    if (s->reserve != NULL && !s->reserve(s->reserve_context, more))
        return stop_with(b, s->source.name, s->line + 1, "reading was stopped");
    b->reserved += more;
    if (!region_grow(&b->longer, size) || (has_keys && !region_grow(&b->longer_keys, size)))
        return stop_with(b, s->source.name, s->line + 1, "not enough memory for such a long line");
    if (is_first)
        memcpy(b->longer.bytes, b->own, b->filled);
    b->bytes = b->longer.bytes;
    b->keys = b->longer_keys.bytes;
    b->allocated = size;
    return true;
}

static bool begin(chunk *b, splitter *s, place *p) {
    b->record_count = 0;
    b->skipped = 0;
    b->filled = 0;
    b->streamed = false;
    b->bom_name = b->cr_name = b->nul_name = NULL;
    if (!chunk_allocate(b, s->shape))
        return stop_with(b, s->source.name, 0, "not enough memory");
    (void)chunk_shrink(b);
    if (s->carry_bytes > CHUNK_BYTES && !enlarge(b, s, s->carry_bytes))
        return false;
    if (s->carry_bytes > 0)
        memcpy(b->bytes, s->carry.bytes, s->carry_bytes);
    b->filled = s->carry_bytes;
    *p = s->carry_place;
    return true;
}

static bool carry(chunk *b, splitter *s, const place *p) {
    s->carry_bytes = b->filled - p->at;
    s->carry_place = place_moved(p);
    if (s->carry_bytes == 0)
        return true;
    if (!region_grow(&s->carry, s->carry_bytes))
        return stop_with(b, s->source.name, s->line + 1, "not enough memory for such a long line");
    memcpy(s->carry.bytes, b->bytes + p->at, s->carry_bytes);
    return true;
}

/* Returns the length of a record without the CR at its end, if that is not part of it. In a binary record, it is. */
static size_t without_cr(const chunk *b, const splitter *s, size_t at, size_t line_bytes) {
    bool strips = s->shape->cr == INPUT_CR_STRIP && s->shape->fixed_bytes == 0;
    return line_bytes - (strips && line_bytes > 0 && b->bytes[at + line_bytes - 1] == '\r');
}

#define CR_OPTIONS "--crlf strips it from keys, --no-crlf keeps it"
const char CHUNK_CR_NOTE[] = "the line ends in CR, which is part of its key: " CR_OPTIONS;
const char CHUNK_CR_ALONE[] =
    "has CRs but no newlines, so it is a single line: convert it (tr '\\r' '\\n'), or use --no-crlf";

const char CHUNK_NUL_NOTE[] =
    "the line has a NUL byte, which is kept: use -0 if keys end with NUL; --text accepts NULs without this message";

/* Called if line `line` ends in CR, or, with `line` 0, if the file has CRs instead of newlines. Returns false if
 * reading must end. */
static bool found_cr(chunk *b, splitter *s, uint64_t line) {
    if (s->shape->cr_stops)
        return stop_with(b, s->source.name, line, line == 0 ? CHUNK_CR_ALONE : "the line ends in CR: " CR_OPTIONS);
    s->cr_noted = true;
    b->cr_name = s->source.name;
    b->cr_line = line;
    return true;
}

/* Returns true if lines must be searched for CR. */
static bool cr_matters(const splitter *s) {
    return !s->cr_noted && key_may_have_cr(s->shape);
}

static void note_nul(chunk *b, splitter *s, uint64_t line) {
    if (s->nul_noted)
        return;
    s->nul_noted = true;
    b->nul_name = s->source.name;
    b->nul_line = line;
}

/* Searches the records from `first` on for CR. They are plain lines; the first is line `line` and begins at offset
 * `at`. */
static bool check_crs(chunk *b, splitter *s, size_t first, uint64_t line, size_t at) {
    if (first == b->record_count)
        return true;
    const input_record *last = &b->records[b->record_count - 1];
    size_t end = (size_t)(last->line + last->line_bytes - b->bytes);
    bool are_short = (end - at) / LINE_BYTES_LONG < b->record_count - first;
    if (are_short && memchr(b->bytes + at, '\r', end - at) == NULL)
        return true;
    for (size_t i = first; i < b->record_count; i++) {
        const input_record *r = &b->records[i];
        if (r->line_bytes == 0 || r->line[r->line_bytes - 1] != '\r')
            continue;
        if (s->shape->cr_stops)
            b->record_count = i;
        return found_cr(b, s, line + (i - first));
    }
    return true;
}

typedef char reason_text[SOURCE_REASON_BYTES];

/* Makes the next record of the chunk; keep() then adds it. Returns NULL, or what is wrong with it: a constant, or
 * `reason`. */
static const char *make(chunk *b, const splitter *s, size_t at, size_t line_bytes, reason_text reason) {
    input_record *r = &b->records[b->record_count];
    *r = (input_record){NULL, 0, b->bytes + at, without_cr(b, s, at, line_bytes)};
    const char *wrong = key_of(s->shape, r, b->keys == NULL ? NULL : b->keys + at,
                               b->typed == NULL ? NULL : &b->typed[b->record_count], reason, sizeof(reason_text));
    r->line_bytes = line_bytes;
    return wrong;
}

/* Adds the record that make() made of `lines` lines, or skips it if something is wrong. Returns false if reading must
 * end. */
static bool keep(chunk *b, splitter *s, const char *wrong, uint64_t lines) {
    uint64_t first_line = s->line + 1;
    s->line += lines;
    if (wrong == NULL)
        b->record_count++;
    else if (s->shape->skip_bad)
        b->skipped++;
    else
        return stop_with(b, s->source.name, first_line, wrong);
    return true;
}

#ifdef __SSE2__
/* Returns a mask of the bytes that are the end of a line, and keeps in *lowest the least byte of each column. */
static inline uint64_t ends_of_16(const char *bytes, char end, __m128i *lowest) {
    __m128i part = _mm_loadu_si128((const __m128i *)(const void *)bytes);
    *lowest = _mm_min_epu8(*lowest, part);
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(end)));
}

/* For short lines, one call of memchr per line would dominate the cost. */
static inline uint64_t ends_of_64(const char *bytes, char end, __m128i *lowest) {
    return ends_of_16(bytes, end, lowest) | ends_of_16(bytes + 16, end, lowest) << 16 |
           ends_of_16(bytes + 32, end, lowest) << 32 | ends_of_16(bytes + 48, end, lowest) << 48;
}

/* Makes records of the lines that end within complete groups of 64 bytes from *from on, as long as there is space for
 * 64 more. When it returns, all lines that end before *from have been processed, and *has_nul says whether there is a
 * NUL before *from. */
static input_record *split_by_64(input_record *r, const input_record *full, const char **line, const char **from,
                                 const char *stop, char end, bool *has_nul) {
    __m128i lowest = _mm_set1_epi8(1);
    for (; full - r >= 64 && stop - *from >= 64; *from += 64)
        for (uint64_t ends = ends_of_64(*from, end, &lowest); ends != 0; ends &= ends - 1) {
            const char *found = *from + __builtin_ctzll(ends);
            size_t line_bytes = (size_t)(found - *line);
            *r++ = (input_record){*line, line_bytes, *line, line_bytes};
            *line = found + 1;
        }
    *has_nul = _mm_movemask_epi8(_mm_cmpeq_epi8(lowest, _mm_setzero_si128())) != 0;
    return r;
}
#endif

/* Returns whether there is a NUL in the bytes that were searched for ends of lines. */
static bool split_plain(chunk *b, splitter *s, place *p) {
    const char *line = b->bytes + p->at, *from = b->bytes + p->seen, *stop = b->bytes + b->filled;
    input_record *first = b->records + b->record_count, *r = first, *full = b->records + RECORDS_MAX;
    int end = (unsigned char)s->shape->end;
    bool has_nul = false;
#ifdef __SSE2__
    r = split_by_64(r, full, &line, &from, stop, s->shape->end, &has_nul);
#endif
    const char *rest = from;
    while (r < full) {
        const char *found = from == stop ? NULL : memchr(from, end, (size_t)(stop - from));
        if (found == NULL) {
            from = stop;
            break;
        }
        size_t line_bytes = (size_t)(found - line);
        *r++ = (input_record){line, line_bytes, line, line_bytes};
        line = from = found + 1;
    }
    b->record_count += (size_t)(r - first);
    s->line += (uint64_t)(r - first);
    place_begin(p, (size_t)(line - b->bytes));
    p->seen = (size_t)(from - b->bytes);
    return has_nul || (from > rest && memchr(rest, '\0', (size_t)(from - rest)) != NULL);
}

/* Returns the length from which on a record of several lines is not continued. */
static size_t lines_max(const splitter *s) {
    size_t most = chunk_record_max(s->shape) / 2;
    return most < RECORD_MAX ? most : RECORD_MAX;
}

/* The record at p->at is bad; its latest line ends at `end`. Returns false if reading must end. */
static bool leave_out(chunk *b, splitter *s, place *p, size_t end, key_quotes quotes) {
    reason_text reason;
    value_text most;
    const char *wrong = reason;
    if (quotes == KEY_QUOTES_BROKEN && b->bytes[end - 1] == '\r' && s->shape->cr != INPUT_CR_STRIP)
        wrong = KEY_QUOTE_AND_CR;
    else if (quotes == KEY_QUOTES_BROKEN)
        snprintf(reason, sizeof reason,
                 "a quote is closed only in line %llu, and is followed there by more of its field%s",
                 (unsigned long long)(s->line + 1 + p->open_lines), KEY_NO_QUOTES);
    else if (end - p->at >= RECORD_MAX)
        snprintf(reason, sizeof reason, "a quote is not closed within %zu MiB%s", RECORD_MAX >> 20, KEY_NO_QUOTES);
    else if (end - p->at >= lines_max(s))
        snprintf(reason, sizeof reason, "a quote is not closed within the %s that --memory leaves%s",
                 text_of_size(lines_max(s), most), KEY_NO_QUOTES);
    else
        wrong = KEY_QUOTE_OPEN;
    if (!s->shape->skip_bad)
        return stop_with(b, s->source.name, s->line + 1, wrong);
    b->skipped++;
    s->line++;
    const char *first_end = memchr(b->bytes + p->at, '\n', end - p->at);
    p->broken_until = end;
    place_begin(p, (size_t)(first_end - b->bytes) + 1);
    return true;
}

/* Checks the record from `at` to `end`, which has `lines` lines, for CR. A file without newlines but with CRs probably
 * uses CR as the end of lines, for which --crlf does not help. Returns false if reading must end. */
static bool check_cr(chunk *b, splitter *s, size_t at, size_t end, uint64_t lines, bool file_ends) {
    if (end == at)
        return true;
    if (file_ends && s->line == 0 && lines == 1 && memchr(b->bytes + at, '\r', end - at - 1) != NULL)
        return found_cr(b, s, 0);
    return s->shape->cr != INPUT_CR_UNDECIDED || b->bytes[end - 1] != '\r' || found_cr(b, s, s->line + lines);
}

/* Processes the end of a line: the latest line of the record at p->at ends at `end`. A record is first assumed to have
 * a single line; only if a quote is open at its end is the next line added. Returns false if reading must end. */
static bool end_line(chunk *b, splitter *s, place *p, size_t end, bool file_ends) {
    size_t at = p->at;
    uint64_t lines = p->open_lines + 1;
    bool search_on = key_has_lines(s->shape) && !file_ends && end >= p->broken_until && end - at < lines_max(s);
    reason_text reason;
    const char *wrong = NULL;
    key_quotes quotes = KEY_QUOTES_CLOSED;
    if (lines > 1)
        quotes = key_quotes_of(b->bytes + p->line, without_cr(b, s, p->line, end - p->line), s->shape->delim);
    if (quotes == KEY_QUOTES_CLOSED)
        wrong = make(b, s, at, end - at, reason);
    if (search_on && (quotes == KEY_QUOTES_OPEN || wrong == KEY_QUOTE_OPEN)) {
        p->open_lines++;
        p->line = p->seen = end + 1;
        return true;
    }
    if (quotes != KEY_QUOTES_CLOSED)
        return leave_out(b, s, p, end, quotes);
    place_begin(p, file_ends ? end : end + 1);
    /* A record that ends the tool needs no note in addition to its error. */
    bool fatal = wrong != NULL && !s->shape->skip_bad && !s->shape->cr_stops;
    if (cr_matters(s) && !fatal && !check_cr(b, s, at, end, lines, file_ends))
        return false;
    return keep(b, s, wrong, lines);
}

static bool split_shaped(chunk *b, splitter *s, place *p) {
    while (b->record_count < RECORDS_MAX) {
        const char *from = b->bytes + p->seen;
        const char *found = p->seen == b->filled ? NULL : memchr(from, s->shape->end, b->filled - p->seen);
        if (found == NULL) {
            p->seen = b->filled;
            break;
        }
        if (!end_line(b, s, p, (size_t)(found - b->bytes), false))
            return false;
    }
    return true;
}

static bool split_fixed(chunk *b, splitter *s, place *p) {
    size_t size = s->shape->fixed_bytes;
    while (b->record_count < RECORDS_MAX && b->filled - p->at >= size) {
        size_t at = p->at;
        place_begin(p, at + size);
        reason_text reason;
        if (!keep(b, s, make(b, s, at, size, reason), 1))
            return false;
    }
    return true;
}

/* Called if there is a NUL in the bytes from offset `from` to `end`, for plain lines. The records from `first` on end
 * there, and the first of them is line `line`. Returns false if reading must end. */
static bool check_nuls(chunk *b, splitter *s, size_t first, uint64_t line, size_t from, size_t end) {
    const char *nul = memchr(b->bytes + from, '\0', end - from);
    assert(nul != NULL);
    size_t i = first;
    while (i < b->record_count && b->records[i].line + b->records[i].line_bytes < nul)
        i++;
    line += i - first;
    uint64_t offset = s->source.text_bytes - (uint64_t)(b->bytes + b->filled - nul); /* in the file */
    if (s->shape->nul_stops || offset < SOURCE_HEAD_BYTES) {
        b->record_count = i;
        return stop_with(b, s->source.name, line, SOURCE_NUL_STOPS);
    }
    note_nul(b, s, line);
    return true;
}

static bool split(chunk *b, splitter *s, place *p) {
    if (s->shape->fixed_bytes != 0)
        return split_fixed(b, s, p);
    if (!key_is_line(s->shape))
        return split_shaped(b, s, p);
    size_t first = b->record_count, at = p->at, from = p->seen;
    uint64_t line = s->line + 1;
    if (split_plain(b, s, p) && key_may_have_nul(s->shape) && !check_nuls(b, s, first, line, from, p->seen))
        return false;
    return !cr_matters(s) || check_crs(b, s, first, line, at);
}

/* Processes what is left at the end of a file: a line without a newline, a part of a fixed record, or a CSV record with
 * an open quote. If the first line of such a record is skipped, the other lines are split and this is called again. */
static bool finish_file(chunk *b, splitter *s, place *p) {
    size_t left = b->filled - p->at;
    bool fixed = s->shape->fixed_bytes != 0;
    if (left > 0 && !fixed && !end_line(b, s, p, b->filled, true))
        return false;
    if (!fixed && p->at < b->filled)
        return true;
    source_close(&s->source);
    s->open = false;
    place_begin(p, b->filled);
    if (left == 0 || !fixed)
        return true;
    s->line++;
    b->skipped += s->shape->skip_bad;
    return s->shape->skip_bad || stop_with(b, s->source.name, s->line, "the last record is incomplete");
}

static source_nuls nuls_of(const input_shape *shape) {
    if (!key_may_have_nul(shape))
        return SOURCE_NULS_KEPT;
    return key_is_line(shape) ? SOURCE_NULS_IN_HEAD : shape->nul_stops ? SOURCE_NULS_STOP : SOURCE_NULS_NOTED;
}

/* The number of the line with s->source.nul. The record at p->at begins in line s->line + 1. */
static uint64_t line_of_nul(const chunk *b, const splitter *s, const place *p) {
    uint64_t line = s->line + 1;
    for (const char *at = b->bytes + p->at; (at = memchr(at, '\n', (size_t)(s->source.nul - at))) != NULL; at++)
        line++;
    return line;
}

/* Opens the next file. Returns false if there are no more files, or if it cannot be opened. */
static bool open_next(chunk *b, splitter *s) {
    if (s->path_next == s->path_count) {
        b->last = true;
        return false;
    }
    s->line = 0;
    s->open = true;
    const char *path = s->paths[s->path_next++];
    bool lines = s->shape->fixed_bytes == 0, text = s->shape->text;
    source_rules rules = {.unpack = !text && (lines || unpack_knows_name(path)),
                          .lines = lines,
                          .check = lines && !text,
                          .unpack_memory = s->shape->unpack_memory,
                          .nuls = nuls_of(s->shape),
                          .end = s->shape->end};
    if (source_open(&s->source, path, &rules)) {
        b->bom_name = s->source.had_bom ? s->source.name : NULL;
        return true;
    }
    return stop_with(b, s->source.name, 0, s->source.reason);
}

/* The record at the beginning of the chunk is longer than any may be. Always returns false. */
static bool too_long(chunk *b, const splitter *s) {
    const input_shape *shape = s->shape;
    value_text most;
    reason_text reason;
    snprintf(reason, sizeof reason, "the line is longer than %s, the limit with this --memory: raise --memory%s%s",
             text_of_size(chunk_record_max(shape), most), shape->advice != NULL ? ", or " : "",
             shape->advice != NULL ? shape->advice : "");
    return stop_with(b, s->source.name, s->line + 1, reason);
}

/* Makes free space at the end of a chunk that is full and has no record yet. */
static bool widen(chunk *b, splitter *s, place *p) {
    assert(b->record_count == 0);
    if (p->at > 0) {
        memmove(b->bytes, b->bytes + p->at, b->filled - p->at);
        b->filled -= p->at;
        *p = place_moved(p);
        return true;
    }
    size_t most = chunk_record_max(s->shape), step = b->allocated / 2;
    if (b->allocated >= most)
        return too_long(b, s);
    return enlarge(b, s, most - b->allocated < step ? most : b->allocated + step);
}

/* The streamed record ends, at the end of the file if `file_ends`. Returns false if reading must end. */
static bool keep_streamed(chunk *b, splitter *s, key_stream *k, bool file_ends) {
    bool alone = file_ends && s->line == 0 && k->has_cr; /* see check_cr() */
    if (cr_matters(s) && alone && !found_cr(b, s, 0))
        return false;
    if (cr_matters(s) && !alone && k->ends_in_cr && s->shape->cr == INPUT_CR_UNDECIDED && !found_cr(b, s, s->line + 1))
        return false;
    b->streamed = true;
    b->streamed_digest = key_stream_end(k);
    b->records[b->record_count] = (input_record){b->bytes, BEGINNING_BYTES, b->bytes, BEGINNING_BYTES};
    return keep(b, s, NULL, 1);
}

/* Looks for a NUL in the bytes that were just read to `from`. Plain lines have NULs searched while they are split, so
 * only the `taken` bytes of the streamed line matter. Returns false if reading must end. */
static bool check_streamed_nuls(chunk *b, splitter *s, const char *from, size_t taken) {
    const char *nul = s->source.nul;
    if (key_is_line(s->shape) && key_may_have_nul(s->shape))
        nul = memchr(from, '\0', taken);
    if (nul == NULL)
        return true;
    uint64_t line = s->line + 1;
    for (const char *at = from; (at = memchr(at, '\n', (size_t)(nul - at))) != NULL; at++)
        line++;
    if (s->shape->nul_stops)
        return stop_with(b, s->source.name, line, SOURCE_NUL_STOPS);
    note_nul(b, s, line);
    return true;
}

/* Hashes a record that is longer than the chunk, which has only its beginning. Returns false if the chunk is
 * complete. */
static bool stream_record(chunk *b, splitter *s, place *p) {
    size_t fixed = s->shape->fixed_bytes, most = b->allocated - BEGINNING_BYTES;
    char *from = b->bytes + BEGINNING_BYTES;
    key_stream k;
    key_stream_begin(&k, s->shape);
    key_stream_add(&k, b->bytes, b->filled);
    for (;;) {
        long long got = source_read(&s->source, from, most);
        if (got < 0)
            return stop_with(b, s->source.name, s->source.nul_stopped ? s->line + 1 : 0, s->source.reason);
        size_t n = (size_t)got, left = fixed != 0 ? (size_t)(fixed - k.byte_count) : n;
        const char *end = fixed == 0 && n > 0 ? memchr(from, s->shape->end, n) : NULL;
        size_t taken = end != NULL ? (size_t)(end - from) : n < left ? n : left;
        if (!check_streamed_nuls(b, s, from, taken))
            return false;
        key_stream_add(&k, from, taken);
        b->filled = BEGINNING_BYTES + n;
        if (n == 0 && fixed != 0) /* the rest of an incomplete record, which finish_file() reports */
            return finish_file(b, s, p);
        bool ends = fixed != 0 ? k.byte_count == fixed : end != NULL;
        if (!ends && n > 0)
            continue;
        place_begin(p, BEGINNING_BYTES + taken + (end != NULL));
        return keep_streamed(b, s, &k, n == 0) && (n > 0 || finish_file(b, s, p));
    }
}

/* Reads once. Returns false if the chunk is complete. What follows a long record is no more than a chunk of the usual
 * size, so that the next chunk need not be larger. */
static bool read_more(chunk *b, splitter *s, place *p) {
    if (b->filled == b->allocated && b->record_count > 0)
        return false;
    if (b->filled == b->allocated && p->at == 0 && key_can_stream(s->shape))
        return stream_record(b, s, p);
    if (b->filled == b->allocated && !widen(b, s, p))
        return false;
    size_t most = b->allocated - b->filled;
    long long got = source_read(&s->source, b->bytes + b->filled, most < CHUNK_BYTES ? most : CHUNK_BYTES);
    if (got < 0)
        return stop_with(b, s->source.name, s->source.nul_stopped ? s->line + p->open_lines + 1 : 0, s->source.reason);
    if (got == 0)
        return finish_file(b, s, p);
    b->filled += (size_t)got;
    if (s->source.nul != NULL && !s->nul_noted)
        note_nul(b, s, line_of_nul(b, s, p));
    return true;
}

void chunk_fill(chunk *b, splitter *s) {
    place p;
    if (!begin(b, s, &p))
        return;
    for (;;) {
        if (!split(b, s, &p) || b->record_count == RECORDS_MAX)
            break;
        if (b->record_count > 0 &&
            (s->open ? s->source.prompt : source_may_wait(s->paths, s->path_next, s->path_count)))
            break;
        if (!s->open && b->bom_name != NULL)
            break;
        if (s->open ? !read_more(b, s, &p) : !open_next(b, s))
            break;
    }
    if (s->shape->digest != NULL)
        s->shape->digest(s->shape->digest_context, b->records, b->record_count, b->digests);
    if (b->streamed)
        b->digests[0] = b->streamed_digest;
    if (s->shape->mark != NULL)
        s->shape->mark(s->shape->mark_context, b->records, b->digests, b->record_count, b->marks);
    if (b->error_name == NULL)
        (void)carry(b, s, &p);
}

void chunk_release(chunk *b) {
    (void)chunk_shrink(b);
    free(b->own);
    free(b->own_keys);
    free(b->typed);
    free(b->records);
    free(b->digests);
    free(b->marks);
}
