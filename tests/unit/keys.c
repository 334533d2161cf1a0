/* Tests of kith/keys.h: the types of keys, and keys as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <kith/keys.h>

#include "check.h"
#include "splitmix.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static kith_status parse(kith_key_type type, const char *text, uint8_t key[KITH_TYPED_KEY_BYTES]) {
    return kith_key_parse(type, text, strlen(text), key);
}

TEST(a_key_type_has_a_name_a_size_and_two_bits_of_the_recipe) {
    static const struct {
        kith_key_type type;
        const char *name;
        size_t bytes;
        uint64_t recipe;
    } TYPES[] = {{KITH_KEYS_BYTES, "bytes", 0, 0},
                 {KITH_KEYS_INT, "int", 8, 0x40},
                 {KITH_KEYS_UINT, "uint", 8, 0x80},
                 {KITH_KEYS_UUID, "uuid", 16, 0xc0}};
    kith_key_type type;
    for (size_t i = 0; i < LENGTH(TYPES); i++) {
        CHECK(strcmp(kith_key_type_name(TYPES[i].type), TYPES[i].name) == 0);
        CHECK_OK(kith_key_type_named(TYPES[i].name, &type));
        CHECK(type == TYPES[i].type);
        CHECK_EQ_U64(kith_key_type_bytes(TYPES[i].type), TYPES[i].bytes);
        CHECK_EQ_U64(kith_key_recipe(TYPES[i].type), TYPES[i].recipe);
        CHECK(kith_key_type_of(TYPES[i].recipe | UINT64_C(0xffffffffff3f)) == TYPES[i].type);
    }
    type = KITH_KEYS_UUID;
    CHECK_STATUS(kith_key_type_named("integer", &type), KITH_E_ARGUMENT);
    CHECK_STATUS(kith_key_type_named("", &type), KITH_E_ARGUMENT);
    CHECK(type == KITH_KEYS_UUID);
}

TEST(numbers_are_eight_bytes_with_the_lowest_first) {
    static const struct {
        kith_key_type type;
        const char *text;
        uint8_t key[8];
    } KEYS[] = {
        {KITH_KEYS_INT, "0", {0}},
        {KITH_KEYS_INT, "42", {42}},
        {KITH_KEYS_INT, "-1", {255, 255, 255, 255, 255, 255, 255, 255}},
        {KITH_KEYS_INT, "-9223372036854775808", {0, 0, 0, 0, 0, 0, 0, 128}},
        {KITH_KEYS_INT, "9223372036854775807", {255, 255, 255, 255, 255, 255, 255, 127}},
        {KITH_KEYS_UINT, "258", {2, 1}},
        {KITH_KEYS_UINT, "18446744073709551615", {255, 255, 255, 255, 255, 255, 255, 255}},
    };
    for (size_t i = 0; i < LENGTH(KEYS); i++) {
        uint8_t key[KITH_TYPED_KEY_BYTES];
        char text[KITH_KEY_TEXT_BYTES];
        CHECK_OK(parse(KEYS[i].type, KEYS[i].text, key));
        CHECK(memcmp(key, KEYS[i].key, 8) == 0);
        CHECK_EQ_U64(kith_key_format(KEYS[i].type, key, text), strlen(KEYS[i].text));
        CHECK(strcmp(text, KEYS[i].text) == 0);
    }
}

TEST(a_uuid_is_its_sixteen_bytes_in_the_order_of_the_text) {
    static const uint8_t KEY[16] = {0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3,
                                    0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0x00};
    uint8_t key[KITH_TYPED_KEY_BYTES];
    char text[KITH_KEY_TEXT_BYTES];
    CHECK_OK(parse(KITH_KEYS_UUID, "123E4567-e89b-12d3-A456-426614174000", key));
    CHECK(memcmp(key, KEY, sizeof KEY) == 0);
    CHECK_EQ_U64(kith_key_format(KITH_KEYS_UUID, key, text), KITH_KEY_TEXT_BYTES - 1);
    CHECK(strcmp(text, "123e4567-e89b-12d3-a456-426614174000") == 0);
}

TEST(random_keys_of_every_type_are_read_from_their_own_text) {
    uint64_t state = 1;
    for (size_t i = 0; i < 30000; i++) {
        kith_key_type type = (kith_key_type)(1 + i % 3);
        uint8_t key[KITH_TYPED_KEY_BYTES] = {0}, again[KITH_TYPED_KEY_BYTES] = {0};
        uint64_t words[2] = {splitmix_next(&state) >> i / 3 % 64, splitmix_next(&state)};
        char text[KITH_KEY_TEXT_BYTES], printed[KITH_KEY_TEXT_BYTES];
        for (size_t j = 0; j < kith_key_type_bytes(type); j++)
            key[j] = (uint8_t)(words[j / 8] >> 8 * (j % 8));
        size_t length = kith_key_format(type, key, text);
        CHECK_OK(kith_key_parse(type, text, length, again));
        CHECK(memcmp(key, again, sizeof key) == 0);
        if (type != KITH_KEYS_UUID) {
            snprintf(printed, sizeof printed, type == KITH_KEYS_INT ? "%" PRId64 : "%" PRIu64, words[0]);
            CHECK(strcmp(text, printed) == 0);
        }
    }
}

TEST(what_is_not_the_text_of_a_key_is_refused_and_changes_nothing) {
    static const struct {
        kith_key_type type;
        const char *text;
        kith_status status;
    } TEXTS[] = {
        {KITH_KEYS_INT, "", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "-", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "--1", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "-0", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "00", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "-01", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "+1", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, " 1", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "1 ", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "1.0", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "1e3", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "0x10", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "1_000", KITH_E_KEY_TEXT},
        {KITH_KEYS_INT, "\xd9\xa1", KITH_E_KEY_TEXT}, /* the Arabic digit 1 */
        {KITH_KEYS_INT, "9223372036854775808", KITH_E_KEY_RANGE},
        {KITH_KEYS_INT, "-9223372036854775809", KITH_E_KEY_RANGE},
        {KITH_KEYS_INT, "18446744073709551616", KITH_E_KEY_RANGE},
        {KITH_KEYS_INT, "99999999999999999999999999999999999999999", KITH_E_KEY_RANGE},
        {KITH_KEYS_INT, "99999999999999999999999999999999999999999x", KITH_E_KEY_TEXT},
        {KITH_KEYS_UINT, "-1", KITH_E_KEY_RANGE},
        {KITH_KEYS_UINT, "-0", KITH_E_KEY_TEXT},
        {KITH_KEYS_UINT, "18446744073709551616", KITH_E_KEY_RANGE},
        {KITH_KEYS_UINT, "184467440737095516150", KITH_E_KEY_RANGE},
        {KITH_KEYS_UINT, "abc", KITH_E_KEY_TEXT},
        {KITH_KEYS_UUID, "", KITH_E_KEY_TEXT},
        {KITH_KEYS_UUID, "123e4567e89b12d3a456426614174000", KITH_E_KEY_TEXT},
        {KITH_KEYS_UUID, "{123e4567-e89b-12d3-a456-426614174000}", KITH_E_KEY_TEXT},
        {KITH_KEYS_UUID, "123e4567-e89b-12d3-a456-42661417400g", KITH_E_KEY_TEXT},
        {KITH_KEYS_UUID, "123e4567-e89b-12d3-a456-4266141740-0", KITH_E_KEY_TEXT},
        {KITH_KEYS_UUID, "123e45678e89b-12d3-a456-426614174000", KITH_E_KEY_TEXT},
        {KITH_KEYS_BYTES, "42", KITH_E_ARGUMENT},
    };
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        uint8_t key[KITH_TYPED_KEY_BYTES], before[KITH_TYPED_KEY_BYTES];
        memset(key, 0xa5, sizeof key);
        memcpy(before, key, sizeof key);
        CHECK_STATUS(parse(TEXTS[i].type, TEXTS[i].text, key), TEXTS[i].status);
        CHECK(memcmp(key, before, sizeof key) == 0);
    }
}

TEST(a_text_may_contain_zero_bytes_and_need_not_end_with_one) {
    uint8_t key[KITH_TYPED_KEY_BYTES];
    CHECK_STATUS(kith_key_parse(KITH_KEYS_INT, "1\0", 2, key), KITH_E_KEY_TEXT);
    CHECK_STATUS(kith_key_parse(KITH_KEYS_INT, NULL, 0, key), KITH_E_KEY_TEXT);
    CHECK_OK(kith_key_parse(KITH_KEYS_INT, "123", 2, key));
    CHECK_EQ_U64(key[0], 12);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
