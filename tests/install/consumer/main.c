/* A minimal program that uses the installed library.
 * usage: main VERSION      exits with 0 if the library has this version and a filter works */
#include <kith/kith.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, kith_status status) {
    fprintf(stderr, "%s: %s\n", what, kith_status_text(status));
    return 1;
}

int main(int argc, char **argv) {
    char header_version[64];
    snprintf(header_version, sizeof header_version, "%d.%d.%d", KITH_VERSION_MAJOR, KITH_VERSION_MINOR,
             KITH_VERSION_PATCH);
    if (argc != 2 || strcmp(argv[1], kith_version()) != 0 || strcmp(argv[1], header_version) != 0) {
        fprintf(stderr, "expected version %s, the library has %s, the headers have %s\n",
                argc > 1 ? argv[1] : "nothing", kith_version(), header_version);
        return 1;
    }

    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "bloom";
    spec.capacity = 1000;
    spec.rate = 0.001;
    kith_filter *filter = NULL;
    kith_status status = kith_filter_create(&spec, &filter);
    if (status)
        return fail("create", status);
    status = kith_filter_add(filter, "kith", 4, NULL);
    bool has = kith_filter_has(filter, "kith", 4);
    bool has_other = kith_filter_has(filter, "kin", 3);
    kith_filter_free(filter);
    if (status)
        return fail("add", status);
    if (!has || has_other) {
        fprintf(stderr, "has() returned %d for the key that was added, %d for another key\n", has, has_other);
        return 1;
    }
    return 0;
}
