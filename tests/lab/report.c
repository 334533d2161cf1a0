/* Tests the report with claims made for this test, which contain every text and plot that is difficult to show.
 *
 *     lab_report              runs the tests
 *     lab_report --write DIR  writes the report, for the test in a browser */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lab/experiment.h>
#include <lab/report/report_folder.h>
#include <lab/report/text.h>

#include "check.h"
#include "folder.h"

/* ---- claims ---- */

static void plain(lab *l) {
    lab_parameter(l, "n", "%d", 1000);
    lab_find(l, LAB_EQUALS, 0.25, (lab_estimate){0.2514, 0.24, 0.26}, "comma, \"quotes\"\nand a line");
    lab_find(l, LAB_AT_MOST, 1.4e-15, (lab_estimate){1e-15, 0, 1.2e-15}, "small");
    lab_find(l, LAB_AT_LEAST, -3, lab_exact(20000), "exact");
    lab_find(l, LAB_SHOWN, 0, (lab_estimate){INFINITY, 1, INFINITY}, "shown <i>only</i>");
    lab_plot *plot = lab_draw(l, "A <b>curve</b> & points", "x, \"units\"", "rate", LAB_LOG_X | LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "x^2, predicted");
    lab_series *points = lab_points(plot, "measured </title><script>bad()</script>");
    for (double x = 1e-6; x < 1e6; x *= 10) {
        lab_at(curve, x, lab_exact(x * x));
        lab_at(points, x, (lab_estimate){x * x, x * x / 2, x * x * 2});
    }
    lab_at(points, 1, (lab_estimate){0, 0, 0.5}); /* no event observed */
    lab_at(points, 2, (lab_estimate){NAN, NAN, NAN});
    lab_at(points, INFINITY, lab_exact(1));
}

static void loose(lab *l) {
    plain(l);
    lab_find_stated(l, LAB_LOOSE, "[1]: \"loose, words\"", LAB_AT_MOST, 1, (lab_estimate){2, 1.9, 2.1}, "%s",
                    "above its bound");
    lab_plot *plot = lab_draw(l, "Many points", "x", "y", 0);
    for (int s = 0; s < 9; s++) {
        lab_series *points = lab_points(plot, "series %d", s);
        for (int i = 0; i < 100; i++)
            lab_at(points, i, lab_exact(sin(i / 10.0 + s)));
    }
}

static void wrong(lab *l) {
    lab_find_stated(l, LAB_WRONG, "[2]: \"wrong <words>\"", LAB_EQUALS, 1, (lab_estimate){2, 1.9, 2.1},
                    "outside the interval");
    char word[300];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    lab_find(l, LAB_EQUALS, 1, (lab_estimate){1.0000012, 1.0000001 - 1e-6, 1.0000023}, "%s", word);
    lab_parameter(l, word, "%s", word);
    lab_plot *plot = lab_draw(l, word, word, word, LAB_LOG_Y);
    lab_at(lab_points(plot, "%s", word), 3, lab_exact(-1));
    (void)lab_draw(l, "No points", "x", "y", LAB_LOG_X);
    plot = lab_draw(l, "One point", "x", "y", LAB_LOG_X);
    lab_at(lab_points(plot, "one"), 1e6, lab_exact(1e6));
    lab_at(lab_curve(plot, "a curve of one point"), 1e6, lab_exact(1e6));
    plot = lab_draw(l, "Equal values", "x", "y", LAB_LOG_Y);
    lab_series *series = lab_points(plot, "equal");
    for (int i = 0; i < 5; i++)
        lab_at(series, -i, lab_exact(7));
}

static void fails(lab *l) {
    lab_find(l, LAB_EQUALS, 1, (lab_estimate){2, 1.9, 2.1}, "outside the interval");
}

static void empty(lab *l) {
    (void)l;
}

static const lab_claim CLAIMS[] = {
    {.id = "X1",
     .title = "a <b>title</b> & more",
     .sentence = "This is <script>bad()</script> \"true\".",
     .formula = "ε = \\frac{1}{1 + \\sqrt{n_{0}}} < 2^{−k} {",
     .code = "src/<x>.c",
     .decides = "small",
     .run = plain},
    {.id = "X2",
     .title = "k is loose",
     .sentence = "This is true.",
     .note = "Not <quite>.",
     .decides = "small",
     .run = loose},
    {.id = "X3",
     .title = "wrong",
     .sentence = "This is true.",
     .formula = "1",
     .note = "Not at all.",
     .decides = "interval",
     .run = wrong},
    {.id = "X4", .title = "fails", .sentence = "It fails.", .decides = "interval", .run = fails},
    {.id = "X5", .title = "no findings", .sentence = "Nothing.", .run = empty},
    {.id = "X6", .title = "not run", .sentence = "It is not started.", .run = empty},
};
enum { COUNT = sizeof CLAIMS / sizeof *CLAIMS };

static const lab_settings SETTINGS = {.seed = 7, .quick = true, .threads = 1};

static void quiet(void *context, double done, const char *running) {
    (void)context, (void)done, (void)running;
}

static lab_result *run_all(void) {
    static const atomic_bool never = false;
    const lab_claim *claims[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        claims[i] = &CLAIMS[i];
    lab_result *results = lab_run(claims, COUNT, SETTINGS, &never, quiet, NULL);
    results[COUNT - 1].verdict = LAB_NOT_RUN;
    return results;
}

/* ---- tests ---- */

static char *read_text(const char *dir, const char *name) {
    char path[FOLDER_BYTES_MAX * 2];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    enum { BYTES_MAX = 8000000 };
    char *bytes = calloc(1, BYTES_MAX);
    size_t count = fread(bytes, 1, BYTES_MAX - 1, file);
    fclose(file);
    CHECK(count > 0 && count < BYTES_MAX - 1);
    return bytes;
}

static unsigned times(const char *text, const char *word) {
    unsigned count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

static unsigned entries_of(const char *dir) {
    unsigned count = 0;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return count;
}

TEST(a_report_is_five_files) {
    struct folder f = fresh_folder();
    lab_result *results = run_all();
    CHECK(lab_report_prepare(f.path) == NULL);
    CHECK(lab_report_write(f.path, results, COUNT, SETTINGS) == NULL);
    CHECK(lab_report_write(f.path, results, COUNT, SETTINGS) == NULL);
    CHECK_EQ_U64(entries_of(f.path), 5);
    lab_results_free(results, COUNT);
    remove_folder(&f);
}

TEST(the_page_has_every_claim_once_and_escapes_their_texts) {
    struct folder f = fresh_folder();
    lab_result *results = run_all();
    CHECK(lab_report_write(f.path, results, COUNT, SETTINGS) == NULL);
    char *page = read_text(f.path, "index.html");
    for (size_t i = 0; i < COUNT; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "id=\"%s\"", CLAIMS[i].id);
        CHECK_EQ_U64(times(page, id), 1);
    }
    CHECK_EQ_U64(times(page, "<script"), 1);
    CHECK_EQ_U64(times(page, "bad()"), times(page, "&lt;script&gt;bad()&lt;/script&gt;"));
    CHECK(strstr(page, "<quite>") == NULL && strstr(page, "Not &lt;quite&gt;.") != NULL);
    CHECK(strstr(page, "http://") == NULL && strstr(page, "https://") == NULL);
    CHECK(strstr(page, "1.4·10⁻¹⁵") != NULL);
    CHECK(strstr(page, "A &lt;b&gt;title") == NULL); /* a single letter is a variable and stays lowercase */
    CHECK(strstr(page, "<span>Wrong</span>") != NULL);
    CHECK(strstr(page, "nan") == NULL && strstr(page, "inf\"") == NULL);
    free(page);
    lab_results_free(results, COUNT);
    remove_folder(&f);
}

/* Converts a line of docs/theory.md such as "[2] *Bloom and Cuckoo*, an article" to the HTML of the page. */
static void in_html(const char *line, char *html) {
    bool open = false;
    for (; *line != '\0' && *line != '\n'; line++) {
        if (*line == '*')
            html = stpcpy(html, (open = !open) ? "<cite>" : "</cite>");
        else
            *html++ = *line;
    }
    *html = '\0';
}

TEST(the_page_lists_the_same_documents_as_the_theory_document) {
    struct folder f = fresh_folder();
    CHECK(lab_report_write(f.path, NULL, 0, SETTINGS) == NULL);
    char *page = read_text(f.path, "index.html"), *theory = read_text(KITH_SOURCE_DIR "/docs", "theory.md");
    *strstr(theory, "\n## ") = '\0';
    unsigned documents = 0;
    for (const char *at = theory; (at = strstr(at, "\n- [")) != NULL; at++) {
        char html[1000];
        CHECK(strcspn(at + 1, "\n") < sizeof html / 2);
        in_html(at + 3, html);
        CHECK(strstr(page, html) != NULL);
        documents++;
    }
    CHECK_EQ_U64(documents, 5);
    CHECK_EQ_U64(times(page, "<li>["), documents);
    free(theory);
    free(page);
    remove_folder(&f);
}

TEST(errors_name_the_path_and_leave_no_temporary_files) {
    struct folder f = fresh_folder();
    lab_result *results = run_all();
    char below[FOLDER_BYTES_MAX * 2], file[FOLDER_BYTES_MAX * 2];
    (void)snprintf(below, sizeof below, "%s/no/where", f.path);
    CHECK(strcmp(lab_report_prepare(below), below) == 0 && errno == ENOENT);
    CHECK(strcmp(lab_report_write(below, results, COUNT, SETTINGS), below) == 0 && errno == ENOENT);
    (void)snprintf(file, sizeof file, "%s/file", f.path);
    FILE *made = fopen(file, "w");
    CHECK(made != NULL && fclose(made) == 0);
    CHECK(strcmp(lab_report_prepare(file), file) == 0 && errno == EEXIST);
    (void)snprintf(file, sizeof file, "%s/file/below", f.path);
    CHECK(strcmp(lab_report_prepare(file), file) == 0 && errno == ENOTDIR);
    (void)snprintf(file, sizeof file, "%s/no/plot.svg", f.path);
    CHECK(strcmp(lab_plots_prepare(file), file) == 0 && errno == ENOENT);
    (void)snprintf(below, sizeof below, "%s/file", f.path);
    (void)snprintf(file, sizeof file, "%s/file/plot.svg", f.path);
    CHECK(strcmp(lab_plots_prepare(file), below) == 0 && errno == EEXIST);
    CHECK(strcmp(lab_plots_prepare(f.path), f.path) == 0 && errno == EISDIR);
    CHECK(lab_plots_prepare(below) == NULL); /* a file that would be replaced */
    (void)snprintf(file, sizeof file, "%s/plot.svg", f.path);
    CHECK(lab_plots_prepare(file) == NULL);
    /* A folder with the name of a file is found only at the last step, when the file is renamed. */
    (void)snprintf(file, sizeof file, "%s/index.html", f.path);
    CHECK(mkdir(file, 0777) == 0);
    CHECK(strcmp(lab_report_write(f.path, results, COUNT, SETTINGS), file) == 0 && errno == EISDIR);
    CHECK_EQ_U64(entries_of(f.path), 6); /* file, the folder, and the four files that were renamed before it */
    lab_results_free(results, COUNT);
    remove_folder(&f);
}

static void shows(double value, int digits, bool keeps_zeros, const char *wanted) {
    lab_text t = {0};
    if (keeps_zeros)
        text_digits(&t, value, digits);
    else
        text_number(&t, value, digits);
    bool same = strcmp(t.bytes, wanted) == 0;
    if (!same)
        fprintf(stderr, "%.17g is %s, not %s\n", value, t.bytes, wanted);
    free(t.bytes);
    CHECK(same);
}

TEST(numbers_are_easy_to_read) {
    shows(0, 4, false, "0");
    shows(-0.0, 4, false, "0");
    shows(1, 4, true, "1.000");
    shows(1, 0, true, "1");
    shows(0, 4, true, "0");
    shows(1001, 5, true, "1001.0");
    shows(1001, 4, true, "1001");
    shows(-3, 4, false, "−3");
    shows(1234, 4, false, "1234");
    shows(20000, 4, false, "20\u202f000");
    shows(1234567, 4, false, "1\u202f234\u202f567");
    shows(1e7, 4, false, "10⁷");
    shows(12345678, 4, false, "1.235·10⁷");
    shows(0.14691, 4, false, "0.1469");
    shows(0.5, 4, false, "0.5");
    shows(0.5, 4, true, "0.5000");
    shows(0.99996, 4, false, "1");
    shows(99999.7, 4, false, "10⁵");
    shows(12345.6, 4, false, "12\u202f346");
    shows(0.001, 4, false, "0.001");
    shows(0.00099999, 4, false, "0.001");
    shows(1.4e-15, 4, false, "1.4·10⁻¹⁵");
    shows(1.4e-15, 4, true, "1.400·10⁻¹⁵");
    shows(-2.5e+120, 4, false, "−2.5·10¹²⁰");
    shows(1e-6, 4, false, "10⁻⁶");
    shows(INFINITY, 4, false, "∞");
    shows(-INFINITY, 4, false, "−∞");
    shows(NAN, 4, false, "not a number");
    CHECK_EQ_U64((unsigned)text_digits_of(1.5, 1.5, 1.5), 4);
    CHECK_EQ_U64((unsigned)text_digits_of(0.1469, 0.14, 0.15), 4);
    CHECK_EQ_U64((unsigned)text_digits_of(0.1469, 0.1469 - 1.5e-6, 0.1469), 7);
    CHECK_EQ_U64((unsigned)text_digits_of(0, 0, 0.5), 4);
    CHECK_EQ_U64((unsigned)text_digits_of(7, 6, 8), 0);
}

int main(int argc, char **argv) {
    if (argc != 3 || strcmp(argv[1], "--write") != 0)
        return check_main(argc, argv);
    lab_result *results = run_all();
    const char *path = lab_report_write(argv[2], results, COUNT, SETTINGS);
    if (path != NULL)
        perror(path);
    lab_results_free(results, COUNT);
    return path != NULL;
}
