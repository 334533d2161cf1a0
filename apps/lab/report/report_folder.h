/* report_folder.h: what a run found, as files to read and to compute with.
 *
 *     DIR/index.html     the choosing chart and every claim: verdict, findings, plots; one file that needs no other
 *     DIR/findings.csv   a row a finding
 *     DIR/points.csv     a row a point of each plot, those of the choosing chart too
 *
 * CSV is that of RFC 4180: a first row of names, CR LF, quotes where they are needed; numbers have all their digits. But
 * for the date, the version and the seconds, which only the page has, a seed gives the same files again. */
#ifndef LAB_REPORT_REPORT_FOLDER_H
#define LAB_REPORT_REPORT_FOLDER_H

#include <lab/lab.h>

/* Makes the folder, unless it is there, and looks whether files may be put into it: for before a long run. Folders above
 * it must be there. NULL, or the path that stands in the way; errno says why, EEXIST that it is no folder. The answer lives
 * until the next call. */
const char *lab_report_prepare(const char *dir);

/* Writes all three. They are put in place when all are written: before that, on an error, what was there is as it was, and
 * nothing else is left. Claims that were not run are named as such. Answers as above, the path being that of a file. */
const char *lab_report_write(const char *dir, const lab_result *results, size_t count, lab_settings settings);

#endif
