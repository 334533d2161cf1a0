/* kith_option_error(): the sentence for every way in which options can be wrong; and kith_filter_option(). */
#include <kith/kith.h>

#include "check.h"
#include "option_errors.h"
#include "unit/small_filter.h"

static kith_filter_spec spec_of(const char *kind, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.options = options;
    spec.capacity = 1000;
    spec.rate = .01;
    return spec;
}

TEST(the_sentence_begins_with_the_option_that_is_wrong_and_says_why) {
    static const struct {
        const char *kind, *options, *sentence;
        kith_status status;
    } WRONG[] = {
        {NULL, "b=4", "b=4: options belong to a kind, and no kind is given", KITH_E_OPTION_KIND},
        {"cuckoo", "b", "b: an option has the form name=value", KITH_E_OPTION_VALUE},
        {"cuckoo", "b=4 b=4", "b=4: the option is given twice", KITH_E_OPTION_TWICE},
        {"cuckoo", "insert=walk, b=9", "b=9: the values of b are 1|2|4|8", KITH_E_OPTION_VALUE},
        {"cuckoo", "insert=hop", "insert=hop: the values of insert are auto|search|walk", KITH_E_OPTION_VALUE},
        {"bloom", "width=4", "width=4: the options of kind bloom are ", KITH_E_OPTION},
        {"layers", "inner=none", "inner=none: the values of inner are the names of kinds", KITH_E_OPTION_VALUE},
        {"layers", "inner=cuckoo b=3", "b=3: the values of b are 1|2|4|8", KITH_E_OPTION_VALUE},
        {"layers", "inner=cuckoo width=3", "width=3: the options of kind layers are ", KITH_E_OPTION},
        {"cuckoo", "b=4 f=2", "f=2: ", KITH_E_OPTION_VALUE},
        {"fuse", "f=5", "f=5: kind fuse does not support it at this rate, or with the other options",
         KITH_E_OPTION_FIT},
    };
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        kith_filter_spec spec = spec_of(WRONG[i].kind, WRONG[i].options);
        kith_plan plan = KITH_PLAN_INIT;
        char text[1000], shorter[8];
        CHECK_STATUS(kith_filter_plan(&spec, &plan), WRONG[i].status);
        size_t bytes = kith_option_error(&spec, text, sizeof text);
        if (strncmp(text, WRONG[i].sentence, strlen(WRONG[i].sentence)) != 0)
            CHECK_FAIL("%s: %s", WRONG[i].options, text);
        CHECK_EQ_U64(bytes, strlen(text));
        CHECK_EQ_U64(kith_option_error(&spec, NULL, 0), bytes);
        CHECK_EQ_U64(kith_option_error(&spec, shorter, sizeof shorter), bytes);
        CHECK(strlen(shorter) == 7 && strncmp(shorter, text, 7) == 0);
    }
}

TEST(no_sentence_if_no_option_is_wrong) {
    char text[100] = "x";
    kith_filter_spec spec = spec_of("cuckoo", "b=4");
    CHECK(kith_option_error(&spec, text, sizeof text) == 0 && *text == '\0');
    spec.rate = 7; /* another error */
    CHECK_EQ_U64(kith_option_error(&spec, text, sizeof text), 0);
    spec = spec_of("nothing", "b=9");
    CHECK_EQ_U64(kith_option_error(&spec, text, sizeof text), 0);
}

/* Every option of every kind that is refused has a sentence. */
TEST(every_refused_option_has_a_sentence) {
    unsigned refused = 0;
    EACH_KIND(kind) {
        const kith_kind_info *info = kith_filter_kind_named(kind);
        for (size_t i = 0; i < info->option_count; i++)
            for (unsigned value = 0; value < 40; value++) {
                char options[64], text[1000];
                (void)snprintf(options, sizeof options, "%s=%u", info->options[i].name, value);
                kith_filter_spec spec = spec_of(kind, options);
                kith_plan plan = KITH_PLAN_INIT;
                bool wrong = is_option_error(kith_filter_plan(&spec, &plan));
                size_t bytes = kith_option_error(&spec, text, sizeof text);
                CHECK((bytes > 0) == wrong && (!wrong || strncmp(text, options, strlen(options)) == 0));
                refused += wrong;
            }
    }
    CHECK(refused > 100);
}

TEST(numbers_of_options_can_be_read_and_words_cannot) {
    uint64_t value = 7;
    kith_filter *filter;
    kith_filter_spec spec = spec_of("layers", "inner=cuckoo growth=3 b=8");
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_filter_option(filter, "growth", &value));
    CHECK_EQ_U64(value, 3);
    CHECK_STATUS(kith_filter_option(filter, "inner", &value), KITH_E_OPTION);
    CHECK_STATUS(kith_filter_option(filter, "insert", &value), KITH_E_OPTION);
    CHECK_STATUS(kith_filter_option(filter, "nothing", &value), KITH_E_OPTION);
    CHECK_EQ_U64(value, 3);
    kith_filter_free(filter);
    spec = spec_of("overlap", "f=9");
    CHECK_OK(kith_filter_create(&spec, &filter));
    CHECK_OK(kith_filter_option(filter, "f", &value));
    CHECK_EQ_U64(value, 9);
    kith_filter_free(filter);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
