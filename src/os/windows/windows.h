/* os/windows/windows.h: what the files of this folder share. Paths are UTF-8, as in the rest of the library. */
#ifndef KITHI_OS_WINDOWS_H
#define KITHI_OS_WINDOWS_H

#include <stdbool.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { KITHI_PATH_UNITS = 4096 }; /* of UTF-16, with the terminating zero */

/* Sets errno and returns false if the path is too long or not UTF-8. */
bool kithi_wide_path(const char *path, wchar_t wide[KITHI_PATH_UNITS]);

/* Sets errno from GetLastError(). Returns false. */
bool kithi_fail_windows(void);

#endif
