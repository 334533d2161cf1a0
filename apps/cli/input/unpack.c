/* input/unpack.c: decompresses five formats through one interface.
 *
 *     format   first bytes                             library   names end in   zero bytes may follow
 *     gzip     1f 8b 08, flags below 20                zlib      .gz            yes (padding on tapes)
 *     zstd     28 b5 2f fd, or 5? 2a 4d 18             libzstd   .zst           no
 *     xz       fd 37 7a 58 5a 00                       liblzma   .xz            yes
 *     bzip2    "BZh", a digit, and a block or the end  libbz2    .bz2           no
 *     lz4      04 22 4d 18, or 5? 2a 4d 18 before it   liblz4    .lz4           no
 *
 * A file whose name ends like that of an archive has to be one of this format: if its first bytes are damaged, only the
 * name says so. A gzip header with flags that must be 0, or with another method, is damaged whatever the name, because
 * text does not begin with 1f 8b.
 *
 * Several archives may be concatenated. If an archive is followed by anything else, that is an error.
 *
 * The signature of gzip has only two bytes. Its method and the flags that must be 0 are checked as well, so that binary
 * lines are mistaken for an archive with a probability of 2^-27 instead of 2^-16. The signature of bzip2 is readable
 * text; the six bytes after it, which are the same in every archive, are compared as well.
 *
 * zstd and lz4 share their skippable frames (5? 2a 4d 18 and a length). A file that begins with such frames is lz4 if
 * an lz4 frame follows them within the bytes read so far, up to 128 KiB, and otherwise zstd; pzstd writes such files.
 *
 * An archive can request a window of gigabytes, from which the decompressor copies what occurred before. zstd --long
 * makes one of 128 MiB, which is the most that zstd itself accepts by default; the highest preset of xz needs half of
 * that. With little --memory, less is accepted. zstd -19 has a window of 8 MiB, and so has xz without options; bzip2
 * needs at most 4 MB, lz4 9 MB. */
#include "cli/input/unpack.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/values.h"

#ifdef CLI_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef CLI_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef CLI_WITH_LZMA
#include <lzma.h>
#endif
#ifdef CLI_WITH_BZ2
#include <bzlib.h>
#endif
#ifdef CLI_WITH_LZ4
#include <lz4frame.h>
#endif

#define PIECE_MAX ((size_t)1 << 30) /* zlib and libbz2 count in unsigned int */

typedef struct stream {
    const char *in;
    size_t in_bytes;
    char *out;
    size_t out_bytes;
} stream;

/* Reduces both lengths by what was read and written. */
typedef const char *step_function(unpacker *u, stream *s);

typedef struct format {
    const char *name, *suffix;
    const char *signature; /* the part that is the same in every file and has no zero byte */
    bool (*begins)(const uint8_t *head, size_t head_bytes);
    bool (*may_begin)(uint8_t first); /* whether another archive may begin with this byte */
    bool zeroes_follow;
    bool (*open)(unpacker *u); /* NULL: not in this build */
    bool (*again)(unpacker *u);
    step_function *step;
    void (*close)(unpacker *u);
} format;

struct unpacker {
    const format *format;
    bool inside;     /* in the middle of an archive */
    uint64_t memory; /* limit */
    union {
#ifdef CLI_WITH_ZLIB
        z_stream gzip;
#endif
#ifdef CLI_WITH_ZSTD
        ZSTD_DStream *zstd;
#endif
#ifdef CLI_WITH_LZMA
        lzma_stream xz;
#endif
#ifdef CLI_WITH_BZ2
        bz_stream bzip2;
#endif
#ifdef CLI_WITH_LZ4
        LZ4F_dctx *lz4;
#endif
        char none;
    } state;
    char reason[120];
};

static const char *damaged(unpacker *u, const char *detail) {
    snprintf(u->reason, sizeof u->reason, "the %s archive is damaged%s%s", u->format->name, detail[0] ? ": " : "",
             detail);
    return u->reason;
}

#if defined CLI_WITH_ZSTD || defined CLI_WITH_LZMA
static const char *too_much(unpacker *u) {
    value_text limit;
    snprintf(u->reason, sizeof u->reason, "the %s archive needs more than the %s that --memory leaves for it",
             u->format->name, text_of_size(u->memory, limit));
    return u->reason;
}
#endif

static const char *cut(unpacker *u) {
    snprintf(u->reason, sizeof u->reason, "the %s archive is truncated: its end is missing", u->format->name);
    return u->reason;
}

static const char *followed(unpacker *u) {
    snprintf(u->reason, sizeof u->reason, "the %s archive is followed by other data", u->format->name);
    return u->reason;
}

static bool begins_gzip(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 4 && memcmp(head, "\x1f\x8b\x08", 3) == 0 && head[3] < 0x20;
}

static bool is_skippable(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 4 && (head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool begins_lz4(const uint8_t *head, size_t head_bytes) {
    while (is_skippable(head, head_bytes) && head_bytes >= 8) {
        uint64_t frame_bytes =
            8 + ((uint64_t)head[4] | (uint64_t)head[5] << 8 | (uint64_t)head[6] << 16 | (uint64_t)head[7] << 24);
        if (frame_bytes > head_bytes)
            return false;
        head += frame_bytes;
        head_bytes -= (size_t)frame_bytes;
    }
    return head_bytes >= 4 && memcmp(head, "\x04\x22\x4d\x18", 4) == 0;
}

static bool begins_zstd(const uint8_t *head, size_t head_bytes) {
    if (is_skippable(head, head_bytes))
        return !begins_lz4(head, head_bytes);
    return head_bytes >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0;
}

static bool begins_xz(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 6 && memcmp(head, "\xfd\x37\x7a\x58\x5a\x00", 6) == 0;
}

/* Six bytes, two of them after the digit, are enough, so that a truncated file is reported as truncated. */
static bool begins_bzip2(const uint8_t *head, size_t head_bytes) {
    if (head_bytes < 6 || memcmp(head, "BZh", 3) != 0 || head[3] < '1' || head[3] > '9')
        return false;
    size_t more = head_bytes < 10 ? head_bytes - 4 : 6;
    return memcmp(head + 4, "\x31\x41\x59\x26\x53\x59", more) == 0 ||
           memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", more) == 0;
}

static bool may_begin_gzip(uint8_t first) {
    return first == 0x1f;
}

static bool may_begin_zstd(uint8_t first) {
    return first == 0x28 || (first & 0xf0) == 0x50;
}

static bool may_begin_xz(uint8_t first) {
    return first == 0xfd;
}

static bool may_begin_bzip2(uint8_t first) {
    return first == 'B';
}

static bool may_begin_lz4(uint8_t first) {
    return first == 0x04 || (first & 0xf0) == 0x50;
}

#ifdef CLI_WITH_ZLIB
static bool gzip_open(unpacker *u) {
    return inflateInit2(&u->state.gzip, 16 + MAX_WBITS) == Z_OK;
}

static bool gzip_again(unpacker *u) {
    return inflateReset(&u->state.gzip) == Z_OK;
}

static const char *gzip_step(unpacker *u, stream *s) {
    z_stream *z = &u->state.gzip;
    z->next_in = (z_const Bytef *)(uintptr_t)s->in;
    z->avail_in = (uInt)(s->in_bytes < PIECE_MAX ? s->in_bytes : PIECE_MAX);
    z->next_out = (Bytef *)s->out;
    z->avail_out = (uInt)(s->out_bytes < PIECE_MAX ? s->out_bytes : PIECE_MAX);
    int result = inflate(z, Z_NO_FLUSH);
    s->in_bytes -= (size_t)((const char *)z->next_in - s->in);
    s->out_bytes -= (size_t)((char *)z->next_out - s->out);
    if (result == Z_MEM_ERROR)
        return "not enough memory";
    if (result == Z_STREAM_END)
        u->inside = false;
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return damaged(u, z->msg != NULL ? z->msg : "");
    return NULL;
}

static void gzip_close(unpacker *u) {
    inflateEnd(&u->state.gzip);
}
#else
#define gzip_open NULL
#define gzip_again NULL
#define gzip_step NULL
#define gzip_close NULL
#endif

#ifdef CLI_WITH_ZSTD
static bool zstd_again(unpacker *u) {
    int window_log = 0;
    while (u->memory >> (window_log + 1) != 0)
        window_log++;
    return !ZSTD_isError(ZSTD_initDStream(u->state.zstd)) &&
           !ZSTD_isError(ZSTD_DCtx_setParameter(u->state.zstd, ZSTD_d_windowLogMax, window_log));
}

static bool zstd_open(unpacker *u) {
    u->state.zstd = ZSTD_createDStream();
    return u->state.zstd != NULL && zstd_again(u);
}

static const char *zstd_step(unpacker *u, stream *s) {
    ZSTD_inBuffer in = {s->in, s->in_bytes, 0};
    ZSTD_outBuffer out = {s->out, s->out_bytes, 0};
    size_t result = ZSTD_decompressStream(u->state.zstd, &out, &in);
    s->in_bytes -= in.pos;
    s->out_bytes -= out.pos;
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return u->memory < UNPACK_MEMORY_MAX ? too_much(u)
                                             : "the zstd archive needs a window of more than 128 MiB: decompress it "
                                               "first, with zstd -d --long=31";
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return "not enough memory";
    if (ZSTD_isError(result))
        return damaged(u, ZSTD_getErrorName(result));
    u->inside = result != 0;
    return NULL;
}

static void zstd_close(unpacker *u) {
    ZSTD_freeDStream(u->state.zstd);
}
#else
#define zstd_open NULL
#define zstd_again NULL
#define zstd_step NULL
#define zstd_close NULL
#endif

#ifdef CLI_WITH_LZMA
static bool xz_open(unpacker *u) {
    u->state.xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&u->state.xz, u->memory, 0) == LZMA_OK;
}

static bool xz_again(unpacker *u) {
    return lzma_stream_decoder(&u->state.xz, u->memory, 0) == LZMA_OK;
}

static const char *xz_step(unpacker *u, stream *s) {
    lzma_stream *x = &u->state.xz;
    x->next_in = (const uint8_t *)s->in;
    x->avail_in = s->in_bytes;
    x->next_out = (uint8_t *)s->out;
    x->avail_out = s->out_bytes;
    lzma_ret result = lzma_code(x, LZMA_RUN);
    s->in_bytes = x->avail_in;
    s->out_bytes = x->avail_out;
    switch (result) {
    case LZMA_STREAM_END:
        u->inside = false;
        return NULL;
    case LZMA_OK:
    case LZMA_BUF_ERROR: /* no progress; the caller detects that */
        return NULL;
    case LZMA_MEM_ERROR:
        return "not enough memory";
    case LZMA_MEMLIMIT_ERROR:
        return u->memory < UNPACK_MEMORY_MAX
                   ? too_much(u)
                   : "the xz archive needs more than 128 MiB of memory: decompress it first, with xz -d";
    default:
        return damaged(u, "");
    }
}

static void xz_close(unpacker *u) {
    lzma_end(&u->state.xz);
}
#else
#define xz_open NULL
#define xz_again NULL
#define xz_step NULL
#define xz_close NULL
#endif

#ifdef CLI_WITH_BZ2
static bool bzip2_open(unpacker *u) {
    return BZ2_bzDecompressInit(&u->state.bzip2, 0, 0) == BZ_OK;
}

static bool bzip2_again(unpacker *u) {
    BZ2_bzDecompressEnd(&u->state.bzip2);
    memset(&u->state.bzip2, 0, sizeof u->state.bzip2);
    return bzip2_open(u);
}

static const char *bzip2_step(unpacker *u, stream *s) {
    bz_stream *z = &u->state.bzip2;
    z->next_in = (char *)(uintptr_t)s->in;
    z->avail_in = (unsigned)(s->in_bytes < PIECE_MAX ? s->in_bytes : PIECE_MAX);
    z->next_out = s->out;
    z->avail_out = (unsigned)(s->out_bytes < PIECE_MAX ? s->out_bytes : PIECE_MAX);
    int result = BZ2_bzDecompress(z);
    s->in_bytes -= (size_t)(z->next_in - s->in);
    s->out_bytes -= (size_t)(z->next_out - s->out);
    switch (result) {
    case BZ_STREAM_END:
        u->inside = false;
        return NULL;
    case BZ_OK:
        return NULL;
    case BZ_MEM_ERROR:
        return "not enough memory";
    case BZ_DATA_ERROR_MAGIC: /* the first archive was recognised, so this follows one */
        return followed(u);
    default:
        return damaged(u, "");
    }
}

static void bzip2_close(unpacker *u) {
    BZ2_bzDecompressEnd(&u->state.bzip2);
}
#else
#define bzip2_open NULL
#define bzip2_again NULL
#define bzip2_step NULL
#define bzip2_close NULL
#endif

#ifdef CLI_WITH_LZ4
static bool lz4_open(unpacker *u) {
    return !LZ4F_isError(LZ4F_createDecompressionContext(&u->state.lz4, LZ4F_VERSION));
}

static bool lz4_again(unpacker *u) {
    LZ4F_resetDecompressionContext(u->state.lz4);
    return true;
}

static const char *lz4_step(unpacker *u, stream *s) {
    size_t used = s->in_bytes, made = s->out_bytes;
    size_t result = LZ4F_decompress(u->state.lz4, s->out, &made, s->in, &used, NULL);
    /* The library exports the names of its errors, but not their numbers. */
    if (LZ4F_isError(result) && strcmp(LZ4F_getErrorName(result), "ERROR_allocation_failed") == 0)
        return "not enough memory";
    if (LZ4F_isError(result))
        return damaged(u, LZ4F_getErrorName(result));
    s->in_bytes -= used;
    s->out_bytes -= made;
    u->inside = result != 0;
    return NULL;
}

static void lz4_close(unpacker *u) {
    LZ4F_freeDecompressionContext(u->state.lz4);
}
#else
#define lz4_open NULL
#define lz4_again NULL
#define lz4_step NULL
#define lz4_close NULL
#endif

#define CALLS(format) begins_##format, may_begin_##format
#define STEPS(format) format##_open, format##_again, format##_step, format##_close
static const format FORMATS[] = {
    {"gzip", ".gz", "\x1f\x8b\x08", CALLS(gzip), true, STEPS(gzip)},
    {"zstd", ".zst", "\x28\xb5\x2f\xfd", CALLS(zstd), false, STEPS(zstd)},
    {"xz", ".xz", "\xfd\x37\x7a\x58\x5a", CALLS(xz), true, STEPS(xz)},
    {"bzip2", ".bz2", "BZh", CALLS(bzip2), false, STEPS(bzip2)},
    {"lz4", ".lz4", "\x04\x22\x4d\x18", CALLS(lz4), false, STEPS(lz4)},
};

static const format *format_named(const char *path) {
    size_t bytes = strlen(path);
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        size_t suffix_bytes = strlen(FORMATS[i].suffix);
        if (bytes > suffix_bytes && strcasecmp(path + bytes - suffix_bytes, FORMATS[i].suffix) == 0)
            return &FORMATS[i];
    }
    return NULL;
}

static const format *format_beginning(const char *head, size_t head_bytes) {
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (FORMATS[i].begins((const uint8_t *)head, head_bytes))
            return &FORMATS[i];
    return NULL;
}

bool unpack_knows_name(const char *path) {
    return format_named(path) != NULL;
}

const char *unpack_format_of(const char *head, size_t head_bytes) {
    const format *found = format_beginning(head, head_bytes);
    return found != NULL ? found->name : NULL;
}

/* A file with the name of an archive and too few bytes to be one is not an empty list; it was not written completely.
 * Returns true, with the reason, if all bytes of the file agree with the beginning of the signature. */
static bool is_stub(const format *named, const char *head, size_t head_bytes, char *reason, size_t reason_bytes) {
    size_t compared = strlen(named->signature);
    if (compared > head_bytes)
        compared = head_bytes;
    if (head_bytes >= UNPACK_HEAD_BYTES || memcmp(head, named->signature, compared) != 0)
        return false;
    if (head_bytes == 0)
        snprintf(reason, reason_bytes, "is empty, so it is not a %s archive: it was not written completely",
                 named->name);
    else
        snprintf(reason, reason_bytes, "the %s archive is truncated: its end is missing", named->name);
    return true;
}

/* Returns true, with the reason, if a file of no known format must not be read as it is. `named` is the format that its
 * name says, or NULL. */
static bool is_damaged(const format *named, const char *head, size_t head_bytes, bool at_end, char *reason,
                       size_t reason_bytes) {
    if (named != NULL && at_end && is_stub(named, head, head_bytes, reason, reason_bytes))
        return true;
    bool almost_gzip = head_bytes >= 4 && memcmp(head, "\x1f\x8b", 2) == 0;
    if (named != NULL)
        snprintf(
            reason, reason_bytes,
            "is not a %s archive, although its name ends in %s: it is damaged, or has the wrong name (--text reads "
            "its bytes as lines)",
            named->name, named->suffix);
    else if (almost_gzip)
        snprintf(reason, reason_bytes,
                 "begins like a gzip archive, but its header is damaged (--text reads its bytes as lines)");
    return named != NULL || almost_gzip;
}

bool unpack_open(const char *name, const char *head, size_t head_bytes, bool at_end, unpacker **u, char *reason,
                 size_t reason_bytes) {
    *u = NULL;
    const format *found = format_beginning(head, head_bytes), *named = format_named(name);
    if (found == NULL)
        return !is_damaged(named, head, head_bytes, at_end, reason, reason_bytes);
    if (named != NULL && found != named) {
        snprintf(reason, reason_bytes, "is compressed with %s, although its name ends in %s: rename it", found->name,
                 named->suffix);
        return false;
    }
    if (found->open == NULL) {
        snprintf(reason, reason_bytes,
                 "is compressed with %s, which this build of kith does not support: decompress it first", found->name);
        return false;
    }
    unpacker *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->format = found;
        made->memory = UNPACK_MEMORY_MAX;
    }
    if (made == NULL || !found->open(made)) {
        snprintf(reason, reason_bytes, "not enough memory");
        if (made != NULL)
            found->close(made);
        free(made);
        return false;
    }
    made->inside = true;
    *u = made;
    return true;
}

bool unpack_limit(unpacker *u, uint64_t memory) {
    if (memory == 0 || memory > UNPACK_MEMORY_MAX)
        memory = UNPACK_MEMORY_MAX;
    u->memory = memory > UNPACK_MEMORY_MIN ? memory : UNPACK_MEMORY_MIN;
    return u->format->again(u);
}

/* After an archive: starts the next one, if there is one. Returns NULL, or what is wrong. */
static const char *between(unpacker *u, stream *s) {
    while (u->format->zeroes_follow && s->in_bytes > 0 && *s->in == 0) {
        s->in++;
        s->in_bytes--;
    }
    if (s->in_bytes == 0)
        return NULL;
    if (!u->format->may_begin((uint8_t)*s->in))
        return followed(u);
    u->inside = true;
    return u->format->again(u) ? NULL : "not enough memory";
}

const char *unpack_step(unpacker *u, const char *in, size_t in_bytes, size_t *used, bool at_end, char *out,
                        size_t out_bytes, size_t *made) {
    assert(out_bytes > 0);
    stream s = {in, in_bytes, out, out_bytes};
    const char *wrong = u->inside ? NULL : between(u, &s);
    if (wrong == NULL && u->inside)
        wrong = u->format->step(u, &s);
    *used = in_bytes - s.in_bytes;
    *made = out_bytes - s.out_bytes;
    if (wrong != NULL)
        return wrong;
    if (*used == 0 && *made == 0 && in_bytes > 0)
        return damaged(u, "");
    if (at_end && *made == 0 && s.in_bytes == 0 && u->inside)
        return cut(u);
    return NULL;
}

void unpack_close(unpacker *u) {
    if (u == NULL)
        return;
    u->format->close(u);
    free(u);
}
