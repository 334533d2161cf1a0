/* input_block.c: bytes into records.
 *
 *     bytes    | carried | read …                                  | free |
 *                ^line 1     ^line 2      ^line 3      ^begun
 *     keys     |         | key 1      | key 2      |                          same offsets as the lines
 *     records  | 1 | 2 | 3 | … RECORDS_MAX
 *
 * Lines are not copied: a record points to where read(2) put it. Only what is left behind the last whole record, the
 * beginning of a line as a rule, is carried over to the next block. Keys that must be written anew (input_key.c) go to
 * the line's own offset in `keys`: they are no longer than their line, so none meets its neighbour.
 *
 * A block that holds no end of a record grows to twice its size until it does; records point into a block, so only one
 * without records may move. When it comes round again it shrinks to BLOCK_BYTES.
 *
 * CSV. A record ends at the first end of a line at which no quote is open, so a block that holds only the beginning of a
 * record of several lines grows as it does for a long line. A quote that nobody closes would take the rest of the file
 * into memory: past RECORD_MAX, at the end of the file, and where more of the field follows a closing quote, the record
 * is bad. skip_bad leaves out its first line, where the quote is likely to be wrong, and goes on at the next one. All
 * lines that the search went through ended with a quote open, so for any of them that would open one again the search
 * would end as it did: `broken_until` says so, and no byte is searched more than twice.
 *
 * BLOCK_BYTES: a block, its records and the next stage's work should stay in a core's own cache (1 to 2 MiB), and 256 KiB
 * are enough to make the cost of a system call and of passing a block on, some microseconds, small against reading and
 * splitting it, some hundred. RECORDS_MAX is 16 bytes a line: files of shorter lines carry bytes over that were not
 * split, and a file of empty lines takes no more memory than others. RECORD_MAX is far more than a record of CSV has, and
 * all blocks of that size are little beside the memory of a machine. */
#include "input_block.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "input_key.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define RECORDS_MAX ((size_t)16 << 10)
#define RECORD_MAX ((size_t)4 << 20)

static size_t less(size_t offset, size_t by) {
    return offset > by ? offset - by : 0;
}

/* The same place when the bytes before `at` are gone. */
static place place_moved(const place *p) {
    return (place){0, p->seen - p->at, p->line - p->at, p->open_lines, less(p->broken_until, p->at)};
}

/* Where a record, or nothing, begins at `at`. */
static void place_begin(place *p, size_t at) {
    p->at = p->seen = p->line = at;
    p->open_lines = 0;
}

/* Reading ends here; always false. Memory may be short before the first file has a name. */
static bool stop_with(block *b, const char *name, uint64_t line, const char *reason) {
    b->error_name = name != NULL ? name : "input";
    b->error_line = line;
    strncpy(b->reason, reason, sizeof b->reason - 1);
    b->reason[sizeof b->reason - 1] = '\0';
    return false;
}

static bool make_room(block *b, const splitter *s, size_t room) {
    char *bytes = realloc(b->bytes, room);
    if (bytes == NULL)
        return stop_with(b, s->source.name, s->line + 1, "no memory for so long a line");
    b->bytes = bytes;
    b->room = room;
    if (!key_needs_room(s->shape))
        return true;
    char *keys = realloc(b->keys, room);
    if (keys == NULL)
        return stop_with(b, s->source.name, s->line + 1, "no memory for so long a line");
    b->keys = keys;
    return true;
}

static bool begin(block *b, splitter *s, place *p) {
    b->record_count = 0;
    b->skipped = 0;
    size_t room = s->carry_bytes < BLOCK_BYTES ? BLOCK_BYTES : s->carry_bytes;
    if (b->room != room && !make_room(b, s, room))
        return false;
    if (b->records == NULL && (b->records = malloc(RECORDS_MAX * sizeof *b->records)) == NULL)
        return stop_with(b, s->source.name, 0, "no memory");
    if (s->shape->digest != NULL && b->digests == NULL &&
        (b->digests = malloc(RECORDS_MAX * sizeof *b->digests)) == NULL)
        return stop_with(b, s->source.name, 0, "no memory");
    if (s->shape->mark != NULL && b->marks == NULL && (b->marks = malloc(RECORDS_MAX * sizeof *b->marks)) == NULL)
        return stop_with(b, s->source.name, 0, "no memory");
    if (s->carry_bytes > 0)
        memcpy(b->bytes, s->carry, s->carry_bytes);
    b->filled = s->carry_bytes;
    *p = s->carry_place;
    return true;
}

static bool carry(block *b, splitter *s, const place *p) {
    s->carry_bytes = b->filled - p->at;
    s->carry_place = place_moved(p);
    if (s->carry_bytes == 0)
        return true;
    char *kept = realloc(s->carry, s->carry_bytes);
    if (kept == NULL)
        return stop_with(b, s->source.name, s->line + 1, "no memory for so long a line");
    s->carry = kept;
    memcpy(kept, b->bytes + p->at, s->carry_bytes);
    return true;
}

/* The length of a line without the CR that --crlf takes for a part of its end. */
static size_t without_cr(const block *b, const splitter *s, size_t at, size_t line_bytes) {
    return line_bytes - (s->shape->crlf && line_bytes > 0 && b->bytes[at + line_bytes - 1] == '\r');
}

typedef char reason_text[SOURCE_REASON_BYTES];

/* The next record of the block, when keep() takes it. NULL, or what is wrong with it: constant, or in `reason`. */
static const char *make(block *b, const splitter *s, size_t at, size_t line_bytes, reason_text reason) {
    input_record *r = &b->records[b->record_count];
    *r = (input_record){NULL, 0, b->bytes + at, without_cr(b, s, at, line_bytes)};
    const char *wrong = key_of(s->shape, r, b->keys == NULL ? NULL : b->keys + at, reason, sizeof(reason_text));
    r->line_bytes = line_bytes;
    return wrong;
}

/* What make() made of `lines` lines, or left for what is wrong. False: reading ends. */
static bool keep(block *b, splitter *s, const char *wrong, uint64_t lines) {
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
/* Bit i: byte i is the end of a line. For short lines a call of memchr each would cost more than all else. */
static uint64_t ends_of_64(const char *bytes, char end) {
    uint64_t ends = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
        __m128i equal = _mm_cmpeq_epi8(part, _mm_set1_epi8(end));
        ends |= (uint64_t)(unsigned)_mm_movemask_epi8(equal) << (16 * i);
    }
    return ends;
}

/* Records of the lines that end in whole 64 bytes from *from on; all that end before *from are taken when it returns. */
static input_record *split_by_64(input_record *r, const input_record *full, const char **line, const char **from,
                                 const char *stop, char end) {
    while (r < full && stop - *from >= 64) {
        uint64_t ends = ends_of_64(*from, end);
        for (; ends != 0 && r < full; ends &= ends - 1) {
            const char *found = *from + __builtin_ctzll(ends);
            size_t line_bytes = (size_t)(found - *line);
            *r++ = (input_record){*line, line_bytes, *line, line_bytes};
            *line = found + 1;
        }
        *from = ends != 0 ? *line : *from + 64;
    }
    return r;
}
#endif

static void split_plain(block *b, splitter *s, place *p) {
    const char *line = b->bytes + p->at, *from = b->bytes + p->seen, *stop = b->bytes + b->filled;
    input_record *first = b->records + b->record_count, *r = first, *full = b->records + RECORDS_MAX;
    int end = (unsigned char)s->shape->end;
#ifdef __SSE2__
    r = split_by_64(r, full, &line, &from, stop, s->shape->end);
#endif
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
}

/* The record at p->at is bad, as its newest line, which ends at `end`, shows. False: reading ends. */
static bool leave_out(block *b, splitter *s, place *p, size_t end, key_quotes quotes) {
    reason_text reason;
    const char *wrong = reason;
    if (quotes == KEY_QUOTES_BROKEN && b->bytes[end - 1] == '\r' && !s->shape->crlf)
        wrong = KEY_QUOTE_AND_CR;
    else if (quotes == KEY_QUOTES_BROKEN)
        snprintf(reason, sizeof reason, "a quote is closed only in line %llu, and more of its field follows there",
                 (unsigned long long)(s->line + 1 + p->open_lines));
    else if (end - p->at >= RECORD_MAX)
        snprintf(reason, sizeof reason, "%s within %zu MiB", KEY_QUOTE_OPEN, RECORD_MAX >> 20);
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

/* The newest line of the record at p->at ends at `end`; behind that there is a next one, unless the file ends. A record
 * is taken for one of a single line first, and only if a quote is open then are its lines looked at. False: reading
 * ends. */
static bool end_line(block *b, splitter *s, place *p, size_t end, bool file_ends) {
    size_t at = p->at;
    uint64_t lines = p->open_lines + 1;
    bool search_on = key_has_lines(s->shape) && !file_ends && end >= p->broken_until && end - at < RECORD_MAX;
    reason_text reason;
    const char *wrong = NULL;
    key_quotes quotes = KEY_QUOTES_CLOSED;
    if (lines > 1)
        quotes = key_quotes_of(b->bytes + p->line, without_cr(b, s, p->line, end - p->line));
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
    return keep(b, s, wrong, lines);
}

static bool split_shaped(block *b, splitter *s, place *p) {
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

static bool split_fixed(block *b, splitter *s, place *p) {
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

static bool split(block *b, splitter *s, place *p) {
    if (s->shape->fixed_bytes != 0)
        return split_fixed(b, s, p);
    if (!key_is_line(s->shape))
        return split_shaped(b, s, p);
    split_plain(b, s, p);
    return true;
}

/* What is left at the end of a file: a line without its end, a part of a fixed record, or a record of CSV that does not
 * end. When the first line of that one was left out, the others are split, and this is called again. */
static bool finish_file(block *b, splitter *s, place *p) {
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
    return s->shape->skip_bad || stop_with(b, s->source.name, s->line, "the last record is cut");
}

/* False: no more files, or the next can't be opened. */
static bool open_next(block *b, splitter *s) {
    if (s->path_next == s->path_count) {
        b->last = true;
        return false;
    }
    s->line = 0;
    s->open = true;
    const char *path = s->paths[s->path_next++];
    if (source_open(&s->source, path, s->shape->fixed_bytes == 0 || unpack_knows_name(path)))
        return true;
    return stop_with(b, s->source.name, 0, s->source.reason);
}

/* Room behind the bytes of a block that is full and has no record yet. */
static bool widen(block *b, splitter *s, place *p) {
    assert(b->record_count == 0);
    if (p->at == 0)
        return make_room(b, s, 2 * b->room);
    memmove(b->bytes, b->bytes + p->at, b->filled - p->at);
    b->filled -= p->at;
    *p = place_moved(p);
    return true;
}

/* Reads once. False: the block is done. */
static bool read_more(block *b, splitter *s, place *p) {
    if (b->filled == b->room && (b->record_count > 0 || !widen(b, s, p)))
        return false;
    long long got = source_read(&s->source, b->bytes + b->filled, b->room - b->filled);
    if (got < 0)
        return stop_with(b, s->source.name, 0, s->source.reason);
    if (got == 0)
        return finish_file(b, s, p);
    b->filled += (size_t)got;
    return true;
}

void block_fill(block *b, splitter *s) {
    place p;
    if (!begin(b, s, &p))
        return;
    for (;;) {
        if (!split(b, s, &p) || b->record_count == RECORDS_MAX)
            break;
        if (b->record_count > 0 &&
            (s->open ? s->source.prompt : source_may_wait(s->paths, s->path_next, s->path_count)))
            break;
        if (s->open ? !read_more(b, s, &p) : !open_next(b, s))
            break;
    }
    if (s->shape->digest != NULL)
        s->shape->digest(s->shape->digest_context, b->records, b->record_count, b->digests);
    if (s->shape->mark != NULL)
        s->shape->mark(s->shape->mark_context, b->records, b->digests, b->record_count, b->marks);
    if (b->error_name == NULL)
        (void)carry(b, s, &p);
}

void block_release(block *b) {
    free(b->bytes);
    free(b->keys);
    free(b->records);
    free(b->digests);
    free(b->marks);
}
