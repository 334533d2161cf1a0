/* files.h: what golden and golden_tables share: the folder of golden files, whole files in memory, and their
 * comparison. A call that can't do what it is asked fails the test. */
#ifndef KITH_TESTS_GOLDEN_FILES_H
#define KITH_TESTS_GOLDEN_FILES_H

#include <errno.h>
#include <stdarg.h>

#include "check.h"

#define FOLDER KITH_SOURCE_DIR "/tests/golden/"

enum { HEADER_BYTES = 192, PATH_BYTES_MAX = 1024 };

static inline const char *golden_path(const char *name, char path[PATH_BYTES_MAX]) {
    int length = snprintf(path, PATH_BYTES_MAX, "%s%s.kith", FOLDER, name);
    CHECK(length > 0 && length < PATH_BYTES_MAX);
    return path;
}

/* A growing string of bytes, with a 0 behind the last. */
typedef struct text {
    char *at;
    size_t used, size;
} text;

static inline void append_bytes(text *t, const void *bytes, size_t count) {
    if (t->size - t->used <= count) {
        t->size = 2 * t->size + count + 1;
        char *larger = realloc(t->at, t->size);
        CHECK(larger != NULL);
        t->at = larger;
    }
    memcpy(t->at + t->used, bytes, count);
    t->used += count;
    t->at[t->used] = 0;
}

__attribute__((format(printf, 2, 3))) static inline void append(text *t, const char *format, ...) {
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && (size_t)length < sizeof piece);
    append_bytes(t, piece, (size_t)length);
}

static inline text read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        CHECK_FAIL("%s: %s", path, strerror(errno));
    text t = {NULL, 0, 0};
    char piece[4096];
    size_t count;
    append_bytes(&t, "", 0);
    while ((count = fread(piece, 1, sizeof piece, file)) > 0)
        append_bytes(&t, piece, count);
    CHECK(!ferror(file));
    fclose(file);
    return t;
}

static inline void write_file(const char *path, const text *t) {
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        CHECK_FAIL("%s: %s", path, strerror(errno));
    bool written = fwrite(t->at, 1, t->used, file) == t->used;
    CHECK(fclose(file) == 0 && written);
}

static inline void check_same_bytes(const char *name, const void *got, size_t got_bytes, const text *want) {
    const char *bytes = got;
    size_t at = 0;
    while (at < got_bytes && at < want->used && bytes[at] == want->at[at])
        at++;
    if (at < got_bytes || at < want->used)
        CHECK_FAIL("%s: %zu bytes, not %zu; the first that differs is at %zu", name, got_bytes, want->used, at);
}

static inline uint64_t number_at(const text *file, size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)(uint8_t)file->at[at + i] << (8 * i);
    return value;
}

#endif
