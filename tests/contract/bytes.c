/* Checks of the bytes of a filter: files, views, order of adds, seeds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/stat.h>

#include "contract/contract.h"
#include "format/format.h"

static kith_filter *opened(const char *path, unsigned flags) {
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_open(path, flags, NULL, &f));
    return f;
}

void save_open_save_gives_the_same_bytes(void) {
    static const size_t SIZES[] = {1, 40, 70000};
    EACH_VARIANT(v) for (size_t i = 0; i < 3; i++) for (unsigned secret = 0; secret < 2; secret++) {
        kith_filter_spec spec;
        kith_plan plan;
        if ((v->options[0] != '\0' && (i != 1 || secret)) || !planned(v, SIZES[i], 0.01, &spec, &plan))
            continue;
        if (secret)
            spec.hash = (kith_hash){.id = KITH_HASH_SIPHASH, .key = {1, 2, 3, 0xff}};
        else
            spec.hash.seed = 77;
        kith_filter *f = keyed(&spec, i, 0, SIZES[i] * (can(&plan, KITH_CAN_GROW) ? 3 : 1));
        snapshot s = snapshot_of(f);
        const char *first = file_named("first"), *second = file_named("second");
        for (unsigned flags = 0; flags < 4; flags++) {
            CHECK_OK(kith_filter_save(f, first));
            snapshot saved = file_bytes(first);
            CHECK(saved.byte_count == s.byte_count && memcmp(saved.bytes, s.bytes, s.byte_count) == 0);
            struct stat st;
            CHECK(stat(first, &st) == 0);
            if (secret)
                CHECK((st.st_mode & 0777) == 0600);
            kith_filter *back = opened(first, flags);
            CHECK(kith_filter_readonly(back) == ((flags & KITH_OPEN_COPY) == 0));
            CHECK_EQ_U64(kith_filter_count(back), kith_filter_count(f));
            CHECK_EQ_U64(kith_filter_hash(back).id, spec.hash.id);
            CHECK_EQ_U64(kith_filter_hash(back).seed, spec.hash.seed);
            for (size_t j = 0; j < 16; j++)
                CHECK_EQ_U64(kith_filter_hash(back).key[j], 0);
            kith_hash other = spec.hash;
            other.key[15] = (uint8_t)secret; /* was 0 */
            other.seed ^= !secret;
            CHECK(kith_filter_has_hash(back, &spec.hash) && !kith_filter_has_hash(back, &other));
            CHECK(kith_filter_same_hash(back, back));
            for (uint64_t j = 0; j < 200; j++) {
                key k = key_at(i, j % 2 == 0 ? j / 2 % SIZES[i] : ABSENT + j);
                CHECK(kith_filter_has(back, k.bytes, sizeof k.bytes) == kith_filter_has(f, k.bytes, sizeof k.bytes));
            }
            CHECK_OK(kith_filter_save(back, second));
            CHECK_OK(kith_filter_save(back, first)); /* replaces the file that is mapped */
            kith_filter *clone = cloned(back);
            CHECK(same_bytes(back, &s) && same_bytes(clone, &s));
            snapshot again = file_bytes(second), over = file_bytes(first);
            CHECK(again.byte_count == s.byte_count && memcmp(again.bytes, s.bytes, s.byte_count) == 0);
            CHECK(over.byte_count == s.byte_count && memcmp(over.bytes, s.bytes, s.byte_count) == 0);
            snapshot_free(&again);
            snapshot_free(&over);
            snapshot_free(&saved);
            kith_filter_free(clone);
            kith_filter_free(back);
        }
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

void open_returns_a_specific_error(void) {
    EACH_DEFAULT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        CHECK(planned(v, 10, 0.01, &spec, &plan));
        kith_filter *f = filled(&spec, 1, 0, 10), *none = NULL;
        snapshot s = snapshot_of(f);
        const char *path = file_named("wrong");
        struct {
            size_t at, bytes;
            uint8_t value;
            kith_status status;
        } cases[] = {
            {0, s.byte_count, s.bytes[0], KITH_OK},
            {0, 0, 0, KITH_E_EMPTY},
            {0, 1, 'a', KITH_E_NOT_KITH},
            {3, s.byte_count, 'X', KITH_E_NOT_KITH},
            {0, 9, s.bytes[0], KITH_E_TRUNCATED},
            {0, s.byte_count - 1, s.bytes[0], KITH_E_TRUNCATED},
            {8, s.byte_count, 2, KITH_E_VERSION},
            {9, s.byte_count, 0xff, KITH_E_VERSION},
            {KITHI_HEADER_BYTES, s.byte_count, (uint8_t)~s.bytes[KITHI_HEADER_BYTES], KITH_E_CORRUPT},
            {64, s.byte_count, (uint8_t)~s.bytes[64], KITH_E_CORRUPT},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint8_t kept = s.bytes[cases[i].at];
            s.bytes[cases[i].at] = cases[i].value;
            write_file(path, s.bytes, cases[i].bytes);
            s.bytes[cases[i].at] = kept;
            for (unsigned copy = 0; copy <= KITH_OPEN_COPY; copy += KITH_OPEN_COPY) {
                contract_note("%s, case %zu, flags %u", v->kind, i, copy);
                CHECK_STATUS(kith_filter_open(path, copy, NULL, &none), cases[i].status);
                kith_filter_free(none);
                none = NULL;
            }
        }
        uint8_t *longer = calloc(1, s.byte_count + 1);
        CHECK(longer != NULL);
        memcpy(longer, s.bytes, s.byte_count);
        write_file(path, longer, s.byte_count + 1);
        CHECK_STATUS(kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &none), KITH_E_TRAILING);
        CHECK_STATUS(kith_filter_open(path, 1u << 9, NULL, &none), KITH_E_ARGUMENT);
        CHECK_STATUS(kith_filter_open(file_named("absent"), KITH_OPEN_DEFAULT, NULL, &none), KITH_E_NO_FILE);
        CHECK_STATUS(kith_filter_open(file_named("absent"), KITH_OPEN_COPY, NULL, &none), KITH_E_NO_FILE);
        CHECK_STATUS(kith_filter_open(file_named(""), KITH_OPEN_DEFAULT, NULL, &none), KITH_E_IO);
        CHECK_STATUS(kith_filter_save(f, file_named("absent/file")), KITH_E_NO_FILE);
        CHECK_STATUS(kith_filter_view(s.bytes, s.byte_count, 1u << 9, NULL, &none), KITH_E_ARGUMENT);
        static const char TEXT[] = "#include <stdio.h>\nint main(void) { return puts(\"not a filter\"); }\n";
        CHECK_STATUS(kith_filter_view(TEXT, sizeof TEXT, KITH_OPEN_DEFAULT, NULL, &none), KITH_E_NOT_KITH);
        CHECK(none == NULL);
        free(longer);
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

/* A fixed sequence of adds and removals. With `detour`, the filter is copied halfway and the copies are used. */
static kith_filter *after_sequence(const kith_filter_spec *spec, const kith_plan *plan, bool detour) {
    kith_filter *f = created(spec);
    uint64_t state = 5;
    for (size_t i = 0; i < 900; i++) {
        uint64_t digest = digest_at(19, draw(&state, 450));
        if (can(plan, KITH_CAN_REMOVE) && i % 3 == 2 && has_digest(f, digest))
            ignore_status(kith_filter_remove_many(f, &digest, 1, NULL));
        else
            ignore_status(add_digest(f, digest));
        if (detour && i % 250 == 249) {
            kith_filter *clone = cloned(f);
            kith_filter_free(f);
            snapshot s = snapshot_of(clone);
            f = viewed(s.bytes, s.byte_count, KITH_OPEN_COPY);
            kith_filter_free(clone);
            snapshot_free(&s);
        }
    }
    return f;
}

void equal_sequences_give_equal_bytes(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_for_adds(v, 400, 0.02, &spec, &plan))
            continue;
        kith_filter *one = after_sequence(&spec, &plan, false), *other = after_sequence(&spec, &plan, false);
        CHECK(equal_filters(one, other));
        kith_filter_free(other);
        other = after_sequence(&spec, &plan, true);
        CHECK(equal_filters(one, other));
        kith_filter_free(other);
        kith_filter_free(one);
    }
}

/* Bodies are equal at any rate. The count in the header is the number of keys that were new, and a key that was a false
 * positive in one order may be new in another. At a rate where that does not happen, all bytes are equal. */
void any_order_kinds_do_not_depend_on_order(void) {
    static const double RATES[] = {0.05, 1e-7};
    EACH_VARIANT(v) for (size_t r = 0; r < 2; r++) {
        enum { ANY_N = 300 };
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, ANY_N, RATES[r], &spec, &plan) || !can(&plan, KITH_CAN_ANY_ORDER))
            continue;
        uint64_t *digests = digests_from(23, 0, ANY_N), state = 1;
        kith_filter *one = filled(&spec, 23, 0, ANY_N);
        for (unsigned round = 0; round < 5; round++) {
            for (size_t i = ANY_N - 1; i > 0; i--) {
                size_t j = (size_t)draw(&state, i + 1);
                uint64_t swapped = digests[i];
                digests[i] = digests[j];
                digests[j] = swapped;
            }
            kith_filter *other = filled_with(&spec, digests, ANY_N);
            CHECK(same_body(one, other));
            if (r == 1 || can(&plan, KITH_CAN_COPIES))
                CHECK(equal_filters(one, other));
            kith_filter_free(other);
        }
        free(digests);
        kith_filter_free(one);
    }
}

void two_seeds_give_different_bytes(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 100, 0.01, &spec, &plan))
            continue;
        kith_filter *filters[4];
        for (uint8_t i = 0; i < 4; i++) {
            spec.hash = i < 2 ? (kith_hash){.id = KITH_HASH_XXH3, .seed = i}
                              : (kith_hash){.id = KITH_HASH_SIPHASH, .key = {[15] = i}};
            filters[i] = keyed(&spec, 9, 0, 100);
            for (uint8_t j = 0; j < i; j++)
                CHECK(!same_body(filters[i], filters[j]));
        }
        for (size_t i = 0; i < 4; i++)
            kith_filter_free(filters[i]);
    }
    kith_hash a, b;
    CHECK_OK(kith_hash_untrusted(&a));
    CHECK_OK(kith_hash_untrusted(&b));
    CHECK(a.id == KITH_HASH_SIPHASH && memcmp(a.key, b.key, sizeof a.key) != 0);
}

/* All queries must return the same for a view as for the filter itself. */
static void compare_view(const uint8_t *bytes, kith_filter *f, unsigned flags) {
    const void *own;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(f, &own, &byte_count));
    kith_filter *view = viewed(bytes, byte_count, flags);
    uint64_t digests[256], seen[4], wanted[4];
    for (size_t i = 0; i < 256; i++)
        digests[i] = digest_at(29, i % 2 == 0 ? i / 2 : ABSENT + i);
    CHECK_EQ_U64(kith_filter_has_many(view, digests, 256, seen), kith_filter_has_many(f, digests, 256, wanted));
    CHECK(memcmp(seen, wanted, sizeof seen) == 0);
    for (size_t i = 0; i < 64; i++) {
        key k = key_at(29, i);
        CHECK_EQ_U64(kith_filter_copies(view, k.bytes, sizeof k.bytes), kith_filter_copies(f, k.bytes, sizeof k.bytes));
    }
    kith_filter_stats stats = stats_of(view), wanted_stats = stats_of(f);
    CHECK(memcmp(&stats, &wanted_stats, sizeof stats) == 0);
    CHECK_OK(kith_filter_check(view, NULL));
    kith_filter *clone = cloned(view);
    CHECK(equal_filters(clone, f) && equal_filters(view, f));
    if ((kith_filter_capabilities(view) & KITH_CAN_SUBSET) != 0) {
        bool subset = false;
        CHECK_OK(kith_filter_subset(view, f, &subset));
        CHECK(subset);
    }
    if ((kith_filter_capabilities(view) & KITH_CAN_MERGE) != 0) {
        kith_filter *into = NULL;
        CHECK_OK(kith_filter_create_like(view, NULL, &into));
        CHECK_OK(kith_filter_merge(into, view));
        CHECK_EQ_U64(kith_filter_has_many(into, digests, 1, NULL), 1);
        kith_filter_free(into);
    }
    kith_filter_free(clone);
    kith_filter_free(view);
}

void views_work_at_odd_addresses_and_page_ends(void) {
    static const size_t SIZES[] = {1, 2, 7, 128, 1000};
    EACH_VARIANT(v) for (size_t i = 0; i < 5; i++) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, SIZES[i], 0.01, &spec, &plan))
            continue;
        kith_filter *f = filled(&spec, 29, 0, SIZES[i]);
        const void *bytes;
        size_t byte_count;
        CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
        guarded memory = guarded_room(byte_count);
        memcpy(memory.at_end, bytes, byte_count);
        compare_view(memory.at_end, f, KITH_OPEN_DEFAULT);
        compare_view(memory.at_end, f, KITH_OPEN_LAZY);
        memmove(memory.at_start, memory.at_end, byte_count);
        compare_view(memory.at_start, f, KITH_OPEN_DEFAULT);
        guarded_free(&memory);
        uint8_t *odd = malloc(byte_count + 64);
        CHECK(odd != NULL);
        for (size_t offset = 1; offset < 64; offset += offset < 9 ? 1 : 6) {
            memcpy(odd + offset, bytes, byte_count);
            compare_view(odd + offset, f, KITH_OPEN_DEFAULT);
        }
        free(odd);
        kith_filter_free(f);
    }
}
