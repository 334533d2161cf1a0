/* report_folder.c: see report_folder.h. */
#include "report_folder.h"

#include <errno.h>
#include <stdlib.h>

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
    plot_svg(&files[CHOOSING].content, chart->plots[0], chart->claim->id);
    page_html(&files[PAGE].content, chart, results, count, settings);
    failed_path = files_replace(dir, files, FILES);
    int error = errno;
    for (size_t i = 0; i < FILES; i++)
        free(files[i].content.bytes);
    lab_results_free(chart, 1);
    errno = error;
    return failed_path;
}
