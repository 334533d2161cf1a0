/* Tests input.c of the tool: the records of files, with one thread and with two. Errors end the tool, so they are
 * tested in the .cases files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "check.h"
#include "cli/input/input.h"
#include "splitmix.h"

#include <unistd.h>

#define PATHS_MAX 300

typedef struct bytes {
    char *at;
    size_t used, room;
} bytes;

static void put(bytes *b, const void *from, size_t n) {
    if (b->used + n > b->room) {
        b->room = 2 * (b->used + n);
        b->at = realloc(b->at, b->room);
    }
    if (n > 0)
        memcpy(b->at + b->used, from, n);
    b->used += n;
}

static uint64_t state;

static uint64_t random_word(void) {
    return splitmix_next(&state);
}

/* Records are stored as lengths and bytes, so that two lists of records are equal if their bytes are equal. */
static void put_record(bytes *b, const char *key, size_t key_bytes, const char *line, size_t line_bytes) {
    put(b, &key_bytes, sizeof key_bytes);
    put(b, key, key_bytes);
    put(b, &line_bytes, sizeof line_bytes);
    put(b, line, line_bytes);
}

static char paths[PATHS_MAX][512];
static const char *path_list[PATHS_MAX];
static size_t path_count;

static void file_of(const void *content, size_t n) {
    CHECK(path_count < PATHS_MAX);
    char *path = paths[path_count];
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof paths[0], "%s/kith-input-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    for (size_t done = 0; done < n;) {
        ssize_t written = write(fd, (const char *)content + done, n - done);
        CHECK(written > 0);
        done += (size_t)written;
    }
    close(fd);
    path_list[path_count++] = path;
}

static void remove_files(void) {
    while (path_count > 0)
        unlink(paths[--path_count]);
}

static input_shape lines(void) {
    return (input_shape){.end = '\n', .delim = '\t', .threads = 1};
}

static bytes read_records(input_shape shape, unsigned threads, uint64_t *skipped) {
    shape.threads = threads;
    bytes got = {NULL, 0, 0};
    input *in = input_open(path_list, path_count, &shape);
    const input_record *records;
    for (size_t n; (n = input_next(in, &records)) > 0;) {
        CHECK(n <= INPUT_BATCH);
        for (size_t i = 0; i < n; i++)
            put_record(&got, records[i].key, records[i].key_bytes, records[i].line, records[i].line_bytes);
    }
    CHECK(input_next(in, &records) == 0);
    CHECK_EQ_U64(input_bytes_done(in), input_bytes_total(in));
    *skipped = input_skipped(in);
    input_close(in);
    return got;
}

/* Checks that the files have these records and `skipped` bad ones, with any number of threads. */
static void expect_bytes(const input_shape *shape, const bytes *wanted, uint64_t skipped) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        uint64_t left_out;
        bytes got = read_records(*shape, threads, &left_out);
        CHECK_EQ_U64(got.used, wanted->used);
        CHECK(got.used == 0 || memcmp(got.at, wanted->at, got.used) == 0);
        CHECK_EQ_U64(left_out, skipped);
        free(got.at);
    }
    remove_files();
}

typedef struct text {
    const char *at;
    size_t n;
} text;

#define T(literal) ((text){literal, sizeof(literal) - 1})

/* Checks one file: pairs of key and line, ended by NULL. */
static void expect(const input_shape *shape, text content, const text *wanted, uint64_t skipped) {
    bytes all = {NULL, 0, 0};
    for (; wanted->at != NULL; wanted += 2)
        put_record(&all, wanted[0].at, wanted[0].n, wanted[1].at, wanted[1].n);
    file_of(content.at, content.n);
    expect_bytes(shape, &all, skipped);
    free(all.at);
}

#define EXPECT(shape, content, skipped, ...)                                                                           \
    expect(&(shape), content, (const text[]){__VA_ARGS__, {NULL, 0}, {NULL, 0}}, skipped)
#define SAME(literal) T(literal), T(literal)

TEST(an_empty_file_has_no_records) {
    input_shape shape = lines();
    expect(&shape, T(""), (const text[]){{NULL, 0}}, 0);
}

TEST(lines_are_unchanged) {
    input_shape shape = lines();
    EXPECT(shape, T("a\nbc\n\nd\n"), 0, SAME("a"), SAME("bc"), SAME(""), SAME("d"));
    EXPECT(shape, T("no newline"), 0, SAME("no newline"));
    EXPECT(shape, T("a\nb"), 0, SAME("a"), SAME("b"));
    EXPECT(shape, T("\n"), 0, SAME(""));
    shape.text = true;
    EXPECT(shape, T("a\0b\n\0\n"), 0, SAME("a\0b"), SAME("\0"));
}

TEST(cr_is_part_of_the_key_if_undecided_or_kept) {
    input_shape shape = lines();
    EXPECT(shape, T("a\r\nb\n\r\nc\r"), 0, SAME("a\r"), SAME("b"), SAME("\r"), SAME("c\r"));
    shape.cr = INPUT_CR_KEEP;
    shape.cr_stops = true;
    EXPECT(shape, T("a\r\nb\n\r\nc\r"), 0, SAME("a\r"), SAME("b"), SAME("\r"), SAME("c\r"));
    /* A CR inside a line, or after a key that cannot contain one, is not an error. */
    shape.cr = INPUT_CR_UNDECIDED;
    EXPECT(shape, T("a\rb\n\rc\n"), 0, SAME("a\rb"), SAME("\rc"));
    shape.trim = true;
    EXPECT(shape, T("a\r\n"), 0, T("a"), T("a\r"));
    shape.trim = false;
    shape.end = '\0';
    EXPECT(shape, T("a\r\0b"), 0, SAME("a\r"), SAME("b"));
    shape.end = '\n';
    shape.hex = true;
    shape.field = 1;
    EXPECT(shape, T("41\t2\r\n"), 0, T("A"), T("41\t2\r"));
    shape = lines();
    shape.cr_stops = true;
    shape.fixed_bytes = 3;
    EXPECT(shape, T("a\r\n"), 0, SAME("a\r\n"));
}

TEST(a_byte_order_mark_is_part_of_neither_key_nor_line) {
    input_shape shape = lines();
    EXPECT(shape, T("\357\273\277a\nb\n"), 0, SAME("a"), SAME("b"));
    expect(&shape, T("\357\273\277"), (const text[]){{NULL, 0}}, 0);
    EXPECT(shape, T("\357\273\277\n"), 0, SAME(""));
    EXPECT(shape, T("\357\273\277\357\273\277a\n"), 0, SAME("\357\273\277a"));
    EXPECT(shape, T("a\n\357\273\277b\n"), 0, SAME("a"), SAME("\357\273\277b"));
    EXPECT(shape, T("\357\273"), 0, SAME("\357\273"));
    shape.end = '\0';
    EXPECT(shape, T("\357\273\277a\0b"), 0, SAME("a"), SAME("b"));
    shape = lines();
    shape.field = 1;
    shape.delim = ',';
    shape.quotes = true;
    EXPECT(shape, T("\357\273\277\"a,b\",c\n"), 0, T("a,b"), T("\"a,b\",c"));
    shape = lines();
    shape.fixed_bytes = 4;
    EXPECT(shape, T("\357\273\277a"), 0, SAME("\357\273\277a"));
}

TEST(every_file_may_have_a_byte_order_mark) {
    input_shape shape = lines();
    bytes wanted = {NULL, 0, 0};
    for (unsigned i = 0; i < 20; i++) {
        char line[32];
        int n = snprintf(line, sizeof line, "%sfile %u", i % 3 != 0 ? "\357\273\277" : "", i);
        const char *key = line + (i % 3 != 0 ? 3 : 0);
        put_record(&wanted, key, strlen(key), key, strlen(key));
        file_of(line, (size_t)n);
    }
    expect_bytes(&shape, &wanted, 0);
    free(wanted.at);
}

TEST(records_may_end_in_nul_and_hold_newlines) {
    input_shape shape = lines();
    shape.end = '\0';
    EXPECT(shape, T("a\nb\0\0c"), 0, SAME("a\nb"), SAME(""), SAME("c"));
}

TEST(crlf_strips_cr_from_the_key_but_not_from_the_line) {
    input_shape shape = lines();
    shape.cr = INPUT_CR_STRIP;
    EXPECT(shape, T("a\r\nb\n\r\nc\r\r\nd\r"), 0, T("a"), T("a\r"), SAME("b"), T(""), T("\r"), T("c\r"), T("c\r\r"),
           T("d"), T("d\r"));
}

TEST(fixed_records_are_cut_by_length_and_a_short_last_one_is_bad) {
    input_shape shape = lines();
    shape.fixed_bytes = 3;
    shape.skip_bad = true;
    EXPECT(shape, T("abc\n\0\nghi"), 0, SAME("abc"), SAME("\n\0\n"), SAME("ghi"));
    EXPECT(shape, T("abcde"), 1, SAME("abc"));
}

TEST(columns_are_separated_by_any_byte) {
    input_shape shape = lines();
    shape.field = 2;
    shape.skip_bad = true;
    EXPECT(shape, T("a\tb\tc\n\t\n\"x\ty\"\nonly\na\tb"), 1, T("b"), T("a\tb\tc"), T(""), T("\t"), T("y\""),
           T("\"x\ty\""), T("b"), T("a\tb"));
    shape.field = 1;
    shape.delim = ':';
    EXPECT(shape, T("ab:1\n:2\nc\n\n"), 0, T("ab"), T("ab:1"), T(""), T(":2"), T("c"), T("c"), T(""), T(""));
}

TEST(csv_columns_may_be_quoted) {
    input_shape shape = lines();
    shape.field = 2;
    shape.delim = ',';
    shape.quotes = true;
    shape.skip_bad = true;
    EXPECT(shape, T("a,b,c\n"), 0, T("b"), T("a,b,c"));
    EXPECT(shape, T("\"a,a\",\"b,b\"\n"), 0, T("b,b"), T("\"a,a\",\"b,b\""));
    EXPECT(shape, T("a,\"say \"\"hi\"\"\",c\n"), 0, T("say \"hi\""), T("a,\"say \"\"hi\"\"\",c"));
    EXPECT(shape, T("a,\"\"\na,\"\"\"\"\na,\n,,\n"), 0, T(""), T("a,\"\""), T("\""), T("a,\"\"\"\""), T(""), T("a,"),
           T(""), T(",,"));
    EXPECT(shape, T("a,5\" pipe,c\n"), 0, T("5\" pipe"), T("a,5\" pipe,c"));
    /* an open quote, text after a quote, an open quote after the wanted column, too few columns */
    EXPECT(shape, T("a,\"b\na,\"b\"x,c\na,b,\"c\na\n\nz,y\n"), 5, T("y"), T("z,y"));
    shape.end = '\0';
    EXPECT(shape, T("a,\"b\nb\"\0"), 0, T("b\nb"), T("a,\"b\nb\""));
}

TEST(csv_records_continue_while_a_quote_is_open) {
    input_shape shape = lines();
    shape.field = 2;
    shape.delim = ',';
    shape.quotes = true;
    shape.skip_bad = true;
    EXPECT(shape, T("a,\"b\nb\"\nc,d\n"), 0, T("b\nb"), T("a,\"b\nb\""), T("d"), T("c,d"));
    EXPECT(shape, T("a,b,\"\n\n,\"\"\n\"\"\",\"\n\"\n"), 0, T("b"), T("a,b,\"\n\n,\"\"\n\"\"\",\"\n\""));
    EXPECT(shape, T("a,\"\n\""), 0, T("\n"), T("a,\"\n\""));
    shape.cr = INPUT_CR_STRIP;
    EXPECT(shape, T("a,\"b\r\nb\"\r\nc,d\r\n"), 0, T("b\r\nb"), T("a,\"b\r\nb\"\r"), T("d"), T("c,d\r"));
    shape.cr = INPUT_CR_UNDECIDED;
    shape.delim = ';';
    EXPECT(shape, T("a;\"b\nc;d\"\n"), 0, T("b\nc;d"), T("a;\"b\nc;d\""));
    EXPECT(shape, T("a;\"b;\nb\";c,d\n"), 0, T("b;\nb"), T("a;\"b;\nb\";c,d"));
    shape.quotes = false;
    EXPECT(shape, T("a;\"b\nc;d\"\n"), 0, T("\"b"), T("a;\"b"), T("d\""), T("c;d\""));
}

TEST(csv_skips_the_first_line_of_a_record_that_does_not_end) {
    input_shape shape = lines();
    shape.field = 2;
    shape.delim = ',';
    shape.quotes = true;
    shape.skip_bad = true;
    /* open until the end of the file; a quote with text after it; and another bad record after the skipped line */
    EXPECT(shape, T("a,\"b\nc,d\ne,f"), 1, T("d"), T("c,d"), T("f"), T("e,f"));
    EXPECT(shape, T("a,\"b\nc,d\ne,\"f\"\n"), 1, T("d"), T("c,d"), T("f"), T("e,\"f\""));
    EXPECT(shape, T("a,\"b\nx\",\"\nc,d\nx\",\"\ne,f"), 3, T("d"), T("c,d"), T("f"), T("e,f"));
    EXPECT(shape, T("a,\"b\nc,\"d\nd\"\n\"\n"), 2, T("d\nd"), T("c,\"d\nd\""));
}

/* Reads records of several lines across blocks. If open_bytes is not 0, one quote stays open for that many bytes, more
 * than a record may have. */
static void compare_csv(size_t open_bytes) {
    input_shape shape = lines();
    shape.field = 1;
    shape.delim = ',';
    shape.quotes = true;
    shape.skip_bad = true;
    bytes content = {NULL, 0, 0}, wanted = {NULL, 0, 0};
    uint64_t skipped = 0;
    if (open_bytes > 0) {
        put(&content, "0,\"open\n", 8);
        skipped = 1;
    }
    while (content.used < open_bytes + 1000000) {
        size_t start = content.used;
        put(&content, "1,", 2);
        if (content.used > open_bytes) {
            put(&content, "\"", 1);
            for (uint64_t left = random_word() % 300; left > 0; left--)
                put(&content, "text, \"\"\n", 1 + random_word() % 2 * 8);
            put(&content, "\"", 1);
        } else {
            put(&content, "a record without quotes, of this length or shorter", random_word() % 51);
        }
        put_record(&wanted, content.at + start, 1, content.at + start, content.used - start);
        put(&content, "\n", 1);
    }
    file_of(content.at, content.used);
    expect_bytes(&shape, &wanted, skipped);
    free(content.at);
    free(wanted.at);
}

TEST(csv_records_come_whole_across_blocks_and_a_quote_is_searched_for_4_mib) {
    state = 11;
    compare_csv(0);
    compare_csv(((size_t)4 << 20) - 1000);
    compare_csv(((size_t)4 << 20) + 1000);
    compare_csv((size_t)6 << 20);
}

TEST(json_fields_are_strings_or_numbers) {
    input_shape shape = lines();
    shape.json_field = "id";
    shape.skip_bad = true;
    EXPECT(shape, T("{\"id\":\"x\"}\n"), 0, T("x"), T("{\"id\":\"x\"}"));
    EXPECT(shape, T(" { \"id\" : -1.50e+3 , \"b\":[] } \r\n"), 0, T("-1.50e+3"),
           T(" { \"id\" : -1.50e+3 , \"b\":[] } \r"));
    EXPECT(shape, T("{\"a\":{\"id\":1,\"b\":[{\"id\":2},[],{}]},\"id\":0}\n"), 0, T("0"),
           T("{\"a\":{\"id\":1,\"b\":[{\"id\":2},[],{}]},\"id\":0}"));
    EXPECT(shape, T("{\"a\":[1,2.5,true,false,null,\"x\"],\"id\":\"\"}\n"), 0, T(""),
           T("{\"a\":[1,2.5,true,false,null,\"x\"],\"id\":\"\"}"));
    EXPECT(shape, T("{\"id\":\"first\",\"id\":\"last\"}\n"), 0, T("last"), T("{\"id\":\"first\",\"id\":\"last\"}"));
    EXPECT(shape, T("{\"\\u0069d\":\"y\"}\n"), 0, T("y"), T("{\"\\u0069d\":\"y\"}"));
}

TEST(typed_json_keys_distinguish_numbers_and_strings) {
    input_shape shape = lines();
    shape.json_field = "k";
    shape.json_typed = true;
    shape.skip_bad = true;
    EXPECT(shape, T("{\"k\":1}\n{\"k\":\"1\"}\n{\"k\":1.0}\n"), 0, T("\0001"), T("{\"k\":1}"), T("1"),
           T("{\"k\":\"1\"}"), T("\0001.0"), T("{\"k\":1.0}"));
    EXPECT(shape, T("{\"k\":\"\\u00001\"}\n{\"k\":\"\\u0000\\u00001\"}\n{\"k\":\"\\u0000\"}\n{\"k\":\"\"}\n"), 0,
           T("\0\0001"), T("{\"k\":\"\\u00001\"}"), T("\0\0\0001"), T("{\"k\":\"\\u0000\\u00001\"}"), T("\0\0"),
           T("{\"k\":\"\\u0000\"}"), T(""), T("{\"k\":\"\"}"));
    EXPECT(shape, T("{\"k\":\"x\",\"k\":5}\n{\"k\":5,\"k\":\"5\"}\n"), 0, T("\0005"), T("{\"k\":\"x\",\"k\":5}"),
           T("5"), T("{\"k\":5,\"k\":\"5\"}"));
    shape.trim = true;
    shape.fold = true;
    EXPECT(shape, T("{\"k\":1E5}\n{\"k\":\" \\u00001E5\"}\n{\"k\":\" A \"}\n"), 0, T("\0001e5"), T("{\"k\":1E5}"),
           T("\0\0001e5"), T("{\"k\":\" \\u00001E5\"}"), T("a"), T("{\"k\":\" A \"}"));
    shape.hex = true;
    EXPECT(shape, T("{\"k\":12}\n{\"k\":\"0012\"}\n"), 1, T("\0\022"), T("{\"k\":\"0012\"}"));
}

TEST(json_escapes_become_utf8) {
    input_shape shape = lines();
    shape.json_field = "k";
    EXPECT(shape, T("{\"k\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}\n"), 0, T("\"\\/\b\f\n\r\t"),
           T("{\"k\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"));
    EXPECT(shape, T("{\"k\":\"a\\u0000b\\u00e9c\\u20ACd\\uD83D\\ude00e\"}\n"), 0,
           T("a\0b\303\251c\342\202\254d\360\237\230\200e"), T("{\"k\":\"a\\u0000b\\u00e9c\\u20ACd\\uD83D\\ude00e\"}"));
    EXPECT(shape, T("{\"k\":\"\303\251\342\202\254\360\237\230\200\"}\n"), 0, T("\303\251\342\202\254\360\237\230\200"),
           T("{\"k\":\"\303\251\342\202\254\360\237\230\200\"}"));
}

TEST(what_is_not_json_is_bad) {
    const text BAD[] = {
        T(""),
        T(" "),
        T("x"),
        T("1"),
        T("[]"),
        T("[{\"k\":1}]"),
        T("{"),
        T("{}"),
        T("{\"k\"}"),
        T("{\"k\":}"),
        T("{\"k\":1"),
        T("{\"k\":1,}"),
        T("{,\"k\":1}"),
        T("{\"k\":1}}"),
        T("{\"k\":1} x"),
        T("{\"k\":1}{\"k\":1}"),
        T("{'k':1}"),
        T("{k:1}"),
        T("{\"k\":01}"),
        T("{\"k\":+1}"),
        T("{\"k\":1.}"),
        T("{\"k\":.5}"),
        T("{\"k\":1e}"),
        T("{\"k\":-}"),
        T("{\"k\":0x1}"),
        T("{\"k\":NaN}"),
        T("{\"k\":true}"),
        T("{\"k\":null}"),
        T("{\"k\":[1]}"),
        T("{\"k\":{\"k\":1}}"),
        T("{\"K\":1}"),
        T("{\"kk\":1}"),
        T("{\"k\":1,\"k\":null}"),
        T("{\"k\":\"a}"),
        T("{\"k\":\"\\x\"}"),
        T("{\"k\":\"\\u12\"}"),
        T("{\"k\":\"\\u12g4\"}"),
        T("{\"k\":\"\\ud800\"}"),
        T("{\"k\":\"\\udc00\"}"),
        T("{\"k\":\"\\ud800\\u0041\"}"),
        T("{\"k\":\"\\ud800\\"),
        T("{\"k\":\"\t\"}"),
        T("{\"k\":\"\377\"}"),
        T("{\"k\":\"\300\200\"}"),
        T("{\"k\":\"\340\200\200\"}"),
        T("{\"k\":\"\355\240\200\"}"),
        T("{\"k\":\"\364\220\200\200\"}"),
        T("{\"k\":\"\303\"}"),
        T("{\"k\":1,\"a\":[1,2}"),
        T("{\"k\":1,\"a\":{\"b\":1]}"),
        T("{\"k\":1,\"a\":[,]}"),
        T("{\"k\":1,\"a\":[1,]}"),
        T("{\"k\":1,\"a\":tru}"),
        T("{\"k\":1 \"a\":2}"),
        T("{\"k\":1\0}"),
        T("{\"k\":\"\\"),
        T("{\"k\":\"\\u"),
        T("{\"k\":1,\"a\":\"\\q\"}"),
    };
    input_shape shape = lines();
    shape.json_field = "k";
    shape.skip_bad = true;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        bytes content = {NULL, 0, 0};
        put(&content, BAD[i].at, BAD[i].n);
        put(&content, "\n{\"k\":7}\n", 9);
        EXPECT(shape, ((text){content.at, content.used}), 1, T("7"), T("{\"k\":7}"));
        free(content.at);
    }
}

TEST(json_may_nest_a_thousand_deep_and_no_deeper) {
    input_shape shape = lines();
    shape.json_field = "k";
    shape.skip_bad = true;
    for (unsigned depth = 1000; depth < 100000; depth *= 50) {
        bytes content = {NULL, 0, 0};
        put(&content, "{\"a\":", 5);
        for (unsigned i = 0; i < depth; i++)
            put(&content, i % 2 ? "[" : "{\"k\":", i % 2 ? 1 : 5);
        put(&content, "1", 1);
        for (unsigned i = depth; i-- > 0;)
            put(&content, i % 2 ? "]" : "}", 1);
        put(&content, ",\"k\":2}", 7);
        text line = {content.at, content.used};
        if (depth < 1024)
            EXPECT(shape, line, 0, T("2"), line);
        else
            expect(&shape, line, (const text[]){{NULL, 0}}, 1);
        free(content.at);
    }
}

TEST(keys_are_trimmed_folded_and_unhexed) {
    input_shape shape = lines();
    shape.trim = true;
    EXPECT(shape, T(" \ta b\v \n \n"), 0, T("a b"), T(" \ta b\v "), T(""), T(" "));
    shape.fold = true;
    EXPECT(shape, T(" A\303\204z[@ \n"), 0, T("a\303\204z[@"), T(" A\303\204z[@ "));
    shape.hex = true;
    shape.skip_bad = true;
    EXPECT(shape, T(" 00fFAb\n\n1\n1g\n:0\n"), 3, T("\000\377\253"), T(" 00fFAb"), T(""), T(""));
    shape.field = 1;
    shape.delim = ':';
    EXPECT(shape, T("5BAA:3\n"), 0, T("\x5b\xaa"), T("5BAA:3"));
    shape.delim = ',';
    shape.quotes = true;
    shape.field = 2;
    EXPECT(shape, T("x,\" 41\"\"\"\nx,\" 4142 \"\n"), 1, T("AB"), T("x,\" 4142 \""));
}

TEST(lines_do_not_continue_in_the_next_file) {
    input_shape shape = lines();
    bytes wanted = {NULL, 0, 0};
    for (unsigned i = 0; i < PATHS_MAX; i++) {
        char line[32];
        int n = snprintf(line, sizeof line, "file %u", i);
        if (i % 7 != 0) {
            put_record(&wanted, line, (size_t)n, line, (size_t)n);
            if (i % 2)
                strcat(line, "\n");
        }
        file_of(line, i % 7 != 0 ? strlen(line) : 0);
    }
    expect_bytes(&shape, &wanted, 0);
    free(wanted.at);
}

/* Makes lines with the lengths that `length` returns, until there are `total` bytes. */
static void compare_lines(size_t total, size_t (*length)(void), bool last_newline, const input_shape *shape) {
    bytes content = {malloc(1), 0, 1}, wanted = {NULL, 0, 0};
    while (content.used < total) {
        size_t n = length(), start = content.used;
        for (size_t i = 0; i < n; i += 8) {
            uint64_t word = random_word() | UINT64_C(0x2020202020202020);
            put(&content, &word, n - i < 8 ? n - i : 8);
        }
        put_record(&wanted, content.at + start, n, content.at + start, n);
        put(&content, "\n", 1);
    }
    file_of(content.at, content.used - (last_newline ? 0 : 1));
    expect_bytes(shape, &wanted, 0);
    free(content.at);
    free(wanted.at);
}

static size_t none(void) {
    return 0;
}

static size_t about_20(void) {
    return random_word() % 40;
}

static size_t about_a_block(void) {
    return (256 << 10) - 3 + random_word() % 6;
}

static size_t ten_megabytes(void) {
    return 10000000;
}

static size_t mixed(void) {
    return random_word() % 50 == 0 ? random_word() % 700000 : random_word() % 100;
}

TEST(lines_of_every_length_come_whole_across_blocks) {
    input_shape plain = lines(), shaped = lines();
    shaped.cr = INPUT_CR_STRIP; /* uses the other code path of the splitter; these lines have no CR */
    state = 7;
    const input_shape *shapes[] = {&plain, &shaped};
    for (size_t i = 0; i < 2; i++) {
        compare_lines(1000000, none, true, shapes[i]);
        compare_lines(3000000, about_20, true, shapes[i]);
        compare_lines(3000000, about_20, false, shapes[i]);
        compare_lines(3000000, about_a_block, true, shapes[i]);
        compare_lines(25000000, ten_megabytes, false, shapes[i]);
        compare_lines(8000000, mixed, true, shapes[i]);
    }
}

/* ---- keys that are hashed as they are read ---- */

static void digest_each(const void *context, const input_record *records, size_t n, uint64_t *digests) {
    for (size_t i = 0; i < n; i++)
        digests[i] = kith_digest(context, records[i].key, records[i].key_bytes);
}

static bytes read_digests(input_shape shape, unsigned threads, uint64_t *skipped) {
    shape.threads = threads;
    shape.digest = digest_each;
    shape.digest_context = &shape.hash;
    bytes got = {NULL, 0, 0};
    input *in = input_open(path_list, path_count, &shape);
    const input_record *records;
    for (size_t n; (n = input_next(in, &records)) > 0;)
        put(&got, input_digests(in), n * sizeof(uint64_t));
    *skipped = input_skipped(in);
    input_close(in);
    return got;
}

/* Lines around the size of a block and of the pieces that are read, with CRs at every place where a line may be cut. */
static void put_long_lines(void) {
    bytes content = {NULL, 0, 0};
    for (unsigned i = 0; i < 60; i++) {
        size_t n = i % 3 == 0 ? random_word() % 100 : INPUT_RECORD_BYTES * (1 + i % 4) - 600 + random_word() % 1200;
        char *line = malloc(n + 3);
        for (size_t at = 0; at < n; at++) {
            char c = (char)(random_word() >> 7);
            line[at] = c == '\n' || c == '\0' ? '\r' : c;
        }
        for (size_t at = n < 2000 ? 0 : n - 2000; at < n; at++)
            line[at] = '\r';
        if (i % 5 == 0)
            line[n++] = 'x';
        if (i < 59)
            line[n++] = '\n';
        put(&content, line, n);
        free(line);
        if (i == 30 || i == 59) {
            file_of(content.at, content.used);
            content.used = 0;
        }
    }
    free(content.at);
}

TEST(long_keys_have_the_same_digests_when_they_are_hashed_as_they_are_read) {
    static const kith_hash HASHES[] = {{KITH_HASH_XXH3, 7, {0}}, {KITH_HASH_SIPHASH, 0, {1, 2, 3}}};
    state = 99;
    for (unsigned round = 0; round < 12; round++) {
        input_shape shape = lines();
        shape.hash = HASHES[round % 2];
        shape.skip_bad = true;
        shape.cr = round % 3 == 0 ? INPUT_CR_STRIP : INPUT_CR_KEEP;
        shape.fold = round % 4 >= 2;
        if (round >= 10) {
            shape.cr = INPUT_CR_KEEP;
            shape.fixed_bytes = round == 10 ? INPUT_RECORD_BYTES + 1 : 3 * INPUT_RECORD_BYTES;
        }
        put_long_lines();
        for (unsigned threads = 1; threads <= 2; threads++) {
            uint64_t skipped, skipped_streamed;
            shape.digest_only = false;
            shape.memory = 0;
            bytes whole = read_digests(shape, threads, &skipped);
            shape.digest_only = true;
            shape.memory = 1;
            bytes streamed = read_digests(shape, threads, &skipped_streamed);
            CHECK(whole.used > 0);
            CHECK_EQ_U64(whole.used, streamed.used);
            CHECK(memcmp(whole.at, streamed.at, whole.used) == 0);
            CHECK_EQ_U64(skipped, skipped_streamed);
            free(whole.at);
            free(streamed.at);
        }
        remove_files();
    }
}

/* Together, blocks that are in use never have more than the limit. */
TEST(long_lines_wait_for_the_blocks_before_them) {
    bytes wanted = {NULL, 0, 0}, content = {NULL, 0, 0};
    for (unsigned i = 0; i < 40; i++) {
        size_t n = INPUT_RECORD_BYTES * (1 + i % 7) - i;
        char *line = malloc(n);
        memset(line, 'a' + (int)i % 26, n);
        line[n - 1] = '\n';
        put(&content, line, n);
        put_record(&wanted, line, n - 1, line, n - 1);
        free(line);
    }
    file_of(content.at, content.used);
    input_shape shape = lines();
    shape.memory = 7 * INPUT_RECORD_BYTES;
    expect_bytes(&shape, &wanted, 0);
    free(content.at);
    free(wanted.at);
}

/* The pipe stays open: a line that was delayed to recognise the format would never arrive. */
TEST(closing_early_stops_a_reader_that_waits) {
    for (int nul_ended = 0; nul_ended < 2; nul_ended++) {
        int ends[2];
        CHECK(pipe(ends) == 0);
        int kept = dup(STDIN_FILENO);
        CHECK(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
        CHECK(write(ends[1], nul_ended ? "a\0b" : "a\nb", 3) == 3);
        input_shape shape = lines();
        shape.end = nul_ended ? '\0' : '\n';
        shape.threads = 2;
        input *in = input_open(NULL, 0, &shape);
        const input_record *records;
        CHECK_EQ_U64(input_bytes_total(in), 0);
        CHECK_EQ_U64(input_next(in, &records), 1); /* lines of a pipe are returned before it waits for more */
        CHECK(records[0].line_bytes == 1 && records[0].line[0] == 'a');
        input_close(in);
        if (kept >= 0)
            dup2(kept, STDIN_FILENO);
        close(kept);
        close(ends[0]);
        close(ends[1]);
    }
}

TEST(closing_early_stops_a_reader_that_is_ahead) {
    bytes content = {NULL, 0, 0};
    for (unsigned i = 0; i < 400000; i++)
        put(&content, "some line\n", 10);
    file_of(content.at, content.used);
    input_shape shape = lines();
    for (shape.threads = 1; shape.threads <= 2; shape.threads++) {
        input *in = input_open(path_list, path_count, &shape);
        const input_record *records;
        CHECK(input_next(in, &records) > 0);
        input_close(in);
        input_close(input_open(path_list, path_count, &shape));
    }
    remove_files();
    free(content.at);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
