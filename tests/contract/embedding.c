/* What servers and other languages rely on: blocks that are adopted, memory that is accounted for, options that can be
 * read back, and structs of older callers. */
#include "contract/contract.h"

enum { N = 150 };

void adopted_blocks_are_not_copied(void) {
    EACH_VARIANT(v) for (unsigned flags = 0; flags <= KITH_OPEN_LAZY; flags++) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan))
            continue;
        kith_filter *f = filled(&spec, 5, 0, N / 2), *adopted = NULL;
        snapshot s = snapshot_of(f);
        test_memory memory;
        memory_init(&memory);
        uint8_t *block = memory.allocator.allocate(memory.allocator.context, s.byte_count, 64);
        memcpy(block, s.bytes, s.byte_count);
        uint64_t largest = s.byte_count;
        memory.largest = 0;
        CHECK_STATUS(kith_filter_adopt(block, s.byte_count, KITH_OPEN_COPY, &memory.allocator, &adopted),
                     KITH_E_ARGUMENT);
        CHECK_STATUS(kith_filter_adopt(block, 0, flags, &memory.allocator, &adopted), KITH_E_EMPTY);
        block[100] ^= 1;
        CHECK_STATUS(kith_filter_adopt(block, s.byte_count, flags, &memory.allocator, &adopted), KITH_E_CORRUPT);
        block[100] ^= 1;
        CHECK_EQ_U64(memory.live_blocks, 1); /* it is still ours */
        CHECK_OK(kith_filter_adopt(block, s.byte_count, flags, &memory.allocator, &adopted));
        CHECK(memory.largest < largest || largest < 4096); /* a handle is all that was allocated */
        CHECK(!kith_filter_readonly(adopted));
        CHECK_EQ_U64(yes_among(adopted, 5, 0, N / 2), N / 2);
        for (uint64_t i = N / 2; can(&plan, KITH_CAN_ADD) && i < N; i++) {
            CHECK_OK(add_digest(adopted, digest_at(5, i)));
            CHECK_OK(add_digest(f, digest_at(5, i)));
        }
        CHECK(equal_filters(adopted, f));
        kith_filter_free(adopted);
        CHECK_EQ_U64(memory.live_blocks, 0);
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

void memory_is_what_was_allocated(void) {
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan))
            continue;
        test_memory memory;
        memory_init(&memory);
        spec.allocator = &memory.allocator;
        kith_filter *f = created(&spec);
        uint64_t n = can(&plan, KITH_CAN_GROW) ? 5 * N : N;
        for (uint64_t i = 0; i < n; i++) {
            CHECK_EQ_U64(kith_filter_memory(f), memory.live_bytes);
            if (can(&plan, KITH_CAN_ADD))
                CHECK_OK(add_digest(f, digest_at(5, i)));
        }
        snapshot s = snapshot_of(f);
        uint64_t before = memory.live_bytes;
        kith_filter *view = NULL;
        CHECK_OK(kith_filter_view(s.bytes, s.byte_count, KITH_OPEN_DEFAULT, &memory.allocator, &view));
        CHECK_EQ_U64(kith_filter_memory(view), memory.live_bytes - before);
        CHECK(kith_filter_memory(view) < kith_filter_memory(f));
        kith_filter_free(view);
        snapshot_free(&s);
        kith_filter_free(f);
    }
}

static size_t option_count(const char *kind) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++)
        if (strcmp(kith_filter_kind_at(i)->name, kind) == 0)
            return kith_filter_kind_at(i)->option_count;
    return 0;
}

void options_can_be_read_back(void) {
    static const double RATES[] = {0.1, 0.01, 0.0001};
    EACH_VARIANT(v) for (size_t i = 0; i < 3; i++) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, 5000, RATES[i], &spec, &plan))
            continue;
        kith_filter *f = created(&spec), *same;
        char text[256], again[256], cut[8];
        size_t length = kith_filter_options(f, text, sizeof text);
        CHECK_EQ_U64(length, strlen(text));
        size_t options = 0;
        for (const char *at = text; (at = strchr(at, '=')) != NULL; at++)
            options++;
        CHECK_EQ_U64(options, option_count(v->kind));
        CHECK_EQ_U64(kith_filter_options(f, NULL, 0), length);
        CHECK_EQ_U64(kith_filter_options(f, cut, sizeof cut), length);
        CHECK(strncmp(cut, text, strlen(cut)) == 0 && strlen(cut) < sizeof cut);
        if (v->options[0] != '\0' && strstr(v->options, "=0") == NULL && strstr(v->options, "=auto") == NULL)
            CHECK(strstr(text, v->options) != NULL);
        spec.options = text;
        same = created(&spec);
        (void)kith_filter_options(same, again, sizeof again);
        CHECK(strcmp(again, text) == 0);
        kith_filter_free(same);
        kith_filter_free(f);
    }
}

/* A caller that was compiled when a struct had fewer fields: only those are read and written. */
void structs_of_older_callers_are_accepted(void) {
    enum { GUARD = 0x5a };
    EACH_DEFAULT(v) {
        kith_filter_spec spec, older;
        kith_plan plan;
        CHECK(planned(v, N, 0.01, &spec, &plan));
        memset(&older, GUARD, sizeof older);
        memcpy(&older, &spec, offsetof(kith_filter_spec, recipe));
        older.struct_bytes = offsetof(kith_filter_spec, recipe);
        kith_filter *f = created(&older);
        CHECK_EQ_U64(kith_filter_recipe(f), 0);
        CHECK_EQ_U64(kith_filter_note_count(f), 0);

        kith_plan small;
        memset(&small, GUARD, sizeof small);
        small.struct_bytes = offsetof(kith_plan, cells);
        CHECK_OK(kith_filter_plan(&older, &small));
        CHECK_EQ_U64(small.struct_bytes, offsetof(kith_plan, cells));
        CHECK_EQ_U64(small.file_bytes, plan.file_bytes);
        for (size_t i = offsetof(kith_plan, cells); i < sizeof small; i++)
            CHECK_EQ_U64(((uint8_t *)&small)[i], GUARD);

        kith_filter_stats stats;
        memset(&stats, GUARD, sizeof stats);
        stats.struct_bytes = offsetof(kith_filter_stats, cells);
        CHECK_OK(kith_filter_stats_of(f, &stats));
        CHECK_EQ_U64(stats.capacity, N);
        for (size_t i = offsetof(kith_filter_stats, cells); i < sizeof stats; i++)
            CHECK_EQ_U64(((uint8_t *)&stats)[i], GUARD);

        static const size_t WRONG[] = {0, 1, sizeof(size_t)};
        for (size_t i = 0; i <= sizeof WRONG / sizeof *WRONG; i++) {
            bool newer = i == sizeof WRONG / sizeof *WRONG;
            spec.struct_bytes = newer ? sizeof spec + 1 : WRONG[i];
            small.struct_bytes = newer ? sizeof small + 1 : WRONG[i];
            stats.struct_bytes = newer ? sizeof stats + 1 : WRONG[i];
            kith_filter *none = NULL;
            CHECK_STATUS(kith_filter_create(&spec, &none), KITH_E_STRUCT);
            CHECK_STATUS(kith_filter_build(&spec, NULL, 0, KITH_BUILD_SET, 1, &none), KITH_E_STRUCT);
            CHECK_STATUS(kith_filter_plan_of(f, &small), KITH_E_STRUCT);
            CHECK_STATUS(kith_filter_stats_of(f, &stats), KITH_E_STRUCT);
        }
        kith_filter_free(f);
    }
}
