/* Damaged archives: every byte of a small archive of each format is replaced by every other value, and every length is
 * cut. None of them may be read as if it were text. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cli/input/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "cli_faults/packed.h"
#include "folder.h"

static _Atomic uint64_t bytes_done;
/* Without the check for NULs, which would hide most failures. */
static const source_rules LINES = {.unpack = true, .lines = true, .check = true, .nuls = SOURCE_NULS_KEPT, .end = '\n'};

typedef struct text {
    char bytes[4096];
    size_t n;
} text;

/* Reads a file to its end, and keeps the beginning of a long one. Returns false if that fails. */
static bool read_file(source *s, const char *path, const source_rules *rules, text *t) {
    char piece[1000];
    long long got = -1;
    t->n = 0;
    if (source_open(s, path, rules))
        while ((got = source_read(s, piece, sizeof piece)) > 0)
            for (long long i = 0; i < got && t->n < sizeof t->bytes; i++)
                t->bytes[t->n++] = piece[i];
    source_close(s);
    return got == 0;
}

static bool same(const text *a, const text *b) {
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* Writes in place: some file systems write a file to the disk when it is truncated and then written again. */
static void put(const char *path, const char *bytes, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n && ftruncate(fd, (off_t)n) == 0 && close(fd) == 0);
}

static struct folder f;
static source s;

/* Writes the bytes, and counts what reading them gives. A file that is read must have the text of the archive. */
typedef struct counts {
    unsigned refused, whole, as_text;
} counts;

static void judge(const char *path, const char *bytes, size_t n, const text *wanted, counts *c) {
    text got;
    put(path, bytes, n);
    bool is_read = read_file(&s, path, &LINES, &got);
    c->refused += !is_read;
    c->whole += is_read && same(&got, wanted);
    c->as_text += is_read && !same(&got, wanted);
}

TEST(no_damaged_archive_is_read_as_text) {
    f = fresh_folder();
    source_prepare(&s, &bytes_done, -1);
    counts all = {0};
    for (size_t i = 0; i < sizeof PACKED / sizeof *PACKED; i++) {
        const struct packed *p = &PACKED[i];
        char path[256], bytes[1024];
        text wanted;
        counts c = {0};
        CHECK(p->byte_count <= sizeof bytes);
        (void)snprintf(path, sizeof path, "%s", in(&f, p->name));
        put(path, p->bytes, p->byte_count);
        if (!read_file(&s, path, &LINES, &wanted))
            continue; /* this build has no library for the format */
        memcpy(bytes, p->bytes, p->byte_count);
        for (size_t at = 0; at < p->byte_count; at++) {
            for (unsigned change = 1; change < 256; change += at < 20 ? 1 : 17) {
                bytes[at] = (char)(p->bytes[at] ^ (char)change);
                judge(path, bytes, p->byte_count, &wanted, &c);
            }
            bytes[at] = p->bytes[at];
        }
        for (size_t n = 0; n < p->byte_count; n++)
            judge(path, bytes, n, &wanted, &c);
        printf("shows: %s: %u damaged archives refused, %u read in full, %u read as text\n", p->name, c.refused,
               c.whole, c.as_text);
        CHECK_EQ_U64(c.as_text, 0);
        CHECK(c.refused > 2 * c.whole);
        all.refused += c.refused;
    }
    printf("shows: %u damaged archives refused\n", all.refused);
    source_release(&s);
    remove_folder(&f);
}

/* Without a name, a gzip header is recognised as damaged by its first two bytes. */
TEST(a_damaged_gzip_header_is_refused_without_a_name) {
    f = fresh_folder();
    source_prepare(&s, &bytes_done, -1);
    const struct packed *p = &PACKED[0];
    char path[256], bytes[1024];
    (void)snprintf(path, sizeof path, "%s", in(&f, "pipe"));
    memcpy(bytes, p->bytes, p->byte_count);
    text got;
    for (unsigned at = 2; at < 4; at++) {
        for (unsigned value = at == 2 ? 0 : 0x20; value < 256; value++) {
            bytes[at] = (char)value;
            put(path, bytes, p->byte_count);
            if (at == 3 || value != 8)
                CHECK(!read_file(&s, path, &LINES, &got) && strstr(s.reason, "its header is damaged") != NULL);
        }
        bytes[at] = p->bytes[at];
    }
    source_release(&s);
    remove_folder(&f);
}

TEST(text_reads_any_bytes_under_any_name) {
    f = fresh_folder();
    source_prepare(&s, &bytes_done, -1);
    source_rules as_text = {.lines = true, .end = '\n'};
    text got;
    put(in(&f, "x.gz"), "a\0b\n", 4);
    CHECK(read_file(&s, in(&f, "x.gz"), &as_text, &got));
    CHECK(got.n == 4 && memcmp(got.bytes, "a\0b\n", 4) == 0);
    source_release(&s);
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
