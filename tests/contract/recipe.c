/* Checks that the key recipe and the notes are stored with the filter and compared, but never interpreted. */
#include "contract/contract.h"
#include "format/format.h"
#include "format/notes.h"

enum { N = 60 };

static const kith_note NOTES[] = {{"note", "made by a test"}, {"empty", ""}, {"field", "3"}};
enum { NOTE_COUNT = sizeof NOTES / sizeof *NOTES };

#define RECIPE (KITHI_RECIPE_MAX - 12345)

static void expect_notes(const kith_filter *f, const kith_note *notes, size_t count) {
    CHECK_EQ_U64(kith_filter_note_count(f), count);
    for (size_t i = 0; i < count; i++) {
        CHECK(strcmp(kith_filter_note_at(f, i).name, notes[i].name) == 0);
        CHECK(strcmp(kith_filter_note_at(f, i).value, notes[i].value) == 0);
        CHECK(strcmp(kith_filter_note(f, notes[i].name), notes[i].value) == 0);
    }
    CHECK(kith_filter_note(f, "no such note") == NULL);
}

/* Adds half of the keys that fit; for a filter that grows, half of five times as many. */
static void add_half(kith_filter *f, const kith_plan *plan, unsigned half) {
    uint64_t n = (can(plan, KITH_CAN_GROW) ? 5 : 1) * N / 2;
    if (!can(plan, KITH_CAN_ADD))
        return;
    for (uint64_t i = half * n; i < (half + 1) * n; i++)
        CHECK_OK(add_digest(f, digest_at(3, i)));
    CHECK_EQ_U64(yes_among(f, 3, 0, (size_t)((half + 1) * n)), (half + 1) * n);
}

static bool planned_with_notes(const variant *v, kith_filter_spec *spec, kith_plan *plan) {
    if (!planned(v, N, 0.01, spec, plan))
        return false;
    spec->recipe = RECIPE;
    spec->notes = NOTES;
    spec->note_count = NOTE_COUNT;
    *plan = (kith_plan)KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan(spec, plan));
    return true;
}

void recipe_and_notes_stay_with_the_filter(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_with_notes(v, &spec, &plan))
            continue;
        kith_filter *f = created(&spec);
        snapshot s = snapshot_of(f);
        CHECK_EQ_U64(s.byte_count, plan.file_bytes);
        snapshot_free(&s);
        add_half(f, &plan, 0);
        add_half(f, &plan, 1);
        CHECK_EQ_U64(kith_filter_recipe(f), RECIPE);
        expect_notes(f, NOTES, NOTE_COUNT);

        const char *path = file_named("notes");
        CHECK_OK(kith_filter_save(f, path));
        s = snapshot_of(f);
        for (unsigned flags = 0; flags < 4; flags++) {
            kith_filter *opened = NULL;
            CHECK_OK(kith_filter_open(path, flags, NULL, &opened));
            CHECK(same_bytes(opened, &s));
            CHECK_EQ_U64(kith_filter_recipe(opened), RECIPE);
            expect_notes(opened, NOTES, NOTE_COUNT);
            kith_filter *copy = cloned(opened), *like = NULL;
            CHECK(same_bytes(copy, &s));
            expect_notes(copy, NOTES, NOTE_COUNT);
            kith_filter_free(copy);
            if (can(&plan, KITH_CAN_ADD)) {
                CHECK_OK(kith_filter_create_like(opened, NULL, &like));
                CHECK_EQ_U64(kith_filter_recipe(like), RECIPE);
                CHECK_EQ_U64(kith_filter_note_count(like), 0);
                kith_filter_free(like);
            }
            kith_filter_free(opened);
        }
        if (can(&plan, KITH_CAN_ADD)) {
            CHECK_OK(kith_filter_clear(f));
            CHECK_EQ_U64(kith_filter_count(f), 0);
        }
        CHECK_EQ_U64(kith_filter_recipe(f), RECIPE);
        expect_notes(f, NOTES, NOTE_COUNT);
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

void notes_can_be_replaced(void) {
    static const kith_note other[] = {{"field", "4"}, {"note", "another text, somewhat longer than the one before"}};
    EACH_VARIANT(v) {
        kith_filter_spec spec, plain;
        kith_plan plan;
        if (!planned_with_notes(v, &spec, &plan))
            continue;
        plain = spec;
        plain.note_count = 0;
        kith_filter *f = created(&spec), *without = created(&plain);
        add_half(f, &plan, 0);
        CHECK_OK(kith_filter_set_notes(f, other, 2));
        expect_notes(f, other, 2);
        add_half(f, &plan, 1);
        snapshot s = snapshot_of(f);
        kith_filter *back = viewed(s.bytes, s.byte_count, KITH_OPEN_DEFAULT);
        expect_notes(back, other, 2);
        CHECK_STATUS(kith_filter_set_notes(back, NOTES, 1), KITH_E_READONLY);
        kith_filter_free(back);

        static const kith_note twice[] = {{"a", "1"}, {"a", "2"}}, unnamed[] = {{"", "1"}};
        static char long_value[KITHI_NOTES_CONTENT_MAX];
        memset(long_value, 'x', sizeof long_value - 1);
        const kith_note too_long[] = {{"a", long_value}};
        kith_note too_many[KITHI_NOTES_MAX + 1];
        for (size_t i = 0; i <= KITHI_NOTES_MAX; i++)
            too_many[i] = (kith_note){"a", "1"};
        CHECK_STATUS(kith_filter_set_notes(f, twice, 2), KITH_E_NOTE);
        CHECK_STATUS(kith_filter_set_notes(f, unnamed, 1), KITH_E_NOTE);
        CHECK_STATUS(kith_filter_set_notes(f, too_long, 1), KITH_E_NOTES);
        CHECK_STATUS(kith_filter_set_notes(f, too_many, KITHI_NOTES_MAX + 1), KITH_E_NOTES);
        CHECK(same_bytes(f, &s));
        snapshot_free(&s);

        CHECK_OK(kith_filter_set_notes(f, NULL, 0));
        CHECK_EQ_U64(kith_filter_note_count(f), 0);
        add_half(without, &plan, 0);
        add_half(without, &plan, 1);
        CHECK(equal_filters(f, without));
        kith_filter_free(without);
        kith_filter_free(f);
    }
}

void damaged_notes_are_refused(void) {
    EACH_DEFAULT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned_with_notes(v, &spec, &plan))
            continue;
        kith_filter *f = created(&spec), *none = NULL;
        snapshot s = snapshot_of(f);
        uint64_t notes_bytes;
        CHECK_OK(kithi_notes_measure(NOTES, NOTE_COUNT, &notes_bytes));
        for (unsigned flags = 0; flags <= KITH_OPEN_LAZY; flags++) {
            for (size_t at = s.byte_count - (size_t)notes_bytes; at < s.byte_count; at++) {
                for (unsigned bit = 0; bit < 8; bit++) {
                    s.bytes[at] ^= (uint8_t)(1u << bit);
                    kith_status status = kith_filter_view(s.bytes, s.byte_count, flags, NULL, &none);
                    CHECK(status == KITH_E_CORRUPT || status == KITH_E_TRUNCATED || status == KITH_E_TRAILING);
                    s.bytes[at] ^= (uint8_t)(1u << bit);
                }
                CHECK_STATUS(kith_filter_view(s.bytes, at, flags, NULL, &none), KITH_E_TRUNCATED);
            }
        }
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

/* Sealed again with valid checksums, so that only the strings are invalid. */
void forged_notes_are_refused(void) {
    static const struct {
        const char *content;
        size_t content_bytes;
        bool sound;
    } cases[] = {
        {"a\0b\0", 4, true}, {"a\0b", 3, false},         {"a\0", 2, false},
        {"\0b\0", 3, false}, {"a\0b\0a\0c\0", 8, false}, {"a\0b\0b\0c\0", 8, true},
        {"ab", 2, false},    {"a\0b\0\0c\0", 7, false},  {"a\0\0b\0\0", 6, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t section[64] = {0};
        size_t section_bytes = KITHI_NOTES_HEADER_BYTES + (cases[i].content_bytes + 7) / 8 * 8;
        section[8] = (uint8_t)cases[i].content_bytes;
        memcpy(section + KITHI_NOTES_HEADER_BYTES, cases[i].content, cases[i].content_bytes);
        kith_hash hash = {0};
        uint64_t checksum = kith_digest(&hash, section + 8, section_bytes - 8);
        for (unsigned j = 0; j < 8; j++)
            section[j] = (uint8_t)(checksum >> (8 * j));
        contract_note("case %zu", i);
        CHECK_STATUS(kithi_notes_verify(section, section_bytes), cases[i].sound ? KITH_OK : KITH_E_CORRUPT);
    }
}

void filters_of_different_recipes_do_not_combine(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec, other;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan))
            continue;
        other = spec;
        other.recipe = 1;
        kith_filter *a = created(&spec), *b = created(&other);
        snapshot before = snapshot_of(a);
        bool subset;
        if (can(&plan, KITH_CAN_MERGE))
            CHECK_STATUS(kith_filter_merge(a, b), KITH_E_MISMATCH);
        if (can(&plan, KITH_CAN_INTERSECT))
            CHECK_STATUS(kith_filter_intersect(a, b), KITH_E_MISMATCH);
        if (can(&plan, KITH_CAN_SUBSET)) {
            CHECK_STATUS(kith_filter_subset(a, b, &subset), KITH_E_MISMATCH);
            CHECK_STATUS(kith_filter_disjoint(a, b, &subset), KITH_E_MISMATCH);
        }
        CHECK(same_bytes(a, &before));
        snapshot_free(&before);
        kith_filter_free(a);
        kith_filter_free(b);
        other.recipe = KITHI_RECIPE_MAX + 1;
        CHECK_STATUS(kith_filter_create(&other, &a), KITH_E_RECIPE);
        CHECK_STATUS(kith_filter_build(&other, NULL, 0, KITH_BUILD_SET, 1, &a), KITH_E_RECIPE);
    }
}
