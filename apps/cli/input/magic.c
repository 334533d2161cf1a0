/* input/magic.c: recognises and refuses files in known formats that are not text.
 *
 * A list of keys is text. A ZIP archive or a database, read as lines, gives meaningless keys, and every later lookup
 * fails silently. So inputs of lines are compared with this table before the first line is used; --text turns that off.
 *
 * A valid list must not be refused because of its first key. Most signatures contain bytes that do not occur in text:
 * control characters, or bytes that are not UTF-8. Where a signature is readable text ("%PDF-1.", "GIF89a", "PAR1",
 * "LZIP", "!<arch>", "ustar"), further bytes that the format requires are compared as well. NUL does not count as such
 * a byte, because keys may end in NUL. Formats whose signature is only two letters (BMP, for example) are not
 * recognised.
 *
 * UTF-16 and UTF-32 are text, but cannot be split at newline bytes. They are recognised by their byte order mark. */
#include "cli/input/magic.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct known {
    const char *what;
    const char *advice; /* what the user should do; NULL: nothing can be done */
    size_t offset;
    const char *bytes;
    size_t byte_count;
    bool (*also)(const uint8_t *head, size_t head_bytes); /* NULL, or a further check */
} known;

/* "%PDF-1.7" and the end of a line. */
static bool also_pdf(const uint8_t *head, size_t head_bytes) {
    return head_bytes > 8 && head[6] == '.' && (head[5] == '1' || head[5] == '2') && head[7] >= '0' && head[7] <= '9' &&
           (head[8] == '\n' || head[8] == '\r' || head[8] == ' ');
}

/* Width and height have 16 bits each, in little-endian order, and are below 8192; in practice one of the seven bytes is
 * 0. */
static bool also_gif(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 13 && (head[4] == '7' || head[4] == '9') && head[5] == 'a' && head[7] < 0x20 &&
           head[9] < 0x20 && memchr(head + 6, 0, 7) != NULL;
}

/* The first page and the footer begin with a 32-bit integer in Thrift's compact protocol. */
static bool also_parquet(const uint8_t *head, size_t head_bytes) {
    return head_bytes > 4 && head[4] == 0x15;
}

/* Three bytes of the header are fixed. */
static bool also_sqlite(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 24 && memcmp(head + 21, "\x40\x20\x20", 3) == 0;
}

static bool also_lzip(const uint8_t *head, size_t head_bytes) {
    return head_bytes > 4 && head[4] == 1;
}

/* The uncompressed size has 8 bytes: all ones if unknown, otherwise below 2^56. */
static bool also_lzma(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 13 && (head[12] == 0 || head[12] == 0xff);
}

/* The header contains the sum of its bytes in octal digits; the eight bytes of the sum itself count as spaces. */
static bool also_tar(const uint8_t *head, size_t head_bytes) {
    if (head_bytes < 512)
        return false;
    unsigned sum = 0, stated = 0;
    for (size_t i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? ' ' : head[i];
    for (size_t i = 148; i < 156; i++)
        if (head[i] >= '0' && head[i] <= '7')
            stated = stated * 8 + (head[i] - '0');
    return stated == sum;
}

/* The header of the first member ends with these two bytes. */
static bool also_ar(const uint8_t *head, size_t head_bytes) {
    return head_bytes >= 68 && head[66] == '`' && head[67] == '\n';
}

#define UNPACK "unpack it first"
#define EXPORT "export its keys as text first"
#define MAGIC(what, advice, offset, bytes, also)                                                                       \
    { what, advice, offset, bytes, sizeof(bytes) - 1, also }

/* If several match, the first is named. */
static const known KNOWN[] = {
    MAGIC("a kith filter or table file", NULL, 0, "\x8bKITH\r\n", NULL),
    MAGIC("a dump of a RedisBloom filter", NULL, 0, "\x8bKDUMP\r\n", NULL),
    MAGIC("a ZIP file (or docx, xlsx, jar)", UNPACK, 0, "PK\x03\x04", NULL),
    MAGIC("an empty ZIP file", NULL, 0, "PK\x05\x06", NULL),
    MAGIC("a part of a ZIP file", UNPACK, 0, "PK\x07\x08", NULL),
    MAGIC("a 7z archive", UNPACK, 0, "7z\xbc\xaf\x27\x1c", NULL),
    MAGIC("a RAR archive", UNPACK, 0, "Rar!\x1a\x07", NULL),
    MAGIC("a tar archive", UNPACK, 257, "ustar", also_tar),
    MAGIC("an ar archive or a Debian package", UNPACK, 0, "!<arch>\n", also_ar),
    MAGIC("compressed with compress", UNPACK, 0, "\x1f\x9d", NULL),
    MAGIC("compressed with lzip", UNPACK, 0, "LZIP", also_lzip),
    MAGIC("compressed with lzma", UNPACK, 0, "\x5d\x00\x00", also_lzma),
    MAGIC("compressed with lzop", UNPACK, 0, "\x89LZO\x00\r\n", NULL),
    MAGIC("compressed with snappy", UNPACK, 0, "\xff\x06\x00\x00sNaPpY", NULL),
    MAGIC("compressed with lz4 in its legacy format", "decompress it first, with lz4 -d", 0, "\x02\x21\x4c\x18", NULL),
    MAGIC("UTF-32 text", "convert it first (iconv -f UTF-32 -t UTF-8)", 0, "\xff\xfe\x00\x00", NULL),
    MAGIC("UTF-32 text", "convert it first (iconv -f UTF-32 -t UTF-8)", 0, "\x00\x00\xfe\xff", NULL),
    MAGIC("UTF-16 text", "convert it first (iconv -f UTF-16 -t UTF-8)", 0, "\xff\xfe", NULL),
    MAGIC("UTF-16 text", "convert it first (iconv -f UTF-16 -t UTF-8)", 0, "\xfe\xff", NULL),
    MAGIC("a PDF document", EXPORT, 0, "%PDF-", also_pdf),
    MAGIC("an old Office document (doc, xls)", EXPORT, 0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", NULL),
    MAGIC("an SQLite database", EXPORT, 0, "SQLite format 3\x00", also_sqlite),
    MAGIC("a Parquet file", EXPORT, 0, "PAR1", also_parquet),
    MAGIC("an Avro file", EXPORT, 0, "Obj\x01", NULL),
    MAGIC("an Arrow file", EXPORT, 0, "ARROW1\x00\x00", NULL),
    MAGIC("an HDF5 file", EXPORT, 0, "\x89HDF\r\n", NULL),
    MAGIC("an ELF program or library", NULL, 0,
          "\x7f"
          "ELF",
          NULL),
    MAGIC("a Windows program", NULL, 0, "MZ\x90\x00", NULL),
    MAGIC("a PNG image", NULL, 0, "\x89PNG\r\n", NULL),
    MAGIC("a JPEG image", NULL, 0, "\xff\xd8\xff", NULL),
    MAGIC("a GIF image", NULL, 0, "GIF8", also_gif),
};

static bool fits(const known *k, const char *head, size_t head_bytes) {
    return head_bytes >= k->offset + k->byte_count && memcmp(head + k->offset, k->bytes, k->byte_count) == 0 &&
           (k->also == NULL || k->also((const uint8_t *)head, head_bytes));
}

bool magic_refuses(const char *head, size_t head_bytes, char *reason, size_t reason_bytes) {
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        const known *k = &KNOWN[i];
        if (!fits(k, head, head_bytes))
            continue;
        if (k->advice != NULL)
            snprintf(reason, reason_bytes, "is %s: %s, or use --text to read its bytes as lines", k->what, k->advice);
        else
            snprintf(reason, reason_bytes, "is %s, not a list of keys (--text reads its bytes as lines)", k->what);
        return true;
    }
    return false;
}

bool magic_begins_with_bom(const char *head, size_t head_bytes) {
    return head_bytes >= MAGIC_BOM_BYTES && memcmp(head, "\xef\xbb\xbf", MAGIC_BOM_BYTES) == 0;
}
