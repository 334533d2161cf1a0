/* report_folder.h: writes the results of a run to a folder, as a page for people and as tables for programs.
 *
 *     DIR/index.html     the chart for choosing a filter, and for every claim its verdict, findings and plots; the page
 *                        needs no other file
 *     DIR/choosing.svg   the chart for choosing a filter alone: the picture of README.md
 *     DIR/findings.csv   one row per finding
 *     DIR/points.csv     one row per point of every plot, including the chart for choosing a filter
 *     DIR/documents.csv  which documents [0] to [4] are
 *
 * The CSV format is that of RFC 4180: a header row, lines that end with CR LF, quotes where they are needed. Numbers
 * are written with enough digits to restore the same double. The same seed gives the same files, except for the date,
 * the version and the run times, which only the page contains, and the times that T11 and F10 measure. */
#ifndef LAB_REPORT_REPORT_FOLDER_H
#define LAB_REPORT_REPORT_FOLDER_H

#include <lab/lab.h>

/* Creates the folder if it does not exist, and checks that files can be created in it. Call it before a long run. The
 * parent folder must exist.
 *
 * Returns NULL, or the path that is the problem, with errno set; EEXIST means that the path is not a folder. The
 * returned string is valid until the next call. */
const char *lab_report_prepare(const char *dir);

/* Writes the five files. They are renamed into place only after all of them have been written. If writing fails, the
 * old files are unchanged and no temporary file is left. Claims that were not run are marked as such. Returns NULL,
 * or the path of the file that is the problem, like lab_report_prepare(). */
const char *lab_report_write(const char *dir, const lab_result *results, size_t count, lab_settings settings);

/* Checks that a file can be created at `path`, whose folder must exist, or replaced there. Call it before a long run.
 * Returns NULL, or the path that is the problem, like lab_report_prepare(); ENOENT means that the folder does not
 * exist. */
const char *lab_plots_prepare(const char *path);

/* Writes each plot of the results as an SVG file: the first to `path`, which ends in .svg, others with -2, -3 … before
 * the .svg. Sets *plots to how many there are. Otherwise like lab_report_write(). */
const char *lab_plots_write(const char *path, const lab_result *results, size_t count, size_t *plots);

#endif
