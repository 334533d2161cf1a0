/* feed.h: reads the input in batches of records with their digests, for every command that reads keys.
 *
 *     feed *f = feed_open("reading", paths, path_count, a, filter, NULL);
 *     while (feed_next(f)) … f->n, f->digests[i], f->records[i] …
 *     feed_close(f);
 *
 * It shows progress, and reports at the end how many records --skip-bad skipped. */
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include <kith/filter.h>

#include "cli/options.h"

typedef struct feed {
    size_t n;
    const uint64_t *digests;
    const input_record *records;
    const bool *marks; /* NULL unless opened by feed_open_marked() */
    uint64_t before;   /* number of records in earlier batches */

    input *in;
    const kith_filter *filter;
    kith_hash hash;
} feed;

/* Returns how much of --memory a command should leave for long records and for decompressors with large windows, if it
 * can choose: an eighth; less if the keys can be hashed as they are read; nothing if --memory is small. */
uint64_t feed_share(const arguments *a);

/* Limits what the feeds that are then opened with these options use, beyond about 20 MB, to `most` bytes. `advice` is
 * what else than raising --memory helps if a record does not fit (NULL: nothing). Without this call, there is no
 * limit. */
void feed_limit(arguments *a, uint64_t most, const char *advice);

/* Returns what `held` bytes that are used otherwise leave of --memory, but at most feed_share(). */
uint64_t feed_left(const arguments *a, uint64_t held);

/* Digests are computed for `filter`, or with `hash` if filter is NULL. */
feed *feed_open(const char *doing, const char *const *paths, size_t path_count, const arguments *a,
                const kith_filter *filter, const kith_hash *hash);

/* Like feed_open(), but the reader thread also calls `mark` for the records: see input_shape.mark. */
feed *feed_open_marked(const char *doing, const arguments *a, const kith_hash *hash, input_mark *mark, void *context);
bool feed_next(feed *f);
void feed_close(feed *f);

/* Writes the key of record i for a message: shortened, and with control characters replaced by '?'. */
typedef char key_text[72];
const char *text_of_key(const feed *f, size_t i, key_text text);

#endif
