/* lab.h: runs claims and keeps what came of them: for the tool and for tests.
 *
 * Claims run in several threads, each by itself; what they find does not depend on their number. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stdatomic.h>

#include "result.h"

typedef struct lab_settings {
    uint64_t seed;
    bool quick;
    unsigned threads; /* at least 1 */
} lab_settings;

/* Called by the thread that called lab_run, ten times a second: how much is done (0 … 1), and the claims at work. */
typedef void lab_watch(void *context, double done, const char *at_work);

/* Runs the claims and answers as many results, in their order. When *stop becomes true those at work end, and they and
 * those not begun have the verdict LAB_NOT_RUN. */
lab_result *lab_run(const lab_claim *const *claims, size_t count, lab_settings settings, const atomic_bool *stop,
                    lab_watch *watch, void *context);
void lab_results_free(lab_result *results, size_t count);

#endif
