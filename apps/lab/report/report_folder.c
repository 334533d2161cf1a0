/* report_folder.c: see report_folder.h. */
#include "report_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/memory.h>
#include "choosing.h"
#include "csv.h"
#include "files.h"
#include "page.h"
#include "plot.h"

const char *lab_report_prepare(const char *dir) {
    return files_prepare(dir);
}

const char *lab_report_write(const char *dir, const lab_result *results, size_t count, lab_settings settings) {
    enum { FINDINGS, POINTS, DOCUMENTS, CHOOSING, PAGE, FILES };
    report_file files[FILES] = {
        [FINDINGS] = {.name = "findings.csv"},   [POINTS] = {.name = "points.csv"},
        [DOCUMENTS] = {.name = "documents.csv"}, [CHOOSING] = {.name = "choosing.svg"},
        [PAGE] = {.name = "index.html"},
    };
    const char *failed_path = files_prepare(dir);
    if (failed_path != NULL)
        return failed_path;
    lab_result *chart = choosing_chart();
    csv_findings(&files[FINDINGS].content, results, count);
    csv_points(&files[POINTS].content, chart, 1, false);
    csv_points(&files[POINTS].content, results, count, true);
    csv_documents(&files[DOCUMENTS].content);
    plot_svg(&files[CHOOSING].content, chart->plots[0], chart->claim->id, NULL);
    page_html(&files[PAGE].content, chart, results, count, settings);
    failed_path = files_replace(dir, files, FILES);
    int error = errno;
    for (size_t i = 0; i < FILES; i++)
        free(files[i].content.bytes);
    lab_results_free(chart, 1);
    errno = error;
    return failed_path;
}

/* Returns the folder of a path, in memory that the caller frees, and sets *name to the part after it. */
static char *folder_of(const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    char *folder = lab_copy(slash == NULL ? "." : path);
    if (slash != NULL)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

const char *lab_plots_prepare(const char *path) {
    const char *name;
    char *folder = folder_of(path, &name);
    const char *failed_path = files_check(folder);
    int error = errno;
    free(folder);
    if (failed_path == NULL)
        return files_check_file(path);
    errno = error;
    return error == ENOENT ? path : failed_path;
}

const char *lab_plots_write(const char *path, const lab_result *results, size_t count, size_t *plots) {
    enum { END_BYTES = 4, NUMBER_BYTES = 32 }; /* ".svg", and "-2" before it */
    const char *name;
    char *folder = folder_of(path, &name);
    size_t all = 0, at = 0, name_bytes = strlen(name) + NUMBER_BYTES;
    for (size_t i = 0; i < count; i++)
        all += results[i].plot_count;
    report_file *files = lab_more(NULL, all * sizeof *files);
    char *names = lab_more(NULL, all * name_bytes);
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < results[i].plot_count; p++, at++) {
            char *own = names + at * name_bytes;
            if (at == 0)
                (void)snprintf(own, name_bytes, "%s", name);
            else
                (void)snprintf(own, name_bytes, "%.*s-%zu.svg", (int)(strlen(name) - END_BYTES), name, at + 1);
            files[at] = (report_file){.name = own};
            plot_svg(&files[at].content, results[i].plots[p], results[i].claim->id, results[i].plots[p]->title);
        }
    const char *failed_path = files_replace(folder, files, all);
    int error = errno;
    for (size_t i = 0; i < all; i++)
        free(files[i].content.bytes);
    free(files);
    free(names);
    free(folder);
    *plots = all;
    errno = error;
    return failed_path;
}
