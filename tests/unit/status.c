/* The names and sentences of the status codes. */
#include "check.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define CODE(number, name, sentence) KITH_##name,
static const kith_status CODES[] = {KITH_STATUS_LIST(CODE)};
#define NUMBER(number, name, sentence) number,
static const int NUMBERS[] = {KITH_STATUS_LIST(NUMBER)};
#define NAME(number, name, sentence) "KITH_" #name,
static const char *const NAMES[] = {KITH_STATUS_LIST(NAME)};

TEST(every_status_has_its_own_number_name_and_sentence) {
    for (size_t i = 0; i < LENGTH(CODES); i++) {
        CHECK((int)CODES[i] == NUMBERS[i]);
        CHECK(strcmp(kith_status_name(CODES[i]), NAMES[i]) == 0);
        const char *text = kith_status_text(CODES[i]);
        CHECK(*text != '\0' && text[strlen(text) - 1] != '.');
        for (size_t j = 0; j < i; j++)
            CHECK(CODES[i] != CODES[j] && strcmp(text, kith_status_text(CODES[j])) != 0);
    }
}

TEST(numbers_that_are_no_status_have_a_name_and_a_sentence_too) {
    static const int OTHERS[] = {-1, 1000, INT32_MAX};
    for (size_t i = 0; i < LENGTH(OTHERS); i++) {
        kith_status status = (kith_status)OTHERS[i];
        CHECK(strcmp(kith_status_name(status), "KITH_E_?") == 0);
        CHECK(strcmp(kith_status_text(status), "not a status of this library") == 0);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
