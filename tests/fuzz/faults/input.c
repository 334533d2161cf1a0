/* A closing quote may be followed by anything; numbers and strings of JSON have the same keys; keys longer than a chunk
 * have a digest of their own. */
#include "cli/input/parse_json.h"
#include "cli/input/key.h"
#include "cli/input/stream.h"
#include "fuzz/faults/faults.h"

key_quotes __real_key_quotes_of(const char *line, size_t line_bytes, char delim);
key_quotes __wrap_key_quotes_of(const char *line, size_t line_bytes, char delim);
key_quotes __wrap_key_quotes_of(const char *line, size_t line_bytes, char delim) {
    key_quotes quotes = __real_key_quotes_of(line, line_bytes, delim);
    return quotes == KEY_QUOTES_BROKEN && is_planted("accepts_broken_quotes") ? KEY_QUOTES_CLOSED : quotes;
}

const char *__real_json_key(const char *name, input_record *record, bool *is_number, char *buffer, char *reason,
                            size_t reason_bytes);
const char *__wrap_json_key(const char *name, input_record *record, bool *is_number, char *buffer, char *reason,
                            size_t reason_bytes);
const char *__wrap_json_key(const char *name, input_record *record, bool *is_number, char *buffer, char *reason,
                            size_t reason_bytes) {
    const char *wrong = __real_json_key(name, record, is_number, buffer, reason, reason_bytes);
    if (wrong == NULL && is_planted("numbers_are_strings"))
        *is_number = false;
    return wrong;
}

uint64_t __real_key_stream_end(key_stream *k);
uint64_t __wrap_key_stream_end(key_stream *k);
uint64_t __wrap_key_stream_end(key_stream *k) {
    return __real_key_stream_end(k) ^ is_planted("long_keys_have_another_digest");
}
