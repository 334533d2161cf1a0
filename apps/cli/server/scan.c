/* server/scan.c: measures replies; see server/scan.h.
 *
 *     +text   -error   :number      a line
 *     $length                       a line, then `length` bytes and CR LF; -1: no string
 *     *count                        a line, then `count` values; -1: no array
 *
 * Values are counted, not nested: an array ends when all values that were announced have come. */
#include "cli/server/scan.h"

#include <stdlib.h>

#define VALUE_BYTES 128 /* of a redisReply, with its place in an array and what malloc adds */

void redis_scan_begin(redis_scan *s, uint64_t most) {
    *s = (redis_scan){.most = most, .values = 1};
}

static bool fits(redis_scan *s, uint64_t count, uint64_t bytes_each) {
    uint64_t left = s->most - s->used;
    if (count > left / bytes_each)
        return false;
    s->used += count * bytes_each;
    return true;
}

/* A line has ended. */
static redis_scan_result end_line(redis_scan *s) {
    char type = s->line[0];
    size_t kept = s->line_bytes < sizeof s->line ? s->line_bytes : sizeof s->line - 1;
    s->line[kept] = '\0';
    s->line_bytes = 0;
    s->values--;
    if (type == '$' || type == '*') {
        char *end;
        long long number = strtoll(s->line + 1, &end, 10);
        if (*end != '\r')
            return REDIS_SCAN_END;
        if (number >= 0 && !fits(s, (uint64_t)number, type == '$' ? 1 : VALUE_BYTES))
            return REDIS_SCAN_TOO_LARGE;
        if (number >= 0 && type == '$')
            s->string_left = (uint64_t)number + 2;
        if (number > 0 && type == '*')
            s->values += (uint64_t)number;
    } else if (type != '+' && type != '-' && type != ':') {
        return REDIS_SCAN_END;
    }
    return s->values == 0 && s->string_left == 0 ? REDIS_SCAN_END : REDIS_SCAN_MORE;
}

redis_scan_result redis_scan_next(redis_scan *s, const char *bytes, size_t byte_count, size_t *taken) {
    size_t at = 0;
    redis_scan_result result = REDIS_SCAN_MORE;
    while (result == REDIS_SCAN_MORE && at < byte_count) {
        if (s->string_left > 0) {
            size_t left = byte_count - at, n = s->string_left < left ? (size_t)s->string_left : left;
            s->string_left -= n;
            at += n;
            if (s->string_left == 0 && s->values == 0)
                result = REDIS_SCAN_END;
            continue;
        }
        char c = bytes[at++];
        if (c == '\n') {
            result = end_line(s);
            continue;
        }
        if (s->line_bytes < sizeof s->line)
            s->line[s->line_bytes] = c;
        s->line_bytes++;
        if (!fits(s, 1, 1))
            result = REDIS_SCAN_TOO_LARGE;
    }
    *taken = at;
    return result;
}
