/* feed.c: reads records and computes their digests in batches; see feed.h. */
#include "cli/input/feed.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/input/stream.h"
#include "cli/input/unpack.h"
#include "cli/output/report.h"
#include "cli/values.h"

enum { KEYS_AT_ONCE = 256 }; /* kith_digest_many() sorts this many keys by length at once */

/* Called by the reader thread. Filter and hash do not change while it runs. */
static void digest(const void *context, const input_record *records, size_t n, uint64_t *digests) {
    const feed *f = context;
    kith_key keys[KEYS_AT_ONCE];
    for (size_t at = 0; at < n; at += KEYS_AT_ONCE) {
        size_t count = n - at < KEYS_AT_ONCE ? n - at : KEYS_AT_ONCE;
        for (size_t i = 0; i < count; i++)
            keys[i] = (kith_key){records[at + i].key, records[at + i].key_bytes};
        if (f->filter != NULL)
            kith_filter_digest_many(f->filter, keys, count, digests + at);
        else
            kith_digest_many(&f->hash, keys, count, digests + at);
    }
}

#define SHARE 8 /* of --memory */
#define SHARE_WITHOUT_LINES 16

uint64_t feed_share(const arguments *a) {
    bool streams = key_can_stream(&a->shape);
    uint64_t share = a->memory / (streams ? SHARE_WITHOUT_LINES : SHARE);
    return share > (streams ? UNPACK_MEMORY_MIN : INPUT_RECORD_BYTES) ? share : 0;
}

uint64_t feed_left(const arguments *a, uint64_t held) {
    uint64_t share = feed_share(a), left = a->memory > held ? a->memory - held : 0;
    return left < share ? left : share;
}

/* A decompressor needs its window, or nothing. Half of the limit is left to it if that is more than it may always
 * use. */
void feed_limit(arguments *a, uint64_t most, const char *advice) {
    bool streams = key_can_stream(&a->shape);
    uint64_t window = streams ? most : most / 2;
    if (window > UNPACK_MEMORY_MAX)
        window = UNPACK_MEMORY_MAX;
    a->shape.unpack_memory = window > UNPACK_MEMORY_MIN ? window : UNPACK_MEMORY_MIN;
    a->shape.memory = streams ? 1 : most - (window > UNPACK_MEMORY_MIN ? window : 0);
    if (a->shape.memory == 0)
        a->shape.memory = 1; /* 0 would mean no limit */
    a->shape.advice = advice;
}

static feed *new_feed(const kith_filter *filter, const kith_hash *hash) {
    feed *f = allocate(sizeof *f);
    *f = (feed){.filter = filter, .hash = hash != NULL ? *hash : (kith_hash){0}};
    return f;
}

static feed *start(feed *f, const char *doing, const char *const *paths, size_t path_count, input_shape shape,
                   bool verbose) {
    shape.digest = digest;
    shape.digest_context = f;
    shape.hash = f->filter != NULL ? kith_filter_hash(f->filter) : f->hash;
    f->in = input_open(paths, path_count, &shape);
    value_text size;
    if (verbose)
        note("up to %s of memory for reading", text_of_size(input_memory(f->in), size));
    progress_begin(doing, input_bytes_total(f->in));
    return f;
}

feed *feed_open(const char *doing, const char *const *paths, size_t path_count, const arguments *a,
                const kith_filter *filter, const kith_hash *hash) {
    return start(new_feed(filter, hash), doing, paths, path_count, a->shape, a->verbose);
}

feed *feed_open_marked(const char *doing, const arguments *a, const kith_hash *hash, input_mark *mark, void *context) {
    input_shape shape = a->shape;
    shape.mark = mark;
    shape.mark_context = context;
    return start(new_feed(NULL, hash), doing, a->operands, a->operand_count, shape, a->verbose);
}

bool feed_next(feed *f) {
    f->before += f->n;
    progress(input_bytes_done(f->in), f->before);
    f->n = input_next(f->in, &f->records);
    f->digests = input_digests(f->in);
    f->marks = input_marks(f->in);
    return f->n > 0;
}

void feed_close(feed *f) {
    progress_end();
    uint64_t skipped = input_skipped(f->in);
    value_text count;
    if (skipped > 0)
        note("skipped %s record%s that could not be read", text_of_integer(skipped, count), skipped > 1 ? "s" : "");
    input_close(f->in);
    free(f);
}

const char *text_of_key(const feed *f, size_t i, key_text text) {
    const input_record *record = &f->records[i];
    kith_key_type type = f->filter == NULL ? KITH_KEYS_BYTES : kith_key_type_of(kith_filter_recipe(f->filter));
    if (type != KITH_KEYS_BYTES) {
        (void)kith_key_format(type, (const uint8_t *)record->key, text);
        return text;
    }
    size_t shown = record->key_bytes < sizeof(key_text) - 4 ? record->key_bytes : sizeof(key_text) - 4;
    size_t used = 0;
    for (size_t at = 0; at < shown; at++) {
        unsigned char c = (unsigned char)record->key[at];
        text[used++] = c < 0x20 || c == 0x7F ? '?' : (char)c;
    }
    (void)snprintf(text + used, sizeof(key_text) - used, "%s", shown < record->key_bytes ? "..." : "");
    return text;
}
