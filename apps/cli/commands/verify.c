/* verify.c: `kith verify`.
 *
 * The files may come from anyone, so each of them is read in a box (box.h): a process that opens FILE and its journal,
 * closes the box, reads them, and sends a verdict. Only this process prints. A verdict is as untrusted as the file, so
 * its text may not send escapes to the terminal (note() and JSON take care of that). */
#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <kith/filter.h>

#include "cli/commands/box.h"
#include "cli/commands.h"
#include "cli/files/opened.h"
#include "cli/output/json.h"
#include "cli/server/dump.h"
#include "cli/output/report.h"

typedef struct verdict {
    kith_status status;
    reason_text reason; /* empty if the file is sound */
} verdict;
_Static_assert(sizeof(verdict) <= BOX_RESULT_MAX, "a verdict does not fit into a message");

typedef struct job {
    const arguments *a;
    const char *path;
    int file, journal; /* file is negative: it could not be opened, see `unopened` */
    verdict unopened;
} job;

/* ---- in the box ---- */

static void open_files(void *context) {
    job *j = context;
    verdict *v = &j->unopened;
    j->file = j->journal = -1;
    v->status = strcmp(j->path, "-") == 0 ? KITH_E_IO : kith_file_descriptors(j->path, &j->file, &j->journal);
    if (v->status == KITH_OK)
        return;
    j->file = -1;
    (void)snprintf(v->reason, sizeof v->reason, "%s",
                   strcmp(j->path, "-") == 0 ? "a filter must be a file, not standard input"
                   : errno == EINVAL         ? "is not a regular file"
                                             : text_of_failure(v->status, errno));
}

static void check_dump(job *j, verdict *v) {
    redis_dump dump;
    v->status = redis_dump_read(j->file, j->a, &dump, v->reason) ? KITH_OK : KITH_E_CORRUPT;
    redis_dump_free(&dump);
}

static void check_filter(job *j, verdict *v) {
    kith_file *file;
    kith_file_error error = KITH_FILE_ERROR_INIT;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    options.max_bytes = j->a->memory;
    options.no_map = j->a->no_mmap;
    options.error = &error;
    v->status = kith_file_open_fd(j->file, j->journal, &options, &file);
    if (v->status != KITH_OK) {
        filter_file_explain(j->path, &error, j->a, v->reason);
        return;
    }
    j->file = j->journal = -1; /* they belong to the file */
    const char *reason = NULL;
    v->status = kith_filter_check(kith_file_filter(file), &reason);
    if (v->status != KITH_OK)
        (void)snprintf(v->reason, sizeof v->reason, "%s", reason != NULL ? reason : kith_status_text(v->status));
    (void)kith_file_close(file);
}

static void close_files(const job *j) {
    if (j->file >= 0)
        (void)close(j->file);
    if (j->journal >= 0)
        (void)close(j->journal);
}

static void check(void *context, void *result) {
    job *j = context;
    if (j->file < 0)
        *(verdict *)result = j->unopened;
    else if (redis_dump_is_fd(j->file))
        check_dump(j, result);
    else
        check_filter(j, result);
    close_files(j);
}

/* ---- in the tool ---- */

static void set(verdict *v, kith_status status, const char *reason) {
    v->status = status;
    (void)snprintf(v->reason, sizeof v->reason, "%s", reason);
}

/* A crash is a fault of kith that this file shows. Other signals come from outside: SIGKILL if memory is short. */
static void judge_signal(int number, verdict *v) {
    bool is_crash = number == SIGSEGV || number == SIGILL || number == SIGFPE || number == SIGABRT || number == SIGTRAP;
    v->status = is_crash ? KITH_E_CORRUPT : KITH_E_IO;
    (void)snprintf(v->reason, sizeof v->reason, "the process that read the file was killed by signal %d (%s)%s", number,
                   strsignal(number), is_crash ? "; do not use the file, and please report it" : "");
}

/* Makes a verdict from how the process has ended. */
static void judge(const box_end *end, verdict *v) {
    switch (end->how) {
    case BOX_DONE:
        v->reason[sizeof v->reason - 1] = '\0';
        break;
    case BOX_FORBIDDEN:
        set(v, KITH_E_CORRUPT,
            "the file made kith verify attempt a forbidden system call, and was not read further; do not use the file, "
            "and please report it (kith help verify)");
        break;
    case BOX_SIGNALLED:
        if (end->number == SIGBUS)
            set(v, KITH_E_TRUNCATED, "the file became shorter, or the disk failed, while it was read (try --no-mmap)");
        else
            judge_signal(end->number, v);
        break;
    case BOX_BROKEN:
        v->status = KITH_E_IO;
        (void)snprintf(v->reason, sizeof v->reason,
                       "cannot run a process to read it: %s (--no-box reads it without one)",
                       end->number != 0 ? strerror(end->number) : "it ended without a result");
        break;
    }
}

static void put_verdict(const arguments *a, const char *path, const verdict *v, const box_end *end) {
    bool is_sound = v->status == KITH_OK;
    if (a->json) {
        json_open(NULL, '{');
        json_text("file", path);
        json_bool("sound", is_sound);
        json_text("status", kith_status_name(v->status));
        json_text("reason", is_sound ? NULL : v->reason);
        json_bool("boxed", end->open_because[0] == '\0');
        json_text("not_boxed_because", end->open_because[0] == '\0' ? NULL : end->open_because);
        json_close('}');
        json_end();
    } else if (is_sound) {
        out_plain("%s: sound", path);
        out_text("\n");
    }
    if (!is_sound)
        note("%s: %s", path, v->reason);
}

static void put_box(const box_end *end) {
    if (end->open_because[0] == '\0')
        note("each file is read by a process that seccomp confines to reading it");
    else
        note("files are not read in a box: %s", end->open_because);
}

static bool verify(const arguments *a, const char *path, bool is_first) {
    verdict v = {0};
    job j = {.a = a, .path = path};
    box_job boxed = {open_files, check, &j, &v, sizeof v};
    const char *why_open = a->no_box ? "--no-box" : box_missing();
    box_end end = why_open != NULL ? box_run_open(&boxed, why_open) : box_run(&boxed);
    judge(&end, &v);
    if (a->verbose && is_first)
        put_box(&end);
    put_verdict(a, path, &v, &end);
    return v.status == KITH_OK;
}

int command_verify(const arguments *a) {
    size_t sound = 0;
    for (size_t i = 0; i < a->operand_count; i++)
        sound += verify(a, a->operands[i], i == 0);
    return sound == a->operand_count ? EXIT_FOUND : EXIT_ERROR;
}
