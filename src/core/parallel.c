#include "core/parallel.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct job {
    void (*work)(void *context, unsigned i);
    void *context;
    pthread_t thread;
    unsigned i;
    bool started;
} job;

static void *run(void *context) {
    job *j = context;
    j->work(j->context, j->i);
    return NULL;
}

void kithi_parallel(unsigned threads, void (*work)(void *context, unsigned i), void *context) {
    assert(threads >= 1 && threads <= KITHI_THREADS_MAX);
    job jobs[KITHI_THREADS_MAX];
    for (unsigned i = 1; i < threads; i++) {
        jobs[i] = (job){.work = work, .context = context, .i = i};
        jobs[i].started = pthread_create(&jobs[i].thread, NULL, run, &jobs[i]) == 0;
    }
    work(context, 0);
    for (unsigned i = 1; i < threads; i++) {
        if (jobs[i].started)
            (void)pthread_join(jobs[i].thread, NULL);
        else
            work(context, i);
    }
}
