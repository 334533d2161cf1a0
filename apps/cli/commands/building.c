/* building.c: what commands that use a builder have in common; see building.h. */
#include "cli/commands/building.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/output/report.h"

static const char *folder(void) {
    const char *given = getenv("TMPDIR");
    return given != NULL && *given != '\0' ? given : "/tmp";
}

/* The bar for reading belongs to the input (feed.c). */
static bool show(void *context, kith_build_step step, uint64_t done, uint64_t total) {
    (void)context;
    if (step == KITH_BUILD_READING)
        return true;
    if (done == 0)
        progress_begin(step == KITH_BUILD_COUNTING ? "counting" : "building", total);
    progress(done, done);
    if (done == total)
        progress_end();
    return true;
}

kith_build_limits build_limits(const arguments *a, uint64_t filter_bytes) {
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    uint64_t left = filter_bytes < a->memory ? a->memory - filter_bytes : 0;
    uint64_t bytes = left < a->memory / 2 ? left : a->memory / 2;
    limits.threads = a->threads;
    limits.memory_bytes = bytes != 0 ? bytes : 1; /* 0 would mean no limit */
    limits.folder = folder();
    limits.progress = show;
    return limits;
}

uint64_t build_least(const arguments *a) {
    return BUILDER_BYTES_MIN < a->memory / 2 ? BUILDER_BYTES_MIN : a->memory / 2;
}

uint64_t build_held(const kith_builder *builder, const kith_build_limits *limits) {
    uint64_t held = kith_builder_memory(builder);
    return held < limits->memory_bytes ? held : limits->memory_bytes;
}

void build_check(kith_status status) {
    int error = errno;
    switch (status) {
    case KITH_E_NO_FILE:
    case KITH_E_PERMISSION:
    case KITH_E_NO_SPACE:
    case KITH_E_IO:
        progress_end();
        fail("%s: cannot use a temporary file: %s (set TMPDIR to use another folder)", folder(), text_of_errno(error));
    case KITH_E_MEMORY:
        progress_end();
        fail("%s", kith_status_text(status));
    default:
        break;
    }
}

kith_status build_add(kith_builder *builder, const uint64_t *digests, size_t n, size_t *done) {
    kith_status status = kith_builder_add_many(builder, digests, n, done);
    build_check(status);
    return status;
}
