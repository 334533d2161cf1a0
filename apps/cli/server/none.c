/* server/none.c: takes the place of the files that need hiredis, in a build without it. */
#include <stdnoreturn.h>

#include "cli/commands.h"
#include "cli/server/lookup.h"
#include "cli/output/report.h"

static noreturn void fail_none(void) {
    fail("this build of kith cannot connect to servers: it was built without hiredis (Debian: libhiredis-dev)");
}

int command_push(const arguments *a) {
    (void)a;
    fail_none();
}

int command_pull(const arguments *a) {
    (void)a;
    fail_none();
}

redis_query *redis_query_open(const redis_address *address, arguments *a) {
    (void)address;
    (void)a;
    fail_none();
}

/* Without redis_query_open() there is no query that these could be called with. */
size_t redis_query_has_many(redis_query *q, const input_record *records, const uint64_t *digests, size_t n,
                            uint64_t *results) {
    (void)q;
    (void)records;
    (void)digests;
    (void)n;
    (void)results;
    fail_none();
}

void redis_query_close(redis_query *q) {
    (void)q;
    fail_none();
}
