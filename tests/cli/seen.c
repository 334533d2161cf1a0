/* Tests seen.c of the tool, the exact set, with keys that have equal digests. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cli/commands/seen.h"
#include "sanitizer.h"
#include "splitmix.h"

static seen_budget budget = {UINT64_C(1) << 30, 0};

static input_record record_of(const char *key, size_t key_bytes) {
    return (input_record){key, key_bytes, key, key_bytes};
}

static bool add(seen *s, const char *key, size_t key_bytes, uint64_t digest) {
    input_record r = record_of(key, key_bytes);
    bool is_new;
    CHECK(seen_add_many(s, &r, &digest, 1, &is_new, NULL));
    return is_new;
}

TEST(keys_with_equal_digests_are_different) {
    static const uint64_t DIGESTS[] = {0, UINT64_MAX, UINT64_C(0x123456789abcdef0)};
    for (size_t d = 0; d < 3; d++) {
        seen *s = seen_new(&budget, 0, false);
        for (int round = 0; round < 2; round++) {
            for (unsigned i = 0; i < 3000; i++) {
                char key[16];
                int n = snprintf(key, sizeof key, "%u", i);
                CHECK(add(s, key, (size_t)n, DIGESTS[d]) == (round == 0));
            }
        }
        CHECK_EQ_U64(seen_count(s), 3000);
        seen_free(s);
    }
}

TEST(a_prefix_an_empty_key_and_nul_bytes_are_different_keys) {
    seen *s = seen_new(&budget, 0, false);
    CHECK(add(s, "abc", 3, 5) && add(s, "ab", 2, 5) && add(s, "", 0, 5) && add(s, "ab\0", 3, 5) && add(s, "\0", 1, 5));
    CHECK(!add(s, "abc", 3, 5) && !add(s, "ab", 2, 5) && !add(s, "", 0, 5) && !add(s, "ab\0", 3, 5) &&
          !add(s, "\0", 1, 5));
    seen_free(s);
}

/* Key i is the number i. It is added i % 3 + 1 times, at different times, and its word counts them. */
TEST(many_keys_are_kept_in_order_with_their_words_through_all_growths) {
    enum { KEYS = 400000 };
    seen *s = seen_new(&budget, 8, false);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t first = 0; first < KEYS; first += 1000) {
            static uint64_t keys[1000], digests[1000];
            static input_record records[1000];
            static bool is_new[1000];
            static char *words[1000];
            size_t n = 0;
            for (uint64_t key = first; key < first + 1000; key++) {
                if (round > key % 3)
                    continue;
                keys[n] = key;
                records[n] = record_of((const char *)&keys[n], sizeof key);
                digests[n] = splitmix_mix(key + 1) & ~UINT64_C(0xfffff); /* and some have equal digests */
                n++;
            }
            CHECK(seen_add_many(s, records, digests, n, is_new, words));
            for (size_t i = 0; i < n; i++) {
                CHECK(is_new[i] == (round == 0));
                uint64_t count;
                memcpy(&count, words[i], sizeof count);
                CHECK_EQ_U64(count, round);
                count++;
                memcpy(words[i], &count, sizeof count);
            }
        }
    }
    CHECK_EQ_U64(seen_count(s), KEYS);
    uint64_t cursor = 0, expected = 0;
    const char *line, *word;
    size_t line_bytes;
    for (; seen_next(s, &cursor, &line, &line_bytes, &word); expected++) {
        uint64_t key, count;
        CHECK_EQ_U64(line_bytes, sizeof key);
        memcpy(&key, line, sizeof key);
        memcpy(&count, word, sizeof count);
        CHECK_EQ_U64(key, expected);
        CHECK_EQ_U64(count, expected % 3 + 1);
    }
    CHECK_EQ_U64(expected, KEYS);
    /* 8 bytes for the key, 8 for the word, 1 for the length, and 8 / 0.4 for the index: with a hundred keys per section
     * the fullest section, which makes the index grow, has 40% more than the average, and it may just have grown. */
    CHECK(seen_bytes(s) < (uint64_t)KEYS * (17 + 20));
    seen_free(s);
}

TEST(lines_are_kept_with_keys_if_requested) {
    seen *s = seen_new(&budget, 1, true);
    static char line[400];
    memset(line, 'x', sizeof line);
    input_record records[2] = {{line, 2, line, sizeof line}, {line + 3, 2, "", 0}};
    uint64_t digests[2] = {1, 1};
    bool is_new[2];
    char *words[2];
    CHECK(seen_add_many(s, records, digests, 2, is_new, words));
    CHECK(is_new[0] && !is_new[1] && words[0] == words[1] && *words[0] == 0);
    uint64_t cursor = 0;
    const char *kept, *word;
    size_t kept_bytes;
    CHECK(seen_next(s, &cursor, &kept, &kept_bytes, &word));
    CHECK(kept_bytes == sizeof line && memcmp(kept, line, sizeof line) == 0);
    CHECK(!seen_next(s, &cursor, &kept, &kept_bytes, &word));
    seen_free(s);
}

TEST(long_keys_are_supported) {
    enum { LONG = 3000000 };
    char *key = calloc(1, LONG);
    seen *s = seen_new(&budget, 0, false);
    CHECK(add(s, key, LONG, 1) && add(s, key, LONG - 1, 1) && !add(s, key, LONG, 1));
    key[LONG - 1] = 1;
    CHECK(add(s, key, LONG, 1) && !add(s, key, LONG - 1, 1) && !add(s, key, LONG, 1));
    seen_free(s);
    free(key);
}

/* With little address space, index and store begin small and are moved as they grow; words are valid nevertheless. The
 * child process has the limit. */
TEST(a_set_grows_where_address_space_is_limited) {
    if (UNDER_SANITIZER)
        return;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit limit = {(rlim_t)400 << 20, (rlim_t)400 << 20};
        bool good = setrlimit(RLIMIT_AS, &limit) == 0;
        seen_budget ample = {UINT64_C(1) << 40, 0};
        seen *s = seen_new(&ample, 8, false);
        enum { KEYS = 300000, KEY_BYTES = 100, BATCH = INPUT_BATCH };
        static char keys[BATCH][KEY_BYTES];
        for (uint64_t round = 0; round < 2; round++)
            for (uint64_t first = 0; first < KEYS; first += BATCH) {
                input_record records[BATCH];
                uint64_t digests[BATCH];
                bool is_new[BATCH];
                char *words[BATCH];
                for (uint64_t i = 0; i < BATCH; i++) {
                    uint64_t key = first + i;
                    memcpy(keys[i], &key, sizeof key);
                    records[i] = record_of(keys[i], KEY_BYTES);
                    digests[i] = splitmix_mix(key + 1);
                }
                good = good && seen_add_many(s, records, digests, BATCH, is_new, words);
                for (uint64_t i = 0; good && i < BATCH; i++) {
                    uint64_t word, expected = round == 0 ? 0 : first + i;
                    memcpy(&word, words[i], sizeof word);
                    good = is_new[i] == (round == 0) && word == expected;
                    word = first + i;
                    memcpy(words[i], &word, sizeof word);
                }
            }
        _exit(good ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Two sets together stay within the limit, and until both are full nothing is lost. */
TEST(sets_share_their_budget) {
    seen_budget small = {UINT64_C(4) << 20, 0};
    seen *sets[2] = {seen_new(&small, 0, false), seen_new(&small, 0, false)};
    bool fits[2] = {true, true};
    for (uint64_t i = 0; fits[0] || fits[1]; i++) {
        uint64_t digest = splitmix_mix(i + 1);
        input_record r = record_of((const char *)&i, sizeof i);
        bool is_new;
        fits[i % 2] = seen_add_many(sets[i % 2], &r, &digest, 1, &is_new, NULL);
        CHECK(!fits[i % 2] || is_new);
        CHECK(seen_bytes(sets[0]) + seen_bytes(sets[1]) <= small.limit);
    }
    CHECK(seen_count(sets[0]) + seen_count(sets[1]) > 100000);
    seen_free(sets[0]);
    seen_free(sets[1]);
    CHECK_EQ_U64(small.used, 0);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
