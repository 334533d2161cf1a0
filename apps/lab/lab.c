/* lab.c: see lab.h. */
#define _GNU_SOURCE

#include "lab.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "judge.h"
#include "memory.h"
#include "state.h"

#define THREADS_MAX 64
#define WATCH_NANOSECONDS 100000000

typedef struct work {
    const lab_claim *const *claims;
    lab_result *results;
    size_t count;
    lab_settings settings;
    const atomic_bool *stop;
    atomic_size_t next;     /* index of the first claim that no thread has started */
    atomic_size_t finished; /* number of finished claims */
    atomic_uint running;    /* number of threads that have not ended */
    struct {
        _Atomic(const char *) id; /* NULL: between two claims */
        atomic_uint done;
    } at[THREADS_MAX]; /* the claim that each thread is running */
} work;

typedef struct worker {
    work *w;
    unsigned number;
} worker;

double lab_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- verdicts ---- */

const char *lab_verdict_text(lab_verdict verdict) {
    switch (verdict) {
    case LAB_NOT_RUN:
        return "not run";
    case LAB_IS_SHOWN:
        return "shown";
    case LAB_HOLDS:
        return "holds";
    case LAB_IS_UNDECIDED:
        return "undecided";
    case LAB_HAS_NO_POWER:
        return "no power";
    case LAB_IS_SLIP:
        return "a slip in the text";
    case LAB_IS_LOOSE:
        return "looser than stated";
    case LAB_IS_WRONG:
        return "false as stated";
    case LAB_FAILS:
        return "FAILS";
    }
    return "";
}

const char *lab_relation_text(lab_relation relation) {
    static const char *const TEXTS[] = {
        [LAB_EQUALS] = "equals", [LAB_AT_MOST] = "at most", [LAB_AT_LEAST] = "at least", [LAB_SHOWN] = "shown"};
    return TEXTS[relation];
}

const char *lab_means_text(lab_means means) {
    static const char *const TEXTS[] = {
        [LAB_MUST] = "must", [LAB_SLIP] = "slip", [LAB_LOOSE] = "loose", [LAB_WRONG] = "wrong"};
    return TEXTS[means];
}

bool lab_is_refuted(lab_verdict verdict) {
    return verdict == LAB_IS_SLIP || verdict == LAB_IS_LOOSE || verdict == LAB_IS_WRONG;
}

/* ---- running ---- */

static void free_contents(lab_result *r) {
    for (size_t i = 0; i < r->finding_count; i++)
        free(r->findings[i].what), free(r->findings[i].quote);
    free(r->findings);
    for (size_t i = 0; i < r->plot_count; i++) {
        lab_plot *plot = r->plots[i];
        for (size_t s = 0; s < plot->count; s++) {
            free(plot->series[s]->name);
            free(plot->series[s]->points);
            free(plot->series[s]);
        }
        free(plot->series);
        free(plot->title);
        free(plot->x_label);
        free(plot->y_label);
        free(plot);
    }
    free(r->plots);
    for (size_t i = 0; i < r->parameter_count; i++) {
        free(r->parameters[i].name);
        free(r->parameters[i].value);
    }
    free(r->parameters);
    *r = (lab_result){.claim = r->claim};
}

/* Records the parameters that the user has set. Returns whether the claim covers them all. */
static bool note_sets(lab *l) {
    bool covered = true;
    for (size_t i = 0; i < l->set_count; i++) {
        const lab_setting *setting = lab_setting_named(l->result->claim, l->sets[i].name);
        covered &= setting != NULL && lab_setting_covers(setting, l->sets[i].value);
        char name[64];
        (void)snprintf(name, sizeof name, "set %s", l->sets[i].name);
        lab_parameter(l, name, "%s", l->sets[i].value);
    }
    return covered;
}

/* The state is allocated and not a local variable, because locals that were changed after setjmp() have indeterminate
 * values after longjmp(). */
static void run_claim(work *w, lab_result *r, atomic_uint *done) {
    lab *l = lab_more(NULL, sizeof *l);
    double start = lab_seconds();
    *l = (lab){.result = r,
               .quick = w->settings.quick,
               .sets = w->settings.sets,
               .set_count = w->settings.set_count,
               .stop = w->stop,
               .done = done};
    lab_begin(l, w->settings.seed);
    l->covered = note_sets(l);
    int exit_reason = setjmp(l->out);
    if (exit_reason == 0) {
        r->claim->run(l);
        if (l->set_count == 0 && r->finding_count > 0 && lab_deciding(r) == r->finding_count)
            lab_find(l, LAB_EQUALS, 1, lab_exact(0), "the claim does not name the finding that decides it");
    }
    lab_drop_all(l);
    bool shown = !l->covered && exit_reason != LAB_OUT_STOPPED;
    free(l);
    r->seconds = lab_seconds() - start;
    r->verdict = shown ? LAB_IS_SHOWN : lab_judge_claim(r);
    lab_put_headline_first(r);
    if (exit_reason == LAB_OUT_STOPPED)
        free_contents(r);
}

static void *run_claims(void *context) {
    const worker *me = context;
    work *w = me->w;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count && !atomic_load(w->stop);) {
        atomic_store(&w->at[me->number].done, 0);
        atomic_store(&w->at[me->number].id, w->claims[i]->id);
        run_claim(w, &w->results[i], &w->at[me->number].done);
        atomic_store(&w->at[me->number].id, NULL);
        atomic_fetch_add(&w->finished, 1);
    }
    atomic_fetch_sub(&w->running, 1);
    return NULL;
}

static void report_progress(const work *w, lab_watch *watch, void *context) {
    double done = (double)atomic_load(&w->finished);
    char running[8 * THREADS_MAX] = "";
    size_t used = 0;
    for (unsigned t = 0; t < w->settings.threads; t++) {
        const char *id = atomic_load(&w->at[t].id);
        if (id == NULL)
            continue;
        done += atomic_load(&w->at[t].done) / 1000.0;
        used += (size_t)snprintf(running + used, sizeof running - used, "%s%s", used > 0 ? " " : "", id);
    }
    watch(context, w->count > 0 ? done / (double)w->count : 1, running);
}

lab_result *lab_run(const lab_claim *const *claims, size_t count, lab_settings settings, const atomic_bool *stop,
                    lab_watch *watch, void *context) {
    settings.threads = settings.threads < THREADS_MAX ? settings.threads : THREADS_MAX;
    work *w = lab_more(NULL, sizeof *w);
    memset(w, 0, sizeof *w);
    w->claims = claims;
    w->count = count;
    w->settings = settings;
    w->stop = stop;
    w->results = lab_more(NULL, (count + 1) * sizeof *w->results);
    for (size_t i = 0; i < count; i++)
        w->results[i] = (lab_result){.claim = claims[i]};

    pthread_t threads[THREADS_MAX];
    worker workers[THREADS_MAX];
    unsigned started = 0;
    for (unsigned t = 0; t < settings.threads; t++) {
        workers[t] = (worker){w, t};
        atomic_fetch_add(&w->running, 1);
        if (pthread_create(&threads[t], NULL, run_claims, &workers[t]) != 0) {
            atomic_fetch_sub(&w->running, 1);
            break;
        }
        started++;
    }
    if (started == 0) { /* no thread could be started: this one runs all claims, without progress reports */
        workers[0] = (worker){w, 0};
        atomic_fetch_add(&w->running, 1);
        (void)run_claims(&workers[0]);
    }
    while (atomic_load(&w->running) > 0) {
        report_progress(w, watch, context);
        nanosleep(&(struct timespec){0, WATCH_NANOSECONDS}, NULL);
    }
    for (unsigned t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
    lab_result *results = w->results;
    free(w);
    return results;
}

void lab_results_free(lab_result *results, size_t count) {
    for (size_t i = 0; i < count; i++)
        free_contents(&results[i]);
    free(results);
}
