/* Text in any of the formats of the tool: lines, columns, CSV, JSON, hex, fixed records. The readers of the tool split
 * it into records and make the key of each; a simple reader below, which has the whole text in memory, does the same,
 * and both must agree on every record, on the number of bad ones, and on the line of an error. Then the text is read a
 * second time for digests only.
 *
 *     0       the format and --trim, -i, --hex, or a type of keys
 *     1       how lines end, and what happens to bad records
 *     2       the column or the size of a record (low half), the delimiter (high half)
 *     3       how many bytes a read returns at most
 *     4       where the first of two files ends, and which type keys have
 *     5 …     the text
 *
 * The chunks are small, so that a few hundred bytes are enough for records that span chunks. */
#define CHUNK_BYTES ((size_t)128)
#define RECORDS_MAX ((size_t)80)
#define RECORD_MAX ((size_t)200)
#include "cli/input/chunk.c"

#include <errno.h>
#include <inttypes.h>

#include "fuzz/target.h"

enum { FORMAT_LINES, FORMAT_COLUMN, FORMAT_CSV, FORMAT_JSON, FORMAT_FIXED, FORMATS };
enum { TEXT_BYTES_MAX = 1000, RESULTS_MAX = TEXT_BYTES_MAX + 2, FILES = 2 };
enum { TEXT_MAX = 48 }; /* longer than any number or UUID */

typedef struct slice {
    const char *at;
    size_t n;
} slice;

/* ---- the files, in memory, instead of input/source.c ---- */

static slice file_bytes[FILES];
static size_t read_bytes_max, read_file, read_at;

bool source_open(source *s, const char *path, const source_rules *rules) {
    (void)rules;
    read_file = (size_t)(path[0] - '0');
    read_at = 0;
    s->name = path;
    s->had_bom = false;
    return true;
}

long long source_read(source *s, char *bytes, size_t max_bytes) {
    (void)s;
    size_t n = file_bytes[read_file].n - read_at;
    n = n < max_bytes ? n : max_bytes;
    n = n < read_bytes_max ? n : read_bytes_max;
    if (n > 0)
        memcpy(bytes, file_bytes[read_file].at + read_at, n);
    read_at += n;
    return (long long)n;
}

const char SOURCE_NUL_STOPS[] = "";

void source_close(source *s) {
    (void)s;
}

bool source_may_wait(const char *const *paths, size_t next, size_t count) {
    (void)paths, (void)next, (void)count;
    return false;
}

bool unpack_knows_name(const char *path) {
    (void)path;
    return false;
}

/* ---- what the simple reader finds ---- */

typedef struct result {
    slice line;
    size_t key_at, key_bytes; /* in `keys` */
} result;

static result results[RESULTS_MAX];
static size_t result_count;
static char keys[5 * TEXT_BYTES_MAX];
static size_t keys_used;
static uint64_t skipped, error_line; /* 0: no error */
static size_t error_file;

/* ---- JSON ---- */

typedef struct json {
    const char *at, *end;
} json;

static void json_blanks(json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n'))
        j->at++;
}

static bool json_take(json *j, char c) {
    bool there = j->at < j->end && *j->at == c;
    j->at += there;
    return there;
}

/* The code point of a UTF-8 sequence, read from its bits; -1: not valid. Sequences that are too long for their value,
 * surrogates and values above U+10FFFF are not valid. */
static long utf8_next(json *j) {
    unsigned char c = (unsigned char)*j->at++;
    int more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;
    static const long LEAST[] = {0, 0x80, 0x800, 0x10000};
    if (more < 0)
        return -1;
    long value = more == 0 ? c : c & (0x3f >> more);
    for (int i = 0; i < more; i++) {
        if (j->at == j->end || ((unsigned char)*j->at & 0xc0) != 0x80)
            return -1;
        value = value * 64 + ((unsigned char)*j->at++ & 0x3f);
    }
    return value < LEAST[more] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? -1 : value;
}

static size_t utf8_put(char *to, long c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const int MARKS[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(MARKS[more] | (int)c);
    return more + 1;
}

static long json_hex4(json *j) {
    long value = 0;
    for (int i = 0; i < 4; i++) {
        static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = j->at < j->end && *j->at != '\0' ? strchr(DIGITS, *j->at) : NULL;
        if (digit == NULL)
            return -1;
        value = value * 16 + (digit - DIGITS) % 16;
        j->at++;
    }
    return value;
}

static long json_escaped(json *j) {
    static const char NAMES[] = "\"\\/bfnrt", MEANINGS[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end || *j->at == '\0')
        return -1;
    char c = *j->at++;
    const char *name = strchr(NAMES, c);
    if (name != NULL)
        return MEANINGS[name - NAMES];
    if (c != 'u')
        return -1;
    long high = json_hex4(j);
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || !json_take(j, '\\') || !json_take(j, 'u'))
        return -1;
    long low = json_hex4(j);
    return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + (high - 0xd800) * 1024 + (low - 0xdc00);
}

/* Decodes a string to `to`. */
static bool json_string(json *j, char *to, size_t *n) {
    *n = 0;
    if (!json_take(j, '"'))
        return false;
    while (j->at < j->end) {
        if (json_take(j, '"'))
            return true;
        long c = json_take(j, '\\') ? json_escaped(j) : (unsigned char)*j->at < 0x20 ? -1 : utf8_next(j);
        if (c < 0)
            return false;
        *n += utf8_put(to + *n, c);
    }
    return false;
}

static bool json_digits(json *j) {
    const char *start = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return j->at > start;
}

static bool json_number(json *j) {
    (void)json_take(j, '-');
    if (!json_take(j, '0') && !json_digits(j))
        return false;
    if (json_take(j, '.') && !json_digits(j))
        return false;
    if (json_take(j, 'e') || json_take(j, 'E')) {
        if (!json_take(j, '+'))
            (void)json_take(j, '-');
        return json_digits(j);
    }
    return true;
}

static bool json_word(json *j, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0)
        return false;
    j->at += n;
    return true;
}

static bool json_value(json *j);

static bool json_array(json *j) {
    json_blanks(j);
    if (json_take(j, ']'))
        return true;
    do {
        if (!json_value(j))
            return false;
        json_blanks(j);
    } while (json_take(j, ','));
    return json_take(j, ']');
}

/* After the opening brace. If `name` is not NULL, sets *value to the last member of this name; its `at` is NULL if
 * there is none. */
static bool json_members(json *j, const char *name, slice *value) {
    static char text[4 * TEXT_BYTES_MAX];
    json_blanks(j);
    if (json_take(j, '}'))
        return true;
    do {
        size_t n;
        json_blanks(j);
        if (!json_string(j, text, &n))
            return false;
        bool wanted = name != NULL && n == strlen(name) && memcmp(text, name, n) == 0;
        json_blanks(j);
        if (!json_take(j, ':'))
            return false;
        json_blanks(j);
        const char *start = j->at;
        if (!json_value(j))
            return false;
        if (wanted)
            *value = (slice){start, (size_t)(j->at - start)};
        json_blanks(j);
    } while (json_take(j, ','));
    return json_take(j, '}');
}

static bool json_value(json *j) {
    static char unused[4 * TEXT_BYTES_MAX];
    size_t n;
    json_blanks(j);
    if (j->at == j->end)
        return false;
    switch (*j->at) {
    case '{':
        j->at++;
        return json_members(j, NULL, NULL);
    case '[':
        j->at++;
        return json_array(j);
    case '"':
        return json_string(j, unused, &n);
    case 't':
        return json_word(j, "true");
    case 'f':
        return json_word(j, "false");
    case 'n':
        return json_word(j, "null");
    default:
        return json_number(j);
    }
}

/* Writes the key of a line to `to`. Returns false if the line is bad. */
static bool json_find(const input_shape *shape, slice line, char *to, size_t *n, bool *is_number) {
    json j = {line.at, line.at + line.n};
    slice value = {NULL, 0};
    json_blanks(&j);
    if (!json_take(&j, '{') || !json_members(&j, shape->json_field, &value))
        return false;
    json_blanks(&j);
    if (j.at != j.end || value.at == NULL)
        return false;
    *is_number = *value.at == '-' || (*value.at >= '0' && *value.at <= '9');
    if (*is_number) {
        memcpy(to, value.at, value.n);
        *n = value.n;
        return true;
    }
    json again = {value.at, value.at + value.n};
    return *value.at == '"' && json_string(&again, to, n);
}

/* ---- columns ---- */

static bool find_column(const input_shape *shape, slice line, char *to, size_t *n) {
    unsigned field = 1;
    *n = 0;
    for (size_t i = 0; i < line.n; i++) {
        if (line.at[i] == shape->delim)
            field++;
        else if (field == shape->field)
            to[(*n)++] = line.at[i];
    }
    return field >= shape->field;
}

typedef enum csv_state { CSV_CLOSED, CSV_OPEN, CSV_BROKEN } csv_state;

/* Reads a record one character at a time. Writes the wanted field to `to`; *fields is the number of fields. */
static csv_state read_csv(const input_shape *shape, slice record, char *to, size_t *n, unsigned *fields) {
    enum { START, BARE, QUOTED, QUOTE_IN_QUOTED } state = START;
    *fields = 1;
    *n = 0;
    for (size_t i = 0; i < record.n; i++) {
        char c = record.at[i];
        bool keep = false;
        if (state == START && c == '"') {
            state = QUOTED;
        } else if (state == QUOTED) {
            state = c == '"' ? QUOTE_IN_QUOTED : QUOTED;
            keep = c != '"';
        } else if (state == QUOTE_IN_QUOTED && c == '"') {
            state = QUOTED;
            keep = true;
        } else if (c == shape->delim) {
            state = START;
            ++*fields;
        } else if (state == QUOTE_IN_QUOTED) {
            return CSV_BROKEN;
        } else {
            state = BARE;
            keep = true;
        }
        if (keep && *fields == shape->field)
            to[(*n)++] = c;
    }
    return state == QUOTED ? CSV_OPEN : CSV_CLOSED;
}

/* ---- from a record to its key ---- */

static bool is_white(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}

/* "9a:6e" becomes "9a6e", and "9a6e" stays as it is. */
static void remove_colons(char *key, size_t *n) {
    size_t pairs = (*n + 1) / 3;
    if (*n < 5 || *n % 3 != 2)
        return;
    for (size_t i = 1; i < pairs; i++)
        if (key[3 * i - 1] != ':')
            return;
    for (size_t i = 1; i < pairs; i++)
        memmove(key + 2 * i, key + 3 * i, 2);
    *n = 2 * pairs;
}

static bool decode_hex(char *key, size_t *n) {
    remove_colons(key, n);
    if (*n % 2 != 0)
        return false;
    for (size_t i = 0; i < *n / 2; i++) {
        json digits = {(char[]){'0', '0', key[2 * i], key[2 * i + 1]}, NULL};
        digits.end = digits.at + 4;
        long value = json_hex4(&digits);
        if (value < 0)
            return false;
        key[i] = (char)value;
    }
    *n /= 2;
    return true;
}

/* A text is a number if it is what the number is written as again. */
static bool read_decimal(kith_key_type type, const char *text, char *key) {
    char again[TEXT_MAX];
    errno = 0;
    uint64_t number = type == KITH_KEYS_INT ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
    (void)snprintf(again, sizeof again, type == KITH_KEYS_INT ? "%" PRId64 : "%" PRIu64, number);
    for (unsigned i = 0; i < 8; i++)
        key[i] = (char)(number >> (8 * i));
    return errno == 0 && strcmp(text, again) == 0;
}

static bool read_uuid(const char *text, char *key) {
    unsigned b[16];
    int used = 0;
    for (const char *at = text; *at != '\0'; at++)
        if (*at == ' ' || *at == '+' || *at == 'x' || *at == 'X')
            return false; /* what sscanf() would accept */
    int found = sscanf(text, "%2x%2x%2x%2x-%2x%2x-%2x%2x-%2x%2x-%2x%2x%2x%2x%2x%2x%n", &b[0], &b[1], &b[2], &b[3],
                       &b[4], &b[5], &b[6], &b[7], &b[8], &b[9], &b[10], &b[11], &b[12], &b[13], &b[14], &b[15], &used);
    for (int i = 0; i < 16 && found == 16; i++)
        key[i] = (char)b[i];
    return found == 16 && used == 36 && text[36] == '\0';
}

static bool read_typed(kith_key_type type, char *key, size_t *n) {
    char text[TEXT_MAX];
    if (*n >= sizeof text || memchr(key, '\0', *n) != NULL)
        return false;
    memcpy(text, key, *n);
    text[*n] = '\0';
    *n = type == KITH_KEYS_UUID ? 16 : 8;
    return type == KITH_KEYS_UUID ? read_uuid(text, key) : read_decimal(type, text, key);
}

static bool finish_key(const input_shape *shape, char *key, size_t *n, bool is_number) {
    if (shape->keys != KITH_KEYS_BYTES && shape->fixed_bytes != 0)
        return true;
    if (shape->trim) {
        size_t from = 0;
        while (*n > 0 && is_white(key[*n - 1]))
            --*n;
        while (from < *n && is_white(key[from]))
            from++;
        memmove(key, key + from, *n - from);
        *n -= from;
    }
    bool typed = shape->json_field != NULL && shape->json_typed;
    if (shape->keys != KITH_KEYS_BYTES)
        return read_typed(shape->keys, key, n);
    if (shape->hex)
        return !(typed && is_number) && decode_hex(key, n);
    for (size_t i = 0; shape->fold && i < *n; i++)
        if (key[i] >= 'A' && key[i] <= 'Z')
            key[i] = (char)(key[i] + 32);
    if (typed && (is_number || (*n > 0 && key[0] == '\0'))) {
        memmove(key + 1, key, (*n)++);
        key[0] = '\0';
    }
    return true;
}

static slice without_end(const input_shape *shape, slice record) {
    bool strips = shape->cr == INPUT_CR_STRIP && shape->fixed_bytes == 0;
    record.n -= strips && record.n > 0 && record.at[record.n - 1] == '\r';
    return record;
}

/* Adds a record of `lines` lines, or notes that it is bad. Returns false if reading ends there. */
static bool take(const input_shape *shape, bool good, size_t n, slice record, size_t file, uint64_t line) {
    if (good) {
        HOLD(result_count < RESULTS_MAX && keys_used + n <= sizeof keys);
        results[result_count++] = (result){record, keys_used, n};
        keys_used += n;
    } else if (shape->skip_bad) {
        skipped++;
    } else {
        error_file = file;
        error_line = line;
    }
    return good || shape->skip_bad;
}

static bool take_line(const input_shape *shape, slice record, size_t file, uint64_t line) {
    slice content = without_end(shape, record);
    char *key = keys + keys_used;
    size_t n = content.n;
    bool good = true, is_number = false;
    if (shape->json_field != NULL)
        good = json_find(shape, content, key, &n, &is_number);
    else if (shape->field != 0)
        good = find_column(shape, content, key, &n);
    else if (n > 0)
        memcpy(key, content.at, n);
    good = good && finish_key(shape, key, &n, is_number);
    return take(shape, good, n, record, file, line);
}

static size_t end_of_line(slice text, size_t from, char end) {
    while (from < text.n && text.at[from] != end)
        from++;
    return from;
}

static void read_lines(const input_shape *shape, size_t file) {
    slice text = file_bytes[file];
    uint64_t line = 0;
    for (size_t at = 0, end; at < text.n; at = end + 1) {
        end = end_of_line(text, at, shape->end);
        if (!take_line(shape, (slice){text.at + at, end - at}, file, ++line))
            return;
    }
}

/* A record ends at the first end of a line at which no quote is open. If it is bad, only its first line is skipped. A
 * quote that is open at the end of a line before `broken` is known not to be closed correctly. */
static void read_csv_records(const input_shape *shape, size_t file) {
    slice text = file_bytes[file];
    uint64_t line = 0;
    for (size_t at = 0, broken = 0, next; at < text.n; at = next) {
        size_t end = at, first_end = end_of_line(text, at, shape->end), n = 0;
        char *key = keys + keys_used;
        csv_state state;
        uint64_t lines = 0;
        unsigned fields;
        for (bool more = true; more; lines++) {
            end = end_of_line(text, lines == 0 ? at : end + 1, shape->end);
            state = read_csv(shape, without_end(shape, (slice){text.at + at, end - at}), key, &n, &fields);
            more = state == CSV_OPEN && end < text.n && end >= broken && end - at < RECORD_MAX && shape->end == '\n';
        }
        bool closed = state == CSV_CLOSED;
        bool good = closed && fields >= shape->field && finish_key(shape, key, &n, false);
        slice record = {text.at + at, end - at};
        if (!take(shape, good, n, record, file, line + 1))
            return;
        if (!closed && lines > 1)
            broken = end;
        line += closed ? lines : 1;
        next = (closed ? end : first_end) + 1;
    }
}

static void read_fixed(const input_shape *shape, size_t file) {
    slice text = file_bytes[file];
    uint64_t line = 0;
    for (size_t at = 0; at < text.n; at += shape->fixed_bytes) {
        size_t n = text.n - at < shape->fixed_bytes ? text.n - at : shape->fixed_bytes;
        slice record = {text.at + at, n};
        line++;
        if (n < shape->fixed_bytes ? !take(shape, false, 0, record, file, line) : !take_line(shape, record, file, line))
            return;
    }
}

static void read_simply(const input_shape *shape) {
    result_count = keys_used = 0;
    skipped = error_line = 0;
    for (size_t file = 0; file < FILES && error_line == 0; file++) {
        if (shape->fixed_bytes != 0)
            read_fixed(shape, file);
        else if (shape->field != 0 && shape->quotes)
            read_csv_records(shape, file);
        else
            read_lines(shape, file);
    }
}

/* ---- the readers of the tool ---- */

static bool same(const char *got, size_t got_bytes, const char *want, size_t want_bytes) {
    return got_bytes == want_bytes && (got_bytes == 0 || memcmp(got, want, got_bytes) == 0);
}

static void digest_each(const void *context, const input_record *records, size_t n, uint64_t *digests) {
    for (size_t i = 0; i < n; i++)
        digests[i] = kith_digest(context, records[i].key, records[i].key_bytes);
}

/* With digest_only, records that are longer than a chunk may come without their bytes. */
static void compare_record(const input_shape *shape, const chunk *b, size_t i, const result *want) {
    const input_record *r = &b->records[i];
    const char *key = keys + want->key_at;
    if (shape->digest_only) {
        HOLD(b->digests[i] == kith_digest(&shape->hash, key, want->key_bytes));
        return;
    }
    HOLD(same(r->line, r->line_bytes, want->line.at, want->line.n));
    HOLD(same(r->key, r->key_bytes, key, want->key_bytes));
}

static void read_and_compare(const input_shape *shape) {
    static const char *const PATHS[FILES] = {"0", "1"};
    splitter s = {.shape = shape, .paths = PATHS, .path_count = FILES};
    chunk b = {.bytes = NULL};
    size_t done = 0;
    uint64_t left_out = 0;
    do {
        chunk_fill(&b, &s);
        for (size_t i = 0; i < b.record_count; i++, done++) {
            HOLD(done < result_count);
            compare_record(shape, &b, i, &results[done]);
        }
        left_out += b.skipped;
        HOLD(left_out <= skipped);
    } while (!b.last && b.error_name == NULL);
    HOLD(done == result_count && left_out == skipped);
    HOLD((b.error_name != NULL) == (error_line != 0));
    if (b.error_name != NULL) {
        HOLD(b.error_name == PATHS[error_file] && b.error_line == error_line);
        HOLD(memchr(b.reason, '\0', sizeof b.reason) != NULL && b.reason[0] != '\0');
    }
    chunk_release(&b);
    region_free(&s.carry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char DELIMS[] = {',', '\t', ';', ' '}, *const FIELDS[] = {"k", "", "\303\251"};
    tape t = tape_of(data, size);
    uint8_t format = tape_byte(&t), ends = tape_byte(&t), column = tape_byte(&t), reads = tape_byte(&t);
    uint8_t split = tape_byte(&t);
    size_t text_bytes = (size_t)(t.end - t.at) < TEXT_BYTES_MAX ? (size_t)(t.end - t.at) : TEXT_BYTES_MAX;
    bool has_type = (format & 128) != 0;
    input_shape shape = {
        .end = (ends & 1) != 0 ? '\0' : '\n',
        .cr = (input_cr)((ends >> 1) % 3),
        .skip_bad = (ends & 16) != 0,
        .json_typed = (ends & 32) != 0,
        .trim = (format & 16) != 0,
        .fold = (format & 32) != 0 && !has_type,
        .hex = (format & 64) != 0 && !has_type,
        .threads = 1,
    };
    switch (format % 8 % FORMATS) {
    case FORMAT_CSV:
        shape.quotes = true;
        /* fall through */
    case FORMAT_COLUMN:
        shape.field = 1 + column % 4u;
        shape.delim = DELIMS[column / 16 % 4];
        break;
    case FORMAT_JSON:
        shape.json_field = FIELDS[column % 3];
        break;
    case FORMAT_FIXED:
        shape.fixed_bytes = 1 + column % 16u;
        break;
    default:
        break;
    }
    if (has_type)
        key_set_type(&shape, (kith_key_type)(1 + split % 3));
    read_bytes_max = 1u + reads;
    size_t first_bytes = split < text_bytes ? split : text_bytes;
    const char *text = (const char *)t.at;
    file_bytes[0] = (slice){text, first_bytes};
    file_bytes[1] = (slice){text + first_bytes, text_bytes - first_bytes};
    read_simply(&shape);
    read_and_compare(&shape);
    shape.digest_only = true;
    shape.hash = (kith_hash){(ends & 64) != 0 ? KITH_HASH_SIPHASH : KITH_HASH_XXH3, 0, {0}};
    shape.digest = digest_each;
    shape.digest_context = &shape.hash;
    read_and_compare(&shape);
    return 0;
}
