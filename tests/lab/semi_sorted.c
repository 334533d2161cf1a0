/* Tests the lab's cuckoo filter with semi-sorted buckets (apps/lab/cuckoo_filter/semi_sorted.h). */
#include <stdlib.h>
#include <string.h>

#include <lab/cuckoo_filter/semi_sorted.h>

#include "check.h"
#include "splitmix.h"

TEST(the_codes_number_all_sorted_nibbles_in_12_bits) {
    bool used[SEMI_SORTED_CODES] = {false};
    unsigned count = 0;
    for (unsigned nibbles = 0; nibbles < 1 << 16; nibbles++) {
        unsigned a = nibbles & 15, b = nibbles >> 4 & 15, c = nibbles >> 8 & 15, d = nibbles >> 12;
        if (a > b || b > c || c > d)
            continue;
        unsigned code = semi_sorted_encode(nibbles);
        CHECK(code < SEMI_SORTED_CODES && !used[code]);
        CHECK_EQ_U64(semi_sorted_decode(code), nibbles);
        used[code] = true;
        count++;
    }
    CHECK(count == SEMI_SORTED_CODES && SEMI_SORTED_CODES <= 1 << 12);
    CHECK(semi_sorted_encode(0) == 0); /* an empty bucket is all zero */
}

static semi_sorted *create(unsigned log2_buckets, unsigned f) {
    semi_sorted *s = calloc(1, semi_sorted_bytes(log2_buckets, f));
    CHECK(s != NULL);
    semi_sorted_init(s, log2_buckets, f);
    return s;
}

TEST(a_slot_takes_one_bit_less_than_a_fingerprint) {
    for (unsigned f = SEMI_SORTED_F_MIN; f <= SEMI_SORTED_F_MAX; f++) {
        semi_sorted *s = create(10, f);
        CHECK_EQ_U64(semi_sorted_bits(s), 4096 * (f - 1));
        CHECK(s->body_bytes <= semi_sorted_bits(s) / 8 + 9);
        free(s);
    }
}

TEST(keys_that_were_added_are_found_until_they_are_removed) {
    enum { LOG2_BUCKETS = 8, TRIED = 819, ABSENT = 100000 }; /* a load of 0.8 */
    for (unsigned f = SEMI_SORTED_F_MIN; f <= SEMI_SORTED_F_MAX; f++) {
        semi_sorted *s = create(LOG2_BUCKETS, f), *empty = create(LOG2_BUCKETS, f);
        uint64_t state = f, digests[TRIED];
        unsigned keys = 0, found = 0;
        for (unsigned i = 0; i < TRIED; i++) {
            digests[keys] = splitmix_next(&state);
            keys += semi_sorted_add(s, digests[keys]);
        }
        CHECK(keys == TRIED || f < 7); /* narrow fingerprints: too many keys may share one */
        CHECK_EQ_U64(s->count, keys);
        for (unsigned i = 0; i < keys; i++)
            CHECK(semi_sorted_has(s, digests[i]));
        for (unsigned i = 0; i < ABSENT; i++)
            found += semi_sorted_has(s, splitmix_next(&state));
        CHECK(found < ABSENT * 8.0 / (1 << f) + 100); /* the bound 2b/2^f */
        for (unsigned i = 0; i < keys; i++) {
            CHECK(semi_sorted_remove(s, digests[i]));
            for (unsigned j = i + 1; j < keys; j += 37)
                CHECK(semi_sorted_has(s, digests[j]));
        }
        CHECK(s->count == 0 && memcmp(s->body, empty->body, s->body_bytes) == 0);
        CHECK(!semi_sorted_remove(s, digests[0]));
        free(s);
        free(empty);
    }
}

TEST(an_insertion_that_fails_changes_no_byte) {
    semi_sorted *s = create(6, 12);
    size_t bytes = semi_sorted_bytes(6, 12);
    semi_sorted *before = malloc(bytes);
    CHECK(before != NULL);
    uint64_t state = 1, refused = 0;
    for (unsigned i = 0; i < 400; i++) {
        memcpy(before, s, bytes);
        if (!semi_sorted_add(s, splitmix_next(&state))) {
            CHECK(memcmp(before, s, bytes) == 0);
            refused++;
        }
    }
    CHECK(refused >= 400 - 256 && s->count + refused == 400 && s->count > 230);
    free(s);
    free(before);
}

TEST(eight_copies_of_a_key_fit_and_no_more) {
    semi_sorted *s = create(6, 12);
    for (unsigned i = 0; i < 8; i++)
        CHECK(semi_sorted_add(s, 77));
    CHECK(!semi_sorted_add(s, 77));
    for (unsigned i = 0; i < 8; i++)
        CHECK(semi_sorted_has(s, 77) && semi_sorted_remove(s, 77));
    CHECK(!semi_sorted_has(s, 77));
    free(s);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
