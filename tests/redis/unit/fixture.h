/* fixture.h: reads the files of tests/redis/fixtures, which its README.md describes. */
#ifndef KITH_TESTS_REDIS_FIXTURE_H
#define KITH_TESTS_REDIS_FIXTURE_H

#include "check.h"

/* The bytes of fixture KEY.suffix, followed by a 0 byte. To be freed. */
static inline unsigned char *fixture_read(const char *key, const char *suffix, size_t *bytes) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/redis/fixtures/%s.%s", KITH_SOURCE_DIR, key, suffix);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        CHECK_FAIL("cannot open %s", path);
    size_t most = (size_t)1 << 20;
    unsigned char *content = malloc(most);
    *bytes = fread(content, 1, most - 1, file);
    fclose(file);
    content[*bytes] = 0;
    return content;
}

/* Calls line(context, words, count) for each line of a text fixture. */
static inline void fixture_lines(const char *key, const char *suffix,
                                 void (*line)(void *context, char **words, size_t count), void *context) {
    size_t bytes;
    char *content = (char *)fixture_read(key, suffix, &bytes), *rest = content, *next;
    static char *words[1000];
    while ((next = strchr(rest, '\n')) != NULL) {
        *next = 0;
        size_t count = 0;
        for (char *word = strtok(rest, " "); word != NULL; word = strtok(NULL, " "))
            words[count++] = word;
        line(context, words, count);
        rest = next + 1;
    }
    free(content);
}

static inline uint64_t fixture_u64(const unsigned char *from) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* A chunk of KEY.chunks. */
struct chunk {
    uint64_t cursor;
    const unsigned char *bytes;
    size_t byte_count;
};

struct chunks {
    unsigned char *content;
    struct chunk chunk[16];
    size_t count;
};

static inline struct chunks fixture_chunks(const char *key) {
    size_t bytes;
    struct chunks chunks = {.content = fixture_read(key, "chunks", &bytes)};
    for (size_t at = 0; at < bytes; chunks.count++) {
        struct chunk *c = &chunks.chunk[chunks.count];
        c->cursor = fixture_u64(chunks.content + at);
        c->byte_count = (size_t)fixture_u64(chunks.content + at + 8);
        c->bytes = chunks.content + at + 16;
        at += 16 + c->byte_count;
    }
    return chunks;
}

/* The fields of KEY.dump in their order: values of a module type in an RDB file. */
struct fields {
    unsigned char *content, *next, *end;
};

static inline uint64_t field_length(struct fields *f) {
    unsigned char first = *f->next++;
    unsigned more = first == 0x81 ? 8 : first == 0x80 ? 4 : first >> 6;
    uint64_t value = more > 1 ? 0 : first & 63;
    while (more-- > 0)
        value = value << 8 | *f->next++;
    return value;
}

/* Skips the type, the module's name and version. The payload ends with its RDB version and a checksum. */
static inline struct fields fixture_fields(const char *key) {
    size_t bytes;
    struct fields f = {.content = fixture_read(key, "dump", &bytes)};
    f.next = f.content + 1;
    f.end = f.content + bytes - 10;
    field_length(&f);
    return f;
}

static inline uint64_t field_u64(struct fields *f) {
    CHECK_EQ_U64(field_length(f), 2);
    return field_length(f);
}

static inline double field_f64(struct fields *f) {
    CHECK_EQ_U64(field_length(f), 4);
    uint64_t bits = fixture_u64(f->next);
    double value;
    memcpy(&value, &bits, sizeof value);
    f->next += 8;
    return value;
}

static inline const unsigned char *field_string(struct fields *f, uint64_t *bytes) {
    CHECK_EQ_U64(field_length(f), 5);
    *bytes = field_length(f);
    f->next += *bytes;
    return f->next - *bytes;
}

/* All fields were read. */
static inline void fields_end(struct fields *f) {
    CHECK_EQ_U64(field_length(f), 0);
    CHECK(f->next == f->end);
    free(f->content);
}

#endif
