/* server/scan.h: how far a reply of a server goes, and how much memory it needs, before any of its bytes are stored. */
#ifndef CLI_REDIS_SCAN_H
#define CLI_REDIS_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum redis_scan_result {
    REDIS_SCAN_MORE,      /* the reply goes on after these bytes */
    REDIS_SCAN_END,       /* it ends with them, or they are not the protocol, which hiredis will find as well */
    REDIS_SCAN_TOO_LARGE, /* it needs more memory than allowed */
} redis_scan_result;

/* A reply in RESP2 of which the first bytes were scanned. */
typedef struct redis_scan {
    uint64_t most, used; /* bytes of memory */
    uint64_t values;     /* values that are still to come, in all open arrays */
    uint64_t string_left;
    char line[24]; /* the latest line, without its end; longer lines are texts, of which only the type matters */
    size_t line_bytes;
} redis_scan;

/* Starts a reply that may need `most` bytes of memory. */
void redis_scan_begin(redis_scan *s, uint64_t most);

/* Scans further bytes of the connection. Sets *taken to how many of them belong to the reply. */
redis_scan_result redis_scan_next(redis_scan *s, const char *bytes, size_t byte_count, size_t *taken);

#endif
