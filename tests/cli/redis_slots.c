/* Tests the hash slots of clusters: the values of the cluster specification, tags, and names in a given slot. */
#include "cli/server/slots.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static unsigned slot(const char *key) {
    return redis_slot(key, strlen(key));
}

/* The specification gives CRC16("123456789") = 0x31C3. The others are what CLUSTER KEYSLOT of a server returns. */
TEST(slots_are_those_of_the_specification) {
    CHECK(slot("123456789") == 0x31C3);
    CHECK(slot("") == 0);
    CHECK(slot("foo") == 12182);
    CHECK(slot("k") == 7629);
    CHECK(redis_slot("a\0b", 3) != slot("a"));
}

TEST(only_the_tag_is_hashed) {
    CHECK(slot("{user1000}.following") == slot("user1000"));
    CHECK(slot("foo{bar}{zap}") == slot("bar"));
    CHECK(slot("foo{{bar}}zap") == slot("{bar"));
    /* An empty or unclosed tag is none. */
    CHECK(slot("foo{}{bar}") != slot("bar") && slot("foo{}{bar}") != slot(""));
    CHECK(slot("foo{bar") != slot("bar"));
    CHECK(slot("}foo{bar}") == slot("bar"));
}

TEST(every_slot_has_a_tag) {
    for (unsigned i = 0; i < REDIS_SLOTS; i += 331) {
        redis_tag tag;
        CHECK(slot(redis_tag_of_slot(i, tag)) == i);
        CHECK(strlen(tag) <= 5);
    }
}

TEST(a_temporary_name_is_in_the_slot_of_its_key) {
    static const char *const keys[] = {"k", "foo", "{tag}k", "k{tag}", "a}b", "a{b", "{}x", "a{}{b}", "", "with space"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t bytes;
        char *name = redis_name_beside(keys[i], strlen(keys[i]), UINT64_MAX - 5 + i, &bytes);
        CHECK(redis_slot(name, bytes) == slot(keys[i]));
        CHECK(bytes > strlen(keys[i]) && memcmp(name, keys[i], strlen(keys[i])) == 0);
        free(name);
    }
    size_t bytes;
    char *name = redis_name_beside("a\0b", 3, 7, &bytes);
    CHECK(redis_slot(name, bytes) == redis_slot("a\0b", 3) && memcmp(name, "a\0b:kith-push-", 14) == 0);
    free(name);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
