/* blocklog/work.h: what the guest does to its disk, in rounds that follow from their number alone.
 *
 * A round creates a store and makes random calls of it (unit/store_model.h). Now and then it closes and opens the
 * store, or replaces a plain file. At last it closes the store, or makes it a plain file. The writer runs a round on
 * the files of the system. The judge runs the same round on files in memory, to learn which sequence numbers are the
 * ends of calls and what the filter must contain at each. So a round must not depend on time.
 *
 * After each step the writer puts a mark on the disk: what has been acknowledged as durable up to now. A state of the
 * disk that has the mark must have everything that it names. */
#ifndef KITH_TESTS_BLOCKLOG_WORK_H
#define KITH_TESTS_BLOCKLOG_WORK_H

#include "unit/store_model.h"

#include <kith/kith.h>

enum { WORK_STEPS = 40, WORK_SAVE_BYTES_MAX = 1 << 16 };

struct work_mark {
    char magic[8]; /* "kithmark"; before the first mark: zeros */
    uint64_t round, step;
    uint64_t durable; /* sequence number of the store of this round */
    uint64_t version; /* of the plain file; 0: there is none yet */
    uint64_t number;  /* of this mark, from 1 */
};

struct work_round {
    uint64_t number;
    kith_filter *initial;
    struct model model; /* the log of its calls; model.filter is the filter before the first call */
};

/* What differs between the writer and the judge. */
struct work_place {
    const kithi_files *files;
    const char *path;
    void (*save)(void *context); /* replaces the plain file by its next version */
    void (*acknowledge)(void *context, const struct work_round *round, uint64_t step);
    void *context;
};

static inline bool work_ends_plain(uint64_t round) {
    return round % 2 == 1;
}

static inline const char *work_kind(uint64_t round) {
    for (uint64_t i = round;; i++) {
        const kith_kind_info *kind = kith_filter_kind_at((size_t)(i % kith_filter_kind_count()));
        if (kind->capabilities & KITH_CAN_ADD)
            return kind->name;
    }
}

/* Version `version` of the plain file. Its size changes, so that a mixture of two versions shows. */
static inline kith_filter *work_version(uint64_t version) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = "blocked";
    spec.capacity = 1000 + splitmix_mix(version) % 20000;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    for (uint64_t i = 0; i < 900; i++)
        CHECK_OK(kith_filter_add_digest(filter, splitmix_mix(version * 1000 + i), NULL));
    return filter;
}

static inline kithi_store_options work_options(uint64_t *random) {
    kithi_store_options options = KITHI_STORE_OPTIONS_INIT;
    if (splitmix_next(random) % 3 == 0) {
        options.sync = KITH_SYNC_OPERATIONS;
        options.sync_operations = 1 + splitmix_next(random) % 5;
    }
    options.checkpoint_bytes = splitmix_next(random) % 2 == 0 ? 500 : KITH_FILE_NEVER;
    options.close_bytes = splitmix_next(random) % 2 == 0 ? 300 : KITH_FILE_NEVER;
    return options;
}

static inline kithi_store *work_reopen(struct work_round *round, const struct work_place *place, kithi_store *store,
                                       const kithi_store_options *options) {
    CHECK_OK(kithi_store_close(store));
    round->model.durable = round->model.sequence;
    store = NULL;
    CHECK_OK(kithi_store_open_with(place->files, place->path, KITHI_STORE_WRITE, options, &store));
    return store;
}

static inline void work_run(struct work_round *round, uint64_t number, const struct work_place *place) {
    static struct disk clock; /* model_step moves its clock */
    struct model *m = &round->model;
    uint64_t random = splitmix_mix(number + 1);
    kithi_store_options options = work_options(&random);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = work_kind(number);
    spec.capacity = 1 + splitmix_next(&random) % 2000;
    spec.rate = .01;
    round->number = number;
    CHECK_OK(kith_filter_create(&spec, &round->initial));
    model_init(m, round->initial, 0);
    CHECK_OK(kith_filter_clone(round->initial, NULL, &m->empty));

    kithi_store *store = NULL;
    CHECK_OK(kithi_store_create_with(place->files, place->path, round->initial, &options, &store));
    place->acknowledge(place->context, round, 0);
    for (uint64_t step = 1; step < WORK_STEPS - 1; step++) {
        uint64_t choice = splitmix_next(&random) % 8;
        if (choice == 0) {
            place->save(place->context);
        } else if (choice == 1) {
            store = work_reopen(round, place, store, &options);
        } else {
            kith_status status = model_step(m, store, &random, &clock);
            CHECK(is_outcome(status) || status == KITH_E_UNSUPPORTED);
        }
        place->acknowledge(place->context, round, step);
    }
    CHECK_OK(work_ends_plain(number) ? kithi_store_close_plain(store) : kithi_store_close(store));
    m->durable = m->sequence;
    place->acknowledge(place->context, round, WORK_STEPS - 1);
}

static inline void work_free(struct work_round *round) {
    kith_filter_free(round->initial);
    kith_filter_free(round->model.empty);
}

#endif
