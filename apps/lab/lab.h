/* lab.h: runs claims and collects their results, for `kith lab` and for tests.
 *
 * Claims run on several threads, each claim on one of them. The results do not depend on the number of threads. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stdatomic.h>

#include "result.h"

/* A parameter that the user has set. The name must be a setting of every claim that runs, and the value must be valid
 * for it (lab_setting_check). */
typedef struct lab_assignment {
    const char *name, *value;
} lab_assignment;

typedef struct lab_settings {
    uint64_t seed;
    bool quick;
    unsigned threads; /* at least 1 */
    const lab_assignment *sets;
    size_t set_count;
} lab_settings;

/* Called ten times a second, on the thread that called lab_run(). `done` is the finished part of the run, from 0 to 1.
 * `running` lists the ids of the claims that are running, separated by blanks. */
typedef void lab_watch(void *context, double done, const char *running);

/* Runs the claims and returns one result per claim, in the same order. If *stop becomes true, the claims that are
 * running stop early; they and the claims that have not started get the verdict LAB_NOT_RUN. */
lab_result *lab_run(const lab_claim *const *claims, size_t count, lab_settings settings, const atomic_bool *stop,
                    lab_watch *watch, void *context);
void lab_results_free(lab_result *results, size_t count);

#endif
