/* filters.c: the insertions into a cuckoo filter of [2] and [4]. See printed.h. */
#include <lab/printed.h>

#include "model.h"

enum {
    BUCKETS_MAX = 1024,
    ENTRIES = 4,
    FINGERPRINT_BITS = 12,
    MOST_PASSES = 500, /* Max */
    BUCKETS_OF_2 = 1024,
    KEYS_OF_2 = BUCKETS_OF_2 * ENTRIES * 8 / 10,
    BUCKETS_OF_4 = 256,
    KEYS_OF_4 = BUCKETS_OF_4 * ENTRIES * 9 / 10
};

typedef struct filter {
    unsigned buckets;
    unsigned entries[BUCKETS_MAX][ENTRIES]; /* 0: empty */
    uint64_t functions, dice;
} filter;

typedef enum outcome { ADDED, GIVEN_UP, DID_NOT_END } outcome;

typedef outcome insertion(filter *f, uint64_t key, bool as_printed);

static unsigned roll(filter *f, unsigned bound) {
    f->dice = mixed(f->dice);
    return below(f->dice, bound);
}

static unsigned fingerprint(const filter *f, uint64_t key) {
    return 1 + below(mixed(f->functions ^ mixed(key)), (1u << FINGERPRINT_BITS) - 1);
}

static unsigned bucket_of(const filter *f, uint64_t key) {
    return below(mixed(mixed(f->functions + 1) ^ mixed(key)), f->buckets);
}

static unsigned alternate(const filter *f, unsigned bucket, unsigned print) {
    return bucket ^ below(mixed(mixed(f->functions + 2) ^ mixed(print)), f->buckets);
}

/* Stores a fingerprint in an empty entry. Returns false if there is none. */
static bool add_to(filter *f, unsigned bucket, unsigned print) {
    for (unsigned e = 0; e < ENTRIES; e++)
        if (f->entries[bucket][e] == 0) {
            f->entries[bucket][e] = print;
            return true;
        }
    return false;
}

static bool contains(const filter *f, unsigned bucket, unsigned print) {
    for (unsigned e = 0; e < ENTRIES; e++)
        if (f->entries[bucket][e] == print)
            return true;
    return false;
}

/* Swaps the fingerprint with a random one of the bucket. A bucket without any, which only algorithm 3 as printed
 * reaches, is left alone. */
static unsigned swapped(filter *f, unsigned bucket, unsigned print) {
    unsigned count = 0;
    while (count < ENTRIES && f->entries[bucket][count] != 0) /* entries are never emptied: the used ones come first */
        count++;
    if (count == 0)
        return print;
    unsigned *entry = &f->entries[bucket][roll(f, count)], other = *entry;
    *entry = print;
    return other;
}

/* ---- [2], steps 1 to 9 ---- */

static outcome insert_2(filter *f, uint64_t key, bool as_printed) {
    unsigned print = fingerprint(f, key);                          /* 1 */
    unsigned i1 = bucket_of(f, key), i2 = alternate(f, i1, print); /* 2 */
    if (add_to(f, i1, print) || add_to(f, i2, print))              /* 3 */
        return ADDED;
    unsigned i = roll(f, 2) == 0 ? i1 : i2; /* 4 */
    for (unsigned pass = 0; pass < MOST_PASSES; pass++) {
        print = swapped(f, i, print);        /* 5, 6 */
        unsigned j = alternate(f, i, print); /* 7 */
        if (add_to(f, j, print))             /* 8 */
            return ADDED;
        i = as_printed ? (roll(f, 2) == 0 ? i1 : i2) : j; /* 9: "repeat 4-8" */
    }
    return GIVEN_UP;
}

/* ---- [4], algorithm 3 ---- */

/* As printed, i is both the index of the bucket and the counter of the loop, which sets it to 0 and adds 1 after each
 * pass. No bucket has a number above Max here, so the counter never gets there. */
static outcome insert_4(filter *f, uint64_t key, bool as_printed) {
    unsigned print = fingerprint(f, key), i = bucket_of(f, key);         /* 1 */
    if (add_to(f, i, print) || add_to(f, alternate(f, i, print), print)) /* 2 to 4 */
        return ADDED;
    if (as_printed) {
        unsigned passes = 0;
        for (i = 0; i <= MOST_PASSES; i++) { /* 6 */
            if (passes++ == PRINTED_ENDLESS)
                return DID_NOT_END;
            print = swapped(f, i % f->buckets, print); /* 7, 8 */
            i = alternate(f, i % f->buckets, print);   /* 9 */
            if (add_to(f, i, print))                   /* 10 to 12 */
                return ADDED;
        }
        return GIVEN_UP;
    }
    for (unsigned pass = 0; pass <= MOST_PASSES; pass++) {
        print = swapped(f, i, print);
        i = alternate(f, i, print);
        if (add_to(f, i, print))
            return ADDED;
    }
    return GIVEN_UP;
}

/* ---- filling ---- */

static filter empty(uint64_t seed, uint64_t number, unsigned buckets) {
    return (filter){.buckets = buckets, .functions = mixed(seed + mixed(number)), .dice = mixed(seed + number)};
}

static printed_filter fill(uint64_t seed, uint64_t filters, unsigned buckets, uint64_t keys, insertion *insert,
                           bool as_printed) {
    printed_filter p = {0};
    for (uint64_t n = 0; n < filters; n++) {
        filter f = empty(seed, n, buckets);
        for (uint64_t key = 0; key < keys; key++) {
            outcome o = insert(&f, key, as_printed);
            p.given_up += o == GIVEN_UP;
            p.endless += o == DID_NOT_END;
        }
        for (uint64_t key = 0; key < keys; key++) {
            unsigned print = fingerprint(&f, key), i = bucket_of(&f, key);
            p.not_found += !contains(&f, i, print) && !contains(&f, alternate(&f, i, print), print);
        }
        p.keys += keys;
    }
    return p;
}

printed_filter printed_steps_of_2(uint64_t seed, uint64_t filters, bool as_printed) {
    return fill(seed, filters, BUCKETS_OF_2, KEYS_OF_2, insert_2, as_printed);
}

printed_filter printed_algorithm_3(uint64_t seed, uint64_t filters, bool as_printed) {
    return fill(seed, filters, BUCKETS_OF_4, KEYS_OF_4, insert_4, as_printed);
}

uint64_t printed_full_filters(uint64_t seed, uint64_t filters, bool as_printed) {
    uint64_t endless = 0;
    for (uint64_t n = 0; n < filters; n++) {
        filter f = empty(seed, n, BUCKETS_OF_4);
        for (unsigned i = 0; i < f.buckets; i++)
            while (add_to(&f, i, fingerprint(&f, f.dice)))
                f.dice = mixed(f.dice);
        endless += insert_4(&f, 0, as_printed) == DID_NOT_END;
    }
    return endless;
}
