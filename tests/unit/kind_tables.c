/* Tests that the numbers in docs/kinds.md and include/kith/filter.h are those of the planner. */
#include <kith/kith.h>

#include "check.h"

static FILE *open_in_root(const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", KITH_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        CHECK_FAIL("cannot open %s", path);
    return file;
}

static double planned_bits(const char *kind, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = 1000000;
    spec.rate = rate;
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    return plan.bits_per_key;
}

static void check_figure(const char *kind, double rate, const char *figure, int digits) {
    char planned[32];
    snprintf(planned, sizeof planned, "%.*f", digits, planned_bits(kind, rate));
    if (strcmp(planned, figure) != 0)
        CHECK_FAIL("%s at %g: the text says %s bits per key, the plan %s", kind, rate, figure, planned);
}

TEST(table_of_kinds_in_the_document_matches_the_planner) {
    FILE *file = open_in_root("docs/kinds.md");
    char line[1024];
    size_t rows = 0;
    static const double rates[] = {0.1, 0.01, 0.001, 0.0001};
    while (fgets(line, sizeof line, file) != NULL) {
        char kind[32], figures[4][32];
        if (sscanf(line, "| `%31[a-z_]` | %31s | %31s | %31s | %31s |", kind, figures[0], figures[1], figures[2],
                   figures[3]) != 5)
            continue;
        for (int i = 0; i < 4; i++)
            check_figure(kind, rates[i], figures[i], 2);
        rows++;
    }
    fclose(file);
    CHECK_EQ_U64(rows, kith_filter_kind_count());
}

TEST(table_of_kinds_in_filter_h_matches_the_planner) {
    FILE *file = open_in_root("include/kith/filter.h");
    char line[1024];
    size_t rows = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        char kind[32], at_1[32], at_01[32];
        if (sscanf(line, " * %31[a-z_] %*[a-z] %31s / %31s", kind, at_1, at_01) != 3)
            continue;
        check_figure(kind, 0.01, at_1, 1);
        check_figure(kind, 0.001, at_01, 1);
        rows++;
    }
    fclose(file);
    CHECK_EQ_U64(rows, kith_filter_kind_count() - 1); /* layers depend on the inner kind */
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
