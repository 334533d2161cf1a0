/* server/dump.c: dump files of RedisBloom's filters; see server/dump.h and docs/format.md.
 *
 *     0          32                                                                      byte_count - 8
 *     | header   | cursor u64, length u64, data | cursor u64, length u64, data | …       | checksum u64 |
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/server/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/uninterrupted.h"

enum {
    SIGNATURE_BYTES = 8,
    VERSION_AT = 8,
    TYPE_AT = 10,
    RESERVED_AT = 12,
    CHUNKS_AT = 16,
    BYTES_AT = 24,
    HEADER_BYTES = 32,
    CHUNK_HEADER_BYTES = 16,
    CHECKSUM_BYTES = 8,
    VERSION = 1,
};
static const char SIGNATURE[SIGNATURE_BYTES] = {(char)0x8b, 'K', 'D', 'U', 'M', 'P', '\r', '\n'};

static uint64_t get(const char *bytes, unsigned byte_count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < byte_count; i++)
        value |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return value;
}

static void put(char *bytes, unsigned byte_count, uint64_t value) {
    for (unsigned i = 0; i < byte_count; i++)
        bytes[i] = (char)(value >> (8 * i));
}

static uint64_t checksum(const char *bytes, size_t byte_count) {
    kith_hash plain = {.id = KITH_HASH_XXH3};
    return kith_digest(&plain, bytes, byte_count);
}

/* ---- reading ---- */

bool redis_dump_is_fd(int fd) {
    char head[SIGNATURE_BYTES];
    return pread(fd, head, sizeof head, 0) == sizeof head && memcmp(head, SIGNATURE, sizeof head) == 0;
}

bool redis_dump_is(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* reading from a pipe would take its bytes away */
        return false;
    int fd = open_fully(path, O_RDONLY | O_CLOEXEC, 0);
    bool is = fd >= 0 && redis_dump_is_fd(fd);
    if (fd >= 0)
        (void)close(fd);
    return is;
}

/* Reads the file into dump->bytes. Returns NULL, or what is wrong; this may be `reason`. Does not end the tool, because
 * kith verify calls this where it may not print. */
static const char *read_file(int fd, const arguments *a, redis_dump *dump, reason_text reason) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return text_of_errno(errno);
    if (!memory_suffices(a, (uint64_t)st.st_size, reason))
        return reason;
    dump->allocated = (size_t)st.st_size;
    dump->bytes = malloc(dump->allocated != 0 ? dump->allocated : 1);
    if (dump->bytes == NULL)
        return kith_status_text(KITH_E_MEMORY);
    while (dump->byte_count < dump->allocated) {
        ssize_t got =
            pread(fd, dump->bytes + dump->byte_count, dump->allocated - dump->byte_count, (off_t)dump->byte_count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return text_of_errno(errno);
        if (got == 0)
            break; /* the file has become shorter; the header says how long it should be */
        dump->byte_count += (size_t)got;
    }
    return NULL;
}

bool redis_dump_next(const redis_dump *dump, size_t *at, redis_chunk *chunk) {
    size_t from = *at > 0 ? *at : HEADER_BYTES, end = dump->byte_count - CHECKSUM_BYTES;
    if (end - from < CHUNK_HEADER_BYTES)
        return false;
    uint64_t byte_count = get(dump->bytes + from + 8, 8);
    if (byte_count > end - from - CHUNK_HEADER_BYTES)
        return false;
    *chunk = (redis_chunk){get(dump->bytes + from, 8), dump->bytes + from + CHUNK_HEADER_BYTES, (size_t)byte_count};
    *at = from + CHUNK_HEADER_BYTES + chunk->byte_count;
    return true;
}

static const char *check(redis_dump *dump) {
    const char *bytes = dump->bytes;
    size_t end = dump->byte_count - CHECKSUM_BYTES;
    if (dump->byte_count < HEADER_BYTES + CHECKSUM_BYTES)
        return "the dump file is truncated";
    if (get(bytes + VERSION_AT, 2) != VERSION)
        return "the dump file has an unknown version; a newer kith may be able to read it";
    if (get(bytes + BYTES_AT, 8) > dump->byte_count)
        return "the dump file is truncated";
    if (get(bytes + BYTES_AT, 8) < dump->byte_count)
        return "the dump file is followed by other bytes";
    if (get(bytes + end, CHECKSUM_BYTES) != checksum(bytes, end))
        return "the dump file is damaged: its checksum is wrong";
    dump->type = (redis_dump_type)get(bytes + TYPE_AT, 2);
    dump->chunk_count = get(bytes + CHUNKS_AT, 8);
    if ((dump->type != REDIS_DUMP_BLOOM && dump->type != REDIS_DUMP_CUCKOO) || get(bytes + RESERVED_AT, 4) != 0)
        return "the dump file holds something that this kith does not know";
    size_t at = 0;
    redis_chunk chunk;
    uint64_t chunks = 0;
    while (redis_dump_next(dump, &at, &chunk))
        chunks++;
    return chunks == 0 || chunks != dump->chunk_count || at != end ? "the chunks of the dump file do not fit into it"
                                                                   : NULL;
}

bool redis_dump_read(int fd, const arguments *a, redis_dump *dump, reason_text reason) {
    *dump = (redis_dump){0};
    const char *wrong = read_file(fd, a, dump, reason);
    if (wrong == NULL)
        wrong = check(dump);
    if (wrong == NULL)
        return true;
    if (wrong != reason)
        (void)snprintf(reason, sizeof(reason_text), "%s", wrong);
    redis_dump_free(dump);
    return false;
}

bool redis_dump_try_open(const char *path, const arguments *a, redis_dump *dump, reason_text reason) {
    int fd = open_fully(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        *dump = (redis_dump){0};
        (void)snprintf(reason, sizeof(reason_text), "%s", text_of_errno(errno));
        return false;
    }
    bool sound = redis_dump_read(fd, a, dump, reason);
    (void)close(fd);
    return sound;
}

void redis_dump_free(redis_dump *dump) {
    free(dump->bytes);
    *dump = (redis_dump){0};
}

/* ---- facts ---- */

const char *redis_dump_name(const redis_dump *dump) {
    return dump->type == REDIS_DUMP_BLOOM ? "Bloom filter" : "cuckoo filter";
}

redis_dump_facts redis_dump_facts_of(const redis_dump *dump) {
    enum { BLOOM_BYTES = 20, CUCKOO_BYTES = 38 };
    redis_dump_facts facts = {0};
    size_t at = 0;
    redis_chunk chunk;
    for (bool first = true; redis_dump_next(dump, &at, &chunk); first = false) {
        if (!first)
            facts.data_bytes += chunk.byte_count;
        if (first && dump->type == REDIS_DUMP_BLOOM && chunk.byte_count >= BLOOM_BYTES) {
            facts.items = get(chunk.data, 8);
            facts.filters = get(chunk.data + 8, 4);
        }
        if (first && dump->type == REDIS_DUMP_CUCKOO && chunk.byte_count >= CUCKOO_BYTES) {
            facts.items = get(chunk.data, 8);
            facts.deleted = get(chunk.data + 16, 8);
            facts.filters = get(chunk.data + 24, 8);
        }
    }
    return facts;
}

/* ---- writing ---- */

static char *extend(redis_dump *dump, size_t byte_count) {
    if (byte_count > dump->allocated - dump->byte_count) {
        dump->allocated = dump->byte_count + byte_count + dump->allocated / 2;
        dump->bytes = reallocate(dump->bytes, dump->allocated);
    }
    char *at = dump->bytes + dump->byte_count;
    dump->byte_count += byte_count;
    return at;
}

void redis_dump_begin(redis_dump *dump, redis_dump_type type) {
    *dump = (redis_dump){.type = type};
    char *header = extend(dump, HEADER_BYTES);
    memset(header, 0, HEADER_BYTES);
    memcpy(header, SIGNATURE, SIGNATURE_BYTES);
    put(header + VERSION_AT, 2, VERSION);
    put(header + TYPE_AT, 2, type);
}

void redis_dump_add(redis_dump *dump, const redis_chunk *chunk) {
    char *at = extend(dump, CHUNK_HEADER_BYTES + chunk->byte_count);
    put(at, 8, chunk->cursor);
    put(at + 8, 8, chunk->byte_count);
    memcpy(at + CHUNK_HEADER_BYTES, chunk->data, chunk->byte_count);
    dump->chunk_count++;
}

void redis_dump_save(redis_dump *dump, const filter_file *to) {
    put(dump->bytes + CHUNKS_AT, 8, dump->chunk_count);
    put(dump->bytes + BYTES_AT, 8, dump->byte_count + CHECKSUM_BYTES);
    uint64_t sum = checksum(dump->bytes, dump->byte_count);
    put(extend(dump, CHECKSUM_BYTES), CHECKSUM_BYTES, sum);
    filter_file_put(to, dump->bytes, dump->byte_count);
}
