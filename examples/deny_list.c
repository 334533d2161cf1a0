/* deny_list: passwords that nobody should use, as a filter.
 *
 * Builds the list the way password crackers do, common words with common changes, puts it into an `overlap` filter,
 * saves it, maps the file back, and asks it about passwords given as arguments (or a few of its own). A password that
 * is on the list is always found; another one is refused wrongly at the rate, one in a thousand.
 *
 *     deny_list [PASSWORD…]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#define RATE 0.001
#define FILE_NAME "deny_list.kith"

static const char *const WORDS[] = {
    "password", "qwerty",   "letmein", "dragon",   "monkey",  "football", "baseball", "sunshine", "princess", "welcome",
    "shadow",   "master",   "michael", "superman", "batman",  "trustno1", "iloveyou", "starwars", "computer", "hunter",
    "soccer",   "killer",   "pepper",  "ginger",   "summer",  "winter",   "spring",   "autumn",   "flower",   "hello",
    "freedom",  "whatever", "secret",  "admin",    "login",   "access",   "passw0rd", "zxcvbnm",  "asdfgh",   "abc123",
    "charlie",  "jordan",   "thomas",  "george",   "jessica", "amanda",   "ashley",   "nicole",   "daniel",   "andrew",
    "matrix",   "cheese",   "cookie",  "banana",   "orange",  "purple",   "silver",   "golden",   "guitar",   "london",
};
#define WORD_COUNT (sizeof WORDS / sizeof *WORDS)

/* Endings: nothing, 0 … 9999, and years with an exclamation mark. */
#define NUMBERS 10000
#define YEARS 100
#define ENDINGS (1 + NUMBERS + YEARS)
#define KEY_COUNT (2 * WORD_COUNT * ENDINGS)

/* The i-th password of the list. */
static size_t deny(size_t i, char *out, size_t size) {
    const char *word = WORDS[i / 2 / ENDINGS];
    size_t ending = i / 2 % ENDINGS;
    int length;
    if (ending == 0)
        length = snprintf(out, size, "%s", word);
    else if (ending <= NUMBERS)
        length = snprintf(out, size, "%s%zu", word, ending - 1);
    else
        length = snprintf(out, size, "%s%zu!", word, 1930 + ending - NUMBERS);
    if (i % 2 == 1 && out[0] >= 'a' && out[0] <= 'z')
        out[0] = (char)(out[0] - 'a' + 'A');
    return (size_t)length;
}

static void must(kith_status status, const char *doing) {
    if (status == KITH_OK)
        return;
    fprintf(stderr, "deny_list: %s: %s\n", doing, kith_status_text(status));
    exit(1);
}

static void build_and_save(const kith_filter_spec *spec) {
    static uint64_t digests[KEY_COUNT];
    char password[64];
    for (size_t i = 0; i < KEY_COUNT; i++)
        digests[i] = kith_digest(&spec->hash, password, deny(i, password, sizeof password));
    kith_filter *filter;
    must(kith_filter_build(spec, digests, KEY_COUNT, KITH_BUILD_SET, &filter), "building the filter");
    must(kith_filter_save(filter, FILE_NAME), "saving " FILE_NAME);
    kith_filter_free(filter);
}

/* Share of passwords that are not on the list and are answered yes: none of them begins with a letter. */
static double measured_rate(const kith_filter *filter) {
    enum { ASKED = 1000000 };
    unsigned yes = 0;
    char password[64];
    for (int i = 0; i < ASKED; i++) {
        int length = snprintf(password, sizeof password, "#%d", i);
        yes += kith_filter_has(filter, password, (size_t)length);
    }
    return (double)yes / ASKED;
}

static size_t missing(const kith_filter *filter) {
    size_t count = 0;
    char password[64];
    for (size_t i = 0; i < KEY_COUNT; i++)
        count += !kith_filter_has(filter, password, deny(i, password, sizeof password));
    return count;
}

static void ask(const kith_filter *filter, const char *password) {
    bool listed = kith_filter_has(filter, password, strlen(password));
    printf("  %-28s %s\n", password, listed ? "refused: it is on the list" : "fine");
}

int main(int argc, char **argv) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "overlap";
    spec.rate = RATE;
    build_and_save(&spec);

    kith_filter *filter;
    must(kith_filter_open(FILE_NAME, KITH_OPEN_DEFAULT, NULL, &filter), "opening " FILE_NAME);
    kith_plan plan = KITH_PLAN_INIT;
    must(kith_filter_plan_of(filter, &plan), "reading the plan");
    double rate = measured_rate(filter);
    size_t lost = missing(filter);
    printf("%s: %llu passwords in a filter of kind %s\n", FILE_NAME, (unsigned long long)kith_filter_count(filter),
           kith_filter_kind_name(filter));
    printf("  size            %llu bytes, %.2f bits a password\n", (unsigned long long)plan.file_bytes,
           plan.bits_per_key);
    printf("  promised rate   %.3f%% (expected %.4f%%)\n", plan.rate * 100, plan.expected_rate * 100);
    printf("  measured rate   %.4f%% of a million passwords that are not on the list\n", rate * 100);
    printf("  listed, but not found: %zu\n\n", lost);

    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            ask(filter, argv[i]);
    } else {
        const char *const tries[] = {"password", "Dragon1987", "sunshine2024!", "correct horse battery staple",
                                     "p4Tk!vq"};
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
            ask(filter, tries[i]);
    }
    kith_filter_free(filter);
    /* A million absent keys: the standard deviation of the measured rate is 3.2% of it; 1.2 times is six of them. */
    return lost == 0 && rate <= 1.2 * plan.rate ? 0 : 1;
}
