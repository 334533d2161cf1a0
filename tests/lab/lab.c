/* Tests the lab itself with claims made for this test: verdicts, random numbers, stopping, and the texts of the
 * claims. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/experiment.h>
#include <lab/judge.h>
#include <lab/lab.h>
#include <lab/printed.h>

#include "check.h"
#include "sanitizer.h"

static void quiet(void *context, double done, const char *running) {
    (void)context, (void)running;
    CHECK(done >= 0 && done <= 1);
}

static const atomic_bool NEVER = false;

static lab_result *run_one(const lab_claim *claim, uint64_t seed) {
    return lab_run(&claim, 1, (lab_settings){.seed = seed, .quick = true, .threads = 1}, &NEVER, quiet, NULL);
}

static lab_verdict verdict_of(void (*run)(lab *l)) {
    lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .decides = "", .run = run};
    lab_result *r = run_one(&claim, 1);
    lab_verdict verdict = r->verdict;
    lab_results_free(r, 1);
    return verdict;
}

/* ---- verdicts ---- */

static void all_hold(lab *l) {
    lab_find(l, LAB_EQUALS, 2, (lab_estimate){2.1, 1.9, 2.3}, "in the interval");
    lab_find(l, LAB_AT_MOST, 2, (lab_estimate){1.9, 1.7, 2}, "not above");
    lab_find(l, LAB_AT_LEAST, 2, (lab_estimate){2.1, 2, 2.3}, "not below");
    lab_find_stated(l, LAB_WRONG, "[2]: \"wrong <words>\"", LAB_EQUALS, 2, lab_exact(2), "right after all");
    lab_find(l, LAB_SHOWN, 0, lab_exact(77), "shown");
}
static void one_has_a_slip(lab *l) {
    all_hold(l);
    lab_find_stated(l, LAB_SLIP, "[3]: \"a slip\"", LAB_EQUALS, 1, (lab_estimate){2, 1.9, 2.1}, "a misprint");
}
static void one_is_loose(lab *l) {
    one_has_a_slip(l);
    lab_find_stated(l, LAB_LOOSE, "[1]: \"loose, words\"", LAB_AT_MOST, 1, (lab_estimate){2, 1.9, 2.1}, "above");
}
static void one_is_wrong(lab *l) {
    one_is_loose(l);
    lab_find_stated(l, LAB_WRONG, "[2]: \"wrong <words>\"", LAB_EQUALS, 1, (lab_estimate){2, 1.9, 2.1},
                    "outside the interval");
}
static void one_fails(lab *l) {
    one_is_wrong(l);
    lab_find(l, LAB_AT_LEAST, 3, (lab_estimate){2, 1.9, 2.1}, "below");
}
static void nothing(lab *l) {
    lab_progress(l, 0.5);
}
static void a_status(lab *l) {
    all_hold(l);
    lab_must(l, KITH_E_FULL, "adding keys");
    lab_find(l, LAB_EQUALS, 0, lab_exact(0), "never reached");
}
static void a_condition(lab *l) {
    (void)lab_take(l, 1000);
    (void)lab_filter(l, "bloom", 10, 0.1, 0, NULL);
    lab_require(l, false, "a key is lost");
}
static void not_a_number(lab *l) {
    lab_find(l, LAB_EQUALS, 1, (lab_estimate){NAN, NAN, NAN}, "not a number");
}

TEST(the_worst_finding_decides_the_verdict) {
    CHECK(verdict_of(all_hold) == LAB_HOLDS);
    CHECK(verdict_of(one_has_a_slip) == LAB_IS_SLIP);
    CHECK(verdict_of(one_is_loose) == LAB_IS_LOOSE);
    CHECK(verdict_of(one_is_wrong) == LAB_IS_WRONG);
    CHECK(verdict_of(one_fails) == LAB_FAILS);
    CHECK(verdict_of(nothing) == LAB_FAILS);
    CHECK(verdict_of(a_status) == LAB_FAILS);
    CHECK(verdict_of(a_condition) == LAB_FAILS);
    CHECK(verdict_of(not_a_number) == LAB_FAILS);
}

/* Judges one finding about a value between low and high. */
static lab_finding judged(lab_relation relation, double predicted, double low, double high) {
    lab_finding f = {.what = "x", .relation = relation, .predicted = predicted, .measured = {low, low, high}};
    lab_judge(&f);
    return f;
}
static lab_outcome outcome_of(lab_relation relation, double predicted, double low, double high) {
    return judged(relation, predicted, low, high).outcome;
}

TEST(a_bound_inside_the_interval_decides_nothing) {
    CHECK(outcome_of(LAB_AT_MOST, 1, 0.8, 0.9) == LAB_YES && outcome_of(LAB_AT_MOST, 1, 0.8, 1) == LAB_YES);
    CHECK(outcome_of(LAB_AT_MOST, 1, 0.9, 1.1) == LAB_UNDECIDED && outcome_of(LAB_AT_MOST, 1, 1.1, 1.2) == LAB_NO);
    CHECK(outcome_of(LAB_AT_LEAST, 1, 1, 1.2) == LAB_YES && outcome_of(LAB_AT_LEAST, 1, 0.9, 1.1) == LAB_UNDECIDED);
    CHECK(outcome_of(LAB_AT_LEAST, 1, 0.8, 0.9) == LAB_NO && outcome_of(LAB_EQUALS, 1, 0.9, 1.1) == LAB_YES);
}

TEST(an_interval_that_reaches_more_than_ten_times_the_prediction_has_no_power) {
    lab_outcome_words words;
    CHECK(outcome_of(LAB_EQUALS, 0.01, 0, 0.1) == LAB_YES && outcome_of(LAB_EQUALS, 0.01, 0, 0.11) == LAB_NO_POWER);
    CHECK(outcome_of(LAB_AT_MOST, 0.01, 0, 0.11) == LAB_NO_POWER);
    CHECK(outcome_of(LAB_AT_LEAST, 0.01, 0, 0.11) == LAB_NO_POWER);
    CHECK(outcome_of(LAB_EQUALS, -0.01, -0.11, 0.05) == LAB_NO_POWER);
    CHECK(outcome_of(LAB_EQUALS, 0.01, 0.05, 0.11) == LAB_NO);    /* refuted all the same */
    CHECK(outcome_of(LAB_AT_LEAST, 0.01, 0.05, 0.11) == LAB_YES); /* and confirmed: a bound may be far away */
    CHECK(outcome_of(LAB_EQUALS, 0, 0, 0.1) == LAB_YES);          /* one event would refute it */
    CHECK(outcome_of(LAB_SHOWN, 0.01, 0, 0.11) == LAB_YES);
    lab_finding f = judged(LAB_EQUALS, 0.001, 0, 0.74);
    CHECK(strcmp(lab_finding_text(&f, words), "no power: 740 x") == 0);
    f = judged(LAB_EQUALS, 2e-14, 0, 2e-5);
    CHECK(strcmp(lab_finding_text(&f, words), "no power: 1e+09 x") == 0);
    f = judged(LAB_AT_MOST, 1, 0.9, 1.1);
    CHECK(strcmp(lab_finding_text(&f, words), "undecided") == 0);
}

static void bound_inside(lab *l, bool is_known, double exact) {
    lab_find_stated(l, LAB_LOOSE, "[1]: \"loose, words\"", LAB_AT_MOST, 1, (lab_estimate){1, 0.9, 1.1}, "a bound");
    if (is_known)
        lab_known(l, exact);
}
static void unknown(lab *l) {
    all_hold(l);
    bound_inside(l, false, 0);
}
static void known_below(lab *l) {
    bound_inside(l, true, 0.95);
}
static void known_above(lab *l) {
    bound_inside(l, true, 1.05);
}
static void known_elsewhere(lab *l) {
    bound_inside(l, true, 0.5);
}

TEST(a_known_value_decides_and_the_measurement_must_agree_with_it) {
    CHECK(verdict_of(unknown) == LAB_IS_UNDECIDED);
    CHECK(verdict_of(known_below) == LAB_HOLDS);
    CHECK(verdict_of(known_above) == LAB_IS_LOOSE);
    CHECK(verdict_of(known_elsewhere) == LAB_FAILS);
}

static void weak(lab *l) {
    lab_find(l, LAB_EQUALS, 2, (lab_estimate){2.1, 1.9, 2.3}, "with power");
    lab_find(l, LAB_EQUALS, 1e-6, (lab_estimate){0, 0, 0.001}, "without power");
    lab_find(l, LAB_AT_MOST, 2, (lab_estimate){2.1, 1.9, 2.3}, "in the middle");
}

TEST(a_claim_needs_power_where_it_is_decided) {
    static const struct {
        const char *decides;
        lab_verdict verdict;
    } CASES[] = {{"with power", LAB_HOLDS}, {"without power", LAB_HAS_NO_POWER}, {"middle", LAB_IS_UNDECIDED}};
    for (size_t i = 0; i < 3; i++) {
        lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .decides = CASES[i].decides, .run = weak};
        lab_result *r = run_one(&claim, 1);
        CHECK(r->verdict == CASES[i].verdict && strstr(lab_headline(r)->what, CASES[i].decides) != NULL);
        lab_results_free(r, 1);
    }
}

TEST(verdicts_have_these_words) {
    CHECK(strcmp(lab_verdict_text(LAB_IS_UNDECIDED), "undecided") == 0);
    CHECK(strcmp(lab_verdict_text(LAB_HAS_NO_POWER), "no power") == 0);
    CHECK(strcmp(lab_verdict_text(LAB_HOLDS), "holds") == 0);
    CHECK(strcmp(lab_verdict_text(LAB_IS_LOOSE), "looser than stated") == 0);
    CHECK(strcmp(lab_verdict_text(LAB_IS_SLIP), "a slip in the text") == 0);
    CHECK(strcmp(lab_verdict_text(LAB_IS_WRONG), "false as stated") == 0);
    CHECK(strcmp(lab_verdict_text(LAB_IS_SHOWN), "shown") == 0);
}

/* Runs the claim and checks its headline, which must also be the first of the findings. */
static void check_headline(void (*run)(lab *l), const char *decides, const char *what, const char *quote) {
    lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .decides = decides, .run = run};
    lab_result *r = run_one(&claim, 1);
    const lab_finding *f = lab_headline(r);
    CHECK(f == &r->findings[0] && strncmp(f->what, what, strlen(what)) == 0);
    CHECK(quote == NULL ? f->quote == NULL : strcmp(f->quote, quote) == 0);
    lab_results_free(r, 1);
}

TEST(the_headline_is_the_finding_that_decided_the_verdict_and_comes_first) {
    check_headline(all_hold, "not below", "not below", NULL);
    check_headline(one_has_a_slip, "not below", "a misprint", "[3]: \"a slip\"");
    check_headline(one_is_wrong, "not below", "outside the interval", "[2]: \"wrong <words>\"");
    check_headline(one_fails, "not below", "below", NULL);
    check_headline(a_status, "not below", "adding keys: ", NULL);
}

TEST(moving_the_headline_keeps_the_other_findings_in_order) {
    lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .decides = "not below", .run = all_hold};
    lab_result *r = run_one(&claim, 1);
    static const char *const ORDER[] = {"not below", "in the interval", "not above", "right after all", "shown"};
    CHECK_EQ_U64(r->finding_count, 5);
    for (size_t i = 0; i < 5; i++)
        CHECK(strcmp(r->findings[i].what, ORDER[i]) == 0);
    lab_results_free(r, 1);
}

TEST(a_claim_that_does_not_name_its_deciding_finding_fails) {
    lab_claim claim = {.id = "X1", .title = "x", .sentence = "x.", .run = all_hold};
    lab_result *r = run_one(&claim, 1);
    CHECK(r->verdict == LAB_FAILS && strstr(lab_headline(r)->what, "decides") != NULL);
    lab_results_free(r, 1);
    claim.decides = "no such finding";
    r = run_one(&claim, 1);
    CHECK(r->verdict == LAB_FAILS);
    lab_results_free(r, 1);
}

/* ---- settings ---- */

static void with_settings(lab *l) {
    size_t count;
    double sum = 0, n = (double)lab_number(l, "n");
    const double *loads = lab_numbers(l, "load", &count);
    for (size_t i = 0; i < count; i++)
        sum += loads[i];
    lab_find(l, LAB_EQUALS, n, lab_exact(n), "n");
    lab_find(l, LAB_EQUALS, sum, lab_exact(sum), "sum of %zu", count);
    lab_find(l, LAB_EQUALS, 1, lab_exact(strcmp(lab_word(l, "layout"), "two") == 0), "layout");
}

static const lab_claim SETTABLE = {.id = "X1",
                                   .title = "x",
                                   .sentence = "x.",
                                   .decides = "n",
                                   .settings = {LAB_SIZE("n", 100, 1000, 10, 1e6, "keys"),
                                                LAB_LIST("load", "0.25,1/4", "0.5", 0, 1, 0.1, 0.5, "loads"),
                                                LAB_WORD("layout", "two", "one two", "layout")},
                                   .run = with_settings};

static void impossible(lab *l) {
    with_settings(l);
    lab_require(l, lab_number(l, "n") >= 100, "too few keys for this experiment");
}

static lab_result *run_with(const lab_assignment *sets, size_t count, bool quick) {
    const lab_claim *claim = &SETTABLE;
    return lab_run(&claim, 1, (lab_settings){.seed = 1, .quick = quick, .threads = 1, .sets = sets, .set_count = count},
                   &NEVER, quiet, NULL);
}

TEST(settings_have_the_values_of_the_run_or_those_that_the_user_gives) {
    lab_result *r = run_with(NULL, 0, true);
    CHECK(r->verdict == LAB_HOLDS && r->findings[0].measured.value == 100 && r->findings[1].measured.value == 0.5);
    lab_results_free(r, 1);
    r = run_with(NULL, 0, false);
    CHECK(r->findings[0].measured.value == 1000 && strcmp(r->findings[1].what, "sum of 1") == 0);
    lab_results_free(r, 1);
    static const lab_assignment SETS[] = {{"n", "200"}, {"load", "0.1,0.2,0.3"}, {"n", "300"}};
    r = run_with(SETS, 3, true);
    CHECK(r->verdict == LAB_HOLDS && r->findings[0].measured.value == 300);
    CHECK(fabs(r->findings[1].measured.value - 0.6) < 1e-12 && strcmp(r->parameters[1].name, "set load") == 0);
    lab_results_free(r, 1);
}

TEST(values_that_the_claim_does_not_cover_are_shown_and_not_judged) {
    static const lab_assignment FEW[] = {{"n", "20"}}, HIGH[] = {{"load", "0.3,0.9"}}, FALSE[] = {{"layout", "one"}},
                                BOTH[] = {{"layout", "one"}, {"n", "20"}};
    lab_result *r = run_with(FEW, 1, true);
    CHECK(r->verdict == LAB_IS_SHOWN && r->finding_count == 3);
    lab_results_free(r, 1);
    r = run_with(HIGH, 1, true);
    CHECK(r->verdict == LAB_IS_SHOWN);
    lab_results_free(r, 1);
    r = run_with(FALSE, 1, true); /* covered, so it is judged */
    CHECK(r->verdict == LAB_FAILS);
    lab_results_free(r, 1);
    r = run_with(BOTH, 2, true);
    CHECK(r->verdict == LAB_IS_SHOWN);
    lab_results_free(r, 1);
}

TEST(an_experiment_that_cannot_run_with_values_that_the_claim_does_not_cover_has_not_failed) {
    lab_claim claim = SETTABLE;
    const lab_claim *one = &claim;
    lab_assignment few = {"n", "20"};
    claim.run = impossible;
    lab_result *r =
        lab_run(&one, 1, (lab_settings){.seed = 1, .quick = true, .threads = 1, .sets = &few, .set_count = 1}, &NEVER,
                quiet, NULL);
    CHECK(r->verdict == LAB_IS_SHOWN && r->finding_count == 4 && r->findings[3].outcome == LAB_NO);
    lab_results_free(r, 1);
}

TEST(a_value_must_be_of_the_kind_and_in_the_range_of_its_setting) {
    const lab_setting *n = lab_setting_named(&SETTABLE, "n"), *load = lab_setting_named(&SETTABLE, "load"),
                      *layout = lab_setting_named(&SETTABLE, "layout");
    CHECK(lab_setting_named(&SETTABLE, "m") == NULL && lab_setting_named(&SETTABLE, "") == NULL);
    static const char *const NUMBERS[] = {"10", "1e6", "500"}, *const NOT[] = {"9",   "1000001", "10.5", "",
                                                                               "x",   "10,20",   "10 ",  "nan",
                                                                               "inf", "1e999",   "20/0"};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        CHECK(lab_setting_check(n, NUMBERS[i]) == NULL);
    for (size_t i = 0; i < sizeof NOT / sizeof *NOT; i++)
        CHECK(lab_setting_check(n, NOT[i]) != NULL);
    CHECK(strcmp(lab_setting_check(n, "9"), "an integer from 10 to 1000000") == 0);
    CHECK(lab_setting_check(load, "0.1,1/3,1") == NULL && lab_setting_check(load, "0.1,,0.2") != NULL &&
          lab_setting_check(load, "0.1,2") != NULL && lab_setting_check(load, "0.1,") != NULL);
    CHECK(lab_setting_check(layout, "one") == NULL && lab_setting_check(layout, "on") != NULL &&
          lab_setting_check(layout, "one two") != NULL && lab_setting_check(layout, "") != NULL);
}

TEST(every_claim_has_settings_whose_defaults_are_valid_and_covered) {
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        const lab_claim *c = LAB_CLAIMS[i];
        if (c->settings[0].name == NULL)
            CHECK_FAIL("%s has no settings", c->id);
        for (size_t s = 0; s < LAB_SETTINGS_MAX && c->settings[s].name != NULL; s++) {
            const lab_setting *setting = &c->settings[s];
            const char *const values[] = {setting->quick, setting->full};
            CHECK(setting->help != NULL && *setting->help != '\0');
            CHECK(lab_setting_named(c, setting->name) == setting);
            for (size_t v = 0; v < 2; v++)
                if (lab_setting_check(setting, values[v]) != NULL || !lab_setting_covers(setting, values[v]))
                    CHECK_FAIL("%s: %s=%s is not valid", c->id, setting->name, values[v]);
        }
    }
}

TEST(every_claim_lets_the_user_set_what_it_is_about_and_not_only_its_size) {
    unsigned without = 0;
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        const lab_claim *c = LAB_CLAIMS[i];
        bool found = false;
        for (size_t s = 0; s < LAB_SETTINGS_MAX && c->settings[s].name != NULL; s++)
            found |= !c->settings[s].is_size;
        if (!found)
            fprintf(stderr, "%s has only sizes\n", c->id);
        without += !found;
    }
    CHECK_EQ_U64(without, 0);
}

/* Copies the first number of a list, or the last word of a choice. */
static void other_value(const lab_setting *s, char *value, size_t size) {
    const char *from = s->quick;
    if (s->words != NULL)
        from = strrchr(s->words, ' ') != NULL ? strrchr(s->words, ' ') + 1 : s->words;
    (void)snprintf(value, size, "%.*s", (int)strcspn(from, ","), from);
}

/* Runs a claim with one setting changed (NULL: none). Under a sanitizer, which is there for the memory, all sizes are
 * the smallest that the claim accepts; it does not cover those, so its findings are not judged. */
static void run_changed(const lab_claim *claim, const lab_setting *changed) {
    lab_assignment sets[LAB_SETTINGS_MAX];
    char values[LAB_SETTINGS_MAX][64];
    size_t n = 0;
    for (size_t i = 0; i < LAB_SETTINGS_MAX && claim->settings[i].name != NULL; i++) {
        const lab_setting *setting = &claim->settings[i];
        if (setting == changed)
            other_value(setting, values[n], sizeof values[n]);
        else if (UNDER_SANITIZER && setting->is_size)
            (void)snprintf(values[n], sizeof values[n], "%.0f", setting->least);
        else
            continue;
        sets[n] = (lab_assignment){setting->name, values[n]};
        n++;
    }
    lab_result *r =
        lab_run(&claim, 1, (lab_settings){.seed = 1, .quick = true, .threads = 1, .sets = sets, .set_count = n}, &NEVER,
                quiet, NULL);
    if (r->verdict == LAB_FAILS)
        CHECK_FAIL("%s --set %s fails: %s", claim->id, changed != NULL ? changed->name : "", lab_headline(r)->what);
    lab_results_free(r, 1);
}

/* A claim with a single value of a list, or with another word, still runs, and finds nothing wrong. The short tier
 * tries every fourth claim. A sanitizer sees every claim once, with its own settings. */
TEST(every_claim_runs_with_any_of_its_settings) {
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        const lab_claim *claim = LAB_CLAIMS[i];
        if (UNDER_SANITIZER) {
            run_changed(claim, NULL);
            continue;
        }
        for (size_t s = 0; s < LAB_SETTINGS_MAX && claim->settings[s].name != NULL; s++)
            if ((check_soak() || i % 4 == 0) && (claim->settings[s].is_list || claim->settings[s].words != NULL))
                run_changed(claim, &claim->settings[s]);
    }
}

/* ---- goodness of fit ---- */

static bool fits(const uint64_t *observed, const double *expected, size_t n);
static const uint64_t *fit_observed;
static const double *fit_expected;
static size_t fit_cells;
static void fit(lab *l) {
    lab_find_fit(l, fit_observed, fit_expected, fit_cells, 1, "fit");
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
    lab_find(l, LAB_EQUALS, 500, lab_exact((double)lab_count_found(l, f, 0, 500)), "keys found");
    lab_drop(l, f);
    lab_drop(l, NULL);
    lab_find(l, LAB_SHOWN, 0, lab_exact((double)lab_key(l, 3)), "a key");
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
    lab_claim claims[3] = {{.id = "X1", .decides = "keys found", .run = draws},
                           {.id = "X2", .decides = "keys found", .run = draws},
                           {.id = "Y1", .decides = "keys found", .run = draws}};
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
    lab_find(l, LAB_EQUALS, 1, lab_exact(1), "so far");
    for (;;)
        lab_progress(l, 0.3);
}

static void stop_soon(void *context, double done, const char *running) {
    if (done > 0.1 && strcmp(running, "X2") == 0)
        atomic_store((atomic_bool *)context, true);
}

TEST(a_stopped_run_keeps_the_finished_results) {
    lab_claim claims[3] = {{.id = "X1", .decides = "", .run = all_hold},
                           {.id = "X2", .decides = "", .run = endless},
                           {.id = "X3", .decides = "", .run = all_hold}};
    const lab_claim *all[] = {&claims[0], &claims[1], &claims[2]};
    atomic_bool stop = false;
    lab_result *r = lab_run(all, 3, (lab_settings){.seed = 1, .threads = 1}, &stop, stop_soon, &stop);
    CHECK(r[0].verdict == LAB_HOLDS && r[1].verdict == LAB_NOT_RUN && r[2].verdict == LAB_NOT_RUN);
    CHECK(r[1].finding_count == 0 && r[1].claim == &claims[1]);
    lab_results_free(r, 3);
}

/* ---- the documents' procedures ---- */

TEST(line_14_of_algorithm_2_loses_a_key_exactly_if_the_key_left_over_is_not_the_new_one) {
    printed_losses printed = printed_algorithm_2(1, 4000, 64, 29, true),
                   right = printed_algorithm_2(1, 4000, 64, 29, false);
    lab_estimate share = lab_share(printed.losing, printed.tables);
    CHECK(share.low > 0.015 && share.high < 0.06);
    CHECK(right.losing == 0 && right.lost == 0 && right.rehashed >= printed.losing);
    printed = printed_algorithm_2(1, 2000, 300, 29, true); /* nearly empty tables never rehash */
    CHECK(printed.losing == 0 && printed.rehashed == 0);
}

TEST(a_rehash_that_can_never_succeed_is_given_up) {
    CHECK_EQ_U64(printed_algorithm_2(1, 3, 4, 5, false).endless, 3); /* five keys in four places */
    CHECK_EQ_U64(printed_algorithm_2(1, 4000, 64, 29, false).endless, 0);
}

TEST(a_key_of_the_table_is_one_edge_and_the_printed_graph_has_more) {
    printed_edges most = printed_graph(1, 50, 64, 29, 1000);
    CHECK(most.directed == 1 && most.of_table > 2 && most.of_universe > most.of_table && most.of_universe <= 32);
}

TEST(algorithm_3_of_the_filter_loses_keys_only_as_printed) {
    printed_filter printed = printed_algorithm_3(1, 5, true), right = printed_algorithm_3(1, 5, false);
    CHECK(printed.not_found > printed.keys / 20 && right.not_found == 0 && right.given_up == 0);
}

TEST(algorithm_3_of_the_filter_need_not_end_as_printed) {
    CHECK(printed_algorithm_3(128, 200, true).endless > 0);
    CHECK(printed_algorithm_3(128, 200, false).endless == 0);
    CHECK_EQ_U64(printed_full_filters(1, 5, true), 5);
    CHECK_EQ_U64(printed_full_filters(1, 5, false), 0);
}

TEST(step_9_of_the_filter_loses_keys_only_as_printed) {
    printed_filter printed = printed_steps_of_2(1, 5, true), right = printed_steps_of_2(1, 5, false);
    CHECK(printed.keys == 5 * 3276 && right.keys == printed.keys);
    CHECK(printed.not_found > printed.keys / 100 && printed.not_found < printed.keys / 20);
    CHECK(right.not_found == 0 && right.given_up == 0);
}

TEST(a_key_inserted_twice_and_deleted_once_is_found_only_without_a_lookup) {
    CHECK_EQ_U64(printed_repeats(1, 200, 600, 100, true), 200);
    CHECK_EQ_U64(printed_repeats(1, 200, 600, 100, false), 0);
    CHECK(printed_repeats_in_two(1, 200, 600, 100, true) > 190);
    CHECK_EQ_U64(printed_repeats_in_two(1, 200, 600, 100, false), 0);
}

TEST(an_insertion_without_a_return_fills_the_table_with_one_key) {
    printed_probing printed = printed_algorithm_1(1, 10, 64, 32, true),
                    right = printed_algorithm_1(1, 10, 64, 32, false);
    CHECK(printed.most_copies == 64 && printed.not_found == 10 * 31);
    CHECK(right.most_copies == 1 && right.not_found == 0 && right.keys == 320);
}

TEST(a_rehash_at_the_first_revisited_place_comes_too_early) {
    uint64_t printed = printed_revisits(1, 4000, 64, 29, true), right = printed_revisits(1, 4000, 64, 29, false);
    CHECK(right > 0 && printed > 2 * right);
    /* One table: the exact share is 1 - P(all fit), about 0.05. */
    CHECK(right < 400);
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

TEST(the_theory_document_derives_every_claim_in_steps_and_marks_the_derivation) {
    char *theory = words_of("docs/theory.md");
    CHECK(theory != NULL);
    unsigned without = 0;
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        char heading[32];
        (void)snprintf(heading, sizeof heading, " ### %s: ", LAB_CLAIMS[i]->id);
        char *section = strstr(theory, heading);
        CHECK(section != NULL);
        char *end = strstr(section + 1, " ## "), *next = strstr(section + 1, " ### ");
        end = next != NULL && (end == NULL || next < end) ? next : end;
        if (end != NULL)
            *end = '\0';
        const char *first = strstr(section, " 1. "), *second = first != NULL ? strstr(first, " 2. ") : NULL;
        if (second == NULL)
            fprintf(stderr, "docs/theory.md: no derivation in steps for %s\n", LAB_CLAIMS[i]->id);
        if (strstr(section, "*lecture*") == NULL && strstr(section, "*advanced*") == NULL)
            CHECK_FAIL("docs/theory.md: the derivation of %s is not marked", LAB_CLAIMS[i]->id);
        without += second == NULL;
        if (end != NULL)
            *end = ' ';
    }
    CHECK_EQ_U64(without, 0);
    free(theory);
}

TEST(the_theory_document_has_an_index_with_every_claim_and_the_documents) {
    char *theory = words_of("docs/theory.md");
    CHECK(theory != NULL);
    char *index = strstr(theory, "## Index by document"), *errata = strstr(theory, "## Errata");
    CHECK(index != NULL && errata != NULL && index < errata && strstr(theory, "## Symbols") != NULL);
    *errata = '\0';
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        char alone[16], first[16];
        (void)snprintf(alone, sizeof alone, " %s |", LAB_CLAIMS[i]->id);
        (void)snprintf(first, sizeof first, " %s,", LAB_CLAIMS[i]->id);
        if (strstr(index, alone) == NULL && strstr(index, first) == NULL)
            CHECK_FAIL("the index of docs/theory.md does not have %s", LAB_CLAIMS[i]->id);
    }
    *errata = '#';
    for (size_t i = 0; i < LAB_SOURCE_COUNT; i++) {
        char entry[256];
        const lab_source *s = &LAB_SOURCES[i];
        (void)snprintf(entry, sizeof entry, "[%zu] %s%s*%s*, %s", i, s->author, *s->author != '\0' ? ", " : "",
                       s->title, s->rest);
        if (strstr(theory, entry) == NULL)
            CHECK_FAIL("docs/theory.md does not list '%s'", entry);
    }
    free(theory);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
