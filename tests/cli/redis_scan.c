/* Tests server/scan.c of the tool: where replies end, however they are cut, and which of them are refused, when. */
#include "cli/server/scan.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

#define MUCH (UINT64_C(1) << 40)

/* The reply is followed by the beginning of another one, which does not belong to it. */
static void expect_end(const char *reply, size_t n) {
    char bytes[512];
    memcpy(bytes, reply, n);
    memcpy(bytes + n, "+OK\r\n", 5);
    for (size_t cut = 0; cut <= n; cut++) {
        redis_scan s;
        size_t taken, more = 0;
        redis_scan_begin(&s, MUCH);
        redis_scan_result result = redis_scan_next(&s, bytes, cut, &taken);
        CHECK(taken == cut && result == (cut < n ? REDIS_SCAN_MORE : REDIS_SCAN_END));
        if (cut < n)
            result = redis_scan_next(&s, bytes + cut, n + 5 - cut, &more);
        CHECK(result == REDIS_SCAN_END);
        CHECK_EQ_U64(taken + more, n);
    }
    redis_scan s;
    redis_scan_begin(&s, MUCH);
    for (size_t i = 0; i < n; i++) {
        size_t taken;
        CHECK(redis_scan_next(&s, bytes + i, 1, &taken) == (i + 1 < n ? REDIS_SCAN_MORE : REDIS_SCAN_END));
        CHECK_EQ_U64(taken, 1);
    }
}

#define END(literal) expect_end(literal, sizeof(literal) - 1)

TEST(a_reply_ends_at_the_same_byte_however_it_is_cut) {
    END("+OK\r\n");
    END("-ERR a text that is longer than the part of a line that is kept\r\n");
    END(":-9223372036854775808\r\n");
    END("$0\r\n\r\n");
    END("$-1\r\n");
    END("$12\r\n*3\r\n$5\r\n\r\n\r\n\r\n");
    END("*0\r\n");
    END("*-1\r\n");
    END("*3\r\n:0\r\n:1000\r\n$4\r\nabcd\r\n");
    END("*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*2\r\n$1\r\n\n\r\n$-1\r\n");
}

/* Returns how many bytes were scanned before the reply was refused. */
static size_t refused_after(const char *begin, const char *piece, uint64_t most) {
    redis_scan s;
    size_t taken, sum = 0;
    redis_scan_begin(&s, most);
    redis_scan_result result = redis_scan_next(&s, begin, strlen(begin), &taken);
    for (sum = taken; result == REDIS_SCAN_MORE; sum += taken)
        result = redis_scan_next(&s, piece, strlen(piece), &taken);
    CHECK(result == REDIS_SCAN_TOO_LARGE);
    return sum;
}

TEST(a_length_or_a_count_is_refused_before_what_it_announces) {
    CHECK_EQ_U64(refused_after("$1000001\r\n", "", 1000000), 10);
    CHECK_EQ_U64(refused_after("$9223372036854775807\r\n", "", 1000000), 22);
    CHECK_EQ_U64(refused_after("*10000\r\n", "", 1000000), 8);
    CHECK_EQ_U64(refused_after("*2305843009213693952\r\n", "", 1000000), 22);
    CHECK_EQ_U64(refused_after("*2\r\n$600000\r\n", "x", 1000000) > 600000, 1);
    CHECK(refused_after("*2\r\n", "*1000\r\n", 1000000) < 100);
}

TEST(text_without_an_end_is_refused_at_the_limit) {
    static const char *const BEGINS[] = {"+", "-", ":", "$", "*", "%", ""};
    for (size_t i = 0; i < sizeof BEGINS / sizeof *BEGINS; i++) {
        size_t after = refused_after(BEGINS[i], "1234567890", 1000);
        CHECK(after > 1000 && after <= 1010);
    }
}

TEST(what_is_not_the_protocol_is_left_to_hiredis) {
    static const char *const WORDS[] = {"HTTP/1.1 400 Bad Request\r\n", "$12x\r\n", "*0x\r\n", "\r\n", "%2\r\n"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        redis_scan s;
        size_t taken;
        redis_scan_begin(&s, 1000);
        redis_scan_result result = redis_scan_next(&s, WORDS[i], strlen(WORDS[i]), &taken);
        CHECK(result == REDIS_SCAN_END);
        CHECK(taken <= strlen(WORDS[i]));
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
