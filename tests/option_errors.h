/* option_errors.h: the codes for options that are refused. */
#ifndef TEST_OPTION_ERRORS_H
#define TEST_OPTION_ERRORS_H

#include <kith/status.h>

static inline bool is_option_error(kith_status status) {
    return status == KITH_E_OPTION || status == KITH_E_OPTION_TWICE || status == KITH_E_OPTION_VALUE ||
           status == KITH_E_OPTION_KIND || status == KITH_E_OPTION_FIT;
}

#endif
