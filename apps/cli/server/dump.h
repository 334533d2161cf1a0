/* server/dump.h: dump files, which hold a filter of RedisBloom as the chunks of BF.SCANDUMP or CF.SCANDUMP.
 *
 * kith cannot look keys up in such a file. It is a way from one server to another: kith pull writes it, kith push loads
 * it. docs/format.md describes its bytes. */
#ifndef CLI_REDIS_DUMP_H
#define CLI_REDIS_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/files/opened.h"

typedef enum redis_dump_type { REDIS_DUMP_BLOOM = 1, REDIS_DUMP_CUCKOO = 2 } redis_dump_type;

typedef struct redis_dump {
    redis_dump_type type;
    uint64_t chunk_count;
    char *bytes; /* the file */
    size_t byte_count, allocated;
} redis_dump;

typedef struct redis_chunk {
    uint64_t cursor; /* what SCANDUMP returned with the data, and what LOADCHUNK takes */
    const char *data;
    size_t byte_count;
} redis_chunk;

/* Returns true if the file begins like a dump file. */
bool redis_dump_is(const char *path);
bool redis_dump_is_fd(int fd); /* a regular file that is open for reading */

/* Reads a whole dump file into memory and checks everything. Returns false, with a sentence in `reason`, if it is
 * damaged or larger than the memory limit. */
bool redis_dump_try_open(const char *path, const arguments *a, redis_dump *dump, reason_text reason);
bool redis_dump_read(int fd, const arguments *a, redis_dump *dump, reason_text reason); /* of an open file */

/* Sets *chunk to the chunk at position *at, and moves *at to the next one. Begin with *at = 0. Returns false at the
 * end. */
bool redis_dump_next(const redis_dump *dump, size_t *at, redis_chunk *chunk);

void redis_dump_begin(redis_dump *dump, redis_dump_type type);
void redis_dump_add(redis_dump *dump, const redis_chunk *chunk);

/* Completes the dump and replaces a file as a whole, or ends the tool and leaves it unchanged. */
void redis_dump_save(redis_dump *dump, const filter_file *to);
void redis_dump_free(redis_dump *dump);

/* "Bloom filter" or "cuckoo filter" */
const char *redis_dump_name(const redis_dump *dump);

/* The numbers in the first chunk, which is RedisBloom's description of the filter. */
typedef struct redis_dump_facts {
    uint64_t items;
    uint64_t deleted; /* cuckoo filters only */
    uint64_t filters; /* sub-filters */
    uint64_t data_bytes;
} redis_dump_facts;
redis_dump_facts redis_dump_facts_of(const redis_dump *dump);

#endif
