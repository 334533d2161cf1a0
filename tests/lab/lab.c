/* Tests the lab itself with claims made for this test: verdicts, random numbers, stopping, and the texts of the
 * claims. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/experiment.h>
#include <lab/lab.h>

#include "check.h"

static void quiet(void *context, double done, const char *running) {
    (void)context, (void)running;
    CHECK(done >= 0 && done <= 1);
}

static const atomic_bool NEVER = false;

static lab_result *run_one(const lab_claim *claim, uint64_t seed) {
    return lab_run(&claim, 1, (lab_settings){.seed = seed, .quick = true, .threads = 1}, &NEVER, quiet, NULL);
}

static lab_verdict verdict_of(void (*run)(lab *l)) {
    lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .run = run};
    lab_result *r = run_one(&claim, 1);
    lab_verdict verdict = r->verdict;
    lab_results_free(r, 1);
    return verdict;
}

/* ---- verdicts ---- */

static void all_hold(lab *l) {
    lab_find(l, LAB_MUST, LAB_EQUALS, 2, (lab_estimate){2.1, 1.9, 2.3}, "in the interval");
    lab_find(l, LAB_MUST, LAB_AT_MOST, 2, (lab_estimate){2.1, 1.9, 2.3}, "not wholly above");
    lab_find(l, LAB_MUST, LAB_AT_LEAST, 2, (lab_estimate){1.9, 1.7, 2.05}, "not wholly below");
    lab_find(l, LAB_WRONG, LAB_EQUALS, 2, lab_exact(2), "right after all");
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(77), "shown");
}
static void one_is_loose(lab *l) {
    all_hold(l);
    lab_find(l, LAB_LOOSE, LAB_AT_MOST, 1, (lab_estimate){2, 1.9, 2.1}, "above");
}
static void one_is_wrong(lab *l) {
    one_is_loose(l);
    lab_find(l, LAB_WRONG, LAB_EQUALS, 1, (lab_estimate){2, 1.9, 2.1}, "outside the interval");
}
static void one_fails(lab *l) {
    one_is_wrong(l);
    lab_find(l, LAB_MUST, LAB_AT_LEAST, 3, (lab_estimate){2, 1.9, 2.1}, "below");
}
static void nothing(lab *l) {
    lab_progress(l, 0.5);
}
static void a_status(lab *l) {
    all_hold(l);
    lab_must(l, KITH_E_FULL, "adding keys");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact(0), "never reached");
}
static void a_condition(lab *l) {
    (void)lab_take(l, 1000);
    (void)lab_filter(l, "bloom", 10, 0.1, 0, NULL);
    lab_require(l, false, "a key is lost");
}
static void not_a_number(lab *l) {
    lab_find(l, LAB_MUST, LAB_EQUALS, 1, (lab_estimate){NAN, NAN, NAN}, "not a number");
}

TEST(the_worst_finding_decides_the_verdict) {
    CHECK(verdict_of(all_hold) == LAB_HOLDS);
    CHECK(verdict_of(one_is_loose) == LAB_IS_LOOSE);
    CHECK(verdict_of(one_is_wrong) == LAB_IS_WRONG);
    CHECK(verdict_of(one_fails) == LAB_FAILS);
    CHECK(verdict_of(nothing) == LAB_FAILS);
    CHECK(verdict_of(a_status) == LAB_FAILS);
    CHECK(verdict_of(a_condition) == LAB_FAILS);
    CHECK(verdict_of(not_a_number) == LAB_FAILS);
}

TEST(the_headline_is_the_finding_that_decided_the_verdict) {
    lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .run = one_fails};
    lab_result *r = run_one(&claim, 1);
    CHECK(strcmp(lab_headline(r)->what, "below") == 0);
    lab_results_free(r, 1);
    claim.run = a_status;
    r = run_one(&claim, 1);
    CHECK(strncmp(lab_headline(r)->what, "adding keys: ", 13) == 0);
    CHECK_EQ_U64(r->finding_count, 6);
    lab_results_free(r, 1);
}

/* ---- goodness of fit ---- */

static bool fits(const uint64_t *observed, const double *expected, size_t n);
static const uint64_t *fit_observed;
static const double *fit_expected;
static size_t fit_cells;
static void fit(lab *l) {
    lab_find_fit(l, LAB_MUST, fit_observed, fit_expected, fit_cells, 1, "fit");
}
static bool fits(const uint64_t *observed, const double *expected, size_t n) {
    fit_observed = observed, fit_expected = expected, fit_cells = n;
    return verdict_of(fit) == LAB_HOLDS;
}

TEST(a_chi_square_test_holds_only_if_the_counts_fit) {
    static const double EXPECTED[] = {100, 200, 300, 9, 3, 2, 1};
    CHECK(fits((uint64_t[]){100, 200, 300, 9, 3, 2, 1}, EXPECTED, 7));
    CHECK(fits((uint64_t[]){110, 190, 310, 5, 5, 2, 1}, EXPECTED, 7));
    CHECK(!fits((uint64_t[]){180, 120, 300, 9, 3, 2, 1}, EXPECTED, 7));
    CHECK(!fits((uint64_t[]){100, 200, 300, 9, 3, 2, 40}, EXPECTED, 7)); /* in the cells that are merged */
    CHECK(!fits((uint64_t[]){0, 5}, (double[]){1, 4}, 2));               /* too few for a test */
}

/* ---- random numbers ---- */

static void draws(lab *l) {
    lab_series *series = lab_points(lab_draw(l, "draws", "x", "y", LAB_LOG_X), "drawn");
    for (int i = 0; i < 1000; i++) {
        double u = lab_unit(l);
        lab_require(l, u >= 0 && u < 1 && lab_below(l, 7) < 7, "out of range");
        lab_at(series, i, lab_exact((double)lab_random(l)));
    }
    kith_filter *f = lab_filter(l, "cuckoo", 500, 0.001, 0, NULL);
    lab_fill(l, f, 0, 500);
    lab_find(l, LAB_MUST, LAB_EQUALS, 500, lab_exact((double)lab_count_found(l, f, 0, 500)), "keys found");
    lab_drop(l, f);
    lab_drop(l, NULL);
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact((double)lab_key(l, 3)), "a key");
    lab_parameter(l, "n", "%d", 500);
}

static bool same(const lab_result *a, const lab_result *b) {
    const lab_series *x = a->plots[0]->series[0], *y = b->plots[0]->series[0];
    bool same = x->count == y->count && a->finding_count == b->finding_count;
    for (size_t i = 0; same && i < x->count; i++)
        same = x->points[i].y.value == y->points[i].y.value;
    return same && a->findings[1].measured.value == b->findings[1].measured.value;
}

TEST(a_result_depends_only_on_the_seed_not_on_threads_or_other_claims) {
    lab_claim claims[3] = {{.id = "X1", .run = draws}, {.id = "X2", .run = draws}, {.id = "Y1", .run = draws}};
    const lab_claim *all[] = {&claims[0], &claims[1], &claims[2]};
    lab_result *alone = run_one(&claims[1], 5), *other = run_one(&claims[1], 6);
    CHECK(alone->verdict == LAB_HOLDS && !same(alone, other));
    for (unsigned threads = 1; threads <= 4; threads++) {
        lab_result *r =
            lab_run(all, 3, (lab_settings){.seed = 5, .quick = true, .threads = threads}, &NEVER, quiet, NULL);
        CHECK(same(alone, &r[1]) && !same(alone, &r[0]) && !same(alone, &r[2]));
        lab_results_free(r, 3);
    }
    lab_results_free(alone, 1);
    lab_results_free(other, 1);
}

/* ---- stopping ---- */

static void endless(lab *l) {
    (void)lab_take(l, 100000);
    lab_find(l, LAB_MUST, LAB_EQUALS, 1, lab_exact(1), "so far");
    for (;;)
        lab_progress(l, 0.3);
}

static void stop_soon(void *context, double done, const char *running) {
    if (done > 0.1 && strcmp(running, "X2") == 0)
        atomic_store((atomic_bool *)context, true);
}

TEST(a_stopped_run_keeps_the_finished_results) {
    lab_claim claims[3] = {{.id = "X1", .run = all_hold}, {.id = "X2", .run = endless}, {.id = "X3", .run = all_hold}};
    const lab_claim *all[] = {&claims[0], &claims[1], &claims[2]};
    atomic_bool stop = false;
    lab_result *r = lab_run(all, 3, (lab_settings){.seed = 1, .threads = 1}, &stop, stop_soon, &stop);
    CHECK(r[0].verdict == LAB_HOLDS && r[1].verdict == LAB_NOT_RUN && r[2].verdict == LAB_NOT_RUN);
    CHECK(r[1].finding_count == 0 && r[1].claim == &claims[1]);
    lab_results_free(r, 3);
}

/* ---- the list of claims ---- */

TEST(claims_have_unique_ids_and_all_their_texts) {
    CHECK(LAB_CLAIM_COUNT > 0);
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        const lab_claim *c = LAB_CLAIMS[i];
        CHECK(c->id != NULL && c->title != NULL && c->sentence != NULL && c->code != NULL && c->run != NULL);
        CHECK(lab_claim_named(c->id) == c);
    }
    CHECK(lab_claim_named("b2") == lab_claim_named("B2") && lab_claim_named("Q9") == NULL);
}

/* Reads a file and replaces every run of white space by one blank. */
static char *words_of(const char *name) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", KITH_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    size_t capacity = 1 << 20, used = 0;
    char *text = malloc(capacity);
    CHECK(text != NULL);
    for (int c; (c = fgetc(file)) != EOF && used + 1 < capacity;) {
        bool blank = c == ' ' || c == '\n' || c == '\t';
        if (!blank || (used > 0 && text[used - 1] != ' '))
            text[used++] = blank ? ' ' : (char)c;
    }
    text[used] = '\0';
    fclose(file);
    return text;
}

TEST(the_theory_document_contains_every_claim_with_its_code_and_note) {
    char *theory = words_of("docs/theory.md");
    CHECK(theory != NULL);
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        const lab_claim *c = LAB_CLAIMS[i];
        char heading[256];
        (void)snprintf(heading, sizeof heading, "### %s: %s ", c->id, c->title);
        if (strstr(theory, heading) == NULL)
            CHECK_FAIL("docs/theory.md has no heading '%s'", heading);
        if (c->note != NULL && strstr(theory, c->note) == NULL)
            CHECK_FAIL("docs/theory.md does not have the note of %s", c->id);
        char *code = words_of(c->code);
        if (code == NULL)
            CHECK_FAIL("%s: there is no file %s", c->id, c->code);
        free(code);
    }
    free(theory);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
