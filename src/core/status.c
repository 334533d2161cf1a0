/* The names and texts of the status codes, from KITH_STATUS_LIST, and the version string. */
#include <kith/status.h>

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *kith_version(void) {
    return VERSION(KITH_VERSION_MAJOR, KITH_VERSION_MINOR, KITH_VERSION_PATCH);
}

const char *kith_status_name(kith_status status) {
    switch (status) {
#define CASE(number, name, sentence)                                                                                   \
    case KITH_##name:                                                                                                  \
        return "KITH_" #name;
        KITH_STATUS_LIST(CASE)
#undef CASE
    }
    return "KITH_E_?";
}

const char *kith_status_text(kith_status status) {
    switch (status) {
#define CASE(number, name, sentence)                                                                                   \
    case KITH_##name:                                                                                                  \
        return sentence;
        KITH_STATUS_LIST(CASE)
#undef CASE
    }
    return "not a status of this library";
}
