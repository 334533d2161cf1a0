/* Tests the conversion of formulas to HTML. */
#include <lab/report/formula.h>

#include "check.h"

static void is(const char *formula, const char *html) {
    char *got = lab_formula_html(formula);
    bool same = strcmp(got, html) == 0;
    if (!same)
        fprintf(stderr, "%s\n  is  %s\n  not %s\n", formula, got, html);
    free(got);
    CHECK(same);
}

TEST(text_is_copied) {
    is("", "");
    is("42 ≤ 43", "42 ≤ 43");
    is("max(1, 2)", "max(1, 2)");
}

TEST(text_is_escaped) {
    is("1 < 2 & 4 > 3", "1 &lt; 2 &amp; 4 &gt; 3");
    is("<script>", "&lt;script&gt;");
    is("\"", "&quot;");
    is("2^{<}", "2<sup>&lt;</sup>");
}

TEST(variables_are_italic) {
    is("n", "<i>n</i>");
    is("ε = n/m", "<i>ε</i> = <i>n</i>/<i>m</i>");
    is("kn", "<i>kn</i>");
    is("α + β", "<i>α</i> + <i>β</i>");
}

TEST(words_numbers_and_constants_are_upright) {
    is("ln 2", "ln 2");
    is("log n", "log <i>n</i>");
    is("2π", "2π");
    is("e", "e");
    is("bits of 8", "bits of 8");
    is("×−√", "×−√");
}

TEST(superscripts_and_subscripts_are_converted) {
    is("e^{−kn/m}", "e<sup>−<i>kn</i>/<i>m</i></sup>");
    is("log_{2}(1/ε)", "log<sub>2</sub>(1/<i>ε</i>)");
    is("2^{2^{n}}", "2<sup>2<sup><i>n</i></sup></sup>");
    is("x_{i}^{2}", "<i>x</i><sub><i>i</i></sub><sup>2</sup>");
    is("x^{}", "<i>x</i><sup></sup>");
}

TEST(fractions_and_roots_are_converted) {
    is("\\frac{1}{n}", "<span class=\"frac\"><span>1</span><span class=\"over\">/</span><span><i>n</i></span></span>");
    is("\\sqrt{n}", "<span class=\"root\">√<span><i>n</i></span></span>");
    is("\\frac{\\sqrt{2}}{3^{4}}", "<span class=\"frac\"><span><span class=\"root\">√<span>2</span></span></span>"
                                   "<span class=\"over\">/</span><span>3<sup>4</sup></span></span>");
}

TEST(malformed_formulas_are_copied_as_text) {
    is("2^{n", "2^{<i>n</i>");
    is("2^", "2^");
    is("2^3", "2^3");
    is("{1}", "{1}");
    is("}", "}");
    is("\\frac{1}", "\\frac{1}");
    is("\\frac{1}{2", "\\frac{1}{2");
    is("\\frac 1", "\\frac 1");
    is("\\sqrt", "\\sqrt");
    is("\\other{1}", "\\other{1}");
    is("1^{2^{3}", "1^{2<sup>3</sup>");
    is("\xce", "\xce"); /* the first of the two bytes of a Greek letter */
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
