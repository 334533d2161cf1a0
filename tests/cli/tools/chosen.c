/* chosen.c: prints keys that attack a filter, as someone who knows its hash and its size can choose them.
 *
 *     chosen fill FILE COUNT     keys that set only bits that are 0: the filter fills with fewer keys than planned
 *     chosen patient FILE COUNT GREEDY
 *                                records of 8 bytes: those of chosen_patient() in tests/chosen.h
 *     chosen crowd FILE COUNT    keys that fill the first half of the cells and leave the others empty: in a blocked
 *                                filter every key is found in every block there
 *
 * FILE is an empty filter of a Bloom kind. Candidates are decimal numbers, tried in order. The cells of a candidate are
 * determined by adding it to a scratch filter of the same size, in which a lookup then reads all of them. */
#include <kith/inspect.h>
#include <kith/kith.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"

enum { CELLS_MAX = 64 };

typedef struct cells {
    uint64_t at[CELLS_MAX];
    size_t count;
} cells;

static void end(const char *what) {
    fprintf(stderr, "chosen: %s\n", what);
    exit(2);
}

static void must(kith_status status) {
    if (status != KITH_OK)
        end(kith_status_text(status));
}

static void keep_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    cells *c = context;
    (void)holds;
    (void)wanted;
    if (c->count < CELLS_MAX)
        c->at[c->count++] = cell;
}

static cells cells_of(kith_filter *scratch, uint64_t digest) {
    cells c = {.count = 0};
    if (kith_filter_add_digest(scratch, digest, NULL) != KITH_OK) {
        must(kith_filter_clear(scratch));
        must(kith_filter_add_digest(scratch, digest, NULL));
    }
    (void)kith_filter_look(scratch, digest, keep_cell, &c);
    return c;
}

/* Prints keys that raise the rate although a guard looks at every 128th key. */
static void print_patient(kith_filter *scratch, uint64_t wanted, uint64_t greedy) {
    chosen c = {.prng = {5}, .hash = &scratch->head.hash};
    scratch->crowding.off = true; /* no guard but the fill limit */
    for (uint64_t i = 0; i < wanted; i++) {
        chosen_patient(&c, scratch, i, greedy);
        if (fwrite(&c.key, sizeof c.key, 1, stdout) != 1)
            end("cannot write");
        must(kith_filter_add_digest(scratch, c.digest, NULL));
    }
}

int main(int argc, char **argv) {
    bool patient = argc == 5 && strcmp(argv[1], "patient") == 0;
    if (argc != 4 && !patient)
        end("usage: chosen fill|crowd FILE COUNT, chosen patient FILE COUNT GREEDY");
    bool crowd = strcmp(argv[1], "crowd") == 0;
    size_t wanted = strtoull(argv[3], NULL, 10);
    kith_filter *empty, *scratch;
    must(kith_filter_open(argv[2], KITH_OPEN_DEFAULT, NULL, &empty));
    must(kith_filter_create_like(empty, NULL, &scratch));
    if (patient) {
        print_patient(scratch, wanted, strtoull(argv[4], NULL, 10));
        kith_filter_free(scratch);
        kith_filter_free(empty);
        return fflush(stdout) == 0 ? 0 : 2;
    }
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    must(kith_filter_stats_of(empty, &stats));
    kith_plan plan = KITH_PLAN_INIT;
    must(kith_filter_plan_of(empty, &plan));
    bool *set = calloc(stats.cells, sizeof *set);
    if (set == NULL)
        end("no memory");
    uint64_t most = crowd ? stats.cells / 2 : stats.cells;
    /* The more new bits each key sets, the fewer keys are needed. So keys that set k new bits are chosen first; when
     * they become rare, keys that set fewer are accepted. */
    size_t printed = 0, new_wanted = plan.hashes;
    uint64_t refused = 0;
    for (uint64_t i = 0; printed < wanted && new_wanted > 0; i++) {
        char key[32];
        int key_bytes = snprintf(key, sizeof key, "%llu", (unsigned long long)i);
        cells c = cells_of(scratch, kith_filter_digest(empty, key, (size_t)key_bytes));
        size_t fresh = 0;
        for (size_t j = 0; j < c.count; j++)
            fresh += c.at[j] < most && !set[c.at[j]];
        if (fresh < new_wanted) {
            if (crowd && ++refused == 64 * stats.cells / plan.hashes) {
                new_wanted--;
                refused = 0;
            }
            continue;
        }
        for (size_t j = 0; j < c.count; j++)
            set[c.at[j]] = true;
        puts(key);
        printed++;
    }
    free(set);
    kith_filter_free(scratch);
    kith_filter_free(empty);
    return fflush(stdout) == 0 ? 0 : 2;
}
