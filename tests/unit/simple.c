/* The simple calls of kith/filter.h: what they choose, that their keys are those of the other calls, their errors. */
#define _GNU_SOURCE
#include <kith/kith.h>

#include "check.h"
#include "folder.h"
#include "unit/small_filter.h"

static const char *const WORDS[] = {"alpha", "beta", "gamma", "", "beta"}; /* 4 distinct ones */

static kith_filter *new_of(uint64_t n, unsigned flags) {
    kith_filter *filter;
    CHECK_OK(kith_filter_new(n, .001, flags, &filter));
    return filter;
}

static bool can(const kith_filter *filter, uint32_t capability) {
    return (kith_filter_capabilities(filter) & capability) != 0;
}

TEST(flags_decide_what_a_filter_can_do) {
    for (unsigned flags = 0; flags < 8; flags++) {
        kith_filter *filter = new_of(1000, flags);
        kith_plan plan = KITH_PLAN_INIT;
        CHECK_OK(kith_filter_plan_of(filter, &plan));
        CHECK(can(filter, KITH_CAN_REMOVE) == ((flags & KITH_REMOVABLE) != 0));
        CHECK(can(filter, KITH_CAN_GROW) == ((flags & KITH_GROWS) != 0));
        CHECK((kith_filter_hash(filter).id == KITH_HASH_SIPHASH) == ((flags & KITH_UNTRUSTED) != 0));
        CHECK(plan.rate <= .001 && plan.capacity == 1000);
        kith_filter_free(filter);
    }
}

TEST(flags_decide_the_type_of_keys) {
    static const struct {
        unsigned flag;
        kith_key_type type;
    } FLAGS[] = {{0, KITH_KEYS_BYTES},
                 {KITH_INT_KEYS, KITH_KEYS_INT},
                 {KITH_UINT_KEYS, KITH_KEYS_UINT},
                 {KITH_UUID_KEYS, KITH_KEYS_UUID}};
    for (size_t i = 0; i < LENGTH(FLAGS); i++) {
        kith_filter *filter = new_of(1000, FLAGS[i].flag | KITH_GROWS), *none;
        CHECK_EQ_U64(kith_filter_recipe(filter), kith_key_recipe(FLAGS[i].type));
        kith_filter_free(filter);
        for (size_t j = 1; j < i; j++)
            CHECK_STATUS(kith_filter_new(1000, .001, FLAGS[i].flag | FLAGS[j].flag, &none), KITH_E_ARGUMENT);
    }
    uint64_t numbers[] = {1, UINT64_MAX};
    kith_filter *filter;
    CHECK_OK(kith_filter_of_numbers(numbers, LENGTH(numbers), .001, &filter));
    CHECK_EQ_U64(kith_filter_recipe(filter), kith_key_recipe(KITH_KEYS_UINT));
    kith_filter_free(filter);
    CHECK_OK(kith_filter_of_strings(WORDS, LENGTH(WORDS), .001, &filter));
    CHECK_EQ_U64(kith_filter_recipe(filter), 0);
    kith_filter_free(filter);
}

TEST(a_key_that_is_added_again_changes_nothing_unless_keys_are_removable) {
    for (unsigned flags = 0; flags < 8; flags++) {
        kith_filter *filter = new_of(10, flags);
        CHECK_OK(kith_filter_add_string(filter, "once"));
        CHECK_OK(kith_filter_add_string(filter, "once"));
        CHECK_EQ_U64(kith_filter_count(filter), flags & KITH_REMOVABLE ? 2 : 1);
        kith_filter_free(filter);
    }
}

TEST(a_filter_that_grows_needs_no_size) {
    kith_filter *filter = new_of(0, KITH_GROWS);
    uint64_t n = kith_filter_capacity(filter) + 1000;
    for (uint64_t i = 0; i < n; i++)
        CHECK_OK(kith_filter_add_number(filter, i));
    for (uint64_t i = 0; i < n; i++)
        CHECK(kith_filter_has_number(filter, i));
    kith_filter_free(filter);
}

TEST(strings_and_numbers_are_the_keys_of_the_other_calls) {
    static const unsigned char LITTLE_ENDIAN_BYTES[8] = {0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
    kith_filter *filter = new_of(100, KITH_REMOVABLE);
    CHECK_OK(kith_filter_add_string(filter, "key"));
    CHECK_OK(kith_filter_add_number(filter, UINT64_C(0x0123456789abcdef)));
    CHECK(kith_filter_has(filter, "key", 3) && kith_filter_has_string(filter, "key"));
    CHECK(kith_filter_has(filter, LITTLE_ENDIAN_BYTES, 8));
    CHECK_OK(kith_filter_remove_string(filter, "key"));
    CHECK_OK(kith_filter_remove_number(filter, UINT64_C(0x0123456789abcdef)));
    CHECK_STATUS(kith_filter_remove_string(filter, "key"), KITH_E_ABSENT);
    CHECK_EQ_U64(kith_filter_count(filter), 0);
    kith_filter_free(filter);
}

TEST(a_complete_set_is_the_smallest_and_counts_repeats_once) {
    uint64_t numbers[3000];
    for (uint64_t i = 0; i < LENGTH(numbers); i++)
        numbers[i] = i % 2500;
    kith_filter *strings, *of_numbers;
    CHECK_OK(kith_filter_of_strings(WORDS, LENGTH(WORDS), .01, &strings));
    CHECK_OK(kith_filter_of_numbers(numbers, LENGTH(numbers), .01, &of_numbers));
    CHECK_EQ_U64(kith_filter_count(strings), 4);
    CHECK_EQ_U64(kith_filter_count(of_numbers), 2500);
    CHECK(!can(strings, KITH_CAN_ADD));
    for (size_t i = 0; i < LENGTH(WORDS); i++)
        CHECK(kith_filter_has_string(strings, WORDS[i]));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 2500; i++)
        CHECK(kith_filter_has_number(of_numbers, i));
    for (uint64_t i = 2500; i < 102500; i++)
        wrong += kith_filter_has_number(of_numbers, i);
    CHECK(wrong < 1200); /* the mean is at most 1000; the hash is fixed */
    CHECK_STATUS(kith_filter_add_string(strings, "delta"), KITH_E_UNSUPPORTED);
    kith_filter_free(strings);
    kith_filter_free(of_numbers);
}

TEST(no_keys_make_an_empty_filter) {
    kith_filter *filter;
    CHECK_OK(kith_filter_of_strings(NULL, 0, .01, &filter));
    CHECK_EQ_U64(kith_filter_count(filter), 0);
    kith_filter_free(filter);
    CHECK_OK(kith_filter_of_numbers(NULL, 0, .01, &filter));
    CHECK_EQ_U64(kith_filter_count(filter), 0);
    kith_filter_free(filter);
}

TEST(a_loaded_filter_can_be_changed_and_saved_again) {
    struct folder folder = fresh_folder();
    const char *path = in(&folder, "words.kith");
    kith_filter *filter = new_of(100, 0);
    CHECK_OK(kith_filter_add_string(filter, "alpha"));
    CHECK_OK(kith_filter_save(filter, path));
    kith_filter_free(filter);
    CHECK_OK(kith_filter_load(path, &filter));
    CHECK_OK(kith_filter_add_string(filter, "beta"));
    CHECK_OK(kith_filter_save(filter, path));
    kith_filter_free(filter);
    CHECK_OK(kith_filter_load(path, &filter));
    CHECK(kith_filter_has_string(filter, "alpha") && kith_filter_has_string(filter, "beta"));
    kith_filter_free(filter);
    remove_folder(&folder);
}

#define CHECK_FAILURE(call, expected)                                                                                  \
    do {                                                                                                               \
        filter = (kith_filter *)&filter; /* anything but NULL */                                                       \
        CHECK_STATUS(call, expected);                                                                                  \
        CHECK(filter == NULL);                                                                                         \
    } while (0)

TEST(a_failure_leaves_null) {
    static const struct {
        uint64_t n;
        double rate;
        unsigned flags;
        kith_status status;
    } BAD[] = {{0, .01, 0, KITH_E_CAPACITY},   {0, .01, KITH_REMOVABLE, KITH_E_CAPACITY},
               {10, 0, 0, KITH_E_RATE},        {10, 1, 0, KITH_E_RATE},
               {10, .01, 64, KITH_E_ARGUMENT}, {UINT64_MAX, .5, 0, KITH_E_DIGEST_BITS}};
    kith_filter *filter;
    uint64_t number = 1;
    for (size_t i = 0; i < LENGTH(BAD); i++)
        CHECK_FAILURE(kith_filter_new(BAD[i].n, BAD[i].rate, BAD[i].flags, &filter), BAD[i].status);
    CHECK_FAILURE(kith_filter_of_strings(WORDS, LENGTH(WORDS), 0, &filter), KITH_E_RATE);
    CHECK_FAILURE(kith_filter_of_strings(WORDS, LENGTH(WORDS), 1e-12, &filter), KITH_E_FINGERPRINT);
    CHECK_FAILURE(kith_filter_of_numbers(&number, SIZE_MAX / 8 + 1, .01, &filter), KITH_E_MEMORY);
    CHECK_FAILURE(kith_filter_load("/nonexistent/x.kith", &filter), KITH_E_NO_FILE);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
