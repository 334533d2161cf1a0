/* Tests of kith/repair.h on files in memory: what is damaged is restored, or the report says what is missing. */
#define _GNU_SOURCE

#include "unit/repair_disk.h"

/* ---- the file ---- */

TEST(sound_files_come_back_as_they_are) {
    EACH_KIND(kind) {
        new_disk();
        kith_filter *filter = new_filter(kind, NULL);
        put_filter(filter);
        check_whole(filter);
        CHECK(!report.is_store && report.pages_damaged == 0 && report.journal == KITH_JOURNAL_NONE);
        kith_filter_free(filter);
    }
    EACH_KIND_THAT_ADDS(kind) {
        new_disk();
        kith_filter *model = make_store(kind, N);
        check_whole(model);
        CHECK(report.is_store && report.journal == KITH_JOURNAL_SOUND);
        CHECK_EQ_U64(report.records, N / 2);
        kith_filter_free(model);
    }
}

TEST(a_wrong_byte_of_the_header_is_restored) {
    new_disk();
    kith_filter *filter = new_filter("cuckoo", NULL);
    put_filter(filter);
    for (uint64_t at = 0; at < KITHI_HEADER_BYTES; at++) {
        flip(PATH, at, (uint8_t)(at * 37 | 1));
        check_whole(filter);
        CHECK(report.header_restored);
        flip(PATH, at, (uint8_t)(at * 37 | 1));
    }
    flip(PATH, 30, 1);
    CHECK(repaired(0) == NULL); /* the search may not hash that much */
    flip(PATH, 90, 1);
    CHECK(repaired(KITHI_SALVAGE_BUDGET) == NULL);
    kith_filter_free(filter);
}

TEST(a_flipped_bit_of_the_body_is_restored) {
    EACH_KIND(kind) {
        new_disk();
        kith_filter *filter = new_filter(kind, NULL);
        put_filter(filter);
        uint64_t body_bytes = kithi_load64(bytes_of(PATH)->at + KITHI_AT_BODY_BYTES);
        for (uint64_t at = 0; at < body_bytes; at += 1 + body_bytes / 50) {
            flip(PATH, KITHI_HEADER_BYTES + at, (uint8_t)(1u << at % 8));
            check_whole(filter);
            CHECK_EQ_U64(report.pages_restored, 1);
            flip(PATH, KITHI_HEADER_BYTES + at, (uint8_t)(1u << at % 8));
        }
        kith_filter_free(filter);
    }
}

TEST(a_page_of_zeros_is_restored) {
    new_disk();
    kith_filter *filter = filter_of("bloom", NULL, 500, 0);
    put_filter(filter);
    for (uint64_t at = KITHI_HEADER_BYTES + 10; at < KITHI_HEADER_BYTES + 40; at++)
        flip(PATH, at, 0x55);
    check_whole(filter);
    kith_filter_free(filter);
}

TEST(damaged_or_missing_checksums_are_restored) {
    new_disk();
    kith_filter *filter = filter_of("blocked", NULL, 300000, 1000);
    put_filter(filter);
    struct disk_bytes whole = kept(PATH);
    uint64_t body_end = KITHI_HEADER_BYTES + kithi_load64(whole.at + KITHI_AT_BODY_BYTES);
    uint64_t pages = (whole.n - body_end) / 8;
    CHECK(pages > 4);
    for (uint64_t i = 0; i < 8 * pages; i += 5) {
        flip(PATH, body_end + i, 0xff);
        check_whole(filter);
        CHECK(report.checksums_restored);
    }
    for (uint64_t cut = 0; cut <= 8 * pages; cut++) {
        put_back(PATH, &whole);
        disk_resize(bytes_of(PATH), body_end + cut);
        check_whole(filter);
        CHECK_EQ_U64(report.missing_bytes, 8 * pages - cut);
    }
    disk_resize(bytes_of(PATH), whole.n + 100);
    check_whole(filter);
    free(whole.at);
    kith_filter_free(filter);
}

TEST(damaged_notes_are_removed) {
    kith_note note = {"made by", "a test"};
    new_disk();
    kith_filter *filter = new_filter("bloom", NULL), *plain = new_filter("bloom", NULL);
    CHECK_OK(kith_filter_set_notes(filter, &note, 1));
    put_filter(filter);
    size_t whole = bytes_of(PATH)->n;
    check_whole(filter);
    for (size_t at = whole - 30; at < whole; at++) {
        flip(PATH, at, 0x81);
        kith_filter *got = repaired(0);
        CHECK(got != NULL && same(got, plain) && report.notes_lost && !report.is_whole && !report.may_miss_keys);
        kith_filter_free(got);
        flip(PATH, at, 0x81);
    }
    disk_resize(bytes_of(PATH), whole - 1);
    kith_filter_free(repaired(0));
    CHECK(report.notes_lost);
    kith_filter_free(filter);
    kith_filter_free(plain);
}

/* Fills page `page` of the body with random bytes. */
static void destroy_page(uint64_t page, uint64_t from, uint64_t to, uint64_t *random) {
    uint64_t body_bytes = kithi_load64(bytes_of(PATH)->at + KITHI_AT_BODY_BYTES);
    for (uint64_t at = page * KITHI_PAGE_BYTES + from; at < page * KITHI_PAGE_BYTES + to && at < body_bytes; at++)
        bytes_of(PATH)->at[KITHI_HEADER_BYTES + at] = (uint8_t)splitmix_next(random);
}

TEST(kinds_of_cells_lose_no_key_of_a_damaged_page) {
    static const struct {
        const char *kind, *options;
    } tries[] = {{"bloom", NULL},    {"bloom", "layout=whole"}, {"blocked", NULL},
                 {"counting", NULL}, {"counting", "width=3"},   {"blocked_counting", NULL}};
    enum { MANY = 100000 };
    uint64_t random = 1;
    for (size_t i = 0; i < LENGTH(tries); i++) {
        new_disk();
        kith_filter *filter = filter_of(tries[i].kind, tries[i].options, MANY, MANY);
        put_filter(filter);
        destroy_page(1, 0, KITHI_PAGE_BYTES, &random);
        kith_filter *got = repaired(0);
        CHECK(got != NULL && !report.is_whole && !report.may_miss_keys);
        CHECK_EQ_U64(report.pages_damaged, 1);
        CHECK_EQ_U64(report.keys_at_risk, 0);
        CHECK_EQ_U64(missing(got, MANY), 0);
        CHECK_EQ_U64(kith_filter_count(got), kith_filter_count(filter));
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(got, &stats));
        CHECK(stats.rate_now > .01 && stats.rate_now < .7);
        kith_filter_free(got);
        kith_filter_free(filter);
    }
}

/* All cells of a damaged page are in use afterwards, as if keys had been chosen to crowd its blocks. */
TEST(kinds_of_cells_lose_no_key_of_the_journal_because_of_a_damaged_page) {
    static const char *const kinds[] = {"bloom", "blocked", "counting", "blocked_counting", "layers"};
    enum { MANY = 40000 };
    uint64_t random = 1;
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        new_disk();
        kith_filter *model = make_store(kinds[i], MANY);
        destroy_page(1, 0, KITHI_PAGE_BYTES, &random);
        kith_filter *got = repaired(0);
        CHECK(got != NULL && !report.is_whole && !report.may_miss_keys && !got->crowding.off);
        CHECK(report.pages > 2 && report.pages_damaged == 1);
        CHECK_EQ_U64(report.records, MANY / 2);
        CHECK_EQ_U64(report.adds_refused, 0);
        CHECK_EQ_U64(missing(got, MANY), 0);
        kith_filter_free(got);
        kith_filter_free(model);
    }
}

TEST(cuckoo_kinds_lose_at_most_the_keys_at_risk) {
    static const char *const kinds[] = {"cuckoo", "overlap"};
    enum { MANY = 100000 };
    uint64_t random = 1;
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        new_disk();
        kith_filter *filter = filter_of(kinds[i], NULL, MANY, MANY);
        put_filter(filter);
        destroy_page(0, 1000, 3000, &random);
        kith_filter *got = repaired(0);
        CHECK(got != NULL && !report.is_whole && report.may_miss_keys);
        uint64_t lost = missing(got, MANY);
        CHECK(lost > 500 && lost < 3000 && lost <= report.keys_at_risk && report.keys_at_risk < MANY);
        kith_filter_free(got);
        kith_filter_free(filter);
    }
}

/* Repairs a filter of layers of which no page of a layer is damaged. The page that has the damage is not restored as a
 * whole, but nothing of it is lost. */
static void check_layers(kith_filter *want) {
    kith_filter *got = repaired(0);
    CHECK(got != NULL && !report.may_miss_keys && same(got, want));
    kith_filter_free(got);
}

TEST(layers_are_repaired_one_by_one) {
    static const char *const inner[] = {"inner=blocked", "inner=cuckoo", "inner=counting"};
    enum { MANY = 3000 };
    uint64_t random = 3;
    for (size_t i = 0; i < LENGTH(inner); i++) {
        new_disk();
        kith_filter *filter = filter_of("layers", inner[i], 50, MANY);
        put_filter(filter);
        struct disk_bytes whole = kept(PATH);
        const uint8_t *body = whole.at + KITHI_HEADER_BYTES;
        unsigned layers = 0;
        uint64_t at = 512;
        for (; kithi_load64(body + 8 * layers) != 0; layers++) {
            uint64_t layer_bytes = kithi_load64(body + 8 * layers), keys = kithi_load64(body + at + KITHI_AT_COUNT);
            /* its header: made again from the plan */
            for (uint64_t j = 0; j < KITHI_HEADER_BYTES; j++)
                bytes_of(PATH)->at[KITHI_HEADER_BYTES + at + j] = (uint8_t)splitmix_next(&random);
            check_layers(filter);
            put_back(PATH, &whole);
            /* its body: the other layers lose nothing */
            destroy_page(0, at + KITHI_HEADER_BYTES, at + layer_bytes - 8, &random);
            kith_filter *got = repaired(0);
            CHECK(got != NULL && !report.is_whole && report.may_miss_keys);
            if (i == 0) /* keys that were false positives were not counted */
                CHECK_EQ_U64(report.keys_at_risk, UINT64_MAX);
            else
                CHECK(report.keys_at_risk > 0 && report.keys_at_risk <= keys);
            CHECK(missing(got, MANY) <= report.keys_at_risk);
            kith_filter_free(got);
            put_back(PATH, &whole);
            at += (layer_bytes + 63) / 64 * 64;
        }
        CHECK(layers > 3);
        destroy_page(0, 0, 512, &random); /* the directory: the sizes of the layers follow from the plan */
        check_layers(filter);
        free(whole.at);
        kith_filter_free(filter);
    }
}

/* ---- failures ---- */

TEST(what_the_disk_cannot_read_counts_as_damaged) {
    new_disk();
    kith_filter *filter = filter_of("bloom", NULL, 300000, 1000);
    put_filter(filter);
    disk.operations = 0;
    kith_filter_free(repaired(0));
    uint64_t operations = disk.operations, seen = 0;
    for (uint64_t at = 1; at <= operations; at++) {
        disk.operations = 0;
        disk.fail_at = at;
        disk.fail_with = EIO;
        disk.hit = DISK_NONE;
        disk.fails_for_ever = false;
        kith_filter *got = repaired(0);
        CHECK(got != NULL || disk.hit != DISK_READ);
        if (got != NULL)
            CHECK_EQ_U64(missing(got, 1000), 0);
        kith_filter_free(got);
        seen += disk.hit == DISK_READ;
    }
    CHECK(seen > 3);
    kith_filter_free(filter);
}

TEST(every_allocation_may_fail) {
    static const char *const kinds[] = {"bloom", "cuckoo", "layers"};
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        new_disk();
        kith_filter *model = make_store(kinds[i], N);
        flip(PATH, KITHI_HEADER_BYTES + 9, 0xff);
        disk_resize(bytes_of(PATH), bytes_of(PATH)->n + 8);
        kith_status status = KITH_E_MEMORY;
        for (uint64_t at = 1; status == KITH_E_MEMORY; at++) {
            struct memory m = {.fail_at = at};
            kith_allocator allocator = memory_allocator(&m);
            kith_filter *got = NULL;
            report = (kith_repair_report)KITH_REPAIR_REPORT_INIT;
            status = kithi_repair_with(&files, PATH, 0, &allocator, &report, &got);
            CHECK(at > 3 || status == KITH_E_MEMORY);
            if (status == KITH_OK)
                kith_filter_free(got);
            CHECK_EQ_U64(m.live_blocks, 0);
            CHECK_EQ_U64(disk_open_handles(&disk), 0);
        }
        kith_filter_free(model);
    }
}

TEST(a_report_of_the_wrong_size_is_refused) {
    kith_repair_report bad = KITH_REPAIR_REPORT_INIT;
    kith_filter *filter;
    bad.struct_bytes = 1;
    CHECK_STATUS(kith_repair("nowhere", NULL, &bad, &filter), KITH_E_STRUCT);
    bad.struct_bytes = sizeof bad;
    CHECK_STATUS(kith_repair("/nowhere/at/all", NULL, &bad, &filter), KITH_E_NO_FILE);
}

/* Damages a file in up to three places, or truncates it. */
static void damage(const char *name, uint64_t *random) {
    struct disk_bytes *b = bytes_of(name);
    for (uint64_t i = 0; i <= splitmix_next(random) % 3; i++) {
        uint64_t at = splitmix_next(random) % b->n, bytes = 1 + splitmix_next(random) % 200;
        uint64_t how = splitmix_next(random) % 5;
        bytes = bytes < b->n - at ? bytes : b->n - at;
        if (how == 0)
            b->at[at] ^= (uint8_t)(1u << splitmix_next(random) % 8);
        else if (how == 1)
            memset(b->at + at, 0, (size_t)bytes);
        else if (how == 2 && splitmix_next(random) % 4 == 0)
            disk_resize(b, at + 1);
        else
            for (uint64_t j = 0; j < bytes; j++)
                b->at[at + j] = (uint8_t)splitmix_next(random);
    }
}

/* Whatever is damaged: the result is sound, and the report does not promise too much. */
TEST(the_report_never_promises_too_much) {
    enum { MANY = 3000, ROUNDS_OF_KIND = 60, HEADER_BUDGET = 1 << 24 /* to restore one header */ };
    uint64_t random = 7, whole = 0, exact = 0, part = 0, none = 0;
    uint64_t rounds = check_soak() ? 100 * ROUNDS_OF_KIND : ROUNDS_OF_KIND;
    EACH_KIND(kind) {
        bool adds = (kith_filter_kind_at(kind_)->capabilities & KITH_CAN_ADD) != 0;
        new_disk();
        kith_filter *model = adds ? make_store(kind, MANY) : filter_of(kind, NULL, MANY, MANY);
        if (!adds)
            put_filter(model);
        struct disk_bytes file = kept(PATH), journal = {0};
        if (adds)
            journal = kept(JOURNAL);
        for (uint64_t round = 0; round < rounds; round++) {
            put_back(PATH, &file);
            if (adds)
                put_back(JOURNAL, &journal);
            if (!adds || round % 3 != 0)
                damage(PATH, &random);
            if (adds && round % 3 != 1)
                damage(JOURNAL, &random);
            kith_filter *got = repaired(HEADER_BUDGET);
            if (got == NULL) {
                none++;
                continue;
            }
            /* Nothing says that records at the end of a journal were there, if it is shorter now. */
            uint64_t unseen = adds ? (journal.n - bytes_of(JOURNAL)->n + report.tail_bytes) / RECORD_BYTES + 1 : 0;
            uint64_t lost = missing(got, MANY);
            if (report.is_whole && unseen <= 1)
                CHECK(same(got, model));
            whole += report.is_whole;
            exact += !report.is_whole && !report.may_miss_keys;
            part += report.may_miss_keys;
            if (!report.may_miss_keys)
                CHECK(lost <= unseen);
            if (report.journal <= KITH_JOURNAL_DAMAGED && report.keys_at_risk != UINT64_MAX)
                CHECK(lost <= report.keys_at_risk + report.records_lost + report.adds_refused + unseen);
            kith_filter_free(got);
        }
        free(file.at);
        free(journal.at);
        kith_filter_free(model);
    }
    printf("        %" PRIu64 " whole, %" PRIu64 " with all keys, %" PRIu64 " in part, %" PRIu64 " not at all\n", whole,
           exact, part, none);
    CHECK(whole > 0 && part > 0 && none > 0);
}

int main(int argc, char **argv) {
    int result = check_main(argc, argv);
    disk_free(&disk);
    return result;
}
