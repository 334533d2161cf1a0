/* Tests of plan/options.c: parsing "name=value name=value" by a kind's list of options. */
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "option_errors.h"
#include "plan/options.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { WIDTH, WAY, INNER, LARGE, COUNT };

static const kith_option OPTIONS[COUNT] = {
    {"w", "4..32", "8", "a number"},
    {"way", "left|right|rightmost", "right", "a word"},
    {"inner", "kind", "one", "a kind"},
    {"large", "0..18446744073709551615", "0", "any number"},
};

static bool resolve(const char *name, size_t length, uint64_t *value) {
    static const char *const KINDS[] = {"one", "three"};
    for (size_t i = 0; i < LENGTH(KINDS); i++) {
        if (strlen(KINDS[i]) == length && memcmp(KINDS[i], name, length) == 0) {
            *value = 10 + i;
            return true;
        }
    }
    return false;
}

static kith_status read(const char *text, uint64_t *values) {
    return kithi_options_read(text, OPTIONS, COUNT, resolve, values);
}

TEST(missing_options_have_their_defaults) {
    static const char *const NOTHING[] = {NULL, "", " ", " ,\t\n, "};
    for (size_t i = 0; i < LENGTH(NOTHING); i++) {
        uint64_t values[COUNT] = {99, 99, 99, 99};
        CHECK_OK(read(NOTHING[i], values));
        CHECK(values[WIDTH] == 8 && values[WAY] == 1 && values[INNER] == 10 && values[LARGE] == 0);
    }
    CHECK_OK(kithi_options_read(NULL, NULL, 0, resolve, NULL));
    CHECK_OK(kithi_options_read("  ", NULL, 0, resolve, NULL));
    CHECK_STATUS(kithi_options_read("a=1", NULL, 0, resolve, NULL), KITH_E_OPTION);
}

TEST(options_are_read_in_any_order_separated_by_blanks_or_commas) {
    static const char *const TEXTS[] = {"w=32 way=left inner=three large=18446744073709551615",
                                        "large=18446744073709551615,inner=three,way=left,w=32",
                                        "\tw=032\n\n, way=left,,inner=three  large=0018446744073709551615,"};
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        uint64_t values[COUNT];
        CHECK_OK(read(TEXTS[i], values));
        CHECK(values[WIDTH] == 32 && values[WAY] == 0 && values[INNER] == 11 && values[LARGE] == UINT64_MAX);
    }
    uint64_t values[COUNT];
    CHECK_OK(read("way=rightmost w=4", values));
    CHECK(values[WAY] == 2 && values[WIDTH] == 4 && values[INNER] == 10);
}

TEST(invalid_options_are_refused) {
    static const char *const TEXTS[] = {
        "w",
        "w=",
        "=",
        "=8",
        "w 8",
        "w= 8",
        "w =8",
        "x=8",
        "W=8",
        "ww=8",
        "wa=left",
        "w=3",
        "w=33",
        "w=-8",
        "w=+8",
        "w=8.0",
        "w=0x8",
        "w=8 w=8",
        "w=8,w=9",
        "w=8=8",
        "w==8",
        "way=up",
        "way=",
        "way=lef",
        "way=leftt",
        "way=left|right",
        "way=Left",
        "way=0",
        "inner=two",
        "inner=",
        "inner=on",
        "inner=ones",
        "large=18446744073709551616",
        "large=99999999999999999999999999999",
        "large=-1",
        "w=8;way=left",
        "w=8 x",
        "w=\xff",
    };
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        uint64_t values[COUNT];
        kith_status status = read(TEXTS[i], values);
        if (!is_option_error(status))
            CHECK_FAIL("\"%s\" gives %s", TEXTS[i], kith_status_name(status));
    }
}

TEST(the_default_of_every_option_of_every_kind_is_valid) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *info = kith_filter_kind_at(i);
        CHECK(info->option_count <= KITHI_OPTIONS_MAX && info->summary != NULL && *info->summary != '\0');
        for (size_t j = 0; j < info->option_count; j++) {
            const kith_option *option = &info->options[j];
            char text[64];
            CHECK(option->meaning != NULL && *option->meaning != '\0');
            CHECK(snprintf(text, sizeof text, "%s=%s", option->name, option->fallback) < (int)sizeof text);
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            kith_plan with = KITH_PLAN_INIT, without = KITH_PLAN_INIT;
            spec.kind = info->name;
            spec.capacity = 1000;
            spec.rate = .01;
            CHECK_OK(kith_filter_plan(&spec, &without));
            spec.options = text;
            CHECK_OK(kith_filter_plan(&spec, &with));
            CHECK(with.file_bytes == without.file_bytes && with.expected_rate == without.expected_rate);
        }
    }
    CHECK(kith_filter_kind_at(kith_filter_kind_count()) == NULL);
}

TEST(an_option_without_a_valid_default_must_be_given) {
    static const kith_option REQUIRED[] = {{"w", "4..32", "", "a number"}};
    uint64_t value;
    CHECK_STATUS(kithi_options_read(NULL, REQUIRED, 1, resolve, &value), KITH_E_OPTION_VALUE);
    CHECK_OK(kithi_options_read("w=5", REQUIRED, 1, resolve, &value));
    CHECK_EQ_U64(value, 5);
}

TEST(values_are_in_range_or_one_of_the_words) {
    static const kith_option AUTO[] = {{"max", "auto|2..32", "auto", "a word or a number"}};
    static const uint64_t VALUES[] = {0, 1, 2, 32, 33, UINT64_MAX};
    static const bool VALID[] = {true, false, true, true, false, false};
    for (size_t i = 0; i < LENGTH(VALUES); i++) {
        CHECK(kithi_options_valid(AUTO, 1, &VALUES[i]) == VALID[i]);
        char text[32];
        uint64_t value;
        (void)snprintf(text, sizeof text, "max=%" PRIu64, VALUES[i]);
        if (VALUES[i] != 0)
            CHECK((kithi_options_read(text, AUTO, 1, resolve, &value) == KITH_OK) == VALID[i]);
    }
    uint64_t value;
    CHECK_OK(kithi_options_read("max=auto", AUTO, 1, resolve, &value));
    CHECK_EQ_U64(value, 0);
    CHECK_STATUS(kithi_options_read("max=2..32", AUTO, 1, resolve, &value), KITH_E_OPTION_VALUE); /* it is not a word */
}

static const char *kind_name(uint64_t id) {
    return id == 10 ? "one" : "three";
}

/* Like snprintf: as much as there is space for, and the length of all. */
TEST(options_are_written_as_they_are_read) {
    static const char TEXT[] = "w=12 way=rightmost inner=three large=18446744073709551615";
    uint64_t values[COUNT], again[COUNT];
    CHECK_OK(read(TEXT, values));
    for (size_t space = 0; space <= sizeof TEXT + 1; space++) {
        char text[sizeof TEXT + 2];
        memset(text, '#', sizeof text);
        CHECK_EQ_U64(kithi_options_write(OPTIONS, COUNT, values, kind_name, text, space), sizeof TEXT - 1);
        size_t kept = space == 0 ? 0 : space < sizeof TEXT ? space - 1 : sizeof TEXT - 1;
        CHECK(memcmp(text, TEXT, kept) == 0);
        CHECK(space == 0 || text[kept] == '\0');
        for (size_t i = space == 0 ? 0 : kept + 1; i < sizeof text; i++)
            CHECK(text[i] == '#');
    }
    char text[100];
    CHECK_OK(read(NULL, values)); /* the first word, numbers of one digit */
    (void)kithi_options_write(OPTIONS, COUNT, values, kind_name, text, sizeof text);
    CHECK(strcmp(text, "w=8 way=right inner=one large=0") == 0);
    CHECK_OK(read(text, again));
    CHECK(memcmp(values, again, sizeof values) == 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
