/* feed.h: batches of records with their digests: what every command that reads keys loops over.
 *
 *     feed *f = feed_open("reading", paths, path_count, a, filter, NULL);
 *     while (feed_next(f)) … f->n, f->digests[i], f->records[i] …
 *     feed_close(f);
 *
 * Shows progress, and notes at the end how many records --skip-bad left out. */
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include <kith/filter.h>

#include "options.h"

typedef struct feed {
    size_t n;
    const uint64_t *digests;
    const input_record *records;
    const bool *marks; /* NULL: none were asked for */
    uint64_t before;   /* records of the batches before this one */

    input *in;
    const kith_filter *filter;
    kith_hash hash;
} feed;

/* Digests are those of `filter`, or, when it is NULL, of `hash`. */
feed *feed_open(const char *doing, const char *const *paths, size_t path_count, const arguments *a,
                const kith_filter *filter, const kith_hash *hash);
/* Records come with marks, made by the thread that reads: see mark of input_shape. */
feed *feed_open_marked(const char *doing, const arguments *a, const kith_hash *hash, input_mark *mark, void *context);
bool feed_next(feed *f);
void feed_close(feed *f);

/* The key of record i as text for a message: cut, and with what can't be shown left out. */
typedef char key_text[72];
const char *text_of_key(const feed *f, size_t i, key_text text);

#endif
